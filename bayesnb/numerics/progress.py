"""Signs of life: a line on the terminal about work that takes more than three seconds.

    with progress("models", total=3) as line:
        for name in names:
            line.begin(name)         what is being worked on
            ...
            line.advance()           one more is done

The line is on standard error, is shown after three seconds, counts the seconds, and is wiped out at the end. There is
none if standard error is not a terminal, within `quiet()`, or under the variable TQDM_DISABLE=1 of the environment.
"""

import contextlib
import shutil
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

_DELAY = 3.0  # seconds of work before a line is shown
_TICK = 1.0  # seconds between two looks at the clock, so that a long step is seen to live
_FORMAT = "{desc}: {n_fmt}/{total_fmt} {unit}, {elapsed}{postfix}"
_FORMAT_WITHOUT_TOTAL = "{desc}: {n_fmt} {unit}, {elapsed}{postfix}"
_FORMAT_WITHOUT_STEPS = "{desc}, {elapsed}{postfix}"

_is_quiet: ContextVar[bool] = ContextVar("_is_quiet", default=False)
Item = TypeVar("Item")


class Line(ABC):
    """A line about work in progress."""

    @abstractmethod
    def begin(self, name: str) -> None:
        """Say what is being worked on."""

    @abstractmethod
    def advance(self, n: int = 1) -> None:
        """Count n more that are done."""


class _NoLine(Line):
    """What stands for a line where none is shown."""

    def begin(self, name: str) -> None:
        """Say nothing."""

    def advance(self, n: int = 1) -> None:
        """Count nothing."""


class _TerminalLine(Line):
    """A line of tqdm that a thread shows after three seconds, and every second from then on."""

    def __init__(self, purpose: str, total: int | None, unit: str) -> None:
        from tqdm import tqdm

        bar_format = _FORMAT
        if total is None:  # steps are counted without a total, or there are none
            bar_format = _FORMAT_WITHOUT_TOTAL if unit else _FORMAT_WITHOUT_STEPS
        size = shutil.get_terminal_size()  # 80 × 24 of a terminal that does not say it, where tqdm would show nothing

        # `leave=False` wipes the line out at the end; nothing is shown before `delay` seconds
        settings: dict[str, Any] = {"leave": False, "ncols": size.columns, "nrows": size.lines, "delay": _DELAY}
        self._bar = tqdm(desc=purpose, total=total, unit=unit, bar_format=bar_format, file=sys.stderr, **settings)

        # tqdm writes a line only when a step is done. A thread, which ends with the program, writes it every second
        # too, so that the seconds go on within a long step.
        self._is_over = threading.Event()
        self._clock = threading.Thread(target=self._show_every_second, daemon=True)
        self._clock.start()

    def _show_every_second(self) -> None:
        if self._is_over.wait(_DELAY):
            return
        while not self._is_over.wait(_TICK):
            self._bar.refresh()

    def begin(self, name: str) -> None:
        """Say what is being worked on."""
        self._bar.set_postfix_str(name, refresh=False)

    def advance(self, n: int = 1) -> None:
        """Count n more that are done."""
        self._bar.update(n)

    def close(self) -> None:
        """Stop the clock and wipe the line out."""
        self._is_over.set()
        self._clock.join()
        self._bar.clear()
        self._bar.close()


@contextlib.contextmanager
def progress(purpose: str, total: int | None = None, unit: str = "") -> Iterator[Line]:
    """A line about work in progress, which is wiped out at the end.

    Parameters
    ----------
    purpose : what is done, such as "check"
    total : how many steps there are; None if nobody knows
    unit : what a step is, in the plural, such as "rows"; empty if no steps are counted
    """
    # no line within `quiet()`, without standard error, or where that is a file and not a terminal
    if _is_quiet.get() or sys.stderr is None or not sys.stderr.isatty():
        yield _NoLine()
        return
    line = _TerminalLine(purpose, total, unit)
    try:
        yield line
    finally:
        line.close()


def tracked(items: Iterable[Item], purpose: str, total: int | None = None, unit: str = "") -> Iterator[Item]:
    """The items, each counted on a line when the work on it is done."""
    with progress(purpose, total, unit) as line:
        for item in items:
            yield item
            line.advance()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No lines about work in progress."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def print_between(*texts: str) -> None:
    """Print to standard output without disturbing a line in progress."""
    if "tqdm" not in sys.modules:  # never imported, so no line is shown
        print(*texts, sep="\n", flush=True)
        return
    from tqdm import tqdm

    # tqdm wipes its lines out, and writes them again after the text
    with tqdm.external_write_mode(file=sys.stdout):
        print(*texts, sep="\n", flush=True)
