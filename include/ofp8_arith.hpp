// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ofp8's arithmetic in C++17: the same bits as the library, in a constant expression, on the host and inside CUDA
// kernels. Header-only, no allocation, no library to link, no standard header (NVRTC has none).
//
// There is one algorithm, the scalar reference of the Rust library (src/scalar), driven by the row of a format; the
// rows come from ofp8_constants.h, which is generated. Beside it stands the 32-bit path that float, binary16 and
// bfloat16 values take: it equals the reference on every input and is what a GPU without the instruction runs.
//
//     constexpr auto code = ofp8::encode<ofp8::Format::E4M3>(0.3f);  // 0x2A
//     constexpr float back = ofp8::decode<ofp8::Format::E4M3>(code);  // 0.3125
//
// In this order: words and rows, the reference, the 32-bit path, random bits, what a pass saw, scales, layouts of
// scales, packing, accumulation.
//
// Everything is constexpr. Products and quotients of scales are single float operations: on the host they need the
// default floating-point environment (no FTZ or DAZ, so not -ffast-math, no x87); on a device they are
// written in PTX without `.ftz`, so that -use_fast_math and -ftz=true change nothing.
//
// Words: a *code* is the stored bit pattern, a *magnitude* is a code without its sign, an *ulp* is the distance to the
// next value of the format. binary16 and bfloat16 values travel as their bits, in unsigned short.
#ifndef OFP8_ARITH_HPP
#define OFP8_ARITH_HPP

#include "ofp8_constants.h"

// What every function here is, on the host and on a device.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || (defined(__clang__) && defined(__CUDA__))
#define OFP8_FUNCTION __host__ __device__ constexpr
#else
#define OFP8_FUNCTION constexpr
#endif

namespace ofp8 {

// ---------------------------------------------------------------------------------------------------------------------
// Words and rows
// ---------------------------------------------------------------------------------------------------------------------

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

// A narrow format. The numbers are those of the C ABI.
enum class Format : u32 {
#define OFP8_ENUMERATOR(name) name = OFP8_##name,
    OFP8_FOR_EACH_FORMAT(OFP8_ENUMERATOR)
};

// A wide type that values come from or go to. The numbers are those of the C ABI.
enum class FloatType : u32 {
    OFP8_FOR_EACH_TYPE(OFP8_ENUMERATOR)
#undef OFP8_ENUMERATOR
};

// Which neighbour a value between two representable ones becomes. The stochastic roundings are those of IEEE P3109
// (draft v4.0, 4.6); in E8M0, whose significand has one bit, nearest-away is "ties up" and nearest-even is "ties to
// the even code".
enum class Rounding : u32 {
    NearestEven = OFP8_NEAREST_EVEN,
    NearestAway = OFP8_NEAREST_AWAY,
    TowardZero = OFP8_TOWARD_ZERO,
    TowardPositive = OFP8_TOWARD_POSITIVE,
    TowardNegative = OFP8_TOWARD_NEGATIVE,
    ToOdd = OFP8_TO_ODD,
    StochasticA = OFP8_STOCHASTIC_A,
    StochasticB = OFP8_STOCHASTIC_B,
    StochasticC = OFP8_STOCHASTIC_C,
};

// What a value beyond the largest becomes: rounded first, as if the exponent had no bound, then compared.
enum class Saturation : u32 {
    Finite = OFP8_SATURATE_FINITE,       // everything clamps, infinities too
    Propagate = OFP8_SATURATE_PROPAGATE, // finite overflow clamps; an infinity becomes what it becomes under None
    None = OFP8_SATURATE_NONE,           // the format's own overflow: infinity, NaN or the largest value
};

// What a NaN input becomes. A format without NaN stores its largest value.
enum class NanPolicy : u32 {
    Canonical = OFP8_NAN_CANONICAL, // the positive canonical NaN
    KeepSign = OFP8_NAN_KEEP_SIGN,  // the same with the input's sign, where the format has two
};

// Rounding, saturation and NaN handling of one conversion. The default is what the conversion instructions of Hopper
// and Blackwell do.
struct Cast {
    Rounding rounding = Rounding::NearestEven;
    Saturation saturation = Saturation::Finite;
    NanPolicy nan = NanPolicy::Canonical;
    u32 random_bits = 0; // of a stochastic rounding, 1 to 32 (what lies outside counts as the nearer end); else 0
};

OFP8_FUNCTION bool is_default(Cast cast)
{
    return cast.rounding == Rounding::NearestEven && cast.saturation == Saturation::Finite &&
           cast.nan == NanPolicy::Canonical;
}

OFP8_FUNCTION bool is_stochastic(Rounding rounding)
{
    return rounding == Rounding::StochasticA || rounding == Rounding::StochasticB || rounding == Rounding::StochasticC;
}

namespace detail {

OFP8_FUNCTION u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
OFP8_FUNCTION u32 larger(u32 a, u32 b) { return a < b ? b : a; }

// The random bits that a stochastic rounding uses: no shift by a whole word, whatever the caller says.
OFP8_FUNCTION u32 random_bits_of(Cast cast) { return larger(1, smaller(cast.random_bits, 32)); }

} // namespace detail

// The row of a format or wide type: see ofp8_constants.h for each entry.
struct Spec {
    u32 bits;
    u32 exponent_bits;
    u32 mantissa_bits;
    i32 bias;
    u32 sign;
    u32 nan_codes;
    u32 overflow;
    bool zero;
    bool negative_zero;
    bool infinity;
    bool nan;
    bool negative_nan;
    i32 min_exponent;
    i32 max_exponent;
    u64 code_mask;
    u64 sign_mask;
    u64 magnitude_mask;
    u64 max_magnitude;
    u64 infinity_magnitude;
    u64 nan_code;
};

#define OFP8_ROW(name)                                                                                                 \
    Spec                                                                                                               \
    {                                                                                                                  \
        OFP8_##name##_BITS, OFP8_##name##_EXPONENT_BITS, OFP8_##name##_MANTISSA_BITS, OFP8_##name##_BIAS,              \
            OFP8_##name##_SIGN, OFP8_##name##_NAN_CODES, OFP8_##name##_OVERFLOW, OFP8_##name##_HAS_ZERO != 0,          \
            OFP8_##name##_HAS_NEGATIVE_ZERO != 0, OFP8_##name##_HAS_INFINITY != 0, OFP8_##name##_HAS_NAN != 0,         \
            OFP8_##name##_HAS_NEGATIVE_NAN != 0, OFP8_##name##_MIN_EXPONENT, OFP8_##name##_MAX_EXPONENT,               \
            OFP8_##name##_CODE_MASK, OFP8_##name##_SIGN_MASK, OFP8_##name##_MAGNITUDE_MASK,                            \
            OFP8_##name##_MAX_MAGNITUDE, OFP8_##name##_INFINITY_MAGNITUDE, OFP8_##name##_NAN_CODE                      \
    }

// The row of a format; of E4M3 for a number that is none.
OFP8_FUNCTION Spec spec(Format format)
{
    switch (format) {
#define OFP8_CASE(name)                                                                                                \
    case Format::name:                                                                                                 \
        return OFP8_ROW(name);
        OFP8_FOR_EACH_FORMAT(OFP8_CASE)
#undef OFP8_CASE
    }
    return OFP8_ROW(E4M3);
}

// The row of a wide type; of F32 for a number that is none.
OFP8_FUNCTION Spec spec(FloatType type)
{
    switch (type) {
#define OFP8_CASE(name)                                                                                                \
    case FloatType::name:                                                                                              \
        return OFP8_ROW(name);
        OFP8_FOR_EACH_TYPE(OFP8_CASE)
#undef OFP8_CASE
    }
    return OFP8_ROW(F32);
}
#undef OFP8_ROW

// The smallest f32 (as bits) that overflows the format at nearest-even.
OFP8_FUNCTION u32 overflow_f32_bits(Format format)
{
    switch (format) {
#define OFP8_CASE(name)                                                                                                \
    case Format::name:                                                                                                 \
        return OFP8_##name##_OVERFLOW_F32_BITS;
        OFP8_FOR_EACH_FORMAT(OFP8_CASE)
#undef OFP8_CASE
    }
    return 0;
}

// The largest value of the format, as f32 bits.
OFP8_FUNCTION u32 max_f32_bits(Format format)
{
    switch (format) {
#define OFP8_CASE(name)                                                                                                \
    case Format::name:                                                                                                 \
        return OFP8_##name##_MAX_F32_BITS;
        OFP8_FOR_EACH_FORMAT(OFP8_CASE)
#undef OFP8_CASE
    }
    return 0;
}

// The magnitude of the smallest normal value of the format.
OFP8_FUNCTION u32 min_normal_magnitude(Format format)
{
    switch (format) {
#define OFP8_CASE(name)                                                                                                \
    case Format::name:                                                                                                 \
        return OFP8_##name##_MIN_NORMAL_MAGNITUDE;
        OFP8_FOR_EACH_FORMAT(OFP8_CASE)
#undef OFP8_CASE
    }
    return 0;
}

// A binary16 and a bfloat16, as what a buffer of them holds.
struct F16 {
    u16 bits;
};
struct BF16 {
    u16 bits;
};

// The bits of a float, and back.
OFP8_FUNCTION u32 bits_of(float value) { return __builtin_bit_cast(u32, value); }
OFP8_FUNCTION u64 bits_of(double value) { return __builtin_bit_cast(u64, value); }
OFP8_FUNCTION float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }

