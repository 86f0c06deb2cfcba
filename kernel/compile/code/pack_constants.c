/*
 * Kernels of constants run once, here: what packs a weight for another kernel costs
 * nothing at run time, and only the packed form is kept.
 *
 *     %s = memory.alloc_storage(size=4096);
 *     %t = memory.alloc_tensor(%s, shape=[4096], dtype="uint8");
 *     %0 = memory.invoke((w,), (%t,), kernel="f");
 *     ...
 *     %1 = memory.invoke((%x, %t), (%y,), kernel="f.1");
 *                                      |
 *                                      v
 *     ...
 *     %1 = memory.invoke((%x, packed), (%y,), kernel="f.1");
 *
 * A kernel is run if all that it reads is constant, or written by kernels that are run,
 * and if it alone writes its outputs. Another shape of a constant (memory.view) is one
 * too. How much a kernel may take and make, pack_work.c says.
 * A kernel that fails by what it reads, an index out of bounds, stays in the program, which
 * may never come to it. One that says BT_ERR_UNSUPPORTED has found by its constants that its
 * target does not compute the function after all: all is done again, and others are asked.
 */
#include "compile/code/pack_constants.h"

#include <string.h>

#include <baton/compute.h>
#include <baton/op.h>
#include <baton/pass.h>

#include "ir/walk.h"

/* A tensor of the lowered function, or a view of one. */
struct tensor {
    uint32_t nwriter;
    uint32_t is_constant; /* a kernel that is run writes it; a view: of a constant */
    bt_tensor *made;      /* what it wrote */
};

/* Kernels of a target that are run. */
struct code {
    bt_vec(const bt_kernel *) kernels;
    void *loaded;
};

/* An invocation that is run, and the kernel's number in its target's code; or a view that
 * is taken. */
struct launch {
    const bt_call *call;
    uint32_t target, kernel;
    const char *name; /* NULL: of a view */
};

struct packer {
    bt_ctx *ctx;
    bt_arena *arena;
    struct bt__kernels *kernels;
    const bt_module *module;
    bt_vec(const bt_value *) bindings; /* of all lowered functions, depth first */
    bt_vec(const bt_value *) results;  /* of all their blocks */
    bt_map tensors;     /* memory.alloc_tensor, memory.view -> struct tensor * */
    bt_map by_name;     /* kernel's name -> bt_kernel */
    bt_map numbers;     /* kernel -> its number in its target's code, from 1 */
    bt_map packed;      /* invocations that are run -> not NULL */
    struct code *codes; /* by target */
    bt_vec(struct launch) launches;
    bt_map needed;      /* bindings of the old functions that the new ones have */
    bt_map consts;      /* what is made or stated -> its constant */
    bt_status given_up; /* why a function goes to another target */
};

/* ---- what is constant ---- */

static const bt_tuple_value *fields_of(const bt_call *invoke, uint32_t index)
{
    return bt_as_tuple(invoke->args[index]);
}

static struct tensor *find_tensor(const struct packer *p, const bt_value *value)
{
    return bt_map_find(&p->tensors, value);
}

/* What a constant, or a field of one, is in the text of the program; else NULL. */
static const bt_object *stated(const bt_value *value)
{
    uint32_t path[64], depth = 0;
    for (; value->kind == BT_VALUE_PROJ && depth < BT_COUNT(path); depth++) {
        path[depth] = bt_as_proj(value)->index;
        value = bt_as_proj(value)->tuple;
    }
    const bt_const *constant = bt_as_const(value);
    const bt_object *object = constant ? constant->object : NULL;
    while (object && depth > 0)
        object = bt_object_as_tuple(object)->fields[path[--depth]];
    return object;
}

static int is_constant(const struct packer *p, const bt_value *value)
{
    const struct tensor *tensor = find_tensor(p, value);
    return tensor ? (int)tensor->is_constant : stated(value) != NULL;
}

static const char *kernel_name(const bt_call *invoke)
{
    return *(const char *const *)bt_attr_find(invoke->op, invoke->attrs, "kernel",
                                              BT_ATTR_STRING);
}

static int can_run(const struct packer *p, const bt_call *invoke)
{
    const bt_tuple_value *ins = fields_of(invoke, 0), *outs = fields_of(invoke, 1);
    const bt_kernel *kernel = bt_map_find(&p->by_name, kernel_name(invoke));
    if (kernel && kernel->primitive->nvar && !kernel->ignores_dims)
        return 0;
    for (uint32_t i = 0; i < ins->nfield; i++) {
        if (!is_constant(p, ins->fields[i]))
            return 0;
    }
    for (uint32_t i = 0; i < outs->nfield; i++) {
        const struct tensor *tensor = find_tensor(p, outs->fields[i]);
        if (!tensor || tensor->nwriter != 1)
            return 0;
    }
    return 1;
}

