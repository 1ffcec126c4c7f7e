"""Cuthill-McKee orderings and their starting vertices; gap metrics and the refinement of orderings."""

from . import cuthill_mckee as cuthill_mckee
from . import gap_metrics as gap_metrics
from . import rcm_batch as rcm_batch
from . import rcm_leveled as rcm_leveled
from . import rcm_unordered as rcm_unordered
from . import refinement as refinement
