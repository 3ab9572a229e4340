"""Fitted estimators in files: safetensors for the numbers, one JSON text for all else, and no code.

A file holds the hyperparameters and what was learnt: sufficient statistics, class labels, feature names, encodings.
Prior and posterior are not stored; they are rebuilt from these by the code that `fit` ends in, with all its checks.
Tensors are named after the attributes they belong to. The JSON text, `bayesnb` among the metadata, is

    {"format": 1, "version": …, "sha256": …, "model": {"GaussianNB": {"parameters": {…}, "learnt": {…}}}}

An object in the JSON tree has a single key, which names a class of `numerics.pytrees.CLASSES` or a type listed here; no
other type is ever built. A class of another module is found after that module has been imported.
"""

import contextlib
import copy
import functools
import hashlib
import itertools
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import bayesnb

from .numerics import distributions
from .numerics.pytrees import CLASSES, leaves, record

FORMAT = 1
"""Number of the format written; a file with a larger one is refused."""

_KEY = "bayesnb"
_REPAIR = "use a copy of it, or save the model again"
_LEARNT = re.compile(r"statistics|(maps|modes|draws)_")  # names of tensors whose numbers are finite


def require(holds: Any, what: str) -> None:
    """Raise a ValueError with the message `what` if `holds` is false: contents of a file that are no model's."""
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
    # `require` raises a ValueError with its message where the first argument is false.
    name = os.fsdecode(path)
    if not os.path.exists(name):
        raise FileNotFoundError(f"there is no file {name}; check the path")
    require(os.path.isfile(name), f"{name} is a folder or a device; name the file that `save` wrote")

    # The JSON text says how values are put together; the tensors are their arrays of numbers, by name. `text` is None
    # in a safetensors file of another program. `document` is the JSON as dictionaries and lists, after its checks.
    text, tensors = _text_and_tensors(name)
    require(
        text is not None, f"{name} is a safetensors file, but bayesnb did not write it; name a file that `save` wrote"
    )
    document = _checked_document(name, str(text), tensors)
    try:
        return _read(document["model"], tensors)
    except Exception as error:  # of a class that is not there, or has changed
        fault = f"{name} describes no model that bayesnb {bayesnb.__version__} can build"
        raise ValueError(f"{fault} ({_brief(error)}); save the model again") from error


def _text_and_tensors(name: str) -> tuple[str | None, dict[str, np.ndarray]]:
    """The JSON text of a file, None if it has none, and its tensors by name.

    Raises
    ------
    OSError
        if the system cannot read the file, as it was raised: the file need not be damaged
    ValueError
        if it is read, and is no safetensors file or a damaged one
    """
    from safetensors import safe_open

    tensors: dict[str, np.ndarray] = {}
    try:
        with safe_open(name, framework="numpy") as file:
            text = (file.metadata() or {}).get(_KEY)
            if text is not None:
                tensors = {key: file.get_tensor(key) for key in file.keys()}
    except OSError:
        # Of the disk, such as a missing permission: the file need not be damaged, and the message of the system says
        # what is wrong. Without this branch the next one would turn it into "is damaged".
        raise
    except Exception as error:  # whatever safetensors and NumPy stumble over
        fault = f"{name} is damaged, or was not written by `save`"
        raise ValueError(f"{fault} ({_brief(error)}); {_REPAIR}") from error
    return text, tensors


