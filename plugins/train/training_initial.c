/*
 * What parameters begin as, and the order of samples: what a seed decides.
 *     constants        what they are
 *     a named one      by its initializer: "w1=normal{scale=0.1}"
 *     with one or none ones where it multiplies or divides (training_uses.c), else zeros, as it is added
 *     moments          means zeros, variances ones, whether they move or not
 *     any other        by the initializer for all, else he_uniform
 * What is drawn comes of @train.initial, which has a key for each parameter. No key of a step or of
 * an order is among these: they are folded into the seed by numbers that no batch has.
 */
#include "training.h"

#include <string.h>

#include <baton/op.h>

static const char presumed[] = "he_uniform";
enum { INITIAL_KEY = -1, ORDER_KEY = -2 };

/* ---- initializers ---- */

/* Of those that are asked for: of the command or of the model. `i` counts from 0. NULL: no
 * more. */
static const char *asked_option(const struct bt_training *t, uint32_t i)
{
    return t->options.initializers ? t->options.initializers[i] : NULL;
}

static const char *asked_attr(const struct bt_training *t, uint32_t i)
{
    const bt_func *func = training_model(t->model);
    const bt_dict_entry *row = bt_dict_find(&func->attrs, "initializers");
    if (row && row->kind == BT_DICT_TEXT)
        return i == 0 ? row->text : NULL;
    return row && row->kind == BT_DICT_LIST && i < row->n &&
                   row->items[i].kind == BT_DICT_TEXT
               ? row->items[i].text
               : NULL;
}

/* The last one for a parameter, or with a NULL name for all. NULL: there is none. */
static const char *find_asked(const struct bt_training *t, const char *name)
{
    const char *(*const lists[])(const struct bt_training *, uint32_t) = { asked_attr,
                                                                           asked_option };
    const size_t n = name ? strlen(name) : 0;
    const char *text, *found = NULL;
    for (uint32_t k = 0; k < BT_COUNT(lists); k++) {
        for (uint32_t i = 0; (text = lists[k](t, i)); i++) {
            const char *behind = choice_behind_name(text);
            if (!name && !behind)
                found = text;
            else if (name && behind && (size_t)(behind - 1 - text) == n &&
                     strncmp(text, name, n) == 0)
                found = behind;
        }
    }
    return found;
}

/* What the model says is one text, or a list of them. */
static bt_status check_attr(struct bt_training *t)
{
    const bt_func *func = training_model(t->model);
    const bt_dict_entry *row = bt_dict_find(&func->attrs, "initializers");
    int is_right = !row || row->kind == BT_DICT_TEXT || row->kind == BT_DICT_LIST;
    for (uint32_t i = 0; row && row->kind == BT_DICT_LIST && i < row->n; i++)
        is_right &= row->items[i].kind == BT_DICT_TEXT;
    return is_right
               ? NULL
               : bt_fail_at(t->ctx, BT_ERR_ARGUMENT, t->model->store, func->span,
                            "attribute initializers of @%s is a list of texts, as in "
                            "initializers=[\"orthogonal\", \"w1=normal{scale=0.1}\"]",
                            t->entry);
}

/* Each name that is asked for is that of a parameter. */
static bt_status check_names(struct bt_training *t)
{
    const char *(*const lists[])(const struct bt_training *, uint32_t) = { asked_attr,
                                                                           asked_option };
    const char *text;
    uint32_t which;
    for (uint32_t k = 0; k < BT_COUNT(lists); k++) {
        for (uint32_t i = 0; (text = lists[k](t, i)); i++) {
            if (choice_behind_name(text))
                BT_TRY(training_find_named(t, "initializer", text, t->nheld, &which));
        }
    }
    return NULL;
}

/* ---- each parameter ---- */

static void fill(bt_tensor *t, float value)
{
    float *at = t->data;
    for (int64_t i = 0; i < t->nelem; i++)
        at[i] = value;
}

static bt_status take_constant(struct bt_training *t, const bt_global *initial,
                               uint32_t i)
{
    bt_tensor *dense;
    BT_TRY(bt_tensor_dense(t->ctx, bt_const_tensor(initial->value), &dense));
    memcpy(t->now[i]->data, dense->data, bt_tensor_nbytes(dense));
    bt_tensor_unref(dense);
    return NULL;
}

