"""Given, pooled and shared scales in JAX: rows with net weights in several classes, missing cells, and gradients."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ..laws import FAMILIES, case, jitted

NAMES = "known_gaussian", "pooled_gaussian", "full_gaussian", "tied_gaussian"


def left_out(block: Any, x: Any, r: Any) -> Any:
    return block.update(block.suffstats(x, r)).log_loo(x, r)


def evidence(block: Any, x: Any, r: Any) -> Any:
    return block.log_marginal(block.suffstats(x, r)).sum()


@pytest.mark.parametrize("name", NAMES)
def test_rows_in_several_classes_leave_in_jax_as_on_the_host(x64: None, rng: np.random.Generator, name: str) -> None:
    """Values under `jit`, and gradients against differences: no NaN of another class or of a missing cell."""
    this = case(next(f for f in FAMILIES if f.name == name))
    x, block = this.x.copy(), this.block
    if block.allows_missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    r = rng.dirichlet(np.ones(3), len(x)) * (rng.random((len(x), 3)) < 0.7)
    known, rows, weights = jax.tree.map(jnp.asarray, (block, x, r))
    np.testing.assert_allclose(jitted(left_out)(known, rows, weights), left_out(block, x, r), rtol=1e-10, atol=1e-11)
    predicted = jitted(lambda block, x: block.log_predictive(x))(known, rows)
    np.testing.assert_allclose(predicted, block.log_predictive(x), rtol=1e-10, atol=1e-11)
    for f in evidence, lambda *given: left_out(*given).sum():
        slopes = jitted(jax.grad(f))(known, rows, weights)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes))
        step = 1e-6 * rng.normal(size=block.m.shape)
        change = f(replace(block, m=block.m + step), x, r) - f(replace(block, m=block.m - step), x, r)
        assert change / 2 == pytest.approx(float((slopes.m * step).sum()), rel=1e-6, abs=1e-12)
