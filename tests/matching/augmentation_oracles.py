"""Reference augmentations of the locally dominant matching in plain Python."""

import oracles
from matching_oracles import locally_dominant

TOLERANCE = 2.0**-49


class Augmenter:
    """A matching, the best augmentation {centre: (gain, a, b)} of each centre, and the vertices to search."""

    def __init__(self, edges, size, seed):
        self.around = oracles.adjacency({edge: float(weight) for edge, weight in edges.items()}, size)
        self.mate, _ = locally_dominant(edges, size, seed)
        self.size, self.seed, self.found, self.dirty = size, seed, {}, set(range(size))

    def own(self, v):
        return self.around[v][self.mate[v]] if v is not None and self.mate[v] >= 0 else 0.0

    def centre(self, v):
        return v if self.mate[v] < 0 else min(v, self.mate[v])

    def arms(self, v, m, without=None):
        """(gain, outer vertex) of the best arm of v, whose mate is m; not to `without` or its mate."""
        arms = [
            (own - weight, oracles.edge_hash(v, a, 0, self.seed), a)
            for a, weight in self.around[v].items()
            if a != m and weight - (own := self.own(a)) > 0
            if without is None or (a != without and a != self.mate[without])
        ]
        if not arms:
            return 0.0, None
        _, _, a = min(arms)
        return self.around[v][a] - self.own(a), a

    def search(self, v):
        """The best augmentation of a centre, or None."""
        m = self.mate[v]
        if m < 0:
            gain, a = self.arms(v, None)
            return (gain, a, None) if a is not None and gain > TOLERANCE * (gain + self.own(a)) else None
        (g, a), (h, b) = self.arms(v, m), self.arms(m, v)
        if a is not None and b is not None and b in (a, self.mate[a]):
            (g2, a2), (h2, b2) = self.arms(v, m, a), self.arms(m, v, a)
            (g, a), (h, b) = ((g, a), (h2, b2)) if g + h2 >= g2 + h else ((g2, a2), (h, b))
        removed = self.around[v][m]
        gain, added = (g + h) - removed, (g + h) + (self.own(a) + self.own(b))
        cycles = []
        for x, weight in self.around[v].items():
            y = self.mate[x]
            if x != m and y >= 0 and y in self.around[m]:
                total = weight + self.around[m][y]
                found = total - (self.own(x) + removed)
                if found > max(gain, 0.0) and found > TOLERANCE * total:
                    cycles.append((-found, x, y))
        if cycles:
            found, x, y = min(cycles)
            return -found, x, y
        return (gain, a, b) if gain > 0 and gain > TOLERANCE * added else None

    def touched(self, v):
        firsts = [x for x in (v, *self.found[v][1:]) if x is not None]
        return {x for first in firsts for x in (first, self.mate[first]) if x >= 0}

    def search_dirty(self):
        for v in {self.centre(x) for x in self.dirty}:
            self.found.pop(v, None)
            best = self.search(v)
            if best:
                self.found[v] = best

    def best_of_round(self):
        """The augmentations that are the best at all of their vertices."""
        gains, ties = {}, {}
        for v, (gain, *_) in self.found.items():
            for x in self.touched(v):
                gains[x] = max(gains.get(x, 0.0), gain)
        equal = [v for v in self.found if all(gains[x] == self.found[v][0] for x in self.touched(v))]
        for v in equal:
            for x in self.touched(v):
                ties[x] = min(ties.get(x, self.tie(v)), self.tie(v))
        return [v for v in equal if all(ties[x] == self.tie(v) for x in self.touched(v))]

    def tie(self, v):
        return oracles.edge_hash(v, v if self.mate[v] < 0 else self.mate[v], 0, self.seed), v

    def apply_round(self):
        changed = set()
        for v in self.best_of_round():
            touched = self.touched(v)
            (_, a, b), m = self.found[v], self.mate[v]
            for x in touched:
                self.mate[x] = -1
            for x, y in ((v, a), (m, b)):
                if y is not None:
                    self.mate[x], self.mate[y] = y, x
            changed |= touched
        for x in changed:
            self.found.pop(x, None)
        self.dirty = set(changed)
        for x in changed:
            for u, weight in self.around[x].items():
                had_arm = x in self.found.get(self.centre(u), ())[1:]
                if had_arm or weight > self.own(x):
                    self.dirty.add(u)


def augmented(edges, size, seed=0, max_rounds=None):
    """The mates, the rounds, and whether no augmentation is left."""
    augmenter, rounds = Augmenter(edges, size, seed), 0
    while True:
        augmenter.search_dirty()
        if not augmenter.found or rounds == max_rounds:
            return augmenter.mate, rounds, not augmenter.found
        augmenter.apply_round()
        rounds += 1


def has_augmentation(edges, mate, seed=0):
    """Whether any augmentation is left, whatever was searched before."""
    augmenter = Augmenter(edges, len(mate), seed)
    augmenter.mate = list(mate)
    return any(augmenter.search(augmenter.centre(v)) for v in range(len(mate)))
