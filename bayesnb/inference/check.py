"""The check: every promise of a model on data, in rows that can each fail.

1. Bayes' identity at random θ: log p(θ, x, y) by NumPyro − log p(θ | x, y) − log p(x, y) in closed form is zero.
2. The mode in closed form, jitted, is a stationary point of NumPyro's log joint, and an optimiser started elsewhere
   finds no higher density.
3. The posterior: short chains started at exact draws end as exact draws (a); NUTS from dispersed starts agrees (b).
4. The prediction averaged over NUTS draws agrees with the closed form on held-out rows.

In rows 5 to 9 likelihood, predictive, leave-one-out, moments and estimates agree with evidence and density. In rows 10
and 11 draws of parameters and new rows follow their densities. In row 12 intervals of class probabilities agree with
those of exact draws.

Rows 1, 2 and 5 to 9 are exact. Rows 3, 4, 10 and 11 are tests at a stated rate of false alarms, shared out evenly
between them and, inside each, over all quantities compared (Bonferroni).

Two parts are no rows of the check and cannot fail it: MAP beside the full posterior predictive on the held-out rows, by
the closed form and by draws; and dependence within a class, which is a finding about the data (`dependence`).
"""

import functools
import math
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.random import generator
from ..naive_bayes import NaiveBayes, Rows
from ..sums.rows import rows_at
from .against_numpyro import identity_row, mode_row, nuts_row, prediction_row, short_chains_row, thin
from .chains import run_nuts
from .dependence import dependence
from .draws import drawn_rows, intervals_row
from .held_out import differences, quality, split_halves, take_rows
from .laws import Problem, choose, closed_rows
from .posterior import dense
from .report import CheckReport

_EXACT_CELLS = 5_000_000  # rows × features of rows 1 and 2, written out for NumPyro
_ROWS, _ROWS_A_CLASS = 40, 4  # of the chains: more cost power in row 3b, fewer leave row 4 nothing (docs/check.md)
_CELLS = 1_500  # rows × features of the chains
_CHAINS, _DRAWS, _WARMUP = 4, 1_000, 500
_CLOSED_ROWS, _CLOSED_FEATURES = 60, 30  # at most, of rows 5 to 11
_HELD_OUT = 100  # rows of rows 4 and 13
_DRAWN = 400  # of the predictive by draws
_STATISTICAL = 5  # rows 3a, 3b, 4, 10 and 11


def check(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    seed: int = 0,
    false_alarm: float = 0.01,
) -> CheckReport:
    """Fit a clone to one half of the rows and compare the closed form with NumPyro; the module lists the report rows.

    Parameters
    ----------
    estimator : a naive Bayes estimator of bayesnb
    X, y : rows and labels, at least two rows
    seed : seed of the split, of the random θ and of all chains
    false_alarm : probability that a correct model fails row 3a, 3b, 4, 10 or 11 by chance

    Raises
    ------
    ValueError
        if there are fewer than two rows, if a setting is out of range, or if the model has no free parameter
    """
    if not 0 < false_alarm < 1:
        raise ValueError(f"`false_alarm` is {false_alarm}; it needs to lie between 0 and 1")
    y = np.asarray(y)
    if len(y) < 2:
        raise ValueError(f"`y` has {len(y)} rows; the check fits one half and predicts the other, so give at least two")
    rng = generator(seed)
    train, test = split_halves(y, seed)
    fitted = clone(estimator).fit(take_rows(X, train), y[train])
    test = test[np.isin(y[test], fitted.classes_)]  # a class of a single row may be in the other half
    rows, index = fitted.encode(take_rows(X, train)), fitted.class_index(y[train])
    held_out, truth = fitted.encode(take_rows(X, test)), fitted.class_index(y[test])
    prior, posterior, c = fitted.prior_, fitted.posterior_, len(fitted.classes_)
    prior.refuse_improper("draws from its generative model")
    if not prior.marginals():
        raise ValueError(f"{estimator!r} has no free parameter with these settings, so there is no posterior to check")
    d = sum(x.shape[1] for x in rows.values())

    few = choose(rng, len(index), max(1, _EXACT_CELLS // d))
    whole = Problem(prior, dense(rows_at(rows, few)), index[few])
    report = [identity_row(whole, rng), mode_row(whole, rng)]

    rate = false_alarm / _STATISTICAL
    main, columns = sub_problem(rng, prior, rows, index, _CELLS, most=max(_ROWS, _ROWS_A_CLASS * c))
    sites, _ = run_nuts(main.model, main.posterior, rng, seed + 1, _CHAINS, draws=_DRAWS, warmup=_WARMUP)
    near = rows_at(held_out, choose(rng, len(truth), _HELD_OUT))
    new = thin(main.prior, dense({name: near[name][:, at] for name, at in columns.items()}), rng)
    report += [short_chains_row(main, rng, seed, rate), nuts_row(main, sites, rate)]
    report.append(prediction_row(main, sites, new, rate))
    most = min(6 * c, _CLOSED_ROWS)
    small, _ = sub_problem(rng, prior, rows, index, most * _CLOSED_FEATURES, most=most)
    report += [*closed_rows(whole, small, rng), *drawn_rows(small, rng, rate)]
    report.append(intervals_row(posterior, near, rng))

    plug_in, predictive = posterior.log_joint(held_out, posterior.mode()), posterior.log_joint(held_out)
    drawn = (posterior.log_joint(held_out, posterior.sample(rng)) for _ in range(_DRAWN))
    by_draws = functools.reduce(np.logaddexp, drawn)
    tables = {"MAP": plug_in, "predictive": predictive, f"predictive, {_DRAWN} draws": by_draws - np.log(_DRAWN)}
    return CheckReport(
        model=repr(estimator),
        rows=tuple(report),
        quality=tuple(quality(name, d, table, truth) for name, table in tables.items()),
        settings={
            "seed": seed,
            "false_alarm": false_alarm,
            "rows_fitted": len(train),
            "rows_held_out": len(test),
            "features": d,
            "classes": c,
        },
        plug_in=differences(plug_in, predictive),
        dependence=dependence(fitted, rows, index, rng),
    )


def sub_problem(
    rng: np.random.Generator, prior: NaiveBayes, rows: Rows, y: np.ndarray, cells: int, most: int
) -> tuple[Problem, dict[str, np.ndarray]]:
    """A random subset of at most `most` rows, and of as many features as the cells allow; and these of each block.

    Fewer where features are coupled: a covariance matrix has the square of them.

    Given the class the posterior factorises over the features, so the model of some of them is a model of its own; for
    a multinomial it is that of the counts among the chosen events.
    """
    few = choose(rng, len(y), most)
    names = np.concatenate([np.full(x.shape[1], name) for name, x in rows.items()])
    places = np.concatenate([np.arange(x.shape[1]) for x in rows.values()])
    width = cells // len(few)
    kept = choose(rng, len(names), max(2, math.isqrt(width) // 2 if prior.coupled else width))
    columns = {name: places[kept[names[kept] == name]] for name in rows if (names[kept] == name).any()}
    blocks = {name: prior.blocks[name].select(at) for name, at in columns.items()}
    chosen = dense({name: rows[name][few][:, at] for name, at in columns.items()})
    return Problem(NaiveBayes(prior.classes, blocks), chosen, y[few]), columns
