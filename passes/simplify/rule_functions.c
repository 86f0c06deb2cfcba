/* What rules may ask and compute, besides operators: rules.md lists it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/layout.h"
#include "simplify/rule.h"

/* ---- operands ---- */

static const bt_value *value_of(const struct rule_match *m, const struct rule_node *node)
{
    return node->kind == RULE_NAME ? m->values[node->slot] : NULL;
}

static const bt_type *type_of(const struct rule_match *m, const struct rule_node *node)
{
    const bt_value *value = value_of(m, node);
    return value ? value->type : strcmp(node->text, "result") == 0 ? m->type : NULL;
}

/* An attribute of the pattern; 0: it is None, or holds no numbers. */
static int attr_ints(const struct rule_match *m, const struct rule_node *node,
                     struct rule_ints *out)
{
    const bt_attr *row = m->rows[node->slot];
    const void *member = m->members[node->slot];
    const bt_ints *list = member;
    const int64_t *one = member;
    *out = (struct rule_ints){ .n = 1, .is_single = 1 };
    if (!row)
        return 0;
    if (row->kind == BT_ATTR_INT || row->kind == BT_ATTR_BOOL) {
        out->at[0] = *one;
        return *one != BT_NONE;
    }
    if (row->kind != BT_ATTR_INTS || list->n < 0 || list->n > BT_MAX_RANK)
        return 0;
    *out = (struct rule_ints){ .n = (uint32_t)list->n };
    memcpy(out->at, list->at, out->n * sizeof(out->at[0]));
    return 1;
}

static int ints_of(struct rule_match *m, const struct rule_node *node,
                   struct rule_ints *out)
{
    return node->function
               ? node->function->ints && node->function->ints(m, node->args, out)
               : attr_ints(m, node, out);
}

/* A number of the rule's text or of an attribute; 0: it is None. */
static int number_of(const struct rule_match *m, const struct rule_node *node,
                     double *out)
{
    const bt_attr *row = node->kind == RULE_NAME ? m->rows[node->slot] : NULL;
    struct rule_ints list;
    if (node->kind == RULE_LITERAL)
        *out = node->number;
    else if (row && row->kind == BT_ATTR_FLOAT)
        *out = *(const double *)m->members[node->slot];
    else if (row && attr_ints(m, node, &list) && list.is_single)
        *out = (double)list.at[0];
    else
        return 0;
    return 1;
}

/* ---- conditions ---- */

static uint32_t class_of(const struct rule_match *m, const struct rule_node *node)
{
    const bt_type *type = type_of(m, node);
    bt_dtype dtype = type ? bt_tensor_dtype(type) : 0;
    return dtype ? BT_DTYPE_CLASS(dtype) : UINT32_MAX;
}

static int is_integer(struct rule_match *m, struct rule_node *const *args)
{
    uint32_t class_ = class_of(m, args[0]);
    return class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT;
}

static int is_float(struct rule_match *m, struct rule_node *const *args)
{
    uint32_t class_ = class_of(m, args[0]);
    return class_ < 32 && (BT_CLASS_BITS_FLOAT >> class_ & 1);
}

static int is_const(struct rule_match *m, struct rule_node *const *args)
{
    const bt_value *value = value_of(m, args[0]);
    return value && value->kind == BT_VALUE_CONST;
}

/* Whether all elements are powers of two; floats: so that their reciprocals are, too, and
 * no element is near the ends of the type. */
static int is_power_of_two(struct rule_match *m, struct rule_node *const *args)
{
    const bt_value *value = value_of(m, args[0]);
    const bt_tensor *t = value ? bt_const_tensor(value) : NULL;
    const int most = is_float(m, args) ? 14 : 62;
    if (!t || t->nelem > RULE_MAX_ALL || (!is_float(m, args) && !is_integer(m, args)))
        return 0;
    for (int64_t i = 0; i < t->nelem; i++) {
        int exponent;
        if (frexp(bt_tensor_get(t, i), &exponent) != 0.5 || exponent - 1 > most ||
            exponent - 1 < (is_float(m, args) ? -most : 0))
            return 0;
    }
    return t->nelem > 0;
}

static int has_rank(struct rule_match *m, struct rule_node *const *args)
{
    const bt_type *type = type_of(m, args[0]);
    double rank;
    return type && number_of(m, args[1], &rank) && type_rank(type) == rank;
}

static int obeys(struct rule_match *m, const struct rule_node *node, uint32_t law)
{
    const void *facet = NULL;
    bt_status status = bt_op_facet(m->ctx, m->ops[node->slot], "algebra", &facet);
    m->status = m->status ? m->status : status;
    return facet && (((const bt_algebra_facet *)facet)->laws & law) != 0;
}

static int is_commutative(struct rule_match *m, struct rule_node *const *args)
{
    return obeys(m, args[0], BT_COMMUTATIVE);
}

