"""Tests for a family of your own: every law that the families of bayesnb obey.

The laws of rows and parameters are those of the check of a fitted model. Here they run on random priors and rows, with
the laws of statistics, weights, and NumPy against JAX. Provisional: a later release may change names and signatures.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads
from scipy import sparse

from .base import AbstractConjugate, Block
from .core.arrays import Scalar, Sparse
from .core.pytrees import CLASSES
from .core.supports import Field
from .families import DirichletClasses
from .inference import draws as draws_laws
from .inference.against_numpyro import identity_row, mode_row
from .inference.chains import jitted as jitted
from .inference.laws import LAWS, Problem, cases, limit_of
from .inference.report import CheckRow
from .naive_bayes import CLASS, NaiveBayes, Statistics
from .statistics import in_floats, one_hot

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
        """Its rows."""
        return self.rows["x"]

    @property
    def r(self) -> Sparse:
        """One-hot labels, sparse."""
        return one_hot(self.y, C)

    @property
    def complete(self) -> "Case":
        """The same case without missing cells."""
        filled = np.where(np.isnan(self.x), np.nan_to_num(np.nanmax(self.x, 0)), self.x)
        return replace(self, rows={"x": filled})

    def stats_of(self, rows: Any) -> Statistics:
        """Statistics of some rows."""
        return self.prior.suffstats({"x": self.x[rows]}, self.r[rows])


def check_family(family: Block) -> None:
    """Test every law on a family, as `sklearn.utils.estimator_checks.check_estimator` does for estimators.

    The tests use 3 classes, 4 features and 24 rows. Random priors have fields of the size of the given ones, and random
    rows follow `cells_`. These are the laws:

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
            said = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            said += "; `gain` takes series too: use `log_rising` and `log1p`" * ("Jet" in said)
            raise BrokenLaw(f"{type(family).__name__} breaks the law {name!r}: {said}") from error


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
    from numpyro.handlers import condition
    from numpyro.infer import MCMC, NUTS, Predictive, log_likelihood

    prior = random_case(model).prior if isinstance(model, AbstractConjugate) else getattr(model, "prior_", model)
    if isinstance(prior, NaiveBayes):
        prior.refuse_improper("data sets drawn from it")
        sites = {name: prior.site(name, "x") for name in prior.blocks}
        model, observed = partial(prior.model, None, n=rows, length=rows), ("y", *sites.values())

        def closed_form(data: dict[str, np.ndarray], draws: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
            x = {name: np.asarray(data[site], float) for name, site in sites.items()}
            return prior.to_sites(prior.condition(x, data["y"]).sample(rng, (draws,)))

        posterior = posterior or closed_form

    def by_nuts(key: Any, data: Any) -> Any:
        mcmc = MCMC(NUTS(condition(model, data)), num_warmup=300, num_samples=5 * draws, thinning=5, progress_bar=False)
        mcmc.run(key)
        return mcmc.get_samples()

    def log_p(theta: Any, data: Any) -> Any:
        return sum(one.reshape(draws + 1, -1).sum(1) for one in log_likelihood(condition(model, data), theta).values())

    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), simulations + 1)
        drawn = jax.tree.map(np.asarray, jitted(Predictive(model, num_samples=simulations, parallel=True))(keys[0]))
        data = {name: drawn[name] for name in observed}
        if posterior is None:
            theta = jax.jit(jax.vmap(by_nuts))(keys[1:], data)
        else:
            found = [posterior({name: x[s] for name, x in data.items()}, draws, rng) for s in range(simulations)]
            theta = jax.tree.map(lambda *parts: np.stack(parts), *found)
        both = {name: np.concatenate([drawn[name][:, None], value], 1) for name, value in theta.items()}
        both["log likelihood"] = np.asarray(jitted(jax.vmap(log_p))(both, data))
    pit = {}
    for name, value in both.items():
        truth, others = np.split(value.reshape(simulations, draws + 1, -1), [1], 1)
        rank = (others < truth).sum(1) + rng.random((simulations, truth.shape[-1])) * (1 + (others == truth).sum(1))
        pit[name] = rank / (draws + 1)
    says = "The parameters that data were drawn from have uniform ranks among the draws of the posterior."
    remark = f"{simulations} simulations, {draws} draws each"
    return draws_laws.uniform_row("Calibration", says, pit, false_alarm, remark, scores=True)


