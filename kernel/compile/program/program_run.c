/* Runs of a program: what goes in, what comes out, and where. */
#include "compile/program/profile.h"

#include <string.h>

const char *bt_program_entry(const bt_program *program)
{
    return program->entry->name;
}

const char *bt_program_executor(const bt_program *program)
{
    return program->executor_text;
}

uint32_t bt_program_ninput(const bt_program *program)
{
    return program->ninput;
}

const bt_port *bt_program_input(const bt_program *program, uint32_t index)
{
    return index < program->ninput ? &program->inputs[index] : NULL;
}

uint32_t bt_program_noutput(const bt_program *program)
{
    return program->noutput;
}

const bt_port *bt_program_output(const bt_program *program, uint32_t index)
{
    return index < program->noutput ? &program->outputs[index] : NULL;
}

static int32_t index_of(const bt_port *ports, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(ports[i].name, name) == 0)
            return (int32_t)i;
    }
    return -1;
}

int32_t bt_program_input_index(const bt_program *program, const char *name)
{
    return index_of(program->inputs, program->ninput, name);
}

int32_t bt_program_output_index(const bt_program *program, const char *name)
{
    return index_of(program->outputs, program->noutput, name);
}

bt_status bt_program_set_at(bt_program *program, uint32_t index, const bt_object *object)
{
    if (index >= program->ninput)
        return bt_fail(program->ctx, BT_ERR_NAME, "@%s has no input %u; it has %u",
                       program->entry->name, index, program->ninput);
    if (!object)
        return bt_fail(program->ctx, BT_ERR_ARGUMENT, "input %s: there is no value",
                       program->inputs[index].name);
    bt_object *old = program->args[index];
    program->args[index] = bt_object_ref(object);
    bt_object_unref(old);
    return NULL;
}

bt_status bt_program_set(bt_program *program, const char *input, const bt_object *object)
{
    int32_t index = bt_program_input_index(program, input);
    if (index >= 0)
        return bt_program_set_at(program, (uint32_t)index, object);
    return bt_fail(program->ctx, BT_ERR_NAME, "@%s has no input %s%s%s",
                   program->entry->name, input,
                   program->ninput ? "; its first is " : "; it has none",
                   program->ninput ? program->inputs[0].name : "");
}

/* ---- outputs in tensors of the caller ---- */

static int admits(const bt_port *port, const bt_tensor *t)
{
    int same =
        port->kind == BT_OBJECT_TENSOR && (!port->dtype || port->dtype == t->dtype);
    if (!same || port->rank < 0)
        return same;
    same = (uint32_t)port->rank == t->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = port->dims[i] < 0 || port->dims[i] == t->dims[i];
    return same;
}

