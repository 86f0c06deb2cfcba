/* Whether a plugin is what its manifest says, and whether its operators do what their
 * rows say: formulas, hooks, input patterns and relations are tried on every case. */
#include "plugin_check.h"

#include <stdlib.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/plugin.h>

#include "case_run.h"
#include "crash.h"
#include "gradient.h"
#include "library_check.h"
#include "onnx_check.h"
#include "quant_check.h"
#include "rule_check.h"
#include "slots.h"
#include "target_check.h"
#include "watchdog.h"
#include "way_check.h"

struct tally {
    uint32_t nop, nbroken_op, ncase, nbroken_case;
    uint32_t ncompiled;     /* cases of one operator that kernels of target cpu compute */
    uint32_t nvm;           /* that executor vm runs, where there are none */
    const char *uncompiled; /* why interp alone runs one of them; NULL: others run all */
    uint32_t fuse[BT_FUSE_OPAQUE + 1]; /* cases of one operator, by how they fuse */
    struct gradient_tally gradient;    /* of one operator */
};

/* How calls of the operator may be fused; no other command shows this. */
static bt_status look_at_fusion(struct op_check *w, const bt_call *call,
                                struct tally *tally)
{
    bt_fuse_info info;
    bt_formula_call formula;
    BT_TRY(bt_call_formula(w->arena, call, &formula));
    BT_TRY(bt_fuse_look(w->ctx, &formula, &info));
    tally->fuse[info.kind]++;
    return NULL;
}

static void print_fusion(const struct tally *tally)
{
    static const char *const words[] = {
        [BT_FUSE_ELEMWISE] = "element by element, with calls before and after it",
        [BT_FUSE_BROADCAST] = "as a broadcast, with calls before and after it",
        [BT_FUSE_INJECTIVE] = "as what moves elements, with calls before and after it",
        [BT_FUSE_REDUCE] = "as a reduction",
        [BT_FUSE_CONTRACTION] =
            ("as sums of products, with what follows it element by element"),
        [BT_FUSE_OPAQUE] = "with nothing: it stands alone",
    };
    uint32_t n = 0;
    for (uint32_t i = 0; i < BT_COUNT(words); i++) {
        if (tally->fuse[i])
            printf("%s%s", n++ ? "; other cases " : "  fuses   ", words[i]);
    }
    printf("%s", n ? "\n" : "");
}

static void print_gradient(const struct gradient_tally *t)
{
    const uint32_t ncase = t->ncase - t->nempty;
    if (t->none)
        printf("  derivative  none: %s\n", t->none);
    else if (t->instead)
        printf("  derivative  what it gives is none: %s\n", t->instead);
    else if (t->ncase && !ncase)
        printf("  derivative  not compared: no case has elements\n");
    else if (ncase)
        printf("  derivative  %u case%s, as differences%s\n", ncase, PLURAL(ncase),
               t->is_alone ? "; backward alone, there is no jvp" : "");
}

/* The same values on every run. */
static uint64_t seed_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Counts blocks that a third call leaves allocated. The first two calls may allocate what
 * is kept on purpose, such as scratch memory. */
static bt_status look_for_leaks(struct op_check *w, const struct call_case *c)
{
    uint32_t n[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        struct call_result r;
        bt_status status = call_run(w, c, seed_of(c->line), CASE_RANDOM, &r);
        call_result_free(&r);
        BT_TRY(status);
        n[i] = guard_nblock(w->guard);
    }
    if (n[2] > n[1])
        case_fault(w, c, "each call keeps %u block%s of memory: bt_alloc without bt_free",
                   n[2] - n[1], PLURAL(n[2] - n[1]));
    return NULL;
}

static bt_status try_compiled(struct op_check *w, const struct call_case *c,
                              const struct call_result *r, struct tally *tally)
{
    const char *executor, *why;
    BT_TRY(call_run_compiled(w, c, r, &executor, &why));
    if (why)
        tally->uncompiled = why;
    else if (strcmp(executor, "vm") == 0)
        tally->nvm++;
    else
        tally->ncompiled++;
    return NULL;
}

static bt_status try_case(struct op_check *w, const struct call_case *c,
                          struct tally *tally)
{
    struct call_result r;
    bt_status status = call_run(w, c, seed_of(c->line), CASE_RANDOM, &r);
    size_t nfault = json_array_size(w->faults);
    if (!status && !r.call)
        case_fault(w, c, "refused: %s", r.why);
    else if (!status && r.why && !nfault)
        case_fault(w, c, "failed: %s", r.why);
    if (!status && r.call)
        status = relation_check(w, c, &r);
    if (!status && r.call && !r.why)
        status = call_run_again(w, c, &r);
    if (!status && r.call && !r.why && !op_is_random(w->op))
        status = call_run_plain(w, c, &r);
    if (!status && r.call && !r.why)
        status = look_at_fusion(w, r.call, tally);
    if (!status && r.call && !r.why && !json_array_size(w->faults))
        status = try_compiled(w, c, &r, tally);
    if (!status && r.call && !r.why && !json_array_size(w->faults) &&
        !op_is_random(w->op))
        status = gradient_check(w, c, &tally->gradient);
    int is_plain = !status && r.call && !r.why && w->op->eval;
    call_result_free(&r);
    return is_plain ? look_for_leaks(w, c) : status;
}

