"""How good a model is: calibration of its probabilities, comparison with other models, the check against NumPyro."""

from typing import Any

import numpy as np
from scipy import signal, stats

from ..analysis.score_split import monotone, score_split
from ..core.arrays import Scalar
from ..core.supports import check_least, check_level
from ._common import (
    Drawn,
    colour,
    given_or_new,
    ink,
    intervals,
    legend_beside,
    line,
    list_down,
    plain_text,
    two_axes,
)


def calibration(
    event: Any,
    probability: Any,
    *,
    by: Any = None,
    bins: int = 15,
    level: Scalar = 0.95,
    ax: Drawn | None = None,
) -> Drawn:
    """Calibration: the share of events against the mean predicted probability, in bins of about equally many rows.

    The bars are a simultaneous band. If the probabilities are true and the rows independent, all points lie inside with
    a probability of at least `level`. The number of events of a bin then has exactly the distribution of Σ_i
    Bernoulli(p_i). The bins are independent, so each has the level `level`^(1/bins), with equal tails. Points outside
    the band are crosses.

    Rows are sorted into bins by `probability`, and rows with the same probability share a bin. This needs probabilities
    of held-out rows. The leave-one-out probability of a label is slightly smaller in rows that have that label. Among
    rows that are nearly alike, sorting by it would therefore sort by label. Sort leave-one-out probabilities `by` those
    with random fifths of the rows left out, as in the second example.

    Parameters
    ----------
    event : (n,) whether the event happened: `y == "spam"`, or `estimator.predict(X) == y` for the most probable label
    probability : (n,) its predicted probability: `p[:, 1]`, or `p.max(1)`
    by : (n,) numbers by which rows are sorted into bins, by default `probability`
    bins : largest number of bins; there are fewer if many rows have the same number in `by`
    level : level of the whole band

    Raises
    ------
    ValueError
        if `event`, `probability` and `by` differ in length or hold other values, or if a setting is out of range

    References
    ----------
    Bröcker & Smith (2007), Increasing the reliability of reliability diagrams, Weather and Forecasting 22: bars of what
    is consistent with calibrated forecasts, one bin at a time and by resampling.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import plots
    >>> p = np.random.default_rng(0).random(500)
    >>> ax = plots.calibration(np.random.default_rng(1).random(500) < p, p, bins=5)

    >>> import bayesnb
    >>> votes = bayesnb.datasets.load("votes")
    >>> nb = bayesnb.CategoricalNB().fit(votes.X, votes.y)
    >>> fifths = np.random.default_rng(0).permutation(len(votes.y)) % 5
    >>> p, held_out = nb.loo(votes.X, votes.y).proba, nb.loo(votes.X, votes.y, groups=fifths).proba
    >>> ax = plots.calibration(votes.y == "republican", p[:, 1], by=held_out[:, 1])
    """
    check_level(level)
    check_least(1, bins=bins)
    happened, p = _forecasts(event, probability)
    key = p if by is None else np.asarray(by, float)
    if key.shape != p.shape or np.isnan(key).any():
        raise ValueError(f"`by` has shape {key.shape}; it needs one number, not NaN, for each of {len(p)} rows")
    parts = _bins(key, bins)
    tail = (1 - level ** (1 / len(parts))) / 2
    mean = np.array([p[part].mean() for part in parts])
    share = np.array([happened[part].mean() for part in parts])
    low, high = np.array([_central(p[part], tail) for part in parts]).T
    inside = (low <= share) & (share <= high)
    ax = given_or_new(ax)
    ax.plot([0, 1], [0, 1], color=ink(ax), linewidth=0.8, linestyle=":", label="calibrated")
    ax.vlines(mean, low, high, color=colour(5), linewidth=5, alpha=0.5, label=f"simultaneous {level:.0%} band")
    for marks, shape, name in ((inside, "o", "inside"), (~inside, "X", "outside")):
        if marks.any():
            ax.plot(mean[marks], share[marks], shape, color=ink(ax), markersize=5, linestyle="", label=name)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted probability", ylabel="share of events")
    ax.legend(frameon=False, loc="upper left")
    return ax


