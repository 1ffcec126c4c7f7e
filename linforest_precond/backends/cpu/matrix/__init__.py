"""Matrices in CSR: scans of entries and patterns, digests, fixed-order sums, sparse products."""

from . import conversion as conversion
from . import diagonal_blocks as diagonal_blocks
from . import entries as entries
from . import entry_text as entry_text
from . import log_scaling as log_scaling
from . import pattern_digest as pattern_digest
from . import pattern_scan as pattern_scan
from . import row_scaling as row_scaling
from . import row_shares as row_shares
from . import sparse_products as sparse_products
from . import sums as sums
