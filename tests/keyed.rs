//! Storages that keep rows under keys: the same answers as memory gives, however many jobs are due at once; and group
//! commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod support;

use alkstore::core::entropy::uniform;
use alkstore::core::index::Section;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use alkstore::core::queue::enqueue::{Enqueue, EnqueueOptions};
use alkstore::core::queue::{QUEUE_STAMPS, QueueOptions};
use alkstore::core::{Duration, Entropy, Error, JobId, Name, Scope, Script, Step, Timestamp, View};
use alkstore::runtime::{
    Engine, Keyed, KeyedStore, KeyedTransaction, ManualClock, MemoryStore, Queue, Read, StopToken, Store,
};

use support::{Executor, START, Table, Task, ms, now, plain, secs, turn};

type Clock = ManualClock;

const SEEDS: u64 = 4;
const STEPS: u32 = 25;

struct Dice(Entropy);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Entropy::new(seed))
    }

    fn roll(&mut self, low: i64, high: i64) -> i64 {
        uniform(self.0.bits(), low, high)
    }

    fn maybe(&mut self, percent: i64, low: i64, high: i64) -> Option<i64> {
        (self.roll(1, 100) <= percent).then(|| self.roll(low, high))
    }
}

/// What a queue answers to everything, as text.
struct Side<S: Store<Payload = u64>> {
    queue: Queue<S, Clock>,
}

impl<S: Store<Payload = u64>> Side<S> {
    fn new(store: S, clock: &Clock) -> Self {
        let options = QueueOptions {
            visibility_timeout: Some(secs(20)),
            max_attempts: Some(2),
            dead_letter_retention: Some(secs(40)),
            ..QueueOptions::default()
        };
        Self { queue: Engine::new(store, clock.clone(), Some(1)).queue("q", options).unwrap() }
    }

    fn enqueue(&self, payload: u64, options: &EnqueueOptions) -> u64 {
        now(self.queue.enqueue(payload, options)).unwrap()
    }

    fn claim(&self, n: usize) -> Vec<(u64, u64)> {
        let claimed = now(self.queue.claim_batch("w", n)).unwrap();
        claimed.into_iter().map(|claimed| (claimed.job.id, claimed.payload)).collect()
    }

    fn stats(&self) -> String {
        format!("{:?}", now(self.queue.stats()).unwrap())
    }

    fn rows(&self) -> Vec<String> {
        let rows = now(self.queue.list(None, 0, usize::MAX)).unwrap();
        rows.into_iter().map(|(job, payload)| format!("{job:?} {payload}")).collect()
    }
}

#[test]
fn masses_of_jobs_come_out_as_from_memory_whatever_the_clock_does() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let clock = ManualClock::new(Timestamp::from_millis(START));
        let (memory, keyed) =
            (Side::new(MemoryStore::new(), &clock), Side::new(KeyedStore::new(Table::default()), &clock));
        let mut payload = 0;
        for step in 0..STEPS {
            // A burst, so that more are due or lapsed at once than a claim looks at beside the ready ones.
            for _ in 0..dice.roll(0, 90) {
                payload += 1;
                let options = EnqueueOptions {
                    delay: dice.maybe(60, -2_000, 9_000).map(ms),
                    priority: dice.maybe(70, 0, 40),
                    max_attempts: dice.maybe(20, 0, 3),
                    expires: dice.maybe(25, -1_000, 12_000).map(ms),
                    run_at: None,
                };
                assert_eq!(memory.enqueue(payload, &options), keyed.enqueue(payload, &options));
            }
            clock.set(Timestamp::from_millis(clock_now(&clock) + jump(&mut dice)));
            let n = dice.roll(1, 40) as usize;
            let at = format!("seed {seed}, step {step}");
            assert_eq!(memory.claim(n), keyed.claim(n), "{at}: a claim of {n}");
            assert_eq!(memory.stats(), keyed.stats(), "{at}");
            match dice.roll(1, 8) {
                1 => assert_eq!(now(memory.queue.sweep_expired()).unwrap(), now(keyed.queue.sweep_expired()).unwrap()),
                2 => assert_eq!(now(memory.queue.redrive(None)).unwrap(), now(keyed.queue.redrive(None)).unwrap()),
                3 => assert_eq!(memory.claim(300), keyed.claim(300), "{at}: all"),
                _ => {}
            }
            assert_eq!(memory.rows(), keyed.rows(), "{at}");
        }
    }
}

#[test]
fn a_transaction_of_nothing_lets_no_id_be_given_again() {
    let (table, clock) = (Table::default(), ManualClock::default());
    let before = Side::new(KeyedStore::new(table.clone()), &clock);
    let last = before.enqueue(1, &plain());
    assert_eq!(now(before.queue.ack_batch(&[last])).unwrap(), 0);
    assert_eq!(before.claim(1), [(last, 1)]);
    assert_eq!(now(before.queue.ack_batch(&[last])).unwrap(), 1);
    let store = KeyedStore::new(table);
    now(store.transact(&clock, &mut [])).unwrap();
    assert!(Side::new(store, &clock).enqueue(2, &plain()) > last);
}

type Rows = KeyedStore<Table<u64>>;

/// A storage that answers after so many turns, a store on it, and a queue of that.
fn slow(turns: usize) -> (Table<u64>, Executor, Engine<Rows, Clock>, Queue<Rows, Clock>) {
    let table = Table::slow(turns);
    let store = Engine::new(KeyedStore::new(table.clone()), ManualClock::default(), None);
    let queue = store.queue("q", QueueOptions::default()).unwrap();
    (table, Executor::default(), store, queue)
}

