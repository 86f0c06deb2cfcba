/*
 * place: give each primitive function the target that makes the whole program fastest.
 * Without it a function is computed by the target that claimed it, else by the first of the
 * list that takes it. Here all targets of the list that support it and say what it costs are
 * compared, with the copies between their memories. Of three placements - as the list has it,
 * the cut with the least work (placement.h), each target for all that it can - the one is
 * taken whose makespan is least, where that is less than the list's by more than the costs'
 * stated doubt. What is on a device (`on N`), what has open dims, and what nobody knows the
 * cost of stays where it is; so does all that is no primitive function: the host has it.
 * source   H. S. Stone, Multiprocessor scheduling with the aid of network flow algorithms, 1977
 */
#include <math.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/op.h>
#include <baton/pass.h>

#include "common/version.h"
#include "placement/placement.h"

enum { MAX_NAMED = 4 };

/* A primitive function, and what is known of it. */
struct candidate {
    const bt_global *global;
    uint32_t target;    /* that has it now */
    double *ns;         /* by target; below 0: it is not done there */
    double *confidence; /* in that, 0..1 */
    const char **why;   /* by target: why it is not done there */
    /* By target: what its calls there call; NULL: nothing yet. */
    const char **names;
    uint32_t told; /* which block's placement, from 1, has told of it */
    uint32_t is_free;
};

struct placer {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_targets *targets;
    bt_map found;    /* function -> struct candidate */
    uint32_t nblock; /* those that were placed */
    bt_map callees;  /* call -> the name of the function that it is to call */
    /* Of the block at hand: */
    struct placement placement;
    bt_vec(struct candidate *) candidates; /* by computation */
    bt_vec(const bt_call *) calls;
    bt_map numbers; /* call -> its computation, from 1 */
    bt_map tensors; /* value -> its tensor, from 1 */
};

/* ---- what functions cost ---- */

static bt_status ask_cost(const struct placer *p, uint32_t target, struct candidate *k)
{
    const bt_target_use *use = p->targets->at[target];
    const bt_func *func = k->global->func;
    bt_cost cost = { 0 };
    k->ns[target] = -1;
    k->why[target] = !use->target->cost ? "it does not say what anything costs"
                                        : "it does not know what this costs";
    if (target != k->target && use->target->patterns)
        k->why[target] = "no pattern of it matches, or none that it supports";
    if (!use->target->cost || (target != k->target && use->target->patterns))
        return NULL;
    bt_status said = bt_target_supports(p->ctx, use, func);
    if (said && said->code == BT_ERR_UNSUPPORTED) {
        k->why[target] = bt_arena_text(p->arena, said->message, strlen(said->message));
        return k->why[target] ? NULL : bt_no_memory();
    }
    BT_TRY(said);
    BT_TRY(use->target->cost(p->ctx, use->instance, func, &cost));
    if (!(cost.ns >= 0) || !(cost.confidence > 0))
        return NULL;
    k->ns[target] = cost.ns;
    k->confidence[target] = cost.confidence < 1 ? cost.confidence : 1;
    return NULL;
}

static bt_status find_candidate(struct placer *p, const bt_global *global,
                                struct candidate **out)
{
    const uint32_t n = p->targets->n;
    struct candidate *k = bt_map_find(&p->found, global->func);
    *out = k;
    if (k)
        return NULL;
    *out = k = BT_NEW(p->arena, struct candidate);
    if (!k || !bt_map_put(&p->found, global->func, k))
        return bt_no_memory();
    k->global = global;
    k->ns = BT_NEWS(p->arena, double, n);
    k->confidence = BT_NEWS(p->arena, double, n);
    k->names = BT_NEWS(p->arena, const char *, n);
    k->why = BT_NEWS(p->arena, const char *, n);
    if (!k->ns || !k->confidence || !k->names || !k->why)
        return bt_no_memory();
    BT_TRY(bt_targets_choose(p->ctx, p->targets, global->func, &k->target));
    for (uint32_t t = 0; t < n && k->target < n && !global->func->nvar; t++)
        BT_TRY(ask_cost(p, t, k));
    k->is_free = !global->func->nvar && k->target < n && k->ns[k->target] >= 0;
    if (k->target < n && !k->is_free)
        k->ns[k->target] = 0;
    return NULL;
}

/* ---- the block ---- */

static double nbytes_of(const bt_type *type)
{
    const int64_t n = bt_type_nbytes(type);
    return n > 0 ? (double)n : 0;
}

