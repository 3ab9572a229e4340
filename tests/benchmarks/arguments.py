"""The command line of a study, from the defaults of its settings."""

import argparse
from pathlib import Path
from typing import Any


def arguments(doc: str | None, given: list[str] | None = None, **defaults: Any) -> argparse.Namespace:
    """Settings by name: False is a switch, a tuple takes several values, None is a file; others have their type."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        several = isinstance(default, tuple)
        settings: dict[str, Any] = {"default": default, "nargs": "*" if several else None}
        first = next(iter(default), "") if several else default
        settings["type"] = Path if first is None else type(first)
        if default is False:
            settings = {"action": "store_true"}
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    return parser.parse_args(given)
