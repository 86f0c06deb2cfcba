/*
 * Code of kernels, loaded: by the target where it has functions for that, else here, where
 * it is machine code or C text whose functions run the phases of a kernel one after the
 * other (<baton/kernel.h>).
 */
#include "compile/code/code.h"

#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>

#include "base/arena.h"
#include "base/ctx.h"

/* Of a target that loads nothing itself. */
struct functions {
    bt_arena *arena; /* in which this lies too */
    bt_code *code;
    const bt_kernel_code *const *codes;
    bt_kernel_fn *run[];
};

/* ---- compiling ---- */

static bt_status compile_source(bt_ctx *ctx, bt_arena *arena, bt_kernel_code *code)
{
    const char *folders[2] = { NULL, NULL };
    bt_text object;
    bt_text_init(&object, arena);
    BT_TRY(bt_library_file(ctx, arena, "include", &folders[0]));
    const bt_c_source source = {
        .name = code->symbol, .text = code->at, .nbytes = code->nbytes, .folders = folders
    };
    BT_TRY(bt_c_compile(ctx, NULL, NULL, &source, &object));
    if (object.failed)
        return bt_no_memory();
    code->form = BT_CODE_OBJECT;
    code->at = object.at;
    code->nbytes = object.len;
    return NULL;
}

/* The code before this one that is of the same piece; itself: it is the first. */
static uint32_t first_of_piece(const bt_kernel_code *const *codes, uint32_t i)
{
    uint32_t first = 0;
    while (first < i && (codes[first]->at != codes[i]->at ||
                         codes[first]->nbytes != codes[i]->nbytes ||
                         codes[first]->form != codes[i]->form))
        first++;
    return first;
}

static bt_status compile_sources(bt_ctx *ctx, bt_arena *arena, uint32_t n,
                                 bt_kernel_code *const *codes)
{
    uint32_t *firsts = BT_NEWS(arena, uint32_t, n);
    if (!firsts)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        firsts[i] = first_of_piece((const bt_kernel_code *const *)codes, i);
    for (uint32_t i = 0; i < n; i++) {
        if (codes[i]->form != BT_CODE_SOURCE)
            continue;
        if (firsts[i] == i) {
            BT_TRY(compile_source(ctx, arena, codes[i]));
            continue;
        }
        codes[i]->form = BT_CODE_OBJECT;
        codes[i]->at = codes[firsts[i]]->at;
        codes[i]->nbytes = codes[firsts[i]]->nbytes;
    }
    return NULL;
}

/* Whether it is of one of the forms, and whole. */
static bt_status check_code(bt_ctx *ctx, const bt_target_use *use, uint32_t form,
                            const bt_kernel *kernel, const bt_kernel_code *code)
{
    const char *why = code->form < BT_CODE_BYTES || code->form > BT_CODE_SOURCE
                          ? "has no form"
                      : code->nbytes && !code->at                    ? "has no bytes"
                      : code->form != BT_CODE_BYTES && !code->symbol ? "names no function"
                      : code->own_nbytes && !code->own               ? "has no own bytes"
                      : (code->nphase && !code->phases) || (code->nfault && !code->faults)
                          ? "counts phases or faults that are not there"
                      : code->form == BT_CODE_BYTES && !use->target->load
                          ? "is bytes, and the target does not load them"
                          : NULL;
    if (why)
        return bt_fail(ctx, BT_ERR_PLUGIN, "target %s: the code of kernel %s %s",
                       use->text, kernel->name, why);
    return form == BT_CODE_ANY || form == code->form
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "target %s has no code of the form that is asked for, of kernel "
                         "%s",
                         use->text, kernel->name);
}

