/* Schemes and calibrations on small programs: their forms are possible, what is
 * computed on codes is a valid program, and scales are scales. */
#include "quant_check.h"

#include <string.h>

#include <baton/ir.h>
#include <baton/pass.h>

/* Layers of each kind, one after the other, a residual, and a table of
 * products. */
static const char layers[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(1, 2, 6, 6), float32]) {\n"
    "    %a = nn.relu(nn.conv2d(%x, const[(4, 2, 3, 3), float32]{0.5 ..}, "
    "padding=[1]));\n"
    "    %b = nn.conv2d(%a, const[(4, 1, 3, 3), float32]{0.25 ..}, "
    "padding=[1], groups=4);\n"
    "    %c = nn.max_pool2d(nn.relu(add(%a, nn.relu(%b))), pool_size=[2, 2], "
    "strides=[2, 2]);\n"
    "    %d = nn.dense(nn.batch_flatten(%c), const[(3, 36), float32]{-0.125 "
    "..});\n"
    "    nn.softmax(nn.bias_add(%d, const[(3), float32]{1, 2, 3}))\n"
    "}\n";

/* Ranges: of both signs, of one, narrow, wide, of nothing but zeros, of one
 * number; for all and by channel, with zero points and without. */
#define SITE(constant, form) "quant.simulate(const" constant ", 0f, 0" form ")"
static const char ranges[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main() { (" SITE("[(3), float32]{-1, 0.5, 2}",
                           "") ", " SITE("[(3), float32]{1, 0.5, 2}",
                                         ", dtype=\"uint8\", low=0, high=255, "
                                         "is_affine=True") ", " SITE("[(2), "
                                                                     "float32]{-1e-30, "
                                                                     "1e-30}",
                                                                     "") ", " SITE("[(2),"
                                                                                   " floa"
                                                                                   "t32]{"
                                                                                   "-1e30"
                                                                                   ", "
                                                                                   "3e38"
                                                                                   "}",
                                                                                   ", "
                                                                                   "low=-"
                                                                                   "7, "
                                                                                   "high="
                                                                                   "7") ", " SITE("[(2), float32]{0 "
                                                                                                  "..}",
                                                                                                  "") ", " SITE("[(2)"
                                                                                                                ", "
                                                                                                                "floa"
                                                                                                                "t32]"
                                                                                                                "{0 "
                                                                                                                "..}",
                                                                                                                ", "
                                                                                                                "dtyp"
                                                                                                                "e="
                                                                                                                "\"ui"
                                                                                                                "nt8"
                                                                                                                "\", "
                                                                                                                "low="
                                                                                                                "0, "
                                                                                                                "high"
                                                                                                                "=255"
                                                                                                                ", "
                                                                                                                "is_"
                                                                                                                "affi"
                                                                                                                "ne="
                                                                                                                "Tru"
                                                                                                                "e") ", " SITE("[(1), float32]{-3}",
                                                                                                                               ", scale_kind=\"power2\"") ", "
                                                                                                                                                          "quant.simulate(const[(2, 2), float32]{1, 2, 0, 0}, const[(2), float32]{0 ..}, "
                                                                                                                                                          "const[(2), int32]{0 ..}, axis=0, low=-127)) }\n";

static bt_status try_passes(bt_ctx *ctx, const char *program, const char *passes)
{
    const bt_pipeline_options options = { .level = -1, .verify_each = 1 };
    bt_module *module = NULL, *typed = NULL, *out = NULL;
    bt_pipeline *pipeline = NULL;
    bt_status status =
        passes ? bt_parse(ctx, "plugin check", NULL, program, strlen(program), &module)
               : bt_no_memory();
    if (!status)
        status = bt_infer(ctx, module, &typed);
    if (!status)
        status = bt_pipeline_read(ctx, passes, &pipeline);
    if (!status)
        status = bt_pipeline_run(ctx, pipeline, &options, typed, &out);
    bt_pipeline_destroy(pipeline);
    bt_module_unref(out);
    bt_module_unref(typed);
    bt_module_unref(module);
    return status;
}

static int check_kind(struct tool *tool, const char *kind, const char *plugin,
                      const char *program, const char *format, uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, kind); i++) {
        bt_provided item;
        bt_text passes;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, kind, i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) != 0)
            continue;
        bt_text_init(&passes, bt_ctx_scratch(tool->ctx));
        for (const char *at = format; *at; at++)
            bt_text_addf(&passes, *at == '@' ? "%s" : "%.1s",
                         *at == '@' ? item.name : at);
        bt_status status = try_passes(tool->ctx, program, bt_text_get(&passes));
        printf("  %s  %s %s\n", status ? "FAILED" : "ok    ", kind, item.name);
        if (status) {
            fflush(stdout);
            (void)tool_fail(tool, status);
            ++*nbroken;
        }
        bt_ctx_clear_diags(tool->ctx);
    }
    return EXIT_OK;
}

int check_quant(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    const int code =
        check_kind(tool, "scheme", plugin, layers,
                   "quant-annotate{scheme=\"@\"}, quant-calibrate{by=\"global\"}, "
                   "quant-realize, qdq-to-integer, dead-code, "
                   "quant-accumulate{scheme=\"@\"}",
                   nbroken);
    return code ? code
                : check_kind(tool, "calibrate", plugin, ranges,
                             "quant-calibrate{by=\"@\"}, quant-realize", nbroken);
}
