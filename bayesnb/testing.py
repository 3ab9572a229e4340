"""Tests for a family of your own: every law that the families of bayesnb obey.

The laws of rows and parameters are those of the check of a fitted model. Here they run on random priors and rows, with
the laws of statistics, weights, and NumPy against JAX. Provisional: a later release may change names and signatures.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads
from scipy import sparse

from .check import draws as draws_laws
from .check.against_numpyro import identity_row, mode_row
from .check.laws import LAWS, Law, Problem, cases, limit_of
from .check.report import CheckRow
from .families import DirichletClasses
from .families.base import AbstractConjugate, Block
from .models.naive_bayes import CLASS, NaiveBayes, Statistics
from .numerics.arrays import Scalar, Sparse
from .numerics.pytrees import CLASSES
from .numerics.supports import Field
from .posterior.chains import jitted as jitted
from .sums.statistics import in_floats, one_hot

__all__ = ["BrokenLaw", "check_family", "simulation_based_calibration"]

C, D, N = 3, 4, 24  # classes, features and rows: few shapes, few compilations
RATE = 1e-6  # of false alarms of the laws that are tests


class BrokenLaw(AssertionError):
    """Raised if a family breaks a law; the message names the law and what was found."""


@dataclass(frozen=True)
class Case(Problem):
    """A prior of one block, "x", rows, labels, what follows from them, and the source of what is random."""

    rng: np.random.Generator

    @property
    def block(self) -> Block:
        """The only block of the prior."""
        return self.prior.blocks["x"]

    @property
    def x(self) -> np.ndarray:
        """Its rows, (n, d)."""
        return self.rows["x"]

    @property
    def r(self) -> Sparse:
        """One-hot labels, (n, c) sparse."""
        return one_hot(self.y, C)

    @property
    def complete(self) -> "Case":
        """The same case without missing cells: the largest cell of the column, or 0, stands for each."""
        largest = np.nan_to_num(np.nanmax(self.x, 0))  # (d,), 0 for a column without cells
        filled = np.where(np.isnan(self.x), largest, self.x)
        return replace(self, rows={"x": filled})

    def stats_of(self, rows: Any) -> Statistics:
        """Statistics of some rows: positions, a slice or a mask."""
        return self.prior.suffstats({"x": self.x[rows]}, self.r[rows])


def check_family(family: Block) -> None:
    """Test every law on a family, as `sklearn.utils.estimator_checks.check_estimator` does for estimators.

    A family is the model of some columns within each class, with its conjugate prior. A law is an identity that every
    correct family fulfils. The tests use 3 classes, 4 features and 24 rows. Random priors have fields (arrays of
    hyperparameters) of the size of the given ones, and random rows follow `cells_`. These are the laws:

    - What the family says of itself is true. Statistics add and subtract, updates chain, and weights count rows.
    - Sparse rows equal dense rows, and missing cells are left out.
    - Bayes' identity holds with the NumPyro model, and NumPyro's density is highest at the mode.
    - Likelihood and predictive are ratios of evidences, and leave-one-out equals a refit without the row.
    - Moments are derivatives of the evidence. Estimates, marginals and draws are those of the densities.
    - NumPy and JAX agree in both precisions, and JAX differentiates the evidence.

    Parameters
    ----------
    family : an instance of a family with any number of classes and features; fields may be numbers

    Raises
    ------
    BrokenLaw
        an AssertionError that names the first broken law, and what was found

    Examples
    --------
    >>> from bayesnb import families
    >>> from bayesnb.testing import check_family
    >>> check_family(families.GammaPoisson(1.0, 1.0))
    """
    for name, law in laws_of(family).items():
        try:
            law(random_case(family))
        except Exception as error:
            # an error of another kind, such as a wrong shape, breaks the law too, and the message names its type
            message = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            # the package differentiates `gain` by numbers of its own, truncated series, which not all functions take
            if "Jet" in message:
                message += "; `gain` takes series too: use `log_rising` and `log1p`"
            raise BrokenLaw(f"{type(family).__name__} breaks the law {name!r}: {message}") from error


def simulation_based_calibration(
    model: Any,
    posterior: Callable[[dict[str, np.ndarray], int, np.random.Generator], dict[str, np.ndarray]] | None = None,
    *,
    observed: Iterable[str] = ("x", "y"),
    rows: int = 10,
    simulations: int = 1000,
    draws: int = 99,
    seed: int = 0,
    false_alarm: float = 0.01,
) -> CheckRow:
    """Test whether a posterior is that of its model, on data that the model draws.

        θ ~ p(θ),   data ~ p(data | θ),   θ_1 … θ_L ~ posterior of the data

    If the posterior is right, then θ, θ_1 … θ_L are exchangeable. So the rank of q(θ) among q(θ_1) … q(θ_L) is uniform
    on 0 … L, for every scalar q. The scalars are all parameters and log p(data | θ). Without the last one a posterior
    that ignores the data would pass. NumPyro draws θ and the data and evaluates the likelihood.

    Parameters
    ----------
    model : what is tested
        - a family, as for `check_family`: random priors of 3 classes and 4 features
        - a fitted estimator, or a `NaiveBayes`: its prior
        - a NumPyro model: a function without arguments that draws parameters and data
    posterior : a function of data (arrays by NumPyro site), a number of draws and a generator; it returns draws
        (draws, …) by site. By default the closed form and, of a NumPyro model, every fifth draw of one NUTS chain
    observed : sites of the data of a NumPyro model; all others are parameters
    rows : number of rows that a naive Bayes model draws
    simulations, draws : number of simulated data sets, and draws L of each posterior
    seed : of all random numbers
    false_alarm : probability that a right posterior fails

    Returns
    -------
    CheckRow
        `passed`; `pit`, the ranks divided by L + 1, by site, with ties and the room between ranks filled at random;
        `plots.pit` draws their distribution function and its band

    Raises
    ------
    ValueError
        if the model cannot draw rows (kernel densities, the complement model)

    Notes
    -----
    The tests are those of Kolmogorov and Smirnov, and of mean and mean square of the normal scores. 1,000 simulations
    find a spread of the posterior that is 10 % off.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari & Gelman (2018), arXiv:1804.06788, theorem 1 and algorithm 1.
    Modrák et al. (2023), Bayesian Analysis, doi:10.1214/23-BA1404, §3: the log likelihood among the quantities.

    Examples
    --------
    >>> from bayesnb import families
    >>> from bayesnb.testing import simulation_based_calibration
    >>> simulation_based_calibration(families.GammaPoisson(1.0, 1.0), simulations=200).passed
    True
    """
    # A NumPyro model, with the names of its observed sites, and the posterior to be tested. A site is an array of
    # random numbers that NumPyro knows by one name, such as "y".
    target = _target(model, posterior, tuple(observed), rows)
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        # 1. The true parameters and the data of each simulation, (simulations, …) by site.
        keys = jax.random.split(jax.random.key(seed), simulations + 1)
        simulated = target.simulate(keys[0], simulations)
        data = {name: simulated[name] for name in target.observed}

        # 2. Draws from the posterior of each data set, (simulations, draws, …) by site.
        if target.posterior is None:
            theta = target.draw_by_nuts(keys[1:], data, draws)
        else:
            theta = _draws_of_each(target.posterior, data, simulations, draws, rng)

        # 3. The true parameters first, then the draws, (simulations, 1 + draws, …) by site; and log p(data | θ) at all.
        values = {}
        for name, drawn in theta.items():
            truth = simulated[name][:, None]  # (simulations, 1, …)
            values[name] = np.concatenate([truth, drawn], 1)
        values["log likelihood"] = target.log_likelihood(values, data)

    # 4. The rank of the truth among the draws, for each of the k scalars of a site, as a number on (0, 1): with 99
    # draws the rank 30 becomes a random number between 0.30 and 0.31.
    pit = {}
    for name, value in values.items():
        scalars = value.reshape(simulations, 1 + draws, -1)  # (simulations, 1 + draws, k)
        pit[name] = _ranks(scalars, rng)  # (simulations, k)
    says = "The parameters that data were drawn from have uniform ranks among the draws of the posterior."
    remark = f"{simulations} simulations, {draws} draws each"
    return draws_laws.uniform_row("Calibration", says, pit, false_alarm, remark, scores=True)  # tests for uniformity


Draws = dict[str, np.ndarray]
DrawPosterior = Callable[[Draws, int, np.random.Generator], Draws]


def _draws_of_each(
    posterior: DrawPosterior, data: Draws, n_simulations: int, n_draws: int, rng: np.random.Generator
) -> Draws:
    """Draws from the posterior of each data set, one data set after the other, (simulations, draws, …) by name.

    Parameters
    ----------
    posterior : function that draws from the posterior of one data set
    data : (simulations, …) data by name
    """
    draws_of_each = []
    for s in range(n_simulations):
        data_set = {name: values[s] for name, values in data.items()}
        draws_of_each.append(posterior(data_set, n_draws, rng))  # (draws, …) by name
    return jax.tree.map(lambda *arrays: np.stack(arrays), *draws_of_each)  # one array for each name


class _Target(NamedTuple):
    """A NumPyro model whose posterior is tested.

    Fields
    ------
    model : a function without arguments
    observed : the sites of the data
    posterior : draws from the posterior of data; None for NUTS
    """

    model: Callable[[], Any]
    observed: tuple[str, ...]
    posterior: DrawPosterior | None

    def simulate(self, key: Any, n: int) -> Draws:
        """Parameters and data of n simulations, (n, …) by site."""
        from numpyro.infer import Predictive

        # without posterior draws `Predictive` draws from the prior, and data at what it drew
        simulate = jitted(Predictive(self.model, num_samples=n, parallel=True))
        return jax.tree.map(np.asarray, simulate(key))

    def draw_by_nuts(self, keys: Any, data: Draws, n_draws: int) -> Any:
        """Every fifth draw of a chain for each data set, (simulations, draws, …) by site.

        Parameters
        ----------
        keys : (simulations,) random keys
        data : (simulations, …) data by site
        n_draws : draws that are returned of each chain
        """
        from numpyro.handlers import condition
        from numpyro.infer import MCMC, NUTS

        # draws five steps apart are nearly independent, as ranks need them: a rank counts independent draws
        settings: Any = {"num_warmup": 300, "num_samples": 5 * n_draws, "thinning": 5, "progress_bar": False}

        def run_chain(key: Any, data_set: Any) -> Any:
            """Draws (draws, …) by site, given one data set."""
            mcmc = MCMC(NUTS(condition(self.model, data_set)), **settings)
            mcmc.run(key)
            return mcmc.get_samples()

        return jax.jit(jax.vmap(run_chain))(keys, data)  # the chains of all data sets side by side

    def log_likelihood(self, theta: Draws, data: Draws) -> np.ndarray:
        """log p(data | θ), (simulations, draws), of parameters (simulations, draws, …) and data (simulations, …)."""
        from numpyro.handlers import condition
        from numpyro.infer import log_likelihood

        def of_data_set(draws: Any, data_set: Any) -> Any:
            """Of one data set, the sum over all its sites and cells, (draws,)."""
            by_site = log_likelihood(condition(self.model, data_set), draws)  # (draws, …), a number for each cell
            return sum(value.reshape(len(value), -1).sum(1) for value in by_site.values())

        return np.asarray(jitted(jax.vmap(of_data_set))(theta, data))


def _target(model: Any, posterior: DrawPosterior | None, observed: tuple[str, ...], n_rows: int) -> _Target:
    """What is tested: a NumPyro model, the names of its data, and a function that draws from its posterior.

    NumPyro knows each array of random numbers of a model, its sites, by a name, such as the labels by "y".

    Parameters
    ----------
    model : a family, of which a random prior is taken; an estimator, of which it is the prior; a `NaiveBayes`; or a
        NumPyro model
    posterior : function that draws from the posterior of data; None for the closed form, or for NUTS
    observed : sites of the data of a NumPyro model
    n_rows : rows that a naive Bayes model draws
    """
    # the prior of a family, of an estimator (`prior_`), or what was given itself
    if isinstance(model, AbstractConjugate):
        prior: Any = random_case(model).prior
    else:
        prior = getattr(model, "prior_", model)

    # a NumPyro model is tested as it is
    if not isinstance(prior, NaiveBayes):
        return _Target(model, observed, posterior)

    # Of a naive Bayes model by its NumPyro model. The data are the labels y, and the rows of each block: a block is the
    # columns of one family, such as Gaussian.
    prior.require_proper("data sets drawn from it")  # an error if the prior has no finite integral
    site_of = {name: prior.site(name, "x") for name in prior.blocks}  # NumPyro's name of the rows of each block

    def closed_form(data: Draws, draws: int, rng: np.random.Generator) -> Draws:
        """Draws from the posterior of the data, (draws, …) by site."""
        x = {name: np.asarray(data[site], float) for name, site in site_of.items()}  # rows (n, k) of each block
        fitted = prior.condition(x, data["y"])
        return prior.to_sites(fitted.sample(rng, (draws,)))

    return _Target(
        model=partial(prior.model, None, n=n_rows, length=n_rows),  # without rows, so that they are drawn
        observed=("y", *site_of.values()),
        posterior=posterior or closed_form,
    )


def _ranks(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rank of the first of 1 + L values among the others, divided by L + 1: uniform on (0, 1) if all are exchangeable.

    Ties are broken at random, and a random number below 1 fills the room between two ranks. If 3 of 9 others are
    smaller and none is equal, the result is uniform on (3/10, 4/10); if two are equal, on (3/10, 6/10).

    Parameters
    ----------
    values : (simulations, 1 + L, k) values of k scalars

    Returns
    -------
    (simulations, k)
    """
    n_simulations, n_values, n_scalars = values.shape  # n_values is 1 + L
    truth = values[:, :1]  # (simulations, 1, k)
    others = values[:, 1:]  # (simulations, L, k)
    n_smaller = (others < truth).sum(1)  # (simulations, k)
    n_equal = (others == truth).sum(1)  # (simulations, k)
    uniform = rng.random((n_simulations, n_scalars))
    return (n_smaller + uniform * (1 + n_equal)) / n_values


