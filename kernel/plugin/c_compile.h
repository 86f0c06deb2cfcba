/* A compiler with its options, for those who compile several texts or hold the lock. */
#ifndef PLUGIN_C_COMPILE_H
#define PLUGIN_C_COMPILE_H

#include <baton/compiler.h>

#include "plugin/plugins.h"

typedef struct bt__c_compiler {
    const bt_compiler *row;
    const void *options;
    bt_store *store; /* of the options */
} bt__c_compiler;

/* As bt_c_probe. `locked`: the registry's plugins, where the caller has locked them, else
 * NULL. To be put where it succeeds. */
bt_status bt__c_compiler_get(bt_ctx *, struct bt__plugins *locked, const char *name,
                             const char *options, bt__c_compiler *out) BT_MUST_USE;
void bt__c_compiler_put(bt__c_compiler *);
bt_status bt__c_compile(bt_ctx *, const bt__c_compiler *, const bt_c_source *,
                        bt_text *object) BT_MUST_USE;

#endif
