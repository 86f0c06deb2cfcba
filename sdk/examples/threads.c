/*
 * Runs one compiled program in two threads:    threads ARTIFACT [SIZE]      SIZE: as for run.c
 * Write one by    baton compile MODEL -o ARTIFACT
 * Build:    cc threads.c $(pkg-config --cflags --libs baton) -lpthread    and -Wl,-rpath,PREFIX/lib as for run.c
 *
 * What was compiled is there once; inputs, outputs and memory of the runs are each thread's own. A context belongs to one
 * thread, a registry (plugins, types) to all.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/baton.h>

enum { NTHREAD = 2, NRUN = 100 };

struct worker {
    pthread_t thread;
    bt_registry *registry;
    const bt_program *program; /* to be shared */
    int64_t size;              /* of dims that have no number */
    double value;              /* of all elements of all inputs */
    double sum;                /* of the first output */
    int code;
};

static int fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    fprintf(stderr, "%s", bt_text_get(&text) ? bt_text_get(&text) : "no memory\n");
    return 1;
}

static bt_status set_inputs(bt_ctx *ctx, bt_program *program, const struct worker *w)
{
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        int64_t dims[BT_MAX_RANK];
        bt_tensor *tensor;
        for (int32_t k = 0; k < port->rank; k++)
            dims[k] = port->dims[k] < 0 ? w->size : port->dims[k];
        BT_TRY(bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank, dims, &tensor));
        for (int64_t k = 0; k < tensor->nelem; k++)
            bt_tensor_set(tensor, k, w->value);
        bt_status status = bt_program_set(program, port->name, &tensor->base);
        bt_tensor_unref(tensor);
        BT_TRY(status);
    }
    return NULL;
}

static bt_status run_often(bt_ctx *ctx, bt_program *program, struct worker *w)
{
    BT_TRY(set_inputs(ctx, program, w));
    for (int i = 0; i < NRUN; i++)
        BT_TRY(bt_program_run(program));
    const bt_tensor *result = bt_object_as_tensor(bt_program_get(program, 0));
    for (int64_t i = 0; result && i < result->nelem; i++)
        w->sum += bt_tensor_get(result, i);
    return NULL;
}

static void *work(void *self)
{
    struct worker *w = self;
    bt_program *program = NULL;
    // NULL: no memory; all that can fail otherwise gives a status
    bt_ctx *ctx = bt_ctx_create(w->registry);
    if (!ctx) {
        w->code = 1;
        return NULL;
    }
    bt_status status = bt_program_share(ctx, w->program, &program);
    if (!status)
        status = run_often(ctx, program, w);
    w->code = status ? fail(ctx, status) : 0;
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    return NULL;
}

static int run_threads(struct worker *workers)
{
    int n = 0, code = 0;
    while (n < NTHREAD &&
           pthread_create(&workers[n].thread, NULL, work, &workers[n]) == 0)
        n++;
    for (int i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        code |= workers[i].code;
    }
    return n < NTHREAD ? 1 : code;
}

int main(int argc, char **argv)
{
    struct worker workers[NTHREAD];
    bt_program *program;
    bt_ctx *ctx = bt_open();
    int64_t size = argc == 3 ? atoll(argv[2]) : 1;
    if (!ctx || argc < 2 || argc > 3 || size < 0)
        return fprintf(stderr, "usage: threads ARTIFACT [SIZE]\n"), 2;
    bt_status status = bt_program_open(ctx, argv[1], NULL, &program);
    if (status)
        return fail(ctx, status);
    for (int i = 0; i < NTHREAD; i++)
        workers[i] = (struct worker){ .registry = bt_ctx_registry(ctx),
                                      .program = program,
                                      .size = size,
                                      .value = 0.5 * i };
    int code = run_threads(workers);
    for (int i = 0; !code && i < NTHREAD; i++)
        printf("thread %d: %d runs, inputs %g: the outputs' sum is %g\n", i, NRUN,
               workers[i].value, workers[i].sum);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    return code;
}
