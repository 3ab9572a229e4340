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
from functools import cached_property
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

_FEW = 4  # rows that are predicted and left out
_DEGREE, _KEPT = 32, 25  # of the polynomials that are differentiated, and coefficients that are not rounding
_REACH, _STEP = 0.5, 0.05  # of these polynomials: weights ½ to 1½; about an estimate
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
    """The class probabilities as a block: the rows have no columns, and a class has the likelihood π_c."""

    classes: Any
    no_evidence = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.classes, name)

    @property
    def shape(self) -> tuple[int, int]:
        """Classes, and no features."""
        return len(self.classes.log_predictive()), 0

    def sites(self) -> dict[str, Site]:
        """The site of the class probabilities."""
        from numpyro.distributions import constraints

        return {"pi": Site(constraints.simplex, ("event",))}

    def suffstats(self, x: np.ndarray, r: Any) -> np.ndarray:
        """The weight of each class."""
        return r.sum(0)

    def update(self, n: np.ndarray) -> "Labels":
        """The posterior."""
        return Labels(self.classes.update(n))

    def log_predictive(self, x: np.ndarray) -> np.ndarray:
        """The same for every row."""
        return np.tile(self.classes.log_predictive(), (len(x), 1))

    def log_loo(self, x: np.ndarray, r: Any) -> np.ndarray:
        """Without each label."""
        return self.classes.log_loo(r)

    def log_likelihood(self, theta: Theta, x: np.ndarray) -> np.ndarray:
        """log π."""
        return np.repeat(theta["log_pi"][..., None, :], len(x), -2)


@dataclass(frozen=True)
class Case:
    """A block, rows for all its classes with their weights r (n, c), and the source of what is random."""

    name: str
    prior: Any
    x: np.ndarray
    r: np.ndarray
    rng: np.random.Generator
    few: np.ndarray

    @cached_property
    def posterior(self) -> Any:
        """The block after the rows."""
        return self.after(slice(None))

    def after(self, rows: Any) -> Any:
        """The block after some of the rows."""
        return self.prior.update(self.prior.suffstats(self.x[rows], self.r[rows]))

    @property
    def why_not(self) -> str | None:
        """Why ratios of evidences are no predictives, so that only leave-one-out is compared."""
        kind = type(self.prior).__name__
        return None if self.prior.no_evidence is None else f"{self.name}: {kind} has no evidence of single rows"


def cases(problem: Problem, rng: np.random.Generator, few: int = _FEW, weights: Any = None) -> Iterator[Case]:
    """The blocks of a problem that have rows, and its class probabilities where they are learnt.

    A block that is about one class gives its inner block and the rows of that class. `weights` (n, c) take the place of
    one-hot labels.
    """
    c = len(problem.prior.classes.log_predictive())
    r = one_hot(problem.y, c).toarray() if weights is None else weights
    if problem.prior.classes.marginals():
        yield Case("classes", Labels(problem.prior.classes), np.zeros((len(r), 0)), r, rng, choose(rng, len(r), few))
    for name, block in problem.prior.blocks.items():
        x, own = np.asarray(problem.rows[name], float), r
        if block.only_class is not None:
            at = problem.y == block.only_class
            x, own = x[at], r[at][:, [block.only_class]]
        if len(x):
            yield Case(name, block.inner, x, own, rng, choose(rng, len(x), few))


def choose(rng: np.random.Generator, n: int, most: int) -> np.ndarray:
    """At most `most` of n positions, at random and in order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def kind_of(site: Site) -> str:
    """What values a site has: on a simplex, a matrix, between 0 and 1, positive, or real."""
    from numpyro.distributions import constraints

    support = site.support
    if isinstance(support, type(constraints.simplex)):
        return "simplex"
    if site.axes[-2:] == ("event", "event"):
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
    """The largest |got − want| in units of `scale`: by default of `want`, and of 1 where that is smaller."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    if got.shape != want.shape:
        return Gap(f"{what} of shape {got.shape} for {want.shape}", np.inf)
    unit = np.maximum(abs(want), 1) if scale is None else np.maximum(scale, 1e-300)
    with np.errstate(invalid="ignore"):  # infinite ones may be equal too
        return Gap(what, float(np.max(np.where(got == want, 0, abs(got - want)) / unit, initial=0)))


