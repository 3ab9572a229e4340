"""What the base of all families reads of a family."""

import pickle
from dataclasses import dataclass, fields, replace
from itertools import combinations

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.families import GammaPoisson, pytree

from ..laws import FAMILIES, D

DRAWN: list[bool] = []


@pytree
@dataclass(frozen=True)
class WithLimits(GammaPoisson):
    """Rates between 0 and a limit that is computed from the fields."""

    def model(self, x, y):
        c, d = self.a.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            share = numpyro.sample("share", dist.Beta(self.a, self.b))
            numpyro.sample("rate", dist.Uniform(0.0, self.a / self.b))
        DRAWN.append(not isinstance(share, jax.core.Tracer))


def test_sites_are_read_without_a_draw_where_supports_are_constant() -> None:
    """Drawing compiles each operation of the model, which takes seconds."""
    DRAWN.clear()
    found = WithLimits(np.full((2, 3), 6.0), np.full((2, 3), 2.0)).sites()
    assert DRAWN == [False, True]  # the limits have to be computed, and are numbers then
    assert {name: site.axes for name, site in found.items()} == dict.fromkeys(("share", "rate"), ("class", "feature"))
    assert np.asarray(found["rate"].support.upper_bound).tolist() == [[3.0] * 3] * 2
    plain = GammaPoisson(np.ones((2, 3)), np.ones((2, 3))).sites()
    assert plain["rate"].support is dist.constraints.positive


def test_jax_tells_families_apart(rng: np.random.Generator) -> None:
    """Compiled functions are looked up by structure: of `register_dataclass`, classes with as many fields are equal."""
    structures = {family.name: jax.tree.structure(family.prior(rng, D)) for family in FAMILIES}
    assert [pair for pair in combinations(structures, 2) if structures[pair[0]] == structures[pair[1]]] == []
    assert jax.tree.structure(GammaPoisson(1.0, 2.0)) == jax.tree.structure(GammaPoisson(3.0, 4.0))
    assert jax.tree.structure(GammaPoisson(1.0, 2.0)) != jax.tree.structure(WithLimits(1.0, 2.0))


def test_two_functions_of_one_name_have_two_tables(rng: np.random.Generator) -> None:
    """Rows of few levels are looked up in a table of the function: two lambdas are not the same function."""
    block = GammaPoisson(np.full((2, 3), 2.0), np.ones((2, 3)))
    x = rng.integers(0, 3, (50, 3)).astype(float)
    functions = (lambda x, w, a, b: 1.0 + 0 * x * a, lambda x, w, a, b: 0 * a + x)
    first, second = (block.rows(f, x) for f in functions)
    assert np.allclose(first, 3.0)
    assert np.allclose(second, x.sum(1, keepdims=True))
    doubled, tripled = (block.rows(lambda x, w, a, b, times=times: 0 * a + times * x, x) for times in (2, 3))
    assert np.allclose(doubled / 2, tripled / 3)


def test_parameters_of_two_blocks_of_a_family_are_selected(rng: np.random.Generator) -> None:
    """A kernel density with a known bandwidth has no parameter; one with a prior has one a class and feature."""
    from bayesnb import KernelNB

    x, y = rng.normal(size=(8, 3)), np.arange(8) % 2
    known = KernelNB(bandwidth=1.0).fit(x, y).posterior_.blocks["x"]
    learnt = KernelNB().fit(x, y).posterior_.blocks["x"]
    columns = np.array([0, 2])
    assert known.select_parameters(known.mean(), columns) == {}
    for name, value in learnt.select_parameters(learnt.mean(), columns).items():
        assert np.array_equal(value, learnt.mean()[name][..., columns])


def test_a_prediction_leaves_no_trace_in_a_pickle(rng: np.random.Generator) -> None:
    """joblib names a cached result by the hash of its arguments: a prediction must not change the model's."""
    import joblib

    import bayesnb

    y = np.arange(40) % 2
    counts = rng.poisson(2.0, (40, 3))
    rows = {
        "GaussianNB": counts + 0.5, "BernoulliNB": counts > 1, "PoissonNB": counts, "KernelNB": counts + 0.5,
        "MultinomialNB": counts, "CategoricalNB": counts > 1,
    }  # fmt: skip
    for name, x in rows.items():
        nb = getattr(bayesnb, name)().fit(x, y)
        pickled, hashed = pickle.dumps(nb.posterior_), joblib.hash(nb.posterior_)
        predicted = nb.predict_log_proba(x)
        nb.posterior_.log_loo(nb.model_.encode(x), np.eye(2)[y])
        next(iter(nb.posterior_.blocks.values())).log_cumulants(next(iter(nb.model_.encode(x).values())))
        assert pickle.dumps(nb.posterior_) == pickled, name
        assert joblib.hash(nb.posterior_) == hashed, name
        again = pickle.loads(pickled)
        assert np.array_equal(again.log_joint(nb.model_.encode(x)), nb.posterior_.log_joint(nb.model_.encode(x))), name
        assert np.array_equal(nb.predict_log_proba(x), predicted), name


def test_the_size_of_every_field_fits_it(rng: np.random.Generator) -> None:
    """A mean near 0 is compared with a standard deviation, in its unit; of covariances the diagonal alone counts."""
    for family in FAMILIES:
        block = family.prior(rng, D)
        for field in fields(block):
            value = getattr(block, field.name)
            if not isinstance(value, np.ndarray):
                continue
            size = block.size_of(field.name)
            assert np.broadcast_shapes(np.shape(size), value.shape) == value.shape, (family.name, field.name)
            if field.name == "m":
                at_zero = replace(block, m=0 * value)
                assert (at_zero.size_of("m") > 0).all(), family.name
            if field.name == "S":
                assert np.isfinite(size).sum(-1).max() == np.isfinite(size).sum(-2).max() == 1
