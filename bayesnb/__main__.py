"""The command `bayesnb`, and `python -m bayesnb`."""

import sys

from ._interrupted import watch


def main() -> int:
    """Run the command line and return its exit code."""
    watch()
    from .cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
