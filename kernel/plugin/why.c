/* Explaining a name: where was searched, who provides it, what was chosen and why. */
#include <string.h>

#include "base/nearest.h"
#include "plugin/plugins.h"

static const char *const origins[] = {
    [BT__PLACE_EXPLICIT] = "named by the application",
    [BT__PLACE_PATH] = "BATON_PLUGIN_PATH",
    [BT__PLACE_ONLY] = "BATON_PLUGIN_ONLY, which replaces all other folders",
    [BT__PLACE_USER] = "the user's folder",
    [BT__PLACE_PREFIX] = "the folder beside libbaton",
    [BT__PLACE_LINKED] = "linked in",
};

static const char *manifest_of(const bt_plugin_handle *h)
{
    return h->manifest ? h->manifest : "linked in";
}

static void explain_places(const struct bt__plugins *plugins, bt_text *out)
{
    bt_text_addf(out, "searched, in this order:\n");
    for (uint32_t i = 0; i < plugins->places.len; i++) {
        const bt__place *place = &plugins->places.at[i];
        bt_text_addf(out, "  %u. %s (%s)%s%s\n", i + 1, place->path,
                     origins[place->origin], *place->result ? ": " : "", place->result);
    }
    if (plugins->places.len == 0)
        bt_text_addf(out, "  nowhere: BATON_PLUGIN_ONLY is empty\n");
}

static void explain_plugin(const bt_plugin_handle *h, bt_text *out)
{
    static const char *const states[] = { "not opened", "open", "refused" };
    bt_text_addf(out, "plugin %s %s\n  manifest  %s\n  state     %s\n", h->id, h->version,
                 manifest_of(h), states[h->state]);
    if (h->binary)
        bt_text_addf(out, "  binary    %s\n", h->binary);
    for (size_t i = 0; i < json_array_size(h->sources); i++)
        bt_text_addf(out, "  source    %s/%s\n", h->folder,
                     json_string_value(json_array_get(h->sources, i)));
    if (h->state == BT_PLUGIN_REFUSED) {
        bt_text_addf(out, "  because   ");
        if (h->refusal->place.line)
            bt_text_addf(out, "%s:%u:%u: ", h->refusal->place.file,
                         h->refusal->place.line, h->refusal->place.column);
        bt_text_addf(out, "%s\n", h->refusal->message);
    }
}

/* All candidates of one interface and name, hidden ones included. */
static void explain_item(const struct bt__plugins *plugins, const bt__item *first,
                         bt_text *out)
{
    uint32_t nusable = 0, is_facet = 0;
    const bt_plugin_handle *chosen = NULL;
    is_facet = first->kind && strcmp(first->kind->kind, "facet") == 0;
    bt_text_addf(out, "%s \"%s\"\n",
                 first->kind ? first->kind->kind : first->interface_name, first->name);
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        const bt_plugin_handle *h = plugins->handles.at[i];
        for (uint32_t j = 0; j < h->nitem; j++) {
            const bt__item *item = &h->items[j];
            if (strcmp(item->name, first->name) != 0 ||
                strcmp(item->interface_name, first->interface_name) != 0)
                continue;
            bt_text_addf(out, "  %s %s (%s)", h->id, h->version, manifest_of(h));
            if (is_facet)
                bt_text_addf(out, ", priority %lld",
                             (long long)json_integer_value(
                                 json_object_get(item->json, "priority")));
            if (h->state == BT_PLUGIN_REFUSED) {
                bt_text_addf(out, ": refused: %s\n", h->refusal->message);
                continue;
            }
            bt_text_addf(out, "\n");
            chosen = h;
            nusable++;
        }
    }
    const char *use = bt_map_find(&plugins->use, first->name);
    if (use)
        bt_text_addf(out, "  %s is used: it was chosen (BATON_PLUGIN_USE)\n", use);
    else if (is_facet)
        bt_text_addf(out, "  the one with the highest priority is used\n");
    else if (nusable == 1)
        bt_text_addf(out, "  %s is used: no other plugin that may be opened has it%s%s\n",
                     chosen->id,
                     chosen->state == BT_PLUGIN_FOUND
                         ? "; it has not been opened: what is wrong with it is told by "
                           "baton plugin check "
                         : "",
                     chosen->state == BT_PLUGIN_FOUND ? chosen->id : "");
    else if (nusable > 1)
        bt_text_addf(out,
                     "  none is used: it is provided %u times; remove all but one, or "
                     "choose by BATON_PLUGIN_USE=%s=PLUGIN\n",
                     nusable, first->name);
    else
        bt_text_addf(out, "  none is used: every plugin that has it is refused\n");
}

static uint32_t explain_name(const struct bt__plugins *plugins, const char *name,
                             bt_text *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plugins->interfaces.len; i++) {
        const bt_map *names = plugins->interfaces.at[i].value;
        const bt__item *item = bt_map_find(names, name);
        if (item)
            explain_item(plugins, item, out);
        n += item != NULL;
    }
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        if (strcmp(plugins->handles.at[i]->id, name) == 0) {
            explain_plugin(plugins->handles.at[i], out);
            n++;
        }
    }
    return n;
}

static void explain_absence(bt_ctx *ctx, const struct bt__plugins *plugins,
                            const char *name, bt_text *out)
{
    bt__nearest nearest;
    bt__nearest_init(&nearest, name);
    for (uint32_t i = 0; i < plugins->items.len; i++)
        bt__nearest_offer(&nearest, plugins->items.at[i]->name);
    for (uint32_t i = 0; i < plugins->handles.len; i++)
        bt__nearest_offer(&nearest, plugins->handles.at[i]->id);
    bt_text_addf(out, "no plugin found provides \"%s\"%s\n", name,
                 bt__nearest_text(&nearest, ctx->diags));
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        const bt_plugin_handle *h = plugins->handles.at[i];
        if (h->state == BT_PLUGIN_REFUSED && h->nitem == 0)
            explain_plugin(h, out);
    }
}

/* ---- places ---- */

uint32_t bt_plugin_nplace(bt_ctx *ctx)
{
    struct bt__plugins *plugins;
    if (bt__plugins_lock(ctx, &plugins))
        return 0;
    uint32_t n = plugins->places.len;
    bt__plugins_unlock(ctx);
    return n;
}

bt_status bt_plugin_place_at(bt_ctx *ctx, uint32_t index, bt_plugin_place *out)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    int is_there = index < plugins->places.len;
    if (is_there) {
        const bt__place *place = &plugins->places.at[index];
        *out = (bt_plugin_place){ .path = place->path,
                                  .origin = origins[place->origin],
                                  .result = place->result,
                                  .is_refused = place->is_refused };
    }
    bt__plugins_unlock(ctx);
    return is_there ? NULL : bt_fail(ctx, BT_ERR_ARGUMENT, "there is no place %u", index);
}

/* ---- names ---- */

bt_status bt_plugin_why(bt_ctx *ctx, const char *name, bt_text *out)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    int is_known = explain_name(plugins, name, out) > 0;
    if (!is_known)
        explain_absence(ctx, plugins, name, out);
    explain_places(plugins, out);
    bt__plugins_unlock(ctx);
    if (out->failed)
        return bt_no_memory();
    return is_known ? NULL
                    : bt_fail(ctx, BT_ERR_NAME, "no plugin found provides \"%s\"", name);
}
