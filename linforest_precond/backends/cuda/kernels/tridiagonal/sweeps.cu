#include "runtime/arithmetic.cuh"
#include "tridiagonal/strided_vectors.cuh"

// The substitutions of the (block) Thomas algorithm in parallel, W_i the inverse pivots:
//     z_i = W_i (b_i - L_i z_{i-1})  forward,   x_i = z_i - W_i U_i x_{i+1}  backward.
// Both are linear recurrences: a run of rows is an affine map of the value that enters it. A thread block loads a tile of
// rows into shared memory, THREAD_ROWS per thread. A scan that composes the threads' maps gives the value that enters
// each thread (Kogge & Stone, "A Parallel Algorithm for the Efficient Solution of a General Class of Recurrence
// Equations", IEEE Trans. Comput. C-22, 1973). The values that enter a tile, its carries, either decay to nothing within
// a halo of rows that neighbouring tiles share, or are computed beforehand (`Carries`).
#define TILE(ROWS) (THREADS * (ROWS))
// Threads of the block that computes the carries.
#define CARRY_THREADS (BLOCK == 1 ? 1024 : 256)
// Matrix blocks in 16 bytes, the unit of copies; a tile has this padding before or after it.
#define UNIT (BLOCK_BYTES < 16 ? 16 / BLOCK_BYTES : 1)

struct System {
    const Block *lower, *inverse, *upper;
    i64 count;  // of block rows
};

// KIND: a system with T, with a symmetric T (`lower` is not loaded), or with the transpose of T.
#define PLAIN 0
#define SYMMETRIC 1
#define TRANSPOSED 2

// A tile of the system in shared memory; `upper` begins UNIT blocks before it, `lower` ends UNIT blocks after it.
struct SweepTile {
    Block *lower, *inverse, *upper;

    DEVICE Block pivot(int i) const { return KIND == TRANSPOSED ? transposed(inverse[i]) : inverse[i]; }
    DEVICE Block to_before(int i) const { return KIND == PLAIN ? lower[i] : transposed(upper[UNIT + i - 1]); }
    DEVICE Block to_after(int i) const { return KIND == TRANSPOSED ? transposed(lower[i + 1]) : upper[UNIT + i]; }
};

// Starts an asynchronous copy of blocks [first, first + blocks) of an array; those outside [0, count) are zero.
DEVICE void start_copy(Block* to, In<Block> from, i64 first, int blocks, i64 count) {
    const i64 begin = first * BLOCK_BYTES, end = count * BLOCK_BYTES;
    const int units = blocks * BLOCK_BYTES / 16;
    for (int unit = threadIdx.x; unit < units; unit += THREADS) {
        const i64 at = begin + 16 * unit;
        const int bytes = at < 0 ? 0 : (int)max((i64)0, min((i64)16, end - at));
        const char* source = (const char*)from + (bytes ? at : 0);
        const u32 target = (u32)__cvta_generic_to_shared((char*)to + 16 * unit);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes));
    }
}

template <int ROWS>
DEVICE SweepTile start_tile(const System& system, i64 first, Block* memory) {
    constexpr int rows = TILE(ROWS);
    const SweepTile tile = {memory + 2 * rows + UNIT, memory, memory + rows};
    start_copy(tile.inverse, system.inverse, first, rows, system.count);
    start_copy(tile.upper, system.upper, first - UNIT, rows + UNIT, system.count);
    if (KIND != SYMMETRIC) start_copy(tile.lower, system.lower, first, rows + UNIT, system.count);
    return tile;
}

// The shared memory after a tile.
template <int ROWS>
DEVICE void* after_tile(Block* memory) {
    constexpr int rows = TILE(ROWS);
    return (memory + (KIND == SYMMETRIC ? 2 * rows + UNIT : 3 * rows + 2 * UNIT));
}

DEVICE void finish_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

template <bool REVERSED>
DEVICE VALUE shifted(VALUE value, int step) {
    u32* words = (u32*)&value;
    EACH (i, (int)sizeof(VALUE) / 4)
        words[i] = REVERSED ? __shfl_down_sync(FULL_WARP, words[i], step) : __shfl_up_sync(FULL_WARP, words[i], step);
    return value;
}
template <bool REVERSED, typename Vector>
DEVICE Vector all_shifted(Vector vector, int step) {
    EACH (i, (int)(sizeof(Vector) / sizeof(VALUE))) vector.at[i] = shifted<REVERSED>(vector.at[i], step);
    return vector;
}

