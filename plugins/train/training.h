/* What the parts of a trainer share. */
#ifndef TRAIN_TRAINING_H
#define TRAIN_TRAINING_H

#include <baton/baton.h>
#include <baton/train.h>

#include "choice.h"

struct bt_training {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_training_options options;
    const char *entry; /* of the model */
    bt_module *model;  /* with @train.model, a function of its parameters */
    struct choice loss, optimizer, schedule;
    int has_classes; /* the loss is of classes: what is right can be counted */
    uint32_t nparam, ninput, nmicro;
    bt_training_param *params;
    const bt_type **types; /* of parameters */
    const bt_type **inputs;
    bt_training_info info;
    char digest[65];  /* of the program of a step */
    const char *path; /* of its text */
    /* Parameters, then the optimizer's state, tensor by tensor: a step updates them in place. */
    uint32_t nvalue;
    const char **names;
    bt_tensor **now;
    /* Sums of gradients, where a step has several batches; NULL: it has one. */
    bt_tensor **sums, **next_sums;
    bt_tensor *step, *nstep, *key;
    bt_program *stepping, *adding, *evaluating;
    const bt_training_note *notes; /* of the checkpoint that was loaded; NULL: none was */
};

/* ---- training_prepare.c ---- */
/* Everything of a model, but for what a checkpoint holds. */
bt_status training_prepare(struct bt_training *, const bt_module *model) BT_MUST_USE;

/* ---- training_text.c ---- */
/* The program of a step, an evaluation, and sums of gradients. `spans`: with the places in the
 * model. */
bt_status step_text(struct bt_training *, int spans, bt_text *out) BT_MUST_USE;

/* ---- training_initial.c ---- */
/* A parameter that has no value: by what it is an argument of, and how many it has. */
void initial_value(const struct bt_training *, uint32_t param, bt_tensor *);
void initial_order(uint64_t seed, int64_t epoch, int64_t n, int64_t *out);

/* ---- training_first_bad.c ---- */
/* Runs a function of the program again, and names what was NaN or infinite first. */
bt_status first_bad(struct bt_training *, const char *entry, uint32_t narg,
                    bt_tensor *const *args) BT_FAILURE;
/* Whether all of a tensor of float32 is finite. */
int is_all_finite(const bt_tensor *);

/* ---- training_checkpoint.c ---- */
bt_status checkpoint_save(bt_training *, const char *path,
                          const bt_training_note *) BT_MUST_USE;
bt_status checkpoint_load(bt_training *, const char *path, uint32_t params) BT_MUST_USE;
const char *checkpoint_note(const bt_training *, const char *name);

/* ---- training_freeze.c ---- */
bt_status freeze_model(bt_training *, bt_module **out) BT_MUST_USE;

#endif
