/* baton quantize: a program whose layers compute on integers, and what that costs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/baton.h>

#include "import_options.h"
#include "program_text.h"
#include "progress.h"
#include "quantize.h"
#include "sample_run.h"
#include "sample_set.h"
#include "temporary.h"
#include "verbs.h"
#include "written.h"

enum { MAX_PROCESSES = 256 };

/* ---- what is asked for ---- */

/* "int8{skip=[\"a\"]}", and its name. */
static int read_row(struct tool *tool, const char *option, const char *preset,
                    const char **row, const char **name)
{
    const char *given = option_value(tool, option), *options;
    *row = given ? given : preset;
    bt_status status = bt_named_split(tool->ctx, bt_ctx_scratch(tool->ctx), option, *row,
                                      name, &options);
    if (status && status->code == BT_ERR_ARGUMENT)
        return tool_usage(tool, "--%s", status->message);
    return status ? tool_fail(tool, status) : EXIT_OK;
}

/* NULL: no memory. */
static const char *folder_of(const struct quantize *q, const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash          ? "."
           : slash == path ? "/"
                           : tool_text(q->tool, "%.*s", (int)(slash - path), path);
}

/* Before samples are run for minutes: whether the program may go there. */
static int check_output(const struct quantize *q)
{
    const char *path = q->output, *folder = folder_of(q, path);
    const char *dot = strrchr(path, '.');
    struct stat there;
    if (!folder)
        return tool_fail(q->tool, bt_no_memory());
    if (dot && strcmp(dot, ".onnx") == 0)
        return tool_usage(q->tool,
                          "-o %s: what is written is Baton's text (.baton), or "
                          "compiled (.bta), and no model of ONNX",
                          path);
    if (check_target_used(q->tool, path))
        return EXIT_USAGE;
    if (strcmp(path, "-") == 0)
        return EXIT_OK;
    const int is_there = stat(path, &there) == 0;
    if (is_same_file(q->tool->args[0], path))
        return tool_usage(q->tool, "-o %s is the model itself", path);
    if (is_there && S_ISDIR(there.st_mode))
        return tool_usage(q->tool, "-o %s is a folder: -o takes a file's name", path);
    if (access(is_there ? path : folder, W_OK) != 0)
        return tool_fail(q->tool,
                         bt_fail(q->tool->ctx, BT_ERR_IO, "%s cannot be written to: %s",
                                 path, strerror(errno)));
    return EXIT_OK;
}

/* What is there already may be written over where it is such a file itself. */
static bt_status check_statistics(const struct quantize *q)
{
    bt_ctx *ctx = q->tool->ctx;
    struct stat there;
    bt_file *file;
    bt_npz *npz = NULL;
    int is_own = 0;
    if (!q->statistics || stat(q->statistics, &there) != 0 || there.st_size == 0)
        return NULL;
    BT_TRY(bt_file_read(ctx, q->statistics, &file));
    bt_status status = bt_npz_read(ctx, q->statistics, file->bytes, file->nbytes, &npz);
    for (uint32_t i = 0; !status && i < npz->len; i++)
        is_own |= strcmp(npz->at[i].name, "program") == 0;
    bt_npz_destroy(ctx, npz);
    bt_file_close(ctx, file);
    return is_own || (status && status->code == BT_ERR_MEMORY)
               ? status
               : bt_fail(ctx, BT_ERR_ARGUMENT,
                         "--statistics %s: that file is there, and holds no statistics, "
                         "as baton quantize writes them: it stays as it is",
                         q->statistics);
}

