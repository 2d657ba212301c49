//! The grammar of specs, against one that is written down letter by letter.

use alkstore::core::every;
use alkstore::core::time::MILLIS_MAX;

pub fn check(bytes: &[u8]) {
    let spec = String::from_utf8_lossy(bytes);
    match (every::parse(&spec), naive(&spec)) {
        (Ok(interval), Some(ms)) => {
            assert_eq!(interval.as_millis(), ms, "{spec:?}");
            // It is a number of seconds, and reads back as one.
            let again = format!("@every {}s", ms / 1000);
            assert_eq!(every::parse(&again).ok(), Some(interval), "{again}");
        }
        (Err(error), None) => {
            assert_eq!(error.code(), "InvalidSpec", "{spec:?}");
            assert!(error.to_string().ends_with(&format!(", got \"{spec}\"")), "{error}");
        }
        (read, expected) => panic!("{spec:?} was read as {read:?}, not {expected:?}"),
    }
}

/// The interval; `None` for what is no spec, or lies beyond the clock.
fn naive(spec: &str) -> Option<i64> {
    let letters: Vec<char> = spec.chars().collect();
    let (first, rest) = letters.split_at_checked("@every ".len())?;
    if first != ['@', 'e', 'v', 'e', 'r', 'y', ' '] {
        return None;
    }
    let (unit, digits) = rest.split_last()?;
    let seconds: i128 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return None,
    };
    let mut n: i128 = 0;
    for digit in digits {
        n = (n * 10 + i128::from("0123456789".find(*digit)? as i64)).min(i128::from(MILLIS_MAX));
    }
    let ms = n * seconds * 1000;
    (ms > 0 && ms <= i128::from(MILLIS_MAX)).then_some(ms as i64)
}