// All of an f32 but its sign; its infinity; the one NaN that is ever made; the implicit bit of its significand.
inline constexpr u32 F32_ABS = OFP8_F32_MAGNITUDE_MASK;
inline constexpr u32 F32_SIGN = OFP8_F32_SIGN_MASK;
inline constexpr u32 F32_INFINITY = OFP8_F32_INFINITY_MAGNITUDE;
inline constexpr u32 F32_NAN = OFP8_F32_NAN_CODE;
inline constexpr u32 F32_MAX = OFP8_F32_MAX_MAGNITUDE;
inline constexpr u32 F32_IMPLICIT = 1u << OFP8_F32_MANTISSA_BITS;

namespace detail {

// On a device: PTX without `.ftz`, since the operators and the intrinsics follow -ftz.
#if defined(__CUDA_ARCH__)
__device__ inline float multiply_ptx(float a, float b)
{
    float product;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
}
__device__ inline float divide_ptx(float a, float b)
{
    float quotient;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}
__device__ inline float add_ptx(float a, float b)
{
    float sum;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
    return sum;
}
#define OFP8_OPERATION(name, operation) (__builtin_is_constant_evaluated() ? (operation) : name##_ptx(a, b))
#else
#define OFP8_OPERATION(name, operation) (operation)
#endif

// One f32 operation, rounded to nearest-even, subnormals kept.
OFP8_FUNCTION float multiply(float a, float b) { return OFP8_OPERATION(multiply, a * b); }
OFP8_FUNCTION float divide(float a, float b) { return OFP8_OPERATION(divide, a / b); }
OFP8_FUNCTION float add(float a, float b) { return OFP8_OPERATION(add, a + b); }
#undef OFP8_OPERATION

} // namespace detail

// ---------------------------------------------------------------------------------------------------------------------
// The reference: one value at a time, integers only, every format, rounding and source
// ---------------------------------------------------------------------------------------------------------------------

enum class Kind : u32 { Zero, Finite, Infinite, Nan };

// An exact number, or what stands beside the numbers. A finite one is significand * 2^(exponent - 63) with bit 63 of
// the significand set, so that exponent is floor(log2 |x|).
struct Value {
    Kind kind;
    bool negative;
    i32 exponent;
    u64 significand;
};

// By which a code becomes a wide value: rounded once to nearest-even where the type cannot hold it, infinity beyond its
// largest, a quiet NaN that keeps its sign.
inline constexpr Cast DECODE_CAST = {Rounding::NearestEven, Saturation::None, NanPolicy::KeepSign, 0};

OFP8_FUNCTION bool is_nan(const Spec &s, u64 code)
{
    const u64 magnitude = code & s.magnitude_mask;
    switch (s.nan_codes) {
    case OFP8_NAN_CODES_ALL_ONES:
        return magnitude == s.magnitude_mask;
    case OFP8_NAN_CODES_NEGATIVE_ZERO:
        return (code & s.code_mask) == s.sign_mask;
    case OFP8_NAN_CODES_ABOVE_INFINITY:
        return magnitude > s.infinity_magnitude;
    default:
        return false;
    }
}

OFP8_FUNCTION bool is_infinite(const Spec &s, u64 code)
{
    return s.infinity && (code & s.magnitude_mask) == s.infinity_magnitude;
}

// The code of a sign and a magnitude; a format without that sign ignores it.
OFP8_FUNCTION u64 join(const Spec &s, bool negative, u64 magnitude)
{
    if (!negative || (magnitude == 0 && !s.negative_zero)) {
        return magnitude;
    }
    if (s.sign == OFP8_SIGN_TWOS_COMPLEMENT) {
        return (0 - magnitude) & s.code_mask;
    }
    return magnitude | s.sign_mask;
}

namespace detail {

// Zero bits above the highest set bit of a word that is not zero.
OFP8_FUNCTION u32 leading_zeros(u64 word)
{
    u32 zeros = 0;
    for (u32 step = 32; step != 0; step /= 2) {
        if (word >> (64 - step) == 0) {
            word <<= step;
            zeros += step;
        }
    }
    return zeros;
}

// The number +-integer * 2^exponent.
OFP8_FUNCTION Value number(bool negative, u64 integer, i32 exponent)
{
    if (integer == 0) {
        return Value{Kind::Zero, negative, 0, 0};
    }
    const u32 shift = leading_zeros(integer);
    return Value{Kind::Finite, negative, exponent + 63 - static_cast<i32>(shift), integer << shift};
}

} // namespace detail

// The exact value of a code. Bits above its width are ignored.
OFP8_FUNCTION Value decode_value(const Spec &s, u64 code)
{
    code &= s.code_mask;
    const bool sign = (code & s.sign_mask) != 0;
    if (is_nan(s, code)) {
        return Value{Kind::Nan, s.negative_nan && sign, 0, 0};
    }
    const bool complement = sign && s.sign == OFP8_SIGN_TWOS_COMPLEMENT;
    const u64 magnitude = complement ? (0 - code) & s.code_mask : code & s.magnitude_mask;
    if (is_infinite(s, code)) {
        return Value{Kind::Infinite, sign, 0, 0};
    }
    const u64 implicit = u64{1} << s.mantissa_bits;
    const i32 field = static_cast<i32>(magnitude >> s.mantissa_bits);
    const u64 fraction = magnitude & (implicit - 1);
    const bool subnormal = field == 0 && s.zero;
    const u64 integer = subnormal ? fraction : fraction | implicit;
    const i32 exponent = subnormal ? s.min_exponent : field - s.bias;
    return detail::number(sign, integer, exponent - static_cast<i32>(s.mantissa_bits));
}

