/* The queue: nodes are tried until they hold, fail or wait. */
#include "solve/solver.h"

#include <string.h>

int bt__is_fatal(bt_status status)
{
    return status && (status->code == BT_ERR_MEMORY || status->code == BT_ERR_CANCELLED);
}

struct bt__node bt__node_begin(bt_solver *s, uint32_t kind, struct bt__slot *slot)
{
    return (struct bt__node){
        .kind = kind,
        .id = ++s->nnode,
        .level = s->level,
        .order = slot->order,
        .slot = slot,
    };
}

bt_status bt__push_level(bt_solver *s)
{
    if (s->level + 1 >= s->nlevel) {
        uint32_t n = s->nlevel ? s->nlevel * 2 : 4;
        struct bt__level *levels = BT_NEWS(s->arena, struct bt__level, n);
        if (!levels)
            return bt_no_memory();
        if (s->nlevel)
            memcpy(levels, s->levels, s->nlevel * sizeof(*levels));
        s->levels = levels;
        s->nlevel = n;
    }
    s->level++;
    return NULL;
}

/* ---- results ---- */

const bt_type *bt__result_of(bt_solver *s, struct bt__node *node)
{
    if (!node->result)
        node->result = bt__hole_new(s, BT_KIND_TYPE, node->id, node->slot->value);
    return node->result;
}

bt_status bt__give(bt_solver *s, struct bt__node *node, const bt_type *type)
{
    if (node->result)
        return bt__unify(s, node, node->result, type);
    node->result = type;
    return NULL;
}

/* ---- the queue ---- */

static void unlink_node(bt_solver *s, struct bt__node *node)
{
    if (node->prev)
        node->prev->next = node->next;
    else
        s->front = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        s->back = node->prev;
    node->prev = node->next = NULL;
}

/* Before `at`; NULL: at the back. */
static void link_before(bt_solver *s, struct bt__node *node, struct bt__node *at)
{
    node->next = at;
    node->prev = at ? at->prev : s->back;
    if (node->prev)
        node->prev->next = node;
    else
        s->front = node;
    if (at)
        at->prev = node;
    else
        s->back = node;
    node->state = STATE_QUEUED;
}

/* Somewhere near an end of the queue, as the seed says: for the test that any order gives
 * the same types. */
static void link_anywhere(bt_solver *s, struct bt__node *node)
{
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 7;
    s->seed ^= s->seed << 17;
    uint32_t steps = (s->seed >> 1) % 32;
    struct bt__node *at = s->seed & 1 ? s->front : s->back;
    for (; at && steps; steps--)
        at = s->seed & 1 ? at->next : at->prev;
    link_before(s, node, at);
}

void bt__wake(bt_solver *s, struct bt__node *node)
{
    if (node->state == STATE_WAITING) {
        if (s->seed)
            link_anywhere(s, node);
        else
            link_before(s, node, s->front);
    }
}

/* ---- nodes that wait ---- */

/* Where the callee is not known yet, the arguments say what it takes. */
static bt_status call_holes(bt_solver *s, const struct bt__node *n, bt__visit_hole *visit,
                            void *self)
{
    const bt_call *call = bt_as_call(n->slot->value);
    const bt_type *type;
    BT_TRY(bt__holes_in(s, n->u.call.callee, visit, self));
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(bt__type_of(s, call->args[i], &type));
        BT_TRY(bt__holes_in(s, type, visit, self));
    }
    return NULL;
}

bt_status bt__node_holes(bt_solver *s, struct bt__node *n, bt__visit_hole *visit,
                         void *self)
{
    if (n->result)
        BT_TRY(bt__holes_in(s, n->result, visit, self));
    switch (n->kind) {
    case NODE_OP:
        for (uint32_t i = 0; i < n->u.op.narg; i++)
            BT_TRY(bt__holes_in(s, n->u.op.args[i], visit, self));
        return NULL;
    case NODE_CALL: return call_holes(s, n, visit, self);
    case NODE_FLOW:
        BT_TRY(bt__holes_in(s, n->u.flow.from, visit, self));
        return bt__holes_in(s, n->u.flow.to, visit, self);
    case NODE_PROJ: return bt__holes_in(s, n->u.proj.tuple, visit, self);
    case NODE_JOIN:
        for (uint32_t i = 0; i < n->u.join.n; i++)
            BT_TRY(bt__holes_in(s, n->u.join.branches[i], visit, self));
        return NULL;
    case NODE_MATCH: return bt__holes_in(s, n->u.match.data, visit, self);
    case NODE_READ: return bt__holes_in(s, n->u.read.ref, visit, self);
    default: return bt__holes_in(s, n->u.range.dim, visit, self);
    }
}

