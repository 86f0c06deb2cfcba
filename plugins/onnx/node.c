/* What conversions ask of a node. */
#include <string.h>

#include "node.h"

void node_fail(bt_onnx_node *n, uint32_t code, const char *format, ...)
{
    if (n->status)
        return;
    bt_text text;
    va_list list;
    bt_text_init(&text, n->im->arena);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    const char *message = bt_text_get(&text);
    bt_span span = bt_span_node(n->im->store, n->im->source, onnx_node_name(n->proto));
    n->status = message ? bt_fail_at(n->im->ctx, code, n->im->store, span, "%s: %s",
                                     n->proto->op, message)
                        : bt_no_memory();
}

const char *node_format(bt_onnx_node *n, const char *format, ...)
{
    bt_text text;
    va_list list;
    bt_text_init(&text, n->im->arena);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    if (!bt_text_get(&text) && !n->status)
        n->status = bt_no_memory();
    return bt_text_get(&text) ? bt_text_get(&text) : "";
}

/* The input of the model that a value is computed from, by the first arguments that are
 * no constants; NULL: there is none. */
static const bt_value *source_of(const bt_value *value)
{
    const bt_call *call;
    while ((call = bt_as_call(value))) {
        value = NULL;
        for (uint32_t i = 0; !value && i < call->narg; i++)
            value = bt_const_tensor(call->args[i]) ? NULL : call->args[i];
    }
    return value && bt_as_param(value) ? value : NULL;
}

/* What a small input may be fixed to, as an example. */
static const char *example_of(bt_onnx_node *n, const bt_value *input)
{
    enum { FEW = 8 };
    const bt_shape_type *shape = input ? bt_tensor_shape(input->type) : NULL;
    const int64_t ones[FEW] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    int64_t count;
    if (shape && shape->n == 0)
        return "1";
    if (!shape || shape->n > 1 || !bt_dim_is_const(shape->dims[0], &count) || count > FEW)
        return "[1, 2]";
    return format_ints(n, (uint32_t)count, ones);
}

void node_unknown(bt_onnx_node *n, const char *what, const bt_value *value)
{
    const bt_value *source = value ? source_of(value) : NULL;
    const char *name = source && source->name ? source->name : NULL;
    node_fail(n, BT_ERR_UNSUPPORTED,
              "%s not known before run time; %s can be fixed when the model is imported: "
              "--fix '%s=%s'",
              what, name ? node_format(n, "input %s", name) : "an input",
              name ? name : "NAME", example_of(n, source));
}

const char *format_bool(int value)
{
    return value ? "True" : "False";
}

const char *format_ints(bt_onnx_node *n, uint32_t count, const int64_t *values)
{
    bt_text text;
    bt_text_init(&text, n->im->arena);
    bt_text_add(&text, "[", 1);
    for (uint32_t i = 0; i < count; i++)
        bt_text_addf(&text, "%s%lld", i ? ", " : "", (long long)values[i]);
    bt_text_add(&text, "]", 1);
    if (!bt_text_get(&text) && !n->status)
        n->status = bt_no_memory();
    return bt_text_get(&text) ? bt_text_get(&text) : "[]";
}

/* ---- attributes ---- */

static const struct onnx_attr *find_attr(const bt_onnx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->proto->attrs.len; i++) {
        if (strcmp(n->proto->attrs.at[i].name, name) == 0)
            return &n->proto->attrs.at[i];
    }
    return NULL;
}

int node_has(const bt_onnx_node *n, const char *name)
{
    return find_attr(n, name) != NULL;
}

const struct onnx_attr *node_attr(bt_onnx_node *n, const char *name, int64_t type)
{
    static const char *const names[] = { "nothing", "a float",  "an int",
                                         "a text",  "a tensor", "a graph",
                                         "floats",  "ints",     "texts" };
    const struct onnx_attr *attr = find_attr(n, name);
    if (!attr || attr->type == type)
        return attr;
    node_fail(n, BT_ERR_ATTRIBUTE, "attribute %s is %s where %s is expected", name,
              attr->type >= 0 && attr->type < (int64_t)BT_COUNT(names) ? names[attr->type]
                                                                       : "something else",
              names[type]);
    return NULL;
}

int64_t node_int(bt_onnx_node *n, const char *name, int64_t absent)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_INT);
    return attr ? attr->i : absent;
}

double node_float(bt_onnx_node *n, const char *name, double absent)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_FLOAT);
    return attr ? (double)attr->f : absent;
}

const char *node_text(bt_onnx_node *n, const char *name, const char *absent)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_STRING);
    return attr && attr->s ? attr->s : absent;
}

const char *node_ints(bt_onnx_node *n, const char *name, const char *absent)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_INTS);
    return attr ? format_ints(n, attr->ints.len, attr->ints.at) : absent;
}

