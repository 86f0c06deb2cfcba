#include "machine.h"

#include <inttypes.h>
#include <string.h>

#include <baton/baton.h>

#include "check.h"
#include "operate.h"
#include "pattern.h"
#include "unmatched.h"

/* ---- reading and writing ---- */

static struct call_frame *top_frame(struct machine *m)
{
    return &m->frames[m->nframe - 1];
}

static bt_object **slots_of(struct machine *m)
{
    return m->slots + top_frame(m)->slots;
}

static bt_status make_closure(struct machine *m, const struct code *code, struct env *env,
                              uint32_t ncapture, bt_object *const *captures,
                              bt_object **out)
{
    bt_object *all[1];
    bt_object **with_env =
        ncapture ? BT_NEWS(bt_ctx_scratch(m->ctx), bt_object *, (size_t)ncapture + 1)
                 : all;
    if (!with_env)
        return bt_no_memory();
    if (ncapture)
        memcpy(with_env, captures, ncapture * sizeof(*captures));
    if (env)
        with_env[ncapture] = &env->tuple.base;
    bt_closure *closure;
    BT_TRY(bt_closure_create(m->ctx, &m->bytecode->identity->base, code,
                             ncapture + (env != NULL), with_env, &closure));
    *out = &closure->base;
    return NULL;
}

/* A new reference to what an operand stands for. */
static bt_status read_operand(struct machine *m, const struct operand *operand,
                              bt_object **out)
{
    struct call_frame *frame = top_frame(m);
    const struct code *code;
    switch (operand->from) {
    case FROM_SLOT: *out = bt_object_ref(slots_of(m)[operand->index]); return NULL;
    case FROM_CAPTURE:
        *out = bt_object_ref(frame->closure->captures[operand->index]);
        return NULL;
    case FROM_GROUP: {
        uint32_t n = frame->code->group->ncapture;
        struct env *env = frame->env ? frame->env->outer : NULL;
        return make_closure(m, frame->code->group->codes[operand->index], env, n,
                            frame->closure->captures, out);
    }
    case FROM_OBJECT: *out = bt_object_ref(operand->object); return NULL;
    default:
        BT_TRY(bytecode_code(m->ctx, m->bytecode, operand->global, &code));
        return make_closure(m, code, NULL, 0, NULL, out);
    }
}

/* Releases what the arguments of a step hold; accepts NULL entries. */
static void release(uint32_t n, bt_object **objects)
{
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(objects[i]);
}

static bt_status fail(struct machine *m, const struct step *step, uint32_t code,
                      const char *text)
{
    return bt_fail_at(m->ctx, code, m->bytecode->module->store, step->value->span, "%s",
                      text);
}

/* A finished step: its value is stored, what dies with it released. */
static bt_status deliver(struct machine *m, const struct step *step, bt_object *object)
{
    struct call_frame *frame = top_frame(m);
    bt_object **slots = slots_of(m);
    slots[step->slot] = object;
    bt_status status = NULL;
    if (step->is_late)
        status = check_after(m, frame->env, bt_as_call(step->value), object);
    else if (frame->env && step->value->type)
        status = env_bind_value(frame->env, m->types, step->value->type, object);
    if (!status && step->holds)
        status = check_contents(m, frame->env, step->holds, object);
    for (uint32_t i = 0; i < step->ndead; i++) {
        bt_object_unref(slots[step->dead[i]]);
        slots[step->dead[i]] = NULL;
    }
    m->activations[m->nactivation - 1].next++;
    return status;
}

/* ---- stacks ---- */

static bt_status grow(struct machine *m, void **at, size_t *cap, size_t len, size_t item)
{
    if (len <= *cap)
        return NULL;
    size_t wanted = *cap ? *cap : 64, nbytes;
    while (wanted < len) {
        if (!bt_mul_size(wanted, 2, &wanted))
            return bt_no_memory();
    }
    if (!bt_mul_size(wanted, item, &nbytes))
        return bt_no_memory();
    void *grown = bt_realloc(m->bytecode->registry, *at, *cap * item, nbytes);
    if (!grown)
        return bt_no_memory();
    *at = grown;
    *cap = wanted;
    return NULL;
}

void machine_free_stacks(struct machine *m)
{
    bt_registry *registry = m->bytecode->registry;
    bt_free(registry, m->slots, m->slot_cap * sizeof(*m->slots));
    bt_free(registry, m->frames, m->frame_cap * sizeof(*m->frames));
    bt_free(registry, m->activations, m->activation_cap * sizeof(*m->activations));
}

