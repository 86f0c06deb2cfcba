#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/importer.h>

#include "list_value.h"
#include "parts.h"

struct form {
    bt_dtype dtype; /* 0: not known */
    int32_t rank;   /* -1: not known */
    int64_t dims[BT_MAX_RANK];
};

/* ---- element types ---- */

static const char *const dtypes[] = {
#define BT_STORED(UPPER, name, class_, bits, ctype)   #name,
#define BT_PACKED(UPPER, name, class_, bits, carrier) #name,
#define BT_MOVED(UPPER, name, class_, bits, part)     #name,
#include <baton/dtypes.def>
};

/* For an unknown name: known names with the same letters, or else with the same digits; those with
 * a format behind, as float8_e5m2, where one is given. */
static bt_status unknown_dtype(bt_ctx *ctx, const char *name, size_t n)
{
    size_t letters = strcspn(name, "0123456789=");
    const char *digits = name + letters;
    for (int by_digits = 0; by_digits < 2; by_digits++) {
        bt_text known;
        bt_text_init(&known, bt_ctx_scratch(ctx));
        for (uint32_t i = 0; i < BT_COUNT(dtypes); i++) {
            size_t own = strcspn(dtypes[i], "0123456789");
            int is_near = by_digits
                              ? strlen(dtypes[i] + own) == n - letters && n > letters &&
                                    memcmp(dtypes[i] + own, digits, n - letters) == 0 &&
                                    dtypes[i][0] == name[0]
                              : own == letters && memcmp(dtypes[i], name, own) == 0;
            const int has_format = memchr(name, '_', n) != NULL;
            if (is_near && (strchr(dtypes[i], '_') != NULL) == has_format)
                bt_text_addf(&known, "%s%s", known.len ? " or " : "; did you mean ",
                             dtypes[i]);
        }
        if (known.failed)
            return bt_no_memory();
        if (known.len)
            return bt_fail(ctx, BT_ERR_ARGUMENT, "unknown element type %.*s%s?", (int)n,
                           name, bt_text_get(&known));
    }
    return bt_fail(ctx, BT_ERR_ARGUMENT, "unknown element type %.*s, as in float32",
                   (int)n, name);
}

/* Where the element type of "2x3xfloat32" begins; the text itself without dims. */
static const char *behind_dims(const char *text)
{
    for (;;) {
        size_t n = strspn(text, "0123456789");
        if (n == 0 || text[n] != 'x')
            return text;
        text += n + 1;
    }
}

/* "1x28x28xfloat32" or "float32". A size beyond 63 bits is -1. */
static int parse_form(const char *text, size_t n, struct form *out)
{
    const char *end = text + n;
    out->rank = 0;
    while (text < end && *text >= '0' && *text <= '9') {
        char *after;
        errno = 0;
        long long dim = strtoll(text, &after, 10);
        if (out->rank == BT_MAX_RANK || after >= end || *after != 'x')
            return 0;
        out->dims[out->rank++] = errno ? -1 : dim;
        text = after + 1;
    }
    out->dtype = bt_dtype_parse(text, (size_t)(end - text));
    return out->dtype != 0;
}

/* What the program states; dims not known are -1. 1: shape and dtype are wholly known. */
static int port_form(const bt_port *port, struct form *out)
{
    int is_whole = port->rank >= 0 && port->dtype;
    out->dtype = port->dtype;
    out->rank = port->rank;
    for (int32_t i = 0; i < port->rank; i++) {
        out->dims[i] = port->dims[i];
        is_whole &= port->dims[i] >= 0;
    }
    return is_whole;
}

/* Integers are 0 to 9, of small types what they hold of these. */
static uint64_t count_random(bt_dtype dtype)
{
    const uint32_t nbits =
        bt_dtype_nbits(dtype) - (BT_DTYPE_CLASS(dtype) == BT_CLASS_INT);
    return dtype == BT_BOOL ? 2 : nbits < 4 ? UINT64_C(1) << nbits : 10;
}

