"""Matchings of rows and columns with the most edges, by depth-first searches with lookahead.

Algorithm PF+ of Duff, Kaya & Uçar, "Design, implementation, and analysis of maximum transversal algorithms"
(2011), doi:10.1145/2049673.2049677: in each phase, disjoint augmenting paths are searched from all unmatched
rows, which visit each column once; phases look at entries from the left and from the right in turn.
"""

import numpy as np

from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel


def matched_columns(indptr, indices, nonzero):
    """A column for each row, in a largest matching by entries that are not 0; -1 for rows that are left over.

    Rows with a diagonal entry begin with that, others with their first free column.
    """
    n = indptr.size - 1
    columns, rows = np.full(n, NO_VERTEX, np.int64), np.full(n, NO_VERTEX, np.int64)
    match_all(readonly(indptr), readonly(indices), readonly(nonzero), columns, rows)
    return columns


@kernel
def match_all(indptr, indices, nonzero, columns, rows):
    n = columns.size
    for row in range(n):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            if indices[slot] == row and nonzero[slot]:
                columns[row] = rows[row] = row
    ahead = indptr[:n].astype(np.int64)
    for row in range(n):
        if columns[row] == NO_VERTEX:
            column = next_free(indptr, indices, nonzero, rows, ahead, row)
            if column != NO_VERTEX:
                columns[row], rows[column] = column, row
    visited, begun = np.zeros(n, np.int64), np.zeros(n, np.int64)
    seen, path = np.empty(n, np.int64), np.empty(n, np.int64)
    phase, has_changed = 0, True
    while has_changed:
        phase += 1
        has_changed = False
        for start in range(n):
            if columns[start] != NO_VERTEX:
                continue
            path[0], length = start, 1
            while length:
                row = path[length - 1]
                column = next_free(indptr, indices, nonzero, rows, ahead, row)
                if column != NO_VERTEX:
                    has_changed = True
                    for place in range(length - 1, -1, -1):
                        before = columns[path[place]]
                        columns[path[place]], rows[column] = column, path[place]
                        column = before
                    break
                if begun[row] != phase:
                    begun[row], seen[row] = phase, 0
                begin, entries = np.int64(indptr[row]), np.int64(indptr[row + 1] - indptr[row])
                column = np.int64(NO_VERTEX)
                while seen[row] < entries and column == NO_VERTEX:
                    slot = begin + (seen[row] if phase % 2 else entries - 1 - seen[row])
                    seen[row] += 1
                    if nonzero[slot] and visited[indices[slot]] != phase:
                        column = np.int64(indices[slot])
                if column == NO_VERTEX:
                    length -= 1
                else:
                    visited[column] = phase
                    path[length] = rows[column]
                    length += 1


# The next column of a row that has not been matched yet. Columns stay matched: entries are passed once.
@helper
def next_free(indptr, indices, nonzero, rows, ahead, row):
    end = np.int64(indptr[row + 1])
    while ahead[row] < end:
        slot = ahead[row]
        ahead[row] += 1
        if nonzero[slot] and rows[indices[slot]] == NO_VERTEX:
            return np.int64(indices[slot])
    return np.int64(NO_VERTEX)