static int is_idempotent(struct rule_match *m, struct rule_node *const *args)
{
    return obeys(m, args[0], BT_IDEMPOTENT);
}

static int is_involution(struct rule_match *m, struct rule_node *const *args)
{
    return obeys(m, args[0], BT_INVOLUTION);
}

/* Two tensors that broadcast. */
static int broadcasts(struct rule_match *m, struct rule_node *const *args)
{
    const char *relation = m->ops[args[0]->slot]->relation;
    return relation && strcmp(relation, "Broadcast") == 0;
}

/* Whether every value of `from` is one of `to`, and back from there the same again: a cast to
 * float8_e5m2 makes none of its infinities. */
static int is_widening(bt_dtype from, bt_dtype to)
{
    if (from == BT_FLOAT8_E5M2)
        return to == from;
    uint32_t from_class = BT_DTYPE_CLASS(from), to_class = BT_DTYPE_CLASS(to);
    uint32_t from_bits = BT_DTYPE_BITS(from), to_bits = BT_DTYPE_BITS(to);
    if (from_class == to_class)
        return from_bits <= to_bits;
    if (from_class == BT_CLASS_UINT && to_class == BT_CLASS_INT)
        return from_bits < to_bits;
    return bt_dtype_is_float(from) && to_class == BT_CLASS_FLOAT && to_bits >= 32 &&
           from_bits <= to_bits;
}

static int widens(struct rule_match *m, struct rule_node *const *args)
{
    const bt_type *from = type_of(m, args[0]);
    const bt_attr *row = m->rows[args[1]->slot];
    const bt_dtype_type *const *to = m->members[args[1]->slot];
    return from && row && row->kind == BT_ATTR_DTYPE && *to && bt_tensor_dtype(from) &&
           is_widening(bt_tensor_dtype(from), (*to)->dtype);
}

static int is_in_order(struct rule_match *m, struct rule_node *const *args)
{
    struct rule_ints list;
    if (!ints_of(m, args[0], &list))
        return 0;
    for (uint32_t i = 0; i < list.n; i++) {
        if (list.at[i] != i)
            return 0;
    }
    return 1;
}

/* ---- attributes ---- */

/* An axis, counted from the front. */
static int front_axis(struct rule_match *m, const struct rule_node *attr,
                      const struct rule_node *of, uint32_t *rank, int64_t *out)
{
    struct rule_ints list;
    const bt_type *type = type_of(m, of);
    *rank = type ? type_rank(type) : 0;
    if (!*rank || !ints_of(m, attr, &list) || !list.is_single)
        return 0;
    *out = list.at[0] < 0 ? list.at[0] + *rank : list.at[0];
    return *out >= 0 && *out < *rank;
}

/* The axes of a transpose of a value: in full, from the front. */
static int order(struct rule_match *m, struct rule_node *const *args,
                 struct rule_ints *out)
{
    const bt_type *type = type_of(m, args[1]);
    uint32_t rank = type ? type_rank(type) : 0;
    if (!rank || rank > BT_MAX_RANK)
        return 0;
    if (!ints_of(m, args[0], out)) {
        out->n = rank;
        for (uint32_t i = 0; i < rank; i++)
            out->at[i] = rank - 1 - i;
    }
    out->is_single = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        out->at[i] += out->at[i] < 0 ? rank : 0;
        if (out->at[i] < 0 || out->at[i] >= rank)
            return 0;
    }
    return out->n == rank;
}

/* Those of a transpose by the first axes, then by the second. */
static int compose(struct rule_match *m, struct rule_node *const *args,
                   struct rule_ints *out)
{
    struct rule_node *const first[] = { args[0], args[2] };
    struct rule_node *const second[] = { args[1], args[2] };
    struct rule_ints inner, outer;
    if (!order(m, first, &inner) || !order(m, second, &outer))
        return 0;
    *out = outer;
    for (uint32_t i = 0; i < outer.n; i++)
        out->at[i] = inner.at[outer.at[i]];
    return 1;
}

static int one_axis(struct rule_match *m, struct rule_node *const *args,
                    struct rule_ints *out)
{
    uint32_t rank;
    *out = (struct rule_ints){ .n = 1 };
    return front_axis(m, args[0], args[1], &rank, &out->at[0]);
}

/* All but the first and this one. */
static int other_axes(struct rule_match *m, struct rule_node *const *args,
                      struct rule_ints *out)
{
    uint32_t rank;
    int64_t axis;
    *out = (struct rule_ints){ 0 };
    if (!front_axis(m, args[0], args[1], &rank, &axis) || axis == 0)
        return 0;
    for (uint32_t i = 1; i < rank; i++) {
        if (i != axis)
            out->at[out->n++] = i;
    }
    return 1;
}

