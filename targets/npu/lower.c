/*
 * A function becomes a stream, and around it what lays out its tensors:
 *
 *     weight ----------------> weights ------.      kernels of constants: they run when the
 *     bias, zero point ------> parameters ---.      program is compiled
 *     x, operand ------------> blocks -------+--> stream --> blocks --> y
 *
 * There is no move where a tensor has its blocks by its layout, or where its bytes are the same
 * either way: rows of a matrix on a machine of batch 1.
 */
#include "lower.h"

#include <string.h>

#include <baton/compute.h>
#include <baton/op.h>

#include "code.h"
#include "recognise.h"

enum { MAX_TEMPS = 4 + NPU_MAX_POST_OPS };

struct lowerer {
    bt_ctx *ctx;
    struct npu_device *device;
    bt_arena *arena;
    const bt_func *func;
    struct npu_function f;
    const struct npu_plan *plan;
    bt_lowering *out; /* NULL: nothing is made, and moves are counted */
    const bt_type *temps[MAX_TEMPS];
    double moved; /* elements, at each call */
};

/* ---- where elements lie ---- */

static const bt_type *type_of(const struct lowerer *l, int32_t param)
{
    return param < 0 ? l->func->result : l->func->block->params[param]->base.type;
}

/* Rows of a matrix are not parted, and of an image neither: what remains are blocks. */
static bt_status blocked(const struct lowerer *l, const struct npu_operand *o,
                         uint32_t block, const bt_layout **out)
{
    static const char letters[] = "NCHW";
    bt_store *store = l->func->result->store;
    char logical[NPU_NAXIS + 1] = { 0 };
    bt_text text;
    bt_text_init(&text, l->arena);
    for (uint32_t i = 0; i < NPU_NAXIS; i++) {
        if (o->axes[i] >= 0)
            logical[o->axes[i]] = letters[i];
    }
    bt_text_addf(&text, "%s:%s", logical, strlen(logical) == 4 ? "NCHW" : "NC");
    if (l->device->config.batch > 1)
        bt_text_addf(&text, "%un", l->device->config.batch);
    if (block > 1)
        bt_text_addf(&text, "%uc", block);
    if (!bt_text_get(&text))
        return bt_no_memory();
    *out = bt_layout_parse(store, text.at);
    return *out ? NULL : bt_store_why(l->ctx, store);
}

static void read_strides(const bt_type *type, const struct npu_operand *o,
                         uint64_t *extents, uint64_t *strides)
{
    uint32_t rank = 0;
    int64_t dims[BT_MAX_RANK];
    uint64_t step = 1, of[BT_MAX_RANK];
    (void)bt_tensor_static(type, &rank, dims);
    for (uint32_t i = rank; i-- > 0;) {
        of[i] = step;
        step *= (uint64_t)dims[i];
    }
    for (uint32_t i = 0; i < NPU_NAXIS; i++) {
        const int32_t axis = o->axes[i];
        extents[i] = axis < 0 ? 1 : (uint64_t)dims[axis];
        strides[i] = axis < 0 ? 0 : of[axis];
    }
}

/* *is_none: the tensor has its blocks. */
static bt_status read_move(const struct lowerer *l, const struct npu_operand *o,
                           uint32_t block, struct npu_move *out, int *is_none)
{
    const bt_type *type = type_of(l, o->param);
    const bt_layout *has = bt_type_layout(type), *wanted;
    const int is_result = o == &l->f.result;
    *out = (struct npu_move){ .nbyte = is_result && l->f.layer.is_wide ? 4 : 1,
                              .is_back = is_result,
                              .batch = l->device->config.batch,
                              .block = block };
    read_strides(type, o, out->extents, out->strides);
    *is_none = has ? 1 : npu_move_is_none(out);
    if (!has)
        return NULL;
    BT_TRY(blocked(l, o, block, &wanted));
    if (has != wanted)
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                       "a tensor has layout %s; %s or none is expected", has->text,
                       wanted->text);
    // of a result the rest of a block is to be zero, which it is not
    if (is_result && (out->extents[NPU_N] % out->batch || out->extents[NPU_C] % block))
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                       "its result has layout %s, and does not fill the last block",
                       has->text);
    return NULL;
}

/* ---- kernels ---- */

static bt_status add_temp(struct lowerer *l, uint64_t nbytes, bt_kernel_buffer *out)
{
    const bt_type *size = bt_dim(l->func->result->store, (int64_t)nbytes);
    if (!size)
        return bt_store_why(l->ctx, l->func->result->store);
    *out = (bt_kernel_buffer){ BT_BUFFER_TEMP, l->out->ntemp };
    l->temps[l->out->ntemp++] = size;
    return NULL;
}

