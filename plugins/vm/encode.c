/* Functions and their blocks; the program. */
#include "encode.h"

#include <string.h>

/* ---- bindings ---- */

static bt_status write_simple(struct vm_encoder *e, const bt_value *value)
{
    const uint32_t n = vm_noperand(value);
    uint32_t dst, code = VM_TUPLE, *regs;
    BT_TRY(vm_read_all(e, value, 0, &regs));
    BT_TRY(vm_define(e, value, &dst));
    if (value->kind == BT_VALUE_PROJ)
        code = VM_FIELD;
    else if (value->kind != BT_VALUE_TUPLE)
        code = value->kind == BT_VALUE_REF    ? VM_REF
               : value->kind == BT_VALUE_READ ? VM_REF_GET
                                              : VM_REF_SET;
    BT_TRY(vm_begin(e, code, dst));
    if (code == VM_TUPLE)
        BT_TRY(vm_list_words(e, n, regs));
    for (uint32_t i = 0; code != VM_TUPLE && i < n; i++)
        BT_TRY(vm_word(e, regs[i]));
    if (code == VM_FIELD)
        BT_TRY(vm_word(e, bt_as_proj(value)->index));
    vm_leave(e, n, regs);
    return NULL;
}

static bt_status write_binding(struct vm_encoder *e, const bt_value *value, int is_tail)
{
    BT_TRY(vm_mark_source(e, value));
    if ((value->kind == BT_VALUE_TUPLE && !bt_map_find(&e->scope->last, value)) ||
        vm_behind(value) != value)
        return NULL; // only its fields are used
    switch (value->kind) {
    case BT_VALUE_CALL: BT_TRY(vm_call_write(e, bt_as_call(value), is_tail)); break;
    case BT_VALUE_CLOSURE: BT_TRY(vm_closure_write(e, bt_as_closure(value))); break;
    case BT_VALUE_IF: BT_TRY(vm_if_write(e, bt_as_if(value), is_tail)); break;
    case BT_VALUE_MATCH: BT_TRY(vm_match_write(e, bt_as_match(value), is_tail)); break;
    default: BT_TRY(write_simple(e, value)); break;
    }
    const uintptr_t reg = (uintptr_t)bt_map_find(&e->registers, value);
    if (!reg)
        return NULL;
    if (value->kind != BT_VALUE_CALL && value->kind != BT_VALUE_CLOSURE)
        BT_TRY(vm_shape_write(e, VM_DIMS, value, (uint32_t)reg - 1));
    const int is_held = e->locals.len && e->locals.at[e->locals.len - 1].value == value;
    return is_held ? NULL : vm_begin_local(e, value, (uint32_t)reg - 1, 0);
}

/* A value that nobody reads. */
static bt_status drop_unused(struct vm_encoder *e, const bt_value *value)
{
    const uintptr_t reg = (uintptr_t)bt_map_find(&e->registers, value);
    if (!reg || bt_map_find(&e->scope->last, value))
        return NULL;
    if (!((reg - 1) & VM_SCALAR))
        BT_TRY(vm_begin(e, VM_KILL, ((uint32_t)reg - 1) | VM_LAST));
    vm_register_free(e, (uint32_t)reg - 1);
    return NULL;
}

/* The result of a block is computed where it is wanted, where the block itself binds it. */
static bt_status aim(struct vm_encoder *e, const bt_block *block, uint32_t target)
{
    const bt_value *result = vm_behind(block->result);
    uint32_t type;
    if (target == VM_NO_TARGET || !bt_value_is_binding(result) ||
        bt_value_is_memory_call(result) || bt_map_find(&e->owners, result) != e->scope ||
        bt_map_find(&e->registers, result))
        return NULL;
    BT_TRY(vm_type_number(e->ctx, &e->program->types, result->type, result, &type));
    if (type != vm_register_type(e, target))
        return NULL;
    return bt_map_put(&e->registers, result, (void *)(uintptr_t)(target + 1))
               ? NULL
               : bt_no_memory();
}

