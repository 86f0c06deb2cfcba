/* The entry: from arrays to objects and back. */
#include <inttypes.h>

#include <baton/op.h>

#include "code.h"
#include "dims.h"

static bt_status add_argument(struct coder *c, uint32_t number, const char *to,
                              uint32_t *leaf)
{
    const struct vm_type *type = &c->program->types.at[number];
    if (type->kind == VM_TYPE_TUPLE) {
        code_attempt(c, "obj_fields(machine, 0, %" PRIu32 ", &%s)", type->n, to);
        for (uint32_t i = 0; i < type->n; i++)
            BT_TRY(add_argument(c, type->at[i], FORM("%s->at[%" PRIu32 "].field", to, i),
                                leaf));
        return NULL;
    }
    const struct leaf *of = &c->p->args[(*leaf)++];
    const bt_shape_type *shape = bt_tensor_memory(of->type);
    if (!shape)
        return bt_store_why(c->p->ctx, of->type->store);
    if (!shape->n) {
        code_attempt(c, "obj_of(machine, 0, NULL, %s, &%s)", of->name, to);
        return NULL;
    }
    code_line(c, "{");
    code_line(c, "int64_t aot_shape[%" PRIu32 "];", shape->n);
    for (uint32_t i = 0; i < shape->n; i++) {
        bt_text dim;
        bt_text_init(&dim, c->p->arena);
        BT_TRY(plan_dim_text(c->p, shape->dims[i], &dim));
        if (!bt_text_get(&dim))
            return bt_no_memory();
        code_line(c, "aot_shape[%" PRIu32 "] = %s;", i, dim.at);
    }
    code_attempt(c, "obj_of(machine, %" PRIu32 ", aot_shape, %s, &%s)", shape->n,
                 of->name, to);
    code_line(c, "}");
    return NULL;
}

static bt_status add_result(struct coder *c, uint32_t number, const char *from,
                            uint32_t *leaf)
{
    const struct vm_type *type = &c->program->types.at[number];
    if (type->kind == VM_TYPE_TUPLE) {
        for (uint32_t i = 0; i < type->n; i++)
            BT_TRY(add_result(c, type->at[i], FORM("%s->at[%" PRIu32 "].field", from, i),
                              leaf));
        return NULL;
    }
    const struct leaf *of = &c->p->results[(*leaf)++];
    const bt_type *nbytes = bt_tensor_size(of->type);
    bt_text size;
    bt_text_init(&size, c->p->arena);
    if (!nbytes) {
        bt_status why = bt_store_why(c->p->ctx, of->type->store);
        return why->code == BT_ERR_MEMORY
                   ? why
                   : code_refuse(c, c->p->entry->func->block->result, why->message);
    }
    BT_TRY(plan_dim_text(c->p, nbytes, &size));
    if (!bt_text_get(&size))
        return bt_no_memory();
    code_line(c, "if (%s != %s) {", code_size(c, from, type->dtype), size.at);
    code_line(c, "    fault = FAULT_SHAPE;");
    code_line(c, "    goto done;");
    code_line(c, "}");
    code_line(c, "memcpy(%s, %s->data, (size_t)(%s));", of->name, from, size.at);
    return NULL;
}

/* ---- on values ---- */

/* That a value is of a type, as far as tuples and tensors go: what is in values of data
 * types is the caller's to get right. Types nest to a bounded depth. */
static bt_status add_value_check(struct coder *c, const bt_type *type, const char *at)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    if (!tuple && !shape)
        return NULL;
    code_line(c, "if (%s->kind != %s || %s->n != %" PRIu32 "u)", at,
              tuple ? "FIELDS" : "TENSOR", at, tuple ? tuple->n : shape->n);
    code_line(c, "    return FAULT_SHAPE;");
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(
            add_value_check(c, tuple->at[i], FORM("%s->at[%" PRIu32 "].field", at, i)));
    for (uint32_t i = 0; !tuple && i < shape->n; i++) {
        bt_text dim;
        if (shape->dims[i]->has & BT_HAS_OPAQUE)
            continue;
        bt_text_init(&dim, c->p->arena);
        BT_TRY(plan_dim_text(c->p, shape->dims[i], &dim));
        if (!bt_text_get(&dim))
            return bt_no_memory();
        code_line(c, "if (%s->at[%" PRIu32 "].dim != %s)", at, i, dim.at);
        code_line(c, "    return FAULT_SHAPE;");
    }
    return NULL;
}

/* Parameters that are scalars come out of their values; a result that is one goes into a
 * new value. */
