/*
 * Resolving a pipeline: nested pipelines and slots are opened, conditions, levels and
 * variables settled, passes looked up in manifests. What remains is what will run.
 */
#include <string.h>

#include "base/ctx.h"
#include "base/nearest.h"
#include "pass/settings.h"
#include "pass/targets.h"

#define MAX_NESTED 16
#define MAX_STEPS  4096

typedef struct settle {
    bt_ctx *ctx;
    bt__resolved *resolved;
    bt__settings set; /* of the run */
    uint8_t *used;    /* by entry of `set` */
    bt__pass_names require;
    uint32_t nasked; /* of `require`: those that the run asks for, first */
    const bt__contribution *contribution; /* that is being resolved; NULL: none */
    int report_all;
    uint32_t nfault, nstep;
    bt_status first;
} settle;

/* Where the walk is: the pipeline's scope, and how many pipelines and slots contain
 * it. */
typedef struct region {
    bt__variables scope;
    uint32_t depth;
} region;

bt_status bt__contribution_fault(bt_ctx *ctx, const bt__contribution *one,
                                 bt_status fault, int is_run)
{
    return !one || fault->code == BT_ERR_MEMORY
               ? fault
               : bt_note(ctx, fault, NULL, 0,
                         "plugin %s contributes it to the pipeline (%s)%s",
                         one->plugin->id,
                         one->plugin->manifest ? one->plugin->manifest : "linked in",
                         is_run ? "; the run goes on without it" : "");
}

/* Recursion is bounded by the depth of pipelines. */
static void take_out(bt__resolved_list *steps, const bt__contribution *one)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < steps->len; i++) {
        bt__resolved_step *step = &steps->at[i];
        take_out(&step->steps, one);
        if (step->contribution != one && (step->pass || step->steps.len))
            steps->at[kept++] = *step;
    }
    steps->len = kept;
}

void bt__resolved_leave_out(bt_ctx *ctx, bt__resolved *resolved,
                            const bt__contribution *one, bt_status fault)
{
    bt_remark(ctx, BT_REMARK_NOTE, bt__contribution_fault(ctx, one, fault, 1));
    take_out(&resolved->steps, one);
}

/* Notes a fault; NULL: go on and find more. A run goes on without a contribution, a check
 * fails. */
static bt_status note(settle *s, bt_status fault)
{
    if (!fault)
        return NULL;
    fault = bt__contribution_fault(s->ctx, s->contribution, fault, !s->report_all);
    if (s->contribution && fault->code != BT_ERR_MEMORY && !s->report_all) {
        bt_remark(s->ctx, BT_REMARK_NOTE, fault);
        return fault;
    }
    if (!s->first)
        s->first = fault;
    if (fault->code == BT_ERR_MEMORY || !s->report_all)
        return fault;
    bt_report(s->ctx, fault);
    return ++s->nfault < s->ctx->limits.errors ? NULL : fault;
}

static int has_name(const bt__pass_names *names, const char *name)
{
    for (uint32_t i = 0; i < names->len; i++) {
        if (strcmp(names->at[i].name, name) == 0)
            return 1;
    }
    return 0;
}

/* ---- options ---- */

void bt__option_words(bt_text *out, const char *name)
{
    for (; *name; name++)
        bt_text_add(out, *name == '_' ? "-" : name, 1);
}

