/*
 * Runs a program that may take so many bytes more than it has once it is open:    budget MODEL NBYTES [SIZE]
 * SIZE: of each dim that has no number; 1 if not given. Inputs are zeros.
 * Build:    cc budget.c $(pkg-config --cflags --libs baton)      as for run.c
 *
 * bt_limits bounds what one tensor takes; an allocator that gives NULL beyond a budget bounds all of it.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/baton.h>

struct memory {
    atomic_size_t used, budget; /* threads of a run ask at once */
};

/* bt_allocator.realloc: what grows is counted before it is taken, what shrinks behind it. */
static void *counted_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    struct memory *memory = self;
    const size_t more = nbytes > old_nbytes ? nbytes - old_nbytes : 0;
    const size_t used = atomic_fetch_add(&memory->used, more) + more;
    void *given = NULL;
    if (nbytes == 0)
        free(pointer);
    else if (!more || used <= memory->budget)
        given = realloc(pointer, nbytes);
    if (nbytes && !given)
        atomic_fetch_sub(&memory->used, more);
    else if (nbytes < old_nbytes)
        atomic_fetch_sub(&memory->used, old_nbytes - nbytes);
    return given;
}

static bt_status set_inputs(bt_ctx *ctx, bt_program *program, int64_t size)
{
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        int64_t dims[BT_MAX_RANK];
        bt_tensor *tensor;
        for (int32_t k = 0; k < port->rank; k++)
            dims[k] = port->dims[k] < 0 ? size : port->dims[k];
        BT_TRY(bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank, dims, &tensor));
        bt_status status = bt_program_set_at(program, i, &tensor->base);
        bt_tensor_unref(tensor);
        BT_TRY(status);
    }
    return NULL;
}

static int tell(const char *what, bt_status status)
{
    printf("%s: %s\n", what, status ? status->message : "ok");
    return status != NULL;
}

int main(int argc, char **argv)
{
    struct memory memory = { 0, SIZE_MAX };
    const bt_allocator allocator = { &memory, counted_realloc };
    const bt_registry_options options = { .allocator = &allocator };
    if (argc < 3 || argc > 4)
        return fprintf(stderr, "usage: budget MODEL NBYTES [SIZE]\n"), 2;
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_program *program = NULL;
    bt_registry_unref(registry); /* the context holds it */
    if (!ctx)
        return 1;
    bt_status status = bt_program_open(ctx, argv[1], NULL, &program);
    if (!status)
        status = set_inputs(ctx, program, argc > 3 ? atoll(argv[3]) : 1);
    int code = tell("open", status);
    if (!code) {
        memory.budget = memory.used + (size_t)strtoull(argv[2], NULL, 10);
        (void)tell("a run within the budget", bt_program_run(program));
        memory.budget = SIZE_MAX; /* what failed may be tried again */
        code = tell("a run without", bt_program_run(program));
    }
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    return code;
}
