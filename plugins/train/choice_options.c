/*
 * Options of a choice: numbers behind what its function takes. Attributes of the function say what
 * they are without being given, and where they end, which is part of the range, or which option is the
 * end:
 *
 *     def @schedule.steps(.., %every: float32, every=1000f, every_low=1f)
 *     def @initializer.uniform(.., %low: float32, %high: float32, low=-1f, high=1f, high_low="low")
 */
#include "choice.h"

#include <math.h>
#include <string.h>

#include <baton/op.h>

/* *out: an attribute that is a number. 0: there is none of that name. */
static int find_number(const struct choice *c, const char *name, double *out)
{
    const bt_dict_entry *entry = bt_dict_find(&c->global->func->attrs, name);
    if (!entry || (entry->kind != BT_DICT_INT && entry->kind != BT_DICT_FLOAT))
        return 0;
    *out = entry->kind == BT_DICT_INT ? (double)entry->i : entry->f;
    return 1;
}

/* What an option is without being given, as text; "nan": it must be given. NULL: no memory. */
static const char *preset_of(bt_arena *arena, double option)
{
    bt_text text;
    if (isnan(option))
        return "nan";
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%.9g", option);
    return bt_text_get(&text);
}

/* An option that has no default is NaN until it is given. */
static const double *find_option(const struct choice *c, const char *name)
{
    for (uint32_t i = 0; i < c->noption; i++) {
        if (strcmp(c->option_names[i], name) == 0)
            return &c->options[i];
    }
    return NULL;
}

/* The option that an attribute names; NULL: none. */
static const double *named_option(const struct choice *c, const bt_dict_entry *entry)
{
    return entry && entry->kind == BT_DICT_TEXT ? find_option(c, entry->text) : NULL;
}

/* An end of an option's range, by an attribute that is no option's default; it stays as it is where
 * there is none. */
static bt_status find_end(bt_arena *arena, const struct choice *c, uint32_t option,
                          int is_high, double *out)
{
    bt_text name;
    bt_text_init(&name, arena);
    bt_text_addf(&name, is_high ? "%s_high" : "%s_low", c->option_names[option]);
    if (!bt_text_get(&name))
        return bt_no_memory();
    if (find_option(c, name.at) || find_number(c, name.at, out))
        return NULL;
    const double *other = named_option(c, bt_dict_find(&c->global->func->attrs, name.at));
    if (other && !isnan(*other))
        *out = *other;
    return NULL;
}

static bt_status check_end(bt_ctx *ctx, bt_arena *arena, const struct choice *c,
                           uint32_t option, int is_high)
{
    const double given = c->options[option];
    double end = is_high ? INFINITY : -INFINITY;
    BT_TRY(find_end(arena, c, option, is_high, &end));
    if (is_high ? (float)given <= (float)end : (float)given >= (float)end)
        return NULL;
    return bt_fail(ctx, BT_ERR_ATTRIBUTE, "%s: %s is %g, and is to be %g or %s",
                   c->global->name, c->option_names[option], given, end,
                   is_high ? "less" : "more");
}

static bt_status check_range(bt_ctx *ctx, bt_arena *arena, const struct choice *c,
                             uint32_t option)
{
    double preset;
    if (isnan(c->options[option]) && !find_number(c, c->option_names[option], &preset))
        return bt_fail(ctx, BT_ERR_ATTRIBUTE,
                       "%s: option %s is missing, which has no default: %s{%s=..}",
                       c->global->name, c->option_names[option],
                       c->global->name + strlen(c->kind->name) + 1,
                       c->option_names[option]);
    if (!isfinite((float)c->options[option]))
        return bt_fail(ctx, BT_ERR_ATTRIBUTE, "%s: %s is to be a finite float32",
                       c->global->name, c->option_names[option]);
    BT_TRY(check_end(ctx, arena, c, option, 0));
    return check_end(ctx, arena, c, option, 1);
}

/* ---- attributes ---- */

/* "rate", "rate_low" and "rate_high", of each option, and NULL. */
static bt_status list_names(bt_arena *arena, const struct choice *c, const char **out)
{
    static const char *const ends[] = { "", "_low", "_high" };
    for (uint32_t i = 0; i < c->noption; i++) {
        for (uint32_t k = 0; k < BT_COUNT(ends); k++) {
            bt_text name;
            bt_text_init(&name, arena);
            bt_text_addf(&name, "%s%s", c->option_names[i], ends[k]);
            *out = bt_text_get(&name);
            if (!*out++)
                return bt_no_memory();
        }
    }
    *out = NULL;
    return NULL;
}

