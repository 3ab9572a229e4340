"""What the slow twins share: textbook formulas as loops over cells with 50 digits, right by reading."""

from collections.abc import Callable
from typing import Any

import jax
import mpmath as mp
import numpy as np

from bayesnb.statistics import one_hot

mp.mp.dps = 50  # the tests' own precision; nothing else uses mpmath
EXTREMES = np.array([1e-10, 1e-3, 1.0, 1e3, 1e10])
ATOL = 1e-12  # an error of 1e-12 in a log is one of 1e-12 of the probability; some logs here are 1e-20


def log_beta(*alpha: Any) -> mp.mpf:
    """log B(α) = Σ_k log Γ(α_k) − log Γ(Σ_k α_k)."""
    return mp.fsum(map(mp.loggamma, alpha)) - mp.loggamma(mp.fsum(alpha))


def column(x: np.ndarray, y: np.ndarray, c: int, j: int) -> list[mp.mpf]:
    """The observed cells of feature j in the rows of class c."""
    return [mp.mpf(float(value)) for value in x[y == c, j] if not np.isnan(value)]


def hyper(block: Any, c: int, j: int) -> list[Any]:
    """Hyperparameters of cell (c, j), as exact numbers; a vector of them where the field has one."""
    fields = [leaf[j] if leaf.ndim == 1 else leaf[c, j] for leaf in jax.tree.leaves(block)]
    return [[*map(mp.mpf, field)] if np.ndim(field) else mp.mpf(float(field)) for field in fields]


def check_fields(posterior: Any, twin: Callable[..., Any], prior: Any, x: np.ndarray, y: np.ndarray) -> None:
    """Every field of the posterior of every cell is twin(values, *hyper)."""
    for c, j in np.ndindex(prior.shape):
        want = twin(column(x, y, c, j), *hyper(prior, c, j))
        for got, value in zip(hyper(posterior, c, j), want, strict=True):
            np.testing.assert_allclose(np.array(got, float), np.array(value, float), rtol=1e-10, atol=ATOL)


def check_evidence(prior: Any, twin: Callable[..., Any], x: np.ndarray, y: np.ndarray, *, rtol: float = 1e-10) -> None:
    """The evidence of every cell is twin(values, *hyper)."""
    evidence = prior.log_marginal(prior.suffstats(x, one_hot(y, prior.shape[0])))
    want = [float(twin(column(x, y, c, j), *hyper(prior, c, j))) for c, j in np.ndindex(prior.shape)]
    np.testing.assert_allclose(evidence.ravel(), want, rtol=rtol, atol=ATOL)


def check_predictive(block: Any, twin: Callable[..., Any], x: np.ndarray, *, rtol: float = 1e-10) -> None:
    """The table of log predictives is the sum of twin(value, *hyper) over the observed cells of a row."""
    cells = [(i, c, j) for i, c, j in np.ndindex(len(x), *block.shape) if not np.isnan(x[i, j])]
    want = np.zeros((len(x), block.shape[0]))
    for i, c, j in cells:
        want[i, c] += float(twin(mp.mpf(float(x[i, j])), *hyper(block, c, j)))
    np.testing.assert_allclose(block.log_predictive(x), want, rtol=rtol, atol=ATOL)
