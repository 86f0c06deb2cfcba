#include "operators.h"

#include <stdlib.h>
#include <string.h>

/* One version of an operator; the versions of one are a list. */
struct operator
{
    const char *name;
    int64_t since;
    const bt_onnx_operator *row; /* NULL: its plugin was not asked yet */
    struct operator* next;
};

/* ---- finding ---- */

/* "ai.onnx.Pad-11" is "ai.onnx.Pad" since 11. A name that states no version is left out:
 * a slip in one plugin stops no model that needs nothing of it. */
static bt_status add_operator(struct onnx_import *im, const bt_provided *item)
{
    const char *dash = strrchr(item->name, '-');
    int64_t since =
        dash && dash[1] >= '1' && dash[1] <= '9' ? strtoll(dash + 1, NULL, 10) : 0;
    if (!since) {
        bt_remark(im->ctx, BT_REMARK_NOTE,
                  bt_fail(im->ctx, BT_ERR_NAME,
                          "%s of %s is left out: the name of an operator of ONNX models "
                          "ends in a version, as in com.example.Swish-1",
                          item->name, bt_plugin_id(item->plugin)));
        return NULL;
    }
    const char *key = bt_arena_text(im->arena, item->name, (size_t)(dash - item->name));
    struct operator* o = BT_NEW(im->arena, struct operator);
    if (!key || !o)
        return bt_no_memory();
    *o = (struct operator){ item->name, since, NULL, bt_map_find(&im->operators, key) };
    return bt_map_put(&im->operators, key, o) ? NULL : bt_no_memory();
}

bt_status operators_list(struct onnx_import *im)
{
    uint32_t n = bt_provided_len(im->ctx, BT_ONNX_INTERFACE);
    const char *last = "";
    bt_map_init(&im->operators, im->arena, 1);
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(im->ctx, BT_ONNX_INTERFACE, i, &item));
        if (strcmp(item.name, last) != 0) // by two plugins: an error when it is used
            BT_TRY(add_operator(im, &item));
        last = item.name;
    }
    return NULL;
}

bt_status operators_find(struct onnx_import *im, const char *domain, const char *op,
                         int64_t opset, const bt_onnx_operator **out)
{
    const void *row;
    bt_text key;
    bt_text_init(&key, im->arena);
    bt_text_addf(&key, "%s.%s", *domain ? domain : "ai.onnx", op);
    if (!bt_text_get(&key))
        return bt_no_memory();
    struct operator* best = NULL;
    for (struct operator* o = bt_map_find(&im->operators, key.at); o; o = o->next) {
        if (o->since <= opset && (!best || o->since > best->since))
            best = o;
    }
    *out = NULL;
    if (!best)
        return NULL;
    if (!best->row) {
        BT_TRY(bt_registry_row(im->ctx, BT_ONNX_INTERFACE, best->name,
                               sizeof(bt_onnx_operator), &row));
        best->row = row;
    }
    *out = best->row;
    return NULL;
}

/* "; did you mean com.example.Swish?" */
static const char *nearest_operator(struct onnx_import *im, const char *key)
{
    const char **names = BT_NEWS(im->arena, const char *, im->operators.len + 1);
    for (uint32_t i = 0; names && i < im->operators.len; i++)
        names[i] = im->operators.at[i].key;
    return names ? bt_nearest(im->arena, key, names) : "";
}

