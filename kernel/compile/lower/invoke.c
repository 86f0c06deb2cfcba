/* The kernels of a call: what each is given, and what is made once for several calls.
 *
 *     %y = @f(%x, %w);       memory.invoke((%w,), (%packed,), kernel="f");
 *     %z = @f(%y, %w);       memory.invoke((%x, %packed), (%y,), kernel="f.1");
 *                            memory.invoke((%y, %packed), (%z,), kernel="f.1");
 */
#include <inttypes.h>

#include <baton/op.h>

#include "base/arena.h"
#include "compile/lower/lowerer.h"

/* ---- one kernel ---- */

/* Bytes that a target asks for. */
static bt_status alloc_for(struct bt__lowerer *l, const struct bt__lower_dims *dims,
                           const bt_type *nbytes, const bt_value **out)
{
    struct bt__lower_dims state = *dims;
    bt_subst subst = { .leaf = bt__lower_dim_of_call, .state = &state };
    return bt__lower_alloc(l, bt_type_subst(l->module->store, &subst, nbytes), out);
}

/* ", NAME=[" before the first of a list, else ", ". */
static void begin_item(bt_text *out, const char *name, uint32_t i)
{
    if (i)
        bt_text_addf(out, ", ");
    else
        bt_text_addf(out, ", %s=[", name);
}

static bt_status pick(struct bt__lowerer *l, const struct bt__lower_buffers *all,
                      uint32_t n, const bt_kernel_buffer *which, const bt_value **out)
{
    const bt_value **fields = BT_NEWS(l->arena, const bt_value *, n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        fields[i] = all->by_kind[which[i].kind].at[which[i].index];
    return bt_build_tuple(l->b, n, fields, out);
}

/* What a kernel keeps of an input is in its output before. */
static bt_status copy_kept(struct bt__lowerer *l, const bt_value *old,
                           const bt_kernel *kernel, bt_kernel_buffer *in,
                           const struct bt__lower_buffers *all)
{
    for (uint32_t i = 0; i < kernel->nalias; i++) {
        const bt_kernel_alias *alias = &kernel->aliases[i];
        const bt_kernel_buffer *from = &in[alias->in], *to = &kernel->out[alias->out];
        const bt_value *copy, *args[] = { all->by_kind[from->kind].at[from->index],
                                          all->by_kind[to->kind].at[to->index] };
        const bt_call *own = bt_as_op_call(args[1], "memory.own");
        if (!alias->keeps)
            continue;
        bt_builder_at(l->b, old->span, old->prov);
        if (!own || own->args[0] != args[0])
            BT_TRY(bt_build(l->b, "memory.copy", "", args, 2, &copy));
        in[alias->in] = *to;
    }
    return NULL;
}

static bt_status invoke(struct bt__lowerer *l, const struct bt__lower_dims *dims,
                        const struct bt__primitive *p, const bt_kernel *kernel,
                        const struct bt__lower_buffers *all)
{
    const bt_value *args[3], *done, *old = &dims->call->base;
    bt_kernel_buffer *in = BT_NEWS(l->arena, bt_kernel_buffer, kernel->nin);
    uint32_t nalias = 0;
    bt_text attrs;
    if (!in)
        return bt_no_memory();
    for (uint32_t i = 0; i < kernel->nin; i++)
        in[i] = kernel->in[i];
    if (kernel->workspace)
        BT_TRY(alloc_for(l, dims, kernel->workspace, &args[2]));
    BT_TRY(copy_kept(l, old, kernel, in, all));
    bt_text_init(&attrs, l->arena);
    bt_text_addf(&attrs, "kernel=\"%s\"", kernel->name);
    for (uint32_t i = 0; i < kernel->nalias; i++) {
        if (kernel->aliases[i].keeps)
            continue;
        begin_item(&attrs, "aliases", nalias++);
        bt_text_addf(&attrs, "%u, %u", kernel->aliases[i].out, kernel->aliases[i].in);
    }
    if (nalias)
        bt_text_addf(&attrs, "]");
    for (uint32_t i = 0; i < p->npart; i++) {
        begin_item(&attrs, "parts", i);
        bt_text_addf(&attrs, "%u", p->parts[i]);
    }
    if (p->npart)
        bt_text_addf(&attrs, "]");
    // in memory of a target's own, who reads a tensor waits for the command that wrote it
    if (p->slice >= 0 && !l->space)
        bt_text_addf(&attrs, ", slice=%" PRId64, p->slice);
    BT_TRY(pick(l, all, kernel->nin, in, &args[0]));
    BT_TRY(pick(l, all, kernel->nout, kernel->out, &args[1]));
    bt_builder_at(l->b, old->span, old->prov);
    if (!bt_text_get(&attrs))
        return bt_no_memory();
    return bt__lower_build(l, "memory.invoke", bt_text_get(&attrs), "dims", dims->values,
                           kernel->workspace ? 3 : 2, args, &done);
}

/* ---- what is made once ---- */

enum { NEAR = 32 }; /* kernels later */

static int writes(const bt_kernel *kernel, uint32_t temp)
{
    for (uint32_t i = 0; i < kernel->nout; i++) {
        if (kernel->out[i].kind == BT_BUFFER_TEMP && kernel->out[i].index == temp)
            return 1;
    }
    return 0;
}

/* Whether a kernel makes temps of inputs alone, such as packed ones, and no other writes them. */
static int makes_temps(const bt_lowering *l, const bt_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->nin; i++) {
        if (kernel->in[i].kind != BT_BUFFER_INPUT)
            return 0;
    }
    for (uint32_t i = 0; i < kernel->nout; i++) {
        if (kernel->out[i].kind != BT_BUFFER_TEMP)
            return 0;
        for (uint32_t k = 0; k < l->nkernel; k++) {
            if (l->kernels[k] != kernel && writes(l->kernels[k], kernel->out[i].index))
                return 0;
        }
    }
    return kernel->nin && kernel->nout;
}

