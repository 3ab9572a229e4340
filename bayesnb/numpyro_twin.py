"""The NumPyro side of naive Bayes: names of the sites, and the generative model with its priors."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import numpy as np

from .base import as_jax, from_sites, to_sites
from .class_statistics import Statistics
from .core.arrays import Theta, is_sparse
from .core.scope import block_scope
from .core.supports import GIVEN_TOTALS
from .sums.rows import Rows

Parameters: TypeAlias = dict[str, Theta]

ENUMERATED = {"enumerate": "parallel"}  # of a latent label: NumPyro sums it out
CLASS = "class"  # the key of π among the parameters of the blocks


class NumPyroTwin:
    """The model whose closed forms `NaiveBayes` has.

    Fields
    ------
    classes, blocks   those of `NaiveBayes`
    """

    classes: Any
    blocks: dict[str, Any]

    def site(self, block: str, parameter: str) -> str:
        """Name of a parameter's NumPyro site: the plain name with one block, `block.name` with several."""
        return parameter if len(self.blocks) == 1 else f"{block}.{parameter}"

    def _scope(self, block: str) -> AbstractContextManager[Any]:
        """NumPyro's scope that gives a block's sites the names of `site`."""
        return nullcontext() if len(self.blocks) == 1 else block_scope(block)

    def to_sites(self, theta: Parameters) -> Theta:
        """Parameters as one flat mapping of NumPyro sites; a fixed π has no site."""
        sites = to_sites(theta[CLASS]) if self.classes.marginals() else {}
        for name in self.blocks:
            sites |= {self.site(name, key): value for key, value in to_sites(theta[name]).items()}
        return sites

    def from_sites(self, sites: Theta) -> Parameters:
        """Inverse of `to_sites`."""
        if "pi" in sites:
            theta = {CLASS: from_sites(("log_pi",), sites)}
        else:
            theta = {CLASS: self.classes.mean()}
        for name, block in self.blocks.items():
            plain = [parameter.removeprefix("log_").removeprefix("logit_") for parameter in block.parameters]
            theta[name] = from_sites(block.parameters, {key: sites[self.site(name, key)] for key in plain})
        return theta

    def model(self, rows: Rows | None, y: Any = None, n: int | None = None, length: Any = None) -> None:
        """The same model in NumPyro: π, the labels, then the statements of each block.

        Parameters
        ----------
        rows : columns by block; with None the model draws them too
        y : (n,) class index; with None it is a latent site that is enumerated in parallel, if the inference allows it
        n : number of rows, required if neither rows nor y are given
        length : number of events of each row, a number or (n,), if rows of multinomial counts are drawn
        """
        import numpyro
        import numpyro.distributions as dist

        prior = as_jax(self)
        if rows is not None:
            n = next(iter(rows.values())).shape[0]
        elif y is not None:
            n = len(y)
        if n is None:
            raise ValueError("`n` is None, and neither rows nor labels are given; give one of them")
        pi = prior.classes.model()
        with numpyro.plate("row", n, dim=-1):
            y = numpyro.sample("y", dist.Categorical(pi), obs=y, infer=None if y is not None else ENUMERATED)
        for name, block in prior.blocks.items():
            given = {"length": length} if rows is None and block.cells_.measure == GIVEN_TOTALS else {}
            x: Any = None if rows is None else rows[name]
            with self._scope(name):
                block.model(x.toarray() if is_sparse(x) else x, y, **given)

    def model_from_statistics(self, stats: Statistics) -> None:
        """The same model in NumPyro with the likelihood of sufficient statistics; the cost does not depend on n.

        By Bayes' identity log p(data | θ) = log p(θ | data) − log p(θ) + log p(data). The prior gives the sites, and
        the three closed forms give the likelihood.
        """
        import numpyro

        host: Any = self
        prior, posterior = as_jax((host, host.update(stats)))
        pi = prior.classes.model()
        sites = {"pi": pi} if self.classes.marginals() else {}
        likelihood = {self.site(name, "x") for name in self.blocks}
        with numpyro.handlers.trace() as trace, numpyro.handlers.block(hide=likelihood):
            for name, block in prior.blocks.items():
                with self._scope(name):  # one row of zeros stands in; its likelihood is hidden
                    block.model(np.zeros((1, block.shape[1])), np.zeros(1, int))
        sites |= {name: site["value"] for name, site in trace.items() if site["type"] == "sample"}
        theta = self.from_sites(sites)
        numpyro.factor("data", posterior.log_prob(theta) - prior.log_prob(theta) + host.log_marginal(stats))
