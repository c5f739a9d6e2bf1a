// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions that public bug reports are about, each as a test named after its report.
//!
//! The right code stands in the test; the oracle has to agree with it, and then the product with
//! both. Reports about scale rules, layouts or builds are not conversions and not here.

// Numbers stand as the reports have them.
#![allow(clippy::excessive_precision)]

mod oracle;

use ofp8::Format::{E2M1, E2M3, E3M2, E4M3, E4M3Fnuz, E5M2, E5M2Fnuz, E8M0, MxInt8, UE4M3, UE5M3};
use ofp8::Rounding::{NearestAway, NearestEven, StochasticA, TowardPositive, TowardZero};
use ofp8::scalar::{decode_bits, decode_f64, encode_bits, encode_f32};
use ofp8::{Amax, Cast, FloatType, Format, RandomBits, Saturation};
use oracle::{Oracle, Source, pow2};

/// The default: nearest-even, everything clamps.
const SAT: Cast = Cast::DEFAULT;
/// Nothing clamps.
const NOSAT: Cast = Cast::DEFAULT.saturation(Saturation::None);

/// Encodes bits of a source type and checks the code, by the oracle first.
#[track_caller]
fn encodes_bits(format: Format, cast: Cast, float: FloatType, bits: u64, word: u32, code: u8) {
    let expected = Oracle::new(format).encode(cast, Source::new(float).input(bits), word);
    assert_eq!(
        expected, code,
        "by the oracle, {format:?} from {float:?} {bits:#x}"
    );
    let encoded = encode_bits(format, cast, float, bits, word);
    assert_eq!(encoded, code, "{format:?} from {float:?} {bits:#x}");
}

#[track_caller]
fn encodes(format: Format, cast: Cast, value: f32, code: u8) {
    encodes_bits(
        format,
        cast,
        FloatType::F32,
        value.to_bits().into(),
        0,
        code,
    );
}

/// From binary16, of a value that it holds exactly.
#[track_caller]
fn encodes_f16(format: Format, cast: Cast, value: f64, code: u8) {
    let source = Source::new(FloatType::F16);
    let bits = source.first_from(value);
    assert_eq!(source.input(bits).magnitude, value);
    encodes_bits(format, cast, FloatType::F16, bits, 0, code);
}

/// Decodes a code and checks the bits, by the oracle first.
#[track_caller]
fn decodes(format: Format, code: u8, float: FloatType, bits: u64) {
    let expected = Source::new(float).nearest(Oracle::new(format).decode(code));
    assert_eq!(expected, bits, "by the oracle, {format:?} {code:#04x}");
    assert_eq!(
        decode_bits(format, code, float),
        bits,
        "{format:?} {code:#04x}"
    );
}

#[track_caller]
fn decodes_to_nan(format: Format, code: u8) {
    assert!(Oracle::new(format).decode(code).magnitude.is_nan());
    for &float in FloatType::ALL {
        let source = Source::new(float);
        let bits = decode_bits(format, code, float) & !source.sign;
        assert!(
            bits > source.infinity,
            "{format:?} {code:#04x} to {float:?}: {bits:#x}"
        );
    }
}

/// "4.25 gives 4": it is a tie, and 4 has the even code.
#[test]
fn ml_dtypes_221() {
    encodes(E4M3, SAT, 4.25, 0x48);
}

/// What is beyond 448 is NaN, from where it would round to 480 on; or 448 where it clamps.
#[test]
fn ml_dtypes_147_260_400() {
    for (value, saturated, not_saturated) in [
        (448.0, 0x7E, 0x7E),
        (464.0, 0x7E, 0x7E),
        (465.0, 0x7E, 0x7F),
        (480.0, 0x7E, 0x7F),
        (500.0, 0x7E, 0x7F),
        (1000.0, 0x7E, 0x7F),
        (-1000.0, 0xFE, 0xFF),
        (3e10, 0x7E, 0x7F),
    ] {
        encodes(E4M3, SAT, value, saturated);
        encodes(E4M3, NOSAT, value, not_saturated);
    }
}

