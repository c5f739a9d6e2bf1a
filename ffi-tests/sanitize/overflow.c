/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Errors on purpose: `overflow KERNEL WHAT`. WHAT is READ or WRITE, of one element too many by the library, or
 * UNDEFINED, an addition that overflows here, or NOTHING. Under AddressSanitizer and UndefinedBehaviorSanitizer the
 * first three do not come to their end. Exits with 77 where the machine cannot run the kernel.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ofp8.h"

enum { COUNT = 256 };

int main(int count, char **arguments)
{
    if (count != 3) {
        return 2;
    }
    if (ofp8_force_kernel((uint32_t)atoi(arguments[1])) != OFP8_OK) {
        return 77;
    }
    const char *what = arguments[2];
    float *source = calloc(COUNT + (strcmp(what, "READ") != 0), sizeof *source);
    uint8_t *codes = calloc(COUNT + (strcmp(what, "WRITE") != 0), 1);
    if (source == NULL || codes == NULL) {
        return 2;
    }
    if (strcmp(what, "UNDEFINED") == 0) {
        volatile int most = INT_MAX;
        most += 1;
    }
    const ofp8_status status = ofp8_encode(OFP8_E4M3, NULL, NULL, OFP8_F32, source, COUNT + 1, codes);
    printf("overflow: %s: %s\n", what, ofp8_status_text(status));
    free(source);
    free(codes);
    return 0;
}
