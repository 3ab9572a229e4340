"""The sequence of sets of forward selection: predictors enter by their average log-likelihood.

The formulas are in `selection`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Bool, Float, Int
from ..core.supports import checked_numbers
from ..sums.rows import batches

_CELLS = 1 << 16  # cells of a class table worked on at a time: half a MiB, inside a core's cache


@dataclass(frozen=True)
class SmoothedModel:
    """The model of all predictors, of which that of each set is a part.

    Fields
    ------
    log_pi : (c,)
    p : by predictor, (c, M_j + 1)     p_jmk, and 1 for a missing cell
    weight : (d,)                      Σ_mk N_jmk log p_jmk / N, the predictor's part of A(J)
    prior_weight                       Σ_k N_k log π_k / N, the part of the classes
    """

    log_pi: np.ndarray
    p: list[np.ndarray]
    weight: np.ndarray
    prior_weight: float


def log_joint(model: SmoothedModel, codes: Int[np.ndarray, "d n"], columns: Sequence[int]) -> Float[np.ndarray, "c n"]:
    """log π_k + Σ_j log p_{j x_ij k}, classes first."""
    table = np.repeat(model.log_pi[:, None], codes.shape[1], 1)
    for j in columns:
        table += np.log(model.p[j])[:, codes[j]]
    return table


def _log_sum(table: Float[np.ndarray, "c n"]) -> Float[np.ndarray, " n"]:
    """log Σ_k exp t_k: the logarithm of the normaliser."""
    top = table.max(0)
    return top + np.log(np.exp(table - top).sum(0))


def _score_candidates(
    model: SmoothedModel,
    codes: Int[np.ndarray, "d n"],
    weight: Float[np.ndarray, " n"],
    table: Float[np.ndarray, "c n"],
    columns: Sequence[int],
) -> tuple[float, Float[np.ndarray, " m"]]:
    """Σ_i w_i log Σ_k exp t_ik of the set behind the joint table, and how much each of the columns would raise it."""
    c, n = table.shape
    total, raised = 0.0, np.zeros(len(columns))
    for some in batches(n, max(1, _CELLS // c)):
        part, w = table[:, some], weight[some]
        norm = _log_sum(part)
        total += w @ norm
        q = np.exp(part - norm)
        for i, j in enumerate(columns):
            cell = codes[j, some]
            mean = q[0] * model.p[j][0].take(cell)
            for k in range(1, c):
                mean += q[k] * model.p[j][k].take(cell)
            raised[i] += w @ np.log(mean)
    return total, raised


def add_one_by_one(
    model: SmoothedModel,
    codes: Int[np.ndarray, "d n"],
    weight: Float[np.ndarray, " n"],
    start: Sequence[int],
    candidates: Sequence[int],
    steps: int,
    all_rows: bool,
) -> tuple[list[int], Float[np.ndarray, " s"]]:
    """Predictors in the order of their entry, and l̄(J) of the initial set and of each that follows.

    Parameters
    ----------
    all_rows : whether N divides B(J); else N′, the weight of the rows with some predictor of J
    """
    held = [codes[j] < model.p[j].shape[1] - 1 for j in range(len(codes))]  # cells that are not missing
    n, some = weight.sum(), np.zeros(codes.shape[1], bool)
    for j in start:
        some |= held[j]

    def divisor(rows: Bool[np.ndarray, " n"]) -> float:
        return float(n if all_rows else weight[rows].sum() or 1)  # of no row the sum is 0, whatever divides it

    table = log_joint(model, codes, start)
    a = model.prior_weight + model.weight[list(start)].sum()
    left, fit = list(candidates), []
    order: list[int] = []
    while True:
        going = left if len(order) < steps else []
        total, raised = _score_candidates(model, codes, weight, table, going)
        fit.append(a - total / divisor(some))
        if not going:
            return order, np.array(fit)
        b = (total + raised) / np.array([divisor(some | held[j]) for j in left])
        j = left.pop(int(np.argmax(model.weight[left] - b)))
        order.append(j)
        a += model.weight[j]
        some |= held[j]
        table += np.log(model.p[j])[:, codes[j]]


def held_out_fit(
    model: SmoothedModel,
    codes: Int[np.ndarray, "d n"],
    label: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    start: Sequence[int],
    order: list[int],
) -> Float[np.ndarray, " s"]:
    """l̄(J) of each set of the sequence on other rows."""
    table = log_joint(model, codes, start)
    fit = []
    for j in [None, *order]:
        if j is not None:
            table += np.log(model.p[j])[:, codes[j]]
        fit.append(np.average(table[label, np.arange(len(label))] - _log_sum(table), weights=weight))
    return np.array(fit)


def simulate(
    model: SmoothedModel,
    cells: list[np.ndarray],
    class_count: Float[np.ndarray, " c"],
    m: int,
    rng: np.random.Generator,
) -> Int[np.ndarray, "d m"]:
    """Codes of m rows drawn from the model of all predictors, cells missing as often as in the rows of the class."""
    pi = np.exp(model.log_pi)
    y = rng.choice(len(pi), size=m, p=pi / pi.sum())
    codes = np.empty((len(cells), m), np.int32)
    for j, counts in enumerate(cells):
        share = counts.sum(1) / np.where(class_count > 0, class_count, 1)  # of observed cells, by class
        p = np.concatenate([model.p[j][:, :-1] * share[:, None], (1 - share)[:, None]], 1)
        codes[j] = (rng.random(m)[:, None] >= np.cumsum(p, 1)[y, :-1]).sum(1)
    return codes


def smoothed(
    class_count: Float[np.ndarray, " c"], cells: list[np.ndarray], alpha: Any, class_alpha: Any
) -> SmoothedModel:
    """The probabilities of all classes and cells from their counts: λ is `class_alpha`, f is `alpha`."""
    lam, n = checked_numbers("class_alpha", class_alpha, (len(class_count),)), class_count.sum()
    log_pi = np.log(class_count + lam) - np.log(n + lam.sum())
    p, weight = [], []
    for counts, f in zip(cells, checked_numbers("alpha", alpha, (len(cells),)), strict=True):
        share = (counts + f) / (counts.sum(1, keepdims=True) + counts.shape[1] * f)
        p.append(np.concatenate([share, np.ones((len(share), 1))], 1))
        weight.append((counts * np.log(share)).sum() / n)
    return SmoothedModel(log_pi, p, np.array(weight), float(class_count @ log_pi / n))
