"""Posterior draws as ArviZ data, and what ArviZ makes of them on either side of version 1: plots, comparison, files."""

import traceback
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse, stats

from bayesnb import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDA,
    GaussianNB,
    KernelNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    datasets,
)
from bayesnb.posterior import arviz_groups
from bayesnb.posterior.to_arviz import import_arviz

matplotlib.use("Agg")
GROUPS = {"posterior", "prior", "prior_predictive", "posterior_predictive", "observed_data", "constant_data"}
GROUPS |= {"log_likelihood", "log_prior"}
OLD = import_arviz().__version__.startswith("0.")
by_arviz = pytest.mark.filterwarnings("ignore")  # ArviZ and Matplotlib warn of each other


@pytest.fixture(scope="module")
def iris() -> Any:
    data = datasets.load("iris")
    return data.X, data.y


@pytest.fixture(scope="module")
def two(iris: Any) -> tuple[Any, Any]:
    rows = iris[1] != "setosa"
    return iris[0][rows], iris[1][rows]


@pytest.fixture(scope="module")
def nb(two: Any) -> GaussianNB:
    return GaussianNB().fit(*two)


@pytest.fixture(scope="module")
def data(nb: GaussianNB, two: Any) -> Any:
    return nb.sample_posterior(draws=100, seed=0, X=two[0], y=two[1])


def names_of(data: Any) -> set[str]:
    return set(data.groups()) if OLD else set(data.children)


def test_groups_dims_and_coords(data: Any, nb: GaussianNB, two: Any) -> None:
    """And `log_prior` is the closed form, `log_likelihood` that of SciPy."""
    assert names_of(data) == GROUPS
    X, labels = two
    mu = data["posterior"]["mu"]
    assert mu.sizes == {"chain": 4, "draw": 100, "class": 2, "feature": 4}
    assert mu.coords["class"].values.tolist() == nb.classes_.tolist()
    assert mu.coords["feature"].values.tolist() == X.columns.tolist()
    assert data["prior"]["variance"].dims == mu.dims
    observed = data["observed_data"]["y"]
    assert data["observed_data"]["class"].values[observed.values].tolist() == labels.tolist()
    # pointwise log p(x_i, y_i | θ) of the first draw
    theta = {name: data["posterior"][name].values[0, 0] for name in ("pi", "mu", "variance")}
    c = nb.model_.class_index(labels)
    expected = np.log(theta["pi"][c]) + stats.norm.logpdf(X, theta["mu"][c], np.sqrt(theta["variance"][c])).sum(1)
    log_likelihood = data["log_likelihood"]
    assert set(log_likelihood.data_vars) == {"joint", "y_given_x"}
    np.testing.assert_allclose(log_likelihood["joint"].values[0, 0], expected, rtol=1e-12)
    table = np.log(theta["pi"]) + stats.norm.logpdf(X.to_numpy()[:, None], theta["mu"], np.sqrt(theta["variance"])).sum(
        -1
    )
    log_p = table - np.logaddexp.reduce(table, axis=1)[:, None]
    np.testing.assert_allclose(
        log_likelihood["y_given_x"].values[0, 0], log_p[np.arange(100), c], rtol=1e-9, atol=1e-12
    )
    p = data["posterior_predictive"]["p"]
    assert p.dims == ("chain", "draw", "row", "class")
    np.testing.assert_allclose(p.values[0, 0], np.exp(log_p), rtol=1e-9, atol=1e-12)
    for group in ("constant_data", "observed_data"):
        np.testing.assert_array_equal(data[group]["x"], X)
    assert data["posterior_predictive"]["x"].shape == (4, 100, 100, 4)
    assert data["log_likelihood"]["row"].values.tolist() == X.index.tolist() == [*range(50, 150)]
    for group in ("prior_predictive", "posterior_predictive", "observed_data"):
        y = data[group]["y"]
        assert y.dtype.kind == "i"
        assert data[group]["class"].values.tolist() == ["versicolor", "virginica"]
    assert log_likelihood["joint"].dims == ("chain", "draw", "row")
    assert set(data["log_prior"].data_vars) == {"pi", "x"}
    new = nb.sample_posterior(draws=30, X=X[:7])
    assert names_of(new) == GROUPS - {"log_likelihood", "observed_data"}
    assert new["posterior_predictive"]["y"].shape == (4, 30, 7)
    assert set(new["posterior_predictive"].data_vars) == {"p", "y"}  # without a label no row is drawn
    np.testing.assert_array_equal(new["constant_data"]["x"], X[:7])
    mixed = MixedNB([("one", GaussianNB(), [0]), ("other", MultinomialNB(), [1, 2, 3])]).fit(X, labels)
    assert set(mixed.sample_posterior(draws=5, X=X, y=labels)["log_prior"].data_vars) == {"pi", "one", "other"}
    for group in GROUPS:
        assert {"created_at", "inference_library_version"} <= data[group].attrs.keys()
        assert data[group].attrs["inference_library"] == "bayesnb"
    theta = nb.posterior_.from_sites({k: data["posterior"][k].values for k in ("pi", "mu", "variance")})
    total = sum(data["log_prior"][name] for name in ("pi", "x"))
    np.testing.assert_allclose(total, nb.prior_.log_prob(theta), rtol=1e-9)


