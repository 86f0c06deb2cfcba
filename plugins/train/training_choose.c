/* What a training is asked for: a loss, an optimizer and a schedule, and whether they fit the
 * labels and what the model gives. */
#include "training.h"

#include <string.h>

/* A loss of classes takes these as integers. */
static bt_status check_labels(struct bt_training *t)
{
    const bt_type *type = t->loss.global->func->block->params[1]->base.type;
    const int wants_classes = bt_tensor_dtype(type) == BT_INT64;
    t->takes_all =
        bt_as_tuple_type(t->loss.global->func->block->params[0]->base.type) != NULL;
    t->has_classes = wants_classes;
    if (wants_classes == (t->options.label_dtype == BT_INT64))
        return NULL;
    if (wants_classes && t->options.label_rank == 2 && t->options.label_dims[1] == 1)
        return bt_fail(
            t->ctx, BT_ERR_ARGUMENT,
            "@%s takes the class of each sample, an integer, along one axis, "
            "and what is given has a second axis, of 1: labels[:, 0] leaves it "
            "out",
            t->loss.global->name);
    if (wants_classes && t->options.label_rank != 1)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "@%s takes the class of each sample, an integer, along one axis, "
                       "and what is given has %u axes: of rows with a 1 at the class, "
                       "argmax over the last axis gives it",
                       t->loss.global->name, t->options.label_rank);
    return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                   wants_classes
                       ? "@%s takes the class of each sample, an integer, and "
                         "what is given are not integers"
                       : "@%s takes floats that the model should give, and what "
                         "is given are integers along one axis, which are classes",
                   t->loss.global->name);
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

bt_status training_choose(struct bt_training *t, const bt_module *model)
{
    const bt_training_options *o = &t->options;
    BT_TRY(choice_make(t->ctx, t->arena, model, "loss",
                       o->loss ? o->loss : "cross_entropy", &t->loss));
    BT_TRY(choice_make(t->ctx, t->arena, model, "optimizer",
                       o->optimizer ? o->optimizer : "sgd", &t->optimizer));
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

/* An optimizer of one shape is for parameters of that shape. */
static bt_status check_optimizer(struct bt_training *t)
{
    const bt_global *global = t->optimizer.global;
    int64_t dims[BT_MAX_RANK], own[BT_MAX_RANK];
    uint32_t rank, nown;
    if (!t->options.folder ||
        !bt_tensor_static(global->func->block->params[0]->base.type, &nown, own))
        return NULL;
    for (uint32_t i = 0; i < t->nparam; i++) {
        if (bt_tensor_static(t->types[i], &rank, dims) && rank == nown &&
            memcmp(dims, own, rank * sizeof(*dims)) == 0)
            continue;
        bt_text wanted, given;
        bt_text_init(&wanted, t->arena);
        bt_text_init(&given, t->arena);
        bt_print_type(t->ctx, global->func->block->params[0]->base.type, &wanted);
        bt_print_type(t->ctx, t->types[i], &given);
        return bt_fail_at(t->ctx, BT_ERR_TYPE, t->optimizer.of->store, global->span,
                          "@%s is for parameters of type %s, and %s is %s: one for all "
                          "shapes is @%s<s: Shape>(%%w: Tensor[s, float32], ..)",
                          global->name, bt_text_get(&wanted) ? wanted.at : "?",
                          t->params[i].name, bt_text_get(&given) ? given.at : "?",
                          global->name);
    }
    return NULL;
}

bt_status training_results(struct bt_training *t, const bt_module *lifted)
{
    BT_TRY(check_optimizer(t));
    const bt_type *result = bt_module_find(lifted, "train.model")->func->result;
    const bt_list_type *tuple = bt_as_tuple_type(result);
    if (tuple && tuple->n > 1 && t->options.folder && !t->takes_all)
        bt_remark(t->ctx, BT_REMARK_NOTE,
                  bt_fail(t->ctx, BT_ERR_ARGUMENT,
                          "@%s gives %u results, and what it learns by is the first: a "
                          "loss of all of them is a function that takes their tuple, def "
                          "@loss.NAME(%%z: (..), %%y: ..)",
                          t->entry, tuple->n));
    return count_classes(t, tuple && tuple->n ? tuple->at[0] : result);
}
