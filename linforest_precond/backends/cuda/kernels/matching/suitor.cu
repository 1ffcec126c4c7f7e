#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/round_loop.cuh"
#include "matching/set_pointers.cuh"
#include "matching/suitor_proposals.cuh"

// A block's buffer of displaced suitors in shared memory, flushed to the next round's list when it is half full.
struct Displaced {
    INDEX vertices[2 * ROWS];
    u32 count;
    u64 first;  // the place of the flushed vertices in the next round's list
};

// Each vertex proposes to the best neighbour that would accept it. A displaced suitor proposes again in the next round.
struct ProposeToBest {
    const Search& search;
    const Round& round;
    const Suitors& suitors;
    Displaced& displaced;
    INDEX* choices;  // first round only: vertices record their choices, nobody has suitors yet; else null

    DEVICE bool is_active(i64) const { return true; }
    DEVICE WEIGHT ranked_value(WEIGHT value) const { return value; }
    DEVICE Availability availability(i64 v, const Edge& edge) const {
        return choices || suitors.would_accept(v, edge) ? NOW : NEVER;
    }
    DEVICE bool take_result(i64 v, const Edge& best, bool) const {
        if (choices) {
            choices[v] = best.column;
            suitors.offers[v] = best.value;
            return false;
        }
        if (best.column < 0) return false;
        INDEX other;
        if (!suitors.propose(v, best, other)) return true;
        if (other >= 0) defer(other);
        return false;
    }
    DEVICE void defer(i64 v) const { displaced.vertices[atomicAdd(&displaced.count, 1u)] = (INDEX)v; }
    // Between two calls a block adds at most ROWS vertices, so the buffer cannot overflow.
    DEVICE void end_rows() const {
        if (__syncthreads_or(displaced.count > ROWS)) flush();
    }
    DEVICE void flush() const {
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

// Proposes along the choice of the first round; `v` becomes the vertex that must search again, if there is one. Most
// vertices need no atomic operation: mutual choices are final, and proposals to their vertices are in vain.
DEVICE Destination propose_choice(const Suitors& suitors, const INDEX* choices, INDEX& v, int status) {
    const INDEX chosen = choices[v];
    if (status == MUTUAL) suitors.suitors[v] = chosen;
    if (status == MUTUAL || status == NO_CHOICE) return DROPPED;
    if (status == TAKEN) return FRONT;
    const Edge edge = {suitors.offers[v], edge_hash(v, chosen, suitors.tie_key), chosen};
    INDEX other;
    if (!suitors.propose(v, edge, other)) return FRONT;
    v = other;
    return other < 0 ? DROPPED : FRONT;
}

// The suitor algorithm (Manne & Halappanavar 2014), in rounds: every vertex proposes, displaced suitors propose again
// in the next round, until none is displaced. Then every vertex is its suitor's suitor, and the suitors are the mates.
// A cooperative launch; mates are -1 at first, `counts` of three rounds and `barrier` are zero, `lists` has room for
// all vertices twice.
KERNEL __launch_bounds__(256, 5)
    find_suitors(Search search, INDEX* mates, WEIGHT* offers, INDEX* lists, ListCounts* counts, u32* barrier) {
    __shared__ Displaced displaced;
    ActiveBlocks blocks = {barrier, gridDim.x, 0};
    const Suitors suitors = {mates, offers, search.tie_key};
    if (threadIdx.x == 0) displaced.count = 0;
    __syncthreads();
    u64 left = search.rows, pieces = list_first_pieces(search, counts, blocks);
    for (u64 number = 0; left > 0; ++number) {
        Round round;
        round.open(search, lists, counts, number);
        INDEX* const choices = number == 0 ? round.list : 0;
        const ProposeToBest task = {search, round, suitors, displaced, choices};
        search_rows(search, task, number == 0 ? 0 : round.list, 0, (i64)left, blocks.count);
        search_pieces(search, task, round.pieces, pieces, blocks.count);
        if (number == 0) {
            blocks.synchronize();
            make_next_list(
                search, round, true, blocks.count, [=](INDEX v) { return choice_status(choices, v); },
                [&](INDEX& v, int status) { return propose_choice(suitors, choices, v, status); });
        } else {
            task.flush();
        }
        blocks.synchronize();
        left = __ldcg(&round.next->front);
        pieces = __ldcg(&round.next->pieces);
        if (!blocks.continues(left, pieces)) return;
    }
}
