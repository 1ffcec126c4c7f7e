#include "runtime/arithmetic.cuh"

// The update of a Chebyshev iteration: y = x + momentum (x - y) + factor z.
KERNEL extrapolate(In<VALUE> x, In<VALUE> z, VALUE* __restrict__ y, i64 count, double momentum, double factor) {
    GRID_STRIDE (i64, i, count) {
        VALUE value = x[i] + scaled(z[i], (WEIGHT)factor);
        if (momentum != 0) value = value + scaled(x[i] - y[i], (WEIGHT)momentum);
        y[i] = value;
    }
}
