"""The laws of draws, which are statistical: rows 10 to 12 of the check.

Rows 10 and 11 look at draws of parameters and at new rows, by tests that see a spread one per cent too narrow. Where
draws follow a density p, the mean of q/p over them is 1 for every density q. With q a member of the family whose fields
are slightly different, that mean is the test with the most power against this difference (the score test of Rao, 1948,
Proc. Cambridge Phil. Soc. 44). A wrong location, spread or dependence shows in one of the fields, whatever its shape in
the normal scores of the marginals.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import stats
from scipy.special import ndtri

from ..families.base import Block
from ..models.naive_bayes import NaiveBayes, Rows
from ..numerics.arrays import Theta
from ..numerics.densities import marginal_cdf
from ..numerics.pytrees import leaves
from ..numerics.supports import GIVEN_TOTALS, Field
from ..posterior.intervals import intervals, log_probability_draws
from .laws import Gap, Labels, Problem, cases, limit_of, worst_row
from .report import CheckRow

N_DRAWS = 200_000  # a standard deviation 1 % too small lies six standard errors off
INTERVALS = 0.02  # what the ends may be off on average: see `predict_interval`

_LOG_RATIO = 0.3  # standard deviation of log q/p: large enough to be seen, small enough for a normal mean
_ALL_DRAWS = 10_000  # of all columns: an error as large as a tenth of a spread lies ten standard errors off
_ALL_NUMBERS = 4_000_000  # in these draws, at most
_ALL_CLASSES = 2  # whose new cells of all columns are counted
_COUNTED_VALUES = 6  # commonest values of a column, whose new cells are counted
_LEAST_EXPECTED = 50  # cells with a value and without it, for a count to be nearly normal
_LENGTH = 5  # of rows whose total is given
_FEWEST_DRAWS, _MOST_DRAWS = 2_000, 20_000  # of all parameters, that intervals are compared with

Tested: TypeAlias = tuple[str, np.ndarray]  # what was tested, and standard normal statistics of it


def parameters(block: Any, rng: np.random.Generator, n: int = N_DRAWS) -> list[Tested]:
    """Tests whether draws of a posterior's parameters (`sample`) follow its density and its marginal distributions.

    There are three groups of tests:

    1. Marginals of few draws of all columns: `_tests_of_marginals`.
    2. Density of n draws of a few columns: `_tests_of_density`.
    3. Marginals of these n draws.

    Parameters
    ----------
    block : a posterior: of the parameters of some columns, or of the class probabilities
    rng : source of the draws
    n : draws of the block that is cut to two columns

    Returns
    -------
    pairs of what was tested, and statistics of it. They are standard normal if the draws are right
    """
    theta_of_all_columns = block.sample(rng, (_draws_of(block, n),))
    tested = _tests_of_marginals(block, theta_of_all_columns, " in all columns")

    # some blocks, such as kernel densities, have no density of their parameters: `evidence_error` says why
    has_density = getattr(block, "evidence_error", None) is None
    if has_density:
        block = cut(block)  # at most two classes and few columns
    theta = block.sample(rng, (n,))
    if has_density:
        tested += _tests_of_density(block, theta, n)
    return tested + _tests_of_marginals(block, theta)


def _tests_of_marginals(block: Any, theta: Theta, where: str = "") -> list[Tested]:
    """Tests whether draws of each parameter follow its marginal distribution.

    F(θ), with F the distribution function of a parameter, is uniform on (0, 1) if the draws are right. The tests are of
    mean and mean square of its normal scores (`scores_of`).

    Parameters
    ----------
    theta : draws, with one axis of draws in front
    where : text that is added to the name of a test
    """
    u_by_name = marginal_transforms(block, theta)  # F(θ), (draws, parameters), by the name of an array of parameters
    return [(f"sample, marginals of {name}{where}", scores_of(u)) for name, u in u_by_name.items()]


def _tests_of_density(block: Any, theta: Theta, n: int) -> list[Tested]:
    """Tests whether n draws θ from a block follow its density p, one for each field and independent piece of the block.

    A neighbour is the same block with one field (an array of its hyperparameters) slightly changed. If the draws follow
    p, and q is the density of the neighbour, the mean of q/p over them is E_p[q/p] = ∫ p · q/p = 1. Another mean shows
    that they follow another density (`_scores`).
    """
    # the first 1,000 draws decide how far a field is moved: so far that log q/p has a standard deviation of 0.3
    sample = {name: value[:1000] for name, value in theta.items()}

    def log_ratio_of_some(neighbour: Any) -> np.ndarray:
        """log q/p at these draws."""
        return neighbour.log_prob(sample) - block.log_prob(sample)

    tested = []
    for name, neighbour in _neighbours(block, log_ratio_of_some):
        # `log_prob` has a log density for each independent piece of the block, such as a class. Pieces are tested one
        # by one, and all together
        log_ratio = np.asarray(neighbour.log_prob(theta) - block.log_prob(theta)).reshape(n, -1)  # (n, pieces)
        of_all_pieces = log_ratio.sum(1)
        tested.append((f"sample, {name}", _scores(np.column_stack([log_ratio, of_all_pieces]))))
    return tested


def _draws_of(block: Any, n: int) -> int:
    """How many draws of the parameters of all columns are made: 4 million numbers, but at most n and at most 10,000."""
    size = sum(np.size(value) for value in block.mean().values())  # scalar parameters of the block
    return int(np.clip(_ALL_NUMBERS // max(size, 1), 1, min(n, _ALL_DRAWS)))


def marginal_transforms(block: Any, theta: Theta) -> dict[str, np.ndarray]:
    """F(θ) of draws of a block's parameters θ, with F the distribution function of each, scalars along the last axis.

    If the draws are right, F(θ) is uniform on (0, 1): it is the probability integral transform. A site is an array of
    parameters that NumPyro knows by one name; a block may hold its logarithm or logit.

    Parameters
    ----------
    block : a block, or a prior of the classes
    theta : (…, *shape) draws in the basis in which the block holds them: log_theta may stand for the site theta

    Returns
    -------
    by site (…, k), F(θ) of k scalar parameters; without those that are known exactly, whose F is no number
    """
    marginals = block.marginals()  # distribution of each parameter, by site
    transforms = {}
    for parameter in block.parameters:
        site = parameter.removeprefix("log_").removeprefix("logit_")
        if site in marginals:
            value = np.asarray(theta[parameter])
            u = marginal_cdf(marginals[site], parameter, value)  # F(θ), (draws, *shape of the site)

            # the axes of the site become one; those of draws stay in front
            n_draw_axes = value.ndim - np.ndim(marginals[site].mean())
            flat = u.reshape(*u.shape[:n_draw_axes], -1)
            all_but_last = tuple(range(flat.ndim - 1))
            is_known = np.isnan(flat).any(all_but_last)  # a parameter that is known exactly has no spread
            transforms[site] = flat[..., ~is_known]
    return transforms


def new_rows(block: Block, rng: np.random.Generator, n: int = N_DRAWS) -> list[Tested]:
    """Tests whether new rows that a block draws (`sample_predictive`) follow the density that it has of them.

    A block is the model of some columns, and a field one array of its hyperparameters, such as the means. Two kinds of
    tests look at n rows of the first few columns:

    - Score tests. Let p be the density of the block, and q that of a neighbour, the block with one field slightly
      changed. If rows follow p, then the mean of q/p over them is ∫ p · q/p = 1. If they follow a density nearer to q,
      as with a spread that is too large, it is above 1. So each field has a test that finds draws from a wrong value of
      it. There is one for all rows together, and one for the rows of each class.
    - Shares. As many cells as the density says have each of the most common values. This finds a wrong shape, which no
      change of a field would mend.

    Tests of shares also look at fewer rows of all columns, if cells are independent given the class (`separable`).

    Parameters
    ----------
    block : a posterior
    n : rows that are drawn of the block, cut to two columns

    Returns
    -------
    pairs of what was tested, and statistics of it. They are standard normal if the rows are right. There are no pairs
    where the family has no density of a row
    """
    # no density of a row: neither a composite block, whose density is a sum over other classes, nor kernel densities
    if block.is_composite or block.evidence_error is not None:
        return []
    tested: list[Tested] = []
    if block.separable:
        tested.append(_shares_of_all_columns(block, rng, min(n, _ALL_DRAWS)))

    # n new rows of few columns, whose classes take turns: with two classes y is 0 1 0 1 …
    block = cut(block)
    c = block.shape[0]
    y = np.arange(n) % c
    has_given_totals = block.cells_.measure == GIVEN_TOTALS and not block.separable
    totals = {"length": _LENGTH} if has_given_totals else {}  # counts of a row whose total the model does not say
    x = block.sample_predictive(rng, y, **totals)  # (n, d)

    tested += _score_tests_of_rows(block, x, y)
    if block.separable:
        first_column = block.select(np.arange(1))
        shares = [_shares(first_column, k, x[y == k, 0]) for k in range(c)]
        tested.append(("sample_predictive, shares of the first column", np.concatenate(shares)))
    return tested


def _score_tests_of_rows(block: Block, x: np.ndarray, y: np.ndarray) -> list[Tested]:
    """The score tests of new rows: each field has one of all rows together, and one of the rows of each class.

    p is the density of the block, and q that of the block with the field slightly changed.

    Parameters
    ----------
    block : the posterior that the rows were drawn of
    x, y : (n, d) rows, and their classes 0 1 … c − 1 0 1 …, in turn
    """
    c = block.shape[0]
    log_p = _log_density_of_rows(block, x, y)  # (n,)
    n_few = 3000  # rows that are enough to see how far a field has to be moved

    def log_ratio_of_some(neighbour: Block) -> np.ndarray:
        """log q/p of few rows."""
        return _log_density_of_rows(neighbour, x[:n_few], y[:n_few]) - log_p[:n_few]

    tested = []
    for name, neighbour in _neighbours(block, log_ratio_of_some):
        log_ratio = _log_density_of_rows(neighbour, x, y) - log_p  # log q/p, (n,)
        of_classes = [log_ratio[k::c] for k in range(c)]  # [1::2] picks the rows 1, 3, …, which have class 1 of two
        scores = [_scores(of_rows[:, None]) for of_rows in (log_ratio, *of_classes)]  # `_scores` takes columns
        tested.append((f"sample_predictive, {name}", np.concatenate(scores)))  # (1 + c,)
    return tested


def _log_density_of_rows(block: Block, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log p(x_i | y_i) of each row in its own class, (n,)."""
    log_density = block.log_predictive(x)  # in each class, (n, c)
    return log_density[np.arange(len(y)), y]


