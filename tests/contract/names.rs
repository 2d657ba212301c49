//! Names: which are refused, where, and that nothing happens then.

use alkstore::core::queue::enqueue::EnqueueOptions;
use alkstore::core::schedule::ScheduleOptions;
use alkstore::core::{Duration, Error};

use crate::support::{Handle, World, now, plain, secs};

const NAMES: [(&str, &str, &str); 11] = [
    // name, code where names are shared, code where they are local
    ("mail", "ok", "ok"),
    (" mail", "ok", "ok"),
    ("a\u{0}b", "ok", "ok"),
    ("__proto__", "ok", "ok"),
    ("__ALKSTORE_x", "ok", "ok"),
    ("", "InvalidName", "InvalidName"),
    (" \t\r\n", "InvalidName", "InvalidName"),
    ("\u{a0}\u{1680}\u{2003}\u{2028}\u{3000}\u{85}", "InvalidName", "InvalidName"),
    ("__alkstore_", "ReservedName", "ok"),
    ("__alkstore_scheduler", "ReservedName", "ok"),
    ("__alkstore_outbox:orders", "ReservedName", "ok"),
];

fn code<T>(outcome: Result<T, Error>) -> &'static str {
    outcome.map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn a_shared_name_is_neither_blank_nor_reserved() {
    for (name, expected, _) in NAMES {
        let World { store, .. } = World::new();
        let tx = store.transaction().unwrap();
        let none = ScheduleOptions::default();
        for (call, got) in [
            ("queue", code(store.queue(name, Default::default()))),
            ("outbox", code(store.outbox(name))),
            ("try_lock", code(now(store.try_lock(name, "tab", secs(1))))),
            ("schedule name", code(now(store.schedule(name, "@every 1s", "mail", "x".into(), none)))),
            ("schedule queue", code(now(store.schedule("s", "@every 1s", name, "x".into(), none)))),
            ("unschedule", code(now(store.unschedule(name)))),
            ("tx.enqueue", code(now(tx.enqueue(name, "x".into(), &plain())))),
            ("tx.outbox_enqueue", code(now(tx.outbox_enqueue(name, "x".into(), &plain())))),
            ("tx.get", code(now(tx.get(name, 1)))),
        ] {
            assert_eq!(got, expected, "{call} {name:?}");
        }
    }
}

#[test]
fn a_local_name_may_be_reserved_but_not_blank() {
    for (name, _, expected) in NAMES {
        let world = World::new();
        let mail = world.queue("mail");
        world.enqueue("mail", "x");
        for (call, got) in [
            ("owner", code(now(world.store.try_lock("lock", name, secs(1))))),
            ("claim_one", code(now(mail.claim_one(name)))),
            ("claim_batch", code(now(mail.claim_batch(name, 2)))),
            ("claim_batch of none", code(now(mail.claim_batch(name, 0)))),
            ("run_once", code(now(mail.run_once(name, async |_| Ok(()))))),
        ] {
            assert_eq!(got, expected, "{call} {name:?}");
        }
    }
}

#[test]
fn an_outbox_has_a_queue_that_only_outbox_calls_reach() {
    let world = World::new();
    let outbox = world.store.outbox("orders").unwrap();
    assert_eq!(&**outbox.name(), "__alkstore_outbox:orders");
    now(outbox.enqueue("x".into(), &plain())).unwrap();
    assert_eq!(&*now(outbox.get(1)).unwrap().unwrap().0.queue, "__alkstore_outbox:orders");
    assert_eq!(now(world.queue("orders").get(1)).unwrap(), None);
}

/// Which argument an error complains of.
fn argument<T>(outcome: Result<T, Error>) -> &'static str {
    match outcome.err().expect("an error") {
        Error::InvalidName { argument, .. }
        | Error::ReservedName { argument, .. }
        | Error::InvalidArgument { argument, .. } => argument,
        Error::InvalidSpec { .. } => "spec",
        error => panic!("{error}"),
    }
}

