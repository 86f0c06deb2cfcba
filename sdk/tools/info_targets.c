#include "info_targets.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/pass.h>

#include "output.h"
#include "reached.h"
#include "scaled.h"

/* A primitive function of the program. */
struct row {
    const bt_func *func;
    uint64_t ncall;
    const bt_compiled_func *compiled; /* NULL: it needs no kernel */
    uint64_t nkernel;
    int64_t multiply_adds; /* of all calls; -1: not known */
    const char *why;       /* lines; "": nobody asks, or the target does not say */
    uint32_t nway;         /* the same as rows */
    const bt_target_way *ways;
};

struct table {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_compiled *compiled;
    bt_map index; /* function -> row */
    bt_vec(struct row *) rows;
    int wants_why, wants_ways;
};

/* ---- compiling ---- */

/* As run does. */
static bt_status optimise(bt_ctx *ctx, const bt_module *module,
                          const bt_program_options *asked, const bt_targets *targets,
                          bt_module **out)
{
    const bt_pipeline_options options = { .level = asked->level ? asked->level - 1 : -1,
                                          .targets = targets };
    const char *source = asked->pipeline ? asked->pipeline : "default";
    bt_pipeline *pipeline;
    if (!*source) {
        *out = bt_module_ref(module);
        return NULL;
    }
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    bt_status status = bt_pipeline_run(ctx, pipeline, &options, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

/* The module is new where it succeeds. */
static bt_status compile(bt_ctx *ctx, const bt_module *optimised,
                         const bt_compile_options *options, bt_module **fused,
                         bt_compiled **out)
{
    return bt_compile_typed(ctx, optimised, options, NULL, NULL, fused, out);
}

/* As for executor graph; where the program needs more, as for one with control flow. */
static bt_status compile_any(bt_ctx *ctx, const bt_module *optimised,
                             bt_compile_options *options, bt_module **fused,
                             bt_compiled **out)
{
    bt_status status = compile(ctx, optimised, options, fused, out);
    if (!status || status->code != BT_ERR_UNSUPPORTED)
        return status;
    bt_ctx_clear_diags(ctx);
    options->has_control_flow = 1;
    return compile(ctx, optimised, options, fused, out);
}

/* ---- rows ---- */

static bt_status make_row(struct table *t, const bt_func *func, struct row **out)
{
    const bt_compiled *c = t->compiled;
    struct row *row = *out = BT_NEW(t->arena, struct row);
    if (!row || !BT_PUSH(t->arena, &t->rows, row) || !bt_map_put(&t->index, func, row))
        return bt_no_memory();
    row->func = func;
    for (uint32_t i = 0; i < c->nfunc; i++) {
        if (strcmp(c->funcs[i]->name, func->name) == 0)
            row->compiled = c->funcs[i];
    }
    for (uint32_t i = 0; row->compiled && i < c->nkernel; i++)
        row->nkernel += c->funcs[c->kernels[i]->func] == row->compiled;
    row->multiply_adds = row->compiled ? row->compiled->multiply_adds : 0;
    return NULL;
}

static bt_status read_call(struct table *t, const bt_module *fused, const bt_call *call)
{
    const bt_global *called = call ? bt_module_primitive(fused, call) : NULL;
    if (!called)
        return NULL;
    struct row *row = bt_map_find(&t->index, called->func);
    if (!row)
        BT_TRY(make_row(t, called->func, &row));
    row->ncall++;
    return NULL;
}

/* How the function's target computes it, and how else it could; "": it does not say. */
static bt_status explain(const struct table *t, struct row *row)
{
    const bt_target_use *use =
        row->compiled ? t->compiled->targets[row->compiled->target] : NULL;
    bt_text text;
    bt_text_init(&text, t->arena);
    if (t->wants_why && use && use->target->explain)
        BT_TRY(use->target->explain(t->ctx, use->instance, row->func, &text));
    if (t->wants_ways && use && use->target->ways)
        BT_TRY(use->target->ways(t->ctx, use->instance, row->func, t->arena, &row->nway,
                                 &row->ways));
    row->why = bt_text_get(&text);
    return row->why ? NULL : bt_no_memory();
}

static bt_status make_rows(struct table *t, const bt_module *fused, const char *entry)
{
    bt_blocks blocks;
    BT_TRY(reached_blocks(t->ctx, t->arena, fused, bt_module_find(fused, entry), 0,
                          &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(read_call(t, fused, bt_as_call(blocks.at[b]->bindings[i])));
    }
    for (uint32_t i = 0; i < t->rows.len; i++) {
        struct row *row = t->rows.at[i];
        if (row->multiply_adds > 0 &&
            !bt_mul_int64(row->multiply_adds, (int64_t)row->ncall, &row->multiply_adds))
            row->multiply_adds = -1;
        BT_TRY(explain(t, row));
    }
    return NULL;
}

static const char *target_of(const struct table *t, const struct row *row)
{
    return row->compiled ? t->compiled->targets[row->compiled->target]->text : "-";
}

/* ---- printing ---- */

static void print_ops(const struct row *row)
{
    const bt_block *block = row->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        if (call)
            printf(" %s", call->op->name);
    }
}

/* A number, or [low, high, step]. */
static void print_values(const bt_dict_entry *item)
{
    printf("%" PRId64, item->n == 3 ? item->items[0].i : item->i);
    if (item->n != 3)
        return;
    printf("..");
    if (item->items[1].i < INT64_MAX)
        printf("%" PRId64, item->items[1].i);
    if (item->items[2].i > 1)
        printf(" step %" PRId64, item->items[2].i);
}

/* Values of dims for which the kernels have code of their own. */
static void print_versions(const struct table *t, const struct row *row)
{
    const bt_dict_entry *rows = bt_dict_find(&row->func->attrs, "versions");
    const bt_target_use *use =
        row->compiled ? t->compiled->targets[row->compiled->target] : NULL;
    if (!rows || !use || !use->target->makes_versions)
        return;
    printf("  versions for");
    for (uint32_t i = 0; i < rows->n; i++) {
        const char *between = i ? "; " : " ";
        for (uint32_t k = 0; k < rows->items[i].n; k++) {
            const bt_var_type *var =
                (const bt_var_type *)(const void *)row->func->vars[k];
            const bt_dict_entry *item = &rows->items[i].items[k];
            if (item->i < 0)
                continue;
            printf("%s%s=", between, var->name);
            print_values(item);
            between = " ";
        }
    }
    printf("; any\n");
}

static void print_lines(const char *before, const char *lines)
{
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        printf("%s%.*s\n", before, (int)n, lines);
    }
}

static void print_row(const struct table *t, const struct row *row, int width,
                      int target_width)
{
    char cost[SCALED_NBYTES];
    printf("%-*s  %5" PRIu64 "  %-*s  %7" PRIu64 "  ", width, row->func->name, row->ncall,
           target_width, target_of(t, row), row->nkernel);
    printf("%13s ",
           row->multiply_adds < 0 ? "?" : scaled((double)row->multiply_adds, cost));
    print_ops(row);
    putchar('\n');
    print_versions(t, row);
    if (row->compiled)
        print_lines("  not ", row->compiled->why);
    print_lines("  ", row->why);
}

/* What passes have chosen, and why. */
static void print_choices(const struct table *t)
{
    bt_status choice;
    for (uint32_t i = 0; (choice = bt_ctx_remark(t->ctx, BT_REMARK_CHOICE, i)); i++)
        printf("%s%s\n", i ? "" : "\n", choice->message);
}

/* What pass partition was refused. */
static void print_refusals(const struct table *t)
{
    uint32_t n = bt_ctx_nremark(t->ctx, BT_REMARK_DETAIL), i = 0, nshown = 0;
    for (bt_status r; (r = bt_ctx_remark(t->ctx, BT_REMARK_DETAIL, i)); i++) {
        if (r->code != BT_ERR_UNSUPPORTED) // a compiler of C warns by others
            continue;
        printf("%s", nshown++ ? "" : "\n");
        if (r->place.file && r->place.line)
            printf("%s:%u: ", r->place.file, r->place.line);
        else if (r->place.node)
            printf("%s: ", r->place.node);
        printf("%s%s%s\n", r->message, r->note ? ": " : "",
               r->note ? r->note->message : "");
    }
    if (n > i)
        printf("and %u more\n", n - i);
}

static int has_row(const struct table *t, uint32_t target)
{
    for (uint32_t i = 0; i < t->rows.len; i++) {
        const bt_compiled_func *func = t->rows.at[i]->compiled;
        if (func && func->target == target)
            return 1;
    }
    return 0;
}

static int has_any_row(const struct table *t)
{
    int has = 0;
    for (uint32_t i = 0; i < t->compiled->ntarget; i++)
        has |= has_row(t, i);
    return has;
}

/* Whether pass place has left to others what the target could do. */
static int is_outdone(const struct table *t, const bt_target_use *use)
{
    bt_text text;
    bt_text_init(&text, t->arena);
    bt_text_addf(&text, "not %s: with copies nothing is done sooner", use->text);
    if (!bt_text_get(&text))
        return 0;
    for (uint32_t i = 0; i < bt_ctx_nremark(t->ctx, BT_REMARK_CHOICE); i++) {
        const bt_status choice = bt_ctx_remark(t->ctx, BT_REMARK_CHOICE, i);
        if (choice && strstr(choice->message, text.at))
            return 1;
    }
    return 0;
}

/* Targets that were named and compute nothing, with no refusal to say why. */
static void print_idle(const struct table *t)
{
    int is_open = 1; // something may be left for those that follow
    int is_taken = 0;
    for (uint32_t i = 0; i < t->compiled->ntarget; i++) {
        const bt_target_use *use = t->compiled->targets[i];
        int claims = use->target->patterns && *use->target->patterns;
        if (!has_row(t, i) && !count_details(t->ctx, BT_ERR_UNSUPPORTED))
            printf("\n%s computes nothing: %s\n", use->text,
                   is_outdone(t, use)
                       ? "others are sooner done with what it could do, as "
                         "place says"
                   : is_open && claims ? "no call matches a pattern of it"
                   : is_taken          ? "those before it take all"
                   : has_any_row(t) ? "others are sooner done with what it could do, as "
                                      "place says"
                                    : "the program has no call for a target");
        is_open = is_open && claims;
        is_taken |= has_row(t, i);
    }
}

/* Targets that compute something, and do not say how else they could. */
static void print_unexplained(const struct table *t)
{
    for (uint32_t i = 0; t->wants_why && i < t->compiled->ntarget; i++) {
        const bt_target_use *use = t->compiled->targets[i];
        if (!use->target->explain && has_row(t, i))
            printf("\n%s does not say in which ways it could compute\n", use->text);
    }
}

/* How a target runs its part; NULL: it does not say, or there is no memory. */
static const char *describe(const struct table *t, uint32_t target)
{
    const bt_target *is = t->compiled->targets[target]->target;
    bt_text text;
    if (!is->describe || !t->compiled->loaded[target])
        return NULL;
    bt_text_init(&text, t->arena);
    is->describe(t->compiled->loaded[target], &text);
    return bt_text_get(&text);
}

static void print_descriptions(const struct table *t)
{
    for (uint32_t i = 0; i < t->compiled->ntarget; i++) {
        const char *lines = describe(t, i);
        if (!lines)
            continue;
        printf("\n%s\n", t->compiled->targets[i]->text);
        print_lines("  ", lines);
    }
}

static void print_table(const struct table *t)
{
    int width = 8, target_width = 6;
    for (uint32_t i = 0; i < t->rows.len; i++) {
        int n = (int)strlen(t->rows.at[i]->func->name),
            m = (int)strlen(target_of(t, t->rows.at[i]));
        width = n > width ? n : width;
        target_width = m > target_width ? m : target_width;
    }
    printf("%-*s  %5s  %-*s  %7s  %13s  %s\n", width, "FUNCTION", "CALLS", target_width,
           "TARGET", "KERNELS", "MULTIPLY-ADDS", "OPERATORS");
    for (uint32_t i = 0; i < t->rows.len; i++)
        print_row(t, t->rows.at[i], width, target_width);
    print_refusals(t);
    print_choices(t);
    print_idle(t);
    print_unexplained(t);
    print_descriptions(t);
}

static json_t *descriptions_json(const struct table *t)
{
    json_t *all = json_object();
    for (uint32_t i = 0; i < t->compiled->ntarget; i++) {
        const char *text = describe(t, i);
        if (text)
            json_object_set_new(all, t->compiled->targets[i]->text, json_string(text));
    }
    return all;
}

/* Times are microseconds; null: nobody has measured it. */
static json_t *ways_json(const struct row *row)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < row->nway; i++) {
        const bt_target_way *w = &row->ways[i];
        json_array_append_new(
            all,
            json_pack("{s:I, s:s, s:f, s:o, s:b}", "sum", (json_int_t)w->sum, "way",
                      w->name, "estimated_us", w->ns * 1e-3, "measured_us",
                      w->measured_ns > 0 ? json_real(w->measured_ns * 1e-3) : json_null(),
                      "taken", (int)w->is_taken));
    }
    return all;
}

