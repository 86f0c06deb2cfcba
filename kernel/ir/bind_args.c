/*
 * Arguments of a run against the entry function's parameters.
 *
 * Dims that are a variable take their value from the first argument that shows it; sums
 * of variables ([2 * n + m]) tell the one that is not known from others, or are compared
 * once all are known. Data types are looked at on the surface only: a list may be long.
 */
#include <inttypes.h>

#include <baton/executor.h>

#include "base/arena.h"
#include "ir/dim.h"

/* A dim that is compared at the end. */
struct pending {
    const bt_type *dim;
    int64_t found;
    uint32_t arg, axis, is_done;
};

/* What a dim variable stands for, and who showed it. */
struct known {
    int64_t value;
    uint32_t arg, axis;
};

/* What a shape variable stands for. */
struct rest {
    uint32_t n;
    const int64_t *dims;
};

struct check {
    bt_ctx *ctx;
    const bt_store *store;
    const bt_global *entry;
    bt_arena *arena;
    bt_map dims;   /* variable -> struct known * */
    bt_map dtypes; /* variable -> bt_dtype *, in the arena */
    bt_map rests;  /* variable -> struct rest */
    bt_vec(struct pending) pending;
    uint32_t arg;
};

static bt_status fail(struct check *, const char *format, ...) BT_PRINTF(2, 3);

static const bt_value *param_of(const struct check *c, uint32_t arg)
{
    return &c->entry->func->block->params[arg]->base;
}

static const char *param_name(const struct check *c, uint32_t arg)
{
    const char *name = param_of(c, arg)->name;
    return name ? name : "_";
}

/* "@main: argument 1 (%x) " and the message. */
static bt_status fail(struct check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = bt__format_va(c->arena, format, args);
    va_end(args);
    if (!message)
        return bt_no_memory();
    return bt_fail_at(c->ctx, BT_ERR_ARGUMENT, c->store, param_of(c, c->arg)->span,
                      "@%s: argument %u (%%%s) %s", c->entry->name, c->arg,
                      param_name(c, c->arg), message);
}

static const char *var_name(const bt_type *var)
{
    const char *name = ((const bt_var_type *)(const void *)var)->name;
    return name ? name : "?";
}

/* ---- dims ---- */

enum { MAX_TERMS = 1 << 16 }; /* that are looked at: shared ones count each time */

struct look {
    const bt_map *known;
    const bt_type *var; /* that is looked for */
    uint32_t nterm;
};

/* Recursion is bounded by the depth of types. */
static int is_known(void *state, const bt_type *dim)
{
    struct look *look = state;
    int64_t number;
    return look->nterm++ < MAX_TERMS &&
           (bt_map_find(look->known, dim) || bt_dim_is_const(dim, &number) ||
            (dim->depth && bt__type_parts(dim, is_known, look)));
}

/* Whether the values of all variables in a dim are known. */
static int all_known(const bt_type *dim, const bt_map *known)
{
    return is_known(&(struct look){ .known = known }, dim);
}

static int is_without(void *state, const bt_type *dim)
{
    struct look *look = state;
    return look->nterm++ < MAX_TERMS && dim != look->var &&
           (!dim->depth || bt__type_parts(dim, is_without, look));
}

const bt_type *bt__dim_shown(const bt_type *dim, const bt_map *known, int64_t *factor)
{
    const bt_type *shown = NULL;
    bt_dim_sum all;
    bt_dim_linear(dim, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        const bt_type *atom = all.terms[i].atom;
        if (all_known(atom, known))
            continue;
        if (shown || atom->kind != BT_TYPE_VAR)
            return NULL;
        shown = atom;
        *factor = all.terms[i].coefficient;
    }
    return shown;
}

static bt_status check_range(struct check *c, const bt_type *var, int64_t found)
{
    const bt_type_param *p = &((const bt_var_type *)(const void *)var)->param;
    if (found < p->low || found > p->high)
        return fail(c, "has %s = %" PRId64 ", outside %" PRId64 "..%" PRId64,
                    var_name(var), found, p->low, p->high);
    if (p->step > 1 && found % p->step)
        return fail(c, "has %s = %" PRId64 ", which is no multiple of %" PRId64,
                    var_name(var), found, p->step);
    return NULL;
}