static bt_status add_launch(struct packer *p, const bt_call *invoke)
{
    const bt_tuple_value *outs = fields_of(invoke, 1);
    const bt_kernel *kernel = bt_map_find(&p->by_name, kernel_name(invoke));
    uintptr_t number = (uintptr_t)bt_map_find(&p->numbers, kernel);
    if (!number) {
        struct code *code = &p->codes[kernel->target];
        if (!BT_PUSH(p->arena, &code->kernels, kernel))
            return bt_no_memory();
        number = code->kernels.len;
    }
    struct launch launch = { invoke, kernel->target, (uint32_t)number - 1, kernel->name };
    for (uint32_t i = 0; i < outs->nfield; i++)
        find_tensor(p, outs->fields[i])->is_constant = 1;
    return BT_PUSH(p->arena, &p->launches, launch) &&
                   bt_map_put(&p->numbers, kernel, (void *)number) &&
                   bt_map_put(&p->packed, invoke, p)
               ? NULL
               : bt_no_memory();
}

/* A view of a constant is a constant. */
static bt_status add_view(struct packer *p, const bt_call *view)
{
    if (!is_constant(p, view->args[0]))
        return NULL;
    find_tensor(p, &view->base)->is_constant = 1;
    return BT_PUSH(p->arena, &p->launches, ((struct launch){ .call = view }))
               ? NULL
               : bt_no_memory();
}

static bt_status count_writers(struct packer *p)
{
    for (uint32_t i = 0; i < p->bindings.len; i++) {
        const bt_value *value = p->bindings.at[i];
        const bt_call *invoke = bt_as_op_call(value, "memory.invoke");
        if (bt_as_op_call(value, "memory.alloc_tensor") ||
            bt_as_op_call(value, "memory.view")) {
            struct tensor *tensor = BT_NEW(p->arena, struct tensor);
            if (!tensor || !bt_map_put(&p->tensors, value, tensor))
                return bt_no_memory();
        }
        for (uint32_t k = 0; invoke && k < fields_of(invoke, 1)->nfield; k++) {
            struct tensor *tensor = find_tensor(p, fields_of(invoke, 1)->fields[k]);
            if (tensor)
                tensor->nwriter++;
        }
    }
    return NULL;
}

static bt_status choose(struct packer *p)
{
    for (uint32_t i = 0; i < p->kernels->kernels.len; i++) {
        const bt_kernel *kernel = p->kernels->kernels.at[i];
        if (!bt_map_put(&p->by_name, kernel->name, (void *)(uintptr_t)kernel))
            return bt_no_memory();
    }
    BT_TRY(count_writers(p));
    for (uint32_t i = 0; i < p->bindings.len; i++) {
        const bt_call *invoke = bt_as_op_call(p->bindings.at[i], "memory.invoke");
        const bt_call *view = bt_as_op_call(p->bindings.at[i], "memory.view");
        int may_run = invoke && can_run(p, invoke);
        if (may_run)
            BT_TRY(bt__pack_may_run(p->ctx, p->arena,
                                    bt_map_find(&p->by_name, kernel_name(invoke)), invoke,
                                    &may_run));
        if (may_run)
            BT_TRY(add_launch(p, invoke));
        if (view)
            BT_TRY(add_view(p, view));
    }
    return NULL;
}

/* ---- running ---- */

/* A reference to a dense tensor of what a kernel reads. */
static bt_status read_input(struct packer *p, const bt_value *value, bt_tensor **out)
{
    const struct tensor *tensor = find_tensor(p, value);
    if (!tensor)
        return bt_tensor_dense(p->ctx, bt_object_as_tensor(stated(value)), out);
    *out = bt_tensor_ref(tensor->made);
    return NULL;
}

static bt_status make_output(struct packer *p, const bt_value *value, bt_tensor **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    (void)bt_tensor_static(value->type, &rank, dims);
    return bt_tensor_create(p->ctx, bt_tensor_dtype(value->type), rank, dims, out);
}

