/* The primitive function of a group, and what it is called with. */
#include "fusion/primitives.h"

#include <stdio.h>

#include <baton/op.h>
#include <baton/target.h>

enum { MAX_NAME = 96 };

typedef bt_vec(const bt_value *) value_list;

/* Scalars stay inside: they are part of what is computed. */
static int is_inside(const bt_value *operand)
{
    return bt_const_number(operand) != NULL;
}

struct making {
    struct primitives *p;
    bt_builder *b;
    bt_map values; /* old -> new */
    value_list args;
    bt_vec(const bt_param *) params;
    bt_map own; /* dim of the function around -> the one that stands for it here */
    bt_vec(const bt_type *) dims, vars;
    bt_text name;
};

/* ---- dims ---- */

static const bt_type *own_dim(bt_subst *subst, const bt_type *leaf)
{
    struct making *m = subst->state;
    const bt_type *own = bt_map_find(&m->own, leaf);
    const bt_var_type *var = (const bt_var_type *)(const void *)leaf;
    const bt_type_param found = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    const bt_type_param *param = leaf->kind == BT_TYPE_VAR ? &var->param : &found;
    const char *name = leaf->kind == BT_TYPE_VAR
                           ? var->name
                           : ((const bt_opaque_type *)(const void *)leaf)->name;
    if (own || !bt_type_is_free(leaf))
        return own;
    own = bt_type_var(m->p->store, param, bt_name_of(m->p->store, name ? name : "n"));
    return own && BT_PUSH(m->p->arena, &m->dims, leaf) &&
                   BT_PUSH(m->p->arena, &m->vars, own) &&
                   bt_map_put(&m->own, leaf, (void *)(uintptr_t)own)
               ? own
               : NULL;
}

static bt_status own_type(struct making *m, const bt_type *type, const bt_type **out)
{
    bt_subst subst = { .leaf = own_dim, .state = m };
    *out = type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)
               ? bt_type_subst(m->p->store, &subst, type)
               : type;
    return *out ? NULL : bt_store_why(m->p->ctx, m->p->store);
}

static bt_status own_checks(struct making *m, bt_call *call)
{
    bt_check *own = BT_NEWS(m->p->arena, bt_check, call->ncheck);
    if (!own)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->ncheck; i++) {
        own[i] = call->checks[i];
        BT_TRY(own_type(m, own[i].left, &own[i].left));
        BT_TRY(own_type(m, own[i].right, &own[i].right));
    }
    call->checks = own;
    return NULL;
}

/* ---- bindings ---- */

static bt_status add_param(struct making *m, const bt_value *old, const bt_value **out)
{
    char name[16];
    const bt_param *param;
    const bt_type *type;
    snprintf(name, sizeof(name), "p%u", m->args.len);
    BT_TRY(own_type(m, old->type, &type));
    BT_TRY(bt_build_param(m->b, name, type, &param));
    *out = &param->base;
    return BT_PUSH(m->p->arena, &m->args, old) &&
                   BT_PUSH(m->p->arena, &m->params, param) &&
                   bt_map_put(&m->values, old, (void *)(uintptr_t)param)
               ? NULL
               : bt_no_memory();
}

static bt_status map_operand(struct making *m, const bt_value *old, const bt_value **out)
{
    *out = bt_map_find(&m->values, old);
    if (!*out && is_inside(old))
        *out = old;
    return *out ? NULL : add_param(m, old, out);
}

