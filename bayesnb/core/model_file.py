"""The format of model files: safetensors for the numbers, one JSON text for all else, and no code.

A file holds the hyperparameters and what was learnt: sufficient statistics, class labels, feature names, encodings.
Prior and posterior are not stored; they are rebuilt from these by the code that `fit` ends in, with all its checks.
Tensors are named after the attributes they belong to. The JSON text, `bayesnb` among the metadata, is

    {"format": 1, "version": …, "sha256": …, "model": {"GaussianNB": {"parameters": {…}, "learnt": {…}}}}

`model_tree` says how values are written. This module knows no estimator: each enters itself in `registry`.
"""

import hashlib
import json
import os
from typing import Any

import jax
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from .. import __version__
from .files import replace_file
from .model_tree import Reader, Writer
from .registry import ESTIMATORS

FORMAT = 1
"""Number of the format written; a file with a larger one is refused."""

_KEY = "bayesnb"
_DEPTH = 100  # of the JSON text; those written are less than 30 deep
_DTYPES = {"BOOL", "F16", "F32", "F64", *(f"{sign}{bits}" for sign in "IU" for bits in (8, 16, 32, 64))}

# --- the two functions ----------------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that `load` reads; see `Saved.save`."""
    if type(estimator) not in ESTIMATORS.values():
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
    if set_later := _set_later(estimator, again):
        raise ValueError(
            f"`{set_later[0]}` is not the result of `fit` with these hyperparameters: it, or one of them, was set "
            "after the fit. Set it back, or fit the estimator again, then save it."
        )
    assert _document(again)[0] == document
    replace_file(path, to_bytes(tensors, metadata={_KEY: document}))


def _set_later(estimator: Any, again: Any) -> list[str]:
    """What an estimator shows and its copy, made anew from what it has learnt, does not; the estimator inside first."""
    learnt = type(estimator)._learnt_names
    found = []
    for name in sorted(learnt):
        if type(inner := getattr(estimator, name, None)) in ESTIMATORS.values():
            found += _set_later(inner, getattr(again, name))
    shown = {"prior_", *(name for name in vars(estimator) if not name.startswith("_"))}
    derived = sorted(shown - estimator.get_params().keys() - learnt)
    return found + [n for n in derived if not _same(*(getattr(nb, n, None) for nb in (estimator, again)))]


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
            f"{name} is damaged, or was not written by `save` ({_brief(error)}); use a copy of it, or save the model "
            "again"
        ) from error
    if text is None:
        raise ValueError(f"{name} is a safetensors file, but bayesnb did not write it; name a file that `save` wrote")
    found = _parsed(text)
    if found is None:
        raise _damaged(name, "its header is not JSON")
    if found["format"] > FORMAT:
        raise ValueError(
            f"{name} has format {_brief(found['format'])} of bayesnb {_brief(found.get('version'))}, but bayesnb "
            f"{__version__} reads formats up to {FORMAT}. Install a newer release"
        )
    if found["format"] < 1:
        raise _damaged(name, f"its format is {_brief(found['format'])}")
    if found.get("sha256") != _digest(found, tensors):
        raise _damaged(name, "the contents do not have the SHA-256 of the header")
    try:
        return _rebuilt(found, tensors)
    except Exception as error:  # whatever the checks stumble over: a file may hold anything
        raise ValueError(
            f"{name} describes no model that bayesnb {__version__} can build ({_brief(error)}); save the model again"
        ) from error


def _damaged(name: str, why: str) -> ValueError:
    return ValueError(f"{name} is damaged: {why}; use a copy of it, or save the model again")


def _tensor(file: Any, name: str) -> np.ndarray:
    """A tensor of a type that `save` writes; NumPy does not have all types of safetensors."""
    if (kind := file.get_slice(name).get_dtype()) not in _DTYPES:
        raise ValueError(f"a tensor of type {kind}")
    return file.get_tensor(name)


def _brief(what: Any) -> str:
    """A text that a file has a part in, on one line and not too long."""
    text = " ".join(str(what).split())
    return text if len(text) <= 300 else f"{text[:300]}…"


# --- the document ---------------------------------------------------------------------------------------------------


def _document(estimator: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The JSON text and the tensors of an estimator."""
    writer = Writer()
    model = writer.estimator(estimator, "")
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
    return None if _is_deeper(found, _DEPTH) else found


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
    reader = Reader(tensors, len(_canonical(found["model"])) + 8 * cells)
    nb = reader.value(found["model"])
    if type(nb) not in ESTIMATORS.values():
        raise ValueError("it holds no estimator")
    nb._check_loaded(reader.take)
    return nb


def _same(a: Any, b: Any) -> bool:
    """Whether two trees are equal; NaN equals NaN."""
    leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=False)
    forms: list[Any] = [jax.tree.structure(one) for one in (a, b)]
    return forms[0] == forms[1] and all(np.array_equal(one, other, equal_nan=True) for one, other in leaves)
