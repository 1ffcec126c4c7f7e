// At the head of every program, where the loader puts it. NVRTC compiles without standard headers.

#include "runtime/types.cuh"
#include "runtime/hashing.cuh"
#include "runtime/exact_values.cuh"
#include "runtime/tree_sum.cuh"
#include "runtime/collectives.cuh"
#include "runtime/binary_search.cuh"
#include "runtime/grid_barrier.cuh"
