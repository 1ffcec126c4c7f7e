"""Reference orderings in plain Python, independent of the library."""

import math
from collections import deque


def directed_neighbors(A):
    """For each vertex the set of columns stored in its row, explicit zeros included, itself excluded."""
    A = A.tocoo()
    around = [set() for _ in range(A.shape[0])]
    for row, column in zip(A.row.tolist(), A.col.tolist(), strict=True):
        if row != column:
            around[row].add(column)
    return around


def neighbors(A):
    """The same for A + A.T."""
    around = directed_neighbors(A)
    for v, row in enumerate([set(row) for row in around]):
        for u in row:
            around[u].add(v)
    return around


def levels(around, source):
    """Breadth-first depths, -1 where a vertex is not reachable."""
    level = [-1] * len(around)
    level[source] = 0
    queue = deque([source])
    while queue:
        v = queue.popleft()
        for u in around[v]:
            if level[u] < 0:
                level[u] = level[v] + 1
                queue.append(u)
    return level


def components(around):
    """The components as lists of vertices, in the order of their lowest vertices."""
    found, seen = [], set()
    for v in range(len(around)):
        if v not in seen:
            found.append([u for u, level in enumerate(levels(around, v)) if level >= 0])
            seen.update(found[-1])
    return found


def labels(around):
    label = [-1] * len(around)
    for number, component in enumerate(components(around)):
        for v in component:
            label[v] = number
    return label


def pseudo_peripheral(around, first):
    """George-Liu search; the vertex and the depths of the last breadth-first search."""
    root, level = first, levels(around, first)
    while max(level) > 0:
        depth = max(level)
        last = [v for v in range(len(around)) if level[v] == depth]
        root = min(last, key=lambda v: (len(around[v]), v))
        level = levels(around, root)
        if max(level) <= depth:
            break
    return root, level


def cuthill_mckee(around, start=None):
    """One component after the other with a queue, children by (degree, index)."""
    order = []
    for component in components(around):
        if start in component:
            root = start
        else:
            root, _ = pseudo_peripheral(around, min(component, key=lambda v: (len(around[v]), v)))
        order += _number(around, root)
    return order


def _number(around, root):
    order, numbered = [root], {root}
    for v in order:  # grows during the iteration
        children = sorted(around[v] - numbered, key=lambda u: (len(around[u]), u))
        numbered.update(children)
        order += children
    return order


def envelope(A, order=None):
    """Bandwidth, profile and wavefronts by their definitions, on A + A.T."""
    around = neighbors(A)
    size = len(around)
    order = list(range(size)) if order is None else [int(v) for v in order]
    place = {v: i for i, v in enumerate(order)}
    rows = [{place[u] for u in around[v]} for v in order]
    bandwidth = max((abs(i - j) for i in range(size) for j in rows[i]), default=0)
    profile = sum(i - min(rows[i] | {i}) for i in range(size))
    fronts = [sum(1 for j in range(i, size) if j == i or min(rows[j] | {j}) <= i) for i in range(size)]
    mean_square = sum(front**2 for front in fronts) / size if size else 0.0
    return bandwidth, profile, (max(fronts, default=0), math.sqrt(mean_square))


def factor_columns(A, order=None):
    """The rows below the diagonal in each column of the Cholesky factor, by eliminating vertices."""
    around = neighbors(A)
    order = range(len(around)) if order is None else [int(v) for v in order]
    place = {v: i for i, v in enumerate(order)}
    columns = []
    for v in order:
        later = {u for u in around[v] if place[u] > place[v]}
        for u in later:
            around[u] |= later - {u}
        columns.append({place[u] for u in later})
    return columns


def tree_height(columns):
    """Of the elimination tree: the parent of a column is the first row below its diagonal."""
    heights = [1] * len(columns)
    for j, rows in enumerate(columns):
        if rows:
            heights[min(rows)] = max(heights[min(rows)], heights[j] + 1)
    return max(heights, default=0)
