// SPDX-License-Identifier: MIT OR Apache-2.0
//! The formats, as rows of data: the one place that knows a bit layout.
//!
//! A [`Spec`] is a row. It states widths, bias and where the special codes lie; everything else
//! (largest value, thresholds, code masks) is derived from it by `const fn`. A new format is a
//! new row, never a new branch somewhere else.
//!
//! The wide types that values come from and go to (binary16, bfloat16, binary32, binary64) are
//! rows of the same kind, so that a conversion is always "decode by one row, encode by another".
//!
//! Words used here and everywhere: a *code* is the stored bit pattern, a *magnitude* is the code
//! without its sign, an *ulp* is the distance to the next value of the format.

/// How a format stores the sign of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A sign bit above the magnitude.
    Bit,
    /// Two's complement (MX INT8).
    TwosComplement,
    /// No sign: the magnitude of the input is stored (E8M0, UE4M3, UE5M3; as CUDA does).
    Dropped,
    /// No sign: a negative input lies below the range (P3109 unsigned formats).
    OutOfRange,
}

/// Which codes are NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NanCodes {
    /// The format has no NaN.
    None,
    /// The all-ones magnitude, of either sign where there is one.
    AllOnes,
    /// The code that would be negative zero; the format then has one zero and one NaN.
    NegativeZero,
    /// Every magnitude above infinity, as IEEE 754 has it. The canonical one is all ones
    /// (what NVIDIA's instructions give).
    AboveInfinity,
    /// The same codes, but the canonical one has only the top mantissa bit set
    /// (IEEE 754's usual quiet NaN; ml_dtypes' choice for the 8-bit formats of that style).
    AboveInfinityQuiet,
}

/// What a value beyond the largest becomes where nothing clamps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// NaN, with the sign of the value where the format has two NaN signs.
    Nan,
    /// Infinity, with the sign of the value.
    Infinity,
    /// The largest value: the format has neither, or its standard says so (P3109 finite).
    Maximum,
}

/// One format: the facts that everything else is derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name used in documentation, `Display` and the C constants.
    pub name: &'static str,
    /// Width of a code in bits, sign included.
    pub bits: u32,
    /// Width of the exponent field; 0 means fixed point.
    pub exponent_bits: u32,
    /// Width of the mantissa field (stored bits, without the implicit one).
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// How the sign is stored.
    pub sign: Sign,
    /// Whether code 0 is zero, with subnormals above it. E8M0 has neither: its code 0 is 2^-127.
    pub zero: bool,
    /// Whether the magnitude after the largest finite one is infinity.
    pub infinity: bool,
    /// Which codes are NaN.
    pub nan: NanCodes,
    /// What overflow gives where nothing clamps.
    pub overflow: Overflow,
}

impl Spec {
    /// A mask of the bits that a code uses.
    #[inline]
    pub const fn code_mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Width of the magnitude: the code without a sign bit.
    #[inline]
    pub const fn magnitude_bits(&self) -> u32 {
        match self.sign {
            Sign::Bit | Sign::TwosComplement => self.bits - 1,
            Sign::Dropped | Sign::OutOfRange => self.bits,
        }
    }

    /// The all-ones magnitude.
    #[inline]
    pub const fn magnitude_mask(&self) -> u64 {
        u64::MAX >> (64 - self.magnitude_bits())
    }

    /// The sign bit of a code; 0 where there is none.
    #[inline]
    pub const fn sign_mask(&self) -> u64 {
        self.code_mask() & !self.magnitude_mask()
    }

    /// A mask of the mantissa field.
    #[inline]
    pub const fn mantissa_mask(&self) -> u64 {
        (1 << self.mantissa_bits) - 1
    }

    /// Whether the format can store a negative value.
    #[inline]
    pub const fn is_signed(&self) -> bool {
        matches!(self.sign, Sign::Bit | Sign::TwosComplement)
    }

