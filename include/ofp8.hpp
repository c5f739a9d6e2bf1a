// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ofp8 for C++17 and later: a type for each format, views, the quantizer. Header-only, over the C ABI (ofp8.h) and the
// constexpr arithmetic (ofp8_arith.hpp). Works without exceptions and without RTTI.
//
//     constexpr ofp8::E4M3 x(0.3f);             // rounded once, in a constant expression, too
//     float y = x;                              // exactly: 0.3125
//
//     std::vector<ofp8::E4M3> codes(weights.size());
//     ofp8::encode(weights, codes).value();     // throws ofp8::Error where it cannot be done
//
//     ofp8::Quantizer quantizer = ofp8::presets::MXFP8;
//     quantizer.element = ofp8::Format::E5M2;
//     const auto stats = quantizer.quantize(ofp8::Matrix{weights.data(), rows, cols},
//                                           ofp8::Matrix{codes.data(), rows, cols}, scales);
//     if (!stats) {
//         std::puts(ofp8::text(stats.error()));
//     }
//
// Whatever can fail returns an Expected: ask it, or take its value() and have an exception. The numbers and `constexpr`
// functions need no library; the functions on views call the C ABI, and so need libofp8 linked.
//
// With <ostream> included, numbers, formats and statistics can be written to a stream.
//
// In this order: errors, numbers, views, many values, the quantizer, writing to streams.
#ifndef OFP8_HPP
#define OFP8_HPP

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "ofp8.hpp needs C++17; ofp8.h is for C++11 and C++14"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#if __cplusplus >= 202002L
#include <span>
#endif

#include "ofp8.h"
#include "ofp8_arith.hpp"

