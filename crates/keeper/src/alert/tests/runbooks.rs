//! Whoever is woken by an alert finds the page about it.

use super::*;
use clap::Parser;
use std::{fs, path::PathBuf};

fn docs(path: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_type_has_a_page_and_each_page_is_in_the_book() {
    let (summary, overview) = (docs("SUMMARY.md"), docs("runbooks/README.md"));
    for kind in AlertType::ALL {
        let page = docs(&format!("runbooks/{kind}.md"));
        assert!(page.starts_with(&format!("# {kind}\n")), "{kind}");
        assert!(page.contains(&format!("\nSeverity: {}.\n", kind.severity().name())), "{kind}");
        for heading in ["## What it means", "## What to check", "## What to do"] {
            assert!(page.contains(heading), "{kind} does not say: {heading}");
        }
        assert!((24..=45).contains(&page.lines().count()), "{kind}: {}", page.lines().count());
        assert!(summary.contains(&format!("(runbooks/{kind}.md)")), "{kind} is not in SUMMARY.md");
        let row = format!("| [{kind}]({kind}.md) | {} |", kind.severity().name());
        assert!(overview.contains(&row), "{kind} is not in the overview");
    }
}

#[test]
fn a_message_names_its_page() {
    let body = opened(1).body();
    let runbook = body["data"]["runbook"].as_str().unwrap();
    assert!(!docs(runbook.strip_prefix("docs/").unwrap()).is_empty());
}

/// The words of a command line, as far as pages need: spaces, double quotes, and a comment at the end.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap_or_default();
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(nth, part)| match nth % 2 {
            0 => part.split_whitespace().map(ToOwned::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[test]
fn the_commands_of_the_pages_are_the_keepers() {
    let mut count = 0;
    for kind in AlertType::ALL {
        let page = docs(&format!("runbooks/{kind}.md"));
        let lines = page.lines().filter(|line| line.starts_with("keeper "));
        let inline = page.split('`').skip(1).step_by(2).filter(|code| code.starts_with("keeper "));
        for command in lines.chain(inline) {
            if let Err(error) = crate::Cli::try_parse_from(words(command)) {
                panic!("{kind}: {command}: {error}");
            }
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}
