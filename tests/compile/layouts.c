/*
 * Tensors with layouts as functions see them in memory: read where the layout's map says,
 * written with zeros where a block is not full. What stands in the padding of an input
 * (here NaN) reaches no result.
 */
#include "programs.h"

#include <math.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/graph.h>

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* Random layouts of three axes: the outer parts in any order, then up to three blocks. */
static void random_layout(uint64_t *seed, char out[64])
{
    char order[] = "ABC";
    for (uint32_t i = 3; i > 1; i--) {
        uint32_t k = below(seed, i);
        char letter = order[i - 1];
        order[i - 1] = order[k];
        order[k] = letter;
    }
    int n = snprintf(out, 64, "ABC:%s", order);
    for (uint32_t i = below(seed, 4); i > 0; i--) {
        uint32_t factor = 2 + below(seed, 3), axis = below(seed, 3);
        n += snprintf(out + n, 64 - (size_t)n, "%u%c", factor, "abc"[axis]);
    }
}

/* Where the element of memory at `position` is among the logical ones; -1: padding. */
static int64_t logical_position(const bt_layout *layout, const int64_t *dims,
                                uint32_t rank, const int64_t *physical, int64_t position)
{
    int64_t index[BT_MAX_RANK] = { 0 }, scale[BT_MAX_RANK], at = 0;
    for (uint32_t i = 0; i < rank; i++)
        scale[i] = 1;
    for (uint32_t i = layout->nphysical; i-- > 0;) {
        uint32_t axis = layout->physical[i].axis;
        index[axis] += position % physical[i] * scale[axis];
        scale[axis] *= physical[i];
        position /= physical[i];
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (index[i] >= dims[i])
            return -1;
        at = at * dims[i] + index[i];
    }
    return at;
}

/* Element i of the tensor is f(i); padding is as given. */
static double element(int64_t i)
{
    return (double)(i * 7 % 31 - 11);
}

static bt_tensor *in_memory(bt_ctx *ctx, const bt_type *type, double padding)
{
    const bt_layout *layout = bt_as_tensor_type(type)->layout;
    int64_t dims[BT_MAX_RANK], physical[BT_MAX_RANK];
    uint32_t rank, nphysical;
    bt_tensor *out;
    assert_true(bt_tensor_static(type, &rank, dims));
    assert_true(bt_tensor_physical(type, &nphysical, physical));
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, nphysical, physical, &out));
    for (int64_t i = 0; i < out->nelem; i++) {
        int64_t at = layout ? logical_position(layout, dims, rank, physical, i) : i;
        bt_tensor_set(out, i, at < 0 ? padding : element(at));
    }
    return out;
}

static bt_module *read_module(bt_ctx *ctx, const char *text)
{
    bt_module *parsed, *typed;
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    return typed;
}

static void check_function(const char *text, double (*expected)(double))
{
    bt_ctx *ctx = open_targets(NULL);
    bt_module *module = read_module(ctx, text);
    const bt_func *func = bt_module_find(module, "main")->func;
    const bt_type *in = func->block->params[0]->base.type;
    bt_compute *compute;
    bt_tensor *x = in_memory(ctx, in, NAN), *y, *like = in_memory(ctx, func->result, NAN);
    assert_ok(ctx, bt_compute_create_func(ctx, func, NULL, &compute));
    assert_ok(ctx, bt_compute_run(ctx, compute, 1, (const bt_tensor *const *)&x, &y));
    assert_int_equal(y->nelem, like->nelem);
    for (int64_t i = 0; i < y->nelem; i++) {
        double want = bt_tensor_get(like, i);
        want = isnan(want) ? 0 : expected(want);
        if (bt_tensor_get(y, i) != want)
            fail_msg("%s: element %lld of memory is %g, not %g", text, (long long)i,
                     bt_tensor_get(y, i), want);
    }
    bt_tensor_unref(x);
    bt_tensor_unref(y);
    bt_tensor_unref(like);
    bt_compute_destroy(compute);
    bt_module_unref(module);
    bt_ctx_destroy(ctx);
}

static double same(double x)
{
    return x;
}

static double worked(double x)
{
    double y = x > 0 ? x : 0;
    return (y + 1) * (y + 1);
}