/// Rounding f64 to f32 first gives -448.
#[test]
fn ml_dtypes_401() {
    let value = -431.99999999999994_f64;
    encodes_bits(E4M3, SAT, FloatType::F64, value.to_bits(), 0, 0xFD);
    encodes(E4M3, SAT, value as f32, 0xFE);
}

/// Ties of E8M0: up, or to the even code.
#[test]
fn ml_dtypes_298_398() {
    for (value, even, up) in [(3.0, 0x80, 0x81), (0.75, 0x7E, 0x7F), (1.5, 0x80, 0x80)] {
        encodes(E8M0, SAT.rounding(NearestEven), value, even);
        encodes(E8M0, SAT.rounding(NearestAway), value, up);
    }
}

/// Infinities into FNUZ.
#[test]
fn onnx_6220_7085_7130() {
    for format in [E4M3Fnuz, E5M2Fnuz] {
        encodes(format, NOSAT, f32::INFINITY, 0x80);
        encodes(format, NOSAT, f32::NEG_INFINITY, 0x80);
        encodes(format, SAT, f32::INFINITY, 0x7F);
        encodes(format, SAT, f32::NEG_INFINITY, 0xFF);
    }
}

/// E8M0 upward looked at some mantissa bits only, and moved 2^-127.
#[test]
fn onnx_7784() {
    let up = SAT.rounding(TowardPositive);
    for (value, code) in [
        (1.125, 0x80),
        (1.25, 0x80),
        (5.0, 0x82),
        (pow2(-127) as f32, 0x00),
    ] {
        encodes(E8M0, up, value, code);
    }
}

/// A signalling NaN became a number.
#[test]
fn onnxruntime_16938_16940() {
    for (format, nan) in [
        (E4M3, 0x7F),
        (E5M2, 0x7F),
        (E4M3Fnuz, 0x80),
        (E5M2Fnuz, 0x80),
    ] {
        encodes_bits(format, SAT, FloatType::F32, 0x7FA0_0000, 0, nan);
        encodes_bits(format, NOSAT, FloatType::F32, 0x7FA0_0000, 0, nan);
    }
}

/// Nearest E8M0 of subnormals: 1.25 * 2^-127 is below the tie.
#[test]
fn onnxruntime_28435() {
    for rounding in [NearestEven, NearestAway] {
        let cast = SAT.rounding(rounding);
        encodes_bits(E8M0, cast, FloatType::F32, 0x0050_0000, 0, 0x00);
        encodes_bits(E8M0, cast, FloatType::F32, 0x0060_0001, 0, 0x01);
    }
    encodes_bits(
        E8M0,
        SAT.rounding(NearestEven),
        FloatType::F32,
        0x0060_0000,
        0,
        0x00,
    );
    encodes_bits(
        E8M0,
        SAT.rounding(NearestAway),
        FloatType::F32,
        0x0060_0000,
        0,
        0x01,
    );
}

/// 464 in bfloat16 is a tie and stays 448.
#[test]
fn pytorch_150756() {
    encodes_bits(E4M3, SAT, FloatType::Bf16, 0x43E8, 0, 0x7E);
    encodes_bits(E4M3, NOSAT, FloatType::Bf16, 0x43E8, 0, 0x7E);
}

/// Saturated since 2.13, NaN before.
#[test]
fn pytorch_177769_177870_178817_and_ao_1912_4359() {
    for (value, saturated, not_saturated) in [
        (465.0, 0x7E, 0x7F),
        (f32::INFINITY, 0x7E, 0x7F),
        (f32::NEG_INFINITY, 0xFE, 0xFF),
    ] {
        encodes(E4M3, SAT, value, saturated);
        encodes(E4M3, NOSAT, value, not_saturated);
    }
}

