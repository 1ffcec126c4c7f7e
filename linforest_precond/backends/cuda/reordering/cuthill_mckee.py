"""The Cuthill-McKee order: pseudo-peripheral starts, a traversal of all components, a sort by component."""

from ..csgraph import breadth_first, components
from ..csgraph.sorted_neighbors import sorted_rows
from ..runtime.lazy_cupy import cupy
from . import rcm_batch, rcm_leveled

TRAVERSALS = {"leveled": rcm_leveled.traverse, "batch": rcm_batch.traverse}
METHODS = tuple(TRAVERSALS)


def order(pattern, start, method):
    """The vertices in Cuthill-McKee order, not reversed; `start` is used for its own component."""
    count, labels = components.weak_components(pattern)
    rows = sorted_rows(pattern)
    starts = breadth_first.pseudo_peripheral_vertices(rows, count, labels, start)
    traverse = TRAVERSALS["leveled" if method == "auto" else method]
    return by_component(traverse(rows, starts), count, labels)


def by_component(order, count, labels):
    """Sort by component, stably: the traversal interleaves the frontiers of all components."""
    if count == 1:
        return order
    return order[cupy.argsort(labels[order], kind="stable")]
