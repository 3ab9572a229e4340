"""Parameters and rows as NumPyro's sites hold them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .arrays import Theta, is_sparse
from .pytrees import register_pytrees
from .special import expit, log_floor, namespace


@dataclass(frozen=True)
class Site:
    """A parameter as the NumPyro model states it.

    Fields
    ------
    support : NumPyro's constraint
    axes : names of its plates from left to right, "class" and "feature" among them, then "event" for each axis of one
        draw of its distribution
    """

    support: Any
    axes: tuple[str, ...]


def sites_of(model: Callable[[], Any]) -> dict[str, Site]:
    """The parameters of a NumPyro model, by site; the rows `x` are not among them.

    The model is first run with shapes only, which is quick. That is not enough if a support has limits that the model
    computes: then the model is run once more, with numbers.
    """
    import jax

    sites = _traced_sites(model)  # nothing is compiled

    # Limits of a support that are computed from the fields of the model have no values in a trace.
    limits = jax.tree.leaves([site.support for site in sites.values()])  # such as the bounds of an interval
    if any(isinstance(limit, jax.core.Tracer) for limit in limits):
        return _read_sites(model)
    return sites


def axes_of(model: Callable[[], Any]) -> dict[str, tuple[str, ...]]:
    """The axes of the parameters of a NumPyro model, by site, as in `Site`."""
    return {name: site.axes for name, site in _traced_sites(model).items()}


def _traced_sites(model: Callable[[], Any]) -> dict[str, Site]:
    """The parameters of a NumPyro model, by site, without a draw: the model runs with shapes only.

    So nothing is compiled; limits of supports that are computed are tracers.
    """
    import jax

    # `eval_shape` runs a function with tracers, which have a shape and no numbers; the sites are noted as it runs
    sites: dict[str, Site] = {}
    jax.eval_shape(lambda: sites.update(_read_sites(model)))
    return sites


def _read_sites(model: Callable[[], Any]) -> dict[str, Site]:
    """The parameters of a NumPyro model, by site, from one run of it with a seed; the rows `x` are not among them."""
    import numpyro

    # `seed` gives random numbers to the statements of the model, `block` hides the rows, and `trace` notes the rest
    with numpyro.handlers.trace() as trace, numpyro.handlers.seed(rng_seed=0), numpyro.handlers.block(hide=["x"]):
        model()

    # A trace holds a message, a dict, of each statement. Of a `sample` statement "fn" is its distribution, and
    # "cond_indep_stack" has the plates around it, with their names and their axes `dim`, which count from the right.
    sites = {}
    for name, message in trace.items():
        if message["type"] != "sample":
            continue
        distribution = message["fn"]
        plates = sorted(message["cond_indep_stack"], key=lambda plate: plate.dim)  # from left to right
        plate_axes = [plate.name for plate in plates]
        event_axes = ["event"] * len(distribution.event_shape)
        sites[name] = Site(distribution.support, (*plate_axes, *event_axes))
    return sites


TO_SITE: dict[str, Callable[[Any], Any]] = {"log_": lambda x: namespace(x).exp(x), "logit_": expit}
_FROM_SITE: dict[str, Callable[[Any], Any]] = {"log_": log_floor, "logit_": lambda p: log_floor(p) - log_floor(1 - p)}


def _basis(name: str) -> str:
    """What stands before a site's name where a parameter is held as a logarithm or a logit: "log_", "logit_" or ""."""
    return next((basis for basis in TO_SITE if name.startswith(basis)), "")


def to_sites(theta: Theta) -> Theta:
    """Parameters as NumPyro names and holds them: `log_theta` → `theta` = exp, `logit_theta` → `theta` = logistic."""
    sites = {}
    for name, value in theta.items():
        basis = _basis(name)  # "log_", "logit_" or nothing
        sites[name.removeprefix(basis)] = TO_SITE[basis](value) if basis else value
    return sites


def from_sites(parameters: tuple[str, ...], sites: Theta) -> Theta:
    """Parameters in the bases in which we hold them, from NumPyro's sites: the inverse of `to_sites`.

    Parameters
    ----------
    parameters : names of the parameters, with `log_` or `logit_` in front where they are held so
    sites : values by name of the site, such as "theta"
    """
    theta = {}
    for name in parameters:
        basis = _basis(name)  # "log_", "logit_" or nothing
        value = sites[name.removeprefix(basis)]  # the site "theta" of the parameter "logit_theta"
        theta[name] = _FROM_SITE[basis](value) if basis else value
    return theta


