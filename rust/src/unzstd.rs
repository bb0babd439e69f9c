//! Decompression of small zstd frames.

use std::cell::RefCell;
use std::io;

use zstd::bulk::Decompressor;

thread_local! {
    /// Every query reads blocks, and on virtual machines a new decompressor takes longer than a small block.
    static KEPT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses a frame into the capacity of `buffer`, which is cleared; returns the number of bytes.
pub fn unzstd(frame: &[u8], buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    KEPT.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(frame, buffer)
    })
}
