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

Two parts are no rows of the check and cannot fail it: how MAP, predictive and posterior mean predict the held-out rows,
the last by exact draws and by NUTS; and dependence within a class, which is a finding about the data (`dependence`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..families.classes import FixedClasses
from ..models.naive_bayes import NaiveBayes, Rows
from ..numerics.arrays import Float, Theta
from ..numerics.progress import Line, progress
from ..numerics.random import generator
from ..numerics.special import log_normalize
from ..posterior.chains import run_nuts
from ..posterior.given_draws import log_joint_chunks, parameters_of
from ..posterior.held_out import Differences, Quality, counted_rows, differences, quality, split_halves, take_rows
from ..posterior.intervals import log_probability_draws
from ..posterior.sampling import dense
from ..sums.rows import rows_at
from .against_numpyro import (
    SPARSE,
    has_sparse_classes,
    identity_row,
    mode_row,
    nuts_row,
    prediction_row,
    short_chains_row,
    sparse_columns,
    thin,
)
from .dependence import dependence
from .draws import drawn_rows, intervals_row
from .laws import Problem, choose, closed_rows
from .report import MAP, MEAN, NUTS, PREDICTIVE, CheckReport, CheckRow

_EXACT_CELLS = 5_000_000  # rows × features of rows 1 and 2, written out for NumPyro
_CHAIN_ROWS = 40  # of the chains, at most: more cost power in row 3b, fewer leave row 4 nothing (docs/check.md)
_CHAIN_ROWS_A_CLASS = 4  # unless the classes need more
_CHAIN_COLUMNS = 8  # of the chains, at most
_CHAIN_COLUMNS_TIMES_CLASSES = 40  # and fewer where there are many classes, but two
_CHAIN_COUPLED = 3  # columns of the chains where a covariance matrix has the square of them
_CHAINS, _DRAWS, _WARMUP = 4, 1_000, 500
_CLOSED_ROWS_A_CLASS, _CLOSED_ROWS, _CLOSED_COLUMNS = 6, 60, 30  # of rows 5 to 11, at most
_CLOSED_COUPLED = 2
_HELD_OUT = 100  # rows of rows 4 and 12
_DRAWN = 1_000  # θ behind a posterior mean of class probabilities, of exact draws or of NUTS
_N_ROWS = 13  # of a report
_STATISTICAL = 5  # rows 3a, 3b, 4, 10 and 11


def check(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    seed: int = 0,
    false_alarm: float = 0.01,
    on_row: Callable[[CheckRow], None] | None = None,
) -> CheckReport:
    """Fit a clone to one half of the rows and compare the closed form with NumPyro; the module lists the report rows.

    Parameters
    ----------
    estimator : a naive Bayes estimator of bayesnb
    X, y : rows and labels, at least two rows
    sample_weight : (n,) weights of an integer type, which count rows: the report is that of the repeated rows
    seed : seed of the split, of the random θ, of the columns that the chains take and of all chains
    false_alarm : probability that a correct model fails row 3a, 3b, 4, 10 or 11 by chance
    on_row : called with each row of the report as soon as it is done

    Raises
    ------
    ValueError
        if there are fewer than two rows, if a setting is out of range, or if the model has no free parameter. Also if
        weights are importance, which NumPyro's model does not have
    """
    if not 0 < false_alarm < 1:
        raise ValueError(f"`false_alarm` is {false_alarm}; it needs to lie between 0 and 1")
    X, y = counted_rows(X, np.asarray(y), sample_weight)
    halves = _fit_one_half(estimator, X, y, seed)
    rng = generator(seed)
    rate = false_alarm / _STATISTICAL  # of each of the five statistical rows (Bonferroni)
    with progress("check", _N_ROWS, "rows") as line:
        report = _Rows(on_row, line)
        of_chains = _add_rows(report, halves, rng, seed, rate)  # adds all rows to the report
        line.begin("predictions of the held-out rows")
        tables = _prediction_tables(halves, seed)
        line.begin("dependence within a class")
        within_classes = dependence(halves.fitted, halves.rows, halves.y, rng)
    n_rows = len(halves.y)
    of_ways = [quality(name, n_rows, halves.width, table, halves.truth) for name, table in tables.items()]

    # how well the model of few rows and columns predicts, by exact draws and by NUTS. Where the chains take all rows
    # and columns, its posterior mean by exact draws is there already
    shown = {(way.name, way.rows, way.features) for way in of_ways}
    of_sub_model = [way for way in of_chains.quality if (way.name, way.rows, way.features) not in shown]
    return CheckReport(
        model=repr(estimator),
        rows=tuple(report.rows),
        quality=(*of_ways, *of_sub_model),
        settings={
            "seed": seed,
            "false_alarm": false_alarm,
            "rows_fitted": len(halves.y),
            "rows_held_out": len(halves.truth),
            "features": halves.width,
            "classes": halves.n_classes,
        },
        plug_in=differences(tables[MAP], tables[PREDICTIVE]),
        dependence=within_classes,
        by_nuts=of_chains.by_nuts,
    )


def _add_rows(report: "_Rows", halves: "_Halves", rng: np.random.Generator, seed: int, rate: float) -> "_Chains":
    """Make all rows of the report, in their order, and add them to it.

    The problem `whole` (prior, rows and labels) has all columns; `small` has few rows and columns, so that every term
    of a formula counts.

    Parameters
    ----------
    report : collects the rows
    halves : the estimator fitted to one half of the rows, and the other half
    rng, seed : source of random numbers, and seed of the chains
    rate : probability of a false alarm of each statistical row

    Returns
    -------
    how draws of NumPyro's chains predict the held-out rows, which the report shows beside its rows
    """
    whole = _whole_problem(halves, rng)
    report.begin("Bayes' identity")
    report.add(identity_row(whole, rng))
    report.begin("mode")
    report.add(mode_row(whole, rng))
    of_chains = _add_chain_rows(report, halves, rng, seed, rate)
    small = _small_problem(halves, rng)
    report.begin("closed form")
    report.add(*closed_rows(whole, small, rng))
    report.begin("exact draws")
    report.add(*drawn_rows(small, rng, rate))
    report.begin("intervals")
    report.add(intervals_row(halves.posterior, halves.sample_held_out(rng), rng))
    return of_chains


@dataclass
class _Rows:
    """The rows of a report that are done; each is handed to whoever asked for it, and counted on the terminal."""

    on_row: Callable[[CheckRow], None] | None
    line: Line
    rows: list[CheckRow] = field(default_factory=list)

    def begin(self, name: str) -> None:
        """Say on the terminal which rows are being made."""
        self.line.begin(name)

    def add(self, *rows: CheckRow) -> None:
        """Keep rows and tell of each."""
        for row in rows:
            self.rows.append(row)
            self.line.advance()
            if self.on_row is not None:
                self.on_row(row)


# --- the data -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Halves:
    """An estimator fitted to one half of the rows, and the other half.

    Fields
    ------
    rows, y : the rows that were fitted, by block, and the class index of each
    held_out, truth : the others; without those of a class that was not fitted
    """

    fitted: Any
    rows: Rows
    y: np.ndarray
    held_out: Rows
    truth: np.ndarray

    @property
    def prior(self) -> NaiveBayes:
        """The prior of the fit."""
        prior: NaiveBayes = self.fitted.prior_
        return prior

    @property
    def posterior(self) -> NaiveBayes:
        """The posterior of the fit."""
        posterior: NaiveBayes = self.fitted.posterior_
        return posterior

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.fitted.classes_)

    @property
    def width(self) -> int:
        """Columns of all blocks together."""
        return sum(x.shape[1] for x in self.rows.values())

    def columns(self) -> "_Columns":
        """The columns of all blocks (models of the columns of one family), side by side, with their names.

        Two blocks "a" and "b" of two columns and one have the block a a b and the positions 0 1 0.
        """
        features = np.concatenate([self.fitted.model_.block_columns[name] for name in self.rows])
        names = getattr(self.fitted, "feature_names_in_", None)
        return _Columns(
            block=np.concatenate([np.full(x.shape[1], name) for name, x in self.rows.items()]),
            position=np.concatenate([np.arange(x.shape[1]) for x in self.rows.values()]),
            names=[f"column {j}" if names is None else str(names[j]) for j in features],
        )

    def sample_held_out(self, rng: np.random.Generator) -> Rows:
        """Some of the rows that were not fitted."""
        return rows_at(self.held_out, choose(rng, len(self.truth), _HELD_OUT))


