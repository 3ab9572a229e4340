"""Weights, means and centred squares by class and column, about a provisional mean."""

from typing import Any

import numpy as np

from ._compile import FAST, loop

_TOGETHER = 1 << 12  # rows whose sums are added to those of the others: a sum of millions of terms loses digits
_FAR = 16.0  # squares of the correction over what it leaves, from where on it would cost digits


@loop(FAST)
def add_up(X: Any, y: Any, w: Any, shift: Any, n: Any, s: Any, q: Any) -> None:
    """Add w, w z and w z² of the observed cells, z = x − shift of the row's class, to n, s and q (c, d)."""
    rows, d = X.shape
    step = max(_TOGETHER, len(s))
    weight, first, second = np.zeros(s.shape), np.zeros(s.shape), np.zeros(s.shape)
    for start in range(0, rows, step):
        weight[:], first[:], second[:] = 0.0, 0.0, 0.0
        for i in range(start, min(start + step, rows)):
            k, v = np.uint64(y[i]), w[i]
            o, a, b, m, row = weight[k], first[k], second[k], shift[k], X[i]
            for j in range(d):
                z = row[j] - m[j]
                u, z = (v, z) if z == z else (0.0, 0.0)
                o[j] += u
                a[j] += u * z
                b[j] += u * z * z
        n += weight
        s += first
        q += second


def moments(X: np.ndarray, y: np.ndarray, w: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n, mean and centred squares (c, d) of rows with labels y and weights w; not finite where a cell is infinite.

    Sums are taken about the last row of each class, so that equal cells have no rounding. Where it lies so far from the
    mean found that squares about it would lose digits, they are taken once more about that mean.
    """
    last = np.zeros(c, int)
    last[y] = np.arange(len(y))
    shift = np.where(np.isnan(X[last]), 0, X[last].astype(float))
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(2):
            n, s, q = np.zeros((3, *shift.shape))
            add_up(X, y, w, shift, n, s, q)
            drift = s / np.where(n > 0, n, 1)
            ss = q - s * drift
            if not (s * drift > _FAR * ss).any():
                break
            shift = shift + drift
    return n, np.where(n > 0, shift + drift, 0), np.maximum(ss, 0)
