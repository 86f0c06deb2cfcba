/*
 * Goes down the gradient of a program:    learns PROGRAM SAMPLES STEPS RATE [TEST PERCENT]
 * @step takes weights, a list of integers, its label and a rate; it gives the loss and the next
 * weights. Weights start at random. A line of SAMPLES: label, how many integers, integers.
 * Ends well where the last losses are at most two thirds of the first. With TEST, samples that are
 * not learned from, the rate goes down to 0, and at least PERCENT of them are to be right by @scores,
 * which takes weights and a list and gives a number for each label.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/baton.h>

enum { MOST = 512, NSAMPLE = 1 << 15 };

struct sample {
    bt_tensor *at, *label;
};

struct samples {
    struct sample at[NSAMPLE];
    int n;
};

struct learner {
    bt_ctx *ctx;
    bt_program *program, *scores;
    uint32_t nweight;
    struct samples samples, test;
    uint64_t random;
    bt_tensor *rate;
};

static bt_status read_samples(struct learner *l, const char *path, struct samples *out)
{
    FILE *in = fopen(path, "r");
    int64_t label, n;
    if (!in)
        return bt_fail(l->ctx, BT_ERR_IO, "%s: cannot be read", path);
    bt_status status = NULL;
    while (!status && out->n < NSAMPLE &&
           fscanf(in, "%" SCNd64 " %" SCNd64, &label, &n) == 2) {
        struct sample *s = &out->at[out->n];
        status = n > 0 && n <= MOST
                     ? bt_tensor_create(l->ctx, BT_INT32, 1, &n, &s->at)
                     : bt_fail(l->ctx, BT_ERR_FORMAT, "%s: a sample of %d", path, (int)n);
        for (int64_t i = 0; !status && i < n; i++) {
            int64_t value;
            if (fscanf(in, "%" SCNd64, &value) != 1)
                status = bt_fail(l->ctx, BT_ERR_FORMAT, "%s: a sample ends", path);
            else
                bt_tensor_set_int(s->at, i, value);
        }
        if (!status)
            status = bt_tensor_scalar_int(l->ctx, BT_INT32, label, &s->label);
        out->n += !status;
    }
    fclose(in);
    return status;
}

/* Between -1/2 and 1/2, the same on each run. */
static double next_random(struct learner *l)
{
    l->random = l->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(l->random >> 40) / (1 << 24) - 0.5;
}

static bt_status set_weights(struct learner *l, double rate)
{
    bt_tensor *tensor;
    l->nweight = bt_program_ninput(l->program) - 3;
    for (uint32_t i = 0; i < l->nweight; i++) {
        const bt_port *port = bt_program_input(l->program, i);
        BT_TRY(bt_tensor_create(l->ctx, port->dtype, (uint32_t)port->rank, port->dims,
                                &tensor));
        for (int64_t k = 0; k < tensor->nelem; k++)
            bt_tensor_set(tensor, k, 0.5 * next_random(l));
        bt_status status = bt_program_set_at(l->program, i, &tensor->base);
        bt_tensor_unref(tensor);
        BT_TRY(status);
    }
    BT_TRY(bt_tensor_create(l->ctx, BT_FLOAT32, 0, NULL, &l->rate));
    bt_tensor_set(l->rate, 0, rate);
    return bt_program_set_at(l->program, l->nweight + 2, &l->rate->base);
}

static bt_status step(struct learner *l, const struct sample *s, double *loss)
{
    BT_TRY(bt_program_set_at(l->program, l->nweight, &s->at->base));
    BT_TRY(bt_program_set_at(l->program, l->nweight + 1, &s->label->base));
    BT_TRY(bt_program_run(l->program));
    *loss =
        bt_tensor_get((const bt_tensor *)(const void *)bt_program_get(l->program, 0), 0);
    for (uint32_t i = 0; i < l->nweight; i++)
        BT_TRY(bt_program_set_at(l->program, i, bt_program_get(l->program, i + 1)));
    return NULL;
}