def laws_of(family: Block) -> dict[str, Callable[[Case], None]]:
    """The laws that a family has to obey, by name: functions that raise an AssertionError where a case breaks them.

    A case is a random prior of the family with rows and labels. The quick laws come first. Those of sparse rows and
    missing cells are only for families that take these.
    """
    quick = [what_a_family_says_of_itself_is_true, statistics_add_and_subtract, updates_chain, weights_count_rows]
    if family.cells_.sparse:
        quick.append(sparse_rows_equal_dense_rows)
    if family.allows_missing:
        quick.append(a_missing_cell_is_a_cell_left_out)
    quick += [a_row_of_any_weight_is_left_out, mode_on_the_boundary_is_a_point]
    laws: dict[str, Callable[[Case], None]] = {_in_words(law): law for law in quick}  # by the name of the function

    # The comparisons of the check of a fitted model. Each is a function from a case to rows of a table, which have to
    # pass.
    for name, rows_of_case in _row_laws().items():
        laws[name] = partial(_rows_pass, rows=rows_of_case)

    # laws that run JAX, which takes time to compile
    for dtype in ("float64", "float32"):
        laws[f"NumPy and JAX agree in {dtype}"] = partial(numpy_and_jax_agree, dtype=dtype)
    of_jax = [draws_of_jax_follow_their_marginals, jax_maps_and_differentiates_the_evidence]
    return laws | {_in_words(law): law for law in of_jax}


