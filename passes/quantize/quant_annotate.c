/*
 * quant-annotate: put quant.simulate on the operands that a scheme gives codes.
 * Products (convolutions, dense layers, products of matrices, seen by their formulas) take
 * codes where the scheme gives both operands a form; so do sums of what came from products,
 * as residuals are. What only moves or compares elements on the way to a product, as a
 * max-pool does, works on codes too, and so do means. The scales are 0: quant-calibrate
 * chooses them. A remark names each product that stays in float.
 * keeps    no invariant
 * option   scheme   which one, with its options in braces
 */
#include <stdio.h>
#include <string.h>

#include "common/layout.h"
#include "quantize/quant_law.h"
#include "quantize/quant_site.h"

struct options {
    const char *scheme;
};
static const bt_attr options[] = {
    BT_ATTR(
        struct options, scheme, STRING, "int8",
        "which one: baton list schemes; with options of it: 'int8{skip=[\"conv1\"]}'"),
    { 0 },
};

/* A call that takes codes, if the scheme gives all of its operands some. */
struct consumer {
    const bt_call *call;
    struct law law;
    const char *name;
    uint32_t layer; /* products before it */
    uint32_t is_asked, is_taken;
    bt_number_form forms[2];
};

struct annotate {
    bt_ctx *ctx;
    bt_store *store;
    bt_arena *arena;
    const bt_module *module;
    const bt_quant_scheme *scheme;
    const void *options;
    uint32_t nlayer;
    bt_map laws;      /* call -> struct law * */
    bt_map consumers; /* call -> struct consumer *, of products and of sums */
    bt_map wanted; /* value -> struct consumer *, which takes its codes, by moves maybe */
    bt_map from_product; /* old value -> 1: it came from a product */
    bt_map codes; /* new value -> const bt_number_form *: it is what codes stand for */
    bt_map names; /* of sites: text -> how many */
    bt_map sites; /* new value -> the site that was put on it last */
    struct guarded_form *guarded; /* where the scheme writes a form */
    bt_vec(bt_quant_site) asked;  /* the first operand of each consumer asked for */
};

/* ---- who takes codes ---- */

static const struct law *law_of(const struct annotate *a, const bt_value *value)
{
    return bt_map_find(&a->laws, value);
}

static const bt_value *operand(const struct law *law, const bt_call *call, uint32_t i)
{
    return call->args[law->in[i]];
}

/* A residual: both terms of one shape, so that neither is a bias. */
static int is_residual(const struct annotate *a, const bt_call *call,
                       const struct law *law)
{
    const bt_value *x = operand(law, call, 0), *y = operand(law, call, 1);
    return law->kind == LAW_ADD && type_same_shape(x->type, y->type) &&
           bt_map_find(&a->from_product, x) && bt_map_find(&a->from_product, y);
}

static const char *name_of(const struct annotate *a, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const char *name = value->name && *value->name ? value->name
                       : call && call->op          ? call->op->name
                                                   : "value";
    return bt_name_of(a->store, name);
}

static bt_status note_consumer(struct annotate *a, const bt_call *call,
                               const struct law *law)
{
    struct consumer *consumer = BT_NEW(a->arena, struct consumer);
    if (!consumer)
        return bt_no_memory();
    *consumer = (struct consumer){ .call = call, .law = *law, .layer = a->nlayer };
    consumer->name = name_of(a, &call->base);
    a->nlayer += law->kind == LAW_CONTRACTION;
    return consumer->name && bt_map_put(&a->consumers, call, consumer) ? NULL
                                                                       : bt_no_memory();
}

/* Laws by which what comes from products goes on as such. */
static int goes_on(uint32_t law)
{
    return law == LAW_MOVE || law == LAW_ORDER || law == LAW_CLIP || law == LAW_ADD ||
           law == LAW_MEAN;
}

/* Whether one of the values that are joined came from a product. */
static int joins_products(const struct annotate *a, const bt_call *call)
{
    int came = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_tuple_value *tuple = bt_as_tuple(call->args[i]);
        came |= bt_map_find(&a->from_product, call->args[i]) != NULL;
        for (uint32_t k = 0; tuple && k < tuple->nfield; k++)
            came |= bt_map_find(&a->from_product, tuple->fields[k]) != NULL;
    }
    return came;
}

