//! `[builder]`: the sidecar of a staker, which is a process of its own.

use super::{
    BuilderSettings,
    section::{Section, Web},
};

/// Where the sidecar says how it is.
const STATUS: &str = "/status";

/// `[builder]`, where it is.
pub(super) fn builder(root: &mut Section<'_>) -> Option<BuilderSettings> {
    if !root.has("builder") {
        return None;
    }
    root.section("builder", |section| {
        let url = section.url("status_url", Web::Sealed);
        let url = section.needed(
            "status_url",
            url,
            "write where the sidecar says how it is: \"http://127.0.0.1:18551/status\"",
        )?;
        // Anything else at its port leads on to mev-boost.
        if !url.parse().is_some_and(|url| url.path().ends_with(STATUS)) {
            section.fail("status_url", "must end in /status, where the sidecar says how it is");
            return None;
        }
        Some(BuilderSettings { status_url: url })
    })
}
