/* Which steps wait for which. */
#ifndef GRAPH_ORDER_H
#define GRAPH_ORDER_H

#include "session.h"

/* Names the queues, gives each step its queue, and those steps of other queues that it must come after: they
 * write what it reads or writes, or read what it writes, going by the bytes. Bindings are
 * in such an order; commands of two queues are ordered by waits alone. Lists live in the
 * arena. */
bt_status order_steps(bt_arena *, struct session *);

#endif
