/*
 * The rules that the machine relies on, in one pass over the words: instructions are whole,
 * operands are rows of their tables and registers of the right kind and type, jumps go
 * forward to instructions, calls have the arguments that their functions take, a switch has
 * every constructor, and no function runs into its end. What registers hold is known by
 * their types at every place, so there is no analysis of flow; whether they hold anything
 * is looked at when they are read.
 */
#include <string.h>

#include <baton/graph.h>
#include <baton/op.h>

#include "bytecode.h"

struct verifier {
    bt_ctx *ctx;
    const struct vm_program *p;
    const struct vm_function *f;
    uint8_t *is_start; /* by word: an instruction begins there */
    uint8_t *is_aim;   /* by word: a jump goes there */
    struct vm_decoder d;
    /* Of the instruction: operands but the numbers of lists' items. */
    uint32_t n;
    uint32_t *values;
    uint32_t has_branch, has_frame; /* before the instruction */
};

static bt_status fail(const struct verifier *v, const char *what)
{
    return bt_fail(v->ctx, BT_ERR_VERIFY, "vm: @%s, word %u, %s: %s", v->f->name, v->d.pc,
                   v->d.code < VM_COUNT ? vm_instructions[v->d.code].name : "?", what);
}

/* ---- operands ---- */

static uint32_t length_of(const struct vm_program *p, char kind)
{
    switch (kind) {
// clang-format off
#define VM_TABLE(letter, member, length) case letter: return p->length;
#include "tables.def"
    // clang-format on
    default: return UINT32_MAX;
    }
}

static bt_status check_register(const struct verifier *v, char kind, uint32_t value)
{
    const uint32_t reg = kind == 'd' ? value : value & VM_REGISTER;
    if (reg >= v->f->nreg || value >> 24)
        return fail(v, "a register that there is not");
    if (kind == 'v' && reg >= v->f->nobject)
        return fail(v, "a scalar where an object must be");
    if ((kind == 'n' && reg < v->f->nobject) || (value & VM_LAST && reg >= v->f->nobject))
        return fail(v, "an object where a scalar must be, or a scalar that is let go");
    return NULL;
}

/* Memory has been got on every way to this place: there was no branch before. */
static bt_status check_place(const struct verifier *v, uint32_t place)
{
    const uint32_t number = place & VM_NUMBER;
    if (place & VM_PLAIN)
        return !(place & VM_AREA) && number < v->p->nconst && v->p->consts[number].plain
                   ? NULL
                   : fail(v, "a constant that there is not");
    return number < v->f->narea && v->has_frame
               ? NULL
               : fail(v, "an area that there is not, or not yet");
}

static bt_status check_operand(struct verifier *v, const struct vm_operand *o)
{
    if (o->kind == 'j') {
        if (o->value <= v->d.pc || o->value >= v->f->nword)
            return fail(v, "a jump that does not go forward");
        v->is_aim[o->value] = 1;
        return NULL;
    }
    if (o->kind == 'R' && o->value > v->p->most_args)
        return fail(v, "more values than any call has");
    if (o->kind == 'q' && o->value & (VM_AREA | VM_PLAIN))
        return check_place(v, o->value);
    if (strchr("drvnq", o->kind))
        return check_register(v, o->kind, o->value);
    return o->value < length_of(v->p, o->kind) || strchr("RQJu", o->kind)
               ? NULL
               : fail(v, "a row that its table does not have");
}

/* ---- types ---- */

static uint32_t type_of(const struct verifier *v, uint32_t operand)
{
    return v->f->types[v->values[operand] & VM_REGISTER];
}

static const struct vm_type *look(const struct verifier *v, uint32_t operand)
{
    return &v->p->types.at[type_of(v, operand)];
}

static bt_status same(const struct verifier *v, uint32_t a, uint32_t b)
{
    return a == b ? NULL : fail(v, "a value of another type");
}