static bt_status watch(bt_solver *s, void *self, struct bt__hole *hole)
{
    struct bt__edge *edge = BT_NEW(s->arena, struct bt__edge);
    if (!edge)
        return bt_no_memory();
    *edge = (struct bt__edge){ self, hole->edges };
    hole->edges = edge;
    return NULL;
}

static bt_status find_poison(bt_solver *s, void *self, struct bt__hole *hole)
{
    (void)s;
    *(int *)self |= hole->is_poison != 0;
    return NULL;
}

bt_status bt__node_poisoned(bt_solver *s, struct bt__node *node, int *out)
{
    *out = 0;
    return bt__node_holes(s, node, find_poison, out);
}

static bt_status poison_own(bt_solver *s, void *self, struct bt__hole *hole)
{
    if (hole->owner != *(uint32_t *)self)
        return NULL;
    hole->is_poison = 1;
    for (struct bt__edge *edge = hole->edges; edge; edge = edge->next)
        bt__wake(s, edge->node);
    hole->edges = NULL;
    return NULL;
}

static int has_result(const struct bt__node *node)
{
    return node->kind != NODE_FLOW && node->kind != NODE_RANGE &&
           node->kind != NODE_MATCH;
}

/* A node that failed: what it alone would have computed becomes poison, and the nodes
 * that waited for that are tried again, to give up too. */
static bt_status give_up(bt_solver *s, struct bt__node *node)
{
    node->state = STATE_FAILED;
    if (has_result(node) && !node->result &&
        !(node->result = bt__poison(s, BT_KIND_TYPE)))
        return bt_no_memory();
    return bt__node_holes(s, node, poison_own, &node->id);
}

/* A node that held back although it was forced wants a hole of a function further out: it
 * is that function's to force. */
static bt_status keep_waiting(bt_solver *s, struct bt__node *node, int was_forced)
{
    int poisoned;
    BT_TRY(bt__node_poisoned(s, node, &poisoned));
    if (poisoned)
        return give_up(s, node);
    node->state = STATE_WAITING;
    BT_TRY(bt__node_holes(s, node, watch, node));
    if (node->waits_for) {
        struct bt__edge *edge = BT_NEW(s->arena, struct bt__edge);
        if (!edge)
            return bt_no_memory();
        *edge = (struct bt__edge){ node, node->waits_for->waiters };
        node->waits_for->waiters = edge;
    }
    if (!node->is_listed && !BT_PUSH(s->arena, &s->levels[node->level].pending, node))
        return bt_no_memory();
    node->is_listed = 1;
    return node->is_held_back && !was_forced ? bt__hold_back(s, node) : NULL;
}

/* ---- trying ---- */

static bt_status try_range(bt_solver *s, struct bt__node *node)
{
    const bt_type_param *param = &node->u.range.param;
    const bt_type *dim, *low = bt_dim(s->store, param->low);
    const bt_type *high = bt_dim(s->store, param->high);
    const bt_type *step = bt_dim(s->store, param->step ? param->step : 1);
    if (!low || !high || !step)
        return bt_store_why(s->ctx, s->store);
    BT_TRY(bt__resolve(s, node->u.range.dim, &dim));
    if (dim->has & BT_HAS_HOLE)
        return &bt__wait;
    BT_TRY(bt__require(s, node, BT_CHECK_LESS_EQUAL, low, dim));
    if (param->high != INT64_MAX)
        BT_TRY(bt__require(s, node, BT_CHECK_LESS_EQUAL, dim, high));
    return bt__require(s, node, BT_CHECK_DIVISIBLE, dim, step);
}

