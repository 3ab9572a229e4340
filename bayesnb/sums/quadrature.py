"""Quadrature over the logarithm of a bandwidth: where its posterior has mass, its mode, its distribution function."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..core.arrays import Array
from ..core.special import namespace

SEARCH = 17  # nodes of each of the two searches for the range of a posterior
NODES = 41  # nodes of the grid itself
MESH = 32  # steps from one node to the next, for distribution functions
DEPTH = 24.0  # nats below its peak where a posterior ends: a mass of 4e-11
NEWTON = 10  # steps from the best node to the mode; five or six reach rounding


def search(f: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Even nodes (g, c, d) over the range where f is less than `DEPTH` below its peak, and f there: two zooms."""
    xp = namespace(low, high)
    for size in (SEARCH, SEARCH, NODES):
        t = low + (high - low) * np.linspace(0, 1, size, dtype=low.dtype)[:, None, None]
        value = f(t)
        near = value > value.max(0) - DEPTH
        first = xp.maximum(near.argmax(0) - 1, 0)
        last = xp.minimum(size - near[::-1].argmax(0), size - 1)
        low, high = (xp.take_along_axis(t, place[None], 0)[0] for place in (first, last))
    return t, value


def climb(slopes: Callable[[Array], tuple[Array, Array]], t: Array, value: Array) -> Array:
    """Where a function with values at nodes t (g, c, d) is largest: Newton's steps from the best node."""
    xp = namespace(t, value)
    best = value.argmax(0)
    low, at, high = (xp.take_along_axis(t, xp.clip(best + k, 0, len(t) - 1)[None], 0)[0] for k in (-1, 0, 1))
    for _ in range(NEWTON):
        first, second = slopes(at)
        low, high = xp.where(first > 0, at, low), xp.where(first < 0, at, high)
        step = xp.clip(at - first / xp.where(second < 0, second, -1), low, high)
        at = xp.where(second < 0, step, (low + high) / 2)
    return at


def peak(table: Array) -> Array:
    """The largest value along the first axis, a constant to gradients: what is scaled by it is scaled back."""
    return table.max(0) if namespace(table) is np else jax.lax.stop_gradient(table).max(0)


def log_sum(table: Array) -> Array:
    """log Σ exp along the first axis, of finite logarithms."""
    xp = namespace(table)
    top = peak(table)
    return top + xp.log(xp.exp(table - top).sum(0))


@functools.cache
def gregory() -> np.ndarray:
    """Weights of an even grid with Gregory's end corrections, sixth order also where the integrand ends abruptly.

    Hildebrand (1974), Introduction to Numerical Analysis, §5.9: ½ − 1/12 − 1/24 − 19/720 − 3/160 = 95/288 at the end.
    """
    weights = np.ones(NODES)
    weights[:5] = weights[-1:-6:-1] = 95 / 288, 317 / 240, 23 / 30, 793 / 720, 157 / 160
    return weights


@functools.cache
def spline() -> np.ndarray:
    """The matrix that takes values at the nodes to those of the cubic spline through them on the mesh."""
    from scipy.interpolate import CubicSpline

    nodes = np.arange(NODES)
    return CubicSpline(nodes, np.eye(NODES))(np.linspace(0, NODES - 1, (NODES - 1) * MESH + 1))


class GridMarginal:
    """Distributions of bandwidths, one a class and feature, from the grid: continuous, piecewise uniform in log h.

    Values and probabilities are (…, c, d), like those of a frozen `scipy.stats` distribution with parameters (c, d).
    """

    def __init__(self, t: np.ndarray, log_weight: np.ndarray, mesh: np.ndarray, cdf: np.ndarray) -> None:
        self._t, self._weight, self._mesh, self._cdf = t, np.exp(log_weight), mesh, cdf

    def _interpolate(self, at: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        at = np.asarray(at, float)
        at = np.broadcast_to(at, np.broadcast_shapes(at.shape, x.shape[1:]))
        result = np.empty(at.shape)
        for k, j in np.ndindex(x.shape[1:]):
            result[..., k, j] = np.interp(at[..., k, j], x[:, k, j], y[:, k, j])
        return result

    def cdf(self, h: Any) -> np.ndarray:
        """Probability of a bandwidth of at most h."""
        return self._interpolate(_log(h), self._mesh, self._cdf)

    def sf(self, h: Any) -> np.ndarray:
        """Probability of a bandwidth above h."""
        return 1 - self.cdf(h)

    def ppf(self, q: Any) -> np.ndarray:
        """Quantile: the bandwidth that is not exceeded with probability q."""
        return np.exp(self._interpolate(q, self._cdf, self._mesh))

    def pdf(self, h: Any) -> np.ndarray:
        """Density with respect to h."""
        t, slope = _log(h), np.diff(self._cdf, axis=0) / np.diff(self._mesh, axis=0)
        inside = (t >= self._mesh[0]) & (t <= self._mesh[-1])
        return np.where(inside, self._interpolate(t, (self._mesh[1:] + self._mesh[:-1]) / 2, slope) / h, 0)

    def mean(self) -> np.ndarray:
        """Mean of h, (c, d)."""
        return (self._weight * np.exp(self._t)).sum(0)

    def var(self) -> np.ndarray:
        """Variance of h, (c, d)."""
        return (self._weight * (np.exp(self._t) - self.mean()) ** 2).sum(0)

    def std(self) -> np.ndarray:
        """Standard deviation of h, (c, d)."""
        return np.sqrt(self.var())

    def median(self) -> np.ndarray:
        """Median of h, (c, d)."""
        return self.ppf(0.5)

    def interval(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """Interval with equal tails."""
        return self.ppf((1 - confidence) / 2), self.ppf((1 + confidence) / 2)


def _log(h: Any) -> Any:
    return np.log(np.maximum(np.asarray(h, float), np.finfo(float).tiny))
