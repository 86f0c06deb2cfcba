/* The model that is trained, as baton train and baton export read it. */
#include <string.h>

#include <baton/importer.h>

#include "import_options.h"
#include "list_choices.h"
#include "train.h"

const struct hint training_hints[] = {
    { "`fixed`", "`fixed` is --fixed NAME" },
    { "`optimizers`", "`optimizers` is --optimizer NAME" },
    { "`learned`", "`learned` is --learn NAME, once for each" },
    { "`clip`", "`clip` is --clip X" },
    { "`loss`", "`loss` is --loss NAME" },
    { "`params`", "load with `params` is --initialise FILE" },
    { "a library has @loss.", "baton list losses shows those of libraries" },
    { "a library has @optimizer.", "baton list optimizers shows those of libraries" },
    { "a library has @schedule.", "baton list schedules shows those of libraries" },
    { "a library has @initializer.", "baton list initializers shows those of libraries" },
    { 0 },
};

/* NULL: the entry is no function. */
static const bt_func *entry_of(struct tool *tool, const bt_module *model)
{
    const bt_global *entry;
    return !bt_module_entry(tool->ctx, model, option_value(tool, "entry"), &entry) &&
                   entry->kind == BT_GLOBAL_FUNC
               ? entry->func
               : NULL;
}

/* ---- what is read of imported texts ---- */

typedef bt_vec(const char *) name_list;

/* "initializer.normal" of "w=normal{scale=0.1}" */
static bt_status add_wanted(struct tool *tool, const char *kind, const char *value,
                            name_list *wanted)
{
    const size_t n = strcspn(value, "{");
    const char *equals = memchr(value, '=', n), *start = equals ? equals + 1 : value;
    const char *name =
        tool_text(tool, "%s.%.*s", kind, (int)(n - (size_t)(start - value)), start);
    return name && BT_PUSH(bt_ctx_scratch(tool->ctx), wanted, name) ? NULL
                                                                    : bt_no_memory();
}

/* What a model asks for itself. NULL: nothing. */
static const bt_dict_entry *own_initializers(struct tool *tool, const bt_module *model)
{
    const bt_func *func = entry_of(tool, model);
    return func ? bt_dict_find(&func->attrs, "initializers") : NULL;
}

/* What a training is asked for may stand in a text that the model imports: by options, or by the
 * model, which was read once for it. */
static bt_status find_wanted(struct tool *tool, const bt_dict_entry *own,
                             const char *const **out)
{
    name_list wanted = { 0 };
    for (uint32_t i = 0; choices_kind(i); i++) {
        const char *const *values = option_values(tool, choices_kind(i));
        for (uint32_t k = 0; values && values[k]; k++)
            BT_TRY(add_wanted(tool, choices_kind(i), values[k], &wanted));
    }
    if (own && own->kind == BT_DICT_TEXT)
        BT_TRY(add_wanted(tool, "initializer", own->text, &wanted));
    for (uint32_t i = 0; own && own->kind == BT_DICT_LIST && i < own->n; i++) {
        if (own->items[i].kind == BT_DICT_TEXT)
            BT_TRY(add_wanted(tool, "initializer", own->items[i].text, &wanted));
    }
    if (!BT_PUSH(bt_ctx_scratch(tool->ctx), &wanted, NULL))
        return bt_no_memory();
    *out = wanted.at;
    return NULL;
}

static bt_status read_with(struct tool *tool, const char *const *dims,
                           const bt_dict_entry *own, bt_module **out)
{
    bt_import_options options = read_import_options(tool);
    bt_module *parsed;
    options.dims = dims;
    BT_TRY(find_wanted(tool, own, &options.wanted));
    BT_TRY(bt_import(tool->ctx, tool->args[0], &options, &parsed));
    bt_status status = bt_infer(tool->ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

const bt_type *batch_dim(struct tool *tool, const bt_module *model)
{
    const bt_func *func = entry_of(tool, model);
    if (!func || !func->block->nparam)
        return NULL;
    const bt_shape_type *shape = bt_tensor_shape(func->block->params[0]->base.type);
    return shape && shape->n ? shape->dims[0] : NULL;
}

/* "n=64" where the dim of samples is n. NULL: it is known, or no name of one. */
static const char *open_batch(struct tool *tool, const bt_module *model, int64_t batch)
{
    const bt_type *dim = batch_dim(tool, model);
    if (!dim || dim->kind != BT_TYPE_VAR)
        return NULL;
    return tool_text(tool, "%s=%lld", ((const bt_var_type *)(const void *)dim)->name,
                     (long long)batch);
}

int read_trained(struct tool *tool, int64_t batch, bt_module **out)
{
    const char **dims = option_values(tool, "dim");
    uint32_t n = 0;
    bt_module *first;
    *out = NULL;
    TRY_TOOL(tool, read_with(tool, dims, NULL, &first));
    const char *more = batch ? open_batch(tool, first, batch) : NULL;
    const bt_dict_entry *own = own_initializers(tool, first);
    if (!more && !own) {
        *out = first;
        return EXIT_OK;
    }
    while (dims && dims[n])
        n++;
    const char **all = BT_NEWS(bt_ctx_scratch(tool->ctx), const char *, n + 2);
    bt_status status = all ? NULL : bt_no_memory();
    if (!status) {
        for (uint32_t i = 0; i < n; i++)
            all[i] = dims[i];
        all[n] = more;
        status = read_with(tool, all, own, out);
    }
    bt_module_unref(first);
    TRY_TOOL(tool, status);
    return EXIT_OK;
}

bt_status find_inputs(struct train *t)
{
    const bt_global *entry;
    bt_ctx *ctx = t->tool->ctx;
    BT_TRY(bt_module_entry(ctx, t->model, option_value(t->tool, "entry"), &entry));
    const bt_block *block = entry->kind == BT_GLOBAL_FUNC ? entry->func->block : NULL;
    const bt_dict_entry *said =
        block ? bt_dict_find(&entry->func->attrs, "inputs") : NULL;
    t->ninput = said && said->kind == BT_DICT_INT && said->i > 0 ? (uint32_t)said->i : 1;
    if (!block || t->ninput > block->nparam)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "@%s takes no data: it has %u parameters",
                       entry->name, block ? block->nparam : 0);
    t->inputs = BT_NEWS(bt_ctx_scratch(ctx), struct train_input, t->ninput);
    if (!t->inputs)
        return bt_no_memory();
    for (uint32_t i = 0; i < t->ninput; i++) {
        const bt_value *param = &block->params[i]->base;
        struct train_input *in = &t->inputs[i];
        in->name = param->name ? param->name : "x";
        in->dtype = bt_tensor_dtype(param->type);
        if (!bt_tensor_static(param->type, &in->rank, in->dims) || !in->rank ||
            !in->dtype || in->dims[0] < 1 || in->dims[0] != t->inputs[0].dims[0])
            return bt_fail_at(ctx, BT_ERR_ARGUMENT, t->model->store, param->span,
                              "%%%s is no batch: data are tensors of known dims (--dim "
                              "NAME=N gives an open one a size), and the first counts "
                              "samples",
                              in->name);
    }
    return NULL;
}
