//! Closing a store.

use alkstore::core::Error;
use alkstore::runtime::StopToken;

use crate::support::{World, ms, now, plain, secs, turn};

fn code<T>(outcome: Result<T, Error>) -> &'static str {
    outcome.map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn every_call_after_the_close_is_closed() {
    let world = World::new();
    let store = &world.store;
    let outbox = store.outbox("orders").unwrap();
    now(outbox.enqueue("x".into(), &plain())).unwrap();
    let claim = now(outbox.claim_one("w")).unwrap().unwrap().job.claim();
    let lock = now(store.try_lock("lock", "me", secs(60))).unwrap().unwrap();
    let tx = store.transaction().unwrap();
    let stop = StopToken::new();
    assert!(!store.is_closed());
    now(store.close());
    assert!(store.is_closed() && store.clone().is_closed());
    for (call, outcome) in [
        ("queue", code(store.queue("mail", Default::default()))),
        ("outbox", code(store.outbox("orders"))),
        ("transaction", code(store.transaction())),
        ("try_lock", code(now(store.try_lock("lock", "me", secs(1))))),
        ("schedule", code(now(store.schedule("s", "@every 1s", "mail", "x".into(), Default::default())))),
        ("unschedule", code(now(store.unschedule("s")))),
        ("schedules", code(now(store.schedules()))),
        ("run_schedules", code(now(store.run_schedules(&stop, false)))),
        ("run_schedules in standby", code(now(store.run_schedules(&stop, true)))),
        ("renew", code(now(lock.renew(secs(1))))),
        ("release", code(now(lock.release()))),
        ("enqueue", code(now(outbox.enqueue("x".into(), &plain())))),
        ("claim_one", code(now(outbox.claim_one("w")))),
        ("claim_batch", code(now(outbox.claim_batch("w", 2)))),
        ("claim_batch of none", code(now(outbox.claim_batch("w", 0)))),
        ("ack", code(now(outbox.ack(claim.clone())))),
        ("retry", code(now(outbox.retry(claim.clone(), None, None)))),
        ("fail", code(now(outbox.fail(claim.clone(), None)))),
        ("heartbeat", code(now(outbox.heartbeat(claim, secs(1))))),
        ("ack_batch", code(now(outbox.ack_batch(&[])))),
        ("cancel", code(now(outbox.cancel(1)))),
        ("get", code(now(outbox.get(1)))),
        ("list", code(now(outbox.list(None, 0, 9)))),
        ("stats", code(now(outbox.stats()))),
        ("redrive", code(now(outbox.redrive(None)))),
        ("purge", code(now(outbox.purge(Some(&[]))))),
        ("sweep", code(now(outbox.sweep_expired()))),
        ("wait", code(now(outbox.wait(&stop)))),
        ("run_once", code(now(outbox.run_once("w", async |_| Ok(()))))),
        ("tx.enqueue", code(now(tx.enqueue("mail", "x".into(), &plain())))),
        ("tx.outbox_enqueue", code(now(tx.outbox_enqueue("mail", "x".into(), &plain())))),
        ("tx.get", code(now(tx.get("mail", 1)))),
        ("tx.commit", code(now(tx.commit()))),
    ] {
        assert_eq!(outcome, "Closed", "{call}");
    }
}

#[test]
fn closing_ends_the_runners_and_waits_for_their_locks() {
    World::run(async |world| {
        let (_a, leader) = world.runner(&world.store, false);
        let (_b, standby) = world.runner(&world.store, true);
        world.clock.advance(secs(5)).await;
        world.store.close().await;
        assert!(matches!((leader.take(), standby.take()), (Some(Ok(())), Some(Ok(())))), "before the close resolves");
        let (_c, next) = world.runner(&world.another(), false);
        world.clock.settle().await;
        assert!(!next.is_done(), "the lock was given back");
        assert_eq!(world.clock.pending(), 1, "only the new runner sleeps");
    });
}

#[test]
fn closing_waits_for_calls_that_go_to_the_storage_itself() {
    World::run(async |world| {
        let call = world.store.begin_call().unwrap();
        let store = world.store.clone();
        let closing = world.executor.spawn(async move { store.close().await });
        turn().await;
        assert!(!closing.is_done());
        drop(call);
        closing.outcome().await;
        assert!(matches!(world.store.begin_call(), Err(Error::Closed)));
    });
}

#[test]
fn closing_again_is_nothing() {
    let world = World::new();
    now(world.store.close());
    now(world.store.close());
}

#[test]
fn closing_does_not_wait_for_a_runner_that_is_gone() {
    World::run(async |world| {
        let (_stop, vanished) = world.runner(&world.store, false);
        world.clock.settle().await;
        vanished.vanish();
        world.store.close().await;
    });
}

#[test]
fn locks_and_claims_outlive_the_store_that_took_them() {
    let world = World::new();
    now(world.store.try_lock("lock", "me", secs(10))).unwrap().unwrap();
    world.enqueue("mail", "x");
    now(world.queue("mail").claim_one("w")).unwrap().unwrap();
    now(world.store.close());
    let other = world.another();
    let mail = other.queue("mail", Default::default()).unwrap();
    for (at, lock, job) in [(ms(9999), false, false), (secs(10), true, false), (ms(300_001), true, true)] {
        world.at(at);
        assert_eq!(now(other.try_lock("lock", "you", ms(1))).unwrap().is_some(), lock, "{at:?}");
        assert_eq!(now(mail.claim_one("w2")).unwrap().is_some(), job, "{at:?}");
    }
}

#[test]
fn another_store_on_the_storage_goes_on() {
    let world = World::new();
    let other = world.another();
    now(world.store.close());
    assert!(!other.is_closed());
    let mail = other.queue("mail", Default::default()).unwrap();
    assert_eq!(now(mail.enqueue("x".into(), &plain())).unwrap(), 1);
}
