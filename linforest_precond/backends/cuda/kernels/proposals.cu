#define BY_VERTICES
#include "common.cuh"
#include "edge_order.cuh"
#include "best_edges.cuh"
#include "rounds.cuh"
#include "courting.cuh"

// What the others see of a vertex: its colour in the coming round, or that it is out, matched or dead.
#define RED 0
#define BLUE 1
#define OUT 2

// The choice of a vertex all of whose neighbours are out.
#define DEAD ((INDEX)-2)

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

__device__ __forceinline__ u64 colour_key(const Options& options, u64 round) {
    return iteration_key(options.seed, 2 * round + 1);
}

// Lets blue vertices propose and red ones take, round after round, until all are matched or dead. A cooperative launch;
// mates are -1 at first, `counts` of three rounds and `barrier` are zero, `lists` has room for all vertices twice. In
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
        sift(search, round, number == 0, crew.blocks, [&](INDEX v) {
            INDEX choice = NO_VERTEX;
            bool matched;
            if (colours[v] == BLUE) {
                choice = choices[v];
                matched = choice >= 0 && mates[choice] == v;
                if (matched) mates[v] = choice;
            } else {
                matched = mates[v] >= 0;
            }
            const bool out = matched || choice == DEAD;
            const bool becomes_blue = !out && is_positive(colour_key(options, number + 1), options.threshold, v);
            colours[v] = out ? OUT : becomes_blue ? BLUE : RED;
            return out ? GONE : becomes_blue ? FRONT : BACK;
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
