#include "runtime/common.cuh"
// Blocks here have a size known at run time: only the arithmetic of numbers is taken.
#define BLOCK 1
#include "runtime/arithmetic.cuh"

// Each row copies what it stores inside its diagonal block; a short last block is filled up with the identity.
extern "C" __global__ void copy_diagonal_blocks(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                                const VALUE* __restrict__ data, i64 rows, int size, i64 count,
                                                VALUE* __restrict__ blocks) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < count * size; row += stride) {
        VALUE* own = blocks + row * size;
        const i64 first = row / size * size;
        if (row >= rows) {
            own[row - first] = from_real(1);
            continue;
        }
        const i64 end = indptr[row + 1];
        for (i64 slot = lower_bound(indices, (i64)indptr[row], end, (INDEX)first);
             slot < end && indices[slot] < first + size; ++slot)
            own[indices[slot] - first] = data[slot];
    }
}

// A block in shared memory and its inverse to be, worked on by the lanes of a part of a warp, a row or a column each.
struct Workspace {
    VALUE* pivots;
    VALUE* inverse;
    int size, lane;

    __device__ __forceinline__ VALUE& pivot(int r, int c) const { return pivots[r * size + c]; }
    __device__ __forceinline__ VALUE& other(int r, int c) const { return inverse[r * size + c]; }
};

__device__ __forceinline__ void load(const Workspace& work, const VALUE* __restrict__ block) {
    __syncwarp();
    if (work.lane < work.size)
        for (int c = 0; c < work.size; ++c) {
            work.pivot(work.lane, c) = block[work.lane * work.size + c];
            work.other(work.lane, c) = from_real(work.lane == c);
        }
    __syncwarp();
}

// Whether the block is Hermitian with positive pivots; it is destroyed. The answer is the same in all lanes.
__device__ __forceinline__ bool is_definite(const Workspace& work, const VALUE* __restrict__ block, u32 lanes) {
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

#define SMALLEST_NORMAL (sizeof(WEIGHT) == 4 ? (WEIGHT)1.17549435e-38f : (WEIGHT)2.2250738585072014e-308)

// What a pivot becomes that vanishes beside its block, or is too small to be inverted.
__device__ __forceinline__ VALUE lifted_beside(VALUE pivot, WEIGHT block_size) {
    return ROOT_EPSILON * block_size < SMALLEST_NORMAL ? from_real(1) : lifted(pivot, block_size);
}

// Gauss-Jordan with partial pivoting; pivots that vanish beside the block are lifted. Returns how many were.
__device__ __forceinline__ int invert(const Workspace& work) {
    int lifts = 0;
    WEIGHT block_size = 0;
    for (int i = 0; i < work.size * work.size; ++i) block_size = fmax(block_size, size_of(work.pivots[i]));
    for (int k = 0; k < work.size; ++k) {
        int best = k;
        for (int r = k + 1; r < work.size; ++r)
            if (size_of(work.pivot(r, k)) > size_of(work.pivot(best, k))) best = r;
        VALUE head = work.pivot(best, k);
        if (size_of(head) <= EPSILON * block_size || size_of(head) < SMALLEST_NORMAL) {
            head = lifted_beside(head, block_size);
            ++lifts;
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
    return lifts;
}

// Inverts all blocks, `lanes` lanes to a block; one warp to a thread block.
extern "C" __global__ void invert_blocks(const VALUE* __restrict__ blocks, i64 count, int size, int lanes,
                                         VALUE* __restrict__ inverses, i64* report) {
    extern __shared__ __align__(16) unsigned char memory[];
    const int at_once = 32 / lanes, place = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    VALUE* own = (VALUE*)memory + place * 2 * size * size;
    const Workspace work = {own, own + size * size, size, lane};
    const u32 own_lanes = (lanes == 32 ? FULL_WARP : (1u << lanes) - 1) << place * lanes;
    u64 lifts = 0, not_definite = 0;
    for (i64 first = (i64)blockIdx.x * at_once; first < count; first += (i64)gridDim.x * at_once) {
        // Lanes beyond the last block repeat it and keep the answer to themselves.
        const bool beyond = first + place >= count;
        const i64 number = beyond ? count - 1 : first + place;
        const VALUE* block = blocks + number * size * size;
        load(work, block);
        const bool definite = is_definite(work, block, own_lanes);
        load(work, block);
        const int own_lifts = invert(work);
        if (beyond || lane >= size) continue;
        for (int c = 0; c < size; ++c) inverses[number * size * size + lane * size + c] = work.other(lane, c);
        if (lane) continue;
        lifts += own_lifts;
        not_definite += !definite;
    }
    __syncwarp();
    lifts = warp_sum(lifts);
    not_definite = warp_sum(not_definite);
    if (threadIdx.x) return;
    if (lifts) atomicAdd((u64*)report, lifts);
    if (not_definite) atomicAdd((u64*)report + 1, not_definite);
}

// Each entry of x adds up its block's row (or column) times its part of b. Strides count numbers.
extern "C" __global__ void multiply_blocks(const VALUE* __restrict__ inverses, int size, int transpose,
                                           const RESULT* __restrict__ b, RESULT* __restrict__ x, i64 rows, i64 columns,
                                           i64 b_row, i64 b_column, i64 x_row, i64 x_column) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < rows * columns; i += stride) {
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
