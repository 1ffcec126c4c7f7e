#include "runtime/arithmetic.cuh"
#include "krylov/scalar_steps.cuh"

// Inner products and fused vector updates of Krylov solvers, each followed by its scalar step.

// Inner products <u, v> = sum conj(u) v of one or two pairs of vectors.
KERNEL __launch_bounds__(THREADS) dot_one(KrylovSpace space, int step, In<VALUE> u, In<VALUE> v) {
    if (!space.is_active() && step != STEP_START) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    EACH_ENTRY (e, walk) add_product(sums[0], u[e], v[e]);
    finish(space, (ScalarStep)step, sums);
}

KERNEL __launch_bounds__(THREADS)
    dot_two(KrylovSpace space, int step, In<VALUE> u0, In<VALUE> v0, In<VALUE> u1, In<VALUE> v1) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[2] = {};
    EACH_ENTRY (e, walk) {
        add_product(sums[0], u0[e], v0[e]);
        add_product(sums[1], u1[e], v1[e]);
    }
    finish(space, (ScalarStep)step, sums);
}

// The scalar step from inner products that the user's function computed, LARGEST_SUMS for each column.
KERNEL __launch_bounds__(THREADS) take_sums(KrylovSpace space, int step, const Scalar* sums) {
    if (!space.is_active() && step != STEP_START && step != STEP_ERROR) return;  // the error of the last record
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    for (int i = threadIdx.x; i < LARGEST_SUMS * space.columns; i += THREADS) totals[i] = sums[i];
    __syncthreads();
    scalar_steps<LARGEST_SUMS>(space, (ScalarStep)step, totals);
}

// p = z + beta p.
KERNEL __launch_bounds__(THREADS) cg_direction(KrylovSpace space, In<VALUE> z, VALUE* __restrict__ p) {
    if (!space.is_active()) return;
    const Walk walk(space);
    if (space.status(walk.column) != STATUS_RUNNING) return;
    const VALUE beta = narrow(space.scalar(SCALAR_BETA, walk.column));
    EACH_ENTRY (e, walk) p[e] = z[e] + beta * p[e];
}

// x += alpha p, r -= alpha q, and norm(r)^2 unless `summed` is 0.
KERNEL __launch_bounds__(THREADS)
    cg_step(KrylovSpace space, int summed, VALUE* __restrict__ x, VALUE* __restrict__ r, In<VALUE> p, In<VALUE> q) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    if (space.status(walk.column) == STATUS_RUNNING) {
        const VALUE alpha = narrow(space.scalar(SCALAR_ALPHA, walk.column));
        EACH_ENTRY (e, walk) {
            x[e] = x[e] + alpha * p[e];
            const VALUE residual = r[e] - alpha * q[e];
            r[e] = residual;
            add_product(sums[0], residual, residual);
        }
    }
    if (summed) finish(space, STEP_CG_STEP, sums);
}

// p = r + beta (p - omega v).
KERNEL __launch_bounds__(THREADS)
    bicgstab_direction(KrylovSpace space, In<VALUE> r, VALUE* __restrict__ p, In<VALUE> v) {
    if (!space.is_active()) return;
    const Walk walk(space);
    if (space.status(walk.column) != STATUS_RUNNING) return;
    if (space.number(NUMBER_FRESH, walk.column)) {
        EACH_ENTRY (e, walk) p[e] = r[e];
        return;
    }
    const VALUE beta = narrow(space.scalar(SCALAR_BETA, walk.column)),
                omega = narrow(space.scalar(SCALAR_OMEGA, walk.column));
    EACH_ENTRY (e, walk) p[e] = r[e] + beta * (p[e] - omega * v[e]);
}

// s = r - alpha v, in place of r, and norm(s)^2 unless `summed` is 0.
KERNEL __launch_bounds__(THREADS)
    bicgstab_half_step(KrylovSpace space, int summed, VALUE* __restrict__ r, In<VALUE> v) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    if (space.status(walk.column) == STATUS_RUNNING) {
        const VALUE alpha = narrow(space.scalar(SCALAR_ALPHA, walk.column));
        EACH_ENTRY (e, walk) {
            const VALUE residual = r[e] - alpha * v[e];
            r[e] = residual;
            add_product(sums[0], residual, residual);
        }
    }
    if (summed) finish(space, STEP_BICGSTAB_HALF_STEP, sums);
}