/* What comes from products, with what may be done to it on the way. */
static bt_status follow(struct annotate *a, const bt_call *call, const struct law *law)
{
    const int is_consumer = law->kind == LAW_CONTRACTION || is_residual(a, call, law);
    int came = is_consumer || (law->kind == LAW_SELECT && joins_products(a, call));
    for (uint32_t i = 0; !came && goes_on(law->kind) && i < 2; i++)
        came = bt_map_find(&a->from_product, operand(law, call, i)) != NULL;
    if (is_consumer)
        BT_TRY(note_consumer(a, call, law));
    return !came || bt_map_put(&a->from_product, call, (void *)1) ? NULL : bt_no_memory();
}

static bt_status want(struct annotate *a, const bt_value *value,
                      struct consumer *consumer)
{
    return site_is_constant(a->module, value) || bt_map_put(&a->wanted, value, consumer)
               ? NULL
               : bt_no_memory();
}

/* From the end of the block: what is wanted in codes, and for which call. */
static bt_status find_wanted(struct annotate *a, const bt_block *block)
{
    for (uint32_t i = block->nbinding; i-- > 0;) {
        const bt_value *value = block->bindings[i];
        const bt_call *call = bt_as_call(value);
        const struct law *law = law_of(a, value);
        struct consumer *consumer = bt_map_find(&a->consumers, value),
                        *later = bt_map_find(&a->wanted, value);
        for (uint32_t k = 0; consumer && k < 2; k++)
            BT_TRY(want(a, operand(law, call, k), consumer));
        if (law && later && // what a projection gives has no law
            (law->kind == LAW_MOVE || law->kind == LAW_ORDER || law->kind == LAW_MEAN))
            BT_TRY(want(a, operand(law, call, 0), later));
    }
    return NULL;
}

static bt_status begin(bt_rewrite *rewrite, const bt_func *func)
{
    struct annotate *a = bt_rewrite_state(rewrite);
    const bt_block *block = func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        struct law *law = call ? BT_NEW(a->arena, struct law) : NULL;
        if (!call)
            continue;
        if (!law || !bt_map_put(&a->laws, call, law))
            return bt_no_memory();
        *law = (struct law){ .kind = LAW_NONE };
        if (bt_dtype_is_float(bt_tensor_dtype(call->base.type)))
            BT_TRY(law_find(a->ctx, a->store, a->arena, a->module, call, law));
        BT_TRY(follow(a, call, law));
    }
    return find_wanted(a, block);
}

/* ---- forms ---- */

static bt_status check_codes(bt_ctx *ctx, const bt_quant_scheme *scheme, const char *name,
                             const bt_number_form *form)
{
    const uint32_t class_ = BT_DTYPE_CLASS(form->dtype),
                   bits = BT_DTYPE_BITS(form->dtype);
    int64_t least, most;
    char dtype[BT_DTYPE_NAME_SIZE];
    bt_dtype_name(form->dtype, dtype, sizeof(dtype));
    if ((class_ != BT_CLASS_INT && class_ != BT_CLASS_UINT) || bits > 16)
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "scheme %s gives %s codes of type %s: codes are integers of at "
                       "most 16 bits",
                       scheme->name, name, dtype);
    bt_dtype_limits(form->dtype, &least, &most);
    if (form->low < least || form->high > most)
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "scheme %s gives %s codes %lld..%lld: %s holds %lld..%lld",
                       scheme->name, name, (long long)form->low, (long long)form->high,
                       dtype, (long long)least, (long long)most);
    if (form->low > 0 || form->high < 1)
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "scheme %s gives %s codes %lld..%lld: 0 and 1 are to be among them",
            scheme->name, name, (long long)form->low, (long long)form->high);
    return NULL;
}

static bt_status check_form(bt_ctx *ctx, const bt_quant_scheme *scheme, const char *name,
                            const bt_number_form *form, uint32_t rank)
{
    BT_TRY(check_codes(ctx, scheme, name, form));
    if (form->is_affine > 1)
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "scheme %s gives %s is_affine %u: 1 asks for a zero point, 0 for none",
            scheme->name, name, form->is_affine);
    if (form->axis < -1 || form->axis >= (int32_t)rank)
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "scheme %s gives %s a scale for each element of axis %d: the "
                       "operand has %u axes, and -1 is one scale for all",
                       scheme->name, name, form->axis, rank);
    if (!site_rounding(form->rounding))
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "scheme %s gives %s rounding %u: BT_ROUND_... end at %d",
                       scheme->name, name, form->rounding, BT_ROUND_STOCHASTIC);
    if (!site_scale_kind(form->scale_kind))
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "scheme %s gives %s scale_kind %u: BT_SCALE_... end at %d",
                       scheme->name, name, form->scale_kind, BT_SCALE_RATIO2);
    return NULL;
}

