/*
 * Instruction sets (isa.def). A source NAME.avx2.c or NAME.avx512.c is compiled for that set and
 * called only where the machine has it; every other source runs anywhere.
 */
#ifndef CPU_ISA_H
#define CPU_ISA_H

enum cpu_isa {
#define CPU_ISA(UPPER, lower, flags) CPU_ISA_##UPPER,
#include "isa.def"
    CPU_ISA_COUNT
};

/* The widest that this machine and its system run. */
enum cpu_isa cpu_isa_of_machine(void);
/* Before code of a set runs: 1, and this process may use it. 0: the machine has it not, or the system
 * refuses. AMX takes leave of the system, which it gives a process for good and which makes
 * its signal frames larger: it is asked for here alone, and costs nothing the next time. */
int cpu_isa_request(enum cpu_isa);
/* Whether this machine adds four products of bytes in one instruction with the registers of a set that
 * it runs. No set implies that: the instructions came later. */
int cpu_isa_multiplies_quads(enum cpu_isa);
/* As BATON_CPU and artifacts call it: "avx512". */
const char *cpu_isa_name(enum cpu_isa);
/* The reverse, for BATON_CPU; -1: no such name. */
int cpu_isa_find(const char *name);
/* What `wanted`, the value of BATON_CPU, names, if this machine runs it; else, as where it
 * is NULL, the widest. */
enum cpu_isa cpu_isa_chosen(const char *wanted);

#endif
