// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ofp8_arith.hpp compiled for the host against the C ABI: the same bits on every input, and the same in constant
// expressions.
//
//     arith [--full]
//
// Without an argument a sample that takes seconds; with --full every f32 for E4M3 and
// E5M2 under the default cast, and for every format and rounding every f32 whose low 10 bits are zero, with both
// neighbours (that grid holds each value and each tie of a format). All halves and all codes in both.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

#include "ofp8.h"
#include "ofp8_arith.hpp"

namespace {

using ofp8::Cast;
using ofp8::FloatType;
using ofp8::Format;
using ofp8::NanPolicy;
using ofp8::Rounding;
using ofp8::Saturation;

// ---------------------------------------------------------------------------------------------------------------------
// In constant expressions
// ---------------------------------------------------------------------------------------------------------------------

static_assert(ofp8::encode<Format::E4M3>(0.3f) == 0x2A, "a value between two");
static_assert(ofp8::decode<Format::E4M3>(0x2A) == 0.3125f, "and back");
static_assert(ofp8::encode<Format::E4M3>(-431.99999999999994) == 0xFD, "a double is rounded once");
static_assert(ofp8::encode_f16<Format::E5M2>(0x4880) == 0x48, "9 lies between 8 and 10; 8 is even");
static_assert(ofp8::encode_bf16<Format::E4M3>(0x43E8) == 0x7E, "464 stays 448");
static_assert(ofp8::encode<Format::E4M3>(465.0f, Cast{Rounding::NearestEven, Saturation::None, {}, 0}) == 0x7F, "NaN");
static_assert(ofp8::encode<Format::MXINT8>(-2.0f) == 0x81, "clamps to -127/64");
static_assert(ofp8::decode<Format::E8M0>(0) == 0x1p-127f, "a subnormal f32");
static_assert(ofp8::exponent_code<Format::E4M3>(ofp8::ExponentRule::RoundUp, ofp8::amax_of(449.0f)) == 0x80, "RCEIL");
static_assert(ofp8::scale_from_amax<Format::E4M3>({}, ofp8::amax_of(-7.0f)).dequantize == 1.0f / 64.0f, "448 / 7");
static_assert(ofp8::random_block({0, 0, 0}, 0).word[0] == 0x6627E8D5u, "the known answer for a zero key and counter");
// Fewer random bits than one count as one: a rounding that shifted by 32 would not compile here.
constexpr Cast stochastic(Rounding rounding, unsigned bits) { return {rounding, Saturation::Finite, NanPolicy::Canonical, bits}; }
template <class Float> constexpr bool no_random_bits_are_one(Float value)
{
    for (const Rounding rounding : {Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC}) {
        for (const unsigned word : {0u, 1u, ~0u}) {
            if (ofp8::encode<Format::E4M3>(value, stochastic(rounding, 0), word) !=
                    ofp8::encode<Format::E4M3>(value, stochastic(rounding, 1), word) ||
                ofp8::encode<Format::E4M3>(value, stochastic(rounding, 33), word) !=
                    ofp8::encode<Format::E4M3>(value, stochastic(rounding, 32), word)) {
                return false;
            }
        }
    }
    return true;
}
static_assert(no_random_bits_are_one(0.3f) && no_random_bits_are_one(0.3) && no_random_bits_are_one(0x1p-12f), "1 to 32");
static_assert(ofp8::pack_fp6(0x04030201) == 1 + (2 << 6) + (3 << 12) + (4 << 18), "1 + 2 * 2^6 + 3 * 2^12 + 4 * 2^18");

// Under None every code that is not NaN comes back.
template <Format F> constexpr bool codes_come_back()
{
    constexpr ofp8::Spec s = ofp8::spec(F);
    for (unsigned code = 0; code <= s.code_mask; ++code) {
        const float value = ofp8::decode<F>(static_cast<std::uint8_t>(code));
        const Cast cast = {Rounding::NearestEven, Saturation::None, NanPolicy::KeepSign, 0};
        const bool comes_back = ofp8::encode<F>(value, cast) == code;
        const bool least_integer = F == Format::MXINT8 && code == 0x80;
        if (!comes_back && !ofp8::is_nan(s, code) && !least_integer) {
            return false;
        }
    }
    return true;
}
#define CODES_COME_BACK(name) static_assert(codes_come_back<Format::name>(), #name);
OFP8_FOR_EACH_FORMAT(CODES_COME_BACK)
#undef CODES_COME_BACK

// The worked example of the 128x4 tiles: 9 blocks along K, 200 rows.
constexpr ofp8::Tile128x4 EXAMPLE = {200, 9};
static_assert(EXAMPLE.size() == 3072, "256 x 12");
static_assert(EXAMPLE.offset({0, 0}) == 0 && EXAMPLE.offset({0, 3}) == 3 && EXAMPLE.offset({1, 0}) == 16, "");
static_assert(EXAMPLE.offset({31, 3}) == 499 && EXAMPLE.offset({32, 0}) == 4 && EXAMPLE.offset({33, 1}) == 21, "");
static_assert(EXAMPLE.offset({64, 0}) == 8 && EXAMPLE.offset({96, 0}) == 12 && EXAMPLE.offset({127, 3}) == 511, "");
static_assert(EXAMPLE.offset({0, 4}) == 512 && EXAMPLE.offset({128, 0}) == 1536, "");
static_assert(EXAMPLE.offset({129, 5}) == 2065 && EXAMPLE.offset({199, 8}) == 2680, "");
static_assert(ofp8::PackedWords{5, 9}.offset({3, 6}) == ((1 * 8 + 3) * 4 + 2), "byte j of word w is block 4w + j");
static_assert(ofp8::MnMajorPadded{5, 9}.offset({3, 6}) == 6 * 8 + 3, "blocks along K are 8 scales apart");
static_assert(ofp8::Gfx950{64, 16}.offset({33, 13}) == 512 + 256 + 64 + 4 + 2, "one of each term");

// The numbers that both headers state.
static_assert(static_cast<unsigned>(ofp8::Scaling::PowerOfTwo) == OFP8_SCALING_POWER_OF_TWO, "");
static_assert(static_cast<unsigned>(ofp8::Scaling::E8M0) == OFP8_SCALING_E8M0, "");
static_assert(static_cast<unsigned>(ofp8::Scaling::TwoLevel) == OFP8_SCALING_TWO_LEVEL, "");
static_assert(static_cast<unsigned>(ofp8::Convention::DeepSeek) == OFP8_CONVENTION_DEEPSEEK, "");
static_assert(static_cast<unsigned>(ofp8::Convention::DeepGemm) == OFP8_CONVENTION_DEEPGEMM, "");
static_assert(static_cast<unsigned>(ofp8::ExponentRule::Floor) == OFP8_EXPONENT_FLOOR, "");
static_assert(static_cast<unsigned>(ofp8::ExponentRule::Ceil) == OFP8_EXPONENT_CEIL, "");
static_assert(static_cast<unsigned>(ofp8::ExponentRule::Even) == OFP8_EXPONENT_EVEN, "");
static_assert(static_cast<unsigned>(ofp8::Special::Ignore) == OFP8_SPECIAL_IGNORE, "");
static_assert(static_cast<unsigned>(ofp8::Special::Clamp) == OFP8_SPECIAL_CLAMP, "");
static_assert(static_cast<unsigned>(ofp8::ExponentRule::Nearest) == OFP8_EXPONENT_NEAREST, "");
static_assert(static_cast<unsigned>(ofp8::ExponentRule::LeastError) == OFP8_EXPONENT_LEAST_ERROR, "");
static_assert(static_cast<unsigned>(ofp8::NonFinite::Clamp) == OFP8_NON_FINITE_CLAMP, "");
static_assert(static_cast<unsigned>(ofp8::NonFinite::Poison) == OFP8_NON_FINITE_POISON, "");
static_assert(static_cast<unsigned>(ofp8::ScaleOrder::RowMajorPadded) == OFP8_LAYOUT_ROW_MAJOR_PADDED, "");
static_assert(static_cast<unsigned>(ofp8::ScaleOrder::MnMajorPadded) == OFP8_LAYOUT_MN_MAJOR_PADDED, "");
static_assert(static_cast<unsigned>(ofp8::ScaleOrder::Tile128x4) == OFP8_LAYOUT_TILE_128X4, "");
static_assert(static_cast<unsigned>(ofp8::ScaleOrder::PackedWords) == OFP8_LAYOUT_PACKED_WORDS, "");
static_assert(static_cast<unsigned>(ofp8::ScaleOrder::Gfx950) == OFP8_LAYOUT_GFX950, "");
static_assert(sizeof(ofp8::Stats) == sizeof(ofp8_stats) && sizeof(ofp8::Philox) == sizeof(ofp8_philox), "one layout");

// ---------------------------------------------------------------------------------------------------------------------
// Running: pieces of a sweep on all cores, differences counted and shown
// ---------------------------------------------------------------------------------------------------------------------

std::atomic<std::uint64_t> compared{0};
std::atomic<unsigned> failures{0};

// Says where two results differ, for the first few: with that input and cast the two sides can be asked again.
void differ(const char *what, unsigned format, const Cast &cast, std::uint64_t input, std::uint64_t ours,
            std::uint64_t theirs)
{
    if (failures.fetch_add(1) < 20) {
        std::printf("DIFFERENT %s: format %u, rounding %u, saturation %u, nan %u, random bits %u, input %#" PRIx64
                    ": header %#" PRIx64 ", library %#" PRIx64 "\n",
                    what, format, static_cast<unsigned>(cast.rounding), static_cast<unsigned>(cast.saturation),
                    static_cast<unsigned>(cast.nan), cast.random_bits, input, ours, theirs);
    }
}

void require(ofp8_status status)
{
    if (status != OFP8_OK && failures.fetch_add(1) < 20) {
        std::printf("FAILED: the library reports: %s\n", ofp8_status_text(status));
    }
}

void require(bool holds, const char *what)
{
    if (!holds && failures.fetch_add(1) < 20) {
        std::printf("FAILED: %s\n", what);
    }
}

std::vector<std::function<void()>> jobs;

// Runs the collected jobs on all cores.
void run_jobs(const char *what)
{
    const std::uint64_t before = compared;
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
        threads.emplace_back([&] {
            for (std::size_t job = next++; job < jobs.size(); job = next++) {
                jobs[job]();
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    jobs.clear();
    std::printf("arith: %-52s %12" PRIu64 " compared\n", what, compared - before);
}

template <Format F> using Tag = std::integral_constant<Format, F>;

template <class Visit> void for_each_format(Visit visit)
{
#define VISIT(name) visit(Tag<Format::name>{});
    OFP8_FOR_EACH_FORMAT(VISIT)
#undef VISIT
}

ofp8_cast c_cast(const Cast &cast)
{
    return {static_cast<std::uint32_t>(cast.rounding), static_cast<std::uint32_t>(cast.saturation),
            static_cast<std::uint32_t>(cast.nan), cast.random_bits};
}

// ---------------------------------------------------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------------------------------------------------

constexpr std::size_t CHUNK = 1 << 14;

// Every f32 whose low `clear` bits are zero, with both neighbours; all of them for 0.
struct Grid {
    unsigned clear;

    std::uint64_t count() const { return clear == 0 ? std::uint64_t{1} << 32 : std::uint64_t{3} << (32 - clear); }
    std::uint32_t at(std::uint64_t i) const
    {
        return static_cast<std::uint32_t>(clear == 0 ? i : ((i / 3) << clear) + i % 3 - 1);
    }
};

// Every rounding with every saturation and NaN policy; without `all`, with the two ends of them.
std::vector<Cast> casts(bool all)
{
    std::vector<Cast> chosen;
    const std::pair<Rounding, unsigned> roundings[] = {
        {Rounding::NearestEven, 0},  {Rounding::NearestAway, 0},  {Rounding::TowardZero, 0},
        {Rounding::TowardPositive, 0}, {Rounding::TowardNegative, 0}, {Rounding::ToOdd, 0},
        {Rounding::StochasticA, 16}, {Rounding::StochasticB, 7},  {Rounding::StochasticC, 3}};
    for (auto [rounding, bits] : roundings) {
        for (auto saturation : {Saturation::None, Saturation::Finite, Saturation::Propagate}) {
            for (auto nan : {NanPolicy::KeepSign, NanPolicy::Canonical}) {
                const bool end = (saturation == Saturation::None) == (nan == NanPolicy::KeepSign);
                if (all || (end && saturation != Saturation::Propagate)) {
                    chosen.push_back({rounding, saturation, nan, bits});
                }
            }
        }
    }
    return chosen;
}

const ofp8_philox RANDOM = {0x0123456789ABCDEFull, 5, 3};
const ofp8::Philox SAME_RANDOM = {RANDOM.seed, RANDOM.stream, RANDOM.first_index};

// ---------------------------------------------------------------------------------------------------------------------
// Encoding
// ---------------------------------------------------------------------------------------------------------------------

// A run of inputs through both; the element numbers of a stochastic rounding count from `first`.
template <Format F, class Wide, class One>
void compare_run(const char *what, unsigned type, const Cast &cast, const Wide *inputs, std::size_t count,
                 std::uint64_t first, One one)
{
    std::vector<std::uint8_t> codes(count);
    const ofp8_cast theirs = c_cast(cast);
    const ofp8_philox random = {RANDOM.seed, RANDOM.stream, RANDOM.first_index + first};
    require(ofp8_encode(static_cast<unsigned>(F), &theirs, &random, type, inputs, count, codes.data()));
    const bool stochastic = ofp8::is_stochastic(cast.rounding);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t word = stochastic ? ofp8::random_bits(SAME_RANDOM, first + i) : 0;
        const std::uint8_t code = one(inputs[i], word);
        if (code != codes[i]) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, &inputs[i], sizeof inputs[i]);
            differ(what, static_cast<unsigned>(F), cast, bits, code, codes[i]);
        }
    }
    compared += count;
}

// The pieces of a grid as jobs.
template <Format F> void sweep_f32(const Grid &grid, const Cast &cast)
{
    const std::uint64_t step = std::uint64_t{1} << 20;
    for (std::uint64_t begin = 0; begin < grid.count(); begin += step) {
        jobs.push_back([=] {
            std::vector<float> inputs(CHUNK);
            const std::uint64_t end = std::min(begin + step, grid.count());
            for (std::uint64_t from = begin; from < end; from += CHUNK) {
                const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(CHUNK, end - from));
                for (std::size_t i = 0; i < count; ++i) {
                    inputs[i] = ofp8::float_of(grid.at(from + i));
                }
                if (ofp8::is_default(cast)) { // the cast as a constant: what kernels compile
                    compare_run<F>("f32", OFP8_F32, cast, inputs.data(), count, from,
                                   [](float x, std::uint32_t) { return ofp8::encode<F>(x); });
                } else {
                    compare_run<F>("f32", OFP8_F32, cast, inputs.data(), count, from,
                                   [&](float x, std::uint32_t word) { return ofp8::encode<F>(x, cast, word); });
                }
            }
        });
    }
}

