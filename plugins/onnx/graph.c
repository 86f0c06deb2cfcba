/* Graphs: names in scope, nodes in order, functions in the place of their calls. */
#include "graph.h"

#include <string.h>

#include "operators.h"
#include "order.h"

int64_t opset_version(const opset_list *opsets, const char *domain)
{
    for (uint32_t i = 0; i < opsets->len; i++) {
        if (strcmp(opsets->at[i].domain, domain) == 0)
            return opsets->at[i].version;
    }
    return 0;
}

const struct onnx_function *find_function(const struct onnx_model *model,
                                          const struct onnx_node *node)
{
    for (uint32_t i = 0; i < model->functions.len; i++) {
        const struct onnx_function *f = &model->functions.at[i];
        if (strcmp(f->name, node->op) == 0 && strcmp(f->domain, node->domain) == 0 &&
            strcmp(f->overload, node->overload) == 0)
            return f;
    }
    return NULL;
}

/* ---- names in scope ---- */

static void open_scope(struct onnx_import *im, struct scope *scope, struct scope *outer)
{
    *scope = (struct scope){ .outer = outer };
    bt_map_init(&scope->values, im->arena, 1);
    bt_map_init(&scope->initializers, im->arena, 1);
    im->scope = scope;
}

static bt_status bind(struct onnx_import *im, const char *name, const bt_value *value)
{
    return bt_map_put(&im->scope->values, name, (void *)(uintptr_t)value)
               ? NULL
               : bt_no_memory();
}

static bt_status add_initializers(struct onnx_import *im, const struct onnx_graph *graph)
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

static bt_onnx_node new_node(struct onnx_import *im, const struct onnx_node *proto)
{
    return (bt_onnx_node){ .tools = &onnx_tools,
                           .ctx = im->ctx,
                           .ninput = proto->inputs.len,
                           .noutput = proto->outputs.len,
                           .im = im,
                           .proto = proto };
}

/* What the names stand for, all of which must be known. */
static bt_status find_results(struct onnx_import *im, uint32_t n,
                              const char *const *names, const bt_value *const **out)
{
    const bt_value **values = BT_NEWS(im->arena, const bt_value *, n);
    struct onnx_node proto = {
        .name = "", .op = "output", .domain = "", .overload = "", .inputs = { 0 }
    };
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (!BT_PUSH(im->arena, &proto.inputs, names[i]))
            return bt_no_memory();
    }
    bt_onnx_node node = new_node(im, &proto);
    for (uint32_t i = 0; i < n; i++)
        values[i] = node_need(&node, i);
    *out = values;
    return node.status;
}

/* ---- nodes ---- */

/* Where an attribute within a function stands for one of the call: that one's value, or
 * the function's default; NULL: the call leaves it out. */
static const struct onnx_attr *referred(const struct frame *frame, const char *name)
{
    for (uint32_t i = 0; i < frame->call->attrs.len; i++) {
        if (strcmp(frame->call->attrs.at[i].name, name) == 0)
            return &frame->call->attrs.at[i];
    }
    for (uint32_t i = 0; i < frame->function->defaults.len; i++) {
        if (strcmp(frame->function->defaults.at[i].name, name) == 0)
            return &frame->function->defaults.at[i];
    }
    return NULL;
}

