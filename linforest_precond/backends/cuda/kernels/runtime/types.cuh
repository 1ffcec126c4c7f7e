// Short names of integer types and qualifiers, complex values, and constants.

#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
// Loops over [0, count) by all threads of the grid, with a counter of the given type: an item for each thread, or for
// each group of some lanes; or the first item of each warp, or of each block.
#define GRID_STRIDE(type, item, count) STRIDE_FROM(type, item, count, threadIdx.x)
#define WARP_STRIDE(type, first, count) STRIDE_FROM(type, first, count, threadIdx.x / 32 * 32)
#define BLOCK_STRIDE(type, first, count) STRIDE_FROM(type, first, count, 0)
#define STRIDE_FROM(type, first, count, place) \
    for (type first = (type)blockIdx.x * blockDim.x + (place); first < (count); first += (type)gridDim.x * blockDim.x)
#define GROUP_STRIDE(type, item, count, lanes)                                \
    for (type item = ((type)blockIdx.x * blockDim.x + threadIdx.x) / (lanes), \
              item##_step = (type)gridDim.x * blockDim.x / (lanes);           \
         item < (count); item += item##_step)

// A read-only array, which overlaps with none that is written.
template <typename T>
using In = const T* __restrict__;

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
