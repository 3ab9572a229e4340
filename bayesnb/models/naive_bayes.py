"""Naive Bayes: a prior of the classes and named blocks of columns, whose tables add.

    π ~ class prior,   y_i ~ Categorical(π),   x_i | y_i ~ Π_blocks p(x_i,block | y_i, θ_block)

`NaiveBayes` is frozen; prior and posterior are one type, and `update` leads from one to the other. Rows come as a
mapping from block name to that block's columns.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..families.base import AbstractConjugate, Block, as_jax, from_sites, to_sites
from ..families.classes import AbstractClasses
from ..numerics.arrays import Array, Float, Sparse, Table, Tables, Theta, Value, Weights, is_sparse
from ..numerics.pytrees import leaves, pytree
from ..numerics.random import Key, split
from ..numerics.sites import block_scope
from ..numerics.special import namespace
from ..numerics.supports import GIVEN_TOTALS, Cells
from ..sums.rows import Rows as Rows
from ..sums.rows import as_compute_dtype, block_rows_at, fold_rows, row_slices, rows_at
from ..sums.rows import by_rows as by_rows
from ..sums.statistics import Statistics as Statistics
from ..sums.statistics import class_totals, one_hot
from .base import CLASS as CLASS
from .base import AbstractModel, Hyperparameter, hyperparameters_of
from .base import Parameters as Parameters

ENUMERATED = {"enumerate": "parallel"}  # of a latent label: NumPyro sums it out


@pytree
@dataclass(frozen=True)
class NaiveBayes(AbstractModel):
    """Naive Bayes as a prior or a posterior: a class prior times named blocks of columns.

    Fields
    ------
    classes   prior of the labels: Dirichlet or fixed
    blocks    conjugate blocks by name; every block has the classes along its first axis

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import NaiveBayes, families
    >>> ones = np.ones((2, 1))  # for two classes and one feature
    >>> prior = NaiveBayes(families.DirichletClasses(np.ones(2)), {"x": families.BetaBernoulli(ones, ones)})
    >>> rows, labels = {"x": np.array([[1.0], [0.0], [0.0]])}, np.eye(2)[[0, 1, 1]]
    >>> posterior = prior.update(prior.suffstats(rows, labels))
    >>> np.exp(posterior.log_joint({"x": np.array([[1.0]])})).round(3)  # p(x, y)
    array([[0.267, 0.15 ]])
    """

    classes: AbstractClasses
    blocks: dict[str, Block]

    def suffstats(self, rows: Rows, r: Weights) -> Statistics:
        """Sufficient statistics of rows under weights r (n, c); rows are processed in slices to limit the memory.

        Parameters
        ----------
        rows : mapping from block name to that block's columns (n, d_block); NaN if a cell is missing
        r : (n, c) non-negative weights: one-hot label times sample weight, dense or sparse
        """

        def statistics_of_slice(part: slice) -> Statistics:
            return self.statistics(rows_at(rows, part), block_rows_at(r, part))

        # Statistics of disjoint sets of rows add, so each slice is summed up alone, and `fold_rows` adds the results.
        # The function gives the smallest number of cells that is worth a slice.
        parts = row_slices(rows, lambda: self.min_chunk_cells(r))
        return fold_rows(statistics_of_slice, parts)

    def statistics(self, rows: Rows, r: Weights) -> Statistics:
        """Sufficient statistics of a few rows, in one piece: class weights, and statistics of each block of columns.

        Parameters
        ----------
        rows : columns by block
        r : (n, c) weights of rows in classes
        """
        blocks = {}
        for name, block in self.blocks.items():
            x = as_compute_dtype(rows[name], r, block.cells_.kind)  # float64, where rows are held in less
            blocks[name] = block.suffstats(x, r)
        return Statistics(class_totals(r), blocks)

    def min_chunk_cells(self, arrays: Any = None) -> int:
        """Smallest number of cells of X that is worth a slice of its own.

        Each slice costs a pass over all parameters: its statistics are added up, or logarithms of fields are taken. So
        a slice should have a few times as many cells as the model has numbers.

        Parameters
        ----------
        arrays : other arrays that are used with the rows, such as weights or drawn parameters. If these or the fields
            are JAX's, rows are not cut: no slice is large enough
        """
        fields = [*leaves(self)]  # the arrays of all hyperparameters
        uses_jax = namespace(*fields, *leaves(arrays)) is not np
        if uses_jax:
            return sys.maxsize
        n_numbers = sum(field.size for field in fields)
        return 4 * n_numbers

    def update(self, stats: Statistics) -> Self:
        """The posterior given statistics: class prior and blocks are updated each on its own."""
        blocks = {name: block.update(stats.blocks[name]) for name, block in self.blocks.items()}
        return type(self)(self.classes.update(stats.n), blocks)

    def condition(self, rows: Rows, y: Array, weights: Array | None = None) -> Self:
        """The posterior given rows and integer labels: `update` of their statistics, also under `jit`, `vmap`, `grad`.

        Parameters
        ----------
        rows : mapping from block name to that block's columns (n, d_block); NaN if a cell is missing
        y : (n,) class index 0 … c−1. Traced labels cannot be checked; a row with a label outside this range is ignored
        weights : (n,) non-negative, by default 1; for example the counts of a bootstrap sample

        Raises
        ------
        ValueError
            if labels outside `jit` are not class indices

        Examples
        --------
        The MAP as one compiled function of the data, and of 100 bootstrap samples at once:

        >>> import jax, numpy as np
        >>> from bayesnb.families import BetaBernoulli, DirichletClasses
        >>> prior = NaiveBayes(DirichletClasses(np.full(2, 2.0)), {"x": BetaBernoulli(*np.full((2, 2, 3), 2.0))})
        >>> X, y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0.0]]), np.array([0, 0, 1])
        >>> fit = jax.jit(lambda X, y, w: prior.condition({"x": X}, y, w).mode())
        >>> fit(X, y, np.ones(3))["x"]["logit_theta"].shape
        (2, 3)
        >>> w = np.random.default_rng(0).multinomial(3, np.full(3, 1 / 3), 100)
        >>> jax.vmap(fit, (None, None, 0))(X, y, w)["x"]["logit_theta"].shape
        (100, 2, 3)
        """
        n_classes = self.classes.log_predictive().shape[-1]

        # NumPy: labels can be checked, and the weights r are sparse
        if namespace(*leaves(self), *rows.values(), y, weights) is np:
            y = np.asarray(y)
            if y.dtype.kind not in "iu" or ((y < 0) | (y >= n_classes)).any():
                raise ValueError(
                    f"`y` needs class indices, whole numbers from 0 to {n_classes - 1}; encode the labels first"
                )
            return self.update(self.suffstats(rows, one_hot(y, n_classes, weights)))  # `one_hot` is r (n, c), sparse

        # JAX: everything dense, so that it can be traced; `one_hot` has a row of zeros for a label outside the range
        import jax.nn
        import jax.numpy as jnp

        r = jax.nn.one_hot(jnp.asarray(y), n_classes, dtype=jnp.result_type(float))  # (n, c)
        if weights is not None:
            r = r * as_jax(weights)[:, None]
        dense_rows = {name: as_jax(x.toarray() if is_sparse(x) else x) for name, x in rows.items()}
        prior = as_jax(self)
        return prior.update(prior.suffstats(dense_rows, r))

    def log_marginal(self, stats: Statistics) -> Float[Value, ""]:
        """Log evidence log p(X, y) of the rows behind the statistics in nats, with all constants."""
        # log p(y) + Σ_blocks log p(X_block | y); a block gives one value for each independent piece, such as a feature
        log_p_of_blocks = [block.log_marginal(stats.blocks[name]).sum() for name, block in self.blocks.items()]
        return self.classes.log_marginal(stats.n) + sum(log_p_of_blocks)

    def log_joint(self, rows: Rows, theta: Parameters | None = None) -> Tables:
        """log p(x_i, y = c): the joint table.

        Without `theta` the parameters are integrated out: log p(y = c | data) + Σ_blocks log p(x_i | y = c, data). With
        given parameters it is log π_c + Σ_blocks log p(x_i | θ_c), with the leading axes of θ in front. A block is the
        columns of one family of distributions, such as normal or Bernoulli, which are independent of the other blocks
        given the class.

        Parameters
        ----------
        rows : mapping from block name to that block's columns (n, d_block); NaN if a cell is missing
        theta : parameters by block, leading axes are draws; None integrates them out

        Returns
        -------
        (…, n, c), in nats
        """

        # some rows at a time, in threads where there are many: the memory is bounded. The function at the end gives the
        # smallest number of cells that is worth a slice
        def table_of_slice(part: slice) -> Tables:
            return self.log_table(rows_at(rows, part), theta)

        return by_rows(table_of_slice, rows, lambda: self.min_chunk_cells(theta) // 8)

    def log_table(self, rows: Rows, theta: Parameters | None = None, *, scores: bool = False) -> Tables:
        """The joint table log p(x_i, y = c), (…, n, c), of so few rows that they are worked on at once.

        A block is the columns of one family of distributions; blocks are independent given the class, so their log
        densities add.

        Parameters
        ----------
        rows : columns by block
        theta : parameters by block, leading axes are draws; None integrates them out
        scores : True leaves out terms that are equal in all classes of a row: enough for class probabilities
        """
        if theta is None:
            log_pi = self.classes.log_predictive()  # (c,)
        else:
            log_pi = theta[CLASS]["log_pi"][..., None, :]  # (…, 1, c), leading axes are draws
        xp = namespace(log_pi, *rows.values())  # numpy or jax.numpy

        # log π_c + Σ_blocks log p(x_i,block | y = c)
        total = log_pi
        with np.errstate(over="ignore"):  # a row beyond 1e308 scales is that far away: the least number, not −∞
            for name, block in self.blocks.items():
                x = as_compute_dtype(rows[name], log_pi, block.cells_.kind)  # float64, where rows are held in less
                block_theta = None if theta is None else theta[name]

                # `_log_density` is log p(x | θ_c), or log p(x | y = c, data) where θ is None; `log_score` is the same
                # without the terms that all classes share
                table = block.log_score(x, block_theta) if scores else _log_density(block, x, block_theta)
                total = total + table  # (…, n, c)

                # NumPy's rows were checked. JAX's cannot be where they are traced: an infinite cell makes the row NaN
                if xp is not np:
                    has_infinite_cell = xp.isinf(x).any(-1, keepdims=True)
                    total = xp.where(has_infinite_cell, xp.nan, total)

        # the lowest number in place of −∞, so that no later difference is NaN
        lowest = xp.finfo(total.dtype).min
        if xp is np and self.blocks:  # `total` is a new array, which may be written to
            return np.maximum(total, lowest, out=total)
        return xp.maximum(total, lowest)

    def log_loo(self, rows: Rows, r: Weights) -> Table:
        """log p(x_i, y = c | data without row i): the joint leave-one-out table of rows that this posterior contains.

        Row i is removed with its weights r_i from the class probabilities and from every block. Removing it undoes
        `update`, so nothing is fitted again. The table costs little more than `log_joint`.

        Parameters
        ----------
        rows, r : rows that this posterior contains, with the weights that they had in `suffstats`
        """
        # log p(y = c) and, if there are columns, log p(x_i | y = c) of all blocks as one part: (1 or 2, n, c)
        parts = [[*self.blocks]] if self.blocks else []  # names of the blocks whose tables are added up
        tables = self.log_loo_parts(rows, r, parts)
        return tables.sum(0)  # log p(y = c) + log p(x_i | y = c)

    def log_parts(
        self, rows: Rows, parts: Sequence[Sequence[str]], theta: Parameters | None = None
    ) -> Float[Array, "p *s n c"]:
        """log p(x_i,part | y = c), a table for each part; `log_joint` adds these to the log class probabilities.

        Parameters
        ----------
        rows : columns by block
        parts : names of the blocks of each part, such as [["numbers"], ["levels_2", "levels_3"]]; the tables of the
            blocks of a part are added
        theta : parameters by block; None integrates them out
        """

        # a slice of the rows of one block gives a table (n_slice, c): log p(x | θ_c), or with θ integrated out
        def log_density_of(name: str, chunk: slice) -> Array:
            x = as_compute_dtype(block_rows_at(rows[name], chunk), self.classes.log_predictive())
            return _log_density(self.blocks[name], x, None if theta is None else theta[name])

        # the tables of the blocks of each part are added, (parts, n_slice, c)
        def tables_of_slice(chunk: slice) -> Array:
            return _sum_by_part(lambda name: log_density_of(name, chunk), parts)

        # `by_rows` calls it for slices of the rows, in threads where there are many, and joins the results; the last
        # argument gives the smallest number of cells that is worth a slice
        return by_rows(tables_of_slice, rows, lambda: self.min_chunk_cells(theta))

    def log_loo_parts(
        self, rows: Rows, r: Weights, parts: Sequence[Sequence[str]], *, scores: bool = False
    ) -> Float[Array, "p n c"]:
        """log p(y = c | data without row i), then log p(x_i,part | y = c, data without row i), a table for each part.

        Parameters
        ----------
        rows, r : rows that this posterior contains, with the weights that they had in `suffstats`
        parts : names of the blocks of each part; the tables of the blocks are added. A block is the columns of one
            family of distributions, a part one or several blocks whose contribution is wanted as one table
        scores : True leaves out terms that are equal in all classes of a row, such as multinomial coefficients
        """

        def tables_of_slice(chunk: slice) -> Array:
            return self._log_loo_of_slice(rows_at(rows, chunk), block_rows_at(r, chunk), parts, scores)

        # slices of the rows, in threads where there are many, joined at the end; the last argument gives the smallest
        # number of cells that is worth a slice
        return by_rows(tables_of_slice, rows, lambda: self.min_chunk_cells(r))

    def _log_loo_of_slice(
        self, rows: Rows, r: Weights, parts: Sequence[Sequence[str]], scores: bool
    ) -> Float[Array, "p n c"]:
        """Leave-one-out tables (n, c) of a few rows: log p(y = c), then log p(x_i,part | y = c) of each part.

        All are given the data without row i. A block is the columns of one family of distributions; a part is one or
        several blocks, whose tables are added.

        Parameters
        ----------
        rows, r : columns by block, and weights (n, c), of rows that this posterior contains
        parts : names of the blocks of each part
        scores : whether terms that are equal in all classes of a row are left out
        """

        # log p(x_i,block | y = c, data without row i), (n, c), of the columns of one family of distributions
        def log_loo_of_block(name: str) -> Array:
            block = self.blocks[name]
            x = as_compute_dtype(rows[name], r, block.cells_.kind)  # float64, where rows are held in less
            return block.log_loo_score(x, r) if scores else block.log_loo(x, r)

        log_pi = self.classes.log_loo(r)  # (n, c), log p(y = c | data without row i)
        tables = _sum_by_part(log_loo_of_block, parts)  # (parts, n, c), sums over the blocks of each part
        return namespace(log_pi, *rows.values()).stack([log_pi, *tables])

    def log_contributions(
        self, rows: Rows, columns: Mapping[str, np.ndarray], theta: Parameters | None = None
    ) -> Iterator[tuple[str, Float[Array, "*s n k c"]]]:
        """As in `AbstractModel`: `log_contributions` of each block."""
        for name, block in self.blocks.items():
            block_theta = None if theta is None else theta[name]
            yield name, block.log_contributions(rows[name], columns[name], block_theta)

    def log_prob(self, theta: Parameters) -> Float[Value, "*s"]:
        """Log density of all parameters together, in the basis of the NumPyro sites: class prior and blocks add up.

        Parameters
        ----------
        theta : parameters by block, with those of the classes under "class"; leading axes are draws
        """
        total = self.classes.log_prob(theta[CLASS])  # (…), leading axes are draws
        for name, block in self.blocks.items():
            # a block (columns of one family) has a log density for each independent piece, such as a class and feature,
            # (…, c, d): `sum_of_pieces` adds these up and leaves the draws
            total = total + sum_of_pieces(block, block.log_prob(theta[name]))
        return total

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Parameters:
        """Independent draws of all parameters; use NumPy's generator for many draws and a JAX key under `jit`."""
        # independent streams of random numbers, one for the classes and one for each block
        keys = split(key, 1 + len(self.blocks))
        draws = {CLASS: self.classes.sample(keys[0], shape)}  # {"class": {"log_pi": …}}, then each block by its name
        for block_key, (name, block) in zip(keys[1:], self.blocks.items(), strict=True):
            draws[name] = block.sample(block_key, shape)
        return draws

    @property
    def cells(self) -> dict[str, Cells]:
        """What a cell of each block is."""
        return {name: block.cells_ for name, block in self.blocks.items()}

    def hyperparameters(self) -> list[Hyperparameter]:
        """The arrays of the class prior, then those of each block; of a block of one class those inside of it."""
        arrays = [*hyperparameters_of(CLASS, self.classes)]
        for name, block in self.blocks.items():
            arrays += hyperparameters_of(name, block.unwrapped)
        return arrays

    @property
    def is_improper(self) -> bool:
        """Whether some block is improper, because a field is at a limit of its support."""
        return any(block.is_improper for block in self.blocks.values())

    def require_proper(self, what: str) -> None:
        """Raise a ValueError with the reason if a block is improper.

        Parameters
        ----------
        what : what an improper prior cannot give, in the plural, for the message: "posterior draws"
        """
        for block in self.blocks.values():  # the densities of the parameters of each group of columns
            if block.is_improper:  # does not integrate to one, as a Beta(0, 0)
                raise ValueError(
                    f"`prior` is improper, so there are no {what}; give a proper prior: {block.evidence_error}"
                )

    def mean(self) -> Parameters:
        """Mean of the parameters."""
        return {CLASS: self.classes.mean(), **{name: block.mean() for name, block in self.blocks.items()}}

    def mode(self) -> Parameters:
        """Joint mode of the parameters, in the basis of the NumPyro sites."""
        return {CLASS: self.classes.mode(), **{name: block.mode() for name, block in self.blocks.items()}}

    def mle(self, stats: Statistics) -> Parameters:
        """Maximum likelihood estimate; a class without data has the means of this prior."""
        blocks = {name: block.mle(stats.blocks[name]) for name, block in self.blocks.items()}
        return {CLASS: self.classes.mle(stats.n), **blocks}

    def on_boundary(self) -> bool:
        """Whether a parameter of the joint mode is on the boundary of its space."""
        return self.classes.on_boundary() or any(block.on_boundary() for block in self.blocks.values())

    @property
    def coupled(self) -> bool:
        """Whether features of some block depend on each other given the class, so its rows must be complete."""
        return any(block.missing_value is None for block in self.blocks.values())

    def marginals(self) -> dict[str, Any]:
        """Marginal distributions of the parameters by NumPyro site, as frozen `scipy.stats` objects.

        The name of a site is that of the parameter, with the block in front if there are several: see `site`.
        """
        marginals = dict(self.classes.marginals())  # {"pi": …}, or nothing if the class probabilities are fixed
        for name, block in self.blocks.items():
            for parameter, marginal in block.marginals().items():
                marginals[self.site(name, parameter)] = marginal
        return marginals

    # --- the same model in NumPyro ------------------------------------------------------------------------------------

    def site(self, block: str, parameter: str) -> str:
        """Name of a parameter's NumPyro site: the plain name with one block, `block.name` with several."""
        return parameter if len(self.blocks) == 1 else f"{block}.{parameter}"

    def _scope(self, block: str) -> AbstractContextManager[Any]:
        """NumPyro's scope that gives a block's sites the names of `site`."""
        return nullcontext() if len(self.blocks) == 1 else block_scope(block)

    def to_sites(self, theta: Parameters) -> Theta:
        """Parameters as one flat mapping of NumPyro sites; a fixed π has no site.

        Parameters
        ----------
        theta : parameters by block, in the basis in which the closed form holds them: {"class": {"log_pi": …}, "x":
            {"logit_theta": …}} gives {"pi": …, "theta": …}
        """
        # the function `to_sites` does it for one block: {"log_rate": value} becomes {"rate": exp(value)}
        is_pi_random = bool(self.classes.marginals())  # fixed class probabilities have no marginals
        sites = to_sites(theta[CLASS]) if is_pi_random else {}
        for name in self.blocks:
            for parameter, value in to_sites(theta[name]).items():
                sites[self.site(name, parameter)] = value  # "rate", or "block.rate" if there are several blocks
        return sites

    def from_sites(self, sites: Theta) -> Parameters:
        """Inverse of `to_sites`: the parameters by block, in the basis in which the closed form holds them.

        Parameters
        ----------
        sites : values by the name of the NumPyro site: {"pi": …, "theta": …} gives {"class": {"log_pi": …}, "x":
            {"logit_theta": …}}
        """
        # the function `from_sites` takes logarithms and logits, as the prefixes of the given names say
        if "pi" in sites:  # otherwise it is fixed, and has no site
            theta = {CLASS: from_sites(("log_pi",), sites)}
        else:
            theta = {CLASS: self.classes.mean()}
        for name, block in self.blocks.items():
            # by plain names: "logit_theta" of the closed form is the site "theta", or "block.theta"
            sites_of_block = {}
            for parameter in block.parameters:
                plain = parameter.removeprefix("log_").removeprefix("logit_")
                sites_of_block[plain] = sites[self.site(name, plain)]
            theta[name] = from_sites(block.parameters, sites_of_block)
        return theta

    def model(self, rows: Rows | None, y: Any = None, n: int | None = None, length: Any = None) -> None:
        """The same model in NumPyro: class probabilities π, labels y_i ~ Categorical(π), then columns given the labels.

        The columns come in blocks, one for each family of distributions. A block states its parameters and its columns.
        If labels are not known, they are latent: NumPyro then sums the likelihood over their values.

        Parameters
        ----------
        rows : columns by block; with None the model draws them too
        y : (n,) class index; with None it is a latent site that is enumerated in parallel, if the inference allows it
        n : number of rows, required if neither rows nor y are given
        length : number of events of each row, a number or (n,), if rows of multinomial counts are drawn
        """
        import numpyro
        import numpyro.distributions as dist

        prior = as_jax(self)  # the same with JAX's arrays
        if rows is not None:
            n = next(iter(rows.values())).shape[0]
        elif y is not None:
            n = len(y)
        if n is None:
            raise ValueError("`n` is None, and neither rows nor labels are given; give one of them")

        # the labels: data, or a latent discrete site that NumPyro sums out (`infer={"enumerate": "parallel"}`)
        pi = prior.classes.model()  # class probabilities (c,)
        inference = None if y is not None else ENUMERATED
        with numpyro.plate("row", n, dim=-1):
            labels = numpyro.sample("y", dist.Categorical(pi), obs=y, infer=inference)

        # the parameters of each block, and its columns given the labels
        for name, block in prior.blocks.items():
            x: Any = None if rows is None else rows[name]

            # Multinomial counts are a distribution given their total (`length`). Data have it; to draw a row, the model
            # must be told the total.
            is_length_needed = rows is None and block.cells_.measure == GIVEN_TOTALS
            options = {"length": length} if is_length_needed else {}
            with self._scope(name):  # which puts the block's name in front of its sites
                block.model(x.toarray() if is_sparse(x) else x, labels, **options)

    def model_from_statistics(self, stats: Statistics) -> None:
        """The same model in NumPyro with the likelihood of sufficient statistics; the cost does not depend on n.

        By Bayes' identity log p(data | θ) = log p(θ | data) − log p(θ) + log p(data). The prior gives the sites (the
        random variables of the parameters), and the three closed forms give the likelihood, as one factor.

        Parameters
        ----------
        stats : of the rows; this model is the prior
        """
        import numpyro

        prior, posterior = as_jax((self, self.update(stats)))  # the same with JAX's arrays
        pi = prior.classes.model()  # class probabilities (c,), random or fixed
        sites = {"pi": pi} if self.classes.marginals() else {}

        # The sites of θ, which the model of each block draws. A model needs a row: here it gets one of zeros, and the
        # statement of this row, which does not exist, is hidden. The trace records the value of every site
        likelihood_sites = {self.site(name, "x") for name in self.blocks}
        with numpyro.handlers.trace() as trace, numpyro.handlers.block(hide=likelihood_sites):
            for name, block in prior.blocks.items():
                with self._scope(name):
                    block.model(np.zeros((1, block.shape[1])), np.zeros(1, int))
        for name, site in trace.items():
            if site["type"] == "sample":
                sites[name] = site["value"]

        # the likelihood by Bayes' identity, at the values of the sites, which the closed forms hold as, say, log π
        theta = self.from_sites(sites)
        log_likelihood = posterior.log_prob(theta) - prior.log_prob(theta) + self.log_marginal(stats)
        numpyro.factor("data", log_likelihood)


