"""What weights mean: counts are repeated rows, importance is one row of that weight."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesnb.numerics.weights import row_weights


@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1, 2, 2, 3])])
def test_counts_have_the_sums_of_repeated_rows(groups):
    rng = np.random.default_rng(0)
    counts, t = np.array([3, 1, 0, 7, 2, 1]), rng.normal(size=(2, 6))
    t[:, 2] = -np.inf  # a row of weight 0 has no term
    repeated = None if groups is None else np.repeat(groups, counts)
    whole, units = row_weights(counts, 6), row_weights(None, 14)
    np.testing.assert_allclose(whole.total_of(t), units.total_of(np.repeat(t, counts, 1)), rtol=1e-13)
    np.testing.assert_allclose(
        whole.standard_error(t, groups), units.standard_error(np.repeat(t, counts, 1), repeated), rtol=1e-13
    )


def test_the_standard_error_of_counts_is_that_of_the_textbook():
    counts, t = np.array([3, 1, 2]), np.array([0.5, -1.0, 2.0])
    expected = np.sqrt(6 * np.var(np.repeat(t, counts)))
    assert row_weights(counts, 3).standard_error(t) == pytest.approx(expected, rel=1e-14)


def test_the_standard_error_of_importance_is_that_of_the_weighted_mean():
    w, t = np.array([0.5, 1.5, 2.0]), np.array([0.5, -1.0, 2.0])
    mean = w @ t / w.sum()
    expected = np.sqrt(((w * (t - mean)) ** 2).sum())
    assert row_weights(w, 3).standard_error(t) == pytest.approx(expected, rel=1e-14)
    with_zeros = row_weights(np.append(w, np.zeros(40)), 43)
    assert with_zeros.standard_error(np.append(t, np.full(40, np.nan))) == pytest.approx(expected, rel=1e-14)


def test_weights_of_one_are_the_same_of_any_type():
    t, groups = np.random.default_rng(1).normal(size=9), np.arange(9) // 2
    for weight in (np.ones(9), np.ones(9, int), np.ones(9, bool), pd.Series([1] * 9, dtype="Int64"), 1, 1.0):
        weights = row_weights(weight, 9)
        assert weights.standard_error(t, groups) == row_weights(None, 9).standard_error(t, groups)
        assert weights.leaving.tolist() == [1.0] * 9
        assert weights.effective == weights.total == 9.0


def test_what_leaves():
    assert row_weights([3, 0, 1], 3).leaving.tolist() == [1, 0, 1]
    assert row_weights([0.5, 0, 1], 3).leaving.tolist() == [0.5, 0, 1]
    assert row_weights([True, False], 2).are_counts
    assert row_weights(np.array([2, 1], object), 2).are_counts
    assert not row_weights(np.array([2, 0.5], object), 2).are_counts


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        ([2.0, 1.0], "sample_weight.astype(int)"),
        (np.array([90, 10, 20, 80]), "sample_weight.astype(float)"),
        (np.array([1, 1, 400]), "sample_weight.astype(float)"),
    ],
)
def test_a_doubtful_type_is_named_with_its_cast(weight, text):
    with pytest.warns(UserWarning, match=re.escape(text)) as seen:
        weights = row_weights(weight, len(weight))
        assert row_weights(weights, len(weight)) is weights  # no second warning
    assert len(seen) == 1


@pytest.mark.parametrize("weight", [[0.5, 3.0], [1.0, 0.0], [1, 3, 0], [0, 0], [True, False], None])
def test_types_without_doubt(weight):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row_weights(weight, 2 if weight is None else len(weight))


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        ({}, "`sample_weight` holds no numbers"),
        ([1, 10**400], "`sample_weight` holds no numbers"),
        (["a", "b"], "`sample_weight` holds no numbers"),
        ([1.0], "`sample_weight` has shape (1,); it needs one weight for each of 2 rows"),
        ([1.0, np.nan], "`sample_weight` has NaN or infinite values"),
        ([1.0, -2.0], "`sample_weight` has negative values (minimum -2)"),
    ],
)
def test_bad_weights_are_named(weight, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        row_weights(weight, 2)