static void print_faults(const struct op_check *w, const char *line)
{
    printf("  FAILED  %s\n", line);
    for (size_t i = 0; i < json_array_size(w->faults); i++) {
        const char *fault = json_string_value(json_array_get(w->faults, i));
        print_below(fault ? fault : "no memory");
    }
}

/* All cases of one operator. */
static bt_status try_cases(struct op_check *w, const char *text, struct tally *tally)
{
    struct call_case c;
    int is_case, is_broken = 0;
    memset(tally->fuse, 0, sizeof(tally->fuse));
    tally->ncompiled = tally->nvm = 0;
    tally->uncompiled = NULL;
    tally->gradient = (struct gradient_tally){ 0 };
    for (;;) {
        BT_TRY(case_next(w->ctx, w->arena, w->op->name, &text, &c, &is_case));
        if (!is_case)
            break;
        tally->ncase++;
        watchdog_begin("operator %s, case %s", w->op->name, c.line);
        bt_status status = try_case(w, &c, tally);
        watchdog_end();
        if (status)
            return status;
        if (json_array_size(w->faults)) {
            print_faults(w, c.line);
            tally->nbroken_case++;
            is_broken = 1;
        } else {
            printf("  ok      %s\n", c.line);
        }
        json_array_clear(w->faults);
        bt_ctx_clear_diags(w->ctx);
    }
    if (!is_broken)
        print_fusion(tally);
    if (!is_broken)
        print_gradient(&tally->gradient);
    if (tally->ncompiled)
        printf("  on cpu  %u case%s, as interp\n", tally->ncompiled,
               PLURAL(tally->ncompiled));
    if (tally->nvm)
        printf("  on vm   %u case%s, as interp\n", tally->nvm, PLURAL(tally->nvm));
    if (tally->uncompiled)
        printf("  by interp alone: %s\n", tally->uncompiled);
    tally->nbroken_op += (uint32_t)is_broken;
    return NULL;
}

static bt_status try_op(struct op_check *w, const char *name, struct tally *tally)
{
    const void *facet;
    BT_TRY(bt_op_get(w->ctx, name, &w->op));
    BT_TRY(bt_op_facet(w->ctx, w->op, "cases", &facet));
    printf("%s\n", name);
    (void)fflush(stdout); // what comes may crash
    if (facet)
        return try_cases(w, ((const bt_cases_facet *)facet)->text, tally);
    printf(
        "  not tried: it states no cases; give it a facet BT_CASES(\"float32[2, 3]\")\n");
    return NULL;
}

static int check_op(struct tool *tool, const char *name, struct guard *guard,
                    struct tally *tally)
{
    bt_registry *registry = bt_ctx_registry(tool->ctx);
    struct op_check w = { .ctx = tool->ctx,
                          .store = bt_store_create(registry),
                          .arena = bt_arena_create(registry),
                          .faults = json_array(),
                          .guard = guard,
                          .is_brief = 1 };
    bt_status status =
        w.store && w.arena && w.faults ? try_op(&w, name, tally) : bt_no_memory();
    tally->nop++;
    int is_lost = status && (status->code == BT_ERR_MEMORY || !w.op);
    int code = is_lost ? tool_fail(tool, status) : EXIT_OK;
    if (status && !is_lost) { // others may still be tried
        printf("  FAILED\n");
        print_below(case_message(&w, status));
        tally->nbroken_op++;
        bt_ctx_clear_diags(tool->ctx);
    }
    json_decref(w.faults);
    bt_store_unref(w.store);
    bt_arena_destroy(w.arena);
    return code;
}

/* The operator to which a facet is added that its cases try; NULL: they try no such facet. */
static const char *changed_op(struct tool *tool, const bt_provided *facet)
{
    static const char *const tried[] = { "cases", "fuse", "gradient", "plain" };
    json_t *json = json_loads(facet->json, 0, NULL);
    const char *name = json_string_value(json_object_get(json, "facet")),
               *op = json_string_value(json_object_get(json, "op")), *out = NULL;
    for (uint32_t i = 0; name && op && i < BT_COUNT(tried); i++) {
        if (strcmp(name, tried[i]) == 0)
            out = bt_arena_text(bt_ctx_scratch(tool->ctx), op, strlen(op));
    }
    json_decref(json);
    return out;
}

/* Operators of other plugins that this one changes. */
static int check_changed(struct tool *tool, const char *id, const char *only,
                         struct guard *guard, struct tally *tally)
{
    bt_map seen;
    bt_map_init(&seen, bt_ctx_scratch(tool->ctx), 1);
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "facet"); i++) {
        bt_provided item, op;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "facet", i, &item));
        const char *name =
            strcmp(bt_plugin_id(item.plugin), id) == 0 ? changed_op(tool, &item) : NULL;
        if (!name || (only && strcmp(name, only) != 0) ||
            bt_map_entry_find(&seen, name) ||
            !find_provided(tool->ctx, "op", name, &op) ||
            strcmp(bt_plugin_id(op.plugin), id) == 0)
            continue;
        if (!bt_map_put(&seen, name, NULL))
            return tool_fail(tool, bt_no_memory());
        int code = check_op(tool, name, guard, tally);
        if (code)
            return code;
    }
    return EXIT_OK;
}

