"""Whether an installation works, in a minute: a law of each family, a fit of each estimator, the command line.

pytest -m smoke
"""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from .estimators_table import DEFAULTS, called
from .laws import FAMILIES, C, Family, case

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_predictions_of_one_row_after_the_other_multiply_to_the_evidence(family: Family) -> None:
    """A composite likelihood has no evidence: there the posterior after the last row is that of all rows."""
    this = case(family, missing=False)
    block, x, r = this.block, this.x[:6], np.eye(C)[np.arange(6) % C]
    whole, total = block.suffstats(x, r), 0.0
    for i in range(6):
        total += block.log_predictive(x[[i]])[0] @ r[i]
        block = block.update(block.suffstats(x[[i]], r[[i]]))
    if family.composite:
        np.testing.assert_allclose(block.alpha, this.block.update(whole).alpha, rtol=1e-12)
    else:
        np.testing.assert_allclose(total, np.sum(this.block.log_marginal(whole)), rtol=1e-9)


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
    assert done.returncode == 0 and "GaussianNB" in done.stdout, done.stderr
