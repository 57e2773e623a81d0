//! Fills `${NAME}` and `${file:PATH}` into the texts of a configuration.
//!
//! After parsing, so that a value cannot inject TOML. `$$` is a dollar, so `$${` is what `${` would be without meaning.

use fusebox_rpc::Scrubber;
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Where values come from.
#[derive(Debug)]
pub(super) struct Sources {
    variable: fn(&str) -> Option<String>,
    /// Files are relative to the folder of the configuration, wherever the keeper was started.
    folder: PathBuf,
}

impl Sources {
    /// Those of the process, for a configuration that is there.
    pub(super) fn of(config: &Path) -> Self {
        let folder = config.parent().unwrap_or(Path::new("")).to_owned();
        Self { variable: |name| env::var(name).ok(), folder }
    }
}

/// Fills in, and collects what is wrong.
#[derive(Debug)]
pub(super) struct Filler {
    sources: Sources,
    /// What could not be filled in, by key.
    pub(super) problems: Vec<(String, String)>,
    /// All that was filled in.
    pub(super) secrets: Scrubber,
}

impl Filler {
    pub(super) fn new(sources: Sources) -> Self {
        Self { sources, problems: Vec::new(), secrets: Scrubber::default() }
    }

    /// The same tree, filled in as far as possible.
    pub(super) fn fill(&mut self, mut tree: Value) -> Value {
        self.visit(&mut tree, String::new());
        tree
    }

    fn visit(&mut self, value: &mut Value, path: String) {
        match value {
            Value::String(text) => match self.text(text) {
                Ok(filled) => *text = filled,
                Err(problems) => {
                    self.problems.extend(problems.into_iter().map(|what| (path.clone(), what)));
                }
            },
            Value::Array(items) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.visit(item, format!("{path}[{i}]"));
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.visit(field, path);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) -> Result<String, Vec<String>> {
        let (mut filled, mut problems) = (String::new(), Vec::new());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                filled.push('$');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let Some((reference, after)) = after.split_once('}') else {
                    problems.push(
                        "has \"${\" without a \"}\"; write ${NAME}, or $${ for these characters"
                            .to_owned(),
                    );
                    break;
                };
                match self.resolve(reference) {
                    Ok(value) => {
                        self.secrets.add(&value);
                        filled.push_str(&value);
                    }
                    Err(problem) => problems.push(problem),
                }
                rest = after;
            } else {
                filled.push('$');
            }
        }
        filled.push_str(rest);
        if problems.is_empty() && filled.contains("${") {
            // `fusebox-rpc` would take it for a variable that nobody has filled in, and show what may be a part of a key.
            problems.push(
                "has \"${\" in it after it was filled in; in a URL write %24%7B instead".to_owned(),
            );
        }
        if problems.is_empty() { Ok(filled) } else { Err(problems) }
    }

    /// The value, or what to do about it.
    fn resolve(&self, reference: &str) -> Result<String, String> {
        if let Some(path) = reference.strip_prefix("file:") {
            let path = self.sources.folder.join(path);
            let shown = path.display();
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("the file {shown} cannot be read: {}", error.kind()))?;
            // An editor ends a file with a line break; it is no part of a key.
            return match text.trim_end_matches(['\r', '\n']) {
                "" => Err(format!("the file {shown} is empty; write the value into it")),
                value => Ok(value.to_owned()),
            };
        }
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        if !is_name(reference) {
            // Not shown: somebody may have put the key itself there.
            return Err("has \"${\" without the name of a variable; write ${NAME} or ${file:PATH}, or $${ for these characters".to_owned());
        }
        match (self.sources.variable)(reference) {
            Some(value) if !value.is_empty() => Ok(value),
            Some(_) => {
                Err(format!("the environment variable {reference} is empty; give it a value"))
            }
            None => Err(format!("the environment variable {reference} is not set; export it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(text: &str, folder: &Path) -> Result<String, String> {
        let variable = |name: &str| match name {
            "KEY" => Some("k3y".to_owned()),
            "ODD" => Some("a${b".to_owned()),
            "TOML" => Some("\"\n[breaker]\n".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let mut filler = Filler::new(Sources { variable, folder: folder.to_owned() });
        let tree = filler.fill(json!({ "a": [{ "b": text }] }));
        match filler.problems.as_slice() {
            [] => Ok(tree["a"][0]["b"].as_str().unwrap().to_owned()),
            problems => {
                assert!(problems.iter().all(|(key, _)| key == "a[0].b"), "{problems:?}");
                Err(problems.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join("; "))
            }
        }
    }

    #[test]
    fn variables_and_files_are_filled_in_and_a_doubled_dollar_is_one() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("key"), "from-file\r\n").unwrap();
        for (text, want) in [
            ("plain", "plain"),
            ("${KEY}", "k3y"),
            ("/v2/${KEY}?a=${KEY}", "/v2/k3y?a=k3y"),
            ("${file:key}", "from-file"),
            ("$$", "$"),
            ("$$KEY}", "$KEY}"),
            ("$KEY $", "$KEY $"),
            ("$$${KEY}", "$k3y"),
            ("${TOML}", "\"\n[breaker]\n"),
        ] {
            assert_eq!(filled(text, dir.path()).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_filled_in_is_named_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("empty"), "\n").unwrap();
        for (text, want) in [
            ("${NOT_SET}", "the environment variable NOT_SET is not set; export it"),
            ("${EMPTY}", "the environment variable EMPTY is empty"),
            ("${NOT_SET}${EMPTY}", "NOT_SET is not set; export it; the environment variable EMPTY"),
            ("${file:none}", "none cannot be read: entity not found"),
            ("${file:empty}", "is empty; write the value"),
            ("${5ecret-key}", "without the name of a variable"),
            ("${}", "without the name of a variable"),
            ("x${KEY", "without a \"}\""),
            ("$${KEY}", "after it was filled in"),
            ("${ODD}", "after it was filled in"),
        ] {
            let problem = filled(text, dir.path()).unwrap_err();
            assert!(problem.contains(want), "{text}: {problem}");
            assert!(!problem.contains("5ecret") && !problem.contains("a${b"), "{problem}");
        }
    }
}
