/* Large numbers for people. */
#ifndef SCALED_H
#define SCALED_H

enum { SCALED_NBYTES = 32 };
/* 1234567 as "1.23 M"; returns `out`. */
const char *scaled(double value, char out[SCALED_NBYTES]);

#endif
