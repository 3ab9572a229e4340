"""Weighted naive Bayes: its solver against brute force, its columns, its citizenship, and a check that can fail."""

import functools
import io
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import bayesnb
from bayesnb import CategoricalNB, DiscriminativeNB, GaussianNB, MultinomialNB
from bayesnb.cli import main
from bayesnb.discriminative import model
from bayesnb.discriminative.checking import weight_rows
from bayesnb.discriminative.leave_one_out import loo_log_proba
from bayesnb.discriminative.posterior_draws import draw
from bayesnb.discriminative.prior_grid import find_mode, find_modes
from bayesnb.discriminative.softmax_regression import (
    ParameterPrecision,
    Regression,
    WeightsMode,
    contrasts,
    height,
    likelihood,
    precision_at,
)
from bayesnb.discriminative.training_rows import TrainingRows

Rows = tuple[Any, np.ndarray]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small matrices: where tests share the cores, threads of BLAS mostly wait for each other."""
    with threadpool_limits(1):
        yield


def regression(n: int, j: int, r: int, c: int, seed: int = 0) -> Regression:
    """Rows whose first column and first number know the label."""
    rng = np.random.default_rng(seed)
    label = np.eye(c)[rng.integers(c, size=n)]
    t = rng.normal(size=(n, c - 1, j))
    t[:, :, 0] += label @ contrasts(c)
    z = np.column_stack([rng.normal(size=(n, r)) + label[:, :1], np.ones(n)])
    return Regression(np.full((n, c), -np.log(c)), t, z, label, rng.uniform(0.5, 2, n))


def start(rows: Regression, s: float = 0.1, rho: float = 0.3) -> WeightsMode:
    return WeightsMode(np.array([s, rho]), np.full(rows.t.shape[2], s), np.zeros((rows.z.shape[1], rows.t.shape[1])))


def height_of(rows: Regression, mode: WeightsMode) -> float:
    return height(mode, likelihood(rows, mode).loss)


def precision_of(rows: Regression, mode: WeightsMode) -> Any:
    return precision_at(rows, mode, np.exp(rows.log_proba(mode.w, mode.b)))


def density(rows: Regression, s: float, rho: float, u: np.ndarray, b: np.ndarray) -> float:
    """−log p(y, u, B), written from the model."""
    sd = np.r_[np.full(rows.z.shape[1] - 1, rho), 2.0][:, None]
    prior = (np.exp(u) / s + np.log(s) - u).sum() + (b**2 / (2 * sd**2) + np.log(sd) + np.log(2 * np.pi) / 2).sum()
    total = 0.0
    for i in range(len(rows.weight)):
        eta = rows.offset[i] + contrasts(rows.label.shape[1]) @ (rows.t[i] @ np.exp(u) + rows.z[i] @ b)
        total += rows.weight[i] * (np.logaddexp.reduce(eta) - rows.label[i] @ eta)
    return float(prior + total)


@functools.cache
def wine() -> Rows:
    X, y = load_wine(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(y))[:90]
    return X[some][:, :6], y[some]


def mixed(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, levels and gaps, and labels that are text."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    size, colour = rng.normal(size=n) + y, np.array(["red", "blue", "green"])[(y + rng.integers(2, size=n)) % 3]
    frame = pd.DataFrame({"size": size, "colour": colour, "flag": rng.integers(2, size=n), "noise": rng.normal(size=n)})
    frame.loc[rng.random(n) < 0.2, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, np.array(["no", "yes"])[y]


# --- the solver -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "j", "r", "c"), [(60, 4, 3, 2), (80, 3, 2, 3), (12, 5, 20, 2), (9, 4, 12, 3)])
def test_mode_of_the_density_as_written(n: int, j: int, r: int, c: int) -> None:
    """Primal and Woodbury's form, two and more classes; weights of rows count."""
    rows = regression(n, j, r, c)
    mode = find_mode(rows, start(rows), 1e-14)
    flat = np.r_[np.log(mode.w), mode.b.ravel()]

    def f(x: np.ndarray) -> float:
        return density(rows, 0.1, 0.3, x[:j], x[j:].reshape(mode.b.shape))

    assert height_of(rows, mode) + mode.b.size * np.log(2 * np.pi) / 2 == pytest.approx(f(flat), rel=1e-12)
    assert abs(optimize.approx_fprime(flat, f, 1e-6)).max() < 1e-4
    found = find_modes(rows)
    precision = precision_of(rows, mode)
    slope = functools.partial(optimize.approx_fprime, f=f, epsilon=1e-5)
    hessian = np.stack([(slope(flat + e) - slope(flat - e)) / 2e-3 for e in 1e-3 * np.eye(len(flat))])
    vector = np.linspace(-1, 1, len(flat))
    assert precision.solve(hessian @ vector) == pytest.approx(vector, abs=2e-2)
    assert precision.half_log_det == pytest.approx(np.linalg.slogdet(hessian)[1] / 2, rel=1e-3)
    assert sum(one.share for one in found) == pytest.approx(1)
    loss = [(rows.weight[:, None] * rows.label * loo_log_proba(rows, one)).sum() for one in found]
    score = [(one.log_evidence + one_loss) / 4 for one, one_loss in zip(found, loss, strict=True)]
    assert np.log([one.share for one in found]) - score == pytest.approx(np.log(found[0].share) - score[0], abs=0.02)
    assert 3 ** np.round(np.log(found[0].scales / [0.03, 0.2]) / np.log(3)) * [0.03, 0.2] == pytest.approx(
        found[0].scales
    )