def _shares_of_all_columns(block: Block, rng: np.random.Generator, n: int) -> Tested:
    """Tests of the new cells of every column, in two classes, by how many have each value (`_shares`).

    Parameters
    ----------
    block : the model of all columns, which are independent given the class
    rng : chooses the classes, and draws the cells
    n : rows that are drawn, of both classes together
    """
    classes = rng.permutation(block.shape[0])[:_ALL_CLASSES]
    shares = []
    for k in classes.tolist():
        x = block.sample_predictive(rng, np.full(n // len(classes), k))
        for j in range(block.shape[1]):
            shares.append(_shares(block.select(np.array([j])), k, x[:, j]))
    return "sample_predictive, shares of all columns", np.concatenate(shares)


def _shares(block: Block, k: int, cells: np.ndarray) -> np.ndarray:
    """Tests of how many new cells of a class have each of the commonest values, or lie in each of some intervals.

    Of n cells, each with probability p of a value, the number N with it is binomial: (N − np) / √(np(1 − p)) is about
    standard normal where np and n(1 − p) are large.

    Parameters
    ----------
    block : of a single column
    k, cells : a class, and new cells that were drawn of it, (n,)

    Returns
    -------
    of each value or interval the difference of the number of cells from what the density says, in standard deviations;
    without those that are so rare, or so common, that a number of cells is not nearly normal
    """

    def density(x: np.ndarray) -> np.ndarray:
        """The density that the block has of cells of class k, of the shape of x."""
        return np.exp(block.log_predictive(x.reshape(-1, 1))[:, k]).reshape(x.shape)

    # the pilot chooses values or intervals, and the other cells are counted
    n_pilot = len(cells) // 10
    pilot = cells[:n_pilot]
    counted = cells[n_pilot:]
    if block.cells_.kind in ("counts", "yes/no", "levels"):
        p, observed = _shares_of_values(density, pilot, counted)
    else:
        p, observed = _shares_of_intervals(density, pilot, counted, is_positive=block.cells_.kind != "real")

    n = len(counted)
    is_usual = (n * p > _LEAST_EXPECTED) & (n * (1 - p) > _LEAST_EXPECTED)
    z = (observed - n * p) / np.sqrt(n * abs(p * (1 - p)) + 1e-300)
    return z[is_usual]


class _SharesOfCells(NamedTuple):
    """The probabilities p of some values or intervals, and how many of the counted cells are there."""

    p: np.ndarray
    observed: np.ndarray


def _shares_of_values(
    density: Callable[[np.ndarray], np.ndarray], pilot: np.ndarray, counted: np.ndarray
) -> _SharesOfCells:
    """Probabilities and numbers of the commonest values of a column of whole numbers.

    Parameters
    ----------
    density : probability of each value
    pilot, counted : cells that choose the values, and cells that are counted
    """
    values, counts = np.unique(pilot, return_counts=True)
    commonest = values[np.argsort(-counts)[:_COUNTED_VALUES]]
    observed = (counted[:, None] == commonest).sum(0)
    return _SharesOfCells(density(commonest), observed)


def _shares_of_intervals(
    density: Callable[[np.ndarray], np.ndarray], pilot: np.ndarray, counted: np.ndarray, is_positive: bool
) -> _SharesOfCells:
    """Probabilities and numbers of cells in 14 neighbouring intervals of a column of real numbers.

    Positive numbers have one more interval, from almost 0.

    Parameters
    ----------
    density : of each cell; a probability is its integral by the trapezoidal rule
    pilot, counted : cells that choose the intervals, and cells that are counted
    """
    edges = np.quantile(pilot, np.linspace(0.01, 0.99, 15))
    if is_positive:
        edges = np.r_[1e-9 * edges[0], edges]
    nodes = np.linspace(edges[:-1], edges[1:], 201)  # (201, intervals), 201 points in each
    p = np.trapezoid(density(nodes), nodes, axis=0)
    observed = np.histogram(counted, edges)[0]
    return _SharesOfCells(p, observed)


def cut(block: Any) -> Any:
    """The model of a few classes, features and levels: two or, where they share a simplex, four.

    A simplex is a set of shares that add up to 1, such as the class probabilities. The arrays of the block (its fields)
    are cut to their first entries along every axis: one of the axes (class, feature, level) to [:2, :, :4].
    """
    max_of_axis = {"class": 2, "level": 4}  # entries that are kept
    if hasattr(block, "select"):
        # two features, or four where their cells share a total, as in a multinomial. `select` gives the marginal model
        shares_total = not block.separable and block.missing_value is not None
        n_features = min(4 if shares_total else 2, block.shape[1])
        block = block.select(np.arange(n_features))
    else:  # the class probabilities, which share a simplex
        max_of_axis["class"] = 4

    cut_fields = {}
    for name, field in block.fields_.items():
        value = getattr(block, name)
        if value is not None:
            # `max_of_axis` has no features, which `select` has cut: `slice(None)` keeps all entries of an axis
            slices = tuple(slice(max_of_axis.get(axis)) for axis in field.axes)
            cut_fields[name] = value[slices]
    return replace(block, **cut_fields)


def _neighbours(block: Any, log_ratio: Callable[[Any], np.ndarray]) -> Iterator[tuple[str, Any]]:
    """Blocks with one field moved, and the name of that field. Fields that change nothing are left out.

    p is the density of the block, q that of the moved one. A field is moved so far that log q/p has a standard
    deviation of 0.3. With a smaller one a wrong field is not seen, with a larger one the mean of q/p is not nearly
    normal.

    Parameters
    ----------
    block : the block whose fields, arrays of hyperparameters, are moved one at a time
    log_ratio : from a neighbour, whose density is q, to log q/p at draws from the block, (draws, …)
    """
    for name, field in block.fields_.items():
        if not field.fitted or getattr(block, name) is None:
            continue
        for moved in _moves(block, name, field):  # functions from a relative step to the moved block
            step = _step_to_see(moved, log_ratio)
            if step is not None:
                yield name, moved(step)


def _step_to_see(moved: Callable[[float], Any], log_ratio: Callable[[Any], np.ndarray]) -> float | None:
    """The relative step of a field for which log q/p has the standard deviation 0.3, about; None if there is no such.

    There is none if the field changes nothing, or if q is 0 somewhere, so that log q/p is infinite.

    Parameters
    ----------
    moved : from a step to the block with the field moved
    log_ratio : from such a block to log q/p at draws, (draws, …)
    """
    # log q/p is nearly proportional to a small step, so a rule of three finds the step: if the step 0.02 gives the
    # deviation 0.1, three times that step gives 0.3. Three rounds are enough
    step = 0.02
    for _ in range(3):
        deviations = np.std(np.asarray(log_ratio(moved(step))), 0)
        size = float(np.max(deviations))
        if not 1e-9 < size < np.inf:
            break
        step = float(np.clip(step * _LOG_RATIO / size, 1e-7, 0.4))
    is_seen = 1e-3 < size < np.inf
    return step if is_seen else None


def _moves(block: Any, name: str, field: Field) -> list[Callable[[float], Any]]:
    """How a field is moved by a relative step: a function from a step to the moved block for each way of `_changes`.

    Parameters
    ----------
    block : the block
    name, field : name of the field, and what the family declares of it: its support and the names of its axes
    """
    changes = _changes(np.asarray(getattr(block, name), float), field, block.separable)
    return [partial(_with_field, block, name, change) for change in changes]


def _with_field(block: Any, name: str, change: Callable[[float], np.ndarray], step: float) -> Any:
    """The block with the value `change(step)` of the named field."""
    return replace(block, **{name: change(step)})


def _changes(value: np.ndarray, field: Field, is_separable: bool) -> list[Callable[[float], np.ndarray]]:
    """The ways in which the value of a field can be changed: functions from a relative step s to the changed value.

    - real numbers: by s times their size, or times 1 where they are smaller
    - positive numbers: all times 1 + s
    - positive definite matrices: also V → L V Lᵀ, where L is the unit matrix with s just below its diagonal; this
      changes correlations
    - numbers along levels, or along columns that share a total: also by different factors 1 + s cos(2j), j = 0, 1, …,
      as the shares that they stand for may not change if all get the same factor

    Parameters
    ----------
    value : of the field
    field : its support and the names of its axes
    is_separable : whether columns are independent, so that they share no total
    """
    kind = field.support.kind

    def shifted(step: float) -> np.ndarray:
        return value + step * np.maximum(abs(value), 1)

    if kind == "real":
        return [shifted]
    k = value.shape[-1]  # levels, columns, or columns of a matrix

    def multiplied(step: float) -> np.ndarray:
        return value * (1 + step)

    def multiplied_differently(step: float) -> np.ndarray:
        return value * (1 + step * np.cos(2 * np.arange(k)))

    def with_other_correlations(step: float) -> np.ndarray:
        factor = np.eye(k) + step * np.eye(k, k=-1)  # L
        return factor @ value @ factor.T

    if kind == "matrix":
        return [multiplied, with_other_correlations] if k > 1 else [multiplied]
    if field.axes[-1] == "level" or not is_separable:
        return [multiplied, multiplied_differently]
    return [multiplied]


def _scores(log_ratio: np.ndarray) -> np.ndarray:
    """(mean of q/p − 1) / standard error, by column, (k,): standard normal if the n draws follow p.

    Under p the mean of q/p is ∫ p · q/p = ∫ q = 1. A constant column, where q = p, has the score 0.

    Parameters
    ----------
    log_ratio : (n, k) log q/p at draws
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        excess = np.expm1(log_ratio)  # q/p − 1, whose mean should be 0
        deviation = excess.std(0)
        deviation = np.where(deviation > 0, deviation, 1)
        return excess.mean(0) / deviation * np.sqrt(len(excess))


def scores_of(u: np.ndarray) -> np.ndarray:
    """Tests of mean and mean square of the normal scores of variables (n, k) that should be uniform, (2k,).

    Standard normal quantiles of uniform numbers are standard normal: their mean has the variance 1/n, and their mean
    square the mean 1 and the variance 2/n. First the k statistics of means, then those of mean squares.
    """
    n = len(u)
    z = ndtri(np.clip(u, 1e-15, 1 - 1e-15))  # normal scores: ndtri is the inverse of the normal distribution function
    of_mean = z.mean(0) * np.sqrt(n)
    of_mean_square = (np.square(z).mean(0) - 1) * np.sqrt(n / 2)
    return np.concatenate([of_mean, of_mean_square])


def uniform_row(
    name: str, says: str, pit: dict[str, np.ndarray], rate: float, remark: str, *, scores: bool = False
) -> CheckRow:
    """A row whose figure is the smallest p-value of Kolmogorov–Smirnov tests of variables that should be uniform.

    All variables have a test of their own. With m tests the row fails if the smallest p-value is below rate / m, which
    happens with probability `rate` at most if all variables are uniform (Bonferroni). Two kinds of tests compare the
    numbers u of a variable with the uniform distribution on (0, 1): Kolmogorov–Smirnov, of their distribution function;
    and, with `scores`, z-tests of mean and mean square of their normal scores Φ⁻¹(u), with Φ the standard normal
    distribution function. Both sets of p-values count alike.

    Parameters
    ----------
    name, says, remark : title of the row, what it shows in plain words, and what else is said
    pit : (n, k) by name, n draws of k variables each
    rate : probability of a false alarm
    scores : True adds tests of mean and mean square of their normal scores, which see a spread that is wrong
    """
    # p-values by name: k of the Kolmogorov–Smirnov tests; then 2k of the normal scores, k of means and k of mean
    # squares, 2 P(Z > |z|) each
    p_values: dict[str, np.ndarray] = {}
    for site, u in pit.items():
        p_of_site = stats.ks_1samp(u, stats.uniform.cdf, axis=0).pvalue
        if scores:
            p_of_scores = 2 * stats.norm.sf(abs(scores_of(u)))
            p_of_site = np.concatenate([p_of_site, p_of_scores])
        p_values[site] = p_of_site

    # the smallest of all p-values, under the name it belongs to, and what Bonferroni's bound allows
    worst = min(p_values, key=lambda site: p_values[site].min())
    figure = float(p_values[worst].min())
    n_tests = sum(map(len, p_values.values()))
    threshold = rate / n_tests
    passed = figure >= threshold
    if not passed:
        remark = f"{worst} is off; {remark}"
    tests = "Kolmogorov–Smirnov tests and tests of normal scores" if scores else "Kolmogorov–Smirnov tests"
    reason = f"false alarms {rate:.2%} over {n_tests} {tests}"
    return CheckRow(name, figure, threshold, "p-value, at least", passed, reason, remark, pit, says)


def drawn_rows(problem: Problem, rng: np.random.Generator, rate: float) -> list[CheckRow]:
    """Rows 10 and 11 of the report: whether draws of parameters, and new rows, follow the densities of the posterior.

    A case is one block of the model after the rows, or its class probabilities. `parameters` tests draws of its
    parameters, `new_rows` rows that it draws. Both return pairs of what was tested and statistics that are standard
    normal if the draws are right; the largest of all of them is the figure of a row.

    Parameters
    ----------
    problem : few rows, so that every field of the prior matters
    rng : source of the draws
    rate : probability of a false alarm, of each row
    """
    of_draws: list[Tested] = []
    of_rows: list[Tested] = []
    left_out: list[str] = []
    for case in cases(problem, rng):
        block = case.posterior
        if isinstance(block, Labels):  # class probabilities have parameters, but no rows with cells
            of_draws += parameters(block.classes, rng)
            continue
        of_draws += parameters(block, rng)
        of_block = new_rows(block, rng)
        of_rows += of_block
        if not of_block:  # nothing to compare rows with; the report says so
            left_out.append(f"{case.name}: {type(block).__name__} has no density of new rows")
    says = "Parameters drawn from the posterior have its location, spread and dependence, to one per cent."
    says_rows = "New rows drawn from the model have the distribution that it predicts."
    return [_row("10 Draws", says, of_draws, rate, []), _row("11 New rows", says_rows, of_rows, rate, left_out)]


def _row(name: str, says: str, tested: list[Tested], rate: float, left_out: list[str]) -> CheckRow:
    """A row whose figure is the largest of some standard normal statistics, with the limit of Bonferroni's bound.

    Parameters
    ----------
    name, says : title of the row, and what it shows in plain words
    tested : names of what was tested, with arrays of statistics
    rate : probability of a false alarm of the whole row
    left_out : what could not be tested, and why
    """
    gaps = [Gap(purpose, float(np.max(abs(z)))) for purpose, z in tested if z.size]
    count = sum(z.size for _, z in tested)
    reason = f"false alarms {rate:.2%} over {count} tests of densities, marginals and shares"
    remark = f"{N_DRAWS:,} draws a block; a spread 1 % too small would be found with probability 99.9 %"
    return worst_row(name, says, gaps, limit_of(count, rate), "standard errors", reason, remark, left_out)


def intervals_row(posterior: NaiveBayes, rows: Rows, rng: np.random.Generator) -> CheckRow:
    """Row 12: the ends of the 90 % intervals against quantiles of exact draws, on average over rows and classes.

    `intervals` finds most ends from moments, without draws. Here they are compared with the 5 % and 95 % quantiles of
    the class probabilities over draws of the parameters from the posterior: 20,000, or fewer of many parameters.
    """
    ends = intervals(posterior, rows)  # (n, c, 2)
    tails = [0.05, 0.95]
    n_parameters = sum(leaf.size for leaf in leaves(posterior))
    n_draws = int(np.clip(_ALL_NUMBERS // n_parameters, _FEWEST_DRAWS, _MOST_DRAWS))

    # quantiles of the class probabilities over draws, (n, c, 2); slices of the rows come one after the other. log_p is
    # (rows, c, draws); `quantile` puts the two tails first, and `moveaxis` puts them last
    parts = log_probability_draws(posterior, rows, n_draws, int(rng.integers(1 << 31)))
    of_draws = np.concatenate([np.moveaxis(np.quantile(np.exp(log_p), tails, -1), 0, -1) for _, log_p in parts])
    distance = abs(ends - of_draws)
    says = "The intervals of class probabilities agree with those of exact draws."
    reason = f"moments are exact, their shape is not; compared with {n_draws:,} draws"
    remark = f"mean distance of {distance.size} ends from those of draws; largest {float(distance.max()):.3f}"
    return CheckRow.within("12 Intervals", says, float(distance.mean()), INTERVALS, "probability", reason, remark)
