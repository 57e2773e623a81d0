//! The breaker as its users see it. Time is moved by hand: no test sleeps.

#[path = "../shared/history.rs"]
mod history;
mod rig;

mod allocations;
mod calls;
mod cases;
mod config;
mod data;
mod delays;
mod events;
mod invariants;
mod leases;
mod model;
mod modes;
mod registry;
mod restarts;
mod storms;
mod table;
mod tower;
mod windows;
