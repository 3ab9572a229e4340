"""What the base of all families reads of a family."""

from dataclasses import dataclass

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.families import GammaPoisson, pytree

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
