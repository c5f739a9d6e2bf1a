// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a call: one arena, in which each buffer has a slot of its own, or lies wherever the input says. What a
//! call may read or write is known to the byte; AddressSanitizer is told of all the rest.

use std::any::Any;
use std::ffi::c_void;

use arbitrary::{Result, Unstructured};

/// Bytes that no buffer exceeds.
pub const MOST: usize = 8192;
/// Bytes that a buffer may begin behind its slot's beginning.
const SHIFTS: usize = 64;
const SLOT: usize = MOST + SHIFTS;
const SLOTS: usize = 13;

unsafe extern "C" {
    fn __asan_poison_memory_region(address: *const c_void, size: usize);
    fn __asan_unpoison_memory_region(address: *const c_void, size: usize);
}

/// What a call does with a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    /// What is there afterwards is the result, or what was there before.
    Write,
    /// What is there afterwards is not specified.
    Scratch,
}

/// Where the bytes of a buffer are: rows in matrices in a batch. All counts in bytes.
#[derive(Clone, Copy)]
pub struct Extent {
    pub batches: usize,
    pub batch_step: usize,
    pub rows: usize,
    pub row_step: usize,
    pub row: usize,
}

impl Extent {
    /// `count` elements of `size` bytes.
    pub fn flat(count: usize, size: usize) -> Extent {
        Extent::matrix(1, count, 0, size)
    }

    /// Rows of `cols` elements of `size` bytes, `stride` elements apart (0 for `cols`).
    pub fn matrix(rows: usize, cols: usize, stride: usize, size: usize) -> Extent {
        let stride = if stride == 0 { cols } else { stride };
        Extent {
            batches: 1,
            batch_step: 0,
            rows,
            row_step: stride.saturating_mul(size),
            row: cols.saturating_mul(size),
        }
    }

    /// So many matrices, `stride` elements of `size` bytes apart (0 for no gaps).
    pub fn batch(self, batches: usize, stride: usize, size: usize) -> Extent {
        let batch_step = match stride {
            0 => self.rows.saturating_mul(self.row_step),
            stride => stride.saturating_mul(size),
        };
        Extent {
            batches: batches.max(1),
            batch_step,
            ..self
        }
    }

    /// Each row that has bytes: where it begins, and ends, within the room that there is. A call with larger ones is
    /// refused.
    fn ranges(self) -> impl Iterator<Item = (usize, usize)> {
        let (batches, rows) = if self.row == 0 {
            (0, 0)
        } else {
            (self.batches.min(MOST), self.rows.min(MOST))
        };
        (0..batches).flat_map(move |batch| {
            let matrix = batch.saturating_mul(self.batch_step);
            (0..rows).map_while(move |row| {
                let begin = matrix.saturating_add(row.saturating_mul(self.row_step));
                (begin < MOST).then(|| (begin, begin.saturating_add(self.row).min(MOST)))
            })
        })
    }
}

/// A buffer that lies somewhere in the arena.
struct Buffer {
    begin: usize,
    kind: Use,
    extent: Extent,
}

/// The arena, the buffers in it, and the structures of the call, which lie elsewhere.
pub struct Memory {
    arena: Vec<u64>,
    buffers: Vec<Buffer>,
    structures: Vec<Box<dyn Any>>,
}

/// A structure with bytes behind it: what a `struct_size` that is too large reads.
#[repr(C)]
struct Followed<T> {
    it: T,
    excess: [u64; 4],
}

