"""Sums of Gaussian kernels on sorted cells: densities, leave-one-out products, and both without a cell.

A bound of the feature reflects: the kernels around x are those around all its images s x + b, signs s and shifts b, the
first of which is x itself. Distances are multiplied by `inverse`, and a bandwidth is its rate, 1/(h · inverse)². All
exponentials are relative to the nearest cell, at the squared distance `near`; only cells within `reach` of it are
looked at, beyond which all kernels together are lost in rounding.
"""

from math import log
from typing import Any

import numpy as np

from ._compile import FAST, loop
from .gaussian import log1p

_MOST = 1e140  # of a squared distance in bandwidths, so that its square is a number
_FACTORS = 512  # of at least ½ that are multiplied before a logarithm


@loop({"contract"})  # in any other order what is lost would be lost
def exp(x: Any) -> Any:
    """eˣ for |x| < 700, in operations that can be done on several numbers at once; error below 1 ulp or so.

    With x = n log 2 + r, |r| ≤ ½ log 2: 2ⁿ times Taylor's polynomial of r, whose remainder is r¹⁴/14! < 5e-18.
    """
    x = x if x > -700.0 else -700.0
    x = x if x < 0.0 else 0.0
    whole = x * 1.4426950408889634 + 6755399441055744.0  # 1.5 · 2⁵²: the last bits hold n
    n = whole - 6755399441055744.0
    r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    p = 1 / 6227020800
    p = p * r + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((np.float64(whole).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)
    return p * power


@loop(FAST)
def distance(x: float, v: float, inverse: float) -> float:
    """(x − v)² · inverse², held where it is a number."""
    z = (x - v) * inverse
    z = z if abs(z) < 1e145 else 1e145
    return z * z


@loop(FAST)
def kernels(x: float, value: Any, weight: Any, inverse: float, rate: float, near: float) -> float:
    """Σ_k w_k exp(−½ rate ((x − v_k)² · inverse² − near))."""
    total = 0.0
    for k in range(len(value)):
        total += weight[k] * exp(-0.5 * rate * (distance(x, value[k], inverse) - near))
    return total


@loop()
def window(x: float, value: Any, half: float, begin: int, end: int) -> tuple[int, int]:
    """The cells between x − half and x + half, looked for from a window nearby."""
    m = len(value)
    half += 1e-12 * half + 1e-15 * abs(x)  # rounding
    low, high = x - half, x + half
    while begin > 0 and value[begin - 1] >= low:
        begin -= 1
    while begin < m and value[begin] < low:
        begin += 1
    end = max(end, begin)
    while end < m and value[end] <= high:
        end += 1
    while end > begin and value[end - 1] > high:
        end -= 1
    return begin, end


@loop()
def nearest_others(value: Any, spare: Any, inverse: float, out: Any) -> None:
    """Squared distance of each cell to its nearest other one; 0 where some of its own weight is left to predict it."""
    m = len(value)
    for i in range(m):
        near = np.inf
        if i > 0:
            near = distance(value[i], value[i - 1], inverse)
        if i < m - 1:
            near = min(near, distance(value[i], value[i + 1], inverse))
        out[i] = 0.0 if spare[i] > 0 else near


@loop()
def densities(
    u: Any, value: Any, weight: Any, skipped: Any, inverse: float, rates: Any, reach: float, signs: Any, shifts: Any,
    out: Any,
) -> None:  # fmt: skip
    """out_gi = log Σ_k w_k K(u_i, v_k) without the cell skipped_i, −1 for none; u in ascending order."""
    m, e = len(value), len(signs)
    near = np.empty(len(u))
    k = 0
    for i in range(len(u)):
        while k < m - 1 and value[k + 1] <= u[i]:
            k += 1
        near[i] = np.inf
        for other in range(max(k - 1, 0), min(k + 2, m)):
            if other != skipped[i]:
                near[i] = min(near[i], distance(u[i], value[other], inverse))
    begin, end = np.zeros(e, np.int64), np.zeros(e, np.int64)
    for g in range(len(rates)):
        rate = rates[g]
        for i in range(len(u)):
            if near[i] == np.inf:
                out[g, i] = -np.inf
                continue
            half, total, skip = np.sqrt(near[i] + reach / rate) / inverse, 0.0, skipped[i]
            for s in range(e):
                x = signs[s] * u[i] + shifts[s]
                begin[s], end[s] = window(x, value, half, begin[s], end[s])
                cut = min(max(skip, begin[s]), end[s]) if skip >= 0 else end[s]
                below, above = slice(begin[s], cut), slice(max(cut, skip + 1), end[s])
                total += kernels(x, value[below], weight[below], inverse, rate, near[i])
                if skip >= 0:
                    total += kernels(x, value[above], weight[above], inverse, rate, near[i])
            out[g, i] = log(total) - 0.5 * rate * near[i]


@loop()
def products(
    value: Any, weight: Any, own: Any, spare: Any, mass: Any, inverse: float, rates: Any, reach: float, signs: Any,
    shifts: Any, order: int, out: Any,
) -> None:  # fmt: skip
    """out_0g = Σ_i own_i log(Σ_k w_k K_ik / mass_i), w_i there being spare_i; two derivatives by log h if `order`."""
    m, e = len(value), len(signs)
    near = np.empty(m)
    nearest_others(value, spare, inverse, near)
    begin, end = np.zeros(e, np.int64), np.zeros(e, np.int64)
    for g in range(len(rates)):
        rate = rates[g]
        for i in range(m):
            if own[i] <= 0:
                continue
            half = np.sqrt(near[i] + reach / rate) / inverse
            total = first = second = 0.0
            for s in range(e):
                x = signs[s] * value[i] + shifts[s]
                begin[s], end[s] = window(x, value, half, begin[s], end[s])
                middle = min(max(i, begin[s]), end[s])
                below, above = slice(begin[s], middle), slice(max(middle, i + 1), end[s])
                squared = distance(x, value[i], inverse)
                kernel = spare[i] * np.exp(-0.5 * rate * squared) if spare[i] > 0 else 0.0
                if order == 0:
                    total += kernel + kernels(x, value[below], weight[below], inverse, rate, near[i])
                    total += kernels(x, value[above], weight[above], inverse, rate, near[i])
                    continue
                total, first, second = (
                    total + kernel,
                    first + kernel * rate * squared,
                    second + kernel * rate**2 * squared**2,
                )
                for cells in (below, above):
                    zero, one, two = moments(x, value[cells], weight[cells], inverse, rate, near[i])
                    total, first, second = total + zero, first + one, second + two
            out[0, g] += own[i] * (log(total / mass[i]) - 0.5 * rate * near[i])
            if order > 0:
                first, second = first / total, second / total
                out[1, g] += own[i] * first
                out[2, g] += own[i] * (second - first * first - 2 * first)


@loop(FAST)
def moments(x: float, value: Any, weight: Any, inverse: float, rate: float, near: float) -> tuple[float, float, float]:
    """Sums of weighted kernels, times a and times a², a the squared distance in bandwidths."""
    total = first = second = 0.0
    for k in range(len(value)):
        squared = distance(x, value[k], inverse)
        a = rate * squared if rate * squared < _MOST else _MOST
        kernel = weight[k] * exp(-0.5 * rate * (squared - near))
        total += kernel
        first += kernel * a
        second += kernel * a * a
    return total, first, second


@loop(FAST)
def shares(kernel: Any, w: Any, inverse: float, own: float, plain: bool, out: Any) -> None:
    """own log(1 − w_q K_q/T) added to out_q, or where own is one the factor alone multiplied to it."""
    if plain:
        for q in range(len(w)):
            out[q] *= 1.0 - w[q] * kernel[q] * inverse
    else:
        for q in range(len(w)):
            out[q] += own * log1p(-w[q] * kernel[q] * inverse)


@loop()
def products_without(
    value: Any, weight: Any, spare: Any, inverse: float, rates: Any, reach: float, signs: Any, shifts: Any,
    at: Any, w: Any, left: Any, first: Any, plain: bool, own: Any, out: Any, around: Any,
) -> None:  # fmt: skip
    """out_gq = Σ_i w_i log(Σ_k w_k K_ik) without weight w_q of cell at_q, over all other cells i; w_i there is spare_i.

    A cell that is more than half of a sum is not subtracted from it: the others are summed again.

    Parameters
    ----------
    at, w, left : (q,) in the order of the cells; `first` (m + 1,) says where those of each cell begin
    plain : whether all weights are one
    own : (g, m) the kernels of the images of each cell around itself
    around : (g, m) receives the logarithm of the kernels of all other cells around each
    """
    m, e = len(value), len(signs)
    near = np.empty(m)
    nearest_others(value, np.zeros(m), inverse, near)
    begin, end = np.zeros(e, np.int64), np.zeros(e, np.int64)
    kernel, terms, factor = np.zeros(m), np.empty(m), np.empty(len(at))
    for g in range(len(rates)):
        rate = rates[g]
        factor[:] = 1.0 if plain else 0.0
        for i in range(m):
            half, low, high = np.sqrt(near[i] + reach / rate) / inverse, i, i
            for s in range(e):
                x = signs[s] * value[i] + shifts[s]
                begin[s], end[s] = window(x, value, half, begin[s], end[s])
                cells = slice(begin[s], end[s])
                if end[s] > begin[s]:
                    low, high = min(low, begin[s]), max(high, end[s])
                    put(x, value[cells], inverse, rate, near[i], kernel[cells])
            kernel[i] = 0.0
            total, squares = summed(kernel[low:high], weight[low:high])
            log_t = around[g, i] = log(total) - 0.5 * rate * near[i]
            if spare[i] > 0:  # the larger one first: none of them overflows
                mine = log(spare[i] * own[g, i])
                log_t = max(mine, log_t) + np.log1p(np.exp(-abs(mine - log_t)))
                total *= np.exp(log_t - around[g, i]) if log_t - around[g, i] < 700 else np.inf
            terms[i] = weight[i] * log_t
            if squares > 0.25 * total * total:
                b = low
                while b < high - 1 and kernel[b] * weight[b] <= 0.5 * total:
                    b += 1
                if kernel[b] * weight[b] > 0.5 * total:
                    for q in range(first[b], first[b + 1]):
                        args = value, weight, inverse, rate, signs, shifts
                        rest = log_others(i, b, left[q], spare[i] * own[g, i], *args)
                        out[g, q] += weight[i] * (rest - log_t) if rest > -np.inf else 0.0  # nothing left predicts it
                    kernel[b] = 0.0
            here = slice(first[low], first[high])
            taken = kernel[low:high] if len(at) == m else kernel[at[here]]
            shares(taken, w[here], 1 / total, weight[i], plain, factor[here])
            kernel[low:high] = 0.0
            if plain and (i % _FACTORS == _FACTORS - 1 or i == m - 1):
                out[g] += np.log(factor)
                factor[:] = 1.0
        if not plain:
            out[g] += factor
        for step in (1, -1):  # the terms of all cells before and behind, without a subtraction
            total = 0.0
            for k in range(m):
                i = k if step > 0 else m - 1 - k
                out[g, first[i] : first[i + 1]] += total
                total += terms[i]


@loop(FAST)
def put(x: float, value: Any, inverse: float, rate: float, near: float, out: Any) -> None:
    """Kernels around x relative to `near`, added to what is there."""
    for k in range(len(value)):
        out[k] += exp(-0.5 * rate * (distance(x, value[k], inverse) - near))


@loop(FAST)
def summed(kernel: Any, weight: Any) -> tuple[float, float]:
    """Sum of weighted kernels, and of their squares."""
    total = squares = 0.0
    for k in range(len(kernel)):
        term = kernel[k] * weight[k]
        total += term
        squares += term * term
    return total, squares


@loop()
def log_others(
    i: int, b: int, left: float, spare: float, value: Any, weight: Any, inverse: float, rate: float, signs: Any,
    shifts: Any,
) -> float:  # fmt: skip
    """Log of the kernels around cell i without it and most of cell b; −∞ where no other has any weight."""
    others = weight.copy()
    others[i], others[b] = 0.0, left
    near = 0.0 if spare > 0 else np.inf
    for k in range(len(value)):
        if others[k] > 0:
            near = min(near, distance(value[i], value[k], inverse))
    if near == np.inf:
        return -np.inf
    total = spare
    for s in range(len(signs)):
        x = signs[s] * value[i] + shifts[s]
        for k in range(len(value)):
            if others[k] > 0:
                total += others[k] * np.exp(-0.5 * rate * (distance(x, value[k], inverse) - near))
    return log(total) - 0.5 * rate * near
