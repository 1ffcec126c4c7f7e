// What the scans of a matrix share: chunks of its stored entries, and what is reported of them.

// What a scan of the entries reports, one 64-bit word each. Places are stored as their complement and
// raised by atomicMax, so that zeroed memory means "none" and the first place wins.
enum Report { BAD_ROW, OUT_OF_RANGE, NONFINITE, UNSORTED, SYMMETRY, LONGEST_ROW, WORDS };

__device__ __forceinline__ void report_first(u64* report, Report kind, u64 place) { atomicMax(report + kind, ~place); }

// As unsigned numbers, negative columns are beyond the last.
__device__ __forceinline__ bool is_outside(INDEX column, i64 rows) {
    return sizeof(INDEX) == 4 ? (u32)column >= (u32)rows : (u64)column >= (u64)rows;
}

// Notes for every chunk of entries the row in which it begins, checks that row offsets rise, and fills in the rows'
// lengths, if these are asked for.
__device__ __forceinline__ void find_chunk_rows(const INDEX* __restrict__ indptr, i64 rows, i64 entries,
                                                INDEX* __restrict__ chunk_row, int* __restrict__ lengths, u64* report) {
    INDEX longest = 0;
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
            const i64 row = first + i * stride;
            const INDEX begin = begins[i], end = ends[i];
            if (row >= rows) break;
            const bool good = begin >= 0 && begin <= end && end <= (INDEX)entries && (row > 0 || begin == 0) &&
                              (row < rows - 1 || end == (INDEX)entries);
            if (!good) {
                report_first(report, BAD_ROW, row);
                continue;
            }
            longest = max(longest, (INDEX)(end - begin));
            if (lengths) lengths[row] = (int)(end - begin);
            // Most rows lie inside one chunk.
            if (begin % CHUNK && begin / CHUNK == (end - 1) / CHUNK) continue;
            for (i64 chunk = ((i64)begin + CHUNK - 1) / CHUNK; chunk * CHUNK < end; ++chunk) chunk_row[chunk] = row;
        }
    }
    for (int half = 16; half > 0; half /= 2) longest = max(longest, __shfl_xor_sync(FULL_WARP, longest, half));
    if (threadIdx.x % 32 == 0 && (u64)longest > report[LONGEST_ROW]) atomicMax(report + LONGEST_ROW, (u64)longest);
}

// The part of a row that lies in a chunk: its places there, and whether it began in an earlier one.
struct RowPart {
    INDEX row;
    int begin, end;
    bool begun;
};

__device__ __forceinline__ RowPart part_in_chunk(const INDEX* __restrict__ indptr, INDEX row, i64 base, int count) {
    const INDEX begin = indptr[row] - (INDEX)base, end = indptr[row + 1] - (INDEX)base;
    return {row, (int)max(begin, (INDEX)0), (int)min(end, (INDEX)count), begin < 0};
}

__device__ __forceinline__ RowPart from_lane(const RowPart& part, int lane) {
    return {__shfl_sync(FULL_WARP, part.row, lane), __shfl_sync(FULL_WARP, part.begin, lane),
            __shfl_sync(FULL_WARP, part.end, lane), (bool)__shfl_sync(FULL_WARP, (int)part.begun, lane)};
}

// How many threads look at a part together.
template <int COUNT>
struct Together {};

// WIDTH threads to a row, and a warp where its part has more than `most` entries. Rows are dealt out to the warps in turn
// where a row has more than one thread: neighbours are often long alike.
template <int WIDTH, typename Look>
__device__ __forceinline__ void share_parts(const INDEX* __restrict__ indptr, INDEX first_row, INDEX last_row, i64 base,
                                            int count, int most, const Look& look) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int own = WIDTH == 1 ? threadIdx.x : lane / WIDTH * (LANES / 32) + warp;
    for (i64 first = first_row; first <= last_row; first += LANES / WIDTH) {
        RowPart part = {0, 0, 0, false};
        if (first + own <= last_row) part = part_in_chunk(indptr, (INDEX)(first + own), base, count);
        const int length = part.end - part.begin;
        if (length > 0 && length <= most) look(Together<WIDTH>{}, part);
        for (u32 left = __ballot_sync(FULL_WARP, length > most && lane % WIDTH == 0); left; left &= left - 1)
            look(Together<32>{}, from_lane(part, __ffs(left) - 1));
    }
}

// Chunks with fewer rows than this give each row several threads.
#define MANY_ROWS 96
#define FEW_THREADS 8

// Calls look(Together<threads>, part) for the parts of all rows in the chunk that begins at entry `base` and has `count`
// entries. All threads of the block must come.
template <typename Look>
__device__ __forceinline__ void for_each_part(const INDEX* __restrict__ indptr, INDEX first_row, INDEX last_row,
                                              i64 base, int count, const Look& look) {
    if (last_row - first_row < MANY_ROWS)
        share_parts<FEW_THREADS>(indptr, first_row, last_row, base, count, 8 * FEW_THREADS, look);
    else share_parts<1>(indptr, first_row, last_row, base, count, 32, look);
}
