/*
 * The program of a step, as text that can be read: the model as a function of its parameters,
 *     @train.loss      the loss of a batch, how many of its samples are right, what the model
 *                      gives, and new moments; as in training (@train.training)
 *     @train.gradient  its gradient by the parameters
 *     @train.step      gradient, clipped, and the optimizer on each parameter: what training runs
 *     @train.add       gradient added to sums, of a step of several batches
 *     @train.evaluate  the loss and what the model gives, as at inference
 *     @train.initial, @train.order
 *                      what parameters begin as, the order of samples (training_initial.c)
 * A model has no function of such a name (training_prepare.c).
 */
#include "training.h"

#include <string.h>

struct writer {
    struct bt_training *t;
    bt_text *out;
    const char *dtype; /* of what the model should give */
};

static void add_type(const struct writer *w, const bt_type *type)
{
    bt_print_type(w->t->ctx, type, w->out);
}

/* "%p0: Tensor[..], %p1: .." */
static void add_params(const struct writer *w, const char *prefix)
{
    for (uint32_t i = 0; i < w->t->nparam; i++) {
        bt_text_addf(w->out, "%s%%%s%u: ", i ? ", " : "", prefix, i);
        add_type(w, w->t->types[i]);
    }
}

/* ", %m0: Tensor[..], .."; what stands first has no comma before it */
static void add_moments(const struct writer *w, const char *prefix)
{
    for (uint32_t i = 0; i < w->t->nmoment; i++) {
        bt_text_addf(w->out, "%s%%%s%u: ", w->t->nparam + i ? ", " : "", prefix, i);
        add_type(w, w->t->types[w->t->nparam + i]);
    }
}

/* ", %f0: Tensor[..], .." */
static void add_fixed(const struct writer *w)
{
    const uint32_t before = w->t->nparam + w->t->nmoment;
    for (uint32_t i = 0; i < w->t->nfixed; i++) {
        bt_text_addf(w->out, "%s%%f%u: ", before + i ? ", " : "", i);
        add_type(w, w->t->types[before + i]);
    }
}

static void add_states(const struct writer *w)
{
    for (uint32_t k = 0; k < w->t->optimizer.nstate; k++) {
        for (uint32_t i = 0; i < w->t->nparam; i++) {
            bt_text_addf(w->out, ", %%s%u_%u: ", k, i);
            add_type(w, w->t->types[i]);
        }
    }
}

/* ", %x0: .., %y: .." */
static void add_batch(const struct writer *w)
{
    for (uint32_t i = 0; i < w->t->ninput; i++) {
        bt_text_addf(w->out, "%s%%x%u: ", w->t->nheld + i ? ", " : "", i);
        add_type(w, w->t->inputs[i]);
    }
    const bt_training_options *o = &w->t->options;
    bt_text_addf(w->out, ", %%y: Tensor[(");
    for (uint32_t i = 0; i < o->label_rank; i++)
        bt_text_addf(w->out, "%s%lld", i ? ", " : "", (long long)o->label_dims[i]);
    bt_text_addf(w->out, "), %s]", w->dtype);
}

/* The scale of the loss; the seed, and the number of the batch, by which each has a key of its
 * own. */
static void add_seed(const struct writer *w)
{
    if (w->t->scale)
        bt_text_addf(w->out, ", %%scale: float32");
    if (w->t->has_key)
        bt_text_addf(w->out, ", %%seed: Tensor[(2), uint32], %%run: int64");
}

/* "%p0, %p1, .." */
static void add_list(const struct writer *w, const char *before, uint32_t n,
                     const char *between)
{
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(w->out, "%s%%%s%u", i ? between : "", before, i);
}

/* "%p0, .., %m0, .., %f0, .., %x0, .., %y" */
static void add_args(const struct writer *w, const char *moments)
{
    add_list(w, "p", w->t->nparam, ", ");
    for (uint32_t i = 0; i < w->t->nmoment; i++)
        bt_text_addf(w->out, ", %%%s%u", moments, i);
    for (uint32_t i = 0; i < w->t->nfixed; i++)
        bt_text_addf(w->out, ", %%f%u", i);
    bt_text_addf(w->out, ", ");
    add_list(w, "x", w->t->ninput, ", ");
    bt_text_addf(w->out, ", %%y");
}

