/* The fuzz target and the mutator. libFuzzer calls both; standalone.c does so where there is no libFuzzer. */
#include <stdlib.h>

#include "../../mutator/rocespec_mutator.h"
#include "parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* So that reading beyond the body is seen. */
volatile uint8_t fuzz_sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct roce_packet packet;
    if (roce_parse(data, size, &packet) == 0) {
        for (size_t at = 0; at < packet.body_len; at++)
            fuzz_sink ^= packet.body[at];
        if (packet.dest_qp >> 24 != 0 || packet.psn >> 24 != 0)
            abort();
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return rocespec_mutate(data, size, max_size, seed);
}
