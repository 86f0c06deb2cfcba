/* Targets as users name them: lists such as "npu, cpu{threads=2}"; and what passes do for
 * them. */
#include "pass/targets.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>
#include <baton/pass.h>

#include "base/arena.h"
#include "pass/pipeline.h"

struct list {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_vec(bt_target_use) uses;
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

/* ---- options by name ---- */

static int is_in(const char *const *names, const char *option, size_t nbytes)
{
    const size_t n = strcspn(option, "= ");
    for (; names && *names && n <= nbytes; names++) {
        if (strlen(*names) == n && memcmp(*names, option, n) == 0)
            return 1;
    }
    return 0;
}

/* The next of a text of options, without blanks around it; 0: there is none. */
static int next_option(const char **text, const char **option, size_t *nbytes)
{
    if (!**text)
        return 0;
    const size_t n = item_length(*text);
    *option = *text;
    *nbytes = n;
    *text += n + ((*text)[n] == ',');
    while (*nbytes && isspace((unsigned char)**option))
        ++*option, --*nbytes;
    while (*nbytes && isspace((unsigned char)(*option)[*nbytes - 1]))
        --*nbytes;
    return 1;
}

static int gives(const char *options, const char *name)
{
    const char *const names[] = { name, NULL }, *option;
    size_t n;
    while (next_option(&options, &option, &n)) {
        if (is_in(names, option, n))
            return 1;
    }
    return 0;
}

/* The target's text: the options that have a place in it. NULL: no memory. */
static const char *named_text(bt_arena *arena, const bt_target *target, const char *text,
                              const char *options)
{
    const char *option, *all = options;
    size_t n;
    int has_unnamed = 0, has_named = 0;
    bt_text out;
    while (next_option(&all, &option, &n))
        has_unnamed |= is_in(target->unnamed_options, option, n);
    if (!has_unnamed)
        return text;
    bt_text_init(&out, arena);
    bt_text_addf(&out, "%s", target->name);
    while (next_option(&options, &option, &n)) {
        if (is_in(target->unnamed_options, option, n))
            continue;
        bt_text_addf(&out, "%s", has_named ? ", " : "{");
        bt_text_add(&out, option, n);
        has_named = 1;
    }
    bt_text_addf(&out, "%s", has_named ? "}" : "");
    return bt_text_get(&out);
}

static bt_status differ(bt_ctx *ctx, bt_store *store, const bt_target *target,
                        const char *given, const char *compiled, const char **out)
{
    const void *a, *b;
    BT_TRY(bt_options_parse(ctx, store, target->name, target->options,
                            target->options_nbytes, given, &a));
    BT_TRY(bt_options_parse(ctx, store, target->name, target->options,
                            target->options_nbytes, compiled, &b));
    for (const bt_attr *row = target->options; row && row->name && !*out; row++) {
        const bt_attr one[] = { *row, { 0 } };
        if (is_in(target->compile_options, row->name, strlen(row->name)) &&
            gives(given, row->name) && !bt_attrs_equal(one, a, b))
            *out = row->name;
    }
    return NULL;
}

bt_status bt__options_differ(bt_ctx *ctx, const bt_target *target, const char *given,
                             const char *compiled, const char **out)
{
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    *out = NULL;
    if (!store)
        return bt_no_memory();
    bt_status status = differ(ctx, store, target, given, compiled, out);
    bt_store_unref(store);
    return status;
}

/* ---- opening ---- */

/* The options' struct lives in a store that the target need not keep. */
static bt_status open_instance(bt_ctx *ctx, const bt_target *target, const char *options,
                               void **out)
{
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    const void *values;
    if (!store)
        return bt_no_memory();
    bt_status status = bt_options_parse(ctx, store, target->name, target->options,
                                        target->options_nbytes, options, &values);
    if (!status && target->open) {
        status = target->open(ctx, values, out);
        if (status)
            status =
                bt_note(ctx, status, NULL, 0, "target %s cannot be opened", target->name);
    }
    bt_store_unref(store);
    return status;
}

static void close_instance(const bt_target_use *use)
{
    if (use->target->close)
        use->target->close(use->instance);
}

enum { LEAST_ALIGN = 64, MAX_ALIGN = 1 << 20 };

/* What the instance says of memory of its own. */
static bt_status describe_space(struct list *l, bt_target_use *use)
{
    const bt_target *target = use->target;
    if (!target->alloc)
        return NULL;
    bt_space *space = BT_NEW(l->arena, bt_space);
    if (!space)
        return bt_no_memory();
    if (target->space)
        BT_TRY(target->space(l->ctx, use->instance, space));
    space->name = bt_arena_text(l->arena, space->name ? space->name : target->name,
                                strlen(space->name ? space->name : target->name));
    space->align = space->align ? space->align : LEAST_ALIGN;
    use->space = space;
    if (!space->name)
        return bt_no_memory();
    return space->align >= LEAST_ALIGN && space->align <= MAX_ALIGN &&
                   (space->align & (space->align - 1)) == 0
               ? NULL
               : bt_fail(l->ctx, BT_ERR_PLUGIN,
                         "target %s: memory %s is aligned to %" PRIu64
                         " bytes, expected a power of two from %d to %d",
                         use->text, space->name, space->align, LEAST_ALIGN, MAX_ALIGN);
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
    if (!nbytes)
        return bt_fail(l->ctx, BT_ERR_ARGUMENT,
                       "a target's name is missing: expected one, or several with commas "
                       "between");
    BT_TRY(bt_named_split(l->ctx, l->arena, "target", use.text, &name, &options));
    BT_TRY(bt_registry_row(l->ctx, "baton.target/1", name, sizeof(bt_target), &row));
    use.target = row;
    use.options = options;
    use.text = named_text(l->arena, row, use.text, options);
    if (!use.text)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->uses.len; i++) {
        if (strcmp(l->uses.at[i].text, use.text) == 0)
            return bt_fail(l->ctx, BT_ERR_ARGUMENT, "target %s is listed twice",
                           use.text);
    }
    BT_TRY(open_instance(l->ctx, use.target, options, &use.instance));
    bt_status status = describe_space(l, &use);
    if (!status && !BT_PUSH(l->arena, &l->uses, use))
        status = bt_no_memory();
    if (status)
        close_instance(&use);
    return status;
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

bt_status bt_targets_open(bt_ctx *ctx, const char *list, bt_targets **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_targets *targets = arena ? BT_NEW(arena, bt_targets) : NULL;
    struct list l = { .ctx = ctx, .arena = arena };
    bt_status status = targets ? open_all(&l, list) : bt_no_memory();
    const bt_target_use *const *at =
        status ? NULL : BT__LIST(arena, l.uses.at, l.uses.len);
    if (!status && !at)
        status = bt_no_memory();
    if (status) {
        for (uint32_t i = l.uses.len; i-- > 0;)
            close_instance(&l.uses.at[i]);
        bt_arena_destroy(arena);
        return status;
    }
    *targets = (bt_targets){ .nref = 1, .n = l.uses.len, .at = at, .arena = arena };
    *out = targets;
    return NULL;
}

bt_targets *bt_targets_ref(const bt_targets *targets)
{
    bt_targets *shared = (bt_targets *)(uintptr_t)targets;
    __atomic_add_fetch(&shared->nref, 1, __ATOMIC_RELAXED);
    return shared;
}

void bt_targets_unref(bt_targets *targets)
{
    if (!targets || __atomic_sub_fetch(&targets->nref, 1, __ATOMIC_ACQ_REL))
        return;
    for (uint32_t i = targets->n; i-- > 0;)
        close_instance(targets->at[i]);
    bt_arena_destroy(targets->arena);
}

uint32_t bt_targets_find(const bt_targets *targets, const char *text)
{
    for (uint32_t i = 0; i < targets->n; i++) {
        if (strcmp(targets->at[i]->text, text) == 0)
            return i;
    }
    for (uint32_t i = 0; i < targets->n; i++) {
        if (strcmp(targets->at[i]->target->name, text) == 0)
            return i;
    }
    return targets->n;
}

/* ---- what a target takes ---- */

/* Targets that state no layouts expect row-major memory: others are refused before they
 * are asked. */
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

bt_status bt__target_holds(bt_ctx *ctx, const bt_target_use *use, const bt_type *size)
{
    const bt_space *space = use->space;
    int64_t nbytes = INT64_MAX, high;
    if (size)
        bt_dim_bounds(size, &nbytes, &high);
    return !space || !space->largest || nbytes <= 0 || (uint64_t)nbytes <= space->largest
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "a tensor has %" PRId64 " bytes, and a block of memory %s of "
                         "target %s has at most %" PRIu64,
                         nbytes, space->name, use->text, space->largest);
}

