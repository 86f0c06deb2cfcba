/* Folders. */
#ifndef AOT_FOLDER_H
#define AOT_FOLDER_H

#include <baton/base.h>

/* Makes it where it is missing. errors BT_ERR_IO */
bt_status make_folder(bt_ctx *, const char *path) BT_MUST_USE;
/* Removes it, if there is one. errors BT_ERR_IO */
bt_status remove_file(bt_ctx *, const char *path) BT_MUST_USE;

#endif
