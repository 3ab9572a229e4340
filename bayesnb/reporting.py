"""One page of HTML about a fitted model and its rows: `bayesnb.report`. `data/report.html` lays it out."""

import contextlib
import html as _html
import io
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import estimators, plots
from .analysis.comparison import Comparison, compare
from .analysis.importance import importance
from .calibration.leave_one_out import CalibratedClassifierLOO
from .choice import PredictorChoice
from .estimators._by_name import suits, variants_of
from .estimators._suited import check_own
from .io import replace_file
from .numerics.progress import progress, tracked
from .numerics.supports import check_level
from .numerics.weights import RowWeights, row_weights
from .posterior.held_out import take_rows
from .posterior.loo import copies, loo_in_analyses
from .tables.columns import FEW_ROWS
from .tables.names import listed, shorten

_SHOWN = 12  # features of the importance, classes of a confusion table
_SHOWN_CAUTIONS = 20  # about columns
_MANY_COPIES = 0.05  # share of rows that are copies, above which it is said
_REPEATED = 1_000_000  # rows that weights stand for and the calibration plot repeats, at most
_LABEL = "label of the row"  # a column that no table has
_INK = "#0a0b0c"  # stands for the colour of the text around a figure


@dataclass(frozen=True)
class Report:
    """A report on a fitted model: one page of HTML that loads nothing else.

    Fields
    ------
    html : the page
    accuracy, log_loss : results of exact leave-one-out
    warnings : warnings about the model or the rows, one sentence each

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, report
    >>> X, y = load_iris(return_X_y=True)
    >>> page = report(GaussianNB(), X, y)
    >>> round(page.accuracy, 3), page.html[:15]
    (0.953, '<!DOCTYPE html>')
    """

    html: str = field(repr=False)
    accuracy: float
    log_loss: float
    warnings: tuple[str, ...] = ()

    def save(self, path: Any) -> None:
        """Write the page to a file; if writing fails, an older file stays as it was."""
        replace_file(path, self.html.encode())


def report(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    contract: Any = None,
    others: Any = "auto",
    level: float = 0.9,
    lines: Any = None,
    sample_weight: Any = None,
    n_copies: int | None = None,
    choice: PredictorChoice | None = None,
) -> Report:
    """Make one page about a model and its training rows, to read, print and send.

    The page shows what needs care, how each column was used, the balance of the classes, and accuracy and log loss of
    exact leave-one-out. It has a calibration plot with its band, the confusion table, and the importance of each
    feature. The most and the least certain rows come with their nomograms, and the strongest features with prior and
    posterior. The page also shows which model has the largest evidence. It needs no network, follows light and dark
    settings, and suits a phone and paper.

    Parameters
    ----------
    estimator : an estimator of bayesnb. If it is not fitted, a clone is fitted to X and y; the estimator does not
        change
    X, y : its training rows and labels
    title : title of the page, by default the name of the model
    contract : how the columns were used, as returned by `describe`; by default that of the model, if it has one
    others : mapping from name to estimator, the models to compare with; "auto" chooses models that suit the cells, None
        no model
    level : level of the credible intervals
    lines : (n,) the line of each row in its file, by which rows are named; by default the index of a data frame
    sample_weight : (n,) weights of the rows, as they were fitted; integers count rows, floats are importance
    n_copies : how many rows equal an earlier row in all columns of the table that X is from; by default they are
        counted over the columns of X and the labels
    choice : what `choose_predictor` returned, if it chose the model: the page shows what was taken and why

    Raises
    ------
    ValueError
        if there are fewer than two classes or two rows, or if `level` is out of range

    Examples
    --------
    >>> import bayesnb
    >>> data = bayesnb.datasets.load("penguins")
    >>> X, y = data.X[["bill_length_mm", "sex"]][::12], data.y[::12]
    >>> page = bayesnb.report(bayesnb.MixedNB(), X, y, others=None)
    >>> page.html.startswith("<!DOCTYPE html>"), "http" in page.html.replace("http://www.w3.org", "")
    (True, False)
    """
    check_own(estimator, "report", method="loo")  # TypeError, with advice, unless the estimator can do that
    check_level(level)  # ValueError unless between 0 and 1
    y = np.asarray(y)
    if len(np.unique(y)) < 2:
        raise ValueError(f"`y` has {len(np.unique(y))} classes; a report needs at least two")
    try:
        check_is_fitted(estimator)
    except ValueError:  # it is not: a clone is, so that the estimator given does not change
        estimator = clone(estimator).fit(X, y, sample_weight)
    index = X.index if isinstance(X, pd.DataFrame) else range(len(y))
    with progress("report") as line:  # shown on a terminal while it lasts
        line.begin("leave-one-out")
        loo = loo_in_analyses(estimator, X, y, sample_weight)  # each row predicted from all others
        line.begin("importance of the features")
        scores = importance(estimator, X, y, sample_weight, level=level)
        line.begin("other models")
        comparison = None if others is None else _compared(estimator, X, y, loo.log_proba, others, sample_weight)
    # what the sections of the page are made of
    facts = _Facts(
        nb=estimator,
        X=X,
        y=y,
        sample_weight=sample_weight,
        level=level,
        loo=loo,
        importance=scores,
        contract=getattr(estimator, "contract_", None) if contract is None else contract,
        comparison=comparison,
        row_names=[f"Row {i}" for i in index] if lines is None else [f"Line {i}" for i in lines],
        n_copies=_number_of_copies(X, y) if n_copies is None else n_copies,
        choice=choice,
    )
    cautions = tuple(_cautions(facts))
    title = title or f"{type(estimator).__name__}: {facts.n_rows:,} rows, {len(facts.classes)} classes"
    with progress("page of the report"):
        page = _page(facts, title, cautions)
    return Report(page, loo.accuracy, loo.log_loss, cautions)


