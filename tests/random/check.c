/*
 * Makes random programs and checks laws on each:
 *     random_check FIRST COUNT [LAW [TARGET]]    or    random_check --print SEED [graph]
 *     verify      it verifies
 *     roundtrip   print(parse(print(m))) is print(m), byte for byte, and equal in
 *                 structure; inference changes nothing
 *     views       every analysis can be shown, and the graph form parses back to an equal
 *                 program
 *     run         interp gives a result, and the same one after the pipeline `default`
 *                 and after each pass alone
 *     flat        and after the passes that make programs flat
 *     vm          and so does vm, compiled for target reference
 *     cps         and after continuations are passed there and back
 *     aot         and so does the C that executor aot writes, compiled by libtcc (executor
 *                 written of tests/aot); programs that it refuses are counted by why
 *     graph       a chain of calls, fused, lowered and planned, gives the same result by
 *                 the executor graph on TARGET, also a list of targets; the same bits on
 *                 the target reference, which is the default. What each function computes
 *                 is a graph as bt_graph_verify wants it
 *     open        such a chain with an open dim, compiled once, gives what interp gives
 *                 for one value of it after the other
 *     partial     and after partial-eval, which finds nothing left to do a second time
 *     sequence    and after passes in a random order, one after the other, which for every
 *                 other program know the entry
 * Prints the seed of each program that breaks a law; exit code 1 if any does, or if some
 * pass changed none of 300 programs or more in `sequence`: then the law says nothing of
 * that pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "chains.h"
#include "program.h"
#include "results.h"

enum { MAX_PASS = 64, MIN_PROGRAMS = 300 };

enum { MAX_REASON = 32, REASON_NBYTES = 200 };

/* Programs that were refused for one reason. */
struct refusals {
    char why[REASON_NBYTES];
    uint64_t n, first; /* seed */
};

/* What laws are given, how often each pass of the plugins changed a program, and why
 * programs were refused. */
struct tally {
    const char *target; /* of the law graph */
    uint32_t nreason;
    struct refusals reasons[MAX_REASON];
    uint32_t n;
    const char *names[MAX_PASS];
    uint64_t nrun[MAX_PASS], nchanged[MAX_PASS];
};

static const struct random_options sizes[] = { { 0, 6, 4, 0, 0 },
                                               { 2, 12, 6, 0, 0 },
                                               { 4, 30, 8, 0, 0 } };

static const char *const pipelines[] = {
    "default",
    "dead-code",
    "common-subexpr",
    "fold-constant",
    "simplify-control-flow",
    "sccp",
    "licm",
    "unroll",
    "sccp, simplify-control-flow, dead-code",
    "inline{max-bindings=100}",
    "canonicalize",
    "simplify-expr",
    "simplify-inference",
    "fold-scale-axis",
    "combine-parallel-conv2d, combine-parallel-dense",
    "alter-layout{data=NCHW2c}",
    "batch-loop",
    "fold-take",
    "simplify-inference, canonicalize, alter-layout{data=NCHW:NHWC}, simplify-expr",
    "inline, simplify-expr, fold-constant, dead-code",
};
static const char *const flattening[] = {
    "flatten",
    "lambda-lift",
    "monomorphize",
    "match-tree",
    "monomorphize, match-tree, lambda-lift, verify-flat",
    "match-tree, lambda-lift, monomorphize{dims=True}, sccp, lambda-lift, verify-flat",
    "eta-expand, match-tree, monomorphize, lambda-lift, merge-functions, dead-code, "
    "verify-flat",
};

static const char *const before_vm[] = {
    "dead-code",
    "canonicalize, simplify-expr, dead-code",
};

/* There and back; continuations in the flat form too, and computed by vm. */
static const char *const through_cps[] = {
    "monomorphize, to-cps, un-cps",
    "monomorphize, to-cps, un-cps, dead-code, inline, canonicalize, dead-code",
    "monomorphize, to-cps, un-cps, monomorphize",
    "monomorphize, to-cps, un-cps, lambda-lift",
};

static void print_status(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    printf("  %s", bt_text_get(&text) ? bt_text_get(&text) : "no memory\n");
}

