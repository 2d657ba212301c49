//! Reading a queue: get, list and stats change nothing.

use alkstore::core::State;

use crate::support::{Timetable, World, now};

#[test]
fn get_reads_only_its_own_queue_and_the_dead_too() {
    Timetable::new().rows(
        "
        0  | mail.enqueue a max=0       | 1
        0  | mail.get 1 payload         | a
        0  | thumbs.get 1               | -
        0  | >mail.get 1                | -
        0  | mail.get 2                 | -
        0  | mail.get 0                 | -
        0  | mail.claim w               | -
        0  | mail.get 1 state payload   | dead a
        ",
    );
}

#[test]
fn list_goes_by_id_in_pages_of_one_state_or_all() {
    let world = World::new();
    let mail = world.queue("mail");
    for _ in 0..6 {
        world.enqueue("mail", "x");
        world.enqueue("thumbs", "x");
    }
    for claimed in now(mail.claim_batch("w", 3)).unwrap() {
        if claimed.job.id != 3 {
            now(mail.fail(claimed.job.claim(), None)).unwrap();
        }
    }
    let page = |state, after, limit| -> Vec<u64> {
        now(mail.list(state, after, limit)).unwrap().iter().map(|(job, _)| job.id).collect()
    };
    for (state, after, limit, ids) in [
        (None, 0, 99, &[1, 3, 5, 7, 9, 11][..]),
        (None, 0, 2, &[1, 3]),
        (None, 3, 2, &[5, 7]),
        (None, 4, 1, &[5]),
        (None, 11, 9, &[]),
        (Some(State::Dead), 0, 9, &[1, 5]),
        (Some(State::Dead), 1, 9, &[5]),
        (Some(State::Dead), 0, 1, &[1]),
        (Some(State::Processing), 0, 9, &[3]),
        (Some(State::Pending), 0, 2, &[7, 9]),
        (Some(State::Pending), 9, 2, &[11]),
    ] {
        assert_eq!(page(state, after, limit), ids, "{state:?} after {after}, at most {limit}");
    }
}

#[test]
fn stats_count_by_state_and_tell_what_is_ready() {
    // pending, ready, processing, dead, next deadline
    Timetable::new().rows(
        "
        0      | mail.stats                    | 0 0 0 0 -
        0      | mail.enqueue a delay=10s      | 1
        0      | mail.stats                    | 1 0 0 0 10s
        0      | mail.enqueue b                | 2
        0      | mail.stats                    | 2 1 0 0 0
        0      | mail.claim w                  | 2#1
        0      | mail.stats                    | 1 0 1 0 10s
        0      | mail.cancel 1                 | true
        0      | mail.stats                    | 0 0 1 0 300001ms
        301s   | mail.stats                    | 0 1 1 0 301s
        301s   | mail.claim w                  | 2#2
        301s   | mail.fail 2#2                 | true
        301s   | mail.stats                    | 0 0 0 1 -
        ",
    );
}

#[test]
fn stats_count_the_expired_and_the_exhausted_but_not_as_ready() {
    Timetable::new().rows(
        "
        0   | mail.enqueue a expires=1s           | 1
        0   | mail.enqueue b max=0 delay=2s       | 2
        0   | mail.enqueue c delay=5s expires=5s  | 3
        1s  | mail.stats                          | 3 0 0 0 -
        5s  | mail.stats                          | 3 0 0 0 -
        ",
    );
}
