"""How many functions of the package a small table goes through."""

import re
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_small_fit_and_prediction_stay_short():
    """Derived families go through short functions; types are not checked."""
    command = [sys.executable, "-m", "tests.benchmarks.path_of_x"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    calls = dict(re.findall(r"^(\w+): (\d+) calls", found, re.MULTILINE))
    assert int(calls["fit"]) <= 230 and int(calls["predict_proba"]) <= 140, found
