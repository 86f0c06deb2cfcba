#include "print_kernels.h"

#include <string.h>

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/loops.h>

#include "program_text.h"

int check_kernels_word(const struct tool *tool, const char *what)
{
    static const char *const words[] = { "graph", "loops", "c", "lowered", "planned" };
    for (uint32_t i = 0; i < BT_COUNT(words); i++) {
        if (!what || strcmp(what, words[i]) == 0)
            return EXIT_OK;
    }
    return tool_usage(
        tool, "--kernels %s: there are graph, loops, c, lowered and planned", what);
}

static bt_status add_text(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                          const char *what, bt_text *out)
{
    bt_graph *graph;
    bt_loops *loops;
    BT_TRY(bt_graph_compose(ctx, arena, func, &graph));
    if (strcmp(what, "graph") == 0)
        return bt_graph_print(ctx, graph, out);
    BT_TRY(bt_loops_lower(ctx, arena, func->name, graph, &loops));
    return bt_loops_print(loops, out);
}

/* One that has no graph, such as plain C, says why. */
static bt_status print_func(bt_ctx *ctx, const bt_func *func, const char *what)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_text text;
    if (!arena)
        return bt_no_memory();
    bt_text_init(&text, arena);
    bt_status status = add_text(ctx, arena, func, what, &text);
    if (!status && !bt_text_get(&text))
        status = bt_no_memory();
    if (!status)
        printf("// @%s\n%s", func->name, text.at);
    else if (status->code != BT_ERR_MEMORY)
        printf("// @%s: %s\n", func->name, status->message);
    bt_arena_destroy(arena);
    return status && status->code != BT_ERR_MEMORY ? NULL : status;
}

static bt_status print_funcs(bt_ctx *ctx, const bt_module *fused, const char *what)
{
    for (uint32_t i = 0; i < fused->nglobal; i++) {
        const bt_func *func = fused->globals[i]->func;
        if (func && bt_func_is_primitive(func))
            BT_TRY(print_func(ctx, func, what));
    }
    return NULL;
}

/* The text of a kernel's code; kernels may share one. */
static void print_code(const bt_compiled *compiled, uint32_t kernel)
{
    const bt_kernel_code *code = compiled->codes[kernel];
    const char *name = compiled->kernels[kernel]->name;
    uint32_t first = 0;
    while (compiled->codes[first]->at != code->at)
        first++;
    if (code->form != BT_CODE_SOURCE)
        printf("// kernel %s: target %s makes no C of it\n", name,
               compiled->targets[compiled->kernels[kernel]->target]->text);
    else if (first < kernel)
        printf("// kernel %s: %s, in the text above\n", name, code->symbol);
    else
        printf("// kernel %s: %s\n%.*s\n", name, code->symbol, (int)code->nbytes,
               (const char *)code->at);
}

/* As targets write it for programs in C. */
static void print_codes(const bt_compiled *compiled)
{
    for (uint32_t i = 0; i < compiled->nkernel; i++)
        print_code(compiled, i);
}

/* For an executor with control flow, where what a chain of calls would be fused to has more
 * features than open dims. */
static bt_status fuse(bt_ctx *ctx, const bt_module *typed, bt_compile_options *options,
                      bt_module **out)
{
    const bt_global *entry;
    uint32_t features = 0;
    BT_TRY(bt_fuse(ctx, typed, options, out));
    bt_status status = bt_module_entry(ctx, *out, options->entry, &entry);
    if (!status)
        status = bt_module_features(ctx, *out, entry->func, &features);
    options->has_control_flow = (features & ~(uint32_t)BT_FEATURE_OPEN_DIMS) != 0;
    if (!status && !options->has_control_flow)
        return NULL;
    bt_module_unref(*out);
    return status ? status : bt_fuse(ctx, typed, options, out);
}

/* What is compiled: the program that calls kernels, or their codes. */
static bt_status print_compiled(struct tool *tool, const bt_module *fused, int is_code,
                                const bt_compile_options *options)
{
    bt_compiled *compiled;
    BT_TRY(bt_compile(tool->ctx, fused, options, &compiled));
    if (is_code)
        print_codes(compiled);
    else
        print_program(tool, compiled->module, option_value(tool, "output"));
    bt_compiled_unref(compiled);
    return NULL;
}

int print_kernels(struct tool *tool, const bt_module *typed, const char *entry,
                  const char *targets, const char *what)
{
    const int is_code = strcmp(what, "c") == 0, is_lowered = strcmp(what, "lowered") == 0,
              is_compiled = is_code || is_lowered || strcmp(what, "planned") == 0;
    bt_compile_options options = { .targets = targets   ? targets
                                              : is_code ? "cpu"
                                                        : "reference",
                                   .entry = entry,
                                   .plan = is_lowered ? "" : NULL,
                                   .form = is_code ? BT_CODE_SOURCE : 0 };
    bt_module *fused;
    TRY_TOOL(tool, fuse(tool->ctx, typed, &options, &fused));
    bt_status status = is_compiled ? print_compiled(tool, fused, is_code, &options)
                                   : print_funcs(tool->ctx, fused, what);
    bt_module_unref(fused);
    return status ? tool_fail(tool, status) : EXIT_OK;
}
