//! What the loops of a context do: the load.

use std::rc::Rc;

use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::{ClaimedJob, Duration, Error, JobId, State, Timestamp};
use alkstore::runtime::StopToken;

use crate::context;
use crate::invariant::Invariant;
use crate::load::{GAVE_UP, Handle, OUTBOX, QUEUES, Role, Tab, claimed};
use crate::operation::Operation;
use crate::sim::{Label, Sim};
use crate::weather::{HOUR, MINUTE, SECOND};

/// With so many jobs about, nobody makes more.
const JOBS_MAX: usize = 120;

/// Who clears up cancels what is not ready for so long.
pub const FAR: i64 = 20 * MINUTE;

const LOCKS: [&str; 2] = ["sync", "backup"];
pub const SCHEDULES: [&str; 3] = ["a", "b", "c"];
const SPECS: [&str; 4] = ["@every 5s", "@every 30s", "@every 2m", "@every 1h"];

/// All workers go by the same names, wherever they are: only the claim tells them apart.
const WORKERS: [&str; 2] = ["w", "v"];

pub async fn play(tab: Rc<Tab>, role: Role) {
    match role {
        Role::Producer => again_and_again(&tab, produce).await,
        Role::Worker(queue) => work(&tab, queue).await,
        Role::Courier => carry(&tab).await,
        Role::Runner { standby } => run_schedules(&tab, standby).await,
        Role::Planner => again_and_again(&tab, plan).await,
        Role::Locker => again_and_again(&tab, lock).await,
        Role::Janitor => again_and_again(&tab, clean).await,
        Role::Reader => again_and_again(&tab, look).await,
        Role::Closer => close(&tab).await,
    }
}

const fn ms(ms: i64) -> Duration {
    Duration::from_millis(ms)
}

/// Until the last fault; what fails is tried again another time.
async fn again_and_again(tab: &Rc<Tab>, act: impl AsyncFn(&Rc<Tab>) -> Result<(), Error>) {
    let sim = &tab.sim;
    loop {
        sim.pass(sim.weather.pace * sim.dice.pick(&[0, 10, 200, 2 * SECOND, 10 * SECOND, 30 * SECOND])).await;
        if sim.is_calm() || tab.store.is_closed() {
            return;
        }
        let _acts = sim.acts();
        let _ = act(tab).await;
    }
}

fn options(tab: &Tab) -> EnqueueOptions {
    let dice = &tab.sim.dice;
    EnqueueOptions {
        delay: dice.maybe(35, || ms(dice.pick(&[-SECOND, 0, 500, 5 * SECOND, MINUTE, 10 * MINUTE]))),
        run_at: dice.maybe(10, || Timestamp::from_millis(tab.reading() + dice.pick(&[-HOUR, 0, SECOND, MINUTE]))),
        priority: dice.maybe(30, || dice.roll(-2, 2)),
        max_attempts: dice.maybe(10, || dice.roll(0, 3)),
        expires: dice.maybe(15, || ms(dice.pick(&[-1, 0, SECOND, 30 * SECOND, 5 * MINUTE]))),
    }
}

async fn produce(tab: &Rc<Tab>) -> Result<(), Error> {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    if sim.ledger.borrow().truth.jobs.len() > JOBS_MAX {
        return Ok(());
    }
    if dice.percent(70) {
        let queue = tab.any().clone();
        for _ in 0..dice.pick(&[1, 1, 2]) {
            tab.enqueue(&queue, sim.serial(), options(tab)).await?;
        }
        return Ok(());
    }
    let transaction = tab.store.transaction()?;
    let mut staged: Vec<JobId> = Vec::new();
    let mut is_failed = false;
    for _ in 0..dice.roll(1, 4) {
        let queue = dice.pick(&[QUEUES[0], QUEUES[1], OUTBOX]);
        match tab.stage(&transaction, queue, options(tab)).await {
            Ok(id) => staged.push(id),
            Err(error) => is_failed |= error.to_string() != GAVE_UP,
        }
        sim.pass(if sim.is_calm() { 0 } else { dice.pick(&[0, 0, 300, 10 * SECOND]) }).await;
    }
    if staged.is_empty() || dice.percent(20) {
        sim.count("transaction rolled back");
        transaction.roll_back();
        return Ok(());
    }
    if is_failed {
        sim.count("transaction with an enqueue that failed");
        let outcome = transaction.commit().await;
        if outcome.is_ok() {
            sim.violated(Invariant::AsTheContractSays, || "part of a transaction was committed".into());
        }
        return outcome;
    }
    tab.commit(&transaction, staged).await
}

async fn work(tab: &Rc<Tab>, name: &'static str) {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    let queue = tab.queue(name).clone();
    loop {
        match tab.wait(&queue).await {
            Ok(true) => {}
            Ok(false) | Err(Error::Closed) => return,
            Err(_) => {
                sim.pass(dice.pick(&[0, SECOND])).await;
                continue;
            }
        }
        let jobs = tab.claim(&queue, dice.pick(&WORKERS), dice.pick(&[1, 1, 3, 80])).await.unwrap_or_default();
        for job in jobs {
            let (tab, queue) = (Rc::clone(tab), queue.clone());
            sim.spawn(tab.context, Label::Other, async move { drop(handle(&tab, &queue, &job).await) });
        }
        sim.pass(dice.pick(&[0, 0, 100, SECOND])).await;
    }
}

