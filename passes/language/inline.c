/*
 * inline: put the body of a function where it is called.
 * Calls of globals that carry the attribute inline=True, that are named once, or that
 * have at most max-bindings bindings, once their own calls are inlined; and calls of
 * closures in sight that are used once or are as small. A call that passes single numbers
 * or functions in sight may be of as many times more bindings as it passes of these: in a
 * copy it is known which way branches on them go and what is called. With all=True,
 * calls of every global and every closure in sight: executors without calls need it.
 * inline=False keeps a global's calls, and so do vjp, jvp and checkpoint; calls of primitive
 * functions, which targets make kernels of, stay too. Functions that can reach themselves are
 * left alone, and calls that are checked at run time, that would make a check of the body
 * false, or that have no room for the body: blocks would be nested deeper than half of
 * limits.depth. The globals stay; dead-code drops the closures, and the globals where it knows
 * the entry.
 * needs    call-graph
 * keeps    fused, matched; not what closures are
 * option   max-bindings   largest function to inline without the attribute, default 8
 * option   max-program    bindings to which copies of functions may make the module grow,
 *                         but for those of small globals; default 16384
 * option   all            every call that can be, default False
 */
#include "common/derivative_attrs.h"
#include "common/rewrite_slots.h"

struct options {
    int64_t max_bindings, max_program, all;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bindings, INT, "8", 0, INT32_MAX,
                  "largest function to inline without the attribute"),
    BT_ATTR_RANGE(struct options, max_program, INT, "16384", 0, INT32_MAX,
                  "bindings to which copies of functions may make the module grow"),
    BT_ATTR(struct options, all, BOOL, "False", "inline every call that can be"),
    { 0 },
};

struct inliner {
    const bt_module *module;
    const bt_callgraph *graph;
    bt_arena *arena;
    bt_map uses;       /* globals that are named -> struct use */
    bt_map bodies;     /* of closures -> struct body */
    bt_map wanted;     /* globals to inline */
    bt_map sizes;      /* of the globals that do not reach themselves -> struct size */
    uint64_t nbinding; /* of the module, with the copies that are chosen */
    uint64_t most;     /* that may become of these */
    uint32_t depth;
    uint64_t copied;  /* bindings of closures */
    uint64_t special; /* bindings of globals, for calls that pass something known */
};

enum { MAX_DEPTH = 32 };         /* of bodies within bodies in one walk */
enum { MAX_BINDINGS = 1 << 16 }; /* of a global, and of all copies of closures */
enum { MIN_GROWTH = 1 << 12 };   /* of any module, however large */
enum { MAX_SPECIAL = 1 << 12 };  /* of all copies for calls that pass something known */

/* ---- what blocks hold ---- */

/* Asked for every binding; 0 ends the walk. */
typedef int visit(struct inliner *, const bt_value *, void *self);

static bt_status walk(struct inliner *in, const bt_block *block, visit *meet, void *self)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(in->arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            if (!meet(in, blocks.at[b]->bindings[i], self))
                return NULL;
        }
    }
    return NULL;
}

static const bt_value *callee_of(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call ? call->callee : NULL;
}

/* ---- which globals to inline ---- */

/* How often a global is named. */
struct use {
    uint64_t n;
};

static bt_status count_name(struct inliner *in, const bt_global *global)
{
    struct use *use = bt_map_find(&in->uses, global);
    if (!use) {
        use = BT_NEW(in->arena, struct use);
        if (!use || !bt_map_put(&in->uses, global, use))
            return bt_no_memory();
    }
    use->n++;
    return NULL;
}

static int count_names(struct inliner *in, const bt_value *value, void *self)
{
    bt_status *status = self;
    in->nbinding++;
    for (uint32_t i = 0; i < bt_value_noperand(value) && !*status; i++) {
        const bt_global *global =
            bt_module_global(in->module, bt_value_operand(value, i));
        if (global)
            *status = count_name(in, global);
    }
    return !*status;
}

static bt_status count_all(struct inliner *in)
{
    bt_status status = NULL;
    for (uint32_t i = 0; i < in->module->nglobal && !status; i++) {
        const bt_global *global = in->module->globals[i];
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(walk(in, global->func->block, count_names, &status));
    }
    return status;
}

/* Bindings that a call of a function becomes, once its own calls are inlined. */
struct size {
    uint64_t n;
};

static int measure(struct inliner *in, const bt_value *value, void *self)
{
    struct size *out = self;
    const bt_global *callee = bt_module_global(in->module, callee_of(value));
    const struct size *inner = callee && bt_map_find(&in->wanted, callee)
                                   ? bt_map_find(&in->sizes, callee)
                                   : NULL;
    out->n += inner ? inner->n : 1;
    return out->n <= MAX_BINDINGS;
}

