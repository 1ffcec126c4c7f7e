// What all kernels of sparse products share: the matrices, the classes of rows, and hash tables of columns.
//
// Rows of the product are classed twice: by their number of terms, before their columns are counted, and by their
// number of entries, before these are added up. Each class has its own table size and number of threads per row.
// Columns are kept as 32-bit words.

// Terms of a row at most, of the first classes: three of short rows, and two whose columns fit into a block's table.
#define FEWEST_TERMS 32
#define FEWER_TERMS 128
#define FEW_TERMS 512
#define MANY_TERMS 4096
#define MOST_TERMS 8192
// Entries of a row at most, of four classes of short rows with at most MANY_TERMS terms, and of one whose entries fit
// into a block's table. Those of the first two fit into a thread's list.
#define FEWEST_ENTRIES 16
#define LISTED_ENTRIES 24
#define FEWER_ENTRIES 64
#define FEW_ENTRIES 256
#define MOST_ENTRIES (sizeof(VALUE) > 8 ? 512 : 1024)
#define CLASSES 6

DEVICE int class_of_terms(i64 terms) {
    return (terms > FEWEST_TERMS) + (terms > FEWER_TERMS) + (terms > FEW_TERMS) + (terms > MANY_TERMS) +
           (terms > MOST_TERMS);
}
DEVICE int class_of_entries(i64 entries, bool many_terms) {
    if (many_terms || entries > FEW_ENTRIES) return 4 + (entries > MOST_ENTRIES);
    return (entries > FEWEST_ENTRIES) + (entries > LISTED_ENTRIES) + (entries > FEWER_ENTRIES);
}
// The class by terms of a row whose columns have been counted already.
#define COUNTED 255

// The two matrices; the columns of each row of the right one are distinct.
struct Factors {
    In<INDEX> left_indptr, left_indices;
    In<VALUE> left_data;
    In<INDEX> right_indptr, right_indices;
    In<VALUE> right_data;
};

// Entries of a right row that a thread loads before it takes any: loads overlap, and those of one sector hit L1.
#define RIGHT_AT_ONCE 4

// Calls take(column) for the entries of a right row, by one thread.
template <typename Take>
DEVICE void each_column(const Factors& factors, INDEX begin, int length, Take take) {
    for (int first = 0; first < length; first += RIGHT_AT_ONCE) {
        u32 columns[RIGHT_AT_ONCE];
#pragma unroll
        for (int i = 0; i < RIGHT_AT_ONCE; ++i)
            if (first + i < length) columns[i] = (u32)factors.right_indices[begin + first + i];
#pragma unroll
        for (int i = 0; i < RIGHT_AT_ONCE; ++i)
            if (first + i < length) take(columns[i]);
    }
}

// The same with take(column, value).
template <typename Take>
DEVICE void each_right_entry(const Factors& factors, INDEX begin, int length, Take take) {
    for (int first = 0; first < length; first += RIGHT_AT_ONCE) {
        u32 columns[RIGHT_AT_ONCE];
        VALUE values[RIGHT_AT_ONCE];
#pragma unroll
        for (int i = 0; i < RIGHT_AT_ONCE; ++i) {
            if (first + i >= length) continue;
            columns[i] = (u32)factors.right_indices[begin + first + i];
            values[i] = factors.right_data[begin + first + i];
        }
#pragma unroll
        for (int i = 0; i < RIGHT_AT_ONCE; ++i)
            if (first + i < length) take(columns[i], values[i]);
    }
}

// The rows of a launch; `rows` is null where it takes all.
struct RowList {
    In<INDEX> rows;
    i64 count;

    DEVICE i64 row(i64 i) const { return rows ? (i64)rows[i] : i; }
};

// The product in CSR.
struct Product {
    In<INDEX> indptr;
    INDEX* __restrict__ indices;
    VALUE* __restrict__ data;
};

// What is counted over all rows, zero at first: the rows of each class, those of them that were listed, and entries.
struct Tally {
    u64 rows[CLASSES], listed[CLASSES], entries;
};

// What a block adds to a tally.
struct BlockTally {
    u64 entries;
    u32 rows[CLASSES];

    DEVICE void clear() {
        if (threadIdx.x < CLASSES) rows[threadIdx.x] = 0;
        if (threadIdx.x == 0) entries = 0;
        __syncthreads();
    }
    DEVICE void add_row(int kind, u64 its_entries) {
        atomicAdd(rows + kind, 1u);
        atomicAdd(&entries, its_entries);
    }
    DEVICE void add_to(Tally* tally) const {
        __syncthreads();
        if (threadIdx.x < CLASSES && rows[threadIdx.x]) atomicAdd(tally->rows + threadIdx.x, (u64)rows[threadIdx.x]);
        if (threadIdx.x == 0 && entries) atomicAdd(&tally->entries, entries);
    }
};

// Products with the same bits as on the CPU: float32 subnormals are kept.
DEVICE double times(double a, double b) { return a * b; }
DEVICE float times(float a, float b) {
    float product;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
}
DEVICE double minus(double a, double b) { return a - b; }
DEVICE float minus(float a, float b) {
    float difference;
    asm("sub.rn.f32 %0, %1, %2;" : "=f"(difference) : "f"(a), "f"(b));
    return difference;
}
template <typename Complex>
DEVICE Complex times(Complex a, Complex b) {
    return {minus(times(a.re, b.re), times(a.im, b.im)), plus(times(a.re, b.im), times(a.im, b.re))};
}

// The key of a slot that is free.
#define EMPTY 0xffffffffu

// Frees the slots of a hash table, a multiple of four, by `threads` threads.
DEVICE void clear_keys(u32* keys, int slots, int thread, int threads) {
    for (int i = 4 * thread; i < slots; i += 4 * threads) *(uint4*)(keys + i) = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
}

// The slot of a column in a hash table with linear probing (Fibonacci hashing), which has room for it. Inserts the
// column where it is new, and says so.
DEVICE int find_or_insert(u32* keys, int slots, u32 column, bool& is_new) {
    is_new = false;
    for (int slot = (int)(column * 0x9E3779B1u >> (__clz(slots) + 1));; slot = (slot + 1) & (slots - 1)) {
        u32 key = *(volatile u32*)(keys + slot);
        if (key == EMPTY) {
            key = atomicCAS(keys + slot, EMPTY, column);
            is_new = key == EMPTY;
        }
        if (is_new || key == column) return slot;
    }
}
