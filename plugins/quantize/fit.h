/* What calibrations share: scales of ranges, and what codes lose of numbers. */
#ifndef PLUGINS_QUANTIZE_FIT_H
#define PLUGINS_QUANTIZE_FIT_H

#include <baton/quantize.h>

/* The scale and the zero point by which low..high, which holds 0 then, is what the codes
 * stand for. */
void fit_range(const bt_number_form *, double low, double high, double *scale,
               int64_t *zero);
/* Of every channel of a statistic. */
void fit_ranges(const bt_number_form *, const bt_statistic *, double *scales,
                int64_t *zeros);
/* What is lost of a number. */
double fit_error(const bt_number_form *, double scale, int64_t zero, double number);
/* The number in the middle of a bin. */
double fit_bin(const bt_statistic *, uint32_t bin);

#endif