static void fill_random(bt_tensor *tensor, uint64_t seed)
{
    const int is_float = bt_dtype_is_real(tensor->dtype);
    const uint64_t n = count_random(tensor->dtype);
    for (int64_t i = 0; i < tensor->nelem; i++) {
        /* splitmix64: Steele, Lea, Flood 2014 */
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        if (is_float)
            bt_tensor_set(tensor, i, (double)(z >> 40) / 16777216.0);
        else
            bt_tensor_set_int(tensor, i, (int64_t)(z % n));
    }
}

static int is_random(const char *text)
{
    return strncmp(text, "random:", 7) == 0;
}

static int is_list(const char *text)
{
    return text[strspn(text, " \t\n")] == '[';
}

static int is_content(const char *text)
{
    char *end;
    strtod(text, &end);
    return is_random(text) || is_list(text) || (end != text && !*end) ||
           list_value_is_truth(text);
}

static bt_status make_random(bt_ctx *ctx, const struct form *form, const char *content,
                             bt_tensor **out)
{
    const char *digits = content + 7;
    char *end;
    errno = 0;
    uint64_t seed = strtoull(digits, &end, 10);
    if (errno || end == digits || *end || *digits == '-')
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s: SEED is a whole number of at most 64 bits", content);
    BT_TRY(bt_tensor_create(ctx, form->dtype, (uint32_t)form->rank, form->dims, out));
    bt_tensor *parts = NULL;
    bt_status status = parts_of(ctx, *out, &parts);
    if (status) {
        bt_tensor_unref(*out);
        return status;
    }
    fill_random(parts, seed);
    bt_tensor_unref(parts);
    return NULL;
}

/* "2x3": a shape as it is written here. */
static const char *print_shape(bt_ctx *ctx, uint32_t rank, const int64_t *dims)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(&text, dims[i] < 0 ? "%s?" : "%s%lld", i ? "x" : "",
                     (long long)dims[i]);
    return rank ? bt_text_get(&text) : "a single number";
}

/* A list has the shape that is stated, as far as one is: [[], []] is 2x0, and where that is stated
 * 2x0x3. */
static bt_status check_shape(bt_ctx *ctx, const struct form *form,
                             struct list_value *list)
{
    const uint32_t rank = form->rank < 0 ? list->rank : (uint32_t)form->rank;
    int fits = rank == list->rank || (rank > list->rank && !list->dims[list->rank - 1]);
    for (uint32_t i = 0; fits && form->rank >= 0 && i < rank; i++)
        fits = i < list->rank ? form->dims[i] < 0 || form->dims[i] == list->dims[i]
                              : form->dims[i] >= 0;
    if (fits) {
        for (; list->rank < rank; list->rank++)
            list->dims[list->rank] = form->dims[list->rank];
        return NULL;
    }
    const char *found = print_shape(ctx, list->rank, list->dims),
               *expected = print_shape(ctx, (uint32_t)form->rank, form->dims);
    return found && expected
               ? bt_fail(ctx, BT_ERR_SHAPE,
                         "the shape of the list is %s, expected was %s", found, expected)
               : bt_no_memory();
}

/* A list of numbers, or one number for every element. */
static bt_status make_list(bt_ctx *ctx, const struct form *form, const char *content,
                           bt_tensor **out)
{
    struct list_value list;
    bt_tensor *tensor;
    bt_status status = NULL;
    BT_TRY(list_value_read(ctx, content, &list));
    if (list.rank)
        BT_TRY(check_shape(ctx, form, &list));
    BT_TRY(bt_tensor_create(ctx, form->dtype,
                            list.rank ? list.rank : (uint32_t)form->rank,
                            list.rank ? list.dims : form->dims, &tensor));
    for (int64_t i = 0; !status && i < tensor->nelem; i++)
        status = list_value_set(ctx, tensor, i, list.numbers.at[list.rank ? i : 0]);
    if (status)
        bt_tensor_unref(tensor);
    else
        *out = tensor;
    return status;
}

