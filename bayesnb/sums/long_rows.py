"""What `sums.long_counts` needs; both go together."""

import numpy as np

from ..core.arrays import Array
from ..core.special import gammaln

_STIRLING = 8.0
_NEAR = 0.1  # relative distance within which the deviance is a series
_TERMS = 9  # of it: 0.1^18 is below the last digit
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_SPLIT = 134217729.0  # 2²⁷ + 1


def stirling_rest(z: Array) -> Array:
    """log Γ(z) − z log z + z = ½ log(2π/z) + δ(z): by Stirling's series from 8 on, and as it stands below."""
    z = np.asarray(z, float)
    large = np.maximum(z, _STIRLING)
    w = (1 / large) ** 2
    series = 1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156)))))
    found = _HALF_LOG_2PI - 0.5 * np.log(large) + series / large
    small = z < _STIRLING
    if small.any():
        few = z[small]
        found[small] = gammaln(few) - few * np.log(few) + few
    return found


def deviance(x: Array, s: Array, share: Array, gap: Array) -> Array:
    """x log(x/m) + m − x for positive x and m = s · share; their difference x − m is given with all its digits."""
    m = s * share
    v = gap / (x + m)
    square = v * v
    found = 1 / (2 * _TERMS + 1) * square
    for j in range(_TERMS - 1, 0, -1):
        found += 1 / (2 * j + 1)
        found *= square
    found *= 2 * x * v
    found += gap * v
    far = np.flatnonzero(abs(v) >= _NEAR)
    if far.size:
        with np.errstate(under="ignore", over="ignore", divide="ignore"):
            ratio = np.log(x[far] / m[far])
        gone = ~np.isfinite(ratio)  # the ratio, or m, is beyond the range of floats
        least = np.maximum(share[far], np.finfo(float).smallest_subnormal)
        ratio[gone] = (np.log(x[far]) - np.log(s[far]) - np.log(least))[gone]
        found[far] = x[far] * ratio - gap[far]
    return found


def exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a · b as the sum of two numbers, without any error while neither overflows nor underflows."""
    product = a * b
    a_high, b_high = _SPLIT * a, _SPLIT * b
    a_high = a_high - (a_high - a)
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
