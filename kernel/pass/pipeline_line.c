/*
 * The one-line form:
 *
 *     list    = [ item { "," item } ]
 *     item    = NAME [ "{" [ option { "," option } ] "}" ]  |  "(" list ")" "*" NUMBER
 *     option  = NAME "=" value, as an attribute is written
 *
 * NAME is a pass, which runs at every level, or a pipeline, whose variables the options
 * give. (...)*4 repeats until nothing changes, at most 4 times.
 */
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "pass/pipeline.h"

#define MAX_DEPTH 16

typedef struct line {
    bt_ctx *ctx;
    bt_pipeline *p;
    const char *text;
    size_t at;
} line;

static bt__spot spot_at(const line *l, size_t at, size_t width)
{
    return (bt__spot){ &l->p->doc, (uint32_t)at, (uint32_t)width };
}

static bt_status fail(const line *l, const char *expected)
{
    bt__spot spot = spot_at(l, l->at, 1);
    if (!l->text[l->at])
        return bt__spot_fail(l->ctx, spot, "expected %s, found the end", expected);
    return bt__spot_fail(l->ctx, spot, "expected %s, found \"%c\"", expected,
                         l->text[l->at]);
}

static char peek(line *l)
{
    while (l->text[l->at] && isspace((unsigned char)l->text[l->at]))
        l->at++;
    return l->text[l->at];
}

static bt_status take_name(line *l, const char *what, size_t *start, const char **out)
{
    peek(l);
    *start = l->at;
    while (isalnum((unsigned char)l->text[l->at]) ||
           (l->text[l->at] && strchr("_.-", l->text[l->at])))
        l->at++;
    const char *name = bt_arena_text(l->p->arena, l->text + *start, l->at - *start);
    if (!name)
        return bt_no_memory();
    if (!bt__is_name(name)) {
        l->at = *start;
        return fail(l, what);
    }
    *out = name;
    return NULL;
}

/* The end of a value: the comma or brace that is in no bracket and no quotes. */
static bt_status take_value(line *l, const char **out)
{
    peek(l);
    size_t start = l->at, depth = 0;
    for (char c; (c = l->text[l->at]); l->at++) {
        if (c == '"') {
            for (l->at++; l->text[l->at] && l->text[l->at] != '"'; l->at++)
                l->at += l->text[l->at] == '\\' && l->text[l->at + 1];
            if (!l->text[l->at])
                return fail(l, "the end of the string");
        } else if (strchr("([", c)) {
            depth++;
        } else if (strchr(")]", c)) {
            if (depth == 0)
                return fail(l, "a value");
            depth--;
        } else if (depth == 0 && (c == ',' || c == '}')) {
            break;
        }
    }
    size_t end = l->at;
    while (end > start && isspace((unsigned char)l->text[end - 1]))
        end--;
    if (end == start)
        return fail(l, "a value");
    *out = bt_arena_text(l->p->arena, l->text + start, end - start);
    return *out ? NULL : bt_no_memory();
}

static bt_status take_options(line *l, bt__settings *out)
{
    l->at++;
    while (peek(l) != '}') {
        bt__setting option = { 0 };
        size_t start = 0;
        const char *name = NULL;
        BT_TRY(take_name(l, "an option's name, or \"}\"", &start, &name));
        option.name = bt__option_name(l->p->arena, name, strlen(name));
        if (peek(l) != '=')
            return fail(l, "\"=\" after the option's name");
        l->at++;
        BT_TRY(take_value(l, &option.text));
        option.spot = spot_at(l, start, l->at - start);
        if (!option.name || !BT_PUSH(l->p->arena, out, option))
            return bt_no_memory();
        if (peek(l) == ',')
            l->at++;
        else if (peek(l) != '}')
            return fail(l, "\",\" or \"}\"");
    }
    l->at++;
    return NULL;
}

static bt_status take_list(line *l, uint32_t depth, bt__steps *out);

static bt_status take_repeat(line *l, uint32_t depth, bt__step *step)
{
    step->kind = BT__STEP_REPEAT;
    l->at++;
    BT_TRY(take_list(l, depth + 1, &step->steps));
    if (peek(l) != ')')
        return fail(l, "\",\" or \")\"");
    l->at++;
    if (peek(l) != '*')
        return fail(l, "\"*\" and how often at most to repeat: (...)*4");
    l->at++;
    peek(l);
    size_t start = l->at;
    for (; isdigit((unsigned char)l->text[l->at]) && step->max <= BT__ROUNDS_MAX; l->at++)
        step->max = step->max * 10 + (uint32_t)(l->text[l->at] - '0');
    if (step->max >= 1 && step->max <= BT__ROUNDS_MAX)
        return NULL;
    l->at = start;
    return fail(l, "a number of rounds in 1..1000");
}

/* A name is a pipeline's only where no pass has it. */
static bt_status find_kind(const line *l, bt__step *step)
{
    int is_pass, is_pipeline;
    BT_TRY(bt__plugins_has(l->ctx, "baton.pass/1", step->name, &is_pass));
    BT_TRY(bt__plugins_has(l->ctx, "pipeline", step->name, &is_pipeline));
    if (is_pipeline && !is_pass)
        step->kind = BT__STEP_PIPELINE;
    return NULL;
}

static bt_status take_item(line *l, uint32_t depth, bt__step *step)
{
    size_t start = l->at;
    *step = (bt__step){ .level = 0, .max_level = INT32_MAX };
    step->spot = spot_at(l, start, 1);
    if (peek(l) == '(') {
        if (depth >= MAX_DEPTH)
            return fail(l, "at most 16 levels of repeats");
        return take_repeat(l, depth, step);
    }
    BT_TRY(take_name(l, "a pass's name", &start, &step->name));
    step->spot = spot_at(l, start, l->at - start);
    BT_TRY(find_kind(l, step));
    return peek(l) == '{' ? take_options(l, &step->settings) : NULL;
}

/* Recursion is bounded by MAX_DEPTH. */
static bt_status take_list(line *l, uint32_t depth, bt__steps *out)
{
    for (;;) {
        bt__step step;
        BT_TRY(take_item(l, depth, &step));
        if (!BT_PUSH(l->p->arena, out, step))
            return bt_no_memory();
        if (peek(l) != ',')
            return NULL;
        l->at++;
    }
}

static bt_status check_encoding(line *l)
{
    uint32_t code_point;
    for (size_t n; l->at < l->p->doc.nbytes; l->at += n) {
        n = bt__utf8_read(l->text + l->at, l->p->doc.nbytes - l->at, &code_point);
        if (n == 0)
            return bt__spot_fail(l->ctx, spot_at(l, l->at, 1),
                                 "expected UTF-8, found byte 0x%02x",
                                 (unsigned char)l->text[l->at]);
    }
    l->at = 0;
    return NULL;
}

bt_status bt__pipeline_line(bt_ctx *ctx, bt_pipeline *p)
{
    line l = { .ctx = ctx, .p = p, .text = p->doc.text };
    p->name = "passes";
    BT_TRY(check_encoding(&l));
    if (!peek(&l))
        return NULL;
    BT_TRY(take_list(&l, 0, &p->steps));
    return peek(&l) ? fail(&l, "\",\" or the end") : NULL;
}
