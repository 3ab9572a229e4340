"""Fitted estimators in files: safetensors for the numbers, one JSON text for all else, and no code.

A file holds the hyperparameters and what was learnt: sufficient statistics, class labels, feature names, encodings.
Prior and posterior are not stored; they are rebuilt from these by the code that `fit` ends in, with all its checks.
Tensors are named after the attributes they belong to. The JSON text, `bayesnb` among the metadata, is

    {"format": 1, "version": …, "sha256": …, "model": {"GaussianNB": {"parameters": {…}, "learnt": {…}}}}

An object in the JSON tree has a single key, which names a class of `core.pytrees.CLASSES` or a type listed here; no
other type is ever built. A class of another module is found after that module has been imported.
"""

import datetime
import decimal
import functools
import hashlib
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

import bayesnb

from .core import distributions
from .core.files import replace_file
from .core.pytrees import CLASSES

FORMAT = 1
"""Number of the format written; a file with a larger one is refused."""

_KEY = "bayesnb"
_DEPTH = 100  # of the JSON text; those written are less than 30 deep
_ROOM = 1 << 24, 16  # bytes that a file may unfold to: so many, and so many times its own length
_DTYPES = {"BOOL", "F16", "F32", "F64", *(f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64))}


def require(holds: Any, what: str) -> None:
    """Refuse contents of a file that are no model's: a ValueError that says what they are."""
    if not holds:
        raise ValueError(what)


# --- the two functions ----------------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that `load` reads; see `Saved.save`."""
    from safetensors.numpy import save as to_bytes

    if type(estimator) not in CLASSES.values():
        raise ValueError(
            f"{type(estimator).__module__}.{type(estimator).__qualname__} cannot be found by its name, so a saved "
            "file could not be read again; define the class at the top level of a module, or save the estimator that "
            "it is built on."
        )
    document, tensors = _document(estimator)
    try:
        again = _rebuilt(json.loads(document), tensors)
    except Exception as error:
        raise ValueError(f"the estimator could not be read again: {error}. Fit it again, then save it.") from error
    if set_later := estimator._set_later(again):
        raise ValueError(
            f"`{set_later[0]}` is not the result of `fit` with these hyperparameters: it, or one of them, was set "
            "after the fit. Set it back, or fit the estimator again, then save it."
        )
    replace_file(path, to_bytes(tensors, metadata={_KEY: document}))


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator from a file that `save` wrote.

    Statistics, hyperparameters, labels and names are bit for bit those that were saved. Prior and posterior are
    computed from them. They have the same bits with the same releases of NumPy and SciPy on the same kind of machine.
    Nothing in a file can run code: only existing classes are built, from numbers and text. Import the module that
    defines an estimator or a family of your own before you load a file of it.

    Raises
    ------
    FileNotFoundError
        if there is no such file
    ValueError
        if the file is damaged (its SHA-256 is checked), comes from another program, has a newer format, or describes no
        model

    Examples
    --------
    >>> import tempfile
    >>> import bayesnb
    >>> nb = bayesnb.GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nb.save(f"{folder}/model.safetensors")
    ...     again = bayesnb.load(f"{folder}/model.safetensors")
    >>> again.predict([[5.5]])
    array([1])
    """
    from safetensors import safe_open

    name = os.fsdecode(path)
    again = "use a copy of it, or save the model again"
    if not os.path.exists(name):
        raise FileNotFoundError(f"there is no file {name}; check the path")
    if not os.path.isfile(name):
        raise ValueError(f"{name} is a folder or a device; name the file that `save` wrote")
    try:
        with safe_open(name, framework="numpy") as file:
            text = (file.metadata() or {}).get(_KEY)
            tensors = {} if text is None else {key: _tensor(file, key) for key in file.keys()}
    except OSError:
        raise
    except Exception as error:  # whatever safetensors and NumPy stumble over
        raise ValueError(f"{name} is damaged, or was not written by `save` ({_brief(error)}); {again}") from error
    if text is None:
        raise ValueError(f"{name} is a safetensors file, but bayesnb did not write it; name a file that `save` wrote")
    found, version = _parsed(text), f"bayesnb {bayesnb.__version__}"
    require(found is not None, f"{name} is damaged: its header is not JSON; {again}")
    kind, other = _brief(found["format"]), _brief(found.get("version"))
    newer = f"{name} has format {kind} of bayesnb {other}, but {version} reads formats up to {FORMAT}"
    require(found["format"] <= FORMAT, f"{newer}. Install a newer release")
    require(found["format"] >= 1, f"{name} is damaged: its format is {kind}; {again}")
    same = found.get("sha256") == _digest(found, tensors)
    require(same, f"{name} is damaged: the contents do not have the SHA-256 of the header; {again}")
    try:
        return _rebuilt(found, tensors)
    except Exception as error:  # whatever the checks stumble over: a file may hold anything
        why = f"{name} describes no model that {version} can build ({_brief(error)}); save the model again"
        raise ValueError(why) from error


def _tensor(file: Any, name: str) -> np.ndarray:
    """A tensor of a type that `save` writes; NumPy does not have all types of safetensors."""
    kind = file.get_slice(name).get_dtype()
    require(kind in _DTYPES, f"a tensor of type {kind}")
    return file.get_tensor(name)


def _brief(what: Any) -> str:
    """A text that a file has a part in, on one line and not too long."""
    text = " ".join(str(what).split())
    return text if len(text) <= 300 else f"{text[:300]}…"


def _document(estimator: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The JSON text and the tensors of an estimator."""
    writer = _Writer()
    found = {"format": FORMAT, "version": bayesnb.__version__, "model": writer.estimator(estimator, "")}
    return _canonical({**found, "sha256": _digest(found, writer.tensors)}), writer.tensors


