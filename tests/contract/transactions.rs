//! Transactions: all or nothing, seen by nobody before, and ids never given twice.

use std::panic::{AssertUnwindSafe, catch_unwind};

use alkstore::core::Error;

use crate::support::{Timetable, World, now, plain, secs};

#[test]
fn a_commit_applies_everything_at_once() {
    Timetable::new().rows(
        "
        0 | tx.begin                        | ok
        0 | tx.enqueue mail a priority=1    | 1
        0 | tx.outbox orders b              | 2
        0 | tx.enqueue thumbs c             | 3
        0 | mail.list                       | -
        0 | >orders.list                    | -
        0 | tx.commit                       | ok
        0 | mail.get 1 payload priority     | a 1
        0 | >orders.get 2 payload queue     | b __alkstore_outbox:orders
        0 | thumbs.claim w                  | 3#1
        ",
    );
}

#[test]
fn nobody_sees_anything_before_the_commit() {
    Timetable::new().rows(
        "
        0 | tx.begin             | ok
        0 | tx.enqueue mail a    | 1
        0 | mail.get 1           | -
        0 | mail.claim w         | -
        0 | mail.stats           | 0 0 0 0 -
        0 | mail.cancel 1        | false
        0 | tx.get mail 1        | pending
        ",
    );
}

#[test]
fn reads_inside_see_the_transactions_own_writes_and_the_rest() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a                         | 1
        0  | tx.begin                               | ok
        4s | tx.enqueue mail b delay=9s expires=60s | 2
        5s | tx.get mail 2 payload state run_at expires_at created_at | b pending 13s 64s 4s
        5s | tx.get mail 1 payload                  | a
        5s | tx.get thumbs 2                        | -
        5s | tx.get mail 99                         | -
        5s | mail.claim w                           | 1#1
        5s | tx.get mail 1                          | processing
        ",
    );
}

#[test]
fn a_roll_back_leaves_nothing_but_a_gap_in_the_ids() {
    Timetable::new().rows(
        "
        0 | tx.begin             | ok
        0 | tx.enqueue mail a    | 1
        0 | tx.outbox orders b   | 2
        0 | tx.roll_back         | ok
        0 | mail.list            | -
        0 | >orders.list         | -
        0 | mail.enqueue c       | 3
        0 | tx.begin             | ok
        0 | tx.enqueue mail a    | 4
        0 | tx.begin             | ok
        0 | mail.list            | 3
        0 | mail.enqueue d       | 5
        ",
    );
}

#[test]
fn an_error_and_a_panic_roll_back() {
    let world = World::new();
    let fails = || -> Result<(), Error> {
        let tx = world.store.transaction()?;
        now(tx.enqueue("mail", "x".into(), &plain()))?;
        now(tx.enqueue("", "x".into(), &plain()))?;
        now(tx.commit())
    };
    assert!(matches!(fails(), Err(Error::InvalidName { .. })));
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let tx = world.store.transaction().unwrap();
        now(tx.enqueue("mail", "x".into(), &plain())).unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert!(panics.is_err());
    assert_eq!(world.pending("mail"), 0);
    assert_eq!(world.enqueue("mail", "x"), 3);
}

#[test]
fn each_enqueue_reads_the_clock_when_it_is_called() {
    Timetable::new().rows(
        "
        1s | tx.begin                            | ok
        2s | tx.enqueue mail a                   | 1
        5s | tx.enqueue mail b delay=1s          | 2
        9s | tx.commit                           | ok
        9s | mail.get 1 created_at run_at        | 2s 2s
        9s | mail.get 2 created_at run_at        | 5s 6s
        9s | mail.claim w 2                      | 1#1 2#1
        ",
    );
}

#[test]
fn an_ended_transaction_is_closed() {
    for end in ["commit", "roll_back"] {
        Timetable::new().rows(&format!(
            "
            0 | tx.begin             | ok
            0 | tx.enqueue mail a    | 1
            0 | tx.{end}             | ok
            0 | tx.enqueue mail b    | Closed
            0 | tx.outbox orders b   | Closed
            0 | tx.get mail 1        | Closed
            0 | tx.commit            | Closed
            0 | mail.enqueue c       | 2
            "
        ));
    }
}

#[test]
fn an_empty_transaction_commits() {
    Timetable::new().rows(
        "
        0 | tx.begin    | ok
        0 | tx.commit   | ok
        ",
    );
}

#[test]
fn an_open_transaction_blocks_nobody() {
    let world = World::new();
    let (one, two) = (world.store.transaction().unwrap(), world.another().transaction().unwrap());
    now(one.enqueue("mail", "one".into(), &plain())).unwrap();
    now(two.enqueue("mail", "two".into(), &plain())).unwrap();
    world.enqueue("mail", "beside");
    let mail = world.queue("mail");
    let claimed = now(mail.claim_one("w")).unwrap().unwrap();
    assert!(now(mail.ack(claimed.job.claim())).unwrap());
    now(two.commit()).unwrap();
    now(one.commit()).unwrap();
    // Claim order goes by id, whichever was committed first.
    let left: Vec<_> = now(mail.claim_batch("w", 9)).unwrap().iter().map(|c| (c.job.id, c.payload.clone())).collect();
    assert_eq!(left, [(1, "one".into()), (2, "two".into())]);
}

#[test]
fn a_store_closed_meanwhile_rolls_an_open_transaction_back() {
    let world = World::new();
    let tx = world.store.transaction().unwrap();
    now(tx.enqueue("mail", "x".into(), &plain())).unwrap();
    now(world.store.close());
    assert!(matches!(now(tx.commit()), Err(Error::Closed)));
    assert!(matches!(now(tx.get("mail", 1)), Err(Error::Closed)));
    assert!(matches!(now(tx.enqueue("mail", "x".into(), &plain())), Err(Error::Closed)));
    let mail = world.another().queue("mail", Default::default()).unwrap();
    assert!(now(mail.list(None, 0, 9)).unwrap().is_empty());
}

#[test]
fn a_transaction_larger_than_any_page_commits_whole() {
    let world = World::new();
    let tx = world.store.transaction().unwrap();
    for n in 0..5000_u64 {
        assert_eq!(now(tx.enqueue("mail", "x".into(), &plain())).unwrap(), n + 1);
    }
    assert_eq!(world.pending("mail"), 0);
    world.at(secs(1));
    now(tx.commit()).unwrap();
    assert_eq!(world.pending("mail"), 5000);
}
