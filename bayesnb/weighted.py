"""A weighted set of naive Bayes models: a hyperparameter with a distribution of its own, integrated by quadrature.

    η ~ p(η),   θ | η ~ conjugate prior,   rows | θ      at nodes η_k of weight w_k
    W_k ∝ w_k p(D | η_k)                                weights after data
    p(x, y | D) = Σ_k W_k p_k(x, y | D)                 prediction
    p(x, y | D₋ᵢ) = Σ_k V_ik p_k(x, y | D₋ᵢ),   V_ik ∝ W_k / p_k(x_i, y_i | D₋ᵢ)

Each p_k is a `NaiveBayes`, a closed form. A mixture of conjugate priors is conjugate: prior and posterior are one type.

References
----------
Dalal & Hall (1983), Approximating priors by mixtures of natural conjugate priors, JRSS B 45.
Bernardo & Smith (1994), Bayesian Theory, §5.2.3.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .base import Block, as_jax, from_sites, to_sites
from .core.arrays import Array, Float, Sparse, Theta, Value
from .core.mixtures import Mixture
from .core.pytrees import leaves, map_leaves, pytree
from .core.random import Key
from .core.special import log_normalize, namespace
from .families.classes import AbstractClasses
from .naive_bayes import CLASS, NaiveBayes, Parameters, Rows, Statistics

_NEGLIGIBLE = 46.0  # nats: a weight below 1e-20 is left out
_STEPS = 500  # of the search for a mode


@pytree
@dataclass(frozen=True)
class WeightedNaiveBayes:
    """Models at the nodes of a hyperparameter, prior or posterior.

    Fields
    ------
    components : k models, whose blocks have the same names and shapes
    log_weights : (k,)   log w_k, whose exponentials sum to one
    nodes : (k,)         the hyperparameter at each node
    """

    components: tuple[NaiveBayes, ...]
    log_weights: Float[Array, " k"]
    nodes: Float[Array, " k"]

    # --- what a single model has ------------------------------------------------------------------------------------

    @property
    def weights(self) -> Float[Array, " k"]:
        """W_k, (k,)."""
        return namespace(self.log_weights).exp(self.log_weights)

    @property
    def heaviest(self) -> NaiveBayes:
        """The component of the largest weight."""
        return self.components[int(np.argmax(self.log_weights))]

    def heaviest_after(self, posterior: "WeightedNaiveBayes") -> NaiveBayes:
        """The component whose hyperparameter is that of the heaviest component of a posterior."""
        return self.components[int(np.argmin(abs(self.nodes - posterior.nodes[np.argmax(posterior.log_weights)])))]

    @property
    def blocks(self) -> "dict[str, Block | WeightedPart]":
        """Each block of all components; one block, where it is the same in all."""
        return {name: self._part([one.blocks[name] for one in self.components]) for name in self.heaviest.blocks}

    @property
    def classes(self) -> "AbstractClasses | WeightedPart":
        """The prior of the labels of all components; one, where it is the same in all."""
        return self._part([one.classes for one in self.components])

    def _part(self, parts: Sequence[Any]) -> Any:
        first, *others = parts
        fields = list(leaves(first))
        same = all(np.array_equal(*pair) for one in others for pair in zip(fields, leaves(one), strict=True))
        return first if same else WeightedPart(tuple(parts), self.log_weights)

    def __getattr__(self, name: str) -> Any:
        if name in ("site", "to_sites", "from_sites", "is_improper", "refuse_improper", "coupled", "suffstats"):
            return getattr(self.heaviest, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def min_chunk_cells(self) -> int:
        """Cells of X that are worth a pass over all parameters."""
        return sum(one.min_chunk_cells for one in self.components)

    # --- learning ---------------------------------------------------------------------------------------------------

    def _log_evidences(self, stats: Statistics) -> Float[Array, " k"]:
        """log w_k + log p(D | η_k)."""
        xp = namespace(self.log_weights, stats.n)
        return self.log_weights + xp.stack([one.log_marginal(stats) for one in self.components])

    def log_marginal(self, stats: Statistics) -> Float[Value, ""]:
        """log p(D) = log Σ_k w_k p(D | η_k), in nats."""
        return _log_sum(self._log_evidences(stats), 0)

    def update(self, stats: Statistics) -> Self:
        """Condition every component, and the weights; components that weigh nothing are left out."""
        joint = np.asarray(self._log_evidences(stats))
        kept = np.flatnonzero(joint > joint.max() - _NEGLIGIBLE)
        updated = tuple(self.components[k].update(stats) for k in kept)
        return replace(self, components=updated, log_weights=log_normalize(joint[kept]), nodes=self.nodes[kept])

    def with_blocks(self, blocks: dict[str, Block]) -> Self:
        """The models with other blocks, the same in all components."""
        return replace(self, components=tuple(replace(one, blocks=blocks) for one in self.components))

    # --- prediction -------------------------------------------------------------------------------------------------

    def log_joint(self, rows: Rows, theta: Parameters | None = None) -> Float[Array, "*s n c"]:
        """log p(x_i, y = c): at given parameters that of any component."""
        if theta is not None:
            return self.heaviest.log_joint(rows, theta)
        return self._mixed(lambda one: one.log_joint(rows))

    def log_scores(self, rows: Rows, theta: Parameters | None = None) -> Float[Array, "*s n c"]:
        """`log_joint`: terms of a row that one component leaves out, another may not."""
        return self.log_joint(rows) if theta is None else self.heaviest.log_scores(rows, theta)

    def log_parts(
        self, rows: Rows, parts: Sequence[Sequence[str]], theta: Parameters | None = None
    ) -> Float[Array, "p n c"]:
        """log p(x_i,part | y = c), a table for each part."""
        if theta is not None:
            return self.heaviest.log_parts(rows, parts, theta)
        log_prior = self.classes.log_predictive()
        return self._mixed(lambda one: one.log_parts(rows, parts) + one.classes.log_predictive()) - log_prior

    def log_leave_one_out(
        self, rows: Rows, r: Float[Array, "n c"], parts: Sequence[Sequence[str]]
    ) -> tuple[Float[Array, "n c"], Float[Array, "p n c"]]:
        """log p(y = c | D₋ᵢ) and log p(x_i,part | y = c, D₋ᵢ), of rows with one label and weight one each.

        There is one hyperparameter, so at most one factor of the joint depends on it: each is averaged by itself.
        """
        prior = np.stack([one.classes.log_loo(r) for one in self.components])
        tables = np.stack([one.log_loo_parts(rows, r, parts) for one in self.components])  # (k, p, n, c)
        own = ((tables.sum(1) + prior) * r).sum(-1)  # log p_k(x_i, y_i | D₋ᵢ), (k, n)
        log_v = log_normalize((self.log_weights[:, None] - own).T).T[..., None]
        log_prior = _log_sum(log_v + prior, 0)
        if len(parts) == 1:  # class probabilities that depend on the hyperparameter, too
            return log_prior, (_log_sum(log_v + tables[:, 0] + prior, 0) - log_prior)[None]
        return log_prior, _log_sum(log_v[:, None] + tables, 0)

    def _mixed(self, table: Callable[[NaiveBayes], Array]) -> Array:
        """log Σ_k W_k exp table_k, adding one component at a time."""
        return _mixed(self.log_weights, map(table, self.components))

    # --- parameters -------------------------------------------------------------------------------------------------

    def log_prob(self, theta: Parameters) -> Float[Value, "*s"]:
        """log Σ_k W_k p_k(θ), in the basis of the NumPyro sites."""
        xp = namespace(*theta[next(iter(self.blocks))].values())
        return _log_sum(xp.stack([w + p for w, p in zip(self.log_weights, self._log_probs(theta), strict=True)]), 0)

    def _log_probs(self, theta: Parameters) -> list[Value]:
        return [one.log_prob(theta) for one in self.components]

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Parameters:
        """Independent draws of all parameters, each with a hyperparameter of its own; NumPy's generator."""
        if not isinstance(key, np.random.Generator):
            raise ValueError("a weighted set of models draws with NumPy's generator, not with a JAX key")
        n = int(np.prod(shape, dtype=int))
        which = np.sort(key.choice(len(self.components), n, p=self.weights / self.weights.sum()))
        drawn = zip(*np.unique(which, return_counts=True), strict=True)
        parts = [self.components[k].sample(key, (int(count),)) for k, count in drawn]
        parts = parts or [self.heaviest.sample(key, (0,))]
        order = key.permutation(n)

        def joined(*leaves: np.ndarray) -> np.ndarray:
            return np.concatenate(leaves)[order].reshape(*shape, *leaves[0].shape[1:])

        return map_leaves(joined, *parts)

    def by_component(self, rng: np.random.Generator, y: np.ndarray) -> Iterator[tuple[np.ndarray, NaiveBayes]]:
        """Rows of class indices y, parted by a component that is drawn for each: positions, component."""
        log_pi = np.stack([one.classes.log_predictive() for one in self.components])[:, y]  # (k, n)
        ends = np.cumsum(np.exp(log_normalize((self.log_weights[:, None] + log_pi).T)), 1)
        which = (rng.random((len(y), 1)) * ends[:, -1:] > ends).sum(1)
        for k in np.unique(which):
            yield np.flatnonzero(which == k), self.components[k]

    def _averaged(self, sites: Callable[[NaiveBayes], Theta]) -> Parameters:
        found = [sites(one) for one in self.components]
        return self.heaviest.from_sites(
            {name: sum(w * one[name] for w, one in zip(self.weights, found, strict=True)) for name in found[0]}
        )

    def mean(self) -> Parameters:
        """Σ_k W_k E_k θ."""
        return self._averaged(lambda one: one.to_sites(one.mean()))

    def mode(self) -> Parameters:
        """A joint mode of the mixture: the one that ascent from the average component leads to.

        The families are exponential and their fields linear in the natural parameters. Expectation–maximisation
        therefore takes the mode of the component with averaged fields, weighted by p(k | θ), and starts again there.
        """
        if any(map_leaves(lambda leaf: np.nextafter(leaf, np.inf), one).on_boundary() for one in self.components):
            return self.heaviest.mode()  # some density has no maximum: a concentration is below 1, not at it
        share = np.asarray(self.weights)
        theta = self._of_average(share).mode()
        for _ in range(_STEPS):
            before, share = share, np.exp(log_normalize(self.log_weights + np.array(self._log_probs(theta))))
            if abs(share - before).max() < 1e-12:
                break
            theta = self._of_average(share).mode()
        return theta

    def _of_average(self, share: np.ndarray) -> NaiveBayes:
        return map_leaves(
            lambda *fields: sum(w * field for w, field in zip(share, fields, strict=True)), *self.components
        )

    def mle(self, stats: Statistics) -> Parameters:
        """Maximum likelihood estimate; the means of the heaviest component where a class has no data."""
        return self.heaviest.mle(stats)

    def on_boundary(self) -> bool:
        """Whether the mode of some component has a parameter on the boundary of its space."""
        return any(one.on_boundary() for one in self.components)

    def marginals(self) -> dict[str, Any]:
        """Marginal distributions of the parameters by NumPyro site: mixtures of those of the components."""
        found = [one.marginals() for one in self.components]
        return {name: Mixture([one[name] for one in found], np.asarray(self.weights)) for name in found[0]}

    def model(self, rows: Rows | None, y: Any = None, n: int | None = None, length: Any = None) -> None:
        """The same model in NumPyro, given rows: the parameters under the mixture of their densities."""
        import numpyro

        if rows is None:
            raise ValueError("a weighted set of models cannot draw rows in NumPyro; use `sample`")
        whole = as_jax(self)
        first = whole.components[0]
        with numpyro.handlers.trace() as trace:
            first.model(rows, y, n, length)
        theta = first.from_sites({name: site["value"] for name, site in trace.items() if site["type"] == "sample"})
        numpyro.factor("hyperparameter", whole.log_prob(theta) - first.log_prob(theta))


