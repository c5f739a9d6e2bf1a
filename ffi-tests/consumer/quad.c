/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers that the compiler's own library computes with (libgcc's), beside ofp8: they must be computed by it, which
 * heeds the rounding mode and raises exceptions, and not by what Rust has for the same purpose.
 */
#include <fenv.h>
#include <ofp8.h>
#include <stdio.h>

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;
#else
typedef long double quad; /* which it is on AArch64 */
#endif

static int failures = 0;

static void check(int ok, const char *what)
{
    if (!ok) {
        printf("quad: %s\n", what);
        failures += 1;
    }
}

int main(void)
{
    volatile quad one = 1, three = 3, third, down, up;
    volatile long double wide = 1;
    volatile float narrow = 464.0f;

    feclearexcept(FE_ALL_EXCEPT);
    third = one / three;
    check(fetestexcept(FE_INEXACT) != 0, "a rounded quotient is not flagged");
    fesetround(FE_DOWNWARD);
    down = one / three;
    fesetround(FE_UPWARD);
    up = one / three;
    fesetround(FE_TONEAREST);
    check(down < up && down <= third && third <= up, "the rounding mode is not heeded");

    wide = (long double)third * 3 + wide;
    check(wide > 1.999L && wide < 2.001L, "a quad is not what it was as a long double");
    third = (quad)wide * one - one + (quad)narrow / 464;
    check(third > 1.99 && third < 2.01 && (long)third == (long)(double)third, "sums and conversions of quads");

    check(ofp8_e4m3_from_f32(narrow) == 0x7E && ofp8_e4m3_to_f32(0x7E) == 448.0f, "ofp8");
    printf("quad: %d failed\n", failures);
    return failures == 0 ? 0 : 1;
}
