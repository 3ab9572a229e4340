"""The special functions against 50 digits, on NumPy and on JAX, in both precisions.

Bounds are stated in machine epsilons, so that one figure serves float64 (2.2e-16) and float32 (1.2e-7).
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import scipy.stats as st
from scipy.special import logsumexp

from bayesnb.numerics import special as special
from bayesnb.numerics.random import log_gamma

BOTH = [pytest.param(xp, dtype, id=f"{xp.__name__}-{dtype}") for xp in (np, jnp) for dtype in ("float64", "float32")]
everywhere = pytest.mark.parametrize(("xp", "dtype"), BOTH)


pytestmark = pytest.mark.usefixtures("x64")  # float64 exists in JAX throughout; float32 arrays stay float32


HUGE = 240  # digits: those of Γ(1e100 + 1) and Γ(1e100) agree for the first hundred


def log_uniform(rng: np.random.Generator, low: float, high: float, n: int = 100) -> np.ndarray:
    return 10.0 ** rng.uniform(low, high, n)


def errors(
    f: Callable[..., Any],
    exact: Callable[..., Any],
    xp: ModuleType,
    dtype: str,
    *arguments: np.ndarray,
    digits: int = 40,
) -> tuple[np.ndarray, np.ndarray]:
    """|f − exact| in machine epsilons of the type, and |exact|; exact takes the arguments as the type rounds them."""
    rounded = [np.asarray(a, dtype) for a in arguments]
    got = f(*(xp.asarray(a) for a in rounded))
    assert got.dtype == dtype and isinstance(got, jax.Array) == (xp is jnp)
    with mp.workdps(digits):
        want = [exact(*map(mp.mpf, map(float, cell))) for cell in zip(*rounded, strict=True)]
        error = [float(abs(mp.mpf(float(g)) - w)) for g, w in zip(got, want, strict=True)]
    return np.array(error) / float(np.finfo(dtype).eps), abs(np.array(want, float))


def widths(dtype: str) -> int:
    """Arguments run from 10⁻ʷ to 10ʷ."""
    return 100 if dtype == "float64" else 30


@everywhere
def test_log_rising(xp: ModuleType, dtype: str, rng: np.random.Generator) -> None:
    w = widths(dtype)
    a = np.concatenate([log_uniform(rng, -w, w), log_uniform(rng, -3, 3)])
    n = rng.permutation(np.concatenate([log_uniform(rng, -8, 6), rng.integers(0, 30, 100)]))
    error, size = errors(
        special.log_rising, lambda a, n: mp.loggamma(a + n) - mp.loggamma(a), xp, dtype, a, n, digits=HUGE
    )
    assert (error < 4 * (size + n + 0.01)).all()  # the bound of the docstring


@everywhere
def test_log_beta(xp: ModuleType, dtype: str, rng: np.random.Generator) -> None:
    w = widths(dtype)
    a = np.concatenate([log_uniform(rng, -w, w), log_uniform(rng, -3, 3), [2.0]])
    b = np.concatenate([log_uniform(rng, -w, w), log_uniform(rng, -3, 3), [8.0]])

    def exact(a: Any, b: Any) -> Any:
        return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

    error, size = errors(special.log_beta, exact, xp, dtype, a, b, digits=HUGE)
    moderate = (abs(np.log10(a)) < 3) & (abs(np.log10(b)) < 3)
    assert (error < np.where(moderate, 16, 100) * (1 + size)).all()  # the bounds of the docstring


@everywhere
@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("gammaln", mp.loggamma),
        ("digamma", mp.digamma),
        ("trigamma", lambda x: mp.psi(1, x)),
        ("tetragamma", lambda x: mp.psi(2, x)),
    ],
)
def test_gamma_functions(name: str, exact: Callable[..., Any], xp: ModuleType, dtype: str) -> None:
    x = np.logspace(-4, 8, 60)  # JAX's log Γ is the worst, 8 epsilons
    error, size = errors(getattr(special, name), exact, xp, dtype, x)
    assert (error < 16 * (size + (name in ("gammaln", "digamma")))).all()  # these have a zero, the others none


@everywhere
def test_log_floor_and_log_shares(xp: ModuleType, dtype: str) -> None:
    tiny = np.finfo(dtype).tiny
    np.testing.assert_allclose(special.log_floor(xp.asarray([0, tiny, 1.0], dtype)), np.log([tiny, tiny, 1]))
    shares = special.log_shares(xp.asarray([[1, 3, 0], [0, 0, 0]], dtype), xp.full((2, 3), -7.0, dtype))
    np.testing.assert_allclose(np.exp(shares[0]), [0.25, 0.75, tiny / 4], rtol=4e-6 if dtype == "float32" else 1e-13)
    assert (shares[1] == -7).all() and shares.dtype == dtype


def test_logarithms_of_probabilities(rng: np.random.Generator) -> None:
    table = rng.normal(size=(50_000, 3)) * 10
    table[1] = -1e300, -1e300, -2e300
    want = table - logsumexp(table, axis=1, keepdims=True)
    want[1] = np.log(0.5), np.log(0.5), -1e300
    for found in (
        special.log_normalize(table),
        special.log_normalize(jnp.asarray(table)),
        special.log_normalize(table[None])[0],
    ):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    assert special.log_normalize(table, table) is table


def test_draws_of_small_gammas(rng: np.random.Generator) -> None:
    """Below 1 a draw is one of a + 1 times a power of a uniform; p above 1e-6 for each of four."""
    a = np.array([0.05, 0.3, 1.0, 4.0])
    u = st.gamma.cdf(np.exp(log_gamma(rng, a, (4000,))), a)
    assert st.kstest(u, "uniform", axis=0).pvalue.min() > 1e-6
