#include "common.cuh"

// A vertex's state between iterations, one byte: which places of its row of neighbours are confirmed,
// its charge in the coming iteration, and whether it can take no more edges.
#define CONFIRMED 0x0f
#define POSITIVE 0x10
#define CLOSED 0x20

// Stands in the last place of a row whose vertex is not full but has no free neighbour left.
#define EXHAUSTED ((INDEX)-2)

// Counters of one iteration, written by its kernels and read by later ones.
struct Record {
    u64 active;     // vertices that propose in it
    u64 confirmed;  // directed edges that it confirmed
    u64 proposed;   // 1 when anything was proposed
    u64 skipped;    // 1 when the factor was finished before it
};

// How one iteration goes; the same for all its kernels.
struct Iteration {
    u64 tie_key, next_charge_key, threshold;
    u64 confirmed_before;    // directed edges confirmed before the records in front of this one's
    int charged;             // whether vertices propose to the opposite charge alone
    int previous_charged;    // whether they did in the iteration before
    int automatic;           // whether to stop when few edges are confirmed
    int number;              // k, counted from 0
    int history;             // how many records that are
};

// Five iterations are made in any case; from then on one that confirms 1 % or less is the last.
#define FEWEST_AUTOMATIC 5

// Was the factor finished before this iteration? `records` points to this iteration's own record.
__device__ bool is_finished(const Record* records, const Iteration& it) {
    if (it.number == 0) return false;
    const Record& before = records[-1];
    if (before.skipped) return true;
    if (!it.previous_charged && !before.proposed) return true;
    if (!it.automatic || it.number < FEWEST_AUTOMATIC) return false;
    u64 total = it.confirmed_before;
    for (int j = 1; j <= it.history; ++j) total += records[-j].confirmed;
    return 100 * before.confirmed <= total;
}

// The block's answer to is_finished, found by one thread.
__device__ __forceinline__ bool block_finished(const Record* records, const Iteration& it) {
    __shared__ bool finished;
    if (threadIdx.x == 0) finished = is_finished(records, it);
    __syncthreads();
    return finished;
}

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
    INDEX* __restrict__ neighbors;       // rows of DEGREE, ascending, empty places last
    WEIGHT* __restrict__ edge_values;
    INDEX* __restrict__ slots;
    u8* __restrict__ state;
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

__device__ __forceinline__ void note_proposals(bool proposed, Record* record) {
    if (__syncthreads_or(proposed) && threadIdx.x == 0) record->proposed = 1;
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
    Best best;
    best.clear();
    bool alive = false;
    if (staged) {
        for (int i = (int)(begin - base); i < (int)(end - base); ++i)
            alive |= consider<MODE>(best, seeker, (u32)it.tie_key, stage.columns[i], stage.values[i],
                                    MODE == FRESH ? 0 : stage.states[i], base + i);
    } else {
        for (i64 slot = begin; slot < end; ++slot) {
            const INDEX column = problem.indices[slot];
            alive |= consider<MODE>(best, seeker, (u32)it.tie_key, column, problem.values[slot],
                                    column_state<MODE>(problem, column), slot);
        }
    }
    return write_row(problem, seeker, best, alive) > 0;
}

// Each vertex proposes along its heaviest free edges: all rows in turn, staged in shared memory with
// coalesced reads, then a thread to a row. For iterations in which many vertices are active. Rows beyond
// `long_row` are left to propose_long; blocks whose rows exceed `capacity` entries are not staged.
extern "C" __global__ void __launch_bounds__(ROWS) propose_dense(Problem problem, Iteration it, Record* record,
                                                                 i64 long_row, int capacity, i64 fewest_active) {
    extern __shared__ __align__(16) char memory[];
    Stage stage;
    stage.capacity = capacity;
    stage.values = reinterpret_cast<WEIGHT*>(memory);
    stage.columns = reinterpret_cast<INDEX*>(stage.values + capacity);
    stage.states = reinterpret_cast<u8*>(stage.columns + capacity);
    if (block_finished(record, it) || (it.number && (i64)record->active < fewest_active)) return;
    const Mode mode = mode_of(it);
    bool proposed = false;
    for (i64 first = (i64)blockIdx.x * ROWS; first < problem.rows; first += (i64)gridDim.x * ROWS) {
        const i64 last = first + ROWS < problem.rows ? first + ROWS : problem.rows;
        if (mode == FRESH) proposed |= propose_block<FRESH>(problem, it, stage, first, last, long_row);
        else if (mode == UNCHARGED) proposed |= propose_block<UNCHARGED>(problem, it, stage, first, last, long_row);
        else proposed |= propose_block<CHARGED>(problem, it, stage, first, last, long_row);
        __syncthreads();
    }
    note_proposals(proposed, record);
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
    const u32 key = (u32)it.tie_key;
    switch (mode_of(it)) {
        case FRESH: return consider_entries<FRESH>(best, problem, seeker, key, begin, end, stride);
        case UNCHARGED: return consider_entries<UNCHARGED>(best, problem, seeker, key, begin, end, stride);
        default: return consider_entries<CHARGED>(best, problem, seeker, key, begin, end, stride);
    }
}

