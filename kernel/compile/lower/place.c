/*
 * Which target computes a primitive function, and whether its description of the
 * kernels is valid.
 *
 * The target that the function's attribute names is asked first, then the others in
 * order. A target with patterns gets what pass partition gave it; of the rest it is
 * asked only where it is the last.
 */
#include "compile/lower/lower.h"

#include <inttypes.h>

#include "base/arena.h"
#include "pass/targets.h"

/* ---- what a target says of its kernels ---- */

struct check {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_target *target;
    const bt_func *func;
    const bt_lowering *lowering;
    uint32_t n[3];       /* buffers by kind: BT_BUFFER_... */
    uint8_t *written[3]; /* by kind and index; NULL of inputs */
};

static const char *const kind_names[] = { "input", "output", "temp" };

static bt_status fault(const struct check *c, const char *format, ...) BT_FAILURE
    BT_PRINTF(2, 3);
static bt_status fault(const struct check *c, const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_text_init(&text, c->arena);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *what = bt_text_get(&text);
    return what ? bt_fail(c->ctx, BT_ERR_PLUGIN, "target %s: @%s: %s", c->target->name,
                          c->func->name, what)
                : bt_no_memory();
}

static bt_status check_buffer(const struct check *c, uint32_t kernel,
                              const bt_kernel_buffer *b)
{
    if (b->kind > BT_BUFFER_TEMP)
        return fault(c, "kernel %u has a buffer of unknown kind %u", kernel, b->kind);
    if (b->index >= c->n[b->kind])
        return fault(c, "kernel %u has %s %u; there are %u", kernel, kind_names[b->kind],
                     b->index, c->n[b->kind]);
    return NULL;
}

static bt_status check_kept(const struct check *c, uint32_t kernel,
                            const bt_kernel_buffer *out, const bt_kernel_buffer *in)
{
    const bt_type *to = bt__buffer_type(c->func, out),
                  *from = bt__buffer_type(c->func, in);
    return to && from == to
               ? NULL
               : fault(c,
                       "kernel %u keeps %s %u in %s %u, which must be an input and an "
                       "output of one type",
                       kernel, kind_names[in->kind], in->index, kind_names[out->kind],
                       out->index);
}

/* A number of bytes, by the function's dims. Dims for which it is negative are refused at
 * the call. */
static bt_status check_bytes(const struct check *c, const char *what, uint32_t index,
                             const bt_type *nbytes)
{
    int64_t low, high;
    if (!nbytes || bt_type_kind_of(nbytes) != BT_KIND_DIM)
        return fault(c, "%s %u has a size that is no dim", what, index);
    bt_dim_bounds(nbytes, &low, &high);
    return high >= 0 ? NULL : fault(c, "%s %u has %" PRId64 " bytes", what, index, high);
}

static bt_status check_kernel(struct check *c, uint32_t index)
{
    const bt_kernel *k = c->lowering->kernels[index];
    if ((k->nin && !k->in) || (k->nout && !k->out))
        return fault(c, "kernel %u does not say which buffers it has", index);
    for (uint32_t i = 0; i < k->nin; i++) {
        const bt_kernel_buffer *b = &k->in[i];
        BT_TRY(check_buffer(c, index, b));
        if (b->kind != BT_BUFFER_INPUT && !c->written[b->kind][b->index])
            return fault(c, "kernel %u reads %s %u before one has written it", index,
                         kind_names[b->kind], b->index);
    }
    for (uint32_t i = 0; i < k->nout; i++) {
        const bt_kernel_buffer *b = &k->out[i];
        BT_TRY(check_buffer(c, index, b));
        if (b->kind == BT_BUFFER_INPUT)
            return fault(c, "kernel %u writes an input", index);
        c->written[b->kind][b->index] = 1;
    }
    for (uint32_t i = 0; i < k->nalias; i++) {
        if (!k->aliases || k->aliases[i].out >= k->nout || k->aliases[i].in >= k->nin)
            return fault(c, "kernel %u computes in place what it has not", index);
        if (k->aliases[i].keeps)
            BT_TRY(check_kept(c, index, &k->out[k->aliases[i].out],
                              &k->in[k->aliases[i].in]));
    }
    return k->workspace ? check_bytes(c, "the workspace of kernel", index, k->workspace)
                        : NULL;
}