static void test_any_layout_becomes_any_other(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 60; i++) {
        char from[64], to[64], text[512];
        random_layout(&seed, from);
        random_layout(&seed, to);
        snprintf(text, sizeof(text),
                 "#[version = \"baton 0.1\"]\n"
                 "def @main(%%x: Tensor[(%d, %d, 3), float32, \"%s\"]) {\n"
                 "    layout_transform(%%x, src_layout=\"%s\", dst_layout=\"%s\")\n}\n",
                 1 + i % 7, 1 + i % 5, from, strcmp(from, "ABC:ABC") ? from : "",
                 strcmp(to, "ABC:ABC") ? to : "");
        check_function(text, same);
    }
}

/* Calls go into one another though their values are blocked, and padding stays zero where
 * an operator makes something else of zero. */
static void test_calls_between_layouts_are_joined(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 40; i++) {
        char from[64], to[64], text[1024];
        random_layout(&seed, from);
        random_layout(&seed, to);
        snprintf(
            text, sizeof(text),
            "#[version = \"baton 0.1\"]\n"
            "def @main(%%x: Tensor[(%d, 5, %d), float32, \"%s\"]) {\n"
            "    %%0 = nn.relu(%%x);\n"
            "    %%1 = layout_transform(%%0, src_layout=\"%s\", dst_layout=\"%s\");\n"
            "    %%2 = add(%%1, 1f);\n"
            "    multiply(%%2, %%2)\n}\n",
            1 + i % 4, 1 + i % 6, from, strcmp(from, "ABC:ABC") ? from : "",
            strcmp(to, "ABC:ABC") ? to : "");
        check_function(text, worked);
    }
}

/* Its transform is run when the program is compiled: three kernels are left, the first of
 * which lays out the data. */
static void test_constant_weights_are_laid_out_once(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_object *out;
    assert_ok(
        ctx,
        compile_text(
            ctx,
            "def @main(%x: Tensor[(2, 3, 1, 1), float32]) {\n"
            "    %w = layout_transform(const[(2, 3, 1, 1), float32]{1, 2, 3, 4, 5, 6}, "
            "src_layout=\"\", dst_layout=\"OIHW:OIHW2i2o\");\n"
            "    %0 = layout_transform(%x, src_layout=\"\", "
            "dst_layout=\"NCHW:NCHW2c\");\n"
            "    %1: Tensor[_, _, \"NCHW:NCHW2c\"] = nn.conv2d(%0, %w);\n"
            "    layout_transform(%1, src_layout=\"NCHW:NCHW2c\", dst_layout=\"\")\n}",
            "reference", &c));
    const bt_value *data = input_of(c, 1, 0), *weight = input_of(c, 1, 1);
    static const double packed[] = { 1, 4, 2, 5, 3, 6, 0, 0 };
    assert_null(find_call(c, "memory.invoke", 3));
    assert_non_null(bt_as_call(data));
    assert_int_equal(bt_const_tensor(weight)->nelem, BT_COUNT(packed));
    for (size_t i = 0; i < BT_COUNT(packed); i++)
        assert_true(bt_tensor_get(bt_const_tensor(weight), (int64_t)i) == packed[i]);
    bt_tensor *x;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 4, (int64_t[]){ 2, 3, 1, 1 }, &x));
    for (int64_t i = 0; i < 6; i++)
        bt_tensor_set(x, i, (double)i);
    assert_ok(ctx, run_graph(ctx, c, x, &out));
    static const double expected[] = { 8, 17, 26, 62 };
    for (size_t i = 0; i < BT_COUNT(expected); i++)
        assert_true(bt_tensor_get(bt_object_as_tensor(out), (int64_t)i) == expected[i]);
    bt_object_unref(out);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* A convolution in blocks is a contraction still: sums run over blocks and places. */
static void test_a_blocked_convolution_is_a_contraction(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_module *module = read_module(
        ctx, "#[version = \"baton 0.1\"]\n"
             "def @main(%x: Tensor[(1, 8, 5, 5), float32, \"NCHW:NCHW4c\"],\n"
             "          %w: Tensor[(4, 8, 3, 3), float32, \"OIHW:OIHW4i4o\"]) {\n"
             "    %y: Tensor[_, _, \"NCHW:NCHW4c\"] = nn.conv2d(%x, %w);\n"
             "    %y\n}\n");
    bt_graph *g;
    bt_view view;
    assert_ok(ctx, bt_graph_compose(ctx, bt_ctx_scratch(ctx),
                                    bt_module_find(module, "main")->func, &g));
    bt_view_of(g, g->arrays[g->results[0]], &view);
    assert_int_equal(view.kind, BT_VIEW_CONTRACTION);
    assert_int_equal(view.reduce->nindex, 4);
    bt_module_unref(module);
    bt_ctx_destroy(ctx);
}

