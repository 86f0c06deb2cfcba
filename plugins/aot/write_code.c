/*
 * Functions with branches: their bytecode, an instruction after the other, as C.
 *
 *     object register   struct object *v3, which holds one reference
 *     scalar register   int64_t n4, double n5
 *     dim               int64_t d0
 *     jump              goto, forward only
 *     tail call         of the function itself, or of one that calls it so: goto start
 *     closure           an object with the number of its function; a call of one switches
 */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "code.h"
#include "misfit.h"

/* ---- branches ---- */

static void add_switch(struct coder *c, const uint32_t *w)
{
    const uint32_t n = w[1];
    code_line(c, "switch (%s->tag) {", code_name(c, w[0] >> 8));
    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 < n)
            code_line(c, "case %" PRIu32 ":", i);
        else
            code_line(c, "default:");
        code_line(c, "    goto %sL%" PRIu32 ";", c->prefix, w[2 + i]);
    }
    code_line(c, "}");
}

/* A fault for each constructor that the value may have. */
static bt_status add_fatal(struct coder *c, uint32_t operand)
{
    const bt_match *match = bt_as_match(code_here(c));
    const bt_adt_def *def = code_type_of(c, operand)->def;
    uint32_t first = 0;
    for (uint32_t k = 0; k < def->nctor; k++) {
        uint32_t number;
        bt_text text;
        bt_text_init(&text, c->p->arena);
        misfit_text(match->otherwise, def->ctors[k]->name, def->ctors[k]->nfield, &text);
        if (!bt_text_get(&text))
            return bt_no_memory();
        BT_TRY(code_fault(c, code_here(c), text.at, &number));
        first = k ? first : number;
    }
    code_line(c, "fault = %" PRIu32 " + (int32_t)%s->tag;", first, code_name(c, operand));
    code_line(c, "goto done;");
    return NULL;
}

/* ---- scalars ---- */

static void add_scalar(struct coder *c, uint32_t dst, uint32_t row, const uint32_t *args,
                       uint32_t n)
{
    const struct c_operand a = code_scalar(c, args[0]), b = code_scalar(c, args[n - 1]);
    code_line(c, "%s = %s;", code_name(c, dst),
              c_scalar(&c->x, c->program->scalars[row].which, code_type_of(c, dst)->dtype,
                       &a, n > 1 ? &b : NULL));
}

static void add_cell(struct coder *c, const uint32_t *w)
{
    const bt_dtype dtype = code_type_of(c, w[0] >> 8)->dtype;
    bt_cell cell;
    cell.i = (int64_t)((uint64_t)w[2] << 32 | w[1]);
    code_line(c, "%s = %s;", code_name(c, w[0] >> 8),
              bt_dtype_is_float(dtype) ? c_real(&c->x, cell.f, dtype)
                                       : c_integer(&c->x, cell.i));
}

/* ---- functions ---- */

