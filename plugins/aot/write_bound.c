/* The memory that is enough for a program with branches, where it is by dims of the entry. */
#include <inttypes.h>

#include "dims.h"
#include "write.h"

int has_workspace(const struct plan *p)
{
    return !p->program || (p->bound.is_known && p->entry->func->nvar);
}

bt_status write_bound(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    const struct bound *bound = &p->bound;
    if (!has_workspace(p))
        return NULL;
    p->names =
        (struct c_dim_names){ p->entry->func->nvar, p->entry->func->vars, p->dims };
    bt_text_addf(out, "uint64_t %s_workspace(", p->name);
    add_dim_params(o, out);
    bt_text_addf(out, ")\n{\n    const int64_t aot_frames = ");
    BT_TRY(plan_dim_text(p, bound->frames, out));
    bt_text_addf(out, ";\n    uint64_t aot_total = UINT64_C(%" PRIu64 ");\n",
                 bound->base);
    BT_TRY(add_ranges(o, "UINT64_MAX", out));
    bt_text_addf(out, "    if (aot_frames > INT64_C(0xffffffffffff))\n"
                      "        return UINT64_MAX;\n"
                      "    aot_total += (uint64_t)(aot_frames > 0 ? aot_frames : 0);\n");
    for (uint32_t i = 0; i < bound->nterm; i++) {
        const struct bound_term *term = &bound->terms[i];
        if (!term->count)
            continue;
        bt_text_addf(
            out, "    aot_total = block_total(aot_total, %" PRIu64 "u, %" PRIu64 "u, ",
            term->count, term->head);
        BT_TRY(plan_dim_text(p, term->nbytes, out));
        bt_text_addf(out, ");\n");
    }
    bt_text_addf(out, "    return aot_total;\n}\n\n");
    return NULL;
}
