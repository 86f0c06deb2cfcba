/* The type of one binding whose operands are typed: what builders ask for. */
#include "solve/solver.h"

#include "base/arena.h"
#include "ir/store.h"
#include "ir/type_match.h"

static bt_status copy_call(bt_solver *s, const struct bt__slot *slot, bt_call *call)
{
    bt_arena *arena = bt_store_arena(s->store);
    const bt_type **type_args = BT_NEWS(arena, const bt_type *, slot->ntype_arg);
    bt_check *checks = BT_NEWS(arena, bt_check, slot->checks.len);
    if (!type_args || !checks)
        return bt_no_memory();
    for (uint32_t i = 0; i < slot->ntype_arg; i++) {
        BT_TRY(bt__resolve(s, slot->type_args[i], &type_args[i]));
        if (type_args[i]->has & BT_HAS_HOLE)
            return bt__report_unknown(s, slot, NULL, NULL);
    }
    for (uint32_t i = 0; i < slot->checks.len; i++)
        checks[i] = slot->checks.at[i];
    call->ntype_arg = slot->ntype_arg;
    call->type_args = type_args;
    call->ncheck = slot->checks.len;
    call->checks = checks;
    call->contents = slot->contents;
    return NULL;
}

/* What still waits when nothing can proceed is an error. */
static bt_status check_pending(bt_solver *s)
{
    const struct bt__level *level = &s->levels[s->level];
    for (uint32_t i = 0; i < level->pending.len; i++) {
        struct bt__node *node = level->pending.at[i];
        if (node->state != STATE_WAITING)
            continue;
        BT_TRY(bt__report_pending(s, node));
        return bt__report_unknown(s, node->slot, NULL, node);
    }
    return NULL;
}

static bt_status infer(bt_solver *s, bt_value *binding)
{
    const bt_type *type;
    BT_TRY(bt__visit_binding(s, binding));
    BT_TRY(bt__settle(s));
    BT_TRY(check_pending(s));
    const struct bt__slot *slot = bt__slot_of(s, binding);
    BT_TRY(bt__resolve(s, slot->type, &type));
    if (type->has & BT_HAS_HOLE)
        return bt__report_unknown(s, slot, NULL, NULL);
    uint32_t size;
    BT_TRY(bt__type_size(s, type, &size));
    if (size >= BT__TYPE_SIZE)
        return bt__report_large(s, slot);
    if (binding->kind == BT_VALUE_CALL)
        BT_TRY(copy_call(s, slot, (bt_call *)(void *)binding));
    binding->type = type;
    return NULL;
}

/* With a solver of its own. stated: NULL, or the type that the binding is to have. */
static bt_status infer_alone(bt_ctx *ctx, bt_store *store, const bt_module *module,
                             const bt__promises *promises, const bt_layout *layout,
                             const bt_type *stated, bt_value *binding)
{
    bt_solver s;
    bt_status status = bt__solver_init(&s, ctx, store, module);
    s.only_first = 1;
    s.promises = promises;
    s.layout = layout;
    s.stated = stated;
    if (!status)
        status = infer(&s, binding);
    bt__solver_deinit(&s);
    return status;
}

/* *same: no dim that only the run knows stands for another one. */
static bt_status accepts(bt_arena *arena, const bt_type *wanted, const bt_type *given,
                         int *out, int *same)
{
    bt__type_match m;
    bt__type_match_init(&m, arena);
    m.accepts = 1;
    *out = bt__type_matches(&m, wanted, given);
    *same = 1;
    for (uint32_t i = 0; i < m.forth.len; i++) {
        const bt_type *dim = m.forth.at[i].key;
        *same &= dim->kind != BT_TYPE_OPAQUE || dim == m.forth.at[i].value;
    }
    return m.failed ? bt_no_memory() : NULL;
}

/* Whether the binding's type says less than what is stated, whose dims that only the run knows are
 * those of something before it; or, of a call of a function, something else: its clause or its
 * function gives what was stated. */
static bt_status says_less(bt_store *store, const bt_value *binding,
                           const bt_type *stated, int *out)
{
    const bt_call *call = bt_as_call(binding);
    bt_arena *arena;
    int fits = 0, is_less = 0, same, ignored;
    *out = 0;
    if (!stated || stated == binding->type)
        return NULL;
    if (call && call->callee_kind == BT_CALLEE_VALUE) {
        *out = 1;
        return NULL;
    }
    arena = bt_arena_create(store->registry);
    if (!arena)
        return bt_no_memory();
    bt_status status = accepts(arena, stated, binding->type, &fits, &same);
    if (!status)
        status = accepts(arena, binding->type, stated, &is_less, &ignored);
    bt_arena_destroy(arena);
    *out = !(fits && same) && (is_less || !fits);
    return status;
}

bt_status bt__infer_binding(bt_ctx *ctx, bt_store *store, const bt_module *module,
                            const bt__promises *promises, const bt_layout *layout,
                            const bt_type *stated, bt_value *binding)
{
    uint32_t nlack = store->nlack;
    const bt_closure_value *closure = bt_as_closure(binding);
    int is_less;
    if (closure) {
        binding->type = bt_func_type_of(store, closure->func);
        return binding->type ? NULL : bt_store_why(ctx, store);
    }
    bt_status status = infer_alone(ctx, store, module, promises, layout, NULL, binding);
    if (!status)
        status = says_less(store, binding, stated, &is_less);
    if (!status && is_less)
        status = infer_alone(ctx, store, module, promises, layout, stated, binding);
    return bt__store_lacked(store, nlack, status);
}
