/* Compiling for several targets under failing memory: partition, lowering, code, and doing
 * all again without a target that breaks its word. */
#include "fault.h"

#include <baton/compiled.h>
#include <baton/executor.h>

#include <string.h>
#include <unistd.h>

static const char program[] = "#[version = \"baton 0.1\"]\n"
                              "def @main(%x: Tensor[(2, 3), float32]) {\n"
                              "    %0 = nn.relu(negative(%x));\n"
                              "    %1 = multiply(%0, sigmoid(%0));\n"
                              "    %2 = minimum(maximum(negative(%1), -1f), 1f);\n"
                              "    %3 = concatenate((%2, %2), axis=0);\n"
                              "    (%3, subtract(%1, %1))\n"
                              "}\n";

/* Tuples go in and out of what is laid out. */
static const char images[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(1, 2, 3, 3), float32]) {\n"
    "    %0 = nn.conv2d(%x, const[(4, 2, 1, 1), float32]{1, 2, 3, 4, 5, 6, 7, 8});\n"
    "    %1 = split(nn.pad(%0, pad_width=[0, 0, 0, 0, 1, 1, 0, 0]), "
    "indices_or_sections=2, axis=1);\n"
    "    %2 = concatenate((%1.1, %1.0), axis=1);\n"
    "    (mean(%2, axis=[2, 3]), strided_slice(%2, begin=[2], end=[4], axes=[1]))\n"
    "}\n";

/* A sum of products that can be made in more than one way. */
static const char product[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(1, 2, 5, 5), float32]) {\n"
    "    nn.conv2d(%x, const[(2, 2, 1, 1), float32]{1, 2, 3, 4})\n"
    "}\n";

/* Parts that are computed in what is made of them, which is a part itself. */
static const char parts[] = "#[version = \"baton 0.1\"]\n"
                            "def @main(%x: Tensor[(64), int32]) {\n"
                            "    %a = sort(%x, axis=0);\n"
                            "    %b = concatenate((cumsum(%a, axis=0), %a), axis=0);\n"
                            "    %c = sort(%b, axis=0);\n"
                            "    sort(concatenate((%b, %c), axis=0), axis=0)\n"
                            "}\n";

/* A layer of the simulated accelerator. */
static const char bytes[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(1, 8), int8]) {\n"
    "    %s = add(nn.dense(%x, const[(2, 8), int8]{1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, "
    "-4, -5, -6, -7, -8}, out_dtype=\"int32\"), const[(2), int32]{300, -300});\n"
    "    %q = fixed_point_multiply(%s, multiplier=1073741824, shift=-2);\n"
    "    cast(clip(%q, a_min=-128.0, a_max=127.0), dtype=\"int8\")\n"
    "}\n";

/* Of two weights target panels gives the first one up. */
static const char weights[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    "    %0 = nn.dense(%x, const[(2, 3), float32]{-1, 2, 3, 4, 5, 6});\n"
    "    nn.dense(%0, const[(1, 2), float32]{1, 2})\n"
    "}\n";

#define RECORDS FAULT_FOLDER "/fault.tuning"

static bt_status read_program(struct fault_world *w, const char *text)
{
    bt_module *module;
    BT_TRY(bt_parse(w->ctx, "program", NULL, text, strlen(text), &module));
    bt_status status = bt_infer(w->ctx, module, &w->module);
    bt_module_unref(module);
    return status;
}

static bt_status begin(struct fault_world *w)
{
    return read_program(w, program);
}

static bt_status begin_images(struct fault_world *w)
{
    return read_program(w, images);
}

static bt_status begin_product(struct fault_world *w)
{
    return read_program(w, product);
}

static bt_status begin_parts(struct fault_world *w)
{
    return read_program(w, parts);
}

static bt_status begin_bytes(struct fault_world *w)
{
    return read_program(w, bytes);
}

static bt_status begin_weights(struct fault_world *w)
{
    return read_program(w, weights);
}

static bt_status write_share(struct fault_world *w, const void *compiled, bt_text *out)
{
    const bt_compiled *c = compiled;
    for (uint32_t i = 0; i < c->nkernel; i++)
        bt_text_addf(out, "%s: %s\n", c->targets[c->kernels[i]->target]->text,
                     c->kernels[i]->name);
    return bt_print(w->ctx, c->module, &(bt_print_options){ 0 }, out);
}

static bt_status fuse_and_compile(struct fault_world *w, const char *fuse,
                                  bt_compiled **out)
{
    const bt_compile_options options = { .targets = w->scenario->input, .fuse = fuse };
    bt_module *fused;
    BT_TRY(bt_fuse(w->ctx, w->module, &options, &fused));
    bt_status status = bt_compile(w->ctx, fused, &options, out);
    bt_module_unref(fused);
    return status;
}

static bt_status compile(struct fault_world *w, const char *fuse)
{
    bt_compiled *compiled;
    BT_TRY(fuse_and_compile(w, fuse, &compiled));
    bt_status status = fault_result_of(w, write_share, compiled);
    bt_compiled_unref(compiled);
    return status;
}

static bt_status run(struct fault_world *w)
{
    return compile(w, NULL);
}

static bt_status run_wants(struct fault_world *w)
{
    return compile(w, "alter-layout, dead-code, partition, fuse-ops");
}

/* Ways are measured and recorded, then taken from the records. Which one is the fastest is no part of
 * the result. */
static bt_status run_tuning(struct fault_world *w)
{
    unlink(RECORDS);
    for (int i = 0; i < 2; i++) {
        bt_compiled *compiled;
        BT_TRY(fuse_and_compile(w, NULL, &compiled));
        bt_compiled_unref(compiled);
        fault_result(w, access(RECORDS, R_OK) == 0 ? "recorded\n" : "not recorded\n");
    }
    return NULL;
}

static void end_tuning(struct fault_world *w)
{
    (void)w;
    unlink(RECORDS);
}

static bt_status write_result(struct fault_world *w, const void *result, bt_text *out)
{
    (void)w;
    bt_object_print(result, 100, out);
    return NULL;
}

static bt_status call(struct fault_world *w, bt_compiled *compiled, bt_tensor *x)
{
    const void *row;
    void *session = NULL;
    bt_object *arg = &x->base, *result = NULL;
    BT_TRY(
        bt_registry_row(w->ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    const bt_executor *graph = row;
    bt_status status = graph->load(w->ctx, compiled, "main", NULL, &session);
    if (!status)
        status = graph->call(w->ctx, session, "main", 1, &arg, NULL, &result);
    if (!status)
        status = fault_result_of(w, write_result, result);
    bt_object_unref(result);
    if (session)
        graph->close(session);
    return status;
}

/* From compiling to a result, of what is computed in memory that the host does not see. */
static bt_status run_on(struct fault_world *w, bt_dtype dtype, uint32_t rank,
                        const int64_t *dims)
{
    bt_compiled *compiled = NULL;
    bt_tensor *x;
    BT_TRY(bt_tensor_create(w->ctx, dtype, rank, dims, &x));
    bt_status status = fuse_and_compile(w, NULL, &compiled);
    if (!status)
        status = call(w, compiled, x);
    bt_compiled_unref(compiled);
    bt_tensor_unref(x);
    return status;
}

static bt_status run_far(struct fault_world *w)
{
    return run_on(w, BT_FLOAT32, 2, (const int64_t[]){ 2, 3 });
}

static bt_status run_bytes(struct fault_world *w)
{
    return run_on(w, BT_INT8, 2, (const int64_t[]){ 1, 8 });
}

#define PLUGINS TEST_PLUGINS ":" TEST_TARGETS

const struct fault_scenario fault_targets[] = {
    { .name = "targets-share",
      .begin = begin,
      .run = run,
      .input = "claim.more,claim{refuse=\"sigmoid\"},reference",
      .plugins = PLUGINS },
    { .name = "targets-fallback",
      .begin = begin,
      .run = run,
      .input = "liar{fault=\"compile\"},liar{fault=\"lower\"},reference",
      .plugins = PLUGINS },
    { .name = "targets-place",
      .begin = begin,
      .run = run,
      .input = "far{costs=1},later{costs=2},reference",
      .plugins = PLUGINS },
    { .name = "targets-cpu",
      .begin = begin,
      .run = run,
      .input = "cpu{engine=\"bytecode\", threads=2}",
      .plugins = PLUGINS },
    { .name = "targets-parts",
      .begin = begin_parts,
      .run = run,
      .input = "reference",
      .plugins = PLUGINS },
    { .name = "targets-tuning",
      .begin = begin_product,
      .run = run_tuning,
      .end = end_tuning,
      .input = "cpu{engine=\"bytecode\", threads=1, tune=\"" RECORDS "\"}",
      .plugins = PLUGINS },
    { .name = "targets-far",
      .begin = begin,
      .run = run_far,
      .input = "far",
      .plugins = PLUGINS },
    { .name = "targets-npu",
      .begin = begin_bytes,
      .run = run_bytes,
      .input = "npu,reference",
      .plugins = PLUGINS },
    { .name = "targets-constants",
      .begin = begin_weights,
      .run = run_far,
      .input = "panels{fault=\"negative\"},reference",
      .plugins = PLUGINS },
    { .name = "targets-late",
      .begin = begin,
      .run = run_far,
      .input = "late",
      .plugins = PLUGINS },
    { .name = "targets-wants",
      .begin = begin_images,
      .run = run_wants,
      .input = "claim.laid.all,reference",
      .plugins = PLUGINS },
    { 0 },
};