/* The items of a list at `first`, behind their number, against types. */
static bt_status check_items(const struct verifier *v, uint32_t first, uint32_t n,
                             const uint32_t *types)
{
    if (v->values[first] != n)
        return fail(v, "another number of values");
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(same(v, type_of(v, first + 1 + i), types[i]));
    return NULL;
}

/* `skip` parameters are not in the list. */
static bt_status check_params(const struct verifier *v, const struct vm_function *f,
                              uint32_t skip, uint32_t first)
{
    if (v->values[first] != f->nparam - skip)
        return fail(v, "another number of values");
    for (uint32_t i = 0; i < v->values[first]; i++)
        BT_TRY(same(v, type_of(v, first + 1 + i), f->types[f->params[i + skip]]));
    return NULL;
}

static bt_status check_term(const struct verifier *v, const struct vm_term *term)
{
    for (uint32_t k = 0; term->open && k < term->open->n; k++) {
        if (term->open->dims[k] >= v->f->ndim)
            return fail(v, "a dim that the function does not have");
    }
    return NULL;
}

static bt_status check_dims(const struct verifier *v, const struct vm_list *list,
                            const struct vm_function *f)
{
    for (uint32_t i = 0; i < list->n; i++)
        BT_TRY(check_term(v, &list->terms[i]));
    return !list->n || (f && list->n == f->nvar) ? NULL
                                                 : fail(v, "another number of dims");
}

static bt_status check_shape(const struct verifier *v, const struct vm_shape *shape,
                             uint32_t type)
{
    const struct vm_type *t = &v->p->types.at[type];
    BT_TRY(same(v, shape->type_number, type));
    if (shape->rank
            ? t->kind != VM_TYPE_TENSOR || t->rank != shape->rank
            : shape->nfield && (t->kind != VM_TYPE_TUPLE || t->n != shape->nfield))
        return fail(v, "a shape of another type");
    for (uint32_t i = 0; i < shape->rank; i++)
        BT_TRY(check_term(v, &shape->axes[i]));
    for (uint32_t i = 0; i < shape->nfield; i++)
        BT_TRY(check_shape(v, &shape->fields[i], t->at[i]));
    return NULL;
}

/* ---- instructions ---- */

static bt_status check_const(const struct verifier *v)
{
    return v->values[0] < v->f->nobject
               ? same(v, type_of(v, 0), v->p->consts[v->values[1]].type)
               : fail(v, "an object in a scalar register");
}

