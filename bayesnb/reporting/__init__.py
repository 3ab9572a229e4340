"""The page that `bayesnb.report` writes: what it is about, its sections, and how it is laid out."""

from .judging import calibration_gain as calibration_gain
from .page import Report as Report
from .page import report as report
