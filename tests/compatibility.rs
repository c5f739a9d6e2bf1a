// SPDX-License-Identifier: MIT OR Apache-2.0
//! The equalities that `docs/compatibility.md` claims, on the inputs where implementations differ.
//! The expected codes are those that the implementations gave when they were run (CUDA headers,
//! PyTorch's c10, ml_dtypes, CUTLASS) or that their sources and standards state (ONNX, AMD).

use ofp8::scalar::{decode_f32, encode_f32};
use ofp8::{Cast, Format, NanPolicy, Rounding, Saturation};

use NanPolicy::{Canonical, KeepSign};
use Saturation::{Finite, None, Propagate};

fn cast(saturation: Saturation, nan: NanPolicy) -> Cast {
    Cast::DEFAULT.saturation(saturation).nan(nan)
}

/// Encodes each input and compares.
fn check<const N: usize>(who: &str, format: Format, cast: Cast, inputs: [f32; N], codes: [u8; N]) {
    for (input, code) in inputs.into_iter().zip(codes) {
        let encoded = encode_f32(format, cast, input, 0);
        let bits = input.to_bits();
        assert_eq!(
            encoded, code,
            "{who}: {format:?} of {input} ({bits:#010x}) by {cast:?}"
        );
    }
}

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::from_bits(0x7FC0_0000);
const NEGATIVE_NAN: f32 = f32::from_bits(0xFFC0_0000);

#[test]
fn e4m3() {
    let above = f32::from_bits(0x43E8_0001);
    let inputs = [464.0, above, -above, INF, -INF, NAN, NEGATIVE_NAN];
    let run = |who, saturation, nan, codes| {
        check(who, Format::E4M3, cast(saturation, nan), inputs, codes);
    };
    run(
        "CUDA satfinite, PTX, CUTLASS",
        Finite,
        Canonical,
        [0x7E, 0x7E, 0xFE, 0x7E, 0xFE, 0x7F, 0x7F],
    );
    run(
        "CUDA nosat",
        None,
        Canonical,
        [0x7E, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0x7F],
    );
    run(
        "PyTorch to 2.12, ml_dtypes",
        None,
        KeepSign,
        [0x7E, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF],
    );
    run(
        "PyTorch from 2.13, AMD 2024",
        Finite,
        KeepSign,
        [0x7E, 0x7E, 0xFE, 0x7E, 0xFE, 0x7F, 0xFF],
    );
    run(
        "AMD 2025",
        Propagate,
        KeepSign,
        [0x7E, 0x7E, 0xFE, 0x7F, 0xFF, 0x7F, 0xFF],
    );
}

#[test]
fn e5m2() {
    let inputs = [61440.0, -61440.0, 1e9, INF, -INF, NAN, NEGATIVE_NAN];
    let run = |who, saturation, nan, codes| {
        check(who, Format::E5M2, cast(saturation, nan), inputs, codes);
    };
    run(
        "CUDA satfinite, PTX, CUTLASS",
        Finite,
        Canonical,
        [0x7B, 0xFB, 0x7B, 0x7B, 0xFB, 0x7F, 0x7F],
    );
    run(
        "CUDA nosat",
        None,
        Canonical,
        [0x7C, 0xFC, 0x7C, 0x7C, 0xFC, 0x7F, 0x7F],
    );
    run(
        "PyTorch",
        None,
        KeepSign,
        [0x7C, 0xFC, 0x7C, 0x7C, 0xFC, 0x7F, 0xFF],
    );
    run(
        "AMD 2024",
        Finite,
        KeepSign,
        [0x7B, 0xFB, 0x7B, 0x7B, 0xFB, 0x7F, 0xFF],
    );
    run(
        "AMD 2025",
        Propagate,
        KeepSign,
        [0x7B, 0xFB, 0x7B, 0x7C, 0xFC, 0x7F, 0xFF],
    );
}

#[test]
fn fnuz() {
    let inputs = [248.0, -248.0, INF, -INF, NAN, NEGATIVE_NAN, -0.0, -1e-9];
    let run = |who, saturation, codes| {
        for nan in [Canonical, KeepSign] {
            check(who, Format::E4M3Fnuz, cast(saturation, nan), inputs, codes);
        }
    };
    run(
        "ml_dtypes, PyTorch, ONNX 0",
        None,
        [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00],
    );
    run(
        "ONNX 1",
        Finite,
        [0x7F, 0xFF, 0x7F, 0xFF, 0x80, 0x80, 0x00, 0x00],
    );
    run(
        "AMD 2025",
        Propagate,
        [0x7F, 0xFF, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00],
    );
}

#[test]
fn narrow_formats_without_nan() {
    for (format, max) in [
        (Format::E2M1, 0x7),
        (Format::E2M3, 0x1F),
        (Format::E3M2, 0x1F),
    ] {
        let negative = max | format.spec().sign_mask() as u8;
        let inputs = [INF, -INF, 1e9, -1e9, NAN, NEGATIVE_NAN];
        for saturation in [Finite, Propagate, None] {
            let codes = [max, negative, max, negative, max, max];
            check(
                "CUDA, PTX",
                format,
                cast(saturation, Canonical),
                inputs,
                codes,
            );
            let codes = [max, negative, max, negative, max, negative];
            check(
                "CUTLASS, torchao",
                format,
                cast(saturation, KeepSign),
                inputs,
                codes,
            );
        }
    }
}

