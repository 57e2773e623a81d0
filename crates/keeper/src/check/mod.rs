//! `keeper check`: whether a keeper would start with a file, and what it would do.
//!
//! It goes on after a finding, so that all of them are told, and never ends with 0 where there is one.

mod online;
mod samples;

use crate::{
    Refusal,
    cli::CheckArgs,
    config::{Config, Settings, WatchSettings},
    output::{count, document, line},
};

pub(crate) async fn check(args: CheckArgs) -> eyre::Result<()> {
    let config = Config::of_check(&args).await?;
    let mut findings = Findings::default();
    samples::render(&config.settings, &mut findings);
    if args.json {
        // A document of what cannot run would be taken for one that can.
        findings.result()?;
        return document(&config.effective);
    }
    line(&format!("ok     {}", summary(&config.settings)))?;
    if args.online {
        online::check(&config, &mut findings).await?;
    }
    if args.send_test {
        samples::send(&config.settings, &mut findings).await?;
    }
    for finding in &findings.0 {
        line(&format!("wrong  {finding}"))?;
    }
    Ok(findings.result()?)
}

/// What is wrong.
#[derive(Debug, Default)]
struct Findings(Vec<Refusal>);

impl Findings {
    fn add(&mut self, refusal: Refusal) {
        self.0.push(refusal);
    }

    /// The gravest one decides how it ends.
    fn result(&self) -> Result<(), Refusal> {
        let gravity = |refusal: &&Refusal| match refusal {
            Refusal::Configuration(_) => 0,
            Refusal::Identity(_) => 1,
            Refusal::Store(_) => 2,
            Refusal::Unreachable(_) => 3,
            _ => 4,
        };
        let Some(gravest) = self.0.iter().min_by_key(gravity) else { return Ok(()) };
        Err(gravest.clone().with_text(format!("{}: {gravest}", count(self.0.len(), "finding"))))
    }
}

fn summary(settings: &Settings) -> String {
    let mut contracts = 0;
    let mut anywhere = "";
    for watch in settings.chains.iter().flat_map(|chain| &chain.watch) {
        match watch {
            WatchSettings::Deployments { deployment, .. } => {
                contracts += deployment.hosts().count();
            }
            WatchSettings::Contract(_) => contracts += 1,
            WatchSettings::Anywhere(_) => anywhere = " and every other",
        }
    }
    format!(
        "the file: {}, {}{anywhere}, {}, {}",
        count(settings.chains.len(), "chain"),
        count(contracts, "contract"),
        count(settings.channels.len(), "channel"),
        count(settings.routes.len(), "route")
    )
}