#[test]
fn checks_come_in_the_order_names_numbers_spec() {
    let World { store, .. } = World::new();
    let tx = store.transaction().unwrap();
    let schedule = |name, queue, priority, spec| {
        let options = ScheduleOptions { priority: Some(priority), ..Default::default() };
        argument(now(store.schedule(name, spec, queue, "x".into(), options)))
    };
    assert_eq!(schedule("", "", i64::MAX, ""), "name");
    assert_eq!(schedule("s", "", i64::MAX, ""), "queue");
    assert_eq!(schedule("s", "q", i64::MAX, ""), "priority");
    assert_eq!(schedule("s", "q", 0, ""), "spec");
    assert_eq!(argument(now(store.try_lock("", "", Duration::ZERO))), "name");
    assert_eq!(argument(now(store.try_lock("l", "", Duration::ZERO))), "owner");
    assert_eq!(argument(now(store.try_lock("l", "o", Duration::ZERO))), "ttl");
    let bad = EnqueueOptions { max_attempts: Some(i64::MAX), ..plain() };
    assert_eq!(argument(now(tx.enqueue("", "x".into(), &bad))), "queue");
    assert_eq!(argument(now(tx.outbox_enqueue("", "x".into(), &bad))), "outbox");
    assert_eq!(argument(now(tx.enqueue("q", "x".into(), &bad))), "maxAttempts");
}

#[test]
fn a_refused_call_stores_nothing_and_takes_no_id() {
    let world = World::new();
    let store = &world.store;
    let tx = store.transaction().unwrap();
    let bad = EnqueueOptions { priority: Some(i64::MIN), ..plain() };
    for refused in [
        now(tx.enqueue("", "x".into(), &plain())).map(drop),
        now(tx.enqueue("mail", "x".into(), &bad)).map(drop),
        now(world.queue("mail").enqueue("x".into(), &bad)).map(drop),
        now(store.schedule("s", "@every 0s", "mail", "x".into(), ScheduleOptions::default())).map(drop),
        now(store.try_lock("lock", " ", secs(9))).map(drop),
    ] {
        assert!(refused.is_err());
    }
    // The transaction goes on.
    assert_eq!(now(tx.enqueue("mail", "x".into(), &plain())).unwrap(), 1);
    now(tx.commit()).unwrap();
    let mail: Handle = world.queue("mail");
    assert!(now(mail.claim_batch(" ", 5)).is_err());
    assert_eq!(now(mail.stats()).unwrap().ready, 1);
    assert!(now(store.schedules()).unwrap().is_empty());
    assert!(now(store.try_lock("lock", "me", secs(1))).unwrap().is_some());
}

#[test]
fn messages_name_the_argument_and_hold_the_value() {
    let world = World::new();
    let store = &world.store;
    let mail = world.queue("mail");
    let options = |priority, max_attempts| EnqueueOptions { priority, max_attempts, ..plain() };
    let far = 1 << 53;
    for (error, argument, value) in [
        (store.queue(" \t", Default::default()).err(), "queue", " \t"),
        (store.outbox("__alkstore_x").err(), "outbox", "__alkstore_x"),
        (now(store.try_lock("l", " ", secs(1))).err(), "owner", "\" \""),
        (now(store.try_lock("l", "o", secs(-4))).err(), "ttl", "-4000"),
        (now(mail.claim_one("")).err(), "workerId", "\"\""),
        (now(mail.enqueue("x".into(), &options(Some(far), None))).err(), "priority", "9007199254740992"),
        (now(mail.enqueue("x".into(), &options(None, Some(-far)))).err(), "maxAttempts", "-9007199254740992"),
        (now(store.schedule("s", "* * * * *", "q", "x".into(), Default::default())).err(), "spec", "* * * * *"),
    ] {
        let message = error.expect(argument).to_string();
        assert!(message.contains(argument) && message.contains(value), "{message}");
    }
}
