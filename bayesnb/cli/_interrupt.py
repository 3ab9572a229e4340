"""Ctrl-C ends the command with an exit code of its own, whatever the process does at that moment."""

from __future__ import annotations

import os
import sys

from .._interrupted import interrupted
from ._output import complain

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INTERRUPTED = 130  # exit code
_PATIENCE = 1.0  # seconds after an interrupt before a process that goes on is ended


class Interrupt:
    """Ctrl-C as an exit code.

    The handler raises KeyboardInterrupt, as Python's own does, and sets a flag: JAX swallows some of these exceptions
    (jax issue 18246), and some libraries replace them by others. A process that still runs `_PATIENCE` seconds later,
    for instance because XLA compiles, is ended by a thread. A second interrupt ends the process at once.
    """

    def __init__(self) -> None:
        self.seen = self.over = False
        self._undo: list[Callable[[], Any]] = []
        self._afterwards: Any = None

    def watch(self) -> None:
        """Take over from the handler of Python or of `__main__`; leave alone that of a host program or of `nohup`."""
        import signal

        if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, interrupted):
            return
        try:
            signal.signal(signal.SIGINT, self._handle)
        except ValueError:  # not the main thread, which is the one that is interrupted
            return
        self._undo.append(lambda: signal.signal(signal.SIGINT, self._afterwards))
        shown = sys.unraisablehook
        sys.unraisablehook = lambda what: None if what.exc_type is KeyboardInterrupt else shown(what)
        self._undo.append(lambda: setattr(sys, "unraisablehook", shown))
        if os.name == "posix":
            self._start_thread()

    def _start_thread(self) -> None:
        """The thread hears of a signal through a pipe, also while the main thread runs compiled code."""
        import _thread  # `threading` takes locks that an interrupted main thread may hold
        import signal
        import time

        def wait() -> None:
            while signals := os.read(read, 1):
                if signals[0] == signal.SIGINT:
                    time.sleep(_PATIENCE)
                    if not self.over:
                        self._leave()
            os.close(read)

        read, write = os.pipe()
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._undo += [lambda: os.close(write), lambda: signal.set_wakeup_fd(before)]
        _thread.start_new_thread(wait, ())

    def _handle(self, number: int, frame: Any) -> None:
        if self.seen and not self.over:
            self._leave()
        self.seen = True
        if not self.over:
            raise KeyboardInterrupt

    def _leave(self) -> None:
        complain("interrupted")
        os._exit(INTERRUPTED)

    def forget(self, to_the_end: bool) -> None:
        """Put everything back; where the process ends next, an interrupt finds nothing left to stop."""
        if self._undo:
            import signal

            self._afterwards = signal.SIG_IGN if to_the_end else signal.default_int_handler
        for undo in reversed(self._undo):
            undo()