static bt_status check_lowering(struct check *c)
{
    const bt_lowering *l = c->lowering;
    for (uint32_t i = 0; i < c->func->block->nparam; i++)
        c->n[BT_BUFFER_INPUT] += bt_type_nleaf(c->func->block->params[i]->base.type);
    c->n[BT_BUFFER_OUTPUT] = bt_type_nleaf(c->func->block->result->type);
    c->n[BT_BUFFER_TEMP] = l->ntemp;
    for (uint32_t kind = BT_BUFFER_OUTPUT; kind <= BT_BUFFER_TEMP; kind++) {
        c->written[kind] = BT_NEWS(c->arena, uint8_t, c->n[kind]);
        if (!c->written[kind])
            return bt_no_memory();
    }
    if ((l->nkernel && !l->kernels) || (l->ntemp && !l->temps))
        return fault(c, "kernels or temps are counted, but there are none");
    for (uint32_t i = 0; i < l->ntemp; i++) {
        BT_TRY(check_bytes(c, "temp", i, l->temps[i]));
    }
    for (uint32_t i = 0; i < l->nkernel; i++)
        BT_TRY(check_kernel(c, i));
    for (uint32_t i = 0; i < c->n[BT_BUFFER_OUTPUT]; i++) {
        if (!c->written[BT_BUFFER_OUTPUT][i])
            return fault(c, "no kernel writes output %u", i);
    }
    return NULL;
}

/* ---- asking ---- */

struct asking {
    struct bt__kernels *kernels;
    const bt_store *store;
    const bt_global *global;
    struct bt__primitive *primitive;
    uint32_t wanted; /* by attribute; ntarget: none */
    bt_text why;
};

static bt_status find_wanted(struct asking *a)
{
    const struct bt__kernels *k = a->kernels;
    const bt_func *func = a->global->func;
    const char *wanted = bt__target_wanted(func);
    a->wanted = k->ntarget;
    if (!wanted)
        return NULL;
    a->wanted = bt_targets_find(k->opened, wanted);
    return a->wanted < k->ntarget
               ? NULL
               : bt_fail_at(k->ctx, BT_ERR_NAME, a->store, func->span,
                            "@%s is of target %s, which is not among those compiled "
                            "for; the first of these is %s",
                            func->name, wanted, k->targets[0]->text);
}

/* Whether the target has not broken its word, for all functions or for this one. */
static int is_trusted(const struct asking *a, uint32_t target)
{
    const struct bt__kernels *k = a->kernels;
    const uintptr_t bits = (uintptr_t)bt_map_find(k->given_up, a->global->func);
    return !k->refused[target] && (target >= BT__MAX_GIVEN_UP || !(bits >> target & 1));
}

/* Whether the target is asked for functions that name no target. */
static int is_asked(const struct asking *a, uint32_t target)
{
    const struct bt__kernels *k = a->kernels;
    return bt__target_is_asked(k->opened, target) &&
           (target + 1 == k->ntarget || is_trusted(a, target));
}

/* Keeps the reason of a refusal, and makes it a remark where the target had said that
 * it supports the function. */
static bt_status note_refusal(struct asking *a, uint32_t target, bt_status said,
                              int after_all)
{
    struct bt__kernels *k = a->kernels;
    const char *name = k->targets[target]->text;
    bt_text_addf(&a->why, "%s%s: %s", a->why.len ? "\n" : "", name, said->message);
    if (after_all)
        bt_remark(k->ctx, BT_REMARK_NOTE,
                  bt_fail(k->ctx, BT_ERR_UNSUPPORTED,
                          "target %s takes @%s, but makes no kernels of it: %s", name,
                          a->global->name, said->message));
    return a->why.failed ? bt_no_memory() : NULL;
}

static bt_status explain_last(const struct asking *a, uint32_t target, bt_status said)
{
    const struct bt__kernels *k = a->kernels;
    const bt_target *row = k->targets[target]->target;
    said = bt_note(k->ctx, said, NULL, 0, "target %s says so of @%s", row->name,
                   a->global->name);
    return !row->patterns
               ? said
               : bt_note(k->ctx, said, NULL, 0,
                         "target %s is the last of the list, which gets what is left: "
                         "name one behind it that takes everything",
                         row->name);
}

/* Whether a block can hold each of its temps and workspaces. */
static bt_status check_blocks(bt_ctx *ctx, const bt_target_use *use, const bt_lowering *l)
{
    for (uint32_t i = 0; i < l->ntemp; i++)
        BT_TRY(bt__target_holds(ctx, use, l->temps[i]));
    for (uint32_t i = 0; i < l->nkernel; i++) {
        if (l->kernels[i]->workspace)
            BT_TRY(bt__target_holds(ctx, use, l->kernels[i]->workspace));
    }
    return NULL;
}

/* What partition and place give a target it supports: this one the program has asked for, by
 * `on N`. */
static void note_unheard(const struct asking *a, bt_status said)
{
    const struct bt__kernels *k = a->kernels;
    bt_remark(
        k->ctx, BT_REMARK_NOTE,
        bt_fail_at(k->ctx, BT_ERR_UNSUPPORTED, a->store, a->global->func->span,
                   "the program has @%s on target %s, which refuses it, and another "
                   "computes it: %s",
                   a->global->name, k->targets[a->wanted]->text, said->message));
}

