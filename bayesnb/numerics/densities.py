"""What the pages of the families say by a name of NumPyro: the priors of parameters, and draws of cells.

A parameter is held in the basis in which it keeps its digits: a probability as its logit, a rate and a share as its
logarithm. `log_` or `logit_` in front of a site's name says which. At a concentration of 1e-8 a draw itself would be 0.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaln, gammainc

from .arrays import Array, Value
from .random import categorical, inverse_gamma, log_dirichlet, log_gamma, normal
from .sites import TO_SITE
from .special import LOG_2PI, gammaln, log_beta, log_floor, log_shares, namespace


class Prior(NamedTuple):
    """The density of one parameter, with NumPyro's parametrisation.

    Fields
    ------
    basis : the prefix of its site
    arguments : NumPyro's names of its arguments
    flat : the arguments at which the density is flat
    draw : key, shape and arguments → draws in the basis
    kernel : value in the basis and arguments → log density with respect to the parameter itself, plus log_normalizer
    log_normalizer, mean, marginal : arguments → number, value in the basis, frozen `scipy.stats` object
    peak : the arguments less the flat ones, and the value where there is no peak inside → mode in the basis
    """

    basis: str
    arguments: tuple[str, ...]
    flat: tuple[float, ...]
    draw: Callable[..., Array]
    kernel: Callable[..., Array]
    log_normalizer: Callable[..., Array]
    mean: Callable[..., Array]
    marginal: Callable[..., Any]
    peak: Callable[..., Array]

    def log_prob(self, value: Array, *arguments: Array) -> Value:
        """Log density with respect to the parameter itself, at a value in the basis."""
        return self.kernel(value, *arguments) - self.log_normalizer(*arguments)


def _log(x: Array) -> Array:
    """log x, of NumPy's arrays and of JAX's."""
    return namespace(x).log(x)


def log_probabilities(logit: Array) -> tuple[Array, Array]:
    """log θ and log(1 − θ) from the logit, each with all its digits."""
    return log_failure(-logit), log_failure(logit)


def log_failure(logit: Array) -> Array:
    """log(1 − θ) from the logit of θ, with all its digits."""
    return -namespace(logit).logaddexp(0, logit)


def _scipy(name: str) -> Any:
    """A distribution of `scipy.stats` by name; imported at the first use, as it takes long."""
    from scipy import stats

    return getattr(stats, name)


# --- distribution functions of what a parameter's basis holds -------------------------------------------------------

_LEAST_LOG = -690.0  # of an argument that SciPy is asked about; below, the first term of the series has all digits


def marginal_cdf(marginal: Any, parameter: str, value: np.ndarray) -> np.ndarray:
    """P(θ ≤ value) of each scalar of a parameter, at values in its basis, with the digits of both ends.

    At a concentration of .05 a sixth of all draws of a share lie within 1e-16 of 1, and at .001 half are below 1e-308.
    So beta distribution functions are computed from (log θ, log(1 − θ)) and gamma ones from log θ.

    Parameters
    ----------
    marginal : frozen `scipy.stats` object of the parameter, which need not be that of its prior
    parameter : its name with the prefix of its basis, `log_` or `logit_`
    value : (…, *shape of the marginal) draws in the basis; shares of a simplex along the last axis
    """
    value = np.asarray(value, float)
    law = getattr(getattr(marginal, "dist", None), "name", "")  # SciPy's name of the distribution

    # the basis is the scale on which the parameter is held: log θ, logit θ, or θ itself
    basis = ""
    for prefix in TO_SITE:  # "log_" and "logit_"
        if parameter.startswith(prefix):
            basis = prefix

    # beta: of log θ and log(1 − θ). A share of a Dirichlet is held as its logarithm, and 1 − θ is the sum of the other
    # shares; a probability is held as its logit.
    if law == "beta" and basis:
        log_p, log_q = log_shares_and_others(value) if basis == "log_" else log_probabilities(value)
        a, b = marginal.args
        return _beta_cdf(log_p, log_q, a, b)

    # gamma: of log θ less the logarithm of the scale
    if law == "gamma" and basis == "log_":
        log_of_unit_scale = value - np.log(marginal.kwds["scale"])
        return _gamma_cdf(log_of_unit_scale, *marginal.args)

    # any other distribution: of the parameter itself; `TO_SITE` has exp and the logistic function
    theta = TO_SITE[basis](value) if basis else value
    return np.asarray(marginal.cdf(theta), float)


def log_shares_and_others(log_share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log θ_k and log(1 − θ_k) = log Σ_{j≠k} θ_j of shares along the last axis, each with all its digits."""
    # log Σ_{j≠k} θ_j, without the difference 1 − θ_k, which would be 0 where θ_k is within 1e-16 of 1; −∞ of a single
    # share, which has no others
    log_others = np.full_like(log_share, -np.inf)
    for k in range(log_share.shape[-1]):
        others = np.delete(log_share, k, -1)
        if others.shape[-1]:
            log_others[..., k] = np.logaddexp.reduce(others, -1)
    return log_share, log_others


