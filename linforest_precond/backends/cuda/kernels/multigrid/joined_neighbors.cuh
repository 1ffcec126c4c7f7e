// The neighbour whose aggregate an unknown joins.

#define JOINING_SHARE 0.25

// A pattern whose diagonal entries are no edges.
struct StrongGraph {
    In<INDEX> indptr;
    In<int> columns, degrees;
};

// The first number among a vertex's neighbours, or -1; `number(v)` is that of vertex v.
template <typename Number>
DEVICE int first_number(const StrongGraph& graph, i64 vertex, const Team& team, Number number) {
    const i64 end = graph.indptr[vertex + 1];
    for (i64 base = graph.indptr[vertex]; base < end; base += TEAM) {
        const int own = base + team.lane < end ? number(graph.columns[base + team.lane]) : -1;
        const u32 found = team.vote(own >= 0);
        if (found) return team.from(own, __ffs(found) - 1);
    }
    return -1;
}

// The column of a row's largest coupling, the first of equal ones, if the row without strong couplings joins it; else -1.
DEVICE i64 joined_column(const Couplings& c, In<int> degrees, i64 row, const Team& team) {
    const Matrix& A = c.matrix;
    const double sign = wide_real(A.diagonal[row]);
    double best = 0;
    i64 column = -1;
    each_slot(A.indptr, row, team, [&](i64 slot, bool valid) {
        const double found = valid ? row_coupling(A, c.is_signed, row, sign, slot) : 0.0;
        if (!(found > best)) return;
        best = found;
        column = clamped(A.indices[slot], A.n);
    });
    for (int half = TEAM / 2; half > 0; half /= 2) {
        const double other = team.across(best, half);
        const i64 other_column = team.across(column, half);
        if (!(other > best || (other == best && other_column < column))) continue;
        best = other;
        column = other_column;
    }
    if (column < 0 || degrees[column] == 0) return -1;
    return best >= JOINING_SHARE * wide_magnitude(A.diagonal[row]) ? column : -1;
}
