"""Work cut into pieces, done on all cores, its results in the order of the pieces.

NumPy and SciPy let go of Python's lock while they compute, so threads are enough: nothing is copied or pickled. What is
computed does not depend on the number of threads; how the pieces are folded is the caller's, in their order.
"""

import contextvars
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_pieces = contextvars.ContextVar("how many pieces the work at hand is one of; their own are done one by one", default=0)


def n_threads() -> int:
    """Threads to use: OMP_NUM_THREADS where it is set, as joblib sets it in its workers, else the cores at hand."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(f: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
    """f of each piece, several at a time; an error in one is raised in its turn, and no further piece is begun."""
    if _pieces.get() or len(pieces) == 1:
        yield from map(f, pieces)
        return

    def begin(piece: Piece) -> Callable[[], Result]:
        context = contextvars.copy_context()
        context.run(_pieces.set, len(pieces))
        return functools.partial(context.run, f, piece)

    threads = min(n_threads(), len(pieces))
    if threads < 2:
        yield from (begin(piece)() for piece in pieces)
        return
    waiting: deque[Future[Result]] = deque()
    with _single_threaded_products(), ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(begin(piece)))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def n_sibling_tasks() -> int:
    """How many pieces the work at hand is one of: what is worth compiling. It does not depend on the threads."""
    return _pieces.get() or 1


@contextmanager
def one_of(pieces: int) -> Iterator[None]:
    """Work that is done here in so many pieces, one after the other."""
    token = _pieces.set(pieces * n_sibling_tasks())
    try:
        yield
    finally:
        _pieces.reset(token)


_lock = threading.Lock()
_users = 0
_limits: Any = None


@contextmanager
def _single_threaded_products() -> Iterator[None]:
    """One thread a matrix product while the pieces share the cores; the first user sets it, the last undoes it."""
    global _users, _limits
    with _lock:
        _users += 1
        if _users == 1:
            _limits = _blas().limit(limits=1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limits.restore_original_limits()


@functools.cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
