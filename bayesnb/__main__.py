"""The command `bayesnb`, and `python -m bayesnb`."""

import sys


def main() -> int:
    """Run the command line and return its exit code; an interrupt while it is imported is one line, too."""
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt:
        print("bayesnb: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
