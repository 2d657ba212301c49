//! Stored rows, against a table of what each column may hold. The first line of an input says what it is a row of, the
//! others are its columns.

use alkstore::core::index::{job_entries, schedule_entries};
use alkstore::core::time::MILLIS_MAX;
use alkstore::core::{Duration, Error, Job, ScheduleRow, Timestamp};
use alkstore::runtime::format::{self, Reader};

use super::columns::{Cell, Cells};

/// What each column of a row may hold: `n` a number, `i` one that is not negative, `p` one above zero, `b` 0 or 1,
/// `t` text, `s` the name of a state; in capitals it may be null.
const KINDS: [(&str, &str); 4] =
    [("header", "niNnnpi"), ("lock", "nttn"), ("schedule", "nttptNNNn"), ("job", "nitsnnbnnnnNTNNinNTNN")];

/// How many columns a header has at the least.
const HEADER_LEAST: usize = 5;

pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let kind = lines.next().unwrap_or_default();
    let Some((kind, columns)) = KINDS.into_iter().find(|(name, _)| *name == kind) else { return };
    let cells = Cells::read(lines);
    // A header ends before its last two columns if nothing is moving.
    let is_short = kind == "header" && !matches!(cells.0.get(HEADER_LEAST), Some(Cell::Number(_)));
    let columns = if is_short { &columns[..HEADER_LEAST] } else { columns };
    let again = match kind {
        "header" => Reader::new(cells.clone()).header().map(|row| format::header(&row)),
        "lock" => Reader::new(cells.clone()).lock().map(|(name, row)| format::lock(&name, &row)),
        "schedule" => Reader::new(cells.clone()).schedule(()).map(|row| {
            fires(&row);
            format::schedule(&row)
        }),
        _ => Reader::new(cells.clone()).job().map(|row| {
            finds_its_place(&row);
            format::job(&row)
        }),
    };
    judge(&cells, columns, again);
}

/// Read, a row is written as it was. Refused, it is said of which kind of trouble.
fn judge(cells: &Cells, columns: &str, again: Result<Cells, Error>) {
    let format = cells.0.first().and_then(whole).unwrap_or(0);
    let sound = columns.chars().enumerate().all(|(at, kind)| cells.0.get(at).is_some_and(|cell| may_hold(kind, cell)));
    match again {
        // What lies behind the last column is nobody's.
        Ok(again) => {
            assert!(sound && format == 1, "{cells:?} was read as {again:?}");
            assert_eq!(again.0, cells.0[..columns.len()]);
        }
        Err(error) => {
            let text = error.to_string();
            assert_eq!(error.code(), "Storage");
            assert!(!sound || format != 1, "{text}: {cells:?}");
            let newer = format!("the storage was written by a newer release (format {format}): update alkstore-wasm");
            let damaged =
                text.starts_with("a stored row is damaged (") && text.ends_with("): not what this engine writes");
            assert!(if format > 1 { text == newer } else { damaged }, "{text}: {cells:?}");
        }
    }
}

fn may_hold(kind: char, cell: &Cell) -> bool {
    let text = if let Cell::Text(text) = cell { Some(text.as_str()) } else { None };
    match kind {
        'N' | 'T' if *cell == Cell::Null => true,
        'n' | 'N' => whole(cell).is_some(),
        'i' => whole(cell).is_some_and(|n| n >= 0),
        'p' => whole(cell).is_some_and(|n| n > 0),
        'b' => whole(cell).is_some_and(|n| n == 0 || n == 1),
        's' => text.is_some_and(|text| ["pending", "processing", "dead"].contains(&text)),
        _ => text.is_some(),
    }
}

/// The number, if a double holds it exactly and its neighbours too.
fn whole(cell: &Cell) -> Option<i64> {
    let Cell::Number(n) = cell else { return None };
    (n.fract() == 0.0 && n.abs() <= MILLIS_MAX as f64).then_some(*n as i64)
}

/// Whatever a row holds, it can be indexed, asked and moved.
fn finds_its_place(job: &Job) {
    for now in [job.created_at, job.run_at, job.available_at(), Timestamp::MAX, Timestamp::from_millis(-MILLIS_MAX)] {
        let mut sections = Vec::new();
        job_entries(job, now, |section, (.., id)| {
            assert_eq!(id, job.id);
            sections.push(section);
        });
        let entries = sections.len();
        sections.sort();
        sections.dedup();
        assert!((1..=4).contains(&entries) && sections.len() == entries, "{sections:?}");
    }
    let mut moved = job.clone();
    moved.move_back(Duration::from_secs(3600));
    assert_eq!((moved.id, moved.state, moved.claims), (job.id, job.state, job.claims));
}

fn fires(row: &ScheduleRow<()>) {
    let mut entries = 0;
    schedule_entries(row, |_, _| entries += 1);
    assert_eq!(entries, 2);
    for now in [row.next_fire_at, Timestamp::MAX, Timestamp::from_millis(-MILLIS_MAX)] {
        let (fires, next) = alkstore::core::schedule::tick(row.next_fire_at, row.interval, now);
        // What is more than the clock's whole range behind takes two ticks.
        let caught_up = next > now || next == Timestamp::MAX || now.since(row.next_fire_at).as_millis() == MILLIS_MAX;
        assert!((0..=64).contains(&fires) && caught_up, "{fires} {next:?} at {now:?}");
    }
}
