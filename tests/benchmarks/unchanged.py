"""Whether this code gives the numbers of an older copy of bayesnb: on random tables, through public names alone.

    git worktree add /tmp/old 766bf7f
    python -m tests.benchmarks.unchanged /tmp/old

This file runs once with each copy. The tables have weights, missing cells, groups and sparse rows, all inside the
promise of docs/robustness.md. Compared are log evidence, predictive, leave-one-out (also weighted, and by groups), the
cumulants of the log likelihood, the joint density of the NumPyro model at the posterior mean, and draws; intervals,
conformal p-values, feature averages, one-dependence, forward selection, SPSS and fitted priors. A number
differs by |new − old| / max(1, |old|); of intervals the mean of that is told, too. Draws agree in distribution: the
least p-value of two-sample Kolmogorov–Smirnov tests, times their number.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats as st
from scipy import sparse

HERE = Path(__file__)
SEEDS = range(12)
N, D, C = 60, 5, 3
DRAWS = 2000
# of these the older copy has no third cumulant, or 0
LATER = "LogNormal", "PooledNormalInverseGamma", "TiedNormalInverseWishart"


def tables(kind: str, rng: np.random.Generator) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Random rows of one kind of cells: dense, with missing cells, and sparse."""
    y = rng.permutation(np.arange(N) % C)
    level = rng.gamma(2.0, 1.0, (C, D))[y]
    scale = 10.0 ** rng.integers(-3, 4, D)
    dense = {
        "yes/no": lambda: (rng.random((N, D)) < level / (1 + level)) * 1.0,
        "levels": lambda: np.minimum(rng.poisson(level), 4) * 1.0,
        "counts": lambda: rng.poisson(level * rng.choice([1, 30], D)) * 1.0,
        "positive": lambda: rng.gamma(level, 1.0) * scale + 1e-6 * scale,
        "real": lambda: (rng.normal(level, 1.0) + rng.choice([0, 1e3], D)) * scale,
    }[kind]()
    yield "dense", dense, y
    holes = np.where(rng.random(dense.shape) < 0.15, np.nan, dense)
    yield "missing", holes, y
    if kind in ("yes/no", "counts"):
        yield "sparse", sparse.csr_array(dense), y


def models() -> dict[str, tuple[str, Callable[[], Any]]]:
    """An estimator of each family, and the kind of its cells."""
    import bayesnb as nb
    from bayesnb import families

    def family(cls: type, **fields: float) -> Any:
        shape = {name: np.full((C, D), value) for name, value in fields.items()}
        return nb.FamilyNB(cls(**shape))

    return {
        "Bernoulli": ("yes/no", lambda: nb.BernoulliNB(alpha=0.7)),
        "categorical": ("levels", lambda: nb.CategoricalNB(alpha=0.3, min_categories=5)),
        "multinomial": ("counts", lambda: nb.MultinomialNB(alpha=0.4)),
        "complement": ("counts", lambda: nb.ComplementNB(alpha=0.8)),
        "Poisson": ("counts", lambda: nb.PoissonNB()),
        "geometric": ("counts", lambda: nb.GeometricNB()),
        "negative binomial": ("counts", lambda: family(families.BetaNegativeBinomial, a=1.2, b=0.8)),
        "exponential": ("positive", lambda: nb.ExponentialNB()),
        "log-normal": ("positive", lambda: family(families.LogNormal, m=0.1, kappa=0.5, a=1.5, b=2.0)),
        "Gaussian": ("real", lambda: nb.GaussianNB()),
        "Gaussian, pooled": ("real", lambda: nb.GaussianNB(variance="pooled")),
        "Gaussian, known": ("real", lambda: nb.GaussianNB(known_variance=1.7)),
        "Gaussian, full": ("real", lambda: nb.GaussianDA()),
        "Gaussian, tied": ("real", lambda: nb.GaussianDA(covariance="shared")),
        "Gaussian, identity": ("real", lambda: nb.GaussianDA(covariance="identity")),
        "kernel, nrd0": ("real", lambda: nb.KernelNB(bandwidth="nrd0")),
    }


