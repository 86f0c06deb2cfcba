/*
 * npu_stream: prints a stream of the simulated accelerator, checks it, and runs it.
 *
 *     npu_stream STREAM [--machine NAME|FILE] [N=FILE.npy | N=FILE.npy:OUT.npy]...
 *
 * --machine   single, multi or a configuration; single unless named
 * N=FILE      buffer N is the bytes of this tensor, and constant
 * N=FILE:OUT  it begins as these bytes; what the stream leaves there is written to OUT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/value.h>

#include "simulate.h"
#include "verify.h"

enum { MOST = 256 }; /* numbers of buffers */

struct run {
    bt_ctx *ctx;
    bt_arena *arena;
    struct npu_config config;
    struct npu_stream stream;
    bt_tensor *tensors[MOST];
    const char *outs[MOST]; /* files; NULL: constant */
    struct npu_buffer at[MOST];
    struct npu_buffers buffers;
};

static bt_status read_tensor(bt_ctx *ctx, const char *path, bt_tensor **out)
{
    bt_file *file;
    bt_tensor *read;
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status = bt_npy_read(ctx, path, file->bytes, file->nbytes, &read);
    bt_file_close(ctx, file);
    if (status)
        return status;
    // a copy, which may be written to
    status = bt_tensor_create(ctx, read->dtype, read->rank, read->dims, out);
    if (!status && read->nelem)
        memcpy((*out)->data, read->data, bt_tensor_nbytes(read));
    bt_tensor_unref(read);
    return status;
}

/* "N=FILE" or "N=FILE:OUT"; changes the text. */
static bt_status read_buffer(struct run *r, char *text)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != '=' || number >= MOST || r->tensors[number])
        return bt_fail(r->ctx, BT_ERR_ARGUMENT,
                       "%s: expected N=FILE.npy, each N from 0 to 255 once", text);
    char *file = end + 1, *colon = strchr(file, ':');
    if (colon) {
        *colon = '\0';
        r->outs[number] = colon + 1;
    }
    BT_TRY(read_tensor(r->ctx, file, &r->tensors[number]));
    r->at[number] = (struct npu_buffer){ .at = r->tensors[number]->data,
                                         .nbytes = bt_tensor_nbytes(r->tensors[number]),
                                         .is_constant = !colon };
    if (number >= r->buffers.n)
        r->buffers.n = (uint32_t)number + 1;
    return NULL;
}

static bt_status read_stream(struct run *r, const char *path)
{
    bt_file *file;
    BT_TRY(bt_file_read(r->ctx, path, &file));
    bt_status status =
        npu_decode(r->ctx, r->arena, file->bytes, file->nbytes, &r->stream);
    bt_file_close(r->ctx, file);
    return status;
}

static bt_status read_all(struct run *r, int argc, char **argv)
{
    const char *machine = "single";
    if (argc < 2)
        return bt_fail(r->ctx, BT_ERR_ARGUMENT,
                       "usage: npu_stream STREAM [--machine NAME|FILE] "
                       "[N=FILE.npy[:OUT.npy]]...");
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--machine") == 0 && i + 1 < argc)
            machine = argv[++i];
        else
            BT_TRY(read_buffer(r, argv[i]));
    }
    BT_TRY(npu_config_read(r->ctx, machine, &r->config));
    return read_stream(r, argv[1]);
}

static void print_times(const struct run *r, const struct npu_times *t)
{
    printf("%" PRIu64 " cycles, %.3f us; multipliers %" PRIu64 " (%.1f%%); %" PRIu64
           " bytes moved\n",
           t->cycles, (double)t->cycles / r->config.mhz, t->iterations,
           t->cycles ? 100.0 * (double)t->iterations / (double)t->cycles : 0, t->nbytes);
    for (uint32_t q = 0; q < NPU_NQUEUE; q++)
        printf(
            "%-7s  %6" PRIu64 " instructions  busy %8" PRIu64 "  waiting %8" PRIu64 "\n",
            npu_queue_names[q], t->queues[q].n, t->queues[q].busy, t->queues[q].waiting);
}

static bt_status write_outs(const struct run *r)
{
    for (uint32_t i = 0; i < r->buffers.n; i++) {
        bt_text text;
        if (!r->outs[i])
            continue;
        bt_text_init(&text, r->arena);
        BT_TRY(bt_npy_write(r->ctx, r->tensors[i], &text));
        BT_TRY(bt_file_write(r->ctx, r->outs[i], text.at, text.len));
    }
    return NULL;
}

static bt_status run(struct run *r)
{
    bt_text text;
    struct npu_machine *machine;
    struct npu_times times;
    bt_text_init(&text, r->arena);
    npu_stream_print(&r->stream, &text);
    if (!bt_text_get(&text))
        return bt_no_memory();
    fputs(bt_text_get(&text), stdout);
    BT_TRY(npu_check(r->ctx, &r->config, &r->buffers, &r->stream));
    BT_TRY(npu_machine_create(r->ctx, &r->config, &machine));
    bt_status status = npu_simulate(r->ctx, machine, &r->buffers, &r->stream, &times);
    npu_machine_destroy(machine);
    if (status)
        return status;
    print_times(r, &times);
    return write_outs(r);
}

int main(int argc, char **argv)
{
    static struct run r;
    bt_registry *registry = bt_registry_create(NULL);
    r.ctx = registry ? bt_ctx_create(registry) : NULL;
    r.arena = registry ? bt_arena_create(registry) : NULL;
    r.buffers.at = r.at;
    bt_status status = r.ctx && r.arena ? read_all(&r, argc, argv) : bt_no_memory();
    if (!status)
        status = run(&r);
    if (status)
        fprintf(stderr, "%s: %s\n", argc > 1 ? argv[1] : "npu_stream", status->message);
    for (uint32_t i = 0; i < MOST; i++)
        bt_tensor_unref(r.tensors[i]);
    bt_arena_destroy(r.arena);
    bt_ctx_destroy(r.ctx);
    bt_registry_unref(registry);
    return status != NULL;
}