/* *first, *last: means over the first and the last pass of all samples. */
static bt_status learn(struct learner *l, int nstep, double rate, int decays,
                       double *first, double *last)
{
    const int n = l->samples.n;
    *first = *last = 0;
    for (int i = 0; i < nstep; i++) {
        double loss;
        if (decays)
            bt_tensor_set(l->rate, 0, rate * (1 - (double)i / nstep));
        BT_TRY(step(l, &l->samples.at[i % n], &loss));
        *first += i < n ? loss / n : 0;
        *last += i >= nstep - n ? loss / n : 0;
    }
    return NULL;
}

/* Whether the greatest number is that of the label. */
static int is_right(const bt_object *scores, const bt_tensor *label)
{
    const bt_tensor *t = bt_object_as_tensor(scores);
    int64_t best = 0;
    for (int64_t i = 1; i < t->nelem; i++)
        best = bt_tensor_get(t, i) > bt_tensor_get(t, best) ? i : best;
    return best == bt_tensor_get_int(label, 0);
}

/* The share of the test's samples that is right, in percent. */
static bt_status try_test(struct learner *l, double *out)
{
    int nright = 0;
    for (uint32_t i = 0; i < l->nweight; i++)
        BT_TRY(bt_program_set_at(l->scores, i, bt_program_get(l->program, i + 1)));
    for (int i = 0; i < l->test.n; i++) {
        BT_TRY(bt_program_set_at(l->scores, l->nweight, &l->test.at[i].at->base));
        BT_TRY(bt_program_run(l->scores));
        nright += is_right(bt_program_get(l->scores, 0), l->test.at[i].label);
    }
    *out = 100.0 * nright / (l->test.n ? l->test.n : 1);
    return NULL;
}

static int fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    fprintf(stderr, "%s", bt_text_get(&text) ? bt_text_get(&text) : "no memory\n");
    return 1;
}

static void forget(struct samples *s)
{
    for (int i = 0; i < s->n; i++) {
        bt_tensor_unref(s->at[i].at);
        bt_tensor_unref(s->at[i].label);
    }
}

static bt_status open_entry(struct learner *l, const char *path, const char *entry,
                            bt_program **out)
{
    const bt_program_options options = { .executor = "vm",
                                         .target = "cpu{threads=1}",
                                         .entry = entry };
    return bt_program_open(l->ctx, path, &options, out);
}

int main(int argc, char **argv)
{
    static struct learner l;
    double first = 0, last = 0, right = 0, least = argc == 7 ? atof(argv[6]) : 0;
    if ((argc != 5 && argc != 7) || !(l.ctx = bt_open()))
        return fprintf(stderr,
                       "usage: learns PROGRAM SAMPLES STEPS RATE [TEST PERCENT]\n"),
               2;
    bt_status status = read_samples(&l, argv[2], &l.samples);
    if (!status && argc == 7)
        status = read_samples(&l, argv[5], &l.test);
    if (!status)
        status = open_entry(&l, argv[1], "step", &l.program);
    if (!status && argc == 7)
        status = open_entry(&l, argv[1], "scores", &l.scores);
    if (!status)
        status = set_weights(&l, atof(argv[4]));
    if (!status)
        status = learn(&l, atoi(argv[3]), atof(argv[4]), argc == 7, &first, &last);
    if (!status && argc == 7)
        status = try_test(&l, &right);
    if (!status)
        printf("%s: %d samples, %s steps, loss from %.4f to %.4f", argv[1], l.samples.n,
               argv[3], first, last);
    if (!status && argc == 7)
        printf("; of %d others %.2f %% are right, at least %g", l.test.n, right, least);
    printf("\n");
    // of many samples the first pass has learned already
    const int is_good = argc == 7 ? last < first && right >= least : last < first * 2 / 3;
    const int code = status ? fail(l.ctx, status) : !is_good;
    forget(&l.samples);
    forget(&l.test);
    bt_tensor_unref(l.rate);
    bt_program_close(l.program);
    bt_program_close(l.scores);
    bt_ctx_destroy(l.ctx);
    return code;
}
