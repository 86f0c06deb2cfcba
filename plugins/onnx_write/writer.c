/* A model as an ONNX file: operators in a row, which passes make of it. */
#include <string.h>

#include <baton/onnx.h>
#include <baton/pass.h>

#include "graph.h"
#include "proto.h"

/* Fields of ModelProto, OperatorSetIdProto, GraphProto, ValueInfoProto and TypeProto (onnx.proto). */
enum {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_GRAPH = 7,
    MODEL_SET = 8,
    SET_DOMAIN = 1,
    SET_VERSION = 2
};
enum { GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum {
    INFO_NAME = 1,
    INFO_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_ELEMENTS = 1,
    TENSOR_SHAPE = 2
};
enum { SHAPE_DIM = 1, DIM_NUMBER = 1, DIM_NAME = 2 };
enum { IR = 8, OPERATOR_SET = 18 };

/* An open dim by its term: equal names are equal extents to whoever reads the file. */
static bt_status put_dim_name(struct graph *g, const bt_type *dim, bt_text *message)
{
    bt_text name;
    bt_text_init(&name, g->arena);
    bt_print_type(g->ctx, dim, &name);
    if (!bt_text_get(&name))
        return bt_no_memory();
    if (strcmp(name.at, "?") != 0) // of which no two are known to be equal
        proto_text(message, DIM_NAME, name.at);
    return NULL;
}

static bt_status put_dim(struct graph *g, const bt_type *dim, bt_text *shape)
{
    bt_text message;
    int64_t number;
    bt_text_init(&message, g->arena);
    if (bt_dim_is_const(dim, &number))
        proto_int(&message, DIM_NUMBER, number);
    else
        BT_TRY(put_dim_name(g, dim, &message));
    proto_message(shape, SHAPE_DIM, &message);
    return NULL;
}

/* The name and type of an input or output. */
static bt_status put_info(struct graph *g, bt_text *graph, uint32_t field,
                          const char *name, const bt_value *value)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    const int64_t elements = shape ? type_number(bt_tensor_dtype(value->type)) : 0;
    bt_text info, type, tensor, dims;
    if (!elements || shape->rest)
        return bt_fail_at(g->ctx, BT_ERR_UNSUPPORTED, g->store, value->span,
                          "%s is no tensor of a type and a rank that ONNX has", name);
    bt_text_init(&info, g->arena);
    bt_text_init(&type, g->arena);
    bt_text_init(&tensor, g->arena);
    bt_text_init(&dims, g->arena);
    for (uint32_t i = 0; i < shape->n; i++)
        BT_TRY(put_dim(g, shape->dims[i], &dims));
    proto_int(&tensor, TENSOR_ELEMENTS, elements);
    proto_message(&tensor, TENSOR_SHAPE, &dims);
    proto_message(&type, TYPE_TENSOR, &tensor);
    proto_text(&info, INFO_NAME, name);
    proto_message(&info, INFO_TYPE, &type);
    proto_message(graph, field, &info);
    return graph->failed ? bt_no_memory() : NULL;
}

static bt_status put_inputs(struct graph *g, const bt_block *block, bt_text *graph)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const char *name;
        BT_TRY(graph_new_name(g, param, &name));
        BT_TRY(graph_set_name(g, param, name));
        BT_TRY(put_info(g, graph, GRAPH_INPUT, name, param));
    }
    return NULL;
}

/* Tuples are what calls take and functions give: none of them is a node. */
static bt_status put_value(struct graph *g, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_proj *proj = bt_as_proj(value);
    const char *name, *const *fields;
    uint32_t n;
    if (bt_as_tuple(value))
        return NULL;
    if (proj && bt_map_find(&g->fields, proj->tuple)) {
        BT_TRY(graph_fields(g, proj->tuple, &n, &fields));
        return graph_set_name(g, value, fields[proj->index]);
    }
    if (!call || !call->op)
        BT_TRY(graph_name(g, value, &name)); // says why
    BT_TRY(graph_new_name(g, value, &name));
    BT_TRY(add_call(g, call, name));
    return bt_tensor_shape(value->type) ? graph_set_name(g, value, name) : NULL;
}

/* What cannot be written has some name for those who take it, so that these can be looked at. */
static bt_status put_nothing(struct graph *g, const bt_value *value)
{
    const uint32_t n = bt_type_nleaf(value->type);
    const char **names = BT_NEWS(g->arena, const char *, n + 1);
    if (!names)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        names[i] = "";
    return bt_as_tuple_type(value->type) ? graph_set_fields(g, value, names)
                                         : graph_set_name(g, value, "");
}

/* All that is refused is told at once, each reason at the first of its places. */
static bt_status put_nodes(struct graph *g, const bt_block *block)
{
    bt_status first = NULL;
    bt_map told;
    bt_map_init(&told, g->arena, 1);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        bt_status status = put_value(g, value);
        if (!status)
            continue;
        if (status->code != BT_ERR_UNSUPPORTED)
            return status;
        BT_TRY(put_nothing(g, value));
        if (bt_map_entry_find(&told, status->message))
            continue;
        if (!bt_map_put(&told, status->message, NULL))
            return bt_no_memory();
        first = first
                    ? bt_note(g->ctx, first, g->store, value->span, "%s", status->message)
                    : status;
    }
    return first;
}