namespace ofp8 {

// ---------------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------------

/// What became of a call: OFP8_OK, or why nothing was done (and nothing was written).
using Status = ::ofp8_status;

/// One line in English for a status.
inline const char *text(Status status) noexcept { return ofp8_status_text(status); }

/// What Expected::value() throws.
class Error : public std::exception {
public:
    explicit Error(Status status) noexcept : status_(status) {}
    Status status() const noexcept { return status_; }
    const char *what() const noexcept override { return text(status_); }

private:
    Status status_;
};

namespace detail {

// Throws an Error; ends the program where it is compiled without exceptions.
[[noreturn]] inline void fail([[maybe_unused]] Status status)
{
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    throw Error(status);
#else
    std::abort();
#endif
}

} // namespace detail

/// The result of a call that can fail: a T, or the status that says why there is none. The part of C++23's
/// std::expected that is needed here, with the same names.
template <class T> class [[nodiscard]] Expected {
public:
    constexpr Expected(T value) : value_(std::move(value)) {}
    constexpr Expected(Status error) : status_(error) {}

    constexpr bool has_value() const noexcept { return status_ == OFP8_OK; }
    constexpr explicit operator bool() const noexcept { return has_value(); }
    /// Why there is no value; OFP8_OK where there is one.
    constexpr Status error() const noexcept { return status_; }
    /// The value; where there is none, throws Error, or ends the program if it is compiled without exceptions.
    constexpr T value() const
    {
        if (!has_value()) {
            detail::fail(status_);
        }
        return value_;
    }
    constexpr T value_or(T other) const { return has_value() ? value_ : other; }
    /// The value, which must be there.
    constexpr const T &operator*() const noexcept { return value_; }
    constexpr const T *operator->() const noexcept { return &value_; }

private:
    T value_{};
    Status status_ = OFP8_OK;
};

/// The result of a call that can fail and gives nothing else.
template <> class [[nodiscard]] Expected<void> {
public:
    constexpr Expected(Status error) : status_(error) {}

    constexpr bool has_value() const noexcept { return status_ == OFP8_OK; }
    constexpr explicit operator bool() const noexcept { return has_value(); }
    constexpr Status error() const noexcept { return status_; }
    /// Nothing; where the call failed, throws Error, or ends the program if it is compiled without exceptions.
    constexpr void value() const
    {
        if (!has_value()) {
            detail::fail(status_);
        }
    }

private:
    Status status_;
};

namespace detail {

template <class T> constexpr Expected<T> result(Status status, T value)
{
    return status == OFP8_OK ? Expected<T>(std::move(value)) : Expected<T>(status);
}

} // namespace detail

// ---------------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------------

/// The name of a format as it is written in C: "E4M3", "E4M3FNUZ", ...; "unknown" for a number that is none.
constexpr const char *name(Format format) noexcept
{
    switch (format) {
#define OFP8_CASE(name)                                                                                                \
    case Format::name:                                                                                                 \
        return #name;
        OFP8_FOR_EACH_FORMAT(OFP8_CASE)
#undef OFP8_CASE
    }
    return "unknown";
}

/// Which wide type a C++ type is, for the functions on buffers. Specialise it for 16-bit types of your own:
///
///     template <> inline constexpr ofp8::FloatType ofp8::wide_type<c10::Half> = ofp8::FloatType::F16;
template <class T> inline constexpr FloatType wide_type = FloatType{};
template <> inline constexpr FloatType wide_type<float> = FloatType::F32;
template <> inline constexpr FloatType wide_type<double> = FloatType::F64;
template <> inline constexpr FloatType wide_type<F16> = FloatType::F16;
template <> inline constexpr FloatType wide_type<BF16> = FloatType::BF16;

template <Format F> class Number;

namespace detail {

template <class T> inline constexpr bool is_number = false;
template <Format F> inline constexpr bool is_number<Number<F>> = true;

template <class T> inline constexpr bool is_wide = wide_type<T> != FloatType{};

// Whether a code can be made from a T.
template <class T> inline constexpr bool is_source = is_wide<T> || is_number<T> || std::is_integral_v<T>;

// The code of a value of any type that is_source, rounded once.
template <Format F, class T> OFP8_FUNCTION u8 encode_any(T value, Cast cast, u32 word)
{
    if constexpr (std::is_integral_v<T>) {
        const bool negative = value < T{};
        const u64 magnitude = negative ? 0 - static_cast<u64>(value) : static_cast<u64>(value);
        return static_cast<u8>(encode_value(spec(F), cast, number(negative, magnitude, 0), word));
    } else if constexpr (is_number<T>) {
        return static_cast<u8>(convert(spec(T::format), spec(F), cast, value.to_bits(), word));
    } else if constexpr (wide_type<T> == FloatType::F16) {
        return encode_f16<F>(__builtin_bit_cast(u16, value), cast, word);
    } else if constexpr (wide_type<T> == FloatType::BF16) {
        return encode_bf16<F>(__builtin_bit_cast(u16, value), cast, word);
    } else {
        return encode<F>(value, cast, word);
    }
}

} // namespace detail

/// A value of a format, in one byte: a storage type. It becomes a `float` by itself, exactly; whatever becomes one is
/// rounded, and says so:
///
///     ofp8::E4M3 sum(a + b);                                                     // nearest-even, saturating
///     ofp8::E4M3 up(a + b, ofp8::Cast{ofp8::Rounding::TowardPositive, {}, {}, 0});
///
/// Arithmetic and comparisons are therefore those of float: -0 == 0, and NaN equals nothing. Trivial: without an
/// initialiser its value is indeterminate, as with float; `{}` is the code 0.
template <Format F> class Number {
public:
    /// Which format.
    static constexpr Format format = F;

    Number() = default;

    /// The value by `cast`, rounded once: of a float, double, F16, BF16, an integer, a value of another format, or a
    /// type that wide_type was specialised for. `word` holds the random bits of a stochastic rounding.
    template <class T, class = std::enable_if_t<detail::is_source<T> && !std::is_same_v<T, Number>>>
    explicit OFP8_FUNCTION Number(T value, Cast cast = {}, u32 word = 0)
        : code_(detail::encode_any<F>(value, cast, word))
    {
    }

    /// The value with this code; bits above its width are ignored.
    static OFP8_FUNCTION Number from_bits(u8 bits)
    {
        Number number{};
        number.code_ = static_cast<u8>(bits & MASK);
        return number;
    }

    /// The code; bits above its width are zero.
    OFP8_FUNCTION u8 to_bits() const { return static_cast<u8>(code_ & MASK); }

    /// The value, exactly. NaN is quiet and keeps its sign.
    OFP8_FUNCTION operator float() const { return decode<F>(code_); }

    /// The nearest binary16 and bfloat16; infinity where the value is too large.
    explicit OFP8_FUNCTION operator F16() const { return F16{decode_f16<F>(code_)}; }
    explicit OFP8_FUNCTION operator BF16() const { return BF16{decode_bf16<F>(code_)}; }

    OFP8_FUNCTION bool is_nan() const { return ofp8::is_nan(spec(F), code_); }
    OFP8_FUNCTION bool is_infinite() const { return ofp8::is_infinite(spec(F), code_); }
    OFP8_FUNCTION bool is_finite() const { return !is_nan() && !is_infinite(); }

private:
    static constexpr u8 MASK = static_cast<u8>(spec(F).code_mask);
    u8 code_;
};

// A type for each format: ofp8::E4M3, ofp8::E5M2, ofp8::E4M3FNUZ, ...
#define OFP8_ALIAS(name) using name = Number<Format::name>;
OFP8_FOR_EACH_FORMAT(OFP8_ALIAS)
#undef OFP8_ALIAS

static_assert(sizeof(E4M3) == 1 && std::is_standard_layout_v<E4M3> && std::is_trivially_copyable_v<E4M3> &&
                  std::is_trivially_default_constructible_v<E4M3>,
              "a byte");

// ---------------------------------------------------------------------------------------------------------------------
// Views
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// The element type of an array or contiguous container, const where that is.
template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;

// Whether a view of U can be one of T: the same, or const.
template <class U, class T> inline constexpr bool is_viewable = std::is_convertible_v<U (*)[], T (*)[]>;

} // namespace detail

