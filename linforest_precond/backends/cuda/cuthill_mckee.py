"""The order of Cuthill and McKee of all components at once: starts, one traversal, components in order."""

from . import batch, components, leveled, levels
from .lazy import cupy
from .rows import sorted_rows

TRAVERSALS = {"leveled": leveled.traverse, "batch": batch.traverse}
METHODS = tuple(TRAVERSALS)


def order(pattern, start, method):
    """The vertices in Cuthill-McKee order, not reversed; `start` serves its own component."""
    count, labels = components.weak_components(pattern)
    rows = sorted_rows(pattern)
    starts, _ = levels.rim_vertices(rows, count, labels, start)
    traverse = TRAVERSALS["leveled" if method == "auto" else method]
    return by_component(traverse(rows, starts), count, labels)


def by_component(order, count, labels):
    """Bring the components, whose levels are interleaved, one after the other."""
    if count == 1:
        return order
    return order[cupy.argsort(labels[order], kind="stable")]
