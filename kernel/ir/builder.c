/* Builders: open blocks, presets, operands. Bindings are in bindings.c. */
#include "ir/builder.h"

#include <string.h>

#include "ir/func.h"
#include "ir/store.h"

bt_status bt__builder_create(bt_ctx *ctx, bt_store *store, const bt_module *module,
                             const bt__typer *typer, bt_builder **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_builder *b = arena ? BT_NEW(arena, bt_builder) : NULL;
    if (!b) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *b = (bt_builder){
        .ctx = ctx,
        .store = bt_store_ref(store),
        .module = module ? bt_module_ref(module) : NULL,
        .arena = arena,
        .typer = typer,
        .infer = typer != NULL,
    };
    *out = b;
    return NULL;
}

void bt_builder_destroy(bt_builder *b)
{
    if (!b)
        return;
    bt_module_unref(b->module);
    bt_store_unref(b->store);
    bt_arena_destroy(b->arena);
}

bt_ctx *bt_builder_ctx(const bt_builder *b)
{
    return b->ctx;
}

bt_store *bt_builder_store(const bt_builder *b)
{
    return b->store;
}

void bt_builder_set_infer(bt_builder *b, int infer)
{
    b->infer = infer && b->typer;
}

/* ---- presets ---- */

void bt_builder_at(bt_builder *b, bt_span span, bt_prov prov)
{
    b->preset.span = span;
    b->preset.prov = prov;
}

void bt_builder_name(bt_builder *b, const char *hint)
{
    b->preset.name = NULL;
    if (hint && !(b->preset.name = bt_name_of(b->store, hint)))
        b->failed = 1;
}

void bt_builder_type(bt_builder *b, const bt_type *type)
{
    b->preset.type = type;
}

void bt_builder_layout(bt_builder *b, const bt_layout *layout)
{
    b->preset.layout = layout;
}

void bt_builder_device(bt_builder *b, uint32_t device)
{
    b->preset.device = device;
}

void bt_builder_like(bt_builder *b, const bt_value *value)
{
    b->preset.span = value->span;
    b->preset.prov = value->prov;
    b->preset.name = value->name;
    b->preset.device = value->device;
}

bt_prov bt__builder_join(bt_builder *b, bt_prov one, bt_prov other)
{
    bt_prov both = bt_prov_join(b->store, one, other);
    if (!both && (one || other))
        b->failed = 1;
    return both;
}

/* ---- nodes and blocks ---- */

void *bt__node(bt_builder *b, uint32_t kind, size_t nbytes)
{
    bt_value *value = bt_arena_alloc(bt_store_arena(b->store), 1, nbytes);
    if (!value)
        return NULL;
    value->kind = kind;
    value->id = bt__store_value_id(b->store);
    return value;
}

uint32_t bt__builder_select(bt_builder *b, uint32_t frame)
{
    uint32_t before = b->selected;
    b->selected = frame;
    return before;
}

bt_status bt__builder_append(bt_builder *b, const bt_value *value)
{
    if (b->depth == 0)
        return bt_fail(b->ctx, BT_ERR_ARGUMENT,
                       "a %s is built outside of any block: call bt_block_begin first",
                       bt_value_kind_name(value->kind));
    if (b->nbinding >= bt_ctx_limits(b->ctx)->nodes)
        return bt_fail_at(b->ctx, BT_ERR_LIMIT, b->store, value->span,
                          "more than %u bindings (limits.nodes)",
                          bt_ctx_limits(b->ctx)->nodes);
    if (!BT_PUSH(b->arena, &b->frames.at[b->selected].bindings, value))
        return bt_no_memory();
    b->nbinding++;
    return NULL;
}

/* `Tensor[_, _, layout]`, which says no more than how it lies. */
static const bt_type *annotation(bt_store *store, const bt_layout *layout)
{
    return bt_type_tensor_layout(store, bt_type_hole(store, BT_KIND_SHAPE),
                                 bt_type_hole(store, BT_KIND_DTYPE), layout);
}

