/* Models of other formats and tensor files under failing memory. */
#include "fault.h"

#include <baton/importer.h>

static bt_status run_import(struct fault_world *w)
{
    bt_module *module, *typed;
    BT_TRY(bt_import(w->ctx, w->scenario->input, NULL, &module));
    bt_status status = bt_infer(w->ctx, module, &typed);
    bt_module_unref(module);
    if (status)
        return status;
    status = fault_result_of(w, fault_write_module, typed);
    bt_module_unref(typed);
    return status;
}

static bt_status write_tensor(struct fault_world *w, const void *tensor, bt_text *out)
{
    (void)w;
    bt_object_print(&((const bt_tensor *)tensor)->base, 100, out);
    return NULL;
}

static bt_status run_tensor(struct fault_world *w)
{
    bt_tensor *tensor;
    BT_TRY(bt_tensor_read(w->ctx, w->scenario->input, &tensor));
    bt_status status = fault_result_of(w, write_tensor, tensor);
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
