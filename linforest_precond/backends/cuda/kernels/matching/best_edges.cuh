// Searches the rows of the active vertices for their best edges, for all matching algorithms. Load balancing by the
// length of a row: short rows are staged in shared memory by coalesced reads, then searched by one thread each; other
// rows are searched by `width` lanes each; long rows are split into pieces of PIECE entries, a warp per piece.
//
// A Task says what is searched for; every thread has its own copy:
//   bool is_active(i64 vertex)                                whether the vertex searches its row
//   WEIGHT ranked_value(WEIGHT value)                         the value by which an entry is ranked
//   Availability availability(i64 vertex, const Edge& edge)   called for edges that are better than the best so far
//   bool take_result(i64 vertex, const Edge& best, bool open) receives the best edge; true: search the row again
//   void defer(i64 vertex)                                    the vertex searches again in the next round
//   void end_rows()                                           called by all threads of a block after every few rows

// Threads of a block, and the most rows that it processes at a time.
#define ROWS 256
// Lanes that copy a listed row into shared memory.
#define STAGING_LANES 4

// An edge seen from the searching vertex; no edge has the value 0.
struct Edge {
    WEIGHT value;
    u32 hash;
    INDEX column;
};

// Whether an edge can be the result: never, not now but maybe later, or now.
enum Availability { NEVER, LATER, NOW };

// The result of searching a row or a part of it.
struct SearchResult {
    Edge best;
    int open;  // whether any edge is available, now or later
};

// The graph, and how its rows are searched.
struct Search {
    In<INDEX> indptr, indices;
    In<WEIGHT> values;  // their magnitudes are the weights
    // For rows longer than `long_row`, null where there are none: the piece lists of two alternating rounds (see
    // append_pieces), the result of each piece, and at a row's first piece the number of its pieces done.
    u64* pieces;
    SearchResult* results;
    u32* arrivals;
    i64 most_pieces;
    i64 rows, long_row;
    u32 tie_key;
    int short_rows;  // whether rows are staged
    int capacity;    // entries that fit into a block's shared memory
    int width;       // lanes per row that is not staged
};

struct Row {
    i64 vertex, begin, end;
};

DEVICE Row row_of(const Search& search, i64 vertex) {
    return {vertex, (i64)search.indptr[vertex], (i64)search.indptr[vertex + 1]};
}

DEVICE SearchResult no_result() { return {{(WEIGHT)0, ~0u, NO_VERTEX}, false}; }

// Compares one entry with the best so far. The weights are compared first, before the hash is computed.
template <typename Task>
DEVICE void examine(SearchResult& result, Task& task, u32 tie_key, i64 vertex, INDEX column, WEIGHT value) {
    const WEIGHT ranked = task.ranked_value(value);
    const auto weight = rank_of(ranked);
    if (weight == 0 || weight < rank_of(result.best.value) || column == (INDEX)vertex) return;
    const Edge edge = {ranked, edge_hash((INDEX)vertex, column, tie_key), column};
    if (!is_better(edge, result.best)) return;
    const Availability available = task.availability(vertex, edge);
    result.open |= available != NEVER;
    if (available == NOW) result.best = edge;
}

// Every `stride`-th entry of [begin, end).
template <typename Task>
DEVICE void examine_entries(SearchResult& result, Task& task, const Search& search, i64 vertex, i64 begin, i64 end,
                            int stride) {
#pragma unroll 2
    for (i64 slot = begin; slot < end; slot += stride)
        examine(result, task, search.tie_key, vertex, search.indices[slot], search.values[slot]);
}

// Reduction over `width` neighbouring lanes by butterfly shuffles; all of them get the result. The whole warp must call
// it.
DEVICE void reduce_lanes(SearchResult& result, int width) {
    for (int distance = width / 2; distance > 0; distance /= 2) {
        const Edge other = {__shfl_xor_sync(FULL_WARP, result.best.value, distance),
                            __shfl_xor_sync(FULL_WARP, result.best.hash, distance),
                            __shfl_xor_sync(FULL_WARP, result.best.column, distance)};
        if (is_better(other, result.best)) result.best = other;
        result.open |= __shfl_xor_sync(FULL_WARP, result.open, distance);
    }
}

