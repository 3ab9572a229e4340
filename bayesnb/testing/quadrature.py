"""Integrals of densities between given edges, to rounding, wherever the densities have kinks or jumps."""

from collections.abc import Callable

import numpy as np

from .cases import C

_ROUNDS = 60  # of halving: an interval of length one is then as short as rounding
_MOST = 256  # intervals that are halved in one round


def integrals(
    density: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, enough: float
) -> tuple[np.ndarray, float]:
    """∫ between neighbours of e + 1 edges, (e, c), of a density (m,) → (m, c); and the error of what did not converge.

    An interval is halved until the rule with every other node differs by less than `enough`: about a kink, again and
    again. One end of an interval may be infinite.
    """
    low, high, part = edges[:-1], edges[1:], np.arange(len(edges) - 1)
    total = np.zeros((len(part), C))
    for left in reversed(range(_ROUNDS)):
        x, weight = (np.stack(both) for both in zip(*map(nodes, low, high), strict=True))
        cells = weight[..., None] * density(x.ravel()).reshape(*x.shape, C)
        found = cells.sum(1)
        error = abs(found - 2 * cells[:, ::2].sum(1)).max(1)
        off = ~(error < enough)  # NaN, too
        halved = off & (left > 0) & (off.sum() <= _MOST)
        np.add.at(total, part[~halved], found[~halved])
        if not halved.any():
            break
        low, high, part = low[halved], high[halved], part[halved]
        middle = np.array(list(map(_middle, low, high)))
        low, high, part = np.append(low, middle), np.append(middle, high), np.append(part, part)
    return total, float(error[off].sum())


def _middle(a: float, b: float) -> float:
    """The middle of an interval; where one end is infinite, twice as far out as the other."""
    if np.isfinite(a) and np.isfinite(b):
        return (a + b) / 2
    return a + max(1, abs(a)) if np.isfinite(a) else b - max(1, abs(b))


def nodes(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the double exponential rule from a to b, one of which may be infinite.

    Takahasi & Mori (1974), Publ. RIMS 9: the trapezoidal rule in t, with x = tanh(½π sinh t) on (−1, 1) and
    exp(½π sinh t) on (0, ∞). It does not mind tails that fall like a power.
    """
    t, step = np.linspace(-5, 5, 321, retstep=True)
    u, slope = np.pi / 2 * np.sinh(t), step * np.pi / 2 * np.cosh(t)
    if np.isfinite(a) and np.isfinite(b):
        return (a + b) / 2 + (b - a) / 2 * np.tanh(u), (b - a) / 2 * slope / np.cosh(u) ** 2
    return (a + np.exp(u) if np.isfinite(a) else b - np.exp(u)), slope * np.exp(u)
