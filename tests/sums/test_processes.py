"""Loops in several threads and processes, without a folder for their machine code, and without numba."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bayesnb
from bayesnb import GaussianNB

ROOT = Path(bayesnb.__file__).parent.parent

# one loop for two types of cells, in any order
LIGHT = """
import random
import numpy as np
from bayesnb.sums._compiled import by_class
from bayesnb.sums.rows import csr_arrays

kinds = ["float64", "uint8"]
random.shuffle(kinds)
for kind in kinds:
    total = np.zeros((2, 2))
    by_class(*csr_arrays(np.arange(6).reshape(3, 2).astype(kind)), np.array([0, 1, 1], np.int32), np.ones(3), total)
    assert total.tolist() == [[0, 1], [6, 8]], (kind, total)
"""


def start(code, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    environment = {**kept, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen([sys.executable, "-c", code], text=True, env=environment, **pipes)


def result(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert err == ""
    return out


@pytest.mark.slow
def test_eight_processes_that_start_on_one_empty_folder(tmp_path):
    """They all compile, write and read the same files."""
    processes = [start(LIGHT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(8)]
    for process in processes:
        result(process)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert len(files) == 3  # an index and the code for each type
    result(start(LIGHT, NUMBA_CACHE_DIR=str(tmp_path)))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == files  # it had nothing to compile
    for at, path in enumerate(sorted(files)):  # damaged, or empty: it is compiled again
        path.write_bytes(b"" if at % 2 else b"nothing of use")
    result(start(LIGHT, NUMBA_CACHE_DIR=str(tmp_path)))


@pytest.mark.slow
def test_no_folder_can_be_written():
    """numba raises "no locator available" while it decorates."""
    nowhere = """
from numba.core import caching

class Nowhere(caching._CacheLocator):
    @classmethod
    def from_function(cls, *_):
        return None

caching.CacheImpl._locator_classes = [Nowhere]
"""
    result(start(nowhere + LIGHT))


WITHOUT = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "llvmlite"):
            raise ImportError(f"no module named {name}")

sys.meta_path.insert(0, Nowhere())
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["not installed", "switched off"])
def test_all_works_without_numba(how):
    """All estimators on rows that loops are worth; what comes out is that of the formulas."""
    code = """
import numpy as np
from bayesnb.sums import rows as loops
from tests.estimators_table import ALL

loops.WORTH = {worth}
rng = np.random.default_rng(0)
X, y = rng.poisson(1.0, (300, 5)) + 1.0, rng.integers(3, size=300)
for nb in ALL:
    nb.fit(X, y)
    print(nb, nb.predict_log_proba(X).sum().hex(), nb.loo(X, y).log_proba.sum().hex())
assert loops.available() == {there}
"""
    off = {"NUMBA_DISABLE_JIT": "1"} if how == "switched off" else {}
    without = start((WITHOUT if how == "not installed" else "") + code.format(worth=1, there=False), **off)
    formulas = start(code.format(worth=1 << 60, there=True))
    assert result(without) == result(formulas)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork():
    """Of a process that has run loops in two threads."""
    code = """
import os
import numpy as np
import bayesnb
from bayesnb.sums import rows as loops

loops.WORTH = 1
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60_000, 20)), rng.integers(3, size=60_000)
table = bayesnb.GaussianNB().fit(X, y).predict_log_proba(X)
children = []
for _ in range(3):
    children.append(os.fork())
    if not children[-1]:
        os._exit(not np.array_equal(bayesnb.GaussianNB().fit(X, y).predict_log_proba(X), table))
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""
    result(start(code, OMP_NUM_THREADS="2"))


def test_the_same_bits_whatever_the_number_of_threads(monkeypatch):
    """Slices depend on the number of rows, and are merged in their order."""
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=60_000)
    X = rng.normal(size=(60_000, 40)) + y[:, None]
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        nb = GaussianNB().fit(X, y)
        stats = nb.statistics_.blocks["x"]
        found.append((stats.mean, stats.ss, nb.predict_log_proba(X)))
    for parts in zip(*found, strict=True):
        for other in parts[1:]:
            np.testing.assert_array_equal(parts[0], other)


def test_loops_are_not_imported_for_little_work():
    code = """
import sys
import numpy as np
import bayesnb

X, y = np.random.default_rng(0).normal(size=(2000, 20)), np.arange(2000) % 3
bayesnb.GaussianNB().fit(X, y).predict(X)
assert "numba" not in sys.modules
"""
    result(start(code))
