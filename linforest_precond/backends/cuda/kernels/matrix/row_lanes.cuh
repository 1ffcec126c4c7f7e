// Rows by groups of `width` lanes of a warp, a power of two: 32 / width rows per warp at a time.

struct RowLanes {
    int width;

    // The first of the warp's rows, and the step to the next ones, if `blocks` blocks share the rows.
    DEVICE i64 first() const { return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32 * (32 / width); }
    DEVICE i64 step(u32 blocks) const { return (i64)blocks * blockDim.x / width; }
    // This lane's group among those of the warp, and its place in the group.
    DEVICE int group() const { return threadIdx.x % 32 / width; }
    DEVICE int place() const { return threadIdx.x % width; }

    // The maximum over the lanes of a group; all lanes of the warp must call it.
    DEVICE i64 group_max(i64 value) const {
        for (int half = width / 2; half > 0; half /= 2) value = max(value, __shfl_xor_sync(FULL_WARP, value, half));
        return value;
    }
};
