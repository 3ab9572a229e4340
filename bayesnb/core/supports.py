"""Which values a hyperparameter may have: what each family declares of its fields, and what an estimator checks.

A family names the support and the axes of every field (`AbstractConjugate.fields_`). Persistence, prior fitting and the
check of a prior that a user gives all read these declarations. They are plain numbers, without JAX or NumPyro.

Why there are limits beside the sign. The closed forms multiply, divide and cube hyperparameters. Between 1e-50 and
1e50 every such product is a number of float64 with all its digits, and no data tell a pseudo-count of 1e50 from an
infinite one. A hyperparameter with a unit may be as small or large as a variance of the data can be.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np

Check = TypeVar("Check", bound=Callable[..., np.ndarray])

LEAST_COUNT, MOST_COUNT = 1e-50, 1e50  # of a pseudo-count
LEAST_AMOUNT, MOST_AMOUNT = 1e-280, 1e300  # of a variance or a rate with a unit
LEAST_LENGTH, MOST_LENGTH = 1e-140, 1e150  # of a bandwidth: its square is an amount
MOST_CENTRE = 1e100  # of a mean
LEAST_PROBABILITY = 1e-300  # of a class; below, only 0
_ASYMMETRY = 1e-8  # of a covariance, relative to its standard deviations
_SINGULAR = 1e-14  # least eigenvalue of a correlation matrix


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

    @functools.cache  # noqa: B019 - there are a few supports, which live as long as the package
    def describe(self, d: int | None = None) -> str:
        """The set in words, as error messages say it."""
        span = f"from {self.low:g} to {self.high:g}"
        return {
            "real": f"finite, {span}",
            "positive": f"positive, {span}",
            "degrees": f"above {'d − 1' if d is None else d - 1}, at most {self.high:g}",
            "simplex": f"probabilities that sum to 1, each 0 or at least {self.low:g}",
            "matrix": f"symmetric and positive definite, with a diagonal {span}",
            "cells": "cells of the data",
        }[self.kind]

    def holds(self, value: np.ndarray, d: int | None = None) -> Any:
        """Whether each number is in the set; of matrices (…, d, d) and of a simplex (…, c) one answer for each."""
        with np.errstate(invalid="ignore", over="ignore"):
            if self.kind == "matrix":
                return _is_positive_definite(value) & self._within(np.diagonal(value, axis1=-2, axis2=-1)).all(-1)
            if self.kind == "simplex":
                whole = abs(value.sum(-1) - 1) <= 1e-8
                return ((value == 0) | self._within(value)).all(-1) & whole
            if self.kind == "degrees":
                assert d is not None
                return (value > d - 1) & (value <= self.high)
            return self._within(value)

    def _within(self, value: np.ndarray) -> Any:
        return (value >= self.low) & (value <= self.high)  # False for NaN


REAL = Support("real", -MOST_CENTRE, MOST_CENTRE)
COUNT = Support("positive", LEAST_COUNT, MOST_COUNT)
AMOUNT = Support("positive", LEAST_AMOUNT, MOST_AMOUNT)
LENGTH = Support("positive", LEAST_LENGTH, MOST_LENGTH)
DEGREES = Support("degrees", 0.0, MOST_COUNT)
SIMPLEX = Support("simplex", LEAST_PROBABILITY, 1.0)
POSITIVE_DEFINITE = Support("matrix", LEAST_AMOUNT, MOST_AMOUNT)
CELLS = Support("cells", -np.inf, np.inf)


@dataclass(frozen=True)
class Field:
    """What a family declares about one of its fields.

    Fields
    ------
    support : the values of the field in a proper density
    axes : names of its axes, such as ("class", "feature"); "one" is an axis of length one
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
    axes: tuple[str, ...]
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

    def least(self, c: int) -> float | None:
        """The improper limit for c classes."""
        return self.limit * c if self.limit is not None and self.per_class else self.limit

    def is_limit(self, value: np.ndarray, c: int) -> Any:
        """Whether each number is a useful improper limit outside the support."""
        least = self.least(c)
        if least is None:
            return np.zeros((), bool)
        with np.errstate(invalid="ignore"):
            return (value >= least) & (value <= 0)

    def describe(self, c: int, d: int) -> str:
        """The permitted values in words, improper limits included."""
        text, least = self.support.describe(d), self.least(c)
        if least is None:
            return text
        return f"{text}, or {'0' if least == 0 else f'from {least:g} to 0'} (improper: no evidence)"


