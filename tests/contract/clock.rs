//! A clock that is wrong. Rows that go back are a clock that was set back.

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::runtime::StopToken;

use crate::support::{START, Timetable, World, ms, now, plain, secs};

#[test]
fn a_delay_moves_with_a_clock_that_is_corrected() {
    Timetable::new().rows(
        "
        5h      | mail.enqueue a delay=10s   | 1
        5s      | mail.get 1 run_at          | 15s
        14999ms | mail.claim w               | -
        15s     | mail.claim w               | 1#1
        ",
    );
}

#[test]
fn a_ready_time_from_the_enqueue_moves_and_one_given_as_an_instant_stays() {
    Timetable::new().rows(
        "
        5h  | mail.enqueue a                     | 1
        5h  | mail.enqueue b run_at=60s          | 2
        5h  | mail.enqueue c run_at=6h           | 3
        5h  | mail.enqueue d run_at=6h delay=1s  | 4
        0   | mail.get 1 run_at                  | 0
        0   | mail.get 2 run_at                  | 60s
        0   | mail.get 3 run_at                  | 21600s
        0   | mail.get 4 run_at                  | 1s
        ",
    );
}

#[test]
fn a_lease_moves() {
    Timetable::new().rows(
        "
        5h       | mail.enqueue a                               | 1
        5h       | mail.claim w                                 | 1#1
        5s       | mail.get 1 claim_expires_at claimed_at       | 305s 18000s
        305s     | mail.heartbeat 1#1 10s                       | true
        315s     | mail.claim w                                 | -
        315001ms | mail.claim w                                 | 1#2
        ",
    );
}

#[test]
fn a_backoff_moves_and_so_does_a_ready_time_that_was_absolute_before_it() {
    Timetable::new().rows(
        "
        5h  | mail.enqueue a run_at=1s           | 1
        5h  | mail.claim w                       | 1#1
        5h  | mail.retry 1#1 delay=10s           | true
        5s  | mail.claim w                       | -
        15s | mail.claim w                       | 1#2
        ",
    );
}

#[test]
fn an_expiry_moves() {
    Timetable::new().rows(
        "
        5h     | mail.enqueue a expires=10s      | 1
        0      | mail.get 1 expires_at           | 10s
        9999ms | mail.sweep                      | 0
        9999ms | mail.stats                      | 1 1 0 0 9999ms
        10s    | mail.claim w                    | -
        10s    | mail.sweep                      | 1
        ",
    );
}

#[test]
fn retention_moves_and_history_stays() {
    let options = QueueOptions { dead_letter_retention: Some(secs(60)), ..Default::default() };
    Timetable::new().queue("mail", options).rows(
        "
        5h      | mail.enqueue a                             | 1
        5h      | mail.claim w                               | 1#1
        5h      | mail.fail 1#1                              | true
        0       | mail.get 1 created_at claimed_at died_at   | 18000s 18000s 18000s
        59999ms | mail.sweep                                 | 0
        60s     | mail.sweep                                 | 1
        ",
    );
}

#[test]
fn locks_move() {
    Timetable::new().rows(
        "
        5h      | lock.try report a 60s     | true
        5s      | lock.renew report a 20s   | true
        24999ms | lock.try report b 1s      | false
        25s     | lock.try report b 1s      | true
        5h      | lock.try import a 60s     | true
        5s      | lock.try import b 1s      | false
        64999ms | lock.try import b 1s      | false
        65s     | lock.try import b 1s      | true
        ",
    );
}

#[test]
fn schedule_boundaries_move() {
    Timetable::new().rows(
        "
        5h      | store.schedule report 1h mail     | ok
        18010s  | store.schedule sync 10s mail      | ok
        10s     | store.schedules                   | report@3600s sync@20s
        19999ms | store.tick                        | ok
        19999ms | mail.list                         | -
        20s     | store.tick                        | ok
        20s     | mail.list                         | 1
        ",
    );
}

