#include "common.cuh"

// A vertex's state between iterations, one byte: which places of its row of neighbours are confirmed,
// its charge in the coming iteration, and whether it can take no more edges.
#define CONFIRMED 0x0f
#define POSITIVE 0x10
#define CLOSED 0x20

// Stands in the last place of a row whose vertex is not full but has no free neighbour left.
#define EXHAUSTED ((INDEX)-2)

// Counters of one iteration, zero at first.
struct Record {
    u64 active;     // vertices that propose in it
    u64 confirmed;  // directed edges that it confirmed
    u64 proposed;   // 1 when anything was proposed
    u64 started_at, proposed_at, confirmed_at;  // when it began and its two halves were done, in nanoseconds
};

// What is asked of one launch.
struct Options {
    u64 seed, threshold;
    i64 first, last;     // the iterations to make
    i64 long_row;        // longer rows are cut into pieces
    i64 fewest_dense;    // from this many active vertices on, all rows are gone through
    int m, k_m;
    int automatic;       // whether to stop when few edges are confirmed
    int short_rows;      // whether a block's rows fit into shared memory
    int capacity;        // entries that fit into shared memory
    int width;           // lanes to a row of the active list
};

// What a launch found out, and the next one goes on from.
struct Progress {
    u64 iterations, maximal, finished;
    u64 confirmed;  // directed edges in all
    u64 active;
};

// Five iterations are made in any case; from then on one that confirms 1 % or less is the last.
#define FEWEST_AUTOMATIC 5

// One iteration.
struct Iteration {
    i64 number;
    i64 active;
    bool charged;
    u32 tie_key;
    u64 next_charge_key;
};

__device__ __forceinline__ u64 iteration_key(u64 seed, u64 number) {
    return mix64(seed + 0x9E3779B97F4A7C15ull * number);
}
__device__ __forceinline__ u64 charge_key(const Options& options, i64 k) { return iteration_key(options.seed, 2 * k + 1); }

__device__ __forceinline__ bool is_positive(u64 key, u64 threshold, u64 vertex) {
    return (mix64(key + vertex * 0xD1342543DE82EF95ull) >> 11) < threshold;
}

struct Candidate {
    WEIGHT value;  // as stored in the graph; its magnitude counts
    u32 hash;      // decides among equal weights in charged iterations, 0 in others
    INDEX column, slot;
};

__device__ __forceinline__ bool is_better(const Candidate& a, const Candidate& b) {
    const WEIGHT weight_a = magnitude(a.value), weight_b = magnitude(b.value);
    if (weight_a != weight_b) return weight_a > weight_b;
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.column < b.column;
}

// The best DEGREE candidates seen, best first; an empty place has weight 0.
struct Best {
    Candidate items[DEGREE];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) items[i] = {(WEIGHT)0, ~0u, NO_VERTEX, NO_VERTEX};
    }
    __device__ __forceinline__ void insert(Candidate candidate) {
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) {
            if (!is_better(candidate, items[i])) continue;
            const Candidate displaced = items[i];
            items[i] = candidate;
            candidate = displaced;
        }
    }
    __device__ __forceinline__ void insert_all(const Best& other) {
#pragma unroll
        for (int i = 0; i < DEGREE; ++i)
            if (other.items[i].value != 0) insert(other.items[i]);
    }
    __device__ __forceinline__ Best from_lane(int distance) const {
        Best other;
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) {
            other.items[i].value = __shfl_xor_sync(FULL_WARP, items[i].value, distance);
            other.items[i].hash = __shfl_xor_sync(FULL_WARP, items[i].hash, distance);
            other.items[i].column = __shfl_xor_sync(FULL_WARP, items[i].column, distance);
            other.items[i].slot = __shfl_xor_sync(FULL_WARP, items[i].slot, distance);
        }
        return other;
    }
};

// The graph and the factor under construction.
struct Problem {
    const INDEX* __restrict__ indptr;
    const INDEX* __restrict__ indices;
    const WEIGHT* __restrict__ values;   // their magnitudes are the weights
    INDEX* neighbors;                    // rows of DEGREE, ascending, empty places last
    WEIGHT* edge_values;
    INDEX* slots;
    u8* state;
    i64 rows;
};

// A vertex that looks for edges: what it holds and what it may take.
struct Seeker {
    i64 vertex;
    u8 state;
    INDEX held[DEGREE];  // confirmed neighbours, NO_VERTEX elsewhere

