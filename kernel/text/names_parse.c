/* What names of the module stand for while it is parsed: operators, data types,
 * constructors, globals; and what is said of those that stand for nothing. */
#include "base/arena.h"
#include "base/ctx.h"
#include "text/draft.h"

#include <string.h>

#include "ir/builder.h"

/* ---- operators ---- */

static int note_unknown(bt__parser *p, const char *name, const bt__token *token,
                        bt_status why)
{
    bt_map *unknown = &p->module->unknown;
    if (bt__is_unread(p, name))
        return 1;
    struct bt__unknown_op *op = bt_map_find(unknown, name);
    if (!op) {
        op = BT_NEW(p->arena, struct bt__unknown_op);
        if (!op || !bt_map_put(unknown, name, op))
            return bt__error_memory(p);
        *op = (struct bt__unknown_op){ .name = name,
                                       .first = { p->in, *token },
                                       .why = why };
    }
    op->nuse++;
    return 1;
}

static int get_op(bt__parser *p, const char *name, const bt__token *token,
                  const bt_op **out)
{
    bt_status status = bt_op_get(p->ctx, name, out);
    if (!status)
        return 1;
    *out = NULL;
    if (status->code == BT_ERR_MEMORY)
        return bt__error_memory(p);
    const char *hint = p->module ? bt__hint(p, name, bt__module_near_ctor(p, name)) : "";
    if (*hint)
        status = bt_fail(p->ctx, BT_ERR_NAME, "no op or constructor is named \"%s\"%s",
                         name, hint);
    if (p->module)
        return note_unknown(p, name, token, status);
    return bt__error_token(p, status->code, token, "%s", status->message);
}

int bt__find_op(bt__parser *p, const char *name, const bt__token *token,
                const bt_op **out)
{
    bt__module_draft *module = p->module;
    *out = module ? bt_map_find(&module->ops, name) : NULL;
    if (*out)
        return 1;
    if (module && bt_map_find(&module->unknown, name))
        return note_unknown(p, name, token, NULL);
    if (!get_op(p, name, token, out))
        return 0;
    if (module && *out && !bt_map_put(&module->ops, name, (void *)(uintptr_t)*out))
        return bt__error_memory(p);
    return 1;
}

/* Once all is read: a function of that name is meant before what only looks like it. */
static const char *why_unknown(const bt__parser *p, const struct bt__unknown_op *op)
{
    const bt__module_draft *module = p->module;
    if (!bt_map_find(&module->globals, op->name) &&
        !bt_map_find(&module->imported, op->name))
        return op->why->message;
    const char *text = bt__format(p->arena, "no op is named \"%s\"; did you mean `@%s`?",
                                  op->name, op->name);
    return text ? text : op->why->message;
}

/* The error that was reported of the operator, at its place. */
static bt_status explain(bt__parser *p, const struct bt__unknown_op *op)
{
    const bt__token *token = &op->first.token;
    bt__set_text(p, op->first.in);
    bt_status status = bt__status_at(p, op->why->code, token->offset, token->nbytes, "%s",
                                     why_unknown(p, op));
    return bt__note_chain(p->ctx, status, op->why->note);
}

/* One error lists all of them, so that a user sees at once whether the program can be
 * used at all. */
int bt__report_unknown_ops(bt__parser *p)
{
    const bt_map *unknown = &p->module->unknown;
    if (unknown->len == 0 || p->stop)
        return 1;
    const struct bt__unknown_op *op = unknown->at[0].value;
    const bt__token *token = &op->first.token;
    if (unknown->len == 1)
        return bt__error_status(p, explain(p, op));
    bt__set_text(p, op->first.in);
    bt_status status =
        bt__status_at(p, BT_ERR_NAME, token->offset, token->nbytes,
                      "%u operators are not known here", (unsigned)unknown->len);
    for (uint32_t i = 0; i < unknown->len; i++) {
        op = unknown->at[i].value;
        bt_span span = bt__span_of(p, op->first.in, &op->first.token);
        status = bt_note(p->ctx, status, p->store, span, "%s (%u %s)", why_unknown(p, op),
                         (unsigned)op->nuse, op->nuse == 1 ? "call" : "calls");
    }
    return bt__error_status(p, status);
}

/* ---- data types ---- */

const bt_adt_def *bt__module_adt(bt__parser *p, const char *name)
{
    return p->module ? bt_map_find(&p->module->adts, name) : NULL;
}

const bt_ctor *bt__module_ctor(bt__parser *p, const char *name)
{
    return p->module ? bt_map_find(&p->module->ctors, name) : NULL;
}

static const char *near_key(bt__parser *p, const bt_map *map, const char *name)
{
    const char **names = BT_NEWS(p->arena, const char *, (size_t)map->len + 1);
    for (uint32_t i = 0; names && i < map->len; i++)
        names[i] = map->at[i].key;
    return names ? bt__nearest(name, names) : NULL;
}

const char *bt__module_near_type(bt__parser *p, const char *name)
{
    static const char *const built_in[] = { "Tensor",  "Ref",   "fn",    "bool",
                                            "float32", "int32", "int64", NULL };
    const char *near = p->module ? near_key(p, &p->module->adts, name) : NULL;
    return near ? near : bt__nearest(name, built_in);
}

const char *bt__module_near_ctor(bt__parser *p, const char *name)
{
    return near_key(p, &p->module->ctors, name);
}

/* ---- globals ---- */

static int global_attr(bt__parser *p, const char *name, const bt_value **member)
{
    bt_builder *builder;
    if (p->module)
        return bt_map_put(&p->module->func_attrs, member, (void *)(uintptr_t)name) ||
               bt__error_memory(p);
    bt_status status = bt__builder_create(p->ctx, p->store, NULL, NULL, &builder);
    if (!status) {
        status = bt_build_global(builder, name, member);
        bt_builder_destroy(builder);
    }
    return !status || bt__error_status(p, status);
}

int bt__use_global(bt__parser *p, const char *name, const bt__token *token,
                   const bt_value **member)
{
    bt__module_draft *module = p->module;
    if (member && !global_attr(p, name, member))
        return 0;
    if (!module || bt_map_find(&module->uses, name))
        return 1;
    struct bt__mention *use = BT_NEW(p->arena, struct bt__mention);
    if (!use || !bt_map_put(&module->uses, name, use))
        return bt__error_memory(p);
    *use = (struct bt__mention){ p->in, *token };
    return 1;
}

int bt__report_unknown_globals(bt__parser *p)
{
    bt__module_draft *module = p->module;
    for (uint32_t i = 0; i < module->uses.len && !p->stop; i++) {
        const char *name = module->uses.at[i].key;
        if (bt_map_find(&module->globals, name))
            continue;
        const struct bt__mention *use = module->uses.at[i].value;
        const char *near = near_key(p, &module->globals, name);
        if (!near)
            near = near_key(p, &module->imported, name);
        bt__set_text(p, use->in);
        const char *global = bt__format(p->arena, "@%s", name);
        bt__error_token(p, BT_ERR_NAME, &use->token, "`@%s` is not defined%s", name,
                        global ? bt__hint(p, global, near) : "");
    }
    return !p->stop;
}
