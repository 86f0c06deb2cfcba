/* An end for what does not come back: a call of a plugin's function that may wait for ever. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <baton/base.h>

enum { WATCHDOG_SECONDS = 60 };

/* How long each call may take from now on; 0: as long as it likes. */
void watchdog_set(uint32_t seconds);
/* A call begins: where it has not come back in time, says what is waited for, and that
 * --timeout is the limit, and ends the program with EXIT_INPUT. */
void watchdog_begin(const char *format, ...) BT_PRINTF(1, 2);
/* It has come back. */
void watchdog_end(void);

#endif
