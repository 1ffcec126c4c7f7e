// MD5 (RFC 1321) of short messages, the same as in the CPU backend (runtime/md5.py).

// floor(2**32 * |sin(i + 1)|).
__device__ constexpr u32 MD5_SINES[64] = {
    0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u,
    0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u,
    0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u,
    0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au,
    0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u,
    0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u,
    0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u,
    0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u,
};
// The shifts of four operations repeat within each round of 16.
__device__ constexpr int MD5_SHIFTS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
// The word of the message that operation i of a round takes is (factor * i + offset) % 16.
__device__ constexpr int MD5_FACTORS[4] = {1, 5, 3, 7}, MD5_OFFSETS[4] = {0, 1, 5, 0};

// The functions F, G, H and I of the four rounds.
DEVICE u32 md5_mixed(int part, u32 b, u32 c, u32 d) {
    switch (part) {
    case 0: return (b & c) | (~b & d);
    case 1: return (d & b) | (~d & c);
    case 2: return b ^ c ^ d;
    default: return c ^ (b | ~d);
    }
}

// What operation i puts in the place of b.
DEVICE u32 md5_operated(int i, u32 a, u32 b, u32 c, u32 d, u32 word) {
    const int part = i / 16, shift = MD5_SHIFTS[part][i % 4];
    const u32 total = a + md5_mixed(part, b, c, d) + MD5_SINES[i] + word;
    return b + (total << shift | total >> (32 - shift));
}

// The colour hash of a vertex, Algorithm 4 of Fagginger Auer & Bisseling (2012): the first 16 operations of MD5 on the
// words v, r v, r^2 v ... modulo 2**32. The hash is added to in every one of them, as printed there.
DEVICE u32 quarter_md5_of(u32 vertex, u32 factor) {
    u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, total = a + b + c + d, word = vertex;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const u32 next = md5_operated(i, a, b, c, d, word);
        a = d;
        d = c;
        c = b;
        b = next;
        total += a + b + c + d;
        word *= factor;
    }
    return total;
}

// The first 8 bytes of the digest of three 64-bit numbers, all little-endian.
DEVICE u64 md5_of(u64 first, u64 second, u64 third) {
    // The message is followed by a bit 1 and ends with its length in bits.
    const u32 message[16] = {(u32)first,  (u32)(first >> 32),
                             (u32)second, (u32)(second >> 32),
                             (u32)third,  (u32)(third >> 32),
                             0x80,        0,
                             0,           0,
                             0,           0,
                             0,           0,
                             192,         0};
    u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        const u32 word = message[(MD5_FACTORS[i / 16] * i + MD5_OFFSETS[i / 16]) % 16];
        const u32 next = md5_operated(i, a, b, c, d, word);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    return (u64)(0xefcdab89u + b) << 32 | (0x67452301u + a);
}
