/*
 * Patterns of calls: "nn.relu?(nn.bias_add(nn.dense(*, *), *))".
 *
 *     pattern = call | "*" | "const" | NAME
 *     call    = OPERATOR { "|" OPERATOR } [ "?" ] "(" pattern { "," pattern } ")"
 */
#include "pass/call_pattern.h"

#include <ctype.h>
#include <string.h>

#include <baton/op.h>

#include "plugin/plugins.h"

/* Bounds on what matching may try: a node for each call, all ways through those that may
 * be absent. */
enum { MAX_NODES = 64, MAX_OPTIONAL = 12, MAX_OPS = 16, MAX_ARGS = 16 };

enum { NODE_ANY, NODE_CONST, NODE_NAME, NODE_CALL };

struct node {
    uint32_t kind;
    uint32_t slot; /* of a name: equal names have one */
    uint32_t is_optional;
    uint32_t nop, narg;
    const char *ops[MAX_OPS];
    const struct node *args[MAX_ARGS];
};

struct bt_call_pattern {
    const struct node *root;
};

/* ---- reading: 0 where it fails ---- */

struct reader {
    bt_arena *arena;
    const char *text;
    size_t at;
    const char *fault; /* NULL after a failure: no memory */
    uint32_t nnode, noptional;
    const char *names[MAX_NODES];
    uint32_t nslot;
};

static int fail(struct reader *r, const char *what)
{
    r->fault = what;
    return 0;
}

static char peek(struct reader *r)
{
    while (isspace((unsigned char)r->text[r->at]))
        r->at++;
    return r->text[r->at];
}

static int take(struct reader *r, char c)
{
    if (peek(r) != c)
        return 0;
    r->at++;
    return 1;
}

static int read_word(struct reader *r, const char **out)
{
    peek(r);
    size_t start = r->at;
    while (isalnum((unsigned char)r->text[r->at]) ||
           (r->text[r->at] && strchr("_.", r->text[r->at])))
        r->at++;
    if (r->at == start)
        return fail(r, "expected an operator, a name or *");
    *out = bt_arena_text(r->arena, r->text + start, r->at - start);
    return *out != NULL;
}

static uint32_t slot_of(struct reader *r, const char *name)
{
    uint32_t i = 0;
    while (i < r->nslot && strcmp(r->names[i], name) != 0)
        i++;
    if (i == r->nslot)
        r->names[r->nslot++] = name;
    return i;
}

static int read_node(struct reader *r, const struct node **out);

static int read_args(struct reader *r, struct node *node)
{
    do {
        if (node->narg == MAX_ARGS)
            return fail(r, "there are too many arguments");
        if (!read_node(r, &node->args[node->narg++]))
            return 0;
    } while (take(r, ','));
    return take(r, ')') || fail(r, "expected , or )");
}

/* After the first operator's name. */
static int read_call(struct reader *r, struct node *node)
{
    node->kind = NODE_CALL;
    while (take(r, '|')) {
        if (node->nop == MAX_OPS)
            return fail(r, "there are too many operators");
        if (!read_word(r, &node->ops[node->nop++]))
            return 0;
    }
    node->is_optional = (uint32_t)take(r, '?');
    r->noptional += node->is_optional;
    if (r->noptional > MAX_OPTIONAL)
        return fail(r, "there are too many calls that may be absent");
    return take(r, '(') ? read_args(r, node) : fail(r, "expected (");
}

/* Nesting is bounded by the number of nodes. */
static int read_node(struct reader *r, const struct node **out)
{
    struct node *node = BT_NEW(r->arena, struct node);
    if (!node)
        return 0;
    *out = node;
    if (r->nnode++ == MAX_NODES)
        return fail(r, "it is too large");
    if (take(r, '*'))
        return 1;
    if (!read_word(r, &node->ops[node->nop++]))
        return 0;
    char next = peek(r);
    if (next && strchr("|?(", next))
        return read_call(r, node);
    node->kind = strcmp(node->ops[0], "const") == 0 ? NODE_CONST : NODE_NAME;
    if (node->kind == NODE_NAME)
        node->slot = slot_of(r, node->ops[0]);
    return 1;
}

static int read_all(struct reader *r, const struct node **out)
{
    if (!read_node(r, out))
        return 0;
    if (peek(r))
        return fail(r, "expected the end");
    return (*out)->kind == NODE_CALL || fail(r, "a pattern is a call, as in nn.relu(*)");
}

bt_status bt_call_pattern_parse(bt_ctx *ctx, bt_arena *arena, const char *text,
                                const bt_call_pattern **out)
{
    struct reader r = { .arena = arena, .text = text };
    bt_call_pattern *pattern = BT_NEW(arena, bt_call_pattern);
    if (!pattern)
        return bt_no_memory();
    if (read_all(&r, &pattern->root)) {
        *out = pattern;
        return NULL;
    }
    return r.fault ? bt_fail(ctx, BT_ERR_SYNTAX, "pattern %s: at byte %zu: %s", text,
                             r.at + 1, r.fault)
                   : bt_no_memory();
}

const char *bt__call_pattern_fault(bt_arena *arena, const char *text)
{
    struct reader r = { .arena = arena, .text = text };
    const struct node *root;
    return read_all(&r, &root) ? NULL : r.fault ? r.fault : bt__speechless;
}

/* ---- against operators ---- */

