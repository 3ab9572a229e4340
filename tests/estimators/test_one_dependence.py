"""OneDependenceNB: the page against a textbook loop and against the blocks of each parent; the estimator's promises."""

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import bayesnb
from bayesnb import CategoricalNB, OneDependenceNB
from bayesnb.models.one_dependence import BLOCK, OneDependence
from bayesnb.sums import rows as loops
from bayesnb.sums.statistics import one_hot

SIZES = (2, 3, 4, 3, 1)
ALPHA = np.array([0.7, 1.0, 2.5, 0.3, 1.0])
TOTAL = 1.5
C, N = 3, 60


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of levels with missing cells, class indices and weights; the last row has no cell at all."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, SIZES, (N, len(SIZES))).astype(float)
    x[rng.random(x.shape) < 0.15] = np.nan
    x[-1] = np.nan
    return x, rng.permutation(np.arange(N) % C), rng.choice([0.5, 1.0, 2.0], N)


def textbook(x: np.ndarray, y: np.ndarray, w: np.ndarray, row: np.ndarray) -> np.ndarray:
    """p(y, x) of one row by counting, as the paper writes it."""
    d, total = len(SIZES), np.zeros(C)
    for c in range(C):
        terms = []
        for j in range(d):
            if np.isnan(row[j]):
                continue
            has = ~np.isnan(x[:, j])
            here = (y == c) & (x[:, j] == row[j])
            p = (w[here].sum() + TOTAL / (C * SIZES[j])) / (w[has].sum() + TOTAL)
            for i in range(d):
                if i != j and not np.isnan(row[i]):
                    known = here & ~np.isnan(x[:, i])
                    p *= (w[known & (x[:, i] == row[i])].sum() + ALPHA[i]) / (w[known].sum() + SIZES[i] * ALPHA[i])
            terms.append(p)
        total[c] = np.mean(terms) if terms else (w[y == c].sum() + TOTAL / C) / (w.sum() + TOTAL)
    return total


# --- the page -----------------------------------------------------------------------------------------------------


def test_prediction_is_the_textbooks():
    """Also of a row that is left out."""
    x, y, w = table()
    new = table(seed=1)[0]
    prior = OneDependence.prior(C, SIZES, np.repeat(ALPHA, SIZES), TOTAL)
    posterior = prior.update(prior.suffstats({BLOCK: x}, one_hot(y, C, w)))
    want = np.log([textbook(x, y, w, row) for row in new])
    np.testing.assert_allclose(posterior.log_joint({BLOCK: new}), want, rtol=0, atol=1e-10)
    found = posterior.log_loo({BLOCK: x}, one_hot(y, C, w))
    for i in range(N):
        others = np.arange(N) != i
        want = np.log(textbook(x[others], y[others], w[others], x[i]))
        np.testing.assert_allclose(found[i], want, rtol=0, atol=1e-10)


# --- the estimator ------------------------------------------------------------------------------------------------


