/* Targets with queues: programs on one that puts off all it can, in any order, give what
 * they give without; what fails later is named; nobody waits without need. */
#include "programs.h"

#include <pthread.h>
#include <unistd.h>

#include <baton/artifact.h>

#define OPEN "#[version = \"baton 0.1\"]\n"

enum { TEXT = 1 << 16 };

static bt_status compile_planned(bt_ctx *ctx, const char *text, const char *targets,
                                 const char *plan, bt_compiled **out)
{
    bt_module *parsed, *typed;
    const bt_compile_options options = { .targets = targets,
                                         .entry = "main",
                                         .plan = plan };
    BT_TRY(bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    BT_TRY(status);
    status = bt_compile(ctx, typed, &options, out);
    bt_module_unref(typed);
    return status;
}

static bt_status compile_placed(bt_ctx *ctx, const char *text, const char *targets,
                                bt_compiled **out)
{
    return compile_planned(ctx, text, targets, NULL, out);
}

/* The same of a program whose calls of constants are computed first. */
static void compile_folded(bt_ctx *ctx, const char *body, const char *targets,
                           bt_compiled **out)
{
    static char text[TEXT];
    bt_pipeline *pipeline;
    bt_module *parsed, *typed, *fused;
    const bt_pipeline_options options = { .level = 4 };
    snprintf(text, sizeof(text), OPEN "%s", body);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    assert_ok(ctx, bt_pipeline_read(
                       ctx, "fold-constant{max-bytes=8388608}, fuse-ops{max-ops=1}",
                       &pipeline));
    assert_ok(ctx, bt_pipeline_run(ctx, pipeline, &options, typed, &fused));
    bt_pipeline_destroy(pipeline);
    bt_module_unref(typed);
    assert_ok(ctx,
              bt_compile(ctx, fused, &(bt_compile_options){ .targets = targets }, out));
    bt_module_unref(fused);
}

static const bt_executor *find_graph(bt_ctx *ctx)
{
    const void *row;
    assert_ok(ctx, bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor),
                                   &row));
    return row;
}

static void *open_session(bt_ctx *ctx, bt_compiled *c)
{
    void *session;
    assert_ok(ctx, find_graph(ctx)->load(ctx, c, "main", NULL, &session));
    return session;
}

static bt_status call_all(bt_ctx *ctx, void *session, uint32_t n, bt_tensor *const *in,
                          bt_object **out)
{
    bt_object *args[3];
    for (uint32_t i = 0; i < n; i++)
        args[i] = &in[i]->base;
    return find_graph(ctx)->call(ctx, session, "main", n, args, NULL, out);
}

static bt_status call(bt_ctx *ctx, void *session, bt_tensor *x, bt_object **out)
{
    return call_all(ctx, session, 1, &x, out);
}

/* Elements of a result that differ. */
static int64_t count_wrong(bt_ctx *ctx, const bt_object *want, const bt_object *got)
{
    const bt_tuple *x = bt_object_as_tuple(want), *y = bt_object_as_tuple(got);
    bt_tensor_difference d;
    int64_t n = 0;
    if (!x) {
        assert_ok(ctx, bt_tensor_compare(ctx, bt_object_as_tensor(want),
                                         bt_object_as_tensor(got), 0, 0, &d));
        return d.ndifferent;
    }
    for (uint32_t i = 0; i < x->nfield; i++)
        n += count_wrong(ctx, x->fields[i], y->fields[i]);
    return n;
}

/* ---- random programs ---- */

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Values of two shapes, in programs whose dims are numbers, or one of them is known at the
 * call only. Each program has one of both as input. */