// Each vertex of the active list (all vertices in the first iteration) proposes along its heaviest free
// edges: a generalized sparse matrix-vector product with `width` lanes to a row.
extern "C" __global__ void propose_sparse(Problem problem, Iteration it, Record* record, const INDEX* __restrict__ list,
                                          i64 long_row, int width, i64 most_active) {
    if (block_finished(record, it) || (it.number && (i64)record->active >= most_active)) return;
    const i64 active = it.number ? (i64)record->active : problem.rows;
    const int lane = threadIdx.x % width;
    const i64 rows_at_once = (i64)gridDim.x * blockDim.x / width;
    const i64 own = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / width;
    bool proposed = false;
    // All lanes of a warp go round together: they exchange candidates.
    for (i64 round = 0; round * rows_at_once < active; ++round) {
        const i64 item = round * rows_at_once + own;
        Seeker seeker;
        Best best;
        best.clear();
        bool alive = false, mine = false;
        if (item < active) {
            seeker.load(problem, it.number ? (i64)list[item] : item, mode_of(it) == FRESH);
            const i64 begin = problem.indptr[seeker.vertex], end = problem.indptr[seeker.vertex + 1];
            mine = end - begin <= long_row;
            if (mine) alive = consider_entries(best, problem, seeker, it, begin + lane, end, width);
        }
        for (int distance = width / 2; distance > 0; distance /= 2) {
            best.insert_all(best.from_lane(distance));
            alive |= __shfl_xor_sync(FULL_WARP, alive, distance);
        }
        if (mine && lane == 0) proposed |= write_row(problem, seeker, best, alive) > 0;
    }
    note_proposals(proposed, record);
}

// A piece of a long row that one block reduces.
#define PIECE 2048

// What a block found in one piece.
struct Partial {
    Best best;
    int alive;
};

// The rows beyond `long_row` and the pieces they are cut into. A row's pieces are consecutive.
struct LongRows {
    INDEX* __restrict__ rows;
    i64* __restrict__ first_piece;
    INDEX* __restrict__ piece_row;  // place in `rows` of each piece's row
    u64* __restrict__ counts;       // rows, pieces
    Partial* __restrict__ partials;
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
extern "C" __global__ void __launch_bounds__(256) propose_long(Problem problem, Iteration it, Record* record,
                                                               LongRows found) {
    __shared__ Best warp_best[8];
    if (block_finished(record, it)) return;
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
extern "C" __global__ void merge_long(Problem problem, Iteration it, Record* record, LongRows found) {
    if (block_finished(record, it)) return;
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
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
        if (threadIdx.x % 32 == 0 && write_row(problem, seeker, best, alive)) record->proposed = 1;
    }
}

// Gives every vertex its charge before a charged first iteration, and no edges.
extern "C" __global__ void first_charges(u8* __restrict__ state, i64 rows, u64 key, u64 threshold) {
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < rows; v += (i64)gridDim.x * blockDim.x)
        state[v] = is_positive(key, threshold, v) ? POSITIVE : 0;
}

// Vertices a thread confirms in one go.
#define AT_ONCE 4

// An edge stays when both ends proposed it; vertices that may gain more edges form the next active list.
extern "C" __global__ void __launch_bounds__(256) confirm(Problem problem, Iteration it, Record* record,
                                                          const INDEX* __restrict__ list, INDEX* __restrict__ next_list) {
    const bool finished = block_finished(record, it);
    if (finished) {
        if (blockIdx.x == 0 && threadIdx.x == 0) record->skipped = 1;
        return;
    }
    const i64 active = it.number ? (i64)record->active : problem.rows;
    const i64 block_items = (i64)blockDim.x * AT_ONCE;
    u64 confirmed = 0;
    for (i64 base = blockIdx.x * block_items; base < active; base += gridDim.x * block_items) {
        INDEX open[AT_ONCE];
        u32 open_count = 0;
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            open[turn] = NO_VERTEX;
            const i64 item = base + turn * blockDim.x + threadIdx.x;
            if (item >= active) continue;
            const i64 v = it.number ? (i64)list[item] : item;
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
                if (is_positive(it.next_charge_key, it.threshold, v)) state |= POSITIVE;
                open[turn] = v;
                ++open_count;
            }
            problem.state[v] = state;
        }
        u64 place = append_places(open_count, &record[1].active);
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (open[turn] >= 0) next_list[place++] = open[turn];
    }
    confirmed = warp_sum(confirmed);
    if (threadIdx.x % 32 == 0 && confirmed) atomicAdd(&record->confirmed, confirmed);
}

// Clears what was proposed and not confirmed; rows stay ascending with empty places last.
extern "C" __global__ void finish_rows(Problem problem) {
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
        for (; place < (v + 1) * DEGREE; ++place) {
            problem.neighbors[place] = NO_VERTEX;
            problem.edge_values[place] = 0;
            problem.slots[place] = NO_VERTEX;
        }
    }
}