static bt_status push_activation(struct machine *m, const struct block *block,
                                 const struct step *owner)
{
    BT_TRY(grow(m, (void **)&m->activations, &m->activation_cap, m->nactivation + 1,
                sizeof(*m->activations)));
    m->activations[m->nactivation++] =
        (struct activation){ .block = block, .owner = owner };
    return NULL;
}

static void pop_frame(struct machine *m)
{
    struct call_frame *frame = top_frame(m);
    for (size_t i = frame->slots; i < m->nslot; i++)
        bt_object_unref(m->slots[i]);
    m->nslot = frame->slots;
    env_unref(frame->env);
    bt_object_unref(frame->held);
    while (m->nactivation && m->activations[m->nactivation - 1].owner)
        m->nactivation--;
    if (m->nactivation)
        m->nactivation--;
    m->nframe--;
}

static const char *name_of(const struct code *code)
{
    return code->func->name ? code->func->name : "a closure";
}

static bt_status push_frame(struct machine *m, const struct code *code,
                            const bt_closure *closure, struct env *env,
                            const struct step *caller, uint32_t narg,
                            bt_object *const *args)
{
    if (m->nframe > bt_ctx_limits(m->ctx)->frames) // the entry is no nested call
        return bt_fail_at(m->ctx, BT_ERR_LIMIT, m->bytecode->module->store,
                          code->func->span, "%s: more than %u nested calls",
                          name_of(code), bt_ctx_limits(m->ctx)->frames);
    BT_TRY(
        grow(m, (void **)&m->frames, &m->frame_cap, m->nframe + 1, sizeof(*m->frames)));
    BT_TRY(grow(m, (void **)&m->slots, &m->slot_cap, m->nslot + code->nslot,
                sizeof(*m->slots)));
    BT_TRY(push_activation(m, &code->block, NULL));
    m->frames[m->nframe++] = (struct call_frame){
        .code = code, .env = env_ref(env), .caller = caller, .slots = m->nslot
    };
    if (closure) {
        top_frame(m)->closure = closure;
        top_frame(m)->held = bt_object_ref(&closure->base);
    }
    if (code->nslot)
        memset(m->slots + m->nslot, 0, code->nslot * sizeof(*m->slots));
    for (uint32_t i = 0; i < narg && i < code->block.nparam; i++)
        m->slots[m->nslot + code->block.params[i]] = bt_object_ref(args[i]);
    m->nslot += code->nslot;
    if (m->hook && m->hook->enter)
        m->hook->enter(m->hook->self, code->func);
    return NULL;
}

/* ---- calls ---- */

static int is_open(const bt_type *type)
{
    return type && type->has & (BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_HOLE);
}

static bt_status bind_use(struct machine *m, struct env *env, struct env *caller,
                          const bt_type *type, const bt_type *use)
{
    const bt_type *term;
    if (!(type->has & BT_HAS_VAR))
        return NULL;
    BT_TRY(env_resolve(m->ctx, caller, m->types, use, &term));
    return env_bind_type(env, m->types, type, term);
}

/* A polymorphic function that was passed where a monomorphic one is wanted is called
 * without type arguments: they follow from the types that the call has. */
static bt_status bind_instance(struct machine *m, struct env *env, struct env *caller,
                               const bt_func *func, const bt_call *call)
{
    for (uint32_t i = 0; i < func->block->nparam && i < call->narg; i++)
        BT_TRY(bind_use(m, env, caller, func->block->params[i]->base.type,
                        call->args[i]->type));
    return bind_use(m, env, caller, func->result, call->base.type);
}

/* The environment of a call: type arguments, what the values show, what the call's types
 * say. NULL where the function has no use for one. */
static bt_status create_env(struct machine *m, struct env *caller,
                            const struct code *code, struct env *outer,
                            const bt_call *call, bt_object *const *args, struct env **out)
{
    const bt_func *func = code->func;
    *out = NULL;
    if (!code->is_open && !outer)
        return NULL;
    struct env *env = env_create(m->types, outer);
    bt_status status = env ? NULL : bt_no_memory();
    for (uint32_t i = 0;
         !status && call && call->ntype_arg == func->nvar && i < func->nvar; i++) {
        const bt_type *term;
        status = env_resolve(m->ctx, caller, m->types, call->type_args[i], &term);
        if (!status && !is_open(term))
            status = env_bind(env, func->vars[i], term);
    }
    for (uint32_t i = 0; !status && i < func->block->nparam; i++)
        status =
            env_bind_value(env, m->types, func->block->params[i]->base.type, args[i]);
    if (!status && call && func->nvar && call->ntype_arg != func->nvar)
        status = bind_instance(m, env, caller, func, call);
    if (status)
        env_unref(env);
    else
        *out = env;
    return status;
}

