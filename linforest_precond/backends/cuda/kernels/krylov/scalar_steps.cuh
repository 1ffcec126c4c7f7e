// The state of Krylov solvers for k systems: vectors of k columns side by side, row by row, and for each column a few
// scalars in double precision that stay on the device. The block that finishes an inner product computes the scalar
// recurrences that depend on it (`scalar_step`). The codes are those of backends/krylov_codes.py.
#include "krylov/codes.cuh"
#include "runtime/column_sums.cuh"

struct KrylovSpace {
    Scalar* scalars;         // SCALAR_COUNT rows of `columns`
    double* numbers;         // NUMBER_COUNT rows of `columns`, then MINRES_COUNT
    double* report;          // see `ReportHead`
    Scalar* partials;        // of sums, one set for each block
    u32* arrivals;           // blocks that have finished their partial sums
    const double* starting;  // 1 for columns that STEP_START (re)starts
    i64 rows;
    i64 columns;
    i64 capacity;  // of the ring buffer of records
    i64 most_iterations;
    double epsilon;
    double largest_growth;
    i64 unpreconditioned;  // z is r

    DEVICE Scalar& scalar(int which, int c) const { return scalars[which * columns + c]; }
    DEVICE double& number(int which, int c) const { return numbers[which * columns + c]; }
    DEVICE double& minres(int which, int c) const { return number(NUMBER_COUNT + which, c); }
    DEVICE double& status(int c) const { return report[REPORT_COUNT + c]; }
    DEVICE double& iteration(int c) const { return report[REPORT_COUNT + columns + c]; }
    DEVICE double* steps() const { return report + REPORT_COUNT + 2 * columns; }
    DEVICE double* times() const { return steps() + capacity; }
    DEVICE double* norms() const { return times() + capacity; }
    DEVICE double* errors() const { return norms() + capacity * columns; }
    DEVICE bool is_active() const { return *(volatile double*)(report + REPORT_ACTIVE) != 0; }
};

DEVICE double not_a_number() { return __longlong_as_double(0x7ff8000000000000ll); }
DEVICE bool is_nonfinite(Scalar a) { return !is_finite(a); }

// Sets alpha, beta or omega of a column, and the status where it is not finite: vectors then keep their values.
DEVICE void set_coefficient(const KrylovSpace& space, ScalarSlot slot, int c, Scalar value) {
    space.scalar(slot, c) = value;
    if (is_nonfinite(value)) space.status(c) = STATUS_NONFINITE;
}

// Sets rho = <r, z> and beta = numerator / (the previous rho), 0 for the first direction.
DEVICE void set_rho(const KrylovSpace& space, int c, Scalar rho, Scalar numerator) {
    double& status = space.status(c);
    if (is_nonfinite(rho)) status = STATUS_NONFINITE;
    else if (!(*(double*)&rho > 0)) status = STATUS_INDEFINITE;
    else {
        const bool fresh = space.number(NUMBER_FRESH, c);
        set_coefficient(space, SCALAR_BETA, c, fresh ? Scalar{} : over(numerator, space.scalar(SCALAR_RHO, c)));
        space.scalar(SCALAR_RHO, c) = rho;
        space.number(NUMBER_FRESH, c) = 0;
    }
}

// Whether the first sum of a step is norm(r)^2, which the history records.
DEVICE bool has_record(ScalarStep step) {
    return step == STEP_CG_STEP || step == STEP_BICGSTAB_HALF_STEP || step == STEP_BICGSTAB_STEP ||
           step == STEP_START || step == STEP_MINRES_STEP;
}

// Stops a column whose residual is not finite, meets the target or exceeds the divergence limit; true if it stopped.
DEVICE bool stops_by_norm(const KrylovSpace& space, int c) {
    const double norm2 = space.number(NUMBER_NORM2, c), norm = sqrt(norm2);
    double& status = space.status(c);
    if (!isfinite(norm2)) status = STATUS_NONFINITE;
    else if (norm <= space.number(NUMBER_TARGET, c)) status = STATUS_CONVERGED;
    else if (norm > space.number(NUMBER_DIVERGENCE_NORM, c)) status = STATUS_DIVERGED;
    else return false;
    return true;
}

