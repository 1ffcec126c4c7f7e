// The conjugate transpose of the prolongator by counting sort; `indptr` is null where it is not wanted. `columns` has the
// number of entries of each column, then the place of its next one. Entries are scattered by column in any order: `slots`
// are those of the prolongator, `rows` their rows. A's values may change after the columns were counted: slots and rows
// are clamped.
struct Adjoint {
    INDEX *indptr, *indices;
    VALUE* data;
    u32* columns;
    INDEX *slots, *rows;
    i64 count;
    i64 entries;
    i64 lanes;
};

// Where the entries of all columns begin.
DEVICE void point_to_columns(const Adjoint& adjoint, u64* totals, u32* barrier, u32& generation) {
    if (blockIdx.x == 0 && threadIdx.x == 0) adjoint.indptr[0] = 0;
    const auto count_of = [&](i64 column) { return (u64)adjoint.columns[column]; };
    grid_scan(adjoint.count, totals, barrier, generation, count_of, [&](i64 column, u64 before, u64 own) {
        adjoint.columns[column] = (u32)before;
        adjoint.indptr[column + 1] = (INDEX)(before + own);
    });
    grid_barrier(barrier, generation);
}

DEVICE void scatter(const Adjoint& adjoint, int column, i64 slot, i64 row) {
    const u32 place = atomicAdd(adjoint.columns + column, 1u);
    if (place >= adjoint.entries) return;
    adjoint.slots[place] = (INDEX)slot;
    adjoint.rows[place] = (INDEX)row;
}

// Sorts the entries of each column by rank, which is the number of lower slots, by `lanes` per column.
DEVICE void sort_columns(const Adjoint& adjoint, const VALUE* data, i64 rows) {
    GROUP_STRIDE (i64, column, adjoint.count, adjoint.lanes) {
        const i64 begin = adjoint.indptr[column], end = adjoint.indptr[column + 1];
        for (i64 i = begin + threadIdx.x % adjoint.lanes; i < end; i += adjoint.lanes) {
            const INDEX slot = adjoint.slots[i];
            i64 place = begin;
#pragma unroll 4
            for (i64 j = begin; j < end; ++j) place += adjoint.slots[j] < slot;
            adjoint.indices[place] = (INDEX)clamped(adjoint.rows[i], rows);
            adjoint.data[place] = conjugate(data[clamped(slot, adjoint.entries)]);
        }
    }
}
