/* Constants, and values that have fields. */
#include <inttypes.h>
#include <string.h>

#include "code.h"

/* ---- constants ---- */

const char *code_data(struct coder *c, const bt_tensor *tensor)
{
    // collect() has seen every constant
    uint32_t i = 0;
    while (c->p->origins.at[i] != tensor)
        i++;
    return c->o->weights == WEIGHTS_FILE
               ? FORM("m->weights + %" PRIu64 "u", c->o->offsets[i])
               : FORM("%s_c%" PRIu32, c->p->name, i);
}

bt_status code_constant(struct coder *c, const bt_object *object, const char *to,
                        uint32_t depth)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_adt *adt = bt_object_as_adt(object);
    if (depth == MAX_LEVELS || !(tensor || tuple || adt))
        return code_refuse(c, code_here(c),
                           depth == MAX_LEVELS
                               ? "a constant that is nested more than 64 times"
                               : "a constant that is no data");
    if (tensor && !tensor->rank) {
        code_attempt(c, "obj_of(m, 0, NULL, %s, &%s)", code_data(c, tensor), to);
        return NULL;
    }
    if (tensor) {
        code_line(c, "{");
        code_line(c, "int64_t shape[%" PRIu32 "];", tensor->rank);
        for (uint32_t i = 0; i < tensor->rank; i++)
            code_line(c, "shape[%" PRIu32 "] = INT64_C(%" PRId64 ");", i,
                      tensor->dims[i]);
        code_attempt(c, "obj_of(m, %" PRIu32 ", shape, %s, &%s)", tensor->rank,
                     code_data(c, tensor), to);
        code_line(c, "}");
        return NULL;
    }
    const uint32_t n = tuple ? tuple->nfield : adt->nfield;
    code_attempt(c, "obj_fields(m, %" PRIu32 ", %" PRIu32 ", &%s)", tuple ? 0 : adt->tag,
                 n, to);
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(code_constant(c, tuple ? tuple->fields[i] : adt->fields[i],
                             FORM("%s->at[%" PRIu32 "].field", to, i), depth + 1));
    return NULL;
}

static bt_status collect(struct plan *p, const bt_object *object, uint32_t depth)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_adt *adt = bt_object_as_adt(object);
    const uint32_t n = tuple ? tuple->nfield : adt ? adt->nfield : 0;
    for (uint32_t i = 0; tensor && i < p->consts.len; i++) {
        if (p->consts.at[i] == tensor)
            return NULL;
    }
    if (tensor)
        return BT_PUSH(p->arena, &p->consts, tensor) &&
                       BT_PUSH(p->arena, &p->origins, tensor)
                   ? NULL
                   : bt_no_memory();
    for (uint32_t i = 0; i < n && depth < MAX_LEVELS; i++)
        BT_TRY(collect(p, tuple ? tuple->fields[i] : adt->fields[i], depth + 1));
    return NULL;
}

bt_status code_constants(struct plan *p)
{
    for (uint32_t i = 0; i < p->program->nconst; i++)
        BT_TRY(collect(p, p->program->consts[i].object, 0));
    return NULL;
}

/* ---- values with fields ---- */

void code_fields(struct coder *c, uint32_t dst, uint32_t tag, uint32_t extra, uint32_t n,
                 const uint32_t *operands)
{
    code_attempt(c, "obj_fields(m, %" PRIu32 ", %" PRIu32 ", &o)", tag, n + extra);
    for (uint32_t i = 0; i < n; i++)
        code_fill(c, FORM("o->at[%" PRIu32 "].field", i), operands[i]);
    if (!extra)
        code_put(c, dst);
}

bt_status code_closure(struct coder *c, const uint32_t *w)
{
    const struct vm_list *dims = &c->program->lists[w[2]];
    code_fields(c, w[0] >> 8, w[1], dims->n > 0, w[3], w + 4);
    if (!dims->n)
        return NULL;
    code_line(c, "{");
    BT_TRY(code_dims(c, dims->n, dims->terms, "shape"));
    code_line(c, "const int64_t count = %" PRIu32 ";", dims->n);
    code_attempt(c, "obj_tensor(m, 1, &count, 64, &o->at[%" PRIu32 "].field)", w[3]);
    code_line(c, "memcpy(o->at[%" PRIu32 "].field->data, shape, sizeof(shape));", w[3]);
    code_line(c, "}");
    code_put(c, w[0] >> 8);
    return NULL;
}

void code_part(struct coder *c, uint32_t dst, uint32_t operand, uint32_t index)
{
    code_line(c, "o = obj_ref(%s->at[%" PRIu32 "].field);", code_name(c, operand), index);
    code_drop_last(c, operand);
    code_put(c, dst);
}

void code_ref_set(struct coder *c, const uint32_t *w)
{
    const char *ref = code_name(c, w[1]);
    if (code_is_object(c->f, w[2]))
        code_line(c, "o = %s;", code_reference(c, w[2]));
    else
        code_fill(c, "o", w[2]);
    code_line(c, "obj_put(m, &%s->at[0].field, obj_take(&o));", ref);
    code_drop_last(c, w[1]);
    code_fields(c, w[0] >> 8, 0, 0, 0, NULL);
}
