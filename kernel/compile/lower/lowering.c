/* Lowerings: lists of kernels that targets fill in; and what they may know of the inputs. */
#include <string.h>

#include <baton/target.h>

static int has_number(const bt_dict_entry *list, int64_t number)
{
    for (uint32_t i = 0; list && list->kind == BT_DICT_LIST && i < list->n; i++) {
        if (list->items[i].kind == BT_DICT_INT && list->items[i].i == number)
            return 1;
    }
    return 0;
}

/* For each leaf of the parameters, whether the attribute lists its parameter. */
static const uint8_t *listed(bt_arena *arena, const bt_func *primitive, const char *name)
{
    const bt_dict_entry *list = bt_dict_find(&primitive->attrs, name);
    const bt_block *block = primitive->block;
    uint32_t nleaf = 0, at = 0;
    for (uint32_t i = 0; i < block->nparam; i++)
        nleaf += bt_type_nleaf(block->params[i]->base.type);
    uint8_t *is_listed = BT_NEWS(arena, uint8_t, nleaf);
    for (uint32_t i = 0; is_listed && i < block->nparam; i++) {
        const uint32_t n = bt_type_nleaf(block->params[i]->base.type);
        memset(is_listed + at, has_number(list, i), n);
        at += n;
    }
    return is_listed;
}

const uint8_t *bt_primitive_constants(bt_arena *arena, const bt_func *primitive)
{
    return listed(arena, primitive, "constants");
}

const uint8_t *bt_primitive_shared(bt_arena *arena, const bt_func *primitive)
{
    return listed(arena, primitive, "shared");
}

static bt_kernel_buffer *number(bt_arena *arena, uint32_t kind, uint32_t n)
{
    bt_kernel_buffer *all = BT_NEWS(arena, bt_kernel_buffer, n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i] = (bt_kernel_buffer){ kind, i };
    return all;
}

/* All inputs are read before anything is written. */
static int add_alias(bt_arena *arena, bt_kernel *kernel)
{
    enum { MOST = 64 }; // pairs that are worth listing
    if ((uint64_t)kernel->nin * kernel->nout > MOST)
        return 1;
    bt_kernel_alias *aliases =
        BT_NEWS(arena, bt_kernel_alias, kernel->nin * kernel->nout);
    for (uint32_t i = 0; aliases && i < kernel->nin * kernel->nout; i++)
        aliases[i] = (bt_kernel_alias){ .out = i / kernel->nin, .in = i % kernel->nin };
    kernel->nalias = kernel->nin * kernel->nout;
    kernel->aliases = aliases;
    return aliases != NULL;
}

bt_kernel *bt_lowering_add(bt_lowering *l, bt_arena *arena)
{
    bt_kernel *kernel = BT_NEW(arena, bt_kernel);
    bt_kernel **kernels = BT_NEWS(arena, bt_kernel *, (size_t)l->nkernel + 1);
    if (!kernel || !kernels)
        return NULL;
    for (uint32_t i = 0; i < l->nkernel; i++)
        kernels[i] = l->kernels[i];
    kernels[l->nkernel++] = kernel;
    l->kernels = kernels;
    return kernel;
}

bt_kernel *bt_lowering_whole(bt_lowering *l, bt_arena *arena, const bt_func *primitive)
{
    bt_kernel *kernel = bt_lowering_add(l, arena);
    if (!kernel)
        return NULL;
    for (uint32_t i = 0; i < primitive->block->nparam; i++)
        kernel->nin += bt_type_nleaf(primitive->block->params[i]->base.type);
    kernel->nout = bt_type_nleaf(primitive->result);
    kernel->in = number(arena, BT_BUFFER_INPUT, kernel->nin);
    kernel->out = number(arena, BT_BUFFER_OUTPUT, kernel->nout);
    return kernel->in && kernel->out && add_alias(arena, kernel) ? kernel : NULL;
}
