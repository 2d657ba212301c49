//! Names, against lists of what Unicode calls white space and of what starts like the engine's own.

use alkstore::core::outbox::queue_name;
use alkstore::core::{Error, Name};

/// `White_Space`, as PropList.txt has it.
const WHITE_SPACE: &str = "\u{9}\u{a}\u{b}\u{c}\u{d}\u{20}\u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\
    \u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

pub fn check(bytes: &[u8]) {
    let name = String::from_utf8_lossy(bytes);
    let blank = name.chars().all(|c| WHITE_SPACE.contains(c));
    let reserved = name.len() >= 11 && name.as_bytes()[..11] == *b"__alkstore_";
    let local = if blank { "InvalidName" } else { "ok" };
    let shared = if reserved { "ReservedName" } else { local };
    judged(&Name::local("owner", &name), local, "owner", &name, &name);
    judged(&Name::shared("queue", &name), shared, "queue", &name, &name);
    judged(&queue_name(&name), shared, "outbox", &name, &format!("__alkstore_outbox:{name}"));
    if let Ok(outbox) = queue_name(&name) {
        assert_eq!(Name::shared("queue", &outbox).expect_err(&name).code(), "ReservedName", "nobody else reaches it");
        assert_eq!(Name::local("owner", &outbox).ok(), Some(outbox), "judged twice is judged once");
    }
}

/// What came out: the name as it was given, or an error that names the argument and the value.
#[track_caller]
fn judged(outcome: &Result<Name, Error>, code: &str, argument: &str, given: &str, kept: &str) {
    match outcome {
        Ok(name) => assert_eq!(("ok", &**name), (code, kept)),
        Err(error) => {
            let text = error.to_string();
            assert_eq!(error.code(), code, "{given:?}");
            assert!(text.starts_with(argument) && text.ends_with(&format!("got \"{given}\"")), "{text}");
        }
    }
}
