/* Pass place: the cut is the least of all, a makespan is what can be counted by hand, and
 * programs that are placed give what they give without. */
#include "placement/placement.h"
#include "programs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* ---- placements of numbers ---- */

static bt_status open_queue(bt_ctx *ctx, void *self, void **queue)
{
    (void)ctx, (void)self, (void)queue;
    return NULL;
}

static const bt_target plain = { .name = "plain" },
                       queued = { .name = "queued", .open_queue = open_queue };
static const bt_space near = { .latency_ns = 3, .bytes_per_ns = 1 },
                      far = { .latency_ns = 11, .bytes_per_ns = 0.5 };
static const bt_target_use host = { .text = "host", .target = &plain },
                           device = { .text = "device",
                                      .target = &queued,
                                      .space = &near },
                           other = { .text = "other", .target = &plain, .space = &far },
                           second = { .text = "second", .target = &plain };

static uint32_t add_tensor(struct placement *p, uint32_t from, double nbytes)
{
    const struct placed_tensor t = { .nbytes = nbytes, .from = from };
    assert_non_null(BT_PUSH(p->arena, &p->tensors, t));
    if (from != PLACED_HOST)
        assert_non_null(BT_PUSH(p->arena, &p->all.at[from].out, p->tensors.len - 1));
    return p->tensors.len - 1;
}

static void add_user(struct placement *p, uint32_t tensor, uint32_t user)
{
    assert_non_null(BT_PUSH(p->arena, &p->tensors.at[tensor].users, user));
    assert_non_null(BT_PUSH(p->arena, &p->all.at[user].in, tensor));
}

/* Each computation reads up to three tensors from before it and makes one or two. */
static void draw_placement(struct placement *p, uint32_t n)
{
    for (uint32_t i = draw(3); i < 3; i++)
        (void)add_tensor(p, PLACED_HOST, draw(40));
    for (uint32_t i = 0; i < n; i++) {
        double *ns = BT_NEWS(p->arena, double, p->ntarget);
        assert_non_null(ns);
        for (uint32_t t = 0; t < p->ntarget; t++)
            ns[t] = draw(8) ? (double)draw(60) : -1;
        const struct placed placed = { .ns = ns, .is_free = draw(10) != 0 };
        assert_non_null(BT_PUSH(p->arena, &p->all, placed));
        for (uint32_t k = draw(4); k < 3 && p->tensors.len; k++)
            add_user(p, draw(p->tensors.len), i);
        for (uint32_t k = draw(2); k < 2; k++) {
            const uint32_t made = add_tensor(p, i, draw(40));
            p->tensors.at[made].is_for_host = draw(4) == 0;
        }
        struct placed *at = &p->all.at[i];
        at->target = draw(p->ntarget);
        if (ns[at->target] < 0)
            ns[at->target] = draw(60);
    }
}

/* By trying all of them. */
static double least_work(struct placement *p, uint32_t from)
{
    struct placed *at = from < p->all.len ? &p->all.at[from] : NULL;
    double least = INFINITY;
    if (!at)
        return placement_work_ns(p);
    const uint32_t was = at->target;
    for (uint32_t t = 0; t < p->ntarget; t++) {
        if (t != was && (!at->is_free || at->ns[t] < 0))
            continue;
        at->target = t;
        least = fmin(least, least_work(p, from + 1));
    }
    at->target = was;
    return least;
}

static void test_cuts_are_least(void **given)
{
    static const bt_target_use *const pairs[][2] = {
        { &host, &device }, { &device, &other }, { &host, &second }, { &other, &second }
    };
    bt_ctx *ctx = *given;
    for (uint32_t seed = 0; seed < 600; seed++) {
        bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
        struct placement p = { .arena = arena, .ntarget = 2, .targets = pairs[seed % 4] };
        state = seed;
        draw_placement(&p, 1 + draw(9));
        const double least = least_work(&p, 0);
        assert_ok(ctx, placement_cut(&p));
        assert_true(fabs(placement_work_ns(&p) - (least)) < 1e-9);
        bt_arena_destroy(arena);
    }
}

static void test_exchanges_make_less_work(void **given)
{
    static const bt_target_use *const all[] = { &host, &device, &other, &second };
    bt_ctx *ctx = *given;
    uint32_t nleast = 0;
    for (uint32_t seed = 0; seed < 200; seed++) {
        bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
        struct placement p = { .arena = arena, .ntarget = 4, .targets = all };
        state = seed;
        draw_placement(&p, 1 + draw(6));
        const double before = placement_work_ns(&p), least = least_work(&p, 0);
        assert_ok(ctx, placement_cut(&p));
        const double now = placement_work_ns(&p);
        assert_true(now <= before && now >= least - 1e-9);
        nleast += now <= least + 1e-9;
        bt_arena_destroy(arena);
    }
    assert_true(nleast >= 180); // exchanges of two are not all there are
}

