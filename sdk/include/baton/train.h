/*
 * Training: a model, a loss and an optimizer as one program that takes a step. A trainer is a
 * row of an interface, so that applications find it by name and link to nothing:
 *
 *     const bt_trainer *trainer;
 *     BT_TRY(bt_registry_row(ctx, BT_TRAINER, "train", sizeof(*trainer), &row));
 *     trainer = row;
 *     BT_TRY(trainer->open(ctx, model, &options, sizeof(options), &training));
 *     while (...)
 *         BT_TRY(trainer->step(training, batch, &result));
 *     BT_TRY(trainer->save(training, "last.safetensors", NULL));
 *     trainer->close(training);
 */
#ifndef BATON_TRAIN_H
#define BATON_TRAIN_H

#include <baton/ir.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BT_TRAINER "train.trainer/1"

typedef struct bt_training bt_training;

/* What pointers point to is read as long as the training is open. Numbers are finite, but for an
 * infinite clip, and none is negative; an empty folder is none. */
typedef struct bt_training_options {
    const char *entry; /* function of the model; NULL: main, or the only one */
    /* Functions of Baton text, with options: "sgd{rate=0.1}". The model's own, or those of a
     * library of any plugin:
     *     @loss.NAME(%z, %y)                    the mean of all samples; %z is the first result, or
     *                                           the tuple of all
     *     @optimizer.NAME(%w, %g, .., %step)    the parameter, or it and its state
     *     @schedule.NAME(%step, %steps)         a factor of the optimizer's rate
     * Numbers behind these are options, with attributes as defaults; attributes rate_low and
     * rate_high are the ends of what option rate may be. NULL: cross_entropy, constant. */
    const char *loss, *schedule;
    /* "adamw{rate=0.003}" for all parameters, "b1=adamw{decay=0}" where the one of this name has other
     * options; NULL-terminated, or NULL: sgd. */
    const char *const *optimizers;
    double clip;     /* the gradients' norm, all together, at most; 0: any */
    uint32_t nmicro; /* batches of which gradients are added for a step; 0: 1 */
    const char *const
        *fixed; /* parameters that are not learned; NULL-terminated; or NULL */
    /* Of the labels of a batch, what the model should give: int64 (classes have one axis), or floats. A loss
     * that takes floats gets integers as such. */
    bt_dtype label_dtype;
    uint32_t label_rank;
    const int64_t *label_dims;
    const char *target; /* what it is compiled for; NULL: cpu */
    /* That is there: the program of a step is written to it. NULL: nothing is compiled, and
     * the training can load and freeze alone. */
    const char *folder;
    uint64_t seed; /* of parameters that have no value, and of random operators */
    int64_t nstep; /* in all, for schedules */
    /* What parameters begin as, @initializer.NAME: "glorot_normal" for those that have two axes
     * or more, "w1=normal{scale=0.1}" for the one of this name; NULL-terminated, or NULL:
     * what the model says (attribute `initializers` of its function), else he_uniform. Others begin
     * as zeros, or as ones where they are scales of norms, or factors wherever they are used. */
    const char *const *initializers;
    /* Parameters that alone are learned: what is not named stays what it is; NULL-terminated,
     * or NULL: all are. */
    const char *const *learned;
    /* "bfloat16" or "float16": what the model computes in where pass mixed-precision says that it
     * may; parameters, the optimizer and the loss are of float32. NULL: float32. */
    const char *precision;
    /* By which the loss is multiplied before it is differentiated, and gradients are divided after
     * that: small ones would be zeros in float16. 2^-24 or more; 0: 1 */
    double loss_scale;
    /* Bytes that tensors of a step may take at once, without parameters, inputs and results:
     * what takes more is computed again (pass fit-memory). 0: as many as they need. */
    int64_t checkpoint_memory;
    /* The scale of the loss is found in steps: one whose gradients are not finite is taken again
     * with half of it, down to 1, and after so many that are it doubles. loss_scale is what it
     * begins with, and checkpoints have it. 0: it stays loss_scale. */
    int64_t scale_steps;
    /* Nothing is learned: only what evaluate runs is compiled, so the model may have nothing to
     * learn, or no derivative. What parameters begin as is not drawn: those that are no
     * constants of the model have values once a file is loaded. Optimizer, schedule, clip,
     * nmicro, loss_scale and `learned` are not looked at. */
    uint32_t only_evaluates;
} bt_training_options;

/* A parameter that is learned. */
typedef struct bt_training_param {
    const char *name;
    const bt_tensor
        *value; /* steps write to it; another one once a checkpoint is loaded */
} bt_training_param;

