/* Which losses, optimizers, schedules and initializers there are, by the texts of libraries. */
#include "choice.h"

#include <string.h>

#include <baton/plugin.h>

/* Those near to what is wanted, as messages have them: "`@loss.huber`". */
struct names {
    bt_arena *arena;
    const char *kind, *wanted;
    bt_vec(const char *) near;
    int is_found;
};

static const char *show(const struct names *names, const char *name, size_t n)
{
    bt_text text;
    bt_text_init(&text, names->arena);
    bt_text_addf(&text, "`@%s.%.*s`", names->kind, (int)n, name);
    return bt_text_get(&text);
}

static bt_status add(struct names *names, const char *name, size_t n)
{
    const char *bare[] = { bt_arena_text(names->arena, name, n), NULL };
    if (!bare[0])
        return bt_no_memory();
    names->is_found |= strcmp(bare[0], names->wanted) == 0;
    if (!*bt_nearest(names->arena, names->wanted, bare))
        return NULL;
    const char *shown = show(names, name, n);
    return shown && BT_PUSH(names->arena, &names->near, shown) ? NULL : bt_no_memory();
}

/* "def @loss.huber<..": definitions begin lines. */
static bt_status add_text(struct names *names, const char *text)
{
    const size_t n = strlen(names->kind);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "def @", 5) == 0 && strncmp(line + 5, names->kind, n) == 0 &&
            line[5 + n] == '.')
            BT_TRY(add(names, line + 6 + n, strcspn(line + 6 + n, "<( \n")));
    }
    return NULL;
}

static bt_status add_all(bt_ctx *ctx, struct names *names, const bt_module *model)
{
    const size_t n = strlen(names->kind);
    for (uint32_t i = 0; i < model->nglobal; i++) {
        const char *name = model->globals[i]->name;
        if (strncmp(name, names->kind, n) == 0 && name[n] == '.')
            BT_TRY(add(names, name + n + 1, strlen(name + n + 1)));
    }
    for (uint32_t i = 0; i < bt_provided_len(ctx, "library"); i++) {
        bt_provided item;
        const char *text;
        BT_TRY(bt_provided_at(ctx, "library", i, &item));
        BT_TRY(bt_provided_text(ctx, names->arena, &item, &text));
        BT_TRY(add_text(names, text));
    }
    return BT_PUSH(names->arena, &names->near, NULL) ? NULL : bt_no_memory();
}

bt_status choice_known(bt_ctx *ctx, bt_arena *arena, const bt_module *model,
                       const struct choice_kind *kind, const char *name)
{
    struct names names = { .arena = arena, .kind = kind->name, .wanted = name };
    BT_TRY(add_all(ctx, &names, model));
    const char *wanted = show(&names, name, strlen(name));
    if (names.is_found)
        return NULL;
    const char *near = wanted ? bt_nearest(arena, wanted, names.near.at) : "";
    return bt_fail(ctx, BT_ERR_NAME, "neither the model nor a library has @%s.%s%s",
                   kind->name, name, near);
}
