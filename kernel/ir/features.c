/* Which features of the language a program uses: what an executor must accept. */
#include <baton/executor.h>

#include "ir/walk.h"

struct features {
    const bt_module *module;
    bt_arena *arena;
    bt_map seen;                  /* functions */
    bt_vec(const bt_func *) todo; /* seen, not yet walked */
    uint32_t bits;
    uint32_t failed; /* no memory */
};

/* Tuples by recursion, which the depth of types bounds. */
static void see_type(struct features *f, const bt_type *type)
{
    const bt_list_type *tuple = type ? bt_as_tuple_type(type) : NULL;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        see_type(f, tuple->at[i]);
    if (!type || type->kind != BT_TYPE_TENSOR || bt_tensor_static(type, NULL, NULL))
        return;
    const bt_shape_type *shape = bt_tensor_shape(type);
    f->bits |= shape && !(shape->base.has & ~(uint32_t)BT_HAS_VAR)
                   ? BT_FEATURE_OPEN_DIMS
                   : BT_FEATURE_DYNAMIC_SHAPES;
}

static void see_func(struct features *f, const bt_func *func)
{
    if (bt_map_find(&f->seen, func))
        return;
    if (!bt_map_put(&f->seen, func, f) || !BT_PUSH(f->arena, &f->todo, func))
        f->failed = 1;
}

/* A use of a global: its function runs too, unless it is a primitive, which is computed
 * as an operator is. */
static bt_status see_use(void *self, const bt_value *user, const bt_value *used)
{
    struct features *f = self;
    const bt_global *global =
        bt_module_primal(f->module, bt_module_global(f->module, used));
    (void)user;
    if (global && global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func)) {
        f->bits |= BT_FEATURE_CALLS;
        see_func(f, global->func);
    }
    return NULL;
}

static int has_ctor(const bt_pattern *pattern)
{
    if (pattern->kind == BT_PATTERN_CTOR)
        return 1;
    for (uint32_t i = 0; i < pattern->n; i++) {
        if (has_ctor(pattern->at[i]))
            return 1;
    }
    return 0;
}

static void see_match(struct features *f, const bt_match *match)
{
    f->bits |= BT_FEATURE_BRANCHES;
    for (uint32_t i = 0; i < match->nclause; i++) {
        if (has_ctor(match->clauses[i]->pattern))
            f->bits |= BT_FEATURE_ADTS;
    }
}

static void see_value(struct features *f, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    see_type(f, value->type);
    if (value->device)
        f->bits |= BT_FEATURE_DEVICES;
    switch (value->kind) {
    case BT_VALUE_CALL:
        if (call->callee_kind == BT_CALLEE_CTOR)
            f->bits |= BT_FEATURE_ADTS;
        break;
    case BT_VALUE_CLOSURE: f->bits |= BT_FEATURE_CLOSURES; break;
    case BT_VALUE_IF: f->bits |= BT_FEATURE_BRANCHES; break;
    case BT_VALUE_MATCH: see_match(f, bt_as_match(value)); break;
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE: f->bits |= BT_FEATURE_REFS; break;
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_TUPLE:
    case BT_VALUE_PROJ:
    case BT_VALUE_COUNT: break;
    }
}

static void walk(struct features *f, const bt_func *func)
{
    bt__walk walk;
    const bt_value *value;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        see_value(f, &func->block->params[i]->base);
    bt__walk_begin(&walk, f->arena, func->block);
    while ((value = bt__walk_next(&walk)))
        see_value(f, value);
    if (walk.failed || bt__walk_uses(f->arena, func->block, see_use, f))
        f->failed = 1;
}

bt_status bt_module_features(bt_ctx *ctx, const bt_module *module, const bt_func *entry,
                             uint32_t *out)
{
    struct features f = {
        .module = module,
        .arena = bt_arena_create(bt_ctx_registry(ctx)),
    };
    if (!f.arena)
        return bt_no_memory();
    bt_map_init(&f.seen, f.arena, 0);
    see_func(&f, entry);
    while (f.todo.len && !f.failed)
        walk(&f, f.todo.at[--f.todo.len]);
    bt_arena_destroy(f.arena);
    if (f.failed)
        return bt_no_memory();
    *out = f.bits;
    return NULL;
}