static bt_status enter(struct machine *m, const struct step *step,
                       const bt_closure *closure, uint32_t narg, bt_object *const *args)
{
    if (closure->executor != &m->bytecode->identity->base) // the code may be gone
        return fail(m, step, BT_ERR_RUNTIME,
                    "this function cannot be called here: another session made it");
    const struct code *code = closure->code;
    struct env *caller_env = top_frame(m)->env, *env;
    uint32_t ncapture = code->group ? code->group->ncapture : 0;
    struct env *outer = closure->ncapture > ncapture
                            ? (struct env *)(void *)closure->captures[ncapture]
                            : NULL;
    if (narg != code->block.nparam)
        return fail(m, step, BT_ERR_INTERNAL,
                    "a function is called with another number of arguments");
    if (m->most_steps && ++m->nstep > m->most_steps)
        return bt_fail_at(m->ctx, BT_ERR_LIMIT, m->bytecode->module->store,
                          code->func->span, "%s: more than %" PRIu64 " calls in one run",
                          name_of(code), m->most_steps);
    BT_TRY(create_env(m, caller_env, code, outer, bt_as_call(step->value), args, &env));
    const struct step *caller = step;
    if (step->is_tail && !step->is_late) {
        caller = top_frame(m)->caller;
        pop_frame(m);
    }
    bt_status status = push_frame(m, code, closure, env, caller, narg, args);
    env_unref(env);
    return status;
}

/* ---- steps ---- */

static bt_status step_call(struct machine *m, const struct step *step, bt_object **args)
{
    const bt_call *call = bt_as_call(step->value);
    bt_object *result = NULL;
    BT_TRY(check_before(m, top_frame(m)->env, call));
    if (call->callee_kind == BT_CALLEE_VALUE) {
        const bt_closure *closure = bt_object_as_closure(args[0]);
        if (!closure)
            return fail(m, step, BT_ERR_INTERNAL, "what is called is not a function");
        return enter(m, step, closure, step->noperand - 1, args + 1);
    }
    if (call->callee_kind == BT_CALLEE_CTOR) {
        bt_adt *adt;
        BT_TRY(bt_adt_create(m->ctx, call->ctor->tag, call->ctor->name, step->noperand,
                             args, &adt));
        result = &adt->base;
    } else {
        BT_TRY(operate(m, top_frame(m)->env, step, step->noperand, args, &result));
    }
    return deliver(m, step, result);
}

static bt_status step_if(struct machine *m, const struct step *step, bt_object **args)
{
    const bt_tensor *condition = bt_object_as_tensor(args[0]);
    if (!condition || condition->nelem != 1)
        return fail(m, step, BT_ERR_INTERNAL, "a condition is not a scalar");
    return push_activation(m, &step->blocks[bt_tensor_get_int(condition, 0) ? 0 : 1],
                           step);
}

/* The fields of a data value that comes from outside have not been checked. */
static bt_status check_bound(struct machine *m, const bt_block *block,
                             bt_object *const *bound)
{
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(check_value(m, top_frame(m)->env, &block->params[i]->base, bound[i]));
    return NULL;
}

static bt_status fail_match(struct machine *m, const struct step *step, bt_object *data)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(m->ctx));
    BT_TRY(unmatched_text(m->ctx, m->bytecode->module->store, bt_as_match(step->value),
                          data, &text));
    return fail(m, step, BT_ERR_RUNTIME, text.at);
}

static bt_status step_match(struct machine *m, const struct step *step, bt_object **args)
{
    const bt_match *match = bt_as_match(step->value);
    for (uint32_t i = 0; i < match->nclause; i++) {
        struct block *block = &step->blocks[i];
        bt_object **bound = BT_NEWS(bt_ctx_scratch(m->ctx), bt_object *, block->nparam);
        uint32_t n = 0;
        if (!bound)
            return bt_no_memory();
        if (!pattern_matches(match->clauses[i]->pattern, args[0], bound, &n))
            continue;
        BT_TRY(push_activation(m, block, step));
        for (uint32_t j = 0; j < n; j++)
            slots_of(m)[block->params[j]] = bt_object_ref(bound[j]);
        return check_bound(m, match->clauses[i]->block, bound);
    }
    return fail_match(m, step, args[0]);
}