// The scan of matrix blocks is not unrolled: that takes the compiler far longer than it saves.
constexpr int scan_unroll = BLOCK == 1 ? 5 : 1;

// Shared memory of a scan: the composed maps of the warps.
template <typename Vector, int WARPS>
struct Maps {
    Block product[WARPS];
    Vector value[WARPS];
};

// Block-wide exclusive scan of affine maps. Every thread holds the map y -> product y + value of its rows; returns the
// value that enters the thread when `carry` enters the tile's first thread (the last one where REVERSED). `growth` is
// raised to the largest product.
template <bool REVERSED, typename Vector, int WARPS>
DEVICE Vector entering(Block product, Vector value, Vector carry, Maps<Vector, WARPS>& maps, WEIGHT& growth) {
    const int lane = REVERSED ? 31 - threadIdx.x % 32 : threadIdx.x % 32;
    const int warp = REVERSED ? WARPS - 1 - threadIdx.x / 32 : threadIdx.x / 32;
#pragma unroll scan_unroll
    for (int step = 1; step < 32; step *= 2) {
        const Block product_before = all_shifted<REVERSED>(product, step);
        const Vector value_before = all_shifted<REVERSED>(value, step);
        if (lane < step) continue;
        value = product * value_before + value;
        product = product * product_before;
        growth = fmax(growth, length_of(product));
    }
    if (lane == 31) {
        maps.product[warp] = product;
        maps.value[warp] = value;
    }
    product = all_shifted<REVERSED>(product, 1);
    value = all_shifted<REVERSED>(value, 1);
    __syncthreads();
    Block before = identity();
    for (int w = 0; w < warp; ++w) {
        carry = maps.product[w] * carry + maps.value[w];
        before = maps.product[w] * before;
        growth = fmax(growth, length_of(before));
    }
    return lane ? product * carry + value : carry;
}

// The rows of a right-hand side in shared memory; null for a zero right-hand side.
template <typename Vector>
struct RightHandSide {
    const Vector* rows;

    DEVICE Vector times(const Block& pivot, int i) const { return rows ? pivot * rows[i] : zeros<Vector>(); }
};

// The forward sweep over a tile, with `carry` entering at its first row. Sets the thread's rows of z; returns the last.
template <int ROWS, typename Vector>
DEVICE Vector sweep_forward(const SweepTile& tile, const RightHandSide<Vector>& right, Vector carry,
                            Maps<Vector, THREADS / 32>& maps, Vector (&z)[ROWS], WEIGHT& growth) {
    const int first = threadIdx.x * ROWS;
    Block coupling[ROWS];
    Block product = identity();
    Vector value;
    EACH (k, ROWS) {
        const Block pivot = tile.pivot(first + k);
        coupling[k] = pivot * tile.to_before(first + k);
        z[k] = right.times(pivot, first + k);
        value = k ? z[k] - coupling[k] * value : z[k];
        product = -(coupling[k] * product);
        growth = fmax(growth, length_of(product));
    }
    carry = entering<false>(product, value, carry, maps, growth);
    EACH (k, ROWS) carry = z[k] = z[k] - coupling[k] * carry;
    return carry;
}

// The backward sweep, with `carry` entering at the tile's last row. Turns z into x where FINISHED; returns the first of
// the thread's rows of x.
template <bool FINISHED, int ROWS, typename Vector>
DEVICE Vector sweep_backward(const SweepTile& tile, Vector carry, Maps<Vector, THREADS / 32>& maps, Vector (&z)[ROWS],
                             WEIGHT& growth) {
    const int first = threadIdx.x * ROWS;
    Block coupling[ROWS];
    Block product = identity();
    Vector value;
#pragma unroll
    for (int k = ROWS - 1; k >= 0; --k) {
        coupling[k] = tile.pivot(first + k) * tile.to_after(first + k);
        value = k < ROWS - 1 ? z[k] - coupling[k] * value : z[k];
        product = -(coupling[k] * product);
        growth = fmax(growth, length_of(product));
    }
    carry = entering<true>(product, value, carry, maps, growth);
    if (FINISHED) {
#pragma unroll
        for (int k = ROWS - 1; k >= 0; --k) z[k] = carry = z[k] - coupling[k] * carry;
    } else {
        carry = product * carry + value;
    }
    return carry;
}

// The place of ghost rows and of rows outside the system.
#define NO_PLACE 0xffffffffu

