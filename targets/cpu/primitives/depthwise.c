/* Which depthwise convolutions there are. */
#include "depthwise.h"

const struct cpu_callee *cpu_depthwise_find(enum cpu_isa isa, bt_dtype x, bt_dtype y)
{
    const struct cpu_callee *row = isa >= CPU_ISA_AVX512 ? cpu_depthwise_avx512
                                   : isa == CPU_ISA_AVX2 ? cpu_depthwise_avx2
                                                         : NULL;
    while (row && row->name && (row->out != y || row->in != x))
        row++;
    return row && row->name ? row : NULL;
}