static int is_in(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bt_status check_attribute(bt_ctx *ctx, bt_arena *arena, const struct choice *c,
                                 const char *const *names, const bt_dict_entry *entry)
{
    const int is_number = entry->kind == BT_DICT_INT || entry->kind == BT_DICT_FLOAT,
              is_known = is_in(names, entry->name);
    const bt_store *store = c->of->store;
    const int is_end = is_known && !find_option(c, entry->name);
    if (is_known && !is_number && !(is_end && named_option(c, entry)))
        return bt_fail_at(ctx, BT_ERR_ATTRIBUTE, store, c->global->span,
                          "attribute %s of @%s is to be a number%s", entry->name,
                          c->global->name,
                          is_end ? ", or the name of another option" : ": options are");
    if (is_known || !is_number)
        return NULL;
    const char *near = bt_nearest(arena, entry->name, names);
    return bt_fail_at(ctx, BT_ERR_ATTRIBUTE, store, c->global->span,
                      "attribute %s of @%s is the default of no option, nor an end of "
                      "one (NAME_low, NAME_high)%s",
                      entry->name, c->global->name, near);
}

static bt_status check_ends(bt_ctx *ctx, bt_arena *arena, const struct choice *c,
                            uint32_t option)
{
    const char *name = c->option_names[option];
    double low = -INFINITY, high = INFINITY;
    BT_TRY(find_end(arena, c, option, 0, &low));
    BT_TRY(find_end(arena, c, option, 1, &high));
    if ((float)low <= (float)high)
        return NULL;
    return bt_fail_at(ctx, BT_ERR_ATTRIBUTE, c->of->store, c->global->span,
                      "attributes of @%s: %s_low is %g, and %s_high %g: there is no %s "
                      "between",
                      c->global->name, name, low, name, high, name);
}

bt_status choice_check_attributes(bt_ctx *ctx, bt_arena *arena, struct choice *c)
{
    const bt_dict *attrs = &c->global->func->attrs;
    const char *names[3 * MAX_OPTIONS + 1];
    BT_TRY(list_names(arena, c, names));
    for (uint32_t i = 0; i < attrs->n; i++)
        BT_TRY(check_attribute(ctx, arena, c, names, &attrs->at[i]));
    for (uint32_t i = 0; i < c->noption; i++) {
        if (!find_number(c, c->option_names[i], &c->options[i]))
            c->options[i] = NAN;
    }
    for (uint32_t i = 0; i < c->noption; i++) {
        BT_TRY(check_ends(ctx, arena, c, i));
        if (find_number(c, c->option_names[i], &c->options[i]))
            BT_TRY(check_range(ctx, arena, c, i));
    }
    return NULL;
}

/* ---- options ---- */

bt_status choice_read_options(bt_ctx *ctx, bt_arena *arena, const char *text,
                              struct choice *c)
{
    bt_attr *rows = BT_NEWS(arena, bt_attr, c->noption + 1);
    const void *read;
    if (!rows)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->noption; i++) {
        rows[i] = (bt_attr){ .name = c->option_names[i],
                             .kind = BT_ATTR_FLOAT,
                             .offset = i * (uint32_t)sizeof(double),
                             .preset = preset_of(arena, c->options[i]),
                             .doc = "" };
        if (!rows[i].preset)
            return bt_no_memory();
    }
    if (!c->noption && !*text)
        return NULL;
    if (!c->noption)
        return bt_fail(ctx, BT_ERR_ATTRIBUTE, "%s has no options, and {%s} gives some",
                       c->global->name, text);
    bt_store *own = bt_store_create(bt_ctx_registry(ctx));
    if (!own)
        return bt_no_memory();
    bt_status status = bt_options_parse(ctx, own, c->global->name, rows,
                                        c->noption * sizeof(double), text, &read);
    if (!status)
        memcpy(c->options, read, c->noption * sizeof(double));
    bt_store_unref(own);
    for (uint32_t i = 0; i < c->noption && !status; i++)
        status = check_range(ctx, arena, c, i);
    return status;
}

void choice_add_options(const struct choice *c, bt_text *out)
{
    for (uint32_t i = 0; i < c->noption; i++)
        bt_text_addf(out, ", %.9gf", c->options[i]);
}