/* A tensor lies in one block. Recursion is bounded by the depth of types. */
static bt_status check_size(bt_ctx *ctx, const bt_target_use *use, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(check_size(ctx, use, tuple->at[i]));
    return tuple || !bt_tensor_shape(type)
               ? NULL
               : bt__target_holds(ctx, use, bt_tensor_size(type));
}

bt_status bt_target_supports(bt_ctx *ctx, const bt_target_use *use, const bt_func *func)
{
    if (func->nvar && !use->target->takes_dims)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "it takes no functions whose dims are known at the call only, as "
                       "%s is: give numbers for them, --dim NAME=N",
                       ((const bt_var_type *)(const void *)func->vars[0])->name);
    if (!use->target->reads_layouts)
        BT_TRY(check_layouts(ctx, use->target, func));
    for (uint32_t i = 0; use->space && i < func->block->nparam; i++)
        BT_TRY(check_size(ctx, use, func->block->params[i]->base.type));
    if (use->space)
        BT_TRY(check_size(ctx, use, func->block->result->type));
    return use->target->supports ? use->target->supports(ctx, use->instance, func) : NULL;
}

const char *bt__target_wanted(const bt_func *func)
{
    const bt_dict_entry *entry = bt_dict_find(&func->attrs, "target");
    return entry && entry->kind == BT_DICT_TEXT ? entry->text : NULL;
}