static bt_status write_result(struct vm_encoder *e, const bt_block *block, int is_tail,
                              uint32_t target)
{
    const bt_value *result = vm_behind(block->result);
    uint32_t reg;
    if (!is_tail &&
        (uintptr_t)bt_map_find(&e->registers, result) == (uintptr_t)target + 1)
        return NULL;
    BT_TRY(vm_read(e, result, 1, &reg));
    BT_TRY(vm_begin(e, is_tail ? VM_RET : VM_MOVE, is_tail ? reg : target));
    if (!is_tail)
        BT_TRY(vm_word(e, reg));
    vm_leave(e, 1, &reg);
    return NULL;
}

/* Blocks nest to a bounded depth. */
bt_status vm_block_write(struct vm_encoder *e, const bt_block *block, int is_tail,
                         uint32_t target)
{
    struct vm_scope *outer = e->scope, *scope = bt_map_find(&e->scopes, block);
    const uint32_t nlocal = e->locals.len;
    int has_left = 0;
    e->scope = scope;
    BT_TRY(aim(e, block, target));
    for (scope->step = 0; scope->step < block->nbinding; scope->step++) {
        const bt_value *value = block->bindings[scope->step];
        const int ends = is_tail && scope->step + 1 == block->nbinding &&
                         block->result == value && vm_behind(value) == value;
        BT_TRY(write_binding(e, value, ends));
        BT_TRY(drop_unused(e, value));
        // a tail call, or branches that return by themselves, define nothing here
        has_left = ends && !bt_map_find(&e->registers, value);
    }
    if (!has_left)
        BT_TRY(write_result(e, block, is_tail, target));
    for (uint32_t i = nlocal; i < e->locals.len; i++) {
        if (e->locals.at[i].to == UINT32_MAX)
            e->locals.at[i].to = e->words.len;
    }
    e->scope = outer;
    return NULL;
}

/* ---- functions ---- */

/* What has grown elsewhere, in the program. NULL: no memory. */
static void *keep(struct vm_encoder *e, const void *at, uint32_t n, size_t nbytes)
{
    void *kept = bt_arena_alloc(e->arena, n, nbytes);
    return kept && n ? memcpy(kept, at, n * nbytes) : kept;
}
#define KEEP(list) keep(e, (list).at, (list).len, sizeof(*(list).at))

static bt_status write_params(struct vm_encoder *e, struct vm_function *f)
{
    const bt_block *block = e->func->block;
    const struct vm_scope *scope = bt_map_find(&e->scopes, block);
    uint32_t *params = BT_NEWS(e->arena, uint32_t, block->nparam);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(vm_define(e, &block->params[i]->base, &params[i]));
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(vm_begin_local(e, &block->params[i]->base, params[i], 0));
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(vm_shape_write(e, VM_DIMS, &block->params[i]->base, params[i]));
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (bt_map_find(&scope->last, block->params[i]))
            continue;
        if (!(params[i] & VM_SCALAR))
            BT_TRY(vm_begin(e, VM_KILL, params[i] | VM_LAST));
    }
    f->nparam = block->nparam;
    f->params = params;
    if (e->program->most_args < f->nparam) // a closure's captures and arguments
        e->program->most_args = f->nparam;
    return NULL;
}

/* Registers of scalars are behind those of objects; nobody gives back a scalar. */
static uint32_t settle(const struct vm_encoder *e, uint32_t reg)
{
    return reg & VM_SCALAR ? (reg & VM_REGISTER & ~VM_SCALAR) + e->types[0].len : reg;
}

