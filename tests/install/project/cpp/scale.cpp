/* outside.scale and outside-cpp: what a plugin in C++ says by the macros of the headers. */
#include <baton/executor.h>
#include <baton/importer.h>
#include <baton/op.h>
#include <baton/pass.h>

namespace
{

struct attrs {
    double factor;
    int64_t axis;
    const char *mode;
};
const bt_attr attr_rows[] = {
    BT_ATTR(attrs, factor, FLOAT, "2", "what each element is multiplied by"),
    BT_ATTR_RANGE(attrs, axis, INT, "0", -4, 3, "not used"),
    BT_ATTR_CHOICE(attrs, mode, "plain", "plain|other", "not used"),
    {},
};
const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape", .is_optional = 0, .is_rest = 0 },
    {},
};

bt_status estimate(bt_ctx *, const bt_formula_call *, int64_t *multiply_adds,
                   int64_t *nbytes)
{
    *multiply_adds = 1;
    *nbytes = 8;
    return nullptr;
}
const bt_cost_facet cost = { estimate };

bt_op scale()
{
    bt_op op = {};
    op.name = "outside.scale";
    op.revision = 1;
    op.doc = "data times a factor.";
    op.inputs = inputs;
    op.attrs = attr_rows;
    op.attrs_nbytes = sizeof(attrs);
    op.formula = "y: t[..] = data[..] * factor";
    op.facets = BT_FACET_ROWS(BT_CASES("float32[2] = [1, 2] | factor=3 -> [3, 6]"),
                              BT_FACET("cost", cost));
    return op;
}
const bt_op ops[] = { scale(), {} };

bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    bt_rewriter rewriter = {};
    return bt_rewrite_module(ctx, call, &rewriter, nullptr, out);
}
bt_pass idle()
{
    bt_pass pass = {};
    pass.name = "outside-cpp";
    pass.doc = "Changes nothing.";
    pass.keeps = "*";
    pass.run = run;
    return pass;
}
const bt_pass passes[] = { idle(), {} };

} // namespace

BT_TABLES(bt_outside_cpp_scale) = { BT_OPS(ops), BT_PASSES(passes), {} };
