/*
 * What scenarios of failing memory share. A scenario is a piece of work; the driver
 * (fault.c) lets its n-th allocation fail, for every n, once and from then on:
 *
 *     begin   what the work needs; nothing fails
 *     run     the work: may fail at any allocation. It writes its result as text, so that
 *             results can be compared, and leaves nothing behind but caches of the
 *             registry
 *     end     frees what begin made
 *
 * All memory of Baton goes through the registry's hook and is seen. Outside it are
 * jansson (its allocator is the process's), dlopen and stdio.
 */
#ifndef FAULT_H
#define FAULT_H

#include <baton/ir.h>

#include "failing_allocator.h"

enum { FAULT_RESULT_NBYTES = 1 << 16 };

struct fault_world {
    struct failing_allocator allocator;
    const struct fault_scenario *scenario;
    bt_registry *registry;
    bt_ctx *ctx;
    bt_module *module; /* what begin made, and end frees */
    void *state;       /* the scenario's own, likewise */
    char result[FAULT_RESULT_NBYTES];
    size_t nresult;
};

struct fault_scenario {
    const char *name;
    bt_status (*begin)(struct fault_world *); /* NULL: nothing to prepare */
    bt_status (*run)(struct fault_world *);
    void (*end)(struct fault_world *); /* NULL: only `module` is freed */
    const char *input;                 /* for begin and run: a file, a name, a text */
    uint32_t code; /* of the error that run gives when nothing fails; 0: none */
    /* each failure has a registry of its own: what is cached fails too */
    uint32_t is_fresh;
    const char *plugins; /* folder; NULL: those of the build */
    uint32_t needs_file; /* 1: left out where the input is not there */
};

/* Lists of scenarios, a file each; a zero name ends one. */
extern const struct fault_scenario fault_text[], fault_passes[], fault_run[],
    fault_plugins[], fault_models[], fault_targets[], fault_artifact[];

/* Adds to the result. */
void fault_result(struct fault_world *, const char *text);
/* Adds what `write` writes of `what`. */
typedef bt_status fault_write_fn(struct fault_world *, const void *what, bt_text *out);
bt_status fault_result_of(struct fault_world *, fault_write_fn *write, const void *what);
fault_write_fn fault_write_module; /* a bt_module, as text */
/* A file below the tests or shared data, in memory of libc; fails the program if it
 * cannot be read. */
char *fault_read(const char *path, size_t *nbytes);

#endif