static int is_small(const struct options *o, const struct size *size)
{
    return size->n <= MAX_BINDINGS && (o->all || size->n <= (uint64_t)o->max_bindings);
}

/* Its stated result is more exact than what its last call gives, by a check: inlining
 * would lose the check. */
static int is_result_checked(const bt_func *func)
{
    const bt_call *last = bt_as_call(func->block->result);
    return last && last->ncheck && func->result != last->base.type;
}

/* The attribute inline; NULL: it says nothing. */
static const bt_dict_entry *stated(const bt_global *global)
{
    const bt_dict_entry *attr = bt_dict_find(&global->func->attrs, "inline");
    return attr && (attr->kind == BT_DICT_BOOL || attr->kind == BT_DICT_INT) ? attr
                                                                             : NULL;
}

/* Functions that call the next one twice double the program at every step: what copies
 * add to it is bounded. A body that is named once moves. */
static int is_affordable(struct inliner *in, uint64_t ncopy, const struct size *size)
{
    if (in->nbinding + ncopy * size->n > in->most && ncopy)
        return 0;
    in->nbinding += ncopy * size->n;
    return 1;
}

static int is_wanted(struct inliner *in, const struct options *o, const bt_global *global,
                     const struct size *size)
{
    const bt_dict_entry *attr = stated(global);
    const struct use *use = bt_map_find(&in->uses, global);
    if (is_result_checked(global->func) || size->n > MAX_BINDINGS ||
        derivative_attrs_has(&global->func->attrs) ||
        (attr ? !attr->i : bt_func_is_primitive(global->func)))
        return 0;
    if (!attr && !is_small(o, size) && !(use && use->n == 1))
        return 0;
    return size->n <= (uint64_t)o->max_bindings ||
           is_affordable(in, use ? use->n - 1 : 0, size);
}

/* Those called come before their callers, so each body is measured once: functions that
 * call the next one twice do not double the program at every step. */
static bt_status choose(struct inliner *in, const struct options *o)
{
    for (uint32_t i = 0; i < in->graph->nglobal; i++) {
        uint32_t g = in->graph->members[i];
        const bt_global *global = in->module->globals[g];
        if (global->kind != BT_GLOBAL_FUNC ||
            in->graph->is_recursive[in->graph->component[g]])
            continue;
        struct size *size = BT_NEW(in->arena, struct size);
        if (!size || !bt_map_put(&in->sizes, global, size))
            return bt_no_memory();
        BT_TRY(walk(in, global->func->block, measure, size));
        if (is_wanted(in, o, global, size) && !bt_map_put(&in->wanted, global, in))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- which calls to inline ---- */

/* A closure's body, and whether it names the closure. */
struct body {
    struct size size;
    const bt_value *closure;
    int is_recursive;
};

static int look_at(struct inliner *in, const bt_value *value, void *self)
{
    struct body *body = self;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        body->is_recursive |= bt_value_operand(value, i) == body->closure;
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        body->is_recursive |= bt_value_region(value, i)->result == body->closure;
    return !body->is_recursive && measure(in, value, &body->size);
}

/* Measured once, however often it is called. */
static bt_status find_body(struct inliner *in, const bt_closure_value *closure,
                           const struct body **out)
{
    struct body *body = bt_map_find(&in->bodies, closure);
    if (!body) {
        body = BT_NEW(in->arena, struct body);
        if (!body || !bt_map_put(&in->bodies, closure, body))
            return bt_no_memory();
        body->closure = &closure->base;
        body->is_recursive = closure->func->block->result == &closure->base;
        BT_TRY(walk(in, closure->func->block, look_at, body));
    }
    *out = body;
    return NULL;
}

/* One that is used once, or is small; all copies together are bounded. */
static bt_status find_closure(bt_rewrite *rewrite, const bt_closure_value *closure,
                              const bt_func **out)
{
    struct inliner *in = bt_rewrite_state(rewrite);
    const struct body *body;
    if (closure->group->n != 1 || derivative_attrs_has(&closure->func->attrs))
        return NULL;
    BT_TRY(find_body(in, closure, &body));
    if (body->is_recursive || in->copied + body->size.n > MAX_BINDINGS ||
        (bt_rewrite_nuse(rewrite, &closure->base) != 1 &&
         !(is_small(bt_rewrite_call(rewrite)->options, &body->size) &&
           is_affordable(in, 1, &body->size))))
        return NULL;
    in->copied += body->size.n;
    *out = closure->func;
    return NULL;
}

/* Arguments that say something of what is computed: single numbers and functions. */
static bt_status count_known(bt_rewrite *rewrite, const bt_call *call, uint64_t *out)
{
    const struct inliner *in = bt_rewrite_state(rewrite);
    *out = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_value *now;
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &now));
        const bt_tensor *tensor = bt_const_tensor(bt_module_constant(in->module, now));
        const bt_global *global = bt_module_global(in->module, now);
        *out += bt_as_closure(now) || (global && global->func) ||
                (tensor && tensor->rank == 0);
    }
    return NULL;
}

