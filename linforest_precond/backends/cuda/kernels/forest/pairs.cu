#include "forest/grouped_rows.cuh"

// A pair is two vertices, or a lone one and a ghost, which is written NO_VERTEX. Values are weights: VALUE is real.

// Flags the vertices that open a pair: those without a partner before them. A prefix sum over the flags numbers the
// pairs.
KERNEL mark_leads(In<INDEX> partners, i64 vertices, INDEX* __restrict__ leads) {
    GRID_STRIDE (i64, v, vertices) leads[v] = partners[v] < 0 || partners[v] > v;
}

// Each vertex that opens a pair writes the pair's two members; `opened` is the inclusive prefix sum of the flags. A
// vertex's place is twice its pair, plus one for a higher member.
KERNEL number_pairs(In<INDEX> partners, i64 vertices, In<INDEX> opened, INDEX* __restrict__ members,
                    INDEX* __restrict__ places) {
    GRID_STRIDE (i64, v, vertices) {
        const INDEX partner = partners[v];
        if (partner >= 0 && partner < v) continue;
        const INDEX place = 2 * (opened[v] - 1);
        members[place] = v;
        members[place + 1] = partner;
        places[v] = place;
        if (partner >= 0) places[partner] = place + 1;
    }
}

// The two members of each listed pair, ghosts for a ghost.
KERNEL list_members(In<INDEX> pairs, i64 count, In<INDEX> members, INDEX* __restrict__ found) {
    GRID_STRIDE (i64, i, 2 * count) {
        const INDEX pair = pairs[i >> 1];
        found[i] = pair < 0 ? NO_VERTEX : members[2 * (i64)pair + (i & 1)];
    }
}

// The two largest weights of each row; `lanes` reduce each row.
KERNEL find_heaviest(In<INDEX> indptr, In<VALUE> values, i64 rows, int lanes, VALUE* __restrict__ found) {
    const int lane = threadIdx.x % lanes;
    const i64 rows_at_once = (i64)gridDim.x * blockDim.x / lanes;
    const i64 own = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    // All lanes of a row make the same number of rounds, because they take part in the shuffles.
    for (i64 round = 0; round * rows_at_once < rows; ++round) {
        const i64 row = round * rows_at_once + own;
        HeaviestTwo two;
        const i64 end = row < rows ? (i64)indptr[row + 1] : 0;
#pragma unroll 4
        for (i64 slot = row < rows ? indptr[row] + lane : 0; slot < end; slot += lanes)
            two.insert(magnitude(values[slot]));
        two.join(lanes);
        if (row >= rows || lane) continue;
        found[2 * row] = two.first;
        found[2 * row + 1] = two.second;
    }
}

// An entry's key: four times the column's pair, plus 2 for its higher member, plus 1 for a row of the higher member.
// No two entries of a pair have the same. Entries within the pair and zeros are no edges, and dropped.
DEVICE u32 key_of(INDEX place, VALUE value, int side, i64 pair) {
    return place >> 1 == pair || rank_of(value) == 0 ? DROPPED : 2 * (u32)place + side;
}

// The weight between two pairs: up to four entries, added so that it is the same seen from either.
struct WeightSum {
    VALUE both_low = 0, high_low = 0, low_high = 0, both_high = 0;

    DEVICE WeightSum(u32 key, VALUE weight) { add(key, weight); }
    DEVICE void add(u32 key, VALUE weight) {
        const int kind = key & 3;
        both_low = kind == 0 ? weight : both_low;
        high_low = kind == 1 ? weight : high_low;
        low_high = kind == 2 ? weight : low_high;
        both_high = kind == 3 ? weight : both_high;
    }
    DEVICE VALUE total() const { return finite(plus(plus(both_low, both_high), plus(low_high, high_low))); }
};

// The rule of pairs for `GroupedTerms`.
struct PairRule {
    using Sum = WeightSum;
    static DEVICE u32 key(INDEX place, VALUE value, int side, i64 pair) { return key_of(place, value, side, pair); }
    static DEVICE u32 column_of(u32 key) { return key >> 2; }
};

// The graph of the pairs: each pair merges the rows of its two members.
KERNEL __launch_bounds__(THREADS, 5) merge_pairs(GroupedGraph graph, VALUE* heaviest, MergedRows merged, MergeRoom room,
                                                 int rows_at_once, u64* states, u64* totals) {
    merge_all_rows(GroupedTerms<PairRule>{graph, heaviest}, graph.groups, merged, room, rows_at_once, states, totals);
}

// Graphs with rows too long for a block: packs the pair and the key of every entry into a word, which are sorted then.
KERNEL pack_keys(In<INDEX> row_of, In<INDEX> indices, In<VALUE> values, i64 entries, i64 vertices, In<INDEX> places,
                 u64* __restrict__ words) {
    GRID_STRIDE (i64, i, entries) {
        const INDEX place = places[row_of[i]];
        const u32 key = key_of(places[clamped(indices[i], vertices)], values[i], place & 1, place >> 1);
        words[i] = key == DROPPED ? ~0ull : (u64)(place >> 1) << 32 | key;
    }
}

// Segmented sum over the sorted entries: a thread adds up the words from one head on that share pair and column, at
// most four.
KERNEL merge_sorted(In<u64> words, In<i64> order, In<VALUE> values, i64 entries, In<i64> heads, i64 merged,
                    INDEX* __restrict__ indices, VALUE* __restrict__ weights) {
    GRID_STRIDE (i64, i, merged) {
        const u64 head = words[heads[i]];
        WeightSum sum((u32)head, magnitude(values[order[heads[i]]]));
        for (i64 j = heads[i] + 1; j < entries && words[j] >> 2 == head >> 2; ++j)
            sum.add((u32)words[j], magnitude(values[order[j]]));
        indices[i] = PairRule::column_of((u32)head);
        weights[i] = sum.total();
    }
}
