"""Cuthill-McKee orderings and their starting vertices; gap metrics and the refinement of orderings."""

from . import batch_queue as batch_queue
from . import batch_stages as batch_stages
from . import batch_state as batch_state
from . import cache_model as cache_model
from . import child_order as child_order
from . import cuthill_mckee as cuthill_mckee
from . import gap_metrics as gap_metrics
from . import pseudo_peripheral as pseudo_peripheral
from . import rcm_batch as rcm_batch
from . import rcm_leveled as rcm_leveled
from . import rcm_serial as rcm_serial
from . import rcm_unordered as rcm_unordered
from . import refinement as refinement
