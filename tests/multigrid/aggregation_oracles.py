"""Smoothed aggregation in plain Python, straight from the definitions."""

import numpy as np
import vertex_oracles
from oracles import magnitude


class Oracle:
    """The couplings of a CSR matrix whose columns ascend in each row."""

    def __init__(self, A, strength, signed=True):
        self.size, self.dtype = A.shape[0], A.dtype
        ends = list(zip(A.indptr[:-1].tolist(), A.indptr[1:].tolist()))
        self.rows = [
            {int(j): a for j, a in zip(A.indices[slice(*end)].tolist(), A.data[slice(*end)])} for end in ends
        ]
        self.diagonal = [row.get(i, A.dtype.type(0)) for i, row in enumerate(self.rows)]
        self.dominant = [self._is_dominant(i) for i in range(self.size)]
        self.sizes = [self._scale(i, signed) for i in range(self.size)]
        self.strengths = [
            {j: self._strength(i, j, signed) for j in row if j != i} for i, row in enumerate(self.rows)
        ]
        largest = [max(row.values(), default=0.0) for row in self.strengths]
        least = float(strength) * float(strength)
        self.strong = [
            [j for j, s in row.items() if s > 0 and s >= least * max(largest[i], largest[j])]
            for i, row in enumerate(self.strengths)
        ]
        self.couplings = [
            {j: self._row_coupling(i, j, signed) for j in row if j != i} for i, row in enumerate(self.rows)
        ]
        self.kept = [self._row_strong(i, float(strength)) for i in range(self.size)]
        self.around = [set(row) for row in self.strong]
        for i, row in enumerate(self.strong):
            for j in row:
                self.around[j].add(i)

    def _others(self, i):
        total = 0.0
        for j, a in self.rows[i].items():
            if j != i:
                total += float(magnitude(a))
        return total

    def _is_dominant(self, i):
        return float(magnitude(self.diagonal[i])) >= 5.0 * self._others(i)

    def _scale(self, i, signed):
        return float(magnitude(self.diagonal[i])) or (0.0 if signed else self._others(i))

    def _strength(self, i, j, signed):
        opposite = float(self.diagonal[i].real) * np.sign(float(self.rows[i][j].real)) < 0
        if self.dominant[i] or self.dominant[j] or 0.0 in (self.sizes[i], self.sizes[j]):
            return 0.0
        if signed and (not opposite or self.diagonal[j].real == 0):
            return 0.0
        size = float(magnitude(self.rows[i][j]))
        return (size / self.sizes[i]) * (size / self.sizes[j])

    def _row_coupling(self, i, j, signed):
        opposite = np.sign(float(self.diagonal[i].real)) * np.sign(float(self.rows[i][j].real)) < 0
        return float(magnitude(self.rows[i][j])) if opposite or not signed else 0.0

    def _row_strong(self, i, strength):
        """The couplings of row i in F: none if the row has no strong ones."""
        row = self.couplings[i] if self.strong[i] else {}
        return [j for j, c in row.items() if c > 0 and c >= strength * (1 - 2**-12) * max(row.values())]

    def _joined(self, v):
        """Whom an unknown without strong couplings joins, or None."""
        best = max(self.couplings[v].values(), default=0.0)
        j = next((j for j, c in self.couplings[v].items() if c == best), None)
        enough = best > 0 and best >= 0.25 * float(magnitude(self.diagonal[v]))
        return j if enough and self.around[j] else None

    def _is_root(self, v, mark):
        return mark if self.around[v] else not self.dominant[v] and self._joined(v) is None

    def aggregate(self, seed):
        """The numbers of the aggregates, and the roots."""
        marks = vertex_oracles.independent_set(self.around, 2, seed)
        roots = [v for v in range(self.size) if self._is_root(v, marks[v])]
        near = {root: number for number, root in enumerate(roots)}
        near.update({v: near[root] for root in roots for v in self.around[root]})
        joined = dict(near)
        for v in range(self.size):
            if self.around[v] and v not in near:
                joined[v] = near[min(u for u in self.around[v] if u in near)]
        numbers = [joined.get(v, -1) for v in range(self.size)]
        for v in range(self.size):
            if numbers[v] < 0 and not self.dominant[v]:
                numbers[v] = joined[self._joined(v)]
        return numbers, roots

    def _filtered(self, i):
        """The diagonal of F and the weight of row i."""
        own = complex(self.diagonal[i])
        real, imag, total = own.real, own.imag, 0.0
        for j, a in self.rows[i].items():
            if j in self.kept[i]:
                total += float(magnitude(a))
            elif j != i:
                real, imag = real + float(a.real), imag + float(a.imag)
        size = float(magnitude(self.diagonal[i]))
        if not (size and (real / size) * (own.real / size) + (imag / size) * (own.imag / size) > 0.1):
            real, imag = own.real, own.imag
        total += float(magnitude(np.complex128(complex(real, imag))))
        return real, imag, (4.0 / 3.0) / total if total >= np.finfo(float).tiny else 0.0

    def prolongator(self, numbers):
        """{column: value} of each row, in double precision."""
        return [self._row(i, numbers) for i in range(self.size)]

    def _row(self, i, numbers):
        real, imag, weight = self._filtered(i) if self.strong[i] else (0.0, 0.0, 0.0)
        found = {}
        if numbers[i] >= 0:
            found[numbers[i]] = (1.0 - weight * real, 0.0 - weight * imag)
        for j in sorted(self.kept[i]):
            if numbers[j] >= 0:
                a, before = self.rows[i][j], found.get(numbers[j], (0.0, 0.0))
                found[numbers[j]] = (before[0] - weight * float(a.real), before[1] - weight * float(a.imag))
        return dict(sorted(found.items()))
