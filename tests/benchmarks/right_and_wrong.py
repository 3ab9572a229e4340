"""How often the check condemns a right model of levels, and finds a prior that is wrong: `docs/check.md`.

    python -m tests.benchmarks.right_and_wrong --models 0    # the table of docs/check.md, ten minutes
    python -m tests.benchmarks.right_and_wrong               # 300 right models besides, half an hour

Right models are checked whole, on 5 to 100 rows of three columns. A wrong prior is one of NumPyro's model: of levels
its pseudo-count is 1.3 times that of the formulas; of numbers its prior scale of the standard deviations is 10 % too
large. It is wrong in all of thirty columns, in one of them, or in one class, on 100 rows. As nothing else is wrong
there, only rows 1 to 4 run.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from bayesnb import CategoricalNB, GaussianNB
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
SCALE = 1.1
FORMULAS = ("closed_rows", "drawn_rows")  # rows 5 to 11


def table(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of levels that say nothing of their label."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, LEVELS, (n, d)), np.arange(n) % 2


# --- right models ---------------------------------------------------------------------------------------------------


def false_alarms(n_models: int) -> list[list[str]]:
    """Of each pseudo-count and number of rows: models, how many of them fail, and by which rows."""
    lines = []
    first_seed = 0
    for alpha in PSEUDO_COUNTS:
        for n in SIZES:
            failed: Counter[str] = Counter()
            seeds = range(first_seed, first_seed + n_models // (len(PSEUDO_COUNTS) * len(SIZES)))
            first_seed = seeds.stop  # no two settings share their random numbers
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


@dataclass(frozen=True)
class WrongPrior:
    """A prior of NumPyro's model that is not that of the formulas.

    Fields
    ------
    name : what is wrong
    estimator : the model with the right prior
    field : the field of the family that is wrong, whose first axes are the class and the column
    factor : what it is multiplied by
    """

    name: str
    estimator: Any
    field: str
    factor: float

    def table(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """100 rows of thirty columns that say nothing of their label."""
        levels, y = table(100, COLUMNS, seed)
        if isinstance(self.estimator, CategoricalNB):
            return levels, y
        return np.random.default_rng(seed).normal(size=levels.shape), y


def wrong_priors() -> list[WrongPrior]:
    """A pseudo-count that is 1.3 times too large, and a scale that is 10 % too large."""
    errors = []
    for alpha in (0.05, 1.0):
        levels = CategoricalNB(alpha=alpha, min_categories=LEVELS)
        errors.append(WrongPrior(f"α = {alpha:g}, times {FACTOR:g}", levels, "alpha", FACTOR))
    # b of an inverse gamma prior of the variance is proportional to the square of the standard deviation's scale
    errors.append(WrongPrior(f"scale, times {SCALE:g}", GaussianNB(), "b", SCALE**2))
    return errors


ALL_COLUMNS, ONE_COLUMN, ONE_CLASS = "all thirty columns", "one of thirty columns", "one class of two"


@contextlib.contextmanager
def wrong_twin(error: WrongPrior, place: str) -> Iterator[None]:
    """NumPyro's model with the wrong prior in a place; the columns that the chains take keep their names."""

    def twin(problem: Problem) -> Twin:
        names = problem.names or [f"column {j}" for j in range(COLUMNS)]
        is_wrong = np.ones((2, len(names)), bool)  # by class and column
        if place == ONE_COLUMN:
            is_wrong[:, [name != f"column {WRONG_COLUMN}" for name in names]] = False
        elif place == ONE_CLASS:
            is_wrong[0] = False

        blocks = {}
        for name, block in problem.prior.blocks.items():
            right = np.broadcast_to(getattr(block, error.field), (*is_wrong.shape, *_more_axes(block, error.field)))
            more = (np.newaxis,) * (right.ndim - 2)
            factor = np.where(is_wrong, error.factor, 1.0)[(..., *more)]
            blocks[name] = replace(block, **{error.field: right * factor})
        return Twin(NaiveBayes.model, (NaiveBayes(problem.prior.classes, blocks), problem.rows, problem.y))

    with mock.patch.object(Problem, "twin", property(twin)):
        yield


def _more_axes(block: Any, field: str) -> tuple[int, ...]:
    """Lengths of the axes of a field after the class and the column, such as the levels."""
    return np.shape(getattr(block, field))[2:]


def check_numpyro(error: WrongPrior, place: str, seed: int) -> CheckReport:
    """Rows 1 to 4 of the check, against NumPyro's model with a wrong prior."""
    X, y = error.table(seed)
    with contextlib.ExitStack() as stack:
        stack.enter_context(wrong_twin(error, place))
        for name in FORMULAS:
            stack.enter_context(mock.patch.object(check, name, lambda *_: []))
        return error.estimator.check(X, y, seed)


def found(error: WrongPrior, place: str, repeats: int) -> list[str]:
    """The shares of repeats in which the check, and each of its rows 1 to 4, finds the wrong prior."""
    reports = [check_numpyro(error, place, seed) for seed in range(repeats)]
    shares = [np.mean([not report.passed for report in reports])]
    shares += [np.mean([not report.rows[k].passed for report in reports]) for k in range(5)]
    return [f"{share:.0%}" for share in shares]


def main() -> None:
    """Print both tables."""
    given = arguments(__doc__, models=300, repeats=10)
    lines = []
    for error in wrong_priors() if given.repeats else []:
        for place in (ALL_COLUMNS, ONE_COLUMN, ONE_CLASS):
            lines.append([error.name, place, f"{given.repeats}", *found(error, place, given.repeats)])
            print("  ".join(lines[-1]), flush=True)
    print(f"\n{markdown(['wrong', 'where', 'repeats', 'check', 'row 1', '2', '3a', '3b', '4'], lines)}")
    if given.models:
        print(markdown(["α", "rows", "models", "condemned", "by row"], false_alarms(given.models)))


if __name__ == "__main__":
    main()
