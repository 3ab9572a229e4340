"""Mixed columns: the parts are those estimators, the table is their sum, and what cannot be split is told."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.model_selection import GridSearchCV

from bayesnb import BernoulliNB, CategoricalNB, GaussianDA, GaussianNB, MixedNB, MultinomialNB, PoissonNB, datasets
from bayesnb.estimators import ComplementNB

NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
PARTS = [
    ("size", GaussianNB(), NUMBERS),
    ("where", CategoricalNB(alpha=0.5), ["island", "sex"]),
    ("year", "drop", "year"),
]


@pytest.fixture(scope="module")
def penguins():
    data = datasets.load("penguins")
    return data.X, data.y


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
@pytest.mark.filterwarnings("ignore:the posterior mode:UserWarning")
def test_the_table_is_the_sum_of_the_parts(penguins, estimate):
    X, y = penguins
    mixed = MixedNB(PARTS, estimate=estimate).fit(X, y)
    total = log_pi = mixed.class_log_prior_
    for _, estimator, columns in PARTS[:2]:
        alone = clone(estimator).set_params(estimate=estimate).fit(X[columns], y)
        total = total + alone.predict_joint_log_proba(X[columns]) - log_pi
    np.testing.assert_allclose(mixed.predict_joint_log_proba(X), total, rtol=1e-10)


def test_columns_by_name_position_mask_slice_type_and_function(penguins):
    X, y = penguins
    types = {"dtype_include": float}, {"dtype_exclude": "number"}, {"dtype_include": int}
    tables = []
    for columns in (
        (NUMBERS, ["island", "sex"], "year"),
        ([1, 2, 3, 4], [0, 5], 6),
        (np.isin(X.columns, NUMBERS), ~np.isin(X.columns, [*NUMBERS, "year"]), [-1]),
        (slice("bill_length_mm", "body_mass_g"), [0, 5], slice(6, 7)),
        [make_column_selector(**some) for some in types],
    ):
        parts = zip(("size", "where", "year"), (GaussianNB(), CategoricalNB(), "drop"), columns, strict=True)
        tables.append(MixedNB([*parts]).fit(X, y).predict_log_proba(X))
    for table in tables[1:]:
        np.testing.assert_array_equal(table, tables[0])


def test_auto_reads_the_types(penguins):
    X, y = penguins
    X = X.assign(heavy=X["body_mass_g"] > 4000, marked=X["year"] % 2, kind=pd.Categorical(X["sex"]))
    fitted = MixedNB().fit(X, y)
    found = [(name, type(nb), list(X.columns[columns])) for name, nb, columns in fitted.parts_]
    numbers, levels = ("numbers", GaussianNB, [*NUMBERS, "year"]), ("levels", CategoricalNB, ["island", "sex", "kind"])
    assert found == [("yes_no", BernoulliNB, ["heavy", "marked"]), numbers, levels]
    assert fitted.score(X, y) > 0.95
    same = MixedNB().fit(pl.from_pandas(X.drop(columns="kind")), y)
    assert [list(columns) for _, _, columns in same.parts_] == [[7, 8], [1, 2, 3, 4, 6], [0, 5]]


def test_auto_leaves_out_what_its_contract_leaves_out(penguins):
    """A column that varies only among the held-out rows is no reason to refuse these."""
    X, y = penguins
    X = X.assign(claims=np.where(np.arange(len(y)) == 300, 1887, 0), empty=np.nan, one=7.5, word="a")
    early = np.arange(len(y)) % 2 == 1
    nb, plain = MixedNB().fit(X[early], y[early]), MixedNB().fit(penguins[0][early], y[early])
    assert {c.name for c in nb.contract_.dropped} == {"claims", "empty", "one", "word"}
    assert [at.tolist() for _, _, at in nb.parts_] == [at.tolist() for _, _, at in plain.parts_]
    np.testing.assert_array_equal(nb.predict_proba(X.assign(empty=3.0)), plain.predict_proba(penguins[0]))
    with pytest.raises(
        ValueError, match=r"no column to learn from with parts='auto' .'claims': the same value in every"
    ):
        MixedNB().fit(X.loc[early, ["claims", "empty"]], y[early])


def test_a_likelihood_for_every_class():
    """Counts that are Poisson in one class and normal in the other: the table holds each class's own density."""
    rng = np.random.default_rng(0)
    y = np.repeat(["few", "many"], 200)
    X = np.concatenate([rng.poisson(2, (200, 2)), np.abs(np.round(rng.normal(30, 4, (200, 2))))]).astype(float)
    X[::17, 0] = np.nan
    mixed = MixedNB([("count", {"few": PoissonNB(), "many": GaussianNB()}, [0, 1])]).fit(X, y)
    table = mixed.predict_joint_log_proba(X) - mixed.posterior_.classes.log_predictive()
    parts = 0.0
    for k, (label, nb) in enumerate((("few", PoissonNB()), ("many", GaussianNB()))):
        alone = nb.fit(X[y == label], y[y == label])
        parts += alone.log_evidence_
        np.testing.assert_allclose(table[:, k], alone.predict_joint_log_proba(X)[:, 0], rtol=1e-12)
    labels = mixed.prior_.classes.log_marginal(mixed.statistics_.n)
    assert mixed.log_evidence_ == pytest.approx(labels + parts, rel=1e-12)
    new, drawn = mixed.sample(500, seed=0)
    assert not np.isnan(new).any()
    assert (new[drawn == "few"] == np.round(new[drawn == "few"])).all()
    assert abs(new[drawn == "many"].mean() - 30) < 2
    data = mixed.sample_posterior(draws=3, chains=1)["posterior"]
    assert data["count.few.rate"].dims == ("chain", "draw", "count.few_class", "count.few_feature")
    assert data["count.many.mu"].shape == (1, 3, 1, 2)