static bt_status add_instruction(struct coder *c, const uint32_t *w)
{
    const struct vm_program *p = c->program;
    const uint32_t first = w[0] >> 8;
    struct c_operand from;
    switch (w[0] & 0xff) {
    case VM_MOVE:
        code_line(c, code_is_object(c->f, first) ? "obj_put(m, &%s, %s);" : "%s = %s;",
                  code_name(c, first),
                  code_is_object(c->f, first) ? code_reference(c, w[1])
                                              : code_name(c, w[1]));
        return NULL;
    case VM_KILL:
        code_line(c, "obj_put(m, &%s, NULL);", code_name(c, first));
        return NULL;
    case VM_RET:
        code_line(c, "*out = %s;",
                  code_is_object(c->f, first) ? code_reference(c, first)
                                              : code_name(c, first));
        code_line(c, "goto done;");
        return NULL;
    case VM_CALL:
        return code_call(c, first, code_function_name(c, p->functions[w[1]]), NULL,
                         &p->lists[w[2]], p->functions[w[1]]->nvar, w[3], w + 4);
    case VM_TAIL_CALL:
        if (c->groups[first] == c->groups[c->number])
            return code_again(c, first, &p->lists[w[1]], w[2], w + 3);
        return code_call(c, UINT32_MAX, code_function_name(c, p->functions[first]), NULL,
                         &p->lists[w[1]], p->functions[first]->nvar, w[2], w + 3);
    case VM_CALL_CLOSURE:
        return code_call(c, first, FORM("apply%" PRIu32, c->f->types[w[1] & VM_REGISTER]),
                         &w[1], NULL, 0, w[2], w + 3);
    case VM_TAIL_CLOSURE:
        return code_call(c, UINT32_MAX,
                         FORM("apply%" PRIu32, c->f->types[first & VM_REGISTER]), &first,
                         NULL, 0, w[1], w + 2);
    case VM_CONST:
        BT_TRY(code_constant(c, p->consts[w[1]].object, "o", 0));
        code_put(c, first);
        return NULL;
    case VM_CELL: add_cell(c, w); return NULL;
    case VM_SCALAR1: add_scalar(c, first, w[1], w + 2, 1); return NULL;
    case VM_SCALAR2: add_scalar(c, first, w[1], w + 2, 2); return NULL;
    case VM_CAST:
        from = code_scalar(c, w[1]);
        code_line(c, "%s = %s;", code_name(c, first),
                  c_cast(&c->x, code_type_of(c, first)->dtype, &from));
        return NULL;
    case VM_SELECT:
        code_line(c, "%s = %s ? %s : %s;", code_name(c, first), code_name(c, w[1]),
                  code_name(c, w[2]), code_name(c, w[3]));
        return NULL;
    case VM_TUPLE: code_fields(c, first, 0, 0, w[1], w + 2); return NULL;
    case VM_ADT:
        code_fields(c, first, p->ctors[w[1]].ctor->tag, 0, w[2], w + 3);
        return NULL;
    case VM_CLOSURE: return code_closure(c, w);
    case VM_FIELD: code_part(c, first, w[1], w[2]); return NULL;
    case VM_CTOR_FIELD: code_part(c, first, w[1], w[3]); return NULL;
    case VM_IF:
        code_line(c, "if (!%s)", code_name(c, first));
        code_line(c, "    goto %sL%" PRIu32 ";", c->prefix, w[1]);
        return NULL;
    case VM_GOTO: code_line(c, "goto %sL%" PRIu32 ";", c->prefix, first); return NULL;
    case VM_SWITCH: add_switch(c, w); return NULL;
    case VM_FATAL: return add_fatal(c, first);
    case VM_REF: code_fields(c, first, 0, 0, 1, w + 1); return NULL;
    case VM_REF_GET: code_part(c, first, w[1], 0); return NULL;
    case VM_REF_SET: code_ref_set(c, w); return NULL;
    case VM_OPERATE: return code_plain(c, w);
    case VM_TENSOR: return code_tensor(c, w, NULL);
    case VM_VIEW: return code_tensor(c, w, code_reference(c, w[2]));
    case VM_OWN: code_own(c, w); return NULL;
    case VM_FRAME: return code_frame(c);
    case VM_COPY: return code_copy(c, w);
    case VM_LOAD: return code_load(c, w);
    case VM_KERNEL: return code_kernel(c, &p->launches[first], w[1], w + 2);
    case VM_DIMS: return code_show(c, &p->shapes[first], code_name(c, w[1]), 0);
    case VM_SHAPE:
        BT_TRY(code_show(c, &p->shapes[first], code_name(c, w[1]), 0));
        return code_show(c, &p->shapes[first], code_name(c, w[1]), 1);
    case VM_CHECK: return code_check(c, &p->checks[first]);
    case VM_HOLDS: return code_contents(c, &p->contents[first], w[1]);
    default:
        return code_refuse(c, code_here(c), "an instruction that no C is written for");
    }
}

