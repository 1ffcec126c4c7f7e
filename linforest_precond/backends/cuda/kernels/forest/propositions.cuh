// Proposition kernels, load-balanced by row length: a thread per staged row (all rows, or those of the active list),
// `width` lanes per row, or a block per piece of a long row.

// Rows that a block stages at a time, a thread per row.
#define ROWS 256

// Shared memory for the entries of a block's rows.
struct StagedRows {
    WEIGHT* values;
    INDEX* columns;
    u8* states;
    int capacity;
};

DEVICE StagedRows staged_rows(const Options& options) {
    extern __shared__ __align__(16) char memory[];
    WEIGHT* const values = reinterpret_cast<WEIGHT*>(memory);
    INDEX* const columns = reinterpret_cast<INDEX*>(values + options.capacity);
    return {values, columns, reinterpret_cast<u8*>(columns + options.capacity), options.capacity};
}

// Proposes for one vertex. Its entries [begin, end) are staged from place `staged_at` on, or not at all (-1).
template <Mode MODE>
DEVICE bool propose_row(const Problem& problem, const Iteration& it, const StagedRows& buffer, const Seeker& seeker,
                        int staged_at, i64 begin, i64 end) {
    Best best;
    best.clear();
    bool alive = false;
    if (staged_at >= 0) {
        const int last = staged_at + (int)(end - begin);
        const i64 shift = begin - staged_at;
        for (int i = staged_at; i < last; ++i)
            alive |= consider<MODE>(best, seeker, it.ties, buffer.columns[i], buffer.values[i],
                                    MODE == FRESH ? 0 : buffer.states[i], shift + i);
    } else {
        alive = consider_entries<MODE>(best, problem, seeker, it.ties, begin, end, 1);
    }
    return write_row(problem, seeker, best, alive) > 0;
}

// Proposes for the rows [first, last), a thread per row; their entries are staged if they fit.
template <Mode MODE>
DEVICE bool propose_block(const Problem& problem, const Iteration& it, const StagedRows& buffer, i64 first, i64 last,
                          i64 long_row) {
    const i64 base = problem.indptr[first];
    const i64 count = (i64)problem.indptr[last] - base;
    const bool staged = count <= buffer.capacity;
    const i64 vertex = first + threadIdx.x;
    const bool present = vertex < last;
    const i64 begin = present ? problem.indptr[vertex] : 0, end = present ? problem.indptr[vertex + 1] : 0;
    if (staged) {
        In<WEIGHT> values = problem.values + base;
#pragma unroll 4
        for (int i = threadIdx.x; i < (int)count; i += ROWS) {
            const INDEX column = column_at(problem, base + i);
            buffer.columns[i] = column;
            buffer.values[i] = values[i];
            if (MODE != FRESH) buffer.states[i] = column_state<MODE>(problem, column);
        }
    }
    __syncthreads();
    if (!present || end - begin > long_row) return false;
    Seeker seeker;
    seeker.load(problem, vertex, MODE == FRESH);
    if (seeker.state & CLOSED) return false;
    return propose_row<MODE>(problem, it, buffer, seeker, staged ? (int)(begin - base) : -1, begin, end);
}

// Each active vertex proposes along its heaviest free edges. For iterations in which most vertices are active: all rows
// are read in order, with coalesced loads into shared memory, then a thread takes each row. Rows longer than `long_row`
// are left to propose_pieces; blocks of rows with more than `capacity` entries are not staged.
__device__ bool propose_dense(const Problem& problem, const Iteration& it, const Options& options) {
    const StagedRows buffer = staged_rows(options);
    const Mode mode = mode_of(it);
    bool proposed = false;
    for (i64 first = (i64)blockIdx.x * ROWS; first < problem.rows; first += (i64)gridDim.x * ROWS) {
        const i64 last = first + ROWS < problem.rows ? first + ROWS : problem.rows;
        if (mode == FRESH) proposed |= propose_block<FRESH>(problem, it, buffer, first, last, options.long_row);
        else if (mode == UNCHARGED)
            proposed |= propose_block<UNCHARGED>(problem, it, buffer, first, last, options.long_row);
        else proposed |= propose_block<CHARGED>(problem, it, buffer, first, last, options.long_row);
        __syncthreads();
    }
    return proposed;
}

// Lanes that load a row of the active list into shared memory.
#define STAGING_LANES 4

// The same for 256 vertices of the active list from `first` on: their rows are staged by a few lanes each, then a
// thread takes each row.
template <Mode MODE>
DEVICE bool propose_listed_block(const Problem& problem, const Iteration& it, const StagedRows& buffer,
                                 const INDEX* list, i64 first, i64 long_row) {
    __shared__ INDEX begins[ROWS];
    __shared__ int places[ROWS + 1];
    const int t = threadIdx.x;
    const bool present = first + t < it.active;
    const i64 vertex = present ? (i64)list[first + t] : 0;
    const i64 begin = present ? problem.indptr[vertex] : 0, end = present ? problem.indptr[vertex + 1] : 0;
    const bool mine = present && end - begin <= long_row;
    begins[t] = (INDEX)begin;
    const int place = block_exclusive_sum(mine ? (int)(end - begin) : 0, places + ROWS);
    places[t] = place;
    __syncthreads();
    const bool staged = places[ROWS] <= buffer.capacity;
    if (staged) {
#pragma unroll
        for (int row = t / STAGING_LANES; row < ROWS; row += ROWS / STAGING_LANES) {
            const i64 from = (i64)begins[row] - places[row];
            for (int i = places[row] + t % STAGING_LANES; i < places[row + 1]; i += STAGING_LANES) {
                const INDEX column = column_at(problem, from + i);
                buffer.columns[i] = column;
                buffer.values[i] = problem.values[from + i];
                buffer.states[i] = column_state<MODE>(problem, column);
            }
        }
    }
    __syncthreads();
    if (!mine) return false;
    Seeker seeker;
    seeker.load(problem, vertex, false);
    return propose_row<MODE>(problem, it, buffer, seeker, staged ? place : -1, begin, end);
}

