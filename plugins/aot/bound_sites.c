/*
 * The objects that a program makes, and what holds them: each instruction that makes an
 * object is a site, and for each holder the sites are found whose objects it may hold. The
 * order of instructions has no part in it, but for what is in a register
 * (bound_holders.c); dims are those of the entry, where all calls give the same.
 */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "bound.h"

int bound_fails(struct bounds *b, const struct vm_function *f, const char *why)
{
    bt_text text;
    bt_text_init(&text, b->arena);
    bt_text_addf(&text, "%s (%s)", why, code_function_name(b->c, f));
    b->why = bt_text_get(&text);
    if (!b->why)
        b->status = bt_no_memory();
    return 0;
}

static int no_memory(struct bounds *b)
{
    b->status = bt_no_memory();
    return 0;
}

/* ... with the place of an instruction; `what` may be the end of the sentence. */
static int fails_at(struct bounds *b, uint32_t function, uint32_t pc, const char *why,
                    const char *what)
{
    const struct vm_function *f = b->program->functions[function];
    const bt_value *value = vm_value_at(f, pc);
    bt_place place = { 0 };
    bt_text text;
    bt_text_init(&text, b->arena);
    bt_span_place(b->store, value ? value->span : 0, &place);
    const char *slash = place.file ? strrchr(place.file, '/') : NULL;
    bt_text_addf(&text, "%s%s (", why, what);
    if (place.file && place.line)
        bt_text_addf(&text, "%s:%" PRIu32 ":%" PRIu32 ")", slash ? slash + 1 : place.file,
                     place.line, place.column);
    else
        bt_text_addf(&text, "%s%s)", place.node ? "node " : "",
                     place.node ? place.node : code_function_name(b->c, f));
    b->why = bt_text_get(&text);
    return b->why ? 0 : no_memory(b);
}

uint32_t holder_of(const struct bounds *b, uint32_t function, const uint32_t *word)
{
    return b->holders[function][word - b->program->functions[function]->words];
}

static int is_object(const struct bounds *b, uint32_t function, uint32_t operand)
{
    return code_is_object(b->program->functions[function], operand);
}

/* ---- dims ---- */

struct given {
    const struct vm_function *f;
    const bt_type *const *dims;
};

static const bt_type *given_dim(bt_subst *subst, const bt_type *leaf)
{
    const struct given *given = subst->state;
    for (uint32_t i = 0; i < given->f->ndim; i++) {
        if (given->f->dims[i] == leaf)
            return given->dims[i];
    }
    return NULL;
}

/* A dim, or bytes, of a function's; NULL: it varies, or is too large. */
static const bt_type *by_entry(struct bounds *b, uint32_t function, const bt_type *dim)
{
    struct given given = { b->program->functions[function], b->dims[function] };
    bt_subst subst = { .leaf = given_dim, .state = &given };
    for (uint32_t i = 0; dim && i < given.f->ndim; i++) {
        if (!given.dims[i])
            return NULL;
    }
    dim = dim ? bt_type_subst(b->store, &subst, dim) : NULL;
    const bt_status why = dim ? NULL : bt_store_why(b->c->p->ctx, b->store);
    if (why && why->code == BT_ERR_MEMORY)
        b->status = why;
    return dim && !(dim->has & BT_HAS_OPAQUE) ? dim : NULL;
}

const bt_type *term_dim(struct bounds *b, uint32_t function, const struct vm_term *term)
{
    return term->open ? by_entry(b, function, term->open->dim)
                      : bt_dim(b->store, term->number);
}

/* Whether a dim came to be known, or to vary. */
static int join_dim(const struct bounds *b, const bt_type **dim, const bt_type *now)
{
    const bt_type *before = *dim;
    *dim = !before || before == now ? now : b->varies;
    return *dim != before;
}

static int call_dims(struct bounds *b, uint32_t from, uint32_t to,
                     const struct vm_list *list)
{
    const struct vm_function *f = b->program->functions[to];
    int is_new = 0;
    for (uint32_t i = 0; i < f->nvar; i++) {
        const bt_type *dim = i < list->n ? term_dim(b, from, &list->terms[i]) : NULL;
        is_new |= join_dim(b, &b->dims[to][i], dim ? dim : b->varies);
    }
    return is_new;
}

