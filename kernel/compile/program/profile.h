/* What a program's runs are recorded in. */
#ifndef COMPILE_PROFILE_H
#define COMPILE_PROFILE_H

#include "compile/program/program.h"

struct bt__profile_row {
    const bt_value *value;        /* the first that belongs to it */
    const bt_compiled_func *func; /* NULL: a call of an operator */
    uint32_t kernel;              /* the last of its kernels */
    const char *name;
    uint64_t ncall, ns;
};

struct bt__profiler {
    bt_arena *arena; /* the profiler itself too */
    const bt_compiled *compiled;
    bt_map numbers; /* binding -> its row, from 1 */
    bt_vec(struct bt__profile_row) rows;
    bt_vec(bt_profile_event) events;
    bt_vec(bt_profile_dim) dims;
    bt_map functions; /* bt_func -> its calls */
    bt_vec(const char *) tracks;
    uint64_t begin_ns;
    uint64_t nleft_out; /* events that are not kept */
    uint32_t failed;    /* 1: there was no memory */
};

/* Counts the values that the entry's dims had in a run that went well. */
void bt__profiler_count(struct bt__profiler *, const bt_program *);
/* Of a run; NULL: nobody records or watches. */
const bt_run_hook *bt__program_hook(bt_program *);

void bt__profiler_destroy(struct bt__profiler *); /* accepts NULL */

#endif
