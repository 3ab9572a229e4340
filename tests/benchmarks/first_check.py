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

import numpy as np

from .arguments import arguments
from .pages import markdown

SECOND = """
import time
import bayesnb
iris = bayesnb.datasets.load("iris")
bayesnb.GaussianNB().check(iris.X, iris.y)
start = time.perf_counter()
bayesnb.GaussianNB().check(iris.X, iris.y, seed=1)
print(time.perf_counter() - start)
"""
FIRST = {name: [sys.executable, "-m", "bayesnb", "check", name] for name in ("breast_cancer", "iris")}


def environment() -> dict[str, str]:
    """Variables of a fresh process, which finds nothing compiled."""
    return {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}


def seconds_of_command(command: list[str]) -> float:
    """Seconds of a command in a process of its own."""
    start = time.perf_counter()
    subprocess.run(command, env=environment(), check=True, capture_output=True)
    return time.perf_counter() - start


def seconds_of_second_check() -> float:
    """Seconds of the second check of one shape in a process."""
    done = subprocess.run([sys.executable, "-c", SECOND], env=environment(), check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    settings = arguments(__doc__, repeats=3)
    times: dict[str, list[float]] = {}
    for _ in range(settings.repeats):  # in turns, so that a busy moment falls on all
        for name, command in FIRST.items():
            times.setdefault(f"bayesnb check {name}", []).append(seconds_of_command(command))
        times.setdefault("a second check of iris", []).append(seconds_of_second_check())
    rows = [
        [what, f"{np.median(seconds):.1f}", f"{min(seconds):.1f} to {max(seconds):.1f}"]
        for what, seconds in times.items()
    ]
    print(markdown(["", "median", "range"], rows))


if __name__ == "__main__":
    main()
