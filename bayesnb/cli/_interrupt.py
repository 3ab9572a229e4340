"""Ctrl-C ends the command with an exit code of its own, whatever the process does at that moment."""

from __future__ import annotations

import os

from .._interrupted import interrupted, watch


class InterruptsEnd:
    """Within it, an interrupt ends the process at once; afterwards the process is about to end, and ignores them.

    KeyboardInterrupt is not raised: JAX swallows some (jax issue 18246), some libraries replace them by other errors,
    and compiled code through which one passes may crash. While XLA compiles, Python's handlers wait; there a thread
    ends the process. Files are replaced all at once, so none is left half written.
    """

    def __enter__(self) -> None:
        """Take over from Python's handler; leave alone that of a host program or of `nohup`."""
        import _thread  # `threading` takes locks that the main thread may hold
        import signal

        self._write = -1
        try:
            watch()
        except ValueError:  # not the main thread, which is the one that is interrupted
            return
        if signal.getsignal(signal.SIGINT) is not interrupted or os.name != "posix":
            return
        read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        _thread.start_new_thread(_end_when_told, (read, signal.SIGINT))

    def __exit__(self, *error: object) -> None:
        import signal

        if self._write >= 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.set_wakeup_fd(self._before)
            os.close(self._write)


def _end_when_told(read: int, number: int) -> None:
    """End the process when a pipe tells of this signal, whose number Python writes there."""
    while signals := os.read(read, 1):
        if signals[0] == number:
            interrupted(number, None)
    os.close(read)
