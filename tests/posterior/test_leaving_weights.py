"""What leaves with a row: one unit of a count, all of an importance weight; and the digits that remain."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MixedNB, MultinomialNB, PoissonNB, compare
from bayesnb.analysis.importance import importance
from bayesnb.estimators import ComplementNB, ExponentialNB, GeometricNB, OneDependenceNB
from bayesnb.posterior.loo import copies
from bayesnb.sums.statistics import one_hot

from ..estimators_table import mostly_slow

N_ROWS = 10
CASES = {  # an estimator, and how its cells are drawn
    "gaussian": (GaussianNB(), "normal"),
    "pooled": (GaussianNB(variance="pooled"), "normal"),
    "known variance": (GaussianNB(known_variance=1.0), "normal"),
    "covariance": (GaussianDA(), "normal"),
    "shared covariance": (GaussianDA(covariance="shared"), "normal"),
    "poisson": (PoissonNB(), "counts"),
    "multinomial": (MultinomialNB(), "counts"),
    "small alpha": (MultinomialNB(alpha=1e-3), "counts"),
    "complement": (ComplementNB(), "counts"),
    "geometric": (GeometricNB(), "counts"),
    "exponential": (ExponentialNB(), "amounts"),
    "bernoulli": (BernoulliNB(), "yes/no"),
    "tiny alpha": (BernoulliNB(alpha=1e-6, class_alpha=1e-6), "yes/no"),
    "categorical": (CategoricalNB(min_categories=3), "levels"),
    "one dependence": (OneDependenceNB(min_categories=3), "levels"),
    "mixed": (MixedNB([("n", GaussianNB(), [0, 1]), ("p", PoissonNB(), [2])]), "counts"),
}
QUICK = {"gaussian", "covariance", "poisson", "tiny alpha", "one dependence", "mixed"}
EACH_CASE = pytest.mark.parametrize("name", mostly_slow(list(CASES), lambda name: name in QUICK))


def table(kind, rng):
    """Rows of three columns, and labels of two classes."""
    shape = N_ROWS, 3
    draw = {
        "normal": lambda: rng.normal(size=shape),
        "counts": lambda: rng.poisson(2, shape),
        "amounts": lambda: rng.exponential(1, shape),
        "yes/no": lambda: rng.random(shape) < 0.5,
        "levels": lambda: rng.integers(0, 3, shape),
    }
    return draw[kind]().astype(float), np.arange(N_ROWS) % 2


def repeated(counts, *arrays):
    return [np.repeat(values, counts, 0) for values in arrays]


def sums(result):
    """All sums over rows that a result shows."""
    names = "elpd", "se", "elpd_joint", "se_joint", "p_loo", "p_loo_joint", "accuracy", "log_loss"
    return np.array([getattr(result, name) for name in names])


@pytest.mark.parametrize("settings", ["each row", "groups", "refit"])
@EACH_CASE
def test_counts_are_repeated_rows(name, settings):
    nb, kind = CASES[name]
    rng = np.random.default_rng(0)
    X, y = table(kind, rng)
    counts = np.array([1, 3, 0, 2, 5, 1, 1, 4, 2, 1])
    groups = np.arange(N_ROWS) // 3
    rows, labels, row_groups = repeated(counts, X, y, groups)
    arguments = {"prior": "refit" if settings == "refit" else "kept"}
    fitted, units = clone(nb).fit(X, y, counts), clone(nb).fit(rows, labels)
    if settings == "groups":
        result = fitted.loo(X, y, counts, groups=groups, **arguments)
        expected = units.loo(rows, labels, groups=row_groups, **arguments)
    else:
        result, expected = fitted.loo(X, y, counts, **arguments), units.loo(rows, labels, **arguments)
    assert result.are_counts
    digits = 1e-10 if name == "tiny alpha" else 1e-12  # 1e-6 beside a count of 20 has ten digits on either side
    np.testing.assert_allclose(repeated(counts, result.log_joint)[0], expected.log_joint, rtol=digits, atol=digits)
    np.testing.assert_allclose(sums(result), sums(expected), rtol=1e-12, atol=1e-12 * abs(expected.elpd_joint))
    assert "weights count 20 rows" in str(result)
    np.testing.assert_allclose(result.to_arviz("y_given_x").se, expected.to_arviz("y_given_x").se, rtol=digits)


def test_a_frequency_table():
    """Four rows with counts: their own label is in 90 or 80 other units."""
    X, y = np.array([["a"], ["a"], ["b"], ["b"]]), np.array(["n", "s", "n", "s"])
    counts = np.array([90, 10, 20, 80])
    with pytest.warns(UserWarning, match=r"sample_weight.astype\(float\)"):
        result = CategoricalNB().fit(X, y, counts).loo(X, y, counts)
    assert result.accuracy == 0.85
    with pytest.warns(UserWarning, match=r"sample_weight.astype\(int\)"):
        assert CategoricalNB().fit(X, y, counts).loo(X, y, counts.astype(float)).accuracy == 0.0


@pytest.mark.parametrize("weight", [np.array([1, 2, 1, 3, 1, 2, 1, 1, 2, 1]), np.linspace(0.3, 2, N_ROWS)], ids=repr)
@pytest.mark.parametrize("prior", ["kept", "refit"])
def test_rows_without_weight_change_nothing(weight, prior):
    X, y = table("normal", np.random.default_rng(1))
    more = np.concatenate([X, np.full((40, 3), 1e3)]), np.concatenate([y, np.zeros(40, int)])
    weights = np.concatenate([weight, np.zeros(40, weight.dtype)])
    nb = GaussianNB().fit(X, y, weight)
    result = nb.loo(*more, weights, prior=prior)
    expected = nb.loo(X, y, weight, prior=prior)
    np.testing.assert_allclose(sums(result), sums(expected), rtol=1e-12)
    found, alone = importance(nb, *more, weights), importance(nb, X, y, weight)
    pd.testing.assert_frame_equal(found, alone, rtol=1e-12)
    pair = {"a": GaussianNB(), "b": GaussianDA()}
    found, alone = compare(pair, *more, weights).table, compare(pair, X, y, weight).table
    pd.testing.assert_frame_equal(found, alone, rtol=1e-9)


@pytest.mark.parametrize("groups", [None, np.arange(N_ROWS) // 2], ids=["rows", "groups"])
def test_compare_and_importance_take_counts_as_repeated_rows(groups):
    X, y = table("counts", np.random.default_rng(2))
    counts = np.array([1, 3, 0, 2, 5, 1, 1, 4, 2, 1])
    rows, labels = repeated(counts, X, y)
    row_groups = None if groups is None else np.repeat(groups, counts)
    models = {"gaussian": GaussianNB(), "poisson": PoissonNB(), "multinomial": MultinomialNB()}
    result = compare(models, X, y, counts, groups=groups).table
    expected = compare(models, rows, labels, groups=row_groups).table
    pd.testing.assert_frame_equal(result.drop(columns="stacking"), expected.drop(columns="stacking"), rtol=1e-12)
    np.testing.assert_allclose(result["stacking"], expected["stacking"], rtol=1e-12, atol=1e-12)
    for nb in models.values():
        fitted, units = clone(nb).fit(X, y, counts), clone(nb).fit(rows, labels)
        result = importance(fitted, X, y, counts, groups=groups)
        expected = importance(units, rows, labels, groups=row_groups)
        pd.testing.assert_frame_equal(result, expected, rtol=1e-12, atol=1e-13)


def test_a_doubtful_type_is_told_once_by_compare():
    X, y = table("normal", np.random.default_rng(3))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compare({"a": GaussianNB(), "b": GaussianDA()}, X, y, np.full(N_ROWS, 2.0))
    assert [str(warning.message)[:15] for warning in seen] == ["`sample_weight`"]


def test_copies_that_leave_together_are_one_term():
    """Twenty copies of each row: as groups they have the standard error of one row, scaled; as rows it is √20 less."""
    X, y = table("normal", np.random.default_rng(4))
    rows, labels = repeated(np.full(N_ROWS, 20), X, y)
    nb = GaussianNB().fit(rows, labels)
    together = nb.loo(rows, labels, groups=copies(rows, labels))
    with pytest.warns(UserWarning, match="astype"):
        once = nb.loo(X, y, np.full(N_ROWS, 20.0))
    np.testing.assert_allclose(sums(together), sums(once), rtol=1e-9)
    apart = nb.loo(rows, labels, groups=np.arange(len(labels)))
    with pytest.warns(UserWarning, match="astype"):
        units = nb.loo(X, y, np.full(N_ROWS, 20))
    np.testing.assert_allclose(sums(apart), sums(units), rtol=1e-12)


# --- digits -----------------------------------------------------------------------------------------------------------


def log_joint_without(nb, fitted, X, y, weight, others, row, prior):
    """log p(x_i, y = c | the others), by summing these."""
    if prior == "refit":
        alone = clone(nb).partial_fit(X[others], y[others], fitted.classes_, weight[others])
        return alone.posterior_.log_joint(alone.model_.encode(X[[row]]))[0]
    rows, r = fitted.model_.encode(X), one_hot(y, len(fitted.classes_), weight)
    stats = fitted.prior_.suffstats({name: x[others] for name, x in rows.items()}, r[others])
    return fitted.prior_.update(stats).log_joint(fitted.model_.encode(X[[row]]))[0]


@pytest.mark.parametrize("prior", ["kept", "refit"])
@pytest.mark.parametrize("together", [1, pytest.param(2, marks=pytest.mark.slow)])
@EACH_CASE
@pytest.mark.filterwarnings("ignore:`sample_weight` has a float type")
def test_nine_digits_remain_beside_any_weight(name, together, prior):
    """Weights from 1e-8 to 1e8, all at random or a few heavy rows among light ones, against new sums."""
    nb, kind = CASES[name]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = table(kind, rng)
        weight = 10.0 ** rng.uniform(-8, 8, N_ROWS)
        if seed % 2:
            weight = np.where(rng.random(N_ROWS) < 0.2, 10.0 ** (4 + 2 * rng.integers(3)), 1e-2)
        group = np.arange(N_ROWS) // together
        fitted = clone(nb).fit(X, y, weight)
        groups = None if together == 1 else group
        result = fitted.loo(X, y, weight, prior=prior, groups=groups).log_joint
        for i in range(N_ROWS):
            expected = log_joint_without(nb, fitted, X, y, weight, group != group[i], i, prior)
            np.testing.assert_allclose(result[i], expected, rtol=2e-9, atol=2e-9)


@pytest.mark.parametrize("heavy", [1e6, 1e8])
def test_a_small_pseudo_count_beside_a_heavy_row(heavy):
    X, y, weight = np.array([[1.0, 0], [1, 0], [0, 1], [1, 1]]), np.array([0, 0, 0, 1]), np.array([heavy, 0.7, 0.2, 1])
    nb = BernoulliNB(alpha=1e-6, class_alpha=1e-6)
    fitted = clone(nb).fit(X, y, weight)
    result = fitted.loo(X, y, weight).log_joint
    for i in range(4):
        expected = log_joint_without(nb, fitted, X, y, weight, np.arange(4) != i, i, "refit")
        np.testing.assert_allclose(result[i], expected, rtol=1e-9, atol=1e-9)


def test_a_light_row_beside_a_heavy_one_is_fitted():
    """The weight of the zeros is summed: as a difference of 1e8 it would be 0."""
    X, y, weight = np.array([[1.0], [0.0]]), np.array([0, 0]), np.array([1e8, 3e-5])
    for x in (X, pd.DataFrame(X)):
        counts = BernoulliNB(alpha=1e-8).partial_fit(x, y, [0, 1], weight).posterior_.blocks["x"].b
        assert counts[0, 0] == pytest.approx(3e-5 + 1e-8, rel=1e-12)


def test_a_light_empty_cell_of_sparse_rows_is_fitted():
    """Level 0 of sparse rows is what is not stored: beside a weight of 1e8 it is summed."""
    X, y, weight = np.array([[1.0, 2], [0.0, 2], [1, 0]]), np.array([0, 0, 0]), np.array([1e8, 3e-5, 0.7])
    levels = []
    for rows in (X, sparse.csr_array(X)):
        fitted = CategoricalNB(min_categories=3).partial_fit(rows, y, [0, 1], weight)
        levels += [block.alpha for block in fitted.posterior_.blocks.values()]
    dense, alpha = levels
    np.testing.assert_allclose(alpha, dense, rtol=1e-13)


def test_too_few_digits_are_refused_where_other_rows_are_not_given():
    X, y = table("normal", np.random.default_rng(5))
    weight = np.where(np.arange(N_ROWS) == 4, 1e8, 1e-2)
    fitted = GaussianNB().fit(X, y, weight)
    text = "Without row 2 of `X` fewer than nine digits of the statistics would remain, because a weight of 1e+08"
    with pytest.raises(ValueError, match=re.escape(text)):
        fitted.loo(X[2:6], y[2:6], weight[2:6], prior="refit")
    fitted.loo(X[5:], y[5:], weight[5:], prior="refit")
