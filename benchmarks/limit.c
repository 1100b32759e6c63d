/* What the machine allows: the loops of EFF-RAW-UCB and of brute-force RAW-UCB in plain C.

   Every game draws its rewards on the fly by the recipe of rotting/rng.py (Philox4x32-10 at counter (clock / 2, arm, run, 0),
   then AS 241), looks up its means, and sums the means collected, as the games of the library do. Sums are plain doubles. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;

static const double CENTRE[8] = {
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3};
static const double CENTRE_BELOW[8] = {
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3};
static const double TAIL[8] = {
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
static const double TAIL_BELOW[8] = {
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9};
static const double FAR[8] = {
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
static const double FAR_BELOW[8] = {
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15};

static inline double horner(const double *c, double x) {
    return ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0];
}

static inline double normal_quantile(double u) {
    double q = u - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * horner(CENTRE, r) / horner(CENTRE_BELOW, r);
    }
    double r = sqrt(-log(q < 0.0 ? u : 1.0 - u));
    double x = r <= 5.0 ? horner(TAIL, r - 1.6) / horner(TAIL_BELOW, r - 1.6)
                        : horner(FAR, r - 5.0) / horner(FAR_BELOW, r - 5.0);
    return q < 0.0 ? -x : x;
}

static inline double reward_uniform(uint64_t key, uint32_t run, uint32_t arm, uint64_t clock) {
    uint32_t c0 = (uint32_t)(clock >> 1), c1 = arm, c2 = run, c3 = 0, k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    uint64_t high = clock & 1 ? c2 : c0, low = clock & 1 ? c3 : c1;
    return ((double)(i64)(high << 20 | low >> 12) + 0.5) * 0x1p-52;
}

/* A rested problem: arm i pays before[i] for its first at[i] pulls, after[i] from then on, with Gaussian noise. */
typedef struct {
    i64 n_arms, horizon;
    const double *before, *after;
    const i64 *at;
    double scale;
    uint64_t key;
} Problem;

static inline double pay(const Problem *g, i64 run, i64 i, i64 n, double *collected) {
    double mean = n < g->at[i] ? g->before[i] : g->after[i];
    *collected += mean;
    return mean + g->scale * normal_quantile(reward_uniform(g->key, (uint32_t)run, (uint32_t)i, (uint64_t)n));
}

/* The grid h_0 = 1, h_{j+1} = ceil(m h_j) up to the horizon, with 1 / sqrt(h_j). */
enum { MOST = 64 };

static int grid(double m, i64 horizon, i64 *h, double *root) {
    int size = 0;
    for (i64 w = 1; w <= horizon && size < MOST; size++) {
        h[size] = w;
        root[size] = 1.0 / sqrt((double)w);
        i64 next = (i64)ceil(m * (double)w);
        w = next > w ? next : w + 1;
    }
    return size;
}

/* EFF-RAW-UCB as printed: a round evaluates every window of every arm, a pull adds to every pending sum of its arm. */
typedef struct {
    double mean[MOST], pending[MOST], total;
    i64 count[MOST], pulls;
    int known;
} Plain;

void eff_raw_ucb_plain(const Problem *g, double alpha, double sigma, double m, i64 first_run, i64 runs, i64 *pulls,
                       double *collected) {
    i64 K = g->n_arms, h[MOST];
    double root[MOST];
    int size = grid(m, g->horizon, h, root);
    Plain *arms = malloc((size_t)K * sizeof *arms);
    for (i64 r = 0; r < runs; r++) {
        memset(arms, 0, (size_t)K * sizeof *arms);
        double sum = 0.0;
        for (i64 t = 1; t <= g->horizon; t++) {
            i64 best = t - 1;
            if (t > K) {
                double w = sigma * sqrt(2.0 * alpha * log((double)t)), top = -INFINITY;
                for (i64 i = 0; i < K; i++) {
                    const Plain *a = &arms[i];
                    double index = INFINITY;
                    for (int j = 0; j < a->known; j++) {
                        double value = a->mean[j] + w * root[j];
                        index = value < index ? value : index;
                    }
                    if (index > top) top = index, best = i;
                }
            }
            Plain *a = &arms[best];
            double reward = pay(g, first_run + r, best, a->pulls, &sum);
            a->pulls++;
            a->total += reward;
            for (int j = 1; j < a->known; j++) a->pending[j] += reward, a->count[j]++;
            if (a->known < size && h[a->known] == a->pulls) {
                a->pending[a->known] = a->total;
                a->count[a->known++] = a->pulls;
            }
            a->pending[0] = a->mean[0] = reward;
            a->count[0] = 1;
            for (int j = a->known - 1; j > 0; j--)
                if (a->count[j] == h[j]) {
                    a->mean[j] = a->pending[j] / (double)h[j];
                    a->pending[j] = a->pending[j - 1];
                    a->count[j] = a->count[j - 1];
                }
        }
        for (i64 i = 0; i < K; i++) pulls[r * K + i] = arms[i].pulls;
        collected[r] = sum;
    }
    free(arms);
}

