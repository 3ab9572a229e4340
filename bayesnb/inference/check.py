"""The check: every promise of a model on data, in rows that can each fail.

1. Bayes' identity at random θ: log p(θ, x, y) by NumPyro − log p(θ | x, y) − log p(x, y) in closed form is zero.
2. The mode in closed form, jitted, is a stationary point of NumPyro's log joint, and an optimiser started elsewhere
   finds no higher density.
3. The posterior: short chains started at exact draws end as exact draws (a); NUTS from dispersed starts agrees (b).
4. The prediction averaged over NUTS draws agrees with the closed form on held-out rows.

In rows 5 to 10 likelihood, predictive, leave-one-out, moments, estimates and marginals agree with evidence and density.
In rows 11 and 12 draws of parameters and new rows follow their densities. In row 13 intervals of class probabilities
agree with those of exact draws.

Rows 1, 2 and 5 to 10 are exact. Rows 3, 4, 11 and 12 are tests at a stated rate of false alarms, shared out evenly
between them and, inside each, over all quantities compared (Bonferroni).

Two parts are no rows of the check and cannot fail it: MAP beside the full posterior predictive on the held-out rows, by
the closed form and by draws; and dependence within a class, which is a finding about the data (`dependence`).
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.random import generator
from ..core.special import log_normalize
from ..sums.rows import rows_at
from .dependence import dependence
from .drawn_rows import drawn_rows
from .exact_rows import identity_row, mode_row
from .held_out import (
    N_DRAWN,
    differences,
    drawn_predictive,
    intervals_row,
    quality,
    split_halves,
    take_rows,
    widest_of_draws,
)
from .laws import closed_rows
from .problem import Problem, choose, count_features, sub_problem
from .report import CheckReport
from .sampled_rows import nuts_row, prediction_row, run_nuts, short_chains_row, thin

_EXACT_CELLS = 5_000_000  # rows × features of rows 1 and 2, written out for NumPyro
_ROWS, _ROWS_A_CLASS = 40, 4  # of the chains: more cost power in row 3b, fewer leave row 4 nothing (docs/check.md)
_CELLS = 1_500  # rows × features of the chains
_CLOSED_ROWS, _CLOSED_FEATURES = 60, 30  # at most, of rows 5 to 12
_HELD_OUT = 100  # rows of rows 4 and 13
_STATISTICAL = 5  # rows 3a, 3b, 4, 11 and 12


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
    """Fit a clone to one half of the rows and compare the closed form with NumPyro; the module lists the report rows.

    Parameters
    ----------
    estimator : a naive Bayes estimator of bayesnb
    X, y : rows and labels, at least two rows
    seed : seed of the split, of the random θ and of all chains
    false_alarm : probability that a correct model fails row 3a, 3b, 4, 11 or 12 by chance
    level : level of the credible intervals in the report
    progress_bar : whether NumPyro shows a progress bar for the NUTS chains

    Raises
    ------
    ValueError
        if there are fewer than two rows, if a setting is out of range, or if the model has no free parameter
    """
    for name, value in (("false_alarm", false_alarm), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"`{name}` is {value}; it needs to lie between 0 and 1")
    y = np.asarray(y)
    if len(y) < 2:
        raise ValueError(f"`y` has {len(y)} rows; the check fits one half and predicts the other, so give at least two")
    rng = generator(seed)
    train, test = split_halves(y, seed)
    fitted = clone(estimator).fit(take_rows(X, train), y[train])
    test = test[np.isin(y[test], fitted.classes_)]  # a class of a single row may be in the other half
    rows, index = fitted.encode(take_rows(X, train)), fitted.class_index(y[train])
    held_out, truth = fitted.encode(take_rows(X, test)), fitted.class_index(y[test])
    prior, c = fitted.prior_, len(fitted.classes_)
    prior.refuse_improper("draws from its generative model")
    if not prior.marginals():
        raise ValueError(f"{estimator!r} has no free parameter with these settings, so there is no posterior to check")
    d = count_features(rows)

    few = choose(rng, len(index), max(1, _EXACT_CELLS // d))
    whole = Problem.of(prior, rows_at(rows, few), index[few])
    exact = [identity_row(whole, rng), mode_row(whole, rng)]

    rate = false_alarm / _STATISTICAL
    main = sub_problem(rng, prior, rows, index, _CELLS, most=max(_ROWS, _ROWS_A_CLASS * c))
    sites = run_nuts(main, rng, seed, progress_bar)
    near = rows_at(held_out, choose(rng, len(truth), _HELD_OUT))
    sampled = [
        short_chains_row(main, rng, seed, rate),
        nuts_row(main, sites, rate),
        prediction_row(main, sites, thin(main, main.select(near), rng), rate),
    ]
    most = min(6 * c, _CLOSED_ROWS)
    small = sub_problem(rng, prior, rows, index, most * _CLOSED_FEATURES, most=most)
    closed = closed_rows(whole, small, rng)
    drawn = [*drawn_rows(small, rng, rate), intervals_row(fitted.posterior_, near, level, rng)]

    posterior = fitted.posterior_
    plug_in, predictive = posterior.log_joint(held_out, posterior.mode()), posterior.log_joint(held_out)
    by_draws, draws = drawn_predictive(posterior, held_out, predictive.argmax(1), rng)
    tables = {"MAP": plug_in, "predictive": predictive, f"predictive, {N_DRAWN} draws": by_draws}
    p = np.exp(log_normalize(predictive))
    return CheckReport(
        model=repr(estimator),
        rows=(*exact, *sampled, *closed, *drawn),
        quality=tuple(quality(name, d, table, truth) for name, table in tables.items()),
        widest=widest_of_draws(fitted.classes_, truth, test, p, draws, level),
        level=level,
        settings={
            "seed": seed,
            "false_alarm": false_alarm,
            "rows_fitted": len(train),
            "rows_held_out": len(test),
            "features": d,
            "classes": c,
            "identity_rows": len(few),
            "chain_rows": len(main.y),
            "chain_features": main.width,
            "closed_form_rows": len(small.y),
            "closed_form_features": small.width,
        },
        plug_in=differences(plug_in, predictive),
        dependence=dependence(fitted, rows, index, rng),
    )
