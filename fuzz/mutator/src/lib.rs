//! The mutator of `rocespec-codec` for programs in C: see `rocespec_mutator.h`.

/// Changes one thing of the RoCE frame in the first `size` bytes of `data`, repairs what depends on it (or leaves one of
/// lengths, checksums and ICRC wrong), and gives the new size, at most `max_size`.
///
/// # Safety
/// `data` points to `max_size` bytes that can be read and written, and nothing else reads or writes them meanwhile.
/// A null pointer gives 0.
// SAFETY: no other function of a fuzzer has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocespec_mutate(data: *mut u8, size: usize, max_size: usize, seed: u32) -> usize {
    if data.is_null() {
        return 0;
    }
    // SAFETY: the caller vouches for `max_size` bytes, and for being alone with them.
    let data = unsafe { core::slice::from_raw_parts_mut(data, max_size) };
    rocespec_codec::arbitrary::mutate(data, size, max_size, seed)
}
