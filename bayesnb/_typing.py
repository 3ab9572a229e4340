"""The array types of the annotations: shapes are written with jaxtyping and checked while the tests run.

Whoever wants the types checked as well as the shapes imports JAX first, as the tests do: it is not imported for the
annotations.
"""

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from jax import Array as JaxArray

    # A formula that serves NumPy and JAX alike has no static type but Any; types and shapes are checked at run time.
    Array: TypeAlias = Any
    Value: TypeAlias = Any
    Sparse: TypeAlias = Any
    Scalar: TypeAlias = Any
else:
    import numpy as np
    from scipy import sparse

    JaxArray: TypeAlias = getattr(sys.modules.get("jax"), "Array", Any)
    Array: TypeAlias = JaxArray | np.ndarray if JaxArray is not Any else Any
    Value: TypeAlias = Array | np.floating[Any]  # where an array of no axes may come out as one of NumPy's scalars
    Sparse: TypeAlias = sparse.sparray | sparse.spmatrix
    Scalar: TypeAlias = float | int | np.number[Any]

Theta: TypeAlias = dict[str, Array]  # parameters of one block by name
