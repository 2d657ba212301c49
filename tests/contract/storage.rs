//! A storage that fails, and a clock that cannot tell: nothing happened, and the store goes on.

use std::cell::Cell;
use std::rc::Rc;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::queue::inspect::Stats;
use alkstore::core::{Duration, Error, Name, Script, StoreError, Timestamp};
use alkstore::runtime::{Clock, Engine, Host, ManualClock, MemoryStore, Queue, StopToken, Store, Timer, Wakes};

use crate::support::{Executor, Text, ms, now, plain, secs, turn};

/// Memory that fails when told to, answers a turn late, and counts its transactions.
#[derive(Clone, Default)]
struct Flaky {
    memory: MemoryStore<Text>,
    broken: Rc<Cell<bool>>,
    fails_once: Rc<Cell<bool>>,
    slow: Rc<Cell<bool>>,
    count: Rc<Cell<usize>>,
}

impl Store for Flaky {
    type Payload = Text;

    async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<Text>]) -> Result<(), Error> {
        self.count.set(self.count.get() + 1);
        if self.slow.get() {
            turn().await;
        }
        if self.broken.get() || self.fails_once.take() {
            return Err(Error::Storage(StoreError { message: "the disk is full".into(), cause: None }));
        }
        self.memory.transact(clock, scripts).await
    }

    fn wakes(&self) -> &Wakes {
        self.memory.wakes()
    }
}

struct Setting {
    storage: Flaky,
    clock: ManualClock,
    store: Engine<Flaky, ManualClock>,
    mail: Queue<Flaky, ManualClock>,
    executor: Executor,
}

fn setting() -> Setting {
    let (storage, clock) = (Flaky::default(), ManualClock::default());
    let store = Engine::new(storage.clone(), clock.clone(), None);
    let mail = store.queue("mail", QueueOptions::default()).unwrap();
    Setting { storage, clock, store, mail, executor: Executor::default() }
}

#[test]
fn a_failed_operation_did_not_happen_and_the_store_goes_on() {
    let Setting { storage, store, mail, .. } = setting();
    now(mail.enqueue("x".into(), &plain())).unwrap();
    let claim = now(mail.claim_one("w")).unwrap().unwrap().job.claim();
    storage.broken.set(true);
    let stop = StopToken::new();
    for (call, error) in [
        ("enqueue", now(mail.enqueue("y".into(), &plain())).err()),
        ("claim", now(mail.claim_batch("w", 3)).err()),
        ("ack", now(mail.ack(claim.clone())).err()),
        ("get", now(mail.get(1)).err()),
        ("stats", now(mail.stats()).err()),
        ("wait", now(mail.wait(&stop)).err()),
        ("run_once", now(mail.run_once("w", async |_| Ok(()))).err()),
        ("try_lock", now(store.try_lock("l", "o", secs(1))).err()),
        ("schedule", now(store.schedule("s", "@every 1s", "mail", "x".into(), Default::default())).err()),
    ] {
        let error = error.expect(call);
        assert!(matches!(&error, Error::Storage(_)), "{call}: an outage is never an empty answer");
        assert_eq!((error.code(), error.to_string().as_str()), ("Storage", "the disk is full"), "{call}");
    }
    storage.broken.set(false);
    assert!(now(mail.ack(claim)).unwrap());
    assert_eq!(now(mail.enqueue("z".into(), &plain())).unwrap(), 2, "no id was taken");
    assert_eq!(now(mail.list(None, 0, 9)).unwrap().len(), 1);
    assert!(now(store.schedules()).unwrap().is_empty());
}

#[test]
fn a_transaction_whose_commit_fails_stored_nothing() {
    let Setting { storage, store, mail, .. } = setting();
    let tx = store.transaction().unwrap();
    now(tx.enqueue("mail", "x".into(), &plain())).unwrap();
    storage.broken.set(true);
    assert!(matches!(now(tx.commit()), Err(Error::Storage(_))));
    storage.broken.set(false);
    assert!(now(mail.list(None, 0, 9)).unwrap().is_empty());
    assert!(matches!(now(tx.commit()), Err(Error::Closed)));
}

#[test]
fn a_delivery_that_cannot_be_settled_says_so_and_the_job_lapses() {
    let Setting { storage, clock, mail, executor, .. } = setting();
    now(mail.enqueue("x".into(), &plain())).unwrap();
    let outcome = now(mail.run_once("w", async |_| {
        storage.broken.set(true);
        Ok(())
    }));
    assert!(matches!(outcome, Err(Error::Storage(_))));
    storage.broken.set(false);
    executor.run_until(clock.advance(ms(300_001)));
    assert_eq!(now(mail.claim_one("w")).unwrap().unwrap().job.attempts, 2);
}