// Scalar row and column of the e-th number of a tile, in the memory order of the array, for coalesced accesses.
template <int ROWS, int COLUMNS>
DEVICE int row_of(int e, bool row_major) {
    return COLUMNS == 1 ? e : row_major ? e / COLUMNS : e % (TILE(ROWS) * BLOCK);
}
template <int ROWS, int COLUMNS>
DEVICE int column_of(int e, bool row_major) {
    return COLUMNS == 1 ? 0 : row_major ? e % COLUMNS : e / (TILE(ROWS) * BLOCK);
}

// Loads COLUMNS right-hand sides of a tile's rows into shared memory, side by side; 0 for rows without a place. Loads are
// batched for memory-level parallelism.
template <int ROWS, int COLUMNS>
DEVICE void load_rows(const Vectors& vectors, i64 first, i64 count, i64 column, VALUE* to) {
    constexpr int part = ROWS * BLOCK;
    const bool row_major = vectors.source_column < vectors.source_row;
    const i64 first_row = first * BLOCK, rows = count * BLOCK;
#pragma unroll 1
    for (int begin = threadIdx.x; begin < part * COLUMNS * THREADS; begin += part * THREADS) {
        u32 places[part];
        VALUE values[part];
        EACH (i, part) {
            const i64 row = first_row + row_of<ROWS, COLUMNS>(begin + i * THREADS, row_major);
            places[i] = row >= 0 && row < rows ? (u32)place_of(vectors, row) : NO_PLACE;
        }
        EACH (i, part) {
            const i64 c = column + column_of<ROWS, COLUMNS>(begin + i * THREADS, row_major);
            values[i] = VALUE{};
            if (places[i] != NO_PLACE && (COLUMNS == 1 || c < vectors.columns))
                values[i] = value_at(vectors, places[i] * vectors.source_row + c * vectors.source_column);
        }
        EACH (i, part) {
            const int e = begin + i * THREADS;
            to[row_of<ROWS, COLUMNS>(e, row_major) * COLUMNS + column_of<ROWS, COLUMNS>(e, row_major)] = values[i];
        }
    }
}

// Stores the rows [begin, end) of a tile.
template <int ROWS, int COLUMNS>
DEVICE void store_rows(const Vectors& vectors, i64 first, i64 begin, i64 end, i64 column, const VALUE* from) {
    constexpr int part = ROWS * BLOCK;
    const bool row_major = vectors.target_column < vectors.target_row;
#pragma unroll 1
    for (int start = threadIdx.x; start < part * COLUMNS * THREADS; start += part * THREADS) {
        u32 places[part];
        EACH (i, part) {
            const i64 row = first * BLOCK + row_of<ROWS, COLUMNS>(start + i * THREADS, row_major);
            places[i] = row >= begin * BLOCK && row < end * BLOCK ? (u32)place_of(vectors, row) : NO_PLACE;
        }
        EACH (i, part) {
            const int e = start + i * THREADS, c = column_of<ROWS, COLUMNS>(e, row_major);
            if (places[i] == NO_PLACE || (COLUMNS > 1 && column + c >= vectors.columns)) continue;
            put(vectors, places[i] * vectors.target_row + (column + c) * vectors.target_column,
                from[row_of<ROWS, COLUMNS>(e, row_major) * COLUMNS + c]);
        }
    }
}

extern __shared__ __align__(16) char shared_memory[];

// The values that enter each tile, for every column: z from the tile before, x from the tile after. Null where they decay
// within halos.
struct Carries {
    const Column *z, *x;
    i64 tiles;

    template <typename Vector>
    DEVICE Vector entering(const Column* from, i64 tile, i64 column) const {
        Vector carry = zeros<Vector>();
        if (from)
            EACH (i, BLOCK) carry.at[i] = from[column * tiles + tile].at[i];
        return carry;
    }
};

