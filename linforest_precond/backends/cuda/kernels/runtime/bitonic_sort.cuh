// Block-wide bitonic sort in shared memory (Batcher 1968); `count` is a power of two.
DEVICE void bitonic_sort(u64* words, int count) {
    for (int size = 2; size <= count; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int i = threadIdx.x; i < count / 2; i += blockDim.x) {
                const int low = 2 * i - (i & (stride - 1)), high = low + stride;
                const u64 a = words[low], b = words[high];
                if ((a > b) == !(low & size)) {
                    words[low] = b;
                    words[high] = a;
                }
            }
            __syncthreads();
        }
}
