//! Schedules: registering, and what a tick fires.

use alkstore::core::time::MILLIS_MAX;
use alkstore::core::{Error, Timestamp};

use crate::support::{START, Timetable, World, now, secs};

#[test]
fn the_grammar_is_exact() {
    let World { store, .. } = World::new();
    let code = |spec: &str| {
        let outcome = now(store.schedule("s", spec, "mail", "x".into(), Default::default()));
        outcome.map_or_else(|error| error.code(), |_| "ok")
    };
    for spec in ["@every 1s", "@every 5m", "@every 2h", "@every 1d", "@every 007s"] {
        assert_eq!(code(spec), "ok", "{spec}");
    }
    let before = now(store.schedules()).unwrap();
    for spec in [
        "",
        "@every",
        "@every ",
        "@every s",
        "@every 5",
        "@every 0s",
        "@every -1s",
        "@every +1s",
        "@every 1.5s",
        "@every  5s",
        "@every 5 s",
        "@every 5s ",
        " @every 5s",
        "@every\t5s",
        "@Every 5s",
        "@every 5ms",
        "@every 5S",
        "@every ٥s",
        "*/5 * * * *",
        "@daily",
        "@every 99999999999999999999d",
        "@every 104249991d",
    ] {
        assert_eq!(code(spec), "InvalidSpec", "{spec:?}");
    }
    assert_eq!(now(store.schedules()).unwrap(), before, "nothing is stored");
}

#[test]
fn the_first_boundary_is_one_interval_away() {
    Timetable::new().rows(
        "
        3s      | store.schedule report 10s mail   | ok
        3s      | store.schedules                  | report@13s
        12999ms | store.tick                       | ok
        12999ms | mail.list                        | -
        13s     | store.tick                       | ok
        13s     | mail.list                        | 1
        13s     | store.schedules                  | report@23s
        ",
    );
}

#[test]
fn a_fired_job_is_ready_now_with_the_schedules_options_and_payload() {
    Timetable::new().rows(
        "
        0   | store.schedule report 10s mail priority=4 max=7 expires=60s        | ok
        10500ms | store.tick                                                     | ok
        11s | mail.get 1 payload run_at created_at priority max_attempts expires_at | report 10500ms 10500ms 4 7 70500ms
        11s | mail.get 1 state attempts visibility_timeout backoff_base          | pending 0 300s 5s
        ",
    );
}

#[test]
fn a_first_boundary_may_lie_at_the_end_of_the_clock_and_not_beyond() {
    let world = World::new();
    world.clock.set(Timestamp::from_millis(MILLIS_MAX - 1000));
    let register = |spec| now(world.store.schedule("s", spec, "mail", "x".into(), Default::default()));
    assert!(matches!(register("@every 2s"), Err(Error::InvalidSpec { .. })));
    assert_eq!(register("@every 1s").unwrap().next_fire_at, Timestamp::MAX);
}

#[test]
fn the_same_spec_again_keeps_the_boundary_that_is_due() {
    Timetable::new().rows(
        "
        0   | store.schedule report 10s mail    | ok
        9s  | store.schedule report 10s mail    | ok
        9s  | store.schedules                   | report@10s
        99s | store.schedule report 10s mail    | ok
        99s | store.schedules                   | report@10s
        ",
    );
}

#[test]
fn a_changed_spec_starts_again_even_if_it_means_the_same() {
    Timetable::new().rows(
        "
        0   | store.schedule report 60s mail    | ok
        9s  | store.schedule report 1m mail     | ok
        9s  | store.schedules                   | report@69s
        ",
    );
}

#[test]
fn registering_again_replaces_queue_payload_and_options() {
    let world = World::new();
    let options = |priority| alkstore::core::schedule::ScheduleOptions { priority, ..Default::default() };
    now(world.store.schedule("s", "@every 5s", "mail", "old".into(), options(Some(4)))).unwrap();
    now(world.store.schedule("s", "@every 5s", "thumbs", "new".into(), options(None))).unwrap();
    let all = now(world.store.schedules()).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((&*all[0].name, &*all[0].spec, &*all[0].queue), ("s", "@every 5s", "thumbs"));
    assert_eq!(all[0].options, options(None));
    Timetable::of(world).rows(
        "
        5s | store.tick                       | ok
        5s | mail.list                        | -
        5s | thumbs.get 1 payload priority    | new 0
        ",
    );
}

#[test]
fn registering_answers_with_the_schedule_as_it_is_listed_and_the_boundary_that_is_due() {
    let world = World::new();
    for at in [3, 6] {
        world.at(secs(at));
        let registered = now(world.store.schedule("s", "@every 5s", "mail", "x".into(), Default::default())).unwrap();
        assert_eq!(registered.next_fire_at.as_millis() - START, 8000);
        assert_eq!(now(world.store.schedules()).unwrap(), [registered]);
    }
}

