/*
 * Imports: the texts that a module is read from.
 *
 *   import = "import" STRING [ ";" ]
 *
 * "prelude" is a library, which a plugin provides; a name with a dot, "layers.baton", is
 * a file in the folder of the text that imports it, which is that of the first text or
 * one beneath it. Nothing else is reached. All texts share one space of names, in which
 * each name is defined once. Of an imported text those definitions are read that are used,
 * and all data types: what the module has of it prints as if it had
 * been written there.
 */
#include "text/draft.h"

#include <string.h>

#include "plugin/plugins.h"

enum { TEXTS_MAX = 256 };

bt_status bt__add_text(bt__parser *p, const struct bt__text *text)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF"; // of UTF-8: editors write it
    size_t skip = sizeof(byte_order_mark) - 1;
    struct bt__text own = *text;
    if (own.nbytes >= skip && memcmp(own.text, byte_order_mark, skip) == 0) {
        own.text += skip;
        own.nbytes -= (uint32_t)skip;
    }
    BT_TRY(bt_store_add_source(p->ctx, p->store, own.file, own.text, own.nbytes,
                               &own.source));
    return BT_PUSH(p->arena, &p->module->texts, own) ? NULL : bt_no_memory();
}

void bt__set_text(bt__parser *p, uint32_t in)
{
    const struct bt__text *text = &p->module->texts.at[in];
    p->in = in;
    p->file = text->file;
    p->text = text->text;
    p->nbytes = text->nbytes;
    p->dialect = text->dialect;
    p->module->source = text->source;
}

bt_span bt__span_of(bt__parser *p, uint32_t in, const bt__token *token)
{
    return bt_span_text(p->store, p->module->texts.at[in].source, token->offset,
                        token->nbytes);
}

/* ---- finding ---- */

bt_status bt__read_library(bt__parser *p, const char *name, struct bt__text *out,
                           size_t *nbytes)
{
    bt__item *item;
    BT_TRY(bt__plugins_item(p->ctx, "library", name, &item));
    return bt__item_text(p->ctx, p->arena, item, bt_ctx_limits(p->ctx)->bytes, &out->file,
                         &out->text, nbytes);
}

static size_t folder_nbytes(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? (size_t)(slash + 1 - file) : 0;
}

/* Steps that lead nowhere, as in "./x" and "a//x", are left out: a file has one name. */
static void add_steps(bt_text *path, const char *name)
{
    const char *next = NULL;
    for (const char *at = name; at; at = next) {
        size_t nbytes = strcspn(at, "/");
        next = at[nbytes] ? at + nbytes + 1 : NULL;
        if (!next || (nbytes && !(nbytes == 1 && *at == '.')))
            bt_text_addf(path, "%.*s%s", (int)nbytes, at, next ? "/" : "");
    }
}

/* What this text calls `name` is read as it stands from the folder of the first text on,
 * with which the name of every file begins. */
static bt_status read_file(bt__parser *p, const char *name, struct bt__text *out,
                           size_t *nbytes)
{
    bt_file *file;
    bt_text path;
    size_t first = folder_nbytes(p->module->texts.at[0].file);
    out->folder = p->module->texts.at[p->in].folder;
    if (!out->folder)
        return bt_fail(p->ctx, BT_ERR_UNSUPPORTED,
                       "files are not imported here: the text has no folder");
    bt_text_init(&path, p->arena);
    bt_text_addf(&path, "%.*s", (int)folder_nbytes(p->file), p->file ? p->file : "");
    add_steps(&path, name);
    out->file = bt_text_get(&path);
    if (!out->file)
        return bt_no_memory();
    BT_TRY(bt_file_read_beneath(p->ctx, out->folder,
                                *name == '/' ? name : out->file + first, &file));
    out->text = bt_arena_text(p->arena, file->bytes, file->nbytes);
    *nbytes = file->nbytes;
    bt_file_close(p->ctx, file);
    return out->text ? NULL : bt_no_memory();
}

/* Together the texts have no more bytes than one may have. */
static bt_status check_size(const bt__parser *p, size_t nbytes)
{
    uint64_t all = nbytes;
    for (uint32_t i = 0; i < p->module->texts.len; i++)
        all += p->module->texts.at[i].nbytes;
    if (p->module->texts.len >= TEXTS_MAX)
        return bt_fail(p->ctx, BT_ERR_LIMIT, "more than %d texts", TEXTS_MAX);
    if (all >= UINT32_MAX || all > bt_ctx_limits(p->ctx)->bytes)
        return bt_fail(p->ctx, BT_ERR_LIMIT, "%llu bytes of text together are too many",
                       (unsigned long long)all);
    return NULL;
}

/* The text of that name, read or found among those that were. */
static bt_status find_text(bt__parser *p, const char *name, uint32_t *out)
{
    struct bt__text found = { 0 };
    size_t nbytes = 0;
    BT_TRY(strchr(name, '.') ? read_file(p, name, &found, &nbytes)
                             : bt__read_library(p, name, &found, &nbytes));
    for (*out = 0; *out < p->module->texts.len; ++*out) {
        const char *file = p->module->texts.at[*out].file;
        if (file && strcmp(file, found.file) == 0)
            return NULL;
    }
    BT_TRY(check_size(p, nbytes));
    found.nbytes = (uint32_t)nbytes;
    return bt__add_text(p, &found);
}

/* Of a library that is not there: a file that may be meant. */
static const char *hint_file(bt__parser *p, const char *name)
{
    struct bt__text file;
    size_t nbytes;
    const char *whole = bt__format(p->arena, "%s.baton", name);
    const char *hint = whole && !read_file(p, whole, &file, &nbytes)
                           ? bt__format(p->arena,
                                        "; a file is named with its ending: write "
                                        "import \"%s\"",
                                        whole)
                           : NULL;
    return hint ? hint : "";
}

