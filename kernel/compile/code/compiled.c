/* Modules compiled for targets. */
#include <string.h>

#include <baton/op.h>
#include <baton/pass.h>

#include "base/arena.h"
#include "base/ctx.h"
#include "compile/code/compiled.h"
#include "compile/code/pack_constants.h"
#include "pass/targets.h"
#include "plugin/identity.h"

/* What a pipeline makes of the lowered program. */
static bt_status plan(const struct bt__kernels *k, bt_module **module)
{
    bt_pipeline *pipeline;
    const char *const set[] = {
        bt__format(k->arena, "plan-memory.max-bytes=%lld", (long long)k->memory), NULL
    };
    const bt_pipeline_options options = { .level = 4,
                                          .set = k->memory ? set : NULL,
                                          .targets = k->opened };
    bt_module *planned;
    if (!*k->plan)
        return NULL;
    if (!set[0])
        return bt_no_memory();
    BT_TRY(bt_pipeline_read(k->ctx, k->plan, &pipeline));
    bt_status status = bt_pipeline_run(k->ctx, pipeline, &options, *module, &planned);
    bt_pipeline_destroy(pipeline);
    BT_TRY(status);
    bt_module_unref(*module);
    *module = planned;
    return NULL;
}

/* ---- code ---- */

bt_status bt__make_code(struct bt__kernels *k, bt_arena *arena, uint32_t target,
                        uint32_t form, uint32_t n, const bt_kernel *const *kernels,
                        bt_kernel_code *const **codes, void **loaded)
{
    const bt_target_use *use = k->targets[target];
    *loaded = NULL;
    bt_status status = bt__compile_code(k->ctx, arena, use, form, n, kernels, codes);
    if (!status && form != BT_CODE_SOURCE)
        status =
            bt__load_code(k->ctx, use, n, (const bt_kernel_code *const *)*codes, loaded);
    if (status && status->code == BT_ERR_UNSUPPORTED && target + 1 < k->ntarget)
        k->refusing = target + 1;
    return status;
}

bt_status bt__target_compatibility(bt_ctx *ctx, const bt_target_use *use, bt_text *out)
{
    const bt_target *target = use->target;
    if (target->compatibility)
        BT_TRY(target->compatibility(ctx, use->instance, out));
    else if (!target->accepts)
        BT_TRY(bt__plugin_identity(ctx, out->arena, "baton.target/1", target->name, out));
    return bt_text_get(out) ? NULL : bt_no_memory();
}

/* ---- lists ---- */

static const char *copy(bt_arena *arena, const char *text)
{
    return bt_arena_text(arena, text, strlen(text));
}

bt_status bt__compiled_text(bt_compiled *c, const char *text, const char **out)
{
    *out = copy(c->arena, text);
    return *out ? NULL : bt_no_memory();
}

static bt_status list_funcs(bt_compiled *c, const struct bt__kernels *k, bt_map *numbers)
{
    uint32_t n = k->primitives.len;
    bt_compiled_func *funcs = BT_NEWS(c->arena, bt_compiled_func, n);
    if (!funcs)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct bt__primitive *p = k->primitives.at[i].value;
        funcs[i].name = copy(c->arena, p->func->name);
        funcs[i].target = p->target;
        funcs[i].why = copy(c->arena, p->why);
        funcs[i].way = copy(c->arena, p->lowering.way ? p->lowering.way : "");
        if (!funcs[i].name || !funcs[i].why || !funcs[i].way ||
            !bt_map_put(numbers, p->func, (void *)(uintptr_t)(i + 1)))
            return bt_no_memory();
        BT_TRY(bt__func_cost(k->ctx, p->func, &funcs[i].multiply_adds, &funcs[i].nbytes));
    }
    c->nfunc = n;
    c->funcs = BT__LIST(c->arena, funcs, n);
    return c->funcs ? NULL : bt_no_memory();
}