/* Words that jumps go to. */
static bt_status find_labels(struct coder *c, uint8_t **out)
{
    struct vm_decoder d;
    struct vm_operand operand;
    uint8_t *labels = BT_NEWS(c->p->arena, uint8_t, c->f->nword);
    if (!labels)
        return bt_no_memory();
    for (uint32_t pc = 0; vm_decode(&d, c->f->words, c->f->nword, pc); pc = d.next) {
        while (vm_decode_operand(&d, &operand)) {
            if (operand.kind == 'j')
                labels[operand.value] = 1;
        }
    }
    *out = labels;
    return NULL;
}

/* Registers that are no parameters; what not every program reads. */
static void declare_registers(struct coder *c)
{
    const struct vm_function *f = c->f;
    for (uint32_t i = 0; i < f->nreg; i++) {
        int is_param = 0;
        for (uint32_t k = 0; k < f->nparam; k++)
            is_param |= f->params[k] == i;
        if (!is_param)
            code_line(c, "%s%s = %s;", code_declared(c, f, i), code_name(c, i),
                      code_is_object(f, i) ? "NULL" : "0");
    }
    for (uint32_t i = f->nvar; i < f->ndim; i++)
        code_line(c, "int64_t %sd%" PRIu32 " = UNKNOWN;", c->prefix, i);
    for (uint32_t i = 0; i < f->nstorage; i++)
        code_line(c, "unsigned char *%ss%" PRIu32 " = NULL;", c->prefix, i);
    for (uint32_t i = f->nobject; i < f->nreg; i++)
        code_line(c, "(void)%s;", code_name(c, i));
    for (uint32_t i = 0; i < f->ndim; i++)
        code_line(c, "(void)%sd%" PRIu32 ";", c->prefix, i);
}

/* Makes a function the one that is written. */
static bt_status enter(struct coder *c, uint32_t number)
{
    const struct vm_function *f = c->program->functions[number];
    c->f = f;
    c->number = number;
    c->prefix = code_prefix(c, number);
    c->dims = BT_NEWS(c->p->arena, const char *, f->ndim);
    if (!c->dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < f->ndim; i++)
        c->dims[i] = FORM("%sd%" PRIu32, c->prefix, i);
    c->p->names = (struct c_dim_names){ f->ndim, f->dims, c->dims };
    return NULL;
}

static bt_status add_instructions(struct coder *c)
{
    const struct vm_function *f = c->f;
    struct vm_decoder d;
    struct vm_operand operand;
    uint8_t *labels;
    BT_TRY(find_labels(c, &labels));
    for (uint32_t pc = 0; vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
        c->pc = pc;
        if (labels[pc])
            bt_text_addf(c->out, "%sL%" PRIu32 ":;\n", c->prefix, pc);
        BT_TRY(add_instruction(c, f->words + pc));
        while (vm_decode_operand(&d, &operand))
            ;
    }
    return NULL;
}

/* Behind the instructions. */
static void add_end(struct coder *c, int has_frame, int has_o)
{
    bt_text_addf(c->out, "done:\n");
    code_line(c, "m->depth--;");
    if (has_frame)
        code_line(c, "m->end = top;");
    for (uint32_t k = 0; k < c->program->nfunction; k++) {
        if (c->groups[k] != c->groups[c->number])
            continue;
        const char *prefix = code_prefix(c, k);
        for (uint32_t i = 0; i < c->program->functions[k]->nobject; i++)
            code_line(c, "obj_drop(m, %sv%" PRIu32 ");", prefix, i);
    }
    if (has_o)
        code_line(c, "obj_drop(m, o);");
    code_line(c, "return fault;");
    bt_text_addf(c->out, "}\n\n");
}

