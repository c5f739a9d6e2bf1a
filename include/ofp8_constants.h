/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers of the ofp8 library: formats, types, policies, and what follows from the format table.
 * For C99, C++ and CUDA. Generated from src/spec.rs and src/policy.rs; do not edit.
 *
 * Numbers without a prefix of a format (OFP8_E4M3, OFP8_F32, OFP8_NEAREST_EVEN, ...) cross the
 * ABI and never change. Of a format or type F there are:
 *
 *   OFP8_F                        its number
 *   OFP8_F_BITS                   width of a code, sign included
 *   OFP8_F_EXPONENT_BITS          width of the exponent field; 0 for fixed point
 *   OFP8_F_MANTISSA_BITS          width of the mantissa field
 *   OFP8_F_BIAS                   what is subtracted from the exponent field
 *   OFP8_F_SIGN                   OFP8_SIGN_...: how the sign is stored
 *   OFP8_F_NAN_CODES              OFP8_NAN_CODES_...: which codes are NaN
 *   OFP8_F_OVERFLOW               OFP8_OVERFLOW_...: what overflow gives where nothing clamps
 *   OFP8_F_HAS_ZERO               1 if code 0 is zero, with evenly spaced values above it
 *   OFP8_F_HAS_NEGATIVE_ZERO      1 if there is a zero of each sign
 *   OFP8_F_HAS_INFINITY           1 if there is an infinity
 *   OFP8_F_HAS_NAN                1 if there is a NaN
 *   OFP8_F_HAS_NEGATIVE_NAN       1 if there is a NaN of each sign
 *   OFP8_F_CODE_MASK              the bits that a code uses
 *   OFP8_F_SIGN_MASK              the sign bit; 0 without one
 *   OFP8_F_MAGNITUDE_MASK         the others
 *   OFP8_F_MIN_EXPONENT           exponent of the lowest binade: smaller values are spaced as in it
 *   OFP8_F_MAX_EXPONENT           exponent of the largest value (emax of the MX specification)
 *   OFP8_F_MAX_MAGNITUDE          magnitude of the largest value (a magnitude is a code without
 *                                 its sign)
 *   OFP8_F_MIN_NORMAL_MAGNITUDE   magnitude of the smallest normal value
 *   OFP8_F_INFINITY_MAGNITUDE     magnitude of infinity; without one, of the largest value
 *   OFP8_F_NAN_CODE               the canonical NaN; without one, the largest value
 *
 * and of a format, as the bits of an f32:
 *
 *   OFP8_F_MAX_F32_BITS           the largest value
 *   OFP8_F_MIN_NORMAL_F32_BITS    the smallest normal value
 *   OFP8_F_MIN_POSITIVE_F32_BITS  the smallest value above zero
 *   OFP8_F_OVERFLOW_F32_BITS      the smallest f32 that overflows at nearest-even
 *
 * OFP8_FOR_EACH_FORMAT(X) and OFP8_FOR_EACH_TYPE(X) expand X(E4M3) X(E5M2) ... and X(F32) ...
 */
#ifndef OFP8_CONSTANTS_H
#define OFP8_CONSTANTS_H

/* Roundings. */
#define OFP8_NEAREST_EVEN                           0u
#define OFP8_NEAREST_AWAY                           1u
#define OFP8_TOWARD_ZERO                            2u
#define OFP8_TOWARD_POSITIVE                        3u
#define OFP8_TOWARD_NEGATIVE                        4u
#define OFP8_TO_ODD                                 5u
#define OFP8_STOCHASTIC_A                           6u
#define OFP8_STOCHASTIC_B                           7u
#define OFP8_STOCHASTIC_C                           8u

/* Saturations. */
#define OFP8_SATURATE_FINITE                        0u
#define OFP8_SATURATE_PROPAGATE                     1u
#define OFP8_SATURATE_NONE                          2u

/* What a NaN input becomes. */
#define OFP8_NAN_CANONICAL                          0u
#define OFP8_NAN_KEEP_SIGN                          1u

/* Packings of codes narrower than a byte. */
#define OFP8_PACKING_FP4_LOW_FIRST                  1u
#define OFP8_PACKING_FP4_HIGH_FIRST                 2u
#define OFP8_PACKING_FP6                            3u

/* How a format stores the sign. */
#define OFP8_SIGN_BIT                               0u
#define OFP8_SIGN_TWOS_COMPLEMENT                   1u
#define OFP8_SIGN_DROPPED                           2u
#define OFP8_SIGN_OUT_OF_RANGE                      3u

/* Which codes are NaN: none, all-ones magnitudes, that of -0, all above infinity. */
#define OFP8_NAN_CODES_NONE                         0u
#define OFP8_NAN_CODES_ALL_ONES                     1u
#define OFP8_NAN_CODES_NEGATIVE_ZERO                2u
#define OFP8_NAN_CODES_ABOVE_INFINITY               3u

/* What overflow gives where nothing clamps. */
#define OFP8_OVERFLOW_NAN                           0u
#define OFP8_OVERFLOW_INFINITY                      1u
#define OFP8_OVERFLOW_MAXIMUM                       2u

/* Every format. */
#define OFP8_FOR_EACH_FORMAT(X) \
    X(E4M3) \
    X(E5M2) \
    X(E4M3FNUZ) \
    X(E5M2FNUZ) \
    X(E8M0) \
    X(E4M3B11FNUZ) \
    X(E4M3IEEE) \
    X(E3M4) \
    X(UE4M3) \
    X(UE5M3) \
    X(E2M3) \
    X(E3M2) \
    X(E2M1) \
    X(MXINT8) \
    X(BINARY8P3SE) \
    X(BINARY8P3SF) \
    X(BINARY8P3UE) \
    X(BINARY8P3UF) \
    X(BINARY8P4SE) \
    X(BINARY8P4SF) \
    X(BINARY8P4UE) \
    X(BINARY8P4UF) \
    X(BINARY8P5SE) \
    X(BINARY8P5SF) \
    X(BINARY8P5UE) \
    X(BINARY8P5UF)

/* Every type. */
#define OFP8_FOR_EACH_TYPE(X) \
    X(F32) \
    X(F16) \
    X(BF16) \
    X(F64)

/* Type f32. */
#define OFP8_F32                                    1u
#define OFP8_F32_BITS                               32
#define OFP8_F32_EXPONENT_BITS                      8
#define OFP8_F32_MANTISSA_BITS                      23
#define OFP8_F32_BIAS                               127
#define OFP8_F32_MIN_EXPONENT                       (-126)
#define OFP8_F32_MAX_EXPONENT                       127
#define OFP8_F32_HAS_ZERO                           1
#define OFP8_F32_HAS_NEGATIVE_ZERO                  1
#define OFP8_F32_HAS_INFINITY                       1
#define OFP8_F32_HAS_NAN                            1
#define OFP8_F32_HAS_NEGATIVE_NAN                   1
#define OFP8_F32_SIGN                               OFP8_SIGN_BIT
#define OFP8_F32_NAN_CODES                          OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_F32_OVERFLOW                           OFP8_OVERFLOW_INFINITY
#define OFP8_F32_CODE_MASK                          0xFFFFFFFFull
#define OFP8_F32_SIGN_MASK                          0x80000000ull
#define OFP8_F32_MAGNITUDE_MASK                     0x7FFFFFFFull
#define OFP8_F32_MAX_MAGNITUDE                      0x7F7FFFFFull
#define OFP8_F32_MIN_NORMAL_MAGNITUDE               0x00800000ull
#define OFP8_F32_INFINITY_MAGNITUDE                 0x7F800000ull
#define OFP8_F32_NAN_CODE                           0x7FC00000ull

/* Type f16. */
#define OFP8_F16                                    2u
#define OFP8_F16_BITS                               16
#define OFP8_F16_EXPONENT_BITS                      5
#define OFP8_F16_MANTISSA_BITS                      10
#define OFP8_F16_BIAS                               15
#define OFP8_F16_MIN_EXPONENT                       (-14)
#define OFP8_F16_MAX_EXPONENT                       15
#define OFP8_F16_HAS_ZERO                           1
#define OFP8_F16_HAS_NEGATIVE_ZERO                  1
#define OFP8_F16_HAS_INFINITY                       1
#define OFP8_F16_HAS_NAN                            1
#define OFP8_F16_HAS_NEGATIVE_NAN                   1
#define OFP8_F16_SIGN                               OFP8_SIGN_BIT
#define OFP8_F16_NAN_CODES                          OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_F16_OVERFLOW                           OFP8_OVERFLOW_INFINITY
#define OFP8_F16_CODE_MASK                          0xFFFFull
#define OFP8_F16_SIGN_MASK                          0x8000ull
#define OFP8_F16_MAGNITUDE_MASK                     0x7FFFull
#define OFP8_F16_MAX_MAGNITUDE                      0x7BFFull
#define OFP8_F16_MIN_NORMAL_MAGNITUDE               0x0400ull
#define OFP8_F16_INFINITY_MAGNITUDE                 0x7C00ull
#define OFP8_F16_NAN_CODE                           0x7E00ull