@pytest.fixture(scope="module")
def few(iris: Any) -> tuple[Any, Any]:
    """Every fifth iris."""
    return iris[0][::5], iris[1][::5]


def elpd_of(loo: Any) -> float:
    return float(loo.elpd_loo if OLD else loo.elpd)


@by_arviz
def test_loo_of_joint_and_of_y_given_x_are_the_two_exact_ones(few: Any) -> None:
    """Within four standard errors of eight estimates from draws of their own."""
    X, y = few
    nb = GaussianNB().fit(X, y)
    exact = nb.loo(X, y)
    estimates: dict[str, list[float]] = {"joint": [], "y_given_x": []}
    for seed in range(8):
        data = nb.sample_posterior(draws=500, seed=seed, X=X, y=y)
        for name, values in estimates.items():
            values.append(elpd_of(import_arviz().loo(data, var_name=name)))
    for name, value in (("joint", exact.elpd_joint), ("y_given_x", exact.elpd)):
        error = np.std(estimates[name], ddof=1) / np.sqrt(8)
        assert abs(np.mean(estimates[name]) - value) < 4 * error, name
        assert elpd_of(exact.to_arviz(name)) == pytest.approx(value)


@by_arviz
def test_compare_speaks_of_one_thing_or_refuses(few: Any) -> None:
    """Draws and exact results side by side; ArviZ asks which of the two likelihoods is meant."""
    arviz = import_arviz()
    X, y = few
    models = {"class": GaussianNB().fit(X, y), "pooled": GaussianNB(variance="pooled").fit(X, y)}
    draws = {name: nb.sample_posterior(draws=500, seed=1, X=X, y=y) for name, nb in models.items()}
    for kind in ("joint", "y_given_x"):
        results = draws | {f"{name}, exact": nb.loo(X, y).to_arviz(kind) for name, nb in models.items()}
        frame = arviz.compare(results, var_name=kind, **({} if OLD else {"round_to": "none"}))
        elpd = frame["elpd_loo" if OLD else "elpd"]
        for name in models:
            assert abs(elpd[name] - elpd[f"{name}, exact"]) < (0.5 if kind == "joint" else 0.05)
        # rows are paired: the difference of two scores is the sum of the differences of rows
        apart = frame["elpd_diff"]
        best = elpd.max()
        np.testing.assert_allclose(abs(apart), best - elpd, atol=1e-8)
    with pytest.raises(TypeError) as refused:
        arviz.compare(draws)
    message = "".join(traceback.format_exception(refused.value))
    assert "several log likelihood arrays ['joint', 'y_given_x'], var_name cannot be None" in message
    with pytest.raises(ValueError, match="`kind` is 'conditional'; choose 'y_given_x' or 'joint'"):
        models["class"].loo(X, y).to_arviz("conditional")


