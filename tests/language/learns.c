/*
 * Goes down the gradient of a program:    learns PROGRAM SAMPLES STEPS RATE
 * @step takes weights, a list of integers, its label and a rate; it gives the loss and the next
 * weights. Weights start at random. A line of SAMPLES: label, how many integers, integers.
 * Ends well where the last losses are at most two thirds of the first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/baton.h>

enum { MOST = 512, NSAMPLE = 1024 };

struct sample {
    bt_tensor *at, *label;
};

struct learner {
    bt_ctx *ctx;
    bt_program *program;
    uint32_t nweight;
    struct sample samples[NSAMPLE];
    int nsample;
    uint64_t random;
};

static bt_status read_samples(struct learner *l, const char *path)
{
    FILE *in = fopen(path, "r");
    int64_t label, n;
    if (!in)
        return bt_fail(l->ctx, BT_ERR_IO, "%s: cannot be read", path);
    bt_status status = NULL;
    while (!status && l->nsample < NSAMPLE && fscanf(in, "%" SCNd64 " %" SCNd64, &label, &n) == 2) {
        struct sample *s = &l->samples[l->nsample];
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
        l->nsample += !status;
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
    BT_TRY(bt_tensor_create(l->ctx, BT_FLOAT32, 0, NULL, &tensor));
    bt_tensor_set(tensor, 0, rate);
    bt_status status = bt_program_set_at(l->program, l->nweight + 2, &tensor->base);
    bt_tensor_unref(tensor);
    return status;
}

static bt_status step(struct learner *l, const struct sample *s, double *loss)
{
    BT_TRY(bt_program_set_at(l->program, l->nweight, &s->at->base));
    BT_TRY(bt_program_set_at(l->program, l->nweight + 1, &s->label->base));
    BT_TRY(bt_program_run(l->program));
    *loss = bt_tensor_get((const bt_tensor *)(const void *)bt_program_get(l->program, 0), 0);
    for (uint32_t i = 0; i < l->nweight; i++)
        BT_TRY(bt_program_set_at(l->program, i, bt_program_get(l->program, i + 1)));
    return NULL;
}

/* *first, *last: means over the first and the last pass of all samples. */
static bt_status learn(struct learner *l, int nstep, double *first, double *last)
{
    *first = *last = 0;
    for (int i = 0; i < nstep; i++) {
        double loss;
        BT_TRY(step(l, &l->samples[i % l->nsample], &loss));
        *first += i < l->nsample ? loss / l->nsample : 0;
        *last += i >= nstep - l->nsample ? loss / l->nsample : 0;
    }
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

int main(int argc, char **argv)
{
    static const bt_program_options options = { .executor = "vm",
                                                .target = "cpu{threads=1}",
                                                .entry = "step" };
    static struct learner l;
    double first = 0, last = 0;
    if (argc != 5 || !(l.ctx = bt_open()))
        return fprintf(stderr, "usage: learns PROGRAM SAMPLES STEPS RATE\n"), 2;
    bt_status status = read_samples(&l, argv[2]);
    if (!status)
        status = bt_program_open(l.ctx, argv[1], &options, &l.program);
    if (!status)
        status = set_weights(&l, atof(argv[4]));
    if (!status)
        status = learn(&l, atoi(argv[3]), &first, &last);
    if (!status)
        printf("%s: %d samples, %s steps, loss from %.4f to %.4f\n", argv[1], l.nsample,
               argv[3], first, last);
    int code = status ? fail(l.ctx, status) : !(last < first * 2 / 3);
    for (int i = 0; i < l.nsample; i++) {
        bt_tensor_unref(l.samples[i].at);
        bt_tensor_unref(l.samples[i].label);
    }
    bt_program_close(l.program);
    bt_ctx_destroy(l.ctx);
    return code;
}