fn spawn_enqueue(executor: &Executor, queue: &Queue<Rows, Clock>, payload: u64) -> Task<Result<JobId, Error>> {
    let queue = queue.clone();
    executor.spawn(async move { queue.enqueue(payload, &plain()).await })
}

/// All that a store has to tell.
async fn told<S: Store<Payload = u64>>(store: &Engine<S, Clock>) -> Vec<String> {
    let queue = store.queue("q", QueueOptions::default()).unwrap();
    let mut told = vec![format!("{:?}", queue.stats().await.unwrap())];
    told.push(format!("{:?}", store.schedules().await.unwrap()));
    told.push(format!("{:?}", store.try_lock("lock", "another", secs(1)).await.unwrap().is_some()));
    let jobs = queue.list(None, 0, usize::MAX).await.unwrap();
    told.extend(jobs.into_iter().map(|(job, payload)| format!("{job:?} {payload}")));
    told
}

/// A storage with masses of jobs, and one of everything else.
async fn full<S: Store<Payload = u64>>(store: S, clock: &Clock, jobs: i64) -> Engine<S, Clock> {
    let options = |n| EnqueueOptions { delay: Some(ms(n * 1_000)), expires: Some(secs(9_000 + n)), ..plain() };
    let mut enqueues: Vec<_> = (0..jobs)
        .map(|n| {
            Enqueue::new(Name::shared("queue", "q").unwrap(), Rc::new(QUEUE_STAMPS), options(n), n.unsigned_abs())
                .unwrap()
        })
        .collect();
    let mut scripts: Vec<&mut dyn Script<u64>> = enqueues.iter_mut().map(|each| each as _).collect();
    store.transact(clock, &mut scripts).await.unwrap();
    let store = Engine::new(store, clock.clone(), Some(1));
    store.schedule("tick", "@every 10h", "q", 7, Default::default()).await.unwrap();
    store.try_lock("lock", "owner", secs(3_600)).await.unwrap().unwrap();
    store
}

#[test]
fn when_the_clock_was_set_back_masses_of_jobs_move_in_more_than_one_transaction() {
    let clock = ManualClock::new(Timestamp::from_millis(START));
    let table = Table::default();
    let memory = now(full(MemoryStore::new(), &clock, 5_000));
    let keyed = now(full(KeyedStore::new(table.clone()), &clock, 5_000));
    clock.set(Timestamp::from_millis(START - 7_200_000));
    let commits = table.commits();
    assert_eq!(now(told(&memory)), now(told(&keyed)));
    let operations = 4;
    assert_eq!(table.commits() - commits, 2 + operations, "one of 4,096 jobs, one of the others, then as always");
}

#[test]
fn what_is_asked_for_by_id_is_asked_for_by_id_though_others_move_first() {
    async fn asked<S: Store<Payload = u64>>(store: S) -> Vec<usize> {
        let clock = ManualClock::new(Timestamp::from_millis(START));
        let store = full(store, &clock, 20).await;
        let queue = store.queue("other", QueueOptions::default()).unwrap();
        let mut ids = Vec::new();
        for payload in 0..6 {
            ids.push(queue.enqueue(payload, &plain()).await.unwrap());
        }
        for claimed in queue.claim_batch("w", 4).await.unwrap() {
            queue.fail(claimed.job.claim(), None).await.unwrap();
        }
        queue.claim_batch("w", 2).await.unwrap();
        let back = |hours: i64| clock.set(Timestamp::from_millis(START - hours * 3_600_000));
        back(1);
        let mut counts = vec![queue.purge(Some(&ids[..1])).await.unwrap()];
        back(2);
        counts.push(queue.redrive(Some(&ids[1..2])).await.unwrap());
        back(3);
        counts.push(queue.ack_batch(&ids[4..]).await.unwrap());
        back(4);
        counts.push(queue.purge(Some(&[])).await.unwrap());
        counts
    }
    assert_eq!(now(asked(MemoryStore::new())), [1, 1, 2, 0]);
    assert_eq!(now(asked(KeyedStore::new(Table::default()).moving_at_most(4))), [1, 1, 2, 0]);
}

#[test]
fn in_a_transaction_that_is_committed_halfway_nothing_moves_twice() {
    let (executor, clock) = (Executor::default(), ManualClock::new(Timestamp::from_millis(START)));
    let memory = now(full(MemoryStore::new(), &clock, 600));
    let table = Table::slow(1);
    executor.clone().run_until(async {
        let keyed = full(KeyedStore::new(table.clone()), &clock, 600).await;
        clock.set(Timestamp::from_millis(START - 7_200_000));
        let expected = told(&memory).await;
        for turns in 2..20 {
            let theirs = table.begin().await.unwrap();
            {
                let mut scripts: [&mut dyn Script<u64>; 0] = [];
                let mut run = pin!(keyed.store().transact_in(&theirs, &clock, &mut scripts));
                for _ in 0..turns {
                    if poll_fn(|context| Poll::Ready(run.as_mut().poll(context))).await.is_ready() {
                        break;
                    }
                    turn().await;
                }
            }
            theirs.commit().await.unwrap();
        }
        assert_eq!(told(&keyed).await, expected);
    });
}