// Solves one tile for COLUMNS right-hand sides, the first of them `column`; COLUMNS is 1 where there are carries.
template <int ROWS, int COLUMNS>
DEVICE void sweep(const System& system, const Vectors& vectors, i64 halo, const Carries& carries, i64 number,
                  i64 column) {
    typedef Panel<COLUMNS> Vector;
    __shared__ Maps<Vector, THREADS / 32> maps[2];
    const i64 begin = number * (TILE(ROWS) - 2 * halo), first = begin - halo;
    const i64 end = min(begin + TILE(ROWS) - 2 * halo, system.count);
    Block* const memory = (Block*)shared_memory;
    const SweepTile tile = start_tile<ROWS>(system, first, memory);
    Vector* const rows = (Vector*)after_tile<ROWS>(memory);
    load_rows<ROWS, COLUMNS>(vectors, first, system.count, column, (VALUE*)rows);
    finish_copies();
    Vector x[ROWS];
    WEIGHT growth = 0;
    sweep_forward(tile, RightHandSide<Vector>{rows}, carries.entering<Vector>(carries.z, number, column), maps[0], x,
                  growth);
    sweep_backward<true>(tile, carries.entering<Vector>(carries.x, number, column), maps[1], x, growth);
    EACH (k, ROWS) rows[threadIdx.x * ROWS + k] = x[k];
    __syncthreads();
    store_rows<ROWS, COLUMNS>(vectors, first, begin, end, column, (const VALUE*)rows);
}

// Blocks of the same tile have consecutive indices, so that all but the first find it in the L2 cache.
KERNEL __launch_bounds__(THREADS, LEAST_BLOCKS) sweep_one(System system, Vectors vectors, i64 halo, Carries carries) {
    sweep<THREAD_ROWS, 1>(system, vectors, halo, carries, blockIdx.x / vectors.columns, blockIdx.x % vectors.columns);
}

KERNEL __launch_bounds__(THREADS, LEAST_BLOCKS_OF_MANY)
    sweep_many(System system, Vectors vectors, i64 halo, Carries carries) {
    const i64 panels = (vectors.columns + COLUMNS_OF_MANY - 1) / COLUMNS_OF_MANY;
    sweep<THREAD_ROWS_OF_MANY, COLUMNS_OF_MANY>(system, vectors, halo, carries, blockIdx.x / panels,
                                                blockIdx.x % panels * COLUMNS_OF_MANY);
}

// The value that leaves each tile with zero carries: its last z, or, once the z carries are known, its first x. (Both in
// one pass would read less, but x would suffer from cancellation.)
KERNEL __launch_bounds__(THREADS, LEAST_BLOCKS)
    reduce(System system, Vectors vectors, i64 tiles, const Column* z_carries, Column* leaving) {
    __shared__ Maps<Column, THREADS / 32> maps[2];
    const i64 number = blockIdx.x / vectors.columns, column = blockIdx.x % vectors.columns,
              at = column * tiles + number;
    const i64 first = number * TILE(THREAD_ROWS);
    Block* const memory = (Block*)shared_memory;
    const SweepTile tile = start_tile<THREAD_ROWS>(system, first, memory);
    Column* const rows = (Column*)after_tile<THREAD_ROWS>(memory);
    load_rows<THREAD_ROWS, 1>(vectors, first, system.count, column, (VALUE*)rows);
    finish_copies();
    Column z[THREAD_ROWS];
    WEIGHT growth = 0;
    const Column carry = z_carries ? z_carries[at] : zeros<Column>();
    const Column last = sweep_forward(tile, RightHandSide<Column>{rows}, carry, maps[0], z, growth);
    if (!z_carries) {
        if (threadIdx.x == THREADS - 1) leaving[at] = last;
        return;
    }
    const Column x = sweep_backward<false>(tile, zeros<Column>(), maps[1], z, growth);
    if (threadIdx.x == 0) leaving[at] = x;
}

// The factor by which a value that enters row i from the row before, or from the row after, leaves it.
DEVICE Block from_before(const System& system, i64 i) {
    if (i < 1) return zeros<Block>();
    const Block before = KIND == PLAIN ? system.lower[i] : transposed(system.upper[i - 1]);
    return (KIND == TRANSPOSED ? transposed(system.inverse[i]) : system.inverse[i]) * before;
}
DEVICE Block from_after(const System& system, i64 i) {
    if (i > system.count - 2) return zeros<Block>();
    const Block after = KIND == TRANSPOSED ? transposed(system.lower[i + 1]) : system.upper[i];
    return (KIND == TRANSPOSED ? transposed(system.inverse[i]) : system.inverse[i]) * after;
}

// The boundaries between tiles of `step` rows without their halos: of the tiles for one column, and for several.
struct Boundaries {
    i64 step, count, step_of_many, count_of_many;
};

