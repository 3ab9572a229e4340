"""Models that the model of a report is compared with."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import estimators
from ..analysis.comparison import Comparison, comparison_of
from ..estimators._by_name import suits, variants_of
from ..numerics.progress import tracked
from ..posterior.loo import LooResult, loo_in_analyses

_THIS = "this model"


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


def compared(
    nb: Any, X: Any, y: np.ndarray, loo: LooResult, others: Any, sample_weight: Any = None, groups: Any = None
) -> Comparison | None:
    """The model beside others of the same cells; those that cannot take them or are the same are left out.

    Parameters
    ----------
    nb : the model, fitted to the rows
    loo : its leave-one-out
    groups : (n,) labels of groups of rows that are left out together; None for none
    others : estimators by name, or "auto" for those that suit the cells

    Returns
    -------
    the result of `compare`; None if no other model is left
    """
    is_automatic = isinstance(others, str)
    # fitted models by name, first the model itself, and the leave-one-out of each
    models = {_THIS: nb}
    results = {_THIS: loo}
    candidates_by_name = _automatic_others(nb, X) if is_automatic else others
    # `tracked` yields the items, and shows on a terminal how many are done
    for name, other in tracked(candidates_by_name.items(), "other models", len(candidates_by_name), "models"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a model that fits with a warning is left out as one that fails
                fitted = clone(other).fit(X, y, sample_weight)
                result = loo_in_analyses(fitted, X, y, sample_weight, groups)
        except (ValueError, TypeError, Warning, ArithmeticError):
            continue
        # a model may have several names: one that predicts as an earlier one does is left out, unless it was asked for
        if is_automatic and any(np.allclose(result.log_proba, other.log_proba) for other in results.values()):
            continue
        models[name] = fitted
        results[name] = result
    if len(models) == 1:
        return None
    return comparison_of(models, results)


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
    kind = next(iter(inside.posterior_.cells.values())).kind
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
    real = {name for name, cells in nb.posterior_.cells.items() if cells.kind == "real"}
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
