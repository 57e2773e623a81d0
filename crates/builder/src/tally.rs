//! The blocks of the last 256 slots, and the evidence that follows from them.
//!
//! A ring of slots, each with its blocks and whether anybody watched it. Evidence is built slot by slot as slots end. What
//! changes a slot that is over (a late block, a backfill, another head) has the evidence built again, from the oldest slot
//! of the ring on; what lies before it is kept as evidence itself, so runs longer than the ring are right too.

use crate::{
    evidence::{Evidence, SlotFacts, Status},
    fault::{
        Block, Canonical, EmptyPayload, FaultSource, MissedBlock, Payload, SlotView, Validity,
    },
    policy::Start,
    root::Root,
};

/// Slots in the ring: four times what a policy can look at, so that a late block or a branch finds its place.
pub const RING: u64 = 256;
/// Blocks kept of one slot. More are an attack, and the slot is present anyway.
pub const BLOCKS_PER_SLOT: usize = 8;

/// What became of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was not known.
    New,
    /// It was, or this has only told its parent.
    Known,
    /// Its slot has eight already.
    Full,
    /// Its slot has left the ring, or lies before the start.
    TooOld,
    /// Its slot has not begun.
    TooEarly,
}

#[derive(Clone, Debug, Default)]
struct Place {
    blocks: Vec<Block>,
    canonical: Canonical,
    /// Bit n: node n watched the slot to its end.
    seen: u8,
}

/// The tally of blocks.
#[derive(Clone, Debug)]
pub struct Tally {
    places: Vec<Place>,
    /// The oldest slot in the ring.
    floor: u64,
    /// What is known of slots before the floor.
    base: Evidence,
    /// What is known of slots before the current one.
    evidence: Evidence,
    head: Option<(u64, Root)>,
    /// The newest canonical block that has left the ring.
    last_dropped: Option<Root>,
    /// A slot that is over has changed.
    stale: bool,
    /// The first slot whose payload is a thing of its own.
    gloas: Option<u64>,
}

impl Tally {
    /// At the start, in slot `anchor`. With [`Start::Zero`] all slots up to it are present.
    #[must_use]
    pub fn new(anchor: u64, start: Start) -> Self {
        let after = anchor.saturating_add(1);
        let (floor, base) = match start {
            Start::Zero => (after, Evidence::filled(after)),
            Start::Backfill => {
                // One place stays free for a block that comes just before its slot.
                let floor = (after + 2).saturating_sub(RING).max(1);
                (floor, Evidence::unknown(floor))
            }
        };
        let mut tally = Self {
            places: vec![Place::default(); RING as usize],
            floor,
            base,
            evidence: base,
            head: None,
            last_dropped: None,
            stale: false,
            gloas: None,
        };
        tally.evidence = tally.rebuild(anchor);
        tally
    }

    /// From this slot on a missing payload is the fault, and not a missing block.
    pub fn set_gloas(&mut self, slot: Option<u64>) {
        self.gloas = slot;
        self.stale = true;
    }

