/* What there is to choose, by kind, and whether a function is one of its kind. */
#include "choice.h"

#include <string.h>

static const struct choice_kind kinds[] = {
    {
        .name = "loss",
        .signature = "(%z: what the model gives, %y: what it should have given, options: "
                     "float32, ..) -> float32",
        .ntensor = 2,
        .like = -1,
    },
    {
        .name = "optimizer",
        .signature = "<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], state: "
                     "Tensor[s, float32], .., %step: float32, options: float32, ..) -> "
                     "Tensor[s, float32], or, with state, the tuple of what %w and each "
                     "state become",
        .ntensor = 2,
        .has_state = 1,
        .ngiven = 1,
        .given = { "step" },
        .like = 0,
    },
    {
        .name = "schedule",
        .signature = "(%step: float32, %steps: float32, options: float32, ..) -> float32",
        .ngiven = 2,
        .given = { "step", "steps" },
        .like = -1,
    },
    {
        .name = "initializer",
        .signature = "<s: Shape>(%key: Tensor[(2), uint32], %like: Tensor[s, float32], "
                     "options: float32, ..) -> Tensor[s, float32]",
        .ntensor = 2,
        .like = 1,
    },
};

const struct choice_kind *choice_kind(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

static bt_status refuse(bt_ctx *ctx, const struct choice *c, const char *what)
{
    return bt_fail_at(ctx, BT_ERR_TYPE, c->of->store, c->global->span,
                      "@%s is no %s: it %s, and such a function is @%s.NAME%s",
                      c->global->name, c->kind->name, what, c->kind->name,
                      c->kind->signature);
}

/* ---- what it takes ---- */

static int is_number(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return shape && !shape->n && !shape->rest && bt_tensor_dtype(type) == BT_FLOAT32;
}

static int is_given(const struct choice_kind *kind, const char *name)
{
    for (uint32_t i = 0; i < kind->ngiven; i++) {
        if (strcmp(kind->given[i], name) == 0)
            return 1;
    }
    return 0;
}

static int has_param(const bt_block *block, const char *name)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (block->params[i]->base.name && strcmp(block->params[i]->base.name, name) == 0)
            return 1;
    }
    return 0;
}

/* "BEFORE%step: float32 and %steps: float32": what it is given and does not take. */
static void add_missing(const struct choice *c, const char *before, bt_text *out)
{
    for (uint32_t i = 0, n = 0; i < c->kind->ngiven; i++) {
        if (!has_param(c->global->func->block, c->kind->given[i]))
            bt_text_addf(out, "%s%%%s: float32", n++ ? " and " : before,
                         c->kind->given[i]);
    }
}

static const char OPTIONS_BEHIND[] = "options stand behind what is given";

/* Adds a parameter to those of its sort. NULL, or why it is none that can stand there. */
static const char *take_param(struct choice *c, const bt_value *param, uint32_t *ntensor,
                              uint32_t *ngiven)
{
    const struct choice_kind *kind = c->kind;
    const char *name = param->name ? param->name : "";
    if (!is_number(param->type)) {
        if (*ngiven || c->noption)
            return "tensors stand before numbers";
        if (*ntensor == (kind->has_state ? MAX_OPTIONS : kind->ntensor))
            return kind->ntensor ? "there are more tensors than it is given"
                                 : "it is given numbers alone";
        c->state_names[(*ntensor)++] = name;
        return NULL;
    }
    if (*ntensor < kind->ntensor)
        return "two tensors stand before numbers";
    if (*ngiven < kind->ngiven) {
        if (strcmp(name, kind->given[*ngiven]) != 0)
            return is_given(kind, name)
                       ? "numbers that it is given stand in another order"
                       : OPTIONS_BEHIND;
        ++*ngiven;
        return NULL;
    }
    if (c->noption == MAX_OPTIONS)
        return "there are too many options";
    c->option_names[c->noption++] = name;
    return NULL;
}

/* Tensors first, then numbers: the given ones, then the options. */
static bt_status check_params(bt_ctx *ctx, bt_arena *arena, struct choice *c)
{
    const bt_block *block = c->global->func->block;
    const struct choice_kind *kind = c->kind;
    uint32_t ntensor = 0, ngiven = 0;
    bt_text what;
    bt_text_init(&what, arena);
    for (uint32_t i = 0; i < block->nparam && !what.len; i++) {
        const bt_value *param = &block->params[i]->base;
        const char *why = take_param(c, param, &ntensor, &ngiven);
        if (!why)
            continue;
        bt_text_addf(&what, "takes %%%s: ", param->name ? param->name : "");
        bt_print_type(ctx, param->type, &what);
        const size_t len = what.len;
        if (why == OPTIONS_BEHIND)
            add_missing(c, " in place of ", &what);
        if (what.len == len)
            bt_text_addf(&what, ", and %s", why);
    }
    if (!what.len && ntensor < kind->ntensor) {
        bt_text_addf(&what, "takes %u of %u tensors", ntensor, kind->ntensor);
    } else if (!what.len && ngiven < kind->ngiven) {
        add_missing(c, "does not take ", &what);
    }
    if (what.len || what.failed)
        return bt_text_get(&what) ? refuse(ctx, c, what.at) : bt_no_memory();
    c->nstate = ntensor - kind->ntensor;
    memmove(c->state_names, c->state_names + kind->ntensor, c->nstate * sizeof(char *));
    return NULL;
}

