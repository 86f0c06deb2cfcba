/* The version, and the mark of this copy of the library. */
#include <baton/plugin.h>

const char bt_host_mark = 1;

const char *bt_version(void)
{
    return BT_VERSION;
}
