/* The plugin of fault.alloc.source-open. */
#include <baton/op.h>

static const bt_op_input inputs[] = { { .name = "x", .type = "t[..]" }, { 0 } };
static const bt_op ops[] = {
    { .name = "source.same",
      .revision = 1,
      .doc = "x.",
      .inputs = inputs,
      .formula = "y: t[..] = x[..]" },
    { 0 },
};
const bt_table bt_source_source[] = { BT_OPS(ops), { 0 } };