void encode_f32(bool full)
{
    const Cast standard = {};
    sweep_f32<Format::E4M3>(Grid{full ? 0u : 12u}, standard);
    sweep_f32<Format::E5M2>(Grid{full ? 0u : 12u}, standard);
    run_jobs("f32 to E4M3 and E5M2, default cast");

    for (const Cast &cast : casts(true)) {
        const bool plain = cast.saturation == Saturation::None && cast.nan == NanPolicy::KeepSign;
        const Grid grid = {!full ? 18u : plain ? 10u : 16u};
        for_each_format([&](auto format) { sweep_f32<decltype(format)::value>(grid, cast); });
    }
    run_jobs("f32 to every format, every cast");
}

// Random words of 1 to 32 bits, from the caller, on values near each tie and boundary of the format.
void encode_words()
{
    for_each_format([](auto format) {
        jobs.push_back([=] {
            constexpr Format F = decltype(format)::value;
            std::uint64_t state = 1;
            for (unsigned bits = 1; bits <= 32; ++bits) {
                for (auto rounding : {Rounding::StochasticA, Rounding::StochasticB, Rounding::StochasticC}) {
                    const Cast cast = {rounding, Saturation::Propagate, NanPolicy::KeepSign, bits};
                    const ofp8_cast theirs = c_cast(cast);
                    for (unsigned i = 0; i < 3000; ++i) {
                        state = state * 6364136223846793005u + 1442695040888963407u;
                        const std::uint32_t word = static_cast<std::uint32_t>(state >> 32);
                        const float x = ofp8::float_of(static_cast<std::uint32_t>(state >> 7) & (i % 2 ? ~0u : ~0xFFFu));
                        std::uint8_t code = 0;
                        require(ofp8_encode_f32(static_cast<unsigned>(F), &theirs, x, word, &code));
                        if (ofp8::encode<F>(x, cast, word) != code) {
                            differ("random word", static_cast<unsigned>(F), cast, ofp8::bits_of(x),
                                   ofp8::encode<F>(x, cast, word), code);
                        }
                        ++compared;
                    }
                }
            }
        });
    });
    run_jobs("random words of 1 to 32 bits");
}

