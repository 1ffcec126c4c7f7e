// The vectors of Krylov solvers: k columns side by side, row by row, and for each column a few scalars in double
// precision that never leave the device. The block that completes a sum over vectors does what follows from it
// (`advance`).
#define LARGEST_SUMS 2
#include "runtime/column_sums.cuh"

// As `Running` in records.py and `Status` in solvers/status.py.
#define RUNNING 1.0
#define HALF 2.0
#define LIMIT 3.0
#define CONVERGED 0.0
#define RHO_VANISHED -10.0
#define OMEGA_VANISHED -11.0
#define INDEFINITE -12.0
#define DIVERGED -14.0
#define NONFINITE -15.0

// What follows from sums; the order of LOGIC in krylov.py.
enum Logic { START, CG_RHO, FCG_RHO, CG_CURVATURE, CG_STEP, BI_ALPHA, BI_HALF, BI_OMEGA, BI_STEP, ERROR };

// The scalars of a column, and its numbers: `columns` of each.
enum { RHO, ALPHA, BETA, OMEGA };
enum { NORM2, SHADOW2, FRESH, TARGET, LARGEST };
// The head of the report; then follow the columns' statuses and iterations, the records' steps and times, and their
// norms and errors in all columns.
enum { ACTIVE, RECORDS, STEPS, UNMEASURED, START_TIME, HEAD };

struct Space {
    Scalar* scalars;
    double* numbers;
    double* report;
    Scalar* partials;
    u32* arrivals;
    const double* fresh;  // columns that start
    i64 rows;
    i64 columns;
    i64 capacity;  // of records, in turns
    i64 most_iterations;
    double epsilon;
    double largest_growth;
    i64 plain;  // whether nothing preconditions: z is r

    __device__ __forceinline__ Scalar& scalar(int which, int c) const { return scalars[which * columns + c]; }
    __device__ __forceinline__ double& number(int which, int c) const { return numbers[which * columns + c]; }
    __device__ __forceinline__ double& status(int c) const { return report[HEAD + c]; }
    __device__ __forceinline__ double& iteration(int c) const { return report[HEAD + columns + c]; }
    __device__ __forceinline__ double* steps() const { return report + HEAD + 2 * columns; }
    __device__ __forceinline__ double* times() const { return steps() + capacity; }
    __device__ __forceinline__ double* norms() const { return times() + capacity; }
    __device__ __forceinline__ double* errors() const { return norms() + capacity * columns; }
    __device__ __forceinline__ bool is_active() const { return *(volatile double*)(report + ACTIVE) != 0; }
};

__device__ __forceinline__ double not_a_number() { return __longlong_as_double(0x7ff8000000000000ll); }
__device__ __forceinline__ bool is_nonfinite(Scalar a) { return !is_finite(a); }

// The direction's factor from <r, z>.
__device__ __forceinline__ void take_rho(const Space& space, int c, Scalar rho, Scalar numerator) {
    double& status = space.status(c);
    if (is_nonfinite(rho)) status = NONFINITE;
    else if (!(*(double*)&rho > 0)) status = INDEFINITE;
    else {
        space.scalar(BETA, c) = space.number(FRESH, c) ? Scalar{} : over(numerator, space.scalar(RHO, c));
        space.scalar(RHO, c) = rho;
        space.number(FRESH, c) = 0;
    }
}

// Whether the residual decides: it is no number, small enough, or far too large.
__device__ __forceinline__ bool is_decided(const Space& space, int c, double small_enough) {
    const double norm2 = space.number(NORM2, c), norm = sqrt(norm2);
    double& status = space.status(c);
    if (!isfinite(norm2)) status = NONFINITE;
    else if (norm <= space.number(TARGET, c)) status = small_enough;
    else if (norm > space.number(LARGEST, c)) status = DIVERGED;
    else return false;
    return true;
}

