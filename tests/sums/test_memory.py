"""The memory that each method takes for a million rows, by the peak of a fresh process."""

import sys

import pytest

from .test_processes import result, start

STATUS = """
import numpy as np

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))
"""

CODE = """
import bayesnb
from bayesnb.sums import rows as loops

def table(n):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 10)) if KIND == "gaps" else rng.integers(4, size=(n, 10)).astype(float)
    if KIND == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y

KIND, nb = {kind!r}, bayesnb.{estimator}
calls = dict(fit=nb.fit, predict=lambda X, y: nb.predict_log_proba(X), loo=lambda X, y: nb.loo(X, y).log_proba)
if KIND == "gaps":  # these take seconds
    calls |= dict(
        predict_interval=lambda X, y: nb.predict_interval(X),
        sample_proba=lambda X, y: nb.sample_proba(X, 10),
        uncertainty=lambda X, y: nb.uncertainty(X).total,
    )
small, large = table(3000), table(1_000_000)
loops.WORTH = 1
nb.fit(*small)
for call in calls.values():  # imports and compilers are not counted
    call(*small)
nb.fit(*large)
for name, call in calls.items():
    before = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is what there is now
    rows = tuple(part[:100_000] for part in large) if name in ("predict_interval", "uncertainty") else large  # minutes
    found = call(*rows)
    extra = status("VmHWM") - before - (found.nbytes / 2**20 if isinstance(found, np.ndarray) else 0)
    assert extra <= (100 if name in ("fit", "predict") else 200), (name, extra)
    del found
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("estimator", "kind"), [("GaussianNB()", "gaps"), ("CategoricalNB()", "levels"), ("KernelNB()", "levels")]
)
def test_a_million_rows_of_ten_cells(estimator, kind):
    """At most 100 MiB beyond input and output for a fit and a prediction, 200 for all else."""
    result(start(STATUS + CODE.replace("{kind!r}", repr(kind)).replace("{estimator}", estimator)))
