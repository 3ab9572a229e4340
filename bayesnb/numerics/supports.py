"""Which values a hyperparameter may have: what each family declares of its fields, and what an estimator checks.

A family names the support and the axes of every field (`AbstractConjugate.fields_`). Persistence, prior fitting and the
check of a prior that a user gives all read these declarations. They are plain numbers, without JAX or NumPyro.

The limits beside the sign leave room for the closed forms, which multiply, divide and cube hyperparameters: no such
product overflows. Results are promised for hyperparameters from 1e-8 to 1e8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

_LARGEST_NUMBER = 10**12  # of draws, rows or steps: no memory holds more
_WORDS = {
    "real": "finite, from {:g} to {:g}",
    "positive": "positive, from {:g} to {:g}",
    "degrees": "above {:g}, at most {:g}",
    "simplex": "probabilities that sum to 1, each 0 or at least {:g}",
    "matrix": "symmetric and positive definite, with a diagonal from {:g} to {:g}",
    "cells": "cells of the data",
}


@dataclass(frozen=True)
class Support:
    """A set of numbers, or of matrices.

    Fields
    ------
    kind : "real", "positive", "degrees" (above d − 1), "simplex", "matrix" (positive definite) or "cells" (of data)
    low, high : least and largest number, both included; of a matrix those of its diagonal
    """

    kind: str
    low: float
    high: float

    def describe(self, d: int = 1) -> str:
        """The set in words, as error messages say it; d is the number of features, for degrees of freedom."""
        return _WORDS[self.kind].format(d - 1 if self.kind == "degrees" else self.low, self.high)

    def holds(self, value: np.ndarray, d: int = 1) -> Any:
        """Whether each number is in the set; of matrices (…, d, d) and of a simplex (…, c) one answer for each.

        All kinds ask for numbers between `low` and `high`, and three of them for more:

        - "matrix": these limits hold for the diagonal, and the matrix is symmetric and positive definite;
        - "simplex": a probability may be 0 too, and all sum to 1;
        - "degrees": degrees of freedom of a d × d covariance are above d − 1.

        Parameters
        ----------
        value : one number or several, by any axes; for a matrix or a simplex as above
        d : number of features. It matters for degrees of freedom only: a d × d covariance that is inverse Wishart has a
            density only if they are above d − 1
        """
        with np.errstate(all="ignore"):
            # the limits: of the numbers themselves, or of the diagonals (…, d) of matrices
            numbers = np.diagonal(value, axis1=-2, axis2=-1) if self.kind == "matrix" else value
            within = (numbers >= self.low) & (numbers <= self.high)  # False for NaN

            # what the kind asks for besides
            if self.kind == "matrix":
                return within.all(-1) & _is_positive_definite(value)
            if self.kind == "simplex":
                sums_to_one = abs(value.sum(-1) - 1) <= 1e-8
                return (within | (value == 0)).all(-1) & sums_to_one
            if self.kind == "degrees":
                return within & (value > d - 1)
            return within  # "real", "positive" and "cells"


REAL = Support("real", -1e100, 1e100)  # a mean
COUNT = Support("positive", 1e-50, 1e50)  # a pseudo-count
AMOUNT = Support("positive", 1e-280, 1e300)  # a variance or a rate with a unit
LENGTH = Support("positive", 1e-140, 1e150)  # a bandwidth: its square is an amount
DEGREES = Support("degrees", 0.0, 1e50)
SIMPLEX = Support("simplex", 1e-300, 1.0)
POSITIVE_DEFINITE = Support("matrix", 1e-280, 1e300)
CELLS = Support("cells", -np.inf, np.inf)


@dataclass(frozen=True)
class Field:
    """What a family declares about one of its fields.

    Fields
    ------
    support : the values of the field in a proper density
    axes : names of its axes, ("class", "feature") by default; "one" is an axis of length one
    limit : the smallest value in an improper prior that is still useful, such as κ = 0; None if there is none
    per_class : whether the limit counts once a class, and their sum is the limit of a field that the classes share
    optional : whether the field may be None
    public : name of the hyperparameter in estimators and `fit_prior`, which several fields may share; by default the
        field's own
    per : public name of another hyperparameter. If both are fitted, this one is a multiple of it, as a rate is of its
        shape
    fitted : whether `fit_prior` may search for it
    """

    support: Support
    axes: tuple[str, ...] = ("class", "feature")
    limit: float | None = None
    per_class: bool = False
    optional: bool = False
    public: str = ""
    per: str = ""
    fitted: bool = True

    @property
    def is_number(self) -> bool:
        """Whether the field is one real or positive number for each class, feature or level."""
        return self.support.kind in ("real", "positive") and set(self.axes) <= {"class", "feature", "level"}

    def holds(self, value: np.ndarray, d: int) -> Any:
        """Whether each number is in the support, or a useful improper limit outside of it.

        Parameters
        ----------
        value : numbers, or matrices, by any axes
        d : number of features, on which the permitted degrees of freedom depend
        """
        within = self.support.holds(value, d)
        if self.limit is None:
            return within

        # an improper prior, such as κ = 0 pseudo-rows behind a mean: from the limit up to 0
        return within | ((value >= self.limit) & (value <= 0))

    def describe(self, d: int) -> str:
        """The permitted values in words, improper limits included."""
        limits = "" if self.limit is None else f", or from {self.limit:g} to 0 (improper: no evidence)"
        return self.support.describe(d) + limits


Declared = TypeVar("Declared", Field, Support, float)


def declare(**fields: Declared) -> Mapping[str, Declared]:
    """Fields of a family, its constants, or numbers about its fields, by name."""
    return MappingProxyType(fields)


PROBABILITIES, DENSITIES = "probabilities", "densities"
GIVEN_TOTALS, COMPOSITE = "probabilities given the row totals", "composite likelihoods"
_KINDS = {
    "real": "a real number",
    "amounts": "an amount of 0 or more",
    "positive": "a number above 0",
    "counts": "a count",
    "yes/no": "0 or 1",
    "levels": "the number of a level, from 0",
}


@dataclass(frozen=True)
class Cells:
    """What the cells of a family are, and with respect to which measure its likelihood is a density.

    Fields
    ------
    kind : "real", "amounts" (0 and more), "positive" (above 0), "counts", "yes/no" (0 or 1) or "levels" (0, 1, 2 …)
    whole : whether counts must be whole numbers
    sparse : whether rows may be scipy.sparse, whose empty cells are zeros
    measure : evidence can only be compared within one measure. The default is "densities" for real numbers, amounts and
        positive numbers, and "probabilities" otherwise. Any other text is a measure of its own
    """

    kind: str = "real"
    whole: bool = False
    sparse: bool = False
    measure: str = ""

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"`kind` is {self.kind!r}; choose {', '.join(_KINDS)}")
        if not self.measure:  # the default: cells with a continuous value have densities, all others probabilities
            dense = self.kind in ("real", "amounts", "positive")
            object.__setattr__(self, "measure", DENSITIES if dense else PROBABILITIES)

    @property
    def role(self) -> str:
        """What the column contract calls a column of such cells: "numbers" of real ones, else the kind."""
        return "numbers" if self.kind == "real" else self.kind

    def describe(self) -> str:
        """One cell in words."""
        return "a whole count" if self.whole and self.kind == "counts" else _KINDS[self.kind]

    def wrong(self, cells: np.ndarray, levels: int | None = None) -> Any:
        """Whether each number is not a valid cell; False for NaN, which is a missing one, as comparisons with it are.

        Parameters
        ----------
        cells : numbers, by any axes
        levels : number of levels, if cells are levels
        """
        if self.kind == "real":  # every number is valid
            return np.zeros(np.shape(cells), bool)

        # Too small or too large: 0 and 1 for "yes/no", 0 … levels − 1 for levels, no upper limit for counts and
        # amounts; "positive" cells must be above 0.
        largest = np.inf
        if self.kind == "yes/no":
            largest = 1
        elif self.kind == "levels" and levels is not None:
            largest = levels - 1
        is_too_small = cells <= 0 if self.kind == "positive" else cells < 0
        is_wrong = is_too_small | (cells > largest)

        # not whole: the remainder of a division by 1 is above 0
        if self.whole or self.kind in ("yes/no", "levels"):
            return is_wrong | (cells % 1 > 0)
        return is_wrong


def _is_positive_definite(matrix: np.ndarray) -> Any:
    """Whether each matrix (…, d, d) is symmetric and positive definite; the units of the features do not matter.

    A covariance is positive definite if and only if its correlation matrix is, and that has no units. Its smallest
    eigenvalue must be above rounding.
    """
    unit = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))  # standard deviations, (…, d)
    correlation = matrix / unit[..., :, None] / unit[..., None, :]  # NaN where the diagonal is not positive
    is_symmetric = (abs(correlation - correlation.swapaxes(-1, -2)) <= 1e-8).all((-2, -1))

    # in ascending order; NaN is replaced by 0, which `eigvalsh` can take, and such a matrix is not symmetric above
    smallest_eigenvalue = np.linalg.eigvalsh(np.where(np.isfinite(correlation), correlation, 0))[..., 0]
    return is_symmetric & (smallest_eigenvalue > 1e-14 * matrix.shape[-1])


def as_numbers(name: str, value: Any, requirement: str) -> np.ndarray:
    """A hyperparameter as float64, or a ValueError that names it; strings, None and distributions are no numbers.

    Parameters
    ----------
    name : of the hyperparameter, for the message
    value : what a user gave
    requirement : what is needed, in words, for the message
    """
    # a distribution is a likely mistake, which has a message of its own
    if (type(value).__module__ or "").startswith(("numpyro.", "scipy.stats")):
        raise ValueError(
            f"`{name}` is a distribution, {type(value).__name__}; it needs {requirement}. Give the numbers themselves, "
            "let `bayesnb.fit_prior` choose them from the data, or write a hierarchical model in NumPyro"
        )
    try:
        # an array of objects ("O") may hold numbers, such as fractions, but no text and no None
        array = np.asarray(value)
        has_text = array.dtype == "O" and any(isinstance(x, str | bytes | None) for x in array.ravel())
        if has_text or array.dtype.kind not in "biufO":  # booleans, integers, floats or objects
            raise TypeError  # which is caught below, as NumPy's own errors are
        return np.asarray(array, float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`{name}` is {shortened(value)}; it needs {requirement}") from None


def is_single(value: Any) -> bool:
    """Whether a value is no list and no array; `numpy.ndim` refuses lists of lists of several lengths."""
    return not isinstance(value, list | tuple) and np.ndim(value) == 0


def check_level(level: Any, name: str = "level") -> None:
    """Raise a ValueError unless the mass inside an interval, or another share, is between 0 and 1."""
    # no list, a number ("fiu": float or integer), and between 0 and 1
    if not is_single(level) or np.asarray(level).dtype.kind not in "fiu" or not 0 < level < 1:
        raise ValueError(f"`{name}` is {level!r}; it needs to lie between 0 and 1, such as 0.9")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise a ValueError unless an argument is one of the choices."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"`{name}` is {value!r}; choose {', '.join(first)} or {last}")


def check_least(least: int, most: float = _LARGEST_NUMBER, /, **numbers: Any) -> None:
    """Raise a ValueError that names the first argument that is not whole, below the least, or beyond any memory.

    Parameters
    ----------
    least, most : the limits, both permitted
    numbers : values of arguments by their names
    """
    for name, value in numbers.items():
        # True and False are integers of Python, but no numbers of rows or draws
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"`{name}` is {value!r}; it needs to be a whole number, at least {least}")
        if value > most:
            raise ValueError(f"`{name}` is {shortened(value)}; it needs to be a whole number, at most {most}")


def shortened(value: Any) -> str:
    """`repr` of a value for a message, at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:76]} …"


