"""The check: the closed form against NumPyro, in four rows that can each fail.

1. Bayes' identity at random θ: log p(θ, x, y) by NumPyro − log p(θ | x, y) − log p(x, y) in closed form is zero.
2. The mode in closed form, jitted, is a stationary point of NumPyro's log joint, and an optimiser started elsewhere
   ends there.
3. The posterior: short chains started at exact draws end as exact draws (a); NUTS from dispersed starts agrees (b).
4. The prediction averaged over NUTS draws agrees with the closed form on held-out rows.

Rows 1 and 2 are exact. Rows 3 and 4 are tests at a stated rate of false alarms, shared out evenly between 3a, 3b and 4
and, inside each, over all quantities compared (Bonferroni).
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize, sparse, stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from .._random import generator
from .._special import log_normalize
from .._typing import Theta
from ..naive_bayes import NaiveBayes, Rows
from ..statistics import one_hot
from .nuts import Model, last_states, pilot_draws, run_chains, start_points, unconstrained
from .posterior import dense
from .report import CheckReport, CheckRow, Interval, Quality
from .to_arviz import dataset, import_arviz

IDENTITY = 1e-9  # relative; rounding in sums of n·d logarithms is some 1e-12
GRADIENT = 1e-6  # nats a posterior standard deviation; rounding leaves about 1e-10
DISTANCE = 1e-3  # posterior standard deviations; an optimum is flat to √(rounding of the log joint) ≈ 1e-5
R_HAT = 1.02  # Vehtari et al. (2021) ask for 1.01 of one quantity; here it is the largest of many
ESS = 400  # Vehtari et al. (2021): what mean, quantiles and R-hat need to be read at all
HEAVY = 0.003  # a class probability counts only where no draw carries more than this share of its average

_MOST_CELLS = 5_000_000  # rows × features of rows 1 and 2, written out for NumPyro
_NUTS_CELLS = 20_000  # rows × features of the NUTS chains
_SHORT_CELLS = 1_500  # rows × features of the short chains
_SHORT_CHAINS, _SHORT_STEPS, _LEAPFROG, _SIDE_BY_SIDE = 4_000, 10, 5, 50
_CHAINS, _DRAWS, _WARMUP = 4, 1_000, 500
_HELD_OUT = 100  # rows of row 4
_PILOT, _PILOT_NUMBERS = 400, 20_000_000  # exact draws behind scales and dispersed starts: most draws, most numbers


def check(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    seed: int = 0,
    false_alarm: float = 0.01,
    level: float = 0.9,
    progress_bar: bool = False,
) -> CheckReport:
    """Fit a clone on one half of the rows and compare closed form and NumPyro; see the module for the four rows.

    Parameters
    ----------
    estimator : one of bayesnb's naive Bayes estimators
    X, y : rows and labels, at least two rows
    seed : of the split, of the random θ and of all chains
    false_alarm : probability that a correct model fails rows 3a, 3b or 4 by chance
    level : of the credible intervals shown
    progress_bar : NumPyro's, on the NUTS chains

    Raises
    ------
    ValueError
        if there are fewer than two rows, a setting is out of range, or the model has no free parameter
    """
    for name, value in (("false_alarm", false_alarm), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"`{name}` is {value}; it needs to lie between 0 and 1")
    y = np.asarray(y)
    if len(y) < 2:
        raise ValueError(f"`y` has {len(y)} rows; the check fits on one half and predicts the other, so it needs two")
    rng = generator(seed)
    train, test = _halves(y, seed)
    fitted = clone(estimator).fit(_take(X, train), y[train])
    test = test[np.isin(y[test], fitted.classes_)]  # a class of a single row may be in the other half
    rows, index = fitted._encode(_take(X, train)), fitted._class_index(y[train])
    held_out, truth = fitted._encode(_take(X, test)), fitted._class_index(y[test])
    prior, c = fitted.prior_, len(fitted.classes_)
    prior.refuse_improper("draws from its generative model")
    if not prior.marginals():
        raise ValueError(f"{estimator!r} has no free parameter with these settings: there is no posterior to check")
    d = _width(rows)

    few = _choose(rng, len(index), max(1, _MOST_CELLS // d))
    whole = _Problem.of(prior, _rows_at(rows, few), index[few])
    exact = [_identity(whole, rng), _mode(whole, rng)]

    rate = false_alarm / 3
    part = _sub_problem(rng, prior, rows, index, _SHORT_CELLS, most=500)
    main = _sub_problem(rng, prior, rows, index, _NUTS_CELLS, most=5_000)
    sites = _nuts(main, rng, seed, progress_bar)
    near = _choose(rng, len(truth), _HELD_OUT)
    sampled = [
        _short_chains(part, rng, seed, rate),
        _chains(main, sites, rate),
        _prediction(main, sites, _thin(main, main.select(_rows_at(held_out, near)), rng), rate),
    ]

    chosen, k = main.select(held_out), main.width
    draws = main.posterior.from_sites({name: value.reshape(-1, *value.shape[2:]) for name, value in sites.items()})
    tables = [
        ("MAP", d, fitted.posterior_.log_joint(held_out, fitted.posterior_.mode())),
        ("predictive", d, fitted.posterior_.log_joint(held_out)),
    ]
    if k < d:
        tables += [
            ("MAP", k, main.posterior.log_joint(chosen, main.posterior.mode())),
            ("predictive", k, main.posterior.log_joint(chosen)),
        ]
    tables.append(("NUTS average", k, _average_joint(main.posterior, chosen, draws)))
    return CheckReport(
        model=repr(estimator),
        rows=(*exact, *sampled),
        quality=tuple(_quality(name, size, table, truth) for name, size, table in tables),
        widest=_widest(fitted, held_out, truth, test, rng, level),
        level=level,
        settings={
            "seed": seed,
            "false_alarm": false_alarm,
            "rows_fitted": len(train),
            "rows_held_out": len(test),
            "features": d,
            "classes": c,
            "identity_rows": len(few),
            "short_chain_rows": len(part.y),
            "short_chain_features": part.width,
            "nuts_rows": len(main.y),
            "nuts_features": main.width,
        },
    )


# --- the data of a comparison ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    """A prior, data for NumPyro, and the closed-form answers; `features` are the columns chosen of every block."""

    prior: NaiveBayes
    rows: Rows
    y: np.ndarray
    features: dict[str, np.ndarray]
    posterior: NaiveBayes
    evidence: float

    @classmethod
    def of(
        cls, prior: NaiveBayes, rows: Rows, y: np.ndarray, features: dict[str, np.ndarray] | None = None
    ) -> "_Problem":
        rows = dense(rows)
        if features is None:
            features = {name: np.arange(x.shape[1]) for name, x in rows.items()}
        found = prior.suffstats(rows, one_hot(y, len(prior.classes.log_predictive())))
        return cls(prior, rows, y, features, prior.update(found), float(prior.log_marginal(found)))

    @property
    def model(self) -> Model:
        """The NumPyro model with the data bound."""
        return partial(self.prior.model, self.rows, self.y)

    @property
    def width(self) -> int:
        return _width(self.rows)

    def select(self, rows: Rows) -> Rows:
        """The chosen features of other rows."""
        return dense({name: rows[name][:, columns] for name, columns in self.features.items()})


def _sub_problem(
    rng: np.random.Generator, prior: NaiveBayes, rows: Rows, y: np.ndarray, cells: int, most: int
) -> _Problem:
    """A random subset of at most `most` rows, and of as many features as the cells allow.

    Fewer where features are coupled: a covariance matrix has the square of them.

    Given the class the posterior factorises over the features, so the model of some of them is a model of its own; for
    a multinomial it is that of the counts among the chosen events.
    """
    few = _choose(rng, len(y), most)
    names = np.concatenate([np.full(x.shape[1], name) for name, x in rows.items()])
    places = np.concatenate([np.arange(x.shape[1]) for x in rows.values()])
    width = cells // len(few)
    kept = _choose(rng, len(names), max(2, math.isqrt(width) // 2 if prior.coupled else width))
    features = {name: places[kept[names[kept] == name]] for name in rows if (names[kept] == name).any()}
    blocks = {name: prior.blocks[name].select(columns) for name, columns in features.items()}
    chosen = {name: rows[name][few][:, columns] for name, columns in features.items()}
    return _Problem.of(NaiveBayes(prior.classes, blocks), chosen, y[few], features)


# --- the rows -------------------------------------------------------------------------------------------------------


def _identity(problem: _Problem, rng: np.random.Generator) -> CheckRow:
    """Row 1: Bayes' identity, at exact draws and at draws pushed three times as far from their mean."""
    from numpyro.infer.util import constrain_fn

    draws = problem.posterior.sample(rng, (16,))
    sites = problem.posterior.to_sites(draws)
    spread = unconstrained(problem.model, sites)
    with jax.enable_x64(True):
        far = jax.tree.map(lambda u: u.mean(0) + 3 * (u - u.mean(0)), spread)
        far = jax.jit(jax.vmap(lambda one: constrain_fn(problem.model, (), {}, one)))(far)
        joint = jax.jit(jax.vmap(_log_joint(problem)))
        worst = 0.0
        for thetas in (sites, jax.tree.map(np.asarray, far)):
            by_numpyro = np.asarray(joint(thetas))
            density = problem.posterior.log_prob(problem.posterior.from_sites(thetas))
            size = np.maximum.reduce([abs(by_numpyro), abs(density), np.full_like(density, abs(problem.evidence))])
            worst = max(worst, float(np.max(abs(by_numpyro - density - problem.evidence) / size)))
    return CheckRow(
        "1  Bayes' identity",
        worst,
        IDENTITY,
        "relative",
        bool(worst <= IDENTITY),
        "exact in theory; rounding leaves some 1e-12",
        f"log evidence {problem.evidence:.6f} nats; 32 random θ",
    )