bt_status bt__compile_code(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                           uint32_t form, uint32_t n, const bt_kernel *const *kernels,
                           bt_kernel_code *const **out)
{
    bt_kernel_code *made = BT_NEWS(arena, bt_kernel_code, n);
    bt_kernel_code *const *codes = made ? BT__LIST(arena, made, n) : NULL;
    if (!codes)
        return bt_no_memory();
    bt__progress(ctx, "compiling %u kernel%s for target %s", n, n == 1 ? "" : "s",
                 use->text);
    BT_TRY(use->target->compile(ctx, use->instance, arena, form, n, kernels, codes));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(check_code(ctx, use, form, kernels[i], codes[i]));
    *out = codes;
    return form == BT_CODE_SOURCE ? NULL : compile_sources(ctx, arena, n, codes);
}

/* ---- loading ---- */

static bt_status link_functions(bt_ctx *ctx, const bt_target_use *use, uint32_t n,
                                struct functions *f)
{
    bt_vec(bt_code_object) objects = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        const bt_kernel_code *code = f->codes[i];
        const bt_code_object object = { code->symbol, code->at, code->nbytes };
        if (code->form != BT_CODE_OBJECT || !code->symbol)
            return bt_fail(ctx, BT_ERR_FORMAT, "code of target %s is no machine code",
                           use->text);
        if (first_of_piece(f->codes, i) == i && !BT_PUSH(f->arena, &objects, object))
            return bt_no_memory();
    }
    BT_TRY(bt_code_load(ctx, objects.len, objects.at, NULL, &f->code));
    for (uint32_t i = 0; i < n; i++) {
        f->run[i] = (bt_kernel_fn *)bt_code_find(f->code, f->codes[i]->symbol);
        if (!f->run[i])
            return bt_fail(ctx, BT_ERR_FORMAT, "code of target %s has no function %s",
                           use->text, f->codes[i]->symbol);
    }
    return NULL;
}

static void drop_functions(struct functions *f)
{
    bt_code_unload(f->code);
    bt_arena_destroy(f->arena);
}

/* The codes live as long as what is loaded. */
static bt_status load_functions(bt_ctx *ctx, const bt_target_use *use, uint32_t n,
                                const bt_kernel_code *const *codes, void **loaded)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct functions *f =
        arena ? bt_arena_alloc(arena, 1, sizeof(*f) + n * sizeof(bt_kernel_fn *)) : NULL;
    if (!f) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    f->arena = arena;
    f->codes = codes;
    bt_status status = link_functions(ctx, use, n, f);
    if (status)
        drop_functions(f);
    else
        *loaded = f;
    return status;
}

bt_status bt__load_code(bt_ctx *ctx, const bt_target_use *use, uint32_t n,
                        const bt_kernel_code *const *codes, void **loaded)
{
    *loaded = NULL;
    if (!use->target->load)
        return load_functions(ctx, use, n, codes, loaded);
    BT_TRY(use->target->load(ctx, use->instance, n, codes, loaded));
    return *loaded ? NULL
                   : bt_fail(ctx, BT_ERR_PLUGIN,
                             "target %s has loaded its code, it says, but gives nothing "
                             "to launch",
                             use->text);
}

void bt__unload_code(const bt_target_use *use, void *loaded)
{
    if (loaded && use->target->unload)
        use->target->unload(loaded);
    else if (loaded)
        drop_functions(loaded);
}

/* ---- launching ---- */

bt_status bt_kernel_fault(bt_ctx *ctx, const char *kernel, int32_t fault, uint32_t nfault,
                          const bt_fault *faults)
{
    const bt_fault *row =
        fault > 0 && (uint32_t)fault <= nfault ? &faults[fault - 1] : NULL;
    if (fault == BT_FAULT_MEMORY)
        return bt_no_memory();
    if (fault == BT_FAULT_STOPPED)
        return bt_fail(ctx, BT_ERR_CANCELLED, "cancelled");
    if (!row)
        return bt_fail(ctx, BT_ERR_RUNTIME, "%s: %s (fault %" PRId32 ")", kernel,
                       fault == BT_FAULT_DEVICE ? "the device fails"
                                                : "a fault that its code does not name",
                       fault);
    return row->text ? bt_fail(ctx, BT_ERR_RUNTIME, "%s: %s", kernel, row->text)
                     : bt_fail(ctx, BT_ERR_RUNTIME,
                               "%s: an index is out of bounds for axis %" PRIu32
                               " of %s, whose extent is %" PRId64,
                               kernel, row->axis, row->array, row->extent);
}

