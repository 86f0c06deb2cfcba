#include "analysis/uses.h"

#include "analysis/view.h"

/* References to a global are one value. */
static const void *key_of(const bt_value *value)
{
    return value->kind == BT_VALUE_GLOBAL ? (const void *)value->name : value;
}

const struct use *uses_of(const struct uses *uses, const bt_value *value)
{
    return bt_map_find(&uses->first, key_of(value));
}

struct finder {
    bt_arena *arena;
    struct uses *uses;
};

static bt_status add(struct finder *f, const bt_value *used, const bt_value *user)
{
    struct use *use = BT_NEW(f->arena, struct use);
    if (!use)
        return bt_no_memory();
    *use = (struct use){ user, uses_of(f->uses, used) };
    return bt_map_put(&f->uses->first, key_of(used), use) ? NULL : bt_no_memory();
}

static bt_status add_value(void *self, const bt_value *value, const bt_block *block)
{
    struct finder *f = self;
    (void)block;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(add(f, bt_value_operand(value, i), value));
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(add(f, bt_value_region(value, i)->result, value));
    return NULL;
}

bt_status uses_compute(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                       const void **out)
{
    struct uses *uses = BT_NEW(arena, struct uses);
    struct finder finder = { arena, uses };
    (void)ctx;
    if (!uses)
        return bt_no_memory();
    bt_map_init(&uses->first, arena, 0);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_func *func = module->globals[i]->func;
        if (module->globals[i]->kind != BT_GLOBAL_FUNC)
            continue;
        BT_TRY(view_values(func->block, add_value, &finder));
        BT_TRY(add(&finder, func->block->result, NULL));
    }
    *out = uses;
    return NULL;
}

static bt_status print_value(void *self, const bt_value *value, const bt_block *block)
{
    const struct view *v = self;
    uint32_t n = 0;
    (void)block;
    for (const struct use *use = uses_of(v->result, value); use; use = use->next)
        n++;
    bt_text_addf(v->text, "    ");
    bt_printer_name(v->printer, value);
    bt_text_addf(v->text, ": %u", n);
    for (const struct use *use = uses_of(v->result, value); use; use = use->next) {
        bt_text_addf(v->text, n ? " by " : ", ");
        n = 0;
        if (use->user)
            bt_printer_name(v->printer, use->user);
        else
            bt_text_addf(v->text, "the result");
    }
    bt_text_addf(v->text, "\n");
    return NULL;
}

static bt_status print_func(const struct view *v, bt_arena *arena)
{
    (void)arena;
    bt_text_addf(v->text, "\n");
    return view_values(v->global->func->block, print_value, (void *)(uintptr_t)v);
}

bt_status uses_print(bt_ctx *ctx, const bt_module *module, const void *result,
                     bt_text *text)
{
    return view_functions(ctx, module, result, text, print_func);
}