__device__ void advance(const Space& space, Logic logic, int c, const Scalar* sums) {
    double& status = space.status(c);
    if (logic == ERROR) {
        const i64 slot = ((i64)space.report[RECORDS] - 1) % space.capacity;
        const double norm = space.norms()[slot * space.columns + c];
        space.errors()[slot * space.columns + c] = isnan(norm) ? norm : sqrt(*(double*)&sums[0]);
        return;
    }
    const bool records = logic == CG_STEP || logic == BI_HALF || logic == BI_STEP || logic == START;
    const i64 slot = (i64)space.report[RECORDS] % space.capacity;
    const bool takes_part = logic == START ? space.fresh[c] != 0 : status == RUNNING;
    if (records) space.norms()[slot * space.columns + c] = takes_part ? sqrt(*(double*)&sums[0]) : not_a_number();
    if (logic == BI_STEP && status == HALF) {
        status = CONVERGED;
        space.iteration(c) += 1;
    }
    if (!takes_part) return;
    Scalar& rho = space.scalar(RHO, c);
    if (records) space.number(NORM2, c) = *(double*)&sums[0];
    const double norm2 = space.number(NORM2, c);
    switch (logic) {
    case START:
        status = RUNNING;
        space.number(FRESH, c) = 1;
        space.number(SHADOW2, c) = norm2;
        space.number(LARGEST, c) = fmax(space.number(LARGEST, c), space.largest_growth * sqrt(norm2));
        rho = sums[0];
        if (!is_decided(space, c, CONVERGED) && space.plain) take_rho(space, c, rho, rho);
        break;
    case CG_RHO: take_rho(space, c, sums[0], sums[0]); break;
    case FCG_RHO: take_rho(space, c, sums[0], -(space.scalar(ALPHA, c) * sums[1])); break;
    case CG_CURVATURE:
        if (is_nonfinite(sums[0])) status = NONFINITE;
        else if (!(*(double*)&sums[0] > 0)) status = INDEFINITE;
        else space.scalar(ALPHA, c) = over(rho, sums[0]);
        break;
    case CG_STEP:
        space.iteration(c) += 1;
        if (is_decided(space, c, CONVERGED)) break;
        if (space.iteration(c) >= space.most_iterations) status = LIMIT;
        else if (space.plain) take_rho(space, c, sums[0], sums[0]);
        break;
    case BI_ALPHA:
        if (is_nonfinite(sums[0])) status = NONFINITE;
        else if (length(sums[0]) == 0) status = OMEGA_VANISHED;
        else space.scalar(ALPHA, c) = over(rho, sums[0]);
        break;
    case BI_HALF:
        if (!isfinite(norm2)) status = NONFINITE;
        else if (sqrt(norm2) <= space.number(TARGET, c)) status = HALF;
        break;
    case BI_OMEGA: {
        const double square = *(double*)&sums[1];
        if (is_nonfinite(sums[0]) || !isfinite(square)) status = NONFINITE;
        else if (square == 0 || length(sums[0]) <= space.epsilon * sqrt(square) * sqrt(norm2)) status = OMEGA_VANISHED;
        else space.scalar(OMEGA, c) = over(sums[0], scalar_of(square));
        break;
    }
    case BI_STEP: {
        space.iteration(c) += 1;
        if (is_decided(space, c, CONVERGED)) break;
        const double least = space.epsilon * space.epsilon * sqrt(space.number(SHADOW2, c)) * sqrt(norm2);
        if (is_nonfinite(sums[1])) status = NONFINITE;
        else if (length(sums[1]) <= least) status = RHO_VANISHED;
        else {
            space.scalar(BETA, c) = over(sums[1], rho) * over(space.scalar(ALPHA, c), space.scalar(OMEGA, c));
            rho = sums[1];
            space.number(FRESH, c) = 0;
            if (space.iteration(c) >= space.most_iterations) status = LIMIT;
        }
        break;
    }
    case ERROR: break;
    }
}

// What follows for all columns, by all threads of one block; `sums` lie in shared memory, COUNT for each column.
template <int COUNT>
__device__ __forceinline__ void advance_all(const Space& space, Logic logic, const Scalar* sums) {
    const int c = threadIdx.x;
    if (c < space.columns) advance(space, logic, c, sums + c * COUNT);
    __syncthreads();
    if (threadIdx.x) return;
    double active = 0;
    for (int i = 0; i < space.columns; ++i) active += space.status(i) == RUNNING || space.status(i) == HALF;
    space.report[ACTIVE] = active;
    if (logic == ERROR) space.report[UNMEASURED] = 0;
    if (logic != CG_STEP && logic != BI_HALF && logic != BI_STEP && logic != START) return;
    const i64 slot = (i64)space.report[RECORDS] % space.capacity;
    bool any = logic != BI_STEP;  // a column that only takes its half step has its record
    for (int i = 0; i < space.columns; ++i) any |= !isnan(space.norms()[slot * space.columns + i]);
    if (logic == CG_STEP || logic == BI_STEP) space.report[STEPS] += 1;
    if (!any) return;
    const double now = (double)nanoseconds();
    if (space.report[RECORDS] == 0) space.report[START_TIME] = now;
    space.steps()[slot] = space.report[STEPS] + (logic == BI_HALF ? 0.5 : 0);
    space.times()[slot] = (now - space.report[START_TIME]) * 1e-9;
    space.report[RECORDS] += 1;
    space.report[UNMEASURED] = 1;
}

// Adds up what all threads of the grid hold and does what follows, in the block that comes last. Threads beyond the
// last whole multiple of the columns hold nothing.
template <int COUNT>
__device__ __forceinline__ void finish(const Space& space, Logic logic, const Scalar (&own)[COUNT]) {
    __shared__ Scalar totals[LARGEST_SUMS * THREADS];
    const Sums sums = {space.partials, space.arrivals, space.columns};
    if (add_up<COUNT>(sums, own, totals)) advance_all<COUNT>(space, logic, totals);
}

// How a kernel walks over the entries of a vector.
struct Walk : ColumnWalk {
    __device__ __forceinline__ Walk(const Space& space) : ColumnWalk(space.rows, (int)space.columns) {}
};
