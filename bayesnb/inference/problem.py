"""The data of one comparison of the check: a prior, rows for NumPyro, and the closed-form answers."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..naive_bayes import NaiveBayes, Rows
from ..statistics import one_hot
from .nuts import Model
from .posterior import dense


@dataclass(frozen=True)
class Problem:
    """A prior, data for NumPyro, and the closed-form answers; `features` are the columns chosen of every block."""

    prior: NaiveBayes
    rows: Rows
    y: np.ndarray
    features: dict[str, np.ndarray]
    posterior: NaiveBayes
    evidence: float

    @classmethod
    def of(
        cls, prior: NaiveBayes, rows: Rows, y: np.ndarray, features: dict[str, np.ndarray] | None = None
    ) -> "Problem":
        """Update the prior by the rows; all features unless some are named."""
        rows = dense(rows)
        if features is None:
            features = {name: np.arange(x.shape[1]) for name, x in rows.items()}
        found = prior.suffstats(rows, one_hot(y, len(prior.classes.log_predictive())))
        return cls(prior, rows, y, features, prior.update(found), float(prior.log_marginal(found)))

    @property
    def model(self) -> Model:
        """The NumPyro model with the data bound."""
        return partial(self.prior.model, self.rows, self.y)

    @property
    def width(self) -> int:
        """Features of all blocks together."""
        return count_features(self.rows)

    def select(self, rows: Rows) -> Rows:
        """The chosen features of other rows."""
        return dense({name: rows[name][:, columns] for name, columns in self.features.items()})


def sub_problem(
    rng: np.random.Generator, prior: NaiveBayes, rows: Rows, y: np.ndarray, cells: int, most: int
) -> Problem:
    """A random subset of at most `most` rows, and of as many features as the cells allow.

    Fewer where features are coupled: a covariance matrix has the square of them.

    Given the class the posterior factorises over the features, so the model of some of them is a model of its own; for
    a multinomial it is that of the counts among the chosen events.
    """
    few = choose(rng, len(y), most)
    names = np.concatenate([np.full(x.shape[1], name) for name, x in rows.items()])
    places = np.concatenate([np.arange(x.shape[1]) for x in rows.values()])
    width = cells // len(few)
    kept = choose(rng, len(names), max(2, math.isqrt(width) // 2 if prior.coupled else width))
    features = {name: places[kept[names[kept] == name]] for name in rows if (names[kept] == name).any()}
    blocks = {name: prior.blocks[name].select(columns) for name, columns in features.items()}
    chosen = {name: rows[name][few][:, columns] for name, columns in features.items()}
    return Problem.of(NaiveBayes(prior.classes, blocks), chosen, y[few], features)


def choose(rng: np.random.Generator, n: int, most: int) -> np.ndarray:
    """At most `most` of n positions, at random and in order."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def count_features(rows: Rows) -> int:
    """Features of all blocks together."""
    return sum(x.shape[1] for x in rows.values())


def size_text(problem: Problem) -> str:
    """The size of a problem in words."""
    return f"{problem.width} features, {len(problem.y)} rows"
