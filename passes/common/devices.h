/* Devices of a module: `on N` means the N-th of its attribute `devices`, counted from 1.
 *     #[attrs(devices=["npu", "cpu{threads=2}"])] */
#ifndef PASSES_COMMON_DEVICES_H
#define PASSES_COMMON_DEVICES_H

#include <baton/ir.h>

/* The target that a device is of, as the module gives it; NULL: of device 0, and of one
 * that the module does not list. */
const char *device_target(const bt_module *, uint32_t device);

#endif