/* The same elements may have been made before: of one weight for two functions. */
static void keep(struct packer *p, const bt_value *value, bt_tensor *made)
{
    struct tensor *tensor = find_tensor(p, value);
    size_t nbytes = bt_tensor_nbytes(made);
    for (uint32_t i = 0; i < p->tensors.len; i++) {
        const struct tensor *other = p->tensors.at[i].value;
        const bt_value *place = p->tensors.at[i].key;
        if (other->made && place->type == value->type &&
            memcmp(other->made->data, made->data, nbytes) == 0) {
            bt_tensor_unref(made);
            made = bt_tensor_ref(other->made);
            break;
        }
    }
    tensor->made = made;
}

static bt_status take_view(struct packer *p, const bt_call *view)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK], strides[BT_MAX_RANK], step = 1;
    bt_tensor *of, *made;
    (void)bt_tensor_static(view->base.type, &rank, dims);
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = step;
        step *= dims[i] > 0 ? dims[i] : 1; // of no elements: any do
    }
    BT_TRY(read_input(p, view->args[0], &of));
    bt_status status = bt_tensor_view(p->ctx, of, rank, dims, strides, 0, &made);
    bt_tensor_unref(of);
    if (!status)
        keep(p, &view->base, made);
    return status;
}

static bt_status run_kernel(struct packer *p, const struct launch *launch)
{
    const bt_tuple_value *ins = fields_of(launch->call, 0),
                         *outs = fields_of(launch->call, 1);
    uint32_t n = ins->nfield + outs->nfield;
    bt_tensor **tensors = BT_NEWS(p->arena, bt_tensor *, n), *workspace = NULL;
    void **buffers = BT_NEWS(p->arena, void *, n);
    bt_host_block *around = BT_NEWS(p->arena, bt_host_block, n + 1);
    bt_status status = tensors && buffers && around ? NULL : bt_no_memory();
    if (!status && launch->call->narg > 2)
        status = make_output(p, launch->call->args[2], &workspace);
    for (uint32_t i = 0; !status && i < n; i++) {
        status = i < ins->nfield
                     ? read_input(p, ins->fields[i], &tensors[i])
                     : make_output(p, outs->fields[i - ins->nfield], &tensors[i]);
        if (!status) {
            buffers[i] = tensors[i]->data;
            around[i] = (bt_host_block){ buffers[i], bt_tensor_nbytes(tensors[i]),
                                         i < ins->nfield };
        }
    }
    if (!status && workspace)
        around[n] = (bt_host_block){ workspace->data, bt_tensor_nbytes(workspace), 0 };
    if (!status && bt_ctx_cancelled(p->ctx))
        status = bt_fail(p->ctx, BT_ERR_CANCELLED, "cancelled");
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .nbuffer = n,
                                  .buffers = buffers,
                                  .workspace = workspace ? workspace->data : NULL,
                                  .stop = bt_ctx_stop(p->ctx) };
    if (!status)
        status = bt__launch_hosted(p->ctx, p->kernels->targets[launch->target],
                                   p->codes[launch->target].loaded, launch->kernel,
                                   launch->name, &call, around);
    for (uint32_t i = 0; tensors && i < n; i++) {
        if (!status && i >= ins->nfield) {
            keep(p, outs->fields[i - ins->nfield], tensors[i]);
        } else if (tensors[i]) {
            bt_tensor_forget(tensors[i]); // memory holds the weights once, packed
            bt_tensor_unref(tensors[i]);
        }
    }
    bt_tensor_unref(workspace);
    return status;
}

/* It stays in the program, and so does what reads of it. */
static bt_status leave(struct packer *p, const struct launch *launch)
{
    if (!launch->name) {
        find_tensor(p, &launch->call->base)->is_constant = 0;
        return NULL;
    }
    const bt_tuple_value *outs = fields_of(launch->call, 1);
    for (uint32_t i = 0; i < outs->nfield; i++)
        find_tensor(p, outs->fields[i])->is_constant = 0;
    return bt_map_put(&p->packed, launch->call, NULL) ? NULL : bt_no_memory();
}

/* Whether what it computes can fail, not only the target. */
static int may_fail(const struct packer *p, const struct launch *launch)
{
    const bt_kernel *kernel =
        launch->name ? bt_map_find(&p->by_name, launch->name) : NULL;
    const bt_block *block = kernel ? kernel->primitive->block : NULL;
    int may = 0;
    for (uint32_t i = 0; block && i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        may |= call && call->op && (call->op->effects & BT_EFFECT_FAILS);
    }
    return may;
}

