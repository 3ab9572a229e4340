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
    p = (((1 / 6227020800 * r + 1 / 479001600) * r + 1 / 39916800) * r + 1 / 3628800) * r + 1 / 362880
    p = ((((p * r + 1 / 40320) * r + 1 / 5040) * r + 1 / 720) * r + 1 / 120) * r + 1 / 24
    p = (((p * r + 1 / 6) * r + 0.5) * r + 1.0) * r + 1.0
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


@loop()
def densities(u: Any, value: Any, weight: Any, t: Any, w: Any, least: float, reach: float, out: Any) -> None:
    """out_gi = log f(u_i; e^t_g) without weight w_i of the cell at u_i.

    Parameters
    ----------
    value : in ascending order
    least : the share of a weight that is rounding
    reach : only cells whose squared distance in bandwidths is within so much of the nearest cell's are looked at
    out : (g, q), zero on entry and where no cell is left
    """
    m, whole = len(value), weight.sum()
    for i in range(len(u)):
        x, left, near = u[i], 0.0, np.inf
        below = above = np.searchsorted(value, x)  # cells before x, and from the first after x
        if below < m and value[below] == x:
            above += 1
            left = weight[below] - w[i]
            left = left if left > least * weight[below] else 0.0
        if below > 0:
            near = (x - value[below - 1]) ** 2
        if above < m:
            near = min(near, (value[above] - x) ** 2)
        near = 0.0 if left > 0 else near
        if near == np.inf:
            continue
        level = log(whole - w[i]) + _HALF_LOG_2PI
        for g in range(len(t)):
            rate = np.exp(-2 * t[g])
            half = (1 + 1e-12) * np.sqrt(near + reach / rate) + 1e-15 * abs(x)
            begin, end = np.searchsorted(value[:below], x - half), above + np.searchsorted(value[above:], x + half)
            total = left + kernels(x, value[begin:below], weight[begin:below], rate, near)
            total += kernels(x, value[above:end], weight[above:end], rate, near)
            out[g, i] = log(total) - level - 0.5 * rate * near - t[g]
