// Rows of few entries of a sparse product: a thread per row, with a list of its columns in shared memory. Terms come in
// order, so that there is neither a hash table nor an atomic operation.

#define LISTING_THREADS (sizeof(VALUE) > 8 ? 64 : 128)
// Terms of a row at most whose columns are listed; rows of more are left to teams of lanes.
#define LISTED_TERMS 256
// Left entries whose right rows are loaded at a time, for memory-level parallelism.
#define LEFT_AT_ONCE 4

// The entries of a thread's row, in the order in which their columns are met: in shared memory, those of a block's
// threads interleaved.
template <int CAPACITY>
struct ListedColumns {
    u32* columns;
    int count;

    DEVICE ListedColumns(u32* memory) : columns(memory + threadIdx.x), count(0) {}
    DEVICE u32& column(int i) const { return columns[i * LISTING_THREADS]; }
    DEVICE int find(u32 wanted) const {
        int i = 0;
        while (i < count && column(i) != wanted) ++i;
        return i;
    }
    // Whether there was room for the column.
    DEVICE bool insert(u32 wanted) {
        if (find(wanted) < count) return true;
        if (count == CAPACITY) return false;
        column(count++) = wanted;
        return true;
    }
};

// The right row of a left entry.
struct RightRow {
    INDEX begin;
    int length;
};

// Calls take(slot, right row) for the left entries of a row, in order.
template <typename Take>
DEVICE void each_right_row(const Factors& factors, i64 row, Take take) {
    const INDEX end = factors.left_indptr[row + 1];
    for (INDEX first = factors.left_indptr[row]; first < end; first += LEFT_AT_ONCE) {
        RightRow rows[LEFT_AT_ONCE];
        INDEX middles[LEFT_AT_ONCE];
#pragma unroll
        for (int i = 0; i < LEFT_AT_ONCE; ++i)
            middles[i] = factors.left_indices[min((INDEX)(first + i), (INDEX)(end - 1))];
#pragma unroll
        for (int i = 0; i < LEFT_AT_ONCE; ++i) {
            rows[i].begin = factors.right_indptr[middles[i]];
            rows[i].length = (int)(factors.right_indptr[middles[i] + 1] - rows[i].begin);
        }
#pragma unroll
        for (int i = 0; i < LEFT_AT_ONCE; ++i)
            if (first + i < end) take(first + i, rows[i]);
    }
}

// Lists the columns of a row, and counts its terms; returns whether they found room.
template <typename Columns>
DEVICE bool list_columns(const Factors& factors, i64 row, Columns& columns, i64& terms) {
    bool fits = true;
    terms = 0;
    each_right_row(factors, row, [&](INDEX, const RightRow& right) {
        terms += right.length;
        fits = fits && terms <= LISTED_TERMS;
        if (!fits) return;
        each_column(factors, right.begin, right.length, [&](u32 column) { fits = fits && columns.insert(column); });
    });
    return fits;
}

// Adds up the terms of a row, which has at most CAPACITY entries.
template <int CAPACITY>
DEVICE void list_terms(const Factors& factors, i64 row, ListedColumns<CAPACITY>& columns, VALUE* values) {
    each_right_row(factors, row, [&](INDEX slot, const RightRow& right) {
        const VALUE weight = factors.left_data[slot];
        each_right_entry(factors, right.begin, right.length, [&](u32 column, VALUE value) {
            const VALUE term = times(weight, value);
            const int place = columns.find(column);
            VALUE& sum = values[place * LISTING_THREADS];
            if (place < columns.count) {
                sum = plus(sum, term);
                return;
            }
            columns.column(columns.count++) = column;
            sum = term;
        });
    });
}

// Insertion sort of a thread's entries by column.
template <int CAPACITY>
DEVICE void sort_listed(const ListedColumns<CAPACITY>& columns, VALUE* values) {
    for (int i = 1; i < columns.count; ++i) {
        const u32 column = columns.column(i);
        const VALUE value = values[i * LISTING_THREADS];
        int j = i;
        for (; j > 0 && columns.column(j - 1) > column; --j) {
            columns.column(j) = columns.column(j - 1);
            values[j * LISTING_THREADS] = values[(j - 1) * LISTING_THREADS];
        }
        columns.column(j) = column;
        values[j * LISTING_THREADS] = value;
    }
}

// Writes the sorted entries of a warp's rows, one after the other by all lanes: rows that follow one another are written
// with coalesced stores. `begin` is where the entries of a lane's own row go.
DEVICE void write_listed(const u32* columns, const VALUE* values, int count, i64 begin, const Product& product) {
    const int lane = threadIdx.x % 32, first_thread = threadIdx.x - lane;
    int end = count;  // inclusive prefix sum
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(FULL_WARP, end, step);
        if (lane >= step) end += before;
    }
    const int total = __shfl_sync(FULL_WARP, end, 31);
    const i64 shift = begin - (end - count);  // from the place among the warp's entries to that in the product
    __syncwarp();
    for (int base = 0; base < total; base += 32) {
        const int place = base + lane;
        int owner = 0;  // the first lane whose entries end after `place`
        for (int step = 16; step > 0; step /= 2)
            if (__shfl_sync(FULL_WARP, end, owner + step - 1) <= place) owner += step;
        const int start = __shfl_sync(FULL_WARP, end - count, owner);
        const i64 target = place + __shfl_sync(FULL_WARP, shift, owner);
        if (place >= total) continue;
        const int staged = (place - start) * LISTING_THREADS + first_thread + owner;
        product.indices[target] = (INDEX)columns[staged];
        product.data[target] = values[staged];
    }
    __syncwarp();
}