static bt_quant_site site_of(const struct annotate *a, const struct consumer *consumer,
                             uint32_t i)
{
    const bt_value *value = operand(&consumer->law, consumer->call, i);
    const int is_weight =
        consumer->law.kind == LAW_CONTRACTION && site_is_constant(a->module, value);
    return (bt_quant_site){
        .call = consumer->call,
        .operand = consumer->law.in[i],
        .role = is_weight ? BT_QUANT_WEIGHT : BT_QUANT_INPUT,
        .name = consumer->name,
        .rank = type_rank(value->type),
        .layer = consumer->layer,
        .channel = is_weight ? consumer->law.channel[i] : -1,
    };
}

/* A form between bytes that are not the scheme's. */
enum { BESIDE = 4096, BESIDE_BYTE = 0x6b };
struct guarded_form {
    unsigned char before[BESIDE];
    bt_number_form form;
    unsigned char behind[BESIDE];
};

/* Where they are no longer as they were; NULL: nowhere. */
static const char *damage(const struct guarded_form *g)
{
    for (size_t i = 0; i < BESIDE; i++) {
        if (g->behind[i] != BESIDE_BYTE)
            return "behind";
        if (g->before[i] != BESIDE_BYTE)
            return "before";
    }
    return NULL;
}

static bt_status ask_form(struct annotate *a, const struct consumer *consumer, uint32_t i,
                          bt_number_form *out)
{
    struct guarded_form *g = a->guarded;
    const bt_quant_site site = site_of(a, consumer, i);
    memset(g, BESIDE_BYTE, sizeof(*g));
    g->form = (bt_number_form){ .axis = -1 };
    bt_status status = a->scheme->form(a->ctx, a->options, &site, &g->form);
    if (damage(g))
        return bt_fail(a->ctx, BT_ERR_PLUGIN,
                       "scheme %s writes %s the form that it is given for %s",
                       a->scheme->name, damage(g), consumer->name);
    if (status)
        return bt_note(a->ctx, status, NULL, 0, "scheme %s says so of %s",
                       a->scheme->name, consumer->name);
    *out = g->form;
    return out->dtype ? check_form(a->ctx, a->scheme, consumer->name, out, site.rank)
                      : NULL;
}

static bt_status ask(struct annotate *a, struct consumer *consumer)
{
    consumer->is_taken = !consumer->is_asked || consumer->is_taken;
    if (!consumer->is_asked && !BT_PUSH(a->arena, &a->asked, site_of(a, consumer, 0)))
        return bt_no_memory();
    for (uint32_t i = 0; !consumer->is_asked && i < 2; i++) {
        BT_TRY(ask_form(a, consumer, i, &consumer->forms[i]));
        consumer->is_taken &= consumer->forms[i].dtype != 0;
    }
    consumer->is_asked = 1;
    return NULL;
}

static int same_form(const bt_number_form *a, const bt_number_form *b)
{
    return a->dtype == b->dtype && a->low == b->low && a->high == b->high &&
           a->is_affine == b->is_affine && a->scale_kind == b->scale_kind &&
           a->rounding == b->rounding && a->axis == b->axis;
}

/* ---- putting sites ---- */

/* A name that no other site has: of a weight its layer's, of others their own. */
static bt_status name_site(struct annotate *a, const bt_value *old,
                           const struct consumer *consumer, const char **out)
{
    bt_text text;
    bt_text_init(&text, a->arena);
    if (site_is_constant(a->module, old))
        bt_text_addf(&text, "%s.weight", consumer->name);
    else
        bt_text_addf(&text, "%s", name_of(a, old) ? name_of(a, old) : "");
    const size_t stem = text.len;
    for (uint32_t i = 1;; i++) {
        const char *name = bt_text_get(&text);
        char *own = name ? BT_NEWS(a->arena, char, text.len + 1) : NULL;
        if (!own)
            return bt_no_memory();
        for (size_t k = 0; k < text.len; k++) // it stands in quotes
            own[k] = name[k] == '"' || name[k] == '\\' ? '_' : name[k];
        name = own;
        if (!bt_map_find(&a->names, name)) {
            *out = name;
            return bt_map_put(&a->names, name, (void *)1) ? NULL : bt_no_memory();
        }
        text.len = stem;
        bt_text_addf(&text, "_%u", i);
    }
}