// The numbers of MINRES of one column. The functions that use it are not inlined, so that other methods do not pay with
// registers, and take no reference to the space, which would be copied to local memory.
struct MinresNumbers {
    double* first;
    i64 columns;

    DEVICE double& operator[](MinresNumber which) const { return first[which * columns]; }
};

// The rotation of MINRES for the next off-diagonal entry beta of the tridiagonal matrix. The status is SINGULAR where
// A r is tiny, as on the CPU (minres_steps.py): the residual cannot be reduced.
__device__ __noinline__ void rotate_minres(MinresNumbers at, double* status, double epsilon, double beta) {
    const double alpha = at[MINRES_ALPHA], old_beta = at[MINRES_BETA], dbar = at[MINRES_DBAR],
                 phibar = at[MINRES_PHIBAR], old_cosine = at[MINRES_COSINE], old_sine = at[MINRES_SINE];
    const double above = at[MINRES_OLD_BETA] > 0 ? old_beta : 0;  // the first beta is no entry of the matrix
    const double norm2 = at[MINRES_NORM2] + (alpha * alpha + beta * beta + above * above);
    const double gbar = old_sine * dbar - old_cosine * alpha, gamma = hypot(gbar, beta);
    if (hypot(gbar, old_cosine * beta) <= sqrt(epsilon) * sqrt(norm2) || gamma == 0) {
        *status = STATUS_SINGULAR;
        return;
    }
    const double cosine = gbar / gamma, sine = beta / gamma, inverse_beta = beta > 0 ? 1 / beta : 0;
    at[MINRES_NORM2] = norm2;
    at[MINRES_FROM_W1] = at[MINRES_EPSILON];
    at[MINRES_FROM_W2] = old_cosine * dbar + old_sine * alpha;
    at[MINRES_FROM_V] = 1 / gamma;
    at[MINRES_EPSILON] = old_sine * beta;
    at[MINRES_DBAR] = -old_cosine * beta;
    at[MINRES_OLD_BETA] = old_beta;
    at[MINRES_BETA] = beta;
    at[MINRES_INVERSE_BETA] = inverse_beta;
    at[MINRES_COSINE] = cosine;
    at[MINRES_SINE] = sine;
    at[MINRES_PHI] = cosine * phibar;
    at[MINRES_PHIBAR] = sine * phibar;
    at[MINRES_KEPT] = sine * sine;
    at[MINRES_TAU] = sine * phibar * cosine * inverse_beta;
}

// The Lanczos process of MINRES: beta of the first vector, alpha, or the next beta.
__device__ __noinline__ void minres_scalar_step(MinresNumbers at, double* status, double epsilon, ScalarStep step,
                                                double sum) {
    if (!isfinite(sum)) *status = STATUS_NONFINITE;
    else if (step == STEP_MINRES_BEGIN && sum > 0) {
        for (int i = 0; i < MINRES_COUNT; ++i) at[(MinresNumber)i] = 0;
        at[MINRES_BETA] = at[MINRES_PHIBAR] = sqrt(sum);
        at[MINRES_INVERSE_BETA] = 1 / sqrt(sum);
        at[MINRES_COSINE] = -1;
    } else if (step == STEP_MINRES_ALPHA) {
        const double beta = at[MINRES_BETA], before = at[MINRES_OLD_BETA];
        const double from_r1 = before > 0 ? beta / before : 0, from_r2 = sum * at[MINRES_INVERSE_BETA];
        at[MINRES_ALPHA] = sum;
        at[MINRES_FROM_R1] = from_r1;
        at[MINRES_FROM_R2] = from_r2;
        if (!isfinite(from_r1) || !isfinite(from_r2)) *status = STATUS_NONFINITE;
    } else if (step == STEP_MINRES_BETA && sum >= 0) rotate_minres(at, status, epsilon, sqrt(sum));
    else *status = STATUS_INDEFINITE;
}

