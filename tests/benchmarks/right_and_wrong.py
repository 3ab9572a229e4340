"""How often the check condemns a right model of levels, and finds a prior that is wrong: `docs/check.md`.

    python -m tests.benchmarks.right_and_wrong --models 0    # the table of docs/check.md, four minutes
    python -m tests.benchmarks.right_and_wrong               # 300 right models besides, half an hour

Right models are checked whole, on 5 to 100 rows of three columns. A wrong prior is one of NumPyro's model: its
pseudo-count is 1.3 times as large as that of the formulas, in all of thirty columns or in one of them, on 100 rows. As
nothing else is wrong there, only rows 1 to 4 run.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import numpy as np

from bayesnb import CategoricalNB
from bayesnb.check import check
from bayesnb.check.laws import Problem
from bayesnb.check.report import CheckReport
from bayesnb.models.naive_bayes import NaiveBayes
from bayesnb.posterior.chains import Twin
from tests.benchmarks.arguments import arguments
from tests.benchmarks.pages import markdown

PSEUDO_COUNTS = (1e-3, 0.01, 0.05, 1.0)
SIZES = (5, 20, 100)
LEVELS = 3
COLUMNS = 30
WRONG_COLUMN = 7
FACTOR = 1.3
FORMULAS = ("closed_rows", "drawn_rows")  # rows 5 to 11


def table(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of levels that say nothing of their label."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, LEVELS, (n, d)), np.arange(n) % 2


# --- right models ---------------------------------------------------------------------------------------------------


def false_alarms(n_models: int) -> list[list[str]]:
    """Of each pseudo-count and number of rows: models, how many of them fail, and by which rows."""
    lines = []
    for alpha in PSEUDO_COUNTS:
        for n in SIZES:
            failed: Counter[str] = Counter()
            seeds = range(n_models // (len(PSEUDO_COUNTS) * len(SIZES)))
            n_failed = 0
            for seed in seeds:
                X, y = table(n, 3, seed)
                report = CategoricalNB(alpha=alpha, min_categories=LEVELS).check(X, y, seed)
                wrong_rows = [row for row in report.rows if not row.passed]
                for row in wrong_rows:
                    print(f"α = {alpha:g}, {n} rows, seed {seed}: {row}", file=sys.stderr, flush=True)
                failed.update(row.name.split()[0] for row in wrong_rows)
                n_failed += not report.passed
            by_row = ", ".join(f"{name}: {count}" for name, count in sorted(failed.items()))
            lines.append([f"{alpha:g}", f"{n}", f"{len(seeds)}", f"{n_failed}", by_row])
            print("  ".join(lines[-1]), flush=True)
    return lines


# --- a wrong prior ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def wrong_prior(columns: list[str]) -> Iterator[None]:
    """NumPyro's model with another pseudo-count in the columns of these names."""

    def twin(problem: Problem) -> Twin:
        names = problem.names or [f"column {j}" for j in range(COLUMNS)]
        factor = np.where(np.isin(names, columns), FACTOR, 1.0)[:, None]
        blocks = {name: replace(block, alpha=block.alpha * factor) for name, block in problem.prior.blocks.items()}
        return Twin(NaiveBayes.model, (NaiveBayes(problem.prior.classes, blocks), problem.rows, problem.y))

    with mock.patch.object(Problem, "twin", property(twin)):
        yield


def check_numpyro(alpha: float, seed: int) -> CheckReport:
    """Rows 1 to 4 of the check."""
    X, y = table(100, COLUMNS, seed)
    with contextlib.ExitStack() as stack:
        for name in FORMULAS:
            stack.enter_context(mock.patch.object(check, name, lambda *_: []))
        return CategoricalNB(alpha=alpha, min_categories=LEVELS).check(X, y, seed)


def found(alpha: float, columns: list[str], repeats: int) -> list[str]:
    """The shares of repeats in which the check, and each of its rows, finds the wrong prior."""
    with wrong_prior(columns):
        reports = [check_numpyro(alpha, seed) for seed in range(repeats)]
    shares = [np.mean([not report.passed for report in reports])]
    shares += [np.mean([not report.rows[k].passed for report in reports]) for k in range(5)]
    return [f"{share:.0%}" for share in shares]


def main() -> None:
    """Print both tables."""
    given = arguments(__doc__, models=300, repeats=10, pseudo_counts=(0.05, 1.0))
    places = {"all thirty": [f"column {j}" for j in range(COLUMNS)], "one of thirty": [f"column {WRONG_COLUMN}"]}
    lines = []
    for alpha in given.pseudo_counts:
        for place, columns in places.items():
            lines.append([f"{alpha:g}", place, f"{given.repeats}", *found(alpha, columns, given.repeats)])
            print("  ".join(lines[-1]), flush=True)
    print(f"\n{markdown(['α', 'wrong columns', 'repeats', 'check', 'row 1', '2', '3a', '3b', '4'], lines)}")
    if given.models:
        print(markdown(["α", "rows", "models", "condemned", "by row"], false_alarms(given.models)))


if __name__ == "__main__":
    main()
