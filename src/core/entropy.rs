//! Randomness as an argument: a small seeded generator, so that jitter can be repeated in tests.

/// A stream of random bits (SplitMix64). Good for spreading retries, not for secrets.
#[derive(Clone, Debug)]
pub struct Entropy(u64);

impl Entropy {
    /// A stream that `seed` fixes.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Maps 64 random bits to a whole number from `low` to `high`, both included, by multiplication:
/// for the ranges of a jitter the bias is below one in a billion.
pub fn uniform(bits: u64, low: i64, high: i64) -> i64 {
    let span = u128::from(high.abs_diff(low)).saturating_add(1);
    let offset = u128::from(bits).saturating_mul(span) >> 64;
    low.saturating_add(i64::try_from(offset).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_reaches_both_ends_and_nothing_beyond() {
        assert_eq!(uniform(0, 2500, 5000), 2500);
        assert_eq!(uniform(u64::MAX, 2500, 5000), 5000);
        assert_eq!(uniform(u64::MAX, 7, 7), 7);
    }

    #[test]
    fn the_stream_is_splitmix64_as_published() {
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut entropy = Entropy::new(1_234_567);
        assert_eq!(published.map(|_| entropy.bits()), published);
    }

    #[test]
    fn one_seed_gives_one_stream() {
        let (mut a, mut b) = (Entropy::new(7), Entropy::new(7));
        assert!((0..100).all(|_| a.bits() == b.bits()));
    }
}