DEVICE bool is_long(const Search& search, const Row& row) { return row.end - row.begin > search.long_row; }

// Appends the pieces of a row to a list of length *count, consecutively. A piece is one word: the vertex in the upper
// half, the number of the piece in the lower. The table LongRows does not serve here: it lists all long rows once,
// these lists are made anew in every round, for the vertices that are still active.
DEVICE void append_pieces(const Row& row, u64* pieces, u64* count) {
    const u32 parts = pieces_in(row.end - row.begin);
    const u64 first = atomicAdd(count, (u64)parts);
    for (u32 part = 0; part < parts; ++part) __stcg(pieces + first + part, (u64)row.vertex << 32 | part);
}

// Appends the pieces of all long rows in [first, last), by all blocks.
DEVICE void append_all_pieces(const Search& search, i64 first, i64 last, u64* count) {
    for (i64 v = first + (i64)blockIdx.x * ROWS + threadIdx.x; v < last; v += (i64)gridDim.x * ROWS) {
        const Row row = row_of(search, v);
        if (is_long(search, row)) append_pieces(row, search.pieces, count);
    }
}

// The vertex of a work item; without a list the items are the vertices.
DEVICE i64 vertex_of(const INDEX* list, i64 item) { return list ? (i64)list[item] : item; }

// The rows of a block's items, `width` lanes per row. Long rows are left to search_pieces.
template <typename Task>
DEVICE void search_by_lanes(const Search& search, Task& task, const INDEX* list, i64 first, i64 last) {
    const int width = search.width, lane = threadIdx.x % width;
    for (; first < last; first += ROWS / width) {
        const i64 item = first + threadIdx.x / width;
        Row row = {};
        bool searching = false;
        if (item < last) {
            row = row_of(search, vertex_of(list, item));
            searching = !is_long(search, row) && task.is_active(row.vertex);
        }
        // The warp stays together for the shuffles, until none of its rows is searched again.
        while (__any_sync(FULL_WARP, searching)) {
            SearchResult result = no_result();
            if (searching) examine_entries(result, task, search, row.vertex, row.begin + lane, row.end, width);
            reduce_lanes(result, width);
            const bool again = searching && lane == 0 && task.take_result(row.vertex, result.best, result.open);
            searching = __shfl_sync(FULL_WARP, again, threadIdx.x % 32 - lane);
        }
    }
}

// The entries of a block's rows in shared memory: a contiguous range of the graph, or listed rows one after the other.
struct Stage {
    WEIGHT* values;
    INDEX* columns;
    int capacity;

    DEVICE void copy_entry(int place, const Search& search, i64 slot) const {
        columns[place] = search.indices[slot];
        values[place] = search.values[slot];
    }
    // Loads the rows [first, last), if they fit; `base` is the slot of their first entry in the graph.
    DEVICE bool load(const Search& search, i64 first, i64 last, i64& base) const {
        base = search.indptr[first];
        const i64 count = (i64)search.indptr[last] - base;
        if (count > capacity) return false;
#pragma unroll 4
        for (int i = threadIdx.x; i < (int)count; i += ROWS) copy_entry(i, search, base + i);
        __syncthreads();
        return true;
    }
    // Loads the rows of the searching threads, a few lanes per row, if they fit; `base` is the slot of a thread's own
    // row in the graph, minus its place in the stage.
    DEVICE bool load_listed(const Search& search, const Row& row, bool searching, i64& base) const {
        __shared__ i64 slots[ROWS];
        __shared__ int places[ROWS + 1];
        const int place = block_exclusive_sum(searching ? (int)(row.end - row.begin) : 0, places + ROWS);
        slots[threadIdx.x] = base = row.begin - place;
        places[threadIdx.x] = place;
        __syncthreads();
        if (places[ROWS] > capacity) return false;
        for (int i = threadIdx.x / STAGING_LANES; i < ROWS; i += ROWS / STAGING_LANES)
            for (int j = places[i] + threadIdx.x % STAGING_LANES; j < places[i + 1]; j += STAGING_LANES)
                copy_entry(j, search, slots[i] + j);
        __syncthreads();
        return true;
    }
};

