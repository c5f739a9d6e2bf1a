// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layouts of scales against worked tables, against models that reshape and permute a whole
//! matrix, and as bijections.

use std::collections::BTreeMap;

use ofp8::{Error, Format, Layout, ScaleOrder, scalar};

const ORDERS: [ScaleOrder; 6] = [
    ScaleOrder::RowMajor,
    ScaleOrder::RowMajorPadded,
    ScaleOrder::MnMajorPadded,
    ScaleOrder::Tile128x4,
    ScaleOrder::PackedWords,
    ScaleOrder::Gfx950,
];

/// Sizes around every tile edge, and some that nothing divides.
const EDGES: [usize; 14] = [0, 1, 3, 4, 5, 9, 31, 32, 33, 127, 128, 129, 257, 400];

fn layout(order: ScaleOrder, columnwise: bool, rows: usize, cols: usize) -> Layout {
    if columnwise {
        Layout::columnwise(order, rows, cols).unwrap()
    } else {
        Layout::new(order, rows, cols).unwrap()
    }
}

/// `tensor.view(dims).permute(axes).flatten()` of a tensor of consecutive numbers.
fn permute(dims: &[usize], axes: &[usize], tensor: &[usize]) -> Vec<usize> {
    assert_eq!(dims.iter().product::<usize>(), tensor.len());
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    let mut index = vec![0; axes.len()];
    let mut result = Vec::with_capacity(tensor.len());
    for _ in 0..tensor.len() {
        let source: usize = axes
            .iter()
            .zip(&index)
            .map(|(&axis, i)| strides[axis] * i)
            .sum();
        result.push(tensor[source]);
        for place in (0..axes.len()).rev() {
            index[place] += 1;
            if index[place] < dims[axes[place]] {
                break;
            }
            index[place] = 0;
        }
    }
    result
}

/// The offsets of a row-wise grid by reshaping a padded matrix: `(row, col) -> offset`, and the
/// size. Written from the descriptions of the systems, with no formula for an index.
fn model(order: ScaleOrder, rows: usize, cols: usize) -> (BTreeMap<(usize, usize), usize>, usize) {
    let (tile_rows, tile_cols) = match order {
        ScaleOrder::RowMajor => (1, 1),
        ScaleOrder::RowMajorPadded => (1, 4),
        ScaleOrder::MnMajorPadded => (4, 1),
        ScaleOrder::Tile128x4 => (128, 4),
        ScaleOrder::PackedWords => (4, 4),
        ScaleOrder::Gfx950 => (32, 8),
    };
    let r = rows.next_multiple_of(tile_rows);
    let c = cols.next_multiple_of(tile_cols);
    let matrix: Vec<usize> = (0..r * c).collect();
    let stored = match order {
        ScaleOrder::RowMajor | ScaleOrder::RowMajorPadded => matrix,
        ScaleOrder::MnMajorPadded => permute(&[r, c], &[1, 0], &matrix),
        // torchao's to_blocked: tiles one after another, then the four groups of 32 rows of each
        // side by side.
        ScaleOrder::Tile128x4 => {
            let tiles = permute(&[r / 128, 128, c / 4, 4], &[0, 2, 1, 3], &matrix);
            permute(&[r * c / 512, 4, 32, 4], &[0, 2, 1, 3], &tiles)
        }
        ScaleOrder::PackedWords => permute(&[r, c / 4, 4], &[1, 0, 2], &matrix),
        // aiter's e8m0_shuffle.
        ScaleOrder::Gfx950 => permute(&[r / 32, 2, 16, c / 8, 2, 4], &[0, 3, 5, 2, 4, 1], &matrix),
    };
    let offsets = stored
        .iter()
        .enumerate()
        .map(|(offset, at)| ((at / c, at % c), offset))
        .filter(|((row, col), _)| *row < rows && *col < cols)
        .collect();
    (offsets, r * c)
}

