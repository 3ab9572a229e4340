"""Rows sharded over eight devices fit and predict where they are: only sums the size of the statistics travel."""

import math
import re

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bayesnb.families import DirichletClasses
from bayesnb.models.naive_bayes import NaiveBayes
from bayesnb.sums.statistics import one_hot

from .laws import FAMILIES, QUICKLY, C, D, Family, K
from .sums.test_processes import result, start

ROWS = 8 * 40
COLLECTIVE = re.compile(r" = (.*?) (all-gather|all-reduce|all-to-all|collective-\w+|reduce-scatter)(?:-start)?\(")


def collectives(compiled: jax.stages.Compiled) -> list[tuple[str, int]]:
    """What the devices of a compiled function tell each other: the kind of exchange, and its largest array."""
    found = []
    for shapes, kind in COLLECTIVE.findall(compiled.as_text()):
        sizes = [math.prod(map(int, filter(None, one.split(",")))) for one in re.findall(r"\[([\d,]*)\]", shapes)]
        found.append((kind, max(sizes)))
    return found


def check(family: Family, double: bool) -> None:
    """One family on the devices there are, against NumPy."""
    rng = np.random.default_rng(0)
    x, y = family.rows(rng, ROWS, D), rng.integers(0, C, ROWS)
    if family.missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    r = one_hot(y, C, rng.random(ROWS)).toarray()
    prior = NaiveBayes(DirichletClasses(np.ones(C)), {"x": family.prior(rng, D)})
    stats = prior.suffstats({"x": x}, r)
    posterior = prior.update(stats)
    table = posterior.log_joint({"x": x})

    dtype = np.float64 if double else np.float32
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    assert mesh.size == 8
    by_rows, everywhere = NamedSharding(mesh, PartitionSpec("rows")), NamedSharding(mesh, PartitionSpec())
    nb = jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf, dtype), everywhere), prior)
    x, r = (jax.device_put(column.astype(dtype), by_rows) for column in (x, r))

    fit = jax.jit(lambda nb, x, r: nb.suffstats({"x": x}, r)).lower(nb, x, r).compile(QUICKLY)
    exchanged = collectives(fit)
    assert exchanged and all(kind == "all-reduce" for kind, _ in exchanged), exchanged
    assert max(size for _, size in exchanged) <= C * D * max(D, K) < ROWS, exchanged
    got = fit(nb, x, r)
    near = {"rtol": 1e-12, "atol": 1e-12} if double else {"rtol": 1e-4, "atol": 1e-4}
    assert all(leaf.dtype == dtype for leaf in jax.tree.leaves(got))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, **near), got, stats)

    updated = jax.jit(lambda nb, stats: nb.update(stats))(nb, got)
    predict = jax.jit(lambda nb, x: nb.log_joint({"x": x})).lower(updated, x).compile(QUICKLY)
    assert collectives(predict) == []
    found = predict(updated, x)
    assert found.dtype == dtype and found.sharding.is_equivalent_to(by_rows, 2)
    assert {shard.data.shape for shard in found.addressable_shards} == {(ROWS // 8, C)}
    near = {"rtol": 1e-11, "atol": 1e-11} if double else {"rtol": 2e-4, "atol": 2e-4}
    np.testing.assert_allclose(found, table, **near)


def on_eight_devices(names: list[str]) -> None:
    """`check` in an interpreter of its own, for the number of devices is settled when JAX starts."""
    code = f"from tests import test_sharding; test_sharding.run({names!r})"
    eight = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    said = result(start(code, PYTHONWARNINGS="error", **eight))
    assert said.split() == [f"{name}-{double}" for name in names for double in (True, False)]


def run(names: list[str]) -> None:
    for family in FAMILIES:
        if family.name in names:
            for double in (True, False):
                with jax.enable_x64(double):
                    check(family, double)
                print(f"{family.name}-{double}")


QUICK = ["categorical", "gaussian"]


def test_rows_stay_where_they_are() -> None:
    on_eight_devices(QUICK)


@pytest.mark.slow
def test_rows_of_the_other_families_stay_where_they_are() -> None:
    on_eight_devices([family.name for family in FAMILIES if family.name not in QUICK])
