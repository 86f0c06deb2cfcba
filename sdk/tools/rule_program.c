#include "rule_program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <baton/plugin.h>

enum { MAX_NAMES = 32, MAX_DEPTH = 64, MAX_RANK = 5, MAX_LAWFUL = 256 };
enum { MAX_ELEMENTS = 1 << 20 }; /* of a tensor */

/* A name of the pattern: what is written for it. */
struct name {
    const char *text, *written;
};

struct maker {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *at, *end; /* of the pattern, what is not read yet */
    uint64_t seed;
    uint32_t rank; /* what most tensors have, as the two below */
    int64_t extent;
    const int64_t *extents; /* that dims have instead; NULL: none */
    bt_dtype dtype;
    uint32_t depth;
    int failed; /* this draw has no program */
    bt_text params, constants;
    uint32_t nname;
    struct name names[MAX_NAMES];
    struct rule_program *out;
};

static const bt_dtype dtypes[] = { BT_FLOAT32, BT_FLOAT64, BT_INT32, BT_INT64,
                                   BT_UINT8,   BT_INT8,    BT_BOOL };

static uint32_t draw(struct maker *m, uint32_t n)
{
    return (uint32_t)(case_draw(&m->seed) >> 32) % n;
}

/* ---- tokens ---- */

static char peek(struct maker *m)
{
    while (m->at < m->end && isspace((unsigned char)*m->at))
        m->at++;
    return m->at < m->end ? *m->at : 0;
}

static int take(struct maker *m, const char *token)
{
    size_t n = strlen(token);
    peek(m);
    if ((size_t)(m->end - m->at) < n || strncmp(m->at, token, n) != 0)
        return 0;
    m->at += n;
    return 1;
}

/* A name, a number, a text or a list. */
static const char *take_word(struct maker *m)
{
    char c = peek(m), close = c == '"' ? '"' : c == '[' ? ']' : 0;
    const char *start = m->at;
    if (close) {
        const char *last = memchr(start + 1, close, (size_t)(m->end - start - 1));
        m->at = last ? last + 1 : m->end;
    } else {
        while (m->at < m->end &&
               (isalnum((unsigned char)*m->at) || strchr("_.-", *m->at)) &&
               strncmp(m->at, "..", 2) != 0)
            m->at++;
    }
    const char *word = bt_arena_text(m->arena, start, (size_t)(m->at - start));
    m->failed |= !word || m->at == start;
    return word ? word : "";
}

/* Of a constant's elements. */
static int is_element(const char *word)
{
    return isdigit((unsigned char)word[word[0] == '-']) || strcmp(word, "True") == 0 ||
           strcmp(word, "False") == 0;
}

/* ---- what stands for names ---- */

/* What the type of an input says: "u:integer[n]" is of its own class and has one axis. */
static void read_input(struct maker *m, const char *type, bt_dtype *dtype, uint32_t *rank)
{
    const char *open = type ? strchr(type, '[') : NULL,
               *colon = type ? strchr(type, ':') : NULL;
    *dtype = m->dtype;
    *rank = m->rank;
    if (!open)
        return;
    const char *class_ = colon && colon < open ? colon + 1 : type;
    int is_shared = class_ == type ? open == type + 1 : type[0] == 't';
    if (!is_shared)
        *dtype = strncmp(class_, "int", 3) == 0     ? BT_INT64
                 : strncmp(class_, "bool", 4) == 0  ? BT_BOOL
                 : strncmp(class_, "float", 5) == 0 ? BT_FLOAT32
                                                    : dtypes[draw(m, BT_COUNT(dtypes))];
    if (strstr(open, ".."))
        return;
    *rank = open[1] != ']';
    for (const char *c = open; *c && *c != ']'; c++)
        *rank += *c == ',';
}

