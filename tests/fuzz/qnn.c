/* Operators on codes: one call, of which the input gives types, scales, zero points and the
 * text of its attributes; or a region between qnn.dequantize and qnn.quantize, with what it
 * computes. What is accepted verifies, prints and reads back as itself, goes through pass
 * qdq-to-integer and runs; a region gives the same codes before and behind it, but for a step of
 * 8 bits. */
#include <stdio.h>

#include "program.h"

/* Input that is left. */
struct input {
    const uint8_t *at;
    size_t left;
};

static uint32_t take(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

static const char *pick(struct input *in, const char *const *of, uint32_t n)
{
    return of[take(in) % n];
}

/* ---- pieces ---- */

static const char *const codes[] = { "uint8", "int8", "int16", "uint16",
                                     "uint4", "int4", "int32", "bool" };
/* Of a call: scales that are none, too. */
static const char *const scales[] = {
    "0.1f", "1f",    "0.0078125f", "3f",   "0f",    "-0.5f", "1e-38f", "3e38f",
    "0.3f", "1e-6f", "100f",       "0.7f", "1000f", "inff",  "nanf",   "0.5f",
};
/* Of a region: so that floats are not beyond their range. */
static const char *const steps[] = { "0.1f",  "0.5f", "0.0078125f", "0.02f",
                                     "0.03f", "1f",   "0.07f",      "0.25f" };

/* Parameters, and what is called. $s is a scale, $z a zero point, $t a type of codes, $a attributes. */
// clang-format off
static const char *const calls[][2] = {
    { "%x: Tensor[(2, 3, 4), float32]", "qnn.quantize(%x, $s, $z, $a)" },
    { "%x: Tensor[(2, 3, 4), float32]",
      "qnn.quantize(%x, const[(3), float32]{$s, $s, $s}, const[(3), int32]{1, 2, 3}, $a)" },
    { "%x: Tensor[(2, 3, 4), float16]",
      "qnn.quantize(%x, const[(2, 3, 2), float32]{0.1 ..}, $z, $a)" },
    { "%x: Tensor[(2, 3, 4), $t]", "qnn.dequantize(%x, $s, $z, $a)" },
    { "%x: Tensor[(2, 3, 4), $t]",
      "qnn.dequantize(%x, const[(4), float32]{$s, $s, $s, $s}, $z, $a)" },
    { "%x: Tensor[(2, 3, 4), $t]", "qnn.requantize(%x, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), int32]",
      "qnn.requantize(%x, const[(3), float32]{$s, $s, $s}, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), uint8], %y: Tensor[(2, 3), uint8]",
      "qnn.add(%x, %y, $s, $z, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), int8], %y: Tensor[(3), int8]",
      "qnn.mul(%x, %y, $s, $z, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), int16], %y: Tensor[(2, 3), int16]",
      "qnn.subtract(%x, %y, const[(2), float32]{$s, $s}, $z, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(1, 4, 5, 5), $t], %w: Tensor[(4, 2, 3, 3), $t]",
      "qnn.conv2d(%x, %w, $z, $z, $s, $s, $a)" },
    { "%x: Tensor[(1, 2, 4, 4), $t], %w: Tensor[(2, 3, 3, 3), $t]",
      "qnn.conv2d_transpose(%x, %w, $z, $z, $s, $s, $a)" },
    { "%x: Tensor[(2, 3), $t], %w: Tensor[(4, 3), $t]",
      "qnn.dense(%x, %w, $z, const[(4), int32]{1, 2, 3, 4}, $s, $s, $a)" },
    { "%x: Tensor[(2, 3, 4), $t], %w: Tensor[(2, 4, 4), $t]",
      "qnn.batch_matmul(%x, %w, $z, $z, $s, $s, $a)" },
    { "%x: Tensor[(3, 4), $t], %w: Tensor[(4, 4), $t]",
      "qnn.matmul(%x, %w, $z, $z, $s, $s, $a)" },
    { "%x: Tensor[(2, 3), uint8], %y: Tensor[(2, 3), uint8]",
      "qnn.concatenate((%x, %y), ($s, $s), ($z, $z), $s, $z, $a)" },
    { "%x: Tensor[(1, 2, 5, 5), $t]", "qnn.avg_pool2d(%x, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), $t]", "qnn.softmax(%x, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), $t]", "qnn.leaky_relu(%x, $s, $z, $s, $z, $a)" },
    { "%x: Tensor[(2, 3), $t]", "qnn.sigmoid(%x, $s, $z, $s, $z)" },
    { "%x: Tensor[(2, 3, 4), float32]", "quant.simulate(%x, $s, $z, $a)" },
    { "%x: Tensor[(2, 3, 4), float32]", "quant.range(%x, $a)" },
};
// clang-format on
/* What stands in a region: of %a of shape (1, 4, 5, 5), %b likewise, %w of (4, 4, 3, 3). */
static const char *const regions[] = {
    "nn.conv2d(%a, %w, $a)",
    "nn.relu(nn.bias_add(nn.conv2d(%a, %w, padding=[1, 1]), const[(4), float32]{0.1, -2, "
    "3, 0}))",
    "concatenate((%a, %b), $a)",
    "nn.pad(%a, 0.3f, $a)",
    "nn.max_pool2d(%a, $a)",
    "nn.avg_pool2d(%a, $a)",
    "mean(%a, $a)",
    "sum(%a, $a)",
    "add(%a, %b)",
    "clip(subtract(%a, %b), $a)",
    "multiply(%a, %b)",
    "multiply(%a, sigmoid(%a))",
    "nn.leaky_relu(%a, $a)",
    "nn.softmax(%a, $a)",
    "maximum(transpose(%a, $a), 0.2f)",
    "nn.relu(strided_slice(%a, $a))",
    "nn.global_avg_pool2d(%a)",
    "nn.matmul(%a, %b, transpose_b=True)",
    "take(%a, const[(2), int32]{0, 9}, $a)",
    "reshape(nn.conv2d_transpose(%a, %w), $a)",
};

static void add_piece(bt_text *text, struct input *in, char piece,
                      const char *const *some)
{
    if (piece == 's')
        bt_text_addf(text, "%s", pick(in, some, some == steps ? 8 : 16));
    else if (piece == 'z')
        bt_text_addf(text, "%d",
                     some == steps ? (int)take(in) % 8 : (int)take(in) * 3 - 128);
    else if (piece == 't')
        bt_text_addf(text, "%s", pick(in, codes, some == steps ? 6 : 8));
}

/* Attributes are what is left of the input: they are the last piece. */
static void add_text(bt_text *text, struct input *in, const char *format,
                     const char *const *some)
{
    for (const char *c = format; *c; c++) {
        if (*c != '$')
            bt_text_add(text, c, 1);
        else if (*++c == 'a')
            bt_text_add(text, in->left ? (const char *)in->at : "", in->left);
        else
            add_piece(text, in, *c, some);
    }
}

static void add_region(bt_text *text, struct input *in)
{
    const char *format =
        pick(in, regions, (uint32_t)(sizeof(regions) / sizeof(*regions)));
    struct input numbers = { in->at, in->left < 12 ? in->left : 12 };
    struct input rest = { in->at + numbers.left, in->left - numbers.left };
    bt_text_addf(text, "#[version = \"baton 0.1\"]\n");
    add_text(
        text, &numbers,
        "def @main(%x: Tensor[(1, 4, 5, 5), $t], %y: Tensor[(1, 4, 5, 5), $t], "
        "%v: Tensor[(4, 4, 3, 3), int8]) {\n"
        "let %a = qnn.dequantize(%x, $s, $z);\nlet %b = qnn.dequantize(%y, $s, $z);\n"
        "let %w = qnn.dequantize(%v, $s, 0);\nqnn.quantize(",
        steps);
    add_text(text, &rest, format, steps);
    add_text(text, &numbers, ", $s, $z, out_dtype=\"$t\")\n}\n", steps);
}

static void add_call(bt_text *text, struct input *in)
{
    const uint32_t row = take(in) % (uint32_t)(sizeof(calls) / sizeof(*calls));
    bt_text_addf(text, "#[version = \"baton 0.1\"]\ndef @main(");
    add_text(text, in, calls[row][0], scales);
    bt_text_addf(text, ") { ");
    add_text(text, in, calls[row][1], scales);
    bt_text_addf(text, " }\n");
}

/* ---- what is done with it ---- */

/* As near as floats add up: a step of 8 bits. */
static void compare(const bt_object *a, const bt_object *b, const char *text)
{
    const bt_tensor *x = bt_object_as_tensor(a), *y = bt_object_as_tensor(b);
    FUZZ_CHECK(x && y && x->dtype == y->dtype && x->nelem == y->nelem);
    const double most = BT_DTYPE_BITS(x->dtype) > 8 ? 256 : 1;
    for (int64_t i = 0; i < x->nelem; i++) {
        const double step = bt_tensor_get(x, i) - bt_tensor_get(y, i);
        if (step < -most || step > most)
            fprintf(stderr, "%s\nelement %lld: %g and %g\n", text, (long long)i,
                    bt_tensor_get(x, i), bt_tensor_get(y, i));
        FUZZ_CHECK(step >= -most && step <= most);
    }
}

static bt_object *run_main(bt_ctx *ctx, const bt_module *module)
{
    const bt_global *entry;
    return bt_module_entry(ctx, module, NULL, &entry) ? NULL : run(ctx, module, entry, 7);
}

static void use(bt_ctx *ctx, const bt_module *module, const char *text, int is_region)
{
    bt_pipeline *pipeline;
    bt_module *out;
    check_module(ctx, module);
    FUZZ_CHECK(!bt_pipeline_read(ctx, "qdq-to-integer, dead-code", &pipeline));
    bt_status status = bt_pipeline_run(
        ctx, pipeline, &(bt_pipeline_options){ .level = -1 }, module, &out);
    fuzz_check_status(ctx, status);
    bt_pipeline_destroy(pipeline);
    FUZZ_CHECK(!status || status->code == BT_ERR_LIMIT ||
               status->code == BT_ERR_ARGUMENT);
    FUZZ_CHECK(!status || status->code == BT_ERR_LIMIT || !is_region);
    if (status)
        return;
    check_module(ctx, out);
    bt_object *before = run_main(ctx, module), *behind = run_main(ctx, out);
    if (is_region && before && behind)
        compare(before, behind, text);
    bt_object_unref(before);
    bt_object_unref(behind);
    bt_module_unref(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static bt_registry *registry;
    struct input in = { bytes, nbytes };
    bt_module *parsed = NULL, *typed = NULL;
    bt_text text;
    if (!registry)
        registry = fuzz_registry(FUZZ_PLUGINS);
    bt_ctx *ctx = fuzz_context(registry);
    bt_text_init(&text, bt_ctx_scratch(ctx));
    const int is_region = take(&in) & 1;
    if (is_region) {
        add_region(&text, &in);
    } else {
        add_call(&text, &in);
    }
    const char *program = bt_text_get(&text);
    FUZZ_CHECK(program);
    bt_status status = bt_parse(ctx, "input", NULL, program, text.len, &parsed);
    if (!status)
        status = bt_infer(ctx, parsed, &typed);
    fuzz_check_status(ctx, status);
    if (!status)
        use(ctx, typed, program, is_region);
    bt_module_unref(typed);
    bt_module_unref(parsed);
    bt_ctx_destroy(ctx);
    return 0;
}
