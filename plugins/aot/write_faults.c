/* What the faults of kernels say: which operator reads where at an index out of bounds. */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "bytecode.h"
#include "write.h"

/* The operator that reads a parameter of a primitive function, and what it calls it. NULL:
 * several do, or (*nfound is 0) it is an array of a formula's own. */
static const bt_op_input *find_reader(const bt_func *primitive, const char *param,
                                      const bt_call **out, uint32_t *nfound)
{
    const bt_op_input *found = NULL;
    for (uint32_t i = 0; i < primitive->block->nbinding; i++) {
        const bt_call *call = bt_as_call(primitive->block->bindings[i]);
        for (uint32_t k = 0; call && call->op && k < call->narg; k++) {
            const char *name = call->args[k]->name;
            if (call->args[k]->kind != BT_VALUE_PARAM || !name ||
                strcmp(name, param) != 0)
                continue;
            found = bt_op_input_at(call->op, k);
            *out = call;
            (*nfound)++;
        }
    }
    return *nfound == 1 ? found : NULL;
}

/* Else calls of several places may have become one primitive function. */
static int is_launched_once(const struct plan *p, uint32_t kernel)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->steps.len; i++)
        n += p->steps.at[i].kind == STEP_INVOKE && p->steps.at[i].kernel == kernel;
    for (uint32_t i = 0; p->program && i < p->program->nlaunch; i++)
        n += p->program->launches[i].kernel == kernel;
    return n == 1;
}

/* *span: of the launch; becomes that of the operator, where it is known. */
static void add_text(const struct plan *p, uint32_t number, const bt_fault *fault,
                     bt_span *span, bt_text *out)
{
    const bt_compiled *c = p->compiled;
    const bt_compiled_kernel *kernel = c->kernels[number];
    const bt_call *call = NULL;
    uint32_t nreader = 0;
    const bt_global *primitive = bt_module_find(c->module, c->funcs[kernel->func]->name);
    const bt_op_input *input =
        primitive && primitive->func && fault->array
            ? find_reader(primitive->func, fault->array, &call, &nreader)
            : NULL;
    if (!input)
        call = NULL;
    if (!fault->array && primitive && primitive->func) // plain C: one operator's
        call = bt_as_call(primitive->func->block->result);
    bt_text_addf(out, "%s: ", call && call->op ? call->op->name : kernel->name);
    if (!fault->array) {
        bt_text_addf(out, "%s", fault->text);
        return;
    }
    if (input && call->base.span && is_launched_once(p, number))
        *span = call->base.span;
    bt_text_addf(out, "an index is out of bounds for axis %" PRIu32, fault->axis);
    if (input || !nreader)
        bt_text_addf(out, " of %s", input ? input->name : fault->array);
    if (!fault->text)
        bt_text_addf(out, ", whose extent is %" PRId64, fault->extent);
}

bt_status add_kernel_faults(struct output *o, uint32_t kernel, bt_span span,
                            uint32_t *before)
{
    struct plan *p = o->plan;
    const bt_kernel_code *code = p->compiled->codes[kernel];
    *before = o->nfault + p->texts.len;
    for (uint32_t i = 0; i < code->nfault; i++) {
        bt_span place = span;
        bt_text text;
        bt_text_init(&text, p->arena);
        add_text(p, kernel, &code->faults[i], &place, &text);
        const char *line = bt_text_get(&text) ? plan_fault_text(p, place, text.at) : NULL;
        if (!line || !BT_PUSH(p->arena, &p->texts, line))
            return bt_no_memory();
    }
    return NULL;
}
