#ifndef INTERP_OPERATE_H
#define INTERP_OPERATE_H

#include "machine.h"

/* An operator's call: one object, a tuple where the result is one. */
bt_status operate(struct machine *, struct env *, const struct step *, uint32_t narg,
                  bt_object *const *args, bt_object **out);

#endif
