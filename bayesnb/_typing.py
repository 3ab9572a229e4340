"""The array types of the annotations: shapes are written with jaxtyping and checked while the tests run."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    # A formula that serves NumPy and JAX alike has no static type but Any; types and shapes are checked at run time.
    Array: TypeAlias = Any
    Value: TypeAlias = Any
    Sparse: TypeAlias = Any
    Scalar: TypeAlias = Any
else:
    import jax
    import numpy as np
    from scipy import sparse

    Array: TypeAlias = jax.Array | np.ndarray
    Value: TypeAlias = Array | np.floating[Any]  # where an array of no axes may come out as one of NumPy's scalars
    Sparse: TypeAlias = sparse.sparray | sparse.spmatrix
    Scalar: TypeAlias = float | int | np.number[Any]

Theta: TypeAlias = dict[str, Array]  # parameters of one block by name
