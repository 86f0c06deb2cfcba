/*
 * Baton for applications: open a program, set inputs, run, read outputs.
 * sdk/examples/run.c is a whole one on a screen, threads.c runs one in several threads,
 * budget.c within bounds of memory.
 *
 *     bt_ctx *ctx = bt_open();
 *     bt_program *program;
 *     bt_status status = bt_program_open(ctx, "model.onnx", NULL, &program);
 */
#ifndef BATON_BATON_H
#define BATON_BATON_H

#include <baton/base.h>
#include <baton/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A registry with default options and a context in it; bt_ctx_destroy frees both. NULL:
 * no memory. */
BT_API bt_ctx *bt_open(void);

typedef struct bt_program bt_program;

/* Whether what the runs will be given decides more of a model, such as its dims. */
typedef struct bt_specialise_call {
    void *self;
    const struct bt_module *module; /* read and typed; NULL: it could not be */
    const struct bt_global *entry;  /* of it */
    /* The model could not be read with what was set last: this is the model without it. */
    uint32_t is_refused;
    /* Set by the callee: what to read the model with instead, all of it, NULL-terminated;
     * both NULL: it is taken as it is. To stay until the program is open. */
    const char *const *dims, *const *fixed;
} bt_specialise_call;

typedef struct bt_program_options {
    const char *entry; /* function; NULL: main, or the only one */
    /* "graph", "vm{steps=1000}". NULL: what is compiled is run by "graph", or by "vm" where
     * it has branches, calls or data types; what cannot be compiled, which a remark says, by
     * "interp", as where the target is "interp". */
    const char *executor;
    /* name, file or one-line form; NULL: "default"; "": no passes */
    const char *pipeline;
    int32_t level;           /* opt level plus one; 0: the pipeline's own */
    const char *const *dims; /* "n=4", NULL-terminated */
    /* Targets, for executors of compiled programs: "cpu", or "npu, cpu{threads=2}" in
     * order of preference, where the last gets what is left. Its name is what conditions
     * of the pipeline ask for. NULL: "cpu", or "reference" where its plugin is missing;
     * "interp" of executors that compile nothing. Of an artifact: its own ones, with other
     * options, but for those that only compiling heeds (bt_target.compile_options). */
    const char *target;
    /* Pipelines of executors of compiled programs, by name, file or in one line. */
    const char *fuse; /* what is computed together; NULL: "fuse" */
    const char *plan; /* of the lowered program; NULL: "plan", which has tensors share
                         memory; "": none */
    const char *const *fixed; /* "axes=[1, 2]": inputs of a foreign model that are
                                 constants; NULL-terminated */
    /* Called when a model was read, and again when it was read with what it had set; NULL:
     * never. If the model cannot be read so, it is taken as it was. */
    bt_status (*specialise)(bt_ctx *, bt_specialise_call *);
    void *specialise_self;
    /* Values and ranges of open dims, "n=1,8..32 step 8,64.. m=5", for which kernels have
     * code of their own; NULL: those of the entry's attribute `hot`. */
    const char *hot;
    /* What bt_program_compile says of the folder that an executor wrote, on a line without
     * an end: "for target c: 1 kernel, 7 files". NULL: nobody asks. */
    bt_text *said;
    /* 1: the program keeps what it was compiled from, for bt_program_fused. 0: constants that
     * are packed leave memory as they were before. */
    uint32_t keeps_source;
    /* Bytes that tensors may take at once, without inputs, constants and results, of
     * executors of compiled programs; 0: as many as they need. */
    int64_t memory;
} bt_program_options;

/* Reads, infers, optimises and loads; or maps an artifact, which has all that behind it:
 * options that only compiling heeds are refused. NULL options: all defaults. */
