/*
 * What programs with branches need at run time, in freestanding C99: objects that count
 * who holds them, in memory that the caller gives. Executor aot copies what a program
 * calls into its text, so a blank line stands between two parts and nowhere else, and a
 * function calls only those above it.
 */

/* Memory of a run: blocks are taken from its start on, and those given back wait in lists
 * by size; memory of activations is a stack that grows down from its end. */
struct machine {
    unsigned char *at, *end;
    struct object *unused[LISTS];
    uint32_t depth, most; /* calls in progress, and how many there may be */
    const unsigned char *weights;
};

/* A tensor, or fields: of a tuple, a value of a data type, a closure, a reference. */
enum { TENSOR, FIELDS };
union slot {
    int64_t dim;
    struct object *field;
};
struct object {
    uint32_t nref;
    uint32_t kind;
    uint32_t tag; /* constructor, or function of a closure */
    uint32_t n;   /* axes, fields */
    uint32_t list;
    uint32_t is_fixed;    /* its elements are not of this memory */
    unsigned char *data;  /* elements, from a multiple of 64 on */
    struct object *owner; /* whose elements they are; NULL: its own */
    struct object *next;
    union slot at[];
};
typedef char head_fits[sizeof(struct object) <= HEAD && sizeof(union slot) == 8 ? 1 : -1];

/* Behind `total`: so many objects, of a head and elements, as obj_new takes them. */
static uint64_t block_total(uint64_t total, uint64_t count, uint64_t head, int64_t nbytes)
{
    uint64_t size;
    const uint64_t all = head + (nbytes > 0 ? (uint64_t)nbytes : 0u);
    if (all > UINT64_C(0xffffffffffff))
        return UINT64_MAX;
    size = block_size(block_list(all));
    return count > (UINT64_MAX - total) / size ? UINT64_MAX : total + count * size;
}

/* LARGER: how many sizes more a block may have than it needs. NULL: there is no memory. */
static struct object *obj_new(struct machine *m, uint32_t kind, uint32_t n,
                              uint64_t nbytes)
{
    const uint64_t head = block_head(n);
    uint32_t list, k, i;
    struct object *o = NULL;
    if (nbytes > UINT64_C(0xffffffffffff))
        return NULL;
    list = block_list(head + nbytes);
    for (k = list; k < LISTS && k <= list + LARGER && !o; k++) {
        o = m->unused[k];
        if (o)
            m->unused[k] = o->next;
    }
    if (o) {
        list = o->list;
    } else if (list < LISTS && block_size(list) <= (uint64_t)(m->end - m->at)) {
        o = (struct object *)(void *)m->at;
        m->at += block_size(list);
    } else {
        return NULL;
    }
    o->nref = 1;
    o->kind = kind;
    o->tag = 0;
    o->n = n;
    o->list = list;
    o->is_fixed = 0;
    o->data = (unsigned char *)(void *)o + head;
    o->owner = NULL;
    for (i = 0; i < n; i++)
        o->at[i].field = NULL;
    return o;
}

/* Lets go of an object, and of what only it holds; without recursion. */
static void obj_drop(struct machine *m, struct object *o)
{
    struct object *pending = o;
    if (!o || --o->nref != 0)
        return;
    o->next = NULL;
    while (pending) {
        uint32_t i, n;
        o = pending;
        pending = o->next;
        n = o->kind == FIELDS ? o->n : 0;
        for (i = 0; i <= n; i++) {
            struct object *part = i < n ? o->at[i].field : o->owner;
            if (part && --part->nref == 0) {
                part->next = pending;
                pending = part;
            }
        }
        o->next = m->unused[o->list];
        m->unused[o->list] = o;
    }
}

static struct object *obj_ref(struct object *o)
{
    o->nref++;
    return o;
}

/* Out of a variable, which is empty then. */
static struct object *obj_take(struct object **from)
{
    struct object *o = *from;
    *from = NULL;
    return o;
}

/* Into a variable. */
static void obj_put(struct machine *m, struct object **to, struct object *o)
{
    obj_drop(m, *to);
    *to = o;
}

/* The number of elements. */
static int32_t obj_nelem(uint32_t rank, const int64_t *dims, uint64_t *nelem)
{
    uint32_t i;
    *nelem = 1;
    for (i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return FAULT_NEGATIVE;
        if (dims[i] > INT64_C(0x1000000000000))
            return FAULT_LARGE;
        if (dims[i] > 0 && *nelem > UINT64_C(0xffffffffffff) / (uint64_t)dims[i])
            return FAULT_LARGE;
        *nelem *= (uint64_t)dims[i];
    }
    return 0;
}

/* The bytes of so many elements of so many bits: whole bytes, or a part of one. */
static uint64_t obj_size(uint64_t nelem, uint32_t nbits)
{
    return nbits < 8 ? (nelem * nbits + 7) / 8 : nelem * (nbits / 8);
}