static bt_kernel_buffer param(int32_t number)
{
    return (bt_kernel_buffer){ BT_BUFFER_INPUT, (uint32_t)number };
}

/* A kernel that reads n buffers and writes one, of so many bytes each. */
static bt_status add_kernel(struct lowerer *l, struct npu_code *code,
                            const bt_kernel_buffer *buffers, uint32_t n)
{
    bt_kernel *kernel = bt_lowering_add(l->out, l->arena);
    bt_kernel_buffer *copy = BT_NEWS(l->arena, bt_kernel_buffer, n + 1u);
    if (!kernel || !copy)
        return bt_no_memory();
    memcpy(copy, buffers, (n + 1) * sizeof(*copy));
    code->nin = n;
    code->nbuffer = n + 1;
    for (uint32_t i = 0; i <= n; i++) {
        const bt_type *size =
            buffers[i].kind == BT_BUFFER_TEMP ? l->temps[buffers[i].index] : NULL;
        int64_t nbytes = 0;
        if (size)
            (void)bt_dim_is_const(size, &nbytes);
        else
            nbytes = bt_type_nbytes(buffers[i].kind == BT_BUFFER_INPUT
                                        ? type_of(l, (int32_t)buffers[i].index)
                                        : l->func->result);
        code->nbytes[i] = (uint64_t)nbytes;
    }
    *kernel =
        (bt_kernel){ .nin = n, .in = copy, .nout = 1, .out = copy + n, .content = code };
    return NULL;
}

static struct npu_code *new_code(struct lowerer *l, uint32_t kind)
{
    struct npu_code *code = BT_NEW(l->arena, struct npu_code);
    if (code) {
        code->kind = kind;
        code->layer = l->f.layer;
    }
    return code;
}

static bt_status add_weight(struct lowerer *l, bt_kernel_buffer *out)
{
    struct npu_code *code = new_code(l, NPU_CODE_WEIGHT);
    uint64_t extents[NPU_NAXIS];
    if (!code)
        return bt_no_memory();
    read_strides(type_of(l, l->f.weight.param), &l->f.weight, extents,
                 code->weight.strides);
    BT_TRY(add_temp(l, l->plan->nbytes[NPU_BUFFER_WEIGHTS], out));
    return add_kernel(l, code, (bt_kernel_buffer[]){ param(l->f.weight.param), *out }, 1);
}

/* The buffers of parameters, each once. */
struct sources {
    uint32_t n;
    bt_kernel_buffer at[NPU_MAX_BUFFERS];
};

static bt_status add_source(const struct lowerer *l, struct sources *s, int32_t number,
                            uint32_t *out)
{
    for (*out = 0; *out < s->n && s->at[*out].index != (uint32_t)number;)
        ++*out;
    if (*out < s->n)
        return NULL;
    if (s->n + 1 == NPU_MAX_BUFFERS)
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                       "its numbers come of more than %d inputs", NPU_MAX_BUFFERS - 1);
    s->at[s->n++] = param(number);
    return NULL;
}

static bt_status read_numbers(const struct lowerer *l, const struct npu_terms *terms,
                              struct sources *sources, struct npu_requantize_numbers *out)
{
    *out = (struct npu_requantize_numbers){ .number = terms->number,
                                            .shift = terms->shift,
                                            .factor = terms->factor,
                                            .nvector = terms->nadded };
    for (uint32_t i = 0; i < terms->nadded; i++) {
        out->vectors[i].stride = terms->added[i].axes[NPU_C] >= 0;
        BT_TRY(add_source(l, sources, terms->added[i].param, &out->vectors[i].buffer));
    }
    out->ratio = terms->ratio;
    for (uint32_t i = 0; i < 2; i++) {
        out->has_scale[i] = terms->ratio.arithmetic && terms->scales[i].param >= 0;
        out->scales[i].stride = terms->scales[i].axes[NPU_C] >= 0;
        if (out->has_scale[i])
            BT_TRY(
                add_source(l, sources, terms->scales[i].param, &out->scales[i].buffer));
    }
    return NULL;
}