/// How long somebody works on a job: often until the lease ends, to the millisecond.
fn effort(tab: &Tab, job: &ClaimedJob<u64>) -> i64 {
    let dice = &tab.sim.dice;
    let left = job.job.claim_expires_at.map_or(0, |end| end.as_millis() - tab.reading());
    match dice.roll(1, 6) {
        _ if tab.sim.is_calm() => 0,
        1 | 2 => 0,
        3 => dice.roll(0, left.clamp(0, MINUTE)),
        4 => left.clamp(0, MINUTE),
        5 => left.clamp(0, MINUTE) + dice.pick(&[-1, 1]),
        _ => dice.roll(0, 30 * SECOND),
    }
}

async fn handle(tab: &Rc<Tab>, queue: &Handle, job: &ClaimedJob<u64>) -> Result<(), Error> {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    let claim = job.job.claim();
    sim.pass(effort(tab, job)).await;
    if !sim.is_calm() && dice.percent(30) {
        let extend = dice.pick(&[-1, 0, SECOND, 10 * SECOND, 30 * SECOND]);
        tab.heartbeat(queue, claim.clone(), ms(extend)).await?;
        sim.pass(if dice.percent(50) { extend.max(0) } else { effort(tab, job) }).await;
    }
    let answered = match dice.roll(1, 20) {
        _ if sim.is_calm() => tab.ack(queue, claim.clone()).await,
        1..=11 => tab.ack(queue, claim.clone()).await,
        12..=15 => tab.retry(queue, claim.clone(), dice.maybe(50, || ms(dice.pick(&[0, SECOND, MINUTE])))).await,
        16 => tab.fail(queue, claim.clone()).await,
        17 | 18 => tab.ack_batch(queue, vec![claim.id, claim.id + 1]).await.map(|_| true),
        // Never settled at all.
        _ => return Ok(()),
    };
    if answered.is_err() || dice.percent(20) {
        // Again, much later: whoever holds the job by then must not notice.
        sim.pass(dice.pick(&[0, SECOND, 25 * SECOND, 2 * MINUTE])).await;
        match dice.roll(1, 3) {
            1 => tab.ack(queue, claim).await,
            2 => tab.heartbeat(queue, claim, ms(MINUTE)).await,
            _ => tab.retry(queue, claim, Some(ms(0))).await,
        }?;
    }
    Ok(())
}

/// Delivers what is in the outbox.
async fn carry(tab: &Rc<Tab>) {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    let queue: &Handle = &tab.outbox;
    loop {
        match tab.wait(queue).await {
            Ok(true) => {}
            Ok(false) | Err(Error::Closed) => return,
            Err(_) => {
                sim.pass(dice.pick(&[0, SECOND])).await;
                continue;
            }
        }
        let worker = dice.pick(&WORKERS);
        let claim = tab.asked(Operation::Claim { queue: queue.name().clone(), worker, n: 1 });
        let mut settling = None;
        let settles = &mut settling;
        let delivery = async |job: ClaimedJob<u64>| {
            tab.answered(claim, Ok(Some(claimed(std::slice::from_ref(&job)))));
            sim.count("delivery");
            sim.pass(effort(tab, &job)).await;
            let claim = job.job.claim();
            let fails = !sim.is_calm() && dice.percent(30);
            let error = fails.then_some("HTTP 503");
            *settles = Some(tab.asked(match error {
                None => Operation::Ack(claim),
                Some(_) => Operation::Retry { claim, error, delay: None },
            }));
            error.map_or(Ok(()), |error| Err(error.into()))
        };
        let ran = queue.run_once(worker, delivery).await;
        let answer = match (settling, &ran) {
            (Some(_), ran) => ran.as_ref().map(|_| None),
            (None, Ok(_)) => Ok(Some(claimed(&[]))),
            // Claimed, for a delivery that does not begin on a closed store.
            (None, Err(Error::Closed)) if sim.ledger.borrow_mut().is_committed(tab.context, claim) => Ok(None),
            (None, Err(error)) => Err(error),
        };
        tab.answered(settling.unwrap_or(claim), answer);
        sim.pass(dice.pick(&[0, 0, SECOND])).await;
    }
}

