/* Base64: three bytes are four characters. */
#include "text/base64.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void bt__base64_write(bt_text *out, const void *bytes, size_t nbytes)
{
    const unsigned char *from = bytes;
    for (size_t i = 0; i < nbytes; i += 3) {
        size_t n = nbytes - i < 3 ? nbytes - i : 3;
        uint32_t bits = (uint32_t)from[i] << 16;
        bits |= n > 1 ? (uint32_t)from[i + 1] << 8 : 0;
        bits |= n > 2 ? (uint32_t)from[i + 2] : 0;
        char four[4] = { alphabet[bits >> 18], alphabet[bits >> 12 & 63],
                         n > 1 ? alphabet[bits >> 6 & 63] : '=',
                         n > 2 ? alphabet[bits & 63] : '=' };
        bt_text_add(out, four, 4);
    }
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int bt__base64_read(const char *text, size_t nbytes, bt_text *out)
{
    uint32_t bits = 0, n = 0, npad = 0;
    for (size_t i = 0; i < nbytes; i++) {
        char c = text[i];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        int value = value_of(c);
        npad += c == '=';
        if ((value < 0 && c != '=') || (npad && c != '='))
            return 0;
        bits = bits << 6 | (uint32_t)(value < 0 ? 0 : value);
        if (++n < 4)
            continue;
        if (npad > 2)
            return 0;
        char three[3] = { (char)(bits >> 16), (char)(bits >> 8), (char)bits };
        bt_text_add(out, three, 3 - npad);
        bits = n = 0;
    }
    return n == 0 && !out->failed;
}
