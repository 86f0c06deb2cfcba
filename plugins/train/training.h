/* What the parts of a trainer share. */
#ifndef TRAIN_TRAINING_H
#define TRAIN_TRAINING_H

#include <baton/baton.h>
#include <baton/train.h>

#include "choice.h"

/* What pass lift-parameters makes of a model: a function of its parameters, and before the name of
 * each of these the constant that it begins as. */
#define TRAINING_MODEL   "train.model"
#define TRAINING_INITIAL "train.initial."
/* Before the number of a parameter: the squares of its gradient, in @train.step. */
#define TRAINING_SQUARES "squares_of_g"

/* What the model does with a parameter (training_uses.c). */
struct training_uses {
    int is_factor; /* the scale of a norm, a variance that one divides by, or a factor or divisor
                    * wherever it is used */
    /* Axes of the parameter: those of a batch of matrices, then what a layer gives, what it reads, and
     * its window. rank 0: no use tells. */
    uint32_t rank, nbatch, order[BT_MAX_RANK];
};

struct bt_training {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_training_options options;
    const char *entry; /* of the model */
    bt_module *model;  /* with @train.model, a function of its parameters */
    struct choice loss, optimizer, schedule;
    struct choice *
        *own; /* of each parameter: the optimizer with other options; NULL: as it is */
    int has_classes;      /* the loss is of classes: what is right can be counted */
    bt_dtype label_dtype; /* that the loss takes them as */
    int takes_all; /* the loss takes a tuple of all that the model gives, not the first of it */
    int has_key; /* something is drawn in a step: nn.dropout */
    /* Those that are learned, moments of nn.batch_norm, those that stay; all of them. */
    uint32_t nparam, nmoment, nfixed, nheld;
    uint32_t ninput, nmicro;
    bt_training_param *params;
    const bt_type **types;
    const bt_type **inputs;
    uint8_t *is_variance; /* of each moment: it is no mean */
    uint8_t *is_constant; /* those of `params` that are none of the model's function */
    uint32_t *places; /* of each parameter of @train.model behind its data: in `params` */
    bt_training_info info;
    char digest[65];  /* of the program of a step */
    const char *path; /* of its text */
    /* What is held, then the optimizer's state: a step updates it in place, but for what stays. */
    uint32_t nvalue;
    const char **names;
    bt_tensor **now;
    /* Sums of gradients and moments up to now, where a step has several batches. */
    bt_tensor **sums, **next_sums;
    bt_tensor *step, *nstep, *seed, *run; /* run: the number of a batch, from 0 on */
    bt_tensor
        *scale;    /* of the loss, where it is found in steps; NULL: options.loss_scale */
    int64_t ngood; /* steps since it changed */
    int64_t ntaken;             /* steps since it was opened */
    struct training_uses *uses; /* of each parameter */
    struct choice **drawn;      /* of each parameter: how it is drawn; NULL: it is not */
    bt_program *stepping, *adding, *evaluating, *ordering;
    const bt_training_note *notes; /* of the checkpoint that was loaded; NULL: none was */
    int is_loaded;                 /* from a file, with notes or not */
};

static inline const bt_func *training_model(const bt_module *lifted)
{
    return bt_module_find(lifted, TRAINING_MODEL)->func;
}

/* ---- training_prepare.c ---- */
/* A training of a model as it begins; a checkpoint may then say where it stands. */
bt_status training_prepare(struct bt_training *, const bt_module *model) BT_MUST_USE;
/* A module by passes, in one line. */
bt_status training_passes(struct bt_training *, const bt_module *from, const char *passes,
                          const char *entry, bt_module **out) BT_MUST_USE;
const char *training_param_name(const bt_param *);
/* Whether a parameter is learned, or a moment moves: all that the options do not leave out. */
int training_learns(const struct bt_training *, const char *name);
/* Between quotes, as options of passes have it. */
void training_quote(bt_text *, const char *);

