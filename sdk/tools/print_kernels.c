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
    return tool_usage(tool, "--kernels %s: there are graph, loops, c, lowered and planned",
                      what);
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

/* Those that `entry` calls, each once. */
static bt_status print_called(bt_ctx *ctx, const bt_module *module,
                              const bt_global *entry, const char *what)
{
    const bt_block *block = entry->func->block;
    bt_map seen;
    bt_map_init(&seen, bt_ctx_scratch(ctx), 0);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        const bt_global *global = call ? bt_module_global(module, call->callee) : NULL;
        if (!global || !global->func || bt_map_find(&seen, global))
            continue;
        if (!bt_map_put(&seen, global, &seen))
            return bt_no_memory();
        BT_TRY(print_func(ctx, global->func, what));
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
static bt_status print_codes(bt_ctx *ctx, const bt_module *fused,
                             const bt_compile_options *options)
{
    bt_compiled *compiled;
    BT_TRY(bt_compile(ctx, fused, options, &compiled));
    for (uint32_t i = 0; i < compiled->nkernel; i++)
        print_code(compiled, i);
    bt_compiled_unref(compiled);
    return NULL;
}

/* The program that kernels are called from: of an executor with control flow, where what a
 * chain of calls would be fused to has more features than open dims. */
static bt_status print_compiled(struct tool *tool, const bt_module *typed,
                                const bt_module *fused, const bt_func *entry,
                                bt_compile_options *options)
{
    bt_compiled *compiled;
    bt_module *flat = NULL;
    uint32_t features;
    BT_TRY(bt_module_features(tool->ctx, fused, entry, &features));
    options->has_control_flow = (features & ~(uint32_t)BT_FEATURE_OPEN_DIMS) != 0;
    if (options->has_control_flow)
        BT_TRY(bt_fuse(tool->ctx, typed, options, &flat));
    bt_status status = bt_compile(tool->ctx, flat ? flat : fused, options, &compiled);
    bt_module_unref(flat);
    if (status)
        return status;
    print_program(tool, compiled->module, option_value(tool, "output"));
    bt_compiled_unref(compiled);
    return NULL;
}

int print_kernels(struct tool *tool, const bt_module *typed, const char *targets,
                  const char *what)
{
    int is_code = strcmp(what, "c") == 0, is_lowered = strcmp(what, "lowered") == 0,
        is_program = is_lowered || strcmp(what, "planned") == 0;
    bt_compile_options options = { .targets = targets   ? targets
                                              : is_code ? "cpu"
                                                        : "reference",
                                   .entry = option_value(tool, "entry"),
                                   .plan = is_lowered ? "" : NULL,
                                   .form = is_code ? BT_CODE_SOURCE : 0 };
    const bt_global *entry;
    bt_module *fused;
    TRY_TOOL(tool, bt_fuse(tool->ctx, typed, &options, &fused));
    bt_status status = bt_module_entry(tool->ctx, fused, options.entry, &entry);
    if (!status && is_program && entry->func)
        status = print_compiled(tool, typed, fused, entry->func, &options);
    else if (!status && is_code)
        status = print_codes(tool->ctx, fused, &options);
    else if (!status && entry->func)
        status = print_called(tool->ctx, fused, entry, what);
    bt_module_unref(fused);
    return status ? tool_fail(tool, status) : EXIT_OK;
}