namespace detail {

// The discarded part of an ulp: (bits + a little more, if sticky) / 2^64.
struct Fraction {
    u64 bits;
    bool sticky;
};

// What stays of a significand, and the fraction of an ulp that does not.
struct Split {
    u64 kept;
    Fraction fraction;
};

OFP8_FUNCTION Split split(u64 significand, i64 discarded)
{
    if (discarded < 64) {
        return Split{significand >> discarded, Fraction{significand << (64 - discarded), false}};
    }
    if (discarded == 64) {
        return Split{0, Fraction{significand, false}};
    }
    if (discarded < 128) {
        const i64 lost = discarded - 64;
        return Split{0, Fraction{significand >> lost, significand << (64 - lost) != 0}};
    }
    return Split{0, Fraction{0, true}};
}

// Whether the magnitude moves on to the next one. `word` holds the random bits of a stochastic rounding, low bits first.
OFP8_FUNCTION bool rounds_away(Cast cast, bool negative, bool odd, Fraction fraction, u32 word)
{
    const u64 half = u64{1} << 63;
    const bool inexact = fraction.bits != 0 || fraction.sticky;
    const u32 n = random_bits_of(cast);
    const u64 unit = u64{1} << n;
    const u64 random = word & (unit - 1);
    switch (cast.rounding) {
    case Rounding::NearestEven:
        return fraction.bits > half || (fraction.bits == half && (fraction.sticky || odd));
    case Rounding::NearestAway:
        return fraction.bits >= half;
    case Rounding::TowardZero:
        return false;
    case Rounding::TowardPositive:
        return inexact && !negative;
    case Rounding::TowardNegative:
        return inexact && negative;
    case Rounding::ToOdd:
        return inexact && !odd;
    case Rounding::StochasticA:
        return (fraction.bits >> (64 - n)) + random >= unit;
    case Rounding::StochasticB:
        return (fraction.bits >> (63 - n)) + 2 * random + 1 >= 2 * unit;
    case Rounding::StochasticC: {
        const u64 floor = fraction.bits >> (64 - n);
        const u64 rest = fraction.bits << n;
        const bool up = rest > half || (rest == half && (fraction.sticky || floor % 2 != 0));
        return floor + (up ? 1 : 0) + random >= unit;
    }
    }
    return false;
}

// The magnitude of a finite value after rounding, counted on as if the format had no largest value. Codes of one sign
// follow each other as their values do, so "the next value" is "the next code" and an even value has an even code.
OFP8_FUNCTION u64 round_magnitude(const Spec &s, Cast cast, bool negative, const Value &value, u32 word)
{
    const i32 lattice = value.exponent > s.min_exponent ? value.exponent : s.min_exponent;
    const i64 mantissa_bits = s.mantissa_bits;
    // Bits of the significand that lie below one ulp: at least 11 (binary64).
    const i64 discarded = 63 - mantissa_bits + (i64{lattice} - value.exponent);
    const Split parts = split(value.significand, discarded);
    const i64 below_first = s.zero ? 0 : i64{1} << mantissa_bits;
    const i64 binades = i64{lattice} - s.min_exponent;
    const i64 down = binades * (i64{1} << mantissa_bits) + static_cast<i64>(parts.kept) - below_first;
    const i64 rounded = down + (rounds_away(cast, negative, (down & 1) != 0, parts.fraction, word) ? 1 : 0);
    // Below the first value of a format without zero there is nothing but that value.
    return rounded < 0 ? 0 : static_cast<u64>(rounded);
}

// The code of NaN; a format without one stores its largest value.
OFP8_FUNCTION u64 nan_code(const Spec &s, bool negative)
{
    if (!s.nan) {
        return join(s, negative, s.max_magnitude);
    }
    return negative && s.negative_nan ? s.nan_code | s.sign_mask : s.nan_code;
}

// Whether a rounding never takes a finite value of that sign out of the range: one that points to zero (IEEE 754-2019,
// 7.4), and to odd in the unsigned P3109 formats with infinity, where the largest value is odd and infinity is even
// (v4.0, 4.7.5; those without infinity clamp anyway).
OFP8_FUNCTION bool stays_finite(const Spec &s, Rounding rounding, bool negative)
{
    const bool to_odd = rounding == Rounding::ToOdd && s.sign == OFP8_SIGN_OUT_OF_RANGE;
    return rounding == Rounding::TowardZero || (rounding == Rounding::TowardPositive && negative) ||
           (rounding == Rounding::TowardNegative && !negative) || (to_odd && !negative);
}

// The code of a value outside the range: an infinity, or a finite value that rounding took there.
OFP8_FUNCTION u64 beyond(const Spec &s, Cast cast, bool negative, bool infinite)
{
    const bool propagates = cast.saturation == Saturation::Propagate;
    const bool clamps = cast.saturation == Saturation::Finite ||
                        (!infinite && (propagates || stays_finite(s, cast.rounding, negative)));
    if (negative && s.sign == OFP8_SIGN_OUT_OF_RANGE) {
        // P3109 v4.0, 4.7.5: the least value of an unsigned format is zero, and there is no infinity below it to
        // propagate.
        return clamps || propagates ? 0 : nan_code(s, false);
    }
    if (!clamps && s.overflow == OFP8_OVERFLOW_INFINITY) {
        return join(s, negative, s.infinity_magnitude);
    }
    if (!clamps && s.overflow == OFP8_OVERFLOW_NAN) {
        return nan_code(s, negative);
    }
    return join(s, negative, s.max_magnitude);
}

} // namespace detail

// The code of a value.
OFP8_FUNCTION u64 encode_value(const Spec &s, Cast cast, const Value &value, u32 word)
{
    switch (value.kind) {
    case Kind::Zero:
        return join(s, value.negative, 0);
    case Kind::Nan:
        return detail::nan_code(s, value.negative && cast.nan == NanPolicy::KeepSign);
    case Kind::Infinite:
        return detail::beyond(s, cast, value.negative, true);
    case Kind::Finite:
        break;
    }
    const bool negative = value.negative && s.sign != OFP8_SIGN_DROPPED;
    const u64 magnitude = detail::round_magnitude(s, cast, negative, value, word);
    const bool below = negative && s.sign == OFP8_SIGN_OUT_OF_RANGE && magnitude != 0;
    if (below || magnitude > s.max_magnitude) {
        return detail::beyond(s, cast, negative, false);
    }
    return join(s, negative, magnitude);
}

// Converts a code of one row into a code of another, rounded once.
OFP8_FUNCTION u64 convert(const Spec &from, const Spec &to, Cast cast, u64 bits, u32 word = 0)
{
    return encode_value(to, cast, decode_value(from, bits), word);
}

// Encodes the bits of a wide value as a code of a format, both chosen at run time.
OFP8_FUNCTION u8 encode_bits(Format format, FloatType source, u64 bits, Cast cast = {}, u32 word = 0)
{
    return static_cast<u8>(convert(spec(source), spec(format), cast, bits, word));
}

// Decodes a code into the bits of a wide type.
OFP8_FUNCTION u64 decode_bits(Format format, u8 code, FloatType target)
{
    return convert(spec(format), spec(target), DECODE_CAST, code);
}

// ---------------------------------------------------------------------------------------------------------------------
// The 32-bit path: what float, binary16 and bfloat16 values take
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// Stochastic roundings with more random bits than this go through the reference: a lane of 32 bits cannot hold what
// they need of a tiny value.
inline constexpr u32 LANE_RANDOM_BITS = 24;
// The furthest that a lane shifts.
inline constexpr u32 LAST_BIT = 31;

// What a rounding looks at: a significand whose low `discarded` bits (1 to 31) lie below one ulp, whether the magnitude
// below is odd, the sign.
struct Lane {
    u32 significand;
    u32 discarded;
    u32 odd;
    bool negative;
};

// The low n bits of a word as the addend of stochastic rounding A: a carry means away.
OFP8_FUNCTION u32 random_addend(Lane lane, u32 word, u32 n) { return word << (32 - n) >> (32 - lane.discarded); }

// What rounds the significand to a multiple of 2^-n ulp, ties to even (modulo 2^32).
OFP8_FUNCTION u32 preround(Lane lane, u32 n)
{
    const u32 lost = lane.discarded > n ? lane.discarded - n : 0;
    const u32 unit = 1u << lost;
    const u32 odd = (lane.significand >> lost) & 1;
    const u32 down = lost != 0 && odd == 0 ? 1 : 0;
    const u32 rounded = (lane.significand + unit / 2 - down) & ~(unit - 1);
    return rounded - lane.significand;
}

