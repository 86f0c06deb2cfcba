/* What a training is asked for: options that are numbers, and their ranges; a loss, an optimizer and
 * a schedule, and whether they fit the labels and what the model gives. */
#include "training.h"

#include <math.h>
#include <string.h>

#include <baton/op.h>

/* ---- numbers ---- */

static bt_status refuse_option(const struct bt_training *t, const char *field,
                               const char *wanted)
{
    return bt_fail(t->ctx, BT_ERR_ARGUMENT, "%s of a training is to be %s", field,
                   wanted);
}

bt_status training_options_check(const struct bt_training *t)
{
    static const char FROM_0[] = "0 or more";
    const bt_training_options *o = &t->options;
    const struct {
        const char *field;
        int is_right;
        const char *wanted;
    } rows[] = {
        { "clip", o->clip == 0 || (float)o->clip > 0, FROM_0 },
        // a loss that is scaled down further may be a denormal, and then zero
        { "loss_scale",
          o->loss_scale == 0 ||
              (o->loss_scale >= 0x1p-24 && isfinite((float)o->loss_scale)),
          "0, or 2^-24 or more and finite" },
        { "scale_steps", o->scale_steps >= 0, FROM_0 },
        { "nstep", o->nstep >= 0, FROM_0 },
        { "checkpoint_memory", o->checkpoint_memory >= 0, FROM_0 },
        { "folder", !o->folder || *o->folder, "NULL or a path, and not empty" },
        { "label_rank", o->label_rank <= BT_MAX_RANK, "at most that of a tensor" },
        { "label_dims", !o->label_rank || o->label_dims, "as many as label_rank says" },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (!rows[i].is_right)
            return refuse_option(t, rows[i].field, rows[i].wanted);
    }
    for (uint32_t i = 0; i < o->label_rank; i++) {
        if (o->label_dims[i] < 0)
            return refuse_option(t, "each of label_dims", FROM_0);
    }
    return NULL;
}

/* ---- a loss, an optimizer, a schedule ---- */

/* A loss of classes takes these as integers along one axis. Integers that a loss takes as floats
 * become such. */
static bt_status check_labels(struct bt_training *t)
{
    const bt_training_options *o = &t->options;
    const bt_param *const *params = t->loss.global->func->block->params;
    const bt_shape_type *shape = bt_tensor_shape(params[1]->base.type);
    const bt_dtype dtype = bt_tensor_dtype(params[1]->base.type);
    const int wants_integers = dtype == BT_INT64,
              wants_classes = wants_integers && shape && shape->n == 1 && !shape->rest;
    t->takes_all = bt_as_tuple_type(params[0]->base.type) != NULL;
    t->has_classes = wants_integers && o->label_rank == 1 && (wants_classes || !shape);
    t->label_dtype = o->label_dtype;
    if (o->label_dtype == BT_INT64 && !wants_integers)
        t->label_dtype = dtype ? dtype : BT_FLOAT32;
    if (wants_classes && o->label_rank == 2 && o->label_dims[1] == 1)
        return bt_fail(
            t->ctx, BT_ERR_ARGUMENT,
            "@%s takes the class of each sample, an integer, along one axis, "
            "and what is given has a second axis, of 1: labels[:, 0] leaves it "
            "out",
            t->loss.global->name);
    if (wants_classes && o->label_rank != 1)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "@%s takes the class of each sample, an integer, along one axis, "
                       "and what is given has %u axes: of rows with a 1 at the class, "
                       "argmax over the last axis gives it",
                       t->loss.global->name, o->label_rank);
    if (wants_integers && o->label_dtype != BT_INT64)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "@%s takes %s, and what is given are not integers: floats are for "
                       "another `loss`, such as squares",
                       t->loss.global->name,
                       wants_classes ? "the class of each sample, an integer"
                                     : "integers");
    return NULL;
}

/* A schedule changes the rate, which the optimizer then has. */
static bt_status check_schedule(struct bt_training *t)
{
    for (uint32_t i = 0; i < t->optimizer.noption; i++) {
        if (strcmp(t->optimizer.option_names[i], "rate") == 0)
            return NULL;
    }
    return t->options.schedule
               ? bt_fail(t->ctx, BT_ERR_ARGUMENT,
                         "@%s has no option rate that @%s could change",
                         t->optimizer.global->name, t->schedule.global->name)
               : NULL;
}

