//! Server-sent events, from bytes that are cut anywhere.

/// A larger event is none of a beacon node's: its largest have a few hundred bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// An event: its name, and its data lines joined by line feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: Vec<u8>,
    pub(super) data: Vec<u8>,
}

/// The stream cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {LARGEST} bytes")]
pub(super) struct TooLarge;

/// Takes a stream apart. Lines end in LF, CRLF or CR, a BOM may come first, and comments and unknown fields mean nothing.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// A line feed that comes now belongs to the line that has ended.
    after_cr: bool,
    is_later_line: bool,
}

impl Parser {
    /// The events that these bytes complete.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLarge> {
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => self.end_line(events),
                byte if self.line.len() + self.event.data.len() < LARGEST => self.line.push(byte),
                _ => return Err(TooLarge),
            }
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if !std::mem::replace(&mut self.is_later_line, true) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
        } else {
            let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
            let value = text.get(colon + 1..).unwrap_or_default();
            self.field(&text[..colon], value.strip_prefix(b" ").unwrap_or(value));
        }
        // Its memory serves the next line.
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"event" => self.event.name = value.to_vec(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for chunk in chunks {
            parser.push(chunk, &mut events).unwrap();
        }
        let text = |bytes| String::from_utf8(bytes).unwrap();
        events.into_iter().map(|event| (text(event.name), text(event.data))).collect()
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn lines_end_in_three_ways_and_comments_mean_nothing() {
        let stream = "\u{feff}event: block\ndata: {}\n\n: keepalive\r\n\r\nid: 7\revent:head\rdata:a\rdata: b\r\r\
                      data\n\nevent: nothing\n\nretry: 1\r\ndata:  c\r\n\r\n";
        let expected =
            [event("block", "{}"), event("head", "a\nb"), event("", ""), event("", " c")];
        assert_eq!(all(&[stream.as_bytes()]), expected);
    }

    #[test]
    fn an_event_without_its_empty_line_has_not_come() {
        assert!(all(&[b"event: block\ndata: {}\n"]).is_empty());
    }

    #[test]
    fn an_event_beyond_the_bound_ends_the_stream_on_one_line_or_on_many() {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        assert_eq!(parser.push(&vec![b'x'; LARGEST + 1], &mut events), Err(TooLarge));
        let lines = b"data: 0123456789\n".repeat(LARGEST / 10 + 1);
        assert_eq!(Parser::default().push(&lines, &mut events), Err(TooLarge));
        let mut parser = Parser::default();
        for _ in 0..3 {
            parser
                .push(&[b":".as_slice(), &vec![b'x'; LARGEST - 1], b"\n"].concat(), &mut events)
                .unwrap();
        }
        assert!(events.is_empty());
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_events(
            stream in "\u{feff}?((event: ?block|data: ?x|data|: c|é|:)?(\n|\r\n|\r)){0,40}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(all(&chunks), all(&[bytes]));
            let single: Vec<_> = bytes.chunks(1).collect();
            prop_assert_eq!(all(&single), all(&[bytes]));
        }
    }
}