/* ---- inputs ---- */

static bt_status use_initializer(struct onnx_import *im, const struct onnx_tensor *tensor,
                                 const bt_value **out)
{
    bt_tensor *value;
    BT_TRY(onnx_tensor_value(im->ctx, im->arena, &im->files, tensor, &value));
    bt_status status = bt_build_const(im->builder, &value->base, out);
    bt_tensor_unref(value);
    return status ? status : bt_build_name(im->builder, *out, tensor->name);
}

/* By lexical scope: a graph within a node sees the names around it. */
static bt_status find_value(struct onnx_import *im, const char *name,
                            const bt_value **out)
{
    for (struct scope *scope = im->scope; scope; scope = scope->outer) {
        const bt_map_entry *found = bt_map_entry_find(&scope->values, name);
        const struct onnx_tensor *tensor =
            found ? NULL : bt_map_find(&scope->initializers, name);
        if (found)
            *out = found->value;
        if (tensor) {
            BT_TRY(use_initializer(im, tensor, out));
            if (!bt_map_put(&scope->values, name, (void *)(uintptr_t)*out))
                return bt_no_memory();
        }
        if (found || tensor)
            return NULL;
    }
    return bt_fail(im->ctx, BT_ERR_NAME,
                   "%s: the value %s is used, but no node before it gives it",
                   im->model->path, name);
}

const bt_value *node_in(bt_onnx_node *n, uint32_t i)
{
    const bt_value *out = NULL;
    if (!n->status && i < n->proto->inputs.len && n->proto->inputs.at[i][0])
        n->status = find_value(n->im, n->proto->inputs.at[i], &out);
    return out;
}

const bt_value *node_need(bt_onnx_node *n, uint32_t i)
{
    const bt_value *out = node_in(n, i);
    if (!out)
        node_fail(n, BT_ERR_FORMAT, "input %u is missing", i);
    return out;
}

int node_wants(const bt_onnx_node *n, uint32_t output)
{
    return output < n->proto->outputs.len && n->proto->outputs.at[output][0];
}

/* ---- values ---- */

uint32_t value_rank(bt_onnx_node *n, const bt_value *value)
{
    const bt_shape_type *shape = value ? bt_tensor_shape(value->type) : NULL;
    if (!shape)
        node_fail(n, BT_ERR_UNSUPPORTED, "the rank of an input is not known");
    return shape ? shape->n : 0;
}

int64_t value_dim(bt_onnx_node *n, const bt_value *value, uint32_t axis)
{
    const bt_shape_type *shape = value ? bt_tensor_shape(value->type) : NULL;
    int64_t out;
    (void)n;
    return shape && axis < shape->n && bt_dim_is_const(shape->dims[axis], &out) ? out
                                                                                : -1;
}

bt_dtype value_dtype(const bt_value *value)
{
    return value ? bt_tensor_dtype(value->type) : 0;
}

int value_dims(bt_onnx_node *n, const bt_value *value, uint32_t *count,
               const bt_type *const **out)
{
    const bt_tensor *tensor = known_tensor(n, value);
    const bt_call *call = bt_as_call(value);
    if (call && call->contents) {
        *count = call->contents->n;
        *out = call->contents->dims;
        return 1;
    }
    if (!tensor || tensor->nelem > 1024 || tensor->rank > 1)
        return 0;
    const bt_type **dims = BT_NEWS(n->im->arena, const bt_type *, (size_t)tensor->nelem);
    for (int64_t i = 0; dims && i < tensor->nelem; i++) {
        if (!(dims[i] = bt_dim(n->im->store, bt_tensor_get_int(tensor, i))))
            dims = NULL;
    }
    if (!dims && !n->status)
        n->status = bt_no_memory();
    *count = (uint32_t)tensor->nelem;
    *out = dims;
    return dims != NULL;
}

int value_ints(bt_onnx_node *n, const bt_value *value, int64_list *out)
{
    uint32_t count;
    const bt_type *const *dims;
    int64_t number;
    out->len = 0;
    if (!value || !value_dims(n, value, &count, &dims))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!bt_dim_is_const(dims[i], &number))
            return 0;
        if (!BT_PUSH(n->im->arena, out, number)) {
            n->status = bt_no_memory();
            return 0;
        }
    }
    return 1;
}

uint32_t node_axis(bt_onnx_node *n, int64_t axis, uint32_t rank)
{
    int64_t out = axis < 0 ? axis + rank : axis;
    if (out >= 0 && out < rank)
        return (uint32_t)out;
    node_fail(n, BT_ERR_ATTRIBUTE, "axis %lld is out of range for rank %u",
              (long long)axis, rank);
    return 0;
}
