//! The settings of breakers, as the file gives them.
//!
//! What they mean and which values are valid is the breaker's own business; here they are only put on top of each other:
//! the provider's over the file's over the pool's defaults, key by key. A list of thresholds or a window replaces a whole
//! one, or there would be no way to leave a part of it out.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::error::{ConfigError, Problem};
use super::table::{Table, duration};
use crate::endpoint::Scope;

/// How long a probe may take where nothing is configured: the breaker's own default.
const DEFAULT_PROBE_LEASE: Duration = Duration::from_secs(30);

/// Settings of a breaker, merged, and how much of an endpoint shares one.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakerSettings {
    settings: Map<String, Value>,
    scope: Scope,
}

impl Default for BreakerSettings {
    /// What suits RPC endpoints: 5 failures in a row trip, fewer where the cause is plain, and so does half of 20 calls
    /// within a minute.
    fn default() -> Self {
        let settings = json!({
            "failure_threshold": 5,
            "category_thresholds": { "server": 5, "network": 3, "timeout": 2, "auth": 2, "lag": 3 },
            "time_window": { "period": "60s", "min_calls": 20, "failure_percent": 50 },
        });
        let Value::Object(settings) = settings else { unreachable!("it is an object") };
        Self { settings, scope: Scope::default() }
    }
}

impl BreakerSettings {
    /// The settings by name, in the serde form of the breaker's configuration.
    #[must_use]
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// How much of an endpoint shares a breaker.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// How long an attempt may take at most before the breaker gives it up.
    pub(super) fn probe_lease(&self) -> Duration {
        let configured =
            self.settings.get("probe_lease").and_then(Value::as_str).and_then(duration);
        configured.unwrap_or(DEFAULT_PROBE_LEASE)
    }

    /// These settings under those of a table.
    pub(super) fn under(&self, table: Option<Table<'_>>) -> Self {
        let mut merged = self.clone();
        let Some(mut table) = table else { return merged };
        let scopes = [("method_class", Scope::MethodClass), ("endpoint", Scope::Endpoint)];
        if let Some(scope) = table.word("scope", "\"method_class\" or \"endpoint\"", &scopes) {
            merged.scope = scope;
        }
        let problems = table.problems;
        for (key, name, value) in table.entries() {
            // Alone first: of the merged ones nobody could tell any more which table a wrong one is from.
            match serde_json::from_value::<fusebox_breaker::Config>(json!({ &name: &value })) {
                Ok(_) => drop(merged.settings.insert(name, value)),
                Err(error) => problems.borrow_mut().push(ConfigError {
                    key,
                    problem: Problem::Breaker { why: error.to_string() },
                }),
            }
        }
        merged
    }
}