static int shape(struct rule_match *m, struct rule_node *const *args,
                 struct rule_ints *out)
{
    const bt_type *type = type_of(m, args[0]);
    *out = (struct rule_ints){ 0 };
    return type && !bt_type_layout(type) && bt_tensor_static(type, &out->n, out->at);
}

/* The same with open dims: those of the function around, not those that the call finds. */
static const bt_type *open_shape(struct rule_match *m, struct rule_node *const *args)
{
    const bt_type *type = type_of(m, args[0]);
    const bt_shape_type *shape =
        type && !bt_type_layout(type) ? bt_tensor_shape(type) : NULL;
    return shape && !shape->rest && !(shape->base.has & ~(uint32_t)BT_HAS_VAR)
               ? &shape->base
               : NULL;
}

static int extent(struct rule_match *m, struct rule_node *const *args,
                  struct rule_ints *out)
{
    struct rule_ints dims;
    uint32_t rank;
    int64_t axis;
    if (!shape(m, args, &dims) || !front_axis(m, args[1], args[0], &rank, &axis))
        return 0;
    *out = (struct rule_ints){ .n = 1, .is_single = 1, .at = { dims.at[axis] } };
    return 1;
}

static const bt_type *open_extent(struct rule_match *m, struct rule_node *const *args)
{
    const bt_type *shape = open_shape(m, args);
    uint32_t rank;
    int64_t axis;
    return shape && front_axis(m, args[1], args[0], &rank, &axis)
               ? bt_as_shape_type(shape)->dims[axis]
               : NULL;
}

static int contents(struct rule_match *m, struct rule_node *const *args,
                    struct rule_ints *out)
{
    const bt_value *value = value_of(m, args[0]);
    const bt_tensor *tensor = value ? bt_const_tensor(value) : NULL;
    if (!tensor || tensor->nelem > BT_MAX_RANK || !is_integer(m, args))
        return 0;
    *out = (struct rule_ints){ .n = (uint32_t)tensor->nelem };
    for (uint32_t i = 0; i < out->n; i++)
        out->at[i] = bt_tensor_get_index(tensor, i);
    return 1;
}

static int number(struct rule_match *m, struct rule_node *const *args,
                  struct rule_ints *out)
{
    if (!contents(m, args, out) || out->n != 1)
        return 0;
    out->is_single = 1;
    return 1;
}

static int dtype(struct rule_match *m, struct rule_node *const *args, bt_text *out)
{
    char name[BT_DTYPE_NAME_SIZE];
    const bt_type *type = type_of(m, args[0]);
    if (!type || !bt_tensor_dtype(type))
        return 0;
    bt_text_addf(out, "\"%s\"", bt_dtype_name(bt_tensor_dtype(type), name, sizeof(name)));
    return 1;
}

/* The numbers of a constant of floats, as attributes are written. */
static int reals(struct rule_match *m, struct rule_node *const *args, bt_text *out)
{
    const bt_value *value = value_of(m, args[0]);
    const bt_tensor *tensor = value ? bt_const_tensor(value) : NULL;
    if (!tensor || tensor->nelem > BT_MAX_RANK || !is_float(m, args))
        return 0;
    bt_text_addf(out, "[");
    for (int64_t i = 0; i < tensor->nelem; i++) {
        const double number = bt_tensor_get(tensor, i);
        if (!isfinite(number))
            return 0;
        bt_text_addf(out, "%s%.17gf", i ? ", " : "", number);
    }
    bt_text_addf(out, "]");
    return 1;
}

static int real(struct rule_match *m, struct rule_node *const *args, bt_text *out)
{
    const bt_value *value = value_of(m, args[0]);
    const bt_tensor *tensor = value ? bt_const_tensor(value) : NULL;
    if (!tensor || tensor->nelem != 1 || !is_float(m, args) ||
        !isfinite(bt_tensor_get(tensor, 0)))
        return 0;
    bt_text_addf(out, "%.17gf", bt_tensor_get(tensor, 0));
    return 1;
}

int rule_attr_text(struct rule_match *m, const struct rule_node *node, bt_text *out)
{
    struct rule_ints list;
    if (node->function->text)
        return node->function->text(m, node->args, out);
    if (!ints_of(m, node, &list))
        return 0;
    bt_text_addf(out, list.is_single ? "" : "[");
    for (uint32_t i = 0; i < list.n; i++)
        bt_text_addf(out, "%s%lld", i ? ", " : "", (long long)list.at[i]);
    bt_text_addf(out, list.is_single ? "" : "]");
    return 1;
}

/* ---- values ---- */

/* A vector so that it lies along an axis of another value. */
static const bt_value *along(struct rule_match *m, struct chain *c,
                             struct rule_node *const *args)
{
    uint32_t rank;
    int64_t axis;
    const bt_value *vector = rule_build(m, c, args[0]);
    return vector && front_axis(m, args[2], args[1], &rank, &axis)
               ? chain_along(c, vector, rank, (uint32_t)axis)
               : NULL;
}

