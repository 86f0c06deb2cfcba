#include "output.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"
#include "written.h"

enum { TOP = 5, SHOWN = 64 };

/* ---- for people ---- */

/* Scores: a float vector (among axes of one), long enough to have a best five. */
static int is_scores(const bt_tensor *tensor)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < tensor->rank; i++)
        longest = tensor->dims[i] > longest ? tensor->dims[i] : longest;
    return bt_dtype_is_float(tensor->dtype) && longest == tensor->nelem &&
           longest >= 2 * TOP;
}

enum { NUMBER_SIZE = 40 };

/* As short as it reads back where an element has less digits than people are shown. */
static bt_status number_text(struct tool *tool, const bt_tensor *tensor, double x,
                             char *out)
{
    const int64_t one = 1;
    bt_tensor *element;
    bt_text text;
    snprintf(out, NUMBER_SIZE, "%g", x);
    if (BT_DTYPE_BITS(tensor->dtype) >= 32 || !bt_dtype_is_float(tensor->dtype) ||
        !isfinite(x))
        return NULL;
    BT_TRY(bt_tensor_create(tool->ctx, tensor->dtype, 1, &one, &element));
    bt_tensor_set(element, 0, x);
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_object_print(&element->base, 1, &text); // "[0.1]"
    bt_tensor_unref(element);
    if (!bt_text_get(&text))
        return bt_no_memory();
    snprintf(out, NUMBER_SIZE, "%.*s", (int)text.len - 2, text.at + 1);
    return NULL;
}

static bt_status print_top(struct tool *tool, const bt_tensor *tensor)
{
    char number[NUMBER_SIZE];
    int64_t best[TOP];
    for (int n = 0; n < TOP; n++) {
        best[n] = -1;
        for (int64_t i = 0; i < tensor->nelem; i++) {
            int taken = 0;
            for (int k = 0; k < n; k++)
                taken |= best[k] == i;
            if (!taken && (best[n] < 0 ||
                           bt_tensor_get(tensor, i) > bt_tensor_get(tensor, best[n])))
                best[n] = i;
        }
    }
    printf("  top %d\n", TOP);
    for (int n = 0; n < TOP; n++) {
        BT_TRY(number_text(tool, tensor, bt_tensor_get(tensor, best[n]), number));
        printf("    %6lld  %12s\n", (long long)best[n], number);
    }
    return NULL;
}

static bt_status print_range(struct tool *tool, const bt_tensor *tensor)
{
    char least[NUMBER_SIZE], most[NUMBER_SIZE];
    double low = INFINITY, high = -INFINITY, sum = 0;
    int64_t nnan = 0;
    for (int64_t i = 0; i < tensor->nelem; i++) {
        double x = bt_tensor_get(tensor, i);
        nnan += isnan(x) != 0;
        low = x < low ? x : low;
        high = x > high ? x : high;
        sum += x;
    }
    BT_TRY(number_text(tool, tensor, low, least));
    BT_TRY(number_text(tool, tensor, high, most));
    printf("  min %s  max %s  mean %g", least, most, sum / (double)tensor->nelem);
    if (nnan)
        printf("  nan %lld of %lld", (long long)nnan, (long long)tensor->nelem);
    putchar('\n');
    return NULL;
}

static int print_object(struct tool *tool, const bt_object *object)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (tensor && is_scores(tensor)) {
        TRY_TOOL(tool, print_top(tool, tensor));
        return EXIT_OK;
    }
    if (tensor && tensor->nelem > SHOWN)
        TRY_TOOL(tool, print_range(tool, tensor));
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_object_print(object, SHOWN, &text);
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    printf("  %s\n", bt_text_get(&text));
    return EXIT_OK;
}

/* What the program says, or where that leaves dims open, what the run gave. */
static int print_type(struct tool *tool, const bt_port *port, const bt_tensor *tensor)
{
    int is_open = port->rank < 0;
    for (int32_t i = 0; i < port->rank; i++)
        is_open |= port->dims[i] < 0;
    if (!tensor || !is_open) {
        printf("%s\n", port->type);
        return EXIT_OK;
    }
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_tensor_print_type(tensor, &text);
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    printf("%s\n", bt_text_get(&text));
    return EXIT_OK;
}

int print_outputs(struct tool *tool, const bt_program *program)
{
    for (uint32_t i = 0; i < bt_program_noutput(program); i++) {
        const bt_port *port = bt_program_output(program, i);
        printf("%s: ", port->name);
        const bt_object *object = bt_program_get(program, i);
        int code = print_type(tool, port, bt_object_as_tensor(object));
        if (!code)
            code = print_object(tool, bt_program_get(program, i));
        if (code)
            return code;
    }
    return EXIT_OK;
}

