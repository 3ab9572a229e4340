"""The check of `DiscriminativeNB`: that of its naive Bayes model, its columns, and its weights against NumPyro.

14. Columns: t_i of some rows against the model made of the statistics without row i. Exact.
15. Density: −log p(y, u, B) by NumPyro, for given scales and constants included, at random parameters. Exact.
16. Mode: two compiled steps of Newton's method on NumPyro's density lead from the mode nowhere else. Exact.
17. Draws: class probabilities averaged over NUTS draws against those of Laplace's approximation. The threshold is a
    mean distance, not an error rate: in six tables of 45 to 200 rows it was 0.006 to 0.052.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.flatten_util import ravel_pytree
from numpyro import distributions as dist
from numpyro.infer.util import potential_energy
from sklearn.base import clone

from ..core.random import generator
from ..inference.chains import run_chains
from ..inference.held_out import quality, split_halves, take_rows
from ..inference.report import CheckReport, CheckRow
from ..statistics import one_hot
from ._column_weights import MIDDLE, SD_SHIFT, SPREAD, Regression, System, contrasts, draw, find_mode, height

_SAME_COLUMNS, _SAME_DENSITY, _SAME_MODE, _PROBABILITY = 1e-8, 1e-9, 1e-6, 0.06
_CHAINS, _DRAWS, _WARMUP, _LAPLACE, _MOST_ROWS, _LEFT_OUT = 2, 300, 300, 200, 400, 5
_SAYS = "The weights have the columns, the density, the mode and the draws of their model."


def numpyro_model(rows: Regression, scales: Any = None) -> None:
    """The regression in NumPyro: sites `w`, `B` and `y`, and `log_s` and `log_rho` unless the scales are given."""
    n, m, j = rows.t.shape
    if scales is None:
        names = zip(("log_s", "log_rho"), MIDDLE, SPREAD, strict=True)
        scales = jnp.exp(jnp.stack([numpyro.sample(name, dist.Normal(mean, sd)) for name, mean, sd in names]))
    w = numpyro.sample("w", dist.Exponential(1 / scales[0]).expand([j]).to_event(1))
    sd = jnp.full((rows.z.shape[1], m), scales[1]).at[-1].set(SD_SHIFT)
    b = numpyro.sample("B", dist.Normal(0.0, sd).to_event(2))
    eta = rows.offset + (jnp.asarray(rows.t) @ w + jnp.asarray(rows.z) @ b) @ contrasts(m + 1).T
    with numpyro.plate("row", n), numpyro.handlers.scale(scale=jnp.asarray(rows.weight)):
        numpyro.sample("y", dist.Categorical(logits=eta), obs=rows.label.argmax(1))


def check(estimator: Any, X: Any, y: Any, seed: int = 0, *, progress_bar: bool = False) -> CheckReport:
    """Fit clones to one half of the rows and compare; see `DiscriminativeNB.check`."""
    y = np.asarray(y).ravel()
    train, test = split_halves(y, seed)
    train = train[:_MOST_ROWS]
    fitted = clone(estimator).fit(take_rows(X, train), y[train])
    report = clone(fitted.reader_).check(X, y, seed, progress_bar=progress_bar)
    rows = check_rows(fitted, take_rows(X, train), y[train], seed, progress_bar)
    test = test[np.isin(y[test], fitted.classes_)]
    truth, log_p = np.searchsorted(fitted.classes_, y[test]), fitted.predict_log_proba(take_rows(X, test))
    better = quality("discriminative", fitted.n_features_in_, log_p, truth)
    return replace(report, model=repr(estimator), rows=(*report.rows, *rows), quality=(*report.quality, better))


def check_rows(fitted: Any, X: Any, y: Any, seed: int = 0, progress_bar: bool = False) -> list[CheckRow]:
    """The four comparisons of a fitted classifier."""
    training, rng = fitted.training(X, y)[:4], generator(seed)
    rows = fitted.left_out(*training)
    mode = find_mode(rows, fitted.modes_[0], 1e-16)
    model, flat = partial(numpyro_model, rows, mode.scales), np.r_[mode.b.ravel(), np.log(mode.w)]
    with jax.enable_x64(True):
        unravel = ravel_pytree({"B": mode.b, "w": mode.w})[1]
        energy = jax.jit(lambda u: potential_energy(model, (), {}, unravel(u)))
        points = flat + 0.1 * rng.standard_normal((8, len(flat)))
        moved = [replace(mode, b=at[: mode.b.size].reshape(mode.b.shape), w=np.exp(at[mode.b.size :])) for at in points]
        ours = np.array([height(rows, one)[0] for one in moved]) + mode.b.size * np.log(2 * np.pi) / 2
        worst = float(max(abs(ours / np.array([float(energy(at)) for at in points]) - 1)))
        step = jax.jit(lambda u: u - jnp.linalg.solve(jax.hessian(energy)(u), jax.grad(energy)(u)))
        gap = float(abs(step(step(flat)) - flat).max())
    inverse = np.stack([System(rows, mode, height(rows, mode)[1]).solve(one) for one in np.eye(len(flat))])
    order = np.roll(np.arange(len(flat)), -len(mode.w))  # NumPyro's sites are B and w
    drawn = draw(rows, (replace(mode, share=1.0),), _LAPLACE, seed)
    starts = {"B": drawn[1][:_CHAINS], "w": np.log(drawn[0][:_CHAINS])}
    metric = inverse[np.ix_(order, order)]
    chains = run_chains(model, starts, metric, seed, draws=_DRAWS, warmup=_WARMUP, progress_bar=progress_bar)
    by_nuts, by_laplace = (
        np.mean([np.exp(rows.log_proba(*one)) for one in zip(*pair, strict=True)], 0)
        for pair in ([chains[name].reshape(-1, *chains[name].shape[2:])[::3] for name in ("w", "B")], drawn)
    )
    columns, draws = _left_out_gap(fitted, rows, training, rng), float(abs(by_nuts - by_laplace).mean())
    row = partial(CheckRow.within, meaning=_SAYS, remark="")
    exact = "exact in theory; rounding leaves some 1e-12"
    return [
        row("14 Weights, columns", figure=columns, threshold=_SAME_COLUMNS, unit="nats", reason=exact),
        row("15 Weights, density", figure=worst, threshold=_SAME_DENSITY, unit="relative", reason=exact),
        row("16 Weights, mode", figure=gap, threshold=_SAME_MODE, unit="log w, B", reason=exact),
        row("17 Weights, draws", figure=draws, threshold=_PROBABILITY, unit="probability", reason="an approximation"),
    ]


def _left_out_gap(fitted: Any, rows: Regression, training: Any, rng: np.random.Generator) -> float:
    """The largest difference of t_i from that of a model of columns which never knew row i."""
    (cells, label, weight, _), nb, worst = training, fitted.models_[0], 0.0
    encoded = nb.encode(fitted.layout_.columns(cells)[0])
    for i in rng.choice(len(label), min(_LEFT_OUT, len(label)), replace=False):
        row = {name: x[[i]] for name, x in encoded.items()}
        own = one_hot(nb.class_index(label[[i]]), len(nb.classes_), weight[[i]])
        other = nb.prior_.update(nb.statistics_without(nb.prior_.suffstats(row, own)))
        t = fitted.regression(cells[[i]], other.log_parts(row, [*nb.part_blocks().values()])).t
        worst = max(worst, float(abs(t - rows.t[[i], :, : t.shape[2]]).max()))
    return worst
