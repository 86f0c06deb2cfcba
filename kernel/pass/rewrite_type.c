/* Types in the scope at hand: type parameters of inlined functions are replaced, opaque
 * dims of copies are new. */
#include "base/arena.h"
#include "ir/type_match.h"
#include "pass/rewrite.h"

static const bt_type *find_leaf(bt_subst *subst, const bt_type *leaf)
{
    for (const struct bt__scope *s = subst->state; s; s = s->outer) {
        const bt_type *now = bt_map_find(&s->types, leaf);
        if (now)
            return now;
    }
    return NULL;
}

int bt__rewrite_is_substituting(const bt_rewrite *rw)
{
    for (const struct bt__scope *s = rw->cursor->scope; s; s = s->outer) {
        if (s->types.len)
            return 1;
    }
    return 0;
}

const bt_type *bt__rewrite_type(bt_rewrite *rw, const bt_type *type)
{
    bt_subst subst = { .leaf = find_leaf, .state = rw->cursor->scope };
    if (!(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)) || !bt__rewrite_is_substituting(rw))
        return type;
    return bt_type_subst(rw->store, &subst, type);
}

struct stating {
    bt_rewrite *rw;
    const bt_value *value;
    bt_map own; /* dims that the value brings along -> holes */
    uint32_t failed;
};

static const bt_type *find_stated(bt_subst *subst, const bt_type *leaf)
{
    struct stating *s = subst->state;
    bt_subst around = { .state = s->rw->cursor->scope };
    if (leaf->kind != BT_TYPE_OPAQUE || bt_map_find(&s->rw->births, leaf) != s->value)
        return find_leaf(&around, leaf);
    const bt_type *hole = bt_map_find(&s->own, leaf);
    if (hole)
        return hole;
    hole = bt_type_hole_numbered(s->rw->store, BT_KIND_DIM, s->own.len + 1);
    if (!hole || !bt_map_put(&s->own, leaf, (void *)(uintptr_t)hole))
        s->failed = 1;
    return hole;
}

bt_status bt_rewrite_stated(bt_rewrite *rw, const bt_value *old, const bt_type **out)
{
    struct stating s = { .rw = rw, .value = old };
    bt_subst subst = { .leaf = find_stated, .state = &s };
    bt_map_init(&s.own, rw->stack, 0);
    *out = bt_type_subst(rw->store, &subst, old->type);
    if (s.failed)
        return bt_no_memory();
    return *out ? NULL : bt_store_why(rw->ctx, rw->store);
}

bt_status bt__rewrite_types(bt_rewrite *rw, uint32_t n, const bt_type *const *types,
                            const bt_type *const **out)
{
    *out = types;
    if (!n || !bt__rewrite_is_substituting(rw))
        return NULL;
    const bt_type **now = BT_NEWS(rw->stack, const bt_type *, n);
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        now[i] = types[i] ? bt__rewrite_type(rw, types[i]) : NULL;
        if (types[i] && !now[i])
            return bt_store_why(rw->ctx, rw->store);
    }
    *out = now;
    return NULL;
}

static bt_status map_attrs(bt_rewrite *rw, const bt_op *op, const void *attrs,
                           const void **out)
{
    bt_subst subst = { .leaf = find_leaf, .state = rw->cursor->scope };
    *out = attrs;
    if (!op || !op->attrs || !attrs || !bt__rewrite_is_substituting(rw))
        return NULL;
    *out = bt_attrs_subst(rw->store, &subst, op->attrs, op->attrs_nbytes, attrs);
    return *out ? NULL : bt_store_why(rw->ctx, rw->store);
}

bt_status bt__rewrite_wheres(bt_rewrite *rw, uint32_t n, const bt_where *const *wheres,
                             const bt_where *const **out)
{
    *out = wheres;
    if (!n || !bt__rewrite_is_substituting(rw))
        return NULL;
    bt_where *now = BT_NEWS(rw->stack, bt_where, n);
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        now[i] = *wheres[i];
        BT_TRY(bt__rewrite_types(rw, now[i].ntype, now[i].types, &now[i].types));
        BT_TRY(map_attrs(rw, now[i].op, now[i].attrs, &now[i].attrs));
    }
    *out = BT__LIST(rw->stack, now, n);
    return *out ? NULL : bt_no_memory();
}

static bt_status map_checks(bt_rewrite *rw, const bt_call *call, bt__again *again,
                            int *same)
{
    bt_check *checks = BT_NEWS(rw->stack, bt_check, call->ncheck);
    if (!checks)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *old = &call->checks[i];
        checks[i] = *old;
        checks[i].left = bt__rewrite_type(rw, old->left);
        checks[i].right = bt__rewrite_type(rw, old->right);
        if (!checks[i].left || !checks[i].right)
            return bt_store_why(rw->ctx, rw->store);
        // It may be proved, or refuted, for the dims that it is about now.
        if (checks[i].left != old->left || checks[i].right != old->right)
            *same = 0;
    }
    again->checks = checks;
    return NULL;
}

