/* What most unit tests stand on: a registry, a context and a store, new for each test. */
#ifndef UNIT_SETUP_H
#define UNIT_SETUP_H

#include "test.h"

#include <baton/ir.h>

static bt_registry *registry;
static bt_ctx *ctx;
static bt_store *store;

static int setup(void **state)
{
    (void)state;
    registry = bt_registry_create(NULL);
    ctx = bt_ctx_create(registry);
    store = bt_store_create(registry);
    return ctx && store ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    bt_ctx_destroy(ctx);
    bt_store_unref(store);
    bt_registry_unref(registry);
    return 0;
}

#endif
