/*
 * Operators that no kernel computes, as calls of their plain C: one that says how large the
 * results are, and one that writes them.
 */
#include <inttypes.h>

#include <baton/op.h>

#include "code.h"
#include "plain.h"

static bt_status refuse(struct coder *c, const bt_call *call)
{
    const int has_formula = bt_op_has_formula(call->op);
    return code_refuse(
        c, &call->base,
        FORM("no C is written for %s, %s; executors vm and interp run it%s",
             call->op->name,
             has_formula ? "because a run finds out which sizes it meets"
                         : "of which there is no plain C",
             c->p->entry->func->nvar
                 ? "; where sizes are computed from open dims, --dim gives "
                   "numbers for these"
                 : ""));
}

/* ---- tensors ---- */

/* "in[0] = (bt_plain_tensor){ ... };", of an operand. */
static bt_status add_input(struct coder *c, uint32_t index, uint32_t operand)
{
    const struct vm_type *type = code_type_of(c, operand);
    const char *name = code_name(c, operand);
    const bt_dtype dtype = type->dtype;
    if (!code_is_object(c->f, operand)) {
        code_line(c, "%s e%" PRIu32 " = %s;", c_element_type(dtype), index,
                  c_stored(&c->x, dtype, name));
        code_line(c,
                  "in[%" PRIu32 "] = (bt_plain_tensor){ &e%" PRIu32 ", NULL, 0, %" PRIu32
                  ", '%c' };",
                  index, index, code_nbytes(dtype), bt_plain_kind(dtype));
        return NULL;
    }
    if (type->kind != VM_TYPE_TENSOR && type->kind != VM_TYPE_SCALAR)
        return code_refuse(c, code_here(c), "plain C takes no tuples");
    code_line(c,
              "in[%" PRIu32 "] = (bt_plain_tensor){ %s->data, &%s->at[0].dim, %s->n, "
              "%" PRIu32 ", '%c' };",
              index, name, name, name, code_nbytes(dtype), bt_plain_kind(dtype));
    return NULL;
}

/* A result whose dims are asked for. */
static bt_status add_output(struct coder *c, uint32_t index, const struct vm_type *type)
{
    const uint32_t rank = type->kind == VM_TYPE_TENSOR ? type->rank : 0;
    if (type->kind != VM_TYPE_TENSOR && type->kind != VM_TYPE_SCALAR)
        return code_refuse(c, code_here(c), "plain C gives no tuples in tuples");
    code_line(c, "int64_t dims%" PRIu32 "[%" PRIu32 "];", index, rank ? rank : 1);
    code_line(c,
              "out[%" PRIu32 "] = (bt_plain_tensor){ NULL, dims%" PRIu32 ", %" PRIu32
              ", %" PRIu32 ", '%c' };",
              index, index, rank, code_nbytes(type->dtype), bt_plain_kind(type->dtype));
    return NULL;
}

static void make_output(struct coder *c, uint32_t index, const struct vm_type *type,
                        const char *to)
{
    code_attempt(c,
                 "obj_tensor(m, out[%" PRIu32 "].rank, out[%" PRIu32 "].dims, %" PRIu32
                 ", &%s)",
                 index, index, bt_dtype_nbits(type->dtype), to);
    code_line(c, "out[%" PRIu32 "].data = %s->data;", index, to);
}

/* ---- the call ---- */

/* The number before that of the first of the operator's faults. */
static bt_status add_faults(struct coder *c, const bt_plain_facet *facet, uint32_t *out)
{
    uint32_t number;
    *out = 0;
    for (uint32_t i = 0; facet->faults && facet->faults[i]; i++) {
        const bt_call *call = bt_as_call(code_here(c));
        BT_TRY(code_fault(c, code_here(c),
                          FORM("%s: %s", call->op->name, facet->faults[i]), &number));
        *out = i ? *out : number - 1;
    }
    return NULL;
}

static void add_call(struct coder *c, const bt_plain_facet *facet, uint32_t before_faults)
{
    code_line(c, "fault = %s(&call);", facet->symbol);
    if (before_faults) {
        code_line(c, "if (fault > 0)");
        code_line(c, "    fault += %" PRIu32 ";", before_faults);
    }
    code_check_fault(c);
}

