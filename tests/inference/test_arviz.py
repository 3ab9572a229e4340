"""What ArviZ makes of the data that are handed to it, on either side of version 1: plots, comparison, files."""

from typing import Any

import matplotlib
import numpy as np
import pytest

from bayesnb import GaussianNB, MixedNB, MultinomialNB, datasets
from bayesnb.inference.to_arviz import import_arviz

matplotlib.use("Agg")
GROUPS = {"posterior", "prior", "prior_predictive", "posterior_predictive", "observed_data"}
GROUPS |= {"log_likelihood", "log_prior"}
OLD = import_arviz().__version__.startswith("0.")
pytestmark = pytest.mark.filterwarnings("ignore")  # ArviZ and Matplotlib warn of each other


@pytest.fixture(scope="module")
def iris() -> Any:
    return datasets.load("iris")


@pytest.fixture(scope="module")
def two(iris: Any) -> tuple[Any, Any]:
    rows = iris.y != "setosa"
    return iris.X[rows], iris.y[rows]


@pytest.fixture(scope="module")
def data(two: Any) -> Any:
    return GaussianNB().fit(*two).sample_posterior(draws=100, seed=0, X=two[0], y=two[1])


def names_of(data: Any) -> set[str]:
    return set(data.groups()) if OLD else set(data.children)


def test_groups_of_labelled_rows(data: Any, two: Any) -> None:
    """And `log_prior` is the closed form."""
    assert names_of(data) == GROUPS
    for group in ("prior_predictive", "posterior_predictive", "observed_data"):
        y = data[group]["y"]
        assert y.dtype.kind == "i"
        assert data[group]["class"].values.tolist() == ["versicolor", "virginica"]
    assert data["log_likelihood"]["y"].dims == ("chain", "draw", "row")
    assert set(data["log_prior"].data_vars) == {"pi", "x"}
    new = GaussianNB().fit(*two).sample_posterior(draws=30, X=two[0][:7])
    assert names_of(new) == GROUPS - {"log_likelihood", "observed_data"}
    assert new["posterior_predictive"]["y"].shape == (4, 30, 7)
    X, y = two
    nb = MixedNB([("one", GaussianNB(), [0]), ("other", MultinomialNB(), [1, 2, 3])]).fit(X, y)
    assert set(nb.sample_posterior(draws=5, X=X, y=y)["log_prior"].data_vars) == {"pi", "one", "other"}
    for group in GROUPS:
        assert {"created_at", "inference_library_version"} <= data[group].attrs.keys()
        assert data[group].attrs["inference_library"] == "bayesnb"
    nb = GaussianNB().fit(*two)
    theta = nb.posterior_.from_sites({k: data["posterior"][k].values for k in ("pi", "mu", "variance")})
    total = sum(data["log_prior"][name] for name in ("pi", "x"))
    np.testing.assert_allclose(total, nb.prior_.log_prob(theta), rtol=1e-9)


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


@pytest.mark.parametrize("name", [name for name in PLOTS if hasattr(import_arviz(), name)])
def test_arviz_draws(data: Any, name: str) -> None:
    import matplotlib.pyplot as plt

    try:
        assert getattr(import_arviz(), name)(data, **PLOTS[name]) is not None
    finally:
        plt.close("all")


def test_arviz_weighs_prior_and_likelihood(data: Any) -> None:
    """Power-scaling by ArviZ from the groups alone."""
    arviz = import_arviz()
    for component in ("prior", "likelihood"):
        how = {"component": component} if OLD else {"group": component}
        found = (arviz.psens if OLD else arviz.psense)(data, var_names=["mu", "pi"], **how)
        assert found["mu"].shape == (2, 4) and (found["mu"].values > 0).all() and (found["pi"].values > 0).all()
    if not OLD:
        assert set(arviz.psense_summary(data, var_names=["pi"]).columns) >= {"prior", "likelihood", "diagnosis"}


@pytest.mark.slow
def test_nuts_has_sample_stats_and_its_energy_is_drawn(two: Any) -> None:
    nb = GaussianNB().fit(*two)
    data = nb.sample_posterior(draws=50, method="nuts", warmup=50, chains=2)
    assert {"diverging", "energy", "lp", "step_size"} <= set(data["sample_stats"].data_vars)
    assert data["posterior"].attrs["inference_library"] == "numpyro"
    assert not data["sample_stats"]["diverging"].values.all()
    # the energy of NUTS is potential plus kinetic energy, which is positive
    assert (data["sample_stats"]["energy"].values + data["sample_stats"]["lp"].values >= 0).all()
    assert import_arviz().plot_energy(data) is not None