bt_status bt__builder_emit(bt_builder *b, bt_value *value, const bt_value **out)
{
    const bt_layout *layout = b->preset.layout;
    const bt_type *stated = b->preset.stated;
    if (b->failed)
        return bt_no_memory();
    value->span = b->preset.span;
    value->prov = b->preset.prov;
    value->device = b->preset.device;
    value->name = b->preset.name;
    value->type = b->preset.type;
    b->preset.name = NULL;
    b->preset.type = NULL;
    b->preset.layout = NULL;
    b->preset.stated = NULL;
    if (b->infer && !value->type && value->kind != BT_VALUE_CLOSURE)
        BT_TRY(b->typer->infer(b->ctx, b->store, b->module, b->promises, layout, stated,
                               value));
    else if (layout && !value->type && !(value->type = annotation(b->store, layout)))
        return bt_store_why(b->ctx, b->store);
    BT_TRY(bt__builder_append(b, value));
    *out = value;
    return NULL;
}

bt_status bt_block_begin(bt_builder *b, uint32_t nparam, const bt_param *const *params)
{
    uint32_t limit = bt_ctx_limits(b->ctx)->depth;
    if (b->depth >= limit)
        return bt_fail_at(b->ctx, BT_ERR_LIMIT, b->store, b->preset.span,
                          "blocks are nested deeper than %u", limit);
    for (uint32_t i = 0; i < nparam; i++) {
        if (!params[i])
            return bt_fail(b->ctx, BT_ERR_ARGUMENT, "parameter %u of a block is missing",
                           i);
    }
    if (b->depth == b->frames.len) {
        struct bt__frame fresh = { 0 };
        if (!BT_PUSH(b->arena, &b->frames, fresh))
            return bt_no_memory();
    }
    struct bt__frame *frame = &b->frames.at[b->depth];
    frame->nparam = nparam;
    frame->params = bt__store_copy(b->store, params, nparam, sizeof(*params));
    if (!frame->params)
        return bt_no_memory();
    frame->bindings.len = 0;
    frame->outer = b->selected;
    b->selected = b->depth++;
    return NULL;
}

/* A closure that was declared must have got its function by the end of its block. */
static bt_status check_closures(bt_builder *b, const struct bt__frame *frame)
{
    for (uint32_t i = 0; i < frame->bindings.len; i++) {
        const bt_closure_value *closure = bt_as_closure(frame->bindings.at[i]);
        if (closure && !closure->func)
            return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, closure->base.span,
                              "closure %%%s was declared, but has no body: call "
                              "bt_build_closure_body",
                              closure->base.name ? closure->base.name : "_");
    }
    return NULL;
}

/* Whether the frame holds what the block holds. */
static int is_same_block(const struct bt__frame *frame, const bt_value *result,
                         const bt_block *block)
{
    return block->result == result && block->nparam == frame->nparam &&
           block->nbinding == frame->bindings.len &&
           (!frame->nparam || memcmp(block->params, frame->params,
                                     frame->nparam * sizeof(*frame->params)) == 0) &&
           (!block->nbinding || memcmp(block->bindings, frame->bindings.at,
                                       block->nbinding * sizeof(*block->bindings)) == 0);
}

static const bt_block *new_block(bt_builder *b, const struct bt__frame *frame,
                                 const bt_value *result)
{
    bt_block *block = BT_NEW(bt_store_arena(b->store), bt_block);
    const bt_value *const *bindings = bt__store_copy(
        b->store, frame->bindings.at, frame->bindings.len, sizeof(*frame->bindings.at));
    if (!block || !bindings)
        return NULL;
    *block = (bt_block){
        .nparam = frame->nparam,
        .params = frame->params,
        .nbinding = frame->bindings.len,
        .bindings = bindings,
        .result = result,
    };
    return block;
}

bt_status bt__block_end_as(bt_builder *b, const bt_value *result, const bt_block *old,
                           const bt_block **out)
{
    if (b->failed)
        return bt_no_memory();
    if (b->depth == 0 || b->selected != b->depth - 1)
        return bt_fail(b->ctx, BT_ERR_ARGUMENT, "bt_block_end without bt_block_begin");
    if (!result)
        return bt_fail(b->ctx, BT_ERR_ARGUMENT, "a block needs a result");
    const struct bt__frame *frame = &b->frames.at[b->depth - 1];
    BT_TRY(check_closures(b, frame));
    const bt_block *block = old;
    if (!old || !is_same_block(frame, result, old))
        block = new_block(b, frame, result);
    if (!block)
        return bt_no_memory();
    b->depth--;
    b->selected = frame->outer;
    *out = block;
    return NULL;
}