/* The code of one target: of those kernels that are its own. */
static bt_status load_target(bt_compiled *c, struct bt__kernels *k, uint32_t target,
                             bt_compiled_kernel *rows, const bt_kernel_code **codes)
{
    const bt_kernel **own = BT_NEWS(k->arena, const bt_kernel *, k->kernels.len);
    uint32_t n = 0;
    bt_text compatibility;
    bt_kernel_code *const *made;
    if (!own)
        return bt_no_memory();
    for (uint32_t i = 0; i < k->kernels.len; i++) {
        if (k->kernels.at[i]->target != target)
            continue;
        rows[i].number = n;
        own[n++] = k->kernels.at[i];
    }
    if (!n)
        return NULL;
    bt_text_init(&compatibility, k->arena);
    BT_TRY(
        bt__make_code(k, c->arena, target, k->form, n, own, &made, &c->loaded[target]));
    // what it needs of a machine is known when it is made
    BT_TRY(bt__target_compatibility(k->ctx, c->targets[target], &compatibility));
    for (uint32_t i = 0; i < k->kernels.len; i++) {
        if (rows[i].target == target)
            codes[i] = made[rows[i].number];
    }
    return bt__compiled_text(c, bt_text_get(&compatibility), &c->compatibility[target]);
}

static bt_status load(bt_compiled *c, struct bt__kernels *k)
{
    bt_map numbers;
    bt_compiled_kernel *rows = BT_NEWS(c->arena, bt_compiled_kernel, k->kernels.len);
    const bt_kernel_code **codes =
        BT_NEWS(c->arena, const bt_kernel_code *, k->kernels.len);
    bt_map_init(&numbers, k->arena, 0);
    if (!rows || !codes)
        return bt_no_memory();
    BT_TRY(list_funcs(c, k, &numbers));
    for (uint32_t i = 0; i < k->kernels.len; i++) {
        const bt_kernel *kernel = k->kernels.at[i];
        rows[i].name = copy(c->arena, kernel->name);
        rows[i].target = kernel->target;
        rows[i].func = (uint32_t)(uintptr_t)bt_map_find(&numbers, kernel->primitive) - 1;
        if (!rows[i].name)
            return bt_no_memory();
        BT_TRY(bt__kernel_type(k->ctx, c->arena, k->primitives.at[rows[i].func].value,
                               kernel, &rows[i].type));
    }
    for (uint32_t i = 0; i < c->ntarget; i++)
        BT_TRY(load_target(c, k, i, rows, codes));
    c->nkernel = k->kernels.len;
    c->kernels = BT__LIST(c->arena, rows, k->kernels.len);
    c->codes = codes;
    return c->kernels ? NULL : bt_no_memory();
}

/* ---- compiling ---- */

static void unload(bt_compiled *c)
{
    for (uint32_t i = 0; c->loaded && i < c->ntarget; i++) {
        bt__unload_code(c->targets[i], c->loaded[i]);
        c->loaded[i] = NULL;
        c->compatibility[i] = "";
    }
    bt_module_unref(c->module);
    c->module = NULL;
}

/* The plugins that are open: they took part in compiling, or may have. */
static bt_status state_provenance(bt_ctx *ctx, bt_compiled *c)
{
    bt_text text;
    bt_text_init(&text, c->arena);
    bt_text_addf(&text, "baton %s\n", bt_version());
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(ctx, i);
        if (bt_plugin_state(plugin) == BT_PLUGIN_OPEN)
            bt_text_addf(&text, "plugin %s %s\n", bt_plugin_id(plugin),
                         bt_plugin_version(plugin));
    }
    c->provenance = bt_text_get(&text);
    return c->provenance ? NULL : bt_no_memory();
}

/* What is compiled: the entry of a fused module, or one of its primitive functions. */
struct source {
    const bt_module *module;
    const bt_global *primitive; /* NULL: the entry */
    const bt_lowering *lowering;
};

static bt_status try_primitive(bt_compiled *c, struct bt__kernels *k, struct source *from)
{
    const struct bt__primitive *p;
    int is_view;
    from->lowering = NULL;
    BT_TRY(bt__func_is_view(k->ctx, k->arena, from->primitive->func, &is_view));
    if (is_view)
        return NULL;
    BT_TRY(bt__place_primitive(k, from->module->store, from->primitive, &p));
    from->lowering = &p->lowering;
    return load(c, k);
}

