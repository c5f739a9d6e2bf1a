// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The C entry of the CUDA launchers: checks arguments, picks the instantiation, launches. No arithmetic.
#include "ofp8_cuda.h"

#include <cstdint>
#include <cstring>

#include "ofp8_quantize.cuh"

namespace {

using namespace ofp8;

ofp8_status of(cudaError_t error)
{
    return error == cudaSuccess ? OFP8_OK : static_cast<ofp8_status>(OFP8_CUDA_FAILED);
}

bool is_misaligned(const void *pointer, std::size_t size) { return reinterpret_cast<std::size_t>(pointer) % size != 0; }

// Reads a structure that begins with its size: a shorter one has a tail of zeros, a longer one an excess of zeros.
template <class T> ofp8_status read(const T *from, T &to)
{
    if (from == nullptr) {
        return OFP8_NULL_POINTER;
    }
    if (is_misaligned(from, alignof(T))) {
        return OFP8_MISALIGNED;
    }
    const std::size_t size = from->struct_size;
    if (size < sizeof size || size > sizeof(T) + 4096) {
        return OFP8_STRUCT_SIZE;
    }
    to = T{};
    std::memcpy(static_cast<void *>(&to), from, size < sizeof(T) ? size : sizeof(T));
    const auto *bytes = reinterpret_cast<const unsigned char *>(from);
    for (std::size_t i = sizeof(T); i < size; ++i) {
        if (bytes[i] != 0) {
            return OFP8_STRUCT_SIZE;
        }
    }
    return OFP8_OK;
}

Shape shape_of(const ofp8_shape &shape) { return Shape{shape.rows, shape.cols, shape.stride, shape.code_stride}; }

// What every call with a matrix checks.
ofp8_status check(const ofp8_shape *given, const void *wide, const void *codes, u64 codes_to_a_byte, ofp8_shape &shape)
{
    const ofp8_status status = read(given, shape);
    if (status != OFP8_OK) {
        return status;
    }
    if (shape.wide_type != OFP8_F32 && shape.wide_type != OFP8_F16 && shape.wide_type != OFP8_BF16) {
        return OFP8_UNKNOWN_TYPE;
    }
    const u64 row_bytes = divide_up(shape.cols, codes_to_a_byte);
    shape.stride = shape.stride == 0 ? shape.cols : shape.stride;
    shape.code_stride = shape.code_stride == 0 ? row_bytes : shape.code_stride;
    const u64 most = u64{1} << 56; // bytes from the first element to the last
    const bool overflows =
        shape.rows != 0 && (shape.stride > most / shape.rows || shape.code_stride > most / shape.rows);
    const bool is_short = shape.rows > 1 && (shape.stride < shape.cols || shape.code_stride < row_bytes);
    const bool is_large = kernel::is_too_large(shape_of(shape));
    if (overflows || is_short || is_large || shape.is_shard != 0 || shape.batch_count > 1) {
        return OFP8_SHAPE;
    }
    if (shape.rows == 0 || shape.cols == 0) {
        return OFP8_OK;
    }
    if (wide == nullptr || codes == nullptr) {
        return OFP8_NULL_POINTER;
    }
    return is_misaligned(wide, shape.wide_type == OFP8_F32 ? 4 : 2) ? OFP8_MISALIGNED : OFP8_OK;
}

// A cast that kernels take (null: the default one): stochastic ones have 16 random bits an element at most.
ofp8_status check(const ofp8_cast *given, const ofp8_philox *random, Cast &cast)
{
    std::uint8_t code = 0;
    const ofp8_status status = ofp8_encode_f32(OFP8_E4M3, given, 0.0f, 0, &code); // knows which casts there are
    if (status != OFP8_OK) {
        return status;
    }
    if (is_misaligned(random, alignof(ofp8_philox))) {
        return OFP8_MISALIGNED;
    }
    cast = given == nullptr ? Cast{}
                            : Cast{static_cast<Rounding>(given->rounding), static_cast<Saturation>(given->saturation),
                                   static_cast<NanPolicy>(given->nan), given->random_bits};
    return is_stochastic(cast.rounding) && (random == nullptr || cast.random_bits > 16) ? OFP8_RANDOM_BITS : OFP8_OK;
}

Philox philox_of(const ofp8_philox *random)
{
    return random == nullptr ? Philox{0, 0, 0} : Philox{random->seed, random->stream, random->first_index};
}

// A recipe that the library holds valid, and its scaling as kernels take it.
ofp8_status check(const ofp8_recipe *given, ofp8_recipe &recipe, Recipe &scaling)
{
    std::size_t down = 0, across = 0;
    ofp8_status status = ofp8_scale_grid(given, 1, 1, &down, &across);
    if (status == OFP8_OK) {
        status = read(given, recipe);
    }
    if (status != OFP8_OK) {
        return status;
    }
    if (recipe.scaling == OFP8_SCALING_TWO_LEVEL) {
        return OFP8_RECIPE;
    }
    scaling.scaling = static_cast<Scaling>(recipe.scaling);
    scaling.convention = static_cast<Convention>(recipe.convention);
    scaling.rule = static_cast<ExponentRule>(recipe.exponent_rule);
    scaling.special = static_cast<Special>(recipe.special);
    scaling.margin = recipe.margin;
    scaling.epsilon_bits = bits_of(recipe.epsilon);
    scaling.bound_bits = recipe.amax_bound == 0 ? F32_INFINITY : bits_of(recipe.amax_bound);
    scaling.cast = Cast{static_cast<Rounding>(recipe.cast.rounding), static_cast<Saturation>(recipe.cast.saturation),
                        static_cast<NanPolicy>(recipe.cast.nan), recipe.cast.random_bits};
    return OFP8_OK;
}

// Scales in an order. Tensor cores read 128x4 tiles from a multiple of 16 bytes.
ofp8_status check_scales(const void *scales, bool are_bytes, u32 order)
{
    if (scales == nullptr) {
        return OFP8_NULL_POINTER;
    }
    if (order > static_cast<u32>(ScaleOrder::Gfx950)) {
        return OFP8_UNKNOWN_POLICY;
    }
    const std::size_t alignment = order == OFP8_LAYOUT_TILE_128X4 ? 16 : are_bytes ? 1 : 4;
    return is_misaligned(scales, alignment) ? OFP8_MISALIGNED : OFP8_OK;
}

// The order of scales: that of the call, or, where it is 0, the recipe's.
u32 order_of(u32 order, const ofp8_recipe &recipe) { return order != 0 ? order : recipe.scale_order; }

ofp8_status check(const ofp8_cuda_copy *given, const ofp8_recipe &given_recipe, const Recipe &recipe, Copy &copy)
{
    if (given == nullptr) {
        return OFP8_OK;
    }
    ofp8_cuda_copy read_copy{};
    ofp8_status status = read(given, read_copy);
    const u32 order = order_of(read_copy.order, given_recipe);
    if (status == OFP8_OK && read_copy.codes == nullptr) {
        status = OFP8_NULL_POINTER;
    }
    if (status == OFP8_OK) {
        status = check_scales(read_copy.scales, recipe.scaling == Scaling::E8M0, order);
    }
    if (status != OFP8_OK) {
        return status;
    }
    if (read_copy.reserved != 0) {
        return OFP8_UNKNOWN_POLICY;
    }
    if (is_stochastic(recipe.cast.rounding) && recipe.cast.random_bits > 16) {
        return OFP8_RANDOM_BITS;
    }
    if (is_misaligned(read_copy.stats, 8)) {
        return OFP8_MISALIGNED;
    }
    copy = Copy{read_copy.codes,
                {read_copy.scales, static_cast<ScaleOrder>(order)},
                philox_of(&read_copy.random),
                reinterpret_cast<Stats *>(read_copy.stats)};
    return OFP8_OK;
}

// Calls `launch` with an empty value of the wide type and a constant of the format.
template <Format F> struct FormatTag {
    static constexpr Format value = F;
};

template <class Launch> ofp8_status with_type(u32 type, Launch launch)
{
    switch (type) {
    case OFP8_F32:
        return of(launch(float{}));
    case OFP8_F16:
        return of(launch(F16{}));
    case OFP8_BF16:
        return of(launch(BF16{}));
    default:
        return OFP8_UNKNOWN_TYPE;
    }
}

template <class Launch> ofp8_status with_format(u32 format, u32 type, Launch launch)
{
    switch (format) {
    case OFP8_E4M3:
        return with_type(type, [&](auto wide) { return launch(FormatTag<Format::E4M3>{}, wide); });
    case OFP8_E5M2:
        return with_type(type, [&](auto wide) { return launch(FormatTag<Format::E5M2>{}, wide); });
    default:
        return OFP8_UNKNOWN_FORMAT;
    }
}

// The same for MX, which has narrower elements too.
template <class Launch> ofp8_status with_mx_format(u32 format, u32 type, Launch launch)
{
    switch (format) {
    case OFP8_E2M1:
        return with_type(type, [&](auto wide) { return launch(FormatTag<Format::E2M1>{}, wide); });
    case OFP8_E2M3:
        return with_type(type, [&](auto wide) { return launch(FormatTag<Format::E2M3>{}, wide); });
    case OFP8_E3M2:
        return with_type(type, [&](auto wide) { return launch(FormatTag<Format::E3M2>{}, wide); });
    default:
        return with_format(format, type, launch);
    }
}

bool is_block(const ofp8_recipe &recipe, std::size_t rows, std::size_t cols)
{
    return recipe.block_rows == rows && recipe.block_cols == cols;
}

} // namespace

