/*
 * Pipelines, from text to a run:
 *
 *   bt_pipeline   what a file or a line says: nested steps, slots, conditions, variables
 *   bt__resolved  what will run under given options: passes and repeats only, each pass
 *                 known from its manifest, each option as text
 *
 * What is resolved is checked, printed or run.
 */
#ifndef PASS_PIPELINE_H
#define PASS_PIPELINE_H

#include <jansson.h>

#include <baton/compiled.h>
#include <baton/pass.h>

#include "plugin/json.h"
#include "plugin/plugins.h"

#define BT__LEVEL_DEFAULT 2
#define BT__ROUNDS_MAX    1000

/* A named value: an option of a step, or a variable. */
typedef struct bt__setting {
    const char *name;    /* "-" is written "_" */
    const json_t *value; /* from JSON; or */
    const char *text;    /* as an attribute is written */
    bt__spot spot;
} bt__setting;
typedef bt_vec(bt__setting) bt__settings;

enum {
    BT__STEP_PASS,
    BT__STEP_SEQUENCE,
    BT__STEP_REPEAT,
    BT__STEP_SLOT,
    BT__STEP_PIPELINE
};
typedef struct bt__step bt__step;
typedef bt_vec(bt__step) bt__steps;
struct bt__step {
    uint32_t kind;
    const char *name; /* of the pass, slot or pipeline */
    bt__spot spot;
    int32_t level;                /* from which it runs; -1: the pass's own */
    int32_t min_level, max_level; /* of `when` */
    const json_t *targets;        /* of `when`: a name, a list of names; NULL: any */
    const json_t *gradients;      /* of `when`: names of operators; NULL: any program */
    uint32_t max;                 /* rounds of a repeat */
    bt__settings settings;        /* options of the pass, variables of the pipeline */
    bt__steps steps;
};

typedef struct bt__pass_name {
    const char *name;
    bt__spot spot;
} bt__pass_name;
typedef bt_vec(bt__pass_name) bt__pass_names;

/* What to print and to check on the way. */
typedef struct bt__instruments {
    uint32_t verify, timing, print_changed;
    bt__pass_names dump_before, dump_after;
} bt__instruments;

struct bt_pipeline {
    bt_registry *registry;
    bt_arena *arena;
    bt__json_doc doc;
    json_t *json; /* NULL: from a line */
    const char *name, *about;
    int32_t level;
    bt__settings variables;
    bt__steps steps;
    bt__pass_names require, disable;
    bt__instruments instruments;
    int is_own; /* the kernel's: errors of its passes do not name them */
};

/* ---- pipeline_read.c ---- */

/* A provided pipeline.
 * errors  BT_ERR_NAME */
bt_status bt__pipeline_find(bt_ctx *, const char *name, bt_pipeline **out) BT_MUST_USE;
/* A step from JSON that fits the shape of a `contributes`. */
bt_status bt__step_read(bt_ctx *, bt_arena *, const bt__json *,
                        bt__step *out) BT_MUST_USE;
extern const bt__shape bt__contributes_shape; /* of manifests: steps with their slots */
/* An option's name as its schema has it. NULL: no memory */
const char *bt__option_name(bt_arena *, const char *name, size_t nbytes);

/* ---- pipeline_line.c ---- */

bt_status bt__pipeline_line(bt_ctx *, bt_pipeline *) BT_MUST_USE;

/* ---- resolve.c ---- */

