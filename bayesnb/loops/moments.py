"""Weights, means and centred squares by class and column, about a provisional mean."""

from typing import Any

import numpy as np

from ._compile import FAST, loop

_FIRST = 16  # rows for each class whose means are the provisional ones
_TOGETHER = 1 << 12  # rows whose sums are added to those of the others: a sum of millions of terms loses digits
_FAR = 16.0  # squares of the correction over what it leaves, from where on it would cost digits


@loop(FAST)
def add_up(X: Any, y: Any, w: Any, shift: Any, step: int, n: Any, s: Any, q: Any) -> None:
    """Add w, w z and w z², z = x − shift of the row's class, to n, s and q (c, d), `step` rows at a time."""
    rows, d = X.shape
    weight, first, second = np.zeros(len(s)), np.zeros(s.shape), np.zeros(s.shape)
    for start in range(0, rows, step):
        weight[:], first[:], second[:] = 0.0, 0.0, 0.0
        for i in range(start, min(start + step, rows)):
            k, v = np.uint64(y[i]), w[i]
            a, b, m, x = first[k], second[k], shift[k], X[i]
            weight[k] += v
            for j in range(d):
                z = x[j] - m[j]
                u = v * z
                a[j] += u
                b[j] += u * z
        n += np.expand_dims(weight, 1)
        s += first
        q += second


@loop(FAST)
def add_up_observed(X: Any, y: Any, w: Any, shift: Any, step: int, n: Any, s: Any, q: Any) -> None:
    """The same of rows with missing cells, whose weights are added cell by cell."""
    rows, d = X.shape
    weight, first, second = np.zeros(s.shape), np.zeros(s.shape), np.zeros(s.shape)
    for start in range(0, rows, step):
        weight[:], first[:], second[:] = 0.0, 0.0, 0.0
        for i in range(start, min(start + step, rows)):
            k, v = y[i], w[i]
            o, a, b, m = weight[k], first[k], second[k], shift[k]
            for j in range(d):
                x = np.float64(X[i, j])
                u = v if x == x else 0.0
                z = x - m[j] if x == x else 0.0
                o[j] += u
                a[j] += u * z
                b[j] += u * z * z
        n += weight
        s += first
        q += second


@loop()
def first_rows(y: Any, at: Any) -> None:
    """The first row of each class, −1 where there is none."""
    at[:] = -1
    left = len(at)
    for i in range(len(y)):
        if at[y[i]] < 0:
            at[y[i]] = i
            left -= 1
            if left == 0:
                break


def moments(X: np.ndarray, y: np.ndarray, w: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """n, mean and centred squares (c, d) of rows with labels y and weights w; not finite where a cell is infinite.

    Sums are taken about the mean of the first rows of each class, which is that of equal cells without rounding. Where
    it lies so far from the mean found that squares about it would lose digits, they are taken once more about that.
    """
    d, step = X.shape[1], max(_TOGETHER, _FIRST * c)

    def sums(X: np.ndarray, y: np.ndarray, w: np.ndarray, missing: bool) -> np.ndarray:
        found = np.zeros((3, c, d))
        add = add_up_observed if missing else add_up
        add(X, y, w, shift, step, *found)
        return sums(X, y, w, True) if not missing and np.isnan(found[1]).any() else found

    def divided(s: np.ndarray, n: np.ndarray) -> np.ndarray:
        return s / np.where(n > 0, n, 1)

    at = np.empty(c, np.int64)
    first_rows(y, at)
    with np.errstate(invalid="ignore", over="ignore"):
        first = X[at].astype(float)  # of a class without rows any, which is not used
        missing = np.isnan(first)
        shift = np.where(missing, 0, first)
        few = slice(_FIRST * c)
        n, s, _ = sums(X[few], y[few], np.ones(len(y[few])), True)
        shift += divided(s, n)
        missing = bool(missing.any() or (n != n[:, :1]).any())
        for _ in range(2):
            n, s, q = sums(X, y, w, missing)
            drift = divided(s, n)
            ss = q - s * drift
            if not (s * drift > _FAR * ss).any():
                break
            shift = shift + drift
        return n, np.where(n > 0, shift + drift, 0), np.maximum(ss, 0)
