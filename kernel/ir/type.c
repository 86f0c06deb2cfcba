/* Constructors of types, shapes and dtypes. Each checks the kinds of what it is given,
 * never recurses, and gives the store's one node for that structure. */
#include "ir/type.h"

#include <string.h>

int bt__type_expect(bt_store *store, const bt_type *t, uint32_t kind)
{
    static const char *const why[] = {
        [BT_KIND_TYPE] = "expected a Type, found a term of another kind",
        [BT_KIND_SHAPE] = "expected a Shape, found a term of another kind",
        [BT_KIND_DIM] = "expected a Dim, found a term of another kind",
        [BT_KIND_DTYPE] = "expected a DType, found a term of another kind",
        [BT_KIND_ADT] =
            "expected the handle of a data type, found a term of another kind",
    };
    if (!t) // an argument that a constructor refused: that reason is kept
        return 0;
    if (bt_type_kind_of(t) == kind)
        return 1;
    bt__refuse(store, kind < BT_COUNT(why) ? why[kind] : "no such kind");
    return 0;
}

static int expect_all(bt_store *store, uint32_t n, const bt_type *const *at,
                      uint32_t kind)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!bt__type_expect(store, at[i], kind))
            return 0;
    }
    return 1;
}

/* ---- tensors, shapes, dtypes ---- */

const bt_type *bt_type_tensor_layout(bt_store *store, const bt_type *shape,
                                     const bt_type *dtype, const bt_layout *layout)
{
    if (!bt__type_expect(store, shape, BT_KIND_SHAPE) ||
        !bt__type_expect(store, dtype, BT_KIND_DTYPE))
        return NULL;
    const bt_shape_type *dims = bt_as_shape_type(shape);
    if (layout && dims && !dims->rest && dims->n != layout->nlogical)
        return bt__refuse(store, "a layout has an axis for each dim of the tensor");
    bt_tensor_type key = { .base.kind = BT_TYPE_TENSOR, .shape = shape, .dtype = dtype };
    if (layout && !bt__layout_is_row_major(layout))
        key.layout = layout;
    return bt__type_intern(store, &key.base);
}

const bt_type *bt_type_tensor(bt_store *store, const bt_type *shape, const bt_type *dtype)
{
    return bt_type_tensor_layout(store, shape, dtype, NULL);
}

const bt_type *bt_type_tensor_of(bt_store *store, bt_dtype dtype, uint32_t rank,
                                 const int64_t *dims)
{
    const bt_type *at[BT_MAX_RANK];
    if (rank > BT_MAX_RANK)
        return bt__refuse(store, "a tensor has at most 32 dims");
    for (uint32_t i = 0; i < rank; i++) {
        at[i] = bt_dim(store, dims[i]);
        if (!at[i])
            return NULL;
    }
    const bt_type *shape = bt_type_shape(store, rank, at);
    const bt_type *element = bt_type_dtype(store, dtype);
    return shape && element ? bt_type_tensor(store, shape, element) : NULL;
}

const bt_type *bt_type_scalar(bt_store *store, bt_dtype dtype)
{
    return bt_type_tensor_of(store, dtype, 0, NULL);
}

const bt_type *bt_type_dtype(bt_store *store, bt_dtype dtype)
{
    if (!dtype)
        return bt__refuse(store, "expected an element type, found none");
    bt_dtype_type key = { .base.kind = BT_TYPE_DTYPE, .dtype = dtype };
    return bt__type_intern(store, &key.base);
}

const bt_type *bt_type_shape(bt_store *store, uint32_t n, const bt_type *const *dims)
{
    return bt_type_shape_rest(store, n, dims, 0, NULL);
}

/* The dims of `rest` put in before outer dims[position]. */
static const bt_type *splice(bt_store *store, uint32_t n, const bt_type *const *dims,
                             uint32_t position, const bt_shape_type *rest)
{
    if (rest->n > UINT32_MAX - n)
        return bt__refuse(store, "too many dims");
    const void *mark = bt_arena_mark(store->scratch);
    const bt_type **all = BT_NEWS(store->scratch, const bt_type *, n + rest->n);
    const bt_type *shape = NULL;
    if (all) {
        for (uint32_t i = 0; i < n + rest->n; i++)
            all[i] = i < position             ? dims[i]
                     : i < position + rest->n ? rest->dims[i - position]
                                              : dims[i - rest->n];
        shape =
            bt_type_shape_rest(store, n + rest->n, all,
                               rest->rest ? position + rest->position : 0, rest->rest);
    } else {
        bt__refuse(store, NULL);
    }
    bt_arena_release(store->scratch, mark);
    return shape;
}

const bt_type *bt_type_shape_rest(bt_store *store, uint32_t n, const bt_type *const *dims,
                                  uint32_t position, const bt_type *rest)
{
    if (!expect_all(store, n, dims, BT_KIND_DIM) ||
        (rest && !bt__type_expect(store, rest, BT_KIND_SHAPE)))
        return NULL;
    if (position > n)
        return bt__refuse(store, "a shape variable stands behind the end of its shape");
    if (rest && bt_as_shape_type(rest))
        return splice(store, n, dims, position, bt_as_shape_type(rest));
    if (rest && n == 0)
        return rest;
    bt_shape_type key = {
        .base.kind = BT_TYPE_SHAPE, .n = n, .dims = dims, .rest = rest
    };
    key.position = rest ? position : 0;
    return bt__type_intern(store, &key.base);
}

