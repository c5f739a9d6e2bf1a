// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The types of ofp8.hpp: in constant expressions, every code of every format against the C ABI, std::numeric_limits
// against a search through all codes, streams.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "../c/check.h"
#include "ofp8.hpp"

// A 16-bit type of somebody else's.
namespace theirs {
struct half {
    std::uint16_t x;
};
} // namespace theirs
template <> inline constexpr ofp8::FloatType ofp8::wide_type<theirs::half> = ofp8::FloatType::F16;

namespace {

using ofp8::Cast;
using ofp8::Format;
using ofp8::NanPolicy;
using ofp8::Rounding;
using ofp8::Saturation;

constexpr Cast NONE = {Rounding::NearestEven, Saturation::None, NanPolicy::KeepSign, 0};
constexpr Cast UP = {Rounding::TowardPositive, Saturation::Finite, NanPolicy::Canonical, 0};
constexpr Cast RANDOM = {Rounding::StochasticA, Saturation::Propagate, NanPolicy::KeepSign, 12};

// ---------------------------------------------------------------------------------------------------------------------
// In constant expressions
// ---------------------------------------------------------------------------------------------------------------------

static_assert(ofp8::E4M3(0.3f) == 0.3125f);
static_assert(ofp8::E4M3(0.3f).to_bits() == 0x2A);
static_assert(ofp8::E4M3(-431.99999999999994).to_bits() == 0xFD, "a double is rounded once");
static_assert(ofp8::E4M3(1e9f) == std::numeric_limits<ofp8::E4M3>::max());
static_assert(ofp8::E5M2(1e9f, NONE).is_infinite());
static_assert(ofp8::E4M3(1.01f, UP) == 1.125f);
static_assert(ofp8::E4M3(1.0625f, {Rounding::StochasticA, {}, {}, 1}, 1) == 1.125f, "the random bit takes a tie up");
static_assert(ofp8::E4M3(7) == 7.0f && ofp8::E4M3(-7L) == -7.0f && ofp8::E4M3(true) == 1.0f);
static_assert(ofp8::E4M3(std::uint8_t{200}) == 192.0f && ofp8::E4M3('\x08') == 8.0f);
static_assert(ofp8::E8M0(~0ull).to_bits() == 127 + 64, "2^64 - 1 rounds to 2^64");
static_assert(ofp8::E8M0(-(std::int64_t{1} << 53) - 1, UP).to_bits() == 127 + 54, "2^53 + 1, which no double is");
static_assert(ofp8::E5M2(ofp8::E4M3(1.875f)) == 2.0f, "of two values the even one");
static_assert(ofp8::E4M3(ofp8::F16{0x3C00}) == 1.0f && ofp8::E4M3(ofp8::BF16{0x3F80}) == 1.0f);
static_assert(ofp8::E4M3(theirs::half{0x3C00}) == 1.0f);
static_assert(static_cast<ofp8::F16>(ofp8::E4M3(1.0f)).bits == 0x3C00);
static_assert(static_cast<ofp8::BF16>(ofp8::E4M3(1.0f)).bits == 0x3F80);
static_assert(ofp8::E2M1::from_bits(0xF7).to_bits() == 0x07, "high bits are ignored");
static_assert(ofp8::E4M3{} == 0 && ofp8::E8M0{} == 0x1p-127f, "code 0");

static_assert(ofp8::E4M3(-0.0f) == ofp8::E4M3(0.0f) && ofp8::E4M3(1.0f) < ofp8::E4M3(1.5f));
static_assert(ofp8::E4M3(1.0f) != ofp8::E5M2(1.25f) && ofp8::E4M3(1.0f) + ofp8::E5M2(1.25f) == 2.25f);
static_assert(ofp8::E4M3(1.5f) == 1.5 && ofp8::E4M3(2.0f) == 2 && -ofp8::E4M3(2.0f) == -2.0f);
static_assert(ofp8::E4M3::from_bits(0x7F).is_nan() && !(ofp8::E4M3::from_bits(0x7F) == ofp8::E4M3::from_bits(0x7F)));

static_assert(std::is_convertible_v<ofp8::E4M3, float> && !std::is_convertible_v<float, ofp8::E4M3>);
static_assert(!std::is_convertible_v<ofp8::E4M3, ofp8::E5M2> && !std::is_constructible_v<ofp8::E4M3, long double>);
static_assert(!std::is_constructible_v<ofp8::E4M3, const char *>);
static_assert(std::is_same_v<ofp8::E4M3FNUZ, ofp8::Number<Format::E4M3FNUZ>> && ofp8::E3M4::format == Format::E3M4);

using E4M3Limits = std::numeric_limits<ofp8::E4M3>;
static_assert(E4M3Limits::max() == 448 && E4M3Limits::lowest() == -448 && E4M3Limits::min() == 0x1p-6f);
static_assert(E4M3Limits::denorm_min() == 0x1p-9f && E4M3Limits::epsilon() == 0.125f && E4M3Limits::digits == 4);
static_assert(E4M3Limits::quiet_NaN().is_nan() && !E4M3Limits::has_infinity && E4M3Limits::max_exponent == 9);
static_assert(std::numeric_limits<ofp8::MXINT8>::lowest() == -2.0f && std::numeric_limits<ofp8::MXINT8>::digits == 7);
static_assert(std::numeric_limits<ofp8::E5M2>::infinity().is_infinite());
static_assert(std::numeric_limits<const ofp8::E5M2>::max() == 57344);

// ---------------------------------------------------------------------------------------------------------------------
// Every format against the C ABI
// ---------------------------------------------------------------------------------------------------------------------

std::uint32_t bits(float value)
{
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

float c_decode(Format format, unsigned code)
{
    float value = 0;
    CHECK(ofp8_decode_f32(static_cast<std::uint32_t>(format), static_cast<std::uint8_t>(code), &value) == OFP8_OK);
    return value;
}

ofp8_cast c_cast(Cast cast)
{
    return {static_cast<std::uint32_t>(cast.rounding), static_cast<std::uint32_t>(cast.saturation),
            static_cast<std::uint32_t>(cast.nan), cast.random_bits};
}

template <Format F> void decoding()
{
    const auto format = static_cast<std::uint32_t>(F);
    for (unsigned code = 0; code < 256; ++code) {
        const auto byte = static_cast<std::uint8_t>(code);
        const auto number = ofp8::Number<F>::from_bits(byte);
        const float value = c_decode(F, code);
        std::uint16_t f16 = 0, bf16 = 0;
        CHECK(ofp8_decode_f16(format, byte, &f16) == OFP8_OK && ofp8_decode_bf16(format, byte, &bf16) == OFP8_OK);
        CHECK(bits(number) == bits(value));
        CHECK(static_cast<ofp8::F16>(number).bits == f16 && static_cast<ofp8::BF16>(number).bits == bf16);
        CHECK(number.is_nan() == std::isnan(value) && std::isnan(number) == std::isnan(value));
        CHECK(number.is_infinite() == std::isinf(value) && number.is_finite() == std::isfinite(value));
        CHECK(number.to_bits() == (code & ((1u << ofp8::spec(F).bits) - 1)));
        // As it lies in a buffer that the library wrote, or somebody else.
        ofp8::Number<F> stored;
        std::memcpy(&stored, &byte, 1);
        CHECK(bits(stored) == bits(value) && stored.to_bits() == number.to_bits());
    }
}

template <Format F> void encoding()
{
    const auto format = static_cast<std::uint32_t>(F);
    for (const Cast cast : {Cast{}, NONE, UP, RANDOM}) {
        const ofp8_cast c = c_cast(cast);
        std::uint32_t word = 12345;
        for (std::uint32_t i = 0; i < 65536; i += 7) {
            word = word * 1664525u + 1013904223u;
            const auto half = static_cast<std::uint16_t>(i);
            const float f32 = ofp8::float_of(word);
            const double f64 = std::ldexp(static_cast<double>(word) + 0.5, static_cast<int>(i % 160) - 110);
            std::uint8_t code[4] = {};
            CHECK(ofp8_encode_f16(format, &c, half, word, &code[0]) == OFP8_OK);
            CHECK(ofp8_encode_bf16(format, &c, half, word, &code[1]) == OFP8_OK);
            CHECK(ofp8_encode_f32(format, &c, f32, word, &code[2]) == OFP8_OK);
            CHECK(ofp8_encode_f64(format, &c, f64, word, &code[3]) == OFP8_OK);
            CHECK(ofp8::Number<F>(ofp8::F16{half}, cast, word).to_bits() == code[0]);
            CHECK(ofp8::Number<F>(theirs::half{half}, cast, word).to_bits() == code[0]);
            CHECK(ofp8::Number<F>(ofp8::BF16{half}, cast, word).to_bits() == code[1]);
            CHECK(ofp8::Number<F>(f32, cast, word).to_bits() == code[2]);
            CHECK(ofp8::Number<F>(f64, cast, word).to_bits() == code[3]);
        }
        // A double holds these integers.
        for (std::int32_t integer = -600; integer <= 600; ++integer) {
            std::uint8_t code = 0;
            CHECK(ofp8_encode_f64(format, &c, integer * 97.0, word, &code) == OFP8_OK);
            CHECK(ofp8::Number<F>(integer * 97, cast, word).to_bits() == code);
            CHECK(ofp8::Number<F>(static_cast<long long>(integer) * 97, cast, word).to_bits() == code);
        }
    }
}

template <Format F, Format G> void conversion()
{
    for (unsigned code = 0; code < 256; ++code) {
        std::uint8_t expected = 0;
        const ofp8_cast c = c_cast(NONE);
        CHECK(ofp8_encode_f32(static_cast<std::uint32_t>(F), &c, c_decode(G, code), 0, &expected) == OFP8_OK);
        const auto other = ofp8::Number<G>::from_bits(static_cast<std::uint8_t>(code));
        if constexpr (F == G) {
            CHECK(ofp8::Number<F>(other).to_bits() == other.to_bits());
        } else {
            CHECK(ofp8::Number<F>(other, NONE).to_bits() == expected);
        }
    }
}

template <Format F> void limits()
{
    using Number = ofp8::Number<F>;
    using Limits = std::numeric_limits<Number>;
    ofp8_format_info info;
    CHECK(ofp8_get_format_info(static_cast<std::uint32_t>(F), &info) == OFP8_OK);
    std::vector<float> values;
    bool has_nan = false, has_infinity = false;
    for (unsigned code = 0; code < (1u << info.bits); ++code) {
        const float value = c_decode(F, code);
        has_nan = has_nan || std::isnan(value);
        has_infinity = has_infinity || std::isinf(value);
        if (std::isfinite(value)) {
            values.push_back(value);
        }
    }
    std::sort(values.begin(), values.end());
    const auto above = [&](float x) { return *std::upper_bound(values.begin(), values.end(), x); };
    CHECK(Limits::is_specialized && Limits::is_bounded && !Limits::is_integer && Limits::radix == 2);
    CHECK(Limits::max() == values.back() && Limits::lowest() == values.front());
    CHECK(Limits::is_signed == (values.front() < 0));
    CHECK(Limits::denorm_min() == above(0) && Limits::min() == info.min_normal);
    CHECK(Limits::epsilon() == above(1) - 1 && Limits::round_error() == 0.5f);
    CHECK(Limits::has_infinity == has_infinity && Limits::infinity().is_infinite() == has_infinity);
    CHECK(Limits::has_quiet_NaN == has_nan && Limits::quiet_NaN().is_nan() == has_nan);
    CHECK(!has_nan || Limits::quiet_NaN().to_bits() == info.nan_code);
    CHECK(!has_infinity || Limits::infinity() > values.back());

    // The definitions of C's float.h.
    const double max = static_cast<double>(values.back()), min = static_cast<double>(info.min_normal);
    CHECK(std::ldexp(1.0f, 1 - Limits::digits) == above(1) - 1);
    CHECK(std::ldexp(1.0, Limits::max_exponent - 1) <= max && std::ldexp(1.0, Limits::max_exponent) > max);
    CHECK(std::ldexp(1.0, Limits::min_exponent - 1) == min);
    CHECK(std::pow(10.0, Limits::max_exponent10) <= max && std::pow(10.0, Limits::max_exponent10 + 1) > max);
    CHECK(std::pow(10.0, Limits::min_exponent10) >= min && std::pow(10.0, Limits::min_exponent10 - 1) < min);
    CHECK(Limits::digits10 == static_cast<int>(std::floor((Limits::digits - 1) * std::log10(2.0))));
    CHECK(Limits::max_digits10 == static_cast<int>(std::ceil(Limits::digits * std::log10(2.0) + 1)));
}

template <Format F> void all_of()
{
    decoding<F>();
    encoding<F>();
    limits<F>();
    conversion<Format::E4M3, F>();
    conversion<Format::E5M2, F>();
    conversion<Format::E8M0, F>();
    conversion<Format::E2M1, F>();
    conversion<Format::BINARY8P3UE, F>();
}

// ---------------------------------------------------------------------------------------------------------------------
// Beside the standard library
// ---------------------------------------------------------------------------------------------------------------------

template <class T> std::string written(const T &value)
{
    std::ostringstream out;
    out << value;
    return out.str();
}

void streams()
{
    CHECK(written(ofp8::E4M3(0.3f)) == "0.3125" && written(ofp8::E4M3(-1e9f)) == "-448");
    CHECK(written(ofp8::E4M3::from_bits(0x7F)) == "nan");
    CHECK(written(Format::E4M3FNUZ) == "E4M3FNUZ" && written(Format::E2M1) == "E2M1");
    CHECK(written(Format{}) == "unknown");
    ofp8::Stats stats;
    stats.count = 12;
    stats.saturated = 3;
    stats.amax = ofp8::amax_of(-500.0f);
    CHECK(written(stats) == "12 elements, amax 500, 3 saturated");
    std::wostringstream wide;
    wide << ofp8::E4M3(1.5f) << L' ' << Format::E4M3;
    CHECK(wide.str() == L"1.5 E4M3");
}

void containers()
{
    std::vector<ofp8::E4M3> numbers(3);
    CHECK(numbers[2] == 0);
    numbers = {ofp8::E4M3(3.0f), ofp8::E4M3(-1), ofp8::E4M3(2.0)};
    std::sort(numbers.begin(), numbers.end());
    CHECK(numbers[0] == -1 && numbers[1] == 2 && numbers[2] == 3);
    CHECK(*std::max_element(numbers.begin(), numbers.end()) == 3 && std::fabs(numbers[0]) == 1);
    std::map<ofp8::E2M1, int> counts;
    ++counts[ofp8::E2M1(1.4f)];
    ++counts[ofp8::E2M1(1.6f)];
    CHECK(counts.size() == 1 && counts.begin()->second == 2);
}

} // namespace

int main()
{
#define ALL_OF(name) all_of<Format::name>();
    OFP8_FOR_EACH_FORMAT(ALL_OF)
#undef ALL_OF
    streams();
    containers();
    return finish("numbers");
}
