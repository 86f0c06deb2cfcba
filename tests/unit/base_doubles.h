/* Stands in for parts of the kernel that base calls at its edges. */
#ifndef BASE_DOUBLES_H
#define BASE_DOUBLES_H

#include "base/ctx.h"

#include <baton/ir.h>

void bt__plugins_destroy(bt_registry *r, struct bt__plugins *plugins)
{
    (void)r, (void)plugins;
}

void bt_span_place(const bt_store *store, bt_span span, bt_place *out)
{
    (void)store;
    *out = (bt_place){
        .file = "net.txt", .line = span, .column = 5, .width = 3, .text = "let abc = 1"
    };
}

#endif