static bt_status check_var(struct check *c, const bt_type *var, int64_t found,
                           uint32_t axis)
{
    struct known *known = bt_map_find(&c->dims, var);
    if (known && known->value != found)
        return fail(c,
                    "says by dim %u that %s is %" PRId64 ", which is %" PRId64
                    " by dim %u of argument %u (%%%s)",
                    axis, var_name(var), found, known->value, known->axis, known->arg,
                    param_name(c, known->arg));
    if (known)
        return NULL;
    BT_TRY(check_range(c, var, found));
    known = BT_NEW(c->arena, struct known);
    if (!known || !bt_map_put(&c->dims, var, known))
        return bt_no_memory();
    *known = (struct known){ found, c->arg, axis };
    return NULL;
}

static bt_status check_dim(struct check *c, const bt_type *dim, int64_t found,
                           uint32_t axis)
{
    int64_t expected;
    if (bt_dim_is_const(dim, &expected)) {
        if (expected != found)
            return fail(c, "has dim %u = %" PRId64 ", expected %" PRId64, axis, found,
                        expected);
        return NULL;
    }
    if (dim->kind == BT_TYPE_VAR)
        return check_var(c, dim, found, axis);
    struct pending pending = { .dim = dim, .found = found, .arg = c->arg, .axis = axis };
    return BT_PUSH(c->arena, &c->pending, pending) ? NULL : bt_no_memory();
}

/* The value of a dim whose variables are known by now, but for one, or NULL, that counts as
 * 0. The store is left alone: others may use it at the same time. */
static bt_status evaluate(struct check *c, const struct pending *p, const bt_type *zero,
                          int64_t *out)
{
    const uint32_t n = c->dims.len;
    const bt_type **vars = BT_NEWS(c->arena, const bt_type *, n + 1);
    int64_t *values = BT_NEWS(c->arena, int64_t, n + 1);
    bt_dim_code code;
    for (uint32_t i = 0; vars && values && i < n; i++) {
        vars[i] = c->dims.at[i].key;
        values[i] = ((const struct known *)c->dims.at[i].value)->value;
    }
    if (!vars || !values)
        return bt_no_memory();
    vars[n] = zero;
    values[n] = 0;
    BT_TRY(bt_dim_compile(c->ctx, c->arena, p->dim, n + (zero != NULL), vars, &code));
    return bt_dim_eval(&code, values, out)
               ? NULL
               : fail(c, "has dim %u = %" PRId64 ", where other sizes overflow 64 bits",
                      p->axis, p->found);
}

/* The variable that the axis shows: factor * value + rest == found. */
static bt_status solve(struct check *c, const struct pending *p, const bt_type *var,
                       int64_t factor)
{
    int64_t rest, by;
    BT_TRY(evaluate(c, p, var, &rest));
    if (__builtin_sub_overflow(p->found, rest, &by) || by == INT64_MIN || by % factor)
        return fail(c, "has dim %u = %" PRId64 ", which no integer %s gives", p->axis,
                    p->found, var_name(var));
    return check_var(c, var, by / factor, p->axis);
}

/* The variables of the dim, and who showed each. */
static bt_status fail_sum(struct check *c, const struct pending *p, int64_t expected)
{
    const char *where = ", where";
    bt_text text;
    bt_text_init(&text, c->arena);
    for (uint32_t i = 0; i < c->dims.len; i++) {
        const struct known *known = c->dims.at[i].value;
        struct look look = { .var = c->dims.at[i].key };
        if (is_without(&look, p->dim))
            continue;
        bt_text_addf(&text, "%s %s is %" PRId64 " by dim %u of argument %u (%%%s)", where,
                     var_name(look.var), known->value, known->axis, known->arg,
                     param_name(c, known->arg));
        where = " and";
    }
    return bt_text_get(&text)
               ? fail(c, "has dim %u = %" PRId64 ", expected %" PRId64 "%s", p->axis,
                      p->found, expected, text.at)
               : bt_no_memory();
}

