// The system of one row of a sparse approximate inverse, in shared memory; see
// backends/cpu/approximate_inverse/row_systems.py, whose sums have the same order. A team of TEAM lanes takes a row. The
// teams of a warp take the same steps, some of them idle: apart, they would run one after the other.

#define NONE -1
#define REJECTED -2
// As in row_systems.py of the CPU backend.
#define STEP 5
#define SHARE 0.3
#define DEPENDENT 1e-13
#define LEAST_SHARE 1e-14
// Chunks of TEAM entries that are loaded before any is used.
#define CHUNKS 2
// Before loops that are not unrolled: warps take different steps at a time, and the code of all should fit the caches.
#define ROLLED _Pragma("unroll 1")
// A cell of the hash table has a slot, counted from 1, in ten bits, and above them a tag: six bits of the hash of its
// column, not all 0.
#define SLOT_BITS 10
#define SLOT_MASK 1023u
// Cells of the table that are read together.
#define BUCKET 4

struct Functional {
    const INDEX *indptr, *indices;
    const VALUE* data;
    const INDEX *start_indptr, *start_indices;
    const VALUE* start_data;
    const double* diagonal;
    i64 n, triangular;
};

// The sizes of a system: entries of a row in the result, places of a pattern, slots, slots of the row of S, slots that
// lists of rows of N hold, the binary logarithm of the cells of the hash table. `is_final`: nothing larger will be tried.
// Then where the arrays of a system begin, and its bytes: as constants, they take no registers.
struct Sizes {
    int entries, places, capacity, starts, listed, bits, is_final;
    int rows, gradient, factor, right, solution, start_values, inverse, table, columns, slot_places, pattern, lists,
        bytes;
};

DEVICE double squared(double a) { return a * a; }
DEVICE double squared(Complex128 a) { return a.re * a.re + a.im * a.im; }

struct Team {
    int lane, shift;

    DEVICE Team() : lane(threadIdx.x % TEAM), shift(threadIdx.x % 32 / TEAM * TEAM) {}
    // Makes writes to shared memory visible to the team.
    DEVICE void sync() const { __syncwarp(); }
    // The lanes for which `flag` holds, lane 0 in the lowest bit.
    DEVICE u32 vote(bool flag) const { return __ballot_sync(FULL_WARP, flag) >> shift & FULL_WARP >> (32 - TEAM); }
    // Whether `flag` holds for any team of the warp.
    DEVICE bool any(bool flag) const { return __any_sync(FULL_WARP, flag); }
    // The largest number of the warp's teams.
    DEVICE int largest(int number) const {
        for (int distance = TEAM; distance < 32; distance *= 2) number = max(number, across(number, distance));
        return number;
    }
    template <typename T>
    DEVICE T across(T value, int distance) const {
        return __shfl_xor_sync(FULL_WARP, value, distance);
    }
    // The value of a lane of the team.
    DEVICE int from(int value, int lane) const { return __shfl_sync(FULL_WARP, value, lane, TEAM); }
    DEVICE double from(double value, int lane) const { return __shfl_sync(FULL_WARP, value, lane, TEAM); }
    DEVICE Complex128 from(Complex128 value, int lane) const { return {from(value.re, lane), from(value.im, lane)}; }
    // The largest number of the team; negative ones are equal.
    DEVICE double top(double number) const {
#if __CUDA_ARCH__ >= 800
        if (TEAM == 32) {  // in the order of their bits
            const int high = __reduce_max_sync(FULL_WARP, __double2hiint(number));
            const u32 low = __double2hiint(number) == high ? (u32)__double2loint(number) : 0;
            return __hiloint2double(high, (int)__reduce_max_sync(FULL_WARP, low));
        }
#endif
        // As integers: the bits of numbers that are not negative have their order, and those of negative ones are less.
        i64 highest = (i64)bits(number);
        for (int half = TEAM / 2; half > 0; half /= 2) highest = max(highest, across(highest, half));
        return __longlong_as_double(highest);
    }
};

// A row of N of a pattern: where it begins, where `lists` has the slots of its columns, or NONE, and its entries up to the
// last column that a pattern can have.
struct __align__(16) PatternRow {
    INDEX begin;
    int first, length;
};

// Slots are numbered in the order in which columns are met, those of the row of S first. The hash table (open
// addressing, linear probing from the first cell of a bucket on) has the slot of each column; 0 is an empty cell. Rows
// of the Cholesky factor are packed, without the diagonal. `lists` have NONE for columns not met before.
// `products` are those of a round's rows of the factor, STEP for each, where the gradient is that has chosen them.
struct RowSystem {
    VALUE *gradient, *products, *factor, *right, *solution, *starts;
    double* inverse;
    PatternRow* rows;
    INDEX* columns;
    short *places, *pattern, *lists;
    u16* table;
    int capacity, bits, most_listed;
    Team team;

