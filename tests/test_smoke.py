"""Whether an installation works, in a minute: a fit of each estimator, the command line.

pytest -m smoke
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from .estimators_table import DEFAULTS, called

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("nb", DEFAULTS, ids=called)
def test_an_estimator_fits_and_predicts(nb: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 30)
    X = rng.poisson(np.where(y == "yes", [[5], [0.3], [2]], [[0.3], [5], [2]]).T)
    p = nb.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
    assert (nb.predict(X) == y).mean() > 0.6


def test_the_command_line_answers() -> None:
    done = subprocess.run([sys.executable, "-m", "bayesnb", "compare", "iris"], capture_output=True, text=True)
    assert done.returncode == 0 and "discriminative" in done.stdout, done.stderr