/* Each number is a list of its two parts. */
static bt_status make_complex(bt_ctx *ctx, const struct form *form, const char *content,
                              bt_tensor **out)
{
    struct form of_parts = *form;
    bt_tensor *parts;
    of_parts.dtype = bt_dtype_carrier(form->dtype);
    if (form->rank >= 0 && form->rank < BT_MAX_RANK)
        of_parts.dims[of_parts.rank++] = 2;
    BT_TRY(make_list(ctx, &of_parts, content, &parts));
    bt_status status =
        !parts->rank || parts->dims[parts->rank - 1] != 2
            ? bt_fail(ctx, BT_ERR_SHAPE,
                      "complex numbers are lists of two parts, as in [[1, 2], [0, -1]]")
            : bt_tensor_create(ctx, form->dtype, parts->rank - 1, parts->dims, out);
    if (!status && parts->nelem)
        memcpy((*out)->data, parts->data, bt_tensor_nbytes(parts));
    bt_tensor_unref(parts);
    return status;
}

static bt_status make_tensor(bt_ctx *ctx, const struct form *form, const char *content,
                             bt_tensor **out)
{
    return is_random(content) ? make_random(ctx, form, content, out)
           : BT_DTYPE_CLASS(form->dtype) == BT_CLASS_COMPLEX
               ? make_complex(ctx, form, content, out)
               : make_list(ctx, form, content, out);
}

/* For a text that is no number, no list and no file. */
static bt_status not_a_value(bt_ctx *ctx, const char *text, bt_status status)
{
    static const char *const words[] = {
        "random", "true", "false", "True", "False", NULL
    };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const char *word = bt_arena_text(scratch, text, strcspn(text, ":"));
    const char *near = word ? bt_nearest(scratch, word, words) : "";
    if (strpbrk(text, "/."))
        return status;
    return bt_fail(ctx, BT_ERR_ARGUMENT,
                   "%s is neither a value (random:SEED, a number, a list) nor a file%s",
                   text, near);
}

/* "1x3xfloat32=", of what is open the least sizes. */
static void add_form(bt_text *text, const bt_port *port)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    for (int32_t i = 0; i < port->rank; i++)
        bt_text_addf(text, "%lldx", (long long)port->sizes[i]);
    bt_text_addf(
        text, "%s=",
        bt_dtype_name(port->dtype ? port->dtype : BT_FLOAT32, dtype, sizeof(dtype)));
}

static bt_status fail_open(bt_ctx *ctx, const bt_port *port, const char *content)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    add_form(&text, port);
    if (!bt_text_get(&text))
        return bt_no_memory();
    return bt_fail(ctx, BT_ERR_ARGUMENT,
                   "the type of %s, %s, is not wholly known: write SHAPExDTYPE=%s with "
                   "sizes of your own, as in %s=%s%s",
                   port->name, port->type, content, port->name, bt_text_get(&text),
                   content);
}

/* A file's bytes, where the input's type is one that files do not name. */
static bt_status explain_bits(bt_ctx *ctx, const bt_port *port, bt_tensor **tensor)
{
    struct form form;
    bt_tensor *explained = NULL;
    char name[BT_DTYPE_NAME_SIZE];
    const int is_whole = port_form(port, &form);
    bt_status status = NULL;
    if (!bt_dtype_is_packed(form.dtype) || is_whole)
        status = bt_tensor_of_bits(ctx, *tensor, form.dtype, (uint32_t)form.rank,
                                   form.dims, &explained);
    if (!status && !explained && bt_dtype_is_packed(form.dtype) &&
        (*tensor)->dtype == BT_UINT8)
        status = bt_fail(
            ctx, BT_ERR_SHAPE, "the file has %zu bytes for elements of %s, %s",
            bt_tensor_nbytes(*tensor), bt_dtype_name(form.dtype, name, sizeof(name)),
            is_whole ? "which are not as many as the input has, in one axis"
                     : "whose dims must be known: give them (--dim n=8)");
    if (status || explained) {
        bt_tensor_unref(*tensor);
        *tensor = explained;
    }
    return status;
}

