"""Our dataclasses as JAX pytrees, without an import of JAX for those who do not use it.

JAX takes longer to import than most models to fit, and fitting and predicting on the host needs none of it. But whoever
hands one of our objects to `jax.jit` or `jax.tree.map` has to find its class registered, whichever package was imported
first. So JAX is imported and told of all classes before such an object is in anybody's hands: when it is made, copied
or unpickled, and when an estimator shows it. Only what is `defer_jax_import` an estimator is made without.
"""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, TypeVar, cast

from .registry import record

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])

_waiting: list[type] = []  # classes that JAX does not know yet
_lock = threading.Lock()
_inside = ContextVar("inside an estimator, where no pytree reaches the user", default=False)


def pytree(cls: Class) -> Class:
    """Class decorator: the dataclass becomes a JAX pytree, and model files can hold it.

    JAX is told by `jax.tree_util.register_dataclass` before it can meet an instance.
    """

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        if _waiting and ("jax" in sys.modules or not _inside.get()):
            register_pytrees()
        return object.__new__(cls)

    cls.__new__ = new  # type: ignore[assignment]
    record(cls)
    _waiting.append(cls)
    if "jax" in sys.modules:
        register_pytrees()
    return cls


def register_pytrees() -> None:
    """Have JAX know all pytrees, for one is about to leave our hands; inside an estimator only if JAX is there."""
    if not _waiting or (_inside.get() and "jax" not in sys.modules):
        return
    import jax

    with _lock:
        while _waiting:
            jax.tree_util.register_dataclass(_waiting[-1])
            _waiting.pop()  # only now: nobody goes on before JAX knows


class defer_jax_import:
    """A stretch, or as a decorator a method, that gives no pytree away: JAX need not be there for those it makes."""

    def __enter__(self) -> None:
        self._token = _inside.set(True)

    def __exit__(self, *_: object) -> None:
        _inside.reset(self._token)

    def __call__(self, method: Method) -> Method:
        """The method, inside such a stretch."""

        @functools.wraps(method)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with defer_jax_import():  # one a call: its token belongs to this thread
                return method(*args, **kwargs)

        return cast(Method, inside)


def leaves(tree: Any) -> Iterator[Any]:
    """`jax.tree.leaves` of our dataclasses, mappings and None."""
    found, waiting = [], [tree]
    while waiting:
        one = waiting.pop()
        if (names := _data(type(one))) is not None:  # type: ignore[arg-type]
            waiting += [getattr(one, name) for name in reversed(names)]
        elif isinstance(one, dict):
            waiting += [*one.values()][::-1]
        elif type(one) is tuple:
            waiting += one[::-1]
        elif one is not None:
            found.append(one)
    return iter(found)


def map_leaves(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`jax.tree.map` of trees of one structure."""
    if tree is None:
        return None
    changed: dict[Any, Any] = {}
    if (names := _data(type(tree))) is not None:  # type: ignore[arg-type]
        for name in names:
            changed[name] = map_leaves(f, getattr(tree, name), *map(attrgetter(name), others))
        return replace(tree, **changed)
    if isinstance(tree, dict):
        for key in tree:
            changed[key] = map_leaves(f, tree[key], *map(itemgetter(key), others))
        return changed
    if type(tree) is tuple:
        return tuple(map_leaves(f, *branch) for branch in zip(tree, *others, strict=True))
    return f(tree, *others)


@functools.cache
def _data(cls: type) -> list[str] | None:
    """Names of the fields that hold arrays; None of what is no dataclass."""
    if not is_dataclass(cls):
        return None
    return [field.name for field in fields(cls) if not field.metadata.get("static")]
