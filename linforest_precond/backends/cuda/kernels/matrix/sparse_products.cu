#include "runtime/bitonic_sort.cuh"
#include "matrix/product_rows.cuh"
#include "matrix/listed_products.cuh"
#include "matrix/short_products.cuh"
#include "matrix/long_products.cuh"

// Sparse products by rows (Gustavson 1978) with hash tables, in two phases: the symbolic one counts the columns of each
// row, the numeric one adds up the terms. Terms of one entry are added in the order of the left matrix's entries,
// without atomic additions, so that the sums are those of the CPU.

// Work space of the longest rows, for each block: a bitmap of all columns, zero at first, and in the numeric phase their
// sums and owners.
struct DenseRows {
    VALUE* sums;
    u32 *owners, *bitmaps;
    i64 width;

    DEVICE ColumnBitmap bitmap() const {
        const i64 words = (width + 31) / 32;
        return {bitmaps + blockIdx.x * words, words};
    }
};

// Classes all rows by their numbers of terms, `lanes` per row.
KERNEL measure_rows(Factors factors, i64 rows, int lanes, u8* __restrict__ classes, Tally* tally) {
    __shared__ BlockTally own;
    own.clear();
    const Group group(lanes);
    group.for_each_row({nullptr, rows}, [&](i64 row) {
        const int kind = class_of_terms(terms_of_row(factors, row, group));
        if (row < 0 || group.lane) return;
        classes[row] = (u8)kind;
        own.add_row(kind, 0);
    });
    own.add_to(tally);
}

// The same by a thread per row, which counts the columns of row i at place i + 1 where they fit into its list: such a row
// is COUNTED, and has a class by entries. The tallies are by terms and by entries.
KERNEL __launch_bounds__(LISTING_THREADS)
    count_listed_rows(Factors factors, i64 rows, INDEX* __restrict__ counts, u8* __restrict__ term_classes,
                      u8* __restrict__ classes, Tally* tallies) {
    __shared__ u32 staged[LISTED_ENTRIES * LISTING_THREADS];
    __shared__ BlockTally by_terms, by_entries;
    by_terms.clear();
    by_entries.clear();
    u64 entries = 0, longer = 0, listed = 0;
    GRID_STRIDE (i64, row, rows) {
        ListedColumns<LISTED_ENTRIES> columns(staged);
        i64 terms;
        const bool fits = list_columns(factors, row, columns, terms);
        term_classes[row] = (u8)(fits ? COUNTED : class_of_terms(terms));
        if (!fits) {
            by_terms.add_row(class_of_terms(terms), 0);
            continue;
        }
        const int kind = class_of_entries(columns.count, false);
        counts[row + 1] = (INDEX)columns.count;
        classes[row] = (u8)kind;
        entries += columns.count;
        longer += kind;
        ++listed;
    }
    entries = warp_sum(entries);
    longer = warp_sum(longer);
    listed = warp_sum(listed);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(by_entries.rows, (u32)(listed - longer));
        atomicAdd(by_entries.rows + 1, (u32)longer);
        atomicAdd(&by_entries.entries, entries);
    }
    by_terms.add_to(tallies);
    by_entries.add_to(tallies + 1);
}

// Lists all rows by class, those that are COUNTED apart. The order within a class is arbitrary.
KERNEL list_rows(In<u8> classes, i64 rows, Tally* tally, INDEX* __restrict__ list) {
    __shared__ u32 counts[CLASSES];
    __shared__ u64 places[CLASSES];
    const int t = threadIdx.x;
    BLOCK_STRIDE (i64, first, rows) {
        const i64 row = first + t;
        if (t < CLASSES) counts[t] = 0;
        __syncthreads();
        const int kind = row < rows && classes[row] != COUNTED ? classes[row] : -1;
        const u32 place = kind < 0 ? 0 : atomicAdd(counts + kind, 1u);
        __syncthreads();
        if (t < CLASSES) {
            places[t] = atomicAdd(tally->listed + t, (u64)counts[t]);
            for (int before = 0; before < t; ++before) places[t] += tally->rows[before];
        }
        __syncthreads();
        if (kind >= 0) list[places[kind] + place] = (INDEX)row;
    }
}

extern __shared__ __align__(16) char memory[];

// The symbolic phase of short rows, by WIDTH lanes per row with a hash table of SLOTS columns: counts the columns of row i at
// place i + 1.
template <int WIDTH, int SLOTS>
DEVICE void count_short(const Factors& factors, const RowList& list, INDEX* __restrict__ counts,
                        u8* __restrict__ classes, Tally* tally) {
    __shared__ BlockTally own;
    own.clear();
    const Group group(WIDTH);
    u32* const keys = (u32*)memory + group.number * SLOTS;
    group.for_each_row(list, [&](i64 row) {
        const int columns = columns_of_row(factors, row, group, keys, SLOTS);
        if (row < 0 || group.lane) return;
        const int kind = class_of_entries(columns, false);
        counts[row + 1] = (INDEX)columns;
        classes[row] = (u8)kind;
        own.add_row(kind, columns);
    });
    own.add_to(tally);
}

KERNEL __launch_bounds__(THREADS) count_short_rows_32(Factors factors, RowList list, INDEX* __restrict__ counts,
                                                      u8* __restrict__ classes, Tally* tally) {
    count_short<4, 32>(factors, list, counts, classes, tally);
}
KERNEL __launch_bounds__(THREADS) count_short_rows_128(Factors factors, RowList list, INDEX* __restrict__ counts,
                                                       u8* __restrict__ classes, Tally* tally) {
    count_short<8, 128>(factors, list, counts, classes, tally);
}
KERNEL __launch_bounds__(THREADS) count_short_rows_512(Factors factors, RowList list, INDEX* __restrict__ counts,
                                                       u8* __restrict__ classes, Tally* tally) {
    count_short<16, 512>(factors, list, counts, classes, tally);
}

