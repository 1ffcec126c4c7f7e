#include "matching/single_vertices.cuh"

// The root of each vertex: the lower vertex of the pair that it belongs to or joins, or itself. A single vertex lower
// than the root that it joins is a candidate for the lowest vertex of the aggregate: claims[root] is the maximum of
// `vertices - v` over these candidates, zero where there is none.
KERNEL find_roots(In<INDEX> indptr, In<INDEX> indices, In<WEIGHT> values, In<INDEX> mate, i64 vertices, u32 tie_key,
                  INDEX* __restrict__ roots, INDEX* claims) {
    const auto is_matched = [&](i64 v) { return mate[v] >= 0; };
    const auto keep = [&](i64 v) { roots[v] = min((INDEX)v, mate[v]); };
    const auto join = [&](i64 v, INDEX neighbour) {
        const INDEX root = neighbour < 0 ? (INDEX)v : min(neighbour, mate[neighbour]);
        roots[v] = root;
        if (v < root) atomicMax(claims + root, (INDEX)(vertices - v));
    };
    join_single_vertices(indptr, indices, values, vertices, tie_key, is_matched, keep, join);
}

DEVICE INDEX lowest_of(In<INDEX> claims, i64 vertices, INDEX root) {
    return claims[root] ? (INDEX)(vertices - claims[root]) : root;
}

// Marks with 1 the vertices that are the lowest of their aggregates: a prefix sum of the marks numbers the aggregates.
KERNEL mark_lowest(In<INDEX> roots, In<INDEX> claims, i64 vertices, INDEX* __restrict__ marks) {
    GRID_STRIDE (i64, v, vertices) marks[v] = lowest_of(claims, vertices, roots[v]) == v;
}

// Replaces the root of each vertex by its aggregate; `opened` is the inclusive prefix sum of the marks.
KERNEL number_aggregates(INDEX* roots, In<INDEX> claims, i64 vertices, In<INDEX> opened) {
    GRID_STRIDE (i64, v, vertices) roots[v] = opened[lowest_of(claims, vertices, roots[v])] - 1;
}

// Counting sort, first pass: counts the members of each aggregate, shifted by one place for the prefix sum, and numbers
// the members of an aggregate in arbitrary order.
KERNEL count_members(In<INDEX> aggregates, i64 vertices, u32* sizes, u32* __restrict__ arrivals) {
    GRID_STRIDE (i64, v, vertices) arrivals[v] = atomicAdd(sizes + aggregates[v] + 1, 1u);
}

// Counting sort, second pass: scatters the vertices to their aggregates.
KERNEL place_members(In<INDEX> aggregates, In<INDEX> indptr, In<u32> arrivals, i64 vertices,
                     INDEX* __restrict__ members) {
    GRID_STRIDE (i64, v, vertices) members[indptr[aggregates[v]] + arrivals[v]] = v;
}

// Insertion sort of the few members of each aggregate: makes their order independent of the threads' timing.
KERNEL sort_members(In<INDEX> indptr, i64 count, INDEX* members) {
    GRID_STRIDE (i64, i, count) {
        const i64 begin = indptr[i], end = indptr[i + 1];
        for (i64 next = begin + 1; next < end; ++next) {
            const INDEX member = members[next];
            i64 place = next;
            for (; place > begin && members[place - 1] > member; --place) members[place] = members[place - 1];
            members[place] = member;
        }
    }
}
