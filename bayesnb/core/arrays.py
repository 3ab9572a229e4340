"""The types of the annotations: shapes are written with jaxtyping and checked while the tests run.

Where JAX is not imported they say nothing: shapes that nobody checks would take longer to make than the classes that
have them. Whoever wants them checked imports JAX first, as the tests do.
"""

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

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
    # A formula that serves NumPy and JAX alike has no static type but Any; types and shapes are checked at run time.
    Array: TypeAlias = Any
    Value: TypeAlias = Any
    Sparse: TypeAlias = Any
    Scalar: TypeAlias = Any
else:
    import numpy as np
    from scipy import sparse

    Array: TypeAlias = JaxArray | np.ndarray
    Value: TypeAlias = Array | np.floating[Any]  # where an array of no axes may come out as one of NumPy's scalars
    Sparse: TypeAlias = sparse.sparray | sparse.spmatrix
    Scalar: TypeAlias = float | int | np.number[Any]

Theta: TypeAlias = dict[str, Array]  # parameters of one block by name