/* Type bf16. */
#define OFP8_BF16                                   3u
#define OFP8_BF16_BITS                              16
#define OFP8_BF16_EXPONENT_BITS                     8
#define OFP8_BF16_MANTISSA_BITS                     7
#define OFP8_BF16_BIAS                              127
#define OFP8_BF16_MIN_EXPONENT                      (-126)
#define OFP8_BF16_MAX_EXPONENT                      127
#define OFP8_BF16_HAS_ZERO                          1
#define OFP8_BF16_HAS_NEGATIVE_ZERO                 1
#define OFP8_BF16_HAS_INFINITY                      1
#define OFP8_BF16_HAS_NAN                           1
#define OFP8_BF16_HAS_NEGATIVE_NAN                  1
#define OFP8_BF16_SIGN                              OFP8_SIGN_BIT
#define OFP8_BF16_NAN_CODES                         OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_BF16_OVERFLOW                          OFP8_OVERFLOW_INFINITY
#define OFP8_BF16_CODE_MASK                         0xFFFFull
#define OFP8_BF16_SIGN_MASK                         0x8000ull
#define OFP8_BF16_MAGNITUDE_MASK                    0x7FFFull
#define OFP8_BF16_MAX_MAGNITUDE                     0x7F7Full
#define OFP8_BF16_MIN_NORMAL_MAGNITUDE              0x0080ull
#define OFP8_BF16_INFINITY_MAGNITUDE                0x7F80ull
#define OFP8_BF16_NAN_CODE                          0x7FC0ull

/* Type f64. */
#define OFP8_F64                                    4u
#define OFP8_F64_BITS                               64
#define OFP8_F64_EXPONENT_BITS                      11
#define OFP8_F64_MANTISSA_BITS                      52
#define OFP8_F64_BIAS                               1023
#define OFP8_F64_MIN_EXPONENT                       (-1022)
#define OFP8_F64_MAX_EXPONENT                       1023
#define OFP8_F64_HAS_ZERO                           1
#define OFP8_F64_HAS_NEGATIVE_ZERO                  1
#define OFP8_F64_HAS_INFINITY                       1
#define OFP8_F64_HAS_NAN                            1
#define OFP8_F64_HAS_NEGATIVE_NAN                   1
#define OFP8_F64_SIGN                               OFP8_SIGN_BIT
#define OFP8_F64_NAN_CODES                          OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_F64_OVERFLOW                           OFP8_OVERFLOW_INFINITY
#define OFP8_F64_CODE_MASK                          0xFFFFFFFFFFFFFFFFull
#define OFP8_F64_SIGN_MASK                          0x8000000000000000ull
#define OFP8_F64_MAGNITUDE_MASK                     0x7FFFFFFFFFFFFFFFull
#define OFP8_F64_MAX_MAGNITUDE                      0x7FEFFFFFFFFFFFFFull
#define OFP8_F64_MIN_NORMAL_MAGNITUDE               0x0010000000000000ull
#define OFP8_F64_INFINITY_MAGNITUDE                 0x7FF0000000000000ull
#define OFP8_F64_NAN_CODE                           0x7FF8000000000000ull

/* Format E4M3. */
#define OFP8_E4M3                                   1u
#define OFP8_E4M3_BITS                              8
#define OFP8_E4M3_EXPONENT_BITS                     4
#define OFP8_E4M3_MANTISSA_BITS                     3
#define OFP8_E4M3_BIAS                              7
#define OFP8_E4M3_MIN_EXPONENT                      (-6)
#define OFP8_E4M3_MAX_EXPONENT                      8
#define OFP8_E4M3_HAS_ZERO                          1
#define OFP8_E4M3_HAS_NEGATIVE_ZERO                 1
#define OFP8_E4M3_HAS_INFINITY                      0
#define OFP8_E4M3_HAS_NAN                           1
#define OFP8_E4M3_HAS_NEGATIVE_NAN                  1
#define OFP8_E4M3_SIGN                              OFP8_SIGN_BIT
#define OFP8_E4M3_NAN_CODES                         OFP8_NAN_CODES_ALL_ONES
#define OFP8_E4M3_OVERFLOW                          OFP8_OVERFLOW_NAN
#define OFP8_E4M3_CODE_MASK                         0xFFu
#define OFP8_E4M3_SIGN_MASK                         0x80u
#define OFP8_E4M3_MAGNITUDE_MASK                    0x7Fu
#define OFP8_E4M3_MAX_MAGNITUDE                     0x7Eu
#define OFP8_E4M3_MIN_NORMAL_MAGNITUDE              0x08u
#define OFP8_E4M3_INFINITY_MAGNITUDE                0x7Eu
#define OFP8_E4M3_NAN_CODE                          0x7Fu
#define OFP8_E4M3_MAX_F32_BITS                      0x43E00000u /* 0x1.cp+8 = 448 */
#define OFP8_E4M3_MIN_NORMAL_F32_BITS               0x3C800000u /* 0x1p-6 = 0.015625 */
#define OFP8_E4M3_MIN_POSITIVE_F32_BITS             0x3B000000u /* 0x1p-9 = 0.001953125 */
#define OFP8_E4M3_OVERFLOW_F32_BITS                 0x43E80001u /* 0x1.d00002p+8 = 464.00003 */

/* Format E5M2. */
#define OFP8_E5M2                                   2u
#define OFP8_E5M2_BITS                              8
#define OFP8_E5M2_EXPONENT_BITS                     5
#define OFP8_E5M2_MANTISSA_BITS                     2
#define OFP8_E5M2_BIAS                              15
#define OFP8_E5M2_MIN_EXPONENT                      (-14)
#define OFP8_E5M2_MAX_EXPONENT                      15
#define OFP8_E5M2_HAS_ZERO                          1
#define OFP8_E5M2_HAS_NEGATIVE_ZERO                 1
#define OFP8_E5M2_HAS_INFINITY                      1
#define OFP8_E5M2_HAS_NAN                           1
#define OFP8_E5M2_HAS_NEGATIVE_NAN                  1
#define OFP8_E5M2_SIGN                              OFP8_SIGN_BIT
#define OFP8_E5M2_NAN_CODES                         OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_E5M2_OVERFLOW                          OFP8_OVERFLOW_INFINITY
#define OFP8_E5M2_CODE_MASK                         0xFFu
#define OFP8_E5M2_SIGN_MASK                         0x80u
#define OFP8_E5M2_MAGNITUDE_MASK                    0x7Fu
#define OFP8_E5M2_MAX_MAGNITUDE                     0x7Bu
#define OFP8_E5M2_MIN_NORMAL_MAGNITUDE              0x04u
#define OFP8_E5M2_INFINITY_MAGNITUDE                0x7Cu
#define OFP8_E5M2_NAN_CODE                          0x7Fu
#define OFP8_E5M2_MAX_F32_BITS                      0x47600000u /* 0x1.cp+15 = 57344 */
#define OFP8_E5M2_MIN_NORMAL_F32_BITS               0x38800000u /* 0x1p-14 = 6.1035156e-5 */
#define OFP8_E5M2_MIN_POSITIVE_F32_BITS             0x37800000u /* 0x1p-16 = 1.5258789e-5 */
#define OFP8_E5M2_OVERFLOW_F32_BITS                 0x47700000u /* 0x1.ep+15 = 61440 */

