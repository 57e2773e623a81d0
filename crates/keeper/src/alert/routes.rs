//! Who hears of what: every route that matches, and none by default.

use super::{About, Phase, Severity};
use crate::config::{ChannelSettings, RouteSettings};
use globset::{Glob, GlobMatcher};
use std::collections::BTreeSet;

/// The routes of the configuration, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    routes: Vec<Route>,
    /// In the order of the file.
    channels: Vec<Named>,
}

/// A channel, as far as routes care.
#[derive(Debug)]
struct Named {
    name: String,
    /// Whether it is told as well that what it heard of has become final.
    confirm: bool,
}

#[derive(Debug)]
struct Route {
    chain: Option<String>,
    label: Option<GlobMatcher>,
    kind: Option<GlobMatcher>,
    severity: Option<Severity>,
    channels: BTreeSet<String>,
}

/// A route that cannot be. `route` counts from 0, as in the file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RouteError {
    /// The pattern is no glob.
    #[error("route[{route}].match.{key}: {why}")]
    Glob { route: usize, key: &'static str, why: String },
    /// It leads to a channel that is not there.
    #[error("route[{route}].channels: there is no channel {name:?}")]
    NoChannel { route: usize, name: String },
}

impl Routes {
    /// # Errors
    /// [`RouteError`] with the first route that cannot be.
    pub(crate) fn new(
        routes: &[RouteSettings],
        channels: &[ChannelSettings],
    ) -> Result<Self, RouteError> {
        let is_known = |name: &String| channels.iter().any(|channel| channel.name == *name);
        let read = |(nth, route): (usize, &RouteSettings)| {
            let glob = |key, pattern: &Option<String>| {
                let pattern = pattern.as_deref().map(Glob::new).transpose();
                pattern.map(|glob| glob.map(|glob| glob.compile_matcher())).map_err(|error| {
                    RouteError::Glob { route: nth, key, why: error.kind().to_string() }
                })
            };
            if let Some(name) = route.channels.iter().find(|name| !is_known(name)) {
                return Err(RouteError::NoChannel { route: nth, name: name.clone() });
            }
            Ok(Route {
                chain: route.chain.clone(),
                label: glob("label", &route.label)?,
                kind: glob("type", &route.kind)?,
                severity: route.severity,
                channels: route.channels.iter().cloned().collect(),
            })
        };
        let named = |channel: &ChannelSettings| Named {
            name: channel.name.clone(),
            confirm: channel.confirm,
        };
        Ok(Self {
            routes: routes.iter().enumerate().map(read).collect::<Result<_, _>>()?,
            channels: channels.iter().map(named).collect(),
        })
    }

    /// The channels that hear of it, each once, in the order of the file. Final is what confirms what was told as seen; of
    /// what is final when it is first met ask as of what is seen, for it is news.
    pub(crate) fn channels(&self, about: &About) -> Vec<&str> {
        let matching: Vec<_> = self.routes.iter().filter(|route| route.matches(about)).collect();
        let hears = |channel: &&Named| {
            (channel.confirm || about.phase != Phase::Final)
                && matching.iter().any(|route| route.channels.contains(&channel.name))
        };
        self.channels.iter().filter(hears).map(|channel| channel.name.as_str()).collect()
    }
}

