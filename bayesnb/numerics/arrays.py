"""The types of the annotations: shapes are written with jaxtyping and checked while the tests run.

Where JAX is not imported they say nothing: shapes that nobody checks would take longer to make than the classes that
have them. Whoever wants them checked imports JAX first, as the tests do. The type checker reads every formula as one of
NumPy's arrays. JAX's arrays have the same methods.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

if TYPE_CHECKING or "jax" in sys.modules:
    from jax import Array as JaxArray
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Real as Real
    from jaxtyping import Shaped as Shaped
else:
    JaxArray: TypeAlias = Any

    class Shaped:
        """`Shaped[Array, "n d"]` and its kin, which say nothing here."""

        def __class_getitem__(cls, item: Any) -> Any:
            return Any

    Bool = Float = Int = Real = Shaped

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray
    Value: TypeAlias = np.ndarray
    Scalar: TypeAlias = float
    Sparse: TypeAlias = Any  # SciPy ships no types

    def is_sparse(x: object) -> TypeGuard[Sparse]:
        """Whether an object is a matrix of scipy.sparse."""

    class Namespace(ModuleType):
        """What NumPy and jax.numpy have in common: functions that make arrays."""

        inf: float
        nan: float
        finfo: type[np.finfo[Any]]
        linalg: "Namespace"

        def __getattr__(self, name: str) -> Callable[..., np.ndarray]: ...
else:
    Array: TypeAlias = JaxArray | np.ndarray
    Value: TypeAlias = Array | np.floating[Any]  # where an array of no axes may come out as one of NumPy's scalars
    Sparse: TypeAlias = sparse.sparray | sparse.spmatrix
    Scalar: TypeAlias = float | int | np.number[Any]
    Namespace: TypeAlias = ModuleType
    is_sparse = sparse.issparse


Theta: TypeAlias = dict[str, Array]  # parameters of one block by name
Data: TypeAlias = Real[Array, "n d"] | Sparse  # rows, cells by column
Weights: TypeAlias = Float[Array, "n c"] | Sparse  # r_ic, the weight that row i has in class c
PerRow: TypeAlias = Float[Array, " n"]  # a number for each row
Table: TypeAlias = Float[Array, "n c"]  # a number for each row and class
Tables: TypeAlias = Float[Array, "*s n c"]  # a table for each draw