#[test]
fn a_move_that_was_cut_off_is_gone_on_with_by_whoever_comes_next_though_the_clock_was_set_back_again() {
    let (executor, clock) = (Executor::default(), ManualClock::new(Timestamp::from_millis(START)));
    let (memory, table) = (now(full(MemoryStore::new(), &clock, 9_000)), Table::slow(1));
    executor.clone().run_until(async {
        let keyed = full(KeyedStore::new(table.clone()), &clock, 9_000).await;
        clock.set(Timestamp::from_millis(START - 7_200_000));
        told(&memory).await;
        let commits = table.commits();
        let cut_off = executor.spawn(async move { told(&keyed).await });
        while table.commits() == commits {
            turn().await;
        }
        cut_off.vanish();
        let moved =
            table.jobs().into_iter().filter(|job| job.run_at.as_millis() < START - 7_200_000 + job.id as i64 * 1_000);
        assert_eq!(moved.count(), 4_096);
        clock.set(Timestamp::from_millis(START - 18_000_000));
        let another = Engine::new(KeyedStore::new(table.clone()), clock.clone(), Some(2));
        assert_eq!(told(&memory).await, told(&another).await);
    });
}

#[test]
fn a_transaction_of_somebody_elses_moves_all_there_is() {
    let clock = ManualClock::new(Timestamp::from_millis(START));
    let table = Table::default();
    let memory = now(full(MemoryStore::new(), &clock, 5_000));
    let keyed = now(full(KeyedStore::new(table.clone()), &clock, 5_000));
    clock.set(Timestamp::from_millis(START - 7_200_000));
    let theirs = now(table.begin()).unwrap();
    now(keyed.store().transact_in(&theirs, &clock, &mut [])).unwrap();
    now(theirs.commit()).unwrap();
    let commits = table.commits();
    assert_eq!(now(told(&memory)), now(told(&keyed)));
    assert_eq!(table.commits() - commits, 4);
}

fn clock_now(clock: &Clock) -> i64 {
    use alkstore::runtime::Clock as _;
    clock.now().unwrap().as_millis()
}

/// Mostly on, sometimes a little back, rarely hours either way.
fn jump(dice: &mut Dice) -> i64 {
    match dice.roll(1, 40) {
        1 => 7_200_000,
        2 => -7_200_000,
        3..=7 => -dice.roll(1, 8_000),
        8..=12 => -dice.roll(1, 900),
        _ => dice.roll(0, 6_000),
    }
}

#[test]
fn an_expired_job_leaves_the_way_of_claims_at_the_first_that_meets_it() {
    let (clock, table) = (ManualClock::new(Timestamp::from_millis(START)), Table::default());
    let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), None);
    let queue = store.queue("q", QueueOptions::default()).unwrap();
    let options = EnqueueOptions { expires: Some(secs(5)), ..plain() };
    for payload in 0..100_u64 {
        now(queue.enqueue(payload, &options)).unwrap();
    }
    clock.set(Timestamp::from_millis(START + 5_000));
    assert_eq!(table.entries(Section::Ready), 100);
    assert!(now(queue.claim_one("w")).unwrap().is_none());
    assert_eq!((table.entries(Section::Ready), table.entries(Section::Expired)), (0, 100));
    // And comes back with a clock that is corrected by a second.
    clock.set(Timestamp::from_millis(START + 4_000));
    assert_eq!(now(queue.stats()).unwrap().ready, 100);
    assert!(now(queue.claim_one("w")).unwrap().is_some());
}

#[test]
fn operations_that_wait_together_share_a_transaction_and_keep_their_own_answers() {
    let (table, executor, _, queue) = slow(3);
    executor.run_until(async {
        let enqueued: Vec<_> = (0..50_u64).map(|payload| spawn_enqueue(&executor, &queue, payload)).collect();
        let refused = executor.spawn({
            let queue = queue.clone();
            async move { queue.cancel(9_999).await }
        });
        while refused.take().map(|outcome| assert!(!outcome.unwrap())).is_none() {
            turn().await;
        }
        let ids: Vec<u64> = enqueued.iter().map(|task| task.take().unwrap().unwrap()).collect();
        assert_eq!(ids, (1..=50).collect::<Vec<_>>(), "in the order of the calls");
        assert_eq!(table.commits(), 2, "the first alone, the others together");
    });
}

#[test]
fn a_transaction_that_is_rolled_back_while_its_commit_waits_for_an_enqueue_applies_nothing() {
    let (table, executor, store, _) = slow(3);
    executor.run_until(async {
        let transaction = Rc::new(store.transaction().unwrap());
        transaction.enqueue("q", 1, &plain()).await.unwrap();
        let enqueued = executor.spawn({
            let transaction = Rc::clone(&transaction);
            async move { transaction.enqueue("q", 2, &plain()).await }
        });
        let committed = executor.spawn({
            let transaction = Rc::clone(&transaction);
            async move { transaction.commit().await }
        });
        transaction.roll_back();
        assert!(enqueued.outcome().await.is_ok(), "it came before");
        assert!(matches!(committed.outcome().await, Err(Error::Closed)));
        assert_eq!(table.jobs(), []);
    });
}

#[test]
fn at_most_256_operations_share_a_transaction() {
    let (table, executor, _, queue) = slow(1);
    executor.run_until(async {
        let enqueues: Vec<_> = (0..1 + 2 * 256 + 1).map(|payload| spawn_enqueue(&executor, &queue, payload)).collect();
        for enqueue in &enqueues {
            enqueue.outcome().await.unwrap();
        }
        assert_eq!(table.commits(), 4, "the first alone, twice 256, and the last");
    });
}

