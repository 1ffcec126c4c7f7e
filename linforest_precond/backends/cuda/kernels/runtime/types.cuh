// Short names of integer types, complex values, and constants.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// All lanes of a warp: the mask of warp shuffles and votes.
#define FULL_WARP 0xffffffffu
// In an array of vertices (neighbours, mates, ...): there is none.
#define NO_VERTEX ((INDEX) - 1)

struct Complex64 {
    float re, im;
};
struct Complex128 {
    double re, im;
};
