/*
 * For authors of hardware targets: what turns primitive functions into kernels, and runs
 * them. This is a whole target; what it leaves 0 is absent:
 *
 *     #include <baton/compute.h>
 *     #include <baton/op.h>
 *     #include <baton/target.h>
 *
 *     static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
 *     {
 *         const bt_value *only = func->block->bindings[0];
 *         return func->block->nbinding == 1 && bt_as_op_call(only, "negative") &&
 *                        bt_tensor_dtype(func->result) == BT_FLOAT32
 *                    ? NULL
 *                    : bt_fail(ctx, BT_ERR_UNSUPPORTED, "it takes negative of float32");
 *     }
 *
 *     static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena,
 *                            const bt_func *func, bt_lowering *out)
 *     {
 *         return bt_lowering_whole(out, arena, func) ? NULL : bt_no_memory();
 *     }
 *
 *     static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
 *                              uint32_t n, const bt_kernel *const *kernels,
 *                              bt_kernel_code *const *out)
 *     {
 *         for (uint32_t i = 0; i < n; i++) {
 *             bt_text name, text;
 *             bt_text_init(&name, arena);
 *             bt_text_init(&text, arena);
 *             bt_text_addf(&name, "negate_%u", i);
 *             bt_text_addf(&text,
 *                          "#include <baton/kernel.h>\n"
 *                          "int32_t negate_%u(const bt_kernel_call *call)\n"
 *                          "{\n"
 *                          "    const float *x = call->buffers[0];\n"
 *                          "    float *y = call->buffers[1];\n"
 *                          "    for (int64_t i = 0; i < %lld / 4; i++)\n"
 *                          "        y[i] = -x[i];\n"
 *                          "    return 0;\n"
 *                          "}\n",
 *                          i, (long long)bt_type_nbytes(kernels[i]->primitive->result));
 *             if (!bt_text_get(&name) || !bt_text_get(&text))
 *                 return bt_no_memory();
 *             out[i]->form = BT_CODE_SOURCE;
 *             out[i]->symbol = name.at;
 *             out[i]->at = text.at;
 *             out[i]->nbytes = text.len;
 *         }
 *         return NULL;
 *     }
 *
 *     static const bt_target targets[] = {
 *         { .name = "simple", .doc = "Negates.", .supports = supports, .lower = lower,
 *           .compile = compile },
 *         { 0 },
 *     };
 *     const bt_table bt_simple_simple[] = { BT_TARGETS(targets), { 0 } };
 *
 * It gets a function for each kernel, as C text, and the library does the rest. Who has
 * code of another kind reads until the line "a simple target ends here". What becomes of a
 * program:
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
    uint32_t nalias;          /* optional: what it may compute in place */
    const struct bt_kernel_alias *aliases;
    const bt_type *workspace; /* bytes that it has for itself during a launch, a dim over
                                 those of the primitive function; NULL: none */
    uint32_t target;       /* its target, by the number in the list; bt_compile sets it */
    uint32_t ignores_dims; /* optional: 1, it reads none of the call's dims */
    /* Optional, where it makes temps of inputs alone and reads no dims: a text that kernels of other
     * functions have if they make the same of the same, and then need not run again; in the arena. */
    const char *makes;
} bt_kernel;

/* What a primitive function becomes: kernels, which run one after the other. A kernel that
 * reads constants only (for example one that packs a weight) runs when the module is
 * compiled, and the module keeps its outputs in place of the weight. This needs that no
 * other kernel writes these outputs, that they have at most 8 times the bytes that it
 * reads, plus 1 MiB, and that it takes no more than a compiler may (bt_compute_may_fold):
 * else it stays in the program. One that fails then with BT_ERR_UNSUPPORTED has found by the constants
 * that its target does not compute the function: it goes to another one. */
typedef struct bt_lowering {
    uint32_t nkernel;
    bt_kernel *const *kernels; /* by bt_lowering_add */
    uint32_t ntemp;
    const bt_type *const
        *temps;           /* bytes of each, dims: what one kernel leaves to the next */
    uint32_t has_no_text; /* 1: no code of its kernels is BT_CODE_SOURCE */
    const char *way;      /* optional: how the function is computed, in a few words for
                             people: "winograd F(4,3)"; in the arena */
    double error; /* optional: by how much this way may change its sums of products, as a
                     share of the largest of these, beside what their order does; what
                     `baton run --check-kernels` allows */
} bt_lowering;

