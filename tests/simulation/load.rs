//! A context at work: every call to the engine is told to the ledger, with its answer.

use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use alkstore::core::queue::QueueOptions;
use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::{Claim, ClaimedJob, Duration, Error, Job, JobId, Name, State, outbox};
use alkstore::runtime::{Lock, Outbox, Queue, StopToken, Transaction};

use crate::context::Opened;
use crate::device::World;
use crate::dice::Dice;
use crate::disk::failure;
use crate::operation::{Answer, Operation};
use crate::roles;
use crate::sim::{Label, Sim};
use crate::spy::Watched;
use crate::truth::shared;
use crate::weather::SECOND;

pub const QUEUES: [&str; 2] = ["mail", "thumbs"];
pub const OUTBOX: &str = "hooks";

pub type Handle = Queue<Watched, World>;

/// A loop that a context runs.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    Producer,
    Worker(&'static str),
    Courier,
    Runner { standby: bool },
    Planner,
    Locker,
    Janitor,
    Reader,
    Closer,
}

/// Who does what: there is somebody for every queue and for the schedules, and the rest is chance.
pub fn roles(dice: &Dice, contexts: usize) -> Vec<Vec<Role>> {
    let mut roles = vec![vec![Role::Producer]; contexts];
    let some = |dice: &Dice| dice.roll(0, contexts as i64 - 1) as usize;
    for queue in QUEUES {
        roles[some(dice)].push(Role::Worker(queue));
    }
    roles[some(dice)].push(Role::Courier);
    roles[some(dice)].push(Role::Planner);
    let runner = some(dice);
    for (context, roles) in roles.iter_mut().enumerate() {
        if context == runner || dice.percent(60) {
            roles.push(Role::Runner { standby: dice.percent(50) });
        }
        for role in [Role::Worker(QUEUES[0]), Role::Worker(QUEUES[1]), Role::Courier] {
            if dice.percent(30) && !roles.iter().any(|known| format!("{known:?}") == format!("{role:?}")) {
                roles.push(role);
            }
        }
        for role in [Role::Planner, Role::Locker, Role::Janitor, Role::Reader, Role::Closer] {
            if dice.percent(40) {
                roles.push(role);
            }
        }
    }
    roles
}

pub fn start(tab: &Rc<Tab>, role: Role) {
    let label = match role {
        Role::Worker(queue) => Label::Worker(queue),
        Role::Courier => Label::Worker(OUTBOX),
        Role::Runner { .. } => Label::Runner,
        _ => Label::Other,
    };
    tab.sim.spawn(tab.context, label, roles::play(Rc::clone(tab), role));
}

/// A context's store and handles.
pub struct Tab {
    pub sim: Sim,
    pub context: usize,
    pub store: Opened,
    queues: Vec<Handle>,
    pub outbox: Outbox<Watched, World>,
}

impl Tab {
    pub fn new(sim: &Sim, context: usize, store: Opened) -> Self {
        let dice = &sim.dice;
        let ms = Duration::from_millis;
        let options = QueueOptions {
            visibility_timeout: Some(ms(dice.pick(&[500, 2 * SECOND, 20 * SECOND]))),
            max_attempts: Some(dice.pick(&[1, 3, 5])),
            backoff_base: Some(ms(dice.pick(&[100, 5 * SECOND]))),
            dead_letter_retention: dice.pick(&[None, Some(ms(0)), Some(ms(30 * SECOND))]),
        };
        let queues = QUEUES.map(|name| store.queue(name, options).expect("it is open")).into();
        let outbox = store.outbox(OUTBOX).expect("it is open");
        Self { sim: sim.clone(), context, store, queues, outbox }
    }

    pub fn queue(&self, name: &str) -> &Handle {
        if name == OUTBOX { &self.outbox } else { &self.queues[usize::from(name == QUEUES[1])] }
    }

    pub fn reading(&self) -> i64 {
        self.store.host().reading()
    }

    /// Any of the queues.
    pub fn any(&self) -> &Handle {
        self.queue(self.sim.dice.pick(&[QUEUES[0], QUEUES[1], OUTBOX]))
    }