/* All phases, in the thread of the caller, whose scratch begins the workspace. */
static bt_status run_functions(bt_ctx *ctx, const struct functions *f, uint32_t number,
                               const char *kernel, const bt_kernel_call *call)
{
    const bt_kernel_code *code = f->codes[number];
    bt_kernel_call part = *call;
    int32_t fault = 0;
    part.nbytes = sizeof(part);
    part.scratch = call->workspace;
    for (uint32_t i = 0; !fault && i < (code->nphase ? code->nphase : 1); i++) {
        part.phase = i;
        part.end = code->nphase ? code->phases[i] : 1;
        fault = part.stop && __atomic_load_n(part.stop, __ATOMIC_RELAXED)
                    ? BT_FAULT_STOPPED
                    : f->run[number](&part);
    }
    return fault ? bt_kernel_fault(ctx, kernel, fault, code->nfault, code->faults) : NULL;
}

const uint32_t *bt_ctx_stop(const bt_ctx *ctx)
{
    return &ctx->cancelled;
}

const bt_running_kernel *bt_ctx_running(const bt_ctx *ctx)
{
    return __atomic_load_n(&ctx->running, __ATOMIC_ACQUIRE);
}

/* A command for which a queue is opened, as somebody waits for it. */
struct command {
    void *loaded;
    uint32_t kernel;
    const bt_kernel_call *call; /* NULL: a copy */
    const bt_buffer *to, *from;
};

static bt_status run_command(bt_ctx *ctx, const bt_target_use *use,
                             const struct command *c)
{
    const bt_target *target = use->target;
    bt_order order = { 0 };
    uint64_t value, failed;
    BT_TRY(target->open_queue(ctx, use->instance, &order.queue));
    bt_status status =
        c->call
            ? target->enqueue(ctx, c->loaded, c->kernel, c->call, &order, &value)
            : target->enqueue_copy(ctx, use->instance, c->to, c->from, &order, &value);
    if (!status)
        status = target->wait(ctx, order.queue, value, &failed);
    target->close_queue(order.queue);
    return status;
}

bt_status bt__launch(bt_ctx *ctx, const bt_target_use *use, void *loaded, uint32_t number,
                     const char *kernel, const bt_kernel_call *call)
{
    const struct command command = { .loaded = loaded, .kernel = number, .call = call };
    const bt_running_kernel running = { use->text, kernel, call->nbuffer };
    __atomic_store_n(&ctx->running, &running, __ATOMIC_RELEASE);
    bt_status status = use->target->enqueue ? run_command(ctx, use, &command)
                       : use->target->launch
                           ? use->target->launch(ctx, loaded, number, call)
                           : run_functions(ctx, loaded, number, kernel, call);
    __atomic_store_n(&ctx->running, NULL, __ATOMIC_RELEASE);
    return status;
}

bt_status bt__enqueue(bt_ctx *ctx, const bt_target_use *use, void *loaded,
                      uint32_t number, const char *kernel, const bt_kernel_call *call,
                      const bt_order *order, uint64_t *value)
{
    const bt_running_kernel running = { use->text, kernel, call->nbuffer };
    __atomic_store_n(&ctx->running, &running, __ATOMIC_RELEASE);
    bt_status status = use->target->enqueue(ctx, loaded, number, call, order, value);
    __atomic_store_n(&ctx->running, NULL, __ATOMIC_RELEASE);
    return status;
}

/* ---- memory of a target's own ---- */

