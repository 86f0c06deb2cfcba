/*
 * partial-eval: what is known before a program runs is done before it runs.
 * A program is gone through as it would be run, with values of which something is known: numbers,
 * fields of tuples and of data, what a closure holds. Matches and branches on what is known go one
 * way; closures and data that nothing needs as a value are not made; calls of functions that are
 * known are unfolded where an argument tells something, recursion where an argument that
 * decides gets smaller: data by its size, integers by the distance to what they are compared with.
 * What is left keeps the order of evaluation: nothing that has an effect is copied or left out,
 * what may fail stays in its branch. Ways of a branch that give tuples or the same constructor are
 * joined part by part.
 * Bindings of what is left are bounded by max-factor times those that there are, and max-bindings:
 * then calls stay calls, and a function with such a call gets the attribute evaluated=True: it is not
 * gone through again. dead-code drops what is not used any more.
 * needs    call-graph
 * keeps    no invariant
 * option   max-factor     how many times the bindings of the module may be left, default 4
 * option   max-bindings   bindings that may be left beside these, default 4096
 * option   max-unfold     largest function without recursion to unfold, default 64
 * option   max-nbytes     largest constant to compute with, default 65536
 * option   numbers        unfold recursion over numbers, default True
 * source   Relay (Roesch et al. 2019), section 4.3; Jones, Gomard, Sestoft 1993, Partial Evaluation
 *          and Automatic Program Generation
 */
#include "common/version.h"
#include "partial/pe.h"

#include <stddef.h>

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct pe_options, max_factor, INT, "4", 1, 1024,
                  "how many times the bindings of the module may be left"),
    BT_ATTR_RANGE(struct pe_options, max_bindings, INT, "4096", 0, INT32_MAX,
                  "bindings that may be left beside these"),
    BT_ATTR_RANGE(struct pe_options, max_unfold, INT, "64", 0, INT32_MAX,
                  "largest function without recursion to unfold"),
    BT_ATTR_RANGE(struct pe_options, max_nbytes, INT, "65536", 0, INT32_MAX,
                  "bytes of the largest constant to compute with"),
    BT_ATTR(struct pe_options, numbers, BOOL, "True", "unfold recursion over numbers"),
    { 0 },
};

enum {
    WORK = 16,    /* bindings that are gone through for one that may be left */
    MAX_BEGIN = 8 /* that the whole is begun, as a version turned out to have no type */
};

/* Functions from the entry on: those that are gone through call the others. */
struct driver {
    struct pe p;
    bt_vec(const bt_global *) queue;
    bt_map seen;   /* global -> itself */
    bt_map bodies; /* global -> its new bt_func */
};

static bt_status visit(struct driver *d, const bt_global *global)
{
    global = bt_module_primal(d->p.module, global); // a gradient is of what comes of it
    if (!global || global->kind != BT_GLOBAL_FUNC || bt_map_find(&d->seen, global))
        return NULL;
    return bt_map_put(&d->seen, global, d) && BT_PUSH(d->p.arena, &d->queue, global)
               ? NULL
               : bt_no_memory();
}

static bt_status visit_value(struct driver *d, const bt_value *value)
{
    if (value->kind != BT_VALUE_GLOBAL)
        return NULL;
    for (uint32_t i = 0; i < d->p.versions.len; i++)
        d->p.versions.at[i]->is_wanted |= d->p.versions.at[i]->name == value->name;
    return visit(d, bt_module_global(d->p.module, value));
}

static bt_status visit_named(struct driver *d, const bt_block *block)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(d->p.arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        BT_TRY(visit_value(d, blocks.at[b]->result));
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *value = blocks.at[b]->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(value); k++)
                BT_TRY(visit_value(d, bt_value_operand(value, k)));
        }
    }
    return NULL;
}

/* ---- one function ---- */

static bt_status begin(struct pe *p)
{
    bt_builder_destroy(p->maker);
    bt_builder_destroy(p->assembler);
    p->maker = p->assembler = NULL;
    p->steps.len = 0;
    p->ngain = 0;
    p->met_limit = p->may_differ = 0;
    p->block = NULL;
    p->store_now = (struct pe_store){ .epoch = ++p->nepoch };
    p->cells.len = p->writes.len = 0;
    p->nbody = 0;
    bt_map_init(&p->active, p->arena, 0);
    BT_TRY(bt_builder_create(p->ctx, p->store, p->module, &p->maker));
    BT_TRY(bt_builder_create(p->ctx, p->store, p->module, &p->assembler));
    return bt_block_begin(p->maker, 0, NULL);
}

/* A function in which a call stayed for lack of room is not gone through again: with the room of
 * another run it would only grow. */
static const char *const done = "evaluated";

