/* Options of whoever reads a model: the same wherever one is read. */
#ifndef IMPORT_OPTIONS_H
#define IMPORT_OPTIONS_H

#include <baton/importer.h>

#include "tool.h"

// clang-format off
#define IMPORT_OPTIONS                                                                      \
    { "dim", 0, "NAME=N", "a number in place of a symbolic dim of the entry" },            \
    { "fix", 0, "NAME=VALUE", "ONNX: a constant, 3 or [1, 2], in place of an input" }
// clang-format on

/* What IMPORT_OPTIONS and --entry give. */
static inline bt_import_options read_import_options(const struct tool *tool)
{
    return (bt_import_options){ .entry = option_value(tool, "entry"),
                                .dims = option_values(tool, "dim"),
                                .fixed = option_values(tool, "fix") };
}

#endif
