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
    from typing import Protocol

    import numpy as np

    class HostOrDevice(Protocol):
        """What NumPy's and JAX's arrays have in common: what methods of the contract take and return."""

        def __len__(self) -> int: ...
        def __array__(self) -> np.ndarray: ...
        def __float__(self) -> float: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __add__(self, other: Any, /) -> Any: ...
        def __radd__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __rsub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __rmul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __rtruediv__(self, other: Any, /) -> Any: ...
        def __pow__(self, other: Any, /) -> Any: ...
        def __matmul__(self, other: Any, /) -> Any: ...
        def __lt__(self, other: Any, /) -> Any: ...
        def __le__(self, other: Any, /) -> Any: ...
        def __gt__(self, other: Any, /) -> Any: ...
        def __ge__(self, other: Any, /) -> Any: ...
        def __and__(self, other: Any, /) -> Any: ...
        def __or__(self, other: Any, /) -> Any: ...
        def __getitem__(self, other: Any, /) -> Any: ...
        @property
        def shape(self) -> tuple[int, ...]: ...  # noqa: D102
        @property
        def ndim(self) -> int: ...  # noqa: D102
        @property
        def size(self) -> int: ...  # noqa: D102
        @property
        def dtype(self) -> Any: ...  # noqa: D102
        @property
        def T(self) -> Any: ...  # noqa: D102
        @property
        def sum(self) -> Any: ...  # noqa: D102
        @property
        def max(self) -> Any: ...  # noqa: D102
        @property
        def min(self) -> Any: ...  # noqa: D102
        @property
        def mean(self) -> Any: ...  # noqa: D102
        @property
        def std(self) -> Any: ...  # noqa: D102
        @property
        def var(self) -> Any: ...  # noqa: D102
        @property
        def any(self) -> Any: ...  # noqa: D102
        @property
        def all(self) -> Any: ...  # noqa: D102
        @property
        def reshape(self) -> Any: ...  # noqa: D102
        @property
        def astype(self) -> Any: ...  # noqa: D102
        @property
        def argmax(self) -> Any: ...  # noqa: D102

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
    HostOrDevice: TypeAlias = Array

Theta: TypeAlias = dict[str, Array]  # parameters of one block by name
