"""Fixtures of all tests; and what JAX compiles for them is kept, for half of their time is compilation."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from . import typecheck as typecheck  # jaxtyping looks it up as an attribute of `tests`

COMPILED = {
    "jax_compilation_cache_dir": str(Path(__file__).parent.parent / ".pytest_cache" / "compiled"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
for name, value in COMPILED.items():
    # in the environment too, for the processes that tests start
    jax.config.update(name, type(value)(os.environ.setdefault(name.upper(), str(value))))

# What is imported and collected lives until the end, so the garbage collector need not walk through it again and again.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def x64() -> Iterator[None]:
    """JAX in double precision for the length of a test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """NumPy's generator with a fixed seed."""
    return np.random.default_rng(20260101)
