/* One walk over terms, by recursion, which BT_TYPE_DEPTH bounds. Shared terms are walked
 * once per depth. */
#include "ir/type_walk.h"

#include "ir/attrs.h"
#include "ir/dim.h"

#include <baton/op.h>

#define AS(T, term) ((const T *)(const void *)(term))

/* Up to so many terms a memo costs more than it saves. */
#define NO_MEMO 64u

/* ---- memo ---- */

/* The memo of the present depth; NULL and *failed unset: none is needed. */
static bt_map *memo_of(bt__type_walk *walk, int *failed)
{
    if (walk->depth == 0 && walk->memo)
        return walk->memo;
    if (walk->is_each || walk->nvisited <= NO_MEMO)
        return NULL;
    bt_arena *scratch = walk->to->scratch;
    while (walk->memos.len <= walk->depth) {
        bt_map *memo = BT_NEW(scratch, bt_map);
        if (!memo || !BT_PUSH(scratch, &walk->memos, memo)) {
            *failed = 1;
            return NULL;
        }
        bt_map_init(memo, scratch, 0);
    }
    return walk->memos.at[walk->depth];
}

/* ---- parts ---- */

static const bt_type *walk_term(bt__type_walk *, const bt_type *);

/* The terms walked, in scratch memory. NULL: as walk_term. */
static const bt_type **walk_all(bt__type_walk *walk, uint32_t n, const bt_type *const *at)
{
    const bt_type **out = BT_NEWS(walk->to->scratch, const bt_type *, n);
    if (!out) {
        bt__refuse(walk->to, NULL);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = walk_term(walk, at[i]);
        if (!out[i])
            return NULL;
    }
    return out;
}

static const bt_type *walk_tensor(bt__type_walk *walk, const bt_tensor_type *t)
{
    const bt_layout *layout = t->layout;
    const bt_type *shape = walk_term(walk, t->shape);
    const bt_type *dtype = shape ? walk_term(walk, t->dtype) : NULL;
    if (!dtype)
        return NULL;
    if (layout && walk->is_copy && !(layout = bt_layout_parse(walk->to, layout->text)))
        return NULL;
    return bt_type_tensor_layout(walk->to, shape, dtype, layout);
}

static const bt_type *walk_apply(bt__type_walk *walk, const bt_list_type *t)
{
    const bt_type **at = walk_all(walk, t->n, t->at);
    if (!at)
        return NULL;
    if (at[0]->kind != BT_TYPE_ADT)
        return bt__refuse(walk->to,
                          "expected the handle of a data type, found another term");
    return bt_type_apply(walk->to, AS(bt_adt_type, at[0])->def, t->n - 1, at + 1);
}

static const bt_type *walk_shape(bt__type_walk *walk, const bt_shape_type *t)
{
    const bt_type *rest = t->rest;
    const bt_type **dims = walk_all(walk, t->n, t->dims);
    if (!dims || (rest && !(rest = walk_term(walk, rest))))
        return NULL;
    return bt_type_shape_rest(walk->to, t->n, dims, t->position, rest);
}

static const bt_type *walk_linear(bt__type_walk *walk, const bt_linear_type *t)
{
    const bt_type **atoms = BT_NEWS(walk->to->scratch, const bt_type *, t->n);
    if (!atoms)
        return bt__refuse(walk->to, NULL);
    for (uint32_t i = 0; i < t->n; i++) {
        atoms[i] = walk_term(walk, t->terms[i].atom);
        if (!atoms[i])
            return NULL;
    }
    return bt__dim_rebuild(walk->to, t, atoms);
}

static const bt_type *walk_atom(bt__type_walk *walk, const bt_list_type *t)
{
    const bt_type *(*combine)(bt_store *, const bt_type *, const bt_type *) = NULL;
    const bt_type **at = walk_all(walk, t->n, t->at);
    switch (t->base.kind) {
    case BT_TYPE_PRODUCT: combine = bt_dim_mul; break;
    case BT_TYPE_FLOORDIV: combine = bt_dim_floordiv; break;
    case BT_TYPE_CEILDIV: combine = bt_dim_ceildiv; break;
    case BT_TYPE_MOD: combine = bt_dim_mod; break;
    case BT_TYPE_MIN: combine = bt_dim_min; break;
    case BT_TYPE_MAX: combine = bt_dim_max; break;
    }
    const bt_type *all = at ? at[0] : NULL;
    for (uint32_t i = 1; i < t->n && all; i++)
        all = combine(walk->to, all, at[i]);
    return all;
}

/* ---- function types ---- */

static const bt_type *map_attr(bt__attrs_walk *attrs, const bt_type *term)
{
    return walk_term(attrs->state, term);
}