/* What a row of scalars.def takes. */
static const struct {
    uint32_t narg;
    const char *classes, *result;
} rows[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    { narg, #classes, #result },
#include <baton/scalars.def>
};

static bt_status check_scalar(const struct verifier *v)
{
    const struct vm_scalar *row = &v->p->scalars[v->values[1]];
    const uint32_t narg = v->d.code == VM_SCALAR1 ? 1 : 2;
    const uint32_t class_ = BT_DTYPE_CLASS(row->dtype);
    const char letter = class_ == BT_CLASS_BOOL         ? 'B'
                        : bt_dtype_is_float(row->dtype) ? 'F'
                                                        : 'I';
    if (row->which >= BT_COUNT(rows) || rows[row->which].narg != narg ||
        !bt_dtype_is_stored(row->dtype) || !strchr(rows[row->which].classes, letter))
        return fail(v, "an operator that does not take this");
    for (uint32_t i = 0; i < narg; i++) {
        if (look(v, 2 + i)->dtype != row->dtype)
            return fail(v, "a value of another type");
    }
    if (v->values[0] < v->f->nobject ||
        look(v, 0)->dtype !=
            (strcmp(rows[row->which].result, "SAME") == 0 ? row->dtype : BT_BOOL))
        return fail(v, "a result of another type");
    return NULL;
}

static bt_status check_closure(const struct verifier *v)
{
    const struct vm_function *f = v->p->functions[v->values[1]];
    const struct vm_type *type = look(v, 0);
    const uint32_t ncapture = v->values[3];
    if (type->kind != VM_TYPE_FUNC || f->nparam < ncapture ||
        type->n != f->nparam - ncapture + 1)
        return fail(v, "a closure of another type");
    for (uint32_t i = 0; i < f->nparam; i++)
        BT_TRY(same(v, f->types[f->params[i]],
                    i < ncapture ? type_of(v, 4 + i) : type->at[i - ncapture]));
    BT_TRY(check_dims(v, &v->p->lists[v->values[2]], f));
    return same(v, f->result, type->at[type->n - 1]);
}

static bt_status check_call(const struct verifier *v)
{
    const uint32_t is_tail = v->d.code == VM_TAIL_CALL;
    const uint32_t at = is_tail ? 0 : 1;
    const struct vm_function *f = v->p->functions[v->values[at]];
    BT_TRY(check_dims(v, &v->p->lists[v->values[at + 1]], f));
    BT_TRY(check_params(v, f, 0, at + 2));
    return same(v, f->result, is_tail ? v->f->result : type_of(v, 0));
}

static bt_status check_call_closure(const struct verifier *v)
{
    const uint32_t is_tail = v->d.code == VM_TAIL_CLOSURE;
    const uint32_t at = is_tail ? 0 : 1;
    const struct vm_type *type = look(v, at);
    if (type->kind != VM_TYPE_FUNC)
        return fail(v, "a call of what is no function");
    BT_TRY(check_items(v, at + 1, type->n - 1, type->at));
    return same(v, type->at[type->n - 1], is_tail ? v->f->result : type_of(v, 0));
}

static bt_status check_ctor_field(const struct verifier *v)
{
    const struct vm_ctor *ctor = &v->p->ctors[v->values[2]];
    BT_TRY(same(v, type_of(v, 1), ctor->type));
    return v->values[3] < ctor->ctor->nfield
               ? same(v, type_of(v, 0), ctor->fields[v->values[3]])
               : fail(v, "a field that there is not");
}

static bt_status check_field(const struct verifier *v)
{
    const struct vm_type *type = look(v, 1);
    return type->kind == VM_TYPE_TUPLE && v->values[2] < type->n
               ? same(v, type_of(v, 0), type->at[v->values[2]])
               : fail(v, "a field that there is not");
}

static bt_status check_ref(const struct verifier *v)
{
    const struct vm_type *ref = look(v, v->d.code == VM_REF ? 0 : 1);
    if (ref->kind != VM_TYPE_REF)
        return fail(v, "a reference that is none");
    if (v->d.code == VM_REF_SET && (look(v, 0)->kind != VM_TYPE_TUPLE || look(v, 0)->n))
        return fail(v, "a result of another type");
    return same(v, ref->at[0],
                type_of(v, v->d.code == VM_REF       ? 1
                           : v->d.code == VM_REF_GET ? 0
                                                     : 2));
}

static bt_status check_select(const struct verifier *v)
{
    if (look(v, 1)->dtype != BT_BOOL)
        return fail(v, "a condition that is no bool");
    BT_TRY(same(v, type_of(v, 0), type_of(v, 2)));
    return same(v, type_of(v, 0), type_of(v, 3));
}

static bt_status check_operator(const struct verifier *v)
{
    const struct vm_operator *row = &v->p->operators[v->values[1]];
    BT_TRY(same(v, type_of(v, 0), row->type));
    return check_items(v, 2, row->call->narg, row->args);
}

/* A row is of a tensor of this type. */
static bt_status check_memory(const struct verifier *v)
{
    const struct vm_shape *shape = &v->p->shapes[v->values[1]];
    const struct vm_type *type = look(v, 0);
    BT_TRY(same(v, type_of(v, 0), shape->type_number));
    if (type->kind != VM_TYPE_TENSOR || type->rank != shape->rank || shape->nfield)
        return fail(v, "a tensor of another type");
    for (uint32_t i = 0; i < shape->rank; i++)
        BT_TRY(check_term(v, &shape->axes[i]));
    return v->d.code == VM_TENSOR || (look(v, 2)->kind <= VM_TYPE_TENSOR &&
                                      look(v, 2)->dtype == type->dtype)
               ? NULL
               : fail(v, "a view of another type");
}

static bt_status check_own(const struct verifier *v)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (look(v, i)->kind != VM_TYPE_TENSOR)
            return fail(v, "what is no tensor");
    }
    return look(v, 0)->dtype == look(v, 1)->dtype && look(v, 0)->rank == look(v, 1)->rank
               ? NULL
               : fail(v, "a tensor of another type");
}

