/* Names of outputs, settled before any pass: passes rename, join and replace values. */
#include <string.h>

#include <baton/ir.h>

#include "base/arena.h"
#include "ir/module.h"

struct names {
    bt_arena *arena;
    bt_map taken;
    bt_dict_entry *attrs; /* of the function, and those that are added */
    uint32_t nattr;
};

/* `name`, or with a number behind it what no earlier output has. NULL: no memory. */
static const char *take(struct names *n, const char *name)
{
    bt_text text;
    for (uint32_t k = 0;; k++) {
        bt_text_init(&text, n->arena);
        bt_text_addf(&text, k ? "%s_%u" : "%s", name, k);
        const char *own = bt_text_get(&text);
        if (!own || !bt_map_find(&n->taken, own))
            return own && bt_map_put(&n->taken, own, n->arena) ? own : NULL;
    }
}

static bt_status name_one(struct names *n, uint32_t index, const bt_value *value,
                          int is_alone)
{
    bt_text key;
    bt_dict_entry *entry = NULL;
    bt_text_init(&key, n->arena);
    bt_text_addf(&key, "output%u", index);
    if (!bt_text_get(&key))
        return bt_no_memory();
    for (uint32_t i = 0; i < n->nattr && !entry; i++) {
        if (n->attrs[i].kind == BT_DICT_TEXT && strcmp(n->attrs[i].name, key.at) == 0)
            entry = &n->attrs[i];
    }
    const char *name = entry                  ? entry->text
                       : value && value->name ? value->name
                       : is_alone             ? "output"
                                              : key.at;
    if (!entry) {
        entry = &n->attrs[n->nattr++];
        *entry = (bt_dict_entry){ .name = key.at, .kind = BT_DICT_TEXT };
    }
    entry->text = take(n, name);
    return entry->text ? NULL : bt_no_memory();
}

static bt_status name_all(struct names *n, const bt_func *func)
{
    const bt_value *result = func->block->result;
    const bt_list_type *fields = bt_as_tuple_type(func->result);
    const bt_tuple_value *tuple = bt_as_tuple(result);
    uint32_t noutput = fields ? fields->n : 1;
    bt_map_init(&n->taken, n->arena, 1);
    n->attrs = BT_NEWS(n->arena, bt_dict_entry, (size_t)func->attrs.n + noutput);
    if (!n->attrs)
        return bt_no_memory();
    for (; n->nattr < func->attrs.n; n->nattr++)
        n->attrs[n->nattr] = func->attrs.at[n->nattr];
    for (uint32_t i = 0; i < noutput; i++)
        BT_TRY(name_one(n, i,
                        !fields ? result
                        : tuple ? tuple->fields[i]
                                : NULL,
                        !fields));
    return NULL;
}

static bt_status replace(bt_ctx *ctx, const bt_module *module, const bt_global *entry,
                         const bt_dict *attrs, bt_module **out)
{
    bt_func fields = *entry->func;
    bt_global global = *entry;
    fields.attrs = *attrs;
    BT_TRY(bt_func_create(ctx, module->store, &fields, &global.func));
    return bt__module_with(ctx, module, &global, 0, out);
}

bt_status bt_outputs_name(bt_ctx *ctx, const bt_module *module, const char *name,
                          bt_module **out)
{
    const bt_global *entry;
    BT_TRY(bt_module_entry(ctx, module, name, &entry));
    if (entry->kind != BT_GLOBAL_FUNC) { // nothing runs
        *out = bt_module_ref(module);
        return NULL;
    }
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    struct names names = { .arena = scratch };
    bt_status status = name_all(&names, entry->func);
    const bt_dict attrs = { names.nattr, names.attrs };
    if (!status)
        status = replace(ctx, module, entry, &attrs, out);
    bt_arena_release(scratch, mark);
    return status;
}

const char *bt_output_name(bt_arena *arena, const bt_func *func, uint32_t index)
{
    const char *name = bt__format(arena, "output%u", index);
    const bt_dict_entry *stated = name ? bt_dict_find(&func->attrs, name) : NULL;
    return stated && stated->kind == BT_DICT_TEXT ? stated->text : name;
}