static bt_status build_site(struct annotate *a, bt_builder *b, const char *name,
                            const bt_value *value, const bt_number_form *form,
                            const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    char dtype[BT_DTYPE_NAME_SIZE];
    const bt_value *args[3] = { value };
    int64_t n = 1;
    bt_text attrs;
    if (form->axis >= 0 && !bt_dim_is_const(shape->dims[form->axis], &n))
        return bt_fail(a->ctx, BT_ERR_UNSUPPORTED,
                       "site %s: one scale for each element of axis %d, of which the "
                       "size is open",
                       name, form->axis);
    BT_TRY(site_scales(b, BT_FLOAT32, (uint32_t)n, NULL, &args[1]));
    BT_TRY(site_scales(b, BT_INT32, (uint32_t)n, NULL, &args[2]));
    bt_text_init(&attrs, a->arena);
    bt_text_addf(&attrs,
                 "dtype=\"%s\", low=%lld, high=%lld, axis=%d, rounding=\"%s\", "
                 "scale_kind=\"%s\", is_affine=%s, site=\"%s\", key=%u",
                 bt_dtype_name(form->dtype, dtype, sizeof(dtype)), (long long)form->low,
                 (long long)form->high, form->axis, site_rounding(form->rounding),
                 site_scale_kind(form->scale_kind), form->is_affine ? "True" : "False",
                 name, form->rounding == BT_ROUND_STOCHASTIC ? a->names.len : 0);
    const char *text = bt_text_get(&attrs);
    bt_builder_name(b, NULL); // the name is that of the call
    return text ? bt_build(b, SITE_OP, text, args, 3, out) : bt_no_memory();
}

/* The new value of an operand, as the codes of a form stand for it. */
static bt_status put_site(bt_rewrite *rewrite, const bt_value *old,
                          const struct consumer *consumer, const bt_number_form *form,
                          const bt_value **out)
{
    struct annotate *a = bt_rewrite_state(rewrite);
    const char *name;
    BT_TRY(bt_rewrite_operand(rewrite, old, out));
    const bt_number_form *there = bt_map_find(&a->codes, *out);
    const bt_value *site = bt_map_find(&a->sites, *out);
    const bt_number_form *last = site ? bt_map_find(&a->codes, site) : NULL;
    if (there && same_form(there, form))
        return NULL;
    if (last && same_form(last, form)) {
        *out = site;
        return NULL;
    }
    const bt_value *from = *out;
    BT_TRY(name_site(a, old, consumer, &name));
    BT_TRY(build_site(a, bt_rewrite_builder(rewrite), name, from, form, out));
    return bt_map_put(&a->codes, *out, (void *)(uintptr_t)form) &&
                   bt_map_put(&a->sites, from, (void *)(uintptr_t)*out)
               ? NULL
               : bt_no_memory();
}

/* The call with other operands. */
static bt_status call_again(bt_rewrite *rewrite, const bt_call *call,
                            const bt_value **args, const bt_value **out)
{
    bt_builder *b = bt_rewrite_builder(rewrite);
    bt_builder_like(b, &call->base);
    return bt_build_op(b, call->op, call->attrs, call->narg, args, out);
}

static bt_status new_args(bt_rewrite *rewrite, const bt_call *call, const bt_value ***out)
{
    struct annotate *a = bt_rewrite_state(rewrite);
    *out = BT_NEWS(a->arena, const bt_value *, call->narg);
    for (uint32_t i = 0; *out && i < call->narg; i++)
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &(*out)[i]));
    return *out ? NULL : bt_no_memory();
}

/* A call that moves or compares elements, on codes where they are wanted behind it; or a mean
 * of codes, which has none itself. */
