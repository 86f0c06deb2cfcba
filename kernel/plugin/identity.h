/* Which build of a plugin it is: a digest of the files that it consists of. */
#ifndef PLUGIN_IDENTITY_H
#define PLUGIN_IDENTITY_H

#include <baton/plugin.h>

/* Writes which build of its plugin provides a name, "build 0123456789abcdef of
 * org.example.npu"; of one that is linked in, its version. Takes the registry's lock.
 * errors  BT_ERR_NAME; BT_ERR_IO: a file of it cannot be read */
bt_status bt__plugin_identity(bt_ctx *, bt_arena *scratch, const char *interface_name,
                              const char *name, bt_text *out) BT_MUST_USE;

#endif