/* For each leaf of the function's parameters 1 if the module keeps it, so that it never changes: the
 * attribute `constants`, which fusing writes, says so. NULL: no memory. */
BT_API const uint8_t *bt_primitive_constants(bt_arena *, const bt_func *primitive);

/* For each leaf 1 if at least BT_SHARED_LEAST sums of products of a block read what is passed for it, as
 * the steps of a recurrence do its weights: the attribute `shared`, which fusing writes, says so. A kernel
 * that makes temps of inputs alone, such as packed ones, runs once for the calls of a block that pass it
 * the same: what it takes is shared by these. NULL: no memory. */
enum { BT_SHARED_LEAST = 4 };
BT_API const uint8_t *bt_primitive_shared(bt_arena *, const bt_func *primitive);

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
    const struct bt_fault *faults;
} bt_kernel_code;

/* ---- the target ---- */

struct bt_cost; /* these: below */
struct bt_space;
struct bt_buffer;
struct bt_order;

/* A way in which an instance would compute a function, or could. */
typedef struct bt_target_way {
    const char *name; /* in a few words: "tiles, turned" */
    uint32_t sum;     /* of which sum of products, from 1; 0: of the whole function */
    uint32_t is_taken;
    double ns;          /* an estimate for one thread */
    double measured_ns; /* 0: nobody has measured it */
} bt_target_way;

typedef struct bt_target {
    const char *name; /* "cpu" */
    const char *doc;
    const bt_attr *options; /* as an operator's attributes; NULL: none */
    size_t options_nbytes;
    /* optional, both or none: an instance, what belongs to a device, or a configuration of
     * one. NULL without them. */
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
    /* ---- a simple target ends here; all below is optional ----
     *
     * Which calls the target claims where others are listed too: patterns of calls
     * (<baton/pass.h>), ended by NULL. NULL: it has no patterns, and takes any primitive
     * function of pass fuse-ops that it supports. */
    const char *const *patterns;
    /* How long a primitive function takes that it supports. May be NULL. */
    bt_status (*cost)(bt_ctx *, void *self, const bt_func *primitive,
                      struct bt_cost *out);
    /* optional: floating-point operations that the device does in a second at most,
     * measured now, by as many threads (0: as many as the instance uses): what `baton
     * bench` compares with. */
    double (*peak)(void *self, uint32_t nthread);
    /* optional: how loaded code runs, for people: a line for each thing to know. */
    void (*describe)(void *loaded, bt_text *out);
    /* optional: what code that this instance has made needs of a machine, in a line that is
     * kept with it: "x86-64 avx512". Where code is loaded from an artifact, `accepts` answers
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
    /* optional, for targets that read layouts: the layouts that the target wants. It
     * sets a text for each operand of the call (of a tuple: for all its fields) and one
     * for the result. Where a text stays NULL, the operator's rule chooses what goes with
     * the others; row major is asked for by LOGICAL:LOGICAL.
     *     wanted[0] = "NCHW16c", wanted[1] = "OIHW16i16o", wanted[2] = "NCHW16c";
     *     wanted[0] = "NCHW16c", wanted[1] = "OIHW:OIHW", wanted[2] = "NCHW16c";
     * The call is on row-major tensors of known dims. Pass alter-layout asks, if the
     * operator has a rule for layouts and if the last target of the list, which computes
     * the transforms, reads layouts. The first target of the list that wants any decides. If
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
    bt_status (*copy)(bt_ctx *, void *self, const struct bt_buffer *to,
                      const struct bt_buffer *from);
    /* optional: what there is to know of that memory; *out is zero before. Absent: blocks
     * of any size, aligned to 64 bytes. */
    bt_status (*space)(bt_ctx *, void *self, struct bt_space *out);
    /* optional, all or none: queues, whose work goes on while the host does other things.
     * Commands of one queue run one after the other; commands of several queues run in any
     * order that their events allow. A session opens its own queues, and one thread at a
     * time uses each. They replace launch and copy, which are then not called
     * (enqueue_copy goes with alloc): for a single command that is waited for at once, a
     * queue is opened for it.
     *
     * `value` is what the queue's counter reaches when the command is done; it is greater
     * than that of the command before. What the arguments point to may go when the function
     * returns, except for memory, `stop` and `times`, which stay until the command is done. */
    bt_status (*open_queue)(bt_ctx *, void *self, void **queue);
    /* All of its commands are done, or it has failed. */
    void (*close_queue)(void *queue);
    bt_status (*enqueue)(bt_ctx *, void *loaded, uint32_t kernel, const bt_kernel_call *,
                         const struct bt_order *, uint64_t *value);
    bt_status (*enqueue_copy)(bt_ctx *, void *self, const struct bt_buffer *to,
                              const struct bt_buffer *from, const struct bt_order *,
                              uint64_t *value);
    /* Returns once the counter has reached the value. If a command has failed, returns its
     * error, and its value in *failed. Commands behind it in the queue, or that wait for its
     * event, fail as well and never run; the queue can then only be closed. */
    bt_status (*wait)(bt_ctx *, void *queue, uint64_t value, uint64_t *failed);
    /* optional. 1: kernels have code of their own for values of dims that attribute
     * `versions` of the primitive function lists (pass versions): rows of a number for each
     * type parameter, -1 for any. */
    uint32_t makes_versions;
    /* optional: the target that gets what this one has no text for
     * (bt_lowering.has_no_text) where executors write text. It is then behind this one,
     * where that is the last of the list. */
    const char *beside;
    /* optional: how the instance would compute a primitive function that it supports, and how
     * else it could: a line for each way, with its estimate, for `baton info --why`. */
    bt_status (*explain)(bt_ctx *, void *self, const bt_func *primitive, bt_text *out);
    /* optional: names of options, ended by NULL. Those that only compiling heeds: an artifact
     * has them as it was compiled, and whoever loads it with another value is refused. Those
     * that say nothing of what is made, such as a file that is looked at: they are left out
     * of the target's text, which artifacts keep and messages show. */
    const char *const *compile_options;
    const char *const *unnamed_options;
    /* optional: what `explain` tells, as rows, for `baton info --why --json`: *n of them, in the
     * arena. Those with one number of a sum exclude each other. */
    bt_status (*ways)(bt_ctx *, void *self, const bt_func *primitive, bt_arena *,
                      uint32_t *n, const bt_target_way **out);
    /* optional, of queues. 1: where an order asks for it (bt_order.times), a command's times
     * are written. Without it, who wants to know how long each command takes waits for one
     * before giving the next. */
    uint32_t tells_times;
} bt_target;
/* The most versions of one kernel, and the most dims that tell them apart. */
#define BT_MAX_VERSIONS     8
#define BT_MAX_VERSION_DIMS 4
#define BT_TARGETS(array)                            \
    {                                                \
        "baton.target/1", sizeof(bt_target), (array) \
    }