def _mode(problem: _Problem, rng: np.random.Generator) -> CheckRow:
    """Row 2: the jitted closed-form mode against NumPyro's gradient and an optimiser started elsewhere."""
    from numpyro.infer.util import constrain_fn, potential_energy

    posterior, model = problem.posterior, problem.model
    with jax.enable_x64(True):
        as_jax = jax.tree.map(jnp.asarray, posterior)
        mode = jax.tree.map(np.asarray, jax.jit(lambda nb: nb.to_sites(nb.mode()))(as_jax))
        size = sum(leaf.size for leaf in jax.tree.leaves(posterior))
        pilot = posterior.to_sites(posterior.sample(rng, (int(np.clip(_PILOT_NUMBERS // size, 32, _PILOT)),)))
        sd = {name: value.std(0) for name, value in pilot.items()}
        joint = _log_joint(problem)
        supports = _supports(model)
        gradient = jax.jit(jax.grad(joint))(_nudged(mode, supports))
        slope = _stationarity(jax.tree.map(np.asarray, gradient), mode, sd, supports)

        states = unconstrained(model, pilot)
        scale = {name: np.maximum(value.std(0), 1e-12) for name, value in states.items()}
        start = {name: value.mean(0) + 3 * (value[0] - value.mean(0)) for name, value in states.items()}
        constrain = jax.jit(lambda u: constrain_fn(model, (), {}, u))
        found = _minimise(lambda u: -joint(constrain_fn(model, (), {}, u)), start, scale)
        end = jax.tree.map(np.asarray, constrain(found))
        gaps = {name: abs(end[name] - mode[name]) / np.maximum(sd[name], 1e-300) for name in mode}
        rest = jax.jit(jax.grad(lambda u: joint(constrain_fn(model, (), {}, u))))(found)
        lower = _lower_modes(posterior, mode, end, {name: np.asarray(rest[name]) * scale[name] for name in rest})
        distance = max(float(np.max(np.where(lower.get(name, False), 0, gaps[name]))) for name in mode)
        remark = f"gradient {slope:.1e} nats, optimiser {distance:.1e}, in posterior standard deviations"
        count = sum(int(ended.sum()) for ended in lower.values())
        if count:
            remark += f"; {count} parameters with several modes left out, the optimiser ended on a lower one"
        if posterior.on_boundary() and distance > DISTANCE and float(joint(mode)) > float(joint(constrain(found))):
            # below a concentration of 1 the density grows without bound towards the boundary, out of a search's reach
            distance, remark = 0.0, remark + ", where the density is lower"
        probabilities = [name for name, support in supports.items() if support.is_probability]
        if probabilities:
            other = constrain(_minimise(lambda u: potential_energy(model, (), {}, u), start, scale))
            mean = posterior.to_sites(posterior.mean())
            gap = max(float(np.max(abs(np.asarray(other[name]) - mean[name]))) for name in probabilities)
            remark += f"; with the Jacobian left in, the probabilities end at their posterior mean (within {gap:.1e})"
    figure = max(slope / GRADIENT, distance / DISTANCE)
    return CheckRow(
        "2  Mode",
        figure,
        1.0,
        "of tolerance",
        bool(figure <= 1),
        f"gradient ≤ {GRADIENT:g} (rounding), optimiser ≤ {DISTANCE:g} (flat optimum)",
        remark,
    )


def _short_chains(problem: _Problem, rng: np.random.Generator, seed: int, rate: float) -> CheckRow:
    """Row 3a: chains started at exact draws with a fixed kernel end as exact, independent draws."""
    exact = problem.posterior.to_sites(problem.posterior.sample(rng, (_SHORT_CHAINS,)))
    starts, metric = start_points(problem.model, exact, _SHORT_CHAINS, dense=problem.prior.coupled)
    batch = _SIDE_BY_SIDE if problem.prior.coupled else None
    ends = last_states(problem.model, starts, metric, seed, steps=_SHORT_STEPS, leapfrog=_LEAPFROG, batch=batch)
    moved = np.mean([np.mean(ends[name] != exact[name]) for name in exact])
    pit = _transforms(problem.posterior, ends)
    p_values = stats.ks_1samp(np.concatenate(list(pit.values()), -1), stats.uniform.cdf, axis=0).pvalue
    figure = float(np.min(p_values))
    return CheckRow(
        "3a Posterior, exact starts",
        figure,
        rate / len(p_values),
        "p-value, at least",
        bool(figure >= rate / len(p_values) and moved > 0.5),
        f"false alarms {rate:.2%} over {len(p_values)} Kolmogorov–Smirnov tests",
        f"{_SHORT_CHAINS} chains of {_SHORT_STEPS} steps; {_share_text(problem)}; {moved:.0%} of states moved",
        pit,
    )


def _nuts(problem: _Problem, rng: np.random.Generator, seed: int, progress_bar: bool) -> Theta:
    """NUTS on the twin from dispersed starts, (chains, draws, …) by site."""
    pilot, dense = pilot_draws(problem.posterior, rng, _PILOT)
    starts, metric = start_points(problem.model, pilot, _CHAINS, spread=3.0, dense=dense)
    return run_chains(problem.model, starts, metric, seed + 1, draws=_DRAWS, warmup=_WARMUP, progress_bar=progress_bar)


def _chains(problem: _Problem, sites: Theta, rate: float) -> CheckRow:
    """Row 3b: convergence, and mean and quantiles of every parameter within Monte Carlo error of the exact ones."""
    arviz = import_arviz()
    u = _uniforms(problem.posterior, sites)  # (chains, draws, parameters); uniform if the chain is right
    table = dataset({"u": u}, {"u": ["parameter"]}, {})
    r_hat = float(arviz.rhat(table)["u"].max())
    ess = float(arviz.ess(table, method="bulk")["u"].min())
    # the mean of the probability integral transform, and the shares of draws below three exact quantiles
    z = [_z_values(u, 0.5)] + [_z_values((u <= q).astype(float), q) for q in (0.1, 0.5, 0.9)]
    worst = float(np.max(np.abs(z)))
    count = np.size(z)
    limit = float(stats.norm.isf(rate / count / 2))
    return CheckRow(
        "3b Posterior, NUTS",
        worst,
        limit,
        "standard errors",
        bool(worst <= limit and r_hat <= R_HAT and ess >= ESS),
        f"false alarms {rate:.2%} over {count} means and quantiles; R-hat ≤ {R_HAT}, ESS ≥ {ESS}",
        f"R-hat at most {r_hat:.4f}, ESS at least {ess:.0f}; {_share_text(problem)}",
    )


def _prediction(problem: _Problem, sites: Theta, rows: Rows, rate: float) -> CheckRow:
    """Row 4: the joint averaged over NUTS draws and then normalised, against the closed form.

    p̂_c = Σ_s w_sc / Σ_s Σ_c w_sc with w = p(x, c | θ_s) is a ratio; its Monte Carlo error is that of the mean of
    (w_sc − p_c Σ_c w_sc) / mean weight (delta method).
    """
    joint = problem.posterior.log_joint(rows, problem.posterior.from_sites(sites))  # (chains, draws, n, c)
    exact = np.exp(log_normalize(problem.posterior.log_joint(rows)))
    weights = np.exp(joint - logsumexp(joint, axis=(0, 1, 3), keepdims=True))
    total = weights.sum(-1, keepdims=True)
    # a mean that a few draws carry has no normal error: neither the class's own nor that of the sum may be such a one
    # (a class that every draw calls impossible has the sum 0 and is left out too)
    steady = (weights.max((0, 1)) < HEAVY * weights.sum((0, 1))) & (total.max((0, 1)) < HEAVY)
    steady &= (exact > 1e-250) & (exact < exact.max(1, keepdims=True))  # the likeliest is one minus the others
    # in units of the probability itself: the square of 1e-200 is zero
    scaled = weights[:, :, steady] / exact[steady] - np.broadcast_to(total, weights.shape)[:, :, steady]
    z = _z_values(scaled, 0.0)
    if not z.size:
        worst, limit = 0.0, 0.0
    else:
        worst, limit = float(np.max(abs(z))), float(stats.norm.isf(rate / z.size / 2))
    gap = float(np.max(abs(weights.sum((0, 1)) - exact)[steady], initial=0))
    return CheckRow(
        "4  Prediction",
        worst,
        limit,
        "standard errors",
        bool(worst <= limit),
        f"false alarms {rate:.2%} over {z.size} class probabilities",
        f"of {len(exact)} held-out rows, half cut to five cells, where no draw carries {HEAVY:.1%} of an "
        f"average; largest difference {gap:.1e}",
    )


def _thin(problem: _Problem, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows with about five cells left in every other one: averages over many cells are carried by few draws.

    A cell taken out is a missing one, and in a multinomial block a count of zero; complete rows stay as they are.
    """
    thinned = {}
    total = _width(rows)
    for name, x in rows.items():
        out = rng.random(x.shape) >= 5 / total
        out[::2] = False
        blank = problem.prior.blocks[name].blank
        thinned[name] = x if blank is None else np.where(out, blank, x)
    return thinned


# --- pieces ---------------------------------------------------------------------------------------------------------


def _log_joint(problem: _Problem) -> Any:
    """NumPyro's log p(θ, x, y) as a function of the constrained sites."""
    from numpyro.infer.util import log_density

    return lambda sites: log_density(problem.model, (), {}, sites)[0]


@dataclass(frozen=True)
class _Support:
    """The values that a NumPyro site can have: from `low` to `high`, and on a simplex or not."""

    low: Any = -np.inf
    high: Any = np.inf
    on_simplex: bool = False

    @property
    def is_probability(self) -> bool:
        return bool(np.all(self.low == 0) and np.all(self.high == 1))


def _supports(model: Model) -> dict[str, _Support]:
    """Support of every site that is sampled, from NumPyro's own statements; a matrix has no limits."""
    from numpyro import handlers
    from numpyro.distributions import constraints

    trace = handlers.trace(handlers.seed(model, 0)).get_trace()
    found = {}
    for name, site in trace.items():
        if site["type"] != "sample" or site["is_observed"]:
            continue
        support = site["fn"].support
        if isinstance(support, type(constraints.simplex)):
            found[name] = _Support(0.0, 1.0, True)
        elif isinstance(support, constraints.interval):
            found[name] = _Support(np.asarray(support.lower_bound), np.asarray(support.upper_bound))
        elif isinstance(support, constraints.greater_than):
            found[name] = _Support(np.asarray(support.lower_bound))
        else:
            found[name] = _Support()
    return found


def _nudged(mode: Theta, supports: dict[str, _Support]) -> Theta:
    """The mode a hair inside the boundary, where 0 log 0 has a derivative."""
    inside = {}
    for name, theta in mode.items():
        support = supports[name]
        theta = np.maximum(theta, 1e-300) if np.all(support.low == 0) else theta
        inside[name] = np.minimum(theta, 1 - 2**-53) if support.is_probability else theta
    return inside


def _stationarity(gradient: Theta, mode: Theta, sd: Theta, supports: dict[str, _Support]) -> float:
    """Largest slope at the mode in nats a posterior standard deviation, along directions that stay in the space.

    On a simplex only differences to the other components count. At a component on the boundary the density may rise
    outwards, never inwards.
    """
    worst = 0.0
    for name, g in gradient.items():
        support, theta = supports[name], mode[name]
        low, high = support.low, support.high
        near = np.where(low == 0, 1e-100, 1e-12 * abs(np.nan_to_num(low, posinf=0, neginf=0)))
        far = np.where(high == 1, 1e-15, 1e-12 * abs(np.nan_to_num(high, posinf=0, neginf=0)))
        outward = np.where(theta <= low + near, -1.0, np.where(theta >= high - far, 1.0, 0.0))
        if support.on_simplex:
            inside = outward == 0
            if not inside.any():
                continue
            level = np.where(inside, g, 0).sum(-1, keepdims=True) / np.maximum(inside.sum(-1, keepdims=True), 1)
            g = np.where(inside.any(-1, keepdims=True), g - level, 0)
        inwards = np.where(outward == 0, abs(g), np.maximum(-outward * g, 0))
        worst = float(np.maximum(worst, np.max(inwards * sd[name])))  # NaN stays, and fails
    return worst


def _lower_modes(posterior: NaiveBayes, mode: Theta, end: Theta, slope: Theta) -> Theta:
    """Where the optimiser ended at another mode, lower than the mode in closed form: by site, in its shape.

    Only of blocks that say they may have several modes. `slope` is that at the end, in nats a standard deviation; row 1
    has shown that the densities compared are NumPyro's.
    """
    found = {}
    for name, block in posterior.blocks.items():
        if block.several_modes:
            here, there = (block.log_prob(posterior.from_sites(sites)[name]) for sites in (mode, end))
            for parameter in block.parameters:
                site = posterior.site(name, parameter.removeprefix("log_"))
                found[site] = (there < here - 1e-6) & (abs(slope[site]) < 1e-3)
    return found


def _minimise(f: Any, start: Theta, scale: Theta) -> Theta:
    """SciPy's L-BFGS on a JAX function of unconstrained sites, in units of their scale."""
    from jax.flatten_util import ravel_pytree

    centre, unravel = ravel_pytree(start)
    size, _ = ravel_pytree(scale)
    value_and_grad = jax.jit(jax.value_and_grad(lambda v: f(unravel(centre + size * v))))
    result = optimize.minimize(
        lambda v: tuple(np.asarray(part, float) for part in value_and_grad(v)),
        np.zeros(len(centre)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5_000, "maxfun": 10_000, "ftol": 0, "gtol": 1e-7, "maxcor": 30},
    )
    return unravel(centre + size * result.x)


def _uniforms(posterior: NaiveBayes, sites: Theta) -> np.ndarray:
    """Probability integral transforms of draws under the exact marginals, parameters along the last axis."""
    return np.concatenate(list(_transforms(posterior, sites).values()), -1)


def _transforms(posterior: NaiveBayes, sites: Theta) -> dict[str, np.ndarray]:
    """The same by site."""
    found = {}
    for name, marginal in posterior.marginals().items():
        u = marginal.cdf(sites[name])
        lead = np.ndim(sites[name]) - np.ndim(marginal.mean())
        found[name] = u.reshape(*u.shape[:lead], -1)
    return found


def _z_values(draws: np.ndarray, expected: float) -> np.ndarray:
    """(mean − expected) / Monte Carlo standard error of series (chains, draws, k), from their effective size."""
    if not draws.size:
        return np.zeros(0)
    mean, sd = draws.mean((0, 1)), draws.std((0, 1))
    varies = sd > 0
    ess = import_arviz().ess(dataset({"q": draws[..., varies]}, {"q": ["quantity"]}, {}), method="mean")["q"].values
    error = np.full(len(sd), np.finfo(float).tiny)
    error[varies] = sd[varies] / np.sqrt(ess)
    return (mean - expected) / error


def _average_joint(model: NaiveBayes, rows: Rows, draws: Any) -> np.ndarray:
    """log of the joint averaged over draws, (n, c)."""
    size = len(draws["class"]["log_pi"])
    table = np.full((1, 1), -np.inf)
    for at in range(0, size, 256):  # some draws at a time: (draws, n, c) is large
        some = jax.tree.map(lambda leaf, at=at: leaf[at : at + 256], draws)
        table = np.logaddexp(table, logsumexp(model.log_joint(rows, some), axis=0))
    return table - np.log(size)


def _quality(name: str, features: int, joint: np.ndarray, truth: np.ndarray) -> Quality:
    log_p = log_normalize(joint)
    confidence, right = np.exp(log_p.max(1)), log_p.argmax(1) == truth
    bins = np.minimum((confidence * 10).astype(int), 9)
    gaps = [abs((confidence[bins == b] - right[bins == b]).sum()) for b in range(10)]
    losses = -log_p[np.arange(len(truth)), truth]
    return Quality(name, features, float(right.mean()), float(losses.mean()), float(sum(gaps) / len(truth)))


def _widest(
    fitted: Any, rows: Rows, truth: np.ndarray, positions: np.ndarray, rng: np.random.Generator, level: float
) -> tuple[Interval, ...]:
    """The five held-out rows whose most probable class has the widest credible interval."""
    p = np.exp(log_normalize(fitted.posterior_.log_joint(rows)))
    top = p.argmax(1)
    draws = []
    for _ in range(400):
        table = fitted.posterior_.log_joint(rows, fitted.posterior_.sample(rng))
        draws.append(np.exp(log_normalize(table))[np.arange(len(top)), top])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    order = np.argsort(low - high, kind="stable")[:5]
    labels = [str(label) for label in fitted.classes_]
    return tuple(
        Interval(
            int(positions[i]), labels[top[i]], labels[truth[i]], float(p[i, top[i]]), float(low[i]), float(high[i])
        )
        for i in order
    )


def _halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of two halves, with the same share of each class where every class has two rows."""
    _, counts = np.unique(y, return_counts=True)
    even = counts.min() >= 2 and len(counts) <= len(y) // 2
    return tuple(train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y if even else None))


def _take(X: Any, index: np.ndarray) -> Any:
    """Rows of an array, sparse matrix, list or data frame."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X.tocsr() if sparse.issparse(X) else X, index)


def _choose(rng: np.random.Generator, n: int, most: int) -> np.ndarray:
    """At most `most` of n positions, at random and in order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _rows_at(rows: Rows, index: np.ndarray) -> Rows:
    return {name: x[index] for name, x in rows.items()}


def _width(rows: Rows) -> int:
    return sum(x.shape[1] for x in rows.values())


def _share_text(problem: _Problem) -> str:
    return f"{problem.width} features, {len(problem.y)} rows"
