"""Naive Bayes as a whole: blocks that add, names of sites, class priors, blocks of rows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import Predictive
from numpyro.infer.util import log_density
from scipy import sparse
from sklearn.datasets import load_iris

from bayesnb import GaussianNB
from bayesnb.families import DirichletClasses, FixedClasses, OneClass
from bayesnb.models.naive_bayes import CLASS, NaiveBayes, row_slices
from bayesnb.numerics.pytrees import leaves, map_leaves
from bayesnb.sums import rows as loops
from bayesnb.sums.rows import parallel_map
from bayesnb.sums.statistics import one_hot

from ..laws import FAMILIES, C, Case, Family, assert_same, case, jitted, log_joint

CASES = {family.name: case(family, seed=i) for i, family in enumerate(FAMILIES)}
Y = next(iter(CASES.values())).y


@pytest.fixture
def whole() -> tuple[NaiveBayes, dict[str, np.ndarray]]:
    """All families as blocks of one model, and their rows."""
    classes = DirichletClasses(np.array([0.5, 1.0, 3.0]))
    return NaiveBayes(classes, {k: v.block for k, v in CASES.items()}), {k: v.x for k, v in CASES.items()}


def stats_of(nb: NaiveBayes, rows: dict[str, Any]) -> Any:
    return nb.suffstats(rows, one_hot(Y, C))


def test_tables_and_evidence_of_blocks_add(whole: tuple[NaiveBayes, dict[str, np.ndarray]]) -> None:
    nb, rows = whole
    stats = stats_of(nb, rows)
    posterior = nb.update(stats)
    table, evidence = posterior.classes.log_predictive(), nb.classes.log_marginal(np.bincount(Y).astype(float))
    for name, block in nb.blocks.items():
        part = block.suffstats(rows[name], one_hot(Y, C))
        table = table + block.update(part).log_predictive(rows[name])
        evidence = evidence + block.log_marginal(part).sum()
    np.testing.assert_allclose(posterior.log_joint(rows), table, rtol=1e-13)
    assert nb.log_marginal(stats) == pytest.approx(evidence, rel=1e-13)


def test_leaves_are_those_of_jax(whole: tuple[NaiveBayes, dict[str, np.ndarray]]) -> None:
    """On the host trees are gone through without it; of a mapping JAX takes the keys in order."""
    nb, rows = whole
    stats = stats_of(nb, rows)
    for tree in (nb, OneClass(nb.blocks["gaussian"], 1, C), stats):
        assert sorted(map(id, leaves(tree))) == sorted(map(id, jax.tree.leaves(tree)))
    for block in (*nb.blocks.values(), *stats.blocks.values()):
        assert [*map(id, leaves(block))] == [*map(id, jax.tree.leaves(block))]
    changed, expected = map_leaves(np.negative, stats), jax.tree.map(np.negative, stats)
    assert jax.tree.structure(changed) == jax.tree.structure(expected)
    jax.tree.map(np.testing.assert_array_equal, changed, expected)


@pytest.mark.parametrize(("double", "near"), [(False, 1e-5), (True, 1e-9)])
def test_the_leave_one_out_loss_of_a_head_is_that_of_the_host(double: bool, near: float) -> None:
    """A network's rows, a head that is fitted inside the loss: compiled, differentiated, and `loo` of the estimator."""
    x, y = (np.asarray(part) for part in load_iris(return_X_y=True))
    with jax.enable_x64(double):
        weights = jnp.asarray(np.random.default_rng(0).normal(size=(4, 5)) / 4)

        def embed(weights: Any) -> Any:
            return jnp.tanh(jnp.asarray(x - x.mean(0)) @ weights)

        nb = GaussianNB().fit(np.asarray(embed(weights)), y)

        @jax.jit
        @jax.value_and_grad
        def loss(weights: Any) -> Any:
            rows = {"x": embed(weights)}
            table = nb.prior_.condition(rows, y).log_loo(rows, jax.nn.one_hot(y, C))
            return -jnp.take_along_axis(jax.nn.log_softmax(table), y[:, None], 1).mean()

        value, gradient = loss(weights)
        assert value == pytest.approx(nb.loo(np.asarray(embed(weights)), y).log_loss, rel=near)
        if double:
            step = 1e-5 * gradient / jnp.linalg.norm(gradient)
            slope = (loss(weights + step)[0] - loss(weights - step)[0]) / 2e-5
            assert slope == pytest.approx(float(jnp.linalg.norm(gradient)), rel=1e-6)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_an_infinite_cell_gives_nan_in_its_row_under_jit(family: Family) -> None:
    """It cannot be refused there; the least number, the same for all classes, would be taken for a prediction."""
    rng = np.random.default_rng(0)
    nb, x = NaiveBayes(DirichletClasses(np.ones(C)), {"x": family.prior(rng, 2)}), family.rows(rng, 4, 2)
    x[1, 0], x[3, 1] = np.inf, -np.inf
    table = np.asarray(jax.jit(nb.log_joint)({"x": x}))
    np.testing.assert_array_equal(np.isnan(table), [[False] * C, [True] * C] * 2)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_bayes_identity_of_several_blocks(
    whole: tuple[NaiveBayes, dict[str, np.ndarray]], rng: np.random.Generator
) -> None:
    nb, rows = whole
    stats = stats_of(nb, rows)
    posterior = nb.update(stats)
    theta = posterior.sample(rng)
    sites = nb.to_sites(theta)
    assert {"pi", "bernoulli.theta", "gaussian.mu", "gaussian.variance", "poisson.rate"} < sites.keys()
    assert sites.keys() == nb.marginals().keys()
    joint, trace = log_density(nb.model, (rows, Y), {}, sites)
    assert sites.keys() == {k for k, v in trace.items() if v["type"] == "sample" and not v["is_observed"]}
    assert float(joint) - posterior.log_prob(theta) == pytest.approx(nb.log_marginal(stats), rel=1e-9)
    short, trace = log_density(nb.model_from_statistics, (stats,), {}, sites)
    assert sites.keys() == {k for k, v in trace.items() if v["type"] == "sample" and not v["is_observed"]}
    assert float(short) == pytest.approx(float(joint), rel=1e-9)