def _page(facts: "_Facts", title: str, cautions: tuple[str, ...]) -> str:
    """The page with all sections that have a text.

    Each function below makes the text of a section, as HTML. The template `report.html` has the headings, and a field
    for each text; `substitute` fills the fields.

    Parameters
    ----------
    facts : the model, its rows, and what was computed of them
    title : of the page
    cautions : what needs care, a sentence each
    """
    from . import __version__

    # by the name of the field in the template; a text is empty where there is nothing to say
    sections = {
        "careful": _careful(cautions),
        "choice": _choice(facts.choice),
        "columns": _columns(facts),
        "classes": _classes(facts),
        "accuracy": _accuracy(facts),
        "calibration": _calibration(facts),
        "confusion": _confusion(facts),
        "importance": _importance(facts),
        "rows": _rows(facts),
        "priors": _priors(facts),
        "models": _models(facts),
    }
    # a file of the package; its fields are written as $careful, $title and so on
    template = Template(files("bayesnb").joinpath("data", "report.html").read_text("utf-8"))
    page = template.substitute(
        sections,
        title=_text(title),
        header=_header(title, facts),
        exact="exact" if facts.loo.exact else "approximate",
        version=__version__,
        level=f"{facts.level:.0%}",
    )
    # A section without a text is a heading alone: <section id="models"><h2>Models</h2></section>. The pattern has
    # nothing between the end of the heading and the end of the section, so that it finds these, and they are taken out.
    return re.sub(r'<section id="\w+"><h2>[^<]*</h2></section>\n', "", page)


@dataclass(frozen=True, eq=False)
class _Facts:
    """What a page is about.

    Fields
    ------
    nb : the fitted model
    X, y, sample_weight : its training rows
    level : of the intervals
    loo : leave-one-out of all rows
    importance : of all columns
    contract : how the columns were used, if somebody knows
    comparison : of the model with others; None if there are none
    row_names : what each row is called
    n_copies : how many rows equal an earlier row
    choice : of the model among plain, calibrated and discriminative; None if nobody chose
    """

    nb: Any
    X: Any
    y: np.ndarray
    sample_weight: Any
    level: float
    loo: Any
    importance: pd.DataFrame
    contract: Any
    comparison: Comparison | None
    row_names: list[str]
    n_copies: int
    choice: PredictorChoice | None

    @property
    def inside(self) -> Any:
        """The naive Bayes model that reads the rows: inside of a discriminative one, or the model itself."""
        return getattr(self.nb, "reader_", self.nb)

    @property
    def classes(self) -> list[Any]:
        """The labels."""
        return self.nb.classes_.tolist()

    @cached_property
    def weights(self) -> RowWeights:
        """The weights of the rows, and what they mean."""
        return row_weights(self.sample_weight, len(self.y))

    @property
    def n(self) -> float:
        """Total weight: the number of rows where weights count rows, else the sum of their importance."""
        return self.weights.total

    @property
    def n_rows(self) -> int:
        """Number of rows, as often as weights count them; a row whose weight is its importance counts once."""
        return int(self.n) if self.weights.are_counts else len(self.y)

    @cached_property
    def is_right(self) -> np.ndarray:
        """Whether each row gets its own label from all others, (n,); `index` is the class number of its label."""
        return self.loo.predicted == self.loo.classes[self.loo.index]

    @cached_property
    def count(self) -> np.ndarray:
        """Rows of each class, (c,), as often as they count; of importance weights their sums."""
        count = np.bincount(self.loo.index, self.weights.values, minlength=len(self.classes))
        return count.astype(int) if self.weights.are_counts else count

    @property
    def frequencies(self) -> np.ndarray:
        """Shares of the classes that have rows, with the sum 1: what is known of a label without the features."""
        return self.count[self.count > 0] / self.n

    @property
    def frequency_accuracy(self) -> float:
        """Accuracy of the class frequencies alone, which always predict the most frequent class: its share."""
        return float(self.frequencies.max())

    @property
    def frequency_log_loss(self) -> float:
        """Log loss of the class frequencies alone, nats a row: their entropy −Σ_c share_c log share_c."""
        share = self.frequencies
        return float(-(share * np.log(share)).sum())


