#include "analysis/view.h"

bt_status view_functions(bt_ctx *ctx, const bt_module *module, const void *result,
                         bt_text *text,
                         bt_status (*print)(const struct view *, bt_arena *))
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_printer *printer = NULL;
    uint32_t n = 0;
    bt_status status =
        arena ? bt_printer_create(ctx, module, text, &printer) : bt_no_memory();
    for (uint32_t i = 0; i < module->nglobal && !status; i++) {
        const struct view view = { printer, text, module, module->globals[i], result };
        if (view.global->kind != BT_GLOBAL_FUNC)
            continue;
        const void *mark = bt_arena_mark(arena);
        bt_text_addf(text, "%sdef @%s", n++ ? "\n" : "", view.global->name);
        status = bt_printer_begin(printer, view.global->func);
        if (!status)
            status = print(&view, arena);
        bt_arena_release(arena, mark);
    }
    bt_printer_destroy(printer);
    bt_arena_destroy(arena);
    return status;
}

/* Regions nest no deeper than the verifier lets them. */
bt_status view_values(const bt_block *block,
                      bt_status (*meet)(void *self, const bt_value *,
                                        const bt_block *block),
                      void *self)
{
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(meet(self, &block->params[i]->base, block));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        BT_TRY(meet(self, value, block));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(view_values(bt_value_region(value, k), meet, self));
    }
    return NULL;
}
