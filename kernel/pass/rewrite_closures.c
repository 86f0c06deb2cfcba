/*
 * Groups of closures.
 *
 * A body that refers to its own group cannot be rewritten after the new group is declared
 * (everything would then seem to change) nor before it is declared (there would be
 * nothing to refer to). So it is rewritten as if the group stayed; if something did
 * change, a group is declared and the bodies are walked once more, without slots, to
 * refer to that.
 */
#include "ir/type_match.h"
#include "ir/walk.h"
#include "pass/rewrite.h"
#include "solve/solve.h"

struct members {
    uint32_t n;
    const bt_value **old; /* those that no slot replaced */
    const bt_func **funcs;
    const bt_type **types; /* NULL: as inferred from the function */
    const bt_value **now;
};

/* ---- functions ---- */

/* New variables in place of a copied function's: a copy may come to stand inside another
 * copy of the same. */
static bt_status rename_vars(bt_rewrite *rw, const bt_func *func,
                             const bt_type *const **out)
{
    struct bt__scope *scope = rw->cursor->scope;
    const bt_type **vars = BT_NEWS(rw->stack, const bt_type *, func->nvar);
    *out = func->vars;
    if (!scope->is_fresh)
        return NULL;
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *old = (const bt_var_type *)(const void *)func->vars[i];
        vars[i] = old->is_anonymous ? bt_type_var_anonymous(rw->store, &old->param)
                                    : bt_type_var(rw->store, &old->param, old->name);
        if (!vars[i])
            return bt_store_why(rw->ctx, rw->store);
        if (!bt_map_put(&scope->types, func->vars[i], (void *)(uintptr_t)vars[i]))
            return bt_no_memory();
    }
    *out = vars;
    return NULL;
}

static bt_status keeps_result(bt_rewrite *rw, const bt_func *func,
                              const bt_type *declared, const bt_type *result)
{
    const void *mark = bt_arena_mark(rw->stack);
    int accepts = !declared || !result || bt__type_accepts(rw->stack, declared, result);
    bt_arena_release(rw->stack, mark);
    if (accepts)
        return NULL;
    return bt_fail_at(rw->ctx, BT_ERR_INTERNAL, rw->store, func->span,
                      "%s changes the result type of %%%s, which refers to itself: its "
                      "calls would have another type than it",
                      bt__rewrite_pass_name(rw), func->name ? func->name : "_");
}

/* The rewritten function of a closure; the same one where nothing changed. With
 * `keep_result`, its type stays whatever became of its block. */
static bt_status closure_func(bt_rewrite *rw, const bt_func *func, int keep_result,
                              const bt_func **out)
{
    bt_func now = *func;
    BT_TRY(rename_vars(rw, func, &now.vars));
    BT_TRY(bt__rewrite_wheres(rw, func->nwhere, func->wheres, &now.wheres));
    bt__promises promises;
    const bt__promises *outer = rw->b->promises;
    BT_TRY(bt__promises_init(&promises, rw->stack, &now, outer));
    rw->b->promises = &promises;
    BT_TRY(bt__rewrite_region(rw, func->block, NULL, &now.block));
    rw->b->promises = outer;
    *out = func;
    if (now.block == func->block)
        return NULL;
    if (func->result && !(now.result = bt__rewrite_type(rw, func->result)))
        return bt_store_why(rw->ctx, rw->store);
    if (keep_result)
        BT_TRY(keeps_result(rw, func, now.result, now.block->result->type));
    else if (!bt__rewrite_same_facts(rw, func->block->result, now.block->result))
        now.result = now.block->result->type;
    return bt_func_create(rw->ctx, rw->store, &now, out);
}

static const bt_func *func_of(const bt_value *closure)
{
    return bt_as_closure(closure)->func;
}

/* ---- groups ---- */

static bt_status put_all(struct bt__scope *scope, const struct members *m,
                         const bt_value *const *now)
{
    for (uint32_t i = 0; i < m->n; i++)
        BT_TRY(bt__scope_put(scope, m->old[i], now[i]));
    return NULL;
}

static bt_status append_all(bt_rewrite *rw, const struct members *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        BT_TRY(bt__builder_append(rw->b, m->old[i]));
    return put_all(rw->cursor->scope, m, m->old);
}

static bt_status declare(bt_rewrite *rw, struct members *m)
{
    rw->b->preset.prov = rw->cursor->scope->prov;
    return bt__build_closures_like(rw->b, m->n, m->old, m->types, m->now);
}

static bt_status declare_with(bt_rewrite *rw, struct members *m)
{
    BT_TRY(declare(rw, m));
    for (uint32_t i = 0; i < m->n; i++)
        BT_TRY(bt_build_closure_body(rw->b, m->now[i], m->funcs[i]));
    return put_all(rw->cursor->scope, m, m->now);
}