static bt_status choose_one(struct bt_training *t, const bt_module *lifted, uint32_t i)
{
    const char *named = find_asked(t, t->params[i].name), *all = find_asked(t, NULL);
    bt_text name;
    bt_text_init(&name, t->arena);
    bt_text_addf(&name, TRAINING_INITIAL "%s", t->params[i].name);
    if (!bt_text_get(&name))
        return bt_no_memory();
    const bt_global *constant = bt_module_find(lifted, name.at);
    const int is_moment = i >= t->nparam && i < t->nparam + t->nmoment;
    if (!named && constant)
        return take_constant(t, constant, i);
    BT_TRY(training_uses_find(t, lifted, i, &t->uses[i]));
    if (!named && (is_moment || t->now[i]->rank < 2)) {
        const int is_one =
            is_moment ? t->is_variance[i - t->nparam] : t->uses[i].is_factor;
        fill(t->now[i], is_one ? 1 : 0);
        return NULL;
    }
    if (!t->options.folder || t->options.only_evaluates)
        return NULL; // nothing draws: a file has its value
    struct choice *choice = BT_NEW(t->arena, struct choice);
    if (!choice)
        return bt_no_memory();
    t->drawn[i] = choice;
    const char *asked = named ? named : all ? all : presumed;
    BT_TRY(choice_make(t->ctx, t->arena, t->model, "initializer", asked, choice));
    bt_text option;
    bt_text_init(&option, t->arena);
    bt_text_addf(&option, "initializer %s%s%s: ", named ? t->params[i].name : "",
                 named ? "=" : "", asked);
    return bt_text_get(&option) ? choice_check_param(t->ctx, t->arena, choice, option.at,
                                                     t->params[i].name, t->types[i])
                                : bt_no_memory();
}

/* What is asked for all may find none to begin by it. */
static void tell_unused(struct bt_training *t)
{
    const char *all = find_asked(t, NULL);
    if (!all || !t->options.folder || t->options.only_evaluates)
        return;
    for (uint32_t i = 0; i < t->nheld; i++) {
        if (t->drawn[i] && !find_asked(t, t->params[i].name))
            return;
    }
    bt_remark(
        t->ctx, BT_REMARK_NOTE,
        bt_fail(t->ctx, BT_ERR_ARGUMENT,
                "initializer %s: no parameter of @%s begins by it: constants begin as "
                "they are, those of one axis or none as zeros or ones, and others are "
                "named (\"PARAMETER=%s\" names one)",
                all, t->entry, all));
}

bt_status training_initial_choose(struct bt_training *t, const bt_module *lifted)
{
    const uint32_t n = t->nheld;
    t->drawn = BT_NEWS(t->arena, struct choice *, n);
    t->uses = BT_NEWS(t->arena, struct training_uses, n);
    if (!t->drawn || !t->uses)
        return bt_no_memory();
    BT_TRY(check_attr(t));
    BT_TRY(check_names(t));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(choose_one(t, lifted, i));
    tell_unused(t);
    return NULL;
}

void training_initial_forget(struct bt_training *t)
{
    for (uint32_t i = 0; t->drawn && i < t->nheld; i++) {
        if (t->drawn[i])
            choice_forget(t->drawn[i]);
    }
}

/* ---- the program ---- */

static uint32_t count_drawn(const struct bt_training *t)
{
    uint32_t ndrawn = 0;
    for (uint32_t i = 0; i < t->nheld; i++)
        ndrawn += t->drawn[i] != NULL;
    return ndrawn;
}

static void add_numbers(uint32_t n, const int64_t *numbers, bt_text *out)
{
    for (uint32_t k = 0; k < n; k++)
        bt_text_addf(out, "%s%lld", k ? ", " : "", (long long)numbers[k]);
}

/* One that goes by the axes of a layer draws what it gives, what it reads and its window, in this
 * order; matrices of a batch are as one that gives what they all do. */
static void add_drawn(const struct bt_training *t, uint32_t i, bt_text *out)
{
    const bt_tensor *like = t->now[i];
    const struct training_uses own = { 0 }, *uses = choice_goes_by_axes(t->drawn[i])
                                                        ? &t->uses[i]
                                                        : &own;
    int64_t dims[BT_MAX_RANK], axes[BT_MAX_RANK], moved = 0, nrow = 1;
    for (uint32_t k = 0; k < like->rank; k++) {
        const uint32_t axis = uses->rank ? uses->order[k] : k;
        dims[k] = like->dims[axis];
        axes[axis] = k;
        moved += axis != k;
        nrow *= k <= uses->nbatch ? dims[k] : 1;
    }
    bt_text_addf(out, "%s%s@%s(random.threefry_fold_in(%%key, %u), zeros(shape=[",
                 moved ? "transpose(" : "", uses->nbatch ? "reshape(" : "",
                 t->drawn[i]->global->name, i);
    if (uses->nbatch) {
        const int64_t all[] = { nrow, dims[like->rank - 1] };
        add_numbers(2, all, out);
    } else {
        add_numbers(like->rank, dims, out);
    }
    bt_text_addf(out, "])");
    choice_add_options(t->drawn[i], out);
    bt_text_addf(out, ")");
    if (uses->nbatch) {
        bt_text_addf(out, ", newshape=[");
        add_numbers(like->rank, dims, out);
        bt_text_addf(out, "])");
    }
    if (moved) {
        bt_text_addf(out, ", axes=[");
        add_numbers(like->rank, axes, out);
        bt_text_addf(out, "])");
    }
}

