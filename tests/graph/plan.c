/* Plans of memory: in place, views, and how near they come to what must be. */
#include "kit.h"

#include <baton/op.h>

/* ---- in place ---- */

static bt_module *read_module(bt_ctx *ctx, const char *text)
{
    bt_module *parsed, *typed;
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    return typed;
}

/* %b of `nelem` elements at `offset` is written by a kernel that reads `ins`, of which %a
 * lies at 0; `after` follows. */
static bt_status check_alias(bt_ctx *ctx, const char *ins, const char *aliases,
                             int offset, int nelem, const char *after)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "#[version = \"baton 0.1\"]\n"
             "def @main(%%x: Tensor[(8), float32]) {\n"
             "    %%s = memory.alloc_storage(size=256);\n"
             "    %%a = memory.alloc_tensor(%%s, shape=[8], dtype=\"float32\");\n"
             "    %%0 = memory.invoke((%%x,), (%%a,), kernel=\"first\");\n"
             "    %%v = memory.view(%%a, shape=[2, 4]);\n"
             "    %%b = memory.alloc_tensor(%%s, offset=%d, shape=[%d], "
             "dtype=\"float32\");\n"
             "    %%1 = memory.invoke((%s), (%%b,), kernel=\"second\"%s);\n"
             "    %s\n"
             "}\n",
             offset, nelem, ins, aliases, after);
    bt_module *m = read_module(ctx, text);
    bt_status status = bt_plan_check(ctx, bt_module_find(m, "main")->func);
    bt_module_unref(m);
    return status;
}

static void test_in_place_only_where_the_kernel_says_so(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    static const struct {
        const char *ins, *aliases;
        int offset, nelem;
        const char *after;
        int good;
    } rows[] = {
        { "%a,", ", aliases=[0, 0]", 0, 8, "%b", 1 },
        { "%a,", "", 0, 8, "%b", 0 },
        { "%a,", "", 32, 8, "%b", 1 },
        { "%a,", ", aliases=[0, 0]", 4, 8, "%b", 0 },  // bytes that are not read yet
        { "%a,", ", aliases=[0, 0]", 0, 16, "%b", 0 }, // nor are these
        { "%a,", ", aliases=[0, 0]", 0, 4, "%b", 0 },
        { "%a,", ", aliases=[0, 0]", 0, 8, "(%a, %b)", 0 }, // needed afterwards
        { "%a,", ", aliases=[0, 0]", 0, 8, "(%v, %b)", 0 },
        { "%x, %a", ", aliases=[0, 1]", 0, 8, "%b", 1 },
        { "%x, %a", ", aliases=[0, 0]", 0, 8, "%b", 0 },
        { "%a, %a", ", aliases=[0, 0]", 0, 8, "%b", 0 }, // read twice, once not in step
        { "%a, %v", ", aliases=[0, 0]", 0, 8, "%b", 0 },
        { "%a, %v", ", aliases=[0, 0, 0, 1]", 0, 8, "%b", 1 },
        { "%v,", ", aliases=[0, 0]", 0, 8, "%b", 1 },
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_status status = check_alias(ctx, rows[i].ins, rows[i].aliases, rows[i].offset,
                                       rows[i].nelem, rows[i].after);
        if (rows[i].good)
            assert_ok(ctx, status);
        else
            assert_error(status, BT_ERR_VERIFY, "tensors that live at once share");
    }
    bt_ctx_destroy(ctx);
}

/* %c is made of %a and %b, at these offsets of one storage; `before` and `after` stand around
 * the kernel. */
