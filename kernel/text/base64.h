/* Base64 of RFC 4648, with padding. */
#ifndef TEXT_BASE64_H
#define TEXT_BASE64_H

#include <baton/base.h>

void bt__base64_write(bt_text *, const void *bytes, size_t nbytes);
/* Appends the bytes to `out`; white space is skipped. 0: not base64, or no memory (then
 * out->failed). A text may come in parts that are multiples of 4 characters. */
int bt__base64_read(const char *text, size_t nbytes, bt_text *out);

#endif
