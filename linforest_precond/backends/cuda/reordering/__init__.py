"""Cuthill-McKee orderings and their starting vertices."""

from . import cuthill_mckee as cuthill_mckee
from . import rcm_batch as rcm_batch
from . import rcm_leveled as rcm_leveled
from . import rcm_unordered as rcm_unordered