static bt_status try_compile(bt_compiled *c, struct bt__kernels *k, struct source *from)
{
    const bt_global *entry;
    if (from->primitive)
        return try_primitive(c, k, from);
    BT_TRY(bt_module_entry(k->ctx, from->module, c->entry, &entry));
    BT_TRY(bt__lower_entry(k, from->module, entry, &c->module));
    BT_TRY(bt__pack_constants(k, &c->module, &c->unpacked_nbytes, &c->packed_nbytes));
    BT_TRY(plan(k, &c->module));
    for (uint32_t i = 0; i < c->module->nglobal; i++) {
        if (bt__is_lowered(c->module->globals[i]))
            BT_TRY(bt_plan_check(k->ctx, c->module->globals[i]->func));
    }
    return load(c, k);
}

/* A target that makes no code of what it had taken is not asked again, nor for a function that
 * it gives up by the function's constants: all is done anew without it, at most once for each
 * target and function. */
static bt_status compile(bt_ctx *ctx, bt_compiled *c, bt_arena *arena,
                         struct source *from, const bt_compile_options *options)
{
    uint8_t *refused = BT_NEWS(arena, uint8_t, c->ntarget);
    bt_map given_up;
    bt_map_init(&given_up, arena, 0);
    if (!refused)
        return bt_no_memory();
    for (;;) {
        struct bt__kernels k = { .ctx = ctx,
                                 .arena = arena,
                                 .opened = c->opened,
                                 .ntarget = c->ntarget,
                                 .targets = c->targets,
                                 .refused = refused,
                                 .given_up = &given_up,
                                 .form = options->form,
                                 .has_control_flow = options->has_control_flow,
                                 .plan = options->plan ? options->plan : "plan",
                                 .memory = options->memory };
        bt_map_init(&k.primitives, arena, 0);
        bt_status status = try_compile(c, &k, from);
        if (!status)
            return state_provenance(ctx, c);
        if (!k.refusing && !k.has_given_up)
            return status;
        unload(c);
        if (!k.refusing)
            continue;
        refused[k.refusing - 1] = 1;
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "target %s takes functions, but makes no code of them, which "
                          "go to others: %s",
                          c->targets[k.refusing - 1]->text, status->message));
    }
}

static bt_status take_targets(bt_compiled *c, const bt_targets *targets)
{
    c->opened = bt_targets_ref(targets);
    c->ntarget = targets->n;
    c->targets = targets->at;
    c->compatibility = BT_NEWS(c->arena, const char *, c->ntarget);
    if (!c->compatibility)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->ntarget; i++)
        c->compatibility[i] = "";
    c->loaded = BT_NEWS(c->arena, void *, c->ntarget);
    c->spaces = BT_NEWS(c->arena, const char *, c->ntarget);
    for (uint32_t i = 0; c->spaces && i < c->ntarget; i++)
        c->spaces[i] = c->targets[i]->text;
    return c->loaded && c->spaces ? bt__constants_begin(c) : bt_no_memory();
}

bt_status bt__compiled_create(bt_ctx *ctx, const bt_targets *targets, bt_compiled **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    bt_arena *arena = bt_arena_create(registry);
    bt_compiled *c = arena ? BT_NEW(arena, bt_compiled) : NULL;
    if (!c) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *c = (bt_compiled){
        .nref = 1, .registry = bt_registry_ref(registry), .executor = "", .arena = arena
    };
    bt_status status = take_targets(c, targets);
    if (status)
        bt_compiled_unref(c);
    else
        *out = c;
    return status;
}

static bt_status begin(bt_ctx *ctx, const bt_compile_options *options,
                       const bt_global *entry, bt_compiled **out)
{
    bt_targets *targets;
    BT_TRY(bt__targets_get(ctx, options, &targets));
    bt_status status = bt__compiled_create(ctx, targets, out);
    bt_targets_unref(targets);
    BT_TRY(status);
    status = bt__compiled_text(*out, entry->name, &(*out)->entry);
    if (status)
        bt_compiled_unref(*out);
    return status;
}

bt_status bt_compile_primitive_sized(bt_ctx *ctx, const bt_module *fused,
                                     const bt_global *primitive,
                                     const bt_compile_options *given, size_t nbytes,
                                     bt_compiled **out, const bt_lowering **lowering)
{
    struct source from = { .module = fused, .primitive = primitive };
    bt_compile_options options;
    bt_compiled *c;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    BT_TRY(begin(ctx, &options, primitive, &c));
    bt_status status = compile(ctx, c, c->arena, &from, &options);
    if (status) {
        bt_compiled_unref(c);
        return status;
    }
    *out = c;
    *lowering = from.lowering;
    return NULL;
}

