"""Bins of equal width and of the largest evidence: their boundaries, and what scikit-learn and the models expect."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from bayesnb.analysis.binning import EqualWidthBinner, EvidenceBinner
from bayesnb.analysis.selection import ForwardSelection


def column(*values):
    return np.array(values, float)[:, None]


def slow_edges(values, n_bins):
    """The rule, bin after bin; `test_spss` has the bins of cells, some of which lie on a boundary."""
    low, high = min(values), max(values)
    inner = [low + (high - low) * i / n_bins for i in range(1, n_bins)]
    ends = [-np.inf, *inner, np.inf]
    full = [b for b in range(n_bins) if any(ends[b] < value <= ends[b + 1] for value in values)]
    middles = [(ends[left + 1] + ends[right]) / 2 for left, right in itertools.pairwise(full)]
    return [low, *middles, high]


@pytest.mark.parametrize("n_bins", [1, 3, 100])
def test_the_slow_twin(n_bins, rng):
    for _ in range(20):
        values = np.concatenate([rng.normal(size=rng.integers(2, 30)), 10 * rng.normal(size=3)])
        binner = EqualWidthBinner(n_bins).fit(values[:, None])
        # both round the same few sums: a hundredth of a bin would be 1e-4
        np.testing.assert_allclose(binner.edges_[0], slow_edges(values.tolist(), n_bins), atol=1e-12)


def test_missing_cells_stay_missing_and_far_values_go_to_the_ends():
    binner = EqualWidthBinner(2).fit(column(0, 1, np.nan))
    np.testing.assert_array_equal(binner.transform(column(np.nan, -7, 99))[:, 0], [np.nan, 0, 1])
    empty = np.array([[0, np.nan], [1, np.nan]])
    binner = EqualWidthBinner(2).fit(empty)
    assert binner.n_bins_.tolist() == [2, 0]
    assert np.isnan(binner.transform([[0, 3.0]])[0, 1])


def test_a_constant_column_has_one_bin():
    """As in the procedure, which ignores it; a fold of cross-validation may leave a column constant."""
    frame = pd.DataFrame({"a": [0.0, 1, 2], "b": [3.5, None, 3.5]})
    binner = EqualWidthBinner(2).fit(frame)
    assert binner.n_bins_.tolist() == [2, 1]
    assert binner.edges_[1].tolist() == [3.5, 3.5]
    found = binner.transform(pd.DataFrame({"a": [0.0, 2, 3], "b": [-7, None, 99]}))
    np.testing.assert_array_equal(found[:, 1], [0, np.nan, 0])
    X = np.column_stack([np.r_[np.zeros(30), 1], np.arange(31.0)])  # only the last row, in one fold, has another value
    y = np.arange(31) > 15
    scores = cross_val_score(make_pipeline(EqualWidthBinner(), ForwardSelection()), X, y, cv=3)
    assert np.isfinite(scores).all()


def log_evidence(values, y, cuts, alpha, n_classes):
    """log p(y | bins) + log p(bins), bin after bin, label after label."""
    n, n_bins, total = len(y), len(cuts) + 1, 0.0
    for low, high in itertools.pairwise([-np.inf, *cuts, np.inf]):
        seen = [0] * n_classes
        for label in y[(low < values) & (values <= high)]:
            total += math.log((seen[label] + alpha) / (sum(seen) + n_classes * alpha))
            seen[label] += 1
    return total - math.log(n) - math.log(math.comb(n + n_bins - 1, n_bins - 1))


def brute_force(values, y, alpha, n_classes):
    """The largest evidence over all sets of cuts between distinct values."""
    distinct = np.unique(values)
    between = distinct[:-1] / 2 + distinct[1:] / 2
    sets = itertools.chain.from_iterable(itertools.combinations(between, k) for k in range(len(distinct)))
    return max(log_evidence(values, y, cuts, alpha, n_classes) for cuts in sets)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 3.5])
def test_no_set_of_cuts_has_a_larger_evidence(alpha, rng):
    """All 2⁷ sets of cuts at most, with and without ties, from no signal to a class for each value."""
    bins = []
    for trial in range(30):
        n, n_classes = rng.integers(8, 40), 2 + trial % 3
        values = rng.integers(0, 8, n).astype(float)
        y = np.where(rng.random(n) < trial / 30, values.astype(int) // (1 + trial % 2), rng.integers(0, 99, n))
        y = np.unique(y % n_classes, return_inverse=True)[1]
        if len(np.unique(y)) < 2:
            continue
        binner = EvidenceBinner(alpha).fit(values[:, None], y)
        best = brute_force(values, y, alpha, y.max() + 1)
        # sums of forty logarithms
        np.testing.assert_allclose(binner.log_evidence_[0], best, rtol=1e-11)
        found = log_evidence(values, y, binner.edges_[0][1:-1], alpha, y.max() + 1)
        np.testing.assert_allclose(found, best, rtol=1e-11)
        bins.append(binner.n_bins_[0])
    assert len(set(bins)) >= 3


def test_evidence_bins_keep_missing_cells_and_need_no_signal(rng):
    y = np.repeat([0, 1], 20)
    X = np.column_stack([y + 0.0, np.full(40, 7.0), np.tile([0.0, 1], 20), np.full(40, np.nan)])
    X[::4, 0] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    binner = EvidenceBinner().set_output(transform="pandas").fit(frame, y)
    assert binner.n_bins_.tolist() == [2, 1, 1, 0]
    codes = binner.transform(frame)
    assert codes.columns.tolist() == list("abcd")
    np.testing.assert_array_equal(codes["a"], X[:, 0])
    np.testing.assert_array_equal(codes["b"], 0)
    assert codes["d"].isna().all()
    without = EvidenceBinner().fit(X[~np.isnan(X[:, 0])], y[~np.isnan(X[:, 0])])
    assert without.log_evidence_[0] == binner.log_evidence_[0]  # rows without a value do not count


def test_what_is_out_of_range_is_named():
    for n_bins in (0, -1, 2.5, "ten", None):
        with pytest.raises(ValueError, match=r"`n_bins` is .* whole number, at least 1"):
            EqualWidthBinner(n_bins).fit(column(0, 1))
    for alpha in (0, -1, np.nan, np.inf, "one", None):
        with pytest.raises(ValueError, match=r"`alpha` is .*positive"):
            EvidenceBinner(alpha).fit(column(0, 1), [0, 1])
    with pytest.raises(ValueError, match=r"`max_cuts` is 0; it needs to be a whole number, at least 1"):
        EvidenceBinner(max_cuts=0).fit(column(0, 1), [0, 1])
    with pytest.raises(ValueError, match=r"[Cc]ontinuous"):
        EvidenceBinner().fit(column(0, 1, 2), [0.5, 1.5, 2.25])


def test_candidates_between_rows_of_one_class_are_never_needed():
    """With the limit at the number of places where the class changes nothing is lost; below it something may be."""
    values, y = np.arange(40.0)[:, None], np.repeat([0, 1, 0, 2], 10)
    edges = [EvidenceBinner(max_cuts=most).fit(values, y).edges_[0].tolist() for most in (1000, 3, 1)]
    assert edges == [[0, 9.5, 19.5, 29.5, 39]] * 2 + [[0, 19.5, 39]]
    assert EvidenceBinner().__sklearn_tags__().target_tags.required
    both = np.repeat([0, 1, 0, 1], [90, 10, 60, 40])  # two values that have the same two classes, in other shares
    assert EvidenceBinner().fit(np.repeat([[0.0], [1.0]], 100, 0), both).n_bins_ == [2]
