#include "forest/grouped_rows.cuh"

// Pairs across paths: vertices of two neighbouring paths, mates, are paired one by one. A place is an index of the
// forest's order.

// The paths of a forest in its order; `starts` also has the number of vertices. `number` is one more than the path at
// a place.
struct Numbered {
    In<INDEX> order, rank, number;
    INDEX* starts;
    i64 vertices, paths;
};

// A forest whose vertices are the paths.
struct Lines {
    In<INDEX> path_id, position, order, rank;
};

// The mate of each path or NO_VERTEX; of each sampled row, the number of its entries in the mate and the sum of their
// places; of each path, a place aligned with that of its mate, and the direction: same (1), opposite (-1), or not
// coupled (0).
struct Mates {
    INDEX* mates;
    i64 *counts, *sums;
    INDEX *aligned, *directions;
};

// The bits of a weight as an integer: they are ordered as the weights are.
DEVICE i64 weight_bits(double a) { return __double_as_longlong(fabs(a)); }
DEVICE i64 weight_bits(float a) { return rank_of(a); }

// Half of the heavier edge of a vertex: its exponent is one less. Negative for weights that have no half.
DEVICE i64 half_of_heavier(const VALUE* values, i64 v) {
    return max(weight_bits(values[2 * v]), weight_bits(values[2 * v + 1])) - (1ll << (sizeof(VALUE) == 4 ? 23 : 52));
}

