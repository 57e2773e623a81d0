//! `keeper status`, `events` and `mute`, from a store.