def test_sampled_rows_have_the_form_of_the_input(penguins):
    X, y = penguins
    new, labels = MixedNB(PARTS).fit(X, y).sample(300, seed=0)
    assert list(new.columns) == list(X.columns)
    assert set(new["island"]) <= set(X["island"])
    assert new["year"].isna().all()  # dropped
    gentoo = new[labels == "Gentoo"]["body_mass_g"]
    assert abs(gentoo.mean() - X[y == "Gentoo"]["body_mass_g"].mean()) < 5 * gentoo.std() / np.sqrt(len(gentoo))


def test_parameters_of_the_parts(penguins):
    X, y = penguins
    mixed = clone(MixedNB(PARTS)).set_params(size__variance="pooled", class_alpha=2.0)
    assert mixed.get_params()["size__variance"] == "pooled"
    assert clone(mixed).get_params()["size"].variance == "pooled"
    assert mixed.set_params(where=CategoricalNB(alpha=3)).get_params()["where__alpha"] == 3
    grid = GridSearchCV(MixedNB(PARTS), {"where__alpha": [0.1, 1.0], "estimate": ["mean", "predictive"]}, cv=3)
    assert grid.fit(X, y).best_score_ > 0.95
    assert GaussianNB().variance == PARTS[0][1].variance == "class"
    for each, positive in ((PoissonNB(), True), (GaussianNB(), False)):
        assert MixedNB([("x", each, [0])]).__sklearn_tags__().input_tags.positive_only == positive


BAD = [
    ("all", "`parts` is 'all'"),
    ([], r"`parts` is \[\]"),
    ([("size", GaussianNB(), ["mass"])], r"columns \['mass'\] in 'size', which are not in `X`"),
    ([("size", GaussianNB(), [9])], r"columns \[9\] in 'size', which are not in `X`"),
    ([*PARTS, ("again", GaussianNB(), ["year"])], "column year in both 'year' and 'again'"),
    (PARTS[:2], "leaves out the columns 'year'; give them an estimator or 'drop'"),
    ([("size", "mean", NUMBERS)], "`parts` has 'mean' for 'size'"),
    ([("size", ComplementNB(), NUMBERS)], "`parts` has ComplementNB"),
    ([("class", GaussianNB(), NUMBERS)], "`parts` has the name 'class'"),
    ([("a.b", GaussianNB(), NUMBERS)], "`parts` has the name 'a.b'"),
    ([("size", {"Adelie": GaussianNB()}, NUMBERS), *PARTS[1:]], "no estimator for class 'Chinstrap' in 'size'"),
    ([("size", GaussianNB(), [*NUMBERS, "island"]), ("rest", "drop", ["sex", "year"])], "`X` has text in column"),
    ([("size", GaussianNB(variance="no"), NUMBERS), *PARTS[1:]], "`variance` is 'no'"),
]


