/*
 * Type relations by themselves. With sizes replaced by variables the result must be the
 * same type once numbers are put in again; asked twice a relation says the same; what it
 * makes of known contents is what comes out; it follows the rule for layouts.
 */
#include <string.h>

#include "case_run.h"

/* ---- symbolic dims ---- */

struct symbols {
    int64_t only; /* the one size to replace; 0: all above 1 */
    uint32_t n;
    int64_t sizes[CASE_MAX_LEAF * CASE_MAX_DIM];
    const bt_type *vars[CASE_MAX_LEAF * CASE_MAX_DIM];
};

static const bt_type *symbol_of(void *self, bt_store *store, int64_t size)
{
    struct symbols *s = self;
    bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    char name[24];
    if (size < 2 || (s->only && s->only != size))
        return bt_dim(store, size);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->sizes[i] == size)
            return s->vars[i];
    }
    snprintf(name, sizeof(name), "n%lld", (long long)size);
    s->sizes[s->n] = size;
    s->vars[s->n] = bt_type_var(store, &param, bt_name_of(store, name));
    return s->vars[s->n++];
}

static const bt_type *number_of(bt_subst *subst, const bt_type *leaf)
{
    const struct symbols *s = subst->state;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->vars[i] == leaf)
            return bt_dim(leaf->store, s->sizes[i]);
    }
    return NULL;
}

static void print_types(struct op_check *w, const bt_type *a, const bt_type *b,
                        bt_text *out)
{
    bt_text_init(out, w->arena);
    bt_print_type(w->ctx, a, out);
    bt_text_addf(out, " is not ");
    bt_print_type(w->ctx, b, out);
}

/* Equal, except for opaque dims. */
static int agrees(const bt_type *symbolic, const bt_type *concrete)
{
    const bt_list_type *tuple = bt_as_tuple_type(symbolic),
                       *other = bt_as_tuple_type(concrete);
    if (tuple || other) {
        int equal = tuple && other && tuple->n == other->n;
        for (uint32_t i = 0; equal && i < tuple->n; i++)
            equal = agrees(tuple->at[i], other->at[i]);
        return equal;
    }
    const bt_shape_type *a = bt_tensor_shape(symbolic), *b = bt_tensor_shape(concrete);
    if (!a || !b || a->n != b->n ||
        bt_tensor_dtype(symbolic) != bt_tensor_dtype(concrete))
        return 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->dims[i] != b->dims[i] && !(a->dims[i]->has & BT_HAS_OPAQUE) &&
            !(b->dims[i]->has & BT_HAS_OPAQUE))
            return 0;
    }
    return 1;
}

static void check_check(struct op_check *w, const struct call_case *c,
                        const bt_check *check, bt_subst *subst)
{
    const bt_type *left = bt_type_subst(w->store, subst, check->left),
                  *right = bt_type_subst(w->store, subst, check->right);
    int64_t a, b;
    if (!left || !right || !bt_dim_is_const(left, &a) || !bt_dim_is_const(right, &b))
        return;
    int holds = check->relation == BT_CHECK_EQUAL        ? a == b
                : check->relation == BT_CHECK_LESS_EQUAL ? a <= b
                : check->relation == BT_CHECK_DIVISIBLE  ? bt_mod_int64(a, b) == 0
                                                         : a == b || a == 1;
    if (!holds)
        case_fault(w, c,
                   "a run-time check of symbolic dims (%lld, %lld) refuses numbers "
                   "that the relation takes",
                   (long long)a, (long long)b);
}

/* 1: the relation takes them. */
static int check_symbols(struct op_check *w, const struct call_case *c,
                         const struct call_result *r, struct symbols *s)
{
    const bt_call *call;
    bt_text text;
    if (call_build(w, c, NULL, symbol_of, s, NULL, &call))
        return 0;
    bt_subst subst = { .leaf = number_of, .state = s };
    const bt_type *result = bt_type_subst(w->store, &subst, call->base.type);
    if (!result || !agrees(result, r->call->base.type)) {
        print_types(w, result ? result : call->base.type, r->call->base.type, &text);
        case_fault(w, c, "with symbolic dims: %s", bt_text_get(&text));
    }
    for (uint32_t i = 0; i < call->ncheck; i++)
        check_check(w, c, &call->checks[i], &subst);
    return 1;
}

