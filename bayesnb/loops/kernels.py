"""Sums of Gaussian kernels on sorted cells: log densities with or without the cell at which they are taken.

All exponentials are relative to the nearest cell, at the squared distance `near`. Only cells within `reach` of it are
looked at; beyond, all kernels together are lost in rounding.
"""

from math import log
from typing import Any

import numpy as np

from ._compile import FAST, loop

_HALF_LOG_2PI = 0.5 * log(2 * np.pi)


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
def kernels(x: float, value: Any, weight: Any, rate: float, near: float) -> float:
    """Σ_k w_k exp(−½ rate ((x − v_k)² − near))."""
    total = 0.0
    for k in range(len(value)):
        z = x - value[k]
        total += weight[k] * exp(-0.5 * rate * (z * z - near))
    return total


@loop(FAST)
def moments(x: float, value: Any, weight: Any, rate: float, near: float) -> tuple[float, float, float]:
    """Sums of weighted kernels, times a and times a², a the squared distance in bandwidths."""
    total = first = second = 0.0
    for k in range(len(value)):
        z = x - value[k]
        a = rate * z * z
        kernel = weight[k] * exp(-0.5 * (a - rate * near))
        total += kernel
        first += kernel * a
        second += kernel * a * a
    return total, first, second


@loop()
def densities(
    u: Any, value: Any, weight: Any, t: Any, w: Any, least: float, reach: float, out: Any
) -> None:  # fmt: skip
    """out_ogi = log f(u_i; e^t_g) without weight w_i of the cell at u_i, and derivatives by t; u and v ascending.

    Parameters
    ----------
    least : the share of a weight that is rounding
    reach : only cells whose squared distance in bandwidths is within so much of the nearest cell's are looked at
    out : (1 + order, g, q), zero on entry and where no cell is left
    """
    m, n, whole = len(value), len(u), weight.sum()
    below, above = np.empty(n, np.int64), np.empty(n, np.int64)  # cells before u, and from the first after u
    left, near = np.zeros(n), np.empty(n)
    k = 0
    for i in range(n):
        while k < m and value[k] < u[i]:
            k += 1
        below[i] = above[i] = k
        near[i] = np.inf
        if k < m and value[k] == u[i]:
            above[i] = k + 1
            rest = weight[k] - w[i]
            left[i] = rest if rest > least * weight[k] else 0.0
        if below[i] > 0:
            near[i] = (u[i] - value[below[i] - 1]) ** 2
        if above[i] < m:
            near[i] = min(near[i], (value[above[i]] - u[i]) ** 2)
        near[i] = 0.0 if left[i] > 0 else near[i]
    for g in range(len(t)):
        rate = np.exp(-2 * t[g])
        begin = end = 0
        for i in range(n):
            if near[i] == np.inf:
                continue
            half = (1 + 1e-12) * np.sqrt(near[i] + reach / rate) + 1e-15 * abs(u[i])
            while begin > 0 and value[begin - 1] >= u[i] - half:
                begin -= 1
            while begin < below[i] and value[begin] < u[i] - half:
                begin += 1
            end = max(end, above[i])
            while end < m and value[end] <= u[i] + half:
                end += 1
            while end > above[i] and value[end - 1] > u[i] + half:
                end -= 1
            before, after = slice(begin, below[i]), slice(above[i], end)
            level = log(whole - w[i]) + 0.5 * rate * near[i] + t[g] + _HALF_LOG_2PI
            if len(out) == 1:
                total = left[i] + kernels(u[i], value[before], weight[before], rate, near[i])
                total += kernels(u[i], value[after], weight[after], rate, near[i])
                out[0, g, i] = log(total) - level
                continue
            zero, one, two = moments(u[i], value[before], weight[before], rate, near[i])
            more, more_one, more_two = moments(u[i], value[after], weight[after], rate, near[i])
            total = left[i] + zero + more
            first = (one + more_one) / total
            out[0, g, i], out[1, g, i] = log(total) - level, first - 1
            if len(out) > 2:
                out[2, g, i] = (two + more_two) / total - first * first - 2 * first
