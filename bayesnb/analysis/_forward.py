"""The sequence of sets of forward selection: predictors enter by their average log-likelihood.

The formulas are in `selection`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from ..core.arrays import Float, Int
from ..core.supports import checked_numbers


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
        levels: Int[np.ndarray, " d"],
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

    def log_joint(self, codes: Int[np.ndarray, "d n"], columns: Sequence[int]) -> Float[np.ndarray, "c n"]:
        """log π_k + Σ_j log p_{j x_ij k}, classes first."""
        table = np.repeat(self.log_pi[:, None], codes.shape[1], 1)
        for j in columns:
            table += np.log(self.p[j])[:, codes[j]]
        return table

    def score(self, codes: Int[np.ndarray, "d n"], label: Int[np.ndarray, " n"], columns: Sequence[int]) -> np.ndarray:
        """log p(y_i | x_i) given a set of predictors, (n,)."""
        table = self.log_joint(codes, columns)
        return table[label, np.arange(len(label))] - logsumexp(table, 0)

    def simulate(self, m: int, rng: np.random.Generator) -> Int[np.ndarray, "d m"]:
        """Codes of m rows drawn from the model, cells missing as often as in the rows of the class."""
        pi = np.exp(self.log_pi)
        y = rng.choice(len(pi), size=m, p=pi / pi.sum())
        codes = np.empty((len(self.p), m), int)
        for row, counts, p in zip(codes, self.counts, self.p, strict=True):
            share = counts.sum(1) / np.where(self.class_count > 0, self.class_count, 1)  # of observed cells, by class
            cumulated = np.cumsum(p[:, :-1] * share[:, None], 1)
            row[:] = (rng.random(m)[:, None] >= cumulated[y]).sum(1)
        return codes

    def add_one_by_one(
        self,
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
        held = np.stack([row < p.shape[1] - 1 for row, p in zip(codes, self.p, strict=True)])  # cells not missing
        some = np.logical_or(held[list(start)].any(0), all_rows)

        def divisor(rows: np.ndarray) -> float:
            return float(weight[rows].sum() or 1)  # of no row the sum is 0, whatever divides it

        table, n = self.log_joint(codes, start), self.class_count.sum()
        # Σ_mk N_jmk log p_jmk / N, the part of A(J) that each predictor brings
        part = np.array([(k * np.log(p[:, :-1])).sum() / n for k, p in zip(self.counts, self.p, strict=True)])
        a = self.class_count @ self.log_pi / n + part[list(start)].sum()
        left, fit, order = list(candidates), [], list[int]()
        while True:
            norm = logsumexp(table, 0)
            total, q = weight @ norm, np.exp(table - norm)
            fit.append(a - total / divisor(some))
            if not left or len(order) == steps:
                return order, np.array(fit)
            raised = [weight @ np.log(np.einsum("kn,kn->n", q, self.p[j].take(codes[j], 1))) for j in left]
            b = (total + np.array(raised)) / np.array([divisor(some | held[j]) for j in left])
            j = left.pop(int(np.argmax(part[left] - b)))
            order.append(j)
            a += part[j]
            some |= held[j]
            table += np.log(self.p[j])[:, codes[j]]
