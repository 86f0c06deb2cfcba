/* What types promise and only a run can tell. */
#ifndef INTERP_CHECK_H
#define INTERP_CHECK_H

#include "machine.h"

/* The checks of a call whose dims are known; the others wait for the result. */
bt_status check_before(struct machine *, struct env *, const bt_call *);
/* Those again, once what the result shows is in the environment, and the result against
 * its type. For calls whose checks are about their results. */
bt_status check_after(struct machine *, struct env *, const bt_call *, const bt_object *);
/* The elements of a result against what the call is stated to hold. */
bt_status check_contents(struct machine *, struct env *, const bt_call *,
                         const bt_object *);
/* Binds what a value shows of its type, and compares what is known already. `value` names
 * it in messages. */
bt_status check_value(struct machine *, struct env *, const bt_value *value,
                      const bt_object *);

#endif
