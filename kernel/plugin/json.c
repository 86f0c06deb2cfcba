/*
 * Reading JSON with places. One scanner knows the grammar: it refuses what is out of shape
 * at the byte where it goes wrong, makes jansson's values of what it passes, and later
 * walks to the value that a pointer names. jansson reads numbers and escapes.
 */
#include "plugin/json.h"

#include <string.h>

#include "base/ctx.h"
#include "base/utf8.h"

typedef struct scan {
    const char *text;
    size_t at, end;
    const char *expected; /* set where it goes wrong, at `at` */
    /* ... or where a token is wrong by itself, from `start` to `at` */
    size_t start;
    json_error_t error;
    uint32_t is_token, no_memory;
    bt_map *index; /* of bt__json_doc */
} scan;

static int fail(scan *s, const char *expected)
{
    s->expected = expected;
    return 0;
}

static int fail_memory(scan *s)
{
    s->no_memory = 1;
    return 0;
}

static int is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_space(scan *s)
{
    while (s->at < s->end && is_space(s->text[s->at]))
        s->at++;
}

static int peek(scan *s)
{
    skip_space(s);
    return s->at < s->end ? (unsigned char)s->text[s->at] : -1;
}

static int scan_escape(scan *s)
{
    const char *at = s->text + s->at + 1;
    size_t left = s->end - s->at - 1;
    if (left > 0 && *at && strchr("\"\\/bfnrt", *at)) {
        s->at += 2;
        return 1;
    }
    if (left < 5 || *at != 'u' || strspn(at + 1, "0123456789abcdefABCDEF") < 4)
        return fail(s, "an escape (\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u1234)");
    if (memcmp(at + 1, "0000", 4) == 0)
        return fail(s, "a text without NUL");
    s->at += 6;
    return 1;
}

static int scan_string(scan *s)
{
    if (peek(s) != '"')
        return fail(s, "a string in double quotes");
    s->at++;
    while (s->at < s->end) {
        unsigned char c = (unsigned char)s->text[s->at];
        uint32_t code_point;
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            s->at++;
            continue;
        }
        if (c == '"') {
            s->at++;
            return 1;
        }
        if (c < 0x20)
            return fail(s, "the end of the string before the end of the line");
        if (c == '\\') {
            if (!scan_escape(s))
                return 0;
            continue;
        }
        size_t n = bt__utf8_read(s->text + s->at, s->end - s->at, &code_point);
        if (n == 0)
            return fail(s, "UTF-8");
        s->at += n;
    }
    return fail(s, "the end of the string");
}

static int scan_scalar(scan *s)
{
    size_t start = s->at;
    while (s->at < s->end && s->text[s->at] && !strchr(" \t\r\n,:]}[{\"", s->text[s->at]))
        s->at++;
    const char *word = s->text + start;
    size_t n = s->at - start;
    int known = (n == 4 && memcmp(word, "true", 4) == 0) ||
                (n == 5 && memcmp(word, "false", 5) == 0) ||
                (n == 4 && memcmp(word, "null", 4) == 0) ||
                (n > 0 && strchr("-0123456789", *word));
    if (known)
        return 1;
    s->at = start;
    return fail(s, "a value (a string, number, true, false, null, list or object)");
}

/* ---- values ---- */

/* Of the `n` bytes at `start`. */
static int make_token(scan *s, size_t start, size_t n, json_t **out)
{
    const char *text = s->text + start;
    if (*text == '"' && !memchr(text, '\\', n)) {
        *out = json_stringn_nocheck(text + 1, n - 2);
        return *out || fail_memory(s);
    }
    *out = json_loadb(text, n, JSON_DECODE_ANY, &s->error);
    if (!*out && json_error_code(&s->error) == json_error_out_of_memory)
        return fail_memory(s);
    s->is_token = !*out;
    s->start = start;
    if (!*out)
        s->at = start + n;
    return *out != NULL;
}