static int begin_dims(struct bounds *b)
{
    const struct vm_program *p = b->program;
    const bt_type ***all = BT_NEWS(b->arena, const bt_type **, p->nfunction);
    b->store = b->c->p->compiled->module->store;
    b->varies = bt_dim_opaque(b->store, NULL);
    for (uint32_t k = 0; all && b->varies && k < p->nfunction; k++) {
        const struct vm_function *f = p->functions[k];
        all[k] = BT_NEWS(b->arena, const bt_type *, f->ndim);
        for (uint32_t i = 0; all[k] && i < f->ndim; i++)
            all[k][i] = i >= f->nvar ? b->varies : k ? NULL : f->dims[i];
        if (!all[k])
            return no_memory(b);
    }
    b->dims = all;
    return all && b->varies ? 1 : no_memory(b);
}

static int find_dims(struct bounds *b)
{
    const struct vm_program *p = b->program;
    struct vm_decoder d;
    struct vm_operand operand;
    int is_new = begin_dims(b);
    while (is_new) {
        is_new = 0;
        for (uint32_t k = 0; k < p->nfunction; k++) {
            const struct vm_function *f = p->functions[k];
            if (!b->c->is_reached[k] || (f->nvar && !b->dims[k][0]))
                continue; // no call of it has been seen
            for (uint32_t pc = 0; vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
                const uint32_t *w = f->words + pc;
                if (d.code == VM_CALL)
                    is_new |= call_dims(b, k, w[1], &p->lists[w[2]]);
                else if (d.code == VM_TAIL_CALL)
                    is_new |= call_dims(b, k, w[0] >> 8, &p->lists[w[1]]);
                while (vm_decode_operand(&d, &operand))
                    ;
            }
        }
    }
    return b->status == NULL && b->dims != NULL;
}

/* ---- what instructions make ---- */

static struct site *add_sized(struct bounds *b, uint32_t n, const bt_type *nbytes)
{
    const struct site site = { .n = n, .nbytes = nbytes, .ndata = nbytes };
    if (!nbytes || !BT_PUSH(b->arena, &b->sites, site)) {
        b->status = bt_no_memory();
        return NULL;
    }
    return &b->sites.at[b->sites.len - 1];
}

static struct site *add_site(struct bounds *b, uint32_t n, int64_t nbytes)
{
    return add_sized(b, n, bt_dim(b->store, nbytes));
}

static int add_fields_site(struct bounds *b, uint32_t n, uint32_t *first)
{
    struct site *site = add_site(b, n, 0);
    if (!site)
        return 0;
    site->nfield = n;
    *first = site->first = b->nholder;
    b->nholder += n;
    return 1;
}

/* The next site is what a holder holds. */
static int link_next(struct bounds *b, uint32_t holder)
{
    const struct link link = { holder, b->sites.len };
    return BT_PUSH(b->arena, &b->links, link) ? 1 : no_memory(b);
}

/* A tensor whose elements are somewhere else. */
static int add_header(struct bounds *b, uint32_t rank, const bt_type *ndata)
{
    struct site *site = add_site(b, rank, 0);
    if (site)
        site->ndata = ndata;
    return site != NULL;
}

/* What is nested deeper than code_constant takes it is refused there. */
static int add_constant(struct bounds *b, const bt_object *object, uint32_t depth)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_adt *adt = bt_object_as_adt(object);
    const uint32_t n = tuple ? tuple->nfield : adt ? adt->nfield : 0;
    uint32_t first;
    if (tensor)
        return add_header(b, tensor->rank,
                          bt_dim(b->store, (int64_t)bt_tensor_nbytes(tensor)));
    if (!add_fields_site(b, n, &first))
        return 0;
    for (uint32_t i = 0; i < n && depth < MAX_LEVELS; i++) {
        if (!link_next(b, first + i) ||
            !add_constant(b, tuple ? tuple->fields[i] : adt->fields[i], depth + 1))
            return 0;
    }
    return 1;
}

/* Nested to the depth of types. */
static int add_argument(struct bounds *b, uint32_t number, uint32_t *leaf)
{
    const struct vm_type *type = &b->program->types.at[number];
    uint32_t first;
    if (type->kind != VM_TYPE_TUPLE)
        return add_header(b, type->kind == VM_TYPE_TENSOR ? type->rank : 0,
                          bt_tensor_size(b->c->p->args[(*leaf)++].type));
    if (!add_fields_site(b, type->n, &first))
        return 0;
    for (uint32_t i = 0; i < type->n; i++) {
        if (!link_next(b, first + i) || !add_argument(b, type->at[i], leaf))
            return 0;
    }
    return 1;
}

