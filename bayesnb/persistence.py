"""Fitted estimators in files: safetensors for the numbers, one JSON text for all else, and no code.

A file holds the hyperparameters and what was learnt: sufficient statistics, class labels, feature names, encodings.
Prior and posterior are not stored; they are rebuilt from these by the code that `fit` ends in, with all its checks.
Tensors are named after the attributes they belong to. The JSON text, `bayesnb` among the metadata, is

    {"format": 1, "version": …, "sha256": …, "model": {"GaussianNB": {"parameters": {…}, "learnt": {…}}}}

An object in the tree has a single key, which names one of the types listed here; no other type is ever built.
"""

import contextlib
import datetime
import decimal
import hashlib
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import jax
import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import save as to_bytes
from sklearn.compose import make_column_selector
from sklearn.utils.validation import check_is_fitted

from . import __version__, drop_in, estimators, families, statistics
from ._registry import ESTIMATORS, RECORDS, register
from .analysis import _maps
from .analysis.calibration import CalibratedClassifierLOO
from .base import AbstractConjugate
from .estimators._forgetting import is_negative
from .estimators.mixed import _Part
from .exact import ExactSum, Sums
from .naive_bayes import Statistics

FORMAT = 1
"""Number of the format written; a file with a larger one is refused."""

_KEY = "bayesnb"
_DEPTH = 100  # of the JSON text; those written are less than 30 deep
_ROOM = 1 << 24, 16  # bytes that a file may unfold to: so many, and so many times its own length
_DTYPES = {"BOOL", "F16", "F32", "F64", *(f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64))}
_ENCODING = {"classes_", "n_features_in_", "feature_names_in_", "categories_", "n_categories_", "_parts"}
_LEARNT = {"statistics_", "weights_", *_ENCODING}  # all else that `fit` sets follows from these

for _package in (estimators, families, drop_in):
    for _name in _package.__all__:
        getattr(_package, _name)  # imports the module, in which the class enters itself
register(ESTIMATORS, CalibratedClassifierLOO)  # built around one of them
_CALIBRATED = {"estimator_", "maps_", "classes_", "n_features_in_", "feature_names_in_", "_mean_log_length"} | {
    *("loo_prior_", "loo_log_loss_", "label_changes_", "n_copies_")
}

_TEXTS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "float": (float, repr, float),  # those that JSON does not know
    "timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
}


def _subtypes(root: type) -> Iterable[type]:
    below: list[type] = root.__subclasses__()
    yield root
    for kind in below:
        yield from _subtypes(kind)


_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object)} | {
    f"numpy.{kind.__name__}": kind for kind in _subtypes(np.generic) if kind.__module__ == "numpy"
}


# --- the two functions ----------------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that `load` reads; see `AbstractNB.save`."""
    if type(estimator) not in ESTIMATORS.values():
        raise ValueError(
            f"{type(estimator).__module__}.{type(estimator).__qualname__} is no estimator that a file can name, so a "
            "file of it could not be read again; define the class at the top level of a module, or save the estimator "
            "that it is built on."
        )
    check_is_fitted(estimator)
    document, tensors = _document(estimator)
    try:
        again = _rebuilt(json.loads(document), tensors)
    except Exception as error:
        raise ValueError(f"the estimator could not be read again: {error}. Fit it again, then save it.") from error
    if isinstance(estimator, CalibratedClassifierLOO):
        set_later = _set_later(estimator.estimator_, again.estimator_) + _set_later(estimator, again)
    else:
        set_later = _set_later(estimator, again)
    if set_later:
        raise ValueError(
            f"`{set_later[0]}` is not what `fit` makes of the rows under these hyperparameters: it, or one of them, "
            "was set after the fit. Set it back, or fit the estimator again, then save it."
        )
    assert _document(again)[0] == document
    replace_file(path, to_bytes(tensors, metadata={_KEY: document}))


