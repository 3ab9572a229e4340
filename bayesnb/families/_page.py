"""What the pages of the families are written with: each name says more in the module that it comes from."""
# ruff: noqa: F401

from ..numerics.arrays import Array, Data, Float, Int, Real, Sparse, Table, Tables, Theta, Value, Weights, is_sparse
from ..numerics.densities import log_failure, log_probabilities
from ..numerics.pytrees import pytree
from ..numerics.random import Key, inverse_gamma, log_dirichlet, log_gamma, normal, split
from ..numerics.special import LOG_2PI, digamma, gammaln, log1p, log_beta, log_floor, log_rising, namespace, tetragamma
from ..numerics.special import trigamma as trigamma
from ..numerics.supports import AMOUNT, COUNT, DEGREES, POSITIVE_DEFINITE, REAL, SIMPLEX, Cells, Field, declare
from ..sums.rows import contract, sum_over_features
from ..sums.statistics import Counts, Moments, Totals
from .base import AbstractConjugate, as_jax, n_rows, observed
from .conjugate import CellStatistics, Conjugate
