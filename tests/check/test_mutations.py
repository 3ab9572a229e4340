"""No sabotage survives the check: of the table that `python -m tests.benchmarks.mutations` prints whole.

All mutations of two families are tried here, and of the others a third each: another third for the next family.
"""

import numpy as np
import pytest

from bayesnb.check import draws
from bayesnb.check.laws import limit_of
from bayesnb.families import DirichletClasses
from tests.benchmarks.mutations import DRAWN, _is_idle, mutations, problem, rows_that_find
from tests.laws import FAMILIES, Family

from ..estimators_table import mostly_slow, these

WHOLE = ("gaussian", "categorical")
BY_NAME = {family.name: family for family in FAMILIES}


@pytest.mark.parametrize("method", mostly_slow(["log_likelihood", "log_cumulants", "mle", "marginals"], these("mle")))
def test_one_part_in_a_million_is_found(method: str) -> None:
    this = problem(BY_NAME["poisson"])
    found = [one for one in mutations(type(this.prior.blocks["x"]), BY_NAME["poisson"]) if one.method == method]
    assert found and all(rows_that_find(one, this) for one in found)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_mutation_of_a_family_survives(family: Family) -> None:
    this = problem(family)
    assert not rows_that_find(None, this)  # and without one all rows pass
    found = [one for one in mutations(type(this.prior.blocks["x"]), family) if not _is_idle(one, this)]
    assert len(found) > 15
    chosen = found if family.name in WHOLE else found[FAMILIES.index(family) % 3 :: 3]
    assert [one.name for one in chosen if not rows_that_find(one, this)] == []


@pytest.mark.slow
def test_no_mutation_of_the_class_probabilities_survives() -> None:
    this = problem(BY_NAME["bernoulli"])
    assert [one.name for one in mutations(DirichletClasses) if not rows_that_find(one, this)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "poisson", "exponential"])
def test_a_spread_one_per_cent_too_narrow_is_found_with_probability_999_in_1000(name: str) -> None:
    """The statistic is normal with standard deviation 1 about its mean, which lies 3.1 beyond the limit at least."""
    this = problem(BY_NAME[name])
    block = this.posterior.blocks["x"]
    for mutation in (one for one in mutations(type(block), BY_NAME[name]) if one.method in DRAWN and ".99" in one.name):
        test = draws.parameters if mutation.method == "sample" else draws.new_rows
        with mutation.applied():
            found = [test(block, np.random.default_rng(seed)) for seed in range(4)]
        limit = limit_of(sum(z.size for _, z in found[0]), 0.002)
        assert np.mean([max(abs(z).max() for _, z in some) for some in found]) > limit + 3.1, mutation.name
