#include "reordering/fixed_logarithm.cuh"

// Degree-based refinement of an ordering (Mandulak, Hu & Slota 2022) by warps, with the answer of the CPU backend
// (reordering/gap_metrics.py). A row is the sorted positions of the neighbours of a vertex; a swap of u and v changes the
// rows of their neighbours, its scope.
struct Refinement {
    In<i64> indptr;
    In<int> neighbours;
    // As long as the neighbours: their positions, sorted in each row.
    int *positions, *rank, *order;
    In<int> candidates;
    // The vertex that a candidate desires to swap with, NO_SWAP if none.
    int* partners;
    // Per row: rounds left and the first candidate of the round that reserved it, all ones at first.
    u64* owners;
    // Two lists of candidates whose swaps are pending, and the lengths of those of three rounds, zero at first.
    int* pending;
    u64* counts;
    // The number of completed swaps, zero at first.
    u64* swaps;
    i64 vertices;
    i64 candidate_count;
    i64 max_degree;
    i64 max_rounds;
};

#define NO_SWAP (-1)

// Two consecutive positions of a row; nothing where one of them is missing (negative).
DEVICE i64 gap(int low, int high) {
    if (low < 0 || high < 0) return 0;
    return LOGARITHMIC ? fixed_logarithm(high - low) : (i64)high - low;
}

// The change of a row's gaps when a neighbour moves from position `old_one` to `new_one`; none if it has both.
__device__ i64 change_of_row(const Refinement& r, int row, int old_one, int new_one) {
    const int* const positions = r.positions;
    const i64 begin = r.indptr[row], end = r.indptr[row + 1];
    const i64 place = lower_bound(positions, begin, end, new_one);
    if (place < end && positions[place] == new_one) return 0;
    const i64 own = lower_bound(positions, begin, end, old_one);
    const int below = own > begin ? positions[own - 1] : -1, above = own + 1 < end ? positions[own + 1] : -1;
    int left = place > begin ? positions[place - 1] : -1, right = place < end ? positions[place] : -1;
    if (left == old_one) left = below;
    if (right == old_one) right = above;
    const i64 removed = gap(below, above) - gap(below, old_one) - gap(old_one, above);
    return removed + gap(left, new_one) + gap(new_one, right) - gap(left, right);
}

// The change of the metric when two vertices swap their positions, in every lane.
__device__ i64 change_of_swap(const Refinement& r, int u, int v) {
    const int lane = threadIdx.x % 32, old_one = r.rank[u], new_one = r.rank[v];
    i64 change = 0;
    for (i64 slot = r.indptr[u] + lane; slot < r.indptr[u + 1]; slot += 32)
        change += change_of_row(r, r.neighbours[slot], old_one, new_one);
    for (i64 slot = r.indptr[v] + lane; slot < r.indptr[v + 1]; slot += 32)
        change += change_of_row(r, r.neighbours[slot], new_one, old_one);
    return (i64)warp_sum((u64)change);
}

// Warp per candidate: the swap of the largest decrease along its edges; a tie goes to the lower neighbour. The first
// list of pending swaps is filled.
KERNEL desire_swaps(Refinement r) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, i, r.candidate_count, 32) {
        const int u = r.candidates[i];
        i64 best = 0;
        int partner = NO_SWAP;
        for (i64 slot = r.indptr[u]; slot < r.indptr[u + 1]; ++slot) {
            const int v = r.neighbours[slot];
            if (r.indptr[v + 1] - r.indptr[v] > r.max_degree) continue;
            const i64 change = change_of_swap(r, u, v);
            if (change < best) {
                best = change;
                partner = v;
            }
        }
        if (lane != 0) continue;
        r.partners[i] = partner;
        if (partner != NO_SWAP) r.pending[atomicAdd(r.counts, 1ull)] = (int)i;
    }
}

// The word of a reservation: those of later rounds are lower, then those of earlier candidates.
DEVICE u64 reservation(const Refinement& r, i64 round, int candidate) {
    return (u64)(r.max_rounds - 1 - round) << 32 | (u32)candidate;
}

__device__ void reserve_rows(const Refinement& r, int vertex, u64 word) {
    for (i64 slot = r.indptr[vertex] + threadIdx.x % 32; slot < r.indptr[vertex + 1]; slot += 32)
        atomicMin(r.owners + r.neighbours[slot], word);
}