/* Format E4M3Fnuz. */
#define OFP8_E4M3FNUZ                               3u
#define OFP8_E4M3FNUZ_BITS                          8
#define OFP8_E4M3FNUZ_EXPONENT_BITS                 4
#define OFP8_E4M3FNUZ_MANTISSA_BITS                 3
#define OFP8_E4M3FNUZ_BIAS                          8
#define OFP8_E4M3FNUZ_MIN_EXPONENT                  (-7)
#define OFP8_E4M3FNUZ_MAX_EXPONENT                  7
#define OFP8_E4M3FNUZ_HAS_ZERO                      1
#define OFP8_E4M3FNUZ_HAS_NEGATIVE_ZERO             0
#define OFP8_E4M3FNUZ_HAS_INFINITY                  0
#define OFP8_E4M3FNUZ_HAS_NAN                       1
#define OFP8_E4M3FNUZ_HAS_NEGATIVE_NAN              0
#define OFP8_E4M3FNUZ_SIGN                          OFP8_SIGN_BIT
#define OFP8_E4M3FNUZ_NAN_CODES                     OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_E4M3FNUZ_OVERFLOW                      OFP8_OVERFLOW_NAN
#define OFP8_E4M3FNUZ_CODE_MASK                     0xFFu
#define OFP8_E4M3FNUZ_SIGN_MASK                     0x80u
#define OFP8_E4M3FNUZ_MAGNITUDE_MASK                0x7Fu
#define OFP8_E4M3FNUZ_MAX_MAGNITUDE                 0x7Fu
#define OFP8_E4M3FNUZ_MIN_NORMAL_MAGNITUDE          0x08u
#define OFP8_E4M3FNUZ_INFINITY_MAGNITUDE            0x7Fu
#define OFP8_E4M3FNUZ_NAN_CODE                      0x80u
#define OFP8_E4M3FNUZ_MAX_F32_BITS                  0x43700000u /* 0x1.ep+7 = 240 */
#define OFP8_E4M3FNUZ_MIN_NORMAL_F32_BITS           0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_E4M3FNUZ_MIN_POSITIVE_F32_BITS         0x3A800000u /* 0x1p-10 = 9.765625e-4 */
#define OFP8_E4M3FNUZ_OVERFLOW_F32_BITS             0x43780000u /* 0x1.fp+7 = 248 */

/* Format E5M2Fnuz. */
#define OFP8_E5M2FNUZ                               4u
#define OFP8_E5M2FNUZ_BITS                          8
#define OFP8_E5M2FNUZ_EXPONENT_BITS                 5
#define OFP8_E5M2FNUZ_MANTISSA_BITS                 2
#define OFP8_E5M2FNUZ_BIAS                          16
#define OFP8_E5M2FNUZ_MIN_EXPONENT                  (-15)
#define OFP8_E5M2FNUZ_MAX_EXPONENT                  15
#define OFP8_E5M2FNUZ_HAS_ZERO                      1
#define OFP8_E5M2FNUZ_HAS_NEGATIVE_ZERO             0
#define OFP8_E5M2FNUZ_HAS_INFINITY                  0
#define OFP8_E5M2FNUZ_HAS_NAN                       1
#define OFP8_E5M2FNUZ_HAS_NEGATIVE_NAN              0
#define OFP8_E5M2FNUZ_SIGN                          OFP8_SIGN_BIT
#define OFP8_E5M2FNUZ_NAN_CODES                     OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_E5M2FNUZ_OVERFLOW                      OFP8_OVERFLOW_NAN
#define OFP8_E5M2FNUZ_CODE_MASK                     0xFFu
#define OFP8_E5M2FNUZ_SIGN_MASK                     0x80u
#define OFP8_E5M2FNUZ_MAGNITUDE_MASK                0x7Fu
#define OFP8_E5M2FNUZ_MAX_MAGNITUDE                 0x7Fu
#define OFP8_E5M2FNUZ_MIN_NORMAL_MAGNITUDE          0x04u
#define OFP8_E5M2FNUZ_INFINITY_MAGNITUDE            0x7Fu
#define OFP8_E5M2FNUZ_NAN_CODE                      0x80u
#define OFP8_E5M2FNUZ_MAX_F32_BITS                  0x47600000u /* 0x1.cp+15 = 57344 */
#define OFP8_E5M2FNUZ_MIN_NORMAL_F32_BITS           0x38000000u /* 0x1p-15 = 3.0517578e-5 */
#define OFP8_E5M2FNUZ_MIN_POSITIVE_F32_BITS         0x37000000u /* 0x1p-17 = 7.6293945e-6 */
#define OFP8_E5M2FNUZ_OVERFLOW_F32_BITS             0x47700000u /* 0x1.ep+15 = 61440 */

/* Format E8M0. */
#define OFP8_E8M0                                   5u
#define OFP8_E8M0_BITS                              8
#define OFP8_E8M0_EXPONENT_BITS                     8
#define OFP8_E8M0_MANTISSA_BITS                     0
#define OFP8_E8M0_BIAS                              127
#define OFP8_E8M0_MIN_EXPONENT                      (-127)
#define OFP8_E8M0_MAX_EXPONENT                      127
#define OFP8_E8M0_HAS_ZERO                          0
#define OFP8_E8M0_HAS_NEGATIVE_ZERO                 0
#define OFP8_E8M0_HAS_INFINITY                      0
#define OFP8_E8M0_HAS_NAN                           1
#define OFP8_E8M0_HAS_NEGATIVE_NAN                  0
#define OFP8_E8M0_SIGN                              OFP8_SIGN_DROPPED
#define OFP8_E8M0_NAN_CODES                         OFP8_NAN_CODES_ALL_ONES
#define OFP8_E8M0_OVERFLOW                          OFP8_OVERFLOW_NAN
#define OFP8_E8M0_CODE_MASK                         0xFFu
#define OFP8_E8M0_SIGN_MASK                         0x00u
#define OFP8_E8M0_MAGNITUDE_MASK                    0xFFu
#define OFP8_E8M0_MAX_MAGNITUDE                     0xFEu
#define OFP8_E8M0_MIN_NORMAL_MAGNITUDE              0x00u
#define OFP8_E8M0_INFINITY_MAGNITUDE                0xFEu
#define OFP8_E8M0_NAN_CODE                          0xFFu
#define OFP8_E8M0_MAX_F32_BITS                      0x7F000000u /* 0x1p+127 = 1.7014118e38 */
#define OFP8_E8M0_MIN_NORMAL_F32_BITS               0x00400000u /* 0x1p-127 = 5.877472e-39 */
#define OFP8_E8M0_MIN_POSITIVE_F32_BITS             0x00400000u /* 0x1p-127 = 5.877472e-39 */
#define OFP8_E8M0_OVERFLOW_F32_BITS                 0x7F400001u /* 0x1.800002p+127 = 2.552118e38 */

/* Format E4M3B11Fnuz. */
#define OFP8_E4M3B11FNUZ                            6u
#define OFP8_E4M3B11FNUZ_BITS                       8
#define OFP8_E4M3B11FNUZ_EXPONENT_BITS              4
#define OFP8_E4M3B11FNUZ_MANTISSA_BITS              3
#define OFP8_E4M3B11FNUZ_BIAS                       11
#define OFP8_E4M3B11FNUZ_MIN_EXPONENT               (-10)
#define OFP8_E4M3B11FNUZ_MAX_EXPONENT               4
#define OFP8_E4M3B11FNUZ_HAS_ZERO                   1
#define OFP8_E4M3B11FNUZ_HAS_NEGATIVE_ZERO          0
#define OFP8_E4M3B11FNUZ_HAS_INFINITY               0
#define OFP8_E4M3B11FNUZ_HAS_NAN                    1
#define OFP8_E4M3B11FNUZ_HAS_NEGATIVE_NAN           0
#define OFP8_E4M3B11FNUZ_SIGN                       OFP8_SIGN_BIT
#define OFP8_E4M3B11FNUZ_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_E4M3B11FNUZ_OVERFLOW                   OFP8_OVERFLOW_NAN
#define OFP8_E4M3B11FNUZ_CODE_MASK                  0xFFu
#define OFP8_E4M3B11FNUZ_SIGN_MASK                  0x80u
#define OFP8_E4M3B11FNUZ_MAGNITUDE_MASK             0x7Fu
#define OFP8_E4M3B11FNUZ_MAX_MAGNITUDE              0x7Fu
#define OFP8_E4M3B11FNUZ_MIN_NORMAL_MAGNITUDE       0x08u
#define OFP8_E4M3B11FNUZ_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_E4M3B11FNUZ_NAN_CODE                   0x80u
#define OFP8_E4M3B11FNUZ_MAX_F32_BITS               0x41F00000u /* 0x1.ep+4 = 30 */
#define OFP8_E4M3B11FNUZ_MIN_NORMAL_F32_BITS        0x3A800000u /* 0x1p-10 = 9.765625e-4 */
#define OFP8_E4M3B11FNUZ_MIN_POSITIVE_F32_BITS      0x39000000u /* 0x1p-13 = 1.2207031e-4 */
#define OFP8_E4M3B11FNUZ_OVERFLOW_F32_BITS          0x41F80000u /* 0x1.fp+4 = 31 */