void encode_others(bool full)
{
    std::vector<std::uint16_t> halves(1 << 16);
    for (std::size_t i = 0; i < halves.size(); ++i) {
        halves[i] = static_cast<std::uint16_t>(i);
    }
    std::vector<double> doubles;
    std::vector<float> floats;
    for (std::uint64_t i = 0; i < std::uint64_t{3} << 14; ++i) {
        doubles.push_back(__builtin_bit_cast(double, ((i / 3) << 50) + i % 3 - 1));
        // The doubles on both sides of a grid of f32, where a way over f32 would round twice.
        const double x = ofp8::float_of(Grid{18}.at(i));
        doubles.push_back(__builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, x) + i % 3 - 1));
        floats.push_back(ofp8::float_of(Grid{18}.at(i)));
    }
    for (const Cast &cast : casts(full)) {
        for_each_format([&](auto format) {
            jobs.push_back([&, cast] {
                constexpr Format F = decltype(format)::value;
                compare_run<F>("f16", OFP8_F16, cast, halves.data(), halves.size(), 0,
                               [&](std::uint16_t x, std::uint32_t word) { return ofp8::encode_f16<F>(x, cast, word); });
                compare_run<F>("bf16", OFP8_BF16, cast, halves.data(), halves.size(), 0,
                               [&](std::uint16_t x, std::uint32_t word) { return ofp8::encode_bf16<F>(x, cast, word); });
                compare_run<F>("f64", OFP8_F64, cast, doubles.data(), doubles.size(), 0,
                               [&](double x, std::uint32_t word) { return ofp8::encode<F>(x, cast, word); });
                // The reference itself, which f32 values do not take by themselves.
                compare_run<F>("reference", OFP8_F32, cast, floats.data(), floats.size(), 0,
                               [&](float x, std::uint32_t word) {
                                   return ofp8::encode_bits(F, FloatType::F32, ofp8::bits_of(x), cast, word);
                               });
            });
        });
    }
    run_jobs("f16, bf16, f64 and the reference, every cast");
}

