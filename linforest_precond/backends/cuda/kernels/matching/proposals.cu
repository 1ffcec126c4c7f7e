#define BY_VERTICES
#include "runtime/edge_order.cuh"
#include "runtime/md5.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/round_loop.cuh"
#include "matching/suitor_proposals.cuh"

// The public state of a vertex: its colour in the coming round, or OUT when it is matched or dead.
#define RED 0
#define BLUE 1
#define OUT 2

// The choice of a dead vertex: all of its neighbours are OUT.
#define DEAD ((INDEX) - 2)

struct Options {
    u64 seed, threshold;
    u64 limit;     // the most rounds
    u64 weighted;  // whether edges are ordered by weight, or by their hashes alone
};

// Each blue vertex proposes along its best edge to a red vertex. A red vertex keeps the best proposal. With MD5, red
// vertices search their rows as well: they are dead where all of their neighbours are OUT, as in the paper.
struct ProposeToRed {
    Suitors mates;
    INDEX* choices;
    const u8* colours;
    bool weighted;

    DEVICE bool is_active(i64 v) const { return MD5 ? colours[v] != OUT : colours[v] == BLUE; }
    DEVICE WEIGHT ranked_value(WEIGHT value) const { return weighted || rank_of(value) == 0 ? value : (WEIGHT)1; }
    DEVICE Availability availability(i64 v, const Edge& edge) const {
        const u8 colour = colours[edge.column];
        return colour == OUT ? NEVER : colour == BLUE || (MD5 && colours[v] == RED) ? LATER : NOW;
    }
    DEVICE bool take_result(i64 v, const Edge& best, bool open) const {
        choices[v] = open ? best.column : DEAD;
        INDEX displaced;
        if (best.column >= 0) mates.propose(v, best, displaced);
        return false;
    }
    DEVICE void defer(i64) const {}
    DEVICE void end_rows() const {}
};

// What happened to a vertex in a round: a blue one was accepted or is dead, a red one accepted, or it is still active.
enum Outcome { ACCEPTED, DIED, ACCEPTS, ACTIVE };

DEVICE u64 colour_key(const Options& options, u64 round) { return iteration_key(options.seed, 2 * round + 1); }

// The colour of a vertex in a round; with MD5, the upper half of the key is the random number of Algorithm 4.
DEVICE bool is_blue_under(u64 key, u64 threshold, i64 v) {
    return MD5 ? quarter_md5_of((u32)v, (u32)(key >> 32)) < threshold : is_positive(key, threshold, v);
}

// Algorithm 3 of Fagginger Auer & Bisseling (2012), in rounds: colours are drawn, blue vertices propose, red ones
// accept, until all are matched or dead. A cooperative launch; mates and choices are -1 at first, `counts` of three
// rounds and `barrier` are zero, `lists` has room for all vertices twice. In the lists, vertices that search their rows
// are at the front (`searching`) and the others, red ones without MD5, at the back. `progress` gets the number of rounds, and whether no vertex is left.
KERNEL __launch_bounds__(256, 4)
    match_colours(Search search, Options options, INDEX* mates, WEIGHT* offers, INDEX* choices, u8* colours,
                  INDEX* lists, u64* progress, ListCounts* counts, u32* barrier) {
    ActiveBlocks blocks = {barrier, gridDim.x, 0};
    for (i64 v = (i64)blockIdx.x * ROWS + threadIdx.x; v < search.rows; v += (i64)gridDim.x * ROWS)
        colours[v] = is_blue_under(colour_key(options, 0), options.threshold, v) ? BLUE : RED;
    u64 searching = search.rows, left = search.rows, pieces = list_first_pieces(search, counts, blocks);
    blocks.synchronize();
    u64 number = 0;
    search.tie_key = (u32)iteration_key(options.seed, 2);
    while (left > 0 && number < options.limit) {
        Round round;
        round.open(search, lists, counts, number);
        const ProposeToRed task = {{mates, offers, search.tie_key}, choices, colours, options.weighted != 0};
        search_rows(search, task, number ? round.list : 0, 0, (i64)searching, blocks.count);
        search_pieces(search, task, round.pieces, pieces, blocks.count);
        blocks.synchronize();
        // A blue vertex was accepted if it is the mate of the vertex to which it proposed.
        const auto inspect = [=](INDEX v) {
            const bool is_blue = colours[v] == BLUE;
            const INDEX choice = is_blue ? choices[v] : NO_VERTEX, mate = mates[choice < 0 ? v : choice];
            return choice == DEAD || (MD5 && !is_blue && choices[v] == DEAD) ? DIED
                   : is_blue   ? choice >= 0 && mate == v ? ACCEPTED : ACTIVE
                   : mate >= 0 ? ACCEPTS
                               : ACTIVE;
        };
        const u64 next_key = colour_key(options, number + 1);
        make_next_list(search, round, number == 0, blocks.count, inspect, [&](INDEX v, int outcome) {
            if (outcome == ACCEPTED) mates[v] = choices[v];
            const bool becomes_blue = outcome == ACTIVE && is_blue_under(next_key, options.threshold, v);
            colours[v] = outcome != ACTIVE ? OUT : becomes_blue ? BLUE : RED;
            return outcome != ACTIVE ? DROPPED : becomes_blue || MD5 ? FRONT : BACK;
        });
        blocks.synchronize();
        searching = __ldcg(&round.next->front);
        left = searching + __ldcg(&round.next->back);
        pieces = __ldcg(&round.next->pieces);
        ++number;
        if (!blocks.continues(left, pieces)) return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        progress[0] = number;
        progress[1] = left == 0;
    }
}
