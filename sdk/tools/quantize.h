/* What the parts of baton quantize share: the verb, its search and its report. */
#ifndef QUANTIZE_H
#define QUANTIZE_H

#include <baton/pass.h>
#include <baton/quantize.h>

#include "float_search.h"
#include "tool.h"

enum { PATH_NBYTES = 4096 };

/* A site and what is known of it. */
struct row {
    const char *name, *codes;
    double low, high, nbad, nelem; /* over all samples */
    const bt_call *call;
    const bt_tensor *constant;
    bt_tensor
        *moments; /* of a weight: (2, n), of what it meets in sums; NULL: not known */
    double signal, noise;
    int is_blind;   /* all that was seen there is NaN or infinite */
    int is_skipped; /* of a weight: its layer is to have no codes */
    int is_stuck;   /* its layer cannot have any */
    int is_float;   /* nothing has codes there in the program at hand */
};

struct quantize {
    struct tool *tool;
    const char *scheme, *calibrate; /* with their options */
    const char *calibration;        /* its name */
    const char *data, *output, *statistics;
    double factor;
    int64_t nsample, nprocess;
    char work[PATH_NBYTES]; /* a folder that goes at the end */
    uint32_t needs;
    bt_module *model, *annotated, *calibrated, *integer;
    uint32_t nrow;
    struct row *rows;
    bt_tensor **bins; /* of each row; NULL where there are none */
    uint64_t digest;
    int64_t nseen;
    const char *test;  /* samples on which both programs are compared */
    bt_tensor *labels; /* of these: the classes that are right; NULL: not given */
    /* Which layers stay in float for a loss of so much, in percent of samples. */
    int has_loss;
    double loss;
    struct float_search search;
    bt_vec(bt_status)
        notes;        /* layers that stay in float and were to have codes; note: why */
    const char *what; /* shown while results are compared; NULL: they alone */
    /* What the integer program gives beside the first one. */
    int64_t nrun, nsame, nright[2];
    double signal, noise;
};

struct sample_run;

/* ---- quantize.c ---- */
/* A text between quotes, as pipelines in one line have it; NULL: no memory. */
const char *quoted(struct quantize *, const char *text);
/* NAME.baton in the folder that goes at the end. */
int write_model(struct quantize *, const bt_module *, const char *name);
bt_status run_passes(struct quantize *, const bt_module *, const char *passes,
                     bt_module **out);
/* The program on integers, of the calibrated one without the codes of layers that are skipped or
 * cannot do with them; and what it gives of samples beside the first one. */
int realize(struct quantize *);
int compare_results(struct quantize *);

/* ---- quantize_learn.c ---- */
/* What runs of programs on samples have in common. */
void begin_run(const struct quantize *, struct sample_run *);
/* Runs what a phase of quant-observe sees of a program on all samples. */
int observe(struct quantize *, const char *phase, const bt_module *, struct sample_run *);
/* Ranges of all sites, and what else the calibration needs, into the file of statistics. */
int learn(struct quantize *);

/* ---- quantize_search.c ---- */
int search_layers(struct quantize *);

/* ---- quantize_report.c ---- */
/* Of all that ran, the share in percent that the program on integers loses: of right answers
 * where there are labels, else of samples with the same greatest result. */
double lost_percent(const struct quantize *);
int print_report(const struct quantize *);

#endif
