"""The command `bayesnb`, and `python -m bayesnb`."""

import importlib.abc
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

_LATE_MODULE = "scipy.stats"  # scikit-learn imports it for functions that few commands call; it takes half a second


def main() -> int:
    """Run the command line and return its exit code; an interrupt ends the process with one line and code 130."""
    # SIGINT is what Ctrl-C sends. A handler that is not Python's own stays: a shell may have asked to ignore
    # interrupts.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_process)
    _import_late(_LATE_MODULE)
    from .cli import main as run

    return run()


def _import_late(name: str) -> None:
    """Have a module of this process run its code when one of its names is first used, not when it is imported.

    `import` asks the finders in `sys.meta_path`, one after the other, where a module is; a finder that is put first can
    answer with a loader of its own.
    """
    if name in sys.modules:  # it was imported already
        return
    package = name.partition(".")[0]
    if importlib.util.find_spec(package) is None:  # it is not installed: importing it says so
        return
    sys.meta_path.insert(0, _LateFinder(name))  # the first finder that Python asks


class _LateFinder(importlib.abc.MetaPathFinder):
    """Finds one module, once, with a loader that runs it at the first use of a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of the module with a late loader; None of other modules, which later finders find."""
        if name != self._name:
            return None
        sys.meta_path.remove(self)  # so that the look-up below asks the other finders
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            # it makes an empty module, and runs the code when an attribute of it is asked for
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def _end_process(_: int, frame: FrameType | None) -> None:
    """End the process at once, as the handler of an interrupt; `frame` is where the process was.

    An exception in the midst of native code, as of JAX while it is imported, may crash it. A file that is being written
    is given up in order, so that nothing of it stays.
    """
    # A frame is a call in progress, and `f_back` the call that made it. If one of them is `io.replace_file`, which is
    # writing a file and cleans up after an exception, the interrupt is an exception as usual.
    while frame:
        if frame.f_code.co_name == "replace_file":
            raise KeyboardInterrupt
        frame = frame.f_back

    with suppress(Exception):  # the stream may be closed, or in use
        sys.stdout.flush()
    with suppress(OSError):
        os.write(2, b"bayesnb: interrupted\n")  # to the standard error, without Python's buffers
    os._exit(130)  # at once, without what Python does at its end; 128 + 2, the number of SIGINT


if __name__ == "__main__":
    sys.exit(main())
