"""Posterior draws as ArviZ data, and what ArviZ makes of them on either side of version 1: plots, comparison, files."""

from typing import Any

import matplotlib
import numpy as np
import pytest
from scipy import stats

from bayesnb import CategoricalNB, GaussianNB, KernelNB, MixedNB, MultinomialNB, datasets
from bayesnb.inference.to_arviz import import_arviz

matplotlib.use("Agg")
GROUPS = {"posterior", "prior", "prior_predictive", "posterior_predictive", "observed_data"}
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
    c = nb.class_index(labels)
    expected = np.log(theta["pi"][c]) + stats.norm.logpdf(X, theta["mu"][c], np.sqrt(theta["variance"][c])).sum(1)
    np.testing.assert_allclose(data["log_likelihood"]["y"].values[0, 0], expected, rtol=1e-12)
    for group in ("prior_predictive", "posterior_predictive", "observed_data"):
        y = data[group]["y"]
        assert y.dtype.kind == "i"
        assert data[group]["class"].values.tolist() == ["versicolor", "virginica"]
    assert data["log_likelihood"]["y"].dims == ("chain", "draw", "row")
    assert set(data["log_prior"].data_vars) == {"pi", "x"}
    new = nb.sample_posterior(draws=30, X=X[:7])
    assert names_of(new) == GROUPS - {"log_likelihood", "observed_data"}
    assert new["posterior_predictive"]["y"].shape == (4, 30, 7)
    mixed = MixedNB([("one", GaussianNB(), [0]), ("other", MultinomialNB(), [1, 2, 3])]).fit(X, labels)
    assert set(mixed.sample_posterior(draws=5, X=X, y=labels)["log_prior"].data_vars) == {"pi", "one", "other"}
    for group in GROUPS:
        assert {"created_at", "inference_library_version"} <= data[group].attrs.keys()
        assert data[group].attrs["inference_library"] == "bayesnb"
    theta = nb.posterior_.from_sites({k: data["posterior"][k].values for k in ("pi", "mu", "variance")})
    total = sum(data["log_prior"][name] for name in ("pi", "x"))
    np.testing.assert_allclose(total, nb.prior_.log_prob(theta), rtol=1e-9)


@by_arviz
def test_loo_compare_pit_summary_and_files(data: Any, two: Any, tmp_path: Any) -> None:
    arviz = import_arviz()
    X, y = two
    other = GaussianNB(variance="pooled").fit(X, y).sample_posterior(draws=100, seed=1, X=X, y=y)
    loo = arviz.loo(data, pointwise=True)
    exact = GaussianNB().fit(X, y).loo(X, y)
    found = float(loo.elpd_loo if OLD else loo.elpd)
    joint = exact.to_arviz(kind="joint")
    assert abs(found - float(joint.elpd_loo if OLD else joint.elpd)) < 3
    assert len(arviz.compare({"class": data, "pooled": other})) == 2
    arviz.plot_khat(loo)
    pit = arviz.loo_pit(data, y="y") if OLD else arviz.loo_pit(data)
    assert np.isfinite(np.asarray(pit["y"] if hasattr(pit, "data_vars") else pit)).all()
    assert len(arviz.summary(data, var_names=["mu"])) == 8
    path = tmp_path / "draws.nc"
    data.to_netcdf(path)
    back = arviz.from_netcdf(path)
    np.testing.assert_array_equal(back["posterior"]["mu"], data["posterior"]["mu"])
    assert back["observed_data"]["class"].values.tolist() == ["versicolor", "virginica"]


PLOTS = {"plot_separation": {"y": "y"}, "plot_forest": {"var_names": ["mu"]}, "plot_ppc_pava": {}}
PLOTS |= {"plot_psense_dist": {"var_names": ["pi"]}, "plot_loo_pit": {"y": "y"} if OLD else {}}


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
        how = {"component": component} if OLD else {"group": component}
        found = (arviz.psens if OLD else arviz.psense)(data, var_names=["mu", "pi"], **how)
        assert found["mu"].shape == (2, 4) and (found["mu"].values > 0).all() and (found["pi"].values > 0).all()
    if not OLD:
        assert set(arviz.psense_summary(data, var_names=["pi"]).columns) >= {"prior", "likelihood", "diagnosis"}


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


def test_blocks_of_several_level_numbers_have_dims_of_their_own() -> None:
    X = np.array([[0, 1, 0], [1, 2, 1], [0, 0, 2], [1, 1, 0]])
    data = CategoricalNB().fit(X, [0, 1, 0, 1]).sample_posterior(draws=3, seed=0)
    theta = data["posterior"]["levels_3.theta"]
    assert theta.dims == ("chain", "draw", "class", "levels_3_feature", "levels_3_level")
    assert theta.coords["levels_3_feature"].values.tolist() == [1, 2]
    np.testing.assert_allclose(theta.sum("levels_3_level"), 1)


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