def _fit_one_half(estimator: Any, X: Any, y: np.ndarray, seed: int) -> _Halves:
    """A clone of the estimator fitted to one random half of the rows, with the other half for predictions.

    Raises
    ------
    ValueError
        if there are fewer than two rows, or no parameters to check
    """
    if len(y) < 2:
        raise ValueError(f"`y` has {len(y)} rows; the check fits one half and predicts the other, so give at least two")
    train, test = split_halves(y, seed)
    fitted = clone(estimator).fit(take_rows(X, train), y[train])
    prior = fitted.prior_
    prior.require_proper("draws from its generative model")  # an error if the prior has no finite integral
    if not prior.marginals():  # no parameter has a distribution: all are fixed
        raise ValueError(f"{estimator!r} has no free parameter with these settings, so there is no posterior to check")
    test = test[np.isin(y[test], fitted.classes_)]  # a class of a single row may be in the other half
    return _Halves(
        fitted=fitted,
        rows=fitted.model_.encode(take_rows(X, train)),
        y=fitted.model_.class_index(y[train]),
        held_out=fitted.model_.encode(take_rows(X, test)),
        truth=fitted.model_.class_index(y[test]),
    )


# --- the parts of the data that rows of the report look at ----------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    """Some columns of the rows.

    Fields
    ------
    block, position : (f,) the block of each column, and where it is in the block
    names : what a report calls each
    """

    block: np.ndarray
    position: np.ndarray
    names: list[str]

    def take(self, chosen: np.ndarray) -> "_Columns":
        """Some of these columns."""
        return _Columns(self.block[chosen], self.position[chosen], [self.names[j] for j in chosen])

    def by_block(self) -> dict[str, np.ndarray]:
        """Positions in each block that has a column here."""
        return {name: self.position[self.block == name] for name in dict.fromkeys(self.block.tolist())}

    def of_rows(self, rows: Rows) -> Rows:
        """These columns of rows, dense."""
        return dense({name: rows[name][:, positions] for name, positions in self.by_block().items()})


def sub_problem(prior: NaiveBayes, rows: Rows, y: np.ndarray, columns: _Columns) -> Problem:
    """A problem, that is prior, rows and labels, with some of the columns only.

    Given the class the posterior factorises over the columns, so the model of some of them is a model of its own; for
    a multinomial it is that of the counts among the chosen events.

    Parameters
    ----------
    prior, rows, y : the model of all columns, rows by block (the columns of one family), and the class of each row
    columns : the columns to keep, by block and position in it
    """
    blocks = {name: prior.blocks[name].select(positions) for name, positions in columns.by_block().items()}
    return Problem(NaiveBayes(prior.classes, blocks), columns.of_rows(rows), y, names=tuple(columns.names))


def _whole_problem(halves: _Halves, rng: np.random.Generator) -> Problem:
    """All columns of as many rows as NumPyro can take."""
    chosen = choose(rng, len(halves.y), max(1, _EXACT_CELLS // halves.width))
    return Problem(halves.prior, dense(rows_at(halves.rows, chosen)), halves.y[chosen])


def _small_problem(halves: _Halves, rng: np.random.Generator) -> Problem:
    """A few rows of each class, after which all terms of a formula still count."""
    chosen = choose(rng, len(halves.y), min(_CLOSED_ROWS_A_CLASS * halves.n_classes, _CLOSED_ROWS))
    columns = halves.columns()
    n_columns = _CLOSED_COUPLED if halves.prior.coupled else _CLOSED_COLUMNS
    columns = columns.take(choose(rng, halves.width, n_columns))
    return sub_problem(halves.prior, rows_at(halves.rows, chosen), halves.y[chosen], columns)


def _chain_problem(halves: _Halves, rng: np.random.Generator) -> tuple[Problem | None, _Columns, str]:
    """Rows and columns that NumPyro's chains take; the columns; and what was left out, in words.

    A concentration is a parameter of a beta, Dirichlet or gamma density. Where one of the posterior is so small that
    NumPyro's chains do not mix, or its densities have no digits, the column is left out. The problem (prior, rows and
    labels) is None if no column is left.

    Parameters
    ----------
    halves : the estimator fitted to one half of the rows
    rng : chooses rows and columns
    """
    # some rows, and which columns have a posterior that suits the chains after them
    n_rows = max(_CHAIN_ROWS, _CHAIN_ROWS_A_CLASS * halves.n_classes)
    chosen = choose(rng, len(halves.y), n_rows)
    rows = rows_at(halves.rows, chosen)
    y = halves.y[chosen]
    posterior = Problem(halves.prior, rows, y).posterior
    is_sparse = np.concatenate([sparse_columns(posterior.blocks[name]) for name in rows])  # too small a concentration

    # how many columns the chains take, chosen at random: fewer with more classes, and three with covariance matrices
    n_columns = max(2, min(_CHAIN_COLUMNS, _CHAIN_COLUMNS_TIMES_CLASSES // halves.n_classes))
    if halves.prior.coupled:
        n_columns = _CHAIN_COUPLED
    columns = halves.columns()
    suitable = np.flatnonzero(~is_sparse)
    taken = columns.take(suitable[choose(rng, len(suitable), n_columns)])
    left_out = [columns.names[j] for j in np.flatnonzero(is_sparse)]

    # class probabilities with a small concentration are fixed at their posterior mean, so that the chains lack them
    prior = halves.prior
    if has_sparse_classes(posterior):
        fixed_classes = FixedClasses(np.exp(posterior.classes.log_predictive()))
        prior = NaiveBayes(fixed_classes, prior.blocks)
        left_out.append("the class probabilities")

    remark = f"left out: {_listed(left_out)}, {SPARSE}" if left_out else ""
    if not len(suitable):
        return None, taken, remark
    return sub_problem(prior, rows, y, taken), taken, remark


def _listed(names: list[str]) -> str:
    """Some names, and how many there are."""
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{len(names)} columns such as {shown}"


# --- rows 3 and 4 ---------------------------------------------------------------------------------------------------


class _Chains(NamedTuple):
    """How the model of the chains predicts all held-out rows; nothing where no chain ran.

    Fields
    ------
    quality : its posterior mean by exact draws, and by NUTS
    by_nuts : how the two differ
    """

    quality: tuple[Quality, ...] = ()
    by_nuts: Differences | None = None


def _add_chain_rows(report: _Rows, halves: _Halves, rng: np.random.Generator, seed: int, rate: float) -> _Chains:
    """Add rows 3a, 3b and 4, which compare NumPyro's chains with the posterior, and return how their draws predict.

    3a: short chains that start at exact draws. 3b: chains of NUTS that start elsewhere. 4: predictions from the draws
    of 3b. If no column suits the chains, each of these rows says so and passes.

    Parameters
    ----------
    report, halves, rng, seed, rate : as in `_add_rows`
    """
    problem, columns, left_out = _chain_problem(halves, rng)
    if problem is None:
        for name in ("3a Posterior, exact starts", "3b Posterior, NUTS", "4  Prediction"):
            says = "No column has a posterior on which NumPyro's chains mix, so this row compares nothing."
            report.add(CheckRow.within(name, says, 0.0, 0.0, "none", "nothing compared", left_out))
        return _Chains()
    report.begin("short chains of NumPyro")
    report.add(short_chains_row(problem, rng, rate).with_remark(left_out))
    report.begin(f"{_CHAINS} chains of NumPyro's NUTS")
    sites, _ = run_nuts(problem.twin, problem.posterior, rng, seed + 1, _CHAINS, draws=_DRAWS, warmup=_WARMUP)
    report.add(nuts_row(problem, sites, rate).with_remark(left_out))
    new_rows = thin(problem.prior, columns.of_rows(halves.sample_held_out(rng)), rng)
    report.add(prediction_row(problem, sites, new_rows, rate))
    return _predict_by_chains(problem, sites, columns.of_rows(halves.held_out), halves.truth, seed)


def _predict_by_chains(problem: Problem, sites: Theta, held_out: Rows, truth: np.ndarray, seed: int) -> _Chains:
    """How well the model of the chains predicts held-out rows, by exact draws of its posterior, and by draws of NUTS.

    Parameters
    ----------
    problem : prior, rows and labels of the chains
    sites : (chains, draws, …) draws of NUTS by site, a named array of parameters
    held_out, truth : n rows that were not fitted, in the columns of the chains, and their classes
    seed : of the exact draws
    """
    posterior = problem.posterior
    exact = _exact_log_mean(posterior, held_out, seed)  # (n, c)

    # log p(y = c | x, θ) of some rows at a time, for every fourth of the 4,000 draws of NUTS; then the mean over these
    every = max(1, _CHAINS * _DRAWS // _DRAWN)
    theta = parameters_of(posterior, {name: value[:, ::every] for name, value in sites.items()})  # all chains in a row
    chunks = log_joint_chunks(posterior, held_out, theta)  # pairs of rows, and log joint (s, m, c) of m rows
    log_p = (log_normalize(log_joint) for _, log_joint in chunks)
    by_nuts = _log_mean(np.moveaxis(of_rows, 0, -1) for of_rows in log_p)  # of tables (m, c, s)

    n_columns = sum(x.shape[1] for x in held_out.values())
    tables = {MEAN: exact, NUTS: by_nuts}
    return _Chains(
        quality=tuple(quality(name, len(problem.y), n_columns, table, truth) for name, table in tables.items()),
        by_nuts=differences(by_nuts, exact),
    )


# --- predictions of the held-out rows -------------------------------------------------------------------------------


def _prediction_tables(halves: _Halves, seed: int) -> dict[str, np.ndarray]:
    """Log class probabilities (n, c) of the held-out rows, by three ways to predict; up to a term of the row.

    - MAP: the log joint at the mode of the posterior
    - predictive: the log joint with parameters integrated out
    - posterior mean: the mean of the class probabilities over draws of the parameters

    Parameters
    ----------
    halves : the fitted estimator, and the held-out rows
    seed : of the draws
    """
    posterior, rows = halves.posterior, halves.held_out
    return {
        MAP: posterior.log_joint(rows, posterior.mode()),
        PREDICTIVE: posterior.log_joint(rows),
        MEAN: _exact_log_mean(posterior, rows, seed),
    }


def _exact_log_mean(posterior: NaiveBayes, rows: Rows, seed: int) -> Float[np.ndarray, "n c"]:
    """Logarithm of the mean of p(y = c | x_i, θ) over exact draws of θ."""
    return _log_mean(log_p for _, log_p in log_probability_draws(posterior, rows, _DRAWN, seed))


def _log_mean(chunks: Iterator[Float[np.ndarray, "m c s"]]) -> Float[np.ndarray, "n c"]:
    """log of the mean of p over draws, from log p of some rows at a time.

    log (1/s Σ_s e^(log p_s)) = logaddexp of all log p_s, less log s, which does not underflow.
    """
    means = []
    for log_p in chunks:
        n_draws = log_p.shape[-1]
        means.append(np.logaddexp.reduce(log_p, axis=-1) - np.log(n_draws))
    return np.concatenate(means)
