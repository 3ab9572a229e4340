"""One page of HTML about a fitted model and its rows: `bayesnb.report`. `data/report.html` lays it out."""

import re
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..analysis.importance import importance
from ..analysis.roc import positive_label
from ..choice import PredictorChoice
from ..estimators._named import is_pipeline, last_step
from ..estimators._suited import check_own, fit_settings
from ..io import replace_file
from ..numerics.arrays import Scalar
from ..numerics.progress import progress
from ..numerics.supports import check_level
from ..posterior.loo import loo_in_analyses
from . import explained, features, judging, overview
from .cautions import cautions_of, number_of_copies
from .facts import Facts
from .html import as_text
from .other_models import compared
from .predictions import Predictions, Wishes, of_leave_one_out, of_new_rows

_OF_PIPELINES = (
    "The steps of the pipeline before the model were fitted to all rows. A step that learns from labels, such as a "
    "selection of features, makes all figures too good: judge the model on other rows."
)


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
    ids: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    feature_names: Any = None,
    n_copies: int | None = None,
    choice: PredictorChoice | None = None,
    test: Any = None,
    positive: Any = None,
    false_positive: Scalar = 1,
    false_negative: Scalar = 1,
    prevalence: Scalar | None = None,
    sensitivity: Scalar | None = None,
) -> Report:
    """Make one page about a model and its training rows, to read, print and send.

    The page begins with the rows, the classes, the missing cells, and what needs care. Accuracy, log loss, calibration
    and the table of cut-offs are those of leave-one-out. ROC and precision–recall curves are from stratified folds. It
    has a picture of what each number adds to the log odds, the importance of each feature, and the most and the least
    certain rows with their nomograms. Other models stand beside this one. Up to 200 rows the page also shows priors,
    posteriors and the evidence. It needs no network, follows light and dark settings, and suits a phone and paper.

    Parameters
    ----------
    estimator : an estimator of bayesnb, or a pipeline that ends in one: the page is about the last step, and the other
        steps make its rows and name its features. If it is not fitted, a clone is fitted to X and y; the estimator does
        not change
    X, y : its training rows and labels
    title : title of the page, by default the name of the model
    contract : how the columns were used, as returned by `describe`; by default that of the model, if it has one
    others : mapping from name to estimator, the models to compare with; "auto" chooses models that suit the cells, None
        no model
    level : level of the credible intervals
    lines : (n,) the line of each row in its file, by which rows are named; by default the index of a data frame
    ids : (n,) names of the rows, which stand before their lines
    sample_weight : (n,) weights of the rows, as they were fitted; integers count rows, floats are importance
    groups : (n,) labels of groups of rows that belong together, such as those of one person. They are left out
        together, and are in one fold
    feature_names : (d,) names of the features, such as words, where X has none
    n_copies : how many rows equal an earlier row in all columns of the table that X is from; by default they are
        counted over the columns of X and the labels
    choice : what `choose_predictor` returned, if it chose the model: the page shows what was taken and why
    test : rows and labels (X, y) that the model has not seen; the page then says first how well it predicts them
    positive, false_positive, false_negative, prevalence, sensitivity : of the table of cut-offs, with two classes; see
        `threshold_table`

    Raises
    ------
    ValueError
        if there are fewer than two classes or two rows, if `level` or a number for the cut-offs is out of range, or if
        `test` has labels that the model does not know

    Examples
    --------
    >>> import bayesnb
    >>> data = bayesnb.datasets.load("penguins")
    >>> X, y = data.X[["bill_length_mm", "sex"]][::12], data.y[::12]
    >>> page = bayesnb.report(bayesnb.MixedNB(), X, y, others=None)
    >>> page.html.startswith("<!DOCTYPE html>"), "http" in page.html.replace("http://www.w3.org", "")
    (True, False)
    """
    # TypeError, with advice, unless the model can do that
    check_own(estimator[-1] if is_pipeline(estimator) else estimator, "report", method="loo")
    check_level(level)  # ValueError unless between 0 and 1
    y = np.asarray(y)
    class_labels = np.unique(y)
    if len(class_labels) < 2:
        raise ValueError(f"`y` has {len(class_labels)} classes; a report needs at least two")
    wishes = Wishes(
        positive=_positive_of_report(positive, class_labels),
        false_positive=false_positive,
        false_negative=false_negative,
        prevalence=prevalence,
        sensitivity=sensitivity,
        thresholds=None,
        level=level,
    )
    try:
        check_is_fitted(estimator)
    except ValueError:  # it is not: a clone is, so that the estimator given does not change
        estimator = clone(estimator).fit(X, y, **fit_settings(estimator, sample_weight, groups))
    has_other_steps = is_pipeline(estimator) and len(estimator) > 1
    if test is not None:
        new_X, new_y = test
        test = last_step(estimator, new_X).X, new_y
    estimator, X, feature_names = last_step(estimator, X, feature_names)
    with progress("report") as line:  # shown on a terminal while it lasts
        line.begin("leave-one-out")
        loo = loo_in_analyses(estimator, X, y, sample_weight, groups)  # each row predicted from all others
        line.begin("curves and cut-offs")
        judged = _judged(estimator, X, y, sample_weight, groups, loo, wishes, test)
        line.begin("importance of the features")
        scores = importance(estimator, X, y, sample_weight, groups=groups, level=level, feature_names=feature_names)
        line.begin("other models")
        comparison = None if others is None else compared(estimator, X, y, loo, others, sample_weight, groups)
    # what the sections of the page are made of
    facts = Facts(
        nb=estimator,
        X=X,
        y=y,
        sample_weight=sample_weight,
        groups=groups,
        positive=wishes.positive,
        level=level,
        loo=loo,
        predictions=judged.training,
        new_rows=judged.new_rows,
        importance=scores,
        contract=getattr(estimator, "contract_", None) if contract is None else contract,
        comparison=comparison,
        row_names=_row_names(X, len(y), lines, ids),
        n_copies=number_of_copies(X, y) if n_copies is None else n_copies,
        choice=choice,
        feature_names=feature_names,
    )
    cautions = tuple(cautions_of(facts))
    if has_other_steps:
        cautions = (*cautions, _OF_PIPELINES)
    title = title or f"{type(estimator).__name__}: {facts.n_rows:,} rows, {len(facts.classes)} classes"
    with progress("page of the report"):
        page = _page(facts, title, cautions)
    return Report(page, loo.accuracy, loo.log_loss, cautions)


