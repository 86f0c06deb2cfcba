/*
 * The interface of a program whose entry takes or gives what is no array of known size:
 * values of data types, tensors whose dims a run finds out. Its functions are called after
 * the program; struct machine and struct object too.
 */

int32_t value_begin(void *workspace, size_t nbytes, uint32_t depth, const void *weights,
                    struct machine **out)
{
    struct machine *m = workspace;
    const size_t head = (sizeof(struct machine) + 63u) / 64u * 64u;
    uint32_t i;
    if ((uintptr_t)workspace % 64 != 0 || (!workspace && nbytes != 0))
        return FAULT_WORKSPACE;
    if (nbytes < head)
        return FAULT_MEMORY;
    m->at = (unsigned char *)workspace + head;
    m->end = m->at + (nbytes - head) / 64 * 64;
    for (i = 0; i < LISTS; i++)
        m->unused[i] = NULL;
    m->depth = 0;
    m->most = depth;
    m->weights = weights;
    *out = m;
    return 0;
}

int32_t value_tensor(struct machine *m, uint32_t rank, const int64_t *dims,
                     const void *elements, struct object **out)
{
    uint64_t nelem;
    const int32_t fault = obj_nelem(rank, dims, &nelem);
    return fault == 0 ? obj_of(m, rank, dims, elements, out) : fault;
}

int32_t value_fields(struct machine *m, uint32_t tag, uint32_t n,
                     struct object *const *fields, struct object **out)
{
    uint32_t i;
    const int32_t fault = obj_fields(m, tag, n, out);
    for (i = 0; i < n; i++) {
        if (fault == 0)
            (*out)->at[i].field = fields[i];
        else
            obj_drop(m, fields[i]);
    }
    return fault;
}

struct object *value_hold(const struct object *value)
{
    return obj_ref((struct object *)(uintptr_t)value);
}

void value_drop(struct machine *m, struct object *value)
{
    obj_drop(m, value);
}

uint32_t value_tag(const struct object *value)
{
    return value->tag;
}

uint32_t value_count(const struct object *value)
{
    return value->n;
}

const struct object *value_field(const struct object *value, uint32_t index)
{
    return value->kind == FIELDS && index < value->n ? value->at[index].field : NULL;
}

int64_t value_dim(const struct object *value, uint32_t axis)
{
    return value->kind == TENSOR && axis < value->n ? value->at[axis].dim : 1;
}

const void *value_elements(const struct object *value)
{
    return value->data;
}