/* ---- training_programs.c ---- */
/* The text of a step, in the folder; its programs, and what parameters begin as. */
bt_status training_programs_open(struct bt_training *) BT_MUST_USE;

/* ---- training_choose.c ---- */
/* errors  BT_ERR_ARGUMENT: an option is out of its range, and is named */
bt_status training_options_check(const struct bt_training *) BT_MUST_USE;
bt_status training_choose(struct bt_training *, const bt_module *model) BT_MUST_USE;
/* Which of the first n parameters "w1=NAME{..}" is for.
 * errors  BT_ERR_NAME: none */
bt_status training_find_named(struct bt_training *, const char *kind, const char *text,
                              uint32_t n, uint32_t *out) BT_MUST_USE;
/* Looks at what @train.model gives. */
bt_status training_results(struct bt_training *, const bt_module *lifted) BT_MUST_USE;

/* ---- training_moments.c ---- */
/* @train.training, where training differs from inference, and which parameters are moments;
 * `moment_of` has for each parameter of @train.model 1 + the number of its new one, or 0. */
bt_status training_mode(struct bt_training *, bt_module *lifted, bt_module **out,
                        uint32_t **moment_of) BT_MUST_USE;

/* ---- training_text.c ---- */
/* The program of a step, an evaluation, and sums of gradients. `whole`: with the places in the
 * model, and how a training begins. */
bt_status training_text(struct bt_training *, int whole, bt_text *out) BT_MUST_USE;

/* ---- training_uses.c ---- */
bt_status training_uses_find(const struct bt_training *, const bt_module *lifted,
                             uint32_t param, struct training_uses *out) BT_MUST_USE;

/* ---- training_initial.c ---- */
/* Values of parameters, of those that are not drawn, and how the others are. */
bt_status training_initial_choose(struct bt_training *,
                                  const bt_module *lifted) BT_MUST_USE;
void training_initial_forget(struct bt_training *);
/* Functions of the program: what is drawn, and the order of samples. */
void training_initial_text(const struct bt_training *, bt_text *out);
/* Draws them. */
bt_status training_initial_draw(struct bt_training *) BT_MUST_USE;
/* The key of the seed. */
bt_tensor *training_initial_seed(struct bt_training *);
bt_status training_initial_order(bt_training *, int64_t epoch, int64_t n,
                                 int64_t *out) BT_MUST_USE;

/* ---- training_first_bad.c ---- */
/* Parameters, moments and state are numbers; which one is not, and what made it.
 * errors  BT_ERR_RUNTIME */
bt_status training_values_check(struct bt_training *) BT_MUST_USE;
/* Runs a function of the program again, and names what was NaN or infinite first. */
bt_status training_first_bad(struct bt_training *, const char *entry, uint32_t narg,
                             bt_tensor *const *args) BT_FAILURE;
/* Whether all of a tensor of float32 is finite. */
int training_is_finite(const bt_tensor *);

/* ---- training_checkpoint.c ---- */
bt_status training_checkpoint_save(bt_training *, const char *path,
                                   const bt_training_note *) BT_MUST_USE;
bt_status training_checkpoint_load(bt_training *, const char *path,
                                   uint32_t params) BT_MUST_USE;
const char *training_checkpoint_note(const bt_training *, const char *name);

/* ---- training_values.c ---- */
struct safetensors;
struct safetensor;
/* The first n of `names`, or parameters alone; NULL: it may be missing.
 * errors  BT_ERR_ARGUMENT: one is missing, or of another type */
bt_status training_values_find(bt_training *, const char *path,
                               const struct safetensors *, uint32_t n, uint32_t params,
                               const struct safetensor **out) BT_MUST_USE;
void training_values_tell_unread(bt_training *, const char *path,
                                 const struct safetensors *);

/* ---- training_freeze.c ---- */
bt_status training_freeze(bt_training *, bt_module **out) BT_MUST_USE;

#endif