/* What an axis shows may let another one show more. What is left has variables that no
 * argument shows, and says nothing. */
static bt_status check_pending(struct check *c)
{
    for (uint32_t before = UINT32_MAX; before != c->dims.len;) {
        before = c->dims.len;
        for (uint32_t i = 0; i < c->pending.len; i++) {
            struct pending *p = &c->pending.at[i];
            int64_t expected, factor;
            const bt_type *var = bt__dim_shown(p->dim, &c->dims, &factor);
            if (p->is_done || (!var && !all_known(p->dim, &c->dims)))
                continue;
            c->arg = p->arg;
            BT_TRY(var ? solve(c, p, var, factor) : evaluate(c, p, NULL, &expected));
            if (!var && expected != p->found)
                return fail_sum(c, p, expected);
            p->is_done = 1;
        }
    }
    return NULL;
}

/* ---- shapes ---- */

static bt_status check_rest(struct check *c, const bt_type *var, const struct rest *found)
{
    const struct rest *known = bt_map_find(&c->rests, var);
    if (!known) {
        struct rest *copy = BT_NEW(c->arena, struct rest);
        if (!copy || !bt_map_put(&c->rests, var, copy))
            return bt_no_memory();
        *copy = *found;
        return NULL;
    }
    int same = known->n == found->n;
    for (uint32_t i = 0; same && i < known->n; i++)
        same = known->dims[i] == found->dims[i];
    return same ? NULL
                : fail(c, "has another shape for %s than an earlier argument",
                       var_name(var));
}

static bt_status check_shape(struct check *c, const bt_type *type, const bt_tensor *found)
{
    if (type->kind == BT_TYPE_VAR) {
        struct rest all = { found->rank, found->dims };
        return check_rest(c, type, &all);
    }
    const bt_shape_type *shape = bt_as_shape_type(type);
    if (!shape)
        return NULL;
    if (shape->rest ? found->rank < shape->n : found->rank != shape->n)
        return fail(c, "has rank %u, expected %s%u", found->rank,
                    shape->rest ? "at least " : "", shape->n);
    uint32_t nrest = found->rank - shape->n;
    for (uint32_t i = 0; i < shape->n; i++) {
        uint32_t axis = shape->rest && i >= shape->position ? i + nrest : i;
        BT_TRY(check_dim(c, shape->dims[i], found->dims[axis], axis));
    }
    if (!shape->rest || shape->rest->kind != BT_TYPE_VAR)
        return NULL;
    struct rest rest = { nrest, found->dims + shape->position };
    return check_rest(c, shape->rest, &rest);
}

static bt_status check_dtype(struct check *c, const bt_type *type, bt_dtype found)
{
    char expected_name[BT_DTYPE_NAME_SIZE], found_name[BT_DTYPE_NAME_SIZE];
    bt_dtype expected = 0;
    if (type->kind == BT_TYPE_DTYPE) {
        expected = ((const bt_dtype_type *)(const void *)type)->dtype;
    } else if (type->kind == BT_TYPE_VAR) {
        bt_dtype *known = bt_map_find(&c->dtypes, type);
        if (!known) {
            known = BT_NEW(c->arena, bt_dtype);
            if (!known || !bt_map_put(&c->dtypes, type, known))
                return bt_no_memory();
            *known = found;
        }
        expected = *known;
    }
    if (!expected || expected == found)
        return NULL;
    return fail(c, "has dtype %s, expected %s",
                bt_dtype_name(found, found_name, sizeof(found_name)),
                bt_dtype_name(expected, expected_name, sizeof(expected_name)));
}

/* ---- kinds of values ---- */

static bt_status check_object(struct check *, const bt_type *, const bt_object *);

static bt_status check_tensor(struct check *c, const bt_type *type,
                              const bt_object *object)
{
    const bt_tensor_type *expected = bt_as_tensor_type(type);
    const bt_tensor *found = bt_object_as_tensor(object);
    if (!found)
        return fail(c, "is no tensor");
    BT_TRY(check_dtype(c, expected->dtype, found->dtype));
    return check_shape(c, expected->shape, found);
}

