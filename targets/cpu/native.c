/* Around the work of kernels without Baton. */
#include "native.h"

#include "engine/modes.h"
#include "primitives/isa.h"

int32_t cpu_native_enter(uint32_t isa, uint32_t keeps_denormals, uint32_t *modes)
{
    if (isa >= CPU_ISA_COUNT || !cpu_isa_request((enum cpu_isa)isa))
        return 1;
    *modes = cpu_modes_get();
    cpu_modes_set(cpu_modes_of_kernels(*modes, keeps_denormals != 0));
    return 0;
}

void cpu_native_leave(uint32_t modes)
{
    cpu_modes_set(modes);
}
