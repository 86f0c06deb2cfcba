/* baton train: what a model learns from samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import_options.h"
#include "progress.h"
#include "target_options.h"
#include "train.h"
#include "written.h"

enum { MAX_BATCH = 1 << 20 };

/* ---- what is asked for ---- */

static int read_real(const struct tool *tool, const char *name, double above, double *out)
{
    const char *text = option_value(tool, name);
    double value;
    if (!text)
        return EXIT_OK;
    const size_t n = bt_number_read(text, &value);
    if (n && !text[n] && isfinite((float)value) && (float)value > above) {
        *out = value;
        return EXIT_OK;
    }
    return isfinite(above)
               ? tool_usage(tool, "--%s takes a finite float32 above %g, not %s", name,
                            above, text)
               : tool_usage(tool, "--%s takes a finite float32, not %s", name, text);
}

static int read_asked(struct train *t, int64_t *batch)
{
    struct tool *tool = t->tool;
    // clang-format off
    static const char *const once[] = {
        "data", "labels", "test", "test-labels", "factor", "loss", "schedule", "clip", "precision",
        "loss-scale", "epochs", "batch", "accumulate", "checkpoint-memory", "seed", "output", "every",
        "initialise", "entry", "target", "threads", NULL
    };
    // clang-format on
    int code = EXIT_OK;
    tell_given_twice(tool, once);
    if (!option_value(tool, "data"))
        return tool_usage(tool, "--data FILE is missing: the samples to learn from");
    if (option_value(tool, "test-labels") && !option_value(tool, "test"))
        return tool_usage(tool, "--test-labels is of --test, which is missing");
    if (option_value(tool, "resume") && option_value(tool, "initialise"))
        return tool_usage(tool,
                          "--resume goes on with parameters, and --initialise begins "
                          "with others: give one of them");
    t->is_evaluation = option_value(tool, "evaluate") != NULL;
    if (t->is_evaluation && option_value(tool, "resume"))
        return tool_usage(tool,
                          "--evaluate learns nothing, and --resume goes on learning: "
                          "--initialise FILE brings a checkpoint to evaluate");
    t->nepoch = 10;
    t->seed = 1;
    const struct {
        const char *name;
        int64_t low, high, *out;
    } numbers[] = {
        { "epochs", 1, INT32_MAX, &t->nepoch },
        { "batch", 1, MAX_BATCH, batch },
        { "every", 1, INT64_MAX, &t->every },
        { "seed", 0, INT64_MAX, &t->seed },
    };
    for (uint32_t i = 0; !code && i < BT_COUNT(numbers); i++)
        code = option_number(tool, numbers[i].name, numbers[i].low, numbers[i].high,
                             numbers[i].out);
    t->is_quiet = option_value(tool, "json") != NULL;
    t->folder = option_value(tool, "output");
    if (t->folder && !*t->folder)
        return tool_usage(tool, "--output: a folder has a name");
    if (!t->folder)
        t->folder = default_folder(tool);
    return code || t->folder ? code : tool_fail(tool, bt_no_memory());
}

/* Batches of the model's size, of which a step takes one or several. */
static int split_batch(struct train *t, int64_t batch, int64_t nmicro)
{
    const int64_t own = t->inputs[0].dims[0];
    const int64_t all = batch ? batch : nmicro * own;
    if (all % own != 0 || (option_value(t->tool, "accumulate") && all / own != nmicro))
        return tool_usage(t->tool,
                          "--batch %lld: the model takes batches of %lld samples, and a "
                          "step is of as many, or of several of them",
                          (long long)batch, (long long)own);
    t->nmicro = (uint32_t)(all / own);
    return EXIT_OK;
}

static int read_model(struct train *t, int64_t batch)
{
    int64_t nmicro = 1;
    int code = option_number(t->tool, "accumulate", 1, MAX_BATCH, &nmicro);
    if (code)
        return code;
    const int64_t all = batch ? batch : 64 * nmicro;
    if (all % nmicro != 0)
        return tool_usage(t->tool,
                          "--accumulate %lld: a batch of %lld has no so many equal "
                          "parts",
                          (long long)nmicro, (long long)all);
    code = read_trained(t->tool, all / nmicro, &t->model);
    if (code)
        return code;
    TRY_TOOL(t->tool, find_inputs(t));
    return split_batch(t, batch, nmicro);
}