static bt_status check_tuple(struct check *c, const bt_type *type,
                             const bt_object *object)
{
    const bt_list_type *expected = bt_as_tuple_type(type);
    const bt_tuple *found = bt_object_as_tuple(object);
    if (!found)
        return fail(c, "is no tuple");
    if (found->nfield != expected->n)
        return fail(c, "is a tuple of %u, expected %u field%s", found->nfield,
                    expected->n, expected->n == 1 ? "" : "s");
    for (uint32_t i = 0; i < expected->n; i++)
        BT_TRY(check_object(c, expected->at[i], found->fields[i]));
    return NULL;
}

static bt_status check_adt(struct check *c, const bt_type *type, const bt_object *object)
{
    const bt_type *handle = bt_as_apply_type(type)->at[0];
    const bt_adt *found = bt_object_as_adt(object);
    if (handle->kind != BT_TYPE_ADT)
        return NULL;
    const bt_adt_def *def = ((const bt_adt_type *)(const void *)handle)->def;
    if (!found)
        return fail(c, "is no value of %s", def->name);
    if (def->is_extern)
        return NULL;
    if (found->tag >= def->nctor || found->nfield != def->ctors[found->tag]->nfield)
        return fail(c, "is no value of %s: it has no such constructor", def->name);
    return NULL;
}

static bt_status check_ref(struct check *c, const bt_ref *ref)
{
    if (!ref)
        return fail(c, "is no reference");
    return ref->content ? NULL : fail(c, "is a reference of a session that was closed");
}

/* Tuple types have bounded depth, so this recurses. */
static bt_status check_object(struct check *c, const bt_type *type,
                              const bt_object *object)
{
    if (!object)
        return fail(c, "is missing");
    switch (type->kind) {
    case BT_TYPE_TENSOR: return check_tensor(c, type, object);
    case BT_TYPE_TUPLE: return check_tuple(c, type, object);
    case BT_TYPE_APPLY: return check_adt(c, type, object);
    case BT_TYPE_FUNC:
        return bt_object_as_closure(object) ? NULL : fail(c, "is no function");
    case BT_TYPE_REF: return check_ref(c, bt_object_as_ref(object));
    default: return NULL;
    }
}

static bt_status check_all(struct check *c, uint32_t narg, bt_object *const *args)
{
    for (c->arg = 0; c->arg < narg; c->arg++) {
        const bt_type *type = c->entry->func->block->params[c->arg]->base.type;
        if (type)
            BT_TRY(check_object(c, type, args[c->arg]));
    }
    return check_pending(c);
}

/* The values of the function's type parameters; -1: no argument shows it. */
static void tell_dims(const struct check *c, int64_t *out)
{
    const bt_func *func = c->entry->func;
    for (uint32_t i = 0; i < func->nvar; i++) {
        const struct known *known = bt_map_find(&c->dims, func->vars[i]);
        out[i] = known ? known->value : -1;
    }
}

bt_status bt_check_args(bt_ctx *ctx, const bt_module *module, const bt_global *entry,
                        uint32_t narg, bt_object *const *args, int64_t *dims)
{
    if (entry->kind != BT_GLOBAL_FUNC)
        return bt_fail_at(ctx, BT_ERR_ARGUMENT, module->store, entry->span,
                          "@%s is no function", entry->name);
    if (narg != entry->func->block->nparam)
        return bt_fail_at(ctx, BT_ERR_ARGUMENT, module->store, entry->span,
                          "@%s takes %u argument%s, found %u", entry->name,
                          entry->func->block->nparam,
                          entry->func->block->nparam == 1 ? "" : "s", narg);
    struct check c = {
        .ctx = ctx,
        .store = module->store,
        .entry = entry,
        .arena = bt_arena_create(bt_ctx_registry(ctx)),
    };
    if (!c.arena)
        return bt_no_memory();
    bt_map_init(&c.dims, c.arena, 0);
    bt_map_init(&c.dtypes, c.arena, 0);
    bt_map_init(&c.rests, c.arena, 0);
    bt_status status = check_all(&c, narg, args);
    if (!status && dims)
        tell_dims(&c, dims);
    bt_arena_destroy(c.arena);
    return status;
}
