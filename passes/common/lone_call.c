#include "common/lone_call.h"

#include <stdio.h>

#include <baton/op.h>

/* ---- whether it is asked ---- */

static int is_the_call(void *state, const bt_call *call)
{
    return call == state;
}

static bt_status find_claim(bt_ctx *ctx, bt_arena *arena, const bt_target *target,
                            const bt_call *call, int *out)
{
    const char *const *texts = target->patterns;
    *out = !texts;
    for (; texts && *texts && !*out; texts++) {
        const bt_call_pattern *pattern;
        bt_call_match match;
        BT_TRY(bt_call_pattern_parse(ctx, arena, *texts, &pattern));
        BT_TRY(bt_call_pattern_match(arena, pattern, &call->base, is_the_call,
                                     (void *)(uintptr_t)call, &match));
        *out = match.nmember == 1;
    }
    return NULL;
}

/* ---- the function ---- */

struct making {
    bt_builder *b;
    bt_arena *arena;
    bt_store *store;
    const bt_call *call;
    uint32_t nparam;
    const bt_param **params;
    const bt_value **operands;
};

/* As pass partition makes them: scalars stay inside. */
static bt_status make_operands(struct making *m)
{
    uint32_t n = m->call->narg;
    m->params = BT_NEWS(m->arena, const bt_param *, n);
    m->operands = BT_NEWS(m->arena, const bt_value *, n);
    if (!m->params || !m->operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_param *param = NULL;
        char name[16];
        m->operands[i] = m->call->args[i];
        for (uint32_t k = 0; k < i; k++) {
            if (m->call->args[k] == m->call->args[i])
                m->operands[i] = m->operands[k];
        }
        if (m->operands[i] != m->call->args[i] || bt_const_number(m->call->args[i]))
            continue;
        snprintf(name, sizeof(name), "p%u", m->nparam);
        BT_TRY(bt_build_param(m->b, name, m->call->args[i]->type, &param));
        m->params[m->nparam++] = param;
        m->operands[i] = &param->base;
    }
    return NULL;
}

static bt_status make_func(bt_ctx *ctx, struct making *m, const bt_target_use *use,
                           const bt_func **out)
{
    const bt_value *value;
    bt_func fields = { .result = m->call->base.type };
    bt_dict_entry attrs[] = {
        { .kind = BT_DICT_INT, .i = 1, .name = bt_name_of(m->store, "primitive") },
        { .kind = BT_DICT_TEXT,
          .name = bt_name_of(m->store, "target"),
          .text = bt_name_of(m->store, use->text) },
    };
    fields.attrs = (bt_dict){ .n = BT_COUNT(attrs), .at = attrs };
    if (!attrs[0].name || !attrs[1].name || !attrs[1].text)
        return bt_no_memory();
    BT_TRY(make_operands(m));
    BT_TRY(bt_block_begin(m->b, m->nparam, m->params));
    BT_TRY(bt_build_again(m->b, &m->call->base, m->operands, NULL, m->call->base.type,
                          &value));
    BT_TRY(bt_block_end(m->b, value, &fields.block));
    return bt_func_create(ctx, m->store, &fields, out);
}

bt_status lone_call_ask(bt_ctx *ctx, bt_pass_call *pass, bt_store *store,
                        const bt_target_use *use, const bt_call *call, bt_status *refusal)
{
    struct making m = { .arena = pass->scratch, .store = store, .call = call };
    const bt_func *func;
    int is_claimed;
    *refusal = NULL;
    BT_TRY(find_claim(ctx, pass->scratch, use->target, call, &is_claimed));
    if (!is_claimed)
        return NULL;
    BT_TRY(bt_builder_create(ctx, store, pass->module, &m.b));
    bt_status status = make_func(ctx, &m, use, &func);
    bt_builder_destroy(m.b);
    BT_TRY(status);
    status = bt_target_supports(ctx, use, func);
    if (status && status->code != BT_ERR_UNSUPPORTED)
        return status;
    *refusal = status;
    return NULL;
}
