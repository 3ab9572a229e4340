"""Identities between the closed forms of a block, exact at any θ, without a chain: the check and the laws share them.

Every function returns gaps: what was compared, and the largest difference in units of what is compared. They compute on
the host, so nothing is compiled. The evidence is their measure, and row 1 of the check ties it to NumPyro:

- log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data), Bayes' identity of one row;
- log p(x | data) = log p(x, data) − log p(data), the ratio of evidences; leave-one-out is the same on the other side;
- log E p(x | θ)^t is the evidence of a row of weight t, and its derivatives in t are the cumulants of log p(x | θ).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..base import Block
from ..core.arrays import Theta, Value
from ..families.classes import AbstractClasses
from ..naive_bayes import sum_of_pieces

EXACT = 1e-7  # relative; rounding leaves some 1e-12, an error of one part in a million ten times this
_NODES, _REACH = 33, 0.5  # of the polynomials that are differentiated: weights from ½ to 1½


@dataclass(frozen=True)
class Gap:
    """What was compared, and the largest difference, relative to what it should be."""

    what: str
    size: float


def gap(what: str, got: Any, want: Any, scale: Any = None) -> Gap:
    """The largest |got − want| in units of `scale`: by default of `want`, and of 1 where that is smaller."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    if got.shape != want.shape:
        return Gap(f"{what} of shape {got.shape} for {want.shape}", np.inf)
    unit = np.maximum(abs(want), 1) if scale is None else np.maximum(scale, 1e-300)
    same = got == want  # infinite ones too
    with np.errstate(invalid="ignore"):
        return Gap(what, float(np.max(np.where(same, 0, abs(got - want)) / unit, initial=0)))