static json_t *row_json(const struct table *t, const struct row *row)
{
    const bt_block *block = row->func->block;
    json_t *ops = json_array();
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        if (call)
            json_array_append_new(ops, json_string(call->op->name));
    }
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:o, s:s, s:s, s:o}", "function",
                     row->func->name, "calls", (json_int_t)row->ncall, "target",
                     target_of(t, row), "kernels", (json_int_t)row->nkernel,
                     "multiply_adds", (json_int_t)row->multiply_adds, "operators", ops,
                     "not", row->compiled ? row->compiled->why : "", "why", row->why,
                     "ways", ways_json(row));
}

static int print_table_json(struct tool *tool, const struct table *t)
{
    json_t *rows = json_array(), *refusals = json_array(), *choices = json_array();
    for (uint32_t i = 0; i < t->rows.len; i++)
        json_array_append_new(rows, row_json(t, t->rows.at[i]));
    bt_status r;
    for (uint32_t i = 0; (r = bt_ctx_remark(t->ctx, BT_REMARK_DETAIL, i)); i++) {
        if (r->code == BT_ERR_UNSUPPORTED)
            json_array_append_new(refusals, json_string(r->message));
    }
    for (uint32_t i = 0; (r = bt_ctx_remark(t->ctx, BT_REMARK_CHOICE, i)); i++)
        json_array_append_new(choices, json_string(r->message));
    json_t *root =
        json_pack("{s:o, s:o, s:o, s:o}", "functions", rows, "refused", refusals,
                  "chosen", choices, "targets", descriptions_json(t));
    return print_json(tool, root);
}

