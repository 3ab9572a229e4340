"""NumPyro distributions as arguments: recognised without importing NumPyro, compared, described and kept in files.

Two equal distributions compare unequal in Python. Here they are the same if class and arguments are.
"""

import sys
from typing import Any

import numpy as np

_WRAPPERS = "ExpandedDistribution", "Independent"  # `expand` and `to_event`: the same density in other shapes


def is_distribution(value: Any) -> bool:
    """Whether a value is a distribution of NumPyro; if it is, NumPyro has been imported."""
    numpyro = sys.modules.get("numpyro.distributions")
    return numpyro is not None and isinstance(value, numpyro.Distribution)


def is_a(value: Any, name: str) -> bool:
    """Whether a distribution is of the class of NumPyro with a name, or of a subclass of it."""
    return isinstance(_unwrapped(value), getattr(sys.modules["numpyro.distributions"], name))


def argument(value: Any, name: str) -> np.ndarray:
    """An argument of a distribution as an array, `expand` included."""
    inner = _unwrapped(value)
    array = np.asarray(getattr(inner, name))
    if inner is value:
        return array
    event = len(inner.event_shape)
    batch = (*value.batch_shape, *value.event_shape)
    batch = batch[: len(batch) - event]
    return np.broadcast_to(array, batch + array.shape[array.ndim - min(event, array.ndim) :])


def alike(a: Any, b: Any) -> bool:
    """Whether two values are distributions of one class with equal arguments."""
    (name, arguments, inner), (other, others, within) = _canonical(a), _canonical(b)
    return (
        name == other
        and arguments.keys() == others.keys()
        and all(np.array_equal(x, others[key]) for key, x in arguments.items())
        and (inner is within is None or (inner is not None and within is not None and alike(inner, within)))
    )


def describe(value: Any) -> str:
    """A distribution as it is written: `Gamma(concentration=2, rate=1)`."""
    name, arguments, _ = _canonical(value)
    return f"{name}({', '.join(f'{key}={_brief(x)}' for key, x in arguments.items())})"


def encode(value: Any) -> list[Any]:
    """Name and arguments of a distribution, for a file; ValueError where numbers do not tell all."""
    name, arguments, inner = _canonical(value)
    if inner is not None or any(x.dtype.kind not in "biuf" for x in arguments.values()):
        raise ValueError(f"a file cannot hold {describe(value)}, which is built from another distribution")
    return [name, {key: x.item() if x.ndim == 0 else x for key, x in arguments.items()}]


def decode(name: Any, arguments: Any) -> Any:
    """The distribution that `encode` described."""
    import numpyro.distributions as dist

    kind: Any = getattr(dist, name, None) if name in dist.__all__ else None
    if kind is None or not (isinstance(kind, type) and issubclass(kind, dist.Distribution)):
        raise ValueError(f"a distribution {name!r}")
    if not set(arguments) <= set(getattr(kind, "arg_constraints", {})):
        raise ValueError(f"arguments of {name} that it has not")
    return kind(**arguments)


def _unwrapped(value: Any) -> Any:
    while type(value).__name__ in _WRAPPERS:
        value = value.base_dist
    return value


def _canonical(value: Any) -> tuple[str, dict[str, np.ndarray], Any]:
    """Class name, arguments, and the distribution that it is built of, where the class does not follow from both."""
    inner = _unwrapped(value)
    public = getattr(sys.modules["numpyro.distributions"], type(inner).__name__, None) is type(inner)
    parts = None if public and not type(inner).__name__.startswith("Transformed") else vars(inner).get("base_dist")
    return type(inner).__name__, {key: argument(value, key) for key in inner.get_args()}, parts


def _brief(x: np.ndarray) -> str:
    if x.ndim == 0:
        return f"{x.item():g}" if x.dtype.kind in "biuf" else str(x)
    return " ".join(np.array2string(x, separator=", ", threshold=8, edgeitems=2, precision=4).split())
