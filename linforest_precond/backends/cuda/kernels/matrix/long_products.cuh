// Long rows of a sparse product: a block per row. The terms of many rows of the right matrix are taken at a time.

#define THREADS 256
// Where the right rows of a chunk have at least this number of terms on average, they are taken one at a time.
#define LONG_RIGHT_ROW 64
// In `owners`: no thread is going to add to the sum.
#define NO_OWNER 0xffffffffu

// Consecutive left entries, one per thread, and the rows of the right matrix that they are multiplied with.
struct TermChunk {
    VALUE weights[THREADS];
    i64 places[THREADS];      // where the right rows begin
    i64 starts[THREADS + 1];  // the terms before each of them, and all

    DEVICE void load(const Factors& factors, i64 begin, i64 end) {
        const int t = threadIdx.x;
        i64 length = 0;
        if (begin + t < end) {
            const INDEX middle = factors.left_indices[begin + t];
            weights[t] = factors.left_data[begin + t];
            places[t] = factors.right_indptr[middle];
            length = factors.right_indptr[middle + 1] - places[t];
        }
        starts[t] = block_exclusive_sum(length, starts + THREADS);
        __syncthreads();
    }
    DEVICE i64 terms() const { return starts[THREADS]; }
    // The left entry of a term.
    DEVICE int member_of(i64 term) const { return (int)lower_bound(starts, 0, THREADS, term + 1) - 1; }
};

// Calls visit(count) for the left entries of a row, in order, a chunk of `count` at a time.
template <typename Visit>
DEVICE void for_each_chunk(const Factors& factors, i64 row, TermChunk& chunk, Visit visit) {
    const i64 end = factors.left_indptr[row + 1];
    for (i64 begin = factors.left_indptr[row]; begin < end; begin += THREADS) {
        chunk.load(factors, begin, end);
        visit((int)min(end - begin, (i64)THREADS));
        __syncthreads();
    }
}

// The columns of a row as a hash table in shared memory.
struct HashedColumns {
    u32* keys;
    int slots;

    DEVICE void clear() const {
        clear_keys(keys, slots, threadIdx.x, THREADS);
        __syncthreads();
    }
    DEVICE i64 insert(u32 column, bool& is_new) const { return find_or_insert(keys, slots, column, is_new); }
};

// The columns of a row as a bitmap of all columns in global memory.
struct ColumnBitmap {
    u32* words;
    i64 count;

    DEVICE void clear() const {
        for (i64 i = threadIdx.x; i < count; i += THREADS) words[i] = 0;
        __syncthreads();
    }
    DEVICE i64 insert(u32 column, bool& is_new) const {
        const u32 bit = 1u << column % 32;
        is_new = !(atomicOr(words + column / 32, bit) & bit);
        return column;
    }
    // Atomic operations bypass the L1 cache, so must this.
    DEVICE u32 word(i64 i) const { return i < count ? *(volatile u32*)(words + i) : 0; }
};

// The number of columns of a row, valid for the first thread.
template <typename Columns>
DEVICE u64 columns_of_row(const Factors& factors, i64 row, TermChunk& chunk, Columns columns) {
    __shared__ u64 total;
    if (threadIdx.x == 0) total = 0;
    columns.clear();
    u64 found = 0;
    for_each_chunk(factors, row, chunk, [&](int) {
        for (i64 term = threadIdx.x; term < chunk.terms(); term += THREADS) {
            const int member = chunk.member_of(term);
            bool is_new;
            columns.insert((u32)factors.right_indices[chunk.places[member] + (term - chunk.starts[member])], is_new);
            found += is_new;
        }
    });
    found = warp_sum(found);
    if (threadIdx.x % 32 == 0) atomicAdd(&total, found);
    __syncthreads();
    return total;
}

// -0.0 is the neutral element of addition: -0.0 + 0.0 = 0.0.
DEVICE void set_neutral(float& a) { a = -0.0f; }
DEVICE void set_neutral(double& a) { a = -0.0; }
template <typename Complex>
DEVICE void set_neutral(Complex& a) {
    set_neutral(a.re);
    set_neutral(a.im);
}