    /// Whether the format has a zero of each sign.
    #[inline]
    pub const fn has_negative_zero(&self) -> bool {
        matches!(self.sign, Sign::Bit) && !matches!(self.nan, NanCodes::NegativeZero)
    }

    /// Whether the format has a NaN.
    #[inline]
    pub const fn has_nan(&self) -> bool {
        !matches!(self.nan, NanCodes::None)
    }

    /// Whether the format has a NaN of each sign.
    #[inline]
    pub const fn has_negative_nan(&self) -> bool {
        self.has_nan() && self.has_negative_zero()
    }

    /// The exponent (`floor(log2 |x|)`) of the lowest binade: smaller values are spaced as in it.
    #[inline]
    pub const fn min_exponent(&self) -> i32 {
        if self.zero { 1 - self.bias } else { -self.bias }
    }

    /// The exponent of the largest finite value (`emax` of the MX specification).
    #[inline]
    pub const fn max_exponent(&self) -> i32 {
        let field = (self.max_magnitude() >> self.mantissa_bits) as i32;
        if field == 0 {
            // Fixed point: the place of the top bit, counted from the quantum.
            let top = 63 - self.max_magnitude().leading_zeros() as i32;
            return self.min_exponent() - self.mantissa_bits as i32 + top;
        }
        field - self.bias
    }

    /// The magnitude of infinity, where the format has one.
    #[inline]
    pub const fn infinity_magnitude(&self) -> Option<u64> {
        if !self.infinity {
            return None;
        }
        Some(match self.nan {
            NanCodes::AboveInfinity | NanCodes::AboveInfinityQuiet => {
                self.magnitude_mask() & !self.mantissa_mask()
            }
            NanCodes::AllOnes => self.magnitude_mask() - 1,
            NanCodes::NegativeZero | NanCodes::None => self.magnitude_mask(),
        })
    }

    /// The magnitude of the largest finite value.
    #[inline]
    pub const fn max_magnitude(&self) -> u64 {
        match (self.infinity_magnitude(), self.nan) {
            (Some(infinity), _) => infinity - 1,
            (None, NanCodes::AllOnes) => self.magnitude_mask() - 1,
            (None, _) => self.magnitude_mask(),
        }
    }

    /// The magnitude of the smallest normal value. In fixed point, every value above zero is
    /// normal.
    #[inline]
    pub const fn min_normal_magnitude(&self) -> u64 {
        if !self.zero {
            0
        } else if self.is_fixed_point() {
            1
        } else {
            1 << self.mantissa_bits
        }
    }

    /// Whether the values are evenly spaced over the whole range (MX INT8).
    #[inline]
    pub const fn is_fixed_point(&self) -> bool {
        self.exponent_bits == 0
    }

    /// Whether there are values between zero and the smallest normal one.
    #[inline]
    pub const fn has_subnormals(&self) -> bool {
        self.min_positive_magnitude() < self.min_normal_magnitude()
    }

    /// The magnitude of the smallest value above zero.
    #[inline]
    pub const fn min_positive_magnitude(&self) -> u64 {
        self.zero as u64
    }

    /// The canonical positive NaN code, where the format has a NaN.
    #[inline]
    pub const fn nan_code(&self) -> Option<u64> {
        match self.nan {
            NanCodes::None => None,
            NanCodes::AllOnes | NanCodes::AboveInfinity => Some(self.magnitude_mask()),
            NanCodes::NegativeZero => Some(self.sign_mask()),
            NanCodes::AboveInfinityQuiet => {
                let exponent = self.magnitude_mask() & !self.mantissa_mask();
                Some(exponent | 1 << (self.mantissa_bits - 1))
            }
        }
    }

    /// Whether a code (its unused high bits ignored) is NaN.
    #[inline]
    pub const fn is_nan(&self, code: u64) -> bool {
        let magnitude = code & self.magnitude_mask();
        match self.nan {
            NanCodes::None => false,
            NanCodes::AllOnes => magnitude == self.magnitude_mask(),
            NanCodes::NegativeZero => code & self.code_mask() == self.sign_mask(),
            NanCodes::AboveInfinity | NanCodes::AboveInfinityQuiet => {
                magnitude > self.magnitude_mask() & !self.mantissa_mask()
            }
        }
    }

