/* Casts that would lose what no other type has. */
#ifndef CAST_CHECK_H
#define CAST_CHECK_H

#include <baton/op.h>

/* What a type says, if it is a dtype that is known; else, and of NULL, 0. */
bt_dtype cast_dtype(const bt_type *);
/* Fails of input 0 where complex numbers would become others. 0: not known yet. */
bt_status cast_check(bt_solver *, const bt_relation_call *, bt_dtype from,
                     bt_dtype to) BT_MUST_USE;

#endif