#[test]
fn acks_that_wait_together_take_one_round_of_reads_and_see_each_other() {
    let (table, executor, _, queue) = slow(3);
    executor.run_until(async {
        for payload in 0..20_u64 {
            queue.enqueue(payload, &plain()).await.unwrap();
        }
        let claimed = queue.claim_batch("w", 20).await.unwrap();
        let (commits, rounds) = (table.commits(), table.rounds());
        // The first alone, the others together: some of them twice, and one gap among the ids.
        let leader = executor.spawn({
            let queue = queue.clone();
            async move { queue.get(8).await.map(|found| found.is_some()) }
        });
        let twice = claimed.iter().chain(&claimed[3..6]).filter(|claimed| claimed.job.id != 9);
        let acks: Vec<_> = twice
            .map(|claimed| {
                let (queue, claim) = (queue.clone(), claimed.job.claim());
                executor.spawn(async move { queue.ack(claim).await })
            })
            .collect();
        let cancelled = executor.spawn({
            let queue = queue.clone();
            async move { queue.cancel(9).await }
        });
        let late = executor.spawn({
            let queue = queue.clone();
            async move { queue.get(9).await.map(|found| found.is_some()) }
        });
        let is_there = late.outcome().await.unwrap();
        let landed: Vec<bool> = acks.iter().map(|ack| ack.take().unwrap().unwrap()).collect();
        assert_eq!(landed, [[true; 19].as_slice(), &[false; 3]].concat());
        assert!(leader.take().unwrap().unwrap() && cancelled.take().unwrap().unwrap());
        assert!(!is_there, "it was cancelled in the same transaction");
        assert_eq!(table.commits() - commits, 2);
        // Those that ask for what another has written ask again.
        assert_eq!(
            table.rounds() - rounds,
            1 + 1 + 3 + 1,
            "of the first; of the others; of the three that came again; of the last"
        );
        assert_eq!(queue.stats().await.unwrap().processing, 0);
    });
}

#[test]
fn most_enqueues_write_no_header_and_ids_grow_across_contexts() {
    let (clock, table) = (ManualClock::new(Timestamp::from_millis(START)), Table::default());
    let context = |seed| {
        let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), Some(seed));
        store.queue("q", QueueOptions::default()).unwrap()
    };
    let (first, second) = (context(1), context(2));
    let enqueue = |queue: &Queue<_, _>| now(queue.enqueue(1_u64, &plain())).unwrap();
    let ids: Vec<u64> = (0..60).map(|_| enqueue(&first)).collect();
    assert_eq!(ids, (1..=60).collect::<Vec<_>>());
    assert_eq!(table.headers(), 2);
    let mut last = 60;
    for queue in [&second, &first, &first, &second, &second, &context(3), &first] {
        let id = enqueue(queue);
        assert!(id > last, "{id} after {last}");
        last = id;
    }
}

/// Calls `work` with a storage that takes its time, and queues of two contexts that share it.
fn with_two_contexts(work: impl AsyncFnOnce(Table<u64>, Clock, [Queue<Rows, Clock>; 2], Executor)) {
    let (table, clock, executor) =
        (Table::slow(1), ManualClock::new(Timestamp::from_millis(START)), Executor::default());
    let queues = [1, 2].map(|seed| {
        let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), Some(seed));
        store.queue("q", QueueOptions::default()).unwrap()
    });
    executor.run_until(work(table, clock, queues, executor.clone()));
}

/// From now on it is known that nobody else enqueues.
async fn enqueue_first(queue: &Queue<Rows, Clock>) -> JobId {
    queue.enqueue(0, &plain()).await.unwrap()
}

async fn payloads(queue: &Queue<Rows, Clock>) -> Vec<u64> {
    let jobs = queue.list(None, 0, usize::MAX).await.unwrap();
    jobs.into_iter().map(|(_, payload)| payload).collect()
}

#[test]
fn what_is_enqueued_does_not_wait_for_the_first_read_as_long_as_nobody_else_enqueues() {
    with_two_contexts(async |table, _, [first, second], executor| {
        let last = enqueue_first(&first).await;
        assert_eq!(table.early(), 0);
        let (rounds, commits) = (table.rounds(), table.commits());
        let together: Vec<_> = (1..33).map(|payload| spawn_enqueue(&executor, &first, payload)).collect();
        let mut ids = Vec::new();
        for enqueue in &together {
            ids.push(enqueue.outcome().await.unwrap());
        }
        assert_eq!(ids, (last + 1..=last + 32).collect::<Vec<_>>());
        assert_eq!((table.early(), table.rounds() - rounds, table.commits() - commits), (32, 2, 2));

        // Another has: what went ahead comes to nothing, and goes once more, behind.
        let others = second.enqueue(33, &plain()).await.unwrap();
        let commits = table.commits();
        let id = first.enqueue(34, &plain()).await.unwrap();
        assert!(id > others, "{id} after {others}");
        assert_eq!((table.early(), table.commits() - commits), (33, 1));
        first.enqueue(35, &plain()).await.unwrap();
        assert_eq!(table.early(), 33, "not until it is known again that nobody else does");
        first.enqueue(36, &plain()).await.unwrap();
        assert_eq!(table.early(), 34);
        assert_eq!(payloads(&second).await, (0..=36).collect::<Vec<_>>());
    });
}