def levels(n: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    """Levels of several types with missing cells, and a label that takes two of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], n), "size": rng.integers(0, 4, n)})
    frame["grade"] = pd.Categorical(rng.choice(["a", "b"], n), categories=["b", "a", "z"])
    y = np.where((frame["colour"] == "red") == (frame["size"] > 1), "yes", "no")
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, y


def test_evidence_of_the_average_and_of_each_parent():
    X, y = levels()
    nb = OneDependenceNB().fit(X, y)
    with pytest.raises(AttributeError, match="column 'colour' has missing cells"):
        nb.log_evidence_  # noqa: B018
    X = X.fillna({"colour": "none"})
    nb.fit(X, y)
    assert nb.log_evidence_ == pytest.approx(np.log(np.exp(nb.parent_log_evidence_ + 300).mean()) - 300, rel=1e-12)
    pairs, drawn = [*zip(X["colour"], X["size"], y, strict=True)], nb.sample(4000, seed=0)
    new = [*zip(*drawn[0].T[:2], drawn[1], strict=True)]
    share = [(pairs.count(one) / 90, new.count(one) / 4000) for one in {*pairs}]
    assert np.corrcoef(*zip(*share, strict=True))[0, 1] > 0.9  # rows drawn depend on each other as these do
    for name in X.columns:
        own, _, pairs = nb._of_parent(name, X, y)
        assert own.log_evidence_ == pytest.approx(nb.parent_log_evidence_[list(X.columns).index(name)], rel=1e-12)
        if name == "colour":  # "grade" has a level without rows, so that a fit would know less pairs
            again = CategoricalNB(class_alpha=own.class_alpha).fit(rest := X.drop(columns=name), pairs)
            known = own.predict_joint_log_proba(rest)[:, again.classes_]
            np.testing.assert_allclose(again.predict_joint_log_proba(rest), known, atol=1e-10)
    ranked = bayesnb.compare({"one": OneDependenceNB(), "naive": CategoricalNB()}, X, y).table
    assert ranked.index[0] == "one"
    assert ranked.loc["one", "log_evidence"] > ranked.loc["naive", "log_evidence"]


@pytest.mark.slow
def test_drawn_parameters_average_to_the_prediction():
    """Draws weighted by p(x | parent, θ) give `predict_proba`; unweighted ones what `uncertainty` is about."""
    X, y = levels()
    nb = OneDependenceNB().fit(X, y)
    rows, s = X[:12], 200
    posterior, encoded = nb.posterior_, nb.model_.encode(rows)
    theta = posterior.sample(np.random.default_rng(7), (s,))
    joint = np.exp(posterior.log_joint(encoded, theta))
    parts = posterior.log_parts(encoded, theta=theta)[0] + theta["class"]["log_pi"][:, None]
    np.testing.assert_allclose(np.exp(parts), joint)
    p, weight = joint / joint.sum(-1, keepdims=True), joint.sum(-1, keepdims=True)
    mean = (weight * p).mean(0) / weight.mean(0)
    error = (weight * (p - mean)).std(0) / weight.mean(0) / np.sqrt(s)  # of a ratio of means
    assert (abs(mean - nb.predict_proba(rows)) < 5 * error).all()
    np.testing.assert_allclose(nb.sample_proba(rows, s, seed=7), p, atol=1e-12)
    low, high = np.moveaxis(nb.predict_interval(rows, 0.8, n_draws=s, seed=7), -1, 0)
    np.testing.assert_allclose([low, high], np.exp(np.quantile(np.log(p), [0.1, 0.9], 0)), atol=1e-12)
    found, mean = nb.uncertainty(rows, n_draws=s, seed=7), p.mean(0)
    np.testing.assert_allclose(found.total, -(mean * np.log(mean)).sum(1), atol=1e-10)
    np.testing.assert_allclose(found.aleatoric, -(p * np.log(p)).sum(2).mean(0), atol=1e-10)
    np.testing.assert_allclose(found.total, found.aleatoric + found.epistemic)
    for given, word in (({"method": "analytic"}, "method"), ({"n_draws": 1}, "n_draws"), ({"level": 1.0}, "level")):
        with pytest.raises(ValueError, match=f"`{word}` is"):
            nb.predict_interval(rows, **given)
    report = OneDependenceNB().check(X, y, parent="colour")
    assert report.passed, report


# --- errors and limits --------------------------------------------------------------------------------------------


def test_a_prior_of_ones_own_for_each_level(tmp_path):
    X = pd.DataFrame({"x": list("aabbbab"), "z": list("uvuvvuu")})
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    nb = OneDependenceNB(prior={"z": dist.Dirichlet(np.array([3.0, 1.0])), "x": [2, 1]}).fit(X, y)
    pair, z = (2 + 0.25) / (7 + 1), (1 + 3) / (2 + 4)  # of (y, x) = (0, a), 2 of 7 rows; of z = u there, 1 of 2
    x = (1 + 2) / (2 + 3)  # of x = a where (y, z) = (0, u), 1 of 2; that pair has 2 of 7 rows as well
    assert np.exp(nb.predict_joint_log_proba(X[:1])[0, 0]) == pytest.approx((pair * z + pair * x) / 2, rel=1e-12)
    of_classes = OneDependenceNB(prior={"z": np.array([[3.0, 1.0], [1.0, 0.5]])}).fit(X, y)
    for one in (nb, of_classes):
        evidence = [one._of_parent(j)[0].log_evidence_ for j in range(2)]
        np.testing.assert_allclose(evidence, one.parent_log_evidence_, rtol=1e-12)
    np.testing.assert_array_equal(
        of_classes._of_parent("x")[0].prior_.blocks["levels_2"].alpha[:, 0, 1], [1, 1, 0.5, 0.5]
    )
    nb.save(tmp_path / "model")
    np.testing.assert_array_equal(bayesnb.load(tmp_path / "model").predict_proba(X), nb.predict_proba(X))
    same = OneDependenceNB(prior={"x": [2, 2], "z": [2, 2]}).fit(X, y)
    np.testing.assert_allclose(same.predict_proba(X), OneDependenceNB(alpha=2).fit(X, y).predict_proba(X), rtol=1e-13)
    with pytest.raises(ValueError, match="`alpha` is 2, but `prior` is given for all columns"):
        OneDependenceNB(alpha=2, prior={"x": [1, 1], "z": [1, 1]}).fit(X, y)


def test_too_many_levels_are_refused_with_the_memory_needed(monkeypatch):
    X = np.column_stack([np.arange(300), np.arange(300) % 2])
    monkeypatch.setattr(bayesnb.estimators.one_dependence, "_MAX_BYTES", 1 << 20)
    with pytest.raises(ValueError, match=r"302 levels, 300 of them in column 0; .* need 1 MiB"):
        OneDependenceNB().fit(X, X[:, 1])
    nb = OneDependenceNB().partial_fit(X[:9], X[:9, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="Leave out columns that identify rows"):
        nb.partial_fit(X, X[:, 1])
    assert nb.class_count_.sum() == 9  # as it was


def test_one_column_has_no_children():
    X, y = np.array([[0], [1], [1], [0]]), [0, 1, 1, 1]
    nb = OneDependenceNB().fit(X, y)
    np.testing.assert_allclose(nb.predict_proba([[0]])[0], [1.25 / 2.5, 1.25 / 2.5])
    for call in (lambda: nb.sample_posterior(5), lambda: nb.numpyro_model(X, y)):
        with pytest.raises(ValueError, match="one of several features"):
            call()
    two = OneDependenceNB().fit(np.column_stack([X, X]), y)
    with pytest.raises(ValueError, match="`parent` is 'size'"):
        two.sample_posterior(5, parent="size")


def test_what_needs_a_product_of_blocks_is_refused():
    X, y = np.arange(24).reshape(12, 2) % 3, np.arange(12) % 2
    with pytest.raises(ValueError, match="cannot be a part of another model"):
        bayesnb.MixedNB([("all", OneDependenceNB(), [0, 1])]).fit(X, y)
    with pytest.raises(ValueError, match=r"not linear in the features.*importance\(estimator, X, y\)"):
        bayesnb.rank_features(OneDependenceNB().fit(X, y))
    nb = OneDependenceNB().fit(X, y)
    for call in (nb.model_.linear_form, nb.prior_summary):
        with pytest.raises(ValueError, match="OneDependenceNB averages models"):
            call()


def test_it_has_nothing_that_is_naive_bayes_alone():
    X, y = np.arange(24).reshape(12, 2) % 3, np.arange(12) % 2
    nb = OneDependenceNB().fit(X, y)
    assert not {"coef_", "intercept_", "estimate", "class_prior", "fit_prior", "class_alpha"} & {*dir(nb)}
    assert not {"blocks", "fields_", "unwrapped"} & {*dir(nb.posterior_)}
    names = [(field.block, field.name) for field in nb.posterior_.hyperparameters()]
    assert names == [("class", "alpha"), (BLOCK, "alpha")]
    assert {name: cells.kind for name, cells in nb.posterior_.cells.items()} == {BLOCK: "levels"}


@pytest.mark.skipif(not loops.available(), reason="compiled loops need numba")
def test_the_compiled_loop_is_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions and leave-one-out of many rows, with missing cells and a row that has none at all."""
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(200, 5)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[7] = np.nan
    y = rng.integers(3, size=200)
    nb = OneDependenceNB().fit(X, y, np.full(200, 1.5))
    tables = []
    for worth in (1, 1 << 60):
        monkeypatch.setattr(loops, "WORTH", worth)
        tables.append((nb.predict_log_proba(X), nb.loo(X, y, np.full(200, 1.5)).log_joint))
    for loop, formula in zip(*tables, strict=True):
        assert loop == pytest.approx(formula, abs=1e-12)