async fn run_schedules(tab: &Rc<Tab>, standby: bool) {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    while !sim.is_draining() {
        let stop = StopToken::new();
        sim.contexts.borrow_mut().runs(&stop);
        if !sim.is_calm() && dice.percent(50) {
            let stop = stop.clone();
            sim.after(dice.roll(0, 3 * MINUTE), move |sim| {
                if !sim.is_calm() {
                    stop.set();
                }
            });
        }
        let ended = tab.store.run_schedules(&stop, standby).await;
        sim.count(match &ended {
            Ok(()) => "runner stopped",
            Err(Error::LeadershipLost) => "leadership lost",
            Err(_) => "runner failed",
        });
        let checked = sim.ledger.borrow_mut().runner_ended(tab.context, ended.as_ref().map(drop), standby);
        sim.check(checked);
        if tab.store.is_closed() {
            return;
        }
        sim.pass(dice.pick(&[0, 5 * SECOND, 15 * SECOND])).await;
    }
}

async fn plan(tab: &Rc<Tab>) -> Result<(), Error> {
    let dice = &tab.sim.dice;
    let name = dice.pick(&SCHEDULES);
    if dice.percent(25) {
        return tab.unschedule(name).await.map(drop);
    }
    let options = ScheduleOptions {
        priority: dice.maybe(20, || dice.roll(-1, 1)),
        max_attempts: dice.maybe(20, || dice.roll(1, 2)),
        expires: dice.maybe(50, || ms(dice.pick(&[SECOND, MINUTE]))),
    };
    tab.schedule(name, dice.pick(&SPECS), dice.pick(&QUEUES), options).await
}

async fn lock(tab: &Rc<Tab>) -> Result<(), Error> {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    let (name, owner) = (dice.pick(&LOCKS), dice.pick(&["x", "y", "z"]));
    let ttl = ms(dice.pick(&[100, 5 * SECOND, MINUTE]));
    let Some(lock) = tab.try_lock(name, owner, ttl).await? else { return Ok(()) };
    for _ in 0..dice.roll(0, 3) {
        sim.pass(dice.pick(&[0, ttl.as_millis(), ttl.as_millis() - 1, SECOND])).await;
        tab.renew(name, owner, ttl, &lock).await?;
    }
    if dice.percent(60) {
        tab.release(name, owner, &lock).await?;
    }
    Ok(())
}

/// An id that was probably given.
fn some_id(sim: &Sim) -> JobId {
    let next = sim.ledger.borrow().truth.meta.next_id as i64;
    sim.dice.roll((next - 40).max(0), next) as JobId
}

async fn clean(tab: &Rc<Tab>) -> Result<(), Error> {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    let queue = tab.any().clone();
    let ids = || dice.maybe(50, || (0..dice.roll(0, 4)).map(|_| some_id(sim)).collect::<Vec<_>>());
    match dice.roll(1, 6) {
        1 => tab.cancel(&queue, some_id(sim)).await.map(drop),
        2 => tab.redrive(&queue, ids()).await.map(drop),
        3 => tab.purge(&queue, ids()).await.map(drop),
        _ => tab.sweep(&queue).await.map(drop),
    }
}

async fn look(tab: &Rc<Tab>) -> Result<(), Error> {
    let (sim, dice) = (&tab.sim, &tab.sim.dice);
    let queue = tab.any().clone();
    match dice.roll(1, 5) {
        1 => tab.get(&queue, some_id(sim)).await.map(drop),
        2 => {
            tab.list(&queue, dice.pick(&[None, Some(State::Pending), Some(State::Processing), Some(State::Dead)])).await
        }
        3 => tab.schedules().await,
        _ => tab.stats(&queue).await,
    }
}

/// Closes the store, once: what is under way ends, and the context is gone.
async fn close(tab: &Rc<Tab>) {
    let (sim, context) = (&tab.sim, tab.context);
    sim.pass(sim.dice.roll(0, MINUTE)).await;
    if sim.is_calm() || !sim.strikes(sim.weather.closes * 400) {
        return;
    }
    sim.count("store closed");
    sim.note(|| format!("{} closes its store", sim.name(context)));
    sim.ledger.borrow_mut().closes(context);
    tab.store.close().await;
    sim.pass(sim.dice.roll(0, 5 * SECOND)).await;
    sim.after(0, move |sim| context::end_closed(sim, context));
}

/// Nothing is scheduled any more, and nobody waits for a far instant.
pub async fn clear_up(tab: Rc<Tab>) {
    let sim = &tab.sim;
    for name in SCHEDULES {
        let _ = tab.unschedule(name).await;
    }
    let latest = tab.reading() + FAR;
    let jobs: Vec<_> = sim.ledger.borrow().truth.jobs.values().map(|(job, _)| Rc::clone(job)).collect();
    for job in jobs.into_iter().filter(|job| job.state == State::Pending && job.run_at.as_millis() > latest) {
        let queue = [tab.queue(QUEUES[0]), tab.queue(QUEUES[1])].into_iter().find(|queue| *queue.name() == job.queue);
        let _ = tab.cancel(queue.unwrap_or(&tab.outbox), job.id).await;
    }
}

/// What has expired goes.
pub async fn sweep_up(tab: Rc<Tab>) {
    loop {
        for queue in [QUEUES[0], QUEUES[1], OUTBOX] {
            let _ = tab.sweep(tab.queue(queue)).await;
        }
        tab.sim.pass(30 * SECOND).await;
    }
}
