"""Values as JSON and tensors, and back: numbers, text, arrays, and the types that `registry` lists.

An object in the JSON tree has a single key, which names one of the types in `registry` or one listed here; no other
type is ever built. This module knows no estimator. What it asks of one are the methods of `estimators._saving.Saved`.
"""

import datetime
import decimal
import math
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from . import distributions
from .registry import CODECS, ESTIMATORS, RECORDS, require

_ROOM = 1 << 24, 16  # bytes that a file may unfold to: so many, and so many times its own length

CODECS |= {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "float": (float, repr, float),  # those that JSON does not know
    "slice": (slice, lambda one: [one.start, one.stop, one.step], slice),
}


def _subtypes(root: type) -> Iterable[type]:
    below: list[type] = root.__subclasses__()
    yield root
    for kind in below:
        yield from _subtypes(kind)


_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object)} | {
    f"numpy.{kind.__name__}": kind for kind in _subtypes(np.generic) if kind.__module__ == "numpy"
}


class Writer:
    """Values as JSON; arrays of numbers are set aside."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.with_learnt = True  # outside of hyperparameters

    def estimator(self, nb: Any, at: str) -> dict[str, Any]:
        """An estimator; one that is a hyperparameter is written as it was given, not fitted."""
        learnt = nb._to_save() if self.with_learnt else {}
        before, self.with_learnt = self.with_learnt, False
        parameters = {name: self.value(value, at + name) for name, value in nb.get_params(deep=False).items()}
        self.with_learnt = before
        found = {name: self.value(value, at + name) for name, value in learnt.items()}
        return {_name_of(type(nb), ESTIMATORS): {"parameters": parameters, "learnt": found}}

    def value(self, value: Any, at: str) -> Any:
        """A value as JSON; `at` says where it stands.

        Raises
        ------
        ValueError
            for types that are not listed, such as functions
        """
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return [self.value(one, f"{at}.{i}") for i, one in enumerate(value)]
        if kind is tuple:
            return {"tuple": self.value(list(value), at)}
        if kind is dict:
            return {"dict": [[self.value(key, at), self.value(one, f"{at}.{key}")] for key, one in value.items()]}
        if kind is np.ndarray:
            return self.array(value, at)
        if isinstance(value, np.generic) and (_is_plain(value.dtype) or value.dtype.kind == "U"):
            plain = int(value.astype(np.int64)) if value.dtype.kind in "mM" else value.item()
            return {"scalar": [value.dtype.str, self.value(plain, at)]}
        if isinstance(value, type) and value in _TYPES.values():
            return {"type": _name_of(value, _TYPES)}
        if isinstance(value, np.dtype) and not value.hasobject and value.names is None:
            return {"dtype": value.str}
        for tag, (known, write, _) in CODECS.items():
            if kind is known:
                return {tag: self.value(write(value), at)}
        if kind in ESTIMATORS.values():
            return self.estimator(value, f"{at}.")
        if kind in RECORDS.values():
            return {
                _name_of(kind, RECORDS): {
                    field.name: self.value(getattr(value, field.name), f"{at}.{field.name}") for field in fields(value)
                }
            }
        if distributions.is_distribution(value):
            return {"distribution": self.value(distributions.encode(value), at)}
        if callable(value):
            raise ValueError(
                f"`{at}` is {value!r}, but a file cannot hold code. Columns can be names, positions, a type or a "
                "make_column_selector; `set_params` replaces them without a new fit."
            )
        raise ValueError(
            f"`{at}` holds a {kind.__module__}.{kind.__qualname__}, which a file cannot hold; use a NumPy type."
        )

    def array(self, value: np.ndarray, at: str) -> Any:
        """An array as JSON; numbers become a tensor of its name."""
        if value.dtype.kind == "U":
            return {"strings": [value.dtype.str, list(value.shape), value.ravel().tolist()]}
        if value.dtype.kind == "O":
            cells = [self.value(one, f"{at}.{i}") for i, one in enumerate(value.ravel().tolist())]
            return {"objects": [list(value.shape), cells]}
        if not _is_plain(value.dtype):
            raise ValueError(f"`{at}` is an array of {value.dtype}, which a file cannot hold; use float64.")
        name = at.encode(errors="backslashreplace").decode()
        while name in self.tensors:
            name += "'"
        plain = value.view(np.int64) if value.dtype.kind in "mM" else value
        # a copy in C order and the machine's byte order: safetensors writes the memory as it lies
        self.tensors[name] = np.array(plain, dtype=plain.dtype.newbyteorder("="), order="C")
        return {"array": [name, value.dtype.str, "F" if value.flags.fnc else "C"]}


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a type, or times as whole numbers, can be a tensor."""
    return dtype.kind in "biufmM" and dtype.itemsize <= 8


