//! Waiting for a queue: at once, at the next deadline, at a wake; and never by polling.

use std::cell::Cell;
use std::rc::Rc;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::{Claim, Duration, Error, Timestamp};
use alkstore::runtime::{StopToken, Store as _};

use crate::support::{START, Task, World, after_a_turn, ms, now, plain, secs, turn};

impl World {
    fn waiting(&self, queue: &str) -> (StopToken, Task<Result<bool, Error>>) {
        let (mail, stop) = (self.queue(queue), StopToken::new());
        let token = stop.clone();
        (stop, self.executor.spawn(async move { mail.wait(&token).await }))
    }

    fn delayed(&self, queue: &str, delay: Duration) -> u64 {
        let options = EnqueueOptions { delay: Some(delay), ..plain() };
        now(self.queue(queue).enqueue("x".into(), &options)).unwrap()
    }

    fn claim(&self, queue: &str) -> Claim {
        now(self.queue(queue).claim_one("w")).unwrap().expect("a job").job.claim()
    }
}

#[test]
fn a_claimable_job_ends_a_wait_at_once() {
    let world = World::new();
    world.enqueue("mail", "x");
    assert!(matches!(after_a_turn(world.queue("mail").wait(&StopToken::new())), Some(Ok(true))));
    world.delayed("late", secs(-1));
    assert!(matches!(after_a_turn(world.queue("late").wait(&StopToken::new())), Some(Ok(true))));
}

#[test]
fn a_job_that_only_has_to_die_ends_a_wait_too() {
    let world = World::new();
    let exhausted = EnqueueOptions { max_attempts: Some(0), ..plain() };
    now(world.queue("mail").enqueue("x".into(), &exhausted)).unwrap();
    assert!(matches!(after_a_turn(world.queue("mail").wait(&StopToken::new())), Some(Ok(true))));
}

#[test]
fn workers_that_always_have_something_to_do_let_others_have_their_turn() {
    const DELIVERIES_MAX: usize = 1000;
    World::run(async |world| {
        world.enqueue("mail", "x");
        let (mail, stop, delivered) = (world.queue("mail"), StopToken::new(), Rc::new(Cell::new(0)));
        let (token, count) = (stop.clone(), Rc::clone(&delivered));
        let worker = world.executor.spawn(async move {
            while mail.wait(&token).await.unwrap() {
                let deliver = async |_| {
                    count.set(count.get() + 1);
                    if count.get() < DELIVERIES_MAX {
                        mail.enqueue("another".into(), &plain()).await.unwrap();
                    }
                    Ok(())
                };
                mail.run_once("w", deliver).await.unwrap();
            }
        });
        turn().await;
        stop.set();
        worker.outcome().await;
        assert!((1..DELIVERIES_MAX).contains(&delivered.get()), "{} before the stop", delivered.get());
    });
}

#[test]
fn a_stop_or_a_close_in_the_turn_of_others_ends_a_wait_with_false() {
    let ends: [fn(&World, &StopToken); 2] = [|_, stop| stop.set(), |world, _| now(world.store.close())];
    for end in ends {
        World::run(async |world| {
            world.enqueue("mail", "x");
            let (stop, wait) = world.waiting("mail");
            assert!(!wait.is_done());
            end(&world, &stop);
            assert!(matches!(wait.outcome().await, Ok(false)));
        });
    }
}

#[test]
fn a_wait_ends_at_the_next_deadline_and_not_before() {
    for delay in [1, 999, 59_999, 60_000, 60_001, 3_600_000, 86_400_000] {
        World::run(async |world| {
            world.delayed("mail", ms(delay));
            let (_stop, wait) = world.waiting("mail");
            world.clock.advance(ms(delay - 1)).await;
            assert!(!wait.is_done(), "{delay} ms");
            world.clock.advance(ms(1)).await;
            assert!(matches!(wait.take(), Some(Ok(true))), "{delay} ms");
        });
    }
}

#[test]
fn a_wait_ends_just_after_a_lease() {
    World::run(async |world| {
        world.enqueue("mail", "x");
        world.claim("mail");
        let (_stop, wait) = world.waiting("mail");
        world.clock.advance(secs(300)).await;
        assert!(!wait.is_done());
        world.clock.advance(ms(1)).await;
        assert!(matches!(wait.take(), Some(Ok(true))));
        assert_eq!(now(world.queue("mail").claim_one("w2")).unwrap().unwrap().job.attempts, 2);
    });
}