/* The functions of a group: one of C, which a member that is not alone jumps into. */
static bt_status add_group(struct coder *c, uint32_t group)
{
    bt_text body, *all = c->out;
    const int is_alone = code_is_alone(c, group);
    int has_frame = 0;
    if (is_alone)
        code_head(c, c->program->functions[group]);
    else
        code_tails_head(c, group);
    bt_text_addf(all, "\n{\n");
    bt_text_init(&body, c->p->arena);
    for (uint32_t k = 0; k < c->program->nfunction; k++) {
        if (c->groups[k] != group)
            continue;
        BT_TRY(enter(c, k));
        declare_registers(c);
        has_frame |= c->f->nstorage > 0;
        c->out = &body;
        bt_text_addf(&body, "%sstart:;\n", c->prefix);
        BT_TRY(add_instructions(c));
        c->out = all;
    }
    const char *text = bt_text_get(&body);
    if (!text)
        return bt_no_memory();
    const int has_o = strstr(text, "o = ") || strstr(text, "&o)");
    const char *first =
        is_alone && !strstr(text, "goto start;") ? text + strlen("start:;\n") : text;
    if (has_frame)
        code_line(c, "unsigned char *const top = m->end;");
    if (has_o)
        code_line(c, "struct object *o = NULL;");
    code_line(c, "int32_t fault = 0;");
    code_line(c, "(void)out;");
    code_line(c, "if (m->depth++ >= m->most) {");
    code_line(c, "    fault = FAULT_DEPTH;");
    code_line(c, "    goto done;");
    code_line(c, "}");
    for (uint32_t k = 0; k < c->program->nfunction && !is_alone; k++) {
        if (c->groups[k] == group) {
            code_line(c, "if (which == %" PRIu32 ")", k);
            code_line(c, "    goto %sstart;", code_prefix(c, k));
        }
    }
    bt_text_add(all, first, strlen(first));
    add_end(c, has_frame, has_o);
    c->prefix = "";
    for (uint32_t k = 0; k < c->program->nfunction && !is_alone; k++) {
        if (c->groups[k] == group && c->is_called[k])
            code_tails_member(c, k);
    }
    return NULL;
}

/* ---- which functions ---- */

/* Marks what a function reaches; whether that was anything new. */
static int mark(struct coder *c, const struct vm_function *f)
{
    int is_new = 0;
    struct vm_decoder d;
    struct vm_operand operand;
#define MARK(what) is_new |= !(what), (what) = 1
    for (uint32_t pc = 0; vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
        const uint32_t *w = f->words + pc;
        switch (d.code) {
        case VM_CALL: MARK(c->is_reached[w[1]]); break;
        case VM_TAIL_CALL: MARK(c->is_reached[w[0] >> 8]); break;
        case VM_CLOSURE: MARK(c->is_closed[w[1]]); break;
        case VM_CALL_CLOSURE: MARK(c->is_applied[f->types[w[1] & VM_REGISTER]]); break;
        case VM_TAIL_CLOSURE:
            MARK(c->is_applied[f->types[w[0] >> 8 & VM_REGISTER]]);
            break;
        default: break;
        }
        while (vm_decode_operand(&d, &operand))
            ;
    }
    for (uint32_t i = 0; i < c->program->nfunction; i++) {
        for (uint32_t k = 0; c->is_closed[i] && k < c->program->types.n; k++) {
            if (c->is_applied[k] && code_may_be(c, c->program->functions[i], k))
                MARK(c->is_reached[i]);
        }
    }
#undef MARK
    return is_new;
}

bt_status code_find_reached(struct coder *c)
{
    int is_new = 1;
    c->is_reached = BT_NEWS(c->p->arena, uint8_t, c->program->nfunction);
    c->is_closed = BT_NEWS(c->p->arena, uint8_t, c->program->nfunction);
    c->is_applied = BT_NEWS(c->p->arena, uint8_t, c->program->types.n);
    if (!c->is_reached || !c->is_closed || !c->is_applied)
        return bt_no_memory();
    c->is_reached[0] = 1;
    while (is_new) {
        is_new = 0;
        for (uint32_t i = 0; i < c->program->nfunction; i++) {
            if (c->is_reached[i])
                is_new |= mark(c, c->program->functions[i]);
        }
    }
    return NULL;
}

/* ---- all ---- */

