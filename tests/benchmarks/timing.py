"""Times of things that are to be compared: taken in turns, so that a machine's moods meet all of them; medians."""

import statistics
import time
from collections.abc import Callable
from typing import Any


def medians(*calls: Callable[[], Any], repeats: int = 5, warm: bool = True) -> list[float]:
    """Median wall time of each call in seconds, all called once a turn; one turn more beforehand if `warm`."""
    if warm:
        for call in calls:
            call()
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, found in zip(calls, times, strict=True):
            found.append(seconds(call))
    return [statistics.median(found) for found in times]


def in_turns(calls: dict[str, Callable[[], float]], repeats: int) -> list[list[str]]:
    """Rows of a table: the name of each call, the median of the seconds that it returns, and their range."""
    times: dict[str, list[float]] = {what: [] for what in calls}
    for _ in range(repeats):
        for what, call in calls.items():
            times[what].append(call())
    return [
        [what, f"{statistics.median(found):.3g}", f"{min(found):.3g} to {max(found):.3g}"]
        for what, found in times.items()
    ]


def seconds(call: Callable[[], Any]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
