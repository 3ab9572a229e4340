"""The block: some columns of X for all classes at once.

A block maps rows (n, d) to a table (n, c) of log p(x_i | y = c, data); labels enter as weights r (n, c), one-hot label
times sample weight. Blocks of one row add up, because the features are independent given the class; that sum is naive
Bayes. Arrays decide where a block computes: NumPy in, NumPy out (float64 on the host, nothing compiled); JAX in, JAX
out (inside `jit`, `vmap`, `grad`).
"""

import abc
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from .core.arrays import Float, Int, Real, Sparse, Theta
from .core.arrays import HostOrDevice as Array
from .core.distributions import argument, describe, is_a
from .core.exact import ExactSum
from .core.orders import MANY_PAIRS, PAIRS, shapley, shapley_of_cells
from .core.pytrees import leaves
from .core.random import Key
from .core.registry import record
from .core.sites import Site as Site
from .core.sites import as_jax as as_jax
from .core.sites import from_sites as from_sites
from .core.sites import n_rows as n_rows
from .core.sites import observed as observed
from .core.sites import to_sites as to_sites
from .core.supports import COMPOSITE, Cells, Field, Support, declare, improper

_AXES: dict[type, dict[str, tuple[str, ...]]] = {}  # of the NumPyro sites of a family


class AbstractBlock(abc.ABC):
    """Some columns of X, all classes."""

    @abc.abstractmethod
    def suffstats(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Any:
        """Statistics of rows x under weights r: a commutative monoid with zero, + and −."""

    @abc.abstractmethod
    def update(self, stats: Any) -> Self:
        """Condition on statistics; prior and posterior are one type, so updates chain."""

    @abc.abstractmethod
    def log_predictive(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"]:
        """log p(x_i | y = c, data) of each single row, parameters integrated out, in nats."""


class AbstractConjugate(AbstractBlock):
    """A block with a conjugate prior: everything below is closed form.

    A family is a frozen dataclass under this class. Its fields are the hyperparameters; prior and posterior are one
    type. The class attributes below say everything that other modules need to know of a family, and each has a default.
    `bayesnb.testing.check_family` checks these statements and all formulas.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        record(cls)

    parameters: ClassVar[tuple[str, ...]]
    """Names of the parameters θ. `log_` and `logit_` in front of a name say in which basis the closed form holds it;
    without the prefix it is the site of that name in the NumPyro model."""

    kept_types: ClassVar[frozenset[str]] = frozenset()
    """Types of cells besides float64 of which rows on the host are used as they are."""

    missing_value: ClassVar[float | None] = float("nan")
    """What a cell that is not there holds: NaN, left out; 0 where counts share a row; None where rows are complete."""

    fields_: ClassVar[Mapping[str, Field]] = declare()
    """Support and axes of every field of the dataclass, by name: what validation, prior fitting and files read. A
    family without declarations has no field checked."""

    constants_: ClassVar[Mapping[str, Support]] = declare()
    """Support of each number that is one for all cells and is never learnt, a static field of the dataclass."""

    cells_: ClassVar[Cells] = Cells("real")
    """What a cell is, whether rows may be scipy.sparse, and what the likelihood is a density of."""

    separable: ClassVar[bool] = False
    """Whether features are independent given the class, each with parameters and an evidence of its own."""

    marks_strangers: ClassVar[bool] = False
    """Whether `log_loo` gives NaN to a row that more than all of a hyperparameter would leave with: `sums.marking`."""

    couples_classes: ClassVar[bool] = False
    """Whether log p(x | θ_c) of two classes depend on each other, through a parameter that both share: see
    `log_covariance`."""

    several_modes: ClassVar[bool] = False
    """Whether the density may have several peaks; `mode` is the highest, an optimiser may end on another."""

    names_: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"theta": "probability", "mu": "mean", "covariance": "variance"}
    )
    """What plots call a parameter, by NumPyro site; by default the name of the site."""

    distribution_: ClassVar[tuple[str, Mapping[str, str]] | None] = None
    """The distribution of NumPyro that a prior of this family is: its name, and the argument that each field is. None
    where NumPyro has none."""

    def fields_from(self, prior: Any, place: Callable[[Any], Any] = np.asarray) -> dict[str, Any]:
        """The fields that a distribution of NumPyro states; ValueError where it is no prior of this family.

        Parameters
        ----------
        place : gives every argument the axes of the fields
        """
        kind, names = type(self).__name__, ", ".join(self.fields_)
        if self.distribution_ is None:
            *others, last = (name.removeprefix("log_").removeprefix("logit_") for name in self.parameters)
            joint = f"{', '.join(others)} and {last} together" if others else last
            raise ValueError(
                f"is {describe(prior)}; {kind} is a density of {joint}, which no distribution of NumPyro is. "
                "Independent ones, such as a Normal and an InverseGamma, are not conjugate: the spread of the mean has "
                f"to be in proportion to the variance. Give a mapping of the fields {{{names}}}"
            )
        name, arguments = self.distribution_
        if not is_a(prior, name):
            raise ValueError(f"is {describe(prior)}; the conjugate prior here is {name}, the fields {{{names}}}")
        return {field: place(argument(prior, key)) for field, key in arguments.items()}

    @property
    def gaps(self) -> bool:
        """Whether a cell may be missing, NaN, and is then left out."""
        return self.missing_value is not None and self.missing_value != self.missing_value

    @property
    def is_composite(self) -> bool:
        """Whether the likelihood is a product of densities of the same row, and so no density of it."""
        return self.cells_.measure == COMPOSITE

    @property
    def inner(self) -> "AbstractConjugate":
        """The block that has the fields: itself, unless it stands for another one, as `OneClass` does."""
        return self

    @property
    def only_class(self) -> int | None:
        """The class that the block is about, where it is only one."""
        return None

    @property
    def hyperparameters(self) -> dict[str, tuple[str, ...]]:
        """Names under which `fit_prior` searches for hyperparameters, and the fields of each; none where it cannot."""
        if not all(field.is_number for field in self.fields_.values()):
            return {}
        found: dict[str, tuple[str, ...]] = {}
        for name, field in self.fields_.items():
            if field.fitted:
                public = field.public or name
                found[public] = (*found.get(public, ()), name)
        return found

    def sites(self) -> dict[str, Site]:
        """Support and axes of the parameters by NumPyro site, read from `model`."""
        import numpyro

        with numpyro.handlers.trace() as trace, numpyro.handlers.seed(rng_seed=0), numpyro.handlers.block(hide=["x"]):
            as_jax(self).model(np.zeros((1, self.shape[1])), np.zeros(1, int))
        found = {}
        for name, site in trace.items():
            if site["type"] == "sample":
                plates = sorted(site["cond_indep_stack"], key=lambda frame: frame.dim)
                event = ("event",) * len(site["fn"].event_shape)
                found[name] = Site(site["fn"].support, (*(frame.name for frame in plates), *event))
        return found

    @property
    def no_evidence(self) -> str | None:
        """Why `log_marginal` is not to be read as an evidence, where it is not: here, under an improper prior."""
        return improper(self)

    @property
    def is_improper(self) -> bool:
        """Whether a field is at an improper limit of its support, as κ = 0."""
        return improper(self) is not None

    def rounding_of(self, field: str) -> Any:
        """What rounding alone may make of a field that is 0 in exact arithmetic."""
        return 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of features: the first two axes of the first field."""
        c, d = next(leaves(self)).shape[:2]
        return c, d

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block of some of its columns: the marginal model of those features, prior or posterior.

        By default the fields of these columns, which is right where features are independent given the class.
        """
        chosen = {}
        for name, field in self.fields_.items():
            value = getattr(self, name)
            if "feature" in field.axes and value is not None:
                chosen[name] = value[(*(slice(None),) * field.axes.index("feature"), columns)]
        return replace(self, **chosen)  # type: ignore[type-var]

    @abc.abstractmethod
    def log_normalizer(self) -> Float[Array, " *pieces"]:
        """Logarithm of the normaliser of the current density, one value an independent piece of the block."""

    @abc.abstractmethod
    def log_marginal(self, stats: Any) -> Float[Array, " *pieces"]:
        """Log evidence log p(x | y) of the data behind the statistics, one value an independent piece, in nats.

        Equal to update(stats).log_normalizer() − log_normalizer() + stats.log_h. Each family writes the difference with
        rising factorials instead, because at a concentration of 1e10 the subtraction costs ten digits.
        """

    @abc.abstractmethod
    def log_prob(self, theta: Theta) -> Float[Array, " *pieces"]:
        """Log density of the parameters, with respect to dθ in the basis of the NumPyro sites."""

    @abc.abstractmethod
    def log_loo(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """log p(x_i | y = c, data without row i): `log_predictive` of a posterior that knows the rows, each left out.

        Parameters
        ----------
        x, r : rows among those that this posterior was updated with, and their weights then
        """

    def log_loo_score(self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse) -> Float[Array, "n c"]:
        """`log_loo` up to a term of the row that is the same in all classes."""
        return self.log_loo(x, r)

    def exact_sums(
        self, x: Real[Array, "n d"] | Sparse, r: Float[Array, "n c"] | Sparse, stats: Any
    ) -> dict[str, ExactSum]:
        """Exact sums behind the statistics `stats` of rows x, by name, so that they can be subtracted without a loss.

        Sums that are not given are added and subtracted as floats, with a bound on their rounding.
        """
        return {}

    @abc.abstractmethod
    def log_likelihood(self, theta: Theta, x: Real[Array, "n d"] | Sparse) -> Float[Array, "*s n c"]:
        """log p(x_i | θ_c) in nats; leading axes of θ are draws and lead the result."""

    def log_score(self, x: Real[Array, "n d"] | Sparse, theta: Theta | None = None) -> Float[Array, "*s n c"]:
        """`log_predictive`, or `log_likelihood` at given θ, up to a term of the row that is the same in all classes.

        Classes are told apart by it as by the density, without the factorials of counts, where there are some.
        """
        return self.log_predictive(x) if theta is None else self.log_likelihood(theta, x)

    def log_moments(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
        """Mean and variance over θ of log p(x_i | θ_c), in nats and nats²; by default those of 1,000 fixed draws."""
        table = self.log_likelihood(self.sample(np.random.default_rng(0), (1000,)), x)
        return table.mean(0), table.var(0)

    def log_third_cumulant(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c"] | None:
        """Third cumulant over θ of log p(x_i | θ_c), in nats³; None where it is not known, and draws are used."""
        return None

    def log_cumulants(self, x: Real[Array, "n d"] | Sparse) -> tuple[Float[Array, "n c"], ...]:
        """Mean, variance and third cumulant of log p(x_i | θ_c), up to a constant of the row that all classes share."""
        mean, variance = self.log_moments(x)
        third = self.log_third_cumulant(x)
        return mean, variance, 0 * mean if third is None else third

    def log_covariance(self, x: Real[Array, "n d"] | Sparse) -> Float[Array, "n c c"]:
        """Covariance over θ of log p(x_i | θ_c) from class to class: diagonal unless classes share a parameter."""
        variance = self.log_moments(x)[1]
        return variance[..., None] * np.eye(variance.shape[-1], dtype=variance.dtype)

    def shared_quadratic(self, x: Real[Array, "n d"] | Sparse) -> Any:
        """log p(x_i | θ_c) as quadratic forms, independent given a variance that classes share: `core.quadratics`.

        None where classes share no variance.
        """
        return None

    def degrees_of_freedom(self) -> float:
        """Pseudo-rows behind the parameters that classes share; infinity where they share none."""
        return float("inf")

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "dk c"], Float[Array, " c"]] | None:
        """Weights and intercept of log p(x | θ) = x·w + b, up to what all classes share; None where it is not linear.

        The rows of the weights are the features, or their levels, feature by feature.
        """
        return None

    # --- what each feature adds -------------------------------------------------------------------------------------

    def take(self, theta: Theta, columns: Int[np.ndarray, " k"]) -> Theta:
        """Parameters of some of the features, as those of `select(columns)`; draws stay in front."""
        known, found = type(self), {}
        if known not in _AXES:  # the model is run once a family
            _AXES[known] = {name: site.axes for name, site in self.sites().items()}
        for name, value in theta.items():
            axes = _AXES[known][name.removeprefix("log_").removeprefix("logit_")]
            for axis in range(-len(axes), 0):
                if axes[axis] == ("feature" if "feature" in axes else "event"):
                    value = np.take(value, columns, axis)
            found[name] = value
        return found

    def log_alone(
        self, x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Any:
        """log p(x_ij | y = c, data), or log p(x_ij | θ_c), of some of the features, each alone: (…, n, k, c)."""
        tables = []
        for j in columns:
            own = np.array([j])
            cells = x[:, own].toarray() if sparse.issparse(x) else x[:, own]
            one = self.select(own)
            tables.append(one.log_predictive(cells) if not theta else one.log_likelihood(self.take(theta, own), cells))
        return np.stack(tables, -2)

    def log_prefixes(
        self, x: Real[Array, "n d"], order: Int[np.ndarray, " d"], theta: Theta | None = None
    ) -> Float[Array, "*s n d c"]:
        """log p of the first k features in an order, k = 1 … d, each of the block of these features alone."""
        tables = []
        for k in range(1, len(order) + 1):
            some = order[:k]
            one, part = self.select(some), theta and self.take(theta, some)
            tables.append(one.log_likelihood(part, x[:, some]) if part else one.log_predictive(x[:, some]))
        return np.stack(tables, -2)

    def log_contributions(
        self, x: Real[Array, "n d"] | Sparse, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Any:
        """What some features add to log p(x_i | y = c), parameters integrated out or θ given, (…, n, k, c).

        All features add up to `log_predictive`, or `log_likelihood`, up to a term that all classes share. Independent
        features have `log_alone`; others the Shapley value of log p(x_S | y = c) over the sets S of features.
        """
        if self.separable:
            return self.log_alone(x, columns, theta)
        if self.gaps:
            given = (lambda rows: self.log_likelihood(theta, rows)) if theta else self.log_predictive
            return shapley_of_cells(given, np.asarray(x))[..., columns, :]
        drawn = theta and any(np.ndim(theta[name]) > np.ndim(value) for name, value in self.mean().items())
        pairs = PAIRS if drawn else MANY_PAIRS
        return shapley(lambda order: self.log_prefixes(x, order, theta), x.shape[1], pairs)[..., columns, :]

    def merged(self, columns: Int[np.ndarray, " k"]) -> "AbstractConjugate | None":
        """The block of these columns and of one more that stands for all others, where that is a block of the family.

        Its posterior is that of this block. It is asked for rows that have nothing in the other columns.
        """
        return None

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Independent draws of θ, `shape` in front; NumPy's generator for bulk, a JAX key under `jit`."""

    @abc.abstractmethod
    def mean(self) -> Theta:
        """Mean of θ, in the basis of the NumPyro sites."""

    @abc.abstractmethod
    def mode(self) -> Theta:
        """Joint mode of θ, in the basis of the NumPyro sites; on the boundary where the density rises towards it."""

    @abc.abstractmethod
    def mle(self, stats: Any) -> Theta:
        """θ that maximises the likelihood of the data behind the statistics; the prior's mean where there are none."""

    def on_boundary(self) -> bool:
        """Whether the joint mode lies on the boundary of the parameter space; never, unless overridden."""
        return False

    @abc.abstractmethod
    def marginals(self) -> dict[str, Any]:
        """Marginal distribution of every scalar parameter, as frozen `scipy.stats` objects by NumPyro site."""

    @abc.abstractmethod
    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """One new row for each label in y (n,), from the posterior predictive."""

    @abc.abstractmethod
    def model(self, x: Real[Array, "*c n d"] | None, y: Any) -> None:
        """The same prior and likelihood as NumPyro statements; the caller draws or gives the labels y.

        Parameters
        ----------
        x : rows; None draws them
        y : (n,) class index; (c, 1, 1) while NumPyro sums latent labels out: a row is one event, so that all broadcasts
        """
