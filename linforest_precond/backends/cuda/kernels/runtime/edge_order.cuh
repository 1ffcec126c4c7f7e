// The one total order on edges: (-weight, hash, lower end, higher end).

// Equal weights are ordered by this, the same seen from either end. In programs that define BY_VERTICES it is the sum
// of the ends' places in a random order of the vertices: at each vertex its neighbours come in that order.
__device__ __forceinline__ u32 edge_hash(INDEX u, INDEX v, u32 tie_key) {
#ifdef BY_VERTICES
    return (mix32(tie_key + (u32)u * 0x9E3779B1u) >> 1) + (mix32(tie_key + (u32)v * 0x9E3779B1u) >> 1);
#else
    const u32 low = (u32)(u < v ? u : v), high = (u32)(u < v ? v : u);
    return mix32(tie_key + low * 0x9E3779B1u + high * 0x85EBCA77u);
#endif
}

// Whether an edge comes before another of the same vertex: of two edges that share an end, the one whose other end
// is lower has the lesser pair of ends.
template <typename Edge>
__device__ __forceinline__ bool is_better(const Edge& a, const Edge& b) {
    const auto weight_a = rank_of(a.value), weight_b = rank_of(b.value);
    if (weight_a != weight_b) return weight_a > weight_b;
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.column < b.column;
}
