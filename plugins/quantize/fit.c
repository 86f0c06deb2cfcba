#include "fit.h"

#include <math.h>

void fit_range(const bt_number_form *form, double low, double high, double *scale,
               int64_t *zero)
{
    low = fmin(low, 0);
    high = fmax(high, 0);
    *zero = 0;
    if (form->is_affine) {
        const double steps = (double)(form->high - form->low);
        *scale = (high - low) / steps;
        if (*scale > 0)
            *zero = form->low + (int64_t)nearbyint(fmin(-low / *scale, steps));
    } else {
        // codes of one sign may be fewer by one: what they lose is half a step
        *scale = fmax(high, -low) / (double)form->high;
    }
    if (!(*scale > 0)) // nothing but zeros
        *scale = 1;
}

void fit_ranges(const bt_number_form *form, const bt_statistic *seen, double *scales,
                int64_t *zeros)
{
    for (uint32_t i = 0; i < seen->nchannel; i++)
        fit_range(form, seen->channel_low ? seen->channel_low[i] : seen->low,
                  seen->channel_high ? seen->channel_high[i] : seen->high, &scales[i],
                  &zeros[i]);
}

double fit_error(const bt_number_form *form, double scale, int64_t zero, double number)
{
    const double code = nearbyint(number / scale), low = (double)(form->low - zero),
                 high = (double)(form->high - zero);
    return number - fmin(fmax(code, low), high) * scale;
}

double fit_bin(const bt_statistic *seen, uint32_t bin)
{
    return seen->low + (seen->high - seen->low) * (bin + 0.5) / seen->nbin;
}
