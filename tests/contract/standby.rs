//! Runners that wait to lead.

use alkstore::core::Error;

use crate::support::{START, World, ms, now, secs};

fn fired(world: &World) -> Vec<i64> {
    let jobs = now(world.queue("mail").list(None, 0, usize::MAX)).unwrap();
    jobs.iter().map(|(job, _)| job.created_at.as_millis() - START).collect()
}

#[test]
fn a_standby_waits_and_fires_nothing_while_another_leads() {
    World::run(async |world| {
        world.schedule("report", "@every 1s", "mail");
        let (_a, leader) = world.runner(&world.store, false);
        let (_b, standby) = world.runner(&world.another(), true);
        world.clock.advance(secs(30)).await;
        assert_eq!(fired(&world), (1..=30).map(|n| n * 1000).collect::<Vec<_>>());
        assert!(!leader.is_done() && !standby.is_done());
    });
}

#[test]
fn a_standby_leads_from_the_start_if_nobody_does() {
    World::run(async |world| {
        world.schedule("report", "@every 1s", "mail");
        let (_stop, _run) = world.runner(&world.store, true);
        world.clock.advance(secs(2)).await;
        assert_eq!(fired(&world), [1000, 2000]);
    });
}

#[test]
fn a_standby_leads_at_once_after_a_release() {
    World::run(async |world| {
        world.schedule("report", "@every 1s", "mail");
        let (stop, _leader) = world.runner(&world.store, false);
        let (_b, standby) = world.runner(&world.another(), true);
        world.clock.advance(ms(2500)).await;
        stop.set();
        world.clock.settle().await;
        let (_c, third) = world.runner(&world.store, false);
        world.clock.settle().await;
        assert!(matches!(third.take(), Some(Err(Error::LeadershipLost))));
        world.clock.advance(ms(1500)).await;
        assert_eq!(fired(&world), [1000, 2000, 3000, 4000], "no boundary late, none twice");
        assert!(!standby.is_done());
    });
}

#[test]
fn a_standby_leads_within_two_seconds_of_a_vanished_leaders_lease_ending() {
    for vanishes_at in [0, 1, 1999, 2000, 2001, 3700] {
        for standby_from in [0, 400, 1999] {
            World::run(async |world| {
                world.schedule("report", "@every 1s", "mail");
                let (_a, leader) = world.runner(&world.store, false);
                world.clock.advance(ms(standby_from)).await;
                let (_b, _standby) = world.runner(&world.another(), true);
                world.clock.advance(ms(vanishes_at)).await;
                leader.vanish();
                let before = fired(&world).len();
                world.clock.advance(secs(20)).await;
                let fired = fired(&world);
                // With a boundary every second the leader renewed at each: the last one before it went.
                let renewed = (standby_from + vanishes_at) / 1000 * 1000;
                let led = fired[before];
                assert!((renewed + 10_000..=renewed + 12_000).contains(&led), "vanished {vanishes_at}: led at {led}");
                let end = standby_from + vanishes_at + 20_000;
                assert_eq!(fired.len() as i64, end / 1000, "each boundary once, the missed ones too");
            });
        }
    }
}

#[test]
fn a_leader_with_standby_waits_when_its_lease_was_taken() {
    World::run(async |world| {
        let (_a, slept) = world.runner(&world.store, true);
        world.clock.settle().await;
        world.at(secs(60));
        let (stop, other) = world.runner(&world.another(), false);
        world.clock.advance(secs(4)).await;
        assert!(!slept.is_done() && !other.is_done());
        stop.set();
        world.clock.settle().await;
        let (_c, third) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(matches!(third.take(), Some(Err(Error::LeadershipLost))), "the first leads again");
        assert!(!slept.is_done());
    });
}

#[test]
fn a_stopped_standby_resolves_at_once_and_releases_nothing() {
    World::run(async |world| {
        let (_a, leader) = world.runner(&world.store, false);
        let (stop, standby) = world.runner(&world.another(), true);
        world.clock.advance(ms(700)).await;
        stop.set();
        world.clock.settle().await;
        assert!(matches!(standby.take(), Some(Ok(()))));
        let (_c, third) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(matches!(third.take(), Some(Err(Error::LeadershipLost))));
        assert!(!leader.is_done());
    });
}

#[test]
fn of_several_standbys_one_leads() {
    World::run(async |world| {
        world.schedule("report", "@every 1s", "mail");
        let mut runners = Vec::new();
        for _ in 0..5 {
            runners.push(world.runner(&world.another(), true));
        }
        for (stop, _) in &runners {
            world.clock.advance(ms(2500)).await;
            stop.set();
            world.clock.settle().await;
        }
        assert!(runners.iter().all(|(_, run)| matches!(run.take(), Some(Ok(())))));
        assert_eq!(fired(&world), (1..=12).map(|n| n * 1000).collect::<Vec<_>>());
    });
}
