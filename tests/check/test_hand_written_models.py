"""Models written by hand in NumPyro: their density, mode and predictions are those of the estimators."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
from numpyro.infer.util import log_density
from numpyro.optim import Adam

import bayesnb

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
COUNTS = RNG.poisson(2.0 + 2 * Y[:, None] + np.arange(3), (60, 3)).astype(float)
REALS = RNG.normal(Y[:, None], 1 + np.arange(3), (60, 3))
C, D = 2, 3
PI = dist.Dirichlet(np.ones(C))


class Written(NamedTuple):
    """An estimator, its rows, and the same model by hand; `y` are class indices."""

    estimator: Any
    X: np.ndarray
    model: Callable[[Any, Any], None]


def labelled(y: Any) -> None:
    """π ~ Dirichlet(1, 1), y_i ~ Categorical(π)."""
    pi = numpyro.sample("pi", PI)
    with numpyro.plate("labels", len(y)):
        numpyro.sample("y", dist.Categorical(pi), obs=y)


def features() -> tuple[Any, Any]:
    """Plates of the classes and of the features."""
    return numpyro.plate("c", C, dim=-2), numpyro.plate("j", D, dim=-1)


def bernoulli(X: Any, y: Any) -> None:
    labelled(y)
    of_class, of_feature = features()
    with of_class, of_feature:
        theta = numpyro.sample("theta", dist.Beta(2.0, 2.0))
    numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(2), obs=X)


def categorical(X: Any, y: Any) -> None:
    labelled(y)
    of_class, of_feature = features()
    with of_class, of_feature:
        theta = numpyro.sample("theta", dist.Dirichlet(np.full(4, 2.0)))
    numpyro.sample("x", dist.Categorical(theta[y]).to_event(2), obs=X.astype(int))


def multinomial(X: Any, y: Any) -> None:
    labelled(y)
    with numpyro.plate("c", C):
        theta = numpyro.sample("theta", dist.Dirichlet(np.full(D, 2.0)))
    totals = X.sum(-1).astype(int)
    numpyro.sample("x", dist.Multinomial(totals, theta[y], total_count_max=60).to_event(1), obs=X)


def poisson(X: Any, y: Any) -> None:
    labelled(y)
    of_class, of_feature = features()
    with of_class, of_feature:
        rate = numpyro.sample("rate", dist.Gamma(2.0, 0.5))
    numpyro.sample("x", dist.Poisson(rate[y]).to_event(2), obs=X)


def exponential(X: Any, y: Any) -> None:
    labelled(y)
    of_class, of_feature = features()
    with of_class, of_feature:
        rate = numpyro.sample("rate", dist.Gamma(2.0, 0.5))
    numpyro.sample("x", dist.Exponential(rate[y]).to_event(2), obs=X)


def geometric(X: Any, y: Any) -> None:
    labelled(y)
    of_class, of_feature = features()
    with of_class, of_feature:
        theta = numpyro.sample("theta", dist.Beta(2.0, 2.0))
    numpyro.sample("x", dist.Geometric(theta[y]).to_event(2), obs=X)


def gaussian(X: Any, y: Any) -> None:
    labelled(y)
    of_class, of_feature = features()
    with of_class, of_feature:
        variance = numpyro.sample("variance", dist.InverseGamma(3.0, 2.0))
        mu = numpyro.sample("mu", dist.Normal(0.0, jnp.sqrt(variance / 0.5)))
    numpyro.sample("x", dist.Normal(mu[y], jnp.sqrt(variance[y])).to_event(2), obs=X)


GAMMA = {"a": 2.0, "b": 0.5}
NORMAL = {"m": 0.0, "kappa": 0.5, "a": 3.0, "b": 2.0}
WRITTEN = {
    "bernoulli": Written(bayesnb.BernoulliNB(alpha=2.0), (COUNTS > 3).astype(float), bernoulli),
    "categorical": Written(bayesnb.CategoricalNB(alpha=2.0, min_categories=4), np.minimum(COUNTS, 3), categorical),
    "multinomial": Written(bayesnb.MultinomialNB(alpha=2.0), COUNTS, multinomial),
    "poisson": Written(bayesnb.PoissonNB(prior=GAMMA), COUNTS, poisson),
    "exponential": Written(bayesnb.ExponentialNB(prior=GAMMA), abs(REALS), exponential),
    "geometric": Written(bayesnb.GeometricNB(alpha=2.0, beta=2.0), COUNTS, geometric),
    "gaussian": Written(bayesnb.GaussianNB(prior=NORMAL), REALS, gaussian),
}


@pytest.fixture(params=WRITTEN)
def written(request: Any) -> Written:
    case = WRITTEN[request.param]
    case.estimator.fit(case.X, Y)
    return case


@pytest.mark.slow
def test_density_and_mode(written: Written) -> None:
    """log p(θ, rows) at exact draws, and no slope at the joint mode along any direction that stays in the space."""
    nb = written.estimator
    draws = nb.posterior_.to_sites(nb.posterior_.sample(np.random.default_rng(1), (5,)))
    mode = nb.posterior_.to_sites(nb.posterior_.mode())
    with jax.enable_x64(True):
        by_hand = jax.jit(lambda sites: log_density(written.model, (written.X, Y), {}, sites)[0])
        twin = jax.jit(lambda sites: log_density(nb.numpyro_model, (written.X, Y), {}, sites)[0])
        for s in range(5):
            at_draw = {name: jnp.asarray(value[s]) for name, value in draws.items()}
            np.testing.assert_allclose(by_hand(at_draw), twin(at_draw), rtol=1e-12)
        at_mode = {name: jnp.asarray(value) for name, value in mode.items()}
        top = float(by_hand(at_mode))
        rng = np.random.default_rng(2)
        for _ in range(20):
            beside = {name: moved(np.asarray(value), rng) for name, value in at_mode.items()}
            assert float(by_hand(beside)) < top


def moved(value: np.ndarray, rng: np.random.Generator) -> Any:
    """A point beside a mode: shares stay shares, other parameters stay positive."""
    nearby = value * np.exp(1e-3 * rng.normal(size=value.shape))
    is_simplex = np.allclose(value.sum(-1), 1)
    return jnp.asarray(nearby / nearby.sum(-1, keepdims=True) if is_simplex else nearby)


@pytest.mark.slow
def test_traced_updates_are_those_of_python(written: Written) -> None:
    """`jax.jit(svi.update)` on a minibatch that stands for all rows: the loss of the update that is not compiled."""
    nb = written.estimator
    batch = written.X[:20], Y[:20]
    with jax.enable_x64(True):
        svi = SVI(nb.numpyro_model, autoguide.AutoNormal(nb.numpyro_model), Adam(0.01), Trace_ELBO())
        state = svi.init(jax.random.key(0), *batch, n=60)
        _, compiled = jax.jit(lambda state, X, y: svi.update(state, X, y, n=60))(state, *batch)
        _, plain = svi.update(state, *batch, n=60)
    assert float(compiled) == pytest.approx(float(plain), rel=1e-9)


@pytest.mark.slow
def test_nuts_of_the_model_by_hand_predicts_by_draws(written: Written) -> None:
    """With `jit_model_args`: the mean of p(y | x, θ) of NUTS draws, within five Monte Carlo errors of exact draws."""
    nb = written.estimator
    with jax.enable_x64(True):
        mcmc = MCMC(NUTS(written.model), num_warmup=200, num_samples=800, jit_model_args=True, progress_bar=False)
        mcmc.run(jax.random.key(0), written.X, Y)
    new = written.X[:8]
    at_draws = nb.sample_proba(new, draws=mcmc)
    exact = nb.sample_proba(new, 4000, 0)
    error = exact.std(0) * np.sqrt(1 / 200 + 1 / 4000)  # 200 effective draws at the least
    assert (abs(at_draws.mean(0) - exact.mean(0)) < 5 * error).all()


def test_a_minibatch_stands_for_all_rows() -> None:
    """n = 3 · rows: the likelihood, and not the prior, counts three times."""
    nb = bayesnb.BernoulliNB().fit(WRITTEN["bernoulli"].X, Y)
    X = WRITTEN["bernoulli"].X[:20]
    theta = nb.posterior_.mean()
    sites = nb.posterior_.to_sites(theta)
    with jax.enable_x64(True):
        once, thrice = (log_density(nb.numpyro_model, (X, Y[:20]), {"n": n}, sites)[0] for n in (20, 60))
    prior = float(nb.prior_.log_prob(theta))
    assert float(thrice) - prior == pytest.approx(3 * (float(once) - prior), rel=1e-9)


def test_the_model_before_a_fit_draws_from_the_prior() -> None:
    draw = numpyro.infer.Predictive(bayesnb.BernoulliNB().numpyro_model, num_samples=50)
    drawn = draw(jax.random.key(0), n=7, classes=["ham", "spam"], n_features=4)
    assert drawn["x"].shape == (50, 7, 4) and set(np.unique(drawn["y"])) == {0, 1}
    bad: dict[str, Callable[[], None]] = {
        "`n_features` is None": lambda: bayesnb.BernoulliNB().numpyro_model(n=3, classes=[0, 1]),
        "`classes` is None": lambda: bayesnb.BernoulliNB().numpyro_model(n=3, n_features=2),
        "scale the default prior": lambda: bayesnb.GaussianNB().numpyro_model(n=3, classes=[0, 1], n_features=2),
        "`length` is None": lambda: bayesnb.MultinomialNB().numpyro_model(n=3, classes=[0, 1], n_features=2),
    }
    for match, call in bad.items():
        with pytest.raises(ValueError, match=match):
            call()