/* ---- for programs ---- */

/* What begins the string of a number that Jansson has no integer for. No text of C has
 * it. */
static const char number_mark[] = "\\u0000";

static json_t *large_number(uint64_t number)
{
    char text[24] = "";
    int n = snprintf(text + 1, sizeof(text) - 1, "%" PRIu64, number);
    return json_stringn(text, (size_t)n + 1);
}

/* JSON has no inf and nan; they become null. A complex number is a list of its parts. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *element(const bt_tensor *tensor, int64_t i)
{
    uint32_t class_ = BT_DTYPE_CLASS(tensor->dtype);
    if (tensor->dtype == BT_COMPLEX64)
        return json_pack("[o, o]", number((double)((const float *)tensor->data)[2 * i]),
                         number((double)((const float *)tensor->data)[2 * i + 1]));
    if (tensor->dtype == BT_COMPLEX128)
        return json_pack("[o, o]", number(((const double *)tensor->data)[2 * i]),
                         number(((const double *)tensor->data)[2 * i + 1]));
    if (class_ == BT_CLASS_BOOL)
        return json_boolean(bt_tensor_get_int(tensor, i));
    if (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT) {
        const int64_t bits = bt_tensor_get_int(tensor, i);
        return class_ == BT_CLASS_UINT && bits < 0 ? large_number((uint64_t)bits)
                                                   : json_integer(bits);
    }
    return number(bt_tensor_get(tensor, i));
}

static json_t *describe(struct tool *tool, const bt_port *port, const bt_object *object)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    json_t *out = json_pack("{s:s, s:s}", "name", port->name, "type", port->type);
    if (!tensor) {
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(tool->ctx));
        bt_object_print(object, SHOWN, &text);
        json_object_set_new(out, "value", json_string(bt_text_get(&text)));
        return out;
    }
    char name[BT_DTYPE_NAME_SIZE];
    json_t *shape = json_array(), *data = json_array();
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_array_append_new(shape, json_integer(tensor->dims[i]));
    for (int64_t i = 0; i < tensor->nelem; i++)
        json_array_append_new(data, element(tensor, i));
    json_object_set_new(out, "dtype",
                        json_string(bt_dtype_name(tensor->dtype, name, sizeof(name))));
    json_object_set_new(out, "shape", shape);
    json_object_set_new(out, "data", data);
    return out;
}

json_t *describe_outputs(struct tool *tool, const bt_program *program)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < bt_program_noutput(program); i++)
        json_array_append_new(list, describe(tool, bt_program_output(program, i),
                                             bt_program_get(program, i)));
    return list;
}

static const char *skip_string(const char *quote)
{
    const char *c = quote + 1;
    while (*c && *c != '"')
        c += c[0] == '\\' && c[1] ? 2 : 1;
    return *c ? c + 1 : c;
}

/* A number that is written with 17 digits, by as few as read back. */
static void add_number(bt_text *out, const char *text, size_t n)
{
    double x = strtod(text, NULL);
    char digits[40];
    int precision = 15;
    do
        snprintf(digits, sizeof(digits), "%.*g", precision, x);
    while (strtod(digits, NULL) != x && ++precision <= 17);
    if (memchr(text, '.', n) || memchr(text, 'e', n))
        bt_text_addf(out, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
    else
        bt_text_add(out, text, n); // an integer stays one
}

/* Jansson prints all numbers with the same number of digits. */
static void add_json(bt_text *out, const char *text)
{
    const size_t mark = strlen(number_mark);
    while (*text) {
        const char *end =
            *text == '"' ? skip_string(text) : text + strspn(text, "+-.0123456789eE");
        if (*text == '"' && strncmp(text + 1, number_mark, mark) == 0)
            bt_text_add(out, text + 1 + mark, (size_t)(end - text) - mark - 2);
        else if (*text == '-' || (*text >= '0' && *text <= '9'))
            add_number(out, text, (size_t)(end - text));
        else
            bt_text_add(out, text, (size_t)((end = end > text ? end : text + 1) - text));
        text = end;
    }
}

const char *json_text(bt_arena *arena, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL;
    bt_text out;
    bt_text_init(&out, arena);
    json_decref(object);
    if (!text)
        return NULL;
    add_json(&out, text);
    free(text);
    return bt_text_get(&out);
}

int print_json(struct tool *tool, json_t *object)
{
    const char *text = json_text(bt_ctx_scratch(tool->ctx), object);
    if (!text)
        return tool_fail(tool, bt_no_memory());
    printf("%s\n", text);
    return EXIT_OK;
}

/* ---- as files ---- */

/* [A-Za-z0-9._-] stay, all else becomes '_'; never empty, "." or "..". */
static void clean_name(const char *name, char *out, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = 0;
    for (; name[n] && n + 1 < size; n++)
        out[n] = strchr(plain, name[n]) ? name[n] : '_';
    out[n] = 0;
    if (strspn(out, ".") == n)
        snprintf(out, size, "output%.*s", (int)(n < 8 ? n : 8), "________");
}

static int save_one(struct tool *tool, const bt_tensor *tensor, const char *path)
{
    bt_text bytes;
    bt_arena *arena = bt_ctx_scratch(tool->ctx);
    const void *mark = bt_arena_mark(arena);
    bt_text_init(&bytes, arena);
    bt_status status = bt_npy_write(tool->ctx, tensor, &bytes);
    if (!status && bytes.failed)
        status = bt_no_memory();
    if (!status)
        status = bt_file_write(tool->ctx, path, bytes.at, bytes.len);
    bt_arena_release(arena, mark);
    return status ? tool_fail(tool, status) : EXIT_OK;
}

struct saver {
    struct tool *tool;
    const char *folder;
    bt_map taken; /* file names, so that equal ones get a number */
    uint32_t nobject;
};

enum { MAX_OBJECTS = 4096 }; /* of tuples, which may share their fields */

/* The file of a tensor, which may not be one that was read. */
static int path_of(struct saver *s, const char *title, const char **out)
{
    bt_arena *arena = bt_ctx_scratch(s->tool->ctx);
    char name[200];
    bt_text path;
    clean_name(title, name, sizeof(name));
    for (uint32_t k = 0;; k++) {
        bt_text_init(&path, arena);
        bt_text_addf(&path, k ? "%s/%s_%u.npy" : "%s/%s.npy", s->folder, name, k);
        if (!bt_text_get(&path))
            return tool_fail(s->tool, bt_no_memory());
        if (!bt_map_find(&s->taken, path.at))
            break;
    }
    if (!bt_map_put(&s->taken, path.at, path.at))
        return tool_fail(s->tool, bt_no_memory());
    const struct written file = { path.at, "an output" };
    *out = path.at;
    return check_written(s->tool, 1, &file);
}

static int save_tensor(struct saver *s, const bt_tensor *tensor, const char *title)
{
    const char *path;
    const int code = path_of(s, title, &path);
    return code ? code : save_one(s->tool, tensor, path);
}

/* A file for each tensor of a tuple, NAME.0, NAME.1, ... Recursion is bounded by the depth
 * of types. */
static int save_object(struct saver *s, const bt_object *object, const char *title)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    int code = EXIT_OK;
    if (s->nobject++ == MAX_OBJECTS)
        return tool_fail(s->tool, bt_fail(s->tool->ctx, BT_ERR_LIMIT,
                                          "%s: the outputs hold more than %d values",
                                          s->folder, MAX_OBJECTS));
    if (tensor)
        return save_tensor(s, tensor, title);
    if (!tuple) {
        fputs("warning: ", stderr);
        put_shown(stderr, title);
        fprintf(stderr, " is not saved: it is %s\n",
                object->kind == BT_OBJECT_ADT       ? "a value of a data type"
                : object->kind == BT_OBJECT_CLOSURE ? "a function"
                                                    : "a reference");
    }
    for (uint32_t i = 0; !code && tuple && i < tuple->nfield; i++) {
        const char *name = tool_text(s->tool, "%s.%u", title, i);
        code = name ? save_object(s, tuple->fields[i], name)
                    : tool_fail(s->tool, bt_no_memory());
    }
    return code;
}

int check_saved(struct tool *tool, const bt_program *program, const char *folder)
{
    struct saver saver = { .tool = tool, .folder = folder };
    int code = EXIT_OK;
    bt_map_init(&saver.taken, bt_ctx_scratch(tool->ctx), 1);
    for (uint32_t i = 0; !code && i < bt_program_noutput(program); i++) {
        const char *path;
        code = path_of(&saver, bt_program_output(program, i)->name, &path);
    }
    return code;
}

int save_outputs(struct tool *tool, const bt_program *program, const char *folder)
{
    struct saver saver = { .tool = tool, .folder = folder };
    int code = EXIT_OK;
    bt_map_init(&saver.taken, bt_ctx_scratch(tool->ctx), 1);
    for (uint32_t i = 0; !code && i < bt_program_noutput(program); i++)
        code = save_object(&saver, bt_program_get(program, i),
                           bt_program_output(program, i)->name);
    return code;
}
