/* Words, registers, operands. */
#include "encode.h"

#include <string.h>

bt_status vm_unsupported(struct vm_encoder *e, const bt_value *value, const char *why)
{
    return bt_fail_at(e->ctx, BT_ERR_UNSUPPORTED, e->program->module->store, value->span,
                      "vm: %s", why);
}

bt_status vm_word(struct vm_encoder *e, uint32_t word)
{
    return BT_PUSH(e->scratch, &e->words, word) ? NULL : bt_no_memory();
}

bt_status vm_begin(struct vm_encoder *e, uint32_t code, uint32_t first)
{
    e->begun = e->words.len;
    return first >> 24 ? bt_fail_at(e->ctx, BT_ERR_LIMIT, e->program->module->store,
                                    e->func->span,
                                    "vm: the program is too large: more than 2^24 of one "
                                    "kind of thing")
                       : vm_word(e, code | first << 8);
}

bt_status vm_list_words(struct vm_encoder *e, uint32_t n, const uint32_t *words)
{
    if (e->program->most_args < n)
        e->program->most_args = n;
    BT_TRY(vm_word(e, n));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(vm_word(e, words[i]));
    return NULL;
}

/* ---- registers ---- */

uint32_t vm_register_type(const struct vm_encoder *e, uint32_t reg)
{
    const uint32_t number = reg & VM_REGISTER;
    return number & VM_SCALAR ? e->types[1].at[number & ~VM_SCALAR]
                              : e->types[0].at[number];
}

bt_status vm_register_new(struct vm_encoder *e, uint32_t type, uint32_t *out)
{
    const uint32_t is_scalar = (uint32_t)vm_type_is_scalar(&e->program->types, type);
    for (uint32_t i = e->unused.len; i-- > 0;) {
        const uint32_t reg = e->unused.at[i];
        if (vm_register_type(e, reg) != type)
            continue;
        e->unused.at[i] = e->unused.at[--e->unused.len];
        *out = reg;
        return NULL;
    }
    *out = e->types[is_scalar].len | (is_scalar ? VM_SCALAR : 0);
    if (e->types[0].len + e->types[1].len >= VM_SCALAR - 1)
        return bt_fail_at(e->ctx, BT_ERR_LIMIT, e->program->module->store, e->func->span,
                          "vm: %s has more than 2^22 values", e->func->name);
    // freeing one must not fail
    return BT_PUSH(e->scratch, &e->types[is_scalar], type) &&
                   bt_vec_reserve(e->scratch, (void **)&e->unused.at, &e->unused.cap,
                                  e->types[0].len + e->types[1].len,
                                  sizeof(*e->unused.at))
               ? NULL
               : bt_no_memory();
}

void vm_register_free(struct vm_encoder *e, uint32_t reg)
{
    const uintptr_t number = (reg & VM_REGISTER) + (uintptr_t)1;
    const uintptr_t holder = (uintptr_t)bt_map_find(&e->holders, (void *)number);
    e->unused.at[e->unused.len++] = reg & VM_REGISTER;
    if (holder && e->locals.at[holder - 1].to > e->words.len)
        e->locals.at[holder - 1].to = e->words.len;
}

bt_status vm_mark_source(struct vm_encoder *e, const bt_value *value)
{
    const struct vm_source row = { e->words.len, value };
    if (e->sources.len && e->sources.at[e->sources.len - 1].pc == row.pc)
        e->sources.len--;
    return BT_PUSH(e->scratch, &e->sources, row) ? NULL : bt_no_memory();
}

bt_status vm_begin_local(struct vm_encoder *e, const bt_value *value, uint32_t reg,
                         uint32_t is_told)
{
    const struct vm_local local = { e->words.len, UINT32_MAX, reg, is_told, value };
    const uintptr_t number = (reg & VM_REGISTER) + (uintptr_t)1;
    return BT_PUSH(e->scratch, &e->locals, local) &&
                   bt_map_put(&e->holders, (void *)number,
                              (void *)(uintptr_t)e->locals.len)
               ? NULL
               : bt_no_memory();
}