static int read_asked(struct quantize *q)
{
    struct tool *tool = q->tool;
    const char *factor = option_value(tool, "factor"), *loss = option_value(tool, "loss");
    const char *scheme;
    char *end = NULL;
    q->data = option_value(tool, "data");
    q->test = option_value(tool, "test");
    q->output = option_value(tool, "output");
    q->statistics = option_value(tool, "statistics");
    static const char *const names[] = { "data", "test", "labels", "statistics" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        const char *name = option_value(tool, names[i]);
        if (name && !*name)
            return tool_usage(tool, "--%s takes a name, not \"\"", names[i]);
    }
    q->nprocess = sysconf(_SC_NPROCESSORS_ONLN);
    if (q->nprocess < 1 || q->nprocess > MAX_PROCESSES)
        q->nprocess = 1;
    q->factor = factor ? strtod(factor, &end) : 1;
    if (factor && (end == factor || *end || !isfinite(q->factor) || q->factor == 0))
        return tool_usage(tool, "--factor takes a number other than 0, not %s", factor);
    q->has_loss = loss != NULL;
    q->loss = loss ? strtod(loss, &end) : 0;
    if (loss && (end == loss || *end || !(q->loss >= 0 && q->loss <= 100)))
        return tool_usage(tool, "--loss takes percent, from 0 to 100, not %s", loss);
    if (option_value(tool, "trials") && !loss)
        return tool_usage(tool, "--trials is of a search: --loss says what for");
    q->search.ntrial = 16;
    if (!q->data)
        return tool_usage(tool, "--data FOLDER is missing: samples of what the program "
                                "takes, from which ranges are learned");
    if (!q->output || !*q->output)
        return tool_usage(tool, "-o FILE is missing: where the quantized program goes");
    int code = check_output(q);
    if (!code)
        code = read_row(tool, "scheme", "int8", &q->scheme, &scheme);
    if (!code)
        code = read_row(tool, "calibrate", "max", &q->calibrate, &q->calibration);
    if (!code)
        code = option_number(tool, "samples", 1, INT32_MAX, &q->nsample);
    if (!code)
        code = option_number(tool, "processes", 1, MAX_PROCESSES, &q->nprocess);
    if (!code)
        code = option_number(tool, "trials", 2, INT32_MAX, &q->search.ntrial);
    return code;
}

/* ---- passes ---- */

