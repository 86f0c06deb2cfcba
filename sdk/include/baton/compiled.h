/*
 * Programs compiled for targets: for who compiles them, plans their memory or runs them.
 *
 *     typed module     bt_fuse
 *     fused            bt_compile: lowered, planned, compiled, loaded
 *     bt_compiled      bt_compiled_launch, bt_compiled_enqueue
 */
#ifndef BATON_COMPILED_H
#define BATON_COMPILED_H

#include <baton/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- targets by name ---- */

/* A target with its options, opened. */
typedef struct bt_target_use {
    const char *text; /* as it was given, without its unnamed options: "cpu{threads=2}" */
    const bt_target *target;
    void *instance;
    const bt_space *space; /* of memory of its own, all filled in; NULL: the host's */
    const char *options;   /* as they were given, without braces: "threads=2" */
} bt_target_use;

/* Those of a list. Each is opened once for a whole compilation: passes, lowering and the
 * compiled module have the same instances. */
typedef struct bt_targets {
    uint32_t nref; /* atomic */
    uint32_t n;
    const bt_target_use *const *at; /* in order of preference */
    bt_arena *arena;
} bt_targets;

/* Opens those of a list, "npu, cpu{threads=2}", in its order: all or none.
 * errors  BT_ERR_NAME, BT_ERR_ATTRIBUTE, BT_ERR_ARGUMENT: the list; of open */
BT_API bt_status bt_targets_open(bt_ctx *, const char *list,
                                 bt_targets **out) BT_MUST_USE;
BT_API bt_targets *bt_targets_ref(const bt_targets *);
BT_API void bt_targets_unref(bt_targets *); /* accepts NULL; the last closes them */
/* Which of them a text means: the first given so, else the first of this name; n: none
 * of them. */
BT_API uint32_t bt_targets_find(const bt_targets *, const char *text);

/* Whether a target takes a primitive function: NULL, or why not (BT_ERR_UNSUPPORTED):
 * what `supports` says, after a look at what every target needs. */
BT_API bt_status bt_target_supports(bt_ctx *, const bt_target_use *,
                                    const bt_func *primitive) BT_MUST_USE;
/* Which of them computes a primitive function: the one that its attribute `target` names (n: there
 * is none such), else the first without patterns that takes it, else the last. Lowering goes on
 * with the next where one that takes it makes no kernels of it after all. */
BT_API bt_status bt_targets_choose(bt_ctx *, const bt_targets *, const bt_func *,
                                   uint32_t *out) BT_MUST_USE;

/* ---- compiling for them ---- */

typedef struct bt_compile_options {
    const char *targets;      /* in order of preference: "cpu", "npu, cpu{threads=2}" */
    const bt_targets *opened; /* the same opened; NULL: they are opened for this call */
    const char *entry;        /* function; NULL: main, or the only one */
    /* BT_CODE_SOURCE: the code of all kernels stays text (bt_compiled.codes), to be put
     * into a program; what is compiled is not launched then. 0: it is loaded. */
    uint32_t form;
    /* Pipelines, by a name, a file or in one line; NULL: those of these names. */
    const char *fuse; /* makes primitive functions of the typed program's calls, with
                         control flow that of the name fuse-control; "": the program
                         calls primitive functions already */
    const char *plan; /* plans the memory of the lowered program; "": every tensor gets
                         memory of its own */
    /* 1: what runs the program has branches, calls, closures, data types and references,
     * computes scalars and runs operators that no kernel computes. All functions that the
     * entry reaches are lowered then. 0: the program is a chain of primitive calls. */
    uint32_t has_control_flow;
    /* Values and ranges of the entry's open dims, "n=1,8..32 step 8,64.. m=5", for which
     * kernels have code of their own (pass versions); NULL: those of its attribute `hot`. */
    const char *hot;
    /* Bytes that tensors may take at once, without inputs, constants and results: options
     * max-bytes of passes fit-memory and plan-memory. 0: as many as they need. */
    int64_t memory;
} bt_compile_options;

/* Puts calls that are computed together into primitive functions: by pipeline "fuse" what
 * targets of the list claim (pass partition), then the rest (pass fuse-ops). */
BT_API bt_status bt_fuse_sized(bt_ctx *, const bt_module *typed,
                               const bt_compile_options *, size_t nbytes,
                               bt_module **out) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_fuse(bt_ctx *ctx, const bt_module *typed,
                                            const bt_compile_options *options,
                                            bt_module **out)
{
    return bt_fuse_sized(ctx, typed, options, sizeof(*options), out);
}

