#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"
#include "csgraph/predecessors.cuh"

// Jones-Plassmann colouring (SIAM J. Sci. Comput. 14, 1993, doi:10.1137/0914041) in a fixed vertex order: a vertex
// takes the lowest colour that no predecessor has, a neighbour of higher priority. The colours are those of the
// sequential first-fit algorithm. With shortcuts (G. Alabandi, E. Powers, M. Burtscher, "Increasing the Parallelism of
// Graph Coloring via Shortcutting", PPoPP 2020), which make chains of dependent vertices short: a vertex need not wait
// for a predecessor that cannot take the same colour any more.
//
// An item is blocked by the uncoloured predecessor of the lowest candidate. It polls the state of this one alone, and
// scans all predecessors when this one no longer contends for its candidate.

// A lane scans its short row itself up to this many entries times the number of such rows in the warp: the warp would
// take longer to scan them one after the other.
#define ENTRIES_PER_SCAN 8

__device__ void initialize(const Coloring& c, i64 items) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < c.n; v += step) c.states[v] = NO_CANDIDATE;
    for (i64 piece = first; piece < piece_count(c.long_rows); piece += step) c.bounds[piece] = NO_CANDIDATE;
    for (i64 item = first; item < items; item += step) {
        c.blockers[item] = NO_BLOCKER;
        c.lengths[item] = UNLISTED;
    }
    for (i64 word = first; word < c.mask_words; word += step) c.masks[word] = 0;
}

// Whether the search need not be scanned yet. A piece of a long row has nothing to do either while its predecessors
// leave the candidate to the row.
DEVICE bool is_blocked(const Coloring& c, const Search& search, u32 item, u32 candidate) {
    const u32 blocker = c.blockers[item];
    if (blocker == NO_BLOCKER) return false;
    if (search.kind == ROW_PIECE && ~c.bounds[item - c.n] > candidate) return true;
    return contends(search.state_of(c, blocker), candidate);
}

// Publishes what a scan has found. Returns whether the item stays.
DEVICE bool conclude(const Coloring& c, const Search& search, u32 item, const Scan& scan) {
    c.blockers[item] = scan.is_complete ? scan.blocker() : NO_BLOCKER;
    if (search.kind == ROW_PIECE) {
        *(volatile u32*)(c.bounds + (item - c.n)) = scan.has_passed() ? ALL_COLORED : ~scan.bound();
        return !scan.has_passed();
    }
    const bool is_free = scan.is_complete && scan.bound() > scan.candidate;
    *(volatile u32*)(c.states + search.vertex) = is_free ? scan.candidate : ~scan.candidate;
    return !is_free;
}

// Colours the vertex of an item if no predecessor contends for its candidate. Returns whether the item stays. Called by
// all lanes of a warp.
DEVICE bool color_vertex(const Coloring& c, const VertexOrder& order, u32 item, u32 pieces) {
    const u32 lane = threadIdx.x % 32;
    const Search search = search_of(c, item, pieces);
    const u32 state = search.vertex == NOBODY ? 0 : fresh(c.states + search.vertex);
    bool stays = search.vertex != NOBODY && !is_colored(state);
    const bool scans = stays && !is_blocked(c, search, item, ~state);
    const bool is_short = scans && search.is_short();
    const int most_entries = ENTRIES_PER_SCAN * __popc(__ballot_sync(FULL_WARP, is_short));
    const bool by_thread = is_short && search.length <= most_entries;
    if (by_thread) stays = conclude(c, search, item, search_by_thread(c, order, search));
    for (u32 left = __ballot_sync(FULL_WARP, scans && !by_thread); left; left &= left - 1) {
        const int chosen = __ffs((int)left) - 1;
        const auto of_chosen = [&](u32 word) { return __shfl_sync(FULL_WARP, word, chosen); };
        const Search other = from_lane(search, chosen);
        const Scan scan = search_by_warp(c, order, other, of_chosen(item), of_chosen(~state));
        if ((int)lane == chosen) stays = conclude(c, search, item, scan);
    }
    return stays;
}

// All vertices, in one cooperative launch. Items: rows, pieces of long rows, and long rows themselves.
KERNEL __launch_bounds__(256, 4) color(Coloring c) {
    u32 generation = 0;
    const u32 pieces = piece_count(c.long_rows), long_rows = row_count(c.long_rows);
    initialize(c, c.n + pieces + long_rows);
    grid_barrier(c.barrier, generation);
    const VertexOrder order = {c.degrees, (u32)iteration_key(c.seed, 2)};
    const auto examine = [&](u32 item) { return color_vertex(c, order, item, pieces); };
    process_own_items(c.lists, c.n, pieces + long_rows, examine);
}