const char *quoted(struct quantize *q, const char *text)
{
    bt_text out;
    bt_text_init(&out, bt_ctx_scratch(q->tool->ctx));
    bt_text_addf(&out, "\"");
    for (; *text; text++)
        bt_text_addf(&out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bt_text_addf(&out, "\"");
    return bt_text_get(&out);
}

bt_status run_passes(struct quantize *q, const bt_module *from, const char *passes,
                     bt_module **out)
{
    const bt_pipeline_options options = { .level = -1,
                                          .entry = option_value(q->tool, "entry") };
    bt_pipeline *pipeline;
    if (!passes)
        return bt_no_memory();
    BT_TRY(bt_pipeline_read(q->tool->ctx, passes, &pipeline));
    bt_status status = bt_pipeline_run(q->tool->ctx, pipeline, &options, from, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

int write_model(struct quantize *q, const bt_module *module, const char *name)
{
    const char *path = tool_text(q->tool, "%s/%s.baton", q->work, name);
    return path ? write_program(q->tool, module, path)
                : tool_fail(q->tool, bt_no_memory());
}

/* Whether a remark is one of a layer in float: its notes are why, and the pass. */
static int is_of_layer(bt_status remark)
{
    static const char *const passes[] = { "pass quant-annotate", "pass qdq-to-integer" };
    const bt_diag *by = remark->note ? remark->note->note : NULL;
    return by &&
           (strcmp(by->message, passes[0]) == 0 || strcmp(by->message, passes[1]) == 0);
}

/* What passes said of calls since there were `from` remarks: of each call, what was said first. */
static bt_status take_notes(struct quantize *q, uint32_t from)
{
    bt_ctx *ctx = q->tool->ctx;
    for (uint32_t i = from; i < bt_ctx_nremark(ctx, BT_REMARK_DETAIL); i++) {
        bt_status remark = bt_ctx_remark(ctx, BT_REMARK_DETAIL, i);
        int is_new = is_of_layer(remark);
        for (size_t k = 0; is_new && k < q->notes.len; k++)
            is_new = strcmp(q->notes.at[k]->message, remark->message) != 0;
        if (is_new && !BT_PUSH(bt_ctx_scratch(ctx), &q->notes, remark))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- sites ---- */

static bt_status list_sites(struct quantize *q)
{
    const bt_global *entry;
    BT_TRY(bt_module_entry(q->tool->ctx, q->annotated, option_value(q->tool, "entry"),
                           &entry));
    const bt_block *block = entry->func->block;
    bt_func plain = *entry->func;
    plain.attrs = (bt_dict){ 0 };
    q->digest = bt_func_hash(&plain); // as quant-calibrate looks for it
    q->rows = BT_NEWS(bt_ctx_scratch(q->tool->ctx), struct row, block->nbinding);
    q->bins = BT_NEWS(bt_ctx_scratch(q->tool->ctx), bt_tensor *, block->nbinding);
    if (!q->rows || !q->bins)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_op_call(block->bindings[i], "quant.simulate");
        struct row *row = &q->rows[q->nrow];
        if (!call)
            continue;
        q->nrow++;
        *row = (struct row){ .name = bt_call_text(call, "site"), .call = call };
        row->constant = bt_const_tensor(bt_module_constant(q->annotated, call->args[0]));
        row->codes =
            tool_text(q->tool, "%lld..%lld", (long long)bt_call_int(call, "low", 0),
                      (long long)bt_call_int(call, "high", 0));
    }
    return q->nrow
               ? NULL
               : bt_fail(q->tool->ctx, BT_ERR_ARGUMENT,
                         "scheme %s gives no call of %s codes: it has no products with "
                         "operands of known sizes, or all are left out (--dim NAME=N "
                         "gives an open dim a size)",
                         q->scheme, q->tool->args[0]);
}

/* ---- what it costs ---- */

static void take_error(void *self, int64_t sample, int64_t n, const double *row)
{
    struct quantize *q = self;
    (void)sample;
    for (uint32_t i = 0; i < q->nrow && n >= 2; i++, n -= 2, row += 2) {
        if (!isfinite(row[0]) || !isfinite(row[1]))
            continue; // of samples with NaN or infinities nothing can be said
        q->rows[i].signal += row[0];
        q->rows[i].noise += row[1];
    }
}

/* The results of both programs, one behind the other. */
static void take_results(void *self, int64_t sample, int64_t n, const double *row)
{
    struct quantize *q = self;
    const int64_t half = n / 2;
    int64_t best[2] = { 0, 0 };
    for (int64_t i = 0; i < half; i++) {
        const double x = row[i], y = row[half + i];
        if (isfinite(x) && isfinite(y)) {
            q->signal += x * x;
            q->noise += (x - y) * (x - y);
        }
        best[0] = x > row[best[0]] ? i : best[0];
        best[1] = y > row[half + best[1]] ? i : best[1];
    }
    q->nrun++;
    q->nsame += best[0] == best[1];
    for (uint32_t k = 0; k < 2 && q->labels && sample < q->labels->nelem; k++)
        q->nright[k] += bt_tensor_get_int(q->labels, sample) == best[k];
}

static int measure_sites(struct quantize *q)
{
    struct sample_run errors = { .what = "errors", .take = take_error };
    const int code = observe(q, "error", q->calibrated, &errors);
    return code ? code : write_model(q, q->model, "float");
}

/* There is one for each sample that was run; more, where --samples says to take fewer. */
static bt_status check_labels(const struct quantize *q, int64_t nsample)
{
    const int64_t n = q->labels ? q->labels->nelem : nsample;
    return n == nsample || (n > nsample && q->nsample && !q->test)
               ? NULL
               : bt_fail(q->tool->ctx, BT_ERR_ARGUMENT,
                         "%s holds %lld labels, and %s has %lld samples",
                         option_value(q->tool, "labels"), (long long)n,
                         q->test ? q->test : q->data, (long long)nsample);
}

int compare_results(struct quantize *q)
{
    struct sample_run results = { .what = q->what ? q->what : "results",
                                  .take = take_results };
    const char *models[3] = { tool_text(q->tool, "%s/float.baton", q->work),
                              tool_text(q->tool, "%s/integer.baton", q->work), NULL };
    const int code = write_model(q, q->integer, "integer");
    if (code)
        return code;
    q->nrun = q->nsame = q->nright[0] = q->nright[1] = 0;
    q->signal = q->noise = 0;
    begin_run(q, &results);
    results.models = models;
    results.entry = option_value(q->tool, "entry");
    if (q->test) {
        results.folder = q->test;
        results.nsample = 0;
    }
    const int ran = run_samples(&results);
    if (!ran)
        TRY_TOOL(q->tool, check_labels(q, results.ndone));
    return ran;
}

/* ---- the verb ---- */

static int make_folder(struct quantize *q)
{
    TRY_TOOL(q->tool,
             make_temporary(q->tool->ctx, "baton-quantize", q->work, sizeof(q->work)));
    if (!q->statistics)
        q->statistics = tool_text(q->tool, "%s/statistics.npz", q->work);
    return q->statistics ? EXIT_OK : tool_fail(q->tool, bt_no_memory());
}

static void remove_folder(const struct quantize *q)
{
    static const char *const programs[] = { "range", "bins",    "moments",   "error",
                                            "float", "integer", "statistics" };
    static const char *const ends[] = { "baton", "npz" };
    for (uint32_t i = 0; *q->work && i < 2 * BT_COUNT(programs); i++) {
        const char *path =
            tool_text(q->tool, "%s/%s.%s", q->work, programs[i / 2], ends[i % 2]);
        if (path)
            unlink(path);
    }
    if (*q->work)
        rmdir(q->work);
}

/* Samples are read while others are written. */
static int check_samples(struct quantize *q, const char *folder)
{
    const char *const paths[] = { q->output, q->statistics };
    for (uint32_t i = 0; i < BT_COUNT(paths); i++) {
        if (paths[i] && strcmp(paths[i], "-") != 0 && is_in_folder(paths[i], folder))
            return tool_usage(q->tool,
                              "%s lies among the samples of %s: write it elsewhere",
                              paths[i], folder);
    }
    return EXIT_OK;
}

/* Once the model was read, and before anything is written. */
static int check_files(struct quantize *q)
{
    const struct written files[] = { { q->output, "the compiled program" },
                                     { q->statistics, "the statistics" } };
    int code = has_suffix(q->output, ".bta")
                   ? check_written(q->tool, BT_COUNT(files), files)
                   : check_program(q->tool, q->output, q->statistics, "the statistics");
    if (!code)
        code = check_samples(q, q->data);
    if (!code && q->test)
        code = check_samples(q, q->test);
    if (!code)
        TRY_TOOL(q->tool, check_statistics(q));
    return code;
}

static int prepare(struct quantize *q)
{
    bt_module *module, *typed;
    bt_import_options import = read_import_options(q->tool);
    const void *row;
    TRY_TOOL(q->tool, bt_registry_row(q->tool->ctx, "quant.calibrate/1", q->calibration,
                                      sizeof(bt_quant_calibrate), &row));
    q->needs = ((const bt_quant_calibrate *)row)->needs;
    TRY_TOOL(q->tool, bt_import(q->tool->ctx, q->tool->args[0], &import, &module));
    bt_status status = bt_infer(q->tool->ctx, module, &typed);
    bt_module_unref(module);
    TRY_TOOL(q->tool, status);
    status =
        bt_outputs_name(q->tool->ctx, typed, option_value(q->tool, "entry"), &module);
    bt_module_unref(typed);
    TRY_TOOL(q->tool, status);
    status = run_passes(q, module, "default", &q->model);
    bt_module_unref(module);
    TRY_TOOL(q->tool, status);
    const uint32_t nremark = bt_ctx_nremark(q->tool->ctx, BT_REMARK_DETAIL);
    TRY_TOOL(q->tool, run_passes(q, q->model,
                                 tool_text(q->tool, "quant-annotate{scheme=%s}",
                                           quoted(q, q->scheme)),
                                 &q->annotated));
    TRY_TOOL(q->tool, take_notes(q, nremark));
    TRY_TOOL(q->tool, list_sites(q));
    const int code = check_files(q);
    return code ? code : make_folder(q);
}

static int calibrate(struct quantize *q)
{
    const char *passes = tool_text(q->tool, "quant-calibrate{by=%s, statistics=%s}",
                                   quoted(q, q->calibrate), quoted(q, q->statistics));
    TRY_TOOL(q->tool, run_passes(q, q->annotated, passes, &q->calibrated));
    return EXIT_OK;
}

static const bt_block *entry_block(struct quantize *q, const bt_module *module)
{
    const bt_global *entry;
    bt_status status =
        bt_module_entry(q->tool->ctx, module, option_value(q->tool, "entry"), &entry);
    return status ? NULL : entry->func->block;
}

/* Without the sites of layers that are skipped; which sites there are no more. */
static bt_status skip_sites(struct quantize *q, bt_module **out)
{
    bt_text text;
    uint32_t n = 0;
    bt_text_init(&text, bt_ctx_scratch(q->tool->ctx));
    bt_text_addf(&text, "quant-skip{weights=[");
    for (uint32_t i = 0; i < q->nrow; i++) {
        if (q->rows[i].is_skipped || q->rows[i].is_stuck)
            bt_text_addf(&text, "%s%s", n++ ? ", " : "", quoted(q, q->rows[i].name));
    }
    bt_text_addf(&text, "]}, dead-code");
    for (uint32_t i = 0; i < q->nrow; i++)
        q->rows[i].is_float = n > 0;
    if (!n) {
        *out = bt_module_ref(q->calibrated);
        return NULL;
    }
    BT_TRY(run_passes(q, q->calibrated, bt_text_get(&text), out));
    const bt_block *block = entry_block(q, *out);
    for (uint32_t k = 0; block && k < block->nbinding; k++) {
        const bt_call *site = bt_as_op_call(block->bindings[k], "quant.simulate");
        for (uint32_t i = 0; site && i < q->nrow; i++)
            q->rows[i].is_float &=
                strcmp(bt_call_text(site, "site"), q->rows[i].name) != 0;
    }
    return NULL;
}

/* Layers whose weights are numbers again: they are to have no codes then. */
static uint32_t find_stuck(struct quantize *q)
{
    const bt_block *block = entry_block(q, q->integer);
    uint32_t n = 0;
    for (uint32_t k = 0; block && k < block->nbinding; k++) {
        const bt_call *call = bt_as_op_call(block->bindings[k], "qnn.dequantize");
        for (uint32_t i = 0; call && call->base.name && i < q->nrow; i++) {
            struct row *row = &q->rows[i];
            if (!row->constant || row->is_stuck ||
                strcmp(row->name, call->base.name) != 0)
                continue;
            row->is_stuck = 1;
            n++;
        }
    }
    return n;
}

int realize(struct quantize *q)
{
    const char *passes = tool_text(
        q->tool,
        "quant-realize, qdq-to-integer, dead-code, quant-accumulate{scheme=%s}, "
        "common-subexpr, dead-code",
        quoted(q, q->scheme));
    int is_told = q->search.ndone > 0; // of trials nobody asked
    uint32_t nstuck;
    do {
        const uint32_t nremark = bt_ctx_nremark(q->tool->ctx, BT_REMARK_DETAIL);
        bt_module *codes;
        bt_module_unref(q->integer);
        q->integer = NULL;
        TRY_TOOL(q->tool, skip_sites(q, &codes));
        bt_status status = run_passes(q, codes, passes, &q->integer);
        bt_module_unref(codes);
        TRY_TOOL(q->tool, status);
        nstuck = find_stuck(q);
        if (!is_told || nstuck)
            TRY_TOOL(q->tool, take_notes(q, nremark));
        is_told = 1;
    } while (nstuck);
    return EXIT_OK;
}

/* Where each layer stays in float the program is the one that was given. */
static int check_quantized(struct quantize *q)
{
    uint32_t i = 0;
    bt_status status;
    while (i < q->nrow && q->rows[i].is_float)
        i++;
    if (i < q->nrow)
        return EXIT_OK;
    status =
        bt_fail(q->tool->ctx, BT_ERR_ARGUMENT,
                "nothing of %s was quantized: by scheme %s each of its layers stays in "
                "float",
                q->tool->args[0], q->scheme);
    for (size_t k = 0; k < q->notes.len; k++)
        status = bt_note(q->tool->ctx, status, NULL, 0, "%s: %s", q->notes.at[k]->message,
                         q->notes.at[k]->note->message);
    return tool_fail(q->tool, status);
}

/* Labels: IDX as MNIST has it, or .npy. */
static int read_labels(struct quantize *q)
{
    const char *path = option_value(q->tool, "labels");
    if (!path)
        return EXIT_OK;
    TRY_TOOL(q->tool, sample_array_read(q->tool->ctx, path, &q->labels));
    const uint32_t class_ = BT_DTYPE_CLASS(q->labels->dtype);
    if (q->labels->rank == 1 && (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT))
        return EXIT_OK;
    return tool_fail(q->tool,
                     bt_fail(q->tool->ctx, BT_ERR_ARGUMENT,
                             "%s is %s, and labels are integers with one axis: one for "
                             "each sample",
                             path, type_text(bt_ctx_scratch(q->tool->ctx), q->labels)));
}

/* A program as text; an artifact where the name ends as those of baton compile do. */
static int write_output(struct quantize *q)
{
    if (!has_suffix(q->output, ".bta"))
        return print_program(q->tool, q->integer, q->output);
    const bt_program_options options = { .entry = option_value(q->tool, "entry"),
                                         .target = option_value(q->tool, "target") };
    const char *model = tool_text(q->tool, "%s/integer.baton", q->work);
    if (!model)
        return tool_fail(q->tool, bt_no_memory());
    begin_progress(q->tool);
    bt_status status = bt_program_compile(q->tool->ctx, model, &options, q->output);
    end_progress(q->tool);
    return status ? tool_fail(q->tool, status) : EXIT_OK;
}

static int quantize(struct quantize *q)
{
    int code = read_labels(q);
    if (!code)
        code = prepare(q);
    if (!code)
        code = learn(q);
    if (!code)
        code = calibrate(q);
    if (!code)
        code = measure_sites(q);
    if (!code)
        code = realize(q);
    if (!code && q->has_loss)
        code = search_layers(q);
    if (!code && !q->has_loss)
        code = check_quantized(q);
    if (!code)
        code = compare_results(q);
    if (!code)
        code = write_output(q);
    return code ? code : print_report(q);
}

static int run(struct tool *tool)
{
    struct quantize q = { .tool = tool };
    int code = read_asked(&q);
    if (code)
        return code;
    code = quantize(&q);
    bt_module *const modules[] = { q.model, q.annotated, q.calibrated, q.integer };
    for (uint32_t i = 0; i < q.nrow; i++) {
        bt_tensor_unref(q.bins[i]);
        bt_tensor_unref(q.rows[i].moments);
    }
    for (uint32_t i = 0; i < BT_COUNT(modules); i++)
        bt_module_unref(modules[i]);
    bt_tensor_unref(q.labels);
    remove_folder(&q);
    return code;
}

static const struct option options[] = {
    { "output", 'o', "FILE",
      "the program to write (must be given), large constants to a .npz beside it; "
      "FILE.bta: compiled, as baton compile does" },
    { "target", 0, "NAME", "what FILE.bta is for (default: cpu)" },
    { "loss", 0, "PERCENT",
      "leave layers in float until no more of the samples are lost: of right answers, or "
      "without --labels of equal greatest results" },
    { "trials", 0, "N", "programs that are tried for --loss, at most (default: 16)" },
    { "json", 0, NULL, "print one JSON object" },
    { "scheme", 0, "NAME",
      "which codes there are (default: int8): 'int8{skip=[\"conv1\"]}'" },
    { "calibrate", 0, "NAME",
      "how scales are chosen (default: max): 'percentile{percent=99.9f}'" },
    { "data", 0, "FOLDER",
      "samples of what the program takes, or a file of them (must be given)" },
    { "test", 0, "FOLDER",
      "samples on which both programs are compared (default: --data)" },
    { "labels", 0, "FILE", "of these: the places at which the greatest result is right" },
    { "factor", 0, "X", "numbers of samples are multiplied by it (default: 1)" },
    { "samples", 0, "N", "the first N samples (default: all)" },
    { "processes", 0, "N",
      "that run samples (default: as many as there are processors)" },
    { "statistics", 0, "FILE",
      "write there what was seen of the samples, anew each time" },
    { "entry", 0, "FUNCTION", "function to quantize (default: main, or the only one)" },
    IMPORT_OPTIONS,
    { 0 },
};

const struct verb verb_quantize = {
    .name = "quantize",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Make a program that computes on integers of one on floats.",
    // clang-format off
    .details = "MODEL is anything that run takes; what is written is a program as any other.\n"
               "The scheme says which codes stand for the operands of layers (baton list\n"
               "schemes), the calibration which scales they have (baton list calibrations);\n"
               "NAME{options} as baton list schemes NAME documents them.\n"
               "\n"
               "FOLDER holds samples, which are taken in order of the files' names: .npy or IDX\n"
               "files (MNIST) where the program has one input, else .npz with an array for each\n"
               "input by its name; one sample a file, or several along the first axis. They are\n"
               "run one after the other, and nothing but ranges and counts is kept of them.\n"
               "\n"
               "It tells of each site, which is an operand of a layer, how much stronger the\n"
               "numbers are there than what their codes lose; of the results the same, and how\n"
               "often the greatest number stands at the same place, or at that of --labels; and\n"
               "the bytes of constants. Layers that cannot do with integers stay as they were,\n"
               "and are named.",
    .examples = "  baton quantize digits.baton --data samples -o q.baton\n"
                "  baton quantize digits.baton --data samples --calibrate mse -o q.baton\n"
                "  baton quantize digits.baton --data samples --scheme int4 --loss 1 -o q.baton\n"
                "  baton quantize digits.baton --data samples -o q.bta",
    // clang-format on
    .options = options,
    .run = run,
};