// A rounding is what is added to the significand before its low bits are cut off: a carry walks into the exponent,
// since the magnitudes of a format follow each other as its values do.
OFP8_FUNCTION u32 addend(Cast cast, Lane lane, u32 word)
{
    const u32 half = 1u << (lane.discarded - 1);
    const u32 rest = (1u << lane.discarded) - 1;
    const u32 n = random_bits_of(cast);
    switch (cast.rounding) {
    case Rounding::NearestEven:
        return half - 1 + lane.odd;
    case Rounding::NearestAway:
        return half;
    case Rounding::TowardZero:
        return 0;
    case Rounding::TowardPositive:
        return lane.negative ? 0 : rest;
    case Rounding::TowardNegative:
        return lane.negative ? rest : 0;
    case Rounding::ToOdd:
        return lane.odd != 0 ? 0 : rest;
    case Rounding::StochasticA:
        return random_addend(lane, word, n);
    case Rounding::StochasticB:
        return random_addend(lane, word << 1 | 1, n + 1);
    case Rounding::StochasticC:
        return preround(lane, n) + random_addend(lane, word, n);
    }
    return 0;
}

// round_magnitude() of a finite f32, given by the bits of its absolute value.
OFP8_FUNCTION u32 lane_magnitude(const Spec &s, Cast cast, u32 abs, bool negative, u32 word)
{
    const u32 min_field = static_cast<u32>(s.min_exponent + OFP8_F32_BIAS);
    const u32 field = abs >> OFP8_F32_MANTISSA_BITS;
    const u32 lattice = larger(field, min_field);
    const u32 significand = (abs & (F32_IMPLICIT - 1)) | (field != 0 ? F32_IMPLICIT : 0);
    const u32 discarded = OFP8_F32_MANTISSA_BITS - s.mantissa_bits + lattice - larger(field, 1);
    // A value below 2^-8 of an ulp: what leaves the lane is kept as one sticky bit.
    const u32 excess = discarded > LAST_BIT ? smaller(discarded - LAST_BIT, LAST_BIT) : 0;
    const u32 kept = significand >> excess;
    const u32 sticky = kept << excess != significand ? 1 : 0;

    const u32 below_first = s.zero ? 0 : 1u << s.mantissa_bits;
    const u32 base = ((lattice - min_field) << s.mantissa_bits) - below_first;
    Lane lane = {kept | sticky, smaller(discarded, LAST_BIT), 0, negative};
    lane.odd = (base + (lane.significand >> lane.discarded)) & 1;
    const u32 rounded = base + ((lane.significand + addend(cast, lane, word)) >> lane.discarded);
    // Below the first value of a format without zero there is nothing but that value.
    return static_cast<i32>(rounded) < 0 ? 0 : rounded;
}

// encode_value() of an f32 by its bits.
OFP8_FUNCTION u32 encode_lane(const Spec &s, Cast cast, u32 bits, u32 word)
{
    const u32 abs = bits & F32_ABS;
    const bool sign = (bits & F32_SIGN) != 0;
    if (abs > F32_INFINITY) {
        return static_cast<u32>(nan_code(s, sign && cast.nan == NanPolicy::KeepSign));
    }
    if (abs == F32_INFINITY) {
        return static_cast<u32>(beyond(s, cast, sign, true));
    }
    const bool negative = sign && s.sign != OFP8_SIGN_DROPPED;
    const u32 magnitude = lane_magnitude(s, cast, abs, negative, word);
    const bool below = negative && s.sign == OFP8_SIGN_OUT_OF_RANGE && magnitude != 0;
    if (below || magnitude > s.max_magnitude) {
        return static_cast<u32>(beyond(s, cast, negative, false));
    }
    return static_cast<u32>(join(s, negative, magnitude));
}

OFP8_FUNCTION u32 encode_f32_bits(const Spec &s, Cast cast, u32 bits, u32 word)
{
    if (is_stochastic(cast.rounding) && cast.random_bits > LANE_RANDOM_BITS) {
        return static_cast<u32>(convert(spec(FloatType::F32), s, cast, bits, word));
    }
    return encode_lane(s, cast, bits, word);
}

// The f32 of a code, as bits: exact, since f32 holds every value of every format.
OFP8_FUNCTION u32 decode_f32_bits(const Spec &s, u32 code)
{
    code &= static_cast<u32>(s.code_mask);
    const bool sign = (code & s.sign_mask) != 0;
    const u32 sign_bit = sign ? F32_SIGN : 0;
    if (is_nan(s, code)) {
        return s.negative_nan ? F32_NAN | sign_bit : F32_NAN;
    }
    if (is_infinite(s, code)) {
        return F32_INFINITY | sign_bit;
    }
    const bool complement = sign && s.sign == OFP8_SIGN_TWOS_COMPLEMENT;
    const u32 magnitude =
        complement ? (0 - code) & static_cast<u32>(s.code_mask) : code & static_cast<u32>(s.magnitude_mask);
    const u32 shift = OFP8_F32_MANTISSA_BITS - s.mantissa_bits;
    const u32 field = magnitude >> s.mantissa_bits;
    if (!s.zero && field == 0) {
        return F32_IMPLICIT >> 1; // 2^-127, the one value that is subnormal in f32 (E8M0)
    }
    if (s.zero && field == 0) {
        // Subnormal, or fixed point: an exact product of an integer and the quantum.
        const i32 quantum = s.min_exponent - static_cast<i32>(s.mantissa_bits);
        const u32 factor = static_cast<u32>(quantum + OFP8_F32_BIAS) << OFP8_F32_MANTISSA_BITS;
        return bits_of(multiply(static_cast<float>(static_cast<i32>(magnitude)), float_of(factor))) | sign_bit;
    }
    const u32 rebias = static_cast<u32>(OFP8_F32_BIAS - s.bias) << OFP8_F32_MANTISSA_BITS;
    return ((magnitude << shift) + rebias) | sign_bit;
}

} // namespace detail

// The f32 of a binary16, exactly.
OFP8_FUNCTION float f16_to_f32(u16 bits) { return float_of(detail::decode_f32_bits(spec(FloatType::F16), bits)); }

// The f32 of a bfloat16, exactly (a NaN keeps its payload).
OFP8_FUNCTION float bf16_to_f32(u16 bits) { return float_of(static_cast<u32>(bits) << 16); }

// The nearest binary16, ties to even; infinity beyond its largest; a quiet NaN that keeps its sign.
OFP8_FUNCTION u16 f32_to_f16(float value)
{
    return static_cast<u16>(detail::encode_lane(spec(FloatType::F16), DECODE_CAST, bits_of(value), 0));
}

// The nearest bfloat16; otherwise as f32_to_f16.
OFP8_FUNCTION u16 f32_to_bf16(float value)
{
    return static_cast<u16>(detail::encode_lane(spec(FloatType::BF16), DECODE_CAST, bits_of(value), 0));
}

// Encodes a float as a code of F, rounded once. `word` holds the random bits of a stochastic rounding (the low
// cast.random_bits are used); the other roundings ignore it.
template <Format F> OFP8_FUNCTION u8 encode(float value, Cast cast = {}, u32 word = 0)
{
    constexpr Spec s = spec(F);
    return static_cast<u8>(detail::encode_f32_bits(s, cast, bits_of(value), word));
}

// Encodes a double, rounded once (never through float); otherwise as encode(float).
template <Format F> OFP8_FUNCTION u8 encode(double value, Cast cast = {}, u32 word = 0)
{
    return encode_bits(F, FloatType::F64, bits_of(value), cast, word);
}

// Encodes a binary16, given as its bits.
template <Format F> OFP8_FUNCTION u8 encode_f16(u16 bits, Cast cast = {}, u32 word = 0)
{
    return encode<F>(f16_to_f32(bits), cast, word);
}

// Encodes a bfloat16, given as its bits.
template <Format F> OFP8_FUNCTION u8 encode_bf16(u16 bits, Cast cast = {}, u32 word = 0)
{
    return encode<F>(bf16_to_f32(bits), cast, word);
}

// The value of a code, exactly. NaN is quiet and keeps its sign.
template <Format F> OFP8_FUNCTION float decode(u8 code)
{
    constexpr Spec s = spec(F);
    return float_of(detail::decode_f32_bits(s, code));
}

// The value of a code as the bits of a binary16, rounded once to nearest-even where that cannot hold it, infinity
// beyond its largest.
template <Format F> OFP8_FUNCTION u16 decode_f16(u8 code) { return f32_to_f16(decode<F>(code)); }

