/* Windows over channels for any processor, and which of them there are. */
#include "channels.h"

#define CHANNELS_CALLEES cpu_channels_portable
#define CHANNELS_SUFFIX  "portable"
#define CHANNELS_SUM_PS  250
#include "channels_rows.h"

static const struct cpu_callee *rows_of(enum cpu_isa isa)
{
    return isa >= CPU_ISA_AVX512 ? cpu_channels_avx512
           : isa == CPU_ISA_AVX2 ? cpu_channels_avx2
                                 : cpu_channels_portable;
}

static const struct cpu_callee *find(enum cpu_isa isa, uint32_t form, bt_dtype in,
                                     bt_dtype out)
{
    const struct cpu_callee *row = rows_of(isa);
    while (row->name && (row->form != form || row->in != in || row->out != out))
        row++;
    return row->name ? row : NULL;
}

const struct cpu_callee *cpu_channels_find(enum cpu_isa isa, bt_dtype x, int is_sums)
{
    return find(isa, CPU_CHANNELS, x, is_sums ? BT_INT32 : BT_UINT8);
}

const struct cpu_callee *cpu_channels_pack_find(enum cpu_isa isa, bt_dtype w)
{
    return find(isa, CPU_CHANNELS_PACK, w, BT_UINT8);
}

int64_t cpu_channels_nbytes(enum cpu_isa isa, int64_t channels, int64_t taps_y,
                            int64_t taps_x, int64_t step_y, int is_narrow)
{
    const int64_t nbytes = isa >= CPU_ISA_AVX512 ? 64 : isa == CPU_ISA_AVX2 ? 32 : 16;
    int64_t n = 0;
    for (int64_t left = channels; left > 0; left -= cpu_channels_block(nbytes, left))
        n++;
    return n * cpu_channels_block_nbytes(nbytes, taps_y, taps_x, step_y, is_narrow);
}