static bt_status add_outputs(struct coder *c, const struct vm_type *type, uint32_t nout)
{
    const struct vm_types *types = &c->program->types;
    const int is_tuple = type->kind == VM_TYPE_TUPLE;
    code_line(c, "bt_plain_tensor out[%" PRIu32 "];", nout ? nout : 1);
    for (uint32_t i = 0; i < nout; i++)
        BT_TRY(add_output(c, i, is_tuple ? &types->at[type->at[i]] : type));
    return NULL;
}

static void make_outputs(struct coder *c, const struct vm_type *type, uint32_t nout)
{
    const struct vm_types *types = &c->program->types;
    if (type->kind != VM_TYPE_TUPLE) {
        make_output(c, 0, type, "o");
        return;
    }
    code_attempt(c, "obj_fields(m, 0, %" PRIu32 ", &o)", nout);
    for (uint32_t i = 0; i < nout; i++)
        make_output(c, i, &types->at[type->at[i]], FORM("o->at[%" PRIu32 "].field", i));
}

bt_status code_plain(struct coder *c, const uint32_t *w)
{
    const struct vm_operator *row = &c->program->operators[w[1]];
    const struct vm_type *type = &c->program->types.at[row->type];
    const uint32_t nin = w[2], nout = type->kind == VM_TYPE_TUPLE ? type->n : 1;
    struct c_plain plain;
    uint32_t before_faults;
    bt_text attrs;
    int is_done;
    BT_TRY(c_plain_find(c->p->ctx, c->p->arena, row->call, &plain));
    if (!plain.facet) {
        BT_TRY(code_elements(c, row->call, nin, w + 3, &is_done));
        if (!is_done)
            BT_TRY(code_loops(c, row->call, nin, w + 3, &is_done));
        if (!is_done)
            return refuse(c, row->call);
        code_put(c, w[0] >> 8);
        return NULL;
    }
    if (!c_plain_use(&c->plain, plain.facet))
        return bt_no_memory();
    BT_TRY(add_faults(c, plain.facet, &before_faults));
    bt_text_init(&attrs, c->p->arena);
    c_plain_attrs(&plain, &attrs);
    if (!bt_text_get(&attrs))
        return bt_no_memory();
    code_line(c, "{");
    bt_text_add(c->out, attrs.at, attrs.len);
    code_line(c, "bt_plain_call call = { 0 };");
    code_line(c, "bt_plain_tensor in[%" PRIu32 "];", nin ? nin : 1);
    for (uint32_t i = 0; i < nin; i++)
        BT_TRY(add_input(c, i, w[3 + i]));
    BT_TRY(add_outputs(c, type, nout));
    code_line(c, "call.nin = %" PRIu32 ";", nin);
    code_line(c, "call.nout = %" PRIu32 ";", nout);
    code_line(c, "call.in = in;");
    code_line(c, "call.out = out;");
    code_line(c, "call.attrs = attrs;");
    code_line(c, "call.is_sizing = 1;");
    if (plain.facet->workspace) {
        // it lies below the activation's memory, until the results are written
        code_line(c, "unsigned char *const end = m->end, *workspace;");
        code_attempt(c, "frame_take(m, %s * %" PRIu32 ", &workspace)",
                     FORM("(obj_count(%s) ? %s->at[%" PRId64 "].dim : 0)",
                          code_name(c, w[3]), code_name(c, w[3]), plain.attrs[0]),
                     plain.facet->workspace);
        code_line(c, "call.workspace = workspace;");
    }
    add_call(c, plain.facet, before_faults);
    make_outputs(c, type, nout);
    code_line(c, "call.is_sizing = 0;");
    code_line(c, "call.is_sized = 1;");
    add_call(c, plain.facet, before_faults);
    if (plain.facet->workspace)
        code_line(c, "m->end = end;");
    code_line(c, "}");
    for (uint32_t i = 0; i < nin; i++)
        code_drop_last(c, w[3 + i]);
    code_put(c, w[0] >> 8);
    return NULL;
}
