//! What of a written text may be shown: references, and where a URL leads. Whatever else is in it may be a key.

use super::value::has_reference;
use serde_json::Value;

/// In the place of what is not shown.
const HIDDEN: &str = "…";

/// The references of a text, with a mark for all that is between them.
pub(super) fn references(written: &str) -> String {
    let (mut shown, mut rest) = (String::new(), written);
    let hide = |shown: &mut String| {
        if !shown.ends_with(HIDDEN) {
            shown.push_str(HIDDEN);
        }
    };
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("$$") {
            hide(&mut shown);
            rest = after;
        } else if let Some(end) = rest.strip_prefix("${").and_then(|rest| rest.find('}')) {
            shown.push_str(&rest[..end + 3]);
            rest = &rest[end + 3..];
        } else {
            hide(&mut shown);
            rest = &rest[c.len_utf8()..];
        }
    }
    shown
}

/// Scheme, host, port, and the references of the rest.
pub(super) fn url(written: &str) -> String {
    let Some((scheme, rest)) =
        written.split_once("://").filter(|(scheme, _)| !has_reference(scheme))
    else {
        return references(written);
    };
    // A reference may hold any of these.
    let end = match rest.find("${") {
        Some(reference) => rest[..reference].find(['/', '?', '#']).unwrap_or(0),
        None => rest.find(['/', '?', '#']).unwrap_or(rest.len()),
    };
    let (authority, path) = rest.split_at(end);
    let (user, host) =
        authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
    let user = if user.is_empty() { String::new() } else { format!("{HIDDEN}@") };
    let path = match path {
        "" | "/" => path.to_owned(),
        path if authority.is_empty() => references(path),
        path => format!("/{}", references(&path[1..])),
    };
    format!("{scheme}://{user}{host}{path}")
}

/// The pool's part of a file: URLs and headers are where keys are.
pub(super) fn pool(mut written: Value) -> Value {
    match &mut written {
        Value::Object(fields) => {
            for (name, value) in fields {
                *value = match (name.as_str(), value.take()) {
                    ("http" | "ws", Value::String(text)) => url(&text).into(),
                    ("headers", Value::Object(headers)) => headers
                        .into_iter()
                        .map(|(name, value)| (name, references(value.as_str().unwrap_or("…"))))
                        .map(|(name, value)| (name, Value::from(value)))
                        .collect(),
                    (_, value) => pool(value),
                };
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = pool(item.take());
            }
        }
        _ => {}
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_only_its_host_and_its_references_are_shown() {
        for (written, want) in [
            ("https://eth.example/v2/${KEY}", "https://eth.example/…${KEY}"),
            ("https://eth.example:1/5ecret", "https://eth.example:1/…"),
            ("https://eth.example?k=5ecret", "https://eth.example/…"),
            ("https://u:5ecret@eth.example/", "https://…@eth.example/"),
            ("https://eth.example", "https://eth.example"),
            ("https://${HOST}/5ecret", "https://${HOST}…"),
            ("https://u:5ecret@${HOST}/", "https://…${HOST}…"),
            ("${URL}", "${URL}"),
            ("5ecret", "…"),
            ("5ecret${A}5ecret$$5ecret${B}", "…${A}…${B}"),
            ("${5ecret", "…"),
        ] {
            assert_eq!(url(written), want, "{written}");
        }
    }
}
