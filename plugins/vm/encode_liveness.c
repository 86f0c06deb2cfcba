/* Where values are used last. */
#include "encode.h"

static const bt_call *call_of(const bt_closure_value *closure)
{
    return bt_as_call(closure->func->block->bindings[0]);
}

/* A kernel reads the fields of its tuples, which are not made; their number, and the one of
 * that index. */
static uint32_t invoke_operand(const bt_call *call, uint32_t index, const bt_value **out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_tuple_value *tuple = bt_as_tuple(call->args[i]);
        const uint32_t count = tuple ? tuple->nfield : 1;
        if (index >= n && index - n < count)
            *out = tuple ? tuple->fields[index - n] : call->args[i];
        n += count;
    }
    return n;
}

/* A field of a tuple that stands there is the field's value: such tuples need not be made. */
const bt_value *vm_behind(const bt_value *value)
{
    for (;;) {
        const bt_proj *proj = bt_as_proj(value);
        const bt_tuple_value *tuple = proj ? bt_as_tuple(proj->tuple) : NULL;
        if (!tuple)
            return value;
        value = tuple->fields[proj->index];
    }
}

/* A flat closure reads what its call is given before its own parameters. */
uint32_t vm_noperand(const bt_value *value)
{
    if (bt_as_op_call(value, "memory.invoke"))
        return invoke_operand(bt_as_call(value), UINT32_MAX, NULL);
    if (vm_behind(value) != value || bt_as_op_call(value, "memory.alloc_tensor") ||
        bt_as_op_call(value, "memory.kill"))
        return 0;
    const bt_closure_value *closure = bt_as_closure(value);
    return closure ? call_of(closure)->narg - closure->func->block->nparam
                   : bt_value_noperand(value);
}

const bt_value *vm_operand(const bt_value *value, uint32_t index)
{
    const bt_value *buffer = NULL;
    if (bt_as_op_call(value, "memory.invoke")) {
        (void)invoke_operand(bt_as_call(value), index, &buffer);
        return vm_behind(buffer);
    }
    const bt_closure_value *closure = bt_as_closure(value);
    return vm_behind(closure ? call_of(closure)->args[index]
                             : bt_value_operand(value, index));
}

static bt_status use(struct vm_encoder *e, const bt_value *value)
{
    const struct vm_scope *owner = bt_map_find(&e->owners, value);
    if (value->kind == BT_VALUE_CONST || value->kind == BT_VALUE_GLOBAL)
        return NULL;
    if (!owner)
        return bt_fail_at(e->ctx, BT_ERR_INTERNAL, e->program->module->store, value->span,
                          "a value is used outside the block that binds it");
    for (struct vm_scope *s = e->scope;; s = s->outer) {
        if (!bt_map_put(&s->last, value, (void *)(uintptr_t)(s->step + 1)))
            return bt_no_memory();
        if (s == owner)
            return NULL;
    }
}

/* From the end: a tuple that nobody reads does not read its fields either. */
static bt_status find_read(struct vm_encoder *e, const bt_block *block)
{
    if (!bt_map_put(&e->read, vm_behind(block->result), e))
        return bt_no_memory();
    for (uint32_t i = block->nbinding; i-- > 0;) {
        const bt_value *value = block->bindings[i];
        const uint32_t nregion =
            value->kind == BT_VALUE_CLOSURE ? 0 : bt_value_nregion(value);
        if (value->kind == BT_VALUE_TUPLE && !bt_map_find(&e->read, value))
            continue;
        for (uint32_t k = 0; k < nregion; k++)
            BT_TRY(find_read(e, bt_value_region(value, k)));
        if (value->kind == BT_VALUE_CLOSURE &&
            !bt_closure_flat_call(bt_as_closure(value)))
            return vm_unsupported(
                e, value,
                "a closure must be a call of a global function, on what it captures "
                "and then its own parameters (pass lambda-lift)");
        for (uint32_t k = 0; k < vm_noperand(value); k++) {
            if (!bt_map_put(&e->read, vm_operand(value, k), e))
                return bt_no_memory();
        }
    }
    return NULL;
}

static bt_status find_in(struct vm_encoder *e, const bt_block *block)
{
    struct vm_scope *scope = BT_NEW(e->scratch, struct vm_scope);
    if (!scope || !bt_map_put(&e->scopes, block, scope))
        return bt_no_memory();
    *scope = (struct vm_scope){ .block = block, .outer = e->scope };
    bt_map_init(&scope->last, e->scratch, 0);
    e->scope = scope;
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (!bt_map_put(&e->owners, block->params[i], scope))
            return bt_no_memory();
    }
    for (; scope->step < block->nbinding; scope->step++) {
        const bt_value *value = block->bindings[scope->step];
        const uint32_t nregion =
            value->kind == BT_VALUE_CLOSURE ? 0 : bt_value_nregion(value);
        const int is_made =
            value->kind != BT_VALUE_TUPLE || bt_map_find(&e->read, value) != NULL;
        for (uint32_t i = 0; is_made && i < vm_noperand(value); i++)
            BT_TRY(use(e, vm_operand(value, i)));
        for (uint32_t i = 0; i < nregion; i++)
            BT_TRY(find_in(e, bt_value_region(value, i)));
        if (!bt_map_put(&e->owners, value, scope))
            return bt_no_memory();
    }
    BT_TRY(use(e, vm_behind(block->result)));
    e->scope = scope->outer;
    return NULL;
}

bt_status vm_find_uses(struct vm_encoder *e)
{
    bt_map_init(&e->scopes, e->scratch, 0);
    bt_map_init(&e->owners, e->scratch, 0);
    bt_map_init(&e->read, e->scratch, 0);
    e->scope = NULL;
    BT_TRY(find_read(e, e->func->block));
    return find_in(e, e->func->block);
}

int vm_is_last(const struct vm_encoder *e, const bt_value *value)
{
    value = vm_behind(value);
    const struct vm_scope *owner = bt_map_find(&e->owners, value);
    for (const struct vm_scope *s = e->scope; owner && s; s = s->outer) {
        if ((uintptr_t)bt_map_find(&s->last, value) > (uintptr_t)s->step + 1)
            return 0;
        if (s == owner)
            return 1;
    }
    return 0;
}

int vm_block_uses(const struct vm_encoder *e, const bt_block *block,
                  const bt_value *value)
{
    const struct vm_scope *scope = bt_map_find(&e->scopes, block);
    return bt_map_find(&scope->last, vm_behind(value)) != NULL;
}
