"""What becomes of an interrupt in the first moments of the command line.

    python -m tests.benchmarks.interrupts [--times 30] [--seconds 0.3]

`bayesnb check iris` is started as pip's script starts it, and interrupted once, at times spread evenly over the first
seconds. The counts say how it ended: with exit code 130 and one line, with a traceback, or silently by the signal. A
traceback is told by the last line of code in it.
"""

import argparse
import collections
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = "import re, sys; from bayesnb.__main__ import main; sys.argv = ['bayesnb', 'check', 'iris']; sys.exit(main())"


def outcome(delay: float) -> str:
    """How the command ends that is interrupted after so many seconds."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        err = process.communicate()[1]
    if process.returncode == 130 and err == "bayesnb: interrupted\n":
        return "exit code 130 and one line"
    places = [line.split('"')[1].split("/")[-1] for line in err.splitlines() if 'File "' in line]
    return f"a traceback, last in {places[-1]}" if places else f"ended by the signal (code {process.returncode})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.3)
    given = parser.parse_args()
    delays = [given.seconds * (i + 0.5) / given.times for i in range(given.times)]
    found = [outcome(delay) for delay in delays]
    for how, count in collections.Counter(found).most_common():
        print(f"{count:4}  {how}")
    late = [delay for delay, how in zip(delays, found, strict=True) if "130" not in how]
    print(f"after {max(late, default=0):.3f} s all ended with 130")


if __name__ == "__main__":
    main()
