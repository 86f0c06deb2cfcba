#include "input.h"

#include <stdlib.h>
#include <string.h>

#include <baton/importer.h>

struct form {
    bt_dtype dtype; /* 0: not known */
    int32_t rank;   /* -1: not known */
    int64_t dims[BT_MAX_RANK];
};

/* "1x28x28xfloat32" or "float32". */
static int parse_form(const char *text, size_t n, struct form *out)
{
    const char *end = text + n;
    out->rank = 0;
    while (text < end && *text >= '0' && *text <= '9') {
        char *after;
        long long dim = strtoll(text, &after, 10);
        if (out->rank == BT_MAX_RANK || after >= end || *after != 'x')
            return 0;
        out->dims[out->rank++] = dim;
        text = after + 1;
    }
    out->dtype = bt_dtype_parse(text, (size_t)(end - text));
    return out->dtype != 0;
}

/* What the program states; 0 unless shape and dtype are wholly known. */
static int port_form(const bt_port *port, struct form *out)
{
    if (port->rank < 0 || !port->dtype)
        return 0;
    out->dtype = port->dtype;
    out->rank = port->rank;
    for (int32_t i = 0; i < port->rank; i++) {
        if (port->dims[i] < 0)
            return 0;
        out->dims[i] = port->dims[i];
    }
    return 1;
}

static void fill_random(bt_tensor *tensor, uint64_t seed)
{
    uint32_t kind = BT_DTYPE_CLASS(tensor->dtype);
    for (int64_t i = 0; i < tensor->nelem; i++) {
        /* splitmix64: Steele, Lea, Flood 2014 */
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        if (kind == BT_CLASS_FLOAT || kind == BT_CLASS_BFLOAT)
            bt_tensor_set(tensor, i, (double)(z >> 40) / 16777216.0);
        else
            bt_tensor_set_int(tensor, i, (int64_t)(z % (kind == BT_CLASS_BOOL ? 2 : 10)));
    }
}

static int is_content(const char *text)
{
    char *end;
    strtod(text, &end);
    return strncmp(text, "random:", 7) == 0 || (end != text && !*end);
}

static bt_status make_tensor(bt_ctx *ctx, const struct form *form, const char *content,
                             bt_tensor **out)
{
    char *end;
    int is_random = strncmp(content, "random:", 7) == 0;
    const char *digits = is_random ? content + 7 : content;
    double value = strtod(digits, &end);
    if (end == digits || *end || (is_random && value < 0))
        return bt_fail(ctx, BT_ERR_ARGUMENT, "%s is neither a number nor random:SEED",
                       content);
    BT_TRY(bt_tensor_create(ctx, form->dtype, (uint32_t)form->rank, form->dims, out));
    if (is_random)
        fill_random(*out, strtoull(digits, NULL, 10));
    for (int64_t i = 0; !is_random && i < (*out)->nelem; i++)
        bt_tensor_set(*out, i, value);
    return NULL;
}

static bt_status read_value(bt_ctx *ctx, const bt_port *port, const char *text,
                            bt_tensor **out)
{
    struct form form;
    const char *equals = strrchr(text, '=');
    if (equals && parse_form(text, (size_t)(equals - text), &form))
        return make_tensor(ctx, &form, equals + 1, out);
    if (!is_content(text))
        return bt_tensor_read(ctx, text, out);
    if (!port_form(port, &form)) {
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "the shape of %s, %s, is not wholly known: write SHAPExDTYPE=%s, "
                       "as in %s=2x3xfloat32=%s",
                       port->name, port->type, text, port->name, text);
    }
    return make_tensor(ctx, &form, text, out);
}

/* NAME=... where NAME is neither a form nor part of a path. */
static int is_other_name(const char *text)
{
    struct form form;
    size_t n = strcspn(text, "=/.");
    return text[n] == '=' && !parse_form(text, n, &form);
}

/* Which input a text is for, and what follows its name. */
static const bt_port *find_port(bt_program *program, const char *text, const char **value)
{
    const bt_port *best = NULL;
    size_t longest = 0;
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        size_t n = strlen(port->name);
        if (strncmp(text, port->name, n) == 0 && text[n] == '=' &&
            (!best || n > longest)) {
            best = port;
            longest = n;
        }
    }
    *value = best ? text + longest + 1 : text;
    if (!best && is_other_name(text))
        return NULL;
    return best                              ? best
           : bt_program_ninput(program) == 1 ? bt_program_input(program, 0)
                                             : NULL;
}

int set_inputs(struct tool *tool, bt_program *program, const char *const *texts)
{
    for (; texts && *texts; texts++) {
        const char *value;
        bt_tensor *tensor;
        const bt_port *port = find_port(program, *texts, &value);
        if (!port)
            return tool_usage(
                tool, "-i %s names no input of the program: write NAME=VALUE", *texts);
        TRY_TOOL(tool, read_value(tool->ctx, port, value, &tensor));
        bt_status status = bt_program_set(program, port->name, &tensor->base);
        bt_tensor_unref(tensor);
        TRY_TOOL(tool, status);
    }
    return EXIT_OK;
}
