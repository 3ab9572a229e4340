"""Estimates and marginals against the density of the parameters, by polynomials and quadrature on the host."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..base import Site, from_sites, to_sites
from ..core.arrays import Theta
from ..naive_bayes import sum_of_pieces
from .closed_forms import Gap, derivatives, gap

_STEP = 0.05  # relative steps about an estimate, and in standard deviations
_SCALARS = 4  # of each site that are tried
_POINTS = (0.1, 0.35, 0.6, 0.9)  # posterior probabilities at which marginal densities are compared
_T = np.linspace(-22, 22, 1409)  # nodes of the trapezoidal rule, after a hyperbolic sine


def estimates(block: Any, sites: dict[str, Site], log_likelihood: Callable[[Theta], Any], mle: Theta) -> list[Gap]:
    """The mean against the marginals; the mode and the maximum likelihood estimate against slopes, which are zero.

    Slopes become distances: Newton's step from an estimate to where the slope is zero, in standard deviations of the
    parameter. Parameters on the boundary are left out. Shares have to add up to one.
    """
    means, found = to_sites(block.mean()), []
    for name, marginal in block.marginals().items():
        want = np.asarray(marginal.mean(), float)
        exists = np.isfinite(want)
        if exists.any():
            found.append(gap("mean", np.asarray(means[name])[exists], want[exists], abs(want[exists])))

    def density(theta: Theta) -> Any:
        return sum_of_pieces(block, block.log_prob(theta))

    sizes = _spreads(block)
    for what, theta, f in (("mode", block.mode(), density), ("mle", mle, log_likelihood)):
        totals = [np.sum(value, -1) for name, value in to_sites(theta).items() if kind_of(sites[name]) == "simplex"]
        found += [gap(what, total, np.ones_like(total)) for total in totals]
        steps = [abs(step) for step in _newton_steps(f, block.parameters, to_sites(theta), sites, sizes)]
        found.append(Gap(what, max(steps, default=0.0)))
    return found


def _spreads(block: Any) -> Theta:
    """Standard deviations of the parameters, by 200 draws."""
    return {name: value.std(0) for name, value in to_sites(block.sample(np.random.default_rng(0), (200,))).items()}


def _newton_steps(
    f: Callable[[Theta], Any], parameters: tuple[str, ...], point: Theta, sites: dict[str, Site], sizes: Theta
) -> Iterator[float]:
    """−f′/f″ along some directions from a point, in standard deviations of the parameter moved."""
    for name, value in point.items():
        value = np.asarray(value, float)
        kind = kind_of(sites[name])
        places = [*np.ndindex(*value.shape)]
        for place in places[:: -(-len(places) // _SCALARS)]:
            moved = _direction(value, place, kind, sizes[name])
            if moved is None:
                continue

            def along(t: np.ndarray, name: str = name, moved: Any = moved) -> Any:
                path = {key: np.repeat(np.asarray(one)[None], len(t), 0) for key, one in point.items()}
                return f(from_sites(parameters, path | {name: moved(t)}))

            (first, second, _), noise = derivatives(along, _STEP)
            scale = np.max(abs(moved(np.ones(1))[0] - value)) / max(float(sizes[name][place]), 1e-300)
            if second < -1e-3 * abs(first) and abs(second) > 1e4 * noise[1]:
                yield scale * float(first / second) if abs(first) > noise[0] else 0.0
            elif abs(first) > 1e3 * noise[0]:
                yield np.inf


def _direction(value: np.ndarray, place: tuple[int, ...], kind: str, size: np.ndarray) -> Any:
    """The values along a direction, as a function of steps (m,) → (m, …); None where it leaves the space."""
    unit = np.zeros_like(value)
    at = value[place]
    if kind == "simplex":
        other = (*place[:-1], (place[-1] + 1) % value.shape[-1])
        least = min(at, value[other])
        if least < 1e-12 or other == place:
            return None
        unit[place], unit[other] = least, -least
    elif kind == "matrix":
        i, j = place[-2:]
        reach = 0.5 * np.sqrt(value[(*place[:-2], i, i)] * value[(*place[:-2], j, j)])
        if not reach > 1e-200:
            return None
        unit[place] = unit[(*place[:-2], j, i)] = reach
    elif kind == "real":
        unit[place] = size[place]
    else:
        room = min(at, 1 - at) if kind == "interval" else at
        if not room > 1e-12 * (1 if kind == "interval" else size[place]):
            return None
        unit[place] = room
    return lambda t: value + t.reshape(-1, *np.ones(value.ndim, int)) * unit


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


# --- marginals ------------------------------------------------------------------------------------------------------


def marginals(block: Any, sites: dict[str, Site]) -> tuple[list[Gap], str]:
    """Marginal densities against integrals of the joint density, for one class and few features; and what is left out.

    The block is cut to one class and one feature (three components of a simplex), which is a model of the same family.
    What is left are one or two scalars, and the second is integrated out by the trapezoidal rule.
    """
    small = cut(block, sites, classes=1, features=1, components=3)
    kinds = {name: kind_of(site) for name, site in sites.items()}
    inside = to_sites(small.mean() if "simplex" in kinds.values() else small.mode())
    if len(inside) > 2 or (len(inside) == 2 and {"simplex", "interval"} & set(kinds.values())):
        return [], "marginals of more than two parameters by draws only"
    spread = _spreads(small)
    found: list[Gap] = []
    if any(kinds[name] == "simplex" and np.shape(value)[-1] == 1 for name, value in inside.items()):
        return found, "shares of one level, which are 1"
    for name, marginal in small.marginals().items():
        centre = np.asarray(inside[name], float)
        free = centre.shape[-1] if kinds[name] == "simplex" else 1
        for place in [(*np.zeros(centre.ndim - 1, int), k) for k in range(free)] if free > 1 else [None]:
            draws = to_sites(small.sample(np.random.default_rng(1), (400,)))[name]
            s = np.quantile(draws[(slice(None), *(place or (0,) * centre.ndim))], _POINTS)
            got = _marginal_density(marginal, centre, place, s, kinds[name])
            want = _integrated(small, name, kinds, inside, spread, s, place)
            found.append(gap("marginals", got, want, want))
    return found, ""


def _marginal_density(marginal: Any, centre: np.ndarray, place: Any, s: np.ndarray, kind: str) -> np.ndarray:
    """The slope of the distribution function at the points s; a Wishart's runs the other way."""
    room = [np.diff(s).min()]
    if kind != "real":
        room.append(s.min())
    if kind in ("simplex", "interval"):
        room.append(1 - s.max())
    width = 0.3 * min(room)

    def cdf(t: np.ndarray) -> np.ndarray:
        x = s + t[:, None]
        full = np.broadcast_to(centre, (*x.shape, *centre.shape)).copy()
        full[..., *(place or (0,) * centre.ndim)] = x
        u = np.asarray(marginal.cdf(full))
        return u[..., *place] if place is not None else u.reshape(*x.shape, -1)[..., 0]

    return abs(derivatives(cdf, width)[0][0])


