/*
 * For authors of hardware targets: what turns primitive functions into kernels, and runs
 * them.
 *
 *     source       %0 = nn.dense(%x, %w); %y = nn.relu(%0)
 *                     |  patterns, supports, cost: what it claims beside others
 *     fused        %y = @fused_dense_relu(%x, %w)
 *                     |  lower     which kernels the function becomes, on which buffers
 *     lowered      memory.invoke((%x, %w), (%y,), kernel="fused_dense_relu")
 *                     |  compile   the code of each kernel
 *     code            bytes, an object or C text; kept in artifacts
 *                     |  load      on the machine that runs it
 *     loaded          launch
 */
#ifndef BATON_TARGET_H
#define BATON_TARGET_H

#include <baton/ir.h>
#include <baton/kernel.h>
#include <baton/loops.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kernels ---- */

/* A buffer of a kernel: a leaf of the primitive function's parameters or result, in
 * order, tuples depth first; or a temp, memory that the function's kernels share while
 * they run. */
typedef struct bt_kernel_buffer {
    uint32_t kind;  /* BT_BUFFER_INPUT, _OUTPUT, _TEMP */
    uint32_t index; /* among those of its kind */
} bt_kernel_buffer;

/* Output `out` may lie in the bytes of input `in`, if both have equal sizes: the kernel must
 * read each byte of the input before it overwrites it. A tensor that is several inputs of
 * the kernel needs a row for each of them. */
typedef struct bt_kernel_over {
    uint32_t out, in;
    /* 1: the kernel updates in place: before the launch the output holds what the input
     * holds, and the kernel gets this one buffer as both. */
    uint32_t keeps;
} bt_kernel_over;

/* One launch. Dims of the primitive function that are its type parameters (bt_func.vars)
 * are open: the call has their values, in this order (bt_kernel_call.dims). */
typedef struct bt_kernel {
    const char *name; /* unique in the module; bt_compile sets it */
    uint32_t nin;     /* buffers that it reads */
    const bt_kernel_buffer *in;
    uint32_t nout; /* buffers that it writes, every element of each */
    const bt_kernel_buffer *out;
    const bt_func *primitive; /* the function that it belongs to; bt_compile sets it */
    const void *content;      /* the target's own, for compile */
    uint32_t nover;           /* optional: what it may compute in place */
    const bt_kernel_over *over;
    const bt_type *workspace; /* bytes that it has for itself during a launch, a dim over
                                 those of the primitive function; NULL: none */
    uint32_t target;       /* its target, by the number in the list; bt_compile sets it */
    uint32_t ignores_dims; /* optional: 1, it reads none of the call's dims */
} bt_kernel;

/* What a primitive function becomes: kernels, which run one after the other. A kernel that
 * reads constants only (for example one that packs a weight) runs when the module is
 * compiled, and the module keeps its outputs in place of the weight. This needs that no
 * other kernel writes these outputs, and that they have at most 8 times the bytes that it
 * reads, plus 1 MiB. */
typedef struct bt_lowering {
    uint32_t nkernel;
    bt_kernel *const *kernels; /* by bt_lowering_add */
    uint32_t ntemp;
    const bt_type *const
        *temps; /* bytes of each, dims: what one kernel leaves to the next */
} bt_lowering;

/* Adds a kernel in which all is zero, to be filled in, behind those that are there. It is
 * in the arena; NULL: no memory. */
BT_API bt_kernel *bt_lowering_add(bt_lowering *, bt_arena *);
/* The same, filled in: one on all leaves of the primitive function, that reads all of them
 * before it writes any, as bt_evaluator_run (<baton/compute.h>) does. */
BT_API bt_kernel *bt_lowering_whole(bt_lowering *, bt_arena *, const bt_func *primitive);

/* ---- code ---- */

/* What the code of a kernel is. */
enum {
    BT_CODE_ANY,    /* asked for: whatever the target has */
    BT_CODE_BYTES,  /* the target's own, which it loads and launches itself */
    BT_CODE_OBJECT, /* a relocatable ELF object with the kernel's function */
    BT_CODE_SOURCE  /* C99 text of such an object; it may include <baton/kernel.h> */
};