static bt_status tensor_of(struct placer *p, const bt_value *value, uint32_t from,
                           struct placed_tensor **out)
{
    struct placement *all = &p->placement;
    uintptr_t number = (uintptr_t)bt_map_find(&p->tensors, value);
    if (!number) {
        const struct placed_tensor made = { .nbytes = nbytes_of(value->type),
                                            .from = from };
        if (!BT_PUSH(p->arena, &all->tensors, made))
            return bt_no_memory();
        number = all->tensors.len;
        if (!bt_map_put(&p->tensors, value, (void *)number) ||
            (from != PLACED_HOST &&
             !BT_PUSH(p->arena, &all->all.at[from].out, all->tensors.len - 1)))
            return bt_no_memory();
    }
    *out = &all->tensors.at[number - 1];
    return NULL;
}

/* `user` reads the tensors of a value, or the host does. */
static bt_status add_use(struct placer *p, const bt_value *value, uint32_t user)
{
    const bt_value *root = value;
    if (value->kind == BT_VALUE_CONST || value->kind == BT_VALUE_GLOBAL)
        return NULL;
    if (value->kind == BT_VALUE_TUPLE) {
        for (uint32_t i = 0; i < bt_value_noperand(value); i++)
            BT_TRY(add_use(p, bt_value_operand(value, i), user));
        return NULL;
    }
    while (root->kind == BT_VALUE_PROJ)
        root = bt_value_operand(root, 0);
    const uintptr_t number = (uintptr_t)bt_map_find(&p->numbers, root);
    struct placed_tensor *t;
    BT_TRY(tensor_of(p, value, number ? (uint32_t)number - 1 : PLACED_HOST, &t));
    if (user == PLACED_HOST) {
        t->is_for_host = 1;
        return NULL;
    }
    const uint32_t index = (uint32_t)(t - p->placement.tensors.at);
    return BT_PUSH(p->arena, &t->users, user) &&
                   BT_PUSH(p->arena, &p->placement.all.at[user].in, index)
               ? NULL
               : bt_no_memory();
}

static bt_status add_computation(struct placer *p, const bt_call *call,
                                 struct candidate *k)
{
    const struct placed placed = { .ns = k->ns,
                                   .target = k->target,
                                   .is_free = k->is_free && !call->base.device };
    if (!BT_PUSH(p->arena, &p->placement.all, placed) ||
        !BT_PUSH(p->arena, &p->candidates, k) || !BT_PUSH(p->arena, &p->calls, call) ||
        !bt_map_put(&p->numbers, &call->base, (void *)(uintptr_t)p->calls.len))
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(add_use(p, call->args[i], p->calls.len - 1));
    return NULL;
}

/* What is in the blocks of a binding is done elsewhere, from the host's memory. */
static bt_status add_inner_uses(struct placer *p, const bt_value *value)
{
    bt_blocks blocks = { 0 };
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(bt_block_nested(p->arena, bt_value_region(value, i), &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const bt_block *block = blocks.at[b];
        BT_TRY(add_use(p, block->result, PLACED_HOST));
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *inner = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(inner); k++)
                BT_TRY(add_use(p, bt_value_operand(inner, k), PLACED_HOST));
        }
    }
    return NULL;
}

static bt_status add_binding(struct placer *p, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_global *global = call ? bt_module_primitive(p->module, call) : NULL;
    struct candidate *k;
    if (global) {
        BT_TRY(find_candidate(p, global, &k));
        if (k->target < p->targets->n)
            return add_computation(p, call, k);
    }
    if (value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ)
        return NULL; // who reads it reads its tensors
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(add_use(p, bt_value_operand(value, i), PLACED_HOST));
    return add_inner_uses(p, value);
}

/* ---- choosing ---- */

/* The placements that were looked at: as the list has it, and the best. */
struct choice {
    double listed_ns, best_ns;
    uint32_t *listed, *best;
};

static void keep(const struct placement *p, uint32_t *out)
{
    for (uint32_t i = 0; i < p->all.len; i++)
        out[i] = p->all.at[i].target;
}

static void put(struct placement *p, const uint32_t *targets)
{
    for (uint32_t i = 0; i < p->all.len; i++)
        p->all.at[i].target = targets[i];
}

static bt_status compare(struct placement *p, struct choice *choice)
{
    double ns;
    BT_TRY(placement_makespan_ns(p, &ns));
    if (ns < choice->best_ns) {
        choice->best_ns = ns;
        keep(p, choice->best);
    }
    return NULL;
}

