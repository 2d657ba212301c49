//! Claim: what is claimable, in which order, and what a claim does to a job.

use alkstore::core::queue::QueueOptions;

use crate::support::{Timetable, World, ms, now, secs};

fn visibility(span: alkstore::core::Duration) -> QueueOptions {
    QueueOptions { visibility_timeout: Some(span), ..Default::default() }
}

#[test]
fn a_claim_sets_worker_lease_and_attempt() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a                                                    | 1
        4s | mail.claim w1                                                     | 1#1
        5s | mail.get 1 state worker claimed_at claim_expires_at attempts      | processing w1 4s 304s 1
        5s | mail.claim w2                                                     | -
        ",
    );
}

#[test]
fn an_empty_queue_hands_out_nothing() {
    Timetable::new().rows(
        "
        0 | mail.claim w     | -
        0 | mail.claim w 9   | -
        ",
    );
}

#[test]
fn a_delayed_job_is_claimable_at_its_ready_time_and_not_before() {
    Timetable::new().rows(
        "
        0      | mail.enqueue a delay=10s | 1
        9999ms | mail.claim w             | -
        10s    | mail.claim w             | 1#1
        ",
    );
}

#[test]
fn the_order_is_priority_then_ready_time_then_id() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a                          | 1
        0  | mail.enqueue b run_at=-5s               | 2
        0  | mail.enqueue c priority=1               | 3
        0  | mail.enqueue d priority=-1 run_at=-9s   | 4
        0  | mail.enqueue e                          | 5
        0  | mail.enqueue f priority=1 run_at=-5s    | 6
        0  | mail.enqueue g run_at=-5s               | 7
        0  | mail.enqueue h priority=9 delay=1s      | 8
        0  | mail.claim w 4                          | 6#1 3#1 2#1 7#1
        1s | mail.claim w                            | 8#1
        1s | mail.claim w 9                          | 1#1 5#1 4#1
        ",
    );
}

#[test]
fn priorities_reach_from_one_end_of_the_safe_integers_to_the_other() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a priority=-9007199254740991   | 1
        0  | mail.enqueue b priority=9007199254740991    | 2
        0  | mail.enqueue c                              | 3
        0  | mail.claim w 3                              | 2#1 3#1 1#1
        ",
    );
}

#[test]
fn a_lapsed_job_keeps_its_ready_time_in_the_order() {
    Timetable::new().queue("mail", visibility(secs(10))).rows(
        "
        0       | mail.enqueue old      | 1
        1s      | mail.claim w1         | 1#1
        2s      | mail.enqueue new      | 2
        11s     | mail.claim w2         | 2#1
        11001ms | mail.enqueue newest   | 3
        11001ms | mail.claim w2 9       | 1#2 3#1
        ",
    );
}

#[test]
fn a_lease_includes_its_last_instant() {
    Timetable::new().queue("mail", visibility(secs(30))).rows(
        "
        0       | mail.enqueue a                              | 1
        0       | mail.claim w1                               | 1#1
        30s     | mail.claim w2                               | -
        30001ms | mail.claim w2                               | 1#2
        30001ms | mail.get 1 worker claimed_at attempts       | w2 30001ms 2
        ",
    );
}

#[test]
fn a_visibility_timeout_of_zero_lives_until_the_clock_moves() {
    Timetable::new().queue("mail", visibility(ms(0))).rows(
        "
        0   | mail.enqueue a  | 1
        0   | mail.claim w    | 1#1
        0   | mail.claim w    | -
        0   | mail.heartbeat 1#1 0 | true
        1ms | mail.ack 1#1    | false
        1ms | mail.claim w    | 1#2
        1ms | mail.ack 1#2    | true
        ",
    );
}

#[test]
fn a_negative_visibility_timeout_lapses_at_once() {
    Timetable::new().queue("mail", visibility(ms(-1))).rows(
        "
        0   | mail.enqueue a  | 1
        0   | mail.claim w    | 1#1
        0   | mail.ack 1#1    | false
        0   | mail.claim w    | 1#2
        ",
    );
}

