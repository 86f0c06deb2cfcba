#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "blas.h"
#include "build.h"
#include "code.h"
#include "queue.h"

/* A kernel of OpenCL. */
struct device_kernel {
    cl_kernel at;
    uint64_t group; /* work-items that a group has at most */
};

struct kernel {
    struct ocl_code code;
    uint32_t *texts; /* by launch: the number of its device_kernel */
};

struct ocl_loaded {
    struct ocl_instance *instance;
    bt_arena *arena;
    pthread_mutex_t
        lock; /* of device_kernels' arguments, until a launch has taken them */
    cl_program program;
    uint32_t ndevice_kernel;
    struct device_kernel *device_kernels;
    uint32_t n;
    struct kernel kernels[];
};

/* ---- the program ---- */

struct texts {
    bt_map numbers; /* of texts, counted from 1 */
    bt_text source;
};

/* Each text once, its kernel called k and its number. */
static int add_text(struct texts *t, const char *text, uint32_t *number)
{
    const uintptr_t known = (uintptr_t)bt_map_find(&t->numbers, text);
    *number = known ? (uint32_t)known - 1 : t->numbers.len;
    if (known)
        return 1;
    bt_text_addf(&t->source, "\n#define NAME k%u\n%s\n#undef NAME\n", *number, text);
    return bt_map_put(&t->numbers, text, (void *)(uintptr_t)(*number + 1));
}

static bt_status read_kernel(bt_ctx *ctx, struct ocl_loaded *l, struct texts *t,
                             const bt_kernel_code *code, struct kernel *kernel)
{
    BT_TRY(ocl_code_read(ctx, l->arena, code->at, code->nbytes, &kernel->code));
    const ocl_program *p = &kernel->code.program;
    kernel->texts = BT_NEWS(l->arena, uint32_t, p->nlaunch);
    for (uint32_t i = 0; kernel->texts && i < p->nlaunch; i++) {
        if (p->launches[i].text && !add_text(t, p->launches[i].text, &kernel->texts[i]))
            return bt_no_memory();
    }
    return kernel->texts ? NULL : bt_no_memory();
}

static bt_status open_device_kernel(bt_ctx *ctx, struct ocl_loaded *l, uint32_t number)
{
    struct ocl_instance *o = l->instance;
    char name[16];
    size_t group = 0;
    cl_int error = CL_SUCCESS;
    snprintf(name, sizeof(name), "k%u", number);
    l->device_kernels[number].at = o->cl.CreateKernel(l->program, name, &error);
    if (!l->device_kernels[number].at)
        return ocl_fail(ctx, o, error, "the program has no kernel %s", name);
    error = o->cl.GetKernelWorkGroupInfo(l->device_kernels[number].at, o->device,
                                         CL_KERNEL_WORK_GROUP_SIZE, sizeof(group), &group,
                                         NULL);
    if (error != CL_SUCCESS)
        return ocl_fail(ctx, o, error, "kernel %s does not say how large its groups are",
                        name);
    l->device_kernels[number].group = group;
    return NULL;
}

/* How many parameters a launch's kernel has. */
static cl_uint nparameter(const ocl_launch *launch)
{
    cl_uint n = launch->narg;
    for (uint32_t i = 0; i < launch->narg; i++)
        n += launch->args[i].kind == OCL_ARG_BUFFER ||
             launch->args[i].kind == OCL_ARG_WORKSPACE;
    return n;
}

static bt_status check_launch(bt_ctx *ctx, const struct ocl_loaded *l,
                              const struct kernel *k, uint32_t which)
{
    struct ocl_instance *o = l->instance;
    const ocl_launch *launch = &k->code.program.launches[which];
    if (launch->product)
        return o->blas ? NULL
                       : bt_fail(ctx, BT_ERR_UNSUPPORTED,
                                 "target opencl: %s is compiled for products by CLBlast, "
                                 "which is not there or not wanted (option blas)",
                                 k->code.name);
    const struct device_kernel *compiled = &l->device_kernels[k->texts[which]];
    cl_uint n = 0;
    const uint64_t group =
        (uint64_t)launch->local[0] * launch->local[1] * launch->local[2];
    const cl_int error =
        o->cl.GetKernelInfo(compiled->at, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL);
    if (error != CL_SUCCESS)
        return ocl_fail(ctx, o, error,
                        "a kernel does not say how many parameters it has");
    if (n != nparameter(launch))
        return bt_fail(
            ctx, BT_ERR_FORMAT,
            "target opencl: launch %u of %s has arguments for %u parameters, and its "
            "kernel has %u",
            which, k->code.name, nparameter(launch), n);
    if (group > compiled->group || launch->local_nbytes > o->facts.device.local_nbytes)
        return bt_fail(
            ctx, BT_ERR_UNSUPPORTED,
            "target opencl: %s is compiled for groups of %" PRIu64
            " work-items with %u bytes of memory, and device %s has groups of %" PRIu64
            " with %" PRIu64,
            k->code.name, group, launch->local_nbytes, o->facts.name, compiled->group,
            o->facts.device.local_nbytes);
    return NULL;
}