def _positive_of_report(positive: Any, classes: np.ndarray) -> Any:
    """The positive class of two; of more classes None, as each has its own curve. ValueError where there is no such."""
    if len(classes) > 2 and positive is None:
        return None
    return positive_label(positive, classes)


class _Judged(NamedTuple):
    """Predictions of the training rows by leave-one-out, and of new rows, None if there are none."""

    training: Predictions
    new_rows: Predictions | None


def _judged(
    estimator: Any, X: Any, y: np.ndarray, sample_weight: Any, groups: Any, loo: Any, wishes: Wishes, test: Any
) -> _Judged:
    """Both predictions; new rows have the same cut-offs, with the one that the training rows have chosen."""
    training = of_leave_one_out(estimator, X, y, sample_weight, groups, loo, wishes)
    if test is None:
        return _Judged(training, None)
    new_X, new_y = test
    same_cuts = None if training.cuts is None else training.cuts.table.index
    new_wishes = wishes._replace(thresholds=same_cuts, sensitivity=None)
    return _Judged(training, of_new_rows(estimator, new_X, new_y, new_wishes))


def _row_names(X: Any, n: int, lines: Any, ids: Any) -> list[str]:
    """What each row is called: by its name and line, as far as they are known, else by the index of a data frame."""
    if ids is not None and lines is not None:
        return [f"{name} (line {line})" for name, line in zip(ids, lines, strict=True)]
    if ids is not None:
        return [str(name) for name in ids]
    if lines is not None:
        return [f"Line {line}" for line in lines]
    index = X.index if isinstance(X, pd.DataFrame) else range(n)
    return [f"Row {i}" for i in index]


def _page(facts: Facts, title: str, cautions: tuple[str, ...]) -> str:
    """The page with all sections that have a text.

    The functions of the other modules make the text of a section, as HTML. The template `report.html` has the headings,
    and a field for each text; `substitute` fills the fields.

    Parameters
    ----------
    facts : the model, its rows, and what was computed of them
    title : of the page
    cautions : what needs care, a sentence each
    """
    from .. import __version__

    of_leave_one_out_rows = f"Each row was predicted from {facts.other_rows}, with p(y) of all rows."
    # by the name of the field in the template; a text is empty where there is nothing to say
    sections = {
        "careful": overview.careful(cautions),
        "new_rows": _new_rows(facts),
        "choice": overview.choice_of_model(facts.choice),
        "accuracy": judging.accuracy(facts, facts.predictions, has_evidence=facts.has_few_rows),
        "curves": judging.curves(facts.predictions, "training rows"),
        "cuts": judging.cut_offs(facts.predictions.cuts, of_leave_one_out_rows),
        "calibration": judging.calibration(facts),
        "confusion": judging.confusion(facts.predictions),
        "effects": features.effects(facts),
        "importance": features.importance_of_features(facts),
        "classes": features.classes(facts),
        "rows": explained.explained_rows(facts),
        "priors": features.priors(facts),
        "models": overview.models(facts),
        "columns": features.columns(facts),
    }
    # a file of the package; its fields are written as $careful, $title and so on
    template = Template(files("bayesnb").joinpath("data", "report.html").read_text("utf-8"))
    page = template.substitute(
        sections,
        title=as_text(title),
        header=overview.header(title, facts),
        other_rows=facts.other_rows,
        confusion_width=' class="full"' if len(facts.classes) > judging.MAX_NAMED_COLUMNS else "",
        exact="exact" if facts.loo.exact else "approximate",
        version=__version__,
        level=f"{facts.level:.0%}",
    )
    # A section without a text is a heading with its explanation alone: nothing stands between <!--text--> and the end
    # of the section. The pattern finds these, and they are taken out.
    return re.sub(r'<section id="[\w-]+"[^>]*>(?:(?!</section>).)*<!--text--></section>\n', "", page, flags=re.DOTALL)


def _new_rows(facts: Facts) -> str:
    """How well the rows are predicted that the model has not seen; empty if there are none."""
    new = facts.new_rows
    if new is None:
        return ""
    training = facts.predictions
    note = (
        f"<p>{new.n_rows:,} rows: {as_text(overview.classes_in_words(new))}. On the training rows leave-one-out has "
        f"the log loss {training.log_loss:.3f} and the accuracy {training.accuracy:.1%}.</p>"
    )
    cuts = judging.cut_offs(
        new.cuts, "These are the rows that the model has not seen, at the cut-offs of the training rows."
    )
    calibration = judging.reliability(new, facts.positive, "Calibration, new rows")
    return (
        f"{note}{judging.accuracy(facts, new, has_evidence=False)}{judging.curves(new, 'new rows')}{cuts}"
        f'<div class="pair"><div><h3>Calibration</h3>{calibration}</div>'
        f"<div><h3>Confusion table</h3>{judging.confusion(new)}</div></div>"
    )
