"""Class probabilities at given draws of the parameters: of NUTS, of SVI, of any sampler that ran on the NumPyro twin.

Draws are read by the names of the twin's sites, (s, …) or (chain, draw, …) each, from a mapping such as
`mcmc.get_samples()` or from the group `posterior` of ArviZ data. Two averages over them are not the same:

    posterior mean of p      1/S Σ_s p(c | x, θ_s)                          how probable c is, θ as the data left it
    joint average            Σ_s p(x, c | θ_s) / Σ_s p(x | θ_s)             what `predict_proba` has in closed form

The second weighs each draw by w_s ∝ p(x | θ_s): the new row may speak of θ too. Where few draws fit the row it rests on
those few, so that it comes with its effective number of draws, (Σ w)²/Σ w².
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..models.naive_bayes import CLASS, NaiveBayes, Parameters, Rows
from ..numerics.arrays import Float, Theta
from ..numerics.special import log_normalize
from ..sums.rows import batches, rows_at
from .variables import COLUMN, SITE

ENOUGH_DRAWS = 50  # effective draws of a joint average, below which it is marked
_NUMBERS_AT_A_TIME = 1 << 21  # log joints of draws, rows and classes: 16 MiB


class JointAverage(NamedTuple):
    """The joint average of class probabilities over draws.

    Fields
    ------
    proba : (n, c)            Σ_s p(x_i, c | θ_s) / Σ_s p(x_i | θ_s)
    effective_draws : (n,)    how many draws it rests on, 1 … S
    """

    proba: Float[np.ndarray, "n c"]
    effective_draws: Float[np.ndarray, " n"]


def parameters_of(model: Any, draws: Any) -> Parameters:
    """Draws by NumPyro site as the parameters of a model, each (s, …); chains one after the other.

    A site is an array of parameters that NumPyro knows by one name. The draws are checked against the model: all sites
    must be there, each with the shape that the model gives it, and all with the same number s of draws.

    Parameters
    ----------
    model : the prior or posterior whose parameters were drawn
    draws : (s, …) or (chain, draw, …) by site: a mapping, a sampler, or ArviZ data

    Returns
    -------
    parameters by block (the columns of one family) and name, on the scale on which the model holds them, such as log π

    Raises
    ------
    ValueError
        if a site is missing, or has another shape than the model's
    """
    if not isinstance(model, NaiveBayes):
        raise ValueError("`draws` need one NumPyro model of all columns, which OneDependenceNB has not; leave them out")
    # the shape of one draw of each site, which is that of its mean; and the draws that were given, by site
    shapes = {name: np.shape(value) for name, value in model.to_sites(model.mean()).items()}
    values = by_site(draws)
    missing = sorted(shapes.keys() - values.keys())
    if missing:
        raise ValueError(
            f"`draws` have no site {missing[0]!r}, only {sorted(values)}; the model's sites are {sorted(shapes)}"
        )

    # all draws along one axis, (s, …) by site
    sites = {}
    for name, shape in shapes.items():
        sites[name] = _as_one_chain(name, np.asarray(values[name], float), shape)

    # the number s of draws has to be the same for all sites; a model may have no sites
    numbers = {name: len(value) for name, value in sites.items()}
    if len(set(numbers.values())) > 1:
        raise ValueError(f"`draws` have different numbers of draws by site: {numbers}")
    has_no_draws = 0 in numbers.values()
    if has_no_draws:
        raise ValueError("`draws` are empty; give one draw at least")
    return model.from_sites(sites)


def by_site(draws: Any) -> Mapping[str, Any]:
    """Draws by site: of a mapping, of a sampler that has `get_samples`, or of the group `posterior` of ArviZ data.

    ArviZ data are recognised by their attributes, not by their type, so that neither version of ArviZ is imported:

    - ArviZ 1 has a tree of xarray (`children`), whose node "posterior" has the draws
    - ArviZ below 1 has an `InferenceData` (`groups`), whose group "posterior" has the draws
    - either gives a dataset of xarray (`data_vars`); the node or dataset may also be given itself

    Raises
    ------
    ValueError
        if they are none of these
    """
    samples = draws.get_samples() if hasattr(draws, "get_samples") else draws  # of a sampler, or given themselves

    # the group `posterior` of ArviZ data
    group = samples
    if hasattr(samples, "children"):  # a tree, as in ArviZ 1; the group `posterior` of it is a tree too
        group = samples.children.get("posterior", samples)
    elif hasattr(samples, "groups"):  # the container of ArviZ 0
        group = samples["posterior"]

    if hasattr(group, "data_vars"):  # a dataset of xarray
        return _of_variables(group)
    if isinstance(group, Mapping):
        return group
    raise ValueError(
        f"`draws` are a {type(group).__name__}; give samples by site, such as `mcmc.get_samples()`, or ArviZ data"
    )


def _of_variables(group: Any) -> dict[str, Any]:
    """Draws (chain, draw, …) by site from ArviZ's variables, of which some are one column of a site each.

    Such a variable says in its attributes which site it belongs to, and which column of it it is. The columns 0, 1, …
    of a site are stacked along the last axis but one: (chain, draw, class, level) each becomes (chain, draw, class,
    column, level).

    Parameters
    ----------
    group : an xarray dataset of draws
    """
    whole: dict[str, Any] = {}
    columns: dict[str, dict[int, np.ndarray]] = {}  # by site, then by number of the column
    for name, variable in group.data_vars.items():
        values = variable.transpose("chain", "draw", ...).to_numpy()
        site = variable.attrs.get(SITE)
        if site is None:  # the variable is a whole site, under its name
            whole[str(name)] = values
        else:
            columns.setdefault(site, {})[int(variable.attrs[COLUMN])] = values
    for site, by_column in columns.items():  # (chain, draw, class, level) each
        whole[site] = np.stack([by_column[i] for i in sorted(by_column)], axis=-2)
    return whole


def _as_one_chain(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Draws (s, *shape) of a site, from those or from (chain, draw, *shape).

    Parameters
    ----------
    name : of the site, for the message
    values : the draws, with one or two axes before those of a single draw
    shape : that of a single draw
    """
    n_leading = values.ndim - len(shape)
    if n_leading not in (1, 2) or values.shape[n_leading:] != shape:
        raise ValueError(f"`draws` of {name!r} have the shape {values.shape}; one draw of it has {shape}")
    return values.reshape(-1, *shape)