def _name_of(kind: type, known: dict[str, Any]) -> str:
    return next(name for name, one in known.items() if one is kind)


class Reader:
    """Values out of JSON and tensors; whatever is not listed is refused."""

    def __init__(self, tensors: dict[str, np.ndarray], length: int) -> None:
        self.tensors = tensors
        self.room = _ROOM[0] + _ROOM[1] * length

    def take(self, size: int) -> None:
        """Count bytes that a few characters of text ask for, before they are allocated."""
        self.room -= size
        require(self.room >= 0, "it unfolds to more than a file of its length can mean")

    def value(self, tree: Any) -> Any:
        """The value that JSON stands for; a ValueError where no type that is listed does."""
        if isinstance(tree, list):
            return [self.value(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        ((tag, given),) = tree.items()
        if tag in ESTIMATORS:
            return self.estimator(tag, given)
        if tag in RECORDS:
            return RECORDS[tag](**{name: self.value(one) for name, one in given.items()})
        if tag in CODECS:
            read, plain = CODECS[tag][2], self.value(given)
            return read(*plain) if isinstance(plain, list) else read(_text(plain))
        if tag == "tuple":
            return tuple(self.value(given))
        if tag == "dict":
            return {self.value(key): self.value(one) for key, one in given}
        if tag == "array":
            return self.array(*given)
        if tag == "strings":
            kind, shape, cells = given
            if not re.fullmatch(r"[<>]U\d{1,6}", _text(kind)):
                raise ValueError(f"strings of type {kind!r}")
            self.take(4 * len(cells) * int(kind[2:]))
            return np.array([_text(cell) for cell in cells], kind).reshape(shape)
        if tag == "objects":
            shape, cells = given
            flat = np.empty(len(cells), object)
            for i, cell in enumerate(cells):
                flat[i] = self.value(cell)
            return flat.reshape(shape)
        if tag == "distribution":
            return distributions.decode(*self.value(given))
        if tag == "scalar":
            kind, plain = _numeric(given[0]), self.value(given[1])
            self.take(kind.itemsize)
            return (np.int64(plain).view(kind) if kind.kind in "mM" else np.array(plain, kind))[()]
        if tag == "type":
            return _TYPES[given]
        if tag == "dtype":
            return np.dtype(_text(given))
        raise ValueError(f"an unknown type {tag!r}; import the module that defines it first")

    def array(self, name: str, kind: str, order: Any) -> np.ndarray:
        """The array of a tensor, in the type and memory order that it was saved from."""
        tensor, dtype = self.tensors[name], _numeric(kind)
        stored = np.dtype(np.int64) if dtype.kind in "mM" else dtype.newbyteorder("=")
        if tensor.dtype != stored:
            raise ValueError(f"{name} is of {tensor.dtype}, not {stored}")
        self.take(tensor.nbytes)
        return tensor.view(dtype.newbyteorder("=")).astype(dtype, order=order)

    def estimator(self, name: str, given: dict[str, Any]) -> Any:
        """The estimator of a name; what it holds is not checked yet."""
        kind: Any = ESTIMATORS[name]
        parameters, learnt = (
            {key: self.value(one) for key, one in given[part].items()} for part in ("parameters", "learnt")
        )
        return kind._from_file(parameters, learnt)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} where text is needed")
    return value


def _numeric(kind: Any) -> np.dtype[Any]:
    """A type of numbers or times; NumPy also knows types that point into memory."""
    if not re.fullmatch(r"[<>|][biuf][1248]|[<>][mM]8(\[\d*\w+\])?|[<>]U\d{1,6}", _text(kind)):
        raise ValueError(f"numbers of type {kind!r}")
    return np.dtype(kind)
