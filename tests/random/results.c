#include "results.h"

#include <string.h>

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/plugin.h>

/* Compiled for the target reference, where the executor runs what is compiled. */
static bt_status load_module(bt_ctx *ctx, const bt_executor *executor,
                             const bt_module *module, void **session)
{
    const bt_compile_options options = { .targets = "reference",
                                         .entry = "main",
                                         .has_control_flow = 1 };
    bt_module *fused;
    bt_compiled *compiled;
    if (!executor->load)
        return executor->open(ctx, module, NULL, session);
    BT_TRY(bt_fuse(ctx, module, &options, &fused));
    bt_status status = bt_compile(ctx, fused, &options, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    status = executor->load(ctx, compiled, "main", NULL, session);
    bt_compiled_unref(compiled);
    return status;
}

bt_status run_module(bt_ctx *ctx, const char *name, const bt_module *module, uint32_t n,
                     bt_object *const *args, bt_object **out)
{
    const void *row;
    void *session;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", name, sizeof(bt_executor), &row));
    const bt_executor *executor = row;
    BT_TRY(load_module(ctx, executor, module, &session));
    bt_status status = executor->call(ctx, session, "main", n, args, NULL, out);
    executor->close(session);
    return status;
}

static int same_integers(const bt_tensor *x, const bt_tensor *y)
{
    int is_same = x->dtype == y->dtype && x->nelem == y->nelem && x->rank == y->rank;
    for (uint32_t i = 0; is_same && i < x->rank; i++)
        is_same = x->dims[i] == y->dims[i];
    for (int64_t i = 0; is_same && i < x->nelem; i++)
        is_same = bt_tensor_get_int(x, i) == bt_tensor_get_int(y, i);
    return is_same;
}

/* Integers bit for bit, floats to six digits, 0 and -0 alike; what holds no tensors prints
 * the same. Results nest no deeper than the loops that built them. */
bt_status same_result(bt_ctx *ctx, const bt_object *a, const bt_object *b,
                      const char *pipeline)
{
    const bt_tensor *x = bt_object_as_tensor(a), *y = bt_object_as_tensor(b);
    const bt_tuple *t = bt_object_as_tuple(a), *u = bt_object_as_tuple(b);
    const bt_adt *v = bt_object_as_adt(a), *w = bt_object_as_adt(b);
    bt_text left, right;
    int is_same = 1;
    if (x && y && !bt_dtype_is_float(x->dtype)) {
        is_same = same_integers(x, y);
    } else if (x && y) {
        bt_tensor_difference d;
        BT_TRY(bt_tensor_compare(ctx, x, y, 1e-6, 1e-6, &d));
        is_same = d.ndifferent == 0;
    } else if (t && u && t->nfield == u->nfield) {
        for (uint32_t i = 0; i < t->nfield; i++)
            BT_TRY(same_result(ctx, t->fields[i], u->fields[i], pipeline));
    } else if (v && w && v->tag == w->tag && v->nfield == w->nfield) {
        for (uint32_t i = 0; i < v->nfield; i++)
            BT_TRY(same_result(ctx, v->fields[i], w->fields[i], pipeline));
    } else {
        bt_text_init(&left, bt_ctx_scratch(ctx));
        bt_text_init(&right, bt_ctx_scratch(ctx));
        bt_object_print(a, 1000, &left);
        bt_object_print(b, 1000, &right);
        if (!bt_text_get(&left) || !bt_text_get(&right))
            return bt_no_memory();
        is_same = strcmp(left.at, right.at) == 0;
    }
    return is_same ? NULL
                   : bt_fail(ctx, BT_ERR_INTERNAL, "%s changes the result", pipeline);
}
