"""Fixtures of all tests."""

from collections.abc import Iterator

import jax
import numpy as np
import pytest

from . import typecheck as typecheck  # jaxtyping looks it up as an attribute of `tests`


@pytest.fixture
def x64() -> Iterator[None]:
    """JAX in double precision for the length of a test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """NumPy's generator with a fixed seed."""
    return np.random.default_rng(20260101)
