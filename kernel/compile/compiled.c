/* Modules compiled for a target. */
#include <string.h>

#include <baton/op.h>
#include <baton/pass.h>

#include "compile/pack_constants.h"

/* "cpu{threads=2}": the name, and the options as attributes are written. */
static bt_status split(bt_ctx *ctx, bt_arena *arena, const char *target,
                       const char **name, const char **options)
{
    size_t n = strlen(target), brace = strcspn(target, "{");
    if (brace < n && (n < brace + 2 || target[n - 1] != '}'))
        return bt_fail(ctx, BT_ERR_ARGUMENT, "target %s: a closing } is missing", target);
    *name = bt_arena_text(arena, target, brace);
    *options = brace < n ? bt_arena_text(arena, target + brace + 1, n - brace - 2)
                         : bt_arena_text(arena, "", 0);
    return *name && *options ? NULL : bt_no_memory();
}

/* The options' struct lives in a store that the target need not keep. */
static bt_status open_instance(bt_ctx *ctx, bt_compiled *c, const char *options)
{
    static const bt_attr none[] = { { 0 } };
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    const void *values;
    if (!store)
        return bt_no_memory();
    bt_op op = { .name = c->target->name,
                 .attrs = c->target->options ? c->target->options : none,
                 .attrs_nbytes = c->target->options_nbytes };
    bt_status status = bt_attrs_parse(ctx, store, &op, options, &values);
    if (!status)
        status = c->target->open(ctx, values, &c->instance);
    bt_store_unref(store);
    return status;
}

static bt_status open_target(bt_ctx *ctx, bt_compiled *c, const char *target)
{
    const char *name, *options;
    const void *row;
    BT_TRY(split(ctx, c->arena, target, &name, &options));
    BT_TRY(bt_registry_row(ctx, "baton.target/1", name, sizeof(bt_target), &row));
    c->target = row;
    return open_instance(ctx, c, options);
}

static bt_status plan(bt_ctx *ctx, bt_module **module)
{
    bt_pipeline *pipeline;
    bt_pipeline_options options = { .level = 4 };
    bt_module *planned;
    BT_TRY(bt_pipeline_read(ctx, "plan-memory", &pipeline));
    bt_status status = bt_pipeline_run(ctx, pipeline, &options, *module, &planned);
    bt_pipeline_destroy(pipeline);
    BT_TRY(status);
    bt_module_unref(*module);
    *module = planned;
    return NULL;
}

static bt_status load(bt_ctx *ctx, bt_compiled *c, const struct bt__kernels *kernels)
{
    bt_text code;
    bt_text_init(&code, kernels->arena);
    const char **names = BT_NEWS(c->arena, const char *, kernels->kernels.len);
    if (!names)
        return bt_no_memory();
    for (uint32_t i = 0; i < kernels->kernels.len; i++) {
        const char *name = kernels->kernels.at[i]->name;
        names[i] = bt_arena_text(c->arena, name, strlen(name));
        if (!names[i])
            return bt_no_memory();
    }
    c->nkernel = kernels->kernels.len;
    c->kernels = names;
    BT_TRY(c->target->compile(ctx, c->instance, c->nkernel, kernels->kernels.at, &code));
    return code.failed ? bt_no_memory()
                       : c->target->load(ctx, c->instance, code.at, code.len, &c->loaded);
}

static bt_status compile(bt_ctx *ctx, bt_compiled *c, bt_arena *arena,
                         const bt_module *module, const char *entry_name,
                         const char *target)
{
    struct bt__kernels kernels = { .ctx = ctx, .arena = arena };
    const bt_global *entry;
    BT_TRY(bt_module_entry(ctx, module, entry_name, &entry));
    BT_TRY(open_target(ctx, c, target));
    kernels.target = c->target;
    kernels.instance = c->instance;
    bt_map_init(&kernels.primitives, arena, 0);
    BT_TRY(bt__lower_entry(&kernels, module, entry, &c->module));
    BT_TRY(bt_module_entry(ctx, c->module, entry_name, &entry));
    BT_TRY(bt__pack_constants(&kernels, entry, &c->module));
    BT_TRY(plan(ctx, &c->module));
    BT_TRY(bt_module_entry(ctx, c->module, entry_name, &entry));
    BT_TRY(bt_plan_check(ctx, entry->func));
    return load(ctx, c, &kernels);
}

bt_status bt_compile(bt_ctx *ctx, const bt_module *fused, const char *entry,
                     const char *target, bt_compiled **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    bt_arena *own = bt_arena_create(registry), *arena = bt_arena_create(registry);
    bt_compiled *c = own ? BT_NEW(own, bt_compiled) : NULL;
    if (!c || !arena) {
        bt_arena_destroy(own);
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *c = (bt_compiled){ .nref = 1, .registry = bt_registry_ref(registry), .arena = own };
    bt_status status = compile(ctx, c, arena, fused, entry, target);
    bt_arena_destroy(arena);
    if (status)
        bt_compiled_unref(c);
    else
        *out = c;
    return status;
}

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
    if (c->loaded)
        c->target->unload(c->loaded);
    if (c->instance)
        c->target->close(c->instance);
    bt_module_unref(c->module);
    bt_arena_destroy(c->arena);
    bt_registry_unref(registry);
}

uint32_t bt_compiled_kernel(const bt_compiled *c, const char *name)
{
    uint32_t i = 0;
    while (i < c->nkernel && strcmp(c->kernels[i], name) != 0)
        i++;
    return i;
}