static bt_status print_module(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                              const char **out)
{
    bt_text text;
    bt_text_init(&text, arena);
    BT_TRY(bt_print(ctx, module, &(bt_print_options){ 0 }, &text));
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

/* ---- laws ---- */

static bt_status check_verify(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                              bt_arena *arena, struct tally *tally)
{
    (void)seed;
    (void)arena;
    (void)tally;
    return bt_verify(ctx, module);
}

/* Text without #[typed] states types to be checked: its inference gives the program
 * again. */
static bt_status check_inference(bt_ctx *ctx, const char *text, const bt_module *module)
{
    const char *mark = strstr(text, "#[typed]\n");
    bt_module *parsed, *typed;
    if (!mark)
        return bt_fail(ctx, BT_ERR_INTERNAL,
                       "a typed module is printed without #[typed]");
    char *open = strdup(text);
    if (!open)
        return bt_no_memory();
    memset(open + (mark - text), ' ', strlen("#[typed]"));
    bt_status status = bt_parse(ctx, "open", NULL, open, strlen(open), &parsed);
    if (!status) {
        status = bt_infer(ctx, parsed, &typed);
        bt_module_unref(parsed);
    }
    if (!status) {
        if (!bt_module_equal(module, typed))
            status = bt_fail(ctx, BT_ERR_INTERNAL,
                             "inference of the printed types gives another program");
        bt_module_unref(typed);
    }
    free(open);
    return status;
}

static bt_status check_roundtrip(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                                 bt_arena *arena, struct tally *tally)
{
    const char *text, *again;
    bt_module *parsed;
    (void)seed;
    (void)tally;
    BT_TRY(print_module(ctx, module, arena, &text));
    BT_TRY(bt_parse(ctx, "printed", NULL, text, strlen(text), &parsed));
    bt_status status = print_module(ctx, parsed, arena, &again);
    if (!status && strcmp(text, again) != 0)
        status = bt_fail(ctx, BT_ERR_INTERNAL, "printed again it is another text");
    if (!status && !bt_module_equal(module, parsed))
        status = bt_fail(ctx, BT_ERR_INTERNAL, "parsed again it is another program");
    bt_module_unref(parsed);
    return status ? status : check_inference(ctx, text, module);
}

/* What `baton opt --print NAME` shows. */
static bt_status show_view(bt_ctx *ctx, const bt_module *module, const char *name,
                           bt_arena *arena, const char **out)
{
    const void *row, *result;
    bt_text text;
    bt_text_init(&text, arena);
    BT_TRY(bt_registry_row(ctx, "baton.analysis/1", name, sizeof(bt_analysis), &row));
    const bt_analysis *analysis = row;
    if (!analysis->print)
        return bt_fail(ctx, BT_ERR_INTERNAL, "analysis %s shows nothing", name);
    BT_TRY(analysis->compute(ctx, module, arena, &result));
    BT_TRY(analysis->print(ctx, module, result, &text));
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

/* The graph form is the program. */
static bt_status check_graph_form(bt_ctx *ctx, const bt_module *module, const char *text)
{
    bt_module *parsed, *typed;
    BT_TRY(bt_parse(ctx, "graph", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    if (status)
        return status;
    if (!bt_module_equal(module, typed))
        status = bt_fail(ctx, BT_ERR_INTERNAL, "its graph form is another program");
    bt_module_unref(typed);
    return status;
}

static bt_status check_views(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                             bt_arena *arena, struct tally *tally)
{
    bt_provided item;
    const char *text;
    (void)seed;
    (void)tally;
    for (uint32_t i = 0; i < bt_provided_len(ctx, "analysis"); i++) {
        BT_TRY(bt_provided_at(ctx, "analysis", i, &item));
        BT_TRY(show_view(ctx, module, item.name, arena, &text));
        if (strcmp(item.name, "graph") == 0)
            BT_TRY(
                bt_note(ctx, check_graph_form(ctx, module, text), NULL, 0, "%s", text));
    }
    return NULL;
}

static bt_status optimise(bt_ctx *ctx, const bt_module *module, const char *source,
                          const char *entry, bt_module **out)
{
    bt_pipeline *pipeline;
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    const bt_pipeline_options options = { .level = 4, .verify_each = 1, .entry = entry };
    bt_status status = bt_pipeline_run(ctx, pipeline, &options, module, out);
    bt_pipeline_destroy(pipeline);
    return bt_note(ctx, status, NULL, 0, "in pipeline %s", source);
}

static bt_status run_optimised(bt_ctx *ctx, const char *executor, const bt_module *module,
                               const char *source, uint32_t n, bt_object *const *args,
                               bt_object **out)
{
    bt_module *next;
    BT_TRY(optimise(ctx, module, source, NULL, &next));
    bt_status status = run_module(ctx, executor, next, n, args, out);
    bt_module_unref(next);
    return bt_note(ctx, status, NULL, 0, "after pipeline %s", source);
}

static bt_status check_pipelines(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                                 const char *executor, uint32_t npipeline,
                                 const char *const *sources, bt_arena *arena)
{
    bt_object **args, *expected = NULL, *got;
    uint32_t n;
    BT_TRY(random_arguments(ctx, seed, module, &n, &args, arena));
    bt_status status = run_module(ctx, "interp", module, n, args, &expected);
    for (uint32_t i = 0; !status && i < npipeline; i++) {
        status = run_optimised(ctx, executor, module, sources[i], n, args, &got);
        if (status)
            break;
        status = same_result(ctx, got, expected, sources[i]);
        bt_object_unref(got);
    }
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status;
}

static bt_status check_run(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                           bt_arena *arena, struct tally *tally)
{
    (void)tally;
    return check_pipelines(ctx, seed, module, "interp", BT_COUNT(pipelines), pipelines,
                           arena);
}

static bt_status check_flat(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                            bt_arena *arena, struct tally *tally)
{
    (void)tally;
    return check_pipelines(ctx, seed, module, "interp", BT_COUNT(flattening), flattening,
                           arena);
}

static bt_status check_vm(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                          bt_arena *arena, struct tally *tally)
{
    (void)tally;
    return check_pipelines(ctx, seed, module, "vm", BT_COUNT(before_vm), before_vm,
                           arena);
}

static void count_refusal(struct tally *tally, uint64_t seed, const char *why)
{
    struct refusals *at = tally->reasons;
    while (at < tally->reasons + tally->nreason &&
           strncmp(at->why, why, REASON_NBYTES - 1) != 0)
        at++;
    if (at == tally->reasons + MAX_REASON)
        at--; // the last one stands for the rest
    if (at == tally->reasons + tally->nreason) {
        tally->nreason++;
        at->first = seed;
        snprintf(at->why, sizeof(at->why), "%s", why);
    }
    at->n++;
}

static bt_status check_aot(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                           bt_arena *arena, struct tally *tally)
{
    bt_object **args, *expected = NULL, *got = NULL;
    uint32_t n;
    BT_TRY(random_arguments(ctx, seed, module, &n, &args, arena));
    bt_status status = run_module(ctx, "written", module, n, args, &got);
    const int is_refused = status && status->code == BT_ERR_UNSUPPORTED;
    if (is_refused) {
        count_refusal(tally, seed, status->message);
        status = NULL;
    }
    if (!status && !is_refused)
        status = run_module(ctx, "interp", module, n, args, &expected);
    if (!status && !is_refused)
        status = same_result(ctx, got, expected, "executor aot");
    bt_object_unref(got);
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status;
}

/* Functions that a program gives take continuations for good. */
static bt_status check_cps(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                           bt_arena *arena, struct tally *tally)
{
    bt_text result;
    (void)tally;
    bt_text_init(&result, arena);
    bt_print_type(ctx, bt_module_find(module, "main")->func->result, &result);
    if (!bt_text_get(&result))
        return bt_no_memory();
    if (strstr(bt_text_get(&result), "fn ("))
        return NULL;
    BT_TRY(check_pipelines(ctx, seed, module, "interp", BT_COUNT(through_cps),
                           through_cps, arena));
    return check_pipelines(ctx, seed, module, "vm", BT_COUNT(through_cps), through_cps,
                           arena);
}

/* Random layers have few channels, and nothing says which values a dim often has. */
static const char *with_options(const char *pass)
{
    return strcmp(pass, "alter-layout") == 0 ? "alter-layout{data=NCHW2c}"
           : strcmp(pass, "versions") == 0   ? "versions{hot=\"n=1,3\"}"
                                             : pass;
}

/* Four to twelve passes, each with its own defaults, in an order that the seed decides;
 * written to `names` as a list. *out: a new reference. */
static bt_status run_sequence(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                              struct tally *tally, bt_text *names, bt_module **out)
{
    uint64_t random = seed ^ 0xaaaa;
    bt_module *now = bt_module_ref(module);
    bt_status status = NULL;
    for (uint32_t i = 4 + random_below(&random, 9); i > 0 && !status; i--) {
        uint32_t pass = random_below(&random, tally->n);
        bt_module *next;
        const char *source = with_options(tally->names[pass]);
        bt_text_addf(names, "%s%s", names->len ? ", " : "", source);
        status = optimise(ctx, now, source, seed % 2 ? "main" : NULL, &next);
        if (status)
            break;
        tally->nrun[pass]++;
        tally->nchanged[pass] += next != now;
        bt_module_unref(now);
        now = next;
    }
    if (status)
        bt_module_unref(now);
    else
        *out = now;
    return status;
}

static bt_status check_sequence(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                                bt_arena *arena, struct tally *tally)
{
    bt_object **args, *expected = NULL, *got = NULL;
    bt_module *next = NULL;
    bt_text names;
    uint32_t n;
    bt_text_init(&names, arena);
    BT_TRY(random_arguments(ctx, seed, module, &n, &args, arena));
    bt_status status = run_module(ctx, "interp", module, n, args, &expected);
    if (!status)
        status = run_sequence(ctx, seed, module, tally, &names, &next);
    if (!status)
        status = run_module(ctx, "interp", next, n, args, &got);
    if (!status)
        status = same_result(ctx, got, expected, "the sequence");
    if (status && bt_text_get(&names))
        status = bt_note(ctx, status, NULL, 0, "after %s", names.at);
    bt_module_unref(next);
    bt_object_unref(got);
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status;
}

static bt_status check_partial(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                               bt_arena *arena, struct tally *tally)
{
    static const char *const pipeline[] = { "partial-eval", "partial-eval, dead-code" };
    const char *entry = seed % 2 ? "main" : NULL;
    bt_module *once, *twice;
    (void)tally;
    BT_TRY(check_pipelines(ctx, seed, module, "interp", BT_COUNT(pipeline), pipeline,
                           arena));
    BT_TRY(optimise(ctx, module, "partial-eval", entry, &once));
    bt_status status = optimise(ctx, once, "partial-eval", entry, &twice);
    if (!status && !bt_module_equal(once, twice))
        status = bt_fail(ctx, BT_ERR_INTERNAL, "partial-eval changes what it has left");
    if (!status)
        bt_module_unref(twice);
    bt_module_unref(once);
    return status;
}

static bt_status check_graph(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                             bt_arena *arena, struct tally *tally)
{
    (void)module;
    return check_known_chain(ctx, seed, tally->target, arena);
}

static bt_status check_open(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                            bt_arena *arena, struct tally *tally)
{
    (void)module;
    return check_open_dims(ctx, seed, tally->target, arena);
}

static const struct law {
    const char *name;
    bt_status (*check)(bt_ctx *, uint64_t seed, const bt_module *, bt_arena *,
                       struct tally *);
} laws[] = { { "verify", check_verify },   { "roundtrip", check_roundtrip },
             { "views", check_views },     { "run", check_run },
             { "flat", check_flat },       { "vm", check_vm },
             { "aot", check_aot },         { "cps", check_cps },
             { "graph", check_graph },     { "open", check_open },
             { "partial", check_partial }, { "sequence", check_sequence } };

/* ---- programs ---- */

static bt_status check_seed(bt_ctx *ctx, uint64_t seed, const char *only,
                            struct tally *tally)
{
    bt_module *module;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status = random_program(ctx, seed, &sizes[seed % BT_COUNT(sizes)], &module);
    if (!status) {
        for (uint32_t i = 0; !status && i < BT_COUNT(laws); i++) {
            if (!only || strcmp(only, laws[i].name) == 0)
                status = laws[i].check(ctx, seed, module, arena, tally);
        }
        bt_module_unref(module);
    }
    bt_arena_destroy(arena);
    return status;
}

/* Passes that are no part of a sequence, and why. */
static const struct special {
    const char *pass, *reason;
} special[] = {
    // clang-format off
    { "batch-levels", "is for batches: random.batches" },
    { "check-zero-points", "is for codes: tests/tools/quantize.sh" },
    { "declare-gradients", "is for operators that programs do not have: random.gradients" },
    { "defunctionalize", "is for flat programs of known dims: law flat" },
    { "differentiate", "is for declarations: random.gradients" },
    { "drop-again", "is for what gradients compute again: random.gradients" },
    { "fast-math", "gives other values for NaN and infinities: random.rules" },
    { "fit-memory", "is for a budget: random.budgets" },
    { "join-accumulations", "is for what adjoints add up: random.gradients" },
    { "lift-parameters", "adds a function: tests/train" },
    { "matrix-chain", "is for chains of products: random.products" },
    { "mixed-precision", "gives other numbers" },
    { "outline-checkpoints", "is for marks of gradients: random.gradients" },
    { "partition", "is for targets: law graph" },
    { "place", "is for targets: law graph" },
    { "plan-devices", "is for programs that name devices" },
    { "plan-memory", "is for lowered programs: law graph" },
    { "qdq-to-integer", "changes what is computed: tests/tools/quantize.sh" },
    { "quant-accumulate", "changes what is computed: tests/tools/quantize.sh" },
    { "quant-annotate", "changes what is computed: tests/tools/quantize.sh" },
    { "quant-calibrate", "changes what is computed: tests/tools/quantize.sh" },
    { "quant-observe", "changes what is computed: tests/tools/quantize.sh" },
    { "quant-realize", "changes what is computed: tests/tools/quantize.sh" },
    { "quant-skip", "changes what is computed: tests/tools/quantize.sh" },
    { "to-cps", "takes the entry away, which un-cps gives back: law cps" },
    { "train-mode", "changes what is computed: tests/train" },
    { "un-cps", "is for what to-cps gives: law cps" },
    { "verify-flat", "is for flat programs: law flat" },
    { "vmap", "is for batches: random.batches" },
    // clang-format on
};

static int is_special(const char *pass)
{
    for (uint32_t i = 0; i < BT_COUNT(special); i++) {
        if (strcmp(special[i].pass, pass) == 0)
            return 1;
    }
    return 0;
}

static bt_status find_passes(bt_ctx *ctx, struct tally *out)
{
    bt_provided item;
    uint32_t n = bt_provided_len(ctx, "pass");
    for (uint32_t i = 0; i < n && out->n < MAX_PASS; i++) {
        BT_TRY(bt_provided_at(ctx, "pass", i, &item));
        if (!is_special(item.name))
            out->names[out->n++] = item.name;
    }
    return NULL;
}

/* 1 if some pass never found work in enough programs. */
static int print_tally(const struct tally *tally, uint64_t nprogram)
{
    int is_idle = 0;
    for (uint32_t i = 0; i < tally->n; i++) {
        printf("%-20s changed %llu of %llu\n", tally->names[i],
               (unsigned long long)tally->nchanged[i],
               (unsigned long long)tally->nrun[i]);
        is_idle |= nprogram >= MIN_PROGRAMS && tally->nchanged[i] == 0;
    }
    if (is_idle)
        printf("a pass never changed a program: random programs give it no work\n");
    return is_idle;
}

static int check_all(bt_ctx *ctx, uint64_t first, uint64_t count, const char *only,
                     const char *target)
{
    uint64_t nfailed = 0, nrefused = 0;
    struct tally tally = { .target = target };
    int is_idle = 0;
    bt_status found = find_passes(ctx, &tally);
    if (found) {
        print_status(ctx, found);
        return 1;
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        bt_arena *scratch = bt_ctx_scratch(ctx);
        const void *mark = bt_arena_mark(scratch);
        bt_status status = check_seed(ctx, seed, only, &tally);
        if (status) {
            nfailed++;
            printf("seed %llu:\n", (unsigned long long)seed);
            print_status(ctx, status);
        }
        bt_arena_release(scratch, mark);
        bt_ctx_clear_diags(ctx);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)(count - nfailed),
           (unsigned long long)nfailed);
    for (uint32_t i = 0; i < tally.nreason; i++) {
        nrefused += tally.reasons[i].n;
        printf("refused %llu, first seed %llu: %s\n",
               (unsigned long long)tally.reasons[i].n,
               (unsigned long long)tally.reasons[i].first, tally.reasons[i].why);
    }
    if (nrefused > count / 2)
        printf("more than half of the programs were refused: they try too little\n");
    if (!only || strcmp(only, "sequence") == 0)
        is_idle = print_tally(&tally, count);
    return nfailed != 0 || nrefused > count / 2 || is_idle;
}

static int print_seed(bt_ctx *ctx, uint64_t seed, int is_chain)
{
    bt_module *module = NULL;
    const char *text;
    bt_status status = random_program(
        ctx, seed, is_chain ? &known_chain : &sizes[seed % BT_COUNT(sizes)], &module);
    if (!status)
        status = print_module(ctx, module, bt_ctx_scratch(ctx), &text);
    if (status)
        print_status(ctx, status);
    else
        printf("%s", text);
    bt_module_unref(module);
    return status != NULL;
}

static int usage(void)
{
    fprintf(stderr, "usage: random_check FIRST COUNT [LAW [TARGET]], or random_check "
                    "--print SEED [graph]\nlaws:");
    for (uint32_t i = 0; i < BT_COUNT(laws); i++)
        fprintf(stderr, " %s", laws[i].name);
    fprintf(stderr, "\n");
    return 2;
}

static int is_law(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(laws); i++) {
        if (strcmp(laws[i].name, name) == 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const int prints = argc > 2 && strcmp(argv[1], "--print") == 0;
    if (argc < 3 || (argc > 3 && !prints && !is_law(argv[3])))
        return usage();
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    if (!ctx)
        return 2;
    int code =
        prints ? print_seed(ctx, strtoull(argv[2], NULL, 10),
                            argc > 3 && strcmp(argv[3], "graph") == 0)
               : check_all(ctx, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
                           argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : "reference");
    bt_ctx_destroy(ctx);
    return code;
}
