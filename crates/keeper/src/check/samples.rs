//! What each channel would send.

use super::Findings;
use crate::config::Settings;

/// Renders one of each type of alert for each channel.
pub(super) fn render(_settings: &Settings, _findings: &mut Findings) {}

/// Sends a test to each channel, and says what came of it.
pub(super) async fn send(_settings: &Settings, _findings: &mut Findings) -> eyre::Result<()> {
    Ok(())
}