def _pairs(n: int, c: int, most: int = 24) -> list[tuple[int, int]]:
    """Rows and classes to compare: all, or some that visit every row and class in turn."""
    every = [(i, k) for k in range(c) for i in range(n)]
    return every[:: -(-len(every) // most)]


def _one(block: Block, x: np.ndarray, k: int, weight: float = 1.0) -> Any:
    """Statistics of one row (1, d) in class k."""
    r = np.zeros((1, block.shape[0]))
    r[0, k] = weight
    return block.suffstats(x, r)


def likelihood(block: Block, x: np.ndarray, theta: Theta) -> list[Gap]:
    """Bayes' identity of single rows at draws θ (s, …), and what is the likelihood up to a term of the row."""
    table, before = block.log_likelihood(theta, x), block.log_prob(theta)
    got, want = [], []
    for i, k in _pairs(*table.shape[-2:]):
        stats = _one(block, x[i : i + 1], k)
        gain = sum_of_pieces(block, block.update(stats).log_prob(theta) - before)
        want.append(gain + np.sum(block.log_marginal(stats)))
        got.append(table[..., i, k])
    found = [gap("log_likelihood", got, want), _shared("log_score of θ", block.log_score(x, theta), table)]
    form = block.linear_form({name: value[0] for name, value in theta.items()})
    complete = ~np.isnan(x).any(1)
    if form is not None and complete.any():
        found.append(
            _shared("linear_form", _indicators(x[complete], len(form[0])) @ form[0] + form[1], table[0][complete])
        )
    return found


def _shared(what: str, score: Any, table: Any) -> Gap:
    """Scores against log densities, which may differ by a term of the row that all classes share."""
    want = table - table[..., :1]
    return gap(what, score - score[..., :1], want, abs(want) + 1e-6 * abs(table))


def _indicators(x: np.ndarray, width: int) -> np.ndarray:
    """The columns of a linear form: the features, or the indicators of their levels, feature by feature."""
    if width == x.shape[1]:
        return x
    return (x[..., None] == np.arange(width // x.shape[1])).reshape(len(x), -1).astype(float)


def predictive(block: Block, x: np.ndarray) -> list[Gap]:
    """The predictive of single rows against the evidence of each, given the data behind the block."""
    table = block.log_predictive(x)
    pairs = _pairs(*table.shape)
    want = [np.sum(block.log_marginal(_one(block, x[i : i + 1], k))) for i, k in pairs]
    found = [
        gap("log_predictive", [table[i, k] for i, k in pairs], want),
        _shared("log_score", block.log_score(x), table),
    ]
    cells: Any = [block.log_cells(row) for row in x]
    if cells[0] is not None:
        found.append(gap("log_cells", np.sum(cells, -1), table))
    return found


def evidence(prior: Block, x: np.ndarray, r: Any) -> list[Gap]:
    """The evidence against normalisers, and its ratio with and without the last row against a step of the update."""
    stats = prior.suffstats(x, r)
    posterior, total = prior.update(stats), prior.log_marginal(stats)
    ratio = posterior.log_normalizer() - prior.log_normalizer()
    log_h = stats.log_h if np.shape(stats.log_h) == np.shape(ratio) else np.sum(stats.log_h, 0)
    # the ratio cancels digits where the normalisers are large
    scale = np.maximum(abs(total), 1) + 1e-6 * abs(posterior.log_normalizer())
    found = [gap("log_marginal, log_normalizer", ratio + log_h, total, scale)]
    others, last = prior.suffstats(x[:-1], r[:-1]), prior.suffstats(x[-1:], r[-1:])
    step = np.sum(prior.update(others).log_marginal(last))
    want = np.sum(prior.log_marginal(others + last) - prior.log_marginal(others))
    return [*found, gap("update", step, want, max(1.0, abs(float(want)), 1e-5 * float(np.sum(abs(total)))))]


def leave_one_out(prior: Block, x: np.ndarray, r: Any, few: np.ndarray) -> list[Gap]:
    """Some rows left out against the evidence of each, or its predictive, under a posterior of all the others."""
    posterior = prior.update(prior.suffstats(x, r))
    if hasattr(posterior, "with_known_bandwidth"):  # leave-one-out keeps what is learnt about a bandwidth
        posterior = posterior.with_known_bandwidth
        prior = replace(posterior, cells=posterior.cells.zero())
    table = posterior.log_loo(x[few], r[few])
    want = []
    for i in few:
        others = np.delete(np.arange(len(x)), i)
        without = prior.update(prior.suffstats(x[others], r[others]))
        if has_ratio(prior):
            row = x[i : i + 1]
            want.append([np.sum(without.log_marginal(_one(without, row, k))) for k in range(table.shape[1])])
        else:
            want.append(without.log_predictive(x[i : i + 1])[0])
    found = [gap("log_loo", table, want)]
    return [*found, _shared("log_loo_score", posterior.log_loo_score(x[few], r[few]), table)]


def has_ratio(block: Block) -> bool:
    """Whether `log_marginal` is that of a likelihood of single rows, so that its ratios are predictives."""
    return block.no_evidence is None


# --- cumulants ------------------------------------------------------------------------------------------------------


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chebyshev nodes on (−1, 1), the matrix to coefficients, and derivatives 1, 2, 3 of the polynomials at 0."""
    cheb = np.polynomial.chebyshev
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    kept = _NODES - 8
    slopes = np.array([cheb.chebval(0.0, cheb.chebder(np.eye(kept), k)) for k in (1, 2, 3)])
    return nodes, np.linalg.inv(cheb.chebvander(nodes, _NODES - 1)), slopes


def derivatives(f: Callable[..., Any], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """First three derivatives at 0 of a function of an array of arguments, (3, …), and their rounding.

    By the polynomial through its values at nodes within ± reach. The highest coefficients are rounding, and measure it.
    """
    nodes, to_coefficients, slopes = _nodes()
    coefficients = np.tensordot(to_coefficients, np.asarray(f(reach * nodes)), 1)
    kept = slopes.shape[1]
    noise = 3 * abs(coefficients[kept:]).max(0)
    scale = (reach ** -np.arange(1.0, 4.0)).reshape(3, *np.ones(coefficients.ndim - 1, int))
    blown_up = abs(slopes).sum(1).reshape(scale.shape)
    return np.tensordot(slopes, coefficients[:kept], 1) * scale, noise * blown_up * scale


def cumulants(block: Block, x: np.ndarray) -> list[Gap]:
    """Mean, variance, third cumulant and covariance of log p(x | θ) against derivatives of the evidence of a row.

    They are those of the block with the row, at weight 1: so the evidence is differentiated at t = 1, where every
    statistic is smooth in the weight.
    """
    c, composite = block.shape[0], block.is_composite
    names = "log_moments, mean", "log_moments, variance", "log_third_cumulant", "log_covariance"
    compared: dict[str, list[Any]] = {name: [] for name in names}  # what is found, what it should be, and its unit

    def compare(name: str, k: int, found: Any, slope: Any, noise: Any) -> None:
        compared[name].append((found, slope[k], abs(slope[k]) + noise[k] / EXACT))

    for i, k in _pairs(len(x), c):
        row = x[i : i + 1]
        slope, noise, after = _at_weight_one(block, row, [k])
        mean, variance = after.log_moments(row)
        compare(names[0], 0, mean[0, k], slope, noise)
        compare(names[1], 1, variance[0, k], slope, noise)
        j = (k + 1) % c
        if composite:  # −log Multinomial(x; θ_k), which learns from the rows of the others
            slope, noise, after = _at_weight_one(block, row, [j], k)
            slope = slope * np.array([-1, 1, -1])
        third, covariance = after.log_third_cumulant(row), after.log_covariance(row)[0]
        if third is not None:
            compare(names[2], 2, third[0, k], slope, noise)
        compare(names[3], 1, covariance[k, k], slope, noise)
        if block.couples_classes and not composite and j != k:
            slope, noise, both = _at_weight_one(block, row, [j, k])
            cov = both.log_covariance(row)[0]
            compare(names[3], 1, cov[[j, k]][:, [j, k]].sum(), slope, noise)
    found = [gap(name, *np.transpose(rows)) for name, rows in compared.items() if rows]
    mean, variance = block.log_moments(x)
    short, third = block.log_cumulants(x), block.log_third_cumulant(x)
    found.append(_shared("log_cumulants, mean", short[0], mean))
    found.append(gap("log_cumulants, variance", short[1], variance, abs(variance)))
    return found if third is None else [*found, gap("log_cumulants, third", short[2], third, abs(third))]


def _at_weight_one(
    block: Block, row: np.ndarray, classes: list[int], piece: int | None = None
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Slopes of the log evidence of a row in its weight, their rounding, and the block with the row."""

    def of_weight(w: float) -> float:
        r = np.zeros((1, block.shape[0]))
        r[0, classes] = w
        evidence = block.log_marginal(block.suffstats(row, r))
        return float(np.sum(evidence if piece is None else evidence[piece]))

    slope, noise = derivatives(lambda t: np.array([of_weight(1 + w) for w in t]), _REACH)
    r = np.zeros((1, block.shape[0]))
    r[0, classes] = 1
    return slope, noise, block.update(block.suffstats(row, r))


# --- the class probabilities ----------------------------------------------------------------------------------------


def class_forms(prior: AbstractClasses, n: np.ndarray, few: np.ndarray, theta: Theta) -> dict[str, list[Gap]]:
    """The same identities for the class probabilities, by the names of the functions above.

    Parameters
    ----------
    prior, n : class weights that the prior is updated with
    few : (m, c) weights of some of the rows among them
    theta : draws (s, c)
    """
    posterior, one = prior.update(n), np.eye(len(n))
    before = posterior.log_prob(theta)
    gains = [posterior.update(e).log_prob(theta) - before + posterior.log_marginal(e) for e in one]
    evidence_of = [posterior.log_marginal(e) for e in one]
    left_out = [prior.update(n - row).log_predictive() for row in few]
    chained = [prior.log_marginal(n + e) - prior.log_marginal(n) for e in one]
    found = {
        "likelihood": [gap("classes, log_prob", theta["log_pi"], np.stack(gains, -1))],
        "predictive": [gap("classes, log_predictive", posterior.log_predictive(), evidence_of)],
        "evidence": [gap("classes, log_marginal", evidence_of, chained, 1 + 1e-6 * abs(prior.log_marginal(n)))],
        "leave_one_out": [gap("classes, log_loo", posterior.log_loo(few), left_out)],
    }
    got: list[Any] = []
    want: list[Any] = []
    unit: list[Any] = []
    for k in range(len(n) if len(n) > 1 else 0):
        j = (k + 1) % len(n)

        def of_weights(t: np.ndarray, both: np.ndarray = one[[j, k]]) -> list[list[Value]]:
            return [[prior.log_marginal(both.sum(0) + w * e) for e in both] for w in t]

        slopes, noises = derivatives(of_weights, _REACH)
        of = [np.asarray(part) for part in prior.update(one[j] + one[k]).log_cumulants()]
        got.append([part[j] - part[k] for part in of])
        want.append(slopes[:, 0] - slopes[:, 1])
        unit.append(abs(want[-1]) + noises.sum(1) / EXACT)
    found["cumulants"] = [gap("classes, log_cumulants", got, want, np.array(unit))] if got else []
    return found
