/* Operators of lowered functions: tensors that kernels write, and the kernels. */
#include "encode.h"

#include <string.h>

/* ---- the frame ---- */

/* The space that storage says that it is in. */
static bt_status find_space(struct vm_encoder *e, const bt_call *storage, uint32_t *out)
{
    const bt_compiled *c = e->program->compiled;
    const char *const *name =
        bt_attr_find(storage->op, storage->attrs, "space", BT_ATTR_STRING);
    *out = 0;
    for (uint32_t i = 0; name && **name && !*out && c && i < c->ntarget; i++) {
        if (strcmp(c->spaces[i], *name) == 0 && c->targets[i]->space)
            *out = i + 1;
    }
    return !name || !**name || *out
               ? NULL
               : bt_fail_at(e->ctx, BT_ERR_VERIFY, e->program->module->store,
                            storage->base.span, "vm: no target has the memory \"%s\"",
                            *name);
}

/* Storage of tensors that outlive the activation. */
static bt_status find_escaping(struct vm_encoder *e, uint32_t n,
                               const bt_live_range *ranges, bt_map *out)
{
    bt_map_init(out, e->scratch, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (ranges[i].escapes && !bt_map_put(out, ranges[i].storage, e))
            return bt_no_memory();
    }
    return NULL;
}

/* Bytes of a tensor in memory. */
static bt_status make_size(struct vm_encoder *e, const bt_value *value,
                           struct vm_term *out)
{
    const bt_type *nbytes = bt_tensor_size(value->type);
    return nbytes ? vm_term_make(e, nbytes, out)
                  : bt_store_why(e->ctx, value->type->store);
}

static bt_status add_storage(struct vm_encoder *e, const bt_call *call)
{
    struct vm_storage row = { .call = call };
    const bt_type *nbytes = bt_call_dim(call, "size");
    if (!nbytes)
        return bt_store_why(e->ctx, call->base.type->store);
    BT_TRY(vm_term_make(e, nbytes, &row.nbytes));
    BT_TRY(find_space(e, call, &row.space));
    e->last_storage = &call->base;
    return BT_PUSH(e->scratch, &e->all_storages, row) &&
                   bt_map_put(&e->storages, call, (void *)(uintptr_t)e->all_storages.len)
               ? NULL
               : bt_no_memory();
}

static bt_status add_area(struct vm_encoder *e, const bt_live_range *range)
{
    const uintptr_t storage = (uintptr_t)bt_map_find(&e->storages, range->storage);
    struct vm_area row = { .storage = (uint32_t)storage - 1,
                           .dtype = bt_tensor_dtype(range->tensor->base.type) };
    if (!storage)
        return NULL;
    if (!range->offset)
        return bt_store_why(e->ctx, range->tensor->base.type->store);
    BT_TRY(vm_term_make(e, range->offset, &row.offset));
    BT_TRY(make_size(e, &range->tensor->base, &row.nbytes));
    return BT_PUSH(e->scratch, &e->all_areas, row) &&
                   bt_map_put(&e->areas, range->tensor,
                              (void *)(uintptr_t)e->all_areas.len)
               ? NULL
               : bt_no_memory();
}

/* What stands in a function's block, no block inside it, before the first tensor in such
 * storage and before the first branch, and holds tensors alone that do not outlive it, is got
 * and let go with the activation. */
