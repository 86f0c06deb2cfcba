/* baton list losses, optimizers, schedules, initializers: functions @loss.NAME of libraries. */
#include "list_choices.h"

#include <jansson.h>
#include <string.h>

#include "library_outline.h"
#include "output.h"

static const struct {
    const char *word, *kind;
} words[] = {
    { "losses", "loss" },
    { "optimizers", "optimizer" },
    { "schedules", "schedule" },
    { "initializers", "initializer" },
};

const char *choices_word(uint32_t i)
{
    return i < BT_COUNT(words) ? words[i].word : NULL;
}

const char *choices_kind(uint32_t i)
{
    return i < BT_COUNT(words) ? words[i].kind : NULL;
}

struct search {
    const char *begin; /* "def @loss." */
    json_t *found;
    bt_arena *arena;
};

/* The comment without its slashes. */
static json_t *comment_text(bt_arena *arena, const struct definition *d)
{
    bt_text text;
    bt_text_init(&text, arena);
    for (const char *c = d->comment; c < d->head; c++) {
        if ((c == d->comment || c[-1] == '\n') && c[0] == '/' && c[1] == '/')
            c += c[2] == ' ' ? 2 : 1;
        else if (*c != '\n' || c + 1 < d->head)
            bt_text_add(&text, c, 1);
    }
    return bt_text_get(&text) ? json_stringn_nocheck(text.at, text.len) : NULL;
}

static void see(void *self, const bt_provided *library, const struct definition *d)
{
    struct search *s = self;
    const size_t n = strlen(s->begin);
    if (strncmp(d->head, s->begin, n) != 0)
        return;
    json_t *item = json_object();
    (void)json_object_set_new_nocheck(
        item, "name", json_stringn_nocheck(d->head + n, strcspn(d->head + n, "<( \n")));
    (void)json_object_set_new_nocheck(item, "doc", comment_text(s->arena, d));
    (void)json_object_set_new_nocheck(
        item, "head", json_stringn_nocheck(d->head, (size_t)(d->end - d->head)));
    (void)json_object_set_new_nocheck(item, "library", json_string(library->name));
    (void)json_object_set_new_nocheck(item, "plugin",
                                      json_string(bt_plugin_id(library->plugin)));
    (void)json_array_append_new(s->found, item);
}

static const char *text_of(const json_t *item, const char *key)
{
    const char *text = json_string_value(json_object_get(item, key));
    return text ? text : "";
}

static void print_all(const json_t *found)
{
    size_t width = 0;
    for (size_t i = 0; i < json_array_size(found); i++) {
        const size_t n = strlen(text_of(json_array_get(found, i), "name"));
        width = n > width ? n : width;
    }
    for (size_t i = 0; i < json_array_size(found); i++) {
        const json_t *item = json_array_get(found, i);
        const char *doc = text_of(item, "doc");
        printf("%-*s  %.*s\n", (int)width, text_of(item, "name"), (int)strcspn(doc, "\n"),
               doc);
    }
}

/* As it is asked for, and its head: behind what it takes stand options with their defaults. */
static int print_one(struct tool *tool, uint32_t word, const json_t *found,
                     const char *name)
{
    const char **names =
        BT_NEWS(bt_ctx_scratch(tool->ctx), const char *, json_array_size(found) + 1);
    if (!names)
        return tool_fail(tool, bt_no_memory());
    for (size_t i = 0; i < json_array_size(found); i++) {
        const json_t *item = json_array_get(found, i);
        names[i] = text_of(item, "name");
        if (strcmp(names[i], name) != 0)
            continue;
        if (option_value(tool, "json"))
            return print_json(tool, json_incref(json_array_get(found, i)));
        printf("%s (library %s of %s)\n%s\n\n%s\n\nbaton train MODEL --%s %s\n", name,
               text_of(item, "library"), text_of(item, "plugin"), text_of(item, "doc"),
               text_of(item, "head"), words[word].kind, name);
        return EXIT_OK;
    }
    return tool_fail(tool,
                     bt_fail(tool->ctx, BT_ERR_NAME,
                             "no library has @%s.%s%s; baton list %s shows all, and "
                             "a model may have its own",
                             words[word].kind, name,
                             bt_nearest(bt_ctx_scratch(tool->ctx), name, names),
                             words[word].word));
}

int list_choices(struct tool *tool, uint32_t word, const char *name)
{
    struct search s = { .begin = tool_text(tool, "def @%s.", words[word].kind),
                        .found = json_array(),
                        .arena = bt_ctx_scratch(tool->ctx) };
    int code = s.begin && s.found ? EXIT_OK : tool_fail(tool, bt_no_memory());
    for (uint32_t i = 0; !code && i < bt_provided_len(tool->ctx, "library"); i++) {
        bt_provided item;
        bt_status status = bt_provided_at(tool->ctx, "library", i, &item);
        code = status ? tool_fail(tool, status) : library_each(tool, &item, see, &s);
    }
    if (!code && name)
        code = print_one(tool, word, s.found, name);
    else if (!code && option_value(tool, "json"))
        code = print_json(tool, json_incref(s.found));
    else if (!code)
        print_all(s.found);
    json_decref(s.found);
    return code;
}