static bt_status read_value(bt_ctx *ctx, const bt_port *port, const char *text,
                            bt_tensor **out)
{
    struct form form;
    const char *equals = strrchr(text, '=');
    const char *dtype = behind_dims(text);
    int is_form = equals && parse_form(text, (size_t)(equals - text), &form);
    if (equals && (is_form ? !bt_dtype_is_stored(form.dtype) : dtype != text))
        return unknown_dtype(ctx, dtype, (size_t)(equals - dtype));
    for (int32_t i = 0; is_form && i < form.rank; i++) {
        if (form.dims[i] < 0)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "size %d of %.*s is greater than %lld, the greatest that "
                           "there is",
                           i, (int)(equals - text), text, (long long)INT64_MAX);
    }
    if (is_form)
        return make_tensor(ctx, &form, equals + 1, out);
    if (!is_content(text)) {
        bt_status status = bt_tensor_read(ctx, text, out);
        return !status                   ? explain_bits(ctx, port, out)
               : access(text, F_OK) != 0 ? not_a_value(ctx, text, status)
                                         : status;
    }
    int is_whole = port_form(port, &form);
    if (is_whole || (is_list(text) && form.dtype)) // a list has a shape of its own
        return make_tensor(ctx, &form, text, out);
    return fail_open(ctx, port, text);
}

/* ---- values by themselves ---- */

static bt_status look_at_tensor(bt_ctx *ctx, const bt_tensor *tensor,
                                struct value_facts *out)
{
    uint32_t class_ = BT_DTYPE_CLASS(tensor->dtype);
    bt_text text;
    out->rank = (int32_t)tensor->rank;
    for (uint32_t i = 0; i < tensor->rank; i++)
        out->dims[i] = tensor->dims[i];
    out->is_float = bt_dtype_is_float(tensor->dtype);
    if (tensor->rank > 1 || tensor->nelem > VALUE_SMALL || class_ == BT_CLASS_BOOL)
        return NULL;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "%s", tensor->rank ? "[" : "");
    for (int64_t i = 0; i < tensor->nelem; i++) {
        bt_text_addf(&text, "%s", i ? ", " : "");
        if (out->is_float)
            bt_text_addf(&text, "%.17g", bt_tensor_get(tensor, i));
        else
            bt_text_addf(&text, "%lld", (long long)bt_tensor_get_int(tensor, i));
    }
    bt_text_addf(&text, "%s", tensor->rank ? "]" : "");
    out->numbers = bt_text_get(&text);
    return out->numbers ? NULL : bt_no_memory();
}

static bt_status look_at_list(bt_ctx *ctx, const char *text, struct value_facts *out)
{
    struct list_value list;
    BT_TRY(list_value_read(ctx, text, &list));
    if (list.rank) {
        out->rank = (int32_t)list.rank;
        memcpy(out->dims, list.dims, sizeof(out->dims));
    }
    out->is_float = strpbrk(text, ".eEnN") != NULL;
    if (list.rank <= 1 && list.numbers.len <= VALUE_SMALL)
        out->numbers = text;
    return NULL;
}

static int is_stream(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
}

bt_status look_at_value(bt_ctx *ctx, const char *text, struct value_facts *out)
{
    const char *equals = strrchr(text, '=');
    struct form form = { .rank = -1 };
    bt_tensor *tensor;
    *out = (struct value_facts){ .rank = -1 };
    if (equals && parse_form(text, (size_t)(equals - text), &form)) {
        out->rank = form.rank;
        memcpy(out->dims, form.dims, sizeof(out->dims));
        text = equals + 1;
    }
    if (is_random(text))
        return NULL;
    if (is_content(text))
        return look_at_list(ctx, text, out);
    if (is_stream(text)) // it can be read once
        return NULL;
    BT_TRY(bt_tensor_read(ctx, text, &tensor));
    bt_status status = look_at_tensor(ctx, tensor, out);
    bt_tensor_unref(tensor);
    return status;
}

/* ---- names ---- */

size_t match_name(const char *text, const char *name)
{
    size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && text[n] == '=' ? n : 0;
}