/* Takes the value; the key's token begins at `start` and has `n` bytes. */
static int put_member(scan *s, json_t *object, size_t start, size_t n, json_t *value)
{
    char room[64];
    const char *name = room, *text = s->text + start;
    const size_t before = json_object_size(object);
    json_t *key = NULL;
    if (n <= sizeof(room) && !memchr(text, '\\', n)) {
        memcpy(room, text + 1, n - 2);
        room[n - 2] = 0;
    } else {
        if (!make_token(s, start, n, &key)) {
            json_decref(value);
            return 0;
        }
        name = json_string_value(key);
    }
    const int is_put = json_object_set_new_nocheck(object, name, value) == 0;
    json_decref(key);
    if (!is_put)
        return fail_memory(s);
    if (json_object_size(object) > before)
        return 1;
    s->is_token = 1;
    s->start = start;
    s->at = start + n;
    strcpy(s->error.text, "this key is given twice");
    return 0;
}

static int scan_value(scan *s, uint32_t depth, json_t **out);

/* The inside of a list or an object, from its opening bracket to its closing one. */
static int scan_container(scan *s, uint32_t depth, int is_object, json_t **out)
{
    const int close = is_object ? '}' : ']';
    json_t *value, **to = out ? &value : NULL;
    if (out && !(*out = is_object ? json_object() : json_array()))
        return fail_memory(s);
    s->at++;
    if (peek(s) == close) {
        s->at++;
        return 1;
    }
    for (;;) {
        peek(s);
        const size_t start = s->at;
        size_t nkey = 0;
        if (is_object) {
            if (!scan_string(s))
                return 0;
            nkey = s->at - start;
            if (peek(s) != ':')
                return fail(s, "\":\" after the key");
            s->at++;
        }
        if (!scan_value(s, depth + 1, to)) {
            if (out)
                json_decref(value);
            return 0;
        }
        if (out && is_object && !put_member(s, *out, start, nkey, value))
            return 0;
        if (out && !is_object && json_array_append_new(*out, value) != 0)
            return fail_memory(s);
        int next = peek(s);
        if (next != ',' && next != close)
            return fail(s, is_object ? "\",\" or \"}\"" : "\",\" or \"]\"");
        s->at++;
        if (next == close)
            return 1;
    }
}

/* jansson has one object for all `true`, so such values are found by walking. */
static int note_place(scan *s, const json_t *value, size_t start)
{
    return !s->index || json_is_boolean(value) || json_is_null(value) ||
           bt_map_put(s->index, value, (void *)(uintptr_t)start) || fail_memory(s);
}

/* Recursion is bounded by BT__JSON_MAX_DEPTH. out: the value, where one is wanted; after a
 * failure what there is of it, or NULL. */
static int scan_value(scan *s, uint32_t depth, json_t **out)
{
    const int c = peek(s), is_container = c == '{' || c == '[';
    const size_t start = s->at;
    if (out)
        *out = NULL;
    if (is_container && depth >= BT__JSON_MAX_DEPTH)
        return fail(s, NULL);
    return (is_container ? scan_container(s, depth, c == '{', out)
            : c == '"'   ? scan_string(s)
                         : scan_scalar(s)) &&
           (!out || ((is_container || make_token(s, start, s->at - start, out)) &&
                     note_place(s, *out, start)));
}

/* ---- places ---- */

static bt_status fail_spot_va(bt_ctx *ctx, bt__spot spot, const char *format,
                              va_list args) BT_PRINTF(3, 0);
static bt_status fail_spot_va(bt_ctx *ctx, bt__spot spot, const char *format,
                              va_list args)
{
    const bt__json_doc *doc = spot.doc;
    const struct bt__range range = { doc->file, doc->text, doc->nbytes, spot.at,
                                     spot.width };
    return bt__fail_in(ctx, doc->code, &range, format, args);
}

bt_status bt__spot_fail(bt_ctx *ctx, bt__spot spot, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = fail_spot_va(ctx, spot, format, args);
    va_end(args);
    return status;
}

bt_status bt__spot_wrap(bt_ctx *ctx, bt__spot spot, bt_status fault)
{
    if (fault->code == BT_ERR_MEMORY)
        return fault;
    bt_status status = bt__spot_fail(ctx, spot, "%s", fault->message);
    for (const bt_diag *note = fault->note; note; note = note->note)
        status = bt_note(ctx, status, NULL, 0, "%s", note->message);
    return status;
}

/* Whether the string token text[start, end) spells `key`. */
static int is_key(const char *text, size_t start, size_t end, const char *key)
{
    size_t nkey = strlen(key);
    if (!memchr(text + start, '\\', end - start))
        return end - start == nkey + 2 && memcmp(text + start + 1, key, nkey) == 0;
    json_t *decoded = json_loadb(text + start, end - start, JSON_DECODE_ANY, NULL);
    int equal = decoded && strcmp(json_string_value(decoded), key) == 0;
    json_decref(decoded);
    return equal;
}

