// The total order of edges: (-weight, hash, lower end, higher end), the same as in the CPU backend (edge_order.py).

// Breaks ties between equal weights; symmetric in u and v. In programs that define BY_VERTICES it is the sum of random
// keys of the two ends, so that the neighbours of every vertex are ordered by one random order of the vertices.
DEVICE u32 edge_hash(INDEX u, INDEX v, u32 tie_key) {
#ifdef BY_VERTICES
    return (mix32(tie_key + (u32)u * 0x9E3779B1u) >> 1) + (mix32(tie_key + (u32)v * 0x9E3779B1u) >> 1);
#else
    const u32 low = (u32)(u < v ? u : v), high = (u32)(u < v ? v : u);
    return mix32(tie_key + low * 0x9E3779B1u + high * 0x85EBCA77u);
#endif
}

// Whether edge a precedes edge b of the same vertex. Of two edges that share an end, the one whose other end is lower
// has the lexicographically smaller pair of ends.
template <typename Edge>
DEVICE bool is_better(const Edge& a, const Edge& b) {
    const auto weight_a = rank_of(a.value), weight_b = rank_of(b.value);
    if (weight_a != weight_b) return weight_a > weight_b;
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.column < b.column;
}
