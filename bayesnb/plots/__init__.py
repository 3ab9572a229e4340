"""Plots in Matplotlib: every function accepts `ax`, draws on it and returns it.

The functions do not show, save or restyle a figure, and make a new figure only if no `ax` is given. Classes differ by
line, marker or position as well as by colour. The colours (Okabe & Ito 2008) suit colour-blind readers.
"""

from .assessment import calibration as calibration
from .assessment import comparison as comparison
from .assessment import pit as pit
from .assessment import reliability as reliability
from .evidence import feature_weights as feature_weights
from .evidence import nomogram as nomogram
from .parameters import parameter_intervals as parameter_intervals
from .parameters import prior_to_posterior as prior_to_posterior
from .parameters import simplex as simplex
from .parameters import smoothing_path as smoothing_path
from .prediction import class_probabilities as class_probabilities
from .prediction import decision_regions as decision_regions
from .prior_predictive import prior as prior