enum { NVALUE = 24, NINPUT = 2, CONSTANT = 2, NONE = 3 };
static const struct family {
    const char *head, *shapes[CONSTANT + 1], *constant;
    struct {
        const char *body;
        uint32_t a, b, to;
    } rows[7];
} families[] = {
    { "",
      { "Tensor[(2, 3), float32]", "Tensor[(4, 3), float32]", "Tensor[(2, 3), float32]" },
      "const[(2, 3), float32]{1, 2, 3, 4, 5, 6}",
      { { "add(%a, %b)", 0, 0, 0 },
        { "subtract(%a, %b)", 1, 1, 1 },
        { "negative(%a)", 0, NONE, 0 },
        { "abs(%a)", 1, NONE, 1 },
        { "concatenate((%a, %b), axis=0)", 0, 0, 1 },
        { "strided_slice(%a, begin=[1, 0], end=[3, 3])", 1, NONE, 0 },
        { "add(%a, %b)", 0, CONSTANT, 0 } } },
    { "<n: Dim in 0..4>",
      { "Tensor[(n, 3), float32]", "Tensor[(4, 3), float32]", "Tensor[(1, 3), float32]" },
      "const[(1, 3), float32]{1, 2, 3}",
      { { "add(%a, %b)", 0, 0, 0 },
        { "subtract(%a, %b)", 1, 1, 1 },
        { "negative(%a)", 0, NONE, 0 },
        { "abs(%a)", 1, NONE, 1 },
        { "add(%a, sum(%b, axis=[0], keepdims=True))", 1, 0, 1 },
        { "add(%a, max(%b, axis=[0], keepdims=True))", 0, 1, 0 },
        { "add(%a, %b)", 0, CONSTANT, 0 } } },
};

struct program {
    char text[TEXT], body[TEXT];
    uint32_t
        shape[NINPUT + NVALUE]; /* of %v0, %v1, ...: the inputs, and what is computed */
    uint64_t state;
};

/* One of the values before of this shape. */
static uint32_t draw_value(struct program *p, uint32_t n, uint32_t shape)
{
    uint32_t value;
    do
        value = draw(&p->state, n);
    while (p->shape[value] != shape);
    return value;
}

/* A function has the dims that its parameters show. */
static const char *head_of(const struct family *f, uint32_t row)
{
    return f->rows[row].a == 0 || f->rows[row].b == 0 ? f->head : "";
}

/* Primitive functions of a few calls each, on values from before: targets by chance, those
 * of the list, or all the first. */
static void make(struct program *p, const struct family *f, uint64_t seed,
                 const char *const *targets, uint32_t ntarget)
{
    p->state = seed * 2 + 1;
    size_t at = (size_t)snprintf(p->text, TEXT, OPEN), in = 0;
    for (uint32_t i = 0; i < NINPUT; i++)
        p->shape[i] = i;
    for (uint32_t i = NINPUT; i < NINPUT + NVALUE; i++) {
        const uint32_t target = draw(&p->state, 1000) % ntarget,
                       row = draw(&p->state, BT_COUNT(f->rows)), b = f->rows[row].b;
        p->shape[i] = f->rows[row].to;
        at += (size_t)snprintf(p->text + at, TEXT - at,
                               "def @f%u%s(%%a: %s%s%s, primitive=1, target=\"%s\") { "
                               "%s }\n",
                               i, head_of(f, row), f->shapes[f->rows[row].a],
                               b == NONE ? "" : ", %b: ", b == NONE ? "" : f->shapes[b],
                               targets[target], f->rows[row].body);
        in += (size_t)snprintf(p->body + in, TEXT - in, "    %%v%u = @f%u(%%v%u", i, i,
                               draw_value(p, i, f->rows[row].a));
        if (b == CONSTANT)
            in += (size_t)snprintf(p->body + in, TEXT - in, ", %%w");
        else if (b != NONE)
            in +=
                (size_t)snprintf(p->body + in, TEXT - in, ", %%v%u", draw_value(p, i, b));
        in += (size_t)snprintf(p->body + in, TEXT - in, ");\n");
    }
    snprintf(p->text + at, TEXT - at,
             "def @main%s(%%v0: %s, %%v1: %s) {\n    %%w = %s;\n%s"
             "    (%%v%u, %%v%u, %%v%u)\n}\n",
             f->head, f->shapes[0], f->shapes[1], f->constant, p->body,
             NINPUT + NVALUE - 1, draw(&p->state, NVALUE), draw(&p->state, NVALUE));
}

static bt_tensor *rows_of(bt_ctx *ctx, int64_t n, uint64_t seed)
{
    bt_tensor *x = numbers(ctx, n, 3);
    for (int64_t i = 0; i < 3 * n; i++)
        bt_tensor_set(x, i, (double)draw(&seed, 1000));
    return x;
}