// Whether a swap comes first in all rows of one of its vertices, in every lane.
__device__ bool holds_rows(const Refinement& r, int vertex, u64 word) {
    bool all = true;
    for (i64 slot = r.indptr[vertex] + threadIdx.x % 32; slot < r.indptr[vertex + 1]; slot += 32)
        all &= __ldcg(r.owners + r.neighbours[slot]) == word;
    return __all_sync(FULL_WARP, all);
}

// Moves a vertex in the sorted rows of its neighbours, one row after the other, except where its partner is a
// neighbour, too. The warp shifts 32 positions at a time.
__device__ void move_in_rows(const Refinement& r, int vertex, int old_one, int new_one) {
    int* const positions = r.positions;
    const i64 lane = threadIdx.x % 32;
    for (i64 slot = r.indptr[vertex]; slot < r.indptr[vertex + 1]; ++slot) {
        const i64 begin = r.indptr[r.neighbours[slot]], end = r.indptr[r.neighbours[slot] + 1];
        const i64 place = lower_bound(positions, begin, end, new_one);
        if (place < end && positions[place] == new_one) continue;
        i64 own = lower_bound(positions, begin, end, old_one);
        __syncwarp();
        for (; own + 1 < place; own = min(own + 32, place - 1)) {
            const bool moves = own + lane + 1 < place;
            const int next = moves ? positions[own + lane + 1] : 0;
            __syncwarp();
            if (moves) positions[own + lane] = next;
            __syncwarp();
        }
        for (; own > place; own = max(own - 32, place)) {
            const bool moves = own - lane > place;
            const int next = moves ? positions[own - lane - 1] : 0;
            __syncwarp();
            if (moves) positions[own - lane] = next;
            __syncwarp();
        }
        if (lane == 0) positions[own] = new_one;
        __syncwarp();
    }
}

// Completes a swap if it still lowers the metric. No other swap of the round reads or changes what this one does.
__device__ void complete(const Refinement& r, int u, int v) {
    if (change_of_swap(r, u, v) >= 0) return;
    const int rank_u = r.rank[u], rank_v = r.rank[v];
    move_in_rows(r, u, rank_u, rank_v);
    move_in_rows(r, v, rank_v, rank_u);
    if (threadIdx.x % 32 != 0) return;
    r.rank[u] = rank_v;
    r.rank[v] = rank_u;
    r.order[rank_v] = u;
    r.order[rank_u] = v;
    atomicAdd(r.swaps, 1ull);
}

// Rounds of deterministic reservations (Blelloch, Fineman, Gibbons & Shun, PPoPP 2012), a warp per pending swap: each
// reserves the rows of its scope, and the swaps that come first in all of theirs are completed.
KERNEL complete_swaps(Refinement r, u32* barrier) {
    const int lane = threadIdx.x % 32;
    const i64 warps = (i64)gridDim.x * blockDim.x / 32, first = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    u32 generation = 0;
    for (i64 round = 0; round < r.max_rounds; ++round) {
        const i64 count = (i64)__ldcg(r.counts + round % 3);
        if (count == 0) return;
        const int* const pending = r.pending + round % 2 * r.candidate_count;
        int* const left = r.pending + (round + 1) % 2 * r.candidate_count;
        for (i64 i = first; i < count; i += warps) {
            const int candidate = __ldcg(pending + i);
            const u64 word = reservation(r, round, candidate);
            reserve_rows(r, r.candidates[candidate], word);
            reserve_rows(r, r.partners[candidate], word);
        }
        if (first == 0 && lane == 0) r.counts[(round + 2) % 3] = 0;
        grid_barrier(barrier, generation);
        for (i64 i = first; i < count; i += warps) {
            const int candidate = __ldcg(pending + i), u = r.candidates[candidate], v = r.partners[candidate];
            const u64 word = reservation(r, round, candidate);
            if (holds_rows(r, u, word) && holds_rows(r, v, word)) complete(r, u, v);
            else if (lane == 0) left[atomicAdd(r.counts + (round + 1) % 3, 1ull)] = candidate;
        }
        grid_barrier(barrier, generation);
    }
}