#[test]
fn a_runner_on_a_failing_storage_ends_with_storage_never_with_leadership_lost() {
    for standby in [false, true] {
        let Setting { storage, clock, store, executor, .. } = setting();
        let engine = store.clone();
        let run = executor.spawn(async move { engine.run_schedules(&StopToken::new(), standby).await });
        executor.run_until(clock.advance(secs(1)));
        assert!(!run.is_done());
        storage.broken.set(true);
        executor.run_until(clock.advance(secs(1)));
        assert!(matches!(run.take(), Some(Err(Error::Storage(_)))), "at the next renewal");
        executor.run_until(store.close());
    }
}

#[test]
fn closing_waits_until_a_slow_storage_has_the_lock_back() {
    let Setting { storage, clock, store, executor, .. } = setting();
    storage.slow.set(true);
    let engine = store.clone();
    let run = executor.spawn(async move { engine.run_schedules(&StopToken::new(), false).await });
    executor.run_until(clock.settle());
    executor.run_until(store.close());
    assert!(matches!(run.take(), Some(Ok(()))));
    let second = Engine::new(storage, clock.clone(), None);
    let next = executor.spawn(async move { second.run_schedules(&StopToken::new(), false).await });
    executor.run_until(clock.settle());
    assert!(!next.is_done(), "leads at once");
}

#[test]
fn a_stop_during_a_slow_first_turn_still_gives_the_lock_back() {
    let Setting { storage, clock, store, executor, .. } = setting();
    storage.slow.set(true);
    let stop = StopToken::new();
    let (engine, token) = (store.clone(), stop.clone());
    let run = executor.spawn(async move { engine.run_schedules(&token, false).await });
    executor.run_until(turn());
    stop.set();
    executor.run_until(clock.settle());
    assert!(matches!(run.take(), Some(Ok(()))));
    let next = executor.spawn(async move { store.run_schedules(&StopToken::new(), false).await });
    executor.run_until(clock.settle());
    assert!(!next.is_done(), "leads at once");
}

#[test]
fn an_idle_wait_asks_a_storage_that_nobody_shares_once() {
    let Setting { storage, clock, mail, executor, .. } = setting();
    let wait = executor.spawn(async move { mail.wait(&StopToken::new()).await });
    executor.run_until(clock.advance(Duration::from_secs(20 * 86_400)));
    assert!(!wait.is_done());
    assert_eq!(storage.count.get(), 1);
}

#[test]
fn a_wait_for_an_instant_asks_at_most_once_a_minute() {
    let Setting { storage, clock, mail, executor, .. } = setting();
    let options = EnqueueOptions { delay: Some(secs(3600)), ..plain() };
    now(mail.enqueue("x".into(), &options)).unwrap();
    let wait = executor.spawn(async move { mail.wait(&StopToken::new()).await });
    executor.run_until(clock.advance(secs(3600)));
    assert!(wait.is_done());
    assert!(storage.count.get() <= 62, "{}", storage.count.get());
}

#[test]
fn a_leader_asks_the_storage_at_renewals_and_boundaries_only() {
    let Setting { storage, clock, store, executor, .. } = setting();
    now(store.schedule("s", "@every 1m", "mail", "x".into(), Default::default())).unwrap();
    let before = storage.count.get();
    executor.spawn(async move { store.run_schedules(&StopToken::new(), false).await });
    executor.run_until(clock.advance(secs(60)));
    assert_eq!(storage.count.get() - before, 31, "at the start, and each two seconds");
}

#[test]
fn every_change_to_the_schedules_makes_the_leader_look_again() {
    let Setting { storage, clock, store, executor, .. } = setting();
    let leading = store.clone();
    executor.spawn(async move { leading.run_schedules(&StopToken::new(), false).await });
    executor.run_until(clock.settle());
    let before = storage.count.get();
    now(store.schedule("s", "@every 1h", "mail", "x".into(), Default::default())).unwrap();
    executor.run_until(clock.settle());
    assert_eq!(storage.count.get() - before, 2);
    assert!(now(store.unschedule("s")).unwrap());
    executor.run_until(clock.settle());
    assert_eq!(storage.count.get() - before, 4);
}