BT_API bt_status bt_program_open_sized(bt_ctx *, const char *path,
                                       const bt_program_options *, size_t nbytes,
                                       bt_program **out) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_program_open(bt_ctx *ctx, const char *path,
                                                    const bt_program_options *options,
                                                    bt_program **out)
{
    return bt_program_open_sized(ctx, path, options, sizeof(*options), out);
}
/* The same program for another thread, with a context of its own of the same registry:
 * inputs, outputs and runs are its own, what was compiled is shared. May be called while
 * the other one runs, and that may be closed before.
 * errors  BT_ERR_ARGUMENT: a context of another registry */
BT_API bt_status bt_program_share(bt_ctx *, const bt_program *,
                                  bt_program **out) BT_MUST_USE;
/* Outputs stay as long as somebody holds them, but a reference (BT_OBJECT_REF) is empty from
 * now on, wherever it is held: runs of other programs that read or write it fail, as do those
 * that call a function that no program shares the code of any more. Accepts NULL. */
BT_API void bt_program_close(bt_program *);

/* Compiles a model for options->target and writes an artifact, which bt_program_open
 * takes; NULL target: "cpu" where there is one. With an executor that makes files (aot), the
 * path is a folder, and a NULL target is "c".
 * errors  BT_ERR_UNSUPPORTED: a program that needs executor interp; BT_ERR_ARGUMENT: the
 *         executor compiles nothing */
BT_API bt_status bt_program_compile_sized(bt_ctx *, const char *model,
                                          const bt_program_options *, size_t nbytes,
                                          const char *artifact) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_program_compile(bt_ctx *ctx, const char *model,
                                                       const bt_program_options *options,
                                                       const char *artifact)
{
    return bt_program_compile_sized(ctx, model, options, sizeof(*options), artifact);
}

/* What a program takes and gives. */
typedef struct bt_port {
    const char *name;
    const char *type;    /* as text: "Tensor[(1, 28, 28), float32]" */
    bt_dtype dtype;      /* 0 unless a tensor of known dtype */
    int32_t rank;        /* -1 unless known */
    const int64_t *dims; /* -1 for those not known before run time */
    uint32_t kind;       /* BT_OBJECT_...: of its values */
    uint32_t nfield;     /* of an input that is a tuple; outputs are walked as objects */
    /* Called NAME.0, NAME.1, ...; NULL where there are too many of them to list. */
    const struct bt_port *const *fields;
    /* dims, and in place of -1 the least sizes of 1 and more that go together in all
     * inputs; 1 where an input's type does not tell. */
    const int64_t *sizes;
} bt_port;
BT_API const char *bt_program_entry(const bt_program *); /* the function that runs */
/* What runs it: "graph", "vm{steps=1000}". */
BT_API const char *bt_program_executor(const bt_program *);
BT_API uint32_t bt_program_ninput(const bt_program *);
/* Borrowed from the program. NULL: no such input, output. */
BT_API const bt_port *bt_program_input(const bt_program *, uint32_t index);
/* Fields of a result that is a tuple, else 1. */
BT_API uint32_t bt_program_noutput(const bt_program *);
BT_API const bt_port *bt_program_output(const bt_program *, uint32_t index);
/* Their indices by name; -1: none is called so. Names of outputs differ from each other;
 * they are settled before any pass. */
BT_API int32_t bt_program_input_index(const bt_program *, const char *name);
BT_API int32_t bt_program_output_index(const bt_program *, const char *name);

/* Takes a reference. The value's type is checked when the program runs.
 * errors  BT_ERR_NAME: no such input; BT_ERR_ARGUMENT: the value is NULL */
BT_API bt_status bt_program_set(bt_program *, const char *input,
                                const bt_object *) BT_MUST_USE;
BT_API bt_status bt_program_set_at(bt_program *, uint32_t index,
                                   const bt_object *) BT_MUST_USE;
/* From now on runs put this output into the caller's tensor, of which it takes a
 * reference; NULL: into a new one each time. Executor graph computes there: where all
 * outputs are set and all tensors are row major, runs ask for no memory. Two outputs share
 * no bytes, or the run fails. An input's tensor, or one in an input that is a tuple, may be
 * an output's: the run reads what it held before, and other outputs that are tensors hold
 * that; executor graph computes there without a copy where the kernel that writes the output
 * may, and nothing reads the input later. After a run that fails it may hold anything.
 * Data, closures and references that hold the tensor itself hold what is written.
 * errors  BT_ERR_NAME: no such output; BT_ERR_ARGUMENT: the tensor is of another type than
 *         the output, or not row major */