// ---------------------------------------------------------------------------------------------------------------------
// Decoding
// ---------------------------------------------------------------------------------------------------------------------

template <Format F> void compare_codes()
{
    constexpr unsigned number = static_cast<unsigned>(F);
    for (unsigned i = 0; i < 256; ++i) {
        const std::uint8_t code = static_cast<std::uint8_t>(i);
        float f32 = 0;
        double f64 = 0;
        std::uint16_t f16 = 0, bf16 = 0;
        require(ofp8_decode_f32(number, code, &f32));
        require(ofp8_decode_f64(number, code, &f64));
        require(ofp8_decode_f16(number, code, &f16));
        require(ofp8_decode_bf16(number, code, &bf16));
        const std::uint64_t ours[] = {ofp8::bits_of(ofp8::decode<F>(code)),
                                      ofp8::decode_bits(F, code, FloatType::F64),
                                      ofp8::decode_f16<F>(code),
                                      ofp8::decode_bf16<F>(code),
                                      ofp8::decode_bits(F, code, FloatType::F32),
                                      ofp8::decode_bits(F, code, FloatType::F16),
                                      ofp8::decode_bits(F, code, FloatType::BF16)};
        const std::uint64_t theirs[] = {ofp8::bits_of(f32), ofp8::bits_of(f64), f16, bf16, ofp8::bits_of(f32), f16, bf16};
        for (std::size_t k = 0; k < std::size(ours); ++k) {
            if (ours[k] != theirs[k]) {
                differ("decode", number, {}, i, ours[k], theirs[k]);
            }
            ++compared;
        }
    }
}

