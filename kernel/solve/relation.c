/* What relations ask of the solver: the functions of <baton/op.h> about types. What they
 * ask about contents is in contents.c. */
#include <string.h>

#include "base/arena.h"
#include "solve/relate.h"
#include "solve/solver.h"

#include "base/ctx.h"
#include "compute/formula/reads.h"
#include "ir/attr_fault.h"
#include "ir/store.h"
#include "value/decimal.h"

/* ---- errors ---- */

bt_status bt_relation_wait(bt_solver *s)
{
    (void)s;
    return &bt__wait;
}

/* A relation that a callee asks of its callers is named after the callee. */
static bt_status fail(bt_solver *s, const bt_relation_call *r, int arg, uint32_t code,
                      const char *message)
{
    const struct bt__slot *slot = s->current->slot;
    const bt_call *asked =
        s->current->u.op.call ? NULL : bt_as_call(s->current->slot->value);
    bt_status status =
        bt_fail_at(s->ctx, code, s->store, slot->value->span, "%s%s%s: %s",
                   asked ? bt__callee_name(s, asked) : "", asked ? ": " : "", r->op->name,
                   message ? message : "ill-typed");
    return bt__note_operands(s, status, slot, asked ? -1 : arg);
}

bt_status bt_relation_fail(bt_solver *s, const bt_relation_call *r, int arg,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = bt__format_va(s->arena, format, args);
    va_end(args);
    return fail(s, r, arg, BT_ERR_TYPE, message);
}

/* The input's name in the operator's row. */
static const char *input_name(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    if (index >= r->narg)
        return "the result";
    const bt_op_input *input = bt_op_input_at(r->op, index);
    if (input && !input->is_rest)
        return input->name;
    const char *name = bt__format(s->arena, "argument %u", index + 1);
    return name ? name : "an argument";
}

static uint32_t code_of(const bt_type *type)
{
    uint32_t kind = bt_type_kind_of(type);
    return kind == BT_KIND_DIM || kind == BT_KIND_SHAPE ? BT_ERR_SHAPE : BT_ERR_TYPE;
}

/* How a number must be written to have the dtype of the other operand. */
static const char *suffix_of(const bt_type *dtype)
{
    const bt_dtype_type *of = (const bt_dtype_type *)(const void *)dtype;
    return dtype->kind == BT_TYPE_DTYPE ? bt__suffix_of(of->dtype) : "";
}

/* "1" has another dtype than the other operand: how it is meant. */
static void add_number_hint(bt_solver *s, const bt_type *a, const bt_type *b,
                            bt_text *text)
{
    const bt_call *call = s->current->u.op.call;
    for (uint32_t i = 0; call && i < call->narg; i++) {
        const bt_tensor *number = bt_const_tensor(call->args[i]);
        if (!number || number->rank || number->dtype != BT_INT32)
            continue;
        const char *suffix = suffix_of(bt_type_dtype(s->store, BT_INT32) == a ? b : a);
        if (*suffix)
            bt_text_addf(text, ": write %lld%s", (long long)bt_tensor_get_int(number, 0),
                         suffix);
        return;
    }
}

/* The error for two terms that do not stand to each other as a check says. */
static bt_status fail_pair(bt_solver *s, const bt_relation_call *r, uint32_t check,
                           const char *what, const bt_type *a, const bt_type *b)
{
    bt_text text;
    const char *left = bt__show(s, a), *right = bt__show(s, b);
    bt_text_init(&text, s->arena);
    switch (check) {
    case BT_CHECK_LESS_EQUAL:
        bt_text_addf(&text, "%s: %s must be at most %s", what, left, right);
        break;
    case BT_CHECK_DIVISIBLE:
        bt_text_addf(&text, "%s: %s must be a multiple of %s", what, left, right);
        break;
    case BT_CHECK_BROADCAST:
        bt_text_addf(&text, "%s must be equal or 1, but are %s and %s", what, left,
                     right);
        break;
    default:
        bt_text_addf(&text, "%s must be equal, but are %s and %s", what, left, right);
        break;
    }
    if (s->is_infinite)
        bt_text_addf(&text, ", which would contain itself");
    if (check == BT_CHECK_EQUAL && bt_type_kind_of(a) == BT_KIND_DTYPE)
        add_number_hint(s, a, b, &text);
    return fail(s, r, -1, code_of(a), bt_text_get(&text));
}

static bt_status fail_shapes(bt_solver *s, const bt_relation_call *r, const bt_type *a,
                             const bt_type *b)
{
    const char *left = bt__show(s, a), *right = bt__show(s, b);
    return fail(s, r, -1, BT_ERR_SHAPE,
                bt__format(s->arena, "shapes %s and %s do not broadcast", left, right));
}

