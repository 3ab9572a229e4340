"""Every method of every family sabotaged in turn, and the rows of the check that find it: `docs/check.md`.

    python -m tests.benchmarks.mutations

A deterministic result is multiplied by 1 + 1e-6, the spread of draws by .99; and the five errors that an independent
statistician made, which the check of four rows did not find. Only the rows that compute on the host take part; rows 1
to 4 run NumPyro besides.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import jax
import numpy as np

from bayesnb.check.draws import drawn_rows
from bayesnb.check.laws import Problem, closed_rows
from bayesnb.families import DirichletClasses, NormalInverseGamma
from bayesnb.families.base import from_sites, to_sites
from bayesnb.models.naive_bayes import NaiveBayes
from tests.benchmarks.pages import markdown
from tests.laws import FAMILIES, C, Family, positive

MORE, NARROW, RATE = 1 + 1e-6, 0.99, 0.002
SCALED = (
    "suffstats update log_normalizer log_marginal log_prob log_predictive log_score log_loo log_loo_score "
    "log_likelihood linear_form mean mode mle marginals"
).split()
DRAWN = ("sample", "sample_predictive")


@dataclass(frozen=True)
class Mutation:
    """A method of a class, and what it is replaced by."""

    name: str
    owner: type
    method: str
    make: Callable[[Any], Any]

    def applied(self) -> AbstractContextManager[Any]:
        """The class with the mutation."""
        return mock.patch.object(self.owner, self.method, self.make(getattr(self.owner, self.method)))


def problem(family: Family, rows: int = 60, seed: int = 0) -> Problem:
    """A problem of the check: a few columns, classes of a third of the rows each."""
    rng = np.random.default_rng(seed)
    x, y = family.rows(rng, rows, 2 if family.d == 1 else 3), np.arange(rows) % C
    prior = NaiveBayes(DirichletClasses(positive(rng, C)), {"x": family.prior(rng, x.shape[1])})
    return Problem(prior, {"x": x}, y)


def mutations(owner: type, family: Family | None = None) -> list[Mutation]:
    """All of a family, or of the class probabilities."""
    found = [Mutation(f"{name} × (1 + 1e-6)", owner, name, _scaled) for name in SCALED if hasattr(owner, name)]
    for k, part in enumerate(("mean", "variance", "third")):
        found.append(Mutation(f"log_cumulants, {part} × (1 + 1e-6)", owner, "log_cumulants", _scaled_part(k)))
    found += [Mutation(f"{name}, spread × .99", owner, name, _narrowed) for name in DRAWN if hasattr(owner, name)]
    if family is None:
        return found
    found.append(Mutation("log_loo leaves nothing out", owner, "log_loo", _nothing_left_out))
    found.append(Mutation("log_cumulants, variance × 4", owner, "log_cumulants", _scaled_part(1, 4.0)))
    if owner is NormalInverseGamma:
        found += [
            Mutation("log_predictive, t with 2a + 1 degrees of freedom", owner, "log_predictive", _other_freedom),
            Mutation("sample, μ too narrow by √(κ/(κ+1))", owner, "sample", _too_sure),
            Mutation("marginals, t with a degrees of freedom", owner, "marginals", _half_freedom),
        ]
    return found


def rows_that_find(mutation: Mutation | None, this: Problem) -> list[str]:
    """Names of the rows that fail under a mutation; draws are looked at where the closed forms pass."""
    again, rng = replace(this), np.random.default_rng(1)  # a copy knows no posterior yet
    with mutation.applied() if mutation else nullcontext():
        rows = [] if mutation and mutation.method in DRAWN else closed_rows(again, again, rng)
        if all(row.passed for row in rows):
            rows = drawn_rows(again, rng, RATE)
    return [row.name.split(maxsplit=1)[1] for row in rows if not row.passed]


def table() -> Iterator[tuple[str, str, list[str]]]:
    """Family, mutation and the rows that find it."""
    for family in FAMILIES:
        this = problem(family)
        for mutation in mutations(type(this.prior.blocks["x"]), family):
            if not _is_idle(mutation, this):
                yield family.name, mutation.name, rows_that_find(mutation, this)
    this = problem(FAMILIES[0])
    for mutation in mutations(DirichletClasses):
        yield "classes", mutation.name, rows_that_find(mutation, this)


def _is_idle(mutation: Mutation, this: Problem) -> bool:
    """Whether there is nothing to sabotage: a method that returns None, or that the family says it has not."""
    block = this.prior.blocks["x"]
    match mutation.method:
        case "linear_form":
            return block.linear_form(block.sample(np.random.default_rng(0))) is None
        case "log_cumulants" if "third" in mutation.name:
            return block.log_cumulants(this.rows["x"][:1]) is None
    return mutation.method == "sample_predictive" and block.is_composite


# --- what a method is replaced by -----------------------------------------------------------------------------------


class _Scaled:
    """A marginal distribution of a parameter that is 1 + 1e-6 times what it should be."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole

    def mean(self) -> Any:
        return self.whole.mean() * MORE

    def cdf(self, x: Any) -> Any:
        return self.whole.cdf(np.asarray(x) / MORE)


