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

from ..check.report import MAP, MEAN, NUTS, PREDICTIVE
from ..estimators._suited import check_independent
from ..models.naive_bayes import NaiveBayes, Rows
from ..numerics.arrays import Float, Int, Scalar
from ..numerics.progress import progress
from ..numerics.special import log_normalize
from ..numerics.supports import check_least, check_level
from ..posterior.given_draws import log_joint_chunks, parameters_of
from ..posterior.intervals import fix_seed, log_probability_draws
from ..posterior.sampling import dense

_MOST_CELLS = 20_000  # of the training rows that NUTS runs on; beyond, it runs on their sums, the same density of θ


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
        """The summary, and in words how far the MAP is from the posterior, and NUTS from exact draws."""
        n = len(self.distance)
        median, in_a_tenth = np.quantile(self.distance, [0.5, 0.9])  # a tenth of the rows is beyond the second
        cause = ", and a parameter of the MAP is on its boundary" if self.is_on_boundary else ""
        lines = [
            self.summary.to_string(float_format="{:.4f}".format, na_rep=""),
            f"MAP from the posterior mean: {median:.2f} standard deviations of the log odds in the median row, "
            f"{in_a_tenth:.2f} or more in a tenth",
            f"labels that change: {len(self.changed)} of {n}",
            f"MAP outside of the {self.level:.0%} interval: {len(self.outside)} of {n} rows. This is no score: it "
            f"grows with the columns{cause}",
        ]
        if self.nuts_data is not None:  # NUTS ran
            gap = abs(self.frame["nuts_mean"] - self.frame["mean"])  # of each row and class
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
    check_level(level)  # ValueError unless between 0 and 1
    check_least(2, n_draws=n_draws)  # ValueError unless a whole number of at least 2
    check_least(1, chains=chains, warmup=warmup)

    # the fit; the new rows as numbers, as the model reads them, and class numbers of their labels, if there are any
    nb = clone(estimator).set_params(estimate="predictive").fit(X, y)
    rows = nb.model_.encode(X_new)
    index = None
    if y_new is not None:
        check_consistent_length(X_new, y_new)
        index = nb.model_.class_index(y_new)

    # the log class probabilities (n, c) of the new rows by each way to predict: `result`, and its `seconds`
    by_map = _timed("MAP", lambda: jitted_map(nb, X, y, rows))
    by_predictive = _timed("predictive", lambda: nb.predict_log_proba(X_new))
    by_draws = _timed("exact draws", lambda: _of_exact_draws(nb.posterior_, rows, level, n_draws, seed))
    exact: PosteriorOfProba = by_draws.result  # log of the posterior mean, ends of the interval, and spread
    log_p = {MAP: by_map.result, PREDICTIVE: by_predictive.result, MEAN: exact.log_mean}
    seconds = {MAP: by_map.seconds, PREDICTIVE: by_predictive.seconds, MEAN: by_draws.seconds}

    # NUTS as another way to the same posterior mean, on rows or on sums of them
    of_nuts = None
    nuts_data = None
    if nuts:
        n_cells = len(nb.model_.class_index(y)) * nb.n_features_in_
        nuts_data = "rows" if n_cells <= _MOST_CELLS else "sums of the rows"
        draws_of_chain = (n_draws + chains - 1) // chains  # n_draws / chains, rounded up
        settings = {"draws": draws_of_chain, "chains": chains, "warmup": warmup, "seed": seed}
        by_nuts = _timed("NUTS", lambda: _of_nuts(nb, X, y, rows, level, nuts_data == "rows", settings))
        of_nuts = by_nuts.result
        log_p[NUTS] = of_nuts.log_mean
        seconds[NUTS] = by_nuts.seconds

    # of the most probable class of each row, by the posterior mean: whether its MAP probability is in the interval
    top = exact.log_mean.argmax(1)  # (n,) class numbers
    log_p_map = _at(by_map.result, top)  # (n,)
    is_below = log_p_map < _at(np.log(exact.low), top)
    is_above = log_p_map > _at(np.log(exact.high), top)
    return MapOrPosterior(
        frame=_frame(nb.classes_, log_p, exact, of_nuts),
        summary=_summary(log_p, seconds, index),
        distance=pd.Series(_distance(by_map.result, exact, top), name="distance"),
        changed=np.flatnonzero(by_map.result.argmax(1) != top),
        outside=np.flatnonzero(is_below | is_above),
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
    """Call a function without arguments, and measure its seconds; a terminal shows the name meanwhile."""
    start = perf_counter()
    with progress(name):
        result = work()
    return _Timed(result, perf_counter() - start)


# --- the ways to predict --------------------------------------------------------------------------------------------


def jitted_map(nb: Any, X: Any, y: Any, rows: Rows) -> Float[np.ndarray, "n c"]:
    """log p(c | x_i, θ̂) of encoded rows, with the fit, its mode and the prediction in one program of JAX, in float64.

    A probability of 0 of the MAP is the smallest positive number, as `estimate="map"` has it.

    Parameters
    ----------
    nb : a fitted estimator, whose prior is taken
    X, y : the training rows and labels
    rows : the new rows, as `nb.model_.encode` gives them
    """
    import jax

    prior: NaiveBayes = nb.prior_
    training, index = nb.model_.encode_labelled(X, y)  # cells as numbers, by block, and class numbers

    @jax.jit
    def program(training: Rows, index: Any, rows: Rows) -> Any:
        """The fit, the mode and the prediction, which JAX compiles together."""
        posterior = prior.condition(training, index)  # it holds the training cells, which a kernel density needs
        log_joint = posterior.log_joint(rows, posterior.mode())  # (n, c) log p(x_i, c | θ̂)
        return log_normalize(log_joint)  # log p(c | x_i, θ̂): over the classes the probabilities have the sum 1

    with jax.enable_x64(True):
        # `dense` makes arrays of sparse cells, which JAX does not take
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
    """The posterior mean, interval and spread of the class probabilities of n rows, by independent draws of θ.

    Parameters
    ----------
    model : the posterior of the parameters θ, in closed form
    rows : the n rows, as the model reads them
    level : posterior mass of the intervals
    """
    # for some m rows at a time a pair: the positions of these rows, and log p(c | x_i, θ_s), (m, c, s) with s draws
    chunks = log_probability_draws(model, rows, n_draws, fix_seed(seed))
    return _summarised((log_p for _, log_p in chunks), level)


def _of_nuts(
    nb: Any, X: Any, y: Any, rows: Rows, level: Scalar, is_on_rows: bool, settings: dict[str, int]
) -> PosteriorOfProba:
    """The posterior mean, interval and spread of class probabilities of new rows, by draws of θ from NumPyro's NUTS.

    Parameters
    ----------
    nb : a fitted estimator
    X, y : the training rows and labels
    rows : the new rows, as the model reads them
    level : posterior mass of the intervals
    is_on_rows : whether NUTS runs on the training rows; else on their sums, which have the same density of θ
    settings : draws, chains, warmup and seed of NUTS
    """
    # Draws of each random variable of the NumPyro model, by its name, such as "mu". Without rows NUTS runs on the sums.
    data = {"X": X, "y": y} if is_on_rows else {}
    draws_by_name = nb.sample_posterior(method="nuts", **data, **settings)
    theta = parameters_of(nb.posterior_, draws_by_name)  # the same draws, as the formulas of the model take them
    return _summarised(_log_proba_chunks(nb.posterior_, rows, theta), level)


def _log_proba_chunks(model: Any, rows: Rows, theta: Any) -> Iterator[Float[np.ndarray, "m c s"]]:
    """log p(c | x_i, θ_s) at s draws of θ, (m, c, s), for some m rows at a time, in the order of the rows."""
    # pairs of the positions of m rows, and log p(x_i, c | θ_s), (s, m, c)
    for _, log_joint in log_joint_chunks(model, rows, theta):
        log_p = log_normalize(log_joint)  # over the classes the probabilities have the sum 1
        yield np.moveaxis(log_p, 0, -1)  # from (s, m, c) to (m, c, s)


def _summarised(chunks: Iterator[Float[np.ndarray, "m c s"]], level: Scalar) -> PosteriorOfProba:
    """Mean, interval and spread of the class probabilities of n rows over s draws of θ.

    Parameters
    ----------
    chunks : log p(c | x_i, θ_s), (m, c, s), for some m rows at a time
    level : posterior mass of the intervals
    """
    tails = (1 - level) / 2, (1 + level) / 2  # 0.05 and 0.95 for the level 0.9
    parts = []  # of all chunks, in the order of the rows
    for log_p in chunks:
        # log (1/s) Σ_s exp log p_s, without leaving logarithms
        n_draws = log_p.shape[-1]
        log_sum = np.logaddexp.reduce(log_p, axis=-1)  # (m, c) over the draws
        log_mean = log_sum - np.log(n_draws)

        # exp is increasing, so that it makes quantiles of p of those of log p
        low, high = np.exp(np.quantile(log_p, tails, axis=-1))  # (m, c) each
        spread = _log_odds(log_p).std(-1)  # (m, c)
        parts.append(PosteriorOfProba(log_mean, low, high, spread))
    return PosteriorOfProba(
        log_mean=np.concatenate([part.log_mean for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        log_odds_spread=np.concatenate([part.log_odds_spread for part in parts]),
    )


def _log_odds(log_p: Float[np.ndarray, "n c *s"]) -> Float[np.ndarray, "n c *s"]:
    """log p_c − log Σ_{k≠c} p_k of each class c, from log p (n, c), or (n, c, s) with draws on the last axis.

    With the sum over the other classes in place of 1 − p_c, no digit of a p_c near 1 is lost.
    """
    result = np.empty_like(log_p)
    for c in range(log_p.shape[1]):
        # log Σ_{k≠c} p_k, (n,) or (n, s)
        log_others = np.logaddexp.reduce(np.delete(log_p, c, axis=1), axis=1)
        result[:, c] = log_p[:, c] - log_others
    return result


# --- what is reported -----------------------------------------------------------------------------------------------


def _at(table: Float[np.ndarray, "n c"], k: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The entry of class k_i in each row i, (n,): table[i, k_i]."""
    return table[np.arange(len(table)), k]


def _distance(
    log_p: Float[np.ndarray, "n c"], exact: PosteriorOfProba, top: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """How far the log odds of the MAP are from those of the posterior mean, in standard deviations of the posterior.

    Parameters
    ----------
    log_p : log class probabilities by the MAP
    exact : the posterior of the class probabilities
    top : the class of each row whose log odds are taken
    """
    # (n,) each, of the class `top` of each row
    by_map = _at(_log_odds(log_p), top)  # logit p(c | x_i, θ̂)
    by_mean = _at(_log_odds(exact.log_mean), top)  # logit of the posterior mean
    spread = _at(exact.log_odds_spread, top)
    return abs(by_map - by_mean) / spread


def _frame(
    classes: np.ndarray, log_p: dict[str, np.ndarray], exact: PosteriorOfProba, of_nuts: PosteriorOfProba | None
) -> pd.DataFrame:
    """The table of `MapOrPosterior`: one line for each row and class, rows one after the other.

    Parameters
    ----------
    classes : (c,) labels
    log_p : (n, c) log class probabilities, by way to predict
    exact, of_nuts : the posterior by exact draws and by NUTS; None if NUTS did not run
    """
    # Tables (n, c) become columns of n c cells: all classes of the first row, then of the next. With two classes the
    # rows are 0, 0, 1, 1, … (`repeat`), and the labels a, b, a, b, … (`tile`); `ravel` reads a table line by line.
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
    """Seconds of each way to predict, and with labels its log loss and the paired difference from the predictive.

    A row of the table is a way to predict. Its standard error is that of the mean difference of n rows.

    Parameters
    ----------
    log_p : (n, c) log class probabilities, by way to predict
    seconds : by way to predict
    index : class number of each row; None without labels
    """
    table = pd.DataFrame({"seconds": seconds})
    if index is None:
        return table
    losses = pd.DataFrame({name: -_at(values, index) for name, values in log_p.items()})  # (n, ways), in nats
    excess = losses.sub(losses[PREDICTIVE], axis=0)  # the loss of each row less that by the predictive
    # the mean over n rows; the standard error of the mean of n paired differences is their spread / √n
    table["log_loss"] = losses.mean()
    table["difference"] = excess.mean()
    table["se"] = excess.std() / np.sqrt(len(losses))
    return table