/* ---- what it gives ---- */

/* Of float32, or of a dtype that is a parameter of the function. */
static int may_be_number(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    const uint32_t dtype = bt_tensor_dtype(type);
    return shape && !shape->n && !shape->rest && (!dtype || dtype == BT_FLOAT32);
}

/* Whether it is `like`, or with state a tuple of that and each state. A wrong one would often
 * compile, as it is spread over what it should have been. */
static int is_update(const struct choice *c, const bt_type *type, const bt_type *like)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!c->nstate)
        return type == like;
    int is_right = tuple && tuple->n == 1 + c->nstate;
    for (uint32_t i = 0; is_right && i < tuple->n; i++)
        is_right = tuple->at[i] == like;
    return is_right;
}

static bt_status check_result(bt_ctx *ctx, bt_arena *arena, const struct choice *c)
{
    const bt_func *func = c->global->func;
    const bt_param *const *params = func->block->params;
    const int like = c->kind->like;
    int is_right = like < 0 ? may_be_number(func->result)
                            : is_update(c, func->result, params[like]->base.type);
    for (uint32_t i = 1;
         c->kind->has_state && is_right && i < c->kind->ntensor + c->nstate; i++)
        is_right = params[i]->base.type == params[0]->base.type;
    if (is_right)
        return NULL;
    bt_text type;
    bt_text_init(&type, arena);
    bt_text_addf(&type, "gives ");
    bt_print_type(ctx, func->result, &type);
    return bt_text_get(&type) ? refuse(ctx, c, type.at) : bt_no_memory();
}

bt_status choice_check(bt_ctx *ctx, bt_arena *arena, struct choice *c)
{
    BT_TRY(check_params(ctx, arena, c));
    return check_result(ctx, arena, c);
}

/* ---- the parameters that it is for ---- */

/* Whether tensors of a type that may have variables in it are of these dims, too. */
static int takes(const bt_type *type, uint32_t rank, const int64_t *dims)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int is = 1;
    if (!shape || shape->rest)
        return 1;
    for (uint32_t i = 0; i < shape->n && shape->n == rank; i++) {
        int64_t number;
        is &= !bt_dim_is_const(shape->dims[i], &number) || number == dims[i];
        for (uint32_t k = 0; k < i; k++)
            is &= shape->dims[k] != shape->dims[i] || dims[k] == dims[i];
    }
    return is && shape->n == rank;
}

int choice_goes_by_axes(const struct choice *c)
{
    const bt_dict_entry *said = bt_dict_find(&c->global->func->attrs, "by_axes");
    return said && said->kind == BT_DICT_BOOL && said->i;
}

bt_status choice_check_param(bt_ctx *ctx, bt_arena *arena, const struct choice *c,
                             const char *before, const char *name, const bt_type *type)
{
    const bt_value *like = &c->global->func->block->params[c->kind->like]->base;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    bt_text given, wanted, hint;
    if (!bt_tensor_static(type, &rank, dims))
        return NULL;
    const int lacks_axes = choice_goes_by_axes(c) && rank < 2;
    if (!lacks_axes && takes(like->type, rank, dims))
        return NULL;
    bt_text_init(&given, arena);
    bt_text_init(&wanted, arena);
    bt_text_init(&hint, arena);
    bt_print_type(ctx, type, &given);
    if (lacks_axes)
        return bt_text_get(&given)
                   ? bt_fail_at(ctx, BT_ERR_TYPE, c->of->store, c->global->span,
                                "%s@%s goes by the axes of what a layer gives and reads, "
                                "and %s is %s",
                                before, c->global->name, name, given.at)
                   : bt_no_memory();
    bt_print_type(ctx, like->type, &wanted);
    bt_text_addf(&hint, ": one for all shapes is @%s%s", c->global->name,
                 c->kind->signature);
    return bt_text_get(&given) && bt_text_get(&wanted) && bt_text_get(&hint)
               ? bt_fail_at(ctx, BT_ERR_TYPE, c->of->store, c->global->span,
                            "%s@%s is for parameters of type %s, and %s is %s%s", before,
                            c->global->name, wanted.at, name, given.at,
                            c->library ? "" : hint.at)
               : bt_no_memory();
}