/* What is compiled takes and gives row major, and says so. */
static void test_borders_are_row_major(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "def @main(%x: Tensor[(2, 6), float32, \"NC:NC4c\"]) {\n"
          "    layout_transform(%x, src_layout=\"NC:NC4c\", dst_layout=\"\")\n}",
          "%x is passed in with a layout, and compiled programs take and give row major "
          "alone: "
          "executor interp runs it" },
        { "def @main(%x: Tensor[(2, 6), float32]) {\n"
          "    layout_transform(%x, src_layout=\"\", dst_layout=\"NC:NC4c\")\n}",
          "is given back with a layout" },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *compiled;
        assert_error(compile_text(ctx, cases[i].text, "reference", &compiled),
                     BT_ERR_UNSUPPORTED, cases[i].message);
        bt_ctx_destroy(ctx);
    }
}

/* Bindings between hold blocks, and are as large in memory. */
static void test_values_between_kernels_are_blocked(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_object *out;
    bt_tensor *x = numbers(ctx, 2, 6);
    assert_ok(
        ctx,
        compile_text(
            ctx,
            "def @main(%x: Tensor[(2, 6), float32]) {\n"
            "    %0 = layout_transform(%x, src_layout=\"\", dst_layout=\"NC:CN4c\");\n"
            "    %1 = add(%0, 2f);\n"
            "    layout_transform(%1, src_layout=\"NC:CN4c\", dst_layout=\"\")\n}",
            "reference", &c));
    const bt_value *between = input_of(c, 1, 0);
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    assert_true(bt_tensor_static(between->type, &rank, dims));
    assert_int_equal(rank, 3);
    assert_int_equal(dims[0] * 100 + dims[1] * 10 + dims[2], 224);
    assert_ok(ctx, run_graph(ctx, c, x, &out));
    for (int64_t i = 0; i < x->nelem; i++)
        assert_true(bt_tensor_get(bt_object_as_tensor(out), i) ==
                    bt_tensor_get(x, i) + 2);
    bt_object_unref(out);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* ---- what targets want ---- */

static const char two_layers[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(1, 4, 3, 3), float32]) {\n"
    "    %0 = nn.conv2d(%x, const[(8, 4, 1, 1), float32]{1 ..});\n"
    "    %1 = nn.relu(%0);\n"
    "    nn.conv2d(%1, const[(4, 8, 1, 1), float32]{2 ..})\n}\n";

static bt_status optimise_text(bt_ctx *ctx, const char *text, const char *targets,
                               bt_module **out)
{
    bt_pipeline *pipeline;
    bt_targets *opened = NULL;
    if (targets)
        BT_TRY(bt_targets_open(ctx, targets, &opened));
    const bt_pipeline_options options = { .level = 3,
                                          .targets = opened,
                                          .verify_each = 1 };
    assert_ok(ctx, bt_pipeline_read(ctx, "default", &pipeline));
    bt_module *module = read_module(ctx, text);
    bt_status status = bt_pipeline_run(ctx, pipeline, &options, module, out);
    bt_module_unref(module);
    bt_targets_unref(opened);
    bt_pipeline_destroy(pipeline);
    return status;
}

static bt_status optimise(bt_ctx *ctx, const char *targets, bt_module **out)
{
    return optimise_text(ctx, two_layers, targets, out);
}

/* Data comes and goes by transforms of its own; those of the weights have been computed. */
static void test_a_target_gets_the_layouts_that_it_wants(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    const bt_compile_options options = { .targets = "claim.laid, reference" };
    bt_module *laid, *fused;
    bt_compiled *c;
    assert_ok(ctx, optimise(ctx, options.targets, &laid));
    assert_ok(ctx, bt_fuse(ctx, laid, &options, &fused));
    assert_ok(ctx, bt_compile(ctx, fused, &options, &c));
    assert_non_null(find_call(c, "memory.invoke", 3));
    assert_null(find_call(c, "memory.invoke", 4));
    const bt_tensor *weight = bt_const_tensor(input_of(c, 1, 1));
    assert_non_null(weight);
    assert_int_equal(weight->rank, 6);
    bt_compiled_unref(c);
    bt_module_unref(fused);
    bt_module_unref(laid);
    bt_ctx_destroy(ctx);
}

static void test_what_cannot_be_is_not_heeded(void **state)
{
    (void)state;
    static const char *const lists[] = { "reference", "claim.blind", NULL,
                                         "claim.laid, claim.blind" };
    bt_ctx *ctx = open_targets(NULL);
    for (size_t i = 0; i < BT_COUNT(lists); i++) {
        bt_module *module;
        assert_ok(ctx, optimise(ctx, lists[i], &module));
        const bt_block *block = bt_module_find(module, "main")->func->block;
        assert_int_equal(block->nbinding, 3);
        bt_module_unref(module);
    }
    bt_ctx_destroy(ctx);
}

/* A target that says no to what it wants is asked before anything is laid out. */
static void test_what_is_wanted_is_heeded_where_the_target_takes_the_call_so(void **state)
{
    (void)state;
    static const char list[] = "claim.laid{refuse=\"nn.conv2d\"}, reference";
    bt_ctx *ctx = open_targets(NULL);
    bt_module *module;
    assert_ok(ctx, optimise(ctx, list, &module));
    assert_int_equal(bt_module_find(module, "main")->func->block->nbinding, 3);
    bt_module_unref(module);
    assert_non_null(bt_ctx_remark(ctx, BT_REMARK_DETAIL, 0));
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_DETAIL, 0)->message,
                        "target claim.laid{refuse=\"nn.conv2d\"} wants layouts of "
                        "nn.conv2d, and does not take it so: it has no nn.conv2d");
    // what is refused with other calls only is laid out: alone it is taken
    bt_ctx_clear_diags(ctx);
    assert_ok(ctx, optimise(ctx, "claim.laid{refuse=\"nn.relu\"}, reference", &module));
    assert_true(bt_module_find(module, "main")->func->block->nbinding > 3);
    bt_module_unref(module);
    bt_ctx_destroy(ctx);
}

