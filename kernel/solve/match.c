/* The types of patterns and of their variables. */
#include "solve/solver.h"

static bt_status begin_pattern(bt_solver *s, const struct bt__node *node,
                               const bt_pattern *pattern)
{
    if (pattern->kind == BT_PATTERN_VAR) {
        const bt_value *var = &pattern->var->base;
        struct bt__slot *slot = bt__slot_new(s, var);
        if (!slot)
            return bt_no_memory();
        BT_TRY(bt__annotate(s, slot->function, var->type, ANNOTATE_VALUE, node->id, var,
                            &slot->type));
        if (!slot->type)
            slot->type = bt__hole_new(s, BT_KIND_TYPE, node->id, var);
        return slot->type ? NULL : bt_no_memory();
    }
    for (uint32_t i = 0; i < pattern->n; i++)
        BT_TRY(begin_pattern(s, node, pattern->at[i]));
    return NULL;
}

bt_status bt__match_begin(bt_solver *s, const struct bt__node *node)
{
    const bt_match *match = bt_as_match(node->slot->value);
    for (uint32_t i = 0; i < match->nclause; i++)
        BT_TRY(begin_pattern(s, node, match->clauses[i]->pattern));
    return NULL;
}

static bt_status try_pattern(bt_solver *s, struct bt__node *node,
                             const bt_pattern *pattern, const bt_type *type);

static bt_status try_fields(bt_solver *s, struct bt__node *node,
                            const bt_pattern *pattern, const bt_type *const *types)
{
    bt_status waits = NULL;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_type *type;
        BT_TRY(bt__field_type(s, node, pattern->at[i], 0, types[i], &type));
        bt_status status = try_pattern(s, node, pattern->at[i], type);
        if (status == &bt__wait)
            waits = status;
        else if (status)
            return status;
    }
    return waits;
}

static bt_span span_of(const struct bt__node *node, const bt_pattern *pattern)
{
    return pattern->span ? pattern->span : node->slot->value->span;
}

static bt_status wrong_pattern(bt_solver *s, const struct bt__node *node,
                               const bt_pattern *pattern, const char *what,
                               const bt_type *type)
{
    bt_status status =
        bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, span_of(node, pattern),
                   "pattern %s does not fit a value of type %s", what, bt__show(s, type));
    return bt__note_operands(s, status, node->slot, 0);
}

static bt_status wrong_count(bt_solver *s, const struct bt__node *node,
                             const bt_pattern *pattern, const char *what, uint32_t wanted)
{
    return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, span_of(node, pattern),
                      "%s has %u field%s, but the pattern has %u", what, wanted,
                      wanted == 1 ? "" : "s", pattern->n);
}

/* Fresh holes for n terms whose kinds `kind_of` gives. */
static const bt_type **new_holes(bt_solver *s, uint32_t n, const bt_type *const *vars)
{
    const bt_type **holes = BT_NEWS(s->arena, const bt_type *, n);
    for (uint32_t i = 0; holes && i < n; i++) {
        uint32_t kind = vars ? bt_type_kind_of(vars[i]) : BT_KIND_TYPE;
        holes[i] = bt__hole_new(s, kind, 0, s->current->slot->value);
        if (!holes[i])
            return NULL;
    }
    return holes;
}

/* The matched value gets the structure that the pattern asks for; no dim is decided by
 * that. */
static bt_status give_structure(bt_solver *s, struct bt__node *node, const bt_type *hole,
                                const bt_type *type)
{
    struct bt__hole *unknown = bt__hole_of(s, hole);
    if (!type)
        return bt_store_why(s->ctx, s->store);
    if (!unknown || unknown->is_poison ||
        (unknown->owner && !bt__may_assign(s, node, unknown)))
        return &bt__wait;
    return bt__assign(s, node, hole, type);
}

static bt_status try_tuple(bt_solver *s, struct bt__node *node, const bt_pattern *pattern,
                           const bt_type *type)
{
    if (type->kind == BT_TYPE_HOLE) {
        const bt_type **fields = new_holes(s, pattern->n, NULL);
        if (!fields)
            return bt_no_memory();
        BT_TRY(
            give_structure(s, node, type, bt_type_tuple(s->store, pattern->n, fields)));
        type = bt__head(s, type);
    }
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple)
        return wrong_pattern(s, node, pattern, "of a tuple", type);
    if (tuple->n != pattern->n)
        return wrong_count(s, node, pattern, "the tuple", tuple->n);
    return try_fields(s, node, pattern, tuple->at);
}

static bt_status try_ctor(bt_solver *s, struct bt__node *node, const bt_pattern *pattern,
                          const bt_type *type)
{
    const bt_ctor *ctor = pattern->ctor;
    const bt_adt_def *adt = ctor->adt;
    if (type->kind == BT_TYPE_HOLE) {
        const bt_type **args = new_holes(s, adt->nvar, adt->vars);
        if (!args)
            return bt_no_memory();
        BT_TRY(
            give_structure(s, node, type, bt_type_apply(s->store, adt, adt->nvar, args)));
        type = bt__head(s, type);
    }
    const bt_list_type *apply = bt_as_apply_type(type);
    if (!apply || ((const bt_adt_type *)(const void *)apply->at[0])->def != adt)
        return wrong_pattern(s, node, pattern, ctor->name, type);
    if (ctor->nfield != pattern->n)
        return wrong_count(s, node, pattern, ctor->name, ctor->nfield);
    const bt_type *ctor_type = bt__ctor_type(s, ctor);
    const bt_func_type *fields =
        ctor_type ? bt_func_type_open(s->store, bt_as_func_type(ctor_type), apply->at + 1)
                  : NULL;
    return fields ? try_fields(s, node, pattern, fields->args)
                  : bt_store_why(s->ctx, s->store);
}

static bt_status try_variable(bt_solver *s, struct bt__node *node,
                              const bt_pattern *pattern, const bt_type *type)
{
    const struct bt__slot *slot = bt__slot_of(s, &pattern->var->base);
    bt_status status = bt__flow(s, node, type, slot->type);
    if (status != &bt__mismatch)
        return status;
    return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, span_of(node, pattern),
                      "%s is %s, but is annotated as %s", bt__show_value(s, slot->value),
                      bt__show(s, type), bt__show(s, slot->type));
}

static bt_status try_pattern(bt_solver *s, struct bt__node *node,
                             const bt_pattern *pattern, const bt_type *type)
{
    type = bt__head(s, type);
    if (pattern->kind == BT_PATTERN_WILDCARD)
        return NULL;
    if (pattern->kind == BT_PATTERN_VAR)
        return try_variable(s, node, pattern, type);
    return pattern->kind == BT_PATTERN_CTOR ? try_ctor(s, node, pattern, type)
                                            : try_tuple(s, node, pattern, type);
}

bt_status bt__try_match(bt_solver *s, struct bt__node *node)
{
    const bt_match *match = bt_as_match(node->slot->value);
    bt_status waits = NULL;
    for (uint32_t i = 0; i < match->nclause; i++) {
        bt_status status =
            try_pattern(s, node, match->clauses[i]->pattern, node->u.match.data);
        if (status == &bt__wait)
            waits = status;
        else if (status)
            return status;
    }
    return waits;
}
