"""The type checker of `--jaxtyping-packages=bayesnb,tests.typecheck.check`: beartype, and two things it cannot know."""

import functools
from collections.abc import Callable, Hashable
from typing import Any, Self

import numpy as np
from beartype import beartype

known: dict[Hashable, Callable[..., Any]] = {}


def check(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its annotations checked at every call.

    `Self` is not checked: beartype knows it in decorated classes, jaxtyping decorates method by method. The fields of
    a dataclass are checked where all are NumPy arrays: JAX rebuilds pytrees through `__init__` with sentinels, shape
    structures and batches in the fields, which the annotations rightly do not allow. Estimators take anything in
    `__init__` and complain in `fit`, as scikit-learn asks of them.
    """
    if function.__name__ == "__init__" and function.__module__.startswith("bayesnb.estimators"):
        return function
    function.__annotations__ = {k: Any if hint is Self else hint for k, hint in function.__annotations__.items()}
    # Functions within functions come anew with every call of the outer one; making their checks takes milliseconds.
    what = function.__module__, function.__qualname__, function.__code__, tuple(function.__annotations__.items())
    checked = known.get(what) or known.setdefault(what, beartype(function))
    if function.__name__ != "__init__":
        return checked

    @functools.wraps(function)
    def init(self: Any, *args: Any, **kwargs: Any) -> Any:
        on_host = all(isinstance(value, np.ndarray) for value in (*args, *kwargs.values()))
        return (checked if on_host else function)(self, *args, **kwargs)

    return init
