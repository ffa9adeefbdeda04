//! Whole runs through each face, read back as their users would.

use std::cell::RefCell;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::rc::Rc;

use nearside_discover::snapshot::{Progress, Row, Snapshot, Summary};
use serde::Deserialize;

use super::fixtures::{GOAL, four_rows, full_row, progress, snapshot, summary, unknown_row};
use super::*;

/// A writer whose content can be read while a face holds it.
#[derive(Clone, Default)]
struct Paper(Rc<RefCell<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader that went away.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn config(format: Format, selection: Selection) -> FaceConfig {
    FaceConfig {
        format: Some(format),
        selection,
        goal: GOAL,
        terminal: None,
    }
}

/// What a whole run leaves in the output and in the notes.
fn run(config: FaceConfig) -> (String, String) {
    let (out, notes) = (Paper::default(), Paper::default());
    let mut face = Face::new(config, out.clone(), notes.clone());
    for row in four_rows().iter().rev() {
        face.row(row).unwrap();
        face.progress(&progress()).unwrap();
    }
    face.finish(&snapshot()).unwrap();
    drop(face);
    (out.text(), notes.text())
}

fn not_empty() -> Selection {
    let filters = Filters {
        not_empty: true,
        ..Filters::default()
    };
    Selection {
        filters,
        favourites: Favourites::from([unknown_row().addr]),
        ..Selection::default()
    }
}

#[test]
fn json_reads_back_with_unknown_fields_denied() {
    let (out, _) = run(config(Format::Json, Selection::default()));
    assert_eq!(out.matches('\n').count(), 1);
    let read: Snapshot = serde_json::from_str(&out).unwrap();
    assert_eq!(read, snapshot());
}

#[test]
fn json_on_a_terminal_is_set_for_people() {
    let size = Size {
        width: 80,
        height: 24,
    };
    let (out, _) = run(FaceConfig {
        terminal: Some(Terminal::fixed(size, Colours::On)),
        ..config(Format::Json, Selection::default())
    });
    assert!(out.starts_with("{\n  \"servers\": [\n"), "{out}");
    assert_eq!(serde_json::from_str::<Snapshot>(&out).unwrap(), snapshot());
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LastLine {
    summary: Summary,
}

fn read_ndjson(text: &str) -> (Vec<Row>, Summary) {
    let mut lines: Vec<&str> = text.lines().collect();
    let last: LastLine = serde_json::from_str(lines.pop().unwrap()).unwrap();
    let rows = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    (rows.collect(), last.summary)
}

#[test]
fn ndjson_comes_as_rows_arrive_and_ends_with_the_summary() {
    let (out, _) = run(config(Format::Ndjson, Selection::default()));
    let (rows, last) = read_ndjson(&out);
    let mut arrived = four_rows();
    arrived.reverse();
    assert_eq!(rows, arrived);
    assert_eq!(last, summary());
}

#[test]
fn ndjson_rows_are_visible_after_the_next_progress() {
    let out = Paper::default();
    let streaming = config(Format::Ndjson, Selection::default());
    let mut face = Face::new(streaming, out.clone(), io::sink());
    face.row(&full_row()).unwrap();
    face.progress(&progress()).unwrap();
    assert_eq!(
        serde_json::from_str::<Row>(&out.text()).unwrap(),
        full_row()
    );
}

#[test]
fn ndjson_waits_when_a_later_row_could_displace_an_earlier_one() {
    let top = Selection {
        top: NonZeroUsize::new(2),
        ..Selection::default()
    };
    let out = Paper::default();
    let mut face = Face::new(config(Format::Ndjson, top), out.clone(), io::sink());
    face.row(&four_rows()[3]).unwrap();
    face.progress(&progress()).unwrap();
    assert_eq!(out.text(), "");
    face.finish(&snapshot()).unwrap();
    assert_eq!(read_ndjson(&out.text()).0, four_rows()[..2]);
}

#[test]
fn ndjson_adds_what_only_the_snapshot_knows() {
    let out = Paper::default();
    let streaming = config(Format::Ndjson, Selection::default());
    let mut face = Face::new(streaming, out.clone(), io::sink());
    face.row(&four_rows()[1]).unwrap();
    face.finish(&snapshot()).unwrap();
    let pings: Vec<_> = read_ndjson(&out.text())
        .0
        .iter()
        .map(|row| row.rtt_ms)
        .collect();
    assert_eq!(pings, [Some(45.1), Some(12.3), Some(187.0), None]);
}

#[test]
fn csv_reads_back_and_its_summary_goes_to_the_notes() {
    let (out, notes) = run(config(Format::Csv, Selection::default()));
    let mut reader = ::csv::Reader::from_reader(out.as_bytes());
    let rows: Result<Vec<Row>, _> = reader.deserialize().collect();
    assert_eq!(rows.unwrap(), four_rows());
    assert!(
        notes.starts_with("Stopped by itself (auto-stop)"),
        "{notes}"
    );
}

#[test]
fn csv_has_the_fields_of_the_json_contract_even_without_rows() {
    let everything = serde_json::to_string(&full_row()).unwrap();
    let places = csv::HEADER.map(|field| everything.find(&format!("\"{field}\":")).unwrap());
    assert!(places.is_sorted(), "{everything}");
    let fields = serde_json::to_value(full_row()).unwrap();
    assert_eq!(fields.as_object().unwrap().len(), csv::HEADER.len());

    let nowhere = Filters {
        map: "no such map".parse().ok(),
        ..Filters::default()
    };
    let (out, _) = run(config(
        Format::Csv,
        Selection {
            filters: nowhere,
            ..Selection::default()
        },
    ));
    assert_eq!(out.trim_end(), csv::HEADER.join(","));
}

#[test]
fn every_face_shows_the_same_rows() {
    let wanted: Vec<Row> = [0, 1, 3].map(|place| four_rows()[place].clone()).to_vec();
    let (json, _) = run(config(Format::Json, not_empty()));
    assert_eq!(
        serde_json::from_str::<Snapshot>(&json).unwrap().servers,
        wanted
    );
    let (ndjson, _) = run(config(Format::Ndjson, not_empty()));
    let mut rows = read_ndjson(&ndjson).0;
    rows.reverse();
    assert_eq!(rows, wanted);
    let (csv, _) = run(config(Format::Csv, not_empty()));
    assert_eq!(csv.lines().count(), 1 + wanted.len());
    let (table, _) = run(config(Format::Table, not_empty()));
    for row in four_rows() {
        let shown = table.contains(&row.addr.to_string());
        assert_eq!(shown, wanted.contains(&row), "{row:?}");
    }
}

#[test]
fn a_piped_table_is_plain_and_explains_itself() {
    let expected = "
  RTT ms  PLAYERS  MAP        CC  AS       ADDRESS              PW  NAME
    12.3    12/32  de_dust2   DE  AS24940  192.0.2.7:27015          Night Owls
   ~45.1  3+5b/16  cs_office  DE  AS24940  198.51.100.20:27016  pw  Friends, \"only\"
*   down        -  -          -   -        192.0.2.99:27015         -
~ not exact: the reply cannot be attributed to one request
* favourite
";
    let words = "
Stopped by itself (auto-stop): nearly all that is left is farther than 200 ms, though a few nearer servers may be missed.
Found 1,402 playable servers (of 4,310 that answered).
Showing 3 of 4 servers: the others do not pass the filters.
Cost 4,731 probes, 1.2 MB, 4,698 flows in 35.2 s; a full scan: 28,648 probes, 6.9 MB, 204 s.
Your address was shown to 4,690 of 28,400 servers.
";
    let (table, notes) = run(config(Format::Table, not_empty()));
    assert_eq!(format!("\n{table}"), expected);
    assert_eq!(format!("\n{notes}"), words);
}

#[test]
fn on_a_terminal_the_final_table_takes_the_place_of_the_live_view() {
    let size = Size {
        width: 100,
        height: 24,
    };
    let out = Paper::default();
    let terminal = FaceConfig {
        format: None,
        terminal: Some(Terminal::fixed(size, Colours::Off)),
        ..config(Format::Table, Selection::default())
    };
    let mut face = Face::new(terminal, out.clone(), io::sink());
    face.progress(&progress()).unwrap();
    face.row(&full_row()).unwrap();
    let later = Progress {
        seconds: 9.62,
        probes_sent: 1_389,
        ..progress()
    };
    face.progress(&later).unwrap();
    face.finish(&snapshot()).unwrap();

    let text = out.text();
    let frames: Vec<&str> = text.split("\x1b[J").collect();
    assert_eq!(
        frames.len(),
        4,
        "two frames, a clearing, the table: {text:?}"
    );
    assert!(
        frames[1].starts_with("\r\x1b[1A\x1b[2Kcalibrating"),
        "{text:?}"
    );
    assert!(frames[1].contains("· 139/s · 9.6 s\n"), "{text:?}");
    assert_eq!(frames[2], "\r\x1b[4A");
    assert!(frames[3].starts_with("RTT ms  PLAYERS"), "{text:?}");
    assert!(!frames[3].contains('\x1b'), "{text:?}");
}

/// The last frame of a live view, after `happens` to a face that remembers four servers.
fn last_frame(selection: Selection, happens: impl FnOnce(&mut Face<'_>)) -> String {
    let size = Size {
        width: 100,
        height: 24,
    };
    let out = Paper::default();
    let terminal = FaceConfig {
        terminal: Some(Terminal::fixed(size, Colours::Off)),
        ..config(Format::Table, selection)
    };
    let mut face = Face::new(terminal, out.clone(), io::sink());
    face.remembered(&four_rows(), std::time::Duration::from_secs(60));
    happens(&mut face);
    face.progress(&progress()).unwrap();
    out.text()
}

#[test]
fn what_is_remembered_goes_when_its_server_no_longer_passes_the_filters() {
    let remembered = last_frame(not_empty(), |_| {});
    assert!(remembered.contains("?12.3"), "{remembered}");
    let empty = Row {
        players: Some(0),
        ..full_row()
    };
    let later = last_frame(not_empty(), |face| face.row(&empty).unwrap());
    assert!(!later.contains("Night Owls"), "{later}");
    assert!(later.contains("Friends"), "{later}");
}

#[test]
fn what_is_remembered_goes_when_its_server_is_not_on_the_list() {
    let listed = four_rows()[1].addr;
    let later = last_frame(Selection::default(), |face| {
        face.row(&four_rows()[2]).unwrap();
        face.list_complete(|addr| addr == listed);
    });
    assert!(!later.contains("Night Owls"), "{later}");
    assert!(later.contains("Friends"), "{later}");
    let answered = four_rows()[2].addr.to_string();
    assert!(
        later.contains(&answered),
        "an answer is not taken back: {later}"
    );
}

#[test]
fn a_reader_that_went_away_is_recognised_by_every_face() {
    for format in Format::ALL {
        let mut face = Face::new(config(format, Selection::default()), ClosedPipe, io::sink());
        let error = face.finish(&snapshot()).unwrap_err();
        assert!(is_closed_pipe(&error), "{format}: {error}");
    }
    assert!(!is_closed_pipe(&io::ErrorKind::StorageFull.into()));
}
