//! A plan: the blocks to make and what goes into each, decided before anything runs.
//!
//! An engine executes a plan and decides nothing, which is what makes a run repeatable and two engines comparable.

use crate::scenario::{FaultKind, FaultTarget, Scenario, TrafficKind};

/// The blocks of a run, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// One entry a block.
    pub blocks: Vec<PlannedBlock>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedBlock {
    /// Its timestamp, in seconds from the start.
    pub time: u64,
    /// Its transactions, in order: fault switches first, then traffic by due time and place in the file.
    pub actions: Vec<Action>,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// A fault begins or ends.
    Switch {
        /// The contract it happens to.
        on: FaultTarget,
        /// What happens to it.
        kind: FaultKind,
        /// Whether it is in force from now on.
        active: bool,
    },
    /// A user calls the host.
    Call {
        /// The traffic that the call belongs to.
        traffic: String,
    },
}

impl Plan {
    /// What the scenario means, block by block. An action due at t goes into the first block at or after t.
    pub fn new(scenario: &Scenario) -> Self {
        let mut due: Vec<(u64, Action)> = Vec::new();
        for fault in &scenario.fault {
            let switch = |active| Action::Switch { on: fault.on, kind: fault.kind, active };
            due.push((fault.from, switch(true)));
            due.push((fault.until, switch(false)));
        }
        let mut calls: Vec<(u64, Action)> = Vec::new();
        for traffic in &scenario.traffic {
            let TrafficKind::Regular = traffic.kind;
            let every = usize::try_from(traffic.every).unwrap_or(usize::MAX).max(1);
            for time in (traffic.every..=scenario.time.horizon).step_by(every) {
                calls.push((time, Action::Call { traffic: traffic.name.clone() }));
            }
        }
        // Stable sorts, the switches before the calls: what is due together keeps the order of the file.
        due.sort_by_key(|(time, _)| *time);
        calls.sort_by_key(|(time, _)| *time);
        let mut due = due.into_iter().peekable();
        let mut calls = calls.into_iter().peekable();

        let interval = usize::try_from(scenario.time.block).unwrap_or(usize::MAX).max(1);
        let blocks = (scenario.time.block..=scenario.time.horizon)
            .step_by(interval)
            .map(|time| {
                let mut actions = Vec::new();
                for queue in [&mut due, &mut calls] {
                    while let Some((_, action)) = queue.next_if(|(at, _)| *at <= time) {
                        actions.push(action);
                    }
                }
                PlannedBlock { time, actions }
            })
            .collect();
        Self { blocks }
    }

    /// The number of calls by users.
    pub fn calls(&self) -> usize {
        let actions = self.blocks.iter().flat_map(|block| &block.actions);
        actions.filter(|action| matches!(action, Action::Call { .. })).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(plan: &Plan, time: u64) -> &[Action] {
        &plan.blocks.iter().find(|block| block.time == time).unwrap().actions
    }

    #[test]
    fn the_outage_is_switched_before_the_calls_of_its_block() {
        let plan = Plan::new(&Scenario::builtin("outage-and-recovery").unwrap());
        assert_eq!(plan.blocks.len(), 60);
        assert_eq!(plan.blocks.first().unwrap().time, 10);
        assert_eq!(plan.blocks.last().unwrap().time, 600);
        assert_eq!(plan.calls(), 60);

        let call = Action::Call { traffic: "users".to_owned() };
        let switch =
            |active| Action::Switch { on: FaultTarget::Moody, kind: FaultKind::Outage, active };
        assert_eq!(at(&plan, 90), std::slice::from_ref(&call));
        assert_eq!(at(&plan, 100), [switch(true), call.clone()]);
        assert_eq!(at(&plan, 290), std::slice::from_ref(&call));
        assert_eq!(at(&plan, 300), [switch(false), call]);
    }

    #[test]
    fn an_action_between_two_blocks_goes_into_the_later_one() {
        let mut scenario = Scenario::builtin("outage-and-recovery").unwrap();
        scenario.fault[0].from = 101;
        scenario.traffic[0].every = 15;
        let plan = Plan::new(&scenario);
        assert_eq!(at(&plan, 10), []);
        assert_eq!(at(&plan, 20).len(), 1, "due at 15");
        assert_eq!(at(&plan, 110).len(), 2, "the switch due at 101, the call due at 105");
    }
}