static bt_status resolve_attrs(struct onnx_import *im, const struct onnx_node *proto,
                               struct onnx_node *out)
{
    *out = *proto;
    out->attrs.at = NULL;
    out->attrs.len = out->attrs.cap = 0;
    for (uint32_t i = 0; i < proto->attrs.len; i++) {
        struct onnx_attr attr = proto->attrs.at[i];
        if (attr.ref) {
            const struct onnx_attr *value =
                im->frame ? referred(im->frame, attr.ref) : NULL;
            if (!value)
                continue;
            attr = *value;
            attr.name = proto->attrs.at[i].name;
        }
        if (!BT_PUSH(im->arena, &out->attrs, attr))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status convert_nodes(struct onnx_import *im, const struct onnx_graph *graph);

static bt_status bind_call(bt_onnx_node *n, const struct onnx_function *f,
                           struct scope *scope)
{
    const bt_value **args = BT_NEWS(n->im->arena, const bt_value *, f->inputs.len);
    if (!args)
        return bt_no_memory();
    if (n->proto->inputs.len > f->inputs.len || n->proto->outputs.len > f->outputs.len)
        return bt_fail(n->im->ctx, BT_ERR_FORMAT,
                       "function %s has %u inputs and %u outputs where its call has %u "
                       "and %u",
                       f->name, f->inputs.len, f->outputs.len, n->proto->inputs.len,
                       n->proto->outputs.len);
    for (uint32_t i = 0; i < f->inputs.len; i++)
        args[i] = node_in(n, i);
    BT_TRY(n->status);
    open_scope(n->im, scope, NULL);
    for (uint32_t i = 0; i < f->inputs.len; i++)
        BT_TRY(bind(n->im, f->inputs.at[i], args[i]));
    return NULL;
}

static bt_status check_frame(struct onnx_import *im, const struct onnx_function *f)
{
    for (const struct frame *frame = im->frame; frame; frame = frame->outer) {
        if (frame->function == f)
            return bt_fail(im->ctx, BT_ERR_FORMAT, "%s: function %s calls itself",
                           im->model->path, f->name);
    }
    return NULL;
}

/* The function's nodes in the place of a call. They see no name but its inputs. */
static bt_status expand(bt_onnx_node *n, const struct onnx_function *f)
{
    struct onnx_import *im = n->im;
    struct onnx_import before = *im;
    struct scope scope;
    struct frame frame = { .function = f, .call = n->proto, .outer = im->frame };
    const bt_value *const *results = NULL;
    BT_TRY(check_frame(im, f));
    bt_status status = bind_call(n, f, &scope);
    im->frame = &frame;
    im->opsets = &f->opsets;
    if (!status)
        status = convert_nodes(im, &f->body);
    if (!status)
        status = find_results(im, n->proto->outputs.len, f->outputs.at, &results);
    im->scope = before.scope;
    im->frame = before.frame;
    im->opsets = before.opsets;
    for (uint32_t i = 0; !status && i < n->proto->outputs.len; i++)
        node_out(n, i, results[i]);
    return status ? status : n->status;
}

/* By the row for its operator, or as the function that the model has in its place. */
static bt_status convert_operator(bt_onnx_node *n, const char *op)
{
    const char *domain = n->proto->domain;
    const bt_onnx_operator *row;
    n->opset = opset_version(n->im->opsets, domain);
    BT_TRY(operators_find(n->im, domain, op, n->opset, &row));
    const struct onnx_function *function =
        row ? NULL : find_function(n->im->model, n->proto);
    if (function)
        return expand(n, function);
    if (!row)
        return operators_unsupported(n->im, n->proto, n->opset);
    operators_convert(n, row);
    return n->status;
}

static bt_status convert_node(struct onnx_import *im, const struct onnx_node *proto)
{
    struct onnx_node resolved;
    const char *name = onnx_node_name(proto);
    bt_span span = bt_span_node(im->store, im->source, name);
    uint32_t limit = bt_ctx_limits(im->ctx)->nodes;
    if (++im->nnode > limit)
        return bt_fail(im->ctx, BT_ERR_LIMIT, "%s: more than %u nodes", im->model->path,
                       limit);
    BT_TRY(resolve_attrs(im, proto, &resolved));
    bt_onnx_node node = new_node(im, &resolved);
    bt_builder_at(im->builder, span, bt_prov_new(im->store, span));
    bt_status status = convert_operator(&node, proto->op);
    return status ? bt_note(im->ctx, status, im->store, span, "in node %s, operator %s",
                            name, proto->op)
                  : NULL;
}

static bt_status convert_nodes(struct onnx_import *im, const struct onnx_graph *graph)
{
    const uint32_t *order;
    if (++im->depth > bt_ctx_limits(im->ctx)->depth)
        return bt_fail(im->ctx, BT_ERR_LIMIT,
                       "%s: graphs and functions nest deeper than %u", im->model->path,
                       bt_ctx_limits(im->ctx)->depth);
    BT_TRY(graph_order(im->ctx, im->arena, im->model->path, graph, &order));
    for (uint32_t i = 0; i < graph->nodes.len; i++)
        BT_TRY(convert_node(im, &graph->nodes.at[order[i]]));
    im->depth--;
    return NULL;
}

/* ---- graphs ---- */

static bt_status graph_results(struct onnx_import *im, const struct onnx_graph *graph,
                               const bt_value *const **out)
{
    text_list names = { 0 };
    for (uint32_t i = 0; i < graph->outputs.len; i++) {
        if (!BT_PUSH(im->arena, &names, graph->outputs.at[i].name))
            return bt_no_memory();
    }
    return find_results(im, names.len, names.at, out);
}

bt_status convert_graph(struct onnx_import *im, const struct onnx_graph *graph,
                        uint32_t narg, const bt_value *const *args,
                        const bt_value *const **results)
{
    struct scope scope;
    open_scope(im, &scope, im->scope);
    bt_status status = add_initializers(im, graph);
    if (!status && graph->inputs.len != narg)
        status = bt_fail(im->ctx, BT_ERR_FORMAT,
                         "%s: graph %s takes %u inputs where its node gives %u",
                         im->model->path, graph->name, graph->inputs.len, narg);
    for (uint32_t i = 0; !status && i < narg; i++)
        status = bind(im, graph->inputs.at[i].name, args[i]);
    if (!status)
        status = convert_nodes(im, graph);
    if (!status)
        status = graph_results(im, graph, results);
    im->scope = scope.outer;
    return status;
}

/* ---- the main graph ---- */

static bt_status new_dim(struct onnx_import *im, const char *symbol, const bt_type **out)
{
    bt_type_param param = { .kind = BT_KIND_DIM, .low = 0, .high = INT64_MAX, .step = 1 };
    *out = bt_type_var(im->store, &param, symbol);
    return *out && BT_PUSH(im->arena, &im->vars, *out) ? NULL : bt_no_memory();
}

/* What an open dim is called: by its symbol, else by its place, as "data.0". */
static const char *dim_name(struct onnx_import *im, const struct onnx_value_info *info,
                            uint32_t axis)
{
    const char *symbol = info->dims.at[axis].symbol;
    bt_text text;
    if (symbol && *symbol)
        return symbol;
    bt_text_init(&text, im->arena);
    bt_text_addf(&text, "%s.%u", info->name, axis);
    return bt_text_get(&text);
}

/* A number, the caller's value for a dim's name, or a type parameter, one a name. */
static bt_status import_dim(struct onnx_import *im, const struct onnx_value_info *info,
                            uint32_t axis, const bt_type **out)
{
    int64_t value = info->dims.at[axis].value;
    const char *symbol = dim_name(im, info, axis);
    if (!symbol)
        return bt_no_memory();
    const char *text = value < 0 ? given_find(&im->given, symbol) : NULL;
    if (text)
        BT_TRY(given_dim(im->ctx, symbol, text, &value));
    if (value >= 0) {
        *out = bt_dim(im->store, value);
        return *out ? NULL : bt_no_memory();
    }
    *out = bt_map_find(&im->symbols, symbol);
    if (*out)
        return NULL;
    BT_TRY(new_dim(im, symbol, out));
    return bt_map_put(&im->symbols, symbol, (void *)(uintptr_t)*out) ? NULL
                                                                     : bt_no_memory();
}

static bt_status import_shape(struct onnx_import *im, const struct onnx_value_info *info,
                              const bt_type **out)
{
    const bt_type *dims[BT_MAX_RANK];
    bt_type_param param = { .kind = BT_KIND_SHAPE };
    if (info->dims.len > BT_MAX_RANK)
        return bt_fail(im->ctx, BT_ERR_LIMIT, "%s: input %s has rank %u; the limit is %u",
                       im->model->path, info->name, info->dims.len, BT_MAX_RANK);
    for (uint32_t i = 0; i < info->dims.len; i++)
        BT_TRY(import_dim(im, info, i, &dims[i]));
    *out = info->has_shape ? bt_type_shape(im->store, info->dims.len, dims)
                           : bt_type_var(im->store, &param, "shape");
    if (!*out || (!info->has_shape && !BT_PUSH(im->arena, &im->vars, *out)))
        return bt_no_memory();
    return NULL;
}

static bt_status import_type(struct onnx_import *im, const struct onnx_value_info *info,
                             const bt_type **out)
{
    bt_dtype dtype = info->kind == TYPE_TENSOR ? onnx_dtype(info->elem_type) : 0;
    const bt_type *shape;
    if (info->kind != TYPE_TENSOR)
        return bt_fail(im->ctx, BT_ERR_UNSUPPORTED,
                       "%s: input %s is %s; only tensors are supported", im->model->path,
                       info->name,
                       info->kind == TYPE_SEQUENCE   ? "a sequence"
                       : info->kind == TYPE_OPTIONAL ? "optional"
                                                     : "no tensor");
    if (!dtype)
        return bt_fail(im->ctx, BT_ERR_UNSUPPORTED,
                       "%s: input %s has element type %s, which is not supported",
                       im->model->path, info->name, onnx_type_name(info->elem_type));
    BT_TRY(import_shape(im, info, &shape));
    const bt_type *element = bt_type_dtype(im->store, dtype);
    *out = element ? bt_type_tensor(im->store, shape, element) : NULL;
    return *out ? NULL : bt_no_memory();
}

/* An input that the caller fixed is a constant. */
static bt_status bind_given(struct onnx_import *im, const struct onnx_value_info *info,
                            const char *text)
{
    bt_tensor *tensor;
    const bt_value *value;
    BT_TRY(given_tensor(im->ctx, im->arena, info, text, &tensor));
    bt_status status = bt_build_const(im->builder, &tensor->base, &value);
    bt_tensor_unref(tensor);
    return status ? status : bind(im, info->name, value);
}

/* Before IR 4 initializers are listed as inputs too. They are constants here, no inputs. */
static bt_status import_params(struct onnx_import *im, const struct onnx_graph *graph,
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
        if (bt_map_entry_find(&im->scope->values, info->name))
            return bt_fail(im->ctx, BT_ERR_NAME, "%s: input %s is stated twice",
                           im->model->path, info->name);
        const char *text = given_find(&im->fixed, info->name);
        if (text) {
            BT_TRY(bind_given(im, info, text));
            continue;
        }
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
static bt_status name_outputs(struct onnx_import *im, const struct onnx_graph *graph,
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

/* Appends a name to a list in which it stands once. */
static bt_status list_name(bt_map *seen, bt_text *list, const char *name)
{
    if (!name || !*name || bt_map_entry_find(seen, name))
        return NULL;
    bt_text_addf(list, "%s%s", seen->len ? ", " : "", name);
    return bt_map_put(seen, name, seen) ? NULL : bt_no_memory();
}

/* The open dims of the model's inputs, or the inputs themselves. */
static bt_status list_given(struct onnx_import *im, int of_dims, const char **out)
{
    const struct onnx_graph *graph = &im->model->graph;
    bt_map seen;
    bt_text list;
    bt_map_init(&seen, im->arena, 1);
    bt_text_init(&list, im->arena);
    for (uint32_t i = 0; i < graph->inputs.len; i++) {
        const struct onnx_value_info *info = &graph->inputs.at[i];
        if (bt_map_find(&im->scope->initializers, info->name))
            continue;
        if (!of_dims)
            BT_TRY(list_name(&seen, &list, info->name));
        for (uint32_t k = 0; of_dims && k < info->dims.len; k++) {
            if (info->dims.at[k].value < 0)
                BT_TRY(list_name(&seen, &list, dim_name(im, info, k)));
        }
    }
    *out = bt_text_get(&list);
    return *out ? NULL : bt_no_memory();
}

static bt_status check_given(struct onnx_import *im)
{
    const char *dim = given_unused(&im->given), *input = given_unused(&im->fixed), *list;
    if (!dim && !input)
        return NULL;
    BT_TRY(list_given(im, dim != NULL, &list));
    return bt_fail(im->ctx, BT_ERR_NAME, "%s has no %s for %s; %s%s", im->model->path,
                   dim ? "symbolic dim" : "input", dim ? dim : input,
                   *list ? "it has " : "it has none", list);
}

static bt_status convert_main(struct onnx_import *im, const bt_value **result)
{
    const struct onnx_graph *graph = &im->model->graph;
    const bt_value *const *results;
    BT_TRY(convert_nodes(im, graph));
    BT_TRY(graph_results(im, graph, &results));
    if (graph->outputs.len == 1) {
        *result = results[0];
        return NULL;
    }
    return bt_build_tuple(im->builder, graph->outputs.len, results, result);
}

bt_status import_main(struct onnx_import *im, const bt_func **out)
{
    struct scope scope;
    const bt_param **params;
    const bt_value *result;
    const bt_block *block;
    uint32_t nparam;
    open_scope(im, &scope, NULL);
    BT_TRY(add_initializers(im, &im->model->graph));
    BT_TRY(import_params(im, &im->model->graph, &nparam, &params));
    BT_TRY(check_given(im));
    BT_TRY(bt_block_begin(im->builder, nparam, params));
    BT_TRY(convert_main(im, &result));
    BT_TRY(bt_block_end(im->builder, result, &block));
    im->scope = NULL;
    bt_dict attrs;
    BT_TRY(name_outputs(im, &im->model->graph, &attrs));
    bt_func fields = { .name = "main",
                       .nvar = im->vars.len,
                       .vars = im->vars.at,
                       .result = result->type,
                       .attrs = attrs,
                       .block = block };
    return bt_func_create(im->ctx, im->store, &fields, out);
}
