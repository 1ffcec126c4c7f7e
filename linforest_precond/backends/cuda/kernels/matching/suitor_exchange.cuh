// Vertices court others, of which each has one suitor at most, the best of those who came.

__device__ __forceinline__ int exchange_if(int* place, int expected, int desired) {
    return atomicCAS(place, expected, desired);
}
__device__ __forceinline__ i64 exchange_if(i64* place, i64 expected, i64 desired) {
    return (i64)atomicCAS((u64*)place, (u64)expected, (u64)desired);
}

struct Suitors {
    INDEX* suitors;  // each vertex's, NO_VERTEX where nobody came
    WEIGHT* offers;  // the value of the edge along which each vertex courts
    u32 tie_key;

    // Whether an edge of `vertex` is better than that of its other end's present suitor. An offer is at worst seen too
    // low, when its vertex was displaced meanwhile: then an exchange fails.
    __device__ __forceinline__ bool beats(i64 vertex, const Edge& edge, INDEX suitor) const {
        if (suitor < 0) return true;
        const Edge other = {__ldcg(offers + suitor), edge_hash(suitor, edge.column, tie_key), suitor};
        return is_better(Edge{edge.value, edge.hash, (INDEX)vertex}, other);
    }
    __device__ __forceinline__ bool would_have(i64 vertex, const Edge& edge) const {
        return beats(vertex, edge, __ldcg(suitors + edge.column));
    }
    // Makes a vertex the suitor of its edge's other end, unless that has a better one; gives whom it displaced. Who was
    // displaced never comes back to the same one, so a suitor found unchanged has not changed in between.
    __device__ __forceinline__ bool court(i64 vertex, const Edge& edge, INDEX& displaced) const {
        displaced = __ldcg(suitors + edge.column);
        if (!beats(vertex, edge, displaced)) return false;
        __stcg(offers + vertex, edge.value);
        __threadfence();  // before the vertex can be found as a suitor
        for (;;) {
            const INDEX seen = exchange_if(suitors + edge.column, displaced, (INDEX)vertex);
            if (seen == displaced) return true;
            displaced = seen;
            if (!beats(vertex, edge, displaced)) return false;
        }
    }
};
