"""The command `bayesnb`: exit code 0 for a pass, 1 for a check that fails, 2 for input that cannot be used.

An interrupt ends it with 130, a defect of the program with 70. This module imports only what Python has loaded anyway;
the rest is imported in `main`, where an interrupt is caught.
"""

from __future__ import annotations

import os
import sys

from .._interrupted import INTERRUPTED
from ._interrupt import InterruptsEnd
from ._output import check_output, complain, discard_output, flush_output

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    from collections.abc import Sequence

DEFECT = 70  # exit code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Without arguments it takes those of the process, which an interrupt then ends at once.
    """
    if arguments is None:
        with InterruptsEnd():
            return _run_to_code(arguments)
    return _run_to_code(arguments)


def _run_to_code(arguments: Sequence[str] | None) -> int:
    """Run the command line; an error becomes an exit code, after one line about it."""
    try:
        return _run(arguments)
    except BaseException as error:
        return _exit_code(error)


def _run(arguments: Sequence[str] | None) -> int:
    """Parse the arguments and run the command."""
    unread = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it is closed, and the next file to be opened would take its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    errors, reconfigure = getattr(sys.stdout, "errors", None), getattr(sys.stdout, "reconfigure", None)
    if reconfigure:  # a name that the encoding of the terminal does not have is no reason to fail
        reconfigure(errors="backslashreplace")
    try:
        from . import _arguments, _commands

        options = _arguments.make_parser().parse_args(arguments)
        prints = options.run in (_commands.describe, _commands.select, _commands.compare, _commands.predict)
        if unread and prints and getattr(options, "output", None) is None:
            raise ValueError(
                "standard output is closed, so the result would be lost; redirect standard output to a file."
            )
        check_output(options)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    finally:
        if reconfigure:
            reconfigure(errors=errors)


def _exit_code(error: BaseException) -> int:
    """The exit code for an error, after one line about it; argparse has told of its own."""
    if isinstance(error, SystemExit):
        flush_output()
        raise error
    if isinstance(error, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):  # the reader of the output has closed it
        discard_output()
        return 1
    if os.environ.get("BAYESNB_DEBUG"):
        raise error
    if isinstance(error, MemoryError):
        complain(f"there is not enough memory ({error or 'no details'}); use fewer rows or columns.")
        return 2
    if isinstance(error, (ValueError, OSError)):
        complain(str(error))
        flush_output()
        return 2
    complain(
        f"unexpected {type(error).__name__}: {error} - this is a defect of bayesnb. Please report it, with the "
        "command and its output under BAYESNB_DEBUG=1."
    )
    return DEFECT
