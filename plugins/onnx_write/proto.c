#include "proto.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

static void put_varint(bt_text *out, uint64_t number)
{
    do {
        const char byte = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        bt_text_add(out, &byte, 1);
        number >>= 7;
    } while (number);
}

void proto_int(bt_text *out, uint32_t field, int64_t number)
{
    put_varint(out, field << 3 | VARINT);
    put_varint(out, (uint64_t)number);
}

void proto_float(bt_text *out, uint32_t field, double number)
{
    const float value = (float)number;
    uint32_t bits;
    char bytes[4];
    memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(bits >> 8 * i & 0xff);
    put_varint(out, field << 3 | FIXED32);
    bt_text_add(out, bytes, sizeof(bytes));
}

void proto_bytes(bt_text *out, uint32_t field, const void *at, size_t nbytes)
{
    put_varint(out, field << 3 | BYTES);
    put_varint(out, nbytes);
    bt_text_add(out, at, nbytes);
}

void proto_text(bt_text *out, uint32_t field, const char *text)
{
    proto_bytes(out, field, text, strlen(text));
}

void proto_message(bt_text *out, uint32_t field, const bt_text *message)
{
    if (message->failed)
        out->failed = 1;
    else
        proto_bytes(out, field, message->len ? message->at : "", message->len);
}
