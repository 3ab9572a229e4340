"""What the pages of the families are written with: each name says more in the module that it comes from."""
# ruff: noqa: F401

from ..base import AbstractConjugate, as_jax, n_rows, observed
from ..conjugate import CellStatistics, Conjugate
from ..core.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Value, Weights, is_sparse
from ..core.densities import log_failure, log_probabilities
from ..core.pytrees import pytree
from ..core.random import Key, inverse_gamma, log_dirichlet, log_gamma, normal, split
from ..core.special import LOG_2PI, digamma, gammaln, log1p, log_beta, log_floor, log_rising, namespace, tetragamma
from ..core.special import trigamma as trigamma
from ..core.supports import AMOUNT, COUNT, DEGREES, POSITIVE_DEFINITE, REAL, SIMPLEX, Cells, Field, declare
from ..statistics import Counts, Moments, Totals
from ..sums.rows import contract, sum_over_features