static bt_status is_special(bt_rewrite *rewrite, const bt_call *call,
                            const bt_global *global, int *out)
{
    struct inliner *in = bt_rewrite_state(rewrite);
    const struct options *o = bt_rewrite_call(rewrite)->options;
    const struct size *size = bt_map_find(&in->sizes, global);
    uint64_t known;
    *out = 0;
    if (!size || stated(global) || derivative_attrs_has(&global->func->attrs) ||
        bt_func_is_primitive(global->func) || is_result_checked(global->func) ||
        in->special + size->n > MAX_SPECIAL)
        return NULL;
    BT_TRY(count_known(rewrite, call, &known));
    *out = size->n <= (uint64_t)o->max_bindings * (1 + known);
    in->special += *out ? size->n : 0;
    return NULL;
}

/* *out stays NULL where the call is to stay. The callee relies on what a call checks at
 * run time. */
static bt_status find_callee(bt_rewrite *rewrite, const bt_call *call,
                             const bt_func **out)
{
    const struct inliner *in = bt_rewrite_state(rewrite);
    const bt_value *now;
    if (call->ncheck)
        return NULL;
    if (bt_as_closure(call->callee))
        return find_closure(rewrite, bt_as_closure(call->callee), out);
    BT_TRY(bt_rewrite_operand(rewrite, call->callee, &now));
    const bt_global *global = bt_module_global(in->module, now);
    int is_chosen = global && bt_map_find(&in->wanted, global);
    if (global && !is_chosen)
        BT_TRY(is_special(rewrite, call, global, &is_chosen));
    if (is_chosen)
        *out = global->func;
    return NULL;
}

/* Whether the callee takes what is given, and the place has room for its body. */
static bt_status may_copy(bt_rewrite *rewrite, const bt_call *call, const bt_func *func,
                          int *out)
{
    const struct inliner *in = bt_rewrite_state(rewrite);
    *out = 0;
    return func && func->nvar == call->ntype_arg
               ? rewrite_has_room(rewrite, in->arena, func, out)
               : NULL;
}

static bt_status inline_call(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    struct inliner *in = bt_rewrite_state(rewrite);
    if (call->callee_kind != BT_CALLEE_VALUE || in->depth == MAX_DEPTH)
        return NULL;
    const bt_func *func = NULL;
    int may;
    BT_TRY(find_callee(rewrite, call, &func));
    BT_TRY(may_copy(rewrite, call, func, &may));
    if (!may)
        return NULL;
    const bt_value **args = BT_NEWS(in->arena, const bt_value *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    in->depth++;
    bt_status status = bt_rewrite_inline_func(rewrite, func, call->ntype_arg,
                                              call->type_args, call->narg, args, out);
    in->depth--;
    return status;
}

static const bt_rewriter rewriter = { .call_ = inline_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct inliner in = { .module = call->module, .arena = call->scratch };
    const void *graph;
    BT_TRY(bt_pass_analysis(ctx, call, "call-graph", &graph));
    in.graph = graph;
    bt_map_init(&in.uses, call->scratch, 0);
    bt_map_init(&in.bodies, call->scratch, 0);
    bt_map_init(&in.wanted, call->scratch, 0);
    bt_map_init(&in.sizes, call->scratch, 0);
    BT_TRY(count_all(&in));
    in.most = (uint64_t)((const struct options *)call->options)->max_program;
    if (in.most < in.nbinding + MIN_GROWTH)
        in.most = in.nbinding + MIN_GROWTH;
    BT_TRY(choose(&in, call->options));
    return bt_rewrite_module(ctx, call, &rewriter, &in, out);
}

static const bt_pass passes[] = {
    {
        .name = "inline",
        .doc = "Put the body of a function where it is called.\n"
               "before\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @main(%x: float32) { @twice(%x) }\n"
               "after\n"
               "    def @twice(%x: float32) { add(%x, %x) }\n"
               "    def @main(%x: float32) { add(%x, %x) }",
        .level = 1,
        .needs = "call-graph",
        .keeps = "fused matched",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_language_inline[] = { BT_PASSES(passes), { 0 } };