static bt_status check_parts(bt_ctx *ctx, const int *offsets, const char *parts,
                             const char *before, const char *after)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "#[version = \"baton 0.1\"]\n"
             "def @main(%%x: Tensor[(16), float32]) {\n"
             "    %%s = memory.alloc_storage(size=512);\n"
             "    %%r = memory.alloc_storage(size=64);\n"
             "    %%y = memory.alloc_tensor(%%r, shape=[16], dtype=\"float32\");\n"
             "    %%a = memory.alloc_tensor(%%s, offset=%d, shape=[16], "
             "dtype=\"float32\");\n"
             "    memory.invoke((%%x,), (%%a,), kernel=\"k\");\n"
             "    %%b = memory.alloc_tensor(%%s, offset=%d, shape=[2, 16], "
             "dtype=\"float32\");\n"
             "    memory.invoke((%%x,), (%%b,), kernel=\"k\");\n"
             "    %%v = memory.view(%%b, shape=[32]);\n"
             "    %%c = memory.alloc_tensor(%%s, offset=%d, shape=[48], "
             "dtype=\"float32\");\n"
             "    %s\n"
             "    memory.invoke((%%a, %%v), (%%c,), kernel=\"lay\", parts=[%s]);\n"
             "    %s\n"
             "    %%y\n"
             "}\n",
             offsets[0], offsets[1], offsets[2], before, parts, after);
    bt_module *m = read_module(ctx, text);
    bt_status status = bt_plan_check(ctx, bt_module_find(m, "main")->func);
    bt_module_unref(m);
    return status;
}

#define READ(tensors) "memory.invoke((" tensors ",), (%y,), kernel=\"k\");"
#define WRITE(tensor) "memory.invoke((%x,), (" tensor ",), kernel=\"k\");"

static void test_parts_lie_in_what_is_made_of_them(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    static const struct {
        int offsets[3];
        const char *parts, *before, *after;
        int good;
    } rows[] = {
        { { 0, 64, 0 }, "0, 1", "", READ("%c"), 1 },
        { { 64, 128, 64 }, "0, 1", "", READ("%c"), 1 },
        { { 128, 0, 0 }, "1, 0", "", READ("%c"), 1 },
        { { 0, 64, 192 }, "0, 1", "", READ("%c"), 1 }, // elsewhere: the kernel runs
        { { 0, 64, 192 }, "", "", READ("%c"), 1 },
        { { 0, 64, 0 }, "", "", READ("%c"), 0 }, // it may be any kernel
        { { 0, 64, 0 }, "1, 0", "", READ("%c"), 0 },
        { { 128, 0, 0 }, "0, 1", "", READ("%c"), 0 },
        { { 0, 192, 0 },
          "0, 1",
          "",
          READ("%c"),
          0 }, // one is there, the other one is not
        { { 256, 64, 0 }, "0, 1", "", READ("%c"), 0 },
        { { 0, 64, 4 }, "0, 1", "", READ("%c"), 0 },
        { { 0, 64, 0 }, "0", "", READ("%c"), 0 }, // it is not all of it
        { { 0, 64, 0 }, "0, 1, 0", "", READ("%c"), 0 },
        { { 0, 64, 0 }, "0, 1", "", READ("%a, %c"), 1 }, // nobody writes either
        { { 0, 64, 0 }, "0, 1", "", READ("%b, %c"), 1 },
        { { 0, 64, 0 }, "0, 1", "", WRITE("%c") READ("%c"), 0 },
        { { 0, 64, 0 }, "0, 1", "", WRITE("%a") READ("%c"), 0 },
        { { 0, 64, 0 }, "0, 1", "", WRITE("%v") READ("%c"), 0 },
        { { 0, 64, 0 }, "0, 1", WRITE("%c"), READ("%c"), 0 },
        { { 0, 64, 0 }, "0, 1", WRITE("%a"), READ("%c"), 1 },
        { { 0, 64, 0 }, "0, 1", "", "memory.copy(%x, %a); " READ("%c"), 0 },
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_status status = check_parts(ctx, rows[i].offsets, rows[i].parts,
                                       rows[i].before, rows[i].after);
        if ((status == NULL) != rows[i].good)
            fail_msg("row %zu: %s", i, status ? status->message : "it passes");
        if (status)
            assert_error(status, BT_ERR_VERIFY, "tensors that live at once share");
    }
    bt_ctx_destroy(ctx);
}

/* %b and %c are what lies behind so many bytes of %a, at these offsets of one storage; `after` stands
 * behind the kernels. */