_SHARED = frozenset(  # what families, shapes and given parameters decide, whatever the hyperparameter
    "parameters kept_types missing_value fields_ constants_ cells_ separable marks_strangers couples_classes "
    "several_modes names_ gaps is_composite only_class hyperparameters sites no_evidence is_improper shape suffstats "
    "log_likelihood linear_form take".split()
)


@dataclass(frozen=True)
class WeightedPart:
    """A block, or the prior of the labels, of a weighted set of models: one of every component.

    It has what all components share, and what is averaged over them. Anything else would be that of one component, so
    it raises an AttributeError.
    """

    parts: tuple[Any, ...]
    log_weights: Float[Array, " k"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _SHARED:
            return getattr(self.parts[0], name)
        raise AttributeError(
            f"`{name}` of {type(self.parts[0]).__name__} differs between the {len(self.parts)} values of a "
            "hyperparameter that is a distribution; read it from one of the `components`, or give a number for the "
            "hyperparameter"
        )

    @property
    def weights(self) -> Float[Array, " k"]:
        """W_k, (k,)."""
        return namespace(self.log_weights).exp(self.log_weights)

    @property
    def inner(self) -> Self:
        """The blocks that have the fields."""
        return replace(self, parts=tuple(one.inner for one in self.parts))

    def select(self, columns: np.ndarray) -> Self:
        """The blocks of some columns."""
        return replace(self, parts=tuple(one.select(columns) for one in self.parts))

    def merged(self, columns: np.ndarray) -> "WeightedPart | None":
        """The blocks of some columns and of one column that merges all others, if the family has such."""
        found = tuple(one.merged(columns) for one in self.parts)
        return None if found[0] is None else replace(self, parts=found)

    def log_predictive(self, *x: Array | Sparse) -> Array:
        """log Σ_k W_k p_k of the next label, or of rows x."""
        return _mixed(self.log_weights, (one.log_predictive(*x) for one in self.parts))

    def log_contributions(self, x: Array | Sparse, columns: np.ndarray, theta: Theta | None = None) -> Array:
        """Contributions of some features at given parameters, or Σ_k W_k times those of each component."""
        if theta is not None:
            return self.parts[0].log_contributions(x, columns, theta)
        return sum(w * one.log_contributions(x, columns) for w, one in zip(self.weights, self.parts, strict=True))

    def mean(self) -> Theta:
        """Σ_k W_k E_k θ."""
        found = [to_sites(one.mean()) for one in self.parts]
        averages = {key: sum(w * one[key] for w, one in zip(self.weights, found, strict=True)) for key in found[0]}
        return from_sites(self.parameters, averages)

    def mle(self, stats: Any) -> Theta:
        """Maximum likelihood estimate; the means of the heaviest component where there are no data."""
        return self.parts[int(np.argmax(self.log_weights))].mle(stats)

    def marginals(self) -> "dict[str, Mixture]":
        """Marginal distributions of the parameters: mixtures of those of the components."""
        found = [one.marginals() for one in self.parts]
        return {name: Mixture([one[name] for one in found], np.asarray(self.weights)) for name in found[0]}

    def sample_predictive(self, rng: np.random.Generator, y: np.ndarray, **given: Any) -> np.ndarray:
        """New rows of this block alone, one for each label in y, each of a component of its own."""
        which = np.sort(rng.choice(len(self.parts), len(y), p=self.weights / self.weights.sum()))
        order = rng.permutation(len(y))
        drawn = [self.parts[k].sample_predictive(rng, y[order[which == k]], **given) for k in np.unique(which)]
        return np.concatenate(drawn)[np.argsort(order)]


def _mixed(log_weights: Float[Array, " k"], tables: Iterable[Array]) -> Array:
    """log Σ_k W_k exp table_k, one table at a time."""
    total: Any = None
    for weight, table in zip(log_weights, tables, strict=True):
        found = weight + table
        total = found if total is None else np.logaddexp(total, found)
    return total


def _log_sum(table: Array, axis: int) -> Value:
    xp = namespace(table)
    top = table.max(axis=axis, keepdims=True)
    return xp.log(xp.exp(table - top).sum(axis=axis)) + xp.squeeze(top, axis)


__all__ = ["CLASS", "WeightedNaiveBayes", "WeightedPart"]
