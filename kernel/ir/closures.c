/* Closure groups: declared first, so that their bodies may refer to all of them. */
#include "ir/builder.h"
#include "ir/func.h"

/* The members of a group while it is declared; names, types and like may be NULL. */
struct group {
    uint32_t n;
    const char *const *names;
    const bt_type *const *types;
    const bt_value *const *like;
    bt_prov prov; /* joined to those of `like` */
    const bt_closure_value **at;
    const bt_closure_group *node;
};

static bt_status emit_members(bt_builder *b, const struct group *group,
                              const bt_value **out)
{
    for (uint32_t i = 0; i < group->n; i++) {
        bt_closure_value *closure = bt__node(b, BT_VALUE_CLOSURE, sizeof(*closure));
        if (!closure)
            return bt_no_memory();
        closure->group = group->node;
        group->at[i] = closure;
        if (group->like) {
            bt_builder_like(b, group->like[i]);
            b->preset.prov = bt__builder_join(b, b->preset.prov, group->prov);
        }
        if (group->names && group->names[i])
            bt_builder_name(b, group->names[i]);
        b->preset.type = group->types ? group->types[i] : NULL;
        BT_TRY(bt__builder_emit(b, &closure->base, &out[i]));
    }
    return NULL;
}

static bt_status declare(bt_builder *b, struct group *group, const bt_value **out)
{
    bt_arena *arena = bt_store_arena(b->store);
    bt_closure_group *node = BT_NEW(arena, bt_closure_group);
    group->at = BT_NEWS(arena, const bt_closure_value *, group->n);
    if (!node || !group->at)
        return bt_no_memory();
    *node = (bt_closure_group){ .n = group->n, .at = group->at };
    group->node = node;
    uint32_t before = b->depth ? b->frames.at[b->selected].bindings.len : 0;
    bt_status status = emit_members(b, group, out);
    if (status && b->depth)
        b->frames.at[b->selected].bindings.len = before;
    return status;
}

bt_status bt_build_closures(bt_builder *b, uint32_t n, const char *const *names,
                            const bt_type *const *types, const bt_value **out)
{
    struct group group = { .n = n, .names = names, .types = types };
    return declare(b, &group, out);
}

bt_status bt__build_closures_like(bt_builder *b, uint32_t n, const bt_value *const *like,
                                  const bt_type *const *types, const bt_value **out)
{
    struct bt__preset before = b->preset;
    struct group group = { .n = n, .like = like, .types = types, .prov = before.prov };
    bt_status status = declare(b, &group, out);
    b->preset = before;
    return status;
}

bt_status bt_build_closure_body(bt_builder *b, const bt_value *closure,
                                const bt_func *func)
{
    if (!bt_as_closure(closure) || bt_as_closure(closure)->func)
        return bt_fail(b->ctx, BT_ERR_ARGUMENT,
                       "bt_build_closure_body: %%%s is no closure without a body",
                       closure->name ? closure->name : "_");
    // This node is filled in two steps; nobody else sees it before the second.
    bt_closure_value *open = (bt_closure_value *)(uintptr_t)closure;
    const bt_type *type = closure->type;
    if (b->infer && !type && !(type = bt_func_type_of(b->store, func)))
        return bt_store_why(b->ctx, b->store);
    open->base.type = type;
    open->func = func;
    return NULL;
}
