/*
 * Values as one line for people: 1, 2f, [[1, 2], [3, 4]], (1, 2f), Cons(1, Nil), ref(1).
 *
 * A value may be a list of a million cells, or a cycle: the walk keeps its own stack,
 * prints a bounded number of objects, and does not follow references within references
 * for long.
 */
#include <inttypes.h>
#include <string.h>

#include "value/decimal.h"
#include "value/object.h"

enum { REF_DEPTH = 4 };

/* ---- tensors ---- */

/* How many of the outer axes begin at this position: as many brackets open before it. */
static uint32_t opening(const bt_tensor *t, uint32_t rank, int64_t position)
{
    uint32_t n = 0;
    for (uint32_t i = rank; i-- > 0; n++) {
        if (position % t->dims[i] != 0)
            break;
        position /= t->dims[i];
    }
    return n;
}

static void add_repeated(bt_text *out, const char *text, uint32_t n)
{
    while (n--)
        bt_text_add(out, text, strlen(text));
}

static void add_tensor(bt_text *out, const bt_tensor *t, uint32_t max_nelem)
{
    if (t->rank == 0) {
        bt__element_write(out, t, 0);
        bt_text_addf(out, "%s", bt__suffix_of(t->dtype));
        return;
    }
    // up to the first axis of no elements, where an empty list stands in place of an element
    uint32_t rank = 0;
    int64_t nelem = 1;
    for (; rank < t->rank && t->dims[rank]; rank++)
        nelem = nelem > INT64_MAX / t->dims[rank] ? INT64_MAX : nelem * t->dims[rank];
    const int64_t n = nelem < (int64_t)max_nelem || !rank ? nelem : (int64_t)max_nelem;
    for (int64_t i = 0; i < n; i++) {
        uint32_t fresh = opening(t, rank, i);
        if (i > 0) {
            add_repeated(out, "]", fresh);
            bt_text_addf(out, ", ");
        }
        add_repeated(out, "[", fresh);
        if (rank < t->rank)
            bt_text_addf(out, "[]");
        else
            bt__element_write(out, t, i);
    }
    if (n == 0)
        add_repeated(out, "[", rank);
    if (n < nelem)
        bt_text_addf(out, "%s...", n ? ", " : "");
    add_repeated(out, "]", rank);
}

/* ---- containers ---- */

struct frame {
    const bt_object *object;
    uint32_t next; /* field to print */
};

struct printer {
    bt_text *out;
    uint32_t max_nelem, nleft;
    uint32_t nref; /* references on the stack */
    bt_vec(struct frame) stack;
};

/* Prints a leaf whole, of a container what stands before its fields. */
static void enter(struct printer *p, const bt_object *o)
{
    const bt_tensor *tensor = bt_object_as_tensor(o);
    const bt_adt *adt = bt_object_as_adt(o);
    int is_ref = o && o->kind == BT_OBJECT_REF;
    if (!o) {
        bt_text_addf(p->out, "empty");
        return;
    }
    if (p->nleft == 0 || (is_ref && p->nref == REF_DEPTH)) {
        bt_text_addf(p->out, "...");
        return;
    }
    p->nleft--;
    if (tensor) {
        add_tensor(p->out, tensor, p->max_nelem);
        return;
    }
    if (o->kind == BT_OBJECT_CLOSURE) {
        bt_text_addf(p->out, "closure");
        return;
    }
    bt_text_addf(p->out, "%s", adt ? adt->name : is_ref ? "ref" : "");
    if (adt && adt->nfield == 0)
        return;
    bt_text_add(p->out, "(", 1);
    p->nref += is_ref;
    if (!BT_PUSH(p->out->arena, &p->stack, ((struct frame){ .object = o })))
        p->out->failed = 1;
}

void bt_object_print(const bt_object *object, uint32_t max_nelem, bt_text *out)
{
    struct printer p = { .out = out,
                         .max_nelem = max_nelem,
                         .nleft = max_nelem ? max_nelem : 1 };
    enter(&p, object);
    while (p.stack.len && !out->failed) {
        struct frame *top = &p.stack.at[p.stack.len - 1];
        bt__fields fields = bt__object_fields(top->object);
        int is_cut = p.nleft == 0 && top->next > 0;
        if (top->next < fields.len && !is_cut) {
            if (top->next > 0)
                bt_text_addf(out, ", ");
            enter(&p, fields.at[top->next++]);
            continue;
        }
        if (top->next < fields.len)
            bt_text_addf(out, ", ...");
        // A tuple of one field is told from brackets by its comma.
        int is_single = top->object->kind == BT_OBJECT_TUPLE && fields.len == 1;
        bt_text_addf(out, "%s)", is_single ? "," : "");
        p.nref -= top->object->kind == BT_OBJECT_REF;
        p.stack.len--;
    }
}

void bt_tensor_print_type(const bt_tensor *t, bt_text *out)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    for (uint32_t i = 0; i < t->rank; i++)
        bt_text_addf(out, "%s%" PRId64, i ? ", " : "Tensor[(", t->dims[i]);
    bt_text_addf(out, t->rank ? "), %s]" : "%s",
                 bt_dtype_name(t->dtype, dtype, sizeof(dtype)));
}
