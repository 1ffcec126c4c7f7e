#include "runtime/common.cuh"
#include "matrix/long_row_split.cuh"
#include "csgraph/worklist.cuh"

#define NO_COLOR -1

struct Coloring {
    const INDEX* __restrict__ indptr;
    const int* __restrict__ indices;
    // Where large degrees come first, else null.
    const int* __restrict__ degrees;
    LongRows long_rows;
    int* colors;
    // How far each item has looked; zero at first.
    u16* offsets;
    // Of long rows: the pieces that have not passed all of their entries, and a bit for each colour before them, which is
    // zero at first. A row needs no more bits than it has entries.
    u32* unfinished;
    u32* masks;
    i64 n;
    u64 seed;
};
#define MASK_WORDS (PIECE / 32)

// A vertex waits for the neighbours before it that have no colour.
struct View {
    typedef int Known;
    const int* __restrict__ indices;
    const int* __restrict__ degrees;
    const int* colors;
    u32 tie_key;

    __device__ __forceinline__ u64 word(int vertex) const {
        return order_word(degrees ? __clz(__ldg(degrees + vertex)) - 1 : 0, (u32)vertex, tie_key);
    }
    __device__ __forceinline__ int fetch(int neighbour) const { return __ldcg(colors + neighbour); }
    __device__ __forceinline__ Sight sight(u64 own, int neighbour, int color) const {
        return color == NO_COLOR && word(neighbour) < own ? BLOCKED : PASSED;
    }
    // The colour that a neighbour forbids.
    __device__ __forceinline__ int forbidden(u64 own, int neighbour) const {
        return word(neighbour) < own ? __ldcg(colors + neighbour) : NO_COLOR;
    }
};

__device__ void begin(const Coloring& c) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    for (i64 v = first; v < c.n; v += step) c.colors[v] = NO_COLOR;
    for (i64 row = first; row < row_count(c.long_rows); row += step) {
        const int v = c.long_rows.rows[row];
        c.unfinished[row] = pieces_in((i64)c.indptr[v + 1] - c.indptr[v]);
    }
}

// The lowest colour that no neighbour before a vertex has: 64 colours at a time, every `stride`-th entry from `from` on.
template <int STRIDE>
__device__ __forceinline__ int lowest_color(const View& view, const Part& part, u64 own, int from) {
    for (int base = 0;; base += 64) {
        u64 taken = 0;
        for (int i = from; i < part.length; i += STRIDE) {
            const int color = view.forbidden(own, __ldg(view.indices + part.begin + i)) - base;
            if (color >= 0 && color < 64) taken |= 1ull << color;
        }
        if (STRIDE > 1)
            for (int half = 16; half > 0; half /= 2) taken |= __shfl_xor_sync(FULL_WARP, taken, half);
        if (~taken) return base + __ffsll((i64)~taken) - 1;
    }
}

// Marks the colours before a long row in one piece of it; the last piece gives the row its colour. By a warp.
__device__ __forceinline__ void finish_piece(const Coloring& c, const View& view, const Part& part, u64 own) {
    const u32 lane = threadIdx.x % 32;
    u32* const mask = c.masks + (u64)c.long_rows.first[part.owner] * MASK_WORDS;
    const i64 length = (i64)c.indptr[part.vertex + 1] - c.indptr[part.vertex];
    for (int i = lane; i < part.length; i += 32) {
        const int color = view.forbidden(own, __ldg(c.indices + part.begin + i));
        if (color == NO_COLOR || color >= length) continue;
        const u32 bit = 1u << color % 32;
        if (!(__ldcg(mask + color / 32) & bit)) atomicOr(mask + color / 32, bit);
    }
    __threadfence();
    __syncwarp();
    u32 last = 0;
    if (lane == 0) last = atomicSub(c.unfinished + part.owner, 1u) == 1;
    if (!__shfl_sync(FULL_WARP, last, 0)) return;
    __threadfence();
    const i64 words = (length + 31) / 32;
    for (i64 base = 0;; base += 32) {
        const u32 open = base + lane < words ? ~__ldcg(mask + base + lane) : ~0u;
        const u32 found = __ballot_sync(FULL_WARP, open != 0);
        if (!found) continue;
        const int first = __ffs(found) - 1;
        if ((int)lane == first) *(volatile int*)(c.colors + part.vertex) = (int)(base + lane) * 32 + __ffs(open) - 1;
        return;
    }
}

// A vertex takes its colour once all neighbours before it have theirs. Returns whether the item must come again.
__device__ __forceinline__ bool color_vertex(const Coloring& c, const View& view, u32 item) {
    const Part part = part_of(c.indptr, (u32)c.n, c.long_rows, item);
    const bool wanted = part.vertex != NOBODY;
    int offset = wanted ? (int)c.offsets[item] : 0;
    const u64 own = wanted ? view.word(part.vertex) : 0;
    const bool passed = look_through(view, part, own, wanted, offset) == PASSED && wanted;
    const bool together = part.length > ALONE || part.owner != WHOLE;
    if (passed && !together) *(volatile int*)(c.colors + part.vertex) = lowest_color<1>(view, part, own, 0);
    for (u32 left = __ballot_sync(FULL_WARP, passed && together); left; left &= left - 1) {
        const int lane = __ffs(left) - 1;
        const Part other = from_lane(part, lane);
        const u64 word = __shfl_sync(FULL_WARP, own, lane);
        if (other.owner != WHOLE) {
            finish_piece(c, view, other, word);
            continue;
        }
        const int color = lowest_color<32>(view, other, word, threadIdx.x % 32);
        if (threadIdx.x % 32 == 0) *(volatile int*)(c.colors + other.vertex) = color;
    }
    if (wanted && !passed) c.offsets[item] = (u16)offset;
    return wanted && !passed;
}

// The colours of the sequential program, in rounds. A cooperative launch.
extern "C" __global__ void __launch_bounds__(256) color(Coloring c, Worklist work, u32* barrier) {
    u32 generation = 0;
    begin(c);
    grid_barrier(barrier, generation);
    const View view = {c.indices, c.degrees, c.colors, (u32)iteration_key(c.seed, 2)};
    const auto examine = [&](u32 item) { return color_vertex(c, view, item); };
    work_off(work, c.n + piece_count(c.long_rows), barrier, generation, examine);
}
