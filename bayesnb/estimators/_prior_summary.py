"""A prior in words, with its scale on the data."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..families.base import to_sites
from ..families.classes import DirichletClasses
from ..models.naive_bayes import CLASS
from ..numerics.wishart import InverseWishartMarginal

_TINY = 1e-300  # below, a number is zero whose logarithm was held finite
_MAX_LISTED = 8  # columns with one prior, and numbers of a field
_MAX_PRIORS = 20


class PriorSummary(str):
    """A text that shows itself as it is printed."""

    def __repr__(self) -> str:
        return str(self)


def prior_summary(nb: Any) -> PriorSummary:
    """The prior of a fitted estimator in words: see `AbstractNB.prior_summary`.

    A line says how many rows there are, the next is that of the classes; then follow the columns. A *block* of the
    prior holds some columns that are of one family; its arrays have a position for each of these columns. Columns of a
    block whose priors have the same numbers form a *group*, and share their lines of the text.

    Parameters
    ----------
    nb : a fitted estimator
    """
    prior = nb.prior_
    stats = nb.statistics_  # sufficient statistics of the rows, `n` the weight of each class
    # maximum likelihood estimates, which are what the rows say without the prior: by the name of a block, or "class"
    # for the labels, a mapping from parameter to array
    rows_alone = prior.mle(stats)

    lines = [f"Prior of {type(nb).__name__}, beside {stats.n.sum():g} rows of {len(stats.n)} classes"]
    lines.append(_line_of_classes(prior.classes, np.exp(rows_alone[CLASS]["log_pi"])))

    # a line for all columns that have the same prior, such as "column 0 ~ Beta(2, 8)", and below it a line for each of
    # its parameters with the prior median, the 90 % range, and the estimates from the rows. `to_sites` turns estimates
    # such as logits into the parameters as NumPyro names them. A group has the name of its block, the block, and the
    # positions of its columns in the block
    groups = _groups_of_equal_priors(prior.blocks)
    block_columns = nb.model_.block_columns  # positions in X of the columns of each block
    feature_names = nb.model_.feature_names
    for group in groups[:_MAX_PRIORS]:
        columns = block_columns[group.name][group.columns]  # positions in X
        lines.append(f"{_listed([feature_names[j] for j in columns])} ~ {_density(group.block, group.columns)}")
        if not group.block.is_improper:  # an improper prior has no quantiles
            lines += _lines_of_parameters(group.block, group.columns, to_sites(rows_alone[group.name]))
    if len(groups) > _MAX_PRIORS:
        lines.append(f"… and {len(groups) - _MAX_PRIORS} more")
    return PriorSummary("\n".join(lines))


class _Group(NamedTuple):
    """Columns of a block that have one prior."""

    name: str  # of the block
    block: Any  # the family, without a wrapper such as that of a single class
    columns: np.ndarray  # positions in the block


def _line_of_classes(classes: Any, probabilities: np.ndarray) -> str:
    """The line of the class prior.

    Parameters
    ----------
    classes : the prior of the labels
    probabilities : (c,), the class probabilities, if they are fixed
    """
    if isinstance(classes, DirichletClasses):
        return f"classes ~ Dirichlet({_numbers(classes.alpha)}): {classes.alpha.sum():g} pseudo-rows"
    return f"classes: probabilities fixed at {_numbers(probabilities)}"


def _listed(names: list[Any]) -> str:
    """Names of columns, or their numbers: the first two and the last where they are many."""
    texts = [name if isinstance(name, str) else f"column {name}" for name in names]
    if len(texts) > _MAX_LISTED:
        return f"{texts[0]}, {texts[1]} … {texts[-1]} ({len(texts)} columns)"
    return ", ".join(texts)


def _groups_of_equal_priors(blocks: dict[str, Any]) -> list[_Group]:
    """The columns of all blocks, grouped by their prior.

    A block is the conjugate prior of some columns of one family. `unwrapped` takes off a wrapper, such as that of a
    prior for a single class.

    Parameters
    ----------
    blocks : by name
    """
    groups: list[_Group] = []
    for name, block in blocks.items():
        for columns in _equal_columns(block.unwrapped):
            groups.append(_Group(name, block.unwrapped, columns))
    return groups


def _equal_columns(block: Any) -> list[np.ndarray]:
    """Positions of the columns of a block, in groups of columns with the same prior.

    Priors count as the same if they are printed as the same text, such as "Beta(2, 8)": then one line can stand for all
    columns of the group. A prior that is joint to all columns, such as one of a covariance matrix, makes one group.

    Parameters
    ----------
    block : of a family whose `fields_` declares the axes of each field
    """
    n_columns = block.shape[1]
    # a field is an array of hyperparameters, such as α (class, feature). One without an axis of features, or with two
    # of them, as a matrix (feature, feature), belongs to all columns together: they are one group
    for field, declared in block.fields_.items():
        is_of_single_columns = declared.axes.count("feature") == 1
        if isinstance(getattr(block, field), np.ndarray) and not is_of_single_columns:
            return [np.arange(n_columns)]

    # otherwise each column has a text of its own, and columns with the same text are a group: of three columns with
    # "Beta(2, 8)", "Beta(1, 1)" and "Beta(2, 8)" the groups are 0, 2 and 1
    columns_by_text: dict[str, list[int]] = {}
    for j in range(n_columns):
        text = _density(block, np.array([j]))
        columns_by_text.setdefault(text, []).append(j)
    return [np.array(columns) for columns in columns_by_text.values()]


def _density(block: Any, columns: np.ndarray) -> str:
    """The density of columns with one prior, by its name and its numbers: `Beta(2, 8)`, or the fields of a family.

    Parameters
    ----------
    block : of a family whose `fields_` declares the axes of each field
    columns : positions in the block
    """
    # `distribution_` is the NumPyro distribution that the prior of the family is, as a pair of its name and a mapping
    # from field to argument; None if there is none. If the arguments are just the fields of the family, the text is
    # such as Beta(2, 8). Otherwise it is the name of the family, and its fields with their names
    has_name = block.distribution_ is not None and block.distribution_[1].keys() == block.fields_.keys()
    arguments = []
    for field, declared in block.fields_.items():
        value = getattr(block, field)
        if not declared.fitted or not isinstance(value, np.ndarray):  # a constant of the model
            continue
        if declared.axes.count("feature") == 1:
            # of columns with the same prior the first is enough, if they are independent given the class (`separable`)
            shown_columns = columns[:1] if block.separable else columns
            value = np.take(value, shown_columns, declared.axes.index("feature"))
        arguments.append(_numbers(value) if has_name else f"{field}={_numbers(value)}")
    name = block.distribution_[0] if has_name else type(block).__name__
    text = f"{name}({', '.join(arguments)})"
    return f"{text}, improper" if block.is_improper else text


def _lines_of_parameters(block: Any, columns: np.ndarray, rows_alone: dict[str, Any]) -> Iterator[str]:
    """For each parameter of columns with the same prior a line: median and 90 % range, and what the rows alone say.

    Parameters
    ----------
    block : the prior block that has the columns
    columns : positions in the block
    rows_alone : maximum likelihood estimates by NumPyro site
    """
    # a site is the NumPyro name of a parameter, such as "theta"; its marginal is a distribution of `scipy.stats`
    for site, marginal in block.marginals().items():
        distribution = marginal
        estimate = rows_alone[site]
        if isinstance(marginal, InverseWishartMarginal):  # of a covariance only the variances are shown
            distribution = marginal.diagonal()
            estimate = np.diagonal(estimate, axis1=-2, axis2=-1)
        # `ppf` is the quantile function of `scipy.stats`, here (c, d) or (d,), of which the columns of the group are
        # taken. The range goes from the smallest 5 % to the largest 95 % quantile over all classes and columns
        median = _of_columns(distribution.ppf(0.5), columns)
        low = _of_columns(distribution.ppf(0.05), columns).min()
        high = _of_columns(distribution.ppf(0.95), columns).max()
        name = block.names_.get(site, site)
        range_of_estimates = _span(_of_columns(estimate, columns))
        yield (f"    {name}: {_numbers(median)}, 90 % in {low:.3g} to {high:.3g}; the rows alone: {range_of_estimates}")


def _of_columns(array: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The numbers of some columns, of an array (c, d, …) or (d,)."""
    feature_axis = min(np.ndim(array) - 1, 1)  # axis 1 behind that of the classes; axis 0 if there is only one
    return np.take(array, columns, feature_axis)


def _span(values: np.ndarray) -> str:
    """The smallest and the largest number, once where they are equal."""
    values = np.where(abs(values) < _TINY, 0, values)
    if values.max() > values.min():
        return f"{values.min():.3g} to {values.max():.3g}"
    return f"{values.min():.3g}"


def _numbers(value: np.ndarray) -> str:
    """Numbers in short: of one class if classes agree; one if all are equal, all if they are few, else their range.

    Parameters
    ----------
    value : (…, d), whose first axis is that of the classes if it has more than one
    """
    by_class = np.reshape(value, (-1, np.shape(value)[-1]))  # (c, d): all axes but the last become one
    is_same_in_all_classes = (by_class == by_class[0]).all()
    numbers = by_class[0] if is_same_in_all_classes else by_class.ravel()

    # one number, a list, or a range
    if (numbers == numbers[0]).all():
        return f"{numbers[0]:.4g}"
    if numbers.size <= _MAX_LISTED:
        return ", ".join(f"{number:.4g}" for number in numbers)
    return f"{numbers.min():.4g} to {numbers.max():.4g}"
