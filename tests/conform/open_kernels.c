#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "open.h"

enum { TEMP = 1 << 20, MAX_TEMPS = 128 }; /* more than arrays of MAX_NELEM need */

void kernels_unload(const struct trial *t, struct kernels *k)
{
    if (k->loaded)
        t->target->target->unload(k->loaded);
    bt_code_unload(k->code);
}

static bt_status load(struct trial *t, bt_arena *arena, const bt_func *func,
                      struct kernels *out)
{
    const bt_target *target = t->target->target;
    bt_ctx *ctx = t->w.ctx;
    bt_text text;
    BT_TRY(target->lower(ctx, t->target->instance, arena, func, &out->lowering));
    const uint32_t n = out->lowering.nkernel;
    bt_kernel_code *made = BT_NEWS(arena, bt_kernel_code, n),
                   **codes = BT_NEWS(arena, bt_kernel_code *, n);
    if (!made || !codes)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        out->lowering.kernels[i]->name = "kernel";
        out->lowering.kernels[i]->primitive = func;
        codes[i] = &made[i];
    }
    out->codes = codes;
    BT_TRY(target->compile(ctx, t->target->instance, arena, BT_CODE_ANY, n,
                           (const bt_kernel *const *)out->lowering.kernels, codes));
    if (!target->load)
        return object_load(ctx, n, codes, &out->code);
    BT_TRY(target->load(ctx, t->target->instance, n, (const bt_kernel_code *const *)codes,
                        &out->loaded));
    bt_text_init(&text, arena);
    target->describe(out->loaded, &text);
    const char *said = bt_text_get(&text) ? strstr(text.at, "by the evaluator: ") : NULL;
    if (said && strncmp(said, "by the evaluator: 0", 19) != 0)
        out->why = strchr(said, '\n') ? strchr(said, '\n') + 1 : said;
    return NULL;
}

bt_status kernels_load(struct trial *t, bt_arena *arena, const bt_func *func,
                       struct kernels *out)
{
    bt_status status = load(t, arena, func, out);
    if (!status || (status->code != BT_ERR_UNSUPPORTED &&
                    !(t->random && status->code == BT_ERR_NAME)))
        return status;
    out->why = status->message;
    return NULL;
}

/* Where a result stands among the outputs of loops. */
static uint32_t output_of(const bt_loops *loops, uint32_t result)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loops->results.at[result]; i++)
        n += loops->roles.at[i] == BT_BUFFER_OUTPUT;
    return n;
}

int kernels_memory(struct trial *t)
{
    if (!t->memory)
        t->memory = BT_NEWS(t->w.arena, char, TEMP *(MAX_TEMPS + 1) + 64);
    return t->memory != NULL;
}

/* What a kernel updates in place is in the output before. Inputs are the first buffers of loops. */
static void keep(const bt_kernel *kernel, const bt_loops *loops, void **buffers)
{
    for (uint32_t i = 0; i < kernel->nalias; i++) {
        const bt_kernel_alias *alias = &kernel->aliases[i];
        void *to = buffers[kernel->nin + alias->out];
        if (!alias->keeps)
            continue;
        const uint32_t from = kernel->in[alias->in].index;
        const int64_t n = bt_loops_nelem(loops, from);
        if (n > 0)
            memcpy(to, buffers[alias->in],
                   (size_t)n * bt_dtype_nbytes(loops->graph->arrays[from]->dtype));
        buffers[alias->in] = to;
    }
}

bt_status kernels_launch(struct trial *t, const struct kernels *k, const bt_loops *loops,
                         void *const *data, const int64_t *dims)
{
    const uint32_t nin = count_buffers(loops, BT_BUFFER_INPUT);
    if (!kernels_memory(t) || k->lowering.ntemp > MAX_TEMPS)
        return bt_no_memory();
    char *workspace = t->memory + (64 - (uintptr_t)t->memory % 64) % 64;
    for (uint32_t i = 0; i < k->lowering.nkernel; i++) {
        const bt_kernel *kernel = k->lowering.kernels[i];
        void *buffers[CASE_MAX_LEAF + CALL_MAX_OUT + 16];
        bt_kernel_call call = { .nbytes = sizeof(call),
                                .nbuffer = kernel->nin + kernel->nout,
                                .buffers = buffers,
                                .workspace = workspace,
                                .dims = dims,
                                .ndim = MAX_DIMS };
        for (uint32_t b = 0; b < call.nbuffer; b++) {
            const bt_kernel_buffer *at =
                b < kernel->nin ? &kernel->in[b] : &kernel->out[b - kernel->nin];
            buffers[b] = at->kind == BT_BUFFER_TEMP ? workspace + (at->index + 1) * TEMP
                         : at->kind == BT_BUFFER_INPUT
                             ? data[at->index]
                             : data[nin + output_of(loops, at->index)];
        }
        keep(kernel, loops, buffers);
        BT_TRY(k->code ? object_launch(t->w.ctx, k->code, k->codes[i], &call)
                       : t->target->target->launch(t->w.ctx, k->loaded, i, &call));
    }
    return NULL;
}

bt_status kernels_run(struct trial *t, bt_arena *arena, const bt_func *known,
                      const struct kernels *open, const bt_loops *loops,
                      void *(*data)[CASE_MAX_LEAF + CALL_MAX_OUT], const int64_t *dims,
                      bt_status fault[2], int *is_by_both)
{
    struct kernels numbers = { .loaded = NULL };
    bt_status status = kernels_load(t, arena, known, &numbers);
    *is_by_both = !status && !numbers.why;
    if (*is_by_both) {
        fault[0] = kernels_launch(t, &numbers, loops, data[0], NULL);
        fault[1] = kernels_launch(t, open, loops, data[1], dims);
    }
    kernels_unload(t, &numbers);
    return status;
}