/// Values that lie one after another and belong to somebody else: a pointer and a length. Made from arrays and
/// contiguous containers by itself; in C++20 also from, and convertible to, std::span.
template <class T> class View {
public:
    constexpr View() = default;
    constexpr View(T *data, std::size_t size) : data_(data), size_(size) {}
    template <class C, class = std::enable_if_t<!std::is_same_v<std::decay_t<C>, View>>,
              class = std::enable_if_t<detail::is_viewable<detail::element<C>, T>>>
    constexpr View(C &&container) : data_(std::data(container)), size_(std::size(container))
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const { return data_[index]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
template <class C> View(C &&) -> View<detail::element<C>>;

/// A row-major matrix, or a batch of equal ones, that belongs to somebody else. `Matrix{data, rows, cols}` has no gaps.
template <class T> struct Matrix {
    T *data = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t stride = 0;       ///< elements between the beginnings of two rows; 0: cols
    std::size_t batches = 1;      ///< matrices, one after another
    std::size_t batch_stride = 0; ///< elements between the beginnings of two of them; 0: rows * stride
};
template <class T> Matrix(T *, std::size_t, std::size_t) -> Matrix<T>;
template <class T> Matrix(T *, std::size_t, std::size_t, std::size_t) -> Matrix<T>;
template <class T> Matrix(T *, std::size_t, std::size_t, std::size_t, std::size_t) -> Matrix<T>;
template <class T> Matrix(T *, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t) -> Matrix<T>;

// ---------------------------------------------------------------------------------------------------------------------
// Many values. Sources, codes and targets are anything that a View can be made from: vectors, arrays, spans, views.
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// The number of a wide type as the C ABI takes it.
template <class T> constexpr std::uint32_t wide_number()
{
    constexpr FloatType type = wide_type<std::remove_cv_t<T>>;
    static_assert(type != FloatType{}, "not a wide type: specialise ofp8::wide_type for it");
    static_assert(sizeof(T) * 8 == spec(type).bits, "the size of the type is not that of its wide_type");
    return static_cast<std::uint32_t>(type);
}

// Codes are bytes, or numbers of a format.
template <class T>
inline constexpr bool is_code = is_number<std::remove_cv_t<T>> || std::is_same_v<std::remove_cv_t<T>, u8>;

// Codes as bytes: `unsigned char` may look at whatever it likes.
template <class T> auto bytes(T *codes)
{
    static_assert(is_code<T>, "codes are std::uint8_t or the types of this header, such as ofp8::E4M3");
    using Byte = std::conditional_t<std::is_const_v<T>, const u8, u8>;
    return reinterpret_cast<Byte *>(codes);
}

// The format that codes of this type have.
template <class T> constexpr Format format_of()
{
    static_assert(is_number<std::remove_cv_t<T>>, "codes without a format: name it, encode(format, source, codes)");
    return T::format;
}

// Whether codes of this type can hold those of a format.
template <class T> constexpr bool fits(Format format)
{
    if constexpr (is_number<std::remove_cv_t<T>>) {
        return T::format == format;
    } else {
        return true;
    }
}

inline ofp8_cast c_cast(Cast cast)
{
    return ofp8_cast{static_cast<std::uint32_t>(cast.rounding), static_cast<std::uint32_t>(cast.saturation),
                     static_cast<std::uint32_t>(cast.nan), cast.random_bits};
}

// Random bits as the C ABI takes them: a null pointer for none.
class CPhilox {
public:
    explicit CPhilox(const Philox *random)
        : philox_(random == nullptr ? ofp8_philox{} : ofp8_philox{random->seed, random->stream, random->first_index}),
          is_there_(random != nullptr)
    {
    }
    const ofp8_philox *get() const { return is_there_ ? &philox_ : nullptr; }

private:
    ofp8_philox philox_;
    bool is_there_;
};

} // namespace detail

/// Encodes values as codes of a format, each rounded once by `cast`. `random` is read by a stochastic rounding only,
/// and serves 16 bits an element.
template <class Source, class Codes>
Expected<void> encode(Format format, const Source &source, Codes &&codes, Cast cast = {},
                      const Philox *random = nullptr)
{
    const View from(source);
    const View to(codes);
    using Code = detail::element<Codes>;
    if (from.size() != to.size()) {
        return OFP8_LENGTH;
    }
    if (!detail::fits<Code>(format)) {
        return OFP8_UNKNOWN_FORMAT;
    }
    const ofp8_cast c_cast = detail::c_cast(cast);
    const detail::CPhilox philox(random);
    return ofp8_encode(static_cast<std::uint32_t>(format), &c_cast, philox.get(),
                       detail::wide_number<detail::element<const Source>>(), from.data(), from.size(),
                       detail::bytes(to.data()));
}

/// The same for codes that know their format.
template <class Source, class Codes>
Expected<void> encode(const Source &source, Codes &&codes, Cast cast = {}, const Philox *random = nullptr)
{
    return encode(detail::format_of<detail::element<Codes>>(), source, codes, cast, random);
}

/// Decodes codes of a format; F16 and BF16 are rounded once to nearest-even where they cannot hold a value.
template <class Codes, class Target> Expected<void> decode(Format format, const Codes &codes, Target &&target)
{
    const View from(codes);
    const View to(target);
    if (from.size() != to.size()) {
        return OFP8_LENGTH;
    }
    if (!detail::fits<detail::element<const Codes>>(format)) {
        return OFP8_UNKNOWN_FORMAT;
    }
    return ofp8_decode(static_cast<std::uint32_t>(format), detail::bytes(from.data()), from.size(),
                       detail::wide_number<detail::element<Target>>(), to.data());
}

/// The same for codes that know their format.
template <class Codes, class Target> Expected<void> decode(const Codes &codes, Target &&target)
{
    return decode(detail::format_of<detail::element<const Codes>>(), codes, target);
}

/// The largest absolute value, as the integer whose maximum is the merge (see amax_of); its value is float_of() of it.
template <class Source> Expected<u32> amax(const Source &source)
{
    const View from(source);
    std::uint32_t amax = 0;
    const Status status =
        ofp8_amax(detail::wide_number<detail::element<const Source>>(), from.data(), from.size(), &amax);
    return detail::result<u32>(status, amax);
}

/// How codes narrower than a byte are packed.
enum class Packing : u32 {
    Fp4LowFirst = OFP8_PACKING_FP4_LOW_FIRST,   ///< two in a byte, the first in the low half
    Fp4HighFirst = OFP8_PACKING_FP4_HIGH_FIRST, ///< two in a byte, the first in the high half
    Fp6 = OFP8_PACKING_FP6,                     ///< four in three bytes, little-endian
};

/// The bytes that so many codes take.
inline Expected<std::size_t> packed_size(Packing packing, std::size_t count)
{
    std::size_t bytes = 0;
    const Status status = ofp8_packed_size(static_cast<std::uint32_t>(packing), count, &bytes);
    return detail::result(status, bytes);
}

/// Packs codes, one a byte, into packed_size() bytes.
template <class Codes> Expected<void> pack(Packing packing, const Codes &codes, View<std::uint8_t> packed)
{
    const View from(codes);
    if (packed.size() != packed_size(packing, from.size()).value_or(packed.size())) {
        return OFP8_LENGTH;
    }
    return ofp8_pack(static_cast<std::uint32_t>(packing), detail::bytes(from.data()), from.size(), packed.data());
}

/// Unpacks as many codes as there is room for; the inverse of pack().
template <class Codes> Expected<void> unpack(Packing packing, View<const std::uint8_t> packed, Codes &&codes)
{
    const View to(codes);
    if (packed.size() != packed_size(packing, to.size()).value_or(packed.size())) {
        return OFP8_LENGTH;
    }
    return ofp8_unpack(static_cast<std::uint32_t>(packing), packed.data(), to.size(), detail::bytes(to.data()));
}

// ---------------------------------------------------------------------------------------------------------------------
// The quantizer
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

// The shape of a call, for a matrix of wide values and, where there is one, its codes.
template <class Wide, class Code = const u8>
ofp8_shape shape_of(const Matrix<Wide> &wide, const Matrix<Code> &codes = {})
{
    ofp8_shape shape{};
    shape.struct_size = sizeof shape;
    shape.rows = wide.rows;
    shape.cols = wide.cols;
    shape.stride = wide.stride;
    shape.code_stride = codes.stride;
    static_assert(wide_type<std::remove_cv_t<Wide>> != FloatType::F64, "matrices are float, half or bfloat16");
    shape.wide_type = wide_number<Wide>();
    shape.batch_count = wide.batches;
    shape.batch_stride = wide.batch_stride;
    shape.code_batch_stride = codes.batch_stride;
    return shape;
}

inline Stats stats_of(const ofp8_stats &c)
{
    return Stats{c.count, c.zero, c.saturated, c.underflowed, c.nan, c.infinite, c.amax, c.min_nonzero};
}

} // namespace detail

