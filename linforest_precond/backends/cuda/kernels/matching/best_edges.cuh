// How vertices look through their rows for their best edge: rows in turn or listed, staged in shared memory with a
// thread to a row, or with several lanes to a row; long rows in pieces, with a warp to a piece.
//
// What they look for is a Task, of which every thread has its own:
//   bool begin(i64 vertex)                                       whether the vertex looks at all
//   WEIGHT weigh(WEIGHT value)                                   what an entry counts
//   Verdict judge(i64 vertex, const Edge& edge, bool again)      asked of edges that are better than the best so far
//   bool found(i64 vertex, const Edge& best, bool open)          takes the answer; whether to look again
//   void put_off(i64 vertex)                                     to look again later
//   void settle()                                                called by all threads of a block after some rows

// Threads of a block, and rows that it takes at a time, at most.
#define ROWS 256
// Lanes that bring a listed row into shared memory.
#define STAGING_LANES 4

// An edge as the vertex sees it that looks; where there is none the weight is 0.
struct Edge {
    WEIGHT value;
    u32 hash;
    INDEX column;
};

// TAKE: it is the best so far. OPEN: not now, but it may be later. SHUT: never.
enum Verdict { SHUT, OPEN, TAKE };

// What was found in a part of a row.
struct Find {
    Edge best;
    int open;  // whether any edge was not shut, where no best one was found
};

// The graph, and how its rows are gone through.
struct Search {
    const INDEX* __restrict__ indptr;
    const INDEX* __restrict__ indices;
    const WEIGHT* __restrict__ values;  // their magnitudes are the weights
    // Of rows beyond `long_row`, null where there are none: two lists of pieces that take turns, a piece being a vertex
    // and, in the lower half, a number; what was found in each; how many are done, at the place of a row's first.
    u64* pieces;
    Find* finds;
    u32* done;
    i64 most_pieces;
    i64 rows, long_row;
    u32 tie_key;
    int short_rows;  // whether rows are staged
    int capacity;    // entries that fit into a block's shared memory
    int width;       // lanes to a row that is not staged
};

struct Row {
    i64 vertex, begin, end;
};

__device__ __forceinline__ Row row_of(const Search& search, i64 vertex) {
    return {vertex, (i64)search.indptr[vertex], (i64)search.indptr[vertex + 1]};
}

__device__ __forceinline__ Find nothing() { return {{(WEIGHT)0, ~0u, NO_VERTEX}, false}; }

// Looks at one entry.
template <typename Task>
__device__ __forceinline__ void look(Find& find, Task& task, u32 tie_key, i64 vertex, INDEX column, WEIGHT value,
                                     bool again) {
    const WEIGHT counted = task.weigh(value);
    const auto weight = rank_of(counted);
    if (weight == 0 || weight < rank_of(find.best.value) || column == (INDEX)vertex) return;
    const Edge edge = {counted, edge_hash((INDEX)vertex, column, tie_key), column};
    if (!is_better(edge, find.best)) return;
    const Verdict verdict = task.judge(vertex, edge, again);
    find.open |= verdict != SHUT;
    if (verdict == TAKE) find.best = edge;
}

// Looks at every `stride`-th entry from `begin` on.
template <typename Task>
__device__ __forceinline__ void look_at(Find& find, Task& task, const Search& search, i64 vertex, i64 begin, i64 end,
                                        int stride, bool again) {
#pragma unroll 2
    for (i64 slot = begin; slot < end; slot += stride)
        look(find, task, search.tie_key, vertex, search.indices[slot], search.values[slot], again);
}

// The best of `width` neighbouring lanes, for all of them; the whole warp must call it.
__device__ __forceinline__ void join_lanes(Find& find, int width) {
    for (int distance = width / 2; distance > 0; distance /= 2) {
        const Edge other = {__shfl_xor_sync(FULL_WARP, find.best.value, distance),
                            __shfl_xor_sync(FULL_WARP, find.best.hash, distance),
                            __shfl_xor_sync(FULL_WARP, find.best.column, distance)};
        if (is_better(other, find.best)) find.best = other;
        find.open |= __shfl_xor_sync(FULL_WARP, find.open, distance);
    }
}