def calibration_gain(nb: Any, X: Any, y: Any, sample_weight: Any = None) -> str:
    """Sentences: the leave-one-out log loss, plain and calibrated, in nats a row, and whether calibration helps.

    Calibration maps the class probabilities to others in the same order that are right on average. It is taken to help
    if it lowers the loss by more than 5 %.
    """
    # both losses, by name: the fit of a calibration predicts each row from all others anyway
    losses = CalibratedClassifierLOO(clone(nb)).fit(X, y, sample_weight).loo_log_loss_
    plain = losses["plain"]
    calibrated = losses["calibrated"]
    text = f"Leave-one-out log loss: {plain:.4f} nats a row, {calibrated:.4f} after calibration. "
    if calibrated >= 0.95 * plain:  # the map is fitted to these rows, so a small gain is no reason for it
        return f"{text}Calibration changes little: it is not needed for this model."
    return f"{text}Calibration lowers it by {1 - calibrated / plain:.0%}: use CalibratedClassifierLOO, or --calibrate."


# --- other models ---------------------------------------------------------------------------------------------------


def candidates(kind: str, n: int, d: int) -> list[Any]:
    """The models that are tried on n rows of d cells of one kind: every estimator that suits them, in its variants.

    A variant is an estimator with some settings, such as a variance that all classes share. None of them is fitted.

    Parameters
    ----------
    kind : of the cells: "yes/no", "levels", "counts", "amounts" or "real"
    n, d : numbers of rows and of columns
    """
    models = []
    for name in dir(estimators):
        estimator = getattr(estimators, name)
        # each class of estimators says itself for which cells, and how many of them, it is meant
        if suits(estimator, kind, n, d):
            models += variants_of(estimator)
    return models