def shared(what: str, score: Any, table: Any) -> Gap:
    """Scores against log densities, which may differ by a term of the row that all classes share."""
    want = table - table[..., :1]
    return gap(what, score - score[..., :1], want, abs(want) + 1e-6 * abs(table))


def _pairs(n: int, c: int, most: int = 24) -> list[tuple[int, int]]:
    """Rows and classes to compare: all, or some that visit every row and class in turn."""
    every = [(i, k) for k in range(c) for i in range(n)]
    return every[:: -(-len(every) // most)]


def _evidence(block: Any, row: np.ndarray, k: int) -> float:
    """Log evidence of a row (1, d) in a class."""
    return float(np.sum(block.log_marginal(block.suffstats(row, np.eye(block.shape[0])[[k]]))))


def _derivatives(f: Callable[[np.ndarray], Any], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """First three derivatives at 0 of a function of an array of arguments, and their rounding.

    By the polynomial through its values at Chebyshev nodes within ± reach. The highest coefficients are rounding, and
    measure it.
    """
    cheb = np.polynomial.chebyshev
    coefficients = cheb.chebinterpolate(lambda t: f(reach * t), _DEGREE)
    slopes = [cheb.chebval(0.0, cheb.chebder(np.eye(_KEPT), k)) / reach**k for k in (1, 2, 3)]
    noise = 3 * abs(coefficients[_KEPT:]).max() * abs(np.array(slopes)).sum(1)
    return slopes @ coefficients[:_KEPT], noise


# --- the laws of rows -----------------------------------------------------------------------------------------------


def likelihood(case: Case) -> Iterator[Gap]:
    """Bayes' identity of single rows at draws of θ, and what is the likelihood up to a term of the row."""
    x = case.x[case.few]
    for block in (case.prior, case.posterior):
        theta = block.sample(case.rng, (3,))
        table, before = block.log_likelihood(theta, x), block.log_prob(theta)
        at, want = _pairs(*table.shape[-2:]), []
        for i, k in at:
            stats = block.suffstats(x[i : i + 1], np.eye(block.shape[0])[[k]])
            gain = sum_of_pieces(block, block.update(stats).log_prob(theta) - before)
            want.append(gain + np.sum(block.log_marginal(stats)))
        yield gap("log_likelihood", [table[..., i, k] for i, k in at], want)
        if isinstance(block, Labels):
            continue
        yield shared("log_score of θ", block.log_score(x, theta), table)
        form = block.linear_form({name: value[0] for name, value in theta.items()})
        complete = x[~np.isnan(x).any(1)]
        if form is not None and len(complete):
            width = len(form[0]) // x.shape[1]  # columns are features, or indicators of the levels of each
            columns = complete if width == 1 else (complete[..., None] == np.arange(width)).reshape(len(complete), -1)
            yield shared("linear_form", columns @ form[0] + form[1], block.log_likelihood(theta, complete)[0])


def predictive(case: Case) -> Iterator[Gap]:
    """The predictive of rows against the evidence of each; the evidence against normalisers and an update."""
    x = case.x[case.few]
    for block in (case.prior, case.posterior):
        table = block.log_predictive(x)
        at = _pairs(*table.shape)
        yield gap("log_predictive", [table[i, k] for i, k in at], [_evidence(block, x[i : i + 1], k) for i, k in at])
        if not isinstance(block, Labels):
            yield shared("log_score", block.log_score(x), table)
    prior = case.prior
    others, last = (prior.suffstats(case.x[part], case.r[part]) for part in (slice(-1), slice(-1, None)))
    stats = others + last
    total, normalizer = prior.log_marginal(stats), case.posterior.log_normalizer()
    ratio = normalizer - prior.log_normalizer()
    log_h = getattr(stats, "log_h", np.zeros(1))
    log_h = log_h if np.shape(log_h) == np.shape(ratio) else np.sum(log_h, 0)
    # the ratio cancels digits where the normalisers are large
    yield gap("log_marginal, log_normalizer", ratio + log_h, total, np.maximum(abs(total), 1) + 1e-6 * abs(normalizer))
    step, want = np.sum(prior.update(others).log_marginal(last)), np.sum(total - prior.log_marginal(others))
    yield gap("update", step, want, max(1.0, abs(float(want)), 1e-5 * float(np.sum(abs(total)))))


def leave_one_out(case: Case) -> Iterator[Gap]:
    """Some rows left out against the evidence of each, or its predictive, under a posterior of all the others."""
    x, r = case.x, case.r
    table = case.posterior.log_loo(x[case.few], r[case.few])
    want = []
    for i in case.few:
        without, row = case.after(np.arange(len(x)) != i), x[i : i + 1]
        of_row = without.log_predictive(row)[0] if case.why_not else None
        want.append([_evidence(without, row, k) for k in range(table.shape[1])] if of_row is None else of_row)
    yield gap("log_loo", table, want)
    if not isinstance(case.posterior, Labels):
        yield shared("log_loo_score", case.posterior.log_loo_score(x[case.few], r[case.few]), table)


def cumulants(case: Case) -> Iterator[Gap]:
    """Mean, variance and third cumulant of log p(x | θ) against derivatives of the evidence of a row.

    They are those of the block with the row, at weight 1: so the evidence is differentiated at t = 1, where every
    statistic is smooth in the weight. Of −log Multinomial(x; θ_k), which a composite block learns from the rows of the
    other classes, the evidence is a piece. Of class probabilities only differences between classes are known.
    """
    x = case.x[case.few[:2]]
    for block in (case.prior, case.posterior):
        c, composite = block.shape[0], getattr(block, "is_composite", False)
        for i, k in _pairs(len(x), c):
            row, j = x[i : i + 1], (k + 1) % c
            if isinstance(block, Labels):
                (up, noise, both), (down, other, _) = (_slopes(block, row, [m], None, [j, k]) for m in (k, j))
                found, want, noise = np.array(both.log_cumulants()), up - down, noise + other
                yield gap("log_cumulants", found[:, k] - found[:, j], want, abs(want) + noise / EXACT)
                continue
            slope, noise, after = _slopes(block, row, [k])
            unit = abs(slope) + noise / EXACT
            if (found := after.log_cumulants(row)) is None:
                continue
            mean, variance, third = found
            yield gap("log_cumulants, mean and variance", [mean[0, k], variance[0, k]], slope[:2], unit[:2])
            if composite:
                slope, noise, after = _slopes(block, row, [j], k)
                slope, third = slope * np.array([-1, 1, -1]), after.log_cumulants(row)[2]
                unit = abs(slope) + noise / EXACT
            yield gap("log_cumulants, third", third[0, k], slope[2], unit[2])


def _slopes(
    block: Any, row: np.ndarray, classes: list[int], piece: int | None = None, seen: list[int] | None = None
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Slopes of the log evidence of a row in its weight at 1, their rounding, and the block with the row.

    Parameters
    ----------
    seen : the classes in which the block has the row; by default those in which its weight changes
    """
    base = np.zeros((1, block.shape[0]))
    base[0, seen or classes] = 1

    def evidence(t: float) -> float:
        r = base.copy()
        r[0, classes] += t
        found = block.log_marginal(block.suffstats(row, r))
        return float(np.sum(found if piece is None else found[piece]))

    slope, noise = _derivatives(lambda t: np.array([evidence(step) for step in t]), _REACH)
    return slope, noise, block.update(block.suffstats(row, base))


# --- the laws of parameters -----------------------------------------------------------------------------------------


def estimates(case: Case) -> Iterator[Gap]:
    """The mean against the marginals; the mode and the maximum likelihood estimate against slopes, which are zero.

    Slopes are in units of the curvature. Parameters on the boundary are left out. Shares have to add up to one.
    """
    block, sites = case.posterior, case.prior.sites()
    means = to_sites(block.mean())
    for name, marginal in block.marginals().items():
        want = np.asarray(marginal.mean(), float)
        exists = np.isfinite(want)
        yield gap("mean", np.asarray(means[name])[exists], want[exists], abs(want[exists]))
    draws = to_sites(block.sample(case.rng, (200,)))
    spread = {name: np.subtract(*np.quantile(value, [0.75, 0.25], axis=0)) for name, value in draws.items()}
    density = {"mode": lambda theta: sum_of_pieces(block, block.log_prob(theta))}
    density["mle"] = lambda theta: (case.r * block.log_likelihood(theta, case.x)).sum((-2, -1))
    best = {"mode": block.mode(), "mle": block.mle(case.prior.suffstats(case.x, case.r))}
    for what, f in density.items():
        point = {name: np.asarray(value, float) for name, value in to_sites(best[what]).items()}
        for name, value in point.items():
            kind = kind_of(sites[name])
            if kind == "simplex":
                yield gap(what, value.sum(-1), np.ones(value.shape[:-1]))
            places = [*np.ndindex(*value.shape)]
            for place in places[:: -(-len(places) // _SCALARS)]:
                unit = _direction(value, place, kind, spread[name][place])
                if abs(unit[place]) <= max(1e-12 * spread[name][place], _ON_BOUNDARY):
                    continue

                def along(t: np.ndarray, name: str = name, unit: Any = unit, f: Any = f, point: Any = point) -> Any:
                    path = {key: np.repeat(one[None], len(t), 0) for key, one in point.items()}
                    path[name] = path[name] + t.reshape(-1, *np.ones(unit.ndim, int)) * unit
                    return f(from_sites(block.parameters, path))

                with np.errstate(over="ignore", invalid="ignore"):  # beside a variance of zero there is no maximum
                    (first, second, _), noise = _derivatives(along, _STEP)
                yield Gap(what, max(0.0, float((abs(first) - noise[0]) / max(-second, 1e-3))))


def _direction(value: np.ndarray, place: tuple[int, ...], kind: str, spread: float) -> np.ndarray:
    """How far all of a site moves along a direction that stays in the space; nowhere at the boundary."""
    unit, at = np.zeros_like(value), value[place]
    if kind == "matrix":
        *lead, i, j = place
        unit[place] = unit[(*lead, j, i)] = 0.5 * np.sqrt(value[(*lead, i, i)] * value[(*lead, j, j)])
    elif kind == "simplex":
        other = (*place[:-1], (place[-1] + 1) % value.shape[-1])
        unit[place] = min(at, value[other])
        unit[other] -= min(at, value[other])
    else:
        unit[place] = spread if kind == "real" else min(at, 1 - at) if kind == "interval" else at
    return unit


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
        found: list[Gap | str] = []
        for case in tried:
            why = None if self.compare is leave_one_out else case.why_not
            found += [why] if why else self.compare(case)
        gaps = [one for one in found if isinstance(one, Gap)]
        remark = f"{len(gaps)} comparisons of {', '.join(dict.fromkeys(one.what for one in gaps)) or 'nothing'}"
        left_out = [one for one in found if isinstance(one, str)]
        reason = "exact in theory; rounding leaves some 1e-12"
        return worst_row(self.name, self.says, gaps, EXACT, "relative", reason, remark, left_out)


def limit_of(count: int, rate: float) -> float:
    """What the largest of so many standard normal statistics exceeds with that probability, at most."""
    return float(stats.norm.isf(rate / max(count, 1) / 2))


def worst_row(
    name: str, says: str, gaps: list[Gap], limit: float, unit: str, reason: str, remark: str, left_out: list[str]
) -> CheckRow:
    """A row whose figure is the largest of some differences, which has to stay within a limit."""
    worst = max(gaps, key=lambda one: np.nan_to_num(one.size, nan=np.inf), default=Gap("nothing", 0.0))
    if not worst.size <= limit:
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
LAWS = tuple(Law(*said, compare) for said, compare in zip(_SAYS.items(), _COMPARED, strict=True))


def closed_rows(whole: Problem, small: Problem, rng: np.random.Generator) -> list[CheckRow]:
    """Rows 5 to 9.

    Parameters
    ----------
    whole : all rows and columns: predictions are compared under its posterior too
    small : a few rows of each class, under which all terms of a formula count
    """
    of_few = [*cases(small, rng)]
    of_all = of_few if whole is small else [*cases(whole, rng, 2), *of_few]
    return [law.row(of_all if law.compare in (predictive, leave_one_out) else of_few) for law in LAWS]