    /// The current slot: the last one that has begun.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.evidence.slot()
    }

    /// Goes to the slot that begins. All before it are over.
    pub fn advance(&mut self, now: u64) {
        if now.saturating_sub(self.now()) >= RING {
            return self.jump(now);
        }
        while self.now() < now {
            let over = self.now();
            // Blocks of the slot after the one that begins have a place already.
            if over + 3 > self.floor + RING {
                self.drop_oldest();
            }
            self.evidence.push(self.facts(over));
        }
    }

    fn drop_oldest(&mut self) {
        self.base.push(self.facts(self.floor));
        if let Canonical::Block(root) = std::mem::take(self.place_mut(self.floor)).canonical {
            self.last_dropped = Some(root);
        }
        self.floor += 1;
    }

    /// Forgets the ring; nothing is known of the slots between.
    fn jump(&mut self, now: u64) {
        let mut evidence = *self.evidence();
        evidence.skip(now);
        self.places.fill(Place::default());
        (self.floor, self.base, self.evidence) = (now, evidence, evidence);
    }

    /// Adds a block, or learns the parent of one.
    pub fn add(&mut self, slot: u64, block: Block) -> Added {
        if slot < self.floor {
            return Added::TooOld;
        }
        if slot > self.now() + 1 {
            return Added::TooEarly;
        }
        let head = self.head;
        let place = self.place_mut(slot);
        if let Some(known) = place.blocks.iter_mut().find(|known| known.root == block.root) {
            let before = *known;
            known.parent = known.parent.or(block.parent);
            if block.validity == Validity::Invalid {
                known.validity = Validity::Invalid;
            }
            if known.payload == Payload::Unknown {
                known.payload = block.payload;
            }
            if *known != before {
                self.changed(slot);
                self.link();
            }
            return Added::Known;
        }
        if place.blocks.len() == BLOCKS_PER_SLOT {
            return Added::Full;
        }
        place.blocks.push(block);
        self.changed(slot);
        // Most blocks are neither the head nor below it when they come.
        if head.is_some_and(|(head_slot, root)| root == block.root || slot < head_slot) {
            self.link();
        }
        Added::New
    }

    /// The payload of a block was imported.
    pub fn reveal(&mut self, slot: u64, root: Root) {
        if slot < self.floor || slot > self.now() + 1 {
            return;
        }
        let mut blocks = self.place_mut(slot).blocks.iter_mut();
        if let Some(block) = blocks.find(|block| block.root == root) {
            block.payload = Payload::Revealed;
            self.changed(slot);
        }
    }

    /// The head, as the node that is asked has it. Its block may come later.
    pub fn set_head(&mut self, slot: u64, root: Root) {
        if self.head == Some((slot, root)) || slot > self.now() + 1 {
            return;
        }
        if slot < self.floor {
            self.last_dropped = Some(root);
        }
        let before = self.head.replace((slot, root));
        match before {
            Some((last, parent)) if self.extends(slot, root, last, parent) => {
                for between in last + 1..slot {
                    self.set_canonical(between, Canonical::None);
                }
                self.set_canonical(slot, Canonical::Block(root));
            }
            _ => self.link(),
        }
    }

    /// Whether the block builds on the last head, which is linked itself.
    fn extends(&self, slot: u64, root: Root, last: u64, parent: Root) -> bool {
        last >= self.floor
            && last < slot
            && self.place(last).canonical == Canonical::Block(parent)
            && self.block(slot, root).is_some_and(|block| block.parent == Some(parent))
    }

    /// Node `node` has watched the slot, which is over, to its end.
    pub fn see(&mut self, slot: u64, node: u8) {
        if slot >= self.floor && slot < self.evidence.slot() {
            let seen = self.place(slot).seen | 1 << node;
            if self.place(slot).seen != seen {
                self.place_mut(slot).seen = seen;
                self.stale = true;
            }
        }
    }

    /// The current slot ends, and these nodes have watched it.
    pub fn end_slot(&mut self, nodes: u8) {
        let over = self.now();
        if over >= self.floor {
            self.place_mut(over).seen |= nodes;
        }
        self.advance(over + 1);
    }

    /// Node `node` cannot say anything about the slots from `from` on any more.
    pub fn unsee(&mut self, from: u64, node: u8) {
        for slot in from.max(self.floor)..=self.now() {
            if self.place(slot).seen & 1 << node != 0 {
                self.place_mut(slot).seen &= !(1 << node);
                self.stale = true;
            }
        }
    }

    /// What is known of a slot. Before the ring and the start it is no question any more.
    #[must_use]
    pub fn status(&self, slot: u64) -> Option<SlotFacts> {
        (slot >= self.floor && slot <= self.now() + 1).then(|| self.facts(slot))
    }

    /// Whether any block of the slot is known.
    #[must_use]
    pub(crate) fn has_block(&self, slot: u64) -> bool {
        !self.place(slot).blocks.is_empty()
    }

    /// The head moved to another branch.
    pub(crate) fn reorg(&mut self, slot: u64, depth: u64) {
        self.base.reorg(slot, depth);
        self.evidence.reorg(slot, depth);
    }

    /// Whether the block is known.
    #[must_use]
    pub fn knows(&self, slot: u64, root: Root) -> bool {
        slot >= self.floor && slot <= self.now() + 1 && self.block(slot, root).is_some()
    }

    /// The oldest slot that can still change.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// What is known of the slots before the current one.
    pub fn evidence(&mut self) -> &Evidence {
        if self.stale {
            self.evidence = self.rebuild(self.evidence.slot());
            self.stale = false;
        }
        &self.evidence
    }

    /// What is known of the slots before `slot`, which is the current one, one before or one after; others count as the
    /// nearest of these.
    pub fn evidence_for(&mut self, slot: u64) -> Evidence {
        let now = self.now();
        match slot {
            slot if slot > now => {
                let mut evidence = *self.evidence();
                evidence.push(self.facts(now));
                evidence
            }
            slot if slot < now && now > self.floor => self.rebuild(now - 1),
            _ => *self.evidence(),
        }
    }

    /// The same evidence, from the ring.
    #[must_use]
    pub fn rebuild(&self, slot: u64) -> Evidence {
        if slot < self.floor {
            // Only at the start, when all before it is present.
            return Evidence { reorgs: self.base.reorgs, ..Evidence::filled(slot) };
        }
        let mut evidence = self.base;
        while evidence.slot() < slot {
            evidence.push(self.facts(evidence.slot()));
        }
        evidence
    }

    fn facts(&self, slot: u64) -> SlotFacts {
        if slot < self.floor {
            return SlotFacts::FILLED;
        }
        let place = self.place(slot);
        // Above the head nothing is canonical yet, and once somebody has watched, nothing was.
        let canonical = match (place.canonical, self.head) {
            (Canonical::Unsure, Some((head, _))) if slot > head && place.seen != 0 => {
                Canonical::None
            }
            (canonical, _) => canonical,
        };
        let view = SlotView { blocks: &place.blocks, canonical, seen: place.seen != 0 };
        match self.gloas {
            Some(gloas) if slot >= gloas => EmptyPayload.facts(&view),
            _ => MissedBlock.facts(&view),
        }
    }

    /// Follows the parents of the head; below a missing link nothing is certain.
    fn link(&mut self) {
        let Some((mut slot, mut root)) = self.head else { return };
        // What lies above the head depends on where it is, link or not.
        self.stale = true;
        for above in self.floor.max(slot + 1)..=self.now() + 1 {
            self.set_canonical(above, Canonical::Unsure);
        }
        while slot >= self.floor {
            self.set_canonical(slot, Canonical::Block(root));
            let parent = self.block(slot, root).and_then(|block| block.parent);
            if parent.is_some() && parent == self.last_dropped {
                for between in self.floor..slot {
                    self.set_canonical(between, Canonical::None);
                }
                return;
            }
            let found = parent.and_then(|parent| Some((self.slot_below(slot, parent)?, parent)));
            let Some((below, parent)) = found else { break };
            for between in below + 1..slot {
                self.set_canonical(between, Canonical::None);
            }
            (slot, root) = (below, parent);
        }
        for lower in self.floor..slot {
            self.set_canonical(lower, Canonical::Unsure);
        }
    }

    fn slot_below(&self, slot: u64, root: Root) -> Option<u64> {
        (self.floor..slot).rev().find(|&lower| self.block(lower, root).is_some())
    }

    fn set_canonical(&mut self, slot: u64, canonical: Canonical) {
        if slot >= self.floor && self.place(slot).canonical != canonical {
            self.place_mut(slot).canonical = canonical;
            self.changed(slot);
        }
    }

    fn changed(&mut self, slot: u64) {
        self.stale |= slot < self.evidence.slot();
    }

    fn block(&self, slot: u64, root: Root) -> Option<&Block> {
        self.place(slot).blocks.iter().find(|block| block.root == root)
    }

    fn place(&self, slot: u64) -> &Place {
        &self.places[(slot % RING) as usize]
    }

    fn place_mut(&mut self, slot: u64) -> &mut Place {
        &mut self.places[(slot % RING) as usize]
    }
}

/// Whether a slot was found missed in the tree.
pub(crate) fn is_missed(facts: Option<SlotFacts>) -> bool {
    facts.is_some_and(|facts| facts.tree == Status::Missed)
}