// The value of a code as the bits of a bfloat16; otherwise as decode_f16.
template <Format F> OFP8_FUNCTION u16 decode_bf16(u8 code) { return f32_to_bf16(decode<F>(code)); }

namespace detail {

// rounds_beyond() of the bits of a value, for what a lane holds.
OFP8_FUNCTION bool lane_rounds_beyond(const Spec &s, u32 overflow, Cast cast, u32 bits, u32 word)
{
    const u32 abs = bits & F32_ABS;
    if (abs >= F32_INFINITY) {
        return abs == F32_INFINITY;
    }
    if (cast.rounding == Rounding::NearestEven) {
        return abs >= overflow;
    }
    const bool negative = (bits & F32_SIGN) != 0 && s.sign != OFP8_SIGN_DROPPED;
    return lane_magnitude(s, cast, abs, negative, word) > s.max_magnitude;
}

} // namespace detail

// Whether a finite float rounds beyond the largest value of F, or an infinity: what statistics count.
template <Format F> OFP8_FUNCTION bool rounds_beyond(float value, Cast cast = {}, u32 word = 0)
{
    constexpr Spec s = spec(F);
    const u32 bits = bits_of(value);
    if (is_stochastic(cast.rounding) && cast.random_bits > detail::LANE_RANDOM_BITS) {
        const Value exact = decode_value(spec(FloatType::F32), bits);
        const bool negative = exact.negative && s.sign != OFP8_SIGN_DROPPED;
        return exact.kind == Kind::Infinite ||
               (exact.kind == Kind::Finite &&
                detail::round_magnitude(s, cast, negative, exact, word) > s.max_magnitude);
    }
    return detail::lane_rounds_beyond(s, overflow_f32_bits(F), cast, bits, word);
}

// ---------------------------------------------------------------------------------------------------------------------
// Random bits
// ---------------------------------------------------------------------------------------------------------------------

