"""One base of the families whose features are independent given the class: a family is its gain.

A family says what it is (fields, prior, likelihood) and one number. Let A(λ) be the normaliser of its prior density and
s the statistics of some rows. The gain log A(λ + s) − log A(λ) is by how much s raises its logarithm. With it, for a
cell x with statistic T(x) and base measure h(x), and for any real weight w,

    power(w) = gain(w T(x)) + w log h(x) = log E p(x | θ)^w,

and everything else is read from these two:

    evidence              gain(s) + Σ w log h
    predictive            power(1)
    leave-one-out         power(1 − w) − power(−w)     w the weight of the row in the class: power(1) of what it leaves
    cumulants             Taylor coefficients of t ↦ power(t) at t = 0, times 1, 2 and 6
    maximum likelihood    the mode under the flat prior
    a missing cell        a cell of weight 0

Diaconis & Ylvisaker (1979), Conjugate priors for exponential families, Annals of Statistics 7, 269–281.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from ..numerics.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Value, Weights, is_sparse
from ..numerics.densities import PRIORS, drawn_cells
from ..numerics.random import Key, split
from ..numerics.special import Jet, namespace
from ..numerics.supports import AMOUNT, COUNT, Field
from ..sums.rows import (
    by_class,
    contract,
    floor_at_rounding,
    has_large_terms,
    is_missing_free,
    map_cells,
    nested_work,
    row_totals,
    sum_over_cells_of,
    sum_over_own,
)
from ..sums.statistics import Moments, Stats, Totals, class_totals
from ..sums.tables import look_up, n_levels
from .base import AbstractConjugate, as_jax, n_rows, observed, to_sites

_FACTORS = {1: 1.0, 2: 2.0, 3: 6.0}  # of a Taylor coefficient, to make it a cumulant


class CellStatistics(NamedTuple):
    """Statistics of some cells, with the names of the fields of `Totals` and of `Moments`.

    Fields
    ------
    n : weight
    total : Σ w t(x)
    mean, ss : mean and centred squares of t(x)
    """

    n: Any
    total: Any = 0.0
    mean: Any = 0.0
    ss: Any = 0.0


class _LevelTable(NamedTuple):
    """Functions of a cell at each of a few levels.

    Fields
    ------
    values : (k, c, d, levels) of each function, class, feature and level
    """

    values: Float[np.ndarray, "k c d levels"]

    def sum_over_cells(self, x: Array | Sparse) -> Float[np.ndarray, "k n c"]:
        """Σ_j values_cj at the level of cell x_ij, of each function."""
        return look_up(x, self.values)


class _LinearTable(NamedTuple):
    """Functions of a yes/no cell, which are linear in it: level + slope x.

    Fields
    ------
    slope, level : (k, c, d) of each function, class and feature
    total : (k, c) Σ_j level_cj
    """

    slope: Float[np.ndarray, "k c d"]
    level: Float[np.ndarray, "k c d"]
    total: Float[np.ndarray, "k c"]

    @classmethod
    def of(cls, values: Float[np.ndarray, "k c d 2"]) -> Self:
        """From the values at the levels 0 and 1."""
        level = values[..., 0]
        return cls(np.asfortranarray(values[..., 1] - level), level, level.sum(-1))

    def sum_over_cells(self, x: Array | Sparse) -> Float[np.ndarray, "k n c"]:
        """Σ_j level_cj + slope_cj x_ij, of each function."""
        return contract(x, self.slope, self.level, self.total)


class _Names:
    """The names of NumPyro's distributions, without NumPyro: `Gamma(a, b)` is ("Gamma", a, b)."""

    def __getattr__(self, kind: str) -> Callable[..., tuple[Any, ...]]:
        return lambda *arguments: (kind, *arguments)


class _Unchecked:
    """NumPyro's distributions, which do not check cells: those of rows are checked where they enter."""

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        import numpyro.distributions as dist

        return partial(getattr(dist, kind), validate_args=False)


