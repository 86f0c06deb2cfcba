/* Runs of compiled programs: where results go, what memory they take, threads. */
#include "kit.h"

#include <pthread.h>

#define V "Tensor[(100), float32]"

static void set(bt_ctx *ctx, bt_program *program, const char *name, bt_tensor *t)
{
    assert_ok(ctx, bt_program_set(program, name, &t->base));
}

/* ---- results ---- */

static void check_outputs_are_the_callers(const char *executor, const char *target)
{
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *program = open_text(
        ctx, "def @main(%x: " V ") { let %y = negative(%x); (%y, abs(%y)) }",
        &(bt_program_options){ .executor = executor, .target = target, .pipeline = "" });
    bt_tensor *x = count_from(ctx, 100, 1), *to = count_from(ctx, 100, 0);
    set(ctx, program, "x", x);
    assert_null(bt_program_get(program, 0));
    assert_ok(ctx, bt_program_set_output(program, 0, to));
    assert_ok(ctx, bt_program_run(program));
    assert_ptr_equal(output(program, 0), to);
    assert_counts(to, -1, -1);
    assert_counts(output(program, 1), 1, 1);
    // other values in the same tensor; the other output is a new one each time
    bt_tensor *kept = bt_tensor_ref(output(program, 1));
    ((float *)x->data)[0] = 7;
    assert_ok(ctx, bt_program_run(program));
    assert_true(bt_tensor_get(to, 0) == -7);
    assert_true(bt_tensor_get(output(program, 1), 0) == 7);
    assert_true(bt_tensor_get(kept, 0) == 1);
    // and back
    assert_ok(ctx, bt_program_set_output(program, 0, NULL));
    ((float *)x->data)[0] = 8;
    assert_ok(ctx, bt_program_run(program));
    assert_true(bt_tensor_get(to, 0) == -7);
    assert_true(bt_tensor_get(output(program, 0), 0) == -8);
    bt_tensor_unref(kept);
    bt_tensor_unref(to);
    bt_tensor_unref(x);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_outputs_are_where_the_caller_says(void **state)
{
    (void)state;
    check_outputs_are_the_callers("graph", "plain");
    check_outputs_are_the_callers("graph", "reference");
    check_outputs_are_the_callers("interp", NULL);
    check_outputs_are_the_callers("vm", "reference");
}

static void check_refused(const char *executor, const char *target)
{
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *program = open_text(
        ctx, "def @main(%x: " V ") { (negative(%x), abs(%x)) }",
        &(bt_program_options){ .executor = executor, .target = target, .pipeline = "" });
    bt_tensor *x = count_from(ctx, 100, 1), *small = count_from(ctx, 99, 0), *strided;
    bt_tensor *wide = count_from(ctx, 200, 0), *doubles;
    int64_t n = 100, step = 2;
    assert_ok(ctx, bt_tensor_view(ctx, wide, 1, &n, &step, 0, &strided));
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT64, 1, &n, &doubles));
    assert_error(bt_program_set_output(program, 2, x), BT_ERR_NAME,
                 "@main has no output 2; it has 2");
    assert_error(bt_program_set_output(program, 0, small), BT_ERR_ARGUMENT,
                 "is a Tensor[(100), float32], the tensor a Tensor[(99), float32]");
    assert_error(bt_program_set_output(program, 0, doubles), BT_ERR_ARGUMENT,
                 "the tensor a Tensor[(100), float64]");
    assert_error(bt_program_set_output(program, 0, strided), BT_ERR_ARGUMENT,
                 "not row major");
    bt_tensor *to = count_from(ctx, 100, 0);
    set(ctx, program, "x", x);
    assert_ok(ctx, bt_program_set_output(program, 0, to));
    assert_ok(ctx, bt_program_set_output(program, 1, to));
    assert_error(bt_program_run(program), BT_ERR_ARGUMENT,
                 "the tensors for results 0 and 1 share memory");
    assert_counts(to, 0, 1);
    set(ctx, program, "x", small);
    assert_error(bt_program_run(program), BT_ERR_ARGUMENT,
                 "has dim 0 = 99, expected 100");
    bt_tensor_unref(to);
    bt_tensor_unref(doubles);
    bt_tensor_unref(strided);
    bt_tensor_unref(wide);
    bt_tensor_unref(small);
    bt_tensor_unref(x);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_tensors_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    check_refused("graph", "plain");
    check_refused("interp", NULL);
    check_refused("vm", "reference");
}