static int add_arguments(struct bounds *b)
{
    const struct vm_function *f = b->program->functions[0];
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (!is_object(b, 0, f->params[i]))
            leaf++;
        else if (!link_next(b, b->params[0][i]) ||
                 !add_argument(b, f->types[f->params[i]], &leaf))
            return 0;
    }
    return 1;
}

static int add_fields(struct bounds *b, uint32_t function, uint32_t n,
                      const uint32_t *operands)
{
    uint32_t first;
    if (!add_fields_site(b, n, &first))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_object(b, function, operands[i]) &&
            (!link_next(b, first + i) || !add_site(b, 0, 8)))
            return 0;
    }
    return 1;
}

static int add_tensor(struct bounds *b, uint32_t function, uint32_t pc,
                      const struct vm_shape *shape, int is_view)
{
    const bt_dtype dtype = b->program->types.at[shape->type_number].dtype;
    const bt_type *dims[BT_MAX_RANK], *nbytes = NULL;
    uint32_t n = 0;
    while (n < shape->rank && (dims[n] = term_dim(b, function, &shape->axes[n])))
        n++;
    if (n == shape->rank)
        nbytes = bt_dims_nbytes(b->store, dtype, n, dims);
    if (!is_view)
        return nbytes ? add_sized(b, shape->rank, nbytes) != NULL
                      : fails_at(b, function, pc, "a run finds out the size of a tensor",
                                 "");
    if (!add_header(b, shape->rank, nbytes))
        return 0;
    b->sites.at[b->sites.len - 1].owner = ++b->nholder;
    return 1;
}

static int add_results(struct bounds *b, uint32_t function, uint32_t pc,
                       const struct vm_operator *row)
{
    const struct vm_type *type = &b->program->types.at[row->type];
    const bt_list_type *tuple = bt_as_tuple_type(row->call->base.type);
    const uint32_t n = type->kind == VM_TYPE_TUPLE ? type->n : 1;
    uint32_t first = 0;
    if (tuple && !add_fields_site(b, n, &first))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct vm_type *part = tuple ? &b->program->types.at[type->at[i]] : type;
        const bt_type *nbytes = by_entry(
            b, function, bt_tensor_size(tuple ? tuple->at[i] : row->call->base.type));
        if (!nbytes)
            return fails_at(b, function, pc, "a run finds out the size of the result of ",
                            row->call->op->name);
        if ((tuple && !link_next(b, first + i)) ||
            !add_sized(b, part->kind == VM_TYPE_TENSOR ? part->rank : 0, nbytes))
            return 0;
    }
    return 1;
}

static int add_instruction(struct bounds *b, uint32_t function, const uint32_t *w)
{
    const struct vm_program *p = b->program;
    const uint32_t pc = (uint32_t)(w - p->functions[function]->words);
    switch (w[0] & 0xff) {
    case VM_CLOSURE:
    case VM_CALL_CLOSURE:
    case VM_TAIL_CLOSURE: return fails_at(b, function, pc, "functions are values", "");
    case VM_CONST: return add_constant(b, p->consts[w[1]].object, 0);
    case VM_TUPLE: return add_fields(b, function, w[1], w + 2);
    case VM_ADT: return add_fields(b, function, w[2], w + 3);
    case VM_REF: return add_fields(b, function, 1, w + 1);
    case VM_REF_SET:
        return (is_object(b, function, w[2]) || add_site(b, 0, 8)) &&
               add_site(b, 0, 0) != NULL;
    case VM_TENSOR: return add_tensor(b, function, pc, &p->shapes[w[1]], 0);
    case VM_VIEW: return add_tensor(b, function, pc, &p->shapes[w[1]], 1);
    case VM_OWN:
        if (!add_site(b, 0, 8))
            return 0;
        if (is_object(b, function, w[1]))
            b->sites.at[b->sites.len - 1].copied = 1 + holder_of(b, function, w + 1);
        return 1;
    case VM_OPERATE: return add_results(b, function, pc, &p->operators[w[1]]);
    default: return 1;
    }
}