def loo_pit_of_x(data: Any) -> np.ndarray:
    """P(new x_ij ≤ x_ij | y_i, D without row i), by ArviZ: the cells of a row share its likelihood."""
    arviz = import_arviz()
    joint = data["log_likelihood"]["joint"]
    data["log_likelihood"]["x"] = joint.broadcast_like(data["observed_data"]["x"])
    return np.asarray(arviz.loo_pit(data, y="x") if OLD else arviz.loo_pit(data, var_names="x")["x"])


@by_arviz
def test_loo_pit_of_x_is_the_distribution_function_without_the_row(few: Any) -> None:
    """That of Student's t from all other rows, within five Monte Carlo errors of 4,000 draws."""
    X, y = few
    prior = {"m": 3.0, "kappa": 0.5, "a": 2.0, "b": 0.5}
    nb = GaussianNB(prior=prior).fit(X, y)
    pit = loo_pit_of_x(nb.sample_posterior(draws=1000, seed=0, X=X, y=y))
    assert pit.shape == X.shape
    for i in range(0, 30, 3):
        others = np.arange(30) != i
        block = GaussianNB(prior=prior).fit(X[others], y[others]).posterior_.blocks["x"]
        c = nb.model_.class_index(y)[i]
        scale = np.sqrt(block.b[c] / block.a[c] * (1 + 1 / block.kappa[c]))
        expected = stats.t.cdf(X.iloc[i], 2 * block.a[c], block.m[c], scale)
        assert (abs(pit[i] - expected) < 5 * np.sqrt(expected * (1 - expected) / 2000) + 0.005).all(), i


def test_sites_add_up_to_joint(few: Any) -> None:
    X, y = few
    parts = [("a", GaussianNB(), [0, 1]), ("b", GaussianDA(), [2, 3])]
    for nb, names in ((GaussianNB(), {"x"}), (MixedNB(parts), {"a.x", "b.x"})):
        found = nb.fit(X, y).sample_posterior(draws=5, X=X, y=y, sites=True)["log_likelihood"]
        assert set(found.data_vars) == {"joint", "y_given_x", "y"} | names
        np.testing.assert_allclose(sum(found[name] for name in {"y"} | names), found["joint"])
    fixed = GaussianNB(fit_prior=False).fit(X, y).sample_posterior(draws=5, X=X, y=y, sites=True)["log_likelihood"]
    np.testing.assert_allclose(fixed["y"], -np.log(3))


@by_arviz
def test_summary_and_files(data: Any, nb: GaussianNB, two: Any, tmp_path: Any) -> None:
    arviz = import_arviz()
    assert len(arviz.summary(data, var_names=["mu"])) == 8
    X = two[0].set_index(np.array([f"flower {i}" for i in range(100)]))
    data = nb.sample_posterior(draws=20, X=X, y=two[1], sites=True)
    path = tmp_path / "draws.nc"
    data.to_netcdf(path)
    back = arviz.from_netcdf(path)
    for group in GROUPS:
        xr.testing.assert_identical(back[group].to_dataset() if not OLD else back[group], as_dataset(data[group]))
    assert back["observed_data"]["class"].values.tolist() == ["versicolor", "virginica"]
    assert back["log_likelihood"]["row"].values[3] == "flower 3"
    np.testing.assert_array_equal(nb.sample_proba(X[:3], draws=back), nb.sample_proba(X[:3], draws=data))


def as_dataset(group: Any) -> Any:
    return group if OLD else group.to_dataset()


