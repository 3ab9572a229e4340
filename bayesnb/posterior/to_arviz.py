"""The one place that knows which ArviZ is installed.

ArviZ below 1 (the last that runs on CPython 3.11) holds groups in an `InferenceData`, ArviZ 1 in xarray's `DataTree`.
The version decides: 1.x still resolves the name `InferenceData`.
"""

import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from .. import __version__
from .variables import Variable, as_coordinate


def import_arviz() -> Any:
    """ArviZ, on first use: it takes seconds to load, and 0.23 announces its successor while it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    return arviz


def as_arviz(groups: Mapping[str, xr.Dataset]) -> Any:
    """Datasets by group name as ArviZ data: `InferenceData` for ArviZ below 1, `xarray.DataTree` from 1 on.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from bayesnb.posterior.to_arviz import as_arviz
    >>> draws = xr.Dataset({"theta": (("chain", "draw"), np.zeros((1, 3)))})
    >>> as_arviz({"posterior": draws})["posterior"]["theta"].dims
    ('chain', 'draw')
    """
    arviz = import_arviz()
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(**groups)
    return xr.DataTree.from_dict(dict(groups))


def dataset(
    variables: Mapping[str, Variable],
    coords: Mapping[str, Any],
    *,
    sampled: bool = True,
    library: str = "bayesnb",
) -> xr.Dataset:
    """Variables as an xarray Dataset; with `sampled`, (chain, draw) are the first two axes of every array.

    Parameters
    ----------
    variables : arrays with the names of their axes, by name. The names in `also` are coordinates that belong to a
        variable though none of its axes has them
    coords : labels of the entries of an axis, by its name; those that no variable has are left out
    sampled : whether the arrays are draws
    library : the package that made the draws
    """
    lead = ["chain", "draw"] if sampled else []
    arrays = {}
    used: set[str] = set()
    for name, variable in variables.items():
        arrays[name] = ([*lead, *variable.dims], variable.values, variable.attrs)
        used |= {*variable.dims, *variable.also}
    data = xr.Dataset(arrays, coords={name: as_coordinate(labels) for name, labels in coords.items() if name in used})
    if sampled and variables:
        data = data.assign_coords(chain=np.arange(data.sizes["chain"]), draw=np.arange(data.sizes["draw"]))
    return data.assign_attrs(
        created_at=datetime.now(UTC).isoformat(),
        creation_library="bayesnb",
        creation_library_version=__version__,
        inference_library=library,
        inference_library_version=__version__ if library == "bayesnb" else version(library),
    )


def elpd_data(pointwise: np.ndarray, se: float, p: float) -> Any:
    """Exact leave-one-out values as ArviZ's `ELPDData`, for its comparison table and plots.

    There are no draws behind them, so `n_samples` is 0, and no importance weights, so there is no Pareto k.

    Parameters
    ----------
    pointwise : (n,) log predictive density of each row given all others, nats
    se : standard error of their sum
    p : effective number of parameters
    """
    # three versions of ArviZ have three classes for this result: below 1, 1.0, and later ones
    arviz = import_arviz()
    n = len(pointwise)
    values = xr.DataArray(pointwise, dims=["row"], coords={"row": np.arange(n)}, name="loo_i")
    elpd = float(pointwise.sum())
    if int(arviz.__version__.split(".")[0]) < 1:
        from arviz.stats.stats_utils import ELPDData

        index = ["elpd_loo", "se", "p_loo", "n_samples", "n_data_points", "warning", "loo_i", "scale"]
        return ELPDData(data=[elpd, se, p, 0, n, False, values, "log"], index=index)
    utils = import_module("arviz_stats.utils")

    sums = {"elpd": elpd, "se": se, "p": p, "n_samples": 0, "n_data_points": n, "scale": "log", "elpd_i": values}
    if hasattr(utils, "ELPDDataLOO"):
        return utils.ELPDDataLOO(**sums, warning=False, good_k=None)
    return utils.ELPDData(kind="loo", **sums, warning=False, good_k=None)  # ArviZ 1.0
