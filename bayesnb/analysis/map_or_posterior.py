"""MAP or the whole posterior: the class probabilities of new rows by one θ, and by all of them.

    MAP               p(c | x, θ̂),  θ̂ the joint mode of the parameters, by a program that JAX compiles
    predictive        ∫ p(x, c | θ) p(θ | D) dθ, normalised: the closed form, `predict_proba`
    posterior mean    ∫ p(c | x, θ) p(θ | D) dθ, by exact draws, with an interval
    NUTS              the same integral and interval, by NumPyro's NUTS on the NumPyro twin

The last two are one number by two routes, so that they differ by Monte Carlo error alone. The predictive is another
average: it is the mean of p(c | x, θ) under p(θ | D, x), so that the new row itself speaks of θ too.

How far the MAP is from the posterior is measured where it matters, in log odds of the most probable class, and in units
of the posterior's own spread:

    distance_i = |logit p(c | x_i, θ̂) − logit mean_i| / sd of logit p(c | x_i, θ) over the posterior

Whether the MAP lies in the interval is no score. The share of rows outside grows with the number of columns, depends on
the coordinates that the mode is taken in, and is one where a parameter of the MAP is 0; so it stands beside its cause.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from ..core.arrays import Float, Int, Scalar
from ..core.progress import progress
from ..core.special import log_normalize
from ..core.supports import check_least, check_level
from ..inference.given_draws import log_joint_chunks, parameters_of
from ..inference.intervals import fix_seed, log_probability_draws
from ..inference.posterior import dense
from ..naive_bayes import NaiveBayes, Rows
from ._suited import check_independent

_MOST_CELLS = 20_000  # of the training rows that NUTS runs on; beyond, it runs on their sums, the same density of θ
MAP, PREDICTIVE, MEAN, NUTS = "MAP", "predictive", "posterior mean", "posterior mean by NUTS"


@dataclass(frozen=True)
class MapOrPosterior:
    """Class probabilities of new rows by the MAP and by the posterior. `print` shows the summary.

    Attributes
    ----------
    frame : data frame with a row for each new row and class
        row, class_                    position of the row, and the label
        map, predictive, mean          its probability by the MAP, by the closed form, and its posterior mean
        low, high                      the interval of the posterior, by exact draws
        nuts_mean, nuts_low, nuts_high the same by NUTS; only if it ran
    summary : data frame with a row for each way to predict
        seconds                        of the fit and the prediction of all new rows, with compiling
        log_loss                       nats a row; with labels of the new rows alone, as the two below
        difference, se                 its log loss minus that of the predictive, and the paired standard error
    distance : pandas.Series, (n,)
        of each new row |log odds of the MAP − log odds of the posterior mean| of the most probable class, in standard
        deviations of the posterior's log odds
    changed : (k,) positions of the rows whose label is another by the MAP than by the posterior mean
    outside : (m,) positions of the rows whose MAP probability is outside of the interval
    is_on_boundary : whether a parameter of the MAP is on the boundary of its space, such as a probability of 0
    level : posterior mass of the intervals
    nuts_data : what NUTS ran on, "rows" or "sums of the rows"; None where it did not run
    classes : (c,) the labels
    """

    frame: pd.DataFrame
    summary: pd.DataFrame
    distance: pd.Series
    changed: Int[np.ndarray, " k"]
    outside: Int[np.ndarray, " m"]
    is_on_boundary: bool
    level: float
    nuts_data: str | None
    classes: np.ndarray

    def __str__(self) -> str:
        n = len(self.distance)
        median, ninety = np.quantile(self.distance, [0.5, 0.9])
        cause = ", and a parameter of the MAP is on its boundary" if self.is_on_boundary else ""
        lines = [
            self.summary.to_string(float_format="{:.4f}".format, na_rep=""),
            f"MAP from the posterior mean: {median:.2f} standard deviations of the log odds in the median row, "
            f"{ninety:.2f} or more in a tenth",
            f"labels that change: {len(self.changed)} of {n}",
            f"MAP outside of the {self.level:.0%} interval: {len(self.outside)} of {n} rows. This is no score: it "
            f"grows with the columns{cause}",
        ]
        if self.nuts_data is not None:
            gap = abs(self.frame["nuts_mean"] - self.frame["mean"])
            lines.append(
                f"NUTS on {self.nuts_data}: its mean differs from that of exact draws by {gap.mean():.4f} on average, "
                f"{gap.max():.4f} at most"
            )
        return "\n".join(lines)


def map_or_posterior(
    estimator: Any,
    X: Any,
    y: Any,
    X_new: Any,
    y_new: Any = None,
    *,
    level: Scalar = 0.9,
    n_draws: int = 2000,
    nuts: bool = True,
    chains: int = 4,
    warmup: int = 500,
    seed: int = 0,
) -> MapOrPosterior:
    """Compare the jitted MAP with the posterior predictive and with the posterior of p(y | x, θ), on new rows.

    Parameters
    ----------
    estimator : an estimator of one naive Bayes model; it is cloned and fitted to `X` and `y`. `estimate` is not used
    X, y : training rows and labels
    X_new, y_new : new rows, and their labels if the ways to predict are to be scored
    level : posterior mass of the intervals
    n_draws : exact draws of the parameters, and draws of NUTS of all chains together
    nuts : whether NUTS runs on the NumPyro twin. It takes seconds to minutes, and needs a proper prior
    chains, warmup : of NUTS
    seed : of all draws

    Raises
    ------
    ValueError
        if rows and labels differ in length, a label of `y_new` is unknown, or a setting is out of range

    Notes
    -----
    NUTS runs on the rows where they have at most 20,000 cells. Beyond, it runs on the sums of all rows, which is the
    same density of θ: `nuts_data` says which it was.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from bayesnb import GaussianNB, map_or_posterior
    >>> few = slice(0, None, 10)  # 15 rows
    >>> result = map_or_posterior(GaussianNB(), X[few], y[few], X, y, nuts=False)
    >>> result.summary["log_loss"].round(2).to_dict()
    {'MAP': 0.36, 'predictive': 0.25, 'posterior mean': 0.25}
    """
    check_independent(estimator, "the MAP and the posterior of one model")
    check_level(level)
    check_least(2, n_draws=n_draws)
    check_least(1, chains=chains, warmup=warmup)
    nb = clone(estimator).set_params(estimate="predictive").fit(X, y)
    rows = nb.encode(X_new)
    index = None
    if y_new is not None:
        check_consistent_length(X_new, y_new)
        index = nb.class_index(y_new)
    by_map = _timed("MAP", lambda: jitted_map(nb, X, y, rows))
    by_predictive = _timed("predictive", lambda: nb.predict_log_proba(X_new))
    by_draws = _timed("exact draws", lambda: _of_exact_draws(nb.posterior_, rows, level, n_draws, seed))
    exact: PosteriorOfProba = by_draws.result
    log_p = {MAP: by_map.result, PREDICTIVE: by_predictive.result, MEAN: exact.log_mean}
    seconds = {MAP: by_map.seconds, PREDICTIVE: by_predictive.seconds, MEAN: by_draws.seconds}
    of_nuts = None
    nuts_data = None
    if nuts:
        n_cells = len(nb.class_index(y)) * nb.n_features_in_
        nuts_data = "rows" if n_cells <= _MOST_CELLS else "sums of the rows"
        settings = {"draws": -(-n_draws // chains), "chains": chains, "warmup": warmup, "seed": seed}
        by_nuts = _timed("NUTS", lambda: _of_nuts(nb, X, y, rows, level, nuts_data == "rows", settings))
        of_nuts = by_nuts.result
        log_p[NUTS], seconds[NUTS] = of_nuts.log_mean, by_nuts.seconds
    top = exact.log_mean.argmax(1)
    is_outside = _at(by_map.result, top) < _at(np.log(exact.low), top)
    is_outside |= _at(by_map.result, top) > _at(np.log(exact.high), top)
    return MapOrPosterior(
        frame=_frame(nb.classes_, log_p, exact, of_nuts),
        summary=_summary(log_p, seconds, index),
        distance=pd.Series(_distance(by_map.result, exact, top), name="distance"),
        changed=np.flatnonzero(by_map.result.argmax(1) != top),
        outside=np.flatnonzero(is_outside),
        is_on_boundary=bool(nb.posterior_.on_boundary()),
        level=float(level),
        nuts_data=nuts_data,
        classes=nb.classes_,
    )


class _Timed(NamedTuple):
    """What a piece of work returned, and how long it took."""

    result: Any
    seconds: float


def _timed(name: str, work: Any) -> _Timed:
    start = perf_counter()
    with progress(name):
        result = work()
    return _Timed(result, perf_counter() - start)


# --- the ways to predict --------------------------------------------------------------------------------------------


def jitted_map(nb: Any, X: Any, y: Any, rows: Rows) -> Float[np.ndarray, "n c"]:
    """log p(c | x_i, θ̂) of encoded rows, with the fit, its mode and the prediction in one program of JAX, in float64.

    A probability of 0 of the MAP is the smallest positive number, as `estimate="map"` has it.
    """
    import jax

    prior: NaiveBayes = nb.prior_
    training, index = nb.encode_labelled(X, y)

    @jax.jit
    def program(training: Rows, index: Any, rows: Rows) -> Any:
        posterior = prior.condition(training, index)  # whose cells a kernel density needs beside θ
        return log_normalize(posterior.log_joint(rows, posterior.mode()))

    with jax.enable_x64(True):
        return np.asarray(program(dense(training), index, dense(rows)))


class PosteriorOfProba(NamedTuple):
    """The posterior of class probabilities.

    Fields
    ------
    log_mean : (n, c)          logarithm of the posterior mean of p(c | x_i, θ)
    low, high : (n, c)         ends of its interval
    log_odds_spread : (n, c)   standard deviation of logit p(c | x_i, θ)
    """

    log_mean: Float[np.ndarray, "n c"]
    low: Float[np.ndarray, "n c"]
    high: Float[np.ndarray, "n c"]
    log_odds_spread: Float[np.ndarray, "n c"]


def _of_exact_draws(model: Any, rows: Rows, level: Scalar, n_draws: int, seed: int) -> PosteriorOfProba:
    """By independent draws of θ from the closed form."""
    draws = log_probability_draws(model, rows, n_draws, fix_seed(seed))
    return _summarised((log_p for _, log_p in draws), level)


def _of_nuts(
    nb: Any, X: Any, y: Any, rows: Rows, level: Scalar, is_on_rows: bool, settings: dict[str, int]
) -> PosteriorOfProba:
    """By NumPyro's NUTS, on the training rows or on their sums."""
    data = {"X": X, "y": y} if is_on_rows else {}
    theta = parameters_of(nb.posterior_, nb.sample_posterior(method="nuts", **data, **settings))
    chunks = log_joint_chunks(nb.posterior_, rows, theta)
    return _summarised((np.moveaxis(log_normalize(log_joint), 0, -1) for _, log_joint in chunks), level)


