"""An interrupt ends the command line with exit code 130 and one line, also while it is still being imported.

Python has loaded all that this module imports, so little time is left for an interrupt to come before.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, which takes longer to import than all else here
import _thread
import os

INTERRUPTED = 130  # exit code

_first = _thread.allocate_lock()


def interrupted(number: int, frame: object) -> None:
    """End the process at once; a second call, of a thread or by a second interrupt, leaves it to the first."""
    if _first.acquire(blocking=False):
        try:
            os.write(2, b"bayesnb: interrupted\n")
        finally:
            os._exit(INTERRUPTED)


def watch() -> None:
    """Take over from Python's own handler; leave alone what a host program or `nohup` has set."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, interrupted)