bt_status vm_find_areas(struct vm_encoder *e)
{
    const bt_block *block = e->func->block;
    bt_live_range *ranges;
    bt_map escaping;
    uint32_t n, first = 0;
    bt_map_init(&e->storages, e->scratch, 0);
    bt_map_init(&e->areas, e->scratch, 0);
    memset(&e->all_storages, 0, sizeof(e->all_storages));
    memset(&e->all_areas, 0, sizeof(e->all_areas));
    e->last_storage = NULL;
    while (first < block->nbinding && !bt_value_nregion(block->bindings[first]) &&
           !bt_as_op_call(block->bindings[first], "memory.alloc_storage"))
        first++;
    if (first == block->nbinding || bt_value_nregion(block->bindings[first]))
        return NULL;
    BT_TRY(bt_live_ranges(e->ctx, e->scratch, e->func, &n, &ranges));
    BT_TRY(find_escaping(e, n, ranges, &escaping));
    for (uint32_t i = first; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        const bt_call *storage = bt_as_op_call(value, "memory.alloc_storage");
        const bt_call *tensor = bt_as_op_call(value, "memory.alloc_tensor");
        if (bt_value_nregion(value) ||
            (tensor && bt_map_find(&e->storages, tensor->args[0])))
            break;
        if (storage && !bt_map_find(&escaping, storage))
            BT_TRY(add_storage(e, storage));
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(add_area(e, &ranges[i]));
    return NULL;
}

static uint32_t space_of(const struct vm_encoder *e, uint32_t place)
{
    return place & VM_AREA && !(place & VM_PLAIN)
               ? e->all_storages.at[e->all_areas.at[place & VM_NUMBER].storage].space
               : 0;
}

static void leave_places(struct vm_encoder *e, uint32_t n, const uint32_t *places)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(places[i] & (VM_AREA | VM_PLAIN)))
            vm_leave(e, 1, &places[i]);
    }
}

/* ---- operators ---- */

static bt_status add_shape(struct vm_encoder *e, const struct vm_shape *shape,
                           uint32_t *out)
{
    *out = e->shapes.len;
    return BT_PUSH(e->tables, &e->shapes, *shape) ? NULL : bt_no_memory();
}

/* A tensor has a register for its object, of whatever rank it is. */
static bt_status define(struct vm_encoder *e, const bt_value *value, uint32_t type,
                        uint32_t *out)
{
    BT_TRY(vm_register_new(e, type, out));
    return bt_map_put(&e->registers, value, (void *)(uintptr_t)(*out + 1))
               ? NULL
               : bt_no_memory();
}

/* Tensor, view and own: a tensor from what there is in registers. */
static bt_status write_tensor(struct vm_encoder *e, const bt_call *call, uint32_t code)
{
    struct vm_shape shape;
    uint32_t dst, row, *regs;
    const uint32_t n = vm_noperand(&call->base);
    void *area = code == VM_VIEW ? bt_map_find(&e->areas, call->args[0]) : NULL;
    if (area)
        return bt_map_put(&e->areas, call, area) ? NULL : bt_no_memory();
    BT_TRY(vm_memory_shape(e, &call->base, &shape));
    BT_TRY(vm_read_all(e, &call->base, 0, &regs));
    BT_TRY(define(e, &call->base, shape.type_number, &dst));
    BT_TRY(vm_begin(e, code, dst));
    if (code != VM_OWN) {
        BT_TRY(add_shape(e, &shape, &row));
        BT_TRY(vm_word(e, row));
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(vm_word(e, regs[i]));
    vm_leave(e, n, regs);
    return NULL;
}

static bt_status write_copy(struct vm_encoder *e, const bt_call *call)
{
    uint32_t *places;
    BT_TRY(vm_read_all(e, &call->base, 0, &places));
    const uint32_t from = space_of(e, places[0]), to = space_of(e, places[1]);
    BT_TRY(vm_begin(e, VM_COPY, from ? from : to));
    BT_TRY(vm_word(e, places[0]));
    BT_TRY(vm_word(e, places[1]));
    leave_places(e, 2, places);
    return NULL;
}

static bt_status write_check(struct vm_encoder *e, const bt_call *call)
{
    struct vm_check row = { .call = call };
    bt_check_read(call->op, call->attrs, &row.check, &row.of); // it is verified
    BT_TRY(vm_term_make(e, row.check.left, &row.left));
    BT_TRY(vm_term_make(e, row.check.right, &row.right));
    BT_TRY(vm_begin(e, VM_CHECK, e->checks.len));
    return BT_PUSH(e->tables, &e->checks, row) ? NULL : bt_no_memory();
}

static uint32_t count_fields(const bt_value *value)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    return tuple ? tuple->nfield : 1;
}

