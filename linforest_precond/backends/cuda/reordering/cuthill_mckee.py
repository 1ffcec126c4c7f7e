"""The Cuthill-McKee order: pseudo-peripheral starts, a traversal of all components, a sort by component."""

from functools import partial

from ..csgraph import breadth_first, components
from ..csgraph.sorted_neighbors import sorted_rows
from ..runtime import cupy
from . import rcm_batch, rcm_leveled, rcm_unordered

TRAVERSALS = {
    "leveled": rcm_leveled.traverse,
    "batch": rcm_batch.traverse,
    "unordered": rcm_unordered.traverse,
}
METHODS = tuple(TRAVERSALS)


def order(pattern, start, method, options=None):
    """The vertices in Cuthill-McKee order, not reversed; `start` is used for its own component.

    `options` are those of the batches.
    """
    count, labels = components.weak_components(pattern)
    rows = sorted_rows(pattern)
    starts = breadth_first.pseudo_peripheral_vertices(rows, count, labels, start)
    traverse = TRAVERSALS["leveled" if method == "auto" else method]
    if options is not None:
        traverse = partial(traverse, options=options)
    return by_component(traverse(rows, starts), labels, count)


def batch_profile(pattern, start, options=None):
    """The order with all components interleaved, and cycles and counts of the parts of the batch method."""
    count, labels = components.weak_components(pattern)
    rows = sorted_rows(pattern)
    starts = breadth_first.pseudo_peripheral_vertices(rows, count, labels, start)
    return rcm_batch.profile_rows(rows, starts, options)


def by_component(order, labels, count):
    """Sort by component, stably: the traversal interleaves the frontiers of all components."""
    if count == 1:
        return order
    return order[cupy.argsort(labels[order], kind="stable")]