__device__ __forceinline__ bool is_long(const Search& search, const Row& row) {
    return row.end - row.begin > search.long_row;
}

// Appends the pieces of a row to a list of length *count. Each round lists the pieces of its active rows anew, so a piece
// is one word with its row and number, instead of an entry of the table LongRows, which is made once for all rows.
__device__ __forceinline__ void append_pieces(const Row& row, u64* pieces, u64* count) {
    const u32 parts = pieces_in(row.end - row.begin);
    const u64 first = atomicAdd(count, (u64)parts);
    for (u32 part = 0; part < parts; ++part) __stcg(pieces + first + part, (u64)row.vertex << 32 | part);
}

// Lists the pieces of all long rows from `first` to `last`, by all blocks.
__device__ __forceinline__ void list_all_pieces(const Search& search, i64 first, i64 last, u64* count) {
    for (i64 v = first + (i64)blockIdx.x * ROWS + threadIdx.x; v < last; v += (i64)gridDim.x * ROWS) {
        const Row row = row_of(search, v);
        if (is_long(search, row)) append_pieces(row, search.pieces, count);
    }
}

// The vertex of an item: all there are, or those of a list.
__device__ __forceinline__ i64 vertex_of(const INDEX* list, i64 item) { return list ? (i64)list[item] : item; }

// The rows of a block's items, with `width` lanes to a row. Long ones are left to those who search their pieces.
template <typename Task>
__device__ __forceinline__ void search_by_lanes(const Search& search, Task& task, const INDEX* list, i64 first,
                                                i64 last) {
    const int width = search.width, lane = threadIdx.x % width;
    for (; first < last; first += ROWS / width) {
        const i64 item = first + threadIdx.x / width;
        Row row = {};
        bool looking = false;
        if (item < last) {
            row = row_of(search, vertex_of(list, item));
            looking = !is_long(search, row) && task.begin(row.vertex);
        }
        // All lanes of a warp go round together: they exchange what they found.
        for (bool again = false; __any_sync(FULL_WARP, looking); again = true) {
            Find find = nothing();
            if (looking) look_at(find, task, search, row.vertex, row.begin + lane, row.end, width, again);
            join_lanes(find, width);
            const bool more = looking && lane == 0 && task.found(row.vertex, find.best, find.open);
            looking = __shfl_sync(FULL_WARP, more, threadIdx.x % 32 - lane);
        }
    }
}

// The entries of a block's rows in shared memory: those of neighbouring rows as they lie, or of listed rows one after
// the other.
struct Stage {
    WEIGHT* values;
    INDEX* columns;
    int capacity;

    __device__ __forceinline__ void put(int place, const Search& search, i64 slot) const {
        columns[place] = search.indices[slot];
        values[place] = search.values[slot];
    }
    // Brings in the rows from `first` to `last`, if they fit; `base` is the place of their first entry in the graph.
    __device__ __forceinline__ bool bring(const Search& search, i64 first, i64 last, i64& base) const {
        base = search.indptr[first];
        const i64 count = (i64)search.indptr[last] - base;
        if (count > capacity) return false;
#pragma unroll 4
        for (int i = threadIdx.x; i < (int)count; i += ROWS) put(i, search, base + i);
        __syncthreads();
        return true;
    }
    // Brings in the rows of those threads that are looking, a few lanes to a row, if they fit; `base` is the place of a
    // thread's own row in the graph, less that in the stage.
    __device__ __forceinline__ bool bring_listed(const Search& search, const Row& row, bool looking, i64& base) const {
        __shared__ i64 slots[ROWS];
        __shared__ int places[ROWS + 1];
        const int place = block_sum_before(looking ? (int)(row.end - row.begin) : 0, places + ROWS);
        slots[threadIdx.x] = base = row.begin - place;
        places[threadIdx.x] = place;
        __syncthreads();
        if (places[ROWS] > capacity) return false;
        for (int i = threadIdx.x / STAGING_LANES; i < ROWS; i += ROWS / STAGING_LANES)
            for (int j = places[i] + threadIdx.x % STAGING_LANES; j < places[i + 1]; j += STAGING_LANES)
                put(j, search, slots[i] + j);
        __syncthreads();
        return true;
    }
};

