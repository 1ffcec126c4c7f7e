// Checks of the arrays of factors and forests that users give back. An item is reported as its complement by atomicMax:
// zeroed memory means none, and the first item wins.

DEVICE bool is_vertex(INDEX v, i64 n) { return v >= 0 && (i64)v < n; }
DEVICE void report_item(u64* report, i64 item) { atomicMax(report, ~(u64)item); }

// Scatters the places of an order; reports those that are out of range.
KERNEL rank_order(In<INDEX> order, INDEX* __restrict__ rank, i64 n, u64* report) {
    GRID_STRIDE (i64, place, n) {
        const INDEX v = order[place];
        if (is_vertex(v, n)) rank[v] = place;
        else report_item(report, place);
    }
}

// Reports the places of vertices that occur twice: one of them was overwritten.
KERNEL check_ranks(In<INDEX> order, In<INDEX> rank, i64 n, u64* report) {
    GRID_STRIDE (i64, place, n) {
        const INDEX v = order[place];
        if (is_vertex(v, n) && rank[v] != (INDEX)place) report_item(report, place);
    }
}

// Reports the vertices whose neighbours are not next to them in the order.
KERNEL check_paths(In<INDEX> neighbors, In<INDEX> rank, i64 n, u64* report) {
    GRID_STRIDE (i64, v, n)
        for (int i = 0; i < 2; ++i) {
            const INDEX w = neighbors[2 * v + i];
            if (w == NO_VERTEX) continue;
            const INDEX step = is_vertex(w, n) ? rank[w] - rank[v] : 0;
            if (step != 1 && step != -1) report_item(report, v);
        }
}

DEVICE bool is_paired(In<INDEX> neighbors, i64 v, INDEX w, i64 n) {
    if (!is_vertex(w, n)) return w == NO_VERTEX;
    return w != (INDEX)v && (neighbors[2 * (i64)w] == (INDEX)v || neighbors[2 * (i64)w + 1] == (INDEX)v);
}

// Reports the vertices whose neighbours do not have them as neighbours. Neighbours ascend, with empty places last.
KERNEL check_edges(In<INDEX> neighbors, i64 n, u64* report) {
    GRID_STRIDE (i64, v, n) {
        const INDEX first = neighbors[2 * v], second = neighbors[2 * v + 1];
        const bool ascend = second == NO_VERTEX || (first >= 0 && second > first);
        if (!ascend || !is_paired(neighbors, v, first, n) || !is_paired(neighbors, v, second, n))
            report_item(report, v);
    }
}
