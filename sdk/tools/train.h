/* What the parts of baton train share: the verb, its loop, its folder and its report. */
#ifndef TOOLS_TRAIN_H
#define TOOLS_TRAIN_H

#include <baton/train.h>

#include "tool.h"
#include "train_data.h"

/* A point of the curves. */
struct point {
    int64_t epoch, step;
    double loss, right; /* of training since the point before; right: a share, or -1 */
    double test_loss, test_right; /* test_right NaN: not measured there; -1: no classes */
    double seconds;               /* since training began, without breaks */
};

/* What a set of samples was tried with. */
struct measured {
    int64_t nsample;    /* 0: it was not given */
    double loss, right; /* right: a share, or -1 */
};

/* Of steps. */
struct sum {
    double loss;
    int64_t nright, nstep;
};

struct train {
    struct tool *tool;
    const bt_trainer *trainer;
    bt_training *training;
    const bt_training_info *info;
    bt_module *model;
    uint32_t ninput;
    struct train_input *inputs;
    struct train_data *data, *test; /* test: NULL: not given */
    bt_tensor **batches;            /* of a step, one behind the other */
    bt_tensor ***parts;             /* the same, batch by batch */
    const char *folder;             /* of checkpoints, curves and the step's program */
    int hold;                       /* of hold_folder; -1: none yet */
    char digest[65];                /* of what is learned from */
    uint32_t nmicro;
    int64_t nepoch, every, keep, seed;
    int64_t nper_epoch;      /* steps */
    int64_t *order;          /* of samples in the epoch at hand */
    struct sum since, epoch; /* since the last point, and in the epoch at hand */
    bt_arena *kept; /* for points: what else a step allocates is given back behind it */
    bt_vec(struct point) points;
    double seconds;    /* before this run */
    uint64_t start;    /* of this run, ns */
    uint64_t stepped;  /* ns in steps of this run */
    int64_t begin;     /* the step that this run began with */
    int is_quiet;      /* --json: lines of objects are all that is printed */
    int is_evaluation; /* --evaluate: no steps are taken, and `folder` is `work` */
    char work[256];    /* a folder that goes with this run; "": none */
};

extern const struct hint training_hints[]; /* of messages of the trainer: train_model.c */

/* ---- train_folder.c ---- */
/* "a/lenet.baton" -> "lenet.training". NULL: no memory. */
const char *default_folder(const struct tool *);
/* Nobody else trains in the folder until this program ends, however it does. A folder that is not
 * there is not held.
 * errors  BT_ERR_IO: somebody does */
bt_status hold_folder(struct train *) BT_MUST_USE;
/* The last checkpoint's path; NULL: there is none. */
bt_status last_checkpoint(struct train *, const char **out) BT_MUST_USE;
/* Writes one, and removes those before the last two. */
bt_status save_checkpoint(struct train *) BT_MUST_USE;
/* Goes on where the last checkpoint was written. */
bt_status resume_training(struct train *) BT_MUST_USE;

/* ---- train_report.c ---- */
double seconds_of(const struct train *);
/* "learned: w (3, 4), b (3)" */
void show_learned(const struct train *);
void show_step(const struct train *);
void show_evaluation(const struct train *, const struct measured *data,
                     const struct measured *test);
bt_status add_point(struct train *, double test_loss, double test_right) BT_MUST_USE;
/* curve.csv and curve.svg, of all points. */
bt_status write_curves(const struct train *) BT_MUST_USE;
/* The points of curve.csv up to a step. */
bt_status read_points(struct train *, int64_t step) BT_MUST_USE;

/* ---- train_svg.c ---- */
void draw_curves(const struct train *, bt_text *out);

/* ---- train_loop.c ---- */
int run_training(struct train *);

/* ---- train_evaluate.c ---- */
/* The loss of all samples, which is a mean, and the share of them that are right; -1: there are
 * no classes. */
bt_status evaluate(struct train *, const struct train_data *, double *loss,
                   double *right) BT_MUST_USE;
bt_status make_work_folder(struct train *) BT_MUST_USE;
void remove_work_folder(const struct train *);
/* Of --data, and of --test where it is given. */
int run_evaluation(struct train *);

/* ---- train_model.c ---- */
/* Reads the first argument, with `batch` samples for a first dim that is open (0: it stays
 * so); typed. */
int read_trained(struct tool *, int64_t batch, bt_module **out);
/* The first dim of the entry's first input, which counts samples; NULL: it has none. */
const bt_type *batch_dim(struct tool *, const bt_module *);
/* What its entry takes as data. */
bt_status find_inputs(struct train *) BT_MUST_USE;

#endif