#[test]
fn what_is_called_together_with_an_enqueue_sees_it() {
    with_two_contexts(async |table, _, [queue, _], executor| {
        let last = enqueue_first(&queue).await;
        let enqueues = [1, 2].map(|payload| spawn_enqueue(&executor, &queue, payload));
        let cancelled = executor.spawn({
            let queue = queue.clone();
            async move { queue.cancel(last + 2).await }
        });
        for enqueue in enqueues {
            enqueue.outcome().await.unwrap();
        }
        assert!(cancelled.outcome().await.unwrap());
        assert_eq!(table.early(), 1, "the first alone");
        assert_eq!(payloads(&queue).await, [0, 1]);
    });
}

#[test]
fn a_job_whose_transaction_waited_for_others_is_no_older_than_that() {
    for (passes, is_kept) in [(0, true), (100, true), (101, false), (-1, false), (-3_600_000, false)] {
        with_two_contexts(async |table, clock, [first, second], executor| {
            enqueue_first(&first).await;
            let other = executor.spawn(async move { second.claim_one("w").await.map(drop) });
            let enqueue = spawn_enqueue(&executor, &first, 1);
            let began = clock_now(&clock);
            clock.set(Timestamp::from_millis(began + passes));
            let id = enqueue.outcome().await.unwrap();
            other.outcome().await.unwrap();
            let job = first.get(id).await.unwrap().unwrap().0;
            let instant = Timestamp::from_millis(if is_kept { began } else { began + passes });
            assert_eq!((job.created_at, job.run_at), (instant, instant), "{passes} ms later");
            assert_eq!(table.early(), 1);
        });
    }
}

#[test]
fn ids_that_were_given_while_an_enqueue_was_in_line_are_not_given_again() {
    for is_kept in [true, false] {
        let (table, executor, store, queue) = slow(1);
        executor.run_until(async {
            let last = enqueue_first(&queue).await;
            let theirs = table.begin().await.unwrap();
            theirs.read(&[Read::Header]).await.unwrap();
            let [mut one, mut other] = [1, 1]
                .map(|payload| Enqueue::new(queue.name().clone(), QUEUE_STAMPS.into(), plain(), payload).unwrap());
            let waiting = spawn_enqueue(&executor, &queue, 2);
            store.store().transact_in(&theirs, store.host(), &mut [&mut one, &mut other]).await.unwrap();
            if is_kept {
                theirs.commit().await.unwrap()
            } else {
                drop(theirs)
            }
            let ids = [one.id, other.id, waiting.outcome().await.unwrap(), queue.enqueue(3, &plain()).await.unwrap()];
            assert!(ids.is_sorted_by(|a, b| a < b) && ids[0] > last, "{ids:?}");
            assert_eq!(payloads(&queue).await, if is_kept { vec![0, 1, 1, 2, 3] } else { vec![0, 2, 3] });
        });
    }
}

#[test]
fn stores_that_share_a_context_enqueue_at_once() {
    let (table, clock, executor) =
        (Table::slow(9), ManualClock::new(Timestamp::from_millis(START)), Executor::default());
    let rows = Rc::new(KeyedStore::new(table.clone()));
    let queues = [1, 2].map(|seed| {
        let store = Engine::new(Rc::clone(&rows), clock.clone(), Some(seed));
        store.queue("q", QueueOptions::default()).unwrap()
    });
    executor.run_until(async {
        for payload in 0..100 {
            let both = queues.each_ref().map(|queue| {
                let queue = queue.clone();
                executor.spawn(async move { queue.enqueue(payload, &plain()).await })
            });
            let [one, other] = both;
            assert!(one.outcome().await.unwrap() < other.outcome().await.unwrap());
        }
        assert_eq!(queues[0].stats().await.unwrap().ready, 200);
    });
}

#[test]
fn a_script_that_has_no_first_question_and_asks_all_the_same_is_answered() {
    #[derive(Default)]
    struct AsksLate(Option<usize>);
    impl Script<u64> for AsksLate {
        fn step(&mut self, view: &mut View<u64>) -> Step {
            if view.jobs.is_empty() {
                return Step::Ask(Scope::Head { queue: Name::local("queue", "q").unwrap(), n: 5 });
            }
            self.0 = Some(view.jobs.len());
            Step::Done
        }
    }
    let (_, executor, store, queue) = slow(1);
    executor.run_until(async {
        enqueue_first(&queue).await;
        assert_eq!(store.run(AsksLate::default()).await.unwrap().0, Some(1));
    });
}

#[test]
fn what_is_enqueued_ahead_fails_with_its_commit_and_the_next_does_not() {
    with_two_contexts(async |table, _, [queue, _], _| {
        let last = enqueue_first(&queue).await;
        table.fail(1);
        assert!(matches!(queue.enqueue(1, &plain()).await, Err(Error::Storage(_))));
        assert_eq!(table.early(), 1);
        let id = queue.enqueue(2, &plain()).await.unwrap();
        assert!(id > last, "{id} after {last}");
        assert_eq!(payloads(&queue).await, [0, 2]);
    });
}