Declared = TypeVar("Declared", Field, Support, float)


def declare(**fields: Declared) -> Mapping[str, Declared]:
    """Fields of a family, its constants, or numbers about its fields, by name."""
    return MappingProxyType(fields)


PROBABILITIES, DENSITIES = "probabilities", "densities"
GIVEN_TOTALS, COMPOSITE = "probabilities given the row totals", "composite likelihoods"
MEASURES = PROBABILITIES, GIVEN_TOTALS, DENSITIES, COMPOSITE  # what evidence is of, in the order of messages
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
        if not self.measure:
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
        """Whether each number is not a valid cell; False for NaN.

        Parameters
        ----------
        levels : number of levels, if cells are levels
        """
        if self.kind == "real":
            return np.zeros(np.shape(cells), bool)
        if self.kind == "yes/no":
            return (cells < 0) | (cells > 1) | (cells % 1 > 0)
        if self.kind == "levels":
            return (cells < 0) | (cells % 1 > 0) | (cells >= (np.inf if levels is None else levels))
        if self.kind == "positive":
            return cells <= 0
        return (cells < 0) | ((cells % 1 > 0) if self.whole else False)


def _is_positive_definite(matrix: np.ndarray) -> Any:
    """Whether each matrix (…, d, d) is symmetric and positive definite; the units of the features do not matter."""
    eye = np.eye(matrix.shape[-1])
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    sound = np.isfinite(matrix).all((-2, -1)) & (diagonal > 0).all(-1)
    unit = np.sqrt(np.where(sound[..., None], diagonal, 1))
    correlation = np.where(sound[..., None, None], matrix, eye) / unit[..., :, None] / unit[..., None, :]
    sound = sound & np.isfinite(correlation).all((-2, -1))
    correlation = np.where(sound[..., None, None], correlation, eye)
    symmetric = (abs(correlation - correlation.swapaxes(-1, -2)) <= _ASYMMETRY).all((-2, -1))
    least = np.linalg.eigvalsh((correlation + correlation.swapaxes(-1, -2)) / 2)[..., 0]
    return sound & symmetric & (least > _SINGULAR * matrix.shape[-1])


def _remembered(check: Check) -> Check:
    """A check of a hyperparameter whose answer for a plain number is kept, as an estimator asks at every batch."""
    known = functools.lru_cache(maxsize=256)(check)

    @functools.wraps(check)
    def checked(name: str, value: Any, *needed: Any) -> np.ndarray:
        return (known if type(value) in (float, int) else check)(name, value, *needed)

    return cast(Check, checked)