static bt_tensor *input(bt_ctx *ctx, uint64_t seed)
{
    return rows_of(ctx, 2, seed);
}

/* What one program gives in calls on different inputs, compared with the reference. */
static int64_t check_program(bt_ctx *ctx, const struct family *f, uint64_t seed,
                             const char *list, const char *const *targets,
                             uint32_t ntarget)
{
    static const char *const reference[] = { "reference" };
    static const int64_t nrow[] = { 4, 0, 3, 0, 1 }; // copies of no bytes are left out
    static struct program p;
    const uint32_t is_open = f->head[0] != 0;
    bt_compiled *expected, *c;
    int64_t nwrong = 0;
    make(&p, f, seed, reference, 1);
    assert_ok(ctx, compile_placed(ctx, p.text, "reference", &expected));
    make(&p, f, seed, targets, ntarget);
    assert_ok(ctx, compile_placed(ctx, p.text, list, &c));
    void *session = open_session(ctx, c), *other = open_session(ctx, expected);
    for (uint64_t i = 0; i < (is_open ? BT_COUNT(nrow) : 2); i++) {
        bt_tensor *const x[] = { rows_of(ctx, is_open ? nrow[i] : 2, 2 * seed + i + 1),
                                 rows_of(ctx, 4, 3 * seed + i) };
        bt_object *want, *got;
        assert_ok(ctx, call_all(ctx, other, BT_COUNT(x), x, &want));
        assert_ok(ctx, call_all(ctx, session, BT_COUNT(x), x, &got));
        nwrong += count_wrong(ctx, want, got);
        bt_object_unref(want);
        bt_object_unref(got);
        bt_tensor_unref(x[0]);
        bt_tensor_unref(x[1]);
    }
    find_graph(ctx)->close(session);
    find_graph(ctx)->close(other);
    bt_compiled_unref(expected);
    bt_compiled_unref(c);
    return nwrong;
}

static const struct {
    const char *first, *others, *at[4];
    uint32_t n;
} mixes[] = {
    { "late", "", { "late" }, 1 },
    { "later", "", { "later" }, 1 },
    { "late", ", reference", { "late", "reference" }, 2 },
    { "later", ", reference", { "later", "reference" }, 2 },
    { "late",
      ", late{n=2}, later, far, reference",
      { "late", "late{n=2}", "later", "far" },
      4 },
};

static void check_mixes(uint32_t nprogram, const struct family *f)
{
    for (uint32_t i = 0; i < BT_COUNT(mixes); i++) {
        bt_ctx *ctx = open_targets(NULL);
        for (uint32_t seed = 0; seed < nprogram; seed++) {
            char list[100];
            snprintf(list, sizeof(list), "%s{seed=%u}%s", mixes[i].first, seed,
                     mixes[i].others);
            if (check_program(ctx, f, seed, list, mixes[i].at, mixes[i].n))
                fail_msg("program %u is wrong for %s", seed, list);
        }
        bt_ctx_destroy(ctx);
    }
}

static void test_any_order_gives_the_same(void **state)
{
    (void)state;
    check_mixes(40, &families[0]);
}

static void test_any_order_gives_the_same_with_open_dims(void **state)
{
    (void)state;
    check_mixes(40, &families[1]);
}

/* That the test sees an event that is missing. */
static void test_a_target_that_ignores_events_is_wrong(void **state)
{
    static const char *const late[] = { "late" };
    uint32_t nwrong = 0;
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (uint32_t seed = 0; seed < 10; seed++) {
        char list[100];
        snprintf(list, sizeof(list), "late{seed=%u, deaf=1}", seed);
        nwrong += check_program(ctx, &families[0], seed, list, late, 1) != 0;
    }
    assert_true(nwrong >= 9);
    bt_ctx_destroy(ctx);
}

/* ---- failures ---- */

#define CHAIN                                    \
    "def @main(%x: Tensor[(2, 3), float32]) {\n" \
    "    abs(negative(exp(add(%x, %x))))\n}\n"