#[test]
fn a_step_of_a_minute_or_less_moves_nothing_and_only_makes_late() {
    Timetable::new().rows(
        "
        60s | mail.enqueue a delay=10s     | 1
        60s | lock.try report a 10s        | true
        0   | mail.get 1 run_at            | 70s
        0   | mail.claim w                 | -
        69s | lock.try report b 1s         | false
        70s | lock.try report b 1s         | true
        70s | mail.claim w                 | 1#1
        ",
    );
    Timetable::new().rows(
        "
        60001ms | mail.enqueue a delay=10s     | 1
        0       | mail.get 1 run_at            | 10s
        ",
    );
}

#[test]
fn a_correction_leaves_things_at_most_ten_seconds_late_and_never_early() {
    // The clock reads `wrong` at the last operation, and `right` at the next, when it should read the same.
    for seen in [0, 1, 5000, 9999, 10_000, 10_001, 19_999, 25_000] {
        let world = World::new();
        world.at(secs(18_000));
        world.enqueue("mail", "first");
        world.at(ms(18_000_000 + seen));
        let options = EnqueueOptions { delay: Some(secs(10)), ..plain() };
        let id = now(world.queue("mail").enqueue("second".into(), &options)).unwrap();
        world.at(secs(30));
        let ready = world.get("mail", id).unwrap().run_at.as_millis() - START;
        let (late, due) = (ready - 40_000, 40_000);
        assert!((0..10_000).contains(&late), "seen {seen}: due {due}, ready {ready}");
    }
}

#[test]
fn several_corrections_add_up() {
    Timetable::new().rows(
        "
        10h | mail.enqueue a delay=100s     | 1
        5h  | mail.get 1 run_at             | 18100s
        5h  | mail.enqueue b delay=200s     | 2
        0   | mail.get 1 run_at             | 100s
        0   | mail.get 2 run_at             | 200s
        ",
    );
}

#[test]
fn a_correction_right_after_another_is_noticed_too() {
    Timetable::new().rows(
        "
        10h | mail.enqueue a delay=10s      | 1
        5h  | mail.get 1 run_at             | 18010s
        0   | mail.get 1 run_at             | 10s
        ",
    );
}

#[test]
fn a_correction_is_noticed_by_whatever_comes_first() {
    for first in [
        "mail.claim w",
        "mail.stats",
        "mail.sweep",
        "other.list",
        "store.schedules",
        "store.unschedule s",
        "lock.renew l o 1s",
        "tx.enqueue other x",
        "mail.ack 7#7",
    ] {
        let timetable = Timetable::new().rows(
            "
            5h  | mail.enqueue a delay=10s    | 1
            5h  | lock.try l o 90s            | true
            5h  | tx.begin                    | ok
            ",
        );
        let expected = match first {
            "mail.claim w" | "other.list" | "store.schedules" => "-",
            "mail.stats" => "1 0 0 0 10s",
            "mail.sweep" => "0",
            "lock.renew l o 1s" => "true",
            "tx.enqueue other x" => "2",
            _ => "false",
        };
        timetable.rows(&format!("0 | {first} | {expected}\n 1s | mail.get 1 run_at | 10s"));
    }
}

#[test]
fn what_a_transaction_staged_moves_along_with_the_rest() {
    Timetable::new().rows(
        "
        5h  | tx.begin                                  | ok
        5h  | tx.enqueue mail a delay=10s expires=20s   | 1
        5h  | tx.enqueue mail b run_at=5h               | 2
        5h  | mail.enqueue c delay=10s                  | 3
        0   | mail.get 3 run_at                         | 10s
        0   | tx.get mail 1 run_at                      | 10s
        1s  | tx.enqueue mail d delay=10s               | 4
        2s  | tx.commit                                 | ok
        2s  | mail.get 1 run_at expires_at created_at   | 10s 20s 18000s
        2s  | mail.get 2 run_at                         | 18000s
        2s  | mail.get 4 run_at                         | 11s
        ",
    );
    // Nobody looked at the clock between: the commit itself notices.
    Timetable::new().rows(
        "
        5h  | tx.begin                      | ok
        5h  | tx.enqueue mail a delay=10s   | 1
        0   | tx.commit                     | ok
        0   | mail.get 1 run_at             | 10s
        ",
    );
}