static bt_status mark(struct pe *p, bt_func *fields)
{
    const uint32_t n = fields->attrs.n;
    if (bt_dict_find(&fields->attrs, done))
        return NULL;
    bt_dict_entry *attrs = BT_NEWS(p->arena, bt_dict_entry, (size_t)n + 1);
    if (!attrs)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        attrs[i] = fields->attrs.at[i];
    attrs[n] = (bt_dict_entry){ .name = done, .kind = BT_DICT_BOOL, .i = 1 };
    fields->attrs = (bt_dict){ .n = n + 1, .at = attrs };
    return NULL;
}

/* What is left of a body; *out is NULL where nothing was known. */
static bt_status make_func(struct pe *p, struct pe_activation *at, uint32_t nparam,
                           const bt_param *const *params, bt_func *fields,
                           const bt_func **out)
{
    struct pe_value *value;
    const bt_value *result;
    *out = NULL;
    BT_TRY(pe_run(p, at, at->func->block, &value));
    if (!p->ngain && !p->met_limit)
        return NULL;
    if (!p->ngain) {
        BT_TRY(mark(p, fields));
        return bt_func_create(p->ctx, p->store, fields, out);
    }
    BT_TRY(pe_operand(p, value, &result));
    BT_TRY(pe_block_end(p, p->block, nparam, params, result, &fields->block));
    if (p->met_limit || p->may_differ)
        BT_TRY(mark(p, fields));
    return bt_func_create(p->ctx, p->store, fields, out);
}

static bt_status make_whole(struct pe *p, const bt_func *func, const bt_func **out)
{
    struct pe_activation *at;
    struct pe_value *value;
    bt_func fields = *func;
    BT_TRY(begin(p));
    p->made = NULL;
    BT_TRY(pe_activation_create(p, func, NULL, NULL, &at));
    BT_TRY(pe_block_create(p, NULL, &p->block));
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_value *param = &func->block->params[i]->base;
        BT_TRY(pe_dynamic(p, param, &value));
        BT_TRY(pe_deliver(p, at, param, value));
    }
    return make_func(p, at, func->block->nparam, func->block->params, &fields, out);
}

static bt_status make_version(struct pe *p, struct pe_version *v)
{
    const bt_func *func = v->of->func;
    struct pe_activation *at;
    const bt_param **params;
    bt_func fields = { .name = v->name,
                       .span = func->span,
                       .nvar = v->nvar,
                       .vars = v->vars,
                       .result = v->result,
                       .attrs = func->attrs };
    BT_TRY(begin(p));
    p->made = v;
    BT_TRY(pe_activation_create(p, func, NULL, NULL, &at));
    BT_TRY(pe_block_create(p, NULL, &p->block));
    at->types = v->types;
    at->types.is_copy = 1;
    BT_TRY(pe_revive(p, v, at, &params));
    p->ngain = 1;
    return make_func(p, at, v->npiece, params, &fields, &v->func);
}

/* A copy that has no type is one that would fail where it is reached: the function that it was
 * of is left alone. *again: the one at hand is to be gone through again. */
static bt_status refuse(struct pe *p, bt_status status, const bt_func *func, int *again)
{
    *again = 0;
    if (status->code == BT_ERR_MEMORY || status->code == BT_ERR_CANCELLED ||
        status->code == BT_ERR_INTERNAL)
        return status;
    bt_remark(p->ctx, BT_REMARK_DETAIL, status);
    *again = p->at != func && !bt_map_find(&p->blocked, p->at);
    return !*again || bt_map_put(&p->blocked, p->at, p) ? NULL : bt_no_memory();
}

static bt_status go_through(struct driver *d, const bt_global *global)
{
    const bt_func *now = NULL;
    const struct pe_facts *facts;
    struct pe *p = &d->p;
    if (bt_func_is_primitive(global->func))
        return NULL;
    BT_TRY(pe_facts_of(p, global->func, global, NULL, &facts));
    int again = facts->has_gain && !bt_dict_find(&global->func->attrs, done);
    while (again) {
        const uint64_t reserved = p->reserved;
        p->at = global->func;
        bt_status status = make_whole(p, global->func, &now);
        again = 0;
        if (status) {
            BT_TRY(refuse(p, status, global->func, &again));
            p->reserved = reserved;
            now = NULL;
        }
    }
    if (now && !bt_map_put(&d->bodies, global, (void *)(uintptr_t)now))
        return bt_no_memory();
    return visit_named(d, now ? now->block : global->func->block);
}

/* A version that has no type: there is to be none of its function, and all begins again. */
static bt_status go_through_version(struct driver *d, struct pe_version *v, int *refused)
{
    struct pe *p = &d->p;
    for (int again = 1; again;) {
        p->at = v->of->func;
        bt_status status = make_version(p, v);
        again = 0;
        if (!status)
            break;
        BT_TRY(refuse(p, status, v->of->func, &again));
        *refused = !again;
        if (*refused)
            return bt_map_put(&p->whole, v->of->func, p) ? NULL : bt_no_memory();
    }
    return visit_named(d, v->func->block);
}

