"""Public names and their signatures change on purpose only: the file beside this one says what they are.

Write it anew with `python -m tests.test_public_surface`, look at the difference, and say in the changelog what changed.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bayesnb

SURFACE = Path(__file__).with_name("saved") / "public_surface.txt"
MODULES = ["drop_in", "families", "plots"]


def signature(value: Any) -> str:
    """Names, kinds and defaults of the parameters; annotations are for the type checker."""
    parameters = inspect.signature(value).parameters.values()
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters if one.name != "self"]
    return str(inspect.Signature(plain))


def of_class(name: str, cls: type) -> Iterator[str]:
    """The constructor, and what the class or one of its bases here defines in public."""
    yield f"{name}{signature(cls)}"
    members = {
        key: value
        for base in reversed(cls.__mro__)
        if base.__module__.startswith("bayesnb")
        for key, value in vars(base).items()
        if not key.startswith("_")
    }
    for key, value in sorted(members.items()):
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if inspect.isfunction(value):
            yield f"{name}.{key}{signature(value)}"
        elif isinstance(value, property):
            yield f"{name}.{key}"


def of_names(prefix: str, names: list[str], home: Any) -> Iterator[str]:
    for name in sorted(names):
        value = getattr(home, name)
        if inspect.isclass(value):
            yield from of_class(prefix + name, value)
        elif inspect.isfunction(value):
            yield f"{prefix}{name}{signature(value)}"


def surface() -> list[str]:
    lines = [*of_names("", bayesnb.__all__, bayesnb)]
    for module in MODULES:
        home = getattr(bayesnb, module)
        public = getattr(home, "__all__", [name for name in vars(home) if not name.startswith("_")])
        lines += of_names(f"{module}.", public, home)
    return lines


def test_the_public_surface_is_the_one_written_down() -> None:
    written = SURFACE.read_text("utf-8").splitlines()
    found = surface()
    lost, new = [one for one in written if one not in found], [one for one in found if one not in written]
    assert not lost and not new, f"{lost=} {new=}: see the head of this file"


@pytest.mark.parametrize("name", bayesnb._PROVISIONAL)
def test_a_provisional_name_says_so(name: str) -> None:
    assert "rovisional" in (getattr(bayesnb, name).__doc__ or "")


if __name__ == "__main__":
    SURFACE.write_text("\n".join(surface()) + "\n", "utf-8")