def test_bad_parts_are_named_and_nothing_is_half_fitted(penguins):
    X, y = penguins
    fitted = MixedNB(PARTS).fit(X, y)
    before = fitted.predict_proba(X)
    for parts, message in BAD:
        with pytest.raises(ValueError, match=message):
            (nb := MixedNB(parts)).fit(X, y)
        assert vars(nb).keys() == vars(MixedNB()).keys()
        with pytest.raises(ValueError, match=message):
            fitted.set_params(parts=parts).fit(X, y)
        np.testing.assert_array_equal(fitted.predict_proba(X), before)


def test_complete_rows_cannot_be_one_classes_business(penguins):
    X, y = penguins
    X, y = X.dropna()[NUMBERS], y[X.notna().all(axis=1)]
    by_class = {"Adelie": GaussianDA(), "Chinstrap": GaussianNB(), "Gentoo": GaussianNB()}
    with pytest.raises(ValueError, match="its likelihood of complete rows needs all classes"):
        MixedNB([("size", by_class, NUMBERS)]).fit(X, y)


def test_new_rows_of_a_part_of_counts_are_as_long_as_its_training_rows_on_average():
    """Each part has its own average; `length` may also be one number a row."""
    rng = np.random.default_rng(0)
    X, y = np.hstack([rng.poisson(1, (60, 3)), rng.poisson(9, (60, 2))]), np.arange(60) % 2
    nb = MixedNB([("few", MultinomialNB(), [0, 1, 2]), ("many", MultinomialNB(), [3, 4])]).fit(X, y)
    new = nb.sample(20, seed=1)[0]
    assert set(new[:, :3].sum(1)) == {round(X[:, :3].sum(1).mean())}
    assert set(new[:, 3:].sum(1)) == {round(X[:, 3:].sum(1).mean())}
    np.testing.assert_array_equal(nb.sample(20, seed=1, length=np.arange(20))[0][:, 3:].sum(1), np.arange(20))


@pytest.fixture(scope="module")
def two_values():
    """Two columns of zeros and ones, one of them with a missing cell, a column of numbers and one of text."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    smoker, ill = (rng.random((2, 40)) < 0.3 + 0.4 * y).astype(float)
    ill[0] = np.nan
    X = {"smoker": smoker.astype(int), "ill": ill, "size": rng.normal(y), "sex": rng.choice(["f", "m"], 40)}
    return pd.DataFrame(X), y


def test_a_third_value_in_a_column_of_zeros_and_ones_counts_as_missing(two_values):
    """`nan` and infinity stay what they are: a missing cell without a warning, and an error."""
    X, y = two_values
    new, left_out = X.iloc[:6].astype({"smoker": float}), X.iloc[:6].astype({"smoker": float})
    new.loc[[1, 4], "smoker"], new.loc[2, "ill"] = [2.0, 0.5], -1.0
    left_out.loc[[1, 4], "smoker"], left_out.loc[2, "ill"] = np.nan, np.nan
    before = new.copy()
    for given in (lambda X: pl.DataFrame(X.to_dict("list"), strict=False), lambda X: X.drop(columns="sex").to_numpy()):
        nb = MixedNB().fit(given(X), y)
        for predict in (nb.predict_proba, nb.predict_interval, lambda X, nb=nb: nb.model_.encode(X)["yes_no"]):
            with pytest.warns(UserWarning, match=r"\(column .*: 2 cells, column .*: 1 cells\); they count as missing"):
                found = predict(given(new))
            np.testing.assert_array_equal(found, predict(given(left_out)))
        with pytest.raises(ValueError, match="infinity"):
            nb.predict(given(left_out.fillna({"smoker": np.inf})))
    pd.testing.assert_frame_equal(new, before)  # the table of the user stays


def test_a_third_value_among_training_rows_is_refused(two_values):
    X, y = two_values
    wrong = X.assign(smoker=2)
    nb = MixedNB([("yes", BernoulliNB(binarize=None), ["smoker"]), ("rest", "drop", ["ill", "size", "sex"])])
    message = "Values other than 0 and 1"
    with pytest.raises(ValueError, match=message):
        nb.fit(wrong, y)
    nb.fit(X, y)
    for learn in (nb.partial_fit, nb.forget, nb.loo):
        with pytest.raises(ValueError, match=message):
            learn(wrong, y)
    with pytest.raises(ValueError, match=message):
        BernoulliNB(binarize=None).fit(X[["smoker"]], y).predict(wrong[["smoker"]])