static int find_born(struct bounds *b)
{
    const struct vm_program *p = b->program;
    struct vm_decoder d;
    struct vm_operand operand;
    uint32_t *results = BT_NEWS(b->arena, uint32_t, p->nfunction);
    struct born **born = BT_NEWS(b->arena, struct born *, p->nfunction);
    b->params = BT_NEWS(b->arena, const uint32_t *, p->nfunction);
    b->holders = BT_NEWS(b->arena, const uint32_t *, p->nfunction);
    if (!results || !born || !b->params || !b->holders)
        return no_memory(b);
    for (uint32_t k = 0; k < p->nfunction; k++) {
        results[k] = b->nholder++;
        born[k] = BT_NEWS(b->arena, struct born, p->functions[k]->nword);
        if (!born[k] || !find_holders(b, k))
            return no_memory(b);
    }
    b->results = results;
    b->born = born;
    if (!add_arguments(b))
        return 0;
    for (uint32_t k = 0; k < p->nfunction; k++) {
        const struct vm_function *f = p->functions[k];
        for (uint32_t pc = 0;
             b->c->is_reached[k] && vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
            born[k][pc].first = b->sites.len;
            if (!add_instruction(b, k, f->words + pc))
                return 0;
            born[k][pc].n = b->sites.len - born[k][pc].first;
            for (uint32_t i = born[k][pc].first; i < b->sites.len; i++) {
                b->sites.at[i].function = k;
                b->sites.at[i].pc = pc;
            }
            while (vm_decode_operand(&d, &operand))
                ;
        }
    }
    return 1;
}

/* ---- what holders hold ---- */

const uint64_t *set_of(const struct bounds *b, uint32_t holder)
{
    return b->sets + (size_t)holder * b->nword;
}

int has_site(const uint64_t *set, uint32_t site)
{
    return (set[site / 64] >> (site % 64) & 1) != 0;
}

static int put_site(struct bounds *b, uint32_t holder, uint32_t site)
{
    uint64_t *word = &b->sets[(size_t)holder * b->nword + site / 64];
    const uint64_t before = *word;
    *word |= UINT64_C(1) << (site % 64);
    return *word != before;
}

/* Whether it is anything new that a holder may hold what another one does. */
static int put_all(struct bounds *b, uint32_t to, uint32_t from)
{
    uint64_t is_new = 0;
    for (uint32_t i = 0; i < b->nword; i++) {
        uint64_t *word = &b->sets[(size_t)to * b->nword + i];
        const uint64_t more = set_of(b, from)[i] & ~*word;
        is_new |= more;
        *word |= more;
    }
    return is_new != 0;
}

/* What an instruction writes is a field of what its first operand holds. */
static int put_field(struct bounds *b, uint32_t k, const uint32_t *w, uint32_t index)
{
    int is_new = 0;
    for (uint32_t s = 0; is_object(b, k, w[0] >> 8) && s < b->sites.len; s++) {
        const struct site *site = &b->sites.at[s];
        if (index < site->nfield && has_site(set_of(b, holder_of(b, k, w + 1)), s))
            is_new |= put_all(b, holder_of(b, k, w), site->first + index);
    }
    return is_new;
}

static int put_content(struct bounds *b, uint32_t k, const uint32_t *w, uint32_t box)
{
    int is_new = 0;
    for (uint32_t s = 0; s < b->sites.len; s++) {
        const uint32_t to = b->sites.at[s].first;
        if (!b->sites.at[s].nfield || !has_site(set_of(b, holder_of(b, k, w + 1)), s))
            continue;
        is_new |= is_object(b, k, w[2]) ? put_all(b, to, holder_of(b, k, w + 2))
                                        : put_site(b, to, box);
    }
    return is_new;
}

/* A view of a view has the first one's owner. */
static int put_owner(struct bounds *b, uint32_t view, uint32_t of)
{
    const uint32_t to = b->sites.at[view].owner - 1;
    int is_new = 0;
    for (uint32_t s = 0; s < b->sites.len; s++) {
        const uint32_t owner = b->sites.at[s].owner;
        if (has_site(set_of(b, of), s))
            is_new |= owner ? put_all(b, to, owner - 1) : put_site(b, to, s);
    }
    return is_new;
}

static int put_operands(struct bounds *b, uint32_t k, uint32_t site, uint32_t n,
                        const uint32_t *operands)
{
    int is_new = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is_object(b, k, operands[i]))
            is_new |=
                put_all(b, b->sites.at[site].first + i, holder_of(b, k, operands + i));
    }
    return is_new;
}

static int put_arguments(struct bounds *b, uint32_t k, uint32_t callee, uint32_t n,
                         const uint32_t *operands)
{
    int is_new = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is_object(b, k, operands[i]))
            is_new |= put_all(b, b->params[callee][i], holder_of(b, k, operands + i));
    }
    return is_new;
}

