"""Power-scaling in closed form: powers of densities are exact, and ArviZ's importance weights give the same numbers."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayesnb import BernoulliNB, FamilyNB, GaussianDA, GaussianNB, KernelNB, OneDependenceNB, datasets, families
from bayesnb.sampling.sensitivity import distance, powered
from bayesnb.sampling.to_arviz import import_arviz

from ..laws import FAMILIES, Family, case


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_powers_are_proportional_to_the_power_of_the_density(family: Family, rng: np.random.Generator) -> None:
    nb = case(family).prior
    theta = nb.sample(rng, (5,))
    for power in (0.9, 1.1):
        difference = powered(nb, power).log_prob(theta) - power * nb.log_prob(theta)
        assert np.ptp(difference) < 1e-11


def test_scaled_statistics_are_the_power_of_the_likelihood(rng: np.random.Generator) -> None:
    for family in FAMILIES:
        this = case(family)
        theta = this.prior.sample(rng, (4,))
        extra = this.prior.update(this.stats.scaled(1.3)).log_prob(theta) - this.prior.log_prob(theta)
        once = this.posterior.log_prob(theta) - this.prior.log_prob(theta)
        assert np.ptp(extra - 1.3 * once) < 1e-9, family.name


def test_one_covariance_is_a_variance(few: Any) -> None:
    """With one feature normal–inverse-Wishart is normal–inverse-gamma: a = ν/2, b = S/2."""
    X, y = few[0].iloc[:, :1].to_numpy(), few[1]
    nb = GaussianDA().fit(X, y)
    known = nb.prior_.blocks["x"]
    same = families.NormalInverseGamma(known.m, known.kappa[:, None], known.nu[:, None] / 2, known.S[..., 0] / 2)
    found, stated = nb.prior_sensitivity(), FamilyNB(same, class_alpha=nb.class_alpha).fit(X, y).prior_sensitivity()
    assert found.index[-1] == "covariance[2, 0, 0]" and stated.index[-1] == "variance[2, 0]"
    np.testing.assert_allclose(found["prior"], stated["prior"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["likelihood"], stated["likelihood"], rtol=1e-9, atol=1e-12)
    assert (found["prior"].iloc[3:] > 1e-3).all()
    wide = GaussianDA(covariance="shared").fit(few[0], y).prior_sensitivity()
    assert wide.index[-1] == "covariance[3, 3]"


def test_one_model_at_a_time(few: Any) -> None:
    with pytest.raises(AttributeError, match="OneDependenceNB averages several models"):
        OneDependenceNB().fit(np.round(few[0]).astype(int), few[1]).prior_sensitivity()


@pytest.fixture(scope="module")
def few() -> tuple[Any, Any]:
    iris, rows = datasets.load("iris"), np.random.default_rng(1).permutation(150)[:15]
    return iris.X.iloc[rows], iris.y[rows]


@pytest.mark.slow
def test_sensitivity_is_arvizs_without_its_monte_carlo_error(few: Any) -> None:
    """ArviZ weights 16,000 draws; its numbers scatter by some .02 from seed to seed."""
    arviz = import_arviz()
    nb = GaussianNB().fit(*few)
    exact = nb.prior_sensitivity()
    data = nb.sample_posterior(4000, seed=0, X=few[0], y=few[1])
    for column in ("prior", "likelihood"):
        names = ["mu", "variance", "pi"]
        if arviz.__version__.startswith("0."):
            found = arviz.psens(data, component=column, var_names=names)
        else:
            found = arviz.psense(
                data, group=column if column == "prior" else "likelihood", var_names=names, alphas=(1 / 1.01, 1.01)
            )
        for name in names:
            own = exact.loc[exact.index.str.startswith(f"{name}["), column].to_numpy()
            theirs = np.ravel(found[name].values)
            assert abs(own - theirs).mean() < 0.03 and abs(own - theirs).max() < 0.1
    assert exact.loc["variance[0, 0]", "diagnosis"] == "potential prior-data conflict"


def test_a_flat_prior_is_no_prior_and_much_data_drown_any() -> None:
    x = np.random.default_rng(0).integers(0, 2, (5000, 1))
    y = np.arange(5000) % 2
    flat = BernoulliNB().fit(x, y).prior_sensitivity()
    assert (flat["prior"] == 0).all()
    strong = BernoulliNB(alpha=30.0).fit(x[:20], y[:20]).prior_sensitivity()
    drowned = BernoulliNB(alpha=30.0).fit(x, y).prior_sensitivity()
    at = "theta[0, 0]"
    assert strong.loc[at, "prior"] > 5 * drowned.loc[at, "prior"]
    assert drowned.loc[at, "diagnosis"] == "-"


def test_the_distance_is_zero_of_equals_and_one_of_far_apart() -> None:
    found = distance(stats.norm([0, 0], 1), stats.norm([0, 1e6], 1))
    assert found[0] == 0 and 0.99 < found[1] <= 1


def test_families_that_do_not_say_where_they_are_flat_are_named() -> None:
    x, y = [[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"KernelDensity has no attribute `flat_`"):
        KernelNB().fit(x, y).prior_sensitivity()
    same = FamilyNB(families.GammaExponential(2.0, 1.0)).fit(x, y).prior_sensitivity()
    assert same["prior"].notna().all()