static void test_a_text_that_is_no_layout_is_an_error(void **state)
{
    (void)state;
    static const char *const wants[] = { "NCW4c", "NCHW", "NCHW4d", "four" };
    for (size_t i = 0; i < BT_COUNT(wants); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_module *module;
        char targets[64], message[256];
        snprintf(targets, sizeof(targets), "claim.laid{wants=\"%s\"}", wants[i]);
        snprintf(message, sizeof(message),
                 "target %s wants layout \"%s\" for operand 0 of nn.conv2d, a tensor of "
                 "rank 4",
                 targets, wants[i]);
        assert_error(optimise(ctx, targets, &module), BT_ERR_PLUGIN, message);
        bt_ctx_destroy(ctx);
    }
}

static void test_a_relation_that_does_not_follow_its_rule_is_an_error(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_module *module;
    assert_error(optimise_text(ctx,
                               "#[version = \"baton 0.1\"]\n"
                               "def @main(%x: Tensor[(2, 4), float32]) {\n"
                               "    claim.two_layouts(%x)\n}\n",
                               "claim.laid.all, reference", &module),
                 BT_ERR_PLUGIN,
                 "claim.two_layouts: its facet \"layout\" states that the result is "
                 "AB:BA2b, its type relation that it is row major");
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_any_layout_becomes_any_other),
    cmocka_unit_test(test_calls_between_layouts_are_joined),
    cmocka_unit_test(test_values_between_kernels_are_blocked),
    cmocka_unit_test(test_constant_weights_are_laid_out_once),
    cmocka_unit_test(test_a_blocked_convolution_is_a_contraction),
    cmocka_unit_test(test_borders_are_row_major),
    cmocka_unit_test(test_a_target_gets_the_layouts_that_it_wants),
    cmocka_unit_test(test_what_cannot_be_is_not_heeded),
    cmocka_unit_test(test_what_is_wanted_is_heeded_where_the_target_takes_the_call_so),
    cmocka_unit_test(test_a_text_that_is_no_layout_is_an_error),
    cmocka_unit_test(test_a_relation_that_does_not_follow_its_rule_is_an_error),
};
TEST_MAIN(tests)
