/* The memory that is enough for a program with branches, where it is by dims of the entry. */
#include <inttypes.h>

#include "dims.h"
#include "write.h"

int has_workspace(const struct plan *p)
{
    return !p->program || (p->bound.is_known && p->entry->func->nvar);
}

/* As obj_new of runtime.h counts. */
static const char *const size_function =
    "/* Behind `total`: so many objects, of a head and elements. */\n"
    "static uint64_t size_add(uint64_t total, uint64_t count, uint64_t head, int64_t "
    "nbytes)\n"
    "{\n"
    "    uint64_t size = 64u, step = 64u;\n"
    "    const uint64_t all = head + (nbytes > 0 ? (uint64_t)nbytes : 0u);\n"
    "    if (all > UINT64_C(0xffffffffffff))\n"
    "        return UINT64_MAX;\n"
    "    while (size < all) {\n"
    "        size += step;\n"
    "        if (size == 8u * step)\n"
    "            step *= 2u;\n"
    "    }\n"
    "    return count > (UINT64_MAX - total) / size ? UINT64_MAX : total + count * "
    "size;\n"
    "}\n\n";

bt_status write_bound(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    const struct bound *bound = &p->bound;
    int has_terms = 0;
    if (!has_workspace(p))
        return NULL;
    p->names =
        (struct c_dim_names){ p->entry->func->nvar, p->entry->func->vars, p->dims };
    for (uint32_t i = 0; i < bound->nterm; i++)
        has_terms |= bound->terms[i].count > 0;
    if (has_terms)
        bt_text_addf(out, "%s", size_function);
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
        bt_text_addf(out,
                     "    aot_total = size_add(aot_total, %" PRIu64 "u, %" PRIu64 "u, ",
                     term->count, term->head);
        BT_TRY(plan_dim_text(p, term->nbytes, out));
        bt_text_addf(out, ");\n");
    }
    bt_text_addf(out, "    return aot_total;\n}\n\n");
    return NULL;
}