static int32_t obj_tensor(struct machine *m, uint32_t rank, const int64_t *dims,
                          uint32_t nbits, struct object **out)
{
    uint64_t nelem;
    uint32_t i;
    const int32_t fault = obj_nelem(rank, dims, &nelem);
    if (fault != 0)
        return fault;
    *out = obj_new(m, TENSOR, rank, obj_size(nelem, nbits));
    if (!*out)
        return FAULT_MEMORY;
    for (i = 0; i < rank; i++)
        (*out)->at[i].dim = dims[i];
    return 0;
}

/* A tensor of elements that are somewhere else. */
static int32_t obj_of(struct machine *m, uint32_t rank, const int64_t *dims,
                      const void *data, struct object **out)
{
    uint32_t i;
    *out = obj_new(m, TENSOR, rank, 0);
    if (!*out)
        return FAULT_MEMORY;
    (*out)->data = (unsigned char *)(uintptr_t)data;
    (*out)->is_fixed = 1;
    for (i = 0; i < rank; i++)
        (*out)->at[i].dim = dims[i];
    return 0;
}

static uint64_t obj_count(const struct object *o)
{
    uint64_t n = 1;
    uint32_t i;
    for (i = 0; i < o->n; i++)
        n *= (uint64_t)o->at[i].dim;
    return n;
}

/* The dims that a tensor has together with others, counted from the last axis: a dim of 1
 * is repeated. 0: they do not fit. */
static int obj_meet(const struct object *o, uint32_t rank, int64_t *dims)
{
    uint32_t i;
    for (i = 0; i < o->n; i++) {
        int64_t *const dim = &dims[rank - o->n + i];
        if (o->at[i].dim == 1)
            continue;
        if (*dim != 1 && *dim != o->at[i].dim)
            return 0;
        *dim = o->at[i].dim;
    }
    return 1;
}

/* The place of its element at an index of that many axes. */
static uint64_t obj_at(const struct object *o, uint32_t rank, const int64_t *index)
{
    uint64_t at = 0;
    uint32_t i;
    for (i = 0; i < o->n; i++) {
        const int64_t dim = o->at[i].dim;
        at = at * (uint64_t)dim + (dim == 1 ? 0u : (uint64_t)index[rank - o->n + i]);
    }
    return at;
}

/* The elements of `of`, whose reference is taken, in another shape. A view of a view holds
 * what that one holds, so that a loop makes no chain of them. */
static int32_t obj_view(struct machine *m, uint32_t rank, const int64_t *dims,
                        struct object *of, struct object **out)
{
    uint64_t nelem;
    int32_t fault = obj_nelem(rank, dims, &nelem);
    if (fault == 0)
        fault =
            nelem == obj_count(of) ? obj_of(m, rank, dims, of->data, out) : FAULT_SHAPE;
    if (fault == 0)
        (*out)->owner = obj_ref(of->owner ? of->owner : of);
    obj_drop(m, of);
    return fault;
}

/* The tensor itself, whose reference is taken, where nobody else holds it, else a copy. */
static int32_t obj_own(struct machine *m, struct object *of, uint32_t nbits,
                       struct object **out)
{
    const uint64_t size = obj_size(obj_count(of), nbits);
    uint32_t i;
    if (of->nref == 1 && !of->is_fixed) {
        *out = of;
        return 0;
    }
    *out = obj_new(m, TENSOR, of->n, size);
    if (*out) {
        for (i = 0; i < of->n; i++)
            (*out)->at[i] = of->at[i];
        memcpy((*out)->data, of->data, (size_t)size);
    }
    obj_drop(m, of);
    return *out ? 0 : FAULT_MEMORY;
}

/* Whether a tensor has as many bytes as one is said to have. */
static int32_t obj_fits(int64_t nbytes, int64_t stated)
{
    return nbytes == stated ? 0 : FAULT_SHAPE;
}

/* A value of a data type, a tuple, a closure, a reference: its fields are put in later. */
static int32_t obj_fields(struct machine *m, uint32_t tag, uint32_t n,
                          struct object **out)
{
    *out = obj_new(m, FIELDS, n, 0);
    if (!*out)
        return FAULT_MEMORY;
    (*out)->tag = tag;
    return 0;
}

/* A tensor of rank 0. */
static int32_t obj_box(struct machine *m, struct object **out)
{
    *out = obj_new(m, TENSOR, 0, 8);
    return *out ? 0 : FAULT_MEMORY;
}

/* Memory of an activation, which is given back by putting the end where it was. */
static int32_t frame_take(struct machine *m, int64_t nbytes, unsigned char **out)
{
    if (nbytes < 0)
        return FAULT_NEGATIVE;
    if (nbytes > m->end - m->at)
        return FAULT_MEMORY;
    m->end -= (nbytes + 63) / 64 * 64;
    *out = m->end;
    return 0;
}