def as_jax(tree: Any) -> Any:
    """Arrays of a pytree as JAX arrays in the precision of the session.

    Said explicitly: NumPy's float64 handed to JAX as it is can stay float64 where 64 bits are switched off.
    """
    import jax
    import jax.numpy as jnp

    register_pytrees()
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(float)), tree)


def n_rows(x: Any, y: Any) -> int:
    """Size of the plate "row" of a NumPyro model: the number of rows of x, or of labels y if rows are drawn.

    Enumerated labels have other axes than the rows, so their length is not used.
    """
    return len(y) if x is None else x.shape[-2]


def observed(x: Any, fill: float = 0.0) -> tuple[Any, Any]:
    """Rows for a NumPyro site: a mask of the observed cells, and the rows with missing cells filled.

    Parameters
    ----------
    x : (n, d) dense or sparse rows, NaN where a cell is missing; None where rows are drawn, which gives (True, None)
    fill : a value that the likelihood accepts; the mask takes its term out
    """
    if x is None:  # NumPyro draws the rows, with all cells
        return True, None
    import jax.numpy as jnp

    x = as_jax(x.toarray() if is_sparse(x) else x)
    is_observed = ~jnp.isnan(x)
    return is_observed, jnp.where(is_observed, x, fill)


@functools.cache
def _block_scope() -> type:
    """A class of NumPyro handlers that put a prefix before all names of a part of a model, but for the plate "row".

    A model of several parts, each of some columns, runs the NumPyro model of one part after the other. Each may name a
    parameter "mu" and a plate "class". Under a handler with the prefix "numbers" these become "numbers.mu" and
    "numbers.class". All parts have the same rows, so the plate "row" keeps its name. The class is made at the first
    use, as its base class needs NumPyro.
    """
    from numpyro.handlers import scope

    class BlockScope(scope):
        """NumPyro's `scope`, which puts a prefix before all names, with two differences.

        A NumPyro model is a sequence of statements, `sample` and `plate`. Handlers see each of them as a message, which
        is a dict, before it is run (`process_message`) and after it (`postprocess_message`):

            {"type": "sample", "name": "x", "cond_indep_stack": [frame of the plate "row"], "infer": {…}, …}

        The differences: the plate "row" keeps its name, and axes of enumerated labels get the prefix too.
        """

        def process_message(self, msg: Any) -> None:
            """Put the prefix before the name of a statement and of the plates around it, but for the plate "row"."""
            frames_before = msg.get("cond_indep_stack") or []  # the plates around the statement, with their old names
            opens_rows = msg["type"] == "plate" and msg["name"] == "row"
            if not opens_rows:
                super().process_message(msg)  # renames the statement, and the plates around it
            if frames_before:
                msg["cond_indep_stack"] = _with_frame_of_rows(frames_before, msg["cond_indep_stack"])

        def postprocess_message(self, msg: Any) -> None:
            """Give the axes of an enumerated statement the new names of their plates.

            If NumPyro sums over the values of labels, "dim_to_name" in "infer" maps an axis, such as −1, to the name of
            its plate. It is empty if nothing is enumerated.
            """
            infer = msg.get("infer") or {}
            name_of_axis: Any = infer.get("dim_to_name") or {}
            if not name_of_axis:
                return
            for frame in msg["cond_indep_stack"]:  # the plates around the statement, with their new names
                if frame.dim in name_of_axis:
                    name_of_axis[frame.dim] = frame.name

    return BlockScope


def _with_frame_of_rows(before: list[Any], renamed: list[Any]) -> list[Any]:
    """The renamed frames of plates, but that of the plate "row" as it was; a frame has the `name` of a plate."""
    return [old if old.name == "row" else new for old, new in zip(before, renamed, strict=True)]


def block_scope(prefix: str) -> Any:
    """A scope that puts `prefix.` before the names of a block's sites and plates, except the plate of the rows."""
    return _block_scope()(prefix=prefix, divider=".")