static bt_status collect(struct machine *m)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    bt_object **roots = BT_NEWS(scratch, bt_object *, m->nslot + m->nframe);
    uint32_t n = 0;
    if (!roots)
        return bt_no_memory();
    for (size_t i = 0; i < m->nslot; i++) {
        if (m->slots[i])
            roots[n++] = m->slots[i];
    }
    for (size_t i = 0; i < m->nframe; i++) {
        if (m->frames[i].held)
            roots[n++] = m->frames[i].held;
    }
    BT_TRY(bt_heap_collect(m->ctx, m->heap, n, roots));
    m->collect_at = 2 * bt_heap_nref(m->heap) + 1024;
    return NULL;
}

static bt_status step_ref(struct machine *m, const struct step *step, bt_object **args)
{
    bt_ref *ref;
    if (bt_heap_nref(m->heap) >= m->collect_at)
        BT_TRY(collect(m));
    BT_TRY(bt_ref_create(m->ctx, m->heap, args[0], &ref));
    return deliver(m, step, &ref->base);
}

static bt_status step_closure(struct machine *m, const struct step *step,
                              bt_object **args)
{
    bt_object *closure;
    const struct code *code = step->group->codes[step->member];
    BT_TRY(make_closure(m, code, top_frame(m)->env, step->noperand, args, &closure));
    return deliver(m, step, closure);
}

static bt_status step_simple(struct machine *m, const struct step *step, bt_object **args)
{
    const bt_value *value = step->value;
    bt_ref *ref = bt_object_as_ref(args[0]);
    bt_tuple *tuple;
    if (value->kind == BT_VALUE_PROJ) {
        const bt_tuple *from = bt_object_as_tuple(args[0]);
        uint32_t index = bt_as_proj(value)->index;
        if (!from || index >= from->nfield)
            return fail(m, step, BT_ERR_INTERNAL,
                        "a projection of what has no such field");
        return deliver(m, step, bt_object_ref(from->fields[index]));
    }
    if (value->kind != BT_VALUE_TUPLE && !ref)
        return fail(m, step, BT_ERR_INTERNAL,
                    "a reference is read or written that is none");
    if (ref && !ref->content && value->kind != BT_VALUE_TUPLE)
        return fail(m, step, BT_ERR_RUNTIME, "the session of this reference was closed");
    if (value->kind == BT_VALUE_READ)
        return deliver(m, step, bt_object_ref(ref->content));
    if (value->kind == BT_VALUE_WRITE)
        bt_ref_write(ref, args[1]);
    BT_TRY(bt_tuple_create(m->ctx, value->kind == BT_VALUE_TUPLE ? step->noperand : 0,
                           args, &tuple));
    return deliver(m, step, &tuple->base);
}

static bt_status dispatch(struct machine *m, const struct step *step, bt_object **args)
{
    switch (step->value->kind) {
    case BT_VALUE_CALL: return step_call(m, step, args);
    case BT_VALUE_CLOSURE: return step_closure(m, step, args);
    case BT_VALUE_IF: return step_if(m, step, args);
    case BT_VALUE_MATCH: return step_match(m, step, args);
    case BT_VALUE_REF: return step_ref(m, step, args);
    case BT_VALUE_TUPLE:
    case BT_VALUE_PROJ:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE: return step_simple(m, step, args);
    default:
        return fail(m, step, BT_ERR_INTERNAL,
                    "a binding of a kind that interp does not know");
    }
}

/* ---- stops ---- */

/* The slot of a value of the block, or of one in it. Blocks nest to a bounded depth. */
static int find_slot(const struct block *block, const bt_block *source,
                     const bt_value *value, uint32_t *out)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        *out = block->params[i];
        if (&source->params[i]->base == value)
            return 1;
    }
    for (uint32_t i = 0; i < block->nstep; i++) {
        const struct step *step = &block->steps[i];
        *out = step->slot;
        if (step->value == value)
            return 1;
        for (uint32_t k = 0; k < step->nblock; k++) {
            if (find_slot(&step->blocks[k], bt_value_region(step->value, k), value, out))
                return 1;
        }
    }
    return 0;
}

