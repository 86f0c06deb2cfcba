/* The patterns of an operator's inputs as a relation. */
#include "solve/relate.h"

#include <stdio.h>
#include <string.h>

#include "compute/formula/ast.h"
#include "solve/relate_names.h"
#include "solve/solver.h"

bt_status bt__relate_signature(bt_solver *s, const bt_relation_call *r,
                               const struct bt__signature **out)
{
    const bt_op *op = r->op;
    const bt_formula_call call = { .op = op, .attrs = r->attrs };
    const struct bt__formula *formula;
    if (op->formula_attr) {
        BT_TRY(bt__formula_of_call(s->ctx, s->arena, &call, &formula));
        *out = formula->signature;
        return NULL;
    }
    // parsed once for each solver
    *out = bt_map_find(&s->signatures, op);
    if (*out)
        return NULL;
    BT_TRY(bt__signature_parse(s->ctx, s->arena, op, out));
    return bt_map_put(&s->signatures, op, (void *)(uintptr_t)*out) ? NULL
                                                                   : bt_no_memory();
}

/* ---- shapes in parts ---- */

const bt_type *bt__shape_dim(const bt_type *shape, uint32_t axis, int from_right)
{
    const bt_shape_type *known = bt_as_shape_type(shape);
    if (!known)
        return NULL;
    uint32_t before = known->rest ? known->position : known->n;
    uint32_t behind = known->rest ? known->n - known->position : known->n;
    if (from_right)
        return axis < behind ? known->dims[known->n - 1 - axis] : NULL;
    return axis < before ? known->dims[axis] : NULL;
}

int bt__shape_has_ends(const bt_type *shape, uint32_t front, uint32_t back)
{
    const bt_shape_type *known = bt_as_shape_type(shape);
    if (!front && !back)
        return 1;
    if (!known || front + back > known->n)
        return 0;
    return !known->rest ||
           (front <= known->position && back <= known->n - known->position);
}

const bt_type *bt__shape_slice(bt_store *store, const bt_type *shape, uint32_t front,
                               uint32_t back)
{
    const bt_shape_type *known = bt_as_shape_type(shape);
    if (!front && !back)
        return shape;
    uint32_t n = known->n - front - back;
    return known->rest ? bt_type_shape_rest(store, n, known->dims + front,
                                            known->position - front, known->rest)
                       : bt_type_shape(store, n, known->dims + front);
}

/* ---- checks ---- */

struct checking {
    bt_solver *solver;
    const bt_relation_call *call;
    const struct bt__signature *signature;
    uint32_t index; /* of the argument */
    const struct bt__pattern *pattern;
    struct bt__relate_names *names;
    uint32_t waits;
};

static const char *input_name(const struct checking *c)
{
    const char *name = bt__signature_name(c->solver->arena, c->signature, c->index);
    return name ? name : "an argument";
}

/* The first input whose pattern has the name. */
static const char *first_input(const struct checking *c, const char *name, int is_dtype)
{
    for (uint32_t i = 0; i < c->index; i++) {
        const struct bt__pattern *p = &c->signature->inputs[i];
        int is_first = is_dtype && p->name && strcmp(p->name, name) == 0;
        for (uint32_t k = 0; !is_dtype && k < p->ndim; k++)
            is_first |= p->dims[k].name && strcmp(p->dims[k].name, name) == 0;
        if (is_first)
            return p->input;
    }
    return input_name(c);
}

/* The first term of a name, or the same as that one. */
static bt_status meet(struct checking *c, bt_map *map, const char *name,
                      const bt_type *term)
{
    const bt_type *first = bt_map_find(map, name);
    char what[160], kind[64] = "dtypes";
    int is_dtype = map == &c->names->dtypes;
    if (!first)
        return bt_map_put(map, name, (void *)(uintptr_t)term) ? NULL : bt_no_memory();
    const char *left = first_input(c, name, is_dtype), *right = input_name(c);
    if (!is_dtype)
        snprintf(kind, sizeof(kind), "dims %s", name);
    if (left == right)
        snprintf(what, sizeof(what), "%s of %s", kind, right);
    else
        snprintf(what, sizeof(what), "%s of %s and of %s", kind, left, right);
    bt_status status = bt_relation_unify(c->solver, c->call, first, term, what);
    if (status == &bt__wait) {
        c->waits = 1;
        return NULL;
    }
    return status;
}