    /// Whether a code (its unused high bits ignored) is an infinity.
    #[inline]
    pub const fn is_infinite(&self, code: u64) -> bool {
        match self.infinity_magnitude() {
            Some(infinity) => code & self.magnitude_mask() == infinity,
            None => false,
        }
    }

    /// Whether a code (its unused high bits ignored) carries a minus sign.
    #[inline]
    pub const fn is_negative(&self, code: u64) -> bool {
        code & self.sign_mask() != 0
    }

    /// The code of a sign and a magnitude. A format without that sign ignores it; the zero of a
    /// format that has only one has no sign.
    #[inline]
    pub const fn join(&self, negative: bool, magnitude: u64) -> u64 {
        if !negative || (magnitude == 0 && !self.has_negative_zero()) {
            return magnitude;
        }
        match self.sign {
            Sign::Bit => magnitude | self.sign_mask(),
            Sign::TwosComplement => magnitude.wrapping_neg() & self.code_mask(),
            Sign::Dropped | Sign::OutOfRange => magnitude,
        }
    }

    /// The sign and the magnitude of a code; the inverse of [`Spec::join`].
    #[inline]
    pub const fn split(&self, code: u64) -> (bool, u64) {
        let code = code & self.code_mask();
        let negative = self.is_negative(code);
        let magnitude = match self.sign {
            Sign::TwosComplement if negative => code.wrapping_neg() & self.code_mask(),
            _ => code & self.magnitude_mask(),
        };
        (negative, magnitude)
    }
}

/// A row in the style of IEEE 754: infinities, and NaN above them.
const fn ieee(name: &'static str, exponent_bits: u32, mantissa_bits: u32, nan: NanCodes) -> Spec {
    Spec {
        name,
        bits: 1 + exponent_bits + mantissa_bits,
        exponent_bits,
        mantissa_bits,
        bias: (1 << (exponent_bits - 1)) - 1,
        sign: Sign::Bit,
        zero: true,
        infinity: true,
        nan,
        overflow: Overflow::Infinity,
    }
}

/// A signed row without infinities, with IEEE 754's bias.
const fn finite(
    name: &'static str,
    exponent_bits: u32,
    mantissa_bits: u32,
    nan: NanCodes,
    overflow: Overflow,
) -> Spec {
    Spec {
        infinity: false,
        overflow,
        ..ieee(name, exponent_bits, mantissa_bits, nan)
    }
}

/// A row of the FNUZ kind: one zero, NaN at its negative, no infinities.
const fn fnuz(name: &'static str, exponent_bits: u32, mantissa_bits: u32, bias: i32) -> Spec {
    Spec {
        bias,
        ..finite(
            name,
            exponent_bits,
            mantissa_bits,
            NanCodes::NegativeZero,
            Overflow::Nan,
        )
    }
}

/// An unsigned row for scales: the sign of an input is dropped, the top code is NaN.
const fn unsigned(name: &'static str, exponent_bits: u32, mantissa_bits: u32) -> Spec {
    let signed = finite(
        name,
        exponent_bits,
        mantissa_bits,
        NanCodes::AllOnes,
        Overflow::Nan,
    );
    Spec {
        bits: exponent_bits + mantissa_bits,
        sign: Sign::Dropped,
        ..signed
    }
}

/// A P3109 row of 8 bits and precision `p` (interim report v4.0, June 2026, an unapproved draft).
const fn p3109(name: &'static str, p: u32, signed: bool, extended: bool) -> Spec {
    let exponent_bits = if signed { 8 - p } else { 9 - p };
    Spec {
        name,
        bits: 8,
        exponent_bits,
        mantissa_bits: p - 1,
        bias: 1 << (exponent_bits - 1),
        sign: if signed { Sign::Bit } else { Sign::OutOfRange },
        zero: true,
        infinity: extended,
        nan: if signed {
            NanCodes::NegativeZero
        } else {
            NanCodes::AllOnes
        },
        overflow: if extended {
            Overflow::Infinity
        } else {
            Overflow::Maximum
        },
    }
}

