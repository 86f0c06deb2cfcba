/* How a module version is made of its parts. */
#ifndef IR_MODULE_H
#define IR_MODULE_H

#include <baton/ir.h>

struct bt__module_parts {
    bt_store *store;
    uint32_t nglobal;
    const bt_global *const *globals; /* names differ */
    uint32_t nadt;
    const bt_adt_def *const *adts; /* names differ, those of constructors too */
    bt_dict attrs;                 /* in the store */
    uint32_t is_typed;
};
/* Copies the arrays. NULL: no memory. */
bt_module *bt__module_create(const struct bt__module_parts *);
/* The next version, with one global set, as bt_module_builder_set does. */
bt_status bt__module_with(bt_ctx *, const bt_module *, const bt_global *, int is_new,
                          bt_module **out) BT_MUST_USE;

#endif
