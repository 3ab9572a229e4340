"""ArviZ's groups of a fitted model: what draws of the parameters say of the parameters and of rows.

    posterior, prior                             the parameters
    log_prior                                    log p(θ), by part
    constant_data, observed_data                 x; x and y
    posterior_predictive, prior_predictive       p      p(y = c | x_i, θ)
                                                 y      a label drawn from it
                                                 x      a row drawn from p(x | y_i, θ), if the label is given
    log_likelihood                               joint        log p(x_i, y_i | θ)
                                                 y_given_x    log p(y_i | x_i, θ)

The two likelihoods are what a leave-one-out by importance sampling can mean. The posterior is proportional to
p(θ | D₋ᵢ) p(x_i, y_i | θ), so that over the posterior

    E 1/p(x_i, y_i | θ) = 1 / p(x_i, y_i | D₋ᵢ)
    E 1/p(y_i | x_i, θ) = ∫ p(θ | D₋ᵢ) p(x_i | θ) dθ / p(x_i, y_i | D₋ᵢ) = 1 / p(y_i | x_i, D₋ᵢ)

`arviz.loo` estimates `elpd_joint` from the first and `elpd` from the second.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..families.base import Block
from ..models.naive_bayes import CLASS, NaiveBayes, Parameters, Rows, sum_of_pieces
from ..numerics.arrays import Data, Float, Int, Theta, is_sparse
from ..numerics.random import categorical
from ..numerics.special import log_normalize
from ..numerics.supports import GIVEN_TOTALS
from ..sums.rows import batches
from .to_arviz import dataset
from .variables import Variable, variables_of

_MOST_NUMBERS = 50_000_000  # of one array, 400 MB; larger ones are left out
_NUMBERS_AT_A_TIME = 1 << 21  # of the parameters that the rows of some draws are drawn from: 16 MiB


class RowData(NamedTuple):
    """Rows by block, with names and labels.

    Fields
    ------
    rows : (n, d_block) by block; None if no rows are given
    row : (n,) the name of each row
    label : (n,) class index of each row; None if no labels are given
    """

    rows: Rows | None
    row: np.ndarray
    label: np.ndarray | None


# --- parameters -----------------------------------------------------------------------------------------------------


def parameter_groups(
    estimator: Any, theta: Parameters, prior_draws: Parameters | None, sample_stats: dict[str, np.ndarray]
) -> dict[str, xr.Dataset]:
    """ArviZ's groups of parameters: draws (chain, draw, …) of the posterior, and of the prior where it is proper.

    A group is a dataset with a name that ArviZ knows, such as "posterior". The prior is proper if its integral is
    finite.

    Parameters
    ----------
    estimator : the fitted estimator
    theta, prior_draws : draws of the posterior and of the prior, by block (the columns of one family) and name; None
        where the prior is improper
    sample_stats : what NUTS says of each draw; empty for exact draws
    """
    prior = estimator.prior_
    posterior = estimator.posterior_
    variables = variables_of(estimator.model_, posterior)
    library = "numpyro" if sample_stats else "bayesnb"
    of_posterior = variables.parameters(posterior.to_sites(theta))
    groups = {"posterior": dataset(of_posterior, variables.coords, library=library)}
    if sample_stats:
        statistics = {name: Variable(value) for name, value in sample_stats.items()}
        groups["sample_stats"] = dataset(statistics, {}, library=library)
    if prior_draws is not None:
        groups["prior"] = dataset(variables.parameters(prior.to_sites(prior_draws)), variables.coords)
        groups["log_prior"] = _log_prior(estimator, theta)
    return groups


def _log_prior(estimator: Any, theta: Parameters) -> xr.Dataset:
    """Log prior density of each draw: of the class probabilities, `pi`, and of the parameters of each part.

    A part is a set of columns with an estimator of its own, as in MixedNB; it has one or more blocks, each with the
    columns of one family, whose log densities are added.

    Parameters
    ----------
    estimator : the fitted estimator
    theta : (chain, draw, …) draws by block and name
    """
    prior = estimator.prior_
    log_density = {}
    if prior.classes.marginals():  # class probabilities that are learnt, not fixed
        log_density["pi"] = Variable(prior.classes.log_prob(theta[CLASS]))
    for part, blocks in estimator.model_.blocks_of_parts.items():
        terms = []
        for name in blocks:
            if theta[name]:  # a block may have no parameters
                terms.append(sum_of_pieces(prior.blocks[name], prior.blocks[name].log_prob(theta[name])))
        if terms:
            log_density[part] = Variable(np.sum(terms, axis=0))
    return dataset(log_density, {})


# --- rows -----------------------------------------------------------------------------------------------------------


def row_groups(
    estimator: Any,
    data: RowData,
    theta: Parameters,
    prior_draws: Parameters | None,
    rng: np.random.Generator,
    *,
    sites: bool,
) -> dict[str, xr.Dataset]:
    """ArviZ's groups of rows, at draws (chain, draw, …) of the parameters.

    - posterior_predictive and, with a proper prior, prior_predictive: class probabilities and new labels for the rows,
      and new rows for the labels
    - constant_data: the rows; observed_data: rows and labels, where labels are given
    - log_likelihood: of each row and label, where labels are given

    Arrays that would be too large are left out with a warning.

    Parameters
    ----------
    estimator : the fitted estimator
    data : rows, their names, and their labels or None
    theta, prior_draws : draws of the posterior and of the prior (None where it is improper), by block and name
    rng : source of new labels and rows
    sites : True adds to log_likelihood the sites whose sum is `joint`: `y`, log π of the label, and `x` of each part
    """
    posterior = estimator.posterior_
    variables = variables_of(estimator.model_, posterior)  # how arrays of parameters and of cells are named
    coords = {"row": data.row, **variables.coords}
    too_large: list[str] = []  # gets the names of arrays that are left out

    # the two groups of predictions: model, draws of its parameters, and log p(x_i, y = c | θ), (chain, draw, n, c)
    joint = np.asarray(posterior.log_joint(data.rows, theta))
    predicted = {"posterior_predictive": (posterior, theta, joint)}
    if prior_draws is not None:
        prior_joint = np.asarray(posterior.log_joint(data.rows, prior_draws))
        predicted["prior_predictive"] = (estimator.prior_, prior_draws, prior_joint)

    groups = {}
    for group, (model, drawn, table) in predicted.items():
        named = _predicted(table, rng, too_large)  # class probabilities and new labels
        new_rows = dict(_replicates(model, data, drawn, table.shape[:2], rng, too_large))  # by block
        named |= variables.cells(new_rows)
        groups[group] = dataset(named, coords)

    # the given rows, and their labels where these are given
    cells = variables.cells(dict(_observed_rows(posterior, data, too_large)))
    groups["constant_data"] = dataset(cells, coords, sampled=False)
    if data.label is not None:
        observed = {"y": Variable(data.label, ("row",), also=("class",)), **cells}
        groups["observed_data"] = dataset(observed, coords, sampled=False)

        # a kernel density has no likelihood of a training row: its density there contains the row's own kernel,
        # whatever θ is. Importance sampling cannot remove the row from it, so ArviZ gets none
        if not any(block.evidence_error for block in posterior.blocks.values()):
            log_likelihood = _log_likelihood(estimator, data, theta, joint, sites)
            groups["log_likelihood"] = dataset(log_likelihood, coords)
    if too_large:
        warnings.warn(
            f"{', '.join(dict.fromkeys(too_large))} would have more than {_MOST_NUMBERS:,} numbers and was left out of "
            "the draws; give fewer `draws` or fewer rows in `X`",
            stacklevel=5,
        )
    return groups


def _predicted(joint: np.ndarray, rng: np.random.Generator, too_large: list[str]) -> dict[str, Variable]:
    """Class probabilities at each draw, and labels drawn from them, as variables of ArviZ: arrays with names of axes.

    Parameters
    ----------
    joint : (chain, draw, n, c) log p(x_i, y = c | θ)
    rng : draws the labels
    too_large : gets the name of the class probabilities if they have too many numbers, and are left out
    """
    log_p = log_normalize(joint)
    y = Variable(categorical(rng, log_p), ("row",), also=("class",))
    if log_p.size > _MOST_NUMBERS:
        too_large.append("p(y | x, θ)")
        return {"y": y}
    return {"p": Variable(np.exp(log_p), ("row", "class")), "y": y}


def _replicates(
    model: NaiveBayes,
    data: RowData,
    theta: Parameters,
    lead: tuple[int, ...],
    rng: np.random.Generator,
    too_large: list[str],
) -> Iterator[tuple[str, np.ndarray]]:
    """Replicated rows, (chain, draw, n, d) by block: new rows that the model draws for the given labels at each θ.

    Parameters
    ----------
    model, data : the model, and the rows that are replicated, with their labels
    theta : (chain, draw, …) draws of the parameters by block (the columns of one family) and name
    lead : numbers of chains and draws
    rng : source of the rows
    too_large : gets the name of an array that would have too many numbers, and is left out
    """
    if data.label is None:
        return
    for name, block in model.blocks.items():
        x = data.rows[name]  # type: ignore[index]  # labels come with rows
        if np.prod(lead) * x.shape[0] * x.shape[1] > _MOST_NUMBERS:
            too_large.append("replicated rows x")
            continue
        one_chain = {parameter: value.reshape(-1, *value.shape[2:]) for parameter, value in theta[name].items()}
        try:
            drawn = _rows_at(block, one_chain, x, data.label, rng)
        except NotImplementedError:  # it has no density of a row
            continue
        yield name, drawn.reshape(*lead, *drawn.shape[1:])


def _rows_at(
    block: Block, theta: Theta, x: Data, label: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Float[np.ndarray, "s n d"]:
    """A new row for each row of x from every draw of θ, (s, n, d), made for some draws at a time to save memory.

    Parameters
    ----------
    block : the model of the d columns
    theta : (s, …) draws of its parameters by name
    x, label : n rows, and the class of each: the new row has the same class
    rng : source of the rows
    """
    # a multinomial draws counts of a row for a given total: that of the same row of x
    has_given_totals = block.cells_.measure == GIVEN_TOTALS
    totals = {"length": np.asarray(x.sum(1)).ravel()} if has_given_totals else {}
    n_draws = len(next(iter(theta.values()), ()))  # 0 for a block without parameters
    # each new row has the parameters of its class: at most so many numbers for each draw
    n_numbers = x.shape[0] * max((value[0].size for value in theta.values()), default=1)
    chunks = []
    with np.errstate(all="ignore"):  # draws of a wide prior have rates near the end of doubles
        for part in batches(max(n_draws, 1), max(1, _NUMBERS_AT_A_TIME // n_numbers)):
            some_draws = {parameter: value[part] for parameter, value in theta.items()}
            chunks.append(block.sample_rows(rng, some_draws, label, **totals))
    return np.concatenate(chunks)


def _observed_rows(model: NaiveBayes, data: RowData, too_large: list[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The given rows, dense, by block (the columns of one family).

    Rows of other classes become NaN where a block is the model of a single class. Blocks of too many cells are left
    out, and named in `too_large`.
    """
    for name, x in (data.rows or {}).items():
        if x.shape[0] * x.shape[1] > _MOST_NUMBERS:
            too_large.append("rows x")
            continue
        cells = x.toarray() if is_sparse(x) else x
        only_class = model.blocks[name].only_class
        if only_class is not None and data.label is not None:
            cells = np.where((data.label == only_class)[:, None], cells, np.nan)
        yield name, cells