/// Rows and columns: of a block (0: all there are), or of the scales of a matrix.
struct Grid {
    std::size_t rows = 0;
    std::size_t cols = 0;

    /// How many there are in a grid of scales.
    constexpr std::size_t size() const { return rows * cols; }
};

/// The scale of a block.
struct Scale {
    float dequantize = 0; ///< what a decoded element is multiplied by
    u8 code = 0;          ///< the byte that is stored, where scales are bytes
};

/// Which way round scales are that were computed elsewhere.
enum class Given : u32 {
    QuantizeScale = OFP8_GIVEN_QUANTIZE_SCALE,     ///< what elements are multiplied by
    DequantizeScale = OFP8_GIVEN_DEQUANTIZE_SCALE, ///< what decoded elements are multiplied by: as they are stored
};

/// What a call of Quantizer::quantize may add.
struct QuantizeOptions {
    const Philox *random = nullptr; ///< random bits of a stochastic cast
    View<const u32> amax;           ///< of each block, where known before (amax_blocks, merged over ranks)
    View<float> tensor_scales;      ///< Scaling::TwoLevel: receives one scale a matrix
};

/// One quantized copy of a matrix, to be written, for Quantizer::quantize_copies:
///
///     ofp8::QuantizedCopy{ofp8::Matrix{codes.data(), cols, rows}, scales, true} // transposed
template <class Code, class Scale> struct QuantizedCopy {
    Matrix<Code> codes;             ///< in the shape of the source; transposed, with as many rows as it has columns
    View<Scale> scales;             ///< those of its own blocks: float, or bytes
    bool is_transposed = false;     ///< a row of codes is a column of the source
    const Philox *random = nullptr; ///< random bits of a stochastic cast: for each copy another stream
    View<float> tensor_scales = {}; ///< Scaling::TwoLevel: receives one scale a matrix
};
template <class Code, class Scales, class... Rest>
QuantizedCopy(Matrix<Code>, Scales &&, Rest...) -> QuantizedCopy<Code, detail::element<Scales>>;

