/*
 * A compiler's messages as diagnostics.
 *
 *     swish.c:3:14: error: 'sigmod' undeclared        with a column, as by cc
 *     swish.c:3: error: 'sigmod' undeclared           without, as by tcc
 *     tcc: error: memory full                         about no line
 */
#include <string.h>

#include <baton/compiler.h>

#include "base/ctx.h"

enum { MAX_ERRORS = 20, MAX_QUOTED = 400 };

struct span {
    const char *at;
    size_t nbytes;
};

/* ---- where ---- */

/* Line `number` of the text; nothing where it has fewer. */
static struct span line_of(const bt_c_source *source, uint32_t number)
{
    const char *at = source->text, *end = source->text + source->nbytes;
    for (uint32_t i = 1; i < number && at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return (struct span){ at, (size_t)((newline ? newline : end) - at) };
}

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* Column of the first place where `part` stands as a whole word; 0: none. */
static uint32_t find_part(struct span line, struct span part)
{
    for (size_t i = 0; part.nbytes > 0 && i + part.nbytes <= line.nbytes; i++) {
        const char *at = line.at + i;
        if (memcmp(at, part.at, part.nbytes) == 0 &&
            !(i > 0 && is_word(at[-1]) && is_word(at[0])) &&
            !(i + part.nbytes < line.nbytes && is_word(at[part.nbytes]) &&
              is_word(at[part.nbytes - 1])))
            return (uint32_t)i + 1;
    }
    return 0;
}

/* The next part of a message in quotes. */
static int next_quoted(struct span *message, struct span *out)
{
    while (message->nbytes > 0) {
        char quote = *message->at++;
        message->nbytes--;
        const char *close = quote == '\'' || quote == '"'
                                ? memchr(message->at, quote, message->nbytes)
                                : NULL;
        if (close) {
            *out = (struct span){ message->at, (size_t)(close - message->at) };
            message->nbytes -= out->nbytes + 1;
            message->at = close + 1;
            return 1;
        }
    }
    return 0;
}

/* Without a column: what the message quotes, else the line without its indentation. */
static void underline(struct span line, struct span message, bt_place *place)
{
    struct span part;
    size_t start = 0;
    while (next_quoted(&message, &part)) {
        place->column = find_part(line, part);
        place->width = (uint32_t)part.nbytes;
        if (place->column)
            return;
    }
    while (start < line.nbytes && (line.at[start] == ' ' || line.at[start] == '\t'))
        start++;
    place->column = (uint32_t)start + 1;
    place->width = start < line.nbytes ? (uint32_t)(line.nbytes - start) : 1;
}

/* Of the word that begins at a column, at least 1. */
static uint32_t word_width(struct span line, uint32_t column)
{
    size_t end = column - 1;
    while (end < line.nbytes && is_word(line.at[end]))
        end++;
    return end > column ? (uint32_t)(end - column) + 1 : 1;
}

/* Takes ":NUMBER" from the end of `where`. 0: there is none */
static uint32_t take_number(struct span *where)
{
    size_t n = where->nbytes;
    uint32_t value = 0, unit = 1;
    for (; n > 0 && where->at[n - 1] >= '0' && where->at[n - 1] <= '9'; n--) {
        if (where->nbytes - n < 9)
            value += unit * (uint32_t)(where->at[n - 1] - '0');
        unit *= 10;
    }
    if (n == where->nbytes || n < 2 || where->at[n - 1] != ':')
        return 0;
    where->nbytes = n - 1;
    return value;
}

/* `last` and `before` are the numbers that stood behind the name: line and column, or the
 * line and 0. */
static bt_status fail_line(bt_ctx *ctx, const bt_c_source *source, struct span where,
                           uint32_t last, uint32_t before, struct span message)
{
    bt_place place = { .width = 1 };
    place.line = before ? before : last;
    place.column = before ? last : 0;
    place.file = bt_arena_text(ctx->diags, where.at, where.nbytes);
    if (!place.file)
        return bt_no_memory();
    if (strcmp(place.file, source->name) == 0) {
        struct span line = line_of(source, place.line);
        if (place.column)
            place.width = word_width(line, place.column);
        else
            underline(line, message, &place);
        place.text = bt_arena_text(ctx->diags, line.at, line.nbytes);
        if (!place.text)
            return bt_no_memory();
    }
    return bt_fail_place(ctx, BT_ERR_SYNTAX, &place, "%.*s", (int)message.nbytes,
                         message.at);
}

/* ---- what ---- */

static const char unexplained[] = "no reason is given";

/* Parts a line at the word that marks an error. */
static int is_error(struct span line, struct span *where, struct span *message)
{
    static const char *const marks[] = { ": error: ", ": fatal error: " };
    for (size_t i = 0; i < BT_COUNT(marks); i++) {
        size_t n = strlen(marks[i]);
        for (size_t at = 0; at + n <= line.nbytes; at++) {
            if (memcmp(line.at + at, marks[i], n) == 0) {
                *where = (struct span){ line.at, at };
                *message = (struct span){ line.at + at + n, line.nbytes - at - n };
                if (message->nbytes > MAX_QUOTED)
                    message->nbytes = MAX_QUOTED;
                if (message->nbytes == 0)
                    *message = (struct span){ unexplained, strlen(unexplained) };
                return 1;
            }
        }
    }
    return 0;
}

/* Nothing is said of any line: it is not the text's fault. */
static bt_status fail_without_lines(bt_ctx *ctx, const char *compiler,
                                    const bt_c_source *source, struct span said)
{
    while (said.nbytes > 0 && (*said.at == ' ' || *said.at == '\n')) {
        said.at++;
        said.nbytes--;
    }
    if (said.nbytes == 0)
        return bt_fail(ctx, BT_ERR_PLUGIN, "%s failed on %s without saying why", compiler,
                       source->name);
    const char *end = memchr(said.at, '\n', said.nbytes);
    size_t n = end ? (size_t)(end - said.at) : said.nbytes;
    return bt_fail(ctx, BT_ERR_PLUGIN, "%s failed on %s: %.*s", compiler, source->name,
                   (int)(n < MAX_QUOTED ? n : MAX_QUOTED), said.at);
}

/* The first, with the others as its notes. */
static bt_status join(bt_ctx *ctx, uint32_t n, const bt_status *errors)
{
    bt_diag *out = NULL;
    while (n-- > 0) {
        bt_diag *copy = BT_NEW(ctx->diags, bt_diag);
        if (!copy)
            return bt_no_memory();
        *copy = *errors[n];
        copy->note = out;
        out = copy;
    }
    return out ? out : bt_no_memory();
}

bt_status bt_c_errors(bt_ctx *ctx, const char *compiler, const bt_c_source *source,
                      const char *messages)
{
    bt_status errors[MAX_ERRORS];
    uint32_t n = 0;
    messages = messages ? messages : "";
    struct span bare = { messages, strlen(messages) };
    for (const char *at = messages; *at && n < MAX_ERRORS;) {
        struct span line = { at, strcspn(at, "\n") }, where, message;
        at += line.nbytes + (at[line.nbytes] != 0);
        if (!is_error(line, &where, &message))
            continue;
        uint32_t last = take_number(&where), before = last ? take_number(&where) : 0;
        if (!last) {
            bare = message;
            continue;
        }
        errors[n] = fail_line(ctx, source, where, last, before, message);
        if (errors[n++]->code == BT_ERR_MEMORY)
            return bt_no_memory();
    }
    return n > 0 ? join(ctx, n, errors) : fail_without_lines(ctx, compiler, source, bare);
}