def _parsed(text: str) -> Any:
    """The JSON object of a header, if it is one that says its format; else None."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    good = isinstance(found, dict) and type(found.get("format")) is int and not _is_deeper(found, _DEPTH)
    return found if good else None


def _is_deeper(tree: Any, most: int) -> bool:
    """Whether mappings and lists inside of a tree stand more than so many levels deep."""
    inside = tree.values() if isinstance(tree, dict) else tree
    return most < 0 or any(_is_deeper(one, most - 1) for one in inside if isinstance(one, dict | list))


def _canonical(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def _digest(found: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 of all that a file says but the digest itself."""
    digest = hashlib.sha256(_canonical({key: value for key, value in found.items() if key != "sha256"}).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.name} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _rebuilt(found: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    """The estimator of a parsed header, its prior and posterior computed anew from checked statistics."""
    cells = sum(tensor.size for tensor in tensors.values())
    reader = _Reader(tensors, len(_canonical(found["model"])) + 8 * cells)
    nb = reader.value(found["model"])
    require(_is_estimator(nb), "it holds no estimator")
    nb._check_loaded(reader.take)
    return nb


# --- values as JSON and tensors, and back ---------------------------------------------------------------------------


_OF_NUMPY = [kind for kind in vars(np).values() if isinstance(kind, type) and issubclass(kind, np.generic)]
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object)}
_TYPES |= {f"numpy.{kind.__name__}": kind for kind in _OF_NUMPY}


@functools.cache
def _codecs() -> dict[str, tuple[type, Callable[[Any], Any], Callable[..., Any]]]:
    """Other types: how a value is written as a text or a list, and read from it."""
    from sklearn.compose import make_column_selector  # which takes time to import

    return {
        "bytes": (bytes, bytes.hex, bytes.fromhex),
        "columns": (
            make_column_selector,
            lambda one: [one.pattern, one.dtype_include, one.dtype_exclude],
            lambda pattern, given, out: make_column_selector(pattern, dtype_include=given, dtype_exclude=out),
        ),
        "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
        "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
        "decimal": (decimal.Decimal, str, decimal.Decimal),
        "float": (float, repr, float),  # those that JSON does not know
        "interval": (pd.Interval, lambda one: [one.left, one.right, one.closed], pd.Interval),
        "slice": (slice, lambda one: [one.start, one.stop, one.step], slice),
        "timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
        "timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
    }


def _name_of(kind: type, known: dict[str, type]) -> str | None:
    return next((name for name, one in known.items() if one is kind), None)


def _class_of(name: str) -> type | None:
    """A class by its name in files. One of ours is imported where it is public; what it uses enters with it."""
    if name not in CLASSES:
        package, _, last = name.rpartition(".")
        for home in () if package else (bayesnb, bayesnb.families):
            if last in home.__all__:
                getattr(home, last)
    return CLASSES.get(name)


