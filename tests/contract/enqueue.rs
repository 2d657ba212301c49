//! Enqueue: ids, ready times, expiry, and the stamps that a job is given.

use std::rc::Rc;

use alkstore::core::queue::QueueOptions;
use alkstore::core::{Job, State, Timestamp};
use alkstore::runtime::{Engine, ManualClock, MemoryStore};

use crate::support::{START, Timetable, World, now, plain, secs};

#[test]
fn a_new_job_waits_with_nothing_but_its_stamps() {
    let world = World::new();
    world.at(secs(1));
    let id = world.enqueue("mail", "hello");
    let (job, payload) = now(world.queue("mail").get(id)).unwrap().unwrap();
    let at = Timestamp::from_millis(START + 1000);
    assert_eq!(&*payload, "hello");
    assert_eq!((job.id, &*job.queue, job.state), (1, "mail", State::Pending));
    assert_eq!((job.priority, job.run_at, job.created_at, job.attempts), (0, at, at, 0));
    assert_eq!((&job.handling, job.expires_at), (&None, None));
}

#[test]
fn ids_grow_over_all_queues_and_are_never_reused() {
    Timetable::new().rows(
        "
        0 | mail.enqueue a       | 1
        0 | thumbs.enqueue a     | 2
        0 | >orders.enqueue a    | 3
        0 | tx.begin             | ok
        0 | tx.enqueue mail a    | 4
        0 | mail.cancel 1        | true
        0 | tx.roll_back         | ok
        0 | mail.enqueue a       | 5
        ",
    );
}

#[test]
fn the_ready_time_is_the_delay_else_run_at_else_now() {
    Timetable::new().rows(
        "
        2s | mail.enqueue a                       | 1
        2s | mail.enqueue b run_at=30s            | 2
        2s | mail.enqueue c delay=5s              | 3
        2s | mail.enqueue d delay=5s run_at=30s   | 4
        2s | mail.enqueue e delay=0 run_at=30s    | 5
        2s | mail.get 1 run_at                    | 2s
        2s | mail.get 2 run_at                    | 30s
        2s | mail.get 3 run_at                    | 7s
        2s | mail.get 4 run_at                    | 7s
        2s | mail.get 5 run_at                    | 2s
        ",
    );
}

#[test]
fn expiry_counts_from_the_enqueue_not_from_the_ready_time() {
    Timetable::new().rows(
        "
        2s | mail.enqueue a delay=60s expires=5s | 1
        2s | mail.get 1 run_at expires_at        | 62s 7s
        ",
    );
}

#[test]
fn the_default_stamps_are_pinned() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a              | 1
        0   | >orders.enqueue a           | 2
        0   | tx.begin                    | ok
        0   | tx.enqueue mail a           | 3
        0   | tx.outbox orders a          | 4
        0   | tx.commit                   | ok
        0   | store.schedule s 1s mail    | ok
        1s  | store.tick                  | ok
        1s  | mail.get 1 visibility_timeout max_attempts backoff_base retention    | 300s 3 5s -
        1s  | >orders.get 2 visibility_timeout max_attempts backoff_base retention | 60s 5 5s -
        1s  | mail.get 3 visibility_timeout max_attempts backoff_base retention    | 300s 3 5s -
        1s  | >orders.get 4 visibility_timeout max_attempts backoff_base retention | 60s 5 5s -
        1s  | mail.get 5 visibility_timeout max_attempts backoff_base retention    | 300s 3 5s -
        ",
    );
}

fn strict() -> QueueOptions {
    QueueOptions {
        visibility_timeout: Some(secs(30)),
        max_attempts: Some(2),
        backoff_base: Some(secs(1)),
        dead_letter_retention: Some(secs(60)),
    }
}

#[test]
fn a_handles_options_are_copied_onto_each_job() {
    Timetable::new().queue("mail", strict()).rows(
        "
        0   | mail.enqueue a                                                       | 1
        0   | mail.enqueue b max=9                                                 | 2
        0   | mail.get 1 visibility_timeout max_attempts backoff_base retention    | 30s 2 1s 60s
        0   | mail.get 2 visibility_timeout max_attempts backoff_base retention    | 30s 9 1s 60s
        ",
    );
}

#[test]
fn a_changed_option_touches_only_later_jobs() {
    let world = World::new();
    world.enqueue("mail", "lenient");
    let claim = |queue: &crate::support::Handle| now(queue.claim_one("w")).unwrap().unwrap().job;
    let mail = world.store.queue("mail", strict()).unwrap();
    now(mail.enqueue("strict".into(), &plain())).unwrap();
    // Claims read the job's own copy, through whichever handle they come.
    let until = |job: &Job| job.claim_expires_at.unwrap().as_millis() - START;
    assert_eq!(until(&claim(&mail)), 300_000);
    assert_eq!(until(&claim(&world.queue("mail"))), 30_000);
}

#[test]
fn a_transaction_and_a_schedule_use_the_plain_stamps_whatever_a_handle_says() {
    Timetable::new().queue("mail", strict()).rows(
        "
        0   | tx.begin                                     | ok
        0   | tx.enqueue mail a max=7                      | 1
        0   | tx.commit                                    | ok
        0   | store.schedule s 1s mail max=4               | ok
        1s  | store.tick                                   | ok
        1s  | mail.get 1 visibility_timeout max_attempts   | 300s 7
        1s  | mail.get 2 visibility_timeout max_attempts   | 300s 4
        ",
    );
}

#[test]
fn a_payload_is_a_handle_that_the_engine_never_looks_at() {
    // No trait but Clone: the payload can only be carried.
    struct Opaque;
    let store = Engine::new(MemoryStore::<Rc<Opaque>>::new(), ManualClock::default(), None);
    let mail = store.queue("mail", QueueOptions::default()).unwrap();
    let payload = Rc::new(Opaque);
    now(mail.enqueue(Rc::clone(&payload), &plain())).unwrap();
    let claimed = now(mail.claim_one("w")).unwrap().unwrap();
    assert!(Rc::ptr_eq(&claimed.payload, &payload));
    drop(claimed.payload);
    now(mail.ack(claimed.job.claim())).unwrap();
    assert_eq!(Rc::strong_count(&payload), 1, "deleted with its job");
}
