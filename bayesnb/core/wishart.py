"""The inverse Wishart distribution, and distances under a covariance matrix: what the two full-covariance pages share.

Σ ~ InverseWishart(ν, S) has the density |S|^(ν/2) |Σ|^(−(ν+d+1)/2) exp(−½ tr SΣ⁻¹) / (2^(νd/2) Γ_d(ν/2)), ν > d − 1.
Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, (274) and §9.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array, Float, Tables, Value
from .random import Key, log_gamma, normal, split
from .special import gammaln, log_rising, namespace

LOG_PI = float(np.log(np.pi))
_CELLS = 1 << 17  # of rows at a time: temporaries stay in a core's cache


def half_degrees(nu: Float[Value, "*s"], d: int) -> Float[Array, "*s d"]:
    """(ν − i)/2 for i = 0 … d−1: the arguments of the d gamma functions in Γ_d."""
    return (nu[..., None] - np.arange(d)) / 2


def log_multigamma(nu: Float[Value, "*s"], d: int) -> Float[Value, "*s"]:
    """log Γ_d(ν/2) = ¼ d(d−1) log π + Σ_i log Γ((ν − i)/2), i = 0 … d−1."""
    return d * (d - 1) / 4 * LOG_PI + gammaln(half_degrees(nu, d)).sum(-1)


def log_gain(
    nu: Float[Value, "*s"], n: Float[Value, "*s"], scale: Float[Array, "*s d d"], growth: Float[Array, "*s d d"]
) -> Float[Value, "*s"]:
    """log A(ν + n, S + G) − log A(ν, S) = log Γ_d((ν+n)/2)/Γ_d(ν/2) − ½(ν+n) log |S+G|/|S| − ½n log |S/2|."""
    d = scale.shape[-1]
    level = log_det(scale)
    gamma = log_rising(half_degrees(nu, d), n[..., None] / 2).sum(-1)
    return gamma - 0.5 * ((nu + n) * (log_det(scale + growth) - level) + n * (level - d * np.log(2)))


def log_gain_of_row(nu: Value, level: Value, grown: Value, d: int) -> Value:
    """The same for n = 1, with level = log |S| and grown = log |S+G|/|S|: all but two of the gamma functions cancel."""
    return log_rising((nu - d + 1) / 2, d / 2) - 0.5 * ((nu + 1) * grown + level - d * np.log(2))


def log_det(matrix: Float[Array, "*s d d"]) -> Float[Value, "*s"]:
    """log |M| of a positive definite matrix."""
    return namespace(matrix).linalg.slogdet(matrix)[1]


def whitened(
    x: Float[Array, "n d"], loc: Float[Array, "*s c d"], root: Float[Array, "*s #c d d"]
) -> Float[Array, "*s c n d"]:
    """R_c (x_i − m_c) with R = L⁻¹, S = LLᵀ; a matrix that the classes share meets each row once."""
    centre = loc.mean(-2)[..., None, None, :]
    transposed = root.swapaxes(-1, -2)
    return (x - centre) @ transposed - (loc[..., None, :] - centre) @ transposed


def squares(x: Float[Array, "n d"], loc: Float[Array, "*s c d"], root: Float[Array, "*s #c d d"]) -> Tables:
    """(x_i − m_c)ᵀ S_c⁻¹ (x_i − m_c), on the host some rows at a time."""
    xp = namespace(x, loc, root)

    def of_rows(x: Array) -> Array:
        z = whitened(x, loc, root)
        return xp.einsum("...nd,...nd->...n", z, z).swapaxes(-1, -2)

    if xp is not np:
        return of_rows(x)
    step = max(1, _CELLS // loc.size)
    return np.concatenate([of_rows(x[start : start + step]) for start in range(0, max(1, len(x)), step)], -2)


def inverse_wishart_factors(
    key: Key, nu: Float[Value, "*c"], scale: Float[Array, "*c d d"], shape: tuple[int, ...] = ()
) -> Float[Array, "*s d d"]:
    """Draws of a matrix B with Σ = BBᵀ ~ InverseWishart(ν, S).

    Bartlett's decomposition: Σ⁻¹ = C⁻ᵀ A Aᵀ C⁻¹ with S = CCᵀ and A lower triangular, A_ii² ~ χ²(ν − i), i = 0 … d−1,
    A_ij ~ Normal(0, 1) below the diagonal; so B = C A⁻ᵀ.
    """
    d = scale.shape[-1]
    first, second = split(key, 2)
    diagonal = 0.5 * (log_gamma(first, half_degrees(nu, d), shape) + np.log(2))
    xp = namespace(diagonal)
    below = xp.tril(normal(second, (*diagonal.shape, d)), -1)
    a = below + xp.exp(diagonal)[..., None] * xp.eye(d)
    c = xp.linalg.cholesky(scale)
    return xp.linalg.solve(a, xp.broadcast_to(c.swapaxes(-1, -2), a.shape)).swapaxes(-1, -2)


@dataclass(frozen=True)
class InverseWishartMarginal:
    """Inverse Wishart distribution with the methods of a frozen `scipy.stats` distribution that are used here.

    Its entries off the diagonal have no closed-form marginal, but Bartlett's factors are independent pivots: `cdf`
    gives their uniforms, (…, d(d+1)/2) for matrices (…, d, d).
    """

    nu: np.ndarray
    scale: np.ndarray

    def mean(self) -> np.ndarray:
        """S/(ν − d − 1), infinite where ν ≤ d + 1."""
        d = self.scale.shape[-1]
        excess = np.asarray(self.nu - d - 1)[..., None, None]
        return np.where(excess > 0, self.scale / np.where(excess > 0, excess, 1), np.inf)

    def diagonal(self) -> Any:
        """The variances: Σ_jj ~ InverseGamma((ν − d + 1)/2, scale S_jj/2), a frozen `scipy.stats` object (…, d)."""
        from scipy import stats

        shape = np.asarray(self.nu - self.scale.shape[-1] + 1)[..., None] / 2
        return stats.invgamma(shape, scale=np.diagonal(self.scale, axis1=-2, axis2=-1) / 2)

    def cdf(self, matrix: Array) -> np.ndarray:
        """χ² probabilities of A_ii² and normal probabilities of A_ij, i > j, where AAᵀ = CᵀΣ⁻¹C and S = CCᵀ."""
        from scipy import stats

        d = self.scale.shape[-1]
        sigma = np.asarray(matrix)
        c = np.linalg.cholesky(self.scale)
        root = np.linalg.solve(np.linalg.cholesky(sigma), np.broadcast_to(c, sigma.shape))
        a = np.linalg.cholesky(root.swapaxes(-1, -2) @ root)
        i, j = np.tril_indices(d, -1)
        squares = np.square(np.diagonal(a, axis1=-2, axis2=-1))
        return np.concatenate([stats.chi2.cdf(squares, 2 * half_degrees(self.nu, d)), stats.norm.cdf(a[..., i, j])], -1)