/* x -> a on the device -> y -> b on the host -> z; c on the device, from x, goes on beside b. */
static void test_makespans_are_counted(void **given)
{
    static const bt_target_use *const both[] = { &host, &device };
    static const double a[] = { 90, 20 }, b[] = { 30, 90 }, c[] = { 90, 25 };
    bt_ctx *ctx = *given;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct placement p = { .arena = arena, .ntarget = 2, .targets = both };
    const struct placed all[] = { { .ns = a, .target = 1 },
                                  { .ns = b, .target = 0 },
                                  { .ns = c, .target = 1 } };
    double ns;
    for (uint32_t i = 0; i < 3; i++)
        assert_non_null(BT_PUSH(arena, &p.all, all[i]));
    const uint32_t x = add_tensor(&p, PLACED_HOST, 7), y = add_tensor(&p, 0, 5),
                   z = add_tensor(&p, 1, 1), w = add_tensor(&p, 2, 2);
    add_user(&p, x, 0);
    add_user(&p, y, 1);
    add_user(&p, x, 2);
    p.tensors.at[z].is_for_host = p.tensors.at[w].is_for_host = 1;
    assert_ok(ctx, placement_makespan_ns(&p, &ns));
    // x: 0..10, a: 10..30, c: 30..55, w: 55..60; y: 30..38, b: 38..68
    assert_true(fabs(ns - (68)) < 1e-9);
    assert_true(fabs(placement_work_ns(&p) - (10 + 20 + 25 + 5 + 8 + 30)) < 1e-9);
    bt_arena_destroy(arena);
}

/* ---- programs ---- */

static const char chain[] =
    "#[version = \"baton 0.1\"]\n"
    "def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {\n"
    "    %a = negative(%x);\n"
    "    %b = exp(%y);\n"
    "    %c = if (greater(mean(%a), 0f)) { add(%a, %b) } else { add(%b, negative(%a)) "
    "};\n"
    "    (negative(%c), %b)\n"
    "}\n";

/* The names of the targets' functions that the program calls, in order. */
static void check_placed(bt_ctx *ctx, const char *targets, const char *expected)
{
    bt_pipeline *pipeline;
    bt_module *parsed, *typed, *out;
    bt_targets *opened;
    bt_text found;
    assert_ok(ctx, bt_parse(ctx, "test", NULL, chain, strlen(chain), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    assert_ok(ctx, bt_targets_open(ctx, targets, &opened));
    const bt_pipeline_options options = { .level = 4,
                                          .verify_each = 1,
                                          .targets = opened };
    assert_ok(ctx, bt_pipeline_read(ctx, "fuse-ops{max-ops=1}, place", &pipeline));
    assert_ok(ctx, bt_pipeline_run(ctx, pipeline, &options, typed, &out));
    bt_text_init(&found, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; i < out->nglobal; i++) {
        const bt_func *func = out->globals[i]->func;
        const bt_dict_entry *target = bt_dict_find(&func->attrs, "target");
        if (target)
            bt_text_addf(&found, "%s ", out->globals[i]->name);
    }
    assert_string_equal(bt_text_get(&found), expected);
    bt_pipeline_destroy(pipeline);
    bt_targets_unref(opened);
    bt_module_unref(out);
    bt_module_unref(typed);
    bt_module_unref(parsed);
}

static void test_the_faster_one_is_taken(void **given)
{
    bt_ctx *ctx = *given;
    check_placed(ctx, "claim.any{ns=1, confidence=1}, claim.any{ns=2, confidence=1}", "");
    check_placed(ctx, "claim.any{ns=2, confidence=1}, claim.any{ns=1, confidence=1}",
                 "claim.any_fused_negative claim.any_fused_exp claim.any_fused_mean "
                 "claim.any_fused_greater claim.any_fused_add ");
    // but not where its cost says little, or nothing
    check_placed(ctx, "claim.any{ns=2, confidence=1}, claim.any{ns=1.5, confidence=0.5}",
                 "");
    check_placed(ctx, "claim.any{ns=2}, claim.any{ns=1, confidence=1}", "");
    // nor where it refuses
    check_placed(ctx,
                 "claim.any{ns=2, confidence=1}, claim.any{ns=1, confidence=1, "
                 "refuse=\"exp\"}, reference",
                 "claim.any_fused_negative claim.any_fused_mean claim.any_fused_greater "
                 "claim.any_fused_add ");
}

/* What is told of a block: nothing where no cost is known, and how many are not known. */
static void test_unknown_costs_are_told(void **given)
{
    bt_ctx *ctx = *given;
    const uint32_t before = bt_ctx_nremark(ctx, BT_REMARK_CHOICE);
    check_placed(ctx, "claim.any{ns=2}, claim.any{ns=1}", "");
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_CHOICE), before);
    check_placed(ctx,
                 "claim.any{ns=2, confidence=1, refuse=\"exp\"}, claim.any{ns=3, "
                 "confidence=1, refuse=\"exp\"}, reference",
                 "");
    const bt_status told = bt_ctx_remark(ctx, BT_REMARK_CHOICE, before);
    assert_non_null(
        strstr(told->message, "); 1 function of unknown cost is not counted"));
}