static int read_data(struct train *t)
{
    struct tool *tool = t->tool;
    const char *test = option_value(tool, "test");
    struct train_files files = { .path = option_value(tool, "data"),
                                 .labels = option_value(tool, "labels"),
                                 .labels_option = "--labels",
                                 .factor = 1 };
    int code = read_real(tool, "factor", -INFINITY, &files.factor);
    if (code)
        return code;
    if ((float)files.factor == 0)
        return tool_usage(tool, "--factor %s makes zeros of all samples",
                          option_value(tool, "factor"));
    TRY_TOOL(tool, train_data_open(tool->ctx, &files, t->ninput, t->inputs, &t->data));
    TRY_TOOL(tool, train_data_digest(t->data, t->digest));
    files.path = test;
    files.labels = option_value(tool, "test-labels");
    files.labels_option = "--test-labels";
    if (test)
        TRY_TOOL(tool,
                 train_data_open(tool->ctx, &files, t->ninput, t->inputs, &t->test));
    if (t->is_evaluation)
        return EXIT_OK;
    const int64_t n = train_data_len(t->data), batch = t->nmicro * t->inputs[0].dims[0];
    t->nper_epoch = n / batch;
    t->order = BT_NEWS(bt_ctx_scratch(tool->ctx), int64_t, (size_t)n);
    if (!t->order)
        return tool_fail(tool, bt_no_memory());
    if (!t->nper_epoch)
        return tool_fail(
            tool, bt_fail(tool->ctx, BT_ERR_ARGUMENT,
                          "%s has %lld samples, and a step takes %lld: --batch "
                          "N takes fewer",
                          option_value(tool, "data"), (long long)n, (long long)batch));
    return EXIT_OK;
}

/* Nothing that was read is written over. */
static int check_files(struct train *t)
{
    if (t->is_evaluation) {
        TRY_TOOL(t->tool, make_work_folder(t));
        return EXIT_OK;
    }
    const struct written files[] = {
        { tool_text(t->tool, "%s/step.baton", t->folder), "the program of a step" },
        { tool_text(t->tool, "%s/curve.csv", t->folder), "the curve" },
        { tool_text(t->tool, "%s/curve.svg", t->folder), "the picture of the curve" },
    };
    return check_written(t->tool, BT_COUNT(files), files);
}

/* ---- the training ---- */

/* No training is lost by one that begins in its folder: before anything is compiled, and once the
 * folder is there. */
static int check_folder(struct train *t)
{
    const char *path;
    if (t->is_evaluation)
        return EXIT_OK;
    TRY_TOOL(t->tool, hold_folder(t));
    TRY_TOOL(t->tool, last_checkpoint(t, &path));
    if (path && !option_value(t->tool, "resume"))
        return tool_usage(t->tool,
                          "%s holds a training already: --resume goes on with it, and -o "
                          "FOLDER begins one elsewhere",
                          t->folder);
    return EXIT_OK;
}

static int make_batches(struct train *t)
{
    const uint32_t n = t->ninput + 1;
    bt_arena *arena = bt_ctx_scratch(t->tool->ctx);
    t->batches = BT_NEWS(arena, bt_tensor *, (size_t)n * t->nmicro);
    t->parts = BT_NEWS(arena, bt_tensor **, t->nmicro);
    if (!t->batches || !t->parts)
        return tool_fail(t->tool, bt_no_memory());
    for (uint32_t k = 0; k < t->nmicro; k++) {
        TRY_TOOL(t->tool, train_batch_create(t->data, &t->parts[k]));
        memcpy(t->batches + (size_t)k * n, t->parts[k], n * sizeof(*t->batches));
    }
    return EXIT_OK;
}

static int read_scale(const struct tool *tool, bt_training_options *out)
{
    const char *text = option_value(tool, "loss-scale");
    if (!text || strcmp(text, "dynamic") != 0)
        return read_real(tool, "loss-scale", 0, &out->loss_scale);
    out->loss_scale = 0x1p16;
    out->scale_steps = 2000;
    return EXIT_OK;
}