static bt_status add_parameters(struct lowerer *l, bt_kernel_buffer *out)
{
    struct npu_code *code = new_code(l, NPU_CODE_PARAMETERS);
    struct sources sources = { 0 };
    uint64_t extents[NPU_NAXIS];
    if (!code)
        return bt_no_memory();
    struct npu_parameters *p = &code->parameters;
    for (uint32_t i = 0; i < l->f.layer.npost_op; i++) {
        BT_TRY(read_numbers(l, &l->f.operand_terms[i], &sources,
                            &p->operand_requantizes[i]));
        BT_TRY(read_numbers(l, &l->f.terms[i], &sources, &p->requantizes[i]));
    }
    p->zero = l->f.layer.kind == NPU_PRODUCTS ? l->f.zero : 0;
    if (p->zero) {
        read_strides(type_of(l, l->f.weight.param), &l->f.weight, extents,
                     p->weight.strides);
        BT_TRY(add_source(l, &sources, l->f.weight.param, &p->weights));
    }
    BT_TRY(add_temp(l, l->plan->nbytes[NPU_BUFFER_PARAMETERS], out));
    sources.at[sources.n] = *out;
    return add_kernel(l, code, sources.at, sources.n);
}

/* What the stream reads in place of a parameter. */
static bt_status add_input(struct lowerer *l, const struct npu_operand *o,
                           uint32_t buffer, uint32_t block, bt_kernel_buffer *out)
{
    struct npu_move move;
    int is_none;
    BT_TRY(read_move(l, o, block, &move, &is_none));
    *out = param(o->param);
    l->moved += is_none ? 0 : (double)l->plan->nbytes[buffer];
    if (is_none || !l->out)
        return NULL;
    struct npu_code *code = new_code(l, NPU_CODE_MOVE);
    if (!code)
        return bt_no_memory();
    code->move = move;
    BT_TRY(add_temp(l, l->plan->nbytes[buffer], out));
    return add_kernel(l, code, (bt_kernel_buffer[]){ param(o->param), *out }, 1);
}

/* ---- the stream ---- */

static bt_status encode(struct lowerer *l, struct npu_code *code)
{
    const struct npu_stream *stream = &l->plan->stream;
    uint8_t *bytes = BT_NEWS(l->arena, uint8_t, (size_t)stream->n * NPU_NBYTES);
    uint8_t *uops = BT_NEWS(l->arena, uint8_t, l->plan->nbytes[NPU_BUFFER_UOPS]);
    if (!bytes || !uops)
        return bt_no_memory();
    for (uint32_t i = 0; i < stream->n; i++)
        npu_encode(&stream->at[i], bytes + (size_t)i * NPU_NBYTES);
    memcpy(uops, l->plan->uops, l->plan->nbytes[NPU_BUFFER_UOPS]);
    code->stream = bytes;
    code->nstream = (uint64_t)stream->n * NPU_NBYTES;
    code->uops = uops;
    code->nuop = l->plan->nbytes[NPU_BUFFER_UOPS];
    code->cycles = l->plan->cycles;
    code->ideal = l->plan->ideal;
    return NULL;
}

/* The result: `temp` where it is to be moved. */
static bt_status add_stream(struct lowerer *l, const bt_kernel_buffer *of,
                            const bt_kernel_buffer *result)
{
    struct npu_code *code = new_code(l, NPU_CODE_STREAM);
    bt_kernel_buffer buffers[NPU_NBUFFER];
    uint32_t n = 0;
    if (!code)
        return bt_no_memory();
    BT_TRY(encode(l, code));
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        if (l->plan->nbytes[i] && i != NPU_BUFFER_UOPS && i != NPU_BUFFER_Y) {
            buffers[n] = of[i];
            code->map[i] = n++;
        } else {
            code->map[i] = UINT32_MAX;
        }
    }
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        if (code->map[i] == UINT32_MAX)
            code->map[i] = n + 1;
    }
    buffers[n] = *result;
    code->map[NPU_BUFFER_Y] = n;
    return add_kernel(l, code, buffers, n);
}

static bt_status add_result(struct lowerer *l, const bt_kernel_buffer *of)
{
    const bt_kernel_buffer result = { BT_BUFFER_OUTPUT, 0 };
    bt_kernel_buffer temp;
    struct npu_move move;
    int is_none;
    BT_TRY(read_move(l, &l->f.result, l->device->config.out, &move, &is_none));
    l->moved += is_none ? 0 : (double)l->plan->nbytes[NPU_BUFFER_Y];
    if (!l->out)
        return NULL;
    if (is_none)
        return add_stream(l, of, &result);
    struct npu_code *code = new_code(l, NPU_CODE_MOVE);
    if (!code)
        return bt_no_memory();
    code->move = move;
    BT_TRY(add_temp(l, l->plan->nbytes[NPU_BUFFER_Y], &temp));
    BT_TRY(add_stream(l, of, &temp));
    return add_kernel(l, code, (bt_kernel_buffer[]){ temp, result }, 1);
}