/* ---- types ---- */

bt_store *bt_relation_store(bt_solver *s)
{
    return s->store;
}

/* NULL: no memory. */
static const bt_type *raw_arg(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    if (index < r->narg)
        return s->current->u.op.args[index];
    s->current->asked = index + 1;
    return bt__result_of(s, s->current);
}

const bt_type *bt_relation_arg(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    const bt_type *type = raw_arg(s, r, index), *known = s->unknown;
    bt_status status = type ? bt__resolve(s, type, &known) : bt_no_memory();
    // These functions must return a value: the status is kept, and returned in place of
    // the relation's own.
    if (status)
        s->broken = status;
    return known;
}

static bt_status tensor_parts(bt_solver *s, const bt_relation_call *r, uint32_t index,
                              const bt_type *type, bt_tensor_parts *out)
{
    BT_TRY(bt__resolve(s, type, &type));
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    if (type->kind == BT_TYPE_HOLE)
        return &bt__wait;
    if (!tensor)
        return bt_relation_fail(s, r, (int)index, "%s is %s, but must be a tensor",
                                input_name(s, r, index), bt__show(s, type));
    const bt_shape_type *shape = bt_as_shape_type(tensor->shape);
    if (bt__hole_of(s, tensor->shape) ||
        (shape && shape->rest && bt__hole_of(s, shape->rest)))
        return &bt__wait;
    if (!shape || shape->rest)
        return bt_relation_fail(s, r, (int)index,
                                "%s is %s, but the number of its dims must be known",
                                input_name(s, r, index), bt__show(s, type));
    if (shape->n > BT_MAX_RANK)
        return bt_relation_fail(s, r, (int)index, "%s has %u dims, more than %d",
                                input_name(s, r, index), shape->n, BT_MAX_RANK);
    const bt_dtype_type *dtype = (const bt_dtype_type *)(const void *)tensor->dtype;
    *out = (bt_tensor_parts){
        .rank = shape->n,
        .dims = shape->dims,
        .dtype = tensor->dtype,
        .known = tensor->dtype->kind == BT_TYPE_DTYPE ? dtype->dtype : 0,
        .layout = tensor->layout,
    };
    return NULL;
}

bt_status bt_relation_tensor(bt_solver *s, const bt_relation_call *r, uint32_t index,
                             bt_tensor_parts *out)
{
    const bt_type *type = raw_arg(s, r, index);
    return type ? tensor_parts(s, r, index, type, out) : bt_no_memory();
}

bt_status bt_relation_tensor_rank(bt_solver *s, const bt_relation_call *r, uint32_t index,
                                  uint32_t rank, bt_tensor_parts *out)
{
    bt_tensor_parts parts;
    BT_TRY(bt_relation_tensor(s, r, index, &parts));
    if (parts.rank != rank)
        return bt_relation_fail(s, r, (int)index, "%s has %u dim%s, but must have %u",
                                input_name(s, r, index), parts.rank,
                                parts.rank == 1 ? "" : "s", rank);
    *out = parts;
    return NULL;
}

static const char *class_names(uint32_t classes)
{
    switch (classes) {
    case BT_CLASS_BITS_INT: return "a signed integer";
    case BT_CLASS_BITS_UINT: return "an unsigned integer";
    case BT_CLASS_BITS_INTEGER: return "an integer";
    case BT_CLASS_BITS_FLOAT: return "a float";
    case BT_CLASS_BITS_NUMBER: return "a number";
    case BT_CLASS_BITS_BOOL: return "bool";
    default: return "of another class";
    }
}

const char *bt__moved_only(bt_dtype dtype)
{
    return bt_dtype_is_moved(dtype) ? ", which are only moved and cast" : "";
}

bt_status bt_relation_class(bt_solver *s, const bt_relation_call *r, uint32_t index,
                            uint32_t classes)
{
    const bt_type *type = bt_relation_arg(s, r, index);
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    bt_dtype dtype = bt_tensor_dtype(type);
    if (type->kind == BT_TYPE_HOLE || (tensor && bt__hole_of(s, tensor->dtype)))
        return &bt__wait;
    if (!tensor)
        return bt_relation_fail(s, r, (int)index, "%s is %s, but must be a tensor",
                                input_name(s, r, index), bt__show(s, type));
    // the dtype of a type parameter is checked where the function is specialised
    if (!dtype || classes == (uint32_t)BT_CLASS_BITS_ANY ||
        (BT_DTYPE_CLASS(dtype) < 32 && (classes >> BT_DTYPE_CLASS(dtype) & 1)))
        return NULL;
    return bt_relation_fail(s, r, (int)index, "elements of %s are %s%s, but must be %s",
                            input_name(s, r, index), bt__show(s, tensor->dtype),
                            bt__moved_only(dtype), class_names(classes));
}