/* What a fault of a kernel function says. */
typedef struct bt_fault {
    const char *text;  /* NULL: an index is out of bounds ... */
    const char *array; /* ... for axis `axis` of this one, ... */
    uint32_t axis;
    int64_t extent; /* ... which has this extent */
} bt_fault;

/* The code of one kernel. Kernels may share a piece of it: the same `at`. */
typedef struct bt_kernel_code {
    uint32_t form;      /* BT_CODE_... */
    const char *symbol; /* the name of its function, a bt_kernel_fn; NULL of bytes */
    const void *at;
    size_t nbytes;
    const void *own; /* beside an object, what a target needs that loads it itself */
    size_t own_nbytes;
    uint64_t scratch; /* bytes that each worker needs; a kernel's workspace begins with
                         those of the caller */
    uint32_t nphase;  /* phases run one after the other, the iterations of each ... */
    const int64_t *phases; /* ... (so many) in any order; none: one of one iteration */
    uint32_t nfault;
    const bt_fault *faults;
} bt_kernel_code;

/* The error that a fault is: a row of `faults`, or BT_FAULT_... */
BT_API bt_status bt_kernel_fault(bt_ctx *, const char *kernel, int32_t fault,
                                 uint32_t nfault, const bt_fault *faults) BT_MUST_USE;

/* ---- the target ---- */

/* A time, and how far it is to be trusted: where two targets could compute something, the
 * one that is faster by more than the doubt is chosen. */
typedef struct bt_cost {
    double ns;
    double confidence; /* 1: it was measured ... 0: it says nothing */
} bt_cost;

/* Memory that an instance has for itself. */
typedef struct bt_space {
    const char *name; /* for messages, "dram"; NULL: the target's */
    uint64_t align; /* of blocks and of all that begins in one: a power of two, from 64 to
                         a mebibyte; 0: 64 */
    uint64_t largest; /* bytes that a block has at most; 0: no limit of its own. Functions
                         with greater tensors go to another target, and a plan takes as
                         many blocks as it needs. */
    uint64_t budget; /* bytes of all blocks of a session together; 0: not known. A session
                         that needs more is refused before it takes any. */
} bt_space;

/* A place in memory: an address of the host's, or a block of a target's own and where in
 * it. */
typedef struct bt_buffer {
    void *block;
    uint64_t offset, nbytes;
    uint32_t is_own; /* 1: the target's */
} bt_buffer;

/* An event has happened once the counter of its queue has reached the value. Events are
 * not created or freed; one whose command has ended long ago is still valid. */
typedef struct bt_event {
    void *queue;
    uint64_t value;
} bt_event;

/* When a command may start: after all commands that were put into its queue before it, and
 * after these events, which belong to queues of the same instance. */
typedef struct bt_order {
    void *queue;
    uint32_t nwait;
    const bt_event *waits;
} bt_order;

