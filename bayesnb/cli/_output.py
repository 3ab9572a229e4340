"""What the command writes: reports and notes on standard output, one line on standard error."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    import pandas as pd

    from ..datasets import Dataset


_SHOWN = 12  # columns in the first lines of a report; `bayesnb describe` shows all


def complain(text: str) -> None:
    """One line on standard error, if anybody reads it."""
    try:
        print(f"bayesnb: {shorten(' '.join(text.split()), 1000)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def flush_output() -> None:
    """Write what is left in the buffer of standard output, if anybody reads it."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()


def discard_output() -> None:
    """Let the interpreter flush what is left in the buffer of standard output to nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output has no number
        pass


def announce(
    options: argparse.Namespace, data: Dataset, X: pd.DataFrame, notes: Sequence[str], to: TextIO | None = None
) -> None:
    """Say what is worked on, before the work; in JSON it is part of the report."""
    if not options.json:
        echo(f"{data.name}: {len(X)} rows, {X.shape[1]} features, target {data.target!r} ({data.source})", to)
        if data.contract is not None:
            echo(data.contract.summary(most=_SHOWN), to)
        for text in notes:
            if not text.startswith("Left out: "):  # the lines above say so
                echo(f"note: {text}", to)


def print_outcome(
    options: argparse.Namespace,
    data: Dataset,
    notes: Sequence[str],
    outcome: Any,
    fields: Callable[[], dict[str, Any]],
    to: TextIO | None = None,
) -> None:
    """The outcome as text, or its fields as JSON."""
    if options.json:
        import json

        about = {"data": data.name, "target": data.target, "notes": list(notes)}
        columns = {} if data.contract is None else {"columns": data.contract.to_frame().to_dict("index")}
        echo(json.dumps({**about, **columns, **fields()}, indent=2, default=str), to)
    else:
        echo(str(outcome), to)


def echo(text: str, to: TextIO | None = None, end: str = "\n") -> None:
    """Print at once, on standard output unless told otherwise."""
    try:
        print(text, end=end, file=to or sys.stdout, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:  # a disk that is full
        raise OSError(f"standard output cannot be written to ({error.strerror}).") from error


def check_output(options: argparse.Namespace) -> None:
    """Raise the error that writing the output of a command would raise, also where it would replace an input.

    Links and other spellings name the same file. A pipe, a terminal or /dev/null may be both.
    """
    output = getattr(options, "output", None)
    if output is None:
        return
    from ..datasets import NAMES
    from ..io import check_target

    check_target(output)
    for one in (getattr(options, name) for name in options.inputs):
        if one not in NAMES and os.path.isfile(output) and os.path.exists(one) and os.path.samefile(output, one):
            raise ValueError(f"the output {output} is the input {one}, which it would replace; name another file")


def is_standard_output(path: str) -> bool:
    """Whether a file to write, such as /dev/stdout, is where the report goes."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        return False


def shorten(text: str, most: int = 60) -> str:
    """The text, or its beginning and length."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