static int is_area(const struct verifier *v, uint32_t operand)
{
    return (v->values[operand] & (VM_AREA | VM_PLAIN)) == VM_AREA;
}

/* 0: no tensor. */
static bt_dtype dtype_of(const struct verifier *v, uint32_t operand)
{
    const uint32_t place = v->values[operand], number = place & VM_NUMBER;
    if (is_area(v, operand))
        return v->f->areas[number].dtype;
    if (place & VM_PLAIN)
        return v->p->consts[number].plain->dtype;
    return look(v, operand)->kind > VM_TYPE_TENSOR ? 0 : look(v, operand)->dtype;
}

static uint32_t space_of(const struct verifier *v, uint32_t operand)
{
    return is_area(v, operand)
               ? v->f->storages[v->f->areas[v->values[operand] & VM_NUMBER].storage].space
               : 0;
}

/* Bytes that a place is known to have; UINT64_MAX: the run will know. */
static uint64_t size_of(const struct verifier *v, uint32_t operand)
{
    const uint32_t place = v->values[operand], number = place & VM_NUMBER;
    if (place & VM_PLAIN)
        return bt_tensor_nbytes(v->p->consts[number].plain);
    return is_area(v, operand) && v->f->is_settled
               ? (uint64_t)v->f->areas[number].nbytes.number
               : UINT64_MAX;
}

/* Constants and scalars are not written. */
static int is_writable(const struct verifier *v, uint32_t operand)
{
    const uint32_t place = v->values[operand];
    return is_area(v, operand) ||
           (!(place & VM_PLAIN) && (place & VM_REGISTER) < v->f->nobject);
}

static bt_status check_load(const struct verifier *v)
{
    if (v->values[0] < v->f->nobject)
        return fail(v, "a scalar in an object");
    return look(v, 0)->dtype == dtype_of(v, 1) && !space_of(v, 1)
               ? NULL
               : fail(v, "a tensor of another type, or in memory of a target");
}

static bt_status check_copy(const struct verifier *v)
{
    const uint32_t from = space_of(v, 1), to = space_of(v, 2);
    if (!dtype_of(v, 1) || dtype_of(v, 1) != dtype_of(v, 2) || !is_writable(v, 2))
        return fail(v, "a tensor of another type, or one that cannot be written");
    return (from == v->values[0] || !from) && (to == v->values[0] || !to) &&
                   (from || to || !v->values[0])
               ? NULL
               : fail(v, "memory of another target");
}

/* Once, where every way comes along; what is known of sizes now is compared now. */
static bt_status check_frame(struct verifier *v)
{
    const struct vm_function *f = v->f;
    if (v->has_frame || v->has_branch)
        return fail(v, "memory is got twice, or behind a branch");
    v->has_frame = 1;
    for (uint32_t i = 0; i < f->nstorage; i++) {
        if (f->storages[i].space > (v->p->compiled ? v->p->compiled->ntarget : 0) ||
            (f->storages[i].space &&
             !v->p->compiled->targets[f->storages[i].space - 1]->space))
            return fail(v, "memory that no target has");
        BT_TRY(check_term(v, &f->storages[i].nbytes));
        if (f->is_settled &&
            (f->storages[i].nbytes.open || f->storages[i].nbytes.number < 0))
            return fail(v, "a size that is negative, or that dims have a part in");
    }
    for (uint32_t i = 0; i < f->narea; i++) {
        const struct vm_area *area = &f->areas[i];
        if (area->storage >= f->nstorage)
            return fail(v, "an area of no storage");
        BT_TRY(check_term(v, &area->offset));
        BT_TRY(check_term(v, &area->nbytes));
        if (!f->is_settled)
            continue; // the machine compares them whenever it gets the memory
        const int64_t have = f->storages[area->storage].nbytes.number,
                      offset = area->offset.number, nbytes = area->nbytes.number;
        if (area->offset.open || area->nbytes.open || offset < 0 || nbytes < 0 ||
            offset % 64 || v->f->spots[i].storage != area->storage ||
            v->f->spots[i].offset != offset || offset > have || nbytes > have - offset)
            return fail(v, "an area that does not lie in its storage");
    }
    return NULL;
}