// Removes from a [0,2]-factor the edges below half of the heaviest at both ends, which join parallel grid lines; the
// others come first.
KERNEL drop_weak_edges(In<INDEX> neighbors, In<VALUE> values, i64 vertices, INDEX* __restrict__ kept,
                       VALUE* __restrict__ kept_values) {
    GRID_STRIDE (i64, v, vertices) {
        const i64 half = half_of_heavier(values, v);
        i64 place = 2 * v;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const INDEX w = neighbors[2 * v + i];
            const VALUE value = values[2 * v + i];
            const i64 weight = weight_bits(value);
            if (w < 0) continue;
            if (weight < half) {
                // The other end decides by the same numbers, which differ if the user's values change meanwhile.
                const i64 there = weight_bits(values[2 * (i64)w + (neighbors[2 * (i64)w] != v)]);
                if (max(weight, there) < min(half, half_of_heavier(values, w))) continue;
            }
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
KERNEL mark_starts(In<INDEX> position, In<INDEX> rank, i64 vertices, INDEX* __restrict__ flags) {
    GRID_STRIDE (i64, v, vertices)
        if (position[v] == 1) flags[rank[v]] = 1;
}

// The first place of each path.
KERNEL list_starts(Numbered paths) {
    GRID_STRIDE (i64, place, paths.vertices) {
        const INDEX number = paths.number[place];
        if (place == 0 || paths.number[place - 1] != number) paths.starts[number - 1] = (INDEX)place;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) paths.starts[paths.paths] = (INDEX)paths.vertices;
}

// The place of the first sampled row of a path.
DEVICE i64 middle(const Numbered& paths, i64 path) {
    return ((i64)paths.starts[path] + paths.starts[path + 1] - 1) / 2;
}

// The two vertices of each path whose rows are sampled: neighbours in the middle. And the path of each vertex.
KERNEL sample_rows(Numbered paths, INDEX* __restrict__ sampled, INDEX* __restrict__ path_of) {
    GRID_STRIDE (i64, path, paths.paths) {
        const i64 place = middle(paths, path);
        sampled[2 * path] = paths.order[place];
        sampled[2 * path + 1] = paths.order[min(place + 1, (i64)paths.starts[path + 1] - 1)];
    }
    GRID_STRIDE (i64, place, paths.vertices) path_of[paths.order[place]] = paths.number[place] - 1;
}

// The rule of paths for `GroupedTerms`: the key is the path of the column. Weights are added up in the order of the
// sampled rows and their columns.
struct PathRule {
    struct Sum {
        VALUE sum;

        DEVICE Sum(u32 key, VALUE weight) : sum(weight) {}
        DEVICE void add(u32 key, VALUE weight) { sum = plus(sum, weight); }
        DEVICE VALUE total() const { return finite(sum); }
    };
    static DEVICE u32 key(INDEX target, VALUE value, int side, i64 path) {
        return target == path || rank_of(value) == 0 ? DROPPED : (u32)target;
    }
    static DEVICE u32 column_of(u32 key) { return key; }
};

// The graph of the paths: each path merges its sampled rows.
KERNEL __launch_bounds__(THREADS, 5)
    merge_samples(GroupedGraph graph, MergedRows merged, MergeRoom room, int rows_at_once, u64* states, u64* totals) {
    merge_all_rows(GroupedTerms<PathRule>{graph, nullptr}, graph.groups, merged, room, rows_at_once, states, totals);
}

// Pairs the paths along their lines: the first of each with the second, and so on.
KERNEL find_mates(Lines lines, i64 paths, INDEX* __restrict__ mates) {
    GRID_STRIDE (i64, path, paths) {
        const i64 beside = (i64)lines.rank[path] + (lines.position[path] % 2 ? 1 : -1);
        const INDEX mate = beside < paths ? lines.order[beside] : NO_VERTEX;
        mates[path] = mate >= 0 && lines.path_id[mate] == lines.path_id[path] ? mate : NO_VERTEX;
    }
}

// Counts the sampled entries in the mates of their paths, and adds up their places; both are zero at first. `lanes` take
// each row. The columns are renumbered by their paths.
KERNEL meet_mates(Numbered paths, GroupedGraph graph, int lanes, Mates found) {
    GROUP_STRIDE (i64, item, 2 * paths.paths, lanes) {
        const i64 path = item >> 1, mate = found.mates[path];
        if (mate < 0) continue;
        const INDEX v = graph.members[item];
        const i64 end = graph.indptr[v + 1];
        u64 count = 0, sum = 0;
        for (i64 slot = (i64)graph.indptr[v] + threadIdx.x % lanes; slot < end; slot += lanes) {
            const INDEX target = clamped(graph.indices[slot], graph.vertices);
            if (graph.places[target] != mate || rank_of(graph.values[slot]) == 0) continue;
            ++count;
            sum += paths.rank[target];
        }
        if (!count) continue;
        const i64 row = path + (item & 1) * paths.paths;
        atomicAdd((u64*)found.counts + row, count);
        atomicAdd((u64*)found.sums + row, sum);
    }
}

// How a path meets its mate: the mean of the places of the entries of its first sampled row, and the direction.
struct Meeting {
    i64 mean, direction;
};

DEVICE Meeting meeting_of(const Mates& found, i64 path, i64 paths) {
    const i64 first = found.counts[path], second = found.counts[path + paths];
    if (!first) return {0, 0};
    const i64 mean = found.sums[path] / first;
    return {mean, second && found.sums[path + paths] / second < mean ? -1 : 1};
}

// Aligns mates. One of two decides, the lower one if its first sampled row has entries in the other: the place of that
// row is aligned with the mean of the places of these entries.
KERNEL align_mates(Numbered paths, Mates found) {
    GRID_STRIDE (i64, path, paths.paths) {
        const i64 mate = found.mates[path];
        if (mate < 0) continue;
        const Meeting own = meeting_of(found, path, paths.paths), other = meeting_of(found, mate, paths.paths);
        const bool decides = own.direction && (!other.direction || path < mate);
        found.aligned[path] = (INDEX)(decides ? middle(paths, path) : other.mean);
        found.directions[path] = (INDEX)(decides ? own.direction : other.direction);
    }
}

// The partner of each vertex, at the same distance from the aligned places of both paths, or NO_VERTEX.
KERNEL list_partners(Numbered paths, Mates found, INDEX* __restrict__ partners) {
    GRID_STRIDE (i64, place, paths.vertices) {
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
