#include "temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bt_status make_temporary(bt_ctx *ctx, const char *stem, char *out, size_t nbytes)
{
    const char *tmp = getenv("TMPDIR");
    const int n = snprintf(out, nbytes, "%s/%s.XXXXXX", tmp && *tmp ? tmp : "/tmp", stem);
    if (n >= 0 && (size_t)n < nbytes && mkdtemp(out))
        return NULL;
    bt_status status =
        bt_fail(ctx, BT_ERR_IO, "%s cannot be made: %s", out,
                (size_t)n < nbytes ? strerror(errno) : "the name is too long");
    *out = 0;
    return status;
}