static bt_status check_slices(bt_ctx *ctx, const int *offsets, const int *slices,
                              const char *after)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "#[version = \"baton 0.1\"]\n"
             "def @main(%%x: Tensor[(16), float32]) {\n"
             "    %%s = memory.alloc_storage(size=512);\n"
             "    %%r = memory.alloc_storage(size=64);\n"
             "    %%y = memory.alloc_tensor(%%r, shape=[16], dtype=\"float32\");\n"
             "    %%a = memory.alloc_tensor(%%s, offset=%d, shape=[3, 16], "
             "dtype=\"float32\");\n"
             "    memory.invoke((%%x,), (%%a,), kernel=\"k\");\n"
             "    %%v = memory.view(%%a, shape=[48]);\n"
             "    %%b = memory.alloc_tensor(%%s, offset=%d, shape=[16], "
             "dtype=\"float32\");\n"
             "    memory.invoke((%%v,), (%%b,), kernel=\"take\", slice=%d);\n"
             "    %%c = memory.alloc_tensor(%%s, offset=%d, shape=[32], "
             "dtype=\"float32\");\n"
             "    memory.invoke((%%a,), (%%c,), kernel=\"take more\", slice=%d);\n"
             "    %s\n"
             "    %%y\n"
             "}\n",
             offsets[0], offsets[1], slices[0], offsets[2], slices[1], after);
    bt_module *m = read_module(ctx, text);
    bt_status status = bt_plan_check(ctx, bt_module_find(m, "main")->func);
    bt_module_unref(m);
    return status;
}

static void test_slices_lie_where_another_has_their_elements(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    static const struct {
        int offsets[3], slices[2];
        const char *after;
        int good;
    } rows[] = {
        { { 0, 0, 64 }, { 0, 64 }, READ("%a, %b, %c"), 1 },
        { { 64, 192, 64 }, { 128, 0 }, READ("%a, %b, %c"), 1 },
        { { 0, 64, 64 }, { 64, 64 }, READ("%a, %b, %c"), 1 },  // both have the same
        { { 0, 256, 64 }, { 64, 64 }, READ("%a, %b, %c"), 1 }, // elsewhere: it is copied
        { { 0, 64, 64 }, { 128, 64 }, READ("%b"), 0 },         // it has others
        { { 0, 0, 256 }, { -1, 64 }, READ("%a, %b"), 0 },      // it may be any kernel
        { { 0, 0, 128 }, { 0, 128 }, READ("%c"), 0 },          // beyond the end
        { { 256, 0, 0 }, { 64, 64 }, READ("%b, %c"), 1 }, // the same of what is elsewhere
        { { 256, 64, 0 }, { 0, 64 }, READ("%b, %c"), 0 },
        { { 0, 0, 64 }, { 0, 64 }, WRITE("%a") READ("%b"), 0 },
        { { 0, 0, 64 }, { 0, 64 }, WRITE("%b") READ("%a"), 0 },
        { { 0, 0, 64 }, { 0, 64 }, "memory.copy(%x, %b); " READ("%a"), 0 },
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_status status =
            check_slices(ctx, rows[i].offsets, rows[i].slices, rows[i].after);
        if ((status == NULL) != rows[i].good)
            fail_msg("row %zu: %s", i, status ? status->message : "it passes");
        if (status)
            assert_error(status, BT_ERR_VERIFY, "tensors that live at once share");
    }
    bt_ctx_destroy(ctx);
}

static void test_pairs_that_there_are_not_are_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    static const char *const pairs[] = { "0", "0, 1", "1, 0", "0, -1" };
    for (size_t i = 0; i < BT_COUNT(pairs); i++) {
        char text[512];
        bt_module *parsed, *typed;
        snprintf(text, sizeof(text),
                 "#[version = \"baton 0.1\"]\n"
                 "def @main(%%x: float32, %%y: float32) {\n"
                 "    memory.invoke((%%x,), (%%y,), kernel=\"k\", aliases=[%s])\n"
                 "}\n",
                 pairs[i]);
        assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
        assert_error(bt_infer(ctx, parsed, &typed), BT_ERR_TYPE, "aliases must be pairs");
        bt_module_unref(parsed);
    }
    bt_ctx_destroy(ctx);
}

/* ---- what a plan takes ---- */

static int64_t number(const bt_type *dim)
{
    int64_t n;
    assert_true(bt_dim_is_const(dim, &n));
    return n;
}

static uint32_t count_calls(const bt_func *func, const char *op, int64_t *nbytes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        const bt_call *call = bt_as_op_call(func->block->bindings[i], op);
        n += call != NULL;
        if (call && nbytes)
            *nbytes += number(bt_call_dim(call, "size"));
    }
    return n;
}

