"""The laws that the formulas of every family obey, read by `check`, `bayesnb.testing.check_family` and the tests.

Each law is a function of a case. It yields gaps: what was compared, and how far two independent sides are apart. All of
this file is exact and computes on the host, so nothing is compiled. The evidence is the measure of the other formulas,
and `exact_rows` ties it to NumPyro:

- log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data), Bayes' identity of one row;
- log p(x | data) = log p(x, data) − log p(data), the ratio of evidences; leave-one-out is the same on the other side;
- log E p(x | θ)^t is the evidence of a row of weight t, and its derivatives in t are the cumulants of log p(x | θ).

`drawn_rows` has the laws of draws, which are statistical.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base import from_sites, to_sites
from ..core.arrays import Theta
from ..naive_bayes import sum_of_pieces
from .cases import Case, Gap, Labels, cases, cut, derivatives, gap, kind_of, pairs, row_stats, shared
from .problem import Problem
from .report import CheckRow

EXACT = 1e-7  # relative; rounding leaves some 1e-12, an error of one part in a million ten times this
_REACH, _STEP = 0.5, 0.05  # of the polynomials that are differentiated: weights ½ to 1½; about an estimate
_SCALARS = 4  # parameters of each site that are moved
_POINTS = (0.1, 0.35, 0.6, 0.9)  # posterior probabilities at which marginal densities are compared
_T = np.linspace(-22, 22, 1409)  # nodes of the trapezoidal rule, after a hyperbolic sine


# --- the laws of rows -----------------------------------------------------------------------------------------------


def likelihood(case: Case) -> Iterator[Gap]:
    """Bayes' identity of single rows at draws of θ, and what is the likelihood up to a term of the row."""
    x = case.x[case.few]
    for block in (case.prior, case.posterior):
        theta = block.sample(case.rng, (3,))
        table, before = block.log_likelihood(theta, x), block.log_prob(theta)
        got, want = [], []
        for i, k in pairs(*table.shape[-2:]):
            stats = row_stats(block, x[i : i + 1], k)
            gain = sum_of_pieces(block, block.update(stats).log_prob(theta) - before)
            want.append(gain + np.sum(block.log_marginal(stats)))
            got.append(table[..., i, k])
        yield gap("log_likelihood", got, want)
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
        at = pairs(*table.shape)
        want = [np.sum(block.log_marginal(row_stats(block, x[i : i + 1], k))) for i, k in at]
        yield gap("log_predictive", [table[i, k] for i, k in at], want)
        if not isinstance(block, Labels):
            yield shared("log_score", block.log_score(x), table)
            cells: Any = [block.log_cells(row) for row in x]
            if cells[0] is not None:
                yield gap("log_cells", np.sum(cells, -1), table)
    prior, posterior = case.prior, case.posterior
    others, last = (prior.suffstats(case.x[part], case.r[part]) for part in (slice(-1), slice(-1, None)))
    stats = others + last
    total, normalizer = prior.log_marginal(stats), posterior.log_normalizer()
    ratio = normalizer - prior.log_normalizer()
    log_h = getattr(stats, "log_h", np.zeros(1))
    log_h = log_h if np.shape(log_h) == np.shape(ratio) else np.sum(log_h, 0)
    # the ratio cancels digits where the normalisers are large
    yield gap("log_marginal, log_normalizer", ratio + log_h, total, np.maximum(abs(total), 1) + 1e-6 * abs(normalizer))
    step, want = np.sum(prior.update(others).log_marginal(last)), np.sum(total - prior.log_marginal(others))
    yield gap("update", step, want, max(1.0, abs(float(want)), 1e-5 * float(np.sum(abs(total)))))


def leave_one_out(case: Case) -> Iterator[Gap]:
    """Some rows left out against the evidence of each, or its predictive, under a posterior of all the others."""
    prior, posterior, x, r = case.prior, case.posterior, case.x, case.r
    if hasattr(posterior, "with_known_bandwidth"):  # leave-one-out keeps what is learnt about a bandwidth
        posterior = posterior.with_known_bandwidth
        prior = replace(posterior, cells=posterior.cells.zero())
    table = posterior.log_loo(x[case.few], r[case.few])
    want = []
    for i in case.few:
        others, row = np.arange(len(x)) != i, x[i : i + 1]
        without = prior.update(prior.suffstats(x[others], r[others]))
        if case.why_not:
            want.append(without.log_predictive(row)[0])
        else:
            at = range(table.shape[1])
            want.append([np.sum(without.log_marginal(row_stats(without, row, k))) for k in at])
    yield gap("log_loo", table, want)
    if not isinstance(posterior, Labels):
        yield shared("log_loo_score", posterior.log_loo_score(x[case.few], r[case.few]), table)


