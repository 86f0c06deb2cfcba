#include "common/devices.h"

const char *device_target(const bt_module *module, uint32_t device)
{
    const bt_dict_entry *list = bt_dict_find(&module->attrs, "devices");
    if (!list || list->kind != BT_DICT_LIST || !device || device > list->n)
        return NULL;
    const bt_dict_entry *item = &list->items[device - 1];
    return item->kind == BT_DICT_TEXT ? item->text : NULL;
}