static int has_note(bt_status status, const char *text)
{
    for (; status; status = status->note) {
        if (strstr(status->message, text))
            return 1;
    }
    return 0;
}

static void test_what_fails_is_named_and_the_session_goes_on(void **state)
{
    static const struct {
        const char *target, *note;
    } rows[] = {
        { "late{fault=\"launch\", nth=1}", "in kernel fused_add of target late" },
        { "late{fault=\"launch\", nth=3}", "in kernel fused_negative of target late" },
        { "late{fault=\"copy\", nth=1}", "in a copy of 24 bytes to or from the memory" },
        { "late{fault=\"copy\", nth=2}", "in a copy of 24 bytes to or from the memory" },
        { "far{fault=\"copy\", nth=2}", "in a copy of 24 bytes to or from the memory" },
        { "later{fault=\"launch\", nth=4}", "in kernel fused_abs of target later" },
    };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *c, *expected;
        bt_tensor *x = numbers(ctx, 2, 3);
        bt_object *got, *want;
        assert_ok(ctx, compile_text(ctx, CHAIN, rows[i].target, &c));
        assert_ok(ctx, compile_text(ctx, CHAIN, "reference", &expected));
        assert_ok(ctx, run_graph(ctx, expected, x, &want));
        void *session = open_session(ctx, c);
        bt_status status = call(ctx, session, x, &got);
        assert_non_null(status);
        if (!has_note(status, rows[i].note))
            fail_msg("%s: no note \"%s\"", status->message, rows[i].note);
        assert_ok(ctx, call(ctx, session, x, &got));
        assert_int_equal(count_wrong(ctx, want, got), 0);
        bt_object_unref(got);
        bt_object_unref(want);
        bt_tensor_unref(x);
        find_graph(ctx)->close(session);
        bt_compiled_unref(c);
        bt_compiled_unref(expected);
        bt_ctx_destroy(ctx);
    }
}

static void test_a_cancelled_call_leaves_nothing_running(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *got;
    assert_ok(ctx, compile_text(ctx, CHAIN, "late", &c));
    void *session = open_session(ctx, c);
    bt_ctx_cancel(ctx);
    assert_error(call(ctx, session, x, &got), BT_ERR_CANCELLED, "cancelled");
    bt_tensor_unref(x);
    find_graph(ctx)->close(session);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* ---- counts ---- */

struct counts {
    uint32_t nalloc, ncopy, nwait;
};

static struct counts counts_of(bt_ctx *ctx, const bt_compiled *c)
{
    struct counts out;
    bt_arena *arena = bt_ctx_scratch(ctx);
    bt_text text;
    bt_text_init(&text, arena);
    c->targets[0]->target->describe(c->loaded[0], &text);
    assert_int_equal(sscanf(bt_text_get(&text), "allocs %u copies %u waits %u",
                            &out.nalloc, &out.ncopy, &out.nwait),
                     3);
    return out;
}

/* At the end, for the last of each queue: nobody looks before. */
static void test_the_host_waits_only_where_it_looks(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *got;
    assert_ok(ctx, compile_text(ctx, CHAIN, "late", &c));
    void *session = open_session(ctx, c);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_ok(ctx, call(ctx, session, x, &got));
        bt_object_unref(got);
        assert_int_equal(counts_of(ctx, c).nwait, 2 * i);
    }
    bt_tensor_unref(x);
    find_graph(ctx)->close(session);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

#define WEIGHTS                                            \
    "def @main(%x: Tensor[(2, 3), float32]) {\n"           \
    "    %w = const[(2, 3), float32]{1, 2, 3, 4, 5, 6};\n" \
    "    add(multiply(add(%x, %w), const[(3), float32]{7, 8, 9}), %w)\n}\n"

static void test_constants_are_copied_once_for_all_sessions(void **state)
{
    static const char *const targets[] = { "far", "late" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(targets); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *c;
        void *sessions[4];
        assert_ok(ctx, compile_text(ctx, WEIGHTS, targets[i], &c));
        assert_int_equal(counts_of(ctx, c).nalloc, 0);
        for (uint32_t k = 0; k < 4; k++) {
            sessions[k] = open_session(ctx, c);
            // two constants, and a block for each session
            assert_int_equal(counts_of(ctx, c).nalloc, 2 + k + 1);
            assert_int_equal(counts_of(ctx, c).ncopy, 2);
        }
        for (uint32_t k = 0; k < 4; k++) {
            bt_tensor *x = input(ctx, k + 1);
            bt_object *got;
            assert_ok(ctx, call(ctx, sessions[k], x, &got));
            for (int64_t n = 0; n < 6; n++)
                assert_true(bt_tensor_get(bt_object_as_tensor(got), n) ==
                            (bt_tensor_get(x, n) + (double)n + 1) *
                                    (7 + (double)(n % 3)) +
                                (double)n + 1);
            bt_object_unref(got);
            bt_tensor_unref(x);
            find_graph(ctx)->close(sessions[k]);
        }
        assert_int_equal(counts_of(ctx, c).ncopy, 2 + 4 * 2); // and x and y of each call
        bt_compiled_unref(c);
        bt_ctx_destroy(ctx);
    }
}

/* Kibibytes of the file's pages that the process has; -1: there is no telling. */
static long resident(const char *path)
{
    char line[512];
    long kibibytes = -1;
    int is_file = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strchr(line, '-') && strchr(line, '/'))
            is_file = strstr(line, path) != NULL;
        if (is_file && kibibytes < 0)
            (void)sscanf(line, "Rss: %ld", &kibibytes);
    }
    if (file)
        fclose(file);
    return kibibytes;
}