static bt_status load_all(bt_ctx *ctx, struct ocl_loaded *l, const char *head,
                          const bt_kernel_code *const *codes)
{
    struct texts t;
    bt_map_init(&t.numbers, l->arena, 1);
    bt_text_init(&t.source, l->arena);
    bt_text_addf(&t.source, "%s", head);
    for (uint32_t i = 0; i < l->n; i++)
        BT_TRY(read_kernel(ctx, l, &t, codes[i], &l->kernels[i]));
    l->device_kernels = BT_NEWS(l->arena, struct device_kernel, t.numbers.len);
    if (!bt_text_get(&t.source) || !l->device_kernels)
        return bt_no_memory();
    if (t.numbers.len) // else kernels do nothing, or products alone
        BT_TRY(ocl_build(ctx, l->instance, &t.source, &l->program));
    l->ndevice_kernel = t.numbers.len;
    for (uint32_t i = 0; i < l->ndevice_kernel; i++)
        BT_TRY(open_device_kernel(ctx, l, i));
    for (uint32_t i = 0; i < l->n; i++) {
        for (uint32_t k = 0; k < l->kernels[i].code.program.nlaunch; k++)
            BT_TRY(check_launch(ctx, l, &l->kernels[i], k));
    }
    return NULL;
}

void ocl_unload(void *loaded)
{
    struct ocl_loaded *l = loaded;
    struct ocl_instance *o = l->instance;
    const int is_hung = ocl_is_hung(o);
    for (uint32_t i = 0; i < l->ndevice_kernel && !is_hung; i++) {
        if (l->device_kernels[i].at)
            (void)o->cl.ReleaseKernel(l->device_kernels[i].at);
    }
    if (l->program && !is_hung)
        (void)o->cl.ReleaseProgram(l->program);
    pthread_mutex_destroy(&l->lock);
    bt_arena_destroy(l->arena);
}

bt_status ocl_load(bt_ctx *ctx, struct ocl_instance *o, const char *head, uint32_t n,
                   const bt_kernel_code *const *codes, void **out)
{
    BT_TRY(ocl_alive(ctx, o));
    bt_arena *arena = bt_arena_create(o->registry);
    struct ocl_loaded *l =
        arena ? bt_arena_alloc(arena, 1, sizeof(*l) + n * sizeof(struct kernel)) : NULL;
    if (!l || pthread_mutex_init(&l->lock, NULL) != 0) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    l->instance = o;
    l->arena = arena;
    l->n = n;
    bt_status status = load_all(ctx, l, head, codes);
    if (status)
        ocl_unload(l);
    else
        *out = l;
    return status;
}

/* ---- launching ---- */

struct launching {
    bt_ctx *ctx;
    struct ocl_loaded *loaded;
    const struct kernel *kernel;
    const bt_kernel_call *call;
    struct ocl_queue *queue;
    struct ocl_command *command;
};

static bt_status set(const struct launching *g, cl_kernel kernel, cl_uint *at,
                     size_t nbytes, const void *value)
{
    struct ocl_instance *o = g->queue->instance;
    const cl_int error = o->cl.SetKernelArg(kernel, *at, nbytes, value);
    if (error != CL_SUCCESS)
        return ocl_fail(g->ctx, o, error, "%s does not take argument %u",
                        g->kernel->code.name, *at);
    ++*at;
    return NULL;
}