/* That of all parameters. */
static const char *find_optimizer(struct bt_training *t)
{
    const char *const *texts = t->options.optimizers, *found = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; texts && texts[i]; i++) {
        if (choice_behind_name(texts[i]))
            continue;
        found = texts[i];
        n++;
    }
    if (n > 1)
        bt_remark(t->ctx, BT_REMARK_NOTE,
                  bt_fail(t->ctx, BT_ERR_ARGUMENT,
                          "`optimizers` has more than one for all parameters: the last, "
                          "%s, counts",
                          found));
    return found ? found : "sgd";
}

bt_status training_choose(struct bt_training *t, const bt_module *model)
{
    const bt_training_options *o = &t->options;
    BT_TRY(choice_make(t->ctx, t->arena, model, "loss",
                       o->loss ? o->loss : "cross_entropy", &t->loss));
    BT_TRY(choice_make(t->ctx, t->arena, model, "optimizer", find_optimizer(t),
                       &t->optimizer));
    BT_TRY(choice_make(t->ctx, t->arena, model, "schedule",
                       o->schedule ? o->schedule : "constant", &t->schedule));
    BT_TRY(check_schedule(t));
    return check_labels(t);
}

/* A loss of classes takes one result for each class and sample. */
static bt_status count_classes(struct bt_training *t, const bt_type *result)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    bt_text type;
    if (!t->has_classes)
        return NULL;
    if (bt_tensor_static(result, &rank, dims) && rank == 2 && dims[0] == t->info.batch) {
        t->info.nclass = dims[1];
        return NULL;
    }
    bt_text_init(&type, t->arena);
    bt_print_type(t->ctx, result, &type);
    return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                   "@%s takes a number for each of %lld samples and each class, and @%s "
                   "gives %s",
                   t->loss.global->name, (long long)t->info.batch, t->entry,
                   bt_text_get(&type) ? type.at : "?");
}

/* ---- what the loss is given ---- */

/* def (%z, %y) { @loss.NAME(%z, %y, options) } */
static bt_status call_loss(const struct bt_training *t, bt_builder *b, const bt_type *z,
                           const bt_type *y)
{
    const bt_param *params[2];
    const bt_value *args[2 + MAX_OPTIONS], *result;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = 2 + t->loss.noption,
                     .args = args };
    BT_TRY(bt_build_param(b, "z", z, &params[0]));
    BT_TRY(bt_build_param(b, "y", y, &params[1]));
    args[0] = &params[0]->base;
    args[1] = &params[1]->base;
    for (uint32_t i = 0; i < t->loss.noption; i++)
        BT_TRY(bt_build_scalar(b, BT_FLOAT32, t->loss.options[i], &args[2 + i]));
    BT_TRY(bt_block_begin(b, 2, params));
    BT_TRY(bt_build_global(b, t->loss.global->name, &call.callee));
    return bt_build_call(b, &call, &result);
}

/* What the labels lack, or have more than what the model gives; "": nothing is known. */
static const char *label_hint(const struct bt_training *t, const bt_type *result)
{
    const uint32_t nlabel = t->options.label_rank;
    const int64_t *labels = t->options.label_dims;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    if (!bt_tensor_static(result, &rank, dims))
        return "";
    if (rank == nlabel + 1 && dims[rank - 1] == 1)
        return ": labels[..., None] gives them the axis of 1 that they lack";
    if (nlabel == rank + 1 && labels[rank] == 1)
        return ": labels[..., 0] leaves their axis of 1 out";
    if (t->options.label_dtype == BT_INT64 && nlabel == 1)
        return ": classes, integers along one axis, are for losses as cross_entropy";
    return "";
}

static bt_status refuse_labels(struct bt_training *t, const bt_type *result,
                               const char *why)
{
    const bt_training_options *o = &t->options;
    const bt_type *labels = bt_type_tensor_of(t->loss.of->store, o->label_dtype,
                                              o->label_rank, o->label_dims);
    bt_text given, wanted;
    bt_text_init(&given, t->arena);
    bt_text_init(&wanted, t->arena);
    bt_print_type(t->ctx, result, &given);
    if (labels)
        bt_print_type(t->ctx, labels, &wanted);
    if (!labels || !bt_text_get(&given) || !bt_text_get(&wanted))
        return bt_no_memory();
    bt_status status = bt_fail(
        t->ctx, BT_ERR_ARGUMENT,
        "@%s does not take what @%s gives, %s, with labels of type %s%s",
        t->loss.global->name, t->entry, given.at, wanted.at, label_hint(t, result));
    return bt_note(t->ctx, status, t->loss.of->store, t->loss.global->span, "%s", why);
}

