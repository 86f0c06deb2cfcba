/* ONNX: the importer's sources are part of this program. Whatever the bytes are, reading
 * them as a model or as a tensor ends in a value or in an error. */
#include <string.h>

#include "fuzz.h"

#include "import.h"
#include "tensor.h"

static void try_tensor(bt_ctx *ctx, bt_arena *arena, const uint8_t *bytes, size_t nbytes)
{
    struct onnx_tensor proto;
    bt_tensor *tensor = NULL;
    bt_status status = onnx_tensor_read(ctx, arena, "x.pb", bytes, nbytes, &proto);
    struct onnx_files files = { .path = "x.pb" };
    if (!status)
        status = onnx_tensor_value(ctx, arena, &files, &proto, &tensor);
    fuzz_check_status(ctx, status);
    if (!status)
        FUZZ_CHECK(tensor->nelem == 0 || bt_tensor_nbytes(tensor) <= 8 * nbytes);
    bt_tensor_unref(tensor);
}

static void try_model(bt_ctx *ctx, bt_arena *arena, const uint8_t *bytes, size_t nbytes)
{
    struct onnx_model model;
    bt_module *module = NULL;
    bt_import_call call = { .path = "x.onnx", .bytes = bytes, .nbytes = nbytes };
    bt_status status = onnx_model_read(ctx, arena, "x.onnx", bytes, nbytes, &model);
    if (!status)
        status = import_model(ctx, arena, &model, &call, &module);
    fuzz_check_status(ctx, status);
    bt_module_unref(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    FUZZ_CHECK(arena);
    try_tensor(ctx, arena, bytes, nbytes);
    try_model(ctx, arena, bytes, nbytes);
    bt_arena_destroy(arena);
    bt_ctx_destroy(ctx);
    return 0;
}