static int check_ops(struct tool *tool, const char *id, const char *only,
                     struct guard *guard, struct tally *tally)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "op"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "op", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), id) != 0 ||
            (only && strcmp(item.name, only) != 0))
            continue;
        int code = check_op(tool, item.name, guard, tally);
        if (code)
            return code;
    }
    return EXIT_OK;
}

/* 0: a plugin of that id is there, and provides files or nothing. */
static int has_code(bt_ctx *ctx, const char *id)
{
    int is_found = 0;
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(ctx, i);
        if (strcmp(bt_plugin_id(plugin), id) != 0)
            continue;
        if (bt_plugin_refusal(plugin))
            return 1; // opening it says why
        is_found = 1;
        break; // others of that id are hidden by it
    }
    for (uint32_t i = 0; i < bt_provided_len(ctx, NULL); i++) {
        bt_provided item;
        if (!bt_provided_at(ctx, NULL, i, &item) &&
            strcmp(bt_plugin_id(item.plugin), id) == 0 &&
            strcmp(item.kind, "library") != 0 && strcmp(item.kind, "pipeline") != 0)
            return 1;
    }
    return !is_found;
}

/* What compilers of C have said of a plugin's sources, and went on. */
static void print_warnings(bt_ctx *ctx)
{
    bt_status said;
    for (uint32_t i = 0; (said = bt_ctx_remark(ctx, BT_REMARK_DETAIL, i)) != NULL; i++) {
        if (said->code != BT_ERR_SYNTAX)
            continue;
        printf("  its C text compiles with warnings:\n");
        print_below(said->message);
    }
    (void)fflush(stdout); // what comes may crash, and the warnings say why
    bt_ctx_clear_diags(ctx);
}

/* In a registry whose memory is watched. */
static int check_plugin(struct tool *tool, struct guard *guard)
{
    const char *id = tool->args[1], *only = tool->args[2];
    struct tally tally = { 0 };
    uint32_t nbroken = 0;
    int64_t seconds, every;
    int code = check_target_options(tool, &seconds, &every);
    if (code)
        return code;
    watchdog_set((uint32_t)seconds);
    if (has_code(tool->ctx, id)) {
        TRY_TOOL(tool, bt_plugin_open(tool->ctx, id));
        printf("%s: its tables agree with its manifest\n", id);
        print_warnings(tool->ctx);
    } else {
        printf("%s: it has no code\n", id);
    }
    code = check_ops(tool, id, only, guard, &tally);
    if (!code)
        code = check_changed(tool, id, only, guard, &tally);
    if (code)
        return code;
    if (only && !tally.nop)
        return tool_fail(tool,
                         bt_fail(tool->ctx, BT_ERR_NAME,
                                 "plugin %s has no operator %s, and adds to none of "
                                 "this name",
                                 id, only));
    if (!only)
        code = check_targets(tool, id, guard, &nbroken);
    if (!code && !only)
        code = check_rules(tool, id, &nbroken);
    if (!code && !only)
        code = check_facets(tool, id, &nbroken);
    if (!code && !only)
        code = check_libraries(tool, id, &nbroken);
    if (!code && !only)
        code = check_onnx(tool, id, &nbroken);
    if (!code && !only)
        code = check_ways(tool, id, guard, &nbroken);
    if (!code && !only)
        code = check_quant(tool, id, guard, &nbroken);
    if (!code && !only)
        code = check_contributions(tool, id, &nbroken);
    if (code)
        return code;
    if (tally.nop)
        printf("%u operator%s, %u with faults; %u case%s, %u failed\n", tally.nop,
               PLURAL(tally.nop), tally.nbroken_op, tally.ncase, PLURAL(tally.ncase),
               tally.nbroken_case);
    if (nbroken)
        printf("%u fault%s in what it provides besides operators\n", nbroken,
               PLURAL(nbroken));
    return tally.nbroken_op || nbroken ? EXIT_INPUT : EXIT_OK;
}

int plugin_check(struct tool *tool)
{
    bt_ctx *outer = tool->ctx;
    (void)setenv("BATON_CACHE", "off", 1); // what is not compiled anew shows no warnings
    struct guard *guard = guard_create();
    const bt_registry_options options = { .allocator =
                                              guard ? guard_allocator(guard) : NULL };
    bt_registry *registry = guard ? bt_registry_create(&options) : NULL;
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    if (!ctx) {
        guard_destroy(guard);
        return tool_fail(tool, bt_no_memory());
    }
    tool->ctx = ctx;
    crash_watch(ctx);
    int code = check_plugin(tool, guard);
    crash_watch(outer);
    tool->ctx = outer;
    bt_ctx_destroy(ctx);
    guard_destroy(guard);
    return code;
}
