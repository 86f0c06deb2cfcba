/* Folders that go when a verb ends. */
#ifndef TEMPORARY_H
#define TEMPORARY_H

#include <baton/base.h>

/* A new folder in $TMPDIR, else /tmp, whose name begins with `stem`.
 * errors  BT_ERR_IO: *out is "" then */
bt_status make_temporary(bt_ctx *, const char *stem, char *out,
                         size_t nbytes) BT_MUST_USE;

#endif