/* What the loss takes: the first result, or all of them, without moments behind. */
static void add_results(const struct writer *w)
{
    const bt_list_type *tuple = bt_as_tuple_type(training_model(w->t->model)->result);
    if (!w->t->takes_all || !tuple) {
        bt_text_addf(w->out, "%%z");
        return;
    }
    for (uint32_t i = 0; i < tuple->n; i++)
        bt_text_addf(w->out, "%s%%o.%u", i ? ", " : "(", i);
    bt_text_addf(w->out, tuple->n == 1 ? ",)" : ")");
}

/* " * 1024f", " * %scale", "" */
static void add_scale(const struct writer *w)
{
    if (w->t->scale)
        bt_text_addf(w->out, " * %%scale");
    else if (w->t->options.loss_scale != 1)
        bt_text_addf(w->out, " * %.9gf", w->t->options.loss_scale);
}

/* The model takes its data first, then parameters and moments in the order that it has them.
 * "%o = @train.model(%x0, .., %p0, ..); %z = %o.0; (@loss.NAME(%z, %y), .., %z" */
static void add_model(const struct writer *w, const char *name, int is_tuple,
                      const char *key, int is_scaled)
{
    const struct bt_training *t = w->t;
    char dtype[BT_DTYPE_NAME_SIZE];
    bt_text_addf(w->out, " {\n    %%o = @%s(", name);
    add_list(w, "x", t->ninput, ", ");
    for (uint32_t i = 0; i < t->nheld; i++) {
        const uint32_t at = t->places[i], nmoved = t->nparam + t->nmoment;
        if (at < t->nparam)
            bt_text_addf(w->out, ", %%p%u", at);
        else if (at < nmoved)
            bt_text_addf(w->out, ", %%m%u", at - t->nparam);
        else
            bt_text_addf(w->out, ", %%f%u", at - nmoved);
    }
    bt_text_addf(w->out, "%s);\n    %%z = %%o%s;\n    (@%s(", key, is_tuple ? ".0" : "",
                 t->loss.global->name);
    add_results(w);
    if (t->label_dtype == t->options.label_dtype)
        bt_text_addf(w->out, ", %%y");
    else
        bt_text_addf(w->out, ", cast(%%y, dtype=\"%s\")",
                     bt_dtype_name(t->label_dtype, dtype, sizeof(dtype)));
    choice_add_options(&t->loss, w->out);
    bt_text_addf(w->out, ")");
    if (is_scaled)
        add_scale(w);
    bt_text_addf(w->out, ", %s, %%z",
                 t->has_classes ? "@train.count_right(%z, %y)" : "-1f");
}

static void add_loss(const struct writer *w)
{
    const struct bt_training *t = w->t;
    const bt_list_type *tuple = bt_as_tuple_type(training_model(t->model)->result);
    const int differs = t->has_key || t->nmoment;
    bt_text_addf(w->out, "\ndef @train.loss(");
    add_params(w, "p");
    add_moments(w, "m");
    add_fixed(w);
    add_batch(w);
    bt_text_addf(w->out, "%s%s)", t->scale ? ", %scale: float32" : "",
                 t->has_key ? ", %key: Tensor[(2), uint32]" : "");
    add_model(w, differs ? "train.training" : TRAINING_MODEL, tuple || t->nmoment,
              t->has_key ? ", %key" : "", 1);
    for (uint32_t i = 0; i < t->nmoment; i++)
        bt_text_addf(w->out, ", %%o.%u", (tuple ? tuple->n : 1) + i);
    bt_text_addf(w->out, ")\n}\n\ngradient @train.gradient = @train.loss(wrt=[");
    for (uint32_t i = 0; i < t->nparam; i++)
        bt_text_addf(w->out, "%s%u", i ? ", " : "", i);
    bt_text_addf(w->out, "], keep=[0, 1");
    for (uint32_t i = 0; i < t->nmoment; i++)
        bt_text_addf(w->out, ", %u", 3 + i);
    bt_text_addf(w->out, "]);\n");
}

static void add_evaluation(const struct writer *w)
{
    const bt_type *result = training_model(w->t->model)->result;
    bt_text_addf(w->out, "\ndef @train.evaluate(");
    add_params(w, "p");
    add_moments(w, "m");
    add_fixed(w);
    add_batch(w);
    bt_text_addf(w->out, ")");
    add_model(w, TRAINING_MODEL, bt_as_tuple_type(result) != NULL, "", 0);
    bt_text_addf(w->out, ")\n}\n");
}