/* "nn.pad(data, pad_value?)" */
static const char *signature(bt_ctx *ctx, const bt_op *op)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "%s(", op->name);
    for (uint32_t i = 0; op->inputs[i].name; i++)
        bt_text_addf(&text, "%s%s%s", i ? ", " : "", op->inputs[i].name,
                     op->inputs[i].is_optional ? "?"
                     : op->inputs[i].is_rest   ? "*"
                                               : "");
    bt_text_addf(&text, ")");
    return bt_text_get(&text);
}

static bt_status check_op(bt_ctx *ctx, const char *name, uint32_t narg)
{
    const bt_op *op;
    BT_TRY(bt_op_get(ctx, name, &op));
    if (bt_op_takes(op, narg))
        return NULL;
    const char *expected = signature(ctx, op);
    return expected ? bt_fail(ctx, BT_ERR_ARGUMENT,
                              "%s with %u argument%s never matches: the operator is %s",
                              name, narg, narg == 1 ? "" : "s", expected)
                    : bt_no_memory();
}

/* As deep as a pattern may be nested. */
static bt_status check_node(bt_ctx *ctx, const struct node *node)
{
    for (uint32_t i = 0; node->kind == NODE_CALL && i < node->nop; i++)
        BT_TRY(check_op(ctx, node->ops[i], node->narg));
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(check_node(ctx, node->args[i]));
    return NULL;
}

bt_status bt_call_pattern_check(bt_ctx *ctx, const bt_call_pattern *pattern)
{
    return check_node(ctx, pattern->root);
}

/* ---- matching ---- */

typedef bt_vec(const bt_value *) value_list;

struct matcher {
    bt_arena *arena;
    int (*takes)(void *state, const bt_call *);
    void *state;
    value_list members, operands;
    const bt_value *bound[MAX_NODES]; /* by slot */
    bt_status status;                 /* no memory */
};

/* What has been matched so far: what was matched by an attempt that fails is removed. */
struct trace {
    uint32_t nmember, noperand;
    const bt_value *bound[MAX_NODES];
};

static struct trace trace_of(const struct matcher *m)
{
    struct trace t = { m->members.len, m->operands.len, { 0 } };
    memcpy(t.bound, m->bound, sizeof(t.bound));
    return t;
}

static void go_back(struct matcher *m, const struct trace *t)
{
    m->members.len = t->nmember;
    m->operands.len = t->noperand;
    memcpy(m->bound, t->bound, sizeof(t->bound));
}

static int add(struct matcher *m, value_list *list, const bt_value *value)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (list->at[i] == value)
            return 1;
    }
    if (!BT_PUSH(m->arena, list, value))
        m->status = bt_no_memory();
    return !m->status;
}

static int is_inside(const bt_value *value)
{
    const bt_tensor *t = bt_const_tensor(value);
    return t && t->nelem == 1;
}

static int match_operand(struct matcher *m, const struct node *node,
                         const bt_value *value)
{
    if (node->kind == NODE_CONST && value->kind != BT_VALUE_CONST)
        return 0;
    if (node->kind == NODE_CONST && is_inside(value))
        return 1;
    if (node->kind == NODE_NAME) {
        if (m->bound[node->slot] && m->bound[node->slot] != value)
            return 0;
        m->bound[node->slot] = value;
    }
    return add(m, &m->operands, value);
}

static int is_call_of(const struct matcher *m, const struct node *node,
                      const bt_call *call)
{
    if (!call || call->callee_kind != BT_CALLEE_OP || call->narg != node->narg ||
        (m->takes && !m->takes(m->state, call)))
        return 0;
    for (uint32_t i = 0; i < node->nop; i++) {
        if (strcmp(call->op->name, node->ops[i]) == 0)
            return 1;
    }
    return 0;
}

/* Recursion is bounded by the size of patterns. A call that may be absent is taken for
 * present where it matches. */
static int match(struct matcher *m, const struct node *node, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (node->kind != NODE_CALL)
        return match_operand(m, node, value);
    struct trace before = trace_of(m);
    if (is_call_of(m, node, call)) {
        int ok = 1;
        for (uint32_t i = 0; ok && i < node->narg; i++)
            ok = match(m, node->args[i], call->args[i]);
        if (ok && add(m, &m->members, value))
            return 1;
        go_back(m, &before);
    }
    return !m->status && node->is_optional && match(m, node->args[0], value);
}

/* What is matched twice, as a part and as an operand, would have to be computed twice. */
static int is_apart(const struct matcher *m)
{
    for (uint32_t i = 0; i < m->operands.len; i++) {
        for (uint32_t k = 0; k < m->members.len; k++) {
            if (m->operands.at[i] == m->members.at[k])
                return 0;
        }
    }
    return m->members.len > 0;
}

bt_status bt_call_pattern_match(bt_arena *arena, const bt_call_pattern *pattern,
                                const bt_value *root,
                                int (*takes)(void *state, const bt_call *), void *state,
                                bt_call_match *out)
{
    struct matcher m = { .arena = arena, .takes = takes, .state = state };
    *out = (bt_call_match){ 0 };
    if (match(&m, pattern->root, root) && is_apart(&m))
        *out = (bt_call_match){ .nmember = m.members.len,
                                .members = m.members.at,
                                .noperand = m.operands.len,
                                .operands = m.operands.at };
    return m.status;
}
