"""What the base of all families reads of a family."""

from dataclasses import dataclass
from itertools import combinations

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.families import GammaPoisson, pytree

from .laws import FAMILIES, D

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
