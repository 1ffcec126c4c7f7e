// Short names of integer types and qualifiers, complex values, and constants.

#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
// A loop over [0, count) by all threads of the grid, with a counter of the given type.
#define GRID_STRIDE(type, item, count) \
    for (type item = (type)blockIdx.x * blockDim.x + threadIdx.x; item < (count); item += (type)gridDim.x * blockDim.x)

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