// The sums of a row's columns, by slot, and which thread adds the next term to each.
template <typename Columns>
struct LongRow {
    Columns columns;
    VALUE* sums;
    u32* owners;  // NO_OWNER at first, and after each term

    // Adds the terms of one row of the right matrix: their columns are distinct.
    DEVICE void add_right_row(const Factors& factors, const TermChunk& chunk, int member) const {
        const i64 length = chunk.starts[member + 1] - chunk.starts[member];
        for (i64 i = threadIdx.x; i < length; i += THREADS) {
            const i64 place = chunk.places[member] + i;
            const VALUE term = times(chunk.weights[member], factors.right_data[place]);
            bool is_new;
            const i64 slot = columns.insert((u32)factors.right_indices[place], is_new);
            sums[slot] = is_new ? term : plus(sums[slot], term);
        }
        __syncthreads();
    }

    // Adds one term per thread, of any rows of the right matrix: of those with the same column, that of the lowest
    // thread first.
    DEVICE void add_terms(const Factors& factors, const TermChunk& chunk, i64 term) const {
        bool waiting = term < chunk.terms();
        i64 slot = 0;
        VALUE value = {};
        if (waiting) {
            const int member = chunk.member_of(term);
            const i64 place = chunk.places[member] + (term - chunk.starts[member]);
            value = times(chunk.weights[member], factors.right_data[place]);
            bool is_new;
            slot = columns.insert((u32)factors.right_indices[place], is_new);
            if (is_new) set_neutral(sums[slot]);
        }
        do {
            if (waiting) atomicMin(owners + slot, threadIdx.x);
            __syncthreads();
            if (waiting && atomicCAS(owners + slot, threadIdx.x, NO_OWNER) == threadIdx.x) {
                sums[slot] = plus(sums[slot], value);
                waiting = false;
            }
        } while (__syncthreads_or(waiting));
    }

    DEVICE void add_row(const Factors& factors, i64 row, TermChunk& chunk) const {
        for_each_chunk(factors, row, chunk, [&](int members) {
            if (chunk.terms() >= (i64)members * LONG_RIGHT_ROW)
                for (int member = 0; member < members; ++member) add_right_row(factors, chunk, member);
            else
                for (i64 first = 0; first < chunk.terms(); first += THREADS)
                    add_terms(factors, chunk, first + threadIdx.x);
        });
    }
};

// Writes the entries of a row in a hash table: their columns are sorted. The words of the sort take the place of the
// owners, which must be set anew.
DEVICE void write_row(const LongRow<HashedColumns>& row, const Product& product, i64 begin) {
    __shared__ u32 found;
    u64* const words = (u64*)row.owners;
    const int t = threadIdx.x;
    if (t == 0) found = 0;
    __syncthreads();
    for (int slot = t; slot < row.columns.slots; slot += THREADS)
        if (row.columns.keys[slot] != EMPTY) words[atomicAdd(&found, 1u)] = (u64)row.columns.keys[slot] << 32 | slot;
    __syncthreads();
    const int count = (int)found;
    int padded = 1;
    while (padded < count) padded *= 2;
    for (int i = count + t; i < padded; i += THREADS) words[i] = ~0ull;
    __syncthreads();
    bitonic_sort(words, padded);
    for (int i = t; i < count; i += THREADS) {
        product.indices[begin + i] = (INDEX)(words[i] >> 32);
        product.data[begin + i] = row.sums[(u32)words[i]];
    }
    __syncthreads();
}

// Writes the entries of a row in a bitmap, which is empty then.
DEVICE void write_row(const LongRow<ColumnBitmap>& row, const Product& product, i64 begin) {
    __shared__ int found;
    for (i64 first = 0; first < row.columns.count; first += THREADS) {
        const i64 i = first + threadIdx.x;
        const u32 word = row.columns.word(i);
        i64 place = begin + block_exclusive_sum(__popc(word), &found);
        for (u32 bits = word; bits; bits &= bits - 1, ++place) {
            const i64 column = 32 * i + __ffs(bits) - 1;
            product.indices[place] = (INDEX)column;
            product.data[place] = row.sums[column];
        }
        if (word) row.columns.words[i] = 0;
        __syncthreads();
        begin += found;
        __syncthreads();
    }
}