@pytest.mark.parametrize(("n", "r"), [(40, 3), (10, 14)])
def test_draws_have_laplaces_covariance(n: int, r: int) -> None:
    rows = regression(n, 3, r, 2)
    mode = find_mode(rows, start(rows), 1e-12)
    precision = precision_of(rows, mode)
    inverse = np.stack([precision.solve(e) for e in np.eye(4 + r)])
    rng = np.random.default_rng(1)
    steps, rises = zip(*(precision.draw(rng) for _ in range(4000)), strict=True)
    assert np.cov(np.array(steps).T) == pytest.approx(inverse, abs=0.1 * np.diag(inverse).max())
    assert rises == pytest.approx([step @ np.linalg.solve(inverse, step) / 2 for step in steps])
    w, b = draw(rows, (replace(mode, share=0.75), replace(mode, w=3 * mode.w, share=0.25)), 400)
    lowest = height_of(rows, mode)
    rose = [height_of(rows, replace(mode, w=one, b=other)) - lowest for one, other in zip(w, b, strict=True)]
    assert 0.3 * (4 + r) < np.mean(rose[:250]) < 0.7 * (4 + r)  # half of the number of parameters, were f quadratic
    assert np.mean(w[:250], 0) == pytest.approx(mode.w, rel=0.2) and np.mean(w[350:] / mode.w) > 1.5


def test_evidence_against_quadrature() -> None:
    """One weight and one shift: Laplace's evidence is within .1 nats; of no rows it is exact."""
    rows = regression(12, 1, 0, 2)
    mode = find_mode(rows, start(rows), 1e-12)
    log_p = -(np.log(0.1 / 0.03) ** 2 + np.log(0.3 / 0.2) ** 2 / 4) / 2
    grid = itertools.product(np.linspace(-12, 3, 101), np.linspace(-4, 4, 51))
    terms = [-density(rows, 0.1, 0.3, np.array([u]), np.array([[b]])) for u, b in grid]
    exact = np.logaddexp.reduce(terms) + np.log(0.15 * 0.16)
    assert mode.log_evidence - log_p == pytest.approx(exact, abs=0.1)
    silent = replace(rows, weight=0 * rows.weight)
    assert find_mode(silent, start(silent), 1e-12).log_evidence - log_p == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("n", "r", "c"), [(25, 3, 2), (20, 2, 3), (8, 12, 2)])
