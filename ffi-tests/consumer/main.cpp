// SPDX-License-Identifier: MIT OR Apache-2.0
// Quantizes a matrix to MXFP8 and back, and says how far off it is.
#include <cmath>
#include <iostream>
#include <ofp8.hpp>
#include <vector>

int main()
try {
    constexpr std::size_t rows = 8, cols = 96;
    std::vector<float> weights(rows * cols), back(rows * cols);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = std::sin(static_cast<float>(i)) / 2;
    }

    const ofp8::Quantizer &quantizer = ofp8::presets::MXFP8;
    std::vector<ofp8::E4M3> codes(weights.size());
    std::vector<ofp8::E8M0> scales(quantizer.grid(rows, cols).value().size());
    const ofp8::Matrix matrix{codes.data(), rows, cols};
    const auto stats = quantizer.quantize(ofp8::Matrix{weights.data(), rows, cols}, matrix, scales).value();
    quantizer.dequantize(matrix, scales, ofp8::Matrix{back.data(), rows, cols}).value();

    float worst = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        worst = std::fmax(worst, std::fabs(weights[i] - back[i]));
    }
    std::cout << stats << "; off by at most " << worst << "; the first is " << codes[1] << " x " << scales[0] << '\n';
    return stats.saturated == 0 && worst > 0 && worst <= 1.0f / 64 ? 0 : 1;
} catch (const ofp8::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
