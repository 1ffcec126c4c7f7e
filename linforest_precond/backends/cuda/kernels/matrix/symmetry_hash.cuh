// Hash of an edge {low, high} and its weight, from both halves of a 128-bit product. The matrix is symmetric if the
// hashes above and below the diagonal cancel; their values are never reported.
DEVICE u64 edge_hash(INDEX low, INDEX high, u64 weight_bits) {
    const u64 pair =
        sizeof(INDEX) == 4 ? (u64)(u32)high << 32 | (u32)low : (u64)high * 0x9E3779B97F4A7C15ull + (u64)low;
    const u64 a = pair ^ 0xD6E8FEB86659FD93ull, b = weight_bits ^ 0xC2B2AE3D27D4EB4Full;
    return a * b ^ __umul64hi(a, b);
}
