//! `run_once`: claim one, deliver it, settle it by how that went.

use std::cell::RefCell;

use alkstore::core::{ClaimedJob, Error, State};

use crate::support::{START, Text, Timetable, World, ms, now, plain, secs};

type Delivered = ClaimedJob<Text>;

#[test]
fn success_acks() {
    Timetable::new().rows(
        "
        0 | >orders.enqueue a     | 1
        0 | >orders.deliver w ok  | true
        0 | >orders.get 1         | -
        0 | >orders.deliver w ok  | false
        ",
    );
}

#[test]
fn without_a_job_nothing_is_delivered() {
    let world = World::new();
    let outbox = world.store.outbox("orders").unwrap();
    let never = async |_: Delivered| -> Result<(), String> { panic!("nothing to deliver") };
    assert!(!now(outbox.run_once("w", never)).unwrap());
}

#[test]
fn a_delivery_sees_its_job_as_claimed() {
    let world = World::new();
    world.at(secs(2));
    let outbox = world.store.outbox("orders").unwrap();
    now(outbox.enqueue("hello".into(), &plain())).unwrap();
    let seen = RefCell::new(None);
    let outcome = outbox.run_once("w1", async |claimed| {
        seen.replace(Some(claimed));
        Ok(())
    });
    assert!(now(outcome).unwrap());
    let Some(ClaimedJob { job, payload }) = seen.take() else { panic!("delivered") };
    assert_eq!((&*payload, &*job.queue, job.state), ("hello", "__alkstore_outbox:orders", State::Processing));
    assert_eq!((job.worker_id.as_deref(), job.attempts), (Some("w1"), 1));
    assert_eq!(job.claim_expires_at.unwrap().as_millis() - START, 62_000);
}

#[test]
fn failure_is_a_retry_whose_text_a_dead_letter_keeps() {
    let mut timetable = Timetable::new().rows("0 | >orders.enqueue a | 1");
    for (attempt, at) in ["0", "1h", "2h", "3h", "4h"].into_iter().enumerate() {
        timetable = timetable.rows(&format!("{at} | >orders.deliver w boom{attempt} | true"));
        let state = if attempt == 4 { "dead boom4" } else { "pending -" };
        timetable = timetable.rows(&format!("{at} | >orders.get 1 state last_error | {state}"));
    }
    timetable.rows("5h | >orders.deliver w ok | false");
}

#[test]
fn failure_waits_by_the_jobs_own_backoff() {
    let world = World::new();
    let outbox = world.store.outbox("orders").unwrap();
    now(outbox.enqueue("x".into(), &plain())).unwrap();
    now(outbox.run_once("w", async |_| Err("503".into()))).unwrap();
    let (job, _) = now(outbox.get(1)).unwrap().unwrap();
    assert!((2500..=5000).contains(&(job.run_at.as_millis() - START)), "{job:?}");
}

#[test]
fn a_delivery_that_outlasts_its_lease_settles_nothing() {
    for success in [true, false] {
        let world = World::new();
        let outbox = world.store.outbox("orders").unwrap();
        now(outbox.enqueue("x".into(), &plain())).unwrap();
        let outcome = outbox.run_once("w", async |_| {
            world.at(secs(61));
            let again = outbox.claim_one("w").await.unwrap().expect("lapsed");
            assert_eq!(again.job.attempts, 2);
            if success { Ok(()) } else { Err("late".into()) }
        });
        assert!(now(outcome).unwrap(), "there was a job; a lost race is no error");
        let (job, _) = now(outbox.get(1)).unwrap().unwrap();
        assert_eq!((job.state, job.attempts, &job.last_error), (State::Processing, 2, &None));
    }
}

#[test]
fn the_engine_sends_no_heartbeat_but_a_delivery_may() {
    for (extend, left) in [(None, 1), (Some(secs(120)), 0)] {
        let world = World::new();
        let outbox = world.store.outbox("orders").unwrap();
        now(outbox.enqueue("x".into(), &plain())).unwrap();
        let outcome = outbox.run_once("w", async |claimed: Delivered| {
            if let Some(extend) = extend {
                assert!(outbox.heartbeat(claimed.job.claim(), extend).await.unwrap());
            }
            world.at(ms(60_001));
            Ok(())
        });
        assert!(now(outcome).unwrap());
        // What lapsed meanwhile was not acked: it is there for the next.
        assert_eq!(now(outbox.claim_batch("w2", 9)).unwrap().len(), left);
    }
}

#[test]
fn a_delivery_may_call_anything_on_its_own_store() {
    World::run(async |world| {
        let outbox = world.store.outbox("orders").unwrap();
        for payload in ["outer", "inner"] {
            outbox.enqueue(payload.into(), &plain()).await.unwrap();
        }
        let delivery = async |claimed: Delivered| {
            assert_eq!(&*claimed.payload, "outer");
            assert!(outbox.run_once("w", async |_| Ok(())).await.unwrap(), "its own run_once");
            let tx = world.store.transaction().unwrap();
            tx.enqueue("audit", "x".into(), &plain()).await.unwrap();
            tx.commit().await.unwrap();
            world.store.schedule("s", "@every 1s", "mail", "x".into(), Default::default()).await.unwrap();
            let lock = world.store.try_lock("l", "o", secs(1)).await.unwrap().unwrap();
            assert!(lock.renew(secs(2)).await.unwrap() && lock.release().await.unwrap());
            assert_eq!(outbox.stats().await.unwrap().processing, 1);
            assert!(outbox.heartbeat(claimed.job.claim(), secs(5)).await.unwrap());
            Ok(())
        };
        assert!(outbox.run_once("w", delivery).await.unwrap());
        assert_eq!((outbox.stats().await.unwrap().processing, world.pending("audit")), (0, 1));
    });
}

#[test]
fn a_delivery_that_settles_its_job_itself_has_the_last_word() {
    let world = World::new();
    let outbox = world.store.outbox("orders").unwrap();
    now(outbox.enqueue("x".into(), &plain())).unwrap();
    let outcome = outbox.run_once("w", async |claimed: Delivered| {
        assert!(outbox.fail(claimed.job.claim(), Some("no use")).await.unwrap());
        Ok(())
    });
    assert!(now(outcome).unwrap());
    let (job, _) = now(outbox.get(1)).unwrap().unwrap();
    assert_eq!((job.state, job.last_error.as_deref()), (State::Dead, Some("no use")));
}

#[test]
fn a_store_closed_during_a_delivery_leaves_the_job_claimed() {
    for success in [true, false] {
        let world = World::new();
        let outbox = world.store.outbox("orders").unwrap();
        now(outbox.enqueue("x".into(), &plain())).unwrap();
        let outcome = outbox.run_once("w", async |_| {
            world.store.close().await;
            if success { Ok(()) } else { Err("boom".into()) }
        });
        assert!(matches!(now(outcome), Err(Error::Closed)));
        let again = world.another().outbox("orders").unwrap();
        assert!(now(again.claim_one("w")).unwrap().is_none());
        world.at(ms(60_001));
        assert!(now(again.claim_one("w")).unwrap().is_some());
    }
}
