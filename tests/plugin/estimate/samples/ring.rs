//! A ring buffer that never allocates after it was made.

use std::mem::MaybeUninit;

pub struct Ring<T, const N: usize> {
    slots: [MaybeUninit<T>; N],
    head: usize,
    len: usize,
}

impl<T, const N: usize> Ring<T, N> {
    pub const fn new() -> Self {
        Self { slots: [const { MaybeUninit::uninit() }; N], head: 0, len: 0 }
    }

    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.len == N {
            return Err(value);
        }
        let at = (self.head + self.len) % N;
        self.slots[at].write(value);
        self.len += 1;
        Ok(())
    }

    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let slot = std::mem::replace(&mut self.slots[self.head], MaybeUninit::uninit());
        self.head = (self.head + 1) % N;
        self.len -= 1;
        // SAFETY: the slot was written by `push` and is read once.
        Some(unsafe { slot.assume_init() })
    }
}
