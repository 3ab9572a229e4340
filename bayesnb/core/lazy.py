"""Names that are imported when they are first asked for."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def by_name(package: str, home: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose public names live in modules of its own.

    Parameters
    ----------
    home : module below the package by public name; the name's own where the name is a module
    """

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{home[name]}", package)
        return module if home[name] == name else getattr(module, name)

    return find, lambda: sorted({*vars(import_module(package)), *home})