impl Route {
    fn matches(&self, about: &About) -> bool {
        // No label is an empty one: `*` is everything, as whoever writes it means.
        let label = about.label.as_deref().unwrap_or_default();
        self.chain.as_ref().is_none_or(|chain| about.chain.as_ref() == Some(chain))
            && self.label.as_ref().is_none_or(|glob| glob.is_match(label))
            && self.kind.as_ref().is_none_or(|glob| glob.is_match(about.kind.name()))
            && self.severity.is_none_or(|least| about.severity >= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{alert::AlertType, config::ChannelKind};
    use fusebox_rpc::SecretUrl;

    fn channel(name: &str, confirm: bool) -> ChannelSettings {
        let kind = ChannelKind::Slack { url: SecretUrl::new("http://127.0.0.1/") };
        ChannelSettings { name: name.to_owned(), kind, confirm, storm: None, template: None }
    }

    fn about() -> About {
        About {
            chain: Some("mainnet".to_owned()),
            label: Some("vault/oracle".to_owned()),
            kind: AlertType::BreakerOpened,
            phase: Phase::Seen,
            severity: Severity::Warning,
        }
    }

    fn to(channels: &[&str]) -> RouteSettings {
        let channels = channels.iter().map(|name| (*name).to_owned()).collect();
        RouteSettings { channels, ..RouteSettings::default() }
    }

    fn hears(route: RouteSettings, about: &About) -> bool {
        let routes = Routes::new(&[route], &[channel("a", false)]).unwrap();
        !routes.channels(about).is_empty()
    }

    #[test]
    fn every_match_is_delivered_once_and_no_match_to_nobody() {
        let channels = [channel("a", true), channel("b", true), channel("c", true)];
        let other = RouteSettings { chain: Some("other".to_owned()), ..to(&["c"]) };
        let routes = Routes::new(&[to(&["b", "a"]), to(&["b"]), other], &channels).unwrap();
        assert_eq!(routes.channels(&about()), ["a", "b"]);
        assert!(Routes::new(&[], &channels).unwrap().channels(&about()).is_empty());
    }

    #[test]
    fn what_is_given_has_to_match() {
        let text = |text: &str| Some(text.to_owned());
        let cases = [
            (RouteSettings { chain: text("mainnet"), ..to(&["a"]) }, true),
            (RouteSettings { chain: text("main"), ..to(&["a"]) }, false),
            (RouteSettings { label: text("vault*"), ..to(&["a"]) }, true),
            (RouteSettings { label: text("*/oracle"), ..to(&["a"]) }, true),
            (RouteSettings { label: text("vault"), ..to(&["a"]) }, false),
            (RouteSettings { kind: text("breaker.*"), ..to(&["a"]) }, true),
            (RouteSettings { kind: text("breaker.{opened,closed}"), ..to(&["a"]) }, true),
            (RouteSettings { kind: text("chain.*"), ..to(&["a"]) }, false),
            (RouteSettings { severity: Some(Severity::Info), ..to(&["a"]) }, true),
            (RouteSettings { severity: Some(Severity::Warning), ..to(&["a"]) }, true),
            (RouteSettings { severity: Some(Severity::Critical), ..to(&["a"]) }, false),
        ];
        for (route, want) in cases {
            assert_eq!(hears(route.clone(), &about()), want, "{route:?}");
        }
    }

    #[test]
    fn what_is_of_no_chain_and_has_no_label_is_matched_by_what_asks_for_neither() {
        let bare = About { chain: None, label: None, ..about() };
        let text = |text: &str| Some(text.to_owned());
        assert!(hears(to(&["a"]), &bare));
        assert!(hears(RouteSettings { label: text("*"), ..to(&["a"]) }, &bare));
        assert!(!hears(RouteSettings { label: text("vault*"), ..to(&["a"]) }, &bare));
        assert!(!hears(RouteSettings { chain: text("mainnet"), ..to(&["a"]) }, &bare));
    }

    #[test]
    fn a_confirmation_goes_where_it_is_wanted_and_all_else_everywhere() {
        let channels = [channel("hook", true), channel("chat", false)];
        let routes = Routes::new(&[to(&["hook", "chat"])], &channels).unwrap();
        let hears = |phase| routes.channels(&About { phase, ..about() });
        assert_eq!(hears(Phase::Seen), ["hook", "chat"]);
        assert_eq!(hears(Phase::Final), ["hook"]);
        assert_eq!(hears(Phase::Retracted), ["hook", "chat"]);
    }

    #[test]
    fn a_route_that_cannot_be_is_named() {
        let bad = RouteSettings { label: Some("va[ult".to_owned()), ..to(&["a"]) };
        let error = Routes::new(&[to(&["a"]), bad], &[channel("a", true)]).unwrap_err();
        assert!(error.to_string().starts_with("route[1].match.label: unclosed"), "{error}");
        let error = Routes::new(&[to(&["b"])], &[channel("a", true)]).unwrap_err();
        assert_eq!(error, RouteError::NoChannel { route: 0, name: "b".to_owned() });
    }
}
