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
    if (form == BT_CODE_ANY || form == code->form)
        return NULL;
    const bt_value *result = kernel->primitive->block->result;
    return bt_fail_at(ctx, BT_ERR_UNSUPPORTED, result->type->store, result->span,
                      "target %s has no code of the form that is asked for, of kernel %s",
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

/* ---- calling ---- */

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

bt_status bt__call_functions(bt_ctx *ctx, const void *loaded, uint32_t number,
                             const char *kernel, const bt_kernel_call *call)
{
    const struct functions *f = loaded;
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
