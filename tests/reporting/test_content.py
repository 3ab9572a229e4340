"""What a report compares a model with."""

import numpy as np
import pytest

import bayesnb
from bayesnb.core.supports import COMPOSITE
from bayesnb.reporting import _compared, candidates

from ..estimators_table import DEFAULTS


@pytest.mark.parametrize("nb", [nb for nb in DEFAULTS if nb.cells.measure != COMPOSITE], ids=repr)
def test_every_estimator_is_tried_on_its_cells_alone(nb) -> None:
    for kind in ("real", "counts", "amounts", "levels"):
        assert (repr(nb) in map(repr, candidates(kind, 50, 4))) == (kind == nb.cells.kind)


def test_large_tables_are_left_to_quick_models() -> None:
    all_of_them = {repr(one) for one in candidates("real", 50, 4)}
    assert {"GaussianNB(variance='pooled')", "GaussianDA(covariance='shared')", "KernelNB()"} <= all_of_them
    assert all_of_them - {repr(one) for one in candidates("real", 6_000, 4)} == {"KernelNB()"}
    wide = all_of_them - {repr(one) for one in candidates("real", 50, 61)}
    assert wide == {"GaussianDA()", "GaussianDA(covariance='shared')"}


def test_a_model_is_not_compared_with_itself_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """On zeros and ones a threshold at 0 changes nothing, and two levels are yes and no."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)).astype(float), np.arange(40) % 2
    nb = bayesnb.BernoulliNB(binarize=None).fit(X, y)
    own = nb.loo(X, y).log_proba
    found = _compared(nb, X, y, own, "auto")
    assert found is not None and {*found.table.index} == {"this model", "OneDependenceNB()"}
    fit, fits = bayesnb.CategoricalNB.fit, []
    monkeypatch.setattr(bayesnb.CategoricalNB, "fit", lambda *args: fits.append(args) or fit(*args))
    named = _compared(nb, X, y, own, {"mine": bayesnb.CategoricalNB()})
    assert named is not None and {*named.table.index} == {"this model", "mine"}
    assert len(fits) == 1