static void check_symbolic(struct op_check *w, const struct call_case *c,
                           const struct call_result *r)
{
    struct symbols all = { 0 };
    if (check_symbols(w, c, r, &all))
        return;
    // attributes may tie some size to a number: then one by one
    for (uint32_t i = 0; i < all.n; i++)
        check_symbols(w, c, r, &(struct symbols){ .only = all.sizes[i] });
}

/* ---- twice ---- */

/* A copy of the operator whose relation calls the real one twice. */
struct twice {
    bt_op op;
    bt_status (*relate)(bt_solver *, const bt_relation_call *);
    uint32_t nheld, ndifferent;
};

static bt_status relate_twice(bt_solver *s, const bt_relation_call *r)
{
    struct twice *t = (struct twice *)(uintptr_t)r->op;
    BT_TRY(t->relate(s, r));
    const bt_type *first = bt_relation_arg(s, r, r->narg);
    BT_TRY(t->relate(s, r));
    t->nheld++;
    t->ndifferent += first != bt_relation_arg(s, r, r->narg);
    return NULL;
}

static bt_status check_twice(struct op_check *w, const struct call_case *c,
                             const struct call_result *r)
{
    struct twice t = { .op = *w->op };
    const bt_relation *shared;
    const bt_call *call;
    t.relate = w->op->relate;
    if (w->op->relation) {
        BT_TRY(bt_relation_get(w->ctx, w->op->relation, &shared));
        t.relate = shared->relate;
    }
    if (!t.relate)
        return NULL; // derived from the formula
    t.op.relation = NULL;
    t.op.relate = relate_twice;
    bt_status status = call_build(w, c, &t.op, NULL, NULL, NULL, &call);
    if (status)
        case_fault(w, c, "its relation, asked twice: %s", status->message);
    else if (t.ndifferent || !t.nheld || !agrees(call->base.type, r->call->base.type))
        case_fault(w, c, "its relation, asked twice, gives two types");
    else if (call->ncheck > r->call->ncheck) // that a dim is what it was the first time
        case_fault(w, c,
                   "its relation, asked twice, gives other dims: one that only the data "
                   "decide is asked of bt_relation_opaque, under a number");
    return NULL;
}

/* ---- contents ---- */

static int is_small_integer(const bt_tensor *t)
{
    uint32_t class_ = BT_DTYPE_CLASS(t->dtype);
    return (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT) && t->rank <= 1 &&
           t->nelem <= 32;
}

/* With small integers as constants the type may say more, and what it says must be so. */
static void check_contents(struct op_check *w, const struct call_case *c,
                           const struct call_result *r)
{
    bt_tensor *constants[CASE_MAX_LEAF] = { 0 };
    const bt_call *call;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->nin; i++) {
        constants[i] = is_small_integer(r->in[i]) ? r->in[i] : NULL;
        n += constants[i] != NULL;
    }
    if (n == 0)
        return;
    bt_status status = call_build(w, c, NULL, NULL, NULL, constants, &call);
    if (status) {
        case_fault(w, c, "its relation refuses contents that can be computed: %s",
                   status->message);
        return;
    }
    const bt_list_type *tuple = bt_as_tuple_type(call->base.type);
    for (uint32_t i = 0; i < r->nout; i++) {
        const bt_type *type = tuple ? tuple->at[i] : call->base.type;
        const bt_shape_type *shape = bt_tensor_shape(type);
        int64_t size;
        int fits = shape && shape->n == r->out[i]->rank &&
                   bt_tensor_dtype(type) == r->out[i]->dtype;
        for (uint32_t k = 0; fits && k < shape->n; k++)
            fits = !bt_dim_is_const(shape->dims[k], &size) || size == r->out[i]->dims[k];
        if (!fits)
            case_fault(w, c, "with contents known result %u does not have its type", i);
    }
}

