// SPDX-License-Identifier: MIT OR Apache-2.0
// A C++17 program: the header beside the standard library, errors as C++ people handle them.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "check.h"

namespace {

void require(ofp8_status status)
{
    if (status != OFP8_OK) {
        throw std::runtime_error(ofp8_status_text(status));
    }
}

struct Quantized {
    std::vector<std::uint8_t> codes;
    std::vector<float> scales;
    ofp8_stats stats{};
};

// DeepSeek-V3's weight recipe: 128x128 blocks, f32 scales.
ofp8_recipe weight_recipe()
{
    ofp8_recipe recipe{};
    recipe.struct_size = sizeof recipe;
    recipe.element = OFP8_E4M3;
    recipe.block_rows = 128;
    recipe.block_cols = 128;
    recipe.convention = OFP8_CONVENTION_DEEPSEEK;
    return recipe;
}

ofp8_shape matrix(std::size_t rows, std::size_t cols)
{
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = rows;
    shape.cols = cols;
    shape.wide_type = OFP8_F32;
    return shape;
}

Quantized quantize(const std::vector<float> &weights, std::size_t rows, std::size_t cols)
{
    const auto recipe = weight_recipe();
    const auto shape = matrix(rows, cols);
    std::size_t down = 0, across = 0;
    require(ofp8_scale_grid(&recipe, rows, cols, &down, &across));
    Quantized result{std::vector<std::uint8_t>(rows * cols), std::vector<float>(down * across)};
    require(ofp8_quantize(&recipe, &shape, nullptr, weights.data(), nullptr, result.codes.data(),
                          result.scales.data(), result.scales.size(), nullptr,
                          &result.stats));
    return result;
}

void round_trip()
{
    constexpr std::size_t rows = 200, cols = 300;
    std::vector<float> weights(rows * cols), back(rows * cols);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = std::sin(static_cast<float>(i)) * 0.02f;
    }
    const auto quantized = quantize(weights, rows, cols);
    CHECK(quantized.scales.size() == 2 * 3);
    CHECK(quantized.stats.saturated == 0);
    const auto recipe = weight_recipe();
    const auto shape = matrix(rows, cols);
    require(ofp8_dequantize(&recipe, &shape, quantized.codes.data(), quantized.scales.data(),
                            quantized.scales.size(), nullptr, back.data()));
    float worst = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        worst = std::max(worst, std::fabs(weights[i] - back[i]));
    }
    // Half an ulp of the top binade of a block whose amax is at most 0.02.
    CHECK(worst <= 0.02f / 448.0f * 16.0f * 1.001f);
}

void errors_throw()
{
    bool thrown = false;
    try {
        require(ofp8_encode(OFP8_E4M3, nullptr, nullptr, OFP8_F32, nullptr, 5, nullptr));
    } catch (const std::runtime_error &error) {
        thrown = std::string(error.what()) == "a pointer is null";
    }
    CHECK(thrown);
}

} // namespace

int main()
{
    round_trip();
    errors_throw();
    return finish("views");
}