/// Declares [`Format`] from its rows: name, number, documentation, row.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $number:literal => $row:expr;)*) => {
        /// A narrow format, chosen at run time. The numbers are those of the C ABI: explicit,
        /// append-only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum Format {
            $($(#[$doc])* $name = $number,)*
        }

        impl Format {
            /// Every format, in the order of the table in the documentation.
            pub const ALL: &'static [Format] = &[$(Format::$name,)*];

            /// The row of the format.
            #[inline]
            pub const fn spec(self) -> &'static Spec {
                match self {
                    $(Format::$name => const { &$row },)*
                }
            }
        }
    };
}

formats! {
    /// OCP OFP8 E4M3 (ml_dtypes: e4m3fn): no infinities, largest value 448.
    E4M3 = 1 => finite("E4M3", 4, 3, NanCodes::AllOnes, Overflow::Nan);
    /// OCP OFP8 E5M2: infinities and NaN, largest value 57344.
    E5M2 = 2 => ieee("E5M2", 5, 2, NanCodes::AboveInfinity);
    /// E4M3 with one zero and one NaN (AMD MI300): bias 8, largest value 240.
    E4M3Fnuz = 3 => fnuz("E4M3Fnuz", 4, 3, 8);
    /// E5M2 with one zero and one NaN (AMD MI300): bias 16, largest value 57344.
    E5M2Fnuz = 4 => fnuz("E5M2Fnuz", 5, 2, 16);
    /// OCP MX scale: a power of two from 2^-127 to 2^127, and NaN. No zero, no sign.
    E8M0 = 5 => Spec { bias: 127, zero: false, ..unsigned("E8M0", 8, 0) };
    /// E4M3Fnuz with bias 11 (Google): largest value 30.
    E4M3B11Fnuz = 6 => fnuz("E4M3B11Fnuz", 4, 3, 11);
    /// E4M3 in the style of IEEE 754 (ml_dtypes: e4m3): infinities, largest value 240.
    E4M3Ieee = 7 => ieee("E4M3Ieee", 4, 3, NanCodes::AboveInfinityQuiet);
    /// E3M4 in the style of IEEE 754: infinities, largest value 15.5.
    E3M4 = 8 => ieee("E3M4", 3, 4, NanCodes::AboveInfinityQuiet);
    /// Unsigned E4M3, the block scale of NVFP4: 7 bits, largest value 448.
    UE4M3 = 9 => unsigned("UE4M3", 4, 3);
    /// Unsigned E5M3 (CUDA 13.5): 8 bits, largest value 114688.
    UE5M3 = 10 => unsigned("UE5M3", 5, 3);
    /// OCP MX FP6 E2M3: 6 bits, neither infinity nor NaN, largest value 7.5.
    E2M3 = 11 => finite("E2M3", 2, 3, NanCodes::None, Overflow::Maximum);
    /// OCP MX FP6 E3M2: 6 bits, neither infinity nor NaN, largest value 28.
    E3M2 = 12 => finite("E3M2", 3, 2, NanCodes::None, Overflow::Maximum);
    /// OCP MX FP4 E2M1: 4 bits, neither infinity nor NaN, largest value 6.
    E2M1 = 13 => finite("E2M1", 2, 1, NanCodes::None, Overflow::Maximum);
    /// OCP MX INT8: two's complement over 64. Encoding clamps to +-127/64; 0x80 decodes to -2.
    MxInt8 = 14 => Spec {
        bits: 8,
        exponent_bits: 0,
        sign: Sign::TwosComplement,
        ..finite("MxInt8", 1, 7, NanCodes::None, Overflow::Maximum)
    };
    /// P3109 (draft) Binary8p3se: signed, precision 3, infinities.
    Binary8p3se = 15 => p3109("Binary8p3se", 3, true, true);
    /// P3109 (draft) Binary8p3sf: signed, precision 3, finite.
    Binary8p3sf = 16 => p3109("Binary8p3sf", 3, true, false);
    /// P3109 (draft) Binary8p3ue: unsigned, precision 3, infinity.
    Binary8p3ue = 17 => p3109("Binary8p3ue", 3, false, true);
    /// P3109 (draft) Binary8p3uf: unsigned, precision 3, finite.
    Binary8p3uf = 18 => p3109("Binary8p3uf", 3, false, false);
    /// P3109 (draft) Binary8p4se: signed, precision 4, infinities.
    Binary8p4se = 19 => p3109("Binary8p4se", 4, true, true);
    /// P3109 (draft) Binary8p4sf: signed, precision 4, finite.
    Binary8p4sf = 20 => p3109("Binary8p4sf", 4, true, false);
    /// P3109 (draft) Binary8p4ue: unsigned, precision 4, infinity.
    Binary8p4ue = 21 => p3109("Binary8p4ue", 4, false, true);
    /// P3109 (draft) Binary8p4uf: unsigned, precision 4, finite.
    Binary8p4uf = 22 => p3109("Binary8p4uf", 4, false, false);
    /// P3109 (draft) Binary8p5se: signed, precision 5, infinities.
    Binary8p5se = 23 => p3109("Binary8p5se", 5, true, true);
    /// P3109 (draft) Binary8p5sf: signed, precision 5, finite.
    Binary8p5sf = 24 => p3109("Binary8p5sf", 5, true, false);
    /// P3109 (draft) Binary8p5ue: unsigned, precision 5, infinity.
    Binary8p5ue = 25 => p3109("Binary8p5ue", 5, false, true);
    /// P3109 (draft) Binary8p5uf: unsigned, precision 5, finite.
    Binary8p5uf = 26 => p3109("Binary8p5uf", 5, false, false);
}

