/*
 * Target opencl: devices that have a driver of OpenCL 1.2 or later.
 *
 *     lower.c     a primitive function becomes launches of kernels in OpenCL C
 *     code.c      ... as bytes, which artifacts keep
 *     load.c      one program of a module's kernels, built by the driver (build.c)
 *     queue.c     launches and copies in queues, with events between them
 *
 * The library is opened when an instance is. Where there is none, or no device, opening says so.
 */
#include <string.h>

#include <baton/op.h>

#include "code.h"
#include "cost.h"
#include "explain.h"
#include "instance.h"
#include "load.h"
#include "lower.h"
#include "queue.h"

struct options {
    const char *platform, *device, *schedules, *blas, *library, *cache;
    int64_t memory_mb, timeout_ms;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, platform, STRING, "",
            "a part of the platform's name; empty: any"),
    BT_ATTR(struct options, device, STRING, "",
            "a part of the device's name, or its number among all; empty: the first that "
            "is no processor, else the first"),
    BT_ATTR_CHOICE(struct options, schedules, "device", "device|cpu|gpu",
                   "what kernels are made for: the device's kind, or another"),
    BT_ATTR_CHOICE(
        struct options, blas, "gpu", "gpu|always|off",
        "where CLBlast multiplies large matrices, if it is there: not on processors, "
        "always, never"),
    BT_ATTR(struct options, library, STRING, "libOpenCL.so.1", "the OpenCL library"),
    BT_ATTR(struct options, cache, STRING, "",
            "folder of programs that were built, or off; empty: BATON_CACHE, or "
            "baton/objects in XDG_CACHE_HOME"),
    BT_ATTR_RANGE(struct options, memory_mb, INT, "0", 0, INT32_MAX,
                  "memory of the device to use at most, in MiB; 0: what it has"),
    BT_ATTR_RANGE(
        struct options, timeout_ms, INT, "0", 0, INT32_MAX,
        "a command that takes longer is given up, and the device lost; 0: none is"),
    { 0 },
};
static const char *const compile_options[] = { "schedules", "blas", NULL };
static const char *const unnamed_options[] = { "library", "cache", "memory_mb",
                                               "timeout_ms", NULL };

static bt_status open(bt_ctx *ctx, const void *values, void **self)
{
    const struct options *o = values;
    const struct ocl_wish wish = { .library = o->library,
                                   .platform = o->platform,
                                   .device = o->device,
                                   .cache = o->cache,
                                   .blas = o->blas,
                                   .budget = (uint64_t)o->memory_mb << 20,
                                   .timeout_ns = (uint64_t)o->timeout_ms * 1000000 };
    struct ocl_instance *instance;
    BT_TRY(ocl_open(ctx, &wish, &instance));
    if (strcmp(o->schedules, "device") != 0)
        instance->facts.device.is_cpu = strcmp(o->schedules, "cpu") == 0;
    *self = instance;
    return NULL;
}

static void close(void *self)
{
    ocl_close(self);
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *primitive,
                       bt_lowering *out)
{
    const struct ocl_instance *o = self;
    return ocl_lower(ctx, arena, &o->facts.device, primitive, out);
}

/* What can be lowered. */
static bt_status supports(bt_ctx *ctx, void *self, const bt_func *primitive)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_lowering lowering = { 0 };
    bt_status status =
        arena ? lower(ctx, self, arena, primitive, &lowering) : bt_no_memory();
    bt_arena_destroy(arena);
    return status;
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)self, (void)form;
    for (uint32_t i = 0; i < n; i++) {
        const bt_kernel *k = kernels[i];
        const struct ocl_code code = { .name = k->name,
                                       .ndim = k->primitive->nvar,
                                       .nbuffer = k->nin + k->nout,
                                       .program = *(const ocl_program *)k->content };
        BT_TRY(ocl_code_write(ctx, arena, &code, out[i]));
    }
    return NULL;
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text head;
    bt_text_init(&head, scratch);
    bt_status status = ocl_text_head(&head) ? ocl_load(ctx, self, head.at, n, codes, out)
                                            : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_target targets[] = {
    {
        .name = "opencl",
        .doc = "Devices that have a driver of OpenCL, such as graphics processors.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .supports = supports,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = ocl_unload,
        .cost = ocl_cost,
        .describe = ocl_describe,
        .alloc = ocl_alloc,
        .free = ocl_free,
        .space = ocl_space,
        .open_queue = ocl_open_queue,
        .close_queue = ocl_close_queue,
        .enqueue = ocl_enqueue,
        .enqueue_copy = ocl_enqueue_copy,
        .wait = ocl_queue_wait,
        .takes_dims = 1,
        .reads_layouts = 1,
        .compile_options = compile_options,
        .unnamed_options = unnamed_options,
        .tells_times = 1,
        .explain = ocl_explain,
    },
    { 0 },
};

const bt_table bt_targets_opencl_opencl[] = { BT_TARGETS(targets), { 0 } };
