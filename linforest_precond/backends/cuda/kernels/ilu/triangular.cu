#define BLOCK 1
#include "runtime/arithmetic.cuh"
#include "ilu/tickets.cuh"

// A strictly triangular matrix of stored values, for vectors of the same or of double precision. `lanes` lanes of a warp
// multiply a row together. A null `indptr` is the zero matrix, a null `scale` is 1.
struct Triangle {
    const INDEX *indptr, *indices;
    const VALUE *data, *scale;
    i64 lanes;
};

// Vectors of any strides, or null. Row i of the triangle is row order[i] of the vectors, or row i.
struct StridedVectors {
    RESULT* at;
    const INDEX* order;
    i64 row, column;

    DEVICE RESULT& operator()(i64 i, i64 c) const { return at[(order ? (i64)order[i] : i) * row + c * column]; }
};

// Steps of a lane in a row; longer rows are left to the whole warp.
#define MOST_STEPS 16

// The sum over every `step`-th entry from `at` on of its product with load(row of the vector).
template <typename Load>
DEVICE RESULT strided_sum(const Triangle& triangle, i64 at, i64 end, int step, Load load) {
    RESULT sum = RESULT{};
    for (; at < end; at += step) {
        RESULT entry;
        convert(entry, triangle.data[at]);
        sum = sum + entry * load((i64)triangle.indices[at]);
    }
    return sum;
}

// The sum over the lanes of a team, by butterfly shuffles.
DEVICE RESULT team_sum(RESULT sum, int lanes) {
    for (int half = lanes / 2; half > 0; half /= 2) sum = sum + from_lane(sum, threadIdx.x % 32 ^ half);
    return sum;
}

// One step of a warp: take(row, column, product) for as many items as it has teams, from item `first` on. An item is a
// row, from row `begin` on, and a column; load(row, column) gives the entries of the vector.
template <typename Load, typename Take>
DEVICE void multiply_items(const Triangle& triangle, i64 begin, i64 items, i64 first, i64 columns, Load load,
                           Take take) {
    const int lanes = (int)triangle.lanes, lane = threadIdx.x % 32, own = lane % lanes;
    const i64 item = first + lane / lanes;
    const bool is_item = item < items;
    const i64 row = begin + (is_item ? item / columns : 0), column = is_item ? item % columns : 0;
    const bool is_row = is_item && triangle.indptr;
    const i64 from = is_row ? (i64)triangle.indptr[row] : 0, to = is_row ? (i64)triangle.indptr[row + 1] : 0;
    const bool is_long = to - from > MOST_STEPS * lanes;
    const auto own_load = [&](i64 other) { return load(other, column); };
    RESULT sum = team_sum(strided_sum(triangle, from + own, is_long ? from : to, lanes, own_load), lanes);
    for (u32 left = __ballot_sync(FULL_WARP, is_long && own == 0); left; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const i64 long_from = __shfl_sync(FULL_WARP, from, owner), long_to = __shfl_sync(FULL_WARP, to, owner);
        const i64 long_column = __shfl_sync(FULL_WARP, column, owner);
        const auto long_load = [&](i64 other) { return load(other, long_column); };
        const RESULT total = team_sum(strided_sum(triangle, long_from + lane, long_to, 32, long_load), 32);
        if (lane == owner) sum = total;
    }
    if (is_item && own == 0) take(row, column, sum);
}

DEVICE RESULT scaled_entry(const Triangle& triangle, const StridedVectors& c, i64 row, i64 column) {
    if (!triangle.scale) return c(row, column);
    RESULT scale;
    convert(scale, triangle.scale[row]);
    return scale * c(row, column);
}

// out = scale c - T y for rows [begin, end), and a copy in other places. With y and out the same vectors this is the
// substitution of a level: its rows depend on other levels alone.
KERNEL substitute_rows(Triangle triangle, i64 begin, i64 end, i64 columns, StridedVectors c, const RESULT* y,
                       RESULT* out, StridedVectors copy) {
    const i64 items = (end - begin) * columns, teams = 32 / triangle.lanes;
    const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = (i64)gridDim.x * blockDim.x / 32;
    const auto load = [&](i64 other, i64 column) { return y[other * columns + column]; };
    for (i64 first = warp * teams; first < items; first += warps * teams)
        multiply_items(triangle, begin, items, first, columns, load, [&](i64 row, i64 column, RESULT sum) {
            const RESULT value = scaled_entry(triangle, c, row, column) - sum;
            out[row * columns + column] = value;
            if (copy.at) copy(row, column) = value;
        });
}

// An entry of a vector that is not known yet has only ones as its bits, which is a NaN; the NaNs that are published are
// others. So that the entry is its own flag, and no fence is needed between the two.
DEVICE float awaited(const float* at) {
    u32 word;
    while ((word = *(const volatile u32*)at) == ~0u) __nanosleep(PAUSE);
    return __uint_as_float(word);
}
DEVICE double awaited(const double* at) {
    u64 word;
    while ((word = *(const volatile u64*)at) == ~0ull) __nanosleep(PAUSE);
    return __longlong_as_double((i64)word);
}
template <typename Complex>
DEVICE Complex awaited(const Complex* at) {
    return {awaited(&at->re), awaited(&at->im)};
}
DEVICE void publish(float* at, float value) {
    const u32 word = __float_as_uint(value);
    *(volatile u32*)at = word == ~0u ? 0x7fffffffu : word;
}
DEVICE void publish(double* at, double value) {
    const u64 word = bits(value);
    *(volatile u64*)at = word == ~0ull ? ~0ull >> 1 : word;
}
template <typename Complex>
DEVICE void publish(Complex* at, Complex value) {
    publish(&at->re, value.re);
    publish(&at->im, value.im);
}

// Marks all entries as not known, and resets the counters of tickets.
KERNEL mark_pending(u32* words, i64 count, u32* tickets) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    for (i64 i = first; i < count; i += (i64)gridDim.x * blockDim.x) words[i] = ~0u;
    if (first < 2) tickets[first] = 0;
}

// Substitution in one launch: a warp takes a tile of rows of one level at a time, in the order of the levels, and polls
// for the entries that they depend on. Tile i has the rows from tiles[i] to tiles[i + 1].
KERNEL substitute_tiles(Triangle triangle, In<INDEX> tiles, i64 count, i64 backward, i64 columns, StridedVectors c,
                        RESULT* y, StridedVectors copy, u32* ticket) {
    const i64 teams = 32 / triangle.lanes;
    const auto load = [&](i64 other, i64 column) { return awaited(y + other * columns + column); };
    for (;;) {
        const i64 number = next_ticket(ticket);
        if (number >= count) return;
        const i64 tile = backward ? count - 1 - number : number;
        const i64 begin = tiles[tile], items = ((i64)tiles[tile + 1] - begin) * columns;
        for (i64 first = 0; first < items; first += teams)
            multiply_items(triangle, begin, items, first, columns, load, [&](i64 row, i64 column, RESULT sum) {
                const RESULT value = scaled_entry(triangle, c, row, column) - sum;
                publish(y + row * columns + column, value);
                if (copy.at) copy(row, column) = value;
            });
    }
}