/* From the start of an object to the value of a member; the key's range in *key_at. */
static int enter_member(scan *s, const char *key, size_t *key_at, size_t *key_width)
{
    s->at++;
    while (peek(s) == '"') {
        size_t start = s->at;
        if (!scan_string(s))
            return 0;
        *key_at = start;
        *key_width = s->at - start;
        int found = is_key(s->text, start, s->at, key);
        if (peek(s) != ':')
            return 0;
        s->at++;
        skip_space(s);
        if (found)
            return 1;
        if (!scan_value(s, 0, NULL) || peek(s) != ',')
            return 0;
        s->at++;
    }
    return 0;
}

static int enter_element(scan *s, size_t index)
{
    s->at++;
    for (size_t i = 0; i < index; i++) {
        if (!scan_value(s, 0, NULL) || peek(s) != ',')
            return 0;
        s->at++;
    }
    skip_space(s);
    return 1;
}

/* Walks to the value of a cursor. */
static int enter(scan *s, const bt__json *json, size_t *key_at, size_t *key_width)
{
    const bt__json *path[BT__JSON_MAX_DEPTH + 1];
    uint32_t n = 0;
    for (const bt__json *j = json; j->up; j = j->up) {
        if (n > BT__JSON_MAX_DEPTH)
            return 0;
        path[n++] = j;
    }
    skip_space(s);
    while (n > 0) {
        const bt__json *step = path[--n];
        int c = peek(s);
        if (step->key ? c != '{' || !enter_member(s, step->key, key_at, key_width)
                      : c != '[' || !enter_element(s, step->index))
            return 0;
    }
    return 1;
}

bt__spot bt__json_spot(const bt__json *json, int at_key)
{
    const bt__json_doc *doc = json->doc;
    scan s = { .text = doc->text, .end = doc->nbytes };
    size_t key_at = 0, key_width = 1;
    const bt_map_entry *known =
        doc->index && !at_key ? bt_map_entry_find(doc->index, json->value) : NULL;
    if (known)
        s.at = (size_t)(uintptr_t)known->value;
    else if (!enter(&s, json, &key_at, &key_width))
        return (bt__spot){ doc, 0, 1 };
    if (at_key && json->key)
        return (bt__spot){ doc, (uint32_t)key_at, (uint32_t)key_width };
    size_t start = s.at;
    int c = peek(&s);
    size_t width = 1;
    if (c != '{' && c != '[' && scan_value(&s, 0, NULL))
        width = s.at - start;
    return (bt__spot){ doc, (uint32_t)start, (uint32_t)width };
}

/* ---- parsing ---- */

static bt__spot spot_at(const bt__json_doc *doc, size_t at, size_t width)
{
    return (bt__spot){ doc, (uint32_t)at, (uint32_t)width };
}

static bt_status fail_scan(bt_ctx *ctx, const bt__json_doc *doc, scan *s)
{
    bt__spot spot = spot_at(doc, s->at, 1);
    if (s->no_memory)
        return bt_no_memory();
    if (s->is_token)
        return bt__spot_fail(ctx, spot_at(doc, s->start, s->at - s->start), "%s",
                             s->error.text);
    if (!s->expected)
        return bt__spot_fail(ctx, spot, "lists and objects are nested more than %d deep",
                             BT__JSON_MAX_DEPTH);
    if (s->at >= s->end)
        return bt__spot_fail(ctx, spot, "expected %s, found the end", s->expected);
    unsigned char c = (unsigned char)s->text[s->at];
    if (c < 0x20 || c >= 0x7f)
        return bt__spot_fail(ctx, spot, "expected %s, found byte 0x%02x", s->expected, c);
    return bt__spot_fail(ctx, spot, "expected %s, found \"%c\"", s->expected, c);
}

