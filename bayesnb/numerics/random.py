"""Random draws from NumPy's generator or from a JAX key, whichever is handed in.

On a CPU NumPy's generator makes about 13 million gamma draws a second, `jax.random.gamma` 0.6 million; under `jit` and
`vmap` only the JAX key works.
"""

from typing import Any, TypeAlias

import numpy as np

from .arrays import Array, JaxArray
from .special import log_floor, log_normalize, namespace

Key: TypeAlias = np.random.Generator | JaxArray


def generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    """NumPy's generator for a seed; a generator is handed through.

    Raises
    ------
    ValueError
        if `seed` is none of the things that NumPy makes a generator of
    """
    try:  # NumPy refuses what it cannot use, with messages that do not name the argument
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(
            f"`seed` is {seed!r}; it needs to be a whole number from 0 on, a NumPy generator, or None"
        ) from None


def split(key: Key, n: int) -> list[Key]:
    """n keys for n independent uses; a generator has its own state, so it is returned n times."""
    return [key] * n if isinstance(key, np.random.Generator) else list(_jax().split(key, n))


def _jax() -> Any:
    import jax

    return jax.random


def normal(key: Key, shape: tuple[int, ...]) -> Array:
    """Standard normal draws."""
    return key.standard_normal(shape) if isinstance(key, np.random.Generator) else _jax().normal(key, shape)


def uniform(key: Key, shape: tuple[int, ...]) -> Array:
    """Uniform draws between 0 and 1."""
    return key.random(shape) if isinstance(key, np.random.Generator) else _jax().uniform(key, shape)


def log_gamma(key: Key, a: Array, shape: tuple[int, ...] = ()) -> Array:
    """Logarithms of Gamma(a, 1) draws, shape `shape + a.shape`.

    Draws with a small a often underflow: at a = 0.01 42 % of them are below the smallest float32. If G ~ Gamma(a + 1)
    and U is uniform, G · U^(1/a) is a draw of Gamma(a). Its logarithm is log G + (log U)/a, which does not underflow.

    Parameters
    ----------
    key : NumPy's generator, or a JAX key, of which `jax.random.loggamma` draws
    a : shape parameters, positive

    References
    ----------
    Devroye (1986), Non-Uniform Random Variate Generation, ch. IX.3.5 (the boost by a power of a uniform).
    """
    shape = (*shape, *np.shape(a))
    if not isinstance(key, np.random.Generator):  # JAX, which draws the logarithm itself
        return _jax().loggamma(key, namespace(key).asarray(a), shape)

    # log G: where a is below 1 it is drawn at a + 1; `below_one` is True or False, which count as 1 and 0
    below_one = np.asarray(a) < 1
    draws = np.log(key.standard_gamma(a + below_one, shape))

    # + (log U)/a of these draws only. NumPy's uniform numbers V are in [0, 1), and log 0 would be −∞; so U = 1 − V is
    # taken, which is uniform too and never 0, and log U = log1p(−V). With a = (0.5, 2) and two draws of each, the mask
    # of draws is ((True, False), (True, False)).
    is_small = np.broadcast_to(below_one, shape)
    if is_small.any():
        uniform = key.random(int(is_small.sum()))
        draws[is_small] += np.log1p(-uniform) / np.broadcast_to(a, shape)[is_small]
    return draws


def log_dirichlet(key: Key, alpha: Array, shape: tuple[int, ...] = ()) -> Array:
    """Logarithms of Dirichlet draws along the last axis, shape `shape + alpha.shape`; no entry underflows."""
    return log_normalize(log_gamma(key, alpha, shape))


def categorical(key: np.random.Generator, log_p: np.ndarray) -> np.ndarray:
    """Index drawn from each row of log probabilities (n, k), by the Gumbel maximum."""
    return np.argmax(log_p + key.gumbel(size=log_p.shape), axis=-1)


def inverse_gamma(key: Key, a: Array, b: Array, shape: tuple[int, ...] = ()) -> Array:
    """Draws of b / Gamma(a, 1): inverse gamma with shape a and scale b, held inside the range of the type.

    The result has the shape `shape + a.shape`.
    """
    log_draw = log_gamma(key, a, shape)
    xp = namespace(log_draw)  # numpy, or jax.numpy for JAX arrays

    # log b − log G, held between the logarithms of about the smallest and the largest number
    limit = -log_floor(xp.ones((), log_draw.dtype) * 0) - 1  # −log of the smallest number of the type, less a bit
    return xp.exp(xp.clip(xp.log(b) - log_draw, -limit, limit))