/* A kernel of a compiled module. */
typedef struct bt_compiled_kernel {
    const char *name;
    uint32_t func;    /* the primitive function that it is of */
    uint32_t target;  /* whose it is, ... */
    uint32_t number;  /* ... and its number there: launch's */
    const char *type; /* what memory.invoke gives it: what it reads, what it writes, its
                         workspace; "fn <n: Dim>((Tensor[(n), int8],), (..)) -> ()" */
} bt_compiled_kernel;

/* A primitive function of a compiled module. */
typedef struct bt_compiled_func {
    const char *name;
    uint32_t target;       /* that computes it */
    const char *why;       /* what those said that were asked before, a line each; "" */
    int64_t multiply_adds; /* of a call; -1: not known */
    int64_t nbytes;        /* that a call reads and writes, at its borders; -1 */
    const char *way;       /* how, in a few words (bt_lowering.way); "": not said */
} bt_compiled_func;

/* A module compiled: functions planned, kernels loaded. Immutable; sessions of executors
 * share it. */
typedef struct bt_compiled {
    uint32_t nref; /* atomic */
    bt_registry *registry;
    bt_module *module; /* planned: primitive calls have become memory.invoke */
    uint32_t ntarget;
    const bt_target_use *const *targets; /* those of `opened` */
    bt_targets *opened;
    void **loaded;       /* by target; NULL: it has no kernels here */
    const char **spaces; /* by target: what storage in its own memory is said to be in */
    const char **compatibility; /* by target: what its code needs of a machine; "": not
                                   stated */
    uint32_t nkernel;
    const bt_compiled_kernel *const *kernels;
    const bt_kernel_code *const *codes; /* by kernel */
    uint32_t nfunc;
    const bt_compiled_func *const *funcs; /* in order of their first call */
    bt_arena *arena;
    const bt_tensor *file;           /* in which code lies; NULL: it was compiled here */
    const char *entry;               /* the function that was compiled */
    const char *executor;            /* that was asked for; "": the first that can */
    const char *provenance;          /* who made it, as lines; see <baton/artifact.h> */
    struct bt__constants *constants; /* the library's own */
    /* of its constants: before targets packed them, and as they are */
    uint64_t unpacked_nbytes, packed_nbytes;
} bt_compiled;

/* Lowers the entry of a fused module (pass fuse-ops), plans its memory and loads its
 * kernels. A primitive function goes to the target that its attribute `target` names; else to the
 * first that takes it, where those with patterns are not asked (pass partition speaks for
 * them) unless they are the last. What a target refuses goes on to the next that is asked;
 * where it had taken it before, there is a remark. Arguments and results are in the host's
 * memory.
 * errors  BT_ERR_UNSUPPORTED: what is not a static chain of primitive calls; why the
 *         last target does not take one; BT_ERR_PLUGIN: a target describes kernels that
 *         cannot be */
BT_API bt_status bt_compile_sized(bt_ctx *, const bt_module *fused,
                                  const bt_compile_options *, size_t nbytes,
                                  bt_compiled **out) BT_MUST_USE;
BT_MUST_USE static inline bt_status bt_compile(bt_ctx *ctx, const bt_module *fused,
                                               const bt_compile_options *options,
                                               bt_compiled **out)
{
    return bt_compile_sized(ctx, fused, options, sizeof(*options), out);
}

/* From a typed module: bt_fuse, `check` of what it gives, bt_compile. What fits in
 * options->memory is an estimate before memory is planned: where the plan takes more, all is done
 * anew with a smaller budget for what comes before it, a few times. check may be NULL; *fused: what
 * was compiled, may be NULL.
 * errors  BT_ERR_LIMIT: it takes more memory in each way */
BT_API bt_status bt_compile_typed_sized(
    bt_ctx *, const bt_module *typed, const bt_compile_options *, size_t nbytes,
    bt_status (*check)(void *self, const bt_module *fused), void *self, bt_module **fused,
    bt_compiled **out) BT_MUST_USE;