int print_targets(struct tool *tool, const bt_module *module, const bt_global *entry,
                  const bt_program_options *asked)
{
    struct table t = { .ctx = tool->ctx,
                       .arena = bt_ctx_scratch(tool->ctx),
                       .wants_why = option_value(tool, "why") != NULL };
    bt_targets *targets;
    bt_module *optimised, *fused;
    int code = EXIT_OK;
    t.wants_ways = t.wants_why && option_value(tool, "json");
    bt_map_init(&t.index, t.arena, 0);
    TRY_TOOL(tool, bt_targets_open(tool->ctx, asked->target, &targets));
    bt_compile_options options = {
        .opened = targets,
        .entry = entry->name,
        .fuse = asked->fuse,
        .plan = asked->plan,
        .hot = asked->hot,
        .memory = asked->memory,
    };
    bt_status status = optimise(tool->ctx, module, asked, targets, &optimised);
    if (!status) {
        status = compile_any(tool->ctx, optimised, &options, &fused, &t.compiled);
        bt_module_unref(optimised);
    }
    bt_targets_unref(targets);
    if (status)
        return tool_fail(tool, status);
    status = make_rows(&t, fused, entry->name);
    if (status)
        code = tool_fail(tool, status);
    else if (option_value(tool, "json"))
        code = print_table_json(tool, &t);
    else
        print_table(&t);
    bt_compiled_unref(t.compiled);
    bt_module_unref(fused);
    return code;
}
