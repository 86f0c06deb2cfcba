/*
 * Runs a program on random numbers:    run MODEL [SIZE]      SIZE: of each dim that has no number; 1 if not given
 * Build:    cc run.c $(pkg-config --cflags --libs baton)      and -Wl,-rpath,PREFIX/lib for a prefix of one's own
 */
#include <stdio.h>
#include <stdlib.h>

#include <baton/baton.h>

static int fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    fprintf(stderr, "%s", bt_text_get(&text) ? bt_text_get(&text) : "no memory\n");
    return 1;
}

static bt_status set_random(bt_ctx *ctx, bt_program *program, const bt_port *port,
                            int64_t size)
{
    if (port->kind != BT_OBJECT_TENSOR || port->rank < 0 || !port->dtype)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "input %s is %s: this program makes random tensors only",
                       port->name, port->type);
    bt_tensor *tensor;
    int64_t dims[BT_MAX_RANK];
    for (int32_t i = 0; i < port->rank; i++)
        dims[i] = port->dims[i] < 0 ? size : port->dims[i];
    BT_TRY(bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank, dims, &tensor));
    for (int64_t i = 0; i < tensor->nelem; i++)
        bt_tensor_set(tensor, i, rand() / (double)RAND_MAX);
    bt_status status = bt_program_set(program, port->name, &tensor->base);
    bt_tensor_unref(tensor);
    return status;
}

int main(int argc, char **argv)
{
    bt_program *program;
    bt_ctx *ctx = bt_open();
    int64_t size = argc == 3 ? atoll(argv[2]) : 1;
    if (!ctx || argc < 2 || argc > 3 || size < 0)
        return fprintf(stderr, "usage: run MODEL [SIZE]\n"), 2;
    bt_status status = bt_program_open(ctx, argv[1], NULL, &program);
    if (status)
        return fail(ctx, status);
    for (uint32_t i = 0; !status && i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        printf("input %s: %s\n", port->name, port->type);
        status = set_random(ctx, program, port, size);
    }
    if (!status)
        status = bt_program_run(program);
    for (uint32_t i = 0; !status && i < bt_program_noutput(program); i++) {
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        bt_object_print(bt_program_get(program, i), 10, &text);
        printf("output %s: %s\n  %s\n", bt_program_output(program, i)->name,
               bt_program_output(program, i)->type, bt_text_get(&text));
    }
    int code = status ? fail(ctx, status) : 0;
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    return code;
}