/* *nshared counts programs of which several targets compute something. */
static bt_tensor *run_placed(bt_ctx *ctx, const char *text, const char *targets,
                             uint32_t *nshared)
{
    bt_module *parsed, *typed, *fused;
    bt_compiled *compiled;
    const void *row;
    void *session;
    bt_object *args[2], *out;
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    const bt_compile_options options = { .targets = targets,
                                         .entry = "main",
                                         .fuse = "fuse-ops{max-ops=1}, place" };
    assert_ok(ctx, bt_fuse(ctx, typed, &options, &fused));
    bt_module_unref(typed);
    assert_ok(ctx, bt_compile(ctx, fused, &options, &compiled));
    bt_module_unref(fused);
    for (uint32_t i = 1; i < compiled->nfunc; i++) {
        if (compiled->funcs[i]->target != compiled->funcs[0]->target) {
            ++*nshared;
            break;
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        bt_tensor *tensor;
        assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 64 }, &tensor));
        for (int64_t k = 0; k < 64; k++)
            bt_tensor_set(tensor, k, (double)((k * 7 + 5 * i) % 13) - 5);
        args[i] = &tensor->base;
    }
    assert_ok(ctx, bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor),
                                   &row));
    const bt_executor *graph = row;
    assert_ok(ctx, graph->load(ctx, compiled, "main", NULL, &session));
    assert_ok(ctx, graph->call(ctx, session, "main", 2, args, NULL, &out));
    graph->close(session);
    bt_object_unref(args[0]);
    bt_object_unref(args[1]);
    bt_compiled_unref(compiled);
    return (bt_tensor *)(uintptr_t)bt_object_as_tensor(out);
}

/* Over memories and queues, by costs that are drawn. */
static void test_placed_programs_compute_the_same(void **given)
{
    static const char body[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main(%x: Tensor[(64), float32], %y: Tensor[(64), float32]) {\n"
        "    %a = negative(%x);\n"
        "    %b = add(%a, %y);\n"
        "    %c = split(multiply(%b, %a), indices_or_sections=2);\n"
        "    %d = subtract(%c.0, %c.1);\n"
        "    %e = concatenate((%d, %c.0, abs(%d), %y));\n"
        "    %f = nn.relu(sum(%e));\n"
        "    concatenate((add(%b, %f), maximum(%d, %f), %a))\n"
        "}\n";
    bt_ctx *ctx = *given;
    uint32_t nshared = 0;
    bt_tensor *expected = run_placed(ctx, body, "reference", &nshared);
    for (unsigned seed = 1; seed <= 60; seed++) {
        char targets[160];
        snprintf(targets, sizeof(targets),
                 "late{costs=%u, seed=%u}, far{costs=%u}, later{costs=%u}", seed, seed,
                 seed + 1000, seed + 2000);
        bt_tensor *got = run_placed(ctx, body, targets, &nshared);
        assert_int_equal(got->nelem, 160);
        assert_memory_equal(got->data, expected->data, 160 * sizeof(float));
        bt_tensor_unref(got);
    }
    assert_true(nshared > 30); // programs of which several targets compute something
    bt_tensor_unref(expected);
}

static int setup(void **given)
{
    *given = open_targets(NULL);
    return 0;
}

static int teardown(void **given)
{
    bt_ctx_destroy(*given);
    return 0;
}

static const struct CMUnitTest tests[] = {
    TEST(test_cuts_are_least),         TEST(test_exchanges_make_less_work),
    TEST(test_makespans_are_counted),  TEST(test_the_faster_one_is_taken),
    TEST(test_unknown_costs_are_told), TEST(test_placed_programs_compute_the_same),
};
TEST_MAIN(tests)
