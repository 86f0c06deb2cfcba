/*
 * fuse-ops: put calls that are computed together into primitive functions.
 *     before
 *         def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
 *             %0 = nn.dense(%x, %w);
 *             nn.relu(%0)
 *         }
 *     after
 *         def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
 *             @fused_nn_dense_nn_relu(%x, %w)
 *         }
 *         def @fused_nn_dense_nn_relu(%p0: Tensor[(4, 8), float32],
 *                                     %p1: Tensor[(8, 8), float32],
 *                                     primitive=1) {
 *             %0 = nn.dense(%p0, %p1);
 *             nn.relu(%0)
 *         }
 * Every call of an operator whose types are tensors with known dims goes into one: a
 * function with the attribute primitive, which an executor or target computes as a whole.
 * Equal functions are one. What reads, writes or draws random numbers, and what is checked
 * at run time, stays as it is. How operators may be joined follows from their formulas:
 * a convolution takes in what follows element by element, and what comes before it where
 * that is cheap.
 * needs    effects
 * gives    fused
 * option   max-ops   calls in one function, default 64
 * source   Relay 2018, section 5.3; fuse_groups.h
 */
#include <stdio.h>

#include "fuse_groups.h"

struct options {
    int64_t max_ops;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_ops, INT, "64", 1, 4096, "calls in one function"),
    { 0 },
};

enum { SLOW = 32, NAME_MOST = 96, NSLOT = 1 << 12 };

/* A primitive function, among those of equal hash. */
struct primitive {
    const bt_func *func;
    const char *name;
    struct primitive *next;
};

/* A binding that goes: into the call of `name` at the group's root. */
struct member {
    const char *name; /* of a root; NULL of the others */
    uint32_t narg;
    const bt_value *const *args; /* old values */
    uint32_t nmember;
    const bt_value *const *members;
};

struct fuser {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    const bt_effects *effects;
    bt_module_builder *module;
    const bt_module *old;
    uint32_t max_ops;
    bt_map members; /* binding -> struct member * */
    bt_map names;   /* taken, as text */
    struct primitive *primitives[NSLOT];
};

/* ---- nodes of a block ---- */

static int is_static(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    if (!tuple)
        return bt_tensor_static(type, &rank, dims) &&
               bt_dtype_is_stored(bt_tensor_dtype(type));
    for (uint32_t i = 0; i < tuple->n; i++) {
        if (!is_static(tuple->at[i]))
            return 0;
    }
    return 1;
}

/* Whether a binding can be part of a primitive function. */
static int is_candidate(const struct fuser *f, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (call && (call->callee_kind != BT_CALLEE_OP || call->ncheck ||
                 bt_effects_of(f->effects, value) & BT_EFFECT_UNMERGED))
        return 0;
    if (!call && value->kind != BT_VALUE_TUPLE && value->kind != BT_VALUE_PROJ)
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        if (!is_static(bt_value_operand(value, i)->type))
            return 0;
    }
    return is_static(value->type);
}

static bt_status look_at(struct fuser *f, struct fuse_node *node)
{
    const bt_call *call = bt_as_call(node->value);
    bt_fuse_info info;
    node->kind = FUSE_TUPLE;
    if (!call)
        return NULL;
    const bt_type **types = BT_NEWS(f->arena, const bt_type *, call->narg);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        types[i] = call->args[i]->type;
    bt_formula_call formula = { .op = call->op,
                                .attrs = call->attrs,
                                .narg = call->narg,
                                .args = types,
                                .result = node->value->type };
    BT_TRY(bt_fuse_look(f->ctx, &formula, &info));
    node->kind = info.kind;
    node->is_slow = info.cost >= SLOW;
    return NULL;
}

/* Nodes count from 1 in the map, so that 0 is absent. */
static uint32_t node_of(const bt_map *nodes, const bt_value *value)
{
    uintptr_t number = (uintptr_t)bt_map_find(nodes, value);
    return number ? (uint32_t)(number - 1) : FUSE_NONE;
}

static bt_status add_uses(struct fuser *f, struct fuse_block *b, const bt_map *nodes,
                          const bt_value *value)
{
    uint32_t user = node_of(nodes, value);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        uint32_t used = node_of(nodes, bt_value_operand(value, i));
        if (used == FUSE_NONE)
            continue;
        if (user == FUSE_NONE)
            b->nodes[used].escapes = 1;
        else if (!BT_PUSH(f->arena, &b->nodes[used].users, user))
            return bt_no_memory();
    }
    return NULL;
}

