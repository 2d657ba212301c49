//! The schedule runner that leads.

use alkstore::core::{Error, Timestamp};
use alkstore::runtime::StopToken;

use crate::support::{START, World, ms, now, plain, secs};

/// When the jobs of a queue were enqueued, in milliseconds since the start.
fn fired(world: &World, queue: &str) -> Vec<i64> {
    let jobs = now(world.queue(queue).list(None, 0, usize::MAX)).unwrap();
    jobs.iter().map(|(job, _)| job.created_at.as_millis() - START).collect()
}

#[test]
fn a_leader_fires_each_boundary_at_its_time() {
    World::run(async |world| {
        world.schedule("report", "@every 5s", "mail");
        let (stop, run) = world.runner(&world.store, false);
        world.clock.advance(secs(60)).await;
        assert_eq!(fired(&world, "mail"), (1..=12).map(|n| n * 5000).collect::<Vec<_>>());
        assert!(!run.is_done());
        stop.set();
        world.clock.settle().await;
        assert!(matches!(run.take(), Some(Ok(()))));
    });
}

#[test]
fn a_runner_makes_up_at_once_for_what_was_missed_before_it_came() {
    World::run(async |world| {
        world.schedule("report", "@every 1m", "mail");
        world.clock.advance(secs(190)).await;
        assert_eq!(world.pending("mail"), 0, "nobody runs schedules");
        let (_stop, _run) = world.runner(&world.store, false);
        world.clock.settle().await;
        assert_eq!(fired(&world, "mail"), [190_000; 3]);
        world.clock.advance(secs(50)).await;
        assert_eq!(fired(&world, "mail"), [190_000, 190_000, 190_000, 240_000], "on the same grid");
    });
}

#[test]
fn a_second_runner_is_told_that_another_leads() {
    World::run(async |world| {
        world.schedule("report", "@every 1s", "mail");
        let (_stop, first) = world.runner(&world.store, false);
        world.clock.advance(ms(1500)).await;
        // The same seed, the same store or another: runners are told apart all the same.
        for store in [&world.store, &world.another()] {
            let (_stop, second) = world.runner(store, false);
            world.clock.settle().await;
            assert!(matches!(second.take(), Some(Err(Error::LeadershipLost))));
        }
        world.clock.advance(secs(3)).await;
        assert_eq!(fired(&world, "mail"), [1000, 2000, 3000, 4000]);
        assert!(!first.is_done());
    });
}

#[test]
fn renewals_every_two_seconds_keep_the_lease() {
    World::run(async |world| {
        let (_stop, first) = world.runner(&world.store, false);
        for _ in 0..60 {
            world.clock.advance(ms(999)).await;
            let (_stop, second) = world.runner(&world.another(), false);
            world.clock.settle().await;
            assert!(matches!(second.take(), Some(Err(Error::LeadershipLost))));
        }
        assert!(!first.is_done());
    });
}

#[test]
fn a_vanished_leaders_lease_ends_ten_seconds_after_its_last_renewal() {
    World::run(async |world| {
        let (_stop, first) = world.runner(&world.store, false);
        world.clock.advance(secs(3)).await; // renewed at 2 s
        first.vanish();
        world.clock.advance(ms(8999)).await;
        let (_stop, early) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(matches!(early.take(), Some(Err(Error::LeadershipLost))), "at 11.999 s");
        world.clock.advance(ms(1)).await;
        let (_stop, next) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(!next.is_done(), "leads at 12 s");
    });
}

#[test]
fn after_a_sleep_a_lease_that_is_free_is_taken_again() {
    World::run(async |world| {
        world.schedule("report", "@every 1m", "mail");
        let (_stop, run) = world.runner(&world.store, false);
        world.clock.settle().await;
        world.at(secs(600)); // the laptop slept: no timer ran meanwhile
        world.clock.advance(secs(2)).await;
        assert!(!run.is_done());
        assert_eq!(fired(&world, "mail"), [602_000; 10]);
        let (_stop, second) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(matches!(second.take(), Some(Err(Error::LeadershipLost))));
    });
}

#[test]
fn after_a_sleep_a_lease_that_another_has_is_lost_before_any_tick() {
    World::run(async |world| {
        world.schedule("report", "@every 1m", "mail");
        let (_stop, slept) = world.runner(&world.store, false);
        world.clock.settle().await;
        world.at(secs(595));
        let (_stop, other) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert_eq!(fired(&world, "mail"), [595_000; 9]);
        world.at(secs(600)); // due again, and the sleeper wakes first
        world.clock.advance(secs(2)).await;
        assert!(matches!(slept.take(), Some(Err(Error::LeadershipLost))));
        assert!(!other.is_done());
        assert_eq!(fired(&world, "mail")[9..], [602_000], "by the other, once");
    });
}