BT_API bt_status bt_program_set_output(bt_program *, uint32_t index,
                                       bt_tensor *) BT_MUST_USE;
/* errors  BT_ERR_ARGUMENT: an input is missing or does not fit; BT_ERR_RUNTIME,
 *         BT_ERR_LIMIT, BT_ERR_CANCELLED: of the run */
BT_API bt_status bt_program_run(bt_program *) BT_MUST_USE;
/* An output, the caller's tensor where one was set; borrowed, until the next run. NULL
 * before the first. */
BT_API const bt_object *bt_program_get(const bt_program *, uint32_t index);

/* ---- where the time goes ---- */

/* A call that ran: of an operator, or of a function that several were joined to. */
typedef struct bt_profile_row {
    const char *name;      /* operator, function: "fused_nn_conv2d_nn_relu" */
    const char *sources;   /* nodes or lines of the model that it came from; "" */
    uint64_t ncall, ns;    /* of all runs */
    int64_t multiply_adds; /* of one call; -1: not known */
    int64_t nbytes;        /* that one call reads and writes; -1: not known */
} bt_profile_row;
typedef struct bt_profile_event {
    uint32_t row;
    uint64_t start_ns; /* since recording began */
    uint64_t elapsed_ns;
    uint32_t track; /* which of the profile's */
} bt_profile_event;
/* A value that an open dim of the entry had, and in how many runs. */
typedef struct bt_profile_dim {
    const char *name;
    int64_t value;
    uint64_t nrun;
} bt_profile_dim;
/* A function that ran as bindings, in executors that call functions, and how often. */
typedef struct bt_profile_function {
    const char *name; /* "fn": it has none */
    uint64_t ncall;
} bt_profile_function;
typedef struct bt_profile {
    uint32_t nrow;
    const bt_profile_row *rows; /* what took longest first */
    uint32_t nevent;            /* the first ones, at most 1048576 */
    const bt_profile_event *events;
    uint32_t ndim;
    const bt_profile_dim *dims; /* dim by dim; of each, what it was most often first */
    uint32_t nfunction;
    const bt_profile_function *functions; /* what was called most often first */
    uint64_t nleft_out;                   /* events that came after the first ones */
    uint32_t ntrack; /* what runs beside each other: the host first, then queues */
    const char *const *tracks; /* "host", "npu kernels", "npu copies" */
} bt_profile;
/* From now on runs are recorded, which takes time and memory of its own; forgets those
 * before. on 0: no more are. */
BT_API bt_status bt_program_record(bt_program *, int on) BT_MUST_USE;
/* Borrowed from the program, until recording begins again.
 * errors  BT_ERR_ARGUMENT: nothing is recorded */
BT_API bt_status bt_program_profile(bt_program *, const bt_profile **out) BT_MUST_USE;

/* A run that stands before a binding of a function. */
typedef struct bt_stop {
    const struct bt_func *func;
    const struct bt_value *next; /* the binding that is computed when the run goes on */
    uint32_t depth;              /* calls that have not returned; 1: of the entry */
    void *frame;
    /* A new reference to a value of the function; NULL where it is not known yet, nobody
     * needs it any more, or it lies in memory of kernels. */
    bt_status (*look)(bt_ctx *, void *frame, const struct bt_value *, bt_object **out);
} bt_stop;
/* From now on runs call `before` before each binding, in the caller's thread: it may look
 * and wait; an error ends the run. NULL: no longer. What executors interp and vm run has
 * such steps; vm's are those of the program as it was lowered. */
typedef bt_status bt_before_fn(void *self, const bt_stop *);
BT_API void bt_program_watch(bt_program *, bt_before_fn *before, void *self);

#ifdef __cplusplus
}
#endif
#endif
