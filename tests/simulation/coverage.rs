//! What the seeds must have met, all together: a simulation that provokes nothing finds nothing.

use std::collections::BTreeMap;

pub type Counts = BTreeMap<&'static str, u64>;

/// How often each must happen in 2,000 seeds, at the least.
const MINIMA: [(&str, u64); 46] = [
    ("acked in a batch", 1_000),
    ("answer lost", 1_000),
    ("answer not waited for", 500),
    ("begin fails", 1_000),
    ("boundary fired", 20_000),
    ("cancelled", 200),
    ("catch-up capped", 300),
    ("claim", 50_000),
    ("clock set back", 500),
    ("clock set back a little", 100),
    ("clock set forward", 500),
    ("commit", 200_000),
    ("commit fails", 1_000),
    ("correction committed", 500),
    ("crash", 1_000),
    ("delivery", 5_000),
    ("device asleep", 100),
    ("enqueued ahead of the header", 5_000),
    ("freeze", 1_000),
    ("heartbeat", 2_000),
    ("job of a transaction", 5_000),
    ("lapsed claim taken over", 5_000),
    ("late settlement refused", 5_000),
    ("leadership lost", 2_000),
    ("lease given back", 1_000),
    ("lease taken again", 100),
    ("lease taken over", 500),
    ("lock granted", 3_000),
    ("lock refused", 1_000),
    ("operation during an outage", 10_000),
    ("operation in a transaction of several", 50_000),
    ("outage", 300),
    ("part of a move committed", 1_000),
    ("purged", 300),
    ("read fails", 1_000),
    ("redriven", 300),
    ("runner failed", 2_000),
    ("runner stopped", 1_000),
    ("settlement", 30_000),
    ("settlement of another's claim refused", 500),
    ("store closed", 100),
    ("swept", 5_000),
    ("timer late", 1_000),
    ("transaction of a frozen context", 300),
    ("transaction rolled back", 1_000),
    ("transaction waits too long", 200),
];

/// What did not happen often enough.
pub fn missing(counts: &Counts) -> Vec<String> {
    let met = |what| counts.get(what).copied().unwrap_or_default();
    let rare = MINIMA.iter().filter(|(what, least)| met(what) < *least);
    rare.map(|(what, least)| format!("{what}: {} times, not {least}", met(what))).collect()
}

/// All of it, for people.
pub fn summary(counts: &Counts) -> String {
    let lines = counts.iter().map(|(what, times)| format!("{times:>12}  {what}"));
    lines.collect::<Vec<_>>().join("\n")
}