// x += alpha phat + omega shat, r -= omega t, and norm(r)^2 and <shadow, r> unless `summed` is 0. Columns that converged
// at the half step only add alpha phat. `shat` may alias r.
KERNEL __launch_bounds__(THREADS) bicgstab_step(KrylovSpace space, int summed, VALUE* __restrict__ x, VALUE* r,
                                                In<VALUE> t, In<VALUE> phat, const VALUE* shat, In<VALUE> shadow) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[2] = {};
    const double status = space.status(walk.column);
    const VALUE alpha = narrow(space.scalar(SCALAR_ALPHA, walk.column)),
                omega = narrow(space.scalar(SCALAR_OMEGA, walk.column));
    if (status == STATUS_HALF) {
        EACH_ENTRY (e, walk) x[e] = x[e] + alpha * phat[e];
    } else if (status == STATUS_RUNNING) {
        EACH_ENTRY (e, walk) {
            x[e] = x[e] + (alpha * phat[e] + omega * shat[e]);
            const VALUE residual = r[e] - omega * t[e];
            r[e] = residual;
            add_product(sums[0], residual, residual);
            add_product(sums[1], shadow[e], residual);
        }
    }
    if (summed) finish(space, STEP_BICGSTAB_STEP, sums);
}

// v = z / beta; the Lanczos vector and the directions before it are 0.
KERNEL __launch_bounds__(THREADS) minres_begin(KrylovSpace space, In<VALUE> z, VALUE* __restrict__ v,
                                               VALUE* __restrict__ r1, VALUE* __restrict__ w1, VALUE* __restrict__ w2) {
    if (!space.is_active()) return;
    const Walk walk(space);
    if (space.status(walk.column) != STATUS_RUNNING) return;
    const WEIGHT inverse_beta = (WEIGHT)space.minres(MINRES_INVERSE_BETA, walk.column);
    EACH_ENTRY (e, walk) {
        v[e] = scaled(z[e], inverse_beta);
        r1[e] = w1[e] = w2[e] = VALUE{};
    }
}

// The next Lanczos vector r2, before M and without its norm; r1 becomes the one before it.
KERNEL __launch_bounds__(THREADS)
    minres_lanczos(KrylovSpace space, In<VALUE> q, VALUE* __restrict__ r1, VALUE* __restrict__ r2) {
    if (!space.is_active()) return;
    const Walk walk(space);
    if (space.status(walk.column) != STATUS_RUNNING) return;
    const WEIGHT from_r1 = (WEIGHT)space.minres(MINRES_FROM_R1, walk.column),
                 from_r2 = (WEIGHT)space.minres(MINRES_FROM_R2, walk.column);
    EACH_ENTRY (e, walk) {
        const VALUE last = r2[e];
        r2[e] = q[e] - (scaled(r1[e], from_r1) + scaled(last, from_r2));
        r1[e] = last;
    }
}

// The next direction w, x += phi w, r = kept r - tau r2 and norm(r)^2 unless `summed` is 0, and the next v = z / beta.
// `z` may alias r2.
KERNEL __launch_bounds__(THREADS)
    minres_step(KrylovSpace space, int summed, VALUE* __restrict__ x, VALUE* __restrict__ r, const VALUE* r2,
                const VALUE* z, VALUE* __restrict__ v, VALUE* __restrict__ w1, VALUE* __restrict__ w2) {
    if (!space.is_active()) return;
    const Walk walk(space);
    Scalar sums[1] = {};
    const int c = walk.column;
    if (space.status(c) == STATUS_RUNNING) {
        const WEIGHT from_w1 = (WEIGHT)space.minres(MINRES_FROM_W1, c),
                     from_w2 = (WEIGHT)space.minres(MINRES_FROM_W2, c), from_v = (WEIGHT)space.minres(MINRES_FROM_V, c),
                     phi = (WEIGHT)space.minres(MINRES_PHI, c), kept = (WEIGHT)space.minres(MINRES_KEPT, c),
                     tau = (WEIGHT)space.minres(MINRES_TAU, c),
                     inverse_beta = (WEIGHT)space.minres(MINRES_INVERSE_BETA, c);
        EACH_ENTRY (e, walk) {
            const VALUE earlier = w2[e];
            const VALUE w = scaled(v[e] - (scaled(w1[e], from_w1) + scaled(earlier, from_w2)), from_v);
            w1[e] = earlier;
            w2[e] = w;
            x[e] = x[e] + scaled(w, phi);
            const VALUE residual = scaled(r[e], kept) - scaled(r2[e], tau);
            r[e] = residual;
            v[e] = scaled(z[e], inverse_beta);
            add_product(sums[0], residual, residual);
        }
    }
    if (summed) finish(space, STEP_MINRES_STEP, sums);
}

// norm(x + alpha phat - x_true) for the last record; `phat` is null after a whole step.
KERNEL __launch_bounds__(THREADS) measure_error(KrylovSpace space, In<VALUE> x, In<VALUE> phat, In<VALUE> x_true) {
    if (*(volatile double*)(space.report + REPORT_UNMEASURED) == 0) return;
    const Walk walk(space);
    const VALUE alpha = narrow(space.scalar(SCALAR_ALPHA, walk.column));
    Scalar sums[1] = {};
    EACH_ENTRY (e, walk) {
        const VALUE current = phat ? x[e] + alpha * phat[e] : x[e];
        const VALUE error = current - x_true[e];
        add_product(sums[0], error, error);
    }
    finish(space, STEP_ERROR, sums);
}
