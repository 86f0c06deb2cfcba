/* Plugins that are linked into libbaton: a list that the build writes. */
#ifndef PLUGIN_LINKED_H
#define PLUGIN_LINKED_H

#include <baton/plugin.h>

typedef struct bt__linked_file {
    const char *path; /* as the manifest names it: "passes/default.json"; zero ends */
    const char *text;
} bt__linked_file;

typedef struct bt__linked {
    const bt_plugin *plugin; /* zero ends the list */
    const char *seed;        /* its plugin.json, pipelines named */
    const bt__linked_file *files;
} bt__linked;
extern const bt__linked bt__linked_plugins[];

#endif
