// The block size is known at run time only: of this header, the arithmetic of numbers is used.
#define BLOCK 1
#include "runtime/arithmetic.cuh"

// Each row copies its entries inside its diagonal block; a short last block is padded with the identity.
KERNEL copy_diagonal_blocks(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 rows, int size, i64 count,
                            VALUE* __restrict__ blocks) {
    GRID_STRIDE (i64, row, count * size) {
        VALUE* own = blocks + row * size;
        const i64 first = row / size * size;
        if (row >= rows) {
            own[row - first] = from_real(1);
            continue;
        }
        const i64 end = indptr[row + 1];
        for (i64 slot = lower_bound(indices, (i64)indptr[row], end, (INDEX)first); slot < end; ++slot) {
            const i64 column = (i64)indices[slot] - first;  // negative only if the user's array has changed
            if (column < 0 || column >= size) break;
            own[column] = data[slot];
        }
    }
}

// A block and its inverse in shared memory, processed by a group of lanes of a warp, one row or column per lane.
struct Workspace {
    VALUE *pivots, *inverse;
    int size, lane;

    DEVICE VALUE& pivot(int r, int c) const { return pivots[r * size + c]; }
    DEVICE VALUE& other(int r, int c) const { return inverse[r * size + c]; }
};

DEVICE void load(const Workspace& work, In<VALUE> block) {
    __syncwarp();
    if (work.lane < work.size)
        for (int c = 0; c < work.size; ++c) {
            work.pivot(work.lane, c) = block[work.lane * work.size + c];
            work.other(work.lane, c) = from_real(work.lane == c);
        }
    __syncwarp();
}

// Whether the block, which is overwritten, is Hermitian with positive pivots. All lanes return the same.
DEVICE bool is_definite(const Workspace& work, In<VALUE> block, u32 lanes) {
    bool good = true;
    if (work.lane < work.size)
        for (int c = 0; c < work.size; ++c)
            good = good && work.pivot(work.lane, c) == conjugate(work.pivot(c, work.lane));
    for (int k = 0; k < work.size; ++k) {
        const WEIGHT head = real_part(work.pivot(k, k));
        good = good && head > EPSILON * real_part(block[k * work.size + k]);
        const VALUE factor = from_real(1 / head);
        __syncwarp();
        if (work.lane > k && work.lane < work.size) {
            const VALUE part = work.pivot(work.lane, k) * factor;
            for (int c = k + 1; c < work.size; ++c)
                work.pivot(work.lane, c) = work.pivot(work.lane, c) - part * work.pivot(k, c);
        }
        __syncwarp();
    }
    return (__ballot_sync(FULL_WARP, good) & lanes) == lanes;
}

// Gauss-Jordan elimination with partial pivoting. Pivots that are tiny relative to the block are perturbed; returns how
// many were.
DEVICE int invert(const Workspace& work) {
    int perturbed = 0;
    WEIGHT block_size = 0;
    for (int i = 0; i < work.size * work.size; ++i) block_size = fmax(block_size, size_of(work.pivots[i]));
    for (int k = 0; k < work.size; ++k) {
        int best = k;
        for (int r = k + 1; r < work.size; ++r)
            if (size_of(work.pivot(r, k)) > size_of(work.pivot(best, k))) best = r;
        VALUE head = work.pivot(best, k);
        if (size_of(head) <= EPSILON * block_size || size_of(head) < LEAST_PIVOT) {
            head = lifted(head, block_size);
            ++perturbed;
        }
        const VALUE factor = inverse(head);
        __syncwarp();
        const int c = work.lane;
        if (c < work.size) {
            const VALUE a = work.pivot(best, c), b = work.other(best, c);
            work.pivot(best, c) = work.pivot(k, c);
            work.other(best, c) = work.other(k, c);
            work.pivot(k, c) = a * factor;
            work.other(k, c) = b * factor;
        }
        __syncwarp();
        const int r = work.lane;
        if (r < work.size && r != k) {
            const VALUE part = work.pivot(r, k);
            for (int i = k + 1; i < work.size; ++i) work.pivot(r, i) = work.pivot(r, i) - part * work.pivot(k, i);
            for (int i = 0; i < work.size; ++i) work.other(r, i) = work.other(r, i) - part * work.other(k, i);
        }
        __syncwarp();
    }
    return perturbed;
}

// Inverts all blocks with `lanes` lanes per block, one warp per thread block.
KERNEL invert_blocks(In<VALUE> blocks, i64 count, int size, int lanes, VALUE* __restrict__ inverses, i64* report) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int at_once = 32 / lanes, place = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    VALUE* own = (VALUE*)memory + place * 2 * size * size;
    const Workspace work = {own, own + size * size, size, lane};
    const u32 own_lanes = (lanes == 32 ? FULL_WARP : (1u << lanes) - 1) << place * lanes;
    u64 perturbed = 0, not_definite = 0;
    for (i64 first = (i64)blockIdx.x * at_once; first < count; first += (i64)gridDim.x * at_once) {
        // Lanes beyond the last block repeat it, for the warp's synchronization, and write nothing.
        const bool beyond = first + place >= count;
        const i64 number = beyond ? count - 1 : first + place;
        const VALUE* block = blocks + number * size * size;
        load(work, block);
        const bool definite = is_definite(work, block, own_lanes);
        load(work, block);
        const int own_perturbed = invert(work);
        if (beyond || lane >= size) continue;
        for (int c = 0; c < size; ++c) inverses[number * size * size + lane * size + c] = work.other(lane, c);
        if (lane) continue;
        perturbed += own_perturbed;
        not_definite += !definite;
    }
    __syncwarp();
    perturbed = warp_sum(perturbed);
    not_definite = warp_sum(not_definite);
    if (threadIdx.x) return;
    if (perturbed) atomicAdd((u64*)report, perturbed);
    if (not_definite) atomicAdd((u64*)report + 1, not_definite);
}

// x = inverse b, one thread per entry of x: a row (or column) of a block times its part of b. Strides are in elements.
KERNEL multiply_blocks(In<VALUE> inverses, int size, int transpose, In<RESULT> b, RESULT* __restrict__ x, i64 rows,
                       i64 columns, i64 b_row, i64 b_column, i64 x_row, i64 x_column) {
    GRID_STRIDE (i64, i, rows * columns) {
        const i64 row = i / columns, column = i % columns, first = row / size * size;
        const int within = (int)(row - first), width = (int)min((i64)size, rows - first);
        const VALUE* entry = inverses + first * size + (transpose ? within : within * size);
        RESULT sum;
        for (int c = 0; c < width; ++c, entry += transpose ? size : 1) {
            RESULT factor;
            convert(factor, *entry);
            const RESULT term = factor * b[(first + c) * b_row + column * b_column];
            sum = c ? sum + term : term;
        }
        x[row * x_row + column * x_column] = sum;
    }
}