#[test]
fn orders_are_what_reshaping_gives() {
    for order in ORDERS {
        for rows in EDGES {
            for cols in EDGES {
                let (offsets, size) = model(order, rows, cols);
                let rowwise = layout(order, false, rows, cols);
                let columnwise = layout(order, true, cols, rows);
                assert_eq!(rowwise.size(), size, "{order:?} {rows}x{cols}");
                assert_eq!(columnwise.size(), size, "{order:?} {rows}x{cols}");
                assert_eq!(offsets.len(), rows * cols);
                for (&(row, col), &offset) in &offsets {
                    let place = format!("{order:?} {rows}x{cols} at {row},{col}");
                    assert_eq!(rowwise.index(row, col), Some(offset), "{place}");
                    assert_eq!(columnwise.index(col, row), Some(offset), "{place}");
                }
            }
        }
    }
}

/// The worked example of the 128x4 tile: 200 rows, K = 288 in blocks of 32.
#[test]
fn tile_128x4_table() {
    const LAYOUT: Layout = match Layout::new(ScaleOrder::Tile128x4, 200, 9) {
        Ok(layout) => layout,
        Err(_) => panic!("a small layout"),
    };
    assert_eq!(LAYOUT.size(), 3072);
    let table = [
        ((0, 0), 0),
        ((0, 3), 3),
        ((1, 0), 16),
        ((31, 3), 499),
        ((32, 0), 4),
        ((33, 1), 21),
        ((64, 0), 8),
        ((96, 0), 12),
        ((127, 3), 511),
        ((0, 4), 512),
        ((128, 0), 1536),
        ((129, 5), 2065),
        ((199, 8), 2680),
    ];
    for ((row, col), offset) in table {
        assert_eq!(LAYOUT.index(row, col), Some(offset));
        assert_eq!(LAYOUT.inverse(offset), Some((row, col)));
    }
    // The order of the rows inside a tile, a word each: 0, 32, 64, 96, 1, 33, ...
    for word in 0..128 {
        let row = word / 4 + 32 * (word % 4);
        assert_eq!(LAYOUT.inverse(4 * word), Some((row, 0)));
    }
    // Rows 200 to 255 and block 9 to 11 are padding.
    assert_eq!(LAYOUT.index(200, 0), None);
    assert_eq!(LAYOUT.index(0, 9), None);
    assert_eq!(LAYOUT.inverse(1024 + 1), None);
    assert_eq!(LAYOUT.inverse(3071), None);
    assert_eq!(LAYOUT.inverse(3072), None);
}

/// TransformerEngine's index function, with the exchanged arguments that it gets for column-wise
/// scales.
#[test]
fn columnwise_is_transformer_engines_index() {
    let te = |outer: usize, block: usize, tiles: usize| {
        ((outer / 128) * tiles + block / 4) * 512
            + (outer % 32) * 16
            + (outer % 128) / 32 * 4
            + block % 4
    };
    let (m, k) = (700, 300);
    let columnwise = Layout::columnwise(ScaleOrder::Tile128x4, m / 32 + 1, k).unwrap();
    let rowwise = Layout::new(ScaleOrder::Tile128x4, m, k / 32 + 1).unwrap();
    assert_eq!(columnwise.size(), 384 * 24);
    for i in 0..22 {
        for j in 0..k {
            assert_eq!(columnwise.index(i, j), Some(te(j, i, m.div_ceil(128))));
        }
    }
    for row in 0..m {
        for block in 0..10 {
            assert_eq!(rowwise.index(row, block), Some(te(row, block, 3)));
        }
    }
}

