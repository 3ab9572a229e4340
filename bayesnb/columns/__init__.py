"""What the columns of a table are: the role of each, why, and how its cells become numbers or levels."""

from .contract import Column as Column
from .contract import ColumnContract as ColumnContract
from .describing import describe as describe
