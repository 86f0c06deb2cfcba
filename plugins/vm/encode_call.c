/* Calls of operators, constructors, functions and closures. */
#include "encode.h"

#include <string.h>

bt_status vm_function_number(struct vm_encoder *e, const bt_value *value, uint32_t *out)
{
    const uintptr_t known = (uintptr_t)bt_map_find(&e->numbers, value->name);
    const bt_module *module = e->program->module;
    const bt_global *global = bt_module_find(module, value->name);
    *out = (uint32_t)known - 1;
    if (known)
        return NULL;
    if (!global)
        return bt_fail_at(e->ctx, BT_ERR_NAME, module->store, value->span,
                          "@%s is not defined", value->name);
    if (global->kind != BT_GLOBAL_FUNC)
        return bt_global_fail(e->ctx, module, global);
    *out = e->globals.len;
    return BT_PUSH(e->tables, &e->globals, global) &&
                   bt_map_put(&e->numbers, global->name,
                              (void *)(uintptr_t)(e->globals.len))
               ? NULL
               : bt_no_memory();
}

bt_status vm_ctor_number(struct vm_encoder *e, const bt_ctor *ctor, uint32_t type,
                         const bt_value *value, uint32_t *out)
{
    BT_TRY(vm_type_ctors(e->ctx, &e->program->types, type, value));
    for (*out = 0; *out < e->ctors.len; ++*out) {
        if (e->ctors.at[*out].ctor == ctor && e->ctors.at[*out].type == type)
            return NULL;
    }
    const struct vm_ctor row = { ctor, type,
                                 e->program->types.at[type].ctors[ctor->tag] };
    return BT_PUSH(e->tables, &e->ctors, row) ? NULL : bt_no_memory();
}

/* ---- operators ---- */

static int is_settled_type(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (!bt_tensor_shape(tuple->at[i]) || !bt_tensor_dtype(tuple->at[i]))
            return 0;
    }
    return tuple || (shape && bt_tensor_dtype(type));
}

/* Attributes that mention dims of the program are known at run time only. */
static int has_open_attrs(const bt_op *op, const void *attrs)
{
    for (const bt_attr *row = op->attrs; row && row->name; row++) {
        const bt_type *term;
        if (row->kind < BT_ATTR_DTYPE || row->kind > BT_ATTR_TYPE)
            continue;
        memcpy(&term, (const char *)attrs + row->offset, sizeof(term));
        if (term && term->has)
            return 1;
    }
    return 0;
}

/* Every dim that a computation may need has a number. */
static const bt_type *number_leaf(struct bt_subst *subst, const bt_type *leaf)
{
    uint32_t number;
    struct vm_encoder *e = subst->state;
    if (bt_type_kind_of(leaf) == BT_KIND_DIM)
        (void)!vm_dim_number(e, leaf, &number);
    return leaf;
}

