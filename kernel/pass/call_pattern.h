/* Patterns of calls, for where there is no context. */
#ifndef PASS_CALL_PATTERN_H
#define PASS_CALL_PATTERN_H

#include <baton/pass.h>

/* What is wrong with a pattern's text; NULL: nothing; bt__speechless: there is no memory. */
const char *bt__call_pattern_fault(bt_arena *, const char *text);

#endif
