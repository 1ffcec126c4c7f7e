// A total order on the edges of a weighted graph: by (weight, lower end, higher end), the upper triangle first.

// A weighted graph: entries are edges, and `rows` is the row of each. `symmetric` holds for magnitudes only.
struct Graph {
    const INDEX *indptr, *indices, *rows;
    const VALUE* data;
    int n;
    int largest;  // whether the spanning forest is a maximum one
    int symmetric;
    i64 nnz, longest_row;
};

// The word of no edge, after all others.
#define NONE (~0ull)

// Bits of a weight as an unsigned word of the same order; 0 and -0 have the same.
DEVICE u64 ascending(double weight) {
    const u64 word = weight == 0.0 ? 0 : bits(weight);
    return word >> 63 ? ~word : word | 1ull << 63;
}
DEVICE u64 ascending(float weight) {
    const u32 word = rank_of(weight) == 0 ? 0 : __float_as_uint(weight);
    return word >> 31 ? ~word : word | 1u << 31;
}
DEVICE u64 weight_word(const Graph& graph, i64 slot) {
    const u64 word = ascending(graph.data[slot]);
    return graph.largest ? ~word : word;
}

// A word ordered by (lower end, higher end), then the upper triangle before the lower; vertices have 30 bits.
DEVICE u64 edge_word(const Graph& graph, i64 slot) {
    const u32 row = (u32)graph.rows[slot], column = (u32)graph.indices[slot];
    return (u64)min(row, column) << 32 | max(row, column) << 1 | (row > column);
}

// Atomic minimum; the load before it saves most of the atomics.
DEVICE void lower_to(u64* place, u64 candidate) {
    if (candidate < __ldcg(place)) atomicMin(place, candidate);
}