    __device__ __forceinline__ void load(const Problem& problem, i64 v, bool fresh) {
        vertex = v;
        state = fresh ? 0 : problem.state[v];
#pragma unroll
        for (int i = 0; i < DEGREE; ++i)
            held[i] = state >> i & 1 ? problem.neighbors[v * DEGREE + i] : NO_VERTEX;
    }
    __device__ __forceinline__ bool holds(INDEX column) const {
        bool found = false;
#pragma unroll
        for (int i = 0; i < DEGREE; ++i) found |= held[i] == column;
        return found;
    }
};

// What an iteration lets vertices do. FRESH: the first, uncharged, before there are states.
enum Mode { FRESH, UNCHARGED, CHARGED };

__device__ __forceinline__ Mode mode_of(const Iteration& it) {
    return it.charged ? CHARGED : it.number ? UNCHARGED : FRESH;
}

// The state of a column, as far as the mode looks at it.
template <Mode MODE>
__device__ __forceinline__ u8 column_state(const Problem& problem, INDEX column) {
    return MODE == FRESH ? 0 : problem.state[column];
}

// Looks at one entry of the seeker's row; returns whether its edge could be proposed now or later.
template <Mode MODE>
__device__ __forceinline__ bool consider(Best& best, const Seeker& seeker, u32 tie_key, INDEX column, WEIGHT value,
                                         u8 state, i64 slot) {
    if (value == 0 || column == (INDEX)seeker.vertex || (MODE != FRESH && (state & CLOSED))) return false;
    if (MODE != FRESH && seeker.holds(column)) return false;
    if (MODE == CHARGED && !((state ^ seeker.state) & POSITIVE)) return true;
    const WEIGHT weight = magnitude(value), least = magnitude(best.items[DEGREE - 1].value);
    if (weight < least) return true;
    u32 hash = 0;
    if (MODE == CHARGED) {
        const u32 v = (u32)seeker.vertex, w = (u32)column;
        const bool forward = seeker.vertex < (i64)column;
        hash = mix32(tie_key + (forward ? v : w) * 0x9E3779B1u + (forward ? w : v) * 0x85EBCA77u);
    }
    best.insert({value, hash, column, (INDEX)slot});
    return true;
}

// Writes a seeker's row: what it holds and its best candidates for the free places, by column.
// Returns the number of new proposals.
__device__ __forceinline__ int write_row(const Problem& problem, const Seeker& seeker, const Best& best, bool alive) {
    Candidate row[DEGREE];
    int proposed = 0;
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        row[i] = {(WEIGHT)0, 0, NO_VERTEX, NO_VERTEX};
        if (seeker.held[i] < 0) continue;
        const i64 place = seeker.vertex * DEGREE + i;
        row[i] = {problem.edge_values[place], 0, seeker.held[i], problem.slots[place]};
    }
    // The i-th free place takes the i-th best candidate; constant indices keep both lists in registers.
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        if (seeker.held[i] >= 0) continue;
#pragma unroll
        for (int j = 0; j < DEGREE; ++j)
            if (j == proposed && best.items[j].value != 0) row[i] = best.items[j];
        if (row[i].column >= 0) ++proposed;
    }
#pragma unroll
    for (int i = 1; i < DEGREE; ++i)
#pragma unroll
        for (int j = i; j > 0; --j)
            if ((u64)row[j].column < (u64)row[j - 1].column) {  // NO_VERTEX is the largest unsigned number
                const Candidate other = row[j];
                row[j] = row[j - 1];
                row[j - 1] = other;
            }
    if (!alive && row[DEGREE - 1].column < 0) row[DEGREE - 1].column = EXHAUSTED;
#pragma unroll
    for (int i = 0; i < DEGREE; ++i) {
        const i64 place = seeker.vertex * DEGREE + i;
        problem.neighbors[place] = row[i].column;
        problem.edge_values[place] = row[i].value;
        problem.slots[place] = row[i].slot;
    }
    return proposed;
}

// Looks at every `stride`-th entry of a row from `begin` on.
template <Mode MODE>
__device__ __forceinline__ bool consider_entries(Best& best, const Problem& problem, const Seeker& seeker, u32 tie_key,
                                                 i64 begin, i64 end, int stride) {
    bool alive = false;
    for (i64 slot = begin; slot < end; slot += stride) {
        const INDEX column = problem.indices[slot];
        alive |= consider<MODE>(best, seeker, tie_key, column, problem.values[slot],
                                column_state<MODE>(problem, column), slot);
    }
    return alive;
}