@pytest.mark.usefixtures("x64")
def test_fixed_classes_are_not_learnt(rng: np.random.Generator) -> None:
    this = CASES["gaussian"]
    pi = np.array([0.5, 0.3, 0.2])
    nb = NaiveBayes(FixedClasses(pi), this.prior.blocks)
    stats = this.stats
    posterior = nb.update(stats)
    np.testing.assert_array_equal(np.exp(posterior.classes.log_predictive()), pi)
    want = (np.bincount(this.y) * np.log(pi)).sum() + this.block.log_marginal(stats.blocks["x"]).sum()
    assert nb.log_marginal(stats) == pytest.approx(want, rel=1e-13)
    theta = posterior.sample(rng)
    sites = nb.to_sites(theta)
    assert sites.keys() == {"mu", "variance"} == nb.marginals().keys()
    assert_same(nb.from_sites(sites), theta)
    joint = float(jitted(log_joint(nb.model, {"x": this.x}, this.y))(sites))
    assert joint - posterior.log_prob(theta) == pytest.approx(nb.log_marginal(stats), rel=1e-9)
    short = float(jitted(log_joint(nb.model_from_statistics, stats))(sites))
    assert short == pytest.approx(joint, rel=1e-9)
    assert posterior.sample(rng, (4,))[CLASS]["log_pi"].shape == (4, C)
    assert posterior.mode()[CLASS]["log_pi"] is not None and not posterior.on_boundary()
    assert_same(posterior.mle(stats)[CLASS], nb.mean()[CLASS])


@pytest.mark.parametrize("name", ["gaussian", "bernoulli"])
@pytest.mark.usefixtures("x64")
def test_one_class(name: str, rng: np.random.Generator) -> None:
    """π = 1 with certainty, and is no site."""
    this = CASES[name]
    nb = NaiveBayes(DirichletClasses(np.ones(1)), {"x": jax.tree.map(lambda leaf: leaf[:1], this.block)})
    y = np.zeros(len(this.x), int)
    stats = nb.suffstats({"x": this.x}, one_hot(y, 1))
    posterior = nb.update(stats)
    assert posterior.log_joint({"x": this.x}).shape == (len(y), 1)
    assert nb.classes.log_marginal(stats.n) == pytest.approx(0, abs=1e-12)
    theta = posterior.sample(rng)
    sites = nb.to_sites(theta)
    assert "pi" not in sites and sites.keys() == nb.marginals().keys()
    joint = float(jitted(log_joint(nb.model, {"x": this.x}, y))(sites))
    assert joint - posterior.log_prob(theta) == pytest.approx(nb.log_marginal(stats), rel=1e-9)


