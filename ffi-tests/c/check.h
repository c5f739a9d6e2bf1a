/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the test programs share: counted checks that say where they failed. C99 and C++11. */
#ifndef OFP8_TEST_CHECK_H
#define OFP8_TEST_CHECK_H

#include <stdio.h>
#include <string.h>

#include "ofp8.h"

static int checks = 0;
static int failures = 0;

static inline void check_at(int ok, const char *what, const char *file, int line)
{
    checks += 1;
    if (!ok) {
        failures += 1;
        printf("%s:%d: %s\n", file, line, what);
    }
}

#define CHECK(condition) check_at((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

static inline int finish(const char *program)
{
    printf("%s: %d checks, %d failed\n", program, checks, failures);
    return failures == 0 ? 0 : 1;
}

#endif
