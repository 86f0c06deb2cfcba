/*
 * Trains a network on digits:    train MODEL IMAGES LABELS TEST_IMAGES TEST_LABELS EPOCHS FOLDER
 * The files are those of MNIST, unpacked; MODEL takes n images, such as lenet.baton. FOLDER, which
 * is there, gets the program of a step and what was learned: learned.safetensors.
 * Build:    cc train.c $(pkg-config --cflags --libs baton)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/importer.h>
#include <baton/train.h>

enum { BATCH = 32, NPIXEL = 28 * 28 };

/* Digits as their files have them: bytes behind 16 and 8 that describe them. */
struct digits {
    bt_file *images, *labels;
    int64_t n;
};

struct job {
    bt_ctx *ctx;
    const bt_trainer *trainer;
    bt_training *training;
    bt_tensor *batch[2]; /* pixels, labels */
    struct digits train, test;
    int64_t *order;
};

static bt_status read_digits(bt_ctx *ctx, const char *images, const char *labels,
                             struct digits *out)
{
    BT_TRY(bt_file_read(ctx, images, &out->images));
    BT_TRY(bt_file_read(ctx, labels, &out->labels));
    out->n = (int64_t)out->labels->nbytes - 8;
    return out->n > 0 && (int64_t)out->images->nbytes == 16 + out->n * NPIXEL
               ? NULL
               : bt_fail(ctx, BT_ERR_FORMAT, "%s and %s are no digits of 28 x 28 pixels",
                         images, labels);
}

static bt_status read_model(bt_ctx *ctx, const char *path, bt_module **out)
{
    static const char *const dims[] = { "n=32", NULL };
    const bt_import_options options = { .dims = dims };
    bt_module *parsed;
    BT_TRY(bt_import(ctx, path, &options, &parsed));
    bt_status status = bt_infer(ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

static bt_status open_training(struct job *j, const char *path, const char *folder,
                               int64_t nstep)
{
    static const int64_t nlabel = BATCH, dims[] = { BATCH, 1, 28, 28 };
    static const char *const optimizers[] = { "adamw{rate=0.003, decay=0.05}", NULL };
    const bt_training_options options = {
        .optimizers = optimizers,
        .schedule = "cosine{warm=50}",
        .label_dtype = BT_INT64, // classes
        .label_rank = 1,
        .label_dims = &nlabel,
        .folder = folder,
        .seed = 1,
        .nstep = nstep,
    };
    const void *row;
    bt_module *model;
    BT_TRY(bt_registry_row(j->ctx, BT_TRAINER, "train", sizeof(*j->trainer), &row));
    j->trainer = row;
    BT_TRY(read_model(j->ctx, path, &model));
    bt_status status =
        j->trainer->open(j->ctx, model, &options, sizeof(options), &j->training);
    bt_module_unref(model);
    if (!status)
        status = bt_tensor_create(j->ctx, BT_FLOAT32, 4, dims, &j->batch[0]);
    if (!status)
        status = bt_tensor_create(j->ctx, BT_INT64, 1, &nlabel, &j->batch[1]);
    return status;
}

static void fill(struct job *j, const struct digits *from, int64_t at, int64_t index)
{
    float *pixels = (float *)j->batch[0]->data + at * NPIXEL;
    const uint8_t *bytes =
        (const uint8_t *)from->images->bytes + 16 + (size_t)index * NPIXEL;
    for (int i = 0; i < NPIXEL; i++)
        pixels[i] = (float)bytes[i] / 255;
    bt_tensor_set_int(j->batch[1], at, ((const uint8_t *)from->labels->bytes)[8 + index]);
}

/* The mean loss of all steps of an epoch. */
static bt_status learn(struct job *j, int64_t epoch, double *loss)
{
    const int64_t nstep = j->train.n / BATCH;
    BT_TRY(j->trainer->order(j->training, epoch, j->train.n, j->order));
    *loss = 0;
    for (int64_t step = 0; step < nstep; step++) {
        bt_training_result result;
        for (int64_t i = 0; i < BATCH; i++)
            fill(j, &j->train, i, j->order[step * BATCH + i]);
        BT_TRY(j->trainer->step(j->training, j->batch, &result));
        *loss += result.loss / (double)nstep;
    }
    return NULL;
}

/* The share of whole batches that is right. */
static bt_status try_it(struct job *j, double *right)
{
    const int64_t nbatch = j->test.n / BATCH;
    int64_t nright = 0;
    for (int64_t b = 0; b < nbatch; b++) {
        bt_training_result result;
        for (int64_t i = 0; i < BATCH; i++)
            fill(j, &j->test, i, b * BATCH + i);
        BT_TRY(j->trainer->evaluate(j->training, j->batch, &result));
        nright += result.nright;
    }
    *right = nbatch ? (double)nright / (double)(nbatch * BATCH) : 0;
    return NULL;
}

static bt_status run(struct job *j, char **args)
{
    const int64_t nepoch = atoll(args[6]);
    char path[4096];
    BT_TRY(read_digits(j->ctx, args[2], args[3], &j->train));
    BT_TRY(read_digits(j->ctx, args[4], args[5], &j->test));
    BT_TRY(open_training(j, args[1], args[7], nepoch * (j->train.n / BATCH)));
    j->order = calloc((size_t)j->train.n, sizeof(*j->order));
    if (!j->order)
        return bt_no_memory();
    for (int64_t epoch = 0; epoch < nepoch; epoch++) {
        double loss, right;
        BT_TRY(learn(j, epoch, &loss));
        BT_TRY(try_it(j, &right));
        printf("epoch %" PRId64 ": loss %.4f, %.2f %% of others are right\n", epoch + 1,
               loss, 100 * right);
        fflush(stdout);
    }
    snprintf(path, sizeof(path), "%s/learned.safetensors", args[7]);
    return j->trainer->save(j->training, path, NULL);
}

int main(int argc, char **argv)
{
    struct job j = { .ctx = bt_open() };
    if (argc != 8 || !j.ctx)
        return fprintf(stderr, "usage: train MODEL IMAGES LABELS TEST_IMAGES TEST_LABELS "
                               "EPOCHS FOLDER\n"),
               2;
    bt_status status = run(&j, argv);
    if (status)
        fprintf(stderr, "%s\n", status->message);
    if (j.trainer)
        j.trainer->close(j.training);
    for (int i = 0; i < 2; i++)
        bt_tensor_unref(j.batch[i]);
    bt_file_close(j.ctx, j.train.images);
    bt_file_close(j.ctx, j.train.labels);
    bt_file_close(j.ctx, j.test.images);
    bt_file_close(j.ctx, j.test.labels);
    free(j.order);
    bt_ctx_destroy(j.ctx);
    return status != NULL;
}
