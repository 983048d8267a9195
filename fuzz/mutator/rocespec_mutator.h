/* The structure-aware RoCE mutator, for libFuzzer and AFL++. Link with librocespec_mutator.a. */
#ifndef ROCESPEC_MUTATOR_H
#define ROCESPEC_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes one thing of the RoCE frame in the first `size` bytes of `data` (from the destination MAC address on, without
 * the frame check sequence), then makes lengths, checksums, pad and ICRC right again, or leaves one of them wrong.
 * Returns the new size, at most `max_size`: `data` has room for so many bytes. The same arguments give the same frame. */
size_t rocespec_mutate(uint8_t *data, size_t size, size_t max_size, uint32_t seed);

#ifdef __cplusplus
}
#endif

#endif
