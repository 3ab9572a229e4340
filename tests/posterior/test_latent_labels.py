"""Labels that are not given: NumPyro sums them out, as the closed form does with logsumexp over the classes."""

from typing import Any

import jax
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer import MCMC, NUTS, SVI, Predictive
from numpyro.infer.autoguide import AutoNormal
from scipy.special import logsumexp

from bayesnb import FamilyNB, GaussianNB, KernelNB, MixedNB, MultinomialNB, PoissonNB, families
from bayesnb.models.naive_bayes import NaiveBayes

from ..estimators_table import mostly_slow, these
from ..laws import FAMILIES, case, jitted

CASES = {family.name: case(family) for family in FAMILIES}


@pytest.fixture(scope="module")
def mixed() -> tuple[MixedNB, np.ndarray, np.ndarray]:
    """Blocks of several families and widths, and a likelihood for each class."""
    rng = np.random.default_rng(5)
    X, y = rng.integers(1, 4, (12, 5)).astype(float), np.arange(12) % 2
    X[2, 0] = X[5, 4] = np.nan
    each = {0: PoissonNB(), 1: FamilyNB(families.GammaExponential(1.0, 1.0))}
    parts = [("numbers", GaussianNB(), [0]), ("words", MultinomialNB(), [1, 2]), ("each", each, [3, 4])]
    return MixedNB(parts).fit(X, y), X, y


def closed_form(nb: NaiveBayes, rows: Any, theta: Any) -> float:
    """log p(θ) + Σ_i log Σ_c p(x_i, y = c | θ)."""
    return float(nb.log_prob(theta) + logsumexp(nb.log_joint(rows, theta), axis=-1).sum())


def by_hand(model: Any, sites: Any, c: int, *args: Any) -> float:
    """The same from NumPyro's statements, all labels of a row side by side, without the package funsor."""

    def log_density(given: Any) -> Any:
        with handlers.trace() as trace, handlers.substitute(data=given | {"y": np.arange(c)[:, None, None]}):
            model(*args)
        total, table = 0.0, 0.0
        for name, site in trace.items():
            if site["type"] == "sample":
                log_p = site["fn"].log_prob(site["value"])
                table, total = (table, total + log_p.sum()) if name in sites else (table + log_p, total)
        assert table.shape[:2] == (c, 1)
        return total + jax.scipy.special.logsumexp(table[:, 0], axis=0).sum()

    return float(jitted(log_density)(sites))


def named(name: str, mixed: Any) -> tuple[Any, NaiveBayes, Any, Any]:
    """A NumPyro model, its prior, encoded rows, and the rows that it takes."""
    if name == "mixed":
        return mixed[0].numpyro_model, mixed[0].prior_, mixed[0].model_.encode(mixed[1]), mixed[1]
    this = CASES[name]
    return this.prior.model, this.prior, {"x": this.x}, {"x": this.x}


@pytest.mark.parametrize("name", mostly_slow([*CASES, "mixed"], these("gaussian", "mixed")))
@pytest.mark.usefixtures("x64")
def test_every_label_of_a_row_side_by_side(name: str, mixed: Any, rng: np.random.Generator) -> None:
    model, prior, rows, given = named(name, mixed)
    theta = prior.sample(rng)
    got = by_hand(model, prior.to_sites(theta), len(prior.classes.mean()["log_pi"]), given)
    assert got == pytest.approx(closed_form(prior, rows, theta), rel=1e-9)


class TestFunsor:
    """What NumPyro does with the package funsor, in all its ways."""

    @pytest.fixture(autouse=True)
    def _funsor(self) -> None:
        pytest.importorskip("funsor", reason="an extra of bayesnb: pip install funsor")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["gaussian", "multinomial", "complement", "mixed"])
    @pytest.mark.usefixtures("x64")
    def test_the_enumerated_log_density_is_the_closed_form(
        self, name: str, mixed: Any, rng: np.random.Generator
    ) -> None:
        from numpyro.contrib.funsor import config_enumerate, enum, log_density

        model, prior, rows, given = named(name, mixed)
        theta, enumerated = prior.sample(rng), enum(config_enumerate(model), -3)
        found = jitted(lambda sites: log_density(enumerated, (given,), {}, sites)[0])(prior.to_sites(theta))
        assert float(found) == pytest.approx(closed_form(prior, rows, theta), rel=1e-9)

    @pytest.mark.slow
    def test_nuts_and_svi_run_and_labels_are_drawn_given_the_rows(self, mixed: Any) -> None:
        from numpyro.infer import TraceEnum_ELBO
        from numpyro.optim import Adam

        nb, X, _ = mixed
        model, prior, posterior, rows = nb.numpyro_model, nb.prior_, nb.posterior_, nb.model_.encode(X)
        with jax.enable_x64(True):
            mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
            mcmc.run(jax.random.key(0), X)
            assert all(np.isfinite(value).all() for value in mcmc.get_samples().values())
            guide = AutoNormal(handlers.block(model, hide=["y"]))
            fit = SVI(model, guide, Adam(0.01), TraceEnum_ELBO()).run(jax.random.key(0), 5, X, progress_bar=False)
            assert np.isfinite(fit.losses).all()
            # one θ many times over: labels with the frequencies of p(y | x, θ)
            theta, draws = posterior.sample(np.random.default_rng(0)), 400
            many = {k: np.broadcast_to(v, (draws, *v.shape)) for k, v in prior.to_sites(theta).items()}
            drawn = Predictive(model, many, infer_discrete=True)(jax.random.key(1), X)["y"]
        table = posterior.log_joint(rows, theta)
        p = np.exp(table - logsumexp(table, axis=1, keepdims=True))
        share = (np.asarray(drawn)[..., None] == np.arange(p.shape[1])).mean(0)
        # some 60 shares; six standard errors and a row of 1/draws are passed by chance once in a million runs
        assert (abs(share - p) <= 6 * np.sqrt(p * (1 - p) / draws) + 1 / draws).all()


# --- drawing rows ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_estimators_simulate_rows(mixed: Any) -> None:
    nb = mixed[0]
    simulated = Predictive(nb.numpyro_model, num_samples=2)(jax.random.key(0), n=7)
    assert simulated["numbers.x"].shape == (2, 7, 1)
    average = round(nb.statistics_.blocks["words"].n.sum() / nb.statistics_.n.sum())
    assert (simulated["words.x"].sum(-1) == average).all()
    longer = handlers.trace(handlers.seed(nb.numpyro_model, 0)).get_trace(n=7, length=np.arange(7))
    assert (longer["words.x"]["value"].sum(-1) == np.arange(7)).all()
    with pytest.raises(ValueError, match="`n` is None"):
        nb.numpyro_model()
    with pytest.raises(ValueError, match="cannot draw rows"):
        handlers.seed(KernelNB().fit([[1.0], [2.0]], [0, 1]).numpyro_model, 0)(n=7)


def test_labels_of_a_kernel_density_are_not_summed_out() -> None:
    """A row depends on the labels of the others, so that there is no sum row by row."""
    nb = KernelNB().fit([[1.0], [2.0], [4.0]], [0, 1, 0])
    with pytest.raises(ValueError, match="labels of a kernel density"):
        by_hand(nb.numpyro_model, nb.prior_.to_sites(nb.prior_.mode()), 2, [[1.0]])