bt_status bt_block_end(bt_builder *b, const bt_value *result, const bt_block **out)
{
    return bt__block_end_as(b, result, NULL, out);
}

/* ---- operands ---- */

/* Bounds the recursion over tuples of constants. */
enum { MAX_CONST_DEPTH = 256 };

static const bt_type *const_type(bt_store *store, const bt_object *object, uint32_t depth)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (tensor)
        return bt_type_tensor_of(store, tensor->dtype, tensor->rank, tensor->dims);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    if (!tuple || depth == 0)
        return NULL;
    const bt_type **fields =
        BT_NEWS(bt_store_arena(store), const bt_type *, tuple->nfield);
    for (uint32_t i = 0; fields && i < tuple->nfield; i++) {
        fields[i] = const_type(store, tuple->fields[i], depth - 1);
        if (!fields[i])
            return NULL;
    }
    return fields ? bt_type_tuple(store, tuple->nfield, fields) : NULL;
}

const bt_type *bt__const_type(bt_store *store, const bt_object *object)
{
    return const_type(store, object, MAX_CONST_DEPTH);
}

/* Whether it is a tensor or a tuple of constants. */
static int is_constant(const bt_object *object, uint32_t depth)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    if (!tuple)
        return bt_object_as_tensor(object) != NULL;
    for (uint32_t i = 0; depth && i < tuple->nfield; i++) {
        if (!is_constant(tuple->fields[i], depth - 1))
            return 0;
    }
    return depth != 0;
}

bt_status bt_build_const(bt_builder *b, const bt_object *object, const bt_value **out)
{
    if (!object || !is_constant(object, MAX_CONST_DEPTH))
        return bt_fail(b->ctx, BT_ERR_ARGUMENT,
                       "a constant must be a tensor or a tuple of constants, nested at "
                       "most %d deep",
                       MAX_CONST_DEPTH);
    bt_const *value = bt__node(b, BT_VALUE_CONST, sizeof(*value));
    if (!value)
        return bt_no_memory();
    value->base.type = const_type(b->store, object, MAX_CONST_DEPTH);
    if (!value->base.type)
        return bt_store_why(b->ctx, b->store);
    if (!bt__store_hold(b->store, object))
        return bt_no_memory();
    value->object = object;
    *out = &value->base;
    return NULL;
}

bt_status bt_build_scalar(bt_builder *b, bt_dtype dtype, double number,
                          const bt_value **out)
{
    bt_tensor *tensor;
    BT_TRY(bt_tensor_scalar(b->ctx, dtype, number, &tensor));
    bt_status status = bt_build_const(b, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

/* The binding is known to its builder only, and so may still change. */
bt_status bt_build_name(bt_builder *b, const bt_value *value, const char *name)
{
    struct bt__frame *frame = b->depth ? &b->frames.at[b->selected] : NULL;
    const int is_last = frame && frame->bindings.len &&
                        frame->bindings.at[frame->bindings.len - 1] == value;
    if (value->name || (!is_last && value->kind != BT_VALUE_CONST))
        return NULL;
    const char *interned = bt_name_of(b->store, name);
    if (!interned)
        return bt_no_memory();
    ((bt_value *)(uintptr_t)value)->name = interned;
    return NULL;
}

bt_status bt_build_global(bt_builder *b, const char *name, const bt_value **out)
{
    bt_global_ref *value = bt__node(b, BT_VALUE_GLOBAL, sizeof(*value));
    if (!value || !(value->base.name = bt_name_of(b->store, name)))
        return bt_no_memory();
    value->base.span = b->preset.span;
    const bt_global *global = b->module ? bt_module_find(b->module, name) : NULL;
    if (global)
        value->base.type = global->type;
    *out = &value->base;
    return NULL;
}

bt_status bt_build_param(bt_builder *b, const char *name, const bt_type *type,
                         const bt_param **out)
{
    bt_param *value = bt__node(b, BT_VALUE_PARAM, sizeof(*value));
    if (!value)
        return bt_no_memory();
    if (name && !(value->base.name = bt_name_of(b->store, name)))
        return bt_no_memory();
    value->base.type = type;
    value->base.span = b->preset.span;
    value->base.prov = b->preset.prov;
    value->base.device = b->preset.device;
    *out = value;
    return NULL;
}
