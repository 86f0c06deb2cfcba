/* Models of other formats and tensor files under failing memory. */
#include "fault.h"

#include <baton/importer.h>

static bt_status run_import(struct fault_world *w)
{
    bt_module *module, *typed;
    bt_text text;
    BT_TRY(bt_import(w->ctx, w->scenario->input, NULL, &module));
    bt_status status = bt_infer(w->ctx, module, &typed);
    bt_module_unref(module);
    if (status)
        return status;
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&text, scratch);
    status = bt_print(w->ctx, typed, NULL, &text);
    if (!status && text.failed)
        status = bt_no_memory();
    if (!status)
        fault_result(w, bt_text_get(&text));
    bt_arena_release(scratch, mark);
    bt_module_unref(typed);
    return status;
}

static bt_status run_tensor(struct fault_world *w)
{
    bt_text text;
    bt_tensor *tensor;
    BT_TRY(bt_tensor_read(w->ctx, w->scenario->input, &tensor));
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&text, scratch);
    bt_object_print(&tensor->base, 100, &text);
    bt_status status = text.failed ? bt_no_memory() : NULL;
    if (!status)
        fault_result(w, bt_text_get(&text));
    bt_arena_release(scratch, mark);
    bt_tensor_unref(tensor);
    return status;
}

#define MNIST FAULT_SHARED "/data/models/mnist-8/"

const struct fault_scenario fault_models[] = {
    { .name = "import-onnx", .run = run_import, .input = FAULT_PROGRAMS "/tiny.onnx" },
    { .name = "import-onnx-cold",
      .run = run_import,
      .input = FAULT_PROGRAMS "/tiny.onnx",
      .is_fresh = 1 },
    { .name = "import-text",
      .run = run_import,
      .input = FAULT_EXAMPLES "/digits/digits.baton" },
    { .name = "import-mnist",
      .run = run_import,
      .input = MNIST "model.onnx",
      .needs_file = 1 },
    { .name = "tensor-pb",
      .run = run_tensor,
      .input = MNIST "test_data_set_0/input_0.pb",
      .needs_file = 1 },
    { .name = "tensor-npz",
      .run = run_tensor,
      .input = FAULT_EXAMPLES "/digits/digits.npz:b4" },
    { 0 },
};