def _checked_document(name: str, text: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """The JSON tree of a file, if it has a format that is read here and nothing in it is damaged; else a ValueError.

    The checks, in this order: the text is JSON with the keys that `save` writes; its format is not newer than this
    release knows; the SHA-256 in it is that of text and tensors; and statistics are finite.

    Parameters
    ----------
    name : of the file, for the messages
    text : the JSON text
    tensors : the arrays of the file, by name
    """
    # `_digest` computes the SHA-256 of text and tensors, which must be the one that the text holds. A newer format may
    # compute it in another way, and then the two differ although nothing is damaged. So `or` skips the comparison for a
    # newer format: such a file counts as sound here, and is refused below for its format, with the better message.
    try:
        document: dict[str, Any] = json.loads(text)
        is_newer = document["format"] > FORMAT
        is_sound = is_newer or document["sha256"] == _digest(document, tensors)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{name} is damaged: its header is not JSON as `save` writes it; {_REPAIR}") from error

    # `require` raises a ValueError with its message where the first argument is false.
    written = f"format {_brief(document['format'])} of bayesnb {_brief(document.get('version'))}"
    reads = f"bayesnb {bayesnb.__version__} reads formats up to {FORMAT}"
    require(not is_newer, f"{name} has {written}, but {reads}. Install a newer release")
    require(is_sound, f"{name} is damaged: the contents do not have the SHA-256 of the header; {_REPAIR}")

    # A file with a right digest may still have been written by hand. Statistics, modes and draws, whose names `_LEARNT`
    # matches, are always finite; other tensors, such as hyperparameters, need not be. Kind "f" are floats.
    for key, tensor in tensors.items():
        if _LEARNT.search(key) and tensor.dtype.kind == "f":
            require(
                not _has_invalid_numbers(key, tensor),
                f"{name} is damaged: {key} has numbers that are not finite; {_REPAIR}",
            )
    return document


def _has_invalid_numbers(key: str, numbers: np.ndarray) -> bool:
    """Whether some numbers of tensor `key` are not finite; cells that a kernel density keeps may be NaN.

    These cells are statistics of the name `value`, so that ".value." is in their keys.
    """
    may_be_nan = ".value." in key
    return bool(np.isinf(numbers).any() or (not may_be_nan and np.isnan(numbers).any()))


def _brief(what: Any) -> str:
    """A text that a file has a part in, on one line and not too long."""
    return " ".join(str(what).split())[:300]


def _document(estimator: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The JSON text and the tensors of an estimator."""
    writer = _Writer()
    document = {"format": FORMAT, "version": bayesnb.__version__, "model": writer.estimator(estimator, "")}
    document["sha256"] = _digest(document, writer.tensors)
    return _canonical(document), writer.tensors


def _canonical(tree: Any) -> str:
    """A JSON tree as its one text: keys sorted, no blanks. So equal trees have the same digest."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def _digest(document: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 of all that a file says but the digest itself: of the JSON text, then of each tensor by its name.

    Parameters
    ----------
    document : the JSON tree, with or without the key "sha256"
    tensors : the arrays, by name
    """
    signed = {key: value for key, value in document.items() if key != "sha256"}
    digest = hashlib.sha256(_canonical(signed).encode())
    for name, tensor in sorted(tensors.items()):  # in the order of the names, as a file may have them in any
        digest.update(f"{name} {tensor.dtype.name} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


# --- values as JSON and tensors, and back ---------------------------------------------------------------------------


_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, str, object)}
_TYPES |= {f"numpy.{name}": kind for name, kind in vars(np).items() if isinstance(kind, type(np.generic))}


class _Codec(NamedTuple):
    """How values of a type that JSON lacks stand in a file.

    Fields
    ------
    kind : the type
    write : makes a text or a list of a value
    read : makes the value again, of the text, or of the items of the list as its arguments
    """

    kind: type
    write: Callable[[Any], Any]
    read: Callable[..., Any]


@functools.cache
def _codecs() -> dict[str, _Codec]:
    """Types that JSON lacks, by the key they have in a file, with the functions that write and read their values.

    slice(0, 5) is written as {"slice": [0, 5, null]}, and NaN as {"float": "nan"}.
    """
    return {
        "float": _Codec(float, repr, float),  # NaN and infinity, which JSON does not know
        "interval": _Codec(pd.Interval, lambda interval: [interval.left, interval.right, interval.closed], pd.Interval),
        "slice": _Codec(slice, lambda part: [part.start, part.stop, part.step], slice),
        "timedelta": _Codec(pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
        "timestamp": _Codec(pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
        "tuple": _Codec(tuple, list, lambda *cells: cells),
    }


_SELECTOR = "columns"  # the tag of scikit-learn's make_column_selector, whose module takes time to import


def _is_selector(value: Any) -> bool:
    """Whether a value is a make_column_selector; it can be none if nobody has imported its module."""
    compose = sys.modules.get("sklearn.compose")
    return compose is not None and type(value) is compose.make_column_selector


def _read_selector(*settings: Any) -> Any:
    """A make_column_selector with these settings, pairs of name and value."""
    from sklearn.compose import make_column_selector

    return make_column_selector(**dict(settings))


@functools.cache
def _readers() -> dict[str, Callable[..., Any]]:
    """The functions that make a value of what a key of the JSON tree holds, by this key.

    The key holds a text, or a list that `_read` passes item by item, as arguments: `{"slice": [0, 5, null]}` becomes
    `slice(0, 5, None)`, and `{"strings": ["<U2", [3], ["a", "b", "cd"]]}` an array of three texts.
    """
    # Types of Python and pandas that JSON lacks, such as slices and times, have a codec: a pair of functions, one that
    # writes a value as text or list, and `read`, which makes it again.
    readers = {key: codec.read for key, codec in _codecs().items()}

    # The others are written by the methods of `_Writer`.
    return readers | {
        _SELECTOR: _read_selector,  # pairs of name and setting
        "distribution": distributions.decode,
        "type": _TYPES.__getitem__,  # of a name
        "dict": lambda *pairs: dict(pairs),  # pairs [key, item]
        "scalar": lambda array: array[()],  # a number of NumPy, written as an array without axes
        # By way of a Series, because `np.array` would make axes of cells that are lists or tuples.
        "objects": lambda shape, cells: pd.Series(cells, dtype=object).to_numpy().reshape(shape),
        "strings": lambda kind, shape, cells: np.array(cells, kind).reshape(shape),
    }


def _name_of(kind: Any, classes: dict[str, type]) -> str | None:
    """The name that a table of classes gives to one of them; None if it is not there."""
    for name, named_class in classes.items():
        if named_class is kind:
            return name
    return None


def _class_of(name: str) -> type | None:
    """A class by its name in files; None if it is unknown.

    `CLASSES` has the classes of imported modules. A public one of ours that is not there yet is imported by looking it
    up in its package; the classes it uses enter with it.
    """
    # Modules of the package are imported when one of their names is first asked for. `getattr` does that here, and the
    # class then enters itself into `CLASSES`.
    for home in (bayesnb, bayesnb.families):
        if name not in CLASSES and name in home.__all__:
            getattr(home, name)
    return CLASSES.get(name)


class _Writer:
    """Values as JSON. Arrays of numbers are set aside as tensors.

    Every method takes a value and its `path`: the attribute it belongs to, then names and positions inside of it, such
    as "parts.0.2". A tensor has the path as its name, and so have messages.

    Fields
    ------
    tensors : the arrays that were met so far, by name
    """

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def estimator(self, nb: Any, path: str) -> dict[str, Any]:
        """An estimator as its hyperparameters and what it has learnt; `path` is "" or ends in a point.

        A hyperparameter that is an estimator is written as it was given, not fitted: `clone` sees to it.
        """
        parameters = clone(nb).get_params(deep=False)
        learnt = nb._to_save()  # by name the attributes that a fit has set, such as the statistics

        # `value` makes JSON of each, and sets its arrays aside under the path.
        tree = {
            "parameters": {name: self.value(value, path + name) for name, value in parameters.items()},
            "learnt": {name: self.value(value, path + name) for name, value in learnt.items()},
        }
        return {str(_name_of(type(nb), CLASSES)): tree}

    def value(self, value: Any, path: str) -> Any:
        """A value as JSON; its arrays of numbers are set aside as tensors.

        ValueError for types that are not listed, such as functions. `path` is where the value is in the estimator.
        """
        # What JSON has itself; NaN and infinity are no numbers in JSON. The type is compared exactly, as a subclass
        # would be read as its parent.
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return [self.value(item, f"{path}.{i}") for i, item in enumerate(value)]

        # All else is an object with one key, which says what it is. A dictionary becomes a list of pairs [key, item],
        # as keys in JSON are text and those of Python need not be.
        if kind is dict:
            pairs = [[self.value(key, path), self.value(item, f"{path}.{key}")] for key, item in value.items()]
            return {"dict": pairs}
        if kind is np.ndarray:
            return self.array(value, path)

        # Numbers of NumPy (kinds b, i, u, f: booleans, integers, floats; m, M: times; U: text) are written as arrays
        # without axes.
        is_numpy_number = isinstance(value, np.generic) and value.dtype.kind in "biufmMU"
        if is_numpy_number:
            return {"scalar": self.array(np.asarray(value), path)}
        return self._value_of_class(value, path)

    def _value_of_class(self, value: Any, path: str) -> Any:
        """A type, a value of another type that is listed, or one of our dataclasses, estimators and distributions.

        The result is an object with one key, the name of a reader in `_readers` or of a class; ValueError for all other
        values.
        """
        # A type itself, such as `float`; scikit-learn's selector of columns; and types that JSON lacks, such as slices.
        # A codec is a pair of functions that write such a value as text or list, and read it.
        kind = type(value)
        type_name = _name_of(value, _TYPES) if isinstance(value, type) else None
        if type_name:
            return {"type": type_name}
        if _is_selector(value):
            return {_SELECTOR: self.value([*vars(value).items()], path)}
        for key, codec in _codecs().items():
            if kind is codec.kind:
                return {key: self.value(codec.write(value), path)}

        # Classes of this package, and those that a user derives from them, are in the table `CLASSES` by name. A
        # `Saved` is an estimator; the others are dataclasses, which are written field by field.
        class_name = _name_of(kind, CLASSES)
        if class_name and isinstance(value, Saved):
            return self.estimator(value, f"{path}.")
        if class_name:
            names = [field.name for field in fields(value)]
            return {class_name: {name: self.value(getattr(value, name), f"{path}.{name}") for name in names}}
        if distributions.is_distribution(value):
            return {"distribution": self.value(distributions.encode(value), path)}

        # What no file can hold.
        if callable(value):
            raise ValueError(
                f"`{path}` is {value!r}, but a file cannot hold code. Columns can be names, positions or a "
                "make_column_selector; `set_params` replaces them without a new fit."
            )
        type_name = f"{kind.__module__}.{kind.__qualname__}"
        raise ValueError(f"`{path}` holds a {type_name}, which a file cannot hold; use a NumPy type.")

    def array(self, value: np.ndarray, path: str) -> Any:
        """An array as JSON: text and objects are lists, numbers and times the name of a tensor that is set aside.

        Two rows of floats at the path "statistics.n" become `{"array": ["statistics.n", "<f8", "C"]}`, and the texts a
        and b `{"strings": ["<U1", [2], ["a", "b"]]}`.

        Parameters
        ----------
        value : array of text (kind "U"), objects ("O"), booleans, numbers or times ("biufmM")
        path : where the array is in the estimator; it becomes the name of the tensor
        """
        # Text and objects: the shape, and all cells as one flat list.
        if value.dtype.kind == "U":
            return {"strings": [value.dtype.str, list(value.shape), value.ravel().tolist()]}
        if value.dtype.kind == "O":
            return {"objects": [list(value.shape), self.value(value.ravel().tolist(), path)]}
        # All else must have a type that safetensors has: no long doubles (more than 8 bytes), and no complex numbers.
        is_plain = value.dtype.kind in "biufmM" and value.dtype.itemsize <= 8
        require(is_plain, f"`{path}` is an array of {value.dtype}, which a file cannot hold; use float64.")

        # The name of the tensor is the path. Half of a surrogate pair, which no file can hold as UTF-8, is written with
        # a backslash. Keys such as 1 and "1" of a dictionary have the same path: the second tensor gets another name.
        name = path.encode(errors="backslashreplace").decode()
        while name in self.tensors:
            name += "'"

        # Times (m, M) are stored as whole numbers, which they are in memory. The copy is in C order and in the byte
        # order of the machine ("="), as safetensors writes the memory as it lies.
        numbers = value.view(np.int64) if value.dtype.kind in "mM" else value
        self.tensors[name] = np.array(numbers, dtype=numbers.dtype.newbyteorder("="), order="C")

        # The type and the memory order that the array had stand beside its name in the JSON: "F" if it lies in memory
        # column after column (and not also row after row, as a single column does), else "C".
        memory_order = "F" if value.flags.fnc else "C"
        return {"array": [name, value.dtype.str, memory_order]}


def _read(tree: Any, tensors: dict[str, np.ndarray]) -> Any:
    """The value that JSON and tensors stand for; a ValueError where no type that is listed does.

    Only values of listed types and of classes that exist are built: no text of a file is ever run.

    Parameters
    ----------
    tree : JSON as Python reads it: a dictionary with one key, a list, text, a number, True, False or None
    tensors : the arrays of the file, by name
    """
    if isinstance(tree, list):
        return [_read(item, tensors) for item in tree]
    if not isinstance(tree, dict):
        return tree

    # An object has one key, which says what it is. The next line takes the only pair of key and content.
    ((key, content),) = tree.items()
    if key == "array":
        name, kind, order = content
        return _read_array(name, kind, order, tensors)

    # Other types, such as a slice or text: {"slice": [0, 5, null]} is slice(0, 5, None). A list has the arguments.
    reader = _readers().get(key)
    if reader is not None:
        value = _read(content, tensors)
        return reader(*value) if isinstance(value, list) else reader(value)

    # Else the key is the name of a class: an estimator, or a dataclass that is built of its fields.
    cls: Any = _class_of(key)
    require(cls, f"an unknown type {key!r}; import the module that defines it first")
    if issubclass(cls, Saved):
        parameters = _read_all(content["parameters"], tensors)
        learnt = _read_all(content["learnt"], tensors)
        return cls._from_file(parameters, learnt)
    return cls(**_read_all(content, tensors))


def _read_array(name: str, kind: str, order: Any, tensors: dict[str, np.ndarray]) -> np.ndarray:
    """The array that `_Writer.array` set aside as the tensor `name`, with the type and memory order that it had.

    Parameters
    ----------
    kind : type of the array as NumPy writes it, such as "<f8"
    order : "C" or "F"
    """
    # times are whole numbers in the file: the same bits are taken for times again
    in_byte_order_of_machine = np.dtype(kind).newbyteorder("=")
    numbers = tensors[name].view(in_byte_order_of_machine)
    return numbers.astype(kind, order=order)


def _read_all(trees: dict[str, Any], tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """The values of several JSON trees, by name."""
    return {name: _read(tree, tensors) for name, tree in trees.items()}


# --- writing ---------------------------------------------------------------------------------------------------------


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise the error that `replace_file` would raise for a path, as far as it can be known before the work is done.

    A long fit that is to be saved can so fail at once, and not at its end.
    """
    name = os.fsdecode(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name} is a directory; name a file in it")
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} to write to; check the path")


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file all at once: the old one stays until the new one is complete and on the disk.

    Its permissions are those of the file it replaces, or those of any new file. Pipes, terminals and devices such as
    /dev/null are written to and stay what they are.

    Raises
    ------
    OSError
        if the path is a directory or in a folder that does not exist, or the system refuses
    """
    check_target(path)  # raises an OSError for a directory, or where there is no folder to write to
    path = os.fsdecode(path)
    # A device, a pipe or a terminal cannot be replaced: the bytes are written to it.
    if path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)):
        with open(path, "ab", buffering=0) as file:  # what the process has written there stays
            file.write(data)
        return

    # A link stays a link: the file it leads to is replaced. The new file is first written in a temporary folder beside
    # the old one, because `os.replace` puts it in its place in one step only on the same disk. So there is no moment at
    # which the file is missing or half written.
    path = os.path.realpath(path)
    with tempfile.TemporaryDirectory(prefix=".bayesnb-", dir=os.path.dirname(path)) as folder:
        new = os.path.join(folder, "new")
        with open(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # not only handed to the system
        with contextlib.suppress(FileNotFoundError):  # there may be no old file
            os.chmod(new, os.stat(path).st_mode & 0o7777)  # the permissions, without the bits of the kind of file
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
        _check_class_is_named(nb)

        # `document` is the JSON text, and `tensors` are the arrays by name. They are read again before any file is
        # touched, so that a file can be loaded once it is there. Then the prior of the estimator has to be the one that
        # its hyperparameters give, or an error says that one was set after the fit.
        document, tensors = _document(nb)
        _check_prior_is_rebuilt(nb, _read(json.loads(document)["model"], tensors))
        replace_file(path, save(tensors, metadata={_KEY: document}))

    @classmethod
    def _from_file(cls, parameters: dict[str, Any], learnt: dict[str, Any]) -> Self:
        """An estimator with the hyperparameters and the learnt attributes of a file, and all that follows from them."""
        # Only attributes that a fit sets may be set: a file must not be able to replace a method, say. One after the
        # other will do, without the single assignment of `estimators._learnt.replace_learnt`: the estimator is new, so
        # no other thread can see one attribute of the file beside an older one.
        estimator = cls(**parameters)
        for name, value in learnt.items():
            require(name in cls._learnt_names, f"an attribute {name!r} that cannot be learnt")
            setattr(estimator, name, value)
        return estimator

    def _to_save(self) -> dict[str, Any]:
        """The learnt attributes that this estimator has, by their names."""
        return {name: getattr(self, name) for name in sorted(self._learnt_names) if hasattr(self, name)}


def _check_class_is_named(nb: Any) -> None:
    """Raise a ValueError where the class of an estimator cannot be found again by its name.

    `CLASSES` has all classes that a file can name, by name. One that was defined inside a function is not among them.
    """
    name = f"{type(nb).__module__}.{type(nb).__qualname__}"
    require(
        type(nb) in CLASSES.values(),
        f"{name} cannot be found by its name, so a saved file could not be read again; define the class at the "
        "top level of a module, or save the estimator it is built on.",
    )


def _check_prior_is_rebuilt(nb: Any, again: Any) -> None:
    """Raise a ValueError where the prior is not that of the hyperparameters, which the file holds.

    Parameters
    ----------
    nb, again : the estimator, and the same as it is read from what was written. All arrays of their priors are compared
    """
    # `leaves` lists the arrays of a prior, always in the same order. Where one prior has more of them, its surplus is
    # compared with (), to which no array with a number in it is equal.
    before = leaves(getattr(nb, "prior_", None))
    after = leaves(getattr(again, "prior_", None))
    pairs = itertools.zip_longest(before, after, fillvalue=())
    require(
        all(np.array_equal(value, other) for value, other in pairs),
        "`prior_` is not the result of `fit` with these hyperparameters: one of them was set after the fit. Set it "
        "back, or fit the estimator again, then save it.",
    )