def _is_estimator(value: Any) -> bool:
    return hasattr(type(value), "_from_file")


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a type, or times as whole numbers, can be a tensor."""
    return dtype.kind in "biufmM" and dtype.itemsize <= 8


class _Writer:
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
        return {str(_name_of(type(nb), CLASSES)): {"parameters": parameters, "learnt": found}}

    def value(self, value: Any, at: str) -> Any:
        """A value as JSON; `at` says where it stands. A ValueError for types that are not listed, such as functions."""
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
        if isinstance(value, type) and (name := _name_of(value, _TYPES)):
            return {"type": name}
        if isinstance(value, np.dtype) and not value.hasobject and value.names is None:
            return {"dtype": value.str}
        for tag, (known, write, _) in _codecs().items():
            if kind is known:
                return {tag: self.value(write(value), at)}
        if name := _name_of(kind, CLASSES):
            if _is_estimator(value):
                return self.estimator(value, f"{at}.")
            return {name: {f.name: self.value(getattr(value, f.name), f"{at}.{f.name}") for f in fields(value)}}
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
        require(_is_plain(value.dtype), f"`{at}` is an array of {value.dtype}, which a file cannot hold; use float64.")
        name = at.encode(errors="backslashreplace").decode()
        while name in self.tensors:
            name += "'"
        plain = value.view(np.int64) if value.dtype.kind in "mM" else value
        # a copy in C order and the machine's byte order: safetensors writes the memory as it lies
        self.tensors[name] = np.array(plain, dtype=plain.dtype.newbyteorder("="), order="C")
        return {"array": [name, value.dtype.str, "F" if value.flags.fnc else "C"]}


class _Reader:
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
        if tag in _codecs():
            read, plain = _codecs()[tag][2], self.value(given)
            return read(*plain) if isinstance(plain, list) else read(_text(plain))
        if tag in _READ:
            return _READ[tag](self, given)
        kind: Any = _class_of(tag)
        require(kind, f"an unknown type {tag!r}; import the module that defines it first")
        if not hasattr(kind, "_from_file"):
            return kind(**{name: self.value(one) for name, one in given.items()})
        parameters, learnt = ({k: self.value(v) for k, v in given[part].items()} for part in ("parameters", "learnt"))
        return kind._from_file(parameters, learnt)

    def _array(self, given: Any) -> np.ndarray:
        """The array of a tensor, in the type and memory order that it was saved from."""
        name, kind, order = given
        tensor, dtype = self.tensors[name], _numeric(kind)
        stored = np.dtype(np.int64) if dtype.kind in "mM" else dtype.newbyteorder("=")
        require(tensor.dtype == stored, f"{name} is of {tensor.dtype}, not {stored}")
        self.take(tensor.nbytes)
        return tensor.view(dtype.newbyteorder("=")).astype(dtype, order=order)

    def _strings(self, given: Any) -> np.ndarray:
        kind, shape, cells = given
        require(re.fullmatch(r"[<>]U\d{1,6}", _text(kind)), f"strings of type {kind!r}")
        self.take(4 * len(cells) * int(kind[2:]))
        return np.array([_text(cell) for cell in cells], kind).reshape(shape)

    def _objects(self, given: Any) -> np.ndarray:
        shape, cells = given
        flat = np.empty(len(cells), object)
        for i, cell in enumerate(cells):
            flat[i] = self.value(cell)
        return flat.reshape(shape)

    def _scalar(self, given: Any) -> Any:
        kind, plain = _numeric(given[0]), self.value(given[1])
        self.take(kind.itemsize)
        return (np.int64(plain).view(kind) if kind.kind in "mM" else np.array(plain, kind))[()]


_READ: dict[str, Callable[[_Reader, Any], Any]] = {
    "array": _Reader._array,
    "dict": lambda reader, given: {reader.value(key): reader.value(one) for key, one in given},
    "distribution": lambda reader, given: distributions.decode(*reader.value(given)),
    "dtype": lambda reader, given: np.dtype(_text(given)),
    "objects": _Reader._objects,
    "scalar": _Reader._scalar,
    "strings": _Reader._strings,
    "tuple": lambda reader, given: tuple(reader.value(given)),
    "type": lambda reader, given: _TYPES[given],
}


def _text(value: Any) -> str:
    require(type(value) is str, f"{value!r} where text is needed")
    return value


def _numeric(kind: Any) -> np.dtype[Any]:
    """A type of numbers or times; NumPy also knows types that point into memory."""
    known = re.fullmatch(r"[<>|][biuf][1248]|[<>][mM]8(\[\d*\w+\])?|[<>]U\d{1,6}", _text(kind))
    require(known, f"numbers of type {kind!r}")
    return np.dtype(kind)
