// Load balancing of skewed matrices: long rows are split into pieces of PIECE entries, which warps or blocks process
// independently. The partial results of a row's pieces are combined by the kernel that uses them.

DEVICE u32 pieces_in(i64 length) { return (u32)((length + PIECE - 1) / PIECE); }

struct EntryRange {
    i64 begin, end;
};

// The entries of piece `number` of a row that has the entries [row_begin, row_end).
DEVICE EntryRange piece_range(i64 row_begin, i64 row_end, i64 number) {
    const i64 begin = row_begin + number * PIECE;
    return {begin, begin + PIECE < row_end ? begin + PIECE : row_end};
}

// The long rows and all their pieces, listed by the kernel `list_pieces`. The pieces of a row are consecutive; the order
// of the rows is arbitrary. 32 bits suffice: the backend takes fewer than 2^30 rows.
struct LongRows {
    int* rows;    // row numbers
    u32* first;   // the first piece of each long row
    u32* owners;  // for each piece, the place of its row in `rows`
    u32* counts;  // rows, pieces; null where no row is long
};

DEVICE u32 row_count(const LongRows& found) { return found.counts ? found.counts[0] : 0; }
DEVICE u32 piece_count(const LongRows& found) { return found.counts ? found.counts[1] : 0; }

// A unit of work for one thread, warp or block: a whole row, or a piece of a long one.
struct Part {
    i64 begin;
    int length;
    int vertex;  // NOBODY for a long row itself, which is processed by pieces
    int owner;   // the place of a piece's row in LongRows::rows, WHOLE for a whole row
};
#define NOBODY -1
#define WHOLE -1

DEVICE Part piece_of(In<INDEX> indptr, const LongRows& found, u32 piece) {
    const u32 owner = found.owners[piece];
    const int vertex = found.rows[owner];
    const EntryRange range = piece_range(indptr[vertex], indptr[vertex + 1], piece - found.first[owner]);
    return {range.begin, (int)(range.end - range.begin), vertex, (int)owner};
}

// Work items are numbered: first all n rows, then all pieces.
#define NO_ITEM 0xffffffffu

// The part of an item, where rows of more than PIECE entries are long.
DEVICE Part part_of(In<INDEX> indptr, u32 n, const LongRows& found, u32 item) {
    if (item == NO_ITEM) return {0, 0, NOBODY, WHOLE};
    if (item >= n) return piece_of(indptr, found, item - n);
    const i64 begin = indptr[item], length = (i64)indptr[item + 1] - begin;
    if (length > PIECE) return {0, 0, NOBODY, WHOLE};
    return {begin, (int)length, (int)item, WHOLE};
}

// Warp shuffle of a part.
DEVICE Part from_lane(const Part& part, int lane) {
    return {__shfl_sync(FULL_WARP, part.begin, lane), __shfl_sync(FULL_WARP, part.length, lane),
            __shfl_sync(FULL_WARP, part.vertex, lane), __shfl_sync(FULL_WARP, part.owner, lane)};
}