static bt_status add_operator(struct vm_encoder *e, const bt_call *call, uint32_t *out)
{
    struct vm_operator row = { .call = call };
    row.is_settled =
        is_settled_type(call->base.type) && !has_open_attrs(call->op, call->attrs);
    for (uint32_t i = 0; i < call->narg; i++)
        row.is_settled = row.is_settled && is_settled_type(call->args[i]->type);
    if (!row.is_settled && call->attrs) {
        bt_subst subst = { .leaf = number_leaf, .state = e };
        if (!bt_attrs_subst(e->program->module->store, &subst, call->op->attrs,
                            call->op->attrs_nbytes, call->attrs))
            return bt_no_memory();
    }
    uint32_t *args = BT_NEWS(e->arena, uint32_t, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(vm_type_number(e->ctx, &e->program->types, call->args[i]->type,
                              call->args[i], &args[i]));
    BT_TRY(vm_type_number(e->ctx, &e->program->types, call->base.type, &call->base,
                          &row.type));
    row.args = args;
    *out = e->operators.len;
    return BT_PUSH(e->tables, &e->operators, row) ? NULL : bt_no_memory();
}

static bt_status write_operator(struct vm_encoder *e, const bt_call *call)
{
    uint32_t row, dst, *regs;
    BT_TRY(add_operator(e, call, &row));
    BT_TRY(vm_read_all(e, &call->base, 0, &regs));
    BT_TRY(vm_define(e, &call->base, &dst));
    BT_TRY(vm_begin(e, VM_OPERATE, dst));
    BT_TRY(vm_word(e, row));
    BT_TRY(vm_list_words(e, call->narg, regs));
    vm_leave(e, call->narg, regs);
    return vm_begin_local(e, &call->base, dst, 1);
}

/* Whether a register is that of an operand. */
static int is_operand(const struct vm_encoder *e, const bt_value *value, uint32_t reg)
{
    int is = 0;
    for (uint32_t k = 0; k < vm_noperand(value); k++)
        is |= (uintptr_t)bt_map_find(&e->registers, vm_operand(value, k)) ==
              (uintptr_t)reg + 1;
    return is;
}

/* One scalar: where its last instruction has put it, or by that where it is wanted. */
static bt_status take_scalar(struct vm_encoder *e, const bt_value *value, uint32_t reg)
{
    const int is_shared = is_operand(e, value, reg);
    uint32_t dst;
    if (!is_shared && !bt_map_find(&e->registers, value))
        return bt_map_put(&e->registers, value, (void *)(uintptr_t)(reg + 1))
                   ? NULL
                   : bt_no_memory();
    BT_TRY(vm_define(e, value, &dst));
    if (!is_shared)
        vm_register_free(e, reg);
    if (!is_shared && e->begun < e->words.len &&
        e->words.at[e->begun] >> 8 == reg) {
        e->words.at[e->begun] = (e->words.at[e->begun] & 0xff) | dst << 8;
        return NULL;
    }
    BT_TRY(vm_begin(e, VM_MOVE, dst));
    return vm_word(e, reg);
}

static bt_status take_tuple(struct vm_encoder *e, const bt_value *value, uint32_t n,
                            const uint32_t *regs)
{
    uint32_t dst;
    BT_TRY(vm_define(e, value, &dst));
    BT_TRY(vm_begin(e, VM_TUPLE, dst));
    BT_TRY(vm_list_words(e, n, regs));
    for (uint32_t i = 0; i < n; i++) {
        int is_met = is_operand(e, value, regs[i]);
        for (uint32_t k = 0; k < i; k++)
            is_met |= regs[k] == regs[i];
        if (!is_met)
            vm_register_free(e, regs[i]);
    }
    return NULL;
}

/* What scalar instructions have computed becomes the value of the call. */
static bt_status take_scalars(struct vm_encoder *e, const bt_call *call, uint32_t n,
                              const uint32_t *regs)
{
    const bt_value *value = &call->base;
    BT_TRY(bt_as_tuple_type(value->type) ? take_tuple(e, value, n, regs)
                                         : take_scalar(e, value, regs[0]));
    for (uint32_t i = 0; i < vm_noperand(value); i++) {
        const bt_value *operand = vm_operand(value, i);
        const uintptr_t reg = (uintptr_t)bt_map_find(&e->registers, operand);
        int is_again = 0;
        for (uint32_t k = i + 1; k < vm_noperand(value); k++)
            is_again |= vm_operand(value, k) == operand;
        if (reg && !is_again && vm_is_last(e, operand))
            vm_register_free(e, (uint32_t)reg - 1);
    }
    return call->callee_kind == BT_CALLEE_OP
               ? vm_begin_local(
                     e, value, (uint32_t)(uintptr_t)bt_map_find(&e->registers, value) - 1,
                     1)
               : NULL;
}

/* ---- functions ---- */

/* The dims that a call passes; none where it does not say them: the arguments show them. */
static bt_status pass_dims(struct vm_encoder *e, const bt_call *call, const bt_func *func,
                           uint32_t *out)
{
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            return bt_fail_at(e->ctx, BT_ERR_UNSUPPORTED, e->program->module->store,
                              call->base.span,
                              "vm: %s is generic in more than dims (pass monomorphize)",
                              func->name ? func->name : "a function");
    }
    return vm_dims_make(e, call->ntype_arg == func->nvar ? func->nvar : 0,
                        call->type_args, out);
}