void decode()
{
    for_each_format([](auto format) {
        jobs.push_back(compare_codes<decltype(format)::value>);
    });
    run_jobs("every code of every format to f32, f64, f16, bf16");
}

// ---------------------------------------------------------------------------------------------------------------------
// Scales
// ---------------------------------------------------------------------------------------------------------------------

// The recipes of one element format.
std::vector<ofp8_recipe> recipes(unsigned element)
{
    std::vector<ofp8_recipe> all;
    for (unsigned scaling : {OFP8_SCALING_F32, OFP8_SCALING_POWER_OF_TWO, OFP8_SCALING_E8M0}) {
        for (unsigned kind = 0; kind < (scaling == OFP8_SCALING_F32 ? 3u : 5u); ++kind) {
            for (int margin : {0, 3, -64, 64}) {
                for (unsigned special : {OFP8_SPECIAL_POISON, OFP8_SPECIAL_IGNORE, OFP8_SPECIAL_CLAMP}) {
                    ofp8_recipe recipe{};
                    recipe.struct_size = sizeof recipe;
                    recipe.element = element;
                    recipe.scaling = scaling;
                    (scaling == OFP8_SCALING_F32 ? recipe.convention : recipe.exponent_rule) = kind;
                    recipe.margin = margin;
                    recipe.special = special;
                    if (special == OFP8_SPECIAL_CLAMP) {
                        recipe.epsilon = 1e-30f;
                        recipe.amax_bound = 1e20f;
                    }
                    all.push_back(recipe);
                }
            }
        }
    }
    return all;
}

ofp8::Recipe same_recipe(const ofp8_recipe &recipe)
{
    ofp8::Recipe same;
    same.scaling = static_cast<ofp8::Scaling>(recipe.scaling);
    same.convention = static_cast<ofp8::Convention>(recipe.convention);
    same.rule = static_cast<ofp8::ExponentRule>(recipe.exponent_rule);
    same.special = static_cast<ofp8::Special>(recipe.special);
    same.margin = recipe.margin;
    same.epsilon_bits = ofp8::bits_of(recipe.epsilon);
    same.bound_bits = recipe.amax_bound == 0 ? ofp8::F32_INFINITY : ofp8::bits_of(recipe.amax_bound);
    same.cast = {static_cast<Rounding>(recipe.cast.rounding), static_cast<Saturation>(recipe.cast.saturation),
                 static_cast<NanPolicy>(recipe.cast.nan), recipe.cast.random_bits};
    return same;
}

