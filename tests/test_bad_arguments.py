"""Every argument of every public method, given a bad value: a TypeError or ValueError that names the argument.

Methods are taken from their classes, so a new method or argument is tried without a line here. A user has no type
checks; so the calls are made in a process without those of the tests.
"""

import subprocess
import sys
from pathlib import Path

SWEEP = Path(__file__).with_name("bad_arguments.py")


def test_an_argument_of_a_wrong_type_or_size_is_named() -> None:
    finished = subprocess.run([sys.executable, str(SWEEP)], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