typedef struct bt_target {
    const char *name; /* "cpu" */
    const char *doc;
    const bt_attr *options; /* as an operator's attributes; NULL: none */
    size_t options_nbytes;
    /* An instance: what belongs to a device, or a configuration of one. */
    bt_status (*open)(bt_ctx *, const void *options, void **self);
    void (*close)(void *self);
    /* NULL, or why it does not take a primitive function: BT_ERR_UNSUPPORTED. Where it is
     * absent all are taken. */
    bt_status (*supports)(bt_ctx *, void *self, const bt_func *primitive);
    /* The function's kernels; what is described lives in the arena, until after compile.
     */
    bt_status (*lower)(bt_ctx *, void *self, bt_arena *, const bt_func *primitive,
                       bt_lowering *out);
    /* The code of each of a module's kernels, in the arena, in a form that another process
     * may load. It may be called several times, each time for some of the kernels. `form`
     * is BT_CODE_ANY in general; a caller may ask for another form, as a generator of C
     * programs asks for the source, but must be able to do without it. */
    bt_status (*compile)(bt_ctx *, void *self, bt_arena *, uint32_t form,
                         uint32_t nkernel, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out);
    /* load, unload, launch: all, or none of them where the code is always an object or
     * source: then it is compiled, linked and called by the kernel, in the caller's thread.
     *
     * Makes code ready to run; kernels are those of compile, in its order. The bytes may
     * come from a file; they stay as long as what is loaded. *loaded is not NULL. */
    bt_status (*load)(bt_ctx *, void *self, uint32_t nkernel,
                      const bt_kernel_code *const *, void **loaded);
    void (*unload)(void *loaded);
    /* Runs a kernel to its end (<baton/kernel.h>), and says what a fault of it means.
     * Sessions launch from several threads at once, each with a context of its own. */
    bt_status (*launch)(bt_ctx *, void *loaded, uint32_t kernel, const bt_kernel_call *);
    /* Which calls the target claims where others are listed too: patterns of calls
     * (<baton/pass.h>), ended by NULL. NULL: it has no patterns, and takes any primitive
     * function of pass fuse-ops that it supports. */
    const char *const *patterns;
    /* How long a primitive function takes that it supports. May be NULL. */
    bt_status (*cost)(bt_ctx *, void *self, const bt_func *primitive, bt_cost *out);
    /* optional: floating-point operations that the device does in a second at most,
     * measured now, by as many threads (0: as many as the instance uses): what `baton
     * bench` compares with. */
    double (*peak)(void *self, uint32_t nthread);
    /* optional: how loaded code runs, for people: a line for each thing to know. */
    void (*describe)(void *loaded, bt_text *out);
    /* optional: what code of this instance needs of a machine, in a line that is kept
     * with it: "x86-64 avx512". Where code is loaded from an artifact, `accepts` answers
     * to that line: NULL, or why not (BT_ERR_UNSUPPORTED); without it the line must be
     * what this instance would write. A target without these two loads only code that the
     * same build of its plugin has written, because another build may write another form:
     * its line is "build DIGEST of PLUGIN". */
    bt_status (*compatibility)(bt_ctx *, void *self, bt_text *out);
    bt_status (*accepts)(bt_ctx *, void *self, const char *compatibility);
    /* optional. 1: the target understands the layouts of types. 0: it is never asked for a
     * function with layouts, and all its buffers are row major. A tensor with a layout lies
     * in memory with the dims of bt_tensor_physical. Blocks that are not full (5 channels
     * in NCHW4c) are filled with zeros: a kernel may rely on these zeros in its inputs, and
     * must write them in its outputs. */
    uint32_t reads_layouts;
    /* optional. 1: the target takes primitive functions with type parameters. These are
     * dims whose values are known at the call (bt_kernel_call.dims). 0: such functions go to
     * another target. */
    uint32_t takes_dims;
    /* optional, for targets that read layouts: the layouts that the target wishes for. It
     * sets a text for each operand of the call (of a tuple: for all its fields) and one
     * for the result; a text that stays NULL is no wish.
     *     wanted[0] = "NCHW16c", wanted[1] = "OIHW16i16o", wanted[2] = "NCHW16c";
     * The call is on row-major tensors of known dims. Pass alter-layout asks, if the
     * operator has a rule for layouts and if the last target of the list, which computes
     * the transforms, reads layouts. The first target of the list with a wish decides. If
     * the call alone matches its patterns, or if it has none, `supports` is then asked about
     * the call with these layouts; a call that it refuses stays as it was. */
    bt_status (*layouts)(bt_ctx *, void *self, const bt_call *, const char **wanted);
    /* optional, all three or none: memory of an instance that the host cannot access. All
     * buffers and workspaces of its kernels are then blocks of this memory, with offsets.
     * `memory.copy` of the lowered program copies inputs there and results back. They are
     * called from several threads at once, as launch is. In a copy one side or both are the
     * target's memory; it is complete when the function returns. */
    bt_status (*alloc)(bt_ctx *, void *self, uint64_t nbytes, void **block);
    void (*free)(void *self, void *block);
    bt_status (*copy)(bt_ctx *, void *self, const bt_buffer *to, const bt_buffer *from);
    /* optional: what there is to know of that memory; *out is zero before. Absent: blocks
     * of any size, aligned to 64 bytes. */
    bt_status (*space)(bt_ctx *, void *self, bt_space *out);
    /* optional, all or none: queues, whose work goes on while the host does other things.
     * Commands of one queue run one after the other; commands of several queues run in any
     * order that their events allow. A session opens its own queues, and one thread at a
     * time uses each. They replace launch and copy, which are then not called
     * (enqueue_copy goes with alloc): for a single command that is waited for at once, a
     * queue is opened for it.
     *
     * `value` is what the queue's counter reaches when the command is done; it is greater
     * than that of the command before. What the arguments point to may go when the function
     * returns, except for memory and `stop`, which stay until the command is done. */
    bt_status (*open_queue)(bt_ctx *, void *self, void **queue);
    /* All of its commands are done, or it has failed. */
    void (*close_queue)(void *queue);
    bt_status (*enqueue)(bt_ctx *, void *loaded, uint32_t kernel, const bt_kernel_call *,
                         const bt_order *, uint64_t *value);
    bt_status (*enqueue_copy)(bt_ctx *, void *self, const bt_buffer *to,
                              const bt_buffer *from, const bt_order *, uint64_t *value);
    /* Returns once the counter has reached the value. If a command has failed, returns its
     * error, and its value in *failed. Commands behind it in the queue, or that wait for its
     * event, fail as well and never run; the queue can then only be closed. */
    bt_status (*wait)(bt_ctx *, void *queue, uint64_t value, uint64_t *failed);
} bt_target;
#define BT_TARGETS(array)                            \
    {                                                \
        "baton.target/1", sizeof(bt_target), (array) \
    }