def test_more_rows_than_one_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slices are invisible: statistics and tables of 3,000 rows row by row are those of one piece."""
    base = CASES["gaussian"]
    x, y = np.tile(base.x, (125, 1)), np.tile(base.y, 125)
    this = Case(base.prior, {"x": x}, y, base.rng)
    theta = this.prior.sample(this.rng, (2,))
    assert len(row_slices({"x": x})) == 1
    want = this.stats_of(slice(None)), this.prior.log_joint({"x": x}), this.prior.log_joint({"x": x}, theta)
    monkeypatch.setattr("bayesnb.sums.rows._CELLS_OF_SLICE", 1)
    monkeypatch.setattr("bayesnb.sums.rows._CELLS_FOR_A_CORE", 1)
    assert len(row_slices({"x": x})) >= 1000
    got = this.stats_of(slice(None)), this.prior.log_joint({"x": x}), this.prior.log_joint({"x": x}, theta)
    assert_same(got, want, rtol=1e-11)  # 3,000 roundings


CUTS = [(2000, 0, [2000]), (4000, 0, [2000, 2000]), (4000, 1 << 19, [4000]), (36_000, 0, [9000] * 4)]


@pytest.mark.parametrize(("n", "least", "want"), [*CUTS, (30_000, 1 << 21, [7500] * 4)])
def test_rows_are_cut_once(n: int, least: int, want: list[int]) -> None:
    """An even number of slices, with a bounded number of cells; a slice is not cut again, other rows beside it are.

    Two cores share what would fit into one slice.
    """
    x = np.broadcast_to(0.0, (n, 200))
    parts = row_slices({"x": x}, lambda: least)
    assert [part.stop - part.start for part in parts] == want
    assert row_slices({"x": sparse.csr_array(x + 1)}, lambda: least) == parts
    assert row_slices({"x": jnp.zeros((5000, 200))}) == [slice(None)]
    if len(parts) > 2:
        again = [*parallel_map(lambda part: row_slices({"x": x[part]}, lambda: least), parts)]
        assert all(len(one) == 1 for one in again)
        assert all(len(one) > 1 for one in parallel_map(lambda _: row_slices({"x": x}, lambda: least), parts))


def test_model_draws_rows_for_given_labels() -> None:
    for this in (CASES["poisson"], CASES["pooled_gaussian"]):
        predictive = Predictive(this.prior.model, num_samples=2)
        drawn = jax.eval_shape(lambda key, f=predictive, y=this.y: f(key, None, y), jax.random.key(0))
        assert drawn["x"].shape[1:] == this.x.shape


@pytest.mark.parametrize("name", ["bernoulli", "gaussian", pytest.param("full_gaussian", marks=pytest.mark.slow)])
def test_labels_condition_under_jit_and_vmap(name: str) -> None:
    """One line is the compiled MAP; batches of weights, and of priors, each give what they give alone."""
    this, w = CASES[name], np.random.default_rng(0).integers(0, 3, (4, len(Y)))
    expected = this.prior.update(this.prior.suffstats({"x": this.x}, one_hot(this.y, C)))
    assert_same(this.prior.condition({"x": this.x}, this.y), expected, rtol=0.0, atol=0.0)
    with jax.enable_x64(True):
        mode = jitted(lambda X, y: this.prior.condition({"x": X}, y).mode())(this.x, this.y)
        assert_same(jax.tree.map(np.asarray, mode), expected.mode())

        def fit(w: Any, k: Any) -> list[Any]:
            return jax.tree.leaves(map_leaves(lambda leaf: k * leaf, this.prior).condition({"x": this.x}, this.y, w))

        found = [np.asarray(leaf) for leaf in jitted(jax.vmap(fit))(w, np.arange(1.0, 5))]
    for i in range(4):
        prior = map_leaves(lambda leaf, k=i + 1: k * leaf, this.prior)
        alone = prior.update(prior.suffstats({"x": this.x}, one_hot(this.y, C, w[i])))
        assert_same([leaf[i] for leaf in found], jax.tree.leaves(alone))


@pytest.mark.parametrize("name", ["bernoulli", "gaussian", pytest.param("multinomial", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("x64")
def test_many_rows_of_the_host_meet_traced_parameters_and_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not cut for several cores, nor given to a loop."""
    monkeypatch.setattr(loops, "_CELLS_FOR_A_CORE", 1)
    monkeypatch.setattr(loops, "WORTH", 1)
    this, r = CASES[name], one_hot(CASES[name].y, C)
    x = this.complete.x.astype(np.uint8) if name == "bernoulli" else this.x
    table = r.toarray()

    def tables(nb: NaiveBayes, theta: Any, r: Any) -> Any:
        rows = {"x": x}
        parts = nb.log_parts(rows, [["x"]], theta)
        return [nb.log_joint(rows), nb.log_joint(rows, theta), nb.log_loo(rows, r), parts, nb.suffstats(rows, r)]

    posterior, theta = this.prior.condition({"x": x}, this.y), this.posterior.sample(np.random.default_rng(0))
    assert_same(jax.tree.map(np.asarray, jitted(tables)(posterior, theta, table)), tables(posterior, theta, table))


@pytest.mark.parametrize("name", ["poisson", "log_normal"])
@pytest.mark.usefixtures("x64")
def test_whole_numbers_under_jit_are_those_of_floats(name: str) -> None:
    """JAX takes the logarithm of an integer in single precision, and adds one to a byte of 255."""
    nb, x = CASES[name].posterior, np.array([[255, 1, 3, 7]], np.uint8)
    x = x[:, : nb.blocks["x"].shape[1]]
    for kind in ("uint8", "int32"):
        got = np.asarray(jitted(lambda x: nb.log_joint({"x": x}))(x.astype(kind)))
        np.testing.assert_allclose(got, nb.log_joint({"x": x * 1.0}), rtol=1e-12)


def test_condition_refuses_what_is_no_class_index() -> None:
    this = CASES["bernoulli"]
    for y in (Y + 1, Y - 1, Y.astype(float), Y.astype(str)):
        with pytest.raises(ValueError, match="`y` needs class indices, whole numbers from 0 to 2"):
            this.prior.condition({"x": this.x}, y)