@_remembered
def as_numbers(name: str, value: Any, needed: str) -> np.ndarray:
    """A hyperparameter as float64, or a ValueError that names it; strings, None and distributions are no numbers."""
    module = type(value).__module__ or ""
    if module.startswith(("numpyro.", "scipy.stats")):
        raise ValueError(
            f"`{name}` is a distribution, {type(value).__name__}; it needs {needed}. Give the numbers themselves, "
            "let `bayesnb.fit_prior` choose them from the data, or write a hierarchical model in NumPyro"
        )
    try:
        array = np.asarray(value)
        odd = array.dtype.kind not in "biufO"
        if odd or (array.dtype.kind == "O" and any(isinstance(cell, str | bytes | None) for cell in array.ravel())):
            raise TypeError
        with np.errstate(over="ignore"):
            numbers = np.asarray(array, float)
    except OverflowError:
        raise ValueError(f"`{name}` has a number too large for a float; it needs {needed}") from None
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` is {shortened(value)}; it needs {needed}") from None
    return numbers


def check_level(level: Any) -> None:
    """Raise a ValueError unless the mass inside an interval is between 0 and 1."""
    if np.ndim(level) or np.asarray(level).dtype.kind not in "fiu" or not 0 < level < 1:
        raise ValueError(f"`level` is {level!r}; it needs to lie between 0 and 1, such as 0.9")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise a ValueError unless an argument is one of the choices."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise ValueError(f"`{name}` is {value!r}; choose {', '.join(first)} or {last}")


def check_least(least: int, **numbers: Any) -> None:
    """Raise a ValueError that names the first one that is not whole, or below the least."""
    for name, value in numbers.items():
        if not isinstance(value, int | np.integer):
            raise ValueError(f"`{name}` is {value!r}; it needs to be a whole number, at least {least}")
        if not value >= least:
            raise ValueError(f"`{name}` is {value}; it needs to be at least {least}")


def shortened(value: Any) -> str:
    """`repr` of a value for a message, at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:76]} …"


@_remembered
def checked_numbers(name: str, value: Any, shape: tuple[int, ...], support: Support = COUNT) -> np.ndarray:
    """A hyperparameter in a support, broadcast to a shape, or a ValueError that names it and the permitted range."""
    needed = f"numbers ({support.describe()}) that broadcast to {shape}"
    numbers = as_numbers(name, value, needed)
    try:
        full = np.broadcast_to(numbers, shape)
    except ValueError:
        raise ValueError(f"`{name}` is shape {numbers.shape}; it needs {needed}") from None
    if not support.holds(numbers).all():
        raise ValueError(f"`{name}` is {shortened(value)}; it needs to be {support.describe()}")
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
    c, d, found = sizes["class"], sizes["feature"], {}
    for key, support in prior.constants_.items():
        number = as_numbers(f"{name}.{key}", getattr(prior, key), f"one number: {support.describe()}")
        if number.ndim or not support.holds(number):
            raise ValueError(f"`{name}.{key}` is {shortened(number.tolist())}; it needs to be {support.describe()}")
    for key, field in prior.fields_.items():
        value = getattr(prior, key) if fields is None or key not in fields else fields[key]
        label, needed = f"{name}.{key}", field.describe(c, d)
        if value is None and field.optional:
            continue
        numbers = as_numbers(label, value, f"numbers: {needed}")
        shape = tuple(
            1 if axis == "one" else sizes.get(axis, numbers.shape[at] if numbers.ndim >= -at else 1)
            for at, axis in zip(range(-len(field.axes), 0), field.axes, strict=True)
        )
        try:
            full = np.array(np.broadcast_to(numbers, shape))
        except ValueError:
            axes = ", ".join(field.axes)
            raise ValueError(f"`{label}` has shape {numbers.shape}; it needs {shape}, the axes ({axes})") from None
        wrong = ~field.support.holds(full, d)
        wrong &= ~field.is_limit(full, c)
        if wrong.any():
            at = [int(i) for i in np.argwhere(wrong)[0]]
            bad = full[tuple(at)]
            place = ", ".join(f"{axis} {i}" for axis, i in zip(field.axes, at, strict=False) if axis != "one")
            said = f"{bad:g}" if np.ndim(bad) == 0 else shortened(bad.tolist())
            raise ValueError(f"`{label}` has {said}{f' ({place})' if place else ''}; it needs to be {needed}")
        found[key] = full
    return replace(prior, **found)


def improper(block: Any) -> str | None:
    """Why a density has no normaliser: its first field at an improper limit, in words; None for a proper density."""
    block = block.inner
    for key, field in block.fields_.items():
        value = getattr(block, key)
        if field.limit is not None and isinstance(value, np.ndarray) and not value.min(initial=1) > 0:
            limits = field.is_limit(value, block.shape[0])
            if limits.any():
                return (
                    f"its prior is improper ({key} is {value[limits][0]:g}) and has no normaliser, so an evidence "
                    "would have an arbitrary factor; give a proper prior"
                )
    return None


def undefined(block: Any) -> str | None:
    """What keeps a posterior of an improper prior from being a density, in words; None where it is one."""
    block = block.inner
    for key, field in block.fields_.items():
        value = getattr(block, key)
        if field.limit is None or not isinstance(value, np.ndarray):
            continue
        wrong = ~(np.isfinite(value) & (value > 0))
        if wrong.any():
            at = [int(i) for i in np.argwhere(wrong)[0]]
            place = ", ".join(f"{axis} {i}" for axis, i in zip(field.axes, at, strict=True))
            return f"the rows leave {key} at {value[tuple(at)]:g} ({place})"
    return None
