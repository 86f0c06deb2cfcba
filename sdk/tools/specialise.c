/*
 * What the values that -i gives settle of a program before it is compiled: open dims, by
 * the shapes of values; and small inputs that shapes depend on, which become constants.
 */
#include "specialise.h"

#include <string.h>

#include <baton/ir.h>

#include "input.h"

static uint32_t count(const char *const *list)
{
    uint32_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* A further text of a list with room. 0: it has it already, by its name up to '='. */
static int add(const char **list, const char *text)
{
    size_t n = strcspn(text, "=") + 1;
    uint32_t at = 0;
    for (; list[at]; at++) {
        if (strncmp(list[at], text, n) == 0)
            return 0;
    }
    list[at] = text;
    return 1;
}

/* "NAME=VALUE" */
static const char *print(bt_ctx *ctx, const char *name, size_t n, const char *value)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_add(&text, name, n);
    bt_text_addf(&text, "=%s", value);
    return bt_text_get(&text);
}

/* The VALUE that -i gives for a parameter; NULL: none. */
static const char *find_value(const struct specialise *s, const bt_block *block,
                              const bt_value *param)
{
    for (const char *const *text = s->inputs; *text; text++) {
        size_t n = param->name ? match_name(*text, param->name) : 0;
        if (n)
            return *text + n + 1;
    }
    return block->nparam == 1 && s->inputs[0] && !s->inputs[1] ? s->inputs[0] : NULL;
}

/* ---- dims ---- */

/* n of Tensor[(n, 4), float32] by a value of shape (3, 4). */
static bt_status take_dims(struct specialise *s, const bt_type *type,
                           const struct value_facts *facts, int *found)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t size;
    if (!shape || facts->rank != (int32_t)shape->n)
        return NULL;
    for (uint32_t i = 0; i < shape->n; i++) {
        if (facts->dims[i] < 0 ||
            (bt_dim_is_const(shape->dims[i], &size) && size != facts->dims[i]))
            return NULL; // a wrong value settles nothing
    }
    for (uint32_t i = 0; i < shape->n; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)shape->dims[i];
        char number[24];
        if (shape->dims[i]->kind != BT_TYPE_VAR || var->is_anonymous || !var->name)
            continue;
        snprintf(number, sizeof(number), "%lld", (long long)facts->dims[i]);
        const char *text = print(s->tool->ctx, var->name, strlen(var->name), number);
        if (!text)
            return bt_no_memory();
        *found |= add(s->dims, text);
    }
    return NULL;
}

/* ---- inputs that shapes depend on ---- */

struct follow {
    bt_map reached; /* integers that are computed from the input */
    int is_shape;   /* a shape is among what they decide */
};

/* Recursion is bounded by the depth of regions. 0: no memory */
static int follow_block(struct follow *f, const bt_block *block)
{
    int ok = 1;
    for (uint32_t i = 0; ok && i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        int is_reached = 0;
        for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
            ok = ok && follow_block(f, bt_value_region(value, k));
            is_reached |=
                bt_map_find(&f->reached, bt_value_region(value, k)->result) != NULL;
        }
        for (uint32_t k = 0; k < bt_value_noperand(value); k++)
            is_reached |= bt_map_find(&f->reached, bt_value_operand(value, k)) != NULL;
        f->is_shape |= is_reached && (value->type->has & BT_HAS_OPAQUE);
        if (is_reached && !bt_dtype_is_float(bt_tensor_dtype(value->type)))
            ok = ok && bt_map_put(&f->reached, value, f);
    }
    return ok;
}

static bt_status decides_shapes(bt_ctx *ctx, const bt_block *block, const bt_value *param,
                                int *out)
{
    struct follow f = { .is_shape = 0 };
    bt_map_init(&f.reached, bt_ctx_scratch(ctx), 0);
    if (!bt_map_put(&f.reached, param, &f) || !follow_block(&f, block))
        return bt_no_memory();
    *out = f.is_shape;
    return NULL;
}

/* ---- what is asked ---- */

/* Of a model that was read. */
static bt_status settle(struct specialise *s, const bt_block *block, int *found)
{
    bt_ctx *ctx = s->tool->ctx;
    struct value_facts facts;
    int decides;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const char *value = find_value(s, block, param);
        // what is wrong with a value is told when it is set
        if (!value || look_at_value(ctx, value, &facts))
            continue;
        BT_TRY(take_dims(s, param->type, &facts, found));
        if (!facts.numbers || facts.is_float || value == s->inputs[0] || s->nround == 0)
            continue; // dims first: they may settle the shapes
        BT_TRY(decides_shapes(ctx, block, param, &decides));
        const char *text = print(ctx, param->name, strlen(param->name), facts.numbers);
        if (!text)
            return bt_no_memory();
        *found |= decides && add(s->fixed, text);
    }
    return NULL;
}