def checked_numbers(
    name: str, value: Any, shape: tuple[int, ...], support: "Support | Field" = COUNT, d: int = 1
) -> np.ndarray:
    """A hyperparameter in a support, broadcast to a shape, or a ValueError that names it and the permitted range.

    Parameters
    ----------
    name : of the hyperparameter, for the message
    value : what a user gave
    shape : of the result, such as (classes, features)
    support : the permitted values
    d : number of features, on which the permitted degrees of freedom depend
    """
    requirement = f"numbers ({support.describe(d)}) that broadcast to {shape}"
    numbers = as_numbers(name, value, requirement)  # as float64, or an error
    try:
        full = np.broadcast_to(numbers, shape)
    except ValueError:
        raise ValueError(f"`{name}` is shape {numbers.shape}; it needs {requirement}") from None

    # A single number that stands for many is looked at only once. A matrix or a simplex can be judged only in its full
    # shape.
    kind = support.support.kind if isinstance(support, Field) else support.kind
    is_repeated = numbers.size == 1 and full.size > 1 and kind not in ("matrix", "simplex")
    to_check = numbers if is_repeated else full
    if not np.all(support.holds(to_check, d)):
        raise ValueError(f"`{name}` is {shortened(value)}; it needs to be {support.describe(d)}")
    return full


