"""How a loop is compiled, and where its machine code is kept."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

try:
    import fcntl
except ImportError:  # Windows, which refuses to replace a file that is being read: numba tries again later
    fcntl = None  # type: ignore[assignment]

# sums may be taken in any order; NaN and infinity keep their meaning
FAST = {"reassoc", "contract", "nsz", "arcp"}


class _Cache(FunctionCache):
    """Machine code in a folder that several processes use at once.

    numba writes an index and the code one after the other, and numbers the code of several types by the index that it
    has read: two processes that compile different types could each take the other's code. Here one process at a time
    reads or writes. A folder that fails (a full disk, a damaged file) costs compiling again, and nothing else.
    """

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        self._impl.locator.ensure_cache_path()
        with open(f"{self.cache_path}/bayesnb-loops.lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with suppress(Exception), self._alone():
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception), self._alone():
            super().save_overload(sig, data)


def loop(fastmath: set[str] | bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a loop: compiled without Python's lock, division as in NumPy, kept on disk where that is allowed."""

    def decorate(f: Callable[..., Any]) -> Any:
        plain = inspect.unwrap(f)  # the tests check types of arguments around every function of the package
        compiled: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath, **options)(plain)
        with suppress(RuntimeError):  # no folder can be written: compiled once a process
            compiled._cache = _Cache(plain)
        return compiled

    return decorate
