//! Files as they should not be, and as they may be.

use crate::history::options;
use fusebox_builder::{
    PolicySpec, Status,
    replay::{
        BlocksCsv, EventLine, InputError, MissedCsv, Range, ReplayError, Report, Source, replay,
    },
};
use proptest::prelude::*;

const FROM_10_TO_90: Range = Range { from: Some(10), to: Some(90) };

fn missed(text: &[u8], range: Range) -> Result<Report, ReplayError> {
    let mut options = options(&["consecutive(max=0)"]);
    options.warm_up = 0;
    replay(&mut MissedCsv::new(text, "m.csv", range)?, "m.csv", &options)
}

fn blocks(text: &str, range: Range, before: Status) -> Result<Report, ReplayError> {
    let mut options = options(&["consecutive(max=0)", "lodestar(window=8,faults=2)"]);
    options.warm_up = 0;
    replay(&mut BlocksCsv::new(text.as_bytes(), "b.csv", range, before)?, "b.csv", &options)
}

#[test]
fn a_list_of_missed_slots_is_refused_with_its_file_and_line() {
    let long = format!("slot\n{}\n", "1".repeat(2_000));
    let wrong: [(&[u8], &str); 17] = [
        (b"", "m.csv:1: expected the header"),
        (b"20\n30\n", "m.csv:1: expected the header"),
        (b"slot,flag\n20,0\n", "m.csv:1: expected the header"),
        (b"slot\n20\n20\n", "m.csv:3: slot 20 stands here a second time"),
        (b"slot\n20\n19\n", "m.csv:3: slot 19 after slot 20"),
        (b"slot\n9\n", "m.csv:2: slot 9 is outside of 10 to 90"),
        (b"slot\n20\n91\n", "m.csv:3: slot 91 is outside of 10 to 90"),
        (b"slot\nx\n", "m.csv:2: `x` is not a slot's number"),
        (b"slot\n-1\n", "m.csv:2: `-1` is not"),
        (b"slot\n+20\n", "m.csv:2: `+20` is not"),
        (b"slot\n20\n\n30\n", "m.csv:3: `` is not"),
        (b"slot\n99999999999999999999\n", "is not a slot's number"),
        (b"slot,relayed_block_forked\n20\n", "m.csv:2: 1 fields for 2 columns"),
        (b"slot,relayed_block_forked\n20,2\n", "m.csv:2: `2` is not 0 or 1"),
        (b"slot,relayed_block_forked\n20,1,0\n", "m.csv:2: 3 fields"),
        (b"slot\n\xff\n", "m.csv:2: the line is not UTF-8"),
        (long.as_bytes(), "m.csv:2: the line is longer than 1024 bytes"),
    ];
    for (text, message) in wrong {
        let error = missed(text, FROM_10_TO_90).unwrap_err().to_string();
        assert!(error.contains(message), "{error}, not {message}");
    }
}

#[test]
fn line_ends_a_bom_and_a_last_line_without_an_end_make_no_difference() {
    let plain = missed(b"slot\n20\n30\n", FROM_10_TO_90).unwrap();
    for text in [&b"slot\r\n20\r\n30\r\n"[..], b"\xef\xbb\xbfslot\n20\n30\n", b"slot\n20\n30"] {
        assert_eq!(missed(text, FROM_10_TO_90).unwrap().policies, plain.policies);
    }
    assert_eq!((plain.policies[0].trips, plain.policies[0].refused), (2, 2));
}