BT_MUST_USE static inline bt_status
bt_compile_typed(bt_ctx *ctx, const bt_module *typed, const bt_compile_options *options,
                 bt_status (*check)(void *self, const bt_module *fused), void *self,
                 bt_module **fused, bt_compiled **out)
{
    return bt_compile_typed_sized(ctx, typed, options, sizeof(*options), check, self,
                                  fused, out);
}
/* Compiles a primitive function of a fused module alone, for who measures its kernels or
 * checks them. What is compiled has no module; its kernels are those of *lowering, which
 * lives as long. *lowering NULL: the function only changes the shape and has no kernel. */
BT_API bt_status bt_compile_primitive_sized(bt_ctx *, const bt_module *fused,
                                            const bt_global *primitive,
                                            const bt_compile_options *, size_t nbytes,
                                            bt_compiled **out,
                                            const bt_lowering **lowering) BT_MUST_USE;
BT_MUST_USE static inline bt_status
bt_compile_primitive(bt_ctx *ctx, const bt_module *fused, const bt_global *primitive,
                     const bt_compile_options *options, bt_compiled **out,
                     const bt_lowering **lowering)
{
    return bt_compile_primitive_sized(ctx, fused, primitive, options, sizeof(*options),
                                      out, lowering);
}
BT_API bt_compiled *bt_compiled_ref(bt_compiled *);
BT_API void bt_compiled_unref(bt_compiled *); /* accepts NULL */
/* The number of a kernel; nkernel where there is none of that name. */
BT_API uint32_t bt_compiled_find_kernel(const bt_compiled *, const char *name);
/* Whether it is a call of an operator of memory, of which lowered functions are made. */
BT_API int bt_value_is_memory_call(const bt_value *);
/* The name of the kernel that a memory.invoke runs; NULL: the value is none. */
BT_API const char *bt_invoke_kernel(const bt_value *);
/* What it gives for the kernel's dims; NULL: no list of dims. */
BT_API const bt_shape_type *bt_invoke_dims(const bt_call *);
/* Whether nothing is left to do for it in a planned program: all that its output is made of
 * (attribute `parts`) lies there, one after the other, or it lies where its input has it (`slice`).
 * Its kernel is not to be run then. */
BT_API int bt_invoke_is_done(const bt_call *);
/* What an executor knows the leaves of a planned function's values by, such as where each
 * tensor is: an item of its own for each. */
typedef struct bt_leaves {
    uint32_t n;
    const void *const *at;
} bt_leaves;
typedef struct bt_leaf_map {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *who; /* with which messages begin */
    bt_map of;       /* value -> bt_leaves * */
    /* The item of a constant tensor. */
    bt_status (*constant)(void *self, const bt_tensor *, const void **out);
    void *self;
} bt_leaf_map;
/* A value's own items, of so many bytes each, which stay where they are. */
BT_API bt_status bt_leaves_set(bt_leaf_map *, const bt_value *, uint32_t n,
                               const void *items, size_t nbytes) BT_MUST_USE;
/* Those of an operand; a constant gets its items when it is met.
 * errors  BT_ERR_UNSUPPORTED: it has none */
BT_API bt_status bt_leaves_find(bt_leaf_map *, const bt_value *,
                                const bt_leaves **out) BT_MUST_USE;
/* Gives a tuple, a projection or a view the items of what it is made of. *done 0: it is
 * none of them. */
BT_API bt_status bt_leaves_follow(bt_leaf_map *, const bt_value *, int *done) BT_MUST_USE;
/* Has its target run a kernel, by its number in the module. */
BT_API bt_status bt_compiled_launch(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                    const bt_kernel_call *) BT_MUST_USE;
/* Memory of the host, with what lies around a buffer in it. */
typedef struct bt_host_block {
    char *at;
    size_t nbytes;
    uint32_t is_constant; /* not copied back: it may lie in a file that is mapped */
} bt_host_block;
/* The same on memory of the host, where the target has its own as well: then the blocks
 * of all buffers, whose number the call must say, and of the workspace behind them, are
 * copied there and back. One address means one block.
 * errors  BT_ERR_ARGUMENT: nbuffer is 0 there; of launch */
BT_API bt_status bt_compiled_launch_hosted(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                           const bt_kernel_call *,
                                           const bt_host_block *around) BT_MUST_USE;
/* The same, of a target with queues: it puts the kernel into one. */
BT_API bt_status bt_compiled_enqueue(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                     const bt_kernel_call *, const bt_order *,
                                     uint64_t *value) BT_MUST_USE;
