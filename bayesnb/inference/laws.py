"""The laws that the formulas of every family obey, read by `check`, `bayesnb.testing.check_family` and the tests.

Each law is a function of a case, a block and its rows. It yields gaps: what was compared, and how far two independent
sides are apart. The evidence is the measure of the other formulas, and `against_numpyro` ties it to NumPyro:

- log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data), Bayes' identity of one row;
- log p(x | data) = log p(x, data) − log p(data), the ratio of evidences; leave-one-out is the same on the other side;
- log E p(x | θ)^t is the evidence of a row of weight t, and its derivatives in t are the cumulants of log p(x | θ).

All of this is exact. `draws` has the laws of draws, which are statistical.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..base import Site, from_sites, to_sites
from ..core.arrays import Theta
from ..naive_bayes import NaiveBayes, Rows, Statistics, sum_of_pieces
from ..statistics import one_hot
from .chains import Twin
from .report import CheckRow

EXACT = 1e-7  # relative; rounding leaves some 1e-12, an error of one part in a million ten times this

_SAMPLE_ROWS = 4  # rows that are predicted and left out
_DEGREE = 32  # of the polynomials that are differentiated
_N_COEFFICIENTS = 25  # of these that are not rounding
_REACH = 0.5  # of these polynomials in weights: ½ to 1½
_STEP = 0.05  # of these polynomials about an estimate
_MAX_COMPARED = 24  # pairs of a row and a class that are compared
_ON_BOUNDARY = 1e-300  # a share that a mode holds at 0; draws of a small concentration have no larger spread
_SCALARS = 8  # parameters of each site that are moved


@dataclass(frozen=True)
class Problem:
    """A prior, dense rows by block and the class of each; the answers of the closed form follow from them.

    `names` are those of the columns where the problem has some of many.
    """

    prior: NaiveBayes
    rows: Rows
    y: np.ndarray
    names: tuple[str, ...] = field(default=(), kw_only=True)

    @cached_property
    def posterior(self) -> NaiveBayes:
        """The prior after the rows."""
        return self.prior.update(self.stats)

    @cached_property
    def evidence(self) -> float:
        """The log evidence in nats."""
        return float(self.prior.log_marginal(self.stats))

    @cached_property
    def stats(self) -> Statistics:
        """Statistics of all rows."""
        return self.prior.suffstats(self.rows, one_hot(self.y, len(self.prior.classes.log_predictive())))

    @property
    def twin(self) -> Twin:
        """The NumPyro model and its data."""
        return Twin(NaiveBayes.model, (self.prior, self.rows, self.y))

    @property
    def size_in_words(self) -> str:
        """How many rows and columns, and which columns."""
        names = f" ({', '.join(self.names)})" if self.names else ""
        return f"{len(self.y)} rows; {self.width} columns{names}"

    @property
    def width(self) -> int:
        """Features of all blocks together."""
        return sum(x.shape[1] for x in self.rows.values())


@dataclass(frozen=True)
class Labels:
    """The class probabilities as a block, so that the laws of blocks can be tried on them.

    The rows have no columns, and a row of class c has the likelihood π_c. What is not written here is that of
    `classes`.

    Fields
    ------
    classes : prior, or posterior, of the class probabilities
    """

    classes: Any
    evidence_error = None

    def __getattr__(self, name: str) -> Any:
        # called for names that are not found here; special ones stay missing, or copies would not end
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.classes, name)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes, and of features: 0."""
        return len(self.classes.log_predictive()), 0

    def sites(self) -> dict[str, Site]:
        """The site of the class probabilities in NumPyro's model: shares that add up to 1."""
        from numpyro.distributions import constraints

        return {"pi": Site(constraints.simplex, ("event",))}

    def suffstats(self, x: np.ndarray, r: Any) -> np.ndarray:
        """The weight of each class, (c,), from the weights r (n, c) of the rows."""
        return r.sum(0)

    def update(self, n: np.ndarray) -> "Labels":
        """The posterior given the weight n of each class, (c,)."""
        return Labels(self.classes.update(n))

    def log_predictive(self, x: np.ndarray) -> np.ndarray:
        """Log class probabilities, (n, c): the same for every one of the n rows."""
        return np.tile(self.classes.log_predictive(), (len(x), 1))

    def log_loo(self, x: np.ndarray, r: Any) -> np.ndarray:
        """Log class probabilities without the label of each row, (n, c), whose weights are r (n, c)."""
        return self.classes.log_loo(r)

    def log_likelihood(self, theta: Theta, x: np.ndarray) -> np.ndarray:
        """log π of given parameters for every row, (…, n, c), with axes of draws in front."""
        return np.repeat(theta["log_pi"][..., None, :], len(x), -2)