static bt_status fail_option(bt_ctx *ctx, const bt__resolved_step *pass,
                             const bt__setting *option)
{
    bt_text known, words, name;
    bt__nearest nearest;
    bt_text_init(&known, ctx->diags);
    bt_text_init(&words, ctx->diags);
    bt_text_init(&name, ctx->diags);
    bt__option_words(&name, option->name);
    for (const bt_attr *attr = pass->schema; attr->name; attr++) {
        int is_first = attr == pass->schema;
        bt_text_addf(&known, is_first ? "" : ", ");
        bt_text_addf(&words, is_first ? "" : "|");
        bt__option_words(&known, attr->name);
        bt__option_words(&words, attr->name);
    }
    if (known.failed || words.failed || !bt_text_get(&name))
        return bt_no_memory();
    if (known.len == 0)
        return bt__spot_fail(ctx, option->spot, "%s has no options, found \"%s\"",
                             pass->pass, name.at);
    bt__nearest_init(&nearest, name.at);
    bt__nearest_offer_words(&nearest, ctx->diags, bt_text_get(&words), '|');
    return bt__spot_fail(ctx, option->spot, "%s has no option \"%s\": it has %s%s",
                         pass->pass, name.at, known.at,
                         bt__nearest_text(&nearest, ctx->diags));
}

static bt_status put_option(settle *s, bt__resolved_step *pass, const bt__setting *option,
                            const bt__variables *scope)
{
    const bt_attr *attr = bt_attr_row(pass->schema, option->name);
    bt__setting text = { .name = option->name, .spot = option->spot };
    if (!attr)
        return note(s, fail_option(s->ctx, pass, option));
    bt_status fault = bt__setting_text(s->ctx, s->resolved->arena, option, scope,
                                       attr->kind, &text.text);
    if (fault)
        return note(s, fault);
    text.name = attr->name;
    bt__setting *old = bt__settings_find(&pass->options, text.name);
    if (old)
        *old = text;
    else if (!BT_PUSH(s->resolved->arena, &pass->options, text))
        return bt_no_memory();
    return NULL;
}

/* "pass.option" of the run's options that are meant for this pass. */
static bt_status put_set(settle *s, bt__resolved_step *pass)
{
    for (uint32_t i = 0; i < s->set.len; i++) {
        bt__setting option = s->set.at[i];
        const char *dot = strrchr(option.name, '.');
        const char *name =
            bt__option_name(s->resolved->arena, pass->pass, strlen(pass->pass));
        if (!name)
            return bt_no_memory();
        if (!dot || strlen(name) != (size_t)(dot - option.name) ||
            memcmp(name, option.name, (size_t)(dot - option.name)) != 0)
            continue;
        s->used[i] = 1;
        option.name = dot + 1;
        BT_TRY(put_option(s, pass, &option, NULL));
    }
    return NULL;
}

/* Options in the order of the schema, so that one choice has one text. */
static void sort_options(bt__resolved_step *pass)
{
    uint32_t done = 0;
    for (const bt_attr *attr = pass->schema; attr->name; attr++) {
        bt__setting *option = bt__settings_find(&pass->options, attr->name);
        if (!option)
            continue;
        bt__setting moved = *option;
        *option = pass->options.at[done];
        pass->options.at[done++] = moved;
    }
}

/* ---- steps ---- */

static int matches(const settle *s, const bt__step *step)
{
    const bt__resolved *resolved = s->resolved;
    if (resolved->options.level < step->min_level ||
        resolved->options.level > step->max_level)
        return 0;
    if (!step->targets)
        return 1;
    if (json_is_string(step->targets))
        return strcmp(json_string_value(step->targets), resolved->target) == 0;
    for (size_t i = 0; i < json_array_size(step->targets); i++) {
        const json_t *target = json_array_get(step->targets, i);
        if (strcmp(json_string_value(target), resolved->target) == 0)
            return 1;
    }
    return 0;
}

static bt_status resolve_steps(settle *s, const bt__steps *steps, const region *r,
                               bt__resolved_list *out);

/* What the manifest says of a pass. */
static bt_status read_item(settle *s, bt__resolved_step *pass, const bt__item *item)
{
    pass->item = item;
    pass->schema =
        bt__schema_read(s->resolved->arena, json_object_get(item->json, "options"),
                        &pass->options_nbytes);
    return pass->schema ? NULL : bt_no_memory();
}

