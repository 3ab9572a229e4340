"""The command `bayesnb`, and `python -m bayesnb`."""

import os
import sys
from contextlib import suppress


def main() -> int:
    """Run the command line and return its exit code; an interrupt while it is imported is one line, too."""
    try:
        from .cli import main as run

        code = run()
    except KeyboardInterrupt:
        print("bayesnb: interrupted", file=sys.stderr)
        code = 130
    if code == 130:  # XLA may still compile in threads of its own, which would crash as the interpreter is taken down
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
