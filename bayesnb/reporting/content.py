"""What a report is made of: numbers and tables, computed once."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from .. import estimators
from ..analysis.comparison import Comparison, compare
from ..analysis.importance import importance
from ..sampling.held_out import column_of, take_rows

_FEW_ROWS = 20  # of a class, below which its results are called uncertain
_LISTED = 6  # of these classes


def candidates(kind: str, n: int, d: int) -> list[Any]:
    """The models that are tried on n rows of d cells of one kind: every estimator that suits them, in its variants."""
    kinds = (getattr(estimators, name) for name in sorted(estimators.__all__))
    suited = [one for one in kinds if one.suits(kind, n, d)]
    return [one(**settings) for one in suited for settings in ({}, *[*one.variants.values()][1:])]


@dataclass(frozen=True)
class Material:
    """A fitted model, its rows, and what they say."""

    estimator: Any
    X: Any
    y: np.ndarray
    classes: list[Any]
    columns: pd.DataFrame
    loo: Any
    importance: pd.DataFrame
    comparison: Comparison | None
    cautions: list[str]
    level: float
    seed: int

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: np.ndarray, contract: Any, others: Any, level: float, seed: int
    ) -> "Material":
        """All that the sections show."""
        loo = estimator.loo(X, y)
        ranked = importance(estimator, X, y, level=level)
        contract = getattr(estimator, "contract_", None) if contract is None else contract
        columns = column_table(estimator, X) if contract is None else contract.to_frame()
        compared = None if others is None else _compared(estimator, X, y, loo.log_proba, others)
        found = cls(estimator, X, y, estimator.classes_.tolist(), columns, loo, ranked, compared, [], level, seed)
        found.cautions.extend(cautions(found))
        return found

    @property
    def baseline(self) -> tuple[float, float]:
        """Accuracy and log loss of predicting the class frequencies."""
        share = np.bincount(self.loo.index, minlength=len(self.classes)) / len(self.y)
        some = share[share > 0]
        return float(share.max()), float(-(some * np.log(some)).sum())

    def row(self, i: int) -> Any:
        """One row, as a table."""
        return take_rows(self.X, np.array([i]))


def column_table(estimator: Any, X: Any) -> pd.DataFrame:
    """Role of each column as the model has it, distinct values, missing share, an example, and what to look at."""
    names, n = estimator.feature_names(), X.shape[0]
    role = {j: "left out" for j in range(len(names))}
    for block, at in estimator.block_columns().items():
        for j in at.tolist():
            role[j] = estimator.posterior_.blocks[block].inner.cells_.role
    lines = []
    for j, name in enumerate(names):
        cells = pd.Series(column_of(X, j))
        known = cells.dropna()
        distinct, missing = known.nunique(), float(cells.isna().mean())
        notes = []
        if distinct <= 1:
            notes.append("never varies")
        if distinct > 0.9 * n > 18 and role[j] == "levels":
            notes.append("almost every row has its own value. Check whether it is a name or a number of the row.")
        example = known.iloc[0] if len(known) else ""
        lines.append((name, role[j], distinct, missing, example, "; ".join(notes)))
    head = ["column", "role", "distinct", "missing", "example", "warning"]
    return pd.DataFrame(lines, columns=head).set_index("column")


def _compared(estimator: Any, X: Any, y: np.ndarray, own: np.ndarray, others: Any) -> Comparison | None:
    """The model beside others of the same cells; those that cannot take them or are the same are left out."""
    chosen = not isinstance(others, str)
    if not chosen:
        kinds = {block.inner.cells_.kind for block in estimator.posterior_.blocks.values()}
        known = candidates(next(iter(kinds)), *X.shape) if len(kinds) == 1 else []
        others = {str(one): one for one in known}
        if "parts" in estimator.get_params(deep=False):
            others = _other_parts(estimator, X.shape[0])
    models = {}
    for name, one in others.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fitted = clone(one).fit(X, y)
                table = fitted.loo(X, y).log_proba
        except (ValueError, TypeError, Warning, ArithmeticError):
            continue
        if chosen or not np.allclose(table, own):  # the same model may have several names
            models[name] = fitted
    if not models:
        return None
    return compare({"this model": clone(estimator).fit(X, y), **models}, X, y, fitted=True)


def _other_parts(estimator: Any, n: int) -> dict[str, Any]:
    """The mixed model with another model of its real numbers."""
    parts = [(name, clone(one), columns.tolist()) for name, one, columns in estimator.parts_]
    kinds = {name: block.inner.cells_.kind for name, block in estimator.posterior_.blocks.items()}
    if len({name for name, _, _ in parts}) < len(parts) or any("." in name for name, _, _ in parts):
        return {}
    found = {}
    widest = max((len(at) for part, _, at in parts if kinds.get(part) == "real"), default=0)
    for one in candidates("real", n, widest):
        swapped = [(part, one if kinds.get(part) == "real" else own, at) for part, own, at in parts]
        if [repr(new) for _, new, _ in swapped] != [repr(own) for _, own, _ in parts]:
            listed = {j for _, _, at in parts for j in at}
            unused = [j for j in range(estimator.n_features_in_) if j not in listed]
            found[f"numbers: {one}"] = type(estimator)([*swapped, *([("unused", "drop", unused)] if unused else [])])
    return found


def cautions(known: Material) -> list[str]:
    """What a reader should be careful about, a sentence each."""
    said, n, loo = [], len(known.y), known.loo
    if ignored := known.estimator.ignored_by_loo:
        said.append(
            f"The model predicts with {ignored}, which leave-one-out ignores. Accuracy, log loss and calibration here "
            "are those of the posterior predictive."
        )
    count = np.bincount(loo.index, minlength=len(known.classes))
    small = [k for k in np.argsort(count, kind="stable") if count[k] < _FEW_ROWS]
    if small:
        listed = ", ".join(f"{known.classes[k]} ({count[k]})" for k in small[:_LISTED])
        more = f" and {len(small) - _LISTED} more" if len(small) > _LISTED else ""
        said.append(
            f"Few rows in the class{'es' if len(small) > 1 else ''} {listed}{more}: their results are uncertain."
        )
    if n < 100:
        said.append(f"There are only {n} rows. Accuracy and calibration are therefore uncertain.")
    base, base_loss = known.baseline
    if loo.log_loss >= base_loss:
        said.append(
            f"The log loss ({loo.log_loss:.3f}) is no better than that of the class frequencies ({base_loss:.3f}). Do "
            "not trust the probabilities as they are."
        )
    elif loo.accuracy <= base:
        said.append("The predicted labels are right no more often than the most frequent class.")
    p, right = loo.proba.max(1), loo.predicted == loo.classes[loo.index]
    if abs(gap := float(p.mean() - right.mean())) > 0.03 + 2 * np.sqrt(right.mean() * (1 - right.mean()) / n):
        word = "too sure of itself" if gap > 0 else "not sure enough"
        said.append(
            f"The model is {word}: its labels have the mean probability {p.mean():.2f}, and {right.mean():.0%} are "
            "right. Correlated features are counted twice. `CalibratedClassifierLOO` corrects this."
        )
    if loo.accuracy > 0.995 and n >= 50:
        said.append(
            "Almost every row is predicted correctly. Check whether a column contains the answer in another form."
        )
    entropy = base_loss
    top = known.importance
    if len(top) > 1 and top.information[0] > 0.9 * entropy:
        said.append(
            f"The column {top.feature[0]} alone determines the label almost completely. Check that you know it before "
            "you predict."
        )
    noise = top[top.low <= 0]
    if len(top) > 3 and len(noise) > len(top) / 2:
        said.append(
            f"{len(noise)} of {len(top)} features are not shown to help: the interval of their information reaches 0. "
            "FeatureAverage weights features by their evidence."
        )
    if known.comparison is not None:
        best = known.comparison.table.index[0]
        line = known.comparison.table.loc["this model"]
        if best != "this model" and line.elpd_diff < -2 * line.se_diff:
            said.append(
                f"The model “{best}” predicts the labels better than this one, by more than two standard errors."
            )
    for name, missing in known.columns["missing"].items():
        if missing > 0.2:
            said.append(f"Column {name}: {missing:.0%} of the cells are missing.")
    for name, warning in known.columns["warning"].items():
        if warning:
            said.append(f"Column {name}: {warning.rstrip('.')}.")
    said.append(
        "Leave-one-out assumes that rows are independent. If rows belong together, such as those of one person or one "
        "day, use `loo(groups=…)`."
    )
    return said