#[test]
fn what_changes_nothing_for_others_wakes_nobody() {
    let Setting { storage, clock, store, mail, executor } = setting();
    now(mail.enqueue("x".into(), &plain())).unwrap();
    let claim = now(mail.claim_one("w")).unwrap().unwrap().job.claim();
    let lock = now(store.try_lock("report", "me", secs(60))).unwrap().unwrap();
    let (waiting, leading) = (mail.clone(), store.clone());
    executor.spawn(async move { waiting.wait(&StopToken::new()).await });
    executor.spawn(async move { leading.run_schedules(&StopToken::new(), false).await });
    executor.run_until(clock.settle());
    let before = storage.count.get();
    assert_eq!(now(mail.redrive(None)).unwrap(), 0);
    assert!(!now(mail.cancel(99)).unwrap());
    assert!(!now(store.unschedule("nothing")).unwrap());
    assert!(now(lock.renew(secs(60))).unwrap());
    assert!(now(lock.release()).unwrap());
    assert!(!now(lock.release()).unwrap());
    assert!(now(mail.fail(claim, None)).unwrap());
    assert_eq!(now(mail.purge(None)).unwrap(), 1);
    executor.run_until(clock.settle());
    assert_eq!(storage.count.get() - before, 8, "these calls, and neither the worker nor the leader");
}

#[test]
fn work_during_a_slow_commit_each_gets_its_own_answer() {
    let Setting { storage, clock, mail, executor, .. } = setting();
    storage.slow.set(true);
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let mail = mail.clone();
            executor.spawn(async move {
                let id = mail.enqueue(n.to_string().into(), &plain()).await.unwrap();
                (n, mail.get(id).await.unwrap().unwrap().1)
            })
        })
        .collect();
    executor.run_until(clock.settle());
    for task in tasks {
        let (n, payload) = task.take().expect("settled");
        assert_eq!(*payload, *n.to_string());
    }
}

#[test]
fn an_operation_is_done_before_it_returns_only_where_the_storage_never_waits() {
    let name = Name::shared("queue", "mail").unwrap();
    let store = Engine::new(MemoryStore::<Text>::new(), ManualClock::default(), None);
    now(store.queue("mail", Default::default()).unwrap().enqueue("x".into(), &plain())).unwrap();
    let mut stats = Stats::new(name.clone());
    assert!(matches!(store.run_now(&mut stats), Some(Ok(()))));
    assert_eq!(stats.tally.ready, 1);
    now(store.close());
    assert!(matches!(store.run_now(&mut Stats::new(name.clone())), Some(Err(Error::Closed))));
    let Setting { storage, store, .. } = setting();
    assert!(store.run_now(&mut Stats::new(name)).is_none());
    assert_eq!(storage.count.get(), 0);
}

/// A clock that cannot tell when told so.
#[derive(Clone)]
struct Blind(ManualClock, Rc<Cell<bool>>);

impl Clock for Blind {
    fn now(&self) -> Result<Timestamp, Error> {
        let message = "no time source".into();
        if self.1.get() { Err(Error::Storage(StoreError { message, cause: None })) } else { self.0.now() }
    }
}

impl Timer for Blind {
    fn sleep(&self, span: Duration) -> impl Future<Output = ()> {
        self.0.sleep(span)
    }
}

impl Host for Blind {
    fn random(&self) -> u64 {
        self.0.random()
    }
}

#[test]
fn an_operation_whose_clock_cannot_tell_does_not_happen() {
    let blind = Rc::new(Cell::new(true));
    let host = Blind(ManualClock::default(), Rc::clone(&blind));
    let store = Engine::new(MemoryStore::<Text>::new(), host, None);
    let mail = store.queue("mail", QueueOptions::default()).unwrap();
    assert!(matches!(now(mail.enqueue("x".into(), &plain())), Err(Error::Storage(_))));
    blind.set(false);
    assert_eq!(now(mail.enqueue("x".into(), &plain())).unwrap(), 1);
    assert_eq!(now(mail.stats()).unwrap().pending, 1);
}

#[test]
fn an_enqueue_under_way_at_the_commit_belongs_to_the_transaction() {
    let Setting { storage, store, mail, executor, .. } = setting();
    storage.slow.set(true);
    let tx = Rc::new(store.transaction().unwrap());
    let (staging, committing) = (Rc::clone(&tx), Rc::clone(&tx));
    let enqueue = executor.spawn(async move { staging.enqueue("mail", "x".into(), &plain()).await });
    let commit = executor.spawn(async move { committing.commit().await });
    executor.run_until(async {
        while !(enqueue.is_done() && commit.is_done()) {
            turn().await;
        }
    });
    assert_eq!(enqueue.take().unwrap().unwrap(), 1);
    commit.take().unwrap().unwrap();
    storage.slow.set(false);
    assert_eq!(now(mail.list(None, 0, 9)).unwrap().len(), 1, "what was promised is there");
}

