/*
 * onnx: imports ONNX models.
 *     file ── wire.c ──> model.c: messages as structs ──> graph.c: names, nodes in order
 *                                                           └─ convert_*.c: one function
 *                                                              a family of operators
 * source   onnx/onnx.proto, docs/Operators.md of the ONNX standard
 */
#include <string.h>

#include "import.h"
#include "tensor.h"

/* ONNX has no magic number: a model begins with its IR version (field 1, a small varint)
 * and names its operator sets. */
static int32_t probe(const void *head, size_t nbytes)
{
    const uint8_t *bytes = head;
    return nbytes > 8 && bytes[0] == 0x08 && bytes[1] >= 3 && bytes[1] <= 32 ? 60 : 0;
}

static bt_status import(bt_ctx *ctx, const bt_import_call *call, bt_module **out)
{
    struct onnx_model model;
    BT_TRY(onnx_refuse_pointer(ctx, call->path, call->bytes, call->nbytes));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status =
        onnx_model_read(ctx, arena, call->path, call->bytes, call->nbytes, &model);
    if (!status)
        status = import_model(ctx, arena, &model, call, out);
    bt_arena_destroy(arena);
    return status;
}

static bt_status read_tensor(bt_ctx *ctx, const char *place, const void *bytes,
                             size_t nbytes, bt_tensor **out)
{
    struct onnx_tensor tensor;
    BT_TRY(onnx_refuse_pointer(ctx, place, bytes, nbytes));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status = onnx_tensor_read(ctx, arena, place, bytes, nbytes, &tensor);
    struct onnx_files files = { .path = place };
    if (!status)
        status = onnx_tensor_value(ctx, arena, &files, &tensor, out);
    bt_arena_destroy(arena);
    return status;
}

static const bt_importer importers[] = {
    {
        .name = "onnx",
        .doc = "ONNX models, IR 3 to 13, operator sets 1 to 27.",
        .suffixes = ".onnx .pb",
        .probe = probe,
        .import = import,
        .read_tensor = read_tensor,
    },
    { 0 },
};

const bt_table bt_plugins_onnx_onnx[] = { BT_IMPORTERS(importers), { 0 } };
