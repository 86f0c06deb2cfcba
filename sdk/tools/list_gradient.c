#include "list_gradient.h"

#include "gradient.h"

static bt_status print_case(struct op_check *w, const struct call_case *c, int *is_done)
{
    struct gradient g;
    uint32_t program;
    bt_text text;
    BT_TRY(gradient_open(w, c, 0, &g, &program));
    const bt_module *module = g.modules[GRADIENT_VJP];
    bt_text_init(&text, w->arena);
    bt_status status = module ? bt_print(w->ctx, module, NULL, &text) : NULL;
    if (module && !status && !bt_text_get(&text))
        status = bt_no_memory();
    if (module && !status)
        printf("%s\n\n%s", c->line, bt_text_get(&text));
    *is_done = module != NULL;
    gradient_close(&g);
    return status;
}

static bt_status print_first(struct op_check *w, const char *name, int *is_done)
{
    const void *facet;
    struct call_case c;
    int is_case = 1;
    BT_TRY(bt_op_get(w->ctx, name, &w->op));
    BT_TRY(bt_op_facet(w->ctx, w->op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    while (!*is_done) {
        BT_TRY(case_next(w->ctx, w->arena, name, &text, &c, &is_case));
        if (!is_case)
            return NULL;
        BT_TRY(print_case(w, &c, is_done));
    }
    return NULL;
}

int list_gradient(struct tool *tool, const char *name)
{
    bt_registry *registry = bt_ctx_registry(tool->ctx);
    struct op_check w = { .ctx = tool->ctx,
                          .store = bt_store_create(registry),
                          .arena = bt_arena_create(registry),
                          .faults = json_array() };
    int is_done = 0;
    bt_status status =
        w.store && w.arena && w.faults ? print_first(&w, name, &is_done) : bt_no_memory();
    json_decref(w.faults);
    bt_store_unref(w.store);
    bt_arena_destroy(w.arena);
    if (status)
        return tool_fail(tool, status);
    if (!is_done)
        printf("%s has no adjoints: none of its cases takes floats that its results "
               "depend on\n",
               name);
    return EXIT_OK;
}
