"""One page of HTML about a fitted model and its rows: `bayesnb.report`. `data/report.html` lays it out."""

import contextlib
import html as _html
import io
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from string import Template
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import estimators, plots
from .analysis._suited import check_own
from .analysis.comparison import Comparison, compare
from .analysis.importance import importance
from .calibration.leave_one_out import CalibratedClassifierLOO
from .core.supports import check_level
from .core.weights import row_weights
from .inference.held_out import take_rows
from .inference.loo import copies, loo_in_analyses
from .io import replace_file
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
    from . import __version__

    check_own(estimator, "report", method="loo")
    check_level(level)
    y = np.asarray(y)
    if len(np.unique(y)) < 2:
        raise ValueError(f"`y` has {len(np.unique(y))} classes; a report needs at least two")
    try:
        check_is_fitted(estimator)
    except ValueError:
        estimator = clone(estimator).fit(X, y, sample_weight)
    m = SimpleNamespace(nb=estimator, X=X, y=y, level=level, classes=estimator.classes_.tolist())
    m.sample_weight = sample_weight
    m.weights = row_weights(sample_weight, len(y))
    m.n = m.weights.total  # of rows; of importance the sum of their weights
    m.n_rows = int(m.n) if m.weights.are_counts else len(y)
    m.n_copies = _number_of_copies(X, y) if n_copies is None else n_copies
    m.inside = getattr(estimator, "reader_", estimator)  # the naive Bayes model that reads the rows
    m.loo = loo_in_analyses(estimator, X, y, sample_weight)
    m.right = m.loo.predicted == m.loo.classes[m.loo.index]
    m.count = np.bincount(m.loo.index, m.weights.values, minlength=len(m.classes))
    m.count = m.count.astype(int) if m.weights.are_counts else m.count
    share = m.count[m.count > 0] / m.n
    m.base, m.base_loss = float(share.max()), float(-(share * np.log(share)).sum())  # of the class frequencies alone
    m.importance = importance(estimator, X, y, sample_weight, level=level)
    m.contract = getattr(estimator, "contract_", None) if contract is None else contract
    m.comparison = None if others is None else _compared(estimator, X, y, m.loo.log_proba, others, sample_weight)
    index = X.index if isinstance(X, pd.DataFrame) else range(len(y))
    m.row_names = [f"Row {i}" for i in index] if lines is None else [f"Line {i}" for i in lines]
    m.cautions = tuple(_cautions(m))
    title = title or f"{type(estimator).__name__}: {m.n_rows:,} rows, {len(m.classes)} classes"
    makers = _careful, _columns, _classes, _accuracy, _calibration, _confusion, _importance, _rows, _priors, _models
    parts = {make.__name__.strip("_"): make(m) for make in makers}
    parts |= {"title": _text(title), "header": _header(title, m), "exact": "exact" if m.loo.exact else "approximate"}
    template = Template(files("bayesnb").joinpath("data", "report.html").read_text("utf-8"))
    page = template.substitute(parts, version=__version__, level=f"{level:.0%}")
    page = re.sub(r'<section id="\w+"><h2>[^<]*</h2></section>\n', "", page)  # of sections without a text
    return Report(page, m.loo.accuracy, m.loo.log_loss, m.cautions)


def calibration_gain(nb: Any, X: Any, y: Any, sample_weight: Any = None) -> str:
    """The leave-one-out log loss, plain and calibrated, in nats a row, and what it says."""
    found = CalibratedClassifierLOO(clone(nb)).fit(X, y, sample_weight).loo_log_loss_
    plain, calibrated = found["plain"], found["calibrated"]
    said = f"Leave-one-out log loss: {plain:.4f} nats a row, {calibrated:.4f} after calibration. "
    if calibrated >= 0.95 * plain:  # the map is fitted to these rows, so a small gain is no reason for it
        return f"{said}Calibration changes little: it is not needed for this model."
    return f"{said}Calibration lowers it by {1 - calibrated / plain:.0%}: use CalibratedClassifierLOO, or --calibrate."


def candidates(kind: str, n: int, d: int) -> list[Any]:
    """The models that are tried on n rows of d cells of one kind: every estimator that suits them, in its variants."""
    kinds = (getattr(estimators, name) for name in dir(estimators))
    suited = [one for one in kinds if one.suits(kind, n, d)]
    return [one(**settings) for one in suited for settings in ({}, *[*one.variants.values()][1:])]