    /// Makes a call. Its answer is held against what was committed; unless the caller loses patience before.
    async fn ask<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, Error>>,
        answer: impl FnOnce(&T) -> Answer,
    ) -> Result<T, Error> {
        let sim = &self.sim;
        let id = self.asked(operation);
        let outcome = if sim.strikes(sim.weather.gives_up) {
            let patience = sim.dice.roll(0, 2 * sim.weather.latency);
            let Some(outcome) = either(call, sim.pass(patience)).await else {
                sim.count("answer not waited for");
                sim.ledger.borrow_mut().gives_up(self.context, id);
                return Err(failure(GAVE_UP));
            };
            outcome
        } else {
            call.await
        };
        self.answered(id, outcome.as_ref().map(|given| Some(answer(given))));
        outcome
    }

    pub fn asked(&self, operation: Operation) -> u64 {
        self.sim.ledger.borrow_mut().asked(self.context, operation)
    }

    pub fn answered(&self, id: u64, answer: Result<Option<Answer>, &Error>) {
        let checked = self.sim.ledger.borrow_mut().answered_call(self.context, id, answer);
        self.sim.check(checked);
    }

    pub async fn enqueue(&self, queue: &Handle, payload: u64, options: EnqueueOptions) -> Result<JobId, Error> {
        let (name, stamps) = (queue.name().clone(), **queue.stamps());
        let operation = Operation::Enqueue { queue: name, stamps, options, payload };
        self.ask(operation, queue.enqueue(payload, &options), |id| Answer::Id(*id)).await
    }

    pub async fn claim(&self, queue: &Handle, worker: &'static str, n: usize) -> Result<Vec<ClaimedJob<u64>>, Error> {
        let operation = Operation::Claim { queue: queue.name().clone(), worker, n };
        self.ask(operation, queue.claim_batch(worker, n), |jobs| claimed(jobs)).await
    }

    pub async fn ack(&self, queue: &Handle, claim: Claim) -> Result<bool, Error> {
        self.ask(Operation::Ack(claim.clone()), queue.ack(claim), landed).await
    }

    pub async fn retry(&self, queue: &Handle, claim: Claim, delay: Option<Duration>) -> Result<bool, Error> {
        let error = self.sim.dice.maybe(50, || "not now");
        let operation = Operation::Retry { claim: claim.clone(), error, delay };
        self.ask(operation, queue.retry(claim, error, delay), landed).await
    }

    pub async fn fail(&self, queue: &Handle, claim: Claim) -> Result<bool, Error> {
        let error = self.sim.dice.maybe(50, || "never");
        self.ask(Operation::Fail { claim: claim.clone(), error }, queue.fail(claim, error), landed).await
    }

    pub async fn heartbeat(&self, queue: &Handle, claim: Claim, extend: Duration) -> Result<bool, Error> {
        let operation = Operation::Heartbeat { claim: claim.clone(), extend };
        self.ask(operation, queue.heartbeat(claim, extend), landed).await
    }

    pub async fn ack_batch(&self, queue: &Handle, ids: Vec<JobId>) -> Result<usize, Error> {
        let operation = Operation::AckBatch { queue: queue.name().clone(), ids: ids.clone() };
        self.ask(operation, queue.ack_batch(&ids), count).await
    }

    pub async fn cancel(&self, queue: &Handle, id: JobId) -> Result<bool, Error> {
        self.ask(Operation::Cancel { queue: queue.name().clone(), id }, queue.cancel(id), landed).await
    }

    pub async fn redrive(&self, queue: &Handle, ids: Option<Vec<JobId>>) -> Result<usize, Error> {
        let operation = Operation::Redrive { queue: queue.name().clone(), ids: ids.clone() };
        self.ask(operation, queue.redrive(ids.as_deref()), count).await
    }

    pub async fn purge(&self, queue: &Handle, ids: Option<Vec<JobId>>) -> Result<usize, Error> {
        let operation = Operation::Purge { queue: queue.name().clone(), ids: ids.clone() };
        self.ask(operation, queue.purge(ids.as_deref()), count).await
    }

    pub async fn sweep(&self, queue: &Handle) -> Result<usize, Error> {
        self.ask(Operation::Sweep { queue: queue.name().clone() }, queue.sweep_expired(), count).await
    }

    pub async fn get(&self, queue: &Handle, id: JobId) -> Result<Option<(Rc<Job>, u64)>, Error> {
        let answer = |found: &Option<(Rc<Job>, u64)>| Answer::Jobs(found.iter().cloned().collect());
        self.ask(Operation::Get { queue: queue.name().clone(), id }, queue.get(id), answer).await
    }

    pub async fn list(&self, queue: &Handle, state: Option<State>) -> Result<(), Error> {
        let operation = Operation::List { queue: queue.name().clone(), state };
        self.ask(operation, queue.list(state, 0, usize::MAX), |page| Answer::Jobs(page.clone())).await.map(drop)
    }

    pub async fn stats(&self, queue: &Handle) -> Result<(), Error> {
        let operation = Operation::Stats { queue: queue.name().clone() };
        self.ask(operation, queue.stats(), |tally| Answer::Tally(*tally)).await.map(drop)
    }

    pub async fn try_lock(
        &self,
        name: &'static str,
        owner: &str,
        ttl: Duration,
    ) -> Result<Option<Lock<Watched, World>>, Error> {
        let operation = Operation::TryLock { name, owner: owner.into(), ttl };
        self.ask(operation, self.store.try_lock(name, owner, ttl), |lock| Answer::Landed(lock.is_some())).await
    }

    pub async fn renew(
        &self,
        name: &'static str,
        owner: &str,
        ttl: Duration,
        lock: &Lock<Watched, World>,
    ) -> Result<bool, Error> {
        self.ask(Operation::Renew { name, owner: owner.into(), ttl }, lock.renew(ttl), landed).await
    }

    pub async fn release(&self, name: &'static str, owner: &str, lock: &Lock<Watched, World>) -> Result<bool, Error> {
        self.ask(Operation::Release { name, owner: owner.into() }, lock.release(), landed).await
    }

    pub async fn schedule(
        &self,
        name: &'static str,
        spec: &'static str,
        queue: &'static str,
        options: ScheduleOptions,
    ) -> Result<(), Error> {
        let payload = self.sim.serial();
        let operation = Operation::Schedule { name, spec, queue, payload, options };
        let call = self.store.schedule(name, spec, queue, payload, options);
        self.ask(operation, call, |info| Answer::Boundary(info.next_fire_at)).await.map(drop)
    }

    pub async fn unschedule(&self, name: &'static str) -> Result<bool, Error> {
        self.ask(Operation::Unschedule { name }, self.store.unschedule(name), landed).await
    }

    pub async fn schedules(&self) -> Result<(), Error> {
        let answer = |infos: &Vec<alkstore::runtime::ScheduleInfo>| {
            Answer::Boundaries(infos.iter().map(|info| (info.name.clone(), info.next_fire_at)).collect())
        };
        self.ask(Operation::Schedules, self.store.schedules(), answer).await.map(drop)
    }

    /// Stages a job for one of the queues.
    pub async fn stage(
        &self,
        transaction: &Transaction<Watched, World>,
        queue: &'static str,
        options: EnqueueOptions,
    ) -> Result<JobId, Error> {
        let payload = self.sim.serial();
        let (is_outbox, plain) = (queue == OUTBOX, alkstore::core::queue::QUEUE_STAMPS);
        let stamps = if is_outbox { outbox::OUTBOX_STAMPS } else { plain };
        let name: Name = if is_outbox { self.outbox.name().clone() } else { shared(queue) };
        let operation = Operation::Stage { queue: name, stamps, options, payload };
        let call = async {
            if is_outbox {
                transaction.outbox_enqueue(queue, payload, &options).await
            } else {
                transaction.enqueue(queue, payload, &options).await
            }
        };
        self.ask(operation, call, |id| Answer::Id(*id)).await
    }

    pub async fn commit(&self, transaction: &Transaction<Watched, World>, staged: Vec<JobId>) -> Result<(), Error> {
        self.ask(Operation::Commit { staged }, transaction.commit(), |()| Answer::Done).await
    }

    /// Waits until the queue has something to do; `false` if that will not be seen any more.
    pub async fn wait(&self, queue: &Handle) -> Result<bool, Error> {
        let waited = queue.wait(&StopToken::new()).await;
        let checked = self.sim.ledger.borrow_mut().loop_ended(self.context, waited.as_ref().map(drop));
        self.sim.check(checked);
        waited
    }
}

pub fn claimed(jobs: &[ClaimedJob<u64>]) -> Answer {
    Answer::Jobs(jobs.iter().map(|claimed| (Rc::clone(&claimed.job), claimed.payload)).collect())
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn landed(landed: &bool) -> Answer {
    Answer::Landed(*landed)
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn count(count: &usize) -> Answer {
    Answer::Count(*count)
}

/// Why a call has failed whose caller did not wait for it.
pub const GAVE_UP: &str = "nobody waits any more";

/// The outcome of `call`, unless `patience` ends before.
async fn either<T>(call: impl Future<Output = T>, patience: impl Future<Output = ()>) -> Option<T> {
    let (mut call, mut patience) = (pin!(call), pin!(patience));
    std::future::poll_fn(|poller| match call.as_mut().poll(poller) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending => patience.as_mut().poll(poller).map(|()| None),
    })
    .await
}
