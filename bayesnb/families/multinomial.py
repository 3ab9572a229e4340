"""Dirichlet–multinomial: counts of d kinds of events in a row, such as words in a text.

    θ_c ~ Dirichlet(α_c1 … α_cd)                       event probabilities of class c
    x_i | y_i = c, L_i ~ Multinomial(L_i, θ_c)         L_i = Σ_j x_ij, the row's number of events, is given

The features of a row are coupled through L_i, so a missing cell has no meaning here and is refused. With θ integrated
out a row is Dirichlet–multinomial (Pólya): an event that has occurred is more likely to occur again. Plugging in the
mean of θ misses this as soon as a row has two events. See Madsen, Kauchak & Elkan (2005), ICML, eq. (3)–(5).

Statistic, update and the gain of a row, log L!/Πx! + Σ_j log α_j^(x_j) − log A^(L), stand in `AbstractEvents`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import as_jax, n_rows
from ..core.arrays import Array, Float, Real
from ..core.pytrees import pytree
from ..core.random import log_dirichlet
from ..core.supports import COUNT, GIVEN_TOTALS, Cells, Field, declare
from ..dirichlet import AbstractEvents


@pytree
@dataclass(frozen=True)
class DirichletMultinomial(AbstractEvents):
    """Dirichlet density of each θ_c, as a prior or a posterior.

    Fields
    ------
    alpha : (c, d)   pseudo-counts of the events, positive
    """

    alpha: Float[Array, "c d"]

    fields_ = declare(alpha=Field(COUNT, ("class", "feature")))
    cells_ = Cells("counts", sparse=True, measure=GIVEN_TOTALS)

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """Counts of `length` events (a number, or one a row); each row has its own draw of θ."""
        length = np.broadcast_to(given["length"], len(y)).astype(int)
        theta = np.exp(log_dirichlet(rng, self.alpha[y]))
        return rng.multinomial(length, theta / theta.sum(-1, keepdims=True)).astype(float)

    def model(self, x: Real[Array, "n d"] | None, y: Array, length: Any = None) -> None:
        """The same model in NumPyro, plates written out; where x is drawn, `length` gives the row lengths L.

        Raises
        ------
        ValueError
            if neither x nor `length` is given: the model has no distribution of row lengths
        """
        import numpyro
        import numpyro.distributions as dist

        c = self.alpha.shape[0]
        with numpyro.plate("class", c, dim=-1):
            theta = numpyro.sample("theta", dist.Dirichlet(self.alpha))
        x = None if x is None else as_jax(x)
        if x is None and length is None:
            raise ValueError(
                "`x` is None, but the model has no distribution of row lengths; give `length`, or the rows"
            )
        with numpyro.plate("row", n_rows(x, y), dim=-1):
            numpyro.sample("x", dist.Multinomial(length if x is None else x.sum(-1), theta[y]), obs=x)
