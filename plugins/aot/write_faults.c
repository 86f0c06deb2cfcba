/* What the faults of kernels say: which operator reads where at an index out of bounds. */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "write.h"

/* The operator that reads a parameter of a primitive function, and what it calls it. NULL:
 * there is none, or several. */
static const bt_op_input *find_reader(const bt_func *primitive, const char *param,
                                      const bt_call **out)
{
    const bt_op_input *found = NULL;
    uint32_t nfound = 0;
    for (uint32_t i = 0; i < primitive->block->nbinding; i++) {
        const bt_call *call = bt_as_call(primitive->block->bindings[i]);
        for (uint32_t k = 0; call && call->op && k < call->narg; k++) {
            const char *name = call->args[k]->name;
            if (call->args[k]->kind != BT_VALUE_PARAM || !name ||
                strcmp(name, param) != 0)
                continue;
            const bt_op_input *input = call->op->inputs;
            for (uint32_t n = 0; input && input->name && n < k; n++)
                input++;
            found = input && input->name ? input : NULL;
            *out = call;
            nfound++;
        }
    }
    return nfound == 1 ? found : NULL;
}

static void add_text(const bt_compiled *c, const bt_compiled_kernel *kernel,
                     const bt_fault *fault, bt_text *out)
{
    const bt_call *call = NULL;
    const bt_global *primitive = bt_module_find(c->module, c->funcs[kernel->func]->name);
    const bt_op_input *input = primitive && primitive->func && fault->array
                                   ? find_reader(primitive->func, fault->array, &call)
                                   : NULL;
    bt_text_addf(out, "%s: ", input ? call->op->name : kernel->name);
    if (!fault->array) {
        bt_text_addf(out, "%s", fault->text);
        return;
    }
    bt_text_addf(out, "an index is out of bounds for axis %" PRIu32, fault->axis);
    if (input)
        bt_text_addf(out, " of %s", input->name);
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
        bt_text text;
        bt_text_init(&text, p->arena);
        add_text(p->compiled, p->compiled->kernels[kernel], &code->faults[i], &text);
        const char *line = bt_text_get(&text) ? plan_fault_text(p, span, text.at) : NULL;
        if (!line || !BT_PUSH(p->arena, &p->texts, line))
            return bt_no_memory();
    }
    return NULL;
}