/// What was seen of each of two copies; nothing of one that was left out.
struct CopyStats {
    Stats rowwise;
    Stats columnwise;
};

namespace detail {

// A copy as the C ABI takes it: a null pointer for none.
class CCopy {
public:
    template <class Code, class Scale>
    CCopy(const QuantizedCopy<Code, Scale> &copy, ofp8_stats &stats) : random_(copy.random), is_there_(true)
    {
        copy_.struct_size = sizeof copy_;
        copy_.codes = bytes(copy.codes.data);
        copy_.scales = copy.scales.data();
        copy_.scale_count = copy.scales.size();
        copy_.tensor_scale = copy.tensor_scales.data();
        copy_.stats = &stats;
        copy_.random = random_.get();
        copy_.code_stride = copy.codes.stride;
        copy_.code_batch_stride = copy.codes.batch_stride;
        copy_.is_transposed = copy.is_transposed ? 1 : 0;
    }
    CCopy(std::nullptr_t, ofp8_stats &) : random_(nullptr), is_there_(false) {}
    // It points into itself.
    CCopy(const CCopy &) = delete;
    CCopy &operator=(const CCopy &) = delete;
    const ofp8_copy *get() const { return is_there_ ? &copy_ : nullptr; }

private:
    CPhilox random_;
    ofp8_copy copy_{};
    bool is_there_;
};

} // namespace detail

/// How a matrix is quantized. Name what differs from one f32 scale for the tensor, as TransformerEngine has it:
///
///     constexpr ofp8::Quantizer mine = {.element = ofp8::Format::E5M2, .block = {1, 128}, .margin = 1};  // C++20
///
/// or begin with a preset and assign. What does not go together gives OFP8_RECIPE when it is used. Scales are `float`,
/// or std::uint8_t (also E8M0, UE4M3) where they are bytes: as many as scale_count() says, times the batches.
/// ofp8_recipe and ofp8_quantize in ofp8.h say the rest.
struct Quantizer {
    Format element = Format::E4M3;
    Grid block = {}; ///< 0 rows: all rows; 0 columns: all columns
    Scaling scaling = Scaling::F32;
    Convention convention = Convention::TransformerEngine; ///< Scaling::F32
    ExponentRule rule = ExponentRule::RoundUp;             ///< Scaling::PowerOfTwo and Scaling::E8M0
    Format block_scale = Format::UE4M3;                    ///< Scaling::TwoLevel
    std::optional<u32> tensor_amax = {};                   ///< Scaling::TwoLevel; without it, that of the matrix
    Special special = Special::Poison;
    int margin = 0;       ///< 2^margin is what values may grow by before they saturate
    float epsilon = 0;    ///< lower bound on amax
    float amax_bound = 0; ///< upper bound on amax; 0: none
    Cast cast = {};
    ScaleOrder scale_order = ScaleOrder::RowMajor; ///< how scales lie in memory, written and read; padding is zero

    /// The same for the functions of ofp8.h.
    ofp8_recipe recipe() const
    {
        ofp8_recipe recipe{};
        recipe.struct_size = sizeof recipe;
        recipe.block_rows = block.rows;
        recipe.block_cols = block.cols;
        recipe.element = static_cast<std::uint32_t>(element);
        recipe.scaling = static_cast<std::uint32_t>(scaling);
        recipe.convention = static_cast<std::uint32_t>(convention);
        recipe.exponent_rule = static_cast<std::uint32_t>(rule);
        recipe.special = static_cast<std::uint32_t>(special);
        recipe.margin = margin;
        recipe.epsilon = epsilon;
        recipe.amax_bound = amax_bound;
        recipe.cast = detail::c_cast(cast);
        recipe.scale_order = static_cast<std::uint32_t>(scale_order);
        if (scaling == Scaling::TwoLevel) {
            recipe.block_scale = static_cast<std::uint32_t>(block_scale);
            recipe.has_tensor_amax = tensor_amax ? 1 : 0;
            recipe.tensor_amax = tensor_amax.value_or(0);
        }
        return recipe;
    }

    /// The blocks of a matrix of rows x cols: as many scales, unless scale_order asks for padding.
    Expected<Grid> grid(std::size_t rows, std::size_t cols) const
    {
        Grid grid;
        const ofp8_recipe c = recipe();
        const Status status = ofp8_scale_grid(&c, rows, cols, &grid.rows, &grid.cols);
        return detail::result(status, grid);
    }

    /// The number of scales that are stored for a matrix of rows x cols, padding included.
    Expected<std::size_t> scale_count(std::size_t rows, std::size_t cols) const
    {
        std::size_t count = 0;
        const ofp8_recipe c = recipe();
        const Status status = ofp8_scale_count(&c, rows, cols, &count);
        return detail::result(status, count);
    }

    /// The scale of a block with this amax.
    Expected<Scale> scale_from_amax(u32 amax) const
    {
        Scale scale;
        const ofp8_recipe c = recipe();
        const Status status =
            ofp8_scale_from_amax(&c, amax, &scale.dequantize, has_byte_scales() ? &scale.code : nullptr);
        return detail::result(status, scale);
    }