// The amaxes at which a rule may turn, in every binade: around each, the eight nearest.
std::vector<std::uint32_t> amaxes(float largest)
{
    std::vector<std::uint32_t> all = {0, ofp8::F32_INFINITY, ofp8::F32_NAN};
    const std::uint32_t turns[] = {0, ofp8::bits_of(largest) & 0x7FFFFF, 0x400000, 0x600000, 0x700000, 0x780000};
    for (std::uint32_t binade = 0; binade < 255; ++binade) {
        for (std::uint32_t turn : turns) {
            for (std::uint32_t near = 0; near < 8; ++near) {
                const std::uint32_t bits = (binade << 23 | turn) + near - 4;
                if (bits < ofp8::F32_INFINITY) {
                    all.push_back(bits);
                }
            }
        }
    }
    for (std::uint32_t bits = 1; bits < 1u << 23; bits += bits / 3 + 1) { // subnormal
        all.push_back(bits);
    }
    return all;
}

template <Format F> void compare_scales()
{
    const auto inputs = amaxes(ofp8::float_of(ofp8::max_f32_bits(F)));
    for (const ofp8_recipe &recipe : recipes(static_cast<unsigned>(F))) {
        const ofp8::Recipe same = same_recipe(recipe);
        for (std::uint32_t amax : inputs) {
            const ofp8::BlockScale ours = ofp8::scale_from_amax<F>(same, amax);
            float theirs = 0;
            std::uint8_t code = 0;
            const bool has_code = recipe.scaling != OFP8_SCALING_F32;
            require(ofp8_scale_from_amax(&recipe, amax, &theirs, has_code ? &code : nullptr));
            if (ofp8::bits_of(ours.dequantize) != ofp8::bits_of(theirs)) {
                differ("scale", recipe.element, {}, amax, ofp8::bits_of(ours.dequantize), ofp8::bits_of(theirs));
            }
            if (has_code && ofp8::scale_to_e8m0(ours.dequantize) != code) {
                differ("scale byte", recipe.element, {}, amax, ofp8::scale_to_e8m0(ours.dequantize), code);
            }
            ++compared;
        }
    }
}

// A row of one block: ordinary values, values of every magnitude, and specials where `special` says so.
std::vector<float> row_of_values(std::uint64_t seed, bool special)
{
    std::vector<float> values;
    for (int i = 0; i < 32; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const std::uint32_t bits = static_cast<std::uint32_t>(seed >> 32);
        const std::uint32_t wide = (bits & ofp8::F32_ABS) < ofp8::F32_INFINITY ? bits : bits & ~0x00800000u;
        values.push_back(i % 4 == 0 ? 0.0f : i % 4 == 1 ? ofp8::float_of(wide) : static_cast<float>(static_cast<int>(bits)));
    }
    if (special) {
        values[seed >> 60] = ofp8::float_of(ofp8::F32_INFINITY | (seed & 1) << 31 | (seed >> 1 & 1) << 20);
    }
    return values;
}

// One block through both: codes, scale, statistics, and back.
template <Format F> void compare_block(const ofp8_recipe &recipe, const std::vector<float> &values)
{
    const ofp8::Recipe same = same_recipe(recipe);
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = 1;
    shape.cols = values.size();
    shape.wide_type = OFP8_F32;
    std::vector<std::uint8_t> codes(values.size());
    std::vector<float> back(values.size());
    float f32_scale = 0;
    std::uint8_t byte_scale = 0;
    void *scale_place = recipe.scaling == OFP8_SCALING_E8M0 ? static_cast<void *>(&byte_scale) : &f32_scale;
    ofp8_stats stats{};
    require(ofp8_quantize(&recipe, &shape, &RANDOM, values.data(), nullptr, codes.data(), scale_place, 1, nullptr, &stats));
    require(ofp8_dequantize(&recipe, &shape, codes.data(), scale_place, 1, nullptr, back.data()));

    std::uint32_t amax = 0;
    for (float value : values) {
        const std::uint32_t of_one = ofp8::amax_of(value);
        const bool counts = same.special != ofp8::Special::Ignore || ofp8::amax_is_finite(of_one);
        amax = ofp8::merge_amax(amax, counts ? of_one : 0);
    }
    const ofp8::BlockScale scale = ofp8::scale_from_amax<F>(same, amax);
    const bool poisoned = ofp8::is_poisoned(scale);
    ofp8::Stats ours;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t word = ofp8::random_bits(SAME_RANDOM, i);
        const std::uint8_t code = ofp8::quantize<F>(scale, values[i], same.cast, word);
        const float scaled = poisoned ? values[i] : ofp8::apply(scale.factor, values[i]);
        const std::uint8_t counted = poisoned ? ofp8::encode<F>(values[i], same.cast, word) : code;
        ofp8::count_element<F>(ours, values[i], counted, ofp8::rounds_beyond<F>(scaled, same.cast, word));
        if (code != codes[i]) {
            differ("element", recipe.element, same.cast, ofp8::bits_of(values[i]), code, codes[i]);
        }
        const float value = ofp8::dequantize<F>(scale.dequantize, code);
        if (ofp8::bits_of(value) != ofp8::bits_of(back[i])) {
            differ("dequantized", recipe.element, same.cast, code, ofp8::bits_of(value), ofp8::bits_of(back[i]));
        }
        compared += 2;
    }
    if (poisoned) {
        ours.saturated = 0;
        ours.underflowed = 0;
    }
    require(std::memcmp(&ours, &stats, sizeof stats) == 0, "statistics of a block");
}