__device__ __forceinline__ bool consider_entries(Best& best, const Problem& problem, const Seeker& seeker,
                                                 const Iteration& it, i64 begin, i64 end, int stride) {
    const u32 key = it.tie_key;
    switch (mode_of(it)) {
        case FRESH: return consider_entries<FRESH>(best, problem, seeker, key, begin, end, stride);
        case UNCHARGED: return consider_entries<UNCHARGED>(best, problem, seeker, key, begin, end, stride);
        default: return consider_entries<CHARGED>(best, problem, seeker, key, begin, end, stride);
    }
}

// Rows of a block of the dense proposition, one to a thread.
#define ROWS 256

// The rows [first, last) of a block and their entries, staged in shared memory where they fit.
struct Stage {
    WEIGHT* values;
    INDEX* columns;
    u8* states;
    int capacity;
};

__device__ __forceinline__ Stage stage_of(const Options& options) {
    extern __shared__ __align__(16) char memory[];
    WEIGHT* const values = reinterpret_cast<WEIGHT*>(memory);
    INDEX* const columns = reinterpret_cast<INDEX*>(values + options.capacity);
    return {values, columns, reinterpret_cast<u8*>(columns + options.capacity), options.capacity};
}

// Proposes for one vertex, whose entries [begin, end) are staged from place `staged_at` on, or not at all (-1).
template <Mode MODE>
__device__ __forceinline__ bool propose_row(const Problem& problem, const Iteration& it, const Stage& stage,
                                            const Seeker& seeker, int staged_at, i64 begin, i64 end) {
    Best best;
    best.clear();
    bool alive = false;
    if (staged_at >= 0) {
        const int last = staged_at + (int)(end - begin);
        const i64 shift = begin - staged_at;
        for (int i = staged_at; i < last; ++i)
            alive |= consider<MODE>(best, seeker, it.tie_key, stage.columns[i], stage.values[i],
                                    MODE == FRESH ? 0 : stage.states[i], shift + i);
    } else {
        alive = consider_entries<MODE>(best, problem, seeker, it.tie_key, begin, end, 1);
    }
    return write_row(problem, seeker, best, alive) > 0;
}

template <Mode MODE>
__device__ __forceinline__ bool propose_block(const Problem& problem, const Iteration& it, const Stage& stage,
                                              i64 first, i64 last, i64 long_row) {
    const i64 base = problem.indptr[first];
    const i64 count = (i64)problem.indptr[last] - base;
    const bool staged = count <= stage.capacity;
    const i64 vertex = first + threadIdx.x;
    const bool present = vertex < last;
    const i64 begin = present ? problem.indptr[vertex] : 0, end = present ? problem.indptr[vertex + 1] : 0;
    if (staged) {
        const INDEX* __restrict__ columns = problem.indices + base;
        const WEIGHT* __restrict__ values = problem.values + base;
#pragma unroll 4
        for (int i = threadIdx.x; i < (int)count; i += ROWS) {
            const INDEX column = columns[i];
            stage.columns[i] = column;
            stage.values[i] = values[i];
            if (MODE != FRESH) stage.states[i] = column_state<MODE>(problem, column);
        }
    }
    __syncthreads();
    if (!present || end - begin > long_row) return false;
    Seeker seeker;
    seeker.load(problem, vertex, MODE == FRESH);
    if (seeker.state & CLOSED) return false;
    return propose_row<MODE>(problem, it, stage, seeker, staged ? (int)(begin - base) : -1, begin, end);
}

// All vertices propose along their heaviest free edges: all rows in turn, staged in shared memory with coalesced
// reads, then a thread to a row. For iterations in which many vertices are active. Rows beyond `long_row` are
// left out; blocks of rows with more than `capacity` entries are not staged.
__device__ bool propose_dense(const Problem& problem, const Iteration& it, const Options& options) {
    const Stage stage = stage_of(options);
    const Mode mode = mode_of(it);
    bool proposed = false;
    for (i64 first = (i64)blockIdx.x * ROWS; first < problem.rows; first += (i64)gridDim.x * ROWS) {
        const i64 last = first + ROWS < problem.rows ? first + ROWS : problem.rows;
        if (mode == FRESH) proposed |= propose_block<FRESH>(problem, it, stage, first, last, options.long_row);
        else if (mode == UNCHARGED) proposed |= propose_block<UNCHARGED>(problem, it, stage, first, last, options.long_row);
        else proposed |= propose_block<CHARGED>(problem, it, stage, first, last, options.long_row);
        __syncthreads();
    }
    return proposed;
}

