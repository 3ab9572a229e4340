"""Classes that a model file can name: each enters itself when it is defined.

A file holds no code and names no module to import. A class of another module is therefore found only after that module
has been imported.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

ESTIMATORS: dict[str, type] = {}
"""Estimators by the name that files give them."""

RECORDS: dict[str, type] = {}
"""Families, statistics and other dataclasses by the name that files give them."""

CODECS: dict[str, tuple[type, Callable[[Any], Any], Callable[..., Any]]] = {}
"""Other types by the name that files give them: how a value is written as a text or a list, and read from it."""


def register(table: dict[str, type], cls: Class) -> Class:
    """Enter a class that can be found again by its name: a public one, at the top level of a module."""
    if not cls.__name__.startswith(("_", "Abstract")) and "<locals>" not in cls.__qualname__:
        own = {"bayesnb": cls.__name__, "bayesnb.drop_in": f"drop_in.{cls.__name__}"}
        package = cls.__module__ if cls.__module__ == "bayesnb.drop_in" else cls.__module__.split(".")[0]
        table[own.get(package, f"{cls.__module__}.{cls.__qualname__}")] = cls
    return cls


def record(cls: Class) -> Class:
    """Class decorator: a dataclass of numbers, text and other such classes, which a file can hold."""
    return register(RECORDS, cls)


def require(holds: Any, what: str) -> None:
    """Refuse contents of a file that are no model's: a ValueError that says what they are."""
    if not holds:
        raise ValueError(what)
