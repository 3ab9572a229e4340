"""What each feature adds to the log odds, and what it tells of the label."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import bayesnb
from bayesnb import families
from bayesnb.numerics.orders import orders, shapley
from bayesnb.posterior import explanation

from ..estimators_table import WHOLE, called, mostly_slow, these

RNG = np.random.default_rng(3)
N = 45
LABELS = np.array(["a", "b", "c"])[np.arange(N) % 3]
SHIFT = (np.arange(N) % 3)[:, None]
REAL = RNG.normal(size=(N, 3)) + SHIFT * [1, 0.5, 0]
REAL[:, 1] += 0.8 * REAL[:, 0]
COUNTS = RNG.poisson(2 + SHIFT, size=(N, 5)).astype(float)
BITS = (RNG.random((N, 5)) < 0.2 + 0.25 * SHIFT).astype(float)
LEVELS = RNG.integers(0, 3, (N, 3))
TABLE = pd.DataFrame({"size": REAL[:, 0], "wet": BITS[:, 0], "kind": np.array(list("xyz"))[LEVELS[:, 0]]})
EACH = {"a": bayesnb.GaussianNB(), "b": bayesnb.KernelNB(), "c": bayesnb.GaussianNB()}
GAPS = np.where(RNG.random(REAL.shape) < 0.2, np.nan, REAL)

BY_CLASS = [("size", EACH, ["size"]), ("rest", bayesnb.CategoricalNB(), [1, 2])]
MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "bernoulli": (bayesnb.BernoulliNB, BITS),
    "bernoulli, sparse": (bayesnb.BernoulliNB, sparse.csr_array(BITS)),
    "categorical": (bayesnb.CategoricalNB, LEVELS),
    "multinomial, sparse": (bayesnb.MultinomialNB, sparse.csr_array(COUNTS)),
    "complement": (bayesnb.ComplementNB, COUNTS),
    "poisson, sparse": (bayesnb.PoissonNB, sparse.csr_array(COUNTS)),
    **{called(nb): (type(nb), COUNTS) for nb in WHOLE},
    "exponential": (bayesnb.ExponentialNB, abs(REAL)),
    "gaussian": (bayesnb.GaussianNB, GAPS),
    "pooled": (lambda: bayesnb.GaussianNB(variance="pooled"), GAPS),
    "known": (lambda: bayesnb.GaussianNB(known_variance=1.0), REAL),
    "kernel": (bayesnb.KernelNB, REAL),
    "kernel, given": (lambda: bayesnb.KernelNB(bandwidth="nrd0"), REAL),
    "full": (bayesnb.GaussianDA, REAL),
    "tied": (lambda: bayesnb.GaussianDA(covariance="shared"), REAL),
    "identity": (lambda: bayesnb.GaussianDA(covariance="identity"), REAL),
    "family": (lambda: bayesnb.FamilyNB(families.GammaPoisson(1.0, 1.0)), COUNTS),
    "one dependence": (bayesnb.OneDependenceNB, LEVELS),
    "mixed": (bayesnb.MixedNB, TABLE),
    "mixed by class": (lambda: bayesnb.MixedNB(BY_CLASS), TABLE),
}
# by default one of each kind of cells; the others are slow
SOME = "bernoulli", "categorical", "multinomial, sparse", "complement", "gaussian", "mixed"


@pytest.mark.filterwarnings("ignore:the posterior mode has parameters on the boundary")
@pytest.mark.parametrize("name", mostly_slow(MODELS, these(*SOME)))
def test_contributions_add_up_to_the_log_odds_of_predict_proba(name: str) -> None:
    make, X = MODELS[name]
    nb, rows = make().fit(X, LABELS), X[:3]
    for settings in ({}, {"estimate": "mean"}, {"estimate": "map"}) if "estimate" in nb.get_params() else ({},):
        nb.set_params(**settings)
        log_p = nb.predict_log_proba(rows)
        every = nb.explain(rows, n_draws=20)
        found = every.groupby(["row", "class_"]).contribution.sum().unstack().to_numpy()
        others = (log_p.sum(1, keepdims=True) - log_p) / 2  # the geometric mean of the others
        np.testing.assert_allclose(found, log_p - others, rtol=1e-11, atol=1e-11)
        few = nb.explain(rows, against="b", n=1, n_draws=20)
        found = few.groupby(["row", "class_"]).contribution.sum().unstack().to_numpy()
        np.testing.assert_allclose(found, (log_p - log_p[:, [1]])[:, [0, 2]], rtol=1e-11, atol=1e-11)
        assert few.groupby(["row", "class_"]).size().max() <= 3


def test_rows_are_explained_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    make, X = MODELS["gaussian"]
    nb = make().fit(X, LABELS)
    whole = nb.explain(X[:5], n_draws=20)
    monkeypatch.setattr(explanation, "_KEPT", 1)
    pd.testing.assert_frame_equal(nb.explain(X[:5], n_draws=20), whole)
    two = make().fit(REAL, LABELS).explain(REAL[:5], n=2, n_draws=20)
    assert (two[~two.feature.astype(str).str.startswith("(")].groupby(["row", "class_"]).size() == 2).all()


def test_of_sparse_rows_only_the_words_that_are_there_are_listed() -> None:
    X = sparse.csr_array(COUNTS)
    listed = bayesnb.MultinomialNB().fit(X, LABELS).explain(X[:4], n_draws=20)
    for i in range(4):
        assert {*listed.feature[listed.row == i]} == {"(class prior)", *np.flatnonzero(COUNTS[i]).tolist()}
    there = listed[listed.feature != "(class prior)"]
    np.testing.assert_array_equal(there.value.astype(float), COUNTS[there.row, there.feature.astype(int)])


def test_two_classes_have_log_odds_of_opposite_sign() -> None:
    y = LABELS == "a"
    nb = bayesnb.MixedNB().fit(TABLE, y)
    frame = nb.explain(TABLE[:2], n_draws=50)
    wide = frame.pivot(index=["row", "feature"], columns="class_", values="contribution")
    np.testing.assert_allclose(wide[True], -wide[False], rtol=1e-12)
    assert frame.value[frame.feature == "kind"].tolist() == TABLE.kind[:2].repeat(2).tolist()


def brute_force(value: Callable[[tuple[int, ...]], Any], d: int) -> np.ndarray:
    """Shapley values from all sets."""
    found = []
    for j in range(d):
        total: Any = 0.0
        for k in range(d):
            weight = math.factorial(k) * math.factorial(d - k - 1) / math.factorial(d)
            for some in itertools.combinations([i for i in range(d) if i != j], k):
                total = total + weight * (value(tuple(sorted((*some, j)))) - (value(some) if some else 0))
        found.append(total)
    return np.array(found)


def test_contributions_of_features_that_depend_on_each_other_are_shapley_values() -> None:
    nb = bayesnb.GaussianDA().fit(REAL, LABELS)
    block, x = nb.posterior_.blocks["x"], REAL[4]

    def predictive(some: tuple[int, ...]) -> np.ndarray:
        at, df = list(some), block.nu - 3 + 1
        scale = block.S * ((1 + 1 / block.kappa) / df)[:, None, None]
        laws = [stats.multivariate_t(block.m[c, at], scale[c][np.ix_(at, at)], df[c]) for c in range(3)]
        return np.array([law.logpdf(x[at]) for law in laws])

    shared = bayesnb.GaussianDA(covariance="shared", estimate="mean").fit(REAL, LABELS)
    theta = shared.posterior_.mean()["x"]

    def plugged(some: tuple[int, ...]) -> np.ndarray:
        at = list(some)
        sigma = theta["covariance"][np.ix_(at, at)]
        return np.array([stats.multivariate_normal(theta["mu"][c, at], sigma).logpdf(x[at]) for c in range(3)])

    average = bayesnb.OneDependenceNB().fit(LEVELS, LABELS)

    def averaged(some: tuple[int, ...]) -> np.ndarray:
        row = np.full((1, 3), np.nan)
        row[0, list(some)] = LEVELS[4, list(some)]
        return average.posterior_.log_joint({"x": row})[0] - average.posterior_.classes.log_predictive()

    for model, X, value in (nb, REAL, predictive), (shared, REAL, plugged), (average, LEVELS, averaged):
        table = model.explain(X[[4]], against="a", n_draws=20)
        found = table[table.class_ == "c"].set_index("feature").contribution[[0, 1, 2]]
        wanted = brute_force(value, 3)
        np.testing.assert_allclose(found, wanted[:, 2] - wanted[:, 0], rtol=1e-10)


def test_orders_and_their_reverses_share_effects_of_two_features_exactly() -> None:
    rng, d = np.random.default_rng(0), 9
    alone, pairs = rng.normal(size=d), np.triu(rng.normal(size=(d, d)), 1)

    def value(order: np.ndarray) -> np.ndarray:
        first = [order[:k] for k in range(1, d + 1)]
        return np.array([alone[s].sum() + pairs[np.ix_(s, s)].sum() for s in first])[None, :, None]

    np.testing.assert_allclose(shapley(value, d)[0, :, 0], alone + (pairs + pairs.T).sum(1) / 2, rtol=1e-12)
    assert len(orders(4)) == 24 and len(orders(d)) == 64


def test_the_interval_of_the_sum_covers_as_it_says() -> None:
    """The interval of one contribution is that of log p(x_j | a, θ) − log p(x_j | b, θ)."""
    nb = bayesnb.PoissonNB().fit(COUNTS, LABELS)
    block = nb.posterior_.blocks["x"]
    rng = np.random.default_rng(1)
    rate = rng.gamma(block.a[:, 2], 1 / block.b[:, 2], (40_000, 3))
    x = COUNTS[5, 2]
    ratio = x * np.log(rate[:, 0] / rate[:, 1]) - (rate[:, 0] - rate[:, 1])
    table = nb.explain(COUNTS[[5]], against="b", level=0.8, n_draws=4000)
    line = table[(table.class_ == "a") & (table.feature == 2)].iloc[0]
    np.testing.assert_allclose([line.low, line.high], np.quantile(ratio, [0.1, 0.9]), atol=0.1 * ratio.std())


def test_settings_out_of_range_are_named() -> None:
    nb = bayesnb.GaussianNB().fit(REAL, LABELS)
    for settings in ({"against": "z"}, {"level": 1.0}, {"n": 0}, {"n_draws": 0}):
        with pytest.raises(ValueError, match=f"`{next(iter(settings))}` is"):
            nb.explain(REAL[:1], **settings)
    with pytest.raises(ValueError, match="a single class"):
        bayesnb.GaussianNB().fit(REAL, ["a"] * N).explain(REAL[:1])


SPARSE = [bayesnb.BernoulliNB(), bayesnb.CategoricalNB(), bayesnb.GaussianNB(), bayesnb.MultinomialNB()]


@pytest.mark.parametrize("nb", SPARSE, ids=repr)
def test_a_sparse_row_that_stores_no_cell(nb: Any) -> None:
    """Its contributions add up to its log odds, as they do beside other rows."""
    X = sparse.csr_array([[0.0, 0], [1, 2], [0, 1], [1, 0]])
    nb.fit(X, [0, 1, 0, 1])
    terms = nb.explain(X[:1])
    log_p = nb.predict_log_proba(X[:1])[0]
    assert terms.loc[terms["class_"] == 1, "contribution"].sum() == pytest.approx(log_p[1] - log_p[0])
