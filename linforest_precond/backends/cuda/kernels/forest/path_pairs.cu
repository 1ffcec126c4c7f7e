#include "runtime/common.cuh"

// Pairs across paths: vertices of two neighbouring paths, mates, are paired one by one. A place is an index of the
// forest's order.

// The paths of a forest in its order; `starts` also has the number of vertices. `number` is one more than the path at
// a place.
struct Numbered {
    const INDEX* __restrict__ order;
    const INDEX* __restrict__ rank;
    const INDEX* __restrict__ number;
    INDEX* starts;
    i64 vertices, paths;
};

// Two neighbouring rows from the middle of each path: all first rows, then all second ones. For each entry: its row,
// the row's path, the column's place and path, the weight.
struct Sampled {
    i64* indptr;
    INDEX* rows;
    INDEX* paths;
    INDEX* targets;
    INDEX* target_paths;
    VALUE* weights;
};

// A forest whose vertices are the paths.
struct Lines {
    const INDEX* __restrict__ path_id;
    const INDEX* __restrict__ position;
    const INDEX* __restrict__ order;
    const INDEX* __restrict__ rank;
};

// The mate of each path or NO_VERTEX; of each sampled row, the number of its entries in the mate and the sum of their
// places; of each path, a place aligned with that of its mate, and the direction: same (1), opposite (-1), or not
// coupled (0).
struct Mates {
    INDEX* mates;
    i64* counts;
    i64* sums;
    INDEX* aligned;
    INDEX* directions;
};

__device__ __forceinline__ i64 own_thread() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ i64 all_threads() { return (i64)gridDim.x * blockDim.x; }

// The bits of a weight as an integer: they are ordered as the weights are.
__device__ __forceinline__ i64 weight_bits(double a) { return __double_as_longlong(fabs(a)); }
__device__ __forceinline__ i64 weight_bits(float a) { return rank_of(a); }

// Half of the heavier edge of a vertex: its exponent is one less. Negative for weights that have no half.
__device__ __forceinline__ i64 half_of_heavier(const VALUE* values, i64 v) {
    return max(weight_bits(values[2 * v]), weight_bits(values[2 * v + 1])) - (1ll << (sizeof(VALUE) == 4 ? 23 : 52));
}

// Removes from a [0,2]-factor the edges below half of the heaviest at both ends, which join parallel grid lines; the
// others come first.
extern "C" __global__ void drop_weak_edges(const INDEX* __restrict__ neighbors, const VALUE* __restrict__ values,
                                           i64 vertices, INDEX* __restrict__ kept, VALUE* __restrict__ kept_values) {
    for (i64 v = own_thread(); v < vertices; v += all_threads()) {
        const i64 half = half_of_heavier(values, v);
        i64 place = 2 * v;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const INDEX w = neighbors[2 * v + i];
            const VALUE value = values[2 * v + i];
            const i64 weight = weight_bits(value);
            if (w < 0 || (weight < half && weight < half_of_heavier(values, w))) continue;
            kept[place] = w;
            kept_values[place++] = value;
        }
        for (; place < 2 * v + 2; ++place) {
            kept[place] = NO_VERTEX;
            kept_values[place] = 0;
        }
    }
}

// Flags the places where paths start, in zeroed memory; a prefix sum over the flags numbers the paths.
extern "C" __global__ void mark_starts(const INDEX* __restrict__ position, const INDEX* __restrict__ rank, i64 vertices,
                                       INDEX* __restrict__ flags) {
    for (i64 v = own_thread(); v < vertices; v += all_threads())
        if (position[v] == 1) flags[rank[v]] = 1;
}

// The first place of each path.
extern "C" __global__ void list_starts(Numbered paths) {
    for (i64 place = own_thread(); place < paths.vertices; place += all_threads()) {
        const INDEX number = paths.number[place];
        if (place == 0 || paths.number[place - 1] != number) paths.starts[number - 1] = (INDEX)place;
    }
    if (own_thread() == 0) paths.starts[paths.paths] = (INDEX)paths.vertices;
}

// The place of the first sampled row of a path.
__device__ __forceinline__ i64 middle(const Numbered& paths, i64 path) {
    return ((i64)paths.starts[path] + paths.starts[path + 1] - 1) / 2;
}

