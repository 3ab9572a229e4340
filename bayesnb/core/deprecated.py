"""The warning of names that go: for two minor versions they work as before."""

import warnings


def warn_deprecated(name: str, use: str, gone: str) -> None:
    """Warn the caller of a deprecated function with a FutureWarning.

    Parameters
    ----------
    name : of the function that calls this one
    use : what to write in its place
    gone : the version that no longer has it
    """
    warnings.warn(f"`{name}` is deprecated and bayesnb {gone} removes it; use {use}", FutureWarning, stacklevel=3)