// Lanes that bring a row of the active list into shared memory.
#define STAGING_LANES 4

// The vertices of the active list propose along their heaviest free edges, for short rows: a block stages the
// rows of 256 vertices, a few lanes to a row, then takes a thread to a row.
template <Mode MODE>
__device__ __forceinline__ bool propose_listed_block(const Problem& problem, const Iteration& it, const Stage& stage,
                                                     const INDEX* list, i64 first, i64 long_row) {
    __shared__ INDEX begins[ROWS];
    __shared__ int places[ROWS + 1];
    const int t = threadIdx.x;
    const bool present = first + t < it.active;
    const i64 vertex = present ? (i64)list[first + t] : 0;
    const i64 begin = present ? problem.indptr[vertex] : 0, end = present ? problem.indptr[vertex + 1] : 0;
    const bool mine = present && end - begin <= long_row;
    begins[t] = (INDEX)begin;
    const int place = block_sum_before(mine ? (int)(end - begin) : 0, places + ROWS);
    places[t] = place;
    __syncthreads();
    const bool staged = places[ROWS] <= stage.capacity;
    if (staged) {
#pragma unroll
        for (int row = t / STAGING_LANES; row < ROWS; row += ROWS / STAGING_LANES) {
            const i64 from = (i64)begins[row] - places[row];
            for (int i = places[row] + t % STAGING_LANES; i < places[row + 1]; i += STAGING_LANES) {
                const INDEX column = problem.indices[from + i];
                stage.columns[i] = column;
                stage.values[i] = problem.values[from + i];
                stage.states[i] = column_state<MODE>(problem, column);
            }
        }
    }
    __syncthreads();
    if (!mine) return false;
    Seeker seeker;
    seeker.load(problem, vertex, false);
    return propose_row<MODE>(problem, it, stage, seeker, staged ? place : -1, begin, end);
}

__device__ bool propose_listed(const Problem& problem, const Iteration& it, const Options& options, const INDEX* list) {
    const Stage stage = stage_of(options);
    bool proposed = false;
    for (i64 first = (i64)blockIdx.x * ROWS; first < it.active; first += (i64)gridDim.x * ROWS) {
        proposed |= it.charged
                        ? propose_listed_block<CHARGED>(problem, it, stage, list, first, options.long_row)
                        : propose_listed_block<UNCHARGED>(problem, it, stage, list, first, options.long_row);
        __syncthreads();
    }
    return proposed;
}