static int open_training(struct train *t)
{
    struct tool *tool = t->tool;
    struct train_input label, test;
    const void *row;
    train_data_label(t->data, &label);
    bt_training_options options = {
        .entry = option_value(tool, "entry"),
        .loss = option_value(tool, "loss"),
        .optimizers = option_values(tool, "optimizer"),
        .schedule = option_value(tool, "schedule"),
        .nmicro = t->nmicro,
        .fixed = option_values(tool, "fixed"),
        .label_dtype = label.dtype,
        .label_rank = label.rank,
        .label_dims = label.dims,
        .folder = t->folder,
        .seed = (uint64_t)t->seed,
        .nstep = t->nepoch * t->nper_epoch,
        .initializers = option_values(tool, "initializer"),
        .learned = option_values(tool, "learn"),
        .precision = option_value(tool, "precision"),
        .only_evaluates = (uint32_t)t->is_evaluation,
    };
    if (t->test)
        train_data_label(t->test, &test);
    if (t->test && memcmp(&test.dtype, &label.dtype,
                          sizeof(test) - offsetof(struct train_input, dtype)))
        return tool_usage(tool,
                          "labels of --test are of another type than those of --data");
    int code = read_real(tool, "clip", 0, &options.clip);
    if (!code)
        code = read_scale(tool, &options);
    if (!code)
        code = option_number(tool, "checkpoint-memory", 1, INT64_MAX,
                             &options.checkpoint_memory);
    if (!code)
        code = read_targets(tool, &options.target);
    if (code)
        return code;
    TRY_TOOL(tool, bt_folder_make(tool->ctx, t->folder));
    code = check_folder(t);
    if (code)
        return code;
    TRY_TOOL(tool,
             bt_registry_row(tool->ctx, BT_TRAINER, "train", sizeof(*t->trainer), &row));
    t->trainer = row;
    begin_progress(tool);
    bt_status status =
        t->trainer->open(tool->ctx, t->model, &options, sizeof(options), &t->training);
    end_progress(tool);
    if (status)
        return tool_fail(tool, status);
    t->info = t->trainer->info(t->training);
    for (uint32_t i = 0; i < 2 && t->info->nclass; i++) {
        const struct train_data *data = i ? t->test : t->data;
        if (data)
            TRY_TOOL(tool, train_data_check(data, t->info->nclass));
    }
    return make_batches(t);
}

static int begin_training(struct train *t)
{
    const char *from = option_value(t->tool, "initialise");
    if (option_value(t->tool, "resume"))
        TRY_TOOL(t->tool, resume_training(t));
    if (from)
        TRY_TOOL(t->tool, t->trainer->load(t->training, from, 1));
    if (t->is_quiet)
        return EXIT_OK;
    int64_t nelem = 0;
    for (uint32_t i = 0; i < t->info->nparam; i++)
        nelem += t->info->params[i].value->nelem;
    const int64_t nsample = train_data_len(t->data);
    printf(
        "%lld parameter%s in %u tensor%s, %lld sample%s, %lld step%s of %lld an epoch; "
        "checkpoints and curves in %s\n",
        (long long)nelem, PLURAL(nelem), t->info->nparam, PLURAL(t->info->nparam),
        (long long)nsample, PLURAL(nsample), (long long)t->nper_epoch,
        PLURAL(t->nper_epoch), (long long)(t->nmicro * t->info->batch), t->folder);
    show_learned(t);
    if (t->info->step >= t->nepoch * t->nper_epoch)
        printf("nothing is left to do: it stands at step %lld, and --epochs %lld ends at "
               "%lld; a greater number goes on\n",
               (long long)t->info->step, (long long)t->nepoch,
               (long long)(t->nepoch * t->nper_epoch));
    else if (t->info->step)
        printf("goes on from step %lld\n", (long long)t->info->step);
    return EXIT_OK;
}

static int train(struct train *t)
{
    int64_t batch = 0;
    int code = read_asked(t, &batch);
    if (!code)
        code = check_folder(t);
    if (!code)
        code = read_model(t, batch);
    if (!code)
        code = read_data(t);
    if (!code)
        code = check_files(t);
    if (!code)
        code = open_training(t);
    if (!code)
        code = t->is_evaluation ? run_evaluation(t) : begin_training(t);
    return code || t->is_evaluation ? code : run_training(t);
}

static int run(struct tool *tool)
{
    struct train t = { .tool = tool, .hold = -1 };
    t.kept = bt_arena_create(bt_ctx_registry(tool->ctx));
    const int code = t.kept ? train(&t) : tool_fail(tool, bt_no_memory());
    for (uint32_t k = 0; t.parts && k < t.nmicro; k++)
        train_batch_destroy(t.data, t.parts[k]);
    if (t.trainer)
        t.trainer->close(t.training);
    train_data_close(t.data);
    train_data_close(t.test);
    bt_module_unref(t.model);
    bt_arena_destroy(t.kept);
    if (t.hold >= 0)
        close(t.hold);
    remove_work_folder(&t);
    return code;
}