#[test]
fn stop_resolves_at_once_and_gives_the_lock_back() {
    World::run(async |world| {
        world.schedule("report", "@every 1h", "mail");
        let (stop, run) = world.runner(&world.store, false);
        world.clock.advance(ms(500)).await;
        stop.set();
        world.clock.settle().await;
        assert!(matches!(run.take(), Some(Ok(()))));
        assert_eq!(world.clock.pending(), 0, "no timer stays behind");
        assert_eq!(stop.waiting(), 0, "no listener stays behind");
        let (_stop, next) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(!next.is_done(), "leads");
    });
}

#[test]
fn a_runner_that_is_stopped_already_never_leads() {
    let world = World::new();
    world.schedule("report", "@every 1s", "mail");
    world.at(secs(9));
    let stop = StopToken::new();
    stop.set();
    now(world.store.run_schedules(&stop, false)).unwrap();
    assert_eq!(world.pending("mail"), 0);
    // Nor does it mind who does.
    World::run(async |world| {
        let (_stop, _leader) = world.runner(&world.store, false);
        world.clock.settle().await;
        for standby in [false, true] {
            world.another().run_schedules(&stop, standby).await.unwrap();
        }
    });
}

#[test]
fn one_token_stops_several_runners() {
    World::run(async |world| {
        let (stop, leader) = world.runner(&world.store, false);
        let (store, token) = (world.another(), stop.clone());
        let standby = world.executor.spawn(async move { store.run_schedules(&token, true).await });
        world.clock.advance(secs(5)).await;
        stop.set();
        world.clock.settle().await;
        assert!(matches!((leader.take(), standby.take()), (Some(Ok(())), Some(Ok(())))));
    });
}

#[test]
fn a_changed_schedule_wakes_the_runner_at_once() {
    World::run(async |world| {
        let (_stop, _run) = world.runner(&world.store, false);
        world.clock.advance(ms(2300)).await; // it sleeps until its renewal at 4 s
        world.schedule("report", "@every 1s", "mail");
        world.clock.settle().await;
        world.clock.advance(ms(2000)).await;
        assert_eq!(fired(&world, "mail"), [3300, 4300]);
        now(world.another().schedule("report", "@every 2s", "mail", "x".into(), Default::default())).unwrap();
        world.clock.settle().await;
        world.clock.advance(ms(2000)).await;
        assert_eq!(fired(&world, "mail")[2..], [6300]);
        now(world.store.unschedule("report")).unwrap();
        world.clock.advance(secs(60)).await;
        assert_eq!(world.pending("mail"), 3);
    });
}

#[test]
fn a_schedule_that_is_long_overdue_fires_as_soon_as_it_is_seen() {
    World::run(async |world| {
        world.schedule("old", "@every 1s", "mail");
        world.at(secs(500));
        let (_stop, _run) = world.runner(&world.store, false);
        world.clock.settle().await;
        assert_eq!(world.pending("mail"), 64);
        world.clock.advance(secs(1)).await;
        assert_eq!(world.pending("mail"), 65);
    });
}

#[test]
fn a_runner_sleeps_on_one_timer() {
    World::run(async |world| {
        assert_eq!(world.clock.pending(), 0, "an open store holds no timer");
        for name in ["a", "b", "c"] {
            world.schedule(name, "@every 1h", "mail");
        }
        let (_stop, _run) = world.runner(&world.store, false);
        for _ in 0..10 {
            world.clock.advance(ms(1700)).await;
            assert_eq!(world.clock.pending(), 1);
        }
    });
}

#[test]
fn a_fired_job_is_handed_to_a_worker_that_waits() {
    World::run(async |world| {
        world.schedule("report", "@every 3s", "mail");
        let (_stop, _run) = world.runner(&world.store, false);
        let mail = world.queue("mail");
        let worker = world.executor.spawn(async move {
            assert!(mail.wait(&StopToken::new()).await.unwrap());
            mail.claim_one("w").await.unwrap().unwrap().job.claimed_at
        });
        world.clock.advance(secs(3)).await;
        assert_eq!(worker.take().unwrap(), Some(Timestamp::from_millis(START + 3000)));
    });
}

#[test]
fn other_work_goes_on_beside_a_runner() {
    World::run(async |world| {
        world.schedule("report", "@every 1s", "mail");
        let (_stop, _run) = world.runner(&world.store, false);
        for n in 0..20 {
            world.clock.advance(ms(250)).await;
            world.queue("other").enqueue("x".into(), &plain()).await.unwrap();
            assert_eq!(world.pending("other"), n + 1);
        }
        assert_eq!(world.pending("mail"), 5);
    });
}
