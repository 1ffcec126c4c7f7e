"""The order of Cuthill and McKee of all components at once: starts, one traversal, components in order."""

from ..csgraph import breadth_first, components
from ..csgraph.sorted_neighbors import sorted_rows
from ..runtime.lazy_cupy import cupy
from . import rcm_batch, rcm_leveled

TRAVERSALS = {"leveled": rcm_leveled.traverse, "batch": rcm_batch.traverse}
METHODS = tuple(TRAVERSALS)


def order(pattern, start, method):
    """The vertices in Cuthill-McKee order, not reversed; `start` serves its own component."""
    count, labels = components.weak_components(pattern)
    rows = sorted_rows(pattern)
    starts, _ = breadth_first.rim_vertices(rows, count, labels, start)
    traverse = TRAVERSALS["leveled" if method == "auto" else method]
    return by_component(traverse(rows, starts), count, labels)


def by_component(order, count, labels):
    """Bring the components, whose levels are interleaved, one after the other."""
    if count == 1:
        return order
    return order[cupy.argsort(labels[order], kind="stable")]