static bt_status try_proj(bt_solver *s, struct bt__node *node)
{
    const bt_type *type = bt__head(s, node->u.proj.tuple);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (type->kind == BT_TYPE_HOLE)
        return &bt__wait;
    if (!tuple || node->u.proj.index >= tuple->n) {
        s->left = s->right = type;
        return &bt__mismatch;
    }
    return bt__give(s, node, tuple->at[node->u.proj.index]);
}

static bt_status try_read(bt_solver *s, struct bt__node *node)
{
    const bt_type *type = bt__head(s, node->u.read.ref);
    const bt_list_type *ref = bt_as_ref_type(type);
    if (ref)
        return bt__give(s, node, ref->at[0]);
    s->left = s->right = type;
    if (type->kind != BT_TYPE_HOLE)
        return &bt__mismatch;
    struct bt__hole *hole = bt__hole_of(s, type);
    if (hole->owner && !bt__may_assign(s, node, hole))
        return &bt__wait;
    const bt_type *content = bt__hole_new(s, BT_KIND_TYPE, 0, node->slot->value);
    const bt_type *cell = content ? bt_type_ref(s->store, content) : NULL;
    if (!cell)
        return bt_store_why(s->ctx, s->store);
    BT_TRY(bt__assign(s, node, type, cell));
    return bt__give(s, node, content);
}

static bt_status try_node(bt_solver *s, struct bt__node *node)
{
    switch (node->kind) {
    case NODE_OP: return bt__try_op(s, node);
    case NODE_CALL: return bt__try_call(s, node);
    case NODE_FLOW: return bt__flow(s, node, node->u.flow.from, node->u.flow.to);
    case NODE_PROJ: return try_proj(s, node);
    case NODE_JOIN: return bt__join(s, node);
    case NODE_MATCH: return bt__try_match(s, node);
    case NODE_READ: return try_read(s, node);
    default: return try_range(s, node);
    }
}

/* Holes that a node's instances leave open have no owner once the node is done. */
static void release_instances(bt_solver *s, const struct bt__node *node)
{
    for (const struct bt__fresh *f = node->fresh; f; f = f->next) {
        for (uint32_t i = f->first_hole; i < f->end_hole; i++) {
            if (s->holes.at[i - 1].owner == node->id)
                s->holes.at[i - 1].owner = 0;
        }
    }
}

/* One part of a node may wait for what a later part of it finds, as 3*h = 6 does for
 * h = 2: it is tried again as long as it fills holes that were there before. */
static bt_status try_all_parts(bt_solver *s, struct bt__node *node)
{
    bt_status status;
    uint32_t nassigned, nhole, ntried = 0;
    do {
        nassigned = s->nassigned;
        nhole = s->holes.len;
        s->is_held_back = s->is_infinite = s->is_escaping = s->is_undecided = 0;
        s->waits_for = NULL;
        status = try_node(s, node);
    } while (status == &bt__wait && s->nassigned != nassigned &&
             (!ntried++ || s->holes.len == nhole));
    return status;
}

/* Trying a node may submit others, which are tried at once and without force. */
static bt_status try_once(bt_solver *s, struct bt__node *node)
{
    struct bt__node *current = s->current, *waits_for = s->waits_for;
    uint32_t is_held_back = s->is_held_back, force = s->force;
    s->force = force && !current;
    s->current = node;
    bt_status status = try_all_parts(s, node);
    node->is_held_back = s->is_held_back;
    node->waits_for = s->waits_for;
    if (status && status != &bt__wait && !bt__is_fatal(status) && status != s->first) {
        int poisoned;
        bt_status fatal = bt__node_poisoned(s, node, &poisoned);
        if (!fatal && !poisoned)
            fatal = bt__report(s, status == &bt__mismatch ? bt__blame(s, node) : status);
        status = fatal ? fatal : give_up(s, node);
    } else if (!status) {
        node->state = STATE_DONE;
        release_instances(s, node);
    }
    s->current = current;
    s->waits_for = waits_for;
    s->is_held_back = is_held_back;
    s->force = force;
    return status;
}