/// The shapes that TransformerEngine and cuBLASLt name for f32 block scales, and AMD's index.
#[test]
fn f32_block_scales_and_gfx950() {
    let (m, k) = (1030, 900);
    let rowwise = Layout::new(ScaleOrder::MnMajorPadded, m, k / 128 + 1).unwrap();
    assert_eq!(rowwise.size(), 8 * 1032); // [ceil(K/128)][roundup(M, 4)]
    assert_eq!(rowwise.index(5, 7), Some(7 * 1032 + 5));
    let columnwise = Layout::columnwise(ScaleOrder::MnMajorPadded, m / 128 + 1, k + 1).unwrap();
    assert_eq!(columnwise.size(), 9 * 904); // [ceil(M/128)][roundup(K, 4)]
    assert_eq!(columnwise.index(8, 900), Some(8 * 904 + 900));
    let square = Layout::new(ScaleOrder::RowMajorPadded, 9, 6).unwrap();
    assert_eq!(square.size(), 9 * 8); // [ceil(M/128)][roundup(ceil(K/128), 4)]
    assert_eq!(square.index(3, 5), Some(3 * 8 + 5));

    let amd = Layout::new(ScaleOrder::Gfx950, 75, 19).unwrap();
    let width = 24;
    assert_eq!(amd.size(), 96 * width);
    for r in 0..75 {
        for c in 0..19 {
            let offset = (r / 32) * 32 * width
                + (c / 8) * 256
                + (c % 4) * 64
                + (r % 16) * 4
                + (c / 4) % 2 * 2
                + (r / 16) % 2;
            assert_eq!(amd.index(r, c), Some(offset));
        }
    }
}

/// Checks every scale and every offset: no two scales share an offset, and `inverse` names the
/// scale of each, or padding.
fn check_whole(layout: &Layout) {
    let mut taken = vec![false; layout.size()];
    for row in 0..layout.rows() {
        for col in 0..layout.cols() {
            let offset = layout.index(row, col).unwrap();
            assert!(!taken[offset], "{layout:?} at {row},{col}");
            taken[offset] = true;
        }
    }
    for (offset, &is_scale) in taken.iter().enumerate() {
        let found = layout.inverse(offset);
        assert_eq!(found.is_some(), is_scale, "{layout:?} at {offset}");
        if let Some((row, col)) = found {
            assert_eq!(layout.index(row, col), Some(offset), "{layout:?}");
        }
    }
}

/// Checks that a smaller layout is part of a larger one: in its corners and along a diagonal it
/// has the same offsets, inside its size, both ways.
fn check_part(part: &Layout, whole: &Layout) {
    let (rows, cols) = (part.rows(), part.cols());
    let check = |row: usize, col: usize| {
        let offset = part.index(row, col);
        assert_eq!(offset, whole.index(row, col), "{part:?} at {row},{col}");
        let offset = offset.unwrap();
        assert!(offset < part.size(), "{part:?} at {row},{col}");
        assert_eq!(part.inverse(offset), Some((row, col)), "{part:?}");
    };
    check(rows - 1, 0);
    check(0, cols - 1);
    check(rows - 1, cols - 1);
    (0..rows).for_each(|row| check(row, (row * 7 + rows) % cols));
    assert_eq!(part.index(rows, 0), None);
    assert_eq!(part.index(0, cols), None);
    assert_eq!(part.inverse(part.size()), None);
}

/// Every size up to 400 x 400. A layout as wide as it is, in whole tiles, and as tall as any is
/// checked in full; those of fewer rows are parts of it. (Of an order that goes down first, rows
/// and columns change roles.) A full look at each of the 960,000 takes
/// many minutes.
#[test]
fn bijection() {
    const MOST: usize = 400;
    for order in ORDERS {
        let (tile_rows, tile_cols) = order.tile_shape();
        let down_first = matches!(order, ScaleOrder::MnMajorPadded | ScaleOrder::PackedWords);
        let tile = if down_first { tile_rows } else { tile_cols };
        for line in 1..=MOST {
            let sized = |along: usize, other: usize| {
                let (rows, cols) = if down_first {
                    (along, other)
                } else {
                    (other, along)
                };
                layout(order, false, rows, cols)
            };
            let whole = sized(line.next_multiple_of(tile), MOST);
            if line % tile == 0 || line == MOST {
                check_whole(&whole);
            }
            for other in 1..=MOST {
                check_part(&sized(line, other), &whole);
            }
        }
    }
}

/// Sizes around the edges of tiles, row-wise and column-wise, in full.
#[test]
fn bijection_in_full() {
    for order in ORDERS {
        for columnwise in [false, true] {
            for rows in (0..=20).chain(EDGES) {
                for cols in (0..=20).chain(EDGES) {
                    check_whole(&layout(order, columnwise, rows, cols));
                }
            }
        }
    }
}