// Counts the boundaries where a carry that enters a halo leaves it with more than `least` of its size: of the tiles for
// one column, open[0], and of those for several, open[1]. A warp per boundary: each lane multiplies the factors of a few
// rows, then a tree those of all lanes. The halo has a multiple of 32 rows.
DEVICE void measure_halo(const System& system, const Boundaries& boundaries, i64 warp, int halo, WEIGHT least,
                         u32* open) {
    if (warp >= boundaries.count + boundaries.count_of_many) return;
    const bool of_one = warp < boundaries.count;
    const i64 boundary =
        of_one ? (warp + 1) * boundaries.step : (warp - boundaries.count + 1) * boundaries.step_of_many;
    const int lane = threadIdx.x % 32, rows = halo / 32;
    Block forward = identity(), backward = identity();
    for (int k = 0; k < rows; ++k) {
        forward = from_before(system, boundary - halo + lane * rows + k) * forward;
        backward = backward * from_after(system, boundary + lane * rows + k);
    }
    for (int step = 1; step < 32; step *= 2) {
        forward = all_shifted<true>(forward, step) * forward;
        backward = backward * all_shifted<true>(backward, step);
    }
    if (lane == 0 && !(size_of(forward) <= least && size_of(backward) <= least)) atomicAdd(open + !of_one, 1u);
}

// The linear part of each tile's map: its last z per unit of z entering, its first x per unit of x entering; both null
// where only the growth is measured. The blocks after those of the `tiles` measure the halos.
KERNEL __launch_bounds__(THREADS) measure(System system, i64 tiles, i64 halo, Boundaries boundaries, WEIGHT least,
                                          Block* z_through, Block* x_through, WEIGHT* largest, u32* open) {
    if (blockIdx.x >= tiles) {
        const i64 warp = ((blockIdx.x - tiles) * THREADS + threadIdx.x) / 32;
        measure_halo(system, boundaries, warp, (int)halo, least, open);
        return;
    }
    __shared__ Maps<Block, THREADS / 32> maps[2];
    const i64 begin = blockIdx.x * (TILE(THREAD_ROWS) - 2 * halo);
    const SweepTile tile = start_tile<THREAD_ROWS>(system, begin - halo, (Block*)shared_memory);
    finish_copies();
    WEIGHT growth = 0;
    Block rows[THREAD_ROWS];
    const Block last = sweep_forward(tile, RightHandSide<Block>{nullptr}, identity(), maps[0], rows, growth);
    if (z_through && threadIdx.x == THREADS - 1) z_through[blockIdx.x] = last;
    EACH (k, THREAD_ROWS) rows[k] = zeros<Block>();
    const Block first = sweep_backward<false>(tile, identity(), maps[1], rows, growth);
    if (x_through && threadIdx.x == 0) x_through[blockIdx.x] = first;
    growth = fmax(growth, fmax(length_of(last), length_of(first)));
    raise_over_warp(largest, growth);
}

// The carries of all tiles, by a scan of the tiles' affine maps. One thread block per column; each thread composes a few
// consecutive tiles, from the last one on where REVERSED.
template <bool REVERSED>
DEVICE void find_carries(In<Block> through, In<Column> leaving, i64 tiles, Column* __restrict__ carries) {
    __shared__ Maps<Column, CARRY_THREADS / 32> maps;
    const i64 share = (tiles + CARRY_THREADS - 1) / CARRY_THREADS, column = blockIdx.x * tiles;
    const i64 begin = min(threadIdx.x * share, tiles), count = min(begin + share, tiles) - begin;
    const i64 first = REVERSED ? begin + count - 1 : begin, step = REVERSED ? -1 : 1;
    WEIGHT growth = 0;
    Block product = identity();
    Column value = zeros<Column>();
#pragma unroll 4
    for (i64 i = 0; i < count; ++i) {
        const i64 t = first + i * step;
        value = through[t] * value + leaving[column + t];
        product = through[t] * product;
    }
    Column carry = entering<REVERSED>(product, value, zeros<Column>(), maps, growth);
#pragma unroll 4
    for (i64 i = 0; i < count; ++i) {
        const i64 t = first + i * step;
        carries[column + t] = carry;
        carry = through[t] * carry + leaving[column + t];
    }
}

KERNEL __launch_bounds__(CARRY_THREADS)
    find_z_carries(const Block* through, const Column* leaving, i64 tiles, Column* carries) {
    find_carries<false>(through, leaving, tiles, carries);
}

KERNEL __launch_bounds__(CARRY_THREADS)
    find_x_carries(const Block* through, const Column* leaving, i64 tiles, Column* carries) {
    find_carries<true>(through, leaving, tiles, carries);
}
