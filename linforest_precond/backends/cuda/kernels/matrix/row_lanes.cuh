// Rows by groups of `width` lanes of a warp, a power of two: 32 / width rows per warp at a time.

struct RowLanes {
    int width;

    // The first of the warp's rows, and the step to the next ones, if `blocks` blocks share the rows.
    __device__ __forceinline__ i64 first() const {
        return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32 * (32 / width);
    }
    __device__ __forceinline__ i64 step(u32 blocks) const { return (i64)blocks * blockDim.x / width; }
    // This lane's group among those of the warp, and its place in the group.
    __device__ __forceinline__ int group() const { return threadIdx.x % 32 / width; }
    __device__ __forceinline__ int place() const { return threadIdx.x % width; }

    // The maximum over the lanes of a group; all lanes of the warp must call it.
    __device__ __forceinline__ i64 group_max(i64 value) const {
        for (int half = width / 2; half > 0; half /= 2) value = max(value, __shfl_xor_sync(FULL_WARP, value, half));
        return value;
    }
};