/// Between any two layouts, in buffers full of poison: scales arrive, padding becomes zero and
/// takes nothing of the source's padding, gaps between grids stay as they were.
#[test]
fn conversions_write_all_padding() {
    const POISON: u8 = 0xA5;
    let all = || {
        ORDERS
            .into_iter()
            .flat_map(|order| [(order, false), (order, true)])
    };
    for (rows, cols) in [(1, 1), (5, 3), (33, 9), (129, 5), (9, 130), (0, 7)] {
        for (from_order, from_columnwise) in all() {
            for (to_order, to_columnwise) in all() {
                let from = layout(from_order, from_columnwise, rows, cols);
                let from = from.with_batches(3, from.grid_size() + 2).unwrap();
                let to = layout(to_order, to_columnwise, rows, cols);
                let to = to.with_batches(3, to.grid_size() + 5).unwrap();
                let value = |batch: usize, row: usize, col: usize| {
                    (1 + (batch * 83 + row * 7 + col * 3) % 250) as u8
                };
                let mut source = vec![POISON; from.size()];
                for batch in 0..3 {
                    for row in 0..rows {
                        for col in 0..cols {
                            let offset = from.index(row, col).unwrap();
                            source[batch * from.batch_stride() + offset] = value(batch, row, col);
                        }
                    }
                }
                let mut target = vec![POISON; to.size()];
                from.convert(&source, &to, &mut target).unwrap();
                for (at, &byte) in target.iter().enumerate() {
                    let (batch, offset) = (at / to.batch_stride(), at % to.batch_stride());
                    let expected = if offset >= to.grid_size() {
                        POISON
                    } else {
                        to.inverse(offset)
                            .map_or(0, |(row, col)| value(batch, row, col))
                    };
                    assert_eq!(byte, expected, "{from:?} to {to:?}, byte {at}");
                }
            }
        }
    }
}

#[test]
fn batches() {
    let grid = Layout::new(ScaleOrder::Tile128x4, 130, 5).unwrap();
    assert_eq!(
        (grid.grid_size(), grid.size(), grid.batches()),
        (2048, 2048, 1)
    );
    let packed = grid.with_batches(7, 0).unwrap();
    assert_eq!((packed.batch_stride(), packed.size()), (2048, 7 * 2048));
    let apart = grid.with_batches(7, 3000).unwrap();
    assert_eq!(
        (apart.batch_stride(), apart.size()),
        (3000, 6 * 3000 + 2048)
    );
    assert_eq!(grid.with_batches(0, 0).unwrap().size(), 0);
    assert_eq!(grid.with_batches(1, 5).unwrap().size(), 2048);
    assert_eq!(grid.with_batches(2, 2047), Err(Error::Shape));
    assert_eq!(grid.with_batches(usize::MAX, 2048), Err(Error::Shape));
    let empty = Layout::new(ScaleOrder::Gfx950, 0, 5).unwrap();
    assert_eq!(empty.with_batches(1000, 0).unwrap().size(), 0);
}

#[test]
fn sizes_that_overflow_are_refused() {
    let max = usize::MAX;
    for order in ORDERS {
        assert_eq!(Layout::new(order, max, max), Err(Error::Shape));
        assert_eq!(Layout::new(order, max, 2), Err(Error::Shape));
        assert_eq!(Layout::new(order, 2, max), Err(Error::Shape));
        assert_eq!(Layout::new(order, max / 2 + 1, 1), Err(Error::Shape));
        assert_eq!(Layout::new(order, 1 << 32, 1 << 32), Err(Error::Shape));
        assert_eq!(Layout::columnwise(order, max, 2), Err(Error::Shape));
    }
}

#[test]
fn empty_grids_of_any_length() {
    for length in [1 << 40, usize::MAX / 2, usize::MAX - 1, usize::MAX] {
        for (rows, cols) in [(length, 0), (0, length)] {
            for (order, columnwise) in ORDERS.map(|order| [(order, false), (order, true)]).concat()
            {
                let empty = layout(order, columnwise, rows, cols);
                let empty = empty.with_batches(1000, 0).unwrap();
                assert_eq!((empty.grid_size(), empty.size()), (0, 0));
                assert_eq!((empty.index(0, 0), empty.inverse(0)), (None, None));
                for to in ORDERS {
                    let to = Layout::new(to, rows, cols).unwrap();
                    let to = to.with_batches(1000, 0).unwrap();
                    assert_eq!(empty.convert::<u8>(&[], &to, &mut []), Ok(()));
                }
            }
        }
    }
}