/* ---- types of other values ---- */

static const bt_type *list(bt_store *store, uint32_t kind, uint32_t n,
                           const bt_type *const *at)
{
    bt_list_type key = { .base.kind = kind, .n = n, .at = at };
    return bt__type_intern(store, &key.base);
}

const bt_type *bt_type_tuple(bt_store *store, uint32_t n, const bt_type *const *fields)
{
    if (!expect_all(store, n, fields, BT_KIND_TYPE))
        return NULL;
    return list(store, BT_TYPE_TUPLE, n, fields);
}

const bt_type *bt_type_ref(bt_store *store, const bt_type *content)
{
    if (!bt__type_expect(store, content, BT_KIND_TYPE))
        return NULL;
    return list(store, BT_TYPE_REF, 1, &content);
}

const bt_type *bt_type_adt(bt_store *store, const bt_adt_def *def)
{
    bt_adt_type key = { .base.kind = BT_TYPE_ADT, .def = def };
    return bt__type_intern(store, &key.base);
}

const bt_type *bt_type_apply(bt_store *store, const bt_adt_def *def, uint32_t n,
                             const bt_type *const *args)
{
    if (n != def->nvar)
        return bt__refuse(store, "a data type has another number of type arguments");
    for (uint32_t i = 0; i < n; i++) {
        if (!bt__type_expect(store, args[i], bt_type_kind_of(def->vars[i])))
            return NULL;
    }
    const bt_type *handle = bt_type_adt(store, def);
    if (!handle)
        return NULL;
    const void *mark = bt_arena_mark(store->scratch);
    const bt_type **at = BT_NEWS(store->scratch, const bt_type *, (size_t)n + 1);
    const bt_type *applied = NULL;
    if (at) {
        at[0] = handle;
        if (n)
            memcpy(at + 1, args, n * sizeof(*at));
        applied = list(store, BT_TYPE_APPLY, n + 1, at);
    } else {
        bt__refuse(store, NULL);
    }
    bt_arena_release(store->scratch, mark);
    return applied;
}

/* The range with its defaults put in. 0: refused. */
static int param_normal(bt_store *store, const bt_type_param *param, bt_type_param *out)
{
    *out = *param;
    if (param->kind > BT_KIND_ADT) {
        bt__refuse(store, "no such kind");
        return 0;
    }
    if (param->kind != BT_KIND_DIM || !param->step) {
        out->low = 0;
        out->high = INT64_MAX;
        out->step = 1;
        return 1;
    }
    if (param->low < 0 || param->step < 0 || param->low > param->high ||
        param->high / param->step * param->step < param->low) {
        bt__refuse(store, "no dim is in the range of a Dim parameter");
        return 0;
    }
    return 1;
}

const bt_type *bt_type_func(bt_store *store, const bt_func_type *fields)
{
    bt_func_type key = *fields;
    key.base = (bt_type){ .kind = BT_TYPE_FUNC };
    if (!expect_all(store, key.narg, key.args, BT_KIND_TYPE) ||
        !bt__type_expect(store, key.result, BT_KIND_TYPE))
        return NULL;
    const void *mark = bt_arena_mark(store->scratch);
    bt_type_param *params = BT_NEWS(store->scratch, bt_type_param, key.nparam);
    if (!params)
        return bt__refuse(store, NULL);
    int is_valid = 1;
    for (uint32_t i = 0; i < key.nparam; i++)
        is_valid &= param_normal(store, &fields->params[i], &params[i]);
    key.params = params;
    const bt_type *func = is_valid ? bt__type_intern(store, &key.base) : NULL;
    bt_arena_release(store->scratch, mark);
    return func;
}

/* ---- leaves ---- */

static const bt_type *new_var(bt_store *store, const bt_type_param *param,
                              const char *name, uint32_t is_anonymous)
{
    bt_var_type key = { .base.kind = BT_TYPE_VAR, .is_anonymous = is_anonymous };
    if (!param_normal(store, param, &key.param))
        return NULL;
    if (name && !(key.name = bt_name_of(store, name)))
        return bt__refuse(store, NULL);
    return bt__type_fresh(store, &key.base);
}

const bt_type *bt_type_var(bt_store *store, const bt_type_param *param, const char *name)
{
    return new_var(store, param, name, 0);
}

const bt_type *bt_type_var_anonymous(bt_store *store, const bt_type_param *param)
{
    return new_var(store, param, NULL, 1);
}

const bt_type *bt_type_bound(bt_store *store, uint32_t kind, uint32_t depth,
                             uint32_t index)
{
    if (depth >= BT_TYPE_DEPTH)
        return bt__refuse(store, "a type nests too deeply");
    bt_bound_type key = {
        .base.kind = BT_TYPE_BOUND, .depth = depth, .index = index, .of_kind = kind
    };
    return bt__type_intern(store, &key.base);
}

const bt_type *bt_type_hole(bt_store *store, uint32_t kind)
{
    return bt_type_hole_numbered(store, kind, 0);
}

const bt_type *bt_type_hole_numbered(bt_store *store, uint32_t kind, uint32_t number)
{
    bt_hole_type key = { .base.kind = BT_TYPE_HOLE, .of_kind = kind, .number = number };
    return bt__type_intern(store, &key.base);
}