/* How many samples have their greatest result at the class that is right. */
static void add_count(const struct writer *w)
{
    if (w->t->has_classes)
        bt_text_addf(w->out,
                     "\ndef @train.count_right<n: Dim, c: Dim>(%%z: Tensor[(n, c), "
                     "float32], %%y: Tensor[(n), int64]) -> float32 {\n"
                     "    sum(cast(equal(cast(argmax(%%z, axis=[1]), dtype=\"int64\"), "
                     "%%y), dtype=\"float32\"))\n}\n");
}

/* "%d = @train.gradient(..);": gradients, loss, right ones, new moments */
static void add_gradient_call(const struct writer *w, const char *moments)
{
    if (w->t->has_key)
        bt_text_addf(w->out, "    %%key = random.threefry_fold_in(%%seed, %%run);\n");
    bt_text_addf(w->out, "    %%d = @train.gradient(");
    add_args(w, moments);
    bt_text_addf(w->out, "%s%s);\n", w->t->scale ? ", %scale" : "",
                 w->t->has_key ? ", %key" : "");
}

/* %g0, %g1, ..: gradients; of several batches their mean. */
static void add_gradients(const struct writer *w)
{
    const struct bt_training *t = w->t;
    const double factor = 1 / (t->nmicro * (t->scale ? 1 : t->options.loss_scale));
    add_gradient_call(w, t->nmicro > 1 ? "b" : "m");
    if (t->scale || factor != 1)
        bt_text_addf(w->out, "    %%back = %.9gf%s;\n", factor,
                     t->scale ? " / %scale" : "");
    for (uint32_t i = 0; i < t->nparam; i++) {
        if (t->nmicro > 1)
            bt_text_addf(w->out, "    %%g%u = (%%a%u + %%d.%u) * %%back;\n", i, i, i);
        else
            bt_text_addf(w->out, "    %%g%u = %%d.%u%s;\n", i, i,
                         t->scale || factor != 1 ? " * %back" : "");
    }
}

/* Whether the loss, all gradients and what the schedule gives are numbers: if not, nothing is
 * updated, and the step can be looked at again. Then %h0, %h1, ..: gradients whose norm, all
 * together, is at most `clip`. */
static void add_norm(const struct writer *w)
{
    const struct bt_training *t = w->t;
    for (uint32_t i = 0; i < t->nparam; i++)
        bt_text_addf(w->out, "    %%" TRAINING_SQUARES "%u = %%g%u * %%g%u;\n", i, i, i);
    bt_text_addf(w->out, "    %%squares = ");
    for (uint32_t i = 0; i < t->nparam; i++)
        bt_text_addf(w->out, "%ssum(%%" TRAINING_SQUARES "%u)", i ? " + " : "", i);
    bt_text_addf(w->out, ";\n    %%factor = @%s(%%step, %%steps",
                 t->schedule.global->name);
    choice_add_options(&t->schedule, w->out);
    bt_text_addf(w->out,
                 ");\n    %%fine = logical_and(logical_and(isfinite(%%d.%u), "
                 "isfinite(%%squares)), isfinite(%%factor));\n",
                 t->nparam);
    if (t->options.clip <= 0)
        return;
    bt_text_addf(w->out,
                 "    %%clip = minimum(1f, %.9gf / maximum(sqrt(%%squares), 1e-30f));\n",
                 t->options.clip);
    for (uint32_t i = 0; i < t->nparam; i++)
        bt_text_addf(w->out, "    %%h%u = %%clip * %%g%u;\n", i, i);
}

/* The options of one parameter; a rate is the schedule's factor of it. */
static void add_options(const struct writer *w, uint32_t param)
{
    const struct bt_training *t = w->t;
    const struct choice *c = t->own[param] ? t->own[param] : &t->optimizer;
    for (uint32_t k = 0; k < c->noption; k++) {
        const int is_rate = strcmp(c->option_names[k], "rate") == 0;
        if (is_rate && c->options[k] == t->optimizer.options[k])
            bt_text_addf(w->out, ", %%rate");
        else
            bt_text_addf(w->out, ", %.9gf%s", c->options[k], is_rate ? " * %factor" : "");
    }
}