#[test]
fn everything_that_makes_a_job_claimable_wakes() {
    type Change = fn(&World, Claim);
    let changes: [(&str, Change); 8] = [
        ("an enqueue", |world, _| {
            world.enqueue("mail", "y");
        }),
        ("an enqueue by another store", |world, _| {
            let mail = world.another().queue("mail", QueueOptions::default()).unwrap();
            now(mail.enqueue("y".into(), &plain())).unwrap();
        }),
        ("a retry", |world, claim| assert!(now(world.queue("mail").retry(claim, None, Some(ms(0)))).unwrap())),
        ("a shorter lease", |world, claim| assert!(now(world.queue("mail").heartbeat(claim, ms(-1))).unwrap())),
        ("a redrive", |world, claim| {
            now(world.queue("mail").fail(claim, None)).unwrap();
            now(world.queue("mail").redrive(None)).unwrap();
        }),
        ("a commit", |world, _| {
            let tx = world.store.transaction().unwrap();
            now(tx.enqueue("mail", "y".into(), &plain())).unwrap();
            now(tx.commit()).unwrap();
        }),
        ("a schedule", |world, _| {
            world.schedule("s", "@every 1s", "mail");
            world.at(secs(1));
            let stop = StopToken::new();
            let (store, token) = (world.store.clone(), stop.clone());
            drop(world.executor.spawn(async move { store.run_schedules(&token, false).await }));
        }),
        ("no delay", |world, _| {
            world.delayed("mail", ms(0));
        }),
    ];
    for (what, change) in changes {
        World::run(async |world| {
            world.enqueue("mail", "x");
            let claim = world.claim("mail");
            let (_stop, wait) = world.waiting("mail");
            world.clock.settle().await;
            assert!(!wait.is_done(), "{what}");
            change(&world, claim);
            world.clock.settle().await;
            assert!(matches!(wait.take(), Some(Ok(true))), "{what}");
        });
    }
}

#[test]
fn an_earlier_deadline_shortens_a_wait() {
    World::run(async |world| {
        world.delayed("mail", secs(50));
        let (_stop, wait) = world.waiting("mail");
        world.clock.advance(secs(1)).await;
        world.delayed("mail", secs(5));
        world.clock.advance(ms(4999)).await;
        assert!(!wait.is_done());
        world.clock.advance(ms(1)).await;
        assert!(matches!(wait.take(), Some(Ok(true))));
    });
}

#[test]
fn what_cannot_be_claimed_ends_no_wait() {
    World::run(async |world| {
        let (_stop, wait) = world.waiting("mail");
        world.enqueue("thumbs", "x");
        let gone = EnqueueOptions { expires: Some(ms(0)), ..plain() };
        now(world.queue("mail").enqueue("x".into(), &gone)).unwrap();
        let delayed = world.delayed("mail", secs(9));
        now(world.queue("mail").cancel(delayed)).unwrap();
        world.clock.advance(secs(3600)).await;
        assert!(!wait.is_done());
    });
}

#[test]
fn stop_and_close_end_a_wait_with_false() {
    World::run(async |world| {
        let (stop, stopped) = world.waiting("mail");
        let (_other, closed) = world.waiting("mail");
        world.clock.settle().await;
        stop.set();
        world.clock.settle().await;
        assert!(matches!(stopped.take(), Some(Ok(false))));
        assert!(!closed.is_done());
        world.store.close().await;
        world.clock.settle().await;
        assert!(matches!(closed.take(), Some(Ok(false))));
        assert_eq!(world.clock.pending(), 0, "no timer stays behind");
        assert_eq!(world.storage.wakes().listening(), 0, "no listener stays behind");
        assert_eq!(stop.waiting(), 0);
    });
}

#[test]
fn a_wait_that_is_stopped_already_is_false_even_with_a_job() {
    let world = World::new();
    world.enqueue("mail", "x");
    let mail = world.queue("mail");
    let stop = StopToken::new();
    stop.set();
    assert!(!now(mail.wait(&stop)).unwrap());
    now(world.store.close());
    assert!(matches!(now(mail.wait(&stop)), Err(Error::Closed)));
}

#[test]
fn a_dropped_wait_leaves_nothing_behind() {
    World::run(async |world| {
        for _ in 0..1000 {
            let (_stop, wait) = world.waiting("mail");
            world.clock.settle().await;
            wait.vanish();
        }
        assert_eq!((world.clock.pending(), world.storage.wakes().listening()), (0, 0));
    });
}

#[test]
fn an_idle_wait_sleeps_on_one_timer_for_weeks() {
    World::run(async |world| {
        let (_stop, wait) = world.waiting("mail");
        world.clock.settle().await;
        for _ in 0..100 {
            world.clock.advance(Duration::from_secs(86_400)).await;
            assert_eq!(world.clock.pending(), 1);
        }
        world.enqueue("mail", "x");
        world.clock.settle().await;
        assert!(matches!(wait.take(), Some(Ok(true))));
    });
}

#[test]
fn a_clock_that_jumps_forward_ends_a_wait_within_a_minute() {
    World::run(async |world| {
        world.delayed("mail", secs(7200));
        let (_stop, wait) = world.waiting("mail");
        world.clock.settle().await;
        world.clock.set(Timestamp::from_millis(START).plus(secs(7200)));
        world.clock.advance(secs(60)).await;
        assert!(matches!(wait.take(), Some(Ok(true))));
    });
}

#[test]
fn every_waiting_worker_is_woken_and_one_gets_the_job() {
    World::run(async |world| {
        let workers: Vec<_> = ["a", "b", "c"]
            .map(|worker| {
                let mail = world.queue("mail");
                world.executor.spawn(async move {
                    assert!(mail.wait(&StopToken::new()).await.unwrap());
                    mail.claim_one(worker).await.unwrap().is_some()
                })
            })
            .into();
        world.clock.settle().await;
        world.enqueue("mail", "x");
        world.clock.settle().await;
        // A wake is a hint: who looks after the job is gone goes on waiting or claims nothing.
        let got: Vec<bool> = workers.iter().filter_map(Task::take).collect();
        assert_eq!(got.iter().filter(|got| **got).count(), 1, "{got:?}");
    });
}