static int walk_where(bt__type_walk *walk, const bt_where *from, bt_where *out)
{
    bt__attrs_walk attrs = { map_attr, walk };
    *out = *from;
    out->types = walk_all(walk, from->ntype, from->types);
    if (!out->types)
        return 0;
    out->attrs = (walk->is_copy ? bt__attrs_copy_to : bt__attrs_map)(
        walk->to, &attrs, from->op->attrs, from->op->attrs_nbytes, from->attrs);
    return out->attrs || !from->attrs;
}

const bt_type *bt__type_walk_func(bt__type_walk *walk, const bt_func_type *t,
                                  uint32_t nparam, const bt_type_param *params)
{
    bt_func_type fields = {
        .nparam = nparam, .params = params, .narg = t->narg, .nwhere = t->nwhere
    };
    bt_where *wheres = BT_NEWS(walk->to->scratch, bt_where, t->nwhere);
    fields.wheres = wheres ? BT__LIST(walk->to->scratch, wheres, t->nwhere) : NULL;
    if (!fields.wheres)
        return bt__refuse(walk->to, NULL);
    fields.args = walk_all(walk, t->narg, t->args);
    fields.result = fields.args ? walk_term(walk, t->result) : NULL;
    if (!fields.result)
        return NULL;
    for (uint32_t i = 0; i < t->nwhere; i++) {
        if (!walk_where(walk, t->wheres[i], &wheres[i]))
            return NULL;
    }
    return bt_type_func(walk->to, &fields);
}

static const bt_type *walk_inner_func(bt__type_walk *walk, const bt_func_type *t)
{
    uint32_t binds = t->nparam != 0;
    walk->depth += binds;
    const bt_type *func = bt__type_walk_func(walk, t, t->nparam, t->params);
    walk->depth -= binds;
    return func;
}

/* ---- terms ---- */

static const bt_type *rebuild(bt__type_walk *walk, const bt_type *t)
{
    const bt_type **at;
    switch (t->kind) {
    case BT_TYPE_TENSOR: return walk_tensor(walk, AS(bt_tensor_type, t));
    case BT_TYPE_TUPLE:
        at = walk_all(walk, AS(bt_list_type, t)->n, AS(bt_list_type, t)->at);
        return at ? bt_type_tuple(walk->to, AS(bt_list_type, t)->n, at) : NULL;
    case BT_TYPE_REF:
        at = walk_all(walk, 1, AS(bt_list_type, t)->at);
        return at ? bt_type_ref(walk->to, at[0]) : NULL;
    case BT_TYPE_APPLY: return walk_apply(walk, AS(bt_list_type, t));
    case BT_TYPE_FUNC: return walk_inner_func(walk, AS(bt_func_type, t));
    case BT_TYPE_SHAPE: return walk_shape(walk, AS(bt_shape_type, t));
    case BT_TYPE_LINEAR: return walk_linear(walk, AS(bt_linear_type, t));
    case BT_TYPE_PRODUCT:
    case BT_TYPE_FLOORDIV:
    case BT_TYPE_CEILDIV:
    case BT_TYPE_MOD:
    case BT_TYPE_MIN:
    case BT_TYPE_MAX: return walk_atom(walk, AS(bt_list_type, t));
    case BT_TYPE_DTYPE: return bt_type_dtype(walk->to, AS(bt_dtype_type, t)->dtype);
    case BT_TYPE_ADT:
    case BT_TYPE_VAR:
    case BT_TYPE_BOUND:
    case BT_TYPE_HOLE:
    case BT_TYPE_OPAQUE: return walk->leaf(walk, t);
    }
    return t;
}

/* All terms below are walked from the present depth. NULL: no memory, or refused. */
static const bt_type *walk_term(bt__type_walk *walk, const bt_type *t)
{
    if (!walk->is_copy && !(t->has & walk->wanted) && t->nloose <= walk->depth)
        return t;
    if (t->depth == 0)
        return rebuild(walk, t);
    int failed = 0;
    walk->nvisited++;
    bt_map *memo = memo_of(walk, &failed);
    if (failed)
        return bt__refuse(walk->to, NULL);
    const bt_type *done = memo ? bt_map_find(memo, t) : NULL;
    if (done)
        return done;
    done = rebuild(walk, t);
    if (done && memo && !bt_map_put(memo, t, (void *)(uintptr_t)done))
        return bt__refuse(walk->to, NULL);
    return done;
}

const bt_type *bt__type_walk_run(bt__type_walk *walk, const bt_type *t)
{
    const void *mark = bt_arena_mark(walk->to->scratch);
    const bt_type *done = walk_term(walk, t);
    bt_arena_release(walk->to->scratch, mark);
    return done;
}