static bt_status check_dtype(struct checking *c, const bt_type *term)
{
    const struct bt__pattern *p = c->pattern;
    if (term->kind == BT_TYPE_DTYPE) {
        bt_dtype dtype = ((const bt_dtype_type *)(const void *)term)->dtype;
        if (!bt__pattern_takes_dtype(p, dtype)) {
            bt_text text;
            char found[BT_DTYPE_NAME_SIZE];
            bt_text_init(&text, c->solver->arena);
            bt__pattern_print_dtypes(p, &text);
            const char *wanted = bt_text_get(&text);
            return bt_relation_fail(
                c->solver, c->call, (int)c->index,
                "elements of %s are %s%s, but must be %s", input_name(c),
                bt_dtype_name(dtype, found, sizeof(found)), bt__moved_only(dtype),
                wanted ? wanted : "of another dtype");
        }
    }
    return p->name ? meet(c, &c->names->dtypes, p->name, term) : NULL;
}

static bt_status check_rank(struct checking *c, const bt_type *shape)
{
    const struct bt__pattern *p = c->pattern;
    const bt_shape_type *known = bt_as_shape_type(shape);
    if (!known || known->rest || bt__pattern_takes_rank(p, known->n))
        return NULL;
    return bt_relation_fail(c->solver, c->call, (int)c->index,
                            "%s has %u dim%s, but must have %s%u", input_name(c),
                            known->n, known->n == 1 ? "" : "s",
                            p->has_rest ? "at least " : "", p->ndim);
}

static bt_status check_dims(struct checking *c, const bt_type *shape)
{
    const struct bt__pattern *p = c->pattern;
    for (uint32_t i = 0; i < p->ndim; i++) {
        int from_right = p->has_rest && i >= p->position;
        const bt_type *dim =
            bt__shape_dim(shape, from_right ? p->ndim - 1 - i : i, from_right);
        if (!dim)
            continue;
        if (p->dims[i].name) {
            BT_TRY(meet(c, &c->names->dims, p->dims[i].name, dim));
            continue;
        }
        const bt_type *size = bt_dim(c->solver->store, p->dims[i].size);
        if (!size)
            return bt_store_why(c->solver->ctx, c->solver->store);
        bt_status status =
            bt_relation_unify(c->solver, c->call, dim, size, "a dim and what it must be");
        if (status && status != &bt__wait)
            return status;
        c->waits |= status != NULL;
    }
    return NULL;
}

static bt_status check_tensor(struct checking *c, const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    if (type->kind == BT_TYPE_HOLE)
        return NULL;
    if (!tensor)
        return bt_relation_fail(c->solver, c->call, (int)c->index,
                                "%s is %s, but must be a tensor", input_name(c),
                                bt__show(c->solver, type));
    BT_TRY(check_dtype(c, tensor->dtype));
    BT_TRY(check_rank(c, tensor->shape));
    return check_dims(c, tensor->shape);
}

static bt_status check_arg(struct checking *c, const bt_type *type)
{
    if (c->pattern->kind == BT__PATTERN_ANY || type->kind == BT_TYPE_HOLE)
        return NULL;
    if (c->pattern->kind == BT__PATTERN_TENSOR)
        return check_tensor(c, type);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple)
        return bt_relation_fail(c->solver, c->call, (int)c->index,
                                "%s is %s, but must be a tuple of tensors", input_name(c),
                                bt__show(c->solver, type));
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(check_tensor(c, tuple->at[i]));
    return NULL;
}

bt_status bt__relate_bind(bt_solver *s, const bt_relation_call *r,
                          struct bt__relate_names *names, uint32_t *waits)
{
    const struct bt__signature *signature;
    BT_TRY(bt__relate_signature(s, r, &signature));
    if (r->op->formula_attr && r->narg != signature->ninput)
        return bt_relation_fail(
            s, r, -1, "the formula declares %u input%s, but is given %u",
            signature->ninput, signature->ninput == 1 ? "" : "s", r->narg);
    struct checking c = {
        .solver = s, .call = r, .signature = signature, .names = names
    };
    for (uint32_t i = 0; i < r->narg; i++) {
        c.index = i;
        c.pattern = bt__signature_input(signature, i);
        if (c.pattern)
            BT_TRY(check_arg(&c, bt_relation_arg(s, r, i)));
    }
    *waits = c.waits;
    return NULL;
}

bt_status bt__signature_relate(bt_solver *s, const bt_relation_call *r)
{
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct bt__relate_names names;
    uint32_t waits = 0;
    bt_map_init(&names.dims, scratch, 1);
    bt_map_init(&names.dtypes, scratch, 1);
    bt_status status = bt__relate_bind(s, r, &names, &waits);
    bt_arena_release(scratch, mark);
    return status ? status : waits ? bt_relation_wait(s) : NULL;
}
