/* Reading UTF-8 that may be damaged. */
#include "base/utf8.h"

size_t bt__utf8_read(const char *text, size_t nbytes, uint32_t *out)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *t = (const unsigned char *)text;
    size_t length = t[0] < 0x80   ? 1
                    : t[0] < 0xc2 ? 0
                    : t[0] < 0xe0 ? 2
                    : t[0] < 0xf0 ? 3
                    : t[0] < 0xf5 ? 4
                                  : 0;
    if (length == 0 || length > nbytes)
        return 0;
    uint32_t c = length == 1 ? t[0] : t[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((t[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (t[i] & 0x3f);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *out = c;
    return length;
}

int bt__utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e ||
           c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}