static bt_status find_kernel(struct vm_encoder *e, const bt_call *call,
                             struct vm_launch *row)
{
    const bt_compiled *compiled = e->program->compiled;
    const char *name = bt_invoke_kernel(&call->base);
    row->kernel = compiled ? bt_compiled_find_kernel(compiled, name) : 0;
    if (!compiled || row->kernel == compiled->nkernel)
        return bt_fail_at(e->ctx, BT_ERR_NAME, e->program->module->store, call->base.span,
                          "vm: the code has no kernel %s", name);
    const uint32_t target = compiled->kernels[row->kernel]->target;
    row->space = compiled->targets[target]->space ? target + 1 : 0;
    row->has_queue = compiled->targets[target]->target->open_queue != NULL;
    return NULL;
}

/* Outside the frame each tensor has memory of its own, whatever its storage is. */
static int is_done(const struct vm_encoder *e, const bt_call *call)
{
    int is_done = bt_invoke_is_done(call);
    for (uint32_t i = 0; is_done && i < vm_noperand(&call->base); i++)
        is_done = bt_map_find(&e->areas, vm_operand(&call->base, i)) != NULL;
    return is_done;
}

static bt_status write_kernel(struct vm_encoder *e, const bt_call *call)
{
    const bt_shape_type *dims = bt_invoke_dims(call);
    const uint32_t n = vm_noperand(&call->base);
    struct vm_launch row = { .call = call, .has_workspace = call->narg > 2 };
    uint32_t *places;
    if (is_done(e, call))
        return NULL;
    BT_TRY(find_kernel(e, call, &row));
    row.nread = count_fields(call->args[0]);
    row.nbuffer = row.nread + count_fields(call->args[1]);
    row.ndim = dims ? dims->n : 0;
    struct vm_term *terms = BT_NEWS(e->arena, struct vm_term, row.ndim);
    struct vm_term *nbytes = BT_NEWS(e->arena, struct vm_term, n);
    if (!terms || !nbytes)
        return bt_no_memory();
    for (uint32_t i = 0; i < row.ndim; i++)
        BT_TRY(vm_term_make(e, dims->dims[i], &terms[i]));
    row.is_settled = 1;
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(make_size(e, vm_operand(&call->base, i), &nbytes[i]));
        row.is_settled &= !nbytes[i].open;
    }
    if (e->program->most_dims < row.ndim)
        e->program->most_dims = row.ndim;
    row.dims = terms;
    row.nbytes = nbytes;
    BT_TRY(vm_read_all(e, &call->base, 0, &places));
    BT_TRY(vm_begin(e, VM_KERNEL, e->launches.len));
    BT_TRY(vm_list_words(e, n, places));
    leave_places(e, n, places);
    return BT_PUSH(e->tables, &e->launches, row) ? NULL : bt_no_memory();
}

/* All storage of the frame is got at once. */
static bt_status write_storage(struct vm_encoder *e, const bt_call *call)
{
    uint64_t nbytes = 0;
    if (&call->base != e->last_storage)
        return NULL; // a tensor outside the frame has memory of its own
    for (uint32_t i = 0; i < e->all_storages.len; i++) {
        const struct vm_term *size = &e->all_storages.at[i].nbytes;
        if (!size->open)
            nbytes += (uint64_t)size->number;
    }
    return vm_begin(e, VM_FRAME, nbytes >> 24 ? (1u << 24) - 1 : (uint32_t)nbytes);
}

bt_status vm_memory_write(struct vm_encoder *e, const bt_call *call)
{
    const char *name = call->op->name + strlen("memory.");
    if (bt_map_find(&e->areas, call) || strcmp(name, "kill") == 0)
        return NULL;
    if (strcmp(name, "alloc_storage") == 0)
        return write_storage(e, call);
    if (strcmp(name, "alloc_tensor") == 0)
        return write_tensor(e, call, VM_TENSOR);
    if (strcmp(name, "view") == 0)
        return write_tensor(e, call, VM_VIEW);
    if (strcmp(name, "own") == 0)
        return write_tensor(e, call, VM_OWN);
    if (strcmp(name, "copy") == 0)
        return write_copy(e, call);
    if (strcmp(name, "check") == 0)
        return write_check(e, call);
    if (strcmp(name, "invoke") == 0)
        return write_kernel(e, call);
    return bt_fail_at(e->ctx, BT_ERR_UNSUPPORTED, e->program->module->store,
                      call->base.span, "vm: %s is not known", call->op->name);
}