static const bt_func *main_of(const bt_compiled *compiled)
{
    return bt_module_find(compiled->module, "main")->func;
}

static void test_a_chain_is_computed_in_one_tensor(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    int64_t nbytes = 0;
    bt_compiled *compiled = compile_text(ctx,
                                         "def @main(%x: Tensor[(100), float32]) {\n"
                                         "    let %a = negative(%x);\n"
                                         "    let %b = negative(abs(add(%a, %a)));\n"
                                         "    negative(abs(add(%b, %x)))\n"
                                         "}",
                                         "plain");
    assert_int_equal(count_calls(main_of(compiled), "memory.invoke", NULL), 7);
    count_calls(main_of(compiled), "memory.alloc_storage", &nbytes);
    assert_int_equal(nbytes, 400 + 400); // that, and the result
    bt_compiled_unref(compiled);
    bt_ctx_destroy(ctx);
}

/* ---- views ---- */

static void check_views(const char *text, const char *target, uint32_t nview,
                        uint32_t nkernel)
{
    bt_ctx *ctx = make_ctx(NULL);
    bt_compiled *compiled = compile_text(ctx, text, target);
    const bt_func *func = main_of(compiled);
    if (count_calls(func, "memory.view", NULL) != nview ||
        count_calls(func, "memory.invoke", NULL) != nkernel) {
        bt_text printed;
        bt_text_init(&printed, bt_ctx_scratch(ctx));
        assert_ok(ctx, bt_print(ctx, compiled->module, NULL, &printed));
        fail_msg("%s\n%s", text, bt_text_get(&printed));
    }
    bt_compiled_unref(compiled);
    bt_ctx_destroy(ctx);
}

static void test_another_shape_takes_no_kernel(void **state)
{
    (void)state;
#define OF(shape, call) "def @main(%x: Tensor[(" shape "), float32]) { " call " }"
    static const char *const views[] = {
        OF("2, 3, 4", "reshape(%x, newshape=[6, 4])"),
        OF("2, 3, 4", "reshape(%x, newshape=[4, 3, 2])"),
        OF("2, 3, 4, 5", "reshape(%x, newshape=[5, 4, 6])"),
        OF("8, 9, 10", "reshape(%x, newshape=[12, 60])"),
        OF("12, 60", "reshape(%x, newshape=[8, 9, 10])"),
        OF("6, 35", "reshape(%x, newshape=[10, 21])"),
        OF("7", "reshape(%x, newshape=[1, 7, 1])"),
        OF("1, 1", "reshape(%x, newshape=[1])"),
        OF("2, 3, 4", "nn.batch_flatten(%x)"),
        OF("2, 3", "expand_dims(%x, axis=1, num_newaxis=2)"),
        OF("2, 1, 3", "squeeze(%x, axis=[1])"),
        OF("1, 5", "transpose(%x, axes=[1, 0])"),
        OF("2, 3", "strided_slice(%x, begin=[0, 0], end=[2, 3])"),
        OF("0, 3", "reshape(%x, newshape=[0, 1, 3])"),
    };
    static const char *const kernels[] = {
        OF("2, 3", "transpose(%x, axes=[1, 0])"),
        OF("4", "strided_slice(%x, begin=[1], end=[4])"),
        OF("4", "reverse(%x, axis=0)"),
        OF("1", "broadcast_to(%x, shape=[4])"),
        OF("2, 2", "tile(%x, reps=[1, 1, 2])"),
        OF("4", "negative(%x)"),
    };
    for (size_t i = 0; i < BT_COUNT(views); i++)
        check_views(views[i], "reference", 1, 0);
    for (size_t i = 0; i < BT_COUNT(kernels); i++)
        check_views(kernels[i], "reference", 0, 1);
}

