"""Forward selection: its settings, rows and predictors left out, simulated rows. `test_spss` has it as loops."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.special as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from bayesnb import CategoricalNB
from bayesnb.analysis.binning import EqualWidthBinner
from bayesnb.analysis.selection import ForwardSelection, SmoothedModel

from ..estimators_table import mostly_slow


def draw(rng, n=60, d=5, c=3, missing=0.15):
    """Rows whose columns tell more and less of the class, as lists, and as an array of objects."""
    y = rng.integers(0, c, n)
    X = (rng.random((n, d)) * 3 + y[:, None] * np.linspace(0, 1, d)).astype(int).astype(object)
    X[rng.random((n, d)) < missing] = None
    X[0] = 0  # at least one row and level everywhere
    return X, y


# --- B(J) from simulated rows ---


@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_simulated_rows_are_drawn_from_the_model(rng, weight):
    """Frequencies of all possible rows, with cells missing as often as in a class, whatever it weighs."""
    X, y = draw(rng, n=40, d=3, c=2, missing=0.3)
    sizes = np.array([max(x for x in column if x is not None) + 1 for column in X.T])
    codes = np.array([[m if x is None else x for x in column] for column, m in zip(X.T, sizes, strict=True)])
    model = SmoothedModel.of(codes, y, np.full(40, weight), sizes, 2)
    drawn, held = model.simulate(200_000, rng), codes < sizes[:, None]
    seen = [[held[j, y == k].mean() for j in range(3)] for k in (0, 1)]
    for row in itertools.product(*(range(m + 1) for m in sizes)):
        mass = sum(
            np.exp(model.log_pi[k])
            * math.prod(seen[k][j] * model.p[j][k, m] if m < sizes[j] else 1 - seen[k][j] for j, m in enumerate(row))
            for k in (0, 1)
        )
        share = (drawn == np.array(row)[:, None]).all(0).mean()
        assert abs(share - mass) < 5 * math.sqrt(mass / 200_000) + 1e-5


def test_the_simulated_normaliser_is_the_mean_of_1000_rows_of_the_model():
    X, y = draw(np.random.default_rng(2), missing=0)
    codes = X.T.astype(int)
    model = SmoothedModel.of(codes, y, np.ones(60), codes.max(1) + 1, 3)
    rows = model.simulate(1000, np.random.default_rng(3))
    reports = [
        ForwardSelection(force=[4], exact_features=1, normalizer=how, seed=3).fit(X, y).report_
        for how in ("exact", "simulated")
    ]
    assert ["1,000 simulated rows" in str(report) for report in reports] == [False, True]
    exact, found = (report.steps["log_likelihood"] for report in reports)
    norm = [-sp.logsumexp(model.log_joint(some, [4]), axis=0).mean() for some in (rows, codes)]
    assert found[0] - exact[0] == pytest.approx(norm[0] - norm[1], rel=1e-9)


# --- rows and predictors left out ---


def test_predictors_that_tell_nothing_are_dropped():
    X = pd.DataFrame({"one": ["c"] * 6, "good": list("ppqqpq"), "none": [None] * 6, "gap": ["c", None] * 3})
    X["late"] = ["c"] * 5 + ["d"]  # its second category only where the target is missing
    y = pd.Series([0, 0, 1, 1, 0, None])
    report = ForwardSelection(force=["one", "good"]).fit(X, y).report_
    assert report.dropped == ("one", "none", "gap", "late")
    assert report.selected == report.forced == ("good",)
    assert "with fewer than two categories: 'one', 'none', 'gap', 'late'" in str(report)


def test_only_observed_categories_are_levels():
    """Codes 0, 2, 5 are three categories, like a, b, c; a declared category without rows is none."""
    rng = np.random.default_rng(9)
    codes, y = rng.integers(0, 3, (50, 2)), rng.integers(0, 2, 50)
    letters, wide = np.array(["a", "b", "c"], dtype=object)[codes], np.array([0, 2, 5])[codes]
    declared = pd.DataFrame(letters).apply(lambda column: pd.Categorical(column, categories=list("abcd")))
    models = [ForwardSelection(exact_features=2).fit(X, y) for X in (letters, wide, codes, declared)]
    for model, X in zip([*models, models[1]], (letters, wide, codes, declared, wide.astype(float)), strict=True):
        np.testing.assert_allclose(model.predict_proba(X), models[0].predict_proba(letters), rtol=1e-12)
    for found in (np.array([[1, 1]]), np.array([[7, np.nan]])):  # 1 lies in the gap, 7 beyond: never seen
        pi = models[1].estimator_.posterior_.classes.log_predictive()
        np.testing.assert_allclose(models[1].predict_proba(found)[0], np.exp(pi), rtol=1e-12)


def test_no_predictor_may_be_the_best_set(rng):
    X, y = rng.integers(0, 2, (200, 3)), np.repeat([0, 1], [150, 50])
    model = ForwardSelection().fit(X, y)
    assert model.report_.selected == () and model.estimator_ is None
    np.testing.assert_allclose(model.predict_proba(X)[0], (np.array([150, 50]) + 1 / 200) / (200 + 2 / 200))
    assert set(model.predict(X)) == {0}
    X, y = load_iris(return_X_y=True, as_frame=True)
    middle = make_pipeline(EqualWidthBinner(), ForwardSelection(exact_features=2), CategoricalNB()).fit(X, y)
    assert middle[2].n_features_in_ == 2
    np.testing.assert_array_equal(np.flatnonzero(middle[1].get_support()), sorted(middle[1].report_.selected))


def test_ties_go_to_the_larger_prior():
    """Mirrored columns: where u says 0 and v says 1, the likelihoods are equal and the prior is not."""
    X = np.array([["a", "a"]] * 3 + [["b", "b"]] * 3, dtype=object)
    both = np.array([["a", "b"], ["b", "a"], [None, None]], dtype=object)
    even = ForwardSelection(exact_features=2).fit(X, [0, 0, 0, 1, 1, 1])
    assert even.predict(both).tolist() == [0, 0, 0]  # equal priors: the first


# --- weights, and rows held out by a column or a mask ---


def test_weights_are_copies_of_rows():
    X, y = draw(np.random.default_rng(18))
    y = y.astype(object)
    y[5] = None
    w = np.random.default_rng(19).integers(0, 4, len(y))
    X[0] = 1
    X[0, 0] = 99  # a category that only a row without weight has
    w[0] = 0
    copies = np.repeat(np.arange(len(y)), w)
    settings = {"max_features": 5, "denominator": "N'"}
    train = np.arange(len(y)) % 3 > 0
    held = [
        ForwardSelection(partition=p).fit(*rows)
        for p, *rows in ((train, X, y, w), (train[copies], X[copies], y[copies]))
    ]
    pd.testing.assert_frame_equal(*(one.report_.steps for one in held), rtol=1e-12)
    assert held[0].report_.error == pytest.approx(held[1].report_.error)
    weighted = ForwardSelection(**settings).fit(X, y, sample_weight=w)
    copied = ForwardSelection(**settings).fit(X[copies], y[copies])
    pd.testing.assert_frame_equal(weighted.report_.steps, copied.report_.steps, rtol=1e-12)
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-12)
    assert weighted.report_.error == pytest.approx(copied.report_.error)
    assert weighted.report_.ignored["no weight"] == (w[np.arange(len(w)) != 5] == 0).sum()
    assert copied.report_.settings["rows_training"] == len(copies) - w[5]
    halves = ForwardSelection(alpha=1.0, class_alpha=1.0, **settings).fit(X, y, sample_weight=w / 2)
    twice = ForwardSelection(alpha=2.0, class_alpha=2.0, **settings).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(halves.predict_proba(X), twice.predict_proba(X), rtol=1e-12)


def test_rows_held_out_by_a_mask_or_at_random():
    X, y = draw(np.random.default_rng(22), n=120)
    frame = pd.DataFrame(X, columns=list("abcde"))
    drawn = ForwardSelection(test_share=0.25, seed=3, max_features=5).fit(frame, y)
    held_out = drawn.held_out_
    np.testing.assert_array_equal(np.bincount(y[held_out]), np.round(0.25 * np.bincount(y)))
    again, other = (ForwardSelection(test_share=0.25, seed=seed).fit(frame, y).held_out_ for seed in (3, 4))
    assert (again == held_out).all() and (other != held_out).any()
    marks = np.where(held_out, np.where(y == 0, 0, 2), 1)  # all but 1 are held out
    for partition in (~held_out, marks, pd.Series(marks, index=range(7, 127))):
        model = ForwardSelection(partition=partition, max_features=5).fit(frame, y)
        pd.testing.assert_frame_equal(model.report_.steps, drawn.report_.steps)
        np.testing.assert_array_equal(model.held_out_, held_out)
        assert model.report_.error == drawn.report_.error
        assert model.report_.settings["criterion"] == "test"
    empty = pd.concat([frame, frame.iloc[:1].assign(**dict.fromkeys("abcde"))])
    assert ForwardSelection().fit(empty, np.append(y, 0)).report_.ignored["no predictor"] == 1


# --- sizes, the initial set, and the criterion ---


def test_the_initial_set_is_kept():
    X, y = draw(np.random.default_rng(10))
    frame = pd.DataFrame(X, columns=list("abcde"))
    report = ForwardSelection(force=["b", "a"], max_features=2).fit(frame, y).report_
    assert report.forced == report.selected[:2] == ("b", "a")
    assert report.steps["n_features"].tolist() == [2, 3, 4]  # the maximum counts beyond the forced ones
    by_position = ForwardSelection(force=[1, 0], max_features=2).fit(frame, y)
    assert by_position.report_.selected == report.selected
    assert set(ForwardSelection(force=["b", "a"]).fit(frame, y).estimator_.feature_names_in_) >= {"a", "b"}
    assert ForwardSelection(force="b").fit(frame, y).report_.forced == ("b",)
    assert "(forced)" in str(report)
    for exact in (1, 3):
        model = ForwardSelection(exact_features=exact, force=[0]).fit(X, y)
        assert model.get_support().sum() == exact + 1
        assert model.report_.steps["best"].tolist() == [False] * exact + [True]
    assert ForwardSelection(exact_features=1).fit(X, y).report_.forced == ()


@pytest.mark.parametrize(("d", "most"), mostly_slow([(40, 20), (300, 60), (700, 100)], lambda case: case[0] < 700))
def test_the_automatic_maximum(d, most, rng):
    report = ForwardSelection().fit(rng.integers(0, 2, (30, d)), np.arange(30) % 2).report_
    assert len(report.steps) == most + 1
    assert len(ForwardSelection(max_features=3).fit(rng.integers(0, 2, (30, d)), np.arange(30) % 2).report_.steps) == 4


# --- the selector among scikit-learn's tools ---


def test_smoothing_by_predictor_and_class():
    X, y = draw(np.random.default_rng(16))
    f, lam = np.array([0.1, 0.2, 0.3, 0.4, 0.5]), [1.0, 2.0, 3.0]
    model = ForwardSelection(alpha=f, class_alpha=lam, exact_features=2).fit(X, y)
    other = CategoricalNB(alpha=f[model.support_], class_alpha=lam, estimate="mean").fit(X[:, model.support_], y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X[:, model.support_]), rtol=1e-12)


def test_what_is_out_of_range_is_named():
    X, y = draw(np.random.default_rng(17))
    frame = pd.DataFrame(X, columns=list("abcde"))
    for settings, message in [
        ({"max_features": 0}, "`max_features` is 0; .* at least 1"),
        ({"max_features": 1.5}, "`max_features` is 1.5"),
        ({"exact_features": -1}, "`exact_features` is -1"),
        ({"exact_features": 5, "force": [0]}, "`exact_features` is 5, but only 4 predictors"),
        ({"criterion": "aic"}, "`criterion` is 'aic'"),
        ({"criterion": "test"}, "no rows are held out; give `test_share`"),
        ({"test_share": 1.0}, "`test_share` is 1.0"),
        ({"test_share": 1e-3}, "0 of 60 usable rows are held out"),
        ({"normalizer": "fast"}, "`normalizer` is 'fast'"),
        ({"denominator": "M"}, "`denominator` is 'M'; choose 'N' or"),
        ({"alpha": 0}, "`alpha` is 0; it needs to be positive"),
        ({"class_alpha": [1, 2, 3, 4]}, "`class_alpha` is shape"),
        ({"force": ["z"]}, "`force` has 'z', which is not a column of `X`; the columns are 'a', 'b'"),
        ({"force": [7]}, "`force` has 7"),
        ({"partition": np.ones(60)}, "0 of 60 usable rows"),
        ({"partition": np.zeros(60)}, "60 of 60"),
        ({"partition": np.ones(59)}, "inconsistent numbers"),
    ]:
        model = ForwardSelection(**settings)
        with pytest.raises(ValueError, match=message):
            model.fit(frame, y)
        assert not hasattr(model, "classes_")  # nothing half fitted
    for X, y, message in [
        ([["a"], ["b"]], [0.0, np.inf], "contains infinity"),
        ([["a"], ["a"]], [0, 1], "no column with two observed categories in the 2 sample"),
        ([["a"], [None]], [None, 1], "no column with two observed categories in the 0 sample"),
        ([["a"], ["b"]], [None, np.nan], "`y` has only missing labels"),
        ([["a"], ["b"]], [0, 1, 0], "inconsistent numbers of samples"),
        ([[0.5], [1.0]], [0, 1], "0.5 in column 0.*Bin the column"),
        ([["a"], ["b"]], [0.5, 1.5], "continuous"),
    ]:
        with pytest.raises(ValueError, match=message):
            ForwardSelection().fit(np.array(X, dtype=object), y)
    X, y = draw(np.random.default_rng(17))
    y[7] = 3
    one_row = ForwardSelection(test_share=0.9).fit(X, y)
    assert one_row.held_out_.mean() > 0.8 and not one_row.held_out_[7]  # every class stays in training


def test_units_of_counts_are_held_out_as_repeated_rows_are():
    """A row of a frequency table may have units in both samples; the result is that of the repeated rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 4)).astype(str)
    y = np.where(rng.random(40) < 0.7, X[:, 0] == "1", X[:, 1] == "2").astype(int)
    counts = rng.integers(0, 6, 40)
    rows, labels = np.repeat(X, counts, 0), np.repeat(y, counts)
    report = ForwardSelection(test_share=0.3).fit(X, y, counts).report_
    expected = ForwardSelection(test_share=0.3).fit(rows, labels).report_
    pd.testing.assert_frame_equal(report.steps, expected.steps, rtol=1e-12)
    pd.testing.assert_frame_equal(report.classification, expected.classification, rtol=1e-12)
    assert report.error == pytest.approx(expected.error, rel=1e-12)