class FromPrior:
    """A density that `prior` states in NumPyro's terms; draws, moments, modes and the density itself are read from it.

    A parameter with `log_` or `logit_` in front is held in that basis, so that no draw underflows.
    """

    fields_: ClassVar[Mapping[str, Field]]
    parameters: ClassVar[tuple[str, ...]]

    def prior(self, sample: Any, dist: Any) -> Any:
        """The prior in NumPyro's terms: `sample("rate", dist.Gamma(self.a, self.b))`, a line for each parameter."""
        raise NotImplementedError

    def _arrays(self) -> tuple[Any, ...]:
        """The values of the fields, in the order of `fields_`."""
        return tuple(getattr(self, name) for name in self.fields_)

    def of(self, *fields: Any) -> Self:
        """The family with other fields."""
        return replace(self, **dict(zip(self.fields_, fields, strict=True)))  # type: ignore[type-var]

    def _of_prior(self, value: Callable[..., Any], theta: Theta | None = None) -> dict[str, Any]:
        """Apply a function, such as the mean, to the prior of each parameter: the results by the parameter's name.

        With the prior rate ~ Gamma(a, b) the result is {"log_rate": value("log_rate", "Gamma", a, b)}: a Gamma
        parameter is held as its logarithm.

        A family writes this prior as NumPyro would, in the method `prior(sample, dist)`, as
        `sample("rate", dist.Gamma(self.a, self.b))`. Here the method is run only in order to read it. In the place of
        NumPyro's `dist` and `sample` it gets two stand-ins: `dist.Gamma(a, b)` is the tuple ("Gamma", a, b), and
        `sample("rate", tuple)` draws nothing, but calls `value` and stores the result.

        Parameters
        ----------
        value : (name of the parameter with the prefix of its basis, "log_" or "logit_" or none; kind of distribution;
            *its arguments) → anything, such as the mean
        theta : values of the parameters, for priors of others that depend on them; by default what `value` gave
        """
        values: dict[str, Any] = {}

        def sample(name: str, stated: tuple[Any, ...]) -> Any:
            kind, *arguments = stated  # such as "Gamma" and [a, b]
            if kind not in PRIORS:
                raise ValueError(f"`prior` of {type(self).__name__} says {kind}; write it with {', '.join(PRIORS)}")
            site = PRIORS[kind].basis + name  # the basis is "log_", "logit_" or "": "log_" + "rate"
            values[site] = value(site, kind, *arguments)
            return (theta or values)[site]  # what `prior` goes on with, where the next parameter depends on this one

        self.prior(sample, _Names())  # calls `sample` above once for each parameter, which fills `values`
        return values

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Theta:
        """Independent draws of θ, as logarithms or logits so that none underflows, with `shape` in front."""
        keys = iter(split(key, len(self.parameters)))  # one for each parameter, in the order of `prior`

        # `_of_prior` calls the function with name, kind and arguments of each prior: ("log_rate", "Gamma", a, b);
        # PRIORS["Gamma"] has the draw, mean, mode, … of that distribution
        return self._of_prior(lambda _, kind, *args: PRIORS[kind].draw(next(keys), shape, *args))

    def mean(self) -> Theta:
        """Mean of θ, in the basis of the closed form."""
        return self._of_prior(lambda _, kind, *args: PRIORS[kind].mean(*args))

    @property
    def flat_(self) -> Mapping[str, float]:
        """The value of each field at which the density is flat, by name: a = 1 and b = 0 of Gamma(a, b).

        Fields are the numbers that describe the density. The families that have this have a single parameter.
        """
        # `_of_prior` gives a mapping of each parameter to a tuple, such as {"log_rate": (1, 0)}
        flat = self._of_prior(lambda _, kind, *args: PRIORS[kind].flat)
        (values,) = flat.values()  # of the single parameter, one for each field
        return dict(zip(self.fields_, values, strict=True))

    def mode_of_shifted_fields(self, mean: Theta, *above: Any) -> Theta:
        """The mode, from how far each field is above its value in the flat density.

        Gamma(a, b) has the density θ^(a−1) exp(−bθ), which is flat at a = 1 and b = 0. With a and b above these by
        (a − 1, b) its mode is (a − 1)/b, and that is what `PRIORS["Gamma"].peak(mean, a − 1, b)` gives.

        Parameters
        ----------
        mean : values of the parameters that are returned where no mode is inside the parameter space
        above : each field less its value in the flat density, in the order of `fields_`
        """
        # a copy of the family whose fields are the differences: its `prior` then states Gamma(a − 1, b), so that `peak`
        # gets the differences as arguments
        return self.of(*above)._of_prior(lambda site, kind, *args: PRIORS[kind].peak(mean[site], *args))

    def mode(self) -> Theta:
        """Joint mode of θ; on the boundary if the density increases towards it, the mean if it does on all sides."""
        flat = self.flat_  # the fields at which the density is flat: {"a": 1, "b": 0} of Gamma(a, b)
        shifted = [getattr(self, name) - flat.get(name, 0.0) for name in self.fields_]  # a − 1 and b

        # the mean of a `FromPrior` itself, also where a subclass has another method `mean`
        return self.mode_of_shifted_fields(FromPrior.mean(self), *shifted)

    def on_boundary(self) -> bool:
        """Whether the joint mode lies on the boundary of the parameter space: a field is at most its flat one.

        Fields whose flat value is 0 or less, such as a rate, are positive and so above it.
        """
        for name, flat in self.flat_.items():
            if flat > 0 and bool((getattr(self, name) <= flat).any()):
                return True
        return False

    def log_prob(self, theta: Theta) -> Float[Value, "..."]:
        """Log density of the parameters with respect to dθ, in the basis of the NumPyro sites.

        It is the sum of the log densities of the parameters that `prior` states, each given those before it: the chain
        rule p(θ₁, θ₂) = p(θ₁) p(θ₂ | θ₁).
        """
        # one log density for each parameter, by name; `theta` supplies the values that later priors depend on, such as
        # the variance in a normal prior of the mean
        log_prob = self._of_prior(lambda site, kind, *args: PRIORS[kind].log_prob(theta[site], *args), theta)
        return sum(log_prob.values())

    def log_normalizer(self) -> Float[Value, "..."]:
        """Logarithm of the normaliser of the current density."""
        (log_normalizer,) = self._of_prior(lambda _, kind, *args: PRIORS[kind].log_normalizer(*args)).values()
        return log_normalizer

    @property
    def distribution_(self) -> Any:
        """The prior as a distribution of NumPyro: its name, and which of its arguments each field of the family is.

        For a family with the prior Gamma(a, b) it is ("Gamma", {"a": "concentration", "b": "rate"}). None if the prior
        is a joint density of several parameters, which is no single distribution.
        """
        if len(self.parameters) != 1:
            return None
        (kind,) = self._of_prior(lambda _, kind, *args: kind).values()  # of the single parameter
        return kind, dict(zip(self.fields_, PRIORS[kind].arguments, strict=True))

    def marginals(self) -> dict[str, Any]:
        """Marginal distribution of each parameter, as frozen `scipy.stats` objects by NumPyro site."""
        marginals = self._of_prior(lambda _, kind, *args: PRIORS[kind].marginal(*args))

        # a parameter that is held as "log_rate" or "logit_theta" has the plain name as its site
        return {site.removeprefix("log_").removeprefix("logit_"): value for site, value in marginals.items()}


