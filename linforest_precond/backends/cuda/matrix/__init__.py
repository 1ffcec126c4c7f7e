"""Matrices in CSR: scans of entries and patterns, digests, fixed-order sums, sparse products."""

from . import conversion as conversion
from . import diagonal_blocks as diagonal_blocks
from . import entries as entries
from . import log_scaling as log_scaling
from . import long_row_split as long_row_split
from . import pattern_digest as pattern_digest
from . import pattern_scan as pattern_scan
from . import row_merging as row_merging
from . import row_products as row_products
from . import row_scaling as row_scaling
from . import row_staging as row_staging
from . import sparse_products as sparse_products
from . import sums as sums