static void add_type(struct maker *m, bt_text *out, bt_dtype dtype, uint32_t rank,
                     const int64_t *dims)
{
    char name[BT_DTYPE_NAME_SIZE];
    (void)m;
    bt_text_addf(out, "[(");
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(out, "%s%lld", i ? ", " : "", (long long)dims[i]);
    bt_text_addf(out, "), %s]", bt_dtype_name(dtype, name, sizeof(name)));
}

/* A constant, all of whose elements are `number`, or small numbers where it is NULL. */
static void add_constant(struct maker *m, bt_text *out, bt_dtype dtype, uint32_t rank,
                         const int64_t *dims, const char *number)
{
    int64_t n = 1;
    bt_text_addf(out, "const");
    add_type(m, out, dtype, rank, dims);
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    bt_text_addf(out, "{");
    for (int64_t i = 0; i < n; i++) {
        const uint32_t drawn = draw(m, dtype == BT_BOOL ? 2 : 4);
        bt_text_addf(out, "%s", i ? ", " : "");
        if (dtype == BT_BOOL)
            bt_text_addf(out, "%s", (number ? *number == 'T' : drawn) ? "True" : "False");
        else if (number)
            bt_text_addf(out, "%s", number);
        else
            bt_text_addf(out, "%u", drawn);
    }
    bt_text_addf(out, "}");
}

static void draw_dims(struct maker *m, uint32_t rank, int64_t *dims)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = !draw(m, 8)  ? 1
                  : m->extents ? m->extents[draw(m, RULE_NEXTENT)]
                               : m->extent;
        n = n < MAX_ELEMENTS ? n * dims[i] : n;
    }
    m->failed |= n > MAX_ELEMENTS;
}

static const char *find_name(const struct maker *m, const char *text)
{
    for (uint32_t i = 0; i < m->nname; i++) {
        if (strcmp(m->names[i].text, text) == 0)
            return m->names[i].written;
    }
    return NULL;
}

static const char *add_name(struct maker *m, const char *text, const char *written)
{
    if (m->nname == MAX_NAMES || !written) {
        m->failed = 1;
        return "";
    }
    m->names[m->nname++] = (struct name){ text, written };
    return written;
}

static const char *prefixed(struct maker *m, const char *text)
{
    bt_text out;
    bt_text_init(&out, m->arena);
    bt_text_addf(&out, "%%%s", text);
    return bt_text_get(&out);
}

/* A shape, a count or a position that is small: a vector of one number. */
static void add_index(struct maker *m, bt_text *out, uint32_t rank)
{
    static const char *const numbers[] = { "0", "1", "-1" };
    char extent[24];
    int64_t dims[1] = { m->rank };
    uint32_t which = draw(m, 4);
    snprintf(extent, sizeof(extent), "%lld", (long long)m->extent);
    if (draw(m, 4) == 0)
        dims[0] = 1;
    add_constant(m, out, BT_INT64, rank < 1 ? rank : 1, dims,
                 which == 3 ? extent : numbers[which]);
}

static const char *value_of(struct maker *m, const char *text, const char *type,
                            int is_const)
{
    const char *written = find_name(m, text);
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[CASE_MAX_DIM];
    struct rule_program *p = m->out;
    if (written)
        return written;
    read_input(m, type, &dtype, &rank);
    if (draw(m, 8) == 0 && type && strstr(type, ".."))
        rank = draw(m, MAX_RANK + 1);
    else if (m->extents && type && strstr(type, "..") && draw(m, 3) == 0)
        rank = 1; // what is added to each row
    rank = rank > CASE_MAX_DIM ? CASE_MAX_DIM : rank;
    draw_dims(m, rank, dims);
    if (m->failed)
        return "";
    int is_index = dtype == BT_INT64 && m->dtype != BT_INT64 && type;
    if (is_const || is_index) {
        bt_text_addf(&m->constants, "    %%%s = ", text);
        if (is_index)
            add_index(m, &m->constants, rank);
        else
            add_constant(m, &m->constants, dtype, rank, dims, NULL);
        bt_text_addf(&m->constants, ";\n");
        return add_name(m, text, prefixed(m, text));
    }
    if (p->nparam == CASE_MAX_LEAF) {
        m->failed = 1;
        return "";
    }
    struct case_leaf *leaf = &p->params[p->nparam++];
    *leaf = (struct case_leaf){ .dtype = dtype, .rank = rank };
    memcpy(leaf->dims, dims, rank * sizeof(dims[0]));
    bt_text_addf(&m->params, "%s%%%s: Tensor", p->nparam > 1 ? ", " : "", text);
    add_type(m, &m->params, dtype, rank, dims);
    return add_name(m, text, prefixed(m, text));
}