typedef struct bt_training_info {
    uint32_t nparam, ninput; /* inputs of a batch, without what the model should give */
    const bt_training_param *params;
    const bt_type *const *inputs; /* their types */
    int64_t batch;                /* samples in one */
    int64_t nclass; /* that a loss of classes chooses from; 0: it is of others */
    int64_t step;   /* steps taken */
    /* Behind the parameters in `params`: means and variances of nn.batch_norm, which follow
     * the batches of steps, and which inference normalises by. Those that are fixed, or not
     * among `learned`, are no moments: their norm is in steps as at inference. */
    uint32_t nmoment;
    uint32_t nfixed; /* behind these: parameters that are not learned */
} bt_training_info;

/* Of a batch, or of those of a step. */
typedef struct bt_training_result {
    double loss;    /* the mean */
    int64_t nright; /* samples with the greatest result at their class; -1: no classes */
    const bt_object *results; /* of evaluate: what the model gives; until the next call */
} bt_training_result;

/* What is kept with a checkpoint, ended by a NULL name. */
typedef struct bt_training_note {
    const char *name, *value;
} bt_training_note;

typedef struct bt_trainer {
    const char *name; /* "train" */
    const char *doc;
    /* The model is typed, and its dims are known.
     * errors  BT_ERR_NAME: no such loss, optimizer, schedule, initializer, or none of the names in
     *         `fixed`, `learned` or `initializers`; BT_ERR_ATTRIBUTE: of its options; BT_ERR_TYPE: a
     *         function of that name is none of its kind, or is for parameters of other shapes;
     *         BT_ERR_ARGUMENT: a field of the options that is out of its range, which is named, or
     *         labels that the loss does not take; BT_ERR_UNSUPPORTED: it has no parameters; what
     *         differentiate refuses */
    bt_status (*open)(bt_ctx *, const bt_module *model, const bt_training_options *,
                      size_t nbytes, bt_training **out);
    void (*close)(bt_training *); /* accepts NULL */
    /* The training's own, until it is closed; `step` counts on in it, and load sets it. */
    const bt_training_info *(*info)(bt_training *);
    /* One step: `batches` holds the inputs of nmicro batches, each followed by what the model
     * should give.
     * errors  BT_ERR_ARGUMENT: a training without a folder, or one that only evaluates; a tensor
     *         that is NULL; a class that the model does not give; BT_ERR_RUNTIME: something is
     *         NaN or infinite, with the place that made it first; parameters are what they were
     *         before; what bt_program_run gives, after which they may be anything */
    bt_status (*step)(bt_training *, bt_tensor *const *batches, bt_training_result *out);
    /* What the model gives for a batch, which is as those of step, and its loss.
     * errors  as step; BT_ERR_ARGUMENT: of only_evaluates, a parameter has no value yet */
    bt_status (*evaluate)(bt_training *, bt_tensor *const *batch,
                          bt_training_result *out);
    /* Parameters, the optimizer's state, the number of the step, notes (or NULL): a
     * safetensors file, which is replaced at once or not at all. The training's own notes are
     * format, program, step, seed, scale, good and baton.checksum.
     * errors  BT_ERR_ARGUMENT: a note has the name of one of these, or of another note, or no
     *         value */
    bt_status (*save)(bt_training *, const char *path, const bt_training_note *notes);
    /* errors  BT_ERR_FORMAT: torn, damaged, or none; BT_ERR_ARGUMENT: of another program of a step,
     *         unless only `params` are asked for, those that fit by name and type */
    bt_status (*load)(bt_training *, const char *path, uint32_t params);
    /* Of the checkpoint that was loaded last, until the training is closed; NULL: it has none of this
     * name. */
    const char *(*note)(const bt_training *, const char *name);
    /* The model with what it has learned as constants. */
    bt_status (*freeze)(bt_training *, bt_module **out);
    /* The order of n samples in an epoch, which the seed decides.
     * errors  BT_ERR_ARGUMENT: a training without a folder; an epoch below 0 */
    bt_status (*order)(bt_training *, int64_t epoch, int64_t n, int64_t *out);
    /* Whether function @KIND.NAME of a typed module is what a training takes as one of its kind:
     * "loss", "optimizer", "schedule", "initializer".
     * errors  BT_ERR_TYPE: it is not, as its type says; BT_ERR_NAME: it is no function;
     *         BT_ERR_ARGUMENT: there is no such kind */
    bt_status (*check)(bt_ctx *, const bt_module *, const char *kind, const char *name);
} bt_trainer;
#define BT_TRAINERS(array)                      \
    {                                           \
        BT_TRAINER, sizeof(bt_trainer), (array) \
    }

#ifdef __cplusplus
}
#endif
#endif