def _log_likelihood(
    estimator: Any, data: RowData, theta: Parameters, joint: np.ndarray, sites: bool
) -> dict[str, Variable]:
    """log p(x_i, y_i | θ) and log p(y_i | x_i, θ), (chain, draw, n); on request the terms of the first.

    The terms are log π of the label, `y`, and log p(x_i | y_i, θ) of each part, `x`. A part is a set of columns with an
    estimator of its own, as in MixedNB.

    Parameters
    ----------
    estimator, data, theta : the fitted estimator, rows and labels, and draws (chain, draw, …) by block and name
    joint : (chain, draw, n, c) log p(x_i, y = c | θ)
    sites : whether the terms are wanted
    """
    label = np.asarray(data.label)

    def of_label(table: np.ndarray) -> Variable:
        """Of a table (chain, draw, n, c), the entry of each row in the column of its label, (chain, draw, n)."""
        return Variable(np.take_along_axis(table, label[None, None, :, None], axis=-1)[..., 0], ("row",))

    named = {"joint": of_label(joint), "y_given_x": of_label(log_normalize(joint))}
    if not sites:
        return named
    # log π (chain, draw, c) is the same for all rows: it gets an axis of rows
    named["y"] = of_label(np.broadcast_to(theta[CLASS]["log_pi"][..., None, :], joint.shape))
    parts = estimator.model_.blocks_of_parts
    tables = estimator.posterior_.log_parts(data.rows, [*parts.values()], theta)
    for part, table in zip(parts, tables, strict=True):
        named["x" if len(parts) == 1 else f"{part}.x"] = of_label(np.asarray(table))
    return named
