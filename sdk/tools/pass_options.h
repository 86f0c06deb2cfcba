/* Options that say which passes run: the same wherever a pipeline is. */
#ifndef PASS_OPTIONS_H
#define PASS_OPTIONS_H

#include <baton/pass.h>

#include "tool.h"

// clang-format off
#define PASS_OPTIONS                                                                                        \
    { "opt-level", 'O', "N", "run passes of levels 0 to N only" },                                          \
    { "require", 0, "PASS", "run this pass whatever its level" },                                           \
    { "disable", 0, "PASS", "leave this pass out" },                                                        \
    { "set", 0, "PASS.OPTION=VALUE", "set an option of a pass, or a variable of the pipeline" },            \
    { "target", 0, "NAME[,NAME]", "what is compiled for: passes and conditions ask for it" }
// clang-format on

/* --passes and --pipeline exclude each other. Gives an exit code. */
int check_one_source(const struct tool *);
/* Fills what PASS_OPTIONS gives; the rest is zero. Gives an exit code. */
int read_pass_options(struct tool *, bt_pipeline_options *out);

#endif