/* ---- attributes ---- */

static void add_list(struct maker *m, bt_text *out)
{
    uint32_t axes[MAX_RANK], which = draw(m, 4);
    bt_text_addf(out, "[");
    for (uint32_t i = 0; i < m->rank; i++) { // an order of all axes, drawn
        uint32_t k = draw(m, i + 1);
        axes[i] = axes[k];
        axes[k] = i;
    }
    if (which == 1)
        bt_text_addf(out, "%u", draw(m, m->rank + 1));
    else if (which == 2)
        bt_text_addf(out, "-1");
    for (uint32_t i = 0; (which == 0 || which == 3) && i < m->rank; i++)
        bt_text_addf(out, "%s%lld", i ? ", " : "",
                     which ? (long long)m->extent : (long long)axes[i]);
    bt_text_addf(out, "]");
}

/* One of those that a row lists, "a|b|c"; a layout of as many axes as most tensors have, as
 * its default is one. */
static void add_choice(struct maker *m, const bt_attr *row, bt_text *out)
{
    static const char *const layouts[MAX_RANK + 1][2] = {
        { "NCHW", "NHWC" }, { "NCHW", "NHWC" }, { "NCHW", "NHWC" },
        { "NCW", "NWC" },   { "NCHW", "NHWC" }, { "NCDHW", "NDHWC" },
    };
    const char *choice = row->choices;
    uint32_t n = 1;
    for (const char *c = choice; c && *c; c++)
        n += *c == '|';
    for (uint32_t skip = choice ? draw(m, n) : 0; skip; skip--)
        choice = strchr(choice, '|') + 1;
    if (choice)
        bt_text_addf(out, "\"%.*s\"", (int)strcspn(choice, "|"), choice);
    else
        bt_text_addf(out, "\"%s\"", layouts[m->rank][draw(m, 2)]);
}

static const char *draw_attr(struct maker *m, const bt_attr *row)
{
    static const char *const floats[] = { "0f", "0.5f", "1f", "0.01f", "2f" };
    char name[BT_DTYPE_NAME_SIZE];
    bt_text out;
    bt_text_init(&out, m->arena);
    switch (row->kind) {
    case BT_ATTR_INT: bt_text_addf(&out, "%d", (int)draw(m, 5) - 2); break;
    case BT_ATTR_BOOL: bt_text_addf(&out, "%s", draw(m, 2) ? "True" : "False"); break;
    case BT_ATTR_FLOAT:
        bt_text_addf(&out, "%s", floats[draw(m, BT_COUNT(floats))]);
        break;
    case BT_ATTR_STRING: add_choice(m, row, &out); break;
    case BT_ATTR_INTS:
    case BT_ATTR_SHAPE: add_list(m, &out); break;
    case BT_ATTR_DTYPE:
        bt_text_addf(
            &out, "\"%s\"",
            bt_dtype_name(dtypes[draw(m, BT_COUNT(dtypes))], name, sizeof(name)));
        break;
    default: m->failed = 1;
    }
    const char *text = bt_text_get(&out);
    m->failed |= !text;
    return text ? text : "";
}

