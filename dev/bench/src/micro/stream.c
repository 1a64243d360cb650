/* Copy, scale, add and triad over three arrays, counted by the published rules of STREAM.
 * Arguments: numbers of an array, seconds, `cached` or `streaming`. Prints one JSON object: mean MB/s of each pass
 * after the first cycle. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

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

static double *restrict a, *restrict b, *restrict c;
static size_t n;
static double s;

static void cached(int pass) {
    switch (pass) {
    case 0:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++) c[i] = a[i];
        break;
    case 1:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++) b[i] = s * c[i];
        break;
    case 2:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
        break;
    default:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
    }
}

#ifdef __AVX__
/* `n` is a multiple of four. */
static void streaming(int pass) {
    __m256d factor = _mm256_set1_pd(s);
    switch (pass) {
    case 0:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i += 4) _mm256_stream_pd(c + i, _mm256_load_pd(a + i));
        break;
    case 1:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i += 4)
            _mm256_stream_pd(b + i, _mm256_mul_pd(factor, _mm256_load_pd(c + i)));
        break;
    case 2:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i += 4)
            _mm256_stream_pd(c + i, _mm256_add_pd(_mm256_load_pd(a + i), _mm256_load_pd(b + i)));
        break;
    default:
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i += 4)
            _mm256_stream_pd(
                a + i, _mm256_add_pd(_mm256_load_pd(b + i), _mm256_mul_pd(factor, _mm256_load_pd(c + i))));
    }
#pragma omp parallel
    _mm_sfence();
}
#else
static void streaming(int pass) {
    (void)pass;
    fprintf(stderr, "there are no streaming stores without AVX\n");
    exit(1);
}
#endif

/* The largest relative difference of an array from the number that all of its places must have. */
static double difference(const double *array, double expected) {
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(array[i] / expected - 1));
    return worst;
}

int main(int count, char **words) {
    n = count > 1 ? strtoull(words[1], NULL, 10) / 4 * 4 : 0;
    double length = count > 2 ? atof(words[2]) : 0;
    if (n < 4 || length <= 0 || count < 4) {
        fprintf(stderr, "usage: stream NUMBERS SECONDS cached|streaming\n");
        return 2;
    }
    void (*pass)(int) = strcmp(words[3], "streaming") == 0 ? streaming : cached;
    /* A cycle leaves the first array as it was: s (1 + (1 + s)) = 1. */
    s = sqrt(2) - 1;
    a = numbers(n), b = numbers(n), c = numbers(n);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] = 1, b[i] = 2, c[i] = 0;
    double took[4] = {0}, expected[3] = {1, 2, 0}, end = seconds() + length;
    long cycles = -1;
    do {
        for (int at = 0; at < 4; at++) {
            double begin = seconds();
            pass(at);
            /* The first cycle is not counted. */
            if (cycles >= 0) took[at] += seconds() - begin;
        }
        expected[2] = expected[0];
        expected[1] = s * expected[2];
        expected[2] = expected[0] + expected[1];
        expected[0] = expected[1] + s * expected[2];
        cycles++;
    } while (seconds() < end || cycles < 1);
    if (difference(a, expected[0]) > 1e-13 || difference(b, expected[1]) > 1e-13 ||
        difference(c, expected[2]) > 1e-13) {
        fprintf(stderr, "the arrays are wrong\n");
        return 1;
    }
    const char *names[4] = {"copy", "scale", "add", "triad"};
    const int bytes[4] = {16, 16, 24, 24};
    for (int at = 0; at < 4; at++)
        printf("%s\"%s\": %.3f", at ? ", " : "{", names[at], 1e-6 * bytes[at] * (double)n * cycles / took[at]);
    printf("}\n");
    return 0;
}