/* Any two shapes of as many elements. */
static void test_random_shapes_are_views(void **state)
{
    (void)state;
    static const int primes[] = { 2, 2, 2, 3, 3, 5, 7, 1 };
    uint32_t seed = 1;
    for (int turn = 0; turn < 300; turn++) {
        int dims[2][4] = { { 1, 1, 1, 1 }, { 1, 1, 1, 1 } };
        char text[200];
        for (size_t i = 0; i < BT_COUNT(primes); i++) {
            for (int k = 0; k < 2; k++) {
                seed = seed * 1664525 + 1013904223;
                dims[k][seed >> 30] *= primes[i];
            }
        }
        snprintf(text, sizeof(text),
                 "def @main(%%x: Tensor[(%d, %d, %d, %d), float32]) {"
                 " reshape(%%x, newshape=[%d, %d, %d, %d]) }",
                 dims[0][0], dims[0][1], dims[0][2], dims[0][3], dims[1][0], dims[1][1],
                 dims[1][2], dims[1][3]);
        check_views(text, "reference", 1, 0);
    }
}

/* Of an argument, a constant, what a kernel made; as an operand, as a result. */
static void test_views_hold_what_they_are_of(void **state)
{
    (void)state;
    static const char text[] =
        "def @main(%x: Tensor[(4, 25), float32]) {\n"
        "    let %flat = reshape(%x, newshape=[100]);\n"
        "    let %n = negative(%flat);\n"
        "    let %again = reshape(%n, newshape=[10, 10]);\n"
        "    let %sum = add(%again, reshape(%x, newshape=[10, 10]));\n"
        "    (%flat, %again, reshape(%sum, newshape=[2, 50]), reshape(abs(%n), "
        "newshape=[100]))\n"
        "}";
    bt_ctx *ctx = make_ctx(NULL);
    bt_compiled *compiled = compile_text(ctx, text, "plain");
    const bt_executor *graph = find_executor(ctx, "graph");
    bt_tensor *flat = count_from(ctx, 100, 1), *x;
    void *session;
    bt_object *result;
    static const int64_t dims[] = { 4, 25 };
    assert_int_equal(compiled->nkernel, 3);
    assert_ok(ctx, bt_tensor_wrap(ctx, BT_FLOAT32, 2, dims, flat->data, &x));
    bt_object *args[] = { &x->base };
    assert_ok(ctx, graph->load(ctx, compiled, NULL, NULL, &session));
    assert_ok(ctx, graph->call(ctx, session, NULL, 1, args, NULL, &result));
    const bt_tuple *fields = bt_object_as_tuple(result);
    assert_counts(bt_object_as_tensor(fields->fields[0]), 1, 1);
    assert_counts(bt_object_as_tensor(fields->fields[1]), -1, -1);
    assert_counts(bt_object_as_tensor(fields->fields[2]), 0, 0);
    assert_counts(bt_object_as_tensor(fields->fields[3]), 1, 1);
    assert_int_equal(bt_object_as_tensor(fields->fields[2])->dims[0], 2);
    bt_object_unref(result);
    graph->close(session);
    bt_tensor_unref(x);
    bt_tensor_unref(flat);
    bt_compiled_unref(compiled);
    bt_ctx_destroy(ctx);
}

/* ---- random plans ---- */

static uint32_t below(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

/* Kernels that each write one tensor and read up to three before it. */
static char *random_program(uint32_t seed, uint32_t n)
{
    size_t size = 400 + (size_t)n * 400, len;
    char *text = malloc(size);
    assert_non_null(text);
    len = (size_t)snprintf(text, size,
                           "#[version = \"baton 0.1\"]\n"
                           "def @main(%%t0: Tensor[(64), uint8]) {\n");
    uint32_t *sizes = calloc(n + 1, sizeof(*sizes));
    assert_non_null(sizes);
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t from = i - 1 - below(&seed, i < 6 ? i : 6), far = below(&seed, i);
        sizes[i] = below(&seed, 2) ? sizes[from] : 1 + below(&seed, 5000);
        sizes[i] = sizes[i] ? sizes[i] : 64;
        len += (size_t)snprintf(
            text + len, size - len,
            "    %%s%u = memory.alloc_storage(size=%u);\n"
            "    %%t%u = memory.alloc_tensor(%%s%u, shape=[%u], dtype=\"uint8\");\n"
            "    memory.invoke((%%t%u, %%t%u), (%%t%u,), kernel=\"k\"%s);\n",
            i, sizes[i], i, i, sizes[i], from, below(&seed, 8) ? i - 1 : far, i,
            below(&seed, 2) ? ", aliases=[0, 0, 0, 1]" : "");
    }
    snprintf(text + len, size - len, "    %%t%u\n}\n", n);
    free(sizes);
    return text;
}