/* Sizes that only a run tells. */
static void test_a_tensor_of_another_size_is_refused(void **state)
{
    static const char *const executors[] = { "graph", "interp", "vm" };
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    bt_tensor *x = count_from(ctx, 3, 1), *to = count_from(ctx, 2, 7);
    for (uint32_t i = 0; i < BT_COUNT(executors); i++) {
        bt_program *program =
            open_text(ctx, "def @main<n: Dim>(%x: Tensor[(n), float32]) { negative(%x) }",
                      &(bt_program_options){ .executor = executors[i] });
        set(ctx, program, "x", x);
        assert_ok(ctx, bt_program_set_output(program, 0, to));
        assert_error(bt_program_run(program), BT_ERR_ARGUMENT,
                     "the tensor for result 0 is a Tensor[(2), float32], the result a "
                     "Tensor[(3), float32]");
        assert_counts(to, 7, 1);
        bt_program_close(program);
    }
    bt_tensor_unref(to);
    bt_tensor_unref(x);
    bt_ctx_destroy(ctx);
}

/* What is written may be what is read, or is read again for another result. */
static void check_aliases(const char *executor, const char *target)
{
    bt_ctx *ctx = make_ctx(NULL);
    bt_program_options options = { .executor = executor,
                                   .target = target,
                                   .pipeline = "" };
    bt_tensor *x = count_from(ctx, 100, 0), *y = count_from(ctx, 100, 1000);
    bt_program *program = open_text(ctx,
                                    "def @main(%x: " V ", %y: " V ") {\n"
                                    "    let %a = add(%x, %y);\n"
                                    "    let %b = add(%a, %x);\n"
                                    "    (%b, %x, %a, %a)\n"
                                    "}",
                                    &options);
    set(ctx, program, "x", x);
    set(ctx, program, "y", y);
    assert_ok(ctx, bt_program_set_output(program, 0, x));
    assert_ok(ctx, bt_program_set_output(program, 1, y));
    assert_ok(ctx, bt_program_run(program));
    assert_counts(x, 1000, 3); // y + 2 x
    assert_counts(y, 0, 1);    // x as it was
    assert_counts(output(program, 2), 1000, 2);
    assert_counts(output(program, 3), 1000, 2);
    assert_true(bt_program_get(program, 2) != bt_program_get(program, 3) ||
                strcmp(executor, "graph"));
    // the results that the caller has no tensor for hold what the inputs were
    assert_ok(ctx, bt_program_set_output(program, 0, y));
    assert_ok(ctx, bt_program_set_output(program, 1, NULL));
    set(ctx, program, "y", x);
    set(ctx, program, "x", y);
    assert_ok(ctx, bt_program_run(program));
    assert_counts(y, 1000, 5); // x + 2 y
    assert_counts(output(program, 1), 0, 1);
    assert_counts(output(program, 2), 1000, 4);
    assert_counts(x, 1000, 3);
    bt_program_close(program);
    // one that a tuple holds, and one by other strides
    program = open_text(
        ctx, "def @main(%p: (" V ", " V ")) { (negative(%p.0), %p.0, %p.1) }", &options);
    int64_t n = 100, step = -1;
    bt_tensor *back;
    bt_tuple *pair;
    assert_ok(ctx, bt_tensor_view(ctx, x, 1, &n, &step, 99, &back));
    assert_ok(ctx,
              bt_tuple_create(ctx, 2, (bt_object *[]){ &x->base, &back->base }, &pair));
    assert_ok(ctx, bt_program_set(program, "p", &pair->base));
    assert_ok(ctx, bt_program_set_output(program, 0, x));
    assert_ok(ctx, bt_program_run(program));
    assert_counts(x, -1000, -3);
    assert_counts(output(program, 1), 1000, 3);
    assert_counts(output(program, 2), 1297, -3);
    bt_object_unref(&pair->base);
    bt_tensor_unref(back);
    for (int64_t i = 0; i < 100; i++) {
        bt_tensor_set(x, i, 1000 + 3 * (double)i);
        bt_tensor_set(y, i, (double)i);
    }
    bt_program_close(program);
    program = open_text(ctx, "def @main(%x: " V ", %y: " V ") { (%y, %x) }", &options);
    set(ctx, program, "x", x);
    set(ctx, program, "y", y);
    assert_ok(ctx, bt_program_set_output(program, 0, x));
    assert_ok(ctx, bt_program_set_output(program, 1, y));
    assert_ok(ctx, bt_program_run(program));
    assert_counts(x, 0, 1);
    assert_counts(y, 1000, 3);
    assert_ok(ctx, bt_program_run(program));
    assert_counts(y, 0, 1);
    bt_program_close(program);
    bt_tensor_unref(x);
    bt_tensor_unref(y);
    bt_ctx_destroy(ctx);
}