static bt_status map_contents(bt_rewrite *rw, const bt_call *call, bt__again *again)
{
    again->contents = call->contents;
    if (!call->contents || !bt__rewrite_is_substituting(rw))
        return NULL;
    bt_contents *now = BT_NEW(rw->stack, bt_contents);
    if (!now)
        return bt_no_memory();
    now->n = call->contents->n;
    again->contents = now;
    return bt__rewrite_types(rw, now->n, call->contents->dims, &now->dims);
}

bt_status bt__rewrite_call_parts(bt_rewrite *rw, const bt_call *call, bt__again *again,
                                 int *same_checks)
{
    *same_checks = 1;
    BT_TRY(map_attrs(rw, call->op, call->attrs, &again->attrs));
    BT_TRY(bt__rewrite_types(rw, call->ntype_arg, call->type_args, &again->type_args));
    BT_TRY(map_checks(rw, call, again, same_checks));
    return map_contents(rw, call, again);
}

/* ---- facts ---- */

/* Whether inference may know the elements of a small integer value. */
static int has_contents(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    const bt_tensor *tensor = bt_const_tensor(value);
    if (tensor) {
        uint32_t class_ = BT_DTYPE_CLASS(tensor->dtype);
        return tensor->rank <= 1 && tensor->nelem <= 32 &&
               (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT);
    }
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
        const bt_call *field = bt_as_call(tuple->fields[i]);
        if (field ? !field->contents : tuple->fields[i]->kind != BT_VALUE_CONST)
            return 0;
    }
    return tuple || (call && call->contents);
}

int bt__rewrite_same_facts(bt_rewrite *rw, const bt_value *old, const bt_value *now)
{
    if (old == now)
        return 1;
    if (!old->type || !now->type || bt__rewrite_type(rw, old->type) != now->type)
        return 0;
    return !has_contents(now) || has_contents(old);
}

/* ---- dims that have another name, or are known now ---- */

static int match_values(bt__type_match *match, const bt_value *old, const bt_value *now)
{
    const bt_call *old_call = bt_as_call(old), *now_call = bt_as_call(now);
    const bt_contents *was = old_call ? old_call->contents : NULL,
                      *is = now_call ? now_call->contents : NULL;
    int matches =
        !old->type || !now->type || bt__type_matches(match, old->type, now->type);
    for (uint32_t i = 0; matches && was && is && was->n == is->n && i < was->n; i++)
        matches = bt__type_matches(match, was->dims[i], is->dims[i]);
    return matches;
}

bt_status bt__rewrite_relate(bt_rewrite *rw, const bt_value *old, const bt_value *now)
{
    if (old == now)
        return NULL;
    const void *mark = bt_arena_mark(rw->stack);
    bt__type_match match;
    bt__type_match_init(&match, rw->stack);
    match.accepts = 1;
    const int matches = match_values(&match, old, now);
    int failed = (int)match.failed;
    for (uint32_t i = 0; matches && !failed && i < match.forth.len; i++) {
        const bt_type *was = match.forth.at[i].key, *is = match.forth.at[i].value;
        if (was->kind == BT_TYPE_OPAQUE && was != is &&
            bt_map_find(&rw->births, was) == old)
            failed = !bt_map_put(&rw->cursor->scope->types, was, (void *)(uintptr_t)is);
    }
    bt_arena_release(rw->stack, mark);
    return failed ? bt_no_memory() : NULL;
}

/* ---- replacements ---- */

static bt_status fail_retype(bt_rewrite *rw, const bt_value *old, const bt_type *wanted,
                             const bt_type *given)
{
    bt_text text;
    bt_text_init(&text, rw->stack);
    bt_text_addf(&text, "%s puts a value of type ", bt__rewrite_pass_name(rw));
    bt_print_type(rw->ctx, given, &text);
    bt_text_addf(&text, " for %%%s, which has the type ", old->name ? old->name : "_");
    bt_print_type(rw->ctx, wanted, &text);
    const char *message = bt_text_get(&text);
    return message
               ? bt_fail_at(rw->ctx, BT_ERR_INTERNAL, rw->store, old->span, "%s", message)
               : bt_no_memory();
}

bt_status bt__rewrite_check_type(bt_rewrite *rw, const bt_value *old, const bt_value *now)
{
    if (!old->type || !now->type || old->type == now->type)
        return NULL;
    const void *mark = bt_arena_mark(rw->stack);
    const bt_type *wanted = bt__rewrite_type(rw, old->type);
    bt_status status = NULL;
    if (!wanted)
        status = bt_store_why(rw->ctx, rw->store);
    else if (!bt__type_accepts(rw->stack, wanted, now->type))
        status = fail_retype(rw, old, wanted, now->type);
    bt_arena_release(rw->stack, mark);
    return status;
}