bt_status bt_relation_tensors(bt_solver *s, const bt_relation_call *r, uint32_t index,
                              uint32_t *n, const bt_tensor_parts **out)
{
    const bt_type *type = raw_arg(s, r, index);
    if (!type)
        return bt_no_memory();
    type = bt__head(s, type);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (type->kind == BT_TYPE_HOLE)
        return &bt__wait;
    if (!tuple)
        return bt_relation_fail(s, r, (int)index,
                                "%s is %s, but must be a tuple of tensors",
                                input_name(s, r, index), bt__show(s, type));
    bt_tensor_parts *parts = BT_NEWS(s->arena, bt_tensor_parts, tuple->n);
    if (!parts)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(tensor_parts(s, r, index, tuple->at[i], &parts[i]));
    *n = tuple->n;
    *out = parts;
    return NULL;
}

bt_status bt_relation_axis(bt_solver *s, const bt_relation_call *r, const char *attr,
                           int64_t axis, uint32_t rank, uint32_t *out)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return bt_relation_fail(
            s, r, -1, "%s is %lld, but must be in %d..%d for %u dim%s", attr,
            (long long)axis, -(int)rank, (int)rank - 1, rank, rank == 1 ? "" : "s");
    *out = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return NULL;
}

/* ---- equations ---- */

bt_status bt_relation_unify(bt_solver *s, const bt_relation_call *r, const bt_type *a,
                            const bt_type *b, const char *what)
{
    s->what = what;
    bt_status status = bt__unify(s, s->current, a, b);
    s->what = NULL;
    if (status == &bt__mismatch)
        return fail_pair(s, r, BT_CHECK_EQUAL, what, a, b);
    return status;
}

bt_status bt_relation_require(bt_solver *s, const bt_relation_call *r, uint32_t check,
                              const bt_type *left, const bt_type *right, const char *what)
{
    BT_TRY(bt__resolve(s, left, &left));
    BT_TRY(bt__resolve(s, right, &right));
    if ((left->has | right->has) & BT_HAS_HOLE)
        return &bt__wait;
    s->what = what;
    bt_status status = bt__require(s, s->current, check, left, right);
    s->what = NULL;
    if (status == &bt__mismatch)
        return fail_pair(s, r, check, what ? what : "dims", left, right);
    return status;
}

bt_status bt_relation_dim(bt_solver *s, const bt_relation_call *r, const bt_type *dim,
                          const bt_type **out)
{
    (void)r;
    BT_TRY(bt__resolve(s, dim, &dim));
    if (dim->has & BT_HAS_HOLE)
        return &bt__wait;
    *out = dim;
    return NULL;
}

bt_status bt_relation_broadcast_dim(bt_solver *s, const bt_relation_call *r,
                                    const bt_type *a, const bt_type *b,
                                    const bt_type **out)
{
    bt_status status = bt__broadcast_dim(s, s->current, a, b, out);
    if (status == &bt__mismatch)
        return fail_pair(s, r, BT_CHECK_BROADCAST, "dims", a, b);
    return status;
}

bt_status bt_relation_broadcast(bt_solver *s, const bt_relation_call *r,
                                const bt_type *shape, const bt_type *other,
                                const bt_type **out)
{
    bt_status status = bt__broadcast(s, s->current, shape, other, out);
    if (status == &bt__mismatch)
        return fail_shapes(s, r, shape, other);
    return status;
}

/* ---- opaque dims, results ---- */

bt_status bt__opaque(bt_solver *s, struct bt__node *node, const void *key,
                     const void *other, const bt_type **out)
{
    for (const struct bt__fresh *f = node->fresh; f; f = f->next) {
        if (f->key == key && f->other == other) {
            *out = f->type;
            return NULL;
        }
    }
    struct bt__fresh *fresh = BT_NEW(s->arena, struct bt__fresh);
    const bt_type *dim = bt_dim_opaque(s->store, NULL);
    if (!fresh || !dim || !bt_map_put(&s->births, dim, node->slot->function))
        return bt_no_memory();
    *fresh = (struct bt__fresh){
        .key = key, .other = other, .type = dim, .next = node->fresh
    };
    node->fresh = fresh;
    *out = dim;
    return NULL;
}

