/* The interface train.trainer/1, as applications use it; and with memory that fails. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_allocator.h"

#include <baton/baton.h>
#include <baton/train.h>

static const char model_text[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(4, 2), float32], %b: Tensor[(3), float32]) {\n"
    "    nn.bias_add(nn.dense(%x, const[(3, 2), float32]{1, 2, 3, 4, 5, 6}), %b)\n"
    "}\n";

/* With all that a training may have: what is drawn, moments, a parameter that stays. */
static const char rich_text[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(4, 2), float32], %w: Tensor[(3, 2), float32], %m: "
    "Tensor[(3), float32], %v: Tensor[(3), float32], %s: Tensor[(3), float32]) {\n"
    "    %n = nn.batch_norm(nn.dense(%x, %w), %s, %s, %m, %v);\n"
    "    %d = nn.dropout(%n.0);\n"
    "    %d.0\n"
    "}\n";

static bt_ctx *make_ctx(const bt_allocator *allocator)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1,
                                          .allocator = allocator };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    return ctx;
}

/* A model, a training and a batch. */
struct kit {
    bt_ctx *ctx;
    const char *text; /* of the model; NULL: model_text */
    const bt_trainer *trainer;
    bt_module *model;
    bt_training *training;
    bt_tensor *batch[2];
};

