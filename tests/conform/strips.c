/*
 * Operators by strips, against the reference evaluator.
 *
 *     conform_strips PLUGINS PLUGIN ISA [OPERATOR]
 *
 * Every case of the plugin's operators and those made from it (case_vary.h), alone and with
 * `negative` before and behind it, is scheduled for the CPU. Its program must verify, its
 * calls must stay inside their buffers, and give what the evaluator gives. What cannot be
 * scheduled is counted, with the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compute.h>

#include "close.h"
#include "loops_oracle.h"
#include "schedule/schedule.h"
#include "schedule/vectorise.h"
#include "strip_run.h"
#include "case_vary.h"
#include "vectorised_check.h"

struct trial {
    struct op_check w;
    struct cpu_config config;
    const bt_op *around; /* "negative" */
    uint32_t ncall, nrefused;
    char why[200]; /* the last was refused */
    double worst;
};

/* ---- one function ---- */

static bt_status run_program(struct trial *t, const bt_loops *loops, uint32_t nin,
                             bt_tensor *const *in, uint32_t nout, bt_tensor *const *out)
{
    struct strip_run run = { .ctx = t->w.ctx, .isa = t->config.isa };
    struct run_options options = { .seed = 5, .call = strip_call, .self = &run };
    void *data[CASE_MAX_LEAF + CALL_MAX_OUT];
    const bt_tensor *dense[CASE_MAX_LEAF];
    bt_status status = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < nin && !status; i++) {
        bt_tensor *made = NULL;
        status = bt_tensor_dense(t->w.ctx, in[i], &made);
        dense[n++] = made;
        data[i] = made ? made->data : NULL;
    }
    for (uint32_t i = 0, at = nin; i < loops->roles.len; i++) {
        for (uint32_t k = 0; loops->roles.at[i] == BT_BUFFER_OUTPUT && k < nout; k++) {
            if (loops->results.at[k] == i)
                data[at++] = out[k]->data;
        }
    }
    if (!status)
        status = loops_run(t->w.ctx, loops, data, &options);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref((bt_tensor *)(uintptr_t)dense[i]);
    return status;
}

static void show(const bt_loops *loops, bt_arena *arena)
{
    bt_text text;
    bt_text_init(&text, arena);
    if (!bt_loops_print(loops, &text) && bt_text_get(&text))
        printf("%s", bt_text_get(&text));
}

static bt_status compare(struct trial *t, const char *kind, const struct call_case *c,
                         const struct call_result *r, const bt_func *func,
                         bt_arena *arena)
{
    bt_compute *compute;
    bt_loops *loops;
    bt_tensor *want[CALL_MAX_OUT] = { 0 }, *got[CALL_MAX_OUT] = { 0 };
    bt_status status = cpu_schedule(t->w.ctx, arena, &t->config, func, NULL, &loops);
    if (status && status->code == BT_ERR_UNSUPPORTED) {
        t->nrefused++;
        snprintf(t->why, sizeof(t->why), "%s", status->message);
        return NULL;
    }
    BT_TRY(status);
    BT_TRY(check_vectorised(loops, &t->config));
    BT_TRY(bt_compute_create_func(t->w.ctx, func, NULL, &compute));
    int64_t step = strncmp(t->w.op->name, "image.", 6) == 0;
    uint32_t nout = bt_compute_nout(compute);
    bt_status expected =
        bt_compute_run(t->w.ctx, compute, r->nin, (const bt_tensor *const *)r->in, want);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < nout && !expected && !status; i++)
        status = bt_tensor_create(t->w.ctx, want[i]->dtype, want[i]->rank, want[i]->dims,
                                  &got[i]);
    if (!expected && !status)
        status = run_program(t, loops, r->nin, r->in, nout, got);
    if (!expected && status)
        case_fault(&t->w, c, "%s: %s", kind, case_message(&t->w, status));
    for (uint32_t i = 0; i < nout && !expected && !status; i++) {
        if (!is_close(got[i], want[i], step, &t->worst))
            case_fault(&t->w, c, "%s: another result than the evaluator's", kind);
    }
    if (getenv("SHOW"))
        show(loops, arena);
    for (uint32_t i = 0; i < nout; i++) {
        bt_tensor_unref(want[i]);
        bt_tensor_unref(got[i]);
    }
    t->ncall++;
    return NULL;
}

