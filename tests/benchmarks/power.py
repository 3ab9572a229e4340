"""How often each row of the check finds the five errors of an independent statistician, by rows and by draws.

    python -m tests.benchmarks.power            # the tables of docs/check.md, some minutes
    python -m tests.benchmarks.power --repeats 2 --rows 10 100 --draws 1000   # a minute

A Gaussian model of three classes and three columns, new rows and a new prior in every repeat. The draws that NumPyro's
chains would give are exact draws, which a right chain gives as well; so nothing is compiled.
"""

from collections.abc import Callable
from unittest import mock

import numpy as np

from bayesnb.check import against_numpyro, draws
from bayesnb.check.laws import closed_rows, limit_of
from bayesnb.families import NormalInverseGamma
from tests.benchmarks.arguments import arguments
from tests.benchmarks.mutations import RATE, Mutation, mutations, problem
from tests.benchmarks.pages import markdown
from tests.laws import FAMILIES

GAUSSIAN = next(family for family in FAMILIES if family.name == "gaussian")
ERRORS = [one for one in mutations(NormalInverseGamma, GAUSSIAN) if "1e-6" not in one.name and ".99" not in one.name]
CHAINS, LENGTH, SHORT = 4, 1000, against_numpyro._SHORT_CHAINS
KINDS = ("exact (5 to 9)", "3a", "3b", "4", "10 and 11")


def found_by(error: Mutation, n: int, seed: int) -> dict[str, bool]:
    """Which rows of the check fail under an error, on n rows."""
    this = problem(GAUSSIAN, n, seed)
    rng = np.random.default_rng(seed)
    chain, ends = (this.posterior.to_sites(this.posterior.sample(rng, size)) for size in ((CHAINS, LENGTH), (SHORT,)))
    new = {"x": problem(GAUSSIAN, 100, seed + 1).rows["x"]}
    thinned = against_numpyro.thin(this.prior, new, rng)

    def short_chains() -> bool:
        ended = {"start_points": lambda *_, **__: ({}, {}), "run_short_chains": lambda *_, **__: ends}
        with mock.patch.multiple(against_numpyro, **ended):
            return against_numpyro.short_chains_row(this, rng, RATE).passed

    rows: dict[str, Callable[[], bool]] = {
        "exact (5 to 9)": lambda: all(row.passed for row in closed_rows(this, this, rng)),
        "3a": short_chains,
        "3b": lambda: against_numpyro.nuts_row(this, chain, RATE).passed,
        "4": lambda: against_numpyro.prediction_row(this, chain, thinned, RATE).passed,
        "10 and 11": lambda: all(row.passed for row in draws.drawn_rows(this, rng, RATE)),
    }
    with error.applied():
        return {kind: not row() for kind, row in rows.items()}


def found_in_draws(error: Mutation, n: int, seed: int, size: int) -> bool:
    """Whether row 10 finds an error of `sample` in so many draws."""
    block = problem(GAUSSIAN, n, seed).posterior.blocks["x"]
    with error.applied():
        found = draws.parameters(block, np.random.default_rng(seed), size)
    return max(abs(z).max() for _, z in found) > limit_of(sum(z.size for _, z in found), RATE)


def main() -> None:
    """Print both tables."""
    draws_each = (10, 100, 1000, 10_000, 200_000)
    given = arguments(__doc__, repeats=10, rows=(10, 30, 100, 300, 1000), draws=draws_each)
    rows = []
    for error in ERRORS:
        for n in given.rows:
            found = [found_by(error, n, seed) for seed in range(given.repeats)]
            rows.append([error.name, f"{n}", *(f"{np.mean([one[k] for one in found]):.0%}" for k in KINDS)])
    print(markdown(["sabotaged", "rows", *KINDS], rows))
    error, rows = next(one for one in ERRORS if one.method == "sample"), []
    for n in given.rows:
        by_draws = [[found_in_draws(error, n, k, size) for k in range(given.repeats)] for size in given.draws]
        rows.append([f"{n}", *(f"{np.mean(found):.0%}" for found in by_draws)])
    print("\n" + markdown(["rows", *(f"{size:,} draws" for size in given.draws)], rows))


if __name__ == "__main__":
    main()