/* The same of kernels that make the same. NULL: no memory. */
static const void *identity(const struct bt__lowerer *l, const bt_kernel *kernel)
{
    if (!kernel->makes)
        return kernel;
    const char *text = bt__format(l->arena, "%u %s", kernel->target, kernel->makes);
    return text ? bt_name_of(l->module->store, text) : NULL;
}

/* Whether the products of a block share all that the kernel reads. */
static int reads_shared(const bt_kernel *kernel, const uint8_t *is_shared)
{
    for (uint32_t i = 0; i < kernel->nin; i++) {
        if (!is_shared[kernel->in[i].index])
            return 0;
    }
    return 1;
}

/* What the kernel has made of the same inputs in this block, or around it; else NULL. What few read is
 * not held over many other kernels, where its memory costs more than it takes to make it again: so a
 * value that is computed again to save memory is. */
static struct bt__lower_made *find_made(const struct bt__lowerer *l, const void *of,
                                        const bt_kernel *kernel, const bt_type *dims,
                                        const struct bt__lower_buffers *all,
                                        const uint8_t *is_shared)
{
    struct bt__lower_made *made =
        bt_map_find(&l->made, all->by_kind[BT_BUFFER_INPUT].at[kernel->in[0].index]);
    for (; made; made = made->before) {
        int same = made->of == of && (made->dims == dims || kernel->makes);
        for (uint32_t i = 0; same && i < kernel->nin; i++)
            same = made->in[i] == all->by_kind[BT_BUFFER_INPUT].at[kernel->in[i].index];
        if (same)
            break;
    }
    return made && (l->ninvoke - made->last <= NEAR || reads_shared(kernel, is_shared))
               ? made
               : NULL;
}

static bt_status keep_made(struct bt__lowerer *l, const void *of, const bt_kernel *kernel,
                           const bt_type *dims, const struct bt__lower_buffers *all)
{
    struct bt__lower_made *made = BT_NEW(l->arena, struct bt__lower_made);
    const bt_value **in = BT_NEWS(l->arena, const bt_value *, kernel->nin),
                   **out = BT_NEWS(l->arena, const bt_value *, kernel->nout);
    if (!made || !in || !out)
        return bt_no_memory();
    for (uint32_t i = 0; i < kernel->nin; i++)
        in[i] = all->by_kind[BT_BUFFER_INPUT].at[kernel->in[i].index];
    for (uint32_t i = 0; i < kernel->nout; i++)
        out[i] = all->by_kind[BT_BUFFER_TEMP].at[kernel->out[i].index];
    *made = (struct bt__lower_made){ .of = of,
                                     .dims = dims,
                                     .in = in,
                                     .out = out,
                                     .last = l->ninvoke,
                                     .before = bt_map_find(&l->made, in[0]) };
    return BT_PUSH(l->arena, &l->all_made, made) && bt_map_put(&l->made, in[0], made)
               ? NULL
               : bt_no_memory();
}

/* Behind a block it is not there. */
bt_status bt__lower_forget_made(struct bt__lowerer *l, uint32_t n)
{
    while (l->all_made.len > n) {
        struct bt__lower_made *made = l->all_made.at[--l->all_made.len];
        if (!bt_map_put(&l->made, made->in[0], made->before))
            return bt_no_memory();
    }
    return NULL;
}

/* The kernels of a call, but those that have run for the same inputs before. */
bt_status bt__lower_invoke(struct bt__lowerer *l, const struct bt__lower_dims *dims,
                           const struct bt__primitive *p, struct bt__lower_buffers *all)
{
    const bt_kernel *const *kernels = &l->kernels->kernels.at[p->first];
    const uint32_t n = p->lowering.nkernel, ntemp = p->lowering.ntemp;
    struct bt__lower_made **made = BT_NEWS(l->arena, struct bt__lower_made *, n);
    const uint8_t *is_shared = NULL; // looked for where it is asked
    const void **of = BT_NEWS(l->arena, const void *, n);
    const bt_value **temps = BT_NEWS(l->arena, const bt_value *, ntemp);
    if (!made || !of || !temps)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (!makes_temps(&p->lowering, kernels[i]))
            continue;
        of[i] = identity(l, kernels[i]);
        is_shared = is_shared ? is_shared : bt_primitive_shared(l->arena, dims->func);
        if (!of[i] || !is_shared)
            return bt_no_memory();
        made[i] = find_made(l, of[i], kernels[i], dims->values, all, is_shared);
        if (made[i])
            made[i]->last = l->ninvoke;
        for (uint32_t k = 0; made[i] && k < kernels[i]->nout; k++)
            temps[kernels[i]->out[k].index] = made[i]->out[k];
    }
    for (uint32_t i = 0; i < ntemp; i++) {
        if (!temps[i])
            BT_TRY(alloc_for(l, dims, p->lowering.temps[i], &temps[i]));
        if (!BT_PUSH(l->arena, &all->by_kind[BT_BUFFER_TEMP], temps[i]))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < n; i++) {
        l->ninvoke++;
        if (!made[i])
            BT_TRY(invoke(l, dims, p, kernels[i], all));
        if (!made[i] && of[i])
            BT_TRY(keep_made(l, of[i], kernels[i], dims->values, all));
    }
    return NULL;
}
