// Asynchronous copies from global to shared memory, in units of 16 bytes.

// Starts to copy the unit at byte `at` of an array of `end` bytes; bytes outside the array are zero.
__device__ __forceinline__ void start_unit(void* to, const void* __restrict__ from, i64 at, i64 end) {
    const int bytes = at < 0 ? 0 : (int)max((i64)0, min((i64)16, end - at));
    const char* source = (const char*)from + (bytes ? at : 0);
    const u32 target = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes));
}

// Waits for the copies of all threads of the block.
__device__ __forceinline__ void finish_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}
