"""The block: some columns of X for all classes at once.

A block maps rows (n, d) to a table (n, c) of log p(x_i | y = c, data); labels enter as weights r (n, c), one-hot label
times sample weight. Blocks of one row add up, because the features are independent given the class; that sum is naive
Bayes. Arrays decide where a block computes: NumPy in, NumPy out (float64 on the host, nothing compiled); JAX in, JAX
out (inside `jit`, `vmap`, `grad`).
"""

import abc
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias

import numpy as np

from ..numerics.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Weights, is_sparse
from ..numerics.distributions import argument, describe, is_a
from ..numerics.orders import MANY_PAIRS, PAIRS, shapley, shapley_of_cells
from ..numerics.pytrees import leaves, record
from ..numerics.random import Key
from ..numerics.sites import Site, as_jax, axes_of, from_sites, n_rows, observed, sites_of, to_sites
from ..numerics.supports import COMPOSITE, Cells, Field, Support, declare, improper
from ..sums.statistics import Stats

if TYPE_CHECKING:
    from ..numerics.quadratics import SharedQuadratic

__all__ = "AbstractConjugate", "Site", "as_jax", "from_sites", "n_rows", "observed", "to_sites"


class AbstractConjugate(abc.ABC, Generic[Stats]):
    """A block with a conjugate prior, so that everything below has a closed form; `Stats` is that of its statistics.

    A family is a frozen dataclass that inherits from this class. Its fields are the hyperparameters. Prior and
    posterior have the same type. Other modules only use the class attributes below, and each has a default.
    `bayesnb.testing.check_family` tests these attributes and all formulas.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        record(cls)

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what a prediction has cached is no part of a pickle, of a copy or of joblib's hash."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    parameters: ClassVar[tuple[str, ...]]
    """Names of the parameters θ. `log_` and `logit_` in front of a name say in which basis the closed form holds it;
    without the prefix it is the site of that name in the NumPyro model."""

    missing_value: ClassVar[float | None] = float("nan")
    """Marker of a missing cell: NaN (skipped), 0 (multinomial counts), None (missing cells are not allowed)."""

    fields_: ClassVar[Mapping[str, Field]] = declare()
    """Support and axes of every field of the dataclass, by name: what validation, prior fitting and files read. A
    family without declarations has no field checked."""

    constants_: ClassVar[Mapping[str, Support]] = declare()
    """Support of each number that is one for all cells and is never learnt, a static field of the dataclass."""

    cells_: ClassVar[Cells] = Cells("real")
    """What a cell is, whether rows may be scipy.sparse, and what the likelihood is a density of."""

    separable: ClassVar[bool] = False
    """Whether features are independent given the class, each with parameters and an evidence of its own."""

    shares_parameters: ClassVar[bool] = False
    """Whether log p(x | θ_c) of two classes depend on each other through a shared parameter."""

    names_: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"theta": "probability", "mu": "mean", "covariance": "variance"}
    )
    """What plots call a parameter, by NumPyro site; by default the name of the site."""

    distribution_: ClassVar[tuple[str, Mapping[str, str]] | None] = None
    """The distribution of NumPyro that a prior of this family is: its name, and the argument that each field is. None
    where NumPyro has none."""

    def fields_from(self, prior: Any, place: Callable[[Any], Any] = np.asarray) -> dict[str, Any]:
        """The fields of a NumPyro distribution; ValueError if it is not a prior of this family.

        Parameters
        ----------
        prior : a NumPyro distribution, such as `dist.Beta(2, 8)`
        place : function that gives each argument the axes of the fields

        Returns
        -------
        value of each field by its name
        """
        family = type(self).__name__
        names = ", ".join(self.fields_)
        if self.distribution_ is None:  # a joint density of several parameters, such as mean and variance
            raise ValueError(
                f"is {describe(prior)}; {family} is a joint density, and NumPyro has no such distribution. Independent "
                f"ones are not conjugate; give a mapping of the fields {{{names}}}"
            )
        name, arguments = self.distribution_  # such as "Beta", {"a": "concentration1", "b": "concentration0"}
        if not is_a(prior, name):  # also True for subclasses, and for `expand` and `to_event` of it
            raise ValueError(f"is {describe(prior)}; the conjugate prior here is {name}, the fields {{{names}}}")

        # `argument` reads an argument of the distribution as an array, in the shape that `expand` gave it
        return {field: place(argument(prior, key)) for field, key in arguments.items()}

    @property
    def allows_missing(self) -> bool:
        """Whether a cell may be missing (NaN); it is then left out."""
        return self.missing_value is not None and bool(np.isnan(self.missing_value))

    @property
    def is_composite(self) -> bool:
        """Whether the likelihood is a product of densities of the same row, and so not a density of the row."""
        return self.cells_.measure == COMPOSITE

    @property
    def unwrapped(self) -> "Block":
        """The block that has the fields: itself, except for a wrapper such as `OneClass`."""
        return self

    @property
    def only_class(self) -> int | None:
        """The class of a block of a single class, otherwise None."""
        return None

    @property
    def has_independent_classes(self) -> bool:
        """Whether each class has parameters of its own, in arrays with the classes along their first axis.

        A block of several classes is then several blocks of one class, and `select_classes` gives some of them.
        """
        if self.shares_parameters or self.only_class is not None:
            return False
        for name, declared in self.fields_.items():
            is_array = isinstance(getattr(self, name), np.ndarray)
            if declared.axes[:1] != ("class",) or not is_array:
                return False
        return True

    def select_classes(self, classes: Int[np.ndarray, " k"]) -> Self:
        """The block of some classes, where `has_independent_classes`, as a prior or a posterior.

        Parameters
        ----------
        classes : (k,), positions of the classes
        """
        return replace(self, **{name: getattr(self, name)[classes] for name in self.fields_})

    @property
    def hyperparameters(self) -> dict[str, tuple[str, ...]]:
        """Names of the hyperparameters that `fit_prior` can fit, with the fields of each; empty if there are none.

        `fields_` declares of each field its axes, its public name, and whether it can be fitted. Several fields can
        have one public name: the pseudo-counts `a` and `b` of a beta are both `alpha`.
        """
        if not all(field.is_number for field in self.fields_.values()):  # a matrix, such as a scale of covariances
            return {}
        hyperparameters: dict[str, tuple[str, ...]] = {}
        for name, field in self.fields_.items():
            if field.fitted:
                public_name = field.public or name  # by default the name of the field itself
                hyperparameters[public_name] = (*hyperparameters.get(public_name, ()), name)
        return hyperparameters

    def size_of(self, field: str) -> Array:
        """What a change of a field is compared with, broadcastable to the field: digits are lost if it is a small part.

        A positive amount, such as a pseudo-count, is compared with itself, which is the default. A family overrides
        this for other fields: a mean may be near 0, and is compared with a standard deviation of the cells. The size is
        infinite for entries whose changes do not matter.

        Parameters
        ----------
        field : name of an array among the fields of the dataclass
        """
        return abs(getattr(self, field))

    def sites(self) -> dict[str, Site]:
        """Support and axes of the parameters by NumPyro site, read from `model`."""
        return sites_of(self._model_of_one_row())

    def _model_of_one_row(self) -> Callable[[], None]:
        """The NumPyro model of a row of zeros with label 0, from which sites are read: a model needs some row."""
        block = as_jax(self)
        return lambda: block.model(np.zeros((1, self.shape[1])), np.zeros(1, int))

    @property
    def evidence_error(self) -> str | None:
        """The reason why `log_marginal` is not an evidence, such as an improper prior; None if it is one."""
        reason = improper(self)  # such as "kappa is 0 (class 0, feature 3)"; None for a proper prior
        if reason is None:
            return None
        return (
            f"its prior is improper ({reason}) and has no normaliser, so an evidence would have an arbitrary factor; "
            "give a proper prior"
        )

    @property
    def is_improper(self) -> bool:
        """Whether a field is at an improper limit of its support, such as κ = 0."""
        return improper(self) is not None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and of features: the first two axes of the first field."""
        c, d = next(leaves(self)).shape[:2]
        return c, d

    def select(self, columns: Int[np.ndarray, " k"]) -> Self:
        """The block of some columns: the marginal model of these features, as a prior or a posterior.

        The default selects the fields of these columns, which is right if features are independent given the class.

        Parameters
        ----------
        columns : (k,), positions in the block
        """
        selected = {}  # fields without an axis of features stay as they are
        for name, field in self.fields_.items():
            value = getattr(self, name)
            if "feature" in field.axes and value is not None:
                # value[:, columns] if the axes are (class, feature, …), value[columns] if the features come first:
                # `axes_before` is as many full slices as there are axes before the features
                axes_before = (slice(None),) * field.axes.index("feature")
                selected[name] = value[(*axes_before, columns)]
        return replace(self, **selected)

    @abc.abstractmethod
    def suffstats(self, x: Data, r: Weights) -> Stats:
        """Statistics of rows x under weights r: a commutative monoid with zero, + and −.

        If they have a field `n`, it is a weight of rows, which must not be negative when rows are subtracted.
        """

    @abc.abstractmethod
    def update(self, stats: Stats) -> Self:
        """The posterior given statistics; prior and posterior have the same type, so updates chain."""

    @abc.abstractmethod
    def log_predictive(self, x: Data) -> Table:
        """log p(x_i | y = c, data) of each row in nats, with parameters integrated out."""

    @abc.abstractmethod
    def log_normalizer(self) -> Float[Array, " *pieces"]:
        """Logarithm of the normaliser of the current density, one value for each independent part of the block."""

    @abc.abstractmethod
    def log_marginal(self, stats: Stats) -> Float[Array, " *pieces"]:
        """Log evidence log p(x | y) of the rows behind the statistics in nats, one value for each independent part.

        It equals update(stats).log_normalizer() − log_normalizer() + stats.log_h. Each family writes the difference
        with rising factorials instead, because at a concentration of 1e10 the subtraction loses ten digits.
        """

    @abc.abstractmethod
    def log_prob(self, theta: Theta) -> Float[Array, " *pieces"]:
        """Log density of the parameters with respect to dθ, in the basis of the NumPyro sites."""

    @abc.abstractmethod
    def log_loo(self, x: Data, r: Weights) -> Table:
        """log p(x_i | y = c, data without row i): leave-one-out of rows that this posterior contains.

        Parameters
        ----------
        x, r : rows that this posterior contains, with the weights that they had in `update`
        """

    def log_loo_score(self, x: Data, r: Weights) -> Table:
        """`log_loo`, up to terms that are equal in all classes of a row."""
        return self.log_loo(x, r)

    @abc.abstractmethod
    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """log p(x_i | θ_c) in nats; leading axes of θ are draws, and the result has the same leading axes."""

    def log_score(self, x: Data, theta: Theta | None = None) -> Tables:
        """`log_predictive`, or `log_likelihood` at given θ, up to terms that are equal in all classes of a row.

        It separates classes as the density does, but needs no factorials of counts.
        """
        return self.log_predictive(x) if theta is None else self.log_likelihood(theta, x)

    def log_moments(self, x: Data) -> tuple[Table, Table]:
        """Mean and variance over θ of log p(x_i | θ_c), in nats and nats²; the default uses 1,000 fixed draws."""
        # the first cumulant is the mean, the second the variance, if the family has closed forms
        mean = self._cumulant(1, x)
        if mean is not None:
            return mean, self._cumulant(2, x)

        # otherwise by simulation, with a seed that is always the same
        draws = self.sample(np.random.default_rng(0), (1000,))
        log_p = self.log_likelihood(draws, x)  # (1000, n, c)
        return log_p.mean(0), log_p.var(0)

    def _cumulant(self, order: int, x: Any) -> Any:
        """The cumulant of an order, 1, 2 or 3, over θ of log p(x_i | θ_c), if a family writes it; otherwise None."""
        return None

    def log_cumulants(self, x: Data) -> tuple[Table, Table, Table] | None:
        """Mean, variance and third cumulant over θ of log p(x_i | θ_c); None if they have no closed form."""
        third = self._cumulant(3, x)
        if third is None:
            return None
        mean, variance = self.log_moments(x)
        return mean, variance, third

    def shared_quadratic(self, x: Data) -> "SharedQuadratic | None":
        """log p(x_i | θ_c) as quadratic forms, independent given a variance that classes share; None if none is."""
        return None

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "dk c"], Float[Array, " c"]] | None:
        """Weights and intercept of log p(x | θ) = x·w + b, up to terms that all classes share; None if not linear.

        The rows of the weights are the features, or their levels, feature by feature.
        """
        return None

    # --- what each feature adds -------------------------------------------------------------------------------------

    def select_parameters(self, theta: Theta, columns: Int[np.ndarray, " k"]) -> Theta:
        """Parameters of some features, in the form of `select(columns)`; axes of draws stay in front.

        A parameter has an axis "feature", or, where all features of a class are one random vector (a mean with a full
        covariance), the axis "event". A covariance has two such axes, and columns are taken from both.

        Parameters
        ----------
        theta : parameters by name, such as {"mu": (…, c, d), "variance": (…, c, d)}
        columns : (k,), positions of the features
        """
        selected = {}
        for name, value in theta.items():
            site = name.removeprefix("log_").removeprefix("logit_")  # the name in NumPyro
            axes = self._parameter_axes[site]  # such as ("class", "feature")
            feature_axis = "feature" if "feature" in axes else "event"

            # (…, "class", "feature") is indexed in its last axis; a covariance (…, "event", "event") first in the one
            # and then in the other
            of_columns = value
            for position in range(-len(axes), 0):  # axes are counted from the end, because those of draws are in front
                if axes[position] == feature_axis:
                    of_columns = np.take(of_columns, columns, position)
            selected[name] = of_columns
        return selected

    @cached_property
    def _parameter_axes(self) -> dict[str, tuple[str, ...]]:
        """Axes of the parameters by NumPyro site. They depend on the block: a bandwidth that is given has no site."""
        return axes_of(self._model_of_one_row())

    def _log_of(self, x: Array | Sparse, columns: Int[np.ndarray, " k"], theta: Theta | None) -> Tables:
        """log p of the cells of some features under their marginal model, (…, n, c), with θ integrated out or given.

        Parameters
        ----------
        x : rows (n, d) of all features
        columns : (k,), positions of the features
        theta : parameters of all features; None integrates them out
        """
        marginal = self.select(columns)  # the model of these features alone
        cells = x[:, columns].toarray() if is_sparse(x) else x[:, columns]
        if theta:
            return marginal.log_likelihood(self.select_parameters(theta, columns), cells)
        return marginal.log_predictive(cells)

    def log_prefixes(
        self, x: Real[Array, "n d"], order: Int[np.ndarray, " d"], theta: Theta | None = None
    ) -> Float[Array, "*s n d c"]:
        """log p of the first k features in an order, k = 1 … d, each under the marginal model of these features.

        Parameters
        ----------
        x : rows
        order : a permutation of the features
        theta : parameters; None integrates them out
        """
        # for the order (2, 0, 1): log p of feature 2, of 2 and 0, and of all three, (…, n, c) each
        tables = [self._log_of(x, order[:k], theta) for k in range(1, len(order) + 1)]
        return np.stack(tables, -2)  # (…, n, d, c)

    def log_contributions(
        self, x: Data, columns: Int[np.ndarray, " k"], theta: Theta | None = None
    ) -> Float[Array, "*s n k c"]:
        """Contributions of some features to log p(x_i | y = c), with parameters integrated out or given, (…, n, k, c).

        The sum over all features is `log_predictive`, or `log_likelihood`, up to terms that all classes share. For
        independent features the contribution is log p of the feature alone. For others it is the Shapley value of
        log p(x_S | y = c) over the sets S of features: the mean over orders of the features of what a feature adds to
        log p of those before it.

        Parameters
        ----------
        x : rows (n, d)
        columns : (k,), positions of the features whose contributions are returned
        theta : parameters, with axes of draws in front; None integrates them out
        """
        # independent features: log p of each alone
        if self.separable:
            if len(columns) == 0:  # sparse rows may store no cell at all
                of_first = self._log_of(x, np.array([0]), theta)  # (…, n, c), for its shape
                return np.zeros((*of_first.shape[:-1], 0, of_first.shape[-1]))
            tables = [self._log_of(x, np.array([j]), theta) for j in columns]  # (…, n, c) each
            return np.stack(tables, -2)

        # where cells may be missing, log p(x_S) is that of the row with all other cells missing
        if self.allows_missing:

            def log_p(rows: Array) -> Tables:
                return self.log_likelihood(theta, rows) if theta else self.log_predictive(rows)

            return shapley_of_cells(log_p, np.asarray(x))[..., columns, :]

        # otherwise log p(x_S) is that of a marginal model, and contributions are averaged over random orders of the
        # features. Draws of θ take fewer orders, because each needs a table of its own; they have more axes than the
        # mean of θ
        has_draws = theta and any(np.ndim(theta[name]) > np.ndim(value) for name, value in self.mean().items())
        n_pairs_of_orders = PAIRS if has_draws else MANY_PAIRS
        n_features = x.shape[1]

        # `log_prefixes` is log p of the first 1, 2, … d features of an order; `shapley` takes differences and averages
        values = shapley(lambda order: self.log_prefixes(x, order, theta), n_features, n_pairs_of_orders)
        return values[..., columns, :]

    def lump_other_columns(self, columns: Int[np.ndarray, " k"]) -> "Block | None":
        """The block of these columns and of one column that merges all others; None if the family has no such block.

        Its posterior is that of this block. It is used for rows that have zeros in the other columns.
        """
        return None

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Independent draws of θ, with `shape` in front; by NumPy's generator, or by a JAX key under `jit`."""

    @abc.abstractmethod
    def mean(self) -> Theta:
        """Mean of θ, in the basis of the NumPyro sites."""

    @abc.abstractmethod
    def mode(self) -> Theta:
        """Joint mode of θ, in the basis of the NumPyro sites; on the boundary if the density increases towards it."""

    @abc.abstractmethod
    def mle(self, stats: Stats) -> Theta:
        """Maximum likelihood estimate of θ from statistics; the mean of the prior if there are no rows."""

    def on_boundary(self) -> bool:
        """Whether the joint mode lies on the boundary of the parameter space; False unless overridden."""
        return False

    @abc.abstractmethod
    def marginals(self) -> dict[str, Any]:
        """Marginal distribution of each scalar parameter, as frozen `scipy.stats` objects by NumPyro site."""

    @abc.abstractmethod
    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """New rows from the posterior predictive, one for each label in y (n,)."""

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given parameters: for each draw of θ one row of each label in y, x_si ~ p(x | θ_s, y_i).

        Parameters
        ----------
        theta : draws of the parameters with one leading axis, (s, …)
        given : `length`, the number of events of each row, if the totals of rows are given

        Raises
        ------
        NotImplementedError
            if the block has no density of a row from which rows could be drawn
        """
        raise NotImplementedError(f"{type(self).__name__} cannot draw rows at given parameters")

    @abc.abstractmethod
    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The same prior and likelihood as NumPyro statements; the caller provides the labels y.

        Parameters
        ----------
        x : rows; with None they are drawn
        y : (n,) class index, or (c, 1, 1) while NumPyro sums latent labels out; a row is one event, so all shapes
            broadcast
        """


Block: TypeAlias = AbstractConjugate[Any]  # of whichever family
