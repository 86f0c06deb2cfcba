#include "rule_ends.h"

#include <string.h>

#include <baton/plugin.h>

#include "tool.h"

/* A program of the size of a pattern needs a few rounds, and grows to no multiple of it. */
enum { ROUNDS = 16, MAX_BINDINGS = 256 };

/* A pass with all of its rules, or one. */
static bt_status run(bt_ctx *ctx, bt_arena *arena, const char *pass, const char *only,
                     const bt_module *module, bt_module **out)
{
    bt_pipeline *pipeline;
    bt_text line;
    bt_text_init(&line, arena);
    bt_text_addf(&line, only ? "%s{rule=\"%s\"}, dead-code" : "%s, dead-code", pass,
                 only);
    if (!bt_text_get(&line))
        return bt_no_memory();
    BT_TRY(bt_pipeline_read(ctx, line.at, &pipeline));
    bt_status status = bt_pipeline_run(ctx, pipeline, NULL, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

/* A program, and what a further round makes of it. */
struct state {
    bt_module *now, *next;
};

/* Whether a rule by itself applies to either: where two undo each other, each has its
 * turn. */
static bt_status applies(bt_ctx *ctx, bt_arena *arena, const bt_rule *rule,
                         const struct state *s, int *out)
{
    const bt_module *const both[] = { s->now, s->next };
    bt_ctx_clear_diags(ctx);
    for (uint32_t i = 0; i < BT_COUNT(both); i++) {
        bt_module *after;
        BT_TRY(run(ctx, arena, rule->pass, rule->name, both[i], &after));
        bt_module_unref(after);
    }
    *out = count_details(ctx, BT_ERR_PIPELINE) > 0;
    return NULL;
}

/* The other rules that still apply, if the one does. */
static bt_status tell(bt_ctx *ctx, bt_arena *arena, const bt_rule *rule, uint32_t nround,
                      const struct state *s, bt_text *fault)
{
    bt_text others;
    int is_applied;
    uint32_t n = 0;
    BT_TRY(applies(ctx, arena, rule, s, &is_applied));
    if (!is_applied)
        return NULL;
    bt_text_init(&others, arena);
    for (uint32_t i = 0; i < bt_provided_len(ctx, "rule"); i++) {
        bt_provided item;
        const void *row;
        BT_TRY(bt_provided_at(ctx, "rule", i, &item));
        BT_TRY(bt_registry_row(ctx, "baton.rule/1", item.name, sizeof(bt_rule), &row));
        const bt_rule *other = row;
        if (strcmp(other->pass, rule->pass) != 0 || strcmp(other->name, rule->name) == 0)
            continue;
        bt_status status = applies(ctx, arena, other, s, &is_applied);
        if (status && status->code == BT_ERR_MEMORY)
            return status;
        if (!status && is_applied)
            bt_text_addf(&others, "%s%s", n++ ? ", " : "", other->name);
    }
    bt_text_addf(fault,
                 "%s has no end: after %u rounds it still applies to what %s put in "
                 "place%s%s\n",
                 rule->name, nround, n ? "it and others have" : "it has",
                 n ? "; so do " : "", n ? bt_text_get(&others) : "");
    return others.failed ? bt_no_memory() : NULL;
}

static uint32_t count_bindings(const bt_module *module)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < module->nglobal; i++)
        n += module->globals[i]->func ? module->globals[i]->func->block->nbinding : 0;
    return n;
}

bt_status rule_ends(bt_ctx *ctx, bt_arena *arena, const bt_rule *rule,
                    const bt_module *program, bt_text *fault)
{
    struct state s = { .now = bt_module_ref(program) };
    uint32_t nround = 0;
    bt_status status = run(ctx, arena, rule->pass, NULL, s.now, &s.next);
    while (!status && s.next != s.now && nround < ROUNDS &&
           count_bindings(s.next) <= MAX_BINDINGS) {
        nround++;
        bt_module_unref(s.now);
        s.now = s.next;
        s.next = NULL;
        status = run(ctx, arena, rule->pass, NULL, s.now, &s.next);
    }
    if (!status && s.next != s.now)
        status = tell(ctx, arena, rule, nround, &s, fault);
    bt_module_unref(s.now);
    bt_module_unref(s.next);
    return status;
}
