/* Which tensors of a file are values of a training, and what is said of those that are missing, of
 * another type, or more. */
#include "training.h"

#include <string.h>

#include "safetensors.h"

static int fits(const struct safetensor *found, const bt_tensor *t)
{
    int same = found->dtype == t->dtype && found->rank == t->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = found->dims[i] == t->dims[i];
    return same;
}

/* Where some are named to be learned, such as adapters, these begin by their initializers beside
 * what a file of the model without them has, and constants stay as the model has them. */
static int may_be_missing(const bt_training *t, uint32_t i, uint32_t params)
{
    return params && t->options.learned && i < t->nheld &&
           (t->is_constant[i] || training_learns(t, t->params[i].name));
}

/* What may be asked for in another way than it was. */
static const char *missing_hint(const bt_training *t, uint32_t i, uint32_t params)
{
    const int is_constant = params && i < t->nheld && t->is_constant[i];
    if (is_constant && t->options.folder)
        return "; a constant that is to stay as the model has it is named in `fixed`";
    if (params && t->options.folder)
        return "; parameters that are named in `learned` may be missing, and begin by "
               "their initializers";
    return is_constant ? "; a constant that the training had in `fixed` is named in "
                         "`fixed` here, too"
                       : "";
}

static bt_status refuse_type(struct bt_training *t, const char *path, const char *name,
                             const struct safetensor *found, const bt_tensor *wanted)
{
    const bt_type *type =
        bt_type_tensor_of(t->model->store, found->dtype, found->rank, found->dims);
    bt_text has, wants;
    bt_text_init(&has, bt_ctx_scratch(t->ctx));
    bt_text_init(&wants, bt_ctx_scratch(t->ctx));
    bt_tensor_print_type(wanted, &wants);
    if (type)
        bt_print_type(t->ctx, type, &has);
    if (!type || !bt_text_get(&has) || !bt_text_get(&wants))
        return bt_no_memory();
    return bt_fail(t->ctx, BT_ERR_ARGUMENT, "%s: tensor %s is %s, and the model's is %s",
                   path, name, has.at, wants.at);
}

/* All of them, or parameters alone: nothing is written before everything fits. */
bt_status training_values_find(bt_training *t, const char *path,
                               const struct safetensors *file, uint32_t n,
                               uint32_t params, const struct safetensor **out)
{
    uint32_t nfound = 0;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = safetensors_find(file, t->names[i]);
        nfound += out[i] != NULL;
        if (!out[i] && may_be_missing(t, i, params))
            continue;
        if (!out[i])
            return bt_fail(t->ctx, BT_ERR_ARGUMENT, "%s has no tensor %s%s", path,
                           t->names[i], missing_hint(t, i, params));
        if (fits(out[i], t->now[i]))
            continue;
        return refuse_type(t, path, t->names[i], out[i], t->now[i]);
    }
    if (!nfound)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT, "%s has no tensor of the model's", path);
    return NULL;
}

/* What a file has beside what the model takes: of another one, or spelled in another way. What
 * optimizers keep is none of that. */
void training_values_tell_unread(bt_training *t, const char *path,
                                 const struct safetensors *file)
{
    enum { MOST = 5 };
    uint32_t n = 0;
    bt_text names;
    bt_text_init(&names, bt_ctx_scratch(t->ctx));
    for (uint32_t i = 0; i < file->n; i++) {
        const char *name = file->at[i].name;
        uint32_t k = 0;
        while (k < t->nheld && strcmp(t->names[k], name) != 0)
            k++;
        if (k < t->nheld || (strncmp(name, "optimizer.", 10) == 0 && strchr(name, '/')))
            continue;
        if (n++ < MOST)
            bt_text_addf(&names, "%s%s", n > 1 ? ", " : "", name);
    }
    if (n > MOST)
        bt_text_addf(&names, " and %u more", n - MOST);
    if (n && bt_text_get(&names))
        bt_remark(t->ctx, BT_REMARK_NOTE,
                  bt_fail(t->ctx, BT_ERR_ARGUMENT,
                          "%s has tensors that @%s does not have, which are not read: %s",
                          path, t->entry, names.at));
}