/* What a file's constants took of the host's memory is given back once they are copied. */
static void test_pages_of_constants_are_given_back(void **state)
{
    enum { NELEM = 1 << 20 };
    static char text[400];
    char path[300];
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c, *again;
    bt_artifact *a;
    snprintf(path, sizeof(path), TEST_FOLDER "/queues.%d", (int)getpid());
    snprintf(text, sizeof(text),
             "def @main(%%x: Tensor[(%d, 4), float32]) {\n"
             "    add(%%x, broadcast_to(const[(4), float32]{1, 2, 3, 4}, "
             "shape=[%d, 4]))\n}\n",
             NELEM / 4, NELEM / 4);
    compile_folded(ctx, text, "late", &c);
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
    bt_compiled_unref(c);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    const long before = resident(path);
    if (before < 0) {
        unlink(path);
        print_message("there is no /proc to ask\n");
        skip();
    }
    assert_true(before >= 4 * NELEM / 1024);
    assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &again));
    bt_artifact_close(a);
    void *session = open_session(ctx, again);
    assert_true(resident(path) <= before - 4 * NELEM / 1024 + 64);
    find_graph(ctx)->close(session);
    bt_compiled_unref(again);
    unlink(path);
    bt_ctx_destroy(ctx);
}

/* ---- what a memory is ---- */

#define MANY                                                                 \
    "def @main(%x: Tensor[(2, 3), float32]) {\n"                             \
    "    %a = negative(%x); %b = abs(%x); %c = exp(%x); %d = add(%a, %b);\n" \
    "    (add(%d, %c), concatenate((%a, %b, %c, %d), axis=0))\n}\n"

static void test_blocks_are_as_the_memory_wants_them(void **state)
{
    static const char *const targets[] = { "far{align=4096}", "late{align=256}",
                                           "far{largest=96}",
                                           "late{largest=160, align=128}" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(targets); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *c, *expected;
        bt_tensor *x = numbers(ctx, 2, 3);
        bt_object *got, *want;
        assert_ok(ctx, compile_text(ctx, MANY, "reference", &expected));
        assert_ok(ctx, run_graph(ctx, expected, x, &want));
        assert_ok(ctx, compile_text(ctx, MANY, targets[i], &c));
        assert_ok(ctx, run_graph(ctx, c, x, &got));
        assert_int_equal(count_wrong(ctx, want, got), 0);
        bt_object_unref(got);
        bt_object_unref(want);
        bt_tensor_unref(x);
        bt_compiled_unref(c);
        bt_compiled_unref(expected);
        bt_ctx_destroy(ctx);
    }
}