/// Through bfloat16 the exponent of 1.9999999 becomes that of 2.
#[test]
fn ao_4725() {
    let down = SAT.rounding(TowardZero);
    encodes_bits(E8M0, down, FloatType::F32, 0x3FFF_FFFF, 0, 0x7F);
    encodes_bits(E8M0, down, FloatType::F32, 0x3FFF_FFFF - (8 << 23), 0, 0x77);
}

/// The reciprocal of the largest scale is the smallest one, a subnormal, and not zero.
#[test]
fn ao_4117_and_transformer_engine_2407_2408() {
    decodes(E8M0, 0xFE, FloatType::F32, 0x7F00_0000);
    decodes(E8M0, 0xFE - 0xFE, FloatType::F32, 0x0040_0000);
    assert_eq!(decode_f64(E8M0, 0xFE) * decode_f64(E8M0, 0x00), 1.0);
    decodes_to_nan(E8M0, 0xFF);
}

/// E8M0 0x00 is not zero, 0xFF is not infinity.
#[test]
fn transformer_engine_3262() {
    decodes(E8M0, 0x00, FloatType::F32, 0x0040_0000);
    decodes(E8M0, 0x00, FloatType::Bf16, 0x0040);
    decodes_to_nan(E8M0, 0xFF);
}

/// NaN was lost on the way to the amax.
#[test]
fn transformer_engine_3550() {
    let [one, nan] = [1.0, f32::NAN].map(Amax::of);
    assert!(one.merge(nan).is_nan() && nan.merge(one).is_nan());
}

/// Stochastic rounding gave zeros where the instruction does not exist.
#[test]
fn transformer_engine_3281() {
    let cast = SAT.rounding(StochasticA(RandomBits::new(8).unwrap()));
    let bits = u64::from(1.25_f32.to_bits());
    encodes_bits(E2M1, cast, FloatType::F32, bits, 0x7F, 0x2);
    encodes_bits(E2M1, cast, FloatType::F32, bits, 0x80, 0x3);
}

#[test]
fn ao_436() {
    let amax = 127.99999_f32;
    encodes(E8M0, SAT.rounding(TowardZero), amax / 32768.0, 118);
    encodes(E5M2, SAT, amax * 512.0, 0x7B);
}

/// 957 under the scales 2 and 4.
#[test]
fn microxcaling_4() {
    encodes(E4M3, SAT, 957.0 / 2.0, 0x7E);
    encodes(E4M3, SAT, 957.0 / 4.0, 0x77);
}

/// The exponent of E4M3 ends at -6, after which come the subnormals.
#[test]
fn microxcaling_35() {
    for (exponent, code) in [(-6, 0x08), (-7, 0x04), (-8, 0x02), (-9, 0x01), (-10, 0x00)] {
        encodes(E4M3, SAT, pow2(exponent) as f32, code);
    }
}

#[test]
fn triton_11753() {
    encodes(E4M3, SAT, 1.0625001, 0x39);
    encodes_f16(E5M2, SAT, 1.125, 0x3C);
}

#[test]
fn triton_5925_6102() {
    encodes_f16(E5M2, SAT, 9.0, 0x48);
}

/// Subnormals of E4M3 through binary16 were wrong: all its values up to 2^-5.
#[test]
fn triton_7361_7382_and_openvino_30057() {
    let (oracle, source) = (Oracle::new(E4M3), Source::new(FloatType::F16));
    for bits in 0..=source.first_from(pow2(-5)) {
        let code = oracle.encode(SAT, source.input(bits), 0);
        encodes_bits(E4M3, SAT, FloatType::F16, bits, 0, code);
    }
    // The ties themselves: to the even code.
    for k in 0..8 {
        encodes_f16(E4M3, SAT, (f64::from(k) + 0.5) * pow2(-9), (k + 1) & !1);
    }
}

/// The carry into the next binade was lost.
#[test]
fn triton_11897() {
    encodes(E4M3, SAT, 126.24, 0x70);
}

/// 0x80 of FNUZ is not a zero.
#[test]
fn triton_10745() {
    for format in [E4M3Fnuz, E5M2Fnuz] {
        decodes_to_nan(format, 0x80);
    }
}

