/* Options of whoever opens a program to run it: the same wherever one is run. */
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

#include "import_options.h"

// clang-format off
#define COMPILE_OPTIONS                                                                    \
    { "opt-level", 'O', "N", "run passes of levels 0 to N only" },                         \
    { "passes", 0, "LIST", "run these passes instead: 'fold-constant, dead-code'; '' for none" }, \
    { "pipeline", 0, "FILE", "run this pipeline instead: a manifest, or a name" },         \
    { "fuse", 0, "LIST", "passes that choose what is computed together (default: fuse; for executors vm and aot fuse-control)" }, \
    { "plan", 0, "LIST", "passes of the lowered program (default: plan; '' for none)" },   \
    { "checkpoint-memory", 0, "BYTES", "compute values again where tensors take more bytes otherwise, without inputs, constants and results (executors graph, vm and aot)" }, \
    { "tune", 0, "FILE", "compute in the ways that FILE records as the fastest on this machine; what has no record yet is measured first, which takes time, and recorded" }, \
    { "hot", 0, "NAME=RANGE,RANGE..", "values and ranges of open dims (n=1,8..32 step 8,64..) for which kernels have code of their own; or a file with what run --profile --json printed: those that were most often" }, \
    IMPORT_OPTIONS
#define PROGRAM_OPTIONS(default_executor)                                                  \
    { "entry", 0, "FUNCTION", "function to run (default: main, or the only one)" },       \
    { "executor", 0, "NAME", "what runs it (default: " default_executor ")" }, \
    { "target", 0, "NAME[,NAME]", "what it is compiled for, by preference" }, \
    { "threads", 0, "N", "threads of the target (default: as many as there are processors)" },              \
    { "no-specialise", 0, NULL, "leave dims and inputs open that -i would settle" },       \
    COMPILE_OPTIONS
// clang-format on

/* What COMPILE_OPTIONS, --entry, --target and --threads say. Gives an exit code. */
int read_program_options(struct tool *, bt_program_options *out);
/* Opens the first argument by these options, specialised to what -i gives; *inputs: the
 * texts of -i that are still to be set, NULL-terminated; NULL: there is no -i. */
int open_program(struct tool *, const char *default_executor, bt_program **out,
                 const char *const **inputs);

#endif
