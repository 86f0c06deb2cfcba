/* Stands in for parts of the kernel that the IR calls at its edges, where a test does not
 * link them. */
#ifndef IR_DOUBLES_H
#define IR_DOUBLES_H

#include "base/ctx.h"

#include <baton/ir.h>

#define WEAK __attribute__((weak))

WEAK void bt__plugins_destroy(bt_registry *r, struct bt__plugins *plugins)
{
    (void)r, (void)plugins;
}

WEAK bt_object *bt_object_ref(const bt_object *object)
{
    bt_object *shared = (bt_object *)(uintptr_t)object;
    shared->nref++;
    return shared;
}

WEAK void bt_object_unref(const bt_object *object)
{
    bt_object *shared = (bt_object *)(uintptr_t)object;
    if (--shared->nref == 0)
        shared->destroy(shared);
}

#endif