/* The storage that tensors share, and the most that of it is in use at once. */
static void measure(bt_ctx *ctx, const bt_func *func, int64_t *peak, int64_t *least)
{
    uint32_t n;
    bt_live_range *ranges;
    *peak = *least = 0;
    assert_ok(ctx, bt_live_ranges(ctx, bt_ctx_scratch(ctx), func, &n, &ranges));
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        int64_t live = 0;
        for (uint32_t k = 0; k < n; k++) {
            if (ranges[k].escapes || ranges[k].first > i || ranges[k].last < i)
                continue;
            int in_place = 0;
            for (uint32_t j = 0; j < ranges[k].nalias && ranges[k].first == i; j++)
                in_place |= ranges[ranges[k].aliases[j]].storage == ranges[k].storage &&
                            ranges[ranges[k].aliases[j]].offset == ranges[k].offset;
            live += in_place ? 0 : number(ranges[k].nbytes);
            const int64_t end = number(ranges[k].offset) + number(ranges[k].nbytes);
            *peak = end > *peak ? end : *peak;
        }
        *least = live > *least ? live : *least;
    }
}

static void test_random_plans_are_right_and_small(void **state)
{
    (void)state;
    bt_ctx *ctx = make_ctx(NULL);
    bt_pipeline *pipeline;
    double sum = 0, worst = 0;
    enum { NPROGRAM = 60 };
    assert_ok(ctx, bt_pipeline_read(ctx, "plan-memory", &pipeline));
    for (uint32_t i = 0; i < NPROGRAM; i++) {
        char *text = random_program(i, 5 + i * 2);
        bt_module *m = read_module(ctx, text), *planned;
        int64_t peak, least;
        assert_ok(ctx,
                  bt_pipeline_run(ctx, pipeline, &(bt_pipeline_options){ .level = 4 }, m,
                                  &planned));
        const bt_func *func = bt_module_find(planned, "main")->func;
        assert_ok(ctx, bt_plan_check(ctx, func));
        assert_true(count_calls(func, "memory.alloc_storage", NULL) <= 2);
        measure(ctx, func, &peak, &least);
        assert_true(least > 0 && peak >= least);
        sum += (double)peak / (double)least;
        worst =
            (double)peak / (double)least > worst ? (double)peak / (double)least : worst;
        bt_module_unref(planned);
        bt_module_unref(m);
        free(text);
    }
    printf("storage to bytes in use at once: %.3f, at worst %.3f\n", sum / NPROGRAM,
           worst);
    assert_true(sum / NPROGRAM < 1.1);
    bt_pipeline_destroy(pipeline);
    bt_ctx_destroy(ctx);
}

/* ---- plans with dims ---- */

enum { NLIFE = 10000, NTENSOR = 12, NPOINT = 50 };

/* What tests vary of a program: its tensors are c * n + d * n * m + e elements long. */
static char *random_open_program(uint32_t seed, char *text, size_t size)
{
    size_t len = (size_t)snprintf(
        text, size,
        "#[version = \"baton 0.1\"]\n"
        "def @main<n: Dim in %u..40, m: Dim in 1..%u>(%%t0: Tensor[(n), uint8], %%u: "
        "Tensor[(m), uint8]) {\n",
        below(&seed, 3), 2 + below(&seed, 30));
    for (uint32_t i = 1; i <= NTENSOR; i++) {
        const uint32_t c = 1 + below(&seed, 200), kind = below(&seed, 4);
        char dim[64];
        snprintf(dim, sizeof(dim),
                 kind == 0   ? "%u*n"
                 : kind == 1 ? "%u*n*m"
                 : kind == 2 ? "%u + n"
                             : "%u",
                 c);
        len += (size_t)snprintf(
            text + len, size - len,
            "    %%s%u = memory.alloc_storage(size=%s);\n"
            "    %%t%u = memory.alloc_tensor(%%s%u, shape=[%s], dtype=\"uint8\");\n"
            "    memory.invoke((%%t%u, %%t%u), (%%t%u,), kernel=\"k\"%s);\n",
            i, dim, i, i, dim, i - 1, below(&seed, i), i,
            below(&seed, 3) ? "" : ", aliases=[0, 0, 0, 1]");
    }
    snprintf(text + len, size - len, "    %%t%d\n}\n", NTENSOR);
    return text;
}

