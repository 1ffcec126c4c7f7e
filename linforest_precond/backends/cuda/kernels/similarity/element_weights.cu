#include "similarity/set_pairs.cuh"

struct ElementArrays {
    const i64 *indptr, *elements;
    const i64 *symbol_ptr, *symbols;
};

// Common numbers of two sorted lists.
DEVICE i64 count_common(In<i64> symbols, i64 i, i64 i_end, i64 j, i64 j_end) {
    i64 common = 0;
    while (i < i_end && j < j_end) {
        const i64 a = symbols[i], b = symbols[j];
        common += a == b;
        i += a <= b;
        j += b <= a;
    }
    return common;
}

// Warp per pair, lane per element of the right set: Jaccard similarities of the elements' tokens.
KERNEL fill_jaccard(ElementArrays in, PairArrays at, double* __restrict__ weights) {
    GROUP_STRIDE (i64, pair, at.pairs, 32) {
        const i64 *left = in.elements + in.indptr[at.lefts[pair]], *right = in.elements + in.indptr[at.rights[pair]];
        const i64 width = at.columns[pair];
        for (i64 cell = threadIdx.x % 32; cell < at.rows[pair] * width; cell += 32) {
            const i64 a = left[cell / width], b = right[cell % width];
            const i64 a_begin = in.symbol_ptr[a], a_end = in.symbol_ptr[a + 1];
            const i64 b_begin = in.symbol_ptr[b], b_end = in.symbol_ptr[b + 1];
            const i64 common = count_common(in.symbols, a_begin, a_end, b_begin, b_end);
            const i64 all = a_end - a_begin + b_end - b_begin - common;
            weights[at.starts[pair] + cell] = common ? (double)common / (double)all : 0.0;
        }
    }
}

// The edit distance of two strings by the rows of Wagner and Fischer's table; entries of a row are `step` apart.
DEVICE int edit_distance(In<i64> a, int a_length, In<i64> b, int b_length, int* __restrict__ distances, i64 step) {
    for (int j = 0; j <= b_length; ++j) distances[j * step] = j;
    for (int i = 0; i < a_length; ++i) {
        int diagonal = distances[0], before = i + 1;
        distances[0] = before;
        for (int j = 0; j < b_length; ++j) {
            const int replaced = diagonal + (a[i] != b[j]);
            diagonal = distances[(j + 1) * step];
            before = min(replaced, min(diagonal, before) + 1);
            distances[(j + 1) * step] = before;
        }
    }
    return distances[b_length * step];
}

// Warp per pair, lane per element of the right set: normalized edit similarities. Each thread has a row of `table`.
KERNEL fill_edit(ElementArrays in, PairArrays at, int* __restrict__ table, double* __restrict__ weights) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    int* distances = table + (i64)blockIdx.x * blockDim.x + threadIdx.x;
    GROUP_STRIDE (i64, pair, at.pairs, 32) {
        const i64 *left = in.elements + in.indptr[at.lefts[pair]], *right = in.elements + in.indptr[at.rights[pair]];
        const i64 width = at.columns[pair];
        for (i64 cell = threadIdx.x % 32; cell < at.rows[pair] * width; cell += 32) {
            const i64 a = in.symbol_ptr[left[cell / width]], b = in.symbol_ptr[right[cell % width]];
            const int a_length = (int)(in.symbol_ptr[left[cell / width] + 1] - a);
            const int b_length = (int)(in.symbol_ptr[right[cell % width] + 1] - b);
            const int longer = max(a_length, b_length);
            const int distance = edit_distance(in.symbols + a, a_length, in.symbols + b, b_length, distances, threads);
            weights[at.starts[pair] + cell] = longer ? (double)(longer - distance) / (double)longer : 1.0;
        }
    }
}
