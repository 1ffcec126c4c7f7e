// Hash functions, the same as in the CPU backend (runtime/hashing.py).

// The finalizer of splitmix64 (Steele, Lea & Flood 2014).
DEVICE u64 mix64(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// The finalizer of MurmurHash3.
DEVICE u32 mix32(u32 z) {
    z = (z ^ z >> 16) * 0x85EBCA6Bu;
    z = (z ^ z >> 13) * 0xC2B2AE35u;
    return z ^ z >> 16;
}

// The key of a hash, different in every iteration k: number 2 * k + 1 for charges, 2 * k + 2 for ties.
DEVICE u64 iteration_key(u64 seed, u64 number) { return mix64(seed + 0x9E3779B97F4A7C15ull * number); }

// Whether the charge of a vertex is positive under an iteration's key; `threshold` is the probability times 2**53.
DEVICE bool is_positive(u64 key, u64 threshold, u64 vertex) {
    return (mix64(key + vertex * 0xD1342543DE82EF95ull) >> 11) < threshold;
}

// Hash of an edge {low, high} and its weight, from both halves of a 128-bit product. The matrix is symmetric if the
// hashes above and below the diagonal cancel; their values are never reported, and are not those of the CPU backend.
template <typename Index>
DEVICE u64 symmetry_hash(Index low, Index high, u64 weight_bits) {
    const u64 pair =
        sizeof(Index) == 4 ? (u64)(u32)high << 32 | (u32)low : (u64)high * 0x9E3779B97F4A7C15ull + (u64)low;
    const u64 a = pair ^ 0xD6E8FEB86659FD93ull, b = weight_bits ^ 0xC2B2AE3D27D4EB4Full;
    return a * b ^ __umul64hi(a, b);
}