static int64_t value_of(bt_ctx *ctx, const bt_func *func, const bt_type *dim,
                        const int64_t *at)
{
    bt_dim_code code;
    int64_t value;
    assert_ok(ctx, bt_dim_compile(ctx, bt_ctx_scratch(ctx), dim, func->nvar, func->vars,
                                  &code));
    assert_true(bt_dim_eval(&code, at, &value));
    return value;
}

/* Which tensor wrote a byte last: binding by binding, each paints what it writes; what it
 * reads must be painted by none but itself. 0: some plan is wrong. */
static int paint(bt_ctx *ctx, const bt_func *func, uint32_t n,
                 const bt_live_range *ranges, const int64_t *at, double *sizes)
{
    static uint8_t bytes[1 << 22];
    int64_t first[NTENSOR], nbytes[NTENSOR], base = 0, shared = 0, sum = 0;
    const bt_call *known[NTENSOR];
    int64_t bases[NTENSOR];
    uint32_t nknown = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        const int64_t size =
            value_of(ctx, func, bt_call_dim(ranges[i].storage, "size"), at);
        while (k < nknown && known[k] != ranges[i].storage)
            k++;
        if (k == nknown) {
            known[nknown] = ranges[i].storage;
            bases[nknown++] = base;
            base += size;
            shared += size;
        }
        first[i] = value_of(ctx, func, ranges[i].offset, at);
        nbytes[i] = value_of(ctx, func, ranges[i].nbytes, at);
        if (first[i] % 64 || first[i] + nbytes[i] > size)
            return 0;
        first[i] += bases[k];
        sum += nbytes[i];
    }
    assert_true(base <= (int64_t)sizeof(bytes));
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        const bt_call *invoke = bt_as_op_call(func->block->bindings[i], "memory.invoke");
        for (uint32_t k = 0; invoke && k < n; k++) {
            int reads = 0;
            for (uint32_t j = 0; j < 2; j++)
                reads |=
                    bt_as_tuple(invoke->args[0])->fields[j] == &ranges[k].tensor->base;
            for (int64_t b = 0; reads && b < nbytes[k]; b++) {
                if (bytes[first[k] + b] != k)
                    return 0;
            }
        }
        for (uint32_t k = 0; invoke && k < n; k++) {
            if (bt_as_tuple(invoke->args[1])->fields[0] == &ranges[k].tensor->base)
                memset(bytes + first[k], (int)k, (size_t)nbytes[k]);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        for (int64_t b = 0; ranges[k].escapes && b < nbytes[k]; b++) {
            if (bytes[first[k] + b] != k)
                return 0;
        }
    }
    sizes[0] += (double)shared;
    sizes[1] += (double)sum;
    return 1;
}

/* All that the types admit, in the corners and between. */
static void choose_point(const bt_func *func, uint32_t *seed, uint32_t number,
                         int64_t *at)
{
    for (uint32_t i = 0; i < func->nvar; i++) {
        int64_t low, high;
        bt_dim_bounds(func->vars[i], &low, &high);
        at[i] = number >> i & 1 ? high : low;
        if (number >= 4)
            at[i] = low + below(seed, (uint32_t)(high - low) + 1);
    }
}

