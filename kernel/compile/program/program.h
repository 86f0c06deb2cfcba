/*
 * What the parts of a bt_program share.
 *
 *     program_compile.c  from a model's file to a compiled module
 *     entry.c            a gradient that is the entry
 *     program.c          opening: what it takes and gives
 *     program_run.c      inputs, outputs, runs
 *     profile.c          what runs take
 */
#ifndef COMPILE_PROGRAM_H
#define COMPILE_PROGRAM_H

#include <baton/baton.h>
#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/importer.h>

#include "value/tensor.h"

struct bt_program {
    bt_ctx *ctx;
    bt_arena *arena; /* the program itself too */
    bt_module *module;
    const bt_global *entry;
    bt_file *file;             /* the model's, while the program is opened */
    const char *executor_text; /* "graph{option=value}" */
    const bt_executor *executor;
    bt_store *option_store;
    const void *executor_options; /* in it; NULL: the executor has none */
    void *session;
    bt_compiled *compiled;         /* NULL: the executor runs modules as they are */
    struct bt__profiler *profiler; /* NULL: no run was recorded */
    uint32_t is_recorded;          /* 1: the next one is */
    bt_before_fn *before;          /* NULL: nobody watches runs */
    void *watcher;
    bt_run_hook hook; /* of the run in progress */
    uint32_t ninput, noutput;
    bt_port *inputs, *outputs;
    int64_t *least;      /* values of the entry's dims that sizes of ports are by */
    uint32_t has_raised; /* 1: one of them has become larger */
    bt_object **args;
    bt_tensor **outs;          /* where outputs are computed; NULL: in new tensors */
    struct bt__bytes *written; /* of each of outs; none: 0 */
    bt_tensor **made;          /* of the run in progress */
    bt_object **results;       /* of the last run; NULL: there was none */
    uint32_t is_tuple;
    uint32_t is_artifact;
    uint32_t is_planned; /* 1: `module` is, and not what it was compiled from */
    bt_module *fused;    /* what was compiled; NULL: it is not kept */
    uint32_t nlisted;    /* fields of inputs so far */
};

/* A model's file, and what is read from it, as often as one tries: what comes through a pipe
 * comes once. */
bt_status bt__model_open(bt_ctx *, const char *path, bt_file **out) BT_MUST_USE;
bt_status bt__model_import(bt_ctx *, bt_file *, const bt_import_options *,
                           bt_module **out) BT_MUST_USE;
/* Reads a model, infers its types and runs the options' pipeline, for targets where they
 * are opened already; these become the module's own where it lists devices and the options
 * name no target. `digest` of the pipeline: left alone where there is none; may be NULL. The
 * entry is chosen before passes add functions; its name lives as long as the module. */
bt_status bt__program_read(bt_ctx *, bt_file *, const bt_program_options *, bt_targets **,
                           uint64_t *digest, bt_module **out,
                           const char **entry) BT_MUST_USE;
/* Whether the executor has what the entry of a module, as the executor gets it, uses.
 * errors  BT_ERR_UNSUPPORTED: what it lacks, and who has it */
bt_status bt__check_features(bt_ctx *, const bt_executor *, const bt_module *,
                             const char *entry) BT_MUST_USE;
/* An executor by name, with options as attributes are written: "graph{option=value}".
 * *store, in which they are, is the caller's, also of a failure. */
bt_status bt__executor_find(bt_ctx *, bt_arena *, const char *text, bt_store **store,
                            const bt_executor **, const void **options) BT_MUST_USE;
/* From a typed module to what the executor loads; *fused: what that was compiled from, may be NULL. */
bt_status bt__program_lower(bt_ctx *, const bt_executor *, const bt_module *typed,
                            const bt_compile_options *, bt_module **fused,
                            bt_compiled **out) BT_MUST_USE;
/* Executors in the order in which they are tried where none is named. */
enum { BT__FIRST_UNCOMPILED = 2 }; /* the one that runs programs as they are written */
extern const char *const bt__executors[BT__FIRST_UNCOMPILED + 1];
/* Whether the next one is tried behind this error: this one cannot run the program, which
 * has been read, or is not there (NULL). */
int bt__executor_is_next(const bt_executor *tried, const bt_module *read, bt_status);
/* What a program is compiled for, opened; where `list` is NULL: the processors, if the
 * plugin for them is there. */
bt_status bt__program_targets(bt_ctx *, const char *list, bt_targets **out) BT_MUST_USE;
/* In place of those that were found so: the ones that the module's attribute devices lists,
 * and for the rest what was found. */
bt_status bt__program_devices(bt_ctx *, const bt_module *,
                              bt_targets **targets) BT_MUST_USE;

#endif
