#include "runtime/common.cuh"
#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/round_loop.cuh"
#include "matching/chosen_neighbor.cuh"
#include "matching/suitor_exchange.cuh"

// Vertices that a block has found to be displaced, in shared memory until there are many.
struct Displaced {
    INDEX vertices[2 * ROWS];
    u32 count;
    u64 first;  // their place in the next round's list
};

// Each vertex courts the best neighbour that would have it. Who is displaced looks again in the next round.
struct Courting {
    const Search& search;
    const Round& round;
    const Suitors& suitors;
    Displaced& displaced;
    INDEX* choices;  // of the first round, in which vertices only choose: nobody has suitors yet

    __device__ __forceinline__ bool begin(i64) const { return true; }
    __device__ __forceinline__ WEIGHT weigh(WEIGHT value) const { return value; }
    __device__ __forceinline__ Verdict judge(i64 v, const Edge& edge, bool) const {
        return choices || suitors.would_have(v, edge) ? TAKE : SHUT;
    }
    __device__ __forceinline__ bool found(i64 v, const Edge& best, bool) const {
        if (choices) {
            choices[v] = best.column;
            suitors.offers[v] = best.value;
            return false;
        }
        if (best.column < 0) return false;
        INDEX other;
        if (!suitors.court(v, best, other)) return true;
        if (other >= 0) put_off(other);
        return false;
    }
    __device__ __forceinline__ void put_off(i64 v) const {
        displaced.vertices[atomicAdd(&displaced.count, 1u)] = (INDEX)v;
    }
    // A turn adds at most as many as the block has threads.
    __device__ __forceinline__ void settle() const {
        if (__syncthreads_or(displaced.count > ROWS)) hand_on();
    }
    // Appends them to the next round's list.
    __device__ __forceinline__ void hand_on() const {
        __syncthreads();
        const u32 count = displaced.count;
        if (threadIdx.x == 0 && count) displaced.first = atomicAdd(&round.next->front, (u64)count);
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += ROWS) {
            round.next_list[displaced.first + i] = displaced.vertices[i];
            round.list_long_row(search, displaced.vertices[i]);
        }
        __syncthreads();
        if (threadIdx.x == 0) displaced.count = 0;
        __syncthreads();
    }
};

// All vertices court those they chose; `v` becomes the one that has to look again, if anyone has to. Most are spared an
// exchange: two that chose each other stay together, and others need not ask them.
__device__ __forceinline__ Fate court_choice(const Suitors& suitors, const INDEX* choices, INDEX& v, int choice) {
    const INDEX chosen = choices[v];
    if (choice == MUTUAL) suitors.suitors[v] = chosen;
    if (choice == MUTUAL || choice == NONE) return GONE;
    if (choice == TAKEN) return FRONT;
    const Edge edge = {suitors.offers[v], edge_hash(v, chosen, suitors.tie_key), chosen};
    INDEX other;
    if (!suitors.court(v, edge, other)) return FRONT;
    v = other;
    return other < 0 ? GONE : FRONT;
}

// Lets every vertex court, and those who were displaced again, round after round, until nobody is. The suitors that
// are left are mates. A cooperative launch; mates are -1 at first, `counts` of three rounds and `barrier` are zero,
// `lists` has room for all vertices twice.
extern "C" __global__ void __launch_bounds__(256, 5)
    find_suitors(Search search, INDEX* mates, WEIGHT* offers, INDEX* lists, Count* counts, u32* barrier) {
    __shared__ Displaced displaced;
    Crew crew = {barrier, gridDim.x, 0};
    const Suitors suitors = {mates, offers, search.tie_key};
    if (threadIdx.x == 0) displaced.count = 0;
    __syncthreads();
    u64 left = search.rows, pieces = first_pieces(search, counts, crew);
    for (u64 number = 0; left > 0; ++number) {
        Round round;
        round.open(search, lists, counts, number);
        INDEX* const choices = number == 0 ? round.list : 0;
        const Courting task = {search, round, suitors, displaced, choices};
        search_rows(search, task, number == 0 ? 0 : round.list, 0, (i64)left, crew.blocks);
        search_pieces(search, task, round.pieces, pieces, crew.blocks);
        if (number == 0) {
            crew.meet();
            sift(
                search, round, true, crew.blocks, [=](INDEX v) { return choice_of(choices, v); },
                [&](INDEX& v, int choice) { return court_choice(suitors, choices, v, choice); });
        } else {
            task.hand_on();
        }
        crew.meet();
        left = __ldcg(&round.next->front);
        pieces = __ldcg(&round.next->pieces);
        if (!crew.goes_on(left, pieces)) return;
    }
}
