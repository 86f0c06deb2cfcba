/*
 * Code that fuzz_vm replaces, and the form of its inputs:
 *
 *     byte 0    low two bits: the form of what follows; above them the number of the program
 *     byte 1    the number of the function that gets this code
 *     then      form 0: its words, 4 bytes each, in the order of the machine
 *               form 1: instructions: a byte for each, then one for each operand
 *               else: edits of the function's own code: instruction, operand, value
 */
#ifndef FUZZ_VM_CODE_H
#define FUZZ_VM_CODE_H

#include "bytecode.h"
#include "vm_programs.h"

enum { VM_INPUT_HEAD = 2 };

static inline bt_status vm_encode_program(bt_ctx *ctx, uint32_t number,
                                          struct vm_program **out)
{
    const bt_global *entry;
    bt_compiled *compiled;
    BT_TRY(vm_compile_program(ctx, number, &compiled));
    bt_status status = bt_module_entry(ctx, compiled->module, "main", &entry);
    if (!status)
        status = vm_encode(ctx, compiled->module, compiled, entry, out);
    bt_compiled_unref(compiled);
    return status;
}

#endif
