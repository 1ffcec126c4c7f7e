// The rounds of a matching in one cooperative launch. Each round processes a list of active vertices and makes the list
// of the next round by stream compaction.

// The blocks that still work: all of the grid, or the first one alone when few vertices are left, because a barrier of
// one block is cheaper than one of the grid.
struct ActiveBlocks {
    u32* arrivals;  // zero at first
    u32 count, generation;

    DEVICE void synchronize() {
        if (count > 1) grid_barrier(arrivals, generation);
        else __syncthreads();
    }
    // Whether this block takes part in the next round. The number of active vertices never grows.
    DEVICE bool continues(u64 vertices, u64 pieces) {
        if (vertices <= ROWS && pieces <= ROWS / 32) count = 1;
        return blockIdx.x < count;
    }
};

// The numbers of vertices at the two ends of a round's list, and of pieces of the long rows of those at the front.
struct ListCounts {
    u64 front, back, pieces;
};

// The lists and counts of one round and the next: two alternating lists, three rotating counts. A list grows from both
// ends: vertices that search their rows are at the front, the others at the back.
struct Round {
    INDEX *list, *next_list;
    u64 *pieces, *next_pieces;
    ListCounts *count, *next;
    i64 rows;

    DEVICE void open(const Search& search, INDEX* lists, ListCounts* counts, u64 number) {
        const u64 now = number % 2, then = 1 - now;
        list = lists + now * search.rows, next_list = lists + then * search.rows;
        pieces = search.pieces + now * search.most_pieces, next_pieces = search.pieces + then * search.most_pieces;
        count = counts + number % 3, next = counts + (number + 1) % 3;
        rows = search.rows;
        // The counts of the round before are not read any more; the round after the next uses their place.
        if (blockIdx.x == 0 && threadIdx.x == 0) counts[(number + 2) % 3] = {};
    }
    // Lists the pieces of a vertex of the next round, if its row is long.
    DEVICE void list_long_row(const Search& search, i64 vertex) const {
        if (!search.pieces) return;
        const Row row = row_of(search, vertex);
        if (is_long(search, row)) append_pieces(row, next_pieces, &next->pieces);
    }
};

// Where a vertex goes: out of the lists, or to an end of the next round's list.
enum Destination { DROPPED, FRONT, BACK };

// Makes the next round's list from this round's, or from all vertices. `inspect(v)` only reads, so that a thread
// inspects AT_ONCE vertices at once (memory-level parallelism). `act(v, finding)` returns the destination, and may
// replace v by another vertex.
template <typename Inspect, typename Act>
DEVICE void make_next_list(const Search& search, const Round& round, bool all, u32 blocks, Inspect inspect, Act act) {
    const i64 front = all ? round.rows : (i64)__ldcg(&round.count->front);
    const i64 items = all ? round.rows : front + (i64)__ldcg(&round.count->back), block_items = (i64)ROWS * AT_ONCE;
    for (i64 base = blockIdx.x * block_items; base < items; base += blocks * block_items) {
        INDEX vertices[AT_ONCE];
        int findings[AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            const i64 own = base + turn * ROWS + threadIdx.x, item = own < items ? own : items - 1;
            vertices[turn] = all ? (INDEX)item : round.list[item < front ? item : round.rows - 1 - (item - front)];
        }
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) findings[turn] = inspect(vertices[turn]);
        u32 to_front = 0, to_back = 0;
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            if (base + turn * ROWS + threadIdx.x >= items) continue;
            const Destination destination = act(vertices[turn], findings[turn]);
            to_front |= (u32)(destination == FRONT) << turn;
            to_back |= (u32)(destination == BACK) << turn;
        }
        u64 places[AT_ONCE];
        append_places(to_front, &round.next->front, places);
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            if (!(to_front >> turn & 1)) continue;
            round.next_list[places[turn]] = vertices[turn];
            round.list_long_row(search, vertices[turn]);
        }
        append_places(to_back, &round.next->back, places);
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (to_back >> turn & 1) round.next_list[round.rows - 1 - (i64)places[turn]] = vertices[turn];
    }
}

// Lists the pieces of all long rows for the first round, by all blocks; returns their number.
DEVICE u64 list_first_pieces(const Search& search, ListCounts* counts, ActiveBlocks& blocks) {
    if (!search.pieces) return 0;
    append_all_pieces(search, 0, search.rows, &counts->pieces);
    blocks.synchronize();
    return __ldcg(&counts->pieces);
}
