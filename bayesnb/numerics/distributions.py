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
    """An argument of a NumPyro distribution as an array, which has the shape that `expand` gives the distribution.

    Parameters
    ----------
    value : the distribution
    name : such as "concentration"
    """
    inner = _unwrapped(value)  # without `expand` and `to_event`, so that the argument has its own shape
    array = np.asarray(getattr(inner, name))
    if inner is value:
        return array

    # A distribution has axes of independent draws, and then those of one draw: none of a gamma, one of a Dirichlet.
    # `Gamma(2.0, 1.0).expand([3, 4])` has the independent axes (3, 4), and its concentration 2.0 becomes (3, 4).
    n_event_axes = len(inner.event_shape)
    full_shape = (*value.batch_shape, *value.event_shape)
    independent_shape = full_shape[: len(full_shape) - n_event_axes]

    # Last come the axes of one draw that the argument has: k concentrations of a Dirichlet, (k,); none of a number.
    n_own_axes = min(n_event_axes, array.ndim)
    own_shape = array.shape[array.ndim - n_own_axes :]
    return np.broadcast_to(array, independent_shape + own_shape)


def alike(a: Any, b: Any) -> bool:
    """Whether two NumPyro distributions are of one class with equal arguments, `expand` and `to_event` included."""
    import jax

    # a distribution is a pytree: its arguments are the leaves, and its class and shapes the structure
    leaves_a, structure_a = jax.tree.flatten(a)
    leaves_b, structure_b = jax.tree.flatten(b)
    return structure_a == structure_b and all(map(np.array_equal, leaves_a, leaves_b))


def describe(value: Any) -> str:
    """A distribution as it is written: `Gamma(concentration=2, rate=1)`."""
    name, arguments = _canonical(value)  # "Gamma" and [("concentration", array), …], without `expand` and `to_event`
    texts = []
    with np.printoptions(threshold=8, edgeitems=2, precision=4):  # long arrays are shortened
        for key, x in arguments:
            # a single number is written briefly, 2 and not array(2.); an array as a list
            is_number = x.ndim == 0 and x.dtype.kind in "biuf"
            text = f"{x.item():g}" if is_number else np.array2string(x, separator=", ")
            texts.append(f"{key}={text}")
    return " ".join(f"{name}({', '.join(texts)})".split())  # on one line: line breaks of arrays become spaces


def encode(value: Any) -> list[Any]:
    """Name and arguments of a distribution, for a file; ValueError where numbers do not tell all."""
    name, arguments = _canonical(value)  # "Gamma" and [("concentration", array), …], without `expand` and `to_event`

    # it can be made again if NumPyro has its class under this name, and all arguments are numbers
    is_public = getattr(sys.modules["numpyro.distributions"], name, None) is type(_unwrapped(value))
    if not is_public or any(x.dtype.kind not in "biuf" for _, x in arguments):
        raise ValueError(f"a file cannot hold a {name} that is built from another distribution")
    return [name, {key: x.item() if x.ndim == 0 else x for key, x in arguments}]


def decode(name: Any, arguments: Any) -> Any:
    """The NumPyro distribution that `encode` described, from its name and arguments.

    A file may say anything, so the name must be that of a public distribution, and the arguments must be among its own.
    """
    import numpyro.distributions as dist

    # the class of this name, if NumPyro has one that is public; `arg_constraints` has the names of its arguments
    kind: Any = getattr(dist, name, None) if name in dist.__all__ else None
    is_distribution_class = isinstance(kind, type) and issubclass(kind, dist.Distribution)
    if not is_distribution_class or not set(arguments) <= {*kind.arg_constraints}:
        raise ValueError(f"a distribution {name!r} with such arguments")
    return kind(**arguments)


def _unwrapped(value: Any) -> Any:
    """The distribution inside of `expand` and `to_event`."""
    while type(value).__name__ in _WRAPPERS:
        value = value.base_dist
    return value


def _canonical(value: Any) -> tuple[str, list[tuple[str, np.ndarray]]]:
    """Class name of a distribution without `expand` and `to_event`, and its arguments by name, as arrays."""
    inner = _unwrapped(value)
    return type(inner).__name__, [(key, argument(value, key)) for key in inner.get_args()]
