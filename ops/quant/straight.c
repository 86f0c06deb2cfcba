#include "straight.h"

static uint32_t rank_of(const bt_value *x)
{
    return bt_tensor_shape(x->type)->n;
}

/* The names of a tensor's extents, or indices, as those of data. */
static void add_axes(const struct straight *s, const bt_value *of, const char *name,
                     bt_text *text)
{
    const uint32_t rank = rank_of(s->data), n = rank_of(of);
    if (n == 1) {
        const char letter[2] = { *name, 0 };
        bt_text_addf(text, "%s%u", letter, bt_axis_front(s->axis, rank));
    } else {
        bt_text_each(text, n, name, UINT32_MAX, NULL);
    }
}

static void add_read(const struct straight *s, const bt_value *of, const char *array,
                     bt_text *text)
{
    bt_text_addf(text, "%s[", array);
    if (of == s->data)
        bt_text_each(text, rank_of(of), "i#", UINT32_MAX, NULL);
    else
        add_axes(s, of, "i#", text);
    bt_text_addf(text, "]");
}

void straight_head(const struct straight *s, bt_text *text)
{
    const uint32_t rank = rank_of(s->data);
    bt_text_addf(text, "d: t[");
    bt_text_each(text, rank, "n#", UINT32_MAX, NULL);
    bt_text_addf(text, "], x: t[");
    bt_text_each(text, rank, "n#", UINT32_MAX, NULL);
    bt_text_addf(text, "], s: float32[");
    add_axes(s, s->scale, "n#", text);
    bt_text_addf(text, "], z: int32[");
    add_axes(s, s->zero, "n#", text);
    bt_text_addf(text, "]%s => g: t[", s->kind ? ", k: int32[]" : "");
    bt_text_each(text, rank, "i# in n#", UINT32_MAX, NULL);
    bt_text_addf(text, "] = ");
}

void straight_item(const struct straight *s, bt_text *text)
{
    add_read(s, s->data, "d", text);
}

void straight_scale(const struct straight *s, bt_text *text)
{
    add_read(s, s->scale, "s", text);
}

void straight_code(const struct straight *s, bt_text *text)
{
    bt_text_addf(text, "float32(");
    add_read(s, s->data, "x", text);
    bt_text_addf(text, ") / ");
    straight_scale(s, text);
    bt_text_addf(text, " + float32(");
    add_read(s, s->zero, "z", text);
    bt_text_addf(text, ")");
}

bt_status straight_build(bt_builder *b, const struct straight *s, const bt_value *d,
                         bt_text *text, const bt_value **out)
{
    const char *formula = bt_text_get(text);
    const bt_value *args[] = { d, s->data, s->scale, s->zero, s->kind };
    return formula ? bt_build_formula(b, NULL, s->kind ? 5 : 4, args, formula, out)
                   : bt_no_memory();
}
