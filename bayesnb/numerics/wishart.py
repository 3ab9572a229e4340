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
    """How much n rows change the log normaliser of an inverse Wishart density: log A(ν + n, S + G) − log A(ν, S).

    The normaliser of InverseWishart(ν, S) is A = 2^(νd/2) Γ_d(ν/2) |S|^(−ν/2), with Γ_d the multivariate gamma
    function. So the change is log Γ_d((ν+n)/2)/Γ_d(ν/2) − ½(ν+n) log |S+G|/|S| − ½n log |S/2|.

    Parameters
    ----------
    nu, scale : degrees of freedom ν and scale S of the density
    n, growth : what n rows add to them: n, and their cross products G
    """
    d = scale.shape[-1]
    level = log_det(scale)  # log |S|
    gamma = log_rising(half_degrees(nu, d), n[..., None] / 2).sum(-1)  # Γ_d is a product of d gamma functions
    grown = log_det(scale + growth) - level  # log |S+G|/|S|
    return gamma - 0.5 * ((nu + n) * grown + n * (level - d * np.log(2)))  # log |S/2| = log |S| − d log 2


def log_gain_of_row(nu: Value, level: Value, grown: Value, d: int) -> Value:
    """`log_gain` of a single row, n = 1: all but two of the gamma functions cancel.

    Parameters
    ----------
    nu : degrees of freedom ν
    level, grown : log |S|, and log |S+G|/|S|
    d : number of features
    """
    # Γ_d(½(ν+1))/Γ_d(½ν) has the factors Γ(½(ν+1−i)) over Γ(½(ν−i)), i = 0 … d−1. Each numerator but the first cancels
    # the denominator before it; what remains is Γ(½(ν+1))/Γ(½(ν−d+1)), a rising factorial by d/2
    return log_rising((nu - d + 1) / 2, d / 2) - 0.5 * ((nu + 1) * grown + level - d * np.log(2))


def log_det(matrix: Float[Array, "*s d d"]) -> Float[Value, "*s"]:
    """log |M| of a positive definite matrix."""
    return namespace(matrix).linalg.slogdet(matrix)[1]


def whitened(
    x: Float[Array, "n d"], loc: Float[Array, "*s c d"], root: Float[Array, "*s #c d d"]
) -> Float[Array, "*s c n d"]:
    """Rows turned into ones with mean 0 and unit covariance, R_c (x_i − m_c), for each class: (…, c, n, d).

    R = L⁻¹ with S = LLᵀ the covariance of the class. If z = R(x − m), then zᵀz = (x − m)ᵀS⁻¹(x − m). A matrix R that
    the classes share is multiplied with each row only once.

    Parameters
    ----------
    x : rows
    loc : centres m_c
    root : R of each class, or one that they share
    """
    # R x_i − R m_c. Rows and centres are both taken from the mean of the centres, which keeps the digits of their
    # difference.
    centre = loc.mean(-2)[..., None, None, :]  # (…, 1, 1, d)
    transposed = root.swapaxes(-1, -2)  # of row vectors: (R x)ᵀ = xᵀ Rᵀ
    of_rows = (x - centre) @ transposed  # (…, c or 1, n, d)
    of_centres = (loc[..., None, :] - centre) @ transposed  # (…, c, 1, d)
    return of_rows - of_centres