int bt__target_is_asked(const bt_targets *targets, uint32_t target)
{
    return target + 1 == targets->n || !targets->at[target]->target->patterns;
}

bt_status bt_targets_choose(bt_ctx *ctx, const bt_targets *targets, const bt_func *func,
                            uint32_t *out)
{
    const char *wanted = bt__target_wanted(func);
    if (wanted) {
        *out = bt_targets_find(targets, wanted);
        return NULL;
    }
    for (*out = 0; *out + 1 < targets->n; ++*out) {
        if (!bt__target_is_asked(targets, *out))
            continue;
        bt_status said = bt_target_supports(ctx, targets->at[*out], func);
        if (!said || said->code != BT_ERR_UNSUPPORTED)
            return said;
    }
    return NULL;
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

bt_status bt__targets_get(bt_ctx *ctx, const bt_compile_options *options,
                          bt_targets **out)
{
    if (!options->opened)
        return bt_targets_open(ctx, options->targets ? options->targets : "", out);
    *out = bt_targets_ref(options->opened);
    return NULL;
}

bt_status bt_fuse_sized(bt_ctx *ctx, const bt_module *module,
                        const bt_compile_options *given, size_t nbytes, bt_module **out)
{
    bt_compile_options options;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    const char *source = options.fuse               ? options.fuse
                         : options.has_control_flow ? "fuse-control"
                                                    : "fuse";
    bt_targets *opened;
    bt_pipeline *pipeline;
    if (!*source) {
        *out = bt_module_ref(module);
        return NULL;
    }
    BT_TRY(bt__targets_get(ctx, &options, &opened));
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const char *set[3] = { 0 };
    uint32_t nset = 0;
    int is_set = 1;
    if (options.hot)
        is_set &=
            !!(set[nset++] = bt__format(scratch, "versions.hot=\"%s\"", options.hot));
    if (options.memory)
        is_set &= !!(set[nset++] = bt__format(scratch, "fit-memory.max-bytes=%lld",
                                              (long long)options.memory));
    const bt_pipeline_options run = {
        .level = 4, .set = nset ? set : NULL, .targets = opened, .entry = options.entry
    };
    bt_status status = is_set ? bt_pipeline_read(ctx, source, &pipeline) : bt_no_memory();
    if (!status) {
        pipeline->is_own = !options.fuse;
        status = bt_pipeline_run(ctx, pipeline, &run, module, out);
        bt_pipeline_destroy(pipeline);
    }
    bt_arena_release(scratch, mark);
    bt_targets_unref(opened);
    return status;
}
