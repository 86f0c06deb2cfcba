/* baton info: what a program takes and gives, what it is made of and what it costs. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <baton/artifact.h>
#include <baton/compute.h>
#include <baton/executor.h>

#include "info_artifact.h"
#include "info_targets.h"
#include "output.h"
#include "program_options.h"
#include "reached.h"
#include "scaled.h"
#include "signature.h"
#include "verbs.h"

struct count {
    const char *name;
    uint64_t n;
    int64_t multiply_adds; /* of the calls whose cost is known */
    uint64_t nunknown;     /* the others */
};

struct survey {
    struct tool *tool;
    bt_arena *arena;
    const bt_module *module;
    bt_map counts; /* operator -> struct count */
    bt_map consts; /* objects seen */
    uint64_t nbinding, nparameter, nparameter_bytes;
    int64_t multiply_adds;
    uint32_t nunknown; /* calls whose cost is not known */
};

/* ---- counting ---- */

static bt_status count_const(struct survey *s, const bt_value *value)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    if (!tensor || tensor->rank == 0 || bt_map_find(&s->consts, tensor))
        return NULL; // a number in the text of a program is no parameter
    s->nparameter += (uint64_t)tensor->nelem;
    s->nparameter_bytes += bt_tensor_nbytes(tensor);
    return bt_map_put(&s->consts, tensor, s) ? NULL : bt_no_memory();
}

static bt_status count_call(struct survey *s, const bt_call *call)
{
    const char *name = call->op->name;
    int64_t cost;
    struct count *count = bt_map_find(&s->counts, name);
    if (!count) {
        count = BT_NEW(s->arena, struct count);
        if (!count || !bt_map_put(&s->counts, name, count))
            return bt_no_memory();
        count->name = name;
    }
    count->n++;
    BT_TRY(bt_call_cost(s->tool->ctx, call, &cost));
    if (cost < 0 && !call->op->eval) {
        s->nunknown++;
        count->nunknown++;
    } else if (cost < 0) {
        return NULL;
    } else if (!bt_add_int64(count->multiply_adds, cost, &count->multiply_adds) ||
               !bt_add_int64(s->multiply_adds, cost, &s->multiply_adds)) {
        s->multiply_adds = INT64_MAX;
    }
    return NULL;
}

static bt_status count_block(struct survey *s, const bt_block *block)
{
    s->nbinding += block->nbinding;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        const bt_call *call = bt_as_call(value);
        if (call && call->callee_kind == BT_CALLEE_OP)
            BT_TRY(count_call(s, call));
        for (uint32_t k = 0; k < bt_value_noperand(value); k++)
            BT_TRY(count_const(s, bt_value_operand(value, k)));
    }
    return count_const(s, block->result);
}

static bt_status count_module(struct survey *s, const bt_global *entry)
{
    bt_blocks blocks;
    BT_TRY(reached_blocks(s->tool->ctx, s->arena, s->module, entry, 1, &blocks));
    for (uint32_t i = 0; i < blocks.len; i++)
        BT_TRY(count_block(s, blocks.at[i]));
    return NULL;
}

/* ---- printing ---- */

static int by_count(const void *a, const void *b)
{
    const struct count *x = *(const struct count *const *)a,
                       *y = *(const struct count *const *)b;
    if (x->multiply_adds != y->multiply_adds)
        return x->multiply_adds < y->multiply_adds ? 1 : -1;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->name, y->name);
}

static int print_operators(struct survey *s)
{
    uint32_t n = s->counts.len;
    char text[SCALED_NBYTES];
    const struct count **rows = BT_NEWS(s->arena, const struct count *, n);
    int width = 8;
    if (!rows)
        return tool_fail(s->tool, bt_no_memory());
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = s->counts.at[i].value;
        width = (int)strlen(rows[i]->name) > width ? (int)strlen(rows[i]->name) : width;
    }
    qsort(rows, n, sizeof(*rows), by_count);
    printf("\n%-*s  %6s  %s\n", width, "OPERATOR", "CALLS", "MULTIPLY-ADDS");
    for (uint32_t i = 0; i < n; i++) {
        printf("%-*s  %6llu  ", width, rows[i]->name, (unsigned long long)rows[i]->n);
        if (rows[i]->multiply_adds)
            fputs(scaled((double)rows[i]->multiply_adds, text), stdout);
        if (rows[i]->nunknown)
            fputs(rows[i]->multiply_adds ? " and more" : "?", stdout);
        putchar('\n');
    }
    return EXIT_OK;
}

