"""Posterior draws as ArviZ data, on either side of ArviZ 1."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

from bayesnb import CategoricalNB, GaussianNB, KernelNB, MixedNB
from bayesnb.inference.to_arviz import import_arviz


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def nb(iris):
    return GaussianNB().fit(*iris)


def test_groups_dims_and_coords(nb, iris):
    X, y = iris
    data = nb.sample_posterior(draws=50, seed=1, X=X, y=y, chains=2)
    mu = data["posterior"]["mu"]
    assert mu.sizes == {"chain": 2, "draw": 50, "class": 3, "feature": 4}
    assert mu.coords["class"].values.tolist() == nb.classes_.tolist()
    assert mu.coords["feature"].values.tolist() == X.columns.tolist()
    assert data["prior"]["variance"].dims == mu.dims
    assert data["posterior_predictive"]["y"].shape == (2, 50, 150)
    observed = data["observed_data"]["y"]
    assert data["observed_data"]["class"].values[observed.values].tolist() == y.tolist()
    # pointwise log p(x_i, y_i | θ) of the first draw, by SciPy
    theta = {name: data["posterior"][name].values[0, 0] for name in ("pi", "mu", "variance")}
    c = nb.class_index(y)
    expected = np.log(theta["pi"][c]) + stats.norm.logpdf(X, theta["mu"][c], np.sqrt(theta["variance"][c])).sum(1)
    np.testing.assert_allclose(data["log_likelihood"]["y"].values[0, 0], expected, rtol=1e-12)


def test_equal_seeds_give_equal_draws(nb):
    first, second, other = (nb.sample_posterior(draws=5, seed=seed)["posterior"]["mu"] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


@pytest.mark.slow
@pytest.mark.parametrize("on_rows", [True, False], ids=["rows", "statistics"])
def test_nuts_agrees_with_exact_draws(nb, iris, on_rows):
    X, y = iris if on_rows else (None, None)
    data = nb.sample_posterior(draws=500, seed=0, method="nuts", X=X, y=y, warmup=300)
    exact = nb.posterior_.marginals()
    arviz = import_arviz()
    for name in ("mu", "variance", "pi"):
        error = arviz.mcse(data, var_names=[name])[name]
        found = data["posterior"][name].mean(("chain", "draw"))
        # 27 means: five standard errors are passed by chance once in 60,000 runs
        assert (np.abs((found - exact[name].mean()) / error) < 5).all(), name


def test_blocks_of_several_level_numbers_have_dims_of_their_own():
    X = np.array([[0, 1, 0], [1, 2, 1], [0, 0, 2], [1, 1, 0]])
    data = CategoricalNB().fit(X, [0, 1, 0, 1]).sample_posterior(draws=3, seed=0)
    theta = data["posterior"]["levels_3.theta"]
    assert theta.dims == ("chain", "draw", "class", "levels_3_feature", "levels_3_level")
    assert theta.coords["levels_3_feature"].values.tolist() == [1, 2]
    np.testing.assert_allclose(theta.sum("levels_3_level"), 1)


def test_bad_settings_are_named(nb, iris):
    for settings, message in (
        ({"method": "gibbs"}, "`method` is 'gibbs'"),
        ({"draws": 0}, "`draws` is 0"),
        ({"y": ["setosa"]}, "`y` is given without `X`"),
        ({"X": iris[0][:1], "y": ["tulip"]}, "tulip"),
        ({"X": iris[0][:2], "y": ["setosa"]}, r"inconsistent numbers of samples: \[2, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            nb.sample_posterior(**settings)


def test_a_kernel_density_gives_no_likelihood_of_training_rows(iris):
    """It would contain the row's own kernel: importance sampling was off by 32 nats, every Pareto k good."""
    X, y = iris[0][::5].to_numpy(), iris[1][::5]
    each = {"setosa": KernelNB(), "versicolor": GaussianNB(), "virginica": GaussianNB()}
    parts = [("k", KernelNB(), [0, 1]), ("g", GaussianNB(), [2, 3])]
    for nb in (KernelNB(), KernelNB(bandwidth="nrd0"), MixedNB(parts), MixedNB([("k", each, [0, 1, 2, 3])])):
        data = nb.fit(X, y).sample_posterior(draws=5, X=X, y=y)
        assert "observed_data" in data and "log_likelihood" not in data
        assert data["log_prior"].data_vars
        assert all(np.isfinite(level).all() for level in data["log_prior"].data_vars.values())