static bt_status ask(struct asking *a, uint32_t target, int *taken)
{
    struct bt__kernels *k = a->kernels;
    struct bt__primitive *p = a->primitive;
    const bt_target_use *use = k->targets[target];
    bt_status said = bt_target_supports(k->ctx, use, a->global->func);
    int agreed = !said;
    if (said && said->code == BT_ERR_UNSUPPORTED && target == a->wanted &&
        target + 1 < k->ntarget)
        note_unheard(a, said);
    *taken = 0;
    p->lowering = (bt_lowering){ 0 }; // not what another has begun
    if (!said)
        said = use->target->lower(k->ctx, use->instance, k->arena, a->global->func,
                                  &p->lowering);
    struct check check = { .ctx = k->ctx,
                           .arena = k->arena,
                           .target = use->target,
                           .func = a->global->func,
                           .lowering = &p->lowering };
    if (!said)
        said = check_lowering(&check);
    if (!said)
        said = check_blocks(k->ctx, use, &p->lowering);
    if (!said && p->lowering.has_no_text && k->form == BT_CODE_SOURCE &&
        target + 1 < k->ntarget) {
        agreed = 0;
        said = bt_fail(k->ctx, BT_ERR_UNSUPPORTED, "no text of @%s", a->global->name);
    }
    if (said && said->code != BT_ERR_UNSUPPORTED)
        return said;
    if (said && target + 1 == k->ntarget)
        return explain_last(a, target, said);
    if (said)
        return note_refusal(a, target, said, agreed);
    p->target = target;
    *taken = 1;
    return NULL;
}

/* The last takes it or fails. */
static bt_status ask_all(struct asking *a)
{
    const struct bt__kernels *k = a->kernels;
    int taken = 0;
    if (a->wanted < k->ntarget && is_trusted(a, a->wanted))
        BT_TRY(ask(a, a->wanted, &taken));
    for (uint32_t i = 0; !taken && i < k->ntarget; i++) {
        if (i != a->wanted && is_asked(a, i))
            BT_TRY(ask(a, i, &taken));
    }
    return NULL;
}

/* ---- kernels ---- */

/* Gives a kernel, as the target describes it, a name of its own. */
static bt_status add_kernel(struct bt__kernels *k, const struct bt__primitive *p,
                            uint32_t index)
{
    bt_kernel *kernel = p->lowering.kernels[index];
    kernel->name = bt__format(k->arena, index ? "%s.%u" : "%s", p->func->name, index);
    kernel->primitive = p->func;
    kernel->target = p->target;
    return kernel->name && BT_PUSH(k->arena, &k->kernels, kernel) ? NULL : bt_no_memory();
}

/* The function's parts, by what its only kernel calls them. */
static bt_status find_parts(const struct bt__kernels *k, struct bt__primitive *p)
{
    const bt_lowering *l = &p->lowering;
    const bt_kernel *kernel = l->nkernel == 1 ? l->kernels[0] : NULL;
    const uint32_t *leaves;
    uint32_t n;
    if (!kernel || kernel->nout != 1 || kernel->nin < 2)
        return NULL;
    BT_TRY(bt__func_parts(k->ctx, k->arena, p->func, &n, &leaves));
    uint32_t *parts = BT_NEWS(k->arena, uint32_t, n);
    if (!parts)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        while (parts[i] < kernel->nin && (kernel->in[parts[i]].kind != BT_BUFFER_INPUT ||
                                          kernel->in[parts[i]].index != leaves[i]))
            parts[i]++;
        if (parts[i] == kernel->nin)
            return NULL;
    }
    p->npart = n;
    p->parts = parts;
    return NULL;
}

/* Of elements of few bits bytes are no places. */
static bt_status find_slice(const struct bt__kernels *k, struct bt__primitive *p)
{
    const bt_lowering *l = &p->lowering;
    const bt_kernel *kernel = l->nkernel == 1 ? l->kernels[0] : NULL;
    p->slice = -1;
    if (!kernel || kernel->nout != 1 || kernel->nin != 1 ||
        kernel->in[0].kind != BT_BUFFER_INPUT ||
        bt_dtype_is_packed(bt_tensor_dtype(p->func->result)))
        return NULL;
    return bt__func_slice(k->ctx, k->arena, p->func, &p->slice);
}

bt_status bt__place_primitive(struct bt__kernels *k, const bt_store *store,
                              const bt_global *global, const struct bt__primitive **out)
{
    struct bt__primitive *p = bt_map_find(&k->primitives, global);
    struct asking asking = { .kernels = k, .store = store, .global = global };
    *out = p;
    if (p)
        return NULL;
    *out = p = asking.primitive = BT_NEW(k->arena, struct bt__primitive);
    if (!p)
        return bt_no_memory();
    p->func = global->func;
    bt_text_init(&asking.why, k->arena);
    BT_TRY(find_wanted(&asking));
    BT_TRY(ask_all(&asking));
    p->why = bt_text_get(&asking.why);
    p->first = k->kernels.len;
    if (!p->why)
        return bt_no_memory();
    for (uint32_t i = 0; i < p->lowering.nkernel; i++)
        BT_TRY(add_kernel(k, p, i));
    BT_TRY(find_parts(k, p));
    BT_TRY(find_slice(k, p));
    return bt_map_put(&k->primitives, global, p) ? NULL : bt_no_memory();
}
