/* Models: what is unsupported, reported at once; versions; the module. */
#include "import.h"

#include <string.h>

#include "operators.h"

/* MAX_OPSET is the newest set of ai.onnx whose operators were read: rows of conversions
 * hold up to it, whatever version an operator was last restated in. */
enum { MIN_IR = 3, MAX_IR = 13, MAX_OPSET = 27 };

/* ---- what cannot be imported ---- */

static bt_status check_versions(bt_ctx *ctx, const struct onnx_model *model)
{
    int64_t opset = opset_version(&model->opsets, "");
    if (model->ir_version < MIN_IR || model->ir_version > MAX_IR)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "%s: IR version %lld; known are %d to %d",
                       model->path, (long long)model->ir_version, MIN_IR, MAX_IR);
    if (opset > MAX_OPSET)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: operator set %lld of ai.onnx; known are 1 to %d", model->path,
                       (long long)opset, MAX_OPSET);
    return NULL;
}

/* A search for unsupported operators through graphs and the functions that they call. */
struct check {
    struct onnx_import *im;
    const opset_list *opsets;
    bt_map seen;                                    /* "domain.op" reported */
    bt_vec(const struct onnx_function *) functions; /* called, in order */
    bt_map called;
    bt_status first;
};

static bt_status report_unsupported(struct check *check, const struct onnx_node *node)
{
    struct onnx_import *im = check->im;
    bt_text key;
    bt_text_init(&key, im->arena);
    bt_text_addf(&key, "%s.%s", node->domain, node->op);
    if (key.failed)
        return bt_no_memory();
    if (bt_map_find(&check->seen, key.at))
        return NULL;
    bt_status status =
        operators_unsupported(im, node, opset_version(check->opsets, node->domain));
    bt_report(im->ctx, status);
    if (!check->first)
        check->first = status;
    return bt_map_put(&check->seen, key.at, key.at) ? NULL : bt_no_memory();
}

static bt_status add_call(struct check *check, const struct onnx_function *function)
{
    if (bt_map_find(&check->called, function))
        return NULL;
    return bt_map_put(&check->called, function, (void *)(uintptr_t)function) &&
                   BT_PUSH(check->im->arena, &check->functions, function)
               ? NULL
               : bt_no_memory();
}

/* Graphs nest no deeper than the reader let them. */
static bt_status check_graph(struct check *check, const struct onnx_graph *graph)
{
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
        const struct onnx_node *node = &graph->nodes.at[i];
        const struct onnx_function *function = find_function(check->im->model, node);
        const bt_onnx_operator *row;
        BT_TRY(operators_find(check->im, node->domain, node->op,
                              opset_version(check->opsets, node->domain), &row));
        if (!row && function)
            BT_TRY(add_call(check, function));
        else if (!row)
            BT_TRY(report_unsupported(check, node));
        for (uint32_t k = 0; k < node->attrs.len; k++) {
            if (node->attrs.at[k].g)
                BT_TRY(check_graph(check, node->attrs.at[k].g));
        }
    }
    return NULL;
}

static bt_status check_operators(struct onnx_import *im)
{
    struct check check = { .im = im, .opsets = &im->model->opsets };
    bt_map_init(&check.seen, im->arena, 1);
    bt_map_init(&check.called, im->arena, 0);
    BT_TRY(check_graph(&check, &im->model->graph));
    for (uint32_t i = 0; i < check.functions.len; i++) {
        check.opsets = &check.functions.at[i]->opsets;
        BT_TRY(check_graph(&check, &check.functions.at[i]->body));
    }
    return check.first;
}

/* ---- the module ---- */

static bt_status describe_source(struct onnx_import *im, bt_module_builder *module)
{
    const struct onnx_model *model = im->model;
    const struct {
        const char *name, *text;
        int64_t i;
    } rows[] = {
        { "format", "onnx", 0 },
        { "ir_version", NULL, model->ir_version },
        { "opset", NULL, opset_version(&model->opsets, "") },
        { "producer", model->producer, 0 },
        { "producer_version", model->producer_version, 0 },
    };
    bt_dict_entry *entries =
        BT_NEWS(bt_store_arena(im->store), bt_dict_entry, BT_COUNT(rows));
    if (!entries)
        return bt_no_memory();
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        entries[i] = (bt_dict_entry){
            .name = bt_name_of(im->store, rows[i].name),
            .kind = rows[i].text ? BT_DICT_TEXT : BT_DICT_INT,
            .i = rows[i].i,
            .text = rows[i].text ? bt_name_of(im->store, rows[i].text) : NULL,
        };
        if (!entries[i].name || (rows[i].text && !entries[i].text))
            return bt_no_memory();
    }
    bt_module_builder_set_attrs(module, (bt_dict){ BT_COUNT(rows), entries });
    return NULL;
}

static bt_status build_module(struct onnx_import *im, bt_module **out)
{
    const bt_func *func;
    bt_module_builder *module;
    BT_TRY(import_main(im, &func));
    BT_TRY(bt_module_builder_create(im->ctx, im->store, NULL, &module));
    bt_global global = { .name = func->name,
                         .kind = BT_GLOBAL_FUNC,
                         .func = func,
                         .type = bt_func_type_of(im->store, func) };
    bt_status status = global.type ? describe_source(im, module) : bt_no_memory();
    if (!status)
        status = bt_module_builder_set(module, &global, 1);
    if (status) {
        bt_module_builder_destroy(module);
        return status;
    }
    return bt_module_builder_finish(module, 1, out);
}

static bt_status import_with(struct onnx_import *im, bt_module **out)
{
    BT_TRY(
        bt_store_add_source(im->ctx, im->store, im->model->path, NULL, 0, &im->source));
    BT_TRY(operators_list(im));
    BT_TRY(check_operators(im));
    BT_TRY(bt_builder_create(im->ctx, im->store, NULL, &im->builder));
    bt_status status = build_module(im, out);
    bt_builder_destroy(im->builder);
    return status;
}

bt_status import_model(bt_ctx *ctx, bt_arena *arena, const struct onnx_model *model,
                       const bt_import_call *call, bt_module **out)
{
    BT_TRY(check_versions(ctx, model));
    struct onnx_import im = {
        .ctx = ctx,
        .arena = arena,
        .store = bt_store_create(bt_ctx_registry(ctx)),
        .model = model,
        .files = { .path = call->path,
                   .folder = call->folder,
                   .model = call->file,
                   .types_only = call->types_only },
        .opsets = &model->opsets,
    };
    if (!im.store)
        return bt_no_memory();
    bt_map_init(&im.symbols, arena, 1);
    bt_map_init(&im.known, arena, 0);
    bt_status status = given_init(ctx, arena, call->dims, &im.given);
    if (!status)
        status = given_init(ctx, arena, call->fixed, &im.fixed);
    if (!status)
        status = import_with(&im, out);
    onnx_files_close(ctx, &im.files);
    bt_store_unref(im.store);
    return status;
}
