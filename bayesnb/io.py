"""Fitted estimators in files: safetensors for the numbers, one JSON text for all else, and no code.

A file holds the hyperparameters and what was learnt: sufficient statistics, class labels, feature names, encodings.
Prior and posterior are not stored; they are rebuilt from these by the code that `fit` ends in, with all its checks.
Tensors are named after the attributes they belong to. The JSON text, `bayesnb` among the metadata, is

    {"format": 1, "version": …, "sha256": …, "model": {"GaussianNB": {"parameters": {…}, "learnt": {…}}}}

An object in the JSON tree has a single key, which names a class of `core.pytrees.CLASSES` or a type listed here; no
other type is ever built. A class of another module is found after that module has been imported.
"""

import contextlib
import copy
import datetime
import functools
import hashlib
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import bayesnb

from .core import distributions
from .core.pytrees import CLASSES, branches, leaves, map_leaves, record
from .naive_bayes import Statistics
from .statistics import Moments, Sample, Scatter

FORMAT = 1
"""Number of the format written; a file with a larger one is refused."""

Take = Callable[[int], None]  # counts bytes before they are allocated, and refuses more than a file can mean

_KEY = "bayesnb"
_ROOM = 1 << 24, 16  # bytes that a file may unfold to: so many, and so many times its own length
_DTYPES = {"BOOL", "F16", "F32", "F64", *(f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64))}


def require(holds: Any, what: str) -> None:
    """Refuse contents of a file that are no model's: a ValueError that says what they are."""
    if not holds:
        raise ValueError(what)


# --- reading -------------------------------------------------------------------------------------------------------


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
    require(os.path.isfile(name), f"{name} is a folder or a device; name the file that `save` wrote")
    tensors: dict[str, np.ndarray] = {}
    try:
        with safe_open(name, framework="numpy") as file:
            text: Any = (file.metadata() or {}).get(_KEY)
            for key in file.keys() if text is not None else ():
                kind = file.get_slice(key).get_dtype()
                require(kind in _DTYPES, f"a tensor of type {kind}")  # NumPy does not have all types of safetensors
                tensors[key] = file.get_tensor(key)
    except OSError:
        raise
    except Exception as error:  # whatever safetensors and NumPy stumble over
        raise ValueError(f"{name} is damaged, or was not written by `save` ({_brief(error)}); {again}") from error
    other = f"{name} is a safetensors file, but bayesnb did not write it; name a file that `save` wrote"
    require(text is not None, other)
    found, version = _parsed(text), f"bayesnb {bayesnb.__version__}"
    require(found is not None, f"{name} is damaged: its header is not JSON; {again}")
    written = f"format {_brief(found['format'])} of bayesnb {_brief(found.get('version'))}"
    newer = f"{name} has {written}, but {version} reads formats up to {FORMAT}. Install a newer release"
    require(found["format"] <= FORMAT, newer)
    changed = f"{name} is damaged: the contents do not have the SHA-256 of the header; {again}"
    require(found.get("sha256") == _digest(found, tensors), changed)
    try:
        return _rebuilt(found, tensors)
    except Exception as error:  # whatever the checks stumble over: a file may hold anything
        why = f"{name} describes no model that {version} can build ({_brief(error)}); save the model again"
        raise ValueError(why) from error


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
    """The JSON object of a header, if it is one that says its format and can be written again; else None."""
    try:
        found = json.loads(text)
        _canonical(found)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and type(found.get("format")) is int and found["format"] > 0 else None


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
    reader = _Reader(tensors, len(_canonical(found["model"])) + 8 * sum(tensor.size for tensor in tensors.values()))
    nb = reader.value(found["model"])
    require(isinstance(nb, Saved), "it holds no estimator")
    nb._check_loaded(reader.take)
    return nb


# --- values as JSON and tensors, and back ---------------------------------------------------------------------------


_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object)}
_TYPES |= {f"numpy.{name}": kind for name, kind in vars(np).items() if isinstance(kind, type(np.generic))}