/* By its type, before there is a text in which it is called. Errors of the call stay in a context of
 * their own. */
static bt_status check_loss(struct bt_training *t, const bt_type *result)
{
    bt_store *store = t->loss.of->store;
    const bt_type *z = bt_type_copy(store, NULL, result);
    const bt_type *y = bt_type_tensor_of(store, t->label_dtype, t->options.label_rank,
                                         t->options.label_dims);
    bt_builder *b;
    if (!z)
        return NULL; // it has data types, and is found where it is compiled
    bt_ctx *own = y ? bt_ctx_create(bt_ctx_registry(t->ctx)) : NULL;
    if (!own)
        return bt_no_memory();
    bt_status status = bt_builder_create(own, store, t->loss.of, &b);
    if (!status) {
        status = call_loss(t, b, z, y);
        bt_builder_destroy(b);
    }
    if (status && status->code == BT_ERR_MEMORY)
        status = bt_no_memory();
    else if (status)
        status = refuse_labels(t, result, status->message);
    bt_ctx_destroy(own);
    return status;
}

/* ---- what the optimizer is given ---- */

bt_status training_find_named(struct bt_training *t, const char *kind, const char *text,
                              uint32_t n, uint32_t *out)
{
    const size_t nbytes = (size_t)(choice_behind_name(text) - 1 - text);
    const char *name = bt_arena_text(t->arena, text, nbytes);
    const char **names = BT_NEWS(t->arena, const char *, n + 1);
    if (!name || !names)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        names[i] = t->params[i].name;
    for (*out = 0; *out < n; ++*out) {
        if (strcmp(names[*out], name) == 0)
            return NULL;
    }
    return bt_fail(t->ctx, BT_ERR_NAME, "%s %s: @%s %s parameter %s%s", kind, text,
                   t->entry, n < t->nheld ? "learns no" : "has no", name,
                   bt_nearest(t->arena, name, names));
}

/* "w1=adamw{decay=0}": options of one parameter, in place of those for all. */
static bt_status choose_own(struct bt_training *t, const char *text)
{
    const char *name, *options,
        *all = t->optimizer.global->name + strlen(t->optimizer.kind->name) + 1;
    uint32_t which;
    BT_TRY(training_find_named(t, "optimizer", text, t->nparam, &which));
    BT_TRY(bt_named_split(t->ctx, t->arena, "optimizer", choice_behind_name(text), &name,
                          &options));
    if (strcmp(name, all) != 0)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "optimizer %s: a training has one, %s, whose options may be "
                       "others for a parameter",
                       text, all);
    struct choice *own = BT_NEW(t->arena, struct choice);
    if (!own)
        return bt_no_memory();
    *own = t->optimizer;
    t->own[which] = own;
    return choice_read_options(t->ctx, t->arena, options, own);
}

static bt_status check_optimizer(struct bt_training *t)
{
    const char *const *texts = t->options.optimizers;
    t->own = BT_NEWS(t->arena, struct choice *, t->nparam);
    if (!t->own)
        return bt_no_memory();
    for (uint32_t i = 0; texts && texts[i]; i++) {
        if (choice_behind_name(texts[i]))
            BT_TRY(choose_own(t, texts[i]));
    }
    for (uint32_t i = 0; t->options.folder && i < t->nparam; i++)
        BT_TRY(choice_check_param(t->ctx, t->arena, &t->optimizer, "", t->params[i].name,
                                  t->types[i]));
    return NULL;
}

bt_status training_results(struct bt_training *t, const bt_module *lifted)
{
    BT_TRY(check_optimizer(t));
    const bt_type *result = training_model(lifted)->result;
    const bt_list_type *tuple = bt_as_tuple_type(result);
    if (tuple && tuple->n > 1 && t->options.folder && !t->takes_all)
        bt_remark(t->ctx, BT_REMARK_NOTE,
                  bt_fail(t->ctx, BT_ERR_ARGUMENT,
                          "@%s gives %u results, and what it learns by is the first: a "
                          "loss of all of them is a function that takes their tuple, def "
                          "@loss.NAME(%%z: (..), %%y: ..)",
                          t->entry, tuple->n));
    const bt_type *first = tuple && tuple->n ? tuple->at[0] : result;
    BT_TRY(count_classes(t, first));
    return t->options.folder ? check_loss(t, t->takes_all ? result : first) : NULL;
}