def _compared(
    nb: Any, X: Any, y: np.ndarray, log_proba: np.ndarray, others: Any, sample_weight: Any = None
) -> Comparison | None:
    """The model beside others of the same cells; those that cannot take them or are the same are left out.

    Parameters
    ----------
    log_proba : (n, c) leave-one-out log class probabilities of the model
    others : estimators by name, or "auto" for those that suit the cells

    Returns
    -------
    the result of `compare`; None if no other model is left
    """
    is_automatic = isinstance(others, str)
    # fitted models by name, and the leave-one-out tables (n, c) of all models so far
    models = {}
    tables = [log_proba]
    candidates_by_name = _automatic_others(nb, X) if is_automatic else others
    # `tracked` yields the items, and shows on a terminal how many are done
    for name, other in tracked(candidates_by_name.items(), "other models", len(candidates_by_name), "models"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a model that fits with a warning is left out as one that fails
                fitted = clone(other).fit(X, y, sample_weight)
                table = loo_in_analyses(fitted, X, y, sample_weight).log_proba
        except (ValueError, TypeError, Warning, ArithmeticError):
            continue
        # a model may have several names: one that predicts as an earlier one does is left out, unless it was asked for
        if is_automatic and any(np.allclose(table, other) for other in tables):
            continue
        models[name] = fitted
        tables.append(table)
    if not models:
        return None
    # the model of the page comes first: a clone that is fitted, as all others are
    models = {"this model": clone(nb).fit(X, y, sample_weight), **models}
    return compare(models, X, y, sample_weight=sample_weight, fitted=True)


def _automatic_others(nb: Any, X: Any) -> dict[str, Any]:
    """Models of the same cells by name, first the naive Bayes model inside of another.

    Of a model with parts, such as `MixedNB`, they differ in the part of the real numbers. A model of a single family is
    compared with all that suit its kind of cells.
    """
    # a discriminative model has it as `reader_`, a calibrated one as `estimator_`; any other is it itself
    inside = getattr(nb, "reader_", getattr(nb, "estimator_", nb))
    others = {} if inside is nb else {"naive Bayes": inside}
    if "parts" in inside.get_params(deep=False):
        return others | _other_parts(inside, X.shape[0])
    # a block is the columns of one family, here the only one; its cells are of a kind, such as counts
    kind = next(iter(inside.posterior_.blocks.values())).unwrapped.cells_.kind
    return others | {str(model): model for model in candidates(kind, *X.shape)}


def _other_parts(nb: Any, n: int) -> dict[str, Any]:
    """The mixed model with another model of its real numbers, by name; empty if it has no real numbers.

    A part of a mixed model is (name, estimator, positions of its columns). Columns that no part reads stay unread.

    Parameters
    ----------
    nb : a fitted `MixedNB`
    n : number of rows
    """
    # names of the blocks (a part with its columns) whose cells are real numbers, and how many columns each has
    real = {name for name, block in nb.posterior_.blocks.items() if block.unwrapped.cells_.kind == "real"}
    sizes = [len(columns) for name, _, columns in nb.parts_ if name in real]
    if not sizes:
        return {}
    # columns that no part reads, for which a new mixed model has to say so
    used = {j for _, _, columns in nb.parts_ for j in columns.tolist()}
    unused = [j for j in range(nb.n_features_in_) if j not in used]
    # each candidate in place of the parts of real numbers; all other parts stay
    models = {}
    for candidate in candidates("real", n, max(sizes)):
        parts: list[tuple[str, Any, list[int]]] = []
        for name, part, columns in nb.parts_:
            parts.append((name, candidate if name in real else part, columns.tolist()))
        parts.append(("unused", "drop", unused))  # every column has to be named in some part
        models[f"numbers: {candidate}"] = type(nb)(parts)
    return models


# --- what needs care ------------------------------------------------------------------------------------------------


def _cautions(facts: _Facts) -> Iterator[str]:
    """What a reader of the page should be careful about, a sentence each, in the order of the page."""
    ignored = facts.nb.model_.ignored_by_loo
    if ignored:
        yield f"The model predicts with {ignored}, which leave-one-out ignores. All losses here are of the predictive."
    # what `describe` said of the columns, such as that a number looks like an identifier
    if facts.contract is not None:
        yield from facts.contract.first_cautions(_SHOWN_CAUTIONS)
    yield from _cautions_of_rows(facts)
    yield from _cautions_of_probabilities(facts)
    # One column of several that has 90 % of all that can be known of the label (the entropy of the class frequencies).
    # The table of importance has the most informative column first.
    top = facts.importance
    if len(top) > 1 and top.information[0] > 0.9 * facts.frequency_log_loss:
        yield f"The column {top.feature[0]} determines the label almost completely. Do you know it before you predict?"
    if facts.comparison is not None:
        table = facts.comparison.table
        this = table.loc["this model"]
        # the difference to the best model in elpd, the sum of leave-one-out log probabilities, is beyond chance
        if this.elpd_diff < -2 * this.se_diff:
            best = table.index[0]
            yield f"The model “{best}” predicts the labels better than this one, by more than two standard errors."
    if facts.contract is not None:
        # `missing` is the share of cells of the column that are missing
        for column in facts.contract.used:
            if column.missing > 0.2:
                yield f"Column {column.name}: {column.missing:.0%} of the cells are missing."
    yield "Rows are taken to be independent. If rows belong together, such as those of one person, use `loo(groups=…)`."


def _cautions_of_rows(facts: _Facts) -> Iterator[str]:
    """Sentences about the rows: what their weights mean, classes with few rows, and rows that equal an earlier one."""
    if facts.weights.are_given:
        yield f"Rows have weights: {facts.weights.describe()}."
    n_rare = int((facts.count < FEW_ROWS).sum())
    if n_rare:
        rarest = np.argsort(facts.count, kind="stable")[:n_rare]  # their numbers, the one with fewest rows first
        names = [f"{facts.classes[k]} ({facts.count[k]})" for k in rarest]
        yield f"Few rows in some classes: {listed(names, 6)}. Their results are uncertain."
    # equal rows of whole numbers and levels may be chance, but hardly equal rows of measurements
    if facts.n_copies > _MANY_COPIES * len(facts.y) and _has_fractions(facts):
        yield (
            f"{facts.n_copies} of {len(facts.y)} rows equal an earlier row in all columns. If they are of one person "
            "or case, the other rows already tell the answer and the figures are too good: drop the repeated rows, or "
            "use `loo(groups=…)`."
        )


def _cautions_of_probabilities(facts: _Facts) -> Iterator[str]:
    """Sentences: the predictions are no better than class frequencies; they are too certain, or not certain enough.

    A calibrated model gives its predicted labels probabilities whose mean is the share of right labels, but for chance.
    """
    loo = facts.loo
    base_loss = facts.frequency_log_loss
    # the class frequencies are a prediction without any column: a model has to be better than that
    if loo.log_loss >= base_loss:
        yield (
            f"The log loss ({loo.log_loss:.3f}) is no better than with the class frequencies ({base_loss:.3f}). Do not "
            "trust the probabilities as they are."
        )
    elif loo.accuracy <= facts.frequency_accuracy:
        yield "The predicted labels are right no more often than the most frequent class."
    mean_probability = float(np.average(loo.proba.max(1), weights=facts.weights.values))
    right = float(np.average(facts.is_right, weights=facts.weights.values))
    # The standard error of a share p of n independent rows is √(p (1 − p)/n); `effective` is n, with importance weights
    # the number of equally weighted rows that would have the same error. A gap is told if it is beyond chance (two
    # standard errors) by more than 0.03, below which nobody would decide otherwise.
    standard_error = np.sqrt(right * (1 - right) / facts.weights.effective)
    if abs(mean_probability - right) > 0.03 + 2 * standard_error:
        judgement = "too sure of itself" if mean_probability > right else "not sure enough"
        yield (
            f"The model is {judgement}: its labels have the mean probability {mean_probability:.2f}, and {right:.0%} "
            "are right. Correlated features count twice. `CalibratedClassifierLOO` corrects this."
        )


def _number_of_copies(X: Any, y: np.ndarray) -> int:
    """How many rows equal an earlier row in all columns and the label."""
    # `copies` gives equal rows the same number, so that n rows with k numbers have n − k copies
    if not isinstance(X, pd.DataFrame):
        return len(y) - len(np.unique(copies(X, y)))
    try:
        return int(X.reset_index(drop=True).assign(**{_LABEL: y}).duplicated().sum())
    except TypeError:  # lists in the cells
        return 0


def _has_fractions(facts: _Facts) -> bool:
    """Whether rows have real numbers with a fraction: equal rows of whole numbers and levels may be chance."""
    # a block is the columns of one family with their posterior; `encode` makes an array of its cells, by block
    blocks = facts.inside.posterior_.blocks
    rows = facts.inside.model_.encode(facts.X)
    real = [rows[name] for name, block in blocks.items() if block.unwrapped.cells_.kind == "real"]
    return any(bool((np.nan_to_num(cells) % 1 != 0).any()) for cells in real)  # a missing cell is no fraction


# --- pieces of the page ---------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    """A value as text that HTML shows letter by letter: "<" becomes "&lt;"."""
    return _html.escape(str(value))


def _table(frame: pd.DataFrame, name: str, index: bool = False) -> str:
    """A table as HTML, in a box that scrolls by itself where the screen is narrow; `name` is for screen readers."""
    table = frame.to_html(index=index, border=0, justify="left", na_rep="–", float_format="{:,.3f}".format)
    return f'<div class="wide" tabindex="0" role="region" aria-label="{name}">{table}</div>'


def _figure(svg: str, caption: str) -> str:
    """A picture, as an SVG element, and the text below it, as HTML."""
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def inline_svg(draw: Callable[..., Any], title: str, height: float = 3.2) -> str:
    """An SVG element of what `draw` draws on Axes; text and lines are in the colour of the page.

    Parameters
    ----------
    draw : a function with the argument `ax`, such as a plot of `bayesnb.plots` with all else given
    title : what the picture is, for screen readers; each on a page has another one
    height : of the figure, in inches
    """
    import matplotlib
    from matplotlib.figure import Figure

    ink_settings = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: Any = {
        **dict.fromkeys(ink_settings, _INK),
        "svg.fonttype": "none",  # text stays text, in the font of the page
        "svg.hashsalt": title,  # the same names of elements at every run
        "font.size": 9.0,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    buffer = io.StringIO()
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.6, height), layout="constrained")
        draw(ax=figure.subplots())
        no_metadata = dict.fromkeys(["Date", "Creator", "Format", "Type"])
        figure.savefig(buffer, format="svg", transparent=True, metadata=no_metadata)
    # From the start of the element on, without what stands before it in a file. Its width and height in points are
    # taken out, so that it fills its place, and so is the font, of which the size stays.
    svg = buffer.getvalue().partition("<svg")[2]
    svg = re.sub(r'^([^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    # Several pictures stand on one page, where a name (id) may be used once: each picture has a prefix of its own, made
    # of the title. The pattern finds where names are given, and where they are referred to: url(#name) and
    # href="#name".
    prefix = f"f{zlib.crc32(title.encode()):x}-"
    svg = re.sub(r'(\bid="|url\(#|href="#)', lambda match: match[1] + prefix, svg)
    attributes = f'role="img" aria-label="{_text(title)}" style="max-width: 442px"'
    return f"<svg {attributes}{svg}".replace(_INK, "currentColor")


# --- sections -------------------------------------------------------------------------------------------------------


def _header(title: str, facts: _Facts) -> str:
    """The heading of the page: title, model, and leave-one-out accuracy beside that of the most frequent class."""
    text = (
        f"If each row is predicted from all other rows, {facts.loo.accuracy:.1%} of the {facts.n_rows:,} rows get "
        f"their own label. Always predicting the most frequent class would be right for {facts.frequency_accuracy:.1%}."
    )
    return f"<h1>{_text(title)}</h1><p><code>{_text(' '.join(repr(facts.nb).split()))}</code></p><p>{text}</p>"


def _careful(cautions: tuple[str, ...]) -> str:
    """A list of the cautions, as HTML; what stands between backticks is shown as code."""
    items = "".join(f"<li>{_text(caution)}</li>" for caution in cautions)
    return "<ul>" + re.sub(r"`([^`]*)`", r"<code>\1</code>", items) + "</ul>"


def _choice(choice: PredictorChoice | None) -> str:
    """Which kind of model was taken, beside the others with their log losses; empty if nobody chose."""
    if choice is None:
        return ""
    names = {
        "log_loss": "log loss, nats a row",
        "difference": "minus the best",
        "se": "standard error",
        "leave_one_out": "leave-one-out",
    }
    # one row for each kind of model and for class frequencies, whose names become a column without a heading
    table = choice.table.rename(columns=names).reset_index(names="")
    # what share of true probabilities its intervals were measured to hold, in words; plain has no such text
    of_intervals = getattr(choice.estimator, "interval_coverage", "")
    sentences = [f"Taken: {choice.kind}. {choice.reason}", *choice.notes, of_intervals]
    text = "".join(f"<p class='soft'>{_text(sentence)}</p>" for sentence in filter(None, sentences))
    return _table(table, "Kinds of models") + text


def _columns(facts: _Facts) -> str:
    """How each column was used, with the reason; empty if nobody knows."""
    if facts.contract is None:
        return ""
    shown, rest_in_words = facts.contract.shown(40)
    note = f"<p class='soft'>{rest_in_words}</p>" if rest_in_words else ""
    return _table(shown, "Columns") + note


def _classes(facts: _Facts) -> str:
    """The rows and the share of each class, with the interval of its probability if that was learnt."""
    table = pd.DataFrame({"class": facts.classes, "rows": facts.count, "share": facts.count / facts.n})
    # the posterior of each class probability, a beta distribution; there is none where the class prior is fixed
    law = facts.inside.posterior_.classes.marginals().get("pi")
    if law is not None:
        tail = (1 - facts.level) / 2
        table["low"] = law.ppf(tail)
        table["high"] = law.ppf(1 - tail)
    return _table(table, "Classes")


def _accuracy(facts: _Facts) -> str:
    """Accuracy, log loss and evidence, with standard errors, beside what class frequencies alone reach."""
    loo = facts.loo
    # of a share a of n rows √(a (1 − a)/n), with `effective` the number of rows of equal weight
    accuracy_error = np.sqrt(loo.accuracy * (1 - loo.accuracy) / max(facts.weights.effective, 1))
    # each line has the figure, its standard error, and what class frequencies alone reach; NaN is shown as a dash. The
    # log loss is −elpd / n, so that its standard error is that of elpd divided by n.
    base_loss = facts.frequency_log_loss
    rows = [
        ["accuracy", loo.accuracy, accuracy_error, facts.frequency_accuracy],
        ["log loss, nats a row", loo.log_loss, loo.se / facts.n, base_loss],
        ["log p(y | x), nats", loo.elpd, loo.se, -facts.n * base_loss],
        ["log evidence, nats", getattr(facts.nb, "log_evidence_", np.nan), np.nan, np.nan],
    ]
    return _table(pd.DataFrame(rows, columns=["", "value", "standard error", "frequencies"]), "Leave-one-out")


def _calibration(facts: _Facts) -> str:
    """The reliability diagram of the leave-one-out probabilities, and below it whether calibration would help.

    Of two classes the event is the second one, with its probability. Of more classes the event is that the predicted
    label is right, with the largest probability.
    """
    loo = facts.loo
    if len(facts.classes) == 2:
        event = loo.index == 1
        p = loo.proba[:, 1]
        label = _text(facts.classes[1])
    else:
        event = facts.is_right
        p = loo.proba.max(1)
        label = "the predicted label"
    # the plot knows no weights: a row that counts w times is repeated, unless there would be too many
    if facts.weights.are_given and facts.weights.are_counts and facts.n <= _REPEATED:
        times = facts.weights.values.astype(int)
        event = np.repeat(event, times)
        p = np.repeat(p, times)
    caption = f"Share of events against the leave-one-out probability of {label}. "
    if not hasattr(facts.nb, "maps_"):  # it is not calibrated already
        with contextlib.suppress(ValueError, TypeError):  # what cannot be calibrated
            caption += calibration_gain(facts.nb, facts.X, facts.y, facts.sample_weight)
    return _figure(inline_svg(partial(plots.reliability, event, p), "Calibration"), caption)


def _confusion(facts: _Facts) -> str:
    """Rows by true and predicted class; of many classes only the most frequent confusions."""
    # predicted and true label of each row, (n,)
    predicted = pd.Series(facts.loo.predicted, name="predicted as")
    true = pd.Series(facts.loo.classes[facts.loo.index], name="class")
    if len(facts.classes) > _SHOWN:
        # pairs of true and predicted class, of the rows that are wrong, counted
        wrong = pd.DataFrame([true, predicted]).T[true != predicted].value_counts().head(_SHOWN)
        return _table(wrong.reset_index(name="rows"), "Most frequent confusions")
    weight = pd.Series(facts.weights.values)  # what each row adds to its entry of the table
    if facts.weights.are_counts:
        weight = weight.astype(int)
    table = pd.crosstab(true, predicted, values=weight, aggfunc="sum")
    # a class that is never predicted, or has no rows, has a line and a column of zeros
    table = table.reindex(index=facts.classes, columns=facts.classes).fillna(0).astype(weight.dtype)
    return _table(table.rename_axis(index=None, columns=None), "Confusion table", index=True)


def _importance(facts: _Facts) -> str:
    """The plot of the information of the features, and below it how many are not shown to help."""
    n_features = len(facts.importance)
    n_grey = int((facts.importance["low"] <= 0).sum())  # features whose interval reaches 0
    # the plot with all arguments but the Axes, as `inline_svg` takes it
    draw = partial(plots.feature_weights, facts.importance, n=_SHOWN)
    svg = inline_svg(draw, "Importance", height=0.8 + 0.24 * min(_SHOWN, n_features))
    caption = (
        f"{facts.level:.0%} intervals over the rows. {n_grey} of {n_features} features are not shown to help. "
        f"The log loss of the class frequencies is {facts.frequency_log_loss:.3f} nats."
    )
    return _figure(svg, caption)


_NOMOGRAMS = (
    "<p>A nomogram shows what each feature adds to the log odds of the predicted label against the next one. The "
    "last line is their sum. Points are posterior means, and intervals belong to them. The bar in the last line is "
    "<code>predict_proba</code>, which also learns from the row. <code>nb.explain(X)</code> returns what adds up "
    "to the bar. All of this is of the model of all rows, without calibration. The caption leaves the row out.</p>"
)


def _rows(facts: _Facts) -> str:
    """The nomograms of some rows that are worth a look; a discriminative model has none."""
    if facts.inside is not facts.nb:
        return "<p>This model has no nomograms, priors and posteriors. <code>nb.explain(X)</code> explains rows.</p>"
    nomograms = [_nomogram(facts, i, reason) for i, reason in _telling_rows(facts).items()]
    return f'{_NOMOGRAMS}<div class="pair">{"".join(nomograms)}</div>'


def _telling_rows(facts: _Facts) -> dict[int, str]:
    """Rows that are worth a look, by position, and why: the two least and most certain, and the most certain mistake.

    The certainty of a row is the largest class probability by leave-one-out.
    """
    certainty = facts.loo.proba.max(1)
    order = np.argsort(certainty, kind="stable").tolist()
    rows = dict.fromkeys(order[:2], "One of the least certain rows")
    rows |= dict.fromkeys(order[:-3:-1], "One of the most certain rows")  # the last two, from the end
    wrong = np.flatnonzero(~facts.is_right)
    if len(wrong):
        # `setdefault` leaves a row that is there already as it is
        rows.setdefault(int(wrong[certainty[wrong].argmax()]), "The most certain mistake")
    return rows


def _nomogram(facts: _Facts, i: int, reason: str) -> str:
    """The nomogram of row i, and what the other rows predict of it, as HTML.

    It shows what each feature adds to the log odds of the most probable class against the next one.
    """
    # (c,) the class probabilities of the row by all other rows, and the two most probable classes
    p = facts.loo.proba[i]
    best, second = np.argsort(-p, kind="stable")[:2].tolist()
    draw = partial(
        plots.nomogram,
        facts.nb,
        take_rows(facts.X, np.array([i])),
        label=facts.classes[best],
        against=facts.classes[second],
        n_draws=400,
        level=facts.level,
    )
    # the plot has a line for each feature, at most 12, and a line for the prior and the sum
    svg = inline_svg(draw, f"{reason}: nomogram {i}", height=1.75 + 0.25 * min(12, facts.nb.n_features_in_))
    # the class number of its label, and in words whether the other rows predict it
    true = facts.loo.index[i]
    probability = f"{p[best]:.3f}" if p[best] < 0.9995 else "above 0.999"  # not 1 where it is less
    truth = "which is right" if true == best else f"but it is <b>{_text(facts.classes[true])}</b>"
    prediction = f"the other rows predict <b>{_text(facts.classes[best])}</b> with probability {probability}, {truth}."
    return f"<div><h3>{reason}</h3>{_figure(svg, f'{_text(facts.row_names[i])}: {prediction}')}</div>"


def _priors(facts: _Facts) -> str:
    """Prior and posterior of the three most informative features, as far as there is a plot of them; else empty."""
    figures = []
    for name in facts.importance["feature"].iloc[:3]:
        # the table of importance has the most informative features first
        column = facts.nb.model_.feature_names.index(name)
        caption = f"{_text(shorten(name, 40))}: the prior is dashed, each class has a line."
        # no figure where the column is not used, or where its family has no parameters to draw
        with contextlib.suppress(ValueError, AttributeError, KeyError):
            draw = partial(plots.prior_to_posterior, facts.nb, column)
            figures.append(_figure(inline_svg(draw, f"Prior to posterior of {name}", height=2.8), caption))
    if not figures:
        return ""
    note = "<p>If a posterior still looks like its prior, it depends on few rows.</p>"
    return f'{note}<div class="pair">{"".join(figures)}</div>'


def _models(facts: _Facts) -> str:
    """The table of this model and others, by evidence and leave-one-out; empty if there are no others."""
    if facts.comparison is None:
        return ""
    table = facts.comparison.table
    text = f"<p>By leave-one-out <b>{_text(table.index[0])}</b> predicts the labels best.</p>"
    # some models have no evidence, such as calibrated ones; with none at all the sentence is left out
    if table["log_evidence"].notna().any():
        text = f"<p><b>{_text(table['log_evidence'].idxmax())}</b> has the largest evidence.</p>{text}"
    names = ["log_evidence", "elpd", "elpd_diff", "se_diff", "probability", "accuracy"]  # columns that are shown
    notes = "".join(f"<p class='soft'>{_text(note)}</p>" for note in facts.comparison.notes)
    return text + _table(table[names].reset_index(names="model"), "Models") + notes