/* Format E4M3Ieee. */
#define OFP8_E4M3IEEE                               7u
#define OFP8_E4M3IEEE_BITS                          8
#define OFP8_E4M3IEEE_EXPONENT_BITS                 4
#define OFP8_E4M3IEEE_MANTISSA_BITS                 3
#define OFP8_E4M3IEEE_BIAS                          7
#define OFP8_E4M3IEEE_MIN_EXPONENT                  (-6)
#define OFP8_E4M3IEEE_MAX_EXPONENT                  7
#define OFP8_E4M3IEEE_HAS_ZERO                      1
#define OFP8_E4M3IEEE_HAS_NEGATIVE_ZERO             1
#define OFP8_E4M3IEEE_HAS_INFINITY                  1
#define OFP8_E4M3IEEE_HAS_NAN                       1
#define OFP8_E4M3IEEE_HAS_NEGATIVE_NAN              1
#define OFP8_E4M3IEEE_SIGN                          OFP8_SIGN_BIT
#define OFP8_E4M3IEEE_NAN_CODES                     OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_E4M3IEEE_OVERFLOW                      OFP8_OVERFLOW_INFINITY
#define OFP8_E4M3IEEE_CODE_MASK                     0xFFu
#define OFP8_E4M3IEEE_SIGN_MASK                     0x80u
#define OFP8_E4M3IEEE_MAGNITUDE_MASK                0x7Fu
#define OFP8_E4M3IEEE_MAX_MAGNITUDE                 0x77u
#define OFP8_E4M3IEEE_MIN_NORMAL_MAGNITUDE          0x08u
#define OFP8_E4M3IEEE_INFINITY_MAGNITUDE            0x78u
#define OFP8_E4M3IEEE_NAN_CODE                      0x7Cu
#define OFP8_E4M3IEEE_MAX_F32_BITS                  0x43700000u /* 0x1.ep+7 = 240 */
#define OFP8_E4M3IEEE_MIN_NORMAL_F32_BITS           0x3C800000u /* 0x1p-6 = 0.015625 */
#define OFP8_E4M3IEEE_MIN_POSITIVE_F32_BITS         0x3B000000u /* 0x1p-9 = 0.001953125 */
#define OFP8_E4M3IEEE_OVERFLOW_F32_BITS             0x43780000u /* 0x1.fp+7 = 248 */

/* Format E3M4. */
#define OFP8_E3M4                                   8u
#define OFP8_E3M4_BITS                              8
#define OFP8_E3M4_EXPONENT_BITS                     3
#define OFP8_E3M4_MANTISSA_BITS                     4
#define OFP8_E3M4_BIAS                              3
#define OFP8_E3M4_MIN_EXPONENT                      (-2)
#define OFP8_E3M4_MAX_EXPONENT                      3
#define OFP8_E3M4_HAS_ZERO                          1
#define OFP8_E3M4_HAS_NEGATIVE_ZERO                 1
#define OFP8_E3M4_HAS_INFINITY                      1
#define OFP8_E3M4_HAS_NAN                           1
#define OFP8_E3M4_HAS_NEGATIVE_NAN                  1
#define OFP8_E3M4_SIGN                              OFP8_SIGN_BIT
#define OFP8_E3M4_NAN_CODES                         OFP8_NAN_CODES_ABOVE_INFINITY
#define OFP8_E3M4_OVERFLOW                          OFP8_OVERFLOW_INFINITY
#define OFP8_E3M4_CODE_MASK                         0xFFu
#define OFP8_E3M4_SIGN_MASK                         0x80u
#define OFP8_E3M4_MAGNITUDE_MASK                    0x7Fu
#define OFP8_E3M4_MAX_MAGNITUDE                     0x6Fu
#define OFP8_E3M4_MIN_NORMAL_MAGNITUDE              0x10u
#define OFP8_E3M4_INFINITY_MAGNITUDE                0x70u
#define OFP8_E3M4_NAN_CODE                          0x78u
#define OFP8_E3M4_MAX_F32_BITS                      0x41780000u /* 0x1.fp+3 = 15.5 */
#define OFP8_E3M4_MIN_NORMAL_F32_BITS               0x3E800000u /* 0x1p-2 = 0.25 */
#define OFP8_E3M4_MIN_POSITIVE_F32_BITS             0x3C800000u /* 0x1p-6 = 0.015625 */
#define OFP8_E3M4_OVERFLOW_F32_BITS                 0x417C0000u /* 0x1.f8p+3 = 15.75 */

/* Format UE4M3. */
#define OFP8_UE4M3                                  9u
#define OFP8_UE4M3_BITS                             7
#define OFP8_UE4M3_EXPONENT_BITS                    4
#define OFP8_UE4M3_MANTISSA_BITS                    3
#define OFP8_UE4M3_BIAS                             7
#define OFP8_UE4M3_MIN_EXPONENT                     (-6)
#define OFP8_UE4M3_MAX_EXPONENT                     8
#define OFP8_UE4M3_HAS_ZERO                         1
#define OFP8_UE4M3_HAS_NEGATIVE_ZERO                0
#define OFP8_UE4M3_HAS_INFINITY                     0
#define OFP8_UE4M3_HAS_NAN                          1
#define OFP8_UE4M3_HAS_NEGATIVE_NAN                 0
#define OFP8_UE4M3_SIGN                             OFP8_SIGN_DROPPED
#define OFP8_UE4M3_NAN_CODES                        OFP8_NAN_CODES_ALL_ONES
#define OFP8_UE4M3_OVERFLOW                         OFP8_OVERFLOW_NAN
#define OFP8_UE4M3_CODE_MASK                        0x7Fu
#define OFP8_UE4M3_SIGN_MASK                        0x00u
#define OFP8_UE4M3_MAGNITUDE_MASK                   0x7Fu
#define OFP8_UE4M3_MAX_MAGNITUDE                    0x7Eu
#define OFP8_UE4M3_MIN_NORMAL_MAGNITUDE             0x08u
#define OFP8_UE4M3_INFINITY_MAGNITUDE               0x7Eu
#define OFP8_UE4M3_NAN_CODE                         0x7Fu
#define OFP8_UE4M3_MAX_F32_BITS                     0x43E00000u /* 0x1.cp+8 = 448 */
#define OFP8_UE4M3_MIN_NORMAL_F32_BITS              0x3C800000u /* 0x1p-6 = 0.015625 */
#define OFP8_UE4M3_MIN_POSITIVE_F32_BITS            0x3B000000u /* 0x1p-9 = 0.001953125 */
#define OFP8_UE4M3_OVERFLOW_F32_BITS                0x43E80001u /* 0x1.d00002p+8 = 464.00003 */

/* Format UE5M3. */
#define OFP8_UE5M3                                  10u
#define OFP8_UE5M3_BITS                             8
#define OFP8_UE5M3_EXPONENT_BITS                    5
#define OFP8_UE5M3_MANTISSA_BITS                    3
#define OFP8_UE5M3_BIAS                             15
#define OFP8_UE5M3_MIN_EXPONENT                     (-14)
#define OFP8_UE5M3_MAX_EXPONENT                     16
#define OFP8_UE5M3_HAS_ZERO                         1
#define OFP8_UE5M3_HAS_NEGATIVE_ZERO                0
#define OFP8_UE5M3_HAS_INFINITY                     0
#define OFP8_UE5M3_HAS_NAN                          1
#define OFP8_UE5M3_HAS_NEGATIVE_NAN                 0
#define OFP8_UE5M3_SIGN                             OFP8_SIGN_DROPPED
#define OFP8_UE5M3_NAN_CODES                        OFP8_NAN_CODES_ALL_ONES
#define OFP8_UE5M3_OVERFLOW                         OFP8_OVERFLOW_NAN
#define OFP8_UE5M3_CODE_MASK                        0xFFu
#define OFP8_UE5M3_SIGN_MASK                        0x00u
#define OFP8_UE5M3_MAGNITUDE_MASK                   0xFFu
#define OFP8_UE5M3_MAX_MAGNITUDE                    0xFEu
#define OFP8_UE5M3_MIN_NORMAL_MAGNITUDE             0x08u
#define OFP8_UE5M3_INFINITY_MAGNITUDE               0xFEu
#define OFP8_UE5M3_NAN_CODE                         0xFFu
#define OFP8_UE5M3_MAX_F32_BITS                     0x47E00000u /* 0x1.cp+16 = 114688 */
#define OFP8_UE5M3_MIN_NORMAL_F32_BITS              0x38800000u /* 0x1p-14 = 6.1035156e-5 */
#define OFP8_UE5M3_MIN_POSITIVE_F32_BITS            0x37000000u /* 0x1p-17 = 7.6293945e-6 */
#define OFP8_UE5M3_OVERFLOW_F32_BITS                0x47E80001u /* 0x1.d00002p+16 = 118784.01 */