static bt_status run_case(void *self, const char *kind, const struct call_case *c)
{
    struct trial *t = self;
    struct call_result r;
    bt_status status = call_run(&t->w, c, 7 + t->ncall, 0, &r);
    for (int is_fused = 0; !status && r.call && is_fused < 2; is_fused++) {
        bt_module *module;
        bt_arena *arena = bt_arena_create(bt_ctx_registry(t->w.ctx));
        if (!arena)
            status = bt_no_memory();
        if (!status)
            status = call_module(&t->w, c, &r, is_fused ? t->around : NULL, &module);
        if (!status) {
            status = compare(t, is_fused ? "fused" : kind, c, &r,
                             bt_module_find(module, "main")->func, arena);
            bt_module_unref(module);
        }
        bt_arena_destroy(arena);
    }
    call_result_free(&r);
    if (!status)
        bt_ctx_clear_diags(t->w.ctx);
    return status;
}

/* ---- operators ---- */

static int run_op(bt_ctx *ctx, const char *name, const struct trial *like,
                  int *is_by_strips)
{
    struct trial t = *like;
    t.w = (struct op_check){ .ctx = ctx, .faults = json_array() };
    t.w.store = bt_store_create(bt_ctx_registry(ctx));
    t.w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !t.w.store || !t.w.arena ? bt_no_memory() : bt_op_get(ctx, name, &t.w.op);
    if (!status)
        status = vary_all(&t.w, run_case, &t);
    size_t nfault = json_array_size(t.w.faults);
    for (size_t i = 0; i < nfault; i++)
        printf("%s\n", json_string_value(json_array_get(t.w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    else
        printf("%s: %u calls, %u not by strips%s%s, %.0f %% of the bound\n", name,
               t.ncall, t.nrefused, *t.why ? ": " : "", t.why, 100 * t.worst);
    *is_by_strips = t.nrefused == 0;
    json_decref(t.w.faults);
    bt_store_unref(t.w.store);
    bt_arena_destroy(t.w.arena);
    return status || nfault;
}

static int run(bt_ctx *ctx, const char *plugin, struct trial *trial, const char *only)
{
    uint32_t nrun = 0, nwrong = 0, nwhole = 0;
    bt_status status = bt_op_get(ctx, "negative", &trial->around);
    if (!status)
        status = bt_plugins_scan(ctx);
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        int is_by_strips = 0;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (only && strcmp(item.name, only) != 0))
            continue;
        nrun++;
        nwrong += (uint32_t)run_op(ctx, item.name, trial, &is_by_strips);
        nwhole += (uint32_t)is_by_strips;
    }
    if (status)
        printf("%s\n", status->message);
    printf("%s: %u operators, %u in all cases by strips, %u with faults\n",
           cpu_isa_name(trial->config.isa), nrun, nwhole, nwrong);
    return status || nwrong || nrun == 0;
}

int main(int argc, char **argv)
{
    int isa = argc > 3 ? cpu_isa_find(argv[3]) : -1;
    if (isa < 0) {
        printf("usage: conform_strips PLUGINS PLUGIN ISA [OPERATOR]\n");
        return 2;
    }
    if (isa > (int)cpu_isa_of_machine()) {
        printf("this machine does not run %s\n", argv[3]);
        return 77;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    struct trial trial = { .config = { .isa = (enum cpu_isa)isa, .nthread = 1 } };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int failed = ctx ? run(ctx, argv[2], &trial, argc > 4 ? argv[4] : NULL) : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