#[test]
fn a_transaction_of_which_the_storage_failed_an_enqueue_commits_nothing() {
    let Setting { storage, store, mail, .. } = setting();
    for before in [0, 1] {
        let tx = store.transaction().unwrap();
        for _ in 0..before {
            now(tx.enqueue("mail", "before".into(), &plain())).unwrap();
        }
        storage.fails_once.set(true);
        assert!(matches!(now(tx.enqueue("mail", "x".into(), &plain())), Err(Error::Storage(_))));
        now(tx.enqueue("mail", "after".into(), &plain())).unwrap();
        assert!(
            matches!(now(tx.commit()), Err(Error::Storage(_))),
            "whoever did not wait for the enqueue hears it here"
        );
        assert!(now(mail.list(None, 0, 9)).unwrap().is_empty());
        assert!(matches!(now(tx.commit()), Err(Error::Closed)));
    }
    // What was refused before it came that far is not part of it.
    let tx = store.transaction().unwrap();
    assert!(matches!(now(tx.enqueue(" ", "x".into(), &plain())), Err(Error::InvalidName { .. })));
    now(tx.enqueue("mail", "y".into(), &plain())).unwrap();
    now(tx.commit()).unwrap();
    assert_eq!(now(mail.list(None, 0, 9)).unwrap().len(), 1);
}

#[test]
fn a_runner_that_an_outage_ends_gives_its_lease_back() {
    let Setting { storage, clock, store, executor, .. } = setting();
    let lead = |store: Engine<Flaky, ManualClock>| async move { store.run_schedules(&StopToken::new(), false).await };
    let first = executor.spawn(lead(store.clone()));
    executor.run_until(clock.settle());
    // One transaction fails: the renewal, not the release after it.
    storage.fails_once.set(true);
    executor.run_until(clock.advance(secs(2)));
    assert!(matches!(first.take(), Some(Err(Error::Storage(_)))));
    let second = executor.spawn(lead(store));
    executor.run_until(clock.advance(secs(11)));
    assert!(!second.is_done(), "it leads at once, and goes on");
}

#[test]
fn a_runner_that_cannot_give_its_lease_back_says_so() {
    let Setting { storage, clock, store, executor, .. } = setting();
    let stop = StopToken::new();
    let token = stop.clone();
    let run = executor.spawn(async move { store.run_schedules(&token, false).await });
    executor.run_until(clock.settle());
    storage.broken.set(true);
    stop.set();
    executor.run_until(clock.settle());
    assert!(matches!(run.take(), Some(Err(Error::Storage(_)))));
}

#[test]
fn engines_share_a_storage_that_has_no_clones() {
    struct Alone(MemoryStore<Text>);

    impl Store for Alone {
        type Payload = Text;

        async fn transact(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<Text>]) -> Result<(), Error> {
            self.0.transact(clock, scripts).await
        }

        fn transact_now(&self, clock: &dyn Clock, scripts: &mut [&mut dyn Script<Text>]) -> Option<Result<(), Error>> {
            self.0.transact_now(clock, scripts)
        }

        fn wakes(&self) -> &Wakes {
            self.0.wakes()
        }
    }

    let storage = Rc::new(Alone(MemoryStore::new()));
    let stores = [1, 2].map(|seed| Engine::new(Rc::clone(&storage), ManualClock::default(), Some(seed)));
    let [mine, yours] = stores.each_ref().map(|store| store.queue("mail", QueueOptions::default()).unwrap());
    let stop = StopToken::new();
    let executor = Executor::default();
    let waiting = executor.spawn(async move { yours.wait(&stop).await.map(|more| (yours, more)) });
    assert!(!waiting.is_done());
    now(mine.enqueue("x".into(), &plain())).unwrap();
    let (yours, more) = executor.run_until(waiting.outcome()).unwrap();
    assert!(more, "woken by the other");
    assert_eq!(&*now(yours.claim_one("w")).unwrap().unwrap().payload, "x");
    assert!(
        stores[0].run_now(&mut Stats::new(Name::shared("queue", "mail").unwrap())).is_some(),
        "as the storage itself"
    );
}
