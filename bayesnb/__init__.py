"""Naive Bayes with the whole posterior: closed form and NumPyro, side by side.

Names are imported on first use, so importing the package loads neither JAX nor scikit-learn nor ArviZ. The file
`__init__.pyi` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.2.0"
_PROVISIONAL = ("FamilyNB", "testing")  # may change in a minor version; all others by deprecation alone