typedef struct bt__gradients {
    bt_vec(const char *) operators;
} bt__gradients;
typedef struct bt__resolved_step bt__resolved_step;
typedef bt_vec(bt__resolved_step) bt__resolved_list;
struct bt__resolved_step {
    const char *pass; /* NULL: a repeat */
    bt__spot spot;
    const bt__item *item; /* of the pass */
    const bt_attr *schema;
    size_t options_nbytes;
    bt__settings options; /* in the order of the schema, all as text */
    int32_t level;        /* stated, or 0 where it is required; -1: the pass's own */
    uint32_t max;         /* of a repeat */
    /* Once, where the module by then declares gradients, or calls one of these; NULL: always. */
    const bt__gradients *gradients;
    bt__resolved_list steps;
    const bt__contribution
        *contribution; /* that the pass is of; NULL: the pipeline's own */
};
typedef struct bt__resolved {
    bt_arena *arena;
    const bt_pipeline *pipeline;
    bt_pipeline_options options; /* as given, but for the level: never -1 */
    const char *target;          /* the name of the last */
    bt__resolved_list steps;
    bt__instruments instruments;
    bt_vec(bt_pipeline *) nested; /* owned */
    bt__pass_names disabled;
} bt__resolved;

/* Reports every fault where `report_all`. The options are those of who was built with
 * headers that had `nbytes` of them; NULL: defaults. */
bt_status bt__resolved_create(bt_ctx *, const bt_pipeline *, const bt_pipeline_options *,
                              size_t nbytes, int report_all,
                              bt__resolved **out) BT_MUST_USE;
void bt__resolved_destroy(bt__resolved *); /* accepts NULL */
/* A fault in what a plugin contributes, with the plugin's name: whoever runs the pipeline
 * may not know that it is there. A run goes on without it. */
bt_status bt__contribution_fault(bt_ctx *, const bt__contribution *, bt_status fault,
                                 int is_run);
/* For a run: says what is wrong, and takes the contribution's steps out. */
void bt__resolved_leave_out(bt_ctx *, bt__resolved *, const bt__contribution *,
                            bt_status fault);
/* "max_bytes" as it is written in pipelines: "max-bytes". */
void bt__option_words(bt_text *, const char *name);
/* "max_rounds=3, tag=\"x\"". NULL: no memory */
const char *bt__resolved_options(bt_arena *, const bt__resolved_step *);

/* ---- resolve_check.c ---- */

/* Options fit their schemas, and what each pass needs holds when it runs. Contributions
 * of which that is not so are left out, unless all faults are reported. */
bt_status bt__resolved_check(bt_ctx *, bt__resolved *, int report_all) BT_MUST_USE;
/* Of the pipeline's own passes options alone. */
bt_status bt__resolved_check_options(bt_ctx *, bt__resolved *) BT_MUST_USE;

/* Names of analyses and invariants that hold. */
typedef struct bt__holding {
    bt_arena *arena;
    bt_vec(const char *) names;
} bt__holding;
/* What holds after a pass. 0: no memory */
int bt__holding_after(bt__holding *, const bt__resolved_step *, int is_changed);
/* Whether a list of words in a pass's manifest has the name. */
int bt__item_names(const bt__item *, const char *key, const char *name);
/* The same, or "*". */
int bt__item_has(const bt__item *, const char *key, const char *name);

/* ---- analysis.c ---- */

typedef struct bt__cached {
    const char *name;
    bt_arena *arena;
    const void *result;
    bt_module *module; /* the version it was computed from: results point into it */
} bt__cached;
/* Results computed from the current version. */
typedef struct bt__analyses {
    bt_arena *arena;
    bt_vec(bt__cached) at;
} bt__analyses;
void bt__analyses_drop(bt__analyses *, const bt__resolved_step *keeper); /* NULL: all */

/* ---- instrument.c ---- */

typedef struct bt__timing {
    const char *pass;
    uint32_t nrun, nchanged;
    uint64_t elapsed_ns;
} bt__timing;
typedef bt_vec(bt__timing) bt__timings;
/* 0: no memory */
int bt__timing_add(bt_arena *, bt__timings *, const char *pass, int is_changed,
                   uint64_t elapsed_ns);
void bt__timing_print(const bt__timings *, bt_text *out);
/* Changed lines with their neighbours, as in a unified diff. */
bt_status bt__diff(bt_ctx *, const char *before, const char *after,
                   bt_text *out) BT_MUST_USE;

/* What a pass call belongs to: bt_pass_call.manager. */
typedef struct bt__manager {
    const bt__resolved_step *step;
    bt__analyses analyses;
} bt__manager;

#endif