@dataclass(frozen=True)
class Case:
    """What a law is tried on: a block, rows for all its classes, and the source of what is random.

    Fields
    ------
    name : name of the block
    prior : the block before the rows
    x : (n, d) rows
    r : (n, c) weights of the rows in each class
    rng : source of random draws
    sample : positions of the rows that are predicted and left out
    """

    name: str
    prior: Any
    x: np.ndarray
    r: np.ndarray
    rng: np.random.Generator
    sample: np.ndarray

    @cached_property
    def posterior(self) -> Any:
        """The block after the rows."""
        return self.after(slice(None))

    def after(self, rows: Any) -> Any:
        """The block after some of the rows: positions, a slice or a mask."""
        return self.prior.update(self.prior.suffstats(self.x[rows], self.r[rows]))

    @property
    def reason_against(self) -> str | None:
        """Why ratios of evidences are no predictives, so that only leave-one-out is compared; None if they are."""
        if self.prior.evidence_error is None:
            return None
        return f"{self.name}: {type(self.prior).__name__} has no evidence of single rows"


def cases(
    problem: Problem, rng: np.random.Generator, max_rows: int = _SAMPLE_ROWS, weights: Any = None
) -> Iterator[Case]:
    """The blocks of a problem that have rows, and its class probabilities where they are learnt.

    A block that is about one class gives its inner block and the rows of that class.

    Parameters
    ----------
    max_rows : how many rows of a case are predicted and left out, at most
    weights : (n, c) weights of the rows in each class, in the place of one-hot labels
    """
    c = len(problem.prior.classes.log_predictive())
    r = one_hot(problem.y, c).toarray() if weights is None else weights  # (n, c)
    if problem.prior.classes.marginals():  # there are none of probabilities that are fixed
        yield Case(
            name="classes",
            prior=Labels(problem.prior.classes),
            x=np.zeros((len(r), 0)),
            r=r,
            rng=rng,
            sample=choose(rng, len(r), max_rows),
        )
    for name, block in problem.prior.blocks.items():
        x = np.asarray(problem.rows[name], float)
        r_of_block = r
        if block.only_class is not None:
            members = problem.y == block.only_class
            x = x[members]
            r_of_block = r[members][:, [block.only_class]]  # one column, as the inner block has one class
        if len(x):
            sample = choose(rng, len(x), max_rows)
            yield Case(name=name, prior=block.unwrapped, x=x, r=r_of_block, rng=rng, sample=sample)


def choose(rng: np.random.Generator, n: int, max_chosen: int) -> np.ndarray:
    """At most `max_chosen` of n positions, at random and in order."""
    return np.arange(n) if n <= max_chosen else np.sort(rng.choice(n, max_chosen, replace=False))


def kind_of(site: Site) -> str:
    """What values a site has: "simplex", "matrix", "interval" (between 0 and 1), "positive" or "real"."""
    from numpyro.distributions import constraints

    support = site.support
    if isinstance(support, type(constraints.simplex)):
        return "simplex"
    if site.axes[-2:] == ("event", "event"):  # one draw has two axes
        return "matrix"
    if isinstance(support, constraints.interval):
        return "interval"
    return "positive" if isinstance(support, constraints.greater_than) else "real"


# --- differences ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """What was compared, and the largest difference in units of what it should be."""

    what: str
    size: float


def gap(what: str, got: Any, want: Any, scale: Any = None) -> Gap:
    """The largest |got − want| in units of `scale`.

    Parameters
    ----------
    what : name of what is compared
    got, want : numbers or arrays of the same shape; another shape is an infinite gap
    scale : by default |want|, and 1 where that is smaller
    """
    got = np.asarray(got, float)
    want = np.asarray(want, float)
    if got.shape != want.shape:
        return Gap(f"{what} of shape {got.shape} for {want.shape}", np.inf)
    unit = np.maximum(abs(want), 1) if scale is None else np.maximum(scale, 1e-300)
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is no number, but equal infinite values have no gap
        difference = np.where(got == want, 0, abs(got - want))
        return Gap(what, float(np.max(difference / unit, initial=0)))


