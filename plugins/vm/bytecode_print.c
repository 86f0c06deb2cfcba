/* Bytecode as text: what an instruction does is in its row of instructions.def. */
#include <inttypes.h>

#include <baton/graph.h>
#include <baton/op.h>

#include "bytecode.h"

static void print_operand(const struct vm_program *p, const struct vm_function *f,
                          const struct vm_operand *o, bt_text *out)
{
    const uint32_t reg = o->value & VM_REGISTER;
    switch (o->kind) {
    case 'd':
    case 'r':
    case 'v':
    case 'n':
        bt_text_addf(out, " %c%u%s", reg < f->nobject ? 'v' : 'n',
                     reg < f->nobject ? reg : reg - f->nobject,
                     o->value & VM_LAST ? "." : "");
        break;
    case 'f': bt_text_addf(out, " @%s", p->functions[o->value]->name); break;
    case 'c': bt_text_addf(out, " %s", p->ctors[o->value].ctor->name); break;
    case 's': bt_text_addf(out, " %s", bt_scalar_name(p->scalars[o->value].which)); break;
    case 'p': bt_text_addf(out, " %s", p->operators[o->value].call->op->name); break;
    case 'l':
        bt_text_addf(out, " %s",
                     p->compiled->kernels[p->launches[o->value].kernel]->name);
        break;
    case 'j': bt_text_addf(out, " ->%u", o->value); break;
    case 'y':
        if (o->value)
            bt_text_addf(out, " y%u", o->value);
        break;
    case 'q':
        if (o->value & VM_PLAIN)
            bt_text_addf(out, " k%u", o->value & VM_NUMBER);
        else if (o->value & VM_AREA)
            bt_text_addf(out, " m%u", o->value & VM_NUMBER);
        else
            print_operand(p, f, &(struct vm_operand){ .kind = 'r', .value = o->value },
                          out);
        break;
    case 'R':
    case 'Q':
    case 'J': break;
    case 'u': bt_text_addf(out, " %u", o->value); break;
    default: bt_text_addf(out, " %c%u", o->kind, o->value); break;
    }
}

/* Where in the source the code of a value begins; `width`: of the line so far. */
static void print_place(const struct vm_program *p, const struct vm_function *f,
                        uint32_t pc, size_t width, bt_text *out)
{
    const bt_value *value = vm_value_at(f, pc);
    bt_place place;
    if (!value || (pc && value == vm_value_at(f, pc - 1)))
        return;
    bt_span_place(p->module->store, value->span, &place);
    if (place.line)
        bt_text_addf(out, "%*s; %u:%u", width < 44 ? 46 - (int)width : 2, "", place.line,
                     place.column);
}

static void print_term(const struct vm_term *term, bt_text *out)
{
    if (term->open)
        bt_text_addf(out, "?");
    else
        bt_text_addf(out, "%" PRId64, term->number);
}

static void print_function(const struct vm_program *p, const struct vm_function *f,
                           bt_text *out)
{
    struct vm_decoder d;
    struct vm_operand operand;
    bt_text_addf(out, "@%s(", f->name);
    for (uint32_t i = 0; i < f->nparam; i++) {
        const struct vm_operand param = { .kind = 'r', .value = f->params[i] };
        print_operand(p, f, &param, out);
    }
    bt_text_addf(out, " )  objects %u, scalars %u, dims %u\n", f->nobject,
                 f->nreg - f->nobject, f->ndim);
    for (uint32_t i = 0; i < f->nreg; i++) {
        const struct vm_operand reg = { .kind = 'r', .value = i };
        bt_text_addf(out, "   ");
        print_operand(p, f, &reg, out);
        bt_text_addf(out, ": ");
        vm_type_print(&p->types, f->types[i], out);
        bt_text_addf(out, "\n");
    }
    for (uint32_t i = 0; i < f->narea; i++) {
        bt_text_addf(out, "    m%u: s%u + ", i, f->areas[i].storage);
        print_term(&f->areas[i].offset, out);
        bt_text_addf(out, ", ");
        print_term(&f->areas[i].nbytes, out);
        bt_text_addf(out, " bytes\n");
    }
    for (uint32_t pc = 0; vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
        const size_t begun = out->len;
        bt_text_addf(out, "%6u  %-12s", pc, vm_instructions[d.code].name);
        while (vm_decode_operand(&d, &operand))
            print_operand(p, f, &operand, out);
        print_place(p, f, pc, out->len - begun, out);
        bt_text_addf(out, "\n");
    }
}

void vm_disassemble(const struct vm_program *p, bt_text *out)
{
    for (uint32_t i = 0; i < p->nfunction; i++)
        print_function(p, p->functions[i], out);
}
