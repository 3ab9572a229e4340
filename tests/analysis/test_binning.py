"""Bins of equal width: their boundaries, none of them empty, and what scikit-learn and the models expect of them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesnb import CategoricalNB
from bayesnb.analysis.binning import EqualWidthBinner


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([EqualWidthBinner(), EqualWidthBinner(1)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def column(*values):
    return np.array(values, float)[:, None]


def test_widths_are_equal_and_bins_closed_on_the_right():
    binner = EqualWidthBinner(4).fit(column(0, 1, 2, 3, 4))
    np.testing.assert_array_equal(binner.edges_[0], [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(binner.transform(column(0, 1, 1.01, 2, 3, 4))[:, 0], [0, 0, 1, 1, 2, 3])


def test_a_gap_is_shared_by_the_bins_beside_it():
    """(2, 3] … (7, 8] hold nothing: their boundaries 2 … 8 become one at 5."""
    binner = EqualWidthBinner(10).fit(column(0, 1, 2, 9, 10))
    np.testing.assert_array_equal(binner.edges_[0], [0, 1, 5, 9, 10])
    np.testing.assert_array_equal(binner.n_bins_, [4])
    np.testing.assert_array_equal(binner.transform(column(4.9, 5, 5.1))[:, 0], [1, 1, 2])


def slow_edges(values, n_bins):
    """The rule, bin after bin."""
    low, high = min(values), max(values)
    inner = [low + (high - low) * i / n_bins for i in range(1, n_bins)]
    ends = [-np.inf, *inner, np.inf]
    full = [b for b in range(n_bins) if any(ends[b] < value <= ends[b + 1] for value in values)]
    middles = [(ends[left + 1] + ends[right]) / 2 for left, right in itertools.pairwise(full)]
    return [low, *middles, high]


@pytest.mark.parametrize("n_bins", [1, 2, 3, 10, 100])
def test_the_slow_twin(n_bins, rng):
    for _ in range(20):
        values = np.concatenate([rng.normal(size=rng.integers(2, 30)), 10 * rng.normal(size=3)])
        binner = EqualWidthBinner(n_bins).fit(values[:, None])
        # both round the same few sums: a hundredth of a bin would be 1e-4
        np.testing.assert_allclose(binner.edges_[0], slow_edges(values.tolist(), n_bins), atol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        [1, np.nextafter(1, 2)],
        [1, np.nextafter(1, 2), np.nextafter(np.nextafter(1, 2), 2)],
        [5e-324, 1e-323],
        [-1.7e308, 0, 1.7e308],
        [0, 1e-300, 1],
        [-1300.9456497604951, -1300.9456497604949, -1300.9456497604942],  # boundaries that rounding puts out of order
        [1e9, 1e9 + 1, 1e9 + 2, 2e9],
    ],
)
@pytest.mark.parametrize("n_bins", [1, 2, 10, 1000])
def test_no_bin_is_empty(values, n_bins):
    binner = EqualWidthBinner(n_bins).fit(column(*values))
    codes = binner.transform(column(*values))[:, 0]
    assert set(codes) == set(range(binner.n_bins_[0]))
    assert (np.diff(codes) >= 0).all()


def test_missing_cells_stay_missing_and_far_values_go_to_the_ends():
    binner = EqualWidthBinner(2).fit(column(0, 1, np.nan))
    np.testing.assert_array_equal(binner.transform(column(np.nan, -7, 99))[:, 0], [np.nan, 0, 1])
    empty = np.array([[0, np.nan], [1, np.nan]])
    binner = EqualWidthBinner(2).fit(empty)
    assert binner.n_bins_.tolist() == [2, 0]
    assert np.isnan(binner.transform([[0, 3.0]])[0, 1])


def test_data_frames_keep_their_names():
    frame = pd.DataFrame({"a": [0.0, 1, 2], "b": [3.0, None, 5]})
    binner = EqualWidthBinner(2).set_output(transform="pandas").fit(frame)
    assert binner.get_feature_names_out().tolist() == ["a", "b"]
    pd.testing.assert_frame_equal(binner.transform(frame), pd.DataFrame({"a": [0.0, 0, 1], "b": [0, np.nan, 1]}))


def test_a_categorical_model_takes_the_codes():
    X, y = load_iris(return_X_y=True)
    X[::7, 2] = np.nan
    model = make_pipeline(EqualWidthBinner(5), CategoricalNB()).fit(X, y)
    np.testing.assert_array_equal(model[1].n_categories_, model[0].n_bins_)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, "ten", True, None])
def test_a_number_of_bins_that_is_none(n_bins):
    with pytest.raises(ValueError, match=r"`n_bins` is .* whole number of at least 1"):
        EqualWidthBinner(n_bins).fit(column(0, 1))


def test_constant_columns_are_named():
    frame = pd.DataFrame({"a": [0.0, 1, 2], "b": [3.5, None, 3.5]})
    binner = EqualWidthBinner()
    with pytest.raises(ValueError, match=r"constant column 'b' of `X`, which is 3.5 in all 2 rows.*Drop the column"):
        binner.fit(frame)
    with pytest.raises(ValueError, match="constant column 1 "):
        binner.fit(frame.to_numpy())
    assert not hasattr(binner, "edges_")  # nothing half fitted
