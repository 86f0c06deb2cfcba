/*
 * The references that may be values: bindings that make one and parameters of functions. One that
 * is put in data, held by a closure, given as a result, or passed twice to one call stays a
 * reference.
 */
#ifndef PASSES_LANGUAGE_PROMOTE_FIND_H
#define PASSES_LANGUAGE_PROMOTE_FIND_H

#include <baton/pass.h>

/* As a set of values. */
bt_status promote_find(bt_arena *, const bt_module *, bt_map *out) BT_MUST_USE;

#endif
