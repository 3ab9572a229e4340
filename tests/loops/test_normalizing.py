"""Log probabilities of many rows by a loop, against the formula."""

import numpy as np
import pytest

from bayesnb import loops
from bayesnb.core.special import log_normalize
from bayesnb.sums.normalizing import log_normalized


@pytest.mark.parametrize("c", [1, 2, 10, 33])
@pytest.mark.parametrize("in_place", [False, True])
def test_normalized(c, in_place, rng, monkeypatch):
    monkeypatch.setattr(loops, "WORTH", 1)
    table = rng.normal(size=(3001, c)) * np.exp(3 * rng.normal(size=(3001, 1)))
    table[0], table[1, 0], table[2, -1] = -1e300, -1.7e308, 1e5
    want = log_normalize(table)
    found = log_normalized(table, table if in_place else None)
    assert (found is table) == in_place
    np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(np.exp(found).sum(1), 1, rtol=1e-14)