static void test_plans_with_dims_are_right_for_all_of_them(void **state)
{
    (void)state;
    static char text[8192];
    bt_pipeline *pipeline;
    double sizes[2] = { 0, 0 };
    bt_ctx *ctx = make_ctx(NULL);
    assert_ok(ctx, bt_pipeline_read(ctx, "plan-memory", &pipeline));
    for (uint32_t i = 0; i < NLIFE / NTENSOR; i++) {
        bt_module *m = read_module(ctx, random_open_program(i, text, sizeof(text))),
                  *planned;
        uint32_t n, seed = i;
        bt_live_range *ranges;
        bt_arena *scratch = bt_ctx_scratch(ctx);
        const void *mark = bt_arena_mark(scratch);
        assert_ok(ctx,
                  bt_pipeline_run(ctx, pipeline, &(bt_pipeline_options){ .level = 4 }, m,
                                  &planned));
        const bt_func *func = bt_module_find(planned, "main")->func;
        assert_ok(ctx, bt_plan_check(ctx, func));
        assert_ok(ctx, bt_live_ranges(ctx, scratch, func, &n, &ranges));
        for (uint32_t k = 0; k < NPOINT; k++) {
            int64_t at[2];
            choose_point(func, &seed, k, at);
            if (!paint(ctx, func, n, ranges, at, sizes))
                fail_msg("program %u is planned wrong for n=%lld, m=%lld", i,
                         (long long)at[0], (long long)at[1]);
        }
        bt_arena_release(scratch, mark);
        bt_module_unref(planned);
        bt_module_unref(m);
    }
    printf("storage to the sum of all tensors: %.3f\n", sizes[0] / sizes[1]);
    assert_true(sizes[0] / sizes[1] < 0.75);
    bt_pipeline_destroy(pipeline);
    bt_ctx_destroy(ctx);
}

/* %a ranges while %b is written, at `offset` of a storage of `size` bytes. */
static void test_what_holds_for_some_dims_only_is_no_plan(void **state)
{
    (void)state;
    static const struct {
        const char *range, *offset, *size;
        int good;
    } rows[] = {
        { "1..8", "64*ceildiv(n, 4)", "64*ceildiv(n, 4) + 16*n", 1 },
        { "1..8", "16*n", "32*n", 1 },
        { "1..8", "128", "128 + 16*n", 1 },
        { "1..9", "128", "128 + 16*n", 0 }, // not where n is 9
        { "1..8", "16*n - 1", "32*n", 0 },
        { "1..8", "16*n", "32*n - 1", 0 },
        { "1..8", "16*n", "256", 1 },
        { "1..8", "16*n", "255", 0 },
        { "1..8", "n*n", "n*n + 16*n", 0 },
        { "0..8", "max(16*n, 64)", "max(16*n, 64) + 16*n", 1 },
        { "0..8", "min(16*n, 64)", "64 + 32*n", 0 },
    };
    bt_ctx *ctx = make_ctx(NULL);
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "#[version = \"baton 0.1\"]\n"
                 "def @main<n: Dim in %s>(%%x: Tensor[(4*n), float32], %%d: Tensor[(n), "
                 "bool]) {\n"
                 "    %%s = memory.alloc_storage(size=%s);\n"
                 "    %%a = memory.alloc_tensor(%%s, shape=[4*n], dtype=\"float32\");\n"
                 "    %%0 = memory.invoke((%%x,), (%%a,), kernel=\"first\", dims=[n]);\n"
                 "    %%b = memory.alloc_tensor(%%s, offset=%s, shape=[4*n], "
                 "dtype=\"float32\");\n"
                 "    %%1 = memory.invoke((%%a,), (%%b,), kernel=\"second\", dims=[n]);\n"
                 "    %%b\n"
                 "}\n",
                 rows[i].range, rows[i].size, rows[i].offset);
        bt_module *m = read_module(ctx, text);
        bt_status status = bt_plan_check(ctx, bt_module_find(m, "main")->func);
        if ((status == NULL) != rows[i].good)
            fail_msg("row %zu: %s", i, status ? status->message : "it passes");
        bt_module_unref(m);
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_in_place_only_where_the_kernel_says_so),
    cmocka_unit_test(test_parts_lie_in_what_is_made_of_them),
    cmocka_unit_test(test_slices_lie_where_another_has_their_elements),
    cmocka_unit_test(test_pairs_that_there_are_not_are_refused),
    cmocka_unit_test(test_a_chain_is_computed_in_one_tensor),
    cmocka_unit_test(test_another_shape_takes_no_kernel),
    cmocka_unit_test(test_random_shapes_are_views),
    cmocka_unit_test(test_views_hold_what_they_are_of),
    cmocka_unit_test(test_random_plans_are_right_and_small),
    cmocka_unit_test(test_plans_with_dims_are_right_for_all_of_them),
    cmocka_unit_test(test_what_holds_for_some_dims_only_is_no_plan),
};
TEST_MAIN(tests)