def _scaled(method: Any) -> Any:
    def other(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        if method.__name__ == "marginals":
            return {name: _Scaled(one) for name, one in found.items()}
        return None if found is None else jax.tree.map(lambda leaf: leaf * MORE, found)

    return other


def _scaled_part(k: int, factor: float = MORE) -> Any:
    def make(method: Any) -> Any:
        def other(self: Any, *args: Any) -> Any:
            found = list(method(self, *args))
            found[k] = found[k] * factor
            return tuple(found)

        return other

    return make


def _narrowed(method: Any) -> Any:
    """Draws .99 of their distance from the mean; of counts and levels, one in fifty is the rounded mean."""

    def near(x: np.ndarray) -> np.ndarray:
        return x.mean(0) + NARROW * (x - x.mean(0))

    def sample(self: Any, key: Any, shape: tuple[int, ...] = ()) -> Any:
        theta = method(self, key, shape)
        if not shape:
            return theta
        parameters = getattr(self, "parameters", ("log_pi",))
        return from_sites(parameters, {name: near(value) for name, value in to_sites(theta).items()})

    def sample_predictive(self: Any, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        x = method(self, rng, y, **given)
        for k in np.unique(y):
            x[y == k] = near(x[y == k]) if self.cells_.kind in ("real", "amounts", "positive") else _thinned(x[y == k])
        return x

    return sample if method.__name__ == "sample" else sample_predictive


def _thinned(x: np.ndarray) -> np.ndarray:
    x[::50] = np.round(x.mean(0))
    return x


def _nothing_left_out(method: Any) -> Any:
    return lambda self, x, r: self.log_predictive(x)


def _other_freedom(method: Any) -> Any:
    """Of the same scale."""
    return lambda self, x: method(replace(self, a=self.a + 0.5, b=self.b * (1 + 0.5 / self.a)), x)


def _too_sure(method: Any) -> Any:
    def sample(self: Any, key: Any, shape: tuple[int, ...] = ()) -> Any:
        theta = method(self, key, shape)
        return theta | {"mu": self.m + (theta["mu"] - self.m) * np.sqrt(self.kappa / (self.kappa + 1))}

    return sample


def _half_freedom(method: Any) -> Any:
    def marginals(self: Any) -> Any:
        from scipy import stats

        return method(self) | {"mu": stats.t(self.a, self.m, np.sqrt(self.b / (self.a * self.kappa)))}

    return marginals


def text(found: list[tuple[str, str, list[str]]]) -> str:
    """The table by mutation, families together that the same rows find."""
    groups: dict[tuple[str, str], list[str]] = {}
    for family, name, rows in found:
        groups.setdefault((name, ", ".join(rows) or "**nothing**"), []).append(family)
    lines = [[name, ", ".join(families), rows] for (name, rows), families in sorted(groups.items())]
    survivors = sum(not rows for *_, rows in found)
    return f"{markdown(['sabotaged', 'families', 'found by'], lines)}\n\n{len(found)} mutations, {survivors} not found."


if __name__ == "__main__":
    print(text(list(table())))
