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
from scipy import linalg
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Float, Scalar
from ..core.supports import COMPOSITE, MEASURES
from ..inference.loo import LooResult


@dataclass(frozen=True)
class Comparison:
    """A table of models, best first, with the results behind it.

    Attributes
    ----------
    table : data frame with one row a model, by `elpd` in descending order
        log_evidence        log p(X, y | model), nats; NaN if there is none
        log_bayes_factor    log_evidence minus the largest one, nats
        probability         probability of the model given the data, under `prior`, among models with an evidence
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

    def to_dict(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; NaN becomes None. The given notes come first."""
        rows = self.table.astype(object).where(self.table.notna(), None)
        return {"models": rows.to_dict("index"), "notes": [*notes, *self.notes]}


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    prior: Mapping[str, Scalar] | None = None,
    fitted: bool = False,
    groups: Any = None,
) -> Comparison:
    """Compare models of the same rows by their evidence and by exact leave-one-out.

    Parameters
    ----------
    estimators : mapping from name to estimator; each is cloned and fitted. A pair (estimator, X) has its own form of
        the same rows
    X, y, sample_weight : rows, labels and weights
    prior : prior probabilities of the models by name, positive, equal by default; they need not sum to one
    fitted : whether the estimators are already fitted to these rows; they are then used without a new fit
    groups : (n,) labels of groups of rows that are left out together, as in `loo`; for copies, one label a set of them

    Raises
    ------
    ValueError
        if there is no estimator, or if `prior` is not one positive number for each. Errors of `fit` and `loo` are
        passed on

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
    if not estimators:
        raise ValueError("`estimators` is empty; give a mapping from name to estimator")
    names, notes = list(estimators), list[str]()
    weights = dict.fromkeys(names, 1.0) if prior is None else dict(prior)
    if weights.keys() != set(names) or not all(np.isfinite(v) and v > 0 for v in weights.values()):
        raise ValueError(f"`prior` is {prior!r}; it needs one positive number for each of {names}")
    models, loo, evidence, measures = dict[str, Any](), dict[str, LooResult](), dict[str, float](), dict[str, Any]()
    for name, given in estimators.items():
        estimator, rows = given if isinstance(given, tuple) else (given, X)
        if fitted:
            check_is_fitted(estimator)
        else:
            estimator = clone(estimator).fit(rows, y, sample_weight)
        models[name], loo[name] = estimator, estimator.loo(rows, y, sample_weight, groups=groups)
        of_blocks = {block.cells_.measure for block in estimator.prior_.blocks.values()}
        measures[name] = [*(kind for kind in MEASURES if kind in of_blocks), *sorted(of_blocks.difference(MEASURES))]
        try:
            evidence[name] = float(estimator.log_evidence_)
        except AttributeError as error:
            evidence[name] = float("nan")
            notes.append(f"{name} has no evidence: {error}")
    kinds = {name: " and ".join(measures[name]) for name in names if np.isfinite(evidence[name])}
    for name in [name for name in kinds if COMPOSITE in measures[name] and len(set(kinds.values())) > 1]:
        evidence[name] = float("nan")
        notes.append(f"{name} has no evidence: a composite likelihood can only be compared with its own kind")
        del kinds[name]
    if len(set(kinds.values())) > 1:
        listed = "; ".join(f"{name}: {kind}" for name, kind in kinds.items())
        notes.append(f"evidence cannot be compared between likelihoods of different kinds ({listed}); compare by elpd")
    notes += _disagreements(loo, evidence, kinds)
    notes += [
        f"{name} predicts with {setting}, which leave-one-out ignores: elpd and accuracy are those of the posterior "
        "predictive"
        for name in names
        if (setting := models[name].ignored_by_loo)
    ]
    alike: dict[Any, list[str]] = {}
    for name in names:
        numbers = evidence[name], loo[name].elpd, loo[name].elpd_joint
        said = models[name].ignored_by_loo, *(f"{number:.9g}" for number in numbers)
        alike.setdefault(said, []).append(name)
    notes += [
        f"{' and '.join(same)} have identical results: they are the same model of this table"
        for same in alike.values()
        if same[1:]
    ]
    table = pd.DataFrame({"log_evidence": evidence}).rename_axis("model").loc[names]
    table["log_bayes_factor"] = table["log_evidence"] - table["log_evidence"].max()
    odds = table["log_bayes_factor"] + np.log(pd.Series(weights))
    table["probability"] = np.exp(odds - logsumexp(odds.dropna()))
    best = loo[max(names, key=lambda name: loo[name].elpd)]
    table["elpd"], table["se"] = [loo[name].elpd for name in names], [loo[name].se for name in names]
    table[["elpd_diff", "se_diff"]] = [_paired(loo[name], best) for name in names]
    table["accuracy"] = [loo[name].accuracy for name in names]
    table["stacking"] = _stacking([loo[name].pointwise for name in names], best.weight)
    return Comparison(table.sort_values("elpd", ascending=False, kind="stable"), loo, models, tuple(notes))


def _paired(one: LooResult, other: LooResult) -> tuple[float, float]:
    """elpd of one model minus that of another, and the standard error of this paired difference."""
    d = one.weight * (one.pointwise - other.pointwise)
    return float(d.sum()), float(np.sqrt(len(d) * d.var()))


def _stacking(pointwise: list[np.ndarray], weight: np.ndarray) -> np.ndarray:
    """Stacking weights of models by their log p(y_i | x_i, D₋ᵢ); NaN for a model where one of them is not finite."""
    table = np.stack(pointwise, 1)
    stacked, usable = np.full(table.shape[1], np.nan), np.isfinite(table).all(0)
    if usable.any():
        stacked[usable] = stacked_weights(table[:, usable], weight)
    return stacked


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


def stacked_weights(log_p: Float[np.ndarray, "n d"], weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, " d"]:
    """Weights v ≥ 0, Σ v_j = 1, that maximise the score Σ_i w_i log Σ_j v_j p_ij, which is concave in v.

    With W = Σ w_i, the gradient of the mean score is g_j = (1/W) Σ_i w_i p_ij / Σ_k v_k p_ik. The weights are best
    when g_j ≤ 1 for all j, with equality where v_j > 0 (Kuhn–Tucker). Any v with Σ v_j = 1 has a mean score of at most
    max_j g_j − 1 nats below the best: the fit stops when that is no more than 1e-10.

    Newton's method for −(1/W) Σ_i w_i log (Pv)_i + Σ_j v_j over v ≥ 0, whose minimum has Σ_j v_j = 1 by itself. The
    multipliers of v ≥ 0 are unknowns of their own (a primal-dual interior point method). The start is uniform, and
    nothing is random.

    Parameters
    ----------
    log_p : log p_ij, nats; finite
    weight : w_i, non-negative

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), Using stacking to average Bayesian predictive distributions, Bayesian
    Analysis 13, eq. (4): weights that maximise the leave-one-out score.
    Kim, Carbonetto, Stephens & Anitescu (2020), A fast algorithm for maximum likelihood estimation of mixture
    proportions using sequential quadratic programming, JCGS 29, §2 (the sum that takes the place of the constraint).
    Nocedal & Wright (2006), Numerical Optimization, 2nd ed., §16.6 (the method).
    """
    d = log_p.shape[1]
    if d == 1 or not weight.sum() > 0:
        return np.full(d, 1 / d)
    share, p = weight / weight.sum(), np.exp(log_p - log_p.max(1, keepdims=True))
    v, s = np.full(d, 1 / d), np.ones(d)
    for _ in range(200):  # some 20 are usual
        ratio = p / (p @ (v / v.sum()))[:, None]
        g = share @ ratio
        if g.max() - 1 <= 1e-10:
            break
        ratio = p / (p @ v)[:, None]
        g = share @ ratio
        mu = 0.1 * (v @ s) / d
        hessian = ratio.T @ (share[:, None] * ratio)
        hessian[np.diag_indices(d)] += s / v
        step = linalg.solve(hessian, g - 1 + mu / v, assume_a="pos")
        of_s = (mu - s * step) / v - s
        v = v + _length(v, step) * step
        s = s + _length(s, of_s) * of_s
    return v / v.sum()


def _length(v: np.ndarray, step: np.ndarray) -> float:
    """The longest part of a step that keeps all numbers positive, at most all of it."""
    down = step < 0
    return float(min(1.0, 0.995 * np.min(-v[down] / step[down], initial=np.inf)))
