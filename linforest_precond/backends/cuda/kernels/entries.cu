#include "common.cuh"

// What a scan of the entries reports, one 64-bit word each. Places are stored as their complement and
// raised by atomicMax, so that zeroed memory means "none" and the first place wins.
enum Report { BAD_ROW, OUT_OF_RANGE, NONFINITE, UNSORTED, SYMMETRY, LONGEST_ROW, WORDS };

__device__ __forceinline__ void report_first(u64* report, Report kind, u64 place) {
    atomicMax(report + kind, ~place);
}

// Rows a thread looks at together, so that their loads overlap.
#define AT_ONCE 4

// Notes for every chunk of entries the row in which it begins, and checks that row offsets rise.
extern "C" __global__ void chunk_rows(const INDEX* __restrict__ indptr, i64 rows, i64 entries,
                                      INDEX* __restrict__ chunk_row, u64* report) {
    u64 longest = 0;
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x; first < rows; first += AT_ONCE * stride) {
        INDEX begins[AT_ONCE], ends[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 row = first + i * stride < rows ? first + i * stride : first;
            begins[i] = indptr[row];
            ends[i] = indptr[row + 1];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 row = first + i * stride, begin = begins[i], end = ends[i];
            if (row >= rows) break;
            const bool good = begin >= 0 && begin <= end && end <= entries && (row > 0 || begin == 0) &&
                              (row < rows - 1 || end == entries);
            if (!good) {
                report_first(report, BAD_ROW, row);
                continue;
            }
            if ((u64)(end - begin) > longest) longest = end - begin;
            for (i64 chunk = (begin + CHUNK - 1) / CHUNK; chunk * CHUNK < end; ++chunk) chunk_row[chunk] = row;
        }
    }
    for (int half = 16; half > 0; half /= 2) {
        const u64 other = __shfl_xor_sync(FULL_WARP, longest, half);
        if (other > longest) longest = other;
    }
    if (threadIdx.x % 32 == 0 && longest > report[LONGEST_ROW]) atomicMax(report + LONGEST_ROW, longest);
}

