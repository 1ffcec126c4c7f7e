// Proposals by atomic compare-and-swap: every vertex keeps the best of its suitors, the vertices that proposed to it.

DEVICE int compare_and_swap(int* place, int expected, int desired) { return atomicCAS(place, expected, desired); }
DEVICE i64 compare_and_swap(i64* place, i64 expected, i64 desired) {
    return (i64)atomicCAS((u64*)place, (u64)expected, (u64)desired);
}

struct Suitors {
    INDEX* suitors;  // the best suitor of each vertex, NO_VERTEX where nobody proposed
    WEIGHT* offers;  // the value of the edge along which each vertex proposed last
    u32 tie_key;

    // Whether an edge of `vertex` is better than that of the present suitor of its other end. An offer that is read
    // while its vertex was displaced and proposes elsewhere may be too low: then the compare-and-swap fails.
    DEVICE bool beats(i64 vertex, const Edge& edge, INDEX suitor) const {
        if (suitor < 0) return true;
        const Edge other = {__ldcg(offers + suitor), edge_hash(suitor, edge.column, tie_key), suitor};
        return is_better(Edge{edge.value, edge.hash, (INDEX)vertex}, other);
    }
    DEVICE bool would_accept(i64 vertex, const Edge& edge) const {
        return beats(vertex, edge, __ldcg(suitors + edge.column));
    }
    // Makes a vertex the suitor of its edge's other end, unless that has a better one; `displaced` is the suitor
    // before. No ABA problem: a displaced suitor never proposes to the same vertex again.
    DEVICE bool propose(i64 vertex, const Edge& edge, INDEX& displaced) const {
        displaced = __ldcg(suitors + edge.column);
        if (!beats(vertex, edge, displaced)) return false;
        __stcg(offers + vertex, edge.value);
        __threadfence();  // the offer must be visible before the suitor is
        for (;;) {
            const INDEX seen = compare_and_swap(suitors + edge.column, displaced, (INDEX)vertex);
            if (seen == displaced) return true;
            displaced = seen;
            if (!beats(vertex, edge, displaced)) return false;
        }
    }
};