def laws_of(family: Block) -> dict[str, Callable[[Case], None]]:
    """The laws that a family has to obey, by name."""
    found = [
        what_a_family_says_of_itself_is_true,
        statistics_add_and_subtract,
        updates_chain,
        weights_count_rows,
        *([sparse_rows_equal_dense_rows] if family.cells_.sparse else []),
        *([a_missing_cell_is_a_cell_left_out] if family.allows_missing else []),
        a_row_of_any_weight_is_left_out,
        mode_on_the_boundary_is_a_point,
    ]
    last = draws_of_jax_follow_their_marginals, jax_maps_and_differentiates_the_evidence
    rows: dict[str, Callable[[Case], list[CheckRow]]] = {
        "bayes' identity": lambda case: [identity_row(case, case.rng)],
        "mode": lambda case: [mode_row(case, case.rng)],
        "draws": lambda case: draws_laws.drawn_rows(case, case.rng, RATE),
    } | {law.name[3:].lower(): partial(lambda law, case: [law.row([*cases(case, case.rng)])], law) for law in LAWS}
    return {
        **{law.__name__.replace("_", " "): law for law in found},
        **{name: partial(_rows_pass, rows=row) for name, row in rows.items()},
        **{
            f"NumPy and JAX agree in {kind}": partial(numpy_and_jax_agree, dtype=kind)
            for kind in ("float64", "float32")
        },
        **{law.__name__.replace("_", " "): law for law in last},
    }


def _rows_pass(case: Case, rows: Callable[[Case], list[CheckRow]]) -> None:
    for row in rows(case):
        require(row.passed, f"{row.figure:.1e}, where {row.threshold:.1e} is allowed ({row.unit}). {row.remark}")


def random_case(family: Block) -> Case:
    """A random case of a family, from what it says of itself; every tenth cell missing where it takes that."""
    rng = np.random.default_rng(0)
    levels = max(
        (np.shape(getattr(family, k))[-1] for k, f in family.fields_.items() if f.axes[-1] == "level"), default=2
    )
    x = {
        "real": lambda: rng.normal(1, 2, (N, D)),
        "amounts": lambda: rng.gamma(0.7, 3, (N, D)),
        "positive": lambda: np.exp(rng.normal(0.3, 0.7, (N, D))),
        "counts": lambda: rng.negative_binomial(1, 0.25, (N, D)).astype(float),
        "yes/no": lambda: rng.integers(0, 2, (N, D)).astype(float),
        "levels": lambda: rng.integers(0, levels, (N, D)).astype(float),
    }[family.cells_.kind]()
    sizes = {"class": C, "feature": D, "one": 1, "level": levels}
    block = replace(family, **{k: _random(getattr(family, k), f, sizes, rng) for k, f in family.fields_.items()})
    return make_case(block, x, rng)


def make_case(block: Block, x: np.ndarray, rng: np.random.Generator, *, missing: bool = True) -> Case:
    """A case of a prior and rows, with random labels; every tenth cell missing where the family takes that."""
    y = rng.permutation(np.arange(len(x)) % C)
    if missing and block.allows_missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    return Case(NaiveBayes(DirichletClasses(positive(rng, C)), {"x": block}), {"x": x}, y, rng)