// The scalar recurrences of one column; `sums` are the inner products that `ScalarStep` lists.
__device__ void scalar_step(const KrylovSpace& space, ScalarStep step, int c, const Scalar* sums) {
    double& status = space.status(c);
    if (step == STEP_ERROR) {
        const i64 slot = ((i64)space.report[REPORT_RECORDS] - 1) % space.capacity;
        const double norm = space.norms()[slot * space.columns + c];
        space.errors()[slot * space.columns + c] = isnan(norm) ? norm : sqrt(*(double*)&sums[0]);
        return;
    }
    const bool records = has_record(step);
    const i64 slot = (i64)space.report[REPORT_RECORDS] % space.capacity;
    const bool takes_part = step == STEP_START ? space.starting[c] != 0 : status == STATUS_RUNNING;
    if (records) space.norms()[slot * space.columns + c] = takes_part ? sqrt(*(double*)&sums[0]) : not_a_number();
    if (step == STEP_BICGSTAB_STEP && status == STATUS_HALF) {
        status = STATUS_CONVERGED;
        space.iteration(c) += 1;
    }
    if (!takes_part) return;
    Scalar& rho = space.scalar(SCALAR_RHO, c);
    if (records) space.number(NUMBER_NORM2, c) = *(double*)&sums[0];
    const double norm2 = space.number(NUMBER_NORM2, c);
    switch (step) {
    case STEP_START:
        status = STATUS_RUNNING;
        space.number(NUMBER_FRESH, c) = 1;
        space.number(NUMBER_SHADOW2, c) = norm2;
        space.number(NUMBER_DIVERGENCE_NORM, c) =
            fmax(space.number(NUMBER_DIVERGENCE_NORM, c), space.largest_growth * sqrt(norm2));
        rho = sums[0];
        if (!stops_by_norm(space, c) && space.unpreconditioned) set_rho(space, c, rho, rho);
        break;
    case STEP_CG_RHO: set_rho(space, c, sums[0], sums[0]); break;
    case STEP_FCG_RHO: set_rho(space, c, sums[0], -(space.scalar(SCALAR_ALPHA, c) * sums[1])); break;
    case STEP_CG_CURVATURE:
        if (is_nonfinite(sums[0])) status = STATUS_NONFINITE;
        else if (!(*(double*)&sums[0] > 0)) status = STATUS_INDEFINITE;
        else set_coefficient(space, SCALAR_ALPHA, c, over(rho, sums[0]));
        break;
    case STEP_CG_STEP:
        space.iteration(c) += 1;
        if (stops_by_norm(space, c)) break;
        if (space.iteration(c) >= space.most_iterations) status = STATUS_LIMIT;
        else if (space.unpreconditioned) set_rho(space, c, sums[0], sums[0]);
        break;
    case STEP_BICGSTAB_ALPHA:
        if (is_nonfinite(sums[0])) status = STATUS_NONFINITE;
        else if (length(sums[0]) == 0) status = STATUS_OMEGA;
        else set_coefficient(space, SCALAR_ALPHA, c, over(rho, sums[0]));
        break;
    case STEP_BICGSTAB_HALF_STEP:
        if (!isfinite(norm2)) status = STATUS_NONFINITE;
        else if (sqrt(norm2) <= space.number(NUMBER_TARGET, c)) status = STATUS_HALF;
        break;
    case STEP_BICGSTAB_OMEGA: {
        const double square = *(double*)&sums[1];
        if (is_nonfinite(sums[0]) || !isfinite(square)) status = STATUS_NONFINITE;
        else if (square == 0 || length(sums[0]) <= space.epsilon * sqrt(square) * sqrt(norm2)) status = STATUS_OMEGA;
        else set_coefficient(space, SCALAR_OMEGA, c, over(sums[0], scalar_of(square)));
        if (status == STATUS_RUNNING && length(space.scalar(SCALAR_OMEGA, c)) == 0) status = STATUS_OMEGA;  // underflow
        break;
    }
    case STEP_BICGSTAB_STEP: {
        space.iteration(c) += 1;
        if (stops_by_norm(space, c)) break;
        const double least = space.epsilon * space.epsilon * sqrt(space.number(NUMBER_SHADOW2, c)) * sqrt(norm2);
        if (is_nonfinite(sums[1])) status = STATUS_NONFINITE;
        else if (length(sums[1]) <= least) status = STATUS_RHO;
        else {
            set_coefficient(space, SCALAR_BETA, c,
                            over(sums[1], rho) * over(space.scalar(SCALAR_ALPHA, c), space.scalar(SCALAR_OMEGA, c)));
            rho = sums[1];
            space.number(NUMBER_FRESH, c) = 0;
            if (status == STATUS_RUNNING && space.iteration(c) >= space.most_iterations) status = STATUS_LIMIT;
        }
        break;
    }
    case STEP_MINRES_BEGIN:
    case STEP_MINRES_ALPHA:
    case STEP_MINRES_BETA:
        minres_scalar_step({&space.minres(0, c), space.columns}, &status, space.epsilon, step, *(double*)&sums[0]);
        break;
    case STEP_MINRES_STEP:
        space.iteration(c) += 1;
        if (!stops_by_norm(space, c) && space.iteration(c) >= space.most_iterations) status = STATUS_LIMIT;
        break;
    case STEP_ERROR: break;
    }
}

