/* What of <string.h> Baton offers to plugins that come as source. */
#ifndef _STRING_H
#define _STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t nbytes);
void *memmove(void *to, const void *from, size_t nbytes);
void *memset(void *to, int byte, size_t nbytes);
int memcmp(const void *a, const void *b, size_t nbytes);
#endif