__device__ __forceinline__ Stage stage_of(const Search& search) {
    extern __shared__ __align__(16) char memory[];
    WEIGHT* const values = reinterpret_cast<WEIGHT*>(memory);
    return {values, reinterpret_cast<INDEX*>(values + search.capacity), search.capacity};
}

// The rows of a block's items, staged, with a thread to a row; false if they do not fit.
template <typename Task>
__device__ __forceinline__ bool search_staged(const Search& search, Task& task, const INDEX* list, i64 first,
                                              i64 last) {
    const Stage stage = stage_of(search);
    const bool present = first + threadIdx.x < last;
    const Row row = present ? row_of(search, vertex_of(list, first + threadIdx.x)) : Row{};
    const auto looks = [&] { return present && !is_long(search, row) && task.begin(row.vertex); };
    bool looking = list && looks();
    i64 base;
    if (!(list ? stage.bring_listed(search, row, looking, base) : stage.bring(search, first, last, base))) return false;
    looking = list ? looking : looks();
    const int place = (int)(row.begin - base), end = (int)(row.end - base);
    for (bool again = false; looking; again = true) {
        Find find = nothing();
        for (int i = place; i < end; ++i)
            look(find, task, search.tie_key, row.vertex, stage.columns[i], stage.values[i], again);
        looking = task.found(row.vertex, find.best, find.open);
    }
    return true;
}

// The rows of the items from `first` to `last`, by as many blocks: few at a time where there are few.
template <typename Task>
__device__ __forceinline__ void search_rows(const Search& search, Task& task, const INDEX* list, i64 first, i64 last,
                                            u32 blocks) {
    const i64 share = (last - first + blocks - 1) / blocks, at_once = share < ROWS ? (share + 31) / 32 * 32 : ROWS;
    for (i64 own = first + blockIdx.x * at_once; own < last; own += blocks * at_once) {
        const i64 end = own + at_once < last ? own + at_once : last;
        const bool done = search.short_rows && search_staged(search, task, list, own, end);
        if (!done) search_by_lanes(search, task, list, own, end);
        __syncthreads();
        task.settle();
    }
}

// Joins what was found in the pieces of a row, for the warp that has done the last of them; false for the others.
__device__ __forceinline__ bool join_pieces(const Search& search, Find& find, u64 first, u64 part, u64 parts) {
    const int lane = threadIdx.x % 32;
    bool last = false;
    if (lane == 0) {
        search.finds[first + part] = find;
        __threadfence();
        last = atomicAdd(search.done + first, 1u) == (u32)parts - 1;
        if (last) {
            __threadfence();
            search.done[first] = 0;
        }
    }
    if (!__shfl_sync(FULL_WARP, last, 0)) return false;
    find = nothing();
    for (u64 i = lane; i < parts; i += 32) {
        const volatile Find& other = search.finds[first + i];
        const Edge edge = {other.best.value, other.best.hash, other.best.column};
        if (is_better(edge, find.best)) find.best = edge;
        find.open |= other.open;
    }
    join_lanes(find, 32);
    return true;
}

// The rows whose pieces are listed, by as many blocks.
template <typename Task>
__device__ __forceinline__ void search_pieces(const Search& search, Task& task, const u64* pieces, u64 count,
                                              u32 blocks) {
    const int warps = ROWS / 32;
    for (u64 base = (u64)blockIdx.x * warps; base < count; base += (u64)blocks * warps) {
        const u64 place = base + threadIdx.x / 32;
        if (place < count) {
            const u64 piece = __ldcg(pieces + place), part = (u32)piece;
            const Row row = row_of(search, (i64)(piece >> 32));
            const u64 parts = pieces_in(row.end - row.begin);
            const EntryRange range = piece_range(row.begin, row.end, (i64)part);
            Find find = nothing();
            if (task.begin(row.vertex)) {
                look_at(find, task, search, row.vertex, range.begin + threadIdx.x % 32, range.end, 32, false);
                join_lanes(find, 32);
                const bool whole = parts == 1 || join_pieces(search, find, place - part, part, parts);
                const bool again = whole && threadIdx.x % 32 == 0 && task.found(row.vertex, find.best, find.open);
                if (again) task.put_off(row.vertex);
            }
        }
        __syncthreads();
        task.settle();
    }
}