/* Format E2M3. */
#define OFP8_E2M3                                   11u
#define OFP8_E2M3_BITS                              6
#define OFP8_E2M3_EXPONENT_BITS                     2
#define OFP8_E2M3_MANTISSA_BITS                     3
#define OFP8_E2M3_BIAS                              1
#define OFP8_E2M3_MIN_EXPONENT                      0
#define OFP8_E2M3_MAX_EXPONENT                      2
#define OFP8_E2M3_HAS_ZERO                          1
#define OFP8_E2M3_HAS_NEGATIVE_ZERO                 1
#define OFP8_E2M3_HAS_INFINITY                      0
#define OFP8_E2M3_HAS_NAN                           0
#define OFP8_E2M3_HAS_NEGATIVE_NAN                  0
#define OFP8_E2M3_SIGN                              OFP8_SIGN_BIT
#define OFP8_E2M3_NAN_CODES                         OFP8_NAN_CODES_NONE
#define OFP8_E2M3_OVERFLOW                          OFP8_OVERFLOW_MAXIMUM
#define OFP8_E2M3_CODE_MASK                         0x3Fu
#define OFP8_E2M3_SIGN_MASK                         0x20u
#define OFP8_E2M3_MAGNITUDE_MASK                    0x1Fu
#define OFP8_E2M3_MAX_MAGNITUDE                     0x1Fu
#define OFP8_E2M3_MIN_NORMAL_MAGNITUDE              0x08u
#define OFP8_E2M3_INFINITY_MAGNITUDE                0x1Fu
#define OFP8_E2M3_NAN_CODE                          0x1Fu
#define OFP8_E2M3_MAX_F32_BITS                      0x40F00000u /* 0x1.ep+2 = 7.5 */
#define OFP8_E2M3_MIN_NORMAL_F32_BITS               0x3F800000u /* 0x1p+0 = 1 */
#define OFP8_E2M3_MIN_POSITIVE_F32_BITS             0x3E000000u /* 0x1p-3 = 0.125 */
#define OFP8_E2M3_OVERFLOW_F32_BITS                 0x40F80000u /* 0x1.fp+2 = 7.75 */

/* Format E3M2. */
#define OFP8_E3M2                                   12u
#define OFP8_E3M2_BITS                              6
#define OFP8_E3M2_EXPONENT_BITS                     3
#define OFP8_E3M2_MANTISSA_BITS                     2
#define OFP8_E3M2_BIAS                              3
#define OFP8_E3M2_MIN_EXPONENT                      (-2)
#define OFP8_E3M2_MAX_EXPONENT                      4
#define OFP8_E3M2_HAS_ZERO                          1
#define OFP8_E3M2_HAS_NEGATIVE_ZERO                 1
#define OFP8_E3M2_HAS_INFINITY                      0
#define OFP8_E3M2_HAS_NAN                           0
#define OFP8_E3M2_HAS_NEGATIVE_NAN                  0
#define OFP8_E3M2_SIGN                              OFP8_SIGN_BIT
#define OFP8_E3M2_NAN_CODES                         OFP8_NAN_CODES_NONE
#define OFP8_E3M2_OVERFLOW                          OFP8_OVERFLOW_MAXIMUM
#define OFP8_E3M2_CODE_MASK                         0x3Fu
#define OFP8_E3M2_SIGN_MASK                         0x20u
#define OFP8_E3M2_MAGNITUDE_MASK                    0x1Fu
#define OFP8_E3M2_MAX_MAGNITUDE                     0x1Fu
#define OFP8_E3M2_MIN_NORMAL_MAGNITUDE              0x04u
#define OFP8_E3M2_INFINITY_MAGNITUDE                0x1Fu
#define OFP8_E3M2_NAN_CODE                          0x1Fu
#define OFP8_E3M2_MAX_F32_BITS                      0x41E00000u /* 0x1.cp+4 = 28 */
#define OFP8_E3M2_MIN_NORMAL_F32_BITS               0x3E800000u /* 0x1p-2 = 0.25 */
#define OFP8_E3M2_MIN_POSITIVE_F32_BITS             0x3D800000u /* 0x1p-4 = 0.0625 */
#define OFP8_E3M2_OVERFLOW_F32_BITS                 0x41F00000u /* 0x1.ep+4 = 30 */

/* Format E2M1. */
#define OFP8_E2M1                                   13u
#define OFP8_E2M1_BITS                              4
#define OFP8_E2M1_EXPONENT_BITS                     2
#define OFP8_E2M1_MANTISSA_BITS                     1
#define OFP8_E2M1_BIAS                              1
#define OFP8_E2M1_MIN_EXPONENT                      0
#define OFP8_E2M1_MAX_EXPONENT                      2
#define OFP8_E2M1_HAS_ZERO                          1
#define OFP8_E2M1_HAS_NEGATIVE_ZERO                 1
#define OFP8_E2M1_HAS_INFINITY                      0
#define OFP8_E2M1_HAS_NAN                           0
#define OFP8_E2M1_HAS_NEGATIVE_NAN                  0
#define OFP8_E2M1_SIGN                              OFP8_SIGN_BIT
#define OFP8_E2M1_NAN_CODES                         OFP8_NAN_CODES_NONE
#define OFP8_E2M1_OVERFLOW                          OFP8_OVERFLOW_MAXIMUM
#define OFP8_E2M1_CODE_MASK                         0xFu
#define OFP8_E2M1_SIGN_MASK                         0x8u
#define OFP8_E2M1_MAGNITUDE_MASK                    0x7u
#define OFP8_E2M1_MAX_MAGNITUDE                     0x7u
#define OFP8_E2M1_MIN_NORMAL_MAGNITUDE              0x2u
#define OFP8_E2M1_INFINITY_MAGNITUDE                0x7u
#define OFP8_E2M1_NAN_CODE                          0x7u
#define OFP8_E2M1_MAX_F32_BITS                      0x40C00000u /* 0x1.8p+2 = 6 */
#define OFP8_E2M1_MIN_NORMAL_F32_BITS               0x3F800000u /* 0x1p+0 = 1 */
#define OFP8_E2M1_MIN_POSITIVE_F32_BITS             0x3F000000u /* 0x1p-1 = 0.5 */
#define OFP8_E2M1_OVERFLOW_F32_BITS                 0x40E00000u /* 0x1.cp+2 = 7 */

/* Format MxInt8. */
#define OFP8_MXINT8                                 14u
#define OFP8_MXINT8_BITS                            8
#define OFP8_MXINT8_EXPONENT_BITS                   0
#define OFP8_MXINT8_MANTISSA_BITS                   7
#define OFP8_MXINT8_BIAS                            0
#define OFP8_MXINT8_MIN_EXPONENT                    1
#define OFP8_MXINT8_MAX_EXPONENT                    0
#define OFP8_MXINT8_HAS_ZERO                        1
#define OFP8_MXINT8_HAS_NEGATIVE_ZERO               0
#define OFP8_MXINT8_HAS_INFINITY                    0
#define OFP8_MXINT8_HAS_NAN                         0
#define OFP8_MXINT8_HAS_NEGATIVE_NAN                0
#define OFP8_MXINT8_SIGN                            OFP8_SIGN_TWOS_COMPLEMENT
#define OFP8_MXINT8_NAN_CODES                       OFP8_NAN_CODES_NONE
#define OFP8_MXINT8_OVERFLOW                        OFP8_OVERFLOW_MAXIMUM
#define OFP8_MXINT8_CODE_MASK                       0xFFu
#define OFP8_MXINT8_SIGN_MASK                       0x80u
#define OFP8_MXINT8_MAGNITUDE_MASK                  0x7Fu
#define OFP8_MXINT8_MAX_MAGNITUDE                   0x7Fu
#define OFP8_MXINT8_MIN_NORMAL_MAGNITUDE            0x01u
#define OFP8_MXINT8_INFINITY_MAGNITUDE              0x7Fu
#define OFP8_MXINT8_NAN_CODE                        0x7Fu
#define OFP8_MXINT8_MAX_F32_BITS                    0x3FFE0000u /* 0x1.fcp+0 = 1.984375 */
#define OFP8_MXINT8_MIN_NORMAL_F32_BITS             0x3C800000u /* 0x1p-6 = 0.015625 */
#define OFP8_MXINT8_MIN_POSITIVE_F32_BITS           0x3C800000u /* 0x1p-6 = 0.015625 */
#define OFP8_MXINT8_OVERFLOW_F32_BITS               0x3FFF0000u /* 0x1.fep+0 = 1.9921875 */

