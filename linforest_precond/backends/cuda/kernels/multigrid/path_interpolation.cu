#include "matching/single_vertices.cuh"

// Weights are multiples of 1 / PARTS: exact in single precision, and so is their sum.
#define PARTS 256

// Each vertex's two neighbours on its path, NO_VERTEX where there is none, its position, and the couplings to both
// neighbours: where they are stored in the matrix, or their weights where `slots` is null.
struct Paths {
    const INDEX *neighbors, *positions, *slots;
    const VALUE* data;
    const WEIGHT* values;
};

DEVICE bool is_on_path(const Paths& paths, i64 v) { return paths.neighbors[2 * v] != NO_VERTEX; }

// Whether a vertex is kept that takes no other's row: every second one of a path, and those without any coupling.
DEVICE bool stays(const Paths& paths, i64 host) { return paths.positions[host] % 2 == 0 || !is_on_path(paths, host); }

DEVICE double size_at(const Paths& paths, i64 place) {
    if (paths.neighbors[place] < 0) return 0;
    return paths.slots ? widened(magnitude(paths.data[paths.slots[place]])) : widened(magnitude(paths.values[place]));
}

// A row of the prolongator: at most two kept vertices and their weights.
struct Row {
    INDEX vertices[2];
    double shares[2];
    int count;
};

// A kept vertex has a one; others are interpolated from their neighbours, with weights proportional to the couplings.
DEVICE Row row_of(const Paths& paths, i64 host) {
    if (stays(paths, host)) return {{(INDEX)host, NO_VERTEX}, {1.0, 0.0}, 1};
    Row row = {{NO_VERTEX, NO_VERTEX}, {0.0, 0.0}, 0};
    const double first = size_at(paths, 2 * host), total = first + size_at(paths, 2 * host + 1);
    const double share = rint(PARTS * (first / (total > 0.0 ? total : 1.0))) / PARTS, shares[2] = {share, 1.0 - share};
    for (int i = 0; i < 2; ++i) {
        const INDEX neighbour = paths.neighbors[2 * host + i];
        if (neighbour < 0 || shares[i] <= 0.0) continue;
        row.vertices[row.count] = neighbour;
        row.shares[row.count++] = shares[i];
    }
    return row;
}

// The vertex whose row each vertex has: its own on a path, that of its heaviest neighbour on a path elsewhere.
KERNEL find_hosts(Paths paths, In<INDEX> indptr, In<INDEX> indices, In<WEIGHT> values, i64 n, u32 tie_key,
                  INDEX* __restrict__ hosts) {
    const auto is_matched = [&](i64 v) { return is_on_path(paths, v); };
    const auto keep = [&](i64 v) { hosts[v] = (INDEX)v; };
    const auto join = [&](i64 v, INDEX neighbour) { hosts[v] = neighbour < 0 ? (INDEX)v : neighbour; };
    join_single_vertices(indptr, indices, values, n, tie_key, is_matched, keep, join);
}

// Flags the vertices that are kept, and counts the entries of each row of the prolongator; `totals` are both sums.
KERNEL count_shares(Paths paths, In<INDEX> hosts, i64 n, INDEX* __restrict__ kept, INDEX* __restrict__ counts,
                    u64* totals) {
    u64 all_kept = 0, entries = 0;
    GRID_STRIDE (i64, v, n) {
        const INDEX host = hosts[v];
        kept[v] = host == v && stays(paths, host);
        counts[v] = row_of(paths, host).count;
        all_kept += kept[v];
        entries += counts[v];
    }
    all_kept = warp_sum(all_kept);
    entries = warp_sum(entries);
    if (threadIdx.x % 32) return;
    atomicAdd(totals, all_kept);
    atomicAdd(totals + 1, entries);
}

DEVICE void set_share(float& to, double share) { to = (float)share; }
DEVICE void set_share(double& to, double share) { to = share; }
template <typename Complex>
DEVICE void set_share(Complex& to, double share) {
    set_share(to.re, share);
    to.im = 0;
}

// Fills the rows, which end at `ends`; `numbers` is the inclusive prefix sum of the kept vertices.
KERNEL fill_shares(Paths paths, In<INDEX> hosts, i64 n, In<INDEX> numbers, In<INDEX> ends, INDEX* __restrict__ columns,
                   VALUE* __restrict__ shares) {
    GRID_STRIDE (i64, v, n) {
        const Row row = row_of(paths, hosts[v]);
        const i64 begin = (i64)ends[v] - row.count;
        // Columns ascend with the vertices.
        const bool descends = row.count == 2 && row.vertices[0] > row.vertices[1];
        for (int i = 0; i < row.count; ++i) {
            const i64 place = begin + (descends ? 1 - i : i);
            columns[place] = numbers[row.vertices[i]] - 1;
            set_share(shares[place], row.shares[i]);
        }
    }
}
