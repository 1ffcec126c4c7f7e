#include "runtime/common.cuh"
#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"

// Inner products and updates of the vectors of Krylov solvers, with what follows from their sums.

// sum conj(u) v for one or two pairs of vectors.
extern "C" __global__ void __launch_bounds__(THREADS)
    dot_one(Space space, int logic, const VALUE* __restrict__ u, const VALUE* __restrict__ v) {
    if (!space.is_active() && logic != START) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    EACH_ENTRY (e, walk) add_product(sums[0], u[e], v[e]);
    finish(space, (Logic)logic, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    dot_two(Space space, int logic, const VALUE* __restrict__ u0, const VALUE* __restrict__ v0,
            const VALUE* __restrict__ u1, const VALUE* __restrict__ v1) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[2] = {};
    EACH_ENTRY (e, walk) {
        add_product(sums[0], u0[e], v0[e]);
        add_product(sums[1], u1[e], v1[e]);
    }
    finish(space, (Logic)logic, sums);
}

// Sums that were found elsewhere, LARGEST_SUMS for each column.
extern "C" __global__ void __launch_bounds__(THREADS) take_sums(Space space, int logic, const Scalar* sums) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    for (int i = threadIdx.x; i < LARGEST_SUMS * space.columns; i += THREADS) totals[i] = sums[i];
    __syncthreads();
    advance_all<LARGEST_SUMS>(space, (Logic)logic, totals);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    cg_direction(Space space, const VALUE* __restrict__ z, VALUE* __restrict__ p) {
    if (!space.is_active()) return;
    const Walk walk(space);
    if (space.status(walk.column) != RUNNING) return;
    const VALUE beta = narrow(space.scalar(BETA, walk.column));
    EACH_ENTRY (e, walk) p[e] = z[e] + beta * p[e];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    cg_step(Space space, int summed, VALUE* __restrict__ x, VALUE* __restrict__ r, const VALUE* __restrict__ p,
            const VALUE* __restrict__ q) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    if (space.status(walk.column) == RUNNING) {
        const VALUE alpha = narrow(space.scalar(ALPHA, walk.column));
        EACH_ENTRY (e, walk) {
            x[e] = x[e] + alpha * p[e];
            const VALUE rest = r[e] - alpha * q[e];
            r[e] = rest;
            add_product(sums[0], rest, rest);
        }
    }
    if (summed) finish(space, CG_STEP, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    bi_direction(Space space, const VALUE* __restrict__ r, VALUE* __restrict__ p, const VALUE* __restrict__ v) {
    if (!space.is_active()) return;
    const Walk walk(space);
    if (space.status(walk.column) != RUNNING) return;
    if (space.number(FRESH, walk.column)) {
        EACH_ENTRY (e, walk) p[e] = r[e];
        return;
    }
    const VALUE beta = narrow(space.scalar(BETA, walk.column)), omega = narrow(space.scalar(OMEGA, walk.column));
    EACH_ENTRY (e, walk) p[e] = r[e] + beta * (p[e] - omega * v[e]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    bi_half(Space space, int summed, VALUE* __restrict__ r, const VALUE* __restrict__ v) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    if (space.status(walk.column) == RUNNING) {
        const VALUE alpha = narrow(space.scalar(ALPHA, walk.column));
        EACH_ENTRY (e, walk) {
            const VALUE rest = r[e] - alpha * v[e];
            r[e] = rest;
            add_product(sums[0], rest, rest);
        }
    }
    if (summed) finish(space, BI_HALF, sums);
}

// `shat` may be r itself.
extern "C" __global__ void __launch_bounds__(THREADS)
    bi_step(Space space, int summed, VALUE* __restrict__ x, VALUE* r, const VALUE* __restrict__ t,
            const VALUE* __restrict__ phat, const VALUE* shat, const VALUE* __restrict__ shadow) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[2] = {};
    const double status = space.status(walk.column);
    const VALUE alpha = narrow(space.scalar(ALPHA, walk.column)), omega = narrow(space.scalar(OMEGA, walk.column));
    if (status == HALF) {
        EACH_ENTRY (e, walk) x[e] = x[e] + alpha * phat[e];
    } else if (status == RUNNING) {
        EACH_ENTRY (e, walk) {
            x[e] = x[e] + (alpha * phat[e] + omega * shat[e]);
            const VALUE rest = r[e] - omega * t[e];
            r[e] = rest;
            add_product(sums[0], rest, rest);
            add_product(sums[1], shadow[e], rest);
        }
    }
    if (summed) finish(space, BI_STEP, sums);
}

// The norm of x + alpha * extra - x_true, for the last record; `extra` is null after a whole step.
extern "C" __global__ void __launch_bounds__(THREADS)
    measure_error(Space space, const VALUE* __restrict__ x, const VALUE* __restrict__ extra,
                  const VALUE* __restrict__ x_true) {
    if (*(volatile double*)(space.report + UNMEASURED) == 0) return;
    const Walk walk(space);
    const VALUE alpha = narrow(space.scalar(ALPHA, walk.column));
    Scalar sums[1] = {};
    EACH_ENTRY (e, walk) {
        const VALUE own = extra ? x[e] + alpha * extra[e] : x[e];
        const VALUE off = own - x_true[e];
        add_product(sums[0], off, off);
    }
    finish(space, ERROR, sums);
}
