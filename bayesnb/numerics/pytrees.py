"""Our dataclasses as JAX pytrees, and as records that model files can name.

JAX takes longer to import than most models to fit, and fitting and predicting on the host needs none of it. So classes
wait here until JAX is there: `register_pytrees` imports it. It runs before one of our objects is handed to a user: when
`bayesnb.families` is used, and when an estimator shows `prior_`, `posterior_` or `statistics_`.
"""

import contextlib
import functools
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from operator import methodcaller
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

CLASSES: dict[str, type] = {}
"""Estimators, families, statistics and other dataclasses by the name that model files give them."""

_waiting: list[type] = []  # classes that JAX does not know yet
_lock = threading.Lock()


def record(cls: Class) -> Class:
    """Class decorator: enter a class in `CLASSES` if it can be found again, as a public one at the top of a module.

    Classes of this package have their own name there, all others that of their module too.
    """
    if not cls.__name__.startswith(("_", "Abstract")) and "<locals>" not in cls.__qualname__:
        is_ours = cls.__module__.split(".")[0] == "bayesnb"
        CLASSES[cls.__name__ if is_ours else f"{cls.__module__}.{cls.__qualname__}"] = cls
    return cls


def pytree(cls: Class) -> Class:
    """Class decorator: the dataclass becomes a JAX pytree, and model files can hold it."""
    _waiting.append(cls)
    if "jax" in sys.modules:
        register_pytrees()
    return record(cls)


def register_pytrees() -> None:
    """Import JAX, and have it know all pytrees; `jax.export` also writes and reads functions of them."""
    import jax  # noqa: F401

    with _lock:
        while _waiting:
            # A class leaves the list only when JAX knows it. So another thread that finds the list empty can go on.
            _register(_waiting[-1])
            _waiting.pop()


def _register(cls: type) -> None:
    """Tell JAX how to take a dataclass apart into arrays, and how to put it together again: to JAX it is a pytree.

    JAX's functions, such as `jit` and `grad`, work on arrays. Of an object that holds arrays they need to know two
    things: which fields hold arrays or further pytrees (the leaves, with their names), and which are static, such as a
    number of classes: constants of a compiled program. `flatten` takes an object apart into the two, and `unflatten`
    makes an object of them. JAX compares the static fields and the class to decide whether a compiled program fits.

    `jax.tree_util.register_dataclass` would say the same, but two classes with as many fields are then equal to JAX's
    caches (jaxlib 0.10.2), and a function compiled for one family is now and then run on another.
    """
    import jax

    # names of the fields that JAX sees as leaves, and of those that the dataclass marks as static
    leaf_names = _names(cls) or ()
    static_names = tuple(f.name for f in fields(cls) if f.metadata.get("static"))
    all_names = (*leaf_names, *static_names)

    # An object → (its leaves, each with a key; its static fields). A key is how JAX names a leaf in messages, here as
    # an attribute, `.alpha`.
    def flatten(tree: Any) -> tuple[Any, Any]:
        leaf_values = [(jax.tree_util.GetAttrKey(name), getattr(tree, name)) for name in leaf_names]
        static_values = tuple(getattr(tree, name) for name in static_names)
        return leaf_values, static_values

    # and back: JAX hands in the static fields first, and the leaves, perhaps changed, in the order of `flatten`
    def unflatten(static_values: Iterable[Any], leaf_values: Iterable[Any]) -> Any:
        values = (*leaf_values, *static_values)
        return cls(**dict(zip(all_names, values, strict=True)))

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    _register_for_export(cls)


def _register_for_export(cls: type) -> None:
    """Tell `jax.export`, which writes compiled functions to files, how to write the static fields of a dataclass.

    It needs them as bytes: here as JSON, such as `[3, ["a", "b"]]` for the fields 3 and ("a", "b"). JSON has no tuples,
    so a list that is read is made a tuple again.
    """
    import jax.export

    def to_json(values: Any) -> bytes:
        return json.dumps(values, default=methodcaller("item")).encode()  # NumPy's scalars have `item`

    def from_json(text: Any) -> tuple[Any, ...]:
        return tuple(tuple(value) if isinstance(value, list) else value for value in json.loads(text))

    with contextlib.suppress(ValueError):  # a class defined again, in a notebook: the first one keeps the name
        jax.export.register_pytree_node_serialization(
            cls,
            serialized_name=f"{cls.__module__}.{cls.__qualname__}",
            serialize_auxdata=to_json,
            deserialize_auxdata=from_json,
        )


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of a tree of our dataclasses, mappings, tuples and None, in order: `jax.tree.leaves` without JAX.

    The tree {"a": 1, "b": (2, 3)} has the leaves 1, 2, 3.
    """
    subtrees = branches(tree)  # fields, entries or members by name; None for a leaf, such as an array
    if subtrees is None:
        yield tree
        return
    for subtree in subtrees.values():
        yield from leaves(subtree)


def map_leaves(f: Callable[[Any], Any], tree: Any) -> Any:
    """A tree of the same structure whose leaves are f of the leaves: `jax.tree.map` of one tree, without JAX.

    A tree is a dataclass of this package, a dict or a tuple, whose members are trees again, or leaves such as arrays.
    With f(v) = 2 v, the tree {"a": 1, "b": (2, 3)} becomes {"a": 2, "b": (4, 6)}.
    """
    if tree is None:  # no value, and no leaf, as for JAX
        return None
    subtrees = branches(tree)  # fields, entries or members by name; None for a leaf, such as an array
    if subtrees is None:
        return f(tree)

    # put together again as what it was: a tuple, a dict or a dataclass
    # (of a dataclass the static fields stay)
    changed: dict[Any, Any] = {key: map_leaves(f, subtree) for key, subtree in subtrees.items()}
    if type(tree) is tuple:
        return tuple(changed.values())
    return changed if type(tree) is dict else replace(tree, **changed)


def branches(tree: Any) -> dict[Any, Any] | None:
    """What a tree holds, by name, key or position: the fields of a dataclass that are not static; None for a leaf."""
    if tree is None or type(tree) is dict:  # None holds nothing, and is no leaf, as for JAX
        return tree or {}
    if type(tree) is tuple:  # positions 0, 1, … as keys
        return dict(enumerate(tree))

    # a dataclass: the fields that are not static; a class that is none is a leaf
    names = _names(type(tree))  # type: ignore[arg-type]
    return None if names is None else {name: getattr(tree, name) for name in names}


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that are not static; None of any other class."""
    return tuple(f.name for f in fields(kind) if not f.metadata.get("static")) if is_dataclass(kind) else None
