"""The array types of the annotations: shapes are written with jaxtyping and checked while the tests run."""

from typing import Any, TypeAlias

import jax
import numpy as np
from scipy import sparse

Array: TypeAlias = jax.Array | np.ndarray
Scalar: TypeAlias = float | int | np.number[Any]
Sparse: TypeAlias = sparse.sparray | sparse.spmatrix
Theta: TypeAlias = dict[str, Array]  # parameters of one block by name