def cumulants(case: Case) -> Iterator[Gap]:
    """Mean, variance, third cumulant and covariance of log p(x | θ) against derivatives of the evidence of a row.

    They are those of the block with the row, at weight 1: so the evidence is differentiated at t = 1, where every
    statistic is smooth in the weight. Of −log Multinomial(x; θ_k), which a composite block learns from the rows of the
    other classes, the evidence is a piece. Of class probabilities only differences between classes are known.
    """
    x = case.x[case.few[:2]]
    for block in (case.prior, case.posterior):
        c, composite = block.shape[0], getattr(block, "is_composite", False)
        for i, k in pairs(len(x), c):
            row, j = x[i : i + 1], (k + 1) % c
            if isinstance(block, Labels):
                (up, noise, both), (down, other, _) = (_slopes(block, row, [m], None, [j, k]) for m in (k, j))
                for order, found in enumerate(both.log_cumulants()):
                    want = up[order] - down[order]
                    rounding = (noise + other)[order] / EXACT
                    yield gap("log_cumulants", found[k] - found[j], want, abs(want) + rounding)
                continue
            slope, noise, after = _slopes(block, row, [k])
            unit = abs(slope) + noise / EXACT
            mean, variance = after.log_moments(row)
            yield gap("log_moments, mean", mean[0, k], slope[0], unit[0])
            yield gap("log_moments, variance", variance[0, k], slope[1], unit[1])
            if composite:
                slope, noise, after = _slopes(block, row, [j], k)
                slope = slope * np.array([-1, 1, -1])
                unit = abs(slope) + noise / EXACT
            third, covariance = after.log_third_cumulant(row), after.log_covariance(row)[0]
            if third is not None:
                yield gap("log_third_cumulant", third[0, k], slope[2], unit[2])
            yield gap("log_covariance", covariance[k, k], slope[1], unit[1])
            if block.couples_classes and not composite and j != k:
                slope, noise, both = _slopes(block, row, [j, k])
                of_both = both.log_covariance(row)[0][np.ix_([j, k], [j, k])].sum()
                yield gap("log_covariance", of_both, slope[1], abs(slope[1]) + noise[1] / EXACT)
        if not isinstance(block, Labels):
            (mean, variance), third, short = block.log_moments(x), block.log_third_cumulant(x), block.log_cumulants(x)
            yield shared("log_cumulants, mean", short[0], mean)
            yield gap("log_cumulants, variance", short[1], variance, abs(variance))
            if third is not None:
                yield gap("log_cumulants, third", short[2], third, abs(third))


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

    slope, noise = derivatives(lambda t: np.array([evidence(step) for step in t]), _REACH)
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

    def density(theta: Theta) -> Any:
        return sum_of_pieces(block, block.log_prob(theta))

    def log_likelihood(theta: Theta) -> Any:
        return block.log_likelihood(theta, case.x)[..., np.arange(len(case.y)), case.y].sum(-1)

    spread = {name: value.std(0) for name, value in to_sites(block.sample(case.rng, (200,))).items()}
    best = block.mle(case.prior.suffstats(case.x, case.r))
    for what, estimate, f in (("mode", block.mode(), density), ("mle", best, log_likelihood)):
        point = {name: np.asarray(value, float) for name, value in to_sites(estimate).items()}
        for name, value in point.items():
            kind = kind_of(sites[name])
            if kind == "simplex":
                yield gap(what, value.sum(-1), np.ones(value.shape[:-1]))
            places = [*np.ndindex(*value.shape)]
            for place in places[:: -(-len(places) // _SCALARS)]:
                unit = _direction(value, place, kind, spread[name][place])
                if unit is None:
                    continue

                def along(t: np.ndarray, name: str = name, unit: Any = unit, f: Any = f, point: Any = point) -> Any:
                    path = {key: np.repeat(one[None], len(t), 0) for key, one in point.items()}
                    path[name] = path[name] + t.reshape(-1, *np.ones(unit.ndim, int)) * unit
                    return f(from_sites(block.parameters, path))

                (first, second, _), noise = derivatives(along, _STEP)
                yield Gap(what, max(0.0, float((abs(first) - noise[0]) / max(-second, 1e-3))))


def _direction(value: np.ndarray, place: tuple[int, ...], kind: str, spread: float) -> np.ndarray | None:
    """How far all of a site moves along a direction that stays in the space; None at the boundary."""
    unit, at = np.zeros_like(value), value[place]
    others: tuple[int, ...] = (*place[:-1], (place[-1] + 1) % value.shape[-1])
    if kind == "matrix":
        i, j = place[-2:]
        others = (*place[:-2], j, i)
        room = 0.5 * np.sqrt(value[(*place[:-2], i, i)] * value[(*place[:-2], j, j)])
        unit[place] = unit[others] = room
        return unit if room > 1e-200 else None
    if kind == "simplex":
        room = min(at, value[others]) if others != place else 0.0
        unit[place], unit[others] = room, -room
        return unit if room > 1e-12 else None
    room = spread if kind == "real" else min(at, 1 - at) if kind == "interval" else at
    unit[place] = room
    return unit if room > 1e-12 * (1 if kind == "interval" else spread) else None


def marginals(case: Case) -> Iterator[Gap | str]:
    """Marginal densities against the joint density, the other parameter integrated out by the trapezoidal rule.

    The block is cut to one class and one feature, two components of a simplex, which is a model of the same family. One
    or two numbers are left.
    """
    sites = case.prior.sites()
    kinds = {name: kind_of(site) for name, site in sites.items()}
    small = cut(getattr(case.posterior, "classes", case.posterior), sites, classes=1, features=1, components=2)
    draws = to_sites(small.sample(case.rng, (400,)))
    if len(draws) > 2 or (len(draws) == 2 and {"simplex", "interval"} & {*kinds.values()}):
        yield f"{case.name}: marginals of more than two parameters by draws only"
        return
    if any(kinds[name] == "simplex" and value.shape[-1] == 1 for name, value in draws.items()):
        yield f"{case.name}: shares of one level, which are 1"
        return

    def values(name: str, first: np.ndarray) -> np.ndarray:
        """A site of which one number is given."""
        full = np.stack([first, 1 - first], -1) if kinds[name] == "simplex" else first
        return full.reshape(*first.shape, *draws[name].shape[1:])

    for name, marginal in small.marginals().items():
        s = np.quantile(draws[name].reshape(400, -1)[:, 0], _POINTS)
        room = [np.diff(s).min(), np.inf if kinds[name] == "real" else s.min()]
        room.append(1 - s.max() if kinds[name] in ("simplex", "interval") else np.inf)

        def cdf(t: np.ndarray, name: str = name, s: np.ndarray = s, marginal: Any = marginal) -> np.ndarray:
            x = s + t[:, None]
            return np.asarray(marginal.cdf(values(name, x))).reshape(*x.shape, -1)[..., 0]

        log_weight, theta = np.zeros(1), {name: values(name, s[:, None])}
        for other in draws.keys() - {name}:
            at, size = np.median(draws[other]), draws[other].std()
            if kinds[other] == "real":
                nodes, log_weight = at + size * np.sinh(_T), np.log(size * np.cosh(_T))
            else:
                w = np.sinh(_T / 4)
                w, inside = w[abs(w) < 600], abs(w) < 600
                nodes, log_weight = at * np.exp(w), np.log(at / 4) + w + np.log(np.cosh(_T[inside] / 4))
            log_weight = log_weight + np.log(_T[1] - _T[0])
            theta[other] = values(other, np.broadcast_to(nodes, (len(s), len(nodes))))
            theta[name] = values(name, np.repeat(s[:, None], len(nodes), 1))
        with np.errstate(all="ignore"):
            log_p = sum_of_pieces(small, small.log_prob(from_sites(small.parameters, theta)))
            want = np.nansum(np.exp(log_p + log_weight), -1)
        yield gap("marginals", abs(derivatives(cdf, 0.3 * min(room))[0][0]), want, want)


# --- the rows of the report -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """A row of the report: its name, what it says in plain words, why it is exact, and the comparison.

    The comparison yields gaps, and texts of what it leaves out.
    """

    name: str
    says: str
    reason: str
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
        return worst_row(self.name, self.says, gaps, EXACT, "relative", self.reason, remark, left_out)


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


LAWS = (
    Law(
        "5  Likelihood",
        "The probability of a row at given parameters is the one that Bayes' rule implies.",
        "exact: log p(x | θ) = log p(θ | x, data) − log p(θ | data) + log p(x | data)",
        likelihood,
    ),
    Law(
        "6  Predictive",
        "The prediction of a row is how much more probable the data are with that row.",
        "exact: log p(x | data) = log p(x, data) − log p(data)",
        predictive,
    ),
    Law(
        "7  Leave-one-out",
        "The prediction of a row that is left out is that of a model fitted without it.",
        "exact: log p(x | other rows) = log p(data) − log p(other rows)",
        leave_one_out,
    ),
    Law(
        "8  Moments",
        "The mean and spread of a row's log probability, which intervals rest on, are exact.",
        "exact: the derivatives of log E p(x | θ)^t, the log evidence of a row of weight t",
        cumulants,
    ),
    Law(
        "9  Estimates",
        "The mean, the most probable and the most likely parameters are what their names say.",
        "exact: slopes of the log density and of the log likelihood, by polynomials",
        estimates,
    ),
    Law(
        "10 Marginals",
        "The distribution stated for a single parameter is what remains of the distribution of all of them.",
        "exact: the joint density of the parameters of a column, integrated by quadrature",
        marginals,
    ),
)


def closed_rows(whole: Problem, small: Problem, rng: np.random.Generator) -> list[CheckRow]:
    """Rows 5 to 10.

    Parameters
    ----------
    whole : all rows and columns: predictions are compared under its posterior too
    small : a few rows of each class, under which all terms of a formula count
    """
    of_few = [*cases(small, rng)]
    of_all = of_few if whole is small else [*cases(whole, rng, 2), *of_few]
    return [law.row(of_all if law.compare in (predictive, leave_one_out) else of_few) for law in LAWS]