/* What a nested block uses leaves the block around it. */
static bt_status mark_inner_uses(struct fuser *f, struct fuse_block *b,
                                 const bt_map *nodes, const bt_value *owner)
{
    bt_vec(const bt_block *) queue = { 0 };
    for (uint32_t i = 0; i < bt_value_nregion(owner); i++) {
        if (!BT_PUSH(f->arena, &queue, bt_value_region(owner, i)))
            return bt_no_memory();
    }
    while (queue.len) {
        const bt_block *block = queue.at[--queue.len];
        uint32_t result = node_of(nodes, block->result);
        if (result != FUSE_NONE)
            b->nodes[result].escapes = 1;
        for (uint32_t i = 0; i < block->nbinding; i++) {
            BT_TRY(add_uses(f, b, nodes, block->bindings[i]));
            for (uint32_t k = 0; k < bt_value_nregion(block->bindings[i]); k++) {
                if (!BT_PUSH(f->arena, &queue, bt_value_region(block->bindings[i], k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

static bt_status make_nodes(struct fuser *f, const bt_block *block, struct fuse_block *b)
{
    bt_map nodes;
    bt_map_init(&nodes, f->arena, 0);
    b->nodes = BT_NEWS(f->arena, struct fuse_node, block->nbinding);
    if (!b->nodes)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (!is_candidate(f, value))
            continue;
        b->nodes[b->n] = (struct fuse_node){ .value = value };
        BT_TRY(look_at(f, &b->nodes[b->n++]));
        if (!bt_map_put(&nodes, value, (void *)(uintptr_t)b->n))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < block->nbinding; i++) {
        BT_TRY(add_uses(f, b, &nodes, block->bindings[i]));
        BT_TRY(mark_inner_uses(f, b, &nodes, block->bindings[i]));
    }
    uint32_t result = node_of(&nodes, block->result);
    if (result != FUSE_NONE)
        b->nodes[result].escapes = 1;
    return NULL;
}

/* ---- primitive functions ---- */

typedef bt_vec(const bt_value *) value_list;

/* Scalars stay inside: they are part of what is computed. */
static int is_inside(const bt_value *operand)
{
    const bt_tensor *t = bt_const_tensor(operand);
    return t && t->nelem == 1;
}

struct making {
    struct fuser *f;
    bt_builder *b;
    bt_map values; /* old -> new */
    value_list args;
    bt_vec(const bt_param *) params;
    bt_text name;
};

static bt_status map_operand(struct making *m, const bt_value *old, const bt_value **out)
{
    char name[16];
    const bt_param *param;
    *out = is_inside(old) ? old : bt_map_find(&m->values, old);
    if (*out)
        return NULL;
    snprintf(name, sizeof(name), "p%u", m->args.len);
    BT_TRY(bt_build_param(m->b, name, old->type, &param));
    *out = &param->base;
    return BT_PUSH(m->f->arena, &m->args, old) &&
                   BT_PUSH(m->f->arena, &m->params, param) &&
                   bt_map_put(&m->values, old, (void *)(uintptr_t)param)
               ? NULL
               : bt_no_memory();
}

static bt_status map_operands(struct making *m, const bt_value *value,
                              const bt_value ***out)
{
    uint32_t n = bt_value_noperand(value);
    *out = BT_NEWS(m->f->arena, const bt_value *, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(map_operand(m, bt_value_operand(value, i), &(*out)[i]));
    return NULL;
}

static void add_name(struct making *m, const bt_call *call)
{
    if (!call || m->name.len > NAME_MOST)
        return;
    bt_text_addf(&m->name, "_");
    for (const char *c = call->op->name; *c; c++)
        bt_text_add(&m->name, *c == '.' ? "_" : c, 1);
}

/* Parameters first: the block cannot begin before they are known. */
static bt_status find_params(struct making *m, uint32_t n, const bt_value *const *members)
{
    bt_map inside;
    const bt_value *param;
    bt_map_init(&inside, m->f->arena, 0);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < bt_value_noperand(members[i]); k++) {
            const bt_value *operand = bt_value_operand(members[i], k);
            if (!bt_map_find(&inside, operand))
                BT_TRY(map_operand(m, operand, &param));
        }
        if (!bt_map_put(&inside, members[i], m))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status build_func(struct making *m, uint32_t n, const bt_value *const *members,
                            const bt_func **out)
{
    const bt_value **operands, *value = NULL;
    bt_func fields = { .result = members[n - 1]->type };
    bt_dict_entry primitive = { .kind = BT_DICT_INT, .i = 1 };
    BT_TRY(find_params(m, n, members));
    BT_TRY(bt_block_begin(m->b, m->params.len, m->params.at));
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(map_operands(m, members[i], &operands));
        bt_builder_like(m->b, members[i]);
        bt_builder_name(m->b, NULL);
        BT_TRY(
            bt_build_again(m->b, members[i], operands, NULL, members[i]->type, &value));
        if (!bt_map_put(&m->values, members[i], (void *)(uintptr_t)value))
            return bt_no_memory();
        add_name(m, bt_as_call(members[i]));
    }
    BT_TRY(bt_block_end(m->b, value, &fields.block));
    primitive.name = bt_name_of(m->f->store, "primitive");
    if (!primitive.name)
        return bt_no_memory();
    fields.attrs = (bt_dict){ .n = 1, .at = &primitive };
    return bt_func_create(m->f->ctx, m->f->store, &fields, out);
}

/* A name that no global has: the operators', then a number. */
static bt_status new_name(struct making *m, const char **out)
{
    struct fuser *f = m->f;
    const char *base = bt_text_get(&m->name);
    if (!base)
        return bt_no_memory();
    for (uint32_t i = 0;; i++) {
        bt_text text;
        bt_text_init(&text, f->arena);
        bt_text_addf(&text, i ? "%s_%u" : "%s", base, i);
        const char *name = bt_text_get(&text);
        *out = name ? bt_name_of(f->store, name) : NULL;
        if (!*out)
            return bt_no_memory();
        if (!bt_map_find(&f->names, *out) && !bt_module_find(f->old, *out))
            return bt_map_put(&f->names, *out, f) ? NULL : bt_no_memory();
    }
}

/* The global of a function: an equal one where there is. */
static bt_status intern(struct making *m, const bt_func *func, const char **name)
{
    struct fuser *f = m->f;
    struct primitive **slot = &f->primitives[bt_func_hash(func) & (NSLOT - 1)];
    for (const struct primitive *p = *slot; p; p = p->next) {
        if (bt_func_equal(bt_store_registry(f->store), p->func, func)) {
            *name = p->name;
            return NULL;
        }
    }
    struct primitive *p = BT_NEW(f->arena, struct primitive);
    if (!p)
        return bt_no_memory();
    BT_TRY(new_name(m, &p->name));
    bt_func named = *func;
    named.name = p->name;
    BT_TRY(bt_func_create(f->ctx, f->store, &named, &p->func));
    p->next = *slot;
    *slot = p;
    bt_global global = { .name = p->name,
                         .kind = BT_GLOBAL_FUNC,
                         .type = bt_func_type_of(f->store, p->func),
                         .func = p->func };
    *name = p->name;
    return global.type ? bt_module_builder_set(f->module, &global, 1) : bt_no_memory();
}

static bt_status make_primitive(struct fuser *f, uint32_t n,
                                const bt_value *const *members)
{
    struct making m = { .f = f };
    const bt_func *func;
    struct member *root = BT_NEW(f->arena, struct member);
    if (!root)
        return bt_no_memory();
    bt_map_init(&m.values, f->arena, 0);
    bt_text_init(&m.name, f->arena);
    bt_text_addf(&m.name, "fused");
    BT_TRY(bt_builder_create(f->ctx, f->store, f->old, &m.b));
    bt_status status = build_func(&m, n, members, &func);
    if (!status)
        status = intern(&m, func, &root->name);
    bt_builder_destroy(m.b);
    BT_TRY(status);
    root->narg = m.args.len;
    root->args = m.args.at;
    root->nmember = n;
    root->members = members;
    for (uint32_t i = 0; i + 1 < n; i++) {
        struct member *inner = BT_NEW(f->arena, struct member);
        if (!inner || !bt_map_put(&f->members, members[i], inner))
            return bt_no_memory();
    }
    return bt_map_put(&f->members, members[n - 1], root) ? NULL : bt_no_memory();
}

/* ---- blocks ---- */

static bt_status fuse_block(struct fuser *f, const bt_block *block)
{
    struct fuse_block b = { .arena = f->arena, .max_ops = f->max_ops };
    BT_TRY(make_nodes(f, block, &b));
    BT_TRY(fuse_groups(&b));
    value_list *groups = BT_NEWS(f->arena, value_list, b.n);
    if (!groups)
        return bt_no_memory();
    for (uint32_t i = 0; i < b.n; i++) {
        if (!BT_PUSH(f->arena, &groups[fuse_leader(&b, i)], b.nodes[i].value))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < b.n; i++) {
        if (b.nodes[i].leader == i && b.nodes[i].nop)
            BT_TRY(make_primitive(f, groups[i].len, groups[i].at));
    }
    return NULL;
}

static int is_primitive(const bt_func *func)
{
    return bt_dict_find(&func->attrs, "primitive") != NULL;
}

/* All blocks of a function; nested ones by a queue. */
static bt_status fuse_func(struct fuser *f, const bt_func *func)
{
    bt_vec(const bt_block *) queue = { 0 };
    if (!BT_PUSH(f->arena, &queue, func->block))
        return bt_no_memory();
    while (queue.len) {
        const bt_block *block = queue.at[--queue.len];
        BT_TRY(fuse_block(f, block));
        for (uint32_t i = 0; i < block->nbinding; i++) {
            for (uint32_t k = 0; k < bt_value_nregion(block->bindings[i]); k++) {
                if (!BT_PUSH(f->arena, &queue, bt_value_region(block->bindings[i], k)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* ---- rewriting ---- */

static bt_status call_primitive(bt_rewrite *rw, const struct member *root,
                                const bt_value **out)
{
    struct fuser *f = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_value **args = BT_NEWS(f->arena, const bt_value *, root->narg);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = root->narg, .args = args };
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < root->narg; i++)
        BT_TRY(bt_rewrite_operand(rw, root->args[i], &args[i]));
    for (uint32_t i = 0; i < root->nmember; i++)
        bt_rewrite_from(rw, root->members[i]);
    BT_TRY(bt_build_global(b, root->name, &call.callee));
    return bt_build_call(b, &call, out);
}

static bt_status visit(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    struct fuser *f = bt_rewrite_state(rw);
    const struct member *member = bt_map_find(&f->members, old);
    if (!member)
        return NULL;
    if (member->name)
        return call_primitive(rw, member, out);
    bt_rewrite_drop(rw);
    return NULL;
}

static int wants(bt_rewrite *rw, const bt_global *global)
{
    (void)rw;
    return !is_primitive(global->func);
}

static const bt_rewriter rewriter = { .any = visit, .wants = wants };

static bt_status make_primitives(struct fuser *f, bt_module **out)
{
    const bt_module *m = f->old;
    BT_TRY(bt_module_builder_create(f->ctx, f->store, m, &f->module));
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < m->nglobal; i++) {
        const bt_global *global = m->globals[i];
        if (global->kind == BT_GLOBAL_FUNC && !is_primitive(global->func))
            status = fuse_func(f, global->func);
    }
    if (!status)
        return bt_module_builder_finish(f->module, 1, out);
    bt_module_builder_destroy(f->module);
    return status;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct fuser *f = BT_NEW(call->scratch, struct fuser);
    const void *effects;
    bt_module *extended;
    if (!f)
        return bt_no_memory();
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    f->ctx = ctx;
    f->arena = call->scratch;
    f->store = call->module->store;
    f->effects = effects;
    f->old = call->module;
    f->max_ops = (uint32_t)o->max_ops;
    bt_map_init(&f->members, f->arena, 0);
    bt_map_init(&f->names, f->arena, 0);
    BT_TRY(make_primitives(f, &extended));
    // the calls are built where their callees are known
    bt_pass_call inner = *call;
    inner.module = extended;
    bt_status status = bt_rewrite_module(ctx, &inner, &rewriter, f, out);
    bt_module_unref(extended);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "fuse-ops",
        .doc =
            "Put calls that are computed together into primitive functions.\n"
            "before\n"
            "    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        %0 = nn.dense(%x, %w);\n"
            "        nn.relu(%0)\n"
            "    }\n"
            "after\n"
            "    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
            "        @fused_nn_dense_nn_relu(%x, %w)\n"
            "    }\n"
            "    def @fused_nn_dense_nn_relu(%p0: Tensor[(4, 8), float32],\n"
            "                                %p1: Tensor[(8, 8), float32],\n"
            "                                primitive=1) {\n"
            "        %0 = nn.dense(%p0, %p1);\n"
            "        nn.relu(%0)\n"
            "    }",
        .level = 1,
        .needs = "effects",
        .gives = "fused",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_fuse_ops[] = { BT_PASSES(passes), { 0 } };