/* What waits for contents of a node that is done. */
static void wake_waiters(bt_solver *s, struct bt__node *node)
{
    node->slot->producer = NULL;
    for (struct bt__edge *edge = node->waiters; edge; edge = edge->next)
        bt__wake(s, edge->node);
    node->waiters = NULL;
}

static bt_status retry(bt_solver *s, struct bt__node *node, int force)
{
    s->force = (uint32_t)force;
    s->force_level = s->level;
    bt_status status = try_once(s, node);
    s->force = 0;
    if (status == &bt__wait)
        BT_TRY(keep_waiting(s, node, force));
    else if (status)
        return status;
    if (node->state != STATE_WAITING && node->is_producer)
        wake_waiters(s, node);
    return NULL;
}

static bt_status keep(bt_solver *s, struct bt__node *node, struct bt__node **kept)
{
    struct bt__node *copy = BT_NEW(s->arena, struct bt__node);
    if (!copy || (has_result(node) && !bt__result_of(s, node)))
        return bt_no_memory();
    *copy = *node;
    if (copy->is_producer)
        copy->slot->producer = copy;
    *kept = copy;
    return NULL;
}

bt_status bt__submit(bt_solver *s, struct bt__node *node, struct bt__node **kept)
{
    struct bt__node *copy;
    *kept = NULL;
    if (s->seed) {
        BT_TRY(keep(s, node, kept));
        link_anywhere(s, *kept);
        return NULL;
    }
    bt_status status = try_once(s, node);
    if (status != &bt__wait)
        return status;
    BT_TRY(keep(s, node, &copy));
    BT_TRY(keep_waiting(s, copy, 0));
    if (copy->state == STATE_WAITING)
        *kept = copy;
    else
        *node = *copy;
    return NULL;
}

bt_status bt__drain(bt_solver *s)
{
    while (s->front) {
        struct bt__node *node = s->front;
        if (bt_ctx_cancelled(s->ctx))
            return bt_fail(s->ctx, BT_ERR_CANCELLED, "inference was cancelled");
        unlink_node(s, node);
        node->state = STATE_NEW;
        BT_TRY(retry(s, node, 0));
    }
    return NULL;
}

/* ---- force ---- */

static int comes_before(const struct bt__node *a, const struct bt__node *b)
{
    return a->order != b->order ? a->order < b->order : a->id < b->id;
}

static void swap_nodes(struct bt__node **a, struct bt__node **b)
{
    struct bt__node *kept = *a;
    *a = *b;
    *b = kept;
}

bt_status bt__hold_back(bt_solver *s, struct bt__node *node)
{
    struct bt__level *level = &s->levels[node->level];
    if (node->is_held)
        return NULL;
    if (!BT_PUSH(s->arena, &level->held, node))
        return bt_no_memory();
    node->is_held = 1;
    struct bt__node **at = level->held.at;
    for (uint32_t i = level->held.len - 1; i; i = (i - 1) / 2) {
        if (!comes_before(at[i], at[(i - 1) / 2]))
            break;
        swap_nodes(&at[i], &at[(i - 1) / 2]);
    }
    return NULL;
}

static struct bt__node *first_held(struct bt__level *level)
{
    struct bt__node **at = level->held.at, *first = at[0];
    at[0] = at[--level->held.len];
    for (uint32_t i = 0, least;; i = least) {
        least = i;
        for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < level->held.len; k++)
            least = comes_before(at[k], at[least]) ? k : least;
        if (least == i)
            break;
        swap_nodes(&at[i], &at[least]);
    }
    first->is_held = 0;
    return first;
}

bt_status bt__settle(bt_solver *s)
{
    struct bt__level *level = &s->levels[s->level];
    BT_TRY(bt__drain(s));
    while (level->held.len) {
        struct bt__node *node = first_held(level);
        if (node->state != STATE_WAITING || !node->is_held_back)
            continue;
        BT_TRY(retry(s, node, 1));
        BT_TRY(bt__drain(s));
    }
    return NULL;
}