bt_status bt__alloc(bt_ctx *ctx, const bt_target_use *use, uint64_t nbytes, void **out)
{
    *out = NULL;
    bt_status status = use->target->alloc(ctx, use->instance, nbytes ? nbytes : 1, out);
    if (status)
        return bt_note(ctx, status, NULL, 0,
                       "for %" PRIu64 " bytes of the memory of target %s", nbytes,
                       use->text);
    return *out ? NULL
                : bt_fail(ctx, BT_ERR_PLUGIN,
                          "target %s has taken memory, it says, but gives no block",
                          use->text);
}

bt_status bt_compiled_alloc(bt_ctx *ctx, const bt_compiled *c, uint32_t target,
                            uint64_t nbytes, void **block)
{
    return bt__alloc(ctx, c->targets[target], nbytes, block);
}

bt_status bt__copy(bt_ctx *ctx, const bt_target_use *use, const bt_buffer *to,
                   const bt_buffer *from)
{
    const struct command command = { .to = to, .from = from };
    if (!to->nbytes)
        return NULL;
    return use->target->enqueue_copy ? run_command(ctx, use, &command)
                                     : use->target->copy(ctx, use->instance, to, from);
}

struct hosted {
    bt_ctx *ctx;
    const bt_target_use *use;
    const bt_host_block *around;
    uint32_t n;
    void **blocks;
};

static uint32_t first_at(const struct hosted *h, uint32_t i)
{
    uint32_t first = 0;
    while (h->around[first].at != h->around[i].at)
        first++;
    return first;
}

static bt_status copy_block(const struct hosted *h, uint32_t i, int is_back)
{
    const bt_buffer own = { h->blocks[i], 0, h->around[i].nbytes, 1 },
                    host = { h->around[i].at, 0, h->around[i].nbytes, 0 };
    return bt__copy(h->ctx, h->use, is_back ? &host : &own, is_back ? &own : &host);
}

static bt_status place_blocks(struct hosted *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t first = first_at(h, i);
        if (first == i) {
            BT_TRY(bt__alloc(h->ctx, h->use, h->around[i].nbytes, &h->blocks[i]));
            BT_TRY(copy_block(h, i, 0));
        } else {
            h->blocks[i] = h->blocks[first];
        }
    }
    return NULL;
}

static void free_blocks(const struct hosted *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->blocks[i] && first_at(h, i) == i)
            h->use->target->free(h->use->instance, h->blocks[i]);
    }
}

bt_status bt__launch_hosted(bt_ctx *ctx, const bt_target_use *use, void *loaded,
                            uint32_t number, const char *kernel,
                            const bt_kernel_call *call, const bt_host_block *around)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const uint32_t n = call->nbuffer + (call->workspace != NULL);
    if (!use->space)
        return bt__launch(ctx, use, loaded, number, kernel, call);
    struct hosted h = { ctx, use, around, n, BT_NEWS(scratch, void *, n) };
    uint64_t *offsets = BT_NEWS(scratch, uint64_t, n);
    bt_kernel_call own = *call;
    bt_status status = h.blocks && offsets ? place_blocks(&h) : bt_no_memory();
    for (uint32_t i = 0; !status && i < n; i++) {
        const char *at = i < call->nbuffer ? call->buffers[i] : call->workspace;
        offsets[i] = (uint64_t)(at - around[i].at);
    }
    if (!status) {
        own.buffers = h.blocks;
        own.offsets = offsets;
        own.workspace = call->workspace ? h.blocks[call->nbuffer] : NULL;
        own.workspace_offset = call->workspace ? offsets[call->nbuffer] : 0;
        status = bt__launch(ctx, use, loaded, number, kernel, &own);
    }
    for (uint32_t i = 0; !status && i < n; i++) {
        if (first_at(&h, i) == i && !around[i].is_constant)
            status = copy_block(&h, i, 1);
    }
    if (h.blocks)
        free_blocks(&h);
    bt_arena_release(scratch, mark);
    return status;
}