/* NAME=... where NAME is neither a form nor part of a path. */
static int is_other_name(const char *text)
{
    struct form form;
    size_t n = strcspn(text, "=/.");
    return text[n] == '=' && behind_dims(text) == text && !parse_form(text, n, &form);
}

/* The port, or field of it, with the longest name that a text begins with. Recursion is
 * bounded by the depth of types. */
static void find_named(const bt_port *port, const char *text, const bt_port **best,
                       size_t *longest)
{
    size_t n = match_name(text, port->name);
    if (n && (!*best || n > *longest)) {
        *best = port;
        *longest = n;
    }
    for (uint32_t i = 0; i < port->nfield; i++)
        find_named(port->fields[i], text, best, longest);
}

/* Which input a text is for, and what follows its name. */
static const bt_port *find_port(const bt_program *program, const char *text,
                                const char **value)
{
    const bt_port *best = NULL;
    size_t longest = 0;
    for (uint32_t i = 0; i < bt_program_ninput(program); i++)
        find_named(bt_program_input(program, i), text, &best, &longest);
    *value = best ? text + longest + 1 : text;
    if (!best && is_other_name(text))
        return NULL;
    return best                              ? best
           : bt_program_ninput(program) == 1 ? bt_program_input(program, 0)
                                             : NULL;
}

/* ---- all inputs ---- */

enum { MAX_NAMED = 8 }; /* inputs that a message lists */

struct named {
    const bt_port *port;
    const char *value;
};

struct inputs {
    struct tool *tool;
    struct named *at;
    uint32_t n;
    uint32_t seed; /* of the next that is not given; 0: all must be */
};

const char *input_obstacle(const bt_port *port)
{
    switch (port->kind) {
    case BT_OBJECT_TENSOR: return NULL;
    case BT_OBJECT_CLOSURE: return "a function";
    case BT_OBJECT_REF: return "a reference";
    case BT_OBJECT_ADT: return "of a data type";
    default: break;
    }
    if (!port->fields)
        return "a tuple of very many fields";
    for (uint32_t i = 0; i < port->nfield; i++) {
        const char *obstacle = input_obstacle(port->fields[i]);
        if (obstacle)
            return obstacle;
    }
    return NULL;
}

/* "-i foo=1": what there is instead. */
static int fail_name(struct tool *tool, const bt_program *program, const char *text)
{
    bt_arena *scratch = bt_ctx_scratch(tool->ctx);
    uint32_t n = bt_program_ninput(program);
    const char **names = BT_NEWS(scratch, const char *, (size_t)n + 1);
    const char *word = bt_arena_text(scratch, text, strcspn(text, "="));
    bt_text list;
    bt_text_init(&list, scratch);
    for (uint32_t i = 0; names && i < n; i++) {
        names[i] = bt_program_input(program, i)->name;
        if (i < MAX_NAMED)
            bt_text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    if (n > MAX_NAMED)
        bt_text_addf(&list, " and %u more", n - MAX_NAMED);
    if (!names || !word || !bt_text_get(&list))
        return tool_fail(tool, bt_no_memory());
    if (!n)
        return tool_usage(tool, "-i %s: the program has no inputs", text);
    return tool_usage(tool, "-i %s names no input of the program; there %s %s%s", text,
                      n == 1 ? "is" : "are", list.at,
                      is_other_name(text) ? bt_nearest(scratch, word, names)
                                          : ": write NAME=VALUE");
}

static int take_text(struct inputs *inputs, const bt_program *program, const char *text)
{
    struct tool *tool = inputs->tool;
    struct named one;
    one.port = find_port(program, text, &one.value);
    if (!one.port)
        return fail_name(tool, program, text);
    if (one.port->kind == BT_OBJECT_TUPLE)
        return tool_usage(tool,
                          "-i %s: %s is a tuple, %s: give each field, as in -i %s.0=...",
                          text, one.port->name, one.port->type, one.port->name);
    for (uint32_t i = 0; i < inputs->n; i++) {
        if (inputs->at[i].port == one.port)
            return tool_usage(tool, "-i %s: %s is given twice", text, one.port->name);
    }
    inputs->at[inputs->n++] = one;
    return EXIT_OK;
}

int add_random_value(bt_text *text, const bt_port *port, uint32_t seed)
{
    struct form form;
    int is_open = !port_form(port, &form);
    if (is_open)
        add_form(text, port);
    bt_text_addf(text, "random:%u", seed);
    return is_open;
}

static bt_status make_object(struct inputs *, const bt_port *, bt_object **out);

static bt_status make_tuple(struct inputs *inputs, const bt_port *port, bt_object **out)
{
    bt_ctx *ctx = inputs->tool->ctx;
    bt_object **fields = BT_NEWS(bt_ctx_scratch(ctx), bt_object *, port->nfield);
    bt_tuple *tuple = NULL;
    bt_status status = fields ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < port->nfield; i++)
        status = make_object(inputs, port->fields[i], &fields[i]);
    if (!status)
        status = bt_tuple_create(ctx, port->nfield, fields, &tuple);
    for (uint32_t i = 0; fields && i < port->nfield; i++)
        bt_object_unref(fields[i]);
    if (!status)
        *out = &tuple->base;
    return status;
}