    /// Quantizes a matrix (or batch): codes, scales, and what was seen.
    template <class Wide, class Code, class Scales>
    Expected<Stats> quantize(Matrix<Wide> source, Matrix<Code> codes, Scales &&scales,
                             const QuantizeOptions &options = {}) const
    {
        const View to(scales);
        const View<const float> tensor_scales = options.tensor_scales;
        if (const Status status = check<detail::element<Scales>>(source, codes, tensor_scales); status != OFP8_OK) {
            return status;
        }
        const ofp8_recipe c = recipe();
        if (options.amax.data() != nullptr) {
            const auto blocks = grid(source.rows, source.cols);
            if (!blocks || options.amax.size() != blocks->size() * source.batches) {
                return blocks ? OFP8_LENGTH : blocks.error();
            }
        }
        const ofp8_shape shape = detail::shape_of(source, codes);
        const detail::CPhilox philox(options.random);
        ofp8_stats stats{};
        const Status status =
            ofp8_quantize(&c, &shape, philox.get(), source.data, options.amax.data(), detail::bytes(codes.data),
                          to.data(), to.size(), options.tensor_scales.data(), &stats);
        return detail::result(status, detail::stats_of(stats));
    }

    /// The same with its blocks turned: 32x1 for 1x32. By it the columnwise one of two copies has its scales.
    constexpr Quantizer turned() const
    {
        Quantizer turned = *this;
        turned.block = {block.cols, block.rows};
        return turned;
    }

    /// Quantizes a matrix (or batch) twice from one read of it: `rowwise` by this quantizer, `columnwise` by turned().
    /// Each is a QuantizedCopy, which may be transposed, or nullptr.
    ///
    /// The scales of a copy that is not transposed are as many as *this or turned() says for the source. Transposed, it
    /// has those of its own matrix: turned().scale_count(cols, rows) for the rowwise one, scale_count(cols, rows) for
    /// the columnwise one (1x128 blocks along K in both copies, for Hopper).
    template <class Wide, class Row, class Column>
    Expected<CopyStats> quantize_copies(Matrix<Wide> source, const Row &rowwise, const Column &columnwise) const
    {
        for (const Status status : {check_copy(source, rowwise), check_copy(source, columnwise)}) {
            if (status != OFP8_OK) {
                return status;
            }
        }
        const ofp8_recipe c = recipe();
        const ofp8_shape shape = detail::shape_of(source);
        ofp8_stats row_stats{}, column_stats{};
        const detail::CCopy row(rowwise, row_stats), column(columnwise, column_stats);
        const Status status = ofp8_quantize_copies(&c, &shape, source.data, row.get(), column.get());
        return detail::result(status, CopyStats{detail::stats_of(row_stats), detail::stats_of(column_stats)});
    }

    /// Quantizes with scales that were computed elsewhere: by delayed scaling, for a checkpoint, by another rank.
    template <class Wide, class Scales, class Code>
    Expected<Stats> quantize_given(Given which, Matrix<Wide> source, const Scales &scales, Matrix<Code> codes,
                                   const Philox *random = nullptr, View<const float> tensor_scales = {}) const
    {
        const View from(scales);
        using ScaleType = detail::element<const Scales>;
        if (const Status status = check<ScaleType>(source, codes, tensor_scales); status != OFP8_OK) {
            return status;
        }
        const ofp8_recipe c = recipe();
        const ofp8_shape shape = detail::shape_of(source, codes);
        const detail::CPhilox philox(random);
        ofp8_stats stats{};
        const Status status =
            ofp8_quantize_given(&c, &shape, philox.get(), source.data, static_cast<std::uint32_t>(which), from.data(),
                                from.size(), tensor_scales.data(), detail::bytes(codes.data), &stats);
        return detail::result(status, detail::stats_of(stats));
    }

    /// Multiplies every code by the scale of its block.
    template <class Code, class Scales, class Wide>
    Expected<void> dequantize(Matrix<Code> codes, const Scales &scales, Matrix<Wide> target,
                              View<const float> tensor_scales = {}) const
    {
        const View from(scales);
        using ScaleType = detail::element<const Scales>;
        if (const Status status = check<ScaleType>(target, codes, tensor_scales); status != OFP8_OK) {
            return status;
        }
        const ofp8_recipe c = recipe();
        const ofp8_shape shape = detail::shape_of(target, codes);
        return ofp8_dequantize(&c, &shape, detail::bytes(codes.data), from.data(), from.size(), tensor_scales.data(),
                               target.data);
    }

    /// The amax of each block, row-major over the grid: what ranks merge before quantize() gets it.
    template <class Wide> Expected<void> amax_blocks(Matrix<Wide> source, View<u32> amax) const
    {
        const ofp8_recipe c = recipe();
        const ofp8_shape shape = detail::shape_of(source);
        return ofp8_amax_blocks(&c, &shape, source.data, amax.data(), amax.size());
    }

private:
    constexpr bool has_byte_scales() const { return scaling == Scaling::E8M0 || scaling == Scaling::TwoLevel; }