// The same for long rows: `columns` keeps the columns of a row.
template <typename Columns>
DEVICE void count_rows(const Factors& factors, const RowList& list, Columns columns, bool many_terms,
                       INDEX* __restrict__ counts, u8* __restrict__ classes, Tally* tally) {
    __shared__ BlockTally own;
    __shared__ TermChunk chunk;
    own.clear();
    for (i64 i = blockIdx.x; i < list.count; i += gridDim.x) {
        const i64 row = list.row(i);
        const u64 count = columns_of_row(factors, row, chunk, columns);
        if (threadIdx.x) continue;
        const int kind = class_of_entries(count, many_terms);
        counts[row + 1] = (INDEX)count;
        classes[row] = (u8)kind;
        own.add_row(kind, count);
    }
    own.add_to(tally);
}

KERNEL __launch_bounds__(THREADS) count_long_rows(Factors factors, RowList list, int slots, INDEX* __restrict__ counts,
                                                  u8* __restrict__ classes, Tally* tally) {
    const HashedColumns columns = {(u32*)memory, slots};
    count_rows(factors, list, columns, slots > MANY_TERMS, counts, classes, tally);
}

KERNEL __launch_bounds__(THREADS)
    count_longest_rows(Factors factors, RowList list, DenseRows dense, INDEX* __restrict__ counts,
                       u8* __restrict__ classes, Tally* tally) {
    count_rows(factors, list, dense.bitmap(), true, counts, classes, tally);
}

// The numeric phase of rows whose entries fit into a thread's list of CAPACITY.
template <int CAPACITY>
DEVICE void add_listed(const Factors& factors, const RowList& list, const Product& product) {
    __shared__ VALUE values[CAPACITY * LISTING_THREADS];
    __shared__ u32 columns[CAPACITY * LISTING_THREADS];
    BLOCK_STRIDE (i64, first, list.count) {
        const i64 row = first + threadIdx.x < list.count ? list.row(first + threadIdx.x) : -1;
        ListedColumns<CAPACITY> own(columns);
        if (row >= 0) {
            list_terms(factors, row, own, values + threadIdx.x);
            sort_listed(own, values + threadIdx.x);
        }
        write_listed(columns, values, own.count, row < 0 ? 0 : (i64)product.indptr[row], product);
    }
}

KERNEL __launch_bounds__(LISTING_THREADS) add_listed_rows_16(Factors factors, RowList list, Product product) {
    add_listed<FEWEST_ENTRIES>(factors, list, product);
}
KERNEL __launch_bounds__(LISTING_THREADS) add_listed_rows_24(Factors factors, RowList list, Product product) {
    add_listed<LISTED_ENTRIES>(factors, list, product);
}

// The numeric phase of short rows of at most CAPACITY entries, by WIDTH lanes per row.
template <int WIDTH, int CAPACITY>
DEVICE void add_short(const Factors& factors, const RowList& list, const Product& product) {
    const Group group(WIDTH);
    const ShortRow sums(memory + group.number * ShortRow::bytes(CAPACITY), CAPACITY);
    group.for_each_row(list, [&](i64 row) {
        sums.clear(group);
        add_terms(factors, row, group, sums);
        sums.write(product, row, group);
    });
}

#define SHORT_BLOCKS (sizeof(VALUE) > 8 ? 3 : 4)
KERNEL __launch_bounds__(THREADS, SHORT_BLOCKS) add_short_rows_8_32(Factors factors, RowList list, Product product) {
    add_short<8, 32>(factors, list, product);
}
KERNEL __launch_bounds__(THREADS, SHORT_BLOCKS) add_short_rows_8_64(Factors factors, RowList list, Product product) {
    add_short<8, 64>(factors, list, product);
}
KERNEL __launch_bounds__(THREADS, SHORT_BLOCKS) add_short_rows_16_64(Factors factors, RowList list, Product product) {
    add_short<16, 64>(factors, list, product);
}
KERNEL __launch_bounds__(THREADS, SHORT_BLOCKS) add_short_rows_32_256(Factors factors, RowList list, Product product) {
    add_short<32, 256>(factors, list, product);
}

// The numeric phase of long rows of at most MOST_ENTRIES entries, in hash tables of twice as many slots.
KERNEL __launch_bounds__(THREADS) add_long_rows(Factors factors, RowList list, Product product) {
    __shared__ TermChunk chunk;
    const int slots = 2 * MOST_ENTRIES;
    VALUE* const values = (VALUE*)memory;
    u32 *const owners = (u32*)(values + slots), *const keys = owners + slots;
    const LongRow<HashedColumns> sums = {{keys, slots}, values, owners};
    for (i64 i = blockIdx.x; i < list.count; i += gridDim.x) {
        const i64 row = list.row(i);
        clear_keys(owners, slots, threadIdx.x, THREADS);  // NO_OWNER is EMPTY
        sums.columns.clear();
        sums.add_row(factors, row, chunk);
        write_row(sums, product, product.indptr[row]);
    }
}

// The same for the longest rows, in dense arrays of all columns.
KERNEL __launch_bounds__(THREADS) add_longest_rows(Factors factors, RowList list, DenseRows dense, Product product) {
    __shared__ TermChunk chunk;
    const i64 first = blockIdx.x * dense.width;
    const LongRow<ColumnBitmap> sums = {dense.bitmap(), dense.sums + first, dense.owners + first};
    for (i64 i = blockIdx.x; i < list.count; i += gridDim.x) {
        const i64 row = list.row(i);
        sums.add_row(factors, row, chunk);
        write_row(sums, product, product.indptr[row]);
    }
}
