"""A prior of the user's own, in any of its forms, as the blocks of an estimator.

`prior` is a family, a distribution of NumPyro, a mapping of the family's fields, or a mapping from column to any of
these. The estimator's own default supplies the family, the shapes and all columns not named.

Which distribution is a prior of which family is said on the family's page: `AbstractConjugate.distribution_`. Axes
come in the order that the family declares: an array of one axis holds one number a feature, as in NumPy's
broadcasting, and one number a class in the entry of a single column.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..families.base import AbstractConjugate
from ..numerics.distributions import is_distribution
from ..numerics.supports import checked_prior, shortened
from ._input import align

if TYPE_CHECKING:
    from ._fitted import State

_HELP = "a family, a NumPyro distribution, a mapping of fields, or a mapping from columns to these"


def with_own_prior(nb: Any, state: "State", default: dict[str, Any]) -> dict[str, Any]:
    """The default blocks of an estimator with its `prior` in their place, or in the place of some of their columns.

    Parameters
    ----------
    nb : the estimator
    state : with its classes and columns
    default : the prior blocks that it has without a `prior`, by name

    Raises
    ------
    ValueError
        if the prior is of another family, is not conjugate, has a wrong or an ambiguous shape or a value outside its
        range, or names a column that is not there; the message names the entry
    """
    # a mapping from columns. If some columns are not named, they keep the default prior, which uses `alpha` and `beta`;
    # otherwise nothing uses these two, and `_refuse_unused` raises an error if one of them was set
    if _is_by_column(state, nb.prior, default):
        if not _leaves_some_column(nb.prior, state):
            _refuse_unused(nb)
        return _blocks_by_column(nb, state, default)

    # one prior for all columns: the fields of every block come from it. `_block_of` checks the fields and broadcasts
    # them to the shape of the block. `labels` name the classes and columns, in whose order a Series of pandas is put
    _refuse_unused(nb)
    block_columns = nb._block_columns(state)  # by name of the block the positions in X of its columns
    blocks = {}
    for name, block in default.items():
        labels = {"class": state.classes, "feature": state.columns.take(block_columns[name]).names}
        entry = _Entry(label="prior", value=nb.prior, estimator=type(nb).__name__, labels=labels, of_column=False)
        blocks[name] = _block_of(entry, block)
    return blocks


def leaves_default(nb: Any) -> bool:
    """Whether the estimator's default prior is used, for some column at least.

    `prior` replaces it for all columns, unless it is None, or a mapping that names only some of them.
    """
    if not isinstance(nb.prior, Mapping):
        return nb.prior is None
    return _leaves_some_column(nb.prior, nb._state)


# --- columns --------------------------------------------------------------------------------------------------------


def _leaves_some_column(prior: Mapping[Any, Any], state: "State") -> bool:
    """Whether a mapping from columns names some columns and leaves others to the default.

    A mapping of fields, such as {"a": 2, "b": 8}, names no column, so that the result is False.
    """
    positions = {state.columns.place(key) for key in prior}
    positions.discard(None)  # of a key that is no column
    return 0 < len(positions) < state.columns.n


def _is_by_column(state: "State", prior: Any, default: Mapping[str, Any]) -> bool:
    """Whether a prior is a mapping from columns; ValueError where it may be one of fields as well.

    {"age": …} is one from columns, and {"a": 2, "b": 8} one of the fields of a beta density. If a column has the name
    of a field, nobody can tell.

    Parameters
    ----------
    state : with the columns of X
    prior : as the user gave it
    default : the default blocks by name, all of one family
    """
    if not isinstance(prior, Mapping):
        return False

    # keys that name a field of the family, such as "alpha". The default blocks are all of one family, so that the first
    # one shows its fields. Where NumPyro has no distribution for the family, names of its parameters, such as "mu",
    # count as fields too: they are none, but the error about them is then about fields
    block = next(iter(default.values()))
    fields = set(block.fields_)
    if not block.distribution_:
        fields |= set(block.parameters)
    field_keys = [key for key in prior if isinstance(key, str) and key in fields]

    labels = state.columns.labels.tolist()
    ambiguous = [key for key in field_keys if key in labels]
    if ambiguous:
        raise ValueError(
            f"`prior` has the key {ambiguous[0]!r}, which is both a column and a field of {type(block).__name__}; "
            "give the column by its position, or the prior as a family"
        )
    if not prior:
        raise ValueError(f"`prior` is an empty mapping; it needs {_HELP}")
    return not field_keys


def _blocks_by_column(nb: Any, state: "State", default: dict[str, Any]) -> dict[str, Any]:
    """The default blocks, with the user's own prior in the columns that `prior` names.

    `prior` is then a mapping such as {"age": dist.Normal(40, 9)}. A *block* is the conjugate prior of some columns of X
    that are of one family. Its *fields* are the hyperparameters, as arrays such as m (c, d_block): a row for each class
    and a column for each column of the block. Each entry of the mapping is written over one column of these arrays.

    Parameters
    ----------
    nb : the estimator; the keys of `nb.prior` are names or positions of columns
    state : with its classes and columns
    default : the default blocks, by name

    Returns
    -------
    new blocks by name; the default ones do not change
    """
    block_columns = nb._block_columns(state)  # by name of the block the positions in X of its columns
    blocks = {name: _with_copied_fields(block) for name, block in default.items()}
    for key, value in nb.prior.items():
        # the only block that has the column, and the position of the column among those of the block, (1,): if block
        # "x" has the columns 0, 2, 5 of X, column 5 is at position 2 of it
        column = _position(state, key)
        name = next(name for name, columns in block_columns.items() if column in columns)
        within_block = np.flatnonzero(block_columns[name] == column)

        # `_Entry` holds the value as the user wrote it, with what is needed to read it: how messages name it, and the
        # labels of the axes of its values. A value of one column may be a Series with a number for each class. It is a
        # one-dimensional array, and `align` puts the last axis in order, which is the axis "feature" of the field
        # (class, feature). So the class labels are given under the name "feature" here
        entry = _Entry(
            label=f"prior[{key!r}]",
            value=value,
            estimator=type(nb).__name__,
            labels={"feature": state.classes},
            of_column=True,
        )
        _set_column(blocks[name], within_block, entry)
    return blocks


def _with_copied_fields(block: Any) -> Any:
    """The block with fields that may be written to."""
    copies = {field: np.array(getattr(block, field)) for field in block.fields_}
    return replace(block, **copies)


def _set_column(block: Any, column: np.ndarray, entry: "_Entry") -> None:
    """Write the prior of a single column, which the user gave, into that column of the fields of a block.

    Parameters
    ----------
    block : of a family whose `fields_` declares the axes of each field; the arrays may be written to
    column : (1,), its position in the block
    entry : the prior of this column
    """
    # a field declares the names of its axes, such as ("class", "feature"). A field without an axis of features, or with
    # two of them (a covariance), has no column that could be replaced
    if any(declared.axes.count("feature") != 1 for declared in block.fields_.values()):
        raise ValueError(
            f"`{entry.label}` is the prior of one column, but all columns of a {type(block).__name__} share one prior; "
            f"give the whole prior, with the fields {{{', '.join(block.fields_)}}}"
        )
    # the block of this column alone, first with the default fields, then with those of the entry. `select` is that of
    # the base class, which cuts the arrays; a family may override it with a marginal model of other fields
    default_of_column = AbstractConjugate.select(block, column)
    block_of_column = _block_of(entry, default_of_column)

    # each field of it goes to the place of the column, along the axis of the features: array[:, column] if the axes are
    # (class, feature, …), array[column] if the axis of the features is the first
    for field, declared in block.fields_.items():
        axes_before = (slice(None),) * declared.axes.index("feature")
        getattr(block, field)[(*axes_before, column)] = getattr(block_of_column, field)


def _position(state: "State", key: Any) -> int:
    """Position in X of the column that a key of `prior` names; ValueError if there is no such column.

    Parameters
    ----------
    state : with the columns of X
    key : name or position of a column
    """
    position = state.columns.place(key)  # by name, then by number; None if there is no such column
    if position is not None:
        return position

    # the message says what the columns are called
    names = state.columns.names
    named = "no names" if names is None else f"names, such as {str(names[0])!r}"
    raise ValueError(
        f"`prior` has the key {key!r}, which is neither a column nor a field; "
        f"the columns have {named} and the positions 0 to {state.columns.n - 1}"
    )


def _refuse_unused(nb: Any) -> None:
    """Raise a ValueError if the estimator has an `alpha` or `beta` other than the default of its constructor.

    It is called if the argument `prior` replaces the default prior in every column. `alpha` and `beta` are the
    hyperparameters of the default prior, so they would have no effect. The caller has seen to the condition: here
    nothing looks at `prior`. A value that equals the default of the constructor counts as not set.

    Parameters
    ----------
    nb : the estimator
    """
    parameters = inspect.signature(type(nb).__init__).parameters
    for name in ("alpha", "beta"):
        if name not in parameters:  # the estimator has no such hyperparameter
            continue
        value = getattr(nb, name)
        if not np.array_equal(value, parameters[name].default):
            raise ValueError(
                f"`{name}` is {shortened(value)}, but `prior` is given for all columns, so it has no effect. "
                "Leave out one of the two"
            )


# --- fields ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    """A prior as the user wrote it: for all columns, or for a single one.

    Fields
    ------
    label : how a message names it: "prior", or "prior['age']"
    value : a family, a distribution, a mapping of fields, or numbers
    estimator : name of the class that it is given to
    labels : names along the axes "class" and "feature", which align values that bring names of their own
    of_column : whether it is the entry of a single column
    """

    label: str
    value: Any
    estimator: str
    labels: dict[str, Any]
    of_column: bool


def _block_of(entry: _Entry, block: Any) -> Any:
    """The block that one entry describes, its fields checked and broadcast to those of the default block.

    Parameters
    ----------
    entry : a prior as the user wrote it, for all columns of the block or for its only column
    block : the default block, of all columns that the entry is for
    """
    fields = _fields_of(entry, block)  # values by name of the field, as the user gave them

    # an array with one axis too few may be meant for classes or for features: with 3 classes and 3 features nobody can
    # tell what an array (3,) is, and `_refuse_ambiguous` raises an error. Not so in the entry of a column, where it is
    # for classes, and not in a family (an `AbstractConjugate`), whose fields have all their axes
    if not (entry.of_column or isinstance(entry.value, AbstractConjugate)):
        for field, value in fields.items():
            _refuse_ambiguous(entry.label, field, np.shape(value), block)

    # a Series or frame of pandas is put in the order of the classes and columns of the fit, by its labels
    for field, value in fields.items():
        axis_labels = [entry.labels.get(axis) for axis in block.fields_[field].axes]
        fields[field] = align(f"{entry.label}.{field}", value, *axis_labels)

    # the values of a single column lack the axis of features, which the fields of the block have with length 1. A
    # distribution has got it already, in `_fields_of_distribution`
    if entry.of_column and not is_distribution(entry.value):
        fields = {field: _with_feature_axis(block, field, value) for field, value in fields.items()}
    return checked_prior(entry.label, block, _axis_sizes(block), fields)


def _fields_of(entry: _Entry, block: Any) -> dict[str, Any]:
    """The values of the fields, by name, whatever form the entry has: a family, a distribution, a mapping or numbers.

    Parameters
    ----------
    block : the default block, whose family the entry must have
    """
    prior = entry.value
    # a family, such as GammaPoisson(2, 1), has values for all fields
    if isinstance(prior, AbstractConjugate):
        if type(prior) is not type(block):
            raise ValueError(
                f"`{entry.label}` is a {type(prior).__name__}; {entry.estimator} with these settings needs a "
                f"{type(block).__name__}"
            )
        return {field: getattr(prior, field) for field in prior.fields_}
    if is_distribution(prior):  # of NumPyro
        return _fields_of_distribution(entry, block)
    if isinstance(prior, Mapping):  # from names of fields
        return _fields_of_mapping(entry, block)
    return _field_of_numbers(entry, block)


def _fields_of_distribution(entry: _Entry, block: Any) -> dict[str, Any]:
    """The values of the fields from the arguments of a NumPyro distribution; ValueError if it is not of this family.

    Parameters
    ----------
    entry : with the distribution as its value
    block : the default block, whose family says which argument each field is
    """
    first_field = next(iter(block.fields_))  # all fields of such a family have the same axes

    def with_axes(value: Any) -> Any:
        """An argument of the distribution, such as the `loc` of a normal, with the axes of the field it gives."""
        return _with_feature_axis(block, first_field, value) if entry.of_column else value

    # `fields_from` is the family's own: it gives the value of each field by name, such as m and κ = σ²/s² of a
    # Normal(m, s), and raises a ValueError if the distribution is no prior of it
    try:
        return dict(block.fields_from(entry.value, with_axes))
    except ValueError as error:
        raise ValueError(f"`{entry.label}` {error}") from None


def _fields_of_mapping(entry: _Entry, block: Any) -> dict[str, Any]:
    """The values of the fields from a mapping of fields; ValueError if a field is missing or unknown.

    Parameters
    ----------
    entry : with the mapping as its value
    block : the default block, whose family declares the fields
    """
    required = _required_fields(block)  # names; a field such as a known variance need not be given
    family = type(block).__name__
    listed = f"{{{', '.join(required)}}}"
    unknown = [key for key in entry.value if key not in block.fields_]
    if unknown:
        raise ValueError(
            f"`{entry.label}` has {unknown[0]!r}, which is not a field of {family}; its fields are {listed}"
        )
    missing = [field for field in required if field not in entry.value]
    if missing:
        raise ValueError(f"`{entry.label}` lacks {', '.join(missing)}; a prior of {family} needs all of {listed}")
    return dict(entry.value)


def _field_of_numbers(entry: _Entry, block: Any) -> dict[str, Any]:
    """The value of the only field: numbers on their own are a prior where the family has no other field."""
    required = _required_fields(block)
    if len(required) == 1 and isinstance(entry.value, int | float | list | tuple | np.ndarray | np.generic):
        return {required[0]: entry.value}
    raise ValueError(f"`{entry.label}` is {shortened(entry.value)}; it needs {_HELP}")


def _required_fields(block: Any) -> list[str]:
    """Names of the fields that a mapping has to give. Others, such as a known variance, may keep their value."""
    return [field for field, declared in block.fields_.items() if declared.fitted]


def _axis_sizes(block: Any) -> dict[str, int]:
    """The length of each named axis of the fields of a block, such as {"class": 3, "feature": 4}."""
    sizes: dict[str, int] = {}
    for field, declared in block.fields_.items():
        sizes.update(zip(declared.axes, np.shape(getattr(block, field)), strict=False))
    return sizes


def _with_feature_axis(block: Any, field: str, value: Any) -> Any:
    """A value for one column, with an axis of length 1 where its field has the axis of features.

    For a field with the axes (class, feature), three numbers (3,), one for each class, become an array (3, 1). A single
    number stays as it is, because it broadcasts.

    Parameters
    ----------
    block : of a family whose `fields_` declares the axes of each field
    field : name of the field
    value : a number, or an array with the axes of the field but that of the features, such as one number a class. Axes
        in front may be left out
    """
    axes = block.fields_[field].axes  # such as ("class", "feature")
    array = np.asarray(value)
    if "feature" not in axes:
        return array
    # the position of the axis of features, counted from the end: 1 if it is the last. A value with fewer axes than
    # there are behind it ends before that place, and broadcasts without it. For (class, feature, level) the axis is 2
    # from the end: an array (c, levels) becomes (c, 1, levels), (levels,) becomes (1, levels), and a number stays
    from_the_end = len(axes) - axes.index("feature")
    reaches_the_axis = array.ndim >= from_the_end - 1
    return np.expand_dims(array, -from_the_end) if reaches_the_axis else array


def _refuse_ambiguous(label: str, field: str, shape: tuple[int, ...], block: Any) -> None:
    """Raise a ValueError on one axis too few where there are as many classes as features: it may be either.

    With 3 classes and 3 features, an array (3,) for a field (class, feature) is refused; (1, 3) and (3, 1) are clear.

    Parameters
    ----------
    label : how the message names the prior
    field, shape : name of a field, and the shape that the user gave to it
    block : the default block
    """
    axes = block.fields_[field].axes  # such as ("class", "feature", "level")
    n_classes, n_features = block.shape
    # only a field with one axis of classes and one of features can be taken in two ways, and only if both axes have the
    # same length, which is 2 or more
    by_class_and_feature = axes[:2] == ("class", "feature") and axes.count("feature") == 1
    if not by_class_and_feature or n_classes != n_features or n_classes < 2:
        return
    lacks_one_axis = len(shape) == len(axes) - 1
    if lacks_one_axis and shape[0] == n_classes:
        raise ValueError(
            f"`{label}` has {field} of shape {shape}, which is ambiguous with {n_classes} classes and {n_features} "
            f"features. Give shape {(1, *shape)} for one value a feature, or {(shape[0], 1, *shape[1:])} for one value "
            "a class"
        )