static bt_status read_model(bt_ctx *ctx, const char *text, bt_module **out)
{
    bt_module *parsed;
    BT_TRY(bt_parse(ctx, "model", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

static bt_status open_kit(struct kit *kit, const bt_training_options *options)
{
    const int64_t dims[] = { 4, 2 };
    const void *row;
    BT_TRY(bt_registry_row(kit->ctx, BT_TRAINER, "train", sizeof(*kit->trainer), &row));
    kit->trainer = row;
    BT_TRY(read_model(kit->ctx, kit->text ? kit->text : model_text, &kit->model));
    BT_TRY(kit->trainer->open(kit->ctx, kit->model, options, sizeof(*options),
                              &kit->training));
    BT_TRY(bt_tensor_create(kit->ctx, BT_FLOAT32, 2, dims, &kit->batch[0]));
    BT_TRY(bt_tensor_create(kit->ctx, BT_INT64, 1, dims, &kit->batch[1]));
    for (int64_t i = 0; i < 8; i++)
        bt_tensor_set(kit->batch[0], i, (double)(i % 3) - 1);
    for (int64_t i = 0; i < 4; i++)
        bt_tensor_set_int(kit->batch[1], i, i % 3);
    return NULL;
}

static void close_kit(struct kit *kit)
{
    if (kit->trainer)
        kit->trainer->close(kit->training);
    bt_tensor_unref(kit->batch[0]);
    bt_tensor_unref(kit->batch[1]);
    bt_module_unref(kit->model);
    if (kit->ctx)
        bt_ctx_destroy(kit->ctx);
}

static const int64_t label_dims[] = { 4 };

static bt_training_options options_in(const char *folder)
{
    static const char *const optimizers[] = { "adam{rate=0.1}", NULL };
    return (bt_training_options){ .optimizers = optimizers,
                                  .label_dtype = BT_INT64,
                                  .label_rank = 1,
                                  .label_dims = label_dims,
                                  .target = "reference",
                                  .folder = folder,
                                  .seed = 3,
                                  .nstep = 20 };
}

/* A folder that goes with what is in it. */
static void make_folder(char *out)
{
    strcpy(out, "/tmp/baton-trainer-XXXXXX");
    assert_non_null(mkdtemp(out));
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = { "step.baton", "a.safetensors" };
    char path[64];
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void test_an_application_trains(void **state)
{
    (void)state;
    char folder[64], path[80];
    make_folder(folder);
    snprintf(path, sizeof(path), "%s/a.safetensors", folder);
    const bt_training_options options = options_in(folder);
    struct kit kit = { .ctx = make_ctx(NULL) };
    bt_training_result first, last, again;
    bt_module *frozen;
    assert_ok(kit.ctx, open_kit(&kit, &options));
    const bt_training_info *info = kit.trainer->info(kit.training);
    assert_int_equal(info->nparam, 2);
    assert_int_equal(info->nmoment, 0);
    assert_int_equal(info->ninput, 1);
    assert_int_equal(info->batch, 4);
    assert_int_equal(info->nclass, 3);
    assert_string_equal(info->params[0].name, "b");
    assert_string_equal(info->params[1].name, "nn.dense.weight");
    assert_true(bt_tensor_get(info->params[1].value, 5) == 6);
    assert_ok(kit.ctx, kit.trainer->step(kit.training, kit.batch, &first));
    for (int i = 0; i < 19; i++)
        assert_ok(kit.ctx, kit.trainer->step(kit.training, kit.batch, &last));
    assert_int_equal(info->step, 20);
    assert_true(last.loss < first.loss / 2 && last.nright >= first.nright);
    assert_ok(kit.ctx, kit.trainer->evaluate(kit.training, kit.batch, &last));
    assert_non_null(bt_object_as_tensor(last.results));
    assert_ok(kit.ctx,
              kit.trainer->save(kit.training, path,
                                (bt_training_note[]){ { "mine", "a \"note\"" }, { 0 } }));
    const double loss = last.loss;
    assert_ok(kit.ctx, kit.trainer->step(kit.training, kit.batch, &last));
    assert_ok(kit.ctx, kit.trainer->load(kit.training, path, 0));
    assert_int_equal(info->step, 20);
    assert_string_equal(kit.trainer->note(kit.training, "mine"), "a \"note\"");
    assert_null(kit.trainer->note(kit.training, "yours"));
    assert_ok(kit.ctx, kit.trainer->evaluate(kit.training, kit.batch, &again));
    assert_true(again.loss == loss);
    assert_ok(kit.ctx, kit.trainer->freeze(kit.training, &frozen));
    const bt_global *entry = bt_module_find(frozen, "main");
    assert_non_null(entry);
    assert_int_equal(entry->func->block->nparam, 1);
    assert_ok(kit.ctx, bt_verify(kit.ctx, frozen));
    bt_module_unref(frozen);
    close_kit(&kit);
    remove_folder(folder);
}

static void test_samples_are_in_the_order_of_the_seed(void **state)
{
    (void)state;
    enum { N = 1000 };
    static int64_t a[N], b[N], seen[N];
    static const struct {
        uint64_t seed;
        int64_t epoch;
    } cases[] = { { 3, 0 }, { 3, 0 }, { 3, 1 }, { 4, 0 }, { 0, 1 } };
    char folder[64];
    make_folder(folder);
    for (uint32_t k = 0; k < BT_COUNT(cases); k++) {
        struct kit kit = { .ctx = make_ctx(NULL) };
        bt_training_options options = options_in(folder);
        options.seed = cases[k].seed;
        int nsame = 0;
        assert_ok(kit.ctx, open_kit(&kit, &options));
        assert_ok(kit.ctx, kit.trainer->order(kit.training, cases[k].epoch, N, b));
        memset(seen, 0, sizeof(seen));
        for (int i = 0; i < N; i++) {
            assert_true(b[i] >= 0 && b[i] < N && !seen[b[i]]);
            seen[b[i]] = 1;
            nsame += k && a[i] == b[i];
        }
        if (k == 1)
            assert_int_equal(nsame, N);
        else
            assert_true(nsame < N / 50);
        if (!k)
            memcpy(a, b, sizeof(a));
        close_kit(&kit);
    }
    struct kit kit = { .ctx = make_ctx(NULL) };
    const bt_training_options options = options_in(NULL);
    assert_ok(kit.ctx, open_kit(&kit, &options));
    bt_status status = kit.trainer->order(kit.training, 0, N, a);
    assert_non_null(status);
    assert_non_null(strstr(status->message, "folder"));
    close_kit(&kit);
    remove_folder(folder);
}

/* Nothing is compiled, and nothing runs. */
static void test_a_training_without_a_folder_takes_no_steps(void **state)
{
    (void)state;
    struct kit kit = { .ctx = make_ctx(NULL) };
    const bt_training_options options = options_in(NULL);
    bt_training_result result;
    assert_ok(kit.ctx, open_kit(&kit, &options));
    bt_status statuses[2] = { kit.trainer->step(kit.training, kit.batch, &result),
                              kit.trainer->evaluate(kit.training, kit.batch, &result) };
    for (uint32_t i = 0; i < BT_COUNT(statuses); i++) {
        assert_non_null(statuses[i]);
        assert_int_equal(statuses[i]->code, BT_ERR_ARGUMENT);
        assert_non_null(strstr(statuses[i]->message, "folder"));
    }
    close_kit(&kit);
}

/* What was learned, from a file; options of steps are not looked at. */
static void test_a_training_that_only_evaluates(void **state)
{
    (void)state;
    char folder[64], path[80];
    make_folder(folder);
    snprintf(path, sizeof(path), "%s/a.safetensors", folder);
    bt_training_options options = options_in(folder);
    bt_training_result wanted, result;
    struct kit trained = { .ctx = make_ctx(NULL) }, kit = { .ctx = make_ctx(NULL) };
    assert_ok(trained.ctx, open_kit(&trained, &options));
    assert_ok(trained.ctx,
              trained.trainer->step(trained.training, trained.batch, &wanted));
    assert_ok(trained.ctx,
              trained.trainer->evaluate(trained.training, trained.batch, &wanted));
    assert_ok(trained.ctx, trained.trainer->save(trained.training, path, NULL));
    options.only_evaluates = 1;
    options.nmicro = 3;
    options.clip = 1;
    options.optimizers = (const char *const[]){ "none of this name", NULL };
    assert_ok(kit.ctx, open_kit(&kit, &options));
    bt_status status = kit.trainer->step(kit.training, kit.batch, &result);
    assert_non_null(status);
    assert_non_null(strstr(status->message, "only evaluates"));
    status = kit.trainer->evaluate(kit.training, kit.batch, &result);
    assert_non_null(status);
    assert_int_equal(status->code, BT_ERR_ARGUMENT);
    assert_non_null(strstr(status->message, "parameter b has no value"));
    assert_ok(kit.ctx, kit.trainer->load(kit.training, path, 1));
    assert_ok(kit.ctx, kit.trainer->evaluate(kit.training, kit.batch, &result));
    assert_true(result.loss == wanted.loss && result.nright == wanted.nright);
    close_kit(&trained);
    close_kit(&kit);
    remove_folder(folder);
}

/* Of any batch of a step, and before anything changes. */
static void test_a_class_that_the_model_does_not_give_is_an_error(void **state)
{
    (void)state;
    static const int64_t wrong[] = { 3, -1, 999, INT64_MIN };
    char folder[64];
    make_folder(folder);
    bt_training_options options = options_in(folder);
    options.nmicro = 2;
    struct kit kit = { .ctx = make_ctx(NULL) };
    bt_training_result result;
    bt_tensor *other, *batches[4];
    assert_ok(kit.ctx, open_kit(&kit, &options));
    assert_ok(kit.ctx, bt_tensor_create(kit.ctx, BT_INT64, 1, label_dims, &other));
    memcpy(batches, (bt_tensor *[]){ kit.batch[0], kit.batch[1], kit.batch[0], other },
           sizeof(batches));
    assert_ok(kit.ctx, kit.trainer->step(kit.training, batches, &result));
    for (uint32_t i = 0; i < BT_COUNT(wrong); i++) {
        char words[64];
        snprintf(words, sizeof(words), "sample 6 of a batch is %lld",
                 (long long)wrong[i]);
        bt_tensor_set_int(other, 2, wrong[i]);
        bt_status status = kit.trainer->step(kit.training, batches, &result);
        assert_non_null(status);
        assert_int_equal(status->code, BT_ERR_ARGUMENT);
        assert_non_null(strstr(status->message, words));
        status = kit.trainer->evaluate(kit.training, batches + 2, &result);
        assert_non_null(status);
        assert_non_null(strstr(status->message, "gives 3 classes"));
    }
    assert_int_equal(kit.trainer->info(kit.training)->step, 1);
    bt_tensor_set_int(other, 2, 2);
    assert_ok(kit.ctx, kit.trainer->step(kit.training, batches, &result));
    bt_tensor_unref(other);
    close_kit(&kit);
    remove_folder(folder);
}

/* ---- what is given wrong ---- */

static void assert_refused(bt_status status, const char *words)
{
    assert_non_null(status);
    assert_int_equal(status->code, BT_ERR_ARGUMENT);
    if (!strstr(status->message, words))
        fail_msg("%s, without %s", status->message, words);
}

static void test_options_out_of_their_range_are_named(void **state)
{
    (void)state;
    static const int64_t below[] = { -4 };
    const bt_training_options good = options_in(NULL);
    bt_training_options o[12];
    const char *const fields[] = { "clip",       "clip",       "loss_scale",
                                   "loss_scale", "loss_scale", "scale_steps",
                                   "nstep",      "folder",     "label_dims",
                                   "label_dims", "label_rank", "checkpoint_memory" };
    for (uint32_t i = 0; i < BT_COUNT(o); i++)
        o[i] = good;
    o[0].clip = NAN;
    o[1].clip = -1;
    o[2].loss_scale = NAN;
    o[3].loss_scale = INFINITY;
    o[4].loss_scale = 1e-38;
    o[5].scale_steps = -1;
    o[6].nstep = -1;
    o[7].folder = "";
    o[8].label_dims = NULL;
    o[9].label_dims = below;
    o[10].label_rank = BT_MAX_RANK + 1;
    o[11].checkpoint_memory = -1;
    for (uint32_t i = 0; i < BT_COUNT(o); i++) {
        struct kit kit = { .ctx = make_ctx(NULL) };
        assert_refused(open_kit(&kit, &o[i]), fields[i]);
        close_kit(&kit);
    }
}

static void test_as_many_parameters_are_data_as_the_model_says(void **state)
{
    (void)state;
    static const char form[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main(%s) {\n"
        "    nn.dense(%s, const[(3, 2), float32]{1, 2, 3, 4, 5, 6})\n"
        "}\n";
    static const struct {
        const char *params, *x, *words;
    } rows[] = {
        { "%x: Tensor[(4, 2), float32], inputs=2", "%x", "@main: inputs is to be" },
        { "%x: Tensor[(4, 2), float32], inputs=0", "%x", "it has 1 parameters" },
        { "%x: Tensor[(4, 2), float32], inputs=\"x\"", "%x", "@main: inputs is to be" },
        { "", "const[(4, 2), float32]{1, 2, 3, 4, 5, 6, 7, 8}", "@main takes no data" },
    };
    const bt_training_options options = options_in(NULL);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        char text[400];
        snprintf(text, sizeof(text), form, rows[i].params, rows[i].x);
        struct kit kit = { .ctx = make_ctx(NULL), .text = text };
        assert_refused(open_kit(&kit, &options), rows[i].words);
        close_kit(&kit);
    }
}

/* Of 0 steps in all a schedule makes no NaN. */
static void test_schedules_of_no_steps_are_numbers(void **state)
{
    (void)state;
    static const char *const schedules[] = { "linear", "cosine" };
    for (uint32_t i = 0; i < BT_COUNT(schedules); i++) {
        char folder[64];
        make_folder(folder);
        bt_training_options options = options_in(folder);
        options.schedule = schedules[i];
        options.nstep = 0;
        struct kit kit = { .ctx = make_ctx(NULL) };
        bt_training_result result;
        assert_ok(kit.ctx, open_kit(&kit, &options));
        assert_ok(kit.ctx, kit.trainer->step(kit.training, kit.batch, &result));
        close_kit(&kit);
        remove_folder(folder);
    }
}

static void test_arguments_out_of_their_range_are_errors(void **state)
{
    (void)state;
    static const bt_training_note notes[][3] = {
        { { "step", "77" } }, { { "baton.checksum", "0" } },
        { { "scale", "2" } }, { { "a", "1" }, { "a", "2" } },
        { { "a", NULL } },
    };
    char folder[64], path[80];
    make_folder(folder);
    snprintf(path, sizeof(path), "%s/a.safetensors", folder);
    const bt_training_options options = options_in(folder);
    struct kit kit = { .ctx = make_ctx(NULL) };
    bt_training_result result;
    int64_t order[4];
    assert_ok(kit.ctx, open_kit(&kit, &options));
    const bt_trainer *trainer = kit.trainer;
    for (uint32_t i = 0; i < 2; i++) {
        bt_tensor *batch[] = { kit.batch[0], kit.batch[1] };
        batch[i] = NULL;
        assert_refused(trainer->step(kit.training, batch, &result), "NULL");
        assert_refused(trainer->evaluate(kit.training, batch, &result), "NULL");
    }
    assert_refused(trainer->order(kit.training, -1, 4, order), "epoch -1");
    for (uint32_t i = 0; i < BT_COUNT(notes); i++)
        assert_refused(trainer->save(kit.training, path, notes[i]), notes[i][0].name);
    assert_int_equal(access(path, F_OK), -1);
    assert_refused(trainer->check(kit.ctx, kit.model, "nokind", "sgd"), "nokind");
    assert_refused(trainer->check(kit.ctx, kit.model, "", "sgd"), "no kind");
    close_kit(&kit);
    remove_folder(folder);
}

/* ---- without memory ---- */

/* Opens, and where a folder is given steps, saves and loads; freezes. */
static bt_status use(struct kit *kit, const char *folder)
{
    static const char *const learned[] = { "w", NULL };
    bt_training_options options = options_in(folder);
    options.learned = learned;
    options.precision = "bfloat16";
    options.loss_scale = 16;
    kit->text = rich_text;
    bt_training_result result;
    bt_module *frozen;
    char path[80];
    int64_t order[4];
    snprintf(path, sizeof(path), "%s/a.safetensors", folder ? folder : "");
    BT_TRY(open_kit(kit, &options));
    if (folder) {
        BT_TRY(kit->trainer->order(kit->training, 0, 4, order));
        BT_TRY(kit->trainer->step(kit->training, kit->batch, &result));
        BT_TRY(kit->trainer->save(kit->training, path, NULL));
        BT_TRY(kit->trainer->load(kit->training, path, 0));
        BT_TRY(kit->trainer->evaluate(kit->training, kit->batch, &result));
    }
    BT_TRY(kit->trainer->freeze(kit->training, &frozen));
    bt_module_unref(frozen);
    return NULL;
}

/* Whether all went well with the n-th request for memory failing; 0: it was an error. */
static int use_failing(struct failing_allocator *allocator, const char *folder)
{
    struct kit kit = { .ctx = make_ctx(&allocator->base) };
    bt_status status = kit.ctx ? use(&kit, folder) : bt_no_memory();
    if (status && allocator->nfailed == 0)
        fail_msg("%s", status->message);
    const int is_error = status != NULL;
    close_kit(&kit);
    assert_int_equal(allocator->nblock, 0);
    return !is_error;
}

/* `count` of all requests, spread over the whole use. */
static void fail_some(const char *folder, uint64_t count)
{
    struct failing_allocator allocator = failing_allocator(0, 0);
    allocator.base.self = &allocator;
    assert_true(use_failing(&allocator, folder));
    const uint64_t all = allocator.ncall;
    uint64_t nerror = 0;
    for (uint64_t i = 0; i < count; i++) {
        allocator = failing_allocator(1 + i * all / count, i % 2);
        allocator.base.self = &allocator;
        nerror += !use_failing(&allocator, folder);
    }
    assert_true(nerror > count / 2);
}

static void test_a_failed_allocation_of_a_model_is_an_error(void **state)
{
    (void)state;
    fail_some(NULL, 400);
}

static void test_a_failed_allocation_of_a_step_is_an_error(void **state)
{
    (void)state;
    char folder[64];
    make_folder(folder);
    fail_some(folder, 60);
    remove_folder(folder);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_application_trains),
    cmocka_unit_test(test_samples_are_in_the_order_of_the_seed),
    cmocka_unit_test(test_a_training_without_a_folder_takes_no_steps),
    cmocka_unit_test(test_a_training_that_only_evaluates),
    cmocka_unit_test(test_a_class_that_the_model_does_not_give_is_an_error),
    cmocka_unit_test(test_options_out_of_their_range_are_named),
    cmocka_unit_test(test_as_many_parameters_are_data_as_the_model_says),
    cmocka_unit_test(test_schedules_of_no_steps_are_numbers),
    cmocka_unit_test(test_arguments_out_of_their_range_are_errors),
    cmocka_unit_test(test_a_failed_allocation_of_a_model_is_an_error),
    cmocka_unit_test(test_a_failed_allocation_of_a_step_is_an_error),
};
TEST_MAIN(tests)