def log_joint_chunks(model: NaiveBayes, rows: Rows, theta: Parameters) -> Iterator[tuple[slice, np.ndarray]]:
    """log p(x_i, c | θ_s) of all draws, (s, m, c), for some rows at a time: a table has at most 2 million numbers.

    Parameters
    ----------
    model, rows : the model, and n rows by block
    theta : s draws of the parameters, by block and name

    Yields
    ------
    slice of m rows, and their table
    """
    log_pi = theta[CLASS]["log_pi"]
    n, c = next(iter(rows.values())).shape[0], log_pi.shape[-1]
    n_draws = max((len(value) for value in _leading(theta)), default=1)
    for part in batches(n, max(1, _NUMBERS_AT_A_TIME // (n_draws * c))):
        yield part, np.asarray(model.log_joint(rows_at(rows, part), theta))


def _leading(theta: Parameters) -> list[np.ndarray]:
    """All parameters that are drawn; a fixed π has no draws."""
    parameters: list[Theta] = [values for block, values in theta.items() if block != CLASS]
    return [value for values in parameters for value in values.values()]


def proba_at_draws(model: Any, rows: Rows, draws: Any) -> Float[np.ndarray, "s n c"]:
    """p(c | x_i, θ_s) at each draw."""
    theta = parameters_of(model, draws)
    tables = [np.exp(log_normalize(log_joint)) for _, log_joint in log_joint_chunks(model, rows, theta)]
    return np.concatenate(tables, 1)


def joint_average(model: Any, rows: Rows, draws: Any) -> JointAverage:
    """The average of p(x_i, c | θ_s) over draws, normalised, with the number of draws that it rests on.

    As p(x, c | θ_s) = p(x | θ_s) p(c | x, θ_s), this is the mean of the class probabilities p(c | x, θ_s) with the
    weights w_s = p(x | θ_s) / Σ_s p(x | θ_s). The effective number of draws is 1 / Σ_s w_s².

    Parameters
    ----------
    model, rows : the model, and n rows by block
    draws : of the parameters, by site, as in `parameters_of`
    """
    theta = parameters_of(model, draws)
    probabilities, effective = [], []
    for _, log_joint in log_joint_chunks(model, rows, theta):
        log_weight = np.logaddexp.reduce(log_joint, axis=-1)  # log p(x_i | θ_s), (s, m)
        weight = np.exp(log_weight - log_weight.max(0))  # 1 for the largest, so that no exponential overflows
        weight /= weight.sum(0)  # (s, m); adds up to 1 over the draws
        probabilities.append(np.einsum("sm,smc->mc", weight, np.exp(log_normalize(log_joint))))
        effective.append(1 / (weight**2).sum(0))
    return JointAverage(np.concatenate(probabilities), np.concatenate(effective))