#[test]
fn a_count_of_ready_jobs_is_exact_for_a_clock_that_steps_back_behind_their_enqueue() {
    for others in [0, 100] {
        let (clock, table) = (ManualClock::new(Timestamp::from_millis(START - 10_000)), Table::default());
        let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), None);
        let queue = store.queue("q", QueueOptions::default()).unwrap();
        let enqueue = |priority| {
            now(queue.enqueue(1_u64, &EnqueueOptions { priority: Some(priority), ..plain() })).unwrap();
        };
        (0..others).for_each(|n| enqueue(n % 10));
        for (at, priority) in [(0, 0), (200, 5), (400, 0), (600, 7), (600, 5)] {
            clock.set(Timestamp::from_millis(START + at));
            enqueue(priority);
        }
        for (at, ready) in [(600, 5), (599, 3), (300, 2), (0, 1), (-1, 0), (600, 5), (2_000, 5)] {
            clock.set(Timestamp::from_millis(START + at));
            let tally = now(queue.stats()).unwrap();
            assert_eq!(tally.ready, usize::try_from(ready + others).unwrap(), "at {at}, beside {others}");
        }
    }
}

#[test]
fn a_count_in_the_second_after_an_enqueue_takes_one_round_more_whatever_the_priorities() {
    let (clock, table) = (ManualClock::new(Timestamp::from_millis(START)), Table::default());
    let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), None);
    let queue = store.queue("q", QueueOptions::default()).unwrap();
    for priority in 0..50 {
        now(queue.enqueue(1_u64, &EnqueueOptions { priority: Some(priority), ..plain() })).unwrap();
    }
    assert_eq!(table.headers(), 2, "what it says holds for a second, and its ids for 32 jobs");
    let rounds_of_a_count = |at| {
        clock.set(Timestamp::from_millis(START + at));
        let before = table.rounds();
        assert_eq!(now(queue.stats()).unwrap().ready, 50);
        table.rounds() - before
    };
    assert_eq!(rounds_of_a_count(900), rounds_of_a_count(1_000) + 1);
}

#[test]
fn a_commit_that_fails_fails_its_group_and_nothing_of_it_happened() {
    let (table, executor, _, queue) = slow(2);
    executor.run_until(async {
        let tasks: Vec<_> = (0..5_u64).map(|payload| spawn_enqueue(&executor, &queue, payload)).collect();
        turn().await;
        table.fail(1);
        let mut codes = Vec::new();
        for task in tasks {
            codes.push(task.outcome().await.map_or_else(|error| error.code().to_owned(), |id| id.to_string()));
        }
        assert_eq!(codes, ["Storage", "2", "3", "4", "5"], "the id that was lost is a gap");
        assert_eq!(queue.stats().await.unwrap().pending, 4);
    });
}

#[test]
fn a_transaction_goes_on_whoever_of_its_callers_is_dropped_at_whichever_await() {
    for turns in 1..20 {
        let (table, executor, _, queue) = slow(3);
        executor.run_until(async {
            let enqueue = |payload| spawn_enqueue(&executor, &queue, payload);
            let first = enqueue(0);
            let others: Vec<_> = (1..4).map(enqueue).collect();
            first.outcome().await.unwrap();
            for _ in 0..turns {
                turn().await;
            }
            let mut others = others.into_iter();
            others.next().unwrap().vanish();
            for (task, id) in others.zip(3..) {
                assert_eq!(task.outcome().await.unwrap(), id, "after {turns} turns");
            }
            assert_eq!(queue.stats().await.unwrap().pending, 4, "it was under way, after {turns} turns");
            assert_eq!(table.commits(), 3, "nothing was done again, after {turns} turns");
        });
    }
}

#[test]
fn who_alone_meets_a_damaged_row_goes_on_driving_the_transaction_of_the_others() {
    let (table, executor, _, queue) = slow(2);
    executor.run_until(async {
        let id = queue.enqueue(0, &plain()).await.unwrap();
        table.damage(id);
        let cancel = executor.spawn({
            let queue = queue.clone();
            async move { queue.cancel(id).await }
        });
        let waiting: Vec<_> = (0..3)
            .map(|payload| {
                let queue = queue.clone();
                let reads = payload == 0;
                executor.spawn(async move {
                    if reads { queue.get(id).await.map(|_| 0) } else { queue.enqueue(payload, &plain()).await }
                })
            })
            .collect();
        assert!(matches!(cancel.outcome().await, Err(Error::Storage(_))));
        let mut came = Vec::new();
        for task in waiting {
            came.push(task.outcome().await.ok());
        }
        assert_eq!(came, [None, Some(2), Some(3)]);
    });
}

thread_local! {
    static IN_PLACE: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>> = const { RefCell::new(None) };
}

/// A waker that polls its task where it stands.
struct InPlace;

impl Wake for InPlace {
    fn wake(self: Arc<Self>) {
        let Some(mut task) = IN_PLACE.take() else { return };
        if task.as_mut().poll(&mut Context::from_waker(&Waker::from(self))).is_pending() {
            IN_PLACE.set(Some(task));
        }
    }
}

