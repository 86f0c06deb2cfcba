/*
 * Checking a resolved pipeline from manifests alone: each option fits its schema, and
 * what each pass needs holds when its turn comes, in the first round of a repeat and in
 * later ones.
 */
#include <string.h>

#include "base/ctx.h"
#include "pass/pipeline.h"

/* ---- what holds ---- */

int bt__item_names(const bt__item *item, const char *key, const char *name)
{
    const json_t *words = json_object_get(item->json, key);
    for (size_t i = 0; i < json_array_size(words); i++) {
        if (strcmp(json_string_value(json_array_get(words, i)), name) == 0)
            return 1;
    }
    return 0;
}

int bt__item_has(const bt__item *item, const char *key, const char *name)
{
    return bt__item_names(item, key, name) || bt__item_names(item, key, "*");
}

static int holds(const bt__holding *holding, const char *name)
{
    for (uint32_t i = 0; i < holding->names.len; i++) {
        if (strcmp(holding->names.at[i], name) == 0)
            return 1;
    }
    return 0;
}

int bt__holding_after(bt__holding *holding, const bt__resolved_step *pass, int is_changed)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < holding->names.len; i++) {
        if (!is_changed || bt__item_has(pass->item, "keeps", holding->names.at[i]))
            holding->names.at[kept++] = holding->names.at[i];
    }
    holding->names.len = kept;
    const json_t *gives = json_object_get(pass->item->json, "gives");
    for (size_t i = 0; i < json_array_size(gives); i++) {
        const char *name = json_string_value(json_array_get(gives, i));
        if (!holds(holding, name) && !BT_PUSH(holding->arena, &holding->names, name))
            return 0;
    }
    return 1;
}

/* ---- the walk ---- */

typedef struct check {
    bt_ctx *ctx;
    const bt__resolved *resolved;
    bt__holding holding;
    bt_store *store;
    int report_all;
    int options_only;
    uint32_t nfault;
    bt_status first;
    const bt__contribution *faulty; /* the first fault of a run is of it; NULL: of none */
} check;

static bt_status note(check *c, const bt__resolved_step *pass, bt_status fault)
{
    if (!fault)
        return NULL;
    if (!c->first && fault->code != BT_ERR_MEMORY && !c->report_all)
        c->faulty = pass->contribution;
    if (!c->first)
        c->first = fault;
    if (fault->code == BT_ERR_MEMORY || !c->report_all)
        return fault;
    bt_report(c->ctx, fault);
    return ++c->nfault < c->ctx->limits.errors ? NULL : fault;
}

/* What would have provided it, as advice. */
static bt_status fail_need(check *c, const bt__resolved_step *pass, const char *need)
{
    struct bt__plugins *plugins;
    bt_text givers;
    bt_text_init(&givers, c->ctx->diags);
    BT_TRY(bt__plugins_lock(c->ctx, &plugins));
    for (uint32_t i = 0; i < plugins->items.len; i++) {
        const bt__item *item = plugins->items.at[i];
        if (!item->kind || strcmp(item->kind->kind, "pass") != 0 ||
            !bt__item_has(item, "gives", need))
            continue;
        int is_disabled = 0;
        for (uint32_t j = 0; j < c->resolved->disabled.len; j++)
            is_disabled |= strcmp(c->resolved->disabled.at[j].name, item->name) == 0;
        bt_text_addf(&givers, "%s%s%s", givers.len ? ", " : "", item->name,
                     is_disabled ? " (which is disabled)" : "");
    }
    bt__plugins_unlock(c->ctx);
    if (givers.failed)
        return bt_no_memory();
    if (givers.len == 0)
        return bt__spot_fail(c->ctx, pass->spot,
                             "%s needs %s, which no pass gives and no analysis is named",
                             pass->pass, need);
    return bt__spot_fail(c->ctx, pass->spot,
                         "%s needs %s, which does not hold here: it is given by %s and "
                         "must be kept until here",
                         pass->pass, need, bt_text_get(&givers));
}

