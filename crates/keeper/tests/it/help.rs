//! Every command says how it is used, and every example is one that works.

use crate::support::{keeper_output, stderr, stdout};
use clap::{CommandFactory as _, Parser as _};
use fusebox_keeper::Cli;

/// All commands, as words.
fn commands() -> Vec<Vec<String>> {
    fn walk(command: &clap::Command, path: &[String], all: &mut Vec<Vec<String>>) {
        all.push(path.to_vec());
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            walk(sub, &[path, &[sub.get_name().to_owned()]].concat(), all);
        }
    }
    let mut all = Vec::new();
    walk(&Cli::command(), &[], &mut all);
    all
}

/// The words of a line, where quotes hold some together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn every_help_ends_with_at_least_two_examples_that_the_parser_takes() {
    let commands = commands();
    assert!(commands.len() >= 13, "{commands:?}");
    for command in commands {
        let help = stdout(&keeper_output(command.iter().map(String::as_str).chain(["--help"])));
        let (_, examples) = help.rsplit_once("Examples:\n").unwrap_or_else(|| panic!("{help}"));
        let examples: Vec<_> =
            examples.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert!(examples.len() >= 2, "{help}");
        for example in examples {
            assert!(example.starts_with("keeper "), "{example}");
            Cli::try_parse_from(words(example)).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn shells_complete_the_command_line() {
    for (shell, holds) in [
        ("bash", "complete -F _keeper"),
        ("zsh", "#compdef keeper"),
        ("fish", "complete -c keeper"),
    ] {
        let output = keeper_output(["completions", shell]);
        assert!(output.status.success(), "{}", stderr(&output));
        let script = stdout(&output);
        assert!(script.contains(holds), "{script}");
        assert!(script.contains("send-test"), "{shell}");
    }
    assert_eq!(keeper_output(["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn a_file_to_begin_with_is_written_once_and_is_valid_when_three_values_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keeper.toml");
    let path = path.to_str().unwrap();
    let output = keeper_output(["init", path]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), path);
    let written = std::fs::read_to_string(path).unwrap();
    for mark in ["(1)", "(2)", "(3)"] {
        assert_eq!(written.matches(mark).count(), 2, "{mark}");
    }
    std::fs::write(path, format!("# mine\n{written}")).unwrap();
    let again = keeper_output(["init", path]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("is there already"), "{}", stderr(&again));
    assert!(std::fs::read_to_string(path).unwrap().starts_with("# mine"));

    let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let output = crate::support::keeper(["check", "--config", path])
        .env("RPC_URL", "http://127.0.0.1:1/5ecret")
        .env("HOOK_URL", "https://hooks.example/5ecret")
        .env("HOOK_SECRET", secret)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("1 chain, 1 contract, 1 channel, 1 route"),
        "{}",
        stdout(&output)
    );
    // Without them each is named.
    let output = keeper_output(["check", "--config", path]);
    assert_eq!(output.status.code(), Some(3));
    for name in ["RPC_URL", "HOOK_URL", "HOOK_SECRET"] {
        assert!(
            stderr(&output).contains(&format!("the environment variable {name} is not set")),
            "{name}"
        );
    }
}
