//! Numbers: extents, durations that hold something, boundaries and counts.

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::time::MILLIS_MAX;
use alkstore::core::{Duration, Timestamp};

use crate::support::{Timetable, World, ms, now, plain, secs};

#[test]
fn an_extent_of_zero_is_empty_and_touches_nothing() {
    Timetable::new().rows(
        "
        0 | mail.enqueue a max=0        | 1
        0 | mail.enqueue b              | 2
        0 | mail.claim w 0              | -
        0 | mail.get 1                  | pending
        0 | mail.claim w 1              | 2#1
        0 | mail.get 1                  | dead
        ",
    );
    let world = World::new();
    world.enqueue("mail", "x");
    assert!(now(world.queue("mail").list(None, 0, 0)).unwrap().is_empty());
}

#[test]
fn an_extent_may_be_larger_than_the_queue() {
    let world = World::new();
    world.enqueue("mail", "x");
    let mail = world.queue("mail");
    assert_eq!(now(mail.list(None, 0, usize::MAX)).unwrap().len(), 1);
    for after in [i64::MAX.unsigned_abs(), u64::MAX - 1, u64::MAX] {
        assert!(now(mail.list(None, after, usize::MAX)).unwrap().is_empty(), "{after}");
    }
    assert_eq!(now(mail.claim_batch("w", usize::MAX)).unwrap().len(), 1);
}

#[test]
fn a_ttl_that_is_not_positive_is_refused_even_for_a_lapsed_lock() {
    Timetable::new().rows(
        "
        0   | lock.try report a 0     | InvalidArgument
        0   | lock.try report a -1s   | InvalidArgument
        0   | lock.try report a 1ms   | true
        1ms | lock.renew report a 0   | InvalidArgument
        1ms | lock.renew report a -4s | InvalidArgument
        1ms | lock.renew report a 1s  | false
        ",
    );
}

#[test]
fn every_boundary_is_meaningful() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a delay=-5s        | 1
        0  | mail.enqueue b run_at=-9s       | 2
        0  | mail.enqueue c expires=-1s      | 3
        0  | mail.get 1 run_at               | -5s
        0  | mail.get 2 run_at               | -9s
        0  | mail.get 3 expires_at           | -1s
        0  | mail.claim w 3                  | 2#1 1#1
        0  | mail.heartbeat 2#1 0            | true
        0  | mail.get 2 claim_expires_at     | 0
        0  | mail.heartbeat 1#1 -1s          | true
        0  | mail.ack 1#1                    | false
        0  | mail.claim w                    | 1#2
        0  | mail.retry 1#2 delay=-20s       | true
        0  | mail.get 1 run_at               | -20s
        ",
    );
}

#[test]
fn a_count_is_a_safe_integer() {
    let world = World::new();
    let (mail, store) = (world.queue("mail"), &world.store);
    for (count, accepted) in [
        (MILLIS_MAX, true),
        (-MILLIS_MAX, true),
        (MILLIS_MAX + 1, false),
        (-MILLIS_MAX - 1, false),
        (i64::MAX, false),
        (i64::MIN, false),
    ] {
        let priority = EnqueueOptions { priority: Some(count), ..plain() };
        let attempts = EnqueueOptions { max_attempts: Some(count), ..plain() };
        let of_schedule = ScheduleOptions { max_attempts: Some(count), ..Default::default() };
        for outcome in [
            now(mail.enqueue("x".into(), &priority)).map(drop),
            now(mail.enqueue("x".into(), &attempts)).map(drop),
            store.queue("q", QueueOptions { max_attempts: Some(count), ..Default::default() }).map(drop),
            now(store.schedule("s", "@every 1s", "q", "x".into(), of_schedule)).map(drop),
        ] {
            assert_eq!(
                outcome.map_err(|error| error.code()),
                accepted.then_some(()).ok_or("InvalidArgument"),
                "{count}"
            );
        }
    }
}

#[test]
fn an_argument_saturates_first_then_the_sum() {
    let world = World::new();
    let mail = world.queue("mail");
    for (delay, run_at) in [(i64::MAX, MILLIS_MAX), (i64::MIN, crate::support::START - MILLIS_MAX)] {
        let options = EnqueueOptions { delay: Some(ms(delay)), ..plain() };
        let id = now(mail.enqueue("x".into(), &options)).unwrap();
        assert_eq!(world.get("mail", id).unwrap().run_at, Timestamp::from_millis(run_at));
    }
    let options = EnqueueOptions { expires: Some(Duration::from_secs(i64::MAX)), ..plain() };
    let id = now(mail.enqueue("x".into(), &options)).unwrap();
    assert_eq!(world.get("mail", id).unwrap().expires_at, Some(Timestamp::MAX));
}

#[test]
fn an_absurd_visibility_timeout_holds_for_ever() {
    let options = QueueOptions { visibility_timeout: Some(secs(i64::MAX)), ..Default::default() };
    Timetable::new().queue("mail", options).rows(
        "
        0     | mail.enqueue a      | 1
        0     | mail.claim w        | 1#1
        9999d | mail.claim w        | -
        9999d | mail.ack 1#1        | true
        ",
    );
}
