// Blocks of an adjacency matrix on a grid of ranks: push and pull along the edges of listed rows (chapter 6 of Mandulak,
// 2025, whose Manhattan collapse is the prefix sum `starts` of the rows' lengths).

#include "runtime/edge_order.cuh"
#include "csgraph/load_balance.cuh"

// Calls visit(place, row, slot) for every entry of the listed rows.
template <typename Visit>
DEVICE void for_each_listed(In<i64> starts, In<i64> rows, i64 count, In<i64> indptr, Visit visit) {
    if (count == 0) return;
    for_each_entry(
        starts, (int)count, starts[count], [](int) { return true; },
        [&](int place, i64 entry) { visit(place, rows[place], indptr[rows[place]] + entry - starts[place]); });
}

// The place in the list of each entry's row, and its slot.
KERNEL expand(In<i64> starts, In<i64> rows, i64 count, In<i64> indptr, i64* __restrict__ places,
              i64* __restrict__ slots) {
    for_each_listed(starts, rows, count, indptr, [&](int place, i64 row, i64 slot) {
        const i64 entry = starts[place] + slot - indptr[row];
        places[entry] = place;
        slots[entry] = slot;
    });
}

// Push: each listed row lowers the states of its neighbours; pull: it lowers its own. A stale state is never below the
// current one, so that a value that is not below it can be dropped.
KERNEL lower_along(In<i64> starts, In<i64> rows, i64 count, In<i64> indptr, In<i64> indices, i64 first_row, i64 pull,
                   In<i64> values, i64* state) {
    for_each_listed(starts, rows, count, indptr, [&](int, i64 row, i64 slot) {
        const i64 own = row + first_row, other = indices[slot], target = pull ? own : other;
        const i64 value = values[pull ? other : own];
        if (value < state[target]) atomicMin(state + target, value);
    });
}

// Each row adds its share, times the weight, to its neighbours: in fixed point, whose sums have no order.
KERNEL add_along(In<i64> indptr, i64 rows, In<i64> indices, i64 first_column, In<double> shares, In<double> weights,
                 double unit, double lower_unit, i64 columns, u64* __restrict__ sums) {
    if (rows == 0) return;
    for_each_entry(
        indptr, (int)rows, indptr[rows], [&](int row) { return shares[row] != 0.0; },
        [&](int row, i64 slot) {
            const double scaled = (weights ? weights[slot] * shares[row] : shares[row]) * unit, units = floor(scaled);
            const u64 lower = (u64)(i64)floor((scaled - units) * lower_unit);
            u64* const sum = sums + (indices[slot] - first_column);
            atomicAdd(sum, (u64)(i64)units);
            if (lower) atomicAdd(sum + columns, lower);
        });
}

// The largest weight of each row; the bits of positive doubles order as these.
KERNEL row_maxima(In<i64> indptr, i64 rows, In<double> weights, i64* __restrict__ maxima) {
    if (rows == 0) return;
    for_each_entry(
        indptr, (int)rows, indptr[rows], [](int) { return true; },
        [&](int row, i64 slot) { atomicMax(maxima + row, __double_as_longlong(weights[slot])); });
}

KERNEL minimum_at(i64* __restrict__ state, In<i64> ids, In<i64> values, i64 count) {
    GRID_STRIDE (i64, i, count) atomicMin(state + ids[i], values[i]);
}

KERNEL add_at(u64* __restrict__ sums, In<i64> ids, In<u64> values, i64 count) {
    GRID_STRIDE (i64, i, count) atomicAdd(sums + ids[i], values[i]);
}

// Thread per run: the values of a run are added from left to right.
KERNEL run_sums(In<double> values, i64 count, In<i64> begins, i64 runs, double* __restrict__ sums) {
    GRID_STRIDE (i64, run, runs) {
        const i64 end = run + 1 < runs ? begins[run + 1] : count;
        double sum = values[begins[run]];
        for (i64 i = begins[run] + 1; i < end; ++i) sum += values[i];
        sums[run] = sum;
    }
}

KERNEL hash_edges(In<i64> sources, In<i64> targets, u32 key, i64 count, i64* __restrict__ hashes) {
    GRID_STRIDE (i64, i, count) hashes[i] = edge_hash(sources[i], targets[i], key);
}