def _beta_cdf(log_p: np.ndarray, log_q: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P(θ ≤ p) under Beta(a, b) from log p and log q = log(1 − p): from the smaller of p and q, which has more digits.

    NaN where a or b is 0, so that θ is known.

    Parameters
    ----------
    log_p, log_q : the logarithms of the value and of 1 minus it
    a, b : concentrations
    """
    is_known = ~((np.asarray(a) > 0) & (np.asarray(b) > 0))
    a = np.where(is_known, 1, a)  # any number will do there
    b = np.where(is_known, 1, b)
    from_p = _beta_tail(log_p, a, b)  # P(θ ≤ p), accurate for small p
    from_q = 1 - _beta_tail(log_q, b, a)  # P(1 − θ > q), as 1 − θ ~ Beta(b, a)
    probability = np.where(log_p <= log_q, from_p, from_q)
    return np.where(is_known, np.nan, probability)


def _beta_tail(log_x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The regularised incomplete beta function at a small x; x^a / (a B(a, b)) where x itself is no double."""
    # the integral of t^(a−1)/B(a, b) from 0 to x, where (1 − t)^(b−1) is 1; `minimum` avoids an overflow where the term
    # is not used
    first_term = np.exp(np.minimum(a * log_x - np.log(a) - betaln(a, b), 0))
    return np.where(log_x < _LEAST_LOG, first_term, betainc(a, b, np.exp(log_x)))


def _gamma_cdf(log_x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The regularised lower incomplete gamma function at x; x^a / Γ(a + 1) where x itself is no double."""
    # the integral of t^(a−1)/Γ(a) from 0 to x, where exp(−t) is 1; `minimum` avoids an overflow where it is not used
    first_term = np.exp(np.minimum(a * log_x - gammaln(a + 1), 0))
    return np.where(log_x < _LEAST_LOG, first_term, gammainc(a, np.exp(np.minimum(log_x, -_LEAST_LOG))))


# --- Beta(a, b), as a logit -----------------------------------------------------------------------------------------


def _draw_beta(key: Any, shape: tuple[int, ...], a: Array, b: Array) -> Array:
    """Draws of logit θ, θ ~ Beta(a, b): the difference of the two logarithms of a Dirichlet draw."""
    draws = log_dirichlet(key, namespace(a).stack([a, b], -1), shape)
    return draws[..., 0] - draws[..., 1]


def _kernel_beta(logit: Array, a: Array, b: Array) -> Value:
    """(a − 1) log θ + (b − 1) log(1 − θ): the log density of Beta(a, b) at a logit, without its normaliser."""
    log_p, log_q = log_probabilities(logit)
    return (a - 1) * log_p + (b - 1) * log_q


def _peak_beta(mean: Array, p: Array, q: Array) -> Array:
    """The logit of the mode p/(p + q) of Beta(p + 1, q + 1): of 0 or 1 where p or q is at most 0.

    Parameters
    ----------
    mean : logit of the mean, which is returned where both are at most 0
    p, q : the arguments less those of the flat density
    """
    return namespace(p).where((p > 0) | (q > 0), log_floor(p) - log_floor(q), mean)


# --- Gamma(a, rate b), as a logarithm -------------------------------------------------------------------------------


def _log_normalizer_gamma(a: Array, b: Array) -> Value:
    """log Γ(a) − a log b, of Gamma(a, rate b) and of InverseGamma(a, scale b)."""
    return gammaln(a) - a * _log(b)


def _peak_gamma(mean: Array, p: Array, q: Array) -> Array:
    """The logarithm of the mode p/q of Gamma(p + 1, rate q): of 0 where p is at most 0, at most of √max of the type.

    Parameters
    ----------
    mean : logarithm of the mean, which is returned where p and q are both 0
    p, q : the arguments less those of the flat density
    """
    xp = namespace(p)  # numpy, or jax.numpy for JAX arrays
    log_zero = log_floor(0 * p)  # of the smallest number, which stands for 0; −½ of it is the logarithm of about √max
    log_ratio = xp.where(p > 0, log_floor(p) - log_floor(q), log_zero)
    has_mode = (p > 0) | (q > 0)  # otherwise the density is the flat one

    # where q is 0 the density increases without bound: the mode is put at about √max
    return xp.where(has_mode, xp.minimum(log_ratio, -0.5 * log_zero), mean)


# --- Dirichlet(α), as logarithms ------------------------------------------------------------------------------------


def _log_normalizer_dirichlet(alpha: Array) -> Value:
    """Σ_k log Γ(α_k) − log Γ(Σ_k α_k), with the α_k along the last axis."""
    return gammaln(alpha).sum(-1) - gammaln(alpha.sum(-1))


def _peak_dirichlet(mean: Array, weight: Array) -> Array:
    """Logarithms of the mode of Dirichlet(weight + 1): weights over their sum; 0 where a weight is at most 0.

    Parameters
    ----------
    mean : logarithms of the mean, which is returned where all weights are at most 0
    weight : the concentrations less those of the flat density, along the last axis
    """
    return log_shares(namespace(weight).maximum(weight, 0), mean)


# --- InverseGamma(a, scale b) and Normal(m, s), as they are ---------------------------------------------------------


def _mean_inverse_gamma(a: Array, b: Array) -> Array:
    """b/(a − 1); where there is no mean the mode b/(a + 1)."""
    return b / namespace(a).where(a > 1, a - 1, a + 1)


PRIORS = {
    "Beta": Prior(
        "logit_", ("concentration1", "concentration0"), (1.0, 1.0), _draw_beta, _kernel_beta, log_beta,
        lambda a, b: _log(a) - _log(b), lambda a, b: _scipy("beta")(a, b), _peak_beta,
    ),
    "Gamma": Prior(
        "log_", ("concentration", "rate"), (1.0, 0.0), lambda key, shape, a, b: log_gamma(key, a, shape) - _log(b),
        lambda log_rate, a, b: (a - 1) * log_rate - b * namespace(log_rate).exp(log_rate), _log_normalizer_gamma,
        lambda a, b: _log(a) - _log(b), lambda a, b: _scipy("gamma")(a, scale=1 / b), _peak_gamma,
    ),
    "Dirichlet": Prior(
        "log_", ("concentration",), (1.0,), lambda key, shape, alpha: log_dirichlet(key, alpha, shape),
        lambda log_share, alpha: ((alpha - 1) * log_share).sum(-1), _log_normalizer_dirichlet,
        lambda alpha: _log(alpha) - _log(alpha.sum(-1, keepdims=True)),
        lambda alpha: _scipy("beta")(alpha, alpha.sum(-1, keepdims=True) - alpha), _peak_dirichlet,
    ),
    "InverseGamma": Prior(
        "", ("concentration", "rate"), (-1.0, 0.0), lambda key, shape, a, b: inverse_gamma(key, a, b, shape),
        lambda variance, a, b: -(a + 1) * _log(variance) - b / variance, _log_normalizer_gamma,
        _mean_inverse_gamma, lambda a, b: _scipy("invgamma")(a, scale=b), lambda mean, p, q: q / p,
    ),
    "Normal": Prior(
        "", ("loc", "scale"), (0.0, np.inf), lambda key, shape, m, s: m + s * normal(key, (*shape, *m.shape)),
        lambda value, m, s: -0.5 * ((value - m) / s) ** 2, lambda m, s: 0.5 * LOG_2PI + _log(s),
        lambda m, s: m, lambda m, s: _scipy("norm")(m, s), lambda mean, m, s: m,
    ),
}  # fmt: skip

CELLS: dict[str, Callable[..., np.ndarray]] = {  # draws of one cell for each set of arguments, by NumPy's generator
    "Bernoulli": lambda rng, p: (rng.random(p.shape) < p) * 1.0,
    "Categorical": lambda rng, p: categorical(rng, log_floor(p)) * 1.0,
    "Poisson": lambda rng, rate: rng.poisson(np.minimum(rate, 1e18)) * 1.0,
    "Exponential": lambda rng, rate: rng.standard_exponential(rate.shape) / np.maximum(rate, 1e-300),
    "GeometricProbs": lambda rng, p: np.floor(rng.standard_exponential(p.shape) / np.maximum(-np.log1p(-p), 1e-300)),
    "NegativeBinomialLogits": lambda rng, r, logits: (
        rng.poisson(rng.standard_gamma(r, logits.shape) * np.exp(np.minimum(logits, 40.0))) * 1.0
    ),  # e^40 is a count of 1e17, near the most that NumPy draws
    "Normal": lambda rng, mu, sd: mu + sd * rng.standard_normal(mu.shape),
    "LogNormal": lambda rng, mu, sd: np.exp(mu + sd * rng.standard_normal(mu.shape)),
}


def drawn_cells(rng: np.random.Generator, kind: str, *arguments: Any) -> np.ndarray:
    """One draw for each set of arguments of a distribution of NumPyro, such as one cell of a table.

    Parameters
    ----------
    kind : name of the distribution; those that are not in `CELLS` are drawn by NumPyro
    arguments : arrays of one shape, which the result has
    """
    if kind in CELLS:  # by NumPy, without JAX
        return CELLS[kind](rng, *arguments)
    import jax
    import numpyro.distributions as dist

    key = jax.random.key(int(rng.integers(1 << 31)))  # JAX's key, from a seed that NumPy's generator draws
    return np.asarray(getattr(dist, kind)(*arguments).sample(key), float)
