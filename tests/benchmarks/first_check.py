"""How long the first command takes, and a second check in one process.

    python -m tests.benchmarks.first_check [--repeats 3]

Each first time is that of a fresh process with nothing compiled before: `bayesnb check breast_cancer` and
`bayesnb check iris` from the start of the interpreter to its end. The second is a check of iris in a process that has
checked it once, with another seed. Columns of the table: median and range, in seconds of the clock.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .arguments import arguments
from .pages import markdown
from .timing import in_turns

SECOND = """
import time
import bayesnb
iris = bayesnb.datasets.load("iris")
bayesnb.GaussianNB().check(iris.X, iris.y)
start = time.perf_counter()
bayesnb.GaussianNB().check(iris.X, iris.y, seed=1)
print(time.perf_counter() - start)
"""


def environment() -> dict[str, str]:
    """Variables of a fresh process, which finds nothing compiled."""
    return {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}


def seconds_of_command(*words: str | Path) -> float:
    """Seconds of a command of bayesnb, such as the words check iris, in a process of its own."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "bayesnb", *words], env=environment(), check=True, capture_output=True)
    return time.perf_counter() - start


def seconds_of_second_check() -> float:
    """Seconds of the second check of one shape in a process."""
    done = subprocess.run([sys.executable, "-c", SECOND], env=environment(), check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    settings = arguments(__doc__, repeats=3)
    calls: dict[str, Callable[[], float]] = {}
    for name in ("breast_cancer", "iris"):
        calls[f"bayesnb check {name}"] = partial(seconds_of_command, "check", name)
    calls["a second check of iris"] = seconds_of_second_check
    print(markdown(["", "median", "range"], in_turns(calls, settings.repeats)))


if __name__ == "__main__":
    main()
