"""`FamilyNB`: any family has an estimator, also one that is defined in a file of the user's own, such as this."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import bayesnb
from bayesnb import FamilyNB, PoissonNB, families
from bayesnb.families import GammaPoisson, pytree

from ..laws import OF_WHOLE_CELLS
from ..sums.test_processes import start

ROOT = Path(__file__).parent.parent.parent


@pytree
@dataclass(frozen=True)
class Outside(GammaPoisson):
    """A count family that no file of bayesnb names."""


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 80)]
    return rng.poisson(np.where(y == "a", 1.0, 3.0)[:, None] * [1.0, 2.0, 0.5]).astype(float), y


def test_it_is_the_estimator_of_the_family(counts):
    """Numbers are broadcast to classes and features; dense, sparse and with gaps."""
    X, y = counts
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    for rows in (X, sparse.csr_array(X), gaps):
        ours, theirs = FamilyNB(Outside(2.0, 0.5)).fit(rows, y), PoissonNB(alpha=2.0, beta=0.5).fit(rows, y)
        assert ours.log_evidence_ == theirs.log_evidence_
        np.testing.assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))
        np.testing.assert_array_equal(ours.loo(rows, y).log_joint, theirs.loo(rows, y).log_joint)
        np.testing.assert_array_equal(ours.predict_interval(rows), theirs.predict_interval(rows))
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    ours.forget(rows[:5], y[:5])
    theirs.forget(rows[:5], y[:5])
    np.testing.assert_array_equal(ours.posterior_.blocks["x"].a, theirs.posterior_.blocks["x"].a)


TIED = families.TiedNormalInverseWishart(0.0, 1.0, 9.0, np.eye(3))


def test_draws_have_the_axes_of_the_numpyro_sites(counts):
    X, y = counts
    for family, dims in (
        (families.DirichletCategorical(np.ones((1, 1, 20))), {"theta": "class feature level"}),
        (families.DirichletMultinomial(1.0), {"theta": "class feature"}),
        (TIED, {"mu": "class feature", "covariance": "feature feature_"}),
        (families.PooledNormalInverseGamma(0.0, 1.0, 1.0, 1.0), {"mu": "class feature", "variance": "feature"}),
    ):
        nb = FamilyNB(family).fit(X, y)
        drawn = nb.sample_posterior(10)["posterior"]
        assert {name: " ".join(values.dims[2:]) for name, values in drawn.items()} == {"pi": "class", **dims}
        rows, labels = nb.sample(20, seed=0)
        assert rows.shape == (20, 3) and set(labels) <= set(y)


@pytest.mark.slow
def test_a_model_of_ones_own_is_loaded_after_its_module_was_imported(counts, tmp_path):
    X, y = counts
    nb = FamilyNB(Outside(1.0, 1.0)).fit(X, y)
    nb.save(tmp_path / "model")
    loaded = bayesnb.load(tmp_path / "model")
    assert type(loaded.family) is Outside
    np.testing.assert_array_equal(loaded.predict_proba(X), nb.predict_proba(X))
    _, err = start(f"import bayesnb; bayesnb.load({str(tmp_path / 'model')!r})").communicate()
    assert "test_family.Outside'; import the module that defines it first" in err


WRONG = [
    ("poisson", [[1.0]], "`family` is 'poisson'; it needs a conjugate family"),
    (families.DirichletComplement(1.0), [[1.0]], "`family` is DirichletComplement"),
    (Outside(-1.0, 1.0), [[1.0]], r"`family\.a` is -1"),
    (Outside(1.0, 1.0), [[-1.0]], "Negative values in data passed to FamilyNB.* a cell of Outside is a count"),
    *((kind(1.0, 1.0), [[0.5]], f"not whole.*cell of {kind.__name__} is a whole count") for kind in OF_WHOLE_CELLS),
    (families.BetaBernoulli(1.0, 1.0), [[2.0]], "has 2 in column 0; a cell of BetaBernoulli is 0 or 1"),
    (families.DirichletCategorical(np.ones((1, 1, 2))), [[2.0]], "is the number of a level"),
    (families.LogNormal(0.0, 1.0, 1.0, 1.0), [[0.0]], "a cell of LogNormal is a number above 0"),
]


def test_what_is_wrong_is_named():
    for family, X, message in WRONG:
        with pytest.raises(ValueError, match=message):
            FamilyNB(family).fit(X * 2, [0, 1])