def checked_prior(name: str, prior: Any, sizes: Mapping[str, int], fields: Mapping[str, Any] | None = None) -> Any:
    """A prior that a user gives, with every field broadcast to its axes.

    Parameters
    ----------
    name : of the argument, for messages
    prior : a block of a family that declares its fields
    sizes : lengths of the axes by name, "class" and "feature" among them; an axis that is not there, such as "level",
        is as long as the prior has it
    fields : values to take the place of the prior's own, by name

    Raises
    ------
    ValueError
        if a field has the wrong shape, or a value neither in its support nor an improper limit of it; the message
        names the field, the value and what is permitted
    """
    # constants of all cells are single numbers, and stay as they are
    for key, support in prior.constants_.items():
        checked_numbers(f"{name}.{key}", getattr(prior, key), (), support)

    values = {}
    for key, field in prior.fields_.items():
        value = (fields or {}).get(key, getattr(prior, key))  # the given value, by default the prior's own
        if value is None and field.optional:
            continue
        values[key] = _checked_field(f"{name}.{key}", value, field, sizes)
    return replace(prior, **values)


def _checked_field(label: str, value: Any, field: Field, sizes: Mapping[str, int]) -> np.ndarray:
    """The value of a field of a prior, checked and broadcast to its axes.

    Parameters
    ----------
    label : name of the field, for messages
    value : what a user gave
    field : what the family declares about it
    sizes : lengths of the axes by name; an axis without one is as long as the value has it
    """
    # A limit is the smallest value in an improper prior, such as a = −½ of a variance. If it counts once for each
    # class, a field that C classes share may go down to C times the limit.
    if field.per_class and field.limit is not None:
        field_of_all = replace(field, limit=field.limit * sizes["class"])
    else:
        field_of_all = field
    d = sizes["feature"]
    numbers = as_numbers(label, value, f"numbers: {field_of_all.describe(d)}")

    # The lengths of the axes that the value itself has. Axes that it lacks on its left have length 1: for the axes
    # ("class", "level") and a value of shape (5,) the lengths are (1, 5).
    n_axes = len(field.axes)
    lengths = ((1,) * n_axes + numbers.shape)[-n_axes:]
    own_length = dict(zip(field.axes, lengths, strict=True))  # {"class": 1, "level": 5}

    # Known lengths take their place; later entries of a dict replace earlier ones. With 3 classes the shape is (3, 5).
    length_of = {**own_length, **sizes, "one": 1}
    shape = tuple(length_of[axis] for axis in field.axes)
    return np.array(checked_numbers(label, value, shape, field_of_all, d))


def improper(block: Any) -> str | None:
    """Why a density does not integrate to one: its first number at an improper limit, in words; None if it does.

    Parameters
    ----------
    block : a density of a family that declares its fields; where one has a limit, such as κ = 0, the density is
        improper at 0 and below
    """
    inner = getattr(block, "block", block)  # a block of a single class holds the one that has the fields
    for key, field in inner.fields_.items():
        # only fields with a limit can be improper; the numbers of a JAX trace are not known
        value = getattr(inner, key)
        if field.limit is None or not isinstance(value, np.ndarray):
            continue

        is_proper = np.isfinite(value) & (value > 0)
        indices = np.argwhere(~is_proper)  # of the numbers that are not, one index a row
        if not len(indices):
            continue

        # the first of them and where it stands: the index (0, 3) is written as "class 0, feature 3"
        index = tuple(indices[0])
        position = ", ".join(f"{axis} {i}" for axis, i in zip(field.axes, index, strict=False) if axis != "one")
        return f"{key} is {value[index]:g} ({position})"
    return None
