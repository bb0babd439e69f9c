//! Blocks of lz4, decompressed whole or only their first bytes.

use std::ffi::{c_char, c_int};

use lz4_sys::LZ4_decompress_safe;

use super::doc_store::damaged;
use crate::error::Result;

// in the library, but not among the declarations of its crate
unsafe extern "C" {
    fn LZ4_decompress_safe_partial(
        source: *const c_char,
        target: *mut c_char,
        source_len: c_int,
        wanted: c_int,
        capacity: c_int,
    ) -> c_int;
}

/// Replaces the buffer by the first `wanted` bytes of a block that has `size` bytes.
pub fn decompress(block: &[u8], size: usize, wanted: usize, buffer: &mut Vec<u8>) -> Result<()> {
    let too_large = || damaged("a block is too large");
    // one byte of lz4 never expands to more than 255
    if size / 255 > block.len() {
        return Err(too_large());
    }
    let wanted = wanted.min(size);
    buffer.clear();
    buffer.try_reserve(size).map_err(|_| too_large())?;
    let source_len = c_int::try_from(block.len()).map_err(|_| too_large())?;
    let capacity = c_int::try_from(size).map_err(|_| too_large())?;
    let (source, target) = (block.as_ptr().cast(), buffer.as_mut_ptr().cast());
    // SAFETY: the library reads no more than `source_len` bytes and writes no more than `capacity`, whatever the block holds
    let written = unsafe {
        if wanted == size {
            LZ4_decompress_safe(source, target, source_len, capacity)
        } else {
            LZ4_decompress_safe_partial(source, target, source_len, wanted as c_int, capacity)
        }
    };
    match usize::try_from(written) {
        Ok(written) if written == wanted => {
            // SAFETY: so many bytes were written
            unsafe { buffer.set_len(written) };
            Ok(())
        }
        Ok(_) => Err(damaged("a block has another length than it says")),
        Err(_) => Err(damaged("a block does not decompress")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![0; lz4_flex::block::get_maximum_output_size(bytes.len())];
        let len = lz4_flex::block::compress_into(bytes, &mut out).expect("enough room");
        out.truncate(len);
        out
    }

    proptest! {
        #[test]
        fn the_first_bytes_are_those_of_the_whole(
            words in proptest::collection::vec("[a-c]{1,4}|request|completed", 1..150),
            share in 0usize..=100,
        ) {
            let bytes = words.concat().into_bytes();
            let block = compressed(&bytes);
            let wanted = bytes.len() * share / 100;
            let mut buffer = Vec::new();
            decompress(&block, bytes.len(), wanted, &mut buffer).expect("a sound block");
            prop_assert_eq!(&buffer, &bytes[..wanted]);
        }

        #[test]
        fn damage_is_an_error_or_other_bytes_of_the_same_length(
            bytes in proptest::collection::vec(0u8..4, 1..600),
            at in any::<prop::sample::Index>(),
            flip in 1u8..,
            size in 0usize..700,
            wanted in 0usize..700,
        ) {
            let mut block = compressed(&bytes);
            let at = at.index(block.len());
            block[at] ^= flip;
            let mut buffer = Vec::new();
            if decompress(&block, size, wanted, &mut buffer).is_ok() {
                prop_assert_eq!(buffer.len(), wanted.min(size));
            }
            let cut = &block[..at];
            if decompress(cut, size, wanted, &mut buffer).is_ok() {
                prop_assert_eq!(buffer.len(), wanted.min(size));
            }
        }
    }
}
