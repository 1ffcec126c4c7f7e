#include "common.cuh"
#include "edge_order.cuh"
#include "best_edges.cuh"
#include "rounds.cuh"

// Each vertex points along its first edge to a free vertex.
struct Pointing {
    const INDEX* mates;
    INDEX* pointers;
    bool fresh;     // in the very first round all are free
    bool selected;  // only those are asked whose targets are taken

    __device__ __forceinline__ bool begin(i64 v) const {
        if (fresh || selected) return true;
        const INDEX target = mates[v] < 0 ? pointers[v] : NO_VERTEX;
        return target >= 0 && mates[target] >= 0;
    }
    __device__ __forceinline__ WEIGHT weigh(WEIGHT value) const { return value; }
    __device__ __forceinline__ Verdict judge(i64, const Edge& edge, bool) const {
        return fresh || mates[edge.column] < 0 ? TAKE : SHUT;
    }
    __device__ __forceinline__ bool found(i64 v, const Edge& best, bool) const {
        pointers[v] = best.column;
        return false;
    }
    __device__ __forceinline__ void put_off(i64) const {}
    __device__ __forceinline__ void settle() const {}
};

// Matches locally dominant edges, round after round: point, wait for all, match, wait for all. A cooperative launch;
// `counts` of three rounds and `barrier` are zero at first, `lists` has room for all vertices twice. *rounds were made
// before; where there were none, mates and pointers are -1. In lists, vertices that point anew stand in front, and at
// the back those that go on pointing where they did.
extern "C" __global__ void __launch_bounds__(256, 4)
    match_edges(Search search, INDEX* mates, INDEX* pointers, INDEX* lists, Count* counts, u64* rounds, u32* barrier) {
    Crew crew = {barrier, gridDim.x, 0};
    const u64 before = *rounds;
    Pointing task = {mates, pointers, before == 0, false};
    u64 left = search.rows, pieces = first_pieces(search, counts, crew);
    for (u64 number = 0; left > 0; ++number) {
        Round round;
        round.open(search, lists, counts, number);
        if (number == 0) search_rows(search, task, 0, search.rows, crew.blocks);
        else search_listed(search, task, round.list, (i64)left, crew.blocks);
        search_pieces(search, task, round.pieces, pieces, crew.blocks);
        task.fresh = false;
        task.selected = true;
        crew.meet();
        bool matched = false;
        sift(search, round, number == 0, crew.blocks, [&](INDEX v) {
            const INDEX target = pointers[v];
            if (target < 0 || (number == 0 && mates[v] >= 0)) return GONE;
            const INDEX back = pointers[target];
            if (back != v) return back >= 0 && pointers[back] == target ? FRONT : BACK;
            mates[v] = target;
            matched = true;
            return GONE;
        });
        // A round that matches nothing is the last, and does not count.
        if (__syncthreads_or(matched) && threadIdx.x == 0) *rounds = before + number + 1;
        crew.meet();
        left = __ldcg(&round.next->front);
        pieces = __ldcg(&round.next->pieces);
        if (!crew.goes_on(left + __ldcg(&round.next->back), pieces)) return;
    }
}