// The vertices of the active list (all vertices in the first iteration) propose along their heaviest free
// edges, for longer rows: a generalized sparse matrix-vector product with `width` lanes to a row.
__device__ bool propose_sparse(const Problem& problem, const Iteration& it, const Options& options,
                               const INDEX* list) {
    const int width = options.width, lane = threadIdx.x % width;
    const i64 rows_at_once = (i64)gridDim.x * blockDim.x / width;
    const i64 own = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / width;
    bool proposed = false;
    // All lanes of a warp go round together: they exchange candidates.
    for (i64 round = 0; round * rows_at_once < it.active; ++round) {
        const i64 item = round * rows_at_once + own;
        Seeker seeker;
        Best best;
        best.clear();
        bool alive = false, mine = false;
        if (item < it.active) {
            seeker.load(problem, it.number ? (i64)list[item] : item, mode_of(it) == FRESH);
            const i64 begin = problem.indptr[seeker.vertex], end = problem.indptr[seeker.vertex + 1];
            mine = end - begin <= options.long_row;
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

// A piece of a long row that one block reduces.
#define PIECE 2048

// What a block found in one piece.
struct Partial {
    Best best;
    int alive;
};

// The rows beyond `long_row` and the pieces they are cut into, if there are any. A row's pieces are consecutive.
struct LongRows {
    INDEX* rows;
    i64* first_piece;
    INDEX* piece_row;  // place in `rows` of each piece's row
    u64* counts;       // rows, pieces
    Partial* partials;
};

extern "C" __global__ void list_long_rows(const INDEX* __restrict__ indptr, i64 rows, i64 long_row, LongRows found) {
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += (i64)gridDim.x * blockDim.x) {
        const i64 length = (i64)indptr[row + 1] - indptr[row];
        if (length <= long_row) continue;
        const i64 pieces = (length + PIECE - 1) / PIECE;
        const i64 place = atomicAdd(found.counts, 1ull), first = atomicAdd(found.counts + 1, (u64)pieces);
        found.rows[place] = row;
        found.first_piece[place] = first;
        for (i64 piece = 0; piece < pieces; ++piece) found.piece_row[first + piece] = place;
    }
}

// Finds the best candidates of each piece of the active long rows, a block to a piece.
__device__ void propose_pieces(const Problem& problem, const Iteration& it, const LongRows& found) {
    __shared__ Best warp_best[8];
    for (i64 piece = blockIdx.x; piece < (i64)found.counts[1]; piece += gridDim.x) {
        const i64 place = found.piece_row[piece];
        Seeker seeker;
        seeker.load(problem, found.rows[place], mode_of(it) == FRESH);
        if (seeker.state & CLOSED) continue;
        const i64 begin = (i64)problem.indptr[seeker.vertex] + (piece - found.first_piece[place]) * PIECE;
        const i64 row_end = problem.indptr[seeker.vertex + 1];
        const i64 end = begin + PIECE < row_end ? begin + PIECE : row_end;
        Best best;
        best.clear();
        const bool alive = consider_entries(best, problem, seeker, it, begin + threadIdx.x, end, blockDim.x);
        for (int distance = 16; distance > 0; distance /= 2) best.insert_all(best.from_lane(distance));
        if (threadIdx.x % 32 == 0) warp_best[threadIdx.x / 32] = best;
        const bool any_alive = __syncthreads_or(alive);
        if (threadIdx.x == 0) {
            for (int warp = 1; warp < 8; ++warp) best.insert_all(warp_best[warp]);
            found.partials[piece] = {best, any_alive};
        }
        __syncthreads();
    }
}

// Joins the pieces of each long row and writes its proposals, a warp to a row.
__device__ bool join_pieces(const Problem& problem, const Iteration& it, const LongRows& found) {
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
    bool proposed = false;
    for (i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; i < (i64)found.counts[0]; i += warps) {
        Seeker seeker;
        seeker.load(problem, found.rows[i], mode_of(it) == FRESH);
        if (seeker.state & CLOSED) continue;
        const i64 length = (i64)problem.indptr[seeker.vertex + 1] - problem.indptr[seeker.vertex];
        Best best;
        best.clear();
        bool alive = false;
        for (i64 piece = threadIdx.x % 32; piece < (length + PIECE - 1) / PIECE; piece += 32) {
            const Partial& partial = found.partials[found.first_piece[i] + piece];
            best.insert_all(partial.best);
            alive |= partial.alive;
        }
        for (int distance = 16; distance > 0; distance /= 2) best.insert_all(best.from_lane(distance));
        alive = __any_sync(FULL_WARP, alive);
        if (threadIdx.x % 32 == 0) proposed |= write_row(problem, seeker, best, alive) > 0;
    }
    return proposed;
}

// Gives every vertex its charge before a charged first iteration, and no edges.
__device__ void first_charges(const Problem& problem, const Options& options) {
    const u64 key = charge_key(options, 0);
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < problem.rows; v += (i64)gridDim.x * blockDim.x)
        problem.state[v] = is_positive(key, options.threshold, v) ? POSITIVE : 0;
}

// An edge stays when both ends proposed it; vertices that may gain more edges form the next active list.
__device__ void confirm(const Problem& problem, const Iteration& it, const Options& options, Record* record,
                        const INDEX* list, INDEX* next_list) {
    const i64 block_items = (i64)blockDim.x * AT_ONCE;
    u64 confirmed = 0;
    for (i64 base = blockIdx.x * block_items; base < it.active; base += gridDim.x * block_items) {
        INDEX vertices[AT_ONCE];
        u32 open = 0;
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            const i64 item = base + turn * blockDim.x + threadIdx.x;
            if (item >= it.active) continue;
            const i64 v = it.number ? (i64)list[item] : item;
            vertices[turn] = v;
            INDEX row[DEGREE];
#pragma unroll
            for (int i = 0; i < DEGREE; ++i) row[i] = problem.neighbors[v * DEGREE + i];
            u32 mask = 0;
#pragma unroll
            for (int i = 0; i < DEGREE; ++i) {
                if (row[i] < 0) continue;
                bool mutual = false;
#pragma unroll
                for (int j = 0; j < DEGREE; ++j) mutual |= problem.neighbors[(i64)row[i] * DEGREE + j] == v;
                mask |= (u32)mutual << i;
            }
            const u32 before = it.number ? problem.state[v] & CONFIRMED : 0;
            confirmed += __popc(mask) - __popc(before);
            const bool closed = __popc(mask) == DEGREE || row[DEGREE - 1] == EXHAUSTED;
            u8 state = mask | (closed ? CLOSED : 0);
            if (!closed) {
                if (is_positive(it.next_charge_key, options.threshold, v)) state |= POSITIVE;
                open |= 1u << turn;
            }
            problem.state[v] = state;
        }
        u64 places[AT_ONCE];
        append_places(open, &record[1].active, places);
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (open >> turn & 1) next_list[places[turn]] = vertices[turn];
    }
    confirmed = warp_sum(confirmed);
    if (threadIdx.x % 32 == 0 && confirmed) atomicAdd(&record->confirmed, confirmed);
}