/* Where a check was asked for, steps that do nothing are reported. */
static bt_status remark_idle(settle *s, const char *name, int32_t level)
{
    if (s->report_all)
        bt_remark(s->ctx, BT_REMARK_NOTE,
                  bt_fail(s->ctx, BT_ERR_PIPELINE,
                          "%s does not run: it is of level %d, and this is level %d; "
                          "\"level\": %d of the pipeline or --opt-level %d changes that",
                          name, (int)level, (int)s->resolved->options.level, (int)level,
                          (int)level));
    return NULL;
}

static bt_status resolve_pass(settle *s, const bt__step *step, const region *r,
                              bt__resolved_list *out)
{
    bt__item *item = NULL;
    bt__resolved_step pass = { .pass = step->name,
                               .spot = step->spot,
                               .level = step->level,
                               .contribution = s->contribution };
    bt_status fault = bt__plugins_item(s->ctx, "baton.pass/1", step->name, &item);
    if (fault)
        return note(s, bt__spot_wrap(s->ctx, step->spot, fault));
    BT_TRY(read_item(s, &pass, item));
    int is_required = has_name(&s->require, step->name);
    int is_disabled = has_name(&s->resolved->disabled, step->name);
    int32_t level = step->level;
    if (level < 0)
        level = (int32_t)json_integer_value(json_object_get(item->json, "level"));
    if (is_required && is_disabled)
        return note(s, bt__spot_fail(s->ctx, step->spot,
                                     "%s is both required and disabled", step->name));
    for (uint32_t i = 0; i < step->settings.len; i++)
        BT_TRY(put_option(s, &pass, &step->settings.at[i], &r->scope));
    BT_TRY(put_set(s, &pass));
    if (is_disabled)
        return NULL;
    if (!is_required && s->resolved->options.level < level)
        return remark_idle(s, step->name, level);
    if (is_required && s->resolved->options.level < level)
        pass.level = 0;
    sort_options(&pass);
    return BT_PUSH(s->resolved->arena, out, pass) ? NULL : bt_no_memory();
}

/* Elements of `contributes` are checked only here: the kernel of plugins knows no
 * steps. */
static bt_status resolve_contribution(settle *s, const bt__contribution *one,
                                      const region *r, bt__resolved_list *out)
{
    bt__json root = bt__json_root(&one->plugin->source, one->plugin->json);
    bt__json list = bt__json_member(&root, "contributes");
    bt__json item = bt__json_element(&list, one->index);
    bt__steps steps = { 0 };
    bt__step step;
    bt_status fault = bt__step_read(s->ctx, s->resolved->arena, &item, &step);
    if (fault)
        return note(s, fault);
    if (!BT_PUSH(s->resolved->arena, &steps, step))
        return bt_no_memory();
    return resolve_steps(s, &steps, r, out);
}

static bt_status resolve_slot(settle *s, const bt__step *step, const region *r,
                              bt__resolved_list *out)
{
    bt__contributions list = { 0 };
    region inside = { .scope = r->scope, .depth = r->depth + 1 };
    if (r->depth >= MAX_NESTED)
        return note(s, bt__spot_fail(s->ctx, step->spot,
                                     "slots and pipelines are nested more than %d deep: "
                                     "does slot %s contain itself?",
                                     MAX_NESTED, step->name));
    BT_TRY(bt__plugins_contributions(s->ctx, s->resolved->arena, step->name, &list));
    const bt__contribution *outer = s->contribution;
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < list.len; i++) {
        uint32_t nresolved = out->len;
        s->contribution = &list.at[i];
        status = resolve_contribution(s, &list.at[i], &inside, out);
        if (status && status->code != BT_ERR_MEMORY && !s->report_all) {
            out->len = nresolved; // it is left out, with a note to the user
            status = NULL;
        }
    }
    s->contribution = outer;
    return status;
}

