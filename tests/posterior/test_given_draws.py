"""Class probabilities at draws of any sampler, by the site names of the NumPyro model."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import bayesnb
from bayesnb.posterior.given_draws import joint_average

from ..estimators_table import ALL

X = np.array([[1.0, 0], [1, 1], [0, 1], [0, 1], [1, 0]])
Y = ["a", "a", "b", "b", "a"]


@pytest.fixture(scope="module")
def nb() -> Any:
    return bayesnb.BernoulliNB().fit(X, Y)


def sites_of(nb: Any, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Exact draws as a sampler of the NumPyro model returns them."""
    return nb.posterior_.to_sites(nb.posterior_.sample(np.random.default_rng(seed), shape))


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_exact_draws_by_site_give_their_own_probabilities(estimator: Any) -> None:
    """p(c | x, θ_s) of the same θ_s, of every family."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    cells = rng.poisson(2.0 + 2 * y[:, None], (40, 3)).astype(float)
    nb = clone(estimator).fit(cells, y)
    theta = nb.posterior_.sample(rng, (7,))
    log_joint = nb.posterior_.log_joint(nb.model_.encode(cells), theta)
    expected = np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=-1)[..., None])
    at_draws = nb.sample_proba(cells, draws=nb.posterior_.to_sites(theta))
    np.testing.assert_allclose(at_draws, expected, rtol=1e-9, atol=1e-12)


def test_chains_samplers_and_arviz_data_are_read(nb: Any) -> None:
    by_chain = sites_of(nb, (2, 50))
    in_a_row = {name: value.reshape(100, *value.shape[2:]) for name, value in by_chain.items()}
    expected = nb.sample_proba(X, draws=in_a_row)
    assert expected.shape == (100, 5, 2)
    sampler = SimpleNamespace(get_samples=lambda: in_a_row)
    arviz = nb.sample_posterior(50, seed=3, chains=2)
    for draws in (by_chain, sampler):
        np.testing.assert_array_equal(nb.sample_proba(X, draws=draws), expected)
    for draws in (arviz, arviz["posterior"]):
        values = {name: arviz["posterior"][name].values for name in by_chain}
        np.testing.assert_array_equal(nb.sample_proba(X, draws=draws), nb.sample_proba(X, draws=values))
    np.testing.assert_array_equal(nb.predict_proba(X, draws=by_chain), expected.mean(0))


def test_the_joint_average_is_the_closed_form(nb: Any) -> None:
    """Within five Monte Carlo errors by its effective number of draws; the posterior mean is another number."""
    draws = sites_of(nb, (40_000,))
    rows = nb.model_.encode(X)
    average = joint_average(nb.posterior_, rows, draws)
    at_draws = nb.sample_proba(X, draws=draws)
    error = at_draws.std(0) / np.sqrt(average.effective_draws)[:, None]
    closed = nb.predict_proba(X)
    assert (abs(nb.predict_proba(X, draws=draws, average="joint") - closed) < 5 * error).all()
    assert (abs(at_draws.mean(0) - closed) > 5 * error)[0].all()
    # by hand: weights p(x_i | θ_s)
    log_joint = nb.posterior_.log_joint(rows, nb.posterior_.from_sites(draws))
    weight = np.exp(log_joint).sum(-1)
    np.testing.assert_allclose(average.effective_draws, weight.sum(0) ** 2 / (weight**2).sum(0))
    np.testing.assert_allclose(average.proba, np.exp(log_joint).sum(0) / weight.sum(0)[:, None])


def test_rows_that_rest_on_few_draws_are_named(nb: Any) -> None:
    few = sites_of(nb, (40,))
    with pytest.warns(UserWarning, match="5 of 5 rows rest on fewer than 50 effective draws"):
        nb.predict_proba(X, draws=few, average="joint")


def test_what_is_wrong_with_draws_is_said(nb: Any) -> None:
    draws = sites_of(nb, (4,))
    bad: dict[str, Any] = {
        "no site 'theta'": {"pi": draws["pi"]},
        "`draws` of 'theta' have the shape": draws | {"theta": draws["theta"][..., :1]},
        "different numbers of draws": draws | {"pi": draws["pi"][:2]},
        "are empty": {name: value[:0] for name, value in draws.items()},
        "`draws` are a int": 3,
    }
    for match, given in bad.items():
        with pytest.raises(ValueError, match=match):
            nb.sample_proba(X, draws=given)
    with pytest.raises(ValueError, match="`average`"):
        nb.predict_proba(X, draws=draws, average="mean")
    pairs = bayesnb.OneDependenceNB().fit(X, Y)
    with pytest.raises(ValueError, match="one NumPyro model"):
        pairs.sample_proba(X, draws=draws)