/* Programs of values compute scalars by themselves, in elements of whole bytes. */
static bt_status refuse_packed(const struct plan *p)
{
    char name[BT_DTYPE_NAME_SIZE];
    for (uint32_t i = 0; i < p->program->types.n; i++) {
        const struct vm_type *type = &p->program->types.at[i];
        if (type->kind == VM_TYPE_SCALAR && bt_dtype_is_packed(type->dtype))
            return bt_fail_at(p->ctx, BT_ERR_UNSUPPORTED, p->program->module->store,
                              p->entry->func->span,
                              "aot: a scalar of %s in a program with branches, calls, "
                              "data types or sizes found as it runs: executor vm runs it",
                              bt_dtype_name(type->dtype, name, sizeof(name)));
    }
    return NULL;
}

bt_status write_code(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    const struct vm_program *program = p->program;
    bt_text body;
    struct coder coder = {
        .o = o, .p = p, .program = program, .out = &body, .prefix = ""
    };
    struct coder *c = &coder;
    BT_TRY(refuse_packed(p));
    bt_text_init(&body, p->arena);
    if (!c_functions_init(&c->scalars, p->arena, c_function_blocks) ||
        !c_functions_init(&c->runtime, p->arena, runtime_blocks) ||
        !c_text_begin(&c->loops, p->arena, 0))
        return bt_no_memory();
    c->x = (struct c_exprs){ .arena = p->arena, .functions = &c->scalars };
    c->plain.arena = p->arena;
    BT_TRY(code_find_reached(c));
    BT_TRY(code_find_groups(c));
    for (uint32_t i = 0; i < program->nfunction; i++) {
        if (!c->is_reached[i] || !c->is_called[i])
            continue;
        code_head(c, program->functions[i]);
        bt_text_addf(&body, ";\n");
    }
    for (uint32_t i = 0; i < program->types.n; i++) {
        if (!c->is_applied[i])
            continue;
        code_apply_head(c, i);
        bt_text_addf(&body, ";\n");
    }
    bt_text_addf(&body, "\n");
    for (uint32_t i = 0; i < program->types.n; i++) {
        if (c->is_applied[i])
            code_apply(c, i);
    }
    for (uint32_t i = 0; i < program->nfunction; i++) {
        if (c->is_reached[i] && c->groups[i] == i)
            BT_TRY(add_group(c, i));
    }
    BT_TRY(code_entry(c));
    BT_TRY(write_bound(o, &body));
    const char *text = bt_text_get(&body);
    if (!text || c->x.failed)
        return bt_no_memory();
    for (uint32_t i = 0; p->has_values && value_blocks[i]; i++)
        c_functions_use_in(&c->runtime, value_blocks[i]);
    c_functions_use_in(&c->runtime, text);
    for (uint32_t i = 0; i < c->runtime.n; i++)
        c->runtime.is_used[i] |= !c->runtime.names[i] && strstr(runtime_blocks[i], "};");
    if (p->has_values)
        values_names(p, out);
    bt_text_addf(
        out,
        "#define UNKNOWN INT64_MIN\n\nenum { FAULT_WORKSPACE = %d, FAULT_MEMORY = %d, "
        "FAULT_DEPTH, FAULT_SHAPE, FAULT_NEGATIVE, FAULT_LARGE };\nenum { LARGER = %d "
        "};\n",
        FAULT_WORKSPACE, FAULT_CHECK, p->bound.is_known ? 0 : 8);
    c_plain_use_in(&c->plain, &c->scalars);
    for (uint32_t i = 0; i < c->scalars.n; i++)
        c->scalars.is_used[i] |= c->loops.functions.is_used[i];
    c_functions_write(&c->scalars, out);
    c_functions_write(&c->runtime, out);
    c_plain_write(&c->plain, out);
    bt_text_add(out, c->loops.kernels.at ? c->loops.kernels.at : "",
                c->loops.kernels.len);
    bt_text_addf(out, "\n");
    bt_text_add(out, text, body.len);
    return NULL;
}