/* What a kernel has failed with, with a note that names it and its target: of `wait`. */
BT_API bt_status bt_compiled_note(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                  bt_status) BT_MUST_USE;
/* Memory of a target's own, by the target's number: a block, to be freed by the target.
 * errors  what its alloc says, with a note; BT_ERR_PLUGIN: it gives nothing;
 *         BT_ERR_ARGUMENT: it has no memory of its own */
BT_API bt_status bt_compiled_alloc(bt_ctx *, const bt_compiled *, uint32_t target,
                                   uint64_t nbytes, void **block) BT_MUST_USE;
/* A constant in the memory of a target's own, by the target's number: a block, which stays
 * as long as the compiled module, and so must the tensor, by whose address it is found. It
 * is copied there once, for all sessions, and any thread may ask.
 * errors  BT_ERR_ARGUMENT: the target has no memory of its own */
BT_API bt_status bt_compiled_constant(bt_ctx *, const bt_compiled *, uint32_t target,
                                      const bt_tensor *, void **block) BT_MUST_USE;
/* Not 0 once bt_ctx_cancel was called: bt_kernel_call.stop. */
BT_API const uint32_t *bt_ctx_stop(const bt_ctx *);
/* A kernel that runs. */
typedef struct bt_running_kernel {
    const char *target, *kernel;
    uint32_t nbuffer; /* that it was given; 0: not known */
} bt_running_kernel;
/* Which kernel runs in a call with this context; NULL: none. A handler of a fault's signal
 * may ask, in any thread, to say where a target's code crashed. */
BT_API const bt_running_kernel *bt_ctx_running(const bt_ctx *);
/* What a program of <baton/baton.h> runs; NULL: a module as it stands. */
struct bt_program;
BT_API const bt_compiled *bt_program_compiled(const struct bt_program *);
/* The module that was compiled for it, with its primitive functions and the calls of them.
 * errors  BT_ERR_UNSUPPORTED: it is an artifact, not compiled, or opened without
 *         `keeps_source` */
BT_API bt_status bt_program_fused(const struct bt_program *, bt_module **out) BT_MUST_USE;
/* The values of its inputs, in their order; borrowed from the program.
 * errors  BT_ERR_ARGUMENT: one is missing or does not fit */
BT_API bt_status bt_program_args(const struct bt_program *,
                                 bt_object *const **out) BT_MUST_USE;

/* ---- memory of a lowered function ---- */

/* A tensor of memory.alloc_tensor, and the bindings between which its elements matter:
 * from the first kernel that has it to the last. Bindings are counted depth first, those
 * of a block of an `if` behind it. */
typedef struct bt_live_range {
    const bt_call *tensor;          /* memory.alloc_tensor */
    const bt_call *storage;         /* memory.alloc_storage */
    const bt_type *offset, *nbytes; /* in the storage, dims */
    uint32_t first, last; /* bindings, by position; first > last: no kernel has it */
    /* 1: it outlives the function or its block: it is part of a result, of a call's
     * arguments, of a value that holds it; or its size is found while the function runs.
     * Then it has storage of its own. */
    uint32_t escapes;
    /* Those of the list in whose bytes it may begin, at the same offset: its first kernel
     * is their last, which allows that, and all have as many bytes. */
    uint32_t nalias;
    const uint32_t *aliases;
    /* Those of the list that it is made of, one after the other: its only kernel lays them
     * like that, and nothing writes them afterwards, so that they may lie in it. All of them
     * do, or none. */
    uint32_t npart;
    const uint32_t *parts;
    /* 1 + the one of the list that has its elements from byte slice_at on, and that nothing writes
     * from its only kernel on, as nothing writes itself: it may lie there. 0: there is none. */
    uint32_t slice_of;
    int64_t slice_at;
} bt_live_range;
/* In order of the function; the list lives in the arena. What happens to a memory.view
 * happens to the tensor that it is of. */
BT_API bt_status bt_live_ranges(bt_ctx *, bt_arena *, const bt_func *, uint32_t *n,
                                bt_live_range **out) BT_MUST_USE;
/* Whether two tensors that live at once share bytes, other than in place, or one reaches
 * beyond its storage, for some values of the dims: what cannot be proved of a plan is
 * refused.
 * errors BT_ERR_VERIFY */
BT_API bt_status bt_plan_check(bt_ctx *, const bt_func *) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