/* Before nodes and constants have names: an output keeps what the function calls it, unless an input or
 * an output before it is called so. */
static bt_status take_outputs(struct graph *g, const bt_func *func, uint32_t n,
                              const char **names)
{
    for (uint32_t i = 0; i < n; i++) {
        names[i] = bt_output_name(g->arena, func, i);
        if (!names[i])
            return bt_no_memory();
        if (!*names[i] || bt_map_entry_find(&g->taken, names[i]))
            BT_TRY(graph_new_name(g, NULL, &names[i]));
        else if (!bt_map_put(&g->taken, names[i], NULL))
            return bt_no_memory();
    }
    return NULL;
}

/* Each output has a node of its own: one may be an input, or be given twice. */
static bt_status put_output(struct graph *g, const bt_value *value, const char *to,
                            bt_text *graph)
{
    const char *from;
    BT_TRY(graph_name(g, value, &from));
    BT_TRY(graph_node(g, "Identity", 1, &from, 1, &to, NULL));
    return put_info(g, graph, GRAPH_OUTPUT, to, value);
}

static bt_status put_graph(struct graph *g, const bt_func *func, bt_text *graph)
{
    const bt_value *result = func->block->result;
    const bt_tuple_value *tuple = bt_as_tuple(result);
    const uint32_t noutput = tuple ? tuple->nfield : 1;
    const char **names = BT_NEWS(g->arena, const char *, noutput);
    if (!names)
        return bt_no_memory();
    g->block = func->block;
    BT_TRY(put_inputs(g, func->block, graph));
    BT_TRY(take_outputs(g, func, noutput, names));
    BT_TRY(put_nodes(g, func->block));
    for (uint32_t i = 0; i < noutput; i++)
        BT_TRY(put_output(g, tuple ? tuple->fields[i] : result, names[i], graph));
    proto_text(graph, GRAPH_NAME, func->name);
    if (g->nodes.len)
        bt_text_add(graph, g->nodes.at, g->nodes.len);
    if (g->initializers.len)
        bt_text_add(graph, g->initializers.at, g->initializers.len);
    return graph->failed ? bt_no_memory() : NULL;
}

static bt_status put_model(struct graph *g, const bt_func *func, bt_text *model)
{
    bt_text graph, set;
    bt_text_init(&graph, g->arena);
    bt_text_init(&set, g->arena);
    BT_TRY(put_graph(g, func, &graph));
    proto_text(&set, SET_DOMAIN, "");
    proto_int(&set, SET_VERSION, OPERATOR_SET);
    proto_int(model, MODEL_IR, IR);
    proto_text(model, MODEL_PRODUCER, "baton");
    proto_message(model, MODEL_GRAPH, &graph);
    proto_message(model, MODEL_SET, &set);
    return model->failed ? bt_no_memory() : NULL;
}

static bt_status write_flat(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                            const char *entry, const char *path)
{
    struct graph g = {
        .ctx = ctx, .arena = arena, .module = module, .store = module->store
    };
    const bt_global *global;
    bt_text model;
    BT_TRY(bt_module_entry(ctx, module, entry, &global));
    if (global->kind != BT_GLOBAL_FUNC || !global->func->block)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "@%s is no function", global->name);
    bt_text_init(&g.nodes, arena);
    bt_text_init(&g.initializers, arena);
    bt_text_init(&model, arena);
    bt_map_init(&g.names, arena, 0);
    bt_map_init(&g.fields, arena, 0);
    bt_map_init(&g.taken, arena, 1);
    BT_TRY(put_model(&g, global->func, &model));
    if (model.len > INT32_MAX)
        return bt_fail(
            ctx, BT_ERR_UNSUPPORTED,
            "%s would have %zu bytes, and a file of ONNX holds at most 2 GiB: "
            "write a program (FILE.baton), whose constants have a file of their "
            "own",
            path, model.len);
    return bt_file_write(ctx, path, model.at, model.len);
}

static bt_status write_onnx(bt_ctx *ctx, const bt_module *module, const char *entry,
                            const char *path)
{
    const bt_pipeline_options options = { .level = -1, .entry = entry };
    bt_pipeline *pipeline;
    bt_module *flat = NULL;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status = bt_pipeline_read(
        ctx, "inline, simplify-inference, fold-constant, dead-code", &pipeline);
    if (!status) {
        status = bt_pipeline_run(ctx, pipeline, &options, module, &flat);
        bt_pipeline_destroy(pipeline);
    }
    if (!status)
        status = write_flat(ctx, arena, flat, entry, path);
    bt_module_unref(flat);
    bt_arena_destroy(arena);
    return status;
}

static const bt_onnx_writer writers[] = {
    { .name = "onnx",
      .doc = "Straight programs, as models of operator set 18.",
      .write = write_onnx },
    { 0 },
};
static const bt_onnx_written written[] = {
#define ROW(op, onnx, types, write) { (op), (onnx) },
#define ALSO(op, onnx, types, write)
#include "operators.def"
    { 0 },
};
const bt_table bt_plugins_onnx_write_writer[] = { BT_ONNX_WRITERS(writers),
                                                  BT_ONNX_WRITTEN_OPERATORS(written),
                                                  { 0 } };
