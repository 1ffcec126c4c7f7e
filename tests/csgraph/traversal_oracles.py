"""Reference spanning forests and breadth-first orders in plain Python, independent of the library."""

from ordering_oracles import levels


def kruskal(A, sign=1):
    """The entries (row, column, value) of the forest: edges by (sign * value, lower end, higher end)."""
    A = A.tocoo()
    entries = zip(A.row.tolist(), A.col.tolist(), A.data.tolist(), strict=True)
    edges = sorted(
        (sign * value, min(row, column), max(row, column), row > column, row, column, value)
        for row, column, value in entries
        if row != column
    )
    parents, forest = list(range(A.shape[0])), []
    for *_, row, column, value in edges:
        one, other = root(parents, row), root(parents, column)
        if one != other:
            parents[one] = other
            forest.append((row, column, value))
    return sorted(forest)


def root(parents, v):
    while parents[v] != v:
        parents[v] = parents[parents[v]]
        v = parents[v]
    return v


def breadth_first_order(around, source):
    """The reachable vertices by (depth, index), and the lowest predecessor of each."""
    level = levels(around, source)
    order = sorted((level[v], v) for v in range(len(around)) if level[v] >= 0)
    predecessors = [-9999] * len(around)
    for v in range(len(around)):
        for u in around[v] if level[v] >= 0 else ():
            if level[u] == level[v] + 1 and predecessors[u] < 0:
                predecessors[u] = v
    return [v for _, v in order], predecessors
