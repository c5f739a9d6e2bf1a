// SPDX-License-Identifier: MIT OR Apache-2.0
//! One block by itself: the codes, scale and values that the quantizer, which is held against the model,
//! gives for a matrix of that one block.

use ofp8::scale::{dequantize_block, quantize_block};
use ofp8::types::Element;
use ofp8::{
    Block, E2M1, E2M3, E3M2, E4M3, E4M3Fnuz, E5M2, Error, ExponentRule, Matrix, MatrixMut, MxInt8,
    Recipe, Scales, ScalesMut, Scaling, views,
};

use crate::data::{Generator, Profile, Specials, element};
use crate::model::RULES;

const PROFILES: [Profile; 6] = [
    Profile::AnyBits,
    Profile::Around(3),
    Profile::Around(-120),
    Profile::Coarse,
    Profile::Subnormal,
    Profile::Sparse,
];

const SPECIALS: [Specials; 4] = [
    Specials::None,
    Specials::None,
    Specials::Few,
    Specials::Many,
];

/// Compares a block of random elements with a matrix of that one block.
fn check_quantize<E: Element>(rule: ExponentRule, seed: u64) {
    let recipe = Recipe::new(E::FORMAT, Block::TENSOR, Scaling::E8M0(rule)).unwrap();
    let mut random = Generator(seed);
    let specials = SPECIALS[random.below(4) as usize];
    let profile = PROFILES[random.below(6) as usize];
    let count = [32, random.below(70) as usize + 1][random.below(2) as usize];
    let source: Vec<f32> = (0..count)
        .map(|_| element(&mut random, profile, specials))
        .collect();

    let (mut codes, mut scale) = (vec![0; count], [0]);
    let matrix = Matrix::new(&source, 1, count).unwrap();
    let to = MatrixMut::new(&mut codes, 1, count).unwrap();
    recipe
        .quantize(matrix, to, ScalesMut::E8M0(&mut scale))
        .unwrap();
    let mut own = vec![E::from_bits(0x1A); count];
    let own_scale = quantize_block(rule, &source, &mut own).unwrap();
    assert_eq!(
        (own_scale, views::as_codes(&own)),
        (scale[0], &codes[..]),
        "{:?} {rule:?} seed {seed}: {source:?}",
        E::FORMAT
    );
}

/// Compares every code, bits above its width included, under every scale.
fn check_dequantize<E: Element>() {
    let recipe = Recipe::new(
        E::FORMAT,
        Block::TENSOR,
        Scaling::E8M0(ExponentRule::RoundUp),
    );
    let codes: Vec<u8> = (0..=u8::MAX).collect();
    for scale in 0..=u8::MAX {
        let mut expected = vec![0.0f32; codes.len()];
        let matrix = Matrix::new(&codes, 1, codes.len()).unwrap();
        let to = MatrixMut::new(&mut expected, 1, codes.len()).unwrap();
        recipe
            .unwrap()
            .dequantize(matrix, Scales::E8M0(&[scale]), to)
            .unwrap();
        let mut own = vec![0.5f32; codes.len()];
        dequantize_block(scale, views::from_codes::<E>(&codes), &mut own).unwrap();
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(
            bits(&own),
            bits(&expected),
            "{:?} scale {scale:#04x}",
            E::FORMAT
        );
    }
}

fn check<E: Element>() {
    for rule in RULES.into_iter().chain([ExponentRule::Nearest]) {
        for seed in 0..500 {
            check_quantize::<E>(rule, seed);
        }
    }
    check_dequantize::<E>();
}

#[test]
fn it_is_a_matrix_of_one_block() {
    check::<E4M3>();
    check::<E5M2>();
    check::<E2M1>();
    check::<E2M3>();
    check::<E3M2>();
    check::<MxInt8>();
    check::<E4M3Fnuz>();
}

#[test]
fn an_error_writes_nothing() {
    let rule = ExponentRule::RoundUp;
    let source = [1.0; 4];
    let mut codes = [E4M3::from_bits(0x5A); 4];
    let short = quantize_block(rule, &source[..3], &mut codes);
    assert_eq!(short, Err(Error::Length));
    let least_error = quantize_block(ExponentRule::LeastError, &source, &mut codes);
    assert_eq!(least_error, Err(Error::Recipe));
    assert_eq!(codes.map(E4M3::to_bits), [0x5A; 4]);
    let mut target = [0.5; 4];
    let short = dequantize_block(127, &codes[..3], &mut target);
    assert_eq!(short, Err(Error::Length));
    assert_eq!(target, [0.5; 4]);
    assert_eq!(quantize_block::<E4M3>(rule, &[], &mut []), Ok(0));
}
