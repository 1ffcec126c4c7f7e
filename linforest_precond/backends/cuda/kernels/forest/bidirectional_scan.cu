// From a [0,2]-factor to a linear forest by bidirectional scans: Klein & Strzodka (2022), sections 3.3 and 4.2. Each
// step is one launch that doubles the strides of all vertices, in both directions of their path or cycle. Buffers are
// double-buffered, because other threads still read the strides before the step.

// The neighbours of a vertex in the factor, ascending, or the vertices that its strides lead to; an end of the path is
// stored as -(end + 1). Paths have no direction: the sides of a vertex are those of its row.
struct alignas(2 * sizeof(INDEX)) Sides {
    INDEX at[2];
};

DEVICE bool is_path_end(INDEX reached) { return reached < 0; }
// As an end of a path: the vertex for the stored number, and the other way round.
DEVICE INDEX as_path_end(i64 v) { return (INDEX)(-1 - v); }

// An integer that orders weights: the bits of the magnitude.
DEVICE u32 weight_key(float a) { return rank_of(a); }
DEVICE u64 weight_key(double a) { return bits(magnitude(a)); }
typedef decltype(weight_key(WEIGHT())) Key;

// The weakest edge of a stride, the least by (weight, smaller end, larger end).
struct Weakest {
    Key weight;
    u32 low, high;
};

// Those of both strides of a vertex: read and written as a whole, in words of 8 or 16 bytes.
struct alignas(2 * sizeof(Key)) Edges {
    Weakest at[2];
};

DEVICE Weakest combined(const Weakest& a, const Weakest& b) {
    if (a.weight != b.weight) return a.weight < b.weight ? a : b;
    if (a.low != b.low) return a.low < b.low ? a : b;
    return a.high <= b.high ? a : b;
}
DEVICE INDEX combined(INDEX a, INDEX b) { return a + b; }

// Line 3 of Algorithm 3: the strides of length 1.
DEVICE Sides first_strides(const Sides& row, i64 v) {
    Sides strides;
#pragma unroll
    for (int side = 0; side < 2; ++side) strides.at[side] = row.at[side] < 0 ? as_path_end(v) : row.at[side];
    return strides;
}

// Lines 9 to 24 of Algorithm 3 for one vertex. On each side, the stride of the vertex that is reached is appended: the
// one that does not lead back. On a cycle whose length is a power of two both lead back in the end: the two strides of
// a vertex then meet at the opposite vertex, and cover the cycle together.
template <typename Items>
DEVICE void double_strides(i64 v, In<Sides> strides, In<Items> items, Sides* __restrict__ next_strides,
                           Items* __restrict__ next_items) {
    Sides own = strides[v];
    Items found = items[v];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        const INDEX w = own.at[side];
        if (is_path_end(w)) continue;
        const Sides reached = strides[w];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            if (reached.at[j] == (INDEX)v) continue;
            found.at[side] = combined(found.at[side], items[w].at[j]);
            own.at[side] = reached.at[j];
        }
    }
    next_items[v] = found;
    next_strides[v] = own;
}

// Starts the scan for cycles: strides of length 1 and their edges. An edge has the lesser of the weights at its ends, so
// that a user's factor with two different ones has one weakest edge of each cycle, too.
KERNEL begin_cycle_scan(In<Sides> rows, In<WEIGHT> values, i64 vertices, Sides* __restrict__ strides,
                        Edges* __restrict__ weakest) {
    GRID_STRIDE (i64, v, vertices) {
        const Sides row = rows[v];
        strides[v] = first_strides(row, v);
        Edges edges;
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            const i64 w = row.at[side];
            edges.at[side] = {(Key) ~(Key)0, ~0u, ~0u};
            if (w >= 0) {
                const int back = rows[w].at[1] == (INDEX)v;
                const Key own = weight_key(values[2 * v + side]), other = weight_key(values[2 * w + back]);
                edges.at[side] = {own < other ? own : other, (u32)(v < w ? v : w), (u32)(v < w ? w : v)};
            }
        }
        weakest[v] = edges;
    }
}