bt_status vm_define(struct vm_encoder *e, const bt_value *value, uint32_t *out)
{
    uint32_t type;
    const uintptr_t known = (uintptr_t)bt_map_find(&e->registers, value);
    if (known) { // chosen by the block whose result it is
        *out = (uint32_t)known - 1;
        return NULL;
    }
    BT_TRY(vm_type_number(e->ctx, &e->program->types, value->type, value, &type));
    BT_TRY(vm_register_new(e, type, out));
    return bt_map_put(&e->registers, value, (void *)(uintptr_t)(*out + 1))
               ? NULL
               : bt_no_memory();
}

/* ---- constants ---- */

bt_status vm_constant(struct vm_encoder *e, const bt_object *object, uint32_t type,
                      uint32_t *out)
{
    BT_TRY(vm_register_new(e, type, out));
    BT_TRY(vm_begin(e, VM_CONST, *out));
    BT_TRY(vm_word(e, e->consts.len));
    const struct vm_const row = { .object = object, .type = type };
    return BT_PUSH(e->tables, &e->consts, row) ? NULL : bt_no_memory();
}

bt_status vm_cell(struct vm_encoder *e, uint32_t type, bt_cell cell, uint32_t *out)
{
    uint64_t bits;
    memcpy(&bits, &cell, sizeof(bits));
    BT_TRY(vm_register_new(e, type, out));
    BT_TRY(vm_begin(e, VM_CELL, *out));
    BT_TRY(vm_word(e, (uint32_t)bits));
    return vm_word(e, (uint32_t)(bits >> 32));
}

/* A global function as a value: a closure that captures nothing. */
static bt_status load_function(struct vm_encoder *e, const bt_value *value, uint32_t type,
                               uint32_t *out)
{
    uint32_t number;
    BT_TRY(vm_function_number(e, value, &number));
    BT_TRY(vm_register_new(e, type, out));
    BT_TRY(vm_begin(e, VM_CLOSURE, *out));
    BT_TRY(vm_word(e, number));
    BT_TRY(vm_word(e, 0));
    return vm_list_words(e, 0, NULL);
}

static bt_status load(struct vm_encoder *e, const bt_value *value, uint32_t *out)
{
    uint32_t type;
    value = bt_module_constant(e->program->module, value);
    BT_TRY(vm_type_number(e->ctx, &e->program->types, value->type, value, &type));
    if (value->kind == BT_VALUE_GLOBAL)
        return load_function(e, value, type, out);
    const bt_tensor *tensor = bt_const_tensor(value);
    return vm_type_is_scalar(&e->program->types, type)
               ? vm_cell(e, type, bt_cell_load(tensor->data, tensor->dtype), out)
               : vm_constant(e, bt_as_const(value)->object, type, out);
}

/* ---- operands ---- */

static bt_status read_any(struct vm_encoder *e, const bt_value *value, int is_last,
                          uint32_t *out)
{
    if (value->kind == BT_VALUE_CONST || value->kind == BT_VALUE_GLOBAL) {
        BT_TRY(load(e, value, out));
        *out |= VM_LAST;
        return NULL;
    }
    const uintptr_t reg = (uintptr_t)bt_map_find(&e->registers, value);
    if (!reg)
        return vm_unsupported(e, value, "a value that only kernels take is used");
    *out = (uint32_t)(reg - 1) | (is_last && vm_is_last(e, value) ? VM_LAST : 0);
    return NULL;
}

