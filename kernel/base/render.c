/*
 * Diagnostics as people and as programs read them.
 *
 *     net.txt:3:14: error: nn.dense: 3 columns meet 4 rows
 *         let %y = nn.dense(%x, %w);
 *                  ^~~~~~~~
 *     net.txt:1:9: note: %w was declared here
 *
 * Messages and source lines quote files, so what a terminal would obey is not passed on.
 */
#include <baton/base.h>

#include <string.h>

#include "base/utf8.h"

enum {
    BEFORE = 60, /* bytes of a long line shown before and behind the column */
    BEHIND = 60
};

/* The first byte of a code point at or behind `at`. */
static size_t to_boundary(const char *text, size_t nbytes, size_t at)
{
    while (at < nbytes && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* Adds the bytes with '?' for every control character and every byte that is no UTF-8. */
static void add_shown(bt_text *out, const char *text, size_t nbytes)
{
    size_t start = 0, at = 0;
    while (at < nbytes) {
        uint32_t c = 0;
        size_t length = bt__utf8_read(text + at, nbytes - at, &c);
        if (length == 0 || (bt__utf8_is_control(c) && c != '\t')) {
            bt_text_add(out, text + start, at - start);
            bt_text_add(out, "?", 1);
            at += length ? length : 1;
            start = at;
        } else {
            at += length;
        }
    }
    bt_text_add(out, text + start, nbytes - start);
}

/* One mark for each character of text[from..to), tabs kept, so that what follows is
 * aligned. */
static void add_marks(bt_text *out, const char *text, size_t from, size_t to, char mark)
{
    for (size_t at = from; at < to;) {
        uint32_t c;
        size_t length = bt__utf8_read(text + at, to - at, &c);
        bt_text_add(out, mark == ' ' && text[at] == '\t' ? "\t" : &mark, 1);
        at += length ? length : 1;
    }
}

/* The part of the line that is shown. */
struct window {
    size_t from, to;
};

static struct window window_of(const char *line, size_t nbytes, size_t column)
{
    struct window w = { 0, nbytes };
    if (nbytes <= BEFORE + BEHIND)
        return w;
    if (column > BEFORE)
        w.from = to_boundary(line, nbytes, column - BEFORE);
    if (nbytes - column > BEHIND)
        w.to = to_boundary(line, nbytes, column + BEHIND);
    return w;
}

static void add_line(bt_text *out, const bt_place *place, int colour)
{
    const char *line = place->text;
    size_t nbytes = strlen(line);
    size_t column = place->column ? place->column - 1 : 0;
    if (column > nbytes)
        column = nbytes;
    struct window w = window_of(line, nbytes, column);
    size_t end = place->width < w.to - column ? column + place->width : w.to;

    bt_text_addf(out, "    %s", w.from ? "..." : "");
    add_shown(out, line + w.from, w.to - w.from);
    bt_text_addf(out, "%s\n    %s", w.to < nbytes ? "..." : "", w.from ? "   " : "");
    add_marks(out, line, w.from, column, ' ');
    bt_text_addf(out, "%s^", colour ? "\033[32m" : "");
    if (column < end) {
        uint32_t c;
        size_t first = bt__utf8_read(line + column, nbytes - column, &c);
        add_marks(out, line, column + (first ? first : 1), end, '~');
    }
    bt_text_addf(out, "%s\n", colour ? "\033[0m" : "");
}

static void add_where(bt_text *out, const bt_place *place)
{
    if (place->file) {
        const char *file = *place->file ? place->file : "\"\"";
        add_shown(out, file, strlen(file));
        if (place->line && place->column)
            bt_text_addf(out, ":%u:%u", place->line, place->column);
        else if (place->line)
            bt_text_addf(out, ":%u", place->line);
        bt_text_addf(out, ": ");
    }
    if (place->node) {
        add_shown(out, place->node, strlen(place->node));
        bt_text_addf(out, ": ");
    }
}

static void add_diag(bt_text *out, const bt_diag *diag, const char *label,
                     const char *label_colour, int colour)
{
    bt_text_addf(out, "%s", colour ? "\033[1m" : "");
    add_where(out, &diag->place);
    bt_text_addf(out, "%s%s:%s ", colour ? label_colour : "", label,
                 colour ? "\033[0m" : "");
    add_shown(out, diag->message, strlen(diag->message));
    bt_text_addf(out, "\n");
    if (diag->place.text && diag->place.line)
        add_line(out, &diag->place, colour);
}

void bt_diag_render(bt_status status, int colour, bt_text *out)
{
    if (!status)
        return;
    add_diag(out, status, "error", "\033[31m", colour);
    for (const bt_diag *note = status->note; note; note = note->note)
        add_diag(out, note, "note", "\033[36m", colour);
}

/* ---- JSON ---- */

static void add_json_text(bt_text *out, const char *text)
{
    size_t nbytes = strlen(text), at = 0;
    bt_text_add(out, "\"", 1);
    while (at < nbytes) {
        uint32_t c = 0;
        size_t length = bt__utf8_read(text + at, nbytes - at, &c);
        if (length == 0)
            bt_text_addf(out, "\\ufffd");
        else if (c == '"' || c == '\\')
            bt_text_addf(out, "\\%c", (int)c);
        else if (bt__utf8_is_control(c))
            bt_text_addf(out, "\\u%04x", c);
        else
            bt_text_add(out, text + at, length);
        at += length ? length : 1;
    }
    bt_text_add(out, "\"", 1);
}

static void add_json_field(bt_text *out, const char *name, const char *value)
{
    if (value) {
        bt_text_addf(out, ", \"%s\": ", name);
        add_json_text(out, value);
    }
}

/* The fields of one record, without its notes and braces. */
static void add_json_diag(bt_text *out, const bt_diag *diag)
{
    const bt_place *p = &diag->place;
    bt_text_addf(out, "\"message\": ");
    add_json_text(out, diag->message);
    add_json_field(out, "file", p->file);
    if (p->line)
        bt_text_addf(out, ", \"line\": %u, \"column\": %u, \"width\": %u", p->line,
                     p->column, p->width);
    add_json_field(out, "node", p->node);
    add_json_field(out, "text", p->text);
}

void bt_diag_render_json(bt_status status, bt_text *out)
{
    if (!status) {
        bt_text_addf(out, "null");
        return;
    }
    bt_text_addf(out, "{\"code\": \"%s\", ", bt_code_name(status->code));
    add_json_diag(out, status);
    bt_text_addf(out, ", \"notes\": [");
    for (const bt_diag *note = status->note; note; note = note->note) {
        bt_text_addf(out, "%s{", note == status->note ? "" : ", ");
        add_json_diag(out, note);
        bt_text_addf(out, "}");
    }
    bt_text_addf(out, "]}");
}
