//! Locks: leases that lapse silently.

use crate::support::{Timetable, World, now, secs};

#[test]
fn a_lock_excludes_others_until_its_deadline() {
    Timetable::new().rows(
        "
        0      | lock.try report a 10s   | true
        0      | lock.try report b 10s   | false
        0      | lock.try import b 10s   | true
        9999ms | lock.try report b 10s   | false
        10s    | lock.try report b 10s   | true
        10s    | lock.try report a 10s   | false
        ",
    );
}

#[test]
fn the_same_owner_is_granted_again_without_moving_the_deadline() {
    Timetable::new().rows(
        "
        0      | lock.try report a 10s   | true
        5s     | lock.try report a 60s   | true
        9999ms | lock.try report b 10s   | false
        10s    | lock.try report b 10s   | true
        ",
    );
}

#[test]
fn the_same_owner_takes_its_own_lapsed_lock_anew() {
    Timetable::new().rows(
        "
        0      | lock.try report a 10s   | true
        10s    | lock.try report a 10s   | true
        19s    | lock.try report b 10s   | false
        20s    | lock.try report b 10s   | true
        ",
    );
}

#[test]
fn a_renewal_is_a_full_new_window_from_now() {
    Timetable::new().rows(
        "
        0      | lock.try report a 10s     | true
        9s     | lock.renew report a 10s   | true
        18s    | lock.try report b 10s     | false
        18s    | lock.renew report a 1s    | true
        19s    | lock.try report b 10s     | true
        ",
    );
}

#[test]
fn a_renewal_never_revives() {
    Timetable::new().rows(
        "
        0      | lock.try report a 10s     | true
        10s    | lock.renew report a 10s   | false
        10s    | lock.try report b 10s     | true
        11s    | lock.renew report a 10s   | false
        11s    | lock.renew report b 10s   | true
        12s    | lock.release report b     | true
        12s    | lock.renew report b 10s   | false
        ",
    );
}

#[test]
fn a_release_is_true_while_the_entry_is_the_owners_even_lapsed() {
    Timetable::new().rows(
        "
        0      | lock.try report a 10s     | true
        5s     | lock.release report a     | true
        5s     | lock.release report a     | false
        5s     | lock.try report b 10s     | true
        5s     | lock.release report a     | false
        60s    | lock.release report b     | true
        60s    | lock.release report b     | false
        ",
    );
}

#[test]
fn locks_are_seen_by_every_store_of_the_storage() {
    let world = World::new();
    let other = world.another();
    let lock = now(world.store.try_lock("report", "a", secs(10))).unwrap().unwrap();
    assert!(now(other.try_lock("report", "b", secs(10))).unwrap().is_none());
    assert!(now(lock.release()).unwrap());
    assert!(now(other.try_lock("report", "b", secs(10))).unwrap().is_some());
}

#[test]
fn locks_take_no_part_in_transactions() {
    let world = World::new();
    let tx = world.store.transaction().unwrap();
    assert!(now(world.store.try_lock("report", "a", secs(10))).unwrap().is_some());
    tx.roll_back();
    assert!(now(world.store.try_lock("report", "b", secs(10))).unwrap().is_none());
}

#[test]
fn dropping_a_lock_releases_nothing() {
    let world = World::new();
    drop(now(world.store.try_lock("report", "a", secs(10))).unwrap());
    assert!(now(world.store.try_lock("report", "b", secs(10))).unwrap().is_none());
}