/* ---- targets by name ---- */

/* A target with its options, opened. */
typedef struct bt_target_use {
    const char *text; /* as it was given: "cpu{threads=2}" */
    const bt_target *target;
    void *instance;
    const bt_space *space; /* of memory of its own, all filled in; NULL: the host's */
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

/* ---- compiling for them ---- */

typedef struct bt_compile_options {
    const char *targets;      /* in order of preference: "cpu", "npu, cpu{threads=2}" */
    const bt_targets *opened; /* the same opened; NULL: they are opened for this call */
    const char *entry;        /* function; NULL: main, or the only one */
    /* BT_CODE_SOURCE: the code of all kernels stays text (bt_compiled.codes), to be put
     * into a program; what is compiled is not launched then. 0: it is loaded. */
    uint32_t form;
    /* Pipelines, by a name, a file or in one line; NULL: those of these names. */
    const char *fuse; /* makes primitive functions of the typed program's calls; "": the
                         program calls primitive functions already */
    const char *plan; /* plans the memory of the lowered program; "": every tensor gets
                         memory of its own */
} bt_compile_options;

/* Puts calls that are computed together into primitive functions: by pipeline "fuse" what
 * targets of the list claim (pass partition), then the rest (pass fuse-ops). */
BT_API bt_status bt_fuse(bt_ctx *, const bt_module *typed, const bt_compile_options *,
                         bt_module **out) BT_MUST_USE;

/* A kernel of a compiled module. */
typedef struct bt_compiled_code {
    const char *name;
    uint32_t func;   /* the primitive function that it is of */
    uint32_t target; /* whose it is, ... */
    uint32_t number; /* ... and its number there: launch's */
} bt_compiled_code;

/* A primitive function of a compiled module. */
typedef struct bt_compiled_func {
    const char *name;
    uint32_t target;       /* that computes it */
    const char *why;       /* what those said that were asked before, a line each; "" */
    int64_t multiply_adds; /* of a call; -1: not known */
    int64_t nbytes;        /* that a call reads and writes, at its borders; -1 */
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
    const bt_compiled_code *const *kernels;
    const bt_kernel_code *const *codes; /* by kernel */
    uint32_t nfunc;
    const bt_compiled_func *const *funcs; /* in order of their first call */
    bt_arena *arena;
    const bt_tensor *file;           /* in which code lies; NULL: it was compiled here */
    const char *entry;               /* the function that was compiled */
    const char *provenance;          /* who made it, as lines; see <baton/artifact.h> */
    struct bt__constants *constants; /* the library's own */
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
BT_API bt_status bt_compile(bt_ctx *, const bt_module *fused, const bt_compile_options *,
                            bt_compiled **out) BT_MUST_USE;
BT_API bt_compiled *bt_compiled_ref(bt_compiled *);
BT_API void bt_compiled_unref(bt_compiled *); /* accepts NULL */
/* The number of a kernel; nkernel where there is none of that name. */
BT_API uint32_t bt_compiled_kernel(const bt_compiled *, const char *name);
/* Has its target run a kernel, by its number in the module. */
BT_API bt_status bt_compiled_launch(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                    const bt_kernel_call *) BT_MUST_USE;
/* The same, of a target with queues: it puts the kernel into one. */
BT_API bt_status bt_compiled_enqueue(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                     const bt_kernel_call *, const bt_order *,
                                     uint64_t *value) BT_MUST_USE;
/* What a kernel has failed with, with a note that names it and its target: of `wait`. */
BT_API bt_status bt_compiled_note(bt_ctx *, const bt_compiled *, uint32_t kernel,
                                  bt_status) BT_MUST_USE;
/* Memory of a target's own, by the target's number: a block, to be freed by the target.
 * errors  what its alloc says, with a note; BT_ERR_PLUGIN: it gives nothing */
BT_API bt_status bt_compiled_alloc(bt_ctx *, const bt_compiled *, uint32_t target,
                                   uint64_t nbytes, void **block) BT_MUST_USE;
/* A constant in the memory of a target's own, by the target's number: a block, which stays
 * as long as the compiled module. It is copied there once, for all sessions, and any thread
 * may ask. */
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

/* ---- checking a target ---- */

typedef struct bt_kernel_check {
    uint32_t nkernel, ncall; /* kernels, calls of their functions that were checked */
    uint32_t nwrong;         /* of these */
    double error;      /* the largest of those that were right, as a share of its bound */
    const char *where; /* ... and its function, the program's; NULL: all are exact */
} bt_kernel_check;
/* What an author of a target asks first: runs a program on the inputs that are set, call by
 * call on the values of the evaluator, and launches each call's kernels on memory of
 * their own. They must give what the evaluator gives, within some units of the last
 * place; the same bits when launched again; write all of their outputs and nothing else,
 * inputs and what lies around buffers least of all; and compute in place where they say
 * that they can. All calls that do otherwise are reported, by target, function, kernel
 * and element; *out is filled in any case. Takes the evaluator's time.
 * errors  BT_ERR_PLUGIN: the first of these; BT_ERR_UNSUPPORTED: the program is an
 *         artifact or is not compiled; of the evaluator */
BT_API bt_status bt_program_check_kernels(struct bt_program *,
                                          bt_kernel_check *out) BT_MUST_USE;

/* ---- memory of a lowered function ---- */

/* A tensor of memory.alloc_tensor, and the bindings between which its elements matter:
 * from the first kernel that has it to the last. */
typedef struct bt_life {
    const bt_call *tensor;          /* memory.alloc_tensor */
    const bt_call *storage;         /* memory.alloc_storage */
    const bt_type *offset, *nbytes; /* in the storage, dims */
    uint32_t first, last; /* bindings, by position; first > last: no kernel has it */
    uint32_t escapes;     /* 1: part of the result */
    /* Those of the list in whose bytes it may begin, at the same offset: its first kernel
     * is their last, which allows that, and all have as many bytes. */
    uint32_t nover;
    const uint32_t *over;
} bt_life;
/* In order of the function; the list lives in the arena. What happens to a memory.view
 * happens to the tensor that it is of. */
BT_API bt_status bt_lives(bt_ctx *, bt_arena *, const bt_func *, uint32_t *n,
                          bt_life **out) BT_MUST_USE;
/* Whether two tensors that live at once share bytes, other than in place, or one reaches
 * beyond its storage, for some values of the dims: what cannot be proved of a plan is
 * refused.
 * errors BT_ERR_VERIFY */
BT_API bt_status bt_plan_check(bt_ctx *, const bt_func *) BT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