def squares(x: Float[Array, "n d"], loc: Float[Array, "*s c d"], root: Float[Array, "*s #c d d"]) -> Tables:
    """Squared distances of rows to centres under a covariance, (x_i − m_c)ᵀ S_c⁻¹ (x_i − m_c): (…, n, c).

    On the host they are made some rows at a time, so that temporary arrays stay in a core's cache.

    Parameters
    ----------
    x : rows
    loc : centres m_c
    root : L⁻¹ of each class, S = LLᵀ, or one that they share
    """
    xp = namespace(x, loc, root)  # numpy, or jax.numpy for JAX arrays

    def of_rows(x: Array) -> Array:
        z = whitened(x, loc, root)  # L⁻¹(x − m), (…, c, rows, d), whose squared lengths are the distances
        return xp.einsum("...nd,...nd->...n", z, z).swapaxes(-1, -2)  # Σ_d z², (…, c, rows) → (…, rows, c)

    if xp is not np:  # JAX: all rows at once
        return of_rows(x)
    step = max(1, _CELLS // loc.size)
    starts = range(0, max(1, len(x)), step)  # one slice even of no rows
    return np.concatenate([of_rows(x[start : start + step]) for start in starts], -2)


def inverse_wishart_factors(
    key: Key, nu: Float[Value, "*c"], scale: Float[Array, "*c d d"], shape: tuple[int, ...] = ()
) -> Float[Array, "*s d d"]:
    """Draws of a matrix B such that the covariance Σ = BBᵀ is InverseWishart(ν, S), with `shape` in front.

    With S = CCᵀ it is Bartlett's decomposition: Σ⁻¹ = C⁻ᵀ A Aᵀ C⁻¹, where A is lower triangular, and its entries are
    independent: A_ii² ~ χ²(ν − i) for i = 0 … d−1, and A_ij ~ Normal(0, 1) below the diagonal. So B = C A⁻ᵀ.

    Parameters
    ----------
    key : NumPy's generator, or a JAX key
    nu, scale : degrees of freedom ν, and S
    """
    d = scale.shape[-1]
    first, second = split(key, 2)  # independent streams of random numbers

    # log A_ii: χ²(ν − i) is twice a Gamma((ν − i)/2) draw, and `half_degrees` is (ν − i)/2
    log_diagonal = 0.5 * (log_gamma(first, half_degrees(nu, d), shape) + np.log(2))  # (…, d)

    # A: normal entries below the diagonal, A_ii on it, and 0 above
    xp = namespace(log_diagonal)  # numpy, or jax.numpy for JAX arrays
    below = xp.tril(normal(second, (*log_diagonal.shape, d)), -1)  # (…, d, d)
    a = below + xp.exp(log_diagonal)[..., None] * xp.eye(d)

    # B = C A⁻ᵀ = (A⁻¹ Cᵀ)ᵀ
    c = xp.linalg.cholesky(scale)
    c_transposed = xp.broadcast_to(c.swapaxes(-1, -2), a.shape)
    b_transposed = xp.linalg.solve(a, c_transposed)
    return b_transposed.swapaxes(-1, -2)


@dataclass(frozen=True)
class InverseWishartMarginal:
    """Inverse Wishart distribution with the methods of a frozen `scipy.stats` distribution that are used here.

    Its entries off the diagonal have no closed-form marginal, but Bartlett's factors are independent pivots: `cdf`
    gives their uniforms, (…, d(d+1)/2) for matrices (…, d, d).
    """

    nu: np.ndarray
    scale: np.ndarray

    def mean(self) -> np.ndarray:
        """S/(ν − d − 1), (…, d, d); infinite where ν ≤ d + 1."""
        d = self.scale.shape[-1]
        excess = np.asarray(self.nu - d - 1)[..., None, None]
        return np.where(excess > 0, self.scale / np.where(excess > 0, excess, 1), np.inf)

    def diagonal(self) -> Any:
        """The variances: Σ_jj ~ InverseGamma((ν − d + 1)/2, scale S_jj/2), a frozen `scipy.stats` object (…, d)."""
        from scipy import stats

        shape = np.asarray(self.nu - self.scale.shape[-1] + 1)[..., None] / 2
        return stats.invgamma(shape, scale=np.diagonal(self.scale, axis1=-2, axis2=-1) / 2)

    def cdf(self, matrix: Array) -> np.ndarray:
        """Distribution functions of the independent parts of draws Σ ~ InverseWishart(ν, S): (…, d(d+1)/2), in 0 … 1.

        If the draws are from this distribution, these numbers are uniform and independent: so a sampler can be tested.
        Σ⁻¹ is Wishart with ν degrees of freedom and scale S⁻¹. With S = CCᵀ the matrix CᵀΣ⁻¹C is Wishart with unit
        scale. By Bartlett's theorem it is AAᵀ, A lower triangular, with independent entries:

            A_ii² ~ χ²_{ν−i}, i = 0 … d−1,    A_ij ~ Normal(0, 1) below the diagonal, i > j.

        The numbers are the χ² distribution functions of A_ii² and the normal ones of A_ij.

        Parameters
        ----------
        matrix : (…, d, d) draws of Σ
        """
        from scipy import stats

        d = self.scale.shape[-1]
        sigma = np.asarray(matrix)

        # CᵀΣ⁻¹C: with Σ = RRᵀ, Σ⁻¹ = R⁻ᵀR⁻¹, it is QᵀQ with Q = R⁻¹C
        c = np.broadcast_to(np.linalg.cholesky(self.scale), sigma.shape)
        r = np.linalg.cholesky(sigma)
        q = np.linalg.solve(r, c)
        wishart = q.swapaxes(-1, -2) @ q

        # A, and its squared diagonal: d χ² variables with ν − i degrees of freedom
        a = np.linalg.cholesky(wishart)
        squares = np.square(np.diagonal(a, axis1=-2, axis2=-1))  # (…, d)
        of_diagonal = stats.chi2.cdf(squares, 2 * half_degrees(self.nu, d))  # `half_degrees` is (ν − i)/2

        # its normal entries below the diagonal
        i, j = np.tril_indices(d, -1)
        below = stats.norm.cdf(a[..., i, j])  # (…, d(d−1)/2)
        return np.concatenate([of_diagonal, below], -1)
