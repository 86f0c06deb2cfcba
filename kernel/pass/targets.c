/* Targets as users name them: lists such as "npu, cpu{threads=2}"; and what passes do for
 * them. */
#include "pass/targets.h"

#include <ctype.h>
#include <string.h>

#include <baton/op.h>
#include <baton/pass.h>

#include "pass/pipeline.h"

struct list {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_vec(bt_target_use) uses;
    int is_check; /* 1: nothing is opened */
};

/* The length of an item: to the comma that is in no braces and no quotes. */
static size_t item_length(const char *text)
{
    size_t n = 0, depth = 0;
    int quoted = 0;
    for (; text[n] && (quoted || depth || text[n] != ','); n++) {
        if (text[n] == '"')
            quoted = !quoted;
        else if (!quoted && text[n] == '{')
            depth++;
        else if (!quoted && text[n] == '}' && depth)
            depth--;
    }
    return n;
}

/* "cpu{threads=2}": the name, and the options as attributes are written. */
static bt_status split(const struct list *l, const char *text, const char **name,
                       const char **options)
{
    size_t n = strlen(text), brace = strcspn(text, "{");
    if (n == 0)
        return bt_fail(l->ctx, BT_ERR_ARGUMENT,
                       "a target's name is missing: expected one, or several with commas "
                       "between");
    if (brace < n && (n < brace + 2 || text[n - 1] != '}'))
        return bt_fail(l->ctx, BT_ERR_ARGUMENT, "target %s: a closing } is missing",
                       text);
    *name = bt_arena_text(l->arena, text, brace);
    *options = brace < n ? bt_arena_text(l->arena, text + brace + 1, n - brace - 2)
                         : bt_arena_text(l->arena, "", 0);
    return *name && *options ? NULL : bt_no_memory();
}

/* The options' struct lives in a store that the target need not keep. `out` may be NULL:
 * the options are checked, no more. */
static bt_status open_instance(bt_ctx *ctx, const bt_target *target, const char *options,
                               void **out)
{
    static const bt_attr none[] = { { 0 } };
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    const void *values;
    if (!store)
        return bt_no_memory();
    bt_op op = { .name = target->name,
                 .attrs = target->options ? target->options : none,
                 .attrs_nbytes = target->options_nbytes };
    bt_status status = bt_attrs_parse(ctx, store, &op, options, &values);
    if (!status && out) {
        status = target->open(ctx, values, out);
        if (status)
            status =
                bt_note(ctx, status, NULL, 0, "target %s cannot be opened", target->name);
    }
    bt_store_unref(store);
    return status;
}

static bt_status open_one(struct list *l, const char *text, size_t nbytes)
{
    bt_target_use use = { 0 };
    const char *name, *options;
    const void *row;
    while (nbytes && isspace((unsigned char)*text))
        text++, nbytes--;
    while (nbytes && isspace((unsigned char)text[nbytes - 1]))
        nbytes--;
    use.text = bt_arena_text(l->arena, text, nbytes);
    if (!use.text)
        return bt_no_memory();
    BT_TRY(split(l, use.text, &name, &options));
    BT_TRY(bt_registry_row(l->ctx, "baton.target/1", name, sizeof(bt_target), &row));
    use.target = row;
    for (uint32_t i = 0; i < l->uses.len; i++) {
        if (strcmp(l->uses.at[i].text, use.text) == 0)
            return bt_fail(l->ctx, BT_ERR_ARGUMENT, "target %s is listed twice",
                           use.text);
    }
    BT_TRY(
        open_instance(l->ctx, use.target, options, l->is_check ? NULL : &use.instance));
    if (BT_PUSH(l->arena, &l->uses, use))
        return NULL;
    if (!l->is_check)
        use.target->close(use.instance);
    return bt_no_memory();
}

static bt_status open_all(struct list *l, const char *list)
{
    for (int more = 1; more;) {
        size_t length = item_length(list);
        BT_TRY(open_one(l, list, length));
        more = list[length] == ',';
        list += length + (size_t)more;
    }
    return NULL;
}

bt_status bt_targets_open(bt_ctx *ctx, bt_arena *arena, const char *list, uint32_t *n,
                          bt_target_use **out)
{
    struct list l = { .ctx = ctx, .arena = arena };
    bt_status status = open_all(&l, list);
    if (status) {
        bt_targets_close(l.uses.len, l.uses.at);
        return status;
    }
    *n = l.uses.len;
    *out = l.uses.at;
    return NULL;
}

bt_status bt__targets_check(bt_ctx *ctx, const char *list)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    struct list l = { .ctx = ctx, .arena = scratch, .is_check = 1 };
    bt_status status = open_all(&l, list);
    bt_arena_release(scratch, mark);
    return status;
}

void bt_targets_close(uint32_t n, bt_target_use *uses)
{
    for (uint32_t i = n; i-- > 0;)
        uses[i].target->close(uses[i].instance);
}

uint32_t bt_targets_find(uint32_t n, const bt_target_use *uses, const char *text)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(uses[i].text, text) == 0)
            return i;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(uses[i].target->name, text) == 0)
            return i;
    }
    return n;
}

/* ---- what a target takes ---- */

/* Authors who know of row-major memory only must not meet another by surprise. */
static bt_status check_layouts(bt_ctx *ctx, const bt_target *target, const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_layout *layout = NULL;
    for (uint32_t i = 0; !layout && i < block->nparam; i++)
        layout = bt_type_layout(block->params[i]->base.type);
    for (uint32_t i = 0; !layout && i < block->nbinding; i++)
        layout = bt_type_layout(block->bindings[i]->type);
    return layout ? bt_fail(ctx, BT_ERR_UNSUPPORTED,
                            "a tensor has layout %s, and target %s knows row major only",
                            layout->text, target->name)
                  : NULL;
}

bt_status bt_target_supports(bt_ctx *ctx, const bt_target_use *use, const bt_func *func)
{
    if (!use->target->reads_layouts)
        BT_TRY(check_layouts(ctx, use->target, func));
    return use->target->supports ? use->target->supports(ctx, use->instance, func) : NULL;
}

bt_status bt__targets_last(bt_arena *arena, const char *list, const char **out)
{
    for (size_t n = item_length(list); list[n]; n = item_length(list))
        list += n + 1;
    while (isspace((unsigned char)*list))
        list++;
    size_t n = strcspn(list, "{");
    while (n && isspace((unsigned char)list[n - 1]))
        n--;
    *out = bt_arena_text(arena, list, n);
    return *out ? NULL : bt_no_memory();
}

/* ---- stage fused ---- */

bt_status bt_fuse(bt_ctx *ctx, const bt_module *module, const bt_compile_options *options,
                  bt_module **out)
{
    const char *source = options->fuse ? options->fuse : "fuse";
    const bt_pipeline_options run = { .level = 4, .target = options->targets };
    bt_pipeline *pipeline;
    if (!*source) {
        *out = bt_module_ref(module);
        return NULL;
    }
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    pipeline->is_own = !options->fuse;
    bt_status status = bt_pipeline_run(ctx, pipeline, &run, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}
