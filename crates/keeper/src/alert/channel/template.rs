//! Texts as the user wants them. A template can say what is in the document, and do nothing else.

use crate::alert::{markup::Markup, text::Text};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context, value::Serde};
use serde_json::Value;
use std::io;

/// Steps of a template. A text of a screen takes a few hundred.
const FUEL: u64 = 20_000;

/// No channel takes more; what is above a channel's own limit is cut.
const BYTES: usize = 64 << 10;

/// The one that an environment has.
const NAME: &str = "template";

#[derive(Debug)]
pub(super) struct Template(Environment<'static>);

/// A template that cannot be read, or says nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemplateError {
    /// In the words of the library, with the line.
    #[error("{0}")]
    Failed(minijinja::Error),
    #[error("it makes more than 64 KiB")]
    Long,
    #[error("it makes an empty text")]
    Empty,
}

impl Template {
    pub(super) fn new(source: &str, markup: Markup) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        // A name that is misspelt is told when the keeper starts, and not by an alert that lacks a word.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|_| AutoEscape::Custom("channel".into()));
        environment.set_formatter(move |out, _, value| {
            if value.is_undefined() {
                return Err(minijinja::Error::from(ErrorKind::UndefinedError));
            }
            let text = value.to_string();
            let text = if value.is_safe() { text } else { markup.escape(&text) };
            Ok(out.write_str(&text)?)
        });
        environment.add_template_owned(NAME, source.to_owned()).map_err(TemplateError::Failed)?;
        Ok(Self(environment))
    }

    /// The text, marked up and not yet cut.
    pub(super) fn render(&self, body: &Value, text: &Text) -> Result<String, TemplateError> {
        let context = context! {
            type => minijinja::Value::from(Serde(&body["type"])),
            timestamp => minijinja::Value::from(Serde(&body["timestamp"])),
            data => minijinja::Value::from(Serde(&body["data"])),
            title => text.title.as_str(),
            lines => text.lines.clone(),
        };
        let mut made = Bounded(Vec::new());
        let template = self.0.get_template(NAME).map_err(TemplateError::Failed)?;
        template.render_captured_to(context, &mut made).map_err(|error| match error.kind() {
            ErrorKind::WriteFailure => TemplateError::Long,
            _ => TemplateError::Failed(error),
        })?;
        let made = String::from_utf8_lossy(&made.0).trim().to_owned();
        if made.is_empty() { Err(TemplateError::Empty) } else { Ok(made) }
    }
}

/// Takes no more than a text may have.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