/* A constant that is row major and aligned is read where it is, another one from a copy. */
static bt_status add_plain(struct vm_encoder *e, const bt_value *value,
                           const bt_tensor *tensor, uint32_t *out)
{
    const uintptr_t known = (uintptr_t)bt_map_find(&e->plain, tensor);
    struct vm_const row = { .object = &tensor->base };
    *out = VM_PLAIN | (known ? (uint32_t)known - 1 : e->consts.len);
    if (known)
        return NULL;
    if (e->consts.len >= VM_AREA)
        return bt_fail_at(e->ctx, BT_ERR_LIMIT, e->program->module->store, value->span,
                          "vm: more than 2^30 constants");
    BT_TRY(vm_type_number(e->ctx, &e->program->types, value->type, value, &row.type));
    BT_TRY(bt_tensor_plain(e->ctx, tensor, &row.plain));
    if (BT_PUSH(e->tables, &e->consts, row))
        return bt_map_put(&e->plain, tensor, (void *)(uintptr_t)e->consts.len)
                   ? NULL
                   : bt_no_memory();
    bt_tensor_unref(row.plain);
    return bt_no_memory();
}

bt_status vm_read_place(struct vm_encoder *e, const bt_value *value, int is_last,
                        uint32_t *out)
{
    value = vm_behind(value);
    const uintptr_t area = (uintptr_t)bt_map_find(&e->areas, value);
    const bt_value *given = bt_module_constant(e->program->module, value);
    const bt_tensor *tensor =
        given->kind == BT_VALUE_CONST ? bt_const_tensor(given) : NULL;
    if (tensor)
        return add_plain(e, given, tensor, out);
    *out = VM_AREA | ((uint32_t)area - 1);
    return area ? NULL : read_any(e, value, is_last, out);
}

/* What a kernel has written, or will read, as a scalar. */
static bt_status load_scalar(struct vm_encoder *e, const bt_value *value, uint32_t *place)
{
    const uint32_t from = *place, is_area = from & VM_AREA;
    uint32_t type;
    BT_TRY(vm_type_number(e->ctx, &e->program->types, value->type, value, &type));
    if (!is_area && type == vm_register_type(e, from))
        return NULL;
    if (!vm_type_is_scalar(&e->program->types, type))
        return vm_unsupported(e, value,
                              "a tensor of the frame is used by what is no kernel");
    BT_TRY(vm_register_new(e, type, place));
    BT_TRY(vm_begin(e, VM_LOAD, *place));
    BT_TRY(vm_word(e, from));
    if (!is_area)
        vm_leave(e, 1, &from);
    *place |= VM_LAST;
    return NULL;
}

bt_status vm_read(struct vm_encoder *e, const bt_value *value, int is_last, uint32_t *out)
{
    value = vm_behind(value);
    if (!bt_value_is_memory_call(value))
        return read_any(e, value, is_last, out);
    BT_TRY(vm_read_place(e, value, is_last, out));
    return load_scalar(e, value, out);
}

bt_status vm_read_all(struct vm_encoder *e, const bt_value *value, uint32_t first,
                      uint32_t **out)
{
    const uint32_t n = vm_noperand(value);
    uint32_t *regs = BT_NEWS(e->scratch, uint32_t, n - first);
    if (!regs)
        return bt_no_memory();
    for (uint32_t i = first; i < n; i++) {
        const bt_value *operand = vm_operand(value, i);
        int is_last = 1;
        for (uint32_t k = i + 1; is_last && k < n; k++)
            is_last = vm_operand(value, k) != operand;
        const int is_place =
            bt_as_op_call(value, "memory.invoke") || bt_as_op_call(value, "memory.copy");
        BT_TRY(is_place ? vm_read_place(e, operand, is_last, &regs[i - first])
               : bt_value_is_memory_call(value)
                   ? read_any(e, operand, is_last, &regs[i - first])
                   : vm_read(e, operand, is_last, &regs[i - first]));
    }
    *out = regs;
    return NULL;
}

void vm_leave(struct vm_encoder *e, uint32_t n, const uint32_t *regs)
{
    for (uint32_t i = 0; i < n; i++) {
        if (regs[i] & VM_LAST)
            vm_register_free(e, regs[i]);
    }
}
