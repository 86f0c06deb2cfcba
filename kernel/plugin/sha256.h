/* SHA-256 (FIPS 180-4), for the digests of binaries and of pipelines; bt_digest gives
 * it as text. */
#ifndef PLUGIN_SHA256_H
#define PLUGIN_SHA256_H

#include <baton/base.h>

void bt__sha256(const void *bytes, size_t nbytes, uint8_t out[32]);

#endif
