/* Values of options and variables, as text that attributes are parsed from. */
#ifndef PASS_SETTINGS_H
#define PASS_SETTINGS_H

#include "pass/pipeline.h"

/* Whose variables "$name" means: those of one pipeline, some given by the pipeline that
 * calls it (in the terms of that one's own variables), or by the run's options. */
typedef struct bt__variables {
    const bt_pipeline *pipeline;
    const bt__settings *given;
    const struct bt__variables *up; /* where the given values are meant; NULL: a run */
} bt__variables;

bt__setting *bt__settings_find(const bt__settings *, const char *name); /* NULL: none */
/* A setting's value as text for an attribute of this kind, variables put in. */
bt_status bt__setting_text(bt_ctx *, bt_arena *, const bt__setting *,
                           const bt__variables *, uint32_t kind,
                           const char **out) BT_MUST_USE;
/* A setting's text as JSON that reads back to it. NULL: no memory */
json_t *bt__setting_json(bt_arena *, const bt__setting *, uint32_t kind);
/* "name=value" of a run's options. */
bt_status bt__setting_parse(bt_ctx *, bt_arena *, const char *text,
                            bt__setting *out) BT_MUST_USE;

#endif