def _compared(
    nb: Any, X: Any, y: np.ndarray, own: np.ndarray, others: Any, sample_weight: Any = None
) -> Comparison | None:
    """The model beside others of the same cells; those that cannot take them or are the same are left out."""
    own_model, chosen, models = nb, not isinstance(others, str), {}
    nb = getattr(nb, "reader_", nb)
    if not chosen:
        kind = next(iter(nb.posterior_.blocks.values())).inner.cells_.kind
        is_mixed = "parts" in nb.get_params(deep=False)
        others = _other_parts(nb, len(y)) if is_mixed else {str(one): one for one in candidates(kind, *X.shape)}
        others |= {} if nb is own_model else {"naive Bayes": nb}
    for name, one in others.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fitted = clone(one).fit(X, y, sample_weight)
                table = loo_in_analyses(fitted, X, y, sample_weight).log_proba
        except (ValueError, TypeError, Warning, ArithmeticError):
            continue
        if chosen or not np.allclose(table, own):  # the same model may have several names
            models[name] = fitted
    if not models:
        return None
    models = {"this model": clone(own_model).fit(X, y, sample_weight), **models}
    return compare(models, X, y, sample_weight=sample_weight, fitted=True)


def _other_parts(nb: Any, n: int) -> dict[str, Any]:
    """The mixed model with another model of its real numbers."""
    real = {name for name, block in nb.posterior_.blocks.items() if block.inner.cells_.kind == "real"}
    left = [*{*range(nb.n_features_in_)}.difference(*(at.tolist() for _, _, at in nb.parts_))]
    sizes = [len(at) for name, _, at in nb.parts_ if name in real]
    tried = candidates("real", n, max(sizes)) if sizes else []
    parts = {one: [(name, one if name in real else own, at.tolist()) for name, own, at in nb.parts_] for one in tried}
    return {f"numbers: {one}": type(nb)([*found, ("unused", "drop", left)]) for one, found in parts.items()}


def _cautions(m: Any) -> Iterator[str]:
    """What a reader should be careful about, a sentence each."""
    loo, top = m.loo, m.importance
    if ignored := m.nb.ignored_by_loo:
        yield f"The model predicts with {ignored}, which leave-one-out ignores. All losses here are of the predictive."
    yield from () if m.contract is None else m.contract.first_cautions(_SHOWN_CAUTIONS)
    if m.weights.are_given:
        yield f"Rows have weights: {m.weights.describe()}."
    rare = np.argsort(m.count, kind="stable")[: (m.count < FEW_ROWS).sum()]
    if small := [f"{m.classes[k]} ({m.count[k]})" for k in rare]:
        yield f"Few rows in some classes: {listed(small, 6)}. Their results are uncertain."
    if m.n_copies > _MANY_COPIES * len(m.y) and _has_fractions(m):
        yield (
            f"{m.n_copies} of {len(m.y)} rows equal an earlier row in all columns. If they are of one person or case, "
            "the other rows already tell the answer and the figures are too good: drop the repeated rows, or use "
            "`loo(groups=…)`."
        )
    if loo.log_loss >= m.base_loss:
        losses = f"The log loss ({loo.log_loss:.3f}) is no better than with the class frequencies ({m.base_loss:.3f})"
        yield f"{losses}. Do not trust the probabilities as they are."
    elif loo.accuracy <= m.base:
        yield "The predicted labels are right no more often than the most frequent class."
    p = float(np.average(loo.proba.max(1), weights=m.weights.values))
    right = float(np.average(m.right, weights=m.weights.values))
    if abs(p - right) > 0.03 + 2 * np.sqrt(right * (1 - right) / m.weights.effective):
        sure = "too sure of itself" if p > right else "not sure enough"
        means = f"its labels have the mean probability {p:.2f}, and {right:.0%} are right"
        yield f"The model is {sure}: {means}. Correlated features count twice. `CalibratedClassifierLOO` corrects this."
    if len(top) > 1 and top.information[0] > 0.9 * m.base_loss:
        yield f"The column {top.feature[0]} determines the label almost completely. Do you know it before you predict?"
    if m.comparison is not None and (line := m.comparison.table.loc["this model"]).elpd_diff < -2 * line.se_diff:
        best = m.comparison.table.index[0]
        yield f"The model “{best}” predicts the labels better than this one, by more than two standard errors."
    for column in () if m.contract is None else m.contract.used:
        if column.missing > 0.2:
            yield f"Column {column.name}: {column.missing:.0%} of the cells are missing."
    yield "Rows are taken to be independent. If rows belong together, such as those of one person, use `loo(groups=…)`."


def _number_of_copies(X: Any, y: np.ndarray) -> int:
    """How many rows equal an earlier row in all columns and the label."""
    if not isinstance(X, pd.DataFrame):
        return len(y) - len(np.unique(copies(X, y)))
    try:
        return int(X.reset_index(drop=True).assign(**{_LABEL: y}).duplicated().sum())
    except TypeError:  # lists in the cells
        return 0


