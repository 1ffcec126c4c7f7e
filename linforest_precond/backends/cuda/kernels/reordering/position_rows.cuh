// The rows of neighbours of a range of positions in the order, held by a block in shared memory. Include
// csgraph/sorted_neighbors.cuh before.

// The most positions of a range, and the most threads of a block.
#define MOST_ROWS 256

DEVICE u32 load_volatile(const u32* word) { return *(const volatile u32*)word; }
DEVICE u64 load_volatile(const u64* word) { return *(const volatile u64*)word; }
DEVICE int load_volatile(const int* word) { return *(const volatile int*)word; }
template <typename T>
DEVICE void store_volatile(T* place, T value) {
    *(volatile T*)place = value;
}

// The first position and the number of positions; the offsets of their rows, and the exclusive scan of their lengths.
struct Rows {
    int start, count;
    i64 entries;
    i64 begins[MOST_ROWS], before[MOST_ROWS];
};

// A neighbour and the position of the vertex in whose row it is.
struct Edge {
    u32 vertex;
    int position;
};
// Of an entry that is no child's.
#define NO_EDGE Edge{0, -2}

// Exclusive scan of the rows' lengths, by the first warp.
DEVICE void scan_rows(Rows& rows) {
    i64 base = 0;
    for (int first = 0; first < rows.count; first += 32) {
        const int row = first + threadIdx.x;
        const i64 own = row < rows.count ? rows.before[row] : 0;
        i64 sum = own;
        for (int step = 1; step < 32; step *= 2) {
            const i64 other = __shfl_up_sync(FULL_WARP, sum, step);
            if ((int)threadIdx.x >= step) sum += other;
        }
        if (row < rows.count) rows.before[row] = base + sum - own;
        base += __shfl_sync(FULL_WARP, sum, 31);
    }
    if (threadIdx.x == 0) rows.entries = base;
}

// Stores the row of a thread's vertex. The only neighbour of a leaf is its parent, unless it is a start.
DEVICE void store_row(Rows& rows, const Span* spans, u32 vertex, bool is_start) {
    const Span span = load_span(spans, vertex);
    rows.begins[threadIdx.x] = span.begin;
    rows.before[threadIdx.x] = span.length == 1 && !is_start ? 0 : span.length;
}

// The edge of an entry of the range; binary search of the scan for its row.
DEVICE Edge edge_of(const Rows& rows, const u32* neighbours, i64 entry) {
    int low = 0, high = rows.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (rows.before[middle] <= entry) low = middle;
        else high = middle - 1;
    }
    return {__ldg(neighbours + rows.begins[low] + entry - rows.before[low]) & VERTEX, rows.start + low};
}