#[test]
fn who_is_polled_as_the_others_of_its_transaction_are_told_drives_none_that_it_would_not_end() {
    let (_, _, _, queue) = slow(1);
    let plain = plain();
    let mut elsewhere = Context::from_waker(Waker::noop());
    let [mut first, mut driver] = [0, 1].map(|payload| Box::pin(queue.enqueue(payload, &plain)));
    assert!(first.as_mut().poll(&mut elsewhere).is_pending());
    assert!(driver.as_mut().poll(&mut elsewhere).is_pending());
    // Two calls of one task: both are polled as soon as one of them is told.
    let mut calls = [2, 3].map(|payload| {
        let queue = queue.clone();
        Some(Box::pin(async move { queue.enqueue(payload, &support::plain()).await.map(drop) }))
    });
    let mut task: Pin<Box<dyn Future<Output = ()>>> = Box::pin(poll_fn(move |context| {
        for call in &mut calls {
            if call.as_mut().is_some_and(|call| call.as_mut().poll(context).is_ready()) {
                *call = None;
            }
        }
        if calls.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    }));
    assert!(task.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(InPlace)))).is_pending());
    IN_PLACE.set(Some(task));
    let mut ends = |mut call: Pin<&mut dyn Future<Output = Result<JobId, Error>>>| {
        (0..1_000).any(|_| call.as_mut().poll(&mut elsewhere).is_ready())
    };
    assert!(ends(first.as_mut()) && ends(driver.as_mut()));
    assert!(IN_PLACE.take().is_none(), "the task is over");
    assert!(ends(pin!(queue.enqueue(4, &plain))), "the store goes on");
}

#[test]
fn an_operation_that_is_dropped_in_line_does_not_happen() {
    let (_, executor, _, queue) = slow(5);
    executor.run_until(async {
        let enqueue = |payload| spawn_enqueue(&executor, &queue, payload);
        let (first, dropped, last) = (enqueue(1), enqueue(2), enqueue(3));
        turn().await;
        dropped.vanish();
        first.outcome().await.unwrap();
        last.outcome().await.unwrap();
        let stored = queue.list(None, 0, 10).await.unwrap();
        assert_eq!(stored.iter().map(|(_, payload)| *payload).collect::<Vec<_>>(), [1, 3]);
    });
}

#[test]
fn who_is_next_in_line_and_is_dropped_holds_nobody_up() {
    for turns in 0..20 {
        let (_, executor, _, queue) = slow(2);
        executor.run_until(async {
            let enqueue = |payload| spawn_enqueue(&executor, &queue, payload);
            let (first, next, last) = (enqueue(1), enqueue(2), enqueue(3));
            for _ in 0..turns {
                turn().await;
            }
            next.vanish();
            first.outcome().await.unwrap();
            last.outcome().await.unwrap();
        });
    }
}

#[test]
fn of_a_transaction_that_everybody_has_left_nothing_is_left() {
    let (table, executor, _, queue) = slow(5);
    executor.run_until(async {
        let enqueue = |payload| spawn_enqueue(&executor, &queue, payload);
        let alone = enqueue(1);
        turn().await;
        alone.vanish();
        enqueue(2).outcome().await.unwrap();
        assert_eq!((table.commits(), queue.stats().await.unwrap().pending), (1, 1));
    });
}

#[test]
fn a_script_that_panics_fails_whoever_shares_its_transaction_and_the_store_goes_on() {
    struct Panics;
    impl Script<u64> for Panics {
        fn step(&mut self, _: &mut View<u64>) -> Step {
            panic!("a script of somebody's own")
        }
    }
    let (_, executor, store, queue) = slow(1);
    executor.run_until(async {
        let first = spawn_enqueue(&executor, &queue, 1);
        let bad = executor.spawn({
            let store = store.clone();
            async move {
                let mut running = Box::pin(store.run(Panics));
                poll_fn(move |context| {
                    let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context).is_ready()));
                    polled.map_or(
                        Poll::Ready("panicked"),
                        |ready| if ready { Poll::Ready("done") } else { Poll::Pending },
                    )
                })
                .await
            }
        });
        let other = spawn_enqueue(&executor, &queue, 2);
        first.outcome().await.unwrap();
        assert_eq!(bad.outcome().await, "panicked");
        let failed = other.outcome().await.unwrap_err();
        assert_eq!(failed.to_string(), "an operation of the same transaction panicked");
        assert_eq!(queue.stats().await.unwrap().pending, 1);
    });
}

#[test]
fn what_waits_in_line_is_not_polled_before_its_turn() {
    const CALLS: u64 = 1_000;
    let (table, executor, _, queue) = slow(1);
    let polls = Rc::new(Cell::new(0));
    executor.run_until(async {
        let calls: Vec<_> = (0..CALLS)
            .map(|payload| {
                let (queue, polls) = (queue.clone(), Rc::clone(&polls));
                executor.spawn(async move {
                    let plain = plain();
                    let mut running = Box::pin(queue.enqueue(payload, &plain));
                    poll_fn(move |context| {
                        polls.set(polls.get() + 1);
                        running.as_mut().poll(context)
                    })
                    .await
                })
            })
            .collect();
        for call in calls {
            call.outcome().await.unwrap();
        }
    });
    let most = 2 * CALLS as usize + 20 * table.commits();
    assert!(polls.get() <= most, "{} polls of {CALLS} calls", polls.get());
}

#[test]
fn a_wait_that_is_stopped_or_closed_while_it_looks_ends_with_false_though_a_job_is_ready() {
    let (_, executor, store, queue) = slow(3);
    executor.run_until(async {
        queue.enqueue(1_u64, &plain()).await.unwrap();
        for is_closed in [false, true] {
            let (queue, stop) = (queue.clone(), StopToken::new());
            let waiting = executor.spawn({
                let stop = stop.clone();
                async move { queue.wait(&stop).await }
            });
            turn().await;
            if is_closed {
                store.close().await;
            } else {
                stop.set();
            }
            assert!(matches!(waiting.outcome().await, Ok(false)), "closed: {is_closed}");
        }
    });
}