// One step of the scan for cycles; its operator is the minimum of edges.
KERNEL cycle_scan_step(In<Sides> strides, In<Edges> weakest, i64 vertices, Sides* __restrict__ next_strides,
                       Edges* __restrict__ next_weakest) {
    GRID_STRIDE (i64, v, vertices) double_strides(v, strides, weakest, next_strides, next_weakest);
}

// PATHS: paths. LONGEST: vertices of the longest one. CYCLES: cycles.
enum ForestCounter { PATHS, LONGEST, CYCLES };

// Removes the weakest edge of each cycle: vertices whose strides have not come to an end are on cycles. Each end of the
// edge changes its own row. `slots` may be null.
KERNEL cut_weakest_edges(In<Sides> strides, In<Edges> weakest, i64 vertices, Sides* __restrict__ rows,
                         WEIGHT* __restrict__ values, INDEX* __restrict__ slots, u64* counters) {
    u64 cycles = 0;
    GRID_STRIDE (i64, v, vertices) {
        if (is_path_end(strides[v].at[0])) continue;
        const Weakest edge = combined(weakest[v].at[0], weakest[v].at[1]);
        if ((u32)v != edge.low && (u32)v != edge.high) continue;
        cycles += (u32)v == edge.low;
        const INDEX across = (INDEX)((u32)v == edge.low ? edge.high : edge.low);
        const Sides row = rows[v];
        if (row.at[0] == across) {
            values[2 * v] = values[2 * v + 1];
            if (slots) slots[2 * v] = slots[2 * v + 1];
        }
        rows[v] = {{row.at[0] == across ? row.at[1] : row.at[0], NO_VERTEX}};
        values[2 * v + 1] = 0;
        if (slots) slots[2 * v + 1] = NO_VERTEX;
    }
    cycles = warp_sum(cycles);
    if (threadIdx.x % 32 == 0 && cycles) atomicAdd(counters + CYCLES, cycles);
}

// Lines 1 to 4 of Algorithm 3: strides of length 1, and positions counted from 1.
KERNEL begin_path_scan(In<Sides> rows, i64 vertices, Sides* __restrict__ strides, Sides* __restrict__ positions) {
    GRID_STRIDE (i64, v, vertices) {
        strides[v] = first_strides(rows[v], v);
        positions[v] = {{1, 1}};
    }
}

// One step of Algorithm 3; the operator of the scan is addition.
KERNEL path_scan_step(In<Sides> strides, In<Sides> positions, i64 vertices, Sides* __restrict__ next_strides,
                      Sides* __restrict__ next_positions) {
    GRID_STRIDE (i64, v, vertices) double_strides(v, strides, positions, next_strides, next_positions);
}

// Lines 27 to 33 of Algorithm 3: the smaller end of its path is the id of a vertex, and the distance to it its position.
// Also the length of each path, at its id, and the counts of paths.
KERNEL label_by_ends(In<Sides> strides, In<Sides> positions, i64 vertices, INDEX* __restrict__ path_id,
                     INDEX* __restrict__ position, INDEX* __restrict__ lengths, u64* counters) {
    u64 paths = 0, longest = 0;
    GRID_STRIDE (i64, v, vertices) {
        const Sides ends = strides[v], places = positions[v];
        const bool second = as_path_end(ends.at[1]) < as_path_end(ends.at[0]);
        const INDEX id = as_path_end(second ? ends.at[1] : ends.at[0]);
        const INDEX length = id == (INDEX)v ? places.at[0] + places.at[1] - 1 : 0;
        path_id[v] = id;
        position[v] = second ? places.at[1] : places.at[0];
        lengths[v] = length;
        paths += length > 0;
        if ((u64)length > longest) longest = (u64)length;
    }
    paths = warp_sum(paths);
    longest = warp_max(longest);
    if (threadIdx.x % 32) return;
    if (paths) atomicAdd(counters + PATHS, paths);
    if (longest) atomicMax(counters + LONGEST, longest);
}