static bt_status make_leaf(bt_ctx *ctx, const struct named *given, bt_object **out)
{
    bt_tensor *tensor;
    bt_status status = read_value(ctx, given->port, given->value, &tensor);
    if (status && status->code != BT_ERR_MEMORY)
        return bt_fail_place(ctx, status->code, &status->place, "input %s: %s",
                             given->port->name, status->message);
    BT_TRY(status);
    *out = &tensor->base;
    return NULL;
}

static bt_status make_missing(bt_ctx *ctx, const bt_port *port, uint32_t seed,
                              bt_object **out)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    add_random_value(&text, port, seed);
    const struct named given = { .port = port, .value = bt_text_get(&text) };
    return given.value ? make_leaf(ctx, &given, out) : bt_no_memory();
}

static bt_status fail_missing(bt_ctx *ctx, const bt_port *port)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    add_random_value(&text, port, 1);
    if (!bt_text_get(&text))
        return bt_no_memory();
    return bt_fail(ctx, BT_ERR_ARGUMENT,
                   "input %s is not set; it takes %s: give -i %s=VALUE, such as -i %s=%s",
                   port->name, port->type, port->name, port->name, text.at);
}

/* Recursion is bounded by the depth of types. */
static bt_status make_object(struct inputs *inputs, const bt_port *port, bt_object **out)
{
    bt_ctx *ctx = inputs->tool->ctx;
    const char *obstacle = input_obstacle(port);
    if (obstacle)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "input %s, %s, cannot be given on the command line: it is %s; run "
                       "a function that makes it (--entry)",
                       port->name, port->type, obstacle);
    if (port->kind == BT_OBJECT_TUPLE)
        return make_tuple(inputs, port, out);
    for (uint32_t i = 0; i < inputs->n; i++) {
        if (inputs->at[i].port == port)
            return make_leaf(ctx, &inputs->at[i], out);
    }
    return inputs->seed ? make_missing(ctx, port, inputs->seed++, out)
                        : fail_missing(ctx, port);
}

int set_inputs(struct tool *tool, bt_program *program, const char *const *texts,
               uint32_t seed)
{
    uint32_t n = 0;
    while (texts && texts[n])
        n++;
    struct inputs inputs = { .tool = tool, .seed = seed };
    inputs.at = BT_NEWS(bt_ctx_scratch(tool->ctx), struct named, n);
    if (!inputs.at)
        return tool_fail(tool, bt_no_memory());
    for (uint32_t i = 0; i < n; i++) {
        int code = take_text(&inputs, program, texts[i]);
        if (code)
            return code;
    }
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        bt_object *object;
        TRY_TOOL(tool, make_object(&inputs, port, &object));
        bt_status status = bt_program_set(program, port->name, object);
        bt_object_unref(object);
        TRY_TOOL(tool, status);
    }
    return EXIT_OK;
}