#[test]
fn a_range_that_is_none_is_refused() {
    let text = b"slot\n";
    let wrong = [
        (None, None, "m.csv: no slots are listed"),
        (Some(5), None, "no slots are listed"),
        (Some(9), Some(8), "9 to 8 is no range"),
        (Some(0), Some(u64::MAX), "is no range of 1 to 100000000 slots"),
        (Some(u64::MAX), Some(u64::MAX), "is no range"),
    ];
    for (from, to, message) in wrong {
        let error = missed(text, Range { from, to }).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let report = missed(text, FROM_10_TO_90).unwrap();
    assert_eq!((report.from, report.to, report.missed.canonical), (10, 90, 0));
    let error = missed(b"slot\n1\n200000000\n", Range::default()).unwrap_err().to_string();
    assert!(error.contains("m.csv:3: 1 to 200000000 is no range"), "{error}");
    let error = missed(b"slot\n1\n18446744073709551615\n", Range::default()).unwrap_err();
    assert!(
        error.to_string().contains("m.csv:3: `18446744073709551615` is not a slot's number"),
        "{error}"
    );
}

#[test]
fn a_decision_outside_of_history_is_refused() {
    let mut options = options(&["seed"]);
    options.decide = vec![91, 92];
    let mut source = MissedCsv::new(&b"slot\n"[..], "m.csv", FROM_10_TO_90).unwrap();
    let error = replay(&mut source, "m.csv", &options).unwrap_err().to_string();
    assert_eq!(error, "slot 92 is not judged: the first one is 74, the last one 91");
}

#[test]
fn blocks_are_counted_by_slot() {
    let report = blocks("slot\n100\n101\n101\n104\n", Range::default(), Status::Present).unwrap();
    assert_eq!((report.from, report.to), (100, 104));
    assert_eq!((report.missed.canonical, report.missed.tree), (2, 2));
    assert_eq!(report.policies[0].refused, 2);
    assert_eq!(report.policies[0].first, Some(103));
}

#[test]
fn unknown_slots_before_the_first_block_are_refused_until_it_comes() {
    let range = Range { from: Some(98), to: Some(101) };
    let report = blocks("slot\n100\n101\n", range, Status::Unknown).unwrap();
    // 98 is unknown; 99 and 100 have missed slots before them.
    assert_eq!((report.policies[0].refused, report.policies[0].first), (3, Some(98)));
    let report = blocks("slot\n100\n101\n", range, Status::Present).unwrap();
    assert_eq!(report.policies[0].refused, 2);
}

#[test]
fn an_orphan_is_told_by_its_column_or_by_the_parents() {
    let column = "slot,root,parent,canonical
100,0x64,0x63,1
101,0x65,0x64,0
102,0x66,0x64,1
103,0x67,0x66,1
";
    let parents: String =
        column.lines().map(|line| line[..line.rfind(',').unwrap()].to_owned() + "\n").collect();
    for text in [column, &parents] {
        let report = blocks(text, Range::default(), Status::Present).unwrap();
        assert_eq!((report.missed.canonical, report.missed.tree), (1, 0), "{text}");
    }
}

#[test]
fn a_list_of_blocks_is_refused_with_its_file_and_line() {
    let wrong = [
        ("root\n", "b.csv:1: expected the header"),
        ("slot,parent\n", "b.csv:1: expected the header"),
        ("slot,root,parent,canonical,x\n", "b.csv:1: expected the header"),
        ("slot,root\n5\n", "b.csv:2: 1 fields for 2 columns"),
        ("slot,root\n5,abc\n", "b.csv:2: `abc` is not a root"),
        (
            "slot,root\n5,0x1\n5,0x1\n",
            "b.csv:3: the root of a block of slot 5 stands here a second",
        ),
        ("slot,root\n5,0x1\n4,0x2\n", "b.csv:3: slot 4 after slot 5"),
        ("slot,root,parent,canonical\n5,0x1,,1\n5,0x2,,1\n", "b.csv:3: the canonical block"),
        ("slot,root,parent,canonical\n5,0x1,0x0,yes\n", "b.csv:2: `yes` is not 0 or 1"),
    ];
    for (text, message) in wrong {
        let error = blocks(text, Range::default(), Status::Present).unwrap_err().to_string();
        assert!(error.contains(message), "{error}, not {message}");
    }
}

#[test]
fn a_reader_that_fails_is_an_error_of_its_line() {
    #[derive(Debug)]
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    let error: InputError =
        MissedCsv::new(std::io::BufReader::new(Broken), "m.csv", Range::default()).unwrap_err();
    assert_eq!(error.to_string(), "m.csv:1: disk on fire");
}

#[test]
fn replay_judges_every_slot_of_the_range_and_the_one_after() {
    let mut source = MissedCsv::new(&b"slot\n"[..], "m.csv", FROM_10_TO_90).unwrap();
    let mut slots = Vec::new();
    while let Some(evidence) = source.next().unwrap() {
        slots.push(evidence.slot());
    }
    assert_eq!(slots, (10..=91).collect::<Vec<_>>());
}

/// Pieces of what files hold, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("slot"),
        Just(",root"),
        Just(",parent"),
        Just(",canonical"),
        Just(",relayed_block_forked"),
        Just("\n"),
        Just("\r\n"),
        Just(","),
        Just("0x"),
        Just("f"),
        Just("7"),
        Just("18446744073709551615"),
        Just("-"),
        Just(" "),
        Just("ä"),
        Just("seed"),
        Just("any("),
        Just("("),
        Just(")"),
        Just("max"),
        Just("="),
        Just("window"),
        Just("{"),
        Just("\"ms\":1"),
        Just("random"),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in prop_oneof![pieces(), any::<String>()]) {
        let _ = text.parse::<PolicySpec>().map_err(|error| error.to_string());
        let _ = serde_json::from_str::<EventLine>(&text);
        for head in ["", "slot\n", "slot,root,parent\n"] {
            let text = format!("{head}{text}");
            let _ = missed(text.as_bytes(), Range::default()).map_err(|error| error.to_string());
            let _ = blocks(&text, Range::default(), Status::Unknown).map_err(|error| error.to_string());
        }
    }
}