/* Memory: the buffer, and where it begins there. */
static bt_status find_memory(const struct launching *g, const ocl_arg *arg,
                             struct ocl_region *out)
{
    const bt_kernel_call *call = g->call;
    const int is_buffer = arg->kind == OCL_ARG_BUFFER;
    const struct ocl_block *block =
        is_buffer ? call->buffers[arg->index] : call->workspace;
    if (!block)
        return bt_fail(g->ctx, BT_ERR_ARGUMENT, "target opencl: %s is called without %s",
                       g->kernel->code.name, is_buffer ? "a buffer" : "its workspace");
    out->mem = block->mem;
    out->offset =
        (uint64_t)(arg->number.n ? ocl_number_value(&arg->number, call->dims) : 0) +
        (!is_buffer      ? call->workspace_offset
         : call->offsets ? call->offsets[arg->index]
                         : 0);
    return NULL;
}

static bt_status set_memory(const struct launching *g, cl_kernel kernel,
                            const ocl_arg *arg, cl_uint *at)
{
    struct ocl_region memory;
    BT_TRY(find_memory(g, arg, &memory));
    BT_TRY(set(g, kernel, at, sizeof(cl_mem), &memory.mem));
    return set(g, kernel, at, sizeof(memory.offset), &memory.offset);
}

static bt_status set_args(const struct launching *g, const ocl_launch *launch,
                          cl_kernel kernel)
{
    cl_uint at = 0;
    for (uint32_t i = 0; i < launch->narg; i++) {
        const ocl_arg *arg = &launch->args[i];
        const int64_t value =
            arg->number.n ? ocl_number_value(&arg->number, g->call->dims) : 0;
        const int32_t number = (int32_t)value;
        switch (arg->kind) {
        case OCL_ARG_FAULT:
            BT_TRY(set(g, kernel, &at, sizeof(cl_mem), &g->command->cell->mem));
            break;
        case OCL_ARG_INT:
            if (number != value)
                return bt_fail(g->ctx, BT_ERR_LIMIT,
                               "target opencl: %s: a size of %" PRId64
                               " is beyond 32 bits",
                               g->kernel->code.name, value);
            BT_TRY(set(g, kernel, &at, sizeof(number), &number));
            break;
        case OCL_ARG_LONG: BT_TRY(set(g, kernel, &at, sizeof(value), &value)); break;
        default: BT_TRY(set_memory(g, kernel, arg, &at));
        }
    }
    return NULL;
}

/* *is_empty: it has no groups. */
static bt_status count_items(const struct launching *g, const ocl_launch *launch,
                             size_t local[3], size_t global[3], int *is_empty)
{
    *is_empty = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const int64_t groups = ocl_number_value(&launch->groups[i], g->call->dims);
        if (groups < 0 || groups > INT32_MAX)
            return bt_fail(g->ctx, BT_ERR_LIMIT,
                           "target opencl: %s: %" PRId64
                           " groups are more than a launch has",
                           g->kernel->code.name, groups);
        local[i] = launch->local[i];
        global[i] = local[i] * (size_t)groups;
        *is_empty |= groups == 0;
    }
    return NULL;
}

static bt_status multiply(const struct launching *g, const ocl_launch *launch)
{
    struct ocl_region abc[3];
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(find_memory(g, &launch->args[i], &abc[i]));
    return ocl_blas_multiply(g->ctx, g->queue, g->command, launch->product, abc);
}

static bt_status launch_one(const struct launching *g, uint32_t which)
{
    struct ocl_instance *o = g->queue->instance;
    const ocl_launch *launch = &g->kernel->code.program.launches[which];
    if (launch->product)
        return multiply(g, launch);
    const cl_kernel kernel = g->loaded->device_kernels[g->kernel->texts[which]].at;
    size_t local[3], global[3];
    int is_empty;
    cl_event event = NULL;
    cl_int error = CL_SUCCESS;
    BT_TRY(count_items(g, launch, local, global, &is_empty));
    if (is_empty)
        return NULL;
    pthread_mutex_lock(&g->loaded->lock);
    bt_status status = set_args(g, launch, kernel);
    if (!status)
        error = o->cl.EnqueueNDRangeKernel(g->queue->at, kernel, 3, NULL, global, local,
                                           ocl_command_nevent(g->command),
                                           ocl_command_events(g->command), &event);
    pthread_mutex_unlock(&g->loaded->lock);
    BT_TRY(status);
    if (error != CL_SUCCESS)
        return ocl_fail(g->ctx, o, error, "%s is not launched", g->kernel->code.name);
    ocl_command_add_event(g->queue, g->command, event);
    return NULL;
}