#[test]
fn a_step_forwards_makes_things_due() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a                | 1
        0   | mail.claim w                  | 1#1
        0   | mail.enqueue b delay=1h       | 2
        0   | store.schedule s 1m thumbs    | ok
        0   | lock.try l a 60s              | true
        5h  | mail.ack 1#1                  | false
        5h  | mail.claim w 9                | 1#2 2#1
        5h  | lock.try l b 60s              | true
        5h  | store.tick                    | ok
        5h  | thumbs.stats                  | 64 64 0 0 18000s
        5h  | store.schedules               | s@18060s
        ",
    );
}

#[test]
fn small_steps_back_keep_ready_delayed_and_expired_apart() {
    Timetable::new().rows(
        "
        50s     | mail.enqueue a delay=1s     | 1
        50s     | mail.enqueue b expires=1s   | 2
        51s     | mail.stats                  | 2 1 0 0 51s
        50s     | mail.stats                  | 2 1 0 0 50s
        50999ms | mail.claim w 9              | 2#1
        51s     | mail.claim w 9              | 1#1
        50s     | mail.heartbeat 1#1 5s       | true
        20s     | mail.heartbeat 2#1 5s       | true
        25001ms | mail.claim w                | 2#2
        ",
    );
}

#[test]
fn a_small_step_back_takes_a_ready_time_back_that_had_come() {
    Timetable::new().rows(
        "
        0      | mail.enqueue a delay=10s   | 1
        10s    | mail.stats                 | 1 1 0 0 10s
        9999ms | mail.stats                 | 1 0 0 0 10s
        9999ms | mail.claim w               | -
        10s    | mail.claim w               | 1#1
        ",
    );
}

#[test]
fn a_small_step_back_takes_an_expiry_back_that_had_come() {
    Timetable::new().rows(
        "
        0      | mail.enqueue a expires=10s   | 1
        10s    | mail.stats                   | 1 0 0 0 -
        9999ms | mail.stats                   | 1 1 0 0 9999ms
        10s    | mail.claim w                 | -
        9999ms | mail.claim w                 | 1#1
        ",
    );
}

#[test]
fn a_leader_goes_on_leading_and_firing_through_a_correction() {
    World::run(async |world| {
        world.at(secs(18_000));
        world.schedule("report", "@every 10s", "mail");
        let (_stop, leader) = world.runner(&world.store, false);
        world.clock.advance(secs(25)).await;
        assert_eq!(world.pending("mail"), 2);
        world.at(secs(25)); // corrected by five hours
        world.clock.advance(secs(25)).await;
        // Silent for no longer than it would have been, give or take the ten seconds.
        assert!((4..=5).contains(&world.pending("mail")), "{}", world.pending("mail"));
        assert!(!leader.is_done());
        leader.vanish();
        let (_stop, standby) = world.runner(&world.another(), true);
        world.clock.advance(secs(13)).await;
        let (_stop, third) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(third.is_done() && !standby.is_done(), "the standby leads");
    });
}

#[test]
fn a_job_to_be_retried_in_ten_seconds_is_waited_for_ten_seconds_whenever_the_clock_is_corrected() {
    for corrected_after in [0, 1, 3000, 9999] {
        World::run(async |world| {
            world.at(secs(18_000));
            world.enqueue("mail", "x");
            let mail = world.queue("mail");
            let claim = mail.claim_one("w").await.unwrap().unwrap().job.claim();
            assert!(mail.retry(claim, None, Some(secs(10))).await.unwrap());
            let wait = world.executor.spawn(async move { mail.wait(&StopToken::new()).await });
            world.clock.advance(ms(corrected_after)).await;
            world.at(ms(corrected_after));
            world.clock.advance(ms(9999 - corrected_after)).await;
            assert!(!wait.is_done(), "never early");
            world.clock.advance(ms(10_001)).await;
            assert!(matches!(wait.take(), Some(Ok(true))), "at most ten seconds late");
        });
    }
}