def shared(what: str, score: Any, table: Any) -> Gap:
    """Scores against log densities, (…, c) both, which may differ by a term of the row that all classes share.

    Differences from the first class have no such term. They are sums of large terms that cancel, so their rounding is
    allowed for in the scale.
    """
    want = table - table[..., :1]
    return gap(what, score - score[..., :1], want, abs(want) + 1e-6 * abs(table))


def _pairs(n: int, c: int) -> list[tuple[int, int]]:
    """Pairs (i, k) of a row and a class to compare: all, or some that visit every row and class in turn."""
    pairs = [(i, k) for k in range(c) for i in range(n)]
    stride = -(-len(pairs) // _MAX_COMPARED)  # rounded up
    return pairs[::stride]


def _evidence(block: Any, row: np.ndarray, k: int) -> float:
    """Log evidence of a row (1, d) in class k: the log probability of the row with the parameters integrated out."""
    weights = np.eye(block.shape[0])[[k]]  # (1, c), one-hot
    return float(np.sum(block.log_marginal(block.suffstats(row, weights))))


def _derivatives(f: Callable[[np.ndarray], Any], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """First three derivatives at 0 of a smooth function of an array of arguments, (3,), and their rounding, (3,).

    By the polynomial through its values at Chebyshev nodes within ± reach, f(reach · t) = Σ_j a_j T_j(t). The highest
    coefficients are rounding, and measure it.
    """
    cheb = np.polynomial.chebyshev
    coefficients = cheb.chebinterpolate(lambda t: f(reach * t), _DEGREE)  # a_j, (degree + 1,)

    # derivatives of each T_j at 0, an array for each order; x = reach · t, so that d/dx = d/dt / reach
    slopes = [cheb.chebval(0.0, cheb.chebder(np.eye(_N_COEFFICIENTS), k)) / reach**k for k in (1, 2, 3)]

    # an error of that size in every coefficient, all of the worst sign, and a factor of safety
    noise = 3 * abs(coefficients[_N_COEFFICIENTS:]).max() * abs(np.array(slopes)).sum(1)
    return slopes @ coefficients[:_N_COEFFICIENTS], noise


# --- the laws of rows -----------------------------------------------------------------------------------------------


def likelihood(case: Case) -> Iterator[Gap]:
    """Law 5: log p(x_i | θ) against Bayes' identity of single rows, at draws of θ, under prior and posterior.

    Also compared is what equals the likelihood up to a term of the row: scores, and a linear form.
    """
    x = case.x[case.sample]
    for block in (case.prior, case.posterior):
        theta = block.sample(case.rng, (3,))
        table = block.log_likelihood(theta, x)  # (3 draws, n, c)
        pairs = _pairs(*table.shape[-2:])
        want = _log_likelihoods_by_bayes(block, theta, x, pairs)
        yield gap("log_likelihood", [table[..., i, k] for i, k in pairs], want)
        if not isinstance(block, Labels):
            yield shared("log_score of θ", block.log_score(x, theta), table)
            first_draw = {name: value[0] for name, value in theta.items()}
            yield from _linear_form(block, first_draw, x)


def _log_likelihoods_by_bayes(block: Any, theta: Theta, x: np.ndarray, pairs: list[tuple[int, int]]) -> list[Any]:
    """log p(x_i | θ) of a row in class k, without the likelihood: for each pair (i, k) an array of all draws of θ.

    By Bayes' theorem p(θ | x) = p(x | θ) p(θ) / p(x). So log p(x | θ) is what the log density of θ gains by the row,
    plus the log evidence of the row.
    """
    log_density = block.log_prob(theta)  # (draws, independent pieces of the block)
    log_likelihoods = []
    for i, k in pairs:
        stats = block.suffstats(x[i : i + 1], np.eye(block.shape[0])[[k]])  # of row i in class k alone
        gain = sum_of_pieces(block, block.update(stats).log_prob(theta) - log_density)  # (draws,)
        log_likelihoods.append(gain + np.sum(block.log_marginal(stats)))
    return log_likelihoods


def _linear_form(block: Any, theta: Theta, x: np.ndarray) -> Iterator[Gap]:
    """The linear form x·w + b of the log likelihood at one θ, if a block has one, against that of complete rows (n, d).

    The two may differ by a term of the row that all classes share.
    """
    form = block.linear_form(theta)
    complete = x[~np.isnan(x).any(1)]
    if form is None or not len(complete):
        return
    weights, intercept = form  # (d · width, c) and (c,)

    # the inputs of the form are the features, or indicators of the levels 0, 1, … of each feature
    width = len(weights) // x.shape[1]
    columns = complete
    if width > 1:
        columns = (complete[..., None] == np.arange(width)).reshape(len(complete), -1)
    yield shared("linear_form", columns @ weights + intercept, block.log_likelihood(theta, complete))


def predictive(case: Case) -> Iterator[Gap]:
    """Law 6: the predictive of rows against the evidence of each; the evidence against normalisers and an update."""
    # log p(x_i | y = k, data) of single rows, under prior and posterior
    x = case.x[case.sample]
    for block in (case.prior, case.posterior):
        table = block.log_predictive(x)  # (n, c)
        pairs = _pairs(*table.shape)
        want = [_evidence(block, x[i : i + 1], k) for i, k in pairs]
        yield gap("log_predictive", [table[i, k] for i, k in pairs], want)
        if not isinstance(block, Labels):
            yield shared("log_score", block.log_score(x), table)

    # the evidence of all rows
    prior = case.prior
    others = prior.suffstats(case.x[:-1], case.r[:-1])
    last = prior.suffstats(case.x[-1:], case.r[-1:])
    stats = others + last
    evidence = prior.log_marginal(stats)  # of each independent piece of the block
    yield _evidence_by_normalisers(case, stats, evidence)

    # the last row after all others: log p(all) − log p(others) = log p(last | others)
    step = np.sum(prior.update(others).log_marginal(last))
    want_step = np.sum(evidence - prior.log_marginal(others))
    scale = max(1.0, abs(float(want_step)), 1e-5 * float(np.sum(abs(evidence))))  # a difference of large numbers
    yield gap("update", step, want_step, scale)


def _evidence_by_normalisers(case: Case, stats: Any, evidence: Any) -> Gap:
    """The evidence of all rows against the ratio of normalisers, times the base measure h of the rows.

    In an exponential family log p(data) = log Z(posterior) − log Z(prior) + Σ log h(x_i).

    Parameters
    ----------
    stats : statistics of all rows; their `log_h`, if they have one, is Σ log h(x_i)
    evidence : log evidence of each independent piece of the block
    """
    normalizer = case.posterior.log_normalizer()
    ratio = normalizer - case.prior.log_normalizer()
    log_h = getattr(stats, "log_h", np.zeros(1))
    if np.shape(log_h) != np.shape(ratio):  # it is by class, but classes have one piece together
        log_h = np.sum(log_h, 0)
    # the ratio cancels digits where the normalisers are large
    scale = np.maximum(abs(evidence), 1) + 1e-6 * abs(normalizer)
    return gap("log_marginal, log_normalizer", ratio + log_h, evidence, scale)


def leave_one_out(case: Case) -> Iterator[Gap]:
    """Law 7: some rows left out of the posterior against their prediction by a posterior of all the others.

    That prediction is the evidence of the row, or the predictive of a family that has no evidence of single rows.
    """
    x = case.x[case.sample]
    r = case.r[case.sample]
    table = case.posterior.log_loo(x, r)  # (rows of the sample, c)
    want = []
    for i in case.sample:
        without = case.after(np.arange(len(case.x)) != i)  # the posterior of all rows but i
        row = case.x[i : i + 1]
        if case.reason_against:
            want.append(without.log_predictive(row)[0])
        else:
            want.append([_evidence(without, row, k) for k in range(table.shape[1])])
    yield gap("log_loo", table, want)
    if not isinstance(case.posterior, Labels):
        yield shared("log_loo_score", case.posterior.log_loo_score(x, r), table)


def cumulants(case: Case) -> Iterator[Gap]:
    """Law 8: mean, variance and third cumulant of log p(x | θ) against derivatives of the evidence of a row.

    The log evidence of a row of weight t, log E p(x | θ)^t, generates the cumulants of log p(x | θ). Its derivatives at
    t = 0 are those of the block. Here they are taken at t = 1, where every statistic is smooth in the weight. They are
    then those of the block with the row, at weight 1.
    """
    x = case.x[case.sample[:2]]
    for block in (case.prior, case.posterior):
        n_classes = block.shape[0]
        for i, k in _pairs(len(x), n_classes):
            other = (k + 1) % n_classes  # any other class
            if isinstance(block, Labels):
                yield _cumulants_of_labels(block, x[i : i + 1], k, other)
            else:
                yield from _cumulants_of_rows(block, x[i : i + 1], k, other)


def _cumulants_of_labels(block: Any, row: np.ndarray, k: int, other: int) -> Gap:
    """Cumulants of log π_k minus those of log π_other; `log_cumulants` says nothing of each alone.

    Parameters
    ----------
    row : (1, 0) a row without columns; it is given to both classes
    k, other : the two classes
    """
    of_k = _slopes(block, row, [k], known_in=[other, k])
    of_other = _slopes(block, row, [other], known_in=[other, k])
    cumulants = np.array(of_k.after.log_cumulants())  # (3, c)
    want = of_k.slope - of_other.slope  # (3,)
    scale = abs(want) + (of_k.noise + of_other.noise) / EXACT  # a gap of the size of the noise is just allowed
    return gap("log_cumulants", cumulants[:, k] - cumulants[:, other], want, scale)


def _cumulants_of_rows(block: Any, row: np.ndarray, k: int, other: int) -> Iterator[Gap]:
    """Cumulants of log p(x | θ_k) of a row (1, d), where the family states them.

    A composite block learns θ_k from the rows of the other classes. The third cumulant that it states for class k is
    that of −log Multinomial(x; θ_k). The piece of class k of the evidence of a row in class `other` has that of
    +log Multinomial(x; θ_k), which is the same with the other sign.

    Parameters
    ----------
    k, other : the class, and one of the other classes
    """
    of_k = _slopes(block, row, [k])
    stated = of_k.after.log_cumulants(row)
    if stated is None:
        return
    mean, variance, third = stated  # (1, c) each
    scale = abs(of_k.slope) + of_k.noise / EXACT  # a gap of the size of the noise is just allowed
    yield gap("log_cumulants, mean and variance", [mean[0, k], variance[0, k]], of_k.slope[:2], scale[:2])
    if not getattr(block, "is_composite", False):
        yield gap("log_cumulants, third", third[0, k], of_k.slope[2], scale[2])
        return

    of_piece = _slopes(block, row, [other], piece=k)
    third = of_piece.after.log_cumulants(row)[2]
    scale = abs(of_piece.slope) + of_piece.noise / EXACT
    yield gap("log_cumulants, third", third[0, k], -of_piece.slope[2], scale[2])


class _Slopes(NamedTuple):
    """How the log evidence of a row changes with its weight, at weight 1.

    Fields
    ------
    slope : (3,) first three derivatives
    noise : (3,) bound on their rounding
    after : the block with the row, at weight 1
    """

    slope: np.ndarray
    noise: np.ndarray
    after: Any


def _slopes(
    block: Any, row: np.ndarray, classes: list[int], piece: int | None = None, known_in: list[int] | None = None
) -> _Slopes:
    """Derivatives of the log evidence of a row (1, d) in its weight in some classes, at weight 1.

    Parameters
    ----------
    classes : those in which the weight changes
    piece : the class whose piece of the evidence is taken; None for the whole
    known_in : the classes in which the block has the row; by default those in which its weight changes
    """
    base = np.zeros((1, block.shape[0]))  # (1, c) weights of the row
    base[0, known_in or classes] = 1

    def evidence(t: float) -> float:
        """Log evidence of the row with its weight changed by t."""
        r = base.copy()
        r[0, classes] += t
        pieces = block.log_marginal(block.suffstats(row, r))
        return float(np.sum(pieces if piece is None else pieces[piece]))

    slope, noise = _derivatives(lambda t: np.array([evidence(step) for step in t]), _REACH)
    return _Slopes(slope, noise, block.update(block.suffstats(row, base)))


# --- the laws of parameters -----------------------------------------------------------------------------------------


def estimates(case: Case) -> Iterator[Gap]:
    """Law 9: the mean against the marginals; the mode and the maximum likelihood estimate against slopes, which are 0.

    Slopes are in units of the curvature. Parameters on the boundary are left out. Shares have to add up to one.
    """
    # the mean of each scalar parameter is that of its marginal, where that has one
    block = case.posterior
    means = to_sites(block.mean())
    for name, marginal in block.marginals().items():
        want = np.asarray(marginal.mean(), float)
        exists = np.isfinite(want)
        yield gap("mean", np.asarray(means[name])[exists], want[exists], abs(want[exists]))

    def log_posterior(theta: Theta) -> Any:
        return sum_of_pieces(block, block.log_prob(theta))

    def log_likelihood(theta: Theta) -> Any:
        return (case.r * block.log_likelihood(theta, case.x)).sum((-2, -1))

    # the distance of the quartiles of draws says how far a step from an estimate is
    draws = to_sites(block.sample(case.rng, (200,)))
    spread = {}
    for name, value in draws.items():
        upper, lower = np.quantile(value, [0.75, 0.25], axis=0)
        spread[name] = upper - lower
    yield from _slopes_at(case, "mode", log_posterior, block.mode(), spread)
    yield from _slopes_at(case, "mle", log_likelihood, block.mle(case.prior.suffstats(case.x, case.r)), spread)


def _slopes_at(
    case: Case, what: str, density: Callable[[Theta], Any], estimate: Theta, spread: dict[str, np.ndarray]
) -> Iterator[Gap]:
    """Slopes of a log density at its maximum, along single parameters of each site: they should be 0.

    Parameters
    ----------
    what : name of the estimate
    density : the log density of θ; it takes many θ at once, along a first axis
    estimate : θ where it is largest
    spread : distance of the quartiles of each parameter, by site
    """
    sites = case.prior.sites()
    point = {name: np.asarray(value, float) for name, value in to_sites(estimate).items()}
    for name, value in point.items():
        kind = kind_of(sites[name])
        if kind == "simplex":
            yield gap(what, value.sum(-1), np.ones(value.shape[:-1]))

        # about 8 parameters of the site, evenly spaced
        indices = [*np.ndindex(*value.shape)]
        stride = -(-len(indices) // _SCALARS)
        for index in indices[::stride]:
            # there is no slope to be 0 where the estimate lies on the boundary, and cannot move
            direction = _direction(value, index, kind, spread[name][index])
            if abs(direction[index]) <= max(1e-12 * spread[name][index], _ON_BOUNDARY):
                continue

            # the log density at distances t from the estimate, and its first two derivatives at t = 0
            along = partial(_along, density, case.posterior.parameters, point, name, direction)
            with np.errstate(over="ignore", invalid="ignore"):  # beside a variance of zero there is no maximum
                (first, second, _), noise = _derivatives(along, _STEP)

            # a Newton step in units of the direction, beyond what rounding explains; a flat maximum has no curvature
            yield Gap(what, max(0.0, float((abs(first) - noise[0]) / max(-second, 1e-3))))


def _along(
    density: Callable[[Theta], Any], parameters: Any, point: Theta, name: str, direction: np.ndarray, t: np.ndarray
) -> Any:
    """A log density at distances t from a point, along a direction of one site, (len(t),).

    Parameters
    ----------
    density : the log density of θ with a first axis of points
    parameters : names of θ, as the block holds them: perhaps as logarithms
    point : the parameters by NumPyro site
    name, direction : the site that moves, and by how much at t = 1
    """
    path = {key: np.repeat(value[None], len(t), 0) for key, value in point.items()}  # (len(t), …) each
    distance = t.reshape(-1, *np.ones(direction.ndim, int))  # with the axes of the path
    path[name] = path[name] + distance * direction
    return density(from_sites(parameters, path))


def _direction(value: np.ndarray, index: tuple[int, ...], kind: str, spread: float) -> np.ndarray:
    """How far all of a site moves along a direction that stays in the space; nowhere at the boundary.

    Parameters
    ----------
    value : the values of the site
    index : the parameter that moves
    kind : as of `kind_of`
    spread : distance of the quartiles of the parameter
    """
    direction = np.zeros_like(value)
    number = value[index]
    match kind:
        case "matrix":  # symmetric, so that two entries move: their correlation by ½
            *lead, i, j = index
            size = 0.5 * np.sqrt(value[(*lead, i, i)] * value[(*lead, j, j)])
            direction[index] = size
            direction[(*lead, j, i)] = size
        case "simplex":  # what one share gains, the next one loses
            next_share = (*index[:-1], (index[-1] + 1) % value.shape[-1])
            size = min(number, value[next_share])
            direction[index] = size
            direction[next_share] -= size
        case "interval":  # at most to the nearer end
            direction[index] = min(number, 1 - number)
        case "real":
            direction[index] = spread
        case _:  # a positive number: at most to 0
            direction[index] = number
    return direction


# --- the rows of the report -----------------------------------------------------------------------------------------


class Law(NamedTuple):
    """A row of the report: its name, what it says in plain words, and the comparison.

    The comparison yields gaps, and texts of what it leaves out.
    """

    name: str
    says: str
    compare: Callable[[Case], Iterator[Gap | str]]

    def row(self, tried: list[Case]) -> CheckRow:
        """The row of the report: of all cases, the largest gap."""
        gaps: list[Gap] = []
        left_out: list[str] = []
        for case in tried:
            # only leave-one-out can be compared without an evidence of single rows
            if case.reason_against and self.compare is not leave_one_out:
                left_out.append(case.reason_against)
                continue
            for outcome in self.compare(case):
                if isinstance(outcome, Gap):
                    gaps.append(outcome)
                else:
                    left_out.append(outcome)

        compared = dict.fromkeys(compared.what for compared in gaps)  # names of what was compared, each once
        remark = f"{len(gaps)} comparisons of {', '.join(compared) or 'nothing'}"
        reason = "exact in theory; rounding leaves some 1e-12"
        return worst_row(self.name, self.says, gaps, EXACT, "relative", reason, remark, left_out)


def limit_of(count: int, rate: float) -> float:
    """What the largest of `count` absolute standard normal statistics exceeds with probability `rate`, at most.

    Bonferroni's bound: each may exceed it, on either side, with probability rate / count.
    """
    return float(stats.norm.isf(rate / max(count, 1) / 2))


def worst_row(
    name: str, says: str, gaps: list[Gap], limit: float, unit: str, reason: str, remark: str, left_out: list[str]
) -> CheckRow:
    """A row whose figure is the largest of some differences, which has to stay within a limit.

    Parameters
    ----------
    name, says : title of the row, and what it shows in plain words
    gaps : the differences; one that is no number (NaN) counts as infinite
    limit, unit, reason : the largest difference allowed, its unit, and why it is allowed
    remark, left_out : what else is said: how much was compared, and what was not
    """
    worst = max(gaps, key=lambda compared: np.nan_to_num(compared.size, nan=np.inf), default=Gap("nothing", 0.0))
    if not worst.size <= limit:  # also where it is NaN
        remark = f"{worst.what} is off; " + remark
    if left_out:
        remark += f"; left out: {'; '.join(dict.fromkeys(left_out))}"
    return CheckRow.within(name, says, worst.size, limit, unit, reason, remark)


_SAYS = {
    "5  Likelihood": "The probability of a row at given parameters is the one that Bayes' rule implies.",
    "6  Predictive": "The prediction of a row is how much more probable the data are with that row.",
    "7  Leave-one-out": "The prediction of a row that is left out is that of a model fitted without it.",
    "8  Moments": "The mean and spread of a row's log probability, which intervals rest on, are exact.",
    "9  Estimates": "The mean, the most probable and the most likely parameters are what their names say.",
}
_COMPARED = likelihood, predictive, leave_one_out, cumulants, estimates
LAWS = tuple(Law(name, says, compare) for (name, says), compare in zip(_SAYS.items(), _COMPARED, strict=True))


def closed_rows(whole: Problem, small: Problem, rng: np.random.Generator) -> list[CheckRow]:
    """Rows 5 to 9.

    Parameters
    ----------
    whole : all rows and columns: predictions are compared under its posterior too
    small : a few rows of each class, under which all terms of a formula count. It may be `whole` itself
    """
    small_cases = [*cases(small, rng)]
    all_cases = small_cases if whole is small else [*cases(whole, rng, 2), *small_cases]
    return [law.row(all_cases if law.compare in (predictive, leave_one_out) else small_cases) for law in LAWS]