/* Declares first; bodies refer to the new group. */
static bt_status declare_first(bt_rewrite *rw, struct members *m, int is_recursive)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const bt_type *type = m->old[i]->type;
        if (is_recursive && type && !(m->types[i] = bt__rewrite_type(rw, type)))
            return bt_store_why(rw->ctx, rw->store);
    }
    BT_TRY(declare(rw, m));
    BT_TRY(put_all(rw->cursor->scope, m, m->now));
    for (uint32_t i = 0; i < m->n; i++) {
        const bt_func *func;
        BT_TRY(closure_func(rw, func_of(m->old[i]), is_recursive, &func));
        BT_TRY(bt_build_closure_body(rw->b, m->now[i], func));
    }
    return NULL;
}

/* Rewrites the bodies; *same: nothing changed. */
static bt_status rewrite_bodies(bt_rewrite *rw, struct members *m, int *same)
{
    for (uint32_t i = 0; i < m->n; i++) {
        BT_TRY(closure_func(rw, func_of(m->old[i]), 0, &m->funcs[i]));
        *same &= m->funcs[i] == func_of(m->old[i]);
    }
    return NULL;
}

/* Walks the rewritten bodies again so that they refer to a group of their own. */
static bt_status refer_to_new(bt_rewrite *rw, struct members *m)
{
    struct bt__scope plain;
    bt__scope_init(rw, &plain, NULL);
    plain.is_plain = 1;
    for (uint32_t i = 0; i < m->n; i++) {
        m->types[i] = m->old[i]->type;
        if (m->funcs[i]->result != func_of(m->old[i])->result &&
            !(m->types[i] = bt_func_type_of(rw->store, m->funcs[i])))
            return bt_store_why(rw->ctx, rw->store);
    }
    BT_TRY(declare(rw, m));
    BT_TRY(put_all(&plain, m, m->now));
    struct bt__cursor cursor = { .outer = rw->cursor,
                                 .frame = rw->b->selected,
                                 .scope = &plain };
    rw->cursor = &cursor;
    bt_status status = NULL;
    for (uint32_t i = 0; i < m->n && !status; i++)
        status = closure_func(rw, m->funcs[i], 1, &m->funcs[i]);
    rw->cursor = cursor.outer;
    for (uint32_t i = 0; i < m->n && !status; i++)
        status = bt_build_closure_body(rw->b, m->now[i], m->funcs[i]);
    return status ? status : put_all(rw->cursor->scope, m, m->now);
}

/* The members that stay closures. */
static bt_status ask_all(bt_rewrite *rw, const bt_closure_group *group, struct members *m)
{
    struct bt__scope *scope = rw->cursor->scope;
    for (uint32_t i = 0; i < group->n; i++) {
        const bt_value *old = &group->at[i]->base, *now;
        int dropped;
        if (bt_map_find(&scope->values, old))
            continue;
        bt__rewrite_preset(rw, old);
        BT_TRY(bt__rewrite_ask(rw, old, &now, &dropped));
        if (now && !dropped)
            BT_TRY(bt__rewrite_check_type(rw, old, now));
        if (dropped || now)
            BT_TRY(bt__scope_put(scope, old, dropped ? &bt__rewrite_dropped : now));
        else
            m->old[m->n++] = old;
    }
    return NULL;
}

static bt_status rebuild(bt_rewrite *rw, const bt_closure_group *group, struct members *m)
{
    const struct bt__scope *scope = rw->cursor->scope;
    int is_recursive, same = m->n == group->n;
    BT_TRY(bt__group_is_recursive(rw->stack, group, &is_recursive));
    if (scope->is_fresh || (scope->is_plain && is_recursive))
        return declare_first(rw, m, is_recursive);
    if (is_recursive)
        BT_TRY(put_all(rw->cursor->scope, m, m->old));
    BT_TRY(rewrite_bodies(rw, m, &same));
    if (same)
        return append_all(rw, m);
    return is_recursive ? refer_to_new(rw, m) : declare_with(rw, m);
}

bt_status bt__rewrite_group(bt_rewrite *rw, const bt_closure_group *group)
{
    const void *mark = bt_arena_mark(rw->stack);
    struct members m = {
        .old = BT_NEWS(rw->stack, const bt_value *, group->n),
        .funcs = BT_NEWS(rw->stack, const bt_func *, group->n),
        .types = BT_NEWS(rw->stack, const bt_type *, group->n),
        .now = BT_NEWS(rw->stack, const bt_value *, group->n),
    };
    if (!m.old || !m.funcs || !m.types || !m.now)
        return bt_no_memory();
    BT_TRY(ask_all(rw, group, &m));
    if (m.n)
        BT_TRY(rebuild(rw, group, &m));
    bt_arena_release(rw->stack, mark);
    return NULL;
}
