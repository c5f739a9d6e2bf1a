// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What ofp8.hpp puts over the C ABI: errors, views, many values, the quantizer: each call against the same one in C,
// whose structures are filled in by hand here. Compiles without exceptions and RTTI, too.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../c/check.h"
#include "ofp8.hpp"

#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

using ofp8::Format;
using ofp8::Matrix;
using ofp8::Quantizer;
using ofp8::View;

// Values over many binades, with zeros.
std::vector<float> values(std::size_t count)
{
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = i % 17 == 3 ? 0.0f : std::ldexp(std::sin(static_cast<float>(i)), static_cast<int>(i * 7 % 40) - 20);
    }
    return values;
}

std::vector<ofp8::BF16> bf16(const std::vector<float> &wide)
{
    std::vector<ofp8::BF16> narrow;
    for (const float value : wide) {
        narrow.push_back({ofp8::f32_to_bf16(value)});
    }
    return narrow;
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors and views
// ---------------------------------------------------------------------------------------------------------------------

void errors()
{
    const ofp8::Expected<int> five = 5, none = OFP8_SHAPE;
    CHECK(five && five.has_value() && five.error() == OFP8_OK && *five == 5 && five.value() == 5);
    CHECK(!none && none.error() == OFP8_SHAPE && none.value_or(7) == 7 && five.value_or(7) == 5);
    const ofp8::Expected<void> done = OFP8_OK, failed = OFP8_SCALE;
    CHECK(done && !failed && failed.error() == OFP8_SCALE);
    CHECK(ofp8::text(OFP8_OK) == std::string("ok"));
    done.value();
    CHECK(ofp8::Error(OFP8_SHAPE).status() == OFP8_SHAPE);
    CHECK(std::strcmp(ofp8::Error(OFP8_NULL_POINTER).what(), "a pointer is null") == 0);

#if defined(__cpp_exceptions)
    int caught = 0;
    try {
        (void)none.value();
    } catch (const ofp8::Error &error) {
        caught += error.status() == OFP8_SHAPE ? 1 : 0;
    }
    try {
        failed.value();
    } catch (const std::exception &error) {
        caught += error.what() == std::string(ofp8_status_text(OFP8_SCALE)) ? 1 : 0;
    }
    CHECK(caught == 2);
#endif
}

void views()
{
    std::vector<float> vector = {1, 2, 3};
    const std::vector<float> constant = {4, 5};
    float array[2] = {6, 7};
    std::array<ofp8::E4M3, 2> numbers = {ofp8::E4M3(1), ofp8::E4M3(2)};
    View<float> view = vector;
    const View<const float> read_only = view;
    CHECK(view.size() == 3 && view.data() == vector.data() && read_only[2] == 3 && !view.empty());
    view[0] = 9;
    CHECK(vector[0] == 9 && *view.begin() == 9 && view.end() - view.begin() == 3);
    CHECK(View(array).size() == 2 && View(numbers).data() == numbers.data());
    CHECK(View<const float>(constant).size() == 2 && View<float>().empty());
    static_assert(std::is_same_v<decltype(View(constant)), View<const float>>);
    static_assert(!std::is_constructible_v<View<float>, const std::vector<float> &>, "const stays");
    static_assert(!std::is_constructible_v<View<float>, std::vector<double> &>);

#if __cplusplus >= 202002L
    const std::span<float> span = view;
    const View<const float> back = std::span<const float>(span);
    CHECK(span.data() == vector.data() && back.size() == 3);
    const std::span<const float> wider = read_only;
    CHECK(wider.size() == 3 && std::span<float>(View<float>(vector)).size() == 3);
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Many values
// ---------------------------------------------------------------------------------------------------------------------

template <Format F> void bulk()
{
    constexpr std::size_t COUNT = 1000;
    constexpr auto format = static_cast<std::uint32_t>(F);
    const std::vector<float> wide = values(COUNT);
    const std::vector<ofp8::BF16> narrow = bf16(wide);
    const ofp8::Philox random = {42, 7, 100};
    const ofp8_philox c_random = {42, 7, 100};
    const ofp8::Cast cast = {ofp8::Rounding::StochasticB, ofp8::Saturation::Propagate, ofp8::NanPolicy::KeepSign, 9};
    const ofp8_cast c_cast = {OFP8_STOCHASTIC_B, OFP8_SATURATE_PROPAGATE, OFP8_NAN_KEEP_SIGN, 9};
    std::vector<ofp8::Number<F>> codes(COUNT);
    std::vector<std::uint8_t> expected(COUNT), bytes(COUNT);

    CHECK(ofp8_encode(format, nullptr, nullptr, OFP8_F32, wide.data(), COUNT, expected.data()) == OFP8_OK);
    CHECK(ofp8::encode(wide, codes) && std::memcmp(codes.data(), expected.data(), COUNT) == 0);
    CHECK(ofp8::encode(F, wide, bytes) && bytes == expected);
    CHECK(ofp8_encode(format, &c_cast, &c_random, OFP8_BF16, narrow.data(), COUNT, expected.data()) == OFP8_OK);
    CHECK(ofp8::encode(narrow, codes, cast, &random) && std::memcmp(codes.data(), expected.data(), COUNT) == 0);
    CHECK(ofp8::encode(narrow, codes, cast).error() == OFP8_RANDOM_BITS);

    std::vector<float> back(COUNT), c_back(COUNT);
    std::vector<ofp8::F16> half(COUNT), c_half(COUNT);
    CHECK(ofp8_decode(format, expected.data(), COUNT, OFP8_F32, c_back.data()) == OFP8_OK);
    CHECK(ofp8_decode(format, expected.data(), COUNT, OFP8_F16, c_half.data()) == OFP8_OK);
    CHECK(ofp8::decode(codes, back) && std::memcmp(back.data(), c_back.data(), COUNT * sizeof(float)) == 0);
    CHECK(ofp8::decode(F, expected, half) && std::memcmp(half.data(), c_half.data(), COUNT * sizeof(ofp8::F16)) == 0);

    CHECK(ofp8::encode(wide, View(codes.data(), COUNT - 1)).error() == OFP8_LENGTH);
    CHECK(ofp8::decode(codes, View(back.data(), COUNT - 1)).error() == OFP8_LENGTH);
    const Format other = F == Format::E4M3 ? Format::E5M2 : Format::E4M3;
    CHECK(ofp8::encode(other, wide, codes).error() == OFP8_UNKNOWN_FORMAT);
    CHECK(ofp8::decode(other, codes, back).error() == OFP8_UNKNOWN_FORMAT);
    CHECK(ofp8::decode(Format{}, bytes, back).error() == OFP8_UNKNOWN_FORMAT);
}

void amax_and_packing()
{
    const std::vector<float> wide = {1, -5.5f, 3};
    CHECK(ofp8::float_of(ofp8::amax(wide).value()) == 5.5f);
    CHECK(ofp8::float_of(*ofp8::amax(std::vector<double>{-7.0, 2.0})) == 7.0f);

    const std::vector<ofp8::E2M1> codes = {ofp8::E2M1(1), ofp8::E2M1(-6), ofp8::E2M1(0.5f)};
    std::vector<std::uint8_t> packed(ofp8::packed_size(ofp8::Packing::Fp4LowFirst, codes.size()).value());
    std::vector<ofp8::E2M1> back(codes.size());
    CHECK(packed.size() == 2 && ofp8::pack(ofp8::Packing::Fp4LowFirst, codes, packed));
    CHECK(packed[0] == 0xF2 && packed[1] == 0x01);
    CHECK(ofp8::unpack(ofp8::Packing::Fp4LowFirst, packed, back) && std::memcmp(codes.data(), back.data(), 3) == 0);
    CHECK(ofp8::pack(ofp8::Packing::Fp4HighFirst, codes, packed) && packed[0] == 0x2F);
    CHECK(ofp8::pack(ofp8::Packing::Fp6, codes, packed).error() == OFP8_LENGTH);
    CHECK(ofp8::unpack(ofp8::Packing::Fp6, packed, back).error() == OFP8_LENGTH);
    CHECK(ofp8::packed_size(ofp8::Packing::Fp6, 4).value() == 3);
    CHECK(ofp8::packed_size(ofp8::Packing{}, 4).error() == OFP8_UNKNOWN_PACKING);
}

// ---------------------------------------------------------------------------------------------------------------------
// The quantizer
// ---------------------------------------------------------------------------------------------------------------------

// A recipe as C has it: element, block, scaling, and what else is not zero.
ofp8_recipe recipe(std::uint32_t element, std::size_t rows, std::size_t cols, std::uint32_t scaling)
{
    ofp8_recipe recipe{};
    recipe.struct_size = sizeof recipe;
    recipe.element = element;
    recipe.block_rows = rows;
    recipe.block_cols = cols;
    recipe.scaling = scaling;
    return recipe;
}

ofp8_recipe deepseek(std::size_t rows)
{
    ofp8_recipe deepseek = recipe(OFP8_E4M3, rows, 128, OFP8_SCALING_F32);
    deepseek.convention = OFP8_CONVENTION_DEEPSEEK;
    return deepseek;
}

ofp8_recipe nvfp4(std::size_t rows)
{
    ofp8_recipe nvfp4 = recipe(OFP8_E2M1, rows, 16, OFP8_SCALING_TWO_LEVEL);
    nvfp4.block_scale = OFP8_UE4M3;
    return nvfp4;
}

// Field by field: the structure may have padding.
bool same(const ofp8_recipe &a, const ofp8_recipe &b)
{
    return a.struct_size == b.struct_size && a.block_rows == b.block_rows && a.block_cols == b.block_cols &&
           a.element == b.element && a.scaling == b.scaling && a.convention == b.convention &&
           a.exponent_rule == b.exponent_rule && a.special == b.special && a.margin == b.margin &&
           a.epsilon == b.epsilon && a.amax_bound == b.amax_bound && a.cast.rounding == b.cast.rounding &&
           a.cast.saturation == b.cast.saturation && a.cast.nan == b.cast.nan &&
           a.cast.random_bits == b.cast.random_bits && a.block_scale == b.block_scale &&
           a.has_tensor_amax == b.has_tensor_amax && a.tensor_amax == b.tensor_amax && a.scale_order == b.scale_order;
}

void presets()
{
    namespace presets = ofp8::presets;
    CHECK(same(presets::TENSOR.recipe(), recipe(OFP8_E4M3, 0, 0, OFP8_SCALING_F32)));
    CHECK(same(presets::ROW.recipe(), recipe(OFP8_E4M3, 1, 0, OFP8_SCALING_F32)));
    CHECK(same(presets::DEEPSEEK_ACTIVATION.recipe(), deepseek(1)));
    CHECK(same(presets::DEEPSEEK_WEIGHT.recipe(), deepseek(128)));
    CHECK(same(presets::DEEPSEEK_ACTIVATION_E8M0.recipe(), recipe(OFP8_E4M3, 1, 128, OFP8_SCALING_E8M0)));
    CHECK(same(presets::DEEPSEEK_WEIGHT_E8M0.recipe(), recipe(OFP8_E4M3, 128, 128, OFP8_SCALING_E8M0)));
    CHECK(same(presets::MXFP8.recipe(), recipe(OFP8_E4M3, 1, 32, OFP8_SCALING_E8M0)));
    CHECK(same(presets::MXFP8_E5M2.recipe(), recipe(OFP8_E5M2, 1, 32, OFP8_SCALING_E8M0)));
    CHECK(same(presets::MXFP6_E2M3.recipe(), recipe(OFP8_E2M3, 1, 32, OFP8_SCALING_E8M0)));
    CHECK(same(presets::MXFP6_E3M2.recipe(), recipe(OFP8_E3M2, 1, 32, OFP8_SCALING_E8M0)));
    CHECK(same(presets::MXFP4.recipe(), recipe(OFP8_E2M1, 1, 32, OFP8_SCALING_E8M0)));
    CHECK(same(presets::MXINT8.recipe(), recipe(OFP8_MXINT8, 1, 32, OFP8_SCALING_E8M0)));
    CHECK(same(presets::NVFP4.recipe(), nvfp4(1)) && same(presets::NVFP4_WEIGHT.recipe(), nvfp4(16)));
}

// Every member arrives where it belongs.
void members()
{
    ofp8_recipe c = recipe(OFP8_E5M2, 3, 5, OFP8_SCALING_POWER_OF_TWO);
    c.exponent_rule = OFP8_EXPONENT_LEAST_ERROR;
    c.special = OFP8_SPECIAL_CLAMP;
    c.margin = -2;
    c.epsilon = 0.25f;
    c.amax_bound = 100.0f;
    c.cast = {OFP8_STOCHASTIC_A, OFP8_SATURATE_NONE, OFP8_NAN_KEEP_SIGN, 4};
    Quantizer quantizer;
    quantizer.element = Format::E5M2;
    quantizer.block = {3, 5};
    quantizer.scaling = ofp8::Scaling::PowerOfTwo;
    quantizer.rule = ofp8::ExponentRule::LeastError;
    quantizer.special = ofp8::Special::Clamp;
    quantizer.margin = -2;
    quantizer.epsilon = 0.25f;
    quantizer.amax_bound = 100.0f;
    quantizer.cast = {ofp8::Rounding::StochasticA, ofp8::Saturation::None, ofp8::NanPolicy::KeepSign, 4};
    CHECK(same(quantizer.recipe(), c));
    c = nvfp4(1);
    c.block_scale = OFP8_UE5M3;
    c.has_tensor_amax = 1;
    c.tensor_amax = ofp8::amax_of(12.0f);
    quantizer = ofp8::presets::NVFP4;
    quantizer.block_scale = Format::UE5M3;
    quantizer.tensor_amax = ofp8::amax_of(12.0f);
    CHECK(same(quantizer.recipe(), c));
    c = recipe(OFP8_E4M3, 0, 0, OFP8_SCALING_F32);
    c.convention = OFP8_CONVENTION_DEEPGEMM;
    c.special = OFP8_SPECIAL_IGNORE;
    c.scale_order = OFP8_LAYOUT_MN_MAJOR_PADDED;
    quantizer = {};
    quantizer.convention = ofp8::Convention::DeepGemm;
    quantizer.special = ofp8::Special::Ignore;
    quantizer.scale_order = ofp8::ScaleOrder::MnMajorPadded;
    CHECK(same(quantizer.recipe(), c));
#if __cplusplus >= 202002L
    constexpr Quantizer mine = {.element = Format::E5M2, .block = {1, 128}, .margin = 1};
    c = recipe(OFP8_E5M2, 1, 128, OFP8_SCALING_F32);
    c.margin = 1;
    CHECK(same(mine.recipe(), c));
#endif
}

// A batch of two matrices in rows with gaps, there and back, under one preset.
template <class Scale, class Code> void round_trip(const Quantizer &quantizer)
{
    constexpr std::size_t ROWS = 20, COLS = 70, STRIDE = 80, CODE_STRIDE = 72, BATCHES = 2;
    const bool is_two_level = quantizer.scaling == ofp8::Scaling::TwoLevel;
    const std::vector<ofp8::BF16> source = bf16(values(BATCHES * ROWS * STRIDE));
    const Matrix wide{source.data(), ROWS, COLS, STRIDE, BATCHES};
    const std::size_t count = quantizer.scale_count(ROWS, COLS).value(), blocks = quantizer.grid(ROWS, COLS)->size();
    std::vector<Scale> scales(count * BATCHES), c_scales(scales.size());
    std::vector<Code> codes(BATCHES * ROWS * CODE_STRIDE), c_codes(codes.size());
    std::vector<float> tensor(BATCHES), c_tensor(BATCHES);
    ofp8::QuantizeOptions options;
    if (is_two_level) {
        options.tensor_scales = tensor;
    }

    const ofp8_recipe recipe = quantizer.recipe();
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = ROWS;
    shape.cols = COLS;
    shape.stride = STRIDE;
    shape.code_stride = CODE_STRIDE;
    shape.wide_type = OFP8_BF16;
    shape.batch_count = BATCHES;
    ofp8_stats c_stats{};
    const Matrix to{codes.data(), ROWS, COLS, CODE_STRIDE, BATCHES};
    const auto stats = quantizer.quantize(wide, to, scales, options);
    CHECK(stats);
    CHECK(ofp8_quantize(&recipe, &shape, nullptr, source.data(), nullptr,
                        reinterpret_cast<std::uint8_t *>(c_codes.data()), c_scales.data(), c_scales.size(),
                        is_two_level ? c_tensor.data() : nullptr, &c_stats) == OFP8_OK);
    CHECK(std::memcmp(codes.data(), c_codes.data(), codes.size()) == 0);
    CHECK(std::memcmp(scales.data(), c_scales.data(), scales.size() * sizeof(Scale)) == 0 && tensor == c_tensor);
    CHECK(stats->count == BATCHES * ROWS * COLS && stats->count == c_stats.count && stats->zero == c_stats.zero);
    CHECK(stats->saturated == c_stats.saturated && stats->underflowed == c_stats.underflowed);
    CHECK(stats->nan == c_stats.nan && stats->infinite == c_stats.infinite && stats->amax == c_stats.amax);
    CHECK(stats->min_nonzero == c_stats.min_nonzero && stats->zero > 0);

    // The same from the amax of the blocks, and from the scales.
    std::vector<ofp8::u32> amax(blocks * BATCHES);
    CHECK(quantizer.amax_blocks(wide, amax));
    std::vector<Code> again(codes.size());
    const Matrix to_again{again.data(), ROWS, COLS, CODE_STRIDE, BATCHES};
    options.amax = amax;
    if (!is_two_level) {
        CHECK(quantizer.quantize(wide, to_again, c_scales, options) && scales == c_scales);
        CHECK(std::memcmp(codes.data(), again.data(), codes.size()) == 0);
        // The first block's: the first scale in every order.
        const ofp8::Scale scale = quantizer.scale_from_amax(amax[0]).value();
        if constexpr (sizeof(Scale) == 1) {
            CHECK(scale.code == scales[0] && scale.dequantize == ofp8_e8m0_to_f32(scale.code));
        } else {
            CHECK(scale.dequantize == scales[0] && scale.code == 0);
        }
    }
    std::vector<Code> given(codes.size());
    const View<const float> tensor_scales = is_two_level ? View<const float>(tensor) : View<const float>();
    CHECK(quantizer.quantize_given(ofp8::Given::DequantizeScale, wide, scales,
                                   Matrix{given.data(), ROWS, COLS, CODE_STRIDE, BATCHES}, nullptr, tensor_scales));
    CHECK(ofp8_quantize_given(&recipe, &shape, nullptr, source.data(), OFP8_GIVEN_DEQUANTIZE_SCALE, scales.data(),
                              scales.size(), tensor_scales.data(), reinterpret_cast<std::uint8_t *>(c_codes.data()),
                              nullptr) == OFP8_OK);
    CHECK(std::memcmp(given.data(), c_codes.data(), given.size()) == 0);

    // And back.
    std::vector<float> target(BATCHES * ROWS * COLS), c_target(target.size());
    const Matrix from{static_cast<const Code *>(codes.data()), ROWS, COLS, CODE_STRIDE, BATCHES};
    CHECK(quantizer.dequantize(from, scales, Matrix{target.data(), ROWS, COLS, 0, BATCHES}, tensor_scales));
    shape.stride = 0;
    shape.wide_type = OFP8_F32;
    CHECK(ofp8_dequantize(&recipe, &shape, reinterpret_cast<std::uint8_t *>(codes.data()), scales.data(), scales.size(),
                          tensor_scales.data(), c_target.data()) == OFP8_OK);
    CHECK(target == c_target);
    const auto measured = ofp8::measure(wide, Matrix{target.data(), ROWS, COLS, 0, BATCHES});
    CHECK(measured && measured->count == target.size() && measured->noise > 0 && measured->signal > measured->noise);
}

// Two copies of a batch in rows with gaps, each either way, against the same in C.
template <class Scale, class Code> void two_copies(const Quantizer &quantizer)
{
    constexpr std::size_t ROWS = 20, COLS = 70, STRIDE = 80, BATCHES = 2, GAP = 3;
    const bool is_two_level = quantizer.scaling == ofp8::Scaling::TwoLevel;
    const std::vector<float> source = values(BATCHES * ROWS * STRIDE);
    const Matrix wide{source.data(), ROWS, COLS, STRIDE, BATCHES};
    const ofp8_recipe recipe = quantizer.recipe();
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = ROWS;
    shape.cols = COLS;
    shape.stride = STRIDE;
    shape.wide_type = OFP8_F32;
    shape.batch_count = BATCHES;
    for (int which = 0; which < 4; ++which) {
        const bool transposed[2] = {which % 2 == 1, which / 2 == 1};
        std::vector<Code> codes[2];
        std::vector<std::uint8_t> c_codes[2];
        std::vector<Scale> scales[2], c_scales[2];
        std::vector<float> tensor[2], c_tensor[2];
        ofp8_copy c_copies[2]{};
        ofp8_stats c_stats[2]{};
        std::size_t rows[2], cols[2];
        for (int i = 0; i < 2; ++i) {
            rows[i] = transposed[i] ? COLS : ROWS;
            cols[i] = transposed[i] ? ROWS : COLS;
            const Quantizer own = transposed[i] == (i == 1) ? quantizer : quantizer.turned();
            scales[i].resize(BATCHES * own.scale_count(rows[i], cols[i]).value());
            c_scales[i] = scales[i];
            codes[i].resize(BATCHES * rows[i] * (cols[i] + GAP));
            c_codes[i].resize(codes[i].size());
            tensor[i].resize(is_two_level ? BATCHES : 0);
            c_tensor[i] = tensor[i];
            c_copies[i].struct_size = sizeof c_copies[i];
            c_copies[i].codes = c_codes[i].data();
            c_copies[i].scales = c_scales[i].data();
            c_copies[i].scale_count = c_scales[i].size();
            c_copies[i].tensor_scale = is_two_level ? c_tensor[i].data() : nullptr;
            c_copies[i].stats = &c_stats[i];
            c_copies[i].code_stride = cols[i] + GAP;
            c_copies[i].is_transposed = transposed[i] ? 1 : 0;
        }
        const auto copy = [&](int i) {
            const Matrix to{codes[i].data(), rows[i], cols[i], cols[i] + GAP, BATCHES};
            const View<float> tensor_scales = is_two_level ? View<float>(tensor[i]) : View<float>();
            return ofp8::QuantizedCopy{to, scales[i], transposed[i], nullptr, tensor_scales};
        };
        const auto check = [&](int i, const ofp8::Stats &stats) {
            CHECK(std::memcmp(codes[i].data(), c_codes[i].data(), codes[i].size()) == 0);
            CHECK(std::memcmp(scales[i].data(), c_scales[i].data(), scales[i].size() * sizeof(Scale)) == 0);
            CHECK(tensor[i] == c_tensor[i] && stats.count == c_stats[i].count && stats.amax == c_stats[i].amax);
            CHECK(stats.underflowed == c_stats[i].underflowed && stats.count == BATCHES * ROWS * COLS);
        };
        CHECK(ofp8_quantize_copies(&recipe, &shape, source.data(), &c_copies[0], &c_copies[1]) == OFP8_OK);
        const auto both = quantizer.quantize_copies(wide, copy(0), copy(1));
        CHECK(both);
        check(0, both->rowwise);
        check(1, both->columnwise);
        // One alone is the same, and nothing is seen of the other.
        codes[1].assign(codes[1].size(), Code{});
        const auto one = quantizer.quantize_copies(wide, nullptr, copy(1));
        CHECK(one && one->rowwise.count == 0);
        check(1, one->columnwise);
        CHECK(quantizer.quantize_copies(wide, copy(0), nullptr));
        CHECK(quantizer.quantize_copies(wide, nullptr, nullptr).error() == OFP8_NULL_POINTER);
        // Codes of another shape, scales of another number.
        const Matrix wide_turned{source.data(), COLS, ROWS, STRIDE, BATCHES};
        CHECK(quantizer.quantize_copies(wide_turned, copy(0), copy(1)).error() == OFP8_SHAPE);
        scales[1].pop_back();
        CHECK(quantizer.quantize_copies(wide, copy(0), copy(1)).error() == OFP8_LENGTH);
    }
}

void random_bits()
{
    const std::vector<float> source = values(256);
    const ofp8::Philox random = {1, 2, 3};
    const ofp8_philox c_random = {1, 2, 3};
    Quantizer quantizer = ofp8::presets::MXFP8;
    quantizer.cast.rounding = ofp8::Rounding::StochasticA;
    quantizer.cast.random_bits = 16;
    std::vector<ofp8::E4M3> codes(256);
    std::vector<std::uint8_t> expected(256), scales(8), c_scales(8);
    const Matrix wide{source.data(), 4, 64};
    const Matrix to{codes.data(), 4, 64};
    ofp8::QuantizeOptions options;
    CHECK(quantizer.quantize(wide, to, scales).error() == OFP8_RANDOM_BITS);
    options.random = &random;
    CHECK(quantizer.quantize(wide, to, scales, options));
    const ofp8_recipe recipe = quantizer.recipe();
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = 4;
    shape.cols = 64;
    shape.wide_type = OFP8_F32;
    CHECK(ofp8_quantize(&recipe, &shape, &c_random, source.data(), nullptr, expected.data(), c_scales.data(), 8,
                        nullptr, nullptr) == OFP8_OK);
    CHECK(std::memcmp(codes.data(), expected.data(), 256) == 0 && scales == c_scales);
}

// What the C ABI cannot see is checked here; what it sees comes through.
void mistakes()
{
    const std::vector<float> source = values(64);
    std::vector<ofp8::E4M3> codes(64);
    std::vector<ofp8::E5M2> other(64);
    std::vector<std::uint8_t> bytes(2);
    std::vector<float> floats(2);
    std::vector<ofp8::UE4M3> ue4m3(4);
    std::vector<ofp8::u32> amax(1);
    const Matrix wide{source.data(), 2, 32};
    const Matrix to{codes.data(), 2, 32};
    const Quantizer &mx = ofp8::presets::MXFP8;
    CHECK(mx.quantize(wide, Matrix{codes.data(), 2, 31}, bytes).error() == OFP8_SHAPE);
    CHECK(mx.quantize(wide, Matrix{codes.data(), 1, 32}, bytes).error() == OFP8_SHAPE);
    CHECK(mx.quantize(wide, Matrix{codes.data(), 2, 32, 32, 2}, bytes).error() == OFP8_SHAPE);
    CHECK(mx.quantize(wide, Matrix{other.data(), 2, 32}, bytes).error() == OFP8_RECIPE);
    CHECK(mx.quantize(wide, to, floats).error() == OFP8_RECIPE);
    CHECK(mx.quantize(wide, to, ue4m3).error() == OFP8_RECIPE);
    CHECK(mx.quantize(wide, to, View(bytes.data(), 1)).error() == OFP8_LENGTH);
    CHECK(ofp8::presets::ROW.quantize(wide, to, bytes).error() == OFP8_RECIPE);
    CHECK(ofp8::presets::ROW.dequantize(to, bytes, Matrix{floats.data(), 2, 32}).error() == OFP8_RECIPE);
    CHECK(ofp8::presets::ROW.dequantize(to, floats, Matrix{floats.data(), 2, 1}).error() == OFP8_SHAPE);
    CHECK(ofp8::presets::ROW.quantize_given(ofp8::Given::QuantizeScale, wide, bytes, to).error() == OFP8_RECIPE);
    CHECK(ofp8::presets::ROW.quantize_given(ofp8::Given::QuantizeScale, wide, floats, to).error() == OFP8_SCALE);
    ofp8::QuantizeOptions options;
    options.amax = amax;
    CHECK(mx.quantize(wide, to, bytes, options).error() == OFP8_LENGTH);
    options.amax = {};
    options.tensor_scales = floats;
    std::vector<std::uint8_t> fp4(64);
    CHECK(ofp8::presets::NVFP4.quantize(wide, Matrix{fp4.data(), 2, 32}, ue4m3, options).error() == OFP8_LENGTH);
    Quantizer impossible = mx;
    impossible.convention = ofp8::Convention::DeepSeek;
    CHECK(impossible.grid(1, 1).error() == OFP8_RECIPE && impossible.quantize(wide, to, bytes).error() == OFP8_RECIPE);
    CHECK(impossible.scale_from_amax(1).error() == OFP8_RECIPE);
    CHECK(impossible.amax_blocks(wide, amax).error() == OFP8_RECIPE);
    CHECK(ofp8::measure(wide, Matrix{floats.data(), 2, 1}).error() == OFP8_SHAPE);
    for (const ofp8::E4M3 code : codes) {
        CHECK(code.to_bits() == 0);
    }

    std::vector<float> infinite = source;
    CHECK(ofp8::validate(wide).value().found == 0);
    infinite[40] = -HUGE_VALF;
    const auto first = ofp8::validate(Matrix{infinite.data(), 2, 32});
    CHECK(first && first->found == 1 && first->row == 1 && first->col == 8 && first->value == -HUGE_VALF);
}

} // namespace

int main()
{
    errors();
    views();
#define BULK(name) bulk<Format::name>();
    OFP8_FOR_EACH_FORMAT(BULK)
#undef BULK
    amax_and_packing();
    presets();
    members();
    round_trip<float, ofp8::E4M3>(ofp8::presets::TENSOR);
    round_trip<float, std::uint8_t>(ofp8::presets::ROW);
    round_trip<float, ofp8::E4M3>(ofp8::presets::DEEPSEEK_WEIGHT);
    round_trip<std::uint8_t, ofp8::E4M3>(ofp8::presets::MXFP8);
    round_trip<std::uint8_t, ofp8::E5M2>(ofp8::presets::MXFP8_E5M2);
    round_trip<std::uint8_t, std::uint8_t>(ofp8::presets::MXFP6_E3M2);
    round_trip<std::uint8_t, ofp8::MXINT8>(ofp8::presets::MXINT8);
    round_trip<std::uint8_t, ofp8::E2M1>(ofp8::presets::NVFP4);
    Quantizer tiled = ofp8::presets::MXFP8, mn_major = ofp8::presets::DEEPSEEK_ACTIVATION;
    tiled.scale_order = ofp8::ScaleOrder::Tile128x4;
    mn_major.scale_order = ofp8::ScaleOrder::MnMajorPadded;
    CHECK(tiled.scale_count(20, 70).value() == 512 && tiled.grid(20, 70)->size() == 60);
    round_trip<std::uint8_t, ofp8::E4M3>(tiled);
    round_trip<float, ofp8::E4M3>(mn_major);
    two_copies<std::uint8_t, ofp8::E4M3>(ofp8::presets::MXFP8);
    two_copies<ofp8::E8M0, std::uint8_t>(tiled);
    two_copies<float, ofp8::E4M3>(ofp8::presets::DEEPSEEK_ACTIVATION);
    two_copies<ofp8::UE4M3, ofp8::E2M1>(ofp8::presets::NVFP4);
    random_bits();
    mistakes();
    return finish("quantizer");
}
