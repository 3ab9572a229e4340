"""A prior of the user's own, in any of its forms, as the blocks of an estimator.

`prior` is a family, a distribution of NumPyro, a mapping of the family's fields, or a mapping from column to any of
these. The estimator's own default supplies the family, the shapes and all columns not named.

Which distribution is a prior of which family is said on the family's page: `AbstractConjugate.distribution_`. Axes
come in the order that the family declares: an array of one axis holds one number a feature, as in NumPy's
broadcasting, and one number a class in the entry of a single column.
"""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import AbstractConjugate
from ..core.distributions import is_distribution
from ..core.supports import checked_prior, shortened
from ._input import align

if TYPE_CHECKING:
    from ._fitted import State

_HELP = "a family, a NumPyro distribution, a mapping of fields, or a mapping from columns to these"


def with_own_prior(nb: Any, state: "State", default: dict[str, Any]) -> dict[str, Any]:
    """The default blocks of an estimator with its `prior` in their place, or in the place of some of their columns.

    Raises
    ------
    ValueError
        if the prior is of another family, is not conjugate, has a wrong or an ambiguous shape or a value outside its
        range, or names a column that is not there; the message names the entry
    """
    given = nb.prior
    by_column, columns = _is_by_column(state, given, default), nb.block_columns(state)
    if not (by_column and _some_are_left(given, state)):
        _refuse_unused(nb)
    if not by_column:
        labels = {k: {"class": state.classes, "feature": state.columns.take(at).names} for k, at in columns.items()}
        return {name: _one(nb, "prior", given, block, labels[name]) for name, block in default.items()}
    found = {
        name: replace(block, **{key: np.array(getattr(block, key)) for key in block.fields_})
        for name, block in default.items()
    }
    for key, value in given.items():
        j, label = _position(state, key), f"prior[{key!r}]"
        name = next(name for name, own in columns.items() if j in own)
        block, at = found[name], np.flatnonzero(columns[name] == j)
        if any(declared.axes.count("feature") != 1 for declared in block.fields_.values()):
            raise ValueError(
                f"`{label}` is the prior of one column, but all columns of a {type(block).__name__} share one prior; "
                f"give the whole prior, with the fields {{{', '.join(block.fields_)}}}"
            )
        single = AbstractConjugate.select(block, at)  # the fields of the column, also where features are coupled
        own = _one(nb, label, value, single, {"feature": state.classes}, of_column=True)  # of classes is the axis left
        for field, declared in block.fields_.items():
            getattr(block, field)[(*(slice(None),) * declared.axes.index("feature"), at)] = getattr(own, field)
    return found


def leaves_default(nb: Any) -> bool:
    """Whether the estimator's default prior is used, for some column at least."""
    if not isinstance(nb.prior, Mapping):
        return nb.prior is None
    return _some_are_left(nb.prior, nb._state)


# --- columns --------------------------------------------------------------------------------------------------------


def _some_are_left(given: Mapping[Any, Any], state: "State") -> bool:
    """Whether a mapping from columns leaves some column to the default."""
    return 0 < len({state.columns.place(key) for key in given} - {None}) < state.columns.n


def _is_by_column(state: "State", given: Any, default: Mapping[str, Any]) -> bool:
    """Whether a prior is a mapping from columns; ValueError where it may be one of fields as well."""
    if not isinstance(given, Mapping):
        return False
    block = next(iter(default.values()))
    fields = {*block.fields_} if block.distribution_ else {*block.fields_, *block.parameters}
    as_fields = [key for key in given if isinstance(key, str) and key in fields]
    if both := [key for key in as_fields if key in state.columns.labels.tolist()]:
        what = f"`prior` has the key {both[0]!r}, which is both a column and a field of {type(block).__name__}"
        raise ValueError(f"{what}; give the column by its position, or the prior as a family")
    if not given:
        raise ValueError(f"`prior` is an empty mapping; it needs {_HELP}")
    return not as_fields


def _position(state: "State", key: Any) -> int:
    """Position of a column given by name or position."""
    place, d, names = state.columns.place(key), state.columns.n, state.columns.names
    if place is None:
        what = "no names" if names is None else f"names, such as {str(names[0])!r}"
        columns = f"the columns have {what} and the positions 0 to {d - 1}"
        raise ValueError(f"`prior` has the key {key!r}, which is neither a column nor a field; {columns}")
    return place