bt_status bt_relation_opaque(bt_solver *s, const bt_relation_call *r, uint32_t number,
                             const bt_type **out)
{
    static const char numbered; // tells these keys from pairs of dims
    (void)r;
    return bt__opaque(s, s->current, (const void *)(uintptr_t)(number + 1), &numbered,
                      out);
}

bt_status bt_relation_call_result(bt_solver *s, const bt_relation_call *r,
                                  const bt_func_type *func, const bt_type **out)
{
    (void)r;
    return bt__result_of_call(s, s->current, func, out);
}

/* Why a constructor gave nothing: a dim that overflows is the call's fault. */
static bt_status no_term(bt_solver *s, const bt_relation_call *r)
{
    bt_status why = bt_store_why(s->ctx, s->store);
    return why->code == BT_ERR_LIMIT ? fail(s, r, -1, why->code, why->message) : why;
}

/* A dim below 0 in a result is asked for by an attribute or a value. */
static bt_status check_extents(bt_solver *s, const bt_relation_call *r,
                               const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; i < (tuple ? tuple->n : 1); i++) {
        const bt_shape_type *shape = bt_tensor_shape(tuple ? tuple->at[i] : type);
        for (uint32_t k = 0; shape && k < shape->n; k++) {
            int64_t extent;
            if (bt_dim_is_const(shape->dims[k], &extent) && extent < 0)
                return bt_relation_fail(s, r, -1, "dim %u of the result would be %lld", k,
                                        (long long)extent);
        }
    }
    return NULL;
}

bt_status bt_relation_result(bt_solver *s, const bt_relation_call *r, const bt_type *type)
{
    if (type)
        BT_TRY(check_extents(s, r, type));
    bt_status status = type ? bt__give(s, s->current, type) : no_term(s, r);
    if (status == &bt__mismatch)
        return bt_relation_fail(s, r, -1, "the result is %s, but must be %s",
                                bt__show(s, type), bt__show(s, s->current->result));
    return status;
}

bt_status bt_relation_result_tensor(bt_solver *s, const bt_relation_call *r,
                                    uint32_t rank, const bt_type *const *dims,
                                    const bt_type *dtype)
{
    const bt_type *shape = bt_type_shape(s->store, rank, dims);
    return bt_relation_result(s, r, bt_type_tensor(s->store, shape, dtype));
}

bt_status bt_relation_result_laid(bt_solver *s, const bt_relation_call *r, uint32_t rank,
                                  const bt_type *const *dims, const bt_type *dtype)
{
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, rank, &data));
    const bt_type *shape = bt_type_shape(s->store, rank, dims);
    return bt_relation_result(s, r,
                              bt_type_tensor_layout(s->store, shape, dtype, data.layout));
}

void *bt_relation_alloc(bt_solver *s, size_t count, size_t nbytes)
{
    return bt_arena_alloc(s->arena, count, nbytes);
}

/* ---- running the relation of an operator ---- */

static bt_status shared_relation(bt_solver *s, const bt_op *op, const bt_relation **out)
{
    *out = bt_map_find(&s->relations, op->relation);
    if (*out)
        return NULL;
    BT_TRY(bt_relation_get(s->ctx, op->relation, out));
    return bt_map_put(&s->relations, op->relation, (void *)(uintptr_t)*out)
               ? NULL
               : bt_no_memory();
}

/* ---- layouts ---- */

/* A layout inside the type; NULL: row major throughout. Tuples have bounded depth, and
 * one that was seen is not walked again, however often it stands in others. */
static bt_status find_layout(bt_solver *s, const bt_type *type, const bt_layout **out)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    *out = tensor ? tensor->layout : NULL;
    if (!tuple || bt_map_find(&s->row_major, type))
        return NULL;
    for (uint32_t i = 0; i < tuple->n && !*out; i++)
        BT_TRY(find_layout(s, tuple->at[i], out));
    return *out || bt_map_put(&s->row_major, type, s) ? NULL : bt_no_memory();
}

/* A formula that goes element by element takes operands as they lie; all others want a
 * rule of the operator. */
static bt_status takes_layouts(bt_solver *s, const bt_relation_call *r, int *out)
{
    const void *rule;
    BT_TRY(bt_op_facet(s->ctx, r->op, "layout", &rule));
    *out = rule != NULL;
    return *out ? NULL : bt__formula_is_pointwise(s->ctx, r->op, r->attrs, out);
}

bt_status bt_layout_follow(bt_ctx *ctx, bt_store *store, const bt_call *call,
                           const bt_layout *const *wanted, const bt_layout **in,
                           const bt_layout **out)
{
    BT_TRY(bt_layout_read(ctx, store, call, wanted, in, out));
    *out = in[0];
    return NULL;
}