impl Memory {
    /// Filled with what the input says: ones, any bytes, numbers of all sizes, special ones.
    pub fn new(u: &mut Unstructured<'_>) -> Result<Memory> {
        let (kind, seed): (u8, u8) = (u.arbitrary()?, u.arbitrary()?);
        let mut state = u64::from(seed) << 1 | 1;
        let mut random = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 32) as u32
        };
        const SPECIAL: [f32; 8] = [
            0.0,
            -0.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MAX,
            1e-45,
            1.0,
        ];
        let mut word = || match kind % 4 {
            0 => 1.0f32.to_bits(),
            1 => random(),
            2 => random() & 0x807F_FFFF | (112 + (random() & 0x1F)) << 23,
            _ => SPECIAL[random() as usize % SPECIAL.len()].to_bits(),
        };
        let slot: Vec<u64> = (0..SLOT / 8)
            .map(|_| u64::from(word()) << 32 | u64::from(word()))
            .collect();
        let arena = slot.repeat(SLOTS + 1);
        Ok(Memory {
            arena,
            buffers: Vec::new(),
            structures: Vec::new(),
        })
    }

    fn base(&self) -> *mut u8 {
        self.arena.as_ptr().cast_mut().cast()
    }

    /// A pointer to a buffer: mostly its own slot's beginning, sometimes a little behind it, sometimes another buffer's
    /// memory, sometimes null.
    pub fn buffer<T>(
        &mut self,
        u: &mut Unstructured<'_>,
        kind: Use,
        extent: Extent,
    ) -> Result<*mut T> {
        let own = self.buffers.len() % SLOTS * SLOT;
        let begin = match u.arbitrary::<u8>()? {
            0..192 => own,
            shift @ 192..224 => own + shift as usize - 191,
            224..248 => {
                u.arbitrary::<u16>()? as usize % (self.buffers.len() + 1).min(SLOTS) * SLOT
                    + u.arbitrary::<u16>()? as usize % SLOT
            }
            _ => return Ok(std::ptr::null_mut()),
        };
        self.buffers.push(Buffer {
            begin,
            kind,
            extent,
        });
        Ok(self.base().wrapping_add(begin).cast())
    }

    /// A pointer that the call ignores or refuses: mostly null.
    pub fn nothing<T>(
        &mut self,
        u: &mut Unstructured<'_>,
        kind: Use,
        extent: Extent,
    ) -> Result<*mut T> {
        match u.arbitrary::<u8>()? {
            0..224 => Ok(std::ptr::null_mut()),
            _ => self.buffer(u, kind, extent),
        }
    }

    fn keep<T: 'static>(&mut self, value: T) -> *mut T {
        let mut kept = Box::new(value);
        let pointer = &raw mut *kept;
        self.structures.push(kept);
        pointer
    }

    /// A pointer to a structure: sometimes null or misaligned.
    pub fn plain<T: 'static>(&mut self, u: &mut Unstructured<'_>, it: T) -> Result<*mut T> {
        let pointer = self.keep(Followed { it, excess: [0; 4] }).cast::<T>();
        Ok(match u.arbitrary::<u8>()? {
            0..236 => pointer,
            236..240 => pointer.wrapping_byte_add(1),
            _ => std::ptr::null_mut(),
        })
    }

    /// A pointer to a structure that begins with its size, and the structure as the library must read it: sometimes
    /// shorter or longer than this header's, or of a size that cannot be.
    pub fn sized<T: Copy + 'static>(
        &mut self,
        u: &mut Unstructured<'_>,
        it: T,
    ) -> Result<(*mut T, T)> {
        self.at_least(u, it, size_of::<usize>())
    }

    /// The same for one that says where its own buffers lie: its members are all read, or it is refused.
    pub fn unshortened<T: Copy + 'static>(
        &mut self,
        u: &mut Unstructured<'_>,
        it: T,
    ) -> Result<*mut T> {
        Ok(self.at_least(u, it, size_of::<T>())?.0)
    }

    fn at_least<T: Copy + 'static>(
        &mut self,
        u: &mut Unstructured<'_>,
        it: T,
        least: usize,
    ) -> Result<(*mut T, T)> {
        const { assert!(size_of::<T>().is_multiple_of(8)) };
        let whole = size_of::<T>();
        let control: u8 = u.arbitrary()?;
        let size = match control {
            0..208 => whole,
            208..224 => u.int_in_range(least / 8..=whole / 8)? * 8,
            224..240 => whole + 8 * u.int_in_range(1..=4)?,
            _ => *u.choose(&[0, 7, usize::MAX, 1 << 63])?,
        };
        let is_clear = control.is_multiple_of(2);
        let excess = [if is_clear { 0 } else { u.arbitrary()? }; 4];
        let given = self.keep(Followed { it, excess });
        // SAFETY: the structure begins with its size, and may be read and written as bytes.
        let effective = unsafe {
            given.cast::<usize>().write(size);
            let mut effective = it;
            let tail = (&raw mut effective).cast::<u8>();
            let known = size.min(whole);
            tail.add(known).write_bytes(0, whole - known);
            effective
        };
        let pointer = self.plain_pointer(u, given.cast())?;
        Ok((pointer, effective))
    }

    fn plain_pointer<T>(&self, u: &mut Unstructured<'_>, pointer: *mut T) -> Result<*mut T> {
        Ok(match u.arbitrary::<u8>()? {
            0..240 => pointer,
            240..244 => pointer.wrapping_byte_add(1),
            _ => std::ptr::null_mut(),
        })
    }

    /// What is in the arena.
    pub fn snapshot(&self) -> Vec<u8> {
        let bytes = self.used();
        // SAFETY: so many bytes of the arena are there.
        unsafe { std::slice::from_raw_parts(self.base(), bytes) }.to_vec()
    }

    /// Brings back what was there.
    pub fn restore(&mut self, snapshot: &[u8]) {
        // SAFETY: a snapshot is as long as the part in use, and lies elsewhere.
        unsafe {
            self.base()
                .copy_from_nonoverlapping(snapshot.as_ptr(), snapshot.len())
        };
    }

    /// Bytes of the slots in use, and one more slot.
    fn used(&self) -> usize {
        (self.buffers.len() + 2).min(SLOTS + 1) * SLOT
    }

    /// Runs a call, during which no byte of the arena may be touched that is not a buffer's.
    pub fn guarded<R>(&self, call: impl FnOnce() -> R) -> R {
        let all = self.base().cast::<c_void>();
        // SAFETY: the arena is there, and nothing of this process uses it during the call but the call.
        unsafe { __asan_poison_memory_region(all, SLOT * (SLOTS + 1)) };
        for buffer in &self.buffers {
            for (begin, end) in buffer.extent.ranges() {
                // SAFETY: as above.
                unsafe {
                    __asan_unpoison_memory_region(
                        all.wrapping_byte_add(buffer.begin + begin),
                        end - begin,
                    )
                };
            }
        }
        let result = call();
        // SAFETY: as above.
        unsafe { __asan_unpoison_memory_region(all, SLOT * (SLOTS + 1)) };
        result
    }

    /// Takes out of a snapshot all that a call may have written, `Use::Scratch` alone or `Use::Write` too.
    pub fn blank(&self, snapshot: &mut [u8], scratch_alone: bool) {
        for buffer in &self.buffers {
            if buffer.kind == Use::Read || scratch_alone && buffer.kind == Use::Write {
                continue;
            }
            for (begin, end) in buffer.extent.ranges() {
                let range = buffer.begin + begin..buffer.begin + end;
                snapshot
                    .get_mut(range)
                    .expect("buffers lie in the arena")
                    .fill(0);
            }
        }
    }
}