def _log_density(block: Block, x: Array | Sparse, theta: Theta | None) -> Array:
    """log p(x_i | θ_c) of a block, or log p(x_i | y = c, data) where no parameters are given, (…, n, c)."""
    return block.log_predictive(x) if theta is None else block.log_likelihood(theta, x)


def sum_of_pieces(block: Any, pieces: Value) -> Value:
    """Log densities of a block summed over its independent pieces, such as features; leading axes, of draws, stay.

    Parameters
    ----------
    pieces : (…, *pieces), whose last axes are those of `block.log_normalizer()`
    """
    # as many axes as the normaliser has: (d,) or (c, d) where features are independent, none where they are not. With
    # two axes, pieces (s, c, d) of s draws are summed over the axes −2 and −1. A block that wraps another one, to
    # change its columns, has the pieces of that one (`unwrapped`)
    inner = block.unwrapped if isinstance(block, AbstractConjugate) else block
    n_axes = np.ndim(inner.log_normalizer())
    return pieces.sum(axis=tuple(range(-n_axes, 0)))


def _sum_by_part(table_of: Callable[[str], Array], parts: Sequence[Sequence[str]]) -> Float[Array, "p *s n c"]:
    """The sum of the tables of the blocks of each part: [["a"], ["b", "c"]] give the tables of a and of b + c.

    A block is the columns of one family of distributions, and its table the log density of rows under each class.

    Parameters
    ----------
    table_of : name of a block → its table (n, c)
    parts : names of the blocks of each part
    """
    tables = []  # of each part
    with np.errstate(over="ignore"):  # a sum below the least number is −∞
        for first_block, *other_blocks in parts:
            total = table_of(first_block)
            for name in other_blocks:
                total = total + table_of(name)
            tables.append(total)
    if len(tables) == 1:
        return tables[0][None]  # a view, where stacking would copy
    return namespace(*tables).stack(tables)