static bt_status fail_type(bt_program *program, const bt_port *port, const bt_tensor *to)
{
    bt_arena *scratch = bt_ctx_scratch(program->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text text;
    bt_text_init(&text, scratch);
    bt_tensor_print_type(to, &text);
    const char *type = bt_text_get(&text);
    bt_status status =
        type ? bt_fail(program->ctx, BT_ERR_ARGUMENT,
                       "output %s is a %s, the tensor a %s", port->name, port->type, type)
             : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}

bt_status bt_program_set_output(bt_program *program, uint32_t i, bt_tensor *to)
{
    if (i >= program->noutput)
        return bt_fail(program->ctx, BT_ERR_NAME, "@%s has no output %u; it has %u",
                       program->entry->name, i, program->noutput);
    const char *output = program->outputs[i].name;
    if (to && !admits(&program->outputs[i], to))
        return fail_type(program, &program->outputs[i], to);
    if (to && !bt_tensor_is_dense(to))
        return bt_fail(program->ctx, BT_ERR_ARGUMENT,
                       "output %s: the tensor is not row major", output);
    bt_tensor *old = program->outs[i];
    program->outs[i] = to ? bt_tensor_ref(to) : NULL;
    program->written[i] = to ? bt__tensor_bytes(to) : (struct bt__bytes){ 0, 0 };
    bt_tensor_unref(old);
    return NULL;
}

/* ---- running ---- */

static void keep_result(bt_program *program, uint32_t index, bt_object *taken)
{
    bt_object_unref(program->results[index]);
    program->results[index] = taken;
}

static int can_compute_into(const bt_program *program)
{
    int can = program->executor->call_into != NULL;
    for (uint32_t i = 0; can && i < program->noutput; i++)
        can = program->outputs[i].kind == BT_OBJECT_TENSOR;
    return can;
}

static bt_status run_into(bt_program *program)
{
    for (uint32_t i = 0; i < program->noutput; i++)
        program->made[i] = program->outs[i];
    BT_TRY(program->executor->call_into(
        program->ctx, program->session, program->entry->name, program->ninput,
        program->args, bt__program_hook(program), program->noutput, program->made));
    for (uint32_t i = 0; i < program->noutput; i++)
        keep_result(program, i,
                    program->outs[i] ? bt_object_ref(&program->outs[i]->base)
                                     : &program->made[i]->base);
    return NULL;
}

/* Whether outputs are written into bytes of an input or a result, or of fields of a tuple.
 * Recursion is bounded by the depth of types. */
static int is_written(const bt_program *program, const bt_object *object)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const struct bt__bytes bytes =
        tensor ? bt__tensor_bytes(tensor) : (struct bt__bytes){ 0, 0 };
    int is = 0;
    for (uint32_t i = 0; tensor && i < program->noutput; i++)
        is |= bt__bytes_meet(program->written[i], bytes);
    for (uint32_t i = 0; tuple && !is && i < tuple->nfield; i++)
        is = is_written(program, tuple->fields[i]);
    return is;
}

static bt_status copy_tensor(bt_ctx *ctx, const bt_tensor *from, bt_object **out)
{
    bt_tensor *dense, *copy;
    BT_TRY(bt_tensor_dense(ctx, from, &dense));
    bt_status status =
        bt_tensor_create_raw(ctx, from->dtype, from->rank, from->dims, &copy);
    if (!status) {
        memcpy(copy->data, dense->data, bt_tensor_nbytes(dense));
        *out = &copy->base;
    }
    bt_tensor_unref(dense);
    return status;
}

/* A new reference, or a copy of what is written. */
static bt_status set_aside(bt_program *program, bt_object *object, bt_object **out)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    bt_arena *scratch = bt_ctx_scratch(program->ctx);
    bt_tuple *copy;
    if (!is_written(program, object)) {
        *out = bt_object_ref(object);
        return NULL;
    }
    if (tensor)
        return copy_tensor(program->ctx, tensor, out);
    const void *mark = bt_arena_mark(scratch);
    bt_object **fields = BT_NEWS(scratch, bt_object *, tuple->nfield);
    bt_status status = fields ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < tuple->nfield; i++)
        status = set_aside(program, tuple->fields[i], &fields[i]);
    if (!status)
        status = bt_tuple_create(program->ctx, tuple->nfield, fields, &copy);
    for (uint32_t i = 0; fields && i < tuple->nfield; i++)
        bt_object_unref(fields[i]);
    bt_arena_release(scratch, mark);
    if (!status)
        *out = &copy->base;
    return status;
}

static bt_object *field_of(const bt_program *program, bt_object *result, uint32_t index)
{
    return program->is_tuple ? bt_object_as_tuple(result)->fields[index] : result;
}

/* For executors that make their results themselves: none is written before all are there. */
static bt_status copy_outs(bt_program *program, bt_object *result)
{
    bt_status status = NULL;
    for (uint32_t i = 0; i < program->noutput; i++)
        program->made[i] = NULL;
    for (uint32_t i = 0; !status && i < program->noutput; i++) {
        const bt_tensor *from = bt_object_as_tensor(field_of(program, result, i));
        if (program->outs[i])
            status = bt_check_out(program->ctx, program->entry, program->outs, i, from);
        if (!status && program->outs[i])
            status = bt_tensor_dense(program->ctx, from, &program->made[i]);
    }
    for (uint32_t i = 0; i < program->noutput; i++) {
        if (!status && program->made[i] && program->made[i]->nelem)
            memcpy(program->outs[i]->data, program->made[i]->data,
                   bt_tensor_nbytes(program->made[i]));
        bt_tensor_unref(program->made[i]);
    }
    return status;
}