#[test]
fn unschedule_tells_whether_there_was_one() {
    Timetable::new().rows(
        "
        0   | store.unschedule report           | false
        0   | store.schedule report 10s mail    | ok
        0   | store.unschedule report           | true
        0   | store.unschedule report           | false
        60s | store.tick                        | ok
        60s | mail.list                         | -
        ",
    );
}

#[test]
fn a_boundary_fires_once_however_often_one_ticks() {
    Timetable::new().rows(
        "
        0       | store.schedule report 10s mail    | ok
        10s     | store.tick                        | ok
        10s     | store.tick                        | ok
        19999ms | store.tick                        | ok
        19999ms | mail.list                         | 1
        ",
    );
}

#[test]
fn missed_boundaries_are_caught_up_one_job_each() {
    Timetable::new().rows(
        "
        0       | store.schedule report 10s mail    | ok
        45s     | store.tick                        | ok
        45s     | mail.list                         | 1 2 3 4
        45s     | mail.get 1 run_at                 | 45s
        45s     | store.schedules                   | report@50s
        ",
    );
}

#[test]
fn past_64_missed_boundaries_the_rest_is_skipped_on_the_same_grid() {
    for (now_at, fired, next) in
        [("64s", 64, "65s"), ("65s", 64, "66s"), ("3600500ms", 64, "3601s"), ("63s", 63, "64s"), ("63999ms", 63, "64s")]
    {
        let ids = (1..=fired).map(|id: u64| id.to_string()).collect::<Vec<_>>().join(" ");
        Timetable::new().rows(&format!(
            "
            0         | store.schedule report 1s mail  | ok
            {now_at}  | store.tick                     | ok
            {now_at}  | mail.list                      | {ids}
            {now_at}  | store.schedules                | report@{next}
            "
        ));
    }
}

#[test]
fn each_schedule_has_a_cap_of_its_own() {
    let timetable = Timetable::new().rows(
        "
        0      | store.schedule a 1s mail      | ok
        0      | store.schedule b 1s thumbs    | ok
        9999s  | store.tick                    | ok
        ",
    );
    assert_eq!((timetable.world.pending("mail"), timetable.world.pending("thumbs")), (64, 64));
}

#[test]
fn a_tick_visits_in_the_order_of_code_points() {
    let world = World::new();
    // In UTF-16 the surrogates of the last name would come before U+FFFD.
    for name in ["b", "\u{fffd}", "a", "\u{1f600}", "B", "é"] {
        world.schedule(name, "@every 1s", "mail");
    }
    let names: Vec<String> = now(world.store.schedules()).unwrap().iter().map(|row| row.name.to_string()).collect();
    assert_eq!(names, ["B", "a", "b", "é", "\u{fffd}", "\u{1f600}"]);
    let timetable = Timetable::of(world).rows("2s | store.tick | ok");
    let jobs = now(timetable.world.queue("mail").list(None, 0, 99)).unwrap();
    let fired: Vec<&str> = jobs.iter().map(|(_, payload)| &**payload).collect();
    assert_eq!(fired, ["B", "B", "a", "a", "b", "b", "é", "é", "\u{fffd}", "\u{fffd}", "\u{1f600}", "\u{1f600}"]);
}

#[test]
fn a_tick_visits_many_in_the_same_order_and_none_that_is_not_due() {
    let world = World::new();
    for n in (100..300).rev() {
        world.schedule(&n.to_string(), if n % 2 == 0 { "@every 1s" } else { "@every 1m" }, "mail");
    }
    let timetable = Timetable::of(world).rows("1s | store.tick | ok");
    let jobs = now(timetable.world.queue("mail").list(None, 0, 999)).unwrap();
    let fired: Vec<String> = jobs.iter().map(|(_, payload)| payload.to_string()).collect();
    assert_eq!(fired, (100..300).step_by(2).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_boundary_too_far_ahead_is_pulled_in_by_the_next_tick() {
    // A step back of less than a minute moves nothing by itself.
    Timetable::new().rows(
        "
        0    | store.schedule report 10s mail    | ok
        -30s | store.tick                        | ok
        -30s | store.schedules                   | report@-20s
        -20s | store.tick                        | ok
        -20s | mail.list                         | 1
        ",
    );
}

#[test]
fn an_overflowing_first_boundary_is_an_invalid_spec() {
    let world = World::new();
    world.clock.set(alkstore::core::Timestamp::from_millis(alkstore::core::time::MILLIS_MAX - 1500));
    let schedule = |spec| now(world.store.schedule("s", spec, "mail", "x".into(), Default::default()));
    assert!(schedule("@every 1s").is_ok());
    assert!(matches!(schedule("@every 2s"), Err(Error::InvalidSpec { .. })));
    assert_eq!(&*now(world.store.schedules()).unwrap()[0].spec, "@every 1s");
}