def test_without_a_row_the_mode_moves_as_newtons_step_says(n: int, r: int, c: int) -> None:
    rows = regression(n, 3, r, c)
    mode = find_mode(rows, start(rows), 1e-12)
    found = loo_log_proba(rows, mode)
    again = []
    for i in range(n):
        weight = rows.weight.copy()
        weight[i] = 0
        other = find_mode(replace(rows, weight=weight), mode, 1e-12)
        again.append(rows.log_proba(other.w, other.b)[i])
    assert found == pytest.approx(np.array(again), abs=0.1)
    assert abs(found - again).mean() < 0.2 * abs(rows.log_proba(mode.w, mode.b) - again).mean()


# --- the columns ----------------------------------------------------------------------------------------------------


def test_small_products_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for a core took 30 times the processor time of a fit on a busy machine."""
    threads: list[int] = []
    leverage = ParameterPrecision.leverage

    def watched(self: ParameterPrecision, part: Any) -> np.ndarray:
        threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return leverage(self, part)

    monkeypatch.setattr(ParameterPrecision, "leverage", watched)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
    with threadpool_limits(2, "blas"):
        nb = DiscriminativeNB().fit(X, y)
        n_of_fit = len(threads)
        nb.loo(X, y)
    assert 0 < n_of_fit < len(threads)
    assert set(threads) == {1}


def test_columns_leave_their_row_and_new_rows_take_all() -> None:
    X, y = wine()
    nb = DiscriminativeNB().fit(X, y)
    rows = nb.left_out(nb.training(X, y))
    i = 17
    plain = GaussianNB().fit(X[:, [2]], y)
    own = plain.loo(X[:, [2]], y).by_block["x"][i]
    order = nb.layout_.class_order
    assert rows.t[i, :, 2] == pytest.approx((np.maximum(own - own.max(), -np.log(90)))[order] @ contrasts(3))
    new = plain.predict_part_log_likelihood(X[[i]][:, [2]])["x"][0]
    t = nb._new_rows(nb._cells(X[[i]])).t[0, :, 2]
    assert t == pytest.approx((np.maximum(new - new.max(), -np.log(90)))[order] @ contrasts(3))
    assert rows.t.shape == (90, 2, 13) and (rows.z[:, -1] == 1).all()
    assert [len(edges) for edges in nb.layout_.edges] == [3] * 6  # √(90/3)/1.5 = 3.65: four bins
    assert rows.z[:, 0] == pytest.approx((X[:, 0] - X[:, 0].mean()) / X[:, 0].std())
    assert nb.layout_.raw(np.full((1, 6), 1e9)) == pytest.approx(6)
    assert [np.mean(X[:, 1] <= e) for e in nb.layout_.quarters[1]] == pytest.approx([0.25, 0.5, 0.75], abs=0.02)


def test_a_suppressor_and_an_exclusive_or_are_seen() -> None:
    """Naive Bayes gets nothing from either; the linear term sees the first, and the table of pairs the second."""
    rng = np.random.default_rng(0)
    hidden, y = rng.normal(size=400), rng.integers(2, size=400)
    suppressed = np.column_stack([hidden + y, hidden])
    signs = rng.normal(size=(400, 2))
    for X, label in ((suppressed, y), (signs, (signs.prod(1) > 0).astype(int))):
        sharp, plain = DiscriminativeNB().fit(X[:200], label[:200]), GaussianNB().fit(X[:200], label[:200])
        assert sharp.score(X[200:], label[200:]) > 0.85 > plain.score(X[200:], label[200:]) + 0.1


@pytest.mark.slow
def test_undeclared_copies_are_one_row_and_leave_together() -> None:
    """Rows with fractions: copies, their sum as an importance, and copies in one group."""
    X, y = wine()
    X = X[:, :3]
    weight = np.random.default_rng(3).integers(0, 3, len(y))
    copied = np.repeat(np.arange(len(y)), weight)
    merged = DiscriminativeNB().fit(X[copied], y[copied])
    p = merged.predict_proba(X)
    with pytest.warns(UserWarning, match="are importance"):
        by_weight = DiscriminativeNB().fit(X, y, weight.astype(float))
    assert by_weight.predict_proba(X) == pytest.approx(p, abs=1e-9)
    grouped = DiscriminativeNB().fit(X[copied], y[copied], groups=copied)
    assert grouped.predict_proba(X) == pytest.approx(p, abs=1e-9)
    of_copies = merged.loo(X[copied], y[copied])
    of_groups = grouped.loo(X[copied], y[copied], groups=copied)
    assert of_groups.log_proba == pytest.approx(of_copies.log_proba, abs=1e-9)
    assert of_copies.se == pytest.approx(of_groups.se)


def test_counts_are_rows_of_which_one_leaves() -> None:
    """Counts equal repeated rows: of whole numbers as they are, of fractions where `groups` keep them apart."""
    X, y = wine()
    weight = np.random.default_rng(3).integers(0, 3, len(y))
    copied = np.repeat(np.arange(len(y)), weight)
    for rows, groups in ((X[:, :3], np.arange(len(copied))), (np.round(X[:, :3]), None)):
        counted = DiscriminativeNB().fit(rows, y, weight)
        repeated = DiscriminativeNB().fit(rows[copied], y[copied], groups=groups)
        assert counted.predict_proba(rows) == pytest.approx(repeated.predict_proba(rows), abs=1e-9)
        assert counted.draws_[0] == pytest.approx(repeated.draws_[0], rel=1e-6)
        one, other = counted.loo(rows, y, weight), repeated.loo(rows[copied], y[copied], groups=groups)
        assert one.log_proba[copied] == pytest.approx(other.log_proba, abs=1e-9)
        assert [one.elpd, one.se, one.p_loo] == pytest.approx([other.elpd, other.se, other.p_loo], rel=1e-9)
        gain = counted.importance(rows, y, weight).set_index("feature")["elpd_gain"]
        again = repeated.importance(rows[copied], y[copied], groups=groups).set_index("feature")["elpd_gain"]
        assert gain[again.index].to_numpy() == pytest.approx(again.to_numpy(), abs=1e-9)


def test_a_frequency_table() -> None:
    """Four rows that stand for 200: what one column of two levels says is not lost when one of the 200 leaves."""
    frame = pd.DataFrame({"c": ["a", "a", "b", "b"]})
    y, counts = np.array(["n", "s", "n", "s"]), np.array([90, 10, 20, 80])
    with pytest.warns(UserWarning, match="count rows"):
        loo = DiscriminativeNB().fit(frame, y, counts).loo(frame, y, counts)
    assert loo.accuracy == pytest.approx(0.85)
    assert loo.proba[[0, 2], 0] == pytest.approx([0.9, 0.2], abs=0.03)


def test_relabelled_classes_are_predicted_and_drawn_alike() -> None:
    """The order of the labels is no part of the data."""
    X, y = wine()
    X = X[:, :3]
    nb = DiscriminativeNB().fit(X, y)
    p, draws = nb.predict_proba(X), nb.sample_proba(X, 30, 0)
    explained = nb.explain(X[:4], against=2).set_index(["row", "feature", "class_"])["contribution"]
    log_p = nb.loo(X, y).log_proba
    for order in ([2, 0, 1], [1, 0, 2]):
        names = np.argsort(order)  # class k is now called names[k], and names[k] is at column names[k]
        again = DiscriminativeNB().fit(X, names[y])
        assert again.predict_proba(X)[:, names] == pytest.approx(p, abs=1e-9)
        assert again.loo(X, names[y]).log_proba[:, names] == pytest.approx(log_p, abs=1e-9)
        new = again.sample_proba(X, 30, 0)[..., names]
        for summary in (np.mean, np.std, np.median):
            assert summary(new, axis=0) == pytest.approx(summary(draws, axis=0), abs=1e-9)
        other = again.explain(X[:4], against=names[2]).set_index(["row", "feature", "class_"])["contribution"]
        for (row, feature, label), value in explained.items():
            assert other[row, feature, names[label]] == pytest.approx(value, abs=1e-8)


def test_too_many_levels_have_no_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = mixed(60)
    for most, models in ((13, 2), (12, 1)):  # two numbers in quarters, and 5 levels
        monkeypatch.setattr(model, "_MAX_PAIR_LEVELS", most)
        assert len(DiscriminativeNB().fit(X, y).models_) == models


def test_frames_with_gaps_levels_and_what_training_rows_lack() -> None:
    X, y = mixed()
    X["same"] = 3.0
    nb = DiscriminativeNB().fit(X, y)
    assert nb.reader_.contract_["colour"].role == "levels"
    assert nb.layout_.sizes == [2, 3] and len(nb.layout_.shares) == 5
    new = X[:3].copy()
    new["colour"] = ["red", "violet", None]
    p = nb.predict_proba(new.assign(size=0.3, noise=0.0, flag=1))
    assert p[1] == pytest.approx(p[2]) and abs(p[0] - p[1]).max() > 0.01
    assert set(nb.predict(new)) <= {"no", "yes"}
    codes = X[["size", "noise"]].assign(colour=X["colour"].map({"red": 0, "blue": 1, "green": 2}))
    parts = [("n", GaussianNB(), ["size", "noise"]), ("l", CategoricalNB(min_categories=3), ["colour"])]
    assert DiscriminativeNB(parts).fit(codes, y).score(codes, y) > 0.7
    by_class = [("n", {"no": GaussianNB(), "yes": GaussianNB()}, ["noise", "size"])]
    with pytest.raises(ValueError, match="one for all classes"):
        DiscriminativeNB(by_class).fit(X[["noise", "size"]], y)
    constant = DiscriminativeNB().fit(np.column_stack([X["noise"], np.full(len(y), 3.0)]), y)
    assert constant.layout_.used.tolist() == [0]
    rows = np.column_stack([X["noise"], np.arange(len(y))])
    assert np.array_equal(constant.predict_proba(rows), constant.predict_proba(rows * [1, 0]))
    with pytest.raises(ValueError, match="no column that varies"):
        DiscriminativeNB().fit(np.full((len(y), 2), 3.5), y)


def test_more_columns_than_rows_and_sparse_counts() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 70))
    X[:, :5] += 2 * y[:, None]
    wide = DiscriminativeNB().fit(X[:40], y[:40])
    assert wide.layout_.axes.shape == (70, 40)
    assert wide.score(X[40:], y[40:]) > 0.5
    words = sparse.csr_array(rng.poisson(0.1 + (rng.random(90) < 0.4) * 2 * y[:, None], size=(60, 90)))
    counts = DiscriminativeNB().fit(words[:40], y[:40])
    assert len(counts.modes_[0].w) == 1 and len(counts.models_) == 1
    assert counts.score(words[40:], y[40:]) > 0.7
    assert counts.predict_proba(words.toarray()) == pytest.approx(counts.predict_proba(words))
    named = counts.explain(words[:2])
    assert named["feature"].nunique() == 94
    table = DiscriminativeNB([("w", MultinomialNB(), slice(None))]).fit(words[:40].toarray(), y[:40])
    assert table.predict_proba(words) == pytest.approx(counts.predict_proba(words))


# --- a model like others --------------------------------------------------------------------------------------------


def test_explanations_add_up() -> None:
    X, y = mixed()
    nb = DiscriminativeNB().fit(X, y)
    table = nb.explain(X[:5])
    log_p = nb.predict_log_proba(X[:5])
    odds = table.groupby(["row", "class_"])["contribution"].sum().unstack()
    assert odds["yes"].to_numpy() == pytest.approx(log_p[:, 1] - log_p[:, 0])
    assert nb.decision_function(X[:5]) == pytest.approx(odds["yes"].to_numpy())
    gap = X["size"].isna().to_numpy().argmax()
    missing = nb.explain(X[gap : gap + 1]).query("feature == 'size'")["contribution"]
    assert (missing == 0).all()
    iris = load_iris()
    nb = DiscriminativeNB().fit(iris.data, iris.target)
    by_class = nb.explain(iris.data[:1], against=2).groupby("class_")["contribution"].sum()
    assert by_class.index.tolist() == [0, 1]
    log_p = nb.predict_log_proba(iris.data[:1])[0]
    assert by_class.to_numpy() == pytest.approx(log_p[:2] - log_p[2])
    X = iris.data[[50, 70, 130]]  # modes that are sure have small shares of the mean
    log_p = np.array([nb._new_rows(nb._cells(X)).log_proba(one.w, one.b) for one in nb.modes_])
    part = np.array([[one.share] for one in nb.modes_]) * np.sqrt(1 - np.exp(2 * log_p).sum(2))
    mean = np.einsum("mn,mnc->nc", part / part.sum(0), log_p[..., :2] - log_p[..., 2:])
    columns = nb.explain(X, against=2).query("feature != '(averaging)'").groupby(["row", "class_"])["contribution"]
    assert len(nb.modes_) > 1 and columns.sum().to_numpy() == pytest.approx(mean.ravel())
    with pytest.raises(ValueError, match="`against` is 7"):
        nb.explain(iris.data, against=7)


def test_importance_knows_the_columns_that_matter() -> None:
    X, y = mixed(300)
    nb = DiscriminativeNB().fit(X, y)
    table = nb.importance(X, y).set_index("feature")
    assert {*table.index[:2]} == {"size", "colour"}
    assert table.loc["size", "elpd_gain"] > 0.01 > abs(table.loc["noise", "elpd_gain"])
    named = bayesnb.importance(nb, X, y, level=0.5)
    assert named["elpd_gain"].tolist() == table["elpd_gain"].tolist()
    assert (named["low"].to_numpy() > table["low"]).all()
    with pytest.raises(ValueError, match="`held_out` is True"):
        bayesnb.importance(nb, X, y, held_out=True)
    own = bayesnb.importance(bayesnb.MixedNB().fit(X, y), X, y).set_index("feature")
    assert table["information"].to_dict() == pytest.approx(own["information"].to_dict())


@pytest.mark.slow
def test_approximate_leave_one_out() -> None:
    X, y = wine()
    X, y = X[:60], y[:60]
    nb = DiscriminativeNB().fit(X, y)
    found = nb.loo(X, y)
    assert not found.exact and str(found).startswith("approximate leave-one-out of")
    rest = [np.delete(np.arange(60), i) for i in range(0, 60, 4)]
    again = [DiscriminativeNB().fit(X[k], y[k]).predict_log_proba(X[[4 * i]])[0][y[4 * i]] for i, k in enumerate(rest)]
    assert found.pointwise[::4].mean() == pytest.approx(np.mean(again), abs=0.02)
    assert found.p_loo > 0
    assert found.p_loo == pytest.approx(nb.predict_log_proba(X)[np.arange(60), y].sum() - found.elpd)
    both = np.r_[X, X], np.r_[y, y]
    doubled = DiscriminativeNB().fit(*both).loo(*both).log_proba
    assert doubled[:60] == pytest.approx(doubled[60:])
    twice = np.full(60, 2.0)
    with pytest.warns(UserWarning, match="are importance"):
        assert doubled[:60] == pytest.approx(DiscriminativeNB().fit(X, y, twice).loo(X, y, twice).log_proba)
    table = bayesnb.compare({"plain": GaussianNB(), "sharp": DiscriminativeNB()}, X, y).table
    assert table.index[0] == "sharp"
    assert np.isnan(table.loc["sharp", "log_evidence"])
    with pytest.raises(AttributeError, match="no evidence"):
        _ = nb.log_evidence_


@pytest.mark.slow
def test_draws_and_intervals() -> None:
    X, y = wine()
    X = X[:, :4]
    nb = DiscriminativeNB().fit(X, y)
    draws = nb.sample_proba(X[:20], 60, 0)
    assert draws.shape == (60, 20, 3) and draws.sum(-1) == pytest.approx(1)
    assert draws.mean(0) == pytest.approx(nb.predict_proba(X[:20]), abs=0.25)
    ends = nb.predict_interval(X[:20], 0.8, n_draws=60)
    inside = (draws >= ends[..., 0]) & (draws <= ends[..., 1])
    assert 0.75 < inside.mean() < 0.9


@pytest.mark.slow
def test_saved_piped_and_in_sets(tmp_path: Path) -> None:
    X, y = mixed()
    nb = DiscriminativeNB().fit(X, y)
    nb.save(tmp_path / "model")
    again = bayesnb.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(X), nb.predict_proba(X))
    X, y = load_iris(return_X_y=True)
    assert make_pipeline(StandardScaler(), DiscriminativeNB()).fit(X[::2], y[::2]).score(X, y) > 0.95
    sets = bayesnb.ConformalClassifierLOO(DiscriminativeNB()).fit(X[::5, 2:], y[::5], groups=np.arange(30) % 2)
    assert sets.predict_set(X[1::5, 2:], 0.6)[np.arange(30), y[1::5]].mean() >= 0.6
    before = again.predict_proba(mixed()[0])
    with pytest.raises(ValueError, match="one class"):
        again.fit(X[:10], y[:10])
    assert np.array_equal(again.predict_proba(mixed()[0]), before)


def test_a_file_of_version_0_2_predicts_as_it_did() -> None:
    """Its classes are in the order of their labels. Every fifth iris, two columns; figures printed by version 0.2.0."""
    X = load_iris().data[::50, :2]
    nb = bayesnb.load(Path(__file__).parents[1] / "saved" / "discriminative-0.2.safetensors")
    assert nb.predict_proba(X) == pytest.approx(
        np.array(
            [
                [0.981155176428, 0.01606412411, 0.002780699462],
                [0.001866495211, 0.143435701257, 0.854697803532],
                [0.03591853299, 0.454591272293, 0.509490194716],
            ]
        ),
        abs=1e-10,
    )
    mean = nb.sample_proba(X, 50, 0).mean(0)
    assert mean[0] == pytest.approx([0.9532669997, 0.0405465895, 0.0061864107], abs=1e-8)


@pytest.mark.slow
def test_the_report_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = mixed(60)
    X.assign(answer=y).to_csv(tmp_path / "rows.csv", index=False)
    command = [str(tmp_path / "rows.csv"), "--target", "answer", "--model", "discriminative", "-o"]
    assert main(["fit", *command, str(tmp_path / "model")]) == main(["report", *command, str(tmp_path / "page")]) == 0
    page = (tmp_path / "page").read_text()
    assert all(
        text in page for text in ("This is approximate", "Each feature has its own weight", "naive Bayes", "this model")
    )
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "rows.csv"), "--interval", "0.9"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert (found["predicted"] == y).mean() > 0.7 and (found["low"] <= found["high"]).all()
    assert main(["fit", *command, str(tmp_path / "other"), "--calibrate"]) == 2
    assert "--calibrate is not for" in capsys.readouterr().err


# --- the check ------------------------------------------------------------------------------------------------------


def free_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first weight is negative."""
    plain = Regression.log_proba
    monkeypatch.setattr(
        Regression, "log_proba", lambda s, w, b, *m: plain(s, w * np.r_[-1, np.ones(len(w) - 1)], b, *m)
    )


def resubstitution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training rows take the densities of all rows."""

    def left_out(nb: Any, training: TrainingRows) -> Regression:
        new = nb._new_rows(training.cells)
        return replace(new, label=np.eye(len(nb.classes_))[training.code], weight=training.weight)

    monkeypatch.setattr(DiscriminativeNB, "left_out", left_out)


def wrong_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prior of the linear term is three times as wide."""
    plain = WeightsMode.precision.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(WeightsMode, "precision", property(lambda mode: plain(mode) / 9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutation", "failing"),
    [(free_sign, {"13", "14"}), (resubstitution, {"16"}), (wrong_scale, {"13", "14"})],
)
def test_the_check_can_fail(mutation: Any, failing: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = wine()
    mutation(monkeypatch)
    rows = weight_rows(DiscriminativeNB().fit(X, y), X, y)
    assert failing <= {row.name[:2] for row in rows if not row.passed}


@pytest.mark.slow
def test_the_whole_check_passes() -> None:
    X, y = wine()
    report = DiscriminativeNB().check(X, y)
    assert report.passed, str(report)
    assert len(report.rows) >= 17 and report.quality[-1].name == "discriminative"
