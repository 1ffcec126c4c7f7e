#include "common.cuh"
#include "edge_order.cuh"
#include "best_edges.cuh"
#include "rounds.cuh"
#include "courting.cuh"

// Each vertex courts the best neighbour that would have it. Who is displaced looks again in the next round.
struct Courting {
    const Search& search;
    const Round& round;
    Suitors suitors;
    bool fresh;   // few have suitors yet: the best neighbour is asked without a look at the others' suitors
    i64 pending;  // who has to look again

    __device__ __forceinline__ bool begin(i64) const { return true; }
    __device__ __forceinline__ WEIGHT weigh(WEIGHT value) const { return value; }
    __device__ __forceinline__ Verdict judge(i64 v, const Edge& edge, bool again) const {
        return (fresh && !again) || suitors.would_have(v, edge) ? TAKE : SHUT;
    }
    __device__ __forceinline__ bool found(i64 v, const Edge& best, bool) {
        if (best.column < 0) return false;
        INDEX displaced;
        if (!suitors.court(v, best, displaced)) return true;
        pending = displaced;
        return false;
    }
    __device__ __forceinline__ void put_off(i64 v) { pending = v; }
    __device__ __forceinline__ void settle() {
        u64 places[AT_ONCE];
        append_places(pending >= 0, &round.next->front, places);
        if (pending >= 0) {
            round.next_list[places[0]] = (INDEX)pending;
            round.list_long_row(search, pending);
        }
        pending = NO_VERTEX;
    }
};

// Lets every vertex court, and those who were displaced again, round after round, until nobody is. The suitors that
// are left are mates. A cooperative launch; suitors are -1 at first, `counts` of three rounds and `barrier` are zero,
// `lists` has room for all vertices twice.
extern "C" __global__ void __launch_bounds__(256, 5)
    find_suitors(Search search, INDEX* suitors, WEIGHT* offers, INDEX* lists, Count* counts, u32* barrier) {
    Crew crew = {barrier, gridDim.x, 0};
    u64 left = search.rows, pieces = first_pieces(search, counts, crew);
    for (u64 number = 0; left > 0; ++number) {
        Round round;
        round.open(search, lists, counts, number);
        Courting task = {search, round, {suitors, offers, search.tie_key}, number == 0, NO_VERTEX};
        search_rows(search, task, number ? round.list : 0, 0, (i64)left, crew.blocks);
        search_pieces(search, task, round.pieces, pieces, crew.blocks);
        crew.meet();
        left = __ldcg(&round.next->front);
        pieces = __ldcg(&round.next->pieces);
        if (!crew.goes_on(left, pieces)) return;
    }
}