def test_the_index_of_a_data_frame_names_the_rows(two: Any, nb: GaussianNB) -> None:
    X, y = two[0][:3], two[1][:3]
    days = pd.date_range("2026-01-01", periods=3)
    pairs = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    for index, expected in (
        (["u", "v", "w"], ["u", "v", "w"]),
        (["u", 2, "w"], ["u", "2", "w"]),
        (days, days.tolist()),
        (pairs, ["('a', 1)", "('a', 2)", "('b', 1)"]),
    ):
        row = nb.sample_posterior(draws=2, X=X.set_axis(index), y=y)["log_likelihood"]["row"]
        assert pd.Index(row.values).tolist() == expected
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        row = nb.sample_posterior(draws=2, X=X.to_numpy(), y=y)["log_likelihood"]["row"]
    assert row.values.tolist() == [0, 1, 2]


PLOTS: dict[str, dict[str, Any]] = {"plot_separation": {"y": "y"}, "plot_forest": {"var_names": ["mu"]}}
PLOTS |= {"plot_ppc": {"var_names": ["x"], "num_pp_samples": 20}, "plot_ppc_dist": {"var_names": ["x"]}}
PLOTS |= {"plot_ppc_pava": {"var_names": ["y"]}}


@by_arviz
@pytest.mark.parametrize("name", [name for name in PLOTS if hasattr(import_arviz(), name)])
def test_arviz_draws(data: Any, name: str) -> None:
    import matplotlib.pyplot as plt

    try:
        assert getattr(import_arviz(), name)(data, **PLOTS[name]) is not None
    finally:
        plt.close("all")


@by_arviz
def test_arviz_weighs_prior_and_likelihood(data: Any) -> None:
    """Power-scaling by ArviZ from the groups alone."""
    arviz = import_arviz()
    for component in ("prior", "likelihood"):
        names = ["joint"] if component == "likelihood" else None  # two likelihoods must not be multiplied
        how = (
            {"component": component, "component_var_names": names}
            if OLD
            else {"group": component, "group_var_names": names}
        )
        found = (arviz.psens if OLD else arviz.psense)(data, var_names=["mu", "pi"], **how)
        assert found["mu"].shape == (2, 4) and (found["mu"].values > 0).all() and (found["pi"].values > 0).all()
    if not OLD:
        summary = arviz.psense_summary(data, var_names=["pi"], likelihood_var_names=["joint"])
        assert set(summary.columns) >= {"prior", "likelihood", "diagnosis"}


@by_arviz
@pytest.mark.slow
def test_nuts_has_sample_stats_and_its_energy_is_drawn(nb: GaussianNB) -> None:
    data = nb.sample_posterior(draws=50, method="nuts", warmup=50, chains=2)
    assert {"diverging", "energy", "lp", "step_size"} <= set(data["sample_stats"].data_vars)
    assert data["posterior"].attrs["inference_library"] == "numpyro"
    assert not data["sample_stats"]["diverging"].values.all()
    # the energy of NUTS is potential plus kinetic energy, which is positive
    assert (data["sample_stats"]["energy"].values + data["sample_stats"]["lp"].values >= 0).all()
    assert import_arviz().plot_energy(data) is not None


