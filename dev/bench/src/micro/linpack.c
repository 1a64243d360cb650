/* Solves systems of linear equations by dgesv of a BLAS library and counts as the LINPACK benchmark does.
 * Arguments: order, solutions. Prints one JSON object. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b, const int *ldb,
            int *info);

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Memory in pages of 2 MiB, as far as the system has them. */
static double *numbers(size_t count) {
    size_t page = (size_t)2 << 20, bytes = (count * sizeof(double) + page - 1) / page * page;
    double *memory = aligned_alloc(page, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static uint64_t state;

/* Uniform from -0.5 to 0.5. */
static double uniform(void) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53 - 0.5;
}

static void generate(uint64_t seed, int n, int lda, double *a, double *b) {
    state = seed;
    for (int column = 0; column < n; column++)
        for (int row = 0; row < n; row++) a[(size_t)column * lda + row] = uniform();
    for (int row = 0; row < n; row++) b[row] = uniform();
}

/* The residual by the formula of HPL; `a` and `b` are generated again, and `b` is overwritten. */
static double residual(uint64_t seed, int n, int lda, double *a, double *b, const double *x) {
    double norm_a = 0, norm_b = 0, norm_x = 0, worst = 0;
    double *sums = calloc((size_t)n, sizeof(double));
    if (!sums) exit(1);
    generate(seed, n, lda, a, b);
    for (int row = 0; row < n; row++) norm_b = fmax(norm_b, fabs(b[row]));
    for (int column = 0; column < n; column++) {
        norm_x = fmax(norm_x, fabs(x[column]));
        for (int row = 0; row < n; row++) {
            double value = a[(size_t)column * lda + row];
            sums[row] += fabs(value);
            b[row] -= value * x[column];
        }
    }
    for (int row = 0; row < n; row++) {
        norm_a = fmax(norm_a, sums[row]);
        worst = fmax(worst, fabs(b[row]));
    }
    free(sums);
    return worst / (DBL_EPSILON / 2 * (norm_x * norm_a + norm_b) * n);
}

int main(int count, char **words) {
    int n = count > 1 ? atoi(words[1]) : 0, solutions = count > 2 ? atoi(words[2]) : 0;
    if (n < 1 || solutions < 1) {
        fprintf(stderr, "usage: linpack ORDER SOLUTIONS\n");
        return 2;
    }
    /* Columns begin at lines of the cache, and their distance is no power of two. */
    int lda = (n + 7) / 8 * 8, one = 1, info = 0;
    if ((lda & (lda - 1)) == 0) lda += 8;
    double *a = numbers((size_t)lda * n), *b = numbers((size_t)n), *x = numbers((size_t)n);
    int *pivots = calloc((size_t)n, sizeof(int));
    if (!pivots) return 1;
    double solving = 0, worst = 0;
    for (int solution = 0; solution < solutions; solution++) {
        uint64_t seed = (uint64_t)solution + 1;
        generate(seed, n, lda, a, x);
        double begin = seconds();
        dgesv_(&n, &one, a, &lda, pivots, x, &n, &info);
        solving += seconds() - begin;
        if (info != 0) {
            fprintf(stderr, "dgesv says %d\n", info);
            return 1;
        }
        worst = fmax(worst, residual(seed, n, lda, a, b, x));
    }
    double size = n, operations = 2.0 / 3.0 * size * size * size + 1.5 * size * size;
    printf("{\"gflops\": %.6f, \"residual\": %.6f}\n", operations * solutions / solving * 1e-9, worst);
    return 0;
}