/* A tensor as who reads it takes it for granted: a constant may lie elsewhere in a file. */
static bt_status keep_dense(bt_program *program, uint32_t index, const bt_object *from)
{
    const bt_tensor *tensor = bt_object_as_tensor(from);
    bt_tensor *dense;
    if (!tensor) {
        keep_result(program, index, bt_object_ref(from));
        return NULL;
    }
    BT_TRY(bt_tensor_dense(program->ctx, tensor, &dense));
    keep_result(program, index, &dense->base);
    return NULL;
}

/* The result of a run on inputs that no output is written to, nor to it. */
static bt_status call(bt_program *program, bt_object **args, bt_object **out)
{
    bt_object *result;
    for (uint32_t i = 0; i < program->ninput; i++)
        BT_TRY(set_aside(program, program->args[i], &args[i]));
    BT_TRY(program->executor->call(program->ctx, program->session, program->entry->name,
                                   program->ninput, args, bt__program_hook(program),
                                   &result));
    bt_status status = set_aside(program, result, out);
    bt_object_unref(result);
    return status;
}

static bt_status run_and_copy(bt_program *program)
{
    bt_arena *scratch = bt_ctx_scratch(program->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_object **args = BT_NEWS(scratch, bt_object *, program->ninput), *result = NULL;
    bt_status status = args ? call(program, args, &result) : bt_no_memory();
    for (uint32_t i = 0; args && i < program->ninput; i++)
        bt_object_unref(args[i]);
    bt_arena_release(scratch, mark);
    if (!status)
        status = copy_outs(program, result);
    for (uint32_t i = 0; !status && i < program->noutput; i++) {
        const bt_object *from =
            program->outs[i] ? &program->outs[i]->base : field_of(program, result, i);
        status = keep_dense(program, i, from);
    }
    bt_object_unref(result);
    return status;
}

static bt_status check_inputs_set(const bt_program *program)
{
    for (uint32_t i = 0; i < program->ninput; i++) {
        if (!program->args[i])
            return bt_fail(program->ctx, BT_ERR_ARGUMENT,
                           "input %s is not set; it takes %s", program->inputs[i].name,
                           program->inputs[i].type);
    }
    return NULL;
}

bt_status bt_program_run(bt_program *program)
{
    BT_TRY(check_inputs_set(program));
    BT_TRY(can_compute_into(program) ? run_into(program) : run_and_copy(program));
    if (program->is_recorded && program->entry->func->nvar)
        bt__profiler_count(program->profiler, program);
    return NULL;
}

const bt_object *bt_program_get(const bt_program *program, uint32_t index)
{
    return index < program->noutput ? program->results[index] : NULL;
}

const bt_compiled *bt_program_compiled(const bt_program *program)
{
    return program->compiled;
}

bt_status bt_program_describe(const bt_program *program, bt_text *out)
{
    const bt_executor *executor = program->executor;
    if (!executor->describe)
        return bt_fail(program->ctx, BT_ERR_UNSUPPORTED,
                       "executor %s makes no code of a program: vm does", executor->name);
    BT_TRY(executor->describe(program->ctx, program->session, out));
    return bt_text_get(out) ? NULL : bt_no_memory();
}

bt_status bt_program_fused(const bt_program *program, bt_module **out)
{
    if (!program->fused)
        return bt_fail(
            program->ctx, BT_ERR_UNSUPPORTED,
            "the primitive functions of a program are known where it is "
            "compiled here, with keeps_source: give the model, a target and executor "
            "graph or vm");
    *out = bt_module_ref(program->fused);
    return NULL;
}

bt_status bt_program_args(const bt_program *program, bt_object *const **out)
{
    BT_TRY(check_inputs_set(program));
    BT_TRY(bt_check_args(program->ctx, program->module, program->entry, program->ninput,
                         program->args, NULL));
    *out = program->args;
    return NULL;
}