/* The least confidence in what the two placements do not share. */
static double confidence_in(const struct placer *p, const struct choice *choice)
{
    double least = 1;
    for (uint32_t i = 0; i < p->candidates.len; i++) {
        const struct candidate *k = p->candidates.at[i];
        const double a = k->confidence[choice->listed[i]],
                     b = k->confidence[choice->best[i]];
        if (choice->listed[i] != choice->best[i])
            least = fmin(least, fmin(a, b));
    }
    return least;
}

static bt_status choose(struct placer *p, struct choice *choice)
{
    struct placement *all = &p->placement;
    choice->listed = BT_NEWS(p->arena, uint32_t, all->all.len);
    choice->best = BT_NEWS(p->arena, uint32_t, all->all.len);
    if (!choice->listed || !choice->best)
        return bt_no_memory();
    keep(all, choice->listed);
    keep(all, choice->best);
    BT_TRY(placement_makespan_ns(all, &choice->listed_ns));
    choice->best_ns = choice->listed_ns;
    BT_TRY(placement_cut(all));
    BT_TRY(compare(all, choice));
    for (uint32_t t = 0; t < all->ntarget; t++) {
        put(all, choice->listed);
        for (uint32_t i = 0; i < all->all.len; i++) {
            if (all->all.at[i].is_free && all->all.at[i].ns[t] >= 0)
                all->all.at[i].target = t;
        }
        BT_TRY(compare(all, choice));
    }
    const int is_better = choice->best_ns < choice->listed_ns * confidence_in(p, choice);
    put(all, is_better ? choice->best : choice->listed);
    return NULL;
}

/* ---- what is told ---- */

static double work_of(const struct placement *p, uint32_t target, uint32_t *n)
{
    double sum = 0;
    for (uint32_t i = *n = 0; i < p->all.len; i++) {
        const struct placed *placed = &p->all.at[i];
        *n += placed->target == target;
        sum += placed->target == target ? placed->ns[target] : 0;
    }
    return sum;
}

/* Functions that a target does not get, for one reason. */
struct left {
    uint32_t target, n;
    const char *why;
    bt_text names;
};
typedef bt_vec(struct left *) left_list;

static bt_status add_left(const struct placer *p, left_list *all, uint32_t target,
                          const char *why, const char *name)
{
    struct left *row = NULL;
    for (uint32_t i = 0; !row && i < all->len; i++) {
        if (all->at[i]->target == target && strcmp(all->at[i]->why, why) == 0)
            row = all->at[i];
    }
    if (!row) {
        row = BT_NEW(p->arena, struct left);
        if (!row || !BT_PUSH(p->arena, all, row))
            return bt_no_memory();
        row->target = target;
        row->why = why;
        bt_text_init(&row->names, p->arena);
    }
    if (row->n++ < MAX_NAMED)
        bt_text_addf(&row->names, "%s@%s", row->n > 1 ? ", " : "", name);
    return row->names.failed ? bt_no_memory() : NULL;
}

/* Why the computation is not done by one before its target. */
static bt_status add_reasons(const struct placer *p, uint32_t i, left_list *all)
{
    const struct placed *placed = &p->placement.all.at[i];
    const struct candidate *k = p->candidates.at[i];
    bt_text name;
    for (uint32_t t = 0; t < placed->target; t++) {
        bt_text_init(&name, p->arena);
        bt_text_addf(&name, "%s", k->global->name);
        if (k->ns[t] >= 0 && placed->is_free)
            bt_text_addf(&name, " (%.3f ms, on %s %.3f)", k->ns[t] / 1e6,
                         p->targets->at[placed->target]->text,
                         k->ns[placed->target] / 1e6);
        const char *why = p->calls.at[i]->base.device ? "the program says on which (on N)"
                          : k->global->func->nvar     ? "dims are open"
                          : k->ns[t] >= 0 ? "with copies nothing is done sooner for sure"
                          : k->why[t]     ? k->why[t]
                                          : "it is not asked";
        if (!bt_text_get(&name))
            return bt_no_memory();
        BT_TRY(add_left(p, all, t, why, name.at));
    }
    return NULL;
}

static bt_status tell_left(struct placer *p, bt_text *out)
{
    left_list all = { 0 };
    p->nblock++;
    for (uint32_t i = 0; i < p->calls.len; i++) {
        if (p->candidates.at[i]->told != p->nblock)
            BT_TRY(add_reasons(p, i, &all));
        p->candidates.at[i]->told = p->nblock;
    }
    for (uint32_t i = 0; i < all.len; i++) {
        const struct left *row = all.at[i];
        bt_text_addf(out, "\n     not %s: %s: %s", p->targets->at[row->target]->text,
                     row->why, bt_text_get(&row->names));
        if (row->n > MAX_NAMED)
            bt_text_addf(out, " and %u more", row->n - MAX_NAMED);
    }
    return NULL;
}