def _has_fractions(m: Any) -> bool:
    """Whether rows have real numbers with a fraction: equal rows of whole numbers and levels may be chance."""
    blocks = m.inside.posterior_.blocks
    rows = m.inside.encode(m.X)
    real = [rows[name] for name, block in blocks.items() if block.inner.cells_.kind == "real"]
    return any(bool((np.nan_to_num(cells) % 1 != 0).any()) for cells in real)


# --- pieces of the page ---------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return _html.escape(str(value))


def _table(frame: pd.DataFrame, name: str, index: bool = False) -> str:
    """A table in a box that scrolls by itself where the screen is narrow."""
    table = frame.to_html(index=index, border=0, justify="left", na_rep="–", float_format="{:,.3f}".format)
    return f'<div class="wide" tabindex="0" role="region" aria-label="{name}">{table}</div>'


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def inline_svg(draw: Callable[..., Any], title: str, height: float = 3.2) -> str:
    """An SVG element of what `draw` draws on Axes; text and lines are in the colour of the page."""
    import matplotlib
    from matplotlib.figure import Figure

    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: Any = dict.fromkeys(inked, _INK) | {"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 9.0}
    settings |= {"axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.6, height), layout="constrained")
        draw(ax=figure.subplots())
        silent = dict.fromkeys(["Date", "Creator", "Format", "Type"])
        figure.savefig(buffer := io.StringIO(), format="svg", transparent=True, metadata=silent)
    svg = buffer.getvalue().partition("<svg")[2]
    svg = re.sub(r'^([^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    own = f"f{zlib.crc32(title.encode()):x}-"  # a name is used once on a page
    svg = re.sub(r'(\bid="|url\(#|href="#)', lambda found: found[1] + own, svg)
    about = f'role="img" aria-label="{_text(title)}" style="max-width: 442px"'
    return f"<svg {about}{svg}".replace(_INK, "currentColor")


# --- sections -------------------------------------------------------------------------------------------------------


def _header(title: str, m: Any) -> str:
    said = (
        f"If each row is predicted from all other rows, {m.loo.accuracy:.1%} of the {m.n_rows:,} rows get their own "
        "label. "
        f"Always predicting the most frequent class would be right for {m.base:.1%}."
    )
    return f"<h1>{_text(title)}</h1><p><code>{_text(' '.join(repr(m.nb).split()))}</code></p><p>{said}</p>"


def _careful(m: Any) -> str:
    said = "".join(f"<li>{_text(caution)}</li>" for caution in m.cautions)
    return "<ul>" + re.sub(r"`([^`]*)`", r"<code>\1</code>", said) + "</ul>"


def _columns(m: Any) -> str:
    if m.contract is None:
        return ""
    shown, more = m.contract.shown(40)
    return _table(shown, "Columns") + f"<p class='soft'>{more}</p>" * bool(more)


def _classes(m: Any) -> str:
    law, tail = m.inside.posterior_.classes.marginals().get("pi"), (1 - m.level) / 2
    table = pd.DataFrame({"class": m.classes, "rows": m.count, "share": m.count / m.n})
    if law is not None:
        table["low"], table["high"] = law.ppf(tail), law.ppf(1 - tail)
    return _table(table, "Classes")


def _accuracy(m: Any) -> str:
    loo, error = m.loo, np.sqrt(m.loo.accuracy * (1 - m.loo.accuracy) / max(m.weights.effective, 1))
    rows = [
        ["accuracy", loo.accuracy, error, m.base],
        ["log loss, nats a row", loo.log_loss, loo.se / m.n, m.base_loss],
        ["log p(y | x), nats", loo.elpd, loo.se, -m.n * m.base_loss],
        ["log evidence, nats", getattr(m.nb, "log_evidence_", np.nan), np.nan, np.nan],
    ]
    return _table(pd.DataFrame(rows, columns=["", "value", "standard error", "frequencies"]), "Leave-one-out")


def _calibration(m: Any) -> str:
    loo, two = m.loo, len(m.classes) == 2
    event = loo.index == 1 if two else m.right
    p = loo.proba[:, 1] if two else loo.proba.max(1)
    if m.weights.are_given and m.weights.are_counts and m.n <= _REPEATED:
        times = m.weights.values.astype(int)
        event, p = np.repeat(event, times), np.repeat(p, times)
    of = _text(m.classes[1]) if two else "the predicted label"
    said = f"Share of events against the leave-one-out probability of {of}. "
    with contextlib.suppress(ValueError, TypeError):  # what cannot be calibrated
        said += "" if hasattr(m.nb, "maps_") else calibration_gain(m.nb, m.X, m.y, m.sample_weight)
    return _figure(inline_svg(partial(plots.reliability, event, p), "Calibration"), said)


def _confusion(m: Any) -> str:
    found = pd.Series(m.loo.predicted, name="predicted as")
    true = pd.Series(m.loo.classes[m.loo.index], name="class")
    if len(m.classes) > _SHOWN:
        wrong = pd.DataFrame([true, found]).T[true != found].value_counts().head(_SHOWN)
        return _table(wrong.reset_index(name="rows"), "Most frequent confusions")
    weight = pd.Series(m.weights.values if not m.weights.are_counts else m.weights.values.astype(int))
    table = pd.crosstab(true, found, values=weight, aggfunc="sum").reindex(index=m.classes, columns=m.classes)
    table = table.fillna(0).astype(weight.dtype)
    return _table(table.rename_axis(index=None, columns=None), "Confusion table", index=True)


def _importance(m: Any) -> str:
    grey, many = int((m.importance["low"] <= 0).sum()), len(m.importance)
    draw = partial(plots.feature_weights, m.importance, n=_SHOWN)
    svg = inline_svg(draw, "Importance", height=0.8 + 0.24 * min(_SHOWN, many))
    said = f"{m.level:.0%} intervals over the rows. {grey} of {many} features are not shown to help. "
    said += f"The log loss of the class frequencies is {m.base_loss:.3f} nats."
    return _figure(svg, said)


def _rows(m: Any) -> str:
    if m.inside is not m.nb:
        return "<p>This model has no nomograms, priors and posteriors. <code>nb.explain(X)</code> explains rows.</p>"
    intro = (
        "<p>A nomogram shows what each feature adds to the log odds of the predicted label against the next one. The "
        "last line is their sum. Points are posterior means, and intervals belong to them. The bar in the last line is "
        "<code>predict_proba</code>, which also learns from the row. <code>nb.explain(X)</code> returns what adds up "
        "to the bar. All of this is of the model of all rows, without calibration. The caption leaves the row out.</p>"
    )
    p, loo, made = m.loo.proba, m.loo, []
    order = np.argsort(p.max(1), kind="stable").tolist()
    chosen = dict.fromkeys(order[:2], "One of the least certain rows")
    chosen |= dict.fromkeys(order[:-3:-1], "One of the most certain rows")
    if len(wrong := np.flatnonzero(~m.right)):
        chosen.setdefault(int(wrong[p[wrong].max(1).argmax()]), "The most certain mistake")
    for i, said in chosen.items():
        best, other = np.argsort(-p[i], kind="stable")[:2].tolist()
        asked: Any = {"label": m.classes[best], "against": m.classes[other], "n_draws": 400, "level": m.level}
        draw = partial(plots.nomogram, m.nb, take_rows(m.X, np.array([i])), **asked)
        svg = inline_svg(draw, f"{said}: nomogram {i}", height=1.75 + 0.25 * min(12, m.nb.n_features_in_))
        sure = f"{p[i, best]:.3f}" if p[i, best] < 0.9995 else "above 0.999"  # not 1 where it is less
        truth = "which is right" if loo.index[i] == best else f"but it is <b>{_text(m.classes[loo.index[i]])}</b>"
        predicts = f"the other rows predict <b>{_text(m.classes[best])}</b> with probability {sure}, {truth}."
        made.append(f"<div><h3>{said}</h3>{_figure(svg, f'{_text(m.row_names[i])}: {predicts}')}</div>")
    return f'{intro}<div class="pair">{"".join(made)}</div>'


def _priors(m: Any) -> str:
    made = []
    for name in m.importance["feature"].iloc[:3]:
        at = m.nb.feature_names().index(name)
        said = f"{_text(shorten(name, 40))}: the prior is dashed, each class has a line."
        with contextlib.suppress(ValueError, AttributeError, KeyError):
            draw = partial(plots.prior_to_posterior, m.nb, at)
            made.append(_figure(inline_svg(draw, f"Prior to posterior of {name}", height=2.8), said))
    note = "<p>If a posterior still looks like its prior, it depends on few rows.</p>"
    return f'{note}<div class="pair">{"".join(made)}</div>' if made else ""


def _models(m: Any) -> str:
    if m.comparison is None:
        return ""
    found = m.comparison.table
    names = ["log_evidence", "elpd", "elpd_diff", "se_diff", "probability", "accuracy"]
    said = f"<p>By leave-one-out <b>{_text(found.index[0])}</b> predicts the labels best.</p>"
    if found["log_evidence"].notna().any():
        said = f"<p><b>{_text(found['log_evidence'].idxmax())}</b> has the largest evidence.</p>{said}"
    return (
        said
        + _table(found[names].reset_index(names="model"), "Models")
        + "".join(f"<p class='soft'>{_text(note)}</p>" for note in m.comparison.notes)
    )
