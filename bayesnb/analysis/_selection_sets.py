"""The sequence of sets of forward selection: predictors enter by their average log-likelihood.

The formulas are in `selection`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import gen_batches

from ..core.arrays import Float, Int
from ..core.supports import checked_numbers

_CELLS = 1 << 16  # cells of a class table worked on at a time: half a MiB, inside a core's cache


@dataclass(frozen=True)
class SmoothedModel:
    """The model of all predictors, of which that of each set is a part.

    Fields
    ------
    class_count, log_pi : (c,)
    counts, p : by predictor, (c, M_j) and (c, M_j + 1)     N_jmk, and p_jmk with 1 for a missing cell
    alpha, class_alpha : (d,) and (c,)                      f and λ
    """

    class_count: np.ndarray
    log_pi: np.ndarray
    counts: list[np.ndarray]
    p: list[np.ndarray]
    alpha: np.ndarray
    class_alpha: np.ndarray

    @classmethod
    def of(
        cls,
        codes: Int[np.ndarray, "d n"],
        label: Int[np.ndarray, " n"],
        weight: Float[np.ndarray, " n"],
        levels: list[int],
        c: int,
        alpha: Any,
        class_alpha: Any,
    ) -> Self:
        """The model of rows; code M_j is a missing cell of a predictor with M_j levels, and None is 1/N."""
        n = weight.sum()
        f = checked_numbers("alpha", 1 / n if alpha is None else alpha, (len(codes),))
        lam = checked_numbers("class_alpha", 1 / n if class_alpha is None else class_alpha, (c,))
        class_count, counts, p = np.bincount(label, weight, c), [], []
        for row, m, pseudo in zip(codes, levels, f, strict=True):
            found = np.bincount(label * (m + 1) + row, weight, c * (m + 1)).reshape(c, m + 1)[:, :m]
            share = (found + pseudo) / (found.sum(1, keepdims=True) + m * pseudo)
            counts.append(found)
            p.append(np.concatenate([share, np.ones((c, 1))], 1))
        return cls(class_count, np.log(class_count + lam) - np.log(n + lam.sum()), counts, p, f, lam)

    def part(self, j: int) -> float:
        """Σ_mk N_jmk log p_jmk / N, the predictor's part of A(J)."""
        return float((self.counts[j] * np.log(self.p[j][:, :-1])).sum() / self.class_count.sum())

    def log_joint(self, codes: Int[np.ndarray, "d n"], columns: Sequence[int]) -> Float[np.ndarray, "c n"]:
        """log π_k + Σ_j log p_{j x_ij k}, classes first."""
        table = np.repeat(self.log_pi[:, None], codes.shape[1], 1)
        for j in columns:
            table += np.log(self.p[j])[:, codes[j]]
        return table


def _score_candidates(
    model: SmoothedModel,
    codes: Int[np.ndarray, "d n"],
    weight: Float[np.ndarray, " n"],
    table: Float[np.ndarray, "c n"],
    columns: Sequence[int],
) -> tuple[float, Float[np.ndarray, " m"]]:
    """Σ_i w_i log Σ_k exp t_ik of the set behind the joint table, and how much each of the columns would raise it."""
    total, raised = 0.0, np.zeros(len(columns))
    for some in gen_batches(table.shape[1], max(1, _CELLS // len(table))):
        norm, w = logsumexp(table[:, some], 0), weight[some]
        total += w @ norm
        q = np.exp(table[:, some] - norm)
        for i, j in enumerate(columns):
            raised[i] += w @ np.log(np.einsum("kn,kn->n", q, model.p[j].take(codes[j, some], 1)))
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
    held = np.stack([row < p.shape[1] - 1 for row, p in zip(codes, model.p, strict=True)])  # cells not missing
    some = np.logical_or(held[list(start)].any(0), all_rows)

    def divisor(rows: np.ndarray) -> float:
        return float(weight[rows].sum() or 1)  # of no row the sum is 0, whatever divides it

    table = model.log_joint(codes, start)
    part = np.array([model.part(j) for j in range(len(codes))])
    a = model.class_count @ model.log_pi / model.class_count.sum() + part[list(start)].sum()
    left, fit = list(candidates), []
    order: list[int] = []
    while True:
        going = left if len(order) < steps else []
        total, raised = _score_candidates(model, codes, weight, table, going)
        fit.append(a - total / divisor(some))
        if not going:
            return order, np.array(fit)
        b = (total + raised) / np.array([divisor(some | held[j]) for j in left])
        j = left.pop(int(np.argmax(part[left] - b)))
        order.append(j)
        a += part[j]
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
    table = model.log_joint(codes, start)
    fit = []
    for j in [None, *order]:
        if j is not None:
            table += np.log(model.p[j])[:, codes[j]]
        fit.append(np.average(table[label, np.arange(len(label))] - logsumexp(table, 0), weights=weight))
    return np.array(fit)


def simulate(model: SmoothedModel, m: int, rng: np.random.Generator) -> Int[np.ndarray, "d m"]:
    """Codes of m rows drawn from the model of all predictors, cells missing as often as in the rows of the class."""
    pi = np.exp(model.log_pi)
    y = rng.choice(len(pi), size=m, p=pi / pi.sum())
    codes = np.empty((len(model.p), m), int)
    for row, counts, p in zip(codes, model.counts, model.p, strict=True):
        share = counts.sum(1) / np.where(model.class_count > 0, model.class_count, 1)  # of observed cells, by class
        cumulated = np.cumsum(p[:, :-1] * share[:, None], 1)
        row[:] = (rng.random(m)[:, None] >= cumulated[y]).sum(1)
    return codes