/* Machine code is trusted, and so is what it says of its buffers. */
static bt_status check_kernel(const struct verifier *v)
{
    const struct vm_launch *row = &v->p->launches[v->values[0]];
    if (!v->p->compiled || row->kernel >= v->p->compiled->nkernel ||
        v->values[1] != row->nbuffer + row->has_workspace)
        return fail(v, "a kernel of another number of buffers");
    for (uint32_t i = 0; i < v->values[1]; i++) {
        if (!dtype_of(v, 2 + i))
            return fail(v, "a buffer that is no tensor");
        if (i >= row->nread && !is_writable(v, 2 + i))
            return fail(v, "a scalar or a constant that a kernel writes");
        if (space_of(v, 2 + i) != row->space && !(v->values[2 + i] & VM_PLAIN))
            return fail(v, "a buffer in memory that is not its target's");
        BT_TRY(check_term(v, &row->nbytes[i]));
        if (row->is_settled && size_of(v, 2 + i) != UINT64_MAX &&
            size_of(v, 2 + i) != (uint64_t)row->nbytes[i].number)
            return fail(v, "a buffer of another size than its kernel states");
    }
    for (uint32_t i = 0; i < row->ndim; i++)
        BT_TRY(check_term(v, &row->dims[i]));
    return NULL;
}

static bt_status check_types(struct verifier *v)
{
    const struct vm_type *type;
    switch (v->d.code) {
    case VM_MOVE: return same(v, type_of(v, 0), type_of(v, 1));
    case VM_RET: return same(v, type_of(v, 0), v->f->result);
    case VM_CALL:
    case VM_TAIL_CALL: return check_call(v);
    case VM_CALL_CLOSURE:
    case VM_TAIL_CLOSURE: return check_call_closure(v);
    case VM_CONST: return check_const(v);
    case VM_CELL:
    case VM_CAST:
        return v->values[0] >= v->f->nobject ? NULL : fail(v, "a scalar in an object");
    case VM_SCALAR1:
    case VM_SCALAR2: return check_scalar(v);
    case VM_SELECT: return check_select(v);
    case VM_TUPLE:
        type = look(v, 0);
        return type->kind == VM_TYPE_TUPLE ? check_items(v, 1, type->n, type->at)
                                           : fail(v, "a tuple of another type");
    case VM_ADT: {
        const struct vm_ctor *ctor = &v->p->ctors[v->values[1]];
        BT_TRY(same(v, type_of(v, 0), ctor->type));
        return check_items(v, 2, ctor->ctor->nfield, ctor->fields);
    }
    case VM_CLOSURE: return check_closure(v);
    case VM_FIELD: return check_field(v);
    case VM_CTOR_FIELD: return check_ctor_field(v);
    case VM_IF:
        return look(v, 0)->dtype == BT_BOOL ? NULL
                                            : fail(v, "a condition that is no bool");
    case VM_SWITCH:
        type = look(v, 0);
        return type->kind == VM_TYPE_DATA && v->values[1] == type->def->nctor
                   ? NULL
                   : fail(v, "a switch that does not have each constructor");
    case VM_FATAL:
        return look(v, 0)->kind == VM_TYPE_DATA ? NULL : fail(v, "data of another type");
    case VM_REF:
    case VM_REF_GET:
    case VM_REF_SET: return check_ref(v);
    case VM_OPERATE: return check_operator(v);
    case VM_TENSOR:
    case VM_VIEW: return check_memory(v);
    case VM_FRAME: return check_frame(v);
    case VM_OWN: return check_own(v);
    case VM_COPY: return check_copy(v);
    case VM_LOAD: return check_load(v);
    case VM_KERNEL: return check_kernel(v);
    case VM_DIMS:
    case VM_SHAPE: return check_shape(v, &v->p->shapes[v->values[0]], type_of(v, 1));
    case VM_CHECK:
        BT_TRY(check_term(v, &v->p->checks[v->values[0]].left));
        return check_term(v, &v->p->checks[v->values[0]].right);
    case VM_HOLDS:
        for (uint32_t i = 0; i < v->p->contents[v->values[0]].n; i++)
            BT_TRY(check_term(v, &v->p->contents[v->values[0]].terms[i]));
        return NULL;
    default: return NULL; // kill, goto: their operands say all
    }
}