/* The function goes to another target, when all constants were looked at. */
static bt_status give_up(struct packer *p, const struct launch *launch, bt_status said)
{
    struct bt__kernels *k = p->kernels;
    const bt_kernel *kernel = bt_map_find(&p->by_name, launch->name);
    const uint32_t t = launch->target;
    if (!kernel || t + 1 == k->ntarget || t >= BT__MAX_GIVEN_UP)
        return said;
    const uintptr_t bits = (uintptr_t)bt_map_find(k->given_up, kernel->primitive);
    k->has_given_up = 1;
    bt_remark(p->ctx, BT_REMARK_NOTE,
              bt_fail(p->ctx, BT_ERR_UNSUPPORTED,
                      "target %s takes @%s, but not with its constants, and it goes to "
                      "another: %s",
                      k->targets[t]->text, kernel->primitive->name, said->message));
    p->given_up = p->given_up ? p->given_up : said;
    return bt_map_put(k->given_up, kernel->primitive, (void *)(bits | (uintptr_t)1 << t))
               ? leave(p, launch)
               : bt_no_memory();
}

static bt_status run_launch(struct packer *p, const struct launch *launch)
{
    bt_status status;
    if (launch->name)
        status = can_run(p, launch->call) ? run_kernel(p, launch) : leave(p, launch);
    else
        status = is_constant(p, launch->call->args[0]) ? take_view(p, launch->call)
                                                       : leave(p, launch);
    if (status && status->code == BT_ERR_UNSUPPORTED && launch->name)
        return give_up(p, launch, status);
    return status && status->code == BT_ERR_RUNTIME && may_fail(p, launch)
               ? leave(p, launch)
               : status;
}

static bt_status run_all(struct packer *p)
{
    for (uint32_t i = 0; i < p->kernels->ntarget; i++) {
        struct code *code = &p->codes[i];
        bt_kernel_code *const *made;
        if (code->kernels.len)
            BT_TRY(bt__make_code(p->kernels, p->arena, i, BT_CODE_ANY, code->kernels.len,
                                 code->kernels.at, &made, &code->loaded));
    }
    for (uint32_t i = 0; i < p->launches.len; i++)
        BT_TRY(run_launch(p, &p->launches.at[i]));
    return p->given_up;
}

/* ---- the function without them ---- */

static bt_status need(struct packer *p, const bt_value *value)
{
    const struct tensor *tensor = find_tensor(p, value);
    if ((tensor && tensor->is_constant) || stated(value))
        return NULL;
    return bt_map_put(&p->needed, value, p) ? NULL : bt_no_memory();
}

/* Storage, tensors, views, tuples and fields are there for who uses them. */
static int acts(const bt_value *value)
{
    return !bt_as_op_call(value, "memory.alloc_storage") &&
           !bt_as_op_call(value, "memory.alloc_tensor") &&
           !bt_as_op_call(value, "memory.view") && value->kind != BT_VALUE_TUPLE &&
           value->kind != BT_VALUE_PROJ;
}

/* From the last binding to the first: users come before what they use. */
static bt_status find_needed(struct packer *p)
{
    for (uint32_t i = 0; i < p->results.len; i++)
        BT_TRY(need(p, p->results.at[i]));
    for (uint32_t i = p->bindings.len; i-- > 0;) {
        const bt_value *value = p->bindings.at[i];
        if (acts(value) && !bt_map_find(&p->packed, value))
            BT_TRY(need(p, value));
        if (!bt_map_find(&p->needed, value))
            continue;
        for (uint32_t k = 0; k < bt_value_noperand(value); k++)
            BT_TRY(need(p, bt_value_operand(value, k)));
    }
    return NULL;
}

/* Equal tensors share one constant. */
static bt_status rewrite_any(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    struct packer *p = bt_rewrite_state(rw);
    const struct tensor *tensor = find_tensor(p, old);
    const bt_object *object = tensor ? NULL : stated(old);
    if (tensor && tensor->is_constant)
        object = &tensor->made->base;
    if (!object) {
        if (!bt_map_find(&p->needed, old))
            bt_rewrite_drop(rw);
        return NULL;
    }
    *out = bt_map_find(&p->consts, object);
    if (*out)
        return NULL;
    BT_TRY(bt_build_const(bt_rewrite_builder(rw), object, out));
    return bt_map_put(&p->consts, object, (void *)(uintptr_t)*out) ? NULL
                                                                   : bt_no_memory();
}

static int wants(bt_rewrite *rw, const bt_global *global)
{
    (void)rw;
    return bt__is_lowered(global);
}

static bt_status build_module(struct packer *p, bt_module **out)
{
    static const bt_rewriter rewriter = { .any = rewrite_any, .wants = wants };
    bt_pass_call call = { .module = p->module, .scratch = p->arena };
    BT_TRY(find_needed(p));
    return bt_rewrite_module(p->ctx, &call, &rewriter, p, out);
}

