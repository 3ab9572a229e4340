"""The command `bayesnb`, and `python -m bayesnb`."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def main() -> int:
    """Run the command line and return its exit code; an interrupt ends the process with one line and code 130."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have asked to ignore interrupts
        signal.signal(signal.SIGINT, _end)
    from .cli import main as run

    return run()


def _end(_: int, frame: FrameType | None) -> None:
    """End the process at once: an exception in the midst of native code, as of JAX while it is imported, may crash it.

    A file that is being written is given up in order, so that nothing of it stays.
    """
    while frame:
        if frame.f_code.co_name == "replace_file":
            raise KeyboardInterrupt
        frame = frame.f_back
    with suppress(Exception):  # the stream may be closed, or in use
        sys.stdout.flush()
    with suppress(OSError):
        os.write(2, b"bayesnb: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
