/* Reading UTF-8 that may be damaged. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The code point at `text`, which has `nbytes` > 0 left: returns its length in bytes, or
 * 0 where the bytes are no UTF-8 (overlong, a surrogate, above U+10FFFF, cut off). */
size_t bt__utf8_read(const char *text, size_t nbytes, uint32_t *out);

/* C0 and C1 controls, DEL and the marks of bidirectional text: what a terminal might obey,
 * and what shows a text in another order. */
int bt__utf8_is_control(uint32_t code_point);

#endif