static bt_status add_values(struct coder *c, const struct vm_function *f)
{
    struct plan *p = c->p;
    const bt_dtype dtype = c->program->types.at[f->result].dtype;
    const int is_scalar = vm_type_is_scalar(&c->program->types, f->result);
    add_prototype(c->o, c->out);
    bt_text_addf(c->out, "\n{\n");
    if (is_scalar)
        code_line(c, "%s aot_result = 0;", c_value_type(&c->x, dtype));
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (!code_is_object(f, f->params[i]))
            code_line(
                c, "%s aot_n%" PRIu32 ";",
                c_value_type(&c->x, c->program->types.at[f->types[f->params[i]]].dtype),
                i);
    }
    code_line(c, "int32_t fault;");
    BT_TRY(add_ranges(c->o, NULL, c->out));
    for (uint32_t i = 0; i < f->nparam; i++)
        BT_TRY(add_value_check(c, p->args[i].type, p->args[i].name));
    for (uint32_t i = 0; i < f->nparam; i++) {
        const char *name = p->args[i].name;
        if (code_is_object(f, f->params[i]))
            continue;
        code_line(
            c, "aot_n%" PRIu32 " = %s;", i,
            code_element(c, name, c->program->types.at[f->types[f->params[i]]].dtype));
        code_line(c, "obj_drop(machine, %s);", name);
    }
    bt_text_addf(c->out, "    fault = %s(machine", code_function_name(c, f));
    for (uint32_t i = 0; i < f->nvar; i++)
        bt_text_addf(c->out, ", %s", p->dims[i]);
    for (uint32_t i = 0; i < f->nparam; i++)
        bt_text_addf(c->out, ", %s",
                     code_is_object(f, f->params[i]) ? p->args[i].name
                                                     : FORM("aot_n%" PRIu32, i));
    bt_text_addf(c->out, ", %s);\n", is_scalar ? "&aot_result" : p->results->name);
    if (is_scalar) {
        code_line(c, "if (fault == 0)");
        code_line(c, "    fault = obj_box(machine, %s);", p->results->name);
        code_line(c, "if (fault == 0)");
        code_line(c, "    *(%s *)(void *)(*%s)->data = %s;", c_element_type(dtype),
                  p->results->name, c_stored(&c->x, dtype, "aot_result"));
    }
    code_line(c, "return fault;");
    bt_text_addf(c->out, "}\n\n");
    return values_define(c->o, c->out);
}

/* ---- on arrays ---- */

static void declare_variables(struct coder *c, const struct vm_function *f)
{
    uint32_t nobject = 0;
    for (uint32_t i = 0; i < f->nparam; i++)
        nobject += (uint32_t)code_is_object(f, f->params[i]);
    code_line(c, "struct machine aot_machine = { 0 };");
    code_line(c, "struct machine *const machine = &aot_machine;");
    if (vm_type_is_scalar(&c->program->types, f->result))
        code_line(c, "%s aot_result = 0;",
                  c_value_type(&c->x, c->program->types.at[f->result].dtype));
    else
        code_line(c, "struct object *aot_result = NULL;");
    if (nobject)
        code_line(c, "struct object *aot_objects[%" PRIu32 "] = { 0 };", f->nparam);
    code_line(c, "int32_t fault = 0;");
}

static void call_function(struct coder *c, const struct vm_function *f)
{
    const struct plan *p = c->p;
    uint32_t leaf = 0;
    bt_text_addf(c->out, "    fault = %s(machine", code_function_name(c, f));
    for (uint32_t i = 0; i < f->nvar; i++)
        bt_text_addf(c->out, ", %s", p->dims[i]);
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (code_is_object(f, f->params[i])) {
            bt_text_addf(c->out, ", aot_objects[%" PRIu32 "]", i);
            leaf += bt_type_nleaf(p->entry->func->block->params[i]->base.type);
            continue;
        }
        bt_text_addf(c->out, ", %s",
                     c_loaded(&c->x, c->program->types.at[f->types[f->params[i]]].dtype,
                              FORM("*%s", p->args[leaf++].name)));
    }
    bt_text_addf(c->out, ", &aot_result);\n");
    code_check_fault(c);
}

bt_status code_entry(struct coder *c)
{
    struct plan *p = c->p;
    const struct vm_function *f = c->program->functions[0];
    uint32_t leaf = 0;
    c->f = f;
    p->names = (struct c_dim_names){ f->nvar, p->entry->func->vars, p->dims };
    if (p->has_values)
        return add_values(c, f);
    add_prototype(c->o, c->out);
    bt_text_addf(c->out, "\n{\n");
    declare_variables(c, f);
    code_line(c, "if ((uintptr_t)workspace %% 64 != 0)");
    code_line(c, "    return %d;", FAULT_WORKSPACE);
    BT_TRY(add_ranges(c->o, NULL, c->out));
    code_line(c, "if (!workspace && nbytes != 0)");
    code_line(c, "    return %d;", FAULT_WORKSPACE);
    if (has_workspace(p) || (p->bound.is_known && p->bound.nbytes)) {
        bt_text_addf(c->out, "    if (nbytes < %s",
                     has_workspace(p) ? "" : FORM("%s_WORKSPACE", p->name));
        if (has_workspace(p))
            call_workspace(p, c->out);
        code_line(c, ")\n        return FAULT_MEMORY;");
    }
    code_line(c, "machine->at = workspace;");
    code_line(c, "machine->end = machine->at + nbytes / 64 * 64;");
    code_line(c, "machine->most = depth;");
    if (c->o->weights == WEIGHTS_FILE)
        code_line(c, "machine->weights = weights;");
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (code_is_object(f, f->params[i]))
            BT_TRY(add_argument(c, f->types[f->params[i]],
                                FORM("aot_objects[%" PRIu32 "]", i), &leaf));
        else
            leaf++;
    }
    call_function(c, f);
    leaf = 0;
    if (vm_type_is_scalar(&c->program->types, f->result))
        code_line(c, "*%s = %s;", p->results[0].name,
                  c_stored(&c->x, c->program->types.at[f->result].dtype, "aot_result"));
    else
        BT_TRY(add_result(c, f->result, "aot_result", &leaf));
    bt_text_addf(c->out, "done:\n");
    code_line(c, "return fault;");
    bt_text_addf(c->out, "}\n\n");
    return NULL;
}