DEVICE void count_active(const KrylovSpace& space) {
    double active = 0;
    for (int i = 0; i < space.columns; ++i)
        active += space.status(i) == STATUS_RUNNING || space.status(i) == STATUS_HALF;
    space.report[REPORT_ACTIVE] = active;
}

// Appends the record whose norms have been written.
DEVICE void append_record(const KrylovSpace& space, double half) {
    const i64 slot = (i64)space.report[REPORT_RECORDS] % space.capacity;
    const double now = (double)nanoseconds();
    if (space.report[REPORT_RECORDS] == 0) space.report[REPORT_START_TIME] = now;
    space.steps()[slot] = space.report[REPORT_STEPS] + half;
    space.times()[slot] = (now - space.report[REPORT_START_TIME]) * 1e-9;
    space.report[REPORT_RECORDS] += 1;
    space.report[REPORT_UNMEASURED] = 1;
}

// The scalar step of all columns, by one block, and the head of the report; `sums` lie in shared memory, COUNT for each
// column.
template <int COUNT>
DEVICE void scalar_steps(const KrylovSpace& space, ScalarStep step, const Scalar* sums) {
    const int c = threadIdx.x;
    if (c < space.columns) scalar_step(space, step, c, sums + c * COUNT);
    __syncthreads();
    if (threadIdx.x) return;
    count_active(space);
    if (step == STEP_ERROR) space.report[REPORT_UNMEASURED] = 0;
    if (!has_record(step)) return;
    const i64 slot = (i64)space.report[REPORT_RECORDS] % space.capacity;
    bool any = step != STEP_BICGSTAB_STEP;  // a column that only adds its half step was recorded there
    for (int i = 0; i < space.columns; ++i) any |= !isnan(space.norms()[slot * space.columns + i]);
    if (step == STEP_CG_STEP || step == STEP_BICGSTAB_STEP || step == STEP_MINRES_STEP) space.report[REPORT_STEPS] += 1;
    if (any) append_record(space, step == STEP_BICGSTAB_HALF_STEP ? 0.5 : 0);
}

// Grid-wide reduction of the threads' partial sums, then the scalar step in the block that finishes last. Threads beyond
// the last whole multiple of the columns hold nothing.
template <int COUNT>
DEVICE void finish(const KrylovSpace& space, ScalarStep step, const Scalar (&own)[COUNT]) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    const Sums sums = {space.partials, space.arrivals, space.columns};
    if (add_up<COUNT>(sums, own, totals)) scalar_steps<COUNT>(space, step, totals);
}

// The entries of a vector that a thread visits.
struct Walk : ColumnWalk {
    DEVICE Walk(const KrylovSpace& space) : ColumnWalk(space.rows, (int)space.columns) {}
};