static void test_what_no_block_holds_goes_elsewhere(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, MANY, "far{largest=64}, reference", &c));
    for (uint32_t i = 0; i < c->nfunc; i++) {
        const int is_big = strcmp(c->funcs[i]->name, "fused_concatenate") == 0;
        assert_int_equal(c->funcs[i]->target, is_big);
        assert_true(!is_big || strstr(c->funcs[i]->why,
                                      "a tensor has 96 bytes, and a block of memory away "
                                      "of target far{largest=64} has at most 64"));
    }
    bt_compiled_unref(c);
    assert_error(compile_text(ctx, MANY, "far{largest=64}", &c), BT_ERR_UNSUPPORTED,
                 "a tensor has 96 bytes, and a block of memory away of target "
                 "far{largest=64} has at most 64");
    bt_ctx_destroy(ctx);
}

static void test_a_block_is_too_large_by_the_dims_of_a_call(void **state)
{
    static const char *const targets[] = { "far{largest=64}", "late{largest=64}" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(targets); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *c;
        bt_object *got;
        assert_ok(ctx, compile_text(ctx,
                                    "def @main<n: Dim>(%x: Tensor[(n, 3), float32]) "
                                    "{\n    negative(%x)\n}\n",
                                    targets[i], &c));
        bt_tensor *few = numbers(ctx, 5, 3), *many = numbers(ctx, 6, 3);
        assert_ok(ctx, run_graph(ctx, c, few, &got));
        bt_object_unref(got);
        assert_error(run_graph(ctx, c, many, &got), BT_ERR_LIMIT,
                     "72 bytes are needed in one block, and memory away of target");
        bt_tensor_unref(few);
        bt_tensor_unref(many);
        bt_compiled_unref(c);
        bt_ctx_destroy(ctx);
    }
}