/* Format Binary8p3se. */
#define OFP8_BINARY8P3SE                            15u
#define OFP8_BINARY8P3SE_BITS                       8
#define OFP8_BINARY8P3SE_EXPONENT_BITS              5
#define OFP8_BINARY8P3SE_MANTISSA_BITS              2
#define OFP8_BINARY8P3SE_BIAS                       16
#define OFP8_BINARY8P3SE_MIN_EXPONENT               (-15)
#define OFP8_BINARY8P3SE_MAX_EXPONENT               15
#define OFP8_BINARY8P3SE_HAS_ZERO                   1
#define OFP8_BINARY8P3SE_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P3SE_HAS_INFINITY               1
#define OFP8_BINARY8P3SE_HAS_NAN                    1
#define OFP8_BINARY8P3SE_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P3SE_SIGN                       OFP8_SIGN_BIT
#define OFP8_BINARY8P3SE_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_BINARY8P3SE_OVERFLOW                   OFP8_OVERFLOW_INFINITY
#define OFP8_BINARY8P3SE_CODE_MASK                  0xFFu
#define OFP8_BINARY8P3SE_SIGN_MASK                  0x80u
#define OFP8_BINARY8P3SE_MAGNITUDE_MASK             0x7Fu
#define OFP8_BINARY8P3SE_MAX_MAGNITUDE              0x7Eu
#define OFP8_BINARY8P3SE_MIN_NORMAL_MAGNITUDE       0x04u
#define OFP8_BINARY8P3SE_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_BINARY8P3SE_NAN_CODE                   0x80u
#define OFP8_BINARY8P3SE_MAX_F32_BITS               0x47400000u /* 0x1.8p+15 = 49152 */
#define OFP8_BINARY8P3SE_MIN_NORMAL_F32_BITS        0x38000000u /* 0x1p-15 = 3.0517578e-5 */
#define OFP8_BINARY8P3SE_MIN_POSITIVE_F32_BITS      0x37000000u /* 0x1p-17 = 7.6293945e-6 */
#define OFP8_BINARY8P3SE_OVERFLOW_F32_BITS          0x47500001u /* 0x1.a00002p+15 = 53248.004 */

/* Format Binary8p3sf. */
#define OFP8_BINARY8P3SF                            16u
#define OFP8_BINARY8P3SF_BITS                       8
#define OFP8_BINARY8P3SF_EXPONENT_BITS              5
#define OFP8_BINARY8P3SF_MANTISSA_BITS              2
#define OFP8_BINARY8P3SF_BIAS                       16
#define OFP8_BINARY8P3SF_MIN_EXPONENT               (-15)
#define OFP8_BINARY8P3SF_MAX_EXPONENT               15
#define OFP8_BINARY8P3SF_HAS_ZERO                   1
#define OFP8_BINARY8P3SF_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P3SF_HAS_INFINITY               0
#define OFP8_BINARY8P3SF_HAS_NAN                    1
#define OFP8_BINARY8P3SF_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P3SF_SIGN                       OFP8_SIGN_BIT
#define OFP8_BINARY8P3SF_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_BINARY8P3SF_OVERFLOW                   OFP8_OVERFLOW_MAXIMUM
#define OFP8_BINARY8P3SF_CODE_MASK                  0xFFu
#define OFP8_BINARY8P3SF_SIGN_MASK                  0x80u
#define OFP8_BINARY8P3SF_MAGNITUDE_MASK             0x7Fu
#define OFP8_BINARY8P3SF_MAX_MAGNITUDE              0x7Fu
#define OFP8_BINARY8P3SF_MIN_NORMAL_MAGNITUDE       0x04u
#define OFP8_BINARY8P3SF_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_BINARY8P3SF_NAN_CODE                   0x80u
#define OFP8_BINARY8P3SF_MAX_F32_BITS               0x47600000u /* 0x1.cp+15 = 57344 */
#define OFP8_BINARY8P3SF_MIN_NORMAL_F32_BITS        0x38000000u /* 0x1p-15 = 3.0517578e-5 */
#define OFP8_BINARY8P3SF_MIN_POSITIVE_F32_BITS      0x37000000u /* 0x1p-17 = 7.6293945e-6 */
#define OFP8_BINARY8P3SF_OVERFLOW_F32_BITS          0x47700000u /* 0x1.ep+15 = 61440 */

/* Format Binary8p3ue. */
#define OFP8_BINARY8P3UE                            17u
#define OFP8_BINARY8P3UE_BITS                       8
#define OFP8_BINARY8P3UE_EXPONENT_BITS              6
#define OFP8_BINARY8P3UE_MANTISSA_BITS              2
#define OFP8_BINARY8P3UE_BIAS                       32
#define OFP8_BINARY8P3UE_MIN_EXPONENT               (-31)
#define OFP8_BINARY8P3UE_MAX_EXPONENT               31
#define OFP8_BINARY8P3UE_HAS_ZERO                   1
#define OFP8_BINARY8P3UE_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P3UE_HAS_INFINITY               1
#define OFP8_BINARY8P3UE_HAS_NAN                    1
#define OFP8_BINARY8P3UE_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P3UE_SIGN                       OFP8_SIGN_OUT_OF_RANGE
#define OFP8_BINARY8P3UE_NAN_CODES                  OFP8_NAN_CODES_ALL_ONES
#define OFP8_BINARY8P3UE_OVERFLOW                   OFP8_OVERFLOW_INFINITY
#define OFP8_BINARY8P3UE_CODE_MASK                  0xFFu
#define OFP8_BINARY8P3UE_SIGN_MASK                  0x00u
#define OFP8_BINARY8P3UE_MAGNITUDE_MASK             0xFFu
#define OFP8_BINARY8P3UE_MAX_MAGNITUDE              0xFDu
#define OFP8_BINARY8P3UE_MIN_NORMAL_MAGNITUDE       0x04u
#define OFP8_BINARY8P3UE_INFINITY_MAGNITUDE         0xFEu
#define OFP8_BINARY8P3UE_NAN_CODE                   0xFFu
#define OFP8_BINARY8P3UE_MAX_F32_BITS               0x4F200000u /* 0x1.4p+31 = 2684354560 */
#define OFP8_BINARY8P3UE_MIN_NORMAL_F32_BITS        0x30000000u /* 0x1p-31 = 4.656613e-10 */
#define OFP8_BINARY8P3UE_MIN_POSITIVE_F32_BITS      0x2F000000u /* 0x1p-33 = 1.1641532e-10 */
#define OFP8_BINARY8P3UE_OVERFLOW_F32_BITS          0x4F300000u /* 0x1.6p+31 = 2952790016 */

/* Format Binary8p3uf. */
#define OFP8_BINARY8P3UF                            18u
#define OFP8_BINARY8P3UF_BITS                       8
#define OFP8_BINARY8P3UF_EXPONENT_BITS              6
#define OFP8_BINARY8P3UF_MANTISSA_BITS              2
#define OFP8_BINARY8P3UF_BIAS                       32
#define OFP8_BINARY8P3UF_MIN_EXPONENT               (-31)
#define OFP8_BINARY8P3UF_MAX_EXPONENT               31
#define OFP8_BINARY8P3UF_HAS_ZERO                   1
#define OFP8_BINARY8P3UF_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P3UF_HAS_INFINITY               0
#define OFP8_BINARY8P3UF_HAS_NAN                    1
#define OFP8_BINARY8P3UF_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P3UF_SIGN                       OFP8_SIGN_OUT_OF_RANGE
#define OFP8_BINARY8P3UF_NAN_CODES                  OFP8_NAN_CODES_ALL_ONES
#define OFP8_BINARY8P3UF_OVERFLOW                   OFP8_OVERFLOW_MAXIMUM
#define OFP8_BINARY8P3UF_CODE_MASK                  0xFFu
#define OFP8_BINARY8P3UF_SIGN_MASK                  0x00u
#define OFP8_BINARY8P3UF_MAGNITUDE_MASK             0xFFu
#define OFP8_BINARY8P3UF_MAX_MAGNITUDE              0xFEu
#define OFP8_BINARY8P3UF_MIN_NORMAL_MAGNITUDE       0x04u
#define OFP8_BINARY8P3UF_INFINITY_MAGNITUDE         0xFEu
#define OFP8_BINARY8P3UF_NAN_CODE                   0xFFu
#define OFP8_BINARY8P3UF_MAX_F32_BITS               0x4F400000u /* 0x1.8p+31 = 3221225472 */
#define OFP8_BINARY8P3UF_MIN_NORMAL_F32_BITS        0x30000000u /* 0x1p-31 = 4.656613e-10 */
#define OFP8_BINARY8P3UF_MIN_POSITIVE_F32_BITS      0x2F000000u /* 0x1p-33 = 1.1641532e-10 */
#define OFP8_BINARY8P3UF_OVERFLOW_F32_BITS          0x4F500001u /* 0x1.a00002p+31 = 3489661184 */

