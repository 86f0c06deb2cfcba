/* The rules that plugins state for a pass, and passes that consist of rules only. */
#include <ctype.h>
#include <string.h>

#include "common/rewrite_slots.h"
#include "simplify/rule.h"

struct rules {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *only; /* name of the one rule; "": all */
    struct rule *first;
};

/* ---- reading them ---- */

/* Rules that only remove something are tried before those that build something. */
static void add_rule(struct rules *rules, struct rule *rule)
{
    struct rule **at = &rules->first;
    int builds = rule->result->kind != RULE_NAME;
    while (*at && ((*at)->result->kind != RULE_NAME) <= builds)
        at = &(*at)->next;
    rule->next = *at;
    *at = rule;
}

/* NULL: the pass goes on without the rule, and says so. One that was asked for by name, and
 * a lack of memory, are errors. */
static bt_status leave_out(const struct rules *rules, const char *plugin, bt_status why)
{
    if (!why || *rules->only || why->code == BT_ERR_MEMORY)
        return why;
    bt_remark(rules->ctx, BT_REMARK_NOTE,
              bt_note(rules->ctx, why, NULL, 0,
                      "the rule is left out; baton plugin check %s looks at all that its "
                      "plugin has",
                      plugin));
    return NULL;
}

/* One of another pass is passed over. */
static bt_status read_one(struct rules *rules, const bt_provided *item, const char *pass)
{
    const void *row;
    struct rule *rule;
    BT_TRY(
        bt_registry_row(rules->ctx, "baton.rule/1", item->name, sizeof(bt_rule), &row));
    if (strcmp(((const bt_rule *)row)->pass, pass) != 0)
        return NULL;
    BT_TRY(rule_read(rules->ctx, rules->arena, row, bt_plugin_id(item->plugin), &rule));
    add_rule(rules, rule);
    return NULL;
}

static bt_status read_rules(struct rules *rules, const char *pass)
{
    const uint32_t n = bt_provided_len(rules->ctx, "rule");
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(rules->ctx, "rule", i, &item));
        if (!*rules->only || strcmp(rules->only, item.name) == 0)
            BT_TRY(leave_out(rules, bt_plugin_id(item.plugin),
                             read_one(rules, &item, pass)));
    }
    return NULL;
}

bt_status rules_create(bt_ctx *ctx, bt_pass_call *call, struct rules **out)
{
    const struct rules_options *options = call->options;
    struct rules *rules = *out = BT_NEW(call->scratch, struct rules);
    if (!rules)
        return bt_no_memory();
    *rules = (struct rules){ .ctx = ctx, .arena = call->scratch, .only = options->rule };
    BT_TRY(read_rules(rules, call->pass->name));
    if (!*rules->only)
        return NULL;
    return rules->first
               ? rule_check(ctx, call->module->store, rules->first)
               : bt_fail(ctx, BT_ERR_NAME,
                         "pass %s has no rule %s; baton list rules %s says whose "
                         "it is",
                         call->pass->name, rules->only, rules->only);
}

/* ---- applying them ---- */

/* By names: looking operators up opens their plugins. */
static int may_match(const struct rule *rule, const bt_call *call)
{
    const struct rule_node *p = rule->pattern;
    if (p->narg != call->narg)
        return 0;
    for (uint32_t i = 0; i < p->nop; i++) {
        if (strcmp(p->ops[i], call->op->name) == 0)
            return 1;
    }
    return isupper((unsigned char)p->text[0]) && !p->text[1];
}

bt_status rules_apply(struct rules *rules, bt_rewrite *rewrite, const bt_call *call,
                      const bt_value **out)
{
    bt_arena *scratch = bt_rewrite_call(rewrite)->scratch;
    const bt_value *args[RULE_ARGS];
    if (call->callee_kind != BT_CALLEE_OP || call->ncheck || call->narg > RULE_ARGS)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    for (struct rule *r = rules->first; r && !*out; r = r->next) {
        if (r->is_left_out || !may_match(r, call))
            continue;
        bt_status status =
            rule_check(rules->ctx, bt_builder_store(bt_rewrite_builder(rewrite)), r);
        const void *mark = bt_arena_mark(scratch); // what the check made stays
        if (!status)
            status = rule_apply(r, rewrite, call, args, out);
        bt_arena_release(scratch, mark);
        r->is_left_out = status != NULL;
        if (!status && *out && *rules->only)
            bt_remark(rules->ctx, BT_REMARK_DETAIL,
                      bt_fail(rules->ctx, BT_ERR_PIPELINE,
                              "rule %s replaces a call of %s", r->row->name,
                              call->op->name));
        BT_TRY(leave_out(rules, r->plugin, status));
    }
    return NULL;
}

bt_status rules_rewrite_call(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    return rules_apply(bt_rewrite_state(rewrite), rewrite, call, out);
}

bt_status rules_run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    static const bt_rewriter rewriter = { .call_ = rules_rewrite_call,
                                          .proj_ = rewrite_proj };
    struct rules *rules;
    BT_TRY(rules_create(ctx, call, &rules));
    return bt_rewrite_module(ctx, call, &rewriter, rules, out);
}