/* Recursion is bounded by the depth of the program's text. */
static void print_attr(const bt_dict_entry *entry)
{
    if (entry->kind == BT_DICT_TEXT)
        printf("%s", entry->text);
    else if (entry->kind == BT_DICT_FLOAT)
        printf("%g", entry->f);
    else if (entry->kind != BT_DICT_LIST)
        printf("%lld", (long long)entry->i);
    for (uint32_t i = 0; i < entry->n; i++) {
        printf("%s", i ? ", " : "");
        print_attr(&entry->items[i]);
    }
}

static int print_survey(struct survey *s, const bt_global *entry)
{
    char text[SCALED_NBYTES];
    for (uint32_t i = 0; i < s->module->attrs.n; i++) {
        const bt_dict_entry *row = &s->module->attrs.at[i];
        printf("%-16s ", row->name);
        print_attr(row);
        putchar('\n');
    }
    int code = entry->func ? print_signature(s->tool, entry) : EXIT_OK;
    if (code)
        return code;
    printf("bindings         %llu\nparameters       ", (unsigned long long)s->nbinding);
    fputs(scaled((double)s->nparameter, text), stdout);
    printf(" (%llu bytes)\nmultiply-adds    ", (unsigned long long)s->nparameter_bytes);
    fputs(scaled((double)s->multiply_adds, text), stdout);
    if (s->nunknown)
        printf(" and those of %u call%s with symbolic shapes, which --dim NAME=N settles",
               s->nunknown, PLURAL(s->nunknown));
    putchar('\n');
    return print_operators(s);
}

static int print_survey_json(struct survey *s, const bt_global *entry)
{
    json_t *ops = json_object(), *root;
    for (uint32_t i = 0; i < s->counts.len; i++) {
        const struct count *count = s->counts.at[i].value;
        json_object_set_new(ops, count->name, json_integer((json_int_t)count->n));
    }
    root = json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "entry", entry->name,
                     "inputs", inputs_json(s->tool, entry), "outputs",
                     outputs_json(s->tool, entry), "bindings", (json_int_t)s->nbinding,
                     "parameters", (json_int_t)s->nparameter, "bytes",
                     (json_int_t)s->nparameter_bytes, "multiply_adds",
                     (json_int_t)s->multiply_adds, "operators", ops);
    return print_json(s->tool, root);
}

/* Options about compiling mean nothing without a target. */
static int check_compile_options(const struct tool *tool)
{
    static const char *const of_targets[] = { "opt-level", "passes",
                                              "pipeline",  "fuse",
                                              "plan",      "hot",
                                              "why",       "checkpoint-memory" };
    for (uint32_t i = 0; !option_value(tool, "target") && i < BT_COUNT(of_targets); i++) {
        if (option_value(tool, of_targets[i]))
            return tool_usage(tool,
                              "--%s is of programs that are compiled: give --target cpu",
                              of_targets[i]);
    }
    return EXIT_OK;
}

/* What an executor has made of a program; to make it, its kernels are loaded. */
static int print_code(struct tool *tool)
{
    bt_program_options options;
    bt_program *program;
    bt_text text;
    int code = read_program_options(tool, &options);
    if (code)
        return code;
    options.executor = option_value(tool, "executor");
    TRY_TOOL(tool, bt_program_open(tool->ctx, tool->args[0], &options, &program));
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_status status = bt_program_describe(program, &text);
    code = status ? tool_fail(tool, status) : EXIT_OK;
    if (!status)
        fputs(bt_text_get(&text), stdout);
    bt_program_close(program);
    return code;
}

