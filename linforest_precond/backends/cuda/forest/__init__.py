"""From a graph to bands: [0,n]-factors, linear forests, their orderings, pairs of vertices, bands."""

from . import band_refresh as band_refresh
from . import bands as bands
from . import bidirectional_scan as bidirectional_scan
from . import block_bands as block_bands
from . import factor as factor
from . import greedy as greedy
from . import linear_forest as linear_forest
from . import ordering as ordering
from . import pairs as pairs
from . import path_pairs as path_pairs
from . import record_checks as record_checks
