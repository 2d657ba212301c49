//! The sweep: expired jobs die, and dead ones past their retention go.

use alkstore::core::Duration;
use alkstore::core::queue::QueueOptions;

use crate::support::{Timetable, ms, secs};

fn kept(retention: Duration) -> QueueOptions {
    QueueOptions { dead_letter_retention: Some(retention), ..Default::default() }
}

#[test]
fn the_sweep_moves_what_has_expired_pending_or_processing() {
    Timetable::new().rows(
        "
        0      | mail.enqueue a expires=10s                    | 1
        0      | mail.enqueue b expires=10s                    | 2
        0      | mail.enqueue c expires=10001ms                | 3
        0      | mail.enqueue d                                | 4
        0      | mail.enqueue e expires=5s delay=60s           | 5
        1s     | mail.claim w                                  | 1#1
        4999ms | mail.sweep                                    | 0
        10s    | mail.sweep                                    | 3
        10s    | mail.list dead                                | 1 2 5
        10s    | mail.get 1 last_error died_at claimed_at      | expired 10s 1s
        10s    | mail.get 1 worker claim_expires_at attempts   | - - 1
        10s    | mail.ack 1#1                                  | false
        10s    | mail.sweep                                    | 0
        ",
    );
}

#[test]
fn the_sweep_deletes_the_dead_at_the_end_of_their_retention() {
    Timetable::new().queue("mail", kept(secs(60))).rows(
        "
        0       | mail.enqueue a      | 1
        0       | mail.claim w        | 1#1
        5s      | mail.fail 1#1       | true
        64999ms | mail.sweep          | 0
        64999ms | mail.get 1          | dead
        65s     | mail.claim w        | -
        65s     | mail.get 1          | dead
        65s     | mail.sweep          | 1
        65s     | mail.get 1          | -
        ",
    );
}

#[test]
fn without_a_retention_the_dead_are_kept_for_ever() {
    Timetable::new().rows(
        "
        0       | mail.enqueue a max=0  | 1
        0       | mail.claim w          | -
        99999d  | mail.sweep            | 0
        99999d  | mail.get 1            | dead
        ",
    );
}

#[test]
fn a_job_that_is_not_kept_at_all_counts_as_moved_and_as_deleted() {
    for retention in [ms(0), ms(-1)] {
        Timetable::new().queue("mail", kept(retention)).rows(
            "
            0   | mail.enqueue a expires=1s  | 1
            1s  | mail.sweep                 | 2
            1s  | mail.list                  | -
            ",
        );
    }
}

#[test]
fn a_sweep_minds_its_own_queue() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a expires=1s    | 1
        0   | thumbs.enqueue b expires=1s  | 2
        9s  | mail.sweep                   | 1
        9s  | thumbs.get 2                 | pending
        ",
    );
}

#[test]
fn a_redriven_job_has_a_new_retention() {
    Timetable::new().queue("mail", kept(secs(10))).rows(
        "
        0   | mail.enqueue a      | 1
        0   | mail.claim w        | 1#1
        0   | mail.fail 1#1       | true
        9s  | mail.redrive all    | 1
        99s | mail.sweep          | 0
        99s | mail.claim w        | 1#2
        99s | mail.fail 1#2       | true
        108s | mail.sweep         | 0
        109s | mail.sweep         | 1
        ",
    );
}

#[test]
fn nothing_else_sweeps() {
    Timetable::new().queue("mail", kept(secs(1))).rows(
        "
        0    | mail.enqueue a expires=1s    | 1
        0    | mail.enqueue b               | 2
        0    | mail.claim w 2               | 1#1 2#1
        0    | mail.fail 2#1                | true
        99s  | mail.enqueue c               | 3
        99s  | mail.claim w 9               | 3#1
        99s  | mail.stats                   | 0 0 2 1 399001ms
        99s  | store.schedule s 1s mail     | ok
        100s | store.tick                   | ok
        100s | mail.list                    | 1 2 3 4
        ",
    );
}