def quantities(nb: Any, X: Any, y: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """What is compared, by name, of an estimator on one table."""
    weights, groups = rng.choice([0.5, 1.0, 2.0], N), rng.integers(N // 3, size=N)
    for case, w in (("", None), (", weighted", weights)):
        nb.fit(X, y, sample_weight=w)
        if hasattr(nb, "log_evidence_"):
            yield "evidence" + case, nb.log_evidence_
        yield "predictive" + case, nb.predict_joint_log_proba(X)
        left_out = nb.loo(X, y, sample_weight=w)
        yield "leave-one-out" + case, np.stack([left_out.pointwise, left_out.pointwise_joint])
    nb.fit(X, y)
    yield "leave-one-out, groups", nb.loo(X, y, groups=groups).pointwise
    if "Kernel" not in type(nb).__name__:
        yield "intervals", nb.predict_interval(X[:10])
    ((name, block),) = nb.posterior_.blocks.items()
    if hasattr(block, "log_cumulants") and "Kernel" not in type(block).__name__:
        mean, variance, third = block.log_cumulants(nb.encode(X)[name])
        yield "mean of log p", mean - mean.mean(1, keepdims=True)  # up to terms that all classes share
        yield "variance of log p", variance
        if type(block).__name__ not in LATER:
            yield "third cumulant", third


def analyses(seed: int) -> Iterator[tuple[str, str, Any]]:
    """Name, quantity and numbers of what follows from fitted models."""
    import bayesnb as nb

    rng, known = np.random.default_rng(seed), models()
    for name in ("Bernoulli", "categorical", "multinomial", "Poisson", "exponential", "Gaussian", "Gaussian, tied"):
        kind, make = known[name]
        _, X, y = next(tables(kind, np.random.default_rng(seed)))
        few, new, groups = slice(24), slice(24, 30), rng.integers(8, size=24)
        for what, settings, given in (
            ("cross", {}, {}),
            ("by class", {"class_conditional": True}, {}),
            ("full", {"method": "full"}, {}),
            ("groups", {}, {"groups": groups}),
        ):
            sets = nb.ConformalClassifierLOO(make(), **settings).fit(X[few], y[few], **given)
            yield name, f"p-values, {what}", sets.predict_p_values(X[new])
        if name not in ("multinomial", "Gaussian, tied"):
            average = nb.FeatureAverage(make()).fit(X, y, sample_weight=rng.choice([0.5, 1.0, 2.0], N))
            yield name, "average: inclusion", average.inclusion_
            yield name, "average: evidence", average.log_evidence_
            yield name, "average: predictive", average.predict_joint_log_proba(X)
        if name != "Gaussian, tied":
            yield name, "fitted prior: evidence", nb.fit_prior(make(), X, y).log_evidence
    _, X, y = next(tables("levels", np.random.default_rng(seed)))
    pairs = nb.OneDependenceNB(min_categories=5).fit(X, y)
    yield "one-dependence", "predictive", pairs.predict_log_proba(X)
    yield "one-dependence", "leave-one-out", pairs.loo(X, y).pointwise
    yield "one-dependence", "evidence", pairs.log_evidence_ if hasattr(pairs, "log_evidence_") else 0.0
    frame = pd.DataFrame(X.astype(int).astype(str), columns=list("abcde")).mask(rng.random(X.shape) < 0.1)
    numbers = pd.DataFrame(rng.normal(y[:, None], 1.0, (N, 2)), columns=["p", "q"]).mask(rng.random((N, 2)) < 0.1)
    train, w = rng.random(N) < 0.7, rng.integers(1, 4, N)
    for what, settings in {
        "pseudo-BIC": {},
        "N'": {"denominator": "N'"},
        "test rows": {"partition": train},
        "forced, exact": {"force": ["b"], "exact_features": 2},
        "smoothing": {"alpha": 0.5, "class_alpha": 2.0, "max_features": 3},
    }.items():
        for model, rows in ((nb.ForwardSelection, frame), (nb.SPSSNaiveBayes, pd.concat([frame, numbers], axis=1))):
            fitted = model(**settings).fit(rows, y, sample_weight=w)
            report = getattr(fitted.report_, "selection", fitted.report_)  # where the older copy has it
            steps = report.steps.select_dtypes("number").to_numpy().ravel()
            yield model.__name__, what, np.concatenate([steps, fitted.predict_proba(rows).ravel(), [report.error]])


def twin(nb: Any, X: Any, y: np.ndarray) -> float:
    """The log joint density of the NumPyro model in float64, at the posterior mean of its parameters."""
    import jax
    from numpyro.infer.util import log_density

    with jax.enable_x64(True):
        return float(log_density(nb.numpyro_model, (X, y), {}, nb.posterior_.to_sites(nb.posterior_.mean()))[0])


def record() -> dict[Any, Any]:
    """All numbers of the copy that is imported, and draws."""
    found: dict[Any, Any] = {}
    for model, (kind, make) in models().items():
        for seed in SEEDS:
            for form, X, y in tables(kind, np.random.default_rng(seed)):
                nb, rng = make(), np.random.default_rng(1000 + seed)
                try:
                    nb.fit(X, y)
                except (TypeError, ValueError):  # a family without missing cells or sparse rows
                    continue
                for what, value in quantities(nb, X, y, rng):
                    found[model, what, form, seed] = np.asarray(value)
                if seed >= 3 or form == "sparse" or "kernel" in model or "complement" in model:
                    continue
                found[model, "density of the twin", form, seed] = np.asarray(twin(nb, X, y))
                if seed == 0 and form == "dense":
                    found[model, "draws", form, seed] = nb.sample_proba(X[:4], DRAWS, seed=1)[:, :, :-1].reshape(
                        DRAWS, -1
                    )
    for seed in (0, 1, 2):
        for model, what, value in analyses(seed):
            found[model, what, "", seed] = np.asarray(value)
    return found


def report(old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[str]:
    """A line for each family and quantity: how many numbers, and the largest difference."""
    gaps: dict[tuple[str, str], list[np.ndarray]] = {}
    draws = {}
    for (model, what, *_), before, after in ((key, before, new[key]) for key, before in old.items()):
        if what == "draws":
            p = [st.ks_2samp(a, b).pvalue for a, b in zip(before.T, after.T, strict=True)]
            draws[model] = f"{before.size:8} {min(1.0, min(p) * len(p)):18.2g}"
        else:
            gaps.setdefault((model, what), []).append(np.ravel(abs(after - before) / np.maximum(1, abs(before))))
    yield f"{'family':20} {'quantity':24} {'numbers':>8} {'largest difference':>18}"
    for (model, what), parts in gaps.items():
        gap = np.concatenate(parts)
        mean = f", mean {gap.mean():.1e}" if what == "intervals" else ""
        yield f"{model:20} {what:24} {gap.size:8} {gap.max():18.1e}{mean}"
    yield from (f"{model:20} {'draws, least p':24} {said}" for model, said in draws.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", help="the folder that holds the older copy")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.record:
        warnings.simplefilter("ignore")
        args.record.write_bytes(pickle.dumps(record()))
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for copy in (args.old, str(HERE.parents[2])):
            file = Path(folder, "numbers")
            command = [sys.executable, str(HERE), copy, "--record", str(file)]
            subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": copy}, cwd=folder)
            found.append(pickle.loads(file.read_bytes()))
    print(*report(*found), sep="\n")


if __name__ == "__main__":
    main()