def _row_laws() -> dict[str, Callable[[Case], list[CheckRow]]]:
    """Functions from a case to rows of a check, by name: against NumPyro, of draws, and of the closed forms.

    A row of a check is a comparison with its figure, the threshold for it, and whether it passed.
    """
    rows: dict[str, Callable[[Case], list[CheckRow]]] = {
        "bayes' identity": lambda case: [identity_row(case, case.rng)],
        "mode": lambda case: [mode_row(case, case.rng)],
        "draws": lambda case: draws_laws.drawn_rows(case, case.rng, RATE),
    }
    for law in LAWS:
        name = law.name[3:].lower()  # "5  Likelihood" is the law "likelihood"
        rows[name] = partial(_row_of, law)
    return rows


def _row_of(law: Law, case: Case) -> list[CheckRow]:
    """The row of a law on a case, of its block and of its class probabilities, in a list of one."""
    both = [*cases(case, case.rng)]  # the class probabilities as a case, and the block as another
    return [law.row(both)]


def _in_words(law: Callable[[Case], None]) -> str:
    """The name of a law: that of its function, with blanks."""
    return law.__name__.replace("_", " ")


def _rows_pass(case: Case, rows: Callable[[Case], list[CheckRow]]) -> None:
    """Raise an AssertionError unless all rows of a check, of which `rows` makes a list from the case, pass."""
    for row in rows(case):
        require(row.passed, f"{row.figure:.1e}, where {row.threshold:.1e} is allowed ({row.unit}). {row.remark}")