/* ---- layouts ---- */

/* The last axis in blocks of two, by the names that the operator has for axes. */
static const bt_layout *blocked(struct op_check *w, const bt_call *call,
                                const bt_type *type)
{
    const char *const *named =
        bt_attr_find(call->op, call->attrs, "data_layout", BT_ATTR_STRING);
    named = named ? named : bt_attr_find(call->op, call->attrs, "layout", BT_ATTR_STRING);
    const char *axes = named && **named ? *named : "ABCDEFGHIJKL";
    const bt_shape_type *shape = bt_tensor_shape(type);
    char text[64];
    if (!shape || shape->n == 0 || shape->n > strlen(axes))
        return NULL;
    snprintf(text, sizeof(text), "%.*s:%.*s2%c", (int)shape->n, axes, (int)shape->n, axes,
             axes[shape->n - 1] - 'A' + 'a');
    return bt_layout_parse(w->store, text);
}

static bt_status build_laid(struct op_check *w, const bt_call *call, bt_builder *b,
                            const bt_layout *const *in, const bt_layout *result,
                            const bt_value **out)
{
    const bt_value *args[CASE_MAX_LEAF];
    const bt_param *param;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_type *type = call->args[i]->type;
        const bt_tensor_type *tensor = bt_as_tensor_type(type);
        if (in[i] && tensor)
            type = bt_type_tensor_layout(w->store, tensor->shape, tensor->dtype, in[i]);
        if (!type)
            return bt_no_memory();
        BT_TRY(bt_build_param(b, NULL, type, &param));
        args[i] = &param->base;
    }
    BT_TRY(bt_block_begin(b, 0, NULL));
    bt_builder_layout(b, result);
    return bt_build_op(b, call->op, call->attrs, call->narg, args, out);
}

/* What pass alter-layout would build: its result has the layout that the rule states. */
static bt_status check_layout(struct op_check *w, const struct call_case *c,
                              const bt_call *call)
{
    const bt_layout *wanted[CASE_MAX_LEAF + 1] = { NULL }, *in[CASE_MAX_LEAF] = { NULL };
    const bt_layout *result = NULL;
    const bt_layout_facet *rule;
    const bt_value *value;
    const void *row;
    bt_builder *b;
    BT_TRY(bt_op_facet(w->ctx, w->op, "layout", &row));
    if (!row || !call->narg || !bt_tensor_static(call->base.type, NULL, NULL))
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!bt_as_tensor_type(call->args[i]->type))
            return NULL;
    }
    rule = row;
    wanted[0] = blocked(w, call, call->args[0]->type);
    wanted[call->narg] = blocked(w, call, call->base.type);
    BT_TRY(rule->choose(w->ctx, w->store, call, wanted, in, &result));
    BT_TRY(bt_builder_create(w->ctx, w->store, NULL, &b));
    bt_status status = build_laid(w, call, b, in, result, &value);
    bt_builder_destroy(b);
    if (status)
        case_fault(w, c, "its relation refuses what its rule for layouts states: %s",
                   status->message);
    else if (bt_type_layout(value->type) != result)
        case_fault(
            w, c,
            "its rule for layouts states that the result is %s, its relation gives "
            "another: bt_relation_call.layout is what is wanted",
            result ? result->text : "row major");
    return NULL;
}

bt_status relation_check(struct op_check *w, const struct call_case *c,
                         const struct call_result *r)
{
    check_symbolic(w, c, r);
    BT_TRY(check_twice(w, c, r));
    BT_TRY(check_layout(w, c, r->call));
    if (!r->why)
        check_contents(w, c, r);
    return NULL;
}