template <Format F> void compare_blocks(bool full)
{
    const Cast some[] = {{},
                          {Rounding::TowardPositive, Saturation::None, NanPolicy::KeepSign, 0},
                          {Rounding::StochasticA, Saturation::Propagate, NanPolicy::Canonical, 16}};
    for (ofp8_recipe recipe : recipes(static_cast<unsigned>(F))) {
        for (const Cast &cast : some) {
            recipe.cast = c_cast(cast);
            for (unsigned i = 0; i < (full ? 40u : 4u); ++i) {
                compare_block<F>(recipe, row_of_values(i * 2 + 1, i % 4 == 3));
            }
        }
    }
}

// The two levels of NVFP4: the tensor's scale, each block's byte and value.
void compare_two_levels(bool full)
{
    ofp8_recipe recipe{};
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E2M1;
    recipe.block_rows = 1;
    recipe.block_cols = 16;
    recipe.scaling = OFP8_SCALING_TWO_LEVEL;
    recipe.block_scale = OFP8_UE4M3;
    recipe.has_tensor_amax = 1;
    std::uint64_t state = 1;
    for (unsigned i = 0; i < (full ? 3000000u : 300000u); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::uint32_t tensor = ofp8::amax_of(ofp8::float_of(static_cast<std::uint32_t>(state >> 32)));
        // Blocks from as large as the tensor to far below it, and any.
        const std::uint32_t below = static_cast<std::uint32_t>(state >> 8) % (i % 2 ? 0x08000000u : 0x7F800001u);
        const std::uint32_t block = i % 2 ? (tensor > below ? tensor - below : 0) : below;
        recipe.tensor_amax = tensor;
        float theirs = 0;
        std::uint8_t code = 0;
        require(ofp8_scale_from_amax(&recipe, block, &theirs, &code));
        const float tensor_scale = ofp8::nvfp4_tensor_scale(tensor);
        const std::uint8_t our_code = ofp8::nvfp4_block_code(tensor_scale, block);
        const float ours = ofp8::nvfp4_scale(tensor_scale, our_code).dequantize;
        if (our_code != code || (ofp8::bits_of(ours) != ofp8::bits_of(theirs) && theirs == theirs)) {
            differ("two levels", OFP8_E2M1, {}, static_cast<std::uint64_t>(tensor) << 32 | block,
                   static_cast<std::uint64_t>(our_code) << 32 | ofp8::bits_of(ours),
                   static_cast<std::uint64_t>(code) << 32 | ofp8::bits_of(theirs));
        }
        ++compared;
    }
}

void scales(bool full)
{
    for_each_format([=](auto format) {
        constexpr Format F = decltype(format)::value;
        constexpr ofp8::Spec s = ofp8::spec(F);
        if constexpr (s.zero && (s.sign == OFP8_SIGN_BIT || s.sign == OFP8_SIGN_TWOS_COMPLEMENT)) {
            jobs.push_back(compare_scales<F>);
            jobs.push_back([=] { compare_blocks<F>(full); });
        }
    });
    jobs.push_back([=] { compare_two_levels(full); });
    run_jobs("scales, blocks and statistics of every recipe");
}

// ---------------------------------------------------------------------------------------------------------------------
// Layouts and packing
// ---------------------------------------------------------------------------------------------------------------------