def _integrated(
    block: Any, name: str, kinds: dict[str, str], inside: Theta, spread: Theta, s: np.ndarray, place: Any
) -> np.ndarray:
    """The joint density at the points s of one scalar, everything else integrated out."""
    shape = np.shape(inside[name])
    rest = [key for key in inside if key != name]
    if kinds[name] == "simplex":
        k = shape[-1]
        if k == 2:
            path = np.stack([s, 1 - s], -1)
            order = [place[-1], 1 - place[-1]]
            log_p = _log_density(block, {name: path[:, np.argsort(order)].reshape(len(s), *shape)})
            return np.exp(log_p)
        p, jacobian = _logistic(_T)
        parts = np.stack(np.broadcast_arrays(s[:, None], (1 - s[:, None]) * p, (1 - s[:, None]) * (1 - p)), -1)
        order = [place[-1], *(j for j in range(3) if j != place[-1])]
        shares = parts[..., np.argsort(order)].reshape(*parts.shape[:2], *shape)
        return _trapezoid(_log_density(block, {name: shares}), np.log((1 - s)[:, None] * jacobian))
    if not rest:
        return np.exp(_log_density(block, {name: s.reshape(-1, *np.ones(len(shape), int))}))
    other = rest[0]
    at, size = float(np.ravel(inside[other])[0]), float(np.ravel(spread[other])[0])
    with np.errstate(over="ignore", under="ignore"):
        if kinds[other] == "real":
            value, log_jacobian = at + size * np.sinh(_T), np.log(size * np.cosh(_T))
        else:
            w = np.sinh(_T / 4)
            value, log_jacobian = at * np.exp(w), np.log(at) + w + np.log(np.cosh(_T / 4) / 4)
    kept = np.isfinite(value) & (value > 1e-280 if kinds[other] != "real" else True)
    full = np.broadcast_shapes((len(s), int(kept.sum())))
    theta = {
        name: np.broadcast_to(s[:, None], full).reshape(*full, *np.ones(len(shape), int)),
        other: np.broadcast_to(value[kept], full).reshape(*full, *np.ones(np.ndim(inside[other]), int)),
    }
    return _trapezoid(_log_density(block, theta), log_jacobian[kept])


def _logistic(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number between 0 and 1 that comes doubly exponentially close to both, and its slope."""
    w = np.sinh(t / 4)
    keep = np.clip(w, -300, 300)
    p = 1 / (1 + np.exp(-keep))
    return p, np.exp(-abs(keep)) / (1 + np.exp(-abs(keep))) ** 2 * np.cosh(t / 4) / 4 + 1e-300


def _trapezoid(log_p: np.ndarray, log_jacobian: np.ndarray) -> np.ndarray:
    with np.errstate(under="ignore", invalid="ignore"):
        return np.nansum(np.exp(log_p + log_jacobian), -1) * (_T[1] - _T[0])


def _log_density(block: Any, sites: Theta) -> np.ndarray:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return sum_of_pieces(block, block.log_prob(from_sites(block.parameters, sites)))


def cut(block: Any, sites: dict[str, Site], *, classes: int, features: int, components: int) -> Any:
    """The block of its first classes and features, and of so many components where they form a simplex.

    It is a model of the same family: of fewer classes that share a variance, of the shares among fewer events.
    """
    simplex = [site.axes for site in sites.values() if kind_of(site) == "simplex"]
    width = {"class": classes, "feature": features, "level": components}
    if simplex == [("event",)]:
        width["class"] = components
    elif simplex and not any("feature" in axes for axes in simplex):
        width["feature"] = components
    elif "event" in {axis for site in sites.values() for axis in site.axes} and not simplex:
        block = block.select(np.arange(min(features, block.shape[1])))
    chosen = {}
    for name, field in block.fields_.items():
        value = getattr(block, name)
        if value is not None and np.ndim(value) == len(field.axes):
            chosen[name] = value[tuple(slice(width.get(axis)) for axis in field.axes)]
    return replace(block, **chosen)