bt_status bt_layout_read(bt_ctx *ctx, bt_store *store, const bt_call *call,
                         const bt_layout *const *wanted, const bt_layout **in,
                         const bt_layout **out)
{
    (void)ctx, (void)store;
    for (uint32_t i = 0; i < call->narg; i++)
        in[i] = wanted[i];
    *out = NULL;
    return NULL;
}

static bt_status check_layouts(bt_solver *s, const bt_relation_call *r)
{
    for (uint32_t i = 0; i < r->narg; i++) {
        const bt_layout *layout;
        int takes;
        BT_TRY(find_layout(s, bt_relation_arg(s, r, i), &layout));
        if (!layout)
            continue;
        BT_TRY(takes_layouts(s, r, &takes));
        if (!takes)
            return bt_relation_fail(s, r, (int)i,
                                    "%s has layout %s, but this operator reads row major "
                                    "only: put layout_transform before it",
                                    input_name(s, r, i), layout->text);
    }
    return NULL;
}

/* ---- running it ---- */

static bt_status call_relate(bt_solver *s, const bt_relation_call *r,
                             bt_status (*relate)(bt_solver *, const bt_relation_call *))
{
    bt_running_part part = { "the type relation of", r->op->name, r->op->plugin, NULL };
    bt__part_begin(s->ctx, &part);
    bt_status status = relate(s, r);
    bt__part_end(s->ctx, &part);
    return status;
}

static bt_status run_relation(bt_solver *s, const bt_relation_call *r)
{
    const bt_relation *shared;
    BT_TRY(check_layouts(s, r));
    bt_status fits = bt__signature_relate(s, r);
    if (fits && fits != &bt__wait)
        return fits;
    if (!r->op->relate && !r->op->relation)
        return bt__formula_relate(s, r);
    if (r->op->relation) {
        BT_TRY(shared_relation(s, r->op, &shared));
        BT_TRY(call_relate(s, r, shared->relate));
    }
    if (r->op->relate)
        BT_TRY(call_relate(s, r, r->op->relate));
    // an equality of the signature may still be open
    return fits;
}

static const char *attr_message(bt_solver *s, const bt__attr_fault *fault)
{
    return bt__format(s->arena, "attribute %s %s", fault->name, fault->what);
}

/* Whether the place is in a formula ("nn.dense") or an input's type ("nn.dense(data)"). */
static int is_of_text(bt_status status, const char *op)
{
    const char *where = status ? status->place.file : NULL;
    size_t n = strlen(op);
    return where && strncmp(where, op, n) == 0 && (!where[n] || where[n] == '(');
}

bt_status bt__try_op(bt_solver *s, struct bt__node *node)
{
    bt_relation_call r = {
        .op = node->u.op.op,
        .attrs = node->u.op.attrs,
        .narg = node->u.op.narg,
        .id = node->id,
        .layout = node->u.op.layout,
    };
    int holds;
    uint32_t nrequired, ninput = bt_op_ninput(r.op, &nrequired);
    if (!bt_op_takes(r.op, r.narg))
        return bt_relation_fail(s, &r, -1, "takes %u argument%s, but is given %u",
                                r.narg < nrequired ? nrequired : ninput,
                                (r.narg < nrequired ? nrequired : ninput) == 1 ? "" : "s",
                                r.narg);
    bt__attr_fault fault;
    if (r.attrs && !bt__attrs_admitted(s->arena, r.op, r.attrs, &fault))
        return fail(s, &r, -1, BT_ERR_ATTRIBUTE, attr_message(s, &fault));
    BT_TRY(bt__try_promises(s, node, &holds));
    if (holds)
        return NULL;
    s->broken = NULL;
    s->store->refusal = NULL;
    uint32_t nlack = s->store->nlack;
    bt_status status = run_relation(s, &r);
    if (s->broken)
        return s->broken;
    // a fault of the operator's own text is placed there
    if (node->slot->value->span && is_of_text(status, r.op->name))
        status = bt_note(s->ctx, status, s->store, node->slot->value->span,
                         "in this call of %s", r.op->name);
    // a relation cannot tell a refused term from lack of memory
    if (status && status->code == BT_ERR_MEMORY && s->store->nlack == nlack)
        return no_term(s, &r);
    if (!status && !node->result)
        return bt_fail_at(s->ctx, BT_ERR_INTERNAL, s->store, node->slot->value->span,
                          "%s: its relation holds, but states no result", r.op->name);
    return status;
}