// Every place has the library's offset, and comes back from it; the sizes are the same.
template <class Layout> void check_layout(ofp8::ScaleOrder order, std::uint64_t rows, std::uint64_t cols)
{
    const Layout layout = {rows, cols};
    ofp8_layout theirs{};
    theirs.struct_size = sizeof theirs;
    theirs.rows = rows;
    theirs.cols = cols;
    theirs.order = static_cast<std::uint32_t>(order);
    std::size_t size = 0;
    require(ofp8_layout_size(&theirs, &size, nullptr));
    const ofp8::Place extent = ofp8::layout_extent(order, rows, cols);
    require(size == layout.size() && size == extent.row * extent.col, "a layout: its size");
    for (std::uint64_t row = 0; row < rows; ++row) {
        for (std::uint64_t col = 0; col < cols; ++col) {
            const ofp8::Place at = {row, col};
            const std::uint64_t offset = layout.offset(at);
            std::size_t expected = 0;
            require(ofp8_layout_index(&theirs, row, col, &expected));
            require(offset == expected && ofp8::layout_offset(order, rows, cols, at) == expected, "a layout: an offset");
            require(layout.place(offset) == at, "a layout: the place of an offset");
        }
    }
    compared += rows * cols;
}

void layouts(bool full)
{
    const std::uint64_t most = full ? 400 : 140;
    for (std::uint64_t rows = 1; rows <= most; rows += full ? 3 : 7) {
        jobs.push_back([=] {
            for (std::uint64_t cols = 1; cols <= most; cols += 1 + cols / 4) {
                check_layout<ofp8::Tile128x4>(ofp8::ScaleOrder::Tile128x4, rows, cols);
                check_layout<ofp8::RowMajor>(ofp8::ScaleOrder::RowMajor, rows, cols);
                check_layout<ofp8::RowMajorPadded>(ofp8::ScaleOrder::RowMajorPadded, rows, cols);
                check_layout<ofp8::MnMajorPadded>(ofp8::ScaleOrder::MnMajorPadded, rows, cols);
                check_layout<ofp8::PackedWords>(ofp8::ScaleOrder::PackedWords, rows, cols);
                check_layout<ofp8::Gfx950>(ofp8::ScaleOrder::Gfx950, rows, cols);
            }
        });
    }
    run_jobs("layouts");
}

void check_packing()
{
    for (std::uint32_t i = 0; i < 1u << 24; i += 11) {
        const std::uint32_t codes = (i & 0x3F) | (i >> 6 & 0x3F) << 8 | (i >> 12 & 0x3F) << 16 | i >> 18 << 24;
        require(ofp8::pack_fp6(codes) == i && ofp8::unpack_fp6(i) == codes, "FP6 in little-endian order");
        ++compared;
    }
    for (unsigned i = 0; i < 256; ++i) {
        const std::uint8_t packed = static_cast<std::uint8_t>(i);
        require(ofp8::pack_fp4(ofp8::unpack_fp4(packed, 0), ofp8::unpack_fp4(packed, 1)) == packed, "FP4, first low");
        ++compared;
    }
}

// Statistics merge as the library's do, those of nothing too: all zero, or what Stats begins with.
void check_merging()
{
    ofp8::Stats some;
    ofp8::count_element<Format::E4M3>(some, -0.5f, 0xB0, false);
    ofp8::count_element<Format::E4M3>(some, 1e9f, 0x7E, true);
    ofp8::Stats zeros;
    zeros.min_nonzero = 0;
    ofp8::Stats other;
    ofp8::count_element<Format::E4M3>(other, 0.0f, 0, false);
    for (const ofp8::Stats &a : {some, zeros, ofp8::Stats{}, other}) {
        for (const ofp8::Stats &b : {some, zeros, ofp8::Stats{}, other}) {
            ofp8_stats ours, theirs, added;
            const ofp8::Stats both = ofp8::merge_stats(a, b);
            std::memcpy(&ours, &both, sizeof ours);
            std::memcpy(&theirs, &a, sizeof theirs);
            std::memcpy(&added, &b, sizeof added);
            require(ofp8_merge_stats(&theirs, &added));
            require(std::memcmp(&ours, &theirs, sizeof ours) == 0, "merged statistics");
        }
    }
}

} // namespace

int main(int count, char **arguments)
{
    const bool full = count > 1 && std::strcmp(arguments[1], "--full") == 0;
    encode_f32(full);
    encode_words();
    encode_others(full);
    decode();
    scales(full);
    layouts(full);
    jobs.push_back(check_packing);
    jobs.push_back(check_merging);
    run_jobs("packing, merging");
    std::printf("arith: %" PRIu64 " comparisons, %u differences\n", compared.load(), failures.load());
    return failures == 0 ? 0 : 1;
}