def _refuse_unused(nb: Any) -> None:
    """Raise a ValueError on hyperparameters of the default prior beside a `prior` that takes its place everywhere."""
    for name, parameter in inspect.signature(type(nb).__init__).parameters.items():
        if name in ("alpha", "beta") and not np.array_equal(value := getattr(nb, name), parameter.default):
            why = f"`{name}` is {shortened(value)}, but `prior` is given for all columns"
            raise ValueError(f"{why}, so it has no effect. Leave out one of the two")


# --- fields ---------------------------------------------------------------------------------------------------------


def _one(nb: Any, label: str, given: Any, block: Any, labels: dict[str, Any], of_column: bool = False) -> Any:
    """The block that one entry describes, its fields checked and broadcast."""
    c, d = block.shape
    if isinstance(given, AbstractConjugate):
        if type(given) is not type(block):
            found, needed = type(given).__name__, type(block).__name__
            raise ValueError(f"`{label}` is a {found}; {type(nb).__name__} with these settings needs a {needed}")
        fields = {key: getattr(given, key) for key in given.fields_}
    elif is_distribution(given):
        first = next(iter(block.fields_))
        try:
            fields = block.fields_from(given, lambda value: _placed(block, first, value) if of_column else value)
        except ValueError as error:
            raise ValueError(f"`{label}` {error}") from None
    else:
        fields = _fields(label, given, block)
    if not (of_column or isinstance(given, AbstractConjugate)):
        for key, value in fields.items():
            _refuse_ambiguous(label, key, np.shape(value), block.fields_[key].axes, c, d)
    fields = {k: align(f"{label}.{k}", v, *map(labels.get, block.fields_[k].axes)) for k, v in fields.items()}
    if of_column and not is_distribution(given):
        fields = {key: _placed(block, key, value) for key, value in fields.items()}
    shapes = {key: np.shape(getattr(block, key)) for key in block.fields_}
    sizes = {axis: n for key, shape in shapes.items() for axis, n in zip(block.fields_[key].axes, shape, strict=False)}
    return checked_prior(label, block, sizes, fields)


def _fields(label: str, given: Any, block: Any) -> dict[str, Any]:
    """Fields out of a mapping, or out of numbers where the family has only one field."""
    needed = [key for key, declared in block.fields_.items() if declared.fitted]
    kind, names = type(block).__name__, ", ".join(needed)
    if not isinstance(given, Mapping):
        if len(needed) == 1 and isinstance(given, int | float | list | tuple | np.ndarray | np.generic):
            return {needed[0]: given}
        raise ValueError(f"`{label}` is {shortened(given)}; it needs {_HELP}")
    if unknown := [key for key in given if key not in block.fields_]:
        raise ValueError(f"`{label}` has {unknown[0]!r}, which is not a field of {kind}; its fields are {{{names}}}")
    if missing := [key for key in needed if key not in given]:
        raise ValueError(f"`{label}` lacks {', '.join(missing)}; a prior of {kind} needs all of {{{names}}}")
    return dict(given)


def _placed(block: Any, key: str, value: Any) -> Any:
    """A number of one column, or one a class, with the axes of its field, that of the features too."""
    axes, array = block.fields_[key].axes, np.asarray(value)
    after = len(axes) - axes.index("feature") if "feature" in axes else 0
    return np.expand_dims(array, -after) if after and array.ndim >= after - 1 else array


def _refuse_ambiguous(label: str, key: str, shape: tuple[int, ...], axes: tuple[str, ...], c: int, d: int) -> None:
    """Raise a ValueError on one axis too few where there are as many classes as features: it may be either."""
    if axes[:2] == ("class", "feature") and axes.count("feature") == 1 and c == d > 1:
        if len(shape) == len(axes) - 1 and shape[0] == c:
            raise ValueError(
                f"`{label}` has {key} of shape {shape}, which is ambiguous with {c} classes and {d} features. Give "
                f"shape {(1, *shape)} for one value a feature, or {(shape[0], 1, *shape[1:])} for one value a class"
            )