/* ---- what an optional member has or tells ---- */

/* Output `out` may lie in the bytes of input `in`, if both have equal sizes: the kernel must
 * read each byte of the input before it overwrites it. A tensor that is several inputs of
 * the kernel needs a row for each of them. */
typedef struct bt_kernel_alias {
    uint32_t out, in;
    /* 1: the kernel updates in place: before the launch the output holds what the input
     * holds, and the kernel gets this one buffer as both. */
    uint32_t keeps;
} bt_kernel_alias;

/* What a fault of a kernel function says. */
typedef struct bt_fault {
    const char *text;  /* NULL: an index is out of bounds ... */
    const char *array; /* ... for axis `axis` of this one, ... */
    uint32_t axis;
    int64_t extent; /* ... which has this extent, 0 and more */
} bt_fault;

/* The error that a fault is: a row of `faults`, or BT_FAULT_... */
BT_API bt_status bt_kernel_fault(bt_ctx *, const char *kernel, int32_t fault,
                                 uint32_t nfault, const bt_fault *faults) BT_MUST_USE;

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
    /* Of a copy from the host's memory or to it, for pass place; 0: not known, taken as 10000 and
     * 8. */
    double latency_ns, bytes_per_ns;
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

/* When a command ran, by bt_now_ns. */
typedef struct bt_times {
    uint64_t begin_ns, end_ns;
} bt_times;

/* When a command may start: after all commands that were put into its queue before it, and
 * after these events, which belong to queues of the same instance. */
typedef struct bt_order {
    void *queue;
    uint32_t nwait;
    const bt_event *waits;
    bt_times
        *times; /* NULL, or where a target with tells_times writes when the command ran,
                        before it counts as done; of one that fails, nothing need be written
                        */
} bt_order;

#ifdef __cplusplus
}
#endif
#endif