impl Format {
    /// The format with this number (the C ABI's), if there is one.
    pub const fn from_number(number: u32) -> Option<Format> {
        let mut i = 0;
        while i < Format::ALL.len() {
            if Format::ALL[i] as u32 == number {
                return Some(Format::ALL[i]);
            }
            i += 1;
        }
        None
    }
}

/// A wide type that values come from or go to. The numbers are those of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum FloatType {
    /// IEEE 754 binary32.
    F32 = 1,
    /// IEEE 754 binary16.
    F16 = 2,
    /// bfloat16: the upper half of a binary32.
    Bf16 = 3,
    /// IEEE 754 binary64.
    F64 = 4,
}

impl FloatType {
    /// Every wide type.
    pub const ALL: &'static [FloatType] = &[
        FloatType::F32,
        FloatType::F16,
        FloatType::Bf16,
        FloatType::F64,
    ];

    /// The row of the type.
    #[inline]
    pub const fn spec(self) -> &'static Spec {
        const QUIET: NanCodes = NanCodes::AboveInfinityQuiet;
        match self {
            FloatType::F32 => const { &ieee("f32", 8, 23, QUIET) },
            FloatType::F16 => const { &ieee("f16", 5, 10, QUIET) },
            FloatType::Bf16 => const { &ieee("bf16", 8, 7, QUIET) },
            FloatType::F64 => const { &ieee("f64", 11, 52, QUIET) },
        }
    }

    /// The type with this number (the C ABI's), if there is one.
    pub const fn from_number(number: u32) -> Option<FloatType> {
        match number {
            1 => Some(FloatType::F32),
            2 => Some(FloatType::F16),
            3 => Some(FloatType::Bf16),
            4 => Some(FloatType::F64),
            _ => None,
        }
    }

    /// Size of an element in bytes.
    pub const fn size(self) -> usize {
        self.spec().bits as usize / 8
    }
}