def random_case(family: Block) -> Case:
    """A random prior of a family, with 24 random rows of 4 columns and labels of 3 classes.

    The arrays of hyperparameters of the family, its fields, have random values near those that they have on average in
    `family`. The rows are of the kind that the family takes, such as counts; every tenth cell is missing, if it allows
    that. The random numbers are the same in each call.

    Parameters
    ----------
    family : an instance of the family, with any numbers of classes and features
    """
    rng = np.random.default_rng(0)
    n_levels = _number_of_levels(family)
    x = _random_cells(family.cells_.kind, n_levels, rng)  # (24, 4)

    # a random value of each field in the shape that its axes declare: (class, feature) is (3, 4)
    length_of_axis = {"class": C, "feature": D, "one": 1, "level": n_levels}
    values = {}
    for name, field in family.fields_.items():
        given = getattr(family, name)
        values[name] = _random(given, field, length_of_axis, rng)
    return make_case(replace(family, **values), x, rng)


def _number_of_levels(family: Block) -> int:
    """How many levels, or categories, the arrays of a family have on their last axis; 2 where none has such an axis."""
    numbers = []
    for name, field in family.fields_.items():
        if field.axes[-1] == "level":
            numbers.append(np.shape(getattr(family, name))[-1])
    return max(numbers, default=2)


def _random_cells(kind: str, levels: int, rng: np.random.Generator) -> np.ndarray:
    """Random cells of a kind that a family declares in `cells_`, 24 rows of 4 columns; levels are 0 … levels − 1."""
    match kind:
        case "real":
            return rng.normal(1, 2, (N, D))
        case "amounts":
            return rng.gamma(0.7, 3, (N, D))
        case "positive":
            return np.exp(rng.normal(0.3, 0.7, (N, D)))
        case "counts":
            return rng.negative_binomial(1, 0.25, (N, D)).astype(float)
        case "yes/no":
            return rng.integers(0, 2, (N, D)).astype(float)
        case _:
            return rng.integers(0, levels, (N, D)).astype(float)


def make_case(block: Block, x: np.ndarray, rng: np.random.Generator, *, missing: bool = True) -> Case:
    """A prior and rows for the laws, with random labels; every tenth cell is missing where the family allows that.

    Parameters
    ----------
    block : the prior of 3 classes, for all d columns
    x : (n, d) rows; missing cells are written into this array
    missing : False keeps all cells
    """
    y = rng.permutation(np.arange(len(x)) % C)  # (n,) classes 0 … 2 of the same size
    if missing and block.allows_missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    prior = NaiveBayes(DirichletClasses(positive(rng, C)), {"x": block})
    return Case(prior=prior, rows={"x": x}, y=y, rng=rng)