def test_equal_seeds_give_equal_draws(nb: GaussianNB) -> None:
    first, second, other = (nb.sample_posterior(draws=5, seed=seed)["posterior"]["mu"] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


@pytest.mark.slow
@pytest.mark.parametrize("on_rows", [True, False], ids=["rows", "statistics"])
def test_nuts_agrees_with_exact_draws(nb: GaussianNB, two: Any, on_rows: bool) -> None:
    X, y = two if on_rows else (None, None)
    data = nb.sample_posterior(draws=500, seed=0, method="nuts", X=X, y=y, warmup=300)
    exact = nb.posterior_.marginals()
    arviz = import_arviz()
    for name in ("mu", "variance", "pi"):
        error = arviz.mcse(data, var_names=[name])[name]
        found = data["posterior"][name].mean(("chain", "draw"))
        # 18 means: five standard errors are passed by chance once in 90,000 runs
        assert (np.abs((found - exact[name].mean()) / error) < 5).all(), name


def assert_draws_are_read_back(nb: Any, X: Any, data: Any) -> None:
    """Class probabilities at the draws: by the variables of the result, and as it has them."""
    p = data["posterior_predictive"]["p"].values
    np.testing.assert_allclose(nb.sample_proba(X, draws=data), p.reshape(-1, *p.shape[2:]), rtol=1e-9)


def test_columns_of_levels_are_named_by_column_and_level() -> None:
    X = np.array([[0, 1, 0], [1, 2, 1], [0, 0, 2], [1, 1, 0]])
    y = [0, 1, 0, 1]
    nb = CategoricalNB().fit(X, y)
    data = nb.sample_posterior(draws=3, seed=0, X=X, y=y)
    assert set(data["posterior"].data_vars) == {"pi", "column_0.theta", "column_1.theta", "column_2.theta"}
    theta = data["posterior"]["column_1.theta"]
    assert theta.dims == ("chain", "draw", "class", "column_1_level")
    np.testing.assert_allclose(theta.sum("column_1_level"), 1)
    np.testing.assert_array_equal(data["observed_data"]["column_1.x"], X[:, 1])
    assert set(data["log_prior"].data_vars) == {"pi", "x"}
    assert_draws_are_read_back(nb, X, data)
    # columns of the same levels share one array
    words = np.array(["yes", "no", "unknown"])[X[:, 1:]]
    nb = CategoricalNB().fit(words, y)
    data = nb.sample_posterior(draws=3, seed=0, X=words, y=y)
    assert data["posterior"]["theta"].dims == ("chain", "draw", "class", "feature", "level")
    assert data["posterior"]["level"].values.tolist() == ["no", "unknown", "yes"]
    x = data["observed_data"]["x"]
    assert data["observed_data"]["level"].values[x.values].tolist() == words.tolist()
    assert data["posterior_predictive"]["x"].dtype.kind == "i"
    assert_draws_are_read_back(nb, words, data)


def test_a_mixed_table_is_named_by_part_and_column() -> None:
    penguins = datasets.load("penguins")
    nb = MixedNB().fit(penguins.X, penguins.y)
    X, y = penguins.X[::10], penguins.y[::10]
    data = nb.sample_posterior(draws=20, seed=0, X=X, y=y)
    posterior = data["posterior"]
    assert set(posterior.data_vars) == {"pi", "numbers.mu", "numbers.variance", "sex.theta", "island.theta"}
    assert posterior["island_level"].values.tolist() == ["Biscoe", "Dream", "Torgersen"]
    assert posterior["numbers_feature"].values[0] == "bill_length_mm"
    observed = data["observed_data"]
    island = observed["island_level"].values[observed["island.x"].values]
    assert island.tolist() == X["island"].tolist()
    assert set(data["log_prior"].data_vars) == {"pi", "numbers", "levels"}
    assert_draws_are_read_back(nb, X, data)
    # no penguin of the species Gentoo lives on Dream, and replicated ones seldom do
    is_gentoo = np.asarray(y == "Gentoo")
    on_dream = data["posterior_predictive"]["island.x"].values[..., is_gentoo] == 1
    assert on_dream.mean() < 0.05


def test_names_that_would_clash_or_that_files_refuse(tmp_path: Any) -> None:
    X = pd.DataFrame({"a/b": list("uvuv"), "a_b": list("xyzx"), "n": [0, 1, 0, 1]})
    y = [0, 1, 0, 1]
    parts = [("words", CategoricalNB(), ["a/b", "a_b"]), ("n", BernoulliNB(), ["n"])]
    data = MixedNB(parts).fit(X, y).sample_posterior(draws=2)
    assert set(data["posterior"].data_vars) == {"pi", "a_b.theta", "a_b_1.theta", "n.theta"}
    data.to_netcdf(tmp_path / "draws.nc")
    of_class = {0: CategoricalNB(), 1: CategoricalNB()}
    nb = MixedNB([("k", of_class, ["a/b", "a_b"]), ("n", PoissonNB(), ["n"])]).fit(X, y)
    data = nb.sample_posterior(draws=2, X=X, y=y)
    assert {"k.0.a_b.theta", "k.1.a_b.theta", "k.1.a_b_1.theta", "n.rate"} < set(data["posterior"].data_vars)
    x = data["observed_data"]["k.1.a_b.x"]
    assert np.isnan(x.values).tolist() == [True, False, True, False]  # a block of one class has no other rows
    assert_draws_are_read_back(nb, X, data)


def test_rows_that_no_model_draws_and_sparse_rows(few: Any) -> None:
    X = np.random.default_rng(0).poisson(2.0, (12, 4))
    y = np.arange(12) % 2
    counts = MultinomialNB().fit(X, y).sample_posterior(draws=3, X=sparse.csr_array(X), y=y)
    np.testing.assert_array_equal(counts["observed_data"]["x"], X)
    replicated = counts["posterior_predictive"]["x"]
    np.testing.assert_array_equal(replicated.sum("feature").values[2, 1], X.sum(1))
    assert replicated.dtype.kind == counts["observed_data"]["x"].dtype.kind == "i"
    complement = ComplementNB().fit(X, y).sample_posterior(draws=3, X=X, y=y)
    assert "x" in complement["observed_data"] and "x" not in complement["posterior_predictive"]
    bandwidths = KernelNB().fit(*few).sample_posterior(draws=3, X=few[0], y=few[1])
    assert "x" in bandwidths["posterior_predictive"] and "x" not in bandwidths["prior_predictive"]


def test_arrays_that_are_too_large_are_left_out_with_a_warning(few: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nb = GaussianNB().fit(*few)
    monkeypatch.setattr(arviz_groups, "_MOST_NUMBERS", 4 * 10 * 30 * 3)
    with pytest.warns(UserWarning, match=r"^replicated rows x would have more than 3,600 numbers .* fewer `draws`"):
        data = nb.sample_posterior(draws=10, X=few[0], y=few[1])
    assert set(data["posterior_predictive"].data_vars) == {"p", "y"}
    with pytest.warns(UserWarning, match=r"^p\(y \| x, θ\), replicated rows x would"):
        data = nb.sample_posterior(draws=11, X=few[0], y=few[1])
    assert set(data["posterior_predictive"].data_vars) == {"y"}


def test_bad_settings_are_named(nb: GaussianNB, two: Any) -> None:
    for settings, message in (
        ({"method": "gibbs"}, "`method` is 'gibbs'"),
        ({"draws": 0}, "`draws` is 0"),
        ({"y": ["setosa"]}, "`y` is given without `X`"),
        ({"X": two[0][:1], "y": ["tulip"]}, "tulip"),
        ({"X": two[0][:2], "y": ["virginica"]}, r"`X` has 2 rows, but `y` has 1 labels"),
    ):
        with pytest.raises(ValueError, match=message):
            nb.sample_posterior(**settings)


def test_a_kernel_density_gives_no_likelihood_of_training_rows(iris: Any) -> None:
    """It would contain the row's own kernel: importance sampling was off by 32 nats, every Pareto k good."""
    X, y = iris[0][::5].to_numpy(), iris[1][::5]
    each = {"setosa": KernelNB(), "versicolor": GaussianNB(), "virginica": GaussianNB()}
    parts = [("k", KernelNB(), [0, 1]), ("g", GaussianNB(), [2, 3])]
    for nb in (KernelNB(), KernelNB(bandwidth="nrd0"), MixedNB(parts), MixedNB([("k", each, [0, 1, 2, 3])])):
        data = nb.fit(X, y).sample_posterior(draws=5, X=X, y=y)
        assert "observed_data" in data and "log_likelihood" not in data
        assert data["log_prior"].data_vars
        assert all(np.isfinite(level).all() for level in data["log_prior"].data_vars.values())