#[test]
fn conversions_of_unlike_grids_are_refused() {
    let grid = Layout::new(ScaleOrder::RowMajor, 4, 6).unwrap();
    let turned = Layout::new(ScaleOrder::RowMajor, 6, 4).unwrap();
    let tiles = Layout::new(ScaleOrder::Tile128x4, 4, 6).unwrap();
    let source = [1u8; 24];
    let mut target = [9u8; 1024];
    let mut refused = |from: &Layout, source: &[u8], to: &Layout, len: usize, error| {
        let result = from.convert(source, to, &mut target[..len]);
        assert_eq!(result, Err(error));
        assert!(target.iter().all(|&byte| byte == 9));
    };
    refused(&grid, &source, &turned, 24, Error::Shape);
    refused(
        &grid,
        &source,
        &tiles.with_batches(2, 0).unwrap(),
        1024,
        Error::Shape,
    );
    refused(&grid, &source[1..], &tiles, 1024, Error::Length);
    refused(&grid, &source, &tiles, 1023, Error::Length);
}

fn exact_e8m0(scale: f32) -> Result<u8, Error> {
    scalar::encode_exact(Format::E8M0, scale).ok_or(Error::Scale)
}

/// DeepGEMM's words from f32 scales: its own expression on the bits, little-endian, tails zero.
#[test]
fn packed_words_from_f32() {
    let (rows, cols) = (6, 10);
    let from = Layout::new(ScaleOrder::RowMajor, rows, cols).unwrap();
    let to = Layout::new(ScaleOrder::PackedWords, rows, cols).unwrap();
    let scales: Vec<f32> = (0..rows * cols)
        .map(|i| 2f32.powi(i as i32 * 4 - 120))
        .collect();
    let mut bytes = vec![0xA5; to.size()];
    from.convert_with(&scales, &to, &mut bytes, exact_e8m0)
        .unwrap();
    assert_eq!(bytes.len(), 4 * 8 * 3);
    for word in 0..3 {
        for row in 0..8 {
            let bits = |j: usize| match (row < rows, 4 * word + j) {
                (true, col) if col < cols => scales[row * cols + col].to_bits(),
                _ => 0,
            };
            let expected = bits(0) >> 23 | bits(1) >> 15 | bits(2) >> 7 | bits(3) << 1;
            let at = 4 * (word * 8 + row);
            let stored = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            assert_eq!(stored, expected, "word {word}, row {row}");
        }
    }
}

/// Scales that are not powers of two are refused, wherever they are, and nothing is written.
#[test]
fn scales_that_e8m0_cannot_hold_are_refused() {
    let from = Layout::new(ScaleOrder::RowMajor, 5, 7).unwrap();
    let to = Layout::new(ScaleOrder::PackedWords, 5, 7).unwrap();
    let bad = [
        1.5,
        1.0 + f32::EPSILON,
        0.0,
        -0.0,
        -1.0,
        f32::INFINITY,
        f32::from_bits(1),
        f32::from_bits(0x0040_0001),
        f32::MAX,
    ];
    for value in bad {
        for place in [0, 17, 34] {
            let mut scales = [0.25; 35];
            scales[place] = value;
            let mut target = vec![0xA5; to.size()];
            let result = from.convert_with(&scales, &to, &mut target, exact_e8m0);
            assert_eq!(result, Err(Error::Scale), "{value} at {place}");
            assert!(target.iter().all(|&byte| byte == 0xA5));
        }
    }
    // What E8M0 has is taken: all its powers of two, and NaN for a poisoned block.
    for code in 0..=255u8 {
        let value = scalar::decode_f32(Format::E8M0, code);
        assert_eq!(exact_e8m0(value), Ok(code));
    }
    assert_eq!(exact_e8m0(-f32::NAN), Ok(255));
}