static bt_status add_all(struct lowerer *l)
{
    const struct npu_config *config = &l->device->config;
    const struct npu_layer *layer = &l->f.layer;
    bt_kernel_buffer of[NPU_NBUFFER] = { 0 };
    if (l->out && l->plan->nbytes[NPU_BUFFER_WEIGHTS])
        BT_TRY(add_weight(l, &of[NPU_BUFFER_WEIGHTS]));
    if (l->out && l->plan->nbytes[NPU_BUFFER_PARAMETERS])
        BT_TRY(add_parameters(l, &of[NPU_BUFFER_PARAMETERS]));
    BT_TRY(add_input(l, &l->f.data, NPU_BUFFER_X,
                     layer->kind == NPU_PRODUCTS ? config->in : config->out,
                     &of[NPU_BUFFER_X]));
    for (uint32_t i = 0; i < layer->npost_op; i++) {
        if (layer->post_ops[i].has_operand)
            BT_TRY(add_input(l, &l->f.operands[i], NPU_BUFFER_OPERAND + i, config->out,
                             &of[NPU_BUFFER_OPERAND + i]));
    }
    return add_result(l, of);
}

/* ---- what is asked ---- */

static bt_status check_params(bt_ctx *ctx, const bt_func *func)
{
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!bt_as_tensor_type(func->block->params[i]->base.type))
            return bt_fail(ctx, BT_ERR_UNSUPPORTED, "input %u is no tensor", i);
    }
    return NULL;
}

static bt_status read_function(struct lowerer *l)
{
    BT_TRY(check_params(l->ctx, l->func));
    BT_TRY(npu_recognise(l->ctx, l->arena, &l->device->config, l->func, &l->f));
    const bt_layout *layout =
        l->f.weight.param < 0 ? NULL : bt_type_layout(type_of(l, l->f.weight.param));
    if (layout)
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                       "the weight has layout %s; none is expected", layout->text);
    bt_status status = npu_plans_get(l->ctx, &l->device->plans, &l->device->config,
                                     &l->f.layer, &l->plan);
    if (status && status->code == BT_ERR_LIMIT) // another target may have room
        status = bt_fail(l->ctx, BT_ERR_UNSUPPORTED, "%s", status->message);
    return status;
}

static struct npu_estimate estimate(const struct lowerer *l)
{
    return (
        struct npu_estimate){ .kind = l->f.layer.kind,
                              .taps = { l->f.layer.rows.taps, l->f.layer.columns.taps },
                              .cycles = l->plan->cycles,
                              .ideal = l->plan->ideal,
                              .moved = l->moved };
}

bt_status npu_estimate(bt_ctx *ctx, void *device, const bt_func *func,
                       struct npu_estimate *out)
{
    struct lowerer l = { .ctx = ctx, .device = device, .func = func };
    l.arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!l.arena)
        return bt_no_memory();
    bt_status status = read_function(&l);
    if (!status)
        status = add_all(&l);
    if (!status)
        *out = estimate(&l);
    bt_arena_destroy(l.arena);
    return status;
}

bt_status npu_supports(bt_ctx *ctx, void *device, const bt_func *func)
{
    struct npu_estimate unused;
    return npu_estimate(ctx, device, func, &unused);
}

bt_status npu_lower(bt_ctx *ctx, void *device, bt_arena *arena, const bt_func *func,
                    bt_lowering *out)
{
    struct lowerer l = {
        .ctx = ctx, .device = device, .arena = arena, .func = func, .out = out
    };
    BT_TRY(read_function(&l));
    BT_TRY(add_all(&l));
    const bt_type **temps = BT_NEWS(arena, const bt_type *, out->ntemp);
    if (!temps)
        return bt_no_memory();
    memcpy(temps, l.temps, out->ntemp * sizeof(*temps));
    out->temps = temps;
    out->has_no_text = 1;
    const struct npu_estimate way = estimate(&l);
    bt_text text;
    bt_text_init(&text, arena);
    npu_estimate_print(&way, &text);
    out->way = bt_text_get(&text);
    return out->way ? NULL : bt_no_memory();
}

bt_status npu_compile(bt_ctx *ctx, void *device, bt_arena *arena, uint32_t form,
                      uint32_t n, const bt_kernel *const *kernels,
                      bt_kernel_code *const *out)
{
    (void)ctx, (void)device, (void)form;
    for (uint32_t i = 0; i < n; i++) {
        bt_text text;
        bt_text_init(&text, arena);
        BT_TRY(npu_code_write(kernels[i]->content, &text));
        *out[i] =
            (bt_kernel_code){ .form = BT_CODE_BYTES, .at = text.at, .nbytes = text.len };
    }
    return NULL;
}