static int run(struct tool *tool)
{
    bt_module *module, *typed, *named;
    const bt_global *entry;
    bt_program_options asked;
    if (option_value(tool, "code"))
        return print_code(tool);
    if (option_value(tool, "executor"))
        return tool_usage(tool, "--executor says whose code is shown: give --code too");
    if (bt_artifact_is(tool->args[0]))
        return info_artifact(tool);
    int code = check_compile_options(tool);
    if (!code)
        code = read_program_options(tool, &asked);
    if (code)
        return code;
    bt_import_options import = read_import_options(tool);
    import.types_only = !asked.target; // numbers are of no interest: weights stay unread
    TRY_TOOL(tool, bt_import(tool->ctx, tool->args[0], &import, &module));
    bt_status status = bt_infer(tool->ctx, module, &typed);
    bt_module_unref(module);
    TRY_TOOL(tool, status);
    status = bt_entry_define(tool->ctx, typed, import.entry, import.dims, &named);
    bt_module_unref(typed);
    TRY_TOOL(tool, status);
    typed = named;
    status = bt_outputs_name(tool->ctx, typed, option_value(tool, "entry"), &named);
    bt_module_unref(typed);
    TRY_TOOL(tool, status);
    typed = named;
    struct survey s = { .tool = tool,
                        .arena = bt_ctx_scratch(tool->ctx),
                        .module = typed };
    bt_map_init(&s.counts, s.arena, 1);
    bt_map_init(&s.consts, s.arena, 0);
    status = bt_module_entry(tool->ctx, typed, option_value(tool, "entry"), &entry);
    if (!status)
        status = count_module(&s, entry);
    code = status                       ? tool_fail(tool, status)
           : asked.target               ? print_targets(tool, typed, entry, &asked)
           : option_value(tool, "json") ? print_survey_json(&s, entry)
                                        : print_survey(&s, entry);
    bt_module_unref(typed);
    return code;
}

static const struct option options[] = {
    { "entry", 0, "FUNCTION", "function to describe (default: main, or the only one)" },
    { "target", 0, "NAME[,NAME]",
      "who computes what, compiled for these targets in order of preference" },
    { "threads", 0, "N", "threads of the target, as run has them" },
    COMPILE_OPTIONS,
    { "why", 0, NULL,
      "with --target: the ways to compute each function, with their estimates" },
    { "code", 0, NULL, "the bytecode that executor vm makes of it" },
    { "executor", 0, "NAME",
      "with --code: whose code (default: of the one that runs it)" },
    { "json", 0, NULL, "print one JSON object" },
    { 0 },
};

const struct verb verb_info = {
    .name = "info",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Describe a program: inputs, outputs, operators, parameters, cost.",
    // clang-format off
    .details = "MODEL is anything that run takes; - is standard input. What no plugin provides\n"
               "is listed as errors, each with its node. Of a compiled program: target, memory,\n"
               "functions, sections of its file, who made it; its code is not loaded, but by\n"
               "--code. With --target, a model is compiled as run would by the same options.\n"
               "\n"
               "CALLS are the places that call, of all functions that the program reaches: those\n"
               "of one run where it has no branches and no recursion. MULTIPLY-ADDS and BYTES\n"
               "(read and written) are of all of them together.\n"
               "\n"
               "--why has a line for each way to compute a sum of products, sum by sum in the\n"
               "order of the program, and for each program where plugins bring others, with an\n"
               "estimate of what it takes in one thread; with --tune, a measured time. On target\n"
               "cpu tiles are blocks of the result, of packed factors; turned: with rows and\n"
               "columns exchanged; lines: one row along the packed other factor; winograd\n"
               "F(m,3): by transforms, with fewer products. 'all loops' is no further way: it\n"
               "is what the program that is taken costs with all that is around its sums, by\n"
               "another model, so that its parts need not add up to it. Ways that cannot be\n"
               "taken, as those that options exclude, have no line. With --json each function\n"
               "has the lines as 'why' and the ways as 'ways': sum (0: the whole function), way,\n"
               "estimated_us, measured_us (null: it was not) and taken, one of each sum.",
    .examples = "  baton info digits.baton\n"
                "  baton info digits.baton --target cpu\n"
                "  baton info digits.baton --target cpu --why\n"
                "  baton info digits.baton --code --executor vm\n"
                "  baton info digits.baton --target cpu --fuse 'fuse-ops{max-ops=1}'",
    // clang-format on
    .options = options,
    .run = run,
};
