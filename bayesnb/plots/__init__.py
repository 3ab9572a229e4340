"""Plots in Matplotlib: every function accepts `ax`, draws on it and returns it.

The functions do not show, save or restyle a figure, and make a new figure only if no `ax` is given. Classes differ by
line, marker or position as well as by colour. The colours (Okabe & Ito 2008) suit colour-blind readers.
"""

from .contributions import feature_effect as feature_effect
from .contributions import nomogram as nomogram
from .parameters import parameter_intervals as parameter_intervals
from .parameters import prior as prior
from .parameters import prior_to_posterior as prior_to_posterior
from .parameters import simplex as simplex
from .parameters import smoothing_path as smoothing_path
from .posterior_picture import map_against_posterior as map_against_posterior
from .predictions import class_probabilities as class_probabilities
from .predictions import comparison as comparison
from .predictions import decision_regions as decision_regions
from .predictions import feature_weights as feature_weights
from .predictions import pit as pit
from .predictions import reliability as reliability
from .ranking_curves import precision_recall as precision_recall
from .ranking_curves import roc as roc