/* ---- the module ---- */

static bt_status define(void *state, bt_module_builder *builder)
{
    struct driver *d = state;
    for (uint32_t i = 0; i < d->bodies.len; i++)
        BT_TRY(version_set_func(builder, d->bodies.at[i].key, d->bodies.at[i].value));
    for (uint32_t i = 0; i < d->p.versions.len; i++) {
        const struct pe_version *v = d->p.versions.at[i];
        bt_global like = *v->of;
        like.name = v->name;
        if (v->func)
            BT_TRY(version_set_func(builder, &like, v->func));
    }
    return NULL;
}

static bt_status count_all(struct pe *p)
{
    p->reserved = p->work = 0;
    for (uint32_t i = 0; i < p->module->nglobal; i++) {
        uint64_t size = 0;
        if (p->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(pe_size(p, p->module->globals[i]->func->block, &size));
        p->reserved += size;
    }
    p->base = p->reserved;
    p->limit = p->reserved * (uint64_t)p->options->max_factor +
               (uint64_t)p->options->max_bindings;
    p->most_work = WORK * p->limit;
    return NULL;
}

/* The next version that is called and not made; NULL: none. */
static struct pe_version *next_version(const struct driver *d)
{
    for (uint32_t i = 0; i < d->p.versions.len; i++) {
        struct pe_version *v = d->p.versions.at[i];
        if (v->is_wanted && !v->func)
            return v;
    }
    return NULL;
}

/* Functions and versions, as they are called. */
static bt_status all_of(struct driver *d, int *refused)
{
    const bt_module *module = d->p.module;
    const bt_global *entry =
        d->p.call->entry ? bt_module_find(module, d->p.call->entry) : NULL;
    uint32_t next = 0;
    BT_TRY(count_all(&d->p));
    BT_TRY(visit(d, entry));
    for (uint32_t i = 0; !entry && i < module->nglobal; i++)
        BT_TRY(visit(d, module->globals[i]));
    for (;;) {
        struct pe_version *version = next_version(d);
        if (version)
            BT_TRY(go_through_version(d, version, refused));
        else if (next < d->queue.len)
            BT_TRY(go_through(d, d->queue.at[next++]));
        else
            return NULL;
        if (*refused)
            return NULL;
    }
}

static void forget(struct driver *d)
{
    d->queue.len = d->p.versions.len = 0;
    bt_map_init(&d->seen, d->p.arena, 0);
    bt_map_init(&d->bodies, d->p.arena, 0);
    bt_map_init(&d->p.taken, d->p.arena, 0);
}

static bt_status start(struct driver *d)
{
    for (uint32_t i = 0; i < MAX_BEGIN; i++) {
        int refused = 0;
        forget(d);
        BT_TRY(all_of(d, &refused));
        if (!refused)
            return NULL;
    }
    forget(d); // nothing is changed
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct driver d = { .p = { .ctx = ctx,
                               .arena = call->scratch,
                               .call = call,
                               .options = call->options,
                               .module = call->module,
                               .store = call->module->store,
                               .max_depth = bt_ctx_limits(ctx)->depth / 2 } };
    const void *graph;
    BT_TRY(bt_pass_analysis(ctx, call, "call-graph", &graph));
    d.p.graph = graph;
    bt_map_init(&d.p.facts, call->scratch, 0);
    bt_map_init(&d.p.sizes, call->scratch, 0);
    bt_map_init(&d.p.blocked, call->scratch, 0);
    bt_map_init(&d.p.whole, call->scratch, 0);
    bt_map_init(&d.p.equal, call->scratch, 0);
    bt_status status = start(&d);
    bt_builder_destroy(d.p.maker);
    bt_builder_destroy(d.p.assembler);
    if (status)
        return status;
    if (d.bodies.len)
        return version_next(ctx, call->module, define, &d, out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "partial-eval",
        .doc = "What is known before a program runs is done before it runs.\n"
               "before\n"
               "    type Pair { Pair(float32, float32), }\n"
               "    def @main(%x: float32) {\n"
               "        let %f = fn (%y: float32) -> Pair { Pair(%y, exp(%x)) };\n"
               "        match (%f(tanh(%x))) { Pair(%a, %b) => %a + %b }\n"
               "    }\n"
               "after\n"
               "    type Pair { Pair(float32, float32), }\n"
               "    def @main(%x: float32) { tanh(%x) + exp(%x) }",
        .level = 2,
        .needs = "call-graph",
        .keeps = "",
        .options = options,
        .options_nbytes = sizeof(struct pe_options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_partial_partial_eval[] = { BT_PASSES(passes), { 0 } };