def positive(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random hyperparameters between about 0.5 and 6: some sharp, some vague."""
    return rng.gamma(2, 1, shape) + 0.5


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random positive definite matrices with eigenvalues above 1."""
    root = rng.normal(size=shape)
    return root @ root.swapaxes(-1, -2) + np.eye(shape[-1])


def _random(value: Any, field: Field, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    if value is None or not set(field.axes) <= sizes.keys():
        raise ValueError(f"a field of axes {field.axes} cannot be drawn; `check_family` knows numbers and matrices")
    shape, middle = tuple(sizes[axis] for axis in field.axes), float(np.mean(value))
    if not field.fitted:
        return np.full(shape, middle)
    if field.support.kind == "matrix":
        return spread(rng, *shape)
    if field.support.kind == "degrees":
        return positive(rng, *shape) + sizes["feature"]
    return middle + rng.normal(0, 1, shape) if field.support.kind == "real" else middle * positive(rng, *shape) / 2.5


def require(holds: Any, what: str) -> None:
    """Raise an AssertionError that says what does not hold, also under `python -O`."""
    if not holds:
        raise AssertionError(what)


def assert_same(got: Any, want: Any, what: str = "", *, rtol: Scalar = 1e-12, atol: Scalar = 1e-12) -> None:
    """Leaf by leaf equality up to rounding: the default allows some thousand roundings of numbers of order one."""
    got, want = (in_floats(tree) if not isinstance(tree, Statistics) else tree.in_floats() for tree in (got, want))
    require(jax.tree.structure(got) == jax.tree.structure(want), f"{got} has not the structure of {want}")
    for (path, one), other in zip(jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=f"{what}{jax.tree_util.keystr(path)}")


def cast(tree: Any, xp: ModuleType, dtype: Any) -> Any:
    """Every leaf in another namespace and precision."""
    return jax.tree.map(lambda leaf: xp.asarray(leaf, dtype), tree)


def what_a_family_says_of_itself_is_true(case: Case) -> None:
    """JAX and files know the class; every field is declared; columns add up; parameters are NumPyro sites."""
    block, kind = case.block, type(case.block)
    require("__dataclass_fields__" in vars(kind), f"{kind.__name__} is no dataclass: write `@dataclass(frozen=True)`")
    known = not jax.tree_util.all_leaves([block])
    require(known, f"JAX takes {kind.__name__} for a single number: write `@pytree` above `@dataclass(frozen=True)`")
    data = {field.name for field in fields(block) if not field.metadata.get("static")}
    require({*block.fields_} == data, f"`fields_` declares {sorted(block.fields_)}, the fields are {sorted(data)}")
    require(kind in CLASSES.values(), "no file can name the class: define it at the top level of a module")
    block, names = case.posterior.blocks["x"], sorted(block.mean())
    require(sorted(block.parameters) == names, f"`parameters` has {sorted(block.parameters)}, `mean` {names}")
    sites = {key.removeprefix("log_").removeprefix("logit_") for key in block.parameters}
    for what, found in (("model", block.sites()), ("marginals", block.marginals())):
        require(found.keys() == sites, f"`{what}` has {sorted(found)}, `parameters` {sorted(sites)}")
    require(not block.cells_.wrong(case.x, None).any(), "`cells_` refuses cells that the family is tried on")
    if block.separable:
        parts = [(block.select(np.array([j])), case.x[:, [j]]) for j in range(case.x.shape[1])]
        assert_same(sum(part.log_predictive(x) for part, x in parts), block.log_predictive(case.x), rtol=1e-10)
        whole = block.log_marginal(block.suffstats(case.x, case.r)).sum()
        assert_same(sum(part.log_marginal(part.suffstats(x, case.r)).sum() for part, x in parts), whole, rtol=1e-11)


def statistics_add_and_subtract(case: Case) -> None:
    """Any split, merged in any order, gives the statistics of all rows; a part subtracted leaves the others."""
    for _ in range(20):
        order, cuts = case.rng.permutation(len(case.x)), np.sort(case.rng.integers(0, len(case.x), 3))
        a, b, c, d = (case.stats_of(part) for part in np.split(order, cuts))  # some parts are empty
        assert_same((a + b) + (c + d), case.stats)
        assert_same(d + (c + (b + a)), case.stats)
        assert_same(a + a.zero(), a, rtol=0.0, atol=0.0)
        assert_same(case.stats - d, a + b + c)


def updates_chain(case: Case) -> None:
    """Two updates are one with the sum; the evidence of both is the product of theirs."""
    a, b = case.stats_of(slice(0, 9)), case.stats_of(slice(9, None))
    assert_same(case.prior.update(a).update(b), case.posterior, "`update` in two steps and in one: ")
    gain = case.prior.log_marginal(a) + case.prior.update(a).log_marginal(b)
    assert_same(gain, case.prior.log_marginal(a + b), "`gain` of two steps, the second after `added`, and of one")


def weights_count_rows(case: Case) -> None:
    """A whole weight counts as so many copies of the row; weights may be a dense or a sparse table."""
    w, f = case.rng.integers(0, 4, len(case.x)), case.block.suffstats
    assert_same(f(case.x, one_hot(case.y, C, w)), f(np.repeat(case.x, w, 0), one_hot(np.repeat(case.y, w), C)))
    for r in (case.r.toarray(), case.rng.dirichlet(np.ones(C), len(case.x))):
        assert_same(f(case.x, r), f(case.x, sparse.csr_array(r)))


def _page(nb: NaiveBayes, x: Any, r: Any, theta: Any) -> dict[str, Any]:
    """What a model says of rows, and where it has learnt them."""
    stats = nb.suffstats({"x": x}, r)
    posterior = nb.update(stats)
    points = {"mean": posterior.mean(), "mode": posterior.mode(), "mle": posterior.mle(stats)}
    return {
        "stats": stats,
        "posterior": posterior,
        "evidence": nb.log_marginal(stats),
        "predictive": posterior.log_joint({"x": x}),
        "left out": posterior.log_loo({"x": x}, r),
        "likelihood": posterior.log_joint({"x": x}, theta),
        "moments": posterior.blocks["x"].log_moments(x),
        "log_prob": posterior.log_prob(theta),
    } | {name: posterior.to_sites(point) for name, point in points.items()}


def sparse_rows_equal_dense_rows(case: Case) -> None:
    """scipy.sparse rows give what dense rows give, with dense and with sparse weights."""
    x, theta = case.complete.x, case.posterior.sample(case.rng, (2,))
    for r in (case.r, case.r.toarray()):
        assert_same(_page(case.prior, sparse.csr_array(x), r, theta), _page(case.prior, x, r, theta))


def a_missing_cell_is_a_cell_left_out(case: Case) -> None:
    """A row with NaN in a column is a row of the model without that column."""
    x, block = case.complete.x[:1].copy(), case.posterior.blocks["x"]
    x[0, 1] = np.nan
    kept = np.delete(np.arange(x.shape[1]), 1)
    fewer, short = block.select(kept), x[:, kept]
    assert_same(block.log_predictive(x), fewer.log_predictive(short))
    if block.log_cumulants(x) is not None:
        assert_same(block.log_cumulants(x), fewer.log_cumulants(short))
    theta = block.sample(case.rng)
    assert_same(block.log_likelihood(theta, x), fewer.log_likelihood(block.select_parameters(theta, kept), short))
    r = np.full((1, C), 1 / C)
    evidence = block.log_marginal(block.suffstats(x, r)).sum()
    assert_same(evidence, fewer.log_marginal(fewer.suffstats(short, r)).sum())


def a_row_of_any_weight_is_left_out(case: Case) -> None:
    """Leave-one-out under weights, small and large, and soft labels, dense or sparse, some of them 0."""
    w = case.rng.choice([0.0, 0.3, 1.0, 2.5], len(case.x))
    soft = w[:, None] * case.rng.dirichlet(np.ones(C), len(case.x))
    soft[:5, 0] = 0
    for r in (case.r.toarray() * w[:, None], case.r.toarray() * (1e6 * w[:, None] + 1), soft):
        row = LAWS[2].row([*cases(case, case.rng, N, r)])
        require(row.passed, f"{row.figure:.1e}, where {row.threshold:.1e} is allowed. {row.remark}")
        posterior = case.prior.update(case.prior.suffstats(case.rows, r))
        assert_same(posterior.log_loo(case.rows, sparse.csr_array(r)), posterior.log_loo(case.rows, r))


def mode_on_the_boundary_is_a_point(case: Case) -> None:
    """Under concentrations below ½ the mode is finite, and so is the likelihood there."""
    low = jax.tree.map(lambda leaf: 0.5 * leaf / max(abs(leaf).max(), 1), case.prior)  # no concentration above ½
    flat = NaiveBayes(DirichletClasses(np.full(C, 0.5)), low.blocks)
    require(flat.on_boundary(), "`on_boundary` is False")  # at least the classes are
    mode = flat.to_sites(flat.mode())
    require(all(np.isfinite(value).all() for value in mode.values()), "the mode is not finite")
    require(np.isfinite(flat.log_joint({"x": case.x}, flat.mode())).all(), "the likelihood at the mode is not finite")


def draws_of_jax_follow_their_marginals(case: Case) -> None:
    """By mean and mean square of the normal scores of 4,000 draws."""
    posterior = case.posterior
    theta = jitted(lambda key: posterior.sample(key, (4000,)))(jax.random.key(3))
    scores = {}
    for name, block in {CLASS: posterior.classes, **posterior.blocks}.items():
        drawn = {parameter: np.asarray(value) for parameter, value in theta[name].items()}
        for site, u in draws_laws.marginal_transforms(block, drawn).items():
            scores[site] = draws_laws.scores_of(u)
    limit = limit_of(sum(z.size for z in scores.values()), RATE)
    for name, z in scores.items():
        require(abs(z).max() < limit, f"draws of {name} lie {abs(z).max():.1f} standard errors off")


def numpy_and_jax_agree(case: Case, dtype: str) -> None:
    """Every number here is a sum of at most some 200 terms below 1e2: 1,000 machine epsilons cover it."""
    inputs = case.prior, case.x, case.r.toarray(), case.posterior.sample(case.rng)
    want, tolerance = _page(*inputs), float(1000 * np.finfo(dtype).eps)
    with jax.enable_x64(dtype == "float64"):
        traced = jitted(_page)(*cast(inputs, jnp, dtype))
    found = {leaf.dtype.name for leaf in jax.tree.leaves(traced)}
    require(found == {dtype}, f"arrays of {dtype} give {sorted(found)}")
    on_host = _page(*cast(inputs, np, dtype))
    host = all(isinstance(leaf, np.ndarray | np.generic) for leaf in jax.tree.leaves(on_host))
    require(host, "NumPy arrays give arrays that are not NumPy's")
    for got in (traced, on_host):
        assert_same(got, want, rtol=tolerance, atol=tolerance)


def jax_maps_and_differentiates_the_evidence(case: Case) -> None:
    """Over the hyperparameters, along a random direction: the slope against a difference."""
    stats, theta = case.stats, cast(case.posterior.sample(case.rng), jnp, float)

    def total(prior: NaiveBayes) -> Any:
        return prior.log_marginal(stats) + prior.log_prob(theta)

    with jax.enable_x64(True):
        at = cast(case.prior, jnp, float)
        several = jax.jit(lambda nb: jax.vmap(total)(jax.tree.map(lambda leaf: leaf[None], nb)))
        check_grads(several, (at,), 1, ["rev"], atol=1e-12, rtol=1e-6, eps=1e-5)
