/* Graphs: names in scope, inputs and their types, nodes in order. */
#include "graph.h"

#include <string.h>

#include "conversions.h"

/* ---- types of inputs ---- */

/* "batch=4" among the caller's values. */
static int given_dim(const struct importer *im, const char *symbol, int64_t *out)
{
    size_t n = strlen(symbol);
    for (const char *const *text = im->dim_values; text && *text; text++) {
        if (strncmp(*text, symbol, n) != 0 || (*text)[n] != '=' || !(*text)[n + 1])
            continue;
        *out = 0;
        for (const char *c = *text + n + 1; *c; c++) {
            if (*c < '0' || *c > '9' || !bt_mul_int64(*out, 10, out) ||
                !bt_add_int64(*out, *c - '0', out))
                return -1;
        }
        return 1;
    }
    return 0;
}

static bt_status new_dim(struct importer *im, const char *symbol, const bt_type **out)
{
    bt_type_param param = { .kind = BT_KIND_DIM, .low = 0, .high = INT64_MAX, .step = 1 };
    *out = bt_type_var(im->store, &param, symbol);
    return *out && BT_PUSH(im->arena, &im->vars, *out) ? NULL : bt_no_memory();
}

/* A number, the caller's value for a symbol, or a type parameter: one a symbol, a fresh
 * one where nothing is stated. */
static bt_status import_dim(struct importer *im, const struct onnx_dim *dim,
                            const bt_type **out)
{
    int64_t value = dim->value;
    int given = dim->symbol ? given_dim(im, dim->symbol, &value) : 0;
    if (given < 0)
        return bt_fail(im->ctx, BT_ERR_ARGUMENT, "the value for dim %s is no number",
                       dim->symbol);
    if (given || value >= 0) {
        *out = bt_dim(im->store, value);
        return *out ? NULL : bt_no_memory();
    }
    if (!dim->symbol || !*dim->symbol)
        return new_dim(im, "n", out);
    *out = bt_map_find(&im->symbols, dim->symbol);
    if (*out)
        return NULL;
    BT_TRY(new_dim(im, dim->symbol, out));
    return bt_map_put(&im->symbols, dim->symbol, (void *)(uintptr_t)*out)
               ? NULL
               : bt_no_memory();
}

static bt_status import_type(struct importer *im, const struct onnx_value_info *info,
                             const bt_type **out)
{
    bt_dtype dtype = onnx_dtype(info->elem_type);
    const bt_type *shape;
    if (!dtype)
        return bt_fail(im->ctx, BT_ERR_UNSUPPORTED,
                       "%s: input %s is not a tensor of a supported element type",
                       im->model->path, info->name);
    if (info->dims.len > BT_MAX_RANK)
        return bt_fail(im->ctx, BT_ERR_LIMIT, "%s: input %s has rank %u; the limit is %u",
                       im->model->path, info->name, info->dims.len, BT_MAX_RANK);
    if (info->has_shape) {
        const bt_type *dims[BT_MAX_RANK];
        for (uint32_t i = 0; i < info->dims.len; i++)
            BT_TRY(import_dim(im, &info->dims.at[i], &dims[i]));
        shape = bt_type_shape(im->store, info->dims.len, dims);
    } else {
        bt_type_param param = { .kind = BT_KIND_SHAPE };
        shape = bt_type_var(im->store, &param, "shape");
        if (!shape || !BT_PUSH(im->arena, &im->vars, shape))
            return bt_no_memory();
    }
    const bt_type *element = bt_type_dtype(im->store, dtype);
    *out = shape && element ? bt_type_tensor(im->store, shape, element) : NULL;
    return *out ? NULL : bt_no_memory();
}

/* ---- nodes ---- */

static bt_status convert_node(struct importer *im, const struct onnx_node *proto)
{
    struct node node = { .im = im,
                         .proto = proto,
                         .row = find_conversion(proto->domain, proto->op, im->opset) };
    const char *name = *proto->name         ? proto->name
                       : proto->outputs.len ? proto->outputs.at[0]
                                            : proto->op;
    bt_span span = bt_span_node(im->store, im->source, name);
    bt_builder_at(im->builder, span, bt_prov_new(im->store, span));
    node.row->convert(&node);
    return node.status ? bt_note(im->ctx, node.status, im->store, span,
                                 "in node %s, an %s", name, proto->op)
                       : NULL;
}