class Conjugate(FromPrior, AbstractConjugate[Stats]):  # type: ignore[override]
    """Features that are independent given the class; each has its own parameters in each class.

    A family states its fields, `prior`, `likelihood`, `added`, `gain` and `eta`, and `statistic` and `log_h` where they
    are not x and 0. Fields have the axes (class, feature, …). Constants of all cells are static fields; read them from
    `self`. The functions of a cell take arrays that broadcast against each other: cells, and the fields in their order.
    """

    separable: ClassVar[bool] = True

    monoid: ClassVar[type[Totals] | type[Moments]] = Totals
    """The statistics: `Totals`, sums of t(x) and log h(x), or `Moments`, weight, mean and squares of t(x)."""

    def likelihood(self, dist: Any, *args: Any, **theta: Any) -> Any:
        """The likelihood of a cell in NumPyro's terms: `dist.Poisson(rate)`, parameters by their names in `prior`."""
        raise NotImplementedError

    def added(self, s: Any, *fields: Any) -> tuple[Any, ...]:
        """The fields after statistics s."""
        raise NotImplementedError

    def gain(self, s: Any, *fields: Any) -> Any:
        """log A(λ + s) − log A(λ), also of negative statistics and of those of a cell of weight t, a `Jet`."""
        raise NotImplementedError

    def eta(self, *args: Any, **theta: Any) -> tuple[Any, Any]:
        """Level and slope of log p(x | θ) = level + slope t(x) + log h(x)."""
        raise NotImplementedError

    def statistic(self, x: Any) -> Any:
        """t(x), by default the cell itself; t(0) = 0 if rows may be sparse."""
        return x

    def log_h(self, x: Any) -> Any:
        """log h(x) of a cell, by default 0; it is 0 at x = 0 if rows may be sparse."""
        return 0 * x

    # --- learning -----------------------------------------------------------------------------------------------------

    def suffstats(self, x: Data, r: Weights) -> Stats:
        """The sufficient statistics of rows by class c and feature j, (c, d) each, of p(x | θ) = h(x) exp(η t(x) − A).

        `Totals` are n_cj = Σ_i r_ic, Σ_i r_ic t(x_ij) and Σ_i r_ic log h(x_ij) over the observed cells. `Moments` are
        n_cj, and the weighted mean and centred squares of t(x_ij). A family says in `monoid` which of the two it needs.

        Parameters
        ----------
        x : (n, d) dense or sparse rows; NaN is a missing cell
        r : (n, c) weights of rows in classes
        """
        monoid: Any = self.monoid
        if issubclass(monoid, Moments):  # normal densities, whose squares are summed about the mean to keep digits
            return monoid.of(self._of_cells(x), r)  # `_of_cells` is t(x) of every cell

        # Σ r t(x) and Σ r log h(x): `by_class` is rᵀt(x), (c, d); `_observed` gives 0 for a missing cell
        complete = is_missing_free(x)  # whether no cell is NaN
        total = by_class(r, self._observed(self.statistic, x, complete))
        log_h = by_class(r, self._observed(self.log_h, x, complete)) if self._has_base else 0 * total

        # n, (c, d): without missing cells it is the weight of the class in every feature
        if complete:
            n = np.repeat(class_totals(r)[:, None], x.shape[1], axis=1)
            return monoid(n, total, log_h)

        # with missing cells n differs between features: the weights of the rows whose cell is observed
        xp = namespace(x, r)  # numpy, or jax.numpy for JAX arrays
        is_observed = (~xp.isnan(x)).astype(x.dtype)  # (n, d), 1 or 0
        return monoid(by_class(r, is_observed), total, log_h)

    def _of_cells(self, x: Any) -> Any:
        """t(x) of every cell; a family that does not state t(x) has the cells themselves."""
        states_none = type(self).statistic is Conjugate.statistic
        return x if states_none else map_cells(x, self.statistic)

    @property
    def _has_base(self) -> bool:
        """Whether the family states a base measure: whether log h is not 0 everywhere."""
        return type(self).log_h is not Conjugate.log_h

    def _observed(self, f: Callable[[Any], Any], x: Any, complete: bool = False) -> Any:
        """f of every cell of rows, (n, d), and 0 in a missing cell.

        Parameters
        ----------
        f : cells → numbers, such as t(x) or log h(x)
        x : (n, d) rows; NaN is a missing cell. Sparse rows stay sparse, and have no missing cells; f(0) is 0 for them
        complete : True if it is known that no cell is missing
        """
        if is_sparse(x):
            return map_cells(x, f)
        if complete:
            return f(x)

        # For a missing cell f is asked for 1, a value that every family has, and its answer is dropped: f of NaN could
        # be NaN or an error.
        xp = namespace(x)  # numpy, or jax.numpy for JAX arrays
        is_observed = ~xp.isnan(x)
        return xp.where(is_observed, f(xp.where(is_observed, x, 1)), 0)

    def sums(self, stats: Any) -> Any:
        """Statistics as `gain` reads them."""
        return stats

    def update(self, stats: Stats) -> Self:
        """The posterior: the family whose fields are those of this density and what the data add.

        Fields are the numbers of the density, such as a and b of Gamma(a, b). Each family states in `added` what
        statistics add to them, such as a + Σ x and b + n for Poisson counts.
        """
        return self.of(*self.added(self.sums(stats), *self._arrays()))

    def log_marginal(self, stats: Any) -> Float[Array, "c ..."]:
        """The log evidence of each class and feature, gain(s) + Σ w log h, with the base measure h of the rows.

        gain(s) is by how much the statistics s raise the log normaliser of the density of the parameters.
        """
        return self.gain(self.sums(stats), *self._arrays()) + stats.log_h

    def mle(self, stats: Stats) -> Theta:
        """Maximum likelihood estimates of the parameters: the mode under the flat prior, in their basis.

        A class without data in a feature has the mean of this density. The basis of a parameter is the scale on which
        it is held, such as its logarithm.

        Parameters
        ----------
        stats : sufficient statistics of the rows by class and feature, from `suffstats`
        """
        # The mode of the posterior under the flat prior, from how far its fields are above those of the flat prior.
        # Example: n Poisson cells with the sum s make Gamma(a + s, b + n) of the prior Gamma(a, b). The flat one is
        # Gamma(1, 0), and its posterior Gamma(1 + s, n) is above it by s and n; the mode is s/n, the mean of the cells.
        # These differences are what `added` makes of fields that are all 0.
        sums = self.sums(stats)  # the statistics in the form that `added` reads
        no_prior = [0 * value for value in self._arrays()]  # each field as 0, in its shape
        mean = self.mean()
        with np.errstate(invalid="ignore", divide="ignore"):  # 0/0 of classes without rows, replaced below
            difference = self.added(sums, *no_prior)
            peak = self.mode_of_shifted_fields(mean, *difference)  # by name of the parameter

        # the mean of this density where there are no rows
        xp = namespace(sums.n)  # numpy, or jax.numpy for JAX arrays
        has_rows = sums.n > 0  # (c, d)
        theta = {}
        for site, value in peak.items():
            has_more_axes = value.ndim > sums.n.ndim  # (c, d, levels) against (c, d): probabilities of levels
            theta[site] = xp.where(has_rows[..., None] if has_more_axes else has_rows, value, mean[site])
        return theta

    # --- cells --------------------------------------------------------------------------------------------------------

    def power(self, x: Any, w: Any, *fields: Any) -> Any:
        """log E p(x | θ)^w over the density of θ with these fields: gain(w T(x)) + w log h(x).

        With the likelihood p(x | θ) = h(x) exp(η(θ)·T(x)) and the conjugate density exp(η(θ)·λ) / A(λ) of θ, which has
        the fields λ and the normaliser A, the mean is an integral of the same kind:

            E p(x | θ)^w = h(x)^w ∫ exp(η·(λ + w T(x))) dθ / A(λ) = h(x)^w A(λ + w T(x)) / A(λ)

        The logarithm of the ratio is gain(w T(x)), by how much the statistics w T(x) raise the log normaliser.

        Parameters
        ----------
        x, w, fields : cells, weights and fields of the family, which broadcast; w may be any real number, or a `Jet`
        """
        t = self.statistic(x)  # t(x), by default x itself
        power = self.gain(CellStatistics(w, w * t, t), *fields)  # w cells: their weight, total and mean of t(x)
        return power + w * self.log_h(x) if self._has_base else power

    def predictive(self, x: Any, w: Any, *fields: Any) -> Any:
        """The log posterior predictive density of cells, log p(x | data): power(1). The weight w is not used."""
        return self.power(x, 1.0, *fields)

    def log_loo_cell(self, x: Any, w: Any, *fields: Any) -> Any:
        """The log predictive density of a cell, log p(x | data without the cell), which has weight w among the data.

        It is computed as it reads: the cell leaves the posterior, and what remains predicts it, by power(1).

        There is a formula too. With E the mean over the posterior of all data, and power(w) = log E p(x | θ)^w,

            p(x | data without the cell) = E p(x | θ)^(1−w) / E p(x | θ)^(−w),   its logarithm power(1 − w) − power(−w),

        because without the cell the posterior is proportional to p(θ | data) p(x | θ)^−w. For other weights than 1 both
        terms are of the size w log w, and their difference loses digits. For w = 1 the first one is power(0) = 0.

        Parameters
        ----------
        x, w, fields : cells, their weights, and the fields of the posterior with the cells, which broadcast
        """
        if isinstance(w, float) and w == 1:  # the usual case: the formula
            return -self.power(x, -1.0, *fields)
        return self.power(x, 1.0, *self._fields_without(x, w, *fields))

    def _fields_without(self, x: Any, w: Any, *fields: Any) -> list[Any]:
        """The fields of the posterior after cells have left it: for Poisson cells a − w x and b − w of Gamma(a, b).

        Parameters
        ----------
        x, w, fields : cells, their weights, and the fields with the cells, which broadcast
        """
        # the statistics of −w cells, their weight, total and mean of t(x), are added to the fields
        t = self.statistic(x)
        after = self.added(CellStatistics(-w, -w * t, t), *fields)

        # Fields that must be positive stay above 0, also where the cell carries nearly all of them: `floor_at_rounding`
        # replaces a difference that is only rounding by a number of the size of the rounding of the old field.
        remaining = []
        for declared, old, new in zip(self.fields_.values(), fields, after, strict=True):
            is_positive = declared.support in (COUNT, AMOUNT)
            remaining.append(floor_at_rounding(new, old) if is_positive else new)
        return remaining

    def cells(self, x: Any) -> Any:
        """Dense rows with NaN in every missing cell."""
        return x

    # --- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, f: Callable[..., Any], x: Any, w: Any = 1.0, *, key: Hashable | None = None) -> Any:
        """Sums of a function of a cell over the observed cells of rows, for each class: Σ_j f(x_ij, w_i, *fields_cj).

        Cells of few levels, such as 0 and 1 or small counts, are looked up in a table of f at each level.

        Parameters
        ----------
        f : cells, weights and fields, which broadcast → numbers, such as log densities
        x : (n, d) dense or sparse rows
        w : one weight, or weights (n, c) or (n, 1)
        key : name of f. With a key, the table of f at each level is made once and kept for all slices of rows; None
            keeps nothing

        Returns
        -------
        (n, c)
        """
        # A table of f at the levels 0, 1, … needs a single weight and rows on the host (NumPy, not JAX). `levels` says
        # how many there are, and 0 if a table is not worth while.
        n_levels = self.levels(x) if np.ndim(w) == 0 and self._on_host(x) else 0
        if n_levels:
            (table,) = self._level_table(n_levels, [(f, w)], key).sum_over_cells(x)  # (n, c), of the one function
            return table

        # otherwise f is computed for every cell; `cells` are dense rows with NaN where a cell is missing
        return sum_over_cells_of(f, x if is_sparse(x) else self.cells(x), w, self._arrays())

    def _level_table(
        self, n_levels: int, functions: Sequence[tuple[Callable[..., Any], float]], key: Hashable | None
    ) -> "_LevelTable | _LinearTable":
        """`_tabulate` with a memory: the table of some functions of a cell at its levels is made once, and kept.

        Rows come in slices, and all slices look up their cells in the same table.

        Parameters
        ----------
        n_levels : cells are 0 … n_levels − 1
        functions : pairs (f, w) of a function of a cell, f(x, w, *fields), and the weight w with which it is called
        key : name of the functions, by which the table is found again; None keeps nothing
        """
        if key is None:
            return self._tabulate(n_levels, functions)

        # The tables are kept in a dict of this object, whose fields never change, so that a table stays valid. Other
        # levels or weights make another table.
        weights = tuple(w for _, w in functions)
        full_key = key, n_levels, weights
        if full_key not in self._level_tables:
            self._level_tables[full_key] = self._tabulate(n_levels, functions)
        return self._level_tables[full_key]

    def _tabulate(
        self, n_levels: int, functions: Sequence[tuple[Callable[..., Any], float]]
    ) -> "_LevelTable | _LinearTable":
        """A table of functions of a cell at its levels 0 … n_levels − 1, by which sums over many cells are looked up.

        The table has a method `sum_over_cells(x)`, which gives Σ_j f(x_ij) for each function, row and class.

        Parameters
        ----------
        n_levels : cells are 0 … n_levels − 1
        functions : pairs (f, w) of a function of a cell, f(x, w, *fields), and the weight w with which it is called;
            the fields are the numbers (c, d) of the density of θ, such as a and b of a Gamma density
        """
        # the values of each function at each level, (functions, c, d, levels)
        levels = np.arange(float(n_levels))
        fields = [value[:, :, None] for value in self._arrays()]  # (c, d, 1), against levels (k,)
        with np.errstate(all="ignore"):  # of levels that a class does not have
            values = np.stack([f(levels, w, *fields) for f, w in functions])

        # There are two ways to sum over a row. The general one looks up the value of each cell. A cell that is 0 or 1
        # has a quicker one: f(x) = f(0) + (f(1) − f(0)) x is linear, so that the sum is a matrix product.
        #
        # The product adds f(0) in all columns and subtracts it again where x is 1. Very large values (log p at a tiny
        # pseudo-count) lose digits by that: with f(0) = −1e10 and f(1) = −0.1 a cell 1 has −1e10 + (1e10 − 0.1), which
        # is −0.10000038. Infinite values give NaN. In these cases the values are looked up.
        is_finite = np.isfinite(values.sum())
        is_small = not has_large_terms(values).any()
        if self.cells_.kind == "yes/no" and is_finite and is_small:
            return _LinearTable.of(values)
        return _LevelTable(values)

    def _on_host(self, *arrays: Any) -> bool:
        """Whether cells and fields are NumPy's."""
        return namespace(*arrays, *self._arrays()) is np

    def levels(self, x: Array | Sparse) -> int:
        """How many levels 0, 1 … the cells of rows on the host have, if a table of them is worth while; otherwise 0.

        Only cells that are 0 and 1, or small whole counts, have levels. A table has a number for each level, class and
        feature.
        """
        return n_levels(x, self._arrays()[0].size) if self.cells_.kind in ("yes/no", "counts") else 0

    @cached_property
    def _level_tables(self) -> "dict[Hashable, _LevelTable | _LinearTable]":
        """Tables that are made once, by the key of their functions, the number of levels and the weights."""
        return {}

    def log_predictive(self, x: Data) -> Table:
        """The log posterior predictive density of the observed cells of rows under each class: Σ_j power(1), (n, c)."""
        # `rows` sums a function over the observed cells of each row; values at few levels are kept under the key
        return self.rows(self.predictive, x, key="predictive")

    def log_loo_of_every_class(self, x: Data, w: Any) -> Table:
        """The log predictive density of rows that leave every class, in which they had weight w: (n, c).

        Parameters
        ----------
        w : weights (n, c), or one number
        """
        # Σ_j of the leave-one-out log density of a cell; values at few levels are kept under the key
        return self.rows(self.log_loo_cell, x, w, key="log_loo_cell")

    def log_loo(self, x: Data, r: Weights) -> Table:
        """The log predictive density of each row under each class, (n, c), leaving that row out of the training data.

        A row leaves the classes in which it has a weight w. Write E for the mean over the posterior of a class, and
        power(w) = log E p(x_ij | θ)^w. Without the row the posterior is proportional to p(θ | data) p(x_i | θ)^−w, so

            log p(x_ij | data without i) = log E p(x_ij | θ)^(1−w) / E p(x_ij | θ)^(−w) = power(1 − w) − power(−w),

        which `log_loo_cell` computes; the row has the sum over its features j. In all other classes it is the
        predictive density, Σ_j power(1).

        Parameters
        ----------
        x : (n, d) the rows, which are among the data of this posterior
        r : (n, c) their weights in the classes
        """
        if not self._on_host(x, r):  # JAX: `log_loo_cell` for every class; with weight 0 it is the predictive density
            return self.log_loo_of_every_class(x, r)

        # the m pairs of a row and a class that it leaves, because it has weight there: (m,) each
        row, y, w = _listed_weights(r)

        # If all weights are equal, both densities are functions of the cell alone. Cells with few levels, such as 0 and
        # 1, then need both functions only once for each level, class and feature: a table in which cells are looked up.
        has_one_weight = len(w) > 0 and (w == w[0]).all()
        n_levels = self.levels(x) if has_one_weight and not is_sparse(x) else 0  # 0 if no table is worth while
        if n_levels:
            functions = [(self.predictive, 1.0), (self.log_loo_cell, float(w[0]))]  # with their weights
            level_table = self._level_table(n_levels, functions, key="log_loo")
            table, without_row = level_table.sum_over_cells(x)  # Σ_j of each of the two functions, (n, c)
            table[row, y] = without_row[row, y]  # in the classes that the row leaves
            return table

        table = self.log_predictive(x)  # (n, c), for the classes that a row does not leave
        table[row, y] = self.log_loo_of_label(x, row, y, w)  # (m,), for those that it leaves
        return table

    def log_loo_of_label(self, x: Array | Sparse, at: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The log predictive density of rows under one class each, without the row: Σ_j power(1 − w) − power(−w), (m,).

        power(w) = log E p(x_ij | θ)^w over the posterior. `log_loo_cell` computes the difference for a cell.

        Parameters
        ----------
        x : (n, d) rows on the host
        at, y, w : (m,) positions of the rows in x, a class of each, and the weight that the row has there
        """
        if is_sparse(x):
            return self._log_loo_of_label_sparse(x.tocsr(), at, y, w)
        return sum_over_own(self.log_loo_cell, self.cells(x), at, y, w, self._arrays())

    def _log_loo_of_label_sparse(self, x: Sparse, at: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The log predictive density of sparse rows under one class each, without the row, (m,).

        All rows of one class and weight are done at once. Then the sum over a row of zeros is common to them, and only
        the stored cells of the rows take time.

        Parameters
        ----------
        x : (n, d) rows in the CSR format
        at, y, w : (m,) positions of the rows in x, a class of each, and the weight that the row has there
        """
        log_density = np.empty(len(at))
        groups = _groups_of_equal(y, w)  # positions in `at`, `y` and `w` with the same class and weight

        # one group after the other: inside of this context no threads are started, and compiled loops are chosen by the
        # work of all groups together
        with nested_work(len(groups)):
            for group in groups:
                first = group[0]
                label = y[[first]]  # an array with the one class of the group
                weight = float(w[first])

                # the same family with this class alone: fields (c, d) become (1, d), and the result has one column
                own_class = self.of(*(value[label] for value in self._arrays()))
                log_density_of_group = own_class.log_loo_of_every_class(x[at[group]], weight)  # (rows, 1)
                log_density[group] = log_density_of_group[:, 0]
        return log_density

    def _cumulant(self, order: int, x: Any) -> Any:
        """The cumulant of an order, 1 to 3, of the log density log p(x_i | θ_c) of rows under the posterior, (n, c).

        The cumulants 1, 2 and 3 are the mean, the variance and the third central moment over θ. With L = log p(x | θ),
        power(t) = log E p(x | θ)^t = log E exp(tL) is the cumulant generating function of L: the cumulant is its
        coefficient of t^order, times order!. A `Jet` is a Taylor series in t, with the coefficients `a`. Where `power`
        gets the series t for its weight, it gives the series of power(t).

        Parameters
        ----------
        order : 1, 2 or 3
        x : (n, d) rows; a sum over independent features has the sum of their cumulants
        """

        def cumulant(x: Any, w: Any, *fields: Any) -> Any:
            series = self.power(x, Jet(0.0, 1.0), *fields)  # Jet(0, 1) is 0 + 1·t
            return _FACTORS[order] * series.a[order]  # 1, 2 or 6 times the coefficient

        return self.rows(cumulant, x, key=("cumulant", order))

    def log_likelihood(self, theta: Theta, x: Data) -> Tables:
        """The log likelihood of rows under given parameters, or draws of them: Σ_j level + slope t(x) + log h(x).

        The result is (…, n, c) for parameters (…, c, d). The likelihood of a cell is an exponential family, such as
        log p(x | rate) = −rate + log(rate) x − log x! of Poisson: level, slope and log h, with t(x) = x.

        Parameters
        ----------
        theta : parameters by name, as `sample` gives them; leading axes are draws
        x : (n, d) rows; a missing cell (NaN) adds 0
        """
        level, slope = self.eta(**theta)  # (…, c, d) each
        table = contract(self._of_cells(x), slope, level)  # Σ_j level + slope t(x), (…, n, c)
        if not self._has_base:  # log h(x) is 0
            return table

        # Σ_j log h(x_ij) does not depend on the class: (n, 1)
        return table + row_totals(self._observed(self.log_h, x))[:, None]

    def linear_form(self, theta: Theta) -> tuple[Float[Array, "dk c"], Float[Array, " c"]] | None:
        """Weights and intercept of log p(x | θ) = x·w + b, up to terms that all classes share; None if not linear.

        It is linear where the family states `eta`, level + slope t(x), and t(x) is the cell itself.
        """
        # two reasons for None: the family does not override `eta`, or it does override t(x) = x
        if type(self).eta is Conjugate.eta or type(self).statistic is not Conjugate.statistic:
            return None
        level, slope = self.eta(**theta)  # (c, d) each
        return slope.T, level.sum(-1)

    # --- rows from the model, and the model in NumPyro ----------------------------------------------------------------

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """New rows of classes y, (n, d), from the predictive distribution: each cell has its own draw of θ.

        Parameters
        ----------
        rng : NumPy's generator
        y : (n,) class of each new row
        """
        # the fields (c, d) of the density of θ, taken at the class of each row, (n, d): a family with n "classes"
        rows = self.of(*(value[y] for value in self._arrays()))

        # parameters of each cell, (n, d), by NumPyro's names: {"log_rate": …} becomes {"rate": …}
        theta = to_sites(rows.sample(rng))

        # `_Names` stands for NumPyro's distributions: the likelihood is ("Poisson", rates (n, d)), a name and arguments
        kind, *arguments = rows.likelihood(_Names(), **theta)
        return drawn_cells(rng, kind, *arguments)  # NumPy's draws of the distribution with that name

    def sample_rows(
        self, rng: np.random.Generator, theta: Theta, y: Int[np.ndarray, " n"], **given: Any
    ) -> Float[np.ndarray, "s n d"]:
        """New rows at given parameters: cells of `likelihood` at the parameters of each row's class.

        Parameters
        ----------
        rng : NumPy's generator
        theta : s draws of the parameters by name, (s, c, d)
        y : class of each new row
        """
        rows = self.of(*(value[y] for value in self._arrays()))  # a family whose fields are those of each row, (n, d)
        of_rows = {site: value[:, y] for site, value in to_sites(theta).items()}  # (s, n, d), by NumPyro's names
        kind, *arguments = rows.likelihood(_Names(), **of_rows)  # such as "Poisson" and its rates
        return drawn_cells(rng, kind, *arguments)

    def model(self, x: Real[Array, "*c n d"] | None, y: Array) -> None:
        """The model as NumPyro statements: the stated `prior` of each class and feature, `likelihood` of each cell.

        Parameters
        ----------
        x : rows, NaN where a cell is missing; None draws them
        y : (n,) class of each row; labels that NumPyro enumerates have other axes
        """
        import numpyro

        # `prior` calls `sample` for each parameter, which here also notes its value by name
        theta: dict[str, Any] = {}

        def sample(name: str, stated: Any) -> Any:
            theta[name] = numpyro.sample(name, stated)
            return theta[name]

        # the parameters of each class and feature, (c, d); the plates say that they are independent
        c, d = self.shape
        with numpyro.plate("class", c, dim=-2), numpyro.plate("feature", d, dim=-1):
            self.prior(sample, numpyro.distributions)

        # the distribution of each cell, (n, d), under the parameters of the row's class: fields and parameters (c, d)
        # are indexed by the class y of each row. `_Unchecked` gives NumPyro's distributions without checks of values
        rows = self.of(*(as_jax(value)[y] for value in self._arrays()))
        cell = rows.likelihood(_Unchecked(), **{site: value[y] for site, value in theta.items()})

        # the rows: a missing cell adds no term (`mask`), and the cells of a row are one event of it (`to_event`)
        mask, filled = self.observed(x)  # which cells are there, and x with 1 in the others
        with numpyro.plate("row", n_rows(filled, y), dim=-1):
            numpyro.sample("x", cell.mask(mask).to_event(1), obs=filled)

    def observed(self, x: Any) -> tuple[Any, Any]:
        """Rows for a NumPyro site: which cells are observed, and x with 1 in the others; (True, None) of None."""
        if x is None:  # NumPyro draws the rows, with all cells
            return True, None
        dense = as_jax(x.toarray() if is_sparse(x) else x)
        return observed(self.cells(dense), fill=1.0)


def _listed_weights(r: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weights (n, c) that are not 0 as a list: their rows, classes and values, (m,) each.

    Rows of the classes 1, none and 0 with the weight 5 give the rows 0 2, the classes 1 0 and the values 5 5.
    """
    # In the CSR format `indices` are columns, here classes, and row i has the entries indptr[i] … indptr[i + 1] − 1.
    # In the example indptr is 0 1 1 2, and its differences 1 0 1 say how often the rows 0 1 2 are repeated
    csr = sparse.csr_array(r)
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    return row, csr.indices, csr.data


def _groups_of_equal(y: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """The positions at which a class y (m,) and a weight w (m,) are the same, an array for each such pair.

    The classes 1 0 1 with equal weights give the positions (1,) and (0, 2).
    """
    if not len(y):
        return []

    # sorted by class, then by weight (`lexsort` sorts by its last key first), and cut where one of them changes
    order = np.lexsort((w, y))
    changes = (np.diff(y[order]) != 0) | (np.diff(w[order]) != 0)
    starts = np.flatnonzero(changes) + 1
    return np.split(order, starts)
