"""Fixtures of all tests; and what JAX compiles for them is kept, for half of their time is compilation."""

import gc
import importlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

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

collected = threading.Event()


def pytest_configure(config: pytest.Config) -> None:
    """ArviZ writes a file on its first import of a day, which two workers at the same moment would fail at."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        importlib.import_module("arviz")


def pytest_sessionstart(session: pytest.Session) -> None:
    """A line every ten seconds until the first test has ended: collecting them takes longest on the first run."""
    said = session.config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(session.config, "workerinput") or said is None:
        return

    def wait(start: float = perf_counter()) -> None:
        while not collected.wait(10):
            said.write_line(f"collecting tests: {perf_counter() - start:.0f} s")

    threading.Thread(target=wait, daemon=True).start()


def pytest_runtest_logreport() -> None:
    collected.set()


def pytest_sessionfinish() -> None:
    collected.set()


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


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """Headless Chromium, which keeps what it logs."""
    from selenium import webdriver

    names = "chromium", "chromium-browser", "google-chrome"
    binary, chromedriver = next(filter(None, map(shutil.which, names)), None), shutil.which("chromedriver")
    if not (binary and chromedriver):
        pytest.fail(f"needs one of {', '.join(names)} and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    flags = "headless=new no-sandbox disable-gpu disable-dev-shm-usage no-first-run disable-background-networking"
    for flag in f"{flags} disable-component-update disable-sync disable-quic".split():
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()