bt_status bt_compile_sized(bt_ctx *ctx, const bt_module *fused,
                           const bt_compile_options *given, size_t nbytes,
                           bt_compiled **out)
{
    struct source from = { .module = fused };
    bt_compile_options options;
    const bt_global *entry;
    bt_compiled *c;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    BT_TRY(bt_module_entry(ctx, fused, options.entry, &entry));
    BT_TRY(begin(ctx, &options, entry, &c));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = arena ? compile(ctx, c, arena, &from, &options) : bt_no_memory();
    bt_arena_destroy(arena);
    if (status)
        bt_compiled_unref(c);
    else
        *out = c;
    return status;
}

/* ---- compiled modules ---- */

bt_compiled *bt_compiled_ref(bt_compiled *c)
{
    __atomic_add_fetch(&c->nref, 1, __ATOMIC_RELAXED);
    return c;
}

void bt_compiled_unref(bt_compiled *c)
{
    if (!c || __atomic_sub_fetch(&c->nref, 1, __ATOMIC_ACQ_REL))
        return;
    bt_registry *registry = c->registry;
    unload(c);
    bt__constants_free(c);
    bt_tensor_unref((bt_tensor *)(uintptr_t)c->file);
    bt_targets_unref(c->opened);
    bt_arena_destroy(c->arena);
    bt_registry_unref(registry);
}

uint32_t bt_compiled_find_kernel(const bt_compiled *c, const char *name)
{
    uint32_t i = 0;
    while (i < c->nkernel && strcmp(c->kernels[i]->name, name) != 0)
        i++;
    return i;
}

static bt_status check_kernel(bt_ctx *ctx, const bt_compiled *c, uint32_t kernel)
{
    if (kernel >= c->nkernel)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "there is no kernel %u, the module has %u",
                       kernel, c->nkernel);
    const bt_compiled_kernel *row = c->kernels[kernel];
    return c->loaded[row->target]
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "kernel %s was compiled as text, which cannot be launched",
                         row->name);
}

bt_status bt_compiled_note(bt_ctx *ctx, const bt_compiled *c, uint32_t kernel,
                           bt_status status)
{
    const bt_compiled_kernel *row = c->kernels[kernel];
    // unless the caller wants it so
    return status && !(status->code == BT_ERR_CANCELLED && bt_ctx_cancelled(ctx))
               ? bt_note(ctx, status, NULL, 0, "in kernel %s of target %s", row->name,
                         c->targets[row->target]->text)
               : status;
}

/* What a caller of an older version does not have is 0. */
static const bt_kernel_call *whole_call(const bt_kernel_call *call, bt_kernel_call *room)
{
    if (call->nbytes >= sizeof(*room))
        return call;
    memset(room, 0, sizeof(*room));
    memcpy(room, call, call->nbytes);
    room->nbytes = sizeof(*room);
    return room;
}

bt_status bt_compiled_launch(bt_ctx *ctx, const bt_compiled *c, uint32_t kernel,
                             const bt_kernel_call *call)
{
    return bt_compiled_launch_hosted(ctx, c, kernel, call, NULL);
}

bt_status bt_compiled_launch_hosted(bt_ctx *ctx, const bt_compiled *c, uint32_t kernel,
                                    const bt_kernel_call *call,
                                    const bt_host_block *around)
{
    BT_TRY(check_kernel(ctx, c, kernel));
    bt_kernel_call room;
    const bt_compiled_kernel *row = c->kernels[kernel];
    return bt_compiled_note(
        ctx, c, kernel,
        bt__launch_hosted(ctx, c->targets[row->target], c->loaded[row->target],
                          row->number, row->name, whole_call(call, &room), around));
}

bt_status bt_compiled_enqueue(bt_ctx *ctx, const bt_compiled *c, uint32_t kernel,
                              const bt_kernel_call *call, const bt_order *order,
                              uint64_t *value)
{
    BT_TRY(check_kernel(ctx, c, kernel));
    bt_kernel_call room;
    const bt_compiled_kernel *row = c->kernels[kernel];
    return bt_compiled_note(ctx, c, kernel,
                            bt__enqueue(ctx, c->targets[row->target],
                                        c->loaded[row->target], row->number, row->name,
                                        whole_call(call, &room), order, value));
}
