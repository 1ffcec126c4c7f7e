// The 128-bit hash of index arrays, the same as in the CPU backend (matrix/patterns.py).

// Odd multipliers of a group's position, of an array's position in the list, and of the upper half of a 64-bit number.
#define GOLDEN 0x9E3779B97F4A7C15ull
#define ARRAY_STRIDE 0xC2B2AE3D27D4EB4Full
#define UPPER_STRIDE 0xAF251AF3B0F025B5ull

// Four consecutive numbers, for one vectorized load.
struct alignas(4 * sizeof(INDEX)) Four {
    INDEX at[4];
};

// Packs two numbers into a word; injective for numbers below 2^32.
DEVICE u64 joined(INDEX low, INDEX high) {
    if (sizeof(INDEX) == 4) return (u64)(i64)low + ((u64)(i64)high << 32);
    return (u64)low + ((u64)high << 32) + ((u64)high >> 32) * UPPER_STRIDE;
}

DEVICE u64 halves_swapped(u64 word) { return word << 32 | word >> 32; }

// A thread's sums of the hashes of groups. Sums modulo 2^64 do not depend on the order of additions.
struct Digest {
    u64 first, second;

    // Four numbers make two 64-bit words, which are combined with a hash of the group's position and multiplied; both
    // halves of the product enter both sums.
    DEVICE void add(const Four& four, u64 group, u64 array_number) {
        // splitmix64, seeded by the array's position.
        const u64 key = mix64((array_number + 1) * ARRAY_STRIDE + group * GOLDEN);
        const u64 a = joined(four.at[0], four.at[1]) ^ key, b = joined(four.at[2], four.at[3]) ^ halves_swapped(key);
        const u64 low = a * b, high = __umul64hi(a, b);
        first += low ^ high;
        second += mix64(low + halves_swapped(high));
    }

    // Adds the numbers of a whole array, in a grid-stride loop.
    DEVICE void add_array(In<INDEX> numbers, i64 count, u64 array_number) {
        const i64 groups = (count + 3) / 4, whole = count / 4;
        const bool aligned = (u64)numbers % sizeof(Four) == 0;
        GRID_STRIDE (i64, group, groups) {
            Four four;
            if (aligned && group < whole) four = ((const Four*)numbers)[group];
            else
                for (int i = 0; i < 4; ++i) four.at[i] = 4 * group + i < count ? numbers[4 * group + i] : 0;
            add(four, (u64)group, array_number);
        }
    }

    // Adds the sums of a thread block to those of the grid. All of its threads must call it.
    DEVICE void report(u64* sums) const {
        __shared__ u64 block_sums[2];
        if (threadIdx.x < 2) block_sums[threadIdx.x] = 0;
        __syncthreads();
        const u64 first_sum = warp_sum(first), second_sum = warp_sum(second);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(block_sums, first_sum);
            atomicAdd(block_sums + 1, second_sum);
        }
        __syncthreads();
        if (threadIdx.x < 2) atomicAdd(sums + threadIdx.x, block_sums[threadIdx.x]);
    }
};