#[test]
fn an_expired_job_is_not_handed_out_and_left_to_the_sweep() {
    Timetable::new().rows(
        "
        0      | mail.enqueue a expires=10s   | 1
        0      | mail.enqueue b expires=10s   | 2
        9999ms | mail.claim w                 | 1#1
        10s    | mail.claim w                 | -
        10s    | mail.get 2                   | pending
        10s    | mail.sweep                   | 2
        10s    | mail.get 2 state last_error  | dead expired
        ",
    );
}

#[test]
fn a_claim_moves_what_has_no_attempts_left_to_dead() {
    let options = QueueOptions { max_attempts: Some(1), ..visibility(secs(10)) };
    Timetable::new().queue("mail", options).rows(
        "
        0       | mail.enqueue a                                          | 1
        0       | mail.claim w                                            | 1#1
        10s     | mail.claim w                                            | -
        10s     | mail.get 1                                              | processing
        10001ms | mail.get 1                                              | processing
        10001ms | mail.claim w                                            | -
        10001ms | mail.get 1 state last_error died_at attempts            | dead max_attempts_exceeded 10001ms 1
        10001ms | mail.get 1 worker claim_expires_at claimed_at           | - - 0
        ",
    );
}

#[test]
fn a_claim_buries_only_in_its_own_queue_and_only_what_is_due() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a max=0 delay=5s      | 1
        0  | thumbs.enqueue b max=0             | 2
        0  | mail.enqueue c max=0 expires=1s    | 3
        1s | mail.claim w                       | -
        1s | mail.list dead                     | -
        1s | thumbs.get 2                       | pending
        5s | mail.claim w                       | -
        5s | mail.list dead                     | 1
        5s | mail.get 3                         | pending
        ",
    );
}

#[test]
fn max_attempts_of_zero_or_less_is_never_handed_out_and_dies_at_the_next_claim() {
    for max in ["0", "-1", "-9007199254740991"] {
        Timetable::new().rows(&format!(
            "
            0  | mail.enqueue a max={max}                 | 1
            0  | mail.enqueue b                           | 2
            0  | mail.stats                               | 2 1 0 0 0
            0  | mail.claim w 9                           | 2#1
            0  | mail.get 1 state last_error attempts     | dead max_attempts_exceeded 0
            "
        ));
    }
}

#[test]
fn every_exhausted_job_dies_at_a_claim_however_few_it_asks_for() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a max=0  | 1
        0  | mail.enqueue b max=0  | 2
        0  | mail.enqueue c max=0  | 3
        0  | mail.claim w 1        | -
        0  | mail.stats            | 0 0 0 3 -
        ",
    );
}

#[test]
fn each_job_goes_to_one_claimant_only() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a      | 1
        0  | mail.enqueue b      | 2
        0  | mail.enqueue c      | 3
        0  | mail.claim w1 2     | 1#1 2#1
        0  | mail.claim w2 2     | 3#1
        0  | mail.claim w1 2     | -
        ",
    );
}

#[test]
fn queues_do_not_see_each_other() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a      | 1
        0  | >mail.enqueue b     | 2
        0  | thumbs.claim w      | -
        0  | mail.claim w 9      | 1#1
        0  | >mail.claim w 9     | 2#1
        ",
    );
}

#[test]
fn a_hand_out_is_a_copy_that_later_changes_do_not_reach() {
    let world = World::new();
    world.enqueue("mail", "x");
    let mail = world.queue("mail");
    let claimed = now(mail.claim_one("w")).unwrap().unwrap().job;
    let read = world.get("mail", 1).unwrap();
    assert_eq!(claimed, read);
    assert!(now(mail.heartbeat(claimed.claim(), secs(1))).unwrap());
    assert!(now(mail.fail(claimed.claim(), None)).unwrap());
    assert_eq!(claimed, read);
    assert_ne!(claimed, world.get("mail", 1).unwrap());
}

#[test]
fn thousands_of_drained_queues_cost_no_other_its_jobs() {
    let world = World::new();
    world.enqueue("kept", "x");
    for round in 0..2 {
        for n in 0..3000 {
            let name = format!("queue {n}");
            world.enqueue(&name, "x");
            let queue = world.queue(&name);
            let claimed = now(queue.claim_one("w")).unwrap().expect("a job");
            assert!(now(queue.ack(claimed.job.claim())).unwrap(), "round {round}");
        }
    }
    assert!(now(world.queue("kept").claim_one("w")).unwrap().is_some());
}
