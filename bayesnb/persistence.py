"""Fitted estimators in files: `load`, after the import of every module whose classes a file may name.

The format is in `core.model_file`. Each class enters itself in `core.registry` when its module is imported.
"""

from . import drop_in, estimators, families
from .analysis import calibration as calibration
from .core.model_file import FORMAT, load, save
from .estimators import _codecs as _codecs

for _package in (estimators, families, drop_in):
    for _name in _package.__all__:
        getattr(_package, _name)  # imports the module, in which the class enters itself

__all__ = ["FORMAT", "load", "save"]
