"""Tests for a family of your own: every law that the families of bayesnb obey.

Provisional: a later release may change names and signatures.
"""

from typing import TYPE_CHECKING

from ..core.lazy import by_name

if TYPE_CHECKING:
    from .checking import BrokenLaw as BrokenLaw
    from .checking import check_family as check_family

_HOME = {"BrokenLaw": "checking", "check_family": "checking"}
__all__ = [*_HOME]
__getattr__, __dir__ = by_name(__name__, _HOME)
