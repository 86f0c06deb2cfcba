/* Element types: names and sizes. */
#include <baton/value.h>

#include <stdio.h>
#include <string.h>

struct stored {
    bt_dtype dtype;
    const char *name;
    size_t nbytes;
};

static const struct stored stored[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type) \
    { BT_##UPPER, #name, sizeof(c_type) },
#include <baton/dtypes.def>
};

static const struct stored *find_stored(bt_dtype dtype)
{
    for (uint32_t i = 0; i < BT_COUNT(stored); i++) {
        if (stored[i].dtype == dtype)
            return &stored[i];
    }
    return NULL;
}

size_t bt_dtype_nbytes(bt_dtype dtype)
{
    const struct stored *s = find_stored(dtype);
    return s ? s->nbytes : 0;
}

int bt_dtype_is_stored(bt_dtype dtype)
{
    return find_stored(dtype) != NULL;
}

/* ---- names: CLASS BITS [x LANES], or bool [x LANES] ---- */

static const struct class_name {
    const char *name;
    uint32_t class_;
} class_names[] = {
    { "int", BT_CLASS_INT },       { "uint", BT_CLASS_UINT }, { "float", BT_CLASS_FLOAT },
    { "bfloat", BT_CLASS_BFLOAT }, { "bool", BT_CLASS_BOOL },
};

/* A number from 1 to `most` without leading zeros at *at: 1 and *at behind it, or 0. */
static int read_number(const char **at, const char *end, uint32_t most, uint32_t *out)
{
    uint32_t n = 0;
    const char *p = *at;
    if (p == end || *p == '0')
        return 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (uint32_t)(*p - '0');
        if (n > most)
            return 0;
    }
    if (p == *at)
        return 0;
    *at = p;
    *out = n;
    return 1;
}

/* The type whose class's name starts `name`, or 0. */
static bt_dtype parse_as(const struct class_name *c, const char *name, const char *end)
{
    size_t length = strlen(c->name);
    uint32_t bits = 8, lanes = 1;
    if ((size_t)(end - name) < length || memcmp(name, c->name, length) != 0)
        return 0;
    name += length;
    if (c->class_ != BT_CLASS_BOOL && !read_number(&name, end, 0xff, &bits))
        return 0;
    if (name < end && *name == 'x') {
        name++;
        if (!read_number(&name, end, 0xffff, &lanes) || lanes == 1)
            return 0;
    }
    return name == end ? BT_DTYPE(c->class_, bits, lanes) : 0;
}

bt_dtype bt_dtype_parse(const char *name, size_t nbytes)
{
    for (uint32_t i = 0; i < BT_COUNT(class_names); i++) {
        bt_dtype dtype = parse_as(&class_names[i], name, name + nbytes);
        if (dtype)
            return dtype;
    }
    return 0;
}

const char *bt_dtype_name(bt_dtype dtype, char *out, size_t size)
{
    const char *class_ = "custom";
    for (uint32_t i = 0; i < BT_COUNT(class_names); i++) {
        if (class_names[i].class_ == BT_DTYPE_CLASS(dtype))
            class_ = class_names[i].name;
    }
    char bits[8] = "", lanes[8] = "";
    if (dtype == 0)
        class_ = "none";
    else if (BT_DTYPE_CLASS(dtype) != BT_CLASS_BOOL)
        snprintf(bits, sizeof(bits), "%u", BT_DTYPE_BITS(dtype));
    if (BT_DTYPE_LANES(dtype) > 1)
        snprintf(lanes, sizeof(lanes), "x%u", BT_DTYPE_LANES(dtype));
    snprintf(out, size, "%s%s%s", class_, bits, lanes);
    return out;
}