bt_status bt__json_parse(bt_ctx *ctx, const bt__json_doc *doc, json_t **out)
{
    bt_place whole = { .file = doc->file };
    json_t *root = NULL;
    if (doc->nbytes > BT__JSON_MAX_NBYTES)
        return bt_fail_place(ctx, BT_ERR_LIMIT, &whole,
                             "%zu bytes are too many: at most %u are read", doc->nbytes,
                             BT__JSON_MAX_NBYTES);
    const char *nul = memchr(doc->text, 0, doc->nbytes);
    if (nul)
        return bt__spot_fail(ctx, spot_at(doc, (size_t)(nul - doc->text), 1),
                             "found a NUL byte");
    scan s = { .text = doc->text, .end = doc->nbytes, .index = doc->index };
    int ok = peek(&s) == '{' ? scan_value(&s, 0, &root) : fail(&s, "an object");
    if (ok && peek(&s) >= 0)
        ok = fail(&s, "nothing after the object");
    if (!ok) {
        json_decref(root);
        return fail_scan(ctx, doc, &s);
    }
    *out = root;
    return NULL;
}

/* ---- cursors ---- */

bt__json bt__json_root(const bt__json_doc *doc, const json_t *value)
{
    return (bt__json){ .doc = doc, .value = value };
}

bt__json bt__json_member(const bt__json *up, const char *key)
{
    return (bt__json){
        .doc = up->doc, .up = up, .key = key, .value = json_object_get(up->value, key)
    };
}

bt__json bt__json_element(const bt__json *up, size_t index)
{
    return (bt__json){ .doc = up->doc,
                       .up = up,
                       .index = index,
                       .value = json_array_get(up->value, index) };
}

void bt__json_pointer(const bt__json *json, bt_text *out)
{
    const bt__json *path[BT__JSON_MAX_DEPTH + 1];
    uint32_t n = 0;
    for (const bt__json *j = json; j->up && n <= BT__JSON_MAX_DEPTH; j = j->up)
        path[n++] = j;
    while (n > 0) {
        const bt__json *step = path[--n];
        bt_text_addf(out, "/");
        if (!step->key)
            bt_text_addf(out, "%zu", step->index);
        for (const char *c = step->key ? step->key : ""; *c; c++) {
            if (*c == '~' || *c == '/')
                bt_text_addf(out, *c == '~' ? "~0" : "~1");
            else
                bt_text_add(out, c, 1);
        }
    }
}

static bt_status fail_va(bt_ctx *ctx, const bt__json *json, int at_key,
                         const char *format, va_list args) BT_PRINTF(4, 0);
static bt_status fail_va(bt_ctx *ctx, const bt__json *json, int at_key,
                         const char *format, va_list args)
{
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_text text;
    bt_text_init(&text, ctx->scratch);
    bt__json_pointer(json, &text);
    bt_text_addf(&text, json->up ? ": " : "");
    bt_text_addv(&text, format, args);
    const char *message = bt_text_get(&text);
    bt_status status =
        message ? bt__spot_fail(ctx, bt__json_spot(json, at_key), "%s", message)
                : bt_no_memory();
    bt_arena_release(ctx->scratch, mark);
    return status;
}

bt_status bt__json_fail(bt_ctx *ctx, const bt__json *json, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = fail_va(ctx, json, 0, format, args);
    va_end(args);
    return status;
}

bt_status bt__json_fail_key(bt_ctx *ctx, const bt__json *json, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = fail_va(ctx, json, 1, format, args);
    va_end(args);
    return status;
}

const char *bt__json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int add_piece(const char *piece, size_t nbytes, void *text)
{
    bt_text_add(text, piece, nbytes);
    return 0;
}

int bt__json_write(const json_t *value, size_t flags, bt_text *out)
{
    return json_dump_callback(value, add_piece, out, flags | JSON_ENCODE_ANY) == 0 &&
           !out->failed;
}

const char *bt__json_excerpt(bt_arena *arena, const json_t *value, size_t limit)
{
    bt_text text;
    bt_text_init(&text, arena);
    if (!value)
        return "nothing";
    if (!bt__json_write(value, 0, &text))
        return NULL;
    if (text.len > limit) {
        size_t end = limit - 3;
        while (end > 0 && ((unsigned char)text.at[end] & 0xc0) == 0x80)
            end--; // not within a character
        memcpy(text.at + end, "...", 4);
    }
    return bt_text_get(&text);
}

int bt__json_put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

json_t *bt__json_words(const char *text)
{
    json_t *words = json_array();
    for (text = text ? text : ""; words && *text;) {
        size_t n = strcspn(text, " ");
        if (n > 0 && json_array_append_new(words, json_stringn(text, n)) != 0) {
            json_decref(words);
            return NULL;
        }
        text += n + (text[n] != 0);
    }
    return words;
}