// Four random words.
struct Words {
    u32 word[4];
};

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): four random words for a counter under a key.
OFP8_FUNCTION Words philox4x32_10(Words counter, u32 key0, u32 key1)
{
    for (int round = 0; round < 10; ++round) {
        const u64 low = u64{counter.word[0]} * 0xD2511F53u;
        const u64 high = u64{counter.word[2]} * 0xCD9E8D57u;
        counter = Words{{static_cast<u32>(high >> 32) ^ counter.word[1] ^ key0, static_cast<u32>(high),
                         static_cast<u32>(low >> 32) ^ counter.word[3] ^ key1, static_cast<u32>(low)}};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

// A stream of 16-bit random numbers, one for each element number: element i takes half-word i % 8 of block i / 8, the
// least significant half of a word first. The number of an element is first_index + row * cols + col, so that chunks,
// threads and ranks agree. The layout of ofp8_philox.
struct Philox {
    u64 seed;
    u64 stream;
    u64 first_index;
};

OFP8_FUNCTION Words random_block(const Philox &philox, u64 block)
{
    const Words counter = {{static_cast<u32>(block), static_cast<u32>(block >> 32), static_cast<u32>(philox.stream),
                            static_cast<u32>(philox.stream >> 32)}};
    return philox4x32_10(counter, static_cast<u32>(philox.seed), static_cast<u32>(philox.seed >> 32));
}

// The 16 bits of lane 0 to 7 of a block.
OFP8_FUNCTION u32 random_lane(const Words &words, u32 lane) { return words.word[lane / 2] >> (16 * (lane % 2)) & 0xFFFF; }

// The 16 random bits of the element `offset` after the first.
OFP8_FUNCTION u32 random_bits(const Philox &philox, u64 offset)
{
    const u64 index = philox.first_index + offset;
    return random_lane(random_block(philox, index / 8), static_cast<u32>(index % 8));
}

// ---------------------------------------------------------------------------------------------------------------------
// What a pass saw
// ---------------------------------------------------------------------------------------------------------------------

// The amax of one value: the bits of |x|, with one pattern for NaN that lies above infinity. The unsigned maximum of
// such integers is the merge, in any order (atomicMax, MPI_MAX): it never loses a NaN.
OFP8_FUNCTION u32 amax_of(float value)
{
    const u32 abs = bits_of(value) & F32_ABS;
    return abs > F32_INFINITY ? F32_NAN : abs;
}

OFP8_FUNCTION u32 merge_amax(u32 a, u32 b) { return a < b ? b : a; }
OFP8_FUNCTION bool amax_is_finite(u32 amax) { return amax < F32_INFINITY; }

// Counts of one pass of quantization: integers, so that every cut of the work merges to the same bits. The layout of
// ofp8_stats. All zero (memory that was cleared) merges as nothing, too.
struct Stats {
    u64 count = 0;       // elements seen
    u64 zero = 0;        // source elements that are zero
    u64 saturated = 0;   // finite source elements that rounded to beyond the largest value
    u64 underflowed = 0; // source elements, neither zero nor NaN, that were stored as zero
    u64 nan = 0;
    u64 infinite = 0;
    u32 amax = 0;
    u32 min_nonzero = F32_INFINITY; // the bits of the smallest |x| above zero; of infinity where there was none
};

OFP8_FUNCTION Stats merge_stats(const Stats &a, const Stats &b)
{
    if (a.count == 0 || b.count == 0) {
        return a.count != 0 ? a : b.count != 0 ? b : Stats{};
    }
    Stats both = a;
    both.count += b.count;
    both.zero += b.zero;
    both.saturated += b.saturated;
    both.underflowed += b.underflowed;
    both.nan += b.nan;
    both.infinite += b.infinite;
    both.amax = merge_amax(a.amax, b.amax);
    both.min_nonzero = detail::smaller(a.min_nonzero, b.min_nonzero);
    return both;
}

// Counts one element: its source, the code that was stored, and whether what was cast (the source after its scale)
// rounds_beyond(). `Counts` is Stats, or has its members in smaller types.
template <Format F, class Counts> OFP8_FUNCTION void count_element(Counts &stats, float source, u8 code, bool beyond)
{
    constexpr Spec s = spec(F);
    const u32 abs = bits_of(source) & F32_ABS;
    const bool is_zero = abs == 0;
    const bool is_nan = abs > F32_INFINITY;
    const bool is_infinite = abs == F32_INFINITY;
    const u32 magnitude = s.negative_zero ? code & static_cast<u32>(s.magnitude_mask) : code;
    stats.count += 1;
    stats.zero += is_zero ? 1 : 0;
    stats.nan += is_nan ? 1 : 0;
    stats.infinite += is_infinite ? 1 : 0;
    stats.saturated += !is_infinite && beyond ? 1 : 0;
    stats.underflowed += s.zero && magnitude == 0 && !is_zero && !is_nan ? 1 : 0;
    stats.amax = merge_amax(stats.amax, amax_of(source));
    stats.min_nonzero = is_zero || is_nan ? stats.min_nonzero : detail::smaller(stats.min_nonzero, abs);
}

// ---------------------------------------------------------------------------------------------------------------------
// Scales
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// The smaller and the larger of two numbers, neither NaN nor negative: in the order of their bits, which -ftz leaves
// alone.
OFP8_FUNCTION float least(float a, float b) { return float_of(smaller(bits_of(a), bits_of(b))); }
OFP8_FUNCTION float most(float a, float b) { return float_of(larger(bits_of(a), bits_of(b))); }

// 2^power, for a power from -127 (a subnormal) to 127.
OFP8_FUNCTION float power_of_two(i32 power)
{
    return float_of(power < -126 ? F32_IMPLICIT >> 1
                                 : static_cast<u32>(power + OFP8_F32_BIAS) << OFP8_F32_MANTISSA_BITS);
}

} // namespace detail

// How scales are computed and stored. The numbers of this and the next three are those of ofp8.h.
enum class Scaling : u32 {
    F32 = 0,        // f32, by a Convention
    PowerOfTwo = 1, // f32, but a power of two, applied exactly
    E8M0 = 2,       // an E8M0 byte, applied exactly
    TwoLevel = 3,   // a byte under one f32 for the tensor: not by a Recipe, see nvfp4_scale
};

// How an f32 scale is computed and an element divided by it, each as a system in wide use does, to the bit.
enum class Convention : u32 {
    TransformerEngine = 0, // q = max / amax, elements x * q, stored 1 / q
    DeepSeek = 1,          // s = amax / max, elements x / s, stored s
    DeepGemm = 2,          // s = amax / max, elements x * (1 / s), stored s
};

// Which power of two a scale is, for a block of amax a and elements of largest value m: integer rules on exponents and
// significands, exact for subnormal amax too.
enum class ExponentRule : u32 {
    RoundUp = 0,    // ceil(log2(a / m)): the smallest that keeps the block within the range (RCEIL)
    Floor = 1,      // floor(log2 a) - emax (OCP MX v1.0, 6.3)
    Ceil = 2,       // ceil(log2 a) - emax
    Even = 3,       // as Floor, of a rounded to the element's mantissa width, ties up
    Nearest = 4,    // the nearest to a / m, half-way up
    LeastError = 5, // RoundUp's or the one below it, by the elements of the block; from an amax alone RoundUp's
};

// What becomes of a block that holds an infinity or a NaN.
enum class Special : u32 {
    Poison = 0, // scale NaN, every element NaN
    Ignore = 1, // the scale comes from the finite elements
    Clamp = 2,  // the largest scale
};

// How the scale of a block follows from its amax; the element format is a template argument beside it.
struct Recipe {
    Scaling scaling = Scaling::F32;
    Convention convention = Convention::TransformerEngine; // of f32 scales
    ExponentRule rule = ExponentRule::RoundUp;             // of powers of two
    Special special = Special::Poison;
    i32 margin = 0;        // scales are 2^margin times larger; -64 to 64
    u32 epsilon_bits = 0;  // lower bound on amax, as f32 bits
    u32 bound_bits = F32_INFINITY; // upper bound on amax, as f32 bits
    Cast cast = {};
};

// What is done to an element before it is cast. Factors are positive, or NaN in a poisoned block.
struct Factor {
    enum Operation : u32 { Multiply, Divide, Shift } operation;
    float by; // of Shift: 2^k, k from -127 to 127
};

// The scale of one block.
struct BlockScale {
    float dequantize; // what a decoded element is multiplied by
    Factor factor;    // how an element is divided by it
};

// An element after its factor. The sign never changes, not even that of a NaN that the operation makes. A power of two
// is exact unless the product leaves the normal range of f32, far outside that of any format that is scaled; there only
// two things matter to the cast: what is not zero stays so, and what is finite stays so.
OFP8_FUNCTION float apply(Factor factor, float value)
{
    const u32 sign = bits_of(value) & F32_SIGN;
    const u32 abs = bits_of(value) & F32_ABS;
    if (factor.operation == Factor::Divide) {
        return float_of((bits_of(detail::divide(float_of(abs), factor.by)) & F32_ABS) | sign);
    }
    u32 product = bits_of(detail::multiply(float_of(abs), factor.by)) & F32_ABS;
    if (factor.operation == Factor::Shift) {
        product = product == 0 && abs != 0 ? 1 : product;
        product = product == F32_INFINITY && abs < F32_INFINITY ? F32_MAX : product;
    }
    return float_of(product | sign);
}

// The value of an E8M0 code: a power of two, or NaN for 0xFF.
OFP8_FUNCTION float e8m0_value(u8 code) { return decode<Format::E8M0>(code); }

// The power of two with this E8M0 code (not NaN), applied as an exact shift.
OFP8_FUNCTION BlockScale scale_from_e8m0(u8 code)
{
    const i32 power = static_cast<i32>(code) - OFP8_E8M0_BIAS;
    return BlockScale{e8m0_value(code), Factor{Factor::Shift, detail::power_of_two(-power)}};
}

// The E8M0 byte of a scale: exact for a power of two, 0xFF for the scale of a poisoned block.
OFP8_FUNCTION u8 scale_to_e8m0(float dequantize) { return encode<Format::E8M0>(dequantize); }

namespace detail {

// Mantissa bits of the top binade: for fixed point, what lies below the top bit.
OFP8_FUNCTION u32 top_mantissa_bits(const Spec &s) { return s.exponent_bits == 0 ? s.mantissa_bits - 1 : s.mantissa_bits; }

} // namespace detail

// The E8M0 code for a finite amax by an integer rule; zero gives the smallest.
template <Format F> OFP8_FUNCTION u8 exponent_code(ExponentRule rule, u32 amax, i32 margin = 0)
{
    constexpr Spec s = spec(F);
    constexpr u32 largest = max_f32_bits(F) & (F32_IMPLICIT - 1);
    constexpr u32 half_ulp = F32_IMPLICIT >> (detail::top_mantissa_bits(s) + 1);
    if (amax == 0) {
        return 0;
    }
    i32 exponent = static_cast<i32>(amax >> OFP8_F32_MANTISSA_BITS) - OFP8_F32_BIAS;
    u32 fraction = amax & (F32_IMPLICIT - 1);
    if (exponent == -OFP8_F32_BIAS) { // subnormal: shift the leading bit to the place of the implicit one
        const u32 shift = detail::leading_zeros(fraction) - (63 - OFP8_F32_MANTISSA_BITS);
        exponent = 1 - OFP8_F32_BIAS - static_cast<i32>(shift);
        fraction = (fraction << shift) & (F32_IMPLICIT - 1);
    }
    i32 carry = fraction > largest ? 1 : 0;
    switch (rule) {
    case ExponentRule::RoundUp:
    case ExponentRule::LeastError:
        break;
    case ExponentRule::Floor:
        carry = 0;
        break;
    case ExponentRule::Ceil:
        carry = fraction != 0 ? 1 : 0;
        break;
    case ExponentRule::Even:
        carry = fraction + half_ulp >= F32_IMPLICIT ? 1 : 0;
        break;
    case ExponentRule::Nearest: {
        // The quotient of the significands lies in (1/2, 2): below 3/4, from 3/2 on, or between.
        const u32 a = F32_IMPLICIT + fraction;
        const u32 m = F32_IMPLICIT + largest;
        carry = (2 * a >= 3 * m ? 1 : 0) - (4 * a < 3 * m ? 1 : 0);
        break;
    }
    }
    const i32 code = exponent - s.max_exponent + carry + margin + OFP8_E8M0_BIAS;
    constexpr i32 max_code = OFP8_E8M0_MAX_MAGNITUDE;
    return static_cast<u8>(code < 0 ? 0 : code > max_code ? max_code : code);
}

namespace detail {

// The scale that is stored as `scale`, brought into the range in which its use stays finite.
OFP8_FUNCTION BlockScale divide_by(Convention convention, float scale)
{
    scale = least(scale, float_of(F32_MAX));
    if (convention == Convention::TransformerEngine) {
        const float quantize = least(divide(1.0f, scale), float_of(F32_MAX));
        return BlockScale{scale, Factor{Factor::Multiply, quantize}};
    }
    if (convention == Convention::DeepSeek) {
        const float dequantize = most(scale, float_of(1));
        return BlockScale{dequantize, Factor{Factor::Divide, dequantize}};
    }
    const float dequantize = most(scale, float_of(F32_IMPLICIT));
    return BlockScale{dequantize, Factor{Factor::Multiply, divide(1.0f, dequantize)}};
}

// The f32 scale for a finite amax.
template <Format F> OFP8_FUNCTION BlockScale f32_scale(const Recipe &recipe, u32 amax)
{
    if (amax == 0) {
        return BlockScale{1.0f, Factor{Factor::Multiply, 1.0f}};
    }
    // Exact: the margin is small against the range of f32.
    const float max = multiply(float_of(max_f32_bits(F)), power_of_two(-recipe.margin));
    if (recipe.convention == Convention::TransformerEngine) {
        // A large margin takes the quotient down to where its reciprocal overflows, and on to zero, which would lose
        // the block: the largest scale has a reciprocal.
        const float smallest = divide(1.0f, float_of(F32_MAX));
        const float quantize = most(least(divide(max, float_of(amax)), float_of(F32_MAX)), smallest);
        const float dequantize = least(divide(1.0f, quantize), float_of(F32_MAX));
        return BlockScale{dequantize, Factor{Factor::Multiply, quantize}};
    }
    return divide_by(recipe.convention, divide(float_of(amax), max));
}

} // namespace detail

// The scale of a block with this amax. An amax that is infinite or NaN gives what recipe.special says; under Ignore,
// where the finite amax is not known here, it poisons.
template <Format F> OFP8_FUNCTION BlockScale scale_from_amax(const Recipe &recipe, u32 amax)
{
    if (!amax_is_finite(amax)) {
        if (recipe.special != Special::Clamp) {
            return BlockScale{float_of(F32_NAN), Factor{Factor::Multiply, float_of(F32_NAN)}};
        }
        return recipe.scaling == Scaling::F32 ? detail::divide_by(recipe.convention, float_of(F32_MAX))
                                              : scale_from_e8m0(OFP8_E8M0_MAX_MAGNITUDE);
    }
    amax = detail::smaller(detail::larger(amax, recipe.epsilon_bits), recipe.bound_bits);
    if (recipe.scaling == Scaling::F32) {
        return detail::f32_scale<F>(recipe, amax);
    }
    if (recipe.scaling == Scaling::PowerOfTwo && amax == 0) {
        return scale_from_e8m0(OFP8_E8M0_BIAS);
    }
    return scale_from_e8m0(exponent_code<F>(recipe.rule, amax, recipe.margin));
}

OFP8_FUNCTION bool is_poisoned(const BlockScale &scale) { return (bits_of(scale.dequantize) & F32_ABS) > F32_INFINITY; }

// Encodes an element of a block: NaN throughout a poisoned one.
template <Format F>
OFP8_FUNCTION u8 quantize(const BlockScale &scale, float value, Cast cast = {}, u32 word = 0)
{
    return encode<F>(is_poisoned(scale) ? float_of(F32_NAN) : apply(scale.factor, value), cast, word);
}

// A code times its scale: one f32 product. A NaN is quiet and has the sign of the code.
template <Format F> OFP8_FUNCTION float dequantize(float scale, u8 code)
{
    const u32 value = bits_of(decode<F>(code));
    const u32 product = bits_of(detail::multiply(float_of(value & F32_ABS), scale)) & F32_ABS;
    return float_of((product > F32_INFINITY ? F32_NAN : product) | (value & F32_SIGN));
}

// ---------------------------------------------------------------------------------------------------------------------
// Delayed scaling: the amax of this step from those of the last ones
// ---------------------------------------------------------------------------------------------------------------------

// What an update does with an amax that is infinite or NaN; each is counted, none enters the history. The numbers are
// those of ofp8.h.
enum class NonFinite : u32 {
    Hold = 0,   // the amax in use stays
    Clamp = 1,  // until the next finite one it is the largest f32
    Poison = 2, // until the next finite one it is NaN
};

// The words of one tensor in the state of ofp8_delayed_init: those of all tensors lie side by side, `stride` apart from
// entry to entry.
struct DelayedWords {
    u32 *history; // entry 0 the staging slot, then the oldest to the newest
    u32 *in_use;
    u32 *entries;
    u32 *not_finite;
    u64 length; // of the history
    u64 stride;
};

// Takes what was staged into the history of one tensor and chooses the amax in use anew: the largest of the history, or
// the last one (`most_recent`). A tensor with nothing staged is left alone. TransformerEngine's rules, on integers; see
// ofp8_delayed_update for where they differ.
OFP8_FUNCTION void update_delayed(const DelayedWords &of, bool most_recent, NonFinite policy)
{
    const u32 staged = of.history[0];
    of.history[0] = 0;
    if (staged == 0) {
        return;
    }
    if (!amax_is_finite(staged)) {
        *of.in_use = policy == NonFinite::Hold ? *of.in_use : policy == NonFinite::Clamp ? F32_MAX : F32_NAN;
        *of.not_finite += *of.not_finite == 0xFFFFFFFFu ? 0 : 1;
        return;
    }
    *of.entries += *of.entries == 0xFFFFFFFFu ? 0 : 1;
    u32 amax = staged;
    for (u64 i = 1; i < of.length; ++i) {
        const u32 entry = of.history[i * of.stride];
        amax = most_recent || !amax_is_finite(entry) ? amax : merge_amax(amax, entry);
        of.history[i * of.stride] = i + 1 < of.length ? of.history[(i + 1) * of.stride] : staged;
    }
    *of.in_use = amax;
}

// ---------------------------------------------------------------------------------------------------------------------
// NVFP4: E2M1 in blocks of 16 elements, a UE4M3 scale a block under one f32 a tensor (as TransformerEngine has it)
// ---------------------------------------------------------------------------------------------------------------------

// What block scales are multiplied by before they are stored: max(UE4M3) * max(E2M1) / amax of the tensor, at most the
// largest f32; 1 for a tensor of zeros.
OFP8_FUNCTION float nvfp4_tensor_scale(u32 tensor_amax)
{
    if (!amax_is_finite(tensor_amax)) {
        return float_of(F32_NAN);
    }
    const float largest = detail::multiply(float_of(OFP8_UE4M3_MAX_F32_BITS), float_of(OFP8_E2M1_MAX_F32_BITS));
    const float scale = tensor_amax == 0 ? 1.0f : detail::divide(largest, float_of(tensor_amax));
    const u32 bits = detail::smaller(bits_of(scale), F32_MAX);
    return bits == 0 ? 1.0f : float_of(bits);
}

// The scale byte of a block: fl(amax * fl(tensor scale * fl(1/6))) as UE4M3; its NaN for a block or tensor that is not
// finite.
OFP8_FUNCTION u8 nvfp4_block_code(float tensor_scale, u32 block_amax)
{
    if (!amax_is_finite(block_amax) || (bits_of(tensor_scale) & F32_ABS) > F32_INFINITY) {
        return OFP8_UE4M3_NAN_CODE;
    }
    const float sixth = detail::divide(1.0f, float_of(OFP8_E2M1_MAX_F32_BITS));
    const float scale = detail::multiply(float_of(block_amax), detail::multiply(tensor_scale, sixth));
    return encode<Format::UE4M3>(detail::least(scale, float_of(F32_MAX)));
}

// What elements of a block are multiplied by: 1 / (block scale * fl(1 / tensor scale)), at most the largest f32. The
// dequantizing multiplier is that product, block scale * fl(1 / tensor scale).
OFP8_FUNCTION BlockScale nvfp4_scale(float tensor_scale, u8 block_code)
{
    const float block = decode<Format::UE4M3>(block_code);
    const float inverse = detail::divide(1.0f, tensor_scale);
    const float dequantize = detail::multiply(block, inverse);
    if ((bits_of(dequantize) & F32_ABS) > F32_INFINITY) {
        return BlockScale{float_of(F32_NAN), Factor{Factor::Multiply, float_of(F32_NAN)}};
    }
    const float quantize = detail::least(detail::divide(1.0f, dequantize), float_of(F32_MAX));
    return BlockScale{dequantize, Factor{Factor::Multiply, quantize}};
}

// ---------------------------------------------------------------------------------------------------------------------
// Where scales lie: index, inverse and size of each layout. Places that no scale has are padding, to be filled with
// zero.
// ---------------------------------------------------------------------------------------------------------------------

// A place in a matrix of scales. For scales of columns (MN-quantized) the outer index is the column.
struct Place {
    u64 row; // the outer index: a row of A or B, or a block of rows
    u64 col; // the block along K
};

OFP8_FUNCTION bool operator==(Place a, Place b) { return a.row == b.row && a.col == b.col; }

OFP8_FUNCTION u64 divide_up(u64 a, u64 b) { return a / b + (a % b != 0 ? 1 : 0); }
OFP8_FUNCTION u64 round_up(u64 a, u64 b) { return divide_up(a, b) * b; }

// Tiles of 128 rows x 4 blocks in 512 bytes, tiles along K first: what Blackwell's block-scaled tensor cores read
// (cuBLAS VEC32_UE8M0 and VEC16_UE4M3, CUTLASS Sm1xxBlockScaledConfig). In bytes; keep the base 16-byte aligned.
struct Tile128x4 {
    u64 rows; // scales down: M or N
    u64 cols; // scales along K: ceil(K / 32) or ceil(K / 16)

    OFP8_FUNCTION u64 tiles_across() const { return divide_up(cols, 4); }
    OFP8_FUNCTION u64 size() const { return round_up(rows, 128) * round_up(cols, 4); }
    OFP8_FUNCTION u64 offset(Place at) const
    {
        const u64 tile = at.row / 128 * tiles_across() + at.col / 4;
        return tile * 512 + at.row % 32 * 16 + at.row % 128 / 32 * 4 + at.col % 4;
    }
    OFP8_FUNCTION Place place(u64 offset) const
    {
        const u64 tile = offset / 512;
        const u64 inside = offset % 512;
        return Place{tile / tiles_across() * 128 + inside / 16 + inside / 4 % 4 * 32,
                     tile % tiles_across() * 4 + inside % 4};
    }
};

// Row-major without gaps: what ofp8_quantize writes.
struct RowMajor {
    u64 rows;
    u64 cols;

    OFP8_FUNCTION u64 size() const { return rows * cols; }
    OFP8_FUNCTION u64 offset(Place at) const { return at.row * cols + at.col; }
    OFP8_FUNCTION Place place(u64 offset) const { return Place{offset / cols, offset % cols}; }
};

// Row-major with the row padded to 4: f32 scales of 128x128 blocks (cuBLAS BLK128x128_32F).
struct RowMajorPadded {
    u64 rows;
    u64 cols;

    OFP8_FUNCTION u64 stride() const { return round_up(cols, 4); }
    OFP8_FUNCTION u64 size() const { return rows * stride(); }
    OFP8_FUNCTION u64 offset(Place at) const { return at.row * stride() + at.col; }
    OFP8_FUNCTION Place place(u64 offset) const { return Place{offset / stride(), offset % stride()}; }
};

// MN-major: the scales of one block along K lie together, padded to 4 (cuBLAS VEC128_32F, DeepGEMM on sm_90). In f32.
struct MnMajorPadded {
    u64 rows;
    u64 cols;

    OFP8_FUNCTION u64 stride() const { return round_up(rows, 4); }
    OFP8_FUNCTION u64 size() const { return cols * stride(); }
    OFP8_FUNCTION u64 offset(Place at) const { return at.col * stride() + at.row; }
    OFP8_FUNCTION Place place(u64 offset) const { return Place{offset % stride(), offset / stride()}; }
};

// Four consecutive blocks along K in one little-endian 32-bit word, words MN-major and padded to 4 (DeepGEMM on sm_100).
// In bytes.
struct PackedWords {
    u64 rows;
    u64 cols;

    OFP8_FUNCTION u64 stride() const { return round_up(rows, 4); } // in words
    OFP8_FUNCTION u64 size() const { return divide_up(cols, 4) * stride() * 4; }
    OFP8_FUNCTION u64 offset(Place at) const { return (at.col / 4 * stride() + at.row) * 4 + at.col % 4; }
    OFP8_FUNCTION Place place(u64 offset) const
    {
        const u64 word = offset / 4;
        return Place{word % stride(), word / stride() * 4 + offset % 4};
    }
};

// AMD's pre-swizzle for gfx950: rows padded to 32, blocks to 8. In bytes.
struct Gfx950 {
    u64 rows;
    u64 cols;

    OFP8_FUNCTION u64 stride() const { return round_up(cols, 8); }
    OFP8_FUNCTION u64 size() const { return round_up(rows, 32) * stride(); }
    OFP8_FUNCTION u64 offset(Place at) const
    {
        return at.row / 32 * 32 * stride() + at.col / 8 * 256 + at.col % 4 * 64 + at.row % 16 * 4 + at.col / 4 % 2 * 2 +
               at.row / 16 % 2;
    }
    OFP8_FUNCTION Place place(u64 offset) const
    {
        const u64 band = offset / (32 * stride());
        const u64 inside = offset % (32 * stride());
        return Place{band * 32 + inside / 4 % 16 + inside % 2 * 16,
                     inside / 256 * 8 + inside / 64 % 4 + inside / 2 % 2 * 4};
    }
};

// An order chosen at run time. The numbers are those of ofp8.h.
enum class ScaleOrder : u32 {
    RowMajor = 0,
    RowMajorPadded = 1,
    MnMajorPadded = 2,
    Tile128x4 = 3,
    PackedWords = 4,
    Gfx950 = 5,
};

// The offset of a place among rows x cols scales, padding included.
OFP8_FUNCTION u64 layout_offset(ScaleOrder order, u64 rows, u64 cols, Place at)
{
    switch (order) {
    case ScaleOrder::RowMajor:
        break;
    case ScaleOrder::RowMajorPadded:
        return RowMajorPadded{rows, cols}.offset(at);
    case ScaleOrder::MnMajorPadded:
        return MnMajorPadded{rows, cols}.offset(at);
    case ScaleOrder::Tile128x4:
        return Tile128x4{rows, cols}.offset(at);
    case ScaleOrder::PackedWords:
        return PackedWords{rows, cols}.offset(at);
    case ScaleOrder::Gfx950:
        return Gfx950{rows, cols}.offset(at);
    }
    return RowMajor{rows, cols}.offset(at);
}

// How far an order reaches, padding included: its size is the product of rows and cols of the result.
OFP8_FUNCTION Place layout_extent(ScaleOrder order, u64 rows, u64 cols)
{
    switch (order) {
    case ScaleOrder::RowMajor:
        break;
    case ScaleOrder::RowMajorPadded:
        return Place{rows, round_up(cols, 4)};
    case ScaleOrder::MnMajorPadded:
        return Place{round_up(rows, 4), cols};
    case ScaleOrder::Tile128x4:
        return Place{round_up(rows, 128), round_up(cols, 4)};
    case ScaleOrder::PackedWords:
        return Place{round_up(rows, 4), round_up(cols, 4)};
    case ScaleOrder::Gfx950:
        return Place{round_up(rows, 32), round_up(cols, 8)};
    }
    return Place{rows, cols};
}

// ---------------------------------------------------------------------------------------------------------------------
// Packing of codes narrower than a byte: little-endian strings of bits, the first code in the low bits
// ---------------------------------------------------------------------------------------------------------------------

// Two 4-bit codes in a byte, the first in the low half.
OFP8_FUNCTION u8 pack_fp4(u8 first, u8 second) { return static_cast<u8>((first & 0xF) | (second & 0xF) << 4); }
OFP8_FUNCTION u8 unpack_fp4(u8 packed, u32 index) { return static_cast<u8>(packed >> (4 * index) & 0xF); }

// Four 6-bit codes, one a byte of `codes`, in the low 24 bits of the result.
OFP8_FUNCTION u32 pack_fp6(u32 codes)
{
    return (codes & 0x3F) | (codes >> 2 & 0xFC0) | (codes >> 4 & 0x3F000) | (codes >> 6 & 0xFC0000);
}
OFP8_FUNCTION u32 unpack_fp6(u32 packed)
{
    return (packed & 0x3F) | (packed << 2 & 0x3F00) | (packed << 4 & 0x3F0000) | (packed << 6 & 0x3F000000);
}

// ---------------------------------------------------------------------------------------------------------------------
// Two-level accumulation: a chain of products in the tensor core, promoted to an f32 sum every so many K
// ---------------------------------------------------------------------------------------------------------------------

// main + partial, in f32: one rounding, never contracted.
OFP8_FUNCTION float promote(float main, float partial) { return detail::add(main, partial); }

// main + (scale_a * scale_b) * partial: the products in that order, each rounded to f32, then the sum.
OFP8_FUNCTION float promote_scaled(float main, float partial, float scale_a, float scale_b)
{
    return detail::add(main, detail::multiply(detail::multiply(scale_a, scale_b), partial));
}

} // namespace ofp8

#endif // OFP8_ARITH_HPP
