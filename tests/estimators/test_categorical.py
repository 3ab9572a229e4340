"""CategoricalNB: the forms levels come in."""

import numpy as np
import pandas as pd
import pytest

from bayesnb import CategoricalNB, datasets

COLOURS = ["red", "green", "red", "blue", "green", "red"]
SIZES = [0, 1, 2, 1, 0, 0]
Y = [1, 0, 1, 0, 1, 1]


def by_hand(alpha: float, colour: str | None, size: int | None) -> np.ndarray:
    """Add-α by counting, features with 3 levels each, class prior (N_c + 1)/(N + 2)."""
    p = []
    for c in (0, 1):
        rows = [i for i, label in enumerate(Y) if label == c]
        value = (len(rows) + 1) / (len(Y) + 2)
        for column, level in ((COLOURS, colour), (SIZES, size)):
            if level is not None:
                value *= (sum(column[i] == level for i in rows) + alpha) / (len(rows) + 3 * alpha)
        p.append(value)
    return np.array(p) / sum(p)


def test_whole_numbers_are_codes():
    X = np.array([[0, 3], [1, 0], [0, 1]])
    nb = CategoricalNB(min_categories=[3, 0]).fit(X, [0, 1, 1])
    np.testing.assert_array_equal(nb.n_categories_, [3, 4])
    np.testing.assert_array_equal(CategoricalNB().fit(X.astype(float), [0, 1, 1]).n_categories_, [2, 4])
    np.testing.assert_array_equal(CategoricalNB().fit(X.astype(bool), [0, 1, 1]).n_categories_, [2, 2])


@pytest.mark.parametrize("unknown", ["violet", None, np.nan, pd.NA])
def test_unknown_and_missing_levels_are_left_out(unknown):
    nb = CategoricalNB(alpha=0.5).fit(pd.DataFrame({"colour": COLOURS, "size": SIZES}), Y)
    row = pd.DataFrame({"colour": pd.Series([unknown], dtype=object), "size": [1]})
    np.testing.assert_allclose(nb.predict_proba(row)[0], by_hand(0.5, None, 1), rtol=1e-12)
    number = CategoricalNB().fit([[0], [1]], [0, 1])
    np.testing.assert_allclose(number.predict_proba([[7.0], [0.5], [-1.0], [np.nan]]), 0.5)


def test_levels_of_another_type_are_warned_of():
    for fitted, asked, said in (
        (["10", "20", "30"], [10.0, np.nan, 30], "no known level in column 'zip', .* has 10.0, .* like '10'"),
        ([0, 1, 2], ["1", None, "2"], "no known level in column 'zip', .* has '1', .* like 0"),
        (pd.Categorical([10, 20, 10]), ["10", "20", "10"], "has '10', .* like 10"),
    ):
        nb = CategoricalNB().fit(pd.DataFrame({"zip": fitted}), [0, 1, 1])
        with pytest.warns(UserWarning, match=said):
            p = nb.predict_proba(pd.DataFrame({"zip": asked}))
        np.testing.assert_allclose(p, np.tile([0.4, 0.6], (3, 1)))
        nb.predict(pd.DataFrame({"zip": pd.Series([None, None], dtype=object)}))  # nothing to warn of
        if isinstance(fitted[0], str):
            nb.predict(pd.DataFrame({"zip": ["40", "50"]}))


def test_house_votes_equal_r():
    """R's e1071::naiveBayes on the same table: missing cells left out, class prior not smoothed, laplace = 3 and 0."""
    votes = datasets.load("votes")
    prior = [np.mean(votes.y == "democrat"), np.mean(votes.y == "republican")]
    nb = CategoricalNB(alpha=3, class_prior=prior).fit(votes.X, votes.y)
    found = nb.predict_proba(votes.X[:3])[:, 0]
    np.testing.assert_allclose(found, [1.98420977300e-07, 1.13372728390e-07, 6.55169849281e-03], rtol=1e-9)
    plain = nb.set_params(estimate="mle").predict_proba(votes.X[:3])[:, 0]
    np.testing.assert_allclose(plain, [1.02920870860e-07, 5.82041510597e-08, 5.68493662017e-03], rtol=1e-9)


@pytest.mark.parametrize("levels", [[2**60 + 1, 2**60 + 3], list(pd.to_datetime(["2026-01-01", "2026-02-01"]))])
def test_declared_levels_keep_their_type_beside_a_missing_cell(levels):
    """pandas would make floats of the numbers, which are then equal."""
    X = pd.DataFrame({"a": pd.Categorical(levels * 10)})
    nb = CategoricalNB().fit(X, [0, 1] * 10)
    assert [type(one) for one in nb.categories_[0]] == [type(one) for one in levels]
    X.loc[0, "a"] = None
    assert nb.predict_proba(X)[:, 0].tolist() == pytest.approx([0.5, *([1 / 12, 11 / 12] * 10)[:-1]])


def test_real_numbers_and_wild_codes_are_refused():
    with pytest.raises(ValueError, match=r"`X` has 0.5 in column 1.*Bin the column"):
        CategoricalNB().fit([[1, 0.5], [0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match="as strings"):
        CategoricalNB().fit([[10**9], [1]], [0, 1])
