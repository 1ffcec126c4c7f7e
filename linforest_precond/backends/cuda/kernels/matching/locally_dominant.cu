#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/set_pointers.cuh"
#include "matching/round_loop.cuh"

// Matching of locally dominant edges (Manne & Bisseling 2008), in rounds: vertices set their pointers, grid barrier,
// mutual pointers are matched, grid barrier. A cooperative launch; `counts` of three rounds and `barrier` are zero at
// first, `lists` has room for all vertices twice. `before` rounds have left mates and pointers; where there were none,
// mates are -1. In the lists, vertices whose target was matched are at the front, vertices that keep their pointers at
// the back. `progress` gets the number of rounds that matched edges, and 1: the matching is maximal.
KERNEL __launch_bounds__(256, 5) match_dominant_edges(Search search, u64 before, INDEX* mates, INDEX* pointers,
                                                      INDEX* lists, u64* progress, ListCounts* counts, u32* barrier) {
    ActiveBlocks blocks = {barrier, gridDim.x, 0};
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        progress[0] = before;
        progress[1] = 1;
    }
    SetPointers task = {mates, pointers, before == 0, false};
    u64 left = search.rows, pieces = list_first_pieces(search, counts, blocks);
    for (u64 number = 0; left > 0; ++number) {
        Round round;
        round.open(search, lists, counts, number);
        search_rows(search, task, number ? round.list : 0, 0, (i64)left, blocks.count);
        search_pieces(search, task, round.pieces, pieces, blocks.count);
        task.fresh = false;
        task.selected = true;
        blocks.synchronize();
        bool matched = false;
        const auto inspect = [=](INDEX v) { return choice_status(pointers, v); };
        make_next_list(search, round, number == 0, blocks.count, inspect, [&](INDEX v, int status) {
            // Vertices matched in earlier rounds still point to their mates.
            if (status == NO_CHOICE || (number == 0 && before > 0 && mates[v] >= 0)) return DROPPED;
            if (status != MUTUAL) return status == TAKEN ? FRONT : BACK;
            mates[v] = pointers[v];
            matched = true;
            return DROPPED;
        });
        // A round that matches nothing is the last, and does not count.
        if (__syncthreads_or(matched) && threadIdx.x == 0) progress[0] = before + number + 1;
        blocks.synchronize();
        left = __ldcg(&round.next->front);
        pieces = __ldcg(&round.next->pieces);
        if (!blocks.continues(left + __ldcg(&round.next->back), pieces)) return;
    }
}