def reliability(
    event: Any, probability: Any, *, level: Scalar = 0.9, n_draws: int = 200, seed: int = 0, ax: Drawn | None = None
) -> Drawn:
    """Reliability diagram without bins: the share of events as a non-decreasing function of the probability.

    The curve is the isotonic regression of the events (pool adjacent violators). The band holds such curves of events
    that are drawn from the probabilities, at each probability with mass `level`: where the curve leaves it, the
    probabilities are not what they say. The Brier score is split into miscalibration (MCB), discrimination (DSC)
    and uncertainty (UNC): score = MCB − DSC + UNC. The ticks on the axis are the rows.

    Parameters
    ----------
    event : (n,) whether the event happened: `y == "spam"`, or `estimator.predict(X) == y` for the most probable label
    probability : (n,) its predicted probability, by a model that has not seen the row: `p[:, 1]`, or `p.max(1)`
    level : mass of the band at each probability
    n_draws, seed : draws of the events

    Raises
    ------
    ValueError
        if `event` and `probability` differ in length or hold other values, or if a setting is out of range

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import plots
    >>> p = np.random.default_rng(0).random(500)
    >>> ax = plots.reliability(np.random.default_rng(1).random(500) < p**2, p)
    """
    check_level(level)
    check_least(2, n_draws=n_draws)
    happened, p = _forecasts(event, probability)
    order = np.argsort(p, kind="stable")
    y, p = happened[order].astype(float), p[order]
    rng = np.random.default_rng(seed)
    curves = [monotone((rng.random(len(p)) < p).astype(float), p) for _ in range(n_draws)]
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    split = score_split(y, p, "brier")
    names = ("Brier", "MCB", "DSC", "UNC")
    ax = given_or_new(ax)
    ax.plot([0, 1], [0, 1], color=ink(ax), linewidth=0.8, linestyle=":", label="calibrated")
    ax.fill_between(p, low, high, color=colour(5), alpha=0.4, linewidth=0, label=f"{level:.0%} band")
    ax.plot(p, monotone(y, p), color=ink(ax), linewidth=1.5, label="share of events")
    ax.plot(p, np.zeros_like(p), "|", color=ink(ax), markersize=6, alpha=0.3, clip_on=False)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted probability", ylabel="share of events")
    said = "\n".join(f"{name} {part:.3f}" for name, part in zip(names, split, strict=True))
    ax.text(0.97, 0.05, said, transform=ax.transAxes, ha="right", color=ink(ax))
    ax.legend(frameon=False, loc="upper left")
    return ax


def comparison(result: Any, *, axes: Any = None) -> Any:
    """Compare models: leave-one-out relative to the best, and evidence relative to the largest, one row a model.

    Parameters
    ----------
    result : result of `bayesnb.compare`, or its table
    axes : two Axes to draw on

    Returns
    -------
    array of two Axes
        elpd_diff ± se_diff, and log_bayes_factor, in nats. A model without an evidence has no point

    Raises
    ------
    ValueError
        if `result` is not such a table, or `axes` are not two

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianDA, GaussianNB, compare, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"independent": GaussianNB(), "covariance": GaussianDA()}, X, y)
    >>> axes = plots.comparison(found)
    """
    table = getattr(result, "table", result)
    missing = [k for k in ("elpd_diff", "se_diff", "log_bayes_factor") if k not in getattr(table, "columns", ())]
    if missing:
        raise ValueError(f"`result` has no column {missing[0]!r}; give what `bayesnb.compare` returns")
    pair = two_axes(axes, sharey=True, figsize=(8, 1.2 + 0.4 * len(table)))
    at, diff, error = np.arange(len(table)), table["elpd_diff"].to_numpy(), table["se_diff"].to_numpy()
    factor = table["log_bayes_factor"].to_numpy(float)
    for ax, point, spread in ((pair[0], diff, error), (pair[1], factor, 0 * factor)):
        ax.axvline(0, color=ink(ax), linewidth=0.8, linestyle=":")
        intervals(ax, at, point - spread, point, point + spread, color=ink(ax), marker="o")
        list_down(ax, table.index)
        ax.locator_params(axis="x", nbins=5)
    pair[0].set_xlabel("elpd difference ± standard error, nats")
    pair[1].set_xlabel("log Bayes factor, nats")
    return pair