/* A stop's `look`. */
static bt_status look(bt_ctx *ctx, void *opaque, const bt_value *value, bt_object **out)
{
    struct machine *m = opaque;
    const struct call_frame *frame = top_frame(m);
    const struct group *group = frame->code->group;
    bt_object *found = NULL;
    uint32_t slot;
    (void)ctx;
    if (find_slot(&frame->code->block, frame->code->func->block, value, &slot))
        found = slots_of(m)[slot];
    for (uint32_t i = 0; group && !found && i < group->ncapture; i++) {
        if (group->captures[i] == value)
            found = frame->closure->captures[i];
    }
    *out = found ? bt_object_ref(found) : NULL;
    return NULL;
}

static bt_status stop_before(struct machine *m, const struct step *step)
{
    const bt_stop stop = { .func = top_frame(m)->code->func,
                           .next = step->value,
                           .depth = (uint32_t)m->nframe,
                           .frame = m,
                           .look = look };
    return m->hook && m->hook->before ? m->hook->before(m->hook->self, &stop) : NULL;
}

enum { FEW = 8 }; /* operands that need no memory */

static bt_status run_step(struct machine *m, const struct step *step)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_object *few[FEW] = { 0 };
    bt_object **args =
        step->noperand <= FEW ? few : BT_NEWS(scratch, bt_object *, step->noperand);
    bt_status status = args ? stop_before(m, step) : bt_no_memory();
    uint32_t n = 0;
    while (!status && n < step->noperand) {
        status = read_operand(m, &step->operands[n], &args[n]);
        n += !status;
    }
    if (!status)
        status = dispatch(m, step, args);
    release(n, args ? args : few);
    bt_arena_release(scratch, mark);
    return status;
}

/* The end of a block: its result goes to the if or match that entered it, or to the
 * caller. */
static bt_status leave(struct machine *m, bt_object **out)
{
    struct activation *activation = &m->activations[m->nactivation - 1];
    const struct step *owner = activation->owner;
    bt_object *result;
    BT_TRY(read_operand(m, &activation->block->result, &result));
    if (owner) {
        m->nactivation--;
        return deliver(m, owner, result);
    }
    const struct step *caller = top_frame(m)->caller;
    pop_frame(m);
    if (m->nframe)
        return deliver(m, caller, result);
    *out = result;
    return NULL;
}

/* Beside an error of another file, as of a library, the nearest call from elsewhere. */
static bt_status note_caller(struct machine *m, bt_status status)
{
    for (size_t i = m->nframe; i-- > 1 && status->place.file && !status->note;) {
        const bt_value *call = m->frames[i].caller->value;
        bt_place place;
        bt_span_place(call->type->store, call->span, &place);
        if (place.file && strcmp(place.file, status->place.file) != 0)
            return bt_note(m->ctx, status, call->type->store, call->span, "called here");
    }
    return status;
}

bt_status machine_run(struct machine *m, const struct code *code, uint32_t narg,
                      bt_object *const *args, const int64_t *dims, bt_object **out)
{
    struct env *env;
    BT_TRY(create_env(m, NULL, code, NULL, NULL, args, &env));
    bt_status status = NULL;
    for (uint32_t i = 0; env && !status && i < code->func->nvar; i++) {
        const bt_type *dim = dims[i] < 0 ? NULL : bt_dim(m->types, dims[i]);
        if (dim) // of a sum; what an axis is by itself is bound
            status = env_bind_type(env, m->types, code->func->vars[i], dim);
        else if (dims[i] >= 0)
            status = bt_no_memory();
    }
    if (!status)
        status = push_frame(m, code, NULL, env, NULL, narg, args);
    env_unref(env);
    const struct step *step = NULL;
    while (!status && m->nframe) {
        const struct activation *activation = &m->activations[m->nactivation - 1];
        const struct block *block = activation->block;
        step = activation->next < block->nstep ? &block->steps[activation->next] : NULL;
        if (bt_ctx_cancelled(m->ctx))
            status = bt_fail(m->ctx, BT_ERR_CANCELLED, "the run was cancelled");
        else if (step)
            status = run_step(m, step);
        else
            status = leave(m, out);
    }
    if (status)
        status = note_caller(m, status);
    while (m->nframe)
        pop_frame(m);
    m->nactivation = 0;
    if (step && status && status->code == BT_ERR_MEMORY && !status->place.file &&
        !status->note) // what was popped left memory for a message
        status = fail(m, step, BT_ERR_MEMORY, status->message);
    return status;
}