bt_status operators_unsupported(struct onnx_import *im, const struct onnx_node *node,
                                int64_t opset)
{
    const char *domain = *node->domain ? node->domain : "ai.onnx";
    bt_span span = bt_span_node(im->store, im->source, onnx_node_name(node));
    int64_t since = INT64_MAX;
    bt_text key;
    bt_text_init(&key, im->arena);
    bt_text_addf(&key, "%s.%s", domain, node->op);
    if (!bt_text_get(&key))
        return bt_no_memory();
    for (struct operator* o = bt_map_find(&im->operators, key.at); o; o = o->next)
        since = o->since < since ? o->since : since;
    if (opset == 0)
        return bt_fail_at(im->ctx, BT_ERR_UNSUPPORTED, im->store, span,
                          "operator %s is of domain %s, and the model does not say of "
                          "which version: its opset_import states none for the domain",
                          node->op, domain);
    bt_status status = bt_fail_at(
        im->ctx, BT_ERR_UNSUPPORTED, im->store, span,
        "operator %s of domain %s, version %lld, is not supported%s", node->op, domain,
        (long long)opset, since == INT64_MAX ? nearest_operator(im, key.at) : "");
    if (since != INT64_MAX)
        return bt_note(im->ctx, status, NULL, 0, "it is supported from version %lld on",
                       (long long)since);
    return bt_note(im->ctx, status, NULL, 0,
                   "a plugin states it by a row %s-%lld of " BT_ONNX_INTERFACE
                   " (baton plugin new onnx); baton list onnx shows all that there are",
                   key.at, (long long)opset);
}

/* ---- rows without a function ---- */

static void add_text(bt_onnx_node *n, bt_text *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            node_fail(n, BT_ERR_ATTRIBUTE, "a text with the byte %u is not handed on",
                      (unsigned)(unsigned char)*c);
    }
    bt_text_addf(out, "\"%s\"", text);
}

/* An attribute of the node as text for Baton's operator. */
static void add_attr(bt_onnx_node *n, const bt_op *op, const struct onnx_attr *attr,
                     bt_text *out)
{
    const bt_attr *wanted = bt_attr_row(op->attrs, attr->name);
    if (!wanted)
        node_fail(n, BT_ERR_ATTRIBUTE, "%s has no attribute %s", op->name, attr->name);
    if (n->status)
        return;
    bt_text_addf(out, "%s%s=", out->len ? ", " : "", attr->name);
    switch (attr->type) {
    case ATTR_INT:
        if (wanted->kind == BT_ATTR_BOOL)
            bt_text_addf(out, "%s", format_bool(attr->i != 0));
        else
            bt_text_addf(out, "%lld", (long long)attr->i);
        break;
    case ATTR_FLOAT: bt_text_addf(out, "%.9g", (double)attr->f); break;
    case ATTR_STRING: add_text(n, out, attr->s ? attr->s : ""); break;
    case ATTR_INTS:
        bt_text_addf(out, "%s", format_ints(n, attr->ints.len, attr->ints.at));
        break;
    case ATTR_FLOATS:
        for (uint32_t i = 0; i < attr->floats.len; i++)
            bt_text_addf(out, "%s%.9g", i ? ", " : "[", (double)attr->floats.at[i]);
        bt_text_addf(out, "%s", attr->floats.len ? "]" : "[]");
        break;
    default:
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "attribute %s is no number, text or list of numbers", attr->name);
    }
}

/* The call of the operator that the row names. */
static void call_named(bt_onnx_node *n, const char *name)
{
    const bt_op *op = NULL;
    bt_text attrs;
    bt_text_init(&attrs, n->im->arena);
    n->status = bt_op_get(n->ctx, name, &op);
    for (uint32_t i = 0; !n->status && i < n->proto->attrs.len; i++)
        add_attr(n, op, &n->proto->attrs.at[i], &attrs);
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, n->ninput);
    if (!n->status && (!args || !bt_text_get(&attrs)))
        n->status = bt_no_memory();
    for (uint32_t i = 0; !n->status && i < n->ninput; i++)
        args[i] = node_need(n, i);
    const bt_value *y =
        n->status ? NULL : emit(n, name, bt_text_get(&attrs), n->ninput, args);
    for (uint32_t i = 0; i < n->noutput; i++)
        node_out(n, i, n->noutput == 1 ? y : emit_proj(n, y, i));
}

void operators_convert(bt_onnx_node *n, const bt_onnx_operator *row)
{
    n->row = row;
    if (row->convert)
        row->convert(n);
    else if (row->arg)
        call_named(n, row->arg);
    else
        node_fail(n, BT_ERR_PLUGIN, "row %s states neither convert nor arg", row->name);
}
