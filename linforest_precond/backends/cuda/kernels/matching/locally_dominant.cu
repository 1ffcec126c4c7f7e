#include "runtime/common.cuh"
#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/chosen_neighbor.cuh"
#include "matching/dominant_edges.cuh"
#include "matching/round_loop.cuh"

// Matches locally dominant edges, round after round: point, wait for all, match, wait for all. A cooperative launch;
// `counts` of three rounds and `barrier` are zero at first, `lists` has room for all vertices twice. `before` rounds
// have left mates and pointers; where there were none, mates are -1. In lists, vertices that point anew stand in front,
// and at the back those that go on pointing where they did. Gives the rounds that matched, and 1: it is maximal.
extern "C" __global__ void __launch_bounds__(256, 5)
    match_edges(Search search, u64 before, INDEX* mates, INDEX* pointers, INDEX* lists, u64* progress, Count* counts,
                u32* barrier) {
    Crew crew = {barrier, gridDim.x, 0};
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        progress[0] = before;
        progress[1] = 1;
    }
    Pointing task = {mates, pointers, before == 0, false};
    u64 left = search.rows, pieces = first_pieces(search, counts, crew);
    for (u64 number = 0; left > 0; ++number) {
        Round round;
        round.open(search, lists, counts, number);
        search_rows(search, task, number ? round.list : 0, 0, (i64)left, crew.blocks);
        search_pieces(search, task, round.pieces, pieces, crew.blocks);
        task.fresh = false;
        task.selected = true;
        crew.meet();
        bool matched = false;
        const auto ask = [=](INDEX v) { return choice_of(pointers, v); };
        sift(search, round, number == 0, crew.blocks, ask, [&](INDEX v, int choice) {
            // Whom a round before has matched still points to its mate.
            if (choice == NONE || (number == 0 && before > 0 && mates[v] >= 0)) return GONE;
            if (choice != MUTUAL) return choice == TAKEN ? FRONT : BACK;
            mates[v] = pointers[v];
            matched = true;
            return GONE;
        });
        // A round that matches nothing is the last, and does not count.
        if (__syncthreads_or(matched) && threadIdx.x == 0) progress[0] = before + number + 1;
        crew.meet();
        left = __ldcg(&round.next->front);
        pieces = __ldcg(&round.next->pieces);
        if (!crew.goes_on(left + __ldcg(&round.next->back), pieces)) return;
    }
}