/* A cell that holds 0. */
static bt_status take_cell(const struct launching *g)
{
    struct ocl_queue *q = g->queue;
    struct ocl_instance *o = q->instance;
    cl_int error = CL_SUCCESS;
    static const int32_t zero = 0;
    struct ocl_cell *cell = q->cells;
    if (cell) {
        q->cells = cell->next;
    } else {
        cell = bt_alloc(o->registry, sizeof(*cell));
        cl_mem mem = cell ? o->cl.CreateBuffer(o->context, CL_MEM_READ_WRITE,
                                               sizeof(zero), NULL, &error)
                          : NULL;
        if (!mem) {
            bt_free(o->registry, cell, sizeof(*cell));
            return cell ? ocl_fail(g->ctx, o, error, "no memory for faults")
                        : bt_no_memory();
        }
        cell->mem = mem;
        // once: it is read back as 0, or the queue has failed
        error = o->cl.EnqueueWriteBuffer(q->at, mem, 0, 0, sizeof(zero), &zero, 0, NULL,
                                         NULL);
    }
    cell->fault = 0;
    g->command->cell = cell;
    return error == CL_SUCCESS ? NULL
                               : ocl_fail(g->ctx, o, error, "memory is not written");
}

static bt_status read_cell(const struct launching *g)
{
    struct ocl_instance *o = g->queue->instance;
    struct ocl_cell *cell = g->command->cell;
    cl_event event = NULL;
    const cl_int error = o->cl.EnqueueReadBuffer(
        g->queue->at, cell->mem, 0, 0, sizeof(cell->fault), &cell->fault,
        ocl_command_nevent(g->command), ocl_command_events(g->command), &event);
    if (error != CL_SUCCESS)
        return ocl_fail(g->ctx, o, error, "a fault is not read");
    ocl_command_add_event(g->queue, g->command, event);
    return NULL;
}

static bt_status launch_all(const struct launching *g)
{
    const ocl_program *p = &g->kernel->code.program;
    if (p->nfault)
        BT_TRY(take_cell(g));
    for (uint32_t i = 0; i < p->nlaunch; i++)
        BT_TRY(launch_one(g, i));
    if (p->nfault)
        return read_cell(g);
    return g->command->last ? NULL : ocl_command_mark(g->ctx, g->queue, g->command);
}

static bt_status check_call(bt_ctx *ctx, const struct ocl_code *code,
                            const bt_kernel_call *call)
{
    if ((call->nbuffer && call->nbuffer != code->nbuffer) || call->ndim < code->ndim)
        return bt_fail(
            ctx, BT_ERR_ARGUMENT,
            "target opencl: %s has %u buffers and %u dims, and is called with %u and %u",
            code->name, code->nbuffer, code->ndim, call->nbuffer, call->ndim);
    return NULL;
}

bt_status ocl_enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel,
                      const bt_kernel_call *call, const bt_order *order, uint64_t *value)
{
    struct ocl_loaded *l = loaded;
    struct launching g = { .ctx = ctx,
                           .loaded = l,
                           .kernel = &l->kernels[kernel],
                           .call = call,
                           .queue = order->queue };
    BT_TRY(check_call(ctx, &g.kernel->code, call));
    BT_TRY(ocl_command_begin(ctx, order, value, &g.command));
    if (!g.command)
        return NULL;
    g.command->loaded = l;
    g.command->kernel = kernel;
    if (call->stop && __atomic_load_n(call->stop, __ATOMIC_RELAXED)) {
        ocl_command_drop(g.queue, g.command, bt_fail(ctx, BT_ERR_CANCELLED, "cancelled"));
        return NULL; // who waits is told
    }
    return ocl_command_end(g.queue, g.command, launch_all(&g));
}

void ocl_describe(void *loaded, bt_text *out)
{
    const struct ocl_loaded *l = loaded;
    const struct ocl_facts *f = &l->instance->facts;
    bt_text_addf(out, "device %s, driver %s: %u kernels in one program%s\n", f->name,
                 f->driver, l->ndevice_kernel,
                 l->instance->blas ? ", products by CLBlast" : "");
}

bt_status ocl_kernel_fault(bt_ctx *ctx, const struct ocl_loaded *l, uint32_t kernel,
                           int32_t fault)
{
    const struct ocl_code *code = &l->kernels[kernel].code;
    return bt_kernel_fault(ctx, code->name, fault, code->program.nfault,
                           code->program.faults);
}