static bt_status check_needs(check *c, const bt__resolved_step *pass)
{
    const json_t *needs = json_object_get(pass->item->json, "needs");
    for (size_t i = 0; i < json_array_size(needs); i++) {
        const char *need = json_string_value(json_array_get(needs, i));
        int is_analysis = 0;
        if (strcmp(need, "types") == 0 || holds(&c->holding, need))
            continue;
        BT_TRY(bt__plugins_has(c->ctx, "baton.analysis/1", need, &is_analysis));
        if (!is_analysis)
            BT_TRY(note(c, pass, fail_need(c, pass, need)));
    }
    return NULL;
}

static bt_status check_option(check *c, const bt__resolved_step *pass,
                              const bt__setting *option)
{
    bt_attr row[2] = { { 0 } };
    for (const bt_attr *attr = pass->schema; attr->name; attr++) {
        if (strcmp(attr->name, option->name) == 0)
            row[0] = *attr;
    }
    row[0].offset = 0;
    const bt_op one = { .name = pass->pass, .attrs = row, .attrs_nbytes = 16 };
    const void *values;
    const char *text =
        bt__format(c->resolved->arena, "%s=%s", option->name, option->text);
    if (!text)
        return bt_no_memory();
    bt_status fault = bt_attrs_parse(c->ctx, c->store, &one, text, &values);
    return fault ? note(c, pass, bt__spot_wrap(c->ctx, option->spot, fault)) : NULL;
}

static bt_status check_options(check *c, const bt__resolved_step *pass)
{
    for (uint32_t i = 0; i < pass->options.len; i++)
        BT_TRY(check_option(c, pass, &pass->options.at[i]));
    for (const bt_attr *attr = pass->schema; attr->name; attr++) {
        int is_given = attr->preset != NULL;
        for (uint32_t i = 0; i < pass->options.len; i++)
            is_given |= strcmp(pass->options.at[i].name, attr->name) == 0;
        if (!is_given)
            BT_TRY(
                note(c, pass,
                     bt__spot_fail(c->ctx, pass->spot,
                                   "%s: option \"%s\" has no default and must be given",
                                   pass->pass, attr->name)));
    }
    return NULL;
}

/* `is_again`: a later round of a repeat, where options were checked already. */
static bt_status check_steps(check *c, const bt__resolved_list *steps, int is_again)
{
    for (uint32_t i = 0; i < steps->len; i++) {
        const bt__resolved_step *step = &steps->at[i];
        if (!step->pass) {
            BT_TRY(check_steps(c, &step->steps, is_again));
            // What holds after one round is what holds after any further one, so two
            // rounds are enough.
            if (step->max > 1 && !c->first)
                BT_TRY(check_steps(c, &step->steps, 1));
            continue;
        }
        if (!is_again)
            BT_TRY(check_options(c, step));
        if (!c->options_only || step->contribution)
            BT_TRY(check_needs(c, step));
        if (!bt__holding_after(&c->holding, step, 1))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status check_resolved(check *c)
{
    c->holding.arena = c->resolved->arena;
    c->store = bt_store_create(c->ctx->registry);
    if (!c->store)
        return bt_no_memory();
    bt_status status = check_steps(c, &c->resolved->steps, 0);
    bt_store_unref(c->store);
    return c->first ? c->first : status;
}

/* Once more after each contribution that is left out: what it gave may be missed. */
static bt_status check_and_leave_out(bt_ctx *ctx, bt__resolved *resolved, int report_all,
                                     int options_only)
{
    for (;;) {
        check c = { .ctx = ctx,
                    .resolved = resolved,
                    .report_all = report_all,
                    .options_only = options_only };
        bt_status status = check_resolved(&c);
        if (!c.faulty)
            return status;
        bt__resolved_leave_out(ctx, resolved, c.faulty, status);
    }
}

bt_status bt__resolved_check(bt_ctx *ctx, bt__resolved *resolved, int report_all)
{
    return check_and_leave_out(ctx, resolved, report_all, 0);
}

bt_status bt__resolved_check_options(bt_ctx *ctx, bt__resolved *resolved)
{
    return check_and_leave_out(ctx, resolved, 0, 1);
}

bt_status bt_pipeline_check_sized(bt_ctx *ctx, const bt_pipeline *p,
                                  const bt_pipeline_options *given, size_t nbytes)
{
    bt__resolved *resolved;
    BT_TRY(bt__resolved_create(ctx, p, given, nbytes, 1, &resolved));
    bt_status status = bt__resolved_check(ctx, resolved, 1);
    bt__resolved_destroy(resolved);
    return status;
}