def positive(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random hyperparameters between about 0.5 and 6: some sharp, some vague."""
    return rng.gamma(2, 1, shape) + 0.5


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random positive definite matrices with eigenvalues of at least 1; the last two axes of `shape` are equal."""
    root = rng.normal(size=shape)
    return root @ root.swapaxes(-1, -2) + np.eye(shape[-1])


def _random(value: Any, field: Field, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """Random values of a field of a family, of about the size that it has, in the shape that it declares.

    A field is one array of hyperparameters, such as the prior means with the axes (class, feature).

    Parameters
    ----------
    value : what the field holds, a number or an array
    field : its declared support and axes
    sizes : length of each axis, by name

    Raises
    ------
    ValueError
        for a field that is optional and None, or has axes of unknown length, such as stored cells
    """
    if value is None or not set(field.axes) <= sizes.keys():
        raise ValueError(f"a field of axes {field.axes} cannot be drawn; `check_family` knows numbers and matrices")
    shape = tuple(sizes[axis] for axis in field.axes)
    middle = float(np.mean(value))

    # each kind of values has its own random numbers; the last one is that of positive amounts
    if not field.fitted:  # a constant, which is the same everywhere
        return np.full(shape, middle)
    if field.support.kind == "matrix":
        return spread(rng, *shape)
    if field.support.kind == "degrees":  # of freedom of a (d, d) matrix: above d − 1
        return positive(rng, *shape) + sizes["feature"]
    if field.support.kind == "real":
        return middle + rng.normal(0, 1, shape)
    return middle * positive(rng, *shape) / 2.5  # `positive` has the mean 2.5


def require(holds: Any, message: str) -> None:
    """Raise an AssertionError that says what does not hold, also under `python -O`."""
    if not holds:
        raise AssertionError(message)


def assert_same(got: Any, want: Any, what: str = "", *, rtol: Scalar = 1e-12, atol: Scalar = 1e-12) -> None:
    """Raise an AssertionError unless two arrays, or two trees of arrays, are equal up to rounding.

    |got − want| may be atol + rtol |want| at most. The default allows some thousand roundings of numbers of order one.

    Parameters
    ----------
    got, want : arrays, statistics, or trees (dictionaries, tuples, dataclasses) of them
    what : text in front of the message
    rtol, atol : relative and absolute difference allowed

    Raises
    ------
    AssertionError
        if structures differ, or the arrays at one place; the message names the place
    """
    got = _in_floats(got)
    want = _in_floats(want)
    require(jax.tree.structure(got) == jax.tree.structure(want), f"{got} has not the structure of {want}")

    # the arrays of both trees, in the same order; the path of an array says where in the tree it is
    arrays_with_paths = jax.tree_util.tree_leaves_with_path(got)
    wanted_arrays = jax.tree.leaves(want)
    for (path, array), wanted_array in zip(arrays_with_paths, wanted_arrays, strict=True):
        message = f"{what}{jax.tree_util.keystr(path)}"
        np.testing.assert_allclose(array, wanted_array, rtol=rtol, atol=atol, err_msg=message)


def _in_floats(tree: Any) -> Any:
    """Statistics or arrays with whole numbers as floats, and without what is known of their rounding."""
    return tree.in_floats() if isinstance(tree, Statistics) else in_floats(tree)


def cast(tree: Any, xp: ModuleType, dtype: Any) -> Any:
    """A tree with every leaf as an array of another library and precision: `xp` is numpy or jax.numpy."""
    return jax.tree.map(lambda leaf: xp.asarray(leaf, dtype), tree)


def what_a_family_says_of_itself_is_true(case: Case) -> None:
    """JAX and files know the class; every field is declared; columns add up; parameters are NumPyro sites.

    Raises an AssertionError where what the class declares of itself is not so: the names and axes of its arrays
    (`fields_`), the cells that it takes (`cells_`), its parameters, and whether its columns are independent given the
    class (`separable`).
    """
    block = case.block
    kind = type(block)

    # it is a frozen dataclass, which JAX knows as a tree of arrays; what JAX does not know is a single leaf
    is_dataclass = "__dataclass_fields__" in vars(kind)
    require(is_dataclass, f"{kind.__name__} is no dataclass: write `@dataclass(frozen=True)`")
    is_tree = not jax.tree_util.all_leaves([block])
    require(is_tree, f"JAX takes {kind.__name__} for a single number: write `@pytree` above `@dataclass(frozen=True)`")

    # it declares all of its arrays, and a file can name it
    arrays = {field.name for field in fields(block) if not field.metadata.get("static")}  # their names
    require({*block.fields_} == arrays, f"`fields_` declares {sorted(block.fields_)}, the fields are {sorted(arrays)}")
    require(kind in CLASSES.values(), "no file can name the class: define it at the top level of a module")

    # what it declares of parameters, cells and columns is what its methods do
    posterior = case.posterior.blocks["x"]
    _require_parameters_as_declared(posterior)
    is_wrong = block.cells_.wrong(case.x, None)  # (n, d) which cells it would refuse
    require(not is_wrong.any(), "`cells_` refuses cells that the family is tried on")
    if posterior.separable:  # its columns are independent given the class
        _require_columns_that_add_up(posterior, case)


def _require_parameters_as_declared(block: Block) -> None:
    """Raise an AssertionError unless parameters have the same names wherever the family speaks of them.

    These are the declaration `parameters`, estimates such as `mean`, the sites (named arrays) of its NumPyro model, and
    its marginal distributions. A block may hold a parameter on another scale than NumPyro: log_theta is the site theta.
    """
    names = sorted(block.mean())
    require(sorted(block.parameters) == names, f"`parameters` has {sorted(block.parameters)}, `mean` {names}")
    sites = {key.removeprefix("log_").removeprefix("logit_") for key in block.parameters}
    require(block.sites().keys() == sites, f"`model` has {sorted(block.sites())}, `parameters` {sorted(sites)}")
    marginals = block.marginals()
    require(marginals.keys() == sites, f"`marginals` has {sorted(marginals)}, `parameters` {sorted(sites)}")


def _require_columns_that_add_up(block: Block, case: Case) -> None:
    """Raise an AssertionError unless log predictive and log evidence are sums over the columns.

    It is for models whose columns are independent given the class, so that densities are products over columns.

    Parameters
    ----------
    block : a posterior
    case : rows and their weights
    """
    predictive: Any = 0.0  # then (n, c)
    evidence: Any = 0.0
    for j in range(case.x.shape[1]):
        model_of_column = block.select(np.array([j]))
        x = case.x[:, [j]]  # (n, 1)
        predictive = predictive + model_of_column.log_predictive(x)
        evidence = evidence + model_of_column.log_marginal(model_of_column.suffstats(x, case.r)).sum()
    assert_same(predictive, block.log_predictive(case.x), rtol=1e-10)
    assert_same(evidence, block.log_marginal(block.suffstats(case.x, case.r)).sum(), rtol=1e-11)


def statistics_add_and_subtract(case: Case) -> None:
    """Any split, merged in any order, gives the statistics of all rows; a part subtracted leaves the others."""
    for _ in range(20):
        # four parts of the 24 rows, cut at random, of which some may be empty: the cuts 3 3 10 give 3, 0, 7 and 14 rows
        order = case.rng.permutation(len(case.x))
        cuts = np.sort(case.rng.integers(0, len(case.x), 3))
        parts = np.split(order, cuts)  # positions of the rows of each part
        a, b, c, d = (case.stats_of(part) for part in parts)  # statistics, which are sums over the rows

        # sums in two orders, nothing added, and one part subtracted
        assert_same((a + b) + (c + d), case.stats)
        assert_same(d + (c + (b + a)), case.stats)
        assert_same(a + a.zero(), a, rtol=0.0, atol=0.0)
        assert_same(case.stats - d, a + b + c)


def updates_chain(case: Case) -> None:
    """An update with a and then with b is one with a + b, and p(a, b) = p(a) p(b | a), the chain rule.

    a and b are statistics of two parts of the rows. p(a) is the evidence of the first part under the prior, and
    p(b | a) that of the second under the posterior after the first.
    """
    # statistics of the first nine rows and of all others
    a = case.stats_of(slice(0, 9))
    b = case.stats_of(slice(9, None))
    after_a = case.prior.update(a)
    assert_same(after_a.update(b), case.posterior, "`update` in two steps and in one: ")
    log_p = case.prior.log_marginal(a) + after_a.log_marginal(b)  # log p(a) + log p(b | a)
    assert_same(log_p, case.prior.log_marginal(a + b), "`gain` of two steps, the second after `added`, and of one")


def weights_count_rows(case: Case) -> None:
    """A row of weight 2 counts as two copies of the row; weights may be a dense or a sparse table.

    `suffstats` makes sums of rows (n, d) and a table (n, c) of the weights that they have in each class. `one_hot`
    makes this table of labels and weights: a row of weight 2 in class 1 of 3 is 0 2 0.
    """
    suffstats = case.block.suffstats
    w = case.rng.integers(0, 4, len(case.x))  # (n,) weights 0 … 3
    of_weights = suffstats(case.x, one_hot(case.y, C, w))
    copies = np.repeat(case.x, w, 0)
    labels_of_copies = np.repeat(case.y, w)
    assert_same(of_weights, suffstats(copies, one_hot(labels_of_copies, C)))

    # dense against sparse tables (n, c) of weights: one class for each row, and shares of all classes
    one_class = case.r.toarray()
    shares = case.rng.dirichlet(np.ones(C), len(case.x))
    for r in (one_class, shares):
        assert_same(suffstats(case.x, r), suffstats(case.x, sparse.csr_array(r)))


def _all_formulas(nb: NaiveBayes, x: Any, r: Any, theta: Any) -> dict[str, Any]:
    """The results of all formulas of a model, by name.

    It is called twice, with NumPy and JAX, or with dense and sparse rows, and the results are compared.

    Parameters
    ----------
    nb : a prior of one block, "x"
    x, r : rows (n, d) and their weights in each class (n, c)
    theta : parameters at which likelihoods and densities are taken, by block
    """
    rows = {"x": x}
    stats = nb.suffstats(rows, r)  # sums over the rows
    posterior = nb.update(stats)
    results = {
        "stats": stats,
        "posterior": posterior,
        "evidence": nb.log_marginal(stats),
        "predictive": posterior.log_joint(rows),  # log p(x_i, y = c | data), (n, c)
        "left out": posterior.log_loo(rows, r),  # the same, from the data without row i
        "likelihood": posterior.log_joint(rows, theta),  # log p(x_i, y = c | θ)
        "moments": posterior.blocks["x"].log_moments(x),  # of log p(x_i | y = c, θ) over the posterior of θ
        "log_prob": posterior.log_prob(theta),
    }
    # estimates of the parameters, by the names that NumPyro has for them
    estimates = {"mean": posterior.mean(), "mode": posterior.mode(), "mle": posterior.mle(stats)}
    for name, estimate in estimates.items():
        results[name] = posterior.to_sites(estimate)
    return results


def sparse_rows_equal_dense_rows(case: Case) -> None:
    """scipy.sparse rows give what dense rows give, with dense and with sparse weights."""
    x = case.complete.x  # empty cells of sparse rows are 0, not missing
    theta = case.posterior.sample(case.rng, (2,))
    for r in (case.r, case.r.toarray()):
        of_sparse_rows = _all_formulas(case.prior, sparse.csr_array(x), r, theta)  # all results by name
        assert_same(of_sparse_rows, _all_formulas(case.prior, x, r, theta))


def a_missing_cell_is_a_cell_left_out(case: Case) -> None:
    """A row with NaN in a column has the density of the other columns, by the model without that column."""
    # one row, whose cell in column 1 is missing, and the model of all d columns
    x = case.complete.x[:1].copy()  # (1, d)
    x[0, 1] = np.nan
    model = case.posterior.blocks["x"]

    # the cells of the other columns, and the model of these
    others = np.delete(np.arange(x.shape[1]), 1)
    x_of_others = x[:, others]  # (1, d − 1)
    model_of_others = model.select(others)

    # with parameters integrated out: the density, and the cumulants of the log density, None if there is no formula
    assert_same(model.log_predictive(x), model_of_others.log_predictive(x_of_others))
    if model.log_cumulants(x) is not None:
        assert_same(model.log_cumulants(x), model_of_others.log_cumulants(x_of_others))

    # at given parameters
    theta = model.sample(case.rng)
    theta_of_others = model.select_parameters(theta, others)
    assert_same(model.log_likelihood(theta, x), model_of_others.log_likelihood(theta_of_others, x_of_others))

    # the evidence of the row, a third of it in each class
    r = np.full((1, C), 1 / C)
    evidence = model.log_marginal(model.suffstats(x, r)).sum()
    evidence_of_others = model_of_others.log_marginal(model_of_others.suffstats(x_of_others, r)).sum()
    assert_same(evidence, evidence_of_others)


def a_row_of_any_weight_is_left_out(case: Case) -> None:
    """Leave-one-out equals a refit without the row, whatever weights the rows have in each class.

    Tried are weights in the class of the label, small or large, and shares in all classes; some weights are 0. Tables
    of weights may be dense or sparse.
    """
    # weights of the rows, (n, 1), and tables (n, c) of their classes: one class for each row, or shares of all
    w = case.rng.choice([0.0, 0.3, 1.0, 2.5], len(case.x))[:, None]
    one_class = case.r.toarray()
    shares = case.rng.dirichlet(np.ones(C), len(case.x))

    # tables (n, c) of weights: moderate, some a million times as large beside others of 1, and in all classes
    moderate = one_class * w
    large = one_class * (1e6 * w + 1)
    in_all_classes = w * shares
    in_all_classes[:5, 0] = 0
    law_of_leave_one_out = LAWS[2]
    for r in (moderate, large, in_all_classes):
        # it leaves out each of the N rows, and compares `log_loo` with a posterior of all others
        row = law_of_leave_one_out.row([*cases(case, case.rng, N, r)])
        require(row.passed, f"{row.figure:.1e}, where {row.threshold:.1e} is allowed. {row.remark}")

        # sparse weights give what dense ones give
        posterior = case.prior.update(case.prior.suffstats(case.rows, r))
        assert_same(posterior.log_loo(case.rows, sparse.csr_array(r)), posterior.log_loo(case.rows, r))


def mode_on_the_boundary_is_a_point(case: Case) -> None:
    """Under concentrations of at most ½ the mode is finite, and so is the likelihood there.

    Such a density, as Beta(½, ½), increases towards the boundary without bound, so that a formula for its mode, such as
    (a − 1) / (a + b − 2), gives no point of the parameter's space, or divides by 0.
    """
    # the same prior, with all of its hyperparameters made ½ at most; and class probabilities of Dirichlet(½, ½, ½)
    low = jax.tree.map(lambda array: 0.5 * array / max(abs(array).max(), 1), case.prior)
    flat = NaiveBayes(DirichletClasses(np.full(C, 0.5)), low.blocks)
    require(flat.on_boundary(), "`on_boundary` is False")  # at least the mode of the class probabilities is

    # numbers, no NaN and no ∞
    mode = flat.to_sites(flat.mode())
    require(all(np.isfinite(value).all() for value in mode.values()), "the mode is not finite")
    require(np.isfinite(flat.log_joint({"x": case.x}, flat.mode())).all(), "the likelihood at the mode is not finite")


def draws_of_jax_follow_their_marginals(case: Case) -> None:
    """4,000 draws by a random key of JAX have the marginal distributions of the formulas.

    If F is the distribution function of a parameter θ, then F(θ) is uniform. Tested are its scores, two numbers that
    are then standard normal (`scores_of`).
    """
    posterior = case.posterior
    sample = jitted(lambda key: posterior.sample(key, (4000,)))
    draws = sample(jax.random.key(3))  # by block, such as "x", and parameter, such as "log_rate": (4000, …)

    # the scores of each parameter, an array of all its entries, such as those of (c, d) rates
    scores = {}
    for block_name, block in {CLASS: posterior.classes, **posterior.blocks}.items():
        theta = {parameter: np.asarray(value) for parameter, value in draws[block_name].items()}
        uniform = draws_laws.marginal_transforms(block, theta)  # F(θ) by parameter, (4000, …)
        for parameter, u in uniform.items():
            scores[parameter] = draws_laws.scores_of(u)

    # the largest of so many standard normal numbers exceeds the limit with probability RATE at most (Bonferroni)
    n_tests = sum(z.size for z in scores.values())
    limit = limit_of(n_tests, RATE)
    for parameter, z in scores.items():
        require(abs(z).max() < limit, f"draws of {parameter} lie {abs(z).max():.1f} standard errors off")


def numpy_and_jax_agree(case: Case, dtype: str) -> None:
    """All formulas give the same in NumPy, and in JAX under `jit`, in a precision: "float64" or "float32".

    Every number here is a sum of at most some 200 terms below 1e2: 1,000 machine epsilons cover it.
    """
    # the results of all formulas by NumPy in float64
    theta = case.posterior.sample(case.rng)
    inputs = case.prior, case.x, case.r.toarray(), theta
    want = _all_formulas(*inputs)
    tolerance = float(1000 * np.finfo(dtype).eps)

    # by JAX, compiled, in this precision: all results have it too
    with jax.enable_x64(dtype == "float64"):
        by_jax = jitted(_all_formulas)(*cast(inputs, jnp, dtype))
    dtypes = {array.dtype.name for array in jax.tree.leaves(by_jax)}
    require(dtypes == {dtype}, f"arrays of {dtype} give {sorted(dtypes)}")

    # by NumPy in this precision: all results are NumPy's
    by_numpy = _all_formulas(*cast(inputs, np, dtype))
    is_numpy = all(isinstance(array, np.ndarray | np.generic) for array in jax.tree.leaves(by_numpy))
    require(is_numpy, "NumPy arrays give arrays that are not NumPy's")
    for got in (by_jax, by_numpy):
        assert_same(got, want, rtol=tolerance, atol=tolerance)


def jax_maps_and_differentiates_the_evidence(case: Case) -> None:
    """Evidence and density work under JAX's `jit` (compiled), `vmap` (over a batch) and `grad` (differentiated).

    To JAX a prior is a tree of arrays, its hyperparameters. The slope along a random direction of them is compared with
    a difference of two values, by `check_grads` of JAX.
    """
    stats = case.stats
    theta = cast(case.posterior.sample(case.rng), jnp, float)  # one draw of all parameters

    def evidence_and_density(prior: NaiveBayes) -> Any:
        """Log evidence plus the log density of the draw, a scalar that depends on all hyperparameters."""
        return prior.log_marginal(stats) + prior.log_prob(theta)

    def over_a_batch(prior: NaiveBayes) -> Any:
        """The same by `vmap` over a batch of one prior, (1,)."""
        batch = jax.tree.map(lambda array: array[None], prior)
        return jax.vmap(evidence_and_density)(batch)

    with jax.enable_x64(True):
        prior = cast(case.prior, jnp, float)
        check_grads(jax.jit(over_a_batch), (prior,), 1, ["rev"], atol=1e-12, rtol=1e-6, eps=1e-5)