DEVICE Stage stage_of(const Search& search) {
    extern __shared__ __align__(16) char memory[];
    WEIGHT* const values = reinterpret_cast<WEIGHT*>(memory);
    return {values, reinterpret_cast<INDEX*>(values + search.capacity), search.capacity};
}

// The rows of a block's items, staged, a thread per row; false if they do not fit.
template <typename Task>
DEVICE bool search_staged(const Search& search, Task& task, const INDEX* list, i64 first, i64 last) {
    const Stage stage = stage_of(search);
    const bool present = first + threadIdx.x < last;
    const Row row = present ? row_of(search, vertex_of(list, first + threadIdx.x)) : Row{};
    const auto is_active = [&] { return present && !is_long(search, row) && task.is_active(row.vertex); };
    bool searching = list && is_active();
    i64 base;
    if (!(list ? stage.load_listed(search, row, searching, base) : stage.load(search, first, last, base))) return false;
    searching = list ? searching : is_active();
    const int place = (int)(row.begin - base), end = (int)(row.end - base);
    while (searching) {
        SearchResult result = no_result();
        for (int i = place; i < end; ++i)
            examine(result, task, search.tie_key, row.vertex, stage.columns[i], stage.values[i]);
        searching = task.take_result(row.vertex, result.best, result.open);
    }
    return true;
}

// The rows of the items [first, last), by `blocks` blocks. Few items are shared out evenly, in multiples of a warp.
template <typename Task>
DEVICE void search_rows(const Search& search, Task& task, const INDEX* list, i64 first, i64 last, u32 blocks) {
    const i64 share = (last - first + blocks - 1) / blocks, at_once = share < ROWS ? (share + 31) / 32 * 32 : ROWS;
    for (i64 own = first + blockIdx.x * at_once; own < last; own += blocks * at_once) {
        const i64 end = own + at_once < last ? own + at_once : last;
        const bool done = search.short_rows && search_staged(search, task, list, own, end);
        if (!done) search_by_lanes(search, task, list, own, end);
        __syncthreads();
        task.end_rows();
    }
}

// Reduction over the pieces of a row, by the warp that finishes the last of them; false for the other warps.
DEVICE bool reduce_pieces(const Search& search, SearchResult& result, u64 first, u64 part, u64 parts) {
    const int lane = threadIdx.x % 32;
    bool last = false;
    if (lane == 0) {
        search.results[first + part] = result;
        __threadfence();
        last = atomicAdd(search.arrivals + first, 1u) == (u32)parts - 1;
        if (last) {
            __threadfence();
            search.arrivals[first] = 0;
        }
    }
    if (!__shfl_sync(FULL_WARP, last, 0)) return false;
    result = no_result();
    for (u64 i = lane; i < parts; i += 32) {
        const volatile SearchResult& other = search.results[first + i];
        const Edge edge = {other.best.value, other.best.hash, other.best.column};
        if (is_better(edge, result.best)) result.best = edge;
        result.open |= other.open;
    }
    reduce_lanes(result, 32);
    return true;
}

// The long rows whose pieces are listed, a warp per piece, by `blocks` blocks.
template <typename Task>
DEVICE void search_pieces(const Search& search, Task& task, const u64* pieces, u64 count, u32 blocks) {
    const int warps = ROWS / 32;
    for (u64 base = (u64)blockIdx.x * warps; base < count; base += (u64)blocks * warps) {
        const u64 place = base + threadIdx.x / 32;
        if (place < count) {
            const u64 piece = __ldcg(pieces + place), part = (u32)piece;
            const Row row = row_of(search, (i64)(piece >> 32));
            const u64 parts = pieces_in(row.end - row.begin);
            const EntryRange range = piece_range(row.begin, row.end, (i64)part);
            SearchResult result = no_result();
            if (task.is_active(row.vertex)) {
                examine_entries(result, task, search, row.vertex, range.begin + threadIdx.x % 32, range.end, 32);
                reduce_lanes(result, 32);
                const bool complete = parts == 1 || reduce_pieces(search, result, place - part, part, parts);
                const bool again =
                    complete && threadIdx.x % 32 == 0 && task.take_result(row.vertex, result.best, result.open);
                if (again) task.defer(row.vertex);
            }
        }
        __syncthreads();
        task.end_rows();
    }
}