static bt_status move(bt_rewrite *rewrite, const bt_call *call, const struct law *law,
                      const bt_value **out)
{
    struct annotate *a = bt_rewrite_state(rewrite);
    struct consumer *consumer = bt_map_find(&a->wanted, call);
    const bt_value *old = operand(law, call, 0), **args;
    const int came = bt_map_find(&a->from_product, old) != NULL;
    BT_TRY(new_args(rewrite, call, &args));
    if (consumer)
        BT_TRY(ask(a, consumer));
    // which operand it is for does not matter: those of a call that are no weights agree
    const uint32_t i =
        consumer &&
        site_is_constant(a->module, operand(&consumer->law, consumer->call, 0));
    if (consumer && consumer->is_taken && came && consumer->forms[i].axis < 0 &&
        law->kind != LAW_CLIP)
        BT_TRY(put_site(rewrite, old, consumer, &consumer->forms[i], &args[law->in[0]]));
    const bt_number_form *form = bt_map_find(&a->codes, args[law->in[0]]);
    if (!form || form->axis >= 0)
        return NULL;
    BT_TRY(call_again(rewrite, call, args, out));
    return law->kind == LAW_MEAN || bt_map_put(&a->codes, *out, (void *)(uintptr_t)form)
               ? NULL
               : bt_no_memory();
}

/* A product in a branch or in a function that is a value: of what is there nothing is observed. */
static bt_status leave_nested(struct annotate *a, const bt_call *call)
{
    struct law law = { .kind = LAW_NONE };
    if (call->callee_kind == BT_CALLEE_OP &&
        bt_dtype_is_float(bt_tensor_dtype(call->base.type)))
        BT_TRY(law_find(a->ctx, a->store, a->arena, a->module, call, &law));
    if (law.kind == LAW_CONTRACTION)
        law_tell(a->ctx, "quant-annotate", call, "stays",
                 "it stands in a branch, where nothing is observed");
    return NULL;
}

static bt_status annotate_call(bt_rewrite *rewrite, const bt_call *call,
                               const bt_value **out)
{
    struct annotate *a = bt_rewrite_state(rewrite);
    const struct law *law = law_of(a, &call->base);
    struct consumer *consumer = bt_map_find(&a->consumers, call);
    const bt_value **args;
    if (law && (law->kind == LAW_MOVE || law->kind == LAW_ORDER ||
                law->kind == LAW_CLIP || law->kind == LAW_MEAN))
        return move(rewrite, call, law, out);
    if (!consumer)
        return law ? NULL : leave_nested(a, call);
    BT_TRY(ask(a, consumer));
    if (!consumer->is_taken) {
        if (consumer->law.kind == LAW_CONTRACTION)
            law_tell(a->ctx, "quant-annotate", call, "stays",
                     "the scheme gives an operand no codes");
        return NULL;
    }
    BT_TRY(new_args(rewrite, call, &args));
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(put_site(rewrite, operand(law, call, i), consumer, &consumer->forms[i],
                        &args[law->in[i]]));
    return call_again(rewrite, call, args, out);
}

static const bt_rewriter rewriter = { .begin = begin, .call_ = annotate_call };

static bt_status check_asked(bt_ctx *ctx, void *state)
{
    const struct annotate *a = state;
    return a->scheme->check && a->asked.len
               ? a->scheme->check(ctx, a->options, a->asked.len, a->asked.at)
               : NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct annotate a = {
        .ctx = ctx,
        .store = call->module->store,
        .arena = call->scratch,
        .module = call->module,
        .guarded = BT_NEW(call->scratch, struct guarded_form),
    };
    bt_map *const maps[] = { &a.laws,         &a.consumers, &a.wanted,
                             &a.from_product, &a.codes,     &a.sites };
    for (uint32_t i = 0; i < BT_COUNT(maps); i++)
        bt_map_init(maps[i], a.arena, 0);
    bt_map_init(&a.names, a.arena, 1);
    if (!a.guarded)
        return bt_no_memory();
    BT_TRY(scheme_open(ctx, call, o->scheme, &a.scheme, &a.options));
    return rewrite_checked(ctx, call, &rewriter, &a, check_asked, out);
}

static const bt_pass passes[] = {
    {
        .name = "quant-annotate",
        .doc = "Put quant.simulate on the operands that a scheme gives codes.\n"
               "The scales are 0: quant-calibrate chooses them.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        nn.dense(%x, const[(1, 2), float32]{1, 2})\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        %0 = quant.simulate(%x, 0f, 0, site=\"x\");\n"
               "        %1 = quant.simulate(const[(1, 2), float32]{1, 2}, 0f, 0,\n"
               "                            site=\"nn.dense.weight\", low=-127);\n"
               "        nn.dense(%0, %1)\n"
               "    }",
        .level = 0,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_quantize_quant_annotate[] = { BT_PASSES(passes), { 0 } };
