// Rounds of one cooperative launch, each over the vertices that the one before has left.

// The blocks that go on: all of a cooperative launch, or the first one alone when little is left.
struct Crew {
    u32* arrivals;  // zero at first
    u32 blocks, generation;

    __device__ __forceinline__ void meet() {
        if (blocks > 1) grid_barrier(arrivals, generation);
        else __syncthreads();
    }
    // Whether this block goes on with what is left; of vertices it never becomes more.
    __device__ __forceinline__ bool goes_on(u64 vertices, u64 pieces) {
        if (vertices <= ROWS && pieces <= ROWS / 32) blocks = 1;
        return blockIdx.x < blocks;
    }
};

// How many vertices a round has at the two ends of its list, and pieces of the long rows of those at the front.
struct Count {
    u64 front, back, pieces;
};

// One round and the next, whose lists and counts take turns.
struct Round {
    INDEX *list, *next_list;
    u64 *pieces, *next_pieces;
    Count *count, *next;
    i64 rows;

    __device__ __forceinline__ void open(const Search& search, INDEX* lists, Count* counts, u64 number) {
        const u64 now = number % 2, then = 1 - now;
        list = lists + now * search.rows, next_list = lists + then * search.rows;
        pieces = search.pieces + now * search.most_pieces, next_pieces = search.pieces + then * search.most_pieces;
        count = counts + number % 3, next = counts + (number + 1) % 3;
        rows = search.rows;
        // Nobody reads the count of the round before any more.
        if (blockIdx.x == 0 && threadIdx.x == 0) counts[(number + 2) % 3] = {};
    }
    __device__ __forceinline__ void list_long_row(const Search& search, i64 vertex) const {
        if (!search.pieces) return;
        const Row row = row_of(search, vertex);
        if (is_long(search, row)) append_pieces(row, next_pieces, &next->pieces);
    }
};

// What becomes of a vertex: its place in the next round's list, if it is left.
enum Fate { GONE, FRONT, BACK };

// Decides the fate of each vertex of a round, or of all there are, and makes the next round's list. `ask(v)` reads only,
// so that a thread has several questions under way; `act(v, answer)` gives the fate, and may put another vertex in
// v's place.
template <typename Ask, typename Act>
__device__ __forceinline__ void sift(const Search& search, const Round& round, bool all, u32 blocks, Ask ask, Act act) {
    const i64 front = all ? round.rows : (i64)__ldcg(&round.count->front);
    const i64 items = all ? round.rows : front + (i64)__ldcg(&round.count->back), block_items = (i64)ROWS * AT_ONCE;
    for (i64 base = blockIdx.x * block_items; base < items; base += blocks * block_items) {
        INDEX vertices[AT_ONCE];
        int answers[AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            const i64 asked = base + turn * ROWS + threadIdx.x, item = asked < items ? asked : items - 1;
            vertices[turn] = all ? (INDEX)item : round.list[item < front ? item : round.rows - 1 - (item - front)];
        }
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) answers[turn] = ask(vertices[turn]);
        u32 to_front = 0, to_back = 0;
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            if (base + turn * ROWS + threadIdx.x >= items) continue;
            const Fate fate = act(vertices[turn], answers[turn]);
            to_front |= (u32)(fate == FRONT) << turn;
            to_back |= (u32)(fate == BACK) << turn;
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

// The first round's pieces, by all blocks; their number.
__device__ __forceinline__ u64 first_pieces(const Search& search, Count* counts, Crew& crew) {
    if (!search.pieces) return 0;
    list_all_pieces(search, 0, search.rows, &counts->pieces);
    crew.meet();
    return __ldcg(&counts->pieces);
}
