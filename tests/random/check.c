/*
 * Makes random programs and checks laws on each:    check FIRST COUNT [LAW]    or check
 * --print SEED verify      it verifies roundtrip   print(parse(print(m))) is print(m),
 * byte for byte, and equal in structure; inference changes nothing run         interp
 * gives a result, and the same one after the pipeline `default` and after each pass alone
 * Prints the seed of each program that breaks a law; exit code 1 if any does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>

#include "program.h"

static const struct random_options sizes[] = { { 0, 6, 4 }, { 2, 12, 6 }, { 4, 30, 8 } };

static const char *const pipelines[] = {
    "default",
    "dead-code",
    "common-subexpr",
    "fold-constant",
    "inline{max-bindings=100}",
    "canonicalize",
    "simplify-expr",
    "simplify-inference",
    "fold-scale-axis",
    "inline, simplify-expr, fold-constant, dead-code",
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
                              bt_arena *arena)
{
    (void)seed;
    (void)arena;
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
                                 bt_arena *arena)
{
    const char *text, *again;
    bt_module *parsed;
    (void)seed;
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

static bt_status run_module(bt_ctx *ctx, const bt_module *module, uint32_t n,
                            bt_object *const *args, bt_object **out)
{
    const void *row;
    void *session;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    const bt_executor *interp = row;
    BT_TRY(interp->open(ctx, module, NULL, &session));
    bt_status status = interp->call(ctx, session, "main", n, args, NULL, out);
    interp->close(session);
    return status;
}

/* Objects print the same; floats to nine digits. */
static bt_status same_result(bt_ctx *ctx, const bt_object *a, const bt_object *b,
                             const char *pipeline)
{
    const bt_tensor *x = bt_object_as_tensor(a), *y = bt_object_as_tensor(b);
    bt_text left, right;
    if (x && y) {
        bt_tensor_difference d;
        BT_TRY(bt_tensor_compare(ctx, x, y, 1e-6, 1e-6, &d));
        return d.ndifferent
                   ? bt_fail(ctx, BT_ERR_INTERNAL, "%s changes the result", pipeline)
                   : NULL;
    }
    bt_text_init(&left, bt_ctx_scratch(ctx));
    bt_text_init(&right, bt_ctx_scratch(ctx));
    bt_object_print(a, 1000, &left);
    bt_object_print(b, 1000, &right);
    if (!bt_text_get(&left) || !bt_text_get(&right))
        return bt_no_memory();
    return strcmp(left.at, right.at) == 0
               ? NULL
               : bt_fail(ctx, BT_ERR_INTERNAL, "%s changes the result", pipeline);
}

static bt_status run_optimised(bt_ctx *ctx, const bt_module *module, const char *source,
                               uint32_t n, bt_object *const *args, bt_object **out)
{
    bt_pipeline *pipeline;
    bt_module *next;
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    bt_status status = bt_pipeline_run(
        ctx, pipeline, &(bt_pipeline_options){ .level = 4, .verify_each = 1 }, module,
        &next);
    bt_pipeline_destroy(pipeline);
    if (status)
        return bt_note(ctx, status, NULL, 0, "in pipeline %s", source);
    status = run_module(ctx, next, n, args, out);
    bt_module_unref(next);
    return bt_note(ctx, status, NULL, 0, "after pipeline %s", source);
}

static bt_status check_run(bt_ctx *ctx, uint64_t seed, const bt_module *module,
                           bt_arena *arena)
{
    bt_object **args, *expected = NULL, *got;
    uint32_t n;
    BT_TRY(random_arguments(ctx, seed, module, &n, &args, arena));
    bt_status status = run_module(ctx, module, n, args, &expected);
    for (uint32_t i = 0; !status && i < BT_COUNT(pipelines); i++) {
        status = run_optimised(ctx, module, pipelines[i], n, args, &got);
        if (status)
            break;
        status = same_result(ctx, got, expected, pipelines[i]);
        bt_object_unref(got);
    }
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
    return status;
}

static const struct law {
    const char *name;
    bt_status (*check)(bt_ctx *, uint64_t seed, const bt_module *, bt_arena *);
} laws[] = { { "verify", check_verify },
             { "roundtrip", check_roundtrip },
             { "run", check_run } };

/* ---- programs ---- */

static bt_status check_seed(bt_ctx *ctx, uint64_t seed, const char *only)
{
    bt_module *module;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status = random_program(ctx, seed, &sizes[seed % BT_COUNT(sizes)], &module);
    if (!status) {
        for (uint32_t i = 0; !status && i < BT_COUNT(laws); i++) {
            if (!only || strcmp(only, laws[i].name) == 0)
                status = laws[i].check(ctx, seed, module, arena);
        }
        bt_module_unref(module);
    }
    bt_arena_destroy(arena);
    return status;
}

static int check_all(bt_ctx *ctx, uint64_t first, uint64_t count, const char *only)
{
    uint64_t nfailed = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        bt_arena *scratch = bt_ctx_scratch(ctx);
        const void *mark = bt_arena_mark(scratch);
        bt_status status = check_seed(ctx, seed, only);
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
    return nfailed != 0;
}

static int print_seed(bt_ctx *ctx, uint64_t seed)
{
    bt_module *module;
    const char *text;
    bt_status status = random_program(ctx, seed, &sizes[seed % BT_COUNT(sizes)], &module);
    if (!status)
        status = print_module(ctx, module, bt_ctx_scratch(ctx), &text);
    if (status)
        print_status(ctx, status);
    else
        printf("%s", text);
    return status != NULL;
}

int main(int argc, char **argv)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    if (!ctx || argc < 3) {
        fprintf(
            stderr,
            "usage: check FIRST COUNT [verify|roundtrip|run], or check --print SEED\n");
        return 2;
    }
    int code = strcmp(argv[1], "--print") == 0
                   ? print_seed(ctx, strtoull(argv[2], NULL, 10))
                   : check_all(ctx, strtoull(argv[1], NULL, 10),
                               strtoull(argv[2], NULL, 10), argc > 3 ? argv[3] : NULL);
    bt_ctx_destroy(ctx);
    return code;
}
