/* Runs a fuzz target without libFuzzer: every file that is named, then many mutants of each.
 * Any compiler and any sanitizer will do. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUTANTS 200
#define LONGEST 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Runs a copy of exactly this size, so that a read beyond it is a heap overflow. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (copy == NULL)
        exit(2);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    static uint8_t data[LONGEST];
    for (int at = 1; at < argc; at++) {
        FILE *file = fopen(argv[at], "rb");
        if (file == NULL) {
            perror(argv[at]);
            return 2;
        }
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        run(data, size);
        for (unsigned seed = 0; seed < MUTANTS; seed++) {
            size = LLVMFuzzerCustomMutator(data, size, sizeof data, seed);
            run(data, size);
        }
    }
    printf("%d files and %d mutants of each\n", argc - 1, MUTANTS);
    return 0;
}