#[test]
fn triton_11784() {
    decodes(E5M2, 0x7C, FloatType::Bf16, 0x7F80);
    decodes(E5M2, 0xFC, FloatType::Bf16, 0xFF80);
    decodes_to_nan(E4M3, 0x7F);
}

/// Toward zero to binary16 first.
#[test]
fn free_token_85() {
    for (value, code) in [(400.199585, 0x7D), (272.156555, 0x79), (136.002075, 0x71)] {
        encodes(E4M3, SAT, value, code);
    }
}

/// The top binade of UE5M3 is finite.
#[test]
fn cutlass_3602_3617() {
    for code in 0xF8..=0xFE {
        let value = 65536.0 + 8192.0 * f32::from(code - 0xF8);
        decodes(UE5M3, code, FloatType::F32, value.to_bits().into());
        encodes(UE5M3, NOSAT, value, code);
    }
    assert_eq!(decode_f64(UE5M3, 0xFE), 114688.0);
}

/// E8M0 NaN widened to infinity.
#[test]
fn llvm_214919_and_composable_kernel_2640() {
    decodes_to_nan(E8M0, 0xFF);
}

/// Negative numbers, zero, and which exponent is which.
#[test]
fn llvm_113298_215445_223286() {
    for (value, code) in [
        (0.5, 0x7E),
        (1.0, 0x7F),
        (-2.0, 0x80),
        (0.0, 0x00),
        (-0.0, 0x00),
    ] {
        encodes(E8M0, SAT, value, code);
    }
}

/// A shift by 64 or more.
#[test]
fn rocm_systems_10591_10593_composable_kernel_2571_and_ocannl_647() {
    encodes(E5M2, SAT, 3.31e-24, 0x00);
    encodes(E5M2, SAT, 1.65e-24, 0x00);
    encodes(E4M3, SAT, pow2(-70) as f32, 0x00);
    encodes(E4M3, SAT, pow2(-72) as f32, 0x00);
    encodes(E4M3Fnuz, SAT, pow2(-71) as f32, 0x00);
    // In f64 there is more room to get it wrong.
    for exponent in -1022..-10 {
        for format in [E4M3, E4M3Fnuz] {
            let bits = pow2(exponent).to_bits();
            let code = (exponent > -11 && format == E4M3Fnuz) as u8;
            encodes_bits(format, SAT, FloatType::F64, bits, 0, code);
        }
    }
}

#[test]
fn rocm_systems_8800() {
    encodes(E4M3, NOSAT, 500.0, 0x7F);
    // Saturation comes after stochastic rounding: 449 stays 448 or goes to 480, which is NaN.
    let cast = NOSAT.rounding(StochasticA(RandomBits::SIXTEEN));
    let bits = u64::from(449.0_f32.to_bits());
    encodes_bits(E4M3, cast, FloatType::F32, bits, 0, 0x7E);
    encodes_bits(E4M3, cast, FloatType::F32, bits, 0xFFFF, 0x7F);
    encodes_bits(
        E4M3,
        cast.saturation(Saturation::Finite),
        FloatType::F32,
        bits,
        0xFFFF,
        0x7E,
    );
}

/// The top binade collapsed, ties went up.
#[test]
fn sglang_40581() {
    encodes(E4M3, SAT, 256.0, 0x78);
    encodes(E4M3, SAT, 300.0, 0x79);
    encodes(E4M3Fnuz, SAT, 128.0, 0x78);
    encodes(E4M3Fnuz, SAT, 224.0, 0x7E);
}

#[test]
fn tilelang_2944() {
    encodes(E5M2, NOSAT, f32::INFINITY, 0x7C);
    encodes(E5M2, NOSAT, f32::NEG_INFINITY, 0xFC);
}

/// Upward as PTX does, or nearest as PyTorch does.
#[test]
fn tilelang_2042() {
    encodes(E8M0, SAT.rounding(TowardPositive), 1.25, 0x80);
    encodes(E8M0, SAT.rounding(NearestAway), 1.25, 0x7F);
}

