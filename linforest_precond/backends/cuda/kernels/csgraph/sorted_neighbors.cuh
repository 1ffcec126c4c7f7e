// Rows of neighbours in ascending (degree, index), as sorted_neighbors.cu makes them.

// A row's offset and length.
struct __align__(2 * sizeof(INDEX)) Span {
    INDEX begin, length;
};

// A neighbour is a word: the vertex in 30 bits, and two flags for its own row: more than WIDTH entries, or a single
// one. No vertex has all 30 bits set, so EMPTY (all ones) is no neighbour.
#define LONG 0x40000000u
#define LEAF 0x80000000u
#define VERTEX 0x3fffffffu
#define EMPTY 0xffffffffu

DEVICE u32 with_flags(u32 vertex, INDEX degree) {
    return vertex | (degree > WIDTH ? LONG : 0u) | (degree == 1 ? LEAF : 0u);
}

// Both fields by one vector load.
DEVICE Span load_span(In<Span> spans, u32 vertex) {
    Span span;
    if (sizeof(INDEX) == 4) {
        const int2 words = __ldg((const int2*)spans + vertex);
        span = {(INDEX)words.x, (INDEX)words.y};
    } else {
        const longlong2 words = __ldg((const longlong2*)spans + vertex);
        span = {(INDEX)words.x, (INDEX)words.y};
    }
    return span;
}