static void add_update(const struct writer *w, const char *gradient)
{
    const struct bt_training *t = w->t;
    for (uint32_t i = 0; i < t->optimizer.noption; i++) {
        if (strcmp(t->optimizer.option_names[i], "rate") == 0)
            bt_text_addf(w->out, "    %%rate = %.9gf * %%factor;\n",
                         t->optimizer.options[i]);
    }
    for (uint32_t i = 0; i < t->nparam; i++) {
        bt_text_addf(w->out, "    %%u%u = @%s(%%p%u, %%%s%u", i,
                     t->optimizer.global->name, i, gradient, i);
        for (uint32_t k = 0; k < t->optimizer.nstate; k++)
            bt_text_addf(w->out, ", %%s%u_%u", k, i);
        bt_text_addf(w->out, ", %%step");
        add_options(w, i);
        bt_text_addf(w->out, ");\n");
    }
}

/* Parameters, moments, state, whether they are updated, loss, right ones. */
static void add_step(const struct writer *w)
{
    const struct bt_training *t = w->t;
    const uint32_t nstate = t->optimizer.nstate;
    bt_text_addf(w->out, "\ndef @train.step(");
    add_params(w, "p");
    add_moments(w, "m");
    add_fixed(w);
    add_states(w);
    bt_text_addf(w->out, ", %%step: float32, %%steps: float32");
    if (t->nmicro > 1) {
        bt_text_addf(w->out, ", ");
        add_params(w, "a");
        add_moments(w, "b");
    }
    add_batch(w);
    add_seed(w);
    bt_text_addf(w->out, ") {\n");
    add_gradients(w);
    add_norm(w);
    add_update(w, t->options.clip > 0 ? "h" : "g");
    bt_text_addf(w->out, "    (");
    for (uint32_t k = 0; k <= nstate; k++) {
        for (uint32_t i = 0; i < t->nparam; i++) {
            bt_text_addf(w->out, "where(%%fine, %%u%u", i);
            if (nstate)
                bt_text_addf(w->out, ".%u", k);
            if (k)
                bt_text_addf(w->out, ", %%s%u_%u), ", k - 1, i);
            else
                bt_text_addf(w->out, ", %%p%u), ", i);
        }
        for (uint32_t i = 0; !k && i < t->nmoment; i++)
            bt_text_addf(w->out, "where(%%fine, %%d.%u, %%m%u), ", t->nparam + 2 + i, i);
    }
    bt_text_addf(w->out, "cast(%%fine, dtype=\"float32\"), %%d.%u, %%d.%u)\n}\n",
                 t->nparam, t->nparam + 1);
}

/* Sums, moments, loss, right ones. */
static void add_sums(const struct writer *w)
{
    const struct bt_training *t = w->t;
    if (t->nmicro < 2)
        return;
    bt_text_addf(w->out, "\ndef @train.add(");
    add_params(w, "p");
    bt_text_addf(w->out, ", ");
    add_params(w, "a");
    add_moments(w, "b");
    add_fixed(w);
    add_batch(w);
    add_seed(w);
    bt_text_addf(w->out, ") {\n");
    add_gradient_call(w, "b");
    bt_text_addf(w->out, "    (");
    for (uint32_t i = 0; i < t->nparam; i++)
        bt_text_addf(w->out, "%%a%u + %%d.%u, ", i, i);
    for (uint32_t i = 0; i < t->nmoment; i++)
        bt_text_addf(w->out, "%%d.%u, ", t->nparam + 2 + i);
    bt_text_addf(w->out, "%%d.%u, %%d.%u)\n}\n", t->nparam, t->nparam + 1);
}

/* Of the library that it was found in, once. */
static void add_import(const struct writer *w, const struct choice *choice)
{
    bt_text line;
    if (!choice || !choice->library)
        return;
    bt_text_init(&line, w->t->arena);
    bt_text_addf(&line, "import \"%s\"\n", choice->library);
    if (bt_text_get(&line) && bt_text_get(w->out) && !strstr(w->out->at, line.at))
        bt_text_addf(w->out, "%s", line.at);
}

/* Behind the lines that describe the text: its version, spans, attributes. */
static size_t head_nbytes(const char *text)
{
    const char *at = text;
    while (*at == '#' || *at == '\n') {
        const char *end = strchr(at, '\n');
        if (!end)
            break;
        at = end + 1;
    }
    return (size_t)(at - text);
}

/* The function of a choice, unless it is a library's. */
static const char *own_name(const struct choice *choice)
{
    return choice && choice->global && !choice->library ? choice->global->name : NULL;
}

