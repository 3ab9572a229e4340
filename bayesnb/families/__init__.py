"""The likelihoods, one file and one page each, and what a family of your own must define.

A family is a frozen dataclass whose fields are hyperparameters with the classes along the first axis. If features are
independent given the class, it is a subclass of `Conjugate`, and the author writes these names:

==========================  ===========================================================================================
`fields_`                   support and axes of every field: `declare(a=Field(COUNT))`
`cells_`                    what a cell is, whether rows may be sparse, what the likelihood is a density of: `Cells(…)`
`parameters`                names of θ; `log_` or `logit_` in front says in which basis the closed form holds it
`prior`, `likelihood`       the model of a cell in NumPyro's terms
`added`, `gain`             the update, and by how much data raise the log normaliser of the density
`eta`                       level and slope of the log likelihood; `statistic` and `log_h`, where they are not x and 0
==========================  ===========================================================================================

Otherwise it is a subclass of `AbstractConjugate`, and the author writes tables and the NumPyro model.

Put `pytree` above `@dataclass(frozen=True)`; then JAX can compile the class and `save` can write it. Import the module
that defines the family before you load a file of such a model. `bayesnb.testing.check_family(family)` checks every law
on the family. `bayesnb.FamilyNB(family)` is its estimator. It has leave-one-out, intervals, evidence, comparison, prior
fitting, MixedNB parts, ArviZ, `save` and `check`. The page "How to add a family" of the documentation has an example.

`_page` imports what the pages of this package are written with. Names are imported on first use.
"""

from typing import Any

import lazy_loader

from ..numerics.pytrees import register_pytrees

_lookup, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    register_pytrees()
    return _lookup(name)