/* The same choices with the library's own ideas: one window an arm bounds its index, so that about one arm a round is searched;
   a pending sum is a difference of totals, so that a pull writes only the windows it refreshes. */
typedef struct {
    double mean[MOST], start_total[MOST], total;
    i64 start[MOST], pulls;
    int known, line;
} Lazy;

void eff_raw_ucb_lazy(const Problem *g, double alpha, double sigma, double m, i64 first_run, i64 runs, i64 *pulls,
                      double *collected) {
    i64 K = g->n_arms, h[MOST];
    double root[MOST];
    int size = grid(m, g->horizon, h, root);
    Lazy *arms = malloc((size_t)K * sizeof *arms);
    for (i64 r = 0; r < runs; r++) {
        memset(arms, 0, (size_t)K * sizeof *arms);
        double sum = 0.0;
        for (i64 t = 1; t <= g->horizon; t++) {
            i64 best = t - 1;
            if (t > K) {
                double w = sigma * sqrt(2.0 * alpha * log((double)t));
                for (;;) {
                    double top = -INFINITY, before = -INFINITY, after = -INFINITY;
                    for (i64 i = 0; i < K; i++) {
                        double value = arms[i].mean[arms[i].line] + w * root[arms[i].line];
                        if (value > top) before = top, top = value, best = i, after = -INFINITY;
                        else after = value > after ? value : after;
                    }
                    Lazy *a = &arms[best];
                    double index = INFINITY;
                    for (int j = 0; j < a->known; j++) {
                        double value = a->mean[j] + w * root[j];
                        if (value < index) index = value, a->line = j;
                    }
                    if (index > before && index >= after) break;
                }
            }
            Lazy *a = &arms[best];
            double reward = pay(g, first_run + r, best, a->pulls, &sum);
            a->start[0] = a->pulls++;
            a->start_total[0] = a->total;
            a->total += reward;
            a->mean[0] = reward;
            if (a->known < size && h[a->known] == a->pulls) a->known++;
            for (int j = a->known - 1; j > 0; j--)
                if (a->pulls - a->start[j] == h[j]) {
                    a->mean[j] = (a->total - a->start_total[j]) / (double)h[j];
                    a->start[j] = a->start[j - 1];
                    a->start_total[j] = a->start_total[j - 1];
                }
        }
        for (i64 i = 0; i < K; i++) pulls[r * K + i] = arms[i].pulls;
        collected[r] = sum;
    }
    free(arms);
}

/* RAW-UCB by brute force: every window of every arm, every round. */
void raw_ucb_scan(const Problem *g, double alpha, double sigma, double m, i64 first_run, i64 runs, i64 *pulls,
                  double *collected) {
    (void)m;
    i64 K = g->n_arms, T = g->horizon;
    double *prefix = malloc((size_t)(K * (T + 1)) * sizeof *prefix);
    double *inverse = malloc((size_t)(T + 1) * sizeof *inverse), *root = malloc((size_t)(T + 1) * sizeof *root);
    for (i64 h = 1; h <= T; h++) inverse[h] = 1.0 / (double)h, root[h] = 1.0 / sqrt((double)h);
    for (i64 r = 0; r < runs; r++) {
        i64 *n = pulls + r * K;
        for (i64 i = 0; i < K; i++) n[i] = 0, prefix[i * (T + 1)] = 0.0;
        double sum = 0.0;
        for (i64 t = 1; t <= T; t++) {
            i64 best = t - 1;
            if (t > K) {
                double w = sigma * sqrt(2.0 * alpha * log((double)t)), top = -INFINITY;
                for (i64 i = 0; i < K; i++) {
                    const double *end = prefix + i * (T + 1) + n[i];
                    double total = *end, index = INFINITY;
                    for (i64 h = 1; h <= n[i]; h++) {
                        double value = (total - end[-h]) * inverse[h] + w * root[h];
                        index = value < index ? value : index;
                    }
                    if (index > top) top = index, best = i;
                }
            }
            double *end = prefix + best * (T + 1) + n[best];
            end[1] = end[0] + pay(g, first_run + r, best, n[best], &sum);
            n[best]++;
        }
        collected[r] = sum;
    }
    free(prefix);
    free(inverse);
    free(root);
}