// Four consecutive entries of a user's array, in wide loads where it is aligned for them.
template <typename T>
__device__ __forceinline__ void load4(const T* __restrict__ from, bool aligned, int valid, T (&to)[4]) {
    struct alignas(16) Wide { T items[16 / sizeof(T) > 4 ? 4 : 16 / sizeof(T)]; };
    constexpr int ITEMS = sizeof(Wide) / sizeof(T);
    if (aligned && valid == 4) {
#pragma unroll
        for (int j = 0; j < 4; j += ITEMS) *reinterpret_cast<Wide*>(to + j) = *reinterpret_cast<const Wide*>(from + j);
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (j < valid) to[j] = from[j];
}

// A number that an edge {low, high} of this weight has and hardly another: both halves of a 128-bit
// product. Only whether the numbers above and below the diagonal cancel is ever seen.
__device__ __forceinline__ u64 edge_hash(INDEX low, INDEX high, u64 weight_bits) {
    const u64 pair = sizeof(INDEX) == 4 ? (u64)(u32)high << 32 | (u32)low
                                        : (u64)high * 0x9E3779B97F4A7C15ull + (u64)low;
    const u64 a = pair ^ 0x9E3779B97F4A7C15ull, b = weight_bits ^ 0xC2B2AE3D27D4EB4Full;
    return a * b ^ __umul64hi(a, b);
}

// Most rows of a chunk that shared memory holds; chunks with more (empty) rows search global memory.
#define STAGED_ROWS 1152

// A block's view of one chunk: where its rows end, counted from the chunk's beginning, at most CHUNK.
template <bool STAGED>
struct ChunkRows {
    const int* staged_ends;
    const INDEX* indptr_end;  // the end of the chunk's first row
    i64 base;

    __device__ __forceinline__ int end(int i) const {
        if (STAGED) return staged_ends[i];
        const i64 end = (i64)indptr_end[i] - base;
        return (int)(end < CHUNK ? end : CHUNK);
    }
};

// What a thread has found over all its entries.
struct Findings {
    u64 symmetry;
    bool unsorted;
};

// Looks at a thread's four entries of a chunk; returns the sum of their off-diagonal magnitudes.
template <bool STAGED>
__device__ __forceinline__ double look_at_entries(const ChunkRows<STAGED>& ends, INDEX first_row, int last,
                                                  bool first_row_begins, const INDEX* __restrict__ indices,
                                                  const INDEX (&columns)[4], const VALUE (&values)[4], int valid,
                                                  INDEX rows, double scale, VALUE* __restrict__ diagonal,
                                                  Findings& found, u64* report) {
    const int own = 4 * threadIdx.x;
    const i64 base = ends.base + own;
    if (!valid) return 0.0;
    int i = 0;
    for (int high = last; i < high;) {
        const int middle = (i + high) / 2;
        if (ends.end(middle) <= own) i = middle + 1;
        else high = middle;
    }
    int end = ends.end(i);
    const bool begins = i ? ends.end(i - 1) == own : own == 0 && first_row_begins;
    INDEX previous = begins ? NO_VERTEX : indices[base - 1];
    double sum = 0.0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        if (j >= valid) break;
        while (end <= own + j) {
            end = ends.end(++i);
            previous = NO_VERTEX;
        }
        const INDEX row = first_row + i, column = columns[j];
        // As unsigned numbers, negative columns are beyond the last.
        const bool outside = sizeof(INDEX) == 4 ? (u32)column >= (u32)rows : (u64)column >= (u64)rows;
        if (outside) report_first(report, OUT_OF_RANGE, base + j);
        if (!is_finite(values[j])) report_first(report, NONFINITE, base + j);
        found.unsorted |= column <= previous;
        previous = column;
        if (column == row) {
            diagonal[row] = values[j];
            continue;
        }
        const auto weight = magnitude(values[j]);
        if (weight == 0) continue;
        sum += (double)weight * scale;
        const bool above = column > row;
        const u64 hash = edge_hash(above ? row : column, above ? column : row, bits(weight));
        found.symmetry += above ? hash : 0 - hash;
    }
    return sum;
}

// One pass over all entries: are they finite, in range, sorted, symmetric, what do they weigh, and what is
// on the diagonal (zeroed before)?
extern "C" __global__ void __launch_bounds__(LANES) scan_entries(
    const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices, const VALUE* __restrict__ data, i64 rows,
    i64 entries, double scale, const INDEX* __restrict__ chunk_row, double* __restrict__ chunk_sums,
    VALUE* __restrict__ diagonal, u64* report) {
    __shared__ double lanes[LANES];
    __shared__ int staged_ends[STAGED_ROWS];
    if (report[BAD_ROW]) return;
    const bool aligned = ((u64)indices % 16 == 0) && ((u64)data % 16 == 0);
    const i64 chunks = (entries + CHUNK - 1) / CHUNK;
    Findings found = {0, false};
    for (i64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const i64 base = chunk * CHUNK, own = base + 4 * threadIdx.x;
        const int valid = own + 4 <= entries ? 4 : own < entries ? (int)(entries - own) : 0;
        alignas(16) INDEX columns[4];
        alignas(16) VALUE values[4];
        load4(indices + own, aligned, valid, columns);
        load4(data + own, aligned, valid, values);
        const INDEX first_row = chunk_row[chunk];
        const INDEX last_row = chunk + 1 < chunks ? chunk_row[chunk + 1] : (INDEX)(rows - 1);
        const int last = (int)(last_row - first_row);
        const bool first_row_begins = (i64)indptr[first_row] == base;
        const ChunkRows<false> direct = {nullptr, indptr + first_row + 1, base};
        double sum;
        if (last < STAGED_ROWS) {
            for (int i = threadIdx.x; i <= last; i += LANES) staged_ends[i] = direct.end(i);
            __syncthreads();
            const ChunkRows<true> staged = {staged_ends, nullptr, base};
            sum = look_at_entries(staged, first_row, last, first_row_begins, indices, columns, values, valid,
                                  (INDEX)rows, scale, diagonal, found, report);
        } else {
            __syncthreads();
            sum = look_at_entries(direct, first_row, last, first_row_begins, indices, columns, values, valid,
                                  (INDEX)rows, scale, diagonal, found, report);
        }
        sum = sum_lanes(sum, lanes);
        if (threadIdx.x == 0) chunk_sums[chunk] = sum;
    }
    found.symmetry = warp_sum(found.symmetry);
    if (threadIdx.x % 32 == 0 && found.symmetry) atomicAdd(report + SYMMETRY, found.symmetry);
    if (found.unsorted) report[UNSORTED] = 1;
}