/* However few rows there may be, a row that is taken away is not counted as many bytes. */
static void test_sizes_that_may_be_negative_are_looked_at_in_a_call(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_object *got;
    bt_tensor *x = numbers(ctx, 5, 3);
    assert_ok(ctx, compile_text(ctx,
                                "def @main<n: Dim>(%x: Tensor[(n - 1, 3), float32]) {\n"
                                "    negative(%x)\n}\n",
                                "far{largest=64}", &c));
    assert_ok(ctx, run_graph(ctx, c, x, &got));
    bt_object_unref(got);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_memory_is_asked_of_targets_that_have_their_own(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    void *block;
    char byte;
    assert_ok(ctx, compile_text(ctx, MANY, "far{largest=64}, reference", &c));
    for (uint32_t target = 1; target < 3; target++)
        assert_error(bt_compiled_alloc(ctx, c, target, 4, &block), BT_ERR_ARGUMENT,
                     target == 1 ? "target 1 has no memory of its own"
                                 : "target 2 has no memory of its own");
    assert_int_equal(c->kernels[0]->target, 0);
    assert_error(bt_compiled_launch_hosted(
                     ctx, c, 0,
                     &(bt_kernel_call){ .nbytes = sizeof(bt_kernel_call),
                                        .buffers = (void *[]){ &byte, &byte } },
                     (bt_host_block[]){ { &byte, 1, 0 }, { &byte, 1, 0 } }),
                 BT_ERR_ARGUMENT, "the call does not say how many buffers");
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_a_budget_is_looked_at_before_memory_is_taken(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    void *session;
    assert_ok(ctx, compile_text(ctx, WEIGHTS, "far{budget=59}", &c));
    assert_error(find_graph(ctx)->load(ctx, c, "main", NULL, &session), BT_ERR_LIMIT,
                 "@main needs 60 bytes of memory away of target far{budget=59}, which "
                 "has 59");
    assert_int_equal(counts_of(ctx, c).nalloc, 0);
    bt_compiled_unref(c);
    assert_ok(ctx, compile_text(ctx, WEIGHTS, "far{budget=60}", &c));
    find_graph(ctx)->close(open_session(ctx, c));
    bt_compiled_unref(c);
    assert_error(compile_text(ctx, WEIGHTS, "far{align=96}", &c), BT_ERR_PLUGIN,
                 "target far{align=96}: memory away is aligned to 96 bytes, expected a "
                 "power of two from 64 to 1048576");
    bt_ctx_destroy(ctx);
}

/* What stays of larger dims is given back where the memory would not do: each tensor has
 * storage of its own here. */
static void test_a_budget_counts_what_is_kept(void **state)
{
    static const char text[] =
        OPEN "def @f<n: Dim, k: Dim>(%x: Tensor[(n, 1), float32], "
             "%z: Tensor[(k, 1), float32], primitive=1, target=\"far\") {\n"
             "    add(%z, sum(%x, axis=[0], keepdims=True))\n}\n"
             "def @main<n: Dim, m: Dim, k: Dim>(%x: Tensor[(n, 1), float32], "
             "%y: Tensor[(m, 1), float32], %z: Tensor[(k, 1), float32]) {\n"
             "    @f(%y, @f(%x, %z))\n}\n";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_planned(ctx, text, "far{budget=800}", "", &c));
    void *session = open_session(ctx, c);
    for (int64_t n = 60; n > 0; n -= 56) {
        bt_tensor *const in[] = { numbers(ctx, n, 1), numbers(ctx, n, 1),
                                  numbers(ctx, 64 - n, 1) };
        bt_object *got;
        assert_ok(ctx, call_all(ctx, session, BT_COUNT(in), in, &got));
        bt_object_unref(got);
        for (uint32_t i = 0; i < BT_COUNT(in); i++)
            bt_tensor_unref(in[i]);
    }
    find_graph(ctx)->close(session);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* ---- threads ---- */

struct thread {
    pthread_t id;
    bt_compiled *compiled;
    int64_t nwrong;
};

static void *run_thread(void *opaque)
{
    struct thread *t = opaque;
    bt_ctx *ctx = bt_ctx_create(t->compiled->registry);
    if (!ctx) {
        t->nwrong = 1;
        return NULL;
    }
    void *session = open_session(ctx, t->compiled);
    for (uint64_t i = 0; i < 20; i++) {
        bt_tensor *x = input(ctx, i + 1);
        bt_object *got;
        assert_ok(ctx, call(ctx, session, x, &got));
        for (int64_t n = 0; n < 6; n++)
            t->nwrong += bt_tensor_get(bt_object_as_tensor(got), n) !=
                         (bt_tensor_get(x, n) + (double)n + 1) * (7 + (double)(n % 3)) +
                             (double)n + 1;
        bt_object_unref(got);
        bt_tensor_unref(x);
    }
    find_graph(ctx)->close(session);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void test_sessions_in_threads_share_an_instance(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    struct thread threads[3];
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, WEIGHTS, "late", &c));
    for (uint32_t i = 0; i < BT_COUNT(threads); i++) {
        threads[i] = (struct thread){ .compiled = c };
        assert_int_equal(pthread_create(&threads[i].id, NULL, run_thread, &threads[i]),
                         0);
    }
    for (uint32_t i = 0; i < BT_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
        assert_int_equal(threads[i].nwrong, 0);
    }
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_any_order_gives_the_same),
    cmocka_unit_test(test_any_order_gives_the_same_with_open_dims),
    cmocka_unit_test(test_a_target_that_ignores_events_is_wrong),
    cmocka_unit_test(test_what_fails_is_named_and_the_session_goes_on),
    cmocka_unit_test(test_a_cancelled_call_leaves_nothing_running),
    cmocka_unit_test(test_the_host_waits_only_where_it_looks),
    cmocka_unit_test(test_constants_are_copied_once_for_all_sessions),
    cmocka_unit_test(test_pages_of_constants_are_given_back),
    cmocka_unit_test(test_blocks_are_as_the_memory_wants_them),
    cmocka_unit_test(test_what_no_block_holds_goes_elsewhere),
    cmocka_unit_test(test_a_block_is_too_large_by_the_dims_of_a_call),
    cmocka_unit_test(test_sizes_that_may_be_negative_are_looked_at_in_a_call),
    cmocka_unit_test(test_memory_is_asked_of_targets_that_have_their_own),
    cmocka_unit_test(test_a_budget_is_looked_at_before_memory_is_taken),
    cmocka_unit_test(test_a_budget_counts_what_is_kept),
    cmocka_unit_test(test_sessions_in_threads_share_an_instance),
};
TEST_MAIN(tests)
