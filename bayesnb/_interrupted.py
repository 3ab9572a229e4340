"""An interrupt while the command line is still being imported ends it with exit code 130 and one line.

Python has loaded all that this module imports, so little time is left for an interrupt to come before.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, which takes longer to import than all else here
import os


def interrupted(number: int, frame: object) -> None:
    """End the process at once."""
    try:
        os.write(2, b"bayesnb: interrupted\n")
    finally:
        os._exit(130)


def watch() -> None:
    """Take over from Python's own handler; leave alone what a host program or `nohup` has set."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, interrupted)