static bt_status tell(struct placer *p, const char *name, const struct choice *choice)
{
    const struct placement *all = &p->placement;
    double ns, work = 0;
    uint32_t nunknown = 0;
    bt_text text;
    BT_TRY(placement_makespan_ns(all, &ns));
    bt_text_init(&text, p->arena);
    bt_text_addf(&text, "place @%s: %.3f ms (in order of the list %.3f", name, ns / 1e6,
                 choice->listed_ns / 1e6);
    if (choice->best_ns < choice->listed_ns && ns > choice->best_ns)
        bt_text_addf(&text, "; %.3f might do, which is less than the costs are sure of",
                     choice->best_ns / 1e6);
    bt_text_addf(&text, ")");
    for (uint32_t i = 0; i < p->candidates.len; i++)
        nunknown += !p->candidates.at[i]->is_free;
    if (nunknown)
        bt_text_addf(&text, "; %u function%s of unknown cost %s not counted", nunknown,
                     nunknown == 1 ? "" : "s", nunknown == 1 ? "is" : "are");
    for (uint32_t t = 0; t < all->ntarget; t++) {
        uint32_t n;
        const double here = work_of(all, t, &n);
        work += here;
        bt_text_addf(&text, "\n%12.3f ms  %s, %u function%s", here / 1e6,
                     all->targets[t]->text, n, n == 1 ? "" : "s");
    }
    bt_text_addf(&text, "\n%12.3f ms  copies", (placement_work_ns(all) - work) / 1e6);
    BT_TRY(tell_left(p, &text));
    if (!bt_text_get(&text))
        return bt_no_memory();
    bt_remark(p->ctx, BT_REMARK_CHOICE, bt_fail(p->ctx, BT_ERR_NONE, "%s", text.at));
    return NULL;
}

/* ---- functions and calls ---- */