static bt_status add_initializers(struct importer *im, const struct onnx_graph *graph)
{
    for (uint32_t i = 0; i < graph->initializers.len; i++) {
        const struct onnx_tensor *tensor = &graph->initializers.at[i];
        if (bt_map_find(&im->scope->initializers, tensor->name))
            return bt_fail(im->ctx, BT_ERR_NAME, "%s: initializer %s is defined twice",
                           im->model->path, tensor->name);
        if (!bt_map_put(&im->scope->initializers, tensor->name,
                        (void *)(uintptr_t)tensor))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status bind(struct importer *im, const char *name, const bt_value *value)
{
    return bt_map_put(&im->scope->values, name, (void *)(uintptr_t)value)
               ? NULL
               : bt_no_memory();
}

static bt_status graph_result(struct importer *im, const struct onnx_graph *graph,
                              const bt_value **out)
{
    const bt_value **fields = BT_NEWS(im->arena, const bt_value *, graph->outputs.len);
    struct onnx_node proto = { .name = "", .op = "output", .domain = "" };
    struct node node = { .im = im, .proto = &proto };
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < graph->outputs.len; i++) {
        if (!BT_PUSH(im->arena, &proto.inputs, graph->outputs.at[i].name))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < graph->outputs.len; i++)
        fields[i] = node_need(&node, i);
    BT_TRY(node.status);
    if (graph->outputs.len == 1) {
        *out = fields[0];
        return NULL;
    }
    return bt_build_tuple(im->builder, graph->outputs.len, fields, out);
}

static bt_status convert_nodes(struct importer *im, const struct onnx_graph *graph,
                               const bt_value **result)
{
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        BT_TRY(convert_node(im, &graph->nodes.at[i]));
    return graph_result(im, graph, result);
}

static void open_scope(struct importer *im, struct scope *scope)
{
    *scope = (struct scope){ .outer = im->scope };
    bt_map_init(&scope->values, im->arena, 1);
    bt_map_init(&scope->initializers, im->arena, 1);
    im->scope = scope;
}

bt_status graph_block(struct importer *im, const struct onnx_graph *graph, uint32_t narg,
                      const bt_value *const *args, const bt_value **result)
{
    struct scope scope;
    open_scope(im, &scope);
    bt_status status = add_initializers(im, graph);
    if (!status && graph->inputs.len != narg)
        status = bt_fail(im->ctx, BT_ERR_FORMAT,
                         "%s: graph %s takes %u inputs where its node gives %u",
                         im->model->path, graph->name, graph->inputs.len, narg);
    for (uint32_t i = 0; !status && i < narg; i++)
        status = bind(im, graph->inputs.at[i].name, args[i]);
    if (!status)
        status = convert_nodes(im, graph, result);
    im->scope = scope.outer;
    return status;
}

/* Initializers are listed as inputs too before IR 4, as defaults; they are never inputs
 * of ours. */
static bt_status import_params(struct importer *im, const struct onnx_graph *graph,
                               uint32_t *n, const bt_param ***out)
{
    const bt_param **params = BT_NEWS(im->arena, const bt_param *, graph->inputs.len);
    if (!params)
        return bt_no_memory();
    *n = 0;
    for (uint32_t i = 0; i < graph->inputs.len; i++) {
        const struct onnx_value_info *info = &graph->inputs.at[i];
        const bt_type *type;
        if (bt_map_find(&im->scope->initializers, info->name))
            continue;
        BT_TRY(import_type(im, info, &type));
        bt_builder_at(im->builder, bt_span_node(im->store, im->source, info->name), 0);
        BT_TRY(bt_build_param(im->builder, info->name, type, &params[*n]));
        BT_TRY(bind(im, info->name, &params[*n]->base));
        ++*n;
    }
    *out = params;
    return NULL;
}

/* output0="a", output1="b", ...: what the model calls its results, whatever becomes of
 * the bindings. */
static bt_status name_outputs(struct importer *im, const struct onnx_graph *graph,
                              bt_dict *out)
{
    bt_arena *arena = bt_store_arena(im->store);
    bt_dict_entry *entries = BT_NEWS(arena, bt_dict_entry, graph->outputs.len);
    if (!entries)
        return bt_no_memory();
    for (uint32_t i = 0; i < graph->outputs.len; i++) {
        bt_text key;
        bt_text_init(&key, im->arena);
        bt_text_addf(&key, "output%u", i);
        entries[i] =
            (bt_dict_entry){ .kind = BT_DICT_TEXT,
                             .text = bt_name_of(im->store, graph->outputs.at[i].name) };
        if (key.failed || !entries[i].text ||
            !(entries[i].name = bt_name_of(im->store, key.at)))
            return bt_no_memory();
    }
    *out = (bt_dict){ graph->outputs.len, entries };
    return NULL;
}

bt_status import_main(struct importer *im, const bt_func **out)
{
    struct scope scope;
    const struct onnx_graph *graph = &im->model->graph;
    const bt_param **params;
    const bt_value *result;
    const bt_block *block;
    uint32_t nparam;
    open_scope(im, &scope);
    BT_TRY(add_initializers(im, graph));
    BT_TRY(import_params(im, graph, &nparam, &params));
    BT_TRY(bt_block_begin(im->builder, nparam, params));
    BT_TRY(convert_nodes(im, graph, &result));
    BT_TRY(bt_block_end(im->builder, result, &block));
    im->scope = NULL;
    bt_dict attrs;
    BT_TRY(name_outputs(im, graph, &attrs));
    bt_func fields = { .name = "main",
                       .nvar = im->vars.len,
                       .vars = im->vars.at,
                       .result = result->type,
                       .attrs = attrs,
                       .block = block };
    return bt_func_create(im->ctx, im->store, &fields, out);
}