#[test]
fn tilelang_metax_140() {
    encodes_f16(E4M3, SAT, 256.0, 0x78);
}

/// The sticky bit of a small E2M1, and codes that did not come back.
#[test]
fn tt_metal_51971() {
    encodes_bits(E2M1, SAT, FloatType::F32, 0x3E80_0001, 0, 0x1);
    for format in [E2M1, E2M3, E3M2, E4M3, E5M2] {
        let oracle = Oracle::new(format);
        for code in 0..=u8::MAX >> (8 - oracle.row.width) {
            let value = decode_f64(format, code);
            if !value.is_nan() {
                encodes_bits(format, NOSAT, FloatType::F64, value.to_bits(), 0, code);
            }
        }
    }
}

#[test]
fn universal_1302_1351() {
    encodes(E4M3, NOSAT, 500.0, 0x7F);
    encodes(E4M3, NOSAT, -1000.0, 0xFF);
    encodes(E4M3, NOSAT, f32::INFINITY, 0x7F);
    encodes(E4M3, NOSAT, f32::NEG_INFINITY, 0xFF);
    encodes(E5M2, NOSAT, 58000.0, 0x7B);
    encodes(E5M2, NOSAT, f32::INFINITY, 0x7C);
}

/// Toward zero does not overflow, saturating or not.
#[test]
fn riscv_isa_sim_2284() {
    encodes_bits(
        E4M3,
        NOSAT.rounding(TowardZero),
        FloatType::Bf16,
        0x5BF8,
        0,
        0x7E,
    );
}

#[test]
fn saturn_vectors_101() {
    for value in [512.0, 672.0, 57344.0, 448512.0] {
        encodes(E4M3, SAT, value, 0x7E);
    }
}

/// Through bfloat16.
#[test]
fn microfloats_jl_25() {
    encodes(E4M3, SAT, 1.31640625, 0x3B);
}

#[test]
fn float8s_jl_22_23() {
    encodes(E4M3, SAT, 0.000538887, 0x00);
    encodes(E4M3, SAT, 0.00103349, 0x01);
    decodes_to_nan(E4M3, 0xFF);
}

/// Truncated instead of rounded.
#[test]
fn bitstring_342() {
    encodes(E4M3, SAT, 232.03683398, 0x77);
}

/// Below the smallest E8M0 there is still an E8M0.
#[test]
fn gfloat_62() {
    for rounding in [NearestEven, NearestAway, TowardZero, TowardPositive] {
        encodes(E8M0, SAT.rounding(rounding), pow2(-128) as f32, 0x00);
    }
}

/// A block scale beyond 464 was NaN.
#[test]
fn model_optimizer_1397_1633() {
    for value in [464.0_f32.next_up(), 465.0, 1e30, f32::INFINITY] {
        encodes(UE4M3, SAT, value, 0x7E);
    }
    encodes(UE4M3, SAT, 0.0, 0x00);
}

/// E8M0 below 2^-14 was flushed on the way to binary16, which holds down to 2^-24.
#[test]
fn one_cat_vllm_222() {
    for code in 103..=112 {
        decodes(E8M0, code, FloatType::F16, 1 << (code - 103));
    }
}

#[test]
fn torch_xpu_ops_2951() {
    for format in [E4M3, E5M2] {
        encodes(format, SAT, -0.0, 0x80);
    }
    for format in [E4M3Fnuz, E5M2Fnuz] {
        encodes(format, SAT, -0.0, 0x00);
        encodes(format, SAT, -1e-9, 0x00);
    }
}

#[test]
fn ocannl_646() {
    for (value, code) in [
        (1.125, 0x3C),
        (1.625, 0x3E),
        (pow2(-16) as f32, 0x01),
        (1e-5, 0x01),
        (-0.0, 0x80),
        (65504.0, 0x7B),
    ] {
        encodes(E5M2, SAT, value, code);
    }
    encodes(E5M2, NOSAT, 65504.0, 0x7C);
}