/* Of one that cannot be read as it is: first the integers, then whatever is small, but for
 * the first input, which is what it computes on. */
static bt_status settle_blindly(struct specialise *s, int *found)
{
    struct value_facts facts;
    for (uint32_t i = 0; s->inputs[i]; i++) {
        size_t n = strcspn(s->inputs[i], "=");
        if (!s->inputs[i][n] || look_at_value(s->tool->ctx, s->inputs[i] + n + 1, &facts))
            continue;
        if (!facts.numbers || (s->nround == 0 ? facts.is_float : i == 0))
            continue;
        const char *text = print(s->tool->ctx, s->inputs[i], n, facts.numbers);
        if (!text)
            return bt_no_memory();
        *found |= add(s->fixed, text);
    }
    return NULL;
}

static bt_status specialise(bt_ctx *ctx, bt_specialise_call *call)
{
    struct specialise *s = call->self;
    int found = 0;
    (void)ctx;
    bt_status status = NULL;
    if (call->is_refused) {
        s->dims[s->ndim] = NULL;
        s->fixed[s->nfixed] = NULL;
        return NULL;
    }
    s->ndim = count(s->dims);
    s->nfixed = count(s->fixed);
    do { // where the first round has nothing to settle, the second follows at once
        if (!call->module)
            status = settle_blindly(s, &found);
        else if (call->entry->kind == BT_GLOBAL_FUNC)
            status = settle(s, call->entry->func->block, &found);
    } while (!status && !found && s->nround++ == 0);
    if (found) {
        s->nround++;
        call->dims = s->dims;
        call->fixed = s->fixed;
    }
    return status;
}

/* ---- before and after ---- */

/* A copy with room for `more` further texts. */
static const char **with_room(struct tool *tool, const char *const *given, uint32_t more)
{
    uint32_t n = count(given);
    const char **list =
        BT_NEWS(bt_ctx_scratch(tool->ctx), const char *, (size_t)n + more + 1);
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = given[i];
    return list;
}

int begin_specialise(struct tool *tool, struct specialise *s, bt_program_options *options)
{
    *s = (struct specialise){ .tool = tool, .inputs = option_values(tool, "input") };
    uint32_t ninput = count(s->inputs);
    if (!ninput || option_value(tool, "no-specialise") || option_value(tool, "hot"))
        return EXIT_OK;
    s->dims = with_room(tool, options->dims, ninput * BT_MAX_RANK);
    s->fixed = with_room(tool, options->fixed, ninput);
    if (!s->dims || !s->fixed)
        return tool_fail(tool, bt_no_memory());
    options->specialise = specialise;
    options->specialise_self = s;
    return EXIT_OK;
}

static int is_fixed(const struct specialise *s, const char *input)
{
    for (const char **text = s->fixed + count(option_values(s->tool, "fix")); *text;
         text++) {
        size_t n = strcspn(*text, "=") + 1;
        if (strncmp(*text, input, n) == 0)
            return 1;
    }
    return 0;
}

int end_specialise(struct specialise *s, const char *const **inputs)
{
    bt_ctx *ctx = s->tool->ctx;
    uint32_t ndim = count(option_values(s->tool, "dim")),
             nfixed = count(option_values(s->tool, "fix")), n = 0;
    bt_text text;
    *inputs = s->inputs;
    if (!s->dims)
        return EXIT_OK;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    for (const char **dim = s->dims + ndim; *dim; dim++)
        bt_text_addf(&text, "%s%s", text.len ? ", " : "", *dim);
    for (const char **fixed = s->fixed + nfixed; *fixed; fixed++)
        bt_text_addf(&text, "%s%s as a constant", text.len ? ", " : "", *fixed);
    if (!bt_text_get(&text))
        return tool_fail(s->tool, bt_no_memory());
    if (text.len)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_ARGUMENT,
                          "compiled for what -i gives: %s; --no-specialise leaves that "
                          "open",
                          text.at));
    const char **left = with_room(s->tool, NULL, count(s->inputs));
    if (!left)
        return tool_fail(s->tool, bt_no_memory());
    for (uint32_t i = 0; s->inputs[i]; i++) {
        if (!is_fixed(s, s->inputs[i]))
            left[n++] = s->inputs[i];
    }
    *inputs = left;
    return EXIT_OK;
}