/* Format Binary8p4se. */
#define OFP8_BINARY8P4SE                            19u
#define OFP8_BINARY8P4SE_BITS                       8
#define OFP8_BINARY8P4SE_EXPONENT_BITS              4
#define OFP8_BINARY8P4SE_MANTISSA_BITS              3
#define OFP8_BINARY8P4SE_BIAS                       8
#define OFP8_BINARY8P4SE_MIN_EXPONENT               (-7)
#define OFP8_BINARY8P4SE_MAX_EXPONENT               7
#define OFP8_BINARY8P4SE_HAS_ZERO                   1
#define OFP8_BINARY8P4SE_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P4SE_HAS_INFINITY               1
#define OFP8_BINARY8P4SE_HAS_NAN                    1
#define OFP8_BINARY8P4SE_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P4SE_SIGN                       OFP8_SIGN_BIT
#define OFP8_BINARY8P4SE_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_BINARY8P4SE_OVERFLOW                   OFP8_OVERFLOW_INFINITY
#define OFP8_BINARY8P4SE_CODE_MASK                  0xFFu
#define OFP8_BINARY8P4SE_SIGN_MASK                  0x80u
#define OFP8_BINARY8P4SE_MAGNITUDE_MASK             0x7Fu
#define OFP8_BINARY8P4SE_MAX_MAGNITUDE              0x7Eu
#define OFP8_BINARY8P4SE_MIN_NORMAL_MAGNITUDE       0x08u
#define OFP8_BINARY8P4SE_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_BINARY8P4SE_NAN_CODE                   0x80u
#define OFP8_BINARY8P4SE_MAX_F32_BITS               0x43600000u /* 0x1.cp+7 = 224 */
#define OFP8_BINARY8P4SE_MIN_NORMAL_F32_BITS        0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_BINARY8P4SE_MIN_POSITIVE_F32_BITS      0x3A800000u /* 0x1p-10 = 9.765625e-4 */
#define OFP8_BINARY8P4SE_OVERFLOW_F32_BITS          0x43680001u /* 0x1.d00002p+7 = 232.00002 */

/* Format Binary8p4sf. */
#define OFP8_BINARY8P4SF                            20u
#define OFP8_BINARY8P4SF_BITS                       8
#define OFP8_BINARY8P4SF_EXPONENT_BITS              4
#define OFP8_BINARY8P4SF_MANTISSA_BITS              3
#define OFP8_BINARY8P4SF_BIAS                       8
#define OFP8_BINARY8P4SF_MIN_EXPONENT               (-7)
#define OFP8_BINARY8P4SF_MAX_EXPONENT               7
#define OFP8_BINARY8P4SF_HAS_ZERO                   1
#define OFP8_BINARY8P4SF_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P4SF_HAS_INFINITY               0
#define OFP8_BINARY8P4SF_HAS_NAN                    1
#define OFP8_BINARY8P4SF_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P4SF_SIGN                       OFP8_SIGN_BIT
#define OFP8_BINARY8P4SF_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_BINARY8P4SF_OVERFLOW                   OFP8_OVERFLOW_MAXIMUM
#define OFP8_BINARY8P4SF_CODE_MASK                  0xFFu
#define OFP8_BINARY8P4SF_SIGN_MASK                  0x80u
#define OFP8_BINARY8P4SF_MAGNITUDE_MASK             0x7Fu
#define OFP8_BINARY8P4SF_MAX_MAGNITUDE              0x7Fu
#define OFP8_BINARY8P4SF_MIN_NORMAL_MAGNITUDE       0x08u
#define OFP8_BINARY8P4SF_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_BINARY8P4SF_NAN_CODE                   0x80u
#define OFP8_BINARY8P4SF_MAX_F32_BITS               0x43700000u /* 0x1.ep+7 = 240 */
#define OFP8_BINARY8P4SF_MIN_NORMAL_F32_BITS        0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_BINARY8P4SF_MIN_POSITIVE_F32_BITS      0x3A800000u /* 0x1p-10 = 9.765625e-4 */
#define OFP8_BINARY8P4SF_OVERFLOW_F32_BITS          0x43780000u /* 0x1.fp+7 = 248 */

/* Format Binary8p4ue. */
#define OFP8_BINARY8P4UE                            21u
#define OFP8_BINARY8P4UE_BITS                       8
#define OFP8_BINARY8P4UE_EXPONENT_BITS              5
#define OFP8_BINARY8P4UE_MANTISSA_BITS              3
#define OFP8_BINARY8P4UE_BIAS                       16
#define OFP8_BINARY8P4UE_MIN_EXPONENT               (-15)
#define OFP8_BINARY8P4UE_MAX_EXPONENT               15
#define OFP8_BINARY8P4UE_HAS_ZERO                   1
#define OFP8_BINARY8P4UE_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P4UE_HAS_INFINITY               1
#define OFP8_BINARY8P4UE_HAS_NAN                    1
#define OFP8_BINARY8P4UE_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P4UE_SIGN                       OFP8_SIGN_OUT_OF_RANGE
#define OFP8_BINARY8P4UE_NAN_CODES                  OFP8_NAN_CODES_ALL_ONES
#define OFP8_BINARY8P4UE_OVERFLOW                   OFP8_OVERFLOW_INFINITY
#define OFP8_BINARY8P4UE_CODE_MASK                  0xFFu
#define OFP8_BINARY8P4UE_SIGN_MASK                  0x00u
#define OFP8_BINARY8P4UE_MAGNITUDE_MASK             0xFFu
#define OFP8_BINARY8P4UE_MAX_MAGNITUDE              0xFDu
#define OFP8_BINARY8P4UE_MIN_NORMAL_MAGNITUDE       0x08u
#define OFP8_BINARY8P4UE_INFINITY_MAGNITUDE         0xFEu
#define OFP8_BINARY8P4UE_NAN_CODE                   0xFFu
#define OFP8_BINARY8P4UE_MAX_F32_BITS               0x47500000u /* 0x1.ap+15 = 53248 */
#define OFP8_BINARY8P4UE_MIN_NORMAL_F32_BITS        0x38000000u /* 0x1p-15 = 3.0517578e-5 */
#define OFP8_BINARY8P4UE_MIN_POSITIVE_F32_BITS      0x36800000u /* 0x1p-18 = 3.8146973e-6 */
#define OFP8_BINARY8P4UE_OVERFLOW_F32_BITS          0x47580000u /* 0x1.bp+15 = 55296 */

/* Format Binary8p4uf. */
#define OFP8_BINARY8P4UF                            22u
#define OFP8_BINARY8P4UF_BITS                       8
#define OFP8_BINARY8P4UF_EXPONENT_BITS              5
#define OFP8_BINARY8P4UF_MANTISSA_BITS              3
#define OFP8_BINARY8P4UF_BIAS                       16
#define OFP8_BINARY8P4UF_MIN_EXPONENT               (-15)
#define OFP8_BINARY8P4UF_MAX_EXPONENT               15
#define OFP8_BINARY8P4UF_HAS_ZERO                   1
#define OFP8_BINARY8P4UF_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P4UF_HAS_INFINITY               0
#define OFP8_BINARY8P4UF_HAS_NAN                    1
#define OFP8_BINARY8P4UF_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P4UF_SIGN                       OFP8_SIGN_OUT_OF_RANGE
#define OFP8_BINARY8P4UF_NAN_CODES                  OFP8_NAN_CODES_ALL_ONES
#define OFP8_BINARY8P4UF_OVERFLOW                   OFP8_OVERFLOW_MAXIMUM
#define OFP8_BINARY8P4UF_CODE_MASK                  0xFFu
#define OFP8_BINARY8P4UF_SIGN_MASK                  0x00u
#define OFP8_BINARY8P4UF_MAGNITUDE_MASK             0xFFu
#define OFP8_BINARY8P4UF_MAX_MAGNITUDE              0xFEu
#define OFP8_BINARY8P4UF_MIN_NORMAL_MAGNITUDE       0x08u
#define OFP8_BINARY8P4UF_INFINITY_MAGNITUDE         0xFEu
#define OFP8_BINARY8P4UF_NAN_CODE                   0xFFu
#define OFP8_BINARY8P4UF_MAX_F32_BITS               0x47600000u /* 0x1.cp+15 = 57344 */
#define OFP8_BINARY8P4UF_MIN_NORMAL_F32_BITS        0x38000000u /* 0x1p-15 = 3.0517578e-5 */
#define OFP8_BINARY8P4UF_MIN_POSITIVE_F32_BITS      0x36800000u /* 0x1p-18 = 3.8146973e-6 */
#define OFP8_BINARY8P4UF_OVERFLOW_F32_BITS          0x47680001u /* 0x1.d00002p+15 = 59392.004 */

