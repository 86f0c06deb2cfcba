/*
 * Samples and what a model should give for them, in memory:
 *     FILE.npy, IDX     of a model with one input: samples along the first axis
 *     FILE.npz          an array for each input by its name, and `labels`
 *     a folder          such files, in order of their names, one behind the other
 */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <baton/train.h>

#include "tool.h"

struct train_data;

/* What is read of one input, in order of the model's. */
struct train_input {
    const char *name;
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK]; /* of a batch: the first counts samples */
};

struct train_files {
    const char *path;
    const char *labels;        /* a file of their own; NULL: the .npz have them */
    const char *labels_option; /* that names it: "--labels" */
    double factor;             /* floats among inputs are multiplied by it */
};

/* errors  BT_ERR_IO, BT_ERR_FORMAT, BT_ERR_ARGUMENT: it does not fit */
bt_status train_data_open(bt_ctx *, const struct train_files *, uint32_t ninput,
                          const struct train_input *,
                          struct train_data **out) BT_MUST_USE;
void train_data_close(struct train_data *); /* accepts NULL */
int64_t train_data_len(const struct train_data *);
/* What the model should give for a batch: BT_INT64 (n), where labels are integers, else
 * BT_FLOAT32. */
void train_data_label(const struct train_data *, struct train_input *out);
/* errors  BT_ERR_ARGUMENT: a class that is none of so many */
bt_status train_data_check(const struct train_data *, int64_t nclass) BT_MUST_USE;
/* Tells data from others, as 64 digits. */
bt_status train_data_digest(const struct train_data *, char out[65]) BT_MUST_USE;
int64_t train_data_class(const struct train_data *, int64_t sample);

/* New tensors for a batch: the inputs, then what the model should give. */
bt_status train_batch_create(const struct train_data *, bt_tensor ***out) BT_MUST_USE;
void train_batch_destroy(const struct train_data *, bt_tensor **); /* accepts NULL */
/* Fills place `at` of a batch with a sample. */
void train_batch_fill(const struct train_data *, bt_tensor *const *batch, int64_t at,
                      int64_t sample);

#endif