    DEVICE RowSystem(char* memory, const Sizes& sizes) {
        capacity = sizes.capacity;
        bits = sizes.bits;
        most_listed = sizes.listed;
        memory += threadIdx.x / TEAM * sizes.bytes;
        rows = (PatternRow*)(memory + sizes.rows);
        gradient = products = (VALUE*)(memory + sizes.gradient);
        factor = (VALUE*)(memory + sizes.factor);
        right = (VALUE*)(memory + sizes.right);
        solution = (VALUE*)(memory + sizes.solution);
        starts = (VALUE*)(memory + sizes.start_values);
        inverse = (double*)(memory + sizes.inverse);
        table = (u16*)(memory + sizes.table);  // at least four cells, cleared as 64-bit words
        columns = (INDEX*)(memory + sizes.columns);
        places = (short*)(memory + sizes.slot_places);
        pattern = (short*)(memory + sizes.pattern);
        lists = (short*)(memory + sizes.lists);
    }
    DEVICE VALUE* row_of(int place) const { return factor + place * (place - 1) / 2; }

    DEVICE u32 hash(INDEX column) const { return (u32)column * 2654435769u; }
    // The first cell of the bucket of a hash.
    DEVICE u32 first_cell(u32 hash) const { return hash >> (32 - bits) & ~(BUCKET - 1u); }
    DEVICE u32 after(u32 cell, u32 cells) const { return (cell + cells) & ((1u << bits) - 1); }
    // Bits of a hash below those of the bucket: those of most other columns differ.
    DEVICE u32 tag(u32 hash) const { return max(1u, (hash << bits) >> (16 + SLOT_BITS)); }

    // The top bits of those of two cells that have the tag of `wanted`.
    DEVICE static u32 matches(u32 cells, u32 wanted) {
        const u32 difference = (cells ^ wanted) & ~(SLOT_MASK << 16 | SLOT_MASK);
        return (difference - 0x00010001u) & ~difference & 0x80008000u;
    }
    // The slot of a column, or NONE.
    DEVICE int find(INDEX column) const {
        const u32 own = hash(column), wanted = tag(own) * 0x00010001u << SLOT_BITS;
        ROLLED
        for (u32 cell = first_cell(own);; cell = after(cell, BUCKET)) {
            const u64 cells = *(const u64*)(table + cell);
            const u32 low = (u32)cells, high = (u32)(cells >> 32);
            u32 found = matches(low, wanted) >> 1 | matches(high, wanted);  // bits 14, 30, and 15, 31
            ROLLED
            for (; found; found &= found - 1) {
                const int bit = __ffs((int)found) - 1;
                const int slot = (int)((bit & 1 ? high : low) >> (bit & 16) & SLOT_MASK) - 1;
                if (columns[slot] == column) return slot;
            }
            if (high >> 16 == 0) return NONE;  // the last cell of a bucket is taken last
        }
    }
    // Gives a column that has none a slot. Lanes may do so at once, for different columns.
    DEVICE void take_slot(int slot, INDEX column) {
        columns[slot] = column;
        places[slot] = NONE;
        const u32 own = hash(column);
        const u16 entry = (u16)(tag(own) << SLOT_BITS | (u32)(slot + 1));
        u32 cell = first_cell(own);
        ROLLED
        while (atomicCAS(table + cell, (u16)0, entry) != 0) cell = after(cell, 1);
    }
    DEVICE void clear() {
        team.sync();
        ROLLED
        for (int i = team.lane; i < 1 << bits >> 2; i += TEAM) ((u64*)table)[i] = 0;
        team.sync();
    }
};

// What a team knows of its row: slots and places in use, slots of the row of S, places whose rows of N have been met,
// slots in lists, and columns of patterns; the value of the functional, and the least one.
struct RowState {
    i64 row;
    INDEX most;
    int used, size, starts, met, listed;
    double left, least;
    bool is_dependent, is_abandoned;

    DEVICE RowState(const Functional& functional, i64 row, bool is_active)
        : row(row),
          most((INDEX)(functional.triangular ? row : functional.n)),
          used(0),
          size(0),
          starts(0),
          met(0),
          listed(0),
          left(0) {
        if (is_active) left = functional.triangular ? functional.diagonal[row] : 1.0;
        least = LEAST_SHARE * left;
        is_dependent = is_abandoned = false;
    }
};

// The functionals of a definite matrix stay positive; those of least squares may vanish.
DEVICE double most_gain(const Functional& functional, const RowState& state) {
    return functional.triangular ? state.left - state.least : __longlong_as_double(0x7ff0000000000000);
}