/* Format Binary8p5se. */
#define OFP8_BINARY8P5SE                            23u
#define OFP8_BINARY8P5SE_BITS                       8
#define OFP8_BINARY8P5SE_EXPONENT_BITS              3
#define OFP8_BINARY8P5SE_MANTISSA_BITS              4
#define OFP8_BINARY8P5SE_BIAS                       4
#define OFP8_BINARY8P5SE_MIN_EXPONENT               (-3)
#define OFP8_BINARY8P5SE_MAX_EXPONENT               3
#define OFP8_BINARY8P5SE_HAS_ZERO                   1
#define OFP8_BINARY8P5SE_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P5SE_HAS_INFINITY               1
#define OFP8_BINARY8P5SE_HAS_NAN                    1
#define OFP8_BINARY8P5SE_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P5SE_SIGN                       OFP8_SIGN_BIT
#define OFP8_BINARY8P5SE_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_BINARY8P5SE_OVERFLOW                   OFP8_OVERFLOW_INFINITY
#define OFP8_BINARY8P5SE_CODE_MASK                  0xFFu
#define OFP8_BINARY8P5SE_SIGN_MASK                  0x80u
#define OFP8_BINARY8P5SE_MAGNITUDE_MASK             0x7Fu
#define OFP8_BINARY8P5SE_MAX_MAGNITUDE              0x7Eu
#define OFP8_BINARY8P5SE_MIN_NORMAL_MAGNITUDE       0x10u
#define OFP8_BINARY8P5SE_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_BINARY8P5SE_NAN_CODE                   0x80u
#define OFP8_BINARY8P5SE_MAX_F32_BITS               0x41700000u /* 0x1.ep+3 = 15 */
#define OFP8_BINARY8P5SE_MIN_NORMAL_F32_BITS        0x3E000000u /* 0x1p-3 = 0.125 */
#define OFP8_BINARY8P5SE_MIN_POSITIVE_F32_BITS      0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_BINARY8P5SE_OVERFLOW_F32_BITS          0x41740001u /* 0x1.e80002p+3 = 15.250001 */

/* Format Binary8p5sf. */
#define OFP8_BINARY8P5SF                            24u
#define OFP8_BINARY8P5SF_BITS                       8
#define OFP8_BINARY8P5SF_EXPONENT_BITS              3
#define OFP8_BINARY8P5SF_MANTISSA_BITS              4
#define OFP8_BINARY8P5SF_BIAS                       4
#define OFP8_BINARY8P5SF_MIN_EXPONENT               (-3)
#define OFP8_BINARY8P5SF_MAX_EXPONENT               3
#define OFP8_BINARY8P5SF_HAS_ZERO                   1
#define OFP8_BINARY8P5SF_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P5SF_HAS_INFINITY               0
#define OFP8_BINARY8P5SF_HAS_NAN                    1
#define OFP8_BINARY8P5SF_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P5SF_SIGN                       OFP8_SIGN_BIT
#define OFP8_BINARY8P5SF_NAN_CODES                  OFP8_NAN_CODES_NEGATIVE_ZERO
#define OFP8_BINARY8P5SF_OVERFLOW                   OFP8_OVERFLOW_MAXIMUM
#define OFP8_BINARY8P5SF_CODE_MASK                  0xFFu
#define OFP8_BINARY8P5SF_SIGN_MASK                  0x80u
#define OFP8_BINARY8P5SF_MAGNITUDE_MASK             0x7Fu
#define OFP8_BINARY8P5SF_MAX_MAGNITUDE              0x7Fu
#define OFP8_BINARY8P5SF_MIN_NORMAL_MAGNITUDE       0x10u
#define OFP8_BINARY8P5SF_INFINITY_MAGNITUDE         0x7Fu
#define OFP8_BINARY8P5SF_NAN_CODE                   0x80u
#define OFP8_BINARY8P5SF_MAX_F32_BITS               0x41780000u /* 0x1.fp+3 = 15.5 */
#define OFP8_BINARY8P5SF_MIN_NORMAL_F32_BITS        0x3E000000u /* 0x1p-3 = 0.125 */
#define OFP8_BINARY8P5SF_MIN_POSITIVE_F32_BITS      0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_BINARY8P5SF_OVERFLOW_F32_BITS          0x417C0000u /* 0x1.f8p+3 = 15.75 */

/* Format Binary8p5ue. */
#define OFP8_BINARY8P5UE                            25u
#define OFP8_BINARY8P5UE_BITS                       8
#define OFP8_BINARY8P5UE_EXPONENT_BITS              4
#define OFP8_BINARY8P5UE_MANTISSA_BITS              4
#define OFP8_BINARY8P5UE_BIAS                       8
#define OFP8_BINARY8P5UE_MIN_EXPONENT               (-7)
#define OFP8_BINARY8P5UE_MAX_EXPONENT               7
#define OFP8_BINARY8P5UE_HAS_ZERO                   1
#define OFP8_BINARY8P5UE_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P5UE_HAS_INFINITY               1
#define OFP8_BINARY8P5UE_HAS_NAN                    1
#define OFP8_BINARY8P5UE_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P5UE_SIGN                       OFP8_SIGN_OUT_OF_RANGE
#define OFP8_BINARY8P5UE_NAN_CODES                  OFP8_NAN_CODES_ALL_ONES
#define OFP8_BINARY8P5UE_OVERFLOW                   OFP8_OVERFLOW_INFINITY
#define OFP8_BINARY8P5UE_CODE_MASK                  0xFFu
#define OFP8_BINARY8P5UE_SIGN_MASK                  0x00u
#define OFP8_BINARY8P5UE_MAGNITUDE_MASK             0xFFu
#define OFP8_BINARY8P5UE_MAX_MAGNITUDE              0xFDu
#define OFP8_BINARY8P5UE_MIN_NORMAL_MAGNITUDE       0x10u
#define OFP8_BINARY8P5UE_INFINITY_MAGNITUDE         0xFEu
#define OFP8_BINARY8P5UE_NAN_CODE                   0xFFu
#define OFP8_BINARY8P5UE_MAX_F32_BITS               0x43680000u /* 0x1.dp+7 = 232 */
#define OFP8_BINARY8P5UE_MIN_NORMAL_F32_BITS        0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_BINARY8P5UE_MIN_POSITIVE_F32_BITS      0x3A000000u /* 0x1p-11 = 4.8828125e-4 */
#define OFP8_BINARY8P5UE_OVERFLOW_F32_BITS          0x436C0000u /* 0x1.d8p+7 = 236 */

/* Format Binary8p5uf. */
#define OFP8_BINARY8P5UF                            26u
#define OFP8_BINARY8P5UF_BITS                       8
#define OFP8_BINARY8P5UF_EXPONENT_BITS              4
#define OFP8_BINARY8P5UF_MANTISSA_BITS              4
#define OFP8_BINARY8P5UF_BIAS                       8
#define OFP8_BINARY8P5UF_MIN_EXPONENT               (-7)
#define OFP8_BINARY8P5UF_MAX_EXPONENT               7
#define OFP8_BINARY8P5UF_HAS_ZERO                   1
#define OFP8_BINARY8P5UF_HAS_NEGATIVE_ZERO          0
#define OFP8_BINARY8P5UF_HAS_INFINITY               0
#define OFP8_BINARY8P5UF_HAS_NAN                    1
#define OFP8_BINARY8P5UF_HAS_NEGATIVE_NAN           0
#define OFP8_BINARY8P5UF_SIGN                       OFP8_SIGN_OUT_OF_RANGE
#define OFP8_BINARY8P5UF_NAN_CODES                  OFP8_NAN_CODES_ALL_ONES
#define OFP8_BINARY8P5UF_OVERFLOW                   OFP8_OVERFLOW_MAXIMUM
#define OFP8_BINARY8P5UF_CODE_MASK                  0xFFu
#define OFP8_BINARY8P5UF_SIGN_MASK                  0x00u
#define OFP8_BINARY8P5UF_MAGNITUDE_MASK             0xFFu
#define OFP8_BINARY8P5UF_MAX_MAGNITUDE              0xFEu
#define OFP8_BINARY8P5UF_MIN_NORMAL_MAGNITUDE       0x10u
#define OFP8_BINARY8P5UF_INFINITY_MAGNITUDE         0xFEu
#define OFP8_BINARY8P5UF_NAN_CODE                   0xFFu
#define OFP8_BINARY8P5UF_MAX_F32_BITS               0x43700000u /* 0x1.ep+7 = 240 */
#define OFP8_BINARY8P5UF_MIN_NORMAL_F32_BITS        0x3C000000u /* 0x1p-7 = 0.0078125 */
#define OFP8_BINARY8P5UF_MIN_POSITIVE_F32_BITS      0x3A000000u /* 0x1p-11 = 4.8828125e-4 */
#define OFP8_BINARY8P5UF_OVERFLOW_F32_BITS          0x43740001u /* 0x1.e80002p+7 = 244.00002 */

#endif