#[test]
fn e8m0() {
    let smallest = f32::from_bits(1);
    let tiny = f32::from_bits(0x0040_0000); // 2^-127
    let inputs = [
        0.0,
        smallest,
        tiny,
        tiny * 1.25,
        tiny * 1.5,
        1.25,
        1.5,
        3.0,
        -1.25,
        f32::from_bits(0x7F40_0000), // 1.5 * 2^127
        INF,
        NAN,
    ];
    let run = |who, rounding, saturation, codes| {
        let cast = Cast::DEFAULT.rounding(rounding).saturation(saturation);
        check(who, Format::E8M0, cast, inputs, codes);
    };
    let up = Rounding::TowardPositive;
    let away = Rounding::NearestAway;
    let zero = Rounding::TowardZero;
    run(
        "CUDA rn sat",
        away,
        Finite,
        [0, 0, 0, 0, 1, 0x7F, 0x80, 0x81, 0x7F, 0xFE, 0xFE, 0xFF],
    );
    run(
        "CUDA rn nosat",
        away,
        None,
        [0, 0, 0, 0, 1, 0x7F, 0x80, 0x81, 0x7F, 0xFF, 0xFF, 0xFF],
    );
    run(
        "CUDA rz sat",
        zero,
        Finite,
        [0, 0, 0, 0, 0, 0x7F, 0x7F, 0x80, 0x7F, 0xFE, 0xFE, 0xFF],
    );
    run(
        "CUDA rz nosat",
        zero,
        None,
        [0, 0, 0, 0, 0, 0x7F, 0x7F, 0x80, 0x7F, 0xFE, 0xFF, 0xFF],
    );
    run(
        "CUDA rp sat",
        up,
        Finite,
        [0, 0, 0, 1, 1, 0x80, 0x80, 0x81, 0x80, 0xFE, 0xFE, 0xFF],
    );
    run(
        "CUDA rp nosat",
        up,
        None,
        [0, 0, 0, 1, 1, 0x80, 0x80, 0x81, 0x80, 0xFF, 0xFF, 0xFF],
    );
    run(
        "CUTLASS host",
        up,
        Propagate,
        [0, 0, 0, 1, 1, 0x80, 0x80, 0x81, 0x80, 0xFE, 0xFF, 0xFF],
    );
    let even = Rounding::NearestEven;
    run(
        "ties to even",
        even,
        Finite,
        [0, 0, 0, 0, 0, 0x7F, 0x80, 0x80, 0x7F, 0xFE, 0xFE, 0xFF],
    );
}

#[test]
fn saturations_by_kind_of_format() {
    let kinds = [
        (Format::E5M2, [0x7B, 0x7B, 0x7B, 0x7C, 0x7C, 0x7C]),
        (Format::Binary8p4se, [0x7E, 0x7E, 0x7E, 0x7F, 0x7F, 0x7F]),
        (Format::E4M3, [0x7E, 0x7E, 0x7E, 0x7F, 0x7F, 0x7F]),
        (Format::UE4M3, [0x7E, 0x7E, 0x7E, 0x7F, 0x7F, 0x7F]),
        (Format::Binary8p4sf, [0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F]),
        (Format::E2M1, [0x07, 0x07, 0x07, 0x07, 0x07, 0x07]),
        (Format::MxInt8, [0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F]),
    ];
    for (format, codes) in kinds {
        for (saturation, codes) in [Finite, Propagate, None].into_iter().zip(codes.chunks(2)) {
            let cast = cast(saturation, Canonical);
            check("the table", format, cast, [1e30, INF], [codes[0], codes[1]]);
            let down = cast.rounding(Rounding::TowardZero);
            let max = format.spec().max_magnitude() as u8;
            check("toward zero", format, down, [1e30, INF], [max, codes[1]]);
        }
    }
    let unsigned = Format::Binary8p4uf;
    check(
        "unsigned",
        unsigned,
        cast(Finite, Canonical),
        [-1.0, -INF, -0.0],
        [0, 0, 0],
    );
    check(
        "unsigned",
        unsigned,
        cast(Propagate, Canonical),
        [-1.0, -INF, -0.0],
        [0, 0, 0],
    );
    check(
        "unsigned",
        unsigned,
        cast(None, Canonical),
        [-1.0, -INF, -1e-30],
        [0xFF, 0xFF, 0],
    );
    for rounding in [Rounding::TowardZero, Rounding::TowardPositive] {
        check(
            "unsigned, clamped by the rounding",
            unsigned,
            cast(None, Canonical).rounding(rounding),
            [-1.0, -INF, -1e-30],
            [0, 0xFF, 0],
        );
    }
    check(
        "to odd stays finite",
        Format::Binary8p4ue,
        cast(None, Canonical).rounding(Rounding::ToOdd),
        [1e30, INF, -1.0],
        [0xFD, 0xFE, 0xFF],
    );
}

#[test]
fn nan_decodes_to_a_quiet_nan() {
    let codes = [
        (Format::E4M3, 0x7F, 0x7FC0_0000),
        (Format::E4M3, 0xFF, 0xFFC0_0000),
        (Format::E5M2, 0x7D, 0x7FC0_0000),
        (Format::E4M3Fnuz, 0x80, 0x7FC0_0000),
        (Format::E8M0, 0xFF, 0x7FC0_0000),
    ];
    for (format, code, bits) in codes {
        assert_eq!(
            decode_f32(format, code).to_bits(),
            bits,
            "{format:?} {code:#04x}"
        );
    }
}