static const bt_attr *find_row(const bt_op *op, const char *name)
{
    for (const bt_attr *row = op->attrs; row && row->name; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

/* The word behind "name=": a literal, or a name that is drawn once. */
static const char *attr_of(struct maker *m, const bt_op *op, const char *name)
{
    const char *word = take_word(m), *written = find_name(m, word);
    const bt_attr *row = find_row(op, name);
    int is_literal =
        is_element(word) || strchr("\"[", word[0]) || isupper((unsigned char)word[0]);
    if (is_literal || written || !row)
        return written ? written : word;
    return add_name(m, word, draw_attr(m, row));
}

/* ---- expressions ---- */

static void add_expr(struct maker *m, const char *type, bt_text *out);

/* An operator that states laws, with so many operands, for F. */
static const char *draw_lawful(struct maker *m, uint32_t narg)
{
    const char *found[MAX_LAWFUL];
    uint32_t n = 0, nrequired;
    for (uint32_t i = 0; i < bt_provided_len(m->ctx, "op") && n < MAX_LAWFUL; i++) {
        bt_provided item;
        const bt_op *op;
        if (!bt_provided_at(m->ctx, "op", i, &item) && strstr(item.json, "\"algebra\"") &&
            !bt_op_get(m->ctx, item.name, &op) && bt_op_ninput(op, &nrequired) == narg)
            found[n++] = op->name;
    }
    m->failed |= n == 0;
    return n ? found[draw(m, n)] : "";
}

/* How many operands there are up to the closing parenthesis. */
static uint32_t count_args(const struct maker *m)
{
    uint32_t n = 1, depth = 0;
    for (const char *c = m->at; c < m->end && (depth || *c != ')'); c++) {
        depth += (uint32_t)(*c == '(') - (uint32_t)(*c == ')');
        n += *c == ',' && !depth;
    }
    return n;
}

/* Attributes that the pattern leaves open, or that have to be given. */
static void add_other_attrs(struct maker *m, const bt_op *op, const bt_map *given,
                            int is_open, bt_text *out)
{
    for (const bt_attr *row = op->attrs; row && row->name; row++) {
        if (bt_map_find(given, row->name) || (row->preset && (!is_open || draw(m, 4))))
            continue;
        bt_text_addf(out, ", %s=%s", row->name, draw_attr(m, row));
    }
}

/* Behind the opening parenthesis. */
static void add_call(struct maker *m, const char *name, bt_text *out)
{
    const bt_op *op = NULL;
    bt_text attrs;
    bt_map given;
    uint32_t n = 0;
    int is_open = 0;
    bt_text_init(&attrs, m->arena);
    bt_map_init(&given, m->arena, 1);
    if (bt_op_get(m->ctx, name, &op)) {
        m->failed = 1;
        return;
    }
    bt_text_addf(out, "%s(", name);
    while (!m->failed && peek(m) && !take(m, ")")) {
        const char *start = m->at;
        if (take(m, "..")) {
            is_open = 1;
        } else {
            const char *word = isalpha((unsigned char)*start) ? take_word(m) : "";
            if (*word && peek(m) == '=') {
                m->at++;
                bt_text_addf(&attrs, ", %s=%s", word, attr_of(m, op, word));
                m->failed |= !bt_map_put(&given, word, m);
            } else {
                m->at = start;
                bt_text_addf(out, "%s", n ? ", " : "");
                const bt_op_input *input = op->inputs;
                for (uint32_t i = 0; input && input->name && i < n; i++)
                    input++;
                add_expr(m, input ? input->type : NULL, out);
                n++;
            }
        }
        (void)take(m, ",");
    }
    add_other_attrs(m, op, &given, is_open, &attrs);
    bt_text_addf(out, "%s)", attrs.len ? bt_text_get(&attrs) + (n ? 0 : 2) : "");
    m->failed |= attrs.failed;
}

static void add_tuple(struct maker *m, bt_text *out)
{
    uint32_t n = 0;
    bt_text_addf(out, "(");
    for (; !m->failed && peek(m) && !take(m, ")"); n++) {
        add_expr(m, "t[..]", out);
        bt_text_addf(out, ", ");
        (void)take(m, ",");
    }
    bt_text_addf(out, ")");
}

static void add_number(struct maker *m, const char *number, const char *type,
                       bt_text *out)
{
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[CASE_MAX_DIM];
    read_input(m, type, &dtype, &rank);
    rank = draw(m, 4) ? 0 : rank;
    draw_dims(m, rank > CASE_MAX_DIM ? 0 : rank, dims);
    if (!m->failed)
        add_constant(m, out, dtype, rank, dims, number);
}

/* Of one of several operators, or of a capital letter's. */
static void add_operator(struct maker *m, const char *word, bt_text *out)
{
    const char *name = word;
    for (uint32_t n = 2; take(m, "|"); n++) {
        const char *other = take_word(m);
        name = draw(m, n) ? name : other;
    }
    m->failed |= !take(m, "(");
    if (!m->failed && isupper((unsigned char)word[0]) && !word[1]) {
        name = find_name(m, word);
        if (!name)
            name = add_name(m, word, draw_lawful(m, count_args(m)));
    }
    if (!m->failed)
        add_call(m, name, out);
}

static void add_expr(struct maker *m, const char *type, bt_text *out)
{
    if (m->failed || m->depth++ == MAX_DEPTH) {
        m->failed = 1;
        return;
    }
    if (take(m, "(")) {
        add_tuple(m, out);
    } else {
        const char *word = take_word(m);
        int is_const = strcmp(word, "const") == 0;
        if (is_const)
            word = take_word(m);
        char c = peek(m);
        if (is_element(word))
            add_number(m, word, type, out);
        else if (c == '(' || c == '|')
            add_operator(m, word, out);
        else if (c == ':' && take(m, ":"))
            add_expr(m, type, out);
        else
            bt_text_addf(out, "%s", value_of(m, word, type, is_const));
    }
    m->depth--;
}

bt_status rule_program_make(bt_ctx *ctx, bt_arena *arena, const char *rule,
                            uint32_t number, uint64_t seed, const int64_t *extents,
                            struct rule_program *out)
{
    const char *arrow = strstr(rule, "=>");
    struct maker m = { .ctx = ctx, .arena = arena, .at = rule, .seed = seed, .out = out };
    bt_text expr, whole;
    *out = (struct rule_program){ 0 };
    m.end = arrow ? arrow : rule + strlen(rule);
    m.rank = draw(&m, MAX_RANK + 1);
    m.extent = 1 + draw(&m, 3);
    m.extents = extents;
    if (extents)
        m.extent = extents[0];
    m.dtype = dtypes[number % BT_COUNT(dtypes)];
    bt_text_init(&m.params, arena);
    bt_text_init(&m.constants, arena);
    bt_text_init(&expr, arena);
    bt_text_init(&whole, arena);
    add_expr(&m, "t[..]", &expr);
    bt_ctx_clear_diags(ctx);
    if (m.params.failed || m.constants.failed || expr.failed ||
        bt_arena_has_failed(arena))
        return bt_no_memory();
    if (m.failed)
        return NULL;
    bt_text_addf(&whole, "#[version = \"baton 0.1\"]\n\ndef @main(%s) {\n%s    %s\n}\n",
                 m.params.len ? bt_text_get(&m.params) : "",
                 m.constants.len ? bt_text_get(&m.constants) : "", bt_text_get(&expr));
    out->text = bt_text_get(&whole);
    return out->text ? NULL : bt_no_memory();
}

bt_status rule_program_read(bt_ctx *ctx, const char *text, bt_module **out)
{
    bt_module *parsed;
    BT_TRY(bt_parse(ctx, "program", NULL, text, strlen(text), &parsed));
    bt_status status = bt_infer(ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}
