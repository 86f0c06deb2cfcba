/* Files that go. */
#ifndef AOT_REMOVE_H
#define AOT_REMOVE_H

#include <baton/base.h>

/* Removes it, if there is one. errors BT_ERR_IO */
bt_status remove_file(bt_ctx *, const char *path) BT_MUST_USE;

#endif