    // Whether scales of type T are what the scaling stores.
    template <class T> bool takes_scales() const
    {
        if constexpr (std::is_same_v<std::remove_cv_t<T>, float>) {
            return !has_byte_scales();
        } else {
            static_assert(detail::is_code<T>, "scales are float or std::uint8_t (or E8M0, UE4M3, UE5M3)");
            return has_byte_scales() && detail::fits<T>(scaling == Scaling::E8M0 ? Format::E8M0 : block_scale);
        }
    }

    // Whether arguments go together, as far as the C ABI cannot see it.
    template <class ScaleType, class Wide, class Code>
    Status check(const Matrix<Wide> &wide, const Matrix<Code> &codes, View<const float> tensor_scales) const
    {
        if (wide.rows != codes.rows || wide.cols != codes.cols || wide.batches != codes.batches) {
            return OFP8_SHAPE;
        }
        if (!takes_scales<ScaleType>() || !detail::fits<Code>(element)) {
            return OFP8_RECIPE;
        }
        return tensor_scales.data() != nullptr && tensor_scales.size() != wide.batches ? OFP8_LENGTH : OFP8_OK;
    }

    // The same for a copy, whose codes may be those of the transposed matrix.
    template <class Wide, class Code, class ScaleType>
    Status check_copy(Matrix<Wide> source, const QuantizedCopy<Code, ScaleType> &copy) const
    {
        if (copy.is_transposed) {
            std::swap(source.rows, source.cols);
        }
        return check<ScaleType>(source, copy.codes, copy.tensor_scales);
    }
    template <class Wide> Status check_copy(const Matrix<Wide> &, std::nullptr_t) const { return OFP8_OK; }
};

/// Quantizers under the names people know.
namespace presets {

/// One f32 scale for the tensor, E4M3 elements (TransformerEngine's Float8CurrentScaling).
inline constexpr Quantizer TENSOR = {};
/// One f32 scale a row (per token, per output channel).
inline constexpr Quantizer ROW = {Format::E4M3, {1, 0}};
/// DeepSeek-V3's activations: 1x128 tiles, f32 scales.
inline constexpr Quantizer DEEPSEEK_ACTIVATION = {Format::E4M3, {1, 128}, Scaling::F32, Convention::DeepSeek};
/// DeepSeek-V3's weights: 128x128 blocks, f32 scales.
inline constexpr Quantizer DEEPSEEK_WEIGHT = {Format::E4M3, {128, 128}, Scaling::F32, Convention::DeepSeek};
/// DeepSeek-V3.1's activations: 1x128 tiles, E8M0 scales, rounded up.
inline constexpr Quantizer DEEPSEEK_ACTIVATION_E8M0 = {Format::E4M3, {1, 128}, Scaling::E8M0};
/// DeepSeek-V3.1's weights: 128x128 blocks, E8M0 scales, rounded up.
inline constexpr Quantizer DEEPSEEK_WEIGHT_E8M0 = {Format::E4M3, {128, 128}, Scaling::E8M0};
/// MXFP8 with E4M3 elements: 1x32 blocks, E8M0 scales, rounded up as cuBLAS and TransformerEngine do; OCP's own rule is
/// ExponentRule::Floor.
inline constexpr Quantizer MXFP8 = {Format::E4M3, {1, 32}, Scaling::E8M0};
/// MXFP8 with E5M2 elements.
inline constexpr Quantizer MXFP8_E5M2 = {Format::E5M2, {1, 32}, Scaling::E8M0};
/// MXFP6 with E2M3 elements.
inline constexpr Quantizer MXFP6_E2M3 = {Format::E2M3, {1, 32}, Scaling::E8M0};
/// MXFP6 with E3M2 elements.
inline constexpr Quantizer MXFP6_E3M2 = {Format::E3M2, {1, 32}, Scaling::E8M0};
/// MXFP4: E2M1 elements.
inline constexpr Quantizer MXFP4 = {Format::E2M1, {1, 32}, Scaling::E8M0};
/// MXINT8: elements of 8 bits, fixed point.
inline constexpr Quantizer MXINT8 = {Format::MXINT8, {1, 32}, Scaling::E8M0};
/// NVFP4: E2M1 elements in 1x16 blocks, UE4M3 scales under one f32 for the tensor.
inline constexpr Quantizer NVFP4 = {Format::E2M1, {1, 16}, Scaling::TwoLevel};
/// NVFP4 for weights: 16x16 blocks.
inline constexpr Quantizer NVFP4_WEIGHT = {Format::E2M1, {16, 16}, Scaling::TwoLevel};

} // namespace presets

/// Looks for infinities and NaN before anything is quantized: the first, if there is one (`found`).
template <class Wide> Expected<ofp8_not_finite> validate(Matrix<Wide> source)
{
    const ofp8_shape shape = detail::shape_of(source);
    ofp8_not_finite first{};
    const Status status = ofp8_validate(&shape, source.data, &first);
    return detail::result(status, first);
}

/// Compares a matrix with what was stored of it, dequantized to float: sums from which errors follow. A batch of
/// dequantized matrices has no gaps between them.
template <class Wide, class Float> Expected<ofp8_measured> measure(Matrix<Wide> source, Matrix<Float> dequantized)
{
    if (source.rows != dequantized.rows || source.cols != dequantized.cols || source.batches != dequantized.batches) {
        return OFP8_SHAPE;
    }
    const ofp8_shape shape = detail::shape_of(source);
    ofp8_measured measured{};
    const Status status = ofp8_measure(&shape, source.data, dequantized.data, dequantized.stride, &measured);
    return detail::result(status, measured);
}