/* ---- heads ---- */

/* `in` is imported where it is read itself: a -> b -> a. */
static int fail_cycle(bt__parser *p, const bt__token *token, uint32_t in)
{
    bt_text chain;
    bt_text_init(&chain, p->arena);
    for (uint32_t i = in; i < p->module->texts.len; i++) {
        const struct bt__text *text = &p->module->texts.at[i];
        if (text->is_open)
            bt_text_addf(&chain, "%s -> ", text->file ? text->file : "the text");
    }
    bt_text_addf(&chain, "%s", p->module->texts.at[in].file);
    const char *shown = bt_text_get(&chain);
    return shown ? bt__error_token(p, BT_ERR_NAME, token, "imports go in a circle: %s",
                                   shown)
                 : bt__error_memory(p);
}

/* import "name" [;]: *out is the text; the one that is read where it is there already. */
static int parse_import(bt__parser *p, uint32_t *out)
{
    bt__advance(p);
    bt__token token = p->token;
    if (!bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "what is imported, such as \"prelude\"");
    const char *name = bt__token_name(p, &token);
    if (!name)
        return 0;
    uint32_t known = p->module->texts.len;
    bt_status why = find_text(p, name, out);
    if (why && why->code == BT_ERR_MEMORY)
        return bt__error_memory(p);
    if (why) {
        bt_status status = bt__status_at(p, why->code, token.offset, token.nbytes,
                                         "import \"%s\": %s%s", name, why->message,
                                         strchr(name, '.') ? "" : hint_file(p, name));
        return bt__error_status(p, bt__note_chain(p->ctx, status, why->note));
    }
    if (p->module->texts.at[*out].is_open)
        return fail_cycle(p, &token, *out);
    if (*out < known)
        *out = p->in;
    bt__advance(p);
    bt__accept(p, BT_TOKEN_SEMICOLON);
    return 1;
}

/* Headers; what follows them stands where the parser is. */
static int open_text(bt__parser *p, uint32_t in)
{
    bt__set_text(p, in);
    bt__seek(p, 0);
    p->expected_at = UINT32_MAX; // an offset of another text
    if (!bt__parse_headers(p))
        return 0;
    p->module->texts.at[in].dialect = p->dialect;
    p->module->texts.at[in].is_open = 1;
    return 1;
}

int bt__parse_heads(bt__parser *p)
{
    bt__module_draft *module = p->module;
    bt_vec(uint32_t) open = { 0 }; // each is imported by the one before it
    uint32_t in = 0;
    if (!BT_PUSH(p->arena, &open, in) || !open_text(p, 0))
        return p->first ? 0 : bt__error_memory(p);
    while (open.len) {
        int is_import = bt__at_word(p, "import");
        if (is_import && !parse_import(p, &in))
            return 0;
        module->texts.at[p->in].start = p->token.offset;
        if (is_import && in != p->in) {
            if (!BT_PUSH(p->arena, &open, in))
                return bt__error_memory(p);
            if (!open_text(p, in))
                return 0;
        } else if (!is_import) {
            if (p->in && !bt__at_definition(p) && !bt__at(p, BT_TOKEN_END))
                return bt__error_expected(p, "an import or a definition");
            module->texts.at[p->in].is_open = 0;
            open.len--;
            bt__set_text(p, open.len ? open.at[open.len - 1] : 0);
            bt__seek(p, module->texts.at[p->in].start);
        }
    }
    return 1;
}

/* ---- definitions ---- */

int bt__note_imported(bt__parser *p)
{
    if (!bt__at_definition(p) || p->next.kind != BT_TOKEN_GLOBAL)
        return 1;
    bt_map *imported = &p->module->imported;
    const char *name = bt__token_name(p, &p->next);
    const struct bt__mention *other = name ? bt_map_find(imported, name) : NULL;
    struct bt__mention *def = BT_NEW(p->arena, struct bt__mention);
    if (!name || !def)
        return bt__error_memory(p);
    *def = (struct bt__mention){ p->in, p->token };
    if (!other)
        return bt_map_put(imported, name, def) || bt__error_memory(p);
    bt_status status = bt__status_at(p, BT_ERR_NAME, p->next.offset, p->next.nbytes,
                                     "`@%s` is defined twice", name);
    return bt__error_status(p, bt_note(p->ctx, status, p->store,
                                       bt__span_of(p, other->in, &other->token),
                                       "the other definition is here"));
}

/* Its definition, where it is imported and not there yet. */
static int parse_one(bt__parser *p, const char *name)
{
    const struct bt__mention *def = bt_map_find(&p->module->imported, name);
    if (!def || bt_map_find(&p->module->globals, name))
        return 1;
    bt__set_text(p, def->in);
    bt__seek(p, def->token.offset);
    p->expected_at = UINT32_MAX;
    // without a name yet, what is wrong with it was said
    return bt__parse_definition(p) || bt_map_find(&p->module->globals, name);
}

void bt__parse_imported(bt__parser *p)
{
    const bt__module_draft *module = p->module;
    for (uint32_t i = 0; module->wanted && module->wanted[i] && !p->stop; i++) {
        const char *name = bt_name_of(p->store, module->wanted[i]); // as tokens have it
        if (!name)
            (void)bt__error_memory(p);
        if (!name || !parse_one(p, name))
            return;
    }
    for (uint32_t i = 0; i < module->uses.len && !p->stop; i++) {
        if (!parse_one(p, module->uses.at[i].key))
            return;
    }
}