// The row of every entry, a warp to a row.
extern "C" __global__ void fill_rows(const INDEX* __restrict__ indptr, i64 rows, INDEX* __restrict__ row_of) {
    const i64 warps = (i64)gridDim.x * blockDim.x / 32;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps)
        for (i64 slot = indptr[row] + threadIdx.x % 32; slot < indptr[row + 1]; slot += 32) row_of[slot] = row;
}

extern "C" __global__ void magnitudes(const VALUE* __restrict__ data, i64 entries, WEIGHT* __restrict__ weights) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x)
        weights[i] = magnitude(data[i]);
}

__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ double plus(double a, double b) { return a + b; }
__device__ __forceinline__ Complex64 plus(Complex64 a, Complex64 b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ Complex128 plus(Complex128 a, Complex128 b) { return {a.re + b.re, a.im + b.im}; }

// Each distinct entry adds its duplicates left to right; `order` sorts the entries, `heads` marks where
// in that order the distinct ones begin.
extern "C" __global__ void sum_duplicates(const VALUE* __restrict__ data, const i64* __restrict__ order,
                                          const i64* __restrict__ heads, i64 distinct, i64 entries,
                                          VALUE* __restrict__ sums) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < distinct; i += (i64)gridDim.x * blockDim.x) {
        const i64 end = i + 1 < distinct ? heads[i + 1] : entries;
        VALUE sum = data[order[heads[i]]];
        for (i64 j = heads[i] + 1; j < end; ++j) sum = plus(sum, data[order[j]]);
        sums[i] = sum;
    }
}

__device__ __forceinline__ WEIGHT clamped_sum(WEIGHT a, WEIGHT b) {
    const WEIGHT largest = sizeof(WEIGHT) == 4 ? (WEIGHT)3.4028234663852886e38 : (WEIGHT)1.7976931348623157e308;
    const WEIGHT sum = a + b;
    return sum < largest ? sum : largest;
}

// Adds to each entry's magnitude that of its mirror image; entries that have none are flagged.
extern "C" __global__ void add_mirrors(const INDEX* __restrict__ indptr, const INDEX* __restrict__ indices,
                                       const INDEX* __restrict__ row_of, const WEIGHT* __restrict__ data, i64 entries,
                                       WEIGHT* __restrict__ weights, u8* __restrict__ lonely, u32* any_lonely) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x) {
        const INDEX row = row_of[i], column = indices[i];
        const i64 mirror = find_column(indices, (i64)indptr[column], (i64)indptr[column + 1], row);
        const WEIGHT own = magnitude(data[i]);
        weights[i] = mirror < 0 ? own : clamped_sum(own, magnitude(data[mirror]));
        lonely[i] = mirror < 0;
        if (mirror < 0) *any_lonely = 1;
    }
}

// Merges two CSR patterns that share no entry: moves each entry of one behind those of the other,
// `other_ptr` and `other_indices`, that come before it. Run once for either side.
extern "C" __global__ void merge_entries(const INDEX* __restrict__ row_of, const INDEX* __restrict__ indices,
                                         const WEIGHT* __restrict__ weights, i64 entries,
                                         const INDEX* __restrict__ other_ptr, const INDEX* __restrict__ other_indices,
                                         INDEX* __restrict__ out_indices, WEIGHT* __restrict__ out_weights) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x) {
        const i64 begin = first_not_less(other_indices, (i64)other_ptr[row_of[i]], (i64)other_ptr[row_of[i] + 1], indices[i]);
        out_indices[i + begin] = indices[i];
        out_weights[i + begin] = weights[i];
    }
}
