// Rows of neighbours in ascending (degree, index), as rows.cu makes them.

// A row's first place and its length.
struct __align__(2 * sizeof(INDEX)) Span {
    INDEX begin, length;
};

// What a neighbour's word holds beside the vertex: whether its own row has more than WIDTH entries, or just one.
// Vertices have 30 bits, the largest of which no vertex uses.
#define LONG 0x40000000u
#define LEAF 0x80000000u
#define VERTEX 0x3fffffffu
#define EMPTY 0xffffffffu

__device__ __forceinline__ u32 with_flags(u32 vertex, INDEX degree) {
    return vertex | (degree > WIDTH ? LONG : 0u) | (degree == 1 ? LEAF : 0u);
}

// Both fields at once.
__device__ __forceinline__ Span load_span(const Span* __restrict__ spans, u32 vertex) {
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