static const struct option options[] = {
    { "data", 0, "FILE",
      "samples to learn from, or a folder of such files (must be given)" },
    { "labels", 0, "FILE", "what the model should give for them" },
    { "test", 0, "FILE",
      "samples that are not learned from: it is tried on them after each epoch" },
    { "test-labels", 0, "FILE", "what it should give for these" },
    { "factor", 0, "X", "numbers of samples are multiplied by it (default: 1)" },
    { "loss", 0, "NAME", "what is made small (default: cross_entropy)" },
    { "optimizer", 0, "NAME",
      "how (default: sgd): 'adam{rate=0.001}'; 'PARAMETER=NAME{decay=0}': other options "
      "for that one" },
    { "schedule", 0, "NAME",
      "how its rate changes (default: constant): 'cosine{warm=100}'" },
    { "initializer", 0, "NAME",
      "what parameters begin as, those with two axes or more (default: he_uniform): "
      "'normal{scale=0.02}'; 'PARAMETER=NAME': that one" },
    { "clip", 0, "X", "the norm of all gradients together, at most" },
    { "precision", 0, "TYPE",
      "bfloat16 or float16: of most of the model's numbers; parameters stay float32" },
    { "loss-scale", 0, "X",
      "the loss times X is differentiated, and gradients are divided by it: for float16, "
      "in which small ones are zeros (default: 1); dynamic: it doubles after 2000 steps, "
      "and a step with infinities is taken again with half" },
    { "epochs", 0, "N",
      "how often all samples are learned from (default: 10), each time in another order "
      "and without those at its end that are fewer than a batch" },
    { "batch", 0, "N", "samples of a step (default: 64, or what the model says)" },
    { "accumulate", 0, "N", "a step adds the gradients of N parts of its batch" },
    { "checkpoint-memory", 0, "BYTES",
      "compute values of a step again where they take more bytes otherwise" },
    { "fixed", 0, "NAME",
      "a constant or parameter that is not learned; of both moments of nn.batch_norm: it "
      "normalises by them" },
    { "learn", 0, "NAME",
      "a parameter that is; others than those named, and moments, stay as they begin" },
    { "seed", 0, "N",
      "of parameters without a value, and of the samples' order (default: 1)" },
    { "output", 'o', "FOLDER", "for checkpoints and curves (default: MODEL.training)" },
    { "every", 0, "N", "a checkpoint after every N steps too, not only after an epoch" },
    { "resume", 0, NULL, "go on from the last checkpoint in the folder" },
    { "initialise", 0, "FILE",
      "parameters of this .safetensors file to begin with; with --learn, those that it "
      "names and constants may be missing" },
    { "evaluate", 0, NULL,
      "learn nothing: print the loss and accuracy on --data, and on --test; options of "
      "learning are not looked at" },
    { "json", 0, NULL, "print one JSON object a line" },
    { "entry", 0, "FUNCTION", "function to train (default: main, or the only one)" },
    { "target", 0, "NAME[,NAME]",
      "what it is compiled for, by preference (default: cpu)" },
    { "threads", 0, "N",
      "threads of the target (default: as many as there are processors)" },
    IMPORT_OPTIONS,
    { 0 },
};

const struct verb verb_train = {
    .name = "train",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Have a model learn from samples.",
    // clang-format off
    .details = "MODEL is anything that run takes. Its first input is a batch of samples; all\n"
               "further ones are parameters, which begin with random numbers, and so are\n"
               "constants of float32 that have an axis, which begin as they are: def @main(..,\n"
               "inputs=2) says that two are data. An open dim of samples (n) becomes what\n"
               "--batch says.\n"
               "\n"
               "Samples are IDX files (MNIST; gunzip a .gz before), .npy or .npz along the\n"
               "first axis; .npz have an array for each input by its name, and one called\n"
               "labels. Labels that are integers are classes.\n"
               "\n"
               "Losses, optimizers, schedules and initializers are functions @loss.NAME,\n"
               "@optimizer.NAME, @schedule.NAME and @initializer.NAME of the model, of what it\n"
               "imports, or of libraries (baton list optimizers), with options in braces:\n"
               "NAME{rate=0.1, momentum=0.9}. nn.dropout drops and nn.batch_norm follows the\n"
               "batches in steps; what the model is tried on is computed as at inference.\n"
               "\n"
               "FOLDER gets the program of a step (step.baton), after each epoch a checkpoint\n"
               "(step-N.safetensors, of which the last two stay) and curves (curve.csv,\n"
               "curve.svg). A training that goes on from a checkpoint gives the same bits as\n"
               "one that was never stopped. baton export makes a model of a checkpoint.\n"
               "With --evaluate nothing is learned or written: a checkpoint (--initialise), or\n"
               "a model whose parameters are constants, is tried on --data as at inference.\n"
               "\n"
               "Ctrl-C and SIGTERM stop it behind the step at hand, with a checkpoint of that\n"
               "step; the exit code is then 128 and the number of the signal: 130 or 143.",
    .examples = "  baton train lenet.baton --data samples --labels labels --batch 10\n"
                "  baton train lenet.baton --data samples --labels labels --batch 10 --resume\n"
                "  baton train lenet.baton --data samples --labels labels --batch 5 -o five\n"
                "  baton export lenet.baton five/step-000000020.safetensors -o five.baton\n"
                "  baton train five.baton --data samples --labels labels --evaluate",
    // clang-format on
    .options = options,
    .hints = training_hints,
    .run = run,
};