/* A number or attribute in the element type of a value. */
static const bt_value *scalar(struct rule_match *m, struct chain *c,
                              struct rule_node *const *args)
{
    const bt_type *type = type_of(m, args[1]);
    double number;
    return type && bt_tensor_dtype(type) && number_of(m, args[0], &number)
               ? chain_scalar(c, bt_tensor_dtype(type), number)
               : NULL;
}

static const bt_value *pick(struct rule_match *m, struct chain *c,
                            struct rule_node *const *args)
{
    struct rule_ints flag;
    return attr_ints(m, args[0], &flag) ? rule_build(m, c, args[flag.at[0] ? 1 : 2])
                                        : NULL;
}

/* Whether all that stands along an axis of a constant is the same. */
static int is_same_along(const bt_tensor *t, uint32_t axis)
{
    const int is_float = bt_dtype_is_real(t->dtype);
    int64_t inner = 1;
    for (uint32_t i = axis + 1; i < t->rank; i++)
        inner *= t->dims[i];
    for (int64_t at = 0; at < t->nelem; at++) {
        const int64_t first = at - at / inner % t->dims[axis] * inner;
        const double x = is_float ? bt_tensor_get(t, at) : 0,
                     y = is_float ? bt_tensor_get(t, first) : 0;
        if (is_float ? x != y || signbit(x) != signbit(y)
                     : bt_tensor_get_int(t, at) != bt_tensor_get_int(t, first))
            return 0;
    }
    return t->nelem > 0;
}

/* A constant without the axes along which it is the same: their extents are 1. */
static const bt_value *narrow(struct rule_match *m, struct chain *c,
                              struct rule_node *const *args)
{
    const bt_value *value = value_of(m, args[0]);
    const bt_tensor *t = value ? bt_const_tensor(value) : NULL;
    bt_text begin, end, axes;
    bt_text_init(&begin, m->arena);
    bt_text_init(&end, m->arena);
    bt_text_init(&axes, m->arena);
    for (uint32_t i = 0; t && i < t->rank; i++) {
        const char *comma = axes.len ? ", " : "";
        if (t->dims[i] < 2 || !is_same_along(t, i))
            continue;
        bt_text_addf(&begin, "%s0", comma);
        bt_text_addf(&end, "%s1", comma);
        bt_text_addf(&axes, "%s%u", comma, i);
    }
    if (!axes.len)
        return NULL;
    const char *texts[] = { bt_text_get(&begin), bt_text_get(&end), bt_text_get(&axes) };
    if (texts[0] && texts[1] && texts[2])
        return chain_op1f(c, value, "strided_slice", "begin=[%s], end=[%s], axes=[%s]",
                          texts[0], texts[1], texts[2]);
    c->status = bt_no_memory();
    return NULL;
}

/* ---- the table ---- */

static const struct rule_function functions[] = {
    { "integer", "x", .truth = is_integer },
    { "float", "x", .truth = is_float },
    { "constant", "x", .truth = is_const },
    { "power_of_two", "x", .truth = is_power_of_two },
    { "rank", "xn", .truth = has_rank },
    { "commutative", "o", .truth = is_commutative },
    { "idempotent", "o", .truth = is_idempotent },
    { "involution", "o", .truth = is_involution },
    { "broadcasts", "o", .truth = broadcasts },
    { "widens", "xd", .truth = widens },
    { "in_order", "l", .truth = is_in_order },
    { "order", "ax", .ints = order },
    { "compose", "aax", .ints = compose },
    { "axis", "ax", .ints = one_axis },
    { "others", "ax", .ints = other_axes },
    { "shape", "x", .ints = shape, .type = open_shape },
    { "extent", "xa", .ints = extent, .type = open_extent },
    { "contents", "x", .ints = contents },
    { "number", "x", .ints = number },
    { "dtype", "x", .text = dtype },
    { "reals", "x", .text = reals },
    { "real", "x", .text = real },
    { "along", "vxa", .value = along },
    { "scalar", "nx", .value = scalar },
    { "pick", "avv", .value = pick },
    { "narrow", "x", .value = narrow },
};

const struct rule_function *rule_function_find(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(functions); i++) {
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    }
    return NULL;
}

const char *rule_function_nearest(bt_arena *arena, const char *name, int is_condition)
{
    const char *names[BT_COUNT(functions) + 1] = { NULL };
    uint32_t n = 0;
    for (uint32_t i = 0; i < BT_COUNT(functions); i++) {
        if ((functions[i].truth != NULL) == is_condition)
            names[n++] = functions[i].name;
    }
    return bt_nearest(arena, name, names);
}
