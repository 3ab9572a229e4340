"""Naive Bayes: a prior of the classes and named blocks of columns, whose tables add.

    π ~ class prior,   y_i ~ Categorical(π),   x_i | y_i ~ Π_blocks p(x_i,block | y_i, θ_block)

`NaiveBayes` is frozen; prior and posterior are one type, and `update` leads from one to the other. Rows come as a
mapping from block name to that block's columns.
"""

import functools
import operator
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from .base import AbstractConjugate, Block, as_jax, from_sites, to_sites
from .core.arrays import Array, Float, Sparse, Table, Tables, Theta, Value, Weights, is_sparse
from .core.pytrees import leaves, pytree
from .core.random import Key, split
from .core.sites import block_scope
from .core.special import namespace
from .core.supports import GIVEN_TOTALS
from .families.classes import AbstractClasses
from .statistics import Statistics as Statistics
from .statistics import class_totals, one_hot
from .sums.rows import Rows as Rows
from .sums.rows import as_compute_dtype, block_rows_at, fold_rows, row_slices, rows_at
from .sums.rows import by_rows as by_rows

Parameters: TypeAlias = dict[str, Theta]

ENUMERATED = {"enumerate": "parallel"}  # of a latent label: NumPyro sums it out
CLASS = "class"  # the key of π among the parameters of the blocks


