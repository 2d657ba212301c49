//! What the holder of a claim may do, and that nobody else may.

use alkstore::core::queue::QueueOptions;
use alkstore::core::{Duration, Timestamp};

use crate::support::{START, Timetable, World, ms, now, secs};

fn visibility(seconds: i64) -> QueueOptions {
    QueueOptions { visibility_timeout: Some(secs(seconds)), ..Default::default() }
}

#[test]
fn an_ack_leaves_no_row() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a | 1
        0  | mail.claim w   | 1#1
        9s | mail.ack 1#1   | true
        9s | mail.get 1     | -
        9s | mail.ack 1#1   | false
        9s | mail.stats     | 0 0 0 0 -
        ",
    );
}

#[test]
fn a_claim_may_be_settled_up_to_its_last_instant() {
    for (verb, landed) in
        [("ack 1#1", "true"), ("retry 1#1", "true"), ("fail 1#1", "true"), ("heartbeat 1#1 1s", "true")]
    {
        Timetable::new().queue("mail", visibility(10)).rows(&format!(
            "
            0    | mail.enqueue a  | 1
            0    | mail.claim w    | 1#1
            10s  | mail.{verb}     | {landed}
            "
        ));
    }
}

#[test]
fn a_lapsed_claim_settles_nothing_even_if_nobody_took_the_job() {
    Timetable::new().queue("mail", visibility(10)).rows(
        "
        0        | mail.enqueue a                         | 1
        0        | mail.claim w                           | 1#1
        10001ms  | mail.ack 1#1                           | false
        10001ms  | mail.retry 1#1                         | false
        10001ms  | mail.fail 1#1                          | false
        10001ms  | mail.heartbeat 1#1 60s                 | false
        10001ms  | mail.ack_batch 1                       | 0
        10001ms  | mail.get 1 state claim_expires_at      | processing 10s
        ",
    );
}

#[test]
fn a_late_worker_never_disturbs_the_next_holder_of_the_same_name() {
    Timetable::new().queue("mail", visibility(10)).rows(
        "
        0    | mail.enqueue a                             | 1
        0    | mail.claim w                               | 1#1
        11s  | mail.claim w                               | 1#2
        12s  | mail.ack 1#1                               | false
        12s  | mail.retry 1#1 delay=0                     | false
        12s  | mail.fail 1#1                              | false
        12s  | mail.heartbeat 1#1 99s                     | false
        12s  | mail.get 1 state worker claim_expires_at   | processing w 21s
        12s  | mail.ack 1#2                               | true
        ",
    );
}

#[test]
fn a_claim_of_before_a_retry_or_a_redrive_is_no_claim() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a            | 1
        0   | mail.claim w              | 1#1
        0   | mail.retry 1#1 delay=0    | true
        0   | mail.retry 1#1 delay=0    | false
        0   | mail.claim w              | 1#2
        0   | mail.ack 1#1              | false
        0   | mail.fail 1#2             | true
        0   | mail.ack 1#2              | false
        0   | mail.redrive 1            | 1
        0   | mail.claim w              | 1#3
        0   | mail.get 1 attempts       | 1
        0   | mail.ack 1#1              | false
        0   | mail.ack 1#3              | true
        ",
    );
}

#[test]
fn nobody_holds_what_was_never_claimed_or_is_gone() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a      | 1
        0   | mail.ack 1#0        | false
        0   | mail.ack 1#1        | false
        0   | mail.fail 77#1      | false
        0   | mail.claim w        | 1#1
        0   | thumbs.ack 1#1      | false
        0   | mail.cancel 1       | true
        0   | mail.heartbeat 1#1 9s | false
        ",
    );
}

#[test]
fn the_holder_of_an_expired_job_may_still_settle_it() {
    for verb in ["ack 1#1", "retry 1#1", "fail 1#1", "heartbeat 1#1 5s"] {
        Timetable::new().rows(&format!(
            "
            0    | mail.enqueue a expires=5s | 1
            0    | mail.claim w              | 1#1
            20s  | mail.{verb}               | true
            "
        ));
    }
}

#[test]
fn a_retry_returns_the_job_without_a_trace_of_the_claim() {
    Timetable::new().rows(
        "
        0    | mail.enqueue a                                  | 1
        0    | mail.claim w                                    | 1#1
        5s   | mail.retry 1#1 error=boom delay=10s             | true
        5s   | mail.get 1 state run_at attempts                | pending 15s 1
        5s   | mail.get 1 worker claimed_at claim_expires_at   | - - -
        5s   | mail.get 1 last_error died_at                   | - -
        14s  | mail.claim w                                    | -
        15s  | mail.claim w                                    | 1#2
        ",
    );
}

#[test]
fn a_retry_without_attempts_left_is_the_end() {
    for (error, kept) in [("error=boom", "boom"), ("", "max_attempts_exceeded")] {
        Timetable::new().rows(&format!(
            "
            0    | mail.enqueue a max=1                             | 1
            0    | mail.claim w                                     | 1#1
            5s   | mail.retry 1#1 {error} delay=10s                 | true
            5s   | mail.get 1 state last_error died_at run_at       | dead {kept} 5s 0
            5s   | mail.get 1 worker claim_expires_at claimed_at    | - - 0
            5s   | mail.claim w                                     | -
            "
        ));
    }
}

