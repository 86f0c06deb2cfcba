/* Numbers that depend on the dims of a call. */
#include "number.h"

#include <string.h>

#include <baton/scalar.h>

static int push(ocl_step *steps, uint32_t *n, ocl_step step)
{
    if (*n == OCL_MAX_STEPS)
        return 0;
    steps[(*n)++] = step;
    return 1;
}

static int push_scalar(ocl_step *steps, uint32_t *n, uint32_t which, int64_t narg)
{
    return push(steps, n, (ocl_step){ OCL_STEP_SCALAR, which, narg });
}

/* 0: too many steps, or no number of dims. A node that is deeper than there may be steps is not
 * looked through, which bounds the recursion. */
static int encode(const bt_node *node, ocl_step *steps, uint32_t *n)
{
    if (node->depth > OCL_MAX_STEPS)
        return 0;
    switch (node->kind) {
    case BT_NODE_CONST:
        return push(steps, n, (ocl_step){ OCL_STEP_NUMBER, 0, node->value.i });
    case BT_NODE_DIM: return push(steps, n, (ocl_step){ OCL_STEP_DIM, node->which, 0 });
    case BT_NODE_LINEAR:
        if (!push(steps, n, (ocl_step){ OCL_STEP_NUMBER, 0, node->value.i }))
            return 0;
        for (uint32_t i = 0; i < node->narg; i++) {
            const ocl_step coef = { OCL_STEP_NUMBER, 0, node->coefs[i] };
            if (!push(steps, n, coef) || !encode(node->args[i], steps, n) ||
                !push_scalar(steps, n, BT_SCALAR_MUL, 2) ||
                !push_scalar(steps, n, BT_SCALAR_ADD, 2))
                return 0;
        }
        return 1;
    case BT_NODE_SCALAR:
        if (bt_dtype_is_float(node->args[0]->dtype))
            return 0;
        for (uint32_t i = 0; i < node->narg; i++) {
            if (!encode(node->args[i], steps, n))
                return 0;
        }
        return push_scalar(steps, n, node->which, node->narg);
    default: return 0;
    }
}

bt_status ocl_number_of(bt_ctx *ctx, bt_arena *arena, const bt_node *node,
                        ocl_number *out)
{
    ocl_step steps[OCL_MAX_STEPS];
    uint32_t n = 0;
    if (!encode(node, steps, &n))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "a size is too long an expression of dims");
    ocl_step *kept = BT_NEWS(arena, ocl_step, n);
    if (!kept)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        kept[i] = steps[i];
    *out = (ocl_number){ n, kept };
    return NULL;
}

int64_t ocl_number_value(const ocl_number *number, const int64_t *dims)
{
    bt_cell stack[OCL_MAX_STEPS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < number->n; i++) {
        const ocl_step *step = &number->steps[i];
        if (step->kind == OCL_STEP_SCALAR) {
            n -= (uint32_t)step->value;
            stack[n] = bt_scalar_eval(step->which, BT_INT64, &stack[n]);
        } else {
            stack[n].i = step->kind == OCL_STEP_DIM ? dims[step->which] : step->value;
        }
        n++;
    }
    return stack[0].i;
}

int ocl_number_is_valid(const ocl_number *number, uint32_t ndim)
{
    static const struct {
        const char *classes;
        uint32_t narg;
    } rows[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    { #classes, narg },
#include <baton/scalars.def>
    };
    uint32_t n = 0;
    if (number->n == 0 || number->n > OCL_MAX_STEPS)
        return 0;
    for (uint32_t i = 0; i < number->n; i++) {
        const ocl_step *step = &number->steps[i];
        if (step->kind >= OCL_STEP_COUNT ||
            (step->kind == OCL_STEP_DIM && step->which >= ndim) ||
            (step->kind == OCL_STEP_SCALAR &&
             (step->which >= BT_SCALAR_COUNT || !strchr(rows[step->which].classes, 'I') ||
              rows[step->which].narg != step->value || step->value > n)))
            return 0;
        n = step->kind == OCL_STEP_SCALAR ? n - (uint32_t)step->value + 1 : n + 1;
    }
    return n == 1;
}
