/* Closure groups: declared first, so that their bodies may refer to all of them. */
#include "ir/builder.h"
#include "ir/func.h"

static bt_status emit_members(bt_builder *b, uint32_t n, const char *const *names,
                              const bt_type *const *types, const bt_closure_group *group,
                              const bt_closure_value **members, const bt_value **out)
{
    for (uint32_t i = 0; i < n; i++) {
        bt_closure_value *closure = bt__node(b, BT_VALUE_CLOSURE, sizeof(*closure));
        if (!closure)
            return bt_no_memory();
        closure->group = group;
        members[i] = closure;
        if (names && names[i])
            bt_builder_name(b, names[i]);
        b->preset.type = types ? types[i] : NULL;
        BT_TRY(bt__builder_emit(b, &closure->base, &out[i]));
    }
    return NULL;
}

bt_status bt_build_closures(bt_builder *b, uint32_t n, const char *const *names,
                            const bt_type *const *types, const bt_value **out)
{
    bt_arena *arena = bt_store_arena(b->store);
    bt_closure_group *group = BT_NEW(arena, bt_closure_group);
    const bt_closure_value **members = BT_NEWS(arena, const bt_closure_value *, n);
    if (!group || !members)
        return bt_no_memory();
    *group = (bt_closure_group){ .n = n, .at = members };
    uint32_t before = b->depth ? b->frames.at[b->selected].bindings.len : 0;
    bt_status status = emit_members(b, n, names, types, group, members, out);
    if (status && b->depth)
        b->frames.at[b->selected].bindings.len = before;
    return status;
}

bt_status bt_build_closure_body(bt_builder *b, const bt_value *closure,
                                const bt_func *func)
{
    if (!bt_as_closure(closure) || bt_as_closure(closure)->func)
        return bt_fail(b->ctx, BT_ERR_ARGUMENT,
                       "bt_build_closure_body: %%%s is no closure without a body",
                       closure->name ? closure->name : "_");
    // Not yet complete, so not yet shared: the one node that is filled in two steps.
    bt_closure_value *open = (bt_closure_value *)(uintptr_t)closure;
    const bt_type *type = closure->type;
    if (b->infer && !type && !(type = bt_func_type_of(b->store, func)))
        return bt_store_why(b->ctx, b->store);
    open->base.type = type;
    open->func = func;
    return NULL;
}