// Clears what was proposed and not confirmed; rows stay ascending with empty places last.
__device__ void finish_rows(const Problem& problem) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < problem.rows; v += (i64)gridDim.x * blockDim.x) {
        const u32 mask = problem.state[v] & CONFIRMED;
        if (__popc(mask) == DEGREE) continue;
        i64 place = v * DEGREE;
        for (int i = 0; i < DEGREE; ++i) {
            if (!(mask >> i & 1)) continue;
            problem.neighbors[place] = problem.neighbors[v * DEGREE + i];
            problem.edge_values[place] = problem.edge_values[v * DEGREE + i];
            problem.slots[place] = problem.slots[v * DEGREE + i];
            ++place;
        }
        // The confirmed places are now the first.
        problem.state[v] = (problem.state[v] & ~CONFIRMED) | ((1u << __popc(mask)) - 1);
        for (; place < (v + 1) * DEGREE; ++place) {
            problem.neighbors[place] = NO_VERTEX;
            problem.edge_values[place] = 0;
            problem.slots[place] = NO_VERTEX;
        }
    }
}

__device__ __forceinline__ u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

// Makes the iterations of the factor: propose, wait for all, confirm, wait for all. A cooperative launch;
// `barrier` and the records are zero at first, one record more than iterations. The two lists of active
// vertices take turns.
extern "C" __global__ void __launch_bounds__(256, DEGREE <= 2 ? 5 : 3)
    propose_factor(Problem problem, Options options, LongRows long_rows, INDEX* lists, Record* records,
                   Progress* progress, u32* barrier) {
    u32 generation = 0;
    u64 total = progress->confirmed;
    bool finished = false, maximal = false;
    i64 k = options.first;
    i64 active = k ? (i64)progress->active : problem.rows;
    if (k == 0 && k % options.m != options.k_m) {
        first_charges(problem, options);
        grid_barrier(barrier, generation);
    }
    for (Record* record = records; k < options.last && !finished; ++record) {
        const Iteration it = {k, active, k % options.m != options.k_m, (u32)iteration_key(options.seed, 2 * k + 2),
                              charge_key(options, k + 1)};
        if (blockIdx.x == 0 && threadIdx.x == 0) record->started_at = nanoseconds();
        const INDEX* const list = lists + k % 2 * problem.rows;
        INDEX* const next_list = lists + (k + 1) % 2 * problem.rows;
        const bool all = k == 0 || active >= options.fewest_dense;
        bool proposed = !options.short_rows ? propose_sparse(problem, it, options, list)
                        : all               ? propose_dense(problem, it, options)
                                            : propose_listed(problem, it, options, list);
        if (long_rows.rows) {
            propose_pieces(problem, it, long_rows);
            grid_barrier(barrier, generation);
            proposed |= join_pieces(problem, it, long_rows);
        }
        if (__syncthreads_or(proposed) && threadIdx.x == 0) record->proposed = 1;
        grid_barrier(barrier, generation);
        if (blockIdx.x == 0 && threadIdx.x == 0) record->proposed_at = nanoseconds();
        maximal = finished = !it.charged && !__ldcg(&record->proposed);
        confirm(problem, it, options, record, list, next_list);
        grid_barrier(barrier, generation);
        if (blockIdx.x == 0 && threadIdx.x == 0) record->confirmed_at = nanoseconds();
        const u64 confirmed = __ldcg(&record->confirmed);
        total += confirmed;
        active = (i64)__ldcg(&record[1].active);
        ++k;
        if (options.automatic && k >= FEWEST_AUTOMATIC && 100 * confirmed <= total) finished = true;
    }
    finish_rows(problem);
    if (blockIdx.x == 0 && threadIdx.x == 0) *progress = {(u64)k, maximal, finished, total, (u64)active};
}
