/* Programs and their words. */
#include "bytecode.h"

const struct vm_instruction vm_instructions[VM_COUNT] = {
#define VM_INSTRUCTION(UPPER, name, operands, ends, doc) { #name, operands, ends },
#include "instructions.def"
};

/* ---- words ---- */

int vm_decode(struct vm_decoder *d, const uint32_t *words, uint32_t nword, uint32_t pc)
{
    if (pc >= nword || (words[pc] & 0xff) >= VM_COUNT)
        return 0;
    *d = (struct vm_decoder){
        .words = words, .nword = nword, .pc = pc, .next = pc + 1, .code = words[pc] & 0xff
    };
    d->kinds = vm_instructions[d->code].operands;
    return 1;
}

/* The first operand shares its word with the number of the instruction. */
static int take(struct vm_decoder *d, struct vm_operand *out)
{
    if (!d->taken++) {
        out->value = d->words[d->pc] >> 8;
        out->at = d->pc;
        return 1;
    }
    if (d->next >= d->nword)
        return 0;
    out->at = d->next;
    out->value = d->words[d->next++];
    return 1;
}

int vm_decode_operand(struct vm_decoder *d, struct vm_operand *out)
{
    if (!d->left) {
        if (!*d->kinds)
            return 0;
        out->kind = *d->kinds;
        if (!take(d, out))
            return 0;
        d->kinds++;
        if (out->kind != 'R' && out->kind != 'J' && out->kind != 'Q')
            return 1;
        d->left = out->value;
        d->item = out->kind == 'R' ? 'r' : out->kind == 'Q' ? 'q' : 'j';
        if (d->left > d->nword - d->next)
            d->kinds = "R", d->left = 0; // the list ends beyond the words
        return 1;
    }
    out->kind = d->item;
    d->left--;
    return take(d, out);
}

const bt_value *vm_value_at(const struct vm_function *f, uint32_t pc)
{
    uint32_t low = 0, high = f->nsource;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (f->sources[middle].pc <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? f->sources[low - 1].value : NULL;
}

/* ---- programs ---- */

struct vm_program *vm_program_ref(struct vm_program *p)
{
    __atomic_add_fetch(&p->nref, 1, __ATOMIC_RELAXED);
    return p;
}

void vm_program_unref(struct vm_program *p)
{
    if (!p || __atomic_sub_fetch(&p->nref, 1, __ATOMIC_ACQ_REL))
        return;
    bt_registry *registry = p->registry;
    for (uint32_t i = 0; i < p->nconst; i++)
        bt_tensor_unref(p->consts[i].plain);
    bt_object_unref(p->identity ? &p->identity->base : NULL);
    bt_compiled_unref(p->compiled);
    bt_module_unref(p->module);
    bt_arena_destroy(p->arena);
    bt_registry_unref(registry);
}
