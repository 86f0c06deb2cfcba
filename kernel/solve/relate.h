/* The type relation that an operator's input types and formula determine. */
#ifndef SOLVE_RELATE_H
#define SOLVE_RELATE_H

#include <baton/op.h>

/* For operators with neither `relation` nor `relate`.
 * errors  BT_ERR_INTERNAL: the formula does not determine one */
bt_status bt__formula_relate(bt_solver *, const bt_relation_call *) BT_MUST_USE;
/* Checks the arguments against the patterns in the operator's rows ("t:float[n, k]"),
 * which holds for every operator before its relation is asked. Waits are not failures:
 * unknown parts are skipped. */
bt_status bt__signature_relate(bt_solver *, const bt_relation_call *) BT_MUST_USE;

#endif
