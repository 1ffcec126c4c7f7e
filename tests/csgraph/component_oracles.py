"""Reference implementations of components in plain Python, independent of the library."""


def weak_labels(around):
    """Union-find over the edges of `around`, sets of neighbours; numbered by the lowest vertex."""
    parents = list(range(len(around)))

    def find(v):
        while parents[v] != v:
            v = parents[v]
        return v

    for v, row in enumerate(around):
        for u in row:
            low, high = sorted((find(v), find(u)))
            parents[high] = low
    return numbered([find(v) for v in range(len(around))])


def strong_labels(around):
    """Tarjan's algorithm with an explicit stack instead of recursion; numbered by the lowest vertex."""
    size = len(around)
    number, low, component = [None] * size, [0] * size, [None] * size
    path, found = [], 0
    for start in range(size):
        calls = [] if number[start] is not None else [(start, iter(sorted(around[start])))]
        while calls:
            v, rest = calls[-1]
            if number[v] is None:
                number[v] = low[v] = found
                found += 1
                path.append(v)
            for u in rest:
                if number[u] is None:
                    calls.append((u, iter(sorted(around[u]))))
                    break
                if component[u] is None:
                    low[v] = min(low[v], number[u])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[v])
                if low[v] == number[v]:
                    while component[v] is None:
                        component[path.pop()] = v
    return numbered(component)


def numbered(labels):
    """Labels renamed so that they are numbered by their lowest vertices."""
    names = {}
    return [names.setdefault(label, len(names)) for label in labels]


def roots(parents):
    """The root of each vertex, None for one that leads to a cycle."""
    found = []
    for v in range(len(parents)):
        for _ in parents:
            if parents[v] in (v,) or parents[v] < 0:
                break
            v = parents[v]
        found.append(v if parents[v] == v or parents[v] < 0 else None)
    return found