// ---------------------------------------------------------------------------------------------------------------------
// Writing to streams: templates, so that a program without <ostream> pays nothing
// ---------------------------------------------------------------------------------------------------------------------

/// Writes the value, as a float.
template <class Char, class Traits, Format F>
std::basic_ostream<Char, Traits> &operator<<(std::basic_ostream<Char, Traits> &out, Number<F> number)
{
    return out << static_cast<float>(number);
}

/// Writes the name.
template <class Char, class Traits>
std::basic_ostream<Char, Traits> &operator<<(std::basic_ostream<Char, Traits> &out, Format format)
{
    return out << name(format);
}

/// Writes the counts that are not zero, and the amax, in one line.
template <class Char, class Traits>
std::basic_ostream<Char, Traits> &operator<<(std::basic_ostream<Char, Traits> &out, const Stats &stats)
{
    out << stats.count << " elements, amax " << float_of(stats.amax);
    const std::pair<const char *, u64> counts[] = {{" zero", stats.zero},
                                                   {" saturated", stats.saturated},
                                                   {" underflowed", stats.underflowed},
                                                   {" nan", stats.nan},
                                                   {" infinite", stats.infinite}};
    for (const auto &[what, count] : counts) {
        if (count != 0) {
            out << ", " << count << what;
        }
    }
    return out;
}

} // namespace ofp8

#if __cplusplus >= 202002L
/// A view may end before what it views: std::span can be made from one that is temporary.
template <class T> inline constexpr bool std::ranges::enable_borrowed_range<ofp8::View<T>> = true;
#endif

/// What a format can hold, under the standard's names.
template <ofp8::Format F> class std::numeric_limits<ofp8::Number<F>> {
    using T = ofp8::Number<F>;
    static constexpr ofp8::Spec S = ofp8::spec(F);

    // floor(n * log10(2)), for n of this size.
    static constexpr int decimals(int n) { return n * 30103 / 100000; }
    static constexpr T at(ofp8::u64 code) { return T::from_bits(static_cast<ofp8::u8>(code)); }
    // In fixed point, where all values are normal, not what the row says: of the top binade, and floor(log2(min())).
    static constexpr ofp8::u32 MANTISSA_BITS = ofp8::detail::top_mantissa_bits(S);
    static constexpr int MIN_EXPONENT = ofp8::decode_value(S, ofp8::min_normal_magnitude(F)).exponent;

public:
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = S.sign == OFP8_SIGN_BIT || S.sign == OFP8_SIGN_TWOS_COMPLEMENT;
    static constexpr bool is_integer = false;
    static constexpr bool is_exact = false;
    static constexpr bool is_iec559 = false;
    static constexpr bool is_bounded = true;
    static constexpr bool is_modulo = false;
    static constexpr bool has_infinity = S.infinity;
    static constexpr bool has_quiet_NaN = S.nan;
    static constexpr bool has_signaling_NaN = false;
    static constexpr bool traps = false;
    static constexpr bool tinyness_before = false;
    static constexpr std::float_round_style round_style = std::round_to_nearest;

    static constexpr int radix = 2;
    static constexpr int digits = static_cast<int>(MANTISSA_BITS) + 1;
    static constexpr int digits10 = decimals(digits - 1);
    static constexpr int max_digits10 = decimals(digits) + 2;
    static constexpr int min_exponent = MIN_EXPONENT + 1;
    static constexpr int max_exponent = S.max_exponent + 1;
    static constexpr int min_exponent10 = -decimals(-MIN_EXPONENT);
    static constexpr int max_exponent10 = decimals(S.max_exponent + 1);

    /// The smallest normal value.
    static constexpr T min() noexcept { return at(ofp8::min_normal_magnitude(F)); }
    /// The largest finite value.
    static constexpr T max() noexcept { return at(S.max_magnitude); }
    /// The least finite value: in MXINT8 -2, which no encoding gives.
    static constexpr T lowest() noexcept
    {
        if (S.sign == OFP8_SIGN_TWOS_COMPLEMENT) {
            return at(S.sign_mask);
        }
        return is_signed ? at(ofp8::join(S, true, S.max_magnitude)) : at(0);
    }
    /// The smallest value above zero.
    static constexpr T denorm_min() noexcept { return at(S.zero ? 1 : 0); }
    /// The distance from one to the next larger value.
    static constexpr T epsilon() noexcept { return T(1.0f / static_cast<float>(1u << MANTISSA_BITS)); }
    static constexpr T round_error() noexcept { return T(0.5f); }
    /// The infinity and the canonical NaN; the code 0 in a format without.
    static constexpr T infinity() noexcept { return at(has_infinity ? S.infinity_magnitude : 0); }
    static constexpr T quiet_NaN() noexcept { return at(has_quiet_NaN ? S.nan_code : 0); }
    static constexpr T signaling_NaN() noexcept { return T{}; }
};

#endif // OFP8_HPP