extern "C" {

const char *ofp8_cuda_status_text(uint32_t status)
{
    const bool is_of_cuda = status == OFP8_CUDA_FAILED;
    return is_of_cuda ? "a CUDA launch failed: cudaPeekAtLastError() says why" : ofp8_status_text(status);
}

ofp8_status ofp8_cuda_reset_stats(ofp8_stats *stats, ofp8_cuda_stream stream)
{
    if (stats == nullptr) {
        return OFP8_NULL_POINTER;
    }
    if (is_misaligned(stats, 8)) {
        return OFP8_MISALIGNED;
    }
    return of(launch_reset_stats(reinterpret_cast<Stats *>(stats), stream));
}

ofp8_status ofp8_cuda_amax(const ofp8_shape *given, const void *source, uint32_t special, uint32_t *amax,
                           ofp8_cuda_stream stream)
{
    ofp8_shape shape{};
    const ofp8_status status = check(given, source, amax, 1, shape);
    if (status != OFP8_OK) {
        return status;
    }
    if (is_misaligned(amax, 4)) {
        return OFP8_MISALIGNED;
    }
    if (special > OFP8_SPECIAL_CLAMP) {
        return OFP8_UNKNOWN_POLICY;
    }
    return with_type(shape.wide_type, [&](auto wide) {
        const auto *from = static_cast<const decltype(wide) *>(source);
        return launch_amax(from, shape_of(shape), static_cast<Special>(special), amax, stream);
    });
}

ofp8_status ofp8_cuda_amax_nvfp4(const ofp8_shape *given, const void *source, uint32_t *amax, ofp8_cuda_stream stream)
{
    ofp8_shape shape{};
    const ofp8_status status = check(given, source, amax, 1, shape);
    if (status != OFP8_OK) {
        return status;
    }
    if (is_misaligned(amax, 4)) {
        return OFP8_MISALIGNED;
    }
    return with_type(shape.wide_type, [&](auto wide) {
        return launch_amax_nvfp4(static_cast<const decltype(wide) *>(source), shape_of(shape), amax, stream);
    });
}

ofp8_status ofp8_cuda_cast(uint32_t format, const ofp8_cast *given_cast, const ofp8_philox *random,
                           const ofp8_shape *given, const void *source, const float *quantize_scale, uint8_t *codes,
                           uint32_t *amax, ofp8_stats *stats, ofp8_cuda_stream stream)
{
    ofp8_shape shape{};
    ofp8_status status = check(given, source, codes, 1, shape);
    Cast cast;
    if (status == OFP8_OK) {
        status = check(given_cast, random, cast);
    }
    if (status != OFP8_OK) {
        return status;
    }
    if (is_misaligned(quantize_scale, 4) || is_misaligned(amax, 4) || is_misaligned(stats, 8)) {
        return OFP8_MISALIGNED;
    }
    return with_format(format, shape.wide_type, [&](auto element, auto wide) {
        const auto *from = static_cast<const decltype(wide) *>(source);
        return launch_cast<decltype(element)::value>(from, shape_of(shape), codes, quantize_scale, cast,
                                                     philox_of(random), amax, reinterpret_cast<Stats *>(stats), stream);
    });
}

ofp8_status ofp8_cuda_quantize(const ofp8_recipe *given_recipe, const ofp8_shape *given, const void *source,
                               const ofp8_cuda_copy *row, const ofp8_cuda_copy *column, uint32_t *amax,
                               ofp8_cuda_stream stream)
{
    ofp8_recipe recipe{};
    Recipe scaling;
    ofp8_shape shape{};
    Copy row_copy, column_copy;
    if (row == nullptr && column == nullptr) {
        return OFP8_NULL_POINTER;
    }
    ofp8_status status = check(given_recipe, recipe, scaling);
    status = status == OFP8_OK ? check(row, recipe, scaling, row_copy) : status;
    status = status == OFP8_OK ? check(column, recipe, scaling, column_copy) : status;
    const std::uint8_t *codes = row_copy.codes != nullptr ? row_copy.codes : column_copy.codes;
    status = status == OFP8_OK ? check(given, source, codes, 1, shape) : status;
    if (status != OFP8_OK) {
        return status;
    }
    const bool is_tensor = is_block(recipe, 0, 0);
    const bool is_mx = is_block(recipe, 1, 32) && scaling.scaling == Scaling::E8M0;
    const bool is_known = is_tensor || is_mx || is_block(recipe, 1, 128) || is_block(recipe, 128, 128);
    const bool is_ordered = row_copy.scales.order != ScaleOrder::RowMajor;
    if (!is_known || (is_tensor && (scaling.scaling == Scaling::E8M0 || is_ordered)) ||
        scaling.rule == ExponentRule::LeastError) {
        return OFP8_RECIPE;
    }
    if ((column != nullptr) > is_mx || (amax != nullptr) != is_tensor || (row == nullptr && !is_mx)) {
        return is_tensor && amax == nullptr ? OFP8_NULL_POINTER : OFP8_RECIPE;
    }
    const Shape matrix = shape_of(shape);
    if (!is_tensor && kernel::is_too_large_for_blocks(matrix)) {
        return OFP8_SHAPE;
    }
    if (is_mx) {
        return with_mx_format(recipe.element, shape.wide_type, [&](auto element, auto wide) {
            const auto *from = static_cast<const decltype(wide) *>(source);
            return launch_quantize_mx<decltype(element)::value>(from, matrix, scaling, row_copy, column_copy, stream);
        });
    }
    return with_format(recipe.element, shape.wide_type, [&](auto element, auto wide) {
        constexpr Format F = decltype(element)::value;
        const auto *from = static_cast<const decltype(wide) *>(source);
        if (is_tensor) {
            return launch_quantize_tensor<F>(from, matrix, row_copy.codes, scaling, row_copy.random, amax,
                                             static_cast<float *>(row_copy.scales.data), row_copy.stats, stream);
        }
        if (recipe.block_rows == 1) {
            return launch_quantize_1x128<F>(from, matrix, scaling, row_copy, stream);
        }
        return launch_quantize_128x128<F>(from, matrix, scaling, row_copy, stream);
    });
}

ofp8_status ofp8_cuda_quantize_nvfp4(const ofp8_shape *given, const void *source, const uint32_t *tensor_amax,
                                     uint8_t *codes, uint8_t *scales, uint32_t order, float *tensor_dequantize,
                                     ofp8_cuda_stream stream)
{
    ofp8_shape shape{};
    ofp8_status status = check(given, source, codes, 2, shape);
    status = status == OFP8_OK ? check_scales(scales, true, order) : status;
    if (status != OFP8_OK) {
        return status;
    }
    if (tensor_amax == nullptr) {
        return OFP8_NULL_POINTER;
    }
    if (is_misaligned(tensor_amax, 4) || is_misaligned(tensor_dequantize, 4)) {
        return OFP8_MISALIGNED;
    }
    const Shape matrix = shape_of(shape);
    if (kernel::is_too_large_for_blocks(matrix)) {
        return OFP8_SHAPE;
    }
    return with_type(shape.wide_type, [&](auto wide) {
        const auto *from = static_cast<const decltype(wide) *>(source);
        const ScaleBuffer buffer = {scales, static_cast<ScaleOrder>(order)};
        return launch_quantize_nvfp4(from, matrix, tensor_amax, codes, buffer, tensor_dequantize, stream);
    });
}

ofp8_status ofp8_cuda_dequantize_nvfp4(const ofp8_shape *given, const uint8_t *codes, const uint8_t *scales,
                                       uint32_t order, const float *tensor_dequantize, void *target,
                                       ofp8_cuda_stream stream)
{
    ofp8_shape shape{};
    ofp8_status status = check(given, target, codes, 2, shape);
    status = status == OFP8_OK ? check_scales(scales, true, order) : status;
    if (status != OFP8_OK) {
        return status;
    }
    if (tensor_dequantize == nullptr) {
        return OFP8_NULL_POINTER;
    }
    if (is_misaligned(tensor_dequantize, 4)) {
        return OFP8_MISALIGNED;
    }
    const Shape matrix = shape_of(shape);
    if (kernel::is_too_large_for_blocks(matrix)) {
        return OFP8_SHAPE;
    }
    return with_type(shape.wide_type, [&](auto wide) {
        const ScaleBuffer buffer = {const_cast<uint8_t *>(scales), static_cast<ScaleOrder>(order)};
        auto *to = static_cast<decltype(wide) *>(target);
        return launch_dequantize_nvfp4(codes, matrix, buffer, tensor_dequantize, to, stream);
    });
}

ofp8_status ofp8_cuda_dequantize(const ofp8_recipe *given_recipe, const ofp8_shape *given, const uint8_t *codes,
                                 const void *scales, uint32_t order, void *target, ofp8_cuda_stream stream)
{
    ofp8_recipe recipe{};
    Recipe scaling;
    ofp8_shape shape{};
    ofp8_status status = check(given_recipe, recipe, scaling);
    status = status == OFP8_OK ? check(given, target, codes, 1, shape) : status;
    order = order_of(order, recipe);
    status = status == OFP8_OK ? check_scales(scales, scaling.scaling == Scaling::E8M0, order) : status;
    if (status != OFP8_OK) {
        return status;
    }
    const Shape matrix = shape_of(shape);
    if (!is_block(recipe, 0, 0) && kernel::is_too_large_for_blocks(matrix)) {
        return OFP8_SHAPE;
    }
    return with_mx_format(recipe.element, shape.wide_type, [&](auto element, auto wide) {
        constexpr Format F = decltype(element)::value;
        auto *to = static_cast<decltype(wide) *>(target);
        const ScaleBuffer buffer = {const_cast<void *>(scales), static_cast<ScaleOrder>(order)};
        return launch_dequantize<F>(codes, matrix, scaling.scaling, buffer, recipe.block_rows, recipe.block_cols, to,
                                    stream);
    });
}

ofp8_status ofp8_cuda_update_scales(const ofp8_delayed *given_rules, const ofp8_recipe *given_recipe, uint32_t *words,
                                    size_t tensors, float *quantize_scale, float *dequantize_scale,
                                    ofp8_cuda_stream stream)
{
    ofp8_recipe recipe{};
    ofp8_delayed rules{};
    Recipe scaling;
    std::size_t size = 0;
    ofp8_status status = ofp8_delayed_size(given_rules, tensors, &size);
    status = status == OFP8_OK ? read(given_rules, rules) : status;
    status = status == OFP8_OK ? check(given_recipe, recipe, scaling) : status;
    if (status != OFP8_OK) {
        return status;
    }
    const bool multiplies = scaling.scaling == Scaling::PowerOfTwo ||
                            (scaling.scaling == Scaling::F32 && scaling.convention == Convention::TransformerEngine);
    if (!multiplies || rules.calibration != 0) {
        return OFP8_RECIPE;
    }
    if (recipe.element != OFP8_E4M3 && recipe.element != OFP8_E5M2) {
        return OFP8_UNKNOWN_FORMAT;
    }
    if (tensors == 0) {
        return OFP8_OK;
    }
    if (words == nullptr) {
        return OFP8_NULL_POINTER;
    }
    if (is_misaligned(words, 4) || is_misaligned(quantize_scale, 4) || is_misaligned(dequantize_scale, 4)) {
        return OFP8_MISALIGNED;
    }
    const kernel::DelayedArguments arguments = {words,
                                                rules.history,
                                                tensors,
                                                rules.algorithm == OFP8_AMAX_MOST_RECENT,
                                                static_cast<NonFinite>(rules.non_finite),
                                                scaling,
                                                quantize_scale,
                                                dequantize_scale};
    return of(recipe.element == OFP8_E4M3 ? launch_update_scales<Format::E4M3>(arguments, stream)
                                          : launch_update_scales<Format::E5M2>(arguments, stream));
}

} // extern "C"
