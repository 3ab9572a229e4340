"""`jax.export`: a prediction with the posterior as an argument is written, read back, and gives the same bits."""

import jax
import numpy as np
import pytest
from jax import export

import bayesnb
from bayesnb.families import BetaNegativeBinomial, DirichletClasses, GammaPoisson, OneClass
from bayesnb.models.naive_bayes import NaiveBayes

from .estimators_table import mostly_slow
from .laws import FAMILIES, C, D, N

POSTERIORS = {family.name: family for family in FAMILIES} | {"kernel_density": "posterior", "known_bandwidth": "nrd0"}


def case(name: str) -> tuple[NaiveBayes, np.ndarray]:
    """A posterior and new rows."""
    rng, family = np.random.default_rng(1), POSTERIORS[name]
    y = rng.integers(0, C, N)
    if isinstance(family, str):
        x = rng.normal(size=(N, D))
        return bayesnb.KernelNB(bandwidth=family).fit(x, y).posterior_, x[:5] + 0.1
    prior = NaiveBayes(DirichletClasses(np.ones(C)), {"x": family.prior(rng, D)})
    return prior.condition({"x": family.rows(rng, N, D)}, y), family.rows(rng, 5, D)


@pytest.mark.parametrize("batch", ["n", pytest.param("5", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", mostly_slow(POSTERIORS, lambda name: name != "kernel_density"))
def test_a_prediction_is_written_and_read(name: str, batch: str) -> None:
    posterior, x = case(name)
    (block,) = posterior.blocks
    with jax.enable_x64(True):
        rows = jax.ShapeDtypeStruct(export.symbolic_shape(f"{batch}, {D}"), x.dtype)
        exported = export.export(jax.jit(lambda nb, x: nb.log_joint({block: x})))(posterior, rows)
        again = export.deserialize(bytearray(exported.serialize()))
        assert again.in_tree == exported.in_tree
        got = np.asarray(again.call(posterior, x))
        np.testing.assert_array_equal(got, exported.call(posterior, x))
    np.testing.assert_allclose(got, posterior.log_joint({block: x}), rtol=1e-11, atol=1e-11)


def test_static_fields_are_written() -> None:
    """Numbers that are no leaves, also NumPy's: a posterior with another one is another argument."""
    ones = np.ones((1, 2))
    number = BetaNegativeBinomial(ones, ones, np.float32(2.5))
    place = OneClass(GammaPoisson(ones, ones), np.int64(1), 2)
    for block, other in (number, BetaNegativeBinomial(ones, ones, 2.0)), (place, OneClass(place.block, 0, 2)):
        exported = export.export(jax.jit(lambda block, x: block.log_predictive(x)))(block, ones)
        again = export.deserialize(bytearray(exported.serialize()))
        np.testing.assert_array_equal(again.call(block, ones), exported.call(block, ones))
        with pytest.raises(ValueError, match="tree"):
            again.call(other, ones)


def test_a_class_that_is_defined_again_can_still_be_used() -> None:
    """As when a cell of a notebook runs twice."""
    from dataclasses import dataclass

    from bayesnb.numerics.pytrees import pytree

    for _ in range(2):

        @pytree
        @dataclass(frozen=True)
        class Twice:
            a: float

        assert jax.tree.leaves(Twice(2.0)) == [2.0]
