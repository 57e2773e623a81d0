//! How many blocks of history are read at once.

/// Common nodes allow it.
const FIRST: u64 = 2_000;

/// More in one answer would be more than a node likes to give, and than is worth reading again when it fails.
const MOST: u64 = 100_000;

/// So many whole windows in a row, and the next one is half as long again.
const GROW_AFTER: u8 = 3;

/// The blocks in one range. What a node says of its limit, the pool knows, and a range is read in pieces: here is learned
/// what is too slow, or too much even in pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    blocks: u64,
    successes: u8,
}

impl Default for Window {
    fn default() -> Self {
        Self { blocks: FIRST, successes: 0 }
    }
}

impl Window {
    pub(super) fn blocks(self) -> u64 {
        self.blocks
    }

    /// A range of so many blocks was read. One that was shorter for another reason says nothing.
    pub(super) fn succeeded(&mut self, blocks: u64) {
        if blocks < self.blocks {
            return;
        }
        self.successes += 1;
        if self.successes >= GROW_AFTER {
            // Rounded up, or one block would stay one block.
            self.blocks = (self.blocks + self.blocks.div_ceil(2)).min(MOST);
            self.successes = 0;
        }
    }

    /// A range of so many blocks was not. The same one is not asked for again, as long as there is a shorter one.
    pub(super) fn failed(&mut self, blocks: u64) {
        self.blocks = (blocks / 2).clamp(1, self.blocks);
        self.successes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_by_half_after_three_whole_ones() {
        let mut window = Window::default();
        window.succeeded(2_000);
        window.succeeded(1_999);
        window.succeeded(2_000);
        assert_eq!(window.blocks(), 2_000);
        window.succeeded(2_000);
        assert_eq!(window.blocks(), 3_000);
        for _ in 0..100 {
            window.succeeded(window.blocks());
        }
        assert_eq!(window.blocks(), MOST);
    }

    #[test]
    fn it_halves_down_to_one_block_and_grows_from_there() {
        let mut window = Window::default();
        window.failed(2_000);
        assert_eq!(window.blocks(), 1_000);
        window.failed(7);
        assert_eq!(window.blocks(), 3);
        window.failed(100);
        assert_eq!(window.blocks(), 3, "a failure of a longer one says nothing of this one");
        window.failed(3);
        window.failed(1);
        assert_eq!(window.blocks(), 1);
        for _ in 0..3 {
            window.succeeded(1);
        }
        assert_eq!(window.blocks(), 2);
    }
}
