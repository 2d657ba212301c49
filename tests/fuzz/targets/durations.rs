//! Duration strings, against multiplication as it is taught at school: digit by digit, without a largest number.

use alkstore::core::Duration;
use alkstore::core::time::MILLIS_MAX;

pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = Duration::parse(&text).map(Duration::as_millis);
    assert_eq!(read, naive(&text), "{text:?}");
    if let Some(ms) = read {
        assert_eq!(Duration::parse(&format!("{ms}ms")).map(Duration::as_millis), Some(ms), "{text:?}");
    }
}

fn naive(text: &str) -> Option<i64> {
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let (number, unit) = units.into_iter().find_map(|(name, unit)| {
        let number = text.strip_suffix(name)?;
        number.ends_with(|last: char| last.is_ascii_digit()).then_some((number, unit))
    })?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: Vec<u64> =
        whole.chars().chain(fraction.chars()).map(|c| c.to_digit(10).map(u64::from)).collect::<Option<_>>()?;
    if whole.is_empty() {
        return None;
    }
    let mut product = times(&digits, unit);
    // What is left below a millisecond is dropped.
    product.truncate(product.len() - fraction.len());
    let exact = product.into_iter().fold(0_u64, |n, digit| n.saturating_mul(10).saturating_add(digit));
    Some(exact.min(MILLIS_MAX as u64) as i64)
}

/// The digits of a number's product with another, of at most eight digits.
fn times(digits: &[u64], by: u64) -> Vec<u64> {
    let mut carry = 0;
    let mut product: Vec<u64> = Vec::new();
    for digit in digits.iter().rev() {
        carry += digit * by;
        product.push(carry % 10);
        carry /= 10;
    }
    while carry > 0 {
        product.push(carry % 10);
        carry /= 10;
    }
    product.reverse();
    product
}
