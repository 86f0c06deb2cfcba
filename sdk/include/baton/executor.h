/*
 * For authors of executors: what runs a module.
 */
#ifndef BATON_EXECUTOR_H
#define BATON_EXECUTOR_H

#include <baton/compiled.h>
#include <baton/ir.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Language features of a program, and those an executor accepts. */
enum {
#define BT_FEATURE(UPPER, bit, name, words) BT_FEATURE_##UPPER = (bit),
#include <baton/features.def>
    BT_FEATURE_ALL = 0
#define BT_FEATURE(UPPER, bit, name, words) | (bit)
#include <baton/features.def>
};
/* What `entry` and all that it calls uses. */
BT_API bt_status bt_module_features(bt_ctx *, const bt_module *, const bt_func *entry,
                                    uint32_t *out) BT_MUST_USE;

struct bt_stop; /* <baton/baton.h> */

/* binding: called after every binding that computed: a call of an operator, a launch of a
 * kernel. `result` is NULL where it lies in the executor's own memory. The clock is read
 * only where there is a hook. */
typedef struct bt_run_hook {
    void *self;
    void (*binding)(void *self, const bt_value *, const bt_object *result,
                    uint64_t elapsed_ns);
    /* optional: called before every binding of a function, by executors that make steps of
     * bindings; an error is that of the call */
    bt_status (*before)(void *self, const struct bt_stop *);
    /* optional: called where a function begins, the entry too, by executors that call
     * functions */
    void (*enter)(void *self, const bt_func *);
    /* optional: in place of `binding`, for a binding that a queue ran while the host went on:
     * the queue's name, "npu copies", which lives as long as the session, and when it ran by
     * bt_now_ns. It is called before the call returns, for a copy between memories too. Where
     * it is NULL, the executor waits for each binding. */
    void (*queued)(void *self, const bt_value *, const char *queue, uint64_t begin_ns,
                   uint64_t end_ns);
} bt_run_hook;

typedef struct bt_executor {
    const char *name; /* "interp" */
    const char *doc;
    uint32_t features;      /* BT_FEATURE_... */
    const bt_attr *options; /* as an operator's attributes; NULL: none */
    size_t options_nbytes;
    /* A session over a typed module, which it holds on to. `options`: the author's struct,
     * filled from "NAME{option=value}"; NULL where the executor has none. */
    bt_status (*open)(bt_ctx *, const bt_module *, const void *options, void **session);
    /* The same, of an executor that runs compiled modules: it has this in place of open.
     */
    bt_status (*load)(bt_ctx *, bt_compiled *, const char *entry, const void *options,
                      void **session);
    void (*close)(void *session);
    /* Calls a global function. `args` stay the caller's; *result is a new reference. A
     * session serves one call at a time. */
    bt_status (*call)(bt_ctx *, void *session, const char *entry, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *, bt_object **result);
    /* optional: call, with the tensors of the result in memory of the caller. `outs`:
     * leaves of the result, depth first, each row major and of the result's type, no two
     * in the same bytes; an argument may be among them. A NULL becomes a new tensor. */
    bt_status (*call_into)(bt_ctx *, void *session, const char *entry, uint32_t narg,
                           bt_object *const *args, const bt_run_hook *, uint32_t nout,
                           bt_tensor **outs);
    /* Of an executor that makes a program of its own of a compiled one, in place of open,
     * load, close and call: writes it as files into a folder, which it makes where it is
     * missing. The code of all kernels is source (bt_compile_options.form). `said`: what a
     * user should know of the files, "7 files, a workspace of 64 bytes". */
    bt_status (*write)(bt_ctx *, const bt_compiled *, const char *entry,
                       const void *options, const char *folder, bt_text *said);
    /* optional, of an executor that makes code of a program: a session's, as text */
    bt_status (*describe)(bt_ctx *, void *session, bt_text *out);
    /* optional: a session of its own with the code of another one, which may be in use in
     * another thread, and closed before. Without it, bt_program_share opens or loads. */
    bt_status (*share)(bt_ctx *, const void *session, void **out);
} bt_executor;
#define BT_EXECUTORS(array)                              \
    {                                                    \
        "baton.executor/1", sizeof(bt_executor), (array) \
    }

struct bt_program;
/* The code that the executor of a program of <baton/baton.h> has made of it.
 * errors  BT_ERR_UNSUPPORTED: it makes none */
BT_API bt_status bt_program_describe(const struct bt_program *, bt_text *out) BT_MUST_USE;

/* Checks arguments against a function's parameters: count, kinds, dtypes, dims and
 * their ranges, references whose session was closed; data on the surface only. dims:
 * NULL, or room for the value of each of the function's type parameters, as shapes show
 * it: n of (n), of (2*n + 1), of (n + m) where m is known; -1 where none does, and for
 * parameters that are no dims.
 * errors  BT_ERR_ARGUMENT */
BT_API bt_status bt_check_args(bt_ctx *, const bt_module *, const bt_global *entry,
                               uint32_t narg, bt_object *const *args,
                               int64_t *dims) BT_MUST_USE;

/* Checks a tensor of the caller for a leaf of the entry's result: it is of the type of
 * `like`, of which only dtype, rank and dims are read (NULL: the result is no tensor), row
 * major, and shares no bytes with outs[0] to outs[index - 1], of which some may be NULL.
 * errors  BT_ERR_ARGUMENT */
BT_API bt_status bt_check_out(bt_ctx *, const bt_global *entry, bt_tensor *const *outs,
                              uint32_t index, const bt_tensor *like) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
