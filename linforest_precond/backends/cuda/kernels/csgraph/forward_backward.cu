// The class of vertices whose component is known, as of those that a pivot reaches and that reach it. Other vertices:
// 0 for those not reached, 1 for those reached forwards, 2 for those reached backwards.
#define SETTLED 3

// The pivot of each region: its first unsettled vertex in a hashed order. `pivots` are words of hash and vertex, ~0 at
// first; as a vertex that is -1.
KERNEL choose_pivots(In<int> regions, In<int> members, int n, u64* pivots) {
    GRID_STRIDE (int, v, n) {
        if (members[v] >= 0) continue;
        const u64 word = (u64)mix32((u32)v) << 32 | (u32)v;
        u64* const place = pivots + regions[v];
        if (word < __ldcg(place)) atomicMin(place, word);
    }
}

// Whether no edge leaves a vertex, or none enters it.
DEVICE bool is_trimmed(const INDEX* forward, const INDEX* backward, int v) {
    return forward[v] == forward[v + 1] || backward[v] == backward[v + 1];
}

// The vertices that the pivot of their region reaches, and that reach it, are the pivot's component; a trimmed vertex is
// one by itself. `members` become the pivot, and `lowest` of the pivot the lowest of them. The others are counted in
// `left`. `forward` and `backward` are the row pointers of the edges and of their transpose.
KERNEL settle_components(In<INDEX> forward, In<INDEX> backward, In<int> regions, In<u64> pivots, In<int> ahead,
                         In<int> behind, int n, int* __restrict__ members, int* lowest, u8* __restrict__ classes,
                         u64* left) {
    u64 unsettled = 0;
    GRID_STRIDE (int, v, n) {
        const bool known = members[v] >= 0, trimmed = !known && is_trimmed(forward, backward, v);
        const int reached = known || trimmed ? SETTLED : (ahead[v] >= 0) + 2 * (behind[v] >= 0);
        classes[v] = (u8)reached;
        unsettled += reached != SETTLED;
        if (known || reached != SETTLED) continue;
        const int pivot = trimmed ? v : (int)(u32)pivots[regions[v]];
        members[v] = pivot;
        if (v < __ldcg(lowest + pivot)) atomicMin(lowest + pivot, v);
    }
    __syncwarp();
    unsettled = warp_sum(unsettled);
    if (threadIdx.x % 32 == 0 && unsettled) atomicAdd(left, unsettled);
}

// 1 for the edges that a component can still contain: within a class of unsettled vertices.
KERNEL mark_edges(In<INDEX> rows, In<int> indices, In<u8> classes, i64 nnz, INDEX* __restrict__ kept) {
    GRID_STRIDE (i64, i, nnz) {
        const i64 row = (i64)rows[i], column = indices[i];
        kept[i] = row != column && classes[row] != SETTLED && classes[row] == classes[column];
    }
}

// Stream compaction of the marked edges; `ends` is the inclusive scan of the marks.
KERNEL compact_edges(In<INDEX> indptr, In<int> indices, In<INDEX> ends, int n, i64 nnz, INDEX* __restrict__ new_indptr,
                     int* __restrict__ new_indices) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v <= n; v += stride) new_indptr[v] = indptr[v] ? ends[indptr[v] - 1] : 0;
    for (i64 i = first; i < nnz; i += stride)
        if (ends[i] != (i ? ends[i - 1] : 0)) new_indices[ends[i] - 1] = indices[i];
}

// The root of each vertex: the lowest vertex of its component.
KERNEL roots_of_members(In<int> members, In<int> lowest, int n, int* __restrict__ roots, int* __restrict__ is_root) {
    GRID_STRIDE (int, v, n) {
        roots[v] = lowest[members[v]];
        is_root[v] = roots[v] == v;
    }
}
