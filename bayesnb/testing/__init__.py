"""Tests for a family of your own: every law that the families of bayesnb obey.

Provisional: a later release may change names and signatures.
"""

from .checking import BrokenLaw, check_family

__all__ = ["BrokenLaw", "check_family"]