def _set_later(estimator: Any, again: Any) -> list[str]:
    """What an estimator shows and its copy, made anew from what it has learnt, does not."""
    shown = {"prior_", *(name for name in vars(estimator) if not name.startswith("_"))}
    derived = shown - estimator.get_params().keys() - _LEARNT - _CALIBRATED
    return [name for name in sorted(derived) if not _same(*(getattr(nb, name, None) for nb in (estimator, again)))]


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote to a file.

    Statistics, hyperparameters, labels and names are those saved, bit for bit; prior and posterior are computed from
    them, to the same bits under the same releases of NumPy and SciPy on the same kind of machine. Nothing in a file can
    run code: only classes that are defined already are built, from numbers and text. Import a module that defines an
    estimator or a family of your own before you load a file of it.

    Raises
    ------
    FileNotFoundError
        if there is no such file
    ValueError
        if the file is damaged (its SHA-256 is checked), of another program, of a newer format, or describes no model
    """
    name = os.fsdecode(path)
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
        raise ValueError(
            f"{name} is damaged, or no file that `save` wrote ({_brief(error)}); take a copy of it, or save the model "
            "again"
        ) from error
    if text is None:
        raise ValueError(f"{name} is a safetensors file, but not of bayesnb; name a file that `save` wrote")
    found = _parsed(text)
    if found is None:
        raise ValueError(f"{name} is damaged: its header is no JSON; take a copy of it, or save the model again")
    if found["format"] > FORMAT:
        raise ValueError(
            f"{name} has format {_brief(found['format'])}, of bayesnb {_brief(found.get('version'))}; this is bayesnb "
            f"{__version__}, which reads formats up to {FORMAT}. Install a newer release"
        )
    if found["format"] < 1:
        raise ValueError(
            f"{name} is damaged: its format is {_brief(found['format'])}; take a copy of it, or save again"
        )
    if found.get("sha256") != _digest(found, tensors):
        raise ValueError(
            f"{name} is damaged: the contents do not have the SHA-256 of the header; take a copy of it, or save the "
            "model again"
        )
    try:
        return _rebuilt(found, tensors)
    except Exception as error:  # whatever the checks stumble over: a file may hold anything
        raise ValueError(
            f"{name} describes no model that bayesnb {__version__} can build ({_brief(error)}); save the model again"
        ) from error


def _tensor(file: Any, name: str) -> np.ndarray:
    """A tensor of a type that `save` writes; NumPy does not have all types of safetensors."""
    if (kind := file.get_slice(name).get_dtype()) not in _DTYPES:
        raise ValueError(f"a tensor of type {kind}")
    return file.get_tensor(name)


def _brief(what: Any) -> str:
    """A text that a file has a part in, on one line and not too long."""
    text = " ".join(str(what).split())
    return text if len(text) <= 300 else f"{text[:300]}…"


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise the error that `replace_file` would raise for a path, as far as it can be known before the work is done."""
    path = os.fsdecode(path)
    if _descriptor(path) is not None:
        return
    kind, folder = _kind(path), os.path.dirname(os.path.realpath(path))
    if kind == "directory":
        raise IsADirectoryError(f"{path} is a directory; name a file in it")
    if kind in ("disk", "socket"):
        raise ValueError(f"{path} is a {kind}, which is not written to; name a file")
    if kind == "nothing" and not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} to write to; check the path")


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file all at once: the old one stays until the new one is complete and on the disk.

    Its permissions are those of the file it replaces, or those of any new file. Pipes, terminals and devices such as
    /dev/null are written to and stay what they are.

    Raises
    ------
    OSError
        if the path is a directory or in a folder that does not exist, or the system refuses
    ValueError
        if the path is a disk or a socket, or a pipe that is closed before all is written
    """
    path = os.fsdecode(path)
    check_target(path)
    if _descriptor(path) is not None or _kind(path) == "stream":
        _write_stream(path, data)
        return
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    _remove_abandoned(folder)
    temporary = os.path.join(folder, f".bayesnb-{secrets.token_hex(8)}.tmp")
    handle, named = _new_file(temporary)
    file = os.fdopen(handle, "wb")
    try:
        file.write(data)
        file.flush()
        os.fsync(handle)
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary if named else handle, os.stat(path).st_mode & 0o7777)
        if not named:
            _link(handle, temporary)
        if os.name == "nt":  # which does not rename open files; elsewhere the lock is held to the end
            file.close()
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    file.close()


def _kind(path: str) -> str:
    """What is at a path: "nothing", "file", "directory", "disk", "socket", or "stream" (pipe, terminal, /dev/null)."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "nothing"
    kinds = {"file": stat.S_ISREG, "directory": stat.S_ISDIR, "disk": stat.S_ISBLK, "socket": stat.S_ISSOCK}
    return next((kind for kind, holds in kinds.items() if holds(mode)), "stream")