@functools.cache
def _codecs() -> dict[str, tuple[type, Callable[[Any], Any], Callable[..., Any]]]:
    """Other types: how a value is written as a text or a list, and read from it."""
    from sklearn.compose import make_column_selector  # which takes time to import

    return {
        "columns": (make_column_selector, lambda s: [*vars(s).items()], lambda *kv: make_column_selector(**dict(kv))),
        "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
        "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
        "float": (float, repr, float),  # those that JSON does not know
        "interval": (pd.Interval, lambda one: [one.left, one.right, one.closed], pd.Interval),
        "slice": (slice, lambda one: [one.start, one.stop, one.step], slice),
        "timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
        "timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
        "tuple": (tuple, list, lambda *cells: cells),
    }


def _name_of(kind: Any, known: dict[str, type]) -> str | None:
    return next((name for name, one in known.items() if one is kind), None)


def _class_of(name: str) -> type | None:
    """A class by its name in files. One of ours is imported where it is public; what it uses enters with it."""
    for home in (bayesnb, bayesnb.families):
        if name not in CLASSES and name in home.__all__:
            getattr(home, name)
    return CLASSES.get(name)


class _Writer:
    """Values as JSON; arrays of numbers are set aside."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def estimator(self, nb: Any, at: str) -> dict[str, Any]:
        """An estimator; one that is a hyperparameter is written as it was given, not fitted."""
        parts = {"parameters": clone(nb).get_params(deep=False), "learnt": nb._to_save()}
        found = {part: {k: self.value(v, at + k) for k, v in held.items()} for part, held in parts.items()}
        return {str(_name_of(type(nb), CLASSES)): found}

    def value(self, value: Any, at: str) -> Any:
        """A value as JSON; `at` says where it stands. A ValueError for types that are not listed, such as functions."""
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return [self.value(one, f"{at}.{i}") for i, one in enumerate(value)]
        if kind is dict:
            return {"dict": [[self.value(key, at), self.value(one, f"{at}.{key}")] for key, one in value.items()]}
        if kind is np.ndarray:
            return self.array(value, at)
        if isinstance(value, np.generic) and value.dtype.kind in "biufmMU":
            return {"scalar": self.array(np.asarray(value), at)}
        if isinstance(value, type) and (name := _name_of(value, _TYPES)):
            return {"type": name}
        if isinstance(value, np.dtype) and not value.hasobject and value.names is None:
            return {"dtype": value.str}
        for tag, (known, write, _) in _codecs().items():
            if kind is known:
                return {tag: self.value(write(value), at)}
        if name := _name_of(kind, CLASSES):
            if isinstance(value, Saved):
                return self.estimator(value, f"{at}.")
            return {name: {f.name: self.value(getattr(value, f.name), f"{at}.{f.name}") for f in fields(value)}}
        if distributions.is_distribution(value):
            return {"distribution": self.value(distributions.encode(value), at)}
        code = f"`{at}` is {value!r}, but a file cannot hold code. Columns can be names, positions, a type or a "
        require(not callable(value), f"{code}make_column_selector; `set_params` replaces them without a new fit.")
        kept = f"{kind.__module__}.{kind.__qualname__}"
        raise ValueError(f"`{at}` holds a {kept}, which a file cannot hold; use a NumPy type.")

    def array(self, value: np.ndarray, at: str) -> Any:
        """An array as JSON; numbers become a tensor of its name, and times as whole numbers too."""
        if value.dtype.kind == "U":
            return {"strings": [value.dtype.str, list(value.shape), value.ravel().tolist()]}
        if value.dtype.kind == "O":
            return {"objects": [list(value.shape), self.value(value.ravel().tolist(), at)]}
        plain = value.dtype.kind in "biufmM" and value.dtype.itemsize <= 8
        require(plain, f"`{at}` is an array of {value.dtype}, which a file cannot hold; use float64.")
        name = at.encode(errors="backslashreplace").decode()
        while name in self.tensors:
            name += "'"
        cells = value.view(np.int64) if value.dtype.kind in "mM" else value
        # a copy in C order and the machine's byte order: safetensors writes the memory as it lies
        self.tensors[name] = np.array(cells, dtype=cells.dtype.newbyteorder("="), order="C")
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
        if not issubclass(kind, Saved):
            return kind(**{name: self.value(one) for name, one in given.items()})
        parameters, learnt = ({k: self.value(v) for k, v in given[part].items()} for part in ("parameters", "learnt"))
        return kind._from_file(parameters, learnt)

    def _array(self, given: Any) -> np.ndarray:
        """The array of a tensor, in the type and memory order that it was saved from."""
        name, kind, order = given
        require(re.fullmatch(r"[<>|][biuf][1248]|[<>][mM]8(\[\d*\w+\])?", _text(kind)), f"numbers of type {kind!r}")
        tensor, dtype = self.tensors[name], np.dtype(kind)
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
        return pd.Series(self.value(cells), dtype=object).to_numpy().reshape(shape)


_READ: dict[str, Callable[[_Reader, Any], Any]] = {
    "array": _Reader._array,
    "dict": lambda reader, given: {reader.value(key): reader.value(one) for key, one in given},
    "distribution": lambda reader, given: distributions.decode(*reader.value(given)),
    "dtype": lambda reader, given: np.dtype(_text(given)),
    "objects": _Reader._objects,
    "scalar": lambda reader, given: reader.value(given)[()],
    "strings": _Reader._strings,
    "type": lambda reader, given: _TYPES[given],
}


def _text(value: Any) -> str:
    require(type(value) is str, f"{value!r} where text is needed")
    return value


# --- writing ---------------------------------------------------------------------------------------------------------


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise the error that `replace_file` would raise for a path, as far as it can be known before the work is done."""
    name = os.fsdecode(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name} is a directory; name a file in it")
    disk = os.path.exists(name) and stat.S_ISBLK(os.stat(name).st_mode)
    require(not disk, f"{name} is a disk, which is not written to; name a file")
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} to write to; check the path")


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file all at once: the old one stays until the new one is complete and on the disk.

    Its permissions are those of the file it replaces, or those of any new file. Pipes, terminals and devices such as
    /dev/null are written to and stay what they are. So is a file that the process has open, named by /dev/stdout,
    /dev/stderr or /dev/fd/N: the data come at its end.

    Raises
    ------
    OSError
        if the path is a directory or in a folder that does not exist, or the system refuses
    ValueError
        if the path is a disk, or a pipe that is closed before all is written
    """
    check_target(path)
    path = os.fsdecode(path)
    if path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)):
        try:
            with open(path, "ab", buffering=0) as file:  # what the process has written there stays
                file.write(data)
        except OSError as error:
            closed = f"{path} was closed before everything was written; check the program that reads it"
            require(not isinstance(error, BrokenPipeError), closed)
            raise OSError(f"{path} cannot be written to ({error.strerror}); name a file") from error
        return
    path = os.path.realpath(path)
    with tempfile.TemporaryDirectory(prefix=".bayesnb-", dir=os.path.dirname(path)) as folder:  # on the same disk
        new = os.path.join(folder, "new")
        with open(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(new, os.stat(path).st_mode & 0o7777)
        os.replace(new, path)


# --- what an estimator puts in a file, and what is checked of it ----------------------------------------------------


class Saved:
    """An estimator that a model file can hold. Its learnt state are its encoding and its statistics."""

    _learnt_names: ClassVar[frozenset[str]] = frozenset()
    """Attributes that a fit sets and a file holds; all others follow from them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        record(cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a safetensors file, which `bayesnb.load` reads.

        The file holds the hyperparameters, the sufficient statistics, labels and names, but no code. An older file of
        that name is replaced only when the new file is complete.

        Raises
        ------
        ValueError
            if the estimator is not fitted, or if its class was defined inside a function. Also if a hyperparameter was
            set after the fit, or if a file cannot hold it, such as a function. The message names it
        OSError
            if the file cannot be written
        """
        from safetensors.numpy import save

        check_is_fitted(self)
        nb: Any = copy.copy(self)  # one state of it, whatever another thread fits meanwhile
        name = f"{type(nb).__module__}.{type(nb).__qualname__}"
        lost = f"{name} cannot be found by its name, so a saved file could not be read again; define the class at the"
        require(type(nb) in CLASSES.values(), f"{lost} top level of a module, or save the estimator it is built on.")
        document, tensors = _document(nb)
        late = nb._set_later(_rebuilt(json.loads(document), tensors))
        why = f"`{late}` is not the result of `fit` with these hyperparameters: it, or one of them, was set after the"
        require(not late, f"{why} fit. Set it back, or fit the estimator again, then save it.")
        replace_file(path, save(tensors, metadata={_KEY: document}))

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """An estimator with the hyperparameters and the learnt attributes of a file, which are not checked yet."""
        found = cls(**parameters)
        for name, value in learnt.items():
            require(name in cls._learnt_names, f"an attribute {name!r} that cannot be learnt")
            setattr(found, name, value)
        return found

    def _to_save(self) -> dict[str, Any]:
        """What was learnt, by the name of the attribute."""
        return {name: getattr(self, name) for name in sorted(self._learnt_names) if hasattr(self, name)}

    def _set_later(self: Any, again: Any) -> str | None:
        """What it shows and its copy, made anew from what was learnt, does not; the estimator inside first."""
        inside = [name for name in self._learnt_names if isinstance(getattr(self, name, None), Saved)]
        late = [inner for name in inside if (inner := getattr(self, name)._set_later(getattr(again, name)))]
        shown = {"prior_", *(name for name in vars(self) if not name.startswith("_"))}
        derived = sorted(shown - self.get_params().keys() - self._learnt_names)
        late += [name for name in derived if not _same(*(getattr(nb, name, None) for nb in (self, again)))]
        return late[0] if late else None

    def _check_loaded(self, take: Take) -> None:
        """Check what was read, and compute from it what follows; a ValueError says why it is no model."""
        raise NotImplementedError


def check_loaded(nb: Saved, take: Take) -> None:
    """Check an estimator that another one holds; a ValueError says why it is no model."""
    nb._check_loaded(take)


def _same(a: Any, b: Any) -> bool:
    """Whether two trees are equal; NaN equals NaN."""
    one, other = (dict(enumerate(tree)) if type(tree) is list else branches(tree) for tree in (a, b))
    if one is None or other is None:
        return one is other and np.array_equal(a, b, equal_nan=True)
    return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())


def check_statistics(found: Any, none: Statistics) -> None:
    """Statistics as rows could have left them: types and shapes of the model, finite, no negative weights or squares.

    Parameters
    ----------
    found : as a file has it
    none : statistics of no rows, of the model's types and shapes
    """
    require(isinstance(found, Statistics), "statistics of another model")
    stats, template = found.in_floats(), none.in_floats()
    form, needed = (map_leaves(lambda _: 0, tree) for tree in (stats, template))
    require(form == needed, "statistics of another model")
    for leaf, like in zip(leaves(stats), leaves(template), strict=True):
        require(isinstance(leaf, np.ndarray) and leaf.dtype == like.dtype, "statistics are not of float64")
        shape = (*leaf.shape[:-1], 0) if like.shape[-1] == 0 else leaf.shape  # as many distinct cells as there were
        require(shape == like.shape, f"statistics of shape {leaf.shape} in the place of {like.shape}")
    require(np.isfinite(stats.n).all() and (stats.n >= 0).all(), "negative classes")
    for held in found.blocks.values():
        counts = [getattr(held, name) for name in ("n", "total") if hasattr(held, name)]
        require(all((count >= 0).all() for count in counts), "negative counts")
        if isinstance(held, Sample):
            for value, weight in zip(held.value, held.weight, strict=True):
                require(np.array_equal(np.isnan(value), weight == 0) and (weight >= 0).all(), "cells without weights")
                require(
                    not ((np.diff(value) <= 0).any() or np.isinf([value, weight]).any()), "cells that are in no order"
                )
            continue
        require(all(np.isfinite(leaf).all() for leaf in (*leaves(held), *leaves(found.error))), "no numbers")
        if isinstance(held, Moments | Scatter):
            floor = -1e-9 * abs(held.own).max(0) if isinstance(held, Scatter) else 0
            require((held.own >= floor).all(), "negative squares")
            symmetric = held.ss is held.own or np.array_equal(held.ss, held.ss.swapaxes(1, 2))
            require(symmetric, "cross products that differ")