/// Constants were truncated: the compiler has to round as everyone else.
#[test]
fn cutile_rs_250_262_283() {
    const CODES: [u8; 4] = [
        encode_f32(E4M3, SAT, 1.0625001, 0),
        encode_f32(E4M3, SAT, 1.1875, 0),
        encode_f32(E5M2, SAT, 0.1, 0),
        encode_f32(E2M1, SAT, 2.6, 0),
    ];
    assert_eq!(CODES, [0x39, 0x3A, 0x2E, 0x5]);
    encodes(E4M3, SAT, 1.1875, 0x3A);
    encodes(E5M2, SAT, 0.1, 0x2E);
    encodes(E2M1, SAT, 2.6, 0x5);
}

/// Random bits on the wrong end, and a carry that did not reach the exponent.
#[test]
fn one_dnn_2903_5626_and_llvm_project_3275() {
    let cast = SAT.rounding(StochasticA(RandomBits::SIXTEEN));
    let from_f32 = |value: f32, word, code| {
        encodes_bits(
            E4M3,
            cast,
            FloatType::F32,
            value.to_bits().into(),
            word,
            code,
        );
    };
    // Half-way: half of the words go up.
    from_f32(8.5, 0x7FFF, 0x50);
    from_f32(8.5, 0x8000, 0x51);
    // Into the next binade.
    from_f32(15.5, 0x7FFF, 0x57);
    from_f32(15.5, 0x8000, 0x58);
}

/// 448 is beyond FNUZ.
#[test]
fn rocm_transformer_engine_485() {
    encodes(E4M3Fnuz, SAT, 448.0, 0x7F);
    encodes(E4M3Fnuz, NOSAT, 448.0, 0x80);
    assert_eq!(decode_f64(E4M3Fnuz, 0x7F), 240.0);
}

/// The largest is what half an ulp above it still rounds to.
#[test]
fn microfloat_0_1_3() {
    encodes(E4M3, NOSAT, 464.0, 0x7E);
}

/// AMD's software takes the largest value itself as the threshold.
#[test]
fn amd_hip_not_saturating() {
    encodes(E4M3, NOSAT, 464.0, 0x7E);
    encodes(E4M3Fnuz, NOSAT, 248.0_f32.next_down(), 0x7F);
    encodes(E5M2, NOSAT, 61440.0_f32.next_down(), 0x7B);
    encodes(E5M2, NOSAT, 61440.0, 0x7C);
}

/// NaN was 240 in one version of AMD's header.
#[test]
fn composable_kernel_2571_nan() {
    for cast in [SAT, NOSAT] {
        encodes(E4M3Fnuz, cast, f32::NAN, 0x80);
    }
}

/// NaN became a zero of the other sign in formats that have none.
#[test]
fn nan_into_formats_without_nan() {
    let keep_sign = SAT.nan(ofp8::NanPolicy::KeepSign);
    for (format, largest, least) in [
        (E2M1, 0x07, 0x0F),
        (E2M3, 0x1F, 0x3F),
        (E3M2, 0x1F, 0x3F),
        (MxInt8, 0x7F, 0x81),
    ] {
        encodes_bits(format, SAT, FloatType::F32, 0x7FC0_0000, 0, largest);
        encodes_bits(format, SAT, FloatType::F32, 0xFFC0_0000, 0, largest);
        encodes_bits(format, keep_sign, FloatType::F32, 0xFFC0_0000, 0, least);
    }
}

/// The ties of E2M1, as the OCP MX specification has them.
#[test]
fn ties_of_e2m1() {
    for (value, code) in [
        (0.25, 0),
        (0.75, 2),
        (1.25, 2),
        (1.75, 4),
        (2.5, 4),
        (3.5, 6),
        (5.0, 6),
        (7.0, 7),
    ] {
        encodes(E2M1, SAT, value, code);
        encodes(E2M1, SAT, -value, code | 8);
    }
}
