//! Dead letters, and taking a job back.

use crate::support::Timetable;

#[test]
fn cancel_removes_what_waits_or_is_held_but_nothing_dead() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a       | 1
        0  | mail.enqueue b       | 2
        0  | mail.enqueue c       | 3
        0  | mail.claim w         | 1#1
        0  | mail.cancel 1        | true
        0  | mail.ack 1#1         | false
        0  | mail.cancel 2        | true
        0  | mail.cancel 2        | false
        0  | thumbs.cancel 3      | false
        0  | mail.claim w         | 3#1
        0  | mail.fail 3#1        | true
        0  | mail.cancel 3        | false
        0  | mail.cancel 99       | false
        0  | mail.list            | 3
        ",
    );
}

#[test]
fn redrive_gives_a_dead_job_a_fresh_start() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a priority=2 max=1 run_at=-60s                   | 1
        1s  | mail.claim w                                                  | 1#1
        2s  | mail.retry 1#1 error=boom                                     | true
        9s  | mail.redrive all                                              | 1
        9s  | mail.get 1 state run_at attempts priority max_attempts        | pending 9s 0 2 1
        9s  | mail.get 1 worker claimed_at last_error died_at               | - - - -
        9s  | mail.claim w                                                  | 1#2
        9s  | mail.get 1 attempts                                           | 1
        ",
    );
}

#[test]
fn redrive_removes_an_expiry_that_has_passed_and_keeps_one_that_has_not() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a expires=10s        | 1
        0   | mail.enqueue b expires=10001ms    | 2
        0   | mail.claim w 2                    | 1#1 2#1
        0   | mail.fail 1#1                     | true
        0   | mail.fail 2#1                     | true
        10s | mail.redrive all                  | 2
        10s | mail.get 1 expires_at             | -
        10s | mail.get 2 expires_at             | 10001ms
        ",
    );
}

#[test]
fn redrive_and_purge_take_all_of_a_queue_or_the_given_ids() {
    for (verb, left) in [("redrive", "1 2 3 4 6"), ("purge", "4 6")] {
        Timetable::new().rows(&format!(
            "
            0 | mail.enqueue a max=0       | 1
            0 | mail.enqueue b max=0       | 2
            0 | mail.enqueue c max=0       | 3
            0 | mail.claim w               | -
            0 | mail.enqueue d             | 4
            0 | thumbs.enqueue e max=0     | 5
            0 | thumbs.claim w             | -
            0 | mail.enqueue f             | 6
            0 | mail.{verb} none           | 0
            0 | mail.{verb} 4 5 99         | 0
            0 | mail.list dead             | 1 2 3
            0 | mail.{verb} 2 2 4          | 1
            0 | mail.list dead             | 1 3
            0 | mail.{verb} all            | 2
            0 | mail.list dead             | -
            0 | mail.{verb} all            | 0
            0 | mail.list                  | {left}
            0 | thumbs.list dead           | 5
            0 | thumbs.{verb} all          | 1
            "
        ));
    }
}

#[test]
fn a_redriven_job_takes_its_place_by_the_new_ready_time() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a            | 1
        0  | mail.claim w              | 1#1
        0  | mail.fail 1#1             | true
        1s | mail.enqueue b            | 2
        2s | mail.redrive 1            | 1
        2s | mail.claim w 9            | 2#1 1#2
        ",
    );
}