def pit(report: Any, *, ax: Drawn | None = None) -> Drawn:
    """Where the short chains of a check end under the exact posterior: ECDF of their transforms minus the uniform.

    Each parameter has one curve. The states x of row 3a become u = F(x), with F the posterior distribution function in
    closed form. If the closed form and the sampler agree, u is uniform. The band belongs to the Kolmogorov–Smirnov
    tests of this row. It is simultaneous over u and, by Bonferroni, over the parameters. A curve leaves the band
    exactly if row 3a fails.

    Parameters
    ----------
    report : result of `estimator.check`

    Raises
    ------
    ValueError
        if the report has no transforms

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayesnb import GaussianNB, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> nb = GaussianNB().fit(X, y)
    >>> ax = plots.pit(nb.check(X, y, seed=0))
    """
    row = next((row for row in getattr(report, "rows", ()) if getattr(row, "pit", None)), None)
    if row is None:
        raise ValueError(
            f"`report` is a {type(report).__name__} without transforms; give what `estimator.check` returns"
        )
    ax = given_or_new(ax)
    for k, (site, u) in enumerate(row.pit.items()):
        n = len(u)
        steps = np.repeat(np.arange(n + 1) / n, 2)[1:-1]  # before and after each jump
        for i, column in enumerate(np.sort(u, 0).T):
            x = np.repeat(column, 2)
            name = plain_text(site) if i == 0 else None
            ax.plot(x, steps - x, linewidth=0.7, alpha=0.8, label=name, rasterized=True, **line(k))
    edge = float(stats.kstwo.isf(row.threshold, n))
    ax.axhspan(-edge, edge, color=colour(5), alpha=0.2, zorder=0, linewidth=0, label="band of the test")
    ax.axhline(0, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set(xlim=(0, 1), xlabel="probability under the exact posterior", ylabel="distribution function − uniform")
    legend_beside(ax, title="parameter")
    return ax


def _forecasts(event: Any, probability: Any) -> tuple[np.ndarray, np.ndarray]:
    """Events and their probabilities, checked."""
    happened, p = np.asarray(event), np.asarray(probability, float)
    if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"`probability` has shape {p.shape}; it needs numbers between 0 and 1, one a row")
    if happened.shape != p.shape or not np.isin(happened, [0, 1]).all():
        raise ValueError(f"`event` has shape {happened.shape}; it needs True or False for each of {len(p)} rows")
    return happened.astype(bool), p


def _bins(by: np.ndarray, bins: int) -> list[np.ndarray]:
    """Rows in the order of a number, cut into bins of about equally many; rows with the same number share a bin."""
    order = np.argsort(by, kind="stable")
    differ = ~np.isclose(by[order[1:]], by[order[:-1]], rtol=1e-9, atol=0)  # more than by rounding
    ends = np.concatenate([[0], np.flatnonzero(differ) + 1, [len(by)]])
    wanted = np.arange(1, bins) * len(by) / bins
    after = np.searchsorted(ends, wanted)
    cuts = np.where(wanted - ends[after - 1] < ends[after] - wanted, ends[after - 1], ends[after])
    return [part for part in np.split(order, np.unique(cuts)) if len(part)]


def _central(p: np.ndarray, tail: float) -> tuple[float, float]:
    """Shares of events between which Σ_i Bernoulli(p_i) lies, with at most `tail` beyond either end."""
    mass = np.stack([1 - p, p], 1)
    while len(mass) > 1:  # the laws of two sums make that of their sum
        if len(mass) % 2:
            mass = np.append(mass, np.eye(1, mass.shape[1]), 0)
        mass = signal.fftconvolve(mass[::2], mass[1::2], axes=1)
    below = np.cumsum(mass[0])
    above = np.cumsum(mass[0][::-1])[::-1]
    inside = np.flatnonzero((below > tail) & (above > tail))
    return inside[0] / len(p), inside[-1] / len(p)
