#define BY_VERTICES
#include "runtime/common.cuh"
#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/round_loop.cuh"
#include "matching/suitor_exchange.cuh"

// What the others see of a vertex: its colour in the coming round, or that it is out, matched or dead.
#define RED 0
#define BLUE 1
#define OUT 2

// The choice of a vertex all of whose neighbours are out.
#define DEAD ((INDEX) - 2)

// What is asked for.
struct Options {
    u64 seed, threshold;
    u64 limit;     // rounds at most
    u64 weighted;  // whether edges are ordered by weight, or by their hashes alone
};

// Each blue vertex proposes along its first edge to a red one. Red vertices take the first of those who come.
struct Proposing {
    Suitors mates;
    INDEX* choices;
    const u8* colours;
    bool weighted;

    __device__ __forceinline__ bool begin(i64 v) const { return colours[v] == BLUE; }
    __device__ __forceinline__ WEIGHT weigh(WEIGHT value) const {
        return weighted || rank_of(value) == 0 ? value : (WEIGHT)1;
    }
    __device__ __forceinline__ Verdict judge(i64, const Edge& edge, bool) const {
        const u8 colour = colours[edge.column];
        return colour == OUT ? SHUT : colour == BLUE ? OPEN : TAKE;
    }
    __device__ __forceinline__ bool found(i64 v, const Edge& best, bool open) const {
        choices[v] = open ? best.column : DEAD;
        INDEX displaced;
        if (best.column >= 0) mates.court(v, best, displaced);
        return false;
    }
    __device__ __forceinline__ void put_off(i64) const {}
    __device__ __forceinline__ void settle() const {}
};

// What a round does to a vertex: a blue one is taken or dies, a red one takes, or it is left.
enum Outcome { TAKEN, DIES, TAKES, LEFT };

__device__ __forceinline__ u64 colour_key(const Options& options, u64 round) {
    return iteration_key(options.seed, 2 * round + 1);
}

// Lets blue vertices propose and red ones take, round after round, until all are matched or dead. A cooperative launch;
// mates and choices are -1 at first, `counts` of three rounds and `barrier` are zero, `lists` has room for all vertices twice. In
// lists, blue vertices stand in front and red ones at the back. Gives the rounds made and whether nobody is left.
extern "C" __global__ void __launch_bounds__(256, 4)
    match_colours(Search search, Options options, INDEX* mates, WEIGHT* offers, INDEX* choices, u8* colours,
                  INDEX* lists, u64* progress, Count* counts, u32* barrier) {
    Crew crew = {barrier, gridDim.x, 0};
    for (i64 v = (i64)blockIdx.x * ROWS + threadIdx.x; v < search.rows; v += (i64)gridDim.x * ROWS)
        colours[v] = is_positive(colour_key(options, 0), options.threshold, v) ? BLUE : RED;
    u64 blue = search.rows, left = search.rows, pieces = first_pieces(search, counts, crew);
    crew.meet();
    u64 number = 0;
    search.tie_key = (u32)iteration_key(options.seed, 2);
    while (left > 0 && number < options.limit) {
        Round round;
        round.open(search, lists, counts, number);
        const Proposing task = {{mates, offers, search.tie_key}, choices, colours, options.weighted != 0};
        search_rows(search, task, number ? round.list : 0, 0, (i64)blue, crew.blocks);
        search_pieces(search, task, round.pieces, pieces, crew.blocks);
        crew.meet();
        // A blue vertex learns from the one to which it proposed whether it was taken.
        const auto ask = [=](INDEX v) {
            const bool is_blue = colours[v] == BLUE;
            const INDEX choice = is_blue ? choices[v] : NO_VERTEX, mate = mates[choice < 0 ? v : choice];
            return choice == DEAD ? DIES : is_blue ? choice >= 0 && mate == v ? TAKEN : LEFT : mate >= 0 ? TAKES : LEFT;
        };
        const u64 next_key = colour_key(options, number + 1);
        sift(search, round, number == 0, crew.blocks, ask, [&](INDEX v, int outcome) {
            if (outcome == TAKEN) mates[v] = choices[v];
            const bool becomes_blue = outcome == LEFT && is_positive(next_key, options.threshold, v);
            colours[v] = outcome != LEFT ? OUT : becomes_blue ? BLUE : RED;
            return outcome != LEFT ? GONE : becomes_blue ? FRONT : BACK;
        });
        crew.meet();
        blue = __ldcg(&round.next->front);
        left = blue + __ldcg(&round.next->back);
        pieces = __ldcg(&round.next->pieces);
        ++number;
        if (!crew.goes_on(left, pieces)) return;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        progress[0] = number;
        progress[1] = left == 0;
    }
}