static int put_instruction(struct bounds *b, uint32_t k, uint32_t pc)
{
    const uint32_t *w = b->program->functions[k]->words + pc;
    const struct born *born = &b->born[k][pc];
    const uint32_t dst = w[0] >> 8, code = w[0] & 0xff;
    int is_new = 0;
    if (born->n && code != VM_REF_SET && is_object(b, k, dst))
        is_new = put_site(b, holder_of(b, k, w), born->first);
    switch (code) {
    case VM_MOVE:
        return is_object(b, k, dst) && is_object(b, k, w[1]) &&
               put_all(b, holder_of(b, k, w), holder_of(b, k, w + 1));
    case VM_OWN:
        if (is_object(b, k, dst) && is_object(b, k, w[1]))
            is_new |= put_all(b, holder_of(b, k, w), holder_of(b, k, w + 1));
        return is_new;
    case VM_RET:
        return is_object(b, k, dst) && put_all(b, b->results[k], holder_of(b, k, w));
    case VM_CALL:
        is_new = put_arguments(b, k, w[1], w[3], w + 4);
        if (is_object(b, k, dst))
            is_new |= put_all(b, holder_of(b, k, w), b->results[w[1]]);
        return is_new;
    case VM_TAIL_CALL:
        is_new = put_arguments(b, k, dst, w[2], w + 3);
        return put_all(b, b->results[k], b->results[dst]) | is_new;
    case VM_TUPLE: return put_operands(b, k, born->first, w[1], w + 2) | is_new;
    case VM_ADT: return put_operands(b, k, born->first, w[2], w + 3) | is_new;
    case VM_REF: return put_operands(b, k, born->first, 1, w + 1) | is_new;
    case VM_FIELD: return put_field(b, k, w, w[2]);
    case VM_CTOR_FIELD: return put_field(b, k, w, w[3]);
    case VM_REF_GET: return put_field(b, k, w, 0);
    case VM_REF_SET:
        is_new = put_content(b, k, w, born->first);
        if (is_object(b, k, dst))
            is_new |= put_site(b, holder_of(b, k, w), born->first + born->n - 1);
        return is_new;
    case VM_VIEW:
        return (is_object(b, k, w[2]) &&
                put_owner(b, born->first, holder_of(b, k, w + 2))) |
               is_new;
    default: return is_new;
    }
}

static int find_sets(struct bounds *b)
{
    const struct vm_program *p = b->program;
    struct vm_decoder d;
    struct vm_operand operand;
    int is_new = 1;
    b->nword = (b->sites.len + 63) / 64;
    if (b->nword && b->nholder > MAX_SET_WORDS / b->nword)
        return bound_fails(b, p->functions[0], "the program is too large to look at");
    b->sets = BT_NEWS(b->arena, uint64_t, (size_t)b->nholder * b->nword);
    if (!b->sets)
        return no_memory(b);
    for (uint32_t i = 0; i < b->links.len; i++)
        put_site(b, b->links.at[i].holder, b->links.at[i].site);
    while (is_new) {
        is_new = 0;
        for (uint32_t k = 0; k < p->nfunction; k++) {
            const struct vm_function *f = p->functions[k];
            for (uint32_t pc = 0;
                 b->c->is_reached[k] && vm_decode(&d, f->words, f->nword, pc);
                 pc = d.next) {
                is_new |= put_instruction(b, k, pc);
                while (vm_decode_operand(&d, &operand))
                    ;
            }
        }
    }
    return 1;
}

/* ---- copies ---- */

/* A copy is as large as what it is a copy of, which has one size. */
static int find_copies(struct bounds *b)
{
    uint8_t *is_sized = BT_NEWS(b->arena, uint8_t, b->sites.len);
    int is_new = 1;
    if (!is_sized)
        return no_memory(b);
    for (uint32_t i = 0; i < b->sites.len; i++)
        is_sized[i] = !b->sites.at[i].copied;
    while (is_new) {
        is_new = 0;
        for (uint32_t i = 0; i < b->sites.len; i++) {
            struct site *to = &b->sites.at[i];
            for (uint32_t s = 0; to->copied && s < b->sites.len; s++) {
                const struct site *from = &b->sites.at[s];
                if (s == i || !is_sized[s] || !has_site(set_of(b, to->copied - 1), s))
                    continue;
                if (!from->ndata ||
                    (is_sized[i] && (to->n != from->n || to->ndata != from->ndata)))
                    return fails_at(b, to->function, to->pc,
                                    "a tensor that is copied has several sizes", "");
                is_new |= !is_sized[i];
                is_sized[i] = 1;
                to->n = from->n;
                to->nbytes = to->ndata = from->ndata;
            }
        }
    }
    return 1;
}

int find_sites(struct bounds *b)
{
    return find_dims(b) && find_born(b) && find_sets(b) && find_copies(b);
}