/* Names of the model that what a choice brings of a library has, too, are others in the text. */
static bt_status find_clashes(struct bt_training *t, const bt_module *called,
                              const struct choice *choice, bt_map *renamed)
{
    for (uint32_t i = 0; choice && choice->library && i < choice->of->nglobal; i++) {
        const char *name = choice->of->globals[i]->name;
        bt_text now;
        if (!bt_module_find(called, name))
            continue;
        bt_text_init(&now, t->arena);
        bt_text_addf(&now, TRAINING_MODEL ".%s", name);
        if (!bt_text_get(&now) || !bt_map_put(renamed, name, now.at))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status find_all_clashes(struct bt_training *t, const bt_module *called,
                                  bt_map *renamed)
{
    bt_map_init(renamed, t->arena, 1);
    BT_TRY(find_clashes(t, called, &t->loss, renamed));
    BT_TRY(find_clashes(t, called, &t->optimizer, renamed));
    BT_TRY(find_clashes(t, called, &t->schedule, renamed));
    for (uint32_t i = 0; t->drawn && i < t->nheld; i++)
        BT_TRY(find_clashes(t, called, t->drawn[i], renamed));
    return NULL;
}

/* What a step calls of the model. *out: a new reference. */
static bt_status keep_called(struct bt_training *t, bt_module **out)
{
    const bt_module *model = t->model;
    const uint32_t n = 5 + (t->drawn ? t->nheld : 0);
    const char **roots = BT_NEWS(t->arena, const char *, n);
    uint8_t *kept = BT_NEWS(t->arena, uint8_t, model->nglobal);
    const bt_callgraph *graph;
    bt_module_builder *builder;
    if (!roots || !kept)
        return bt_no_memory();
    roots[0] = TRAINING_MODEL;
    roots[1] = t->options.only_evaluates ? NULL : "train.training";
    roots[2] = own_name(&t->loss);
    roots[3] = own_name(&t->optimizer);
    roots[4] = own_name(&t->schedule);
    for (uint32_t i = 5; i < n; i++)
        roots[i] = own_name(t->drawn[i - 5]);
    BT_TRY(bt_callgraph_create(t->ctx, model, t->arena, &graph));
    for (uint32_t i = 0; i < n; i++) {
        const bt_global *root = roots[i] ? bt_module_find(model, roots[i]) : NULL;
        const uint8_t *reached;
        if (!root)
            continue;
        BT_TRY(bt_callgraph_reach(graph, model, root, t->arena, &reached));
        for (uint32_t k = 0; k < model->nglobal; k++)
            kept[k] |= reached[k];
    }
    BT_TRY(bt_module_builder_create(t->ctx, model->store, model, &builder));
    for (uint32_t k = 0; k < model->nglobal; k++) {
        if (!kept[k])
            bt_module_builder_remove(builder, model->globals[k]->name);
    }
    return bt_module_builder_finish(builder, 1, out);
}

bt_status training_text(struct bt_training *t, int whole, bt_text *out)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    const int evaluates = t->options.only_evaluates != 0;
    const struct writer w = {
        t, out, bt_dtype_name(t->options.label_dtype, dtype, sizeof(dtype))
    };
    bt_map none; // with it the text is not said to be typed, as what is added is not
    bt_map renamed;
    bt_text model;
    bt_module *called;
    bt_map_init(&none, t->arena, 0);
    const bt_print_options options = { .spans = (uint32_t)whole,
                                       .nested = &none,
                                       .renamed = &renamed };
    bt_text_init(&model, t->arena);
    BT_TRY(keep_called(t, &called));
    bt_status status = find_all_clashes(t, called, &renamed);
    if (!status)
        status = bt_print(t->ctx, called, &options, &model);
    bt_module_unref(called);
    BT_TRY(status);
    const char *text = bt_text_get(&model);
    if (!text)
        return bt_no_memory();
    const size_t head = head_nbytes(text);
    bt_text_add(out, text, head);
    bt_text_addf(out, "// %s, as it is compiled.\n",
                 evaluates ? "An evaluation" : "One step of training");
    add_import(&w, &t->loss);
    if (!evaluates) {
        add_import(&w, &t->optimizer);
        add_import(&w, &t->schedule);
    }
    for (uint32_t i = 0; whole && t->drawn && i < t->nheld; i++)
        add_import(&w, t->drawn[i]);
    if (!evaluates)
        add_loss(&w);
    add_evaluation(&w);
    add_count(&w);
    if (!evaluates) {
        add_sums(&w);
        add_step(&w);
    }
    if (whole)
        training_initial_text(t, out);
    bt_text_addf(out, "\n%s", text + head);
    return bt_text_get(out) ? NULL : bt_no_memory();
}