static bt_status settle_words(struct vm_encoder *e)
{
    struct vm_decoder d;
    struct vm_operand operand;
    for (uint32_t pc = 0; pc < e->words.len; pc = d.next) {
        if (!vm_decode(&d, e->words.at, e->words.len, pc))
            return bt_fail(e->ctx, BT_ERR_INTERNAL, "vm: no instruction at %u", pc);
        while (vm_decode_operand(&d, &operand)) {
            if (!strchr("drvnq", operand.kind) ||
                (operand.kind == 'q' && operand.value & (VM_AREA | VM_PLAIN)))
                continue;
            uint32_t *word = &e->words.at[operand.at];
            *word = operand.at == pc ? (*word & 0xff) | settle(e, operand.value) << 8
                                     : settle(e, operand.value);
        }
    }
    return NULL;
}

static bt_status take_types(struct vm_encoder *e, struct vm_function *f)
{
    f->nobject = e->types[0].len;
    f->nreg = f->nobject + e->types[1].len;
    uint32_t *types = BT_NEWS(e->arena, uint32_t, f->nreg);
    uint32_t *params = BT_NEWS(e->arena, uint32_t, f->nparam);
    const bt_type **dims = BT_NEWS(e->arena, const bt_type *, e->dims.len);
    if (!types || !params || !dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < e->dims.len; i++)
        dims[i] = e->dims.at[i].key;
    f->ndim = e->dims.len;
    f->dims = dims;
    for (uint32_t i = 0; i < f->nreg; i++)
        types[i] = i < f->nobject ? e->types[0].at[i] : e->types[1].at[i - f->nobject];
    for (uint32_t i = 0; i < f->nparam; i++)
        params[i] = settle(e, f->params[i]);
    for (uint32_t i = 0; i < e->locals.len; i++)
        e->locals.at[i].reg = settle(e, e->locals.at[i].reg);
    f->types = types;
    f->params = params;
    return NULL;
}

static bt_status take_areas(struct vm_encoder *e, struct vm_function *f)
{
    struct vm_spot *spots = BT_NEWS(e->arena, struct vm_spot, e->all_areas.len);
    if (!spots)
        return bt_no_memory();
    f->nstorage = e->all_storages.len;
    f->storages = KEEP(e->all_storages);
    f->narea = e->all_areas.len;
    f->areas = KEEP(e->all_areas);
    if (!f->storages || !f->areas)
        return bt_no_memory();
    f->is_settled = 1;
    for (uint32_t i = 0; i < f->nstorage; i++)
        f->is_settled &= !f->storages[i].nbytes.open;
    for (uint32_t i = 0; i < f->narea; i++)
        f->is_settled &= !f->areas[i].offset.open && !f->areas[i].nbytes.open;
    for (uint32_t i = 0; i < f->narea; i++)
        spots[i] = (struct vm_spot){ f->areas[i].storage, f->areas[i].offset.number };
    f->spots = spots;
    return NULL;
}

static bt_status encode_function(struct vm_encoder *e, const bt_global *global,
                                 struct vm_function *f)
{
    const bt_func *func = global->func;
    uint32_t number;
    e->func = func;
    e->begun = 0;
    memset(e->types, 0, sizeof(e->types));
    memset(&e->unused, 0, sizeof(e->unused));
    memset(&e->words, 0, sizeof(e->words));
    memset(&e->sources, 0, sizeof(e->sources));
    memset(&e->locals, 0, sizeof(e->locals));
    bt_map_init(&e->holders, e->scratch, 0);
    bt_map_init(&e->registers, e->scratch, 0);
    bt_map_init(&e->dims, e->scratch, 0);
    for (uint32_t i = 0; i < func->nvar; i++)
        BT_TRY(vm_dim_number(e, func->vars[i], &number));
    BT_TRY(vm_find_uses(e));
    BT_TRY(vm_find_areas(e));
    BT_TRY(vm_type_number(e->ctx, &e->program->types, func->result, func->block->result,
                          &f->result));
    BT_TRY(write_params(e, f));
    BT_TRY(vm_block_write(e, func->block, 1, VM_NO_TARGET));
    BT_TRY(settle_words(e));
    BT_TRY(take_types(e, f));
    f->name = global->name;
    f->func = func;
    f->nvar = func->nvar;
    f->nword = e->words.len;
    f->words = KEEP(e->words);
    f->nsource = e->sources.len;
    f->sources = KEEP(e->sources);
    f->nlocal = e->locals.len;
    f->locals = KEEP(e->locals);
    return f->words && f->sources && f->locals ? take_areas(e, f) : bt_no_memory();
}