@pytree
@dataclass(frozen=True)
class NaiveBayes:
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

        def gather(part: slice) -> Statistics:
            return self.statistics(rows_at(rows, part), block_rows_at(r, part))

        return fold_rows(gather, row_slices(rows, lambda: self.min_chunk_cells(r)))

    def statistics(self, rows: Rows, r: Weights) -> Statistics:
        """`suffstats` of a few rows, computed in one piece."""
        blocks = {
            name: block.suffstats(as_compute_dtype(rows[name], r, block.cells_.kind), r)
            for name, block in self.blocks.items()
        }
        return Statistics(class_totals(r), blocks)

    def min_chunk_cells(self, arrays: Any = None) -> int:
        """Cells of X that are worth a pass over all parameters: adding statistics up, taking logarithms.

        Where the fields, or the `arrays` that are used with the rows, are JAX's, rows are not cut: no chunk is large
        enough.
        """
        fields = [*leaves(self)]
        if namespace(*fields, *leaves(arrays)) is not np:
            return sys.maxsize
        return 4 * sum(map(operator.attrgetter("size"), fields))

    def update(self, stats: Statistics) -> Self:
        """The posterior given statistics."""
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
        c = self.classes.log_predictive().shape[-1]
        if namespace(*leaves(self), *rows.values(), y, weights) is np:
            y = np.asarray(y)
            if y.dtype.kind not in "iu" or ((y < 0) | (y >= c)).any():
                raise ValueError(f"`y` needs class indices, whole numbers from 0 to {c - 1}; encode the labels first")
            return self.update(self.suffstats(rows, one_hot(y, c, weights)))
        import jax.nn
        import jax.numpy as jnp

        r = jax.nn.one_hot(jnp.asarray(y), c, dtype=jnp.result_type(float))
        cells = {name: as_jax(x.toarray() if is_sparse(x) else x) for name, x in rows.items()}
        prior = as_jax(self)
        return prior.update(prior.suffstats(cells, r if weights is None else r * as_jax(weights)[:, None]))

    def log_marginal(self, stats: Statistics) -> Float[Value, ""]:
        """Log evidence log p(X, y) of the rows behind the statistics in nats, with all constants."""
        parts = [block.log_marginal(stats.blocks[name]).sum() for name, block in self.blocks.items()]
        return self.classes.log_marginal(stats.n) + sum(parts)

    def log_joint(self, rows: Rows, theta: Parameters | None = None) -> Tables:
        """log p(x_i, y = c): the joint table.

        Without `theta` the parameters are integrated out: log p(y = c | data) + Σ_blocks log p(x_i | y = c, data). With
        given parameters it is log π_c + Σ_blocks log p(x_i | θ_c), with the leading axes of θ in front.
        """
        return by_rows(
            lambda part: self.log_table(rows_at(rows, part), theta), rows, lambda: self.min_chunk_cells(theta) // 8
        )

    def log_table(self, rows: Rows, theta: Parameters | None = None, *, scores: bool = False) -> Tables:
        """`log_joint` of so few rows that they are worked on at once.

        With `scores` it is without terms that are equal in all classes of a row: enough for class probabilities.
        """
        log_pi = self.classes.log_predictive() if theta is None else theta[CLASS]["log_pi"][..., None, :]
        xp = namespace(log_pi, *rows.values())
        total = log_pi
        with np.errstate(over="ignore"):  # a row beyond 1e308 scales is that far away: the least number, not −∞
            for name, block in self.blocks.items():
                x = as_compute_dtype(rows[name], log_pi, block.cells_.kind)
                block_theta = None if theta is None else theta[name]
                total = total + (block.log_score(x, block_theta) if scores else _log_density(block, x, block_theta))
                if xp is not np:  # traced cells cannot be refused
                    total = xp.where(xp.isinf(x).any(-1, keepdims=True), xp.nan, total)
        lowest = xp.finfo(total.dtype).min
        if xp is np and self.blocks:  # then the table is ours, and needs no copy
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
        return self.log_loo_parts(rows, r, [[*self.blocks]] if self.blocks else []).sum(0)

    def log_parts(
        self, rows: Rows, parts: Sequence[Sequence[str]], theta: Parameters | None = None
    ) -> Float[Array, "p *s n c"]:
        """log p(x_i,part | y = c), a table for each part; `log_joint` adds these to the log class probabilities.

        Parameters
        ----------
        parts : names of the blocks of each part; the tables of the blocks are added
        """

        def of_block(name: str, part: slice) -> Array:
            x = as_compute_dtype(block_rows_at(rows[name], part), self.classes.log_predictive())
            return _log_density(self.blocks[name], x, None if theta is None else theta[name])

        def tables(part: slice) -> Array:
            return _stacked(lambda name: of_block(name, part), parts)

        return by_rows(tables, rows, lambda: self.min_chunk_cells(theta))

    def log_loo_parts(
        self, rows: Rows, r: Weights, parts: Sequence[Sequence[str]], *, scores: bool = False
    ) -> Float[Array, "p n c"]:
        """log p(y = c | data without row i), then log p(x_i,part | y = c, data without row i), a table for each part.

        Parameters
        ----------
        scores : True leaves out terms that are equal in all classes of a row, such as multinomial coefficients
        """

        def tables(part: slice) -> Array:
            return self._log_loo_of_slice(rows_at(rows, part), block_rows_at(r, part), parts, scores)

        return by_rows(tables, rows, lambda: self.min_chunk_cells(r))

    def _log_loo_of_slice(
        self, rows: Rows, r: Weights, parts: Sequence[Sequence[str]], scores: bool
    ) -> Float[Array, "p n c"]:
        """`log_loo_parts` of so few rows that they are worked on at once."""

        def of_block(name: str) -> Array:
            block = self.blocks[name]
            log_loo = block.log_loo_score if scores else block.log_loo
            return log_loo(as_compute_dtype(rows[name], r, block.cells_.kind), r)

        classes = self.classes.log_loo(r)
        return namespace(classes, *rows.values()).stack([classes, *_stacked(of_block, parts)])

    def log_prob(self, theta: Parameters) -> Float[Value, "*s"]:
        """Log density of all parameters together, in the basis of the NumPyro sites."""
        total = self.classes.log_prob(theta[CLASS])
        for name, block in self.blocks.items():
            total = total + sum_of_pieces(block, block.log_prob(theta[name]))
        return total

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Parameters:
        """Independent draws of all parameters; use NumPy's generator for many draws and a JAX key under `jit`."""
        keys = split(key, 1 + len(self.blocks))
        draws = {CLASS: self.classes.sample(keys[0], shape)}
        for block_key, (name, block) in zip(keys[1:], self.blocks.items(), strict=True):
            draws[name] = block.sample(block_key, shape)
        return draws

    @property
    def is_improper(self) -> bool:
        """Whether some block is improper, because a field is at a limit of its support."""
        return any(map(operator.attrgetter("is_improper"), self.blocks.values()))

    def require_proper(self, what: str) -> None:
        """Raise a ValueError with the reason if a block is improper."""
        for block in self.blocks.values():
            if block.is_improper:
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
        """Marginal distributions of the parameters by NumPyro site, as frozen `scipy.stats` objects."""
        marginals = dict(self.classes.marginals())
        for name, block in self.blocks.items():
            marginals |= {self.site(name, site): value for site, value in block.marginals().items()}
        return marginals

    # --- the same model in NumPyro ------------------------------------------------------------------------------------

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
            is_length_needed = rows is None and block.cells_.measure == GIVEN_TOTALS
            options = {"length": length} if is_length_needed else {}
            x: Any = None if rows is None else rows[name]
            with self._scope(name):
                block.model(x.toarray() if is_sparse(x) else x, y, **options)

    def model_from_statistics(self, stats: Statistics) -> None:
        """The same model in NumPyro with the likelihood of sufficient statistics; the cost does not depend on n.

        By Bayes' identity log p(data | θ) = log p(θ | data) − log p(θ) + log p(data). The prior gives the sites, and
        the three closed forms give the likelihood.
        """
        import numpyro

        prior, posterior = as_jax((self, self.update(stats)))
        pi = prior.classes.model()
        sites = {"pi": pi} if self.classes.marginals() else {}
        likelihood = {self.site(name, "x") for name in self.blocks}
        with numpyro.handlers.trace() as trace, numpyro.handlers.block(hide=likelihood):
            for name, block in prior.blocks.items():
                with self._scope(name):  # one row of zeros stands in; its likelihood is hidden
                    block.model(np.zeros((1, block.shape[1])), np.zeros(1, int))
        sites |= {name: site["value"] for name, site in trace.items() if site["type"] == "sample"}
        theta = self.from_sites(sites)
        numpyro.factor("data", posterior.log_prob(theta) - prior.log_prob(theta) + self.log_marginal(stats))


def _log_density(block: Block, x: Array | Sparse, theta: Theta | None) -> Array:
    """log p(x_i | θ_c) of a block, or of the data where no parameters are given."""
    return block.log_predictive(x) if theta is None else block.log_likelihood(theta, x)


def sum_of_pieces(block: Any, pieces: Value) -> Value:
    """Log densities (…, *pieces) of a block summed over its pieces; leading axes are draws."""
    inner = block.unwrapped if isinstance(block, AbstractConjugate) else block
    return pieces.sum(axis=tuple(range(-np.ndim(inner.log_normalizer()), 0)))


def _stacked(of_block: Callable[[str], Array], parts: Sequence[Sequence[str]]) -> Float[Array, "p *s n c"]:
    """For each part the sum of the tables of its blocks."""
    with np.errstate(over="ignore"):
        tables = [functools.reduce(operator.add, map(of_block, names)) for names in parts]
    return tables[0][None] if len(tables) == 1 else namespace(*tables).stack(tables)
