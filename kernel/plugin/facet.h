/* Facets, and whose they are. */
#ifndef PLUGIN_FACET_H
#define PLUGIN_FACET_H

#include <baton/op.h>
#include <baton/plugin.h>

/* bt_op_facet; *plugin: that which brings it, the operator's or another. */
bt_status bt__op_facet_of(bt_ctx *, const bt_op *, const char *facet, const void **out,
                          const bt_plugin_handle **plugin) BT_MUST_USE;

#endif
