#include "rule_check.h"

#include <jansson.h>
#include <string.h>

#include <baton/pass.h>
#include <baton/plain.h>
#include <baton/plugin.h>

#include "rule_try.h"

/* Runs the pass on a module that holds nothing; it looks at the rule first. */
static bt_status look_at_rule(bt_ctx *ctx, const char *pass, const char *rule)
{
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    bt_module_builder *builder;
    bt_module *empty, *out;
    bt_pipeline *pipeline;
    bt_text line;
    if (!store)
        return bt_no_memory();
    bt_status status = bt_module_builder_create(ctx, store, NULL, &builder);
    bt_store_unref(store);
    BT_TRY(status);
    BT_TRY(bt_module_builder_finish(builder, 1, &empty));
    bt_text_init(&line, bt_ctx_scratch(ctx));
    bt_text_addf(&line, "%s{rule=\"%s\"}", pass, rule);
    status =
        bt_text_get(&line) ? bt_pipeline_read(ctx, line.at, &pipeline) : bt_no_memory();
    if (!status) {
        status = bt_pipeline_run(ctx, pipeline, NULL, empty, &out);
        bt_pipeline_destroy(pipeline);
    }
    if (!status)
        bt_module_unref(out);
    bt_module_unref(empty);
    return status;
}

/* Whether a pass goes by rules, from its manifest. */
static int reads_rules(struct tool *tool, const char *name)
{
    bt_provided item;
    if (!find_provided(tool->ctx, "pass", name, &item))
        return 0;
    json_t *json = json_loads(item.json, 0, NULL);
    int reads = json_is_true(json_object_get(json, "rules"));
    json_decref(json);
    return reads;
}

/* Evaluates both sides of a rule that is well formed. */
static bt_status try_rule(struct tool *tool, const char *name, int *is_wrong)
{
    struct rule_trial trial;
    const void *row;
    BT_TRY(bt_registry_row(tool->ctx, "baton.rule/1", name, sizeof(bt_rule), &row));
    BT_TRY(rule_try(tool->ctx, bt_ctx_scratch(tool->ctx), row, &trial));
    *is_wrong = trial.fault != NULL;
    if (trial.fault) {
        printf("  FAILED\n");
        print_below(trial.fault);
    } else if (trial.napplied)
        printf("  ok      both sides are equal in %u program%s\n", trial.napplied,
               PLURAL(trial.napplied));
    else
        printf("  not tried: it applies to none of %u programs that were made of its "
               "pattern\n",
               trial.nmade);
    return NULL;
}

/* A range that begins above its end has no number in it, so that the rule would promise nothing. */
static int has_no_range(const json_t *rule)
{
    const double from = json_number_value(json_object_get(rule, "from")),
                 to = json_number_value(json_object_get(rule, "to"));
    if (from <= to)
        return 0;
    printf("  FAILED  no number is between .from = %g and .to = %g, where it is to hold: "
           "the lower one is .from\n",
           from, to);
    return 1;
}

static uint32_t check_rule(struct tool *tool, const bt_provided *rule)
{
    json_t *json = json_loads(rule->json, 0, NULL);
    const char *pass = json_string_value(json_object_get(json, "pass"));
    bt_status status = NULL;
    bt_text text;
    int is_read = pass && reads_rules(tool, pass), is_wrong = !is_read;
    printf("rule %s: %s\n", rule->name, json_string_value(json_object_get(json, "rule")));
    if (!is_read)
        printf("  FAILED  nothing reads it: no pass %s that goes by rules is there; "
               "baton list passes NAME says which do\n",
               pass ? pass : "");
    else
        status = look_at_rule(tool->ctx, pass, rule->name);
    if (!is_wrong)
        is_wrong = has_no_range(json);
    if (!is_wrong && !status)
        status = try_rule(tool, rule->name, &is_wrong);
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    if (status) {
        bt_diag_render(status, 0, &text);
        printf("  FAILED\n%s", bt_text_get(&text) ? text.at : "no memory\n");
    }
    bt_ctx_clear_diags(tool->ctx);
    json_decref(json);
    return is_wrong || status;
}

int check_rules(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "rule"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "rule", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) == 0)
            *nbroken += check_rule(tool, &item);
    }
    return EXIT_OK;
}

/* ---- facets ---- */

static uint32_t check_added(struct tool *tool, const json_t *item)
{
    const char *name = json_string_value(json_object_get(item, "op"));
    const bt_op *op;
    bt_status status = bt_op_get(tool->ctx, name, &op);
    if (status)
        printf("  FAILED  facet %s: %s\n",
               json_string_value(json_object_get(item, "facet")), status->message);
    bt_ctx_clear_diags(tool->ctx);
    return status != NULL;
}

int check_facets(struct tool *tool, const char *plugin, uint32_t *nbroken)
{
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "facet"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "facet", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) != 0)
            continue;
        json_t *json = json_loads(item.json, 0, NULL);
        *nbroken += check_added(tool, json);
        json_decref(json);
    }
    return EXIT_OK;
}