static bt_status write_call(struct vm_encoder *e, const bt_call *call, int is_tail)
{
    const int is_known = call->callee->kind == BT_VALUE_GLOBAL;
    uint32_t number = 0, dims = 0, closure = 0, dst = 0, *regs;
    if (is_known) {
        BT_TRY(vm_function_number(e, call->callee, &number));
        BT_TRY(pass_dims(e, call, e->globals.at[number]->func, &dims));
        BT_TRY(vm_read_all(e, &call->base, 1, &regs));
    } else {
        BT_TRY(vm_read_all(e, &call->base, 0, &regs));
        closure = *regs++;
    }
    if (is_tail) {
        BT_TRY(vm_begin(e, is_known ? VM_TAIL_CALL : VM_TAIL_CLOSURE,
                        is_known ? number : closure));
        if (is_known)
            BT_TRY(vm_word(e, dims));
        BT_TRY(vm_list_words(e, call->narg, regs));
    } else {
        BT_TRY(vm_define(e, &call->base, &dst));
        BT_TRY(vm_begin(e, is_known ? VM_CALL : VM_CALL_CLOSURE, dst));
        BT_TRY(vm_word(e, is_known ? number : closure));
        if (is_known)
            BT_TRY(vm_word(e, dims));
        BT_TRY(vm_list_words(e, call->narg, regs));
    }
    vm_leave(e, call->narg, regs);
    if (!is_known)
        vm_leave(e, 1, &closure);
    return NULL;
}

bt_status vm_closure_write(struct vm_encoder *e, const bt_closure_value *closure)
{
    const bt_call *call = bt_as_call(closure->func->block->bindings[0]);
    const uint32_t n = vm_noperand(&closure->base);
    uint32_t number, dims, dst, *regs;
    BT_TRY(vm_function_number(e, call->callee, &number));
    BT_TRY(pass_dims(e, call, e->globals.at[number]->func, &dims));
    BT_TRY(vm_read_all(e, &closure->base, 0, &regs));
    BT_TRY(vm_define(e, &closure->base, &dst));
    BT_TRY(vm_begin(e, VM_CLOSURE, dst));
    BT_TRY(vm_word(e, number));
    BT_TRY(vm_word(e, dims));
    BT_TRY(vm_list_words(e, n, regs));
    vm_leave(e, n, regs);
    return NULL;
}

/* ---- all ---- */

static bt_status write_ctor(struct vm_encoder *e, const bt_call *call)
{
    uint32_t dst, row, *regs;
    BT_TRY(vm_read_all(e, &call->base, 0, &regs));
    BT_TRY(vm_define(e, &call->base, &dst));
    BT_TRY(vm_ctor_number(e, call->ctor, vm_register_type(e, dst), &call->base, &row));
    BT_TRY(vm_begin(e, VM_ADT, dst));
    BT_TRY(vm_word(e, row));
    BT_TRY(vm_list_words(e, call->narg, regs));
    vm_leave(e, call->narg, regs);
    return NULL;
}

bt_status vm_call_write(struct vm_encoder *e, const bt_call *call, int is_tail)
{
    const bt_global *primitive = bt_module_primitive(e->program->module, call);
    uint32_t n = 0, *results;
    if (bt_value_is_memory_call(&call->base))
        return vm_memory_write(e, call);
    BT_TRY(vm_checks_write(e, call));
    if (call->callee_kind == BT_CALLEE_OP || primitive)
        BT_TRY(vm_scalar_call(e, call, primitive ? primitive->func : NULL, &n, &results));
    if (n) {
        BT_TRY(take_scalars(e, call, n, results));
        return vm_holds_write(
            e, call, (uint32_t)(uintptr_t)bt_map_find(&e->registers, call) - 1);
    }
    if (call->callee_kind == BT_CALLEE_VALUE && is_tail && !bt_call_checks_result(call))
        return write_call(e, call, 1);
    BT_TRY(call->callee_kind == BT_CALLEE_OP     ? write_operator(e, call)
           : call->callee_kind == BT_CALLEE_CTOR ? write_ctor(e, call)
                                                 : write_call(e, call, 0));
    const uint32_t dst = (uint32_t)(uintptr_t)bt_map_find(&e->registers, call) - 1;
    if (bt_call_checks_result(call)) {
        BT_TRY(vm_shape_write(e, VM_SHAPE, &call->base, dst));
        BT_TRY(vm_checks_write(e, call));
    } else if (call->callee_kind != BT_CALLEE_CTOR) {
        BT_TRY(vm_shape_write(e, VM_DIMS, &call->base, dst));
    }
    return vm_holds_write(e, call, dst);
}
