#include "target_stop.h"

#include "rule_program.h"
#include "target_fault.h"
#include "target_lab.h"

/* A kernel that takes so long in any case is one for which somebody wants to stop waiting. */
enum { LONG_MS = 100, LEAST = 1 << 19 };

static const int64_t extents[RULE_NEXTENT] = { 512, 512, 512 };

/* The fastest of two: the first may wait for what comes later with code. */
static bt_status measure(struct lab *lab, const uint32_t *stop, int *is_failed,
                         double *ms)
{
    *ms = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t start = bt_now_ns();
        const bt_status status = lab_run(lab, 0, stop);
        const double took = (double)(bt_now_ns() - start) * 1e-6;
        *is_failed = status != NULL;
        if (status && (status->code == BT_ERR_MEMORY || !stop))
            return status;
        bt_ctx_clear_diags(lab->ctx);
        *ms = i && *ms < took ? *ms : took;
        if (*ms < LONG_MS)
            break;
    }
    return NULL;
}

static bt_status try_kernel(struct lab *lab, struct target_stop *out)
{
    static const uint32_t stop = 1;
    int is_failed;
    double ms;
    BT_TRY(measure(lab, NULL, &is_failed, &out->ms));
    if (out->ms < LONG_MS) {
        out->why = "its kernels are done before anybody asks them to stop";
        return NULL;
    }
    BT_TRY(measure(lab, &stop, &is_failed, &ms));
    if (ms > out->ms / 2)
        target_fault(
            lab->arena, &lab->fault,
            "a kernel that takes %.0f ms takes %.0f when it is asked to stop: it "
            "is to look at bt_kernel_call.stop now and then",
            out->ms, ms);
    else if (!is_failed)
        target_fault(lab->arena, &lab->fault,
                     "a kernel that takes %.0f ms ends after %.0f when it is asked to "
                     "stop, and nothing says that it has failed",
                     out->ms, ms);
    return NULL;
}

bt_status target_stop(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                      struct target_stop *out)
{
    struct lab lab = {
        .ctx = ctx, .arena = arena, .use = use, .extents = extents, .least = LEAST
    };
    *out = (struct target_stop){ 0 };
    if (!use->target->open_queue && !use->target->launch) {
        out->why = "its code is called by the library";
        return NULL;
    }
    BT_TRY(lab_make_kernel(&lab));
    if (!lab.kernel && !lab.fault) {
        out->why = "no large function of one kernel was found that it takes";
        return NULL;
    }
    bt_status status = lab.fault ? NULL : lab_make_traps(&lab);
    if (!status && !lab.fault)
        status = lab_make_buffers(&lab);
    if (!status && !lab.fault)
        status = try_kernel(&lab, out);
    lab_free_buffers(&lab);
    lab_free_traps(&lab);
    lab_free_kernel(&lab);
    if (status && status->code != BT_ERR_MEMORY) {
        target_fault(arena, &lab.fault, "a large kernel fails: %s", status->message);
        status = NULL;
    }
    out->fault = lab.fault;
    return status;
}
