/* What is stated of a call beside its operands (`holds`): does it follow from these? */
#ifndef PASSES_COMMON_STATEMENTS_H
#define PASSES_COMMON_STATEMENTS_H

#include <baton/pass.h>

/* Whether the elements that the call is stated to hold follow from its operands. Where they
 * do not, the program compares them when it has run the call: this is to stay. */
int statement_follows(bt_ctx *, bt_arena *, const bt_module *, const bt_call *);

/* Whether the call's type follows from the types of its operands alone, without their
 * elements. */
int type_follows_from_types(bt_ctx *, bt_arena *, const bt_module *, const bt_call *);

#endif
