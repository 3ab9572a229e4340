"""Models compared on the same rows: evidence, and exact leave-one-out.

The evidence p(X, y | model) asks which model predicted rows and labels; leave-one-out Σ_i log p(y_i | x_i, D₋ᵢ) asks
which model predicts the labels of given rows. They may disagree: a better model of the rows can separate the classes
worse. A note then says which of the two to follow for what. The constants of all likelihoods are kept, so that evidence
compares likelihoods of different kinds as long as they are densities of the same cells with respect to the same
measure: counts with counts, real numbers with real numbers. Where they are not (a density with a probability; the
multinomial, whose row totals are given, with Poisson), a note says so. What it cannot see: an estimator that thresholds
its cells (`binarize`) has the evidence of thresholded cells.

References
----------
Kass & Raftery (1995), Bayes factors, JASA 90. Vehtari, Gelman & Gabry (2017), Statistics and Computing 27, eq. (24):
the standard error of a paired difference. Yao, Vehtari, Simpson & Gelman (2018), Bayesian Analysis 13, eq. (4):
stacking weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone

from ..core.arrays import Float, PerRow
from ..core.supports import COMPOSITE
from ..inference.loo import LooResult, standard_error
from ._suited import check_own


@dataclass(frozen=True)
class Comparison:
    """A table of models, best first, with the results behind it.

    Attributes
    ----------
    table : data frame with one row a model, by `elpd` in descending order
        log_evidence        log p(X, y | model), nats; NaN if there is none
        log_bayes_factor    log_evidence minus the largest one, nats
        probability         of the model given the data, among models with an evidence; all are equal a priori
        elpd, se            Σ_i w_i log p(y_i | x_i, D₋ᵢ) and its standard error, nats
        elpd_diff, se_diff  elpd minus the largest one, and the standard error of that paired difference
        accuracy            share of the rows that are classified correctly from all other rows
        stacking            weights v ≥ 0, Σ_k v_k = 1, that maximise Σ_i w_i log Σ_k v_k p_k(y_i | x_i, D₋ᵢ): the
                            average of the models that predicts the labels best. NaN if a p_k is 0 or NaN
    loo : the exact leave-one-out result of each model, by name
    estimators : the fitted estimator of each model, by name
    notes : what is missing in the table, with the reason

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianDA, GaussianNB, compare
    >>> found = compare({"independent": GaussianNB(), "covariance": GaussianDA()}, X, y)
    >>> found.table.index[0]  # the model with the largest elpd
    'covariance'
    """

    table: pd.DataFrame
    loo: dict[str, LooResult]
    estimators: dict[str, Any]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = self.table.to_string(
            formatters={"stacking": "{:.3f}".format},
            float_format=lambda value: f"{value:.4g}" if abs(value) < 10 else f"{value:.2f}",
        )
        return "\n".join([shown, *(f"note: {text}" for text in self.notes)])


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    fitted: bool = False,
    groups: Any = None,
) -> Comparison:
    """Compare models of the same rows by their evidence and by exact leave-one-out.

    Parameters
    ----------
    estimators : mapping from name to estimator; each is cloned and fitted. A pair (estimator, X) has its own form of
        the same rows
    X, y, sample_weight : rows, labels and weights
    fitted : whether the estimators are already fitted to these rows; they are then used without a new fit
    groups : (n,) labels of groups of rows that are left out together, as in `loo`; for copies, one label a set of them

    Raises
    ------
    TypeError
        if an estimator has no method `loo`
    ValueError
        if `estimators` is no mapping, or is empty. Errors of `fit` and `loo` are passed on

    Notes
    -----
    The default priors of the Gaussian and exponential variants are scaled by the rows, with two numbers a feature.
    Their evidence therefore uses the data twice. This favours them slightly over a model whose prior does not depend on
    the data.

    Evidence and leave-one-out are those of the model. They ignore `estimate`, and `norm` of `ComplementNB`, which only
    change the prediction; a note names each estimator that has such a setting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianDA, GaussianNB, compare
    >>> found = compare({"independent": GaussianNB(), "covariance": GaussianDA()}, X, y)
    >>> found.table["elpd"].round(1).to_dict()
    {'covariance': -10.1, 'independent': -20.3}
    """
    if not isinstance(estimators, Mapping) or not estimators:
        kind = "empty" if isinstance(estimators, Mapping) else f"a {type(estimators).__name__}"
        raise ValueError(f"`estimators` is {kind}; give a mapping from name to estimator")
    pairs = {name: given if isinstance(given, tuple) else (given, X) for name, given in estimators.items()}
    for name, (nb, _) in pairs.items():
        check_own(nb, "compare", f"estimators[{name!r}]", "loo")
    models = {name: nb if fitted else clone(nb).fit(rows, y, sample_weight) for name, (nb, rows) in pairs.items()}
    loo = {name: models[name].loo(rows, y, sample_weight, groups=groups) for name, (_, rows) in pairs.items()}
    evidence, kinds, notes = dict.fromkeys(models, np.nan), dict[str, str](), list[str]()
    for name, nb in models.items():
        try:
            evidence[name] = float(nb.log_evidence_)
        except AttributeError as error:
            notes.append(f"{name} has no evidence: {error}")
        if np.isfinite(evidence[name]):
            kinds[name] = " and ".join(sorted({block.cells_.measure for block in nb.prior_.blocks.values()}))
    for name in [name for name in kinds if COMPOSITE in kinds[name] and len(set(kinds.values())) > 1]:
        evidence[name] = np.nan
        notes.append(f"{name} has no evidence: a composite likelihood can only be compared with its own kind")
        del kinds[name]
    if len(set(kinds.values())) > 1:
        listed = "; ".join(f"{name}: {kind}" for name, kind in kinds.items())
        notes.append(f"evidence cannot be compared between likelihoods of different kinds ({listed}); compare by elpd")
    notes += _disagreements(loo, evidence, kinds)
    notes += [
        f"{name} predicts with {setting}, which leave-one-out ignores: elpd and accuracy are those of the posterior "
        "predictive"
        for name, nb in models.items()
        if (setting := nb.ignored_by_loo)
    ]
    table = pd.DataFrame({"log_evidence": evidence}).rename_axis("model")
    table["log_bayes_factor"] = table["log_evidence"] - table["log_evidence"].max()
    table["probability"] = np.exp(table["log_bayes_factor"] - logsumexp(table["log_bayes_factor"].dropna()))
    best = max(loo.values(), key=lambda one: one.elpd)
    columns = ["elpd", "se", "elpd_diff", "se_diff", "accuracy"]
    table[columns] = [(one.elpd, one.se, *_paired(one, best), one.accuracy) for one in loo.values()]
    table["stacking"] = stacked_weights([one.pointwise for one in loo.values()], best.weight)
    return Comparison(table.sort_values("elpd", ascending=False, kind="stable"), loo, models, tuple(notes))


def _paired(one: LooResult, other: LooResult) -> tuple[float, float]:
    """elpd of one model minus that of another, and the standard error of this paired difference."""
    d = one.terms(one.pointwise - other.pointwise)
    return float(d.sum()), standard_error(d)


def _disagreements(
    results: Mapping[str, LooResult], evidence: Mapping[str, float], kinds: Mapping[str, str]
) -> list[str]:
    """A sentence for each kind of likelihood whose largest evidence has an elpd more than two standard errors lower."""
    notes = []
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name in kinds if kinds[name] == kind]
        writer = max(names, key=lambda name: evidence[name])
        reader = max(names, key=lambda name: results[name].elpd)
        gain, se = _paired(results[reader], results[writer])
        if gain > max(2 * se, 1e-6):  # nats; rounding is below
            notes.append(
                f"evidence and elpd disagree: {writer} has the largest evidence (by "
                f"{evidence[writer] - evidence[reader]:.1f} nats), but {reader} predicts the labels better (by "
                f"{gain:.1f} nats, standard error {se:.1f}). To predict labels, follow elpd: {reader}. To say "
                f"which model wrote the table, rows and labels, follow the evidence: {writer}"
            )
    return notes


def stacked_weights(pointwise: Sequence[np.ndarray], weight: PerRow) -> Float[np.ndarray, " k"]:
    """Weights v ≥ 0, Σ v_k = 1, that maximise the score Σ_i w_i log Σ_k v_k p_ik, which is concave in v.

    With W = Σ w_i, the gradient of the mean score is g_k = (1/W) Σ_i w_i p_ik / Σ_l v_l p_il.

    Parameters
    ----------
    pointwise : log p_ik of each model, nats; the weight of a model where one of them is not finite is NaN
    weight : w_i, non-negative

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), Using stacking to average Bayesian predictive distributions, Bayesian
    Analysis 13, eq. (4): weights that maximise the leave-one-out score.
    """
    table = np.stack(pointwise, 1)
    stacked, usable = np.full(table.shape[1], np.nan), np.isfinite(table).all(0)
    if not (k := usable.sum()):
        return stacked
    share, table = weight / weight.sum(), table[:, usable]
    p = np.exp(table - table.max(1, keepdims=True))

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.maximum(p @ v, 1e-300)
        return -share @ np.log(mixed), -(share / mixed) @ p

    sum_to_one = {"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like}
    settings = {"bounds": [(0, 1)] * k, "constraints": sum_to_one, "options": {"ftol": 1e-15, "maxiter": 1000}}
    v = minimize(loss, np.full(k, 1 / k), jac=True, method="SLSQP", **settings).x.clip(0)
    stacked[usable] = v / v.sum()
    return stacked
