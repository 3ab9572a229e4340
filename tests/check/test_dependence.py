"""Dependence within a class is found, named by its columns, and is no finding where the model has it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MixedNB, MultinomialNB
from bayesnb.check.dependence import dependence
from bayesnb.estimators import ComplementNB


def found(nb, X, y):
    nb.fit(X, y)
    return dependence(nb, nb.model_.encode(X), nb.model_.class_index(np.asarray(y)), np.random.default_rng(0))


@pytest.fixture
def table(rng):
    """Three columns, all shifted by the class; `b` follows `a` within class 1 alone, and downwards."""
    y = np.repeat([0, 1], [80, 60])
    X = pd.DataFrame(rng.normal(size=(140, 3)) + 2 * y[:, None], columns=list("abc"))
    X.loc[y == 1, "b"] = np.exp(-X.loc[y == 1, "a"]) + 0.05 * rng.random(60)
    return X, y


def test_the_pair_and_its_class_are_named(table):
    X, y = table
    result = found(GaussianNB(), X, y)
    pair = result.pairs[0]
    assert (pair.first, pair.second, pair.label) == ("a", "b", "1")
    assert pair.correlation < -0.9 < pair.low < -0.2 < 0.2 < pair.high < 0.7
    assert (result.beyond, result.compared, result.tables, result.remark) == (1, 3, 99, "")
    assert found(GaussianNB(), X[["a", "c"]], y).beyond == 0  # the class shifts both, which is no dependence within it


def test_a_covariance_matrix_has_its_correlations(rng):
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 1)) + 0.3 * rng.normal(size=(120, 3)) + y[:, None]
    assert found(GaussianNB(), X, y).beyond == 3
    result = found(GaussianDA(), X, y)
    assert result.beyond == 0 and result.pairs[0].high > 0.8


def test_wide_and_sparse_rows_and_what_cannot_be_compared(rng):
    y = rng.integers(0, 2, 400)
    X = (rng.random((400, 300)) < np.linspace(0.05, 0.4, 300)).astype(float)
    X[:, 299] = X[:, 298]
    result = found(BernoulliNB(), sparse.csr_array(X), y)
    assert result.remark == "the 100 of 300 columns with the largest variance" and result.beyond == 1
    assert (result.pairs[0].first, result.pairs[0].second) == ("column 298", "column 299")
    assert "no distribution of new rows" in found(ComplementNB(), X, y).remark
    assert found(GaussianNB(), X[:20, :2], y[:20]).remark == "no class has 20 rows in which two columns vary"


def test_heavy_tails_and_totals_are_no_finding():
    """Under independence: log-normal cells of a Gaussian model, and multinomial counts, whose total ties them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    assert found(GaussianNB(), np.exp(2 * rng.normal(size=(150, 8))), y).beyond == 0
    counts = rng.multinomial(rng.poisson(30, 150), [0.4, 0.3, 0.2, 0.1]).astype(float)
    assert found(MultinomialNB(), counts, y).beyond == 0


def test_levels_are_compared_by_indicators(rng):
    y = np.arange(200) % 2
    colour = rng.choice(["blue", "green", "red"], 200)
    X = pd.DataFrame({"colour": colour, "paint": np.where(rng.random(200) < 0.8, colour, "red")})
    X["word"] = rng.choice(["x", "y"], 200)
    for nb in (CategoricalNB(), MixedNB()):
        result = found(nb, X, y)
        assert result.compared == 3 and result.beyond == 1
        names = {part.split(" = ")[0] for part in (result.pairs[0].first, result.pairs[0].second)}
        assert names == {"colour", "paint"}
        assert result.pairs[0].first.split(" = ")[1] in {"blue", "green", "red"}


def test_missing_cells_are_left_out(table):
    X, y = table
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    X["empty"] = np.nan
    result = found(GaussianNB(), X, y)
    assert result.beyond == 1 and (result.pairs[0].first, result.pairs[0].second) == ("a", "b")
    assert result.compared == 3


def test_a_likelihood_for_each_class(table):
    """Cells of other classes are not the block's, though the same columns stand in both blocks."""
    X, y = table
    X["d"] = X["a"].where(y == 0, X["c"])
    parts = [("all", {0: GaussianNB(), 1: GaussianNB(variance="pooled")}, list("abcd"))]
    result = found(MixedNB(parts), X, y)
    assert result.compared == 6
    named = {(pair.first, pair.second, pair.label) for pair in result.pairs}
    assert named == {("a", "b", "1"), ("a", "d", "0"), ("c", "d", "1")} and result.beyond == 3


def test_twenty_different_cells_are_just_enough(rng):
    X = rng.normal(size=(40, 2))
    y = np.repeat([0, 1], [20, 20])
    assert found(GaussianNB(), X, y).pairs
    assert found(GaussianNB(), X[1:39], y[1:39]).remark == "no class has 20 rows in which two columns vary"