#[test]
fn a_fail_is_the_end_whatever_attempts_are_left() {
    for (error, kept) in [("error=boom", "boom"), ("", "failed")] {
        Timetable::new().rows(&format!(
            "
            0    | mail.enqueue a priority=3                                 | 1
            0    | mail.claim w                                              | 1#1
            5s   | mail.fail 1#1 {error}                                     | true
            5s   | mail.get 1 state last_error died_at attempts priority     | dead {kept} 5s 1 3
            5s   | mail.get 1 worker claim_expires_at claimed_at             | - - 0
            "
        ));
    }
}

#[test]
fn a_heartbeat_is_an_absolute_reset() {
    Timetable::new().rows(
        "
        0    | mail.enqueue a                            | 1
        0    | mail.claim w                              | 1#1
        10s  | mail.heartbeat 1#1 60s                    | true
        10s  | mail.get 1 claimed_at claim_expires_at    | 0 70s
        20s  | mail.heartbeat 1#1 5s                     | true
        20s  | mail.get 1 claimed_at claim_expires_at    | 0 25s
        25s  | mail.heartbeat 1#1 5s                     | true
        30s  | mail.heartbeat 1#1 -1ms                   | true
        30s  | mail.heartbeat 1#1 5s                     | false
        30s  | mail.claim w2                             | 1#2
        ",
    );
}

#[test]
fn ack_batch_acks_what_is_leased_whoever_holds_it() {
    Timetable::new().queue("mail", visibility(10)).rows(
        "
        0    | mail.enqueue a            | 1
        0    | mail.enqueue b            | 2
        0    | mail.enqueue c            | 3
        0    | mail.enqueue d            | 4
        0    | mail.enqueue dead max=0   | 5
        0    | thumbs.enqueue e          | 6
        0    | thumbs.claim w            | 6#1
        0    | mail.claim w1             | 1#1
        5s   | mail.claim w2             | 2#1
        5s   | mail.claim w3             | 3#1
        11s  | mail.ack_batch 3 1 2 2 4 5 6 99 3 | 2
        11s  | mail.list                 | 1 4 5
        11s  | mail.ack_batch            | 0
        11s  | thumbs.ack_batch 6        | 1
        ",
    );
}

/// The delays of the retries of one job, one per attempt, of many stores.
fn delays(options: QueueOptions, attempts: usize) -> Vec<Vec<i64>> {
    let mut delays = vec![Vec::new(); attempts];
    for seed in 0..200 {
        let world = World::new();
        let store = alkstore::runtime::Engine::new(world.storage.clone(), world.clock.clone(), Some(seed));
        let mail = store.queue("mail", QueueOptions { max_attempts: Some(99), ..options }).unwrap();
        now(mail.enqueue("x".into(), &crate::support::plain())).unwrap();
        let mut at = Timestamp::from_millis(START);
        for seen in &mut delays {
            world.clock.set(at);
            let claimed = now(mail.claim_one("w")).unwrap().expect("due");
            assert!(now(mail.retry(claimed.job.claim(), Some("boom"), None)).unwrap());
            let ready = world.get("mail", 1).unwrap().run_at;
            seen.push(ready.since(at).as_millis());
            at = ready.max(at);
        }
    }
    delays
}

#[test]
fn backoff_is_equal_jitter_between_half_the_cap_and_the_cap() {
    for (attempt, seen) in delays(QueueOptions::default(), 14).iter().enumerate() {
        let cap = (5000_i64 << attempt).min(3_600_000);
        assert!(seen.iter().all(|delay| (cap / 2..=cap).contains(delay)), "attempt {}: {seen:?}", attempt + 1);
        // A uniform draw: it comes near both ends, and about half lies in each half.
        let near = cap / 20;
        assert!(seen.iter().any(|delay| *delay < cap / 2 + near), "attempt {}", attempt + 1);
        assert!(seen.iter().any(|delay| *delay > cap - near), "attempt {}", attempt + 1);
        let upper = seen.iter().filter(|delay| **delay > cap * 3 / 4).count();
        assert!((60..=140).contains(&upper), "attempt {}: {upper} of {}", attempt + 1, seen.len());
    }
}

#[test]
fn backoff_reads_the_jobs_own_base() {
    let base = |span: Duration| QueueOptions { backoff_base: Some(span), ..Default::default() };
    for (span, low, high) in
        [(secs(60), 30_000, 60_000), (ms(1), 0, 1), (ms(0), 0, 0), (secs(7200), 1_800_000, 3_600_000)]
    {
        let first = &delays(base(span), 1)[0];
        assert!(first.iter().all(|delay| (low..=high).contains(delay)), "{span:?}: {first:?}");
    }
}

#[test]
fn one_seed_gives_one_jitter() {
    let run = || delays(QueueOptions::default(), 3);
    assert_eq!(run(), run());
}