def _summarised(chunks: Iterator[Float[np.ndarray, "m c s"]], level: Scalar) -> PosteriorOfProba:
    """Mean, interval and spread of log p (m, c, s) at draws of θ, for some rows at a time."""
    ends = (1 - level) / 2, (1 + level) / 2
    parts = []
    for log_p in chunks:
        log_mean = np.logaddexp.reduce(log_p, axis=-1) - np.log(log_p.shape[-1])
        low, high = np.exp(np.quantile(log_p, ends, axis=-1))
        parts.append(PosteriorOfProba(log_mean, low, high, _log_odds(log_p).std(-1)))
    return PosteriorOfProba(*(np.concatenate(tables) for tables in zip(*parts, strict=True)))


def _log_odds(log_p: Float[np.ndarray, "n c *s"]) -> Float[np.ndarray, "n c *s"]:
    """log p_c − log Σ_{k≠c} p_k, of logarithms of probabilities, so that no digit of a sure p is lost."""
    result = np.empty_like(log_p)
    for c in range(log_p.shape[1]):
        log_others = np.logaddexp.reduce(np.delete(log_p, c, axis=1), axis=1)
        result[:, c] = log_p[:, c] - log_others
    return result


# --- what is reported -----------------------------------------------------------------------------------------------


def _at(table: Float[np.ndarray, "n c"], k: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The entry of one class in each row."""
    return table[np.arange(len(table)), k]


def _distance(
    log_p: Float[np.ndarray, "n c"], exact: PosteriorOfProba, top: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Log odds of the MAP from those of the posterior mean, in the posterior's standard deviations of log odds."""
    gap = abs(_at(_log_odds(log_p), top) - _at(_log_odds(exact.log_mean), top))
    return gap / _at(exact.log_odds_spread, top)


def _frame(
    classes: np.ndarray, log_p: dict[str, np.ndarray], exact: PosteriorOfProba, of_nuts: PosteriorOfProba | None
) -> pd.DataFrame:
    n, c = exact.log_mean.shape
    columns = {
        "row": np.repeat(np.arange(n), c),
        "class_": np.tile(classes, n),
        "map": np.exp(log_p[MAP]).ravel(),
        "predictive": np.exp(log_p[PREDICTIVE]).ravel(),
        "mean": np.exp(exact.log_mean).ravel(),
        "low": exact.low.ravel(),
        "high": exact.high.ravel(),
    }
    if of_nuts is not None:
        columns["nuts_mean"] = np.exp(of_nuts.log_mean).ravel()
        columns["nuts_low"] = of_nuts.low.ravel()
        columns["nuts_high"] = of_nuts.high.ravel()
    return pd.DataFrame(columns)


def _summary(
    log_p: dict[str, np.ndarray], seconds: dict[str, float], index: Int[np.ndarray, " n"] | None
) -> pd.DataFrame:
    """Seconds of each way to predict, and with labels its log loss and the paired difference from the predictive."""
    table = pd.DataFrame({"seconds": seconds})
    if index is None:
        return table
    losses = pd.DataFrame({name: -_at(table, index) for name, table in log_p.items()})
    beyond = losses.sub(losses[PREDICTIVE], axis=0)
    table["log_loss"] = losses.mean()
    table["difference"] = beyond.mean()
    table["se"] = beyond.std() / np.sqrt(len(losses))
    return table
