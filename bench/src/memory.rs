//! Counts what the allocator of our binary gives out.

#![expect(unsafe_code, reason = "an allocator is unsafe by nature; this one only counts and passes on")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mimalloc::MiMalloc;

#[global_allocator]
static COUNTING: Counting = Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes allocated and not yet given back.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Relaxed)
}

/// The most there ever were since [`forget_peak`].
pub(crate) fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Starts looking for a peak anew.
pub(crate) fn forget_peak() {
    PEAK.store(in_use(), Relaxed);
}

struct Counting;

// SAFETY: every call goes to mimalloc unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(used, Relaxed);
        // SAFETY: the caller's promise about the layout holds for mimalloc too.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the pointer came from `alloc`, which got it from mimalloc.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}
