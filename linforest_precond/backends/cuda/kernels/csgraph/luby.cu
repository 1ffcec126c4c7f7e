#define UNDECIDED 0
#define MEMBER 1
#define EXCLUDED 2
// Rows of at most this many entries are read by one thread, longer ones by its warp.
#define SHORT_ROW 16

struct Luby {
    In<INDEX> indptr;
    In<int> indices, degrees;
    u8* states;
    // 2 * round for a vertex that was undecided in that round, plus one if it was selected.
    u32* marks;
    int* members;
    // The numbers of undecided and of selected vertices (in the lower and the upper half), three words in rotation, zero
    // at first; and the barrier.
    u64* counts;
    u32* barrier;
    i64 n;
    u64 seed;
    // All undecided vertices are selected if there are fewer than `fewest`, or after `patience` selections in succession
    // that were empty.
    i64 fewest, patience;
    // Vertices for each warp at a time, a power of two.
    i64 per_warp;
};

// With probability 1 / (2 degree): a hash of 32 bits, compared without rounding.
DEVICE bool is_selected(u64 key, int v, int degree) {
    return (mix64(key + (u64)v * 0xD1342543DE82EF95ull) >> 32) * (2 * (u64)degree) < 1ull << 32;
}

// Selects vertices at random, and counts them and the undecided ones.
__device__ void select_vertices(const Luby& s, u32 round) {
    const u64 key = iteration_key(s.seed, 2 * (u64)round - 1);
    u64 count = 0;
    GRID_STRIDE (i64, v, s.n) {
        if (__ldcg(s.states + v) != UNDECIDED) continue;
        const bool selected = is_selected(key, (int)v, s.degrees[v]);
        __stcg(s.marks + v, 2 * round + selected);
        count += 1 + ((u64)selected << 32);
    }
    __syncwarp();
    count = warp_sum(count);
    if (threadIdx.x % 32 == 0 && count) atomicAdd(s.counts + round % 3, count);
    if (blockIdx.x == 0 && threadIdx.x == 0) s.counts[(round + 1) % 3] = 0;
}

// The selected vertices of a round: those marked with `selected`, and where all undecided ones are, with `undecided`.
struct Selection {
    u32 selected, undecided;
    DEVICE bool has(u32 mark) const { return mark == selected || mark == undecided; }
};

// Whether a neighbour that is selected in the same round has higher (degree, index).
DEVICE bool drops(const Luby& s, const Selection& selection, int v, int neighbour) {
    if (!selection.has(__ldcg(s.marks + neighbour))) return false;
    const int own = s.degrees[v], other = s.degrees[neighbour];
    return other > own || (other == own && neighbour > v);
}

DEVICE void exclude(const Luby& s, int v, int neighbour) {
    if (neighbour != v) *(volatile u8*)(s.states + neighbour) = EXCLUDED;
}

// Whether any neighbour drops v; by one thread.
DEVICE bool is_dropped(const Luby& s, const Selection& selection, int v, i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i)
        if (drops(s, selection, v, __ldg(s.indices + i))) return true;
    return false;
}

// The same by a warp.
DEVICE bool is_dropped_in_warp(const Luby& s, const Selection& selection, int v, i64 begin, i64 end) {
    for (i64 base = begin; base < end; base += 32) {
        const i64 i = base + threadIdx.x % 32;
        if (__any_sync(FULL_WARP, i < end && drops(s, selection, v, __ldg(s.indices + i)))) return true;
    }
    return false;
}

// Selected vertices that no neighbour drops join the set and exclude their neighbours. Of two neighbours one drops the
// other, whether it is dropped itself or not, so the threads do not depend on one another's decisions.
__device__ void join_set(const Luby& s, const Selection& selection) {
    const int lane = threadIdx.x % 32;
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
    for (i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; warp * s.per_warp < s.n; warp += warps) {
        const i64 vertex = warp * s.per_warp + lane;
        const bool selected = lane < s.per_warp && vertex < s.n && selection.has(__ldcg(s.marks + vertex));
        const int v = selected ? (int)vertex : 0;
        const i64 begin = selected ? (i64)s.indptr[v] : 0, end = selected ? (i64)s.indptr[v + 1] : 0;
        const bool is_long = end - begin > SHORT_ROW;
        if (selected && !is_long && !is_dropped(s, selection, v, begin, end)) {
            *(volatile u8*)(s.states + v) = MEMBER;
            for (i64 i = begin; i < end; ++i) exclude(s, v, __ldg(s.indices + i));
        }
        for (u32 left = __ballot_sync(FULL_WARP, is_long); left; left &= left - 1) {
            const int owner = __ffs(left) - 1, u = __shfl_sync(FULL_WARP, v, owner);
            const i64 first = __shfl_sync(FULL_WARP, begin, owner), last = __shfl_sync(FULL_WARP, end, owner);
            if (is_dropped_in_warp(s, selection, u, first, last)) continue;
            if (lane == 0) *(volatile u8*)(s.states + u) = MEMBER;
            for (i64 i = first + lane; i < last; i += 32) exclude(s, u, __ldg(s.indices + i));
        }
    }
}

// Maximal independent sets after M. Luby (SIAM J. Comput. 15, 1986, doi:10.1137/0215074) in one cooperative launch: each
// round selects undecided vertices at random, or all of them.
KERNEL __launch_bounds__(256) luby_rounds(Luby s) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    u32 generation = 0;
    for (i64 v = first; v < s.n; v += stride) {
        __stcg(s.states + v, (u8)(s.degrees[v] ? UNDECIDED : MEMBER));
        __stcg(s.marks + v, 0u);
    }
    grid_barrier(s.barrier, generation);
    bool all = false;
    i64 failures = 0;
    for (u32 round = 1;; ++round) {
        select_vertices(s, round);
        grid_barrier(s.barrier, generation);
        const u64 count = __ldcg(s.counts + round % 3);
        const i64 undecided = (i64)(u32)count, selected = (i64)(count >> 32);
        if (!undecided) break;
        failures = selected ? 0 : failures + 1;
        all |= undecided < s.fewest || failures == s.patience;
        if (!selected && !all) continue;
        join_set(s, {2 * round + 1, all ? 2 * round : 2 * round + 1});
        grid_barrier(s.barrier, generation);
    }
    for (i64 v = first; v < s.n; v += stride) s.members[v] = __ldcg(s.states + v) == MEMBER;
}