static bt_status map_operands(struct making *m, const bt_value *value,
                              const bt_value ***out)
{
    uint32_t n = bt_value_noperand(value);
    *out = BT_NEWS(m->p->arena, const bt_value *, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(map_operand(m, bt_value_operand(value, i), &(*out)[i]));
    return NULL;
}

static void add_word(bt_text *text, const char *word)
{
    for (const char *c = word; *c; c++) {
        int is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                       (*c >= '0' && *c <= '9');
        bt_text_add(text, is_plain ? c : "_", 1);
    }
}

static void add_name(struct making *m, const bt_call *call)
{
    if (!call || m->name.len > MAX_NAME)
        return;
    bt_text_add(&m->name, "_", 1);
    add_word(&m->name, call->op->name);
}

/* Parameters first: the block cannot begin before they are known. */
static bt_status find_params(struct making *m, const struct primitive_group *group)
{
    bt_map inside;
    const bt_value *param;
    bt_map_init(&inside, m->p->arena, 0);
    for (uint32_t i = 0; i < group->nparam; i++) {
        if (!bt_map_find(&m->values, group->params[i]))
            BT_TRY(add_param(m, group->params[i], &param));
    }
    for (uint32_t i = 0; i < group->nmember; i++) {
        for (uint32_t k = 0; k < bt_value_noperand(group->members[i]); k++) {
            const bt_value *operand = bt_value_operand(group->members[i], k);
            if (!bt_map_find(&inside, operand))
                BT_TRY(map_operand(m, operand, &param));
        }
        if (!bt_map_put(&inside, group->members[i], m))
            return bt_no_memory();
    }
    return NULL;
}

/* The numbers of some parameters, as an attribute; n 0: there are none. */
static int add_list(const struct making *m, const char *name,
                    int (*has)(const struct primitive_group *, const bt_value *),
                    const struct primitive_group *group, bt_dict_entry *out)
{
    bt_dict_entry *items = BT_NEWS(m->p->arena, bt_dict_entry, m->args.len);
    name = bt_name_of(m->p->store, name);
    *out = (bt_dict_entry){ .name = name, .kind = BT_DICT_LIST, .items = items };
    for (uint32_t i = 0; items && i < m->args.len; i++) {
        if (has(group, m->args.at[i]))
            items[out->n++] =
                (bt_dict_entry){ .name = name, .kind = BT_DICT_INT, .i = i };
    }
    return items && name;
}

static int is_constant(const struct primitive_group *group, const bt_value *value)
{
    (void)group;
    return bt_const_tensor(value) != NULL;
}

static int is_shared(const struct primitive_group *group, const bt_value *value)
{
    return group->products && value->kind != BT_VALUE_CONST &&
           (uintptr_t)bt_map_find(group->products, value) >= BT_SHARED_LEAST;
}

/* `primitive`, the `target` if there is one, and which parameters are `constants`, and `shared`. */
static bt_status make_attrs(const struct making *m, const struct primitive_group *group,
                            bt_dict *out)
{
    bt_store *store = m->p->store;
    bt_dict_entry *attrs = BT_NEWS(m->p->arena, bt_dict_entry, 4);
    uint32_t n = 0;
    if (!attrs)
        return bt_no_memory();
    attrs[n++] = (bt_dict_entry){ .name = bt_name_of(store, "primitive"),
                                  .kind = BT_DICT_INT,
                                  .i = 1 };
    if (group->target)
        attrs[n++] = (bt_dict_entry){ .name = bt_name_of(store, "target"),
                                      .kind = BT_DICT_TEXT,
                                      .text = bt_name_of(store, group->target) };
    if (!add_list(m, "constants", is_constant, group, &attrs[n]))
        return bt_no_memory();
    n += attrs[n].n > 0;
    if (!add_list(m, "shared", is_shared, group, &attrs[n]))
        return bt_no_memory();
    n += attrs[n].n > 0;
    *out = (bt_dict){ .n = n, .at = attrs };
    for (uint32_t i = 0; i < n; i++) {
        if (!attrs[i].name || (attrs[i].kind == BT_DICT_TEXT && !attrs[i].text))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status build_member(struct making *m, const bt_value *member,
                              const bt_value **out)
{
    const bt_value **operands;
    const bt_type *type;
    bt_subst subst = { .leaf = own_dim, .state = m };
    BT_TRY(map_operands(m, member, &operands));
    BT_TRY(own_type(m, member->type, &type));
    bt_builder_like(m->b, member);
    bt_builder_name(m->b, NULL);
    if (member->kind != BT_VALUE_CALL)
        return bt_build_again(m->b, member, operands, NULL, type, out);
    bt_call call = *bt_as_call(member);
    call.args = operands;
    call.attrs = bt_attrs_subst(m->p->store, &subst, call.op->attrs,
                                call.op->attrs_nbytes, call.attrs);
    if (call.op->attrs && !call.attrs)
        return bt_store_why(m->p->ctx, m->p->store);
    call.contents = NULL; // nothing inside asks for its elements: keep_outside
    BT_TRY(own_checks(m, &call));
    bt_builder_type(m->b, type);
    return bt_build_call(m->b, &call, out);
}

static bt_status build_results(struct making *m, const struct primitive_group *group,
                               const bt_value **out)
{
    const bt_value **fields = BT_NEWS(m->p->arena, const bt_value *, group->nresult);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < group->nresult; i++)
        fields[i] = bt_map_find(&m->values, group->results[i]);
    return bt_build_tuple(m->b, group->nresult, fields, out);
}

static bt_status build_func(struct making *m, const struct primitive_group *group,
                            const bt_func **out)
{
    const bt_value *value = NULL;
    bt_func fields = { 0 };
    BT_TRY(find_params(m, group));
    BT_TRY(bt_block_begin(m->b, m->params.len, m->params.at));
    for (uint32_t i = 0; i < group->nmember; i++) {
        const bt_value *member = group->members[i];
        BT_TRY(build_member(m, member, &value));
        if (!bt_map_put(&m->values, member, (void *)(uintptr_t)value))
            return bt_no_memory();
        add_name(m, bt_as_call(member));
    }
    if (group->nresult)
        BT_TRY(build_results(m, group, &value));
    BT_TRY(bt_block_end(m->b, value, &fields.block));
    BT_TRY(make_attrs(m, group, &fields.attrs));
    fields.result = value->type;
    fields.nvar = m->vars.len;
    fields.vars = m->vars.at;
    return bt_func_create(m->p->ctx, m->p->store, &fields, out);
}

bt_status primitives_build(struct primitives *p, const struct primitive_group *group,
                           struct primitive *out)
{
    struct making m = { .p = p };
    bt_map_init(&m.values, p->arena, 0);
    bt_map_init(&m.own, p->arena, 0);
    bt_text_init(&m.name, p->arena);
    add_word(&m.name, group->prefix);
    BT_TRY(bt_builder_create(p->ctx, p->store, p->old, &m.b));
    bt_status status = build_func(&m, group, &out->func);
    bt_builder_destroy(m.b);
    BT_TRY(status);
    out->base = bt_text_get(&m.name);
    out->narg = m.args.len;
    out->args = m.args.at;
    out->ndim = m.dims.len;
    out->dims = m.dims.at;
    return out->base ? NULL : bt_no_memory();
}