static bt_status check_instruction(struct verifier *v, uint32_t pc)
{
    struct vm_operand operand;
    v->d.pc = pc;
    v->d.code = VM_COUNT;
    if (!vm_decode(&v->d, v->f->words, v->f->nword, pc))
        return fail(v, "no instruction");
    v->is_start[pc] = 1;
    v->n = 0;
    v->has_branch |= strchr(vm_instructions[v->d.code].operands, 'j') ||
                     strchr(vm_instructions[v->d.code].operands, 'J');
    while (vm_decode_operand(&v->d, &operand)) {
        BT_TRY(check_operand(v, &operand));
        v->values[v->n++] = operand.value;
    }
    if (*v->d.kinds || v->d.left)
        return fail(v, "the words end inside it");
    if (v->d.next == v->f->nword && !vm_instructions[v->d.code].ends)
        return fail(v, "the function ends behind it");
    return check_types(v);
}

static bt_status check_function(struct verifier *v)
{
    v->is_start = BT_NEWS(bt_ctx_scratch(v->ctx), uint8_t, v->f->nword);
    v->is_aim = BT_NEWS(bt_ctx_scratch(v->ctx), uint8_t, v->f->nword);
    v->values = BT_NEWS(bt_ctx_scratch(v->ctx), uint32_t, (size_t)v->f->nword + 4);
    if (!v->is_start || !v->is_aim || !v->values)
        return bt_no_memory();
    v->d = (struct vm_decoder){ .code = VM_COUNT };
    if (!v->f->nword || v->f->nobject > v->f->nreg)
        return fail(v, "a function without instructions, or with wrong registers");
    for (uint32_t i = 0; i < v->f->nreg; i++) {
        if (v->f->types[i] >= v->p->types.n ||
            vm_type_is_scalar(&v->p->types, v->f->types[i]) != (i >= v->f->nobject))
            return fail(v, "a register of a wrong type");
    }
    for (uint32_t i = 0; i < v->f->nparam; i++) {
        if (v->f->params[i] >= v->f->nreg)
            return fail(v, "a parameter that is no register");
    }
    for (uint32_t pc = 0; pc < v->f->nword; pc = v->d.next)
        BT_TRY(check_instruction(v, pc));
    for (uint32_t i = 0; i < v->f->nword; i++) {
        if (v->is_aim[i] && !v->is_start[i])
            return fail(v, "a jump into the middle of an instruction");
    }
    return NULL;
}

bt_status vm_verify(bt_ctx *ctx, const struct vm_program *p)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < p->nfunction; i++) {
        struct verifier v = { .ctx = ctx, .p = p, .f = p->functions[i] };
        status = check_function(&v);
    }
    bt_arena_release(scratch, mark);
    return status;
}
