// Teams of TEAM lanes that take a row of a matrix each, and values in double precision. A team of one is for short rows:
// the loads of a warp fall into the same few cache lines, and votes and shuffles vanish at compile time.
#define THREADS 128
#define TEAMS (THREADS / TEAM)
#define IS_COMPLEX (sizeof(VALUE) != sizeof(WEIGHT))

struct Matrix {
    In<INDEX> indptr, indices;
    In<VALUE> data, diagonal;
    i64 n;
};

DEVICE double wide_real(VALUE a) { return widened(real_part(a)); }
DEVICE double wide_imaginary(float) { return 0; }
DEVICE double wide_imaginary(double) { return 0; }
DEVICE double wide_imaginary(Complex64 a) { return widened(a.im); }
DEVICE double wide_imaginary(Complex128 a) { return a.im; }
DEVICE double wide_magnitude(VALUE a) { return widened(magnitude(a)); }

DEVICE void set_parts(float& a, double re, double) { a = narrowed(re); }
DEVICE void set_parts(double& a, double re, double) { a = re; }
DEVICE void set_parts(Complex64& a, double re, double im) { a = {narrowed(re), narrowed(im)}; }
DEVICE void set_parts(Complex128& a, double re, double im) { a = {re, im}; }

// The type of single precision.
template <typename Value>
struct Narrow {
    typedef float Type;
};
template <>
struct Narrow<Complex64> {
    typedef Complex64 Type;
};
template <>
struct Narrow<Complex128> {
    typedef Complex64 Type;
};

// The lanes of a team: their mask, and votes and shuffles among them.
struct Team {
    int lane, shift;
    u32 mask;

    DEVICE Team()
        : lane(threadIdx.x % TEAM), shift(threadIdx.x % 32 / TEAM * TEAM), mask(((1u << TEAM) - 1) << shift) {}
    // Makes writes to shared memory visible to the team.
    DEVICE void sync() const {
        if (TEAM > 1) __syncwarp(mask);
    }
    // The lanes for which `flag` holds, lane 0 in the lowest bit.
    DEVICE u32 vote(bool flag) const { return TEAM == 1 ? flag : (__ballot_sync(mask, flag) & mask) >> shift; }
    template <typename T>
    DEVICE T from(T value, int other) const {
        return TEAM == 1 ? value : __shfl_sync(mask, value, other, TEAM);
    }
    template <typename T>
    DEVICE T across(T value, int distance) const {
        return __shfl_xor_sync(mask, value, distance);
    }
    DEVICE double largest(double value) const {
        for (int half = TEAM / 2; half > 0; half /= 2) value = fmax(value, across(value, half));
        return value;
    }
    DEVICE int sum(int value) const {
        for (int half = TEAM / 2; half > 0; half /= 2) value += across(value, half);
        return value;
    }
    // Adds the values of the lanes in `wanted` to a sum, in the order of the lanes; every lane gets the result.
    DEVICE double add_in_order(double sum, double own, u32 wanted) const {
#pragma unroll
        for (int i = 0; i < TEAM; ++i) {
            const double value = from(own, i);
            if (wanted >> i & 1) sum += value;
        }
        return sum;
    }
};

// Calls take(slot, valid) for TEAM slots of a row at a time, by all lanes of the team.
template <typename Take>
DEVICE void each_slot(In<INDEX> indptr, i64 row, const Team& team, Take take) {
    const INDEX end = indptr[row + 1];
#if TEAM == 1
    for (INDEX slot = indptr[row]; slot < end; ++slot) take(slot, true);
#else
    for (i64 base = indptr[row]; base < end; base += TEAM) take(base + team.lane, base + team.lane < end);
#endif
}

// Entries of a row that a lane loads at a time, for memory-level parallelism: several where it takes the whole row.
#define ENTRIES_AT_ONCE (TEAM == 1 ? 4 : 1)

// Calls take(slot, valid, column, value, gathered) for the entries of a row, TEAM at a time, by all lanes of the team.
// `gather(column)` loads what belongs to a column, before any entry of the batch is taken; columns are clamped.
template <typename Gather, typename Take>
DEVICE void each_entry(const Matrix& A, i64 row, const Team& team, Gather gather, Take take) {
    const i64 end = A.indptr[row + 1];
    for (i64 base = A.indptr[row]; base < end; base += ENTRIES_AT_ONCE * TEAM) {
        i64 columns[ENTRIES_AT_ONCE];
        VALUE values[ENTRIES_AT_ONCE];
        decltype(gather((i64)0)) gathered[ENTRIES_AT_ONCE];
#pragma unroll
        for (int i = 0; i < ENTRIES_AT_ONCE; ++i) {
            const i64 slot = min(base + i * TEAM + team.lane, end - 1);
            columns[i] = clamped(A.indices[slot], A.n);
            values[i] = A.data[slot];
        }
#pragma unroll
        for (int i = 0; i < ENTRIES_AT_ONCE; ++i) gathered[i] = gather(columns[i]);
#pragma unroll
        for (int i = 0; i < ENTRIES_AT_ONCE; ++i) {
            const i64 slot = base + i * TEAM + team.lane;
            if (ENTRIES_AT_ONCE == 1 || slot < end) take(slot, slot < end, columns[i], values[i], gathered[i]);
        }
    }
}

// For entries alone.
struct NothingGathered {
    DEVICE char operator()(i64) const { return 0; }
};