/* Kernels that nobody invokes any more are not compiled. */
static bt_status drop_kernels(struct packer *p)
{
    bt_map invoked;
    uint32_t n = 0;
    bt_map_init(&invoked, p->arena, 1);
    for (uint32_t i = 0; i < p->bindings.len; i++) {
        const bt_call *invoke = bt_as_op_call(p->bindings.at[i], "memory.invoke");
        if (invoke && !bt_map_find(&p->packed, invoke) &&
            !bt_map_put(&invoked, kernel_name(invoke), p))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < p->kernels->kernels.len; i++) {
        if (bt_map_find(&invoked, p->kernels->kernels.at[i]->name))
            p->kernels->kernels.at[n++] = p->kernels->kernels.at[i];
    }
    p->kernels->kernels.len = n;
    return NULL;
}

static bt_status add_func(struct packer *p, const bt_func *func)
{
    bt__walk walk;
    bt__walk_begin(&walk, p->arena, func->block);
    for (const bt_value *value; (value = bt__walk_next(&walk));) {
        if (!BT_PUSH(p->arena, &p->bindings, value))
            return bt_no_memory();
        for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
            if (!BT_PUSH(p->arena, &p->results, bt_value_region(value, k)->result))
                return bt_no_memory();
        }
    }
    return !walk.failed && BT_PUSH(p->arena, &p->results, func->block->result)
               ? NULL
               : bt_no_memory();
}

/* Adds the bytes of constants among its operands, each of which counts once. */
static bt_status count_operands(const bt_value *value, bt_map *counted, uint64_t *nbytes)
{
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_object *object = stated(bt_value_operand(value, i));
        const bt_tensor *tensor = object ? bt_object_as_tensor(object) : NULL;
        if (!tensor || bt_map_find(counted, tensor))
            continue;
        *nbytes += bt_tensor_nbytes(tensor);
        if (!bt_map_put(counted, tensor, counted))
            return bt_no_memory();
    }
    return NULL;
}

/* Bytes of the constants that lowered functions read. */
static bt_status count_constants(const struct packer *p, const bt_module *module,
                                 uint64_t *nbytes)
{
    bt_map counted;
    bt_map_init(&counted, p->arena, 0);
    *nbytes = 0;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        bt__walk walk;
        if (!bt__is_lowered(module->globals[i]))
            continue;
        bt__walk_begin(&walk, p->arena, module->globals[i]->func->block);
        for (const bt_value *value; (value = bt__walk_next(&walk));)
            BT_TRY(count_operands(value, &counted, nbytes));
        if (walk.failed)
            return bt_no_memory();
    }
    return NULL;
}

static bt_status pack(struct packer *p, bt_module **module)
{
    bt_module *next;
    for (uint32_t i = 0; i < p->module->nglobal; i++) {
        if (bt__is_lowered(p->module->globals[i]))
            BT_TRY(add_func(p, p->module->globals[i]->func));
    }
    BT_TRY(choose(p));
    if (!p->launches.len)
        return NULL;
    BT_TRY(run_all(p));
    BT_TRY(build_module(p, &next));
    bt_status status = drop_kernels(p);
    if (status) {
        bt_module_unref(next);
        return status;
    }
    bt_module_unref(*module);
    *module = next;
    return NULL;
}

bt_status bt__pack_constants(struct bt__kernels *kernels, bt_module **module,
                             uint64_t *unpacked, uint64_t *packed)
{
    struct packer p = { .ctx = kernels->ctx,
                        .arena = kernels->arena,
                        .kernels = kernels,
                        .module = *module };
    bt_map_init(&p.tensors, p.arena, 0);
    bt_map_init(&p.by_name, p.arena, 1);
    bt_map_init(&p.numbers, p.arena, 0);
    bt_map_init(&p.packed, p.arena, 0);
    bt_map_init(&p.needed, p.arena, 0);
    bt_map_init(&p.consts, p.arena, 0);
    p.codes = BT_NEWS(p.arena, struct code, kernels->ntarget);
    if (!p.codes)
        return bt_no_memory();
    BT_TRY(count_constants(&p, *module, unpacked));
    bt_status status = pack(&p, module);
    if (!status)
        status = count_constants(&p, *module, packed);
    for (uint32_t i = 0; i < kernels->ntarget; i++) {
        bt__unload_code(kernels->targets[i], p.codes[i].loaded);
    }
    for (uint32_t i = 0; i < p.tensors.len; i++)
        bt_tensor_unref(((struct tensor *)p.tensors.at[i].value)->made);
    return status;
}
