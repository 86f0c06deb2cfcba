/* What a function takes and gives, for people and as JSON. */
#include "signature.h"

#include <string.h>

static int print_type(struct tool *tool, const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_print_type(tool->ctx, type, &text);
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    printf("%s\n", bt_text_get(&text));
    return EXIT_OK;
}

int print_signature(struct tool *tool, const bt_global *entry)
{
    const bt_block *block = entry->func->block;
    int width = 6;
    for (uint32_t i = 0; i < block->nparam; i++) {
        int n =
            (int)strlen(block->params[i]->base.name ? block->params[i]->base.name : "");
        width = n > width ? n : width;
    }
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        printf("input    %-*s  ", width, param->name ? param->name : "");
        if (print_type(tool, param->type))
            return EXIT_FAULT;
    }
    const bt_list_type *fields = bt_as_tuple_type(entry->func->result);
    for (uint32_t i = 0; i < (fields ? fields->n : 1); i++) {
        char key[32];
        snprintf(key, sizeof(key), "output%u", i);
        const bt_dict_entry *name = bt_dict_find(&entry->func->attrs, key);
        printf("output   %-*s  ", width, name && name->text ? name->text : "");
        if (print_type(tool, fields ? fields->at[i] : entry->func->result))
            return EXIT_FAULT;
    }
    return EXIT_OK;
}

static json_t *port_json(struct tool *tool, const char *name, const bt_type *type)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_print_type(tool->ctx, type, &text);
    return json_pack("{s:s, s:s}", "name", name, "type",
                     bt_text_get(&text) ? bt_text_get(&text) : "");
}

json_t *inputs_json(struct tool *tool, const bt_global *entry)
{
    json_t *list = json_array();
    for (uint32_t i = 0; entry->func && i < entry->func->block->nparam; i++) {
        const bt_value *param = &entry->func->block->params[i]->base;
        json_array_append_new(
            list, port_json(tool, param->name ? param->name : "", param->type));
    }
    return list;
}

json_t *outputs_json(struct tool *tool, const bt_global *entry)
{
    json_t *list = json_array();
    const bt_type *type = entry->func ? entry->func->result : NULL;
    const bt_list_type *fields = type ? bt_as_tuple_type(type) : NULL;
    uint32_t n = fields ? fields->n : type != NULL;
    for (uint32_t i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof(key), "output%u", i);
        const bt_dict_entry *name = bt_dict_find(&entry->func->attrs, key);
        json_array_append_new(list, port_json(tool, name && name->text ? name->text : "",
                                              fields ? fields->at[i] : type));
    }
    return list;
}
