"""Dirichlet complement against the rule of Rennie et al., and as what it is: multinomials of the other classes."""

import numpy as np
from scipy import sparse

from bayesnb.families import DirichletComplement
from bayesnb.sums.statistics import one_hot

from ..laws import FAMILIES, case
from .test_multinomial import check

FAMILY = next(f for f in FAMILIES if f.name == "complement")


def test_textbook_page() -> None:
    this = case(FAMILY)
    check(this.block, this.x, this.y, rtol=1e-10, others=True)


def test_a_complement_without_rows_stays_exactly_the_prior() -> None:
    """One class has no others; and what the others never had is not the rounding of what the class has."""
    prior = DirichletComplement(np.full((1, 3), 0.5))
    x = np.array([[3.0, 0.0, 1.0]])
    stats = prior.suffstats(x, np.ones((1, 1)))
    assert (stats.n == 0).all()
    assert prior.log_marginal(stats).item() == 0
    assert (prior.log_predictive(x) == 0).all()
    three = DirichletComplement(np.full((3, 2), 1e-12))
    rows = sparse.csr_array(np.array([[0.1, 0.0], [0.0, 0.3], [0.2, 0.7]]))
    found = three.suffstats(rows, one_hot(np.array([1, 0, 1]), 3)).n
    np.testing.assert_array_equal(found[1], [0, 0.3])