void training_initial_text(const struct bt_training *t, bt_text *out)
{
    const uint32_t ndrawn = count_drawn(t);
    uint32_t nwritten = 0;
    if (ndrawn) {
        bt_text_addf(out,
                     "\ndef @train.initial(%%seed: Tensor[(2), uint32]) {\n"
                     "    %%key = random.threefry_fold_in(%%seed, %d);\n",
                     INITIAL_KEY);
        for (uint32_t i = 0; i < t->nheld; i++) {
            if (!t->drawn[i])
                continue;
            bt_text_addf(out, "    %%p%u = ", i);
            add_drawn(t, i, out);
            bt_text_addf(out, "; // %s\n", t->params[i].name);
        }
        bt_text_addf(out, ndrawn > 1 ? "    (" : "    ");
        for (uint32_t i = 0; i < t->nheld; i++) {
            if (t->drawn[i])
                bt_text_addf(out, "%s%%p%u", nwritten++ ? ", " : "", i);
        }
        bt_text_addf(out, ndrawn > 1 ? ")\n}\n" : "\n}\n");
    }
    bt_text_addf(
        out,
        "\ndef @train.order<n: Dim>(%%seed: Tensor[(2), uint32], %%epoch: int64, "
        "%%samples: Tensor[(n), int64]) {\n"
        "    %%key = random.threefry_fold_in(%%seed, %d);\n"
        "    random.permutation(random.threefry_fold_in(%%key, %%epoch), "
        "%%samples)\n}\n",
        ORDER_KEY);
}

bt_tensor *training_initial_seed(struct bt_training *t)
{
    uint32_t *key = t->seed->data;
    key[0] = (uint32_t)(t->options.seed >> 32); // random.threefry_key
    key[1] = (uint32_t)t->options.seed;
    return t->seed;
}

bt_status training_initial_draw(struct bt_training *t)
{
    const bt_program_options options = { .entry = "train.initial",
                                         .target = t->options.target ? t->options.target
                                                                     : "cpu" };
    bt_program *program;
    uint32_t at = 0;
    if (!count_drawn(t))
        return NULL;
    BT_TRY(bt_program_open(t->ctx, t->path, &options, &program));
    bt_status status = bt_program_set_at(program, 0, &training_initial_seed(t)->base);
    for (uint32_t i = 0; !status && i < t->nheld; i++) {
        if (t->drawn[i])
            status = bt_program_set_output(program, at++, t->now[i]);
    }
    if (!status)
        status = bt_program_run(program);
    bt_program_close(program);
    return status;
}

/* ---- the order of samples ---- */

/* By the reference, which gives the same on every machine and compiles nothing. */
static bt_status open_order(struct bt_training *t)
{
    const bt_program_options options = { .entry = "train.order",
                                         .executor = "interp",
                                         .pipeline = "dead-code" };
    return t->ordering ? NULL : bt_program_open(t->ctx, t->path, &options, &t->ordering);
}

bt_status training_initial_order(bt_training *t, int64_t epoch, int64_t n, int64_t *out)
{
    bt_tensor *number = NULL, *samples = NULL;
    if (!t->path)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "samples have an order where a training has a folder");
    if (epoch < 0)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT, "epoch %lld: epochs count from 0 on",
                       (long long)epoch);
    BT_TRY(open_order(t));
    bt_status status = bt_tensor_create(t->ctx, BT_INT64, 0, NULL, &number);
    if (!status)
        status = bt_tensor_create(t->ctx, BT_INT64, 1, &n, &samples);
    if (!status) {
        bt_tensor_set_int(number, 0, epoch);
        for (int64_t i = 0; i < n; i++)
            bt_tensor_set_int(samples, i, i);
        bt_tensor *const args[] = { training_initial_seed(t), number, samples };
        for (uint32_t i = 0; !status && i < BT_COUNT(args); i++)
            status = bt_program_set_at(t->ordering, i, &args[i]->base);
    }
    if (!status)
        status = bt_program_run(t->ordering);
    if (!status)
        memcpy(out, bt_object_as_tensor(bt_program_get(t->ordering, 0))->data,
               (size_t)n * sizeof(*out));
    bt_tensor_unref(number);
    bt_tensor_unref(samples);
    return status;
}
