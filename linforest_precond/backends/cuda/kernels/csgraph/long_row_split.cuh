// Rows of more than PIECE entries, cut into pieces of so many: no row keeps one warp busy when the others are done.

struct LongRows {
    int* rows;    // the vertices
    u32* first;   // the number of each one's first piece
    u32* owners;  // for each piece, the place of its row among these
    u32* counts;  // rows, pieces; null where no row is long
};

__device__ __forceinline__ u32 pieces_in(i64 length) { return (u32)((length + PIECE - 1) / PIECE); }
__device__ __forceinline__ u32 row_count(const LongRows& found) { return found.counts ? found.counts[0] : 0; }
__device__ __forceinline__ u32 piece_count(const LongRows& found) { return found.counts ? found.counts[1] : 0; }

// What one thread or warp looks at: a whole row, or a piece of a long one.
struct Part {
    i64 begin;
    int length;
    int vertex;  // NOBODY where a row is left to its pieces
    int owner;   // the place among the long rows, WHOLE for a row of its own
};
#define NOBODY -1
#define WHOLE -1

// Items are all rows, then all pieces.
#define NO_ITEM 0xffffffffu

__device__ __forceinline__ Part part_of(const INDEX* __restrict__ indptr, u32 n, const LongRows& found, u32 item) {
    if (item == NO_ITEM) return {0, 0, NOBODY, WHOLE};
    if (item < n) {
        const i64 begin = indptr[item], length = (i64)indptr[item + 1] - begin;
        if (length > PIECE) return {0, 0, NOBODY, WHOLE};
        return {begin, (int)length, (int)item, WHOLE};
    }
    const u32 owner = found.owners[item - n], number = item - n - found.first[owner];
    const int vertex = found.rows[owner];
    const i64 begin = (i64)indptr[vertex] + (i64)number * PIECE;
    return {begin, (int)min((i64)PIECE, (i64)indptr[vertex + 1] - begin), vertex, (int)owner};
}

// The part of another lane.
__device__ __forceinline__ Part from_lane(const Part& part, int lane) {
    return {__shfl_sync(FULL_WARP, part.begin, lane), __shfl_sync(FULL_WARP, part.length, lane),
            __shfl_sync(FULL_WARP, part.vertex, lane), __shfl_sync(FULL_WARP, part.owner, lane)};
}