def _descriptor(path: str) -> int | None:
    """The number of the open file that /dev/stdout, /dev/stderr or /dev/fd/N stands for."""
    path = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(os.path.abspath(path), os.path.abspath(path))
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", path) if os.name == "posix" else None
    return int(found[1]) if found else None


def _write_stream(path: str, data: bytes) -> None:
    """Write to what can be written to but not replaced; an open file goes on from where it is."""
    number = _descriptor(path)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY) if number is None else os.dup(number), "wb") as file:
            file.write(data)
    except BrokenPipeError as error:
        raise ValueError(f"{path} was closed before all was written to it; check the program that reads it") from error
    except OSError as error:
        raise OSError(f"{path} cannot be written to ({error.strerror}); name a file") from error


# On Linux a file has no name until it is complete; the system removes it if the process is killed. Elsewhere it has a
# name, and a lock that the system releases if the process is killed. A file that can be locked is therefore abandoned.

_TEMPORARY = re.compile(r"\.bayesnb-[0-9a-f]{16}\.tmp")
_DAY = 86400.0  # seconds after which a file is abandoned where the system has no locks


def _new_file(path: str) -> tuple[int, bool]:
    """Descriptor of a new, locked file, and whether it has the name already or still none."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # a file system without such files; all else shows below
            handle = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, 0o666)
            _lock(handle)
            return handle, False
    while True:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if _lock(handle) is not False and os.path.lexists(path):
            return handle, True
        os.close(handle)  # another process found it before it was locked, and removes it
        time.sleep(0.01)


def _link(handle: int, path: str) -> None:
    """Give a file its name."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:  # only with a descriptor of the folder does `os.link` follow the link that /proc shows
        os.link(f"/proc/self/fd/{handle}", os.path.basename(path), dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _lock(handle: int) -> bool | None:
    """Whether this process has the lock of an open file; None where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _remove_abandoned(folder: str) -> None:
    """Remove what killed processes left in a folder: this user's files of our pattern; no link is followed."""
    try:
        found = [os.path.join(folder, name) for name in os.listdir(folder) if _TEMPORARY.fullmatch(name)]
    except OSError:  # a folder that can be written to but not listed
        return
    for path in found:
        with contextlib.suppress(OSError):
            at = os.lstat(path)
            if stat.S_ISREG(at.st_mode) and (os.name == "nt" or at.st_uid == os.geteuid()) and _is_abandoned(path, at):
                os.unlink(path)


def _is_abandoned(path: str, at: os.stat_result) -> bool:
    """Whether no process writes to a file: nobody has its lock or, where there are no locks, it is a day old."""
    old = time.time() - at.st_mtime > _DAY
    if os.name == "nt":
        return old
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        lock = _lock(handle)
        return old if lock is None else lock
    finally:
        os.close(handle)


# --- the document ---------------------------------------------------------------------------------------------------


def _document(estimator: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The JSON text and the tensors of an estimator."""
    writer = _Writer()
    model = writer.estimator(estimator, "", _learnt(type(estimator)))
    found = {"format": FORMAT, "version": __version__, "model": model}
    return _canonical({**found, "sha256": _digest(found, writer.tensors)}), writer.tensors


def _parsed(text: str) -> dict[str, Any] | None:
    """The JSON object of a header, if it is one that says its format."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or type(found.get("format")) is not int:
        return None
    level: list[Any] = [found]
    depth = 0
    while level := [
        one
        for node in level
        for one in (node.values() if isinstance(node, dict) else node)
        if isinstance(one, dict | list)
    ]:
        if (depth := depth + 1) > _DEPTH:
            return None
    return found


def _canonical(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"))


def _digest(found: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 of all that a file says but the digest itself."""
    digest = hashlib.sha256(_canonical({key: value for key, value in found.items() if key != "sha256"}).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.name} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


class _Writer:
    """Values as JSON; arrays of numbers are set aside."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def estimator(self, nb: Any, at: str, learnt: set[str]) -> dict[str, Any]:
        parameters = nb.get_params(deep=False)
        return {
            _name_of(type(nb), ESTIMATORS): {
                "parameters": {name: self.value(value, at + name) for name, value in parameters.items()},
                "learnt": {
                    name: self.estimator(nb.estimator_, at + "estimator_.", _LEARNT)
                    if name == "estimator_"
                    else self.value(getattr(nb, name), at + name)
                    for name in sorted(learnt)
                    if hasattr(nb, name)
                },
            }
        }

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
        if kind is slice:
            return {"slice": self.value([value.start, value.stop, value.step], at)}
        if kind is pd.Interval:
            return {"interval": self.value([value.left, value.right, value.closed], at)}
        if kind is make_column_selector:
            return {"columns": self.value([value.pattern, value.dtype_include, value.dtype_exclude], at)}
        if isinstance(value, type) and value in _TYPES.values():
            return {"type": _name_of(value, _TYPES)}
        if isinstance(value, np.dtype) and not value.hasobject and value.names is None:
            return {"dtype": value.str}
        for tag, (known, text, _) in _TEXTS.items():
            if kind is known:
                return {tag: text(value)}
        if kind in ESTIMATORS.values():  # one that is a parameter is what it was given as, not fitted
            return self.estimator(value, f"{at}.", set())
        if kind is _Part:
            inner = self.estimator(value.estimator, f"{at}.", _ENCODING)
            plain = {"name": value.name, "columns": self.value(value.columns, f"{at}.columns"), "k": value.k}
            return {"_Part": {**plain, "estimator": inner}}
        if kind in RECORDS.values():
            return {
                _name_of(kind, RECORDS): {
                    field.name: self.value(getattr(value, field.name), f"{at}.{field.name}") for field in fields(value)
                }
            }
        if callable(value):
            raise ValueError(
                f"`{at}` is {value!r}, and a file holds no code. Columns can be names, positions, a type or a "
                "make_column_selector; `set_params` replaces them without a new fit."
            )
        raise ValueError(
            f"`{at}` holds a {kind.__module__}.{kind.__qualname__}, which a file cannot; use a NumPy type."
        )

    def array(self, value: np.ndarray, at: str) -> Any:
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


# --- rebuilding -----------------------------------------------------------------------------------------------------


class _Reader:
    """Values out of JSON and tensors; whatever is not listed is refused."""

    def __init__(self, tensors: dict[str, np.ndarray], length: int) -> None:
        self.tensors = tensors
        self.room = _ROOM[0] + _ROOM[1] * length

    def take(self, size: int) -> None:
        """Count bytes that a few characters of text ask for, before they are allocated."""
        self.room -= size
        _require(self.room >= 0, "it unfolds to more than a file of its length can mean")

    def value(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.value(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        ((tag, given),) = tree.items()
        if tag in ESTIMATORS:
            return self.estimator(tag, given)
        if tag == "_Part":
            return _Part(**{name: self.value(one) for name, one in given.items()})
        if tag in RECORDS:
            return RECORDS[tag](**{name: self.value(one) for name, one in given.items()})
        if tag in _TEXTS:
            return _TEXTS[tag][2](_text(given))
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
        if tag == "scalar":
            kind, plain = _numeric(given[0]), self.value(given[1])
            self.take(kind.itemsize)
            return (np.int64(plain).view(kind) if kind.kind in "mM" else np.array(plain, kind))[()]
        if tag == "slice":
            return slice(*self.value(given))
        if tag == "interval":
            return pd.Interval(*self.value(given))
        if tag == "columns":
            pattern, include, exclude = self.value(given)
            return make_column_selector(pattern, dtype_include=include, dtype_exclude=exclude)
        if tag == "type":
            return _TYPES[given]
        if tag == "dtype":
            return np.dtype(_text(given))
        raise ValueError(f"an unknown type {tag!r}; import the module that defines it first")

    def array(self, name: str, kind: str, order: Any) -> np.ndarray:
        tensor, dtype = self.tensors[name], _numeric(kind)
        stored = np.dtype(np.int64) if dtype.kind in "mM" else dtype.newbyteorder("=")
        if tensor.dtype != stored:
            raise ValueError(f"{name} is of {tensor.dtype}, not {stored}")
        self.take(tensor.nbytes)
        return tensor.view(dtype.newbyteorder("=")).astype(dtype, order=order)

    def estimator(self, name: str, given: dict[str, Any]) -> Any:
        kind = ESTIMATORS[name]
        parameters = {key: self.value(one) for key, one in given["parameters"].items()}
        own, known = parameters.get("prior"), parameters.get("known_variance")
        held = {name: getattr(own, name) for name in own.fields_} if isinstance(own, AbstractConjugate) else {}
        if known is not None and np.any(held.get("variance", known) != known):
            parameters["known_variance"] = held["variance"]  # which older releases used where the two contradict
        nb = kind(**parameters)
        for key, one in given["learnt"].items():
            if key not in _learnt(kind):
                raise ValueError(f"an attribute {key!r} that cannot be learnt")
            value = self.value(one)
            _require(key != "statistics_" or isinstance(value, Statistics), "statistics of another model")
            setattr(nb, key, value)
        return nb


def _learnt(kind: type) -> set[str]:
    """Attributes that a fit of such an estimator sets and a file holds."""
    return _CALIBRATED if kind is CalibratedClassifierLOO else _LEARNT


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} where text is needed")
    return value


def _numeric(kind: Any) -> np.dtype[Any]:
    """A type of numbers or times; NumPy also knows types that point into memory."""
    if not re.fullmatch(r"[<>|][biuf][1248]|[<>][mM]8(\[\d*\w+\])?|[<>]U\d{1,6}", _text(kind)):
        raise ValueError(f"numbers of type {kind!r}")
    return np.dtype(kind)


def _rebuilt(found: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    """The estimator of a parsed header, its prior and posterior computed anew from checked statistics."""
    cells = sum(tensor.size for tensor in tensors.values())
    reader = _Reader(tensors, len(_canonical(found["model"])) + 8 * cells)
    nb = reader.value(found["model"])
    if type(nb) not in ESTIMATORS.values():
        raise ValueError("it holds no estimator")
    inner = nb
    if isinstance(nb, CalibratedClassifierLOO):
        inner = nb.estimator_
        _require(type(inner) in ESTIMATORS.values() and hasattr(inner, "statistics_"), "its estimator is not fitted")
        _check_maps(nb)
    _check_encoding(inner)
    _check_size(inner, reader)
    _check_statistics(inner)
    inner._set_statistics(inner.statistics_)
    _ = inner.posterior_  # what cannot be updated shows here, and not in the first prediction
    return nb


def _same(a: Any, b: Any) -> bool:
    """Whether two trees are equal; NaN equals NaN."""
    leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=False)
    return _form(a) == _form(b) and all(np.array_equal(one, other, equal_nan=True) for one, other in leaves)


def _form(tree: Any) -> Any:
    """Types, names and number of leaves of a tree."""
    return jax.tree.structure(tree)


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _check_maps(nb: CalibratedClassifierLOO) -> None:
    """Maps that belong to the estimator: labels, numbers of parameters, probabilities."""
    _require(np.array_equal(nb.classes_, nb.estimator_.classes_), "the calibration has other classes")
    _require(nb.n_features_in_ == nb.estimator_.n_features_in_, "the calibration has other features")
    k, c = len(nb.estimator_._blocks_of_parts()), len(nb.classes_)
    _require(isinstance(nb.maps_, tuple) and len(nb.maps_) > 0, "there are no maps")
    for one in nb.maps_:
        _require(isinstance(one, _maps.CalibrationMap) and 0 < one.weight <= 1, "a map without a probability")
        base = one.kind.base if isinstance(one.kind, _maps.Isotonic) else one.kind
        _require(isinstance(base, _maps.Kind), "a map of no kind")
        p = 0 if isinstance(one.kind, _maps.Isotonic) else len(base.prior(k, c)[0])
        shapes = one.mode.shape == (p,) and one.covariance.shape == (p, p) and one.nodes.shape[1:] == (p,)
        _require(shapes and len(one.nodes) > 0, "parameters of another map")
        _require(np.isfinite(one.nodes).all() and np.isfinite(one.covariance).all(), "parameters that are no numbers")
    _require(abs(sum(one.weight for one in nb.maps_) - 1) < 1e-9, "probabilities of maps that do not add up to one")
    mean = nb._mean_log_length
    _require(mean is None or (mean.shape == (k,) and np.isfinite(mean).all()), "lengths of rows of other parts")


def _check_encoding(nb: Any) -> None:
    """Labels, names, levels and parts that belong together."""
    labels, d, learnt = nb.classes_, nb.n_features_in_, vars(nb)
    _require(isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) > 0, "classes_ are no labels")
    _require(np.array_equal(np.unique(labels), labels), "classes_ are not in order")
    _require(isinstance(d, int) and d > 0, f"n_features_in_ is {d!r}")
    if "feature_names_in_" in learnt:
        _require(np.shape(nb.feature_names_in_) == (d,), "feature_names_in_ are not one a feature")
    if "categories_" in learnt:
        _require(isinstance(nb.categories_, list) and len(nb.categories_) == d, "categories_ are not one a feature")
        _require(all(np.ndim(one) == 1 and pd.Index(one).is_unique for one in nb.categories_), "categories_ repeat")
        _require(np.array_equal(nb.n_categories_, [len(one) for one in nb.categories_]), "n_categories_ differ")
    if "weights_" in learnt:
        v = nb.weights_
        _require(
            isinstance(v, np.ndarray) and v.dtype == np.float64 and v.shape == (d,), "weights_ are not one a feature"
        )
        _require((v >= 0).all() and abs(v.sum() - 1) < 1e-9, "weights_ do not sum to one")
    parts = learnt.get("_parts", [])
    _require(len({part.name for part in parts}) == len(parts), "two parts have one name")
    for part in parts:
        _require(part.k is None or (type(part.k) is int and 0 <= part.k < len(labels)), f"a part of class {part.k!r}")
        own = labels if part.k is None else labels[part.k : part.k + 1]
        _require(np.array_equal(part.estimator.classes_, own), f"part {part.name!r} has other classes")
        columns = part.columns
        _require(columns.dtype.kind == "i" and columns.shape == (part.estimator.n_features_in_,), "columns of a part")
        _require(len(set(columns.tolist())) == len(columns), "a part has a column twice")
        _require(((columns >= 0) & (columns < d)).all(), f"part {part.name!r} has columns beyond the {d} features")
        _check_encoding(part.estimator)


def _check_size(nb: Any, reader: _Reader) -> None:
    """No more features than a file of this length can describe: what is checked next allocates an array of them."""
    for part in getattr(nb, "_parts", []):
        _check_size(part.estimator, reader)
    if not hasattr(nb, "_parts"):
        square = isinstance(nb, estimators.GaussianDA) and nb.covariance != "identity"
        more = nb.n_features_in_ if square else 1
        if isinstance(nb, estimators.FamilyNB):
            square = any(field.axes.count("feature") > 1 for field in nb._family.fields_.values())
            more = nb.n_features_in_ if square else nb._n_levels or 1
        reader.take(8 * len(nb.classes_) * nb.n_features_in_ * more)


def _example(nb: Any) -> dict[str, Any]:
    """Statistics of no rows, by block: their types and shapes."""
    if not hasattr(nb, "_parts"):
        positive = isinstance(nb, estimators.FamilyNB) and nb._family.cells_.kind == "positive"
        row = np.full((1, nb.n_features_in_), float(positive))  # one that every likelihood knows
        return nb._gather(row, np.zeros(1, int), None).zero().blocks
    return {
        part.names[inner]: held
        for part in nb._parts
        for inner, held in _example(part.estimator).items()
        if inner in part.names
    }


def _check_statistics(nb: Any) -> None:
    """Statistics as rows could have left them: types and shapes of the model, no negative weights or squares."""
    stats = _without_sums(nb.statistics_)
    template = _without_sums(Statistics(np.zeros(len(nb.classes_)), _example(nb)))
    _require(_form(stats) == _form(template), "statistics of another model")
    for leaf, like in zip(jax.tree.leaves(stats), jax.tree.leaves(template), strict=True):
        _require(isinstance(leaf, np.ndarray) and leaf.dtype == like.dtype, "statistics are not of float64")
        shape = (*leaf.shape[:-1], 0) if like.shape[-1] == 0 else leaf.shape  # as many distinct cells as there were
        _require(shape == like.shape, f"statistics of shape {leaf.shape} in the place of {like.shape}")
    _require(np.isfinite(stats.n).all() and not is_negative(stats, stats), "negative classes")
    for held in stats.blocks.values():
        _require(not is_negative(held, held), "negative counts")
        if isinstance(held, statistics.Sample):
            _require(held.value.shape == held.weight.shape, "cells without weights")
            _require(np.array_equal(np.isnan(held.value), held.weight == 0), "cells without weights")
            _require(not (np.diff(held.value) <= 0).any(), "cells that are not in order")
            continue
        _require(not any(np.isnan(leaf).any() for leaf in jax.tree.leaves(held)), "statistics that are no numbers")
        if isinstance(held, statistics.Moments):
            _require((held.ss >= 0).all(), "negative squares")
        if isinstance(held, statistics.Scatter):
            squares = np.diagonal(held.ss, axis1=1, axis2=2)
            _require((squares >= -1e-9 * abs(squares).max(0)).all(), "negative squares")
            _require(np.array_equal(held.ss, held.ss.swapaxes(1, 2), equal_nan=True), "cross products that differ")
    _require(nb.statistics_.weight is None or _is_sum(nb.statistics_.weight, stats.n), "other exact weights")
    for held in nb.statistics_.blocks.values():
        _require(getattr(held, "sums", None) is None or _are_sums(held), "exact sums of other statistics")


def _without_sums(stats: Statistics) -> Statistics:
    """The floats alone."""
    blocks = {k: replace(held, sums=None) if hasattr(held, "sums") else held for k, held in stats.blocks.items()}
    return replace(stats, blocks=blocks, weight=None)


def _is_sum(found: Any, value: np.ndarray) -> bool:
    """Whether an exact sum is of the size of these floats, and finite."""
    if not isinstance(found, ExactSum) or not _is_table(found.parts, value.shape, 1):
        return False
    return bool(np.isfinite(found.parts).all())


def _is_table(found: Any, shape: tuple[int, ...], more: int = 0) -> bool:
    return isinstance(found, np.ndarray) and found.dtype == float and found.shape[: found.ndim - more] == shape


def _are_sums(held: Any) -> bool:
    """Whether the sums of statistics are theirs: of their names, shapes and values."""
    sums, squares = held.sums, hasattr(held, "ss")
    if not (isinstance(sums, Sums) and isinstance(sums.exact, dict) and isinstance(sums.error, dict)):
        return False
    names = {"n": held.n, "total": held.mean, "square": held.ss} if squares else vars(held)
    kinds = ("square", "shift", "low", "high", "ss")
    bounds = {"n": held.n} | dict.fromkeys(kinds, held.mean) if squares else vars(held)
    if not (sums.exact.keys() in ({}.keys(), names.keys()) if squares else sums.exact.keys() <= names.keys()):
        return False
    if not (sums.error.keys() <= bounds.keys() and all(_is_sum(one, names[k]) for k, one in sums.exact.items())):
        return False
    if not all(_is_table(v, bounds[k].shape) and not np.isnan(v).any() for k, v in sums.error.items()):
        return False
    found = _without_sums(Statistics(held.n, {"": held.from_sums()[0]})).blocks[""]
    bare = _without_sums(Statistics(held.n, {"": held})).blocks[""]
    return all(
        np.allclose(one, other, rtol=1e-6, atol=1e-6 * abs(other).max(initial=0))
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(bare), strict=True)
    )