/* ---- programs ---- */

enum { MAX_TYPES = 4096 };

/* Arguments of the entry are checked by the types of their fields. A data type that needs
 * ever larger ones is left: no argument can be of it. */
static bt_status expand_types(struct vm_encoder *e)
{
    struct vm_types *types = &e->program->types;
    const bt_value *at = e->globals.at[0]->func->block->result;
    for (uint32_t i = 0; i < types->n && types->n < MAX_TYPES; i++) {
        if (types->at[i].kind == VM_TYPE_DATA)
            BT_TRY(vm_type_ctors(e->ctx, types, i, at));
    }
    return NULL;
}

static bt_status encode_all(struct vm_encoder *e, const bt_global *entry)
{
    const bt_value value = { .kind = BT_VALUE_GLOBAL, .name = entry->name };
    const struct vm_list none = { 0 };
    uint32_t number;
    bt_map_init(&e->numbers, e->tables, 1);
    bt_map_init(&e->plain, e->tables, 0);
    if (!BT_PUSH(e->tables, &e->lists, none))
        return bt_no_memory();
    BT_TRY(vm_function_number(e, &value, &number));
    for (uint32_t i = 0; i < e->globals.len; i++) {
        struct vm_function *f = BT_NEW(e->arena, struct vm_function);
        const void *mark = bt_arena_mark(e->scratch);
        if (!f || !BT_PUSH(e->tables, &e->functions, f))
            return bt_no_memory();
        bt_status status = encode_function(e, e->globals.at[i], f);
        f->number = i;
        bt_arena_release(e->scratch, mark);
        BT_TRY(status);
    }
    return expand_types(e);
}

static bt_status take_tables(struct vm_encoder *e)
{
    struct vm_program *p = e->program;
#define VM_TABLE(letter, member, n)       \
    p->member = KEEP(e->member);          \
    p->n = p->member ? e->member.len : 0; \
    if (!p->member)                       \
        return bt_no_memory();
#include "tables.def"
    return NULL;
}

/* Constants hold tensors, which go with the program. */
static void drop_consts(struct vm_encoder *e)
{
    for (uint32_t i = 0; i < e->consts.len; i++)
        bt_tensor_unref(e->consts.at[i].plain);
}

bt_status vm_encode(bt_ctx *ctx, const bt_module *module, bt_compiled *kernels,
                    const bt_global *entry, struct vm_program **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    bt_arena *arena = bt_arena_create(registry);
    struct vm_program *p = arena ? BT_NEW(arena, struct vm_program) : NULL;
    if (!p) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *p = (struct vm_program){ .nref = 1,
                              .registry = bt_registry_ref(registry),
                              .compiled = kernels ? bt_compiled_ref(kernels) : NULL,
                              .module = bt_module_ref(module),
                              .arena = arena,
                              .types = { .arena = arena, .store = module->store } };
    // of their own: what encoding needs does not stay with the context
    struct vm_encoder e = { .ctx = ctx,
                            .arena = arena,
                            .tables = bt_arena_create(registry),
                            .scratch = bt_arena_create(registry),
                            .program = p };
    bt_status status = bt_tuple_create(ctx, 0, NULL, &p->identity);
    if (!status)
        status = e.tables && e.scratch ? encode_all(&e, entry) : bt_no_memory();
    if (!status)
        status = take_tables(&e);
    if (!p->consts)
        drop_consts(&e);
    bt_arena_destroy(e.tables);
    bt_arena_destroy(e.scratch);
    if (!status)
        status = vm_verify(ctx, p);
    if (status)
        vm_program_unref(p);
    else
        *out = p;
    return status;
}
