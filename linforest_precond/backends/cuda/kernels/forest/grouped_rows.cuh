#include "runtime/bitonic_sort.cuh"
#include "runtime/look_back.cuh"
#include "matrix/row_merging.cuh"

// Coarse graphs of groups of two vertices, whose rows are merged. Values are weights: VALUE is real.

// A sum of weights, at most the largest number.
DEVICE VALUE finite(VALUE sum) {
    const VALUE largest = sizeof(VALUE) == 4 ? (VALUE)3.4028234663852886e38 : (VALUE)1.7976931348623157e308;
    return rank_of(sum) < rank_of(largest) ? sum : largest;
}

// A graph, and two members of each group: vertices, or a lone one and NO_VERTEX. `places` are what columns are
// renumbered by.
struct GroupedGraph {
    In<INDEX> indptr, indices;
    In<VALUE> values;
    In<INDEX> members, places;
    i64 vertices, groups;
};

// The entries of a group: those of its first member, then those of the second one.
struct GroupRow {
    i64 begin[2];
    int length[2];

    DEVICE i64 slot(int i) const { return i < length[0] ? begin[0] + i : begin[1] + (i - length[0]); }
};

DEVICE GroupRow load_row(const GroupedGraph& graph, i64 group) {
    GroupRow row;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        const INDEX v = graph.members[2 * group + side];
        row.begin[side] = v < 0 ? 0 : (i64)graph.indptr[v];
        row.length[side] = v < 0 ? 0 : (int)(graph.indptr[v + 1] - graph.indptr[v]);
    }
    return row;
}

DEVICE bool outweighs(VALUE a, VALUE b) { return rank_of(a) > rank_of(b); }

// The two largest weights of a row, 0 where there are fewer.
struct HeaviestTwo {
    VALUE first = 0, second = 0;

    DEVICE void insert(VALUE weight) {
        if (outweighs(weight, first)) {
            second = first;
            first = weight;
        } else if (outweighs(weight, second)) {
            second = weight;
        }
    }
    // Joins the weights of some lanes of a warp, a power of two; these alone take part.
    DEVICE void join(int lanes) {
        const int first_lane = threadIdx.x % 32 / lanes * lanes;
        const u32 group = (lanes < 32 ? (1u << lanes) - 1 : FULL_WARP) << first_lane;
        for (int distance = lanes / 2; distance > 0; distance /= 2) {
            const VALUE other_first = __shfl_xor_sync(group, first, distance);
            const VALUE other_second = __shfl_xor_sync(group, second, distance);
            insert(other_first);
            insert(other_second);
        }
    }
};

// The entries of all groups for `merge_all_rows`. A type `Rule` gives the key of an entry, by the place of its column,
// and how values are added up. The two largest values of each merged row are left in `heaviest`, 0 where there are
// fewer, unless it is null.
template <typename Rule>
struct GroupedTerms {
    GroupedGraph graph;
    VALUE* heaviest;

    struct Term {
        INDEX column;
        VALUE value;
        int side;  // 1 for a row of the second member
    };
    using Sum = typename Rule::Sum;
    static constexpr int ROW_LANES = 4;
    struct Members {
        i64 begins[2][ROWS];
        int low_lengths[ROWS];
    };

    DEVICE u32 key(const Term& term, i64 group) const {
        return Rule::key(graph.places[term.column], term.value, term.side, group);
    }
    static DEVICE VALUE value(const Term& term) { return magnitude(term.value); }
    static DEVICE u32 column_of(u32 key) { return Rule::column_of(key); }

    struct Row {
        const GroupedGraph& graph;
        GroupRow row;

        DEVICE Term load(int i) const {
            const i64 slot = row.slot(i);
            return {clamped(graph.indices[slot], graph.vertices), graph.values[slot], i >= row.length[0]};
        }
    };
    DEVICE Row row(i64 group) const { return {graph, load_row(graph, group)}; }

    DEVICE void load_tile(MergeTile& tile, Members& members, int rows) const {
        __shared__ int total;
        const int t = threadIdx.x;
        int length = 0;
        if (t < rows) {
            const GroupRow row = load_row(graph, tile.first_row + t);
            members.begins[0][t] = row.begin[0];
            members.begins[1][t] = row.begin[1];
            members.low_lengths[t] = row.length[0];
            length = row.length[0] + row.length[1];
        }
        const int before = block_exclusive_sum(length, &total);
        if (t < rows) tile.terms[t] = before;
        if (t == rows - 1) tile.terms[rows] = before + length;
    }
    DEVICE bool fits(const Members& members, int first, int end) const { return true; }
    DEVICE void load_members(const MergeTile& tile, Members& members, int first, int end) const {}

    DEVICE GroupRow loaded_row(const MergeTile& tile, const Members& members, int r) const {
        const int low_length = members.low_lengths[r], length = (int)(tile.terms[r + 1] - tile.terms[r]);
        return {{members.begins[0][r], members.begins[1][r]}, {low_length, length - low_length}};
    }
    DEVICE Row staged_row(const MergeTile& tile, const Members& members, int first, int r) const {
        return {graph, loaded_row(tile, members, r)};
    }
    DEVICE i64 room_slot(const MergeTile& tile, const Members& members, int r, int i) const {
        return loaded_row(tile, members, r).slot(i);
    }
    // The host sorts graphs with such rows.
    DEVICE int count_of_longest(i64 group) const { return 0; }

    using Reduction = HeaviestTwo;
    DEVICE void reduce(HeaviestTwo& two, i64 group, int lanes) const {
        if (!heaviest) return;
        two.join(lanes);
        if (threadIdx.x % lanes) return;
        heaviest[2 * group] = two.first;
        heaviest[2 * group + 1] = two.second;
    }
};