// Where the sampled rows begin in the graph, and their lengths behind a zero, whose prefix sums are their pointers.
extern "C" __global__ void measure_samples(Numbered paths, const INDEX* __restrict__ indptr, INDEX* __restrict__ first,
                                           i64* __restrict__ lengths) {
    if (own_thread() == 0) lengths[0] = 0;
    for (i64 row = own_thread(); row < 2 * paths.paths; row += all_threads()) {
        const bool second = row >= paths.paths;
        const i64 path = second ? row - paths.paths : row;
        const i64 place = min(middle(paths, path) + second, (i64)paths.starts[path + 1] - 1);
        const INDEX v = paths.order[place];
        first[row] = indptr[v];
        lengths[row + 1] = indptr[v + 1] - indptr[v];
    }
}

// Copies the sampled rows, `lanes` to a row.
extern "C" __global__ void copy_samples(Numbered paths, const INDEX* __restrict__ indices,
                                        const VALUE* __restrict__ values, const INDEX* __restrict__ first, int lanes,
                                        Sampled samples) {
    for (i64 row = own_thread() / lanes; row < 2 * paths.paths; row += all_threads() / lanes) {
        const i64 begin = samples.indptr[row], end = samples.indptr[row + 1], shift = first[row] - begin;
        for (i64 i = begin + threadIdx.x % lanes; i < end; i += lanes) {
            const INDEX target = paths.rank[clamped(indices[i + shift], paths.vertices)];
            samples.rows[i] = (INDEX)row;
            samples.paths[i] = (INDEX)(row < paths.paths ? row : row - paths.paths);
            samples.targets[i] = target;
            samples.target_paths[i] = paths.number[target] - 1;
            samples.weights[i] = magnitude(values[i + shift]);
        }
    }
}

// Pairs the paths along their lines: the first of each with the second, and so on.
extern "C" __global__ void find_mates(Lines lines, i64 paths, INDEX* __restrict__ mates) {
    for (i64 path = own_thread(); path < paths; path += all_threads()) {
        const i64 beside = (i64)lines.rank[path] + (lines.position[path] % 2 ? 1 : -1);
        const INDEX mate = beside < paths ? lines.order[beside] : NO_VERTEX;
        mates[path] = mate >= 0 && lines.path_id[mate] == lines.path_id[path] ? mate : NO_VERTEX;
    }
}

// Counts the sampled entries in the mates of their paths, and adds up their places; both are zero at first.
extern "C" __global__ void meet_mates(Sampled samples, i64 entries, Mates found) {
    for (i64 i = own_thread(); i < entries; i += all_threads()) {
        if (samples.target_paths[i] != found.mates[samples.paths[i]] || rank_of(samples.weights[i]) == 0) continue;
        const i64 row = samples.rows[i];
        atomicAdd((u64*)found.counts + row, 1ull);
        atomicAdd((u64*)found.sums + row, (u64)samples.targets[i]);
    }
}

// How a path meets its mate: the mean of the places of the entries of its first sampled row, and the direction.
struct Meeting {
    i64 mean, direction;
};

__device__ __forceinline__ Meeting meeting_of(const Mates& found, i64 path, i64 paths) {
    const i64 first = found.counts[path], second = found.counts[path + paths];
    if (!first) return {0, 0};
    const i64 mean = found.sums[path] / first;
    return {mean, second && found.sums[path + paths] / second < mean ? -1 : 1};
}

// Aligns mates. One of two decides, the lower one if its first sampled row has entries in the other: the place of that
// row is aligned with the mean of the places of these entries.
extern "C" __global__ void align_mates(Numbered paths, Mates found) {
    for (i64 path = own_thread(); path < paths.paths; path += all_threads()) {
        const i64 mate = found.mates[path];
        if (mate < 0) continue;
        const Meeting own = meeting_of(found, path, paths.paths), other = meeting_of(found, mate, paths.paths);
        const bool decides = own.direction && (!other.direction || path < mate);
        found.aligned[path] = (INDEX)(decides ? middle(paths, path) : other.mean);
        found.directions[path] = (INDEX)(decides ? own.direction : other.direction);
    }
}

// The partner of each vertex, at the same distance from the aligned places of both paths, or NO_VERTEX.
extern "C" __global__ void list_partners(Numbered paths, Mates found, INDEX* __restrict__ partners) {
    for (i64 place = own_thread(); place < paths.vertices; place += all_threads()) {
        const i64 path = paths.number[place] - 1, mate = found.mates[path];
        INDEX partner = NO_VERTEX;
        if (mate >= 0) {
            const i64 direction = found.directions[path];
            const i64 there = (i64)found.aligned[mate] + direction * (place - found.aligned[path]);
            if (direction && there >= paths.starts[mate] && there < paths.starts[mate + 1])
                partner = paths.order[there];
        }
        partners[paths.order[place]] = partner;
    }
}