#[test]
fn a_wait_that_is_stopped_or_closed_before_it_could_look_ends_at_once() {
    for is_closed in [false, true] {
        let (_, executor, store, queue) = slow(100);
        executor.run_until(async {
            let (queue, stop) = (queue.clone(), StopToken::new());
            let slow = executor.spawn({
                let queue = queue.clone();
                async move { queue.enqueue(1_u64, &plain()).await }
            });
            let waiting = executor.spawn({
                let stop = stop.clone();
                async move { queue.wait(&stop).await }
            });
            turn().await;
            let closing = is_closed.then(|| {
                let store = store.clone();
                executor.spawn(async move { store.close().await })
            });
            stop.set();
            turn().await;
            turn().await;
            assert!(matches!(waiting.take(), Some(Ok(false))), "closed: {is_closed}");
            assert!(!slow.is_done());
            slow.outcome().await.unwrap();
            if let Some(closing) = closing {
                closing.outcome().await;
            }
        });
    }
}

#[test]
fn who_has_closed_a_store_finds_all_done_that_was_called_before() {
    let (table, executor, store, queue) = slow(5);
    executor.run_until(async {
        let enqueue = |payload| spawn_enqueue(&executor, &queue, payload);
        let (first, second) = (enqueue(1), enqueue(2));
        turn().await;
        store.close().await;
        assert!(matches!((first.take(), second.take()), (Some(Ok(1)), Some(Ok(2)))));
        let commits = table.commits();
        assert!(matches!(queue.enqueue(3, &plain()).await, Err(Error::Closed)));
        store.close().await;
        assert_eq!(table.commits(), commits, "again it is nothing");
    });
}

#[test]
fn no_delivery_begins_once_the_store_is_closed() {
    let (clock, table, executor) = (ManualClock::default(), Table::slow(3), Executor::default());
    let store = Engine::new(KeyedStore::new(table), clock, None);
    let outbox = store.outbox("orders").unwrap();
    executor.run_until(async {
        outbox.enqueue(1_u64, &plain()).await.unwrap();
        let running = executor.spawn(async move { outbox.run_once("w", async |_| panic!("it was delivered")).await });
        turn().await;
        store.close().await;
        assert!(matches!(running.outcome().await, Err(Error::Closed)));
    });
}

#[test]
fn a_store_that_waits_delivers_and_runs_schedules() {
    let (clock, table, executor) = (ManualClock::default(), Table::slow(1), Executor::default());
    let store = Engine::new(KeyedStore::new(table), clock.clone(), None);
    executor.run_until(async {
        store.schedule("tick", "@every 1s", "q", 7_u64, Default::default()).await.unwrap();
        let stop = alkstore::runtime::StopToken::new();
        let runner = executor.spawn({
            let (store, stop) = (store.clone(), stop.clone());
            async move { store.run_schedules(&stop, false).await }
        });
        clock.advance(Duration::from_secs(5)).await;
        let queue = store.queue("q", QueueOptions::default()).unwrap();
        let claimed = queue.claim_batch("w", 10).await.unwrap();
        assert_eq!(claimed.iter().map(|claimed| claimed.payload).collect::<Vec<_>>(), [7; 5]);
        stop.set();
        while runner.take().map(|ended| ended.unwrap()).is_none() {
            turn().await;
        }
    });
}

#[test]
fn who_is_told_of_a_ready_job_does_not_look_for_it() {
    let (executor, clock, table) =
        (Executor::default(), ManualClock::new(Timestamp::from_millis(START)), Table::default());
    let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), None);
    let queue = store.queue("q", QueueOptions::default()).unwrap();
    executor.clone().run_until(async {
        let waiting = executor.spawn({
            let queue = queue.clone();
            async move { queue.wait(&StopToken::new()).await }
        });
        clock.settle().await;
        let rounds = table.rounds();
        let later = EnqueueOptions { delay: Some(secs(3600)), ..plain() };
        queue.enqueue(1_u64, &later).await.unwrap();
        clock.settle().await;
        assert!(!waiting.is_done());
        assert_eq!(table.rounds(), rounds + 2, "the enqueue's own, and a look at when there is something to do");
        queue.enqueue(2, &plain()).await.unwrap();
        clock.settle().await;
        assert!(matches!(waiting.take(), Some(Ok(true))));
        assert_eq!(table.rounds(), rounds + 3, "the enqueue's own");
    });
}

/// Nobody announces anything on these: whoever commits may have vanished before it could.
#[test]
fn a_wait_finds_within_a_minute_what_nobody_told_it_of() {
    let (executor, clock, table) =
        (Executor::default(), ManualClock::new(Timestamp::from_millis(START)), Table::default());
    let queue = |seed| {
        let store = Engine::new(KeyedStore::new(table.clone()), clock.clone(), Some(seed));
        store.queue("q", QueueOptions::default()).unwrap()
    };
    let (waiter, other) = (queue(1), queue(2));
    executor.clone().run_until(async {
        let waiting = executor.spawn(async move { waiter.wait(&StopToken::new()).await });
        clock.advance(secs(100)).await;
        now(other.enqueue(1, &plain())).unwrap();
        clock.advance(secs(19)).await;
        assert!(!waiting.is_done(), "it looks once a minute");
        clock.advance(secs(1)).await;
        assert!(matches!(waiting.take(), Some(Ok(true))));
    });
}