static bt_status check_given(settle *s, const bt__step *step, const bt_pipeline *nested)
{
    for (uint32_t i = 0; i < step->settings.len; i++) {
        const bt__setting *given = &step->settings.at[i];
        if (!bt__settings_find(&nested->variables, given->name))
            BT_TRY(note(s, bt__spot_fail(s->ctx, given->spot,
                                         "pipeline %s has no variable \"%s\"",
                                         nested->name, given->name)));
    }
    return NULL;
}

static bt_status join_names(bt_arena *arena, bt__pass_names *to,
                            const bt__pass_names *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        if (!BT_PUSH(arena, to, from->at[i]))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status join_instruments(bt_arena *arena, bt__instruments *to,
                                  const bt__instruments *from)
{
    to->verify |= from->verify;
    to->timing |= from->timing;
    to->print_changed |= from->print_changed;
    BT_TRY(join_names(arena, &to->dump_before, &from->dump_before));
    return join_names(arena, &to->dump_after, &from->dump_after);
}

/* A pipeline's own require, disable and instruments hold for everything that is
 * resolved after it is entered: those of the outermost for all of it. */
static bt_status enter(settle *s, const bt_pipeline *p)
{
    bt_arena *arena = s->resolved->arena;
    BT_TRY(join_names(arena, &s->require, &p->require));
    BT_TRY(join_names(arena, &s->resolved->disabled, &p->disable));
    return join_instruments(arena, &s->resolved->instruments, &p->instruments);
}

static bt_status resolve_pipeline(settle *s, const bt__step *step, const region *r,
                                  bt__resolved_list *out)
{
    bt_pipeline *nested = NULL;
    if (r->depth >= MAX_NESTED)
        return note(s, bt__spot_fail(s->ctx, step->spot,
                                     "pipelines are nested more than %d deep: does %s "
                                     "contain itself?",
                                     MAX_NESTED, step->name));
    bt_status fault = bt__pipeline_find(s->ctx, step->name, &nested);
    if (fault)
        // An error with a place is shown there, in the pipeline's own file.
        return note(s,
                    fault->place.file ? fault : bt__spot_wrap(s->ctx, step->spot, fault));
    if (!BT_PUSH(s->resolved->arena, &s->resolved->nested, nested)) {
        bt_pipeline_destroy(nested);
        return bt_no_memory();
    }
    BT_TRY(check_given(s, step, nested));
    region inside = {
        .scope = { .pipeline = nested, .given = &step->settings, .up = &r->scope },
        .depth = r->depth + 1
    };
    uint32_t nrequire = s->require.len, ndisable = s->resolved->disabled.len;
    BT_TRY(enter(s, nested));
    BT_TRY(resolve_steps(s, &nested->steps, &inside, out));
    s->require.len = nrequire;
    s->resolved->disabled.len = ndisable;
    return NULL;
}

static bt_status resolve_repeat(settle *s, const bt__step *step, const region *r,
                                bt__resolved_list *out)
{
    bt__resolved_step repeat = { .spot = step->spot, .max = step->max, .level = -1 };
    BT_TRY(resolve_steps(s, &step->steps, r, &repeat.steps));
    if (repeat.steps.len == 0)
        return NULL;
    return BT_PUSH(s->resolved->arena, out, repeat) ? NULL : bt_no_memory();
}

static bt_status resolve_step(settle *s, const bt__step *step, const region *r,
                              bt__resolved_list *out)
{
    if (++s->nstep > MAX_STEPS)
        return note(s, bt__spot_fail(s->ctx, step->spot,
                                     "the pipeline has more than %d steps", MAX_STEPS));
    switch (step->kind) {
    case BT__STEP_PASS: return resolve_pass(s, step, r, out);
    case BT__STEP_SEQUENCE: return resolve_steps(s, &step->steps, r, out);
    case BT__STEP_REPEAT: return resolve_repeat(s, step, r, out);
    case BT__STEP_SLOT: return resolve_slot(s, step, r, out);
    case BT__STEP_PIPELINE: return resolve_pipeline(s, step, r, out);
    }
    return NULL;
}

static bt_status resolve_for_gradients(settle *s, const bt__step *step, const region *r,
                                       bt__resolved_list *out)
{
    bt_arena *arena = s->resolved->arena;
    bt__gradients *gradients = BT_NEW(arena, bt__gradients);
    bt__resolved_step once = {
        .spot = step->spot, .max = 1, .level = -1, .gradients = gradients
    };
    if (!gradients)
        return bt_no_memory();
    *gradients = (bt__gradients){ 0 };
    for (size_t i = 0; i < json_array_size(step->gradients); i++) {
        const char *name = json_string_value(json_array_get(step->gradients, i));
        const char *own = bt_arena_text(arena, name, strlen(name));
        if (!own || !BT_PUSH(arena, &gradients->operators, own))
            return bt_no_memory();
    }
    BT_TRY(resolve_step(s, step, r, &once.steps));
    if (once.steps.len == 0)
        return NULL;
    return BT_PUSH(arena, out, once) ? NULL : bt_no_memory();
}

static const char *step_title(const bt__step *step)
{
    return step->name                      ? step->name
           : step->kind == BT__STEP_REPEAT ? "a repeat"
                                           : "a sequence";
}

/* Recursion is bounded by the depth of documents and by MAX_NESTED. */
static bt_status resolve_steps(settle *s, const bt__steps *steps, const region *r,
                               bt__resolved_list *out)
{
    for (uint32_t i = 0; i < steps->len; i++) {
        const bt__step *step = &steps->at[i];
        int is_high_enough =
            step->kind == BT__STEP_PASS || s->resolved->options.level >= step->level;
        if (!matches(s, step))
            continue;
        if (!is_high_enough)
            BT_TRY(remark_idle(s, step_title(step), step->level));
        else
            BT_TRY(step->gradients ? resolve_for_gradients(s, step, r, out)
                                   : resolve_step(s, step, r, out));
    }
    return NULL;
}

/* ---- the whole ---- */

static bt_status take_names(settle *s, const char *const *from, bt__pass_names *to)
{
    for (; from && *from; from++) {
        bt__pass_name name = { .name = *from };
        if (!bt__is_name(*from) && strcmp(*from, "*") != 0)
            return bt_fail(s->ctx, BT_ERR_PIPELINE, "\"%s\" is not a pass's name", *from);
        if (!BT_PUSH(s->resolved->arena, to, name))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status take_options(settle *s)
{
    bt_arena *arena = s->resolved->arena;
    const bt_pipeline_options *o = &s->resolved->options;
    bt__instruments *i = &s->resolved->instruments;
    BT_TRY(take_names(s, o->require, &s->require));
    s->nasked = s->require.len;
    BT_TRY(take_names(s, o->disable, &s->resolved->disabled));
    BT_TRY(take_names(s, o->dump_before, &i->dump_before));
    BT_TRY(take_names(s, o->dump_after, &i->dump_after));
    i->verify |= o->verify_each;
    i->timing |= o->time_passes;
    i->print_changed |= o->print_changed;
    for (const char *const *set = o->set; set && *set; set++) {
        bt__setting setting;
        BT_TRY(bt__setting_parse(s->ctx, arena, *set, &setting));
        if (!BT_PUSH(arena, &s->set, setting))
            return bt_no_memory();
    }
    s->used = BT_NEWS(arena, uint8_t, s->set.len);
    return s->used ? NULL : bt_no_memory();
}

static int resolved_has(const bt__resolved_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->len; i++) {
        const bt__resolved_step *step = &list->at[i];
        if (step->pass ? strcmp(step->pass, name) == 0 : resolved_has(&step->steps, name))
            return 1;
    }
    return 0;
}

/* A name of a pass that no plugin has is a misspelling. */
static bt_status check_known(settle *s, const bt__pass_names *names)
{
    for (uint32_t i = 0; i < names->len; i++) {
        bt__item *item;
        if (strcmp(names->at[i].name, "*") == 0)
            continue;
        bt_status fault =
            bt__plugins_item(s->ctx, "baton.pass/1", names->at[i].name, &item);
        if (fault && fault->code == BT_ERR_NAME && names->at[i].spot.doc)
            fault = bt__spot_wrap(s->ctx, names->at[i].spot, fault);
        if (fault)
            BT_TRY(note(s, fault));
    }
    return NULL;
}

/* A name that was given and had no effect is an error. */
static bt_status check_used(settle *s)
{
    const bt_pipeline *p = s->resolved->pipeline;
    for (uint32_t i = 0; i < s->set.len; i++) {
        const bt__setting *set = &s->set.at[i];
        if (!s->used[i] && !bt__settings_find(&p->variables, set->name))
            BT_TRY(
                note(s, bt__spot_fail(s->ctx, set->spot,
                                      "pipeline %s has neither a variable nor an option "
                                      "of a pass named \"%s\"",
                                      p->name, set->name)));
    }
    // A pipeline may require a pass that only some targets run; one that the run itself
    // requires must be there.
    for (uint32_t i = 0; i < s->nasked; i++) {
        const char *name = s->require.at[i].name;
        if (!resolved_has(&s->resolved->steps, name))
            BT_TRY(note(s, bt_fail(s->ctx, BT_ERR_PIPELINE,
                                   "pass \"%s\" is required, but does not stand in "
                                   "pipeline %s",
                                   name, p->name)));
    }
    BT_TRY(check_known(s, &s->require));
    BT_TRY(check_known(s, &s->resolved->instruments.dump_before));
    BT_TRY(check_known(s, &s->resolved->instruments.dump_after));
    return check_known(s, &s->resolved->disabled);
}

static bt_status make(settle *s)
{
    const region outer = { .scope = { .pipeline = s->resolved->pipeline,
                                      .given = &s->set } };
    BT_TRY(take_options(s));
    BT_TRY(enter(s, s->resolved->pipeline));
    BT_TRY(resolve_steps(s, &s->resolved->pipeline->steps, &outer, &s->resolved->steps));
    BT_TRY(check_used(s));
    return s->first;
}

bt_status bt__resolved_create(bt_ctx *ctx, const bt_pipeline *p,
                              const bt_pipeline_options *given, size_t nbytes,
                              int report_all, bt__resolved **out)
{
    bt_pipeline_options options;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    if (!given || options.level < 0)
        options.level = p->level;
    bt_arena *arena = bt_arena_create(ctx->registry);
    bt__resolved *resolved = arena ? BT_NEW(arena, bt__resolved) : NULL;
    if (!resolved) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *resolved = (bt__resolved){
        .arena = arena, .pipeline = p, .options = options, .target = "interp"
    };
    settle s = { .ctx = ctx, .resolved = resolved, .report_all = report_all };
    bt_status status = NULL;
    if (options.target && strcmp(options.target, resolved->target) != 0)
        status = bt__targets_last(arena, options.target, &resolved->target);
    else if (options.targets)
        resolved->target = options.targets->at[options.targets->n - 1]->target->name;
    if (!status)
        status = make(&s);
    if (status) {
        bt__resolved_destroy(resolved);
        return s.first ? s.first : status;
    }
    *out = resolved;
    return NULL;
}

void bt__resolved_destroy(bt__resolved *resolved)
{
    if (!resolved)
        return;
    for (uint32_t i = 0; i < resolved->nested.len; i++)
        bt_pipeline_destroy(resolved->nested.at[i]);
    bt_arena_destroy(resolved->arena);
}

const char *bt__resolved_options(bt_arena *arena, const bt__resolved_step *pass)
{
    bt_text text;
    bt_text_init(&text, arena);
    for (uint32_t i = 0; i < pass->options.len; i++)
        bt_text_addf(&text, "%s%s=%s", i ? ", " : "", pass->options.at[i].name,
                     pass->options.at[i].text);
    return bt_text_get(&text);
}
