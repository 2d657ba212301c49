//! What a panic leaves behind: its message. The instance is unusable from then on.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Told of a panic just before the trap.
    #[wasm_bindgen(js_name = alkstorePanicked)]
    fn alkstore_panicked(message: &str);
}

#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().copied();
        let text = text.or_else(|| info.payload().downcast_ref::<String>().map(String::as_str));
        let place =
            info.location().map_or(String::new(), |at| [" at ", at.file(), ":", &at.line().to_string()].concat());
        alkstore_panicked(&[text.unwrap_or("a panic"), &place].concat());
    }));
}

/// Panics, for the tests of what that leaves behind.
#[cfg(feature = "test-panic")]
#[wasm_bindgen(js_name = testPanic)]
#[allow(clippy::panic)]
pub fn test_panic(message: &str) {
    panic!("{message}");
}

/// Panics in a future that is polled later, for the same tests.
#[cfg(feature = "test-panic")]
#[wasm_bindgen(js_name = testPanicLater)]
#[allow(clippy::panic)]
pub fn test_panic_later(message: String) {
    wasm_bindgen_futures::spawn_local(async move { panic!("{message}") });
}