// Each vertex of the active list proposes along its heaviest free edges, for short rows.
__device__ bool propose_listed(const Problem& problem, const Iteration& it, const Options& options, const INDEX* list) {
    const StagedRows buffer = staged_rows(options);
    bool proposed = false;
    for (i64 first = (i64)blockIdx.x * ROWS; first < it.active; first += (i64)gridDim.x * ROWS) {
        proposed |= it.charged ? propose_listed_block<CHARGED>(problem, it, buffer, list, first, options.long_row)
                               : propose_listed_block<UNCHARGED>(problem, it, buffer, list, first, options.long_row);
        __syncthreads();
    }
    return proposed;
}

// Each vertex of the active list (all vertices in the first iteration) proposes along its heaviest free edges, for
// longer rows: as in a CSR matrix-vector product, `width` lanes reduce each row.
__device__ bool propose_sparse(const Problem& problem, const Iteration& it, const Options& options, const INDEX* list) {
    const int width = options.width, lane = threadIdx.x % width;
    const i64 rows_at_once = (i64)gridDim.x * blockDim.x / width;
    const i64 own = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / width;
    bool proposed = false;
    // All lanes of a warp make the same number of rounds, because they take part in the shuffles.
    for (i64 round = 0; round * rows_at_once < it.active; ++round) {
        const i64 item = round * rows_at_once + own;
        Seeker seeker;
        Best best;
        best.clear();
        bool alive = false, mine = false;
        if (item < it.active) {
            seeker.load(problem, it.number ? (i64)list[item] : item, mode_of(it) == FRESH);
            const i64 begin = problem.indptr[seeker.vertex], end = problem.indptr[seeker.vertex + 1];
            const bool kept = options.m == 1 && it.number && keeps_proposals(problem, seeker);
            proposed |= kept;
            mine = !kept && end - begin <= options.long_row;
            if (mine) alive = consider_entries(best, problem, seeker, it, begin + lane, end, width);
        }
        for (int distance = width / 2; distance > 0; distance /= 2) {
            best.insert_all(best.from_lane(distance));
            alive |= __shfl_xor_sync(FULL_WARP, alive, distance);
        }
        if (mine && lane == 0) proposed |= write_row(problem, seeker, best, alive) > 0;
    }
    return proposed;
}

// What a block found in one piece of a long row.
struct Partial {
    Best best;
    int alive;
};

// Finds the best candidates of each piece of the active long rows, a block to a piece.
__device__ void propose_pieces(const Problem& problem, const Iteration& it, const LongRows& found, Partial* partials) {
    __shared__ Best warp_best[8];
    for (u32 piece = blockIdx.x; piece < found.counts[1]; piece += gridDim.x) {
        const Part part = piece_of(problem.indptr, found, piece);
        Seeker seeker;
        seeker.load(problem, part.vertex, mode_of(it) == FRESH);
        if (seeker.state & CLOSED) continue;
        Best best;
        best.clear();
        const bool alive =
            consider_entries(best, problem, seeker, it, part.begin + threadIdx.x, part.begin + part.length, blockDim.x);
        for (int distance = 16; distance > 0; distance /= 2) best.insert_all(best.from_lane(distance));
        if (threadIdx.x % 32 == 0) warp_best[threadIdx.x / 32] = best;
        const bool any_alive = __syncthreads_or(alive);
        if (threadIdx.x == 0) {
            for (int warp = 1; warp < 8; ++warp) best.insert_all(warp_best[warp]);
            partials[piece] = {best, any_alive};
        }
        __syncthreads();
    }
}

// Joins the pieces of each long row and writes its proposals, a warp to a row.
__device__ bool join_pieces(const Problem& problem, const Iteration& it, const LongRows& found,
                            const Partial* partials) {
    bool proposed = false;
    GROUP_STRIDE (u32, i, found.counts[0], 32) {
        Seeker seeker;
        seeker.load(problem, found.rows[i], mode_of(it) == FRESH);
        if (seeker.state & CLOSED) continue;
        const i64 pieces = pieces_in((i64)problem.indptr[seeker.vertex + 1] - problem.indptr[seeker.vertex]);
        Best best;
        best.clear();
        bool alive = false;
        for (i64 piece = threadIdx.x % 32; piece < pieces; piece += 32) {
            const Partial& partial = partials[found.first[i] + piece];
            best.insert_all(partial.best);
            alive |= partial.alive;
        }
        for (int distance = 16; distance > 0; distance /= 2) best.insert_all(best.from_lane(distance));
        alive = __any_sync(FULL_WARP, alive);
        if (threadIdx.x % 32 == 0) proposed |= write_row(problem, seeker, best, alive) > 0;
    }
    return proposed;
}