/* Calls that stay keep the function. */
static bt_status note_calls(struct placer *p)
{
    for (uint32_t i = 0; i < p->calls.len; i++) {
        struct candidate *k = p->candidates.at[i];
        const uint32_t target = p->placement.all.at[i].target;
        if (target == k->target)
            continue;
        if (!k->names[target]) {
            bt_text name;
            bt_text_init(&name, p->arena);
            bt_text_addf(&name, "%s_%s", p->targets->at[target]->target->name,
                         k->global->name);
            while (bt_text_get(&name) && bt_module_find(p->module, name.at))
                bt_text_addf(&name, "_");
            k->names[target] = bt_text_get(&name);
        }
        if (!k->names[target] ||
            !bt_map_put(&p->callees, p->calls.at[i], (void *)(uintptr_t)k->names[target]))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status place_block(struct placer *p, const char *name, const bt_block *block)
{
    struct choice choice = { 0 };
    p->placement = (struct placement){ .arena = p->arena,
                                       .ntarget = p->targets->n,
                                       .targets = p->targets->at };
    memset(&p->candidates, 0, sizeof(p->candidates));
    memset(&p->calls, 0, sizeof(p->calls));
    bt_map_init(&p->numbers, p->arena, 0);
    bt_map_init(&p->tensors, p->arena, 0);
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(add_binding(p, block->bindings[i]));
    BT_TRY(add_use(p, block->result, PLACED_HOST));
    int has_choice = 0;
    for (uint32_t i = 0; i < p->calls.len; i++)
        has_choice |= (int)p->placement.all.at[i].is_free;
    if (!has_choice)
        return NULL;
    BT_TRY(choose(p, &choice));
    BT_TRY(tell(p, name, &choice));
    return note_calls(p);
}

/* A function of a target: its copy, by another name and with that attribute. */
static bt_status set_func(const struct placer *p, const struct candidate *k,
                          uint32_t target, bt_module_builder *builder)
{
    bt_store *store = p->module->store;
    bt_func fields = *k->global->func;
    bt_global made = *k->global;
    uint32_t n = 0;
    bt_dict_entry *attrs = BT_NEWS(p->arena, bt_dict_entry, (size_t)fields.attrs.n + 1);
    made.name = bt_name_of(store, k->names[target]);
    if (!attrs || !made.name)
        return bt_no_memory();
    for (uint32_t i = 0; i < fields.attrs.n; i++) {
        if (strcmp(fields.attrs.at[i].name, "target") != 0)
            attrs[n++] = fields.attrs.at[i];
    }
    attrs[n] = (bt_dict_entry){ .kind = BT_DICT_TEXT,
                                .name = bt_name_of(store, "target"),
                                .text = bt_name_of(store, p->targets->at[target]->text) };
    if (!attrs[n].name || !attrs[n].text)
        return bt_no_memory();
    fields.name = made.name;
    fields.attrs = (bt_dict){ n + 1, attrs };
    BT_TRY(bt_func_create(p->ctx, store, &fields, &made.func));
    return bt_module_builder_set(builder, &made, 1);
}

static bt_status set_funcs(void *state, bt_module_builder *builder)
{
    const struct placer *p = state;
    for (uint32_t i = 0; i < p->found.len; i++) {
        const struct candidate *k = p->found.at[i].value;
        for (uint32_t t = 0; t < p->targets->n; t++) {
            if (k->names[t])
                BT_TRY(set_func(p, k, t, builder));
        }
    }
    return NULL;
}

static bt_status change_callee(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    const struct placer *p = bt_rewrite_state(rw);
    const char *name = bt_map_find(&p->callees, call);
    const bt_value *old = &call->base;
    const uint32_t n = bt_value_noperand(old);
    if (!name)
        return NULL;
    const bt_value **operands = BT_NEWS(p->arena, const bt_value *, n);
    if (!operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *operand = bt_value_operand(old, i);
        BT_TRY(operand == call->callee
                   ? bt_build_global(bt_rewrite_builder(rw), name, &operands[i])
                   : bt_rewrite_operand(rw, operand, &operands[i]));
    }
    return bt_build_again(bt_rewrite_builder(rw), old, operands, NULL, old->type, out);
}

static const bt_rewriter rewriter = { .call_ = change_callee };

static bt_status rewrite(struct placer *p, bt_pass_call *call, bt_module **out)
{
    bt_pass_call inner = *call;
    bt_module *with;
    BT_TRY(version_next(p->ctx, call->module, set_funcs, p, &with));
    inner.module = with;
    bt_status status = bt_rewrite_module(p->ctx, &inner, &rewriter, p, out);
    bt_module_unref(with);
    return status;
}

/* Whether there is something to choose. */
static int can_choose(const bt_targets *targets)
{
    uint32_t n = 0;
    for (uint32_t i = 0; targets && i < targets->n; i++)
        n += targets->at[i]->target->cost != NULL;
    return n > 1;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct placer p = { .ctx = ctx,
                        .arena = call->scratch,
                        .module = call->module,
                        .targets = call->targets };
    bt_map_init(&p.found, p.arena, 0);
    bt_map_init(&p.callees, p.arena, 0);
    for (uint32_t i = 0; can_choose(p.targets) && i < p.module->nglobal; i++) {
        const bt_func *func = p.module->globals[i]->func;
        bt_blocks blocks = { 0 };
        if (!func || bt_func_is_primitive(func))
            continue;
        BT_TRY(bt_block_nested(p.arena, func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len; b++)
            BT_TRY(place_block(&p, p.module->globals[i]->name, blocks.at[b]));
    }
    if (p.callees.len)
        return rewrite(&p, call, out);
    *out = bt_module_ref(p.module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "place",
        .doc =
            "Give each primitive function the target that makes the program fastest.\n"
            "before\n"
            "    def @main(%x: Tensor[(8), float32]) {\n"
            "        @fused_exp(%x)\n"
            "    }\n"
            "    def @fused_exp(%p0: Tensor[(8), float32], primitive=1) {\n"
            "        exp(%p0)\n"
            "    }\n"
            "after, for claim.any{ns=900, confidence=1}, claim.any{ns=30, confidence=1}\n"
            "    def @main(%x: Tensor[(8), float32]) {\n"
            "        @claim.any_fused_exp(%x)\n"
            "    }\n"
            "    def @fused_exp(%p0: Tensor[(8), float32], primitive=1) {\n"
            "        exp(%p0)\n"
            "    }\n"
            "    def @claim.any_fused_exp(%p0: Tensor[(8), float32], primitive=1, "
            "target=\"claim.any{ns=30, confidence=1}\") {\n"
            "        exp(%p0)\n"
            "    }",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_placement_place[] = { BT_PASSES(passes), { 0 } };