static void test_an_argument_may_be_an_output(void **state)
{
    (void)state;
    check_aliases("graph", "plain");
    check_aliases("interp", NULL);
    check_aliases("vm", "reference");
}

static void test_constants_and_inputs_are_results(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *program =
        open_graph(ctx, "def @main(%x: Tensor[(2), float32]) { (%x, 3f, %x) }", "plain");
    bt_tensor *x = count_from(ctx, 2, 1);
    set(ctx, program, "x", x);
    assert_ok(ctx, bt_program_run(program));
    assert_counts(output(program, 0), 1, 1);
    assert_counts(output(program, 1), 3, 1);
    assert_true(output(program, 0) != x && output(program, 2) != x);
    // a constant stays what it is, whoever writes to the result
    ((float *)output(program, 1)->data)[0] = 9;
    assert_ok(ctx, bt_program_run(program));
    assert_counts(output(program, 1), 3, 1);
    bt_tensor_unref(x);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

/* Kernels get aligned, row-major memory whatever the caller has. */
static void test_tensors_of_any_alignment_and_strides(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *program =
        open_graph(ctx, "def @main(%x: " V ") { negative(%x) }", "plain");
    float out[101] = { 0 };
    bt_tensor *wide = count_from(ctx, 200, 0), *strided, *to;
    int64_t n = 100, step = -2;
    assert_ok(ctx, bt_tensor_view(ctx, wide, 1, &n, &step, 198, &strided));
    for (int64_t i = 0; i < 2; i++) {
        assert_ok(ctx, bt_tensor_wrap(ctx, BT_FLOAT32, 1, &n, out + i, &to));
        set(ctx, program, "x", strided);
        assert_ok(ctx, bt_program_set_output(program, 0, to));
        assert_ok(ctx, bt_program_run(program));
        assert_counts(to, -198, 2);
        // the output of this run is the input of the next, which writes there
        set(ctx, program, "x", to);
        assert_ok(ctx, bt_program_run(program));
        assert_counts(to, 198, -2);
        bt_tensor_unref(to);
    }
    bt_tensor_unref(strided);
    bt_tensor_unref(wide);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

/* ---- memory ---- */

static void test_nothing_is_allocated_while_running(void **state)
{
    (void)state;
    struct failing_allocator allocator = failing_allocator(0, 0);
    allocator.base.self = &allocator;
    bt_ctx *ctx = make_ctx(&allocator.base);
    bt_program *program = open_graph(ctx,
                                     "def @main(%x: " V ", %y: " V ") {\n"
                                     "    let %a = negative(add(%x, %y));\n"
                                     "    let %b = abs(add(%a, %x));\n"
                                     "    (%b, negative(%b), %y, %b)\n"
                                     "}",
                                     "plain");
    bt_tensor *x = count_from(ctx, 100, 1), *y = count_from(ctx, 100, 0), *to[4];
    set(ctx, program, "x", x);
    set(ctx, program, "y", y);
    for (uint32_t i = 0; i < 4; i++) {
        to[i] = count_from(ctx, 100, 0);
        assert_ok(ctx, bt_program_set_output(program, i, to[i]));
    }
    uint64_t before = allocator.ncall;
    for (int i = 0; i < 3; i++)
        assert_ok(ctx, bt_program_run(program));
    assert_int_equal(allocator.ncall, before);
    assert_counts(output(program, 0), 0, 1);
    assert_counts(output(program, 1), 0, -1);
    // without a tensor for each output the results are all that is allocated
    for (uint32_t i = 0; i < 4; i++)
        assert_ok(ctx, bt_program_set_output(program, i, NULL));
    before = allocator.ncall;
    assert_ok(ctx, bt_program_run(program));
    assert_int_equal(allocator.ncall, before + 4);
    for (uint32_t i = 0; i < 4; i++)
        bt_tensor_unref(to[i]);
    bt_tensor_unref(x);
    bt_tensor_unref(y);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

/* How often two runs of a program ask for memory, whose first two results take the tensors of its
 * first two arguments; or, not in place, others. `w` and `m`: what they hold then. */
static uint64_t update(const char *text, const char *target, int in_place, float *w,
                       float *m)
{
    struct failing_allocator allocator = failing_allocator(0, 0);
    allocator.base.self = &allocator;
    bt_ctx *ctx = make_ctx(&allocator.base);
    bt_program *program = open_graph(ctx, text, target);
    bt_tensor *t[] = { count_from(ctx, 100, 1), count_from(ctx, 100, 2),
                       count_from(ctx, 100, 3), count_from(ctx, 100, 0),
                       count_from(ctx, 100, 0), count_from(ctx, 100, 0) };
    static const char *const names[] = { "w", "m", "g" };
    bt_tensor **to = in_place ? t : t + 4;
    for (uint32_t i = 0; i < 3; i++)
        set(ctx, program, names[i], t[i]);
    for (uint32_t i = 0; i < 2; i++)
        assert_ok(ctx, bt_program_set_output(program, i, to[i]));
    assert_ok(ctx, bt_program_set_output(program, 2, t[3]));
    const uint64_t before = allocator.ncall;
    for (int i = 0; i < 2; i++)
        assert_ok(ctx, bt_program_run(program));
    const uint64_t n = allocator.ncall - before;
    assert_ptr_equal(output(program, 0), to[0]);
    memcpy(w, to[0]->data, 100 * sizeof(*w));
    memcpy(m, to[1]->data, 100 * sizeof(*m));
    for (uint32_t i = 0; i < BT_COUNT(t); i++)
        bt_tensor_unref(t[i]);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    return n;
}

/* A step of training: nothing reads parameters once they are updated. */
static void test_a_result_is_computed_in_its_argument(void **state)
{
    (void)state;
    static const char *const targets[] = { "cpu", "reference" };
    for (uint32_t k = 0; k < BT_COUNT(targets); k++) {
        float w[100], m[100];
        static const char text[] = "def @main(%w: " V ", %m: " V ", %g: " V ") {\n"
                                   "    let %v = add(multiply(%m, 0.5f), %g);\n"
                                   "    (subtract(%w, %v), %v, negative(%g))\n"
                                   "}";
        const uint64_t elsewhere = update(text, targets[k], 0, w, m);
        assert_int_equal(update(text, targets[k], 1, w, m), elsewhere);
        for (int i = 0; i < 100; i++) {
            const float g = 3 + (float)i, v1 = (2 + (float)i) * 0.5f + g,
                        v2 = v1 * 0.5f + g;
            assert_true(m[i] == v2 && w[i] == 1 + (float)i - v1 - v2);
        }
    }
}

/* What reads an argument later finds it as it was. */
static void test_an_argument_that_is_read_later_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        // by another kernel
        "def @main(%w: " V ", %m: " V ", %g: " V ") {\n"
        "    let %a = cumsum(subtract(%w, %g), axis=0);\n"
        "    let %b = cumsum(add(%m, %a), axis=0);\n"
        "    (%a, %b, cumsum(multiply(%w, %b), axis=0))\n"
        "}",
        // as a result
        "def @main(%w: " V ", %m: " V ", %g: " V ") {\n"
        "    (subtract(%w, %g), add(%m, %w), %w)\n"
        "}",
        // elsewhere in it
        "def @main(%w: " V ", %m: " V ", %g: " V ") {\n"
        "    (reverse(subtract(%w, %g), axis=0), reverse(%m, axis=0), negative(%g))\n"
        "}",
    };
    for (uint32_t k = 0; k < BT_COUNT(texts); k++) {
        float w[2][100], m[2][100];
        update(texts[k], "cpu", 1, w[0], m[0]);
        update(texts[k], "reference", 1, w[1], m[1]);
        for (int i = 0; i < 100; i++)
            assert_true(w[0][i] == w[1][i] && m[0][i] == m[1][i]);
        bt_ctx *ctx = make_ctx(NULL);
        bt_program *program = open_graph(ctx, texts[k], "cpu");
        bt_tensor *t[] = { count_from(ctx, 100, 1), count_from(ctx, 100, 2),
                           count_from(ctx, 100, 3) };
        for (int run = 0; run < 2;
             run++) { // into new tensors, which are then the arguments
            set(ctx, program, "w", t[0]);
            set(ctx, program, "m", t[1]);
            set(ctx, program, "g", t[2]);
            assert_ok(ctx, bt_program_run(program));
            for (uint32_t i = 0; i < 2; i++) {
                bt_tensor_unref(t[i]);
                t[i] = bt_tensor_ref(output(program, i));
            }
        }
        for (int i = 0; i < 100; i++)
            assert_true(bt_tensor_get(t[0], i) == (double)w[0][i] &&
                        bt_tensor_get(t[1], i) == (double)m[0][i]);
        for (uint32_t i = 0; i < 3; i++)
            bt_tensor_unref(t[i]);
        bt_program_close(program);
        bt_ctx_destroy(ctx);
    }
}

/* Of tensors within, and of one that is the result. */
static void test_what_goes_beyond_a_limit_is_named(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *inner = open_text(
        ctx,
        "def @main<n: Dim>(%x: Tensor[(n), float32]) {\n"
        "    let %big = exp(expand_dims(%x, axis=0) * expand_dims(%x, axis=1));\n"
        "    sum(cumsum(%big, axis=0), axis=[0])\n"
        "}",
        &(bt_program_options){ .executor = "graph", .target = "reference" });
    bt_program *result =
        open_text(ctx,
                  "def @main<n: Dim>(%x: Tensor[(n), float32]) {\n"
                  "    (%x, expand_dims(%x, axis=0) * expand_dims(%x, axis=1))\n"
                  "}",
                  &(bt_program_options){ .executor = "graph", .target = "reference" });
    bt_tensor *x = count_from(ctx, 100, 0);
    set(ctx, inner, "x", x);
    set(ctx, result, "x", x);
    bt_ctx_limits(ctx)->bytes = 1000;
    bt_status status = bt_program_run(inner);
    assert_error(status, BT_ERR_LIMIT,
                 "@main: with n=100 tensors in one block need more than 1000 bytes");
    assert_int_equal(status->place.line, 3);
    status = bt_program_run(result);
    assert_error(status, BT_ERR_LIMIT, "more than 1000 bytes, the limit of one tensor");
    assert_non_null(status->note);
    assert_string_equal(status->note->message, "for result 1 of @main");
    bt_ctx_limits(ctx)->bytes = 100000;
    assert_ok(ctx, bt_program_run(inner));
    assert_ok(ctx, bt_program_run(result));
    bt_program_close(inner);
    bt_program_close(result);
    bt_tensor_unref(x);
    bt_ctx_destroy(ctx);
}

static int run_without_memory(const bt_allocator *allocator)
{
    static const char text[] = "def @main(%x: " V ") { (negative(%x), (%x, abs(%x))) }";
    int ok = 0;
    bt_ctx *ctx = make_ctx(NULL); // reads plugins and compiles with memory of its own
    bt_compiled *compiled = compile_text(ctx, text, "plain");
    const bt_executor *graph = find_executor(ctx, "graph");
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *poor = registry ? bt_ctx_create(registry) : NULL;
    bt_registry *own = compiled->registry;
    void *session;
    bt_object *result;
    int64_t n = 100;
    bt_tensor *x;
    compiled->registry = registry; // that of the session's arena
    if (poor && ok_or_no_memory(graph->load(poor, compiled, NULL, NULL, &session))) {
        if (ok_or_no_memory(bt_tensor_create(poor, BT_FLOAT32, 1, &n, &x))) {
            bt_object *args[] = { &x->base };
            ok =
                ok_or_no_memory(graph->call(poor, session, NULL, 1, args, NULL, &result));
            if (ok)
                bt_object_unref(result);
            bt_tensor_unref(x);
        }
        graph->close(session);
    }
    compiled->registry = own;
    bt_compiled_unref(compiled);
    bt_ctx_destroy(poor);
    bt_registry_unref(registry);
    bt_ctx_destroy(ctx);
    return ok;
}

static void test_a_failed_allocation_loses_nothing(void **state)
{
    (void)state;
    fail_each_allocation(run_without_memory);
}

/* ---- hooks ---- */

struct seen {
    uint32_t n, nresult;
    uint64_t ns;
};

static void see(void *self, const bt_value *value, const bt_object *result, uint64_t ns)
{
    struct seen *seen = self;
    assert_non_null(value);
    seen->n++;
    seen->nresult += result != NULL;
    seen->ns += ns;
}

static void check_hook(const char *name, uint32_t nresult)
{
    static const char text[] = "def @main(%x: Tensor[(100000), float32]) {\n"
                               "    abs(negative(add(%x, %x)))\n"
                               "}";
    bt_ctx *ctx = make_ctx(NULL);
    const bt_executor *executor = find_executor(ctx, name);
    bt_compiled *compiled = compile_text(ctx, text, "plain");
    bt_tensor *x = count_from(ctx, 100000, 0);
    bt_object *args[] = { &x->base }, *result;
    struct seen seen = { 0 };
    const bt_run_hook hook = { .self = &seen, .binding = see };
    bt_module *source = NULL;
    void *session;
    if (executor->load) {
        assert_ok(ctx, executor->load(ctx, compiled, NULL, NULL, &session));
    } else {
        char whole[500];
        bt_module *parsed;
        snprintf(whole, sizeof(whole), "#[version = \"baton 0.1\"]\n%s\n", text);
        assert_ok(ctx, bt_parse(ctx, "t", NULL, whole, strlen(whole), &parsed));
        assert_ok(ctx, bt_infer(ctx, parsed, &source));
        bt_module_unref(parsed);
        assert_ok(ctx, executor->open(ctx, source, NULL, &session));
    }
    assert_ok(ctx, executor->call(ctx, session, NULL, 1, args, &hook, &result));
    assert_int_equal(seen.n, 3); // once for each, when it is done
    assert_int_equal(seen.nresult, nresult);
    assert_true(seen.ns > 0);
    bt_object_unref(result);
    bt_tensor_unref(x);
    executor->close(session);
    bt_module_unref(source);
    bt_compiled_unref(compiled);
    bt_ctx_destroy(ctx);
}

static void test_hooks_are_told_each_binding_and_its_time(void **state)
{
    (void)state;
    check_hook("graph", 0);
    check_hook("interp", 3);
}

/* ---- profiles ---- */

static void check_profile(const char *executor, uint32_t nrow, uint32_t nevent,
                          const char *name, int64_t multiply_adds)
{
    bt_ctx *ctx = make_ctx(NULL);
    const bt_profile *profile;
    bt_program *program = open_text(
        ctx, "def @main(%x: " V ") {\n abs(negative(add(%x, %x)))\n }",
        &(bt_program_options){ .executor = executor, .target = "plain", .pipeline = "" });
    bt_tensor *x = count_from(ctx, 100, 1);
    set(ctx, program, "x", x);
    assert_error(bt_program_profile(program, &profile), BT_ERR_ARGUMENT,
                 "no run was recorded");
    for (int turn = 0; turn < 2; turn++) { // the second forgets the first
        assert_ok(ctx, bt_program_record(program, 1));
        for (int i = 0; i < 3; i++)
            assert_ok(ctx, bt_program_run(program));
        assert_ok(ctx, bt_program_record(program, 0));
        assert_ok(ctx, bt_program_run(program)); // this one is not
        assert_ok(ctx, bt_program_profile(program, &profile));
        assert_int_equal(profile->nrow, nrow);
        assert_int_equal(profile->nevent, 3 * nevent);
    }
    uint64_t ns = 0, end = 0;
    for (uint32_t i = 0; i < nrow; i++) {
        const bt_profile_row *row = &profile->rows[i];
        assert_int_equal(row->ncall, 3);
        assert_string_equal(row->sources, "line 3");
        assert_int_equal(row->multiply_adds, multiply_adds);
        assert_true(i == 0 || row->ns <= row[-1].ns);
        if (strcmp(row->name, name) == 0)
            assert_int_equal(row->nbytes, 800);
        ns += row->ns;
    }
    for (uint32_t i = 0; i < profile->nevent; i++) {
        const bt_profile_event *event = &profile->events[i];
        assert_true(event->start_ns >= end); // one after the other
        end = event->start_ns + event->elapsed_ns;
        assert_true(event->row < nrow);
        ns -= event->elapsed_ns;
    }
    assert_int_equal(ns, 0);
    bt_tensor_unref(x);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_profiles_have_a_row_for_each_call(void **state)
{
    (void)state;
    // three operators; one function of three kernels
    check_profile("interp", 3, 3, "abs", 100);
    check_profile("graph", 1, 3, "fused_add_negative_abs", 300);
}

/* ---- threads ---- */

enum { NTHREAD = 4, NRUN = 20 };

struct runner {
    pthread_t thread;
    bt_registry *registry;
    bt_compiled *compiled;
    float first;
};

/* A session of its own over what all have in common. */
static void *run_session(void *opaque)
{
    struct runner *r = opaque;
    bt_ctx *ctx = bt_ctx_create(r->registry);
    assert_non_null(ctx);
    const bt_executor *graph = find_executor(ctx, "graph");
    bt_tensor *x = count_from(ctx, 100, r->first);
    bt_object *args[] = { &x->base }, *result;
    void *session;
    assert_ok(ctx, graph->load(ctx, r->compiled, NULL, NULL, &session));
    for (int i = 0; i < NRUN; i++) {
        assert_ok(ctx, graph->call(ctx, session, NULL, 1, args, NULL, &result));
        // -(x + x), and the absolute value of that plus x: of positive x again x
        assert_counts(bt_object_as_tensor(bt_object_as_tuple(result)->fields[0]),
                      -2 * r->first, -2);
        assert_counts(bt_object_as_tensor(bt_object_as_tuple(result)->fields[1]),
                      r->first, 1);
        bt_object_unref(result);
    }
    graph->close(session);
    bt_tensor_unref(x);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void check_threads(const char *target)
{
    bt_ctx *ctx = make_ctx(NULL);
    struct runner runners[NTHREAD];
    bt_compiled *compiled = compile_text(ctx,
                                         "def @main(%x: " V ") {\n"
                                         "    let %a = negative(add(%x, %x));\n"
                                         "    (%a, abs(add(%a, %x)))\n"
                                         "}",
                                         target);
    for (int i = 0; i < NTHREAD; i++) {
        runners[i] = (struct runner){ .registry = bt_ctx_registry(ctx),
                                      .compiled = compiled,
                                      .first = (float)(1 + 1000 * i) };
        assert_int_equal(
            pthread_create(&runners[i].thread, NULL, run_session, &runners[i]), 0);
    }
    for (int i = 0; i < NTHREAD; i++)
        pthread_join(runners[i].thread, NULL);
    bt_compiled_unref(compiled);
    bt_ctx_destroy(ctx);
}

static void test_sessions_run_at_once_over_one_module(void **state)
{
    (void)state;
    check_threads("plain");
    check_threads("reference");
    check_threads("cpu{engine=\"bytecode\", threads=2}");
}

struct sharer {
    pthread_t thread;
    const bt_program *program;
    bt_registry *registry;
    float first;
};

static void *run_shared(void *opaque)
{
    struct sharer *s = opaque;
    bt_ctx *ctx = bt_ctx_create(s->registry);
    bt_program *program;
    assert_non_null(ctx);
    assert_ok(ctx, bt_program_share(ctx, s->program, &program));
    bt_tensor *x = count_from(ctx, 100, s->first);
    set(ctx, program, "x", x);
    for (int i = 0; i < NRUN; i++) {
        assert_ok(ctx, bt_program_run(program));
        assert_counts(output(program, 0), -2 * s->first, -2);
    }
    bt_program_close(program);
    bt_tensor_unref(x);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void check_shared(const char *executor, const char *target)
{
    bt_ctx *ctx = make_ctx(NULL), *other = make_ctx(NULL);
    struct sharer sharers[NTHREAD];
    bt_program *program = open_text(
        ctx, "def @main(%x: " V ") { negative(add(%x, %x)) }",
        &(bt_program_options){ .executor = executor, .target = target, .pipeline = "" });
    bt_program *shared;
    assert_error(bt_program_share(other, program, &shared), BT_ERR_ARGUMENT,
                 "contexts of its registry only");
    for (int i = 0; i < NTHREAD; i++) {
        sharers[i] = (struct sharer){ .program = program,
                                      .registry = bt_ctx_registry(ctx),
                                      .first = (float)(1 + 1000 * i) };
        assert_int_equal(
            pthread_create(&sharers[i].thread, NULL, run_shared, &sharers[i]), 0);
    }
    for (int i = 0; i < NTHREAD; i++)
        pthread_join(sharers[i].thread, NULL);
    // and it outlives what it was shared from
    assert_ok(ctx, bt_program_share(ctx, program, &shared));
    bt_program_close(program);
    bt_tensor *x = count_from(ctx, 100, 1);
    set(ctx, shared, "x", x);
    assert_ok(ctx, bt_program_run(shared));
    assert_counts(output(shared, 0), -2, -2);
    bt_tensor_unref(x);
    bt_program_close(shared);
    bt_ctx_destroy(other);
    bt_ctx_destroy(ctx);
}

static void test_programs_are_shared_by_threads(void **state)
{
    (void)state;
    check_shared("graph", "plain");
    check_shared("graph", "reference");
    check_shared("interp", NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_outputs_are_where_the_caller_says),
    cmocka_unit_test(test_tensors_that_do_not_fit_are_refused),
    cmocka_unit_test(test_a_tensor_of_another_size_is_refused),
    cmocka_unit_test(test_an_argument_may_be_an_output),
    cmocka_unit_test(test_constants_and_inputs_are_results),
    cmocka_unit_test(test_tensors_of_any_alignment_and_strides),
    cmocka_unit_test(test_nothing_is_allocated_while_running),
    cmocka_unit_test(test_a_result_is_computed_in_its_argument),
    cmocka_unit_test(test_an_argument_that_is_read_later_stays),
    cmocka_unit_test(test_what_goes_beyond_a_limit_is_named),
    cmocka_unit_test(test_a_failed_allocation_loses_nothing),
    cmocka_unit_test(test_hooks_are_told_each_binding_and_its_time),
    cmocka_unit_test(test_profiles_have_a_row_for_each_call),
    cmocka_unit_test(test_sessions_run_at_once_over_one_module),
    cmocka_unit_test(test_programs_are_shared_by_threads),
};
TEST_MAIN(tests)
