// Scans of a matrix in chunks of stored entries.
#include "matrix/scan_report.cuh"

DEVICE void report_first(u64* report, Report kind, u64 place) { atomicMax(report + kind, ~place); }

// Compared as unsigned: negative columns are too large.
DEVICE bool is_outside(INDEX column, i64 rows) {
    return sizeof(INDEX) == 4 ? (u32)column >= (u32)rows : (u64)column >= (u64)rows;
}

// Finds the row in which each chunk of entries begins, checks that row pointers ascend, and finds the longest row;
// writes the rows' lengths unless `lengths` is null.
DEVICE void find_chunk_rows(In<INDEX> indptr, i64 rows, i64 entries, INDEX* __restrict__ chunk_row,
                            int* __restrict__ lengths, u64* report) {
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
            // Most rows begin and end inside one chunk.
            if (begin % CHUNK && begin / CHUNK == (end - 1) / CHUNK) continue;
            for (i64 chunk = ((i64)begin + CHUNK - 1) / CHUNK; chunk * CHUNK < end; ++chunk) chunk_row[chunk] = row;
        }
    }
    longest = warp_max(longest);
    if (threadIdx.x % 32 == 0 && (u64)longest > report[LONGEST_ROW]) atomicMax(report + LONGEST_ROW, (u64)longest);
}

// Checks the columns before anything follows them: in range, and ascending in each row. Consecutive columns may descend
// only where a row begins.
DEVICE void check_columns(In<INDEX> indptr, In<INDEX> indices, i64 rows, i64 entries, u64* report) {
    i64 descents = 0;
    const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    for (i64 first = thread; first < entries; first += AT_ONCE * stride) {
        INDEX columns[AT_ONCE], before[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 slot = first + i * stride < entries ? first + i * stride : first;
            columns[i] = indices[slot];
            before[i] = slot > 0 ? indices[slot - 1] : NO_VERTEX;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const i64 slot = first + i * stride;
            if (slot >= entries) break;
            if (is_outside(columns[i], rows)) report_first(report, OUT_OF_RANGE, slot);
            descents += columns[i] <= before[i];
        }
    }
    for (i64 row = thread; row < rows; row += stride) {
        const i64 begin = indptr[row], end = indptr[row + 1];
        if (begin > 0 && begin < end && end <= entries) descents -= indices[begin] <= indices[begin - 1];
    }
    const u64 all = warp_sum((u64)descents);
    if (threadIdx.x % 32 == 0 && all) atomicAdd(report + UNSORTED, all);
}

// Whether the entries can be read in order.
DEVICE bool is_valid(const u64* report) { return !report[BAD_ROW] && !report[OUT_OF_RANGE] && !report[UNSORTED]; }

// The part of a row that lies in a chunk: its places there.
struct RowPart {
    INDEX row;
    int begin, end;
};

DEVICE RowPart part_in_chunk(In<INDEX> indptr, INDEX row, i64 base, int count) {
    const INDEX begin = indptr[row] - (INDEX)base, end = indptr[row + 1] - (INDEX)base;
    return {row, (int)max(begin, (INDEX)0), (int)min(end, (INDEX)count)};
}

DEVICE RowPart from_lane(const RowPart& part, int lane) {
    return {__shfl_sync(FULL_WARP, part.row, lane), __shfl_sync(FULL_WARP, part.begin, lane),
            __shfl_sync(FULL_WARP, part.end, lane)};
}

// The number of lanes that share a part.
template <int COUNT>
struct Lanes {};

// Load balancing: WIDTH lanes per row, a warp for parts of more than `most` entries. With several lanes per row,
// consecutive rows go to different warps: neighbouring rows are often of similar length.
template <int WIDTH, typename Scan>
DEVICE void balance_parts(In<INDEX> indptr, INDEX first_row, INDEX last_row, i64 base, int count, int most,
                          const Scan& scan) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int own = WIDTH == 1 ? threadIdx.x : lane / WIDTH * (LANES / 32) + warp;
    for (i64 first = first_row; first <= last_row; first += LANES / WIDTH) {
        RowPart part = {0, 0, 0};
        if (first + own <= last_row) part = part_in_chunk(indptr, (INDEX)(first + own), base, count);
        const int length = part.end - part.begin;
        if (length > 0 && length <= most) scan(Lanes<WIDTH>{}, part);
        for (u32 left = __ballot_sync(FULL_WARP, length > most && lane % WIDTH == 0); left; left &= left - 1)
            scan(Lanes<32>{}, from_lane(part, __ffs(left) - 1));
    }
}

// Rows of chunks with fewer rows than this have several lanes.
#define MANY_ROWS 96
#define LANES_PER_ROW 8

// Calls scan(Lanes<lanes>, part) for the parts of all rows in the chunk that begins at entry `base` and has `count`
// entries. All threads of the block must call it.
template <typename Scan>
DEVICE void for_each_part(In<INDEX> indptr, INDEX first_row, INDEX last_row, i64 base, int count, const Scan& scan) {
    if (last_row - first_row < MANY_ROWS)
        balance_parts<LANES_PER_ROW>(indptr, first_row, last_row, base, count, 8 * LANES_PER_ROW, scan);
    else balance_parts<1>(indptr, first_row, last_row, base, count, 32, scan);
}
