/* Cells in forward mode: beside a content its tangents are held. */
#include "gradients/adjoint_cells.h"
#include "gradients/tangent.h"

/* What a cell is given: the content and its tangents, in place of zeros. */
static bt_status make_held(struct adjoint *a, const bt_value *old, const bt_value **out)
{
    const bt_type *type = bt_as_tuple_type(old->type)->at[0];
    const bt_value *const *tangents = adjoint_of(a, old);
    const bt_tuple_value *tuple = bt_as_tuple(adjoint_now(a, old));
    adjoint_values fields = { 0 };
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const bt_value *field = tuple->fields[i];
        while (i && !adjoint_has(a->diff, adjoint_leaf(type, leaf)))
            leaf++;
        if (i && tangents && tangents[leaf])
            field = tangents[leaf];
        leaf += i != 0;
        if (!BT_PUSH(a->copy.arena, &fields, field))
            return bt_no_memory();
    }
    return bt_build_tuple(a->copy.b, fields.len, fields.at, out);
}

static bt_status make_read(struct adjoint *a, const bt_value *old)
{
    const bt_type *type = bt_as_tuple_type(old->type)->at[0];
    const bt_value *tangent;
    uint32_t next = 1;
    for (uint32_t i = 0; i < bt_type_nleaf(type); i++) {
        if (!adjoint_has(a->diff, adjoint_leaf(type, i)))
            continue;
        BT_TRY(bt_build_proj(a->copy.b, adjoint_now(a, old), next++, &tangent));
        BT_TRY(adjoint_add(a, old, i, tangent));
    }
    return NULL;
}

bt_status tangent_cell(struct adjoint *a, const bt_value *old)
{
    struct copy *c = &a->copy;
    const bt_value *content, *ref = adjoint_cell_of(old, &content), *now, *held = NULL;
    if (content) {
        bt_builder_like(c->b, old);
        bt_builder_name(c->b, NULL);
        BT_TRY(make_held(a, content, &held));
    }
    if (old != ref)
        BT_TRY(copy_operand(c, ref, NULL, &ref));
    bt_builder_like(c->b, old);
    BT_TRY(!content     ? bt_build_read(c->b, ref, &now)
           : old == ref ? bt_build_ref(c->b, held, &now)
                        : bt_build_write(c->b, ref, held, &now));
    bt_builder_name(c->b, NULL);
    BT_TRY(copy_put(c, old, now));
    return content ? NULL : make_read(a, old);
}
